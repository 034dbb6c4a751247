// lower_custom_calls.c - see lower_custom_calls.h. One function and one row of `lowerings` a call.
//
// A lowering appends HLO text that computes the call's result; workspaces become zeros.
#include "base/text/text.h"
#include "base/text/view_find.h"
#include "hlo/ir/conv_call.h"
#include "hlo/ir/custom.h"
#include "hlo/print/hlo_attrs.h"
#include "lab/passes/lower_internal.h"

#include <jansson.h>
#include <stdlib.h>

void hsc_lowered_calls_deinit(hsc_lowered_calls *lowered) {
  hsc_bytes_deinit(&lowered->text);
  hsc_bytes_deinit(&lowered->unknown);
  *lowered = (hsc_lowered_calls){0};
}

// What one call needs while it is rewritten. Lines of HLO text are appended to `out`.
typedef struct rewrite {
  const hsc_instr *call;
  json_t *config;  // backend_config as an object; NULL = none
  hsc_bytes *out;
  char result[512];  // the instruction that holds the value so far
  char shape[512];   // of the value
  int steps;
} rewrite;

static void begin_step(rewrite *r, const char *name) {
  snprintf(r->result, sizeof r->result, "%s.%s%d", r->call->name, name, r->steps++);
  hsc_bytes_printf(r->out, "  %%%s = %s ", r->result, r->shape);
}

// value op scalar, the scalar broadcast.
static void scalar_step(rewrite *r, const char *op, double scalar) {
  char value[512], type[64], number[64];
  const hsc_shape *shape =
      hsc_shape_is_tuple(&r->call->shape) ? hsc_shape_leaf(&r->call->shape, 0) : &r->call->shape;
  snprintf(value, sizeof value, "%s", r->result);
  snprintf(type, sizeof type, "%s", hsc_type_text(shape->type));
  hsc_format_double(scalar, number);
  hsc_bytes_printf(r->out, "  %%%s.scalar%d = %s[] constant(%s)\n", r->call->name, r->steps, type,
                   number);
  hsc_bytes_printf(r->out, "  %%%s.all%d = %s broadcast(%%%s.scalar%d), dimensions={}\n",
                   r->call->name, r->steps, r->shape, r->call->name, r->steps);
  int with = r->steps;
  begin_step(r, op);
  hsc_bytes_printf(r->out, "%s(%%%s, %%%s.all%d)\n", op, value, r->call->name, with);
}

static void bias_step(rewrite *r, const hsc_instr *bias, int dimension) {
  char value[512];
  snprintf(value, sizeof value, "%s", r->result);
  hsc_bytes_printf(r->out, "  %%%s.bias = %s broadcast(%%%s), dimensions={%d}\n", r->call->name,
                   r->shape, bias->name, dimension);
  begin_step(r, "add");
  hsc_bytes_printf(r->out, "add(%%%s, %%%s.bias)\n", value, r->call->name);
}

static void binary_step(rewrite *r, const char *op, const char *a, const char *b) {
  begin_step(r, op);
  hsc_bytes_printf(r->out, "%s(%%%s, %%%s)\n", op, a, b);
}

// cuBLASLt's GELU is the approximation by tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
static void gelu_step(rewrite *r) {
  char x[512], value[512];
  snprintf(x, sizeof x, "%s", r->result);
  binary_step(r, "multiply", x, x);
  snprintf(value, sizeof value, "%s", r->result);
  binary_step(r, "multiply", value, x);
  scalar_step(r, "multiply", 0.044715);
  snprintf(value, sizeof value, "%s", r->result);
  binary_step(r, "add", value, x);
  scalar_step(r, "multiply", 0.79788456080286535588);
  snprintf(value, sizeof value, "%s", r->result);
  begin_step(r, "tanh");
  hsc_bytes_printf(r->out, "tanh(%%%s)\n", value);
  scalar_step(r, "add", 1);
  snprintf(value, sizeof value, "%s", r->result);
  binary_step(r, "multiply", value, x);
  scalar_step(r, "multiply", 0.5);
}

static json_t *member(json_t *object, const char *name) {
  return json_object_get(object, name);
}
static const char *text_of(json_t *object, const char *name) {
  const char *text = json_string_value(member(object, name));
  return text ? text : "";
}
static double number_of(json_t *object, const char *name, double otherwise) {
  json_t *value = member(object, name);
  return json_is_number(value) ? json_number_value(value) : otherwise;
}

