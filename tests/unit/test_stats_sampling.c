// test_stats_sampling.c - pilots and stopping, with measurements and a clock that are made up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/core/random.h"
#include "lab/run/sampling_document.h"

// A machine that takes `run_s` for a run, with so much noise (a share) between runs and between
// blocks; a block costs `block_s` besides.
typedef struct machine {
  double run_s, block_s, run_noise, block_noise;
  hsc_random random;
} machine;

static void assert_ok(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

static void measure(machine *m, hsc_sampling *s) {
  double x[1000];
  for (size_t n; (n = hsc_sampling_next(s));) {
    double level = m->run_s * (1 + m->block_noise * hsc_random_normal(&m->random));
    double spent = m->block_s;
    assert_true(n <= 1000);
    for (size_t i = 0; i < n; i++)
      spent += x[i] = level * (1 + m->run_noise * hsc_random_normal(&m->random));
    assert_ok(hsc_sampling_add(s, x, n, spent));
    assert_true(s->upper_count < 100000);
  }
  assert_ok(hsc_sampling_finish(s, 1));
}

static hsc_sampling plan(const hsc_sampling_options *given, double once_s) {
  hsc_sampling s;
  hsc_sampling_options o = *given;
  o.lower = "run";
  o.upper = "block";
  hsc_sampling_init(&s, &o, once_s);
  return s;
}

static machine quiet(void) {
  machine m = {1e-3, 1e-3, 0.02, 0.001, {{0}}};
  hsc_random_init(&m.random, 3);
  return m;
}

static void assert_text(const hsc_sampling *s, const char *part) {
  hsc_bytes text = {0};
  hsc_sampling_text(s, false, &text);
  if (!strstr(hsc_bytes_text(&text), part))
    fail_msg("'%s' is not in '%s'", part, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

static void test_a_quiet_machine_ends_by_width(void **state) {
  machine m = quiet();
  hsc_sampling s = plan(&(hsc_sampling_options){.half_width = 0.02, .budget_s = 10}, 1e-3);
  measure(&m, &s);
  assert_true(s.has_pilot && s.pilot_lower == 5 && s.pilot_upper == 3);
  assert_int_equal(s.stop, HSC_STOP_WIDTH);
  assert_true(s.half_width <= 0.02 && s.more == 0 && s.spent_s < 1 && s.upper_count >= 10);
  assert_true(s.interval.low < 1e-3 && s.interval.high > 1e-3);
  assert_text(&s, " runs; ended");
  assert_text(&s, "ended: the interval is narrow enough; interval +-");
  hsc_sampling_deinit(&s);
}

static void test_a_wild_machine_ends_by_budget_and_says_how_many_more(void **state) {
  machine m = {1e-3, 1e-3, 0.3, 0.3, {{0}}};
  hsc_random_init(&m.random, 4);
  hsc_sampling s = plan(&(hsc_sampling_options){.half_width = 0.005, .budget_s = 0.25}, 1e-3);
  measure(&m, &s);
  assert_int_equal(s.stop, HSC_STOP_BUDGET);
  assert_true(s.spent_s >= 0.25 && s.spent_s < 0.35 && s.half_width > 0.005);
  assert_true(fabs(s.more - ceil((double)s.count * (pow(s.half_width / 0.005, 2) - 1))) < 0.5);
  assert_text(&s, "the time budget is spent (250 ms)");
  assert_text(&s, "more runs needed");
  hsc_sampling_deinit(&s);
}

// Where a block costs as much as a hundred runs and runs are what differs, blocks are long; where
// blocks differ, they are short.
static void test_the_pilot_spends_where_the_variance_is(void **state) {
  machine runs_differ = {1e-4, 1e-2, 0.05, 0.0001, {{0}}};
  machine blocks_differ = {1e-4, 1e-5, 0.001, 0.05, {{0}}};
  hsc_random_init(&runs_differ.random, 5);
  hsc_random_init(&blocks_differ.random, 6);
  hsc_sampling_options o = {
      .half_width = 0.01, .budget_s = 60, .pilot_lower = 20, .pilot_upper = 5};
  hsc_sampling a = plan(&o, 1e-4);
  hsc_sampling b = plan(&o, 1e-4);
  measure(&runs_differ, &a);
  measure(&blocks_differ, &b);
  assert_true(a.has_pilot && b.has_pilot);
  assert_true(a.chosen_lower >= 20 && b.chosen_lower <= 2);
  hsc_sampling_deinit(&a);
  hsc_sampling_deinit(&b);
}

static void test_slow_programs_get_no_pilot_and_three_runs(void **state) {
  machine m = {2, 0.01, 0.02, 0.01, {{0}}};
  hsc_random_init(&m.random, 7);
  hsc_sampling s = plan(&(hsc_sampling_options){.half_width = 0.02, .budget_s = 0.2}, 2);
  measure(&m, &s);
  assert_true(!s.has_pilot && s.count == 3 && s.upper_count == 3);
  assert_text(&s,
              "3 runs; the first one took too much of the time budget; ended: "
              "the time budget is spent (200 ms)");
  hsc_sampling_deinit(&s);
}

static void test_a_given_number_is_made_whatever_it_shows(void **state) {
  machine m = quiet();
  for (size_t exact = 1; exact < 60; exact += 7) {
    hsc_sampling s =
        plan(&(hsc_sampling_options){.exact = exact, .half_width = 0.02, .budget_s = 1e-9}, 1e-3);
    measure(&m, &s);
    assert_int_equal(s.count, exact);
    assert_text(&s, "ended: as many as were asked for");
    if (exact == 1)
      assert_true(isnan(s.half_width) && isnan(s.more));
    hsc_sampling_deinit(&s);
  }
}

static void test_bad_samples_end_nothing_by_width(void **state) {
  hsc_sampling s = plan(&(hsc_sampling_options){.half_width = 0.02, .budget_s = 1}, 1e-3);
  double bad[5] = {1e-3, NAN, 1e-3, INFINITY, 1e-3};
  while (hsc_sampling_next(&s))
    assert_ok(hsc_sampling_add(&s, bad, 5, 0.05));
  assert_int_equal(s.stop, HSC_STOP_BUDGET);
  assert_ok(hsc_sampling_finish(&s, 1));
  assert_text(&s, "; its samples cannot be used");
  hsc_status *status = hsc_sampling_add(&s, bad, 0, 0);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
  hsc_sampling_deinit(&s);
}

static void test_the_document_says_who_chose_what(void **state) {
  machine m = quiet();
  hsc_sampling s = plan(&(hsc_sampling_options){.half_width = 0.02, .budget_s = 10}, 1e-3);
  measure(&m, &s);
  json_t *document = hsc_sampling_json(&s);
  assert_int_equal(json_integer_value(json_object_get(
                       json_object_get(json_object_get(document, "pilot"), "made"), "run")),
                   5);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(document, "made"), "run")),
                   (long long)s.count);
  assert_string_equal(json_string_value(json_object_get(document, "ended_by")),
                      "the interval is narrow enough");
  json_decref(document);
  hsc_sampling_deinit(&s);
}

