// tune_measure.c - measures candidates: one worker process for several of them, the program as it
// is and the candidates by turns within it.
//
// A process compiles what it is to run, and then gives each a turn in every block, in an order of
// its own; a turn is the least time of a few runs. The ratio to the same block's turn of the
// program as it is tells the candidate from the machine. Every process is in the store before the
// next one starts.
#include <math.h>

#include "base/core/clock.h"
#include "base/core/random.h"
#include "base/files/file_io.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/legal.h"
#include "lab/run/truth.h"
#include "lab/tune/tune_internal.h"
#include "lab/verdict/agreement.h"
#include "worker/scratch.h"

enum { GROUP = 8, MOST_RUNS = 200, LOOK_RUNS = 3 };
static const double TURN_S = 0.1;        // a turn
static const double LOOK_SHARE = 0.5;    // of the budget: the look at all
static const double SECOND_SHARE = 0.7;  // and the second round
static const double SLOW = 10;           // a candidate that takes so much longer is given up
static const double LEAST_LIMIT_S = 20;
static const double NUDGE = 1e-30;  // the least that moves anything

bool hsc__tune_stopped(tune_run *run) {
  if (run->options->stop && *run->options->stop)
    run->interrupted = true;
  if (run->setting.deadline_ns && hsc_now_ns() >= run->setting.deadline_ns && !run->interrupted)
    run->interrupted = run->out_of_time = true;
  return run->interrupted;
}

int64_t hsc__tune_limit(const tune_run *run) {
  return hsc_task_limit(&run->setting, run->options->limit_ns);
}

// A candidate that takes far longer than the program as it is is no answer.
static int64_t limit_of(const tune_run *run) {
  const tune_candidate *base = &run->items[0];
  double patient = LEAST_LIMIT_S + SLOW * (base->compile_s + LOOK_RUNS * base->run_s);
  int64_t limit_ns = hsc__tune_limit(run);
  int64_t patient_ns = (int64_t)(patient * 1e9);
  return base->tried && patient_ns < limit_ns ? patient_ns : limit_ns;
}

// Whether this share of the time budget is used up.
static bool used_up(const tune_run *run, double share) {
  double budget = run->options->budget_s;
  if (!(budget > 0))
    return false;
  double left = (double)(run->setting.deadline_ns - hsc_now_ns()) * 1e-9;
  return left < (1 - share) * budget;
}

static void tell(const tune_run *run, int64_t done, int64_t total, const char *text) {
  if (run->options->progress)
    run->options->progress(run->options->user, done, total, text);
}

// ---- requests -----------------------------------------------------------------------------------

// What the user switched off stays off: an option replaces the whole list.
static void join_disabled(json_t *overrides, const char *more) {
  static const char *const key = "xla_disable_hlo_passes";
  const char *before = json_string_value(json_object_get(overrides, key));
  hsc_bytes list = {0};
  hsc_bytes_printf(&list, "%s%s%s", before ? before : "", before && *before ? "," : "", more);
  json_object_set_new(overrides, key, json_string(hsc_bytes_text(&list)));
  hsc_bytes_deinit(&list);
}

json_t *hsc__tune_request(const tune_run *run, const char *job, const tune_candidate *c) {
  const hsc_tune_options *o = run->options;
  json_t *overrides = o->overrides ? json_deep_copy(o->overrides) : json_object();
  json_t *transforms = json_array();
  const char *name;
  json_t *value;
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  if (c && c->transform)
    json_array_append_new(transforms, json_string(c->transform));
  if (c)
    json_object_foreach (c->overrides, name, value) {
      if (!strcmp(name, "xla_disable_hlo_passes"))
        join_disabled(overrides, json_string_value(value));
      else
        json_object_set(overrides, name, value);
    }
  json_t *request =
      json_pack("{s:s, s:s, s:o, s:o, s:I, s:[s]}", "job", job, "program",
                c && c->program ? c->program : o->program, "transforms", transforms, "overrides",
                overrides, "seed", (json_int_t)o->seed, "cache", "memory");
  json_t *data = c && c->data ? c->data : o->data;
  if (request && data)
    json_object_set(request, "data", data);
  return request;
}