// protobuf's JSON writes 64-bit numbers as texts.
static void dims_text(json_t *list, char out[128]) {
  json_t *item;
  size_t i;
  size_t at = 0;
  out[0] = 0;
  json_array_foreach (list, i, item) {
    long long value = json_is_string(item) ? strtoll(json_string_value(item), NULL, 10)
                                           : (long long)json_integer_value(item);
    int n = snprintf(out + at, 128 - at, "%s%lld", i ? "," : "", value);
    if (n > 0 && at + (size_t)n < 128)
      at += (size_t)n;
  }
}

static void put_dot(rewrite *r,
                    const char *lhs_contract,
                    const char *rhs_contract,
                    const char *lhs_batch,
                    const char *rhs_batch) {
  begin_step(r, "dot");
  hsc_bytes_printf(r->out, "dot(%%%s, %%%s), lhs_contracting_dims={%s}, rhs_contracting_dims={%s}",
                   r->call->operands[0]->name, r->call->operands[1]->name, lhs_contract,
                   rhs_contract);
  if (*lhs_batch)
    hsc_bytes_printf(r->out, ", lhs_batch_dims={%s}, rhs_batch_dims={%s}", lhs_batch, rhs_batch);
  hsc_bytes_append_char(r->out, '\n');
}

static bool lower_gemm(rewrite *r) {
  json_t *config = member(r->config, "gemm_backend_config");
  json_t *dims = member(config ? config : r->config, "dot_dimension_numbers");
  char sets[4][128];
  static const char *const names[] = {"lhs_contracting_dimensions", "rhs_contracting_dimensions",
                                      "lhs_batch_dimensions", "rhs_batch_dimensions"};
  if (!config)
    config = r->config;
  const char *epilogue = text_of(config, "epilogue");
  bool relu = !strcmp(epilogue, "RELU") || !strcmp(epilogue, "BIAS_RELU");
  bool gelu = !strcmp(epilogue, "GELU") || !strcmp(epilogue, "BIAS_GELU");
  bool bias = !strncmp(epilogue, "BIAS", 4);
  if (!dims || r->call->operand_count < 2 ||
      (*epilogue && strcmp(epilogue, "DEFAULT") && strcmp(epilogue, "BIAS") && !relu && !gelu))
    return false;
  double alpha = number_of(config, "alpha_real", 1);
  double beta = number_of(config, "beta", 0);
  if (number_of(config, "alpha_imag", 0) != 0 ||
      (beta != 0 && (beta != 1 || r->call->operand_count < 3)))
    return false;
  for (int i = 0; i < 4; i++)
    dims_text(member(dims, names[i]), sets[i]);
  put_dot(r, sets[0], sets[1], sets[2], sets[3]);
  if (alpha != 1)
    scalar_step(r, "multiply", alpha);
  int next = 2;
  if (beta != 0) {
    char value[512];
    snprintf(value, sizeof value, "%s", r->result);
    begin_step(r, "add");
    hsc_bytes_printf(r->out, "add(%%%s, %%%s)\n", value, r->call->operands[next++]->name);
  }
  if (bias) {
    if (next >= r->call->operand_count)
      return false;
    const hsc_shape *shape =
        hsc_shape_is_tuple(&r->call->shape) ? hsc_shape_leaf(&r->call->shape, 0) : &r->call->shape;
    bias_step(r, r->call->operands[next], shape->rank - 1);
  }
  if (relu)
    scalar_step(r, "maximum", 0);
  if (gelu)
    gelu_step(r);
  return true;
}

static bool put_convolution(rewrite *r) {
  char window[512];
  char labels[512];
  char groups[512] = "";
  if (r->call->operand_count < 2 || !hsc_raw_attribute(r->call, "dim_labels=", labels))
    return false;
  bool has_window = hsc_raw_attribute(r->call, "window=", window);
  bool has_groups = hsc_raw_attribute(r->call, "feature_group_count=", groups);
  begin_step(r, "conv");
  hsc_bytes_printf(r->out, "convolution(%%%s, %%%s)%s%s, %s%s%s\n", r->call->operands[0]->name,
                   r->call->operands[1]->name, has_window ? ", " : "", has_window ? window : "",
                   labels, has_groups ? ", " : "", groups);
  return true;
}

