// while_simplifier.c - loop state that nothing needs goes; loops of no trip become their initial
// state.
//
// Tuples inside of the state are taken apart (while_flatten.c). What the body passes on unchanged
// is read before the loop instead of after it; what begins and goes on as the same constant is
// that constant everywhere; of two elements that begin and go on the same, one is read. An element
// is dead then when nothing reads it: no user of the loop, not the condition, and the body only for
// dead elements and not for an effect. One walk over the loops, linear in the state and in the
// instructions of condition and body.
//
//   before   w = (s32[], f32[4], f32[9]) while(tuple(zero, x, y)), ...  with y passed on and never
//            read
//   after    w = (s32[], f32[4]) while(tuple(zero, x)), ...
//
// XLA: xla/hlo/transforms/simplifiers/while_loop_simplifier.h
#include "passes/loops/while_util.h"

static void renumber(hsc_instr *tuple, const int64_t *new_index) {
  for (int i = 0; i < tuple->user_count; i++)
    tuple->users[i]->attr.index.value = new_index[tuple->users[i]->attr.index.value];
}

// Removes the users of `tuple` that read dead elements: they have no users themselves by now.
static void drop_dead_readers(hsc_instr *tuple, const int64_t *new_index) {
  for (int i = tuple->user_count - 1; i >= 0; i--)
    if (new_index[tuple->users[i]->attr.index.value] < 0)
      hsc_instr_remove(tuple->users[i]);
}

static hsc_status *shrink(hsc_instr *loop, const bool *keep, int kept) {
  hsc_arena *arena = loop->parent->module->arena;
  hsc_computation *condition = loop->called[0];
  hsc_computation *body = loop->called[1];
  int count = loop->shape.element_count;
  int at = 0;
  int64_t *new_index = HSC_NEW_ARRAY(arena, int64_t, count);
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, kept + 1);
  hsc_instr **init = HSC_NEW_ARRAY(arena, hsc_instr *, kept + 1);
  hsc_instr **next = HSC_NEW_ARRAY(arena, hsc_instr *, kept + 1);
  if (!new_index || !elements || !init || !next)
    return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++) {
    new_index[i] = keep[i] ? at : -1;
    if (!keep[i])
      continue;
    elements[at] = loop->shape.elements[i];
    init[at] = loop->operands[0]->operands[i];
    next[at] = body->root->operands[i];
    at++;
  }
  hsc_shape shape = hsc_shape_tuple(arena, kept, elements);
  hsc_builder b;
  hsc_builder_at(&b, body, NULL);
  hsc_instr *root = hsc_build_tuple(&b, kept, next);
  hsc_instr *old_root = body->root;
  root->shape = shape;
  HSC_TRY(hsc_builder_finish(&b, root, &body));
  if (old_root->user_count == 0)
    hsc_instr_remove(old_root);
  hsc__remove_dead(body);
  drop_dead_readers(body->parameters[0], new_index);
  drop_dead_readers(condition->parameters[0], new_index);
  drop_dead_readers(loop, new_index);
  renumber(body->parameters[0], new_index);
  renumber(condition->parameters[0], new_index);
  renumber(loop, new_index);
  body->parameters[0]->shape = condition->parameters[0]->shape = shape;
  hsc_builder_at(&b, loop->parent, loop);
  hsc_instr *old_init = loop->operands[0];
  hsc_instr *new_init = hsc_build_tuple(&b, kept, init);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  new_init->shape = shape;
  new_init->metadata = old_init->metadata;
  hsc_instr_set_operand(loop, 0, new_init);
  loop->shape = shape;
  if (hsc_instr_is_dead(old_init))
    hsc_instr_remove(old_init);
  return NULL;
}

// Marks in `keep` the elements that what is marked already depends on, through the body. An effect
// in the body needs what it reads.
static void mark_needed(const hsc_computation *body, int count, bool *keep) {
  for (hsc_instr *instr = body->first; instr; instr = instr->next)
    instr->index = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < count; i++)
      if (keep[i])
        body->root->operands[i]->index = 1;
    for (hsc_instr *instr = body->last; instr; instr = instr->prev) {
      if (instr == body->root || (!instr->index && !hsc_instr_has_effect(instr) &&
                                  !instr->control_count && !instr->control_successor_count))
        continue;
      for (int i = 0; i < instr->operand_count; i++)
        if (instr->operands[i] != body->parameters[0])
          instr->operands[i]->index = 1;
      int64_t index =
          instr->op == HSC_OP_GET_TUPLE_ELEMENT && instr->operands[0] == body->parameters[0]
              ? instr->attr.index.value
              : -1;
      if (index < 0 || keep[index])
        continue;
      keep[index] = changed = true;
    }
  }
}

