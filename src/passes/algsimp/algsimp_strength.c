// algsimp_strength.c - rules that make a dot of one vector, or of what contracts nothing, a product
// of elements, and that do a scalar's multiplication where there is less to multiply.
#include "passes/algsimp/algsimp.h"

// A dot whose operands are two arrays with elements, and nothing more is said of it.
static bool is_dense(const hsc_instr *dot) {
  const hsc_dot_dims *d = &dot->attr.dot;
  return !d->sparsity && !d->algorithm && dot->operand_count == 2 && hsc__has_products(dot);
}

// op(a * s, b) => op(a, b) * s for a scalar s, where the result has fewer elements than the
// operand.
static hsc_instr *scale_result(hsc_builder *b, hsc_instr *instr) {
  for (int side = 0; side < 2 && hsc__is_float(instr); side++) {
    hsc_instr *product = instr->operands[side];
    if (product->op != HSC_OP_MULTIPLY || !hsc__has_one_use(product) ||
        hsc_shape_elements(&instr->shape) >= hsc_shape_elements(&product->shape))
      continue;
    for (int factor = 0; factor < 2; factor++) {
      hsc_instr *scalar = product->operands[factor]->op == HSC_OP_BROADCAST
                              ? hsc__uniform_value(product->operands[factor])
                              : NULL;
      if (!scalar || scalar->shape.type != instr->shape.type)
        continue;
      hsc_instr *operands[2] = {instr->operands[0], instr->operands[1]};
      operands[side] = product->operands[!factor];
      hsc_instr *plain = hsc_build_clone(b, instr, operands);
      return hsc_build_binary(b, HSC_OP_MULTIPLY, plain, hsc__widen(b, scalar, plain));
    }
  }
  return NULL;
}

HSC_RULE(scale_dot) {
  return is_dense(instr) ? scale_result(b, instr) : NULL;
}

HSC_RULE(scale_convolution) {
  return hsc__has_products(instr) && !hsc__is_empty(instr) ? scale_result(b, instr) : NULL;
}

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
    if (hsc_dims_contain(batch, i)) {
      for (int k = 0; k < batch.count; k++)
        if (batch.v[k] == i)
          dims[i] = k;
    } else if (hsc_dims_contain(contracting, i)) {
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

// A product of elements along the dimensions of the result, and a sum over what is contracted.
static hsc_instr *dot_as_product(hsc_builder *b, hsc_instr *dot) {
  const hsc_dot_dims *d = &dot->attr.dot;
  const hsc_instr *lhs = dot->operands[0];
  const hsc_instr *rhs = dot->operands[1];
  int contracted = d->lhs_contracting.count;
  int64_t dims[HSC_MAX_RANK];
  if (dot->shape.rank + contracted > HSC_MAX_RANK || hsc_type_is_complex(dot->shape.type))
    return NULL;
  // products of narrow numbers are made wide
  if (hsc_type_bits(dot->shape.type) < 32 || lhs->shape.type != dot->shape.type ||
      rhs->shape.type != dot->shape.type)
    return NULL;
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

HSC_RULE(dot_of_nothing_contracted) {
  return is_dense(instr) && instr->attr.dot.lhs_contracting.count == 0 ? dot_as_product(b, instr)
                                                                       : NULL;
}

HSC_RULE(dot_of_vector) {
  const hsc_dot_dims *d = &instr->attr.dot;
  int contracted = d->lhs_contracting.count;
  if (!is_dense(instr) || contracted == 0)
    return NULL;
  int left = instr->operands[0]->shape.rank - d->lhs_batch.count - contracted;
  int right = instr->operands[1]->shape.rank - d->rhs_batch.count - contracted;
  return left == 0 || right == 0 ? dot_as_product(b, instr) : NULL;
}
