// test_stats_design.c - pilots, orders, stopping rules and break-even points against values worked
// out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/core/random.h"
#include "stats/stats_design.h"

static void assert_ok(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

static void test_pilot_spends_where_the_variance_is(void **state) {
  // 12 processes of 20 iterations: processes differ by 4 %, iterations by 1 %; a process costs 100
  // iterations.
  hsc_random random;
  hsc_random_init(&random, 1);
  double samples[240];
  for (int p = 0; p < 12; p++) {
    double offset = 4 * hsc_random_normal(&random);
    for (int i = 0; i < 20; i++)
      samples[20 * p + i] = 100 + offset + hsc_random_normal(&random);
  }
  hsc_pilot pilot = {.level_count = 2, .counts = {20, 12}, .cost = {0.01, 1}, .samples = samples};
  hsc_design d;
  assert_ok(hsc_stats_pilot(&pilot, 0.02, 0, &d));
  assert_true(fabs(d.mean - 100) < 4 && d.variance[0] > 0.7 && d.variance[0] < 1.3 &&
              d.variance[1] > 5 && d.variance[1] < 40);
  // r = ceil(sqrt(1 / 0.01 * T0^2 / T1^2)): a handful of iterations, the rest in more processes
  assert_int_equal(d.counts[0], (size_t)ceil(sqrt(100 * d.variance[0] / d.variance[1])));
  assert_true(d.counts[1] > 6 && d.half_width <= 0.02);
  assert_true(fabs(d.seconds - (double)d.counts[1] * (1 + 0.01 * (double)d.counts[0])) < 1e-9);
  assert_ok(hsc_stats_pilot(&pilot, 0.0001, 10, &d));
  assert_string_equal(d.note, "the budget ends it first");
  assert_true(d.seconds <= 10 && d.half_width > 0.0001);
  pilot.counts[1] = 1;
  hsc_status *status = hsc_stats_pilot(&pilot, 0.02, 0, &d);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
  pilot.counts[1] = 12;
  samples[3] = NAN;
  status = hsc_stats_pilot(&pilot, 0.02, 0, &d);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
}

static void test_blocks_hold_every_variant_once(void **state) {
  size_t order[5 * 400];
  size_t first[5] = {0};
  hsc_stats_interleave(5, 400, 9, order);
  for (int b = 0; b < 400; b++) {
    int seen = 0;
    for (int i = 0; i < 5; i++)
      seen |= 1 << order[5 * b + i];
    assert_int_equal(seen, 31);
    first[order[5 * b]]++;
  }
  // 80 +- 3.75 standard deviations
  for (int v = 0; v < 5; v++)
    assert_in_range(first[v], 50, 110);
  size_t again[5 * 400];
  hsc_stats_interleave(5, 400, 9, again);
  assert_memory_equal(order, again, sizeof order);
}

static void test_stopping_names_what_ended_it(void **state) {
  double quiet[200], wild[200];
  for (int i = 0; i < 200; i++) {
    quiet[i] = 100 + 0.1 * (i % 5);
    wild[i] = i % 2 ? 1 : 100;
  }
  hsc_stopping rule = {.half_width = 0.01, .budget_seconds = 5, .most = 150};
  assert_int_equal(hsc_stats_stop(&rule, quiet, 9, 0), HSC_STOP_GO_ON);  // fewer than the least
  assert_int_equal(hsc_stats_stop(&rule, quiet, 10, 0), HSC_STOP_WIDTH);
  double late[11] = {1, 100, 1, 100, 1, 100, 100, 100, 100, 100, 100};
  // its first two thirds were not narrow
  assert_int_equal(hsc_stats_stop(&rule, late, 11, 0), HSC_STOP_GO_ON);
  assert_int_equal(hsc_stats_stop(&rule, wild, 11, 1), HSC_STOP_GO_ON);
  assert_int_equal(hsc_stats_stop(&rule, wild, 90, 5.1), HSC_STOP_BUDGET);
  assert_int_equal(hsc_stats_stop(&rule, wild, 150, 1), HSC_STOP_MOST);
  wild[4] = NAN;
  assert_int_equal(hsc_stats_stop(&rule, wild, 11, 1), HSC_STOP_GO_ON);
  assert_string_equal(hsc_stop_text(HSC_STOP_BUDGET), "the time budget is spent");
}

static void test_a_bad_machine_forbids_fine_claims(void **state) {
  assert_true(hsc_stats_grade_margin("A", 0) == 0.01 && hsc_stats_grade_margin("D", 0.01) == 0.05 &&
              hsc_stats_grade_margin("D", 0.2) == 0.2);
  assert_true(hsc_stats_grade_margin(NULL, 0.02) == 0.02 && hsc_stats_grade_margin("?", 0) == 0.01);
}

static void test_dominance(void **state) {
  assert_true(fabs(hsc_stats_dominance(9, 1, 1) - 0.9) < 1e-15 &&
              hsc_stats_dominance(9, 1, 0) == 1 && isnan(hsc_stats_dominance(1, 0, 5)) &&
              isnan(hsc_stats_dominance(-1, 1, 5)));
  hsc_interval c = {1, 0.9, 1.1};
  hsc_interval e = {0.01, 0.009, 0.011};
  hsc_interval half = hsc_stats_break_even(c, e, 0.5);
  hsc_interval tenth = hsc_stats_break_even(c, e, 0.1);
  assert_true(half.estimate == 100 && half.low == 82 && half.high == 123 && tenth.estimate == 900);
  assert_true(hsc_stats_dominance(1, 0.01, half.estimate) <= 0.5 &&
              isnan(hsc_stats_break_even(c, e, 1).estimate));
  // vmap compiles longer and runs shorter: from 200 runs on it is the better one.
  hsc_interval c2 = {2, 1.98, 2.02};
  hsc_interval e2 = {0.005, 0.0049, 0.0051};
  hsc_interval n = hsc_stats_crossing((hsc_interval){1, 0.99, 1.01},
                                      (hsc_interval){0.01, 0.0099, 0.0101}, c2, e2, 3);
  assert_true(fabs(n.estimate - 200) < 1e-9 && n.low > 180 && n.low < 200 && n.high > 200 &&
              n.high < 220);
  assert_true(isnan(hsc_stats_crossing(c, e2, c2, e, 3).estimate));  // slower in both: never
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pilot_spends_where_the_variance_is),
      cmocka_unit_test(test_blocks_hold_every_variant_once),
      cmocka_unit_test(test_stopping_names_what_ended_it),
      cmocka_unit_test(test_a_bad_machine_forbids_fine_claims),
      cmocka_unit_test(test_dominance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
