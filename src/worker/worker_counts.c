// worker_counts.c - what programs compute, by operation, in an answer.
#include "worker/worker_counts.h"

static void write_cost(hsc_json *answer, const hsc_cost *cost) {
  hsc_json_kv_double(answer, "flops", cost->flops);
  hsc_json_kv_double(answer, "bytes", cost->bytes_read + cost->bytes_written);
  hsc_json_kv_double(answer, "transcendentals", cost->transcendentals);
  if (cost->uncounted > 0)
    hsc_json_kv_double(answer, "uncounted_calls", cost->uncounted);
}

hsc_status *hsc_write_uncounted(hsc_json *answer, const hsc_module *module) {
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  const char *targets = hsc_uncounted_targets(module, arena);
  hsc_status *status = hsc_arena_status(arena);
  if (targets && !status)
    hsc_json_kv_string(answer, "uncounted", targets);
  hsc_arena_destroy(arena);
  return status;
}

void hsc_write_cost(hsc_json *answer, const char *key, const hsc_cost *cost) {
  hsc_json_key(answer, key);
  hsc_json_begin_object(answer);
  write_cost(answer, cost);
  hsc_json_end_object(answer);
}

void hsc_write_op_costs(hsc_json *answer, const char *key, const hsc_op_costs *costs) {
  hsc_json_key(answer, key);
  hsc_json_begin_object(answer);
  for (int op = 0; op < HSC_OP_COUNT; op++) {
    const struct hsc_op_cost *row = &costs->of[op];
    double all = row->cost.flops + row->cost.transcendentals + row->cost.bytes_read +
                 row->cost.bytes_written + row->cost.uncounted;
    if (!(all > 0))
      continue;
    hsc_json_key(answer, hsc_op_text((hsc_op)op));
    hsc_json_begin_object(answer);
    hsc_json_kv_double(answer, "runs", row->runs);
    write_cost(answer, &row->cost);
    hsc_json_kv_bool(answer, "guessed", row->guessed);
    hsc_json_end_object(answer);
  }
  hsc_json_end_object(answer);
}

hsc_status *hsc_write_module_count(hsc_json *answer,
                                   const char *key,
                                   const hsc_module *module,
                                   bool open_fusions) {
  hsc_count count;
  hsc_cost once;
  hsc_op_costs *by_op = hsc_alloc(sizeof *by_op);
  if (!by_op)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_module_count_by_op(module, open_fusions, &count, by_op);
  if (!status) {
    hsc_module_cost(module, &once);
    hsc_json_key(answer, key);
    hsc_json_begin_object(answer);
    write_cost(answer, &count.cost);
    status = hsc_write_uncounted(answer, module);
    hsc_write_cost(answer, "loops_once", &once);
    hsc_json_kv_int(answer, "guessed_loops", count.guessed_loops);
    hsc_json_kv_int(answer, "guessed_branches", count.guessed_branches);
    hsc_json_kv_string(answer, "first_guess", count.first_guess ? count.first_guess->name : NULL);
    hsc_write_op_costs(answer, "by_op", by_op);
    hsc_json_end_object(answer);
  }
  hsc_free(by_op);
  return status;
}
