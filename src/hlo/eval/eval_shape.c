// eval_shape.c - ops that move data: every one is a strided copy, or no copy at all.
#include "hlo/eval/eval_internal.h"

hsc_status *hsc__eval_same_bytes(hsc__eval *cx,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  (void)cx;
  return hsc__value_view(&instr->shape, operands[0], out_value);
}

// ---- bitcasts -----------------------------------------------------------------------------------

// Logical row-major bytes to the order that the layout gives them in memory, or back. Strides in
// elements.
static void physical_strides(const hsc_shape *shape, int64_t strides[HSC_MAX_RANK]) {
  if (!shape->layout || shape->layout->rank != shape->rank) {
    hsc__strides(shape, strides);
    return;
  }
  int64_t stride = 1;
  for (int i = 0; i < shape->rank; i++) {
    int64_t dimension = shape->layout->minor_to_major[i];
    strides[dimension] = stride;
    stride *= shape->dims[dimension];
  }
}

// Re-packs elements of one width as elements of another: little-endian, sub-byte elements low bits
// first, as bitcast-convert orders them.
static hsc_status *repack(const unsigned char *src,
                          hsc_type from,
                          hsc_type to,
                          int64_t from_count,
                          int64_t to_count,
                          unsigned char *dst) {
  int from_bits = hsc_type_bits(from);
  int to_bits = hsc_type_bits(to);
  if (from == HSC_TYPE_PRED)
    from_bits = 8;
  if (to == HSC_TYPE_PRED)
    to_bits = 8;
  if (from_bits * from_count != to_bits * to_count)
    return HSC_ERR(INVALID_ARGUMENT, "bitcast: %lld elements of %s do not fill %lld elements of %s",
                   (long long)from_count, hsc_type_text(from), (long long)to_count,
                   hsc_type_text(to));
  if (from_bits >= 8 && to_bits >= 8) {
    memcpy(dst, src, (size_t)from_count * hsc_type_bytes(from));
    return NULL;
  }
  // Through a stream of bits; the narrow side keeps one element a byte, and signed ones are sign
  // extended there.
  int64_t total = from_bits * from_count;
  bool is_signed = hsc_type_class_of(to) == HSC_CLASS_SIGNED;
  size_t from_bytes = hsc_type_bytes(from);
  size_t to_bytes = hsc_type_bytes(to);
  memset(dst, 0, (size_t)to_count * to_bytes);
  for (int64_t bit = 0; bit < total; bit++) {
    int64_t in = bit / from_bits;
    int64_t in_bit = bit % from_bits;
    int64_t out = bit / to_bits;
    int64_t out_bit = bit % to_bits;
    unsigned value = src[(size_t)in * from_bytes + (size_t)(in_bit / 8)] >> (in_bit % 8) & 1u;
    dst[(size_t)out * to_bytes + (size_t)(out_bit / 8)] |= (unsigned char)(value << (out_bit % 8));
    if (value && is_signed && to_bits < 8 && out_bit == to_bits - 1)
      dst[(size_t)out * to_bytes] |= (unsigned char)(0xffu << to_bits);
  }
  return NULL;
}

