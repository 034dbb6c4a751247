// dot_decomposer.c - every dot as a product of (stacks of) matrices: batch dimensions in front, one
// free and one contracting dimension on each side.
//
// Operands are transposed to [batch..., free, contracting] and [batch..., contracting, free],
// several free or contracting dimensions become one, and the result is reshaped back. Legal always.
// The built-in device reads any order of dimensions in place, so it runs on request. One walk.
//
//   before   ROOT d = f32[4,5] dot(f32[4,2,3] x, f32[2,3,5] y), lhs_contracting_dims={1,2},
//            rhs_contracting_dims={0,1}
//   after    a = f32[4,6] reshape(x);  b = f32[6,5] reshape(y);  ROOT d = f32[4,5] dot(a, b),
//            lhs_contracting_dims={1}, rhs_contracting_dims={0}
//
// XLA: xla/hlo/transforms/simplifiers/dot_decomposer.h (xla/service before 2024)
#include "passes/manager/passes_internal.h"

typedef struct side {
  hsc_dims batch, contracting;
  int64_t free_dims[HSC_MAX_RANK];
  int free_count;
  int64_t free_size, contracting_size;
} side;

static side side_of(const hsc_instr *dot, int number) {
  const hsc_dot_dims *d = &dot->attr.dot;
  side s = {.batch = number ? d->rhs_batch : d->lhs_batch,
            .contracting = number ? d->rhs_contracting : d->lhs_contracting,
            .free_size = 1,
            .contracting_size = 1};
  const hsc_shape *shape = &dot->operands[number]->shape;
  for (int i = 0; i < shape->rank; i++) {
    if (hsc_dims_contain(s.contracting, i))
      s.contracting_size *= shape->dims[i];
    else if (!hsc_dims_contain(s.batch, i)) {
      s.free_size *= shape->dims[i];
      s.free_dims[s.free_count++] = i;
    }
  }
  return s;
}

static bool is_canonical(const hsc_instr *dot, int number) {
  side s = side_of(dot, number);
  for (int i = 0; i < s.batch.count; i++)
    if (s.batch.v[i] != i)
      return false;
  return s.contracting.count == 1 && s.free_count <= 1 &&
         s.contracting.v[0] == s.batch.count + (number == 0 ? s.free_count : 0);
}

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_DOT || instr->attr.dot.sparsity || instr->shape.dynamic)
    return false;
  return !is_canonical(instr, 0) || !is_canonical(instr, 1);
}

// [batch..., free, contracting] for the left side, [batch..., contracting, free] for the right; a
// side without free dimensions has none.
static hsc_instr *canonical(hsc_builder *b, const hsc_instr *dot, int number) {
  hsc_arena *arena = b->module->arena;
  hsc_instr *x = dot->operands[number];
  side s = side_of(dot, number);
  int64_t order[HSC_MAX_RANK], dims[HSC_MAX_RANK];
  int count = 0;
  int rank = 0;
  for (int i = 0; i < s.batch.count; i++) {
    dims[rank++] = x->shape.dims[s.batch.v[i]];
    order[count++] = s.batch.v[i];
  }
  for (int part = 0; part < 2; part++) {
    bool free_part = (part == 0) == (number == 0);
    for (int i = 0; i < (free_part ? s.free_count : s.contracting.count); i++)
      order[count++] = free_part ? s.free_dims[i] : s.contracting.v[i];
    if (!free_part)
      dims[rank++] = s.contracting_size;
    else if (s.free_count)
      dims[rank++] = s.free_size;
  }
  return hsc_build_reshape(b, hsc_build_transpose(b, x, hsc_dims_copy(arena, count, order)), rank,
                           dims);
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  side l = side_of(instr, 0);
  hsc_instr *lhs = canonical(b, instr, 0);
  hsc_instr *rhs = canonical(b, instr, 1);
  int64_t iota[HSC_MAX_RANK];
  int64_t contracting_lhs = l.batch.count + (l.free_count > 0);
  int64_t contracting_rhs = l.batch.count;
  for (int i = 0; i < l.batch.count; i++)
    iota[i] = i;
  hsc_attr attr = {.dot = instr->attr.dot};
  attr.dot.lhs_batch = attr.dot.rhs_batch = hsc_dims_copy(arena, l.batch.count, iota);
  attr.dot.lhs_contracting = hsc_dims_copy(arena, 1, &contracting_lhs);
  attr.dot.rhs_contracting = hsc_dims_copy(arena, 1, &contracting_rhs);
  hsc_instr *operands[2] = {lhs, rhs};
  hsc_instr *dot =
      hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, instr->shape.type), &attr, 2,
                   operands, 0, NULL);
  return hsc_build_reshape(b, dot, instr->shape.rank, instr->shape.dims);
}

hsc_status *hsc__pass_dot_decomposer(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
