// stablehlo_ops.c - StableHLO operations one by one: attributes to HLO's.
//
// How to read: a row of the table of operations names one import_* function; it gets the operation
// (a frame), builds the instruction with the builder and sets the results. What several of them
// need comes first: integers of constants, dimensions, fills. Operations whose sizes are operands
// follow those with sizes of their own; the table is at the end. What talks to the host and to
// other devices is in stablehlo_devices.c, custom calls in stablehlo_custom_calls.c, attributes of
// other dialects, which any operation may carry, in stablehlo_attributes.c.
#include <inttypes.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "formats/shardy/sdy_internal.h"
#include "formats/stablehlo/stablehlo_frame.h"
#include "formats/stablehlo/stablehlo_refine.h"

// A list of integers that is an operand: sizes that are known at run time only have no place in
// HLO, but most are constants.
static hsc_status *constant_dims(hsc__frame *f,
                                 const char *name,
                                 const hsc_instr *operand,
                                 hsc_dims *out) {
  const hsc_literal *literal = operand->op == HSC_OP_CONSTANT ? operand->attr.literal.value : NULL;
  // a constant of equal numbers
  bool splat = operand->op == HSC_OP_BROADCAST && operand->operands[0]->op == HSC_OP_CONSTANT;
  if (splat)
    literal = operand->operands[0]->attr.literal.value;
  if (!literal || literal->elided || !hsc_type_is_integral(literal->shape.type))
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op,
                      "%s: not built yet: dynamic shapes (%s is no constant)", f->op->written_name,
                      name);
  int64_t count = hsc_shape_elements(&operand->shape);
  if (count > 2 * HSC_MAX_RANK)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "%s: %s has %lld elements",
                      f->op->written_name, name, (long long)count);
  int64_t values[2 * HSC_MAX_RANK];
  for (int64_t i = 0; i < count; i++)
    values[i] = hsc_literal_get_int(literal, splat ? 0 : i);
  *out = hsc_dims_copy(hsc__frame_arena(f), (int)count, values);
  return NULL;
}

static hsc_status *dims(hsc__frame *f, const char *name, hsc_dims *out) {
  for (int i = 0; i < f->late_count; i++)
    if (!strcmp(f->late[i], name))
      return constant_dims(f, name, f->operands[f->late_from + i], out);
  return hsc__import_dims(f->im, f->op, name, out);
}
static hsc_dims filled(hsc__frame *f, int count, int64_t value) {
  int64_t values[HSC_MAX_RANK];
  for (int i = 0; i < count && i < HSC_MAX_RANK; i++)
    values[i] = value;
  return hsc_dims_copy(hsc__frame_arena(f), count < HSC_MAX_RANK ? count : HSC_MAX_RANK, values);
}

static hsc_status *import_same(hsc__frame *f) {
  hsc__frame_build(f);
  return NULL;
}

static hsc_status *import_dimensions(hsc__frame *f) {
  hsc_dims d;
  HSC_TRY(dims(f, "dimensions", &d));
  if (f->op->region_count)
    HSC_TRY(hsc__frame_build_calls(f));
  else
    hsc__frame_build(f);
  f->instr->attr.dims.dims = d;
  return NULL;
}

// Of a complex number its real part.
static hsc_status *import_convert(hsc__frame *f) {
  hsc_instr *x = f->operands[0];
  if (f->count == 1 && hsc_type_is_complex(x->shape.type) && !hsc_type_is_complex(f->shape.type)) {
    f->operands[0] = hsc_build_unary(f->b, HSC_OP_REAL, x);
    if (f->operands[0]->shape.type == f->shape.type) {
      f->instr = f->operands[0];
      return NULL;
    }
  }
  hsc__frame_build(f);
  return NULL;
}

// A bit of StableHLO's i1 is a bit; HLO's pred is a byte.
static hsc_status *import_bitcast_convert(hsc__frame *f) {
  hsc_type from = f->count == 1 ? f->operands[0]->shape.type : f->shape.type;
  if (from != f->shape.type && (from == HSC_TYPE_PRED || f->shape.type == HSC_TYPE_PRED))
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op, "%s: not built yet: between i1 and other types",
                      f->op->written_name);
  hsc__frame_build(f);
  return NULL;
}

