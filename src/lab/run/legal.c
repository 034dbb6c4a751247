// legal.c - asks the evaluator for the bounds of a program, and holds outputs against them.
#include "lab/run/legal.h"

#include <math.h>

#include "lab/devices/devices.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "worker/worker_client.h"

// The analysis takes several times what the evaluation takes; whoever asks has more to do.
static const double MOST_SECONDS = 60;

static json_t *request_of(const hsc_legal_options *o, const char *directory) {
  json_t *transforms = json_array();
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  json_t *request = json_pack("{s:s, s:s, s:o, s:I, s:s, s:f}", "job", "bounds", "program",
                              o->program, "transforms", transforms, "seed", (json_int_t)o->seed,
                              "save_to", directory, "factor_unit", hsc_factor_unit(o->platform));
  if (request && o->data)
    json_object_set(request, "data", o->data);
  return request;
}

static hsc_status *ask(const hsc_legal_options *o, const char *directory, hsc_answer *answer) {
  static const hsc_device_spec evaluator = {.text = "reference", .source = HSC_DEVICE_EVALUATOR};
  hsc_lab_worker *worker = NULL;
  json_t *request = request_of(o, directory);
  if (!request)
    return hsc_status_out_of_memory();
  int64_t limit_ns = (int64_t)fmin((double)o->limit_ns, MOST_SECONDS * 1e9);
  hsc_status *status = hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &evaluator,
                                                                       .executable = o->executable,
                                                                       .no_disk_cache = true,
                                                                       .memory = o->memory,
                                                                       .stop = o->stop},
                                             &worker);
  if (!status)
    status = hsc_lab_worker_call(worker, request, limit_ns, answer);
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status;
}

hsc_status *hsc_legal_derive(const hsc_legal_options *o,
                             hsc_arena *arena,
                             json_t **out_bounded,
                             bool *out_denormals,
                             const char **out_why_not) {
  hsc_answer answer = {0};
  bool draws = false;
  *out_bounded = NULL;
  *out_denormals = false;
  *out_why_not = NULL;
  hsc_status_free(hsc_program_draws(o->program, &draws));  // what cannot be read is refused below
  if (draws) {
    *out_why_not = "the program draws random numbers (rng), and each device draws its own";
    return NULL;
  }
  const char *directory = hsc_arena_printf(arena, "%s/outputs_bounded", o->scratch);
  HSC_TRY(hsc_arena_status(arena));
  hsc_status *status = ask(o, directory, &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    *out_bounded = json_incref(json_object_get(answer.body, "outputs"));
  *out_denormals = json_is_object(json_object_get(answer.body, "denormal"));
  if (!status && !*out_bounded)
    *out_why_not = hsc_arena_strdup(arena, answer.status ? hsc_status_message(answer.status)
                                                         : hsc_outcome_text(answer.outcome));
  hsc_answer_deinit(&answer);
  return status ? status : hsc_arena_status(arena);
}

// A share that is no number is infinitely far beyond.
static double share_of(const json_t *row) {
  const json_t *share = json_object_get(row, "share");
  if (!share)
    return -1;
  return json_is_number(share) ? json_number_value(share) : INFINITY;
}

static void take_worse(json_t *row, json_t *held) {
  static const char *const of_share[] = {"share", "share_abs", "share_bound"};
  static const char *const of_rest[] = {"unjudged", "unjudged_abs", "unjudged_nans"};
  if (share_of(held) > share_of(row))
    for (size_t i = 0; i < HSC_COUNT_OF(of_share); i++)
      json_object_set(row, of_share[i], json_object_get(held, of_share[i]));
  if (json_integer_value(json_object_get(held, "unjudged")) >=
      json_integer_value(json_object_get(row, "unjudged")))
    for (size_t i = 0; i < HSC_COUNT_OF(of_rest); i++)
      if (json_object_get(held, of_rest[i]))
        json_object_set(row, of_rest[i], json_object_get(held, of_rest[i]));
}

hsc_status *hsc_legal_hold(json_t *bounded, json_t *made, bool small, json_t *rows) {
  json_t *held = json_array();
  json_t *row;
  size_t i;
  if (!held)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_compare_outputs(bounded, made, "reference", "device", held);
  if (!status && json_array_size(held) == json_array_size(rows))
    json_array_foreach (rows, i, row)
      if (small || !strcmp(json_string_value(json_object_get(row, "verdict")), "different"))
        take_worse(row, json_array_get(held, i));
  json_decref(held);
  // outputs of other shapes have no bounds here
  if (status && hsc_status_code(status) == HSC_INVALID_ARGUMENT) {
    hsc_status_free(status);
    status = NULL;
  }
  return status;
}

static bool beyond_tolerance(const json_t *row, double tolerance) {
  double limit = tolerance * hsc_json_number(json_object_get(row, "allowed"));
  return json_integer_value(json_object_get(row, "nan_mismatches")) > 0 ||
         !(hsc_json_number(json_object_get(row, "max_abs")) <= limit);
}

hsc_finding hsc_row_finding(json_t *row, const json_t *moved, size_t output, double tolerance) {
  hsc_finding finding = HSC_FINDING_DIFFERENT;
  const char *verdict = json_string_value(json_object_get(row, "verdict"));
  if (hsc_finding_parse(verdict, &finding) && finding == HSC_FINDING_EQUAL)
    return HSC_FINDING_EQUAL;
  bool beyond = beyond_tolerance(row, tolerance);
  hsc_bound_says says = hsc_bound_says_of(row);
  if (says == HSC_BOUND_BEYOND && share_of(row) > tolerance)
    return HSC_FINDING_DIFFERENT;
  if (!beyond)
    return HSC_FINDING_CLOSE;
  bool rounding = says == HSC_BOUND_WITHIN || hsc_is_rounding(moved, row, output);
  return rounding ? HSC_FINDING_ROUNDING : HSC_FINDING_DIFFERENT;
}

bool hsc_any_beyond(json_t *rows, const json_t *moved) {
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row)
    if (hsc_row_finding(row, moved, i, 1) == HSC_FINDING_DIFFERENT)
      return true;
  return false;
}

