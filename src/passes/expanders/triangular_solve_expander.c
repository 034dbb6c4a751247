// triangular_solve_expander.c - solving with triangular matrices as a loop over rows of the result.
//
// Row k of the solution is what is left of row k of the right side after the rows that are solved,
// over the diagonal element. Solving from the right is solving the transposed system; a transposed
// matrix has the other triangle. Only the triangle that counts is read. Legal always, to the last
// bits; n trips of a vector-matrix product. The device has a blocked kernel, so it runs on request.
//
//   before   ROOT x = f32[8,3] triangular-solve(a, b), left_side=true, lower=true,
//            unit_diagonal=false, transpose_a=NO_TRANSPOSE
//   after    while k < 8: x[k, :] = (b[k, :] - strict(a)[k, :] @ x) / a[k, k]
//
// XLA: xla/hlo/transforms/expanders/triangular_solve_expander.h (xla/service before 2024)
#include "passes/manager/pass_loop.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_TRIANGULAR_SOLVE || instr->shape.rank < 2 ||
      hsc_shape_elements(&instr->shape) == 0)
    return false;
  return hsc_type_is_float(instr->shape.type) &&
         instr->operands[0]->shape.type == instr->shape.type;
}

typedef struct frame {
  int64_t n;
  bool lower, unit;
} frame;

static hsc_instr *row_of(hsc_builder *b, hsc_instr *x, hsc_instr *k) {
  hsc_instr *indices[3] = {hsc__build_index(b, 0), k, hsc__build_index(b, 0)};
  return hsc_build_dynamic_slice(b, x, 3, indices,
                                 HSC_DIMS(b->module->arena, x->shape.dims[0], 1, x->shape.dims[2]));
}

// state: solution, right side, strict triangle, diagonal [batch, n, 1]
static void step(hsc_builder *b, hsc_instr *i, hsc_instr **state, void *user) {
  const frame *f = user;
  hsc_arena *arena = b->module->arena;
  hsc_instr *k =
      f->lower ? i : hsc_build_binary(b, HSC_OP_SUBTRACT, hsc__build_index(b, f->n - 1), i);
  hsc_instr *zero = hsc__build_index(b, 0);
  hsc_dot_dims dims = {.lhs_batch = HSC_DIMS(arena, 0),
                       .rhs_batch = HSC_DIMS(arena, 0),
                       .lhs_contracting = HSC_DIMS(arena, 2),
                       .rhs_contracting = HSC_DIMS(arena, 1),
                       .precision = HSC_DIMS(arena, 2, 2)};
  hsc_instr *known = hsc_build_dot(b, row_of(b, state[2], k), state[0], dims);
  hsc_instr *row = hsc_build_binary(b, HSC_OP_SUBTRACT, row_of(b, state[1], k), known);
  if (!f->unit) {
    int64_t batch = row->shape.dims[0];
    hsc_instr *pivot = hsc_build_reshape(b, row_of(b, state[3], k), 1, &batch);
    row = hsc_build_binary(b, HSC_OP_DIVIDE, row,
                           hsc_build_broadcast(b, pivot, row->shape, HSC_DIMS(arena, 0)));
  }
  state[0] = hsc_build_dynamic_update_slice(b, state[0], row, 3, (hsc_instr *[]){zero, k, zero});
}

static hsc_instr *stacked(hsc_builder *b, hsc_instr *x, hsc_type type, bool transposed) {
  int rank = x->shape.rank;
  int64_t rows = x->shape.dims[rank - 2];
  int64_t columns = x->shape.dims[rank - 1];
  int64_t dims[3] = {hsc_shape_elements(&x->shape) / (rows * columns), rows, columns};
  hsc_instr *stack = hsc_build_reshape(b, x, 3, dims);
  if (stack->shape.type != type)
    stack = hsc_build_convert(b, type, stack);
  return transposed ? hsc_build_transpose(b, stack, HSC_DIMS(b->module->arena, 0, 2, 1)) : stack;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  const hsc_shape *shape = &instr->shape;
  bool left = instr->attr.triangular.left_side;
  bool flips = instr->attr.triangular.transpose_a != HSC_NO_TRANSPOSE;
  hsc_type type = hsc_type_bits(shape->type) < 32 ? HSC_TYPE_F32 : shape->type;
  // x a = b is a^T x^T = b^T.
  bool transposed = flips == left;
  hsc_instr *a = stacked(b, instr->operands[0], type, transposed);
  hsc_instr *right = stacked(b, instr->operands[1], type, !left);
  frame f = {.n = a->shape.dims[1],
             .lower = instr->attr.triangular.lower != transposed,
             .unit = instr->attr.triangular.unit_diagonal};
  hsc_shape counts = hsc_shape_array(arena, HSC_TYPE_S32, 3, a->shape.dims);
  hsc_instr *i = hsc_build_iota(b, counts, 1);
  hsc_instr *j = hsc_build_iota(b, counts, 2);
  hsc_instr *zeros = hsc__uniform_constant(b, 0, a);
  hsc_instr *strict =
      hsc_build_select(b, hsc_build_compare(b, f.lower ? HSC_GT : HSC_LT, i, j), a, zeros);
  hsc_instr *only = hsc_build_select(b, hsc_build_compare(b, HSC_EQ, i, j), a, zeros);
  hsc_instr *zero = hsc_build_scalar(b, type, 0);
  hsc_instr *diagonal = hsc_build_reduce(b, only, zero, HSC_DIMS(arena, 2),
                                         hsc_module_scalar_reducer(b->module, HSC_OP_ADD, type));
  diagonal = hsc_build_reshape(b, diagonal, 3, (int64_t[]){a->shape.dims[0], f.n, 1});
  hsc_instr *state[4] = {hsc__uniform_constant(b, 0, right), right, strict, diagonal};
  hsc__build_counted_loop(b, f.n, 4, state, step, &f);
  hsc_instr *x = left ? state[0] : hsc_build_transpose(b, state[0], HSC_DIMS(arena, 0, 2, 1));
  if (type != shape->type)
    x = hsc_build_convert(b, shape->type, x);
  return hsc_build_reshape(b, x, shape->rank, shape->dims);
}

hsc_status *hsc__pass_triangular_solve_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
