// patterns_series.c - numbers out of answers, summaries of series, outliers by name.
#include <math.h>
#include <stdlib.h>

#include "lab/patterns/patterns_internal.h"

// ---- numbers out of answers ---------------------------------------------------------------------

double *hsc__patterns_totals(const patterns_run *run,
                             const pattern_config *config,
                             int which,
                             size_t *out_count,
                             size_t *out_trials) {
  size_t trials = (size_t)run->trials;
  double *totals = hsc_alloc((trials + 1) * sizeof(double));
  *out_count = 0;
  for (size_t t = 0; totals && t < trials; t++) {
    double total = hsc_json_number(
        json_object_get(hsc_answer_run_record(config->trials[t], which), "total_ns"));
    if (isnan(total))
      continue;
    if (out_trials)
      out_trials[*out_count] = t;
    totals[(*out_count)++] = total;
  }
  return totals;
}

double *hsc__patterns_runs(const patterns_run *run,
                           const pattern_config *config,
                           size_t *out_count,
                           size_t *block_sizes,
                           size_t *out_blocks) {
  size_t trials = (size_t)run->trials;
  size_t room = 1;
  size_t count = 0;
  size_t blocks = 0;
  for (size_t t = 0; t < trials; t++)
    room += json_array_size(hsc_json_path(config->trials[t], "series", "run_ns", NULL));
  double *runs = hsc_alloc(room * sizeof(double));
  for (size_t t = 0; runs && t < trials; t++) {
    json_t *series = hsc_json_path(config->trials[t], "series", "run_ns", NULL);
    json_t *value;
    size_t i;
    json_array_foreach (series, i, value)
      runs[count++] = hsc_json_number(value);
    if (json_array_size(series) && block_sizes)
      block_sizes[blocks] = json_array_size(series);
    blocks += json_array_size(series) > 0;
  }
  *out_count = count;
  if (out_blocks)
    *out_blocks = blocks;
  return runs;
}

double *hsc__patterns_block_medians(const patterns_run *run,
                                    const pattern_config *config,
                                    size_t *out_count) {
  size_t trials = (size_t)run->trials;
  double *medians = hsc_alloc((trials + 1) * sizeof(double));
  *out_count = 0;
  for (size_t t = 0; medians && t < trials; t++) {
    size_t n;
    double *runs = hsc_json_doubles(hsc_json_path(config->trials[t], "series", "run_ns", NULL), &n);
    if (n)
      medians[(*out_count)++] = hsc_stats_median(runs, n);
    hsc_free(runs);
  }
  return medians;
}

double *hsc__patterns_cold(const patterns_run *run,
                           const pattern_config *config,
                           const char *series,
                           size_t *out_count) {
  size_t trials = (size_t)run->trials;
  double *values = hsc_alloc((trials + 1) * sizeof(double));
  *out_count = 0;
  for (size_t t = 0; values && t < trials; t++) {
    double value =
        hsc_json_number(json_array_get(hsc_json_path(config->colds[t], "series", series, NULL), 0));
    if (!isnan(value))
      values[(*out_count)++] = value;
  }
  return values;
}

json_t *hsc__summary_json(const double *ns, size_t n, uint64_t seed) {
  hsc_summary s;
  hsc_status *status =
      hsc_stats_summarize(ns, n, &(hsc_interval_options){.seed = seed, .resample_count = 1000}, &s);
  if (status) {
    hsc_status_free(status);
    return json_null();
  }
  json_t *summary = json_object();
  json_object_set_new(summary, "n", json_integer((json_int_t)s.count));
  const struct {
    const char *key;
    double value;
  } members[] = {{"median", s.median}, {"low", s.median_low}, {"high", s.median_high},
                 {"mean", s.mean},     {"min", s.min},        {"max", s.max},
                 {"std", s.sd},        {"mad", s.mad}};
  for (size_t i = 0; i < HSC_COUNT_OF(members); i++)
    json_object_set_new(summary, members[i].key, hsc_json_real(hsc__seconds(members[i].value)));
  return summary;
}

// ---- outliers ----------------------------------------------------------------------------------

typedef struct outlier {
  double ns;
  int64_t trial, run;  // from 1
  const char *cause;   // in the run's arena
} outlier;

static int by_time(const void *a, const void *b) {
  const outlier *x = a;
  const outlier *y = b;
  return (x->ns < y->ns) - (x->ns > y->ns);
}

typedef enum outlier_kind {
  SWITCH,
  FAULTS,
  STOPPED,
  THROTTLED,
  QUEUED,
  MEMORY,
  PRESSURE,
  NO_CAUSE,
  KINDS
} outlier_kind;

