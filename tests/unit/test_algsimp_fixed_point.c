// test_algsimp_fixed_point.c - the algebraic simplifier comes to an end: run again and again, by
// itself, it stops changing the programs of `models` and generated ones after few rounds, as the
// device's options are and with all of them switched, and the generated ones keep their numbers. No
// two rules undo each other.
//
//   build/tests/unit/test_algsimp_fixed_point . 2000     so many generated programs; says the most
//   rounds
#include <dirent.h>
#include <stdlib.h>

#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "random_module.h"
#include "unit.h"

enum { MOST_ROUNDS = 16 };  // what is there takes 9 at most
static const char *source_root;
static int modules = 200;
static int most_rounds;

// All options the other way round, but for those that change numbers by their nature.
static const char *switched(hsc_bytes *out) {
#define OPTION(name, value, doc) \
  if (strcmp(#name, "enable_floats_are_real") != 0 && strcmp(#name, "enable_fast_math") != 0 && \
      strcmp(#name, "run_to_fixed_point") != 0) \
    hsc_bytes_printf(out, "%s=%d,", #name, \
                     value                   ? value > 1 ? value + 1 : 0 \
                     : strstr(#name, "size") ? 4 \
                                             : 1);
#include "passes/manager/algsimp_options.def"
#undef OPTION
  return hsc_bytes_text(out);
}

// Runs it until nothing changes; fails when it goes on and on.
static void to_the_end(hsc_module *module, const char *options, const char *what) {
  for (int round = 1;; round++) {
    hsc_pass_log log = {0};
    bool changed = false;
    EXPECT_OK(hsc_passes_run(
        module, "algsimp",
        &(hsc_pass_options){.fuel = -1, .verify = modules <= 200, .algsimp = options}, &log));
    for (int i = 0; i < log.run_count; i++)
      changed |= log.runs[i].changed;
    hsc_pass_log_deinit(&log);
    if (!changed)
      return;
    EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
    if (round > most_rounds)
      most_rounds = round;
    if (round <= MOST_ROUNDS)
      continue;
    hsc_bytes text = {0};
    hsc_computation_print(
        module->entry,
        &(hsc_print_options){.no_metadata = true, .no_layouts = true, .no_percent = true}, &text);
    fail_msg("%s: still changing after %d rounds:\n%.3000s", what, round, hsc_bytes_text(&text));
  }
}

static void generated_programs(void **state) {
  hsc_bytes all = {0};
  const char *options = switched(&all);
  for (uint64_t seed = 40000; seed < 40000 + (uint64_t)modules; seed++) {
    random_module_options shape = random_module_options_default();
    shape.smooth = true;
    if (seed % 2)
      shape.features |= RANDOM_ALONE | RANDOM_IDIOMS;
    if (seed % 3 == 0)
      shape.features =
          RANDOM_IDIOMS | RANDOM_CONTRACTIONS | RANDOM_INDEXING | RANDOM_REDUCTIONS | RANDOM_TYPES;
    if (seed % 5 == 0)
      shape.instruction_count = 80;
    if (seed % 7 == 0)
      shape.max_dim = 2;  // many dimensions of size 1
    hsc_arena *arena = NULL;
    hsc_literal *before = NULL;
    hsc_literal *after = NULL;
    hsc_difference d;
    char what[64];
    EXPECT_OK(hsc_arena_create(&arena));
    for (int way = 0; way < 2; way++) {
      hsc_module *module = NULL;
      EXPECT_OK(random_module_create(seed, &shape, &module));
      if (way == 0)
        EXPECT_OK(random_module_evaluate(module, seed, arena, &before));
      snprintf(what, sizeof what, "program %llu%s", (unsigned long long)seed,
               way ? ", all options switched" : "");
      to_the_end(module, way ? options : NULL, what);
      EXPECT_OK(random_module_evaluate(module, seed, arena, &after));
      EXPECT_OK(hsc_literal_compare(before, after, &d));
      if (d.nan_mismatches || (d.max_ulp > 64 && d.max_abs > 1e-4 && d.max_rel > 2e-2))
        fail_msg("%s: %g became %g", what, d.left, d.right);
      hsc_module_destroy(module);
    }
    hsc_arena_destroy(arena);
  }
  hsc_bytes_deinit(&all);
}

static void programs_of(const char *folder) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", source_root, folder);
  DIR *directory = opendir(path);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    hsc_module *module = NULL;
    if (!strstr(entry->d_name, ".hlo"))
      continue;
    snprintf(path, sizeof path, "%s/%s/%s", source_root, folder, entry->d_name);
    EXPECT_OK(hsc_program_read_file(path, &module));
    EXPECT_OK(hsc_passes_run(module, "call-inliner", NULL, NULL));
    to_the_end(module, NULL, entry->d_name);
    hsc_module_destroy(module);
  }
  closedir(directory);
}

static void models(void **state) {
  programs_of("models");
  programs_of("models/patterns");
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  if (argc > 2)
    modules = atoi(argv[2]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(models),
                                     cmocka_unit_test(generated_programs)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  printf("at most %d rounds\n", most_rounds);
  return failed;
}
