// What passes must not change: the numbers. Random modules and the pattern programs, evaluated
// before and after each pass and the whole pipeline.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "random_module.h"

static const char *source_root;

static hsc_status *evaluate(const hsc_module *module,
                            uint64_t seed,
                            hsc_arena *arena,
                            hsc_literal **out_result) {
  hsc_literal *arguments[64];
  int count = module->entry->parameter_count;
  if (count > 64)
    return HSC_ERR(OUT_OF_RANGE, "too many parameters");
  for (int i = 0; i < count; i++) {
    HSC_TRY(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
  return hsc_evaluate(module, count, arguments, arena, out_result);
}

// What a failure was seen on: the module as it was before the pass.
static void fail_on(const hsc_module *module, const char *what, uint64_t seed, const char *why) {
  static const char path[] = "/tmp/hloscope-passes-property.hlo";
  hsc_bytes text = {0};
  hsc_module_print(module, NULL, &text);
  hsc_status_free(hsc_file_write_atomic(path, text.data, text.size));
  hsc_bytes_deinit(&text);
  fail_msg("%s, seed %llu: %s (the module before it: %s)", what, (unsigned long long)seed, why,
           path);
}

static void expect_same(const hsc_literal *before,
                        const hsc_literal *after,
                        const hsc_module *module,
                        const char *what,
                        uint64_t seed) {
  hsc_difference d;
  hsc_status *error = NULL;
  if (random_results_agree(before, after, &d, &error))
    return;
  if (error)
    fail_on(module, what, seed, hsc_status_message(error));
  char why[160];
  snprintf(why, sizeof why, "output %d element %lld is %g, was %g", d.leaf, (long long)d.index,
           d.right, d.left);
  fail_on(module, what, seed, why);
}

static bool same_module(const hsc_module *a, const hsc_module *b) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  return x.low == y.low && x.high == y.high;
}

// The numbers of `original` are taken once, for as many passes as there are to be checked.
// `evaluates` false: only the verifier looks at what a pass made.
typedef struct checker {
  hsc_module *original;
  hsc_arena *arena;
  hsc_literal *before;
  uint64_t seed;
  bool evaluates;
} checker;

static void checker_init(checker *c, hsc_module *original, uint64_t seed, bool evaluates) {
  *c = (checker){.original = original, .seed = seed, .evaluates = evaluates};
  assert_null(hsc_arena_create(&c->arena));
}

// what: a pass or pipeline; NULL = all. Returns whether it changed the module.
static bool check(checker *c, const char *what) {
  hsc_arena *arena = NULL;
  hsc_module *module = NULL;
  hsc_literal *after = NULL;
  hsc_pass_log log = {0};
  const char *name = what ? what : "all passes";
  bool changed = false;
  assert_null(hsc_arena_create(&arena));
  assert_null(hsc_module_clone(c->original, &module));
  hsc_status *status =
      hsc_passes_run(module, what, &(hsc_pass_options){.fuel = -1, .verify = true}, &log);
  if (status)
    fail_on(c->original, name, c->seed, hsc_status_message(status));
  for (int i = 0; i < log.run_count; i++)
    changed |= log.runs[i].changed;
  if (!changed && !same_module(c->original, module))
    fail_on(c->original, name, c->seed, "the module changed in silence");
  if (changed && c->evaluates) {
    if (!c->before)
      status = evaluate(c->original, c->seed, c->arena, &c->before);
    if (status)
      fail_msg("seed %llu: %s", (unsigned long long)c->seed, hsc_status_message(status));
    status = evaluate(module, c->seed, arena, &after);
    if (status)
      fail_on(c->original, name, c->seed, hsc_status_message(status));
    expect_same(c->before, after, c->original, name, c->seed);
  }
  hsc_pass_log_deinit(&log);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
  return changed;
}

static void check_one(hsc_module *module, const char *what, uint64_t seed) {
  checker c;
  checker_init(&c, module, seed, true);
  check(&c, what);
  hsc_arena_destroy(c.arena);
}

static hsc_module *random_module(uint64_t seed) {
  random_module_options options = random_module_options_varied(seed);
  hsc_module *module = NULL;
  hsc_status *status = random_module_create(seed, &options, &module);
  if (status)
    fail_msg("seed %llu: %s", (unsigned long long)seed, hsc_status_message(status));
  return module;
}

// HSC_PROPERTY_COUNT seeds from HSC_PROPERTY_FIRST on (those of a failure: HSC_PROPERTY_COUNT=1
// HSC_PROPERTY_FIRST=seed), or a few from where each test begins.
static uint64_t first_or(uint64_t usual) {
  const char *first = getenv("HSC_PROPERTY_FIRST");
  return first ? strtoull(first, NULL, 10) : usual;
}

static uint64_t seeds_or(uint64_t few) {
  const char *count = getenv("HSC_PROPERTY_COUNT");
  return count ? strtoull(count, NULL, 10) : few;
}

static void test_pipeline_on_random_modules(void **state) {
  uint64_t seeds = seeds_or(300);
  uint64_t first = first_or(1);
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    hsc_module *module = random_module(seed);
    check_one(module, NULL, seed);
    hsc_module_destroy(module);
  }
}

