// tuple_simplifier.c - takes tuples out of the way.
//
// Always legal. One walk, linear in operands.
//
//   before   t = (f32[4], f32[8]) tuple(a, b);  x = f32[4] get-tuple-element(t), index=0
//   after    x is a
//   before   u = tuple(get-tuple-element(t, 0), ..., get-tuple-element(t, n-1)), all elements of t
//            in order
//   after    u is t
//
// XLA: xla/hlo/transforms/simplifiers/tuple_simplifier.h
#include "passes/manager/passes_internal.h"

static hsc_instr *whole_tuple(hsc_instr *tuple) {
  hsc_instr *source = NULL;
  for (int i = 0; i < tuple->operand_count; i++) {
    hsc_instr *element = tuple->operands[i];
    if (element->op != HSC_OP_GET_TUPLE_ELEMENT || element->attr.index.value != i)
      return NULL;
    if (source && element->operands[0] != source)
      return NULL;
    source = element->operands[0];
  }
  return source && hsc_shape_equal_layout(&source->shape, &tuple->shape) ? source : NULL;
}

hsc_status *hsc__pass_tuple_simplifier(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_instr *replacement = NULL;
      if (instr->op == HSC_OP_GET_TUPLE_ELEMENT && instr->operands[0]->op == HSC_OP_TUPLE)
        replacement = instr->operands[0]->operands[instr->attr.index.value];
      // A root tuple is a result: rebuilding it from a parameter or a while is a matter of the
      // result's buffers, so it stays.
      if (instr->op == HSC_OP_TUPLE && computation->root != instr)
        replacement = whole_tuple(instr);
      if (!replacement)
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(hsc__replace(instr, replacement));
    }
  }
  return NULL;
}
