// algsimp_optional.c - rules of the algebraic simplifier that options switch (algsimp_options.def), and which options forbid a rule of the other books.
#include "passes/algsimp.h"

static hsc_arena *arena_of(const hsc_builder *b) { return b->module->arena; }
static bool contains(hsc_dims dims, int64_t value) {
  for (int i = 0; i < dims.count; i++)
    if (dims.v[i] == value) return true;
  return false;
}

// ---- what is forbidden ----------------------------------------------------------------------------------------------------------

bool hsc__algsimp_allowed(const hsc_algsimp_options *o, const hsc_instr *instr) {
  const hsc_instr *x = instr->operand_count ? instr->operands[0] : NULL;
  switch (instr->op) {
    case HSC_OP_CONVOLUTION: return o->enable_conv_simplification || hsc_shape_elements(&instr->shape) == 0;
    case HSC_OP_REDUCE_WINDOW:
      for (int i = 0; i < instr->attr.window.window.rank && !o->enable_window_reduce_to_reduce_replacement; i++)
        if (instr->attr.window.window.dims[i].size == x->shape.dims[i] && x->shape.dims[i] > 1) return false;
      return true;
    case HSC_OP_PAD:
      for (int i = 0; i < instr->attr.pad.rank && !o->enable_negative_padding_replacement; i++)
        if (instr->attr.pad.dims[i].low < 0 || instr->attr.pad.dims[i].high < 0) return false;
      return true;
    case HSC_OP_DYNAMIC_SLICE: return !o->disable_dynamic_slice_to_slice_conversion || hsc_shape_equal(&x->shape, &instr->shape) || x->op == HSC_OP_BROADCAST;
    default: return true;
  }
}

// ---- dots -----------------------------------------------------------------------------------------------------------------------

// The operand along the dimensions of the dot's result with the contracting dimensions behind them: batch, left free, right free, contracting.
static hsc_instr *spread(hsc_builder *b, hsc_instr *dot, int side, hsc_shape shape) {
  const hsc_dot_dims *d = &dot->attr.dot;
  hsc_instr *x = dot->operands[side];
  hsc_dims batch = side ? d->rhs_batch : d->lhs_batch, contracting = side ? d->rhs_contracting : d->lhs_contracting;
  int64_t dims[HSC_MAX_RANK];
  int at = d->lhs_batch.count;
  if (side) at = dot->shape.rank - (x->shape.rank - batch.count - contracting.count);
  for (int i = 0; i < x->shape.rank; i++) {
    if (contains(batch, i)) {
      for (int k = 0; k < batch.count; k++)
        if (batch.v[k] == i) dims[i] = k;
    } else if (contains(contracting, i)) {
      for (int k = 0; k < contracting.count; k++)
        if (contracting.v[k] == i) dims[i] = dot->shape.rank + k;
    } else {
      dims[i] = at++;
    }
  }
  // A broadcast keeps the order of dimensions; what is not in it is transposed before.
  int64_t permutation[HSC_MAX_RANK], sorted[HSC_MAX_RANK];
  bool moved = false;
  for (int i = 0; i < x->shape.rank; i++) permutation[i] = i;
  for (int i = 1; i < x->shape.rank; i++)
    for (int k = i; k > 0 && dims[permutation[k]] < dims[permutation[k - 1]]; k--) {
      int64_t other = permutation[k];
      permutation[k] = permutation[k - 1];
      permutation[k - 1] = other;
      moved = true;
    }
  for (int i = 0; i < x->shape.rank; i++) sorted[i] = dims[permutation[i]];
  if (moved) x = hsc_build_transpose(b, x, hsc_dims_copy(arena_of(b), dot->operands[side]->shape.rank, permutation));
  if (x->shape.type != shape.type) x = hsc_build_convert(b, shape.type, x);
  return hsc_build_broadcast(b, x, shape, hsc_dims_copy(arena_of(b), dot->operands[side]->shape.rank, sorted));
}

