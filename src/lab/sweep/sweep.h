// sweep.h - many independent tasks as data: planned into a folder, run anywhere, merged into one
// table. docs/formats/sweep.md describes the folder.
//
//   plan/plan.json      what the plan is, and the hash of its tasks
//   plan/tasks.jsonl    a task a line: program, device, what to do, expected seconds
//   plan/inputs/        the programs and files that tasks read, named by their content
//   plan/results/       what came of tasks: a file for each process that ran some, appended to
//
// A task is done once and for all by any process that can read the folder: tasks know nothing of
// each other, a line of results/ is written by one write(2) as soon as its task is through, and a
// process that dies costs the tasks that it was at. Whoever comes next reads results/ and does what
// is left. So a sweep may be begun under MPI, go on as an array of jobs and end on a laptop.
//
//   hsc_sweep *sweep;
//   HSC_TRY(hsc_sweep_open("plan", &sweep));
//   HSC_GOTO(hsc_sweep_run(&(hsc_sweep_run_options){.sweep = sweep, .jobs = 4}, &summary));
//   HSC_GOTO(hsc_sweep_table(sweep, &results, 0, &table));
#pragma once

#include <jansson.h>

#include "base/core/map.h"
#include "base/core/memory.h"
#include "lab/sweep/sweep_transport.h"
#include "report/table.h"
#include "trace/host_clocks.h"

enum { HSC_SWEEP_FORMAT = 1 };

// ---- planning (sweep_plan.c) --------------------------------------------------------------------

// A row of sweep_kinds.def.
typedef struct hsc_sweep_kind {
  const char *name;
  const char *job;      // of a worker: "compile", "run", "interleave"; NULL: a command
  const char *command;  // words, {program}, {device} and {baseline} replaced; NULL: a worker's job
  const char *about;
} hsc_sweep_kind;

typedef struct hsc_sweep_plan_options {
  const char *kind;  // a name of sweep_kinds.def
  const char *const *programs;
  size_t program_count;
  const char *const *devices;  // as --device takes them
  size_t device_count;
  const char *const *releases;  // each device in each of them ("0.7.1"); 0 = the device as it is
  size_t release_count;
  const char *const *off;  // each is off by itself, "a+b" both at once
  size_t off_count;
  int placebo_count;        // ablate, time: names of passes that do not exist
  json_t *overrides;        // of every compile; NULL = none. Borrowed
  const char *baseline;     // gate: its file
  const char *const *more;  // words after the command of kinds that have one
  size_t more_count;
  int64_t repeats;  // of each task, as tasks of their own: 1
  int64_t series;   // run: timed runs
  uint64_t seed;
  double limit_s;          // of a task
  const char *folder;      // made when missing
  const char *command;     // as it was typed, for the record
  const char *executable;  // to start workers with; NULL = the running one
  // may be NULL
  void (*progress)(void *user, int64_t done, int64_t total, const char *what);
  void *user;
} hsc_sweep_plan_options;
// Writes the folder. The same plan again is fine and changes nothing. Errors: INVALID_ARGUMENT
// (unknown kind, device or pass, with the nearest), ALREADY_EXISTS (another plan is there), a
// program that cannot be read.
HSC_MUST_USE hsc_status *hsc_sweep_plan(const hsc_sweep_plan_options *options);

// ---- reading (sweep_open.c) ---------------------------------------------------------------------

typedef struct hsc_sweep_task {
  const char *id;  // hash of all that decides what is done, 32 digits
  const char *kind, *program, *device;
  const char *off;    // "" = nothing
  const char *input;  // below the folder; NULL = none
  double cost_s;      // expected seconds; above 0
  double limit_s;
  int group;           // tasks of one program on one device take about the same time
  const json_t *line;  // as it is in tasks.jsonl
} hsc_sweep_task;

typedef struct hsc_sweep {
  hsc_arena *arena;
  const char *folder, *id, *kind;
  hsc_sweep_task *tasks;  // [count]
  int64_t count;
  int group_count;
  json_t *document;  // plan.json
  json_t *lines;     // what tasks borrow
  hsc_map *numbers;  // id -> hsc_sweep_task *
  int64_t stamp[4];  // of plan.json and tasks.jsonl when they were read: size, time of change
} hsc_sweep;
// Errors: NOT_FOUND, DATA_LOSS (not a plan, or changed by hand: what does not fit),
// FAILED_PRECONDITION (made by a newer hloscope).
HSC_MUST_USE hsc_status *hsc_sweep_open(const char *folder, hsc_sweep **out_sweep);
void hsc_sweep_close(hsc_sweep *sweep);
// FAILED_PRECONDITION when the folder does not hold the plan any more that was opened; two stat(2)
// while nothing was touched.
HSC_MUST_USE hsc_status *hsc_sweep_check(const hsc_sweep *sweep);