static hsc_status *import_permutation(hsc__frame *f) {
  hsc_dims d;
  HSC_TRY(dims(f, "permutation", &d));
  hsc__frame_build(f)->attr.dims.dims = d;
  return NULL;
}

static hsc_status *import_dimension(hsc__frame *f) {
  hsc__frame_build(f)->attr.dims.dims =
      HSC_DIMS(hsc__frame_arena(f), hsc__frame_int(f, "dimension", 0));
  return NULL;
}

// A size that is known in the end: the operand that says it is not needed.
static void drop_last_operand(hsc__frame *f, int kept) {
  if (f->op->operand_count > kept)
    f->count = kept;
}

static hsc_status *import_dynamic_reshape(hsc__frame *f) {
  drop_last_operand(f, 1);
  hsc__frame_build(f);
  return NULL;
}

static hsc_status *import_iota(hsc__frame *f) {
  drop_last_operand(f, 0);
  hsc__frame_build(f)->attr.dims.dims =
      HSC_DIMS(hsc__frame_arena(f), hsc__frame_int(f, "iota_dimension", 0));
  return NULL;
}

static hsc_status *import_index(hsc__frame *f) {
  hsc__frame_build(f)->attr.index.value = hsc__frame_int(f, "index", 0);
  return NULL;
}

static hsc_status *import_constant(hsc__frame *f) {
  const hsc__mlir_attr *value = hsc__mlir_attr_get(f->op, "value");
  if (!value || value->kind != HSC_MLIR_DENSE)
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op, "its value is not a dense tensor");
  if (!hsc_shape_same_dims(&value->type->shape, &f->shape) ||
      value->type->shape.type != f->shape.type)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its value has another type than its result");
  // A large splat is a broadcast: a constant of gigabytes would be made of a few bytes of input.
  size_t one = hsc_type_bytes(f->shape.type);
  int64_t elements = hsc_shape_elements(&f->shape);
  bool splat = value->data.size == one && elements > 1;
  hsc_shape shape = splat ? hsc_shape_scalar(f->shape.type) : f->shape;
  hsc_literal *literal = NULL;
  HSC_TRY(hsc_literal_create(hsc__frame_arena(f), &shape, &literal));
  if (hsc_shape_bytes(&shape))
    memcpy(literal->data, value->data.data, (size_t)hsc_shape_bytes(&shape));
  f->instr = hsc_build_constant(f->b, literal);
  if (splat)
    f->instr = hsc_build_broadcast(f->b, f->instr, f->shape, (hsc_dims){0});
  return NULL;
}

static hsc_status *import_broadcast(hsc__frame *f) {
  int lead = f->shape.rank - f->operands[0]->shape.rank;
  int64_t map[HSC_MAX_RANK];
  if (lead < 0)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "its result has fewer dimensions than its operand");
  for (int i = 0; i < f->operands[0]->shape.rank; i++)
    map[i] = lead + i;
  f->instr =
      hsc_build_broadcast(f->b, f->operands[0], f->shape,
                          hsc_dims_copy(hsc__frame_arena(f), f->operands[0]->shape.rank, map));
  return NULL;
}

// HLO's broadcast does not widen dimensions of size 1: those are dropped first.
static hsc_status *import_broadcast_in_dim(hsc__frame *f) {
  hsc_dims d;
  HSC_TRY(dims(f, "broadcast_dimensions", &d));
  hsc_instr *x = f->operands[0];
  if (!hsc_shape_is_array(&f->shape))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "the result of a broadcast must be an array");
  if (d.count != x->shape.rank)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "%d broadcast dimensions for an operand of rank %d", d.count, x->shape.rank);
  int64_t kept_dims[HSC_MAX_RANK], map[HSC_MAX_RANK];
  int kept = 0;
  for (int i = 0; i < d.count; i++) {
    if (d.v[i] < 0 || d.v[i] >= f->shape.rank)
      return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                        "broadcast dimension %lld of a result of rank %d", (long long)d.v[i],
                        f->shape.rank);
    if (x->shape.dims[i] == 1 && f->shape.dims[d.v[i]] != 1)
      continue;
    kept_dims[kept] = x->shape.dims[i];
    map[kept++] = d.v[i];
  }
  if (kept != d.count)
    x = hsc_build_reshape(f->b, x, kept, kept_dims);
  f->instr = hsc_build_broadcast(f->b, x, f->shape, hsc_dims_copy(hsc__frame_arena(f), kept, map));
  return NULL;
}

