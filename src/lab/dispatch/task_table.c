// task_table.c - tasks of an experiment, found again and kept; and one job of a worker.
#include "lab/dispatch/task_table.h"

#include <signal.h>
#include <stdlib.h>

#include "base/core/build_id.h"
#include "base/core/clock.h"
#include "base/core/memory.h"

// ---- the table ----------------------------------------------------------------------------------

static const char *device_text(hsc_arena *arena, const hsc_device_spec *device) {
  char plugin[41] = "";
  if (!device)
    return "none";
  if (device->plugin_path)
    hsc_build_id_of_file(device->plugin_path, plugin);
  return hsc_arena_printf(arena, "%s %s", device->text, plugin);
}

const char *hsc_task_plan(hsc_arena *arena, const char *plan, const hsc_task_target *target) {
  json_t *overrides = target->overrides;
  char *options = overrides ? json_dumps(overrides, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  const char *flags = getenv("XLA_FLAGS");
  const char *device = device_text(arena, target->device);
  const char *against = device_text(arena, target->against);
  const char *whole = NULL;
  if (device && against)
    whole = hsc_arena_printf(arena, "%s by %s on %s against %s options %s XLA_FLAGS %s", plan,
                             hsc_build_id(), device, against, options ? options : "",
                             flags ? flags : "");
  free(options);
  return whole;
}

static hsc_status *begin(hsc_task_table *table, bool resume, const hsc_experiment *experiment) {
  if (resume)
    HSC_TRY(hsc_store_resumable(table->store, experiment->plan, &table->experiment));
  table->resumed = table->experiment != 0;
  if (table->resumed)
    return hsc_store_reopen(table->store, table->experiment);
  return hsc_store_begin(table->store, experiment, &table->experiment);
}

hsc_status *hsc_task_table_begin(hsc_store *store,
                                 bool resume,
                                 const hsc_experiment *experiment,
                                 const hsc_task_target *target,
                                 hsc_task_table *out_table) {
  *out_table = (hsc_task_table){.store = store};
  if (!store)
    return NULL;
  hsc_arena *arena = NULL;
  hsc_experiment whole = *experiment;
  HSC_TRY(hsc_arena_create(&arena));
  whole.plan = hsc_task_plan(arena, experiment->plan, target);
  hsc_status *status = whole.plan ? begin(out_table, resume, &whole) : hsc_status_out_of_memory();
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc_task_table_end(const hsc_task_table *table,
                               hsc_status *status,
                               bool interrupted,
                               json_t *result) {
  if (!table->store || !table->experiment)
    return status;
  return hsc_store_end(table->store, table->experiment, status, interrupted, result);
}

void hsc_task_row_deinit(hsc_task_row *row) {
  hsc_free(row->state);
  hsc_free(row->message);
  json_decref(row->answer);
  *row = (hsc_task_row){0};
}

hsc_outcome hsc_task_row_outcome(const hsc_task_row *row) {
  return hsc_outcome_of_text(row->state);
}

hsc_status *hsc_task_table_find(const hsc_task_table *table,
                                const char *key,
                                hsc_task_row *out_row) {
  *out_row = (hsc_task_row){0};
  if (!table->resumed)
    return NULL;
  HSC_TRY(hsc_store_get_task(table->store, table->experiment, key, &out_row->state,
                             &out_row->message, &out_row->answer));
  if (!out_row->answer)  // no row
    hsc_task_row_deinit(out_row);
  return NULL;
}

hsc_status *hsc_task_table_keep(const hsc_task_table *table,
                                const char *key,
                                const char *state,
                                const char *message,
                                json_t *answer) {
  if (!table->store || !table->experiment)
    return NULL;
  return hsc_store_put_task(
      table->store, table->experiment,
      &(hsc_task){.key = key, .status = state, .message = message, .answer = answer});
}

hsc_status *hsc_task_table_keep_answer(const hsc_task_table *table,
                                       const char *key,
                                       const hsc_answer *answer) {
  return hsc_task_table_keep(table, key, hsc_outcome_text(answer->outcome),
                             answer->status ? hsc_status_message(answer->status) : NULL,
                             answer->body);
}

// ---- doing a task -------------------------------------------------------------------------------

bool hsc_task_is_stopped(const hsc_task_setting *setting) {
  return setting->stop && *setting->stop;
}

static bool is_late(const hsc_task_setting *setting) {
  return setting->deadline_ns && hsc_now_ns() >= setting->deadline_ns;
}

bool hsc_task_is_over(const hsc_task_setting *setting) {
  return hsc_task_is_stopped(setting) || is_late(setting);
}

int64_t hsc_task_limit(const hsc_task_setting *setting, int64_t limit_ns) {
  enum { LEAST_NS = 1000000 };
  if (!setting->deadline_ns)
    return limit_ns;
  int64_t left_ns = setting->deadline_ns - hsc_now_ns();
  if (left_ns < LEAST_NS)
    left_ns = LEAST_NS;
  return limit_ns < 0 || left_ns < limit_ns ? left_ns : limit_ns;
}

hsc_status *hsc_task_worker(const hsc_task_setting *setting, hsc_lab_worker **worker) {
  if (*worker)
    return NULL;
  return hsc_lab_worker_create(&(hsc_lab_worker_options){.device = setting->device,
                                                         .executable = setting->executable,
                                                         .no_disk_cache = true,
                                                         .stop = setting->stop},
                               worker);
}

bool hsc_task_is_from_outside(const hsc_child_exit *ended) {
  return ended->signal == SIGKILL || ended->signal == SIGTERM || ended->signal == SIGINT ||
         ended->signal == SIGHUP;
}

// A signal to the whole group may reach the worker before it reaches us, whose flag comes later.
static void wait_for_stop(const hsc_task_setting *setting) {
  enum { LOOKS = 20, LOOK_NS = 5000000 };
  for (int i = 0; i < LOOKS && setting->stop && !*setting->stop; i++)
    hsc_sleep_ns(LOOK_NS);
}

hsc_status *hsc_task_call(const hsc_task_setting *setting,
                          hsc_lab_worker **worker,
                          json_t *request,
                          int64_t limit_ns,
                          hsc_answer *out_answer,
                          hsc_task_end *out_end) {
  enum { MOST_TRIES = 3 };
  int most = setting->tries ? setting->tries : MOST_TRIES;
  *out_answer = (hsc_answer){0};
  *out_end = HSC_TASK_KILLED;
  for (int tries = 0; tries < most && *out_end == HSC_TASK_KILLED; tries++) {
    hsc_answer_deinit(out_answer);
    *out_answer = (hsc_answer){0};
    HSC_TRY(hsc_task_worker(setting, worker));
    HSC_TRY(hsc_lab_worker_call(*worker, request, hsc_task_limit(setting, limit_ns), out_answer));
    bool died = out_answer->outcome == HSC_OUTCOME_ABORT;
    bool outside = died && hsc_task_is_from_outside(&out_answer->exit);
    if (outside && out_answer->exit.signal != SIGKILL)
      wait_for_stop(setting);
    bool over = hsc_task_is_over(setting) && (died || out_answer->outcome == HSC_OUTCOME_TIMEOUT);
    if (over)
      *out_end = HSC_TASK_CUT_OFF;
    else if (!outside)
      *out_end = HSC_TASK_DONE;
  }
  return NULL;
}
