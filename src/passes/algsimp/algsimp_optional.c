// algsimp_optional.c - rules of the algebraic simplifier that options switch (algsimp_options.def),
// and which options forbid a rule of the other sets.
#include <math.h>

#include "passes/algsimp/algsimp.h"

static hsc_arena *arena_of(const hsc_builder *b) {
  return b->module->arena;
}
static bool contains(hsc_dims dims, int64_t value) {
  for (int i = 0; i < dims.count; i++)
    if (dims.v[i] == value)
      return true;
  return false;
}

static bool is_infinite(const hsc_instr *x) {
  return hsc__is_all(x, INFINITY) || hsc__is_all(x, -INFINITY);
}

// ---- what is forbidden --------------------------------------------------------------------------

bool hsc__algsimp_allowed(const hsc_algsimp_options *o, const hsc_instr *instr) {
  const hsc_instr *x = instr->operand_count ? instr->operands[0] : NULL;
  switch (instr->op) {
    case HSC_OP_CONVOLUTION:
      return o->enable_folding_pad_into_convolution || hsc_shape_elements(&instr->shape) == 0;
    case HSC_OP_REDUCE_WINDOW:
      for (int i = 0;
           i < instr->attr.window.window.rank && !o->enable_window_reduce_to_reduce_replacement;
           i++)
        if (instr->attr.window.window.dims[i].size == x->shape.dims[i] && x->shape.dims[i] > 1)
          return false;
      return true;
    case HSC_OP_PAD:
      for (int i = 0; i < instr->attr.pad.rank && !o->enable_negative_padding_replacement; i++)
        if (instr->attr.pad.dims[i].low < 0 || instr->attr.pad.dims[i].high < 0)
          return false;
      return true;
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:  // max(NaN, -infinity) is NaN only where NaN goes on
      return o->minmax_propagate_nan || !hsc_type_is_float(instr->shape.type) ||
             (!is_infinite(x) && !is_infinite(instr->operands[1]));
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return o->enable_dynamic_update_slice_to_pad_replacement || x->op != HSC_OP_BROADCAST;
    case HSC_OP_REDUCE:
      return o->supports_non_canonical_dots || x->op != HSC_OP_DOT;
    case HSC_OP_TRANSPOSE:
      if (x->op != HSC_OP_DOT)
        return true;
      return o->supports_non_canonical_dots &&
             !(o->enable_move_dot_param_to_rhs && !hsc__is_parameter_like(x->operands[0]) &&
               hsc__is_parameter_like(x->operands[1]));
    case HSC_OP_DYNAMIC_SLICE:
      return !o->disable_dynamic_slice_to_slice_conversion ||
             hsc_shape_equal(&x->shape, &instr->shape) || x->op == HSC_OP_BROADCAST;
    default:
      return true;
  }
}

// ---- dots ---------------------------------------------------------------------------------------