// The predicate may be a scalar; HLO wants the result's dimensions.
static hsc_status *import_select(hsc__frame *f) {
  if (f->operands[0]->shape.rank == 0 && f->shape.rank > 0)
    f->operands[0] = hsc_build_broadcast(
        f->b, f->operands[0], hsc_shape_with_type(f->shape, HSC_TYPE_PRED), (hsc_dims){0});
  hsc__frame_build(f);
  return NULL;
}

static hsc_status *import_slice(hsc__frame *f) {
  hsc_dims start, limit, stride;
  HSC_TRY(dims(f, "start_indices", &start));
  HSC_TRY(dims(f, "limit_indices", &limit));
  HSC_TRY(dims(f, "strides", &stride));
  if (start.count != limit.count || start.count != stride.count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "its start_indices, limit_indices and strides differ in length");
  hsc__frame_build(f)->attr.slice.start = start;
  f->instr->attr.slice.limit = limit;
  f->instr->attr.slice.stride = stride;
  return NULL;
}

static hsc_status *import_dynamic_slice(hsc__frame *f) {
  hsc_dims sizes;
  HSC_TRY(dims(f, "slice_sizes", &sizes));
  hsc__frame_build(f)->attr.slice_sizes.sizes = sizes;
  return NULL;
}

static hsc_status *import_pad(hsc__frame *f) {
  hsc_dims low, high, interior;
  HSC_TRY(dims(f, "edge_padding_low", &low));
  HSC_TRY(dims(f, "edge_padding_high", &high));
  HSC_TRY(dims(f, "interior_padding", &interior));
  if (low.count != high.count || low.count != interior.count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its paddings differ in length");
  hsc_pad_dim *pads = HSC_NEW_ARRAY(hsc__frame_arena(f), hsc_pad_dim, low.count);
  HSC_TRY(hsc_arena_status(hsc__frame_arena(f)));
  for (int i = 0; i < low.count; i++)
    pads[i] = (hsc_pad_dim){low.v[i], high.v[i], interior.v[i]};
  hsc__frame_build(f)->attr.pad.rank = low.count;
  f->instr->attr.pad.dims = pads;
  return NULL;
}

static hsc_status *precision(hsc__frame *f, hsc_dims *out) {
  const hsc__mlir_attr *config = hsc__mlir_attr_get(f->op, "precision_config");
  *out = (hsc_dims){0};
  if (!config || config->kind != HSC_MLIR_ARRAY || config->count == 0 || config->count > 4)
    return NULL;
  int64_t values[4];
  bool any = false;
  for (int i = 0; i < config->count; i++) {
    any |= (values[i] = config->elements[i]->integer) != 0;
    if (values[i] < 0 || values[i] > 2)
      return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown precision");
  }
  if (any)
    *out = hsc_dims_copy(hsc__frame_arena(f), config->count, values);
  return NULL;
}

static bool is_type(const hsc__mlir_attr *attr, const char *text) {
  if (!attr || attr->kind != HSC_MLIR_TYPE)
    return false;
  const hsc__mlir_type *type = attr->type;
  const char *name =
      type->kind == HSC_MLIR_ELEMENT ? hsc__mlir_element_text(type->shape.type) : type->text;
  if (!name)
    return false;
  // any of the types of that width
  return !strcmp(name, text) || (!strncmp(text, "f8", 2) && !strncmp(name, "f8", 2));
}

// The number that XLA gives the algorithm; 0 without one.
static hsc_status *algorithm(hsc__frame *f, int32_t *out_number) {
  static const struct {
    int number;
    const char *operand, *accumulation;
    int operations;
    bool imprecise;
  } known[] = {
#define DOT_ALGORITHM(number, operand, accumulation, operations, imprecise) \
  {number, operand, accumulation, operations, imprecise},
#include "formats/stablehlo/dot_algorithms.def"
#undef DOT_ALGORITHM
  };
  const hsc__mlir_attr *lhs = hsc__mlir_attr_get(f->op, "lhs_precision_type");
  const hsc__mlir_attr *rhs = hsc__mlir_attr_get(f->op, "rhs_precision_type");
  const hsc__mlir_attr *accumulation = hsc__mlir_attr_get(f->op, "accumulation_type");
  *out_number = 0;
  if (!lhs)
    return NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(known); i++)
    if (is_type(lhs, known[i].operand) && is_type(rhs, known[i].operand) &&
        is_type(accumulation, known[i].accumulation) &&
        hsc__frame_int(f, "num_primitive_operations", 1) == known[i].operations &&
        hsc__frame_int(f, "allow_imprecise_accumulation", 0) == known[i].imprecise &&
        hsc__frame_int(f, "lhs_component_count", 1) == 1 &&
        hsc__frame_int(f, "rhs_component_count", 1) == 1)
      *out_number = known[i].number;
  return *out_number ? NULL
                     : HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op, "%s: HLO has no such algorithm",
                                  f->op->written_name);
}