// What was recorded of this very run first, then what its trial lost to others.
static outlier_kind kind_of(json_t *trial, size_t i) {
  json_t *series = json_object_get(trial, "series");
  double switches =
      hsc_json_number(json_array_get(json_object_get(series, "involuntary_switches_count"), i));
  double faults = hsc_json_number(json_array_get(json_object_get(series, "page_faults_count"), i));
  if (switches > 0)
    return SWITCH;
  if (faults > 0)
    return FAULTS;
  static const struct {
    const char *key;
    outlier_kind kind;
  } lost[] = {{"stops", STOPPED},
              {"throttled_ns", THROTTLED},
              {"runqueue_ns", QUEUED},
              {"memory_waited_ns", MEMORY},
              {"waited_ns", PRESSURE}};
  for (size_t k = 0; k < HSC_COUNT_OF(lost); k++)
    if (hsc_json_number(json_object_get(trial, lost[k].key)) > 0)
      return lost[k].kind;
  return NO_CAUSE;
}

static const char *cause_text(hsc_arena *arena, outlier_kind kind, json_t *trial, size_t i) {
  json_t *series = json_object_get(trial, "series");
  const char *text = "no recorded cause";
  switch (kind) {
    case SWITCH:
      text = hsc_arena_printf(arena, "%.0f involuntary context switches",
                              hsc_json_number(json_array_get(
                                  json_object_get(series, "involuntary_switches_count"), i)));
      break;
    case FAULTS:
      text = hsc_arena_printf(
          arena, "%.0f page faults",
          hsc_json_number(json_array_get(json_object_get(series, "page_faults_count"), i)));
      break;
    case STOPPED:
      text = "the worker was stopped (SIGSTOP) during its trial";
      break;
    case THROTTLED:
      text = hsc_arena_printf(arena,
                              "its trial was throttled for %.3g ms: the processor quota was used "
                              "up",
                              hsc_json_number(json_object_get(trial, "throttled_ns")) / 1e6);
      break;
    case QUEUED:
      text = hsc_arena_printf(arena,
                              "for %.3g ms of its trial the worker was ready to run and others had "
                              "the processor",
                              hsc_json_number(json_object_get(trial, "runqueue_ns")) / 1e6);
      break;
    case MEMORY:
      text = hsc_arena_printf(
          arena,
          "memory pressure: the machine reclaimed or swapped memory for %.3g ms of its trial",
          hsc_json_number(json_object_get(trial, "memory_waited_ns")) / 1e6);
      break;
    case PRESSURE:
      text =
          hsc_arena_printf(arena, "pressure: %.3g ms of its trial somebody waited for a processor",
                           hsc_json_number(json_object_get(trial, "waited_ns")) / 1e6);
      break;
    default:
      break;
  }
  return text;
}

// Outliers among the runs after the recorded ones: how many, of what cause, and the worst by name.
hsc_status *hsc__patterns_series_outliers(const patterns_run *run,
                                          const pattern_config *config,
                                          json_t *out_object) {
  enum { NAMED = 8 };
  size_t n, blocks;
  size_t kinds[KINDS] = {0};
  size_t at = 0;
  size_t next = 0;
  double *runs = hsc__patterns_runs(run, config, &n, NULL, &blocks);
  size_t *indices = hsc_alloc((n + 1) * sizeof(size_t));
  outlier *all = hsc_alloc((n + 1) * sizeof(outlier));
  hsc_status *status = runs && indices && all ? NULL : hsc_status_out_of_memory();
  json_t *named = json_array();
  size_t count = status ? 0 : hsc_stats_outliers(runs, n, indices);
  double median = status ? NAN : hsc_stats_median(runs, n);
  // Walk the trials in the order in which their series were put together.
  for (int64_t t = 0; t < run->trials && !status; t++) {
    json_t *trial = config->trials[t];
    size_t size = json_array_size(hsc_json_path(trial, "series", "run_ns", NULL));
    for (; next < count && indices[next] < at + size; next++) {
      size_t i = indices[next] - at;
      outlier_kind kind = kind_of(trial, i);
      kinds[kind]++;
      all[next] = (outlier){runs[indices[next]], t + 1, (int64_t)i + 1,
                            cause_text(run->arena, kind, trial, i)};
    }
    at += size;
  }
  if (!status)
    status = hsc_arena_status(run->arena);
  if (next)
    qsort(all, next, sizeof *all, by_time);
  for (size_t i = 0; i < next && i < NAMED && !status; i++)
    json_array_append_new(
        named, json_pack("{s:I, s:I, s:f, s:f, s:s}", "trial", (json_int_t)all[i].trial, "run",
                         (json_int_t)all[i].run, "seconds", hsc__seconds(all[i].ns),
                         "times_the_median", all[i].ns / median, "cause", all[i].cause));
  static const char *const names[KINDS] = {
      "with_context_switch", "with_page_faults",     "with_stops",    "with_throttling",
      "with_runqueue",       "with_memory_pressure", "with_pressure", "without_recorded_cause"};
  json_object_set_new(out_object, "count", json_integer((json_int_t)count));
  json_object_set_new(out_object, "of", json_integer((json_int_t)n));
  for (int k = 0; k < KINDS; k++)
    json_object_set_new(out_object, names[k], json_integer((json_int_t)kinds[k]));
  json_object_set_new(out_object, "named", named);
  hsc_free(runs);
  hsc_free(indices);
  hsc_free(all);
  return status;
}
