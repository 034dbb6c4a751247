// task_table.h - the tasks of one experiment, each done once however often the experiment ends in
// between; and how a worker does one of them.
//
// What experiments share with a sweep (sweep/sweep.h), whose tasks are known before it begins and
// lie in a folder: an experiment asks as it goes what to do next, and its tasks are rows of the
// store. A task is named by a key that says all that is done in it, within a plan that says all
// that is the same for each. Its row is written before anything is made of it. A task that was
// ended from outside is tried again, and what was cut off is not a row.
//
//   hsc_task_table table; hsc_task_row row;
//   HSC_TRY(hsc_task_table_begin(store, resume, &experiment, &target, &table));
//   HSC_TRY(hsc_task_table_find(&table, "structure/dce", &row));
//   if (!row.state) {
//     HSC_TRY(hsc_task_call(&with, &worker, request, limit_ns, &answer, &end));
//     if (end == HSC_TASK_DONE)
//       HSC_TRY(hsc_task_table_keep_answer(&table, "structure/dce", &answer));
//   }
//   return hsc_task_table_end(&table, status, interrupted, result);
//
// Threads: one at a time in each table and each worker.
#pragma once

#include "base/core/memory.h"
#include "lab/store/store.h"
#include "worker/worker_client.h"

// ---- the table ----------------------------------------------------------------------------------

typedef struct hsc_task_table {
  hsc_store *store;    // borrowed; NULL = nothing is kept, and every call below does nothing
  int64_t experiment;  // its number; 0 = none
  bool resumed;        // goes on from an experiment of the same plan that did not end
} hsc_task_table;

// What answers the tasks beside what the plan says. NULL = none.
typedef struct hsc_task_target {
  const hsc_device_spec *device, *against;
  json_t *overrides;  // compile options of all tasks
} hsc_task_target;

// The plan with the target, in one line: what says whether an experiment is the same. Build of
// hloscope, of the devices' plugins, and XLA_FLAGS included. NULL = no memory.
const char *hsc_task_plan(hsc_arena *arena, const char *plan, const hsc_task_target *target);

// A new experiment, or with `resume` the newest one of the same experiment->plan and target
// (hsc_task_plan) that is not done. Errors: the store's.
HSC_MUST_USE hsc_status *hsc_task_table_begin(hsc_store *store,
                                              bool resume,
                                              const hsc_experiment *experiment,
                                              const hsc_task_target *target,
                                              hsc_task_table *out_table);
// "done", "interrupted" or "failed", with the result. Gives `status` back, else what went wrong.
HSC_MUST_USE hsc_status *hsc_task_table_end(const hsc_task_table *table,
                                            hsc_status *status,
                                            bool interrupted,
                                            json_t *result);

// What came of a task.
typedef struct hsc_task_row {
  char *state;    // "ok", or how it failed (hsc_outcome_text); NULL = it was not done
  char *message;  // NULL = none
  json_t *answer;
} hsc_task_row;
void hsc_task_row_deinit(hsc_task_row *row);
hsc_outcome hsc_task_row_outcome(const hsc_task_row *row);  // ERROR for states of no worker

// The row that an earlier run left; without one, all of it is NULL. Not asked of a table that was
// begun anew.
HSC_MUST_USE hsc_status *hsc_task_table_find(const hsc_task_table *table,
                                             const char *key,
                                             hsc_task_row *out_row);
// message and answer may be NULL; both are borrowed.
HSC_MUST_USE hsc_status *hsc_task_table_keep(const hsc_task_table *table,
                                             const char *key,
                                             const char *state,
                                             const char *message,
                                             json_t *answer);
// How it went, why not, and what the worker said.
HSC_MUST_USE hsc_status *hsc_task_table_keep_answer(const hsc_task_table *table,
                                                    const char *key,
                                                    const hsc_answer *answer);

// ---- doing a task -------------------------------------------------------------------------------

typedef struct hsc_task_setting {
  const hsc_device_spec *device;
  const char *executable;    // to start workers with; NULL = the running one
  const volatile int *stop;  // not 0: what runs is given up; NULL = never
  int64_t deadline_ns;       // on hsc_now_ns: no task goes on after it; 0 = none
  int tries;                 // of a task whose worker somebody kills; 0 = 3
} hsc_task_setting;

typedef enum hsc_task_end {
  HSC_TASK_DONE,     // the answer is the program's
  HSC_TASK_CUT_OFF,  // by the stop or the deadline: it says nothing, and is to be done again
  HSC_TASK_KILLED,   // somebody ended the worker each time it was tried: likewise
} hsc_task_end;

// Whether `stop` is set.
bool hsc_task_is_stopped(const hsc_task_setting *setting);
// Whether `stop` is set, or the deadline is past.
bool hsc_task_is_over(const hsc_task_setting *setting);
// `limit_ns` (< 0 = none), but no more than is left to the deadline, and 1 ms at least.
int64_t hsc_task_limit(const hsc_task_setting *setting, int64_t limit_ns);
// *worker, made where it is NULL, without the disk's cache of programs. Destroy it afterwards.
HSC_MUST_USE hsc_status *hsc_task_worker(const hsc_task_setting *setting, hsc_lab_worker **worker);
// One job of that worker. A worker that SIGKILL, SIGTERM, SIGINT or SIGHUP ended says nothing of
// its program: the job is done again in a new one. Errors: those of hsc_lab_worker_call.
HSC_MUST_USE hsc_status *hsc_task_call(const hsc_task_setting *setting,
                                       hsc_lab_worker **worker,
                                       json_t *request,
                                       int64_t limit_ns,
                                       hsc_answer *out_answer,
                                       hsc_task_end *out_end);
// SIGKILL, SIGTERM, SIGINT or SIGHUP: ended by somebody, not by what it did.
bool hsc_task_is_from_outside(const hsc_child_exit *ended);