static hsc_status *import_dot_general(hsc__frame *f) {
  hsc_dot_dims d = {0};
  HSC_TRY(dims(f, "lhs_batching_dimensions", &d.lhs_batch));
  HSC_TRY(dims(f, "rhs_batching_dimensions", &d.rhs_batch));
  HSC_TRY(dims(f, "lhs_contracting_dimensions", &d.lhs_contracting));
  HSC_TRY(dims(f, "rhs_contracting_dimensions", &d.rhs_contracting));
  HSC_TRY(precision(f, &d.precision));
  HSC_TRY(algorithm(f, &d.algorithm));
  hsc__frame_build(f)->attr.dot = d;
  return NULL;
}

static hsc_status *import_dot(hsc__frame *f) {
  hsc_dot_dims d = {0};
  d.lhs_contracting = HSC_DIMS(hsc__frame_arena(f), f->operands[0]->shape.rank - 1);
  d.rhs_contracting = HSC_DIMS(hsc__frame_arena(f), 0);
  HSC_TRY(precision(f, &d.precision));
  hsc__frame_build(f)->attr.dot = d;
  return NULL;
}

static const char *dims_attribute(hsc__frame *f, const char *text, const char *name, hsc_dims d) {
  hsc_bytes out = {0};
  if (text)
    hsc_bytes_printf(&out, "%s, ", text);
  hsc_bytes_printf(&out, "%s={", name);
  for (int i = 0; i < d.count; i++)
    hsc_bytes_printf(&out, "%s%" PRId64, i ? "," : "", d.v[i]);
  hsc_bytes_append_char(&out, '}');
  const char *kept = hsc_arena_strndup(hsc__frame_arena(f), hsc_bytes_text(&out), out.size);
  hsc_bytes_deinit(&out);
  return kept;
}

static hsc_status *import_ragged_dot(hsc__frame *f) {
  hsc_dims ragged, group;
  HSC_TRY(import_dot_general(f));
  HSC_TRY(dims(f, "lhs_ragged_dimensions", &ragged));
  HSC_TRY(dims(f, "rhs_group_dimensions", &group));
  const char *text = dims_attribute(f, NULL, "lhs_ragged_dims", ragged);
  f->instr->extra_attributes =
      group.count && text ? dims_attribute(f, text, "rhs_group_dims", group) : text;
  return NULL;
}

static hsc_status *import_batch_norm(hsc__frame *f) {
  const hsc__mlir_attr *epsilon = hsc__mlir_attr_get(f->op, "epsilon");
  hsc__frame_build(f)->attr.batch_norm.epsilon = epsilon ? (float)epsilon->number : 0;
  f->instr->attr.batch_norm.feature_index = hsc__frame_int(f, "feature_index", 0);
  return NULL;
}

