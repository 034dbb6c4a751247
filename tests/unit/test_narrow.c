// test_narrow.c - products of types narrower than their sums, and of complex numbers, against plain
// loops: every pair of types, instruction set, order of storage, and sizes around all blocks.
#include <stdlib.h>

#include "base/core/random.h"
#include "cpu/kernels/gemm/complex.h"
#include "cpu/kernels/gemm/narrow.h"
#include "cpu/kernels/move/convert.h"
#include "unit.h"

static const int64_t shapes[][3] = {{1, 1, 1},      {1, 70, 5},   {7, 13, 9},
                                    {12, 32, 64},   {13, 33, 65}, {5, 1, 1600},
                                    {100, 40, 385}, {97, 530, 3}, {3, 5, 1541}};

// A matrix of the type with small whole numbers, and the same as doubles.
typedef struct filled {
  void *stored;
  double *values;
} filled;

static filled fill(hsc_type type, int64_t count, uint64_t seed) {
  hsc_random random;
  hsc_random_init(&random, seed);
  filled made = {calloc((size_t)count + 1, hsc_type_bytes(type)),
                 calloc((size_t)count + 1, sizeof(double))};
  bool is_signed = hsc_type_is_float(type) || hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  int64_t range = hsc_type_bits(type) < 8 ? 4 : 16;
  // Bytes in their whole range, where the ways to sum them differ.
  if (hsc_type_bits(type) == 8 && !hsc_type_is_float(type))
    range = 256;
  for (int64_t i = 0; i < count; i++) {
    int64_t x = (int64_t)hsc_random_below(&random, (uint64_t)range);
    made.values[i] = (double)(is_signed ? x - range / 2 : x);
  }
  hsc_convert_array(HSC_TYPE_F64, made.values, type, made.stored, count);
  hsc_convert_array(type, made.stored, HSC_TYPE_F64, made.values, count);
  return made;
}

static void check(const hsc_cpu_isa *isa,
                  hsc_type a_type,
                  hsc_type b_type,
                  const int64_t *shape,
                  bool a_transposed,
                  bool b_transposed) {
  int64_t m = shape[0];
  int64_t n = shape[1];
  int64_t k = shape[2];
  hsc_type sum = hsc_type_is_float(a_type) ? HSC_TYPE_F32 : HSC_TYPE_S32;
  hsc_gemm_matrix as = a_transposed ? (hsc_gemm_matrix){1, m} : (hsc_gemm_matrix){k, 1};
  hsc_gemm_matrix bs = b_transposed ? (hsc_gemm_matrix){1, k} : (hsc_gemm_matrix){n, 1};
  filled a = fill(a_type, m * k, 1);
  filled b = fill(b_type, k * n, 2);
  int32_t *c = calloc((size_t)(m * n + 1), sizeof *c);
  c[m * n] = 12345;
  void *scratch = NULL;
  size_t bytes = (size_t)hsc_narrow_scratch_bytes(isa, m, n, k);
  assert_int_equal(posix_memalign(&scratch, 64, bytes + 64), 0);
  memset(scratch, 0x5a, bytes + 64);
  hsc_narrow_product(isa, a_type, b_type, sum, m, n, k, a.stored, as, b.stored, bs, c, n, scratch);
  for (size_t i = bytes; i < bytes + 64; i++)
    assert_int_equal(((uint8_t *)scratch)[i], 0x5a);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double expected = 0;
      for (int64_t p = 0; p < k; p++)
        expected += a.values[i * as.row + p * as.column] * b.values[p * bs.row + j * bs.column];
      float real;
      memcpy(&real, &c[i * n + j], sizeof real);
      double got = sum == HSC_TYPE_F32 ? (double)real : (double)c[i * n + j];
      if (got != expected)
        fail_msg("%s x %s, level %d, %lldx%lldx%lld (%d%d): %lld,%lld is %g, not %g",
                 hsc_type_text(a_type), hsc_type_text(b_type), (int)isa->level, (long long)m,
                 (long long)n, (long long)k, a_transposed, b_transposed, (long long)i, (long long)j,
                 got, expected);
    }
  assert_int_equal(c[m * n], 12345);
  free(scratch);
  free(a.stored);
  free(a.values);
  free(b.stored);
  free(b.values);
  free(c);
}

