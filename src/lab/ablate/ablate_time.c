// ablate_time.c - times what is left to be timed: the programs that differ from the baseline's,
// against it and the placebos, in interleaved blocks.
#include <math.h>

#include "base/core/clock.h"
#include "lab/ablate/ablate_internal.h"
#include "lab/run/json_tree.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"

enum { MOST_PROCESSES = ABLATE_MOST_PROCESSES };
static const double MEMORY_SHARE = 0.4;  // of the machine's, for the variants of one process

static int64_t place(const ablate_timing *t, int variant, int process, int64_t block) {
  return ((int64_t)variant * MOST_PROCESSES + process) * t->blocks + block;
}

static double *cell(const ablate_timing *t, int which, int variant, int process, int64_t block) {
  return &t->total[which][place(t, variant, process, block)];
}

static bool is_timed(const ablate_run *run, int number) {
  const ablate_variant *v = &run->variants[number];
  if (number == 0 || v->kind == VARIANT_PLACEBO)
    return v->answer != NULL;
  return v->answer && v->same_as == number && v->ran;
}

// ---- the plan -----------------------------------------------------------------------------------

static double bytes_of(const ablate_variant *v) {
  double temp = hsc_json_number(json_object_get(v->answer, "temp_bytes"));
  double peak = hsc_json_number(json_object_get(v->answer, "peak_bytes"));
  double most = fmax(isnan(temp) ? 0 : temp, isnan(peak) ? 0 : peak);
  return most + 16e6;
}

static hsc_status *plan_groups(ablate_timing *t) {
  ablate_run *run = t->run;
  double memory = hsc_json_number(json_object_get(run->environment, "memory_bytes"));
  double limit = (isnan(memory) ? 4e9 : memory) * MEMORY_SHARE;
  double shared = 0;
  t->groups = HSC_NEW_ARRAY(run->arena, ablate_group, run->variant_count + 1);
  HSC_TRY(hsc_arena_status(run->arena));
  for (int i = 0; i < run->variant_count; i++) {
    bool everywhere = i == 0 || run->variants[i].kind == VARIANT_PLACEBO;
    if (everywhere && is_timed(run, i)) {
      shared += bytes_of(&run->variants[i]);
      t->placebo_count += i > 0;
    }
  }
  double used = limit;  // opens the first group
  for (int i = 1; i < run->variant_count; i++) {
    if (!is_timed(run, i) || run->variants[i].kind == VARIANT_PLACEBO)
      continue;
    if (t->group_count == 0 || used + bytes_of(&run->variants[i]) > limit) {
      ablate_group *g = &t->groups[t->group_count++];
      g->members = HSC_NEW_ARRAY(run->arena, int, run->variant_count);
      HSC_TRY(hsc_arena_status(run->arena));
      for (int k = 0; k < run->variant_count; k++)
        if ((k == 0 || run->variants[k].kind == VARIANT_PLACEBO) && is_timed(run, k))
          g->members[g->count++] = k;
      used = shared;
    }
    ablate_group *g = &t->groups[t->group_count - 1];
    g->members[g->count++] = i;
    used += bytes_of(&run->variants[i]);
    t->timed_count++;
  }
  return NULL;
}

// ---- measuring ----------------------------------------------------------------------------------

