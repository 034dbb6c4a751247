// stablehlo_ops.c - StableHLO operations one by one: attributes to HLO's.
//
// How to read: a row of the table of operations names one import_* function; it gets the operation
// (a frame), builds the instruction with the builder and sets the results. What several of them
// need comes first: integers of constants, dimensions, fills. Operations whose sizes are operands
// follow those with sizes of their own, then what talks to the host and to other devices.
// Attributes of other dialects, which any operation may carry, are at the end.
#include <inttypes.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "formats/shardy/sdy_internal.h"
#include "formats/stablehlo/stablehlo_refine.h"

typedef struct frame {
  hsc__importer *im;
  hsc_builder *b;
  hsc__mlir_op *op;
  hsc_op hlo;
  hsc_shape shape;       // of the result
  hsc_instr **operands;  // [count], at first op->operand_count
  int count;
  hsc_instr *instr;  // what was built
  bool results_set;  // op->results have their instructions already
  // attributes that come as operands, from number late_from on; NULL = none
  const char *const *late;
  int late_from, late_count;
} frame;

static hsc_arena *arena_of(const frame *f) {
  return f->im->module->arena;
}

static hsc_instr *build(frame *f) {
  f->instr = hsc_build(f->b, f->hlo, f->shape, f->count, f->operands);
  return f->instr;
}

// A list of integers that is an operand: sizes that are known at run time only have no place in
// HLO, but most are constants.
static hsc_status *constant_dims(frame *f,
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
  *out = hsc_dims_copy(arena_of(f), (int)count, values);
  return NULL;
}

static hsc_status *dims(frame *f, const char *name, hsc_dims *out) {
  for (int i = 0; i < f->late_count; i++)
    if (!strcmp(f->late[i], name))
      return constant_dims(f, name, f->operands[f->late_from + i], out);
  return hsc__import_dims(f->im, f->op, name, out);
}
static int64_t integer(frame *f, const char *name, int64_t missing) {
  return hsc__import_int(f->op, name, missing);
}

static hsc_dims filled(frame *f, int count, int64_t value) {
  int64_t values[HSC_MAX_RANK];
  for (int i = 0; i < count && i < HSC_MAX_RANK; i++)
    values[i] = value;
  return hsc_dims_copy(arena_of(f), count < HSC_MAX_RANK ? count : HSC_MAX_RANK, values);
}

// StableHLO lets a reducer compute in a wider type than the operands have; HLO wants them converted
// before.
static void promote(frame *f, const hsc_computation *reducer) {
  static const hsc_op ops[] = {HSC_OP_REDUCE, HSC_OP_REDUCE_WINDOW, HSC_OP_SCATTER,
                               HSC_OP_ALL_REDUCE, HSC_OP_REDUCE_SCATTER};
  bool known = false;
  for (size_t i = 0; i < HSC_COUNT_OF(ops); i++)
    known |= f->hlo == ops[i];
  int of_each = reducer->parameter_count / 2;
  if (!known || of_each < 1)
    return;
  for (int i = 0; i < f->count; i++) {
    int k = f->hlo == HSC_OP_SCATTER && i > of_each ? i - of_each - 1 : i % of_each;
    bool index = f->hlo == HSC_OP_SCATTER && i == of_each;
    hsc_type type =
        k < reducer->parameter_count ? reducer->parameters[k]->shape.type : HSC_TYPE_INVALID;
    if (index || !hsc_shape_is_array(&f->operands[i]->shape) ||
        f->operands[i]->shape.type == type || hsc_type_class_of(type) == HSC_CLASS_OTHER)
      continue;
    f->operands[i] = hsc_build_convert(f->b, type, f->operands[i]);
  }
}

// Builds an instruction that calls the computations of all regions.
static hsc_status *build_calls(frame *f) {
  if (!f->op->region_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "it has no region, and computes nothing without one");
  hsc_computation **called = HSC_NEW_ARRAY(arena_of(f), hsc_computation *, f->op->region_count + 1);
  HSC_TRY(hsc_arena_status(arena_of(f)));
  for (int i = 0; i < f->op->region_count; i++)
    HSC_TRY(hsc__import_region(f->im, f->op, i, f->op->name, &called[i]));
  promote(f, called[0]);
  f->instr = hsc_build_calls(f->b, f->hlo, f->shape, f->op->operand_count, f->operands,
                             f->op->region_count, called);
  return NULL;
}

static hsc_status *import_same(frame *f) {
  build(f);
  return NULL;
}

static hsc_status *import_dimensions(frame *f) {
  hsc_dims d;
  HSC_TRY(dims(f, "dimensions", &d));
  if (f->op->region_count)
    HSC_TRY(build_calls(f));
  else
    build(f);
  f->instr->attr.dims.dims = d;
  return NULL;
}

// Of a complex number its real part.
static hsc_status *import_convert(frame *f) {
  hsc_instr *x = f->operands[0];
  if (f->count == 1 && hsc_type_is_complex(x->shape.type) && !hsc_type_is_complex(f->shape.type)) {
    f->operands[0] = hsc_build_unary(f->b, HSC_OP_REAL, x);
    if (f->operands[0]->shape.type == f->shape.type) {
      f->instr = f->operands[0];
      return NULL;
    }
  }
  build(f);
  return NULL;
}

// A bit of StableHLO's i1 is a bit; HLO's pred is a byte.
static hsc_status *import_bitcast_convert(frame *f) {
  hsc_type from = f->count == 1 ? f->operands[0]->shape.type : f->shape.type;
  if (from != f->shape.type && (from == HSC_TYPE_PRED || f->shape.type == HSC_TYPE_PRED))
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op, "%s: not built yet: between i1 and other types",
                      f->op->written_name);
  build(f);
  return NULL;
}

static hsc_status *import_permutation(frame *f) {
  hsc_dims d;
  HSC_TRY(dims(f, "permutation", &d));
  build(f)->attr.dims.dims = d;
  return NULL;
}

static hsc_status *import_dimension(frame *f) {
  build(f)->attr.dims.dims = HSC_DIMS(arena_of(f), integer(f, "dimension", 0));
  return NULL;
}

// A size that is known in the end: the operand that says it is not needed.
static void drop_last_operand(frame *f, int kept) {
  if (f->op->operand_count > kept)
    f->count = kept;
}

static hsc_status *import_dynamic_reshape(frame *f) {
  drop_last_operand(f, 1);
  build(f);
  return NULL;
}

static hsc_status *import_iota(frame *f) {
  drop_last_operand(f, 0);
  build(f)->attr.dims.dims = HSC_DIMS(arena_of(f), integer(f, "iota_dimension", 0));
  return NULL;
}

static hsc_status *import_index(frame *f) {
  build(f)->attr.index.value = integer(f, "index", 0);
  return NULL;
}

static hsc_status *import_constant(frame *f) {
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
  HSC_TRY(hsc_literal_create(arena_of(f), &shape, &literal));
  if (hsc_shape_bytes(&shape))
    memcpy(literal->data, value->data.data, (size_t)hsc_shape_bytes(&shape));
  f->instr = hsc_build_constant(f->b, literal);
  if (splat)
    f->instr = hsc_build_broadcast(f->b, f->instr, f->shape, (hsc_dims){0});
  return NULL;
}

