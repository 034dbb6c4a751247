// ablate_plan.c - how long the passes are timed: iterations in a turn, blocks in a process,
// processes. What is not given is chosen by a pilot.
//
// The pilot times the baseline against itself under another name (a placebo) in two fresh
// processes. Its samples are ratios within a block, as the effects will be: what baseline and
// variant share is not noise here. One more iteration, block or process costs what it costs for all
// programs together.
#include <math.h>

#include "base/core/ints.h"
#include "base/text/text.h"
#include "base/core/clock.h"
#include "lab/ablate/ablate_internal.h"
#include "lab/run/json_tree.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"
#include "worker/worker_client.h"

enum {
  MOST_ITERATIONS = 200,
  MOST_BLOCKS = 200,
  PILOT_PROCESSES = 2,
  PILOT_BLOCKS = 3,
  PILOT_ITERATIONS = 4,
  USUAL_PROCESSES = HSC_LEAST_PROCESSES,
  USUAL_BLOCKS = 8
};
// what a variant runs in its turn, where no pilot says otherwise
static const double TURN_S = 0.01;
static const double PILOT_SHARE = 0.2;  // of the budget

// A request of the job "interleave". NULL = no memory.
static json_t *request_of(const ablate_run *run, const ablate_turns *turns) {
  json_t *request = hsc__ablate_request(run, "interleave", "");
  json_t *variants = json_array();
  for (int i = 0; i < turns->count; i++) {
    json_t *one = hsc__ablate_request(run, "compile", turns->disabled[i]);
    json_array_append(variants, json_object_get(one, "overrides"));
    json_decref(one);
  }
  uint64_t seed = (run->options->seed & 0xffffff) * 1000 + turns->order;
  json_object_del(request, "overrides");
  json_object_set_new(request, "variants", variants);
  json_object_set_new(request, "blocks", json_integer((json_int_t)turns->blocks));
  json_object_set_new(request, "iterations", json_integer((json_int_t)turns->iterations));
  json_object_set_new(request, "warmups", json_integer((json_int_t)turns->warmups));
  json_object_set_new(request, "shuffle_seed", json_integer((json_int_t)seed));
  if (turns->kernels)
    json_object_set_new(request, "kernels", json_true());
  return request;
}

hsc_status *hsc__ablate_take_turns(ablate_run *run,
                                   const ablate_turns *turns,
                                   hsc_task_row *out_row) {
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  hsc_task_end end;
  json_t *request = NULL;
  hsc_status *status = hsc_task_table_find(&run->tasks, turns->key, out_row);
  if (status || out_row->state)
    return status;
  request = request_of(run, turns);
  if (!request)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc__ablate_call(run, &worker, request, turns->limit_ns, &answer, &end));
  if (end == HSC_TASK_CUT_OFF)
    goto done;
  if (end == HSC_TASK_DONE)
    HSC_GOTO(hsc_task_table_keep_answer(&run->tasks, turns->key, &answer));
  out_row->state = hsc_strdup(hsc_outcome_text(answer.outcome));
  out_row->message = answer.status ? hsc_strdup(hsc_status_message(answer.status)) : NULL;
  out_row->answer = json_incref(answer.body);
done:
  json_decref(request);
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
  return status;
}

// Seconds of one run of each program of a group, and of the compiles of all of them.
static void group_costs(const ablate_timing *t,
                        const ablate_group *g,
                        double once,
                        double *io_runs,
                        double *io_compiles) {
  for (int i = 0; i < g->count; i++) {
    const ablate_variant *v = &t->run->variants[g->members[i]];
    *io_runs += fmax(v->run_s, once / 4);
    *io_compiles += v->compile_s + once;
  }
}

static void costs(const ablate_timing *t, double once, double *out_runs, double *out_compiles) {
  *out_runs = *out_compiles = 0;
  for (int g = 0; g < t->group_count; g++)
    group_costs(t, &t->groups[g], once, out_runs, out_compiles);
}

double hsc__ablate_group_seconds(const ablate_timing *t, const ablate_group *g) {
  double runs = 0;
  double compiles = 0;
  group_costs(t, g, fmax(t->run->variants[0].run_s, 1e-7), &runs, &compiles);
  return compiles +
         runs * (double)t->blocks * (double)(t->iterations + t->warmups + (t->kernels ? 1 : 0));
}

