// reduce_parameters.c - instructions of the entry computation become parameters, which get the
// values that the instructions had.
//
//   x = f32[4] exponential(a), ROOT r = f32[4] add(x, x)   ->   ROOT r = f32[4] add(p0, p0)
#include "transform/reduce/reduce_internal.h"

hsc_status *hsc__reduce_parameters(hsc__reducing *r) {
  hsc_computation *entry = r->module->entry;
  HSC_FOR_EACH_INSTR_IN (entry, instr) {
    if (!hsc_shape_is_array(&instr->shape) || instr->operand_count == 0 || instr == entry->root ||
        instr->user_count == 0 || instr->shape.dynamic)
      continue;
    if (hsc__reduce_here(r))
      HSC_TRY(hsc__reduce_by_parameter(r, instr));
  }
  return NULL;
}