static void narrow_products_equal_a_plain_loop(void **state) {
  static const hsc_type pairs[][2] = {
      {HSC_TYPE_S8, HSC_TYPE_S8},       {HSC_TYPE_U8, HSC_TYPE_U8},
      {HSC_TYPE_S8, HSC_TYPE_U8},       {HSC_TYPE_U8, HSC_TYPE_S8},
      {HSC_TYPE_S4, HSC_TYPE_S8},       {HSC_TYPE_S16, HSC_TYPE_S16},
      {HSC_TYPE_U16, HSC_TYPE_S8},      {HSC_TYPE_S32, HSC_TYPE_S32},
      {HSC_TYPE_BF16, HSC_TYPE_BF16},   {HSC_TYPE_F16, HSC_TYPE_F16},
      {HSC_TYPE_BF16, HSC_TYPE_F32},    {HSC_TYPE_F8E4M3FN, HSC_TYPE_F8E4M3FN},
      {HSC_TYPE_F8E5M2, HSC_TYPE_BF16}, {HSC_TYPE_F8E5M2, HSC_TYPE_F16}};
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  int level = (int)isa.level;
  for (int l = 0; l <= level; l++) {
    isa.level = (hsc_cpu_isa_level)l;
    for (size_t p = 0; p < HSC_COUNT_OF(pairs); p++)
      for (size_t s = 0; s < HSC_COUNT_OF(shapes); s++)
        for (int form = 0; form < 4; form++)
          check(&isa, pairs[p][0], pairs[p][1], shapes[s], form & 1, form & 2);
  }
}

// Every step of the way may overflow: the sum is right modulo 2^32.
static void integer_sums_wrap(void **state) {
  enum { K = 40000 };
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  int16_t *a = malloc(K * sizeof *a);
  for (int i = 0; i < K; i++)
    a[i] = INT16_MIN;
  int32_t c = 0;
  void *scratch = NULL;
  size_t bytes = (size_t)hsc_narrow_scratch_bytes(&isa, 1, 1, K);
  assert_int_equal(posix_memalign(&scratch, 64, bytes), 0);
  hsc_narrow_product(&isa, HSC_TYPE_S16, HSC_TYPE_S16, HSC_TYPE_S32, 1, 1, K, a,
                     (hsc_gemm_matrix){K, 1}, a, (hsc_gemm_matrix){1, 1}, &c, 1, scratch);
  assert_int_equal((uint32_t)c, (uint32_t)((uint64_t)K << 30));
  free(scratch);
  free(a);
}

static void nan_stays(void **state) {
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  uint16_t a[64];
  uint16_t b[64];
  for (int i = 0; i < 64; i++)
    a[i] = b[i] = 0x3f80;  // 1
  a[17] = 0x7fc0;
  float c = 0;
  void *scratch = NULL;
  size_t bytes = (size_t)hsc_narrow_scratch_bytes(&isa, 1, 1, 64);
  assert_int_equal(posix_memalign(&scratch, 64, bytes), 0);
  hsc_narrow_product(&isa, HSC_TYPE_BF16, HSC_TYPE_BF16, HSC_TYPE_F32, 1, 1, 64, a,
                     (hsc_gemm_matrix){64, 1}, b, (hsc_gemm_matrix){1, 1}, &c, 1, scratch);
  assert_true(c != c);
  free(scratch);
}

static void complex_products_equal_a_plain_loop(void **state) {
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  for (size_t s = 0; s < HSC_COUNT_OF(shapes); s++) {
    int64_t m = shapes[s][0];
    int64_t n = shapes[s][1];
    int64_t k = shapes[s][2];
    filled a = fill(HSC_TYPE_F32, 2 * m * k, 3);
    filled b = fill(HSC_TYPE_F32, 2 * k * n, 4);
    float *c = calloc((size_t)(2 * m * n), sizeof *c);
    void *scratch = NULL;
    size_t bytes = (size_t)hsc_complex_scratch_bytes(&isa, false, m, n, k);
    assert_int_equal(posix_memalign(&scratch, 64, bytes), 0);
    hsc_complex_product(&isa, false, m, n, k, a.stored, (hsc_gemm_matrix){k, 1}, b.stored,
                        (hsc_gemm_matrix){1, k}, c, n, scratch);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double re = 0;
        double im = 0;
        for (int64_t p = 0; p < k; p++) {
          const double *x = a.values + 2 * (i * k + p);
          const double *y = b.values + 2 * (j * k + p);
          re += x[0] * y[0] - x[1] * y[1];
          im += x[0] * y[1] + x[1] * y[0];
        }
        assert_true((double)c[2 * (i * n + j)] == re);
        assert_true((double)c[2 * (i * n + j) + 1] == im);
      }
    free(scratch);
    free(a.stored);
    free(a.values);
    free(b.stored);
    free(b.values);
    free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(narrow_products_equal_a_plain_loop),
      cmocka_unit_test(integer_sums_wrap),
      cmocka_unit_test(nan_stays),
      cmocka_unit_test(complex_products_equal_a_plain_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
