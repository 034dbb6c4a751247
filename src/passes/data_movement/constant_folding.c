// constant_folding.c - evaluates instructions whose operands are all constants, with the reference
// evaluator.
//
// Legal for instructions without effects. At least one operand is a constant, the others are
// constants or broadcasts of one. A broadcast or iota stays: it is smaller as it is, and fuses; so
// does a padded broadcast. Bounded by elements, as in XLA, and by the work that one run of the pass
// may do, about a second of the evaluator's: counted, not timed, so that a program is always
// compiled to the same one.
//
//   before   a = f32[] constant(2);  b = f32[] constant(3);  ROOT c = f32[] multiply(a, b)
//   after    ROOT c = f32[] constant(6)
//
// XLA: xla/hlo/transforms/simplifiers/hlo_constant_folding.h
#include "passes/manager/passes_internal.h"

enum { MAX_OPERANDS = 8, MAX_ELEMENTS = 45 * 1000 * 1000 };
static const double MAX_WORK = 5e7;  // of one run: about a third of a second

static const hsc_instr *constant_behind(const hsc_instr *operand) {
  if (operand->op == HSC_OP_BROADCAST)
    operand = operand->operands[0];
  return operand->op == HSC_OP_CONSTANT && !operand->attr.literal.value->elided ? operand : NULL;
}

// What has no value of its own, what is small already (a constant, iota, broadcast), what other
// passes look for, and what is not the same each time.
static const bool never_folded[HSC_OP_COUNT] = {
    [HSC_OP_AFTER_ALL] = true,
    [HSC_OP_BITCAST] = true,
    [HSC_OP_BROADCAST] = true,
    [HSC_OP_CALL] = true,
    [HSC_OP_CONDITIONAL] = true,
    [HSC_OP_CONSTANT] = true,
    [HSC_OP_COPY] = true,
    [HSC_OP_CUSTOM_CALL] = true,
    [HSC_OP_FFT] = true,
    [HSC_OP_FUSION] = true,
    [HSC_OP_GET_TUPLE_ELEMENT] = true,
    [HSC_OP_IOTA] = true,
    [HSC_OP_OPT_BARRIER] = true,
    [HSC_OP_PARAMETER] = true,
    [HSC_OP_RNG] = true,
    [HSC_OP_RNG_BIT_GENERATOR] = true,
    [HSC_OP_TUPLE] = true,
    [HSC_OP_WHILE] = true,
};

static bool foldable(const hsc_instr *instr) {
  if (never_folded[instr->op] || instr->operand_count == 0 || instr->operand_count > MAX_OPERANDS ||
      instr->control_count || !hsc_shape_is_array(&instr->shape))
    return false;
  if (hsc_op_traits(instr->op) & (HSC_TRAIT_EFFECT | HSC_TRAIT_COLLECTIVE | HSC_TRAIT_ASYNC))
    return false;
  if (instr->op == HSC_OP_PAD && instr->operands[0]->op == HSC_OP_BROADCAST)
    return false;
  bool any = false;
  for (int i = 0; i < instr->operand_count; i++) {
    if (!constant_behind(instr->operands[i]))
      return false;
    any |= instr->operands[i]->op == HSC_OP_CONSTANT;
  }
  return any;  // of broadcasts alone algsimp makes a broadcast
}

// What the evaluator would do: elements read and written, and operations; more than MAX_WORK for
// arrays that are too large.
static double work_of(const hsc_instr *instr) {
  double read = 0;
  double written = (double)hsc_shape_elements(&instr->shape);
  for (int i = 0; i < instr->operand_count; i++)
    read += (double)hsc_shape_elements(&instr->operands[i]->shape);
  if (read > MAX_ELEMENTS || written > MAX_ELEMENTS)
    return 2 * MAX_WORK;
  hsc_cost cost;
  hsc_instr_cost(instr, &cost);
  return read + written + cost.flops + cost.transcendentals;
}

// The value of an operand: a constant, or a broadcast of one.
static hsc_status *operand_value(const hsc_instr *operand,
                                 hsc_arena *arena,
                                 hsc_literal **out_value) {
  if (operand->op == HSC_OP_BROADCAST)
    return hsc_evaluate_instr(operand, (hsc_literal *[]){operand->operands[0]->attr.literal.value},
                              arena, out_value);
  *out_value = operand->attr.literal.value;
  return NULL;
}

hsc_status *hsc__pass_constant_folding(hsc_module *module, hsc_pass_context *cx) {
  double left = MAX_WORK;
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!foldable(instr))
        continue;
      double work = work_of(instr);
      if (work > left)
        continue;
      left -= work;
      hsc_literal *operands[MAX_OPERANDS];
      hsc_literal *value = NULL;
      for (int i = 0; i < instr->operand_count; i++)
        HSC_TRY(operand_value(instr->operands[i], cx->scratch, &operands[i]));
      hsc_status *status = hsc_evaluate_instr(instr, operands, module->arena, &value);
      // what the evaluator cannot do stays as it is
      if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
        hsc_status_free(status);
        continue;
      }
      if (status)
        return hsc_status_note(status, "while: folding %s", instr->name);
      if (!hsc__pass_spend(cx))
        return NULL;
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
