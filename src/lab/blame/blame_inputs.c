// blame_inputs.c - inputs that tell more than random ones: when the seed's show nothing, the device
// runs once on each kind of blame_inputs.def, against the reference on the same.
//
// Random floats round in every operation, and a fault of that size cannot be told from rounding.
// Whole numbers do not round, and there the derived bound is 0.
#include <math.h>

#include "base/core/random.h"
#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/blame/blame_internal.h"

typedef enum inputs_kind {
#define INPUTS(id, name, doc) INPUTS_##id,
#include "lab/blame/blame_inputs.def"
#undef INPUTS
  INPUTS_COUNT
} inputs_kind;

static const char *const NAMES[] = {
#define INPUTS(id, name, doc) name,
#include "lab/blame/blame_inputs.def"
#undef INPUTS
};

// Of either sign and every size: as many of few bits as of many.
static void fill_far(hsc_literal *literal, int64_t i, hsc_random *random, bool negative) {
  hsc_type type = literal->shape.type;
  int reach = 40;
  if (hsc_type_bits(type) < 32 && type != HSC_TYPE_BF16)
    reach = hsc_type_bits(type) < 16 ? 4 : 10;
  double share = 1 + (double)hsc_random_below(random, 1 << 10) * 0x1p-10;
  if (hsc_type_is_float(type)) {
    int exponent = (int)hsc_random_below(random, (uint64_t)(2 * reach + 1)) - reach;
    hsc_literal_set_double(literal, i, (negative ? -share : share) * ldexp(1, exponent));
    return;
  }
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  int bits = (int)hsc_random_below(random, (uint64_t)(hsc_type_bits(type) - is_signed) + 1);
  double value = floor(ldexp(share, bits - 1));
  hsc_literal_set_double(literal, i, negative && is_signed ? -value : value);
}

static void fill(hsc_literal *literal, inputs_kind kind, uint64_t seed, uint32_t number) {
  static const double special[] = {NAN, INFINITY, -0.0};
  int64_t count = hsc_shape_elements(&literal->shape);
  hsc_random random;
  hsc_random_init(&random, seed * 1000003 + number);
  int64_t hot = count > 0 ? (int64_t)hsc_random_below(&random, (uint64_t)count) : 0;
  if (kind == INPUTS_SPECIAL)
    hsc_literal_fill(literal, seed, number);
  for (int64_t i = 0; i < count; i++) {
    double sign = hsc_random_below(&random, 2) ? 1 : -1;
    if (kind == INPUTS_WHOLE)
      hsc_literal_set_double(literal, i, (double)hsc_random_below(&random, 9) - 4);
    else if (kind == INPUTS_POWERS)
      hsc_literal_set_double(literal, i, sign * ldexp(1, (int)hsc_random_below(&random, 7) - 3));
    else if (kind == INPUTS_FAR)
      fill_far(literal, i, &random, sign < 0);
    else if (kind == INPUTS_ONE_HOT)
      hsc_literal_set_double(literal, i, i == hot);
    else if (i >= hot && i - hot < (int64_t)HSC_COUNT_OF(special))
      hsc_literal_set_double(literal, i, special[i - hot]);
  }
}

// Whole arrays of integers: a single one may be the number of trips of a loop, or a place.
static bool is_filled(const hsc_shape *shape, inputs_kind kind) {
  if (!hsc_shape_is_array(shape))
    return false;
  bool many = kind == INPUTS_FAR && shape->rank > 0 && hsc_type_is_integral(shape->type);
  return hsc_type_is_float(shape->type) || many;
}

// One input: a file of floats, or of integers; null, the seed's, for everything else.
static hsc_status *write_input(
    hsc__blame *b, const hsc_shape *shape, inputs_kind kind, uint32_t number, json_t *data) {
  hsc_literal *literal = NULL;
  hsc_arena *arena = NULL;
  if (!is_filled(shape, kind)) {
    json_array_append_new(data, json_null());
    return NULL;
  }
  const char *path = hsc_arena_printf(b->arena, "%s/%d_%u.bin", b->scratch, (int)kind, number);
  HSC_TRY(hsc_arena_status(b->arena));
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = hsc_literal_create(arena, shape, &literal);
  if (!status) {
    fill(literal, kind, b->options->seed, number);
    status = hsc_file_write_atomic(path, literal->data, (size_t)hsc_shape_bytes(shape));
  }
  json_array_append_new(data, json_string(path));
  hsc_arena_destroy(arena);
  return status;
}

