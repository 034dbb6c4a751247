// trip_count.c - how often a while runs, when that can be known before it runs.
//
// Either a pass has written it down (backend_config={"known_trip_count":{"n":"3"}}), or the loop
// has the form that counted loops have:
//   init   tuple(..., constant a, ...)   condition
//      compare(get-tuple-element i, constant b), direction=LT
//   body   tuple(..., add(get-tuple-element i, constant c), ...)
//      with c > 0: max(0, ceil((b - a) / c)) trips
#include <stdlib.h>

#include "hlo/ir/hlo.h"

static const hsc_instr *through_copies(const hsc_instr *instr) {
  while (instr->op == HSC_OP_COPY || instr->op == HSC_OP_OPT_BARRIER ||
         (instr->op == HSC_OP_RESHAPE && hsc_shape_is_scalar(&instr->shape)))
    instr = instr->operands[0];
  return instr;
}

static bool constant_of(const hsc_instr *instr, int64_t *out_value) {
  instr = through_copies(instr);
  if (instr->op != HSC_OP_CONSTANT || !hsc_shape_is_scalar(&instr->shape) ||
      !hsc_type_is_integral(instr->shape.type))
    return false;
  *out_value = hsc_literal_get_int(instr->attr.literal.value, 0);
  return true;
}

static bool is_element(const hsc_instr *instr, const hsc_instr *parameter, int64_t *out_index) {
  instr = through_copies(instr);
  if (instr->op != HSC_OP_GET_TUPLE_ELEMENT || instr->operands[0] != parameter)
    return false;
  *out_index = instr->attr.index.value;
  return true;
}

static int64_t written_trip_count(const hsc_instr *instr) {
  const char *at = instr->backend_config ? strstr(instr->backend_config, "known_trip_count") : NULL;
  if (!at)
    return -1;
  at = strstr(at, "\"n\"");
  if (!at)
    return -1;
  at += 3;
  while (*at == ' ' || *at == ':' || *at == '"')
    at++;
  char *end;
  long long count = strtoll(at, &end, 10);
  return end == at || count < 0 ? -1 : count;
}

// "for (i = start; i < bound; i += step)": i is one element of the state, which the condition
// compares with a constant and the body raises by one.
typedef struct counter {
  int64_t start, bound, step;
  const hsc_shape *shape;
} counter;

static bool find_counter(const hsc_instr *loop, counter *out) {
  const hsc_computation *condition = loop->called[0];
  const hsc_computation *body = loop->called[1];
  const hsc_instr *test = through_copies(condition->root);
  const hsc_instr *init = loop->operands[0];
  const hsc_instr *next = body->root;
  int64_t index, own;
  if (test->op != HSC_OP_COMPARE || test->attr.compare.direction != HSC_LT)
    return false;
  if (!is_element(test->operands[0], condition->parameters[0], &index) ||
      !constant_of(test->operands[1], &out->bound))
    return false;
  if (init->op != HSC_OP_TUPLE || !constant_of(init->operands[index], &out->start) ||
      next->op != HSC_OP_TUPLE)
    return false;
  const hsc_instr *add = through_copies(next->operands[index]);
  if (add->op != HSC_OP_ADD || !is_element(add->operands[0], body->parameters[0], &own) ||
      own != index)
    return false;
  out->shape = &add->shape;
  return constant_of(add->operands[1], &out->step);
}

int64_t hsc_loop_trip_count(const hsc_instr *instr) {
  int64_t written = written_trip_count(instr);
  if (written >= 0)
    return written;
  counter c;
  if (instr->called_count != 2 || !instr->called[0]->root || !instr->called[1]->root ||
      !find_counter(instr, &c))
    return -1;
  // The counter must not wrap before it reaches the bound.
  if (c.step <= 0 || c.step > 1 << 20 || c.start < -((int64_t)1 << 40) ||
      c.bound > (int64_t)1 << 40)
    return -1;
  int bits = hsc_type_bits(c.shape->type);
  bool is_signed = hsc_type_class_of(c.shape->type) == HSC_CLASS_SIGNED;
  int64_t largest = (int64_t)1 << 47;
  if (bits < 48)
    largest = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
  if (c.bound <= c.start)
    return 0;
  return c.bound > largest - c.step ? -1 : (c.bound - c.start + c.step - 1) / c.step;
}
