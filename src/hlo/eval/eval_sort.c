// eval_sort.c - sort (always stable, any comparator over any number of operands) and topk.
#include <stdlib.h>

#include "hlo/ir/custom.h"
#include "hlo/eval/eval_internal.h"

typedef struct sorter {
  hsc__eval *cx;
  hsc__plan *plan;
  int count;               // operands
  unsigned char **rows;    // [count]: lanes of the row that is being sorted
  size_t *widths;          // [count]
  const void **arguments;  // [2 * count]
  uint64_t *answer;        // lane of the comparator's result
  int64_t *order, *other;  // permutations of the row
} sorter;

static hsc_status *is_before(sorter *s, int64_t a, int64_t b, bool *out_before) {
  for (int i = 0; i < s->count; i++) {
    s->arguments[2 * i] = s->rows[i] + (size_t)a * s->widths[i];
    s->arguments[2 * i + 1] = s->rows[i] + (size_t)b * s->widths[i];
  }
  void *results[1] = {s->answer};
  HSC_TRY(hsc__plan_run(s->cx, s->plan, 1, s->arguments, results));
  *out_before = s->answer[0] != 0;
  return NULL;
}

// Bottom-up merge sort of order[0..length): an element of the right run goes first only when it is
// strictly before the left one.
static hsc_status *merge_sort(sorter *s, int64_t length) {
  for (int64_t i = 0; i < length; i++)
    s->order[i] = i;
  for (int64_t width = 1; width < length; width *= 2) {
    for (int64_t start = 0; start < length; start += 2 * width) {
      int64_t middle = start + width < length ? start + width : length;
      int64_t end = start + 2 * width < length ? start + 2 * width : length;
      int64_t left = start;
      int64_t right = middle;
      int64_t at = start;
      while (left < middle && right < end) {
        bool right_first = false;
        HSC_TRY(is_before(s, s->order[right], s->order[left], &right_first));
        s->other[at++] = right_first ? s->order[right++] : s->order[left++];
      }
      while (left < middle)
        s->other[at++] = s->order[left++];
      while (right < end)
        s->other[at++] = s->order[right++];
    }
    int64_t *swap = s->order;
    s->order = s->other;
    s->other = swap;
  }
  return NULL;
}

static hsc_status *sort_rows(sorter *s,
                             const hsc_instr *instr,
                             hsc__value **operands,
                             hsc__value *result) {
  const hsc_shape *shape = &operands[0]->shape;
  int64_t dimension = shape->rank ? instr->attr.dims.dims.v[0] : 0;
  int64_t length = shape->rank ? shape->dims[dimension] : 1;
  int64_t strides[HSC_MAX_RANK];
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t outer_dims[HSC_MAX_RANK];
  hsc__strides(shape, strides);
  for (int i = 0; i < shape->rank; i++)
    outer_dims[i] = i == dimension ? 1 : shape->dims[i];
  int64_t step = shape->rank ? strides[dimension] : 1;
  int64_t one = 1;
  unsigned char *row = hsc_alloc((size_t)length * 16);
  if (!row)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  do {
    int64_t base = 0;
    for (int i = 0; i < shape->rank; i++)
      base += index[i] * strides[i];
    for (int i = 0; i < s->count; i++) {
      hsc_type type = operands[i]->shape.type;
      size_t bytes = hsc_type_bytes(type);
      hsc__copy_strided(1, &length, bytes, row, &one, operands[i]->data + (size_t)base * bytes,
                        &step);
      hsc__lane_load(type, row, length, s->rows[i]);
    }
    HSC_GOTO(merge_sort(s, length));
    for (int i = 0; i < s->count; i++) {
      size_t bytes = hsc_type_bytes(operands[i]->shape.type);
      unsigned char *to =
          (result->elements ? result->elements[i] : result)->data + (size_t)base * bytes;
      const unsigned char *from = operands[i]->data + (size_t)base * bytes;
      for (int64_t k = 0; k < length; k++)
        memcpy(to + (size_t)(k * step) * bytes, from + (size_t)(s->order[k] * step) * bytes, bytes);
    }
  } while (hsc__next_index(shape->rank, outer_dims, index));
done:
  hsc_free(row);
  return status;
}

