// simplify_fp_conversions.c - a chain of conversions between floats becomes one, from its first
// type to its last.
//
// Drops roundings on the way, so results may be more exact than the program asked for: what XLA
// does where excess precision is allowed. XLA:CPU keeps the chains of a program (jaxlib 0.10), so
// here it runs on request. One walk.
//
//   before   a = bf16[4] convert(f32[4] x);  ROOT b = f32[4] convert(a)
//   after    ROOT is x
//
// XLA: xla/service/simplify_fp_conversions.h
#include "passes/manager/passes_internal.h"

static bool is_float_convert(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONVERT && hsc_type_is_float(instr->shape.type) &&
         hsc_type_is_float(instr->operands[0]->shape.type);
}

static bool matches(const hsc_instr *instr) {
  return is_float_convert(instr) && is_float_convert(instr->operands[0]);
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *source = instr;
  while (is_float_convert(source))
    source = source->operands[0];
  return source->shape.type == instr->shape.type ? source
                                                 : hsc_build_convert(b, instr->shape.type, source);
}

hsc_status *hsc__pass_simplify_fp_conversions(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
