// test_ablate.c - the ablation on a compiler whose passes do, when they are off, what their names say; and the readers of what compilers leave.
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/ablate.h"
#include "lab/json_tree.h"
#include "unit.h"

static hsc_arena *arena;
static char hloscope[4096], fake[4200], dir[64], program[128];

static int set_up(void **state) {
  char *here = NULL;
  if (hsc_arena_create(&arena) || hsc_self_dir((const void *)(uintptr_t)&set_up, &here)) return -1;
  snprintf(hloscope, sizeof hloscope, "%s/../../hloscope", here);
  snprintf(fake, sizeof fake, "%s/../fake_plugin/libhloscope_fake_pjrt.so?fake=passes=1", here);
  hsc_free(here);
  strcpy(dir, "/tmp/hloscope-ablate-XXXXXX");
  if (!mkdtemp(dir)) return -1;
  setenv("HLOSCOPE_CACHE_DIR", dir, 1);
  setenv("HLOSCOPE_FAKE", "passes=1", 1);
  snprintf(program, sizeof program, "%s/p.hlo", dir);
  static const char text[] = "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] add(x, x)\n}\n";
  return hsc_file_write_atomic(program, text, sizeof text - 1) ? -1 : 0;
}

static int tear_down(void **state) {
  char command[128];
  hsc_arena_destroy(arena);
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

static hsc_ablate_options usual(hsc_store *store, hsc_device_spec *device) {
  EXPECT_OK(hsc_device_spec_parse(fake, arena, device));
  return (hsc_ablate_options){.program = program,
                              .device = device,
                              .placebo_count = 3,
                              .jobs = 2,
                              .timing = true,
                              .process_count = 3,
                              .block_count = 4,
                              .budget_s = 60,
                              .margin = 0.01,
                              .limit_ns = 3 * HSC_SECOND_NS,
                              .executable = hloscope,
                              .store = store};
}

static json_t *variant(json_t *result, const char *list, const char *name) {
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(result, list), i, row)
    if (!strcmp(json_string_value(json_object_get(row, "pass")), name)) return row;
  fail_msg("no %s in %s", name, list);
  return NULL;
}

static const char *text_of(json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text ? text : "";
}

static hsc_store *open_store(const char *name) {
  hsc_store *store = NULL;
  EXPECT_OK(hsc_store_open(hsc_arena_printf(arena, "%s/%s.sqlite", dir, name), &store));
  return store;
}

// Every outcome, each for its reason.
static void test_every_outcome(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("outcomes");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_string_equal(text_of(variant(r, "variants", "same-pass"), "outcome"), "same");
  assert_string_equal(text_of(variant(r, "variants", "same-pass"), "same_as"), "baseline");
  assert_string_equal(text_of(variant(r, "variants", "twin-pass-b"), "same_as"), "twin-pass-a");
  assert_string_equal(text_of(variant(r, "variants", "numbers-pass"), "outcome"), "numbers");
  assert_string_equal(json_string_value(hsc_json_path(variant(r, "variants", "last-bit-pass"), "numbers", "verdict", NULL)), "close");
  assert_true(json_integer_value(hsc_json_path(variant(r, "variants", "last-bit-pass"), "numbers", "max_ulp", NULL)) > 0);
  json_t *error = variant(r, "variants", "error-pass"), *died = variant(r, "variants", "abort-pass"), *hung = variant(r, "variants", "hang-pass"),
         *later = variant(r, "variants", "run-abort-pass");
  assert_string_equal(text_of(error, "outcome"), "error");
  assert_string_equal(text_of(error, "where"), "emitter.cc:1571");
  assert_string_equal(text_of(died, "outcome"), "abort");
  assert_string_equal(text_of(died, "where"), "fake_rewriter.cc:94");
  assert_non_null(strstr(text_of(died, "message"), "Check failed: rank == 2"));
  assert_string_equal(text_of(hung, "outcome"), "timeout");
  assert_string_equal(text_of(later, "outcome"), "abort");  // compiled, but died when it ran
  assert_string_equal(text_of(later, "where"), "fake_thunk.cc:7");
  // Two milliseconds of spinning: how finely a busy machine tells them is its own affair, but never the wrong way round.
  assert_true(strcmp(text_of(variant(r, "variants", "slow-pass"), "outcome"), "faster") != 0);
  assert_true(strcmp(text_of(variant(r, "variants", "fast-pass"), "outcome"), "slower") != 0);
  double slow = hsc_json_number(hsc_json_path(variant(r, "variants", "slow-pass"), "total_time", "ratio", NULL)),
         fast = hsc_json_number(hsc_json_path(variant(r, "variants", "fast-pass"), "total_time", "ratio", NULL));
  assert_true(slow > fast);
  for (int i = 1; i <= 3; i++) {
    json_t *placebo = variant(r, "placebos", hsc_arena_printf(arena, "hloscope-placebo-%d", i));
    assert_string_equal(text_of(placebo, "same_as"), "baseline");
    assert_false(json_is_null(json_object_get(placebo, "total_time")));
    assert_true(json_is_null(json_object_get(placebo, "highlight")));
  }
  assert_int_equal(json_integer_value(hsc_json_path(r, "totals", "variants", NULL)), 11);
  json_decref(r);
  hsc_store_close(store);
}