static hsc_status *import_broadcast(frame *f) {
  int lead = f->shape.rank - f->operands[0]->shape.rank;
  int64_t map[HSC_MAX_RANK];
  if (lead < 0)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "its result has fewer dimensions than its operand");
  for (int i = 0; i < f->operands[0]->shape.rank; i++)
    map[i] = lead + i;
  f->instr = hsc_build_broadcast(f->b, f->operands[0], f->shape,
                                 hsc_dims_copy(arena_of(f), f->operands[0]->shape.rank, map));
  return NULL;
}

// HLO's broadcast does not widen dimensions of size 1: those are dropped first.
static hsc_status *import_broadcast_in_dim(frame *f) {
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
  f->instr = hsc_build_broadcast(f->b, x, f->shape, hsc_dims_copy(arena_of(f), kept, map));
  return NULL;
}

static hsc_status *import_compare(frame *f) {
  // VHLO's order
  static const hsc_direction directions[] = {HSC_EQ, HSC_NE, HSC_GE, HSC_GT, HSC_LE, HSC_LT};
  int64_t d = integer(f, "comparison_direction", -1);
  int64_t type = integer(f, "compare_type", 0);
  if (d < 0 || d >= (int64_t)HSC_COUNT_OF(directions))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown direction");
  build(f)->attr.compare.direction = directions[d];
  // the same order
  f->instr->attr.compare.type =
      type >= 0 && type <= 4 ? (hsc_compare_type)type : HSC_COMPARE_DEFAULT;
  return NULL;
}

hsc_status *hsc__import_compare(hsc__importer *im,
                                hsc_builder *b,
                                hsc__mlir_op *op,
                                hsc_instr **operands) {
  frame f = {.im = im, .b = b, .op = op, .hlo = HSC_OP_COMPARE, .operands = operands, .count = 2};
  HSC_TRY(hsc__import_result_shape(im, op, &f.shape));
  HSC_TRY(import_compare(&f));
  hsc__import_set_results(b, op, f.instr);
  return NULL;
}

// The predicate may be a scalar; HLO wants the result's dimensions.
static hsc_status *import_select(frame *f) {
  if (f->operands[0]->shape.rank == 0 && f->shape.rank > 0)
    f->operands[0] = hsc_build_broadcast(
        f->b, f->operands[0], hsc_shape_with_type(f->shape, HSC_TYPE_PRED), (hsc_dims){0});
  build(f);
  return NULL;
}

static hsc_status *import_slice(frame *f) {
  hsc_dims start, limit, stride;
  HSC_TRY(dims(f, "start_indices", &start));
  HSC_TRY(dims(f, "limit_indices", &limit));
  HSC_TRY(dims(f, "strides", &stride));
  if (start.count != limit.count || start.count != stride.count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "its start_indices, limit_indices and strides differ in length");
  build(f)->attr.slice.start = start;
  f->instr->attr.slice.limit = limit;
  f->instr->attr.slice.stride = stride;
  return NULL;
}

static hsc_status *import_dynamic_slice(frame *f) {
  hsc_dims sizes;
  HSC_TRY(dims(f, "slice_sizes", &sizes));
  build(f)->attr.slice_sizes.sizes = sizes;
  return NULL;
}

static hsc_status *import_pad(frame *f) {
  hsc_dims low, high, interior;
  HSC_TRY(dims(f, "edge_padding_low", &low));
  HSC_TRY(dims(f, "edge_padding_high", &high));
  HSC_TRY(dims(f, "interior_padding", &interior));
  if (low.count != high.count || low.count != interior.count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its paddings differ in length");
  hsc_pad_dim *pads = HSC_NEW_ARRAY(arena_of(f), hsc_pad_dim, low.count);
  HSC_TRY(hsc_arena_status(arena_of(f)));
  for (int i = 0; i < low.count; i++)
    pads[i] = (hsc_pad_dim){low.v[i], high.v[i], interior.v[i]};
  build(f)->attr.pad.rank = low.count;
  f->instr->attr.pad.dims = pads;
  return NULL;
}

static hsc_status *precision(frame *f, hsc_dims *out) {
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
    *out = hsc_dims_copy(arena_of(f), config->count, values);
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
static hsc_status *algorithm(frame *f, int32_t *out_number) {
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
        integer(f, "num_primitive_operations", 1) == known[i].operations &&
        integer(f, "allow_imprecise_accumulation", 0) == known[i].imprecise &&
        integer(f, "lhs_component_count", 1) == 1 && integer(f, "rhs_component_count", 1) == 1)
      *out_number = known[i].number;
  return *out_number ? NULL
                     : HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op, "%s: HLO has no such algorithm",
                                  f->op->written_name);
}

static hsc_status *import_dot_general(frame *f) {
  hsc_dot_dims d = {0};
  HSC_TRY(dims(f, "lhs_batching_dimensions", &d.lhs_batch));
  HSC_TRY(dims(f, "rhs_batching_dimensions", &d.rhs_batch));
  HSC_TRY(dims(f, "lhs_contracting_dimensions", &d.lhs_contracting));
  HSC_TRY(dims(f, "rhs_contracting_dimensions", &d.rhs_contracting));
  HSC_TRY(precision(f, &d.precision));
  HSC_TRY(algorithm(f, &d.algorithm));
  build(f)->attr.dot = d;
  return NULL;
}

static hsc_status *import_dot(frame *f) {
  hsc_dot_dims d = {0};
  d.lhs_contracting = HSC_DIMS(arena_of(f), f->operands[0]->shape.rank - 1);
  d.rhs_contracting = HSC_DIMS(arena_of(f), 0);
  HSC_TRY(precision(f, &d.precision));
  build(f)->attr.dot = d;
  return NULL;
}

static const char *dims_attribute(frame *f, const char *text, const char *name, hsc_dims d) {
  hsc_bytes out = {0};
  if (text)
    hsc_bytes_printf(&out, "%s, ", text);
  hsc_bytes_printf(&out, "%s={", name);
  for (int i = 0; i < d.count; i++)
    hsc_bytes_printf(&out, "%s%" PRId64, i ? "," : "", d.v[i]);
  hsc_bytes_append_char(&out, '}');
  const char *kept = hsc_arena_strndup(arena_of(f), hsc_bytes_text(&out), out.size);
  hsc_bytes_deinit(&out);
  return kept;
}

static hsc_status *import_ragged_dot(frame *f) {
  hsc_dims ragged, group;
  HSC_TRY(import_dot_general(f));
  HSC_TRY(dims(f, "lhs_ragged_dimensions", &ragged));
  HSC_TRY(dims(f, "rhs_group_dimensions", &group));
  const char *text = dims_attribute(f, NULL, "lhs_ragged_dims", ragged);
  f->instr->extra_attributes =
      group.count && text ? dims_attribute(f, text, "rhs_group_dims", group) : text;
  return NULL;
}

