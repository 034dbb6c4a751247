// reduce_unused.c - what nothing uses.
//
//   x = tanh(a); root r = negate(a)   ->   root r = negate(a)
//
// Or only the last instruction of what is unused goes, and its operands are unused then.
#include "transform/reduce/reduce_internal.h"

hsc_status *hsc__reduce_unused(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    for (hsc_instr *instr = computation->last, *before; instr; instr = before) {
      before = instr->prev;
      if (!hsc__reduce_was_unused(r, instr))
        continue;
      bool with_operands = hsc__reduce_here(r);
      bool alone = hsc__reduce_here(r) && !with_operands;
      for (int i = 0; alone && i < instr->operand_count; i++)
        HSC_TRY(hsc__reduce_keep(r, instr->operands[i]));
      if (with_operands || alone)
        hsc_instr_remove(instr);
    }
  return NULL;
}
