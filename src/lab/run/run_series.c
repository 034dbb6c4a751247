// run_series.c - blocks of timed runs put together, and why some of them were slow.
#include "base/core/clock.h"
#include "base/core/memory.h"
#include "lab/run/run_series.h"

#include <math.h>

#include "lab/run/json_tree.h"

static const char *const names[] = {"run_ns", "enqueue_ns", "wait_ns", "page_faults_count",
                                    "involuntary_switches_count"};

void hsc_run_series_init(hsc_run_series *series,
                         const hsc_sampling_options *options,
                         double once_s) {
  hsc_sampling_options o = *options;
  o.lower = "run";
  o.upper = "block";
  *series = (hsc_run_series){.blocks = json_array()};
  hsc_sampling_init(&series->sampling, &o, once_s);
}

void hsc_run_series_deinit(hsc_run_series *series) {
  hsc_sampling_deinit(&series->sampling);
  json_decref(series->blocks);
  *series = (hsc_run_series){0};
}

hsc_status *hsc_run_series_add(hsc_run_series *series, json_t *answer, double spent_s) {
  size_t n = 0;
  double *x = hsc_json_doubles(hsc_json_path(answer, "series", "run_ns", NULL), &n);
  for (size_t i = 0; i < n; i++)
    x[i] /= 1e9;
  hsc_status *status = n ? hsc_sampling_add(&series->sampling, x, n, spent_s)
                         : HSC_ERR(INVALID_ARGUMENT, "a block without runs");
  hsc_free(x);
  if (!status && json_array_append(series->blocks, answer))
    status = hsc_status_out_of_memory();
  return status;
}

hsc_status *hsc_run_series_block(hsc_run_series *series,
                                 hsc_lab_worker *worker,
                                 const json_t *request,
                                 int64_t limit_ns,
                                 bool spread,
                                 hsc_answer *out_answer) {
  const hsc_sampling *sampling = &series->sampling;
  json_t *block = json_deep_copy(request);
  if (!block)
    return hsc_status_out_of_memory();
  // The first block shows how the program warms up.
  bool warm = sampling->upper_count > 0 && !(sampling->once_s > (spread ? 0.1 : 0.005));
  json_object_set_new(block, "records", json_integer(0));
  json_object_set_new(block, "series", json_integer((json_int_t)hsc_sampling_next(sampling)));
  json_object_set_new(block, "warmups", json_integer(warm));
  json_object_set_new(block, "inputs", json_string("keep"));
  json_object_set_new(block, "fetch", json_false());
  int64_t start_ns = hsc_now_ns();
  hsc_status *status = hsc_lab_worker_call(worker, block, limit_ns, out_answer);
  json_decref(block);
  if (!status && out_answer->outcome == HSC_OUTCOME_OK)
    status = hsc_run_series_add(series, out_answer->body, (double)(hsc_now_ns() - start_ns) / 1e9);
  return status;
}

void hsc_run_series_take(hsc_run_series *series, json_t *answer) {
  hsc_run_series_init(series, &(hsc_sampling_options){.exact = 1}, NAN);
  hsc_status_free(hsc_run_series_add(series, answer, 0));
}

json_t *hsc_run_series_answer(const hsc_run_series *series) {
  json_t *all = json_object();
  json_t *numbers = json_array();
  json_t *block;
  json_t *value;
  double throttled = 0;
  double waited = 0;
  size_t b, i;
  for (size_t k = 0; k < HSC_COUNT_OF(names); k++) {
    json_t *list = json_array();
    json_array_foreach (series->blocks, b, block)
      json_array_foreach (hsc_json_path(block, "series", names[k], NULL), i, value)
        json_array_append(list, value);
    json_object_set_new(all, names[k], list);
  }
  json_array_foreach (series->blocks, b, block) {
    size_t runs = json_array_size(hsc_json_path(block, "series", "run_ns", NULL));
    double t = hsc_json_number(json_object_get(block, "throttled_ns"));
    double w = hsc_json_number(json_object_get(block, "waited_ns"));
    for (i = 0; i < runs; i++)
      json_array_append_new(numbers, json_integer((json_int_t)b));
    throttled += isfinite(t) ? t : 0;
    waited += isfinite(w) ? w : 0;
  }
  json_object_set_new(all, "block_count", numbers);
  return json_pack("{s:o, s:I, s:I}", "series", all, "throttled_ns", (json_int_t)throttled,
                   "waited_ns", (json_int_t)waited);
}

// What was counted for this very run; else what its block lost to others.
static char *cause_of(hsc_arena *arena, json_t *block, size_t i) {
  json_t *series = json_object_get(block, "series");
  double switches =
      hsc_json_number(json_array_get(json_object_get(series, "involuntary_switches_count"), i));
  double faults = hsc_json_number(json_array_get(json_object_get(series, "page_faults_count"), i));
  double throttled = hsc_json_number(json_object_get(block, "throttled_ns"));
  double waited = hsc_json_number(json_object_get(block, "waited_ns"));
  if (switches > 0)
    return hsc_arena_printf(arena, "%.0f involuntary context switch%s", switches,
                            switches > 1 ? "es" : "");
  if (faults > 0)
    return hsc_arena_printf(arena, "%.0f page fault%s", faults, faults > 1 ? "s" : "");
  if (throttled > 0)
    return hsc_arena_printf(arena,
                            "its block was throttled for %.3g ms: the processor quota was used up",
                            throttled / 1e6);
  double memory = hsc_json_number(json_object_get(block, "memory_waited_ns"));
  if (memory > 0)
    return hsc_arena_printf(arena,
                            "memory pressure: %.3g ms of its block the machine reclaimed or "
                            "swapped memory",
                            memory / 1e6);
  if (waited > 0)
    return hsc_arena_printf(arena, "pressure: %.3g ms of its block somebody waited for a processor",
                            waited / 1e6);
  return NULL;
}

hsc_status *hsc_run_series_statistics(const hsc_run_series *series,
                                      const char *name,
                                      uint64_t seed,
                                      json_t **out_row) {
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  const char **causes = HSC_NEW_ARRAY(arena, const char *, series->sampling.count + 1);
  hsc_status *status = hsc_arena_status(arena);
  for (size_t b = 0, at = 0; b < series->sampling.upper_count && !status; b++)
    for (size_t i = 0; i < series->sampling.sizes[b]; i++)
      causes[at++] = cause_of(arena, json_array_get(series->blocks, b), i);
  if (!status)
    status = hsc_arena_status(arena);
  if (!status)
    status = hsc_sampling_statistics(&series->sampling, name, causes, true, seed, out_row);
  hsc_arena_destroy(arena);
  return status;
}
