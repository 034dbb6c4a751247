// optimization_barrier_expander.c - once nothing is moved any more, optimization barriers have done
// their work and go.
//
// Legal after the passes that a barrier holds back; a barrier inside a program that is only looked
// at would be lost, so it is late in the pipeline. One walk.
//
//   before   b = f32[8] opt-barrier(x);  ROOT r = negate(b)
//   after    ROOT r = negate(x)
//
// XLA: xla/hlo/transforms/expanders/optimization_barrier_expander.h
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  return instr->op == HSC_OP_OPT_BARRIER && instr->operand_count == 1 &&
         hsc_shape_equal(&instr->shape, &instr->operands[0]->shape);
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->operands[0];
}

hsc_status *hsc__pass_optimization_barrier_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
