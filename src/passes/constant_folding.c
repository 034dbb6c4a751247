// constant_folding.c - evaluates instructions whose operands are all constants, with the reference evaluator.
//
// Legal for instructions without effects. Bounded: results of at most 4096 elements from operands of at most 65536, so that folding never
// costs more than running. A broadcast or iota stays: it is smaller as it is, and fuses; beside a constant array, a broadcast constant counts as one.
//
//   before   a = f32[] constant(2);  b = f32[] constant(3);  ROOT c = f32[] multiply(a, b)
//   after    ROOT c = f32[] constant(6)
//
// XLA: xla/hlo/transforms/simplifiers/hlo_constant_folding.h
#include "passes/passes_internal.h"

enum { MAX_RESULT_ELEMENTS = 4096, MAX_OPERAND_ELEMENTS = 65536, MAX_OPERANDS = 8 };

static bool foldable(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_PARAMETER: case HSC_OP_CONSTANT: case HSC_OP_BROADCAST: case HSC_OP_IOTA: case HSC_OP_TUPLE: case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_WHILE: case HSC_OP_CONDITIONAL: case HSC_OP_CUSTOM_CALL: case HSC_OP_OPT_BARRIER: case HSC_OP_AFTER_ALL: case HSC_OP_FUSION:
    case HSC_OP_CALL: case HSC_OP_BITCAST: case HSC_OP_COPY: case HSC_OP_RNG: case HSC_OP_RNG_BIT_GENERATOR:
      return false;
    default: break;
  }
  if (instr->operand_count == 0 || instr->operand_count > MAX_OPERANDS || instr->control_count) return false;
  if (hsc_op_traits(instr->op) & (HSC_TRAIT_EFFECT | HSC_TRAIT_COLLECTIVE | HSC_TRAIT_ASYNC)) return false;
  if (!hsc_shape_is_array(&instr->shape) || hsc_shape_elements(&instr->shape) > MAX_RESULT_ELEMENTS) return false;
  bool written = false, scalars = true;
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *operand = instr->operands[i];
    if (hsc_shape_elements(&operand->shape) > MAX_OPERAND_ELEMENTS) return false;
    if (operand->op == HSC_OP_BROADCAST && hsc_shape_elements(&operand->shape) <= MAX_RESULT_ELEMENTS) operand = operand->operands[0];
    if (operand->op != HSC_OP_CONSTANT || operand->attr.literal.value->elided) return false;
    written |= operand == instr->operands[i] && operand->shape.rank > 0;
    scalars &= instr->operands[i]->shape.rank == 0;
  }
  // Of broadcasts alone the result would be larger than they are, and algsimp computes before it broadcasts.
  return written || scalars;
}

// The value of an operand: a constant, or a broadcast of one.
static hsc_status *operand_value(const hsc_instr *operand, hsc_arena *arena, hsc_literal **out_value) {
  if (operand->op == HSC_OP_BROADCAST) return hsc_evaluate_instr(operand, (hsc_literal *[]){operand->operands[0]->attr.literal.value}, arena, out_value);
  *out_value = operand->attr.literal.value;
  return NULL;
}

hsc_status *hsc__pass_constant_folding(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION(module, computation) {
    HSC_FOR_EACH_INSTR_IN(computation, instr) {
      if (!foldable(instr)) continue;
      hsc_literal *operands[MAX_OPERANDS], *value = NULL;
      for (int i = 0; i < instr->operand_count; i++) HSC_TRY(operand_value(instr->operands[i], cx->scratch, &operands[i]));
      hsc_status *status = hsc_evaluate_instr(instr, operands, module->arena, &value);
      if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {   // what the evaluator cannot do stays as it is
        hsc_status_free(status);
        continue;
      }
      if (status) return hsc_status_note(status, "while: folding %s", instr->name);
      if (!hsc__pass_spend(cx)) return NULL;
      hsc_builder b;
      hsc_builder_at(&b, computation, instr);
      b.metadata = instr->metadata;
      hsc_instr *constant = hsc_build_constant(&b, value);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      constant->shape = instr->shape;
      HSC_TRY(hsc__replace(instr, constant));
    }
  }
  return NULL;
}