// What three wild blocks show is no interval, and nothing follows from its width.
static void test_too_few_blocks_give_no_interval(void **state) {
  (void)state;
  static const double slow[] = {0.06, 0.3, 0.05};
  static const double steps[] = {1e-3, 9e-3, 1e-3, 2e-3, 1e-3};
  hsc_sampling s = plan(&(hsc_sampling_options){.half_width = 0.02, .budget_s = 0.2}, 0.06);
  for (size_t i = 0; i < HSC_COUNT_OF(slow); i++)
    assert_ok(hsc_sampling_add(&s, &slow[i], 1, slow[i]));
  assert_int_equal(hsc_sampling_next(&s), 1);  // six of these take about a second
  hsc_sampling_end(&s, "an interrupt");
  assert_ok(hsc_sampling_finish(&s, 1));
  assert_true(s.interval.estimate == 0.06 && isnan(s.interval.low) && isnan(s.interval.high));
  assert_true(isnan(s.half_width) && isnan(s.more));
  assert_text(&s, "no interval from fewer than 6 blocks");
  hsc_sampling_deinit(&s);

  s = plan(&(hsc_sampling_options){.half_width = 0.02, .exact = 5}, 1e-3);
  assert_ok(hsc_sampling_add(&s, steps, 5, 0.02));  // in one block
  assert_ok(hsc_sampling_finish(&s, 1));
  assert_true(isnan(s.interval.low) && isnan(s.more));
  assert_text(&s, "no interval from fewer than 6 runs");
  hsc_sampling_deinit(&s);

  // An interval wider than the median holds no time below zero, and nothing is told of the rest.
  static const double wild[] = {0.01, 0.3, 0.02, 0.9, 0.01, 0.4};
  s = plan(&(hsc_sampling_options){.half_width = 0.02, .exact = 6}, 0.01);
  for (size_t i = 0; i < HSC_COUNT_OF(wild); i++)
    assert_ok(hsc_sampling_add(&s, &wild[i], 1, wild[i]));
  assert_ok(hsc_sampling_finish(&s, 1));
  assert_true(s.interval.low > 0 && s.interval.high > 0.3 && s.half_width > 1 && isnan(s.more));
  assert_text(&s, "the interval is wider than the median");
  hsc_sampling_deinit(&s);

  // An hour a run: three, whatever the budget says, and no more.
  s = plan(&(hsc_sampling_options){.half_width = 0.02, .budget_s = 0.2}, 3600);
  for (size_t n = 0; hsc_sampling_next(&s); n++) {
    assert_true(n < 3);
    assert_ok(hsc_sampling_add(&s, &(double){3600}, 1, 3600));
  }
  assert_ok(hsc_sampling_finish(&s, 1));
  assert_int_equal(s.upper_count, 3);
  assert_true(isnan(s.interval.low) && isnan(s.more));
  hsc_sampling_deinit(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_quiet_machine_ends_by_width),
      cmocka_unit_test(test_a_wild_machine_ends_by_budget_and_says_how_many_more),
      cmocka_unit_test(test_the_pilot_spends_where_the_variance_is),
      cmocka_unit_test(test_slow_programs_get_no_pilot_and_three_runs),
      cmocka_unit_test(test_a_given_number_is_made_whatever_it_shows),
      cmocka_unit_test(test_bad_samples_end_nothing_by_width),
      cmocka_unit_test(test_the_document_says_who_chose_what),
      cmocka_unit_test(test_too_few_blocks_give_no_interval),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
