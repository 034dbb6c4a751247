// known_values.c - see known_values.h.
//
// How to read: `array_value` and `element_value` answer a question about one instruction;
// `outside` takes it to the caller or to the state of the loop; loops and the public functions are
// at the end.
#include "hlo/cost/known_values.h"

#include <string.h>

enum {
  MOST_ELEMENTS = 4096,      // of a value, and of each that it is computed from
  MOST_DEPTH = 500,          // of nested questions: a stack of a few hundred KiB
  ELEMENTS_A_STEP = 256,     // and operations on them
  INSTRUCTIONS_A_STEP = 64,  // that a frame has room for
};

// Of the state of one while, what was ever asked for; the others are not carried along.
typedef struct loop_parts {
  int count;
  bool *asked;  // [count]
} loop_parts;

typedef struct slot {
  const hsc_literal *value;
  bool is_computed;            // `value` is the answer, also when it is NULL
  hsc__frame *called;          // first of the frames of what this instruction calls
  const hsc_literal **result;  // of a loop: its state after the last trip, [parts->count]
  int result_parts;            // how many parts had been asked for when it was computed
} slot;

struct hsc__frame {
  const hsc_computation *computation;
  hsc_arena *arena;
  // Where arguments come from: a run of a loop; or operands of `site` in `caller`, from
  // `first_operand` on; or nobody knows.
  hsc__loop_run *run;
  hsc__frame *caller;
  const hsc_instr *site;
  int first_operand;
  int which;         // of what `site` calls
  hsc__frame *next;  // of the same site
  slot *slots;       // [instr_count]
  bool asked, knew;
};

struct hsc__loop_run {
  hsc__known *k;
  hsc__frame *outer;
  const hsc_instr *loop;
  loop_parts *parts;
  // Of this trip and of the one before it: what a trip makes lives as long as the next.
  hsc_arena *arenas[2];
  const hsc_literal **state;  // [parts->count] at the beginning of the trip
  hsc__frame *frames[2];      // condition, body
  int64_t trip;
  bool lost;  // a part was asked for that had not been carried along
};

static const hsc_literal *array_value(hsc__known *k, hsc__frame *f, const hsc_instr *instr);
static const hsc_literal *element_value(hsc__known *k,
                                        hsc__frame *f,
                                        const hsc_instr *tuple,
                                        int element);

// ---- frames -------------------------------------------------------------------------------------

static bool is_there(hsc__known *k, const void *memory) {
  k->failed |= !memory;
  return memory != NULL;
}

static bool spend(hsc__known *k, int64_t steps) {
  k->cut |= k->steps < steps;
  if (k->steps < steps || k->failed)
    return false;
  k->steps -= steps;
  return true;
}

static void number_places(hsc__known *k, const hsc_computation *computation) {
  uintptr_t place = 0;
  if (!computation->first || hsc__ptr_map_get(&k->places, computation->first))
    return;
  HSC_FOR_EACH_INSTR_IN (computation, instr)
    hsc__ptr_map_put(&k->places, instr, (void *)++place);
  k->failed |= k->places.failed;
}

static hsc__frame *new_frame(hsc__known *k, hsc_arena *arena, const hsc_computation *computation) {
  if (!spend(k, 1 + computation->instr_count / INSTRUCTIONS_A_STEP))
    return NULL;
  number_places(k, computation);
  hsc__frame *f = HSC_NEW(arena, hsc__frame);
  slot *slots = HSC_NEW_ARRAY(arena, slot, computation->instr_count + 1);
  if (!is_there(k, f) || !is_there(k, slots))
    return NULL;
  *f = (hsc__frame){.computation = computation, .arena = arena, .slots = slots};
  return f;
}

static slot *slot_of(hsc__known *k, hsc__frame *f, const hsc_instr *instr) {
  uintptr_t place = (uintptr_t)hsc__ptr_map_get(&k->places, instr);
  bool is_here = place && place <= (uintptr_t)f->computation->instr_count;
  return is_here ? &f->slots[place - 1] : NULL;
}

hsc__frame *hsc__frame_entry(hsc__known *k, const hsc_computation *computation) {
  return new_frame(k, k->arena, computation);
}