static hsc_instr *rule_dot(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *dot) {
  const hsc_dot_dims *d = &dot->attr.dot;
  hsc_instr *lhs = dot->operands[0], *rhs = dot->operands[1];
  if (d->sparsity || d->algorithm || dot->operand_count != 2 || hsc_shape_elements(&lhs->shape) == 0 || hsc_shape_elements(&rhs->shape) == 0) return NULL;
  // dot(a * s, b) => dot(a, b) * s, where the result has fewer elements than the operand.
  for (int side = 0; side < 2 && o->enable_scalar_multiply_reduction && hsc_type_is_float(dot->shape.type); side++) {
    hsc_instr *product = dot->operands[side];
    if (product->op != HSC_OP_MULTIPLY || product->user_count != 1 || hsc_shape_elements(&dot->shape) >= hsc_shape_elements(&product->shape)) continue;
    for (int factor = 0; factor < 2; factor++) {
      hsc_instr *scalar = product->operands[factor]->op == HSC_OP_BROADCAST ? hsc__uniform_value(product->operands[factor]) : NULL;
      if (!scalar || scalar->shape.type != dot->shape.type) continue;
      hsc_instr *operands[2] = {lhs, rhs};
      operands[side] = product->operands[!factor];
      hsc_instr *plain = hsc_build_clone(b, dot, operands);
      return hsc_build_binary(b, HSC_OP_MULTIPLY, plain, hsc__widen(b, scalar, plain));
    }
  }
  int contracted = d->lhs_contracting.count, left = lhs->shape.rank - d->lhs_batch.count - contracted, right = rhs->shape.rank - d->rhs_batch.count - contracted;
  bool outer = o->enable_dot_to_multiply_rewrite && contracted == 0, vector = o->enable_dot_strength_reduction && contracted > 0 && (left == 0 || right == 0);
  if ((!outer && !vector) || dot->shape.rank + contracted > HSC_MAX_RANK || hsc_type_is_complex(dot->shape.type)) return NULL;
  if (hsc_type_bits(dot->shape.type) < 32 || lhs->shape.type != dot->shape.type || rhs->shape.type != dot->shape.type) return NULL;   // products of narrow numbers are made wide
  int64_t dims[HSC_MAX_RANK];
  for (int i = 0; i < dot->shape.rank; i++) dims[i] = dot->shape.dims[i];
  for (int k = 0; k < contracted; k++) dims[dot->shape.rank + k] = lhs->shape.dims[d->lhs_contracting.v[k]];
  hsc_shape shape = hsc_shape_array(arena_of(b), dot->shape.type, dot->shape.rank + contracted, dims);
  hsc_instr *product = hsc_build_binary(b, HSC_OP_MULTIPLY, spread(b, dot, 0, shape), spread(b, dot, 1, shape));
  if (contracted == 0) return product;
  for (int k = 0; k < contracted; k++) dims[k] = dot->shape.rank + k;
  return hsc_build_reduce(b, product, hsc_build_scalar(b, dot->shape.type, 0), hsc_dims_copy(arena_of(b), contracted, dims),
                          hsc_module_scalar_reducer(b->module, HSC_OP_ADD, dot->shape.type));
}

// ---- reductions -----------------------------------------------------------------------------------------------------------------

static hsc_instr *rule_reduce(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *instr) {
  if (instr->operand_count != 2) return NULL;
  hsc_instr *x = instr->operands[0], *init = instr->operands[1];
  hsc_dims dims = instr->attr.dims.dims;
  hsc_op op;
  if (!hsc__is_simple_reducer(instr->called[0], &op) || !(hsc_op_traits(op) & HSC_TRAIT_COMMUTES)) return NULL;
  if (o->enable_reduce_of_reshape && x->op == HSC_OP_RESHAPE) {
    hsc_instr *by = hsc__algsimp_reduce_of_reshape(b, instr, o->unconditionally_simplify_reduce_of_transpose_or_reshape);
    if (by) return by;
  }
  if (o->unconditionally_simplify_reduce_of_transpose_or_reshape && x->op == HSC_OP_TRANSPOSE) {
    int64_t mapped[HSC_MAX_RANK], last = -1;
    for (int i = 0; i < x->shape.rank; i++) {
      if (contains(dims, i)) continue;
      if (x->attr.dims.dims.v[i] < last) return NULL;
      last = x->attr.dims.dims.v[i];
    }
    for (int i = 0; i < dims.count; i++) mapped[i] = x->attr.dims.dims.v[dims.v[i]];
    return hsc_build_reduce(b, x->operands[0], init, hsc_dims_copy(arena_of(b), dims.count, mapped), instr->called[0]);
  }
  // reduce(concatenate(A, B), init) => reduce(B, reduce(A, init)), the parts one after the other.
  if (o->enable_unconditional_reduce_of_concat_replacement && x->op == HSC_OP_CONCATENATE && x->operand_count <= 8 && contains(dims, x->attr.dims.dims.v[0])) {
    hsc_instr *sum = NULL;
    hsc_instr *neutral = op == HSC_OP_ADD ? hsc_build_scalar(b, instr->shape.type, 0) : op == HSC_OP_MULTIPLY ? hsc_build_scalar(b, instr->shape.type, 1) : init;
    if (op == HSC_OP_MAXIMUM || op == HSC_OP_MINIMUM || op == HSC_OP_AND || op == HSC_OP_OR) neutral = init;
    else if (op != HSC_OP_ADD && op != HSC_OP_MULTIPLY) return NULL;
    for (int i = 0; i < x->operand_count; i++) {
      hsc_instr *part = hsc_build_reduce(b, x->operands[i], i ? neutral : init, dims, instr->called[0]);
      sum = sum ? hsc_build_binary(b, op, sum, part) : part;
    }
    return sum;
  }
  return NULL;
}

// ---- broadcasts -----------------------------------------------------------------------------------------------------------------

