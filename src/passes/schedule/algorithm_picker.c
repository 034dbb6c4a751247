// algorithm_picker.c - what the two pickers share: asking the device for an algorithm and writing
// its answer down.
#include "passes/manager/passes_internal.h"

hsc_status *hsc__pick_algorithms(hsc_module *module, hsc_pass_context *cx, hsc_op op) {
  if (!cx->target || !cx->target->pick_algorithm)
    return NULL;
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->op != op || instr->backend_config)
        continue;
      if (cx->fuel == 0)
        return NULL;
      int64_t algorithm = -1;
      const char *name = "";
      HSC_TRY(cx->target->pick_algorithm(cx->target->context, instr, &algorithm, &name));
      if (algorithm < 0)
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      instr->backend_config =
          hsc_arena_printf(module->arena, "{\"algorithm\":{\"algo_id\":\"%lld\",\"name\":\"%s\"}}",
                           (long long)algorithm, name);
    }
  }
  return hsc_arena_status(module->arena);
}

static hsc_status *pick_first(void *context,
                              const hsc_instr *instr,
                              int64_t *out_algorithm,
                              const char **out_name) {
  *out_algorithm = 0;
  *out_name = instr->op == HSC_OP_DOT ? "own" : "rows";
  return NULL;
}
const hsc_pass_target hsc_pass_example_target = {.pick_algorithm = pick_first};
