// reduce_carried.c - values that a loop carries and that nothing but their own next value needs.
//
//   (s32[], f32[4], f32[8]) while(...), element 2 unused   ->   (s32[], f32[4]) while(...)
#include "transform/reduce/reduce_internal.h"

// Marks what a computation's result needs without its element `skip`; whether parameter 0's element
// `skip` is among it.
static bool needs_itself(hsc_computation *computation, int64_t skip, bool all) {
  hsc_instr *root = computation->root;
  bool needed = false;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next)
    instr->index = hsc_instr_has_effect(instr);
  if (all)
    root->index = 1;
  for (int i = 0; !all && i < root->operand_count; i++)
    if (i != skip)
      root->operands[i]->index = 1;
  for (hsc_instr *instr = computation->last; instr; instr = instr->prev) {
    if (!instr->index || (instr == root && !all))
      continue;
    if (instr->op == HSC_OP_PARAMETER)
      needed = true;  // whole
    bool element =
        instr->op == HSC_OP_GET_TUPLE_ELEMENT && instr->operands[0]->op == HSC_OP_PARAMETER;
    if (element) {
      needed |= instr->attr.index.value == skip;
      continue;
    }
    for (int i = 0; i < instr->operand_count; i++)
      instr->operands[i]->index = 1;
  }
  return needed;
}

static bool is_droppable(const hsc_instr *loop, int64_t element) {
  if (loop->parent->root == loop || loop->called[1]->root->op != HSC_OP_TUPLE)
    return false;
  for (int i = 0; i < loop->user_count; i++)
    if (loop->users[i]->op != HSC_OP_GET_TUPLE_ELEMENT ||
        loop->users[i]->attr.index.value == element)
      return false;
  return !needs_itself(loop->called[0], element, true) &&
         !needs_itself(loop->called[1], element, false);
}

static hsc_shape shape_without(hsc_arena *arena, const hsc_shape *tuple, int64_t element) {
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, tuple->element_count);
  int count = 0;
  for (int i = 0; elements && i < tuple->element_count; i++)
    if (i != element)
      elements[count++] = tuple->elements[i];
  return hsc_shape_tuple(arena, count, elements);
}

static hsc_instr *tuple_without(hsc_builder *b, hsc_instr *tuple, int64_t element) {
  hsc_instr **kept = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, tuple->shape.element_count);
  int count = 0;
  for (int i = 0; kept && i < tuple->shape.element_count; i++)
    if (i != element)
      kept[count++] =
          tuple->op == HSC_OP_TUPLE ? tuple->operands[i] : hsc_build_get_tuple_element(b, tuple, i);
  return hsc_build_tuple(b, count, kept);
}

// A copy of a loop's computation that knows nothing of the element.
static hsc_status *narrow(hsc_module *module,
                          const hsc_computation *computation,
                          int64_t element,
                          bool is_body,
                          hsc_computation **out) {
  HSC_TRY(hsc_computation_clone(module, computation, NULL, false, out));
  hsc_computation *copy = *out;
  hsc_builder b;
  if (is_body) {
    hsc_builder_at(&b, copy, NULL);
    hsc_instr *old = copy->root;
    HSC_TRY(hsc_builder_finish(&b, tuple_without(&b, old, element), NULL));
  }
  for (hsc_instr *instr = copy->last, *before; instr; instr = before) {
    before = instr->prev;
    if (hsc_instr_is_dead(instr))
      hsc_instr_remove(instr);
  }
  hsc_instr *parameter = copy->parameters[0];
  parameter->shape = shape_without(module->arena, &parameter->shape, element);
  for (int i = 0; i < parameter->user_count; i++)
    if (parameter->users[i]->op == HSC_OP_GET_TUPLE_ELEMENT &&
        parameter->users[i]->attr.index.value > element)
      parameter->users[i]->attr.index.value--;
  return hsc_arena_status(module->arena);
}

static hsc_status *drop(hsc_instr *loop, int64_t element) {
  hsc_module *module = loop->parent->module;
  hsc_computation *condition = NULL;
  hsc_computation *body = NULL;
  HSC_TRY(narrow(module, loop->called[0], element, false, &condition));
  HSC_TRY(narrow(module, loop->called[1], element, true, &body));
  hsc_builder b;
  hsc_builder_at(&b, loop->parent, loop);
  hsc_instr *init = tuple_without(&b, loop->operands[0], element);
  hsc_instr *shorter = hsc_build_while(&b, condition, body, init);
  while (loop->user_count > 0 && !b.status) {
    hsc_instr *user = loop->users[0];
    int64_t index = user->attr.index.value;
    hsc_instr *taken = hsc_build_get_tuple_element(&b, shorter, index - (index > element));
    if (!b.status)
      b.status = hsc_instr_replace_uses(user, taken);
    if (!b.status)
      hsc_instr_remove(user);
  }
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  hsc_instr_remove(loop);
  return NULL;
}

hsc_status *hsc__reduce_carried(hsc__reducing *r) {
  int computations = r->module->computation_count;  // not those that are made here
  for (int c = 0; c < computations; c++)
    HSC_FOR_EACH_INSTR_IN (r->module->computations[c], loop) {
      if (loop->op != HSC_OP_WHILE || !hsc_shape_is_tuple(&loop->shape) ||
          loop->shape.element_count < 2)
        continue;
      for (int64_t i = loop->shape.element_count - 1; i >= 0; i--)
        if (is_droppable(loop, i) && hsc__reduce_here(r)) {
          HSC_TRY(drop(loop, i));
          break;  // one at a time: the loop is another one now
        }
    }
  return NULL;
}