static json_t *conv_config(rewrite *r) {
  json_t *config = member(r->config, "cudnn_conv_backend_config");
  return config ? config : r->config;
}

static bool lower_conv(rewrite *r) {
  double scale = number_of(conv_config(r), "conv_result_scale", 1);
  if (!put_convolution(r))
    return false;
  if (scale != 1)
    scalar_step(r, "multiply", scale);
  return true;
}

// ---- gradients of convolutions ------------------------------------------------------------------
//
// Their calls carry the window and the dim_labels of the forward convolution y = conv(x, w); a
// gradient is a convolution of its own (XLA's conv_rewriter.cc reads it in the other direction).

// Groups, and inputs with holes, are not lowered.
static bool read_window(const rewrite *r, hsc_conv_call *out) {
  if (!hsc_conv_call_read(r->call, out) || out->feature_groups != 1 || out->batch_groups != 1)
    return false;
  for (int i = 0; i < out->rank; i++)
    if (out->base[i] != 1)
      return false;
  return true;
}

static int64_t extent(const hsc_shape *shape, const char *labels, int space) {
  return hsc_conv_call_extent(shape, labels, (char)('0' + space));
}

static void put_list(hsc_bytes *out, const char *name, const int64_t *values, int rank) {
  hsc_bytes_printf(out, " %s=", name);
  for (int i = 0; i < rank; i++)
    hsc_bytes_printf(out, "%s%lld", i ? "x" : "", (long long)values[i]);
}

// The labels with each `from` in place of `to` and the other way round.
static const char *swapped(const char *labels, char a, char b, char as_a, char as_b, char out[16]) {
  size_t i = 0;
  for (; labels[i]; i++) {
    if (labels[i] == a)
      out[i] = as_a;
    else if (labels[i] == b)
      out[i] = as_b;
    else
      out[i] = labels[i];
  }
  out[i] = 0;
  return out;
}

static void put_gradient(
    rewrite *r, const hsc_conv_call *g, const char *lhs, const char *rhs, const char *result) {
  begin_step(r, "conv");
  hsc_bytes_printf(r->out, "convolution(%%%s, %%%s), window={", r->call->operands[0]->name,
                   r->call->operands[1]->name);
  if (g->rank) {
    hsc_bytes at = {0};
    put_list(&at, "size", g->size, g->rank);
    put_list(&at, "stride", g->stride, g->rank);
    hsc_bytes_append_text(&at, " pad=");
    for (int i = 0; i < g->rank; i++)
      hsc_bytes_printf(&at, "%s%lld_%lld", i ? "x" : "", (long long)g->low[i],
                       (long long)g->high[i]);
    put_list(&at, "lhs_dilate", g->base, g->rank);
    put_list(&at, "rhs_dilate", g->dilate, g->rank);
    put_list(&at, "rhs_reversal", g->reversed, g->rank);
    hsc_bytes_append_text(r->out, hsc_bytes_text(&at) + 1);
    hsc_bytes_deinit(&at);
  }
  hsc_bytes_printf(r->out, "}, dim_labels=%s_%s->%s\n", lhs, rhs, result);
}

static bool scale_gradient(rewrite *r) {
  double scale = number_of(conv_config(r), "conv_result_scale", 1);
  if (scale != 1)
    scalar_step(r, "multiply", scale);
  return true;
}

// dx[i] = sum of dy[o] w[k] over i = o stride + k dilate - low: dy with stride - 1 zeros between,
// against the mirrored kernel, its features exchanged.
static bool lower_conv_input(rewrite *r) {
  hsc_conv_call w, g;
  char kernel[16];
  if (!read_window(r, &w))
    return false;
  const hsc_shape *dx =
      hsc_shape_is_tuple(&r->call->shape) ? hsc_shape_leaf(&r->call->shape, 0) : &r->call->shape;
  g = w;
  for (int i = 0; i < w.rank; i++) {
    int64_t reach = (w.size[i] - 1) * w.dilate[i];
    int64_t spread = (extent(&r->call->operands[0]->shape, w.output, i) - 1) * w.stride[i] + 1;
    g.stride[i] = 1;
    g.base[i] = w.stride[i];
    g.low[i] = reach - w.low[i];
    g.high[i] = extent(dx, w.input, i) + reach - spread - g.low[i];
    g.reversed[i] = !w.reversed[i];
  }
  put_gradient(r, &g, w.output, swapped(w.kernel, 'i', 'o', 'o', 'i', kernel), w.input);
  return scale_gradient(r);
}

