// blame_symptom.c - what shows on the device, how often, and whether rounding explains it.
//
// The device runs the program several times; each run compiles it anew. One that ends, hangs or is
// refused is the symptom. Outputs are held against the reference evaluator's: legal is what the
// outputs' types allow, or what a last place of the inputs makes of the outputs, whichever is more.
#include <math.h>

#include "formats/common/formats.h"
#include "lab/blame/blame_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"

enum {
  RUNS = 5,
  EXECUTIONS_OF_LAST = 3,  // of the executable of the last run: a first one may be right
};
// Times what a last place of the inputs does to an output, up to which a difference of it may be
// rounding alone.
static const double ROUNDING_FACTOR = 4;

// ---- the reference ------------------------------------------------------------------------------

static hsc_status *run_reference(hsc__blame *b, const hsc__trial *trial, hsc_answer *out) {
  HSC_TRY(hsc__blame_run(b, b->reference, trial, out));
  b->right.by = "the reference evaluator";
  bool other = out->outcome == HSC_OUTCOME_TIMEOUT || out->outcome == HSC_OUTCOME_UNSUPPORTED;
  if (!other || !b->substitute)
    return NULL;
  b->right.why = hsc__blame_words(b, out);
  hsc_answer_deinit(out);
  b->right.by = b->options->substitute->text;
  return hsc__blame_run(b, b->substitute, trial, out);
}

hsc_status *hsc__blame_reference(hsc__blame *b) {
  hsc_answer answer = {0};
  const char *directory = hsc__blame_directory(b);
  hsc_status *status = hsc_arena_status(b->arena);
  if (!status)
    status = run_reference(b, &(hsc__trial){.save_to = directory}, &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    b->right.outputs = json_incref(json_object_get(answer.body, "outputs"));
  else if (!status)
    b->right.why = hsc__blame_words(b, &answer);
  b->right.is_late = !status && answer.outcome == HSC_OUTCOME_TIMEOUT;
  b->right.is_unknown = !status && answer.outcome == HSC_OUTCOME_UNSUPPORTED;
  hsc_answer_deinit(&answer);
  return status;
}

void hsc__blame_right_deinit(hsc__right *right) {
  json_decref(right->outputs);
  json_decref(right->moved);
  json_decref(right->bounded);
  json_decref(right->origins);
  *right = (hsc__right){0};
}

static hsc_status *measure_rounding(hsc__blame *b) {
  hsc_answer answer = {0};
  double perturbation = 0;
  json_t *rows = NULL;
  const char *by = b->right.by;
  const char *directory = hsc__blame_directory(b);
  hsc_status *status = NULL;
  if (b->right.asked_moved)
    return hsc_arena_status(b->arena);
  b->right.asked_moved = true;
  HSC_GOTO(hsc_program_perturbation(b->options->program, &perturbation));
  b->right.least_share = perturbation;
  HSC_GOTO(
      run_reference(b, &(hsc__trial){.save_to = directory, .perturbation = perturbation}, &answer));
  b->right.by = by;
  if (answer.outcome != HSC_OUTCOME_OK)
    goto done;
  if (!(rows = json_array()))
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_compare_outputs(b->right.outputs, json_object_get(answer.body, "outputs"), "inputs",
                               "inputs moved by a last place", rows));
  b->right.moved = json_incref(rows);
done:
  hsc__blame_done_with(b, directory);
  hsc_answer_deinit(&answer);
  json_decref(rows);
  return status;
}

// ---- outputs against the right ones -------------------------------------------------------------

static double number_of(json_t *row, const char *key) {
  return hsc_json_number(json_object_get(row, key));
}

// The largest share of its size that a last place of the inputs moves any output by.
static double worst_share(const hsc__blame *b) {
  double worst = 0;
  json_t *row;
  size_t i;
  json_array_foreach (b->right.moved, i, row)
    if (number_of(row, "largest_value") > 0)
      worst = fmax(worst, number_of(row, "max_abs") / number_of(row, "largest_value"));
  return fmin(worst, 1);
}

