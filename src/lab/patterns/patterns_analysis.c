// patterns_analysis.c - per configuration: series, phases, and the derived figures beside the
// measured ones.
#include <math.h>

#include "lab/patterns/patterns_internal.h"

static double ns_of(json_t *object, const char *key) {
  double value = hsc_json_number(json_object_get(object, key));
  return isnan(value) ? 0 : value;
}

static json_t *seconds_array(const double *ns, size_t n) {
  json_t *array = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(array, hsc_json_real(hsc__seconds(ns[i])));
  return array;
}

static double median_seconds(json_t *summary) {
  return hsc_json_number(json_object_get(summary, "median"));
}

// ---- patterns -----------------------------------------------------------------------------------

static json_t *record_phases(json_t *record) {
  static const char *const names[][2] = {{"compile", "compile_ns"},
                                         {"compile_lookup", "lookup_ns"},
                                         {"compile_disk_read", "disk_ns"},
                                         {"executable_load", "load_ns"},
                                         {"setup", "setup_ns"},
                                         {"transfer_in", "transfer_in_ns"},
                                         {"execute", "enqueue_ns"},
                                         {"sync", "wait_ns"}};
  json_t *phases = json_object();
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    json_object_set_new(phases, names[i][0],
                        hsc_json_real(hsc__seconds(ns_of(record, names[i][1]))));
  json_object_set(phases, "compile_outcome", json_object_get(record, "compile"));
  json_object_set(phases, "page_faults", json_object_get(record, "page_faults"));
  json_object_set(phases, "involuntary_switches", json_object_get(record, "involuntary_switches"));
  return phases;
}

static json_t *detailed_timings(const patterns_run *run, const pattern_config *config) {
  json_t *list = json_array();
  for (int64_t t = 0; t < run->trials; t++) {
    json_t *answer = config->trials[t];
    json_t *cold = json_object_get(config->colds[t], "series");
    if (!answer)
      continue;
    double first = ns_of(hsc_answer_run_record(answer, 0), "total_ns");
    double cached = ns_of(hsc_answer_run_record(answer, 1), "total_ns");
    json_t *row = json_pack("{s:I, s:f, s:f, s:f, s:{s:o, s:o, s:f}}", "trial", (json_int_t)t + 1,
                            "first_run", hsc__seconds(first), "cached_run", hsc__seconds(cached),
                            "difference", hsc__seconds(first - cached), "phases", "first_run",
                            record_phases(hsc_answer_run_record(answer, 0)), "cached_run",
                            record_phases(hsc_answer_run_record(answer, 1)), "transfer_out",
                            hsc__seconds(ns_of(answer, "transfer_out_ns")));
    const char *key;
    json_t *values;
    json_t *from_nothing = json_object();
    json_object_foreach (cold, key, values) {
      size_t length = strlen(key);
      if (length < 4 || strcmp(key + length - 3, "_ns") != 0 || !json_array_size(values))
        continue;
      char name[64];
      snprintf(name, sizeof name, "%.*s", (int)length - 3, key);
      json_object_set_new(from_nothing, name,
                          hsc_json_real(hsc__seconds(hsc_json_number(json_array_get(values, 0)))));
    }
    json_object_set_new(row, "from_nothing", from_nothing);
    json_array_append_new(list, row);
  }
  return list;
}

