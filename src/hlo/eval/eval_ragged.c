// eval_ragged.c - ragged-dot (groups of rows, each with its own matrix) and scaled-dot (operands in
// blocks with a scale each).
//
// ragged-dot: group_sizes [leading dimensions of lhs..., groups] cuts the ragged dimension of lhs
// into runs. When that is
//   a free dimension         rhs has a group dimension; row r of lhs meets the rhs of its group;
//                            rows after the last group give zero
//   a contracting dimension  the result gets a leading group dimension; each group sums over its
//                            own run
//   a batch dimension        the sizes do not matter: a plain dot
// XLA: xla/hlo/transforms/expanders/ragged_dot_rewriter.cc.
#include <stdlib.h>

#include "hlo/eval/eval_internal.h"

static int64_t first_number(const char *attributes, const char *key) {
  const char *at = attributes ? strstr(attributes, key) : NULL;
  if (!at)
    return -1;
  at += strlen(key);
  while (*at == '=' || *at == '{')
    at++;
  return *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : -1;
}

static void multiply_add(
    hsc__kind kind, void *sum, const void *a, int64_t i, const void *b, int64_t j) {
  switch (kind) {
    case HSC__F32:
      *(float *)sum += ((const float *)a)[i] * ((const float *)b)[j];
      break;
    case HSC__F64:
      *(double *)sum += ((const double *)a)[i] * ((const double *)b)[j];
      break;
    default:
      *(uint64_t *)sum += ((const uint64_t *)a)[i] * ((const uint64_t *)b)[j];
      break;
  }
}

typedef struct ragged {
  const hsc_dot_dims *dims;
  const hsc_shape *lhs, *rhs;
  const hsc__value *sizes;
  int64_t ragged_dim, group_dim;  // of lhs; of rhs, -1 = none
  bool contracting;               // the ragged dimension is summed over
  int64_t groups;
  int lhs_free[HSC_MAX_RANK], rhs_free[HSC_MAX_RANK], lhs_free_count, rhs_free_count;
} ragged;

// First row and one past the last of a group, for the leading coordinates of lhs in `at`.
static void group_range(
    const ragged *r, const int64_t *at, int64_t group, int64_t *begin, int64_t *end) {
  int64_t row = 0;
  for (int i = 0; i < r->sizes->shape.rank - 1; i++)
    row = row * r->sizes->shape.dims[i] + at[i];
  *begin = 0;
  for (int64_t g = 0; g < group; g++)
    *begin += hsc__get_int(r->sizes, row * r->groups + g);
  *end = *begin + hsc__get_int(r->sizes, row * r->groups + group);
}

static void sum_one(const ragged *r,
                    hsc__kind kind,
                    int64_t *l,
                    int64_t *k,
                    const int64_t *lhs_strides,
                    const int64_t *rhs_strides,
                    const void *lhs,
                    const void *rhs,
                    int64_t begin,
                    int64_t end,
                    void *sum) {
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t sizes[HSC_MAX_RANK];
  int count = r->dims->lhs_contracting.count;
  for (int i = 0; i < count; i++) {
    sizes[i] = r->lhs->dims[r->dims->lhs_contracting.v[i]];
    if (sizes[i] == 0)
      return;
  }
  do {
    for (int i = 0; i < count; i++) {
      l[r->dims->lhs_contracting.v[i]] = index[i];
      k[r->dims->rhs_contracting.v[i]] = index[i];
    }
    if (r->contracting && (l[r->ragged_dim] < begin || l[r->ragged_dim] >= end))
      continue;
    int64_t a = 0;
    int64_t b = 0;
    for (int i = 0; i < r->lhs->rank; i++)
      a += l[i] * lhs_strides[i];
    for (int i = 0; i < r->rhs->rank; i++)
      b += k[i] * rhs_strides[i];
    multiply_add(kind, sum, lhs, a, rhs, b);
  } while (hsc__next_index(count, sizes, index));
}

static void ragged_sums(const ragged *r,
                        const hsc_shape *out,
                        hsc__kind kind,
                        const void *lhs,
                        const void *rhs,
                        unsigned char *sums) {
  int64_t lhs_strides[HSC_MAX_RANK];
  int64_t rhs_strides[HSC_MAX_RANK];
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t at = 0;
  hsc__strides(r->lhs, lhs_strides);
  hsc__strides(r->rhs, rhs_strides);
  do {
    int64_t l[HSC_MAX_RANK] = {0};
    int64_t k[HSC_MAX_RANK] = {0};
    int64_t begin = 0;
    int64_t end = 0;
    int o = 0;
    int64_t group = r->contracting ? index[o++] : -1;
    for (int i = 0; i < r->dims->lhs_batch.count; i++, o++) {
      l[r->dims->lhs_batch.v[i]] = index[o];
      k[r->dims->rhs_batch.v[i]] = index[o];
    }
    for (int i = 0; i < r->lhs_free_count; i++)
      l[r->lhs_free[i]] = index[o++];
    for (int i = 0; i < r->rhs_free_count; i++)
      k[r->rhs_free[i]] = index[o++];
    if (r->contracting) {
      group_range(r, l, group, &begin, &end);
    } else {
      for (int64_t g = 0; g < r->groups && group < 0; g++) {
        group_range(r, l, g, &begin, &end);
        if (l[r->ragged_dim] >= begin && l[r->ragged_dim] < end)
          group = g;
      }
      if (group >= 0)
        k[r->group_dim] = group;
    }
    if (group >= 0)
      sum_one(r, kind, l, k, lhs_strides, rhs_strides, lhs, rhs, begin, end,
              sums + (size_t)at * hsc__kind_bytes(kind));
    at++;
  } while (hsc__next_index(out->rank, out->dims, index));
}

