// call_inliner.c - replaces every call by a copy of what it calls.
//
// Always legal. Callees come before callers in the module, so one pass leaves none; the cost is the
// size of the copies.
//
//   before   f = f32[4] call(x), to_apply=double;     double: ROOT r = add(p, p)
//   after    f = f32[4] add(x, x)
//
// XLA: xla/service/call_inliner.h
#include "passes/manager/passes_internal.h"

hsc_status *hsc__pass_call_inliner(hsc_module *module, hsc_pass_context *cx) {
  HSC_TRY(hsc_module_sort(module));
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->op != HSC_OP_CALL || instr->control_count)
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_instr *root = NULL;
      HSC_TRY(hsc__inline(instr->called[0], instr, instr->operands, &root));
      HSC_TRY(hsc__replace_effects_too(instr, root));
    }
  }
  return NULL;
}
