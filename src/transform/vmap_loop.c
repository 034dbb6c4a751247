// vmap_loop.c - the rule for everything that has no better one: a while loop over the examples that
// runs the op as it is on rows of the batched operands and stacks the results. Slower than a
// batched op, never wrong.
#include "transform/transform_internal.h"

typedef struct loop {
  hsc__vmap_frame *f;
  hsc_instr *instr;
  const hsc__batch *operands;
  int leaf_count, result_count;  // leaves of all operands, of the result
  hsc_instr **leaves;            // [leaf_count]
  bool *batched;                 // [leaf_count]
} loop;

static hsc_status *build_body(loop *l, const hsc_shape *state, hsc_computation **out_body) {
  hsc_builder b;
  hsc_arena *arena = l->f->cx->arena;
  hsc_instr **rows = HSC_NEW_ARRAY(arena, hsc_instr *, l->leaf_count + 1);
  hsc_instr **arguments = HSC_NEW_ARRAY(arena, hsc_instr *, l->instr->operand_count + 1);
  hsc_instr **results = HSC_NEW_ARRAY(arena, hsc_instr *, l->result_count + 1);
  hsc_instr **next = HSC_NEW_ARRAY(arena, hsc_instr *, state->element_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  hsc_builder_init(&b, l->f->b.module, "next_example");
  hsc_instr *tuple = hsc_build_parameter(&b, 0, *state, "state");
  for (int i = 0; i < state->element_count; i++)
    next[i] = hsc_build_get_tuple_element(&b, tuple, i);
  hsc_instr *index = next[0];
  for (int i = 0; i < l->leaf_count; i++) {
    rows[i] = next[1 + l->result_count + i];
    if (l->batched[i])
      rows[i] = hsc__row(&b, rows[i], index);
  }
  for (int i = 0, at = 0; i < l->instr->operand_count; i++) {
    arguments[i] = hsc__pack(&b, &l->instr->operands[i]->shape, rows + at);
    at += hsc_shape_leaf_count(&l->instr->operands[i]->shape);
  }
  hsc__unpack(&b, hsc_build_clone(&b, l->instr, arguments), results);
  next[0] = hsc_build_binary(&b, HSC_OP_ADD, index, hsc_build_scalar(&b, HSC_TYPE_S32, 1));
  for (int i = 0; i < l->result_count && !b.status; i++)
    next[1 + i] = hsc__set_row(&b, next[1 + i], results[i], index);
  return hsc_builder_finish(&b, hsc_build_tuple(&b, state->element_count, next), out_body);
}

static hsc_status *build_condition(loop *l,
                                   const hsc_shape *state,
                                   hsc_computation **out_condition) {
  hsc_builder b;
  hsc_builder_init(&b, l->f->b.module, "examples_left");
  hsc_instr *index =
      hsc_build_get_tuple_element(&b, hsc_build_parameter(&b, 0, *state, "state"), 0);
  return hsc_builder_finish(
      &b,
      hsc_build_compare(&b, HSC_LT, index,
                        hsc_build_scalar(&b, HSC_TYPE_S32, (double)l->f->cx->count)),
      out_condition);
}

hsc_status *hsc__vmap_by_loop(hsc__vmap_frame *f,
                              hsc_instr *instr,
                              const hsc__batch *operands,
                              hsc__batch *out) {
  loop l = {.f = f,
            .instr = instr,
            .operands = operands,
            .result_count = hsc_shape_leaf_count(&instr->shape)};
  for (int i = 0; i < instr->operand_count; i++)
    l.leaf_count += operands[i].leaf_count;
  l.leaves = hsc__transform_room(f, l.leaf_count);
  l.batched = HSC_NEW_ARRAY(f->cx->arena, bool, l.leaf_count + 1);
  int total = 1 + l.result_count + l.leaf_count;
  int at = 0;
  hsc_instr **initial = hsc__transform_room(f, total);
  hsc_instr **results = hsc__transform_room(f, l.result_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < instr->operand_count; i++) {
    hsc__unpack(&f->b, operands[i].instr, l.leaves + at);
    memcpy(l.batched + at, operands[i].batched, (size_t)operands[i].leaf_count * sizeof(bool));
    at += operands[i].leaf_count;
  }
  if (f->b.status)
    return NULL;
  initial[0] = hsc_build_scalar(&f->b, HSC_TYPE_S32, 0);
  for (int i = 0; i < l.result_count; i++) {
    const hsc_shape *leaf = hsc_shape_leaf(&instr->shape, i);
    if (!hsc_shape_is_array(leaf))
      return hsc_op_not_built(instr->op, "vmap (a result that is no array)");
    hsc_shape stacked = hsc__batched_shape(f, leaf);
    initial[1 + i] = hsc__zeros(&f->b, &stacked);
  }
  for (int i = 0; i < l.leaf_count; i++)
    initial[1 + l.result_count + i] = l.leaves[i];
  hsc_instr *state = hsc_build_tuple(&f->b, total, initial);
  if (f->b.status)
    return NULL;
  hsc_computation *condition = NULL;
  hsc_computation *body = NULL;
  HSC_TRY(build_condition(&l, &state->shape, &condition));
  HSC_TRY(build_body(&l, &state->shape, &body));
  hsc_instr *done = hsc_build_while(&f->b, condition, body, state);
  for (int i = 0; i < l.result_count; i++)
    results[i] = hsc_build_get_tuple_element(&f->b, done, 1 + i);
  hsc__give(f, hsc__pack(&f->b, &instr->shape, results), true, out);
  return NULL;
}