// Compiles and runs once. *out_body NULL when it did not get through, which `answer` tells.
static hsc_status *run_first(tune_run *run,
                             hsc_lab_worker **worker,
                             const tune_candidate *c,
                             const char *save_to,
                             double nudge,
                             hsc_answer *answer) {
  HSC_TRY(hsc_task_worker(&run->setting, worker));
  json_t *request = hsc__tune_request(run, "run", c);
  if (!request)
    return hsc_status_out_of_memory();
  json_object_set_new(request, "records", json_integer(1));
  if (save_to)
    json_object_set_new(request, "save_to", json_string(save_to));
  else
    json_object_set_new(request, "fetch", json_false());
  if (nudge > 0)
    json_object_set_new(request, "nudge", json_real(nudge));
  hsc_status *status = hsc_lab_worker_call(*worker, request, limit_of(run), answer);
  json_decref(request);
  return status;
}

// One turn: the least of `runs` runs of what the worker has compiled, in seconds; NaN when it did
// not get through.
static hsc_status *take_turn(
    tune_run *run, hsc_lab_worker *worker, const tune_candidate *c, int runs, double *out_s) {
  hsc_answer answer = {0};
  json_t *request = hsc__tune_request(run, "run", c);
  *out_s = NAN;
  if (!request)
    return hsc_status_out_of_memory();
  json_object_set_new(request, "records", json_integer(0));
  json_object_set_new(request, "series", json_integer(runs));
  json_object_set_new(request, "inputs", json_string("keep"));
  json_object_set_new(request, "fetch", json_false());
  hsc_status *status = hsc_lab_worker_call(worker, request, limit_of(run), &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK) {
    size_t count = 0;
    double *ns = hsc_json_doubles(hsc_json_path(answer.body, "series", "run_ns", NULL), &count);
    double least = INFINITY;
    for (size_t i = 0; i < count; i++)
      least = fmin(least, ns[i]);
    if (isfinite(least))
      *out_s = least * 1e-9 / (c ? c->parts : 1);
    hsc_free(ns);
  }
  hsc_answer_deinit(&answer);
  json_decref(request);
  return status;
}

static int runs_of(const tune_run *run) {
  double once = fmax(run->items[0].run_s, 1e-7);
  return (int)fmax(LOOK_RUNS, fmin(MOST_RUNS, TURN_S / once));
}

// Seconds that the evaluator gets.
static double truth_limit_s(const hsc_tune_options *o) {
  return o->budget_s > 0 ? fmin(60, o->budget_s / 10) : 60;
}

// ---- numbers ------------------------------------------------------------------------------------

// The worst of the outputs.
static json_t *summary_of(const json_t *moved, json_t *rows) {
  hsc_finding worst = HSC_FINDING_EQUAL;
  double max_abs = 0;
  double max_ulp = NAN;
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    hsc_finding finding = hsc_row_finding(row, moved, i, 1);
    if (finding > worst)
      worst = finding;
    max_abs = fmax(max_abs, hsc_json_number(json_object_get(row, "max_abs")));
    max_ulp = fmax(max_ulp, hsc_json_number(json_object_get(row, "max_ulp")));
  }
  return json_pack("{s:s, s:o, s:o, s:i}", "verdict", hsc_finding_text(worst), "max_abs",
                   hsc_json_real(max_abs), "max_ulp", hsc_json_real(max_ulp), "outputs",
                   (int)json_array_size(rows));
}

static json_t *right_outputs(const tune_run *run) {
  return run->truth ? run->truth : run->outputs;
}

// The bounds of the program, where the evaluator said what is right; asked once.
static hsc_status *derive_bounds(tune_run *run) {
  const hsc_tune_options *o = run->options;
  if (run->asked_bounds || !run->truth || strcmp(run->truth_by, "reference") != 0)
    return NULL;
  run->asked_bounds = true;
  hsc_legal_options options = {
      .program = o->program,
      .transforms = o->transforms,
      .transform_count = o->transform_count,
      .platform = json_string_value(json_object_get(run->device, "platform")),
      .scratch = run->scratch,
      .executable = o->executable,
      .seed = o->seed,
      .data = o->data,
      .limit_ns = (int64_t)(truth_limit_s(o) * 1e9),
      .stop = o->stop};
  const char *why_not = NULL;
  bool denormals = false;
  return hsc_legal_derive(&options, run->arena, &run->bounded, &denormals, &why_not);
}