// Summaries of every phase that was measured for this configuration.
static json_t *phase_summaries(const patterns_run *run, const pattern_config *config) {
  static const char *const cold[][2] = {{"compile_miss", "compile_ns"},
                                        {"compile_memory", "memory_hit_ns"},
                                        {"compile_disk_read", "disk_read_ns"},
                                        {"executable_load", "disk_load_ns"},
                                        {"serialize", "serialize_ns"},
                                        {"client_create", "client_create_ns"},
                                        {"first_execution", "first_execution_ns"},
                                        {"client_destroy", "client_destroy_ns"}};
  json_t *phases = json_object();
  uint64_t seed = run->options->seed;
  size_t n;
  size_t trials = (size_t)run->trials;
  for (size_t i = 0; i < HSC_COUNT_OF(cold); i++) {
    double *values = hsc__patterns_cold(run, config, cold[i][1], &n);
    if (n)
      json_object_set_new(phases, cold[i][0], hsc__summary_json(values, n, seed));
    hsc_free(values);
  }
  double *read = hsc__patterns_cold(run, config, "disk_read_ns", &n);
  double *load = hsc__patterns_cold(run, config, "disk_load_ns", &n);
  for (size_t i = 0; read && load && i < n; i++)
    read[i] += load[i];
  size_t asked = 0;
  double *dropped = hsc__patterns_cold(run, config, "read_from_disk_count", &asked);
  if (read && n) {
    json_t *summary = hsc__summary_json(read, n, seed);
    // else the kernel still had it in memory
    json_object_set_new(summary, "read_from_disk",
                        json_boolean(asked > 0 && hsc_stats_min(dropped, asked) > 0));
    json_object_set_new(phases, "compile_disk", summary);
  }
  hsc_free(dropped);
  hsc_free(read);
  hsc_free(load);
  double *values = hsc_alloc((trials + 1) * sizeof(double));
  static const char *const warm[][2] = {
      {"transfer_in", "transfer_in_ns"}, {"execute", "enqueue_ns"}, {"sync", "wait_ns"}};
  for (size_t i = 0; values && i < HSC_COUNT_OF(warm); i++) {
    n = 0;
    for (size_t t = 0; t < trials; t++) {
      // inputs are transferred before the first run of a trial
      json_t *record = hsc_answer_run_record(config->trials[t], i == 0 ? 0 : 1);
      if (record)
        values[n++] = ns_of(record, warm[i][1]);
    }
    if (n)
      json_object_set_new(phases, warm[i][0], hsc__summary_json(values, n, seed));
  }
  n = 0;
  for (size_t t = 0; values && t < trials; t++)
    if (json_object_get(config->trials[t], "transfer_out_ns"))
      values[n++] = ns_of(config->trials[t], "transfer_out_ns");
  if (n)
    json_object_set_new(phases, "transfer_out", hsc__summary_json(values, n, seed));
  hsc_free(values);
  return phases;
}

// Modes where there are several: then no single number tells the runs.
static hsc_status *add_modes(const double *ns, size_t n, json_t *out_object) {
  hsc_mode modes[8];
  size_t count = 0;
  json_t *rows = json_array();
  json_object_set_new(out_object, "modes", rows);
  HSC_TRY(hsc_stats_modes(ns, n, modes, HSC_COUNT_OF(modes), &count));
  for (size_t i = 0; i < count; i++)
    json_array_append_new(
        rows, json_pack("{s:f, s:f, s:f, s:I, s:f}", "median", hsc__seconds(modes[i].median), "low",
                        hsc__seconds(modes[i].low), "high", hsc__seconds(modes[i].high), "count",
                        (json_int_t)modes[i].count, "share", modes[i].share));
  return NULL;
}