static void take_cells(ablate_timing *t,
                       const ablate_group *g,
                       int process,
                       int which,
                       json_t *series,
                       const char *names[3]) {
  size_t n, nv, nb;
  double *value = hsc_json_doubles(json_object_get(series, names[0]), &n);
  double *variant = hsc_json_doubles(json_object_get(series, names[1]), &nv);
  double *block = hsc_json_doubles(json_object_get(series, names[2]), &nb);
  double *turn = hsc_alloc((n + 1) * sizeof(double));
  for (size_t i = 0; turn && i < n && n == nv && n == nb;) {  // a turn's iterations are together
    size_t count = 0;
    size_t at = i;
    for (; i < n && variant[i] == variant[at] && block[i] == block[at]; i++)
      turn[count++] = value[i];
    int member = (int)variant[at];
    if (member < 0 || member >= g->count || block[at] < 0 || block[at] >= (double)t->blocks)
      continue;
    *cell(t, which, g->members[member], process, (int64_t)block[at]) =
        hsc_stats_median(turn, count);
  }
  for (int i = 0; i < g->count; i++)
    for (int64_t b = 0; b < t->blocks; b++)
      t->base[which][place(t, g->members[i], process, b)] = *cell(t, which, 0, process, b);
  hsc_free(value);
  hsc_free(variant);
  hsc_free(block);
  hsc_free(turn);
}

static hsc_status *measure_group(ablate_timing *t, int process, int number, bool *out_done) {
  static const char *run_names[] = {"run_ns", "variant_count", "block_count"};
  static const char *kernel_names[] = {"kernel_ns", "kernel_variant_count", "kernel_block_count"};
  ablate_run *run = t->run;
  const ablate_group *g = &t->groups[number];
  char key[64];
  hsc_task_row row = {0};
  const char **disabled = hsc_alloc(((size_t)g->count + 1) * sizeof *disabled);
  *out_done = false;
  if (!disabled)
    return hsc_status_out_of_memory();
  for (int i = 0; i < g->count; i++)
    disabled[i] = run->variants[g->members[i]].disable;
  snprintf(key, sizeof key, "time/%d/%d", process, number);
  // The limit is for one compile or run; here are many, and another process on the machine may
  // make each of them several times as long.
  double needed_s = fmin(10 * hsc__ablate_group_seconds(t, g), 86400);
  ablate_turns turns = {
      .key = key,
      .disabled = disabled,
      .count = g->count,
      .blocks = t->blocks,
      .iterations = t->iterations,
      .warmups = t->warmups,
      .order = (uint64_t)process * 37 + (uint64_t)number + 1,
      .kernels = t->kernels,
      .limit_ns = (int64_t)fmax((double)run->options->limit_ns, 1e9 * needed_s),
  };
  hsc_status *status = hsc__ablate_take_turns(run, &turns, &row);
  hsc_free(disabled);
  if (!row.state)
    return status;
  *out_done = hsc_task_row_outcome(&row) == HSC_OUTCOME_OK;
  json_t *series = json_object_get(row.answer, "series");
  if (!*out_done)
    json_array_append_new(
        json_object_get(run->timing, "failures"),
        json_pack("{s:s, s:s, s:s?}", "task", key, "outcome", row.state, "message", row.message));
  else
    take_cells(t, g, process, 0, series, run_names);
  if (*out_done && json_object_get(series, "kernel_ns"))
    take_cells(t, g, process, 1, series, kernel_names);
  hsc_task_row_deinit(&row);
  return status;
}

// ---- judging ------------------------------------------------------------------------------------

static hsc_status *effect_of(
    const ablate_timing *t, int which, int variant, hsc_effect *out, bool *out_there) {
  int64_t n = (int64_t)t->process_count * t->blocks;
  size_t sizes[MOST_PROCESSES];
  double *x = hsc_alloc((size_t)(2 * n + 1) * sizeof(double));
  double *y = x + n;
  *out_there = false;
  if (!x)
    return hsc_status_out_of_memory();
  for (int p = 0; p < t->process_count; p++) {
    sizes[p] = (size_t)t->blocks;
    for (int64_t b = 0; b < t->blocks; b++) {
      x[p * t->blocks + b] = *cell(t, which, variant, p, b);
      y[p * t->blocks + b] = t->base[which][place(t, variant, p, b)];
      *out_there |= isfinite(x[p * t->blocks + b]) && isfinite(y[p * t->blocks + b]);
    }
  }
  hsc_paired paired = {x, y, sizes, (size_t)t->process_count};
  hsc_status *status = NULL;
  bool went_on = t->process_count > t->process_least;
  if (*out_there)
    status = hsc_stats_paired_effect(
        &paired,
        &(hsc_interval_options){.seed = t->run->options->seed + (uint64_t)variant,
                                .confidence = went_on ? HSC_CONFIDENCE_AFTER_LOOKS : 0.95},
        out);
  hsc_free(x);
  return status;
}

