// scatter_expander.c - a scatter as a loop over its updates, each put in place by slices of
// run-time position.
//
// In each trip the window that the index names is read, combined with the update element by
// element, and written back where the window lies inside. Legal for one operand without batching
// dimensions. The device has a kernel that does not copy, so it runs on request. One walk; n trips
// of a window.
//
//   before   ROOT s = f32[9] scatter(x, s32[3,1] i, f32[3] u), to_apply=plus
//   after    while k < 3: w = dynamic-slice(x, i[k]);  x = dynamic-update-slice(x, inside ? w +
//            u[k] : w, i[k])
//
// XLA: xla/service/scatter_expander.h
#include "passes/manager/pass_loop.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_SCATTER || instr->operand_count != 3 ||
      instr->attr.scatter.operand_batching_dims.count)
    return false;
  const hsc_instr *root = instr->called[0]->root;
  hsc_op op;
  // The function of (old, update): plain, or the update itself.
  bool assigns = root->op == HSC_OP_PARAMETER && root->attr.index.value == 1;
  if (!assigns && !hsc_is_simple_reducer(instr->called[0], &op))
    return false;
  return hsc_shape_elements(&instr->operands[2]->shape) > 0 &&
         hsc_shape_elements(&instr->shape) > 0 && !instr->shape.dynamic;
}

typedef struct frame {
  const hsc_instr *scatter;
  int64_t window[HSC_MAX_RANK];  // of the operand
} frame;

// state: operand, indices [n, k], updates [n, window...]
static void step(hsc_builder *b, hsc_instr *n, hsc_instr **state, void *user) {
  frame *f = user;
  hsc_arena *arena = b->module->arena;
  const hsc_gather_dims *g = &f->scatter->attr.scatter;
  hsc_instr *operand = state[0];
  hsc_instr *zero = hsc__build_index(b, 0);
  hsc_instr *inside = hsc_build_scalar(b, HSC_TYPE_PRED, 1);
  hsc_instr *starts[HSC_MAX_RANK], *at[HSC_MAX_RANK + 1];
  int rank = operand->shape.rank;
  for (int i = 0; i < rank; i++)
    starts[i] = zero;
  for (int k = 0; k < g->start_index_map.count; k++) {
    int64_t dim = g->start_index_map.v[k];
    hsc_instr *one = hsc_build_dynamic_slice(
        b, state[1], 2, (hsc_instr *[]){n, hsc__build_index(b, k)}, HSC_DIMS(arena, 1, 1));
    hsc_instr *start = hsc_build_reshape(b, one, 0, NULL);
    // Compared as wide signed numbers: an unsigned index of 2^31 is outside, too.
    hsc_instr *wide = hsc_build_convert(b, HSC_TYPE_S64, start);
    hsc_instr *last =
        hsc_build_scalar(b, HSC_TYPE_S64, (double)(operand->shape.dims[dim] - f->window[dim]));
    hsc_instr *low = hsc_build_compare(b, HSC_GE, wide, hsc_build_scalar(b, HSC_TYPE_S64, 0));
    hsc_instr *high = hsc_build_compare(b, HSC_LE, wide, last);
    inside = hsc_build_binary(b, HSC_OP_AND, inside, hsc_build_binary(b, HSC_OP_AND, low, high));
    starts[dim] = hsc_build_convert(b, HSC_TYPE_S32, start);
  }
  hsc_dims sizes = hsc_dims_copy(arena, rank, f->window);
  hsc_instr *old = hsc_build_dynamic_slice(b, operand, rank, starts, sizes);
  int64_t taken[HSC_MAX_RANK + 1] = {1};
  for (int i = 0; i < state[2]->shape.rank; i++) {
    at[i] = i ? zero : n;
    if (i)
      taken[i] = state[2]->shape.dims[i];
  }
  hsc_instr *update = hsc_build_dynamic_slice(b, state[2], state[2]->shape.rank, at,
                                              hsc_dims_copy(arena, state[2]->shape.rank, taken));
  update = hsc_build_reshape(b, update, rank, f->window);
  const hsc_instr *root = f->scatter->called[0]->root;
  hsc_instr *replacement =
      root->op == HSC_OP_PARAMETER ? update : hsc_build_binary(b, root->op, old, update);
  hsc_instr *where =
      rank ? hsc_build_broadcast(b, inside, hsc_shape_with_type(old->shape, HSC_TYPE_PRED),
                                 (hsc_dims){0})
           : inside;
  state[0] = hsc_build_dynamic_update_slice(
      b, operand, hsc_build_select(b, where, replacement, old), rank, starts);
}

// `x` with the dimensions of `front` first (one of their product), the others after in order.
static hsc_instr *with_front(hsc_builder *b, hsc_instr *x, hsc_dims trailing, int64_t skipped) {
  int64_t order[HSC_MAX_RANK];
  int64_t dims[HSC_MAX_RANK + 1];
  int64_t n = 1;
  int count = 0;
  int rank = 1;
  for (int i = 0; i < x->shape.rank; i++)
    if (!hsc_dims_contain(trailing, i) && i != skipped) {
      n *= x->shape.dims[i];
      order[count++] = i;
    }
  dims[0] = n;
  for (int i = 0; i < x->shape.rank; i++)
    if (hsc_dims_contain(trailing, i) || i == skipped) {
      dims[rank++] = x->shape.dims[i];
      order[count++] = i;
    }
  return hsc_build_reshape(
      b, hsc_build_transpose(b, x, hsc_dims_copy(b->module->arena, count, order)), rank, dims);
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  const hsc_gather_dims *g = &instr->attr.scatter;
  hsc_instr *operand = instr->operands[0];
  hsc_instr *indices = instr->operands[1];
  hsc_instr *updates = instr->operands[2];
  frame f = {.scatter = instr};
  int window = 0;
  for (int i = 0; i < operand->shape.rank; i++) {
    bool inserted = hsc_dims_contain(g->collapsed_slice_dims, i);
    f.window[i] = inserted ? 1 : updates->shape.dims[g->offset_dims.v[window]];
    window += !inserted;
  }
  hsc_instr *flat = with_front(b, indices, (hsc_dims){0}, g->index_vector_dim);
  if (g->index_vector_dim == indices->shape.rank)
    flat = hsc_build_reshape(b, flat, 2, (int64_t[]){flat->shape.dims[0], 1});
  hsc_instr *state[3] = {operand, flat, with_front(b, updates, g->offset_dims, -1)};
  hsc__build_counted_loop(b, state[2]->shape.dims[0], 3, state, step, &f);
  return state[0];
}

hsc_status *hsc__pass_scatter_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