static double bound_of(const hsc__blame *b, json_t *row, size_t output) {
  double size = number_of(row, "largest_value");
  double tolerance = number_of(row, "tolerance");
  double bound = number_of(row, "allowed");
  if (b->right.moved && tolerance > 0)
    bound = fmax(
        bound, fmax(ROUNDING_FACTOR * number_of(json_array_get(b->right.moved, output), "max_abs"),
                    worst_share(b) * size));
  // a wide output of narrow values has the digits of those
  return tolerance > 0 ? fmax(bound, b->right.least_share * size) : bound;
}

// Times its bound that an output is off; infinite where NaN is on one side only.
static double share_of(double seen, double bound, int64_t nans) {
  if (nans > 0)
    return INFINITY;
  if (!(seen > 0))
    return 0;
  return bound > 0 ? seen / bound : INFINITY;
}

// A row held against the derived bound; false where that leaves something open.
static bool judge_by_bound(json_t *row, hsc__distance *out) {
  hsc_bound_says says = hsc_bound_says_of(row);
  if (says == HSC_BOUND_UNKNOWN)
    return false;
  bool beyond = says == HSC_BOUND_BEYOND;
  out->derived = true;
  out->wrong = beyond;
  // both of the element that is nearest to its bound, or furthest beyond: every element has its own
  out->seen = number_of(row, "share_abs");
  out->bound = number_of(row, "share_bound");
  // within bounds that are infinite there is no share
  out->share = json_is_null(json_object_get(row, "share")) ? INFINITY : number_of(row, "share");
  out->nans = beyond && isnan(out->seen) ? 1 : 0;
  return true;
}

// A row held against what its type's precision allows and what a last place of the inputs makes of
// it; of elements that have derived bounds nothing is left to say.
static hsc_status *judge_by_rounding(hsc__blame *b,
                                     json_t *row,
                                     size_t output,
                                     hsc__distance *out) {
  bool partly = json_object_get(row, "share") != NULL;
  double type_bound = number_of(row, "allowed");
  out->seen = number_of(row, partly ? "unjudged_abs" : "max_abs");
  out->nans = json_integer_value(json_object_get(row, partly ? "unjudged_nans" : "nan_mismatches"));
  if ((out->nans > 0 || !(out->seen <= type_bound)) && number_of(row, "tolerance") > 0)
    HSC_TRY(measure_rounding(b));
  out->bound = bound_of(b, row, output);
  out->share = share_of(out->seen, out->bound, out->nans);
  out->wrong = out->share > 1;
  return NULL;
}

// Rows of outputs against the right ones; with bounds where they differ at all and are held against
// b->right.outputs. *out_rows NULL: they cannot be compared.
static hsc_status *rows_of(hsc__blame *b, json_t *right, json_t *outputs, json_t **out_rows) {
  json_t *rows = json_array();
  *out_rows = NULL;
  if (!rows)
    return hsc_status_out_of_memory();
  hsc_status *failed = hsc_compare_outputs(right, outputs, "reference", "device", rows);
  if (!failed && right == b->right.outputs && hsc_any_difference(rows)) {
    failed = hsc__blame_bounds(b);
    if (!failed && b->right.bounded) {
      json_array_clear(rows);
      failed = hsc_compare_outputs(b->right.bounded, outputs, "reference", "device", rows);
    }
  }
  if (!failed) {
    *out_rows = rows;
    return NULL;
  }
  json_decref(rows);
  if (hsc_status_code(failed) == HSC_RESOURCE_EXHAUSTED || hsc_status_code(failed) == HSC_CANCELLED)
    return failed;
  hsc_status_free(failed);
  return NULL;
}

hsc_status *hsc__blame_distance(hsc__blame *b,
                                json_t *right,
                                json_t *outputs,
                                hsc__distance *out_distance) {
  json_t *rows = NULL;
  json_t *row;
  size_t i;
  double worst = -1;
  double most = 0;
  int64_t boundless = 0;
  bool beyond_type = false;
  hsc_status *status = rows_of(b, right, outputs, &rows);
  *out_distance = (hsc__distance){.known = rows != NULL};
  json_array_foreach (rows, i, row) {
    hsc__distance d = {.known = true, .output = (int)i};
    double type_bound = number_of(row, "allowed");
    most = fmax(most, number_of(row, "max_abs"));
    boundless += json_integer_value(json_object_get(row, "boundless"));
    beyond_type |= json_integer_value(json_object_get(row, "nan_mismatches")) > 0 ||
                   !(number_of(row, "max_abs") <= type_bound);
    if (!status && !judge_by_bound(row, &d))
      status = judge_by_rounding(b, row, i, &d);
    if (status || d.share <= worst)
      continue;
    worst = d.share;
    *out_distance = d;
  }
  out_distance->most = most;
  out_distance->boundless = boundless;
  out_distance->beyond_type = beyond_type;
  json_decref(rows);
  return status;
}