// dw[k] = sum of x[i] dy[o] over the same i: x against dy as the kernel, its steps apart by the
// stride; the batch is what is summed over.
static bool lower_conv_filter(rewrite *r) {
  hsc_conv_call w, g;
  char input[16], output[16], kernel[16];
  if (!read_window(r, &w))
    return false;
  g = w;
  for (int i = 0; i < w.rank; i++) {
    int64_t steps = extent(&r->call->operands[1]->shape, w.output, i);
    if (w.reversed[i])
      return false;
    g.size[i] = steps;
    g.stride[i] = w.dilate[i];
    g.dilate[i] = w.stride[i];
    g.high[i] = (w.size[i] - 1) * w.dilate[i] + (steps - 1) * w.stride[i] + 1 -
                extent(&r->call->operands[0]->shape, w.input, i) - w.low[i];
  }
  put_gradient(r, &g, swapped(w.input, 'b', 'f', 'f', 'b', input),
               swapped(w.output, 'b', 'f', 'i', 'o', output),
               swapped(w.kernel, 'i', 'o', 'b', 'f', kernel));
  return scale_gradient(r);
}

static bool lower_conv_bias(rewrite *r) {
  char labels[512];
  const char *activation = text_of(conv_config(r), "activation_mode");
  const char *output;
  bool relu = !strcmp(activation, "kRelu");
  bool relu6 = !strcmp(activation, "kRelu6");
  double side = r->call->operand_count == 4 ? number_of(conv_config(r), "side_input_scale", 0) : 0;
  if (r->call->operand_count < 3 || r->call->operand_count > 4 ||
      (!relu && !relu6 && strcmp(activation, "kNone") && *activation) || !lower_conv(r))
    return false;
  if (side != 0) {
    char value[512];
    snprintf(value, sizeof value, "%s", r->result);
    snprintf(r->result, sizeof r->result, "%s", r->call->operands[3]->name);
    if (side != 1)
      scalar_step(r, "multiply", side);
    char scaled[512];
    snprintf(scaled, sizeof scaled, "%s", r->result);
    begin_step(r, "add");
    hsc_bytes_printf(r->out, "add(%%%s, %%%s)\n", value, scaled);
  }
  if (!hsc_raw_attribute(r->call, "dim_labels=", labels) || !(output = strstr(labels, "->")) ||
      !strchr(output, 'f'))
    return false;
  bias_step(r, r->call->operands[2], (int)(strchr(output, 'f') - output - 2));
  if (relu || relu6)
    scalar_step(r, "maximum", 0);
  if (relu6)
    scalar_step(r, "minimum", 6);
  return true;
}

static bool lower_onednn_matmul(rewrite *r) {
  json_t *config = member(r->config, "onednn_matmul_config");
  json_t *fusions = member(config, "fusions");
  int rank = r->call->operand_count >= 2 ? r->call->operands[0]->shape.rank : 0;
  char batch[128] = "";
  char lhs[16];
  char rhs[16];
  if (rank < 2 || r->call->operands[1]->shape.rank != rank ||
      json_array_size(member(fusions, "ops")) > 0)
    return false;
  for (int i = 0, at = 0; i < rank - 2; i++)
    at += snprintf(batch + at, sizeof batch - (size_t)at, "%s%d", i ? "," : "", i);
  snprintf(lhs, sizeof lhs, "%d", rank - (json_is_true(member(config, "transpose_a")) ? 2 : 1));
  snprintf(rhs, sizeof rhs, "%d", rank - (json_is_true(member(config, "transpose_b")) ? 1 : 2));
  put_dot(r, lhs, rhs, batch, batch);
  return true;
}