// The operand along the dimensions of the dot's result with the contracting dimensions after them:
// batch, left free, right free, contracting.
static hsc_instr *spread(hsc_builder *b, hsc_instr *dot, int side, hsc_shape shape) {
  const hsc_dot_dims *d = &dot->attr.dot;
  hsc_instr *x = dot->operands[side];
  hsc_dims batch = side ? d->rhs_batch : d->lhs_batch;
  hsc_dims contracting = side ? d->rhs_contracting : d->lhs_contracting;
  int64_t dims[HSC_MAX_RANK];
  int at = d->lhs_batch.count;
  if (side)
    at = dot->shape.rank - (x->shape.rank - batch.count - contracting.count);
  for (int i = 0; i < x->shape.rank; i++) {
    if (contains(batch, i)) {
      for (int k = 0; k < batch.count; k++)
        if (batch.v[k] == i)
          dims[i] = k;
    } else if (contains(contracting, i)) {
      for (int k = 0; k < contracting.count; k++)
        if (contracting.v[k] == i)
          dims[i] = dot->shape.rank + k;
    } else {
      dims[i] = at++;
    }
  }
  // A broadcast keeps the order of dimensions; what is not in it is transposed before.
  int64_t permutation[HSC_MAX_RANK], sorted[HSC_MAX_RANK];
  bool moved = false;
  for (int i = 0; i < x->shape.rank; i++)
    permutation[i] = i;
  for (int i = 1; i < x->shape.rank; i++)
    for (int k = i; k > 0 && dims[permutation[k]] < dims[permutation[k - 1]]; k--) {
      int64_t other = permutation[k];
      permutation[k] = permutation[k - 1];
      permutation[k - 1] = other;
      moved = true;
    }
  for (int i = 0; i < x->shape.rank; i++)
    sorted[i] = dims[permutation[i]];
  if (moved)
    x = hsc_build_transpose(
        b, x, hsc_dims_copy(arena_of(b), dot->operands[side]->shape.rank, permutation));
  if (x->shape.type != shape.type)
    x = hsc_build_convert(b, shape.type, x);
  return hsc_build_broadcast(b, x, shape,
                             hsc_dims_copy(arena_of(b), dot->operands[side]->shape.rank, sorted));
}

static hsc_instr *rule_dot(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *dot) {
  const hsc_dot_dims *d = &dot->attr.dot;
  hsc_instr *lhs = dot->operands[0];
  hsc_instr *rhs = dot->operands[1];
  if (d->sparsity || d->algorithm || dot->operand_count != 2 ||
      hsc_shape_elements(&lhs->shape) == 0 || hsc_shape_elements(&rhs->shape) == 0)
    return NULL;
  // dot(a * s, b) => dot(a, b) * s, where the result has fewer elements than the operand.
  for (int side = 0;
       side < 2 && o->enable_scalar_multiply_reduction && hsc_type_is_float(dot->shape.type);
       side++) {
    hsc_instr *product = dot->operands[side];
    if (product->op != HSC_OP_MULTIPLY || product->user_count != 1 ||
        hsc_shape_elements(&dot->shape) >= hsc_shape_elements(&product->shape))
      continue;
    for (int factor = 0; factor < 2; factor++) {
      hsc_instr *scalar = product->operands[factor]->op == HSC_OP_BROADCAST
                              ? hsc__uniform_value(product->operands[factor])
                              : NULL;
      if (!scalar || scalar->shape.type != dot->shape.type)
        continue;
      hsc_instr *operands[2] = {lhs, rhs};
      operands[side] = product->operands[!factor];
      hsc_instr *plain = hsc_build_clone(b, dot, operands);
      return hsc_build_binary(b, HSC_OP_MULTIPLY, plain, hsc__widen(b, scalar, plain));
    }
  }
  int contracted = d->lhs_contracting.count;
  int left = lhs->shape.rank - d->lhs_batch.count - contracted;
  int right = rhs->shape.rank - d->rhs_batch.count - contracted;
  bool outer = o->enable_dot_to_multiply_rewrite && contracted == 0;
  bool vector = o->enable_dot_strength_reduction && contracted > 0 && (left == 0 || right == 0);
  if ((!outer && !vector) || dot->shape.rank + contracted > HSC_MAX_RANK ||
      hsc_type_is_complex(dot->shape.type))
    return NULL;
  // products of narrow numbers are made wide
  if (hsc_type_bits(dot->shape.type) < 32 || lhs->shape.type != dot->shape.type ||
      rhs->shape.type != dot->shape.type)
    return NULL;
  int64_t dims[HSC_MAX_RANK];
  for (int i = 0; i < dot->shape.rank; i++)
    dims[i] = dot->shape.dims[i];
  for (int k = 0; k < contracted; k++)
    dims[dot->shape.rank + k] = lhs->shape.dims[d->lhs_contracting.v[k]];
  hsc_shape shape =
      hsc_shape_array(arena_of(b), dot->shape.type, dot->shape.rank + contracted, dims);
  hsc_instr *wide_rhs = spread(b, dot, 1, shape);
  hsc_instr *wide_lhs = spread(b, dot, 0, shape);
  hsc_instr *product = hsc_build_binary(b, HSC_OP_MULTIPLY, wide_lhs, wide_rhs);
  if (contracted == 0)
    return product;
  for (int k = 0; k < contracted; k++)
    dims[k] = dot->shape.rank + k;
  return hsc_build_reduce(b, product, hsc_build_scalar(b, dot->shape.type, 0),
                          hsc_dims_copy(arena_of(b), contracted, dims),
                          hsc_module_scalar_reducer(b->module, HSC_OP_ADD, dot->shape.type));
}