static hsc_status *import_batch_norm(frame *f) {
  const hsc__mlir_attr *epsilon = hsc__mlir_attr_get(f->op, "epsilon");
  build(f)->attr.batch_norm.epsilon = epsilon ? (float)epsilon->number : 0;
  f->instr->attr.batch_norm.feature_index = integer(f, "feature_index", 0);
  return NULL;
}

static hsc_status *import_cholesky(frame *f) {
  build(f)->attr.cholesky.lower = integer(f, "lower", 0) != 0;
  return NULL;
}

static hsc_status *import_triangular_solve(frame *f) {
  // VHLO's order
  static const hsc_transpose transposes[] = {HSC_NO_TRANSPOSE, HSC_NO_TRANSPOSE, HSC_TRANSPOSE,
                                             HSC_ADJOINT};
  int64_t transpose = integer(f, "transpose_a", 1);
  if (transpose < 0 || transpose > 3)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown transpose_a");
  build(f)->attr.triangular.left_side = integer(f, "left_side", 0) != 0;
  f->instr->attr.triangular.lower = integer(f, "lower", 0) != 0;
  f->instr->attr.triangular.unit_diagonal = integer(f, "unit_diagonal", 0) != 0;
  f->instr->attr.triangular.transpose_a = transposes[transpose];
  return NULL;
}

static hsc_status *import_fft(frame *f) {
  hsc_dims length;
  int64_t type = integer(f, "fft_type", 0);
  HSC_TRY(dims(f, "fft_length", &length));
  if (type < 0 || type > 3)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown fft_type");
  build(f)->attr.fft.type = (hsc_fft_type)type;  // the same order
  f->instr->attr.fft.length = length;
  return NULL;
}

static hsc_status *import_reduce_precision(frame *f) {
  build(f)->attr.precision.exponent_bits = (int32_t)integer(f, "exponent_bits", 8);
  f->instr->attr.precision.mantissa_bits = (int32_t)integer(f, "mantissa_bits", 23);
  return NULL;
}

static hsc_status *import_rng(frame *f) {
  // (a, b, shape): the shape is the result's.
  int64_t distribution = integer(f, "rng_distribution", 0);
  if (distribution != 1 && distribution != 2)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown distribution");
  f->instr = hsc_build(f->b, HSC_OP_RNG, f->shape,
                       f->op->operand_count < 2 ? f->op->operand_count : 2, f->operands);
  f->instr->attr.rng.distribution = (hsc_rng_distribution)distribution;
  return NULL;
}

static hsc_status *import_rng_bit_generator(frame *f) {
  int64_t algorithm = integer(f, "rng_algorithm", 0);
  if (algorithm < 0 || algorithm > 2)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown algorithm");
  build(f)->attr.rng.algorithm = (hsc_rng_algorithm)algorithm;  // the same order
  return NULL;
}

static hsc_status *import_barrier(frame *f) {
  if (f->op->operand_count == 1) {
    build(f);
    return NULL;
  }
  hsc_instr *tuple = hsc_build_tuple(f->b, f->op->operand_count, f->operands);
  f->instr = hsc_build(f->b, HSC_OP_OPT_BARRIER, tuple->shape, 1, &tuple);
  return NULL;
}

static hsc_status *import_gather(frame *f) {
  hsc_gather_dims g = {0};
  HSC_TRY(dims(f, "offset_dims", &g.offset_dims));
  HSC_TRY(dims(f, "collapsed_slice_dims", &g.collapsed_slice_dims));
  HSC_TRY(dims(f, "start_index_map", &g.start_index_map));
  HSC_TRY(dims(f, "operand_batching_dims", &g.operand_batching_dims));
  HSC_TRY(dims(f, "start_indices_batching_dims", &g.start_indices_batching_dims));
  HSC_TRY(dims(f, "slice_sizes", &g.slice_sizes));
  g.index_vector_dim = integer(f, "index_vector_dim", 0);
  g.indices_are_sorted = integer(f, "indices_are_sorted", 0) != 0;
  build(f)->attr.gather = g;
  return NULL;
}

static hsc_status *import_scatter(frame *f) {
  hsc_gather_dims g = {0};
  HSC_TRY(dims(f, "update_window_dims", &g.offset_dims));
  HSC_TRY(dims(f, "inserted_window_dims", &g.collapsed_slice_dims));
  HSC_TRY(dims(f, "scatter_dims_to_operand_dims", &g.start_index_map));
  HSC_TRY(dims(f, "input_batching_dims", &g.operand_batching_dims));
  HSC_TRY(dims(f, "scatter_indices_batching_dims", &g.start_indices_batching_dims));
  g.index_vector_dim = integer(f, "index_vector_dim", 0);
  g.indices_are_sorted = integer(f, "indices_are_sorted", 0) != 0;
  g.unique = integer(f, "unique_indices", 0) != 0;
  HSC_TRY(build_calls(f));
  f->instr->attr.scatter = g;
  return NULL;
}

static hsc_status *import_sort(frame *f) {
  int64_t dimension = integer(f, "dimension", -1);
  int rank = f->op->operand_count ? f->operands[0]->shape.rank : 0;
  HSC_TRY(build_calls(f));
  f->instr->attr.dims.dims = HSC_DIMS(arena_of(f), dimension < 0 ? dimension + rank : dimension);
  f->instr->attr.dims.is_stable = integer(f, "is_stable", 0) != 0;
  return NULL;
}

// An N x 2 tensor of low and high paddings.
static hsc_status *padding(frame *f, int rank, hsc_dims *out) {
  HSC_TRY(dims(f, "padding", out));
  if (out->count == 0)
    *out = filled(f, 2 * rank < HSC_MAX_RANK ? 2 * rank : HSC_MAX_RANK, 0);
  return out->count == 2 * rank ? NULL
                                : HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                                             "%d paddings for %d dimensions", out->count, rank);
}

static hsc_status *or_ones(frame *f, const char *name, int rank, hsc_dims *out) {
  HSC_TRY(dims(f, name, out));
  if (out->count == 0)
    *out = filled(f, rank, 1);
  return out->count == rank
             ? NULL
             : HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "%s has %d elements for %d dimensions",
                          name, out->count, rank);
}

