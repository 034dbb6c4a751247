// reduce_types.c - all values of an element type become another, simpler one.
//
//   bf16[8] everywhere   ->   f32[8] everywhere
#include "transform/reduce/reduce_internal.h"

static const struct {
  hsc_type from, to;
} SIMPLER[] = {
    {HSC_TYPE_C128, HSC_TYPE_C64}, {HSC_TYPE_C64, HSC_TYPE_F32}, {HSC_TYPE_F64, HSC_TYPE_F32},
    {HSC_TYPE_BF16, HSC_TYPE_F32}, {HSC_TYPE_F16, HSC_TYPE_F32}, {HSC_TYPE_S64, HSC_TYPE_S32},
    {HSC_TYPE_U64, HSC_TYPE_U32},  {HSC_TYPE_U32, HSC_TYPE_S32}, {HSC_TYPE_S8, HSC_TYPE_S32},
    {HSC_TYPE_U8, HSC_TYPE_S32},   {HSC_TYPE_S16, HSC_TYPE_S32}, {HSC_TYPE_U16, HSC_TYPE_S32},
};

static bool has_type(const hsc_shape *shape, hsc_type type) {
  if (!hsc_shape_is_tuple(shape))
    return shape->type == type;
  for (int i = 0; i < shape->element_count; i++)
    if (has_type(&shape->elements[i], type))
      return true;
  return false;
}

static hsc_shape with_type(hsc_arena *arena, hsc_shape shape, hsc_type from, hsc_type to) {
  if (!hsc_shape_is_tuple(&shape))
    return shape.type == from ? hsc_shape_with_type(shape, to) : shape;
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, shape.element_count + 1);
  for (int i = 0; elements && i < shape.element_count; i++)
    elements[i] = with_type(arena, shape.elements[i], from, to);
  return hsc_shape_tuple(arena, elements ? shape.element_count : 0, elements);
}

static hsc_status *change(hsc_module *module, hsc_type from, hsc_type to) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!has_type(&instr->shape, from))
        continue;
      instr->shape = with_type(module->arena, instr->shape, from, to);
      if (instr->op == HSC_OP_CONSTANT && !instr->attr.literal.value->elided)
        HSC_TRY(hsc_reduce_value(instr->attr.literal.value, &instr->shape, module->arena,
                                 &instr->attr.literal.value));
    }
  return hsc_arena_status(module->arena);
}

hsc_status *hsc__reduce_types(hsc__reducing *r) {
  for (size_t i = 0; i < HSC_COUNT_OF(SIMPLER); i++) {
    bool there = false;
    HSC_FOR_EACH_COMPUTATION (r->module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        there |= has_type(&instr->shape, SIMPLER[i].from);
    if (there && hsc__reduce_here(r))
      HSC_TRY(change(r->module, SIMPLER[i].from, SIMPLER[i].to));
  }
  return NULL;
}
