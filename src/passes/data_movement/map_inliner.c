// map_inliner.c - a map of an elementwise computation becomes the same instructions on whole
// arrays, which fuse with their neighbours.
//
// Legal when every instruction of the computation is elementwise or a constant, and the map has an
// operand to take dimensions from. Cost: the instructions of the computation, once for each map.
//
//   before   ROOT m = f32[64] map(x, y), dimensions={0}, to_apply=scaled
//      scaled: multiply(add(p, q), 2)
//   after    a = f32[64] add(x, y);  ROOT m = f32[64] multiply(a, broadcast(2))
//
// XLA: xla/service/map_inliner.h
#include "passes/manager/passes_internal.h"

bool hsc__map_is_elementwise(const hsc_instr *map) {
  if (map->op != HSC_OP_MAP || map->operand_count == 0 || !hsc_shape_is_array(&map->shape))
    return false;
  for (const hsc_instr *instr = map->called[0]->first; instr; instr = instr->next) {
    if (instr->op == HSC_OP_PARAMETER)
      continue;
    if (instr->op == HSC_OP_CONSTANT && hsc_shape_is_scalar(&instr->shape))
      continue;
    uint32_t traits = hsc_op_traits(instr->op);
    bool plain = (traits & HSC_TRAIT_ELEMENTWISE) || instr->op == HSC_OP_CLAMP;
    if (!plain || (traits & (HSC_TRAIT_EFFECT | HSC_TRAIT_CALLS)) ||
        !hsc_shape_is_scalar(&instr->shape) || instr->control_count)
      return false;
  }
  return true;
}

hsc_instr *hsc__build_mapped(hsc_builder *b, hsc_instr *map) {
  const hsc_computation *body = map->called[0];
  int32_t count = 0;
  for (hsc_instr *instr = body->first; instr; instr = instr->next)
    instr->index = count++;
  hsc_instr **values = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, count);
  if (!values)
    return map;
  for (const hsc_instr *instr = body->first; instr; instr = instr->next) {
    hsc_instr **value = &values[instr->index];
    if (instr->op == HSC_OP_PARAMETER) {
      *value = map->operands[instr->attr.index.value];
      continue;
    }
    hsc_instr *operands[4];  // elementwise operations have three at most
    for (int i = 0; i < instr->operand_count; i++)
      operands[i] = values[instr->operands[i]->index];
    *value = hsc_build_clone(b, instr, operands);
    if (instr->op == HSC_OP_CONSTANT)
      *value = hsc__widen(b, *value, map);
    else if (!b->status)
      (*value)->shape = hsc_shape_with_type(hsc_shape_without_layout(b->module->arena, map->shape),
                                            instr->shape.type);
  }
  return values[body->root->index];
}

hsc_status *hsc__pass_map_inliner(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, hsc__map_is_elementwise, hsc__build_mapped);
}