hsc_status *hsc__eval_sort(hsc__eval *cx,
                           const hsc_instr *instr,
                           hsc__value **operands,
                           hsc__value **out_value) {
  sorter s = {.cx = cx, .count = instr->operand_count};
  HSC_TRY(hsc__plan_get(cx, instr->called[0], &s.plan));
  if (s.plan->parameter_count != 2 * s.count || s.plan->result_count != 1)
    return HSC_ERR(INVALID_ARGUMENT, "sort: its comparator does not take %d scalars and give one",
                   2 * s.count);
  const hsc_shape *shape = &operands[0]->shape;
  int64_t length = shape->rank ? shape->dims[instr->attr.dims.dims.v[0]] : 1;
  hsc_status *status = NULL;
  hsc__value *result = NULL;
  int64_t *orders = NULL;
  HSC_GOTO(hsc__value_zeros(&instr->shape, &result));
  s.rows = hsc_alloc((size_t)s.count * sizeof(*s.rows));
  s.widths = hsc_alloc((size_t)s.count * sizeof(*s.widths));
  s.arguments = hsc_alloc((size_t)s.count * 2 * sizeof(*s.arguments));
  s.answer = hsc_alloc(HSC__LANE_BYTES);
  orders = hsc_alloc((size_t)length * 2 * sizeof(int64_t));
  if (!s.rows || !s.widths || !s.arguments || !s.answer || !orders)
    HSC_GOTO(hsc_status_out_of_memory());
  s.order = orders;
  s.other = orders + length;
  for (int i = 0; i < s.count; i++) {
    s.widths[i] = hsc__kind_bytes(hsc__kind_of(operands[i]->shape.type));
    s.rows[i] = hsc_alloc((size_t)length * s.widths[i]);
    if (!s.rows[i])
      HSC_GOTO(hsc_status_out_of_memory());
  }
  if (hsc_shape_elements(shape) > 0)
    HSC_GOTO(sort_rows(&s, instr, operands, result));
  *out_value = result;
  result = NULL;
done:
  for (int i = 0; s.rows && i < s.count; i++)
    hsc_free(s.rows[i]);
  hsc_free(s.rows);
  hsc_free(s.widths);
  hsc_free(s.arguments);
  hsc_free(s.answer);
  hsc_free(orders);
  hsc__value_release(result);
  return status;
}

// ---- ApproxTopK ---------------------------------------------------------------------------------

// ApproxTopK(x..., init...): the first of each row of x... in the order of its comparator, as many
// as the result has: exact, so that every recall is met.
hsc_status *hsc__eval_approx_top_k(hsc__eval *cx,
                                   const hsc_instr *instr,
                                   hsc__value **operands,
                                   hsc__value **out_value) {
  int count = instr->operand_count / 2;
  const hsc_config *config = NULL;
  hsc_arena *arena = NULL;
  hsc_status *status = NULL;
  hsc__value *sorted = NULL;
  hsc__value *result = NULL;
  const hsc_shape *from = count ? &operands[0]->shape : NULL;
  const hsc_shape *results =
      hsc_shape_is_tuple(&instr->shape) ? instr->shape.elements : &instr->shape;
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_config_parse(instr->backend_config ? instr->backend_config : "{}", arena, &config));
  int64_t dim = hsc_config_int(config, "reduction_dim", from ? from->rank - 1 : 0);
  bool good = from && instr->operand_count == 2 * count && instr->called_count == 1 && dim >= 0 &&
              dim < from->rank &&
              count == (hsc_shape_is_tuple(&instr->shape) ? instr->shape.element_count : 1);
  for (int i = 0; good && i < count; i++) {
    good = hsc_shape_same_dims(&operands[i]->shape, from) && results[i].rank == from->rank &&
           results[i].type == operands[i]->shape.type;
    for (int d = 0; good && d < from->rank; d++)
      good = d == dim ? results[i].dims[d] <= from->dims[d] : results[i].dims[d] == from->dims[d];
  }
  if (!good)
    HSC_GOTO(HSC_ERR(
        INVALID_ARGUMENT,
        "custom-call ApproxTopK: its operands, comparator and result do not fit each other"));
  hsc_shape *shapes = HSC_NEW_ARRAY(arena, hsc_shape, count);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < count; i++)
    shapes[i] = operands[i]->shape;
  hsc_instr sort = *instr;
  sort.op = HSC_OP_SORT;
  sort.operand_count = count;
  sort.shape =
      count == 1 ? shapes[0]
                 : (hsc_shape){.type = HSC_TYPE_TUPLE, .element_count = count, .elements = shapes};
  sort.attr = (hsc_attr){.dims = {.dims = {1, &dim}}};
  HSC_GOTO(hsc__eval_sort(cx, &sort, operands, &sorted));
  HSC_GOTO(hsc__value_zeros(&instr->shape, &result));
  for (int i = 0; i < count; i++) {
    int64_t own[HSC_MAX_RANK], other[HSC_MAX_RANK];
    hsc__strides(&results[i], own);
    hsc__strides(from, other);
    hsc__copy_strided(from->rank, results[i].dims, hsc_type_bytes(results[i].type),
                      (result->elements ? result->elements[i] : result)->data, own,
                      (sorted->elements ? sorted->elements[i] : sorted)->data, other);
  }
  *out_value = result;
  result = NULL;
