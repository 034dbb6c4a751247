// sharding_remover.c - with one partition, marks of sharding are copies: custom calls Sharding,
// SPMDFullToShardShape, SPMDShardToFullShape.
//
// Legal when the module has one partition and operand and result have the same shape. One walk.
//
//   before   s = f32[8] custom-call(x), custom_call_target="Sharding", sharding={replicated};  ROOT
//            r = negate(s)
//   after    ROOT r = negate(x)
//
// XLA: xla/service/sharding_remover.h
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  const char *target = instr->op == HSC_OP_CUSTOM_CALL ? instr->attr.custom.target : NULL;
  if (!target || instr->operand_count != 1 || instr->parent->module->num_partitions > 1)
    return false;
  if (!hsc_shape_equal(&instr->operands[0]->shape, &instr->shape))
    return false;
  return !strcmp(target, "Sharding") || !strcmp(target, "SPMDFullToShardShape") ||
         !strcmp(target, "SPMDShardToFullShape");
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->operands[0];
}

hsc_status *hsc__pass_sharding_remover(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
