// pass_loop.c - loops that passes build: a counter and any number of values.
#include "passes/manager/pass_loop.h"

enum { MAX_STATE = 16 };

hsc_instr *hsc__build_index(hsc_builder *b, int64_t value) {
  return hsc_build_scalar(b, HSC_TYPE_S32, (double)value);
}

static hsc_computation *finish(hsc_builder *b, hsc_builder *body, hsc_instr *root) {
  hsc_computation *computation = NULL;
  hsc_status *status = hsc_builder_finish(body, root, &computation);
  if (status && !b->status)
    b->status = status;
  else
    hsc_status_free(status);
  return computation;
}

void hsc__build_counted_loop(
    hsc_builder *b, int64_t trips, int count, hsc_instr **state, hsc__loop_step step, void *user) {
  hsc_instr *inside[MAX_STATE + 1];
  hsc_shape shapes[MAX_STATE + 1];
  if (b->status || count > MAX_STATE)
    return;
  inside[0] = hsc__build_index(b, 0);
  memcpy(inside + 1, state, (size_t)count * sizeof *state);
  for (int i = 0; i <= count; i++)
    shapes[i] = inside[i]->shape;
  hsc_instr *init = hsc_build_tuple(b, count + 1, inside);
  hsc_shape shape = hsc_shape_tuple(b->module->arena, count + 1, shapes);
  hsc_builder condition, body;
  hsc_builder_init(&condition, b->module, "condition");
  hsc_instr *tuple = hsc_build_parameter(&condition, 0, shape, "state");
  hsc_instr *end = hsc__build_index(&condition, trips);
  hsc_instr *trip = hsc_build_get_tuple_element(&condition, tuple, 0);
  hsc_instr *more = hsc_build_compare(&condition, HSC_LT, trip, end);
  hsc_computation *condition_computation = finish(b, &condition, more);
  hsc_builder_init(&body, b->module, "body");
  tuple = hsc_build_parameter(&body, 0, shape, "state");
  for (int i = 0; i <= count; i++)
    inside[i] = hsc_build_get_tuple_element(&body, tuple, i);
  step(&body, inside[0], inside + 1, user);
  inside[0] = hsc_build_binary(&body, HSC_OP_ADD, inside[0], hsc__build_index(&body, 1));
  hsc_computation *body_computation = finish(b, &body, hsc_build_tuple(&body, count + 1, inside));
  if (b->status)
    return;
  hsc_instr *loop = hsc_build_while(b, condition_computation, body_computation, init);
  for (int i = 0; i < count; i++)
    state[i] = hsc_build_get_tuple_element(b, loop, i + 1);
}
