// reduce_attributes.c - what is written at instructions and says nothing of what they compute.
//
//   add(a, b), metadata={...}, sharding={...}   ->   add(a, b)
#include "transform/reduce/reduce_internal.h"

typedef enum note { METADATA, SHARDING, FRONT_END, BACK_END, LAYOUT, PRECISION, NOTE_COUNT } note;

static hsc_dims *precision_of(hsc_instr *instr) {
  if (instr->op == HSC_OP_DOT)
    return &instr->attr.dot.precision;
  return instr->op == HSC_OP_CONVOLUTION ? &instr->attr.conv.precision : NULL;
}

static bool has_layout(const hsc_shape *shape) {
  for (int i = 0; hsc_shape_is_tuple(shape) && i < shape->element_count; i++)
    if (has_layout(&shape->elements[i]))
      return true;
  return hsc_shape_is_array(shape) && shape->layout && !hsc_layout_is_default(shape);
}

static bool has(hsc_instr *instr, note which) {
  switch (which) {
    case METADATA:
      return instr->metadata != NULL;
    case SHARDING:
      return instr->sharding != NULL;
    case FRONT_END:
      return instr->frontend_attributes != NULL;
    case BACK_END:
      return instr->backend_config != NULL && instr->op != HSC_OP_CUSTOM_CALL;
    case LAYOUT:
      return has_layout(&instr->shape);
    default:
      return precision_of(instr) && precision_of(instr)->count > 0;
  }
}

static void drop(hsc_instr *instr, note which) {
  switch (which) {
    case METADATA:
      instr->metadata = NULL;
      break;
    case SHARDING:
      instr->sharding = NULL;
      break;
    case FRONT_END:
      instr->frontend_attributes = NULL;
      break;
    case BACK_END:
      instr->backend_config = NULL;
      break;
    case LAYOUT:
      instr->shape = hsc_shape_without_layout(instr->parent->module->arena, instr->shape);
      break;
    default:
      *precision_of(instr) = (hsc_dims){0};
      break;
  }
}

hsc_status *hsc__reduce_attributes(hsc__reducing *r) {
  for (int which = 0; which < NOTE_COUNT; which++) {
    bool there = false;
    HSC_FOR_EACH_COMPUTATION (r->module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        there |= has(instr, (note)which);
    if (!there || !hsc__reduce_here(r))
      continue;
    HSC_FOR_EACH_COMPUTATION (r->module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        if (has(instr, (note)which))
          drop(instr, (note)which);
    if (which == METADATA)
      r->module->stack_index = NULL;
  }
  bool header = r->module->extra_attributes != NULL;
  if (header && hsc__reduce_here(r))
    r->module->extra_attributes = NULL;
  return NULL;
}