// ---- pilot --------------------------------------------------------------------------------------

// Ratios of a process of the pilot, block after block; false = it did not get through.
static hsc_status *pilot_process(ablate_timing *t,
                                 int process,
                                 double *out_ratios,
                                 bool *out_done) {
  static const char *const disabled[] = {"", "placebo_of_the_pilot"};
  ablate_run *run = t->run;
  char key[32];
  hsc_task_row row = {0};
  double x[2][PILOT_BLOCKS][PILOT_ITERATIONS];
  int filled[2][PILOT_BLOCKS] = {{0}};
  size_t n = 0;
  size_t nv = 0;
  size_t nb = 0;
  *out_done = false;
  snprintf(key, sizeof key, "pilot/%d", process);
  ablate_turns turns = {.key = key,
                        .disabled = disabled,
                        .count = HSC_COUNT_OF(disabled),
                        .blocks = PILOT_BLOCKS,
                        .iterations = PILOT_ITERATIONS,
                        .warmups = t->warmups,
                        .order = 900001 + (uint64_t)process,
                        .limit_ns = run->options->limit_ns};
  HSC_TRY(hsc__ablate_take_turns(run, &turns, &row));
  json_t *series = json_object_get(row.answer, "series");
  double *ns = hsc_json_doubles(json_object_get(series, "run_ns"), &n);
  double *variant = hsc_json_doubles(json_object_get(series, "variant_count"), &nv);
  double *block = hsc_json_doubles(json_object_get(series, "block_count"), &nb);
  for (size_t i = 0; i < n && nv == n && nb == n; i++) {
    int v = (int)variant[i];
    int b = (int)block[i];
    if (v >= 0 && v < 2 && b >= 0 && b < PILOT_BLOCKS && filled[v][b] < PILOT_ITERATIONS)
      x[v][b][filled[v][b]++] = ns[i];
  }
  *out_done = n > 0;
  for (int b = 0; b < PILOT_BLOCKS; b++) {
    *out_done &= filled[0][b] == PILOT_ITERATIONS && filled[1][b] == PILOT_ITERATIONS;
    for (int i = 0; *out_done && i < PILOT_ITERATIONS; i++)
      out_ratios[b * PILOT_ITERATIONS + i] = x[0][b][i] > 0 ? x[1][b][i] / x[0][b][i] : NAN;
  }
  hsc_free(ns);
  hsc_free(variant);
  hsc_free(block);
  hsc_task_row_deinit(&row);
  return NULL;
}

static json_t *by_level(json_t *iteration, json_t *block, json_t *process) {
  return json_pack("{s:o, s:o, s:o}", "iteration", iteration, "block", block, "process", process);
}

static json_t *counts_json(const size_t counts[3]) {
  return by_level(json_integer((json_int_t)counts[0]), json_integer((json_int_t)counts[1]),
                  json_integer((json_int_t)counts[2]));
}

static hsc_status *make_pilot(ablate_timing *t,
                              const double cost[3],
                              double width,
                              hsc_design *out_design) {
  enum { PER_PROCESS = PILOT_BLOCKS * PILOT_ITERATIONS };
  double ratios[PILOT_PROCESSES * PER_PROCESS];
  for (int p = 0; p < PILOT_PROCESSES; p++) {
    bool done = false;
    HSC_TRY(pilot_process(t, p, ratios + p * PER_PROCESS, &done));
    if (!done) {
      t->no_pilot = "the pilot did not get through";
      return NULL;
    }
  }
  hsc_pilot pilot = {.level_count = 3,
                     .counts = {PILOT_ITERATIONS, PILOT_BLOCKS, PILOT_PROCESSES},
                     .cost = {cost[0], cost[1], cost[2]},
                     .samples = ratios};
  hsc_status *bad =
      hsc_stats_pilot(&pilot, width, isfinite(t->budget_s) ? t->budget_s : 0, out_design);
  if (bad) {
    hsc_status_free(bad);
    t->no_pilot = "its samples cannot be used";
    return NULL;
  }
  const hsc_design *d = out_design;
  t->pilot = json_pack("{s:o, s:o, s:o}", "made", counts_json(pilot.counts), "variation",
                       by_level(hsc_json_real(sqrt(d->variance[0]) / d->mean),
                                hsc_json_real(sqrt(d->variance[1]) / d->mean),
                                hsc_json_real(sqrt(d->variance[2]) / d->mean)),
                       "cost_seconds",
                       by_level(json_real(cost[0]), json_real(cost[1]), json_real(cost[2])));
  if (!t->pilot)
    return hsc_status_out_of_memory();
  json_object_set_new(t->pilot, "expected_half_width", hsc_json_real(d->half_width));
  json_object_set_new(t->pilot, "note", json_string(d->note));
  return NULL;
}

