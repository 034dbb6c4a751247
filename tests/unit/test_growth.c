// test_growth.c - exponents from samples of a known law.
#include <math.h>

#include "base/core/random.h"
#include "lab/probe/growth.h"
#include "unit.h"

enum { SIZES = 3, ROUNDS = 5 };

// A power of the size, with noise that only adds, as others on a machine do.
static void sample(double exponent, double noise, uint64_t seed, hsc_growth_sample *out) {
  hsc_random random;
  hsc_random_init(&random, seed);
  for (int i = 0; i < SIZES * ROUNDS; i++) {
    double size = 1000 * (1 << (i % SIZES));
    double more = noise * hsc_random_double(&random);
    out[i] = (hsc_growth_sample){size, 1e-6 * pow(size, exponent) * (1 + more)};
  }
}

static void exponent_within_a_tenth(void **state) {
  (void)state;
  static const double laws[] = {0, 0.5, 1, 1.91, 3};
  for (size_t law = 0; law < HSC_COUNT_OF(laws); law++) {
    int covered = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
      hsc_growth_sample samples[SIZES * ROUNDS];
      hsc_interval e;
      sample(laws[law], 0.15, seed, samples);
      assert_true(hsc_growth_fit(samples, HSC_COUNT_OF(samples), false, &e));
      assert_true(fabs(e.estimate - laws[law]) < 0.1);
      covered += e.low <= laws[law] && laws[law] <= e.high;
    }
    assert_true(covered >= 180);  // 95 % of 200, less four standard deviations
  }
}

static void exact_counts_have_their_slopes(void **state) {
  (void)state;
  const hsc_growth_sample bent[] = {{1, 1}, {2, 2}, {4, 8}};
  hsc_interval e;
  assert_true(hsc_growth_fit(bent, 3, true, &e));
  assert_true(fabs(e.low - 1) < 1e-12 && fabs(e.high - 2) < 1e-12);
  assert_true(fabs(e.estimate - 1.5) < 1e-12);
}

static void nothing_measured_has_no_exponent(void **state) {
  (void)state;
  const hsc_growth_sample zero[] = {{1, 0}, {2, 0}, {4, 0}};
  const hsc_growth_sample one_size[] = {{2, 1}, {2, 1}, {2, 2}};
  hsc_interval e;
  assert_false(hsc_growth_fit(zero, 3, false, &e));
  assert_false(hsc_growth_fit(zero, 3, true, &e));
  assert_false(hsc_growth_fit(one_size, 3, false, &e));
  assert_true(isnan(e.estimate));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exponent_within_a_tenth),
      cmocka_unit_test(exact_counts_have_their_slopes),
      cmocka_unit_test(nothing_measured_has_no_exponent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
