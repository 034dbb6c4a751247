// Every row of passes.def has an example, src/passes/<room>/<id>.hlo, and what the pass makes of it
// is written down in <id>.after.hlo. On its example a pass must change something, keep the numbers,
// come to an end, and heed every switch of the pass manager: none of this needs a word about the
// pass here.
//
//   build/tests/unit/test_pass_examples . --update     writes the .after.hlo files that differ;
//   read the difference
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "unit.h"

static const char *source_root;
static bool update;

static const char *const ids[] = {
#define PASS(id, text, room, doc) #id,
#include "passes/manager/passes.def"
#undef PASS
};
static const char *const rooms[] = {
#define PASS(id, text, room, doc) #room,
#include "passes/manager/passes.def"
#undef PASS
};

static hsc_module *parse(hsc_pass_id pass, const char *text) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_text_parse(hsc_view_of(text), ids[pass], &module);
  if (!status)
    status = hsc_module_verify(module);
  if (status)
    fail_msg("src/passes/%s/%s.hlo, line %d: %s", rooms[pass], ids[pass], hsc_status_line(status),
             hsc_status_message(status));
  return module;
}

static hsc_module *example(hsc_pass_id pass) {
  return parse(pass, hsc_pass_example(pass));
}

// Runs the pass; whether it changed the module.
static bool run(hsc_module *module, hsc_pass_id pass, hsc_pass_options options) {
  hsc_pass_log log = {0};
  options.verify = true;
  options.target = &hsc_pass_example_target;
  options.memory_limit_bytes = 1000;
  hsc_status *status = hsc_passes_run(module, hsc_pass_text(pass), &options, &log);
  if (status)
    fail_msg("%s: %s", hsc_pass_text(pass), hsc_status_message(status));
  bool changed = log.run_count == 1 && log.runs[0].changed;
  hsc_pass_log_deinit(&log);
  return changed;
}

static bool same_module(const hsc_module *a, const hsc_module *b) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  return x.low == y.low && x.high == y.high;
}

static void each_example_is_rewritten_as_written_down(void **state) {
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    hsc_module *module = example((hsc_pass_id)pass);
    hsc_bytes text = {0};
    hsc_bytes expected = {0};
    if (!run(module, (hsc_pass_id)pass, (hsc_pass_options){.fuel = -1}))
      fail_msg("%s does not change its example", ids[pass]);
    EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
    hsc_module_print(module, &(hsc_print_options){.no_metadata = true, .no_percent = true}, &text);
    char *path = NULL;
    assert_true(
        asprintf(&path, "%s/src/passes/%s/%s.after.hlo", source_root, rooms[pass], ids[pass]) > 0);
    if (update)
      EXPECT_OK(hsc_file_write_atomic(path, text.data, text.size));
    hsc_status *status = hsc_file_read(path, &expected);
    if (status)
      fail_msg("%s; tests/unit/test_pass_examples SOURCE_ROOT --update writes it",
               hsc_status_message(status));
    if (expected.size != text.size || memcmp(expected.data, text.data, text.size))
      fail_msg("%s: what it makes of its example is no longer %s but\n%.*s", ids[pass], path,
               (int)text.size, text.data);
    hsc_module_destroy(parse((hsc_pass_id)pass, hsc_bytes_text(&text)));
    free(path);
    hsc_bytes_deinit(&text);
    hsc_bytes_deinit(&expected);
    hsc_module_destroy(module);
  }
}

static void each_pass_comes_to_an_end(void **state) {
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    hsc_module *module = example((hsc_pass_id)pass);
    int runs = 0;
    while (runs < 8 && run(module, (hsc_pass_id)pass, (hsc_pass_options){.fuel = -1}))
      runs++;
    if (runs == 8)
      fail_msg("%s still changes its example in the eighth run", ids[pass]);
    hsc_module_destroy(module);
  }
}

static void each_example_keeps_its_numbers(void **state) {
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    for (uint64_t seed = 0; seed < 3; seed++) {
      hsc_module *module = example((hsc_pass_id)pass);
      hsc_arena *arena = NULL;
      hsc_literal *arguments[16];
      hsc_literal *before = NULL;
      hsc_literal *after = NULL;
      hsc_difference d;
      int count = module->entry->parameter_count;
      assert_true(count <= 16);
      EXPECT_OK(hsc_arena_create(&arena));
      for (int i = 0; i < count; i++) {
        EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
        hsc_literal_fill(arguments[i], seed, (uint32_t)i);
      }
      EXPECT_OK(hsc_evaluate(module, count, arguments, arena, &before));
      run(module, (hsc_pass_id)pass, (hsc_pass_options){.fuel = -1});
      EXPECT_OK(hsc_evaluate(module, count, arguments, arena, &after));
      EXPECT_OK(hsc_literal_compare(before, after, &d));
      bool close =
          d.nan_mismatches == 0 && (d.max_ulp <= 64 || d.max_abs <= 1e-5 || d.max_rel <= 1e-4);
      if (!close)
        fail_msg("%s, seed %d: output %d element %lld is %.9g, was %.9g", ids[pass], (int)seed,
                 d.leaf, (long long)d.index, d.right, d.left);
      hsc_arena_destroy(arena);
      hsc_module_destroy(module);
    }
  }
}