// The shape rule of ragged-dot takes the result as given, so what the sums walk over is checked
// here.
static hsc_status *check_sizes(const ragged *r, const hsc_shape *out) {
  const hsc_dot_dims *d = r->dims;
  int64_t wanted[HSC_MAX_RANK * 2];
  int rank = 0;
  if (d->lhs_batch.count != d->rhs_batch.count ||
      d->lhs_contracting.count != d->rhs_contracting.count)
    return HSC_ERR(
        INVALID_ARGUMENT,
        "ragged-dot: its operands have different numbers of batch or contracting dimensions");
  for (int i = 0; i < d->lhs_batch.count + d->lhs_contracting.count; i++) {
    bool batch = i < d->lhs_batch.count;
    int64_t left = batch ? d->lhs_batch.v[i] : d->lhs_contracting.v[i - d->lhs_batch.count];
    int64_t right = batch ? d->rhs_batch.v[i] : d->rhs_contracting.v[i - d->lhs_batch.count];
    if (left < 0 || left >= r->lhs->rank || right < 0 || right >= r->rhs->rank ||
        r->lhs->dims[left] != r->rhs->dims[right])
      return HSC_ERR(
          INVALID_ARGUMENT,
          "ragged-dot: dimension %lld of its first operand and %lld of its second differ",
          (long long)left, (long long)right);
  }
  if (r->contracting)
    wanted[rank++] = r->groups;
  for (int i = 0; i < d->lhs_batch.count; i++)
    wanted[rank++] = r->lhs->dims[d->lhs_batch.v[i]];
  for (int i = 0; i < r->lhs_free_count; i++)
    wanted[rank++] = r->lhs->dims[r->lhs_free[i]];
  for (int i = 0; i < r->rhs_free_count; i++)
    wanted[rank++] = r->rhs->dims[r->rhs_free[i]];
  bool fits = rank == out->rank;
  for (int i = 0; i < rank && fits; i++)
    fits = wanted[i] == out->dims[i];
  if (!fits)
    return HSC_ERR(INVALID_ARGUMENT,
                   "ragged-dot: its result does not have the dimensions of its operands");
  if (!r->contracting && r->rhs->dims[r->group_dim] < r->groups)
    return HSC_ERR(INVALID_ARGUMENT, "ragged-dot: %lld group sizes for %lld groups",
                   (long long)r->groups, (long long)r->rhs->dims[r->group_dim]);
  for (int i = 0; i < r->sizes->shape.rank - 1; i++)
    if (r->sizes->shape.dims[i] != r->lhs->dims[i])
      return HSC_ERR(INVALID_ARGUMENT,
                     "ragged-dot: dimension %d of the group sizes is not that of the first operand",
                     i);
  return NULL;
}

