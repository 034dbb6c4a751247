// symptom_wrong.c - are the outputs of a program wrong, or what a legal computation may give?
//
// The device's outputs are held against the reference's. Where they differ at all, the evaluator is
// asked how far a legal computation of the program may be from each element
// (hlo/error/error_bounds.h): what is beyond is wrong however little it is, what is within never
// is. Elements without a derived bound, and programs that take the evaluator too long, are judged
// by their type's tolerance and by what a last place of the inputs makes of them.
#include <math.h>

#include "lab/reduce/symptom_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "worker/scratch.h"

// How many times its type's tolerance an output without a derived bound must be off before it is
// looked at: a reduction must not slide from a wrong answer into rounding.
static const double TOLERANCE_FACTOR = 8;

static double number_of(json_t *row, const char *key) {
  return hsc_json_number(json_object_get(row, key));
}

// Of a row, the elements that have no derived bound: how far they are off, and how many are NaN on
// one side only.
typedef struct open_part {
  double max_abs;
  int64_t nans;
} open_part;

static open_part open_part_of(json_t *row) {
  bool partly = json_object_get(row, "share") != NULL;
  json_t *nans = json_object_get(row, partly ? "unjudged_nans" : "nan_mismatches");
  return (open_part){number_of(row, partly ? "unjudged_abs" : "max_abs"), json_integer_value(nans)};
}

static bool is_off(json_t *row) {
  double limit = TOLERANCE_FACTOR * number_of(row, "allowed");
  open_part open = open_part_of(row);
  return open.nans > 0 || !(open.max_abs <= limit);
}

// What is known of a program whose outputs differ.
typedef struct question {
  hsc_observer *observer;
  const hsc_looked_at *program;
  json_t *right;  // outputs on the reference
  json_t *moved;  // by a last place of the inputs; NULL = not asked, or cannot be determined
  bool asked_moved;
  bool lost;  // the reference's process ended over a question
} question;

static bool has_lost(const hsc_answer *answer) {
  return answer->outcome == HSC_OUTCOME_ABORT || answer->outcome == HSC_OUTCOME_OUT_OF_MEMORY;
}

// Fills q->moved: what a last place of the inputs makes of the outputs; NULL when it cannot be
// determined.
static hsc_status *measure_rounding(question *q) {
  hsc_answer answer = {0};
  double perturbation = 0;
  char *directory = NULL;
  json_t *rows = json_array();
  hsc_status *status = NULL;
  HSC_GOTO(hsc_program_perturbation(q->program->path, &perturbation));
  HSC_GOTO(hsc_scratch_create(&directory));
  HSC_GOTO(hsc__observer_reference(
      q->observer,
      &(hsc__run){.program = q->program, .save_to = directory, .perturbation = perturbation},
      &answer));
  q->lost |= has_lost(&answer);
  if (answer.outcome != HSC_OUTCOME_OK)
    goto done;
  HSC_GOTO(hsc_compare_outputs(q->right, json_object_get(answer.body, "outputs"), "inputs",
                               "inputs moved by a last place", rows));
  q->moved = json_incref(rows);
done:
  hsc_answer_deinit(&answer);
  hsc_scratch_destroy(directory);
  json_decref(rows);
  return status;
}

// The reference's outputs once more, each with the file of its bounds; NULL where the evaluator
// cannot say, or not in time.
static hsc_status *derive_bounds(question *q, const char *directory, json_t **out_outputs) {
  hsc_answer answer = {0};
  *out_outputs = NULL;
  HSC_TRY(hsc__observer_bounds(q->observer, q->program, directory, &answer));
  q->lost |= has_lost(&answer);
  if (answer.outcome == HSC_OUTCOME_OK)
    *out_outputs = json_incref(json_object_get(answer.body, "outputs"));
  hsc_answer_deinit(&answer);
  return NULL;
}

// Whether the open part of a row is beyond what a last place of the inputs makes of this output:
// NaN and whole numbers too may turn on the rounding of a float. Where that cannot be determined
// they are believed, and other numbers are not.
static hsc_status *is_beyond_rounding(question *q, json_t *row, size_t output, bool *out_beyond) {
  *out_beyond = false;
  if (!q->asked_moved)
    HSC_TRY(measure_rounding(q));
  q->asked_moved = true;
  open_part open = open_part_of(row);
  *out_beyond = open.nans > 0 || number_of(row, "tolerance") == 0;
  if (!q->moved)
    return NULL;
  json_t *moved = json_array_get(q->moved, output);
  if (open.nans > 0) {
    *out_beyond = json_integer_value(json_object_get(moved, "nan_mismatches")) == 0;
    return NULL;
  }
  json_t *part = json_pack("{s:o, s:O}", "max_abs", hsc_json_real(open.max_abs), "largest_value",
                           json_object_get(row, "largest_value"));
  *out_beyond = part && !hsc_is_rounding(q->moved, part, output);
  json_decref(part);
  return part ? NULL : hsc_status_out_of_memory();
}