const char *hsc__blame_by_how_much(hsc__blame *b) {
  if (b->nans > 0)
    return hsc_arena_printf(b->arena, "in %lld elements that are NaN in one of them only",
                            (long long)b->nans);
  if (!(b->most > b->seen))
    return hsc_arena_printf(b->arena, "by up to %.3g, and %.3g is the bound", b->seen, b->bound);
  return hsc_arena_printf(
      b->arena,
      "by up to %.3g; furthest beyond its bound is an element that is off by %.3g, and "
      "%.3g is the bound",
      b->most, b->seen, b->bound);
}

// ---- the runs -----------------------------------------------------------------------------------

typedef struct tally {
  int ok, ended[HSC_OUTCOME_TIMEOUT + 1];
  int wrong, other_digests, beyond_each_other;
  const char *words;  // of the first that did not get through
  hsc_outcome outcome;
  json_t *first;        // outputs of the first run that got through
  hsc__distance worst;  // of all runs
  bool not_comparable;  // outputs of other shapes than the reference's
} tally;

// Outputs of one run: against the first run's, and against the reference's.
static hsc_status *count_outputs(hsc__blame *b, json_t *outputs, tally *t) {
  bool changed = t->first && !hsc_outputs_same(t->first, outputs, "digest");
  hsc__distance d = {0};
  if (!b->right.outputs) {
    t->other_digests += changed;
  } else if (!t->first || changed) {
    HSC_TRY(hsc__blame_distance(b, b->right.outputs, outputs, &d));
    t->not_comparable |= !d.known;
    t->wrong += d.wrong;
    t->other_digests += changed;
    if (d.share > t->worst.share || !t->first)
      t->worst = d;
  } else {
    t->wrong += t->worst.wrong;  // bit by bit the first run's
  }
  if (changed && b->right.outputs) {
    hsc__distance apart = {0};
    HSC_TRY(hsc__blame_distance(b, t->first, outputs, &apart));
    t->beyond_each_other += apart.wrong;
  }
  if (!t->first)
    t->first = json_incref(outputs);
  return NULL;
}

// The worker refused before any compiler was asked, and says what to give in place (a program of
// two partitions on one device): nobody is at fault but the command.
static bool is_our_refusal(const hsc_answer *answer) {
  const hsc_status *status = answer->status;
  return answer->outcome == HSC_OUTCOME_ERROR && status &&
         hsc_status_code(status) == HSC_FAILED_PRECONDITION && hsc_status_hint_text(status);
}

static hsc_status *run_device(hsc__blame *b, tally *t) {
  int runs = b->options->runs > 0 ? b->options->runs : RUNS;
  for (int i = 0; i < runs; i++) {
    hsc_answer answer = {0};
    const char *directory = hsc__blame_directory(b);
    HSC_TRY(hsc_arena_status(b->arena));
    if (b->options->progress)
      b->options->progress(b->options->user, i, runs, "runs of the device");
    hsc__trial trial = {.save_to = directory};
    if (i > 0 && i == runs - 1)
      trial.executions = EXECUTIONS_OF_LAST;
    HSC_TRY(hsc__blame_run(b, b->device, &trial, &answer));
    if (is_our_refusal(&answer)) {
      hsc_status *refusal = hsc_answer_take_status(&answer);
      hsc_answer_deinit(&answer);
      return refusal;
    }
    b->runs++;
    t->ended[answer.outcome]++;
    hsc_status *status = NULL;
    if (answer.outcome != HSC_OUTCOME_OK && !t->words) {
      t->words = hsc__blame_words(b, &answer);
      t->outcome = answer.outcome;
    }
    if (answer.outcome == HSC_OUTCOME_OK && json_object_get(answer.body, "outputs"))
      status = count_outputs(b, json_object_get(answer.body, "outputs"), t);
    hsc_answer_deinit(&answer);
    if (t->first && i > 0)
      hsc__blame_done_with(b, directory);
    HSC_TRY(status);
    // a refusal is the same each time, a hang costs its limit
    if (i > 0 && t->ended[HSC_OUTCOME_TIMEOUT] == b->runs)
      break;
  }
  return NULL;
}

