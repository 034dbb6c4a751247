// test_growth.c - exponents from samples of a known law.
#include <math.h>

#include "base/core/random.h"
#include "lab/probe/growth_internal.h"
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

// A device of which the memory of a program is power * size^law + rest.
typedef struct device {
  double law, scale, rest;
  double capacity;
  int64_t step;        // the program takes multiples of it
  double silent_from;  // no answer from this size on; 0 = always one
  bool refuses;        // it does not say how much is missing
} device;

static double need_at(const device *d, double size) {
  return d->scale * pow(size, d->law) + d->rest;
}

static hsc_status *ask_device(void *user, double low, double size, hsc_growth_sample *out_seen) {
  const device *d = user;
  double taken = floor(size / (double)d->step) * (double)d->step;
  *out_seen = (hsc_growth_sample){0};
  if (!(taken > low))
    return NULL;
  double need = need_at(d, taken);
  bool silent = d->silent_from > 0 && taken >= d->silent_from;
  if (d->refuses && need > d->capacity)
    need = INFINITY;
  *out_seen = (hsc_growth_sample){taken, silent ? 0 : need};
  return NULL;
}

static void the_largest_size_that_fits_is_found(void **state) {
  const device devices[] = {
      {1, 1e6, 0, 80e9, 1, 0, false},     {1, 1e6, 3e9, 80e9, 1, 0, false},
      {2, 128, 7e8, 80e9, 1, 0, false},   {2, 128, 7e8, 80e9, 8, 0, false},
      {1.5, 1e4, 0, 16e9, 128, 0, false}, {2, 128, 7e8, 80e9, 2, 4e4, false},
      {1, 1e6, 0, 16e9, 1, 0, true},      {2, 128, 7e8, 80e9, 2, 0, true},
      {3, 2, 1e6, 16e9, 1, 0, false},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(devices); i++) {
    device d = devices[i];
    double step = (double)d.step;
    hsc_growth_sample seen[] = {{step, need_at(&d, step)}, {4 * step, need_at(&d, 4 * step)}};
    hsc__growth_limit found;
    EXPECT_OK(hsc__growth_find_limit(seen, 2, d.capacity, ask_device, &d, &found));
    assert_true(need_at(&d, found.fits) <= d.capacity);
    assert_true(need_at(&d, found.lacks) > d.capacity);
    if (found.lacks - found.fits != step)
      fail_msg("device %zu: %.0f fits, %.0f does not, after %d compiles", i, found.fits,
               found.lacks, found.compiles);
    assert_true(found.compiles <= 24);
  }
}

// Where nothing can be asked, the sizes that were measured are the answer.
static void measured_sizes_say_what_they_can(void **state) {
  const hsc_growth_sample needs[] = {{10, 1e9}, {20, 2e9}, {40, 4e9}};
  hsc__growth_limit found;
  EXPECT_OK(hsc__growth_find_limit(needs, 3, 3e9, NULL, NULL, &found));
  assert_true(found.fits == 20 && found.lacks == 40 && found.lacks_need == 4e9);
  EXPECT_OK(hsc__growth_find_limit(needs, 3, 9e9, NULL, NULL, &found));
  assert_true(found.fits == 40 && found.lacks == 0);
  EXPECT_OK(hsc__growth_find_limit(needs, 3, 5e8, NULL, NULL, &found));
  assert_true(found.fits == 0 && found.lacks == 10);
}

static void a_bend_is_found_and_noise_is_none(void **state) {
  enum { COUNT = 5 * 5 };
  static const double sizes[] = {100, 200, 400, 800, 1600};
  int bends = 0;
  for (uint64_t seed = 0; seed < 100; seed++) {
    hsc_growth_sample straight[COUNT], bent[COUNT];
    hsc_random random;
    hsc_random_init(&random, seed);
    for (int i = 0; i < COUNT; i++) {
      double size = sizes[i % 5];
      double noise = 1 + 0.05 * hsc_random_double(&random);
      straight[i] = (hsc_growth_sample){size, size * noise};
      bent[i] = (hsc_growth_sample){size, (size <= 400 ? size : size * size / 400) * noise};
    }
    hsc__growth_bend bend;
    bends += hsc__growth_find_bend(straight, COUNT, sizes, 5, &bend);
    assert_true(hsc__growth_find_bend(bent, COUNT, sizes, 5, &bend));
    assert_true(bend.size == 400 && bend.before.estimate < 1.3 && bend.after.estimate > 1.7);
  }
  assert_true(bends == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exponent_within_a_tenth),
      cmocka_unit_test(exact_counts_have_their_slopes),
      cmocka_unit_test(nothing_measured_has_no_exponent),
      cmocka_unit_test(the_largest_size_that_fits_is_found),
      cmocka_unit_test(measured_sizes_say_what_they_can),
      cmocka_unit_test(a_bend_is_found_and_noise_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
