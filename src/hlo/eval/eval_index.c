// eval_index.c - gather and scatter. Start indices come as vectors along index_vector_dim; a gather
// clamps them so that the slice fits, a scatter skips a window that does not lie inside as a whole.
#include "hlo/eval/eval_internal.h"

// What gather and scatter have in common: how positions in the big array come from an index into
// the batch of start indices.
typedef struct indexing {
  const hsc_gather_dims *dims;
  const hsc__value *indices;
  const hsc_shape *big;  // operand
  int batch_rank;        // dimensions of `indices` without the vector
  int64_t batch_dims[HSC_MAX_RANK];
  int64_t batch_strides[HSC_MAX_RANK];  // in elements of `indices`
  int64_t vector_stride;
  int window_rank;  // dimensions of `big` that the slice keeps, in order
  int64_t window_big[HSC_MAX_RANK];
} indexing;

static void indexing_init(indexing *x,
                          const hsc_gather_dims *dims,
                          const hsc__value *indices,
                          const hsc_shape *big) {
  *x = (indexing){.dims = dims, .indices = indices, .big = big, .vector_stride = 1};
  int64_t strides[HSC_MAX_RANK];
  hsc__strides(&indices->shape, strides);
  for (int i = 0; i < indices->shape.rank; i++) {
    if (i == dims->index_vector_dim) {
      x->vector_stride = strides[i];
      continue;
    }
    x->batch_dims[x->batch_rank] = indices->shape.dims[i];
    x->batch_strides[x->batch_rank++] = strides[i];
  }
  for (int i = 0; i < big->rank; i++)
    if (!hsc_dims_contain(dims->collapsed_slice_dims, i) &&
        !hsc_dims_contain(dims->operand_batching_dims, i))
      x->window_big[x->window_rank++] = i;
}

// Start in `big` for one position of the batch; not clamped. Batching dimensions start at the
// position's own coordinate.
static void start_of(const indexing *x, const int64_t *batch, int64_t *start) {
  int64_t at = 0;
  for (int i = 0; i < x->big->rank; i++)
    start[i] = 0;
  for (int i = 0; i < x->batch_rank; i++)
    at += batch[i] * x->batch_strides[i];
  bool is_unsigned = hsc_type_class_of(x->indices->shape.type) == HSC_CLASS_UNSIGNED;
  for (int i = 0; i < x->dims->start_index_map.count; i++) {
    int64_t value = hsc__get_int(x->indices, at + i * x->vector_stride);
    if (is_unsigned && value < 0)
      value = INT64_MAX;  // a large u64
    start[x->dims->start_index_map.v[i]] = value;
  }
  for (int i = 0; i < x->dims->operand_batching_dims.count; i++) {
    int64_t dimension = x->dims->start_indices_batching_dims.v[i];
    start[x->dims->operand_batching_dims.v[i]] =
        batch[dimension > x->dims->index_vector_dim ? dimension - 1 : dimension];
  }
}

// Splits the dimensions of the small array (gather's result, scatter's updates) into window and
// batch, with strides.
static void split_small(const indexing *x,
                        const hsc_shape *small,
                        int64_t *window_dims,
                        int64_t *window_strides,
                        int64_t *batch_strides) {
  int64_t strides[HSC_MAX_RANK];
  int window = 0;
  int batch = 0;
  hsc__strides(small, strides);
  for (int i = 0; i < small->rank; i++) {
    if (hsc_dims_contain(x->dims->offset_dims, i)) {
      window_dims[window] = small->dims[i];
      window_strides[window++] = strides[i];
    } else {
      batch_strides[batch++] = strides[i];
    }
  }
}

