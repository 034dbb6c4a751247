// ablate_numbers.c - runs every program that is not the baseline's, in workers, and compares its
// outputs with the baseline's.
#include "lab/ablate/ablate_internal.h"

#include <math.h>

#include "lab/run/json_tree.h"
#include "lab/run/legal.h"
#include "lab/run/outputs.h"
#include "worker/scratch.h"

// The worst verdict over all outputs, and the largest differences.
static json_t *summarize(const ablate_run *run, json_t *rows) {
  hsc_finding worst = HSC_FINDING_EQUAL;
  double max_abs = 0;
  double max_ulp = NAN;  // not known: every difference is across zero
  int different = 0;
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    hsc_finding finding = hsc_row_finding(row, run->rounding, i, 1);
    if (finding == HSC_FINDING_EQUAL)
      continue;
    different++;
    if (finding > worst)
      worst = finding;
    double ulp = hsc_json_number(json_object_get(row, "max_ulp"));
    double distance = hsc_json_number(json_object_get(row, "max_abs"));
    max_ulp = fmax(max_ulp, ulp);
    if (distance > max_abs)
      max_abs = distance;
  }
  if (different == 0)
    max_ulp = 0;
  return json_pack("{s:s, s:o, s:o, s:i, s:i}", "verdict", hsc_finding_text(worst), "max_ulp",
                   isnan(max_ulp) ? json_null() : json_integer((json_int_t)fmin(max_ulp, 9e15)),
                   "max_abs", hsc_json_real(max_abs), "outputs_different", different, "outputs",
                   (int)json_array_size(rows));
}

// Runs once, with its outputs as files in `directory`; `perturbed`: on inputs whose floats are
// moved by their last place.
static hsc_status *run_once(ablate_run *run,
                            hsc_lab_worker **worker,
                            const ablate_variant *v,
                            bool perturbed,
                            const char *directory,
                            hsc_answer *answer,
                            hsc_task_end *end) {
  json_t *request = hsc__ablate_request(run, "run", v->disable);
  json_t *drop = json_pack("{s:s}", "job", "drop");
  if (!request || !drop)
    return hsc_status_out_of_memory();
  json_object_set_new(request, "records", json_integer(2));
  json_object_set_new(request, "save_to", json_string(directory));
  // the least that moves anything
  if (perturbed)
    json_object_set_new(request, "perturb", json_real(1e-30));
  hsc_status *status = hsc__ablate_call(run, worker, request, run->options->limit_ns, answer, end);
  // What it holds on the device would be there beside the next one.
  if (!status && answer->outcome == HSC_OUTCOME_OK) {
    hsc_answer dropped;
    status = hsc_lab_worker_call(*worker, drop, run->options->limit_ns, &dropped);
    if (!status)
      hsc_answer_deinit(&dropped);
  }
  json_decref(request);
  json_decref(drop);
  return status;
}

static void take_run(ablate_variant *v, hsc_outcome outcome, const char *message, json_t *answer) {
  v->run_outcome = outcome;
  v->ran = outcome == HSC_OUTCOME_OK;
  if (!v->ran && message && !v->message) {
    v->message = hsc_strdup(message);
    v->where = hsc__ablate_where(message);
    v->code = hsc__ablate_code(answer);
  }
  v->run_s = v->ran ? hsc_answer_execute_ns(answer, -1) * 1e-9 : 0;
  json_t *numbers = json_object_get(answer, "numbers");
  json_t *reference = json_object_get(answer, "reference");
  if (numbers)
    v->numbers = json_incref(numbers);
  if (reference)
    v->reference = json_incref(reference);
}