// ---- reductions ---------------------------------------------------------------------------------

static hsc_instr *rule_reduce(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *instr) {
  if (instr->operand_count != 2)
    return NULL;
  hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_dims dims = instr->attr.dims.dims;
  hsc_op op;
  if (!hsc__is_simple_reducer(instr->called[0], &op) || !(hsc_op_traits(op) & HSC_TRAIT_COMMUTES))
    return NULL;
  if (o->enable_reduce_of_reshape && x->op == HSC_OP_RESHAPE) {
    hsc_instr *replacement = hsc__algsimp_reduce_of_reshape(
        b, instr, o->unconditionally_simplify_reduce_of_transpose_or_reshape);
    if (replacement)
      return replacement;
  }
  if (o->unconditionally_simplify_reduce_of_transpose_or_reshape && x->op == HSC_OP_TRANSPOSE) {
    int64_t mapped[HSC_MAX_RANK];
    int64_t last = -1;
    for (int i = 0; i < x->shape.rank; i++) {
      if (contains(dims, i))
        continue;
      if (x->attr.dims.dims.v[i] < last)
        return NULL;
      last = x->attr.dims.dims.v[i];
    }
    for (int i = 0; i < dims.count; i++)
      mapped[i] = x->attr.dims.dims.v[dims.v[i]];
    return hsc_build_reduce(b, x->operands[0], init, hsc_dims_copy(arena_of(b), dims.count, mapped),
                            instr->called[0]);
  }
  if (o->raise_slice_and_reduce_through_dot && op == HSC_OP_ADD && x->op == HSC_OP_DOT) {
    hsc_instr *replacement = hsc__algsimp_sum_of_dot(o, b, instr);
    if (replacement)
      return replacement;
  }
  // reduce(concatenate(A, B), init) => reduce(B, reduce(A, init)), the parts one after the other.
  if (o->enable_unconditional_reduce_of_concat_replacement && x->op == HSC_OP_CONCATENATE &&
      x->operand_count <= 8 && contains(dims, x->attr.dims.dims.v[0])) {
    hsc_instr *sum = NULL;
    hsc_instr *neutral;
    if (op == HSC_OP_ADD)
      neutral = hsc_build_scalar(b, instr->shape.type, 0);
    else if (op == HSC_OP_MULTIPLY)
      neutral = hsc_build_scalar(b, instr->shape.type, 1);
    else
      neutral = init;
    if (op == HSC_OP_MAXIMUM || op == HSC_OP_MINIMUM || op == HSC_OP_AND || op == HSC_OP_OR)
      neutral = init;
    else if (op != HSC_OP_ADD && op != HSC_OP_MULTIPLY)
      return NULL;
    for (int i = 0; i < x->operand_count; i++) {
      hsc_instr *part =
          hsc_build_reduce(b, x->operands[i], i ? neutral : init, dims, instr->called[0]);
      sum = sum ? hsc_build_binary(b, op, sum, part) : part;
    }
    return sum;
  }
  return NULL;
}