// What is in results/, each task's best line: an outcome of the task before one that says that it
// was ended from outside, then the earliest. The order of files and lines does not matter, nor how
// often a line is there.
typedef struct hsc_sweep_results {
  json_t **rows;    // [count of tasks]; NULL = none yet
  int64_t done;     // rows that are results ("killed" is none)
  int64_t lines;    // that were read
  int64_t torn;     // lines cut off by a death, not used
  int64_t foreign;  // lines of another plan, not used
  int64_t files;
  json_t *processes;  // [{"host", "pid", "rank", "hloscope", "build", ...}], by start
} hsc_sweep_results;
HSC_MUST_USE hsc_status *hsc_sweep_results_read(const hsc_sweep *sweep,
                                                hsc_sweep_results *out_results);
void hsc_sweep_results_deinit(const hsc_sweep *sweep, hsc_sweep_results *results);
// "killed" says that the task was ended from outside and is to be done again.
bool hsc_sweep_is_result(const json_t *row);

// ---- running (sweep_run.c, sweep_ranks.c) -------------------------------------------------------

struct hsc_store;

typedef struct hsc_sweep_run_options {
  hsc_sweep *sweep;
  const hsc_transport *transport;  // to the other ranks; NULL = this process alone
  int jobs;                        // tasks at the same time in this process, 1 at least
  // of the tasks only these numbers; NULL = all
  const int64_t *only;
  int64_t only_count;
  int64_t share, share_count;  // of them only each share_count-th, from the share-th; 0, 0 = all
  const char *results;         // where this process writes; NULL = results/ in the folder
  struct hsc_store *store;     // keeps what arrives here too; NULL = none
  const char *command;         // for the store
  const char *executable;      // NULL = the running one
  double silence_s;            // a rank that says nothing for so long is given up; 0 = 30
  const volatile int *stop;    // not 0: end, and leave what runs undone; NULL = never
  // may be NULL
  void (*progress)(void *user, int64_t done, int64_t total, double seconds_left);
  void (*say)(void *user, const char *text);  // something went wrong and the sweep goes on
  void *user;
} hsc_sweep_run_options;

typedef struct hsc_sweep_summary {
  int64_t planned, before, done, left;  // tasks; done: by this run, on all ranks
  int64_t lost_ranks, full_ranks;
  double seconds, busy_seconds;  // wall time; sum over tasks
  int64_t messages;              // that rank 0 took
  double message_seconds;        // processor time of its dispatching thread for them
  bool interrupted;
  int slots;  // that tasks were done by, on all ranks
} hsc_sweep_summary;
// On ranks other than 0 the summary says what this rank did. Errors: FAILED_PRECONDITION (the plan
// changed; results of another build of hloscope; ranks that differ: both named), no process can be
// started, nothing can be written.
HSC_MUST_USE hsc_status *hsc_sweep_run(const hsc_sweep_run_options *options,
                                       hsc_sweep_summary *out_summary);

// ---- merging (sweep_merge.c) --------------------------------------------------------------------

enum {
  HSC_SWEEP_TIMES = 1,  // also what depends on machine and moment: times, hosts
  HSC_SWEEP_LEAN = 2,   // without columns that no row has anything in
};
// One row a task, in the order of the plan. Without HSC_SWEEP_TIMES, the table of a plan is the
// same whoever did the tasks.
HSC_MUST_USE hsc_status *hsc_sweep_table(const hsc_sweep *sweep,
                                         const hsc_sweep_results *results,
                                         unsigned columns,
                                         hsc_table **out_table);

// ---- timed tasks (sweep_effects.c) --------------------------------------------------------------

typedef struct hsc_sweep_effect {
  int64_t processes, hosts;
  double ratio;       // mean over hosts; NaN = no process
  double low, high;   // 95 % interval; NaN with fewer than six processes
  double between_sd;  // of the logarithm of the ratio, between hosts; NaN = not known
} hsc_sweep_effect;
// y [n]: one logarithm of a ratio for each process; host [n]: from 0 to host_count - 1. Hosts are a
// random effect: with several of them, the interval is of the mean over hosts that might be used;
// with one, of that host. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_sweep_host_effect(
    const double *y, const int *host, size_t n, int host_count, hsc_sweep_effect *out);

// A row for each pass that was timed (kind `time`), placebos too; notes name hosts that drift or
// had a grade below A, and placebos that are not 1. Errors: INVALID_ARGUMENT (no timed tasks).
HSC_MUST_USE hsc_status *hsc_sweep_effects(const hsc_sweep *sweep,
                                           const hsc_sweep_results *results,
                                           hsc_table **out_table);

// ---- clocks of hosts (sweep_clocks.c) -----------------------------------------------------------

// To be called by every rank at once. Rank 0 gets how far the clock of each host is ahead of its
// own, which is the first row; the others get no rows. Errors: DEADLINE_EXCEEDED (a rank that says
// nothing for silence_s), UNAVAILABLE, FAILED_PRECONDITION (ranks of several builds).
HSC_MUST_USE hsc_status *hsc_sweep_clocks(const hsc_transport *transport,
                                          double silence_s,
                                          hsc_arena *arena,
                                          hsc_host_clocks *out_clocks);
