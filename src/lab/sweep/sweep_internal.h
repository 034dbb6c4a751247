// sweep_internal.h - what the parts of a sweep share.
#pragma once

#include <pthread.h>

#include "base/core/random.h"
#include "lab/dispatch/task_table.h"
#include "lab/sweep/sweep.h"
#include "worker/worker_client.h"

// ---- texts (sweep_open.c) ----

// The text of a member; "" where there is none.
const char *hsc__sweep_text(const json_t *object, const char *key);
// hsc_hash128 of a file's bytes, hex. Errors: the file's.
HSC_MUST_USE hsc_status *hsc__sweep_hash_file(const char *path, char out_hash[33]);
// Who this process is: {"hloscope", "build", "host", "pid", "plan", "devices": {text: hash of its
// plugin's file}}. NULL = no memory.
json_t *hsc__sweep_identity(const hsc_sweep *sweep);
// In which two identities differ so that their results do not belong into one table, as words
// ("hloscope 0.1.0 (build a..) on host h1, 0.2.0 (build b..) on host h2"); false = in nothing.
bool hsc__sweep_differ(const json_t *a, const json_t *b, hsc_bytes *out_words);

// ---- one process's file of results (sweep_shard.c) ----

typedef struct hsc__shard {
  int fd;
  char *path;
  json_t *rows;  // everything that was written, for the Parquet part
  bool full;     // what could not be written is gone from the file
} hsc__shard;
// Makes a file of its own in `folder` and writes its first line, `identity`. RESOURCE_EXHAUSTED:
// the disk is full.
HSC_MUST_USE hsc_status *hsc__shard_open(const char *folder,
                                         const json_t *identity,
                                         hsc__shard *out_shard);
// One line by one write. RESOURCE_EXHAUSTED: there is no room; the file ends with the last whole
// line.
HSC_MUST_USE hsc_status *hsc__shard_append(hsc__shard *shard, json_t *row);
// Syncs and closes; with rows, writes them beside it as Parquet.
HSC_MUST_USE hsc_status *hsc__shard_close(hsc__shard *shard, const hsc_sweep *sweep);

// ---- which task is next (sweep_pool.c): the longest expected first ----

typedef struct hsc__pool hsc__pool;
// `wanted` [sweep->count]: the tasks that are to be done.
HSC_MUST_USE hsc_status *hsc__pool_create(const hsc_sweep *sweep,
                                          const bool *wanted,
                                          hsc__pool **out_pool);
void hsc__pool_destroy(hsc__pool *pool);
int64_t hsc__pool_take(hsc__pool *pool);  // -1 = none is left
// Any of those that are left, as `random` draws it; -1 = none is left.
int64_t hsc__pool_take_any(hsc__pool *pool, hsc_random *random);
void hsc__pool_drop(hsc__pool *pool, int64_t task);    // it is done elsewhere, if it is left at all
void hsc__pool_return(hsc__pool *pool, int64_t task);  // it was taken and is not done
// What a task of this group took: those that are left are expected to take the like.
void hsc__pool_learn(hsc__pool *pool, int64_t task, double seconds);
int64_t hsc__pool_left(const hsc__pool *pool);
int64_t hsc__pool_dropped(const hsc__pool *pool);
double hsc__pool_expected(const hsc__pool *pool, int64_t task);

// ---- what others do meanwhile (sweep_others.c) ----

typedef struct hsc__sweep_others hsc__sweep_others;
// `own`: the path of this process's file, which is left out; borrowed.
HSC_MUST_USE hsc_status *hsc__sweep_others_create(const hsc_sweep *sweep,
                                                  const char *own,
                                                  hsc__sweep_others **out_others);
void hsc__sweep_others_destroy(hsc__sweep_others *others);
// Drops from the pool what others have done since the last look. Returns whether somebody else is
// at the plan too: results have come since the first look. Costs a twentieth of the time at most.
bool hsc__sweep_others_look(hsc__sweep_others *others, hsc__pool *pool);

// ---- one task (sweep_task.c) ----

// What a thread keeps over tasks: a worker, and where it leaves files.
typedef struct hsc__sweep_slot {
  hsc_arena *arena;
  const char *device;  // that the worker holds, as text and read
  hsc_device_spec spec;
  hsc_lab_worker *worker;
  char *scratch;
} hsc__sweep_slot;
void hsc__sweep_slot_destroy(hsc__sweep_slot *slot);
// Does it and tells what came of it: a line of results/. NULL in *out_row: `stop` was set and the
// task is not done. Errors: no process, no memory, an input that is not what the plan says.
HSC_MUST_USE hsc_status *hsc__sweep_do(const hsc_sweep_run_options *options,
                                       const hsc_sweep_task *task,
                                       hsc__sweep_slot **slot,
                                       json_t **out_row);

// ---- running ----

// sweep_begin.c: results so far, checked: of the same plan and build. FAILED_PRECONDITION else.
HSC_MUST_USE hsc_status *hsc__sweep_wanted(const hsc_sweep_run_options *options,
                                           const json_t *identity,
                                           bool *wanted,
                                           int64_t *out_before);
// What came of a task into the store of this process.
HSC_MUST_USE hsc_status *hsc__sweep_keep(const hsc_task_table *tasks, const json_t *row);
HSC_MUST_USE hsc_status *hsc__sweep_begin(const hsc_sweep_run_options *options,
                                          const json_t *identity,
                                          hsc_task_table *out_tasks);
// sweep_ranks.c
HSC_MUST_USE hsc_status *hsc__sweep_run_ranks(const hsc_sweep_run_options *options,
                                              hsc_sweep_summary *out_summary);
