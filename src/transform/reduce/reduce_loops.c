// reduce_loops.c - loops end sooner: whole numbers in their conditions become 1 or 2.
//
//   n = s32[] constant(100), ROOT c = pred[] compare(i, n), direction=LT   ->   constant(1)
#include "transform/reduce/reduce_internal.h"

static hsc_status *bound(hsc__reducing *r, hsc_instr *instr) {
  double value = 0;
  if (instr->op != HSC_OP_CONSTANT || !hsc_type_is_integral(instr->shape.type) ||
      !hsc_instr_is_scalar_constant(instr, &value))
    return NULL;
  int64_t now = hsc_literal_get_int(instr->attr.literal.value, 0);
  for (int64_t shorter = 1; shorter <= 2; shorter++) {
    if (now <= shorter || !hsc__reduce_here(r))
      continue;
    hsc_literal *literal = NULL;
    HSC_TRY(hsc_literal_create(r->module->arena, &instr->shape, &literal));
    hsc_literal_set_int(literal, 0, shorter);
    instr->attr.literal.value = literal;
    return NULL;
  }
  return NULL;
}

hsc_status *hsc__reduce_loops(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, loop) {
      if (loop->op != HSC_OP_WHILE)
        continue;
      HSC_FOR_EACH_INSTR_IN (loop->called[0], instr)
        HSC_TRY(bound(r, instr));
    }
  return NULL;
}
