// tune_compile.c - tuning for compile time: what is measured is the processor time of a compile.
//
// The search is the same as for run time; a turn is one compile. Processor time, since compilers
// use several threads and other work on the machine moves the clock on the wall. What is proved is
// then run once where the device runs programs: its numbers must be right.
#include <math.h>

#include "base/core/clock.h"
#include "lab/run/json_tree.h"
#include "lab/tune/tune_internal.h"

static hsc_status *compile_turn(tune_run *run,
                                hsc_lab_worker **worker,
                                tune_candidate *c,
                                double *out_s) {
  hsc_answer answer = {0};
  *out_s = NAN;
  HSC_TRY(hsc_task_worker(&run->setting, worker));
  json_t *request = hsc__tune_request(run, "compile", c);
  if (!request)
    return hsc_status_out_of_memory();
  json_object_del(request, "data");
  hsc_status *status = hsc_lab_worker_call(*worker, request, hsc__tune_limit(run), &answer);
  bool stopped = hsc__tune_stopped(run);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    *out_s = hsc_json_number(json_object_get(answer.body, "compile_processor_ns")) * 1e-9;
  if (c && !status && !c->tried && !(stopped && answer.outcome != HSC_OUTCOME_OK)) {
    c->tried = true;
    c->outcome = answer.outcome;
    c->usable = answer.outcome == HSC_OUTCOME_OK;
    c->message = answer.status ? hsc_strdup(hsc_status_message(answer.status)) : NULL;
    c->compile_s = *out_s;
    c->temp_bytes = hsc_json_number(json_object_get(answer.body, "temp_bytes"));
    c->peak_bytes = hsc_json_number(json_object_get(answer.body, "peak_bytes"));
  }
  hsc_answer_deinit(&answer);
  json_decref(request);
  return status;
}

// What a process gave, into the store and out of it.
static hsc_status *keep(tune_run *run, const char *key, const double *turns, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, hsc_json_real(turns[i]));
  json_t *answer = json_pack("{s:o}", "compiles", list);
  hsc_status *status = hsc_task_table_keep(&run->tasks, key, "ok", NULL, answer);
  json_decref(answer);
  return status;
}

// The look at all goes on in one process, which a candidate's death starts anew; a later round has
// a process of its own for each of `processes`. The baseline is compiled before every candidate's
// turn.
static hsc_status *measure_process(const tune_members *m,
                                   const hsc_tune_round *round,
                                   int process,
                                   double *times,
                                   double *baseline) {
  tune_run *run = m->run;
  hsc_lab_worker *worker = NULL;
  hsc_status *status = NULL;
  double warm = NAN;
  status = compile_turn(run, &worker, NULL, &warm);  // loads what is loaded once
  for (int b = 0; b < round->blocks && !status; b++) {
    for (size_t i = 0; i < round->count && !status && !hsc__tune_stopped(run); i++) {
      tune_candidate *c =
          &run->items[m->items ? m->items[round->members[i]] : round->members[i] + 1];
      size_t cell =
          (i * (size_t)round->processes + (size_t)process) * (size_t)round->blocks + (size_t)b;
      bool late =
          round->number == 0 && c->kind != TUNE_PLACEBO && run->setting.deadline_ns &&
          (double)(run->setting.deadline_ns - hsc_now_ns()) * 1e-9 < run->options->budget_s / 2;
      if (c->transform || c->memory_only || late)
        continue;
      if (run->options->progress)
        run->options->progress(run->options->user, (int64_t)i, (int64_t)round->count,
                               "compiling candidates");
      status = compile_turn(run, &worker, NULL, &baseline[cell]);
      if (!status)
        status = compile_turn(run, &worker, c, &times[cell]);
    }
  }
  hsc_lab_worker_destroy(worker);
  if (!status && !hsc__tune_stopped(run)) {
    const char *key = hsc_arena_printf(run->arena, "compile/%d/%d", round->number, process);
    HSC_TRY(hsc_arena_status(run->arena));
    size_t each = (size_t)round->processes * (size_t)round->blocks;
    status = keep(run, key, times, round->count * each);
  }
  return status;
}

static hsc_status *measure(
    void *user, const hsc_tune_round *round, double *times, double *baseline, bool *out_end) {
  const tune_members *m = user;
  hsc_status *status = NULL;
  for (int p = 0; p < round->processes && !status && !hsc__tune_stopped(m->run); p++)
    status = measure_process(m, round, p, times, baseline);
  *out_end = hsc__tune_stopped(m->run);
  return status;
}

hsc_status *hsc__tune_compile_times(tune_run *run) {
  const hsc_tune_options *o = run->options;
  tune_members members = {run, NULL, "compile"};
  hsc_tune_plan plan = {.candidate_count = run->candidate_count,
                        .placebo_count = o->placebos,
                        .last_processes = HSC_LEAST_PROCESSES,
                        .last_blocks = 1,
                        .margin = o->margin,
                        .seed = o->seed};
  size_t all = (size_t)(run->candidate_count + o->placebos);
  hsc_tune_found *found = hsc_alloc((all + 1) * sizeof *found);
  if (!found)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_tune_search(&plan, measure, &members, found, &run->searched);
  hsc_lab_worker *worker = NULL;
  for (size_t i = 0; i < all && !status; i++) {
    tune_candidate *c = &run->items[1 + i];
    c->found = found[i];
    bool proved = c->found.judged && c->found.effect.verdict == HSC_VERDICT_FASTER;
    if (proved && !run->only_compiles)
      status = hsc__tune_check_numbers(run, &worker, c);
  }
  hsc_lab_worker_destroy(worker);
  hsc_free(found);
  return status;
}
