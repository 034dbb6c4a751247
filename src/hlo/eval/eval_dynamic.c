// eval_dynamic.c - dimensions whose size is known at run time only: set-dimension-size,
// get-dimension-size, and what may be done with such arrays.
//
// A value carries its run-time sizes; the array keeps the room of the bounds. Ops on single
// elements and moves of whole values pass the sizes on, reduce leaves out what lies beyond them;
// other ops on such a value are refused by name.
#include "hlo/eval/eval_internal.h"

static hsc_status *attach_sizes(hsc__value *value, const int64_t *sizes, int rank) {
  bool full = true;
  for (int i = 0; i < rank; i++)
    full &= sizes[i] == value->shape.dims[i];
  if (full || rank == 0)
    return NULL;
  int64_t *copy = hsc_alloc((size_t)rank * sizeof(*copy));
  if (!copy)
    return hsc_status_out_of_memory();
  memcpy(copy, sizes, (size_t)rank * sizeof(*copy));
  hsc_free(value->sizes);
  value->sizes = copy;
  return NULL;
}

static int64_t size_of(const hsc__value *value, int64_t dimension) {
  return value->sizes ? value->sizes[dimension] : value->shape.dims[dimension];
}

hsc_status *hsc__eval_get_dimension_size(hsc__eval *cx,
                                         const hsc_instr *instr,
                                         hsc__value **operands,
                                         hsc__value **out_value) {
  (void)cx;
  HSC_TRY(hsc__value_array(&instr->shape, out_value));
  int32_t size = (int32_t)size_of(operands[0], instr->attr.dims.dims.v[0]);
  memcpy((*out_value)->data, &size, sizeof(size));
  return NULL;
}

hsc_status *hsc__eval_set_dimension_size(hsc__eval *cx,
                                         const hsc_instr *instr,
                                         hsc__value **operands,
                                         hsc__value **out_value) {
  (void)cx;
  int64_t dimension = instr->attr.dims.dims.v[0];
  int64_t bound = instr->shape.dims[dimension];
  int64_t size = hsc__get_int(operands[1], 0);
  int64_t sizes[HSC_MAX_RANK];
  if (size < 0 || size > bound)
    return HSC_ERR(INVALID_ARGUMENT,
                   "set-dimension-size: size %lld of dimension %lld, whose bound is %lld",
                   (long long)size, (long long)dimension, (long long)bound);
  HSC_TRY(hsc__value_view(&instr->shape, operands[0], out_value));
  for (int i = 0; i < instr->shape.rank; i++)
    sizes[i] = size_of(operands[0], i);
  sizes[dimension] = size;
  return attach_sizes(*out_value, sizes, instr->shape.rank);
}

// Sizes that are all full make it a plain reshape.
hsc_status *hsc__eval_dynamic_reshape(hsc__eval *cx,
                                      const hsc_instr *instr,
                                      hsc__value **operands,
                                      hsc__value **out_value) {
  (void)cx;
  for (int32_t i = 1; i < instr->operand_count; i++) {
    int64_t size = hsc__get_int(operands[i], 0);
    if (size != instr->shape.dims[i - 1])
      return HSC_ERR(UNIMPLEMENTED,
                     "dynamic-reshape: not built yet: a run-time size (%lld) under the bound "
                     "(%lld) in the reference evaluator",
                     (long long)size, (long long)instr->shape.dims[i - 1]);
  }
  return hsc__value_view(&instr->shape, operands[0], out_value);
}

