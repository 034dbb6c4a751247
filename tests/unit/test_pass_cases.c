// Cases of single passes as files: tests/passes/<pass>/<case>.hlo is a program, <case>.after.hlo
// what the pass (and dce after it) makes of it. Its first line says whether the pass changed
// something or left the program alone. On every case the numbers must stay, by the reference
// evaluator, and the pass must come to an end. Many cases are small forms of what XLA's own tests
// of that pass show.
//
//   build/tests/unit/test_pass_cases . --update     writes the .after.hlo files that differ; read
//   the difference
//
// A case may begin with comments that set options:   // memory_limit_bytes=1000
//      // numbers: not compared (random numbers, effects)
#include <dirent.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "unit.h"

static const char *source_root;
static bool update;

static hsc_module *parse(const char *path, const char *text) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_text_parse(hsc_view_of(text), path, &module);
  if (!status)
    status = hsc_module_verify(module);
  if (status)
    fail_msg("%s, line %d: %s", path, hsc_status_line(status), hsc_status_message(status));
  return module;
}

static bool run(const char *path, hsc_module *module, const char *pass, const char *text) {
  hsc_pass_log log = {0};
  hsc_pass_options options = {.fuel = -1, .verify = true, .target = &hsc_pass_example_target};
  const char *limit = strstr(text, "// memory_limit_bytes=");
  if (limit)
    options.memory_limit_bytes = atoll(strchr(limit, '=') + 1);
  hsc_status *status = hsc_passes_run(module, pass, &options, &log);
  if (status)
    fail_msg("%s: %s", path, hsc_status_message(status));
  bool changed = log.run_count == 1 && log.runs[0].changed;
  hsc_pass_log_deinit(&log);
  return changed;
}

static void numbers_stay(const char *path, const char *pass, const char *text) {
  for (uint64_t seed = 0; seed < 2; seed++) {
    hsc_module *module = parse(path, text);
    hsc_arena *arena = NULL;
    hsc_literal *arguments[32];
    hsc_literal *before = NULL;
    hsc_literal *after = NULL;
    hsc_difference d;
    int count = module->entry->parameter_count;
    assert_true(count <= 32);
    EXPECT_OK(hsc_arena_create(&arena));
    for (int i = 0; i < count; i++) {
      EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
      hsc_literal_fill(arguments[i], seed, (uint32_t)i);
    }
    hsc_status *status = hsc_evaluate(module, count, arguments, arena, &before);
    if (status)
      fail_msg("%s: %s", path, hsc_status_message(status));
    run(path, module, pass, text);
    EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
    EXPECT_OK(hsc_evaluate(module, count, arguments, arena, &after));
    EXPECT_OK(hsc_literal_compare(before, after, &d));
    bool close =
        d.nan_mismatches == 0 && (d.max_ulp <= 64 || d.max_abs <= 1e-5 || d.max_rel <= 1e-4);
    if (!close)
      fail_msg("%s, seed %d: output %d element %lld is %.9g, was %.9g", path, (int)seed, d.leaf,
               (long long)d.index, d.right, d.left);
    hsc_arena_destroy(arena);
    hsc_module_destroy(module);
  }
}

static void after_is_as_written_down(const char *path, const char *pass, const char *text) {
  hsc_module *module = parse(path, text);
  hsc_bytes made = {0};
  hsc_bytes expected = {0};
  hsc_bytes_printf(&made, run(path, module, pass, text) ? "// changed\n" : "// left alone\n");
  EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
  hsc_module_print(module, &(hsc_print_options){.no_metadata = true, .no_percent = true}, &made);
  char *after = NULL;
  assert_true(asprintf(&after, "%.*s.after.hlo", (int)(strlen(path) - strlen(".hlo")), path) > 0);
  if (update)
    EXPECT_OK(hsc_file_write_atomic(after, made.data, made.size));
  hsc_status *status = hsc_file_read(after, &expected);
  if (status)
    fail_msg("%s; tests/unit/test_pass_cases SOURCE_ROOT --update writes it",
             hsc_status_message(status));
  if (expected.size != made.size || memcmp(expected.data, made.data, made.size))
    fail_msg("%s: what %s makes of it is no longer %s but\n%.*s", path, pass, after, (int)made.size,
             made.data);
  hsc_module_destroy(parse(after, hsc_bytes_text(&made)));
  int runs = 0;
  while (runs < 8 && run(path, module, pass, text))
    runs++;
  if (runs == 8)
    fail_msg("%s: %s still changes it in the eighth run", path, pass);
  free(after);
  hsc_bytes_deinit(&made);
  hsc_bytes_deinit(&expected);
  hsc_module_destroy(module);
}

static bool ends_with(const char *text, const char *end) {
  return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

static void every_case(void **state) {
  char folder[600];
  int cases = 0;
  snprintf(folder, sizeof folder, "%s/tests/passes", source_root);
  struct dirent **passes = NULL;
  struct dirent **files = NULL;
  int pass_count = scandir(folder, &passes, NULL, alphasort);
  assert_true(pass_count > 0);
  for (int p = 0; p < pass_count; p++) {
    const char *pass = passes[p]->d_name;
    hsc_pass_id id;
    if (pass[0] == '.') {
      free(passes[p]);
      continue;
    }
    if (!hsc_pass_parse(hsc_view_of(pass), &id))
      fail_msg("%s/%s: there is no such pass", folder, pass);
    char inner[900];
    snprintf(inner, sizeof inner, "%s/%s", folder, pass);
    int file_count = scandir(inner, &files, NULL, alphasort);
    for (int f = 0; f < file_count; f++) {
      if (ends_with(files[f]->d_name, ".hlo") && !ends_with(files[f]->d_name, ".after.hlo")) {
        char path[1300];
        hsc_bytes text = {0};
        snprintf(path, sizeof path, "%s/%s", inner, files[f]->d_name);
        EXPECT_OK(hsc_file_read(path, &text));
        after_is_as_written_down(path, hsc_pass_text(id), hsc_bytes_text(&text));
        if (!strstr(hsc_bytes_text(&text), "// numbers: not compared"))
          numbers_stay(path, hsc_pass_text(id), hsc_bytes_text(&text));
        hsc_bytes_deinit(&text);
        cases++;
      }
      free(files[f]);
    }
    free(files);
    free(passes[p]);
  }
  free(passes);
  assert_true(cases > 0);
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  update = argc > 2 && !strcmp(argv[2], "--update");
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_case)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
