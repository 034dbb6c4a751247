// convert_mover.c - data moves in its narrower type: conversions that lose nothing go after a
// movement, conversions that narrow go before it.
//
// Movements: reshape, transpose, slice, reverse, concatenate, pad. Legal always: each element is
// converted once either way; a constant among the operands goes along when it is the same after a
// conversion to the narrower type and back. Worth it when the conversion has no other reader.
// Numbers and complex numbers alike. One walk; chains move from round to round. A narrowing
// conversion stays after a slice, which leaves less to convert.
//
//   before   w = f32[8,4] convert(f16[8,4] x);  ROOT t = f32[4,8] transpose(w), dimensions={1,0}
//   after    t = f16[4,8] transpose(x), dimensions={1,0};  ROOT w = f32[4,8] convert(t)
//
// XLA: xla/hlo/transforms/simplifiers/convert_mover.h
#include <math.h>

#include "passes/manager/passes_internal.h"

enum { MOST_CONSTANT_ELEMENTS = 4096 };

static bool is_movement(hsc_op op) {
  switch (op) {
    case HSC_OP_RESHAPE:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_SLICE:
    case HSC_OP_REVERSE:
    case HSC_OP_CONCATENATE:
    case HSC_OP_PAD:
      return true;
    default:
      return false;
  }
}

static bool is_whole(hsc_type type) {
  return hsc_type_is_integral(type) || type == HSC_TYPE_PRED;
}

// Element i of the constant is the same after a conversion to the type of `there` (a scalar) and
// back.
static bool comes_back(const hsc_literal *value, int64_t i, hsc_literal *there) {
  const int64_t exact = (int64_t)1 << 53;
  hsc_type from = value->shape.type;
  hsc_type to = there->shape.type;
  double number = hsc_literal_get_double(value, i);
  double imag = hsc_literal_get_imag(value, i);
  // convert does not do that
  if (hsc_type_is_complex(from) && !hsc_type_is_complex(to))
    return false;
  if (is_whole(from)) {
    int64_t whole = hsc_literal_get_int(value, i);
    if (is_whole(to)) {
      hsc_literal_set_int(there, 0, whole);
      return hsc_literal_get_int(there, 0) == whole &&
             (whole >= 0 || hsc_type_class_of(from) == hsc_type_class_of(to));
    }
    if (whole < -exact || whole > exact)
      return false;
  } else if (is_whole(to) && (number != floor(number) || fabs(number) > (double)exact ||
                              (number == 0 && signbit(number)))) {
    return false;
  }
  if (hsc_type_is_complex(to))
    hsc_literal_set_complex(there, 0, number, imag);
  else if (is_whole(to))
    hsc_literal_set_int(there, 0, (int64_t)number);
  else
    hsc_literal_set_double(there, 0, number);
  double back = hsc_literal_get_double(there, 0);
  double back_imag = hsc_literal_get_imag(there, 0);
  if (hsc_type_is_complex(from) && hsc_type_is_complex(to) &&
      (back_imag != imag || signbit(back_imag) != signbit(imag)))
    return false;
  return back == number && signbit(back) == signbit(number);
}

static bool survives(const hsc_instr *constant, hsc_type type) {
  const hsc_literal *value = constant->attr.literal.value;
  int64_t count = hsc_shape_elements(&constant->shape);
  hsc_shape scalar = hsc_shape_scalar(type);
  hsc_literal *there = NULL;
  if (value->elided || count > MOST_CONSTANT_ELEMENTS)
    return false;
  hsc_status *status = hsc_literal_create(constant->parent->module->arena, &scalar, &there);
  hsc_status_free(status);  // out of memory: the arena says so in the end
  for (int64_t i = 0; i < count; i++)
    if (!there || !comes_back(value, i, there))
      return false;
  return true;
}

static bool is_convert_with_one_use(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONVERT && instr->user_count == 1 && instr->parent->root != instr &&
         !instr->control_count && !instr->control_successor_count;
}

static bool widening_moves_down(const hsc_instr *instr) {
  if (!is_movement(instr->op))
    return false;
  hsc_type narrow = HSC_TYPE_INVALID;
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *operand = instr->operands[i];
    if (operand->op == HSC_OP_CONSTANT)
      continue;
    if (!is_convert_with_one_use(operand))
      return false;
    hsc_type from = operand->operands[0]->shape.type;
    if (narrow != HSC_TYPE_INVALID && from != narrow)
      return false;
    narrow = from;
  }
  if (narrow == HSC_TYPE_INVALID || hsc_type_bytes(narrow) >= hsc_type_bytes(instr->shape.type))
    return false;
  for (int i = 0; i < instr->operand_count; i++)
    if (instr->operands[i]->op == HSC_OP_CONSTANT && !survives(instr->operands[i], narrow))
      return false;
  return true;
}

static bool narrowing_moves_up(const hsc_instr *instr) {
  if (instr->op != HSC_OP_CONVERT)
    return false;
  const hsc_instr *movement = instr->operands[0];
  if (!is_movement(movement->op) || movement->op == HSC_OP_SLICE || movement->user_count != 1 ||
      movement->parent->root == movement)
    return false;
  return !movement->control_count && !movement->control_successor_count &&
         hsc_type_bytes(instr->shape.type) < hsc_type_bytes(movement->shape.type);
}

static bool matches(const hsc_instr *instr) {
  return widening_moves_down(instr) || narrowing_moves_up(instr);
}

// The movement `instr` of other operands.
static hsc_instr *moved(hsc_builder *b, const hsc_instr *instr, hsc_instr *const *operands) {
  hsc_instr *replacement = hsc_build_clone(b, instr, operands);
  if (!b->status)
    replacement->shape = hsc_shape_with_type(
        hsc_shape_without_layout(b->module->arena, instr->shape), operands[0]->shape.type);
  return replacement;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  bool up = instr->op == HSC_OP_CONVERT;
  const hsc_instr *movement = up ? instr->operands[0] : instr;
  hsc_type narrow = instr->shape.type;
  for (int i = 0; i < movement->operand_count && !up; i++)
    if (movement->operands[i]->op == HSC_OP_CONVERT)
      narrow = movement->operands[i]->operands[0]->shape.type;
  hsc_instr **operands = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, movement->operand_count);
  if (!operands)
    return instr;
  for (int i = 0; i < movement->operand_count; i++) {
    hsc_instr *operand = movement->operands[i];
    operands[i] = up || operand->op == HSC_OP_CONSTANT ? hsc_build_convert(b, narrow, operand)
                                                       : operand->operands[0];
  }
  hsc_instr *replacement = moved(b, movement, operands);
  return up ? replacement : hsc_build_convert(b, instr->shape.type, replacement);
}

hsc_status *hsc__pass_convert_mover(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
