// comparison_expander.c - comparisons of floats in total order as comparisons of signed integers.
//
// The bits of a float, with all but the sign flipped where it is negative, are in order as
// integers: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN. Legal always. The device compares bits
// that way itself, so it runs on request. One walk.
//
//   before   ROOT c = pred[4] compare(f32[4] x, f32[4] y), direction=LT, type=TOTALORDER
//   after    a = s32[4] bitcast-convert(x);  a' = select(a < 0, a xor 0x7fffffff, a) ...;  ROOT c =
//            compare(a', b'), direction=LT
//
// XLA: xla/hlo/transforms/expanders/comparison_expander.h
#include "passes/manager/passes_internal.h"

static hsc_type signed_of(hsc_type type) {
  switch (hsc_type_bits(type)) {
    case 8:
      return HSC_TYPE_S8;
    case 16:
      return HSC_TYPE_S16;
    case 32:
      return HSC_TYPE_S32;
    case 64:
      return HSC_TYPE_S64;
    default:
      return HSC_TYPE_INVALID;
  }
}

static bool matches(const hsc_instr *instr) {
  return instr->op == HSC_OP_COMPARE && instr->attr.compare.type == HSC_COMPARE_TOTALORDER &&
         hsc_type_is_float(instr->operands[0]->shape.type) &&
         hsc_type_bits(instr->operands[0]->shape.type) >= 16;
}

static hsc_instr *ordered(hsc_builder *b, hsc_instr *x) {
  hsc_type type = signed_of(x->shape.type);
  hsc_shape shape = hsc_shape_with_type(hsc_shape_without_layout(b->module->arena, x->shape), type);
  hsc_instr *bits = hsc_build(b, HSC_OP_BITCAST_CONVERT, shape, 1, &x);
  hsc_instr *zero = hsc__uniform_constant(b, 0, bits);
  hsc_instr *ones = hsc__uniform_constant(b, -1, bits);
  hsc_instr *one = hsc__uniform_constant(b, 1, bits);
  hsc_instr *flip = hsc_build_binary(b, HSC_OP_XOR, bits,
                                     hsc_build_binary(b, HSC_OP_SHIFT_RIGHT_LOGICAL, ones, one));
  return hsc_build_select(b, hsc_build_compare(b, HSC_LT, bits, zero), flip, bits);
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = ordered(b, instr->operands[0]);
  hsc_instr *y = ordered(b, instr->operands[1]);
  return hsc_build_compare(b, instr->attr.compare.direction, x, y);
}

hsc_status *hsc__pass_comparison_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
