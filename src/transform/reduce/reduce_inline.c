// reduce_inline.c - what is called takes the place of its caller: calls, fusions, each branch of a
// conditional, one trip of a loop.
//
//   x = f32[4] call(a), to_apply=f   ->   the instructions of f
#include "transform/reduce/reduce_internal.h"
#include "transform/transform_internal.h"

static hsc_status *inline_here(hsc_instr *instr,
                               hsc_computation *called,
                               hsc_instr *const *arguments) {
  hsc_instr *root = NULL;
  hsc_builder b;
  hsc_builder_at(&b, instr->parent, instr);
  HSC_TRY(hsc__transform_inline(&b, called, arguments, &root));
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  return hsc_instr_replace_uses(instr, root);
}

static hsc_status *inline_branch(hsc__reducing *r, hsc_instr *instr) {
  int chosen = -1;
  for (int i = 0; i < instr->called_count; i++)
    if (hsc__reduce_here(r))
      chosen = i;
  if (chosen < 0)
    return NULL;
  return inline_here(instr, instr->called[chosen], &instr->operands[1 + chosen]);
}

hsc_status *hsc__reduce_inline(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      switch (instr->op) {
        case HSC_OP_CALL:
        case HSC_OP_FUSION:
          if (instr->called_count == 1 && hsc__reduce_here(r))
            HSC_TRY(inline_here(instr, instr->called[0], instr->operands));
          break;
        case HSC_OP_WHILE:
          if (hsc__reduce_here(r))
            HSC_TRY(inline_here(instr, instr->called[1], instr->operands));
          break;
        case HSC_OP_CONDITIONAL:
          HSC_TRY(inline_branch(r, instr));
          break;
        default:
          break;
      }
    }
  return NULL;
}
