// validate_final.c - below the last HLO: what the device itself computes.
//
// A compiler can be right in every stage of its HLO and wrong in the code that it makes of the last
// one. Where the device runs programs, its executable runs on the same inputs, and its outputs are
// held against those of the program before the first pass, as every stage's are. Where they differ,
// the evaluator, which is right by definition, is asked who is wrong: the device or the runner; and
// the last stage tells whether the difference was there already in HLO.
#include <math.h>

#include "lab/passes/validate_internal.h"
#include "lab/devices/devices.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "worker/scratch.h"

// Seconds that the evaluator gets to say who is right.
static const double ARBITER_S = 60;

static json_t *request_of(const hsc_validate_options *o, const char *job, const char *save_to) {
  json_t *transforms = json_array();
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  json_t *request =
      json_pack("{s:s, s:s, s:o, s:I, s:s, s:[s]}", "job", job, "program", o->program, "transforms",
                transforms, "seed", (json_int_t)o->seed, "save_to", save_to, "cache", "memory");
  if (request && o->data)
    json_object_set(request, "data", o->data);
  return request;
}

// One run on a device of its own worker; *out_outputs NULL: it did not get through, and
// *out_reason says why.
static hsc_status *run_on(const hsc_validation *v,
                          const hsc_device_spec *device,
                          json_t *request,
                          int64_t limit_ns,
                          hsc_arena *arena,
                          json_t **out_outputs,
                          const char **out_reason) {
  const hsc_validate_options *o = v->options;
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  *out_outputs = NULL;
  *out_reason = NULL;
  if (!request)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_create(&(hsc_lab_worker_options){.device = device,
                                                                       .executable = o->executable,
                                                                       .no_disk_cache = true,
                                                                       .memory = o->memory,
                                                                       .stop = o->stop},
                                             &worker);
  if (!status)
    status = hsc_lab_worker_call(worker, request, limit_ns, &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    *out_outputs = json_incref(json_object_get(answer.body, "outputs"));
  else if (!status)
    *out_reason = hsc_arena_strdup(arena, answer.status ? hsc_status_message(answer.status)
                                                        : hsc_outcome_text(answer.outcome));
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status;
}

// Whether two runs differ beyond what the types and rounding allow.
static hsc_status *differ(
    hsc_validation *v, json_t *left, json_t *right, hsc_arena *arena, bool *out_differ) {
  json_t *rows = json_array();
  json_t *stage = json_object();
  *out_differ = true;
  hsc_status *status = rows && stage ? NULL : hsc_status_out_of_memory();
  if (!status && hsc_outputs_same(left, right, "shape")) {
    status = hsc__validate_compare(v, left, right, "right", arena, rows);
    if (!status)
      status = hsc__validate_judge(v, rows, stage, arena);
    if (!status)
      *out_differ = !strcmp(json_string_value(json_object_get(stage, "verdict")), "different");
  }
  json_decref(rows);
  json_decref(stage);
  return status;
}

typedef enum who { DEVICE_IS_WRONG, RUNNER_IS_WRONG, BOTH_DIFFER, NOT_KNOWN } who;

// Asks the evaluator, which runs the program as it was written.
static hsc_status *ask_evaluator(
    hsc_validation *v, json_t *made, hsc_arena *arena, who *out_who, const char **out_reason) {
  const hsc_validate_options *o = v->options;
  hsc_device_spec reference;
  json_t *right = NULL;
  bool device_differs = false;
  bool runner_differs = false;
  *out_who = DEVICE_IS_WRONG;
  *out_reason = NULL;
  if (hsc_lab_worker_spec(v->runner)->source == HSC_DEVICE_EVALUATOR)
    return NULL;
  HSC_TRY(hsc_device_spec_parse("reference", arena, &reference));
  const char *directory = hsc_arena_printf(arena, "%s/outputs_arbiter", v->scratch);
  HSC_TRY(hsc_arena_status(arena));
  int64_t limit_ns = hsc__validate_limit(o, (int64_t)fmin((double)o->limit_ns, ARBITER_S * 1e9));
  *out_who = NOT_KNOWN;
  HSC_TRY(run_on(v, &reference, request_of(o, "evaluate", directory), limit_ns, arena, &right,
                 out_reason));
  hsc_status *status = NULL;
  if (right) {
    status = differ(v, right, made, arena, &device_differs);
    if (!status)
      status = differ(v, right, v->first_outputs, arena, &runner_differs);
    if (device_differs)
      *out_who = runner_differs ? BOTH_DIFFER : DEVICE_IS_WRONG;
    else
      *out_who = RUNNER_IS_WRONG;
  }
  json_decref(right);
  hsc_worker_memory_done_with(v->options->memory, directory);
  return status;
}

// What follows from a difference of the executable: below HLO, or already in a stage; or the runner
// is the one that is wrong.
static hsc_status *look_below(hsc_validation *v, json_t *stage, json_t *made, hsc_arena *arena) {
  who wrong = NOT_KNOWN;
  const char *reason = NULL;
  bool from_last = true;
  HSC_TRY(ask_evaluator(v, made, arena, &wrong, &reason));
  if (wrong == RUNNER_IS_WRONG) {
    json_object_set_new(stage, "verdict", json_string("close"));
    json_object_set_new(stage, "decided_by", json_string("evaluator"));
    json_object_set_new(
        stage, "where",
        json_string(hsc_arena_printf(arena,
                                     "the evaluator agrees with it and not with %s, "
                                     "which ran the stages",
                                     v->runner_text)));
    return hsc_arena_status(arena);
  }
  if (v->last_outputs)
    HSC_TRY(differ(v, v->last_outputs, made, arena, &from_last));
  if (v->first || !from_last)
    return NULL;  // a stage had it before: it is reported there
  const char *pass =
      v->last_outputs ? "code generation" : "code generation, or a stage that was not compared";
  json_t *first = json_pack("{s:n, s:s, s:s, s:n, s:s, s:b}", "run", "pipeline", "below HLO",
                            "pass", pass, "instruction", "instruction_unknown",
                            "the executable is no HLO", "below_hlo", v->last_outputs != NULL);
  if (first && wrong == NOT_KNOWN)
    json_object_set_new(
        first, "unconfirmed",
        json_string(hsc_arena_printf(arena, "the evaluator could not say who is right: %s",
                                     reason ? reason : "no reason was kept")));
  v->first = first;
  return first ? hsc_arena_status(arena) : hsc_status_out_of_memory();
}

hsc_status *hsc__validate_final(hsc_validation *v, hsc_arena *arena, const char **out_text) {
  const hsc_validate_options *o = v->options;
  json_t *made = NULL;
  json_t *rows = NULL;
  const char *reason = NULL;
  *out_text = "not_run";
  hsc_pass_row row = {.pipeline = "below HLO", .pass = "code generation"};
  json_t *stage = hsc__validate_new_stage(&row, -1);
  const char *directory = hsc_arena_printf(arena, "%s/outputs_final", v->scratch);
  json_t *request = request_of(o, "run", directory);
  hsc_status *status = hsc_arena_status(arena);
  if (request && o->overrides)
    json_object_set(request, "overrides", o->overrides);
  json_array_append_new(v->stages, stage);
  // What was not run is a thing that was to be compared and was not, whatever the cause.
  if (o->device->topology)
    reason = hsc_arena_printf(arena, "the executable was not run: %s only compiles here",
                              o->device->text);
  else if (hsc__validate_over(o))
    reason = hsc_arena_printf(arena, "the executable was not run: %s", hsc__validate_over(o));
  else
    HSC_GOTO(
        run_on(v, o->device, request, hsc__validate_limit(o, o->limit_ns), arena, &made, &reason));
  if (!made)
    json_object_set_new(stage, "skipped", json_string(reason ? reason : "it did not run"));
  else if (!v->first_outputs)
    json_object_set_new(stage, "skipped",
                        json_string("no stage ran that it could be held against"));
  else if (!hsc_outputs_same(v->first_outputs, made, "shape"))
    json_object_set_new(stage, "skipped",
                        json_string("its outputs have other shapes than the program's"));
  else {
    rows = json_array();
    HSC_GOTO(hsc__validate_compare(v, v->first_outputs, made, "executable", arena, rows));
    HSC_GOTO(hsc__validate_judge(v, rows, stage, arena));
    if (!strcmp(json_string_value(json_object_get(stage, "verdict")), "different") && !v->draws)
      HSC_GOTO(look_below(v, stage, made, arena));
  }
  hsc__validate_enter(v, stage, arena);
  hsc_finding finding;
  if (hsc_finding_parse(json_string_value(json_object_get(stage, "verdict")), &finding))
    *out_text = hsc_finding_text(finding);
done:
  hsc_worker_memory_done_with(v->options->memory, directory);
  json_decref(made);
  json_decref(rows);
  return status;
}
