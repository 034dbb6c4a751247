// reduce_around.c - one instruction of the entry computation and what it is made of, up to a
// distance; what lies beyond becomes parameters.
#include "transform/reduce/reduce_internal.h"

// The last instruction that computes: of a program cut at its end, the one that brings the symptom.
static hsc_instr *last_that_computes(const hsc_computation *entry) {
  hsc_instr *found = NULL;
  for (hsc_instr *instr = entry->first; instr; instr = instr->next)
    if (instr->operand_count > 0 && instr->op != HSC_OP_TUPLE &&
        instr->op != HSC_OP_GET_TUPLE_ELEMENT && hsc_shape_is_array(&instr->shape))
      found = instr;
  return found;
}

// Writes into `index` how many uses lie between an instruction and `target`; -1 = it is not used
// for it. Users come after what they use.
static void measure_distance(hsc_computation *entry, hsc_instr *target) {
  for (hsc_instr *instr = entry->first; instr; instr = instr->next)
    instr->index = -1;
  target->index = 0;
  for (hsc_instr *instr = target; instr; instr = instr->prev)
    for (int k = 0; k < instr->operand_count && instr->index >= 0; k++) {
      hsc_instr *operand = instr->operands[k];
      // tuples are passed through: only arrays can be given as values
      int32_t next = instr->index + hsc_shape_is_array(&instr->shape);
      if (operand->index < 0 || next < operand->index)
        operand->index = next;
    }
}

hsc_status *hsc_reduce_around_last(const hsc_module *module,
                                   int64_t distance,
                                   hsc_reduced *out_reduced) {
  hsc__reducing r = {.changed = true};
  hsc_builder b;
  *out_reduced = (hsc_reduced){0};
  HSC_TRY(hsc__reduce_begin(module, &r));
  hsc_instr *target = last_that_computes(r.module->entry);
  if (!target) {
    r.changed = false;
    return hsc__reduce_end(&r, NULL, out_reduced);
  }
  measure_distance(r.module->entry, target);
  hsc_builder_at(&b, r.module->entry, NULL);
  hsc_status *status = hsc_builder_finish(&b, target, NULL);
  for (hsc_instr *instr = target->prev; instr && !status; instr = instr->prev)
    if (instr->index > distance && hsc_shape_is_array(&instr->shape) &&
        instr->op != HSC_OP_PARAMETER && instr->op != HSC_OP_CONSTANT)
      status = hsc__reduce_by_parameter(&r, instr);
  return hsc__reduce_end(&r, status, out_reduced);
}
