// ablate_internal.h - what the parts of an ablation share.
#pragma once

#include <pthread.h>

#include "lab/ablate/ablate.h"
#include "lab/dispatch/task_table.h"
#include "lab/passes/optimized.h"

typedef enum variant_kind {
  VARIANT_BASELINE,
  VARIANT_PLACEBO,
  VARIANT_PASS,
  VARIANT_PIPELINE,
  VARIANT_PAIR
} variant_kind;

typedef struct ablate_variant {
  variant_kind kind;
  const char *name;       // what is written: the pass, the placebo, "a+b"
  const char *disable;    // value of xla_disable_hlo_passes; "" = nothing
  int first, second;      // of a pair: the variants that it is made of
  hsc_outcome outcome;    // of the compile
  const char *code;       // of an error, "INTERNAL"; NULL = none reported
  char *message, *where;  // why not; "file.cc:123" of a failed check
  json_t *answer;         // the describe job's; NULL when it failed
  hsc_optimized facts;    // of the optimised program
  bool readable;          // facts are there
  // canonical where readable, else the device's own or a hash of the bytes; "" when not compiled
  char fingerprint[65];
  double compile_s;
  // first variant with the same fingerprint and temporaries (the baseline is 0); itself when it is
  // the first
  int same_as;
  // numbers
  hsc_outcome run_outcome;
  bool ran;         // its outputs are known
  double run_s;     // of its second run
  json_t *outputs;  // of the run job; the baseline's only
  // {"verdict": "equal", "close", "rounding" or "different", "max_ulp", "max_abs",
  // "outputs_different"}; NULL = not compared
  json_t *numbers;
  json_t *reference;  // the same against what is right (ablate_run.truth); NULL = not compared
  // times
  json_t *total_time, *kernel_time;
  const char *verdict;  // "faster", "slower", "same", "cannot tell"; NULL = not timed
  double highlight;     // percent: 0, or one of the two thresholds
} ablate_variant;

typedef struct ablate_run {
  const hsc_ablate_options *options;
  hsc_arena *arena;  // used by the calling thread only
  char *scratch;
  hsc_pass_list passes;
  ablate_variant *variants;  // [variant_count]; 0 is the baseline, the placebos follow
  int variant_count, variant_capacity;
  hsc_task_table tasks;
  hsc_task_setting setting;  // of every worker
  bool interrupted;
  bool out_of_time;      // interrupted by options->deadline_ns
  const char *ended_by;  // of an interrupted one: "an interrupt", "the time budget"
  json_t *environment, *device, *timing;
  // rows of hsc_compare_outputs: the baseline on inputs moved by their last place, against the
  // baseline; NULL = not run
  json_t *rounding;
  // outputs of the program as it was written, by the evaluator or a second device; NULL = none, and
  // why
  json_t *truth;
  // how far a legal computation may be from it (legal.h), asked when something first differs from
  // it beyond its type; NULL = not asked, or it cannot be derived. With the lock held
  json_t *bounded;
  bool asked_bounds;
  const char *truth_by, *no_truth;
  int64_t started_ns;
  double earlier_s;  // wall time of the legs before a --resume
  // tasks of the running phase, dispatched to the slots
  pthread_mutex_t lock;  // of everything below, the store and progress
  int task_from;         // variant of task 0
} ablate_run;

// A request of `job` for a variant: program, transforms, overrides with the passes that are off.
// NULL = no memory.
json_t *hsc__ablate_request(const ablate_run *run, const char *job, const char *disable);
// Calls `task` for every number below `count`, by options->jobs threads, each with a worker of its
// own that lives over its tasks.
typedef hsc_status *(*ablate_task)(ablate_run *run, hsc_lab_worker **worker, int number);
HSC_MUST_USE hsc_status *hsc__ablate_dispatch(ablate_run *run,
                                              int count,
                                              const char *text,
                                              ablate_task task);
bool hsc__ablate_stopped(ablate_run *run);
// Wall time of this command and of those that it goes on from.
double hsc__ablate_wall_seconds(const ablate_run *run);
// hsc_task_call, which notes in the run that it was cut off.
HSC_MUST_USE hsc_status *hsc__ablate_call(ablate_run *run,
                                          hsc_lab_worker **worker,
                                          json_t *request,
                                          int64_t limit_ns,
                                          hsc_answer *out_answer,
                                          hsc_task_end *out_end);
