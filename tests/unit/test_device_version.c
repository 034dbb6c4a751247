// test_device_version.c - releases: their order, what is one, whose they are, and devices of them.
#include "lab_case.h"

#include "lab/devices/device_version.h"

static void releases_have_an_order(void **state) {
  static const char *const sorted[] = {"0.0.20", "0.4.9", "0.4.30",  "0.5.0rc1",
                                       "0.5.0",  "0.9.0", "0.9.0.1", "0.10.2"};
  for (size_t i = 0; i < HSC_COUNT_OF(sorted); i++)
    for (size_t j = 0; j < HSC_COUNT_OF(sorted); j++) {
      int sign = hsc_release_compare(sorted[i], sorted[j]);
      assert_int_equal((sign > 0) - (sign < 0), (i > j) - (i < j));
    }
}

static void what_is_a_release(void **state) {
  assert_true(hsc_release_is_one("0.7.1"));
  assert_true(hsc_release_is_one("0.5.0rc1"));
  assert_false(hsc_release_is_one(""));
  assert_false(hsc_release_is_one("newest"));
  assert_false(hsc_release_is_one("1.0; rm"));
  assert_false(hsc_release_is_one("../1"));
  assert_false(hsc_release_is_one("1/2"));
}

static void packages_and_devices(void **state) {
  assert_string_equal(hsc_release_package("xla-cpu", arena), "jaxlib");
  assert_string_equal(hsc_release_package("cuda:h100", arena), "jax-cuda12-pjrt");
  assert_string_equal(hsc_release_device("libtpu", arena), "tpu");
  assert_null(hsc_release_package("cpu", arena));
  assert_null(hsc_release_device("numpy", arena));
}

// An environment that is there is taken as it is: nothing is asked of an index.
static void an_environment_is_used_again(void **state) {
  char path[160];
  const char *python = NULL;
  const char *directory = NULL;
  snprintf(path, sizeof path, "%s/versions", dir);
  EXPECT_OK(hsc_dir_make(path));
  snprintf(path, sizeof path, "%s/versions/jaxlib-9.9.9", dir);
  EXPECT_OK(hsc_dir_make(path));
  snprintf(path, sizeof path, "%s/versions/jaxlib-9.9.9/ready", dir);
  EXPECT_OK(hsc_file_write_atomic(path, "1\n", 2));
  EXPECT_OK(
      hsc_release_environment(hsc_vendor_get("xla-cpu"), "9.9.9", arena, &python, &directory));
  assert_non_null(strstr(python, "versions/jaxlib-9.9.9/bin/python"));
}

static void bad_releases_are_refused(void **state) {
  static const struct {
    const char *device, *message;
  } cases[] = {{"cpu@1.0", "has no releases"},
               {"xla-cpu@", "is not a version"},
               {"xla-cpu@new", "is not a version"},
               {"reference@1", "has no releases"}};
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_device_spec spec;
    hsc_status *status = hsc_device_spec_parse(cases[i].device, arena, &spec);
    assert_non_null(status);
    assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
    assert_non_null(strstr(hsc_status_message(status), cases[i].message));
    hsc_status_free(status);
  }
}

static int set_up(void **state) {
  return lab_case_set_up("version", "HloModule m\nENTRY e { ROOT x = f32[] parameter(0)\n}\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(releases_have_an_order),   cmocka_unit_test(what_is_a_release),
      cmocka_unit_test(packages_and_devices),     cmocka_unit_test(an_environment_is_used_again),
      cmocka_unit_test(bad_releases_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, lab_case_tear_down);
}
