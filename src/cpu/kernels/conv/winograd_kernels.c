// winograd_kernels.c - the transforms of winograd.h, on a register of features or columns at a
// time. Compiled once per instruction set, as conv_kernels.c is.
#include "cpu/kernels/conv/winograd.h"

#include <string.h>

#include "cpu/kernels/kernel_vectors.h"

typedef vector_f32 vec;
enum { WIDTH = HSC_ISA_BYTES / 4 };
#define INLINE static inline __attribute__((always_inline))

// ---- along one line: of the input, of a kernel, of results and their gradient -------------------

// Points 0, 1, -1, infinity.
INLINE void input_line_2(const vec *d, vec *to) {
  vec d1 = d[1];
  vec d2 = d[2];
  to[0] = d[0] - d2;
  to[1] = d2 + d1;
  to[2] = d2 - d1;
  to[3] = d[3] - d1;
}
INLINE void filter_line_2(const vec *g, vec *to) {
  vec even = 0.5f * (g[0] + g[2]);
  vec odd = 0.5f * g[1];
  to[0] = g[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = g[2];
}
INLINE void gradient_line_2(const vec *g, vec *to) {
  vec even = 0.5f * g[0];
  vec odd = 0.5f * g[1];
  to[0] = g[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = g[1];
}
INLINE void window_line_2(const vec *m, vec *to) {
  vec even = m[1] + m[2];
  to[0] = m[0] + even;
  to[1] = m[1] - m[2];
  to[2] = even + m[3];
}
INLINE void output_line_2(const vec *m, vec *to) {
  vec one = m[1];
  vec minus = m[2];
  to[0] = m[0] + one + minus;
  to[1] = one - minus + m[3];
}

// Points 0, A, -A, B, -B, infinity. A row of Bt is the product of (x - q) over the other points q;
// G divides by that product at the row's point.
#define A 0.6875f
#define B 1.4375f
#define AA (A * A)
#define BB (B * B)
// What the rows of A, -A, B, -B come to, from their even and odd powers.
INLINE void at_both_signs(vec even_a, vec odd_a, vec even_b, vec odd_b, vec *to) {
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
}
INLINE void input_line_4(const vec *d, vec *to) {
  vec d1 = d[1];
  vec d2 = d[2];
  vec d3 = d[3];
  vec d4 = d[4];
  vec even_a = d4 - BB * d2;
  vec odd_a = A * (d3 - BB * d1);
  vec even_b = d4 - AA * d2;
  vec odd_b = B * (d3 - AA * d1);
  to[0] = (AA * BB) * d[0] - (AA + BB) * d2 + d4;
  at_both_signs(even_a, odd_a, even_b, odd_b, to);
  to[5] = (AA * BB) * d1 - (AA + BB) * d3 + d[5];
}
#define BY_0 (float)(1 / ((double)AA * BB))
#define BY_A (float)(1 / (2.0 * AA * (AA - BB)))
#define BY_B (float)(1 / (2.0 * BB * (BB - AA)))
INLINE void filter_line_4(const vec *g, vec *to) {
  vec g0 = g[0];
  vec g1 = g[1];
  vec g2 = g[2];
  vec even_a = BY_A * (g0 + AA * g2);
  vec odd_a = BY_A * A * g1;
  vec even_b = BY_B * (g0 + BB * g2);
  vec odd_b = BY_B * B * g1;
  to[0] = BY_0 * g0;
  at_both_signs(even_a, odd_a, even_b, odd_b, to);
  to[5] = g2;
}
INLINE void gradient_line_4(const vec *g, vec *to) {
  vec g0 = g[0];
  vec g1 = g[1];
  vec g2 = g[2];
  vec g3 = g[3];
  vec even_a = BY_A * (g0 + AA * g2);
  vec odd_a = BY_A * A * (g1 + AA * g3);
  vec even_b = BY_B * (g0 + BB * g2);
  vec odd_b = BY_B * B * (g1 + BB * g3);
  to[0] = BY_0 * g0;
  at_both_signs(even_a, odd_a, even_b, odd_b, to);
  to[5] = g3;
}
INLINE void window_line_4(const vec *m, vec *to) {
  vec even_a = m[1] + m[2];
  vec odd_a = m[1] - m[2];
  vec even_b = m[3] + m[4];
  vec odd_b = m[3] - m[4];
  to[0] = m[0] + even_a + even_b;
  to[1] = A * odd_a + B * odd_b;
  to[2] = AA * even_a + BB * even_b + m[5];
}
INLINE void output_line_4(const vec *m, vec *to) {
  vec even_a = m[1] + m[2];
  vec odd_a = m[1] - m[2];
  vec even_b = m[3] + m[4];
  vec odd_b = m[3] - m[4];
  to[0] = m[0] + even_a + even_b;
  to[1] = A * odd_a + B * odd_b;
  to[2] = AA * even_a + BB * even_b;
  to[3] = (AA * A) * odd_a + (BB * B) * odd_b + m[5];
}

// ---- both directions ----------------------------------------------------------------------------

// FROM x FROM pixels become TO x TO numbers.
#define SPREAD(WHAT, M, FROM, TO) \
  INLINE void WHAT##_register_##M(const float *const *pixels, int64_t at, float *to, \
                                  int64_t step) { \
    vec half[TO * FROM]; \
    UNROLL for (int x = 0; x < FROM; x++) { \
      vec column[FROM], made[TO]; \
      UNROLL for (int y = 0; y < FROM; y++) column[y] = *(const vec *)(pixels[y * FROM + x] + at); \
      WHAT##_line_##M(column, made); \
      UNROLL for (int y = 0; y < TO; y++) half[y * FROM + x] = made[y]; \
    } \
    UNROLL for (int y = 0; y < TO; y++) { \
      vec made[TO]; \
      WHAT##_line_##M(half + y * FROM, made); \
      UNROLL for (int x = 0; x < TO; x++) * (vec *)(to + (y * TO + x) * step) = made[x]; \
    } \
  } \
  static void WHAT##_##M(int64_t count, const float *const *pixels, float *to, int64_t step) { \
    int64_t i = 0; \
    for (; i + WIDTH <= count; i += WIDTH) \
      WHAT##_register_##M(pixels, i, to + i, step); \
    if (i == count) \
      return; \
    float rest[FROM * FROM][WIDTH]; \
    const float *of_rest[FROM * FROM]; \
    memset(rest, 0, sizeof rest); \
    for (int p = 0; p < FROM * FROM; p++) { \
      memcpy(rest[p], pixels[p] + i, sizeof(float) * (size_t)(count - i)); \
      of_rest[p] = rest[p]; \
    } \
    WHAT##_register_##M(of_rest, 0, to + i, step); \
  }