// *out_data NULL: the program has no inputs of floats.
static hsc_status *write_inputs(hsc__blame *b, inputs_kind kind, json_t **out_data) {
  hsc_module *module = NULL;
  json_t *data = json_array();
  uint32_t number = 0;
  bool any = false;
  *out_data = NULL;
  hsc_status *status = hsc_program_read_file(b->options->program, &module);
  for (int p = 0; !status && p < module->entry->parameter_count; p++) {
    const hsc_shape *shape = &module->entry->parameters[p]->shape;
    int leaves = hsc_shape_leaf_count(shape);
    for (int i = 0; i < leaves && !status; i++) {
      status = write_input(b, hsc_shape_leaf(shape, i), kind, number++, data);
      any |= json_is_string(json_array_get(data, number - 1));
    }
  }
  hsc_module_destroy(module);
  if (!status && any)
    *out_data = json_incref(data);
  json_decref(data);
  return status;
}

// Runs the device once on b->data. *out_shows: it is wrong there, or does not get through.
static hsc_status *try_once(hsc__blame *b, hsc__distance *out_distance, hsc_outcome *out_outcome) {
  hsc_answer answer = {0};
  const char *directory = hsc__blame_directory(b);
  *out_distance = (hsc__distance){0};
  *out_outcome = HSC_OUTCOME_OK;
  HSC_TRY(hsc_arena_status(b->arena));
  HSC_TRY(hsc__blame_reference(b));
  if (!b->right.outputs)
    return NULL;
  hsc_status *status = hsc__blame_run(b, b->device, &(hsc__trial){.save_to = directory}, &answer);
  if (!status) {
    *out_outcome = answer.outcome;
    if (answer.outcome == HSC_OUTCOME_OK)
      status = hsc__blame_distance(b, b->right.outputs, json_object_get(answer.body, "outputs"),
                                   out_distance);
  }
  hsc_answer_deinit(&answer);
  return status;
}

hsc_status *hsc__blame_try_inputs(hsc__blame *b, bool *out_shows) {
  hsc__right seeded = b->right;
  json_t *given = b->data;
  *out_shows = false;
  for (int kind = 0; kind < INPUTS_COUNT && !*out_shows; kind++) {
    const char *check = hsc_arena_printf(b->arena, "inputs: %s", NAMES[kind]);
    json_t *data = NULL;
    hsc__distance d = {0};
    hsc_outcome outcome = HSC_OUTCOME_OK;
    HSC_TRY(hsc_arena_status(b->arena));
    if (hsc__blame_is_late(b)) {
      hsc__blame_gap(b, check, "the time budget was over");
      continue;
    }
    HSC_TRY(write_inputs(b, (inputs_kind)kind, &data));
    if (!data)
      continue;  // the program has none of that kind
    b->right = (hsc__right){0};
    b->data = data;
    hsc_status *status = try_once(b, &d, &outcome);
    bool ran = !status && b->right.outputs && outcome == HSC_OUTCOME_OK && d.known;
    // how far these inputs may come out where nothing is derived, nobody promised
    bool wrong = d.wrong && d.derived;
    bool untold = d.wrong && !d.derived;
    hsc_finding near = d.seen > 0 ? HSC_FINDING_CLOSE : HSC_FINDING_EQUAL;
    *out_shows = !status && b->right.outputs && (wrong || outcome != HSC_OUTCOME_OK);
    if (ran && untold)
      hsc__blame_gap(b, check,
                     "outputs differ by more than their type allows, and no bound of "
                     "rounding can be derived for them");
    else if (ran)
      hsc_agreement_compared(b->agreement, check, wrong ? HSC_FINDING_DIFFERENT : near);
    else if (!status && !b->right.outputs)
      hsc__blame_gap(b, check, "nobody else computes the program on them");
    else if (!status && outcome == HSC_OUTCOME_OK)
      hsc__blame_gap(b, check, "its outputs could not be compared");
    if (*out_shows) {
      b->inputs = NAMES[kind];
      hsc__blame_show(b, outcome, &d);
      hsc__blame_right_deinit(&seeded);
      json_decref(given);
      return status;
    }
    hsc__blame_right_deinit(&b->right);
    json_decref(data);
    b->data = given;
    b->right = seeded;
    HSC_TRY(status);
  }
  return NULL;
}