hsc_status *hsc__eval_gather(hsc__eval *cx,
                             const hsc_instr *instr,
                             hsc__value **operands,
                             hsc__value **out_value) {
  (void)cx;
  const hsc_gather_dims *dims = &instr->attr.gather;
  const hsc_shape *big = &operands[0]->shape;
  const hsc_shape *out = &instr->shape;
  indexing x;
  indexing_init(&x, dims, operands[1], big);
  HSC_TRY(hsc__value_array(out, out_value));
  if (hsc_shape_elements(out) == 0)
    return NULL;
  size_t element_bytes = hsc_type_bytes(out->type);
  int64_t window_dims[HSC_MAX_RANK], window_strides[HSC_MAX_RANK], batch_strides[HSC_MAX_RANK],
      big_strides[HSC_MAX_RANK], from[HSC_MAX_RANK];
  split_small(&x, out, window_dims, window_strides, batch_strides);
  hsc__strides(big, big_strides);
  for (int i = 0; i < x.window_rank; i++)
    from[i] = big_strides[x.window_big[i]];
  int64_t batch[HSC_MAX_RANK] = {0};
  int64_t start[HSC_MAX_RANK];
  do {
    start_of(&x, batch, start);
    int64_t source = 0;
    int64_t target = 0;
    for (int i = 0; i < big->rank; i++) {
      int64_t last = big->dims[i] - dims->slice_sizes.v[i];
      if (start[i] > last)
        start[i] = last;
      if (start[i] < 0)
        start[i] = 0;
      source += start[i] * big_strides[i];
    }
    for (int i = 0; i < x.batch_rank; i++)
      target += batch[i] * batch_strides[i];
    hsc__copy_strided(x.window_rank, window_dims, element_bytes,
                      (*out_value)->data + target * (int64_t)element_bytes, window_strides,
                      operands[0]->data + source * (int64_t)element_bytes, from);
  } while (hsc__next_index(x.batch_rank, x.batch_dims, batch));
  return NULL;
}

// ---- scatter ------------------------------------------------------------------------------------

// Everything that one run of the combiner needs: N arrays, N updates.
typedef struct combiner {
  hsc__eval *cx;
  hsc__plan *plan;
  int count;
  hsc__value **arrays, **updates;
  unsigned char *lanes;  // 2 * count lanes for arguments, one of scratch
  const void **arguments;
  void **results;
} combiner;

static unsigned char *lane_at(const combiner *c, int i) {
  return c->lanes + (size_t)i * HSC__LANE_BYTES;
}

static void load_as(const combiner *c,
                    hsc_type from,
                    hsc_type to,
                    const unsigned char *src,
                    int64_t count,
                    unsigned char *lanes) {
  if (from == to) {
    hsc__lane_load(from, src, count, lanes);
    return;
  }
  unsigned char *scratch = lane_at(c, 2 * c->count);
  hsc__lane_load(from, src, count, scratch);
  hsc__lane_convert(from, scratch, to, count, lanes);
}

// Combines `run` updates that are contiguous on both sides.
static hsc_status *combine(combiner *c, int64_t target, int64_t source, int64_t run) {
  for (int64_t at = 0; at < run; at += HSC__LANES) {
    int64_t n = run - at < HSC__LANES ? run - at : HSC__LANES;
    for (int i = 0; i < c->count; i++) {
      hsc_type type = c->arrays[i]->shape.type;
      hsc_type update_type = c->updates[i]->shape.type;
      unsigned char *to = c->arrays[i]->data + (size_t)(target + at) * hsc_type_bytes(type);
      const unsigned char *update =
          c->updates[i]->data + (size_t)(source + at) * hsc_type_bytes(update_type);
      load_as(c, type, c->plan->parameter_types[i], to, n, lane_at(c, i));
      load_as(c, update_type, c->plan->parameter_types[c->count + i], update, n,
              lane_at(c, c->count + i));
      c->arguments[i] = lane_at(c, i);
      c->arguments[c->count + i] = lane_at(c, c->count + i);
      c->results[i] = lane_at(c, i);
    }
    HSC_TRY(hsc__plan_run(c->cx, c->plan, n, c->arguments, c->results));
    for (int i = 0; i < c->count; i++) {
      hsc_type type = c->arrays[i]->shape.type;
      hsc_type given = c->plan->result_types[i];
      unsigned char *to = c->arrays[i]->data + (size_t)(target + at) * hsc_type_bytes(type);
      unsigned char *lanes = lane_at(c, i);
      if (given != type) {
        hsc__lane_convert(given, lanes, type, n, lane_at(c, 2 * c->count));
        lanes = lane_at(c, 2 * c->count);
      }
      hsc__lane_store(type, lanes, n, to);
    }
  }
  return NULL;
}