// Keeps the error's code in the body of an answer that is not OK ("error_code"), where the store
// and resuming find it.
void hsc__ablate_keep_code(hsc_answer *answer);
// The code that it kept, as a name; NULL = none.
const char *hsc__ablate_code(const json_t *answer);
// "tree_reduction_rewriter.cc:94" out of a message; NULL = none. Heap.
char *hsc__ablate_where(const char *text);

// ---- timing (ablate_time.c, ablate_plan.c) ----

enum { ABLATE_MOST_PROCESSES = 64 };
// Which variants share a process: the baseline and the placebos are in every group.
typedef struct ablate_group {
  int *members;  // [count] numbers of variants, 0 first
  int count;
} ablate_group;

typedef struct ablate_timing {
  ablate_run *run;
  ablate_group *groups;
  int group_count, placebo_count, timed_count;
  int64_t blocks, iterations, warmups;
  // [0] run, [1] kernels: [variant][process][block] medians, ns; NaN = not measured
  double *total[2];
  // of the baseline in the same process and block: it runs with every group
  double *base[2];
  int process_count;     // that were measured
  int process_least;     // that are made whatever they show
  double margin;         // of "same": what was asked for, or what the machine's grade allows
  json_t *pilot;         // what the pilot saw and chose; NULL = there was none
  const char *no_pilot;  // why
  double budget_s, spent_s;
  bool kernels;
} ablate_timing;

// Iterations, blocks and processes: as the options say, else as a pilot of baseline against placebo
// chooses. Sets t->pilot or t->no_pilot.
HSC_MUST_USE hsc_status *hsc__ablate_plan_times(ablate_timing *timing);
// What one process of a group takes, by what its compiles and runs took before: the compiles, then
// every turn of every block.
double hsc__ablate_group_seconds(const ablate_timing *timing, const ablate_group *group);
// "sampling" (docs/schemas/sampling.json) and "baseline_class" of run->timing.
HSC_MUST_USE hsc_status *hsc__ablate_describe_times(ablate_timing *timing,
                                                    const char *ended_by,
                                                    double seconds);
// One process in which programs take turns.
typedef struct ablate_turns {
  const char *key;              // of the task
  const char *const *disabled;  // [count] what is off in each program
  int count;
  int64_t blocks, iterations, warmups;
  uint64_t order;
  bool kernels;
  int64_t limit_ns;
} ablate_turns;
// Runs it in a worker of its own, or takes what an earlier run kept. *out_row without a state: it
// was cut off.
HSC_MUST_USE hsc_status *hsc__ablate_take_turns(ablate_run *run,
                                                const ablate_turns *turns,
                                                hsc_task_row *out_row);

// ablate_structure.c
HSC_MUST_USE hsc_status *hsc__ablate_compile_all(ablate_run *run, int from, int to);
// ablate_numbers.c
HSC_MUST_USE hsc_status *hsc__ablate_numbers(ablate_run *run, int from, int to);
// ablate_reference.c
// Runs the program as it was written on the evaluator, or where that is too slow on a second
// device: run->truth, or run->no_truth.
HSC_MUST_USE hsc_status *hsc__ablate_find_truth(ablate_run *run);
// Whose numbers are right: "both", "baseline", "variant", "neither"; NULL = not known.
const char *hsc__ablate_who(const ablate_run *run, const ablate_variant *v);
// "numbers" of the document: what was held against what is right, with its coverage.
HSC_MUST_USE hsc_status *hsc__ablate_numbers_json(const ablate_run *run, json_t **out_numbers);
// ablate_time.c
HSC_MUST_USE hsc_status *hsc__ablate_time(ablate_run *run);
// ablate_pairs.c
HSC_MUST_USE hsc_status *hsc__ablate_pairs(ablate_run *run);
// ablate_document.c
HSC_MUST_USE hsc_status *hsc__ablate_document(ablate_run *run, json_t **out_result);
HSC_MUST_USE hsc_status *hsc__ablate_add(
    ablate_run *run, variant_kind kind, const char *name, const char *disable, int *out_number);