// transpose(scatter(A, U)) => scatter(transpose(A), transpose(U)), where windows are not written in
// shorter runs by it. Of the plain form: one row of indices for each update, windows of all
// dimensions.
static hsc_instr *transpose_of_scatter(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  const hsc_gather_dims *g = &x->attr.scatter;
  hsc_dims permutation = instr->attr.dims.dims;
  int64_t of_update[HSC_MAX_RANK + 1];
  int64_t dims[HSC_MAX_RANK];
  int64_t run[2] = {1, 1};
  int rank = instr->shape.rank;
  if (x->op != HSC_OP_SCATTER || !hsc__has_one_use(x) || x->operand_count != 3 ||
      g->operand_batching_dims.count || g->collapsed_slice_dims.count ||
      g->offset_dims.count != rank)
    return NULL;
  if (x->operands[1]->shape.rank != 2 || g->index_vector_dim != 1 ||
      x->operands[2]->shape.rank != rank + 1 || contains(g->offset_dims, 0) ||
      rank + 1 > HSC_MAX_RANK)
    return NULL;
  for (int way = 0; way < 2; way++)
    for (int i = rank - 1; i >= 0; i--) {
      int64_t dim = way ? permutation.v[i] : i;
      int64_t size = x->operands[2]->shape.dims[dim + 1];
      run[way] *= size;
      if (size != x->shape.dims[dim])
        break;
    }
  if (run[1] < run[0])
    return NULL;
  of_update[0] = 0;
  for (int i = 0; i < rank; i++)
    of_update[i + 1] = permutation.v[i] + 1;
  hsc_attr attr = {.scatter = *g};
  for (int i = 0; i < g->start_index_map.count; i++)
    for (int k = 0; k < rank; k++)
      if (permutation.v[k] == g->start_index_map.v[i])
        dims[i] = k;
  attr.scatter.start_index_map = hsc_dims_copy(arena_of(b), g->start_index_map.count, dims);
  hsc_instr *operands[3] = {
      hsc_build_transpose(b, x->operands[0], permutation), x->operands[1],
      hsc_build_transpose(b, x->operands[2], hsc_dims_copy(arena_of(b), rank + 1, of_update))};
  return hsc_build_op(b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3, operands, 1, x->called);
}

// conditional(convert(P), A, B) of two branches => conditional(P, B, A)
static hsc_instr *conditional_of_converted(hsc_builder *b, hsc_instr *instr) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_CONVERT || x->operands[0]->shape.type != HSC_TYPE_PRED ||
      instr->called_count != 2 || instr->operand_count != 3 || hsc_instr_has_effect(instr))
    return NULL;
  return hsc_build_calls(b, HSC_OP_CONDITIONAL, instr->shape, 3,
                         (hsc_instr *[]){x->operands[0], instr->operands[2], instr->operands[1]}, 2,
                         (hsc_computation *[]){instr->called[1], instr->called[0]});
}

// ---- floats -------------------------------------------------------------------------------------