static hsc_status *window(frame *f,
                          hsc_dims size,
                          hsc_dims stride,
                          hsc_dims base,
                          hsc_dims dilation,
                          hsc_dims pads,
                          const bool *reversal,
                          hsc_window *out) {
  hsc_window_dim *w = HSC_NEW_ARRAY(arena_of(f), hsc_window_dim, size.count);
  HSC_TRY(hsc_arena_status(arena_of(f)));
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

static hsc_status *import_reduce_window(frame *f) {
  hsc_dims size, stride, base, dilation, pads;
  HSC_TRY(dims(f, "window_dimensions", &size));
  HSC_TRY(or_ones(f, "window_strides", size.count, &stride));
  HSC_TRY(or_ones(f, "base_dilations", size.count, &base));
  HSC_TRY(or_ones(f, "window_dilations", size.count, &dilation));
  HSC_TRY(padding(f, size.count, &pads));
  HSC_TRY(build_calls(f));
  return window(f, size, stride, base, dilation, pads, NULL, &f->instr->attr.window.window);
}

static hsc_status *import_select_and_scatter(frame *f) {
  hsc_dims size, stride, pads;
  HSC_TRY(dims(f, "window_dimensions", &size));
  HSC_TRY(or_ones(f, "window_strides", size.count, &stride));
  HSC_TRY(padding(f, size.count, &pads));
  HSC_TRY(build_calls(f));
  hsc_dims ones = filled(f, size.count, 1);
  return window(f, size, stride, ones, ones, pads, NULL, &f->instr->attr.window.window);
}

static hsc_status *import_convolution(frame *f) {
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
  d.input_batch = integer(f, "input_batch_dimension", 0);
  d.input_feature = integer(f, "input_feature_dimension", 0);
  d.kernel_input = integer(f, "kernel_input_feature_dimension", 0);
  d.kernel_output = integer(f, "kernel_output_feature_dimension", 0);
  d.output_batch = integer(f, "output_batch_dimension", 0);
  d.output_feature = integer(f, "output_feature_dimension", 0);
  int64_t sizes[HSC_MAX_RANK];
  bool reversed[HSC_MAX_RANK] = {false};
  for (int i = 0; i < rank; i++) {
    if (kernel.v[i] < 0 || kernel.v[i] >= f->operands[1]->shape.rank)
      return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "kernel dimension %lld does not exist",
                        (long long)kernel.v[i]);
    sizes[i] = f->operands[1]->shape.dims[kernel.v[i]];
    reversed[i] = i < reversal.count && reversal.v[i];
  }
  build(f)->attr.conv.dims = d;
  f->instr->attr.conv.feature_groups = integer(f, "feature_group_count", 1);
  f->instr->attr.conv.batch_groups = integer(f, "batch_group_count", 1);
  HSC_TRY(precision(f, &f->instr->attr.conv.precision));
  return window(f, hsc_dims_copy(arena_of(f), rank, sizes), stride, base, dilation, pads, reversed,
                &f->instr->attr.conv.window);
}

// "{{0,1},{2,3}}" of a tensor of rank 2.
static const char *groups_text(frame *f, const char *name) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(f->op, name);
  if (!attr || attr->kind != HSC_MLIR_DENSE || attr->type->shape.rank != 2)
    return NULL;
  int64_t rows = attr->type->shape.dims[0];
  int64_t columns = attr->type->shape.dims[1];
  hsc_dims values;
  hsc_status *status = hsc__import_dims(f->im, f->op, name, &values);
  hsc_status_free(status);
  if (status || values.count != rows * columns)
    return NULL;
  hsc_bytes text = {0};
  hsc_bytes_append_char(&text, '{');
  for (int64_t i = 0; i < rows; i++) {
    hsc_bytes_append_text(&text, i ? ",{" : "{");
    for (int64_t k = 0, written = 0; k < columns; k++)  // -1 fills groups of different sizes
      if (values.v[i * columns + k] >= 0)
        hsc_bytes_printf(&text, "%s%lld", written++ ? "," : "",
                         (long long)values.v[i * columns + k]);
    hsc_bytes_append_char(&text, '}');
  }
  hsc_bytes_append_char(&text, '}');
  const char *copy = hsc_arena_strdup(arena_of(f), hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return copy;
}

// ---- the same with sizes as operands ------------------------------------------------------------

#define LATE(f, from, names, import) late_operands(f, from, names, (int)HSC_COUNT_OF(names), import)
static hsc_status *late_operands(
    frame *f, int from, const char *const *names, int count, hsc_status *(*import)(frame *)) {
  if (f->count != from + count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "%s: %d operands instead of %d",
                      f->op->written_name, f->count, from + count);
  f->late = names;
  f->late_from = f->count = from;
  f->late_count = count;
  return import(f);
}

static hsc_status *import_dynamic_gather(frame *f) {
  static const char *const names[] = {"slice_sizes"};
  return LATE(f, 2, names, import_gather);
}

static hsc_status *import_dynamic_conv(frame *f) {
  static const char *const names[] = {"padding"};
  return LATE(f, 2, names, import_convolution);
}

static hsc_status *import_dynamic_pad(frame *f) {
  static const char *const names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
  return LATE(f, 2, names, import_pad);
}

static hsc_status *import_real_dynamic_slice(frame *f) {
  static const char *const names[] = {"start_indices", "limit_indices", "strides"};
  return LATE(f, 1, names, import_slice);
}

// ---- host and other devices ---------------------------------------------------------------------

// Of the first `count` results or operands: one as it is, several (or none) as a tuple.
static hsc_status *joined_shape(frame *f, int count, hsc_shape *out) {
  if (count == 1)
    return hsc__import_shape(f->im, f->op, f->op->results[0].type, out);
  hsc_shape *elements = HSC_NEW_ARRAY(f->im->arena, hsc_shape, count + 1);
  HSC_TRY(hsc_arena_status(f->im->arena));
  for (int i = 0; i < count; i++)
    HSC_TRY(hsc__import_shape(f->im, f->op, f->op->results[i].type, &elements[i]));
  *out = hsc_shape_tuple(arena_of(f), count, elements);
  return NULL;
}

static hsc_instr *joined_operands(frame *f, int count) {
  return count == 1 ? f->operands[0] : hsc_build_tuple(f->b, count, f->operands);
}

// (data, token) of HLO as StableHLO's results: the data one by one, then the token.
static void take_apart(frame *f, hsc_instr *pair) {
  int count = f->op->result_count - 1;
  hsc_instr *token = hsc_build_get_tuple_element(f->b, pair, 1);
  hsc_instr *data = count == 0 ? NULL : hsc_build_get_tuple_element(f->b, pair, 0);
  for (int i = 0; i < count; i++)
    f->op->results[i].instr = count == 1 ? data : hsc_build_get_tuple_element(f->b, data, i);
  f->op->results[count].instr = token;
  f->results_set = true;
}

static const char *text_attribute(frame *f, const char *name) {
  hsc_view text = hsc__import_text(f->op, name);
  return text.size ? hsc_arena_strndup(arena_of(f), text.data, text.size) : NULL;
}

static bool ends_with_token(const frame *f, bool operands) {
  int count = operands ? f->count : f->op->result_count;
  if (count < 1)
    return false;
  return operands ? f->operands[count - 1]->shape.type == HSC_TYPE_TOKEN
                  : f->op->results[count - 1].type->kind == HSC_MLIR_TOKEN;
}

static hsc_status *import_infeed(frame *f) {
  hsc_shape parts[2] = {{0}, hsc_shape_token()};
  if (f->count != 1 || !ends_with_token(f, true) || !ends_with_token(f, false))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "it takes a token, and its last result is one");
  HSC_TRY(joined_shape(f, f->op->result_count - 1, &parts[0]));
  f->shape = hsc_shape_tuple(arena_of(f), 2, parts);
  build(f)->attr.custom.target = text_attribute(f, "infeed_config");
  take_apart(f, f->instr);
  return NULL;
}