// exp(x - max) over its sum, along the last dimension; reducers are the two computations at the
// head of the text.
static bool lower_softmax(rewrite *r) {
  const hsc_shape *shape = &r->call->shape;
  if (r->call->operand_count != 1 || hsc_shape_is_tuple(shape) || shape->type != HSC_TYPE_F32 ||
      shape->rank < 1)
    return false;
  char reduced[512];
  char dims[128] = "";
  const char *name = r->call->name;
  const char *x = r->call->operands[0]->name;
  int at = snprintf(reduced, sizeof reduced, "f32[");
  for (int i = 0, d = 0; i + 1 < shape->rank; i++) {
    at += snprintf(reduced + at, sizeof reduced - (size_t)at, "%s%lld", i ? "," : "",
                   (long long)shape->dims[i]);
    d += snprintf(dims + d, sizeof dims - (size_t)d, "%s%d", i ? "," : "", i);
  }
  snprintf(reduced + at, sizeof reduced - (size_t)at, "]");
  hsc_bytes_printf(r->out,
                   "  %%%s.low = f32[] constant(-inf)\n  %%%s.max = %s reduce(%%%s, %%%s.low), "
                   "dimensions={%d}, to_apply=%%hloscope_maximum\n"
                   "  %%%s.maxes = %s broadcast(%%%s.max), dimensions={%s}\n  %%%s.less = %s "
                   "subtract(%%%s, %%%s.maxes)\n  %%%s.exp = %s exponential(%%%s.less)\n"
                   "  %%%s.zero = f32[] constant(0)\n  %%%s.sum = %s reduce(%%%s.exp, %%%s.zero), "
                   "dimensions={%d}, to_apply=%%hloscope_add\n"
                   "  %%%s.sums = %s broadcast(%%%s.sum), dimensions={%s}\n",
                   name, name, reduced, x, name, shape->rank - 1, name, r->shape, name, dims, name,
                   r->shape, x, name, name, r->shape, name, name, name, reduced, name, name,
                   shape->rank - 1, name, r->shape, name, dims);
  begin_step(r, "softmax");
  hsc_bytes_printf(r->out, "divide(%%%s.exp, %%%s.sums)\n", name, name);
  return true;
}

// Memory that nobody has written yet (XLA:TPU's name for the start of a buffer that a loop fills):
// any value is right, so it is zeros.
static bool lower_allocate(rewrite *r) {
  if (r->call->operand_count != 0 || hsc_shape_is_tuple(&r->call->shape))
    return false;
  hsc_bytes_printf(r->out, "  %%%s.zero = %s[] constant(%s)\n", r->call->name,
                   hsc_type_text(r->call->shape.type),
                   r->call->shape.type == HSC_TYPE_PRED ? "false" : "0");
  begin_step(r, "space");
  hsc_bytes_printf(r->out, "broadcast(%%%s.zero), dimensions={}\n", r->call->name);
  return true;
}

// XLA:TPU has no values of 64 bits: its X64 rewriters write a complex number as two arrays, the low
// one with the real parts, and an integer as its low and high half. A double of two floats is left
// as it is: how it is split is not written down.
static bool is_whole_64(hsc_type type) {
  return type == HSC_TYPE_U64 || type == HSC_TYPE_S64;
}

// An array type of the dimensions of `shape`.
static void typed_text(const hsc_shape *shape, hsc_type type, char out[512]) {
  hsc_shape typed = *shape;
  typed.type = type;
  hsc__lower_shape_text(&typed, out);
}

// The dimensions of a scalar or of an array, broadcast from 32.
static void put_thirty_two(rewrite *r, const hsc_shape *shape) {
  char type[512];
  typed_text(shape, HSC_TYPE_U64, type);
  hsc_bytes_printf(r->out,
                   "  %%%s.bits = u64[] constant(32)\n  %%%s.shift = %s broadcast(%%%s.bits), "
                   "dimensions={}\n",
                   r->call->name, r->call->name, type, r->call->name);
}

static bool lower_split(rewrite *r) {
  const hsc_instr *call = r->call;
  bool low = !strcmp(call->attr.custom.target, "X64SplitLow");
  const hsc_shape *from = call->operand_count == 1 ? &call->operands[0]->shape : NULL;
  if (!from || !hsc_shape_is_array(from))
    return false;
  if (hsc_type_is_complex(from->type) && hsc_type_real_part(from->type) == call->shape.type) {
    begin_step(r, low ? "real" : "imag");
    hsc_bytes_printf(r->out, "%s(%%%s)\n", low ? "real" : "imag", call->operands[0]->name);
    return true;
  }
  if (!is_whole_64(from->type) || !hsc_type_is_integral(call->shape.type))
    return false;
  char whole[512];
  typed_text(from, HSC_TYPE_U64, whole);
  put_thirty_two(r, from);
  hsc_bytes_printf(r->out,
                   "  %%%s.whole = %s convert(%%%s)\n  %%%s.high = %s "
                   "shift-right-logical(%%%s.whole, %%%s.shift)\n",
                   call->name, whole, call->operands[0]->name, call->name, whole, call->name,
                   call->name);
  begin_step(r, "half");
  hsc_bytes_printf(r->out, "convert(%%%s.%s)\n", call->name, low ? "whole" : "high");
  return true;
}