static hsc_status *import_cholesky(hsc__frame *f) {
  hsc__frame_build(f)->attr.cholesky.lower = hsc__frame_int(f, "lower", 0) != 0;
  return NULL;
}

static hsc_status *import_triangular_solve(hsc__frame *f) {
  // VHLO's order
  static const hsc_transpose transposes[] = {HSC_NO_TRANSPOSE, HSC_NO_TRANSPOSE, HSC_TRANSPOSE,
                                             HSC_ADJOINT};
  int64_t transpose = hsc__frame_int(f, "transpose_a", 1);
  if (transpose < 0 || transpose > 3)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown transpose_a");
  hsc__frame_build(f)->attr.triangular.left_side = hsc__frame_int(f, "left_side", 0) != 0;
  f->instr->attr.triangular.lower = hsc__frame_int(f, "lower", 0) != 0;
  f->instr->attr.triangular.unit_diagonal = hsc__frame_int(f, "unit_diagonal", 0) != 0;
  f->instr->attr.triangular.transpose_a = transposes[transpose];
  return NULL;
}

static hsc_status *import_fft(hsc__frame *f) {
  hsc_dims length;
  int64_t type = hsc__frame_int(f, "fft_type", 0);
  HSC_TRY(dims(f, "fft_length", &length));
  if (type < 0 || type > 3)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown fft_type");
  hsc__frame_build(f)->attr.fft.type = (hsc_fft_type)type;  // the same order
  f->instr->attr.fft.length = length;
  return NULL;
}

static hsc_status *import_reduce_precision(hsc__frame *f) {
  hsc__frame_build(f)->attr.precision.exponent_bits =
      (int32_t)hsc__frame_int(f, "exponent_bits", 8);
  f->instr->attr.precision.mantissa_bits = (int32_t)hsc__frame_int(f, "mantissa_bits", 23);
  return NULL;
}

static hsc_status *import_rng(hsc__frame *f) {
  // (a, b, shape): the shape is the result's.
  int64_t distribution = hsc__frame_int(f, "rng_distribution", 0);
  if (distribution != 1 && distribution != 2)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown distribution");
  f->instr = hsc_build(f->b, HSC_OP_RNG, f->shape,
                       f->op->operand_count < 2 ? f->op->operand_count : 2, f->operands);
  f->instr->attr.rng.distribution = (hsc_rng_distribution)distribution;
  return NULL;
}

static hsc_status *import_rng_bit_generator(hsc__frame *f) {
  int64_t algorithm = hsc__frame_int(f, "rng_algorithm", 0);
  if (algorithm < 0 || algorithm > 2)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown algorithm");
  hsc__frame_build(f)->attr.rng.algorithm = (hsc_rng_algorithm)algorithm;  // the same order
  return NULL;
}

static hsc_status *import_barrier(hsc__frame *f) {
  if (f->op->operand_count == 1) {
    hsc__frame_build(f);
    return NULL;
  }
  hsc_instr *tuple = hsc_build_tuple(f->b, f->op->operand_count, f->operands);
  f->instr = hsc_build(f->b, HSC_OP_OPT_BARRIER, tuple->shape, 1, &tuple);
  return NULL;
}

static hsc_status *import_gather(hsc__frame *f) {
  hsc_gather_dims g = {0};
  HSC_TRY(dims(f, "offset_dims", &g.offset_dims));
  HSC_TRY(dims(f, "collapsed_slice_dims", &g.collapsed_slice_dims));
  HSC_TRY(dims(f, "start_index_map", &g.start_index_map));
  HSC_TRY(dims(f, "operand_batching_dims", &g.operand_batching_dims));
  HSC_TRY(dims(f, "start_indices_batching_dims", &g.start_indices_batching_dims));
  HSC_TRY(dims(f, "slice_sizes", &g.slice_sizes));
  g.index_vector_dim = hsc__frame_int(f, "index_vector_dim", 0);
  g.indices_are_sorted = hsc__frame_int(f, "indices_are_sorted", 0) != 0;
  hsc__frame_build(f)->attr.gather = g;
  return NULL;
}

