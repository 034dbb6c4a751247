// vmap_control.c - tuples, calls, loops, branches, custom calls.
//
// A loop whose condition is the same for all examples stays a loop with a batched state. When
// examples stop at different times, it goes on while any has to, and those that have stopped keep
// their state. A branch that examples take differently becomes all branches and a select.
#include "transform/transform_internal.h"

hsc_status *hsc__vmap_tuple(hsc__vmap_frame *f,
                            hsc_instr *instr,
                            const hsc__batch *operands,
                            hsc__batch *out) {
  int count = hsc_shape_leaf_count(&instr->shape);
  int at = 0;
  bool *flags = HSC_NEW_ARRAY(f->cx->arena, bool, count + 1);
  hsc_instr **elements = hsc__transform_room(f, instr->operand_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < instr->operand_count; i++) {
    elements[i] = operands[i].instr;
    for (int k = 0; k < operands[i].leaf_count; k++)
      flags[at++] = operands[i].batched[k];
  }
  *out = (hsc__batch){.instr = hsc_build_tuple(&f->b, instr->operand_count, elements),
                      .batched = flags,
                      .leaf_count = count};
  return NULL;
}

hsc_status *hsc__vmap_get_tuple_element(hsc__vmap_frame *f,
                                        hsc_instr *instr,
                                        const hsc__batch *operands,
                                        hsc__batch *out) {
  int first = 0;
  for (int64_t i = 0; i < instr->attr.index.value; i++)
    first += hsc_shape_leaf_count(&instr->operands[0]->shape.elements[i]);
  hsc_instr *tuple = operands[0].instr;
  hsc_instr *element = tuple->op == HSC_OP_TUPLE
                           ? tuple->operands[instr->attr.index.value]
                           : hsc_build_get_tuple_element(&f->b, tuple, instr->attr.index.value);
  *out = (hsc__batch){.instr = element,
                      .batched = operands[0].batched + first,
                      .leaf_count = hsc_shape_leaf_count(&instr->shape)};
  return NULL;
}

// opt-barrier, add-dependency, domain: the first operand, whatever of it is batched.
hsc_status *hsc__vmap_first_operand(hsc__vmap_frame *f,
                                    hsc_instr *instr,
                                    const hsc__batch *operands,
                                    hsc__batch *out) {
  hsc_instr *all[2] = {operands[0].instr, instr->operand_count > 1 ? operands[1].instr : NULL};
  *out = operands[0];
  out->instr = hsc__emit(f, instr, NULL, operands[0].instr->shape, instr->operand_count, all);
  return NULL;
}

// Flags of all operands' leaves in a row.
static bool *flags_of(hsc__vmap_frame *f, const hsc__batch *operands, int count) {
  int leaves = 0;
  int at = 0;
  for (int i = 0; i < count; i++)
    leaves += operands[i].leaf_count;
  bool *flags = HSC_NEW_ARRAY(f->cx->arena, bool, leaves + 1);
  for (int i = 0; flags && i < count; i++)
    for (int k = 0; k < operands[i].leaf_count; k++)
      flags[at++] = operands[i].batched[k];
  return flags;
}

hsc_status *hsc__vmap_call(hsc__vmap_frame *f,
                           hsc_instr *instr,
                           const hsc__batch *operands,
                           hsc__batch *out) {
  int count = hsc_shape_leaf_count(&instr->shape);
  bool *in = flags_of(f, operands, instr->operand_count);
  bool *flags = HSC_NEW_ARRAY(f->cx->arena, bool, count + 1);
  hsc_instr **arguments = hsc__transform_room(f, instr->operand_count);
  hsc_computation *computation = NULL;
  HSC_TRY(hsc_arena_status(f->cx->arena));
  HSC_TRY(hsc__vmap_computation(f->cx, instr->called[0], in, NULL, &computation, flags));
  for (int i = 0; i < instr->operand_count; i++)
    arguments[i] = operands[i].instr;
  hsc_instr *built = hsc_build_calls(&f->b, instr->op, computation->root->shape,
                                     instr->operand_count, arguments, 1, &computation);
  built->attr = instr->attr;
  built->extra_attributes = instr->extra_attributes;
  built->backend_config = instr->backend_config;
  built->frontend_attributes = instr->frontend_attributes;
  *out = (hsc__batch){.instr = built, .batched = flags, .leaf_count = count};
  return NULL;
}

// ---- while --------------------------------------------------------------------------------------

