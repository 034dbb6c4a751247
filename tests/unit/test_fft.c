// test_fft.c - fft, ifft, rfft, irfft on the built-in device against the reference evaluator:
// lengths of all kinds, up to three dimensions.
#include "kernel_case.h"

static void check_fft(uint64_t seed, int64_t longest) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  // of values up to some hundreds, in f32; sums that cancel leave what doubles round
  c.max_abs = 1e-4;
  hsc_fft_type kind = (hsc_fft_type)kernel_case_below(&c, 4);
  bool wide = kernel_case_below(&c, 2);
  int count = 1 + (int)kernel_case_below(&c, 3);
  int rank = count + (int)kernel_case_below(&c, 3);
  int64_t dims[8], length[3];
  for (int i = 0; i < rank; i++)
    dims[i] = 1 + kernel_case_below(&c, i == rank - 1 ? longest : 13);
  for (int i = 0; i < count; i++)
    length[i] = dims[rank - count + i];
  if (kind == HSC_IRFFT)
    dims[rank - 1] = length[count - 1] / 2 + 1;
  hsc_type type;
  if (kind == HSC_RFFT) {
    if (wide)
      type = HSC_TYPE_F64;
    else
      type = HSC_TYPE_F32;
  } else if (wide)
    type = HSC_TYPE_C128;
  else
    type = HSC_TYPE_C64;
  hsc_instr *x = kernel_case_input(&c, type, rank, dims, 3);
  hsc_attr attr = {.fft = {.type = kind, .length = hsc_dims_copy(c.module->arena, count, length)}};
  kernel_case_check(&c, hsc_build_op(&c.b, HSC_OP_FFT, (hsc_shape){0}, &attr, 1, &x, 0, NULL), 0);
}

static void lengths_of_all_kinds(void **state) {
  for (int64_t i = 0; i < cases_of(100, 200); i++)
    check_fft(1 + (uint64_t)i, 24);
  for (int64_t i = 0; i < cases_of(8, 41); i++)
    check_fft(300 + (uint64_t)i, 300);
  for (int64_t i = 0; i < cases_of(4, 31); i++)
    check_fft(400 + (uint64_t)i, 1400);
}

// Lengths with a large prime factor, real, in batches: two lines are done as one, the last of an
// odd number by itself.
static void batches_of_lengths_with_large_primes(void **state) {
  static const int64_t lengths[] = {37, 74, 127, 254, 709};
  for (size_t l = 0; l < HSC_COUNT_OF(lengths); l++)
    for (int back = 0; back < 2; back++) {
      kernel_case c;
      kernel_case_begin(&c, 500 + l);
      c.max_abs = 1e-4;
      int64_t n = lengths[l];
      int64_t dims[2] = {19, back ? n / 2 + 1 : n};
      hsc_instr *x = kernel_case_input(&c, back ? HSC_TYPE_C64 : HSC_TYPE_F32, 2, dims, 3);
      hsc_attr attr = {.fft = {.type = back ? HSC_IRFFT : HSC_RFFT,
                               .length = hsc_dims_copy(c.module->arena, 1, &n)}};
      kernel_case_check(&c, hsc_build_op(&c.b, HSC_OP_FFT, (hsc_shape){0}, &attr, 1, &x, 0, NULL),
                        0);
    }
}

static int end_all(void **state) {
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_of_all_kinds),
                                     cmocka_unit_test(batches_of_lengths_with_large_primes)};
  return cmocka_run_group_tests(tests, NULL, end_all);
}