static hsc_symptom_kind symptom_of(hsc_outcome outcome) {
  switch (outcome) {
    case HSC_OUTCOME_ABORT:
      return HSC_SYMPTOM_CRASH;
    case HSC_OUTCOME_TIMEOUT:
      return HSC_SYMPTOM_HANG;
    default:
      return HSC_SYMPTOM_ERROR;
  }
}

// What shows is followed, whatever was asked for.
static void take_symptom(hsc__blame *b, hsc_symptom_kind kind) {
  if (b->has_symptom && b->symptom.kind == kind)
    return;
  if (b->has_symptom)
    hsc__blame_tell(b, "does the symptom show?", "'%s' does not; '%s' is looked for",
                    b->symptom.text, hsc_symptom_name(kind));
  b->symptom = (hsc_symptom){.kind = kind, .text = hsc_symptom_name(kind), .factor = 2};
  b->has_symptom = true;
}

static hsc_status *cannot_tell(hsc__blame *b, const char *name, const char *reason) {
  b->verdict = HSC__BLAME_UNKNOWN;
  hsc_agreement_gap(b->agreement, json_pack("{s:s}", "check", name), name, reason);
  hsc_bytes_printf(&b->headline, "cannot be determined: %s: %s", name, reason);
  return hsc_bytes_status(&b->headline);
}

// What may make the difference, into the headline: rounding, and what else the program leaves open.
// How many there are.
static int say_what_is_legal(hsc__blame *b) {
  bool denormals = hsc__blame_denormals(b);
  const char *choice = hsc__blame_choice(b);
  hsc_bytes_append_text(&b->headline, denormals || choice ? "rounding" : "legal rounding");
  if (denormals)
    hsc_bytes_append_text(&b->headline, choice ? ", denormal numbers taken for zero"
                                               : ", or denormal numbers taken for zero");
  if (choice)
    hsc_bytes_printf(&b->headline, ", or %s", choice);
  return 1 + denormals + (choice != NULL);
}

// Every run got through and agrees, or none can be held against anything.
static hsc_status *judge_agreement(hsc__blame *b, const tally *t) {
  bool asked = b->has_symptom && b->symptom.kind == HSC_SYMPTOM_WRONG;
  const hsc__distance *d = &t->worst;
  b->seen = d->seen;
  b->most = d->most;
  b->bound = d->bound;
  b->derived = d->derived;
  json_t *origin = NULL;
  HSC_TRY(hsc__blame_nan_origin(b, &origin));
  if (d->boundless)
    hsc__blame_gap(b, "elements that may be anything",
                   hsc_arena_printf(b->arena,
                                    "%lld elements of the outputs differ where a last bit, or a "
                                    "denormal number taken for zero, decides between far values: "
                                    "a fault in them is not seen",
                                    (long long)d->boundless));
  HSC_TRY(hsc_arena_status(b->arena));
  hsc_finding near = d->seen > 0 ? HSC_FINDING_CLOSE : HSC_FINDING_EQUAL;
  hsc_agreement_compared(b->agreement, "the outputs", d->beyond_type ? HSC_FINDING_ROUNDING : near);
  if (origin) {
    b->verdict = HSC__BLAME_PROGRAM;
    b->shows = b->runs;
    b->instruction = origin;
    const char *source = json_string_value(json_object_get(origin, "source"));
    if (!source)
      source = json_string_value(json_object_get(origin, "op_name"));
    b->source = hsc_arena_strdup(b->arena, source ? source : "");
    hsc_bytes_printf(
        &b->headline, "the program's own fault: %s makes NaN (%s), on the reference as on %s",
        json_string_value(json_object_get(origin, "name")),
        json_string_value(json_object_get(origin, "operands")), b->options->device->text);
    return hsc_bytes_status(&b->headline);
  }
  if (d->seen > 0 && (asked || d->beyond_type || t->other_digests)) {
    b->verdict = HSC__BLAME_ROUNDING;
    int reasons = say_what_is_legal(b);
    hsc_bytes_printf(&b->headline, ": %d runs differ from the reference by up to %.3g", b->runs,
                     d->most);
    if (d->most > d->seen)
      hsc_bytes_printf(&b->headline, "; nearest to its bound is an element that is off by %.3g",
                       d->seen);
    static const char *const of_reasons[] = {"", "rounding", "both", "all three"};
    hsc_bytes_printf(&b->headline, ", and %.3g is what %s may make of output %d", d->bound,
                     of_reasons[reasons], d->output);
    return hsc_bytes_status(&b->headline);
  }
  b->verdict = HSC__BLAME_NOTHING;
  hsc__blame_tell_rare(b);
  hsc_bytes_printf(&b->headline,
                   "nothing to blame: %d runs agree with the reference within the bound", b->runs);
  if (b->has_symptom && !asked)
    hsc_bytes_printf(&b->headline, "; '%s' shows in none of them", b->symptom.text);
  return hsc_bytes_status(&b->headline);
}

