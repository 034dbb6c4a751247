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

// ---- few vectors --------------------------------------------------------------------------------

// These products take the time of reading the matrix: each element is used a few times and read
// once. DOTS_ROWS rows at a time share what is loaded of x.
#if HSC_ISA_BYTES == 64
enum { DOTS_ROWS = 4 };
#else
enum { DOTS_ROWS = 2 };
#endif

#define DOTS(TYPE, NAME, COUNT, STEPS) \
  static void dots_##NAME##_##COUNT(int64_t rows, int64_t k_count, const TYPE *a, int64_t a_row, \
                                    const TYPE *x, int64_t x_row, TYPE *y, int64_t y_row, \
                                    int64_t y_column) { \
    enum { WIDTH = HSC_ISA_BYTES / sizeof(TYPE) }; \
    for (int64_t first = 0; first < rows; first += DOTS_ROWS) { \
      int count = rows - first < DOTS_ROWS ? (int)(rows - first) : DOTS_ROWS; \
      const TYPE *row[DOTS_ROWS]; \
      for (int i = 0; i < DOTS_ROWS; i++) \
        row[i] = a + (first + (i < count ? i : 0)) * a_row; \
      vector_##NAME acc[DOTS_ROWS][COUNT][STEPS] = {{{{0}}}}; \
      int64_t k = 0; \
      for (; k + STEPS * WIDTH <= k_count; k += STEPS * WIDTH) \
        UNROLL for (int s = 0; s < STEPS; s++) { \
          vector_##NAME at[COUNT]; \
          UNROLL for (int j = 0; j < COUNT; j++) at[j] = \
              *(const vector_##NAME *)(x + j * x_row + k + s * WIDTH); \
          UNROLL for (int i = 0; i < DOTS_ROWS; i++) { \
            vector_##NAME value = *(const vector_##NAME *)(row[i] + k + s * WIDTH); \
            UNROLL for (int j = 0; j < COUNT; j++) acc[i][j][s] += value * at[j]; \
          } \
        } \
      UNROLL for (int i = 0; i < DOTS_ROWS; i++) { \
        UNROLL for (int j = 0; j < COUNT; j++) { \
          vector_##NAME all = acc[i][j][0]; \
          UNROLL for (int s = 1; s < STEPS; s++) all += acc[i][j][s]; \
          TYPE sum = 0; \
          for (int w = 0; w < WIDTH; w++) \
            sum += all[w]; \
          for (int64_t rest = k; rest < k_count; rest++) \
            sum += row[i][rest] * x[j * x_row + rest]; \
          if (i < count) \
            y[(first + i) * y_row + j * y_column] = sum; \
        } \
      } \
    } \
  }
// Four rows of B at a time; the part of C that they are added to stays in the first cache.
#define STREAM(TYPE, NAME, ROWS) \
  static void stream_##NAME##_##ROWS(int64_t columns, int64_t k_count, const TYPE *a, \
                                     int64_t a_row, int64_t a_k, const TYPE *b, int64_t b_k, \
                                     TYPE *c, int64_t c_row) { \
    enum { WIDTH = HSC_ISA_BYTES / sizeof(TYPE), PART = 4096 / sizeof(TYPE), DEEP = 4 }; \
    for (int64_t first = 0; first < columns; first += PART) { \
      int64_t end = columns - first < PART ? columns : first + PART; \
      for (int64_t k = 0; k < k_count; k += DEEP) { \
        int deep = k_count - k < DEEP ? (int)(k_count - k) : DEEP; \
        TYPE value[ROWS][DEEP]; \
        const TYPE *row[DEEP]; \
        for (int q = 0; q < DEEP; q++) \
          row[q] = b + (k + (q < deep ? q : 0)) * b_k; \
        for (int i = 0; i < ROWS; i++) \
          for (int q = 0; q < DEEP; q++) \
            value[i][q] = q < deep ? a[i * a_row + (k + q) * a_k] : 0; \
        int64_t j = first; \
        for (; deep == DEEP && j + WIDTH <= end; j += WIDTH) { \
          vector_##NAME at[DEEP]; \
          UNROLL for (int q = 0; q < DEEP; q++) at[q] = *(const vector_##NAME *)(row[q] + j); \
          UNROLL for (int i = 0; i < ROWS; i++) { \
            vector_##NAME sum = *(vector_##NAME *)(c + i * c_row + j); \
            UNROLL for (int q = 0; q < DEEP; q++) sum += value[i][q] * at[q]; \
            *(vector_##NAME *)(c + i * c_row + j) = sum; \
          } \
        } \
        for (; j < end; j++) \
          for (int i = 0; i < ROWS; i++) \
            for (int q = 0; q < deep; q++) \
              c[i * c_row + j] += value[i][q] * row[q][j]; \
      } \
    } \
  }
#define FEW(TYPE, NAME) \
  DOTS(TYPE, NAME, 1, 2) \
  DOTS(TYPE, NAME, 2, 2) \
  DOTS(TYPE, NAME, 3, 1) \
  DOTS(TYPE, NAME, 4, 1) \
  static void dots_##NAME(int64_t rows, int64_t k_count, const TYPE *a, int64_t a_row, \
                          const TYPE *x, int64_t x_row, int count, TYPE *y, int64_t y_row, \
                          int64_t y_column) { \
    if (count == 1) \
      dots_##NAME##_1(rows, k_count, a, a_row, x, x_row, y, y_row, y_column); \
    else if (count == 2) \
      dots_##NAME##_2(rows, k_count, a, a_row, x, x_row, y, y_row, y_column); \
    else if (count == 3) \
      dots_##NAME##_3(rows, k_count, a, a_row, x, x_row, y, y_row, y_column); \
    else \
      dots_##NAME##_4(rows, k_count, a, a_row, x, x_row, y, y_row, y_column); \
  } \
  STREAM(TYPE, NAME, 1) \
  STREAM(TYPE, NAME, 2) \
  STREAM(TYPE, NAME, 3) \
  STREAM(TYPE, NAME, 4) \
  static void stream_##NAME(int rows, int64_t columns, int64_t k_count, const TYPE *a, \
                            int64_t a_row, int64_t a_k, const TYPE *b, int64_t b_k, TYPE *c, \
                            int64_t c_row) { \
    if (rows == 1) \
      stream_##NAME##_1(columns, k_count, a, a_row, a_k, b, b_k, c, c_row); \
    else if (rows == 2) \
      stream_##NAME##_2(columns, k_count, a, a_row, a_k, b, b_k, c, c_row); \
    else if (rows == 3) \
      stream_##NAME##_3(columns, k_count, a, a_row, a_k, b, b_k, c, c_row); \
    else \
      stream_##NAME##_4(columns, k_count, a, a_row, a_k, b, b_k, c, c_row); \
  }
FEW(float, f32)
FEW(double, f64)

#define ENTRY_F32(ROWS, VECTORS) .f32[VECTORS][ROWS] = kernel_f32_##ROWS##x##VECTORS,
#define ENTRY_F64(ROWS, VECTORS) .f64[VECTORS][ROWS] = kernel_f64_##ROWS##x##VECTORS,
extern const hsc_gemm_kernels CONCAT(hsc_gemm_kernels_, HSC_ISA);
const hsc_gemm_kernels CONCAT(hsc_gemm_kernels_, HSC_ISA) = {
    .vector_f32 = HSC_ISA_BYTES / 4,
    .vector_f64 = HSC_ISA_BYTES / 8,
    .max_rows = {0, MAX_1, MAX_2, 0, MAX_4},
    EACH_ROWS_1(ENTRY_F32) EACH_ROWS_2(ENTRY_F32) EACH_ROWS_4(ENTRY_F32) EACH_ROWS_1(ENTRY_F64)
        EACH_ROWS_2(ENTRY_F64) EACH_ROWS_4(ENTRY_F64)
            .dots_f32 = dots_f32,
    .dots_f64 = dots_f64,
    .stream_f32 = stream_f32,
    .stream_f64 = stream_f64,
};