// Where pred is true the leaves of `yes`, else those of `no`; pred has one value for each example,
// the leaves are all batched.
static hsc_instr *select_leaves(
    hsc_builder *b, hsc__vmap_frame *f, hsc_instr *pred, hsc_instr *yes, hsc_instr *no) {
  if (b->status)
    return yes;
  int count = hsc_shape_leaf_count(&yes->shape);
  hsc_instr **left = hsc__transform_room(f, count);
  hsc_instr **right = hsc__transform_room(f, count);
  if (!left || !right || b->status)
    return yes;
  hsc__unpack(b, yes, left);
  hsc__unpack(b, no, right);
  for (int i = 0; i < count && !b->status; i++) {
    if (!hsc_shape_is_array(&left[i]->shape))
      continue;
    int64_t first = 0;
    hsc_instr *spread =
        left[i]->shape.rank == 1
            ? pred
            : hsc_build_broadcast(b, pred, hsc_shape_with_type(left[i]->shape, HSC_TYPE_PRED),
                                  (hsc_dims){1, &first});
    left[i] = hsc_build_select(b, spread, left[i], right[i]);
  }
  return hsc__pack(b, &yes->shape, left);
}

// While any example has to go on.
static hsc_status *any_condition(hsc__vmap_frame *f,
                                 hsc_computation *each,
                                 const hsc_shape *state,
                                 hsc_computation **out_condition) {
  hsc_builder b;
  hsc_instr *pred = NULL;
  int64_t first = 0;
  hsc_computation *either = hsc_module_scalar_reducer(f->b.module, HSC_OP_OR, HSC_TYPE_PRED);
  if (!either)
    return hsc_status_out_of_memory();
  hsc_builder_init(&b, f->b.module, "any_example_goes_on");
  hsc_instr *parameter = hsc_build_parameter(&b, 0, *state, "state");
  hsc_status *status = hsc__transform_inline(&b, each, &parameter, &pred);
  if (!status)
    return hsc_builder_finish(&b,
                              hsc_build_reduce(&b, pred, hsc_build_scalar(&b, HSC_TYPE_PRED, 0),
                                               (hsc_dims){1, &first}, either),
                              out_condition);
  hsc_status_free(hsc_builder_finish(&b, NULL, NULL));
  return status;
}

// One step for those that go on.
static hsc_status *masked_body(hsc__vmap_frame *f,
                               hsc_computation *each,
                               hsc_computation *body,
                               const hsc_shape *state,
                               hsc_computation **out_body) {
  hsc_builder b;
  hsc_instr *pred = NULL;
  hsc_instr *next = NULL;
  hsc_builder_init(&b, f->b.module, "step_of_those_that_go_on");
  hsc_instr *parameter = hsc_build_parameter(&b, 0, *state, "state");
  hsc_status *status = hsc__transform_inline(&b, each, &parameter, &pred);
  if (!status)
    status = hsc__transform_inline(&b, body, &parameter, &next);
  if (!status)
    return hsc_builder_finish(&b, select_leaves(&b, f, pred, next, parameter), out_body);
  hsc_status_free(hsc_builder_finish(&b, NULL, NULL));
  return status;
}

hsc_status *hsc__vmap_while(hsc__vmap_frame *f,
                            hsc_instr *instr,
                            const hsc__batch *operands,
                            hsc__batch *out) {
  int count = operands[0].leaf_count;
  bool *flags = flags_of(f, operands, 1);
  bool *next = HSC_NEW_ARRAY(f->cx->arena, bool, count + 1);
  bool masked = false;
  hsc_computation *condition = NULL;
  hsc_computation *body = NULL;
  HSC_TRY(hsc_arena_status(f->cx->arena));
  // The state's batched leaves, until a step adds none. Flags only ever become true, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    HSC_TRY(hsc__vmap_computation(f->cx, instr->called[1], flags, flags, &body, next));
    for (int i = 0; i < count; i++) {
      changed |= next[i] && !flags[i];
      flags[i] |= next[i];
    }
    if (changed)
      continue;
    HSC_TRY(hsc__vmap_computation(f->cx, instr->called[0], flags, NULL, &condition, &masked));
    if (!masked)
      break;
    // Examples stop one by one: what they hold is their own from then on.
    for (int i = 0; i < count; i++) {
      bool own = hsc_shape_is_array(hsc_shape_leaf(&instr->shape, i));
      changed |= own && !flags[i];
      flags[i] |= own;
    }
  }
  hsc_instr *init = hsc__promote(f, &operands[0], flags);
  if (masked && !f->b.status) {
    hsc_computation *each = condition;
    HSC_TRY(any_condition(f, each, &init->shape, &condition));
    HSC_TRY(masked_body(f, each, body, &init->shape, &body));
  }
  *out = (hsc__batch){.instr = hsc_build_while(&f->b, condition, body, init),
                      .batched = flags,
                      .leaf_count = count};
  return NULL;
}