static hsc_status *import_outfeed(frame *f) {
  if (!ends_with_token(f, true))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its last operand is no token");
  hsc_instr *operands[2] = {joined_operands(f, f->count - 1), f->operands[f->count - 1]};
  f->instr = hsc_build(f->b, HSC_OP_OUTFEED, hsc_shape_token(), 2, operands);
  f->instr->attr.custom.target = text_attribute(f, "outfeed_config");
  return NULL;
}

// send and recv start, their -done ends: both carry the channel.
static const char *channel_text(frame *f) {
  bool host = integer(f, "is_host_transfer", 0) != 0;
  const hsc__mlir_attr *pairs = hsc__mlir_attr_get(f->op, "source_target_pairs");
  int64_t channel = integer(f, "channel_id", 0);  // 0 = none
  hsc_bytes text = {0};
  if (channel > 0)
    hsc_bytes_printf(&text, "channel_id=%" PRId64, channel);
  if (host)
    hsc_bytes_printf(&text, "%sis_host_transfer=true", text.size ? ", " : "");
  if (pairs && pairs->kind == HSC_MLIR_DENSE && hsc_shape_elements(&pairs->type->shape) > 0)
    hsc_bytes_printf(&text, "%ssource_target_pairs=%s", text.size ? ", " : "",
                     groups_text(f, "source_target_pairs"));
  const char *kept =
      text.size ? hsc_arena_strndup(arena_of(f), hsc_bytes_text(&text), text.size) : NULL;
  hsc_bytes_deinit(&text);
  return kept;
}

static hsc_status *import_send(frame *f) {
  if (!ends_with_token(f, true))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its last operand is no token");
  hsc_instr *operands[2] = {joined_operands(f, f->count - 1), f->operands[f->count - 1]};
  hsc_shape parts[3] = {operands[0]->shape, hsc_shape_scalar(HSC_TYPE_U32), hsc_shape_token()};
  hsc_instr *start =
      hsc_build(f->b, HSC_OP_SEND, hsc_shape_tuple(arena_of(f), 3, parts), 2, operands);
  f->instr = hsc_build(f->b, HSC_OP_SEND_DONE, hsc_shape_token(), 1, &start);
  start->extra_attributes = f->instr->extra_attributes = channel_text(f);
  return NULL;
}

static hsc_status *import_recv(frame *f) {
  hsc_shape parts[3] = {{0}, hsc_shape_scalar(HSC_TYPE_U32), hsc_shape_token()};
  if (f->count != 1 || !ends_with_token(f, true) || !ends_with_token(f, false))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "it takes a token, and its last result is one");
  HSC_TRY(joined_shape(f, f->op->result_count - 1, &parts[0]));
  hsc_instr *start =
      hsc_build(f->b, HSC_OP_RECV, hsc_shape_tuple(arena_of(f), 3, parts), 1, f->operands);
  parts[1] = parts[2];
  f->instr = hsc_build(f->b, HSC_OP_RECV_DONE, hsc_shape_tuple(arena_of(f), 2, parts), 1, &start);
  start->extra_attributes = f->instr->extra_attributes = channel_text(f);
  take_apart(f, f->instr);
  return NULL;
}

// The root may be an operand: HLO's is the first of each group.
static hsc_status *import_collective(frame *f) {
  if (f->hlo == HSC_OP_COLLECTIVE_BROADCAST && f->count > f->op->result_count)
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op,
                      "%s: not built yet: a root that is known at run time only",
                      f->op->written_name);
  static const char *const dimension_names[] = {"all_gather_dim", "scatter_dimension",
                                                "split_dimension"};
  if (f->op->region_count)
    HSC_TRY(build_calls(f));
  else
    build(f);
  const hsc__mlir_attr *groups = hsc__mlir_attr_get(f->op, "replica_groups");
  if (groups && groups->kind != HSC_MLIR_DENSE)
    HSC_TRY(hsc__sdy_axis_groups(f->im, f->op, groups, &f->instr->attr.collective.replica_groups));
  else
    f->instr->attr.collective.replica_groups = groups_text(f, "replica_groups");
  f->instr->attr.collective.pairs = groups_text(f, "source_target_pairs");
  f->instr->attr.collective.channel_id = integer(f, "channel_id", 0);
  f->instr->attr.collective.use_global_device_ids =
      hsc__mlir_attr_get(f->op, "use_global_device_ids") && integer(f, "use_global_device_ids", 1);
  for (size_t i = 0; i < HSC_COUNT_OF(dimension_names); i++) {
    int64_t dimension = integer(f, dimension_names[i], -1);
    if (dimension >= 0)
      f->instr->attr.collective.dims = HSC_DIMS(arena_of(f), dimension);
  }
  return NULL;
}

// HLO's splits and concatenates one dimension. The pieces that arrive, one after the other along
// the split dimension, go to the other.
static hsc_status *import_all_to_all(frame *f) {
  int64_t split = integer(f, "split_dimension", 0);
  int64_t concat = integer(f, "concat_dimension", 0);
  int64_t count = integer(f, "split_count", 1);
  if (split == concat)
    return import_collective(f);
  if (f->count != 1 || split < 0 || concat < 0 || count < 1 || split >= f->shape.rank ||
      concat >= f->shape.rank || f->shape.rank + 1 > HSC_MAX_RANK)
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op,
                      "%s: not built yet: several operands that are split and concatenated along "
                      "different dimensions",
                      f->op->written_name);
  hsc_shape result = f->shape;
  const hsc_shape *in = &f->operands[0]->shape;
  int rank = in->rank;
  if (!hsc_shape_is_array(in) || rank != result.rank || in->dims[split] % count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its operand cannot be split into %lld parts",
                      (long long)count);
  int64_t dims[HSC_MAX_RANK], permutation[HSC_MAX_RANK];
  f->shape = *in;
  HSC_TRY(import_collective(f));
  for (int i = 0, at = 0; i < rank; i++) {
    if (i == split)
      dims[at++] = count;
    dims[at++] = i == split ? in->dims[i] / count : in->dims[i];
  }
  hsc_instr *pieces = hsc_build_reshape(f->b, f->instr, rank + 1, dims);
  // the dimension of pieces, at `split` now, goes before `concat`
  for (int i = 0, at = 0; i < rank; i++) {
    if (i == concat)
      permutation[at++] = split;
    permutation[at++] = i < split ? i : i + 1;
  }
  pieces = hsc_build_transpose(f->b, pieces, hsc_dims_copy(arena_of(f), rank + 1, permutation));
  f->instr = hsc_build_reshape(f->b, pieces, rank, result.dims);
  f->shape = result;
  return NULL;
}

// MLIR's name of an element type: i32 for signed ones, as signless integers come.
static void append_type(hsc_type type, hsc_bytes *out) {
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:
      hsc_bytes_append_text(out, "i1");
      break;
    case HSC_CLASS_SIGNED:
      hsc_bytes_printf(out, "i%d", hsc_type_bits(type));
      break;
    case HSC_CLASS_UNSIGNED:
      hsc_bytes_printf(out, "ui%d", hsc_type_bits(type));
      break;
    default:
      hsc_bytes_append_text(out, hsc_type_text(type));
  }
}

