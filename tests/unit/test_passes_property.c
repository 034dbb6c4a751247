// What passes must not change: the numbers. Random modules and the pattern programs, evaluated before and after each pass and the whole pipeline.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>

#include "formats/formats.h"
#include "passes/passes.h"
#include "random_module.h"

static const char *source_root;

static hsc_status *evaluate(const hsc_module *module, uint64_t seed, hsc_arena *arena, hsc_literal **out_result) {
  hsc_literal *arguments[64];
  int count = module->entry->parameter_count;
  if (count > 64) return HSC_ERR(OUT_OF_RANGE, "too many parameters");
  for (int i = 0; i < count; i++) {
    HSC_TRY(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
  return hsc_evaluate(module, count, arguments, arena, out_result);
}

static void expect_same(const hsc_literal *before, const hsc_literal *after, const hsc_module *module, const char *what, uint64_t seed) {
  hsc_difference d;
  hsc_status *status = hsc_literal_compare(before, after, &d);
  if (status) fail_msg("%s, seed %llu: %s", what, (unsigned long long)seed, hsc_status_message(status));
  // Rewrites move roundings: f32 sums may differ in the last bits, narrow floats by a step of theirs.
  bool close = d.nan_mismatches == 0 && (d.max_ulp <= 64 || d.max_abs <= 1e-4 || d.max_rel <= 2e-2);
  if (close) return;
  hsc_bytes text = {0};
  hsc_module_print(module, NULL, &text);
  hsc_status_free(hsc_file_write_atomic("/tmp/hloscope-passes-property.hlo", text.data, text.size));
  fail_msg("%s, seed %llu: output %d element %lld is %g, was %g (the module after it: /tmp/hloscope-passes-property.hlo)", what, (unsigned long long)seed, d.leaf,
           (long long)d.index, d.right, d.left);
}

static void check(hsc_module *original, const char *what, uint64_t seed) {
  hsc_arena *arena = NULL;
  hsc_module *module = NULL;
  hsc_literal *before = NULL, *after = NULL;
  assert_null(hsc_arena_create(&arena));
  assert_null(hsc_module_clone(original, &module));
  hsc_status *status = evaluate(original, seed, arena, &before);
  if (status) fail_msg("seed %llu: %s", (unsigned long long)seed, hsc_status_message(status));
  status = hsc_passes_run(module, what, &(hsc_pass_options){.fuel = -1, .verify = true}, NULL);
  if (status) fail_msg("%s, seed %llu: %s", what ? what : "all", (unsigned long long)seed, hsc_status_message(status));
  status = evaluate(module, seed, arena, &after);
  if (status) fail_msg("%s, seed %llu: %s", what ? what : "all", (unsigned long long)seed, hsc_status_message(status));
  expect_same(before, after, module, what ? what : "all passes", seed);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

static hsc_module *random_module(uint64_t seed) {
  random_module_options options = random_module_options_default();
  options.smooth = true;
  hsc_module *module = NULL;
  hsc_status *status = random_module_create(seed, &options, &module);
  if (status) fail_msg("seed %llu: %s", (unsigned long long)seed, hsc_status_message(status));
  return module;
}

static void test_pipeline_on_random_modules(void **state) {
  const char *count = getenv("HSC_PROPERTY_COUNT");
  uint64_t seeds = count ? strtoull(count, NULL, 10) : 300;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    hsc_module *module = random_module(seed);
    check(module, NULL, seed);
    hsc_module_destroy(module);
  }
}

static void test_each_pass_on_random_modules(void **state) {
  for (uint64_t seed = 1000; seed < 1040; seed++) {
    hsc_module *module = random_module(seed);
    for (int pass = 0; pass < HSC_PASS_COUNT; pass++) check(module, hsc_pass_text((hsc_pass_id)pass), seed);
    hsc_module_destroy(module);
  }
}

// Passes come to an end: a second run of the whole simplification changes nothing.
static void test_simplification_is_idempotent(void **state) {
  for (uint64_t seed = 2000; seed < 2060; seed++) {
    hsc_module *module = random_module(seed);
    assert_null(hsc_passes_run(module, "optimization", NULL, NULL));
    hsc_pass_log log = {0};
    assert_null(hsc_passes_run(module, "simplification", NULL, &log));
    for (int i = 0; i < log.run_count; i++)
      if (log.runs[i].changed && i >= log.run_count / 2) fail_msg("seed %llu: %s still changes the module in the last round", (unsigned long long)seed, log.runs[i].pass);
    hsc_pass_log_deinit(&log);
    hsc_module_destroy(module);
  }
}

static void test_pattern_programs(void **state) {
  char path[1024];
  snprintf(path, sizeof path, "%s/models/patterns", source_root);
  DIR *directory = opendir(path);
  assert_non_null(directory);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (!hsc_ends_with(entry->d_name, ".hlo")) continue;
    snprintf(path, sizeof path, "%s/models/patterns/%s", source_root, entry->d_name);
    hsc_module *module = NULL;
    hsc_status *status = hsc_program_read_file(path, &module);
    if (status) fail_msg("%s: %s", path, hsc_status_message(status));
    check(module, NULL, 7);
    hsc_module_destroy(module);
    count++;
  }
  closedir(directory);
  assert_int_equal(count, 32);
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pipeline_on_random_modules), cmocka_unit_test(test_each_pass_on_random_modules), cmocka_unit_test(test_simplification_is_idempotent),
      cmocka_unit_test(test_pattern_programs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
