// Portable artifacts of several versions of StableHLO, as JAX writes them: each reads, and what it
// computes is what was written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "formats/common/formats.h"

static const char *source_root;

static hsc_module *read_artifact(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/fuzz/corpus/mlir_bytecode/%s.mlirbc", source_root, name);
  hsc_module *module = NULL;
  hsc_status *status = hsc_program_read_file(path, &module);
  if (status)
    fail_msg("%s: %s %s", name, hsc_status_message(status), hsc_status_notes(status));
  return module;
}

// Runs the program on inputs of which element k of every argument is `values[k]`.
static hsc_literal *run(const hsc_module *module, const double *values, hsc_arena *arena) {
  hsc_literal *arguments[8];
  hsc_literal *result = NULL;
  int count = module->entry->parameter_count;
  assert_true(count <= 8);
  for (int i = 0; i < count; i++) {
    assert_null(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    for (int64_t k = 0; k < hsc_shape_elements(&arguments[i]->shape); k++)
      hsc_literal_set_double(arguments[i], k, values[k]);
  }
  hsc_status *status = hsc_evaluate(module, count, arguments, arena, &result);
  if (status)
    fail_msg("%s", hsc_status_message(status));
  return result;
}

static void test_versions_mean_the_same(void **state) {
  static const char *const names[] = {"dot_0.9.0", "dot_0.13.0", "dot_0.14.0", "dot_1.0.0",
                                      "dot_1.17.0"};
  double x[16];
  for (int i = 0; i < 16; i++)
    x[i] = 0.05 * i - 0.3;
  for (size_t n = 0; n < HSC_COUNT_OF(names); n++) {
    hsc_arena *arena = NULL;
    assert_null(hsc_arena_create(&arena));
    hsc_module *module = read_artifact(names[n]);
    const hsc_literal *y = run(module, x, arena);
    for (int i = 0; i < 4; i++)
      for (int k = 0; k < 4; k++) {
        double sum = 0;
        for (int c = 0; c < 4; c++)
          sum += x[4 * i + c] * x[4 * c + k];
        assert_true(fabs(hsc_literal_get_double(y, 4 * i + k) - (tanh(sum) + 1)) < 1e-6);
      }
    hsc_module_destroy(module);
    hsc_arena_destroy(arena);
  }
}

static void test_loops_and_branches(void **state) {
  hsc_arena *arena = NULL;
  assert_null(hsc_arena_create(&arena));
  // carry + 0 + 1 + 2 + 3, and carry * y before each step
  hsc_module *module = read_artifact("scan_1.13.7");
  const hsc_literal *r = run(module, (double[]){1}, arena);
  assert_true(hsc_literal_get_double(&r->elements[0], 0) == 7);
  static const double products[] = {0, 1, 4, 12};
  for (int i = 0; i < 4; i++)
    assert_true(hsc_literal_get_double(&r->elements[1], i) == products[i]);
  hsc_module_destroy(module);
  module = read_artifact("cond_1.9.0");  // x + 1 where x[0] > 0, else 2 x
  r = run(module, (double[]){1, 2, 3}, arena);
  assert_true(hsc_literal_get_double(r, 2) == 4);
  r = run(module, (double[]){-1, 2, 3}, arena);
  assert_true(hsc_literal_get_double(r, 2) == 6);
  hsc_module_destroy(module);
  module = read_artifact("sort_0.15.0");
  r = run(module, (double[]){3, 1, 2, 5, 4}, arena);
  for (int i = 0; i < 5; i++)
    assert_int_equal(hsc_literal_get_int(r, i), i + 1);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

static void test_all_of_the_corpus_reads(void **state) {
  static const char *const names[] = {"conv_1.17.0", "gather_1.0.0", "gather_1.17.0",
                                      "random_1.13.7", "scan_1.0.0"};
  for (size_t n = 0; n < HSC_COUNT_OF(names); n++) {
    hsc_module *module = read_artifact(names[n]);
    assert_true(hsc_module_instr_count(module) > 1);
    hsc_module_destroy(module);
  }
}

// Bytecode as MLIR itself writes it, with StableHLO's operations and properties, and the text of
// the same module: both by jaxlib 0.10.2.
static void test_bytecode_without_vhlo(void **state) {
  char path[1024];
  hsc_module *text = NULL;
  hsc_module *bytecode = read_artifact("native");
  snprintf(path, sizeof path, "%s/tests/fuzz/corpus/mlir_text/native.mlir", source_root);
  assert_null(hsc_program_read_file(path, &text));
  hsc_hash128 a = hsc_module_fingerprint(bytecode);
  hsc_hash128 b = hsc_module_fingerprint(text);
  assert_true(a.low == b.low && a.high == b.high);
  hsc_module_destroy(text);
  hsc_module_destroy(bytecode);
}

static void test_lengths_are_not_believed(void **state) {
  // A string section that claims 2^60 strings.
  static const char huge[] = "ML\xefR\x0dx\0\0\x15\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
  hsc_module *module = NULL;
  hsc_status *status = hsc_program_read((hsc_view){huge, sizeof huge - 1}, "huge.mlirbc", &module);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
  status = hsc_program_read((hsc_view){"ML\xefR\x81", 5}, "newer.mlirbc", &module);
  assert_non_null(status);
  hsc_status_free(status);
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions_mean_the_same), cmocka_unit_test(test_loops_and_branches),
      cmocka_unit_test(test_all_of_the_corpus_reads), cmocka_unit_test(test_bytecode_without_vhlo),
      cmocka_unit_test(test_lengths_are_not_believed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