static json_t *effect_json(const ablate_timing *t, int which, int variant, const hsc_effect *e) {
  double *x = hsc_alloc((size_t)(t->process_count * t->blocks + 1) * sizeof(double));
  size_t n = 0;
  for (int p = 0; x && p < t->process_count; p++)
    for (int64_t b = 0; b < t->blocks; b++)
      if (isfinite(*cell(t, which, variant, p, b)))
        x[n++] = *cell(t, which, variant, p, b) * 1e-9;
  json_t *out =
      json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:s, s:i, s:i, s:o}", "ratio",
                hsc_json_real(e->ratio.estimate), "low", hsc_json_real(e->ratio.low), "high",
                hsc_json_real(e->ratio.high), "median_seconds",
                hsc_json_real(n ? hsc_stats_median(x, n) : NAN), "p_value",
                hsc_json_real(e->p_value), "q_value", hsc_json_real(e->q_value), "placebos_beaten",
                e->placebos_beaten, "verdict", hsc_verdict_text(e->verdict), "processes",
                (int)e->process_count, "blocks", (int)e->block_count, "times_more_needed",
                hsc_json_real(e->verdict == HSC_VERDICT_CANNOT_TELL ? e->blocks_needed : NAN));
  double more = ceil((e->blocks_needed - 1) * (double)e->block_count * (double)t->iterations);
  json_object_set_new(
      out, "more_runs",
      hsc_json_real(e->verdict == HSC_VERDICT_CANNOT_TELL && more > 0 ? more : NAN));
  hsc_free(x);
  return out;
}

// All effects of one kind of time. *out_open: how many cannot be determined yet.
static hsc_status *judge(ablate_timing *t, int which, int *out_open) {
  ablate_run *run = t->run;
  int placebos = 0;
  int variants = 0;
  int *numbers = HSC_NEW_ARRAY(run->arena, int, 2 * run->variant_count + 2);
  int *placebo_numbers = numbers + run->variant_count;
  hsc_effect *effects = hsc_alloc((size_t)(2 * run->variant_count + 2) * sizeof(*effects));
  hsc_effect *null = effects + run->variant_count + 1;
  hsc_status *status = effects ? hsc_arena_status(run->arena) : hsc_status_out_of_memory();
  for (int i = 1; i < run->variant_count && !status; i++) {
    bool there = false;
    bool placebo = run->variants[i].kind == VARIANT_PLACEBO;
    if (!is_timed(run, i))
      continue;
    status = effect_of(t, which, i, placebo ? &null[placebos] : &effects[variants], &there);
    if (!there)
      continue;
    if (placebo)
      placebo_numbers[placebos++] = i;
    else
      numbers[variants++] = i;
  }
  *out_open = 0;
  if (!status) {
    hsc_judge_options o = {.margin = t->margin,
                           .highlight_low = run->options->highlight[0],
                           .highlight_high = run->options->highlight[1]};
    hsc_stats_judge(effects, (size_t)variants, null, (size_t)placebos, &o);
    for (int k = 0; k < placebos; k++) {  // each against the others
      hsc_effect others[256];
      int count = 0;
      for (int j = 0; j < placebos && count < 256; j++)
        if (j != k)
          others[count++] = null[j];
      hsc_effect one = null[k];
      hsc_stats_judge(&one, 1, others, (size_t)count, &o);
      null[k] = one;
    }
    for (int k = 0; k < variants + placebos; k++) {
      bool placebo = k >= variants;
      const hsc_effect *e = placebo ? &null[k - variants] : &effects[k];
      int number = placebo ? placebo_numbers[k - variants] : numbers[k];
      ablate_variant *v = &run->variants[number];
      json_t **slot = which ? &v->kernel_time : &v->total_time;
      json_decref(*slot);
      *slot = effect_json(t, which, number, e);
      if (which == 0) {
        v->verdict = hsc_verdict_text(e->verdict);
        v->highlight = e->highlight;
        *out_open += !placebo && e->verdict == HSC_VERDICT_CANNOT_TELL;
      }
    }
  }
  hsc_free(effects);
  return status;
}

