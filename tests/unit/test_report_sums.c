// test_report_sums.c - what the report page prints as sums: added up here, never in the page.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "cli/report_lead.h"
#include "cli/report_sums.h"
#include "lab/run/json_tree.h"
#include "unit.h"

static json_t *sums_of(const char *kind, const char *text) {
  hsc_bytes out = {0};
  json_t *document = json_loads(text, 0, NULL);
  assert_non_null(document);
  hsc_report_sums(kind, document, &out);
  json_t *sums = out.size ? json_loads(hsc_bytes_text(&out), 0, NULL) : NULL;
  hsc_bytes_deinit(&out);
  json_decref(document);
  return sums;
}

// "name value(children)", values in tenths.
static void describe(const json_t *box, hsc_bytes *out) {
  size_t i;
  const json_t *inner;
  hsc_bytes_printf(out, " %s %ld", json_string_value(json_object_get(box, "name")),
                   lround(10 * hsc_json_number(json_object_get(box, "value"))));
  if (!json_array_size(json_object_get(box, "children")))
    return;
  hsc_bytes_append_text(out, "(");
  json_array_foreach (json_object_get(box, "children"), i, inner)
    describe(inner, out);
  hsc_bytes_append_text(out, " )");
}

static void expect_boxes(const json_t *sums, const char *wanted) {
  hsc_bytes text = {0};
  describe(json_object_get(sums, "time"), &text);
  assert_string_equal(hsc_bytes_text(&text), wanted);
  hsc_bytes_deinit(&text);
}

static void a_pass_is_one_row_over_its_pipelines(void **state) {
  json_t *sums = sums_of(
      "passes_list",
      "{\"pipelines\": [{\"name\": \"outer\", \"depth\": 0, \"passes\": ["
      "{\"name\": \"dce\", \"changed\": true, \"seconds\": 0.1, \"instructions_before\": 9, "
      "\"instructions_after\": 7}, {\"name\": \"inner\", \"pipeline\": true, \"seconds\": 5}]}, "
      "{\"name\": \"inner\", \"depth\": 1, \"passes\": [{\"name\": \"cse\", \"changed\": false, "
      "\"seconds\": 0.5}, {\"name\": \"dce\", \"changed\": true, \"seconds\": 0.2, "
      "\"instructions_before\": 7, \"instructions_after\": 6}]}, {\"name\": \"last\", \"depth\": "
      "0, \"passes\": [{\"name\": \"dce\", \"changed\": null, \"seconds\": null}]}]}");
  const json_t *rows = json_object_get(sums, "passes");
  const json_t *dce = json_array_get(rows, 1);
  static const char *const keys[] = {"runs", "changed", "pipelines", "instructions"};
  static const double wanted[] = {3, 2, 3, -3};
  assert_int_equal(json_array_size(rows), 2);
  assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "pass")), "cse");
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    assert_true(hsc_json_number(json_object_get(dce, keys[i])) == wanted[i]);
  assert_null(json_object_get(dce, "inside"));
  // the pipeline that is a row of another one is a box once, where its passes are
  expect_boxes(sums, " HLO passes 8( outer 8( dce 1 inner 7( cse 5 dce 2 ) ) last 0 )");
  json_decref(sums);
}

static void any_depth_is_taken(void **state) {
  json_t *sums = sums_of("passes_list",
                         "{\"pipelines\": [{\"name\": \"a\", \"depth\": -3, \"passes\": []}, "
                         "{\"name\": \"b\", \"depth\": 1e9, \"passes\": [{\"name\": \"p\", "
                         "\"seconds\": 1}]}, {\"name\": \"c\"}, 7]}");
  expect_boxes(sums, " HLO passes 10( a 10( b 10( p 10 ) ) c 0  0 )");
  json_decref(sums);
  assert_null(sums_of("doctor", "{}"));
}

static void a_compile_is_at_least_its_phases(void **state) {
  json_t *sums = sums_of(
      "passes_time",
      "{\"compile\": {\"median\": 1}, \"phases\": [{\"name\": \"HLO passes\", \"median\": 0.2}, "
      "{\"name\": \"code\", \"median\": 0.3}], \"passes\": [{\"name\": \"dce\", \"median\": "
      "0.4}]}");
  expect_boxes(sums, " compile 10( HLO passes 4( dce 4 ) code 3 )");
  json_decref(sums);
  sums = sums_of("passes_time",
                 "{\"phases\": [], \"pipelines\": [{\"name\": \"a\", \"median\": 0.5}]}");
  expect_boxes(sums, " compile 5( HLO passes 5( a 5 ) )");
  json_decref(sums);
}