static hsc_status *import_scatter(hsc__frame *f) {
  hsc_gather_dims g = {0};
  HSC_TRY(dims(f, "update_window_dims", &g.offset_dims));
  HSC_TRY(dims(f, "inserted_window_dims", &g.collapsed_slice_dims));
  HSC_TRY(dims(f, "scatter_dims_to_operand_dims", &g.start_index_map));
  HSC_TRY(dims(f, "input_batching_dims", &g.operand_batching_dims));
  HSC_TRY(dims(f, "scatter_indices_batching_dims", &g.start_indices_batching_dims));
  g.index_vector_dim = hsc__frame_int(f, "index_vector_dim", 0);
  g.indices_are_sorted = hsc__frame_int(f, "indices_are_sorted", 0) != 0;
  g.unique = hsc__frame_int(f, "unique_indices", 0) != 0;
  HSC_TRY(hsc__frame_build_calls(f));
  f->instr->attr.scatter = g;
  return NULL;
}

static hsc_status *import_sort(hsc__frame *f) {
  int64_t dimension = hsc__frame_int(f, "dimension", -1);
  int rank = f->op->operand_count ? f->operands[0]->shape.rank : 0;
  HSC_TRY(hsc__frame_build_calls(f));
  f->instr->attr.dims.dims =
      HSC_DIMS(hsc__frame_arena(f), dimension < 0 ? dimension + rank : dimension);
  f->instr->attr.dims.is_stable = hsc__frame_int(f, "is_stable", 0) != 0;
  return NULL;
}

// An N x 2 tensor of low and high paddings.
static hsc_status *padding(hsc__frame *f, int rank, hsc_dims *out) {
  HSC_TRY(dims(f, "padding", out));
  if (out->count == 0)
    *out = filled(f, 2 * rank < HSC_MAX_RANK ? 2 * rank : HSC_MAX_RANK, 0);
  return out->count == 2 * rank ? NULL
                                : HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                                             "%d paddings for %d dimensions", out->count, rank);
}

static hsc_status *or_ones(hsc__frame *f, const char *name, int rank, hsc_dims *out) {
  HSC_TRY(dims(f, name, out));
  if (out->count == 0)
    *out = filled(f, rank, 1);
  return out->count == rank
             ? NULL
             : HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "%s has %d elements for %d dimensions",
                          name, out->count, rank);
}

static hsc_status *window(hsc__frame *f,
                          hsc_dims size,
                          hsc_dims stride,
                          hsc_dims base,
                          hsc_dims dilation,
                          hsc_dims pads,
                          const bool *reversal,
                          hsc_window *out) {
  hsc_window_dim *w = HSC_NEW_ARRAY(hsc__frame_arena(f), hsc_window_dim, size.count);
  HSC_TRY(hsc_arena_status(hsc__frame_arena(f)));
  for (int i = 0; i < size.count; i++)
    w[i] = (hsc_window_dim){.size = size.v[i],
                            .stride = stride.v[i],
                            .pad_low = pads.v[2 * i],
                            .pad_high = pads.v[2 * i + 1],
                            .window_dilation = dilation.v[i],
                            .base_dilation = base.v[i],
                            .reversal = reversal && reversal[i]};
  *out = (hsc_window){.rank = size.count, .dims = w};
  return NULL;
}

static hsc_status *import_reduce_window(hsc__frame *f) {
  hsc_dims size, stride, base, dilation, pads;
  HSC_TRY(dims(f, "window_dimensions", &size));
  HSC_TRY(or_ones(f, "window_strides", size.count, &stride));
  HSC_TRY(or_ones(f, "base_dilations", size.count, &base));
  HSC_TRY(or_ones(f, "window_dilations", size.count, &dilation));
  HSC_TRY(padding(f, size.count, &pads));
  HSC_TRY(hsc__frame_build_calls(f));
  return window(f, size, stride, base, dilation, pads, NULL, &f->instr->attr.window.window);
}