static void test_unknown_names_are_refused(void **state) {
  static const char *const names[] = {"slow-pas"};
  hsc_device_spec device;
  hsc_store *store = open_store("names");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  o.names = names, o.name_count = 1;
  hsc_status *status = hsc_ablate(&o, &r);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_non_null(strstr(hsc_status_hint_text(status), "'slow-pass'"));
  hsc_status_free(status);
  o.name_count = 0, o.pattern = "^no such$";
  EXPECT_CODE(INVALID_ARGUMENT, hsc_ablate(&o, &r));
  o.pattern = "(";
  EXPECT_CODE(INVALID_ARGUMENT, hsc_ablate(&o, &r));
  o.pattern = NULL, o.pipeline = "fake-pipelin";
  EXPECT_CODE(INVALID_ARGUMENT, hsc_ablate(&o, &r));
  hsc_store_close(store);
}

typedef struct watch {
  volatile int stop;
  int begun, stop_after;
} watch;
static void on_progress(void *user, int64_t done, int64_t total, double left, const char *text) {
  watch *w = user;
  if (!strcmp(text, "compiling")) w->begun++;
  if (w->stop_after && w->begun >= w->stop_after) w->stop = 1;
}

// A sweep that was stopped goes on: what was compiled is not compiled again.
static void test_resume(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("resume");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  watch w = {.stop_after = 5};
  o.timing = false, o.jobs = 1, o.resume = true, o.progress = on_progress, o.user = &w, o.stop = &w.stop, o.pattern = "same|twin|slow|error";
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_string_equal(text_of(r, "status"), "interrupted");
  long long experiment = json_integer_value(json_object_get(r, "experiment"));
  json_decref(r);
  json_t *tasks = NULL;
  EXPECT_OK(hsc_store_tasks(store, experiment, &tasks));
  size_t before = json_array_size(tasks);
  json_decref(tasks);
  w = (watch){0};
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_string_equal(text_of(r, "status"), "done");
  assert_int_equal(json_integer_value(json_object_get(r, "experiment")), experiment);
  assert_string_equal(text_of(variant(r, "variants", "error-pass"), "where"), "emitter.cc:1571");
  json_decref(r);
  EXPECT_OK(hsc_store_tasks(store, experiment, &tasks));
  assert_true(before > 1 && before < json_array_size(tasks));
  assert_int_equal(json_array_size(tasks), 1 + 1 + 3 + 5);  // the list, the baseline, placebos, passes
  json_decref(tasks);
  hsc_store_close(store);
}

