// scan.c - f in a while loop: state is carried, the state before every step and the results that
// feed nothing are stacked.
//
// The loop's tuple: (step, state leaves, stacks of the state, stacks of what feeds nothing,
// arguments that stay as they are). The layout is jax.lax.scan's, so that the same programs come
// out alike.
#include "transform/transform_internal.h"

typedef struct scan {
  hsc__rewrite r;
  int64_t count;
  hsc_arena *arena;
  // leaves of the result; parameters; their leaves
  int result_count, parameter_count, leaf_count;
  const int32_t *feeds;  // [result_count]
  // the leaf of which every step gets a row because nothing is fed, -1 = none
  int32_t data;
  // [leaf_count] which result feeds the leaf, -1 = none
  int32_t *result_of_leaf;
  bool *per_step;                 // [leaf_count]
  const hsc_shape **leaf_shapes;  // [leaf_count]
  bool history;
  // Places in the loop's tuple, -1 = not there.
  int32_t *state_at, *history_at, *stack_at;  // [result_count]
  int32_t *constant_at;                       // [leaf_count]
  int32_t tuple_count;
} scan;

static hsc_status *plan(scan *s, const hsc_transform_options *options) {
  const hsc_computation *from = s->r.from;
  s->parameter_count = from->parameter_count;
  for (int i = 0; i < from->parameter_count; i++)
    s->leaf_count += hsc_shape_leaf_count(&from->parameters[i]->shape);
  s->result_of_leaf = HSC_NEW_ARRAY(s->arena, int32_t, s->leaf_count + 1);
  s->per_step = HSC_NEW_ARRAY(s->arena, bool, s->leaf_count + 1);
  s->leaf_shapes = HSC_NEW_ARRAY(s->arena, const hsc_shape *, s->leaf_count + 1);
  s->constant_at = HSC_NEW_ARRAY(s->arena, int32_t, s->leaf_count + 1);
  s->state_at = HSC_NEW_ARRAY(s->arena, int32_t, s->result_count + 1);
  s->history_at = HSC_NEW_ARRAY(s->arena, int32_t, s->result_count + 1);
  s->stack_at = HSC_NEW_ARRAY(s->arena, int32_t, s->result_count + 1);
  HSC_TRY(hsc_arena_status(s->arena));
  for (int i = 0, at = 0; i < from->parameter_count; i++) {
    int leaves = hsc_shape_leaf_count(&from->parameters[i]->shape);
    for (int k = 0; k < leaves; k++, at++) {
      s->leaf_shapes[at] = hsc_shape_leaf(&from->parameters[i]->shape, k);
      s->result_of_leaf[at] = -1;
      if (!hsc_shape_is_array(s->leaf_shapes[at]))
        return HSC_ERR(FAILED_PRECONDITION,
                       "scan: parameter %d is no array and cannot be carried through a loop", i);
    }
  }
  for (int k = 0; k < s->result_count; k++) {
    if (!hsc_shape_is_array(hsc_shape_leaf(&from->root->shape, k)))
      return HSC_ERR(FAILED_PRECONDITION,
                     "scan: result %d is no array and cannot be carried through a loop", k);
    if (s->feeds[k] >= 0)
      s->result_of_leaf[s->feeds[k]] = k;
  }
  for (int i = 0; options && i < options->per_step_count; i++) {
    int64_t leaf = options->per_step[i];
    if (leaf < 0 || leaf >= s->leaf_count)
      return HSC_ERR(INVALID_ARGUMENT,
                     "scan: argument %lld: the program has %d parameters, counted from 0",
                     (long long)leaf, s->leaf_count);
    if (s->result_of_leaf[leaf] >= 0)
      return HSC_ERR(
          INVALID_ARGUMENT,
          "scan: argument %lld is fed by result %d, so it cannot have a row for every step",
          (long long)leaf, (int)s->result_of_leaf[leaf]);
    s->per_step[leaf] = true;
  }
  if (s->data >= 0)
    s->per_step[s->data] = true;
  int32_t at = 1;  // after the step
  for (int k = 0; k < s->result_count; k++)
    s->state_at[k] = s->feeds[k] >= 0 ? at++ : -1;
  for (int k = 0; k < s->result_count; k++)
    s->history_at[k] = s->feeds[k] >= 0 && s->history ? at++ : -1;
  for (int k = 0; k < s->result_count; k++)
    s->stack_at[k] = s->feeds[k] < 0 ? at++ : -1;
  for (int i = 0; i < s->leaf_count; i++)
    s->constant_at[i] = s->result_of_leaf[i] < 0 ? at++ : -1;
  s->tuple_count = at;
  return NULL;
}

static hsc_status *build_condition(scan *s,
                                   const hsc_shape *state,
                                   hsc_computation **out_condition) {
  hsc_builder b;
  hsc_builder_init(&b, s->r.module, "scan_condition");
  hsc_instr *tuple = hsc_build_parameter(&b, 0, *state, "state");
  hsc_instr *step = hsc_build_get_tuple_element(&b, tuple, 0);
  hsc_instr *more =
      hsc_build_compare(&b, HSC_LT, step, hsc_build_scalar(&b, HSC_TYPE_S32, (double)s->count));
  return hsc_builder_finish(&b, more, out_condition);
}

