// patterns_model.c - time(k executions, s synchronisations) = initialisation + compile + first use
// + a s + b k.
//
// a and b come from fits over measured (k, s) in several worker processes (patterns_fit.c); the
// other terms are medians of what was measured by itself. The fit is checked on points that it has
// not seen, on the measured run of the pattern (a model that misses it is refused), and the whole
// sum on complete ways from nothing with more executions than any of the rounds that its terms come
// from. When compiling pays, and where patterns cross, comes from what was measured, not from the
// model.
#include <math.h>

#include "lab/patterns/patterns_internal.h"
#include "stats/stats_design.h"

// The model is refused where it misses the measured run of its pattern by more than this.
static const double MISS_MOST = 0.1;

static json_t *interval_json(double estimate, double low, double high) {
  return json_pack("{s:o, s:o, s:o}", "estimate", hsc_json_real(estimate), "low",
                   hsc_json_real(low), "high", hsc_json_real(high));
}

static json_t *seconds_interval(hsc_interval i) {
  return interval_json(hsc__seconds(i.estimate), hsc__seconds(i.low), hsc__seconds(i.high));
}

static hsc_interval median_interval(const patterns_run *run, double *values, size_t n) {
  hsc_interval interval = {NAN, NAN, NAN};
  hsc_status *status = n ? hsc_stats_bootstrap(hsc_stats_median, values, n,
                                               &(hsc_interval_options){.seed = run->options->seed,
                                                                       .resample_count = 1000},
                                               &interval)
                         : NULL;
  hsc_status_free(status);
  hsc_free(values);
  return interval;
}

static hsc_interval cold_interval(const patterns_run *run,
                                  const pattern_config *config,
                                  const char *series) {
  size_t n;
  double *values = hsc__patterns_cold(run, config, series, &n);
  return median_interval(run, values, n);
}

// Plugin load + initialise + client, over the starts.
static hsc_interval initialisation(const patterns_run *run) {
  size_t n = json_array_size(run->starts);
  double *sums = hsc_alloc((n + 1) * sizeof(double));
  for (size_t i = 0; sums && i < n; i++) {
    json_t *start = json_array_get(run->starts, i);
    sums[i] = hsc_json_number(json_object_get(start, "plugin_load_ns")) +
              hsc_json_number(json_object_get(start, "plugin_initialize_ns")) +
              hsc_json_number(json_object_get(start, "client_create_ns"));
  }
  return median_interval(run, sums, sums ? n : 0);
}

// What the first use of a compiled program costs beyond a warm execution: setup, transfer of the
// inputs, cold code and pages.
static hsc_interval first_use(const patterns_run *run,
                              const pattern_config *config,
                              double warm_ns) {
  size_t n, m, l;
  double *setup = hsc__patterns_cold(run, config, "setup_ns", &n);
  double *transfer = hsc__patterns_cold(run, config, "transfer_in_ns", &m);
  double *first = hsc__patterns_cold(run, config, "first_execution_ns", &l);
  for (size_t i = 0; setup && transfer && first && i < n && i < m && i < l; i++)
    setup[i] += transfer[i] + first[i] - warm_ns;
  hsc_free(transfer);
  hsc_free(first);
  return median_interval(run, setup, n);
}

// The points that `answers` measured against the model; a point's time is the median over the
// processes.
static json_t *check_points(const hsc__time_model *model,
                            json_t *const *answers,
                            double *out_worst,
                            bool *out_all_inside) {
  hsc__point points[HSC__MODEL_PROCESSES][HSC__POINTS_MOST];
  size_t counts[HSC__MODEL_PROCESSES] = {0};
  json_t *rows = json_array();
  size_t most = 0;
  for (size_t p = 0; p < HSC__MODEL_PROCESSES; p++) {
    counts[p] = hsc__points_of(answers[p], points[p]);
    if (counts[p] > counts[most])
      most = p;
  }
  for (size_t i = 0; i < counts[most]; i++) {
    const hsc__point *at = &points[most][i];
    double medians[HSC__MODEL_PROCESSES];
    size_t n = 0;
    for (size_t p = 0; p < HSC__MODEL_PROCESSES; p++)
      for (size_t k = 0; k < counts[p]; k++)
        if (points[p][k].executions == at->executions && points[p][k].syncs == at->syncs)
          medians[n++] = points[p][k].median_ns;
    double measured = hsc_stats_median(medians, n);
    hsc_interval guess = hsc__time_model_at(model, at->syncs, at->executions);
    double error = guess.estimate / measured - 1;
    bool inside = guess.low <= measured && measured <= guess.high;
    if (fabs(error) > *out_worst)
      *out_worst = fabs(error);
    *out_all_inside &= inside;
    json_array_append_new(
        rows,
        json_pack("{s:f, s:f, s:I, s:f, s:o, s:f, s:b}", "executions", at->executions, "syncs",
                  at->syncs, "processes", (json_int_t)n, "measured", hsc__seconds(measured),
                  "predicted", seconds_interval(guess), "relative_error", error, "inside", inside));
  }
  return rows;
}

