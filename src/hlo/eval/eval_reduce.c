// eval_reduce.c - reduce, map and scan: a plan applied along dimensions, many output elements at a
// time, in ascending order for each.
//
// How to read: the reducer is compiled to a plan once; streams walk the operands so that each step
// of the plan takes a whole row of elements (reduce_rows), each element in ascending order whatever
// the shape.
#include <math.h>
#include <stdlib.h>

#include "hlo/eval/eval_internal.h"

// One operand of an applied computation, as a dense array of lanes.
typedef struct stream {
  hsc_type type, wanted;  // of the array, of the parameter that reads it
  const unsigned char *data;
  unsigned char *owned;        // a transposed copy, freed at the end
  unsigned char *raw, *lanes;  // room for HSC__LANES each
} stream;

static const void *stream_load(const stream *s, int64_t at, int64_t count) {
  const unsigned char *from = s->data + (size_t)at * hsc_type_bytes(s->type);
  if (s->type == s->wanted) {
    if (hsc__type_is_direct(s->type))
      return from;
    hsc__lane_load(s->type, from, count, s->lanes);
  } else {
    hsc__lane_load(s->type, from, count, s->raw);
    hsc__lane_convert(s->type, s->raw, s->wanted, count, s->lanes);
  }
  return s->lanes;
}

static void stream_splat(const stream *s, int64_t count) {
  size_t width = hsc__kind_bytes(hsc__kind_of(s->wanted));
  const unsigned char *one = stream_load(s, 0, 1);
  unsigned char value[16];
  memcpy(value, one, width);
  for (int64_t i = 0; i < count; i++)
    memcpy(s->lanes + (size_t)i * width, value, width);
}

static void store_as(
    hsc_type lane_type, const void *lanes, hsc_type type, int64_t count, unsigned char *dst) {
  if (lane_type == type) {
    hsc__lane_store(type, lanes, count, dst);
    return;
  }
  _Alignas(16) unsigned char converted[HSC__LANE_BYTES];
  hsc__lane_convert(lane_type, lanes, type, count, converted);
  hsc__lane_store(type, converted, count, dst);
}

// `count` streams with their lane buffers in one piece of memory.
static hsc_status *streams_create(int count, stream **out_streams) {
  stream *streams = hsc_alloc((size_t)count * (sizeof(stream) + 2 * (size_t)HSC__LANE_BYTES) + 16);
  if (!streams)
    return hsc_status_out_of_memory();
  unsigned char *at = (unsigned char *)(((uintptr_t)(streams + count) + 15) & ~(uintptr_t)15);
  for (int i = 0; i < count; i++) {
    streams[i].raw = at;
    streams[i].lanes = at + HSC__LANE_BYTES;
    at += 2 * (size_t)HSC__LANE_BYTES;
  }
  *out_streams = streams;
  return NULL;
}

static void streams_destroy(stream *streams, int count) {
  for (int i = 0; streams && i < count; i++)
    hsc_free(streams[i].owned);
  hsc_free(streams);
}

static hsc__value *leaf_of(hsc__value *result, int i) {
  return result->elements ? result->elements[i] : result;
}

// ---- reduce -------------------------------------------------------------------------------------

// Dimensions reordered for the walk: reduced ones first, or kept ones first. Returns true when that
// is the order they have.
static bool reduce_order(const hsc_shape *shape,
                         hsc_dims reduced,
                         bool reduced_first,
                         int64_t *permutation,
                         int64_t *kept_count,
                         int64_t *reduced_count) {
  bool is_reduced[HSC_MAX_RANK] = {false};
  for (int i = 0; i < reduced.count; i++)
    is_reduced[reduced.v[i]] = true;
  int at = 0;
  *kept_count = *reduced_count = 1;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < shape->rank; i++) {
      if (is_reduced[i] != (reduced_first == (pass == 0)))
        continue;
      permutation[at++] = i;
      if (is_reduced[i])
        *reduced_count *= shape->dims[i];
      else
        *kept_count *= shape->dims[i];
    }
  int last = -1;  // dimensions of one do not matter
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[permutation[i]] == 1)
      continue;
    if ((int)permutation[i] < last)
      return false;
    last = (int)permutation[i];
  }
  return true;
}