static hsc_status *build_body(scan *s, const hsc_shape *state, hsc_computation **out_body) {
  hsc_builder b;
  hsc_builder_init(&b, s->r.module, "scan_body");
  hsc_instr *tuple = hsc_build_parameter(&b, 0, *state, "state");
  hsc_instr **elements = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->tuple_count);
  hsc_instr **next = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->tuple_count);
  hsc_instr **leaves = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->leaf_count + 1);
  hsc_instr **arguments = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->parameter_count + 1);
  hsc_instr **results = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->result_count + 1);
  hsc_instr *root = NULL;
  hsc_status *status = hsc_arena_status(s->arena);
  if (!status) {
    for (int i = 0; i < s->tuple_count; i++)
      next[i] = elements[i] = hsc_build_get_tuple_element(&b, tuple, i);
    for (int i = 0; i < s->leaf_count; i++) {
      leaves[i] = s->result_of_leaf[i] >= 0 ? elements[s->state_at[s->result_of_leaf[i]]]
                                            : elements[s->constant_at[i]];
      if (s->per_step[i])
        leaves[i] = hsc__row(&b, leaves[i], elements[0]);
    }
    for (int i = 0, at = 0; i < s->parameter_count; i++) {
      arguments[i] = hsc__pack(&b, &s->r.from->parameters[i]->shape, leaves + at);
      at += hsc_shape_leaf_count(&s->r.from->parameters[i]->shape);
    }
    status = hsc__transform_inline(&b, s->r.from, arguments, &root);
  }
  if (status) {
    hsc_status_free(hsc_builder_finish(&b, NULL, NULL));
    return status;
  }
  hsc__unpack(&b, root, results);
  next[0] = hsc_build_binary(&b, HSC_OP_ADD, elements[0], hsc_build_scalar(&b, HSC_TYPE_S32, 1));
  for (int k = 0; k < s->result_count; k++) {
    if (s->state_at[k] >= 0)
      next[s->state_at[k]] = results[k];
    if (s->history_at[k] >= 0)
      next[s->history_at[k]] =
          hsc__set_row(&b, elements[s->history_at[k]], elements[s->state_at[k]], elements[0]);
    if (s->stack_at[k] >= 0)
      next[s->stack_at[k]] = hsc__set_row(&b, elements[s->stack_at[k]], results[k], elements[0]);
  }
  return hsc_builder_finish(&b, hsc_build_tuple(&b, s->tuple_count, next), out_body);
}

static hsc_status *build(scan *s, hsc_instr **out_root) {
  hsc_builder *b = &s->r.b;
  hsc_instr **leaves = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->leaf_count + 1);
  hsc_instr **initial = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->tuple_count);
  hsc_instr **results = HSC_NEW_ARRAY(s->arena, hsc_instr *, s->tuple_count + 1);
  HSC_TRY(hsc_arena_status(s->arena));
  hsc__rewrite_parameters_with_rows(&s->r, s->per_step, s->count, leaves);
  initial[0] = hsc_build_scalar(b, HSC_TYPE_S32, 0);
  for (int k = 0; k < s->result_count; k++) {
    hsc_shape stacked = hsc__stacked_shape(s->r.module->arena,
                                           hsc_shape_leaf(&s->r.from->root->shape, k), s->count);
    if (s->state_at[k] >= 0)
      initial[s->state_at[k]] = leaves[s->feeds[k]];
    if (s->history_at[k] >= 0)
      initial[s->history_at[k]] = hsc__zeros(b, &stacked);
    if (s->stack_at[k] >= 0)
      initial[s->stack_at[k]] = hsc__zeros(b, &stacked);
  }
  for (int i = 0; i < s->leaf_count; i++)
    if (s->constant_at[i] >= 0)
      initial[s->constant_at[i]] = leaves[i];
  hsc_instr *state = hsc_build_tuple(b, s->tuple_count, initial);
  if (b->status)
    return NULL;
  hsc_computation *condition = NULL;
  hsc_computation *body = NULL;
  HSC_TRY(build_condition(s, &state->shape, &condition));
  HSC_TRY(build_body(s, &state->shape, &body));
  hsc_instr *loop = hsc_build_while(b, condition, body, state);
  int count = 0;
  const int32_t *const places[] = {s->state_at, s->history_at, s->stack_at};
  for (int pass = 0; pass < 3; pass++)
    for (int k = 0; k < s->result_count; k++) {
      int32_t at = places[pass][k];
      if (at >= 0)
        results[count++] = hsc_build_get_tuple_element(b, loop, at);
    }
  *out_root = hsc_build_tuple(b, count, results);
  return NULL;
}

hsc_status *hsc_transform_scan(const hsc_module *module,
                               int64_t count,
                               const hsc_transform_options *options,
                               hsc_module **out_module) {
  *out_module = NULL;
  if (count < 1 || count > INT32_MAX)
    return HSC_ERR(INVALID_ARGUMENT, "scan: a count of %lld; 1 to %d are possible",
                   (long long)count, INT32_MAX);
  scan s = {.count = count, .history = !options || !options->no_history};
  hsc_instr *root = NULL;
  int32_t *feeds = NULL;
  HSC_TRY(hsc_arena_create(&s.arena));
  hsc_status *status =
      hsc_transform_feedback(module, options, s.arena, &feeds, &s.result_count, &s.data);
  s.feeds = feeds;
  if (!status)
    status = hsc__rewrite_begin(module, "_scan", &s.r);
  if (!status) {
    status = plan(&s, options);
    if (!status)
      status = build(&s, &root);
    status = hsc__rewrite_end(&s.r, root, false, status, out_module);
  }
  hsc_arena_destroy(s.arena);
  return status ? hsc_status_note(status, "while: making a loop of %s", module->name) : NULL;
}