static void scalar_type(const hsc__mlir_type *type, hsc_bytes *out) {
  if (!type || (type->kind != HSC_MLIR_ELEMENT && type->kind != HSC_MLIR_INDEX))
    return;
  hsc_bytes_append_text(out, " : ");
  append_type(type->kind == HSC_MLIR_INDEX ? HSC_TYPE_S64 : type->shape.type, out);
}

// array<i64: 1, 2>
static void dense_text(const hsc__mlir_attr *attr, hsc_bytes *out) {
  hsc_literal literal = {.shape = attr->type->shape, .data = (void *)(uintptr_t)attr->data.data};
  int64_t count = hsc_shape_elements(&literal.shape);
  size_t bytes = hsc_type_bytes(literal.shape.type);
  bool splat = attr->data.size == bytes;
  char number[32];
  hsc_bytes_append_text(out, "array<");
  append_type(literal.shape.type, out);
  for (int64_t i = 0; i < count && (splat || (size_t)(i + 1) * bytes <= attr->data.size); i++) {
    hsc_bytes_append_text(out, i ? ", " : ": ");
    int64_t at = splat ? 0 : i;
    if (literal.shape.type == HSC_TYPE_PRED)
      hsc_bytes_append_text(out, hsc_literal_get_int(&literal, at) ? "true" : "false");
    else if (hsc_type_is_float(literal.shape.type)) {
      hsc_format_double(hsc_literal_get_double(&literal, at), number);
      hsc_bytes_append_text(out, number);
    } else
      hsc_bytes_printf(out, "%lld", (long long)hsc_literal_get_int(&literal, at));
  }
  hsc_bytes_append_char(out, '>');
}

// A dictionary as the text that typed calls get: {key = value, ...} in MLIR's spelling of simple
// values.
static void dict_text(const hsc__mlir_attr *attr, hsc_bytes *out, int depth) {
  char number[32];
  if (depth > 8)
    return;
  switch (attr->kind) {
    case HSC_MLIR_BOOL:
      hsc_bytes_append_text(out, attr->integer ? "true" : "false");
      break;
    case HSC_MLIR_INT:
      hsc_bytes_printf(out, "%lld", (long long)attr->integer);
      scalar_type(attr->type, out);
      break;
    case HSC_MLIR_FLOAT:
      hsc_format_double(attr->number, number);
      hsc_bytes_append_text(out, number);
      scalar_type(attr->type, out);
      break;
    case HSC_MLIR_STRING:
      hsc_bytes_append_char(out, '"');
      for (size_t i = 0; i < attr->text.size; i++) {
        unsigned char c = (unsigned char)attr->text.data[i];
        if (c == '"' || c == '\\' || c < 32 || c > 126)
          hsc_bytes_printf(out, "\\%02X", c);
        else
          hsc_bytes_append_char(out, (char)c);
      }
      hsc_bytes_append_char(out, '"');
      break;
    case HSC_MLIR_UNIT:
      hsc_bytes_append_text(out, "true");
      break;
    case HSC_MLIR_DENSE:
      dense_text(attr, out);
      break;
    case HSC_MLIR_UNKNOWN:
      hsc_bytes_append(out, attr->text.data, attr->text.size);
      break;
    case HSC_MLIR_ARRAY:
      if (attr->type) {  // array<i64: 1, 2>, whose numbers carry no type
        hsc_bytes_append_text(out, "array<");
        append_type(attr->type->shape.type, out);
        for (int i = 0; i < attr->count; i++) {
          hsc_bytes_append_text(out, i ? ", " : ": ");
          dict_text(attr->elements[i], out, depth + 1);
        }
        hsc_bytes_append_char(out, '>');
        break;
      }
      hsc_bytes_append_char(out, '[');
      for (int i = 0; i < attr->count; i++) {
        hsc_bytes_append_text(out, i ? ", " : "");
        dict_text(attr->elements[i], out, depth + 1);
      }
      hsc_bytes_append_char(out, ']');
      break;
    case HSC_MLIR_DICT:
      hsc_bytes_append_char(out, '{');
      for (int i = 0; i < attr->count; i++) {
        hsc_bytes_printf(out, "%s%.*s = ", i ? ", " : "", (int)attr->entries[i].name.size,
                         attr->entries[i].name.data);
        dict_text(attr->entries[i].value, out, depth + 1);
      }
      hsc_bytes_append_char(out, '}');
      break;
    default:
      hsc_bytes_append_text(out, "?");
  }
}

void hsc__import_dict_text(const hsc__mlir_attr *attr, hsc_bytes *out) {
  if (attr)
    dict_text(attr, out, 0);
}

// What the target gets, and the same as HLO text shows it: an object as it is, anything else in
// quotes.
static hsc_status *set_backend_config(frame *f, hsc_view text) {
  if (text.size == 0)
    return NULL;
  hsc_bytes quoted = {0};
  bool object = text.data[0] == '{' && text.data[text.size - 1] == '}';
  f->instr->attr.custom.opaque = hsc_arena_strndup(arena_of(f), text.data, text.size);
  if (!object)
    hsc__append_quoted(&quoted, text);
  hsc_view shown = object ? text : hsc_bytes_view(&quoted);
  hsc_status *status = hsc_bytes_status(&quoted);
  if (!status)
    f->instr->backend_config = hsc_arena_strndup(arena_of(f), shown.data, shown.size);
  hsc_bytes_deinit(&quoted);
  return status;
}

// A layout [1, 0] as the order of the dimensions of `shape`, minor to major.
static hsc_status *give_layout(frame *f, const hsc__mlir_attr *order, hsc_shape *shape) {
  if (!hsc_shape_is_array(shape))
    return NULL;
  bool dense = order->kind == HSC_MLIR_DENSE && order->type->shape.type == HSC_TYPE_S64 &&
               order->type->shape.rank == 1;
  if (!dense || order->type->shape.dims[0] != shape->rank ||
      order->data.size != (size_t)shape->rank * 8)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "a layout does not name the dimensions of its operand or result");
  int64_t *dims = HSC_NEW_ARRAY(arena_of(f), int64_t, shape->rank + 1);
  hsc_layout *layout = HSC_NEW(arena_of(f), hsc_layout);
  if (!dims || !layout)
    return hsc_status_out_of_memory();
  memcpy(dims, order->data.data, order->data.size);
  uint32_t seen = 0;
  for (int i = 0; i < shape->rank; i++) {
    if (dims[i] < 0 || dims[i] >= shape->rank || (seen >> dims[i] & 1))
      return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "a layout is no order of the dimensions");
    seen |= 1u << dims[i];
  }
  *layout = (hsc_layout){.rank = shape->rank, .minor_to_major = dims};
  shape->layout = layout;
  if (hsc_layout_is_default(shape))
    shape->layout = NULL;
  return NULL;
}

