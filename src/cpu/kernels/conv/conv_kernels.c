// conv_kernels.c - the inner kernels of convolutions. Compiled once per instruction set, as
// gemm_kernels.c is; each copy exports one table, hsc_conv_kernels_<isa>. They differ from those of
// matrix products in one thing: every row of A has a pointer of its own for every tap of the
// window, so that a convolution reads its input where it lies ("indirect convolution", Dukhan,
// arXiv:1907.02129), padding included: a row that falls outside points to zeros.
#include "cpu/kernels/conv/conv_kernels.h"
#include "cpu/kernels/kernel_vectors.h"

#if HSC_ISA_BYTES == 64
#define EACH_ROWS(X, V) \
  X(1, V) \
  X(2, V) \
  X(3, V) \
  X(4, V) \
  X(5, V) \
  X(6, V) \
  X(7, V) \
  X(8, V) \
  X(9, V) \
  X(10, V) \
  X(11, V) \
  X(12, V)
enum { MAX_ROWS = 12 };
#else
#define EACH_ROWS(X, V) X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V)
enum { MAX_ROWS = 6 };
#endif

#define KERNEL(TYPE, NAME, ROWS, VECTORS) \
  static void kernel_##NAME##_##ROWS##x##VECTORS(int64_t taps, int64_t run, const TYPE *const *a, \
                                                 int64_t a_k, const TYPE *b, TYPE *const *c, \
                                                 bool accumulate, const TYPE *bias, bool relu) { \
    enum { WIDTH = HSC_ISA_BYTES / sizeof(TYPE) }; \
    vector_##NAME acc[ROWS][VECTORS]; \
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] = \
        (vector_##NAME){0}; \
    for (int64_t tap = 0; tap < taps; tap++, a += ROWS) { \
      const TYPE *row[ROWS]; \
      UNROLL for (int i = 0; i < ROWS; i++) row[i] = a[i]; \
      for (int64_t k = 0, at = 0; k < run; k++, at += a_k) { \
        vector_##NAME from_b[VECTORS]; \
        UNROLL for (int j = 0; j < VECTORS; j++) from_b[j] = \
            *(const vector_##NAME *)(b + j * WIDTH); \
        UNROLL for (int i = 0; i < ROWS; i++) { \
          vector_##NAME value = row[i][at] - (vector_##NAME){0}; \
          UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] += value * from_b[j]; \
        } \
        b += VECTORS * WIDTH; \
      } \
    } \
    if (accumulate) \
      UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] += \
          *(vector_##NAME *)(c[i] + j * WIDTH); \
    if (bias) \
      UNROLL for (int j = 0; j < VECTORS; j++) { \
        vector_##NAME add = *(const vector_##NAME *)(bias + j * WIDTH); \
        UNROLL for (int i = 0; i < ROWS; i++) acc[i][j] += add; \
      } \
    if (relu) \
      UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] = \
          relu_##NAME(acc[i][j]); \
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < VECTORS; j++) * \
        (vector_##NAME *)(c[i] + j * WIDTH) = acc[i][j]; \
  }
#define KERNELS(ROWS, VECTORS) \
  KERNEL(float, f32, ROWS, VECTORS) \
  KERNEL(double, f64, ROWS, VECTORS)
EACH_ROWS(KERNELS, 1)
EACH_ROWS(KERNELS, 2)

