// reduce_constants.c - instructions of any computation become zeros.
//
//   x = f32[4] exponential(a)   ->   x = f32[4] constant({0, 0, 0, 0})
#include "transform/reduce/reduce_internal.h"

static bool is_simple(const hsc_instr *instr) {
  double value;
  if (instr->op == HSC_OP_BROADCAST && hsc_instr_is_scalar_constant(instr, &value) && value == 0)
    return true;
  return instr->op == HSC_OP_CONSTANT || instr->op == HSC_OP_TUPLE ||
         instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_IOTA || instr->op == HSC_OP_AFTER_ALL;
}

hsc_status *hsc__reduce_constants(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_instr *zeros = NULL;
      if (is_simple(instr) || instr->user_count + (instr == computation->root) == 0)
        continue;
      if (!hsc__reduce_here(r))
        continue;
      HSC_TRY(hsc__reduce_zeros(instr, &zeros));
      HSC_TRY(hsc_instr_replace_uses(instr, zeros));
    }
  return NULL;
}
