// pass_values.c - questions about values that several passes ask, and constants that several passes
// make.
#include "passes/manager/passes_internal.h"

hsc_instr *hsc__uniform_value(hsc_instr *instr) {
  while (instr->op == HSC_OP_RESHAPE && hsc_shape_elements(&instr->shape) > 0)
    instr = instr->operands[0];
  if (instr->op == HSC_OP_BROADCAST)
    instr = instr->operands[0];
  while (instr->op == HSC_OP_RESHAPE && hsc_shape_elements(&instr->shape) == 1)
    instr = instr->operands[0];
  return hsc_shape_is_scalar(&instr->shape) ? instr : NULL;
}

bool hsc__is_all(const hsc_instr *instr, double value) {
  while (instr->op == HSC_OP_BROADCAST)
    instr = instr->operands[0];
  return instr->op == HSC_OP_CONSTANT && !instr->attr.literal.value->elided &&
         hsc_literal_is_all(instr->attr.literal.value, value);
}

hsc_instr *hsc__widen(hsc_builder *b, hsc_instr *value, const hsc_instr *like) {
  if (like->shape.rank == 0)
    return value;
  return hsc_build_broadcast(b, value, hsc_shape_with_type(like->shape, value->shape.type),
                             (hsc_dims){0});
}

hsc_instr *hsc__uniform_constant(hsc_builder *b, double value, const hsc_instr *like) {
  return hsc__widen(b, hsc_build_scalar(b, like->shape.type, value), like);
}
