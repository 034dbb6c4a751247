// eval_elementwise.c - ops whose element i depends on element i of the operands: the lane step run
// over whole arrays, chunk by chunk.
#include "hlo/eval/eval_internal.h"

// Where the lanes of one operand come from.
typedef struct source {
  hsc_type type;
  const unsigned char *data;
  size_t element_bytes;
  bool direct;     // lanes are the array itself
  bool is_scalar;  // one element for all: splat once
  unsigned char *lanes;
} source;

static const void *load_chunk(source *s, int64_t at, int64_t count) {
  if (s->is_scalar)
    return s->lanes;
  const unsigned char *from = s->data + (size_t)at * s->element_bytes;
  if (s->direct)
    return from;
  hsc__lane_load(s->type, from, count, s->lanes);
  return s->lanes;
}

static void splat(source *s) {
  size_t width = hsc__kind_bytes(hsc__kind_of(s->type));
  hsc__lane_load(s->type, s->data, 1, s->lanes);
  for (size_t i = 1; i < HSC__LANES; i++)
    memcpy(s->lanes + i * width, s->lanes, width);
}

static hsc_status *run_over_array(const hsc_instr *instr,
                                  hsc_type type,
                                  hsc__value **operands,
                                  hsc__value **out_value) {
  _Alignas(16) unsigned char lanes[3][HSC__LANE_BYTES], result[HSC__LANE_BYTES];
  source sources[3] = {0};
  int count = instr->operand_count;
  int64_t total = hsc_shape_elements(&instr->shape);
  if (count < 1 || count > 3)
    return hsc_op_not_built(instr->op, "the reference evaluator");
  if (!hsc__step_supported(instr, type))
    return HSC_ERR(UNIMPLEMENTED, "%s: not built yet: the reference evaluator has no %s of %s",
                   hsc_op_text(instr->op), hsc_op_text(instr->op), hsc_type_text(type));
  hsc__value *reusable = NULL;
  for (int i = 0; i < count; i++) {
    sources[i] = (source){.type = operands[i]->shape.type,
                          .data = operands[i]->data,
                          .element_bytes = hsc_type_bytes(operands[i]->shape.type),
                          .direct = hsc__type_is_direct(operands[i]->shape.type),
                          .lanes = lanes[i]};
    int64_t elements = hsc_shape_elements(&operands[i]->shape);
    if (elements != total) {
      if (elements != 1)
        return HSC_ERR(INVALID_ARGUMENT, "%s: operand %d has %lld elements, the result %lld",
                       hsc_op_text(instr->op), i, (long long)elements, (long long)total);
      sources[i].is_scalar = true;
      splat(&sources[i]);
    } else if (!reusable && hsc__value_is_ours(operands[i]) &&
               sources[i].element_bytes == hsc_type_bytes(instr->shape.type) &&
               instr->op != HSC_OP_CLAMP) {
      reusable = operands[i];
    }
  }
  if (reusable)
    HSC_TRY(hsc__value_reuse(&instr->shape, reusable, out_value));
  else
    HSC_TRY(hsc__value_array(&instr->shape, out_value));
  hsc__step step = {.op = instr->op, .type = type, .out_type = instr->shape.type, .instr = instr};
  unsigned char *out = (*out_value)->data;
  size_t out_bytes = hsc_type_bytes(instr->shape.type);
  bool out_direct = hsc__type_is_direct(instr->shape.type);
  for (int64_t at = 0; at < total; at += HSC__LANES) {
    int64_t n = total - at < HSC__LANES ? total - at : HSC__LANES;
    const void *in[3] = {0};
    for (int i = 0; i < count; i++)
      in[i] = load_chunk(&sources[i], at, n);
    unsigned char *to = out + (size_t)at * out_bytes;
    hsc__step_run(&step, n, out_direct ? (void *)to : (void *)result, in[0], in[1], in[2]);
    if (!out_direct)
      hsc__lane_store(instr->shape.type, result, n, to);
  }
  return NULL;
}

hsc_status *hsc__eval_elementwise(hsc__eval *cx,
                                  const hsc_instr *instr,
                                  hsc__value **operands,
                                  hsc__value **out_value) {
  (void)cx;
  return run_over_array(instr, operands[0]->shape.type, operands, out_value);
}