// Whether the body makes of element j what it makes of element i, when both begin the same: both
// passed on, or the same update of each.
static bool go_on_alike(const hsc_instr *loop, int64_t i, int64_t j) {
  if (hsc__loop_keeps(loop, i) && hsc__loop_keeps(loop, j))
    return true;
  const hsc_instr *state = loop->called[1]->parameters[0];
  const hsc_instr *x = loop->called[1]->root->operands[i];
  const hsc_instr *y = loop->called[1]->root->operands[j];
  if (x->op != HSC_OP_DYNAMIC_UPDATE_SLICE || y->op != x->op ||
      x->operand_count != y->operand_count)
    return false;
  for (int side = 0; side < 2; side++) {
    const hsc_instr *own = (side ? y : x)->operands[0];
    if (own->op != HSC_OP_GET_TUPLE_ELEMENT || own->operands[0] != state ||
        own->attr.index.value != (side ? j : i))
      return false;
  }
  for (int k = 1; k < x->operand_count; k++)
    if (x->operands[k] != y->operands[k])
      return false;
  return true;
}

// The element begins and goes on as the same constant.
static bool is_one_constant(const hsc_instr *loop, int64_t i) {
  const hsc_instr *first = loop->operands[0]->operands[i];
  const hsc_instr *next = loop->called[1]->root->operands[i];
  if (first->op != HSC_OP_CONSTANT || next->op != HSC_OP_CONSTANT ||
      !hsc_shape_equal_layout(&first->shape, &next->shape))
    return false;
  const hsc_literal *a = first->attr.literal.value;
  const hsc_literal *b = next->attr.literal.value;
  return !a->elided && !b->elided && hsc_literal_equal(a, b);
}

// Its value after the loop is the one before it.
static bool is_known(const hsc_instr *loop, int64_t i) {
  return hsc__loop_keeps(loop, i) || is_one_constant(loop, i);
}

// The readers of the element in the loop read a constant of their own.
static hsc_status *read_constant(hsc_instr *state,
                                 int64_t index,
                                 const hsc_instr *constant,
                                 hsc_pass_context *cx) {
  for (int u = 0; u < state->user_count; u++) {
    hsc_instr *reader = state->users[u];
    if (reader->attr.index.value != index ||
        (reader->user_count == 0 && reader->parent->root != reader))
      continue;
    if (!hsc__pass_spend(cx))
      return NULL;
    hsc_builder b;
    hsc_builder_at(&b, state->parent, reader);
    hsc_instr *own = hsc_build_clone(&b, constant, NULL);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
    HSC_TRY(hsc_instr_replace_uses(reader, own));
  }
  return NULL;
}

static bool read_instead(hsc_instr *tuple, int64_t index, int64_t other) {
  bool any = false;
  for (int i = 0; i < tuple->user_count; i++) {
    hsc_instr *reader = tuple->users[i];
    if (reader->attr.index.value != index || hsc_instr_is_dead(reader))
      continue;
    reader->attr.index.value = other;
    any = true;
  }
  return any;
}

// Readers of what is known otherwise: after the loop, of what the body passes on; anywhere, of the
// second of two elements that are always equal.
static hsc_status *forward_known_state(hsc_instr *loop, hsc_pass_context *cx) {
  hsc_computation *condition = loop->called[0];
  hsc_computation *body = loop->called[1];
  hsc_instr *init = loop->operands[0];
  for (int64_t i = 0; i < loop->shape.element_count; i++) {
    hsc_instr *reader = NULL;
    if (is_one_constant(loop, i)) {
      HSC_TRY(read_constant(condition->parameters[0], i, init->operands[i], cx));
      HSC_TRY(read_constant(body->parameters[0], i, init->operands[i], cx));
    }
    for (int u = 0; u < loop->user_count && is_known(loop, i); u++)
      if (loop->users[u]->attr.index.value == i && loop->users[u]->parent->root != loop->users[u] &&
          loop->users[u]->user_count > 0)
        reader = loop->users[u];
    if (reader) {
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(hsc_instr_replace_uses(reader, init->operands[i]));
    }
    for (int64_t j = 0; j < i; j++) {
      if (init->operands[i] != init->operands[j] || cx->fuel == 0 || cx->pass_fuel == 0 ||
          !go_on_alike(loop, j, i))
        continue;
      bool any = read_instead(loop, i, j);
      any |= read_instead(condition->parameters[0], i, j);
      if (hsc__loop_keeps(loop, i)) {  // in the body, but for passing it on
        hsc_instr *own = body->root->operands[i];
        hsc_instr *other = body->root->operands[j];
        any |= own->user_count > 1;
        HSC_TRY(hsc_instr_replace_uses(own, other));
        hsc_instr_set_operand(body->root, (int)i, own);
      }
      if (any && !hsc__pass_spend(cx))
        return NULL;
      break;
    }
  }
  return NULL;
}