static hsc_status *custom_layouts(frame *f,
                                  const hsc__mlir_attr *operands,
                                  const hsc__mlir_attr *results) {
  // Operands that only say the size of a result are gone; the list has layouts of them too.
  int count = f->count;
  if (operands->kind != HSC_MLIR_ARRAY ||
      (operands->count != f->op->operand_count && operands->count) || !results ||
      results->kind != HSC_MLIR_ARRAY)
    return NULL;
  if (!operands->count && !results->count)
    return NULL;
  hsc_shape *shapes = HSC_NEW_ARRAY(arena_of(f), hsc_shape, count + 1);
  HSC_TRY(hsc_arena_status(arena_of(f)));
  for (int i = 0; i < count; i++) {
    shapes[i] = f->operands[i]->shape;
    shapes[i].layout = NULL;
    if (i < operands->count)
      HSC_TRY(give_layout(f, operands->elements[i], &shapes[i]));
  }
  f->instr->attr.custom.operand_layouts = shapes;
  f->instr->attr.custom.operand_layout_count = count;
  bool tuple = hsc_shape_is_tuple(&f->shape) && f->op->result_count != 1;
  if (results->count != (tuple ? f->shape.element_count : 1))
    return NULL;
  hsc_shape *elements = tuple ? hsc_arena_copy(arena_of(f), f->shape.elements,
                                               (size_t)f->shape.element_count * sizeof *elements)
                              : &f->instr->shape;
  if (!elements)
    return hsc_status_out_of_memory();
  for (int i = 0; i < results->count; i++)
    HSC_TRY(give_layout(f, results->elements[i], &elements[i]));
  if (tuple)
    f->instr->shape.elements = elements;
  return NULL;
}

static hsc_status *custom_aliases(frame *f, const hsc__mlir_attr *list) {
  if (!list || list->kind != HSC_MLIR_ARRAY || !list->count)
    return NULL;
  hsc_bytes text = {0};
  for (int i = 0; i < list->count; i++)
    hsc_bytes_printf(&text, "%s%.*s", i ? ", " : "{", (int)list->elements[i]->text.size,
                     list->elements[i]->text.data);
  hsc_bytes_append_char(&text, '}');
  f->instr->attr.custom.aliasing = hsc_arena_strndup(arena_of(f), hsc_bytes_text(&text), text.size);
  hsc_status *status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  return status;
}

static const hsc__mlir_attr *entry_of(const hsc__mlir_attr *dict, const char *name) {
  for (int i = 0; dict && dict->kind == HSC_MLIR_DICT && i < dict->count; i++)
    if (hsc_view_equals_text(dict->entries[i].name, name))
      return dict->entries[i].value;
  return NULL;
}

// @mhlo.erf and the like: operations of XLA that StableHLO has no name for. *out_done false for
// other targets.
static hsc_status *import_mhlo(frame *f, hsc_view target, bool *out_done) {
  hsc_op op = hsc__mhlo_op(target);
  *out_done = op != HSC_OP_COUNT;
  if (!*out_done)
    return NULL;
  if (f->op->operand_count != hsc_op_arity(op))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "%.*s takes one operand", (int)target.size,
                      target.data);
  f->hlo = op;
  build(f);
  if (op != HSC_OP_TOPK)
    return NULL;
  const hsc__mlir_attr *attributes = hsc__mlir_attr_get(f->op, "mhlo.attributes");
  const hsc__mlir_attr *k = entry_of(attributes, "k");
  const hsc__mlir_attr *largest = entry_of(attributes, "largest");
  if (!k || k->kind != HSC_MLIR_INT)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "mhlo.topk needs mhlo.attributes with an integer k");
  f->instr->attr.topk.k = k->integer;
  f->instr->attr.topk.largest = !largest || largest->integer;
  return NULL;
}

static hsc_status *import_custom_call(frame *f) {
  hsc_view target = hsc__import_text(f->op, "call_target_name");
  const hsc__mlir_attr *config = hsc__mlir_attr_get(f->op, "backend_config");
  const hsc__mlir_attr *typed = hsc__mlir_attr_get(f->op, "mhlo.backend_config");
  if (typed && typed->kind == HSC_MLIR_DICT)
    config = typed;
  const hsc__mlir_attr *called = hsc__mlir_attr_get(f->op, "called_computations");
  const hsc__mlir_attr *layouts = hsc__mlir_attr_get(f->op, "operand_layouts");
  bool done;
  // Marks of sharding that say nothing for one device.
  if (hsc_view_equals_text(target, "Sharding") ||
      hsc_view_equals_text(target, "SPMDFullToShardShape") ||
      hsc_view_equals_text(target, "SPMDShardToFullShape") ||
      hsc_view_equals_text(target, "LayoutConstraint") ||
      hsc_view_equals_text(target, "annotate_device_placement")) {
    if (f->op->operand_count == 1 && hsc_shape_equal(&f->operands[0]->shape, &f->shape)) {
      f->instr = f->operands[0];
      return NULL;
    }
  }
  HSC_TRY(import_mhlo(f, target, &done));
  if (done)
    return NULL;
  if (called && called->kind == HSC_MLIR_ARRAY && called->count) {
    hsc_computation **list = HSC_NEW_ARRAY(arena_of(f), hsc_computation *, called->count);
    HSC_TRY(hsc_arena_status(arena_of(f)));
    for (int i = 0; i < called->count; i++)
      HSC_TRY(hsc__import_function_by_name(f->im, f->op, called->elements[i]->text, &list[i]));
    f->instr = hsc_build_calls(f->b, f->hlo, f->shape, f->count, f->operands, called->count, list);
  } else {
    build(f);
  }
  f->instr->attr.custom.target = hsc_arena_strndup(arena_of(f), target.data, target.size);
  f->instr->attr.custom.has_side_effect = integer(f, "has_side_effect", 0) != 0;
  // A dictionary is for calls of the typed FFI (4), whatever JAX writes as the version.
  f->instr->attr.custom.api_version =
      config && config->kind == HSC_MLIR_DICT ? 4 : (int32_t)integer(f, "api_version", 1);
  // whose operands may be futures, with layouts of no array
  bool order_only = hsc_view_equals_text(target, "control_dep");
  if (layouts && !order_only)
    HSC_TRY(custom_layouts(f, layouts, hsc__mlir_attr_get(f->op, "result_layouts")));
  HSC_TRY(custom_aliases(f, hsc__mlir_attr_get(f->op, "output_operand_aliases")));
  if (config && config->kind == HSC_MLIR_STRING) {
    HSC_TRY(set_backend_config(f, config->text));
    return hsc__sdy_host_call(f->im, f->b, &f->instr);
  }
  if (config && config->kind == HSC_MLIR_DICT) {
    hsc_bytes text = {0};
    dict_text(config, &text, 0);
    hsc_status *status = hsc_bytes_status(&text);
    if (!status)
      status = set_backend_config(f, hsc_bytes_view(&text));
    hsc_bytes_deinit(&text);
    return status;
  }
  return NULL;
}

