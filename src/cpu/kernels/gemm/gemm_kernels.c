// gemm_kernels.c - the inner kernels of matrix products. Compiled once per instruction set with
// HSC_ISA set to baseline, avx2 or avx512 and the compiler's flags to match; each copy exports one
// table, hsc_gemm_kernels_<isa>.
//
// A kernel keeps rows x vectors accumulators in registers and does rows x vectors multiply-adds per
// step of k from `vectors` loads of B and `rows` broadcasts of A. AVX2 has 16 registers: 6 x 2 (12
// accumulators, 2 of B, 1 of A). AVX-512 has 32: 12 x 2. The baseline has 16 of 4 floats without
// fused multiply-add: 6 x 2. Kernels of fewer rows take the remainder of M: 32 rows are 5 + 5 + 5 +
// 5 + 6 + 6, never 5 x 6 + 2, since fewer than 8 accumulators cannot hide the latency of a
// multiply-add.
#include "cpu/kernels/gemm/gemm.h"
#include "cpu/kernels/kernel_vectors.h"

#if HSC_ISA_BYTES == 64
#define EACH_ROWS_2(X) \
  X(1, 2) \
  X(2, 2) \
  X(3, 2) \
  X(4, 2) \
  X(5, 2) \
  X(6, 2) \
  X(7, 2) \
  X(8, 2) \
  X(9, 2) \
  X(10, 2) \
  X(11, 2) \
  X(12, 2)
#define EACH_ROWS_1(X) \
  X(1, 1) \
  X(2, 1) \
  X(3, 1) \
  X(4, 1) \
  X(5, 1) \
  X(6, 1) \
  X(7, 1) \
  X(8, 1) \
  X(9, 1) \
  X(10, 1) \
  X(11, 1) \
  X(12, 1)
#define EACH_ROWS_4(X) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(6, 4)
enum { MAX_1 = 12, MAX_2 = 12, MAX_4 = 6 };
#else
#define EACH_ROWS_2(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2)
#define EACH_ROWS_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1)
#define EACH_ROWS_4(X) X(1, 4) X(2, 4) X(3, 4)
enum { MAX_1 = 6, MAX_2 = 6, MAX_4 = 3 };
#endif

#define KERNEL(TYPE, NAME, ROWS, VECTORS) \
  static void kernel_##NAME##_##ROWS##x##VECTORS( \
      int64_t k_count, const TYPE *a, int64_t a_row, int64_t a_k, const TYPE *b, int64_t b_k, \
      TYPE *c, int64_t c_row, bool accumulate, const TYPE *bias, bool relu) { \
    enum { WIDTH = HSC_ISA_BYTES / sizeof(TYPE) }; \
    vector_##NAME acc[ROWS][VECTORS]; \
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] = \
        (vector_##NAME){0}; \
    for (int64_t k = 0; k < k_count; k++) { \
      vector_##NAME row[VECTORS]; \
      UNROLL for (int j = 0; j < VECTORS; j++) row[j] = *(const vector_##NAME *)(b + j * WIDTH); \
      UNROLL for (int i = 0; i < ROWS; i++) { \
        vector_##NAME value = a[i * a_row] - (vector_##NAME){0}; \
        UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] += value * row[j]; \
      } \
      a += a_k; \
      b += b_k; \
    } \
    if (accumulate) \
      UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] += \
          *(vector_##NAME *)(c + i * c_row + j * WIDTH); \
    if (bias) \
      UNROLL for (int j = 0; j < VECTORS; j++) { \
        vector_##NAME add = *(const vector_##NAME *)(bias + j * WIDTH); \
        UNROLL for (int i = 0; i < ROWS; i++) acc[i][j] += add; \
      } \
    if (relu) \
      UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] = \
          relu_##NAME(acc[i][j]); \
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) * \
        (vector_##NAME *)(c + i * c_row + j * WIDTH) = acc[i][j]; \
  }
#define KERNELS(ROWS, VECTORS) \
  KERNEL(float, f32, ROWS, VECTORS) \
  KERNEL(double, f64, ROWS, VECTORS)
EACH_ROWS_1(KERNELS)
EACH_ROWS_2(KERNELS)
EACH_ROWS_4(KERNELS)

// Products of a matrix with a vector along contiguous k: four rows at a time, so that x is loaded
// once for four.
#define ROWS_FUNCTION(TYPE, NAME) \
  static void rows_##NAME(int64_t rows, int64_t k_count, const TYPE *a, int64_t a_row, \
                          const TYPE *x, TYPE *y, int64_t y_stride) { \
    enum { WIDTH = HSC_ISA_BYTES / sizeof(TYPE) }; \
    for (int64_t first = 0; first < rows; first += 4) { \
      int count = rows - first < 4 ? (int)(rows - first) : 4; \
      const TYPE *row[4]; \
      for (int i = 0; i < 4; i++) \
        row[i] = a + (first + (i < count ? i : 0)) * a_row; \
      vector_##NAME acc[4][2] = {{{0}}}; \
      int64_t k = 0; \
      for (; k + 2 * WIDTH <= k_count; k += 2 * WIDTH) \
        UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 2; j++) acc[i][j] += \
            *(const vector_##NAME *)(row[i] + k + j * WIDTH) * \
            *(const vector_##NAME *)(x + k + j * WIDTH); \
      for (int i = 0; i < count; i++) { \
        vector_##NAME both = acc[i][0] + acc[i][1]; \
        TYPE sum = 0; \
        for (int w = 0; w < WIDTH; w++) \
          sum += both[w]; \
        for (int64_t rest = k; rest < k_count; rest++) \
          sum += row[i][rest] * x[rest]; \
        y[(first + i) * y_stride] = sum; \
      } \
    } \
  }
ROWS_FUNCTION(float, f32)
ROWS_FUNCTION(double, f64)

#define ENTRY_F32(ROWS, VECTORS) .f32[VECTORS][ROWS] = kernel_f32_##ROWS##x##VECTORS,
#define ENTRY_F64(ROWS, VECTORS) .f64[VECTORS][ROWS] = kernel_f64_##ROWS##x##VECTORS,
extern const hsc_gemm_kernels CONCAT(hsc_gemm_kernels_, HSC_ISA);
const hsc_gemm_kernels CONCAT(hsc_gemm_kernels_, HSC_ISA) = {
    .vector_f32 = HSC_ISA_BYTES / 4,
    .vector_f64 = HSC_ISA_BYTES / 8,
    .max_rows = {0, MAX_1, MAX_2, 0, MAX_4},
    EACH_ROWS_1(ENTRY_F32) EACH_ROWS_2(ENTRY_F32) EACH_ROWS_4(ENTRY_F32) EACH_ROWS_1(ENTRY_F64)
        EACH_ROWS_2(ENTRY_F64) EACH_ROWS_4(ENTRY_F64)
            .rows_f32 = rows_f32,
    .rows_f64 = rows_f64,
};