static hsc_status *scatter_all(combiner *c, const indexing *x, const hsc_shape *updates) {
  const hsc_shape *big = x->big;
  int64_t window_dims[HSC_MAX_RANK], window_strides[HSC_MAX_RANK], batch_strides[HSC_MAX_RANK],
      big_strides[HSC_MAX_RANK];
  split_small(x, updates, window_dims, window_strides, batch_strides);
  hsc__strides(big, big_strides);
  // The innermost window dimension is combined in one go when it is contiguous on both sides.
  int inner = x->window_rank - 1;
  bool joined = inner >= 0 && window_strides[inner] == 1 && big_strides[x->window_big[inner]] == 1;
  int outer = joined ? inner : x->window_rank;
  int64_t run = joined ? window_dims[inner] : 1;
  int64_t batch[HSC_MAX_RANK] = {0};
  int64_t start[HSC_MAX_RANK];
  do {
    start_of(x, batch, start);
    bool inside = true;
    for (int i = 0, w = 0; i < big->rank && inside; i++) {
      int64_t size = w < x->window_rank && x->window_big[w] == i ? window_dims[w++] : 1;
      inside = start[i] >= 0 && start[i] <= big->dims[i] - size;
    }
    if (!inside)
      continue;
    int64_t target = 0;
    int64_t source = 0;
    int64_t window[HSC_MAX_RANK] = {0};
    for (int i = 0; i < big->rank; i++)
      target += start[i] * big_strides[i];
    for (int i = 0; i < x->batch_rank; i++)
      source += batch[i] * batch_strides[i];
    do {
      int64_t to = target;
      int64_t from = source;
      for (int i = 0; i < outer; i++) {
        to += window[i] * big_strides[x->window_big[i]];
        from += window[i] * window_strides[i];
      }
      HSC_TRY(combine(c, to, from, run));
    } while (hsc__next_index(outer, window_dims, window));
  } while (hsc__next_index(x->batch_rank, x->batch_dims, batch));
  return NULL;
}

hsc_status *hsc__eval_scatter(hsc__eval *cx,
                              const hsc_instr *instr,
                              hsc__value **operands,
                              hsc__value **out_value) {
  int n = (instr->operand_count - 1) / 2;
  combiner c = {.cx = cx, .count = n, .updates = operands + n + 1};
  HSC_TRY(hsc__plan_get(cx, instr->called[0], &c.plan));
  if (n < 1 || c.plan->parameter_count != 2 * n || c.plan->result_count != n)
    return HSC_ERR(INVALID_ARGUMENT,
                   "scatter: its computation does not take %d and give %d scalars", 2 * n, n);
  indexing x;
  indexing_init(&x, &instr->attr.scatter, operands[n], &operands[0]->shape);
  hsc_status *status = NULL;
  c.arrays = hsc_alloc((size_t)n * sizeof(*c.arrays));
  c.arguments = hsc_alloc((size_t)n * 2 * sizeof(*c.arguments));
  c.results = hsc_alloc((size_t)n * sizeof(*c.results));
  c.lanes = hsc_alloc((size_t)(2 * n + 1) * HSC__LANE_BYTES);
  if (!c.arrays || !c.arguments || !c.results || !c.lanes)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int i = 0; i < n; i++) {
    const hsc_shape *shape =
        hsc_shape_is_tuple(&instr->shape) ? &instr->shape.elements[i] : &instr->shape;
    HSC_GOTO(hsc__value_writable(operands[i], shape, &c.arrays[i]));
  }
  if (hsc_shape_elements(&operands[n + 1]->shape) > 0)
    HSC_GOTO(scatter_all(&c, &x, &operands[n + 1]->shape));
  if (hsc_shape_is_tuple(&instr->shape))
    HSC_GOTO(hsc__value_tuple(&instr->shape, c.arrays, out_value));
  else
    *out_value = hsc__value_retain(c.arrays[0]);
done:
  for (int i = 0; c.arrays && i < n; i++)
    hsc__value_release(c.arrays[i]);
  hsc_free(c.arrays);
  hsc_free(c.arguments);
  hsc_free(c.results);
  hsc_free(c.lanes);
  return status;
}