// What holds for numbers, and not for NaN, infinity and what overflows.
static hsc_instr *fast_math(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operand_count > 1 ? instr->operands[1] : NULL;
  switch (instr->op) {
    case HSC_OP_ADD:
      return hsc__algsimp_cancel(b, instr);
    case HSC_OP_SUBTRACT:
      return x == y ? hsc__uniform_constant(b, 0, instr) : hsc__algsimp_cancel(b, instr);
    case HSC_OP_MULTIPLY:
      if (hsc__is_all(x, 0) || hsc__is_all(y, 0))
        return hsc__is_all(x, 0) ? x : y;
      if (x == y || x->op != HSC_OP_EXP || y->op != HSC_OP_EXP || !hsc__has_one_use(x) ||
          !hsc__has_one_use(y))
        return NULL;
      // exp(A) * exp(B) => exp(A + B)
      return hsc_build_unary(b, HSC_OP_EXP,
                             hsc_build_binary(b, HSC_OP_ADD, x->operands[0], y->operands[0]));
    case HSC_OP_DIVIDE:  // exp(A) / exp(B) => exp(A - B);  A / exp(B) => A * exp(-B)
      if (y->op != HSC_OP_EXP || !hsc__has_one_use(y))
        return NULL;
      if (x->op == HSC_OP_EXP && hsc__has_one_use(x))
        return hsc_build_unary(
            b, HSC_OP_EXP, hsc_build_binary(b, HSC_OP_SUBTRACT, x->operands[0], y->operands[0]));
      return hsc_build_binary(
          b, HSC_OP_MULTIPLY, x,
          hsc_build_unary(b, HSC_OP_EXP, hsc_build_unary(b, HSC_OP_NEGATE, y->operands[0])));
    case HSC_OP_POWER:  // (A^B)^C => A^(B * C) where A cannot be negative;  exp(A)^B => exp(A * B)
      if (x->op == HSC_OP_POWER && hsc__has_one_use(x) && hsc__never_negative(x->operands[0]))
        return hsc_build_binary(b, HSC_OP_POWER, x->operands[0],
                                hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[1], y));
      return x->op == HSC_OP_EXP && hsc__has_one_use(x)
                 ? hsc_build_unary(b, HSC_OP_EXP,
                                   hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], y))
                 : NULL;
    case HSC_OP_LOG:
      return x->op == HSC_OP_EXP ? x->operands[0] : NULL;  // log(exp(A)) => A
    case HSC_OP_SQRT:                                      // sqrt(A * A) => |A|
      return x->op == HSC_OP_MULTIPLY && x->operands[0] == x->operands[1]
                 ? hsc_build_unary(b, HSC_OP_ABS, x->operands[0])
                 : NULL;
    default:
      return NULL;
  }
}

// A * C + B * C => (A + B) * C
static hsc_instr *common_factor(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (x == y || x->op != HSC_OP_MULTIPLY || y->op != HSC_OP_MULTIPLY || !hsc__has_one_use(x) ||
      !hsc__has_one_use(y))
    return NULL;
  for (int i = 0; i < 4; i++)
    if (x->operands[i & 1] == y->operands[i >> 1])
      return hsc_build_binary(
          b, HSC_OP_MULTIPLY,
          hsc_build_binary(b, HSC_OP_ADD, x->operands[!(i & 1)], y->operands[!(i >> 1)]),
          x->operands[i & 1]);
  return NULL;
}

// A / broadcast(B) => A * broadcast(1 / B): fewer divisions
static hsc_instr *reciprocal_before_broadcast(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *y = instr->operands[1];
  if (y->op != HSC_OP_BROADCAST || !hsc__has_one_use(y->operands[0]) ||
      hsc__is_uniform_constant(y) || hsc__is_all(instr->operands[0], 1))
    return NULL;
  hsc_instr *inverse = hsc_build_binary(
      b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, y->operands[0]), y->operands[0]);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, instr->operands[0],
                          hsc_build_broadcast(b, inverse, instr->shape, y->attr.dims.dims));
}

// ---- broadcasts ---------------------------------------------------------------------------------

// op(broadcast(A), broadcast(B)) => broadcast(op(A, B)), all of the same dimensions; scalars may be
// among them.
static hsc_instr *sink_broadcast(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *first = NULL;
  hsc_instr *inner[3];
  if (instr->operand_count > 3 || !hsc_shape_is_array(&instr->shape))
    return NULL;
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *x = instr->operands[i];
    if (x->op != HSC_OP_BROADCAST || !hsc_shape_same_dims(&x->shape, &instr->shape))
      return NULL;
    if (!first || (first->operands[0]->shape.rank == 0 && x->operands[0]->shape.rank > 0))
      first = x;
  }
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *x = instr->operands[i];
    inner[i] = x->operands[0];
    if (inner[i]->shape.rank == 0)
      continue;
    if (!hsc_shape_same_dims(&inner[i]->shape, &first->operands[0]->shape))
      return NULL;
    if (memcmp(x->attr.dims.dims.v, first->attr.dims.dims.v,
               sizeof(int64_t) * (size_t)x->attr.dims.dims.count) != 0)
      return NULL;
  }
  for (int i = 0; i < instr->operand_count; i++)
    if (inner[i]->shape.rank == 0)
      inner[i] = hsc__widen(b, inner[i], first->operands[0]);
  hsc_instr *small = hsc_build_clone(b, instr, inner);
  if (b->status)
    return NULL;
  small->shape = hsc_shape_with_type(first->operands[0]->shape, instr->shape.type);
  return hsc_build_broadcast(b, small, instr->shape, first->attr.dims.dims);
}