hsc_status *hsc__eval_ragged_dot(hsc__eval *cx,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  const hsc_dot_dims *dims = &instr->attr.dot;
  ragged r = {
      .dims = dims, .lhs = &operands[0]->shape, .rhs = &operands[1]->shape, .sizes = operands[2]};
  r.ragged_dim = first_number(instr->extra_attributes, "lhs_ragged_dims");
  r.group_dim = first_number(instr->extra_attributes, "rhs_group_dims");
  if (r.ragged_dim < 0 || r.ragged_dim >= r.lhs->rank || r.sizes->shape.rank < 1 ||
      r.sizes->shape.rank > r.lhs->rank)
    return HSC_ERR(INVALID_ARGUMENT,
                   "ragged-dot: lhs_ragged_dims does not name a dimension of its first operand");
  if (hsc_dims_find(dims->lhs_batch, r.ragged_dim) >= 0)
    return hsc__eval_dot(cx, instr, operands, out_value);
  r.contracting = hsc_dims_find(dims->lhs_contracting, r.ragged_dim) >= 0;
  r.groups = r.sizes->shape.dims[r.sizes->shape.rank - 1];
  if (!r.contracting && (r.group_dim < 0 || r.group_dim >= r.rhs->rank))
    return HSC_ERR(INVALID_ARGUMENT,
                   "ragged-dot: rhs_group_dims does not name a dimension of its second operand");
  for (int i = 0; i < r.lhs->rank; i++)
    if (hsc_dims_find(dims->lhs_batch, i) < 0 && hsc_dims_find(dims->lhs_contracting, i) < 0)
      r.lhs_free[r.lhs_free_count++] = i;
  for (int i = 0; i < r.rhs->rank; i++)
    if (hsc_dims_find(dims->rhs_batch, i) < 0 && hsc_dims_find(dims->rhs_contracting, i) < 0 &&
        (r.contracting || i != r.group_dim))
      r.rhs_free[r.rhs_free_count++] = i;
  hsc_type accumulate = hsc__accumulate_type(instr->shape.type);
  hsc__kind kind = hsc__kind_of(accumulate);
  if (kind == HSC__C64 || kind == HSC__C128)
    return HSC_ERR(UNIMPLEMENTED,
                   "ragged-dot: not built yet: complex numbers in the reference evaluator");
  HSC_TRY(check_sizes(&r, &instr->shape));
  hsc_status *status = NULL;
  void *lhs = NULL;
  void *rhs = NULL;
  int64_t count = hsc_shape_elements(&instr->shape);
  unsigned char *sums = hsc_alloc((size_t)count * hsc__kind_bytes(kind));
  if (!sums)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(
      hsc__widened(r.lhs->type, operands[0]->data, hsc_shape_elements(r.lhs), accumulate, &lhs));
  HSC_GOTO(
      hsc__widened(r.rhs->type, operands[1]->data, hsc_shape_elements(r.rhs), accumulate, &rhs));
  if (count > 0)
    ragged_sums(&r, &instr->shape, kind, lhs, rhs, sums);
  HSC_GOTO(hsc__value_array(&instr->shape, out_value));
  hsc__narrowed(instr->shape.type, sums, count, (*out_value)->data);
done:
  hsc_free(lhs);
  hsc_free(rhs);
  hsc_free(sums);
  return status;
}

// ---- scaled-dot ---------------------------------------------------------------------------------

// The operand in f32, every element times the scale of its block. A scale has the operand's rank;
// its dimensions divide the operand's.
static hsc_status *scaled(const hsc__value *operand,
                          const hsc__value *scale,
                          hsc_shape *shape,
                          hsc__value **out_value) {
  float *values = NULL;
  float *scales = NULL;
  hsc_status *status = NULL;
  *shape = hsc_shape_with_type(operand->shape, HSC_TYPE_F32);
  int rank = shape->rank;
  bool scalar = hsc_shape_elements(&scale->shape) == 1;
  if (!scalar && scale->shape.rank != rank)
    return HSC_ERR(INVALID_ARGUMENT, "scaled-dot: a scale has %d dimensions, its operand %d",
                   (int)scale->shape.rank, rank);
  for (int i = 0; i < rank && !scalar; i++)
    if (scale->shape.dims[i] == 0 || shape->dims[i] % scale->shape.dims[i] != 0)
      return HSC_ERR(INVALID_ARGUMENT, "scaled-dot: %lld scales do not divide dimension %d of %lld",
                     (long long)scale->shape.dims[i], i, (long long)shape->dims[i]);
  HSC_GOTO(hsc__widened(operand->shape.type, operand->data, hsc_shape_elements(shape), HSC_TYPE_F32,
                        (void **)&values));
  HSC_GOTO(hsc__widened(scale->shape.type, scale->data, hsc_shape_elements(&scale->shape),
                        HSC_TYPE_F32, (void **)&scales));
  HSC_GOTO(hsc__value_array(shape, out_value));
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t strides[HSC_MAX_RANK];
  int64_t at = 0;
  hsc__strides(&scale->shape, strides);
  if (hsc_shape_elements(shape) > 0) {
    do {
      int64_t block = 0;
      for (int i = 0; i < rank && !scalar; i++)
        block += index[i] / (shape->dims[i] / scale->shape.dims[i]) * strides[i];
      ((float *)(*out_value)->data)[at] = values[at] * scales[block];
      at++;
    } while (hsc__next_index(rank, shape->dims, index));
  }
done:
  hsc_free(values);
  hsc_free(scales);
  return status;
}

hsc_status *hsc__eval_scaled_dot(hsc__eval *cx,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  if (instr->operand_count != 4)
    return HSC_ERR(INVALID_ARGUMENT,
                   "scaled-dot: it has %d operands, expected lhs, rhs and their scales",
                   (int)instr->operand_count);
  hsc_shape shapes[2];
  hsc__value *sides[2] = {NULL, NULL};
  hsc_status *status = NULL;
  for (int i = 0; i < 2; i++)
    HSC_GOTO(scaled(operands[i], operands[i + 2], &shapes[i], &sides[i]));
  HSC_GOTO(hsc__eval_dot(cx, instr, sides, out_value));
done:
  hsc__value_release(sides[0]);
  hsc__value_release(sides[1]);
  return status;
}