// No interval is wider than what was wanted.
static bool all_narrow(const ablate_run *run, double half_width) {
  bool any = false;
  for (int i = 1; i < run->variant_count; i++) {
    const json_t *time = run->variants[i].total_time;
    double low = hsc_json_number(json_object_get(time, "low"));
    double high = hsc_json_number(json_object_get(time, "high"));
    if (!time || run->variants[i].kind == VARIANT_PLACEBO)
      continue;
    any = true;
    if (!((high - low) / 2 <= half_width))
      return false;
  }
  return any && half_width > 0;
}

// What equal programs got goes to all of them.
static void spread(ablate_run *run) {
  for (int i = 1; i < run->variant_count; i++) {
    ablate_variant *v = &run->variants[i];
    const ablate_variant *first = &run->variants[v->same_as];
    if (v->kind == VARIANT_PLACEBO || v->same_as == i || v->same_as == 0)
      continue;
    v->verdict = first->verdict;
    v->highlight = first->highlight;
    if (first->total_time && !v->total_time)
      v->total_time = json_incref(first->total_time);
    if (first->kernel_time && !v->kernel_time)
      v->kernel_time = json_incref(first->kernel_time);
  }
}

static json_t *own_time(const ablate_timing *t, int which) {
  hsc_effect e = {.ratio = {1, 1, 1},
                  .p_value = NAN,
                  .q_value = NAN,
                  .verdict = HSC_VERDICT_SAME,
                  .process_count = (size_t)t->process_count,
                  .block_count = (size_t)((int64_t)t->process_count * t->blocks)};
  return effect_json(t, which, 0, &e);
}

// Room for every measurement; what was not measured stays NaN.
static hsc_status *make_cells(ablate_timing *t) {
  size_t cells = (size_t)t->run->variant_count * MOST_PROCESSES * (size_t)t->blocks;
  for (int k = 0; k < 2; k++) {
    t->total[k] = hsc_alloc((cells + 1) * sizeof(double));
    t->base[k] = hsc_alloc((cells + 1) * sizeof(double));
    if (!t->total[k] || !t->base[k])
      return hsc_status_out_of_memory();
    for (size_t i = 0; i < cells; i++)
      t->total[k][i] = t->base[k][i] = NAN;
  }
  return NULL;
}

// What the last look at the results said, for the next one.
typedef struct look {
  int open;  // effects that cannot be determined yet
  bool clear_before;
  bool narrow_before;
} look;

// Why no more processes are measured after `process` of them; NULL: one more is. At least the
// number that was asked for; more while something cannot be determined, up to four times as many,
// while the budget lasts. After the first look an answer must hold in two looks in a row: what is
// narrow or clear by chance in one of many looks would end it too often
// (tests/statistics/self_test.c, "an ablation that goes on").
static const char *reason_to_end(const ablate_timing *t, int process, double spent_s, look *l) {
  double next_s = process ? spent_s / process : 0;
  if (process >= 1 && spent_s + next_s / 2 > t->budget_s)
    return "the time budget";
  bool first_look = process == t->process_least;
  bool clear = process >= t->process_least && l->open == 0;
  bool narrow = process >= t->process_least && all_narrow(t->run, t->run->options->half_width);
  if (clear && (first_look || l->clear_before))
    return "every effect can be told";
  if (narrow && (first_look || l->narrow_before))
    return "every interval is narrow enough";
  l->clear_before = clear;
  l->narrow_before = narrow;
  return process >= 4 * t->process_least ? "four times the processes" : NULL;
}

