// convert_mover.c - data moves in its narrower type: conversions that lose nothing go behind a movement, conversions that narrow go before it.
//
// Movements: reshape, transpose, slice, reverse, broadcast, concatenate of operands all widened from one type. Legal always: each element is converted
// once either way. Worth it when the conversion has no other reader. One walk; chains move from round to round.
//
//   before   w = f32[8,4] convert(f16[8,4] x);  ROOT t = f32[4,8] transpose(w), dimensions={1,0}
//   after    t = f16[4,8] transpose(x), dimensions={1,0};  ROOT w = f32[4,8] convert(t)
//
// XLA: xla/hlo/transforms/simplifiers/convert_mover.h
#include "passes/passes_internal.h"

static bool is_movement(hsc_op op) {
  switch (op) {
    case HSC_OP_RESHAPE: case HSC_OP_TRANSPOSE: case HSC_OP_SLICE: case HSC_OP_REVERSE: case HSC_OP_CONCATENATE: return true;
    default: return false;
  }
}

// Every value of `from` is one of `to`, in less storage.
static bool widens(hsc_type from, hsc_type to) {
  hsc_type_class a = hsc_type_class_of(from), b = hsc_type_class_of(to);
  if (hsc_type_bytes(from) >= hsc_type_bytes(to)) return false;
  if (a == HSC_CLASS_PRED) return b == HSC_CLASS_FLOAT || b == HSC_CLASS_SIGNED || b == HSC_CLASS_UNSIGNED;
  if (a == b && (a == HSC_CLASS_SIGNED || a == HSC_CLASS_UNSIGNED)) return true;
  if (a == HSC_CLASS_FLOAT && b == HSC_CLASS_FLOAT) return to == HSC_TYPE_F64 || (to == HSC_TYPE_F32 && hsc_type_bits(from) <= 16);
  return false;
}

static bool is_lone_convert(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONVERT && instr->user_count == 1 && instr->parent->root != instr && !instr->control_count && !instr->control_successor_count;
}

static bool widening_moves_down(const hsc_instr *instr) {
  if (!is_movement(instr->op) || instr->operand_count == 0) return false;
  hsc_type narrow = HSC_TYPE_INVALID;
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *operand = instr->operands[i];
    if (!is_lone_convert(operand)) return false;
    hsc_type from = operand->operands[0]->shape.type;
    if (!widens(from, operand->shape.type) || (i > 0 && from != narrow)) return false;
    narrow = from;
  }
  return true;
}

static bool narrowing_moves_up(const hsc_instr *instr) {
  if (instr->op != HSC_OP_CONVERT) return false;
  const hsc_instr *movement = instr->operands[0];
  if (!is_movement(movement->op) || movement->op == HSC_OP_CONCATENATE || movement->user_count != 1 || movement->parent->root == movement) return false;
  if (movement->control_count || movement->control_successor_count) return false;
  // A slice would leave less to convert behind it.
  return movement->op != HSC_OP_SLICE && hsc_type_bytes(instr->shape.type) < hsc_type_bytes(movement->shape.type);
}

static bool matches(const hsc_instr *instr) { return widening_moves_down(instr) || narrowing_moves_up(instr); }

// The movement `instr` of other operands.
static hsc_instr *moved(hsc_builder *b, const hsc_instr *instr, hsc_instr *const *operands) {
  hsc_instr *by = hsc_build_clone(b, instr, operands);
  if (!b->status) by->shape = hsc_shape_with_type(hsc_shape_without_layout(b->module->arena, instr->shape), operands[0]->shape.type);
  return by;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  if (instr->op == HSC_OP_CONVERT) {
    hsc_instr *narrow = hsc_build_convert(b, instr->shape.type, instr->operands[0]->operands[0]);
    return moved(b, instr->operands[0], &narrow);
  }
  hsc_instr **operands = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, instr->operand_count);
  if (!operands) return instr;
  for (int i = 0; i < instr->operand_count; i++) operands[i] = instr->operands[i]->operands[0];
  return hsc_build_convert(b, instr->shape.type, moved(b, instr, operands));
}

hsc_status *hsc__pass_convert_mover(hsc_module *module, hsc_pass_context *cx) { return hsc__rewrite_each(module, cx, matches, rewrite); }
