// ablate_reference.c - who is right: every program's numbers against those of the program as it was
// written.
//
// A variant that differs from the baseline is wrong only where the baseline is right: where the
// compiler is wrong with every pass on, the pass whose absence repairs it would be accused. The
// evaluator, which is right by definition, runs the program once; where it does not get through in
// time, or has no meaning for something, a second compiler does.
#include <math.h>

#include "lab/ablate/ablate_internal.h"
#include "lab/devices/devices.h"
#include "lab/run/rounding.h"
#include "lab/verdict/agreement.h"

// Seconds that a runner gets.
static const double RUNNER_S = 60;

// Runs the program as it was written; run->truth stays NULL where the runner did not get through,
// and run->no_truth says why.
static hsc_status *try_runner(ablate_run *run, const char *name) {
  const hsc_ablate_options *o = run->options;
  hsc_device_spec *spec = HSC_NEW(run->arena, hsc_device_spec);
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  const char *directory = hsc_arena_printf(run->arena, "%s/run_%s", run->scratch, name);
  HSC_TRY(hsc_arena_status(run->arena));
  hsc_status *missing = hsc_device_spec_parse(name, run->arena, spec);
  if (missing) {
    hsc_status_free(missing);
    return NULL;
  }
  bool evaluator = spec->source == HSC_DEVICE_EVALUATOR;
  json_t *request = hsc__ablate_request(run, evaluator ? "evaluate" : "run", "");
  if (!request)
    return hsc_status_out_of_memory();
  json_object_del(request, "overrides");  // of the device's own compiler
  json_object_set_new(request, "save_to", json_string(directory));
  double limit_s = fmin((double)o->limit_ns * 1e-9, RUNNER_S);
  if (o->budget_s > 0)
    limit_s = fmin(limit_s, o->budget_s / 2);
  if (o->progress)
    o->progress(o->user, 0, 1, -1, hsc_arena_printf(run->arena, "running it on %s", name));
  hsc_status *status = hsc_lab_worker_create(
      &(hsc_lab_worker_options){
          .device = spec, .executable = o->executable, .no_disk_cache = true, .stop = o->stop},
      &worker);
  if (!status)
    status = hsc_lab_worker_call(worker, request, hsc__ablate_limit(run, (int64_t)(limit_s * 1e9)),
                                 &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK) {
    run->truth = json_incref(json_object_get(answer.body, "outputs"));
    run->truth_by = hsc_arena_strdup(run->arena, name);
  } else if (!status) {
    run->no_truth = hsc_arena_printf(
        run->arena, "%s%s%s: %s", run->no_truth ? run->no_truth : "", run->no_truth ? "; " : "",
        name, answer.status ? hsc_status_message(answer.status) : hsc_outcome_text(answer.outcome));
  }
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status ? status : hsc_arena_status(run->arena);
}

hsc_status *hsc__ablate_find_truth(ablate_run *run) {
  // The second compiler is another one than that whose passes are switched off.
  static const char *const runners[] = {"reference", "cpu", "xla-cpu"};
  bool draws = false;
  hsc_status *unread = hsc_program_draws(run->options->program, &draws);
  hsc_status_free(unread);  // a device may know a program that we cannot read
  if (draws) {
    run->no_truth = "the program draws random numbers (rng), and each device draws its own";
    return NULL;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(runners) && !run->truth; i++) {
    if (!strcmp(runners[i], run->options->device->text) || hsc__ablate_stopped(run))
      continue;
    HSC_TRY(try_runner(run, runners[i]));
  }
  if (!run->truth && !run->no_truth)
    run->no_truth = "no other device is here that runs programs";
  return NULL;
}

// Whether numbers that were held against the right ones agree with them; false: not known.
static bool agrees(const json_t *reference, bool *out_agrees) {
  hsc_finding finding;
  if (!hsc_finding_parse(json_string_value(json_object_get(reference, "verdict")), &finding))
    return false;
  *out_agrees = finding != HSC_FINDING_DIFFERENT;
  return true;
}

const char *hsc__ablate_who(const ablate_run *run, const ablate_variant *v) {
  bool baseline = false;
  bool variant = false;
  if (!agrees(run->variants[0].reference, &baseline) || !agrees(v->reference, &variant))
    return NULL;
  if (baseline && variant)
    return "both";
  if (baseline)
    return "baseline";
  return variant ? "variant" : "neither";
}

// Why a program's numbers were held against nothing.
static const char *reason_of(const ablate_run *run, const ablate_variant *v) {
  if (run->options->device->topology)
    return "the device only compiles here";
  if (v->run_outcome != HSC_OUTCOME_OK)
    return v->message ? v->message : hsc_outcome_text(v->run_outcome);
  if (run->interrupted)
    return "interrupted";
  return run->no_truth ? run->no_truth : "it was not run";
}

hsc_status *hsc__ablate_numbers_json(const ablate_run *run, json_t **out_numbers) {
  hsc_agreement *agreement = NULL;
  json_t *numbers = json_object();
  *out_numbers = NULL;
  if (!numbers)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_agreement_create("program", &agreement);
  // every distinct program that was made
  for (int i = 0; !status && i < run->variant_count; i++) {
    const ablate_variant *v = &run->variants[i];
    hsc_finding finding;
    if (!v->answer || v->same_as != i)
      continue;
    const char *text = json_string_value(json_object_get(v->reference, "verdict"));
    if (hsc_finding_parse(text, &finding))
      hsc_agreement_compared(agreement, v->name, finding);
    else
      hsc_agreement_gap(agreement, json_pack("{s:s}", "pass", v->name), v->name, reason_of(run, v));
  }
  if (!status)
    status = hsc_agreement_into(agreement, numbers);
  json_object_set_new(numbers, "against", run->truth_by ? json_string(run->truth_by) : json_null());
  hsc_agreement_destroy(agreement);
  if (status)
    json_decref(numbers);
  else
    *out_numbers = numbers;
  return status;
}