// What one execution with its synchronisation takes by itself, warm, ns; NaN = not measured.
static double single_run(const pattern_config *config) {
  double medians[HSC__MODEL_PROCESSES];
  size_t n = 0;
  for (size_t p = 0; p < HSC__MODEL_PROCESSES; p++) {
    hsc__point points[HSC__POINTS_MOST];
    size_t count = hsc__points_of(config->model[p], points);
    for (size_t i = 0; i < count; i++)
      if (points[i].executions == 1 && points[i].syncs == 1)
        medians[n++] = points[i].median_ns;
  }
  return n ? hsc_stats_median(medians, n) : NAN;
}

// The first n at which compile / (compile + n run) falls below `share`; both as measured.
static json_t *runs_until(hsc_interval compile, hsc_interval run_time, double share) {
  hsc_interval n = hsc_stats_break_even(compile, run_time, share);
  return interval_json(n.estimate, n.low, n.high);
}

static json_t *whole_way(
    const patterns_run *run, const pattern_config *config, double constant_ns, double a, double b) {
  double k = hsc_json_number(json_object_get(config->cold_holdout, "executions"));
  double s = hsc_json_number(json_object_get(config->cold_holdout, "syncs"));
  size_t n;
  double *totals =
      hsc_json_doubles(hsc_json_path(config->cold_holdout, "series", "total_ns", NULL), &n);
  if (n == 0)
    return json_null();
  double measured = hsc_stats_median(totals, n);
  double least = hsc_stats_min(totals, n);
  double most = hsc_stats_max(totals, n);
  double predicted = constant_ns + a * s + b * k;
  hsc_free(totals);
  return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f}", "executions", k, "syncs", s,
                   "measured", hsc__seconds(measured), "min", hsc__seconds(least), "max",
                   hsc__seconds(most), "predicted", hsc__seconds(predicted), "n", (json_int_t)n,
                   "relative_error", predicted / measured - 1);
}

// The steady run as it was measured, ns.
static hsc_interval measured_run(const pattern_config *config) {
  json_t *run = json_object_get(config->result, "run");
  return (hsc_interval){1e9 * hsc_json_number(json_object_get(run, "median")),
                        1e9 * hsc_json_number(json_object_get(run, "low")),
                        1e9 * hsc_json_number(json_object_get(run, "high"))};
}

// A synchronisation waits for what is under way and costs something itself; the second is known
// from synchronisations with nothing to wait for.
static json_t *sync_split(const pattern_config *config, double idle_s, double run_s) {
  double wait = hsc_json_number(hsc_json_path(config->result, "phases", "sync", "median", NULL));
  if (isnan(wait) || isnan(idle_s))
    return json_null();
  double overhead = fmin(wait, idle_s * config->pattern->syncs);
  double waiting = wait - overhead;
  if (waiting < 1e-10) {  // under what any clock tells: what subtracting leaves of equal numbers
    overhead = wait;
    waiting = 0;
  }
  return json_pack("{s:i, s:f, s:f, s:f, s:o}", "syncs", config->pattern->syncs, "total", wait,
                   "waiting_for_execution", waiting, "overhead", overhead, "overhead_share_of_run",
                   run_s > 0 ? hsc_json_real(overhead / run_s) : json_null());
}

static void put_break_even(hsc_interval compile, hsc_interval measured, json_t *out) {
  json_object_set_new(out, "runs_until_compile_under_half", runs_until(compile, measured, 0.5));
  json_object_set_new(out, "runs_until_compile_under_tenth", runs_until(compile, measured, 0.1));
  json_t *share = json_array();
  for (double n = 1; n <= 1e5 && measured.estimate > 0; n *= 10)
    json_array_append_new(share,
                          json_pack("{s:f, s:f}", "runs", n, "compile_share",
                                    hsc_stats_dominance(compile.estimate, measured.estimate, n)));
  json_object_set_new(out, "compile_share", share);
}

static void put_fit(const hsc__time_model *model, bool refused, json_t *out) {
  static const hsc_interval none = {NAN, NAN, NAN};
  json_object_set_new(out, "a_sync", seconds_interval(refused ? none : model->term[0]));
  json_object_set_new(out, "b_execution", seconds_interval(refused ? none : model->term[1]));
  json_object_set_new(out, "sync_is_told_apart", json_boolean(!refused && model->term[0].low > 0));
  json_object_set_new(out, "processes", json_integer((json_int_t)model->process_count));
  json_object_set_new(out, "relative_residual", hsc_json_real(model->residual));
}

