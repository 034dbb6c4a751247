// test_cpu_parts.c - parts of the built-in device by themselves: matrix products, strided copies,
// index expressions, the thread pool.
#include <stdatomic.h>
#include <stdlib.h>

#include "base/core/random.h"
#include "base/files/file_io.h"
#include "cpu/core/isa.h"
#include "cpu/emit/affine.h"
#include "cpu/kernels/gemm/gemm.h"
#include "cpu/core/pool.h"
#include "cpu/kernels/move/strided_copy.h"
#include "unit.h"

// ---- matrix products ----------------------------------------------------------------------------

// Small whole numbers, so that every order of summation gives the same bits.
static float small_number(hsc_random *random) {
  return (float)hsc_random_below(random, 7) - 3;
}

static void check_product(const hsc_cpu_isa *isa,
                          int64_t m,
                          int64_t n,
                          int64_t k,
                          bool a_transposed,
                          bool b_transposed,
                          bool bias,
                          bool relu) {
  const hsc_gemm_kernels *kernels = hsc_gemm_kernels_for(isa->level);
  hsc_random random;
  hsc_random_init(&random, (uint64_t)(m * 10007 + n * 101 + k));
  float *a = malloc(sizeof(float) * (size_t)(m * k + 1));
  float *b = malloc(sizeof(float) * (size_t)(k * n + 1));
  float *c = malloc(sizeof(float) * (size_t)(m * n + 1));
  double *a64 = malloc(sizeof(double) * (size_t)(m * k + 1));
  double *b64 = malloc(sizeof(double) * (size_t)(k * n + 1));
  double *c64 = malloc(sizeof(double) * (size_t)(m * n + 1));
  float *add = malloc(sizeof(float) * (size_t)(n + 64));
  double *add64 = malloc(sizeof(double) * (size_t)(n + 64));
  for (int64_t i = 0; i < m * k; i++)
    a64[i] = a[i] = small_number(&random);
  for (int64_t i = 0; i < k * n; i++)
    b64[i] = b[i] = small_number(&random);
  for (int64_t i = 0; i < n + 64; i++)
    add64[i] = add[i] = small_number(&random);
  c[m * n] = 12345;
  c64[m * n] = 12345;
  hsc_gemm_matrix as = a_transposed ? (hsc_gemm_matrix){1, m} : (hsc_gemm_matrix){k, 1};
  hsc_gemm_matrix bs = b_transposed ? (hsc_gemm_matrix){1, k} : (hsc_gemm_matrix){n, 1};
  hsc_gemm_blocking blocking;
  void *scratch = NULL;
  hsc_gemm_plan(isa, 4, m, n, k, as, bs, NULL, &blocking);
  assert_int_equal(posix_memalign(&scratch, 64, (size_t)blocking.scratch_bytes + 64), 0);
  hsc_gemm_f32(kernels, &blocking, m, n, k, a, as, b, bs, c, n, false,
               (hsc_gemm_epilogue){bias ? add : NULL, relu}, scratch);
  free(scratch);
  hsc_gemm_plan(isa, 8, m, n, k, as, bs, NULL, &blocking);
  assert_int_equal(posix_memalign(&scratch, 64, (size_t)blocking.scratch_bytes + 64), 0);
  hsc_gemm_f64(kernels, &blocking, m, n, k, a64, as, b64, bs, c64, n, false,
               (hsc_gemm_epilogue){bias ? add64 : NULL, relu}, scratch);
  free(scratch);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = bias ? add64[j] : 0;
      for (int64_t p = 0; p < k; p++)
        sum += a64[i * as.row + p * as.column] * b64[p * bs.row + j * bs.column];
      if (relu && sum < 0)
        sum = 0;
      if (c[i * n + j] != sum || c64[i * n + j] != sum)
        fail_msg("%lldx%lldx%lld (%d%d): element %lld,%lld is %g and %g, not %g", (long long)m,
                 (long long)n, (long long)k, a_transposed, b_transposed, (long long)i, (long long)j,
                 (double)c[i * n + j], c64[i * n + j], sum);
    }
  assert_true(c[m * n] == 12345 && c64[m * n] == 12345);
  free(a);
  free(b);
  free(c);
  free(a64);
  free(b64);
  free(c64);
  free(add);
  free(add64);
}

