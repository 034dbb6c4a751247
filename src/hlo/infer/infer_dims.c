// infer_dims.c - shape rules of ops that rearrange dimensions: broadcast, transpose, slice, pad,
// concatenate and their like.
#include "hlo/infer/infer_internal.h"

RULE(broadcast) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *to = &instr->shape;
  hsc_dims dims = instr->attr.dims.dims;
  if (!hsc_shape_is_array(to))
    return hsc__infer_error(instr, "the output's dimensions must be given");
  if (dims.count != x->rank)
    return hsc__infer_error(instr, "dimensions has %d entries for an operand of %d dimensions",
                            dims.count, x->rank);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", dims, to->rank));
  for (int i = 0; i < dims.count; i++)
    if (x->dims[i] != to->dims[dims.v[i]])
      return hsc__infer_error(
          instr, "operand dimension %d of size %lld becomes output dimension %lld of size %lld", i,
          (long long)x->dims[i], (long long)dims.v[i], (long long)to->dims[dims.v[i]]);
  *out_shape = hsc_shape_with_type(*to, x->type);
  return NULL;
}

RULE(transpose) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  hsc_dims permutation = instr->attr.dims.dims;
  if (permutation.count != x->rank)
    return hsc__infer_error(instr, "dimensions has %d entries for an operand of %d dimensions",
                            permutation.count, x->rank);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", permutation, x->rank));
  int64_t *dims = hsc__new_dims(arena, x->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  bool *dynamic = x->dynamic ? HSC_NEW_ARRAY(arena, bool, x->rank) : NULL;
  for (int i = 0; i < x->rank; i++) {
    dims[i] = x->dims[permutation.v[i]];
    if (dynamic)
      dynamic[i] = x->dynamic[permutation.v[i]];
  }
  *out_shape = hsc__shape_of_dims(x->type, x->rank, dims);
  out_shape->dynamic = dynamic;
  return NULL;
}

RULE(bitcast_convert) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  hsc_type to = instr->shape.type;
  int from_bits = hsc_type_bits(x->type);
  int to_bits = hsc_type_bits(to);
  if (to_bits == 0)
    return hsc__infer_error(instr, "the type to convert to must be given");
  if (hsc_type_is_complex(x->type) != hsc_type_is_complex(to))
    return hsc__infer_error(instr, "complex and real types do not mix: %s to %s",
                            hsc_type_text(x->type), hsc_type_text(to));
  int rank = x->rank + (from_bits > to_bits) - (from_bits < to_bits);
  if (from_bits < to_bits && (x->rank == 0 || x->dims[x->rank - 1] * from_bits != to_bits))
    return hsc__infer_error(instr, "the last dimension of %s must hold the bits of one %s: %d",
                            hsc__shape_text(arena, x), hsc_type_text(to), to_bits / from_bits);
  if (from_bits > to_bits && from_bits % to_bits != 0)
    return hsc__infer_error(instr, "%s does not split into %s", hsc_type_text(x->type),
                            hsc_type_text(to));
  int64_t *dims = hsc__new_dims(arena, rank);
  if (!dims)
    return hsc_status_out_of_memory();
  for (int i = 0; i < rank && i < x->rank; i++)
    dims[i] = x->dims[i];
  if (from_bits > to_bits)
    dims[rank - 1] = from_bits / to_bits;
  *out_shape = hsc__shape_of_dims(to, rank, dims);
  return NULL;
}

