// eval_control.c - calls, loops, branches, tuples, and the start/done pairs of asynchronous ops
// (which simply run at their start).
#include "hlo/eval/eval_internal.h"

// A reference for a callee: the operand's own when nobody else has one (it is then gone from
// `operands`), so that the callee may overwrite it.
static hsc__value *hand_over(hsc__value **operand) {
  hsc__value *value = *operand;
  if (value->refs > 1)
    return hsc__value_retain(value);
  *operand = NULL;
  return value;
}

static hsc_status *call(hsc__eval *cx,
                        const hsc_computation *computation,
                        int count,
                        hsc__value **operands,
                        hsc__value **out_value) {
  hsc__value **arguments = hsc_alloc((size_t)count * sizeof(*arguments));
  if (!arguments)
    return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++)
    arguments[i] = hand_over(&operands[i]);
  hsc_status *status = hsc__eval_run(cx, computation, count, arguments, out_value);
  hsc_free(arguments);
  return status;
}

hsc_status *hsc__eval_call(hsc__eval *cx,
                           const hsc_instr *instr,
                           hsc__value **operands,
                           hsc__value **out_value) {
  bool is_fusion = instr->op == HSC_OP_FUSION;
  cx->fusion_depth += is_fusion;
  hsc_status *status = call(cx, instr->called[0], instr->operand_count, operands, out_value);
  cx->fusion_depth -= is_fusion;
  return status;
}

hsc_status *hsc__eval_while(hsc__eval *cx,
                            const hsc_instr *instr,
                            hsc__value **operands,
                            hsc__value **out_value) {
  const hsc_computation *condition = instr->called[0];
  const hsc_computation *body = instr->called[1];
  hsc__value *state = hand_over(&operands[0]);
  for (;;) {
    hsc__value *argument = hsc__value_retain(state);
    hsc__value *go_on = NULL;
    hsc_status *status = hsc__eval_run(cx, condition, 1, &argument, &go_on);
    bool more = !status && go_on->data[0];
    hsc__value_release(go_on);
    if (status) {
      hsc__value_release(state);
      return status;
    }
    if (!more)
      break;
    if (cx->work)
      cx->work->trips++;
    argument = state;
    state = NULL;
    HSC_TRY(hsc__eval_run(cx, body, 1, &argument, &state));
  }
  *out_value = state;
  return NULL;
}

hsc_status *hsc__eval_conditional(hsc__eval *cx,
                                  const hsc_instr *instr,
                                  hsc__value **operands,
                                  hsc__value **out_value) {
  int64_t branch;
  if (operands[0]->shape.type == HSC_TYPE_PRED) {
    branch = operands[0]->data[0] ? 0 : 1;  // true first
  } else {
    branch = hsc__get_int(operands[0], 0);
    // out of range is the last
    if (branch < 0 || branch >= instr->called_count)
      branch = instr->called_count - 1;
  }
  if (branch + 1 >= instr->operand_count)
    return HSC_ERR(INVALID_ARGUMENT, "conditional: branch %lld has no operand", (long long)branch);
  return call(cx, instr->called[branch], 1, &operands[branch + 1], out_value);
}

hsc_status *hsc__eval_tuple(hsc__eval *cx,
                            const hsc_instr *instr,
                            hsc__value **operands,
                            hsc__value **out_value) {
  (void)cx;
  return hsc__value_tuple(&instr->shape, operands, out_value);
}

hsc_status *hsc__eval_get_tuple_element(hsc__eval *cx,
                                        const hsc_instr *instr,
                                        hsc__value **operands,
                                        hsc__value **out_value) {
  (void)cx;
  *out_value = hsc__value_retain(operands[0]->elements[instr->attr.index.value]);
  return NULL;
}

hsc_status *hsc__eval_after_all(hsc__eval *cx,
                                const hsc_instr *instr,
                                hsc__value **operands,
                                hsc__value **out_value) {
  (void)cx;
  (void)operands;
  return hsc__value_array(&instr->shape, out_value);
}

// ---- asynchronous pairs -------------------------------------------------------------------------

// async-start's shape is ((operands...), result, contexts...); async-done takes element 1.
hsc_status *hsc__eval_async_start(hsc__eval *cx,
                                  const hsc_instr *instr,
                                  hsc__value **operands,
                                  hsc__value **out_value) {
  if (!hsc_shape_is_tuple(&instr->shape) || instr->shape.element_count < 2)
    return HSC_ERR(INVALID_ARGUMENT,
                   "async-start: its shape is not a tuple of operands and result");
  hsc__value *result = NULL;
  hsc__value *given = NULL;
  hsc__value *all = NULL;
  hsc_status *status = NULL;
  if (!hsc_shape_is_tuple(&instr->shape.elements[0]) ||
      instr->shape.elements[0].element_count != instr->operand_count || instr->called_count != 1 ||
      instr->called[0]->parameter_count != instr->operand_count)
    return HSC_ERR(
        INVALID_ARGUMENT,
        "async-start: operands, shape and computation have different numbers of parameters");
  for (int32_t i = 0; i < instr->operand_count; i++)
    if (!hsc_shape_equal(&instr->called[0]->parameters[i]->shape, &instr->operands[i]->shape))
      return HSC_ERR(
          INVALID_ARGUMENT,
          "async-start: operand %d does not have the shape of its computation's parameter", (int)i);
  HSC_GOTO(hsc__value_zeros(&instr->shape, &all));
  // first: the call may take the operands
  HSC_GOTO(hsc__value_tuple(&instr->shape.elements[0], operands, &given));
  HSC_GOTO(call(cx, instr->called[0], instr->operand_count, operands, &result));
  hsc__value_release(all->elements[0]);
  all->elements[0] = given;
  given = NULL;
  hsc__value_release(all->elements[1]);
  all->elements[1] = result;
  result = NULL;
  *out_value = all;
  all = NULL;
done:
  hsc__value_release(result);
  hsc__value_release(given);
  hsc__value_release(all);
  return status;
}

// Also of copy-start (destination, source, context), all-gather-start (operand, result) and
// collective-permute-start (operand, result, ...): the element with the shape of the result.
hsc_status *hsc__eval_async_done(hsc__eval *cx,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  (void)cx;
  int element = instr->op == HSC_OP_COPY_DONE ? 0 : 1;
  if (!operands[0]->elements || operands[0]->shape.element_count <= element)
    return HSC_ERR(INVALID_ARGUMENT, "%s: its operand is not the tuple of a start",
                   hsc_op_text(instr->op));
  *out_value = hsc__value_retain(operands[0]->elements[element]);
  return NULL;
}

hsc_status *hsc__eval_copy_start(hsc__eval *cx,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  (void)cx;
  if (!hsc_shape_is_tuple(&instr->shape) || instr->shape.element_count < 2)
    return HSC_ERR(INVALID_ARGUMENT, "copy-start: its shape is not (destination, source, context)");
  HSC_TRY(hsc__value_zeros(&instr->shape, out_value));
  for (int i = 0; i < 2; i++) {
    hsc__value_release((*out_value)->elements[i]);
    (*out_value)->elements[i] = hsc__value_retain(operands[0]);
  }
  return NULL;
}
