// algsimp_constants.c - rules on what is written in the program and on what only carries values:
// constants, iotas, copies, bitcasts, tuples, barriers, maps.
#include "passes/algsimp/algsimp.h"

// ---- constants ----------------------------------------------------------------------------------

// A constant that may become something smaller: an array of several elements whose values are here.
static bool may_shrink(const hsc_instr *instr) {
  const hsc_literal *literal = instr->attr.literal.value;
  return !literal->elided && hsc_shape_is_array(&instr->shape) && instr->shape.rank > 0 &&
         hsc_shape_elements(&instr->shape) >= 2 && literal->data;
}

// Smaller, and it fuses.
HSC_RULE(constant_of_equal) {
  const hsc_literal *literal = instr->attr.literal.value;
  if (!may_shrink(instr))
    return NULL;
  size_t bytes = hsc_type_bytes(instr->shape.type);
  const unsigned char *data = literal->data;
  if (memcmp(data, data + bytes, bytes * (size_t)(hsc_shape_elements(&instr->shape) - 1)) != 0)
    return NULL;
  hsc_literal *one = NULL;
  hsc_shape scalar = hsc_shape_scalar(instr->shape.type);
  b->status = hsc_literal_create(b->module->arena, &scalar, &one);
  if (b->status)
    return NULL;
  memcpy(one->data, data, bytes);
  return hsc__widen(b, hsc_build_constant(b, one), instr);
}

HSC_RULE(constant_as_iota) {
  if (!may_shrink(instr) || instr->shape.rank != 1 || !hsc__is_int(instr) ||
      hsc_type_bits(instr->shape.type) < 8)
    return NULL;
  for (int64_t i = 0; i < instr->shape.dims[0]; i++)
    if (hsc_literal_get_int(instr->attr.literal.value, i) != i)
      return NULL;
  return hsc_build_iota(b, instr->shape, 0);
}

// 0, S, 2 S ... of integers => iota * S: nothing to be read from memory, and it fuses.
HSC_RULE(constant_of_multiples) {
  const hsc_literal *literal = instr->attr.literal.value;
  if (literal->elided || !hsc_shape_is_array(&instr->shape) || instr->shape.rank != 1 ||
      instr->shape.dims[0] < 3 || !literal->data)
    return NULL;
  if (!hsc__is_int(instr) || hsc_type_bits(instr->shape.type) < 32)
    return NULL;
  int64_t step = hsc_literal_get_int(literal, 1);
  if (hsc_literal_get_int(literal, 0) != 0 || step < 2 || step > 1ll << 31)
    return NULL;
  for (int64_t i = 2; i < instr->shape.dims[0]; i++)
    if (hsc_literal_get_int(literal, i) - hsc_literal_get_int(literal, i - 1) != step)
      return NULL;
  hsc_instr *replacement = hsc_build_iota(b, instr->shape, 0);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, replacement,
                          hsc__uniform_constant(b, (double)step, instr));
}

// What a barrier holds and nobody takes out of it drops out.
HSC_RULE(barrier_of_unread) {
  hsc_instr *tuple = instr->operands[0];
  if (tuple->op != HSC_OP_TUPLE || instr->parent->root == instr || tuple->operand_count == 0)
    return NULL;
  bool *used = HSC_NEW_ARRAY(b->module->arena, bool, tuple->operand_count);
  hsc_instr **kept = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, tuple->operand_count);
  hsc_instr **all = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, tuple->operand_count);
  if (!used || !kept || !all)
    return NULL;
  for (int i = 0; i < instr->user_count; i++) {
    if (instr->users[i]->op != HSC_OP_GET_TUPLE_ELEMENT)
      return NULL;
    used[instr->users[i]->attr.index.value] = true;
  }
  int count = 0;
  for (int i = 0; i < tuple->operand_count; i++)
    if (used[i])
      kept[count++] = tuple->operands[i];
  if (count == tuple->operand_count || count == 0)
    return NULL;
  hsc_instr *smaller = hsc_build_tuple(b, count, kept);
  hsc_instr *barrier = hsc_build(b, instr->op, smaller->shape, 1, &smaller);
  for (int i = 0, at = 0; i < tuple->operand_count; i++)
    all[i] = used[i] ? hsc_build_get_tuple_element(b, barrier, at++) : tuple->operands[i];
  return hsc_build_tuple(b, tuple->operand_count, all);
}

HSC_RULE(iota_of_one) {
  return instr->shape.dims[instr->attr.dims.dims.v[0]] == 1 ? hsc__uniform_constant(b, 0, instr)
                                                            : NULL;
}

// ---- what only carries values -------------------------------------------------------------------

// A copy is kept where it may matter whose memory a value is in: as a result of the program, and of
// a parameter that is a result.
HSC_RULE(copy_unneeded) {
  hsc_instr *x = instr->operands[0];
  if (instr->parent->root == instr || !hsc_shape_equal_layout(&x->shape, &instr->shape))
    return NULL;
  for (int i = 0; x->op == HSC_OP_PARAMETER && i < instr->user_count; i++)
    if (instr->users[i]->op == HSC_OP_TUPLE || instr->users[i]->op == HSC_OP_WHILE ||
        instr->users[i]->op == HSC_OP_DYNAMIC_UPDATE_SLICE)
      return NULL;
  return x;
}

HSC_RULE(bitcast_same) {
  hsc_instr *x = instr->operands[0];
  return hsc_shape_equal_layout(&x->shape, &instr->shape) ? x : NULL;
}

HSC_RULE(bitcast_of_bitcast) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_BITCAST ? hsc_build_clone(b, instr, x->operands) : NULL;
}

HSC_RULE(bitcast_convert_same) {
  hsc_instr *x = instr->operands[0];
  return hsc_shape_equal(&x->shape, &instr->shape) ? x : NULL;
}

HSC_RULE(bitcast_convert_there_and_back) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_BITCAST_CONVERT && hsc_shape_equal(&x->operands[0]->shape, &instr->shape)
             ? x->operands[0]
             : NULL;
}

// Of one width.
HSC_RULE(bitcast_convert_of_another) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_BITCAST_CONVERT || !hsc_shape_same_dims(&x->shape, &instr->shape) ||
      !hsc_shape_same_dims(&x->operands[0]->shape, &instr->shape))
    return NULL;
  return hsc_build_clone(b, instr, x->operands);
}

HSC_RULE(element_of_tuple) {
  const hsc_instr *tuple = instr->operands[0];
  return tuple->op == HSC_OP_TUPLE ? tuple->operands[instr->attr.index.value] : NULL;
}

HSC_RULE(map_inline) {
  return hsc__map_is_elementwise(instr) ? hsc__build_mapped(b, instr) : NULL;
}
