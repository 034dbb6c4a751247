// reduction_layout_normalizer.c - reductions give row-major results: another layout on one becomes
// a copy after it, where a reader asks for it.
//
// Values inside a program of the built-in device are row-major whatever their layout says; layouts
// count at the edges. So the reduction itself loses its layout, and only the root of the entry
// computation keeps one, on a copy. One walk.
//
//   before   ROOT r = f32[8,4]{0,1} reduce(f32[8,4,16] x, zero), dimensions={2}
//   after    s = f32[8,4] reduce(x, zero), dimensions={2};  ROOT r = f32[8,4]{0,1} copy(s)
//
// XLA: xla/service/gpu/transforms/reduction_layout_normalizer.h
#include "passes/manager/passes_internal.h"

static bool has_layout(const hsc_shape *shape) {
  if (hsc_shape_is_array(shape))
    return !hsc_layout_is_default(shape);
  for (int i = 0; i < shape->element_count; i++)
    if (has_layout(&shape->elements[i]))
      return true;
  return false;
}

static bool matches(const hsc_instr *instr) {
  return instr->op == HSC_OP_REDUCE && has_layout(&instr->shape);
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *replacement = hsc_build_clone(b, instr, instr->operands);
  if (b->status)
    return instr;
  replacement->shape = hsc_shape_without_layout(b->module->arena, instr->shape);
  if (instr->parent->root != instr || !hsc_shape_is_array(&instr->shape))
    return replacement;
  hsc_instr *copy = hsc_build_unary(b, HSC_OP_COPY, replacement);
  if (!b->status)
    copy->shape = instr->shape;
  return copy;
}

hsc_status *hsc__pass_reduction_layout_normalizer(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