static bool lower_combine(rewrite *r) {
  const hsc_instr *call = r->call;
  if (call->operand_count != 2)
    return false;
  const char *low = call->operands[0]->name;
  const char *high = call->operands[1]->name;
  hsc_type half = call->operands[0]->shape.type;
  if (hsc_type_is_complex(call->shape.type) && hsc_type_real_part(call->shape.type) == half) {
    begin_step(r, "complex");
    hsc_bytes_printf(r->out, "complex(%%%s, %%%s)\n", low, high);
    return true;
  }
  if (!is_whole_64(call->shape.type) || half != HSC_TYPE_U32 ||
      call->operands[1]->shape.type != HSC_TYPE_U32)
    return false;
  char whole[512];
  typed_text(&call->shape, HSC_TYPE_U64, whole);
  put_thirty_two(r, &call->shape);
  hsc_bytes_printf(r->out,
                   "  %%%s.low = %s convert(%%%s)\n  %%%s.upper = %s convert(%%%s)\n"
                   "  %%%s.high = %s shift-left(%%%s.upper, %%%s.shift)\n"
                   "  %%%s.both = %s or(%%%s.low, %%%s.high)\n",
                   call->name, whole, low, call->name, whole, high, call->name, whole, call->name,
                   call->name, call->name, whole, call->name, call->name);
  begin_step(r, "whole");
  hsc_bytes_printf(r->out, "convert(%%%s.both)\n", call->name);
  return true;
}

static const struct {
  const char *target;
  bool (*lower)(rewrite *r);
} lowerings[] = {{"__cublas$gemm", lower_gemm},
                 {"__cublas$lt$matmul", lower_gemm},
                 {"__cudnn$convForward", lower_conv},
                 {"__cudnn$convBackwardInput", lower_conv_input},
                 {"__cudnn$convBackwardFilter", lower_conv_filter},
                 {"__cudnn$convBiasActivationForward", lower_conv_bias},
                 {"__onednn$matmul", lower_onednn_matmul},
                 {"__onednn$softmax", lower_softmax},
                 {"AllocateBuffer", lower_allocate},
                 {"X64SplitLow", lower_split},
                 {"X64SplitHigh", lower_split},
                 {"X64Combine", lower_combine}};

// The call's own name gets the value; of a tuple, the first element, and zeros for the rest
// (workspaces).
static void put_result(rewrite *r, bool is_root) {
  const hsc_instr *call = r->call;
  const char *root = is_root ? "ROOT " : "";
  if (!hsc_shape_is_tuple(&call->shape)) {
    hsc_bytes_printf(r->out, "  %s%%%s = %s copy(%%%s)\n", root, call->name, r->shape, r->result);
    return;
  }
  char whole[512];
  int leaves = hsc_shape_leaf_count(&call->shape);
  for (int i = 1; i < leaves; i++) {
    const hsc_shape *leaf = hsc_shape_leaf(&call->shape, i);
    char text[512];
    hsc__lower_shape_text(leaf, text);
    hsc_bytes_printf(r->out,
                     "  %%%s.zero%d = %s[] constant(0)\n  %%%s.space%d = %s "
                     "broadcast(%%%s.zero%d), dimensions={}\n",
                     call->name, i, hsc_type_text(leaf->type), call->name, i, text, call->name, i);
  }
  hsc__lower_shape_text(&call->shape, whole);
  hsc_bytes_printf(r->out, "  %s%%%s = %s tuple(%%%s", root, call->name, whole, r->result);
  for (int i = 1; i < leaves; i++)
    hsc_bytes_printf(r->out, ", %%%s.space%d", call->name, i);
  hsc_bytes_append_text(r->out, ")\n");
}