hsc_status *hsc__eval_clamp(hsc__eval *cx,
                            const hsc_instr *instr,
                            hsc__value **operands,
                            hsc__value **out_value) {
  (void)cx;
  return run_over_array(instr, operands[1]->shape.type, operands, out_value);
}

#define SELECT(T) \
  do { \
    const T *x = (const T *)on_true, *y = (const T *)on_false; \
    T *d = (T *)out; \
    for (int64_t i = 0; i < count; i++) \
      d[i] = pred[one_pred ? 0 : i] ? x[i] : y[i]; \
  } while (0)

typedef struct element16 {
  uint64_t low, high;
} element16;

// On bytes, not lanes: whatever is selected keeps its bits (NaN payloads too). A scalar pred
// selects a whole operand, also of tuples.
hsc_status *hsc__eval_select(hsc__eval *cx,
                             const hsc_instr *instr,
                             hsc__value **operands,
                             hsc__value **out_value) {
  (void)cx;
  const unsigned char *pred = operands[0]->data;
  bool one_pred = operands[0]->shape.rank == 0;
  if (one_pred && instr->shape.rank != 0) {
    *out_value = hsc__value_retain(operands[pred[0] ? 1 : 2]);
    return NULL;
  }
  if (!hsc_shape_is_array(&instr->shape)) {
    *out_value = hsc__value_retain(operands[pred[0] ? 1 : 2]);
    return NULL;
  }
  HSC_TRY(hsc__value_reuse(&instr->shape, operands[1], out_value));
  const unsigned char *on_true = operands[1]->data;
  const unsigned char *on_false = operands[2]->data;
  unsigned char *out = (*out_value)->data;
  int64_t count = hsc_shape_elements(&instr->shape);
  switch (hsc_type_bytes(instr->shape.type)) {
    case 1:
      SELECT(uint8_t);
      break;
    case 2:
      SELECT(uint16_t);
      break;
    case 4:
      SELECT(uint32_t);
      break;
    case 8:
      SELECT(uint64_t);
      break;
    default:
      SELECT(element16);
      break;
  }
  return NULL;
}

hsc_status *hsc__eval_constant(hsc__eval *cx,
                               const hsc_instr *instr,
                               hsc__value **operands,
                               hsc__value **out_value) {
  (void)cx;
  (void)operands;
  return hsc__value_from_literal(instr->attr.literal.value, out_value);
}

hsc_status *hsc__eval_iota(hsc__eval *cx,
                           const hsc_instr *instr,
                           hsc__value **operands,
                           hsc__value **out_value) {
  (void)cx;
  (void)operands;
  const hsc_shape *shape = &instr->shape;
  HSC_TRY(hsc__value_array(shape, out_value));
  if (hsc_shape_elements(shape) == 0)
    return NULL;
  int64_t dimension = shape->rank == 0 ? 0 : instr->attr.dims.dims.v[0];
  int64_t length = shape->rank == 0 ? 1 : shape->dims[dimension];
  // One run along the dimension, in the element type; then strided copies of it.
  unsigned char *run = hsc_alloc((size_t)length * hsc_type_bytes(shape->type));
  if (!run)
    return hsc_status_out_of_memory();
  size_t element_bytes = hsc_type_bytes(shape->type);
  _Alignas(16) unsigned char lanes[HSC__LANE_BYTES];
  for (int64_t at = 0; at < length; at += HSC__LANES) {
    int64_t n = length - at < HSC__LANES ? length - at : HSC__LANES;
    int64_t counts[HSC__LANES];
    for (int64_t i = 0; i < n; i++)
      counts[i] = at + i;
    hsc__lane_convert(HSC_TYPE_S64, counts, shape->type, n, lanes);
    hsc__lane_store(shape->type, lanes, n, run + (size_t)at * element_bytes);
  }
  int64_t strides[HSC_MAX_RANK];
  int64_t from[HSC_MAX_RANK] = {0};
  hsc__strides(shape, strides);
  if (shape->rank > 0)
    from[dimension] = 1;
  hsc__copy_strided(shape->rank, shape->dims, element_bytes, (*out_value)->data, strides, run,
                    from);
  hsc_free(run);
  return NULL;
}
