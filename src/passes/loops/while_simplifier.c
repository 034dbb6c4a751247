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

typedef struct worklist {
  hsc_instr **waiting;  // [instructions of the body]: each is put in once
  int count;
} worklist;

static void need(worklist *work, hsc_instr *instr) {
  if (instr->index)
    return;
  instr->index = 1;
  work->waiting[work->count++] = instr;
}

// Marks in `keep` the elements that what is marked already depends on, through the body. An effect
// in the body needs what it reads.
static hsc_status *mark_needed(const hsc_computation *body,
                               int count,
                               bool *keep,
                               hsc_arena *arena) {
  worklist work = {.waiting = HSC_NEW_ARRAY(arena, hsc_instr *, body->instr_count + 1)};
  if (!work.waiting)
    return hsc_status_out_of_memory();
  for (hsc_instr *instr = body->first; instr; instr = instr->next)
    instr->index = instr == body->parameters[0];
  for (hsc_instr *instr = body->first; instr; instr = instr->next)
    if (instr != body->root &&
        (instr->control_count || instr->control_successor_count || hsc_instr_has_effect(instr)))
      need(&work, instr);
  for (int i = 0; i < count; i++)
    if (keep[i])
      need(&work, body->root->operands[i]);
  while (work.count) {
    const hsc_instr *instr = work.waiting[--work.count];
    for (int i = 0; i < instr->operand_count; i++)
      need(&work, instr->operands[i]);
    if (instr->op != HSC_OP_GET_TUPLE_ELEMENT || instr->operands[0] != body->parameters[0] ||
        keep[instr->attr.index.value])
      continue;
    keep[instr->attr.index.value] = true;
    need(&work, body->root->operands[instr->attr.index.value]);
  }
  return NULL;
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

// The readers of a tuple by the element that they read, in their order.
typedef struct readers {
  hsc_instr **of;                // [count of users]
  int32_t *first, *last, *next;  // first, last: [elements]; -1 ends
} readers;

static hsc_status *list_readers(const hsc_instr *tuple, hsc_arena *arena, readers *out) {
  int elements = tuple->shape.element_count;
  int users = tuple->user_count;
  *out = (readers){.of = HSC_NEW_ARRAY(arena, hsc_instr *, users + 1),
                   .first = HSC_NEW_ARRAY(arena, int32_t, elements + 1),
                   .last = HSC_NEW_ARRAY(arena, int32_t, elements + 1),
                   .next = HSC_NEW_ARRAY(arena, int32_t, users + 1)};
  if (!out->of || !out->first || !out->last || !out->next)
    return hsc_status_out_of_memory();
  for (int i = 0; i < elements; i++)
    out->first[i] = out->last[i] = -1;
  for (int u = 0; u < users; u++) {
    int64_t index = tuple->users[u]->attr.index.value;
    out->of[u] = tuple->users[u];
    out->next[u] = -1;
    *(out->first[index] < 0 ? &out->first[index] : &out->next[out->last[index]]) = u;
    out->last[index] = u;
  }
  return NULL;
}

// The readers of the element in the loop read a constant of their own.
static hsc_status *read_constant(const readers *all,
                                 int64_t index,
                                 const hsc_instr *constant,
                                 hsc_pass_context *cx) {
  for (int32_t r = all->first[index]; r >= 0; r = all->next[r]) {
    hsc_instr *reader = all->of[r];
    if (reader->user_count == 0 && reader->parent->root != reader)
      continue;
    if (!hsc__pass_spend(cx))
      return NULL;
    hsc_builder b;
    hsc_builder_at(&b, reader->parent, reader);
    hsc_instr *own = hsc_build_clone(&b, constant, NULL);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
    HSC_TRY(hsc_instr_replace_uses(reader, own));
  }
  return NULL;
}

// They become readers of `other`.
static bool read_instead(readers *all, int64_t index, int64_t other) {
  bool any = false;
  if (all->first[index] < 0)
    return false;
  for (int32_t r = all->first[index]; r >= 0; r = all->next[r]) {
    any |= !hsc_instr_is_dead(all->of[r]);
    all->of[r]->attr.index.value = other;
  }
  *(all->first[other] < 0 ? &all->first[other] : &all->next[all->last[other]]) = all->first[index];
  all->last[other] = all->last[index];
  all->first[index] = all->last[index] = -1;
  return any;
}

// After the loop, what is known before it is read there.
static hsc_status *read_before(const hsc_instr *loop,
                               const readers *after,
                               int64_t index,
                               hsc_pass_context *cx) {
  hsc_instr *reader = NULL;
  for (int32_t r = is_known(loop, index) ? after->first[index] : -1; r >= 0; r = after->next[r])
    if (after->of[r]->parent->root != after->of[r] && after->of[r]->user_count > 0)
      reader = after->of[r];
  if (!reader || !hsc__pass_spend(cx))
    return NULL;
  return hsc_instr_replace_uses(reader, loop->operands[0]->operands[index]);
}

// Elements by what they begin as and how they go on: those that are alike have one key.
typedef struct alike {
  int64_t *elements;  // [capacity]: the first of each kind, -1 = free
  size_t capacity;
} alike;

static uint64_t key_of(const hsc_instr *loop, int64_t index) {
  const hsc_instr *next = loop->called[1]->root->operands[index];
  uint64_t key = hsc_hash64(&loop->operands[0]->operands[index]->id, sizeof next->id, 0);
  for (int k = 1; next->op == HSC_OP_DYNAMIC_UPDATE_SLICE && k < next->operand_count; k++)
    key = hsc_hash64(&next->operands[k]->id, sizeof next->id, key);
  return key;
}

// The first element that is always equal to this one, which is remembered; -1 = none so far.
static int64_t find_alike(alike *seen, const hsc_instr *loop, int64_t index) {
  const hsc_instr *init = loop->operands[0];
  size_t at = key_of(loop, index) & (seen->capacity - 1);
  for (; seen->elements[at] >= 0; at = (at + 1) & (seen->capacity - 1)) {
    int64_t other = seen->elements[at];
    if (init->operands[other] == init->operands[index] && go_on_alike(loop, other, index))
      return other;
  }
  seen->elements[at] = index;
  return -1;
}

static hsc_status *alike_init(alike *seen, int64_t count, hsc_arena *arena) {
  seen->capacity = 16;
  while (seen->capacity < 2 * (size_t)count)
    seen->capacity *= 2;
  seen->elements = HSC_NEW_ARRAY(arena, int64_t, seen->capacity);
  if (!seen->elements)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < seen->capacity; i++)
    seen->elements[i] = -1;
  return NULL;
}

