// broadcast_canonicalizer.c - a broadcast whose operand's dimensions come out in another order
// becomes a transpose and a broadcast in order.
//
// Legal always. The built-in device reads any order, so it runs on request. One walk.
//
//   before   ROOT b = f32[4,8,2] broadcast(f32[8,4] x), dimensions={1,0}
//   after    t = f32[4,8] transpose(x), dimensions={1,0};  ROOT b = f32[4,8,2] broadcast(t),
//            dimensions={0,1}
//
// XLA: xla/hlo/transforms/simplifiers/broadcast_canonicalizer.h
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_BROADCAST)
    return false;
  hsc_dims dims = instr->attr.dims.dims;
  for (int i = 1; i < dims.count; i++)
    if (dims.v[i] < dims.v[i - 1])
      return true;
  return false;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  hsc_dims dims = instr->attr.dims.dims;
  int64_t order[HSC_MAX_RANK], sorted[HSC_MAX_RANK];
  // an insertion sort of the operand's dimensions by where they go
  for (int i = 0; i < dims.count; i++) {
    int at = i;
    for (; at > 0 && dims.v[order[at - 1]] > dims.v[i]; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  for (int i = 0; i < dims.count; i++)
    sorted[i] = dims.v[order[i]];
  hsc_instr *transposed =
      hsc_build_transpose(b, instr->operands[0], hsc_dims_copy(arena, dims.count, order));
  return hsc_build_broadcast(b, transposed, instr->shape, hsc_dims_copy(arena, dims.count, sorted));
}

hsc_status *hsc__pass_broadcast_canonicalizer(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
