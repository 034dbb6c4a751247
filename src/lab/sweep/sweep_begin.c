// sweep_begin.c - what a run of a sweep begins with, in one process or as a rank of several: which
// tasks are still to be done, and the store that gets a copy of what is done.
#include "lab/sweep/sweep_internal.h"

#include "lab/store/store.h"

// ---- which tasks, and whether they may join what is there ---------------------------------------

static hsc_status *check_processes(const json_t *identity, const hsc_sweep_results *results) {
  hsc_bytes words = {0};
  hsc_status *status = NULL;
  json_t *process;
  size_t i;
  json_array_foreach (results->processes, i, process) {
    if (status || !hsc__sweep_differ(process, identity, &words))
      continue;
    status = hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION,
                "the results of two builds or devices do not belong into one table: %s",
                hsc_bytes_text(&words)),
        "go on with the hloscope that began, or make the plan again in another folder");
  }
  hsc_bytes_deinit(&words);
  return status;
}

static void choose(const hsc_sweep_run_options *o, bool *wanted) {
  const hsc_sweep *sweep = o->sweep;
  for (int64_t i = 0; i < sweep->count; i++)
    wanted[i] = !o->only && (o->share_count < 2 || i % o->share_count == o->share);
  for (int64_t i = 0; o->only && i < o->only_count; i++)
    if (o->only[i] >= 0 && o->only[i] < sweep->count)
      wanted[o->only[i]] = true;
}

hsc_status *hsc__sweep_wanted(const hsc_sweep_run_options *o,
                              const json_t *identity,
                              bool *wanted,
                              int64_t *out_before) {
  hsc_sweep_results results;
  HSC_TRY(hsc_sweep_results_read(o->sweep, &results));
  hsc_status *status = check_processes(identity, &results);
  choose(o, wanted);
  *out_before = 0;
  for (int64_t i = 0; i < o->sweep->count; i++) {
    bool done = hsc_sweep_is_result(results.rows[i]);
    *out_before += done && wanted[i];
    wanted[i] = wanted[i] && !done;
  }
  hsc_sweep_results_deinit(o->sweep, &results);
  return status;
}

// ---- the store ----------------------------------------------------------------------------------

hsc_status *hsc__sweep_begin(const hsc_sweep_run_options *o,
                             const json_t *identity,
                             hsc_task_table *out_tasks) {
  hsc_experiment experiment = {.kind = "sweep",
                               .command = o->command ? o->command : "",
                               .device = o->sweep->count ? o->sweep->tasks[0].device : "",
                               .subject = o->sweep->folder,
                               .plan = o->sweep->id,
                               .configuration = o->sweep->document,
                               .environment = (json_t *)(uintptr_t)identity};
  // what is done stands in the folder: the store gets a copy
  return hsc_task_table_begin(o->store, false, &experiment, &(hsc_task_target){0}, out_tasks);
}

hsc_status *hsc__sweep_keep(const hsc_task_table *tasks, const json_t *row) {
  return hsc_task_table_keep(tasks, hsc__sweep_text(row, "task"), hsc__sweep_text(row, "outcome"),
                             json_string_value(json_object_get(row, "message")),
                             (json_t *)(uintptr_t)row);
}
