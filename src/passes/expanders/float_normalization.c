// float_normalization.c - arithmetic of a narrow float type in f32: what the passes
// float-normalization-bf16 and -f16 do.
#include "passes/expanders/float_normalization.h"

enum { MAX_OPERANDS = 4 };

static bool is_wanted(const hsc_instr *instr, hsc_type type) {
  if (instr->op == HSC_OP_REDUCE) {
    hsc_op op;
    return instr->operand_count == 2 && instr->shape.type == type &&
           hsc_is_simple_reducer(instr->called[0], &op);
  }
  uint32_t traits = hsc_op_traits(instr->op);
  if (!(traits & HSC_TRAIT_ELEMENTWISE) ||
      (traits & (HSC_TRAIT_MOVES | HSC_TRAIT_EFFECT | HSC_TRAIT_CALLS)) ||
      instr->operand_count == 0 || instr->operand_count > MAX_OPERANDS)
    return false;
  switch (instr->op) {
    // Exact in the narrow type, or about its bits.
    case HSC_OP_CONVERT:
    case HSC_OP_STOCHASTIC_CONVERT:
    case HSC_OP_REDUCE_PRECISION:
    case HSC_OP_NEGATE:
    case HSC_OP_ABS:
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
    case HSC_OP_COPY:
    case HSC_OP_COMPARE:
    case HSC_OP_IS_FINITE:
    case HSC_OP_SIGN:
    case HSC_OP_FLOOR:
    case HSC_OP_CEIL:
    case HSC_OP_ROUND_AFZ:
    case HSC_OP_ROUND_EVEN:
      return false;
    default:
      break;
  }
  for (int i = 0; i < instr->operand_count; i++)
    if (instr->operands[i]->shape.type != type)
      return false;
  return instr->shape.type == type;
}

hsc_status *hsc__normalize_floats(hsc_module *module, hsc_pass_context *cx, hsc_type type) {
  // Functions that operations run element by element keep their types.
  hsc__mark_embedded(module);
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    if (hsc__computation_is_embedded(computation))
      continue;
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->control_count || instr->control_successor_count || !is_wanted(instr, type))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_builder b;
      hsc_instr *operands[MAX_OPERANDS], *value;
      hsc_builder_at(&b, computation, instr);
      b.metadata = instr->metadata;
      for (int i = 0; i < instr->operand_count; i++)
        operands[i] = hsc_build_convert(&b, HSC_TYPE_F32, instr->operands[i]);
      if (instr->op == HSC_OP_REDUCE) {
        hsc_computation *reducer =
            hsc_module_scalar_reducer(module, instr->called[0]->root->op, HSC_TYPE_F32);
        value = hsc_build_reduce(&b, operands[0], operands[1], instr->attr.dims.dims, reducer);
      } else {
        value = hsc_build_clone(&b, instr, operands);
        if (!b.status)
          value->shape = hsc_shape_with_type(instr->shape, HSC_TYPE_F32);
      }
      value = hsc_build_convert(&b, type, value);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      HSC_TRY(hsc__replace(instr, value));
    }
  }
  return NULL;
}