static hsc_status *judge_flaky(hsc__blame *b, const tally *t) {
  take_symptom(b, HSC_SYMPTOM_WRONG);
  b->seen = t->worst.seen;
  b->most = t->worst.most;
  b->nans = t->worst.nans;
  b->bound = t->worst.bound;
  b->derived = t->worst.derived;
  hsc__blame_tell(b, "are equal runs equal?", "no: of %d, %d give other numbers than the first",
                  b->runs, t->other_digests);
  b->shows = t->wrong;
  if (t->wrong && t->wrong < b->runs)
    return hsc__blame_flaky(b, "wrong");
  // all are wrong, or there is nothing to be wrong against: what flickers is the numbers
  b->verdict = HSC__BLAME_NONDETERMINISTIC;
  b->shows = t->other_digests;
  hsc_agreement_compared(b->agreement, "the runs among themselves", HSC_FINDING_DIFFERENT);
  hsc_bytes_printf(&b->headline,
                   "%s is not deterministic: of %d runs on the same inputs %d give other numbers "
                   "than the first, and %d are wrong",
                   b->options->device->text, b->runs, t->other_digests, t->wrong);
  return hsc_bytes_status(&b->headline);
}

// The function outside of the program that a refusal is about: a custom call's target that the
// device's words name. NULL = none; a program that we cannot read has none.
static const char *refused_call(const hsc__blame *b, const char *words) {
  hsc_module *module = NULL;
  const char *target = NULL;
  hsc_status *unread = hsc_program_read_file(b->options->program, &module);
  hsc_status_free(unread);
  if (!module)
    return NULL;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      const char *called = instr->op == HSC_OP_CUSTOM_CALL ? instr->attr.custom.target : NULL;
      if (called && *called && strstr(words, called))
        target = called;
    }
  target = target ? hsc_arena_strdup(b->arena, target) : NULL;
  hsc_module_destroy(module);
  return target;
}

// Some of the runs did not get through.
static hsc_status *judge_ended(hsc__blame *b, const tally *t, bool *out_decided) {
  int ended = b->runs - t->ended[HSC_OUTCOME_OK];
  take_symptom(b, symptom_of(t->outcome));
  b->shows = ended;
  hsc__blame_tell(b, "does it get through?", "in %d of %d runs it does not: %s", ended, b->runs,
                  t->words ? t->words : "");
  bool refused = ended == b->runs && t->ended[HSC_OUTCOME_UNSUPPORTED] == ended;
  bool endless = b->right.is_late && t->ended[HSC_OUTCOME_TIMEOUT] == b->runs;
  const char *call = NULL;
  if (t->words && ended == b->runs && t->ended[HSC_OUTCOME_ERROR] == ended)
    call = refused_call(b, t->words);
  *out_decided = refused || endless || call || ended < b->runs;
  if (!*out_decided)
    return NULL;
  if (refused)  // it says that it cannot do this: nobody promised that it can
    return cannot_tell(b, "the runs", t->words ? t->words : "the device does not support it");
  if (call)  // a function of the platform that the program was exported for is not the device's
    return cannot_tell(b, "the runs",
                       hsc_arena_printf(b->arena,
                                        "the program calls %s, a function that %s does not have or "
                                        "refuses: it may have been exported for another platform",
                                        call, b->options->device->text));
  if (endless)  // a hang is only the device's fault where others get through
    return cannot_tell(b, "the runs",
                       "the reference does not get through in time either: with these inputs the "
                       "program may never end (--seed gives others), or need longer (--limit)");
  const char *what = hsc_arena_printf(b->arena, "it ends with %s", t->words ? t->words : "nothing");
  HSC_TRY(hsc_arena_status(b->arena));
  return hsc__blame_flaky(b, what);
}