hsc__frame *hsc__frame_called(hsc__known *k, hsc__frame *frame, const hsc_instr *site, int which) {
  slot *at = frame ? slot_of(k, frame, site) : NULL;
  if (!at || which < 0 || which >= site->called_count)
    return NULL;
  for (hsc__frame *known = at->called; known; known = known->next)
    if (known->which == which)
      return known;
  hsc__frame *made = new_frame(k, frame->arena, site->called[which]);
  if (!made)
    return NULL;
  made->caller = frame;
  made->site = site;
  made->which = which;
  made->first_operand = site->op == HSC_OP_CONDITIONAL ? which + 1 : 0;
  made->next = at->called;
  at->called = made;
  return made;
}

bool hsc__frame_asked(const hsc__frame *frame) {
  return frame->asked;
}

bool hsc__frame_knew(const hsc__frame *frame) {
  return frame->knew;
}

// ---- questions that leave a frame ---------------------------------------------------------------

// element -1 = the argument itself, an array
static const hsc_literal *of_operand(hsc__known *k,
                                     hsc__frame *f,
                                     const hsc_instr *operand,
                                     int element) {
  return element < 0 ? array_value(k, f, operand) : element_value(k, f, operand, element);
}

static const hsc_literal *of_state(hsc__known *k, hsc__loop_run *run, int element) {
  int part = element < 0 ? 0 : element;
  if (part >= run->parts->count)
    return NULL;
  bool was_asked = run->parts->asked[part];
  run->parts->asked[part] = true;
  if (was_asked)
    return run->state[part];
  run->lost |= run->trip > 0;
  if (run->trip == 0)
    run->state[part] = of_operand(k, run->outer, run->loop->operands[0], element);
  return run->state[part];
}

static const hsc_literal *outside(hsc__known *k, hsc__frame *f, int64_t parameter, int element) {
  const hsc_literal *value = NULL;
  f->asked = true;
  if (f->run)
    value = of_state(k, f->run, element);
  else if (f->caller && f->first_operand + parameter < f->site->operand_count)
    value = of_operand(k, f->caller, f->site->operands[f->first_operand + parameter], element);
  f->knew |= value != NULL;
  return value;
}

// ---- one instruction ----------------------------------------------------------------------------

// What is the same each time, and nothing but its value.
static bool is_computable(const hsc_instr *instr) {
  const uint32_t never = HSC_TRAIT_EFFECT | HSC_TRAIT_COLLECTIVE | HSC_TRAIT_ASYNC;
  switch (instr->op) {
    case HSC_OP_RNG:
    case HSC_OP_RNG_GET_AND_UPDATE_STATE:
    case HSC_OP_CUSTOM_CALL:
    case HSC_OP_PARTITION_ID:
    case HSC_OP_REPLICA_ID:
      return false;
    default:
      return !(hsc_op_traits(instr->op) & never);
  }
}

// Runs, for each element, nothing that could run for long.
static bool calls_little(const hsc_instr *instr) {
  for (int i = 0; i < instr->called_count; i++)
    HSC_FOR_EACH_INSTR_IN (instr->called[i], inner)
      if (inner->called_count || !is_computable(inner))
        return false;
  return true;
}

// Steps that an evaluation counts for: what it reads, writes and computes.
static int64_t steps_of(const hsc_instr *instr) {
  double elements = (double)hsc_shape_elements(&instr->shape);
  for (int i = 0; i < instr->operand_count; i++)
    elements += (double)hsc_shape_elements(&instr->operands[i]->shape);
  hsc_cost cost = {0};
  if (elements > ELEMENTS_A_STEP)
    hsc_instr_cost(instr, &cost);
  return 1 + (int64_t)((elements + cost.flops + cost.transcendentals) / ELEMENTS_A_STEP);
}

static bool is_small(const hsc_shape *shape) {
  if (shape->type != HSC_TYPE_TUPLE)
    return hsc_shape_is_array(shape) && !shape->dynamic &&
           hsc_shape_elements(shape) <= MOST_ELEMENTS;
  for (int i = 0; i < shape->element_count; i++)
    if (!is_small(&shape->elements[i]))
      return false;
  return shape->element_count <= MOST_ELEMENTS;
}