static void shares_are_of_the_phases_that_were_measured(void **state) {
  json_t *sums = sums_of(
      "patterns",
      "{\"patterns\": {\"a\": {\"status\": \"ok\", \"phases\": {\"compile_miss\": {\"median\": 3}, "
      "\"execute\": {\"median\": 1}}, \"run\": {\"sampling\": {\"more_needed\": 0, \"text\": "
      "\"enough\"}}}, \"b\": {\"status\": \"ok\", \"phases\": {}, \"run\": {\"sampling\": "
      "{\"more_needed\": 40, \"text\": \"too few\"}}}, \"c\": {\"status\": \"failed\"}}}");
  const json_t *a = hsc_json_path(sums, "shares", "a", NULL);
  assert_true(hsc_json_number(json_object_get(a, "compile_miss")) == 0.75);
  assert_true(hsc_json_number(json_object_get(a, "execute")) == 0.25);
  assert_int_equal(json_object_size(a), 2);
  assert_int_equal(json_object_size(hsc_json_path(sums, "shares", "b", NULL)), 0);
  assert_string_equal(
      json_string_value(json_object_get(sums, "sampling")),
      "1 of 2 configurations reached the wanted interval. Furthest from it: b: too few.");
  json_decref(sums);
}

// ---- stages -------------------------------------------------------------------------------------

static hsc_status *look_at_stages(void *user, const hsc_hlo_stages *stages, hsc_view json) {
  hsc_page_lead lead = {0};
  json_t *document = json_loadb(json.data, json.size, 0, NULL);
  const json_t *list = json_object_get(document, "stages");
  static const int wanted[][2] = {{0, 0}, {2, 1}, {0, 0}, {0, 2}, {1, 0}};
  assert_non_null(document);
  assert_int_equal(json_array_size(list), HSC_COUNT_OF(wanted));
  for (size_t i = 0; i < HSC_COUNT_OF(wanted); i++) {
    const json_t *stage = json_array_get(list, i);
    assert_int_equal(json_integer_value(json_object_get(stage, "came")), wanted[i][0]);
    assert_int_equal(json_integer_value(json_object_get(stage, "went")), wanted[i][1]);
  }
  assert_int_equal(stages->pass_count, 2);
  assert_string_equal(stages->passes[0].name, "fusion");
  assert_int_equal(stages->passes[0].came, 3);
  assert_int_equal(stages->passes[0].went, 1);
  assert_int_equal(stages->changed_count, 4);  // lines that only moved are a change too
  hsc_report_lead_of_stages(stages, &lead);
  assert_int_equal(lead.part_count, 2);
  assert_non_null(strstr(hsc_bytes_text(&lead.sentence), "most by fusion (3 lines came, 1 went)"));
  hsc_lead_deinit(&lead);
  json_decref(document);
  *(int *)user += 1;
  return NULL;
}

static void lines_that_came_and_went_are_counted_by_pass(void **state) {
  static const char *const files[][2] = {
      {"before_optimizations", "a\nb\nc\n"}, {"0001.p.after_fusion", "a\nb\nx\nx\n"},
      {"0002.p.after_sort", "x\nb\na\nx\n"}, {"0003.p.after_dce", "b\nx\n"},
      {"0004.p.after_fusion", "b\nx\nx\n"},
  };
  char directory[] = "/tmp/hloscope-sums-XXXXXX";
  char path[256];
  size_t left_out = 0;
  int modules = 0;
  assert_non_null(mkdtemp(directory));
  for (size_t i = 0; i < HSC_COUNT_OF(files); i++) {
    snprintf(path, sizeof path, "%s/module_0001.f.%s.txt", directory, files[i][0]);
    EXPECT_OK(hsc_file_write_atomic(path, files[i][1], strlen(files[i][1])));
  }
  EXPECT_OK(hsc_hlo_stages_read(directory, look_at_stages, &modules, &left_out));
  assert_int_equal(modules, 1);
  snprintf(path, sizeof path, "rm -rf '%s'", directory);
  assert_int_equal(system(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pass_is_one_row_over_its_pipelines),
      cmocka_unit_test(any_depth_is_taken),
      cmocka_unit_test(a_compile_is_at_least_its_phases),
      cmocka_unit_test(shares_are_of_the_phases_that_were_measured),
      cmocka_unit_test(lines_that_came_and_went_are_counted_by_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