static void test_pairs(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("pairs");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  o.timing = false, o.pairs = true, o.pair_most = 3, o.pattern = "slow|fast|twin-pass-a";
  EXPECT_OK(hsc_ablate(&o, &r));
  json_t *pairs = json_object_get(r, "pairs"), *first = json_array_get(pairs, 0);
  assert_int_equal(json_array_size(pairs), 3);
  assert_int_equal(json_array_size(json_object_get(first, "passes")), 2);
  assert_true(json_is_number(hsc_json_path(first, "interaction", "instructions", NULL)));
  json_decref(r);
  hsc_store_close(store);
}

// ---- readers --------------------------------------------------------------------------------------------------------

static void test_metadata_nests(void **state) {
  static const char text[] =
      "module_group_name: \"x\"\n"
      "pass_metadata { pass_name: \"pipeline-start\" pipeline_name: \"outer\" }\n"
      "pass_metadata { pass_name: \"a\" pipeline_name: \"outer\" module_changed: true start_timestamp_usec: 5 end_timestamp_usec: 8 dump_filenames: [\"f\", \"g\"] }\n"
      "pass_metadata { pass_name: \"inner\" pipeline_name: \"outer\" start_timestamp_usec: 10 end_timestamp_usec: 30 }\n"
      "pass_metadata { pass_name: \"pipeline-start\" pipeline_name: \"inner\" }\n"
      "pass_metadata { pass_name: \"b\" pipeline_name: \"inner\" start_timestamp_usec: 10 end_timestamp_usec: 20 custom_metadata { type_url: \"}\" } }\n"
      "pass_metadata { pass_name: \"pipeline-start\" pipeline_name: \"inner\" }  # a fixed point's second round\n"
      "pass_metadata { pass_name: \"b\" pipeline_name: \"inner\" start_timestamp_usec: 20 end_timestamp_usec: 30 }\n"
      "pass_metadata { pass_name: \"c\" pipeline_name: \"outer\" start_timestamp_usec: 30 end_timestamp_usec: 31 kv_metrics { key: \"duration_ns\" value: 900 } }\n";
  hsc_pass_list list;
  EXPECT_OK(hsc_pass_list_init(&list));
  EXPECT_OK(hsc_pass_list_read_metadata(hsc_view_of(text), "m", &list));
  hsc_pass_totals t = hsc_pass_list_totals(&list);
  assert_int_equal(t.pipelines, 2);
  assert_int_equal(t.passes, 3);
  assert_int_equal(t.runs, 4);
  assert_int_equal(t.changed, 1);
  assert_true(fabs(t.seconds - (3e-6 + 20e-6 + 0.9e-6)) < 1e-12);  // the nested pipeline is not counted twice
  assert_true(list.rows[1].nested && list.rows[1].depth == 0);
  assert_int_equal(list.rows[2].depth, 1);
  assert_int_equal(list.rows[4].depth, 0);
  assert_int_equal(list.rows[4].pipeline_run, list.rows[0].pipeline_run);
  hsc_pass_list_deinit(&list);
}

static void test_malformed_metadata_points_at_the_line(void **state) {
  static const char *const bad[] = {"pass_metadata {\n  pass_name: \"a\"\n", "pass_metadata {\n  pass_name: \n}\n", "}\n", "pass_metadata { kv_metrics { key } }"};
  for (size_t i = 0; i < HSC_COUNT_OF(bad); i++) {
    hsc_pass_list list;
    EXPECT_OK(hsc_pass_list_init(&list));
    hsc_status *status = hsc_pass_list_read_metadata(hsc_view_of(bad[i]), "m.textproto", &list);
    assert_int_equal(hsc_status_code(status), HSC_DATA_LOSS);
    assert_true(hsc_status_line(status) > 0);
    hsc_status_free(status);
    hsc_pass_list_deinit(&list);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_outcome), cmocka_unit_test(test_unknown_names_are_refused), cmocka_unit_test(test_resume),
                                     cmocka_unit_test(test_pairs),         cmocka_unit_test(test_metadata_nests),
                                     cmocka_unit_test(test_malformed_metadata_points_at_the_line)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
