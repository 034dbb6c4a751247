// Effects of interleaved blocks: known values, bad input, and simulations with known truth:
// identical variants come out as "same", a slowdown of 3 % is found, false discoveries are held.
#include "base/core/memory.h"
#include "base/core/random.h"
#include "stats/stats_interleaved.h"
#include "unit.h"

#include <math.h>

enum {
  PROCESSES = HSC_LEAST_PROCESSES,
  BLOCKS = 8,
  N = PROCESSES * BLOCKS,
  ITERATIONS = 5,
  PLACEBOS = 5,
  VARIANTS = 12,
  RUNS = 100
};
static const size_t sizes[PROCESSES] = {BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS};

// What was seen on shared machines: the level of a block drifts by a fifth, one iteration by some
// percent, now and then one is far off, and a compile keeps a small offset of its own over its
// process.
typedef struct noise {
  double drift, iteration, outlier_share, process;
} noise;
static const noise usual = {0.2, 0.01, 0.03, 0.0008};

static void simulate(
    hsc_random *random, const noise *n, const double *truth, int count, double out[][N]) {
  for (int p = 0; p < PROCESSES; p++) {
    double offset[64];
    for (int v = 0; v < count; v++)
      offset[v] = n->process * hsc_random_normal(random);
    for (int b = 0; b < BLOCKS; b++) {
      double level = exp(n->drift * hsc_random_normal(random));
      for (int v = 0; v < count; v++) {
        double x[ITERATIONS];
        for (int i = 0; i < ITERATIONS; i++) {
          x[i] = 1e6 * truth[v] * level * exp(offset[v] + n->iteration * hsc_random_normal(random));
          if (hsc_random_double(random) < n->outlier_share)
            x[i] *= 1 + 4 * hsc_random_double(random);
        }
        out[v][p * BLOCKS + b] = hsc_stats_median(x, ITERATIONS);
      }
    }
  }
}

static void effects_of(double data[][N], int from, int to, uint64_t seed, hsc_effect *out) {
  for (int v = from; v < to; v++) {
    hsc_paired paired = {data[v], data[0], sizes, PROCESSES};
    EXPECT_OK(hsc_stats_paired_effect(
        &paired, &(hsc_interval_options){.resample_count = 400, .seed = seed + (uint64_t)v},
        &out[v - from]));
  }
}

// One experiment: baseline, placebos, variants of which the first `slow` are slower by `by`.
static void experiment(
    uint64_t seed, const noise *n, int slow, double by, hsc_effect variants[VARIANTS]) {
  double truth[1 + PLACEBOS + VARIANTS], data[1 + PLACEBOS + VARIANTS][N];
  hsc_effect placebos[PLACEBOS];
  hsc_random random;
  hsc_random_init(&random, seed);
  for (int v = 0; v < 1 + PLACEBOS + VARIANTS; v++)
    truth[v] = v > PLACEBOS && v <= PLACEBOS + slow ? by : 1;
  simulate(&random, n, truth, 1 + PLACEBOS + VARIANTS, data);
  effects_of(data, 1, 1 + PLACEBOS, seed, placebos);
  effects_of(data, 1 + PLACEBOS, 1 + PLACEBOS + VARIANTS, seed, variants);
  hsc_stats_judge(variants, VARIANTS, placebos, PLACEBOS, NULL);
}

static void test_identical_variants_are_the_same(void **state) {
  hsc_effect e[VARIANTS];
  int same = 0;
  int wrong = 0;
  for (int run = 0; run < RUNS; run++) {
    experiment(1000 + (uint64_t)run, &usual, 0, 1, e);
    same += e[0].verdict == HSC_VERDICT_SAME;
    for (int v = 0; v < VARIANTS; v++)
      wrong += e[v].verdict == HSC_VERDICT_FASTER || e[v].verdict == HSC_VERDICT_SLOWER ||
               e[v].highlight;
  }
  print_message("identical: same in %d of %d runs; %d of %d called different\n", same, RUNS, wrong,
                RUNS * VARIANTS);
  assert_true(same >= 95);
  assert_true(wrong <= 2);
}