static void each_pass_heeds_the_switches(void **state) {
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    const char *text = hsc_pass_text((hsc_pass_id)pass);
    char none[80], one[80];
    snprintf(none, sizeof none, "cse=9,%s=0", text);
    snprintf(one, sizeof one, "%s=1", text);
    const struct {
      const char *what;
      hsc_pass_options options;
      bool changes;
    } cases[] = {
        {"xla_disable_hlo_passes", {.fuel = -1, .disable = text}, false},
        {"xla_disable_hlo_passes by the file's name", {.fuel = -1, .disable = ids[pass]}, false},
        {"xla_disable_hlo_passes of another pass", {.fuel = -1, .disable = "no-such-pass"}, true},
        {"xla_enable_hlo_passes_only", {.fuel = -1, .enable_only = text}, true},
        {"xla_enable_hlo_passes_only by the file's name",
         {.fuel = -1, .enable_only = ids[pass]},
         true},
        {"xla_enable_hlo_passes_only of another pass",
         {.fuel = -1, .enable_only = "no-such-pass"},
         false},
        {"fuel for all", {.fuel = 0}, false},
        {"fuel for it", {.fuel = -1, .pass_fuel = none}, false},
        {"fuel for one rewrite", {.fuel = -1, .pass_fuel = one}, true},
    };
    for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
      hsc_module *module = example((hsc_pass_id)pass);
      hsc_module *original = example((hsc_pass_id)pass);
      bool changed = run(module, (hsc_pass_id)pass, cases[i].options);
      if (changed != cases[i].changes)
        fail_msg("%s: %s: the module is %schanged", text, cases[i].what, changed ? "" : "not ");
      // What is not counted as a change must not be one. dce sorts computations, which is none.
      if (!changed && !same_module(module, original))
        fail_msg("%s: %s: the module changed in silence", text, cases[i].what);
      hsc_module_destroy(module);
      hsc_module_destroy(original);
    }
  }
}

static void each_pass_is_dumped(void **state) {
  char directory[] = "/tmp/hloscope-pass-examples-XXXXXX";
  assert_non_null(mkdtemp(directory));
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    const char *text = hsc_pass_text((hsc_pass_id)pass);
    char *pattern = NULL;
    char *path = NULL;
    hsc_bytes dump = {0};
    hsc_bytes metadata = {0};
    assert_true(asprintf(&pattern, "^%s$", text) > 0);
    hsc_module *module = example((hsc_pass_id)pass);
    run(module, (hsc_pass_id)pass,
        (hsc_pass_options){.fuel = -1,
                           .dump_to = directory,
                           .dump_pass_re = pattern,
                           .dump_module_metadata = true});
    assert_true(asprintf(&path, "%s/module_0000.%s.0000.passes.after_%s.txt", directory,
                         module->name, text) > 0);
    EXPECT_OK(hsc_file_read(path, &dump));
    assert_int_equal(unlink(path), 0);
    hsc_module *read = parse((hsc_pass_id)pass, hsc_bytes_text(&dump));
    if (!same_module(module, read))
      fail_msg("%s: the dump is another module", text);
    free(path);
    assert_true(asprintf(&path, "%s/module_0000.metadata.textproto", directory) > 0);
    EXPECT_OK(hsc_file_read(path, &metadata));
    assert_int_equal(unlink(path), 0);
    hsc_bytes entry = {0};
    hsc_bytes_printf(
        &entry, "pass_name: \"%s\"\n  pipeline_name: \"passes\"\n  module_changed: true\n", text);
    if (!strstr(hsc_bytes_text(&metadata), hsc_bytes_text(&entry)))
      fail_msg("%s: the metadata do not say that it changed the module", text);
    hsc_bytes_deinit(&entry);
    hsc_bytes_deinit(&dump);
    hsc_bytes_deinit(&metadata);
    free(path);
    free(pattern);
    hsc_module_destroy(read);
    hsc_module_destroy(module);
  }
  assert_int_equal(rmdir(directory), 0);
}

static void pass_fuel_says_what_is_wrong_with_it(void **state) {
  hsc_module *module = example(HSC_PASS_algsimp);
  EXPECT_CODE(
      NOT_FOUND,
      hsc_passes_run(module, NULL, &(hsc_pass_options){.fuel = -1, .pass_fuel = "algsim=3"}, NULL));
  EXPECT_CODE(
      INVALID_ARGUMENT,
      hsc_passes_run(module, NULL, &(hsc_pass_options){.fuel = -1, .pass_fuel = "algsimp"}, NULL));
  EXPECT_CODE(INVALID_ARGUMENT,
              hsc_passes_run(module, NULL,
                             &(hsc_pass_options){.fuel = -1, .pass_fuel = "algsimp=x"}, NULL));
  EXPECT_CODE(INVALID_ARGUMENT,
              hsc_passes_run(module, NULL,
                             &(hsc_pass_options){.fuel = -1, .pass_fuel = "algsimp=-1"}, NULL));
  hsc_module_destroy(module);
}

static void passes_that_are_not_here_are_refused_by_name(void **state) {
  hsc_module *module = example(HSC_PASS_algsimp);
  EXPECT_CODE(UNIMPLEMENTED,
              hsc_passes_run(module, NULL,
                             &(hsc_pass_options){.fuel = -1, .enable = "dynamic_padder"}, NULL));
  EXPECT_CODE(
      UNIMPLEMENTED,
      hsc_passes_run(module, NULL,
                     &(hsc_pass_options){.fuel = -1, .enable_only = "cse,dynamic_padder"}, NULL));
  EXPECT_CODE(UNIMPLEMENTED, hsc_passes_run(module, "dynamic_padder", NULL, NULL));
  hsc_module_destroy(module);
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  update = argc > 2 && !strcmp(argv[2], "--update");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_example_is_rewritten_as_written_down),
      cmocka_unit_test(each_pass_comes_to_an_end),
      cmocka_unit_test(each_example_keeps_its_numbers),
      cmocka_unit_test(each_pass_heeds_the_switches),
      cmocka_unit_test(each_pass_is_dumped),
      cmocka_unit_test(pass_fuel_says_what_is_wrong_with_it),
      cmocka_unit_test(passes_that_are_not_here_are_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
