// while_util.c - the counting loops that frontends make (fori_loop, scan), recognised; and loops
// that may be changed element by element of their state.
//
// A loop is recognised by the text of its condition and body alone; nothing is evaluated. Whoever
// changes a loop asks first whether its computations are its own (hsc__loop_is_own): a body that
// another loop or a call shares would change for that one too.
#include "passes/loops/while_util.h"

// A scalar integer, also where it is converted or copied on its way. A constant whose values were
// left out of the text (elided) says nothing.
static bool integer_constant(const hsc_instr *instr, int64_t *out_value) {
  while (instr->op == HSC_OP_CONVERT || instr->op == HSC_OP_COPY)
    instr = instr->operands[0];
  if (instr->op != HSC_OP_CONSTANT || instr->shape.rank != 0 ||
      !hsc_type_is_integral(instr->shape.type))
    return false;
  if (instr->attr.literal.value->elided)
    return false;
  *out_value = hsc_literal_get_int(instr->attr.literal.value, 0);
  return true;
}

// An element of the state as it comes into `computation`, the loop's condition or body.
static bool state_element(const hsc_instr *instr,
                          const hsc_computation *computation,
                          int64_t *out_index) {
  if (instr->op != HSC_OP_GET_TUPLE_ELEMENT || instr->operands[0]->op != HSC_OP_PARAMETER)
    return false;
  if (instr->operands[0]->parent != computation)
    return false;
  *out_index = instr->attr.index.value;
  return true;
}

// bound < i as i > bound.
static hsc_direction mirrored(hsc_direction d) {
  switch (d) {
    case HSC_LT:
      return HSC_GT;
    case HSC_LE:
      return HSC_GE;
    case HSC_GT:
      return HSC_LT;
    case HSC_GE:
      return HSC_LE;
    default:
      return d;
  }
}

// How often the body runs. False where the step leads away from the bound, or past it (!=): such a
// loop ends when its counter wraps, if it does. The distance takes more than 64 bits.
static bool trip_count(
    hsc_direction direction, int64_t init, int64_t step, int64_t bound, int64_t *out_count) {
  if (step == 0)
    return false;
  __int128 distance = (__int128)bound - init;
  switch (direction) {
    case HSC_LT:
      if (step < 0)
        return false;
      break;
    case HSC_LE:
      if (step < 0)
        return false;
      distance += 1;
      break;
    case HSC_GT:
      if (step > 0)
        return false;
      break;
    case HSC_GE:
      if (step > 0)
        return false;
      distance -= 1;
      break;
    case HSC_NE:
      if (distance % step != 0 || (distance < 0) != (step < 0))
        return false;
      break;
    default:
      return false;
  }
  if (step < 0) {
    distance = -distance;
    step = -step;
  }
  __int128 count = distance <= 0 ? 0 : (distance + step - 1) / step;
  // may wrap on the way; nobody unrolls or plans such loops anyway
  if (count > INT32_MAX)
    return false;
  *out_count = (int64_t)count;
  return true;
}

bool hsc__loop_analyse(const hsc_instr *loop, hsc__loop *out_loop) {
  const hsc_instr *init = loop->operands[0];
  const hsc_computation *condition = loop->called[0];
  const hsc_computation *body = loop->called[1];
  const hsc_instr *compare = condition->root;
  if (init->op != HSC_OP_TUPLE || compare->op != HSC_OP_COMPARE || body->root->op != HSC_OP_TUPLE)
    return false;
  hsc_direction direction = compare->attr.compare.direction;
  if (integer_constant(compare->operands[1], &out_loop->bound)) {
    if (!state_element(compare->operands[0], condition, &out_loop->tuple_index))
      return false;
  } else if (integer_constant(compare->operands[0], &out_loop->bound)) {
    if (!state_element(compare->operands[1], condition, &out_loop->tuple_index))
      return false;
    direction = mirrored(direction);
  } else {
    return false;
  }
  int64_t index = out_loop->tuple_index;
  int64_t other;
  if (!integer_constant(init->operands[index], &out_loop->init))
    return false;
  const hsc_instr *update = body->root->operands[index];
  if (update->op != HSC_OP_ADD)
    return false;
  int side;
  if (integer_constant(update->operands[1], &out_loop->step))
    side = 0;
  else if (integer_constant(update->operands[0], &out_loop->step))
    side = 1;
  else
    side = -1;
  if (side < 0 || !state_element(update->operands[side], body, &other) || other != index)
    return false;
  if (hsc_type_class_of(update->shape.type) == HSC_CLASS_UNSIGNED &&
      (out_loop->init < 0 || out_loop->bound < 0))
    return false;
  return trip_count(direction, out_loop->init, out_loop->step, out_loop->bound,
                    &out_loop->trip_count);
}