// op(broadcast(A), broadcast(B)) => broadcast(op(A, B)), all of the same dimensions; scalars may be among them.
static hsc_instr *sink_broadcast(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *first = NULL, *inner[3];
  if (instr->operand_count > 3 || !hsc_shape_is_array(&instr->shape)) return NULL;
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *x = instr->operands[i];
    if (x->op != HSC_OP_BROADCAST || !hsc_shape_same_dims(&x->shape, &instr->shape)) return NULL;
    if (!first || (first->operands[0]->shape.rank == 0 && x->operands[0]->shape.rank > 0)) first = x;
  }
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *x = instr->operands[i];
    inner[i] = x->operands[0];
    if (inner[i]->shape.rank == 0) continue;
    if (!hsc_shape_same_dims(&inner[i]->shape, &first->operands[0]->shape)) return NULL;
    if (memcmp(x->attr.dims.dims.v, first->attr.dims.dims.v, sizeof(int64_t) * (size_t)x->attr.dims.dims.count) != 0) return NULL;
  }
  for (int i = 0; i < instr->operand_count; i++)
    if (inner[i]->shape.rank == 0) inner[i] = hsc__widen(b, inner[i], first->operands[0]);
  hsc_instr *small = hsc_build_clone(b, instr, inner);
  if (b->status) return NULL;
  small->shape = hsc_shape_with_type(first->operands[0]->shape, instr->shape.type);
  return hsc_build_broadcast(b, small, instr->shape, first->attr.dims.dims);
}

// ---- gathers --------------------------------------------------------------------------------------------------------------------

// Single elements of a short vector: a selection for each but the last. Indices are clamped, as a gather's are.
static hsc_instr *gather_as_selections(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *instr) {
  const hsc_gather_dims *g = &instr->attr.gather;
  hsc_instr *x = instr->operands[0], *index = instr->operands[1];
  if (x->shape.rank != 1 || x->shape.dims[0] > o->very_small_gather_size || g->offset_dims.count || g->slice_sizes.v[0] != 1) return NULL;
  if (g->index_vector_dim < index->shape.rank && index->shape.dims[g->index_vector_dim] != 1) return NULL;
  index = hsc_build_reshape(b, index, instr->shape.rank, instr->shape.dims);
  hsc_instr *by = NULL;
  for (int64_t i = x->shape.dims[0] - 1; i >= 0; i--) {
    hsc_arena *arena = arena_of(b);
    hsc_instr *element = hsc_build_slice(b, x, HSC_DIMS(arena, i), HSC_DIMS(arena, i + 1), HSC_DIMS(arena, 1));
    element = hsc_build_reshape(b, element, 0, NULL);
    hsc_instr *wide = hsc__widen(b, element, instr);
    by = by ? hsc_build_select(b, hsc_build_compare(b, HSC_LE, index, hsc__uniform_constant(b, (double)i, index)), wide, by) : wide;
  }
  return by;
}

// ---- the book -------------------------------------------------------------------------------------------------------------------

hsc_instr *hsc__algsimp_optional(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operand_count > 0 ? instr->operands[0] : NULL, *y = instr->operand_count > 1 ? instr->operands[1] : NULL;
  bool real = o->enable_floats_are_real && hsc_type_is_float(instr->shape.type);
  switch (instr->op) {
    case HSC_OP_DOT: return rule_dot(o, b, instr);
    case HSC_OP_REDUCE: return rule_reduce(o, b, instr);
    case HSC_OP_GATHER: return o->very_small_gather_size > 0 ? gather_as_selections(o, b, instr) : NULL;
    case HSC_OP_REDUCE_PRECISION: {
      static const struct { hsc_type type; int exponent, mantissa; } own[] = {{HSC_TYPE_F16, 5, 10}, {HSC_TYPE_BF16, 8, 7}, {HSC_TYPE_F32, 8, 23}, {HSC_TYPE_F64, 11, 52}};
      for (size_t i = 0; i < HSC_COUNT_OF(own) && o->enable_remove_no_op_reduce_precision; i++)
        if (own[i].type == instr->shape.type && instr->attr.precision.exponent_bits == own[i].exponent && instr->attr.precision.mantissa_bits == own[i].mantissa) return x;
      return NULL;
    }
    case HSC_OP_SUBTRACT: if (real && x == y) return hsc__uniform_constant(b, 0, instr); break;
    case HSC_OP_MULTIPLY: if (real && (hsc__is_all(x, 0) || hsc__is_all(y, 0))) return hsc__uniform_constant(b, 0, instr); break;
    case HSC_OP_COMPARE:
      if (o->enable_floats_are_real && x == y && hsc_type_is_float(x->shape.type))
        return hsc__uniform_constant(b, instr->attr.compare.direction == HSC_EQ || instr->attr.compare.direction == HSC_LE || instr->attr.compare.direction == HSC_GE, instr);
      break;
    default: break;
  }
  if (o->enable_sink_broadcast && x && x->op == HSC_OP_BROADCAST && instr->shape.rank > 0 && !instr->called_count && instr->op != HSC_OP_COPY && instr->op != HSC_OP_RNG &&
      (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE)) return sink_broadcast(b, instr);
  return NULL;
}