// ---- conditional --------------------------------------------------------------------------------

// All branches with the same leaves batched: those that any of them gives batched, and `all` on
// top.
static hsc_status *branches(hsc__vmap_frame *f,
                            hsc_instr *instr,
                            const hsc__batch *operands,
                            bool all,
                            hsc_computation **computations,
                            bool *flags,
                            int count) {
  bool *one = HSC_NEW_ARRAY(f->cx->arena, bool, count + 1);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < count; i++)
    flags[i] = all && hsc_shape_is_array(hsc_shape_leaf(&instr->shape, i));
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < instr->called_count; k++) {
      HSC_TRY(hsc__vmap_computation(f->cx, instr->called[k], operands[k + 1].batched,
                                    pass ? flags : NULL, &computations[k], one));
      for (int i = 0; i < count; i++)
        flags[i] |= one[i];
    }
  return NULL;
}

hsc_status *hsc__vmap_conditional(hsc__vmap_frame *f,
                                  hsc_instr *instr,
                                  const hsc__batch *operands,
                                  hsc__batch *out) {
  int count = hsc_shape_leaf_count(&instr->shape);
  int n = instr->called_count;
  bool own_index = hsc__is_batched(&operands[0]);
  bool *flags = HSC_NEW_ARRAY(f->cx->arena, bool, count + 1);
  hsc_computation **computations = HSC_NEW_ARRAY(f->cx->arena, hsc_computation *, n + 1);
  hsc_instr **all = hsc__transform_room(f, n + 1);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int k = 0; k < n && own_index; k++)
    for (const hsc_instr *inner = instr->called[k]->first; inner; inner = inner->next)
      if (hsc_instr_has_effect(inner) && !hsc__vmap_op_is_random(inner->op))
        return HSC_ERR(
            FAILED_PRECONDITION,
            "vmap: %s %%%s has an effect, and is in a branch that examples take differently",
            hsc_op_text(inner->op), inner->name);
  HSC_TRY(branches(f, instr, operands, own_index, computations, flags, count));
  if (!own_index) {
    for (int i = 0; i <= n; i++)
      all[i] = operands[i].instr;
    hsc_instr *built = hsc_build_calls(&f->b, HSC_OP_CONDITIONAL, computations[0]->root->shape,
                                       n + 1, all, n, computations);
    *out = (hsc__batch){.instr = built, .batched = flags, .leaf_count = count};
    return NULL;
  }
  for (int k = 0; k < n; k++)
    HSC_TRY(hsc__transform_inline(&f->b, computations[k], &operands[k + 1].instr, &all[k]));
  hsc_instr *result = all[n - 1];
  hsc_instr *index = operands[0].instr;
  if (index->shape.type == HSC_TYPE_PRED) {
    result = select_leaves(&f->b, f, index, all[0], all[1]);
  } else {
    // An index out of range takes the last branch.
    for (int k = n - 2; k >= 0 && !f->b.status; k--) {
      hsc_instr *number = hsc_build_broadcast(&f->b, hsc_build_scalar(&f->b, index->shape.type, k),
                                              index->shape, (hsc_dims){0});
      result =
          select_leaves(&f->b, f, hsc_build_compare(&f->b, HSC_EQ, index, number), all[k], result);
    }
  }
  *out = (hsc__batch){.instr = result, .batched = flags, .leaf_count = count};
  return NULL;
}

// ---- custom calls -------------------------------------------------------------------------------

hsc_status *hsc__vmap_custom_call(hsc__vmap_frame *f,
                                  hsc_instr *instr,
                                  const hsc__batch *operands,
                                  hsc__batch *out) {
  static const char *const annotations[] = {
      "Sharding",  "LayoutConstraint", "annotate_device_placement", "MoveToHost", "MoveToDevice",
      "PinToHost", "PinToDevice"};
  const char *target = instr->attr.custom.target ? instr->attr.custom.target : "";
  if (instr->attr.custom.has_side_effect)
    return HSC_ERR(FAILED_PRECONDITION,
                   "vmap: custom-call %%%s to '%s' has a side effect, which cannot be batched",
                   instr->name, target);
  for (size_t i = 0; i < HSC_COUNT_OF(annotations); i++) {
    if (strcmp(target, annotations[i]) != 0 || instr->operand_count != 1)
      continue;
    *out = operands[0];  // says where or how an array of one example is kept
    return NULL;
  }
  return hsc__vmap_by_loop(f, instr, operands, out);
}