// The steady runs: location and interval from the trials' medians (runs within a trial are not
// independent), behaviour from all of them in order.
static hsc_status *steady_runs(const patterns_run *run,
                               const pattern_config *config,
                               json_t *out_object) {
  size_t n, block_count, medians_count;
  double *runs = hsc__patterns_runs(run, config, &n, NULL, &block_count);
  double *medians = hsc__patterns_block_medians(run, config, &medians_count);
  if (!runs || !medians) {
    hsc_free(runs);
    hsc_free(medians);
    return hsc_status_out_of_memory();
  }
  hsc_status *status = NULL;
  if (n) {
    json_t *summary = hsc__summary_json(runs, n, run->options->seed);
    json_t *of_medians = hsc__summary_json(medians, medians_count, run->options->seed);
    json_object_update(out_object, summary);
    json_object_set_new(out_object, "blocks", json_integer((json_int_t)block_count));
    const char *const taken[] = {"median", "low", "high"};
    for (size_t i = 0; i < HSC_COUNT_OF(taken); i++)
      json_object_set(out_object, taken[i], json_object_get(of_medians, taken[i]));
    // With so few trials a bootstrap of their medians is too narrow; the trials' own interval is
    // widened by what few blocks show.
    hsc_interval i = config->sampling.interval;
    if (config->sampling.upper_count > 1 && isfinite(i.low)) {
      json_object_set_new(out_object, "median", hsc_json_real(i.estimate));
      json_object_set_new(out_object, "low", hsc_json_real(fmax(0, i.low)));
      json_object_set_new(out_object, "high", hsc_json_real(i.high));
    }
    json_decref(summary);
    json_decref(of_medians);
    hsc_series series;
    HSC_GOTO(hsc_stats_classify(medians, medians_count, &series));
    json_object_set_new(out_object, "class",
                        json_string(hsc_series_class_text(series.series_class)));
    json_t *outliers = json_object();
    json_object_set_new(out_object, "outliers", outliers);
    if (config->sampling.count)
      json_object_set_new(out_object, "sampling", hsc_sampling_json(&config->sampling));
    HSC_GOTO(add_modes(runs, n, out_object));
    HSC_GOTO(hsc__patterns_series_outliers(run, config, outliers));
  }
done:
  hsc_free(runs);
  hsc_free(medians);
  return status;
}

static void copy_facts(json_t *to, json_t *from) {
  static const char *const keys[] = {
      "fingerprint", "program_instructions", "instructions", "fusions", "flops",  "bytes",
      "cost_from",   "code_bytes",           "temp_bytes",   "inputs",  "outputs"};
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    if (json_object_get(from, keys[i]))
      json_object_set(to, keys[i], json_object_get(from, keys[i]));
}

static hsc_status *analyse_config(const patterns_run *run, pattern_config *config, json_t *result) {
  json_t *r = config->result;
  size_t nf, nc;
  double *first = hsc__patterns_totals(run, config, 0, &nf, NULL);
  double *cached = hsc__patterns_totals(run, config, 1, &nc, NULL);
  hsc_status *status = NULL;
  if (!first || !cached)
    HSC_GOTO(hsc_status_out_of_memory());
  size_t n = nf < nc ? nf : nc;
  size_t skip = run->options->exclude_first_trial && n > 1 ? 1 : 0;
  const char *measured = n ? "ok" : "not_measured";
  json_object_set_new(r, "status", json_string(config->outcome ? config->outcome : measured));
  json_object_set_new(r, "message", config->message ? json_string(config->message) : json_null());
  json_object_set_new(r, "graph", json_string(config->graph));
  json_object_set_new(r, "pattern", json_string(config->pattern->key));
  json_object_set_new(r, "program", json_string(config->program));
  json_object_set_new(r, "transform",
                      config->transform ? json_string(config->transform) : json_null());
  json_object_set_new(r, "executions", json_integer(config->pattern->executions));
  json_object_set_new(r, "syncs", json_integer(config->pattern->syncs));
  if (config->fed_note)
    json_object_set_new(r, "note", json_string(config->fed_note));
  copy_facts(r, config->describe);
  json_object_set_new(
      r, "work",
      config->work ? hsc_answer_members(&hsc_answer_work_layout, config->work) : json_null());
  json_object_set_new(r, "first_run_times", seconds_array(first, n));
  json_object_set_new(r, "cached_run_times", seconds_array(cached, n));
  if (n) {
    double *difference = hsc_alloc(n * sizeof(double));
    if (!difference)
      HSC_GOTO(hsc_status_out_of_memory());
    for (size_t i = 0; i < n; i++)
      difference[i] = first[i] - cached[i];
    json_object_set_new(r, "compilation_times", seconds_array(difference, n));
    json_object_set_new(r, "first_run_mean",
                        hsc_json_real(hsc__seconds(hsc_stats_mean(first + skip, n - skip))));
    json_object_set_new(r, "cached_run_mean",
                        hsc_json_real(hsc__seconds(hsc_stats_mean(cached + skip, n - skip))));
    json_object_set_new(r, "compilation_time_mean",
                        hsc_json_real(hsc__seconds(hsc_stats_mean(difference + skip, n - skip))));
    json_object_set_new(r, "first_run",
                        hsc__summary_json(first + skip, n - skip, run->options->seed));
    json_object_set_new(r, "cached_run",
                        hsc__summary_json(cached + skip, n - skip, run->options->seed));
    hsc_free(difference);
  }
  json_t *steady = json_object();
  json_t *slow = json_array();
  json_object_set_new(r, "run", steady);
  HSC_GOTO(steady_runs(run, config, steady));
  json_object_set_new(r, "phases", phase_summaries(run, config));
  json_object_set_new(r, "slow_runs", slow);
  HSC_GOTO(hsc__patterns_causes(run, config, slow));
  json_object_set_new(r, "detailed_timings", detailed_timings(run, config));
done:
  hsc_free(first);
  hsc_free(cached);
  return status;
}