// broadcast(A): dimensions of size 1 of A drop out
static hsc_instr *broadcast_of_degenerate(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  int64_t kept[HSC_MAX_RANK], to[HSC_MAX_RANK];
  int rank = 0;
  // other rules'
  if (x->op == HSC_OP_BROADCAST || x->op == HSC_OP_RESHAPE || x->op == HSC_OP_IOTA ||
      hsc_shape_elements(&x->shape) == hsc_shape_elements(&instr->shape))
    return NULL;
  for (int i = 0; i < x->shape.rank; i++) {
    if (x->shape.dims[i] == 1)
      continue;
    kept[rank] = x->shape.dims[i];
    to[rank++] = dims.v[i];
  }
  if (rank == x->shape.rank)
    return NULL;
  return hsc_build_broadcast(b, hsc_build_reshape(b, x, rank, kept), instr->shape,
                             hsc_dims_copy(arena_of(b), rank, to));
}

// ---- gathers ------------------------------------------------------------------------------------

// Single elements of a short vector: a selection for each but the last. Indices are clamped, as a
// gather's are.
static hsc_instr *gather_as_selections(const hsc_algsimp_options *o,
                                       hsc_builder *b,
                                       hsc_instr *instr) {
  const hsc_gather_dims *g = &instr->attr.gather;
  hsc_instr *x = instr->operands[0];
  hsc_instr *index = instr->operands[1];
  if (x->shape.rank != 1 || x->shape.dims[0] > o->very_small_gather_size || g->offset_dims.count ||
      g->slice_sizes.v[0] != 1)
    return NULL;
  if (g->index_vector_dim < index->shape.rank && index->shape.dims[g->index_vector_dim] != 1)
    return NULL;
  index = hsc_build_reshape(b, index, instr->shape.rank, instr->shape.dims);
  hsc_instr *replacement = NULL;
  for (int64_t i = x->shape.dims[0] - 1; i >= 0; i--) {
    hsc_arena *arena = arena_of(b);
    hsc_instr *element =
        hsc_build_slice(b, x, HSC_DIMS(arena, i), HSC_DIMS(arena, i + 1), HSC_DIMS(arena, 1));
    element = hsc_build_reshape(b, element, 0, NULL);
    hsc_instr *wide = hsc__widen(b, element, instr);
    replacement =
        replacement
            ? hsc_build_select(
                  b,
                  hsc_build_compare(b, HSC_LE, index, hsc__uniform_constant(b, (double)i, index)),
                  wide, replacement)
            : wide;
  }
  return replacement;
}

// ---- the set ------------------------------------------------------------------------------------