static const hsc_literal *evaluated(hsc__known *k, hsc__frame *f, const hsc_instr *instr) {
  if (!is_computable(instr) || !is_small(&instr->shape) || !calls_little(instr))
    return NULL;
  for (int i = 0; i < instr->operand_count; i++)
    if (!is_small(&instr->operands[i]->shape) || hsc_shape_is_tuple(&instr->operands[i]->shape))
      return NULL;
  hsc_literal **operands = HSC_NEW_ARRAY(f->arena, hsc_literal *, instr->operand_count + 1);
  if (!is_there(k, operands))
    return NULL;
  for (int i = 0; i < instr->operand_count; i++) {
    // The evaluator reads its operands only.
    operands[i] = (hsc_literal *)array_value(k, f, instr->operands[i]);
    if (!operands[i])
      return NULL;
  }
  hsc_literal *result = NULL;
  hsc_status *status =
      spend(k, steps_of(instr)) ? hsc_evaluate_instr(instr, operands, f->arena, &result) : NULL;
  bool good = !status && result;
  hsc_status_free(status);
  return good ? result : NULL;
}

// The frame whose root is the value of what calls one computation; NULL = none, or not known which.
static hsc__frame *callee(hsc__known *k, hsc__frame *f, const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
      return hsc__frame_called(k, f, instr, 0);
    case HSC_OP_CONDITIONAL:
      return hsc__frame_called(k, f, instr, hsc__known_branch(k, f, instr));
    default:
      return NULL;
  }
}

static int asked_count(const loop_parts *parts) {
  int count = 0;
  for (int i = 0; i < parts->count; i++)
    count += parts->asked[i];
  return count;
}

static loop_parts *parts_of(hsc__known *k, const hsc_instr *loop) {
  loop_parts *parts = hsc__ptr_map_get(&k->asked_parts, loop);
  if (parts)
    return parts;
  parts = HSC_NEW(k->arena, loop_parts);
  if (!is_there(k, parts))
    return NULL;
  parts->count = hsc_shape_is_tuple(&loop->shape) ? loop->shape.element_count : 1;
  parts->asked = HSC_NEW_ARRAY(k->arena, bool, parts->count + 1);
  hsc__ptr_map_put(&k->asked_parts, loop, parts);
  k->failed |= k->asked_parts.failed;
  return is_there(k, parts->asked) ? parts : NULL;
}

// The state after the last trip, kept in the loop's slot.
static const hsc_literal **run_to_the_end(hsc__known *k, hsc__frame *f, const hsc_instr *loop) {
  hsc__loop_run *run = hsc__loop_begin(k, f, loop);
  if (!run)
    return NULL;
  const hsc_literal **result = NULL;
  hsc__loop_step at;
  while ((at = hsc__loop_test(run)) == HSC__LOOP_TRIP || at == HSC__LOOP_AGAIN)
    if (at == HSC__LOOP_TRIP)
      hsc__loop_next(run);
  if (at == HSC__LOOP_END)
    result = HSC_NEW_ARRAY(f->arena, const hsc_literal *, run->parts->count + 1);
  for (int i = 0; result && i < run->parts->count; i++) {
    hsc_literal *kept = NULL;
    if (run->parts->asked[i] && run->state[i])
      hsc_status_free(hsc_literal_copy(f->arena, run->state[i], &kept));
    result[i] = kept;
  }
  hsc__loop_end(run);
  return result;
}

static const hsc_literal *after_loop(hsc__known *k,
                                     hsc__frame *f,
                                     const hsc_instr *loop,
                                     int part) {
  slot *at = slot_of(k, f, loop);
  loop_parts *parts = parts_of(k, loop);
  if (!at || !parts || part >= parts->count)
    return NULL;
  parts->asked[part] = true;
  if (at->result_parts < asked_count(parts)) {
    at->result = run_to_the_end(k, f, loop);
    at->result_parts = asked_count(parts);
  }
  return at->result ? at->result[part] : NULL;
}

static const hsc_literal *array_at(hsc__known *k, hsc__frame *f, const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_PARAMETER:
      return outside(k, f, instr->attr.index.value, -1);
    case HSC_OP_CONSTANT:
      return instr->attr.literal.value->elided || !is_small(&instr->shape)
                 ? NULL
                 : instr->attr.literal.value;
    case HSC_OP_GET_TUPLE_ELEMENT:
      return element_value(k, f, instr->operands[0], (int)instr->attr.index.value);
    case HSC_OP_OPT_BARRIER:
      return array_value(k, f, instr->operands[0]);
    case HSC_OP_WHILE:
      return after_loop(k, f, instr, 0);
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
    case HSC_OP_CONDITIONAL: {
      hsc__frame *called = callee(k, f, instr);
      return called ? array_value(k, called, called->computation->root) : NULL;
    }
    default:
      return evaluated(k, f, instr);
  }
}

