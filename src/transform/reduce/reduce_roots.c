// reduce_roots.c - a result gives way to an operand of the instruction that makes it.
//
//   ROOT r = f32[4] add(a, b)   ->   ROOT a
#include "transform/reduce/reduce_internal.h"

// The operand that takes the place of a result; the last one that is chosen.
static hsc_instr *replacement(hsc__reducing *r, hsc_instr *result) {
  hsc_instr *replacement = result;
  for (int i = 0; i < result->operand_count; i++)
    if (hsc_shape_is_array(&result->operands[i]->shape) && hsc__reduce_here(r))
      replacement = result->operands[i];
  return replacement;
}

hsc_status *hsc__reduce_roots(hsc__reducing *r) {
  hsc_computation *entry = r->module->entry;
  hsc_instr *root = entry->root;
  if (root->op != HSC_OP_TUPLE) {
    entry->root = replacement(r, root);
    return NULL;
  }
  hsc_instr **results = HSC_NEW_ARRAY(r->module->arena, hsc_instr *, root->operand_count + 1);
  HSC_TRY(hsc_arena_status(r->module->arena));
  for (int i = 0; i < root->operand_count; i++)
    results[i] = replacement(r, root->operands[i]);
  if (!r->changed)
    return NULL;
  hsc_builder b;
  hsc_builder_at(&b, entry, NULL);
  return hsc_builder_finish(&b, hsc_build_tuple(&b, root->operand_count, results), NULL);
}