done:
  hsc__value_release(result);
  hsc__value_release(sorted);
  hsc_arena_destroy(arena);
  return status;
}

// ---- topk ---------------------------------------------------------------------------------------

// A number that orders lanes as topk does: floats in total order (NaN of positive sign above all),
// integers by value.
static void ordering(hsc_type type, const void *lanes, int64_t count, int64_t *keys) {
  for (int64_t i = 0; i < count; i++) {
    switch (hsc__kind_of(type)) {
      case HSC__F32: {
        int32_t bits;
        memcpy(&bits, (const float *)lanes + i, 4);
        keys[i] = bits ^ (bits >> 31 & 0x7fffffff);
        break;
      }
      case HSC__F64: {
        int64_t bits;
        memcpy(&bits, (const double *)lanes + i, 8);
        keys[i] = bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
        break;
      }
      case HSC__U64:
        keys[i] = (int64_t)(((const uint64_t *)lanes)[i] ^ 1ull << 63);
        break;
      default:
        keys[i] = ((const int64_t *)lanes)[i];
        break;
    }
  }
}

typedef struct ranked {
  int64_t key, index;
} ranked;
// Larger keys first; equal ones in the order of the operand.
static int compare_ranked(const void *a, const void *b) {
  const ranked *x = a;
  const ranked *y = b;
  if (x->key != y->key)
    return x->key > y->key ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

hsc_status *hsc__top_k(
    const hsc__value *operand, int64_t k, bool largest, hsc__value *values, hsc__value *indices) {
  const hsc_shape *shape = &operand->shape;
  int64_t length = shape->rank ? shape->dims[shape->rank - 1] : 1;
  int64_t rows = length ? hsc_shape_elements(shape) / length : 0;
  size_t bytes = hsc_type_bytes(shape->type);
  void *lanes = hsc_alloc((size_t)length * 16);
  int64_t *keys = hsc_alloc((size_t)length * sizeof(*keys));
  ranked *order = hsc_alloc((size_t)length * sizeof(*order));
  if (!lanes || !keys || !order) {
    hsc_free(lanes);
    hsc_free(keys);
    hsc_free(order);
    return hsc_status_out_of_memory();
  }
  for (int64_t r = 0; r < rows; r++) {
    const unsigned char *row = operand->data + (size_t)(r * length) * bytes;
    hsc__lane_load(shape->type, row, length, lanes);
    ordering(shape->type, lanes, length, keys);
    for (int64_t i = 0; i < length; i++)
      order[i] = (ranked){.key = largest ? keys[i] : ~keys[i], .index = i};
    qsort(order, (size_t)length, sizeof(*order), compare_ranked);
    for (int64_t i = 0; i < k && i < length; i++) {
      memcpy(values->data + (size_t)(r * k + i) * bytes, row + (size_t)order[i].index * bytes,
             bytes);
      if (indices) {
        int32_t index = (int32_t)order[i].index;
        memcpy(indices->data + (size_t)(r * k + i) * 4, &index, 4);
      }
    }
  }
  hsc_free(lanes);
  hsc_free(keys);
  hsc_free(order);
  return NULL;
}

hsc_status *hsc__eval_topk(hsc__eval *cx,
                           const hsc_instr *instr,
                           hsc__value **operands,
                           hsc__value **out_value) {
  (void)cx;
  HSC_TRY(hsc__value_zeros(&instr->shape, out_value));
  return hsc__top_k(operands[0], instr->attr.topk.k, instr->attr.topk.largest,
                    (*out_value)->elements[0], (*out_value)->elements[1]);
}