static void test_a_slowdown_of_three_percent_is_found(void **state) {
  hsc_effect e[VARIANTS];
  int found = 0;
  int marked = 0;
  for (int run = 0; run < RUNS; run++) {
    experiment(5000 + (uint64_t)run, &usual, 1, 1.03, e);
    found += e[0].verdict == HSC_VERDICT_SLOWER;
    marked += e[0].highlight == 1;
    assert_true(e[0].ratio.estimate > 1.01 && e[0].ratio.estimate < 1.05);
  }
  print_message("3 %% slower: found in %d of %d runs\n", found, RUNS);
  assert_true(found >= 99);
  assert_int_equal(found, marked);
}

// A machine on which nothing fine can be reported: it must say so instead of guessing.
static void test_a_noisy_machine_cannot_tell(void **state) {
  static const noise bad = {0.4, 0.3, 0.2, 0.03};
  hsc_effect e[VARIANTS];
  int wrong = 0;
  int claims = 0;
  for (int run = 0; run < RUNS; run++) {
    experiment(9000 + (uint64_t)run, &bad, 0, 1, e);
    for (int v = 0; v < VARIANTS; v++) {
      wrong += e[v].verdict == HSC_VERDICT_FASTER || e[v].verdict == HSC_VERDICT_SLOWER;
      claims += e[v].verdict == HSC_VERDICT_SAME;
    }
  }
  print_message("noisy machine: %d of %d called different, %d the same\n", wrong, RUNS * VARIANTS,
                claims);
  assert_true(wrong <= RUNS * VARIANTS / 100);
  assert_true(claims <= RUNS * VARIANTS / 100);
}

static void test_intervals_cover_the_truth(void **state) {
  hsc_effect e[VARIANTS];
  int covered = 0;
  for (int run = 0; run < RUNS; run++) {
    experiment(7000 + (uint64_t)run, &usual, VARIANTS, 1.02, e);
    for (int v = 0; v < VARIANTS; v++)
      covered += e[v].ratio.low <= 1.02 && e[v].ratio.high >= 1.02;
  }
  double share = (double)covered / (RUNS * VARIANTS);
  print_message("coverage of the 95 %% interval: %.3f\n", share);
  assert_true(share >= 0.93 && share <= 0.99);
}

// Values of scipy.stats.false_discovery_control(p, method='bh').
static void test_benjamini_hochberg(void **state) {
  static const double p[] = {0.01, 0.02, 0.03, 0.04, 0.5, 0.001};
  static const double want[] = {0.03, 0.04, 0.045, 0.048, 0.5, 0.006};
  double q[6], with_nan[3];
  hsc_stats_benjamini_hochberg(p, 6, q);
  for (int i = 0; i < 6; i++)
    assert_true(fabs(q[i] - want[i]) < 1e-12);
  hsc_stats_benjamini_hochberg((double[]){0.2, NAN, 0.01}, 3, with_nan);
  assert_true(fabs(with_nan[0] - 0.2) < 1e-12 && isnan(with_nan[1]) &&
              fabs(with_nan[2] - 0.02) < 1e-12);
  // Against its definition, with ties; and 100,000 at once.
  enum { SOME = 200, MANY = 100000 };
  double some[SOME], got[SOME];
  hsc_random random;
  hsc_random_init(&random, 5);
  for (int i = 0; i < SOME; i++)
    some[i] = i % 17 == 3 ? NAN : (double)hsc_random_below(&random, 50) / 50;
  hsc_stats_benjamini_hochberg(some, SOME, got);
  for (int i = 0; i < SOME; i++) {
    double wanted = 1;
    double known = 0;
    for (int j = 0; j < SOME; j++)
      known += !isnan(some[j]);
    for (int j = 0; j < SOME; j++) {
      double rank = 0;
      for (int k = 0; k < SOME; k++)
        rank += some[k] <= some[j];
      if (some[j] >= some[i])
        wanted = fmin(wanted, some[j] * known / rank);
    }
    if (isnan(some[i]))
      assert_true(isnan(got[i]));
    else
      assert_true(fabs(got[i] - wanted) < 1e-12);
  }
  double *many = hsc_alloc(2 * MANY * sizeof(double));
  for (int i = 0; i < MANY; i++)
    many[i] = hsc_random_double(&random);
  int64_t start = cpu_ns();
  hsc_stats_benjamini_hochberg(many, MANY, many + MANY);
  assert_true(cpu_ns() - start < 2000000000LL);
  hsc_free(many);
}

