// reduce_tuples.c - the element of a tuple that is built in the same computation is taken directly.
//
//   t = (f32[4], s32[]) tuple(x, i), y = f32[4] get-tuple-element(t), index=0   ->   x
#include "transform/reduce/reduce_internal.h"

hsc_status *hsc__reduce_tuples(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->op != HSC_OP_GET_TUPLE_ELEMENT || instr->operands[0]->op != HSC_OP_TUPLE)
        continue;
      if (hsc__reduce_here(r))
        HSC_TRY(
            hsc_instr_replace_uses(instr, instr->operands[0]->operands[instr->attr.index.value]));
    }
  return NULL;
}