// Whether a row is wrong; what is left open by the derived bound is judged by rounding.
static hsc_status *is_wrong(question *q, json_t *row, size_t output, bool *out_wrong) {
  hsc_bound_says says = hsc_bound_says_of(row);
  *out_wrong = says == HSC_BOUND_BEYOND;
  if (says != HSC_BOUND_UNKNOWN || !is_off(row))
    return NULL;
  return is_beyond_rounding(q, row, output, out_wrong);
}

static hsc_status *judge(question *q, json_t *rows, hsc_observation *out) {
  json_t *row;
  size_t i;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  json_array_foreach (rows, i, row) {
    bool wrong = false;
    HSC_GOTO(is_wrong(q, row, i, &wrong));
    if (!wrong)
      continue;
    double max_abs = number_of(row, "max_abs");
    if (!out->shows)
      hsc_bytes_printf(&text, "output %zu %s differs from the reference by up to %.9g", i,
                       json_string_value(json_object_get(row, "shape")), max_abs);
    if (!out->shows && hsc_bound_says_of(row) == HSC_BOUND_BEYOND)
      hsc_bytes_printf(&text, "; %.3g is what rounding may make of it",
                       number_of(row, "share_bound"));
    out->shows = true;
    out->value = fmax(out->value, max_abs);
  }
  out->by_chance = q->lost && !out->shows && !q->moved;
  out->known &= !out->by_chance;
  if (out->by_chance)
    hsc_bytes_printf(&text, "outputs differ, and the reference ended over what rounding may do");
  else if (!out->shows)
    hsc_bytes_printf(&text, "outputs agree with the reference within rounding");
  HSC_GOTO(hsc_bytes_status(&text));
  out->text = hsc_strdup(hsc_bytes_text(&text));
done:
  hsc_bytes_deinit(&text);
  return status;
}

// Outputs of both sides: equal ones are right, others are held against their bounds.
static hsc_status *compare(question *q, json_t *seen, hsc_observation *out) {
  json_t *rows = json_array();
  json_t *bounded = NULL;
  char *directory = NULL;
  bool draws = false;
  hsc_status *status = NULL;
  if (!rows)
    return hsc_status_out_of_memory();
  out->known = json_array_size(q->right) == json_array_size(seen);
  HSC_GOTO(hsc_compare_outputs(q->right, seen, "reference", "device", rows));
  if (hsc_any_difference(rows)) {
    HSC_GOTO(hsc_program_draws(q->program->path, &draws));
    if (draws) {
      out->known = false;
      out->text = hsc_strdup("it draws random numbers of the device's own");
      goto done;
    }
    HSC_GOTO(hsc_scratch_create(&directory));
    HSC_GOTO(derive_bounds(q, directory, &bounded));
    if (bounded) {
      json_array_clear(rows);
      HSC_GOTO(hsc_compare_outputs(bounded, seen, "reference", "device", rows));
    }
  }
  HSC_GOTO(judge(q, rows, out));
done:
  hsc_scratch_destroy(directory);
  json_decref(bounded);
  json_decref(rows);
  json_decref(q->moved);
  return status;
}

hsc_status *hsc__look_wrong(hsc_observer *o,
                            const hsc_symptom *symptom,
                            const hsc_looked_at *program,
                            hsc_observation *out) {
  hsc_answer device = {0};
  hsc_answer right = {0};
  char *mine = NULL;
  char *theirs = NULL;
  hsc_status *status = NULL;
  (void)symptom;
  HSC_GOTO(hsc_scratch_create(&mine));
  HSC_GOTO(hsc_scratch_create(&theirs));
  HSC_GOTO(
      hsc__observer_run(o, o->device, &(hsc__run){.program = program, .save_to = theirs}, &device));
  if (device.outcome != HSC_OUTCOME_OK) {
    out->text = hsc__outcome_words(&device);
    goto done;
  }
  HSC_GOTO(hsc__observer_reference(o, &(hsc__run){.program = program, .save_to = mine}, &right));
  if (right.outcome != HSC_OUTCOME_OK) {
    out->text = hsc__outcome_words(&right);
    goto done;
  }
  question q = {.observer = o, .program = program, .right = json_object_get(right.body, "outputs")};
  status = compare(&q, json_object_get(device.body, "outputs"), out);
done:
  hsc_answer_deinit(&device);
  hsc_answer_deinit(&right);
  hsc_scratch_destroy(mine);
  hsc_scratch_destroy(theirs);
  return status;
}