hsc_status *hsc__eval_bitcast(hsc__eval *cx,
                              const hsc_instr *instr,
                              hsc__value **operands,
                              hsc__value **out_value) {
  (void)cx;
  const hsc_shape *in = &instr->operands[0]->shape;
  const hsc_shape *out = &instr->shape;
  if (!hsc_shape_is_array(out)) {
    *out_value = hsc__value_retain(operands[0]);
    return NULL;
  }
  if (hsc_layout_is_default(in) && hsc_layout_is_default(out) && in->type == out->type)
    return hsc__value_view(out, operands[0], out_value);
  int64_t in_count = hsc_shape_elements(in);
  int64_t out_count = hsc_shape_elements(out);
  int64_t logical[HSC_MAX_RANK];
  int64_t physical[HSC_MAX_RANK];
  size_t in_bytes = hsc_type_bytes(in->type);
  size_t out_bytes = hsc_type_bytes(out->type);
  hsc_status *status = NULL;
  unsigned char *first = hsc_alloc((size_t)in_count * in_bytes);
  unsigned char *second = hsc_alloc((size_t)out_count * out_bytes);
  if (!first || !second)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc__value_array(out, out_value));
  hsc__strides(in, logical);
  physical_strides(in, physical);
  if (in_count > 0)
    hsc__copy_strided(in->rank, in->dims, in_bytes, first, physical, operands[0]->data, logical);
  HSC_GOTO(repack(first, in->type, out->type, in_count, out_count, second));
  hsc__strides(out, logical);
  physical_strides(out, physical);
  if (out_count > 0)
    hsc__copy_strided(out->rank, out->dims, out_bytes, (*out_value)->data, logical, second,
                      physical);
done:
  hsc_free(first);
  hsc_free(second);
  return status;
}

hsc_status *hsc__eval_bitcast_convert(hsc__eval *cx,
                                      const hsc_instr *instr,
                                      hsc__value **operands,
                                      hsc__value **out_value) {
  (void)cx;
  hsc_type from = operands[0]->shape.type;
  hsc_type to = instr->shape.type;
  if (hsc_type_bits(from) == hsc_type_bits(to) && hsc_type_bits(from) >= 8)
    return hsc__value_view(&instr->shape, operands[0], out_value);
  HSC_TRY(hsc__value_array(&instr->shape, out_value));
  return repack(operands[0]->data, from, to, hsc_shape_elements(&operands[0]->shape),
                hsc_shape_elements(&instr->shape), (*out_value)->data);
}

// ---- strided moves ------------------------------------------------------------------------------

hsc_status *hsc__eval_broadcast(hsc__eval *cx,
                                const hsc_instr *instr,
                                hsc__value **operands,
                                hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  int64_t out_strides[HSC_MAX_RANK];
  int64_t in_strides[HSC_MAX_RANK];
  int64_t from[HSC_MAX_RANK] = {0};
  HSC_TRY(hsc__value_array(out, out_value));
  hsc__strides(out, out_strides);
  hsc__strides(&operands[0]->shape, in_strides);
  for (int i = 0; i < instr->attr.dims.dims.count; i++)
    from[instr->attr.dims.dims.v[i]] = operands[0]->shape.dims[i] == 1 ? 0 : in_strides[i];
  if (hsc_shape_elements(out) > 0)
    hsc__copy_strided(out->rank, out->dims, hsc_type_bytes(out->type), (*out_value)->data,
                      out_strides, operands[0]->data, from);
  return NULL;
}

hsc_status *hsc__eval_transpose(hsc__eval *cx,
                                const hsc_instr *instr,
                                hsc__value **operands,
                                hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  int64_t out_strides[HSC_MAX_RANK], in_strides[HSC_MAX_RANK], from[HSC_MAX_RANK];
  HSC_TRY(hsc__value_array(out, out_value));
  hsc__strides(out, out_strides);
  hsc__strides(&operands[0]->shape, in_strides);
  for (int i = 0; i < out->rank; i++)
    from[i] = in_strides[instr->attr.dims.dims.v[i]];
  if (hsc_shape_elements(out) > 0)
    hsc__copy_strided(out->rank, out->dims, hsc_type_bytes(out->type), (*out_value)->data,
                      out_strides, operands[0]->data, from);
  return NULL;
}

