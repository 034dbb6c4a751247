// zero_sized_hlo_elimination.c - an array without elements needs no computing: whatever makes one
// becomes a constant.
//
// Legal for everything but parameters, effects, and operations between devices, which the others
// wait for. One walk.
//
//   before   e = f32[0,4] exponential(x);  ROOT c = f32[3,4] concatenate(e, y), dimensions={0}
//   after    e = f32[0,4] constant({});  ROOT c = f32[3,4] concatenate(e, y), dimensions={0}
//
// XLA: xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.h
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  if (!hsc_shape_is_array(&instr->shape) || instr->shape.dynamic ||
      hsc_shape_elements(&instr->shape) != 0)
    return false;
  if (instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_CONSTANT || hsc_instr_has_effect(instr))
    return false;
  if (instr->op == HSC_OP_CUSTOM_CALL && instr->attr.custom.has_side_effect)
    return false;
  return !(hsc_op_traits(instr->op) & (HSC_TRAIT_COLLECTIVE | HSC_TRAIT_ASYNC));
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_literal *empty = NULL;
  hsc_status *status = hsc_literal_create(b->module->arena, &instr->shape, &empty);
  if (status) {
    b->status = status;
    return instr;
  }
  hsc_instr *constant = hsc_build_constant(b, empty);
  constant->shape = instr->shape;
  return constant;
}

hsc_status *hsc__pass_zero_sized_hlo_elimination(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