// Outputs of a run against what is right. NULL numbers: they cannot be compared (other shapes).
static hsc_status *judge_numbers(tune_run *run, json_t *outputs, json_t **out_numbers) {
  json_t *rows = json_array();
  *out_numbers = NULL;
  hsc_status *status =
      hsc_compare_outputs(right_outputs(run), outputs, run->truth_of, "candidate", rows);
  if (!status && hsc_any_beyond(rows, run->rounding))
    status = derive_bounds(run);
  if (!status && run->bounded)
    status = hsc_legal_hold(run->bounded, outputs, false, rows);
  if (!status) {
    *out_numbers = summary_of(run->rounding, rows);
  } else if (hsc_status_code(status) == HSC_INVALID_ARGUMENT) {
    hsc_status_free(status);
    status = NULL;
  }
  json_decref(rows);
  return status;
}

static bool are_right(const json_t *numbers) {
  hsc_finding finding = HSC_FINDING_DIFFERENT;
  return hsc_finding_parse(json_string_value(json_object_get(numbers, "verdict")), &finding) &&
         finding != HSC_FINDING_DIFFERENT;
}

// ---- one candidate ------------------------------------------------------------------------------

static void take_facts(tune_candidate *c, const json_t *facts) {
  c->temp_bytes = hsc_json_number(json_object_get(facts, "temp_bytes"));
  c->peak_bytes = hsc_json_number(json_object_get(facts, "peak_bytes"));
  c->facts = json_pack(
      "{s:O?, s:O?, s:O?, s:O?, s:O?}", "instructions", json_object_get(facts, "instructions"),
      "fusions", json_object_get(facts, "fusions"), "flops", json_object_get(facts, "flops"),
      "bytes", json_object_get(facts, "bytes"), "code_bytes", json_object_get(facts, "code_bytes"));
}

