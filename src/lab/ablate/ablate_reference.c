// ablate_reference.c - who is right: every program's numbers against those of the program as it was
// written.
//
// A variant that differs from the baseline is wrong only where the baseline is right: where the
// compiler is wrong with every pass on, the pass whose absence repairs it would be accused.
#include <math.h>

#include "lab/ablate/ablate_internal.h"
#include "lab/run/truth.h"
#include "lab/verdict/agreement.h"

// Seconds that a runner gets.
static const double RUNNER_S = 60;

static void show(void *user, const char *text) {
  const hsc_ablate_options *o = user;
  if (o->progress)
    o->progress(o->user, 0, 1, -1, text);
}

hsc_status *hsc__ablate_find_truth(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  double limit_s = fmin((double)o->limit_ns * 1e-9, RUNNER_S);
  if (o->budget_s > 0)
    limit_s = fmin(limit_s, o->budget_s / 2);
  hsc_truth_options options = {.program = o->program,
                               .transforms = o->transforms,
                               .transform_count = o->transform_count,
                               .device = o->device->text,
                               .executable = o->executable,
                               .scratch = run->scratch,
                               .seed = o->seed,
                               .limit_s = limit_s,
                               .deadline_ns = o->deadline_ns,
                               .progress = show,
                               .user = (void *)(uintptr_t)o,
                               .stop = o->stop};
  if (hsc__ablate_stopped(run))
    return NULL;
  return hsc_truth_find(&options, run->arena, &run->truth, &run->truth_by, &run->no_truth);
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
