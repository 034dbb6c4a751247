// complex.c - see complex.h.
#include "base/core/ints.h"
#include "cpu/kernels/gemm/complex.h"

static void plan(const hsc_cpu_isa *isa,
                 bool is_double,
                 int64_t m,
                 int64_t n,
                 int64_t k,
                 hsc_gemm_blocking *out_blocking) {
  hsc_gemm_plan(isa, is_double ? 8 : 4, m, n, k, (hsc_gemm_matrix){k, 1}, (hsc_gemm_matrix){n, 1},
                NULL, out_blocking);
}

int64_t hsc_complex_scratch_bytes(
    const hsc_cpu_isa *isa, bool is_double, int64_t m, int64_t n, int64_t k) {
  hsc_gemm_blocking blocking;
  plan(isa, is_double, m, n, k, &blocking);
  int64_t bytes = is_double ? 8 : 4;
  return 3 * hsc_round_up(m * k * bytes, 64) + 2 * hsc_round_up(k * n * bytes, 64) +
         2 * hsc_round_up(m * n * bytes, 64) + hsc_round_up(blocking.scratch_bytes, 64);
}

// Planes of one matrix, rows side by side; negated_im may be NULL.
#define SPLIT(NAME, TYPE) \
  static void split_##NAME(const TYPE *from, hsc_gemm_matrix strides, int64_t rows, \
                           int64_t columns, TYPE *re, TYPE *im, TYPE *negated_im) { \
    for (int64_t i = 0; i < rows; i++) \
      for (int64_t j = 0; j < columns; j++) { \
        const TYPE *at = from + 2 * (i * strides.row + j * strides.column); \
        re[i * columns + j] = at[0]; \
        im[i * columns + j] = at[1]; \
        if (negated_im) \
          negated_im[i * columns + j] = -at[1]; \
      } \
  }
SPLIT(f32, float)
SPLIT(f64, double)

#define PRODUCT(NAME, TYPE) \
  static void product_##NAME(const hsc_gemm_kernels *kernels, const hsc_gemm_blocking *blocking, \
                             int64_t m, int64_t n, int64_t k, const TYPE *a, \
                             hsc_gemm_matrix a_strides, const TYPE *b, hsc_gemm_matrix b_strides, \
                             TYPE *c, int64_t c_row, char *scratch) { \
    enum { BYTES = sizeof(TYPE) }; \
    TYPE *plane[7]; \
    const int64_t sizes[7] = {m * k, m * k, m * k, k * n, k * n, m * n, m * n}; \
    for (int i = 0; i < 7; i++) { \
      plane[i] = (TYPE *)scratch; \
      scratch += hsc_round_up(sizes[i] * BYTES, 64); \
    } \
    split_##NAME(a, a_strides, m, k, plane[0], plane[1], plane[2]); \
    split_##NAME(b, b_strides, k, n, plane[3], plane[4], NULL); \
    const hsc_gemm_matrix as = {k, 1}; \
    const hsc_gemm_matrix bs = {n, 1}; \
    const hsc_gemm_epilogue none = {0}; \
    TYPE *re = plane[5]; \
    TYPE *im = plane[6]; \
    hsc_gemm_##NAME(kernels, blocking, m, n, k, plane[0], as, plane[3], bs, re, n, false, none, \
                    scratch); \
    hsc_gemm_##NAME(kernels, blocking, m, n, k, plane[2], as, plane[4], bs, re, n, true, none, \
                    scratch); \
    hsc_gemm_##NAME(kernels, blocking, m, n, k, plane[0], as, plane[4], bs, im, n, false, none, \
                    scratch); \
    hsc_gemm_##NAME(kernels, blocking, m, n, k, plane[1], as, plane[3], bs, im, n, true, none, \
                    scratch); \
    for (int64_t i = 0; i < m; i++) \
      for (int64_t j = 0; j < n; j++) { \
        c[2 * (i * c_row + j)] = re[i * n + j]; \
        c[2 * (i * c_row + j) + 1] = im[i * n + j]; \
      } \
  }
PRODUCT(f32, float)
PRODUCT(f64, double)

void hsc_complex_product(const hsc_cpu_isa *isa,
                         bool is_double,
                         int64_t m,
                         int64_t n,
                         int64_t k,
                         const void *a,
                         hsc_gemm_matrix a_strides,
                         const void *b,
                         hsc_gemm_matrix b_strides,
                         void *c,
                         int64_t c_row,
                         void *scratch) {
  const hsc_gemm_kernels *kernels = hsc_gemm_kernels_for(isa->level);
  hsc_gemm_blocking blocking;
  plan(isa, is_double, m, n, k, &blocking);
  if (is_double)
    product_f64(kernels, &blocking, m, n, k, a, a_strides, b, b_strides, c, c_row, scratch);
  else
    product_f32(kernels, &blocking, m, n, k, a, a_strides, b, b_strides, c, c_row, scratch);
}