bool hsc__only_elements_read(const hsc_instr *tuple, bool *live) {
  if (tuple->parent->root == tuple)
    return false;
  for (int i = 0; i < tuple->user_count; i++) {
    if (tuple->users[i]->op != HSC_OP_GET_TUPLE_ELEMENT)
      return false;
    if (live)
      live[tuple->users[i]->attr.index.value] = true;
  }
  return true;
}

bool hsc__loop_is_own(const hsc_instr *loop) {
  return hsc__loop_inside_is_own(loop) && hsc__only_elements_read(loop, NULL);
}

// Control edges are of the whole loop: there is no element that they could stay with. A root that
// is read inside of its own body (root->user_count) would change for that reader too.
bool hsc__loop_goes_by_element(const hsc_instr *loop) {
  if (loop->op != HSC_OP_WHILE || !hsc_shape_is_tuple(&loop->shape) || loop->control_count ||
      loop->control_successor_count)
    return false;
  const hsc_computation *condition = loop->called[0];
  const hsc_computation *body = loop->called[1];
  if (condition == body || body->root->op != HSC_OP_TUPLE || body->root->user_count)
    return false;
  return hsc__only_elements_read(condition->parameters[0], NULL) &&
         hsc__only_elements_read(body->parameters[0], NULL);
}

bool hsc__loop_inside_is_own(const hsc_instr *loop) {
  if (!hsc__loop_goes_by_element(loop))
    return false;
  return hsc_computation_callers(loop->called[1]) == 1 &&
         hsc_computation_callers(loop->called[0]) == 1;
}

bool hsc__loop_keeps(const hsc_instr *loop, int64_t index) {
  const hsc_instr *next = loop->called[1]->root->operands[index];
  return next->op == HSC_OP_GET_TUPLE_ELEMENT && next->attr.index.value == index &&
         next->operands[0] == loop->called[1]->parameters[0];
}

// `tuple` with `extra` after its elements; the old one goes when nothing reads it any more.
static hsc_status *longer_tuple(hsc_instr *tuple,
                                int count,
                                hsc_instr *const *extra,
                                hsc_shape shape,
                                hsc_instr *before,
                                bool is_root,
                                hsc_instr **out_tuple) {
  hsc_computation *computation = tuple->parent;
  int old = tuple->shape.element_count;
  hsc_instr **parts = HSC_NEW_ARRAY(computation->module->arena, hsc_instr *, old + count);
  if (!parts)
    return hsc_status_out_of_memory();
  hsc_builder b;
  hsc_builder_at(&b, computation, before);
  b.metadata = tuple->metadata;
  for (int i = 0; i < old; i++)
    parts[i] =
        tuple->op == HSC_OP_TUPLE ? tuple->operands[i] : hsc_build_get_tuple_element(&b, tuple, i);
  memcpy(parts + old, extra, (size_t)count * sizeof *extra);
  *out_tuple = hsc_build_tuple(&b, old + count, parts);
  HSC_TRY(hsc_builder_finish(&b, is_root ? *out_tuple : NULL, NULL));
  (*out_tuple)->shape = shape;
  return NULL;
}

// The initial state, the parameters of condition and body, the body's root and the loop itself all
// get the longer shape here, before any of them is looked at again: between these steps the module
// is not valid.
hsc_status *hsc__loop_add_invariants(hsc_instr *loop,
                                     int count,
                                     hsc_instr *const *values,
                                     hsc_instr **inside) {
  hsc_arena *arena = loop->parent->module->arena;
  hsc_computation *condition = loop->called[0];
  hsc_computation *body = loop->called[1];
  int old = loop->shape.element_count;
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, old + count);
  if (!elements)
    return hsc_status_out_of_memory();
  memcpy(elements, loop->shape.elements, (size_t)old * sizeof *elements);
  for (int i = 0; i < count; i++)
    elements[old + i] = values[i]->shape;
  hsc_shape shape = hsc_shape_tuple(arena, old + count, elements);
  hsc_instr *old_init = loop->operands[0];
  hsc_instr *old_root = body->root;
  hsc_instr *init = NULL;
  hsc_instr *root = NULL;
  hsc_instr *state = body->parameters[0];
  HSC_TRY(longer_tuple(old_init, count, values, shape, loop, false, &init));
  state->shape = condition->parameters[0]->shape = loop->shape = shape;
  // Right after the parameter, so that everything in the body may read them.
  hsc_builder b;
  hsc_builder_at(&b, body, state->next);
  for (int i = 0; i < count; i++)
    inside[i] = hsc_build_get_tuple_element(&b, state, old + i);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  HSC_TRY(longer_tuple(old_root, count, inside, shape, NULL, true, &root));
  hsc_instr_remove(old_root);
  hsc_instr_set_operand(loop, 0, init);
  if (hsc_instr_is_dead(old_init))
    hsc_instr_remove(old_init);
  return NULL;
}