#define FOLD(expr) \
  for (int64_t i = 0; i < count; i++) { \
    v = x[i]; \
    acc = (expr); \
  } \
  break
// A NaN stays; +0 is larger than -0.
#define KEEPS(wins) (acc != acc || !(v != v || (wins)))
#define FOLD_NUMBERS(T) \
  do { \
    const T *x = lanes; \
    T acc = *(T *)state, v; \
    switch (op) { \
      case HSC_OP_ADD: \
        FOLD(acc + v); \
      case HSC_OP_MULTIPLY: \
        FOLD(acc *v); \
      case HSC_OP_MAXIMUM: \
        FOLD(KEEPS(v > acc || (v == acc && acc == 0 && signbit(acc))) ? acc : v); \
      case HSC_OP_MINIMUM: \
        FOLD(KEEPS(v < acc || (v == acc && v == 0 && signbit(v))) ? acc : v); \
      default: \
        break; \
    } \
    *(T *)state = acc; \
  } while (0)
#define FOLD_INTEGERS(T, U) \
  do { \
    const T *x = lanes; \
    T acc = *(T *)state, v; \
    switch (op) { \
      case HSC_OP_ADD: \
        FOLD((T)((U)acc + (U)v)); \
      case HSC_OP_MULTIPLY: \
        FOLD((T)((U)acc * (U)v)); \
      case HSC_OP_MAXIMUM: \
        FOLD(acc > v ? acc : v); \
      case HSC_OP_MINIMUM: \
        FOLD(acc < v ? acc : v); \
      case HSC_OP_AND: \
        FOLD(acc &v); \
      case HSC_OP_OR: \
        FOLD(acc | v); \
      case HSC_OP_XOR: \
        FOLD(acc ^ v); \
      default: \
        break; \
    } \
    *(T *)state = acc; \
  } while (0)

static bool can_fold(const hsc__plan *plan, hsc_type type) {
  bool real = type == HSC_TYPE_F32 || type == HSC_TYPE_F64;
  if (!real && !hsc_type_is_integral(type) && type != HSC_TYPE_PRED)
    return false;
  switch (plan->single_op) {
    case HSC_OP_ADD:
    case HSC_OP_MULTIPLY:
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
      return true;
    case HSC_OP_AND:
    case HSC_OP_OR:
    case HSC_OP_XOR:
      return !real;
    default:
      return false;
  }
}

// One output element from a contiguous run.
static void fold(hsc_op op, hsc__kind kind, const void *lanes, int64_t count, void *state) {
  switch (kind) {
    case HSC__F32:
      FOLD_NUMBERS(float);
      break;
    case HSC__F64:
      FOLD_NUMBERS(double);
      break;
    case HSC__I64:
      FOLD_INTEGERS(int64_t, uint64_t);
      break;
    default:
      FOLD_INTEGERS(uint64_t, uint64_t);
      break;
  }
}

static void reduce_rows(const hsc__plan *plan,
                        const stream *input,
                        const stream *init,
                        int64_t kept,
                        int64_t reduced,
                        hsc_type out_type,
                        unsigned char *out) {
  hsc__kind kind = hsc__kind_of(input->type);
  size_t out_bytes = hsc_type_bytes(out_type);
  for (int64_t k = 0; k < kept; k++) {
    _Alignas(16) unsigned char state[16];
    memcpy(state, stream_load(init, 0, 1), hsc__kind_bytes(kind));
    for (int64_t at = 0; at < reduced; at += HSC__LANES) {
      int64_t n = reduced - at < HSC__LANES ? reduced - at : HSC__LANES;
      fold(plan->single_op, kind, stream_load(input, k * reduced + at, n), n, state);
    }
    hsc__lane_round(out_type, 1, state);
    hsc__lane_store(out_type, state, 1, out + (size_t)k * out_bytes);
  }
}

