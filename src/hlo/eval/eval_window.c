// eval_window.c - reduce-window and select-and-scatter: windows with strides, padding (negative
// too), dilations of base and window.
//
// Where window position w over output o reads is separable by dimension, so there is one small
// table a dimension: offset in the operand, or -1 when it falls into padding or between dilated
// elements.
#include "hlo/eval/eval_internal.h"

typedef struct windows {
  int rank;
  int64_t out_dims[HSC_MAX_RANK], sizes[HSC_MAX_RANK];
  int64_t *offsets[HSC_MAX_RANK];  // [out_dims * sizes]
  int64_t *memory;
  int64_t window_count;  // positions in a window
} windows;

static hsc_status *windows_init(windows *w,
                                const hsc_window *window,
                                const hsc_shape *operand,
                                const hsc_shape *out) {
  *w = (windows){.rank = operand->rank, .window_count = 1};
  int64_t strides[HSC_MAX_RANK];
  int64_t room = 0;
  hsc__strides(operand, strides);
  for (int i = 0; i < w->rank; i++) {
    w->out_dims[i] = out->dims[i];
    w->sizes[i] = window->dims[i].size;
    w->window_count *= w->sizes[i];
    room += w->out_dims[i] * w->sizes[i];
  }
  w->memory = hsc_alloc((size_t)room * sizeof(int64_t));
  if (!w->memory)
    return hsc_status_out_of_memory();
  int64_t *at = w->memory;
  for (int i = 0; i < w->rank; i++) {
    const hsc_window_dim *d = &window->dims[i];
    w->offsets[i] = at;
    for (int64_t o = 0; o < w->out_dims[i]; o++)
      for (int64_t k = 0; k < d->size; k++) {
        int64_t p =
            o * d->stride - d->pad_low + (d->reversal ? d->size - 1 - k : k) * d->window_dilation;
        bool inside =
            p >= 0 && p % d->base_dilation == 0 && p / d->base_dilation < operand->dims[i];
        *at++ = inside ? p / d->base_dilation * strides[i] : -1;
      }
  }
  return NULL;
}

// Offset in the operand, or -1.
static int64_t offset_of(const windows *w, const int64_t *out, const int64_t *k) {
  int64_t sum = 0;
  for (int i = 0; i < w->rank; i++) {
    int64_t offset = w->offsets[i][out[i] * w->sizes[i] + k[i]];
    if (offset < 0)
      return -1;
    sum += offset;
  }
  return sum;
}

// ---- reduce-window ------------------------------------------------------------------------------

typedef struct fold {
  hsc__eval *cx;
  hsc__plan *plan;
  int count;
  hsc__value **inputs, **inits, *result;
  unsigned char *lanes;  // accumulators, inputs, raw
  const void **arguments;
  void **results;
} fold;

static unsigned char *lane_at(const fold *f, int i) {
  return f->lanes + (size_t)i * HSC__LANE_BYTES;
}

static void gather_lanes(const fold *f, int input, const int64_t *offsets, int64_t count) {
  const hsc__value *value = f->inputs[input];
  hsc_type type = value->shape.type;
  hsc_type wanted = f->plan->parameter_types[f->count + input];
  size_t bytes = hsc_type_bytes(type);
  unsigned char *raw = lane_at(f, 2 * f->count);
  unsigned char *loaded =
      type == wanted ? lane_at(f, f->count + input) : lane_at(f, 2 * f->count + 1);
  switch (bytes) {
    case 4:
      for (int64_t i = 0; i < count; i++)
        memcpy(raw + i * 4, value->data + offsets[i] * 4, 4);
      break;
    case 2:
      for (int64_t i = 0; i < count; i++)
        memcpy(raw + i * 2, value->data + offsets[i] * 2, 2);
      break;
    default:
      for (int64_t i = 0; i < count; i++)
        memcpy(raw + (size_t)i * bytes, value->data + (size_t)offsets[i] * bytes, bytes);
      break;
  }
  hsc__lane_load(type, raw, count, loaded);
  if (type != wanted)
    hsc__lane_convert(type, loaded, wanted, count, lane_at(f, f->count + input));
}

static void splat_init(const fold *f, int input, int64_t count) {
  const hsc__value *init = f->inits[input];
  hsc_type wanted = f->plan->parameter_types[input];
  size_t width = hsc__kind_bytes(hsc__kind_of(wanted));
  unsigned char *lanes = lane_at(f, input);
  unsigned char *raw = lane_at(f, 2 * f->count);
  hsc__lane_load(init->shape.type, init->data, 1, raw);
  hsc__lane_convert(init->shape.type, raw, wanted, 1, lanes);
  for (int64_t i = 1; i < count; i++)
    memcpy(lanes + (size_t)i * width, lanes, width);
}