hsc_instr *hsc__algsimp_optional(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operand_count > 0 ? instr->operands[0] : NULL;
  hsc_instr *y = instr->operand_count > 1 ? instr->operands[1] : NULL;
  bool real = o->enable_floats_are_real && hsc_type_is_float(instr->shape.type);
  hsc_instr *replacement = NULL;
  bool is_float = hsc_type_is_float(instr->shape.type);
  if (o->enable_fast_math && is_float && x)
    replacement = fast_math(b, instr);
  if (replacement)
    return replacement;
  switch (instr->op) {
    case HSC_OP_DOT:
      replacement = rule_dot(o, b, instr);
      return replacement ? replacement : hsc__algsimp_dot(o, b, instr);
    case HSC_OP_CONVOLUTION:
      return hsc__algsimp_convolution(o, b, instr);
    case HSC_OP_REDUCE:
      return rule_reduce(o, b, instr);
    case HSC_OP_SLICE:
      return o->raise_slice_and_reduce_through_dot && x->op == HSC_OP_DOT
                 ? hsc__algsimp_slice_of_dot(b, instr)
                 : NULL;
    case HSC_OP_BROADCAST:
      return o->enable_broadcast_degenerate_dimension ? broadcast_of_degenerate(b, instr) : NULL;
    case HSC_OP_RESHAPE:
      if (o->rewrite_reshape_transpose_as_slice_concatenate)
        replacement = hsc__algsimp_slices_of_transpose(b, instr);
      return replacement || !o->enable_hoist_transpose_of_reshape
                 ? replacement
                 : hsc__algsimp_hoist_transpose(b, instr);
    case HSC_OP_TRANSPOSE:
      return o->enable_fold_transpose_into_scatter ? transpose_of_scatter(b, instr) : NULL;
    case HSC_OP_CONDITIONAL:
      return o->enable_conditional_simplification ? conditional_of_converted(b, instr) : NULL;
    case HSC_OP_GATHER:
      return o->very_small_gather_size > 0 ? gather_as_selections(o, b, instr) : NULL;
    case HSC_OP_DIVIDE:
      if (o->executing_on_cpu && o->enable_sink_broadcast && is_float)
        replacement = reciprocal_before_broadcast(b, instr);
      if (replacement)
        return replacement;
      break;
    case HSC_OP_REDUCE_PRECISION: {
      static const struct {
        hsc_type type;
        int exponent, mantissa;
      } own[] = {{HSC_TYPE_F16, 5, 10},
                 {HSC_TYPE_BF16, 8, 7},
                 {HSC_TYPE_F32, 8, 23},
                 {HSC_TYPE_F64, 11, 52}};
      for (size_t i = 0; i < HSC_COUNT_OF(own) && o->enable_remove_no_op_reduce_precision; i++)
        if (own[i].type == instr->shape.type &&
            instr->attr.precision.exponent_bits == own[i].exponent &&
            instr->attr.precision.mantissa_bits == own[i].mantissa)
          return x;
      return NULL;
    }
    case HSC_OP_SUBTRACT:
      if (real && x == y)
        return hsc__uniform_constant(b, 0, instr);
      break;
    case HSC_OP_ADD:
      if (real)
        replacement = common_factor(b, instr);
      if (replacement)
        return replacement;
      break;
    case HSC_OP_MULTIPLY:
      if (real && (hsc__is_all(x, 0) || hsc__is_all(y, 0)))
        return hsc__uniform_constant(b, 0, instr);
      if (o->enable_conv_add_multiply_reorder)
        replacement = hsc__algsimp_scale_of_convolution(b, instr);
      if (replacement)
        return replacement;
      break;
    case HSC_OP_COMPARE:
      if (o->enable_floats_are_real && x == y && hsc_type_is_float(x->shape.type))
        return hsc__uniform_constant(b,
                                     instr->attr.compare.direction == HSC_EQ ||
                                         instr->attr.compare.direction == HSC_LE ||
                                         instr->attr.compare.direction == HSC_GE,
                                     instr);
      break;
    default:
      break;
  }
  if (o->enable_sink_broadcast && x && x->op == HSC_OP_BROADCAST && instr->shape.rank > 0 &&
      !instr->called_count && instr->op != HSC_OP_COPY && instr->op != HSC_OP_RNG &&
      (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE))
    return sink_broadcast(b, instr);
  return NULL;
}