static hsc_status *describe(tune_run *run,
                            hsc_lab_worker *worker,
                            const tune_candidate *c,
                            json_t **out_facts) {
  hsc_answer answer = {0};
  json_t *request = hsc__tune_request(run, "describe", c);
  *out_facts = NULL;
  if (!request)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_call(worker, request, limit_of(run), &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    *out_facts = json_incref(answer.body);
  hsc_answer_deinit(&answer);
  json_decref(request);
  return status;
}

// What a look at a candidate gave, as the store keeps it.
static void take_look(tune_candidate *c, const hsc_task_row *row) {
  const json_t *answer = row->answer;
  c->tried = true;
  c->outcome = hsc_task_row_outcome(row);
  c->message = row->message ? hsc_strdup(row->message) : NULL;
  if (c->outcome != HSC_OUTCOME_OK)
    return;
  c->compile_s = hsc_json_number(json_object_get(answer, "compile_s"));
  c->run_s = hsc_json_number(json_object_get(answer, "run_s"));
  take_facts(c, json_object_get(answer, "facts"));
  json_t *numbers = json_object_get(answer, "numbers");
  if (json_is_object(numbers))
    c->numbers = json_incref(numbers);
  // a batch's inputs are others: what it computes is not compared
  c->usable = c->transform ? true : are_right(c->numbers);
}

static const char *look_key(tune_run *run, const tune_candidate *c) {
  return hsc_arena_printf(run->arena, "look/%s/%s=%s", hsc__tune_kind_text(c->kind), c->name,
                          c->value ? c->value : "");
}

// Its first run with numbers and facts, then a turn of it and one of the program as it is.
static hsc_status *look_at(
    tune_run *run, hsc_lab_worker **worker, tune_candidate *c, double *out_time, double *out_base) {
  hsc_answer answer = {0};
  hsc_task_row row;
  json_t *facts = NULL;
  json_t *numbers = NULL;
  double time = NAN;
  double base = NAN;
  const char *key = look_key(run, c);
  const char *directory = hsc_arena_printf(run->arena, "%s/outputs", run->scratch);
  HSC_TRY(hsc_arena_status(run->arena));
  hsc_status *status = hsc_task_table_find(&run->tasks, key, &row);
  json_t *kept = row.answer;
  if (status || kept)
    goto taken;
  HSC_GOTO(run_first(run, worker, c, directory, 0, &answer));
  if (answer.outcome != HSC_OUTCOME_OK && hsc__tune_stopped(run))
    goto done;  // it died of the interrupt
  kept = row.answer = json_object();
  if (answer.outcome == HSC_OUTCOME_OK) {
    const json_t *record = json_array_get(json_object_get(answer.body, "records"), 0);
    double compile_s = hsc_json_number(json_object_get(record, "compile_ns")) * 1e-9;
    HSC_GOTO(judge_numbers(run, json_object_get(answer.body, "outputs"), &numbers));
    HSC_GOTO(describe(run, *worker, c, &facts));
    double once = hsc_answer_execute_ns(answer.body, 0) * 1e-9 / c->parts;
    int runs = hsc_tune_look_runs(once, TURN_S, LOOK_RUNS, runs_of(run));
    HSC_GOTO(take_turn(run, *worker, c, runs, &time));
    HSC_GOTO(take_turn(run, *worker, NULL, runs_of(run), &base));
    json_object_set_new(kept, "compile_s", hsc_json_real(compile_s));
    json_object_set_new(kept, "run_s", hsc_json_real(once));
    json_object_set_new(kept, "time_s", hsc_json_real(time));
    json_object_set_new(kept, "base_s", hsc_json_real(base));
    json_object_set_new(kept, "numbers", numbers ? json_incref(numbers) : json_null());
    json_object_set_new(kept, "facts", facts ? json_incref(facts) : json_null());
    if (hsc__tune_stopped(run) && !isfinite(base))
      goto done;
  }
  row.state = hsc_strdup(hsc_outcome_text(answer.outcome));
  row.message = answer.status ? hsc_strdup(hsc_status_message(answer.status)) : NULL;
  HSC_GOTO(hsc_task_table_keep(&run->tasks, key, row.state, row.message, kept));
taken:
  if (!status && kept) {
    take_look(c, &row);
    *out_time = c->usable ? hsc_json_number(json_object_get(kept, "time_s")) : NAN;
    *out_base = hsc_json_number(json_object_get(kept, "base_s"));
  }
done:
  hsc_scratch_empty(directory);
  json_decref(facts);
  json_decref(numbers);
  hsc_task_row_deinit(&row);
  hsc_answer_deinit(&answer);
  return status;
}

hsc_status *hsc__tune_check_numbers(tune_run *run, hsc_lab_worker **worker, tune_candidate *c) {
  double time = NAN;
  double base = NAN;
  double compile_s = c->compile_s;
  hsc_free(c->message);
  c->message = NULL;
  c->usable = false;
  HSC_TRY(look_at(run, worker, c, &time, &base));
  c->compile_s = compile_s;
  return NULL;
}

static tune_candidate *item_of(const tune_members *m, int number) {
  return &m->run->items[m->items ? m->items[number] : number + 1];
}

static hsc_status *look_at_all(const tune_members *m,
                               const hsc_tune_round *round,
                               double *times,
                               double *baseline) {
  tune_run *run = m->run;
  hsc_lab_worker *worker = NULL;
  hsc_status *status = NULL;
  int in_process = 0;
  for (size_t i = 0; i < round->count && !status; i++) {
    tune_candidate *c = item_of(m, round->members[i]);
    bool late = used_up(run, LOOK_SHARE) && c->kind != TUNE_PLACEBO;
    if (hsc__tune_stopped(run) || late || c->memory_only)
      continue;
    tell(run, (int64_t)i, (int64_t)round->count, "looking at every candidate");
    if (in_process++ == GROUP) {
      hsc_lab_worker_destroy(worker);
      worker = NULL;
      in_process = 1;
    }
    if (!worker && !run->tasks.resumed) {
      hsc_answer answer = {0};
      status = run_first(run, &worker, NULL, NULL, 0, &answer);
      hsc_answer_deinit(&answer);
    }
    if (!status)
      status = look_at(run, &worker, c, &times[i], &baseline[i]);
  }
  hsc_lab_worker_destroy(worker);
  return status;
}

// ---- a process of a later round -----------------------------------------------------------------

// Times of one process: [member][block] and [block] of the program as it is, as the store keeps
// them.
static hsc_status *measure_process(const tune_members *m,
                                   const hsc_tune_round *round,
                                   int process,
                                   double allowed_s,
                                   json_t **out_times) {
  tune_run *run = m->run;
  hsc_lab_worker *worker = NULL;
  hsc_random random;
  json_t *times = json_array();
  json_t *base = json_array();
  size_t *order = hsc_alloc((round->count + 1) * sizeof *order);
  hsc_status *status = order && times && base ? NULL : hsc_status_out_of_memory();
  int64_t begin_ns = hsc_now_ns();
  *out_times = NULL;
  hsc_random_init(&random, run->options->seed * 1000003 + (uint64_t)(round->number * 97 + process));
  for (size_t i = 0; i <= round->count && !status; i++) {
    hsc_answer answer = {0};
    if (i < round->count)
      json_array_append_new(times, json_array());
    if (hsc__tune_stopped(run))
      break;
    status =
        run_first(run, &worker, i ? item_of(m, round->members[i - 1]) : NULL, NULL, 0, &answer);
    hsc_answer_deinit(&answer);
  }
  for (int b = 0; b < round->blocks && !status && !hsc__tune_stopped(run); b++) {
    double spent_s = (double)(hsc_now_ns() - begin_ns) * 1e-9;
    if (b >= 2 && allowed_s > 0 && spent_s > allowed_s)
      break;
    for (size_t i = 0; i <= round->count; i++)
      order[i] = i;
    for (size_t i = round->count + 1; i > 1; i--) {  // Fisher and Yates
      size_t k = (size_t)hsc_random_below(&random, i);
      size_t swap = order[i - 1];
      order[i - 1] = order[k];
      order[k] = swap;
    }
    for (size_t i = 0; i <= round->count && !status; i++) {
      double seconds = NAN;
      size_t member = order[i];
      const tune_candidate *c = member ? item_of(m, round->members[member - 1]) : NULL;
      status = take_turn(run, worker, c, runs_of(run), &seconds);
      json_array_append_new(member ? json_array_get(times, member - 1) : base,
                            hsc_json_real(seconds));
    }
  }
  hsc_lab_worker_destroy(worker);
  hsc_free(order);
  if (!status && !hsc__tune_stopped(run))
    *out_times = json_pack("{s:O, s:O}", "times", times, "base", base);
  json_decref(times);
  json_decref(base);
  return status;
}

static void take_cells(
    const hsc_tune_round *round, int process, const json_t *kept, double *times, double *baseline) {
  const json_t *all = json_object_get(kept, "times");
  const json_t *base = json_object_get(kept, "base");
  for (size_t i = 0; i < round->count; i++)
    for (int b = 0; b < round->blocks; b++) {
      size_t cell =
          (i * (size_t)round->processes + (size_t)process) * (size_t)round->blocks + (size_t)b;
      times[cell] = hsc_json_number(json_array_get(json_array_get(all, i), (size_t)b));
      baseline[cell] = hsc_json_number(json_array_get(base, (size_t)b));
    }
}

// Members by name: a resumed search may have chosen others.
static const char *round_key(const tune_members *m, const hsc_tune_round *round, int process) {
  hsc_bytes names = {0};
  char hash[33];
  for (size_t i = 0; i < round->count; i++) {
    const tune_candidate *c = item_of(m, round->members[i]);
    hsc_bytes_printf(&names, "%s=%s|", c->name, c->value ? c->value : "");
  }
  hsc_hash128_hex(hsc_hash128_of(names.data ? names.data : "", names.size, 0), hash);
  hsc_bytes_deinit(&names);
  return hsc_arena_printf(m->run->arena, "%s/%d/%d/%s", m->name, round->number, process, hash);
}

static hsc_status *measure_round(const tune_members *m,
                                 const hsc_tune_round *round,
                                 double *times,
                                 double *baseline) {
  tune_run *run = m->run;
  hsc_status *status = NULL;
  bool last = round->number >= 2;
  for (int p = 0; p < round->processes && !status && !hsc__tune_stopped(run); p++) {
    hsc_task_row row;
    if (!last && p > 0 && used_up(run, SECOND_SHARE))
      break;
    tell(run, p, round->processes,
         last ? "measuring what is left, process by process" : "measuring the best");
    const char *key = round_key(m, round, p);
    HSC_TRY(hsc_arena_status(run->arena));
    HSC_TRY(hsc_task_table_find(&run->tasks, key, &row));
    double left_s =
        run->setting.deadline_ns ? (double)(run->setting.deadline_ns - hsc_now_ns()) * 1e-9 : 0;
    if (!row.answer) {
      status = measure_process(m, round, p, left_s * 0.95 / (round->processes - p), &row.answer);
      if (!status && row.answer)
        status = hsc_task_table_keep(&run->tasks, key, "ok", NULL, row.answer);
    }
    if (!status && row.answer)
      take_cells(round, p, row.answer, times, baseline);
    hsc_task_row_deinit(&row);
  }
  return status;
}

hsc_status *hsc__tune_measure(
    void *user, const hsc_tune_round *round, double *times, double *baseline, bool *out_end) {
  const tune_members *m = user;
  hsc_status *status = round->number == 0 ? look_at_all(m, round, times, baseline)
                                          : measure_round(m, round, times, baseline);
  *out_end = hsc__tune_stopped(m->run);
  return status;
}

// ---- the program as it is -----------------------------------------------------------------------

static hsc_status *find_truth(tune_run *run) {
  const hsc_tune_options *o = run->options;
  hsc_truth_options options = {.program = o->program,
                               .transforms = o->transforms,
                               .transform_count = o->transform_count,
                               .device = o->device->text,
                               .executable = o->executable,
                               .seed = o->seed,
                               .data = o->data,
                               .scratch = run->scratch,
                               .limit_s = truth_limit_s(o),
                               .stop = o->stop};
  tell(run, 0, 1, "running the program on the reference evaluator");
  return hsc_truth_find(&options, run->arena, &run->truth, &run->truth_by, &run->no_truth);
}

static hsc_status *run_baseline(tune_run *run, hsc_lab_worker **worker) {
  tune_candidate *base = &run->items[0];
  hsc_answer answer = {0};
  hsc_answer moved = {0};
  json_t *rows = json_array();
  json_t *facts = NULL;
  const char *directory = hsc_arena_printf(run->arena, "%s/as_it_is", run->scratch);
  const char *other = hsc_arena_printf(run->arena, "%s/moved", run->scratch);
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_status(run->arena));
  tell(run, 0, 1, "running the program as it is");
  HSC_GOTO(run_first(run, worker, NULL, directory, 0, &answer));
  if (answer.outcome != HSC_OUTCOME_OK)
    HSC_GOTO(hsc_status_note(hsc_answer_take_status(&answer), "while: running it as it is"));
  const json_t *record = json_array_get(json_object_get(answer.body, "records"), 0);
  base->compile_s = hsc_json_number(json_object_get(record, "compile_ns")) * 1e-9;
  run->outputs = json_incref(json_object_get(answer.body, "outputs"));
  HSC_GOTO(describe(run, *worker, NULL, &facts));
  take_facts(base, facts);
  HSC_GOTO(take_turn(run, *worker, NULL, LOOK_RUNS, &base->run_s));
  base->tried = true;
  base->usable = true;
  run->device = json_incref(hsc_lab_worker_device(*worker));
  HSC_GOTO(run_first(run, worker, NULL, other, NUDGE, &moved));
  if (moved.outcome == HSC_OUTCOME_OK) {
    HSC_GOTO(hsc_compare_outputs(run->outputs, json_object_get(moved.body, "outputs"), "as it is",
                                 "moved", rows));
    run->rounding = json_incref(rows);
  }
  HSC_GOTO(find_truth(run));
  run->truth_of = run->truth ? run->truth_by : "the program as it is";
  HSC_GOTO(judge_numbers(run, run->outputs, &base->numbers));
  // Where the compiler is off by itself, candidates are held to what it gives, not to what is right
  if (run->truth && !are_right(base->numbers)) {
    json_decref(run->truth);
    run->truth = NULL;
    run->no_truth = "as it is, the program does not agree with the reference";
    run->truth_of = "the program as it is";
  }
done:
  json_decref(rows);
  json_decref(facts);
  hsc_answer_deinit(&answer);
  hsc_answer_deinit(&moved);
  return status;
}

hsc_status *hsc__tune_baseline(tune_run *run) {
  hsc_lab_worker *worker = NULL;
  hsc_status *status = run_baseline(run, &worker);
  hsc_lab_worker_destroy(worker);
  return status;
}
