// async_collectives.c - on several of our devices a collective is done when it ends: a pair of
// -start and -done becomes the plain collective.
//
//   before   s = (f32[4], f32[8]) all-gather-start(x), dimensions={0}
//      y = f32[8] all-gather-done(s)
//   after    y = f32[8] all-gather(x), dimensions={0}
//
// In the place of the -done, where its operands are known. A -start that anything else looks at
// stays, and is refused by name.
#include "cpu/thunks/lower.h"

static const struct {
  hsc_op start, done, plain;
} pairs[] = {
    {HSC_OP_ALL_REDUCE_START, HSC_OP_ALL_REDUCE_DONE, HSC_OP_ALL_REDUCE},
    {HSC_OP_ALL_GATHER_START, HSC_OP_ALL_GATHER_DONE, HSC_OP_ALL_GATHER},
    {HSC_OP_COLLECTIVE_PERMUTE_START, HSC_OP_COLLECTIVE_PERMUTE_DONE, HSC_OP_COLLECTIVE_PERMUTE},
};

static hsc_status *finish_pair(hsc_computation *computation, hsc_instr *done, hsc_op plain) {
  hsc_instr *start = done->operands[0];
  hsc_computation *same;
  hsc_builder b;
  if (start->user_count != 1 || start->control_successor_count || done->control_count)
    return NULL;
  if (plain == HSC_OP_COLLECTIVE_PERMUTE && start->operand_count != 1)
    return NULL;  // in place
  hsc_builder_at(&b, computation, done);
  hsc_instr *made = hsc_build_op(&b, plain, done->shape, &start->attr, start->operand_count,
                                 start->operands, start->called_count, start->called);
  made->metadata = start->metadata;
  HSC_TRY(hsc_builder_finish(&b, NULL, &same));
  HSC_TRY(hsc_instr_replace_uses(done, made));
  hsc_instr_remove(done);
  hsc_instr_remove(start);
  return NULL;
}

hsc_status *hsc__cpu_finish_collectives(hsc_module *module) {
  if (module->num_partitions < 2 && module->replica_count < 2)
    return NULL;
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    for (hsc_instr *instr = computation->first, *next; instr; instr = next) {
      next = instr->next;
      for (size_t i = 0; i < HSC_COUNT_OF(pairs); i++)
        if (instr->op == pairs[i].done && instr->operand_count == 1 &&
            instr->operands[0]->op == pairs[i].start) {
          HSC_TRY(finish_pair(computation, instr, pairs[i].plain));
          break;
        }
    }
  }
  return NULL;
}