// The bounds of the program, where the evaluator said what is right; asked once, whoever comes
// first.
static hsc_status *derive_bounds(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  hsc_arena *arena = NULL;  // run->arena is another thread's
  const char *why_not = NULL;
  bool denormals = false;
  hsc_status *status = hsc_arena_create(&arena);
  pthread_mutex_lock(&run->lock);
  if (!status && !run->asked_bounds && run->truth_by && !strcmp(run->truth_by, "reference")) {
    const char *platform = json_string_value(json_object_get(run->device, "platform"));
    hsc_legal_options options = {.program = o->program,
                                 .transforms = o->transforms,
                                 .transform_count = o->transform_count,
                                 .platform = platform,
                                 .scratch = run->scratch,
                                 .executable = o->executable,
                                 .seed = o->seed,
                                 .limit_ns = hsc_task_limit(&run->setting, o->limit_ns),
                                 .stop = o->stop};
    run->asked_bounds = true;
    status = hsc_legal_derive(&options, arena, &run->bounded, &denormals, &why_not);
  }
  pthread_mutex_unlock(&run->lock);
  hsc_arena_destroy(arena);
  return status;
}

// Outputs against others: {"verdict", "max_ulp", "max_abs", "outputs_different", "outputs"}.
static hsc_status *compare(
    ablate_run *run, json_t *left, json_t *right, const char *name, json_t **out_numbers) {
  json_t *rows = json_array();
  hsc_status *status = NULL;
  if (hsc_outputs_same(left, right, "digest")) {
    *out_numbers =
        json_pack("{s:s, s:i, s:i, s:i, s:i}", "verdict", "equal", "max_ulp", 0, "max_abs", 0,
                  "outputs_different", 0, "outputs", (int)json_array_size(right));
  } else {
    status = hsc_compare_outputs(left, right, "baseline", name, rows);
    if (!status && hsc_any_beyond(rows, run->rounding))
      status = derive_bounds(run);
    if (!status && run->bounded)
      status = hsc_legal_hold(run->bounded, right, false, rows);
    if (!status)
      *out_numbers = summarize(run, rows);
  }
  json_decref(rows);
  return status;
}

// What a run's outputs are against the baseline's, and against what is right, into its answer.
static hsc_status *judge_outputs(ablate_run *run, json_t *body, const char *name) {
  json_t *outputs = json_object_get(body, "outputs");
  json_t *numbers = NULL;
  json_t *reference = NULL;
  hsc_status *status = NULL;
  if (run->variants[0].outputs) {
    status = compare(run, run->variants[0].outputs, outputs, name, &numbers);
    json_object_set_new(body, "numbers", numbers);
  }
  if (!status && run->truth) {
    status = compare(run, run->truth, outputs, name, &reference);
    json_object_set_new(body, "reference", reference);
  }
  return status;
}

// The numbers are asked of the first variant of each program that is not the baseline's, and of the
// placebos: what they show is chance.
static bool is_due(const ablate_variant *v, int number) {
  return v->answer && number > 0 && (v->same_as == number || v->kind == VARIANT_PLACEBO);
}

static hsc_status *numbers_task(ablate_run *run, hsc_lab_worker **worker, int number) {
  int at = run->task_from + number;
  ablate_variant *v = &run->variants[at];
  hsc_task_row row = {0};
  hsc_task_end end;
  hsc_answer answer = {0};
  hsc_bytes key = {0};
  hsc_bytes directory = {0};
  hsc_status *status = NULL;
  if (!is_due(v, at))
    return NULL;
  hsc_bytes_printf(&key, "numbers/%s", v->name);
  hsc_bytes_printf(&directory, "%s/run_%d", run->scratch, at);
  HSC_GOTO(hsc_bytes_status(&directory));
  pthread_mutex_lock(&run->lock);
  status = hsc_task_table_find(&run->tasks, hsc_bytes_text(&key), &row);
  if (row.state)
    take_run(v, hsc_task_row_outcome(&row), row.message, row.answer);
  pthread_mutex_unlock(&run->lock);
  if (status || row.state)
    goto done;
  HSC_GOTO(run_once(run, worker, v, false, hsc_bytes_text(&directory), &answer, &end));
  if (end == HSC_TASK_CUT_OFF)
    goto done;
  if (answer.outcome == HSC_OUTCOME_OK)
    HSC_GOTO(judge_outputs(run, answer.body, v->name));
  hsc_scratch_empty(hsc_bytes_text(&directory));
  hsc__ablate_keep_code(&answer);
  const char *message = answer.status ? hsc_status_message(answer.status) : NULL;
  pthread_mutex_lock(&run->lock);
  take_run(v, answer.outcome, message, answer.body);
  if (end == HSC_TASK_DONE)
    status = hsc_task_table_keep_answer(&run->tasks, hsc_bytes_text(&key), &answer);
  pthread_mutex_unlock(&run->lock);
done:
  hsc_task_row_deinit(&row);
  hsc_answer_deinit(&answer);
  hsc_bytes_deinit(&key);
  hsc_bytes_deinit(&directory);
  return status;
}

