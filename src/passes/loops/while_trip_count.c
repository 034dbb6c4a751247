// while_trip_count.c - writes the trip count of counting loops into their backend config, as XLA
// does, for the device and for readers.
//
// Adds a note only; linear in loops.
//
//   before   w = while(init), condition=c, body=b
//   after    w = while(init), condition=c, body=b,
//   backend_config={"known_trip_count":{"n":"3"},"known_induction_variable":{"tuple_index":"0"}}
//
// XLA: xla/hlo/transforms/while_loop_trip_count_annotator.h
#include "passes/loops/while_util.h"

hsc_status *hsc__pass_while_trip_count(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc__loop loop;
      if (instr->op != HSC_OP_WHILE || instr->backend_config || !hsc__loop_analyse(instr, &loop))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      instr->backend_config = hsc_arena_printf(
          module->arena,
          "{\"known_trip_count\":{\"n\":\"%lld\"},\"known_init_step\":{\"init\":\"%lld\",\"step\":"
          "\"%lld\"},\"known_induction_variable\":{\"tuple_index\":\"%lld\"}}",
          (long long)loop.trip_count, (long long)loop.init, (long long)loop.step,
          (long long)loop.tuple_index);
    }
  }
  return NULL;
}
