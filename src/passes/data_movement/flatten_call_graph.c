// flatten_call_graph.c - every body of a call, loop or branch gets one caller, so that passes may
// change it for that caller.
//
// Legal always; the cost is the size of the copies. Computations that are run element by element
// (reducers, comparators, fusions) stay shared. Repeated until no body has two callers: a copy
// calls what the original calls.
//
//   before   a = call(x), to_apply=f;  b = call(a), to_apply=f
//   after    a = call(x), to_apply=f;  b = call(a), to_apply=f.1
//
// XLA: xla/service/flatten_call_graph.h
#include "passes/manager/passes_internal.h"

static bool is_flow(hsc_op op) {
  return op == HSC_OP_CALL || op == HSC_OP_WHILE || op == HSC_OP_CONDITIONAL;
}

// One sweep; *out_copied says whether there may be more to do.
static hsc_status *sweep(hsc_module *module, hsc_pass_context *cx, bool *out_copied) {
  int computations = module->computation_count;
  *out_copied = false;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    computation->index = 0;
  for (int c = 0; c < computations; c++) {
    for (hsc_instr *instr = module->computations[c]->first; instr; instr = instr->next) {
      if (!is_flow(instr->op))
        continue;
      for (int i = 0; i < instr->called_count; i++) {
        if (instr->called[i]->index++ == 0)
          continue;
        if (!hsc__pass_spend(cx))
          return NULL;
        hsc_computation *copy = NULL;
        HSC_TRY(hsc_module_may_copy(module, instr->called[i], instr));
        HSC_TRY(hsc_computation_clone(module, instr->called[i], NULL, false, &copy));
        instr->called[i]->callers--;
        instr->called[i] = copy;
        copy->callers++;
        copy->index = 1;
        *out_copied = true;
      }
    }
  }
  return NULL;
}

hsc_status *hsc__pass_flatten_call_graph(hsc_module *module, hsc_pass_context *cx) {
  bool copied = true;
  bool any = false;
  while (copied && cx->fuel != 0 && cx->pass_fuel != 0) {
    HSC_TRY(sweep(module, cx, &copied));
    any |= copied;
  }
  return any ? hsc_module_sort(module) : NULL;
}
