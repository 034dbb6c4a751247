// while_util.c - the counting loops that frontends make (fori_loop, scan), recognised.
#include "passes/while_util.h"

static bool integer_constant(const hsc_instr *instr, int64_t *out_value) {
  while (instr->op == HSC_OP_CONVERT || instr->op == HSC_OP_COPY) instr = instr->operands[0];
  if (instr->op != HSC_OP_CONSTANT || instr->shape.rank != 0 || !hsc_type_is_integral(instr->shape.type)) return false;
  if (instr->attr.literal.value->elided) return false;
  *out_value = hsc_literal_get_int(instr->attr.literal.value, 0);
  return true;
}

static bool state_element(const hsc_instr *instr, const hsc_computation *computation, int64_t *out_index) {
  if (instr->op != HSC_OP_GET_TUPLE_ELEMENT || instr->operands[0]->op != HSC_OP_PARAMETER) return false;
  if (instr->operands[0]->parent != computation) return false;
  *out_index = instr->attr.index.value;
  return true;
}

static hsc_direction mirrored(hsc_direction d) {
  switch (d) {
    case HSC_LT: return HSC_GT;
    case HSC_LE: return HSC_GE;
    case HSC_GT: return HSC_LT;
    case HSC_GE: return HSC_LE;
    default: return d;
  }
}

static bool trip_count(hsc_direction direction, int64_t init, int64_t step, int64_t bound, int64_t *out_count) {
  if (step == 0) return false;
  __int128 distance = (__int128)bound - init;
  switch (direction) {
    case HSC_LT: if (step < 0) return false; break;
    case HSC_LE: if (step < 0) return false; distance += 1; break;
    case HSC_GT: if (step > 0) return false; break;
    case HSC_GE: if (step > 0) return false; distance -= 1; break;
    case HSC_NE: if (distance % step != 0 || (distance < 0) != (step < 0)) return false; break;
    default: return false;
  }
  if (step < 0) distance = -distance, step = -step;
  __int128 count = distance <= 0 ? 0 : (distance + step - 1) / step;
  if (count > INT32_MAX) return false;   // may wrap on the way; nobody unrolls or plans such loops anyway
  *out_count = (int64_t)count;
  return true;
}

bool hsc__loop_analyse(const hsc_instr *loop, hsc__loop *out_loop) {
  const hsc_instr *init = loop->operands[0];
  const hsc_computation *condition = loop->called[0], *body = loop->called[1];
  const hsc_instr *compare = condition->root;
  if (init->op != HSC_OP_TUPLE || compare->op != HSC_OP_COMPARE || body->root->op != HSC_OP_TUPLE) return false;
  hsc_direction direction = compare->attr.compare.direction;
  if (integer_constant(compare->operands[1], &out_loop->bound)) {
    if (!state_element(compare->operands[0], condition, &out_loop->tuple_index)) return false;
  } else if (integer_constant(compare->operands[0], &out_loop->bound)) {
    if (!state_element(compare->operands[1], condition, &out_loop->tuple_index)) return false;
    direction = mirrored(direction);
  } else {
    return false;
  }
  int64_t index = out_loop->tuple_index, other;
  if (!integer_constant(init->operands[index], &out_loop->init)) return false;
  const hsc_instr *update = body->root->operands[index];
  if (update->op != HSC_OP_ADD) return false;
  int side = integer_constant(update->operands[1], &out_loop->step) ? 0 : integer_constant(update->operands[0], &out_loop->step) ? 1 : -1;
  if (side < 0 || !state_element(update->operands[side], body, &other) || other != index) return false;
  if (hsc_type_class_of(update->shape.type) == HSC_CLASS_UNSIGNED && (out_loop->init < 0 || out_loop->bound < 0)) return false;
  return trip_count(direction, out_loop->init, out_loop->step, out_loop->bound, &out_loop->trip_count);
}
