#include "unit.h"

#include "doctor/log_reader.h"

static hsc_versions *of(const char *const *texts) {
  hsc_versions *versions = NULL;
  EXPECT_OK(hsc_versions_create(&versions));
  for (; *texts; texts++)
    EXPECT_OK(hsc_versions_add_text(versions, *texts, HSC_VERSIONS_FROM_USER));
  return versions;
}

static bool excluded(const char *const *versions_here, const char *since, const char *until) {
  const char *const from[] = {since, NULL};
  const char *const to[] = {until, NULL};
  const hsc_entry entry = {.since = from, .until = to};
  hsc_versions *versions = of(versions_here);
  bool result = hsc_versions_exclude(versions, &entry, NULL) != NULL;
  hsc_versions_destroy(versions);
  return result;
}

static void bounds_hold_for_their_package_alone(void **state) {
  const char *const old[] = {"jax==0.4.1", NULL};
  const char *const young[] = {"jax 0.4.31", NULL};
  const char *const other[] = {"torch_xla==2.1.0", NULL};
  const char *const none[] = {NULL};
  assert_true(excluded(old, "jax 0.4.14", "open"));
  assert_false(excluded(young, "jax 0.4.14", "open"));
  assert_false(excluded(other, "jax 0.4.14", "open"));
  assert_false(excluded(none, "jax 0.4.14", "open"));
  assert_false(excluded(old, "unknown", "unknown"));
  assert_false(excluded(old, "any", "any"));
  assert_true(excluded(other, "torch-xla 2.2", "open"));  // pip's name and the module's are one
  assert_true(excluded(young, "any", "jax 0.4.30"));
  assert_false(excluded(old, "any", "jax 0.4.30"));
}

static void a_bound_has_as_many_places_as_are_written(void **state) {
  const char *const patch[] = {"torch-xla==2.8.1", NULL};
  const char *const compiler[] = {"neuronxcc 2.21.18209.0+043b1bf7", NULL};
  assert_false(excluded(patch, "any", "torch-xla 2.8"));
  assert_true(excluded(patch, "any", "torch-xla 2.8.0"));
  assert_false(excluded(compiler, "neuronx-cc 2.21", "neuronx-cc 2.21"));
  assert_true(excluded(compiler, "neuronx-cc 2.22", "open"));
  assert_true(excluded(compiler, "any", "neuronx-cc 2.20"));
  // numbers, not letters
  assert_true(excluded((const char *const[]){"jax==0.4.9", NULL}, "jax 0.4.14", "open"));
}

static void two_versions_in_one_log_exclude_nothing(void **state) {
  hsc_versions *versions = NULL;
  EXPECT_OK(hsc_versions_create(&versions));
  EXPECT_OK(hsc_versions_add(versions, HSC_VIEW("jax"), HSC_VIEW("0.4.1"), HSC_VERSIONS_FROM_LOG));
  assert_string_equal(hsc_versions_get(versions, "jax"), "0.4.1");
  EXPECT_OK(hsc_versions_add(versions, HSC_VIEW("jax"), HSC_VIEW("0.4.30"), HSC_VERSIONS_FROM_LOG));
  assert_null(hsc_versions_get(versions, "jax"));
  EXPECT_OK(hsc_versions_add(versions, HSC_VIEW("jax"), HSC_VIEW("0.5.0"),
                             HSC_VERSIONS_FROM_ENVIRONMENT));
  assert_null(hsc_versions_get(versions, "jax"));
  EXPECT_OK(
      hsc_versions_add(versions, HSC_VIEW("jax"), HSC_VIEW("0.6.0."), HSC_VERSIONS_FROM_USER));
  assert_string_equal(hsc_versions_get(versions, "jax"), "0.6.0");
  EXPECT_OK(
      hsc_versions_add(versions, HSC_VIEW("jaxlib"), HSC_VIEW("unknown"), HSC_VERSIONS_FROM_LOG));
  assert_null(hsc_versions_get(versions, "jaxlib"));
  for (int i = 0; i < 200; i++) {  // more packages than are kept
    char name[16];
    snprintf(name, sizeof name, "p%d", i);
    EXPECT_OK(
        hsc_versions_add(versions, hsc_view_of(name), HSC_VIEW("1.0"), HSC_VERSIONS_FROM_LOG));
  }
  assert_true(hsc_versions_count(versions) <= 64);
  hsc_versions_destroy(versions);
}

