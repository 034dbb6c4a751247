// reduce_outputs.c - results of the program go, one place a result.
//
//   ROOT r = (f32[4], f32[4]) tuple(a, b)   ->   a
#include "transform/reduce/reduce_internal.h"

hsc_status *hsc__reduce_outputs(hsc__reducing *r) {
  hsc_instr *root = r->module->entry->root;
  if (root->op != HSC_OP_TUPLE || root->operand_count == 0)
    return NULL;
  hsc_instr **kept = HSC_NEW_ARRAY(r->module->arena, hsc_instr *, root->operand_count + 1);
  HSC_TRY(hsc_arena_status(r->module->arena));
  int count = 0;
  for (int i = 0; i < root->operand_count; i++)
    if (!hsc__reduce_here(r))
      kept[count++] = root->operands[i];
  if (!r->changed)
    return NULL;
  if (count == 0)  // one stays, and without its tuple
    kept[count++] = root->operands[0];
  hsc_builder b;
  hsc_builder_at(&b, r->module->entry, NULL);
  return hsc_builder_finish(&b, count == 1 ? kept[0] : hsc_build_tuple(&b, count, kept), NULL);
}