hsc_status *hsc__eval_slice(hsc__eval *cx,
                            const hsc_instr *instr,
                            hsc__value **operands,
                            hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  size_t element_bytes = hsc_type_bytes(out->type);
  int64_t out_strides[HSC_MAX_RANK];
  int64_t in_strides[HSC_MAX_RANK];
  int64_t from[HSC_MAX_RANK];
  int64_t start = 0;
  HSC_TRY(hsc__value_array(out, out_value));
  hsc__strides(out, out_strides);
  hsc__strides(&operands[0]->shape, in_strides);
  for (int i = 0; i < out->rank; i++) {
    start += instr->attr.slice.start.v[i] * in_strides[i];
    from[i] =
        in_strides[i] * (instr->attr.slice.stride.count > i ? instr->attr.slice.stride.v[i] : 1);
  }
  if (hsc_shape_elements(out) > 0)
    hsc__copy_strided(out->rank, out->dims, element_bytes, (*out_value)->data, out_strides,
                      operands[0]->data + start * (int64_t)element_bytes, from);
  return NULL;
}

hsc_status *hsc__eval_reverse(hsc__eval *cx,
                              const hsc_instr *instr,
                              hsc__value **operands,
                              hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  size_t element_bytes = hsc_type_bytes(out->type);
  int64_t out_strides[HSC_MAX_RANK];
  int64_t from[HSC_MAX_RANK];
  int64_t start = 0;
  HSC_TRY(hsc__value_array(out, out_value));
  hsc__strides(out, out_strides);
  hsc__strides(out, from);
  for (int i = 0; i < instr->attr.dims.dims.count; i++) {
    int64_t dimension = instr->attr.dims.dims.v[i];
    start += (out->dims[dimension] - 1) * from[dimension];
    from[dimension] = -from[dimension];
  }
  if (hsc_shape_elements(out) > 0)
    hsc__copy_strided(out->rank, out->dims, element_bytes, (*out_value)->data, out_strides,
                      operands[0]->data + start * (int64_t)element_bytes, from);
  return NULL;
}

static void fill(unsigned char *out,
                 int64_t count,
                 size_t element_bytes,
                 const unsigned char *value) {
  int64_t one = 1;
  int64_t zero = 0;
  if (count > 0)
    hsc__copy_strided(1, &count, element_bytes, out, &one, value, &zero);
}

// Where element i of a padded dimension goes: low + i * (interior + 1). Negative padding cuts: the
// first and last i that land inside.
static void kept_range(
    const hsc_pad_dim *pad, int64_t in_size, int64_t out_size, int64_t *first, int64_t *count) {
  int64_t step = pad->interior + 1;
  *first = pad->low < 0 ? (-pad->low + step - 1) / step : 0;
  int64_t room = out_size - 1 - pad->low;
  int64_t end = room < 0 ? 0 : room / step + 1;
  if (end > in_size)
    end = in_size;
  *count = end > *first ? end - *first : 0;
}

hsc_status *hsc__eval_pad(hsc__eval *cx,
                          const hsc_instr *instr,
                          hsc__value **operands,
                          hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  const hsc_shape *in = &operands[0]->shape;
  size_t element_bytes = hsc_type_bytes(out->type);
  int64_t out_strides[HSC_MAX_RANK];
  int64_t in_strides[HSC_MAX_RANK];
  int64_t dims[HSC_MAX_RANK];
  int64_t to[HSC_MAX_RANK];
  int64_t in_start = 0;
  int64_t out_start = 0;
  HSC_TRY(hsc__value_array(out, out_value));
  fill((*out_value)->data, hsc_shape_elements(out), element_bytes, operands[1]->data);
  hsc__strides(out, out_strides);
  hsc__strides(in, in_strides);
  for (int i = 0; i < out->rank; i++) {
    const hsc_pad_dim *pad = &instr->attr.pad.dims[i];
    int64_t first;
    kept_range(pad, in->dims[i], out->dims[i], &first, &dims[i]);
    if (dims[i] == 0)
      return NULL;
    in_start += first * in_strides[i];
    out_start += (pad->low + first * (pad->interior + 1)) * out_strides[i];
    to[i] = out_strides[i] * (pad->interior + 1);
  }
  hsc__copy_strided(out->rank, dims, element_bytes,
                    (*out_value)->data + out_start * (int64_t)element_bytes, to,
                    operands[0]->data + in_start * (int64_t)element_bytes, in_strides);
  return NULL;
}

