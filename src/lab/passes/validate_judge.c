// validate_judge.c - whether a stage's numbers are others than the program's, or its rounding.
//
// Outputs that differ at all are held against the bound that the evaluator derives for the program
// (lab/run/legal.h), as `blame` holds them; where there is none, against what their types allow and
// what a last place of the inputs makes of them.
#include <math.h>

#include "lab/passes/validate_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/legal.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"

// Seconds that the analysis gets where the evaluator is not what runs the stages: it was too slow
// for them, or was not asked.
static const double BESIDE_S = 20;

// What rounding makes of the program before the first pass; asked once, when a stage is beyond
// tolerance. A run that fails leaves it unknown.
static hsc_status *measure_rounding(hsc_validation *v, hsc_arena *arena) {
  const char *directory = hsc_arena_printf(arena, "%s/outputs_moved", v->scratch);
  hsc_answer answer = {0};
  double perturbation = 0;
  if (v->asked_moved)
    return hsc_arena_status(arena);
  v->asked_moved = true;
  json_t *rows = json_array();
  hsc_status *status = hsc_arena_status(arena);
  if (!status)
    status = hsc_program_perturbation(v->first_path, &perturbation);
  if (!status)
    status = hsc__validate_run(v, v->first_path, directory, perturbation, &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK) {
    status = hsc_compare_outputs(v->first_outputs, json_object_get(answer.body, "outputs"), "input",
                                 "input moved by a last place", rows);
    if (!status)
      v->moved = json_incref(rows);
  }
  hsc_worker_memory_done_with(v->options->memory, directory);
  hsc_answer_deinit(&answer);
  json_decref(rows);
  return status;
}

// What decided of the output that is furthest off: "bound" where the derived one did, of every
// element, else "measured": the type's tolerance and what a last place of the inputs does.
static void note_measure(json_t *row, json_t *stage) {
  bool derived = hsc_bound_says_of(row) != HSC_BOUND_UNKNOWN;
  json_object_set_new(stage, "decided_by", json_string(derived ? "bound" : "measured"));
  json_object_set(stage, "bound", derived ? json_object_get(row, "share_bound") : json_null());
}

// The finding of one row. What a last place of the inputs does is measured where no bound decides.
static hsc_status *find(
    hsc_validation *v, json_t *row, size_t output, hsc_arena *arena, hsc_finding *out_finding) {
  double tolerance = v->options->tolerance;
  *out_finding = hsc_row_finding(row, v->moved, output, tolerance);
  hsc_bound_says says = hsc_bound_says_of(row);
  if (*out_finding != HSC_FINDING_DIFFERENT || says == HSC_BOUND_BEYOND)
    v->beyond_bound |= *out_finding == HSC_FINDING_DIFFERENT;
  else if (!v->asked_moved) {
    HSC_TRY(measure_rounding(v, arena));
    *out_finding = hsc_row_finding(row, v->moved, output, tolerance);
  }
  return NULL;
}

// "equal", "close", "rounding", "different" over all outputs; with the largest differences.
hsc_status *hsc__validate_judge(hsc_validation *v, json_t *rows, json_t *stage, hsc_arena *arena) {
  hsc_finding worst = HSC_FINDING_EQUAL;
  double max_abs = 0;
  double max_ulp = NAN;  // not known: every difference is across zero
  v->beyond_bound = v->other_nans = false;
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    hsc_finding finding = HSC_FINDING_DIFFERENT;
    HSC_TRY(find(v, row, i, arena, &finding));
    if (finding == HSC_FINDING_EQUAL)
      continue;
    if (finding > worst) {
      worst = finding;
      note_measure(row, stage);
    }
    v->other_nans |= json_integer_value(json_object_get(row, "nan_mismatches")) > 0;
    max_abs = fmax(max_abs, hsc_json_number(json_object_get(row, "max_abs")));
    max_ulp = fmax(max_ulp, hsc_json_number(json_object_get(row, "max_ulp")));
  }
  json_object_set_new(stage, "verdict", json_string(hsc_finding_text(worst)));
  json_object_set_new(stage, "max_abs", hsc_json_real(max_abs));
  if (worst == HSC_FINDING_EQUAL)
    max_ulp = 0;
  json_object_set_new(stage, "max_ulp",
                      isnan(max_ulp) ? json_null() : json_integer((json_int_t)fmin(max_ulp, 9e15)));
  return NULL;
}

// The bounds of the program that the stages are held against; asked once, when something differs.
static hsc_status *derive_bounds(hsc_validation *v, hsc_arena *arena) {
  const hsc_validate_options *o = v->options;
  if (v->asked_bounds)
    return NULL;
  v->asked_bounds = true;
  if (o->bounded) {
    v->bounded = json_incref(o->bounded);
    return NULL;
  }
  bool evaluator = hsc_lab_worker_spec(v->runner)->source == HSC_DEVICE_EVALUATOR;
  int64_t beside_ns = (int64_t)fmin((double)o->limit_ns, BESIDE_S * 1e9);
  hsc_legal_options options = {
      .program = v->first_path,  // with its transforms
      .platform = v->platform,
      .scratch = v->scratch,
      .executable = o->executable,
      .seed = o->seed,
      .data = o->data,
      .limit_ns = hsc__validate_limit(o, evaluator ? o->limit_ns : beside_ns),
      .memory = o->memory,
      .stop = o->stop};
  return hsc_legal_derive(&options, arena, &v->bounded, &v->denormals, &v->no_bounds);
}

hsc_status *hsc__validate_compare(hsc_validation *v,
                                  json_t *right,
                                  json_t *made,
                                  const char *name,
                                  hsc_arena *arena,
                                  json_t *out_rows) {
  HSC_TRY(hsc_compare_outputs(right, made, "input", name, out_rows));
  if (v->draws || !hsc_any_difference(out_rows))
    return NULL;
  HSC_TRY(derive_bounds(v, arena));
  return v->bounded ? hsc_legal_hold(v->bounded, made, true, out_rows) : NULL;
}
