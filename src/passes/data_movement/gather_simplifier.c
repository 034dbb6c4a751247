// gather_simplifier.c - every gather in one form: indices [n, k] for the first k dimensions of the
// operand, whole windows out, one batch dimension in front.
//
// Operand and indices are transposed into that form, and the result is reshaped and transposed
// back; collapsed dimensions become a reshape. Legal always; gathers with batching dimensions stay.
// The device gathers any form in place, so it runs on request. One walk.
//
//   before   ROOT g = f32[3,4] gather(f32[4,9] x, s32[3] i), offset_dims={1},
//            collapsed_slice_dims={1}, start_index_map={1}, slice_sizes={4,1} ...
//   after    t = f32[9,4] transpose(x);  j = s32[3,1] reshape(i);  g = f32[3,1,4] gather(t, j),
//            offset_dims={1,2}, start_index_map={0};  reshape
//
// XLA: xla/hlo/transforms/simplifiers/gather_simplifier.h (xla/service before 2024)
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_GATHER || hsc_shape_elements(&instr->shape) == 0 ||
      instr->attr.gather.operand_batching_dims.count || instr->shape.dynamic ||
      instr->operands[0]->shape.dynamic)
    return false;
  const hsc_gather_dims *g = &instr->attr.gather;
  const hsc_shape *indices = &instr->operands[1]->shape;
  for (int i = 0; i < g->slice_sizes.count; i++)
    if (g->slice_sizes.v[i] == 0)  // collapsed: windows without an element, a result that has some
      return false;
  bool simple = g->collapsed_slice_dims.count == 0 && indices->rank == 2 &&
                g->index_vector_dim == 1 && instr->shape.rank == g->offset_dims.count + 1;
  for (int i = 0; i < g->start_index_map.count; i++)
    simple &= g->start_index_map.v[i] == i;
  for (int i = 0; i < g->offset_dims.count; i++)
    simple &= g->offset_dims.v[i] == i + 1;
  return !simple;
}

// Indices as [n, k]; `batch` gets the dimensions that n stands for.
static hsc_instr *flat_indices(hsc_builder *b,
                               hsc_instr *indices,
                               int64_t vector_dim,
                               int64_t k,
                               int64_t *batch,
                               int *batch_count,
                               int64_t *out_n) {
  int64_t order[HSC_MAX_RANK];
  int64_t n = 1;
  int count = 0;
  for (int i = 0; i < indices->shape.rank; i++) {
    if (i == vector_dim)
      continue;
    batch[count] = indices->shape.dims[i];
    n *= batch[count];
    order[count++] = i;
  }
  *batch_count = count;
  *out_n = n;
  if (vector_dim < indices->shape.rank) {
    order[count++] = vector_dim;
    indices = hsc_build_transpose(b, indices, hsc_dims_copy(b->module->arena, count, order));
  }
  return hsc_build_reshape(b, indices, 2, (int64_t[]){n, k});
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  const hsc_gather_dims *g = &instr->attr.gather;
  hsc_instr *x = instr->operands[0];
  int rank = x->shape.rank;
  int k = g->start_index_map.count;
  int batch_count;
  int64_t order[HSC_MAX_RANK], place[HSC_MAX_RANK], sizes[HSC_MAX_RANK], offsets[HSC_MAX_RANK],
      iota[HSC_MAX_RANK], batch[HSC_MAX_RANK], n;
  hsc_instr *indices =
      flat_indices(b, instr->operands[1], g->index_vector_dim, k, batch, &batch_count, &n);
  // The operand's dimensions that indices name come first.
  int count = 0;
  for (int i = 0; i < k; i++)
    order[count++] = g->start_index_map.v[i];
  for (int i = 0; i < rank; i++)
    if (!hsc_dims_contain(g->start_index_map, i))
      order[count++] = i;
  for (int i = 0; i < rank; i++) {
    place[order[i]] = i;
    sizes[i] = g->slice_sizes.v[order[i]];
    offsets[i] = i + 1;
    iota[i] = i;
  }
  hsc_attr attr = {.gather = {.offset_dims = hsc_dims_copy(arena, rank, offsets),
                              .start_index_map = hsc_dims_copy(arena, k, iota),
                              .index_vector_dim = 1,
                              .slice_sizes = hsc_dims_copy(arena, rank, sizes),
                              .indices_are_sorted = g->indices_are_sorted}};
  hsc_instr *operands[2] = {hsc_build_transpose(b, x, hsc_dims_copy(arena, rank, order)), indices};
  // [n, window in the order of `order`]
  hsc_instr *windows = hsc_build_op(b, HSC_OP_GATHER, (hsc_shape){0}, &attr, 2, operands, 0, NULL);
  // Back: windows in the operand's order, collapsed dimensions gone, batch dimensions apart, both
  // where the result has them.
  int64_t back[HSC_MAX_RANK], dims[HSC_MAX_RANK], final[HSC_MAX_RANK];
  back[0] = 0;
  for (int i = 0; i < rank; i++)
    back[i + 1] = place[i] + 1;
  hsc_instr *value = hsc_build_transpose(b, windows, hsc_dims_copy(arena, rank + 1, back));
  count = 0;
  for (int i = 0; i < batch_count; i++)
    dims[count++] = batch[i];
  for (int i = 0; i < rank; i++)
    if (!hsc_dims_contain(g->collapsed_slice_dims, i))
      dims[count++] = g->slice_sizes.v[i];
  value = hsc_build_reshape(b, value, count, dims);
  int next_batch = 0;
  int next_offset = 0;
  for (int i = 0; i < instr->shape.rank; i++)
    final[i] = hsc_dims_contain(g->offset_dims, i) ? batch_count + next_offset++ : next_batch++;
  return hsc_build_transpose(b, value, hsc_dims_copy(arena, instr->shape.rank, final));
}

hsc_status *hsc__pass_gather_simplifier(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
