// library_calls.c - what custom calls cost: one row of library_calls.def and one function a kind.
//
// A function says from shapes and backend_config how many flops a call does, and false where the
// call is not what it expects; then nothing is counted, and the count says so (hsc_cost.uncounted).
// Bytes are operands and results, without the workspace that libraries ask for beside them.
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

#include "hlo/cost/cost_internal.h"
#include "hlo/ir/conv_call.h"

typedef bool (*library_fn)(const hsc_instr *call, hsc_cost *cost);

enum { ALL = 0, AS_READ = -1 };

// ---- parts that several kinds share -------------------------------------------------------------

static const hsc_shape *operand(const hsc_instr *call, int i) {
  return i < call->operand_count ? &call->operands[i]->shape : NULL;
}

static const hsc_shape *result(const hsc_instr *call, int leaf) {
  return hsc_shape_is_tuple(&call->shape) ? hsc_shape_leaf(&call->shape, leaf) : &call->shape;
}

static bool is_matrix(const hsc_shape *shape) {
  return shape && hsc_shape_is_array(shape) && shape->rank >= 2;
}

// The size of a dimension from the end: 1 is the last.
static double from_end(const hsc_shape *shape, int i) {
  return (double)shape->dims[shape->rank - i];
}

// Matrices in a batch.
static double matrix_count(const hsc_shape *shape) {
  double count = 1;
  for (int i = 0; i < shape->rank - 2; i++)
    count *= (double)shape->dims[i];
  return count;
}

static const char *config_of(const hsc_instr *call) {
  const char *config = call->attr.custom.opaque ? call->attr.custom.opaque : call->backend_config;
  return config ? config : "";
}

// The value after "key": in JSON; NULL where there is none.
static const char *after_key(const char *json, const char *key) {
  size_t size = strlen(key);
  for (const char *at = strchr(json, '"'); at; at = strchr(at + 1, '"')) {
    if (strncmp(at + 1, key, size) != 0 || at[1 + size] != '"')
      continue;
    const char *value = at + size + 2;
    value += strspn(value, " :\n\t");
    return value;
  }
  return NULL;
}

// The product of the dimensions of a shape that a list names, ["0","2"] or [0,2]; 1 without a list,
// for protobuf's JSON leaves empty ones out. False where it names others.
static bool listed_product(const char *json,
                           const char *key,
                           const hsc_shape *shape,
                           double *out_product) {
  const char *at = after_key(json, key);
  *out_product = 1;
  if (!at)
    return true;
  if (*at++ != '[')
    return false;
  for (at += strspn(at, " \""); *at && *at != ']'; at += strspn(at, " \",")) {
    char *end = NULL;
    long long dim = strtoll(at, &end, 10);
    if (end == at || dim < 0 || dim >= shape->rank)
      return false;
    *out_product *= (double)shape->dims[dim];
    at = end;
  }
  return *at == ']';
}

// ---- kinds --------------------------------------------------------------------------------------

static bool count_nothing(const hsc_instr *call, hsc_cost *cost) {
  (void)call;
  cost->bytes_read = cost->bytes_written = 0;
  return true;
}

static bool count_move(const hsc_instr *call, hsc_cost *cost) {
  (void)call;
  (void)cost;
  return true;
}

static bool count_unknown(const hsc_instr *call, hsc_cost *cost) {
  (void)call;
  (void)cost;
  return false;
}

// Each element of the result is a sum over what the left side contracts.
static bool count_gemm(const hsc_instr *call, hsc_cost *cost) {
  const hsc_shape *lhs = operand(call, 0);
  const hsc_shape *out = result(call, 0);
  const char *dims = after_key(config_of(call), "dot_dimension_numbers");
  double width;
  if (!lhs || !out || call->operand_count < 2 || !dims ||
      !listed_product(dims, "lhs_contracting_dimensions", lhs, &width))
    return false;
  cost->flops = HSC__FMA_FLOPS * hsc__cost_elements(out) * width;
  return true;
}

static bool count_matmul(const hsc_instr *call, hsc_cost *cost) {
  const hsc_shape *lhs = operand(call, 0);
  const hsc_shape *out = result(call, 0);
  const char *transposed = after_key(config_of(call), "transpose_a");
  if (!is_matrix(lhs) || !out || call->operand_count < 2)
    return false;
  double width = from_end(lhs, transposed && !strncmp(transposed, "true", 4) ? 2 : 1);
  cost->flops = HSC__FMA_FLOPS * hsc__cost_elements(out) * width;
  return true;
}

