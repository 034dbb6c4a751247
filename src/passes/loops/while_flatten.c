// while_flatten.c - a loop's state without tuples in it: every array an element of its own.
//
//   before   w = ((s32[], f32[4]), f32[8]) while(init), ...
//   after    v = (s32[], f32[4], f32[8]) while(flat init), ...;  w = ((s32[], f32[4]), f32[8])
//            tuple(tuple(v.0, v.1), v.2)
#include "passes/loops/while_util.h"

// Appends the arrays in `value`, in order.
static void take_apart(hsc_builder *b, hsc_instr *value, hsc_instr **leaves, int *count) {
  if (!hsc_shape_is_tuple(&value->shape)) {
    leaves[(*count)++] = value;
    return;
  }
  for (int i = 0; i < value->shape.element_count; i++)
    take_apart(
        b,
        value->op == HSC_OP_TUPLE ? value->operands[i] : hsc_build_get_tuple_element(b, value, i),
        leaves, count);
}

// A value of that shape out of the elements of `flat` from *next on.
static hsc_instr *put_together(hsc_builder *b, const hsc_shape *shape, hsc_instr *flat, int *next) {
  if (!hsc_shape_is_tuple(shape))
    return hsc_build_get_tuple_element(b, flat, (*next)++);
  hsc_instr **parts = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, shape->element_count + 1);
  if (!parts)
    return flat;
  for (int i = 0; i < shape->element_count; i++)
    parts[i] = put_together(b, &shape->elements[i], flat, next);
  return hsc_build_tuple(b, shape->element_count, parts);
}

// The readers of `value`, whose shape is `flat` from now on, read what it was, put together after
// it.
static hsc_status *give_back_shape(hsc_instr *value, hsc_shape flat) {
  hsc_arena *arena = value->parent->module->arena;
  hsc_shape shape = value->shape;
  int readers = value->user_count;
  int next = 0;
  hsc_instr **users = HSC_NEW_ARRAY(arena, hsc_instr *, readers + 1);
  if (!users)
    return hsc_status_out_of_memory();
  if (readers)
    memcpy(users, value->users, (size_t)readers * sizeof *users);
  value->shape = flat;
  hsc_builder b;
  hsc_builder_at(&b, value->parent, value->next);
  b.metadata = value->metadata;
  hsc_instr *whole = put_together(&b, &shape, value, &next);
  HSC_TRY(hsc_builder_finish(&b, value->parent->root == value ? whole : NULL, &value->parent));
  whole->shape = shape;
  for (int u = 0; u < readers; u++)
    for (int o = 0; o < users[u]->operand_count; o++)
      if (users[u]->operands[o] == value)
        hsc_instr_set_operand(users[u], o, whole);
  if (hsc_instr_is_dead(whole))
    hsc_instr_remove(whole);
  return NULL;
}

// The tuple of the arrays in `value`, built before `before` (NULL = at the end).
static hsc_status *flat_tuple(hsc_instr *value,
                              hsc_instr *before,
                              int leaf_count,
                              hsc_shape flat,
                              bool is_root,
                              hsc_instr **out_tuple) {
  hsc_instr **leaves = HSC_NEW_ARRAY(value->parent->module->arena, hsc_instr *, leaf_count + 1);
  if (!leaves)
    return hsc_status_out_of_memory();
  int count = 0;
  hsc_builder b;
  hsc_builder_at(&b, value->parent, before);
  b.metadata = value->metadata;
  take_apart(&b, value, leaves, &count);
  *out_tuple = hsc_build_tuple(&b, count, leaves);
  HSC_TRY(hsc_builder_finish(&b, is_root ? *out_tuple : NULL, &value->parent));
  (*out_tuple)->shape = flat;
  return NULL;
}

hsc_status *hsc__loop_flatten(hsc_instr *loop, hsc_pass_context *cx) {
  hsc_module *module = loop->parent->module;
  hsc_computation *condition = loop->called[0];
  hsc_computation *body = loop->called[1];
  int leaves = hsc_shape_leaf_count(&loop->shape);
  bool nested = false;
  for (int i = 0; i < loop->shape.element_count; i++)
    nested |= hsc_shape_is_tuple(&loop->shape.elements[i]);
  if (!nested || leaves == 0 || condition == body || loop->control_count ||
      loop->control_successor_count)
    return NULL;
  if (hsc_computation_callers(condition) != 1 || hsc_computation_callers(body) != 1 ||
      body->root->op == HSC_OP_PARAMETER || !hsc__pass_spend(cx))
    return NULL;
  hsc_shape *elements = HSC_NEW_ARRAY(module->arena, hsc_shape, leaves);
  if (!elements)
    return hsc_status_out_of_memory();
  for (int l = 0; l < leaves; l++)
    elements[l] = *hsc_shape_leaf(&loop->shape, l);
  hsc_shape flat = hsc_shape_tuple(module->arena, leaves, elements);
  hsc_instr *old_init = loop->operands[0];
  hsc_instr *init = NULL;
  hsc_instr *old_root = body->root;
  hsc_instr *root = NULL;
  HSC_TRY(flat_tuple(old_init, loop, leaves, flat, false, &init));
  HSC_TRY(flat_tuple(old_root, NULL, leaves, flat, true, &root));
  hsc__remove_dead(body);
  HSC_TRY(give_back_shape(body->parameters[0], flat));
  HSC_TRY(give_back_shape(condition->parameters[0], flat));
  hsc_instr_set_operand(loop, 0, init);
  if (hsc_instr_is_dead(old_init))
    hsc_instr_remove(old_init);
  return give_back_shape(loop, flat);
}