static hsc_status *judge_outputs(hsc__blame *b, const tally *t, bool *out_decided) {
  *out_decided = true;
  if (b->draws && (t->wrong || t->other_digests || t->not_comparable))
    return cannot_tell(b, "the outputs",
                       "the program draws random numbers (rng), and each device draws its own");
  if (!b->right.outputs && t->other_digests)
    return judge_flaky(b, t);
  if (!b->right.outputs)
    return cannot_tell(b, "the outputs", b->right.why ? b->right.why : "there is no reference");
  if (t->not_comparable) {
    *out_decided = false;
    b->other_shapes = true;
    take_symptom(b, HSC_SYMPTOM_WRONG);
    b->shows = b->runs;
    hsc__blame_tell(b, "do the outputs agree with the reference?",
                    "they are not of its number or shapes");
    hsc_agreement_compared(b->agreement, "the outputs", HSC_FINDING_DIFFERENT);
    return NULL;
  }
  hsc__blame_tell(b, "do the outputs agree with the reference?",
                  "%d of %d runs beyond the bound (%s%.3g, bound %.3g)", t->wrong, b->runs,
                  t->worst.most > t->worst.seen ? "at the element nearest to its own or furthest "
                                                  "beyond: "
                                                : "",
                  t->worst.seen, t->worst.bound);
  if (t->beyond_each_other || (t->wrong && t->wrong < b->runs))
    return judge_flaky(b, t);
  if (!t->wrong)
    return judge_agreement(b, t);
  *out_decided = false;
  take_symptom(b, HSC_SYMPTOM_WRONG);
  b->shows = t->wrong;
  b->seen = t->worst.seen;
  b->most = t->worst.most;
  b->nans = t->worst.nans;
  b->bound = t->worst.bound;
  b->derived = t->worst.derived;
  hsc_agreement_compared(b->agreement, "the outputs", HSC_FINDING_DIFFERENT);
  return NULL;
}

void hsc__blame_show(hsc__blame *b, hsc_outcome outcome, const hsc__distance *d) {
  take_symptom(b, outcome == HSC_OUTCOME_OK ? HSC_SYMPTOM_WRONG : symptom_of(outcome));
  b->verdict = HSC__BLAME_UNKNOWN;
  b->runs = b->shows = 1;
  b->seen = outcome == HSC_OUTCOME_OK ? d->seen : NAN;
  b->most = outcome == HSC_OUTCOME_OK ? d->most : NAN;
  b->nans = outcome == HSC_OUTCOME_OK ? d->nans : 0;
  b->bound = outcome == HSC_OUTCOME_OK ? d->bound : NAN;
  b->derived = d->derived;
  hsc_bytes_reset(&b->headline);
  hsc__blame_tell(b, "and on other inputs?", "%s: it shows (%.3g, bound %.3g)", b->inputs, b->seen,
                  b->bound);
}

// Nobody was found at fault on the inputs that were given: are there others?
static hsc_status *look_further(hsc__blame *b, bool *io_decided) {
  bool shows = false;
  bool nobody = b->verdict == HSC__BLAME_NOTHING || b->verdict == HSC__BLAME_ROUNDING;
  if (!*io_decided || !nobody || b->draws || b->data)
    return NULL;
  HSC_TRY(hsc__blame_try_inputs(b, &shows));
  *io_decided = !shows;
  return NULL;
}

static bool is_cost(const hsc__blame *b) {
  return b->has_symptom &&
         (b->symptom.kind == HSC_SYMPTOM_SLOW || b->symptom.kind == HSC_SYMPTOM_COMPILE ||
          b->symptom.kind == HSC_SYMPTOM_MEMORY);
}

