// infer_linear.c - shape rules of linear algebra, FFT and batch normalisation.
#include "hlo/infer/infer_internal.h"

RULE(dot) {
  HSC_TRY(hsc__want_array(instr, 0));
  HSC_TRY(hsc__want_array(instr, 1));
  const hsc_shape *lhs = hsc__operand_shape(instr, 0);
  const hsc_shape *rhs = hsc__operand_shape(instr, 1);
  const hsc_dot_dims *d = &instr->attr.dot;
  if (d->lhs_contracting.count != d->rhs_contracting.count)
    return hsc__infer_error(instr, "%d contracting dimensions of the left operand, %d of the right",
                            d->lhs_contracting.count, d->rhs_contracting.count);
  if (d->lhs_batch.count != d->rhs_batch.count)
    return hsc__infer_error(instr, "%d batch dimensions of the left operand, %d of the right",
                            d->lhs_batch.count, d->rhs_batch.count);
  HSC_TRY(
      hsc__want_distinct_dims(arena, instr, "lhs_contracting_dims", d->lhs_contracting, lhs->rank));
  HSC_TRY(
      hsc__want_distinct_dims(arena, instr, "rhs_contracting_dims", d->rhs_contracting, rhs->rank));
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "lhs_batch_dims", d->lhs_batch, lhs->rank));
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "rhs_batch_dims", d->rhs_batch, rhs->rank));
  for (int i = 0; i < d->lhs_batch.count; i++) {
    int64_t l = d->lhs_batch.v[i];
    int64_t r = d->rhs_batch.v[i];
    if (hsc_dims_contain(d->lhs_contracting, l) || hsc_dims_contain(d->rhs_contracting, r))
      return hsc__infer_error(
          instr, "batch dimensions lhs[%lld], rhs[%lld] are contracting dimensions too",
          (long long)l, (long long)r);
    if (lhs->dims[l] != rhs->dims[r])
      return hsc__infer_error(instr, "batch dimensions differ: lhs[%lld] = %lld, rhs[%lld] = %lld",
                              (long long)l, (long long)lhs->dims[l], (long long)r,
                              (long long)rhs->dims[r]);
  }
  for (int i = 0; i < d->lhs_contracting.count; i++) {
    int64_t l = d->lhs_contracting.v[i];
    int64_t r = d->rhs_contracting.v[i];
    if (lhs->dims[l] != rhs->dims[r])
      return hsc__infer_error(
          instr, "contracting dimensions differ: lhs[%lld] = %lld, rhs[%lld] = %lld", (long long)l,
          (long long)lhs->dims[l], (long long)r, (long long)rhs->dims[r]);
  }
  int rank = lhs->rank + rhs->rank - d->lhs_batch.count - 2 * d->lhs_contracting.count;
  int at = 0;
  int64_t *dims = hsc__new_dims(arena, rank);
  if (!dims)
    return hsc_status_out_of_memory();
  for (int i = 0; i < d->lhs_batch.count; i++)
    dims[at++] = lhs->dims[d->lhs_batch.v[i]];
  for (int i = 0; i < lhs->rank; i++)
    if (!hsc_dims_contain(d->lhs_batch, i) && !hsc_dims_contain(d->lhs_contracting, i))
      dims[at++] = lhs->dims[i];
  for (int i = 0; i < rhs->rank; i++)
    if (!hsc_dims_contain(d->rhs_batch, i) && !hsc_dims_contain(d->rhs_contracting, i))
      dims[at++] = rhs->dims[i];
  // The type is the one asked for (preferred_element_type), by default the operands'.
  hsc_type type = hsc_shape_is_array(&instr->shape) ? instr->shape.type
                                                    : hsc_type_of_product(lhs->type, rhs->type);
  *out_shape = hsc__shape_of_dims(type, rank, dims);
  return NULL;
}

static hsc_status *want_square(hsc_arena *arena, const hsc_instr *instr, int operand) {
  HSC_TRY(hsc__want_array(instr, operand));
  const hsc_shape *a = hsc__operand_shape(instr, operand);
  hsc_type_class class = hsc_type_class_of(a->type);
  if (class != HSC_CLASS_FLOAT && class != HSC_CLASS_COMPLEX)
    return hsc__infer_error(instr, "takes floats or complex numbers; operand %d is %s", operand,
                            hsc__shape_text(arena, a));
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2])
    return hsc__infer_error(instr, "operand %d must be square in its last two dimensions; it is %s",
                            operand, hsc__shape_text(arena, a));
  return NULL;
}

hsc_status *hsc__check_cholesky(hsc_arena *arena, const hsc_instr *instr) {
  return want_square(arena, instr, 0);
}

