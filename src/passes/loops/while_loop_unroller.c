// while_loop_unroller.c - loops of few trips over elementwise arithmetic on large arrays become
// that arithmetic, one trip behind the other: then it fuses, and what goes on from trip to trip
// never reaches memory. The rounds of a random number generator are such a loop.
//
// Legal for loops whose trips are known. Done for at most MAX_TRIPS trips and MAX_INSTRUCTIONS
// instructions of what comes out, when everything that is done to arrays of more than
// SMALL_ELEMENTS elements is elementwise, or makes them from less. Loops over small arrays alone
// stay: they become one kernel each. Linear in what comes out.
//
//   before   w = (s32[], u32[1024]) while(tuple(zero, x)), 2 trips, body: tuple(i + 1, x * x)
//   after    y = u32[1024] multiply(x, x);  z = u32[1024] multiply(y, y)
//
// XLA: xla/service/while_loop_unroller.h
#include "passes/loops/while_util.h"

enum { MAX_TRIPS = 8, MAX_INSTRUCTIONS = 1024, SMALL_ELEMENTS = 256 };

static bool is_light(const hsc_instr *instr) {
  if (instr->control_count || instr->control_successor_count || hsc_instr_has_effect(instr))
    return false;
  switch (instr->op) {
    case HSC_OP_PARAMETER:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_TUPLE:
      return true;
    case HSC_OP_CONSTANT:
    case HSC_OP_BROADCAST:
    case HSC_OP_IOTA:
    case HSC_OP_RESHAPE:
    case HSC_OP_BITCAST_CONVERT:
    case HSC_OP_COPY:
      return hsc_shape_is_array(&instr->shape);
    case HSC_OP_SLICE:
    case HSC_OP_DYNAMIC_SLICE:
    case HSC_OP_CONCATENATE:
      return hsc_shape_elements(&instr->operands[0]->shape) <= SMALL_ELEMENTS &&
             hsc_shape_elements(&instr->shape) <= SMALL_ELEMENTS;
    default:
      return instr->called_count == 0 && (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) &&
             instr->op != HSC_OP_STOCHASTIC_CONVERT;
  }
}

static bool unrolls(const hsc_instr *loop) {
  hsc__loop counted;
  const hsc_computation *body = loop->called[1];
  bool large = false;
  if (loop->control_count || loop->control_successor_count || loop->operands[0]->op != HSC_OP_TUPLE)
    return false;
  // Nothing inside is changed, so other callers do not matter.
  if (!hsc__loop_goes_by_element(loop) || !hsc__only_elements_read(loop, NULL) ||
      !hsc__loop_analyse(loop, &counted))
    return false;
  if (counted.trip_count < 1 || counted.trip_count > MAX_TRIPS ||
      counted.trip_count * body->instr_count > MAX_INSTRUCTIONS)
    return false;
  HSC_FOR_EACH_INSTR_IN (loop->called[0], instr)
    if (hsc_instr_has_effect(instr))
      return false;
  HSC_FOR_EACH_INSTR_IN (body, instr) {
    if (!is_light(instr))
      return false;
    large = large || (hsc_shape_is_array(&instr->shape) && instr->op != HSC_OP_GET_TUPLE_ELEMENT &&
                      hsc_shape_elements(&instr->shape) > SMALL_ELEMENTS);
  }
  return large;
}

hsc_status *hsc__pass_while_loop_unroller(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, loop) {
      hsc__loop counted;
      if (loop->op != HSC_OP_WHILE || !unrolls(loop) || !hsc__loop_analyse(loop, &counted))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_instr *state = loop->operands[0];
      for (int64_t t = 0; t < counted.trip_count; t++) {
        HSC_TRY(hsc__inline(loop->called[1], loop, &state, &state));
      }
      HSC_TRY(hsc__replace_effects_too(loop, state));
    }
  }
  return NULL;
}