hsc_status *hsc__blame_find(hsc__blame *b, bool *out_decided) {
  tally t = {0};
  hsc_status *status = NULL;
  *out_decided = false;
  if (is_cost(b))
    return NULL;  // looked for where it is followed
  HSC_GOTO(hsc__blame_reference(b));
  hsc__blame_tell(b, "what is right?", "%s",
                  b->right.outputs ? hsc_arena_printf(b->arena, "what %s computes", b->right.by)
                                   : b->right.why);
  HSC_GOTO(run_device(b, &t));
  if (t.ended[HSC_OUTCOME_OK] < b->runs)
    status = judge_ended(b, &t, out_decided);
  else if (!b->options->device->topology)
    status = judge_outputs(b, &t, out_decided);
  else
    take_symptom(b, HSC_SYMPTOM_WRONG);  // no numbers of its own: its stages are looked at
  if (!status)
    status = look_further(b, out_decided);
done:
  json_decref(t.first);
  return status;
}

// ---- again, with other compile options ----------------------------------------------------------

// An observer has workers of its own: nothing of an earlier look is left in them.
static hsc_status *observe(hsc__blame *b, json_t *overrides, hsc_observer **out_observer) {
  const hsc_blame_options *o = b->options;
  return hsc_observer_create(&(hsc_observer_options){.device = o->device,
                                                     .reference = o->against,
                                                     .overrides = overrides,
                                                     .executable = o->executable,
                                                     .scratch = hsc__blame_directory(b),
                                                     .seed = o->seed,
                                                     .limit_ns = o->limit_ns,
                                                     .reference_limit_ns = o->limit_ns,
                                                     .memory = hsc__journal_memory(o->journal),
                                                     .stop = o->stop},
                             out_observer);
}

static hsc_status *look_again(hsc__blame *b, json_t *overrides, bool *out_shows, bool *out_known) {
  hsc_observer *observer = NULL;
  hsc_observation seen = {0};
  hsc_status *status = observe(b, overrides, &observer);
  if (!status)
    status =
        hsc_observer_look(observer, &b->symptom,
                          &(hsc_looked_at){.path = b->options->program, .data = b->data}, &seen);
  *out_shows = seen.shows;
  *out_known = seen.known;
  hsc_observation_deinit(&seen);
  hsc_observer_destroy(observer);
  return status;
}

hsc_status *hsc__blame_measure(hsc__blame *b, json_t *overrides, bool against, double *out_cost) {
  hsc_observer *observer = NULL;
  hsc_status *status = observe(b, overrides, &observer);
  *out_cost = NAN;
  if (!status)
    status = hsc_observer_cost(observer, &b->symptom,
                               &(hsc_looked_at){.path = b->options->program, .data = b->data},
                               against, out_cost);
  hsc_observer_destroy(observer);
  return status;
}

hsc_status *hsc__blame_shows(hsc__blame *b, json_t *overrides, bool *out_shows, bool *out_known) {
  hsc_answer answer = {0};
  hsc__distance d = {0};
  if (is_cost(b))
    return look_again(b, overrides, out_shows, out_known);
  const char *directory = hsc__blame_directory(b);
  HSC_TRY(hsc_arena_status(b->arena));
  hsc_status *status = hsc__blame_run(
      b, b->device, &(hsc__trial){.save_to = directory, .overrides = overrides}, &answer);
  bool ok = !status && answer.outcome == HSC_OUTCOME_OK;
  if (b->symptom.kind == HSC_SYMPTOM_WRONG) {
    if (ok && b->right.outputs)
      status =
          hsc__blame_distance(b, b->right.outputs, json_object_get(answer.body, "outputs"), &d);
    *out_shows = d.wrong || (b->other_shapes && ok && !d.known);
    *out_known = d.known || *out_shows;
  } else {
    // another error than the one that is looked for says nothing of it
    *out_shows = !ok && symptom_of(answer.outcome) == b->symptom.kind;
    *out_known = ok || *out_shows;
  }
  hsc_answer_deinit(&answer);
  hsc__blame_done_with(b, directory);
  return status;
}
