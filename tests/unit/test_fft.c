// test_fft.c - fft, ifft, rfft, irfft on the built-in device against the reference evaluator:
// lengths of all kinds, up to three dimensions.
#include <math.h>

#include "kernel_case.h"

// Sums of some thousands of numbers up to 3: what cancels leaves what the precision rounds.
static double apart(bool wide) {
  return wide ? 1e-11 : 5e-4;
}

static hsc_type type_of(hsc_fft_type kind, bool wide) {
  if (kind == HSC_RFFT)
    return wide ? HSC_TYPE_F64 : HSC_TYPE_F32;
  return wide ? HSC_TYPE_C128 : HSC_TYPE_C64;
}

// The transform of `rows` lines of n.
static hsc_instr *rows_transformed(
    kernel_case *c, hsc_fft_type kind, bool wide, int64_t rows, int64_t n, hsc_instr **out_x) {
  int64_t dims[2] = {rows, kind == HSC_IRFFT ? n / 2 + 1 : n};
  *out_x = kernel_case_input(c, type_of(kind, wide), 2, dims, 3);
  hsc_attr attr = {.fft = {.type = kind, .length = hsc_dims_copy(c->module->arena, 1, &n)}};
  c->max_abs = apart(wide);
  return hsc_build_op(&c->b, HSC_OP_FFT, (hsc_shape){0}, &attr, 1, out_x, 0, NULL);
}

static void check_fft(uint64_t seed, int64_t longest) {
  kernel_case c;
  kernel_case_begin(&c, seed);
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
  c.max_abs = apart(wide);
  hsc_instr *x = kernel_case_input(&c, type_of(kind, wide), rank, dims, 3);
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

// Lengths with a large prime factor, in batches; odd lengths, and even ones, whose real lines are
// taken in twos. Eight lines at a time are read and written in blocks, the rest one by one.
static void batches_of_lines(void **state) {
  static const int64_t lengths[] = {1, 2, 6, 9, 32, 37, 74, 127, 254, 709};
  static const int64_t rows[] = {1, 8, 19};
  for (size_t l = 0; l < HSC_COUNT_OF(lengths); l++)
    for (int form = 0; form < 8; form++) {
      kernel_case c;
      kernel_case_begin(&c, 500 + l);
      hsc_instr *x;
      hsc_instr *made = rows_transformed(&c, (hsc_fft_type)(form / 2), form % 2,
                                         rows[(l + (size_t)form) % 3], lengths[l], &x);
      kernel_case_check(&c, made, 0);
    }
}

// A line of NaN, of infinities or of numbers that are large beside the others changes no other.
static void lines_do_not_meet(void **state) {
  static const double odd_ones[] = {NAN, INFINITY, 1e20};
  for (int form = 0; form < 24; form++) {
    kernel_case c;
    kernel_case_begin(&c, 600 + (uint64_t)form);
    hsc_fft_type kind = (hsc_fft_type)(form % 4);
    int64_t n = form % 8 < 4 ? 24 : 74;
    hsc_instr *x;
    hsc_instr *made = rows_transformed(&c, kind, form >= 12, 17, n, &x);
    int64_t line = x->shape.dims[1];
    for (int64_t i = 0; i < line; i++)
      if (hsc_type_is_complex(x->shape.type))
        hsc_literal_set_complex(c.inputs[0], i, odd_ones[form % 3], 0);
      else
        hsc_literal_set_double(c.inputs[0], i, odd_ones[form % 3]);
    hsc_attr attr = {0};
    int64_t start[2] = {1, 0};
    int64_t limit[2] = {17, made->shape.dims[1]};
    int64_t stride[2] = {1, 1};
    attr.slice.start = hsc_dims_copy(c.module->arena, 2, start);
    attr.slice.limit = hsc_dims_copy(c.module->arena, 2, limit);
    attr.slice.stride = hsc_dims_copy(c.module->arena, 2, stride);
    kernel_case_check(
        &c, hsc_build_op(&c.b, HSC_OP_SLICE, (hsc_shape){0}, &attr, 1, &made, 0, NULL), 0);
  }
}

static int end_all(void **state) {
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_of_all_kinds),
                                     cmocka_unit_test(batches_of_lines),
                                     cmocka_unit_test(lines_do_not_meet)};
  return cmocka_run_group_tests(tests, NULL, end_all);
}
