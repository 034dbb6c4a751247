// patterns_internal.h - what the files of the pattern experiment share.
#pragma once

#include "lab/dispatch/task_table.h"
#include "lab/run/json_tree.h"
#include "lab/patterns/patterns.h"
#include "lab/run/sampling_document.h"
#include "stats/stats_interleaved.h"
#include "worker/worker_client.h"

// where their number is not given
enum { HSC_PATTERNS_TRIALS = 10, HSC_PATTERNS_TRIALS_MOST = 40 };
// processes that the model is fitted over, and (k, s) in one of its jobs at most
enum { HSC__MODEL_PROCESSES = HSC_LEAST_PROCESSES, HSC__POINTS_MOST = 32 };

typedef struct pattern_row {
  const char *name, *key, *transform, *about;
  int executions, syncs;
  bool feeds;
} pattern_row;
extern const pattern_row hsc__pattern_rows[];
extern const size_t hsc__pattern_row_count;

// One graph under one pattern: what to measure, and the answers so far.
typedef struct pattern_config {
  const char *key;    // "vmap_small"
  const char *graph;  // "small", or the name of the user's program
  const pattern_row *pattern;
  const char *program;    // path
  const char *transform;  // NULL = none
  // [[output, input]]: what gets the result of the execution before; NULL = nothing
  json_t *feed;
  const char *fed_note;                             // what is odd about it; NULL = nothing
  json_t *manifest;                                 // its row; NULL for a user's program
  json_t *describe, *warmup, *cold_holdout, *work;  // answers; NULL = not measured
  json_t *model[HSC__MODEL_PROCESSES], *holdout[HSC__MODEL_PROCESSES];  // of each process
  json_t **trials, **colds;                                             // [run->trials]
  hsc_sampling sampling;                                                // levels: run, trial
  double typical_ns;                                                    // of one run, for planning
  // runs after the two recorded ones of the first trials, which are the pilot
  int64_t series_count;
  int failures;  // tasks that failed so far
  // why it was given up; NULL = it was not
  const char *outcome, *message;
  // of the analysis, borrowed from the result tree
  json_t *result;
} pattern_config;

typedef struct patterns_run {
  const hsc_patterns_options *options;
  hsc_arena *arena;
  hsc_lab_worker *worker;
  hsc_task_table tasks;
  hsc_task_setting setting;
  pattern_config *configs;
  size_t config_count;
  json_t *graphs;             // name -> facts
  json_t *starts;             // load answers
  json_t *sync;               // answer
  json_t *puzzle;             // [{case, runs}]
  json_t *deaths, *failures;  // arrays
  json_t *environment;
  json_t *device;    // facts of the first start
  int64_t start_ns;  // on hsc_now_ns
  int64_t trials;    // at most, while measuring; then those that were made
  int64_t task_count, task_total;
  bool interrupted;
} patterns_run;

// ---- plan (patterns_plan.c) ---------------------------------------------------------------------
HSC_MUST_USE hsc_status *hsc__patterns_plan(patterns_run *run);
json_t *hsc__patterns_configuration(const patterns_run *run);
void hsc__patterns_plan_hash(const patterns_run *run, char out_text[33]);

// ---- one task (patterns_task.c) -----------------------------------------------------------------
// with program, transforms, executions, syncs, feed
json_t *hsc__patterns_request(const pattern_config *config, const char *job);
// The answer of a task that went well in an earlier run of the same plan: a new reference; NULL =
// none.
HSC_MUST_USE hsc_status *hsc__patterns_stored(patterns_run *run,
                                              const char *key,
                                              json_t **out_body);
// Does one task, or takes it from the store when it was done before. *out_body NULL: it failed
// (recorded, also in config->failures), or the run was interrupted. config may be NULL.
HSC_MUST_USE hsc_status *hsc__patterns_task(
    patterns_run *run, pattern_config *config, const char *key, json_t *request, json_t **out_body);
// Whether the user, or the budget of the whole, ended it.
bool hsc__patterns_is_over(patterns_run *run);