hsc_status *hsc__ablate_plan_times(ablate_timing *t) {
  const hsc_ablate_options *o = t->run->options;
  double once = fmax(t->run->variants[0].run_s, 1e-7);
  double runs_s = 0;
  double compiles_s = 0;
  int64_t start_ns = hsc_now_ns();
  hsc_design design = {0};
  costs(t, once, &runs_s, &compiles_s);
  t->budget_s = o->budget_s > 0 ? o->budget_s : INFINITY;
  if (o->deadline_ns)
    t->budget_s = fmin(t->budget_s, fmax(0.1, (double)(o->deadline_ns - hsc_now_ns()) * 1e-9));
  t->warmups = once > 0.5 ? 0 : 1;
  t->iterations = once > TURN_S ? 1 : (int64_t)fmin(TURN_S / once, MOST_ITERATIONS);
  t->blocks = o->block_count ? o->block_count : USUAL_BLOCKS;
  t->process_least = o->process_count ? o->process_count : USUAL_PROCESSES;
  double pilot_s =
      PILOT_PROCESSES * (2 * t->run->variants[0].compile_s +
                         2 * PILOT_BLOCKS * (double)(PILOT_ITERATIONS + t->warmups) * once);
  if (o->block_count && o->process_count)
    t->no_pilot = "their numbers were given";
  else if (pilot_s > PILOT_SHARE * t->budget_s)
    t->no_pilot = "it would take too much of the time budget";
  else {
    const double cost[3] = {runs_s, fmax(1e-6, (double)t->warmups * runs_s),
                            fmax(1e-3, compiles_s)};
    HSC_TRY(make_pilot(t, cost, o->half_width > 0 ? o->half_width : t->margin, &design));
  }
  if (t->pilot) {
    // A turn must be long beside the clock; fewer processes do not tell how processes differ.
    size_t chose[3] = {design.counts[0] < MOST_ITERATIONS ? design.counts[0] : MOST_ITERATIONS,
                       (size_t)hsc_clamp((int64_t)design.counts[1], 2, MOST_BLOCKS),
                       (size_t)hsc_clamp((int64_t)design.counts[2], HSC_LEAST_PROCESSES, 16)};
    if (once < 1e-5 && chose[0] < 10)
      chose[0] = 10;
    t->iterations = (int64_t)chose[0];
    if (!o->block_count)
      t->blocks = (int64_t)chose[1];
    if (!o->process_count)
      t->process_least = (int)chose[2];
  }
  // What fits: fewer blocks rather than too few processes.
  t->spent_s = (double)(hsc_now_ns() - start_ns) * 1e-9;
  double fit = ((t->budget_s - t->spent_s) / t->process_least - compiles_s) /
               (runs_s * (double)(t->iterations + t->warmups));
  if (fit < (double)t->blocks)
    t->blocks = fit < 2 ? 2 : (int64_t)fit;
  if (t->pilot)
    json_object_set_new(t->pilot, "chose",
                        counts_json((size_t[3]){(size_t)t->iterations, (size_t)t->blocks,
                                                (size_t)t->process_least}));
  return NULL;
}

// ---- what it gave -------------------------------------------------------------------------------

// How the baseline behaved over all blocks, process by process.
static const char *baseline_class(const ablate_timing *t) {
  size_t n = 0;
  size_t processes = 0;
  size_t sizes[ABLATE_MOST_PROCESSES];
  double *x = hsc_alloc((size_t)(t->process_count * t->blocks + 1) * sizeof(double));
  hsc_series series = {.series_class = HSC_SERIES_TOO_SHORT};
  for (int p = 0; x && p < t->process_count; p++) {
    size_t before = n;
    for (int64_t b = 0; b < t->blocks; b++) {
      double ns = t->total[0][(int64_t)p * t->blocks + b];  // variant 0
      if (isfinite(ns))
        x[n++] = ns;
    }
    if (n > before)
      sizes[processes++] = n - before;
  }
  if (x && processes)
    hsc_status_free(hsc_stats_classify_processes(x, sizes, processes, &series, NULL));
  hsc_free(x);
  return hsc_series_class_text(series.series_class);
}

