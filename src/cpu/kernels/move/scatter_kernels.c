// scatter_kernels.c - see scatter_kernels.h.
#include "cpu/kernels/move/scatter_kernels.h"
#include "cpu/kernels/kernel_vectors.h"

static void begin(int64_t first, int64_t stride, int64_t count, int64_t *out_offsets) {
  for (int64_t i = 0; i < count; i++)
    out_offsets[i] = first + i * stride;
}

// Neighbours have a loop of their own, which becomes vectors; of an index that is outside `to` may
// be anything, so it is unsigned. BASE is where the offset starts, from which it may be outside.
#define OFFSETS(NAME, TYPE, PLACE, BASE) \
  static void NAME(const void *from, int64_t stride, int64_t count, int64_t limit, \
                   int64_t target_stride, PLACE int64_t *restrict offsets) { \
    const TYPE *restrict at = from; \
    if (stride == 1) { \
      for (int64_t i = 0; i < count; i++) { \
        int64_t index = at[i]; \
        uint64_t to = (uint64_t)(BASE) + (uint64_t)index * (uint64_t)target_stride; \
        offsets[i] = ((BASE) < 0) | (index < 0) | (index > limit) ? -1 : (int64_t)to; \
      } \
      return; \
    } \
    for (int64_t i = 0; i < count; i++) { \
      int64_t index = at[i * stride]; \
      bool outside = ((BASE) < 0) | (index < 0) | (index > limit); \
      offsets[i] = outside ? -1 : (BASE) + index * target_stride; \
    } \
  }
#define FIRST int64_t first,
#define INDICES(NAME, TYPE) \
  OFFSETS(NAME##_first, TYPE, FIRST, first) \
  OFFSETS(NAME##_indices, TYPE, , offsets[i])
INDICES(s32, int32_t)
INDICES(u32, uint32_t)
INDICES(s64, int64_t)

// x is what is there, y the update. NaN wins over every number.
#define TAKE(x, y) (y)
#define ADD(x, y) ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
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
// Sums and products of integers wrap: unsigned. Products of 16 bits would not, they become int.
#define EACH_NARROW(X) \
  X(S8, s8, int8_t, uint8_t, ) \
  X(U8, u8, uint8_t, uint8_t, ) \
  X(S16, s16, int16_t, uint16_t, ) \
  X(U16, u16, uint16_t, uint16_t, )
#define EACH_WIDE(X) \
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
#define PRODUCTS(ID, NAME, TYPE, SUM, ONE) FUNCTION(NAME, SUM, MULTIPLY, MULTIPLY)
EACH_NARROW(FUNCTIONS)
EACH_WIDE(FUNCTIONS)
EACH_WIDE(PRODUCTS)

#define SET_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_TAKE,
#define ADD_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_ADD,
#define MULTIPLY_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_MULTIPLY,
#define MAX_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_MAX,
#define MIN_ROW(ID, NAME, TYPE, SUM, ONE) [HSC_TYPE_##ID] = NAME##_MIN,
extern const hsc_scatter_kernels CONCAT(hsc_scatter_kernels_, HSC_ISA);
const hsc_scatter_kernels CONCAT(hsc_scatter_kernels_, HSC_ISA) = {
    .begin = begin,
    .first_indices =
        {[HSC_TYPE_S32] = s32_first, [HSC_TYPE_U32] = u32_first, [HSC_TYPE_S64] = s64_first},
    .indices =
        {[HSC_TYPE_S32] = s32_indices, [HSC_TYPE_U32] = u32_indices, [HSC_TYPE_S64] = s64_indices},
    .functions = {[HSC_SCATTER_SET] = {EACH_NARROW(SET_ROW) EACH_WIDE(SET_ROW)},
                  [HSC_SCATTER_ADD] = {EACH_NARROW(ADD_ROW) EACH_WIDE(ADD_ROW)},
                  [HSC_SCATTER_MULTIPLY] = {EACH_WIDE(MULTIPLY_ROW)},
                  [HSC_SCATTER_MAX] = {EACH_NARROW(MAX_ROW) EACH_WIDE(MAX_ROW)},
                  [HSC_SCATTER_MIN] = {EACH_NARROW(MIN_ROW) EACH_WIDE(MIN_ROW)}},
};