// ---- attributes of other dialects ---------------------------------------------------------------

static void append_piece(hsc_bytes *out, const char *text) {
  if (out->size)
    hsc_bytes_append_text(out, ", ");
  hsc_bytes_append_text(out, text);
}

// The value of a frontend attribute: a string as it is, others as MLIR writes them.
static void append_frontend(hsc_bytes *out, hsc_view name, const hsc__mlir_attr *value) {
  hsc_bytes text = {0};
  if (value->kind == HSC_MLIR_STRING)
    hsc_bytes_append(&text, value->text.data, value->text.size);
  else if (value->kind == HSC_MLIR_UNKNOWN)
    hsc_bytes_append(&text, value->text.data, value->text.size);
  else if (value->kind == HSC_MLIR_SYMBOL)
    hsc_bytes_printf(&text, "@%.*s", (int)value->text.size, value->text.data);
  else if (value->kind == HSC_MLIR_UNIT)
    hsc_bytes_append_text(&text, "unit");
  else
    dict_text(value, &text, 0);
  hsc_bytes_printf(out, "%s%.*s=", out->size ? "," : "", (int)name.size, name.data);
  hsc__append_frontend_value(out, hsc_bytes_view(&text));
  hsc_bytes_deinit(&text);
}

static void append_accuracy(hsc_bytes *out, const hsc__mlir_attr *accuracy) {
  char atol[40], rtol[40];
  int64_t mode = accuracy->elements[3]->integer;
  if (mode == 0)
    return;
  hsc_format_double(accuracy->elements[0]->number, atol);
  hsc_format_double(accuracy->elements[1]->number, rtol);
  if (out->size)
    hsc_bytes_append_text(out, ", ");
  if (mode == 1)
    hsc_bytes_append_text(out, "result_accuracy={mode=highest}");
  else
    hsc_bytes_printf(out, "result_accuracy={tolerance={atol=%s,rtol=%s,ulps=%lld}}", atol, rtol,
                     (long long)accuracy->elements[2]->integer);
}

static bool is_xla_name(hsc_view name) {
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
          c == '.' || c == '-'))
      return false;
  }
  return name.size > 0;
}

// What goes into an instruction's texts, from the attributes of other dialects.
typedef struct foreign_texts {
  hsc_bytes frontend;  // "a=1,b=2"
  hsc_bytes extra;     // attributes of HLO that are kept as text
  hsc_bytes config;
} foreign_texts;

// The frontend attributes that are in a dictionary of their own.
static void append_frontend_dict(hsc_bytes *out, const hsc__mlir_attr *dict) {
  for (int k = 0; k < dict->count; k++)
    if (is_xla_name(dict->entries[k].name))
      append_frontend(out, dict->entries[k].name, dict->entries[k].value);
}

// A configuration is an object or a string of JSON in HLO; what is neither becomes a string. That
// of a custom call is its own attribute, and is imported with it.
static void take_backend_config(hsc_bytes *config,
                                hsc_view text,
                                hsc_instr *instr,
                                hsc_arena *arena) {
  hsc_bytes_reset(config);
  if (text.data[0] == '{' || text.data[0] == '"')
    hsc_bytes_append(config, text.data, text.size);
  else
    hsc__append_quoted(config, text);
  if (instr->op != HSC_OP_CUSTOM_CALL)
    instr->backend_config = hsc_arena_strndup(arena, hsc_bytes_text(config), config->size);
}

static void import_foreign(const hsc__mlir_named *attr,
                           hsc_instr *instr,
                           hsc_arena *arena,
                           foreign_texts *texts) {
  hsc_view name = attr->name;
  const hsc__mlir_attr *value = attr->value;
  bool text = value->kind == HSC_MLIR_STRING;
  if (hsc_view_equals_text(name, "mhlo.sharding") && text) {
    instr->sharding = hsc_arena_strndup(arena, value->text.data, value->text.size);
  } else if (hsc_view_equals_text(name, "mhlo.frontend_attributes") &&
             value->kind == HSC_MLIR_DICT) {
    append_frontend_dict(&texts->frontend, value);
  } else if (hsc_view_equals_text(name, "mhlo.frontend_attributes_text") && text) {
    instr->frontend_attributes = hsc_arena_strndup(arena, value->text.data, value->text.size);
  } else if (hsc_view_equals_text(name, "mhlo.backend_config") && text && value->text.size) {
    take_backend_config(&texts->config, value->text, instr, arena);
  } else if (hsc_view_equals_text(name, "mhlo.extra_attributes") && text) {
    char *copy = hsc_arena_strndup(arena, value->text.data, value->text.size);
    if (copy)
      append_piece(&texts->extra, copy);
  } else if (!hsc_view_equals_text(name, "mhlo.attributes") &&
             !hsc_view_equals_text(name, "mhlo.backend_config") &&
             !hsc_view_equals_text(name, "mhlo.version") && is_xla_name(name)) {
    append_frontend(&texts->frontend, name, value);
  }
}

hsc_status *hsc__import_attributes(hsc__importer *im, const hsc__mlir_op *op, hsc_instr *instr) {
  foreign_texts texts = {0};
  hsc_arena *arena = im->module->arena;
  const hsc__mlir_attr *accuracy = hsc__mlir_attr_get(op, "result_accuracy");
  if (accuracy && accuracy->kind == HSC_MLIR_ACCURACY)
    append_accuracy(&texts.extra, accuracy);
  else if (!op->has_foreign)
    return NULL;
  for (int i = 0; i < op->attr_count; i++) {
    hsc_view name = op->attrs[i].name;
    if (name.size && memchr(name.data, '.', name.size))
      import_foreign(&op->attrs[i], instr, arena, &texts);
  }
  if (texts.frontend.size)
    instr->frontend_attributes = hsc_arena_printf(arena, "{%s}", hsc_bytes_text(&texts.frontend));
  if (texts.extra.size)
    instr->extra_attributes =
        hsc_arena_strndup(arena, hsc_bytes_text(&texts.extra), texts.extra.size);
  hsc_status *status = hsc_bytes_status(&texts.frontend);
  if (!status)
    status = hsc_bytes_status(&texts.extra);
  if (!status)
    status = hsc_bytes_status(&texts.config);
  hsc_bytes_deinit(&texts.frontend);
  hsc_bytes_deinit(&texts.extra);
  hsc_bytes_deinit(&texts.config);
  return status ? status : hsc_arena_status(arena);
}

static const struct {
  hsc_op hlo;
  hsc_status *(*import)(frame *f);  // NULL = not one operation of HLO
} rows[] = {
#define SHLO(name, hlo, import, export, check, form, properties) {HSC_OP_##hlo, import_##import},
#define OTHER(name, import, check, form, properties) {HSC_OP_COUNT, NULL},
#include "formats/mlir/stablehlo_ops.def"
};

// The shape to build with; *out_infer: it is to be inferred afterwards.
static hsc_status *result_shape(frame *f, bool *out_infer) {
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
  frame f = {.im = im, .b = b, .op = op, .hlo = rows[row].hlo, .count = op->operand_count};
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