// What the kernel lists of the processor; it leaves out what it does not keep the registers of.
static bool kernel_lists(const char *text, const char *name) {
  char word[40];
  snprintf(word, sizeof word, " %s ", name);
  return strstr(text, word) != NULL;
}

static void instructions_are_those_that_the_kernel_lists(void **state) {
  static const struct {
    hsc_cpu_instructions unit;
    const char *names[5];
  } units[] = {
      {HSC_CPU_AVX2, {"avx2", "fma", "f16c"}},
      {HSC_CPU_AVX512, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {HSC_CPU_AVX512_VNNI, {"avx512_vnni"}},
      {HSC_CPU_AVX512_BF16, {"avx512_bf16"}},
      {HSC_CPU_AVX_VNNI, {"avx_vnni"}},
  };
#if !defined(__x86_64__)
  skip();  // an emulated processor is shown the list of the real one
#endif
  hsc_bytes text = {0};
  EXPECT_OK(hsc_file_read("/proc/cpuinfo", &text));
  char *flags = strstr(hsc_bytes_text(&text), "\nflags");
  if (flags) {
    char *end = strchr(flags + 1, '\n');
    *end = ' ';
    end[1] = '\0';
  }
  for (size_t i = 0; i < HSC_COUNT_OF(units); i++) {
    bool has = flags != NULL;
    for (int k = 0; has && units[i].names[k]; k++)
      has = kernel_lists(flags, units[i].names[k]);
    // a kernel may be older than the processor and not know the later ones
    if (has || units[i].unit <= HSC_CPU_AVX512)
      assert_int_equal(hsc_cpu_has(units[i].unit), has);
  }
  hsc_bytes_deinit(&text);
}

static void products_equal_a_plain_loop(void **state) {
  static const int64_t shapes[][3] = {{1, 1, 1},     {1, 37, 5},    {7, 13, 5},   {6, 16, 8},
                                      {5, 17, 0},    {32, 10, 64},  {32, 1, 70},  {33, 64, 9},
                                      {3, 40, 33},   {50, 96, 300}, {70, 31, 64}, {13, 600, 7},
                                      {100, 50, 128}};
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  int level = (int)isa.level;
  for (int l = 0; l <= level; l++) {
    isa.level = (hsc_cpu_isa_level)l;
    isa.vector_bytes = 16 << l;
    for (size_t s = 0; s < HSC_COUNT_OF(shapes); s++)
      for (int form = 0; form < 8; form++)
        check_product(&isa, shapes[s][0], shapes[s][1], shapes[s][2], form & 1, form & 2, form & 4,
                      (form & 5) == 5);
  }
}

// ---- strided copies -----------------------------------------------------------------------------

static void copies_move_each_element(void **state) {
  static const int sizes[] = {1, 2, 4, 8, 16};
  hsc_random random;
  hsc_random_init(&random, 1);
  for (int round = 0; round < 400; round++) {
    int rank = 1 + (int)hsc_random_below(&random, 4);
    // Every other target has gaps behind its innermost lines, as parts of concatenations have.
    int gap = round % 2 ? (int)hsc_random_below(&random, 3) : 0;
    // A few elements in a line, often: they have kernels of their own.
    int64_t longest = round % 4 < 2 ? 21 : 5;
    int bytes = sizes[hsc_random_below(&random, 5)];
    int64_t dims[4];
    int64_t order[4] = {0, 1, 2, 3};
    int64_t from_stride[4];
    int64_t elements = 1;
    for (int i = 0; i < rank; i++)
      elements *= dims[i] = 1 + (int64_t)hsc_random_below(&random, i < rank - 1 ? 21 : longest);
    for (int i = rank - 1; i > 0; i--) {
      int j = (int)hsc_random_below(&random, (uint64_t)i + 1);
      int64_t keep = order[i];
      order[i] = order[j];
      order[j] = keep;
    }
    // The source holds the dimensions in another order.
    int64_t stride = bytes;
    for (int i = rank - 1; i >= 0; i--) {
      from_stride[order[i]] = stride;
      stride *= dims[order[i]];
    }
    hsc_strided copy = {.rank = rank, .element_bytes = bytes};
    stride = bytes;
    for (int i = rank - 1; i >= 0; i--) {
      copy.size[i] = dims[i];
      copy.from_stride[i] = from_stride[i];
      copy.to_stride[i] = stride;
      stride *= i == rank - 1 ? dims[i] + gap : dims[i];
    }
    int64_t line = dims[rank - 1];
    uint8_t *from = malloc((size_t)(elements * bytes));
    uint8_t *to = malloc((size_t)stride);
    memset(to, 0xA5, (size_t)stride);
    for (int64_t i = 0; i < elements * bytes; i++)
      from[i] = (uint8_t)hsc_random_u64(&random);
    hsc_strided_normalize(&copy);
    int64_t outer = hsc_strided_outer(&copy);
    int64_t middle = outer / 3;
    hsc_strided_copy(&copy, from, to, 0, middle);
    hsc_strided_copy(&copy, from, to, middle, outer);
    for (int64_t e = 0; e < elements; e++) {
      int64_t at = 0;
      int64_t rest = e;
      for (int i = rank - 1; i >= 0; i--) {
        at += rest % dims[i] * from_stride[i];
        rest /= dims[i];
      }
      const uint8_t *made = to + (e / line * (line + gap) + e % line) * bytes;
      assert_memory_equal(made, from + at, bytes);
      if (e % line == line - 1)
        for (int64_t i = bytes; i < (1 + gap) * bytes; i++)
          assert_int_equal(made[i], 0xA5);
    }
    free(from);
    free(to);
  }
}

// ---- index expressions --------------------------------------------------------------------------

static void division_stays_affine_where_ranges_allow(void **state) {
  // 12 i + j with j in [0, 12): divided by 12 it is i, the rest is j.
  const int64_t sizes[] = {5, 12, 24};
  hsc_affine i = hsc_affine_symbol(0);
  hsc_affine j = hsc_affine_symbol(1);
  hsc_affine k = hsc_affine_symbol(2);
  hsc_affine sum;
  hsc_affine quotient;
  hsc_affine rest;
  int32_t symbol;
  int64_t inner;
  assert_true(hsc_affine_add(&j, &i, 12, &sum));
  assert_true(hsc_affine_divide(&sum, 12, sizes, &quotient, &rest, &symbol, &inner));
  assert_true(hsc_affine_equal(&quotient, &i));
  assert_true(hsc_affine_equal(&rest, &j));
  // k in [0, 24) by 8 is not affine, but would be if k were cut into (3, 8).
  assert_false(hsc_affine_divide(&k, 8, sizes, &quotient, &rest, &symbol, &inner));
  assert_int_equal(symbol, 2);
  assert_int_equal(inner, 8);
  // k by 7: no cut helps.
  assert_false(hsc_affine_divide(&k, 7, sizes, &quotient, &rest, &symbol, &inner));
  assert_int_equal(symbol, -1);
}

// ---- the pool -----------------------------------------------------------------------------------

typedef struct counts {
  _Atomic int done[1000];
  _Atomic int largest_worker;
} counts;

static void count_chunk(void *context, int64_t chunk, int worker) {
  counts *c = context;
  atomic_fetch_add(&c->done[chunk], 1);
  int seen = atomic_load(&c->largest_worker);
  while (worker > seen && !atomic_compare_exchange_weak(&c->largest_worker, &seen, worker))
    continue;
}

static void every_chunk_is_done_once(void **state) {
  for (int threads = 1; threads <= 4; threads++) {
    hsc_cpu_pool *pool = NULL;
    EXPECT_OK(hsc_cpu_pool_create(threads, &pool));
    for (int loop = 0; loop < 300; loop++) {
      static counts c;
      memset(&c, 0, sizeof c);
      int64_t chunks = 1 + loop * 3;
      hsc_cpu_pool_run(pool, chunks, count_chunk, &c);
      for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(atomic_load(&c.done[i]), i < chunks ? 1 : 0);
      assert_in_range(atomic_load(&c.largest_worker), 0, threads - 1);
    }
    hsc_cpu_pool_destroy(pool);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_are_those_that_the_kernel_lists),
      cmocka_unit_test(products_equal_a_plain_loop),
      cmocka_unit_test(copies_move_each_element),
      cmocka_unit_test(division_stays_affine_where_ranges_allow),
      cmocka_unit_test(every_chunk_is_done_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