hsc_status *hsc__eval_reduce(hsc__eval *cx,
                             const hsc_instr *instr,
                             hsc__value **operands,
                             hsc__value **out_value) {
  int n = instr->operand_count / 2;
  hsc__plan *plan = NULL;
  HSC_TRY(hsc__plan_get(cx, instr->called[0], &plan));
  if (n < 1 || plan->parameter_count != 2 * n || plan->result_count != n)
    return HSC_ERR(INVALID_ARGUMENT, "reduce: its computation does not take %d and give %d scalars",
                   2 * n, n);
  const hsc_shape *shape = &operands[0]->shape;
  int64_t permutation[HSC_MAX_RANK], kept, reduced;
  reduce_order(shape, instr->attr.dims.dims, true, permutation, &kept, &reduced);
  bool rows = n == 1 && kept < 64 && can_fold(plan, shape->type) &&
              plan->parameter_types[0] == shape->type && operands[1]->shape.type == shape->type;
  bool in_order = reduce_order(shape, instr->attr.dims.dims, !rows, permutation, &kept, &reduced);

  hsc_status *status = NULL;
  stream *streams = NULL;  // initial values, then inputs
  const void **arguments = hsc_alloc((size_t)n * 2 * sizeof(*arguments));
  void **accumulators = hsc_alloc((size_t)n * sizeof(*accumulators));
  hsc__value *result = NULL;
  if (!arguments || !accumulators)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(streams_create(2 * n, &streams));
  HSC_GOTO(hsc__value_zeros(&instr->shape, &result));
  for (int i = 0; i < n; i++) {
    stream *init = &streams[i];
    stream *input = &streams[n + i];
    *init = (stream){.type = operands[n + i]->shape.type,
                     .wanted = plan->parameter_types[i],
                     .data = operands[n + i]->data,
                     .raw = init->raw,
                     .lanes = init->lanes};
    *input = (stream){.type = operands[i]->shape.type,
                      .wanted = plan->parameter_types[n + i],
                      .data = operands[i]->data,
                      .raw = input->raw,
                      .lanes = input->lanes};
    if (!in_order && kept * reduced > 0) {
      HSC_GOTO(hsc__transposed(operands[i], permutation, &input->owned));
      input->data = input->owned;
    }
  }
  if (rows) {
    reduce_rows(plan, &streams[1], &streams[0], kept, reduced, instr->shape.type, result->data);
  } else {
    for (int64_t at = 0; at < kept; at += HSC__LANES) {
      int64_t count = kept - at < HSC__LANES ? kept - at : HSC__LANES;
      for (int i = 0; i < n; i++) {
        stream_splat(&streams[i], count);
        arguments[i] = accumulators[i] = streams[i].lanes;
      }
      for (int64_t r = 0; r < reduced; r++) {
        for (int i = 0; i < n; i++)
          arguments[n + i] = stream_load(&streams[n + i], r * kept + at, count);
        HSC_GOTO(hsc__plan_run(cx, plan, count, arguments, accumulators));
      }
      for (int i = 0; i < n; i++) {
        hsc__value *leaf = leaf_of(result, i);
        store_as(plan->result_types[i], streams[i].lanes, leaf->shape.type, count,
                 leaf->data + (size_t)at * hsc_type_bytes(leaf->shape.type));
      }
    }
  }
  *out_value = result;
  result = NULL;
done:
  hsc__value_release(result);
  streams_destroy(streams, 2 * n);
  hsc_free(arguments);
  hsc_free(accumulators);
  return status;
}

// ---- map ----------------------------------------------------------------------------------------

