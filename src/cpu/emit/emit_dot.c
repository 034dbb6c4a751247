// emit_dot.c - products so short that each element is best computed by itself (see
// emit_internal.h).
#include "cpu/emit/emit_internal.h"

static int64_t extent_of(const hsc_shape *shape, hsc_dims dims) {
  int64_t extent = 1;
  for (int i = 0; i < dims.count; i++)
    extent *= shape->dims[dims.v[i]];
  return extent;
}

// Products so short that each element is best computed by itself: no blocks, nothing packed. Either
// a few terms, or small matrices in a batch whose rows lie along the result's.
enum { FEW_TERMS = 4, MOST_TERMS = 16, SMALL_MATRIX = 1024, LEAST_WORK = 1 << 14 };

bool hsc__emit_can_dot(const hsc_instr *dot) {
  const hsc_dot_dims *d = &dot->attr.dot;
  const hsc_shape *lhs = &dot->operands[0]->shape;
  const hsc_shape *rhs = &dot->operands[1]->shape;
  hsc_type type = dot->shape.type;
  if (dot->operand_count != 2 || lhs->type != type || rhs->type != type || d->algorithm ||
      d->sparsity || dot->shape.rank == 0 || dot->backend_config)
    return false;
  if (type != HSC_TYPE_F32 && type != HSC_TYPE_F64 && type != HSC_TYPE_S32)
    return false;
  int64_t terms = extent_of(lhs, d->lhs_contracting);
  int64_t elements = hsc_shape_elements(&dot->shape);
  if (terms < 1 || terms > MOST_TERMS || elements * terms < LEAST_WORK)
    return false;
  if (terms <= FEW_TERMS)
    return true;
  int last = rhs->rank - 1;
  return elements / extent_of(lhs, d->lhs_batch) <= SMALL_MATRIX && last >= 0 &&
         !hsc_dims_contain(d->rhs_batch, last) && !hsc_dims_contain(d->rhs_contracting, last);
}

// The index of an operand of a dot: batch dimensions come first in the result, then the free ones
// of the left side, then those of the right; `term` counts the contracted ones.
static hsc_status *operand_index(hsc_emitter *e,
                                 const hsc_shape *shape,
                                 hsc_dims batch,
                                 hsc_dims contracting,
                                 const hsc_affine *index,
                                 int first_free,
                                 int64_t term,
                                 hsc_affine **out_index) {
  *out_index = HSC_NEW_ARRAY(e->arena, hsc_affine, shape->rank + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  for (int i = contracting.count - 1; i >= 0; i--) {
    int64_t size = shape->dims[contracting.v[i]];
    (*out_index)[contracting.v[i]] = hsc_affine_constant(term % size);
    term /= size;
  }
  for (int dim = 0; dim < shape->rank; dim++) {
    int number = hsc_dims_find(batch, dim);
    if (number >= 0)
      (*out_index)[dim] = index[number];
    else if (!hsc_dims_contain(contracting, dim))
      (*out_index)[dim] = index[first_free++];
  }
  return NULL;
}

// Terms in ascending order.
hsc_status *hsc__emit_dot(hsc_emitter *e,
                          const hsc_instr *instr,
                          const hsc_affine *index,
                          hsc_lv mask,
                          hsc_emit_value *out_value) {
  const hsc_dot_dims *d = &instr->attr.dot;
  const hsc_shape *lhs = &instr->operands[0]->shape;
  const hsc_shape *rhs = &instr->operands[1]->shape;
  // As if the dot was written out in elementwise operations on scalars.
  hsc_instr factor = {.op = HSC_OP_PARAMETER, .shape = hsc_shape_scalar(lhs->type)};
  hsc_instr *both[2] = {&factor, &factor};
  hsc_instr multiply = factor;
  multiply.op = HSC_OP_MULTIPLY;
  multiply.operands = both;
  multiply.operand_count = 2;
  hsc_instr add = multiply;
  add.op = HSC_OP_ADD;
  int64_t terms = extent_of(lhs, d->lhs_contracting);
  int right = lhs->rank - d->lhs_contracting.count;  // the first free dimension of the right side
  for (int64_t term = 0; term < terms; term++) {
    hsc_affine *at;
    hsc_emit_value factors[2];
    HSC_TRY(operand_index(e, lhs, d->lhs_batch, d->lhs_contracting, index, d->lhs_batch.count, term,
                          &at));
    HSC_TRY(hsc__emit_visit(e, instr->operands[0], at, mask, &factors[0]));
    HSC_TRY(operand_index(e, rhs, d->rhs_batch, d->rhs_contracting, index, right, term, &at));
    HSC_TRY(hsc__emit_visit(e, instr->operands[1], at, mask, &factors[1]));
    e->simple_ops += e->analysing;
    if (e->analysing)
      continue;
    hsc_emit_value sum[2] = {*out_value, hsc__emit_elementwise(e, &multiply, factors)};
    *out_value = term ? hsc__emit_elementwise(e, &add, sum) : sum[1];
  }
  return NULL;
}