// A loop that is read whole: its users get a tuple of what its elements are, when any of them is
// known otherwise.
static hsc_status *read_by_elements(hsc_instr *loop, hsc_pass_context *cx) {
  bool known = false;
  for (int64_t i = 0; i < loop->shape.element_count; i++)
    known |= is_known(loop, i);
  if (!known || loop->control_count || loop->control_successor_count || !hsc__pass_spend(cx))
    return NULL;
  hsc_computation *computation = loop->parent;
  hsc_instr **parts =
      HSC_NEW_ARRAY(computation->module->arena, hsc_instr *, loop->shape.element_count + 1);
  if (!parts)
    return hsc_status_out_of_memory();
  hsc_builder b;
  hsc_builder_at(&b, computation, loop->next);
  b.metadata = loop->metadata;
  for (int i = 0; i < loop->shape.element_count; i++)
    parts[i] = is_known(loop, i) ? loop->operands[0]->operands[i]
                                 : hsc_build_get_tuple_element(&b, loop, i);
  hsc_instr *whole = hsc_build_tuple(&b, loop->shape.element_count, parts);
  whole->shape = loop->shape;
  HSC_TRY(hsc_builder_finish(&b, computation->root == loop ? whole : NULL, &computation));
  for (int u = loop->user_count - 1; u >= 0; u--) {
    hsc_instr *user = loop->users[u];
    if (user->op == HSC_OP_GET_TUPLE_ELEMENT)
      continue;
    for (int k = 0; k < user->operand_count; k++)
      if (user->operands[k] == loop)
        hsc_instr_set_operand(user, k, whole);
    u = loop->user_count;  // the list has changed
  }
  return NULL;
}

static hsc_status *remove_dead_state(hsc_instr *loop, hsc_pass_context *cx) {
  hsc_computation *condition = loop->called[0];
  hsc_computation *body = loop->called[1];
  int count = loop->shape.element_count;
  if (loop->operands[0]->op != HSC_OP_TUPLE || body->root->op != HSC_OP_TUPLE ||
      body->root->user_count || condition == body)
    return NULL;
  if (!hsc__only_elements_read(condition->parameters[0], NULL) ||
      !hsc__only_elements_read(body->parameters[0], NULL))
    return NULL;
  if (hsc_computation_callers(body) != 1 || hsc_computation_callers(condition) != 1)
    return NULL;
  if (!hsc__only_elements_read(loop, NULL))
    HSC_TRY(read_by_elements(loop, cx));
  if (!hsc__only_elements_read(loop, NULL))
    return NULL;
  HSC_TRY(forward_known_state(loop, cx));
  bool *keep = HSC_NEW_ARRAY(cx->scratch, bool, count);
  if (!keep)
    return hsc_status_out_of_memory();
  for (int side = 0; side < 2; side++) {
    const hsc_instr *tuple = side ? condition->parameters[0] : loop;
    for (int i = 0; i < tuple->user_count; i++)
      if (!hsc_instr_is_dead(tuple->users[i]) || tuple->users[i]->parent->root == tuple->users[i])
        keep[tuple->users[i]->attr.index.value] = true;
  }
  mark_needed(body, count, keep);
  int kept = 0;
  for (int i = 0; i < count; i++)
    kept += keep[i];
  if (kept == 0) {  // a loop has some state
    keep[0] = true;
    kept = 1;
  }
  if (kept == count)
    return NULL;
  return hsc__pass_spend(cx) ? shrink(loop, keep, kept) : NULL;
}

hsc_status *hsc__pass_while_simplifier(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->op != HSC_OP_WHILE || !hsc_shape_is_tuple(&instr->shape))
        continue;
      hsc__loop loop;
      if (hsc__loop_analyse(instr, &loop) && loop.trip_count == 0) {
        if (!hsc__pass_spend(cx))
          return NULL;
        HSC_TRY(hsc__replace_effects_too(instr, instr->operands[0]));
        continue;
      }
      HSC_TRY(hsc__loop_flatten(instr, cx));
      HSC_TRY(remove_dead_state(instr, cx));
    }
  }
  return NULL;
}