// The median over programs of the half width that was reached; most is what the worst of those that
// cannot be determined still needs.
static double reached(const ablate_timing *t, double *out_more) {
  const ablate_run *run = t->run;
  double *widths = hsc_alloc((size_t)(run->variant_count + 1) * sizeof(double));
  double median = NAN;
  size_t n = 0;
  *out_more = 0;
  for (int i = 1; widths && i < run->variant_count; i++) {
    const json_t *time = run->variants[i].total_time;
    double width = (hsc_json_number(json_object_get(time, "high")) -
                    hsc_json_number(json_object_get(time, "low"))) /
                   2;
    double more = hsc_json_number(json_object_get(time, "more_runs"));
    if (!time || run->variants[i].kind == VARIANT_PLACEBO)
      continue;
    if (isfinite(width))
      widths[n++] = width;
    if (more > *out_more)
      *out_more = more;
  }
  if (n)
    median = hsc_stats_median(widths, n);
  hsc_free(widths);
  return median;
}

hsc_status *hsc__ablate_describe_times(ablate_timing *t, const char *ended_by, double seconds) {
  const hsc_ablate_options *o = t->run->options;
  int64_t blocks = t->process_count * t->blocks;
  double more = 0;
  double width = reached(t, &more);
  double wanted = o->half_width > 0 ? o->half_width : NAN;
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%d %s x %lld %s x %lld %s", t->process_count,
                   hsc_plural(t->process_count, "process", "processes"), (long long)t->blocks,
                   hsc_plural((double)t->blocks, "block", "blocks"), (long long)t->iterations,
                   hsc_plural((double)t->iterations, "iteration", "iterations"));
  if (t->pilot)
    hsc_bytes_printf(&text, ", chosen by a pilot of %d x %d x %d", PILOT_PROCESSES, PILOT_BLOCKS,
                     PILOT_ITERATIONS);
  else
    hsc_bytes_printf(&text, "; no pilot: %s", t->no_pilot ? t->no_pilot : "");
  hsc_bytes_printf(&text, "; ended: %s", ended_by);
  if (t->process_count < HSC_LEAST_PROCESSES)
    hsc_bytes_printf(&text, "; too few processes for an interval, which needs %d",
                     HSC_LEAST_PROCESSES);
  if (isfinite(width))
    hsc_bytes_printf(&text, "; intervals ±%.2g %% (median)", 100 * width);
  if (isfinite(wanted) && width > wanted)
    hsc_bytes_printf(&text, ", wanted ±%.2g %%", 100 * wanted);
  json_t *sampling = json_pack(
      "{s:[s,s,s], s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:s, s:o, s:s}", "levels", "iteration",
      "block", "process", "wanted_half_width", hsc_json_real(wanted), "time_budget_seconds",
      hsc_json_real(t->budget_s), "pilot", t->pilot ? json_incref(t->pilot) : json_null(),
      "no_pilot", t->pilot || !t->no_pilot ? json_null() : json_string(t->no_pilot), "made",
      by_level(json_integer((json_int_t)(blocks * t->iterations)), json_integer((json_int_t)blocks),
               json_integer(t->process_count)),
      "seconds", seconds, "half_width", hsc_json_real(width), "ended_by", ended_by, "more_needed",
      hsc_json_real(more), "text", hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  if (!sampling)
    return hsc_status_out_of_memory();
  json_object_set_new(t->run->timing, "sampling", sampling);
  json_object_set_new(t->run->timing, "margin", json_real(t->margin));
  json_object_set_new(t->run->timing, "highlight",
                      json_pack("[f, f]", o->highlight[0] > 0 ? o->highlight[0] : 0.01,
                                o->highlight[1] > 0 ? o->highlight[1] : 0.05));
  json_object_set_new(t->run->timing, "baseline_class", json_string(baseline_class(t)));
  return NULL;
}
