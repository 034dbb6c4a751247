// inline.c - copying a computation's instructions in place of a call, taking tuples apart and
// together, and rows of stacked arrays.
#include "transform/transform_internal.h"

hsc_status *hsc__transform_inline(hsc_builder *b,
                                  hsc_computation *computation,
                                  hsc_instr *const *arguments,
                                  hsc_instr **out_root) {
  // The copy of each instruction is in its scratch pointer; the computation is one of our own
  // working copy.
  for (hsc_instr *instr = computation->first; instr && !b->status; instr = instr->next) {
    if (instr->op == HSC_OP_PARAMETER) {
      instr->scratch = arguments[instr->attr.index.value];
      continue;
    }
    hsc_instr *few[8];
    hsc_instr **operands = few;
    if (instr->operand_count > (int32_t)HSC_COUNT_OF(few)) {
      operands = hsc_alloc((size_t)instr->operand_count * sizeof(*operands));
      if (!operands)
        return hsc_status_out_of_memory();
    }
    for (int i = 0; i < instr->operand_count; i++)
      operands[i] = instr->operands[i]->scratch;
    hsc_instr *copy = hsc_build_clone(b, instr, operands);
    if (operands != few)
      hsc_free(operands);
    for (int i = 0; i < instr->control_count && !b->status; i++)
      hsc_instr_add_control_predecessor(copy, instr->control_predecessors[i]->scratch);
    instr->scratch = copy;
  }
  *out_root = b->status ? NULL : computation->root->scratch;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next)
    instr->scratch = NULL;
  return NULL;
}

static int unpack(hsc_builder *b, hsc_instr *value, hsc_instr **leaves) {
  if (!hsc_shape_is_tuple(&value->shape)) {
    leaves[0] = value;
    return 1;
  }
  int count = 0;
  for (int i = 0; i < value->shape.element_count && !b->status; i++) {
    // What was just put together is not taken apart again.
    hsc_instr *element =
        value->op == HSC_OP_TUPLE ? value->operands[i] : hsc_build_get_tuple_element(b, value, i);
    count += unpack(b, element, leaves + count);
  }
  return count;
}

void hsc__unpack(hsc_builder *b, hsc_instr *value, hsc_instr **leaves) {
  if (!b->status)
    unpack(b, value, leaves);
}

static hsc_instr *pack(hsc_builder *b, const hsc_shape *shape, hsc_instr *const *leaves, int *at) {
  if (!hsc_shape_is_tuple(shape))
    return leaves[(*at)++];
  hsc_instr **elements = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, shape->element_count + 1);
  for (int i = 0; i < shape->element_count && elements; i++)
    elements[i] = pack(b, &shape->elements[i], leaves, at);
  return hsc_build_tuple(b, elements ? shape->element_count : 0, elements);
}

hsc_instr *hsc__pack(hsc_builder *b, const hsc_shape *shape, hsc_instr *const *leaves) {
  int at = 0;
  return pack(b, shape, leaves, &at);
}

// ---- rows ---------------------------------------------------------------------------------------

hsc_shape hsc__stacked_shape(hsc_arena *arena, const hsc_shape *shape, int64_t count) {
  if (hsc_shape_is_tuple(shape)) {
    hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, shape->element_count + 1);
    for (int i = 0; elements && i < shape->element_count; i++)
      elements[i] = hsc__stacked_shape(arena, &shape->elements[i], count);
    return hsc_shape_tuple(arena, elements ? shape->element_count : 0, elements);
  }
  if (!hsc_shape_is_array(shape))
    return *shape;
  int64_t dims[HSC_MAX_RANK + 1] = {count};
  for (int i = 0; i < shape->rank; i++)
    dims[i + 1] = shape->dims[i];
  hsc_shape stacked = hsc_shape_array(arena, shape->type, shape->rank + 1, dims);
  if (shape->dynamic) {
    bool *dynamic = HSC_NEW_ARRAY(arena, bool, shape->rank + 1);
    for (int i = 0; dynamic && i < shape->rank; i++)
      dynamic[i + 1] = shape->dynamic[i];
    stacked.dynamic = dynamic;
  }
  return stacked;
}

hsc_instr *hsc__row(hsc_builder *b, hsc_instr *stack, hsc_instr *index) {
  if (b->status)
    return stack;
  hsc_instr *indices[HSC_MAX_RANK] = {index};
  int64_t sizes[HSC_MAX_RANK] = {1};
  int rank = stack->shape.rank;
  for (int i = 1; i < rank; i++) {
    indices[i] = i == 1 ? hsc_build_scalar(b, HSC_TYPE_S32, 0) : indices[1];
    sizes[i] = stack->shape.dims[i];
  }
  hsc_instr *slice = hsc_build_dynamic_slice(b, stack, rank, indices, (hsc_dims){rank, sizes});
  hsc_shape row =
      hsc_shape_array(b->module->arena, stack->shape.type, rank - 1, stack->shape.dims + 1);
  if (stack->shape.dynamic)
    row.dynamic = stack->shape.dynamic + 1;
  return hsc_build_op(b, HSC_OP_RESHAPE, row, NULL, 1, &slice, 0, NULL);
}

hsc_instr *hsc__set_row(hsc_builder *b, hsc_instr *stack, hsc_instr *row, hsc_instr *index) {
  if (b->status)
    return stack;
  hsc_instr *indices[HSC_MAX_RANK] = {index};
  int rank = stack->shape.rank;
  for (int i = 1; i < rank; i++)
    indices[i] = i == 1 ? hsc_build_scalar(b, HSC_TYPE_S32, 0) : indices[1];
  hsc_shape one = hsc__stacked_shape(b->module->arena, &row->shape, 1);
  hsc_instr *update = hsc_build_op(b, HSC_OP_RESHAPE, one, NULL, 1, &row, 0, NULL);
  return hsc_build_dynamic_update_slice(b, stack, update, rank, indices);
}

hsc_instr *hsc__zeros(hsc_builder *b, const hsc_shape *shape) {
  hsc_instr *zero = hsc_build_scalar(b, shape->type, 0);
  return shape->rank == 0 ? zero : hsc_build_broadcast(b, zero, *shape, (hsc_dims){0});
}