// ---- warm-up ------------------------------------------------------------------------------------

static hsc_status *warmup_data(const patterns_run *run, const pattern_config *config, json_t *all) {
  json_t *records = json_object_get(config->warmup, "records");
  json_t *record;
  size_t n = json_array_size(records);
  size_t i;
  if (n == 0 || run->options->warmup_iterations == 0)
    return NULL;
  double *times = hsc_alloc(n * sizeof(double));
  if (!times)
    return hsc_status_out_of_memory();
  json_array_foreach (records, i, record)
    times[i] = ns_of(record, "total_ns");
  hsc_series series;
  hsc_status *status = hsc_stats_classify(times, n, &series);
  // The steady part; a series too short to tell loses the iteration that compiled, as long as
  // another one is left.
  size_t from;
  if (series.series_class == HSC_SERIES_TOO_SHORT) {
    if (n > 1)
      from = 1;
    else
      from = 0;
  } else if (series.steady_start < n)
    from = series.steady_start;
  else
    from = n - 1;
  if (!status)
    json_object_set_new(
        all, config->key,
        json_pack("{s:o, s:f, s:f, s:f, s:s, s:I}", "warmup_times", seconds_array(times, n),
                  "warmup_mean", hsc__seconds(hsc_stats_mean(times + from, n - from)),
                  "warmup_trend", hsc__seconds(times[n - 1] - times[0]), "warmup_mean_all",
                  hsc__seconds(hsc_stats_mean(times, n)), "class",
                  hsc_series_class_text(series.series_class), "steady_from", (json_int_t)from + 1));
  hsc_free(times);
  return status;
}

// ---- dominance ----------------------------------------------------------------------------------

static void append_quantity(hsc_bytes *text, double seconds) {
  char number[32];
  hsc_format_quantity(seconds, "s", false, number);
  hsc_bytes_append_text(text, number);
}

// Why first - cached is not the compile time, from the phases of the very same runs.
static json_t *why_compile_differs(const patterns_run *run,
                                   const pattern_config *config,
                                   double derived_mean,
                                   double measured) {
  hsc_bytes text = {0};
  json_t *first = hsc_answer_run_record(config->trials[0], 0);
  json_t *cached = hsc_answer_run_record(config->trials[0], 1);
  double difference = hsc__seconds(ns_of(first, "total_ns") - ns_of(cached, "total_ns"));
  double compile = hsc__seconds(ns_of(first, "compile_ns"));
  if (first && cached && compile > 0) {
    double transfer = hsc__seconds(ns_of(first, "transfer_in_ns"));
    double rest = difference - compile - transfer;
    hsc_bytes_append_text(&text, "trial 1: first - cached is ");
    append_quantity(&text, difference);
    hsc_bytes_append_text(&text, ", of which the compile is ");
    append_quantity(&text, compile);
    hsc_bytes_append_text(&text, ", the transfer of the inputs ");
    append_quantity(&text, transfer);
    hsc_bytes_printf(&text, ", first touch and cold caches ");
    append_quantity(&text, rest);
    hsc_bytes_printf(&text, " (%.0f page faults)", ns_of(first, "page_faults"));
  }
  bool hits = !run->options->enable_device_reinit && derived_mean < 0.5 * measured;
  if (hits) {
    if (text.size)
      hsc_bytes_append_text(&text, "; ");
    hsc_bytes_append_text(&text, "later trials found the program in memory, so their difference (");
    append_quantity(&text, derived_mean);
    hsc_bytes_append_text(&text, " on average) holds no compile at all, although one costs ");
    append_quantity(&text, measured);
  }
  json_t *why = text.size ? json_string(hsc_bytes_text(&text)) : json_null();
  hsc_bytes_deinit(&text);
  return why;
}

