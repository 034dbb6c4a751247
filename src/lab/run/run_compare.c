// run_compare.c - whether the devices of a run computed the same numbers.
//
// What differs by more than the outputs' types allow is held against the bound that the evaluator
// derives of the program (legal.h), on both sides: two devices that are both within it differ by
// legal rounding.
#include <math.h>

#include "hlo/ir/hlo.h"
#include "lab/run/legal.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "lab/run/run_internal.h"
#include "lab/verdict/agreement.h"

// What the analysis may take of a run that is about something else.
static const double MOST_NS = 20e9;

// Why a device has no outputs; NULL = it has.
static const char *no_outputs(const hsc__device_run *device) {
  if (device->status)
    return hsc_status_message(device->status);
  if (device->outcome != HSC_OUTCOME_OK)
    return hsc_outcome_text(device->outcome);
  if (device->spec && device->spec->topology)
    return "compiled ahead of time, so there are no numbers";
  return json_array_size(json_object_get(device->first, "outputs")) ? NULL : "it has no outputs";
}

// What lies on several devices must be the same on all of them.
static bool copies_differ(const hsc__device_run *device, size_t output) {
  json_t *one = json_array_get(json_object_get(device->first, "outputs"), output);
  return json_is_true(json_object_get(one, "copies_differ"));
}

static bool is_evaluator(const hsc__device_run *device) {
  return device->spec && device->spec->source == HSC_DEVICE_EVALUATOR;
}

// One further device against the first, output by output.
static hsc_status *compare_device(const hsc__device_run *first,
                                  const hsc__device_run *device,
                                  hsc_legal_case *legal,
                                  json_t *rows,
                                  hsc_agreement *agreement) {
  json_t *outputs = json_object_get(first->first, "outputs");
  json_t *own = json_array();
  json_t *row;
  size_t i;
  const char *reason = no_outputs(first) ? no_outputs(first) : no_outputs(device);
  const char *name = no_outputs(first) ? first->text : device->text;
  hsc_status *failed = NULL;
  if (!reason)
    failed = hsc_compare_outputs(outputs, json_object_get(device->first, "outputs"), first->text,
                                 device->text, own);
  if (!reason && !failed)
    failed = hsc_legal_settle(
        legal, is_evaluator(first) ? NULL : outputs,
        is_evaluator(device) ? NULL : json_object_get(device->first, "outputs"), NULL, own);
  if (failed && hsc_status_code(failed) == HSC_RESOURCE_EXHAUSTED) {
    json_decref(own);
    return failed;
  }
  json_array_foreach (own, i, row) {
    hsc_finding finding = HSC_FINDING_DIFFERENT;
    char what[64];
    snprintf(what, sizeof what, "output %zu", i);
    hsc_finding_parse(json_string_value(json_object_get(row, "verdict")), &finding);
    if (copies_differ(first, i) || copies_differ(device, i))
      finding = HSC_FINDING_DIFFERENT;
    if (finding == HSC_FINDING_DIFFERENT && legal->draws) {
      hsc_agreement_gap(agreement,
                        json_pack("{s:s, s:I}", "device", device->text, "output", (json_int_t)i),
                        what, legal->why_not);
      continue;
    }
    hsc_agreement_compared(agreement, what, finding);
    json_array_append(rows, row);
  }
  // Where only one of the two ran, its outputs are those that were to be compared; where neither
  // did, nobody knows how many there are.
  size_t wanted = json_array_size(outputs);
  if (!wanted)
    wanted = json_array_size(json_object_get(device->first, "outputs"));
  if (!wanted)
    hsc_agreement_gap_uncounted(agreement,
                                json_pack("{s:s, s:n}", "device", device->text, "output"), name,
                                reason ? reason : hsc_status_message(failed));
  for (i = json_array_size(own); i < wanted; i++)
    hsc_agreement_gap(agreement,
                      json_pack("{s:s, s:I}", "device", device->text, "output", (json_int_t)i),
                      name, reason ? reason : hsc_status_message(failed));
  hsc_status_free(failed);
  json_decref(own);
  return NULL;
}

// The platform whose products may have the shortest factors, of the devices that ran.
static const char *coarsest_platform(const hsc_run_options *o, const hsc__device_run *devices) {
  const char *coarsest = NULL;
  for (size_t i = 0; i < o->device_count; i++) {
    const char *platform = json_string_value(json_object_get(devices[i].describe, "platform"));
    if (hsc_factor_unit(platform) > hsc_factor_unit(coarsest))
      coarsest = platform;
  }
  return coarsest;
}

hsc_status *hsc__run_compare_numbers(const hsc_run_options *o,
                                     const hsc__device_run *devices,
                                     const char *scratch,
                                     json_t *rows,
                                     json_t *result) {
  hsc_agreement *agreement = NULL;
  hsc_legal_case legal = {.options = {.program = devices[0].program,
                                      .transforms = o->transforms,
                                      .transform_count = o->transform_count,
                                      .platform = coarsest_platform(o, devices),
                                      .scratch = scratch,
                                      .executable = o->executable,
                                      .seed = o->seed,
                                      .data = o->data,
                                      .limit_ns = (int64_t)fmin((double)o->limit_ns, MOST_NS)}};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&legal.arena));
  HSC_GOTO(hsc_agreement_create("output", &agreement));
  for (size_t i = 1; i < o->device_count; i++)
    HSC_GOTO(compare_device(&devices[0], &devices[i], &legal, rows, agreement));
  HSC_GOTO(hsc_agreement_into(agreement, result));
  json_object_set_new(result, "bounds", hsc_legal_json(&legal));
done:
  hsc_agreement_destroy(agreement);
  hsc_legal_case_deinit(&legal);
  hsc_arena_destroy(legal.arena);
  return status;
}
