// pass_embedded.c - computations that belong to one instruction: bodies of fusions, reducers.
#include "passes/manager/passes_internal.h"

void hsc__mark_embedded(hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    computation->index = 0;
  HSC_FOR_EACH_COMPUTATION (module, caller) {
    for (hsc_instr *instr = caller->first; instr; instr = instr->next) {
      bool flow =
          instr->op == HSC_OP_WHILE || instr->op == HSC_OP_CONDITIONAL || instr->op == HSC_OP_CALL;
      for (int i = 0; i < instr->called_count; i++)
        if (!flow)
          instr->called[i]->index++;
    }
  }
}

bool hsc__computation_is_embedded(const hsc_computation *computation) {
  return computation->index > 0;
}
