// patterns_series.c - numbers out of answers, summaries of series, outliers by name.
#include <math.h>

#include "lab/patterns/patterns_internal.h"

// ---- numbers out of answers ---------------------------------------------------------------------

static json_t *record_of(json_t *answer, int which) {
  return json_array_get(json_object_get(answer, "records"), (size_t)which);
}

double *hsc__patterns_totals(const patterns_run *run,
                             const pattern_config *config,
                             int which,
                             size_t *out_count,
                             size_t *out_trials) {
  size_t trials = (size_t)run->trials;
  double *totals = hsc_alloc((trials + 1) * sizeof(double));
  *out_count = 0;
  for (size_t t = 0; totals && t < trials; t++) {
    double total =
        hsc_json_number(json_object_get(record_of(config->trials[t], which), "total_ns"));
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

// Outliers among the runs behind the recorded ones: how many, of what cause, and the largest by
// name.
hsc_status *hsc__patterns_series_outliers(const patterns_run *run,
                                          const pattern_config *config,
                                          json_t *out_object) {
  enum { NAMED = 8 };
  size_t n, blocks;
  double *runs = hsc__patterns_runs(run, config, &n, NULL, &blocks);
  size_t *indices = hsc_alloc((n + 1) * sizeof(size_t));
  if (!runs || !indices) {
    hsc_free(runs);
    hsc_free(indices);
    return hsc_status_out_of_memory();
  }
  size_t count = hsc_stats_outliers(runs, n, indices);
  size_t with_switch = 0;
  size_t with_faults = 0;
  size_t with_throttling = 0;
  size_t with_pressure = 0;
  size_t at = 0;
  size_t next = 0;
  double median = hsc_stats_median(runs, n);
  json_t *named = json_array();
  // Walk the trials in the order in which their series were put together.
  for (int64_t t = 0; t < run->trials; t++) {
    json_t *series = json_object_get(config->trials[t], "series");
    double throttled = hsc_json_number(json_object_get(config->trials[t], "throttled_ns"));
    double waited = hsc_json_number(json_object_get(config->trials[t], "waited_ns"));
    size_t size = json_array_size(json_object_get(series, "run_ns"));
    for (; next < count && indices[next] < at + size; next++) {
      size_t i = indices[next] - at;
      double switches =
          hsc_json_number(json_array_get(json_object_get(series, "involuntary_switches_count"), i));
      double faults =
          hsc_json_number(json_array_get(json_object_get(series, "page_faults_count"), i));
      bool of_run = switches > 0 || faults > 0;  // else what its trial lost to others
      with_switch += switches > 0;
      with_faults += !(switches > 0) && faults > 0;
      with_throttling += !of_run && throttled > 0;
      with_pressure += !of_run && !(throttled > 0) && waited > 0;
      if (json_array_size(named) >= NAMED)
        continue;
      char cause[96];
      if (switches > 0)
        snprintf(cause, sizeof cause, "%.0f involuntary context switches", switches);
      else if (faults > 0)
        snprintf(cause, sizeof cause, "%.0f page faults", faults);
      else if (throttled > 0)
        snprintf(cause, sizeof cause,
                 "its trial was throttled for %.3g ms: the processor quota was used up",
                 throttled / 1e6);
      else if (waited > 0)
        snprintf(cause, sizeof cause,
                 "pressure: %.3g ms of its trial somebody waited for a processor", waited / 1e6);
      else
        snprintf(cause, sizeof cause, "no recorded cause");
      json_array_append_new(
          named, json_pack("{s:I, s:I, s:f, s:f, s:s}", "trial", (json_int_t)t + 1, "run",
                           (json_int_t)i + 1, "seconds", hsc__seconds(runs[indices[next]]),
                           "times_the_median", runs[indices[next]] / median, "cause", cause));
    }
    at += size;
  }
  json_object_set_new(out_object, "count", json_integer((json_int_t)count));
  json_object_set_new(out_object, "of", json_integer((json_int_t)n));
  json_object_set_new(out_object, "with_context_switch", json_integer((json_int_t)with_switch));
  json_object_set_new(out_object, "with_page_faults", json_integer((json_int_t)with_faults));
  json_object_set_new(out_object, "with_throttling", json_integer((json_int_t)with_throttling));
  json_object_set_new(out_object, "with_pressure", json_integer((json_int_t)with_pressure));
  json_object_set_new(out_object, "without_recorded_cause",
                      json_integer((json_int_t)(count - with_switch - with_faults -
                                                with_throttling - with_pressure)));
  json_object_set_new(out_object, "named", named);
  hsc_free(runs);
  hsc_free(indices);
  return NULL;
}
