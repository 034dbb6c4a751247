// eval_contract.c - dot, and the matrix product under it. Operands are packed to [batch, m, k] and
// [batch, k, n]; sums run over k in ascending order, in float for f32 and narrower floats (as
// XLA:CPU does), in double for f64, in 64 wrapping bits for integers, in the type for complex.
#include "hlo/eval/eval_internal.h"

// ---- the product of two packed matrices ---------------------------------------------------------

// Four k at a time; every out element still sees them one after the other.
#define PRODUCT(T) \
  do { \
    for (int64_t i = 0; i < m; i++) { \
      const T *a = (const T *)lhs + i * lda, *b = rhs; \
      T *row = (T *)out + i * ldc; \
      int64_t p = 0; \
      for (; p + 4 <= k; p += 4) { \
        T a0 = a[p], a1 = a[p + 1], a2 = a[p + 2], a3 = a[p + 3]; \
        const T *b0 = b + p * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb; \
        for (int64_t j = 0; j < n; j++) \
          row[j] = (((row[j] + a0 * b0[j]) + a1 * b1[j]) + a2 * b2[j]) + a3 * b3[j]; \
      } \
      for (; p < k; p++) { \
        T a0 = a[p]; \
        const T *b0 = b + p * ldb; \
        for (int64_t j = 0; j < n; j++) \
          row[j] = row[j] + a0 * b0[j]; \
      } \
    } \
  } while (0)

#define PRODUCT_COMPLEX(T) \
  do { \
    for (int64_t i = 0; i < m; i++) \
      for (int64_t p = 0; p < k; p++) { \
        const T *a = (const T *)lhs + 2 * (i * lda + p), *b = (const T *)rhs + 2 * p * ldb; \
        T *row = (T *)out + 2 * i * ldc; \
        for (int64_t j = 0; j < 2 * n; j += 2) { \
          T x = b[j], y = b[j + 1]; \
          row[j] += a[0] * x - a[1] * y; \
          row[j + 1] += a[0] * y + a[1] * x; \
        } \
      } \
  } while (0)

#define PRODUCT_ARGUMENTS \
  int64_t m, int64_t n, int64_t k, const void *lhs, int64_t lda, const void *rhs, int64_t ldb, \
      void *restrict out, int64_t ldc
HSC__CLONES static void product_f32(PRODUCT_ARGUMENTS) {
  PRODUCT(float);
}
HSC__CLONES static void product_f64(PRODUCT_ARGUMENTS) {
  PRODUCT(double);
}
HSC__CLONES static void product_int(PRODUCT_ARGUMENTS) {
  PRODUCT(uint64_t);
}
static void product_c64(PRODUCT_ARGUMENTS) {
  PRODUCT_COMPLEX(float);
}
static void product_c128(PRODUCT_ARGUMENTS) {
  PRODUCT_COMPLEX(double);
}

void hsc__matrix_product(hsc__kind kind, PRODUCT_ARGUMENTS) {
  switch (kind) {
    case HSC__F32:
      product_f32(m, n, k, lhs, lda, rhs, ldb, out, ldc);
      break;
    case HSC__F64:
      product_f64(m, n, k, lhs, lda, rhs, ldb, out, ldc);
      break;
    case HSC__C64:
      product_c64(m, n, k, lhs, lda, rhs, ldb, out, ldc);
      break;
    case HSC__C128:
      product_c128(m, n, k, lhs, lda, rhs, ldb, out, ldc);
      break;
    default:
      product_int(m, n, k, lhs, lda, rhs, ldb, out, ldc);
      break;
  }
}

hsc_type hsc__accumulate_type(hsc_type type) {
  switch (hsc__kind_of(type)) {
    case HSC__I64:
      return HSC_TYPE_S64;
    case HSC__U64:
      return HSC_TYPE_U64;
    case HSC__F32:
      return HSC_TYPE_F32;
    default:
      return type;
  }
}

// ---- packing ------------------------------------------------------------------------------------

// Dimensions of one side, in the order of the packed array, and the three sizes.
typedef struct side {
  int64_t permutation[HSC_MAX_RANK];
  int64_t batch, free, contracted;
} side;