// Keeps lanes whose window position holds an element at the front: folds only those, then puts them
// back.
static hsc_status *fold_position(
    fold *f, const int64_t *offsets, const int64_t *valid, int64_t valid_count, int64_t count) {
  bool all = valid_count == count;
  unsigned char *packed = lane_at(f, 2 * f->count + 2);
  for (int i = 0; i < f->count; i++) {
    gather_lanes(f, i, offsets, valid_count);
    f->arguments[f->count + i] = lane_at(f, f->count + i);
    f->arguments[i] = f->results[i] = lane_at(f, i);
    if (all)
      continue;
    size_t width = hsc__kind_bytes(hsc__kind_of(f->plan->parameter_types[i]));
    unsigned char *to = packed + (size_t)i * HSC__LANE_BYTES;
    for (int64_t k = 0; k < valid_count; k++)
      memcpy(to + (size_t)k * width, lane_at(f, i) + (size_t)valid[k] * width, width);
    f->arguments[i] = f->results[i] = to;
  }
  HSC_TRY(hsc__plan_run(f->cx, f->plan, valid_count, f->arguments, f->results));
  for (int i = 0; i < f->count && !all; i++) {
    size_t width = hsc__kind_bytes(hsc__kind_of(f->plan->parameter_types[i]));
    const unsigned char *from = packed + (size_t)i * HSC__LANE_BYTES;
    for (int64_t k = 0; k < valid_count; k++)
      memcpy(lane_at(f, i) + (size_t)valid[k] * width, from + (size_t)k * width, width);
  }
  return NULL;
}

static hsc_status *fold_windows(fold *f, const windows *w, const hsc_shape *out) {
  int64_t total = hsc_shape_elements(out);
  int64_t first[HSC_MAX_RANK] = {0};
  int64_t offsets[HSC__LANES], valid[HSC__LANES];
  for (int64_t at = 0; at < total; at += HSC__LANES) {
    int64_t count = total - at < HSC__LANES ? total - at : HSC__LANES;
    int64_t k[HSC_MAX_RANK] = {0};
    int64_t index[HSC_MAX_RANK];
    for (int i = 0; i < f->count; i++)
      splat_init(f, i, count);
    if (w->window_count > 0) {
      do {
        int64_t valid_count = 0;
        memcpy(index, first, sizeof(index));
        for (int64_t lane = 0; lane < count; lane++) {
          int64_t offset = offset_of(w, index, k);
          if (offset >= 0) {
            offsets[valid_count] = offset;
            valid[valid_count++] = lane;
          }
          hsc__next_index(w->rank, w->out_dims, index);
        }
        if (valid_count > 0)
          HSC_TRY(fold_position(f, offsets, valid, valid_count, count));
      } while (hsc__next_index(w->rank, w->sizes, k));
    }
    for (int64_t lane = 0; lane < count; lane++)
      hsc__next_index(w->rank, w->out_dims, first);
    for (int i = 0; i < f->count; i++) {
      hsc__value *leaf = f->result->elements ? f->result->elements[i] : f->result;
      hsc_type type = leaf->shape.type;
      hsc_type given = f->plan->result_types[i];
      unsigned char *lanes = lane_at(f, i);
      if (given != type) {
        hsc__lane_convert(given, lanes, type, count, lane_at(f, 2 * f->count));
        lanes = lane_at(f, 2 * f->count);
      }
      hsc__lane_store(type, lanes, count, leaf->data + (size_t)at * hsc_type_bytes(type));
    }
  }
  return NULL;
}

hsc_status *hsc__eval_reduce_window(hsc__eval *cx,
                                    const hsc_instr *instr,
                                    hsc__value **operands,
                                    hsc__value **out_value) {
  int n = instr->operand_count / 2;
  fold f = {.cx = cx, .count = n, .inputs = operands, .inits = operands + n};
  HSC_TRY(hsc__plan_get(cx, instr->called[0], &f.plan));
  if (n < 1 || f.plan->parameter_count != 2 * n || f.plan->result_count != n)
    return HSC_ERR(INVALID_ARGUMENT,
                   "reduce-window: its computation does not take %d and give %d scalars", 2 * n, n);
  const hsc_shape *out =
      hsc_shape_is_tuple(&instr->shape) ? &instr->shape.elements[0] : &instr->shape;
  windows w = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc__value_zeros(&instr->shape, &f.result));
  HSC_GOTO(windows_init(&w, &instr->attr.window.window, &operands[0]->shape, out));
  f.lanes = hsc_alloc((size_t)(3 * n + 2) * HSC__LANE_BYTES);
  f.arguments = hsc_alloc((size_t)n * 2 * sizeof(*f.arguments));
  f.results = hsc_alloc((size_t)n * sizeof(*f.results));
  if (!f.lanes || !f.arguments || !f.results)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(fold_windows(&f, &w, out));
  *out_value = f.result;
  f.result = NULL;
