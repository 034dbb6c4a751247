// store.h - where measurements are kept: one SQLite file with every raw sample, its unit and the
// machine it was taken on.
//
// A task is written as soon as its worker answered, before anything of it is shown, in a
// transaction of its own: what was measured survives when the lab is killed, and a sweep can go on
// from there (hsc_store_resumable). The file is in
// WAL mode: readers do not wait for writers. The schema is the numbered files in src/lab/schema;
// opening an older file brings it up to date. JSON values are jansson's. Memory: the store owns its
// connection; strings and JSON that come out belong to the caller. Threads: one thread at a time
// per store; several processes may have the same file open.
//
//   hsc_store *store; int64_t id;
//   HSC_TRY(hsc_store_open(NULL, &store));
//   HSC_TRY(hsc_store_begin(store, &(hsc_experiment){.kind = "run", .device = "cpu", ...}, &id));
//   HSC_TRY(hsc_store_put_task(store, id, &(hsc_task){.key = "run/cpu", .status = "ok", .answer =
//   answer}));
//   HSC_TRY(hsc_store_finish(store, id, "done", result));
#pragma once

#include <jansson.h>

#include "base/core/status.h"

typedef struct hsc_store hsc_store;

// path NULL = <cache directory>/results.sqlite. The file is made when missing (its directory must
// exist).
// Errors: NOT_FOUND, PERMISSION_DENIED, DATA_LOSS (not a database), FAILED_PRECONDITION (written by
// a newer hloscope).
HSC_MUST_USE hsc_status *hsc_store_open(const char *path, hsc_store **out_store);
void hsc_store_close(hsc_store *store);
const char *hsc_store_path(const hsc_store *store);

typedef struct hsc_experiment {
  int64_t id;
  const char *kind, *command, *device, *subject, *plan, *status;
  uint64_t seed;
  int64_t started_ns, finished_ns;      // since the epoch; finished 0 = not
  json_t *configuration, *environment;  // objects
  json_t *result;                       // object; NULL until done, and in listings
  int64_t task_count, sample_count;     // filled by list and get
} hsc_experiment;
// Stores a new experiment with status "running". started_ns 0 = now. Everything in it is borrowed.
HSC_MUST_USE hsc_status *hsc_store_begin(hsc_store *store,
                                         const hsc_experiment *experiment,
                                         int64_t *out_id);
// status: "done", "failed" or "interrupted". result may be NULL.
HSC_MUST_USE hsc_status *hsc_store_finish(hsc_store *store,
                                          int64_t experiment,
                                          const char *status,
                                          json_t *result);
// Says how it ended whatever happened, and gives `status` back: the error that ended it comes
// before one of the store.
HSC_MUST_USE hsc_status *hsc_store_end(
    hsc_store *store, int64_t experiment, hsc_status *status, bool interrupted, json_t *result);
// Makes an unfinished experiment "running" again.
HSC_MUST_USE hsc_status *hsc_store_reopen(hsc_store *store, int64_t experiment);

typedef struct hsc_task {
  const char *key;      // unique in the experiment; a second put of the same key replaces the first
  const char *status;   // "ok" or how it failed
  const char *message;  // NULL = none
  // object; its member "series" (object: name_<unit> -> array of numbers, unit ns, bytes or count)
  // becomes samples,
  //   the rest is kept as it is
  json_t *answer;
} hsc_task;
HSC_MUST_USE hsc_status *hsc_store_put_task(hsc_store *store,
                                            int64_t experiment,
                                            const hsc_task *task);
// The stored task, put together again. *out_answer NULL when there is none (out_status, out_message
// too); else new references, free with hsc_free and json_decref.
HSC_MUST_USE hsc_status *hsc_store_get_task(hsc_store *store,
                                            int64_t experiment,
                                            const char *key,
                                            char **out_status,
                                            char **out_message,
                                            json_t **out_answer);

// Newest experiment with this plan that is not done; 0 = none.
HSC_MUST_USE hsc_status *hsc_store_resumable(hsc_store *store, const char *plan, int64_t *out_id);

typedef struct hsc_experiment_list {
  hsc_experiment *items;  // newest first
  size_t count;
} hsc_experiment_list;
// limit 0 = all. Free with hsc_experiment_list_deinit.
HSC_MUST_USE hsc_status *hsc_store_list(hsc_store *store,
                                        size_t limit,
                                        hsc_experiment_list *out_list);
// One experiment with everything but its tasks. NOT_FOUND names the nearest ids that exist.
HSC_MUST_USE hsc_status *hsc_store_get(hsc_store *store, int64_t id, hsc_experiment_list *out_list);
void hsc_experiment_list_deinit(hsc_experiment_list *list);
// Every task of an experiment in the order in which they were written: [{"key", "status",
// "message", "answer"}].
HSC_MUST_USE hsc_status *hsc_store_tasks(hsc_store *store, int64_t experiment, json_t **out_tasks);
