// cholesky_expander.c - Cholesky's factor of stacks of matrices as a loop over columns.
//
// Column j of the factor is what is left of column j of the matrix after the columns before it,
// over the root of its diagonal element. Only the triangle that the operation reads is read. Legal
// always, to the last bits; n trips of a matrix-vector product. The device has a blocked kernel, so
// it runs on request.
//
//   before   ROOT l = f32[8,8] cholesky(a), lower=true
//   after    while j < 8: v = a[:, j] - l @ l[j, :];  l[:, j] = select(row >= j, v / sqrt(v[j]), 0)
//
// XLA: xla/hlo/transforms/expanders/cholesky_expander.h
#include "passes/manager/pass_loop.h"

static bool matches(const hsc_instr *instr) {
  return instr->op == HSC_OP_CHOLESKY && hsc_type_is_float(instr->shape.type) &&
         instr->shape.rank >= 2 && hsc_shape_elements(&instr->shape) > 0;
}

typedef struct frame {
  hsc_shape stack;  // [batch, n, n]
} frame;

static hsc_instr *slice_of(hsc_builder *b,
                           hsc_instr *x,
                           hsc_instr *row,
                           hsc_instr *column,
                           int64_t rows,
                           int64_t columns) {
  hsc_instr *indices[3] = {hsc__build_index(b, 0), row, column};
  return hsc_build_dynamic_slice(b, x, 3, indices,
                                 HSC_DIMS(b->module->arena, x->shape.dims[0], rows, columns));
}

static void step(hsc_builder *b, hsc_instr *j, hsc_instr **state, void *user) {
  frame *f = user;
  hsc_arena *arena = b->module->arena;
  hsc_instr *l = state[0];
  hsc_instr *a = state[1];
  hsc_instr *zero = hsc__build_index(b, 0);
  int64_t batch = f->stack.dims[0];
  int64_t n = f->stack.dims[1];
  hsc_instr *row = slice_of(b, l, j, zero, 1, n);  // [batch, 1, n]
  hsc_dot_dims dims = {.lhs_batch = HSC_DIMS(arena, 0),
                       .rhs_batch = HSC_DIMS(arena, 0),
                       .lhs_contracting = HSC_DIMS(arena, 2),
                       .rhs_contracting = HSC_DIMS(arena, 2),
                       .precision = HSC_DIMS(arena, 2, 2)};
  // [batch, n, 1]
  hsc_instr *known = hsc_build_dot(b, l, row, dims);
  hsc_instr *v = hsc_build_binary(b, HSC_OP_SUBTRACT, slice_of(b, a, zero, j, n, 1), known);
  hsc_instr *diagonal = hsc_build_reshape(
      b, hsc_build_unary(b, HSC_OP_SQRT, slice_of(b, v, j, zero, 1, 1)), 1, &batch);
  hsc_instr *scaled = hsc_build_binary(
      b, HSC_OP_DIVIDE, v, hsc_build_broadcast(b, diagonal, v->shape, HSC_DIMS(arena, 0)));
  hsc_shape counts = hsc_shape_array(arena, HSC_TYPE_S32, 3, v->shape.dims);
  hsc_instr *current = hsc_build_broadcast(b, j, counts, (hsc_dims){0});
  hsc_instr *below = hsc_build_compare(b, HSC_GE, hsc_build_iota(b, counts, 1), current);
  hsc_instr *column = hsc_build_select(b, below, scaled, hsc__uniform_constant(b, 0, scaled));
  state[0] = hsc_build_dynamic_update_slice(b, l, column, 3, (hsc_instr *[]){zero, zero, j});
}

static hsc_instr *transposed(hsc_builder *b, hsc_instr *x) {
  return hsc_build_transpose(b, x, HSC_DIMS(b->module->arena, 0, 2, 1));
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  const hsc_shape *shape = &instr->shape;
  int64_t n = shape->dims[shape->rank - 1];
  int64_t dims[3] = {hsc_shape_elements(shape) / (n * n), n, n};
  frame f = {.stack = hsc_shape_array(
                 arena, hsc_type_bits(shape->type) < 32 ? HSC_TYPE_F32 : shape->type, 3, dims)};
  hsc_instr *a = hsc_build_reshape(b, instr->operands[0], 3, dims);
  if (a->shape.type != f.stack.type)
    a = hsc_build_convert(b, f.stack.type, a);
  if (!instr->attr.cholesky.lower)
    a = transposed(b, a);
  hsc_instr *state[2] = {
      hsc__widen(b, hsc_build_scalar(b, f.stack.type, 0), &(hsc_instr){.shape = f.stack}), a};
  hsc__build_counted_loop(b, n, 2, state, step, &f);
  hsc_instr *l = instr->attr.cholesky.lower ? state[0] : transposed(b, state[0]);
  if (f.stack.type != shape->type)
    l = hsc_build_convert(b, shape->type, l);
  return hsc_build_reshape(b, l, shape->rank, shape->dims);
}

hsc_status *hsc__pass_cholesky_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