// The operands of a reduce, cut to their sizes in the dimensions that are reduced; the kept ones
// stay at their bounds and pass their sizes on.
static hsc_status *reduce_cut(hsc__eval *cx,
                              const hsc_instr *instr,
                              hsc__value **operands,
                              hsc__value **out_value) {
  int n = instr->operand_count / 2;
  int64_t dims[HSC_MAX_RANK], strides[HSC_MAX_RANK], cut_strides[HSC_MAX_RANK], kept[HSC_MAX_RANK];
  bool reduced[HSC_MAX_RANK] = {false};
  hsc__value **cut = hsc_alloc((size_t)instr->operand_count * sizeof(*cut));
  if (!cut)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  int kept_count = 0;
  const hsc__value *sized = operands[0];
  for (int i = 0; i < n; i++)
    if (operands[i]->sizes)
      sized = operands[i];
  for (int i = 0; i < instr->attr.dims.dims.count; i++)
    reduced[instr->attr.dims.dims.v[i]] = true;
  for (int i = 0; i < sized->shape.rank; i++) {
    dims[i] = reduced[i] ? size_of(sized, i) : sized->shape.dims[i];
    if (!reduced[i])
      kept[kept_count++] = size_of(sized, i);
  }
  for (int i = 0; i < instr->operand_count; i++) {
    if (i >= n) {
      cut[i] = hsc__value_retain(operands[i]);
      continue;
    }
    hsc_shape shape =
        hsc_shape_array(cx->arena, operands[i]->shape.type, operands[i]->shape.rank, dims);
    HSC_GOTO(hsc__value_array(&shape, &cut[i]));
    hsc__strides(&operands[i]->shape, strides);
    hsc__strides(&shape, cut_strides);
    if (hsc_shape_elements(&shape) > 0)
      hsc__copy_strided(shape.rank, dims, hsc_type_bytes(shape.type), cut[i]->data, cut_strides,
                        operands[i]->data, strides);
  }
  HSC_GOTO(hsc__eval_reduce(cx, instr, cut, out_value));
  if ((*out_value)->elements)
    for (int i = 0; i < n; i++)
      HSC_GOTO(attach_sizes((*out_value)->elements[i], kept, kept_count));
  else
    HSC_GOTO(attach_sizes(*out_value, kept, kept_count));
done:
  for (int i = 0; i < instr->operand_count; i++)
    hsc__value_release(cut[i]);
  hsc_free(cut);
  return status;
}

hsc_status *hsc__eval_sized(hsc__eval *cx,
                            const hsc_instr *instr,
                            hsc__eval_fn function,
                            hsc__value **operands,
                            hsc__value **out_value) {
  const hsc__value *sized = NULL;
  for (int32_t i = 0; i < instr->operand_count; i++)
    if (operands[i]->sizes)
      sized = operands[i];
  switch (instr->op) {
    case HSC_OP_TUPLE:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
    case HSC_OP_WHILE:
    case HSC_OP_CONDITIONAL:
    case HSC_OP_OPT_BARRIER:
    case HSC_OP_ADD_DEPENDENCY:
    case HSC_OP_DOMAIN:
    case HSC_OP_SET_DIMENSION_SIZE:
    case HSC_OP_GET_DIMENSION_SIZE:
      return function(cx, instr, operands, out_value);
    case HSC_OP_REDUCE:
      return reduce_cut(cx, instr, operands, out_value);
    default:
      break;
  }
  bool passes = instr->op == HSC_OP_COPY || instr->op == HSC_OP_CLAMP ||
                (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE);
  if (!passes || !hsc_shape_same_dims(&sized->shape, &instr->shape))
    return HSC_ERR(UNIMPLEMENTED,
                   "%s: not built yet: an operand with a size that is known at run time only, in "
                   "the reference evaluator",
                   hsc_op_text(instr->op));
  int64_t sizes[HSC_MAX_RANK];
  for (int i = 0; i < sized->shape.rank; i++)
    sizes[i] = sized->sizes[i];
  hsc__value *plain = NULL;
  HSC_TRY(function(cx, instr, operands, &plain));
  // A result that is an operand itself (a select by a scalar) has them already.
  hsc_status *status = plain->sizes ? NULL : attach_sizes(plain, sizes, instr->shape.rank);
  if (status) {
    hsc__value_release(plain);
    return status;
  }
  *out_value = plain;
  return NULL;
}
