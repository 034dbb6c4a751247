// reduction_util.c - reductions of any number of arrays, reshaped before and after.
#include "passes/data_movement/reduction_util.h"

bool hsc__reduces(const hsc_instr *reduce, int64_t dim) {
  return hsc_dims_contain(reduce->attr.dims.dims, dim);
}

bool hsc__reduce_is_static(const hsc_instr *reduce) {
  for (int i = 0; i < reduce->operand_count; i++)
    if (reduce->operands[i]->shape.dynamic)
      return false;
  return !reduce->shape.dynamic;
}

hsc_instr *hsc__build_reshaped_reduce(hsc_builder *b,
                                      hsc_instr *reduce,
                                      int rank,
                                      const int64_t *dims,
                                      int reduced_count,
                                      const int64_t *reduced) {
  hsc_arena *arena = b->module->arena;
  int count = reduce->operand_count / 2;
  hsc_instr **operands = HSC_NEW_ARRAY(arena, hsc_instr *, reduce->operand_count);
  if (!operands)
    return reduce;
  for (int i = 0; i < count; i++) {
    operands[i] = hsc_build_reshape(b, reduce->operands[i], rank, dims);
    operands[count + i] = reduce->operands[count + i];
  }
  hsc_attr attr = {.dims = {.dims = hsc_dims_copy(arena, reduced_count, reduced)}};
  return hsc_build_op(b, HSC_OP_REDUCE, (hsc_shape){0}, &attr, reduce->operand_count, operands, 1,
                      reduce->called);
}

hsc_instr *hsc__build_reshaped_like(hsc_builder *b, hsc_instr *value, const hsc_shape *like) {
  if (hsc_shape_equal(&value->shape, like))
    return value;
  if (!hsc_shape_is_tuple(like))
    return hsc_build_reshape(b, value, like->rank, like->dims);
  hsc_instr **parts = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, like->element_count + 1);
  if (!parts)
    return value;
  for (int i = 0; i < like->element_count; i++)
    parts[i] =
        hsc__build_reshaped_like(b, hsc_build_get_tuple_element(b, value, i), &like->elements[i]);
  return hsc_build_tuple(b, like->element_count, parts);
}