hsc_status *hsc__eval_concatenate(hsc__eval *cx,
                                  const hsc_instr *instr,
                                  hsc__value **operands,
                                  hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  size_t element_bytes = hsc_type_bytes(out->type);
  int64_t out_strides[HSC_MAX_RANK];
  int64_t in_strides[HSC_MAX_RANK];
  int64_t dimension = instr->attr.dims.dims.v[0];
  int64_t at = 0;
  HSC_TRY(hsc__value_array(out, out_value));
  hsc__strides(out, out_strides);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const hsc_shape *in = &operands[i]->shape;
    hsc__strides(in, in_strides);
    if (hsc_shape_elements(in) > 0)
      hsc__copy_strided(in->rank, in->dims, element_bytes,
                        (*out_value)->data + at * out_strides[dimension] * (int64_t)element_bytes,
                        out_strides, operands[i]->data, in_strides);
    at += in->dims[dimension];
  }
  return NULL;
}

// ---- dynamic slices -----------------------------------------------------------------------------

// Start index of dimension i, from scalar operands or (the old form) from one vector; clamped so
// that the slice lies inside.
static int64_t start_index(
    hsc__value **indices, int count, int rank, int dimension, int64_t size, int64_t slice) {
  const hsc__value *value =
      count == 1 && indices[0]->shape.rank == 1 && rank > 0 ? indices[0] : indices[dimension];
  int64_t start = hsc__get_int(value, value->shape.rank == 1 ? dimension : 0);
  // a large u64
  if (hsc_type_class_of(value->shape.type) == HSC_CLASS_UNSIGNED && start < 0)
    start = INT64_MAX;
  if (start > size - slice)
    start = size - slice;
  return start < 0 ? 0 : start;
}

hsc_status *hsc__eval_dynamic_slice(hsc__eval *cx,
                                    const hsc_instr *instr,
                                    hsc__value **operands,
                                    hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  const hsc_shape *in = &operands[0]->shape;
  size_t element_bytes = hsc_type_bytes(out->type);
  int64_t out_strides[HSC_MAX_RANK];
  int64_t in_strides[HSC_MAX_RANK];
  int64_t start = 0;
  HSC_TRY(hsc__value_array(out, out_value));
  hsc__strides(out, out_strides);
  hsc__strides(in, in_strides);
  for (int i = 0; i < out->rank; i++)
    start += start_index(operands + 1, instr->operand_count - 1, out->rank, i, in->dims[i],
                         out->dims[i]) *
             in_strides[i];
  if (hsc_shape_elements(out) > 0)
    hsc__copy_strided(out->rank, out->dims, element_bytes, (*out_value)->data, out_strides,
                      operands[0]->data + start * (int64_t)element_bytes, in_strides);
  return NULL;
}

hsc_status *hsc__eval_dynamic_update_slice(hsc__eval *cx,
                                           const hsc_instr *instr,
                                           hsc__value **operands,
                                           hsc__value **out_value) {
  (void)cx;
  const hsc_shape *out = &instr->shape;
  const hsc_shape *update = &operands[1]->shape;
  size_t element_bytes = hsc_type_bytes(out->type);
  int64_t out_strides[HSC_MAX_RANK];
  int64_t update_strides[HSC_MAX_RANK];
  int64_t start = 0;
  HSC_TRY(hsc__value_writable(operands[0], out, out_value));
  hsc__strides(out, out_strides);
  hsc__strides(update, update_strides);
  for (int i = 0; i < out->rank; i++)
    start += start_index(operands + 2, instr->operand_count - 2, out->rank, i, out->dims[i],
                         update->dims[i]) *
             out_strides[i];
  if (hsc_shape_elements(update) > 0)
    hsc__copy_strided(out->rank, update->dims, element_bytes,
                      (*out_value)->data + start * (int64_t)element_bytes, out_strides,
                      operands[1]->data, update_strides);
  return NULL;
}