static json_t *why_refused(double predicted_ns, double measured_ns) {
  char p[32], m[32];
  hsc_format_quantity(hsc__seconds(predicted_ns), "s", false, p);
  hsc_format_quantity(hsc__seconds(measured_ns), "s", false, m);
  return json_sprintf("it gives %s for the run that was measured at %s (%+.0f %%)", p, m,
                      100 * (predicted_ns / measured_ns - 1));
}

static hsc_status *fit_config(const patterns_run *run,
                              const pattern_config *config,
                              hsc_interval init,
                              double idle_sync_s,
                              json_t *out_model,
                              hsc_interval *out_compile,
                              hsc_interval *out_run) {
  hsc_interval compile = cold_interval(run, config, "compile_ns");
  hsc_interval client = cold_interval(run, config, "client_create_ns");
  hsc_interval once = first_use(run, config, single_run(config));
  hsc_interval measured = measured_run(config);
  *out_compile = compile;
  *out_run = measured;
  json_object_set_new(out_model, "initialisation", seconds_interval(init));
  json_object_set_new(out_model, "compile", seconds_interval(compile));
  json_object_set_new(out_model, "first_use", seconds_interval(once));
  json_object_set_new(out_model, "measured_run", seconds_interval(measured));
  json_object_set_new(out_model, "sync_split",
                      sync_split(config, idle_sync_s, hsc__seconds(measured.estimate)));
  put_break_even(compile, measured, out_model);
  hsc__time_model model;
  HSC_TRY(hsc__time_model_fit(config->model, HSC__MODEL_PROCESSES, &model));
  if (!model.process_count)
    return NULL;
  double ks = config->pattern->executions;
  double ss = config->pattern->syncs;
  hsc_interval per_run = hsc__time_model_at(&model, ss, ks);
  double worst = 0;
  double unused = 0;
  bool all_inside = true;
  bool ignored = true;
  json_t *fitted = check_points(&model, config->model, &unused, &ignored);
  json_t *checked = check_points(&model, config->holdout, &worst, &all_inside);
  bool held = json_array_size(checked) > 0;
  bool refused = !(fabs(per_run.estimate / measured.estimate - 1) <= MISS_MOST);
  json_object_set_new(
      out_model, "formula",
      json_string(
          "time(k executions, s syncs) = initialisation + compile + first_use + a s + b k"));
  json_object_set_new(out_model, "refused",
                      refused ? why_refused(per_run.estimate, measured.estimate) : json_null());
  put_fit(&model, refused, out_model);
  json_object_set_new(out_model, "run", seconds_interval(per_run));
  json_object_set_new(out_model, "fitted", fitted);
  json_object_set_new(out_model, "held_out", checked);
  json_object_set_new(out_model, "held_out_worst_relative_error",
                      held ? hsc_json_real(worst) : json_null());
  json_object_set_new(out_model, "held_out_all_inside",
                      held ? json_boolean(all_inside) : json_null());
  json_object_set_new(
      out_model, "from_nothing",
      refused ? json_null()
              : whole_way(run, config, client.estimate + compile.estimate + once.estimate,
                          model.term[0].estimate, model.term[1].estimate));
  return NULL;
}

// ---- theoretical_analysis -----------------------------------------------------------------------

static void quantity(double seconds, char out[32]) {
  hsc_format_quantity(seconds, "s", false, out);
}

// Says why first_trials[0] - mean(the others) is not the initialisation of the device.
static json_t *why_initialisation_differs(const patterns_run *run,
                                          const pattern_config *config,
                                          double derived,
                                          hsc_interval init) {
  if (run->options->enable_device_reinit)
    return json_string(
        "every trial made a new client, so no trial differs from the others by an initialisation; "
        "the measured one is "
        "its own phase");
  json_t *first = json_array_get(json_object_get(config->trials[0], "records"), 0);
  double compile = hsc__seconds(hsc_json_number(json_object_get(first, "compile_ns")));
  double transfer = hsc__seconds(hsc_json_number(json_object_get(first, "transfer_in_ns")));
  char d[32], c[32], t[32], i[32], text[512];
  if (!(compile > 0))
    return json_null();
  quantity(derived, d);
  quantity(compile, c);
  quantity(transfer, t);
  quantity(hsc__seconds(init.estimate), i);
  snprintf(text, sizeof text,
           "the first trial is %s slower than the others because it compiles (%s) and transfers "
           "(%s); the device was "
           "ready before: loading the "
           "plugin and creating the client take %s and happened once, when the worker started",
           d, c, t, i);
  return json_string(text);
}

