// test_run_series.c - blocks of runs put together, and the causes of their slow runs, from answers
// that are made up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab/run/run_series.h"

static void assert_ok(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

// Ten runs of about 1 ms; number 4 takes `slow_ns`, with so many switches and faults.
static json_t *block(
    double slow_ns, int switches, int faults, int64_t throttled_ns, int64_t waited_ns) {
  json_t *run = json_array();
  json_t *enqueue = json_array();
  json_t *wait = json_array();
  json_t *fault = json_array();
  json_t *sw = json_array();
  for (int i = 0; i < 10; i++) {
    json_array_append_new(run,
                          json_integer(i == 4 ? (json_int_t)slow_ns : 1000000 + 1000 * (i % 3)));
    json_array_append_new(enqueue, json_integer(1000));
    json_array_append_new(wait, json_integer(999000));
    json_array_append_new(fault, json_integer(i == 4 ? faults : 0));
    json_array_append_new(sw, json_integer(i == 4 ? switches : 0));
  }
  return json_pack("{s:{s:o, s:o, s:o, s:o, s:o}, s:I, s:I}", "series", "run_ns", run, "enqueue_ns",
                   enqueue, "wait_ns", wait, "page_faults_count", fault,
                   "involuntary_switches_count", sw, "throttled_ns", (json_int_t)throttled_ns,
                   "waited_ns", (json_int_t)waited_ns);
}

static void test_slow_runs_get_the_cause_that_was_counted(void **state) {
  static const char *const causes[] = {
      "2 involuntary context switches", "1 page fault",
      "its block was throttled for 3 ms: the processor quota was used up",
      "pressure: 2.5 ms of its block somebody waited for a processor", NULL};
  json_t *blocks[] = {block(5e6, 2, 7, 0, 0), block(5e6, 0, 1, 1, 1), block(5e6, 0, 0, 3000000, 9),
                      block(5e6, 0, 0, 0, 2500000), block(5e6, 0, 0, 0, 0)};
  json_t *row = NULL;
  hsc_run_series series;
  hsc_run_series_init(&series, &(hsc_sampling_options){.exact = 50}, 1e-3);
  for (size_t i = 0; i < HSC_COUNT_OF(blocks); i++)
    assert_ok(hsc_run_series_add(&series, blocks[i], 0.02));
  assert_ok(hsc_sampling_finish(&series.sampling, 1));
  assert_ok(hsc_run_series_statistics(&series, "cpu", 1, &row));
  assert_int_equal(json_integer_value(json_object_get(row, "outlier_count")), 5);
  assert_int_equal(json_integer_value(json_object_get(row, "outliers_with_cause")), 4);
  for (size_t i = 0; i < HSC_COUNT_OF(causes); i++) {
    json_t *outlier = json_array_get(json_object_get(row, "outliers"), i);
    const char *cause = json_string_value(json_object_get(outlier, "cause"));
    assert_int_equal(json_integer_value(json_object_get(outlier, "sample")), 10 * (long long)i + 5);
    if (causes[i])
      assert_string_equal(cause, causes[i]);
    else
      assert_null(cause);
  }
  // blocks lie in one process
  assert_int_equal(json_integer_value(json_object_get(row, "processes")), 1);
  json_t *answer = hsc_run_series_answer(&series);
  json_t *numbers = json_object_get(json_object_get(answer, "series"), "block_count");
  assert_int_equal(json_array_size(numbers), 50);
  assert_int_equal(json_integer_value(json_array_get(numbers, 49)), 4);
  assert_int_equal(json_integer_value(json_object_get(answer, "throttled_ns")), 3000001);
  json_decref(answer);
  json_decref(row);
  for (size_t i = 0; i < HSC_COUNT_OF(blocks); i++)
    json_decref(blocks[i]);
  hsc_run_series_deinit(&series);
}

static void test_an_answer_without_runs_is_an_error(void **state) {
  hsc_run_series series;
  json_t *empty = json_pack("{s:{s:[]}}", "series", "run_ns");
  hsc_run_series_init(&series, &(hsc_sampling_options){.exact = 3}, 1e-3);
  hsc_status *status = hsc_run_series_add(&series, empty, 0.1);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
  json_decref(empty);
  hsc_run_series_deinit(&series);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slow_runs_get_the_cause_that_was_counted),
      cmocka_unit_test(test_an_answer_without_runs_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