static void side_init(
    side *s, const hsc_shape *shape, hsc_dims batch, hsc_dims contracting, bool free_first) {
  int at = 0;
  *s = (side){.batch = 1, .free = 1, .contracted = 1};
  for (int i = 0; i < batch.count; i++) {
    s->permutation[at++] = batch.v[i];
    s->batch *= shape->dims[batch.v[i]];
  }
  for (int pass = 0; pass < 2; pass++) {
    if ((pass == 0) == free_first) {
      for (int i = 0; i < shape->rank; i++) {
        if (hsc_dims_contain(batch, i) || hsc_dims_contain(contracting, i))
          continue;
        s->permutation[at++] = i;
        s->free *= shape->dims[i];
      }
    } else {
      for (int i = 0; i < contracting.count; i++) {
        s->permutation[at++] = contracting.v[i];
        s->contracted *= shape->dims[contracting.v[i]];
      }
    }
  }
}

static hsc_status *pack(const hsc__value *value,
                        const side *s,
                        hsc_type accumulate,
                        void **out_lanes) {
  unsigned char *ordered = NULL;
  if (hsc_shape_elements(&value->shape) > 0)
    HSC_TRY(hsc__transposed(value, s->permutation, &ordered));
  hsc_status *status = hsc__widened(value->shape.type, ordered, hsc_shape_elements(&value->shape),
                                    accumulate, out_lanes);
  hsc_free(ordered);
  return status;
}

static bool in_range(hsc_dims dims, int rank) {
  for (int i = 0; i < dims.count; i++)
    if (dims.v[i] < 0 || dims.v[i] >= rank)
      return false;
  return true;
}

hsc_status *hsc__eval_dot(hsc__eval *cx,
                          const hsc_instr *instr,
                          hsc__value **operands,
                          hsc__value **out_value) {
  (void)cx;
  const hsc_dot_dims *dims = &instr->attr.dot;
  if (dims->sparsity || (instr->op == HSC_OP_DOT && instr->operand_count != 2))
    return HSC_ERR(UNIMPLEMENTED, "dot: not built yet: sparse operands in the reference evaluator");
  if (!in_range(dims->lhs_batch, operands[0]->shape.rank) ||
      !in_range(dims->lhs_contracting, operands[0]->shape.rank) ||
      !in_range(dims->rhs_batch, operands[1]->shape.rank) ||
      !in_range(dims->rhs_contracting, operands[1]->shape.rank))
    return HSC_ERR(INVALID_ARGUMENT, "%s: it names a dimension that an operand does not have",
                   hsc_op_text(instr->op));
  side left, right;
  side_init(&left, &operands[0]->shape, dims->lhs_batch, dims->lhs_contracting, true);
  side_init(&right, &operands[1]->shape, dims->rhs_batch, dims->rhs_contracting, false);
  if (left.batch != right.batch || left.contracted != right.contracted)
    return HSC_ERR(INVALID_ARGUMENT,
                   "dot: contracting sizes %lld and %lld, batch sizes %lld and %lld",
                   (long long)left.contracted, (long long)right.contracted, (long long)left.batch,
                   (long long)right.batch);
  hsc_type accumulate = hsc__accumulate_type(instr->shape.type);
  size_t width = hsc__kind_bytes(hsc__kind_of(accumulate));
  int64_t m = left.free;
  int64_t n = right.free;
  int64_t k = left.contracted;
  int64_t count = left.batch * m * n;
  if (count != hsc_shape_elements(&instr->shape))
    return HSC_ERR(INVALID_ARGUMENT, "%s: %lld results for a shape of %lld elements",
                   hsc_op_text(instr->op), (long long)count,
                   (long long)hsc_shape_elements(&instr->shape));
  hsc_status *status = NULL;
  void *lhs = NULL;
  void *rhs = NULL;
  unsigned char *sums = NULL;
  HSC_GOTO(pack(operands[0], &left, accumulate, &lhs));
  HSC_GOTO(pack(operands[1], &right, accumulate, &rhs));
  sums = hsc_alloc((size_t)count * width);
  if (!sums)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int64_t b = 0; b < left.batch; b++)
    hsc__matrix_product(hsc__kind_of(accumulate), m, n, k,
                        (unsigned char *)lhs + (size_t)(b * m * k) * width, k,
                        (unsigned char *)rhs + (size_t)(b * k * n) * width, n,
                        sums + (size_t)(b * m * n) * width, n);
  HSC_GOTO(hsc__value_array(&instr->shape, out_value));
  hsc__narrowed(instr->shape.type, sums, count, (*out_value)->data);
done:
  hsc_free(lhs);
  hsc_free(rhs);
  hsc_free(sums);
  return status;
}
