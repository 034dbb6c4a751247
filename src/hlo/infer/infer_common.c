// infer_common.c - the checks and shapes that the rules of shape inference are made of.
#include "base/text/text.h"
#include "hlo/infer/infer_internal.h"

hsc_status *hsc__infer_error(const hsc_instr *instr, const char *format, ...) {
  char text[768];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return HSC_ERR(INVALID_ARGUMENT, "%s: %s", hsc_op_text(instr->op), text);
}

const char *hsc__shape_text(hsc_arena *arena, const hsc_shape *shape) {
  hsc_bytes bytes = {0};
  hsc_shape_print(shape, false, &bytes);
  const char *text = hsc_arena_strdup(arena, hsc_bytes_text(&bytes));
  hsc_bytes_deinit(&bytes);
  return text ? text : "?";
}

hsc_status *hsc__want_array(const hsc_instr *instr, int operand) {
  const hsc_shape *shape = hsc__operand_shape(instr, operand);
  if (hsc_shape_is_array(shape))
    return NULL;
  return hsc__infer_error(instr, "operand %d, %%%s, is a %s; it must be an array", operand,
                          instr->operands[operand]->name, hsc_type_text(shape->type));
}

hsc_status *hsc__want_operands(const hsc_instr *instr, int at_least) {
  if (instr->operand_count >= at_least)
    return NULL;
  return hsc__infer_error(instr, "takes at least %d operand%s, has %d", at_least,
                          hsc_plural((double)at_least, "", "s"), instr->operand_count);
}

hsc_status *hsc__want_called(const hsc_instr *instr, int count) {
  if (instr->called_count == count)
    return NULL;
  return hsc__infer_error(instr, "calls %d computation%s; it has %d", count,
                          hsc_plural((double)count, "", "s"), instr->called_count);
}

hsc_status *hsc__want_distinct_dims(
    hsc_arena *arena, const hsc_instr *instr, const char *what, hsc_dims dims, int rank) {
  (void)arena;
  uint64_t seen = 0;
  for (int i = 0; i < dims.count; i++) {
    if (dims.v[i] < 0 || dims.v[i] >= rank)
      return hsc__infer_error(instr, "%s has dimension %lld, which is not in [0, %d)", what,
                              (long long)dims.v[i], rank);
    if (rank <= 64 && seen >> dims.v[i] & 1)
      return hsc__infer_error(instr, "%s names dimension %lld twice", what, (long long)dims.v[i]);
    if (rank <= 64)
      seen |= 1ull << dims.v[i];
  }
  return NULL;
}

hsc_status *hsc__want_parameters(const hsc_instr *instr, int called, int count) {
  const hsc_computation *computation = instr->called[called];
  if (computation->parameter_count != count)
    return hsc__infer_error(instr, "computation %%%s takes %d parameters; it is given %d",
                            computation->name, computation->parameter_count, count);
  for (int i = 0; i < count; i++)
    if (!computation->parameters[i])
      return hsc__infer_error(instr, "computation %%%s has no parameter %d", computation->name, i);
  return NULL;
}

hsc_status *hsc__want_parameter_shape(
    hsc_arena *arena, const hsc_instr *instr, int called, int parameter, const hsc_shape *shape) {
  const hsc_instr *wanted = instr->called[called]->parameters[parameter];
  if (hsc_shape_equal(&wanted->shape, shape))
    return NULL;
  return hsc__infer_error(instr, "parameter %d of computation %%%s is %s; it is given %s",
                          parameter, instr->called[called]->name,
                          hsc__shape_text(arena, &wanted->shape), hsc__shape_text(arena, shape));
}

hsc_shape hsc__shape_of_dims(hsc_type type, int rank, const int64_t *dims) {
  return (hsc_shape){.type = type, .rank = rank, .dims = dims};
}

int64_t *hsc__new_dims(hsc_arena *arena, int rank) {
  return HSC_NEW_ARRAY(arena, int64_t, rank < 1 ? 1 : rank);
}

hsc_status *hsc__tuple_of_operands(hsc_arena *arena,
                                   const hsc_instr *instr,
                                   int count,
                                   hsc_shape *out_shape) {
  if (count == 1) {
    *out_shape = *hsc__operand_shape(instr, 0);
    return NULL;
  }
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, count);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++)
    elements[i] = *hsc__operand_shape(instr, i);
  *out_shape = hsc_shape_tuple_over(count, elements);
  return NULL;
}