// What the program itself makes of the last places of its inputs: differences up to that size say
// nothing about a pass.
static hsc_status *measure_rounding(ablate_run *run, hsc_lab_worker **worker) {
  hsc_bytes directory = {0};
  hsc_answer answer = {0};
  hsc_task_end end;
  json_t *rows = json_array();
  hsc_bytes_printf(&directory, "%s/run_perturbed", run->scratch);
  hsc_status *status = hsc_bytes_status(&directory);
  if (!status)
    status =
        run_once(run, worker, &run->variants[0], true, hsc_bytes_text(&directory), &answer, &end);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    status = hsc_compare_outputs(run->variants[0].outputs, json_object_get(answer.body, "outputs"),
                                 "baseline", "baseline on inputs moved by a last place", rows);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    run->rounding = json_incref(rows);
  hsc_scratch_empty(hsc_bytes_text(&directory));
  hsc_answer_deinit(&answer);
  hsc_bytes_deinit(&directory);
  json_decref(rows);
  return status;
}

hsc_status *hsc__ablate_numbers(ablate_run *run, int from, int to) {
  ablate_variant *baseline = &run->variants[0];
  if (!baseline->outputs) {
    hsc_lab_worker *worker = NULL;
    hsc_task_end end;
    hsc_answer answer = {0};
    hsc_bytes directory = {0};
    hsc_bytes_printf(&directory, "%s/run_0", run->scratch);
    hsc_status *status = hsc_bytes_status(&directory);
    if (!status && run->options->progress)
      run->options->progress(run->options->user, 0, to - from, -1, "running the baseline");
    if (!status)
      status = run_once(run, &worker, baseline, false, hsc_bytes_text(&directory), &answer, &end);
    if (!status) {
      take_run(baseline, answer.outcome, answer.status ? hsc_status_message(answer.status) : NULL,
               answer.body);
      if (baseline->ran)
        baseline->outputs = json_incref(json_object_get(answer.body, "outputs"));
    }
    if (!status && baseline->ran)
      status = measure_rounding(run, &worker);
    if (!status && baseline->ran)
      status = hsc__ablate_find_truth(run);
    if (!status && run->truth)
      status = compare(run, run->truth, baseline->outputs, "baseline", &baseline->reference);
    hsc_answer_deinit(&answer);
    hsc_bytes_deinit(&directory);
    hsc_lab_worker_destroy(worker);
    HSC_TRY(status);
    // a device that compiles only, or a program that it cannot run: structure is what there is
    if (!baseline->ran)
      return NULL;
  }
  run->task_from = from;
  HSC_TRY(hsc__ablate_dispatch(run, to - from, "comparing numbers", numbers_task));
  // Equal programs give equal numbers.
  for (int i = from; i < to; i++) {
    ablate_variant *v = &run->variants[i];
    const ablate_variant *first = &run->variants[v->same_as];
    if (v->numbers || !v->answer || v->same_as == i)
      continue;
    v->run_outcome = first->run_outcome;
    v->run_s = first->run_s;
    if (first->numbers)
      v->numbers = json_incref(first->numbers);
    if (first->reference && !v->reference)
      v->reference = json_incref(first->reference);
  }
  return NULL;
}