hsc_status *hsc__eval_map(hsc__eval *cx,
                          const hsc_instr *instr,
                          hsc__value **operands,
                          hsc__value **out_value) {
  int n = instr->operand_count;
  hsc__plan *plan = NULL;
  HSC_TRY(hsc__plan_get(cx, instr->called[0], &plan));
  if (plan->parameter_count != n || plan->result_count != 1)
    return HSC_ERR(INVALID_ARGUMENT, "map: its computation does not take %d scalars and give one",
                   n);
  hsc_status *status = NULL;
  stream *streams = NULL;
  hsc__value *result = NULL;
  const void **arguments = hsc_alloc((size_t)n * sizeof(*arguments));
  unsigned char *lanes = hsc_alloc(HSC__LANE_BYTES);
  void *results[1] = {lanes};
  if (!arguments || !lanes)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(streams_create(n, &streams));
  HSC_GOTO(hsc__value_array(&instr->shape, &result));
  for (int i = 0; i < n; i++)
    streams[i] = (stream){.type = operands[i]->shape.type,
                          .wanted = plan->parameter_types[i],
                          .data = operands[i]->data,
                          .raw = streams[i].raw,
                          .lanes = streams[i].lanes};
  int64_t total = hsc_shape_elements(&instr->shape);
  for (int64_t at = 0; at < total; at += HSC__LANES) {
    int64_t count = total - at < HSC__LANES ? total - at : HSC__LANES;
    for (int i = 0; i < n; i++)
      arguments[i] = stream_load(&streams[i], at, count);
    HSC_GOTO(hsc__plan_run(cx, plan, count, arguments, results));
    store_as(plan->result_types[0], lanes, instr->shape.type, count,
             result->data + (size_t)at * hsc_type_bytes(instr->shape.type));
  }
  *out_value = result;
  result = NULL;
done:
  hsc__value_release(result);
  streams_destroy(streams, n);
  hsc_free(arguments);
  hsc_free(lanes);
  return status;
}

// ---- scan ---------------------------------------------------------------------------------------

// scan(inputs..., initial carries...): for each position of a dimension, in order or in reverse,
// the computation takes the inputs' slices (without that dimension) and the carries, and gives
// outputs and new carries. The result is the stacked outputs, then the last carries.
// XLA: xla/service/scan_expander.cc.
static int carry_count(const hsc_instr *instr) {
  const char *at = instr->extra_attributes ? strstr(instr->extra_attributes, "num_carries=") : NULL;
  return at ? atoi(at + strlen("num_carries=")) : 0;
}

// Copies one position of `dimension` between an array and its slice.
static void copy_slice(const hsc_shape *array,
                       int64_t dimension,
                       int64_t position,
                       unsigned char *data,
                       unsigned char *slice,
                       bool to_slice) {
  int64_t strides[HSC_MAX_RANK];
  int64_t kept[HSC_MAX_RANK];
  int64_t array_strides[HSC_MAX_RANK];
  int64_t slice_strides[HSC_MAX_RANK];
  int64_t stride = 1;
  size_t bytes = hsc_type_bytes(array->type);
  int rank = 0;
  hsc__strides(array, strides);
  for (int i = 0; i < array->rank; i++) {
    if (i == dimension)
      continue;
    kept[rank] = array->dims[i];
    array_strides[rank++] = strides[i];
  }
  for (int i = rank - 1; i >= 0; i--) {
    slice_strides[i] = stride;
    stride *= kept[i];
  }
  data += (size_t)(position * strides[dimension]) * bytes;
  if (stride == 0)
    return;
  if (to_slice)
    hsc__copy_strided(rank, kept, bytes, slice, slice_strides, data, array_strides);
  else
    hsc__copy_strided(rank, kept, bytes, data, array_strides, slice, slice_strides);
}

static bool is_slice_of(const hsc_shape *slice,
                        const hsc_shape *array,
                        int64_t dimension,
                        int64_t length) {
  if (!hsc_shape_is_array(slice) || !hsc_shape_is_array(array) || dimension >= array->rank ||
      array->dims[dimension] != length || slice->rank != array->rank - 1 ||
      slice->type != array->type)
    return false;
  for (int i = 0, k = 0; i < array->rank; i++)
    if (i != dimension && array->dims[i] != slice->dims[k++])
      return false;
  return true;
}