// ---- measuring (patterns_measure.c, patterns_measure_model.c, patterns_puzzle.c) ----------------
HSC_MUST_USE hsc_status *hsc__patterns_measure(patterns_run *run);
HSC_MUST_USE hsc_status *hsc__patterns_measure_model(patterns_run *run);
HSC_MUST_USE hsc_status *hsc__patterns_puzzle(patterns_run *run);
// Counts what each configuration does  (patterns_work.c)
HSC_MUST_USE hsc_status *hsc__patterns_work(patterns_run *run);

// ---- analysis -----------------------------------------------------------------------------------
// Seconds of the series ns[n]: n, mean, median, low, high, min, max, std, mad.  (patterns_series.c)
json_t *hsc__summary_json(const double *ns, size_t n, uint64_t seed);
// "slow" runs and why: [{run, trial, seconds, excess, cause}] of all recorded runs of the
// configuration.
HSC_MUST_USE hsc_status *hsc__patterns_causes(const patterns_run *run,
                                              const pattern_config *config,
                                              json_t *out_causes);
HSC_MUST_USE hsc_status *hsc__patterns_series_outliers(const patterns_run *run,
                                                       const pattern_config *config,
                                                       json_t *out_object);
// Total times of the recorded runs: which = 0 first, 1 cached. Heap; in ns. Trials that are missing
// are left out; out_trials (may be NULL) tells which.
double *hsc__patterns_totals(const patterns_run *run,
                             const pattern_config *config,
                             int which,
                             size_t *out_count,
                             size_t *out_trials);
// All runs after the recorded ones, trial after trial; block_sizes [run->trials] may be NULL.
double *hsc__patterns_runs(const patterns_run *run,
                           const pattern_config *config,
                           size_t *out_count,
                           size_t *block_sizes,
                           size_t *out_blocks);
// Median of each trial's runs.
double *hsc__patterns_block_medians(const patterns_run *run,
                                    const pattern_config *config,
                                    size_t *out_count);
// One number of every cold round (or of every trial's answer), ns.
double *hsc__patterns_cold(const patterns_run *run,
                           const pattern_config *config,
                           const char *series,
                           size_t *out_count);

HSC_MUST_USE hsc_status *hsc__patterns_analyse(
    patterns_run *run, json_t *result);  // patterns, warmup_data, dominance (patterns_analysis.c)
// Medians at each (executions, syncs) of an answer of a model job.
typedef struct hsc__point {
  double executions, syncs, median_ns;
  size_t n;
} hsc__point;
size_t hsc__points_of(json_t *answer, hsc__point points[HSC__POINTS_MOST]);
// What one run of the pattern took in a worker process of the model's (median, ns); NaN = it was
// not measured there.
double hsc__patterns_process_ns(const pattern_config *config, size_t process);
// a s + b k over worker processes  (patterns_fit.c)
typedef struct hsc__time_model {
  size_t process_count;                         // that gave a fit; 0 = there is no model
  double coefficient[HSC__MODEL_PROCESSES][2];  // a, b of each, ns, not negative
  hsc_interval term[2];                         // a, b: mean and 95 % interval over processes
  double residual, residual_freedom;            // relative: what the form misses at its points
} hsc__time_model;
// Answers that are NULL or too short are left out. Errors: those of the fit.
HSC_MUST_USE hsc_status *hsc__time_model_fit(json_t *const *answers,
                                             size_t answer_count,
                                             hsc__time_model *out_model);
// The time, ns, with a 95 % prediction interval for another process.
hsc_interval hsc__time_model_at(const hsc__time_model *model, double syncs, double executions);
// theoretical_analysis (patterns_model.c)
HSC_MUST_USE hsc_status *hsc__patterns_model(patterns_run *run, json_t *result);
// questions (patterns_findings.c)
HSC_MUST_USE hsc_status *hsc__patterns_findings(patterns_run *run, json_t *result);
static inline double hsc__seconds(double ns) {
  return ns / 1e9;
}