// The convolution y = conv(x, w) to which a call and the attributes that it carries belong.
static bool count_conv_of(const hsc_instr *call,
                          const hsc_shape *input,
                          const hsc_shape *kernel,
                          const hsc_shape *output,
                          hsc_cost *cost) {
  hsc_conv_call conv;
  int64_t places[3][HSC_CONV_CALL_DIMS];
  hsc_window_dim windows[HSC_CONV_CALL_DIMS];
  if (!input || !kernel || !output || !hsc_conv_call_read(call, &conv))
    return false;
  const hsc_shape *const shapes[] = {input, kernel, output};
  const char *const labels[] = {conv.input, conv.kernel, conv.output};
  for (int s = 0; s < 3; s++)
    for (int i = 0; i < conv.rank; i++)
      places[s][i] = hsc_conv_call_dim(labels[s], (char)('0' + i));
  hsc_conv_dims dims = {.spatial_rank = conv.rank,
                        .input_batch = hsc_conv_call_dim(conv.input, 'b'),
                        .input_feature = hsc_conv_call_dim(conv.input, 'f'),
                        .kernel_input = hsc_conv_call_dim(conv.kernel, 'i'),
                        .kernel_output = hsc_conv_call_dim(conv.kernel, 'o'),
                        .output_batch = hsc_conv_call_dim(conv.output, 'b'),
                        .output_feature = hsc_conv_call_dim(conv.output, 'f'),
                        .input_spatial = places[0],
                        .kernel_spatial = places[1],
                        .output_spatial = places[2]};
  const int64_t named[] = {dims.input_batch,   dims.input_feature, dims.kernel_input,
                           dims.kernel_output, dims.output_batch,  dims.output_feature};
  for (size_t i = 0; i < HSC_COUNT_OF(named); i++)
    if (named[i] < 0)
      return false;
  for (int s = 0; s < 3; s++) {
    if (!hsc_shape_is_array(shapes[s]) || shapes[s]->rank != conv.rank + 2)
      return false;
    for (int i = 0; i < conv.rank; i++)
      if (places[s][i] < 0)
        return false;
  }
  for (int i = 0; i < conv.rank; i++) {
    windows[i] = (hsc_window_dim){.size = conv.size[i],
                                  .stride = conv.stride[i],
                                  .pad_low = conv.low[i],
                                  .pad_high = conv.high[i],
                                  .window_dilation = conv.dilate[i],
                                  .base_dilation = conv.base[i]};
    if (conv.stride[i] < 1 || conv.base[i] < 1)
      return false;
  }
  cost->flops = hsc__cost_conv_flops(&(hsc__conv_shapes){.input = input,
                                                         .kernel = kernel,
                                                         .output = output,
                                                         .dims = &dims,
                                                         .windows = windows,
                                                         .feature_groups = conv.feature_groups,
                                                         .batch_groups = conv.batch_groups});
  return true;
}

static bool count_conv(const hsc_instr *call, hsc_cost *cost) {
  return count_conv_of(call, operand(call, 0), operand(call, 1), result(call, 0), cost);
}

// Gradients carry the forward convolution's attributes: each multiplies what that one multiplies.
static bool count_conv_input(const hsc_instr *call, hsc_cost *cost) {
  return count_conv_of(call, result(call, 0), operand(call, 1), operand(call, 0), cost);
}

static bool count_conv_filter(const hsc_instr *call, hsc_cost *cost) {
  return count_conv_of(call, operand(call, 0), result(call, 0), operand(call, 1), cost);
}

// Scores of queries against keys, then their product with the values. Key heads that several query
// heads share are counted for each.
static bool count_attention(const hsc_instr *call, hsc_cost *cost) {
  const hsc_shape *q = operand(call, 0);
  const hsc_shape *k = operand(call, 1);
  const hsc_shape *out = result(call, 0);
  const char *dims = after_key(config_of(call), "bmm1_dot_dimension_numbers");
  double depth, key_depth, key_batch;
  if (!q || !k || !out || call->operand_count < 3 || !dims ||
      !listed_product(dims, "lhs_contracting_dimensions", q, &depth) ||
      !listed_product(dims, "rhs_contracting_dimensions", k, &key_depth) ||
      !listed_product(dims, "rhs_batch_dimensions", k, &key_batch) || !(key_depth * key_batch > 0))
    return false;
  double keys = hsc__cost_elements(k) / (key_depth * key_batch);
  cost->flops = HSC__FMA_FLOPS * keys * (hsc__cost_elements(q) + hsc__cost_elements(out));
  return true;
}

static bool count_sort(const hsc_instr *call, hsc_cost *cost) {
  if (!operand(call, 0) || !hsc_shape_is_array(operand(call, 0)))
    return false;
  cost->flops = hsc__cost_sort_flops(operand(call, 0));
  return true;
}

// The largest and the sum of each row, and three operations on each element.
static bool count_softmax(const hsc_instr *call, hsc_cost *cost) {
  const hsc_shape *x = operand(call, 0);
  if (!x || !hsc_shape_is_array(x) || x->rank < 1 || x->dims[x->rank - 1] < 1)
    return false;
  double elements = hsc__cost_elements(x);
  cost->flops = 4 * elements - 2 * elements / from_end(x, 1);
  cost->transcendentals = elements;
  return true;
}

