// logistic_expander.c - logistic(x) as 1 / (1 + exp(-x)).
//
// Legal always, to the last bits; narrow floats go by f32 and are rounded once. The device has a
// kernel for the whole, so it runs on request. One walk.
//
//   before   ROOT y = f32[64] logistic(x)
//   after    ROOT y = f32[64] divide(1, add(1, exponential(negate(x))))
//
// XLA: xla/hlo/transforms/expanders/logistic_expander.h
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  return instr->op == HSC_OP_LOGISTIC;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_type type = instr->shape.type;
  bool narrow = hsc_type_is_float(type) && hsc_type_bits(type) < 32;
  hsc_instr *x =
      narrow ? hsc_build_convert(b, HSC_TYPE_F32, instr->operands[0]) : instr->operands[0];
  hsc_instr *one = hsc__uniform_constant(b, 1, x);
  hsc_instr *e = hsc_build_unary(b, HSC_OP_EXP, hsc_build_unary(b, HSC_OP_NEGATE, x));
  hsc_instr *y = hsc_build_binary(b, HSC_OP_DIVIDE, one, hsc_build_binary(b, HSC_OP_ADD, one, e));
  return narrow ? hsc_build_convert(b, type, y) : y;
}

hsc_status *hsc__pass_logistic_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