static void dominance(const patterns_run *run,
                      const pattern_config *config,
                      double sync_baseline,
                      json_t *all) {
  json_t *r = config->result;
  json_t *phases = json_object_get(r, "phases");
  double first = hsc_json_number(json_object_get(r, "first_run_mean"));
  double cached = hsc_json_number(json_object_get(r, "cached_run_mean"));
  if (isnan(first) || isnan(cached))
    return;
  // The derivation of the seed: what is left of the cached run without `syncs` times the baseline
  // is execution; first - cached is compilation.
  double overhead = sync_baseline * config->pattern->syncs;
  double execution = cached - overhead;
  double derived = hsc_json_number(json_object_get(r, "compilation_time_mean"));
  double derived_first =
      hsc_json_number(json_array_get(json_object_get(r, "compilation_times"), 0));
  double measured = median_seconds(json_object_get(phases, "compile_miss"));
  double run_median = median_seconds(json_object_get(r, "run"));
  json_t *row =
      json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "sync_count", config->pattern->syncs,
                "sync_overhead", overhead, "actual_execution_time", execution, "compilation_time",
                derived, "compilation_time_first_trial", derived_first, "compilation_ratio",
                derived + execution > 0 ? derived / (derived + execution) : 0.0, "cache_speedup",
                first / cached, "graph_sync_ratio",
                (double)config->pattern->executions / config->pattern->syncs);
  static const char *const measured_phases[] = {"compile_miss", "compile_memory", "compile_disk",
                                                "execute", "sync"};
  json_t *beside = json_object();
  for (size_t i = 0; i < HSC_COUNT_OF(measured_phases); i++) {
    json_t *phase = json_object_get(phases, measured_phases[i]);
    json_object_set_new(beside, measured_phases[i], phase ? json_incref(phase) : json_null());
  }
  json_object_set_new(beside, "run", hsc_json_real(run_median));
  json_object_set_new(beside, "compilation_ratio",
                      hsc_json_real(measured / (measured + run_median)));
  json_object_set_new(row, "measured", beside);
  json_object_set_new(row, "why_they_differ", why_compile_differs(run, config, derived, measured));
  json_object_set_new(all, config->key, row);
}

hsc_status *hsc__patterns_analyse(patterns_run *run, json_t *result) {
  json_t *patterns = json_object();
  json_t *warmups = json_object();
  json_t *dominances = json_object();
  json_object_set_new(result, "patterns", patterns);
  json_object_set_new(result, "warmup_data", warmups);
  json_object_set_new(result, "compilation_dominance", dominances);
  double baseline = hsc_json_number(hsc_json_path(result, "sync_baseline", "mean", NULL));
  for (size_t i = 0; i < run->config_count; i++) {
    pattern_config *config = &run->configs[i];
    config->result = json_object();
    json_object_set_new(patterns, config->key, config->result);
    HSC_TRY(analyse_config(run, config, result));
    HSC_TRY(warmup_data(run, config, warmups));
    dominance(run, config, isnan(baseline) ? 0 : baseline, dominances);
  }
  return NULL;
}
