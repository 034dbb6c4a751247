// reduce_operands.c - instructions of any computation give way to an operand of their shape.
//
//   x = f32[4] add(a, b)   ->   a
#include "transform/reduce/reduce_internal.h"

hsc_status *hsc__reduce_operands(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_instr *replacement = NULL;
      if (instr->user_count + (instr == computation->root) == 0)
        continue;
      for (int i = 0; i < instr->operand_count; i++) {
        bool again = false;  // the same operand twice is one place
        for (int j = 0; j < i; j++)
          again |= instr->operands[j] == instr->operands[i];
        if (!again && hsc_shape_equal(&instr->shape, &instr->operands[i]->shape) &&
            hsc__reduce_here(r))
          replacement = instr->operands[i];
      }
      if (replacement)
        HSC_TRY(hsc_instr_replace_uses(instr, replacement));
    }
  return NULL;
}