static bool deeper(hsc__known *k) {
  bool may = k->depth < MOST_DEPTH;
  k->cut |= !may;
  k->depth += may;
  return may;
}

static const hsc_literal *array_value(hsc__known *k, hsc__frame *f, const hsc_instr *instr) {
  slot *at = slot_of(k, f, instr);
  if (!at || !hsc_shape_is_array(&instr->shape))
    return NULL;
  if (at->is_computed)
    return at->value;
  if (!deeper(k))
    return NULL;
  bool was_cut = k->cut;
  k->cut = false;
  at->value = array_at(k, f, instr);
  at->is_computed = at->value || !k->cut;
  k->cut |= was_cut;
  k->depth--;
  return at->value;
}

static const hsc_literal *element_of_evaluated(hsc__known *k,
                                               hsc__frame *f,
                                               const hsc_instr *tuple,
                                               int element) {
  slot *at = slot_of(k, f, tuple);
  if (!at->is_computed) {
    at->value = evaluated(k, f, tuple);
    at->is_computed = true;
  }
  return at->value ? &at->value->elements[element] : NULL;
}

static const hsc_literal *element_at(hsc__known *k,
                                     hsc__frame *f,
                                     const hsc_instr *tuple,
                                     int element) {
  switch (tuple->op) {
    case HSC_OP_PARAMETER:
      return outside(k, f, tuple->attr.index.value, element);
    case HSC_OP_TUPLE:
      return array_value(k, f, tuple->operands[element]);
    case HSC_OP_OPT_BARRIER:
    case HSC_OP_COPY:
      return element_value(k, f, tuple->operands[0], element);
    case HSC_OP_GET_TUPLE_ELEMENT:
      return NULL;  // of a tuple of tuples
    case HSC_OP_WHILE:
      return after_loop(k, f, tuple, element);
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
    case HSC_OP_CONDITIONAL: {
      hsc__frame *called = callee(k, f, tuple);
      return called ? element_value(k, called, called->computation->root, element) : NULL;
    }
    default:
      return element_of_evaluated(k, f, tuple, element);
  }
}

static const hsc_literal *element_value(hsc__known *k,
                                        hsc__frame *f,
                                        const hsc_instr *tuple,
                                        int element) {
  const hsc_shape *shape = &tuple->shape;
  if (!slot_of(k, f, tuple) || !hsc_shape_is_tuple(shape) || element < 0 ||
      element >= shape->element_count || !hsc_shape_is_array(&shape->elements[element]) ||
      !deeper(k))
    return NULL;
  const hsc_literal *value = element_at(k, f, tuple, element);
  k->depth--;
  return value;
}

// ---- loops --------------------------------------------------------------------------------------

// One part of the state that `instr` of `frame` is; NULL also where nobody asked for it.
static const hsc_literal *part_value(const hsc__loop_run *run,
                                     hsc__frame *frame,
                                     const hsc_instr *instr,
                                     int part) {
  bool tuple = hsc_shape_is_tuple(&run->loop->shape);
  if (!run->parts->asked[part])
    return NULL;
  return of_operand(run->k, frame, instr, tuple ? part : -1);
}

// Frames of a trip, in an arena of their own.
static void new_trip(hsc__loop_run *run) {
  hsc_arena *arena = run->arenas[run->trip & 1];
  for (int i = 0; i < 2; i++) {
    run->frames[i] = new_frame(run->k, arena, run->loop->called[i]);
    if (run->frames[i])
      run->frames[i]->run = run;
  }
}

static void to_the_first_trip(hsc__loop_run *run) {
  run->trip = 0;
  run->lost = false;
  for (int i = 0; i < 2; i++)
    hsc_arena_reset(run->arenas[i]);
  for (int i = 0; i < run->parts->count; i++)
    run->state[i] = part_value(run, run->outer, run->loop->operands[0], i);
  new_trip(run);
}