static bool rewrite_call(const hsc_instr *call, bool is_root, hsc_bytes *out) {
  hsc_bytes lines = {0};
  rewrite r = {.call = call,
               .out = &lines,
               .config = call->backend_config ? json_loads(call->backend_config, 0, NULL) : NULL};
  bool done = false;
  if (!hsc_shape_is_tuple(&call->shape) ||
      (hsc_shape_leaf_count(&call->shape) > 0 && call->shape.type == HSC_TYPE_TUPLE)) {
    hsc__lower_shape_text(
        hsc_shape_is_tuple(&call->shape) ? hsc_shape_leaf(&call->shape, 0) : &call->shape, r.shape);
    for (size_t i = 0; i < HSC_COUNT_OF(lowerings) && !done; i++)
      if (call->attr.custom.target && !strcmp(call->attr.custom.target, lowerings[i].target))
        done = lowerings[i].lower(&r);
  }
  if (done) {
    put_result(&r, is_root);
    hsc_bytes_append(out, lines.data, lines.size);
  }
  hsc_bytes_deinit(&lines);
  json_decref(r.config);
  return done;
}

static void add_unknown(hsc_bytes *unknown, const char *target) {
  if (unknown->size && strstr(hsc_bytes_text(unknown), target))
    return;
  hsc_bytes_printf(unknown, "%s%s", unknown->size ? ", " : "", target);
}

hsc_status *hsc_lower_custom_calls(const hsc_module *module, hsc_lowered_calls *out) {
  static const char reducers[] =
      "%hloscope_maximum (a: f32[], b: f32[]) -> f32[] {\n  %a.hloscope_maximum = f32[] "
      "parameter(0)\n  %b.hloscope_maximum = f32[] parameter(1)\n"
      "  ROOT %r.hloscope_maximum = f32[] maximum(%a.hloscope_maximum, %b.hloscope_maximum)\n}\n\n"
      "%hloscope_add (a: f32[], b: f32[]) -> f32[] {\n  %a.hloscope_add = f32[] parameter(0)\n  "
      "%b.hloscope_add = f32[] parameter(1)\n"
      "  ROOT %r.hloscope_add = f32[] add(%a.hloscope_add, %b.hloscope_add)\n}\n\n";
  hsc_bytes text = {0};
  *out = (hsc_lowered_calls){0};
  hsc_module_print(module, NULL, &text);
  bool softmax = strstr(hsc_bytes_text(&text), "__onednn$softmax") != NULL;
  for (const char *line = hsc_bytes_text(&text); *line;) {
    size_t size = strcspn(line, "\n");
    // before the first computation
    if (softmax && (*line == '%' || hsc_starts_with(line, "ENTRY "))) {
      hsc_bytes_append_text(&out->text, reducers);
      softmax = false;
    }
    const char *name = *line == ' ' ? memchr(line, '%', size) : NULL;
    const hsc_instr *instr = NULL;
    if (name && module->names) {
      size_t name_size = strcspn(name + 1, " ");
      instr = hsc_map_get(module->names, (hsc_view){name + 1, name_size});
    }
    bool custom = instr && instr->op == HSC_OP_CUSTOM_CALL;
    hsc_view strange = instr ? hsc_instr_unknown_attribute(instr) : (hsc_view){0};
    if (strange.size) {
      char what[96];
      snprintf(what, sizeof what, "attribute %.*s of %s", (int)strange.size, strange.data,
               hsc_op_text(instr->op));
      add_unknown(&out->unknown, what);
    }
    if (custom && rewrite_call(instr, instr == instr->parent->root, &out->text)) {
      out->lowered++;
    } else if (instr && hsc__lower_mixed(instr, (hsc_view){line, size}, &out->text)) {
      // said in full
    } else {
      if (custom && instr->attr.custom.target && !hsc_custom_is_known(instr->attr.custom.target))
        add_unknown(&out->unknown, instr->attr.custom.target);
      hsc_bytes_append(&out->text, line, size);
      hsc_bytes_append_char(&out->text, '\n');
    }
    line += size;
    if (*line)
      line++;
  }
  hsc_status *status = hsc_bytes_status(&out->text);
  hsc_bytes_deinit(&text);
  if (status)
    hsc_lowered_calls_deinit(out);
  return status;
}