// As they are written, and without calls, as most passes meet them.
static void test_each_pass_on_random_modules(void **state) {
  uint64_t seeds = seeds_or(60);
  uint64_t first = first_or(1000);
  int changed[HSC_PASS_COUNT] = {0};
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    hsc_module *module = random_module(seed);
    if (seed % 2)
      assert_null(hsc_passes_run(module, "call-inliner", NULL, NULL));
    checker c;
    checker_init(&c, module, seed, true);
    for (int pass = 0; pass < HSC_PASS_COUNT; pass++)
      changed[pass] += check(&c, hsc_pass_text((hsc_pass_id)pass));
    hsc_arena_destroy(c.arena);
    hsc_module_destroy(module);
  }
  // A property of programs that a pass never touches would say nothing of the pass.
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++)
    if (seeds >= 500 && !changed[pass] &&
        !hsc_ends_with(hsc_pass_text((hsc_pass_id)pass), "_picker"))
      print_message("%s never had anything to do\n", hsc_pass_text((hsc_pass_id)pass));
}

// Passes come to an end: a second run of the whole simplification changes nothing.
static void test_simplification_is_idempotent(void **state) {
  for (uint64_t seed = 2000; seed < 2060; seed++) {
    hsc_module *module = random_module(seed);
    assert_null(hsc_passes_run(module, "optimization", NULL, NULL));
    hsc_pass_log log = {0};
    assert_null(hsc_passes_run(module, "simplification", NULL, &log));
    for (int i = 0; i < log.run_count; i++)
      if (log.runs[i].changed && i >= log.run_count / 2)
        fail_msg("seed %llu: %s still changes the module in the last round",
                 (unsigned long long)seed, log.runs[i].pass);
    hsc_pass_log_deinit(&log);
    hsc_module_destroy(module);
  }
}

static hsc_module *read_model(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/models/%s", source_root, name);
  hsc_module *module = NULL;
  hsc_status *status = hsc_program_read_file(path, &module);
  if (status)
    fail_msg("%s: %s", path, hsc_status_message(status));
  return module;
}

// Calls `each` for the 32 programs of models/patterns.
static void for_each_pattern(void (*each)(hsc_module *module, const char *name)) {
  char path[1024];
  snprintf(path, sizeof path, "%s/models/patterns", source_root);
  DIR *directory = opendir(path);
  assert_non_null(directory);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (!hsc_ends_with(entry->d_name, ".hlo"))
      continue;
    snprintf(path, sizeof path, "patterns/%s", entry->d_name);
    hsc_module *module = read_model(path);
    each(module, entry->d_name);
    hsc_module_destroy(module);
    count++;
  }
  closedir(directory);
  assert_int_equal(count, 32);
}

static void check_pipeline(hsc_module *module, const char *name) {
  check_one(module, NULL, 7);
}
static void test_pattern_programs(void **state) {
  for_each_pattern(check_pipeline);
}

// Every pass by itself, on the program as it is and after the optimization pipeline, where the
// passes that come late find their food.
static void check_each_pass(hsc_module *module, const char *name, bool evaluates) {
  for (int optimised = 0; optimised < 2; optimised++) {
    if (optimised)
      assert_null(hsc_passes_run(module, "optimization", NULL, NULL));
    checker c;
    checker_init(&c, module, 7, evaluates);
    for (int pass = 0; pass < HSC_PASS_COUNT; pass++)
      check(&c, hsc_pass_text((hsc_pass_id)pass));
    hsc_arena_destroy(c.arena);
  }
}

// HSC_PROPERTY_COUNT set: the long form, with the numbers of every program; else those of the small
// ones.
static void check_each_pass_on_pattern(hsc_module *module, const char *name) {
  check_each_pass(module, name, getenv("HSC_PROPERTY_COUNT") || !strncmp(name, "tiny", 4));
}
static void test_each_pass_on_pattern_programs(void **state) {
  for_each_pattern(check_each_pass_on_pattern);
}

// Too much for the evaluator: the verifier looks at them here, the built-in device runs them in
// tests/conformance.
static void test_each_pass_on_models(void **state) {
  static const char *const models[] = {"laplace_train", "resnet50_forward", "resnet50_train",
                                       "transformer_train"};
  for (size_t i = 0; i < HSC_COUNT_OF(models); i++) {
    char name[64];
    snprintf(name, sizeof name, "%s.hlo.gz", models[i]);
    hsc_module *module = read_model(name);
    check_each_pass(module, models[i], false);
    hsc_module_destroy(module);
  }
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pipeline_on_random_modules),
      cmocka_unit_test(test_each_pass_on_random_modules),
      cmocka_unit_test(test_simplification_is_idempotent),
      cmocka_unit_test(test_pattern_programs),
      cmocka_unit_test(test_each_pass_on_pattern_programs),
      cmocka_unit_test(test_each_pass_on_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