#define CHANNELS_FUNCTION(TYPE, NAME) \
  static void channels_##NAME(int64_t count, int64_t taps, const TYPE *const *a, \
                              const TYPE *const *b, TYPE *out) { \
    enum { WIDTH = HSC_ISA_BYTES / sizeof(TYPE) }; \
    int64_t g = 0; \
    for (; g + 4 * WIDTH <= count; g += 4 * WIDTH) { \
      vector_##NAME acc[4] = {{0}}; \
      for (int64_t tap = 0; tap < taps; tap++) \
        UNROLL for (int j = 0; j < 4; j++) acc[j] += \
            *(const vector_##NAME *)(a[tap] + g + j * WIDTH) * \
            *(const vector_##NAME *)(b[tap] + g + j * WIDTH); \
      UNROLL for (int j = 0; j < 4; j++) * (vector_##NAME *)(out + g + j * WIDTH) = acc[j]; \
    } \
    for (; g + WIDTH <= count; g += WIDTH) { \
      vector_##NAME acc = {0}; \
      for (int64_t tap = 0; tap < taps; tap++) \
        acc += *(const vector_##NAME *)(a[tap] + g) * *(const vector_##NAME *)(b[tap] + g); \
      *(vector_##NAME *)(out + g) = acc; \
    } \
    for (; g < count; g++) { \
      TYPE acc = 0; \
      for (int64_t tap = 0; tap < taps; tap++) \
        acc += a[tap][g] * b[tap][g]; \
      out[g] = acc; \
    } \
  }
CHANNELS_FUNCTION(float, f32)
CHANNELS_FUNCTION(double, f64)

static void keep_4(int64_t count,
                   const uint8_t *stays,
                   uint32_t *restrict values,
                   const uint32_t *restrict next,
                   int32_t *restrict which,
                   int32_t number) {
  for (int64_t i = 0; i < count; i++) {
    int32_t keeps = -(int32_t)(stays[i] != 0) & ~(which[i] >> 31);
    values[i] = (values[i] & (uint32_t)keeps) | (next[i] & ~(uint32_t)keeps);
    which[i] = (which[i] & keeps) | (number & ~keeps);
  }
}

// Short runs of steps, so that both sides stay in the first cache; the compiler turns the constant
// inner counts into shuffles.
#define TRANSPOSE_FUNCTION(TYPE, NAME) \
  static void transpose_##NAME(int64_t steps, int64_t columns, int64_t width, const TYPE *from, \
                               int64_t column_stride, TYPE *to) { \
    enum { WIDTH = HSC_ISA_BYTES / sizeof(TYPE) }; \
    int64_t step = 0; \
    for (; step + WIDTH <= steps; step += WIDTH) \
      for (int64_t j = 0; j < width; j += WIDTH) { \
        TYPE block[WIDTH][WIDTH]; \
        UNROLL for (int i = 0; i < WIDTH; i++) { \
          if (j + i < columns) \
            memcpy(block[i], from + step + (j + i) * column_stride, sizeof block[i]); \
          else \
            memset(block[i], 0, sizeof block[i]); \
        } \
        UNROLL for (int s = 0; s < WIDTH; s++) UNROLL for (int i = 0; i < WIDTH; i++) \
            to[(step + s) * width + j + i] = block[i][s]; \
      } \
    for (; step < steps; step++) \
      for (int64_t j = 0; j < width; j++) \
        to[step * width + j] = j < columns ? from[step + j * column_stride] : 0; \
  }
TRANSPOSE_FUNCTION(float, f32)
TRANSPOSE_FUNCTION(double, f64)

#define ENTRY_F32(ROWS, VECTORS) .f32[VECTORS][ROWS] = kernel_f32_##ROWS##x##VECTORS,
#define ENTRY_F64(ROWS, VECTORS) .f64[VECTORS][ROWS] = kernel_f64_##ROWS##x##VECTORS,
extern const hsc_conv_kernels CONCAT(hsc_conv_kernels_, HSC_ISA);
const hsc_conv_kernels CONCAT(hsc_conv_kernels_, HSC_ISA) = {
    .vector_f32 = HSC_ISA_BYTES / 4,
    .vector_f64 = HSC_ISA_BYTES / 8,
    .max_rows = MAX_ROWS,
    EACH_ROWS(ENTRY_F32, 1) EACH_ROWS(ENTRY_F32, 2) EACH_ROWS(ENTRY_F64, 1) EACH_ROWS(ENTRY_F64, 2)
        .channels_f32 = channels_f32,
    .channels_f64 = channels_f64,
    .keep_4 = keep_4,
    .transpose_f32 = transpose_f32,
    .transpose_f64 = transpose_f64,
};