// The shape rule of scan takes its result as given, so the slices are checked here.
static hsc_status *check_scan(const hsc_instr *instr,
                              hsc__value **operands,
                              int inputs,
                              int outputs) {
  const hsc_computation *body = instr->called[0];
  if (instr->attr.dims.dims.count != 1 || instr->attr.dims.dims.v[0] < 0 ||
      instr->attr.dims.dims.v[0] >= operands[0]->shape.rank)
    return HSC_ERR(INVALID_ARGUMENT, "scan: it does not name one dimension of its inputs");
  int64_t dimension = instr->attr.dims.dims.v[0];
  int64_t length = operands[0]->shape.dims[dimension];
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_shape *wanted = &body->parameters[i]->shape;
    const hsc_shape *given = &operands[i]->shape;
    if (i < inputs ? !is_slice_of(wanted, given, dimension, length)
                   : !hsc_shape_equal(wanted, given))
      return HSC_ERR(INVALID_ARGUMENT,
                     "scan: operand %d does not fit parameter %d of its computation", i, i);
  }
  for (int i = 0; i < outputs; i++) {
    const hsc_shape *array =
        hsc_shape_is_tuple(&instr->shape) ? &instr->shape.elements[i] : &instr->shape;
    const hsc_shape *slice = hsc_shape_is_tuple(&body->root->shape) ? &body->root->shape.elements[i]
                                                                    : &body->root->shape;
    if (!is_slice_of(slice, array, dimension, length))
      return HSC_ERR(INVALID_ARGUMENT,
                     "scan: result %d does not stack result %d of its computation", i, i);
  }
  return NULL;
}

hsc_status *hsc__eval_scan(hsc__eval *cx,
                           const hsc_instr *instr,
                           hsc__value **operands,
                           hsc__value **out_value) {
  const hsc_computation *body = instr->called[0];
  int carries = carry_count(instr);
  int inputs = instr->operand_count - carries;
  bool is_tuple = hsc_shape_is_tuple(&instr->shape);
  bool body_tuple = hsc_shape_is_tuple(&body->root->shape);
  int results = is_tuple ? instr->shape.element_count : 1;
  int outputs = results - carries;
  if (carries < 0 || inputs < 1 || outputs < 0 || body->parameter_count != instr->operand_count ||
      (body_tuple ? body->root->shape.element_count : 1) != results)
    return HSC_ERR(INVALID_ARGUMENT,
                   "scan: %d operands, %d carries and %d results do not fit its computation",
                   (int)instr->operand_count, carries, results);
  HSC_TRY(check_scan(instr, operands, inputs, outputs));
  int64_t dimension = instr->attr.dims.dims.v[0];
  int64_t length = operands[0]->shape.dims[dimension];
  hsc_status *status = NULL;
  hsc__value *all = NULL;
  hsc__value *step = NULL;
  hsc__value **arguments = hsc_alloc((size_t)instr->operand_count * sizeof(*arguments));
  hsc__value **state = hsc_alloc((size_t)(carries + 1) * sizeof(*state));
  if (!arguments || !state)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc__value_zeros(&instr->shape, &all));
  for (int i = 0; i < carries; i++)
    state[i] = hsc__value_retain(operands[inputs + i]);
  for (int64_t at = 0; at < length; at++) {
    int64_t position = instr->attr.dims.is_reverse ? length - 1 - at : at;
    for (int i = 0; i < inputs; i++) {
      HSC_GOTO(hsc__value_array(&body->parameters[i]->shape, &arguments[i]));
      copy_slice(&operands[i]->shape, dimension, position, operands[i]->data, arguments[i]->data,
                 true);
    }
    for (int i = 0; i < carries; i++) {
      arguments[inputs + i] = state[i];
      state[i] = NULL;
    }
    HSC_GOTO(hsc__eval_run(cx, body, instr->operand_count, arguments, &step));
    for (int i = 0; i < results; i++) {
      hsc__value *result = body_tuple ? step->elements[i] : step;
      if (i >= outputs) {
        state[i - outputs] = hsc__value_retain(result);
      } else {
        hsc__value *to = is_tuple ? all->elements[i] : all;
        copy_slice(&to->shape, dimension, position, to->data, result->data, false);
      }
    }
    hsc__value_release(step);
    step = NULL;
  }
  for (int i = 0; i < carries; i++) {
    hsc__value **place = is_tuple ? &all->elements[outputs + i] : &all;
    hsc__value_release(*place);
    *place = state[i];
    state[i] = NULL;
  }
  *out_value = all;
  all = NULL;
done:
  for (int i = 0; arguments && i < instr->operand_count; i++)
    hsc__value_release(arguments[i]);
  for (int i = 0; state && i < carries; i++)
    hsc__value_release(state[i]);
  hsc__value_release(step);
  hsc__value_release(all);
  hsc_free(arguments);
  hsc_free(state);
  return status;
}