static void malformed_versions_are_refused(void **state) {
  hsc_versions *versions = NULL;
  EXPECT_OK(hsc_versions_create(&versions));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_versions_add_text(versions, "jax", HSC_VERSIONS_FROM_USER));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_versions_add_text(versions, "==0.4.1", HSC_VERSIONS_FROM_USER));
  EXPECT_CODE(INVALID_ARGUMENT,
              hsc_versions_add_text(versions, "jax==new", HSC_VERSIONS_FROM_USER));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_versions_add_text(versions, "", HSC_VERSIONS_FROM_USER));
  hsc_versions_destroy(versions);
}

static hsc_knowledge *kb;

static hsc_log_reader *read_text(const char *text, hsc_versions *versions) {
  hsc_log_reader *reader = NULL;
  EXPECT_OK(hsc_log_reader_create(kb, &(hsc_log_options){.versions = versions}, &reader));
  EXPECT_OK(hsc_log_reader_feed(reader, text, strlen(text)));
  EXPECT_OK(hsc_log_reader_finish(reader));
  return reader;
}

static bool found(const hsc_log_report *report, const char *id) {
  for (size_t i = 0; i < report->finding_count; i++)
    if (!strcmp(report->findings[i]->entry->id, id))
      return true;
  return false;
}

static const char failure[] =
    "jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with shape "
    "bool[].\n";

static void what_the_log_excludes_is_not_claimed(void **state) {
  char before[400], after[400], right[400];
  snprintf(before, sizeof before, "jax:    0.4.1\njaxlib: 0.4.1\n%s", failure);
  snprintf(after, sizeof after, "%s%sjax==0.4.1\n", failure, failure);  // the version comes last
  snprintf(right, sizeof right, "jax:    0.4.30\n%s", failure);
  const char *const texts[] = {before, after, right};
  for (int i = 0; i < 3; i++) {
    hsc_log_reader *reader = read_text(texts[i], NULL);
    const hsc_log_report *report = hsc_log_reader_report(reader);
    assert_int_equal(found(report, "jax-tracer-bool"), i == 2);
    assert_int_equal(report->left_out_count, i != 2);
    if (i != 2) {
      assert_string_equal(report->left_out[0].entry->id, "jax-tracer-bool");
      assert_string_equal(report->left_out[0].because, "since jax 0.4.14, and jax is 0.4.1 here");
      assert_int_equal(report->left_out[0].count, i == 0 ? 1 : 2);
      assert_int_equal(report->left_out[0].first_line, i == 0 ? 3 : 1);
    }
    hsc_log_reader_destroy(reader);
  }
}

static void what_the_environment_excludes_is_not_claimed(void **state) {
  hsc_versions *versions = NULL;
  EXPECT_OK(hsc_versions_create(&versions));
  EXPECT_OK(hsc_versions_add(versions, HSC_VIEW("jax"), HSC_VIEW("0.4.1"),
                             HSC_VERSIONS_FROM_ENVIRONMENT));
  hsc_log_reader *reader = read_text(failure, versions);
  assert_false(found(hsc_log_reader_report(reader), "jax-tracer-bool"));
  assert_true(found(hsc_log_reader_report(reader), "unrecognised-error"));  // an error it stays
  hsc_log_reader_destroy(reader);
  hsc_versions_destroy(versions);
}

int main(int argc, char **argv) {
  static char directory[512];
  snprintf(directory, sizeof directory, "%s/knowledge", argc > 1 ? argv[1] : ".");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bounds_hold_for_their_package_alone),
      cmocka_unit_test(a_bound_has_as_many_places_as_are_written),
      cmocka_unit_test(two_versions_in_one_log_exclude_nothing),
      cmocka_unit_test(malformed_versions_are_refused),
      cmocka_unit_test(what_the_log_excludes_is_not_claimed),
      cmocka_unit_test(what_the_environment_excludes_is_not_claimed),
  };
  EXPECT_OK(hsc_knowledge_load(directory, &kb));
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  hsc_knowledge_destroy(kb);
  return failed;
}
