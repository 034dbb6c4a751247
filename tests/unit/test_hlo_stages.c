// test_hlo_stages.c - dumps of a compile as the report page takes them: whole documents.
#include "base/files/file_io.h"
#include "report/hlo_stages.h"
#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static char directory[] = "/tmp/test-stages-XXXXXX";

static void put_dump(const char *name, const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
}

static int make_directory(void **state) {
  strcpy(directory + sizeof directory - 7, "XXXXXX");
  return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

typedef struct seen {
  json_t *documents;
  hsc_hlo_stages sums[8];
  char modules[8][64];
  size_t count;
} seen;

static hsc_status *take(void *user, const hsc_hlo_stages *stages, hsc_view json) {
  seen *s = user;
  json_error_t error;
  json_t *document = json_loadb(json.data, json.size, 0, &error);
  if (!document)
    fail_msg("no JSON: %s", error.text);
  json_array_append_new(s->documents, document);
  s->sums[s->count] = *stages;
  snprintf(s->modules[s->count++], sizeof s->modules[0], "%s", stages->module);
  return NULL;
}

static seen read_all(size_t *out_left_out) {
  seen s = {.documents = json_array()};
  EXPECT_OK(hsc_hlo_stages_read(directory, take, &s, out_left_out));
  return s;
}

static void expect_json(json_t *found, const char *text) {
  json_error_t error;
  json_t *wanted = json_loads(text, 0, &error);
  assert_non_null(wanted);
  if (!json_equal(found, wanted)) {
    char *shown = json_dumps(found, JSON_COMPACT);
    fail_msg("%s\nis not\n%s", shown, text);
  }
  json_decref(wanted);
}

// The lines are numbers of 32 bits in base64: AAAAAA== is 0, AQAAAA== 1, AAAAAAEAAAA= 0 and 1.
static void a_stage_has_its_pipeline_pass_and_lines(void **state) {
  size_t left_out = 9;
  put_dump("module_0001.jit_f.v2.before_optimizations.txt", "a\n");
  put_dump("module_0001.jit_f.v2.0002.simplify.after_algsimp.before_cse.txt", "a\nb\n");
  put_dump("module_0001.jit_f.v2.0001.simplify.after_pipeline-start.before_algsimp.txt", "a\n");
  put_dump("module_0001.jit_f.v2.0010.post layout.after_copy-insertion.txt", "b\nb\n");
  put_dump("module_0001.jit_f.v2.0003.after_alone.txt", "b\nb");
  put_dump("module_0001.jit_f.v2.cpu_after_optimizations.txt", "c\n\n");
  put_dump("module_0001.jit_f.v2.cpu_after_optimizations-buffer-assignment.txt", "no stage");
  put_dump("module_0001.jit_f.v2.debug_options", "no stage");
  put_dump("other.0001.simplify.after_cse.txt", "no module");
  put_dump("module_0001.jit_f.12.simplify.after_cse.txt", "a number of two digits is none");
  seen s = read_all(&left_out);
  assert_int_equal(left_out, 0);
  assert_int_equal(s.count, 1);
  expect_json(
      json_array_get(s.documents, 0),
      "{\"module\": \"jit_f.v2\", \"lines\": [\"a\", \"b\", \"c\", \"\"], \"stages\": ["
      "{\"run\": -1, \"pipeline\": \"\", \"pass\": \"input\", \"lines\": \"AAAAAA==\", \"came\": "
      "0, \"went\": 0},"
      "{\"run\": 1, \"pipeline\": \"simplify\", \"pass\": \"start\", \"lines\": \"AAAAAA==\", "
      "\"came\": 0, \"went\": 0},"
      "{\"run\": 2, \"pipeline\": \"simplify\", \"pass\": \"algsimp\", \"lines\": "
      "\"AAAAAAEAAAA=\", \"came\": 1, \"went\": 0},"
      "{\"run\": 3, \"pipeline\": \"\", \"pass\": \"alone\", \"lines\": \"AQAAAAEAAAA=\", "
      "\"came\": 1, \"went\": 1},"
      "{\"run\": 10, \"pipeline\": \"post layout\", \"pass\": \"copy-insertion\", \"lines\": "
      "\"AQAAAAEAAAA=\", \"came\": 0, \"went\": 0},"
      "{\"run\": 1000000, \"pipeline\": \"\", \"pass\": \"the end\", \"lines\": "
      "\"AgAAAAMAAAA=\", \"came\": 2, \"went\": 2}]}");
  assert_string_equal(s.modules[0], "jit_f.v2");
  assert_int_equal(s.sums[0].stage_count, 6);
  assert_int_equal(s.sums[0].changed_count, 3);  // algsimp, alone, the end
  assert_int_equal(s.sums[0].lines_before, 1);
  assert_int_equal(s.sums[0].lines_after, 2);
  json_decref(s.documents);
}

// Of ten modules, the eight with the most stages, the largest first.
static void the_largest_modules_come_first(void **state) {
  size_t left_out = 0;
  char name[128];
  for (int module = 0; module < 10; module++)
    for (int run = 0; run <= (module * 7) % 10; run++) {
      snprintf(name, sizeof name, "module_%04d.m%d.%04d.p.after_x.txt", module, module, run);
      put_dump(name, "x\n");
    }
  seen s = read_all(&left_out);
  assert_int_equal(left_out, 2);
  assert_int_equal(s.count, 8);
  for (size_t i = 0; i < 8; i++)
    assert_int_equal(s.sums[i].stage_count, 10 - i);
  assert_string_equal(s.modules[0], "m7");
  json_decref(s.documents);
}

static void a_directory_without_dumps_says_so(void **state) {
  seen s = {.documents = json_array()};
  size_t left_out;
  assert_false(hsc_hlo_stages_is_at(directory));
  assert_false(hsc_hlo_stages_is_at("/nowhere/at/all"));
  EXPECT_CODE(NOT_FOUND, hsc_hlo_stages_read(directory, take, &s, &left_out));
  put_dump("module_0001.f.before_optimizations.txt", "x");
  assert_true(hsc_hlo_stages_is_at(directory));
  json_decref(s.documents);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_stage_has_its_pipeline_pass_and_lines, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(the_largest_modules_come_first, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(a_directory_without_dumps_says_so, make_directory,
                                      remove_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
