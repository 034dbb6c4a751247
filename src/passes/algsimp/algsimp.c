// algsimp.c - the algebraic simplifier: tries the rules of algsimp_<kind>.c on every instruction
// until one gives a replacement.
//
// One walk in program order; a replacement is looked at again in the next round of the
// simplification pipeline. A rule keeps shape and type and the value up to what its comment says.
//
//   before   z = f32[4] broadcast(zero);  ROOT a = f32[4] add(x, z)
//   after    ROOT is x
//
// XLA: xla/hlo/transforms/simplifiers/algebraic_simplifier.h
#include "passes/algsimp/algsimp.h"

enum { MOST_RUNS = 50 };  // as in XLA

static hsc__rule (*const rule_sets[])(hsc_op op) = {
    hsc__algsimp_arithmetic_rule, hsc__algsimp_constants_rule, hsc__algsimp_movement_rule,
    hsc__algsimp_slices_rule,     hsc__algsimp_window_rule,    hsc__algsimp_folds_rule,
    hsc__algsimp_shapes_rule,     hsc__algsimp_parts_rule,     hsc__algsimp_reductions_rule};

static hsc_status *walk(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->user_count == 0 && computation->root != instr)
        continue;  // dce's
      if (instr->control_count)
        continue;
      if (cx->fuel == 0 || cx->pass_fuel == 0)
        continue;
      hsc_builder b;
      hsc_builder_at(&b, computation, instr);
      b.metadata = instr->metadata;
      hsc_instr *replacement = hsc__algsimp_optional(&cx->algsimp, &b, instr);
      bool allowed = hsc__algsimp_allowed(&cx->algsimp, instr);
      for (size_t i = 0; i < HSC_COUNT_OF(rule_sets) && !replacement && allowed; i++) {
        hsc__rule rule = rule_sets[i](instr->op);
        if (rule)
          replacement = rule(&b, instr);
      }
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      if (!replacement || replacement == instr ||
          !hsc_shape_equal(&replacement->shape, &instr->shape))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(hsc__replace(instr, replacement));
    }
  }
  return NULL;
}

hsc_status *hsc__pass_algsimp(hsc_module *module, hsc_pass_context *cx) {
  for (int run = 0; run < (cx->algsimp.run_to_fixed_point ? MOST_RUNS : 1); run++) {
    int64_t before = cx->rewrites;
    HSC_TRY(walk(module, cx));
    if (cx->rewrites == before)
      break;
  }
  return NULL;
}