static hsc_status *import_select_and_scatter(hsc__frame *f) {
  hsc_dims size, stride, pads;
  HSC_TRY(dims(f, "window_dimensions", &size));
  HSC_TRY(or_ones(f, "window_strides", size.count, &stride));
  HSC_TRY(padding(f, size.count, &pads));
  HSC_TRY(hsc__frame_build_calls(f));
  hsc_dims ones = filled(f, size.count, 1);
  return window(f, size, stride, ones, ones, pads, NULL, &f->instr->attr.window.window);
}

static hsc_status *import_convolution(hsc__frame *f) {
  hsc_conv_dims d = {0};
  hsc_dims input, kernel, output, stride, base, dilation, pads, reversal;
  HSC_TRY(dims(f, "input_spatial_dimensions", &input));
  HSC_TRY(dims(f, "kernel_spatial_dimensions", &kernel));
  HSC_TRY(dims(f, "output_spatial_dimensions", &output));
  int rank = input.count;
  if (kernel.count != rank || output.count != rank)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its spatial dimensions differ in number");
  HSC_TRY(or_ones(f, "window_strides", rank, &stride));
  HSC_TRY(or_ones(f, "lhs_dilation", rank, &base));
  HSC_TRY(or_ones(f, "rhs_dilation", rank, &dilation));
  HSC_TRY(padding(f, rank, &pads));
  HSC_TRY(dims(f, "window_reversal", &reversal));
  d.spatial_rank = rank;
  d.input_spatial = input.v;
  d.kernel_spatial = kernel.v;
  d.output_spatial = output.v;
  d.input_batch = hsc__frame_int(f, "input_batch_dimension", 0);
  d.input_feature = hsc__frame_int(f, "input_feature_dimension", 0);
  d.kernel_input = hsc__frame_int(f, "kernel_input_feature_dimension", 0);
  d.kernel_output = hsc__frame_int(f, "kernel_output_feature_dimension", 0);
  d.output_batch = hsc__frame_int(f, "output_batch_dimension", 0);
  d.output_feature = hsc__frame_int(f, "output_feature_dimension", 0);
  int64_t sizes[HSC_MAX_RANK];
  bool reversed[HSC_MAX_RANK] = {false};
  for (int i = 0; i < rank; i++) {
    if (kernel.v[i] < 0 || kernel.v[i] >= f->operands[1]->shape.rank)
      return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "kernel dimension %lld does not exist",
                        (long long)kernel.v[i]);
    sizes[i] = f->operands[1]->shape.dims[kernel.v[i]];
    reversed[i] = i < reversal.count && reversal.v[i];
  }
  hsc__frame_build(f)->attr.conv.dims = d;
  f->instr->attr.conv.feature_groups = hsc__frame_int(f, "feature_group_count", 1);
  f->instr->attr.conv.batch_groups = hsc__frame_int(f, "batch_group_count", 1);
  HSC_TRY(precision(f, &f->instr->attr.conv.precision));
  return window(f, hsc_dims_copy(hsc__frame_arena(f), rank, sizes), stride, base, dilation, pads,
                reversed, &f->instr->attr.conv.window);
}

// ---- the same with sizes as operands ------------------------------------------------------------

#define LATE(f, from, names, import) late_operands(f, from, names, (int)HSC_COUNT_OF(names), import)
static hsc_status *late_operands(hsc__frame *f,
                                 int from,
                                 const char *const *names,
                                 int count,
                                 hsc_status *(*import)(hsc__frame *)) {
  if (f->count != from + count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "%s: %d operands instead of %d",
                      f->op->written_name, f->count, from + count);
  f->late = names;
  f->late_from = f->count = from;
  f->late_count = count;
  return import(f);
}

static hsc_status *import_dynamic_gather(hsc__frame *f) {
  static const char *const names[] = {"slice_sizes"};
  return LATE(f, 2, names, import_gather);
}

static hsc_status *import_dynamic_conv(hsc__frame *f) {
  static const char *const names[] = {"padding"};
  return LATE(f, 2, names, import_convolution);
}