hsc__loop_run *hsc__loop_begin(hsc__known *k, hsc__frame *frame, const hsc_instr *loop) {
  loop_parts *parts = loop->called_count == 2 ? parts_of(k, loop) : NULL;
  hsc__loop_run *run = parts ? hsc_alloc(sizeof *run) : NULL;
  if (!run)
    return NULL;
  *run = (hsc__loop_run){.k = k, .outer = frame, .loop = loop, .parts = parts};
  run->state = hsc_alloc(((size_t)parts->count + 1) * sizeof(const hsc_literal *));
  for (int i = 0; i < 2; i++) {
    hsc_status *status = hsc_arena_create(&run->arenas[i]);
    k->failed |= status != NULL;
    hsc_status_free(status);
  }
  if (!is_there(k, run->state) || k->failed) {
    hsc__loop_end(run);
    return NULL;
  }
  to_the_first_trip(run);
  return run;
}

void hsc__loop_end(hsc__loop_run *run) {
  for (int i = 0; i < 2; i++)
    hsc_arena_destroy(run->arenas[i]);
  hsc_free(run->state);
  hsc_free(run);
}

hsc__frame *hsc__loop_frame(hsc__loop_run *run, int which) {
  return run->frames[which];
}

hsc__loop_step hsc__loop_test(hsc__loop_run *run) {
  hsc__frame *condition = run->frames[0];
  const hsc_literal *holds =
      condition ? array_value(run->k, condition, condition->computation->root) : NULL;
  if (run->lost) {
    to_the_first_trip(run);
    return HSC__LOOP_AGAIN;
  }
  if (!holds || holds->shape.type != HSC_TYPE_PRED)
    return HSC__LOOP_UNKNOWN;
  return hsc_literal_get_int(holds, 0) ? HSC__LOOP_TRIP : HSC__LOOP_END;
}

// The values of the next trip: in its arena, which holds what was made two trips ago. A part may be
// asked for only while another one is computed.
static void carry(hsc__loop_run *run) {
  hsc__frame *body = run->frames[1];
  const hsc_instr *root = body ? body->computation->root : NULL;
  for (int known = -1; root && known != asked_count(run->parts);) {
    known = asked_count(run->parts);
    for (int i = 0; i < run->parts->count; i++)
      part_value(run, body, root, i);
  }
  hsc_arena *next = run->arenas[(run->trip + 1) & 1];
  const hsc_literal **values =
      HSC_NEW_ARRAY(run->arenas[run->trip & 1], const hsc_literal *, run->parts->count + 1);
  if (!is_there(run->k, values))
    return;
  for (int i = 0; root && i < run->parts->count; i++)
    values[i] = part_value(run, body, root, i);
  hsc_arena_reset(next);
  for (int i = 0; i < run->parts->count; i++) {
    hsc_literal *copy = NULL;
    if (values[i])
      hsc_status_free(hsc_literal_copy(next, values[i], &copy));
    run->state[i] = copy;
  }
}

hsc__loop_step hsc__loop_next(hsc__loop_run *run) {
  if (!run->lost)
    carry(run);
  if (run->lost) {
    to_the_first_trip(run);
    return HSC__LOOP_AGAIN;
  }
  run->trip++;
  new_trip(run);
  return HSC__LOOP_TRIP;
}

// ---- the public functions -----------------------------------------------------------------------

hsc_status *hsc__known_init(hsc__known *k) {
  *k = (hsc__known){.steps = HSC__KNOWN_STEPS};
  return hsc_arena_create(&k->arena);
}

void hsc__known_deinit(hsc__known *k) {
  hsc__ptr_map_deinit(&k->places);
  hsc__ptr_map_deinit(&k->asked_parts);
  hsc_arena_destroy(k->arena);
}

// The value of an array; NULL = not known. Lives as long as its frame.
static const hsc_literal *known_value(hsc__known *k, hsc__frame *frame, const hsc_instr *instr) {
  return frame ? array_value(k, frame, instr) : NULL;
}

int hsc__known_branch(hsc__known *k, hsc__frame *frame, const hsc_instr *conditional) {
  const hsc_literal *index = known_value(k, frame, conditional->operands[0]);
  if (!index)
    return -1;
  int64_t branch = hsc_literal_get_int(index, 0);
  if (index->shape.type == HSC_TYPE_PRED)
    return branch ? 0 : 1;  // true first
  // out of range is the last
  bool in_range = branch >= 0 && branch < conditional->called_count;
  return in_range ? (int)branch : conditional->called_count - 1;
}
