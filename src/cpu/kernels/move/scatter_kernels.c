// scatter_kernels.c - see scatter_kernels.h.
#include "cpu/kernels/move/scatter_kernels.h"
#include "cpu/kernels/kernel_vectors.h"

static void indices(const int32_t *from,
                    int64_t stride,
                    int64_t count,
                    int64_t limit,
                    int64_t target_stride,
                    int64_t *out_offsets) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; i++) {
      int64_t index = from[i];
      out_offsets[i] = index >= 0 && index <= limit ? index * target_stride : -1;
    }
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t index = from[i * stride];
    out_offsets[i] = index >= 0 && index <= limit ? index * target_stride : -1;
  }
}

// x is what is there, y the update. NaN wins over every number.
#define TAKE(x, y) (y)
#define ADD(x, y) ((x) + (y))
#define MAX(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define MIN(x, y) ((x) < (y) || (x) != (x) ? (x) : (y))

// MAX and MIN of single floats: nobody can foresee whether the update wins, so that is a mask and
// no branch.
#define ONE_FLOAT(NAME, TYPE, BITS) \
  typedef TYPE NAME##_lanes __attribute__((vector_size(16))); \
  typedef BITS NAME##_masks __attribute__((vector_size(16))); \
  static inline TYPE NAME##_pick(NAME##_masks old, NAME##_lanes a, NAME##_lanes b) { \
    return ((NAME##_lanes)(((NAME##_masks)a & old) | ((NAME##_masks)b & ~old)))[0]; \
  } \
  static inline TYPE NAME##_ONE_MAX(TYPE x, TYPE y) { \
    NAME##_lanes a = {x}; \
    NAME##_lanes b = {y}; \
    return NAME##_pick((a > b) | (a != a), a, b); \
  } \
  static inline TYPE NAME##_ONE_MIN(TYPE x, TYPE y) { \
    NAME##_lanes a = {x}; \
    NAME##_lanes b = {y}; \
    return NAME##_pick((a < b) | (a != a), a, b); \
  }
ONE_FLOAT(f32, float, int32_t)
ONE_FLOAT(f64, double, int64_t)

// ONE: OP where one element is all.
#define FUNCTION(NAME, TYPE, OP, ONE) \
  static void NAME##_##OP(void *out, const void *updates, int64_t stride, const int64_t *offsets, \
                          int64_t count, int64_t run) { \
    if (run == 1) { \
      for (int64_t i = 0; i < count; i++) { \
        if (offsets[i] < 0) \
          continue; \
        TYPE *to = (TYPE *)out + offsets[i]; \
        TYPE y = ((const TYPE *)updates)[i * stride]; \
        *to = ONE(*to, y); \
      } \
      return; \
    } \
    for (int64_t i = 0; i < count; i++) { \
      if (offsets[i] < 0) \
        continue; \
      TYPE *restrict to = (TYPE *)out + offsets[i]; \
      const TYPE *restrict from = (const TYPE *)updates + i * stride; \
      for (int64_t j = 0; j < run; j++) \
        to[j] = OP(to[j], from[j]); \
    } \
  }
// Sums of integers wrap: unsigned.
#define EACH_TYPE(X) \
  X(F32, f32, float, float, f32_ONE_) \
  X(F64, f64, double, double, f64_ONE_) \
  X(S32, s32, int32_t, uint32_t, ) \
  X(U32, u32, uint32_t, uint32_t, ) \
  X(S64, s64, int64_t, uint64_t, ) \
  X(U64, u64, uint64_t, uint64_t, )
#define FUNCTIONS(ID, NAME, TYPE, SUM, ONE) \
  FUNCTION(NAME, TYPE, TAKE, TAKE) \
  FUNCTION(NAME, SUM, ADD, ADD) \
  FUNCTION(NAME, TYPE, MAX, ONE##MAX) \
  FUNCTION(NAME, TYPE, MIN, ONE##MIN)
EACH_TYPE(FUNCTIONS)

#define SET_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_TAKE,
#define ADD_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_ADD,
#define MAX_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_MAX,
#define MIN_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_MIN,
extern const hsc_scatter_kernels CONCAT(hsc_scatter_kernels_, HSC_ISA);
const hsc_scatter_kernels CONCAT(hsc_scatter_kernels_, HSC_ISA) = {
    .indices = indices,
    .functions = {[HSC_SCATTER_SET] = {EACH_TYPE(SET_ROW)},
                  [HSC_SCATTER_ADD] = {EACH_TYPE(ADD_ROW)},
                  [HSC_SCATTER_MAX] = {EACH_TYPE(MAX_ROW)},
                  [HSC_SCATTER_MIN] = {EACH_TYPE(MIN_ROW)}},
};
