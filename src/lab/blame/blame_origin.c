// blame_origin.c - what the evaluator says of the program beyond its outputs: how far a legal
// computation may be from each, and which instruction makes the first NaN, the first infinity, and
// the first loss of digits. One job of the worker answers all of it (hlo/error/error_bounds.h).
#include <math.h>

#include "base/core/clock.h"
#include "lab/blame/blame_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"

// The analysis takes several times what the evaluation took; past this the measured bound does.
static const double MOST_SECONDS = 60;

hsc_status *hsc__blame_bounds(hsc__blame *b) {
  const hsc_blame_options *o = b->options;
  hsc_answer answer = {0};
  if (b->right.asked_bounds || !b->right.outputs)
    return NULL;
  b->right.asked_bounds = true;
  double unit = hsc_factor_unit(hsc_json_text(hsc_lab_worker_device(b->device), "platform"));
  json_t *request =
      json_pack("{s:s, s:s, s:I, s:s, s:f}", "job", "bounds", "program", o->program, "seed",
                (json_int_t)o->seed, "save_to", hsc__blame_directory(b), "factor_unit", unit);
  if (!request)
    return hsc_status_out_of_memory();
  if (b->data)
    json_object_set(request, "data", b->data);
  int64_t limit_ns = (int64_t)fmin((double)o->limit_ns, MOST_SECONDS * 1e9);
  hsc_status *status = hsc_lab_worker_call(b->reference, request, limit_ns, &answer);
  json_decref(request);
  if (!status && answer.outcome == HSC_OUTCOME_OK) {
    b->right.bounded = json_incref(json_object_get(answer.body, "outputs"));
    b->right.origins = json_incref(answer.body);
  } else if (!status) {
    hsc_agreement_gap(b->agreement, json_pack("{s:s}", "check", "the derived bound"),
                      "the derived bound", hsc__blame_words(b, &answer));
  }
  hsc_answer_deinit(&answer);
  return status;
}

static hsc_status *any_not_finite(json_t *outputs, bool *out_nan, bool *out_infinity) {
  json_t *output;
  size_t i;
  *out_nan = *out_infinity = false;
  json_array_foreach (outputs, i, output) {
    hsc_arena *arena = NULL;
    hsc_literal *literal = NULL;
    HSC_TRY(hsc_arena_create(&arena));
    hsc_status *status = hsc_output_read(output, arena, &literal);
    bool floats = !status && hsc_type_is_float(literal->shape.type);
    int64_t count = floats ? hsc_shape_elements(&literal->shape) : 0;
    for (int64_t k = 0; k < count; k++) {
      double value = hsc_literal_get_double(literal, k);
      *out_nan |= isnan(value) != 0;
      *out_infinity |= isinf(value) != 0;
    }
    hsc_arena_destroy(arena);
    HSC_TRY(status);
  }
  return NULL;
}

bool hsc__blame_denormals(const hsc__blame *b) {
  return json_is_object(json_object_get(b->right.origins, "denormal"));
}

const char *hsc__blame_choice(const hsc__blame *b) {
  const json_t *choice = json_object_get(b->right.origins, "choice");
  const char *operands = json_string_value(json_object_get(choice, "operands"));
  if (!operands)
    return NULL;
  return strncmp(operands, "scatter", 7) ? "equal keys of a sort in another order"
                                         : "colliding updates of a scatter in another order";
}

static void tell_origin(hsc__blame *b, const char *question, const json_t *answer) {
  hsc_answer_origin origin;
  hsc_answer_read(&hsc_answer_origin_layout, answer, &origin);
  const char *source = origin.source ? origin.source : origin.op_name;
  hsc__blame_tell(b, question, "%s: %s%s%s", origin.name, origin.operands, source ? ", from " : "",
                  source ? source : "");
}

hsc_status *hsc__blame_nan_origin(hsc__blame *b, json_t **out_instruction) {
  bool nan = false;
  bool infinity = false;
  *out_instruction = NULL;
  HSC_TRY(any_not_finite(b->right.outputs, &nan, &infinity));
  if (nan || infinity)
    HSC_TRY(hsc__blame_bounds(b));
  json_t *lost = json_object_get(b->right.origins, "lost_digits");
  json_t *first = json_object_get(b->right.origins, "infinity");
  if (infinity && json_is_object(first))
    tell_origin(b, "which instruction makes the first infinity?", first);
  if (json_is_object(lost))
    tell_origin(b, "which instruction loses digits first?", lost);
  json_t *choice = json_object_get(b->right.origins, "choice");
  if (json_is_object(choice))
    tell_origin(b, "which instruction leaves open what it gives?", choice);
  json_t *denormal = json_object_get(b->right.origins, "denormal");
  if (json_is_object(denormal)) {
    tell_origin(b, "which instruction meets the first denormal number?", denormal);
    hsc__blame_tell(b, "may it be taken for zero?",
                    "not by StableHLO, where underflow has IEEE 754's result; XLA's devices do so "
                    "by design, so that nobody is accused of it here");
  }
  json_t *origin = json_object_get(b->right.origins, "nan");
  if (nan && json_is_object(origin))
    *out_instruction = json_incref(origin);
  else if (nan && !b->right.origins)
    hsc__blame_tell(b, "which instruction makes the NaN?",
                    "cannot be said: the evaluator did not "
                    "get through it again");
  return hsc_arena_status(b->arena);
}