// ---- the same question, again and again ---------------------------------------------------------

void hsc_legal_case_deinit(hsc_legal_case *legal) {
  json_decref(legal->bounded);
  legal->bounded = NULL;
}

hsc_status *hsc_legal_ask(hsc_legal_case *legal) {
  if (legal->asked)
    return NULL;
  legal->asked = true;
  hsc_status_free(hsc_program_draws(legal->options.program, &legal->draws));
  return hsc_legal_derive(&legal->options, legal->arena, &legal->bounded, &legal->denormals,
                          &legal->why_not);
}

static const char *decided_by(json_t *row, hsc_finding finding, bool by_type) {
  if (finding == HSC_FINDING_EQUAL)
    return "bits";
  hsc_bound_says says = hsc_bound_says_of(row);
  if (says == HSC_BOUND_BEYOND || (says == HSC_BOUND_WITHIN && !by_type))
    return "bound";
  return finding == HSC_FINDING_ROUNDING ? "measured" : "type";
}

hsc_status *hsc_legal_settle(
    hsc_legal_case *legal, json_t *left, json_t *right, const json_t *moved, json_t *rows) {
  json_t *row;
  size_t i;
  if (hsc_any_beyond(rows, moved))
    HSC_TRY(hsc_legal_ask(legal));
  json_t *const sides[] = {left, right};
  for (size_t k = 0; k < HSC_COUNT_OF(sides) && legal->bounded; k++)
    if (sides[k])
      HSC_TRY(hsc_legal_hold(legal->bounded, sides[k], false, rows));
  json_array_foreach (rows, i, row) {
    hsc_finding finding = hsc_row_finding(row, moved, i, 1);
    const char *by = decided_by(row, finding, !beyond_tolerance(row, 1));
    if (json_object_set_new(row, "verdict", json_string(hsc_finding_text(finding))) ||
        json_object_set_new(row, "decided_by", json_string(by)))
      return hsc_status_out_of_memory();
  }
  return NULL;
}

json_t *hsc_legal_json(const hsc_legal_case *legal) {
  if (!legal->asked)
    return json_null();
  return json_pack("{s:b, s:s?, s:b}", "derived", legal->bounded != NULL, "reason", legal->why_not,
                   "denormals", legal->denormals);
}