done:
  hsc__value_release(f.result);
  hsc_free(w.memory);
  hsc_free(f.lanes);
  hsc_free(f.arguments);
  hsc_free(f.results);
  return status;
}

// ---- select-and-scatter -------------------------------------------------------------------------

static hsc_status *run_pair(
    hsc__eval *cx, hsc__plan *plan, const void *a, const void *b, void *out) {
  const void *arguments[2] = {a, b};
  void *results[1] = {out};
  return hsc__plan_run(cx, plan, 1, arguments, results);
}

// For each element of the source: walk its window, keep the first element unless select(kept, next)
// is false, and combine the source into the result where the kept one is.
hsc_status *hsc__eval_select_and_scatter(hsc__eval *cx,
                                         const hsc_instr *instr,
                                         hsc__value **operands,
                                         hsc__value **out_value) {
  hsc__plan *select = NULL;
  hsc__plan *scatter = NULL;
  HSC_TRY(hsc__plan_get(cx, instr->called[0], &select));
  HSC_TRY(hsc__plan_get(cx, instr->called[1], &scatter));
  if (select->parameter_count != 2 || scatter->parameter_count != 2)
    return HSC_ERR(INVALID_ARGUMENT,
                   "select-and-scatter: its computations do not take two scalars");
  const hsc_shape *shape = &operands[0]->shape;
  const hsc_shape *source = &operands[1]->shape;
  hsc_type type = shape->type;
  hsc_type source_type = source->type;
  hsc_type out_type = instr->shape.type;
  size_t bytes = hsc_type_bytes(type);
  size_t source_bytes = hsc_type_bytes(source_type);
  size_t out_bytes = hsc_type_bytes(out_type);
  unsigned char *buffers = hsc_alloc((size_t)4 * HSC__LANE_BYTES);
  unsigned char *kept = buffers;
  unsigned char *next = buffers + HSC__LANE_BYTES;
  unsigned char *answer = buffers + 2 * HSC__LANE_BYTES;
  unsigned char *value = buffers + 3 * HSC__LANE_BYTES;
  windows w = {0};
  hsc__value *result = NULL;
  hsc_status *status = NULL;
  if (!buffers)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(windows_init(&w, &instr->attr.window.window, shape, source));
  HSC_GOTO(hsc__value_array(&instr->shape, &result));
  int64_t total = hsc_shape_elements(shape);
  int64_t one = 1;
  int64_t zero = 0;
  if (total > 0)
    hsc__copy_strided(1, &total, out_bytes, result->data, &one, operands[2]->data, &zero);
  int64_t out[HSC_MAX_RANK] = {0};
  int64_t source_at = 0;
  if (hsc_shape_elements(source) > 0 && w.window_count > 0) {
    do {
      int64_t k[HSC_MAX_RANK] = {0};
      int64_t chosen = -1;
      do {
        int64_t offset = offset_of(&w, out, k);
        if (offset < 0)
          continue;
        hsc__lane_load(type, operands[0]->data + (size_t)offset * bytes, 1, next);
        if (chosen >= 0) {
          HSC_GOTO(run_pair(cx, select, kept, next, answer));
          if (*(uint64_t *)answer)
            continue;
        }
        memcpy(kept, next, 16);
        chosen = offset;
      } while (hsc__next_index(w.rank, w.sizes, k));
      if (chosen >= 0) {
        unsigned char *to = result->data + (size_t)chosen * out_bytes;
        hsc__lane_load(out_type, to, 1, kept);
        hsc__lane_load(source_type, operands[1]->data + (size_t)source_at * source_bytes, 1, value);
        HSC_GOTO(run_pair(cx, scatter, value, kept, answer));
        hsc__lane_store(out_type, answer, 1, to);
      }
      source_at++;
    } while (hsc__next_index(w.rank, w.out_dims, out));
  }
  *out_value = result;
  result = NULL;
done:
  hsc__value_release(result);
  hsc_free(w.memory);
  hsc_free(buffers);
  return status;
}
