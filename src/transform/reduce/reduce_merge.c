// reduce_merge.c - instructions give way to an earlier one of the same shape: constants and
// parameters always, in a small computation any.
//
//   zero = s32[] constant(0), one = s32[] constant(1)   ->   zero alone
#include "transform/reduce/reduce_internal.h"

enum { SMALL_COMPUTATION = 24 };

static bool is_leaf(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONSTANT || instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_IOTA;
}

// Earlier instructions that may stand for `instr`: one of the leaves, or any.
static hsc_instr *earlier(hsc__reducing *r, hsc_instr *instr) {
  hsc_computation *computation = instr->parent;
  bool small = computation->instr_count <= SMALL_COMPUTATION;
  for (hsc_instr *replacement = computation->first; replacement && replacement != instr;
       replacement = replacement->next) {
    if (!hsc_shape_equal(&replacement->shape, &instr->shape) || !(small || is_leaf(replacement)))
      continue;
    if (hsc__reduce_here(r))
      return replacement;
    if (!small)
      return NULL;
  }
  return NULL;
}

hsc_status *hsc__reduce_merge(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation) {
    bool small = computation->instr_count <= SMALL_COMPUTATION;
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      bool used = instr->user_count + (instr == computation->root) > 0;
      if (!used || !hsc_shape_is_array(&instr->shape) || !(small || is_leaf(instr)))
        continue;
      hsc_instr *replacement = earlier(r, instr);
      if (replacement)
        HSC_TRY(hsc_instr_replace_uses(instr, replacement));
    }
  }
  return NULL;
}