static hsc_status *import_dynamic_pad(hsc__frame *f) {
  static const char *const names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
  return LATE(f, 2, names, import_pad);
}

static hsc_status *import_real_dynamic_slice(hsc__frame *f) {
  static const char *const names[] = {"start_indices", "limit_indices", "strides"};
  return LATE(f, 1, names, import_slice);
}

// Rows that are imported in other files.
#define import_infeed hsc__import_infeed
#define import_outfeed hsc__import_outfeed
#define import_send hsc__import_send
#define import_recv hsc__import_recv
#define import_collective hsc__import_collective
#define import_all_to_all hsc__import_all_to_all
#define import_custom_call hsc__import_custom_call
#define import_compare hsc__frame_compare

static const struct {
  hsc_op hlo;
  hsc_status *(*import)(hsc__frame *f);  // NULL = not one operation of HLO
} rows[] = {
#define SHLO(name, hlo, import, export, check, form, properties) {HSC_OP_##hlo, import_##import},
#define OTHER(name, import, check, form, properties) {HSC_OP_COUNT, NULL},
#include "formats/mlir/stablehlo_ops.def"
};

// The shape to build with; *out_infer: it is to be inferred afterwards.
static hsc_status *result_shape(hsc__frame *f, bool *out_infer) {
  *out_infer = false;
  if (!f->im->refine || !hsc__refine_is_dynamic(f->op))
    return hsc__import_result_shape(f->im, f->op, &f->shape);
  if (f->hlo == HSC_OP_CUSTOM_CALL)
    return hsc__refine_custom_shapes(f->im, f->op, &f->shape, &f->count);
  return hsc__refine_result(f->im, f->op, f->hlo, &f->shape, out_infer);
}

static int needed_operands(hsc_op op) {
  if (op == HSC_OP_OUTFEED || op == HSC_OP_SEND)
    return 1;  // their data may be none or several
  return hsc_op_arity(op) == VARIADIC_ARITY ? 0 : hsc_op_arity(op);
}

hsc_status *hsc__import_plain_op(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  if (row < 0 || !rows[row].import) {
    bool done;
    HSC_TRY(hsc__import_chlo_op(im, b, op, &done));
    return done ? NULL
                : HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: importing this operation",
                             op->written_name);
  }
  hsc__frame f = {.im = im, .b = b, .op = op, .hlo = rows[row].hlo, .count = op->operand_count};
  bool infer = false;
  bool done = false;
  if (im->refine)
    HSC_TRY(hsc__refine_special(im, b, op, &done));
  if (done)
    return NULL;
  HSC_TRY(result_shape(&f, &infer));
  hsc_instr *few[8] = {NULL};
  f.operands = op->operand_count < (int)HSC_COUNT_OF(few)
                   ? few
                   : HSC_NEW_ARRAY(im->arena, hsc_instr *, op->operand_count + 1);
  if (!f.operands)
    return hsc_status_out_of_memory();
  for (int i = 0; i < op->operand_count; i++) {
    f.operands[i] = op->operands[i]->instr;
    if (!f.operands[i])
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "operand %d is not visible here", i);
  }
  if (f.hlo == HSC_OP_OPT_BARRIER && !op->operand_count && !op->result_count)
    return NULL;
  int needed = needed_operands(f.hlo);
  if (op->operand_count < needed)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: %d operands, it needs %d", op->written_name,
                      op->operand_count, needed);
  // Several results, and operations whose one result HLO gives as a tuple, are tuples.
  HSC_TRY(rows[row].import(&f));
  if (infer)
    HSC_TRY(hsc__refine_infer(im, op, f.instr));
  bool own = true;  // the operand itself, when the operation is nothing
  for (int i = 0; i < op->operand_count; i++)
    own &= f.instr != op->operands[i]->instr;
  if (own && op->attr_count)
    HSC_TRY(hsc__import_attributes(im, op, f.instr));
  if (!f.results_set)
    hsc__import_set_results(b, op, f.instr);
  return NULL;
}