// Whether element `index` has a twin that can be one: it passes itself on or is updated in place.
static bool may_be_alike(const hsc_instr *loop, int64_t index) {
  return hsc__loop_keeps(loop, index) ||
         loop->called[1]->root->operands[index]->op == HSC_OP_DYNAMIC_UPDATE_SLICE;
}

// Readers of what is known otherwise: after the loop, of what the body passes on; anywhere, of the
// second of two elements that are always equal.
static hsc_status *forward_known_state(hsc_instr *loop, hsc_pass_context *cx) {
  hsc_computation *condition = loop->called[0];
  hsc_computation *body = loop->called[1];
  hsc_instr *init = loop->operands[0];
  readers after, asked, inside;
  alike seen;
  HSC_TRY(list_readers(loop, cx->scratch, &after));
  HSC_TRY(list_readers(condition->parameters[0], cx->scratch, &asked));
  HSC_TRY(list_readers(body->parameters[0], cx->scratch, &inside));
  HSC_TRY(alike_init(&seen, loop->shape.element_count, cx->scratch));
  for (int64_t i = 0; i < loop->shape.element_count; i++) {
    if (is_one_constant(loop, i)) {
      HSC_TRY(read_constant(&asked, i, init->operands[i], cx));
      HSC_TRY(read_constant(&inside, i, init->operands[i], cx));
    }
    HSC_TRY(read_before(loop, &after, i, cx));
    if (cx->fuel == 0 || cx->pass_fuel == 0)
      return NULL;
    int64_t j = may_be_alike(loop, i) ? find_alike(&seen, loop, i) : -1;
    if (j < 0)
      continue;
    bool any = read_instead(&after, i, j);
    any |= read_instead(&asked, i, j);
    if (hsc__loop_keeps(loop, i)) {  // in the body, but for passing it on
      hsc_instr *own = body->root->operands[i];
      hsc_instr *other = body->root->operands[j];
      any |= own->user_count > 1;
      HSC_TRY(hsc_instr_replace_uses(own, other));
      hsc_instr_set_operand(body->root, (int)i, own);
    }
    if (any && !hsc__pass_spend(cx))
      return NULL;
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
  int count = loop->user_count;
  hsc_instr **users = HSC_NEW_ARRAY(cx->scratch, hsc_instr *, count + 1);
  if (!users)
    return hsc_status_out_of_memory();
  memcpy(users, loop->users, (size_t)count * sizeof *users);
  for (int u = 0; u < count; u++)
    for (int k = 0; k < users[u]->operand_count; k++)
      if (users[u]->op != HSC_OP_GET_TUPLE_ELEMENT && users[u]->operands[k] == loop)
        hsc_instr_set_operand(users[u], k, whole);
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
  HSC_TRY(mark_needed(body, count, keep, cx->scratch));
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