static void theory(const patterns_run *run,
                   const pattern_config *config,
                   json_t *result,
                   hsc_interval init,
                   json_t *model,
                   json_t *all) {
  size_t n;
  double *first = hsc__patterns_totals(run, config, 0, &n, NULL);
  json_t *warmup = hsc_json_path(result, "warmup_data", config->key, NULL);
  json_t *r = config->result;
  double derived_init = n > 1 ? hsc__seconds(first[0] - hsc_stats_mean(first + 1, n - 1)) : NAN;
  double true_time = hsc_json_number(json_object_get(warmup, "warmup_mean"));
  if (isnan(true_time))
    true_time = hsc_json_number(json_object_get(r, "cached_run_mean"));
  json_t *row =
      json_pack("{s:o, s:o, s:o}", "device_initialization_time", hsc_json_real(derived_init),
                "true_execution_time", hsc_json_real(true_time), "warmup_stabilization",
                warmup ? json_incref(json_object_get(warmup, "warmup_trend")) : json_null());
  json_object_set_new(
      row, "measured",
      json_pack("{s:o, s:o, s:o}", "device_initialization", seconds_interval(init), "execution",
                interval_json(hsc_json_number(hsc_json_path(r, "run", "median", NULL)),
                              hsc_json_number(hsc_json_path(r, "run", "low", NULL)),
                              hsc_json_number(hsc_json_path(r, "run", "high", NULL))),
                "runs",
                json_object_get(json_object_get(r, "run"), "n")
                    ? json_incref(json_object_get(json_object_get(r, "run"), "n"))
                    : json_integer(0)));
  json_object_set_new(row, "why_they_differ",
                      why_initialisation_differs(run, config, derived_init, init));
  json_object_set_new(row, "model", model);
  json_object_set_new(all, config->key, row);
  hsc_free(first);
}

// Where total times of two patterns of a graph cross: compile1 + n run1 = compile2 + n run2.
static void crossings(const patterns_run *run,
                      const hsc_interval *compile,
                      const hsc_interval *per_run,
                      json_t *out) {
  for (size_t i = 0; i < run->config_count; i++) {
    for (size_t j = i + 1; j < run->config_count; j++) {
      if (strcmp(run->configs[i].graph, run->configs[j].graph) != 0 || isnan(compile[i].estimate) ||
          isnan(compile[j].estimate))
        continue;
      hsc_interval n = hsc_stats_crossing(compile[i], per_run[i], compile[j], per_run[j], 1);
      bool cross = !isnan(n.estimate);
      bool known = cross && !isnan(n.low);
      size_t early = compile[i].estimate < compile[j].estimate ? i : j;
      size_t late = early == i ? j : i;
      json_array_append_new(
          out, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "graph", run->configs[i].graph,
                         "ahead_at_first", run->configs[early].pattern->key, "ahead_later",
                         run->configs[cross ? late : early].pattern->key, "after_runs",
                         cross ? json_real(ceil(n.estimate)) : json_null(), "low",
                         known ? json_real(ceil(n.low)) : json_null(), "high",
                         known ? json_real(ceil(n.high)) : json_null()));
    }
  }
}

hsc_status *hsc__patterns_model(patterns_run *run, json_t *result) {
  json_t *all = json_object();
  json_t *crossing = json_array();
  json_object_set_new(result, "theoretical_analysis", all);
  json_object_set_new(result, "crossings", crossing);
  hsc_interval init = initialisation(run);
  double idle_s = hsc_json_number(hsc_json_path(result, "sync_baseline", "median", NULL));
  hsc_interval *compile = HSC_NEW_ARRAY(run->arena, hsc_interval, run->config_count + 1);
  hsc_interval *per_run = HSC_NEW_ARRAY(run->arena, hsc_interval, run->config_count + 1);
  HSC_TRY(hsc_arena_status(run->arena));
  for (size_t i = 0; i < run->config_count; i++) {
    compile[i] = per_run[i] = (hsc_interval){NAN, NAN, NAN};
    json_t *model = json_object();
    hsc_status *status =
        fit_config(run, &run->configs[i], init, idle_s, model, &compile[i], &per_run[i]);
    if (status) {  // a fit that cannot be made is reported, the rest is
      json_object_set_new(model, "error", json_string(hsc_status_message(status)));
      hsc_status_free(status);
    }
    theory(run, &run->configs[i], result, init, model, all);
  }
  crossings(run, compile, per_run, crossing);
  return NULL;
}
