// dce.c - dead code elimination: instructions that nothing uses, then computations that nothing calls.
//
// Legal for instructions without effects. One backward walk a computation, linear: a user stands after what it uses, so when the walk
// arrives at an instruction all of its dead users are already gone.
//
//   before   a = f32[4] add(x, y);  b = f32[4] multiply(x, y);  ROOT c = f32[4] negate(b)
//   after    b = f32[4] multiply(x, y);  ROOT c = f32[4] negate(b)
//
// XLA: xla/hlo/transforms/simplifiers/hlo_dce.h
#include "passes/passes_internal.h"

hsc_status *hsc__pass_dce(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION(module, computation) {
    for (hsc_instr *instr = computation->last; instr;) {
      hsc_instr *prev = instr->prev;
      if (hsc_instr_is_dead(instr)) {
        if (!hsc__pass_spend(cx)) return NULL;
        hsc_instr_remove(instr);
      }
      instr = prev;
    }
  }
  int before = module->computation_count;
  HSC_TRY(hsc_module_sort(module));
  if (module->computation_count != before) cx->changed = true;
  return NULL;
}