static void test_bad_input(void **state) {
  hsc_effect e;
  double one[] = {2};
  double base[] = {1};
  double nan[] = {NAN};
  size_t size = 1;
  EXPECT_CODE(INVALID_ARGUMENT,
              hsc_stats_paired_effect(&(hsc_paired){nan, base, &size, 1}, NULL, &e));
  EXPECT_OK(hsc_stats_paired_effect(&(hsc_paired){one, base, &size, 1}, NULL, &e));
  assert_true(e.ratio.estimate == 2 && isnan(e.ratio.low) && isnan(e.standard_error));
  hsc_stats_judge(&e, 1, NULL, 0, NULL);
  assert_int_equal(e.verdict, HSC_VERDICT_CANNOT_TELL);
  EXPECT_CODE(INVALID_ARGUMENT,
              hsc_stats_paired_effect(&(hsc_paired){one, base, &size, 1},
                                      &(hsc_interval_options){.confidence = 2}, &e));
}

// Equal numbers in all blocks: no spread, and no division by it.
static void test_no_noise(void **state) {
  double v[N], b[N];
  for (int i = 0; i < N; i++) {
    v[i] = 1.1;
    b[i] = 1;
  }
  hsc_effect e, placebo;
  EXPECT_OK(hsc_stats_paired_effect(&(hsc_paired){v, b, sizes, PROCESSES}, NULL, &e));
  EXPECT_OK(hsc_stats_paired_effect(&(hsc_paired){b, b, sizes, PROCESSES}, NULL, &placebo));
  hsc_stats_judge(&e, 1, &placebo, 1, NULL);
  assert_int_equal(e.verdict, HSC_VERDICT_SLOWER);
  assert_true(e.highlight == 5);
  // thresholds of one's own
  hsc_stats_judge(&e, 1, &placebo, 1,
                  &(hsc_judge_options){.highlight_low = 0.025, .highlight_high = 0.2});
  assert_true(e.highlight == 2.5);
  hsc_stats_judge(&e, 1, &e, 1, NULL);  // a placebo with the same effect: nothing is claimed
  assert_int_equal(e.verdict, HSC_VERDICT_CANNOT_TELL);
  assert_true(e.highlight == 0);
  hsc_stats_judge(&placebo, 1, &placebo, 1, NULL);
  assert_int_equal(placebo.verdict, HSC_VERDICT_SAME);
}

// Processes in which the variant takes `level` times as long, give or take 12 %.
static void noisy(double *v, double *b, double level) {
  static const double of[PROCESSES] = {-0.12, -0.06, -0.02, 0.02, 0.06, 0.12};
  for (int i = 0; i < N; i++) {
    b[i] = 1;
    v[i] = level * exp(of[i / BLOCKS]);
  }
}

// A placebo is the same program: where one is as far off as the low end of an effect's interval,
// that effect may be chance too, whatever its interval says of 1.
static void test_what_a_placebo_reaches_is_no_finding(void **state) {
  double v[N], w[N], b[N];
  hsc_effect e, placebo;
  noisy(v, b, 1.15);
  noisy(w, b, 1.10);
  EXPECT_OK(hsc_stats_paired_effect(&(hsc_paired){v, b, sizes, PROCESSES}, NULL, &e));
  EXPECT_OK(hsc_stats_paired_effect(&(hsc_paired){w, b, sizes, PROCESSES}, NULL, &placebo));
  assert_true(e.ratio.low > 1.01 && e.ratio.low < placebo.ratio.estimate);
  placebo.process_square_sum = 0;  // so that q alone would find it
  hsc_stats_judge(&e, 1, &placebo, 1, NULL);
  assert_true(e.q_value <= 0.05 && e.placebos_beaten == 1);
  assert_int_equal(e.verdict, HSC_VERDICT_CANNOT_TELL);
  placebo.log_effect = 0;
  hsc_stats_judge(&e, 1, &placebo, 1, NULL);
  assert_int_equal(e.verdict, HSC_VERDICT_SLOWER);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_identical_variants_are_the_same),
                                     cmocka_unit_test(test_a_slowdown_of_three_percent_is_found),
                                     cmocka_unit_test(test_a_noisy_machine_cannot_tell),
                                     cmocka_unit_test(test_intervals_cover_the_truth),
                                     cmocka_unit_test(test_benjamini_hochberg),
                                     cmocka_unit_test(test_bad_input),
                                     cmocka_unit_test(test_no_noise),
                                     cmocka_unit_test(test_what_a_placebo_reaches_is_no_finding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
