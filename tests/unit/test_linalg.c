// test_linalg.c - cholesky and triangular-solve on the built-in device against the reference
// evaluator, which computes in double.
#include "kernel_case.h"

static hsc_type a_type(kernel_case *c) {
  return kernel_case_below(c, 2) ? HSC_TYPE_F32 : HSC_TYPE_F64;
}

// Symmetric with a heavy diagonal, or triangular; what the operation does not read holds other
// numbers.
static void make_matrix(
    kernel_case *c, hsc_literal *literal, int64_t batches, int64_t n, bool symmetric) {
  for (int64_t b = 0; b < batches; b++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j <= i; j++) {
        double value =
            i == j ? (double)(symmetric ? 3 * n + 2 : 4 + kernel_case_below(c, 3))
                   : (double)(kernel_case_below(c, 5) - 2) * (symmetric ? 1 : 2.0 / (double)n);
        hsc_literal_set_double(literal, (b * n + i) * n + j, value);
        if (symmetric)
          hsc_literal_set_double(literal, (b * n + j) * n + i, value);
        else if (i != j)
          hsc_literal_set_double(literal, (b * n + j) * n + i, value / 2);
      }
}

static void check_cholesky(uint64_t seed, int64_t largest) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  c.max_abs = 1e-4;
  int64_t n = kernel_case_below(&c, 12) ? 1 + kernel_case_below(&c, largest) : 0;
  int64_t dims[3] = {1 + kernel_case_below(&c, 3), n, n};
  hsc_instr *x = kernel_case_input(&c, a_type(&c), 3, dims, 3);
  make_matrix(&c, c.inputs[0], dims[0], n, true);
  // not positive definite
  if (n > 2 && seed % 9 == 0)
    hsc_literal_set_double(c.inputs[0], n + 1, -5);
  hsc_attr attr = {.cholesky = {.lower = kernel_case_below(&c, 2)}};
  kernel_case_check(&c, hsc_build_op(&c.b, HSC_OP_CHOLESKY, (hsc_shape){0}, &attr, 1, &x, 0, NULL),
                    0);
}

static void check_solve(uint64_t seed, int64_t largest) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  c.max_abs = 1e-4;
  int64_t n = kernel_case_below(&c, 12) ? 1 + kernel_case_below(&c, largest) : 0;
  int64_t sides = kernel_case_below(&c, 12) ? 1 + kernel_case_below(&c, 100) : 0;
  bool left = kernel_case_below(&c, 2);
  int64_t dims[3] = {1 + kernel_case_below(&c, 3), n, n};
  int64_t right[3] = {dims[0], left ? n : sides, left ? sides : n};
  hsc_type type = a_type(&c);
  hsc_instr *a = kernel_case_input(&c, type, 3, dims, 3);
  hsc_instr *b = kernel_case_input(&c, type, 3, right, 3);
  make_matrix(&c, c.inputs[0], dims[0], n, false);
  hsc_attr attr = {.triangular = {.left_side = left,
                                  .lower = kernel_case_below(&c, 2),
                                  .unit_diagonal = kernel_case_below(&c, 2),
                                  .transpose_a = (hsc_transpose)kernel_case_below(&c, 3)}};
  kernel_case_check(&c,
                    hsc_build_op(&c.b, HSC_OP_TRIANGULAR_SOLVE, (hsc_shape){0}, &attr, 2,
                                 (hsc_instr *[]){a, b}, 0, NULL),
                    0);
}

static void factors_are_the_evaluators(void **state) {
  for (uint64_t seed = 1; seed <= 60; seed++)
    check_cholesky(seed, 12);
  for (uint64_t seed = 100; seed <= 112; seed++)
    check_cholesky(seed, 150);
}

static void solutions_are_the_evaluators(void **state) {
  for (uint64_t seed = 1001; seed <= 1100; seed++)
    check_solve(seed, 12);
  for (uint64_t seed = 1201; seed <= 1215; seed++)
    check_solve(seed, 130);
}

static int end_all(void **state) {
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(factors_are_the_evaluators),
                                     cmocka_unit_test(solutions_are_the_evaluators)};
  return cmocka_run_group_tests(tests, NULL, end_all);
}