RULE(concatenate) {
  HSC_TRY(hsc__want_operands(instr, 1));
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *first = hsc__operand_shape(instr, 0);
  if (instr->attr.dims.dims.count != 1)
    return hsc__infer_error(instr, "needs one dimension; has %d", instr->attr.dims.dims.count);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", instr->attr.dims.dims, first->rank));
  int64_t dimension = instr->attr.dims.dims.v[0];
  int64_t *dims = hsc__new_dims(arena, first->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
  dims[dimension] = 0;
  for (int i = 0; i < instr->operand_count; i++) {
    HSC_TRY(hsc__want_array(instr, i));
    const hsc_shape *x = hsc__operand_shape(instr, i);
    bool fits = x->type == first->type && x->rank == first->rank;
    for (int d = 0; fits && d < x->rank; d++)
      fits = d == dimension || x->dims[d] == first->dims[d];
    if (!fits)
      return hsc__infer_error(
          instr, "operands may differ in dimension %lld only: operand 0 is %s, operand %d is %s",
          (long long)dimension, hsc__shape_text(arena, first), i, hsc__shape_text(arena, x));
    if (__builtin_add_overflow(dims[dimension], x->dims[dimension], &dims[dimension]))
      return hsc__infer_error(instr, "the result is too large");
  }
  *out_shape = hsc__shape_of_dims(first->type, first->rank, dims);
  return NULL;
}

RULE(slice) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  hsc_dims start = instr->attr.slice.start;
  hsc_dims limit = instr->attr.slice.limit;
  hsc_dims stride = instr->attr.slice.stride;
  if (start.count != x->rank || limit.count != x->rank || stride.count != x->rank)
    return hsc__infer_error(instr,
                            "%d starts, %d limits and %d strides for an operand of %d dimensions",
                            start.count, limit.count, stride.count, x->rank);
  int64_t *dims = hsc__new_dims(arena, x->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  for (int i = 0; i < x->rank; i++) {
    if (start.v[i] < 0 || limit.v[i] < start.v[i] || limit.v[i] > x->dims[i] || stride.v[i] < 1)
      return hsc__infer_error(instr,
                              "dimension %d of size %lld cannot be sliced by [%lld:%lld:%lld]", i,
                              (long long)x->dims[i], (long long)start.v[i], (long long)limit.v[i],
                              (long long)stride.v[i]);
    int64_t span = limit.v[i] - start.v[i];
    dims[i] = span / stride.v[i] + (span % stride.v[i] != 0);
  }
  *out_shape = hsc__shape_of_dims(x->type, x->rank, dims);
  return NULL;
}

RULE(pad) {
  HSC_TRY(hsc__want_array(instr, 0));
  HSC_TRY(hsc__want_array(instr, 1));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *value = hsc__operand_shape(instr, 1);
  if (value->rank != 0 || value->type != x->type)
    return hsc__infer_error(instr,
                            "the padding value must be a scalar of the operand's type: %s for %s",
                            hsc__shape_text(arena, value), hsc__shape_text(arena, x));
  if (instr->attr.pad.rank != x->rank)
    return hsc__infer_error(instr, "padding has %d dimensions, the operand %d",
                            instr->attr.pad.rank, x->rank);
  int64_t *dims = hsc__new_dims(arena, x->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  for (int i = 0; i < x->rank; i++) {
    const hsc_pad_dim *pad = &instr->attr.pad.dims[i];
    int64_t inner = x->dims[i] > 1 ? x->dims[i] - 1 : 0;
    if (pad->interior < 0)
      return hsc__infer_error(instr, "interior padding of dimension %d is negative: %lld", i,
                              (long long)pad->interior);
    if (__builtin_mul_overflow(inner, pad->interior, &inner) ||
        __builtin_add_overflow(x->dims[i], inner, &dims[i]) ||
        __builtin_add_overflow(dims[i], pad->low, &dims[i]) ||
        __builtin_add_overflow(dims[i], pad->high, &dims[i]))
      return hsc__infer_error(instr, "dimension %d becomes too large", i);
    if (dims[i] < 0)
      return hsc__infer_error(instr, "dimension %d of size %lld would have size %lld", i,
                              (long long)x->dims[i], (long long)dims[i]);
  }
  *out_shape = hsc__shape_of_dims(x->type, x->rank, dims);
  return NULL;
}

// Start indices of dynamic-slice and dynamic-update-slice: one scalar a dimension, or (as old
// programs have it) one vector of them all.
static hsc_status *want_indices(hsc_arena *arena, const hsc_instr *instr, int first, int rank) {
  int count = instr->operand_count - first;
  if (count == 1 && hsc_shape_is_array(hsc__operand_shape(instr, first)) &&
      hsc__operand_shape(instr, first)->rank == 1) {
    const hsc_shape *vector = hsc__operand_shape(instr, first);
    if (hsc_type_is_integral(vector->type) && vector->dims[0] == rank)
      return NULL;
    return hsc__infer_error(instr, "the start indices must be %d integers; they are %s", rank,
                            hsc__shape_text(arena, vector));
  }
  if (count != rank)
    return hsc__infer_error(instr, "%d start indices for an operand of %d dimensions", count, rank);
  for (int i = first; i < instr->operand_count; i++) {
    const hsc_shape *index = hsc__operand_shape(instr, i);
    if (!hsc_shape_is_scalar(index) || !hsc_type_is_integral(index->type) ||
        index->type != hsc__operand_shape(instr, first)->type)
      return hsc__infer_error(
          instr, "start index %d must be an integer scalar of the type of the others; it is %s",
          i - first, hsc__shape_text(arena, index));
  }
  return NULL;
}

RULE(dynamic_slice) {
  HSC_TRY(hsc__want_operands(instr, 1));
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  hsc_dims sizes = instr->attr.slice_sizes.sizes;
  HSC_TRY(want_indices(arena, instr, 1, x->rank));
  if (sizes.count != x->rank)
    return hsc__infer_error(instr, "%d slice sizes for an operand of %d dimensions", sizes.count,
                            x->rank);
  for (int i = 0; i < x->rank; i++)
    if (sizes.v[i] < 0 || sizes.v[i] > x->dims[i])
      return hsc__infer_error(instr, "slice size %lld is not in [0, %lld], dimension %d",
                              (long long)sizes.v[i], (long long)x->dims[i], i);
  *out_shape = hsc__shape_of_dims(x->type, x->rank, sizes.v);
  return NULL;
}

hsc_status *hsc__check_dynamic_update_slice(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_operands(instr, 2));
  HSC_TRY(hsc__want_array(instr, 0));
  HSC_TRY(hsc__want_array(instr, 1));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *update = hsc__operand_shape(instr, 1);
  bool fits = x->type == update->type && x->rank == update->rank;
  for (int i = 0; fits && i < x->rank; i++)
    fits = update->dims[i] <= x->dims[i];
  if (!fits)
    return hsc__infer_error(instr, "the update must fit into the operand: %s into %s",
                            hsc__shape_text(arena, update), hsc__shape_text(arena, x));
  return want_indices(arena, instr, 2, x->rank);
}

RULE(topk) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  if (x->rank == 0)
    return hsc__infer_error(instr, "operand 0 must have a dimension; it is %s",
                            hsc__shape_text(arena, x));
  int64_t k = instr->attr.topk.k;
  if (k < 0 || k > x->dims[x->rank - 1])
    return hsc__infer_error(instr, "k = %lld is not in [0, %lld], the last dimension", (long long)k,
                            (long long)x->dims[x->rank - 1]);
  int64_t *dims = hsc__new_dims(arena, x->rank);
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, 2);
  if (!dims || !elements)
    return hsc_status_out_of_memory();
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[x->rank - 1] = k;
  elements[0] = hsc__shape_of_dims(x->type, x->rank, dims);
  elements[1] = hsc__shape_of_dims(HSC_TYPE_S32, x->rank, dims);
  *out_shape = hsc_shape_tuple_over(2, elements);
  return NULL;
}