static bool count_cholesky(const hsc_instr *call, hsc_cost *cost) {
  if (!is_matrix(operand(call, 0)))
    return false;
  cost->flops = hsc__cost_cholesky_flops(operand(call, 0));
  return true;
}

static bool count_triangular(const hsc_instr *call, hsc_cost *cost) {
  if (!is_matrix(operand(call, 0)) || !is_matrix(operand(call, 1)))
    return false;
  cost->flops = hsc__cost_triangular_flops(operand(call, 0), operand(call, 1));
  return true;
}

// Golub and Van Loan, Matrix Computations, 4th edition: 3.2.11 (LU), 5.2.2 (QR), 5.1.6 (Q).
static bool count_lu(const hsc_instr *call, hsc_cost *cost) {
  const hsc_shape *a = operand(call, 0);
  if (!is_matrix(a))
    return false;
  double rows = from_end(a, 2);
  double columns = from_end(a, 1);
  double least = fmin(rows, columns);
  cost->flops = matrix_count(a) * least * least * (fmax(rows, columns) - least / 3);
  return true;
}

static bool count_qr(const hsc_instr *call, hsc_cost *cost) {
  if (!count_lu(call, cost))
    return false;
  cost->flops *= 2;  // of m columns by n: 2 n^2 (m - n / 3)
  return true;
}

// From k reflectors of m elements to n columns of Q.
static bool count_qr_q(const hsc_instr *call, hsc_cost *cost) {
  const hsc_shape *a = operand(call, 0);
  const hsc_shape *tau = operand(call, 1);
  const hsc_shape *q = result(call, 0);
  if (!is_matrix(a) || !is_matrix(q) || !tau || !hsc_shape_is_array(tau) || tau->rank < 1)
    return false;
  double m = from_end(q, 2);
  double n = from_end(q, 1);
  double k = from_end(tau, 1);
  cost->flops = matrix_count(q) * (4 * m * n * k - 2 * (m + n) * k * k + 4 * k * k * k / 3);
  return true;
}

static bool estimated(const char *config, const char *key, double *out) {
  const char *at = after_key(config, key);
  char *end = NULL;
  if (!at)
    return false;
  at += *at == '"';
  *out = strtod(at, &end);
  return end != at && isfinite(*out) && *out >= 0;
}

static bool count_estimate(const hsc_instr *call, hsc_cost *cost) {
  const char *at = after_key(config_of(call), "cost_estimate");
  double bytes;
  if (!at || !estimated(at, "flops", &cost->flops) || !estimated(at, "bytes_accessed", &bytes))
    return false;
  (void)estimated(at, "transcendentals", &cost->transcendentals);
  cost->bytes_read = fmax(0, bytes - cost->bytes_written);
  cost->bytes_written = fmin(bytes, cost->bytes_written);
  return true;
}

// ---- the table ----------------------------------------------------------------------------------

static const struct {
  const char *target;
  library_fn count;
  int written;
} rows[] = {
#define LIBRARY_CALL(target, how, written, doc) {target, count_##how, written},
#include "hlo/cost/library_calls.def"
#undef LIBRARY_CALL
};

static double written_bytes(const hsc_instr *call, int written) {
  double bytes = 0;
  int leaves = hsc_shape_leaf_count(&call->shape);
  int most = written == AS_READ ? call->operand_count : written;
  for (int i = 0; i < leaves && (written == ALL || i < most); i++)
    bytes += hsc__cost_leaves_bytes(hsc_shape_leaf(&call->shape, i));
  return bytes;
}

static bool is_first_of_target(const hsc_module *module, const hsc_instr *call) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (instr->op == HSC_OP_CUSTOM_CALL && instr->attr.custom.target &&
          !strcmp(instr->attr.custom.target, call->attr.custom.target))
        return instr == call;
  return false;
}

const char *hsc_uncounted_targets(const hsc_module *module, hsc_arena *arena) {
  const char *list = NULL;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_cost cost;
      if (instr->op != HSC_OP_CUSTOM_CALL || !instr->attr.custom.target)
        continue;
      hsc__cost_library_call(instr, &cost);
      if (!(cost.uncounted > 0) || !is_first_of_target(module, instr))
        continue;
      const char *target = instr->attr.custom.target;
      list = list ? hsc_arena_printf(arena, "%s, %s", list, target) : target;
    }
  return list;
}

void hsc__cost_library_call(const hsc_instr *call, hsc_cost *cost) {
  const char *target = call->attr.custom.target;
  double read = 0;
  for (int i = 0; i < call->operand_count; i++)
    read += hsc__cost_leaves_bytes(&call->operands[i]->shape);
  for (size_t i = 0; i < HSC_COUNT_OF(rows) && target; i++) {
    if (fnmatch(rows[i].target, target, 0) != 0)
      continue;
    hsc_cost found = {.bytes_read = read, .bytes_written = written_bytes(call, rows[i].written)};
    if (!rows[i].count(call, &found))
      break;
    *cost = found;
    return;
  }
  *cost = (hsc_cost){.uncounted = read > 0};
}