// triangular-solve: the solution has the shape of b.
RULE(second) {
  HSC_TRY(want_square(arena, instr, 0));
  HSC_TRY(hsc__want_array(instr, 1));
  const hsc_shape *a = hsc__operand_shape(instr, 0);
  const hsc_shape *b = hsc__operand_shape(instr, 1);
  bool fits = a->type == b->type && a->rank == b->rank;
  for (int i = 0; fits && i < a->rank - 2; i++)
    fits = a->dims[i] == b->dims[i];
  if (fits)
    fits = b->dims[b->rank - (instr->attr.triangular.left_side ? 2 : 1)] == a->dims[a->rank - 1];
  if (!fits)
    return hsc__infer_error(instr, "the matrices do not fit: a is %s, b is %s, left_side=%s",
                            hsc__shape_text(arena, a), hsc__shape_text(arena, b),
                            instr->attr.triangular.left_side ? "true" : "false");
  *out_shape = *b;
  return NULL;
}

RULE(fft) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  hsc_dims length = instr->attr.fft.length;
  hsc_fft_type type = instr->attr.fft.type;
  const char *name = hsc__word_or_unknown(HSC__WORDS_FFT_TYPE, (int)type);
  if (length.count < 1 || length.count > 3 || x->rank < length.count)
    return hsc__infer_error(instr, "%s of %d dimensions of %s: 1 to 3 of the operand's are allowed",
                            name, length.count, hsc__shape_text(arena, x));
  bool from_real = type == HSC_RFFT;
  if (from_real ? (x->type != HSC_TYPE_F32 && x->type != HSC_TYPE_F64)
                : !hsc_type_is_complex(x->type))
    return hsc__infer_error(instr, "%s takes %s; operand 0 is %s", name,
                            from_real ? "f32 or f64" : "complex numbers",
                            hsc__shape_text(arena, x));
  int64_t *dims = hsc__new_dims(arena, x->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  for (int i = 0; i < length.count; i++) {
    int dim = x->rank - length.count + i;
    bool last = i == length.count - 1;
    int64_t wanted =
        type == HSC_IRFFT && last && length.v[i] != 0 ? length.v[i] / 2 + 1 : length.v[i];
    if (length.v[i] < 0 || x->dims[dim] != wanted)
      return hsc__infer_error(
          instr,
          "%s with fft_length[%d] = %lld wants operand dimension %d of size %lld; it is %lld", name,
          i, (long long)length.v[i], dim, (long long)wanted, (long long)x->dims[dim]);
    if (last && type == HSC_RFFT && length.v[i] != 0)
      dims[dim] = length.v[i] / 2 + 1;
    if (last && type == HSC_IRFFT)
      dims[dim] = length.v[i];
  }
  hsc_type result = x->type;
  if (type == HSC_RFFT)
    result = x->type == HSC_TYPE_F32 ? HSC_TYPE_C64 : HSC_TYPE_C128;
  if (type == HSC_IRFFT)
    result = hsc_type_real_part(x->type);
  *out_shape = hsc__shape_of_dims(result, x->rank, dims);
  return NULL;
}

// Operand 0 is an array of floats; operands [first, end) are vectors over its feature dimension, of
// its type.
static hsc_status *want_features(hsc_arena *arena, const hsc_instr *instr, int first, int end) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  int64_t feature = instr->attr.batch_norm.feature_index;
  if (!hsc_type_is_float(x->type))
    return hsc__infer_error(instr, "takes floats; operand 0 is %s", hsc__shape_text(arena, x));
  if (feature < 0 || feature >= x->rank)
    return hsc__infer_error(instr, "feature_index = %lld is not in [0, %d)", (long long)feature,
                            x->rank);
  for (int i = first; i < end; i++) {
    HSC_TRY(hsc__want_array(instr, i));
    const hsc_shape *v = hsc__operand_shape(instr, i);
    if (v->type != x->type || v->rank != 1 || v->dims[0] != x->dims[feature])
      return hsc__infer_error(instr, "operand %d must be %s[%lld], one value a feature; it is %s",
                              i, hsc_type_text(x->type), (long long)x->dims[feature],
                              hsc__shape_text(arena, v));
  }
  return NULL;
}

// (array like operand 0, vector, vector).
static hsc_status *three_results(hsc_arena *arena, const hsc_instr *instr, hsc_shape *out_shape) {
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, 3);
  HSC_TRY(hsc_arena_status(arena));
  elements[0] = *hsc__operand_shape(instr, 0);
  elements[1] = elements[2] = *hsc__operand_shape(instr, 1);
  *out_shape = hsc_shape_tuple_over(3, elements);
  return NULL;
}

RULE(bn_training) {
  HSC_TRY(want_features(arena, instr, 1, 3));
  return three_results(arena, instr, out_shape);
}

RULE(bn_grad) {
  HSC_TRY(want_features(arena, instr, 1, 4));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *gradient = hsc__operand_shape(instr, 4);
  if (gradient->type != x->type || !hsc_shape_same_dims(gradient, x))
    return hsc__infer_error(instr, "the gradient must have the operand's shape: %s for %s",
                            hsc__shape_text(arena, gradient), hsc__shape_text(arena, x));
  return three_results(arena, instr, out_shape);
}

hsc_status *hsc__check_bn_inference(hsc_arena *arena, const hsc_instr *instr) {
  return want_features(arena, instr, 1, 5);
}