static void report_progress(const ablate_timing *t, int process, double spent_s) {
  const hsc_ablate_options *o = t->run->options;
  if (!o->progress)
    return;
  bool beyond = process >= t->process_least;  // how many more it takes is not known
  double left_s = process && !beyond ? spent_s / process * (t->process_least - process) : -1;
  o->progress(o->user, process, beyond ? process + 1 : t->process_least, left_s, "timing");
}

// One process after another, judged after each. *out_ended: what ended it.
static hsc_status *measure_processes(ablate_timing *t,
                                     int64_t start_ns,
                                     int *out_open,
                                     const char **out_ended) {
  look l = {0};
  *out_ended = "as many processes as are measured at most";
  for (int process = 0; process < MOST_PROCESSES && !hsc__ablate_stopped(t->run); process++) {
    double spent_s = (double)(hsc_now_ns() - start_ns) * 1e-9;
    const char *end = reason_to_end(t, process, spent_s, &l);
    if (end) {
      *out_ended = end;
      break;
    }
    report_progress(t, process, spent_s);
    bool any = false;
    for (int g = 0; g < t->group_count && !hsc__ablate_stopped(t->run); g++) {
      bool done = false;
      HSC_TRY(measure_group(t, process, g, &done));
      any |= done;
    }
    if (!any) {
      *out_ended = "a process that did not get through";
      break;
    }
    t->process_count = process + 1;
    HSC_TRY(judge(t, 0, &l.open));
    *out_open = l.open;
  }
  return NULL;
}

hsc_status *hsc__ablate_time(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  ablate_timing t = {.run = run, .kernels = true};
  hsc_status *status = NULL;
  int open = 0;
  const char *ended;
  if (!run->variants[0].ran)
    return NULL;
  HSC_TRY(plan_groups(&t));
  if (t.timed_count == 0)
    return NULL;
  t.margin = hsc_stats_grade_margin(json_string_value(json_object_get(run->environment, "grade")),
                                    o->margin);
  run->timing = json_pack("{s:[]}", "failures");
  HSC_GOTO(hsc__ablate_plan_times(&t));
  HSC_GOTO(make_cells(&t));
  int64_t start = hsc_now_ns() - (int64_t)(t.spent_s * 1e9);
  HSC_GOTO(measure_processes(&t, start, &open, &ended));
  if (t.process_count > 0) {
    int ignored;
    HSC_GOTO(judge(&t, 1, &ignored));
    spread(run);
    run->variants[0].total_time = own_time(&t, 0);
    if (isfinite(*cell(&t, 1, 0, 0, 0)))
      run->variants[0].kernel_time = own_time(&t, 1);
  }
  HSC_GOTO(hsc__ablate_describe_times(&t, run->interrupted ? run->ended_by : ended,
                                      (double)(hsc_now_ns() - start) * 1e-9));
  json_object_set_new(run->timing, "processes", json_integer(t.process_count));
  json_object_set_new(run->timing, "blocks", json_integer((json_int_t)t.blocks));
  json_object_set_new(run->timing, "iterations", json_integer((json_int_t)t.iterations));
  json_object_set_new(run->timing, "programs", json_integer(t.timed_count));
  json_object_set_new(run->timing, "groups", json_integer(t.group_count));
  json_object_set_new(run->timing, "cannot_tell", json_integer(open));
  json_object_set_new(run->timing, "ended_by",
                      json_string(run->interrupted ? run->ended_by : ended));
  json_object_set_new(run->timing, "seconds", json_real((double)(hsc_now_ns() - start) * 1e-9));
done:
  json_decref(t.pilot);
  for (int k = 0; k < 2; k++) {
    hsc_free(t.total[k]);
    hsc_free(t.base[k]);
  }
  return status;
}