// FROM x FROM numbers become TO x TO results.
#define GATHER(WHAT, M, FROM, TO) \
  INLINE void WHAT##_register_##M(const float *from, int64_t step, float *const *results, \
                                  int64_t at, vec bias, bool relu) { \
    vec half[TO * FROM]; \
    UNROLL for (int x = 0; x < FROM; x++) { \
      vec column[FROM], made[TO]; \
      UNROLL for (int y = 0; y < FROM; y++) column[y] = \
          *(const vec *)(from + (y * FROM + x) * step); \
      WHAT##_line_##M(column, made); \
      UNROLL for (int y = 0; y < TO; y++) half[y * FROM + x] = made[y]; \
    } \
    UNROLL for (int y = 0; y < TO; y++) { \
      vec made[TO]; \
      WHAT##_line_##M(half + y * FROM, made); \
      UNROLL for (int x = 0; x < TO; x++) { \
        vec value = made[x] + bias; \
        *(vec *)(results[y * TO + x] + at) = relu ? relu_f32(value) : value; \
      } \
    } \
  } \
  static void WHAT##_##M(int64_t count, const float *from, int64_t step, float *const *results, \
                         const float *bias, bool relu) { \
    int64_t i = 0; \
    for (; i + WIDTH <= count; i += WIDTH) \
      WHAT##_register_##M(from + i, step, results, i, bias ? *(const vec *)(bias + i) : (vec){0}, \
                          relu); \
    if (i == count) \
      return; \
    float rest[TO * TO][WIDTH], *of_rest[TO * TO], rest_bias[WIDTH] = {0}; \
    for (int p = 0; p < TO * TO; p++) \
      of_rest[p] = rest[p]; \
    if (bias) \
      memcpy(rest_bias, bias + i, sizeof(float) * (size_t)(count - i)); \
    WHAT##_register_##M(from + i, step, of_rest, 0, *(const vec *)rest_bias, relu); \
    for (int p = 0; p < TO * TO; p++) \
      memcpy(results[p] + i, rest[p], sizeof(float) * (size_t)(count - i)); \
  }

#define FILTER(M, N) \
  static void filter_##M(int64_t count, const float *taps, int64_t tap_step, float *to, \
                         int64_t step) { \
    for (int64_t i = 0; i < count; i += WIDTH) { \
      vec half[N * 3]; \
      UNROLL for (int x = 0; x < 3; x++) { \
        vec column[3], made[N]; \
        UNROLL for (int y = 0; y < 3; y++) column[y] = \
            *(const vec *)(taps + (3 * y + x) * tap_step + i); \
        filter_line_##M(column, made); \
        UNROLL for (int y = 0; y < N; y++) half[y * 3 + x] = made[y]; \
      } \
      UNROLL for (int y = 0; y < N; y++) { \
        vec made[N]; \
        filter_line_##M(half + y * 3, made); \
        UNROLL for (int x = 0; x < N; x++) * (vec *)(to + (y * N + x) * step + i) = made[x]; \
      } \
    } \
  }

SPREAD(input, 2, 4, 4)
SPREAD(input, 4, 6, 6)
SPREAD(gradient, 2, 2, 4)
SPREAD(gradient, 4, 4, 6)
GATHER(output, 2, 4, 2)
GATHER(output, 4, 6, 4)
GATHER(window, 2, 4, 3)
GATHER(window, 4, 6, 3)
FILTER(2, 4)
FILTER(4, 6)

extern const hsc_winograd_kernels CONCAT(hsc_winograd_kernels_, HSC_ISA);
const hsc_winograd_kernels CONCAT(hsc_winograd_kernels_, HSC_ISA) = {
    .vector = WIDTH,
    .input = {NULL, input_2, input_4},
    .filter = {NULL, filter_2, filter_4},
    .output = {NULL, output_2, output_4},
    .gradient = {NULL, gradient_2, gradient_4},
    .window = {NULL, window_2, window_4},
};
