// test_stats.c - statistics against values computed with numpy 2.4 and SciPy 1.17, and properties
// that must hold.
#include <math.h>

#include "unit.h"
#include "base/core/memory.h"
#include "base/core/random.h"
#include "stats/stats.h"

static const double A[] = {13.030, 0.346, 0.305, 0.300, 0.219, 0.251, 0.473, 0.391, 0.397, 0.431};
static const double B[] = {0.590, 0.523, 0.550, 0.608, 0.614, 0.473, 0.512, 0.577, 0.601};
static const double E[] = {0.3, 0.1, 2.2, 0.7, 0.5,  4.1, 0.2,  1.3,  0.9, 0.6,
                           1.7, 0.4, 3.0, 0.8, 0.05, 1.1, 0.25, 0.35, 2.6, 0.15};
#define N(array) HSC_COUNT_OF(array)
#define ASSERT_NEAR(value, expected, relative) \
  assert_near((value), (expected), (relative), __FILE__, __LINE__)

static void assert_near(
    double value, double expected, double relative, const char *file, int line) {
  if (fabs(value - expected) <= relative * fmax(1e-300, fabs(expected)))
    return;
  print_error("%.17g is not %.17g within %g\n", value, expected, relative);
  _fail(file, line);
}

static void assert_ok(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

static void test_location_matches_numpy(void **state) {
  ASSERT_NEAR(hsc_stats_mean(A, N(A)), 1.6143, 1e-14);
  ASSERT_NEAR(hsc_stats_sd(A, N(A)), 4.0118565680021785, 1e-13);
  ASSERT_NEAR(hsc_stats_median(A, N(A)), 0.3685, 1e-14);
  ASSERT_NEAR(hsc_stats_mad(A, N(A)), 0.09785174642136973, 1e-12);
  static const double q[][2] = {
      {0, 0.219}, {.1, 0.2478}, {.25, 0.30125}, {.5, 0.3685}, {.9, 1.7286999999999955}, {1, 13.03}};
  for (size_t i = 0; i < N(q); i++)
    ASSERT_NEAR(hsc_stats_quantile(A, N(A), q[i][0]), q[i][1], 1e-13);
  ASSERT_NEAR(hsc_stats_quantile_hd(A, N(A), .25), 0.28619173539874526, 1e-10);
  ASSERT_NEAR(hsc_stats_quantile_hd(A, N(A), .5), 0.368392523061577, 1e-10);
  ASSERT_NEAR(hsc_stats_quantile_hd(A, N(A), .9), 8.093691672346834, 1e-10);
  assert_true(hsc_stats_min(A, N(A)) == 0.219 && hsc_stats_max(A, N(A)) == 13.030);
}

static void test_bad_input_gives_nan(void **state) {
  double with_nan[] = {1, NAN, 3};
  assert_true(isnan(hsc_stats_mean(NULL, 0)) && isnan(hsc_stats_median(NULL, 0)) &&
              isnan(hsc_stats_min(NULL, 0)));
  assert_true(isnan(hsc_stats_median(with_nan, 3)) && isnan(hsc_stats_max(with_nan, 3)) &&
              isnan(hsc_stats_mad(with_nan, 3)));
  assert_true(isnan(hsc_stats_quantile(A, N(A), 1.5)) && isnan(hsc_stats_quantile_hd(A, N(A), 0)));
  assert_true(isnan(hsc_stats_sd(A, 1)) && isnan(hsc_stats_mann_whitney(A, 0, B, 3, NULL)) &&
              isnan(hsc_stats_cliffs_delta(with_nan, 3, B, 2)));
  hsc_summary s;
  double odd[] = {2, INFINITY, 1, NAN, 3};
  assert_ok(hsc_stats_summarize(odd, N(odd), NULL, &s));
  assert_int_equal(s.count, 3);
  assert_int_equal(s.nonfinite_count, 2);
  ASSERT_NEAR(s.median, 2, 0);
  assert_ok(hsc_stats_summarize(NULL, 0, NULL, &s));
  assert_true(s.count == 0 && isnan(s.median));
  hsc_status *status = hsc_stats_summarize(A, N(A), &(hsc_interval_options){.confidence = 95}, &s);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
}

static void test_distributions_match_scipy(void **state) {
  static const double t[][3] = {{.975, 1, 12.706204736174694},
                                {.975, 3, 3.1824463052837078},
                                {.95, 12.5, 1.7763662212470306},
                                {.995, 100, 2.6258905214380173},
                                {.6, 2, 0.2886751345948128}};
  for (size_t i = 0; i < N(t); i++)
    ASSERT_NEAR(hsc_stats_t_quantile(t[i][0], t[i][1]), t[i][2], 1e-10);
  ASSERT_NEAR(hsc_stats_t_cdf(-1.7, 5), 0.074938393424162, 1e-12);
  static const double z[][2] = {{1e-10, -6.361340902404056},
                                {.025, -1.9599639845400545},
                                {.2, -0.8416212335729142},
                                {.9, 1.2815515655446004},
                                {.999, 3.090232306167813}};
  for (size_t i = 0; i < N(z); i++)
    ASSERT_NEAR(hsc_stats_normal_quantile(z[i][0]), z[i][1], 1e-10);
  ASSERT_NEAR(hsc_stats_normal_cdf(1.3), 0.9031995154143897, 1e-13);
  static const double beta[][4] = {{.4, 2, 3, 0.5247999999999999},
                                   {.1, .5, .5, 0.20483276469913345},
                                   {.45, 50, 80, 0.9355332910102223},
                                   {.99, 1000, 10, 0.44604227084550874}};
  for (size_t i = 0; i < N(beta); i++)
    ASSERT_NEAR(hsc_stats_beta_cdf(beta[i][0], beta[i][1], beta[i][2]), beta[i][3], 1e-10);
}

static void test_comparison_matches_scipy(void **state) {
  double u;
  ASSERT_NEAR(hsc_stats_mann_whitney(A, N(A), B, N(B), &u), 0.004249891643122786,
              1e-9);  // one tie: normal approximation
  ASSERT_NEAR(u, 9.5, 0);
  ASSERT_NEAR(hsc_stats_mann_whitney(A, 6, B, 5, &u), 0.08225108225108226, 1e-12);
  ASSERT_NEAR(u, 5, 0);
  double x[12];
  double y[] = {5.05, 6.2, -1, 8.3};
  for (int i = 0; i < 12; i++)
    x[i] = i * 1.1;
  ASSERT_NEAR(hsc_stats_mann_whitney(x, 12, y, 4, &u), 0.5989010989010988, 1e-12);
  double p[] = {1, 2, 2, 3, 4, 5, 5, 5, 6, 7};
  double q[] = {2, 3, 5, 5, 6, 8, 8, 9, 10, 11, 12};
  ASSERT_NEAR(hsc_stats_mann_whitney(p, N(p), q, N(q), &u), 0.025229689908452892, 1e-9);
  ASSERT_NEAR(u, 23, 0);
  ASSERT_NEAR(hsc_stats_cliffs_delta(p, N(p), q, N(q)), -0.5818181818181818, 1e-12);
  ASSERT_NEAR(hsc_stats_hodges_lehmann(p, N(p), q, N(q)), -3, 1e-12);
  ASSERT_NEAR(hsc_stats_hodges_lehmann(A, N(A), B, N(B)), -0.204, 1e-12);
  assert_string_equal(hsc_stats_cliffs_word(-0.58), "large");
  assert_string_equal(hsc_stats_cliffs_word(0.1), "negligible");
}

static void test_bootstrap_matches_scipy(void **state) {
  // SciPy's BCa with 200,000 resamples; the resamples differ, so the ends agree to the width of a
  // resample's noise.
  hsc_interval i;
  hsc_interval_options o = {.resample_count = 100000, .seed = 7};
  assert_ok(hsc_stats_bootstrap(hsc_stats_median, E, N(E), &o, &i));
  ASSERT_NEAR(i.low, 0.325, 0.01);
  ASSERT_NEAR(i.high, 1.2, 0.01);
  assert_ok(hsc_stats_bootstrap(hsc_stats_mean, E, N(E), &o, &i));
  ASSERT_NEAR(i.low, 0.679, 0.01);
  ASSERT_NEAR(i.high, 1.667, 0.01);
  assert_ok(hsc_stats_bootstrap(hsc_stats_sd, E, N(E), &o, &i));
  ASSERT_NEAR(i.low, 0.756, 0.015);
  ASSERT_NEAR(i.high, 1.624, 0.015);
  hsc_interval again;
  assert_ok(hsc_stats_bootstrap(hsc_stats_sd, E, N(E), &o, &again));
  assert_memory_equal(&i, &again, sizeof(i));  // the same seed gives the same interval
  assert_ok(hsc_stats_bootstrap(hsc_stats_median, A, 1, &o, &i));
  assert_true(i.estimate == A[0] && isnan(i.low) && isnan(i.high));
}

static void test_median_interval_covers_the_truth(void **state) {
  // 400 normal series of 25: a 95% interval must hold the true median about 380 times (binomial sd
  // 4.4).
  hsc_random random;
  hsc_random_init(&random, 11);
  int covered = 0;
  int blocks_covered = 0;
  for (int series = 0; series < 400; series++) {
    double x[25];
    for (int i = 0; i < 25; i++)
      x[i] = 10 + hsc_random_normal(&random);
    hsc_interval interval;
    assert_ok(hsc_stats_bootstrap(hsc_stats_median, x, 25,
                                  &(hsc_interval_options){.seed = (uint64_t)series}, &interval));
    covered += interval.low <= 10 && 10 <= interval.high;
    // Blocks that share an offset: an interval that ignores them would be far too narrow.
    double y[64];
    size_t sizes[16];
    for (int b = 0; b < 16; b++) {
      double offset = hsc_random_normal(&random);
      sizes[b] = 4;
      for (int k = 0; k < 4; k++)
        y[4 * b + k] = 10 + offset + 0.1 * hsc_random_normal(&random);
    }
    assert_ok(hsc_stats_bootstrap_blocks(
        hsc_stats_median, y, sizes, 16,
        &(hsc_interval_options){.seed = (uint64_t)series, .resample_count = 400}, &interval));
    blocks_covered += interval.low <= 10 && 10 <= interval.high;
  }
  assert_in_range(covered, 366, 396);
  assert_in_range(blocks_covered, 360, 398);
  size_t wrong[] = {3, 0};
  hsc_interval interval;
  hsc_status *status = hsc_stats_bootstrap_blocks(hsc_stats_median, A, wrong, 2, NULL, &interval);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
}

static void test_verdicts(void **state) {
  hsc_random random;
  hsc_random_init(&random, 3);
  double slow[40];
  double fast[40];
  double like[40];
  double wild[5] = {1, 9, 2, 30, 4};
  double wilder[5] = {2, 8, 1, 50, 3};
  for (int i = 0; i < 40; i++) {
    slow[i] = 120 + hsc_random_normal(&random);
    fast[i] = 100 + hsc_random_normal(&random);
    like[i] = 100 + 0.1 * hsc_random_normal(&random);
  }
  hsc_comparison c;
  assert_ok(hsc_stats_compare(fast, 40, slow, 40, 0, NULL, &c));
  assert_int_equal(c.verdict, HSC_VERDICT_FASTER);
  assert_true(c.ratio.low > 0.82 && c.ratio.high < 0.85 && c.p_value < 1e-10 && c.delta == -1);
  assert_ok(hsc_stats_compare(slow, 40, fast, 40, 0, NULL, &c));
  assert_int_equal(c.verdict, HSC_VERDICT_SLOWER);
  assert_ok(hsc_stats_compare(like, 40, fast, 40, 0.02, NULL, &c));
  assert_int_equal(c.verdict, HSC_VERDICT_SAME);
  assert_ok(hsc_stats_compare(wild, 5, wilder, 5, 0, NULL, &c));
  assert_int_equal(c.verdict, HSC_VERDICT_CANNOT_TELL);
  assert_ok(hsc_stats_compare(slow, 1, fast, 1, 0, NULL, &c));  // one sample a side proves nothing
  assert_int_equal(c.verdict, HSC_VERDICT_CANNOT_TELL);
}

static void test_fit_matches_numpy(void **state) {
  static const double k[] = {1, 1, 2, 2, 4, 4, 8, 8, 3, 6};
  static const double s[] = {1, 1, 1, 2, 1, 4, 1, 8, 3, 2};
  static const double y[] = {10.4, 10.6, 13.2, 13.9, 19.3, 21.1, 31.6, 35.4, 17.1, 26.0};
  double design[30], weights[10];
  for (int i = 0; i < 10; i++) {
    design[3 * i] = 1;
    design[3 * i + 1] = s[i];
    design[3 * i + 2] = k[i];
    weights[i] = 1 / (y[i] * y[i]);
  }
  hsc_fit f;
  assert_ok(hsc_stats_fit(design, y, NULL, 10, 3, 0.95, &f));
  static const double beta[] = {6.73419196865819, 0.542615083251713, 3.0316748285994106};
  static const double se[] = {0.11652911366893329, 0.03423148902505997, 0.028760203397048923};
  for (int i = 0; i < 3; i++) {
    ASSERT_NEAR(f.coefficient[i], beta[i], 1e-11);
    ASSERT_NEAR(f.standard_error[i], se[i], 1e-9);
    ASSERT_NEAR(f.high[i] - f.low[i], 2 * 2.364624251592784 * se[i], 1e-8);
  }
  ASSERT_NEAR(f.residual_sd, 0.1950420877111714, 1e-10);
  ASSERT_NEAR(f.r_squared, 0.9996093187366109, 1e-12);
  double row[] = {1, 2, 5};
  hsc_interval p = hsc_fit_predict(&f, row, 1);
  ASSERT_NEAR(p.estimate, 22.97779627815867, 1e-11);
  ASSERT_NEAR(p.high - p.estimate, 0.4930856194491875, 1e-8);
  assert_ok(hsc_stats_fit(design, y, weights, 10, 3, 0.95, &f));
  ASSERT_NEAR(f.coefficient[1], 0.5297881142692773, 1e-10);
  ASSERT_NEAR(f.standard_error[2], 0.04540946493891098, 1e-9);
  ASSERT_NEAR(f.r_squared, 0.9990917738735328, 1e-10);

  // k = 2 s: nobody can tell them apart
  for (int i = 0; i < 10; i++)
    design[3 * i + 2] = 2 * design[3 * i + 1];
  hsc_status *status = hsc_stats_fit(design, y, NULL, 10, 3, 0.95, &f);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
  status = hsc_stats_fit(design, y, NULL, 3, 3, 0.95, &f);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
}

// Minus twice the log likelihood, written a second time and without tables.
static double plain_cost(
    const double *x, size_t from, size_t to, hsc_change_cost kind, double noise) {
  double mean = hsc_stats_mean(x + from, to - from);
  double within = 0;
  double count = (double)(to - from);
  for (size_t i = from; i < to; i++)
    within += (x[i] - mean) * (x[i] - mean);
  if (kind == HSC_CHANGE_MEAN)
    return within / noise;
  double variance = fmax(within / count, noise);
  return count * log(variance) + within / variance;
}

// The best segmentation by trying all last segments, without pruning.
static size_t exhaustive(const double *x,
                         size_t n,
                         hsc_change_cost kind,
                         size_t least,
                         double penalty,
                         double noise,
                         size_t *starts) {
  double best[301];
  size_t from[301];
  best[0] = -penalty;
  for (size_t end = 1; end <= n; end++) {
    best[end] = INFINITY;
    for (size_t start = 0; start + least <= end; start++) {
      if (start && start < least)
        continue;
      double value = best[start] + plain_cost(x, start, end, kind, noise) + penalty;
      if (value < best[end]) {
        best[end] = value;
        from[end] = start;
      }
    }
  }
  size_t count = 0;
  size_t reversed[301];
  for (size_t at = from[n]; at; at = from[at])
    reversed[count++] = at;
  for (size_t i = 0; i < count; i++)
    starts[i] = reversed[count - 1 - i];
  return count;
}

static void test_change_points_are_optimal(void **state) {
  hsc_random random;
  hsc_random_init(&random, 5);
  int with_changes = 0;
  for (int round = 0; round < cases_of(12, 60); round++) {
    size_t n = 20 + hsc_random_below(&random, 200);
    double x[301];
    double level = 10;
    double spread = 1;
    for (size_t i = 0; i < n; i++) {
      if (hsc_random_below(&random, 40) == 0) {
        level += 4 * hsc_random_normal(&random);
        spread = 0.3 + 2 * hsc_random_double(&random);
      }
      x[i] = level + spread * hsc_random_normal(&random);
    }
    double difference[300];
    for (size_t i = 0; i + 1 < n; i++)
      difference[i] = x[i + 1] - x[i];
    double sd = hsc_stats_mad(difference, n - 1) / sqrt(2);
    double range = hsc_stats_max(x, n) - hsc_stats_min(x, n);
    for (int kind = HSC_CHANGE_MEAN; kind <= HSC_CHANGE_MEAN_VARIANCE; kind++) {
      for (size_t least = kind == HSC_CHANGE_MEAN ? 1 : 2; least <= 5; least += 2) {
        size_t starts[301], expected[301], count;
        double penalty = 6 + 10 * hsc_random_double(&random);
        hsc_change_options o = {
            .cost = (hsc_change_cost)kind, .min_segment = least, .penalty = penalty};
        assert_ok(hsc_stats_change_points(x, n, &o, starts, &count));
        size_t expected_count =
            exhaustive(x, n, (hsc_change_cost)kind, least, penalty,
                       kind == HSC_CHANGE_MEAN ? sd * sd : 1e-12 * range * range, expected);
        assert_int_equal(count, expected_count);
        assert_memory_equal(starts, expected, count * sizeof(size_t));
        with_changes += count > 0;
      }
    }
  }
  assert_true(with_changes > cases_of(20, 100));
}

static void test_series_classes(void **state) {
  hsc_random random;
  hsc_random_init(&random, 8);
  double x[200];
  hsc_series s;
  for (int i = 0; i < 200; i++)
    x[i] = 5 + 0.05 * hsc_random_normal(&random);
  x[77] = 40;  // one hiccup is an outlier, not a phase
  assert_ok(hsc_stats_classify(x, 200, &s));
  assert_int_equal(s.series_class, HSC_SERIES_FLAT);
  assert_int_equal(s.outlier_count, 1);
  for (int i = 0; i < 30; i++)
    x[i] += 3;
  assert_ok(hsc_stats_classify(x, 200, &s));
  assert_int_equal(s.series_class, HSC_SERIES_WARM_UP);
  assert_int_equal(s.steady_start, 30);
  ASSERT_NEAR(s.steady_median, 5, 0.01);
  for (int i = 0; i < 30; i++)
    x[i] -= 5;
  assert_ok(hsc_stats_classify(x, 200, &s));
  assert_int_equal(s.series_class, HSC_SERIES_SLOW_DOWN);
  for (int i = 180; i < 200; i++)
    x[i] += 2;
  assert_ok(hsc_stats_classify(x, 200, &s));
  assert_int_equal(s.series_class, HSC_SERIES_NO_STEADY_STATE);
  // Five warm-up runs of which the first compiled.
  double warm_up[] = {11.317, 0.431, 0.386, 0.402, 0.395};
  assert_ok(hsc_stats_classify(warm_up, 5, &s));
  assert_int_equal(s.series_class, HSC_SERIES_WARM_UP);
  assert_int_equal(s.steady_start, 1);
  assert_ok(hsc_stats_classify(warm_up, 3, &s));
  assert_int_equal(s.series_class, HSC_SERIES_TOO_SHORT);
  double equal[] = {2, 2, 2, 2, 2, 2};
  assert_ok(hsc_stats_classify(equal, 6, &s));
  assert_int_equal(s.series_class, HSC_SERIES_FLAT);
}

static void test_outliers_are_named(void **state) {
  // vmap's "cached" series as first published: its mean is 4.04 ms, its median 0.431 ms; the first
  // run is the outlier.
  double vmap[] = {11.317, 0.431, 0.386};
  size_t index[3];
  assert_int_equal(hsc_stats_outliers(vmap, 3, index), 1);
  assert_int_equal(index[0], 0);
  ASSERT_NEAR(hsc_stats_mean(vmap, 3), 4.044666666666667, 1e-12);
  ASSERT_NEAR(hsc_stats_median(vmap, 3), 0.431, 0);
  double one_off[] = {3, 3, 3, 3, 3, 3, 9};  // MAD is 0
  assert_int_equal(hsc_stats_outliers(one_off, 7, index), 1);
  assert_int_equal(index[0], 6);
  double none[] = {1, 2, 3, 4};
  assert_int_equal(hsc_stats_outliers(none, 4, index), 0);
}

static void test_brunner_munzel_matches_scipy(void **state) {
  double p[] = {1, 2, 2, 3, 4, 5, 5, 5, 6, 7};
  double q[] = {2, 3, 5, 5, 6, 8, 8, 9, 10, 11, 12};
  double greater;
  ASSERT_NEAR(hsc_stats_brunner_munzel(A, N(A), B, N(B), NULL), 0.003280490812133595, 1e-9);
  ASSERT_NEAR(hsc_stats_brunner_munzel(p, N(p), q, N(q), &greater), 0.010868705227840376, 1e-9);
  // Vargha & Delaney's A is (delta + 1) / 2
  ASSERT_NEAR(greater, (1 - 0.5818181818181818) / 2, 1e-12);
  double low[] = {1, 2, 3};
  double high[] = {4, 5, 6};
  // no overlap, no variance
  assert_true(isnan(hsc_stats_brunner_munzel(low, 3, high, 3, &greater)) && greater == 0);
  assert_true(isnan(hsc_stats_brunner_munzel(low, 1, high, 3, NULL)));
}

// scipy.stats.binomtest(k, n).proportion_ci(method="exact")
static void test_share_intervals_match_scipy(void **state) {
  (void)state;
  static const double e[][4] = {{0, 5, 0, 0.5218237501},
                                {5, 5, 0.4781762499, 1},
                                {7, 20, 0.1539092048, 0.5921885345},
                                {1, 1000, 0.0000253175, 0.0055589243}};
  for (size_t i = 0; i < HSC_COUNT_OF(e); i++) {
    hsc_interval share = hsc_stats_share_interval((int64_t)e[i][0], (int64_t)e[i][1], 0);
    assert_true(fabs(share.low - e[i][2]) < 1e-9 && fabs(share.high - e[i][3]) < 1e-9);
    assert_true(share.estimate == e[i][0] / e[i][1]);
  }
  assert_true(isnan(hsc_stats_share_interval(0, 0, 0).low));
  assert_true(isnan(hsc_stats_share_interval(3, 2, 0).estimate));
}

static void test_quantile_intervals_match_scipy(void **state) {
  double sorted[20], ramp[400];
  memcpy(sorted, E, sizeof E);
  for (int i = 0; i < 20; i++)
    for (int j = i; j > 0 && sorted[j] < sorted[j - 1]; j--) {
      double other = sorted[j];
      sorted[j] = sorted[j - 1];
      sorted[j - 1] = other;
    }
  for (int i = 0; i < 400; i++)
    ramp[i] = i;
  static const double e[][3] = {{0.5, 0.3, 1.3}, {0.25, 0.1, 0.6}, {0.75, 0.7, 3.0}};
  static const double r[][3] = {{0.5, 179, 220}, {0.9, 347, 371}, {0.99, 391, 399}};
  for (int i = 0; i < 3; i++) {
    hsc_interval x = hsc_stats_quantile_interval(sorted, 20, e[i][0], 0.95);
    hsc_interval y = hsc_stats_quantile_interval(ramp, 400, r[i][0], 0.95);
    assert_true(x.low == e[i][1] && x.high == e[i][2]);
    assert_true(y.low == r[i][1] && y.high == r[i][2]);
  }
  assert_int_equal(hsc_stats_quantile_needs(0.5, 0.95), 6);
  assert_int_equal(hsc_stats_quantile_needs(0.95, 0.95), 59);
  assert_int_equal(hsc_stats_quantile_needs(0.99, 0.95), 299);
  assert_int_equal(hsc_stats_quantile_needs(0.999, 0.95), 2995);
  // a 99.9 percentile of four inferences is refused
  assert_true(isnan(hsc_stats_quantile_interval(ramp, 4, 0.999, 0.95).high));
  assert_true(isfinite(hsc_stats_quantile_interval(ramp, 299, 0.99, 0.95).high) &&
              isnan(hsc_stats_quantile_interval(ramp, 298, 0.99, 0.95).high));
  assert_true(hsc_stats_quantile_needs(1, 0.95) == SIZE_MAX &&
              isnan(hsc_stats_quantile_interval(ramp, 0, 0.5, 0.95).estimate));
}

static void test_theil_sen_matches_scipy(void **state) {
  static const double k[] = {1, 1, 2, 2, 4, 4, 8, 8, 3, 6};
  static const double y[] = {10.4, 10.6, 13.2, 13.9, 19.3, 21.1, 31.6, 35.4, 17.1, 26.0};
  double at[20], intercept;
  hsc_interval slope;
  assert_ok(hsc_stats_theil_sen(k, y, 10, 0.95, &slope, &intercept));
  ASSERT_NEAR(slope.estimate, 3.2, 1e-12);
  ASSERT_NEAR(slope.low, 2.95, 1e-12);
  ASSERT_NEAR(slope.high, 3.575, 1e-12);
  ASSERT_NEAR(intercept, 7, 1e-12);
  for (int i = 0; i < 20; i++)
    at[i] = i;
  assert_ok(hsc_stats_theil_sen(at, E, 20, 0.95, &slope, &intercept));
  ASSERT_NEAR(slope.estimate, -0.008114035087719303, 1e-10);
  ASSERT_NEAR(slope.low, -0.095, 1e-10);
  ASSERT_NEAR(slope.high, 0.07142857142857142, 1e-10);
  ASSERT_NEAR(intercept, 0.7270833333333333, 1e-10);
  double same[] = {1, 1, 1};
  hsc_status *status = hsc_stats_theil_sen(same, E, 3, 0, &slope, NULL);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
}

static void test_modes(void **state) {
  hsc_random random;
  hsc_random_init(&random, 21);
  static double x[2000];
  hsc_mode modes[8];
  size_t count;
  // What placebo passes showed before runs were interleaved: one program, four levels.
  static const double levels[] = {70, 81, 97, 123};
  for (int i = 0; i < 400; i++)
    x[i] = levels[i % 4] * (1 + 0.012 * hsc_random_normal(&random));
  assert_ok(hsc_stats_modes(x, 400, modes, 8, &count));
  assert_int_equal(count, 4);
  for (int i = 0; i < 4; i++)
    ASSERT_NEAR(modes[i].median, levels[i], 0.01);
  assert_int_equal(modes[0].count + modes[1].count + modes[2].count + modes[3].count, 400);
  // One mode, however long its tail.
  int several = 0;
  for (int round = 0; round < 60; round++) {
    size_t n;
    if (round % 3 == 0)
      n = 30;
    else if (round % 3 == 1)
      n = 200;
    else
      n = 2000;
    for (size_t i = 0; i < n; i++)
      x[i] = round % 2 ? exp(0.3 * hsc_random_normal(&random)) : 100 + hsc_random_normal(&random);
    assert_ok(hsc_stats_modes(x, n, modes, 8, &count));
    several += count != 1;
  }
  assert_in_range(several, 0, 2);
  // A clock that ticks in steps of 40 ns is not thirty modes.
  for (int i = 0; i < 2000; i++)
    x[i] = 40 * floor((5000 + 300 * hsc_random_normal(&random)) / 40);
  assert_ok(hsc_stats_modes(x, 2000, modes, 8, &count));
  assert_int_equal(count, 1);
  double odd[] = {NAN, 3, INFINITY};
  double equal[40];
  assert_ok(hsc_stats_modes(odd, 3, modes, 8, &count));
  assert_true(count == 1 && modes[0].median == 3 && modes[0].count == 1);
  for (int i = 0; i < 40; i++)
    equal[i] = 5;
  assert_ok(hsc_stats_modes(equal, 40, modes, 8, &count));
  assert_true(count == 1 && modes[0].share == 1);
  assert_ok(hsc_stats_modes(NULL, 0, modes, 8, &count));
  assert_int_equal(count, 0);
}

static void test_long_series(void **state) {
  // The counting ways agree with the plain ones.
  hsc_random random;
  hsc_random_init(&random, 31);
  static double x[6000], y[5001], sorted[6000];
  for (int i = 0; i < 6000; i++)
    x[i] = hsc_random_normal(&random) * (i % 7 ? 1 : 1000);
  for (int i = 0; i < 5001; i++)
    y[i] = floor(10 * hsc_random_normal(&random)) / 10;
  memcpy(sorted, x, sizeof x);
  static double differences[1200 * 1001];
  for (int i = 0; i < 1200; i++)
    for (int j = 0; j < 1001; j++)
      differences[i * 1001 + j] = x[i] - y[j];
  ASSERT_NEAR(hsc_stats_hodges_lehmann(x, 1200, y, 1001),
              hsc_stats_median(differences, N(differences)), 1e-15);
  double median = hsc_stats_median(x, 6000);  // radix sort
  size_t below = 0;
  size_t above = 0;
  for (int i = 0; i < 6000; i++) {
    below += x[i] < median;
    above += x[i] > median;
  }
  assert_true(below == 3000 && above == 3000);
  assert_memory_equal(sorted, x, sizeof x);  // the input is never changed
  // Change points of 100,000 samples, to the width of a group.
  double *series = hsc_alloc(100000 * sizeof(double));
  size_t *starts = hsc_alloc(100000 * sizeof(size_t));
  size_t count;
  for (int i = 0; i < 100000; i++)
    series[i] = (i < 40000 ? 12 : 10) + hsc_random_normal(&random);
  assert_ok(hsc_stats_change_points(series, 100000, NULL, starts, &count));
  assert_int_equal(count, 1);
  assert_in_range(starts[0], 39900, 40100);
  hsc_free(series);
  hsc_free(starts);
}

static void test_correlated_series_are_worth_less(void **state) {
  hsc_random random;
  hsc_random_init(&random, 41);
  static double white[4000], red[4000];
  for (int i = 0; i < 4000; i++) {
    white[i] = hsc_random_normal(&random);
    red[i] = (i ? 0.8 * red[i - 1] : 0) + hsc_random_normal(&random);
  }
  assert_true(hsc_stats_effective_count(white, 4000) > 3000);
  double worth = hsc_stats_effective_count(red, 4000);  // n (1 - 0.8) / (1 + 0.8) = 444
  assert_true(worth > 330 && worth < 580);
  assert_true(hsc_stats_effective_count(A, 3) == 3 && isnan(hsc_stats_effective_count(A, 0)));
}

static void test_verdicts_say_how_many_more_runs(void **state) {
  hsc_random random;
  hsc_random_init(&random, 51);
  double x[40], y[40];
  for (int i = 0; i < 40; i++) {
    x[i] = 103 + 10 * hsc_random_normal(&random);
    y[i] = 100 + 10 * hsc_random_normal(&random);
  }
  hsc_comparison c;
  assert_ok(hsc_stats_compare(x, 40, y, 40, 0.01, NULL, &c));
  assert_int_equal(c.verdict, HSC_VERDICT_CANNOT_TELL);
  assert_true(c.more_runs >= 1 && c.margin == 0.01 && c.equivalence > 0.05);
  for (int i = 0; i < 40; i++)
    x[i] = y[i];
  assert_ok(hsc_stats_compare(x, 40, y, 40, 0.5, NULL, &c));
  assert_true(c.verdict == HSC_VERDICT_SAME && c.equivalence < 0.001 && c.more_runs == 0);
}

static void test_processes_that_differ_are_inconsistent(void **state) {
  double x[90];
  size_t sizes[] = {30, 30, 30};
  for (int i = 0; i < 90; i++)
    x[i] = 5 + 0.01 * (i % 3);
  for (int i = 30; i < 35; i++)
    x[i] = 9;
  hsc_series s, each[3];
  assert_ok(hsc_stats_classify_processes(x, sizes, 3, &s, each));
  assert_int_equal(s.series_class, HSC_SERIES_WARM_UP);
  assert_int_equal(each[1].steady_start, 5);
  assert_int_equal(s.steady_start, 5);
  for (int i = 80; i < 90; i++)
    x[i] = 9;
  assert_ok(hsc_stats_classify_processes(x, sizes, 3, &s, NULL));
  assert_int_equal(s.series_class, HSC_SERIES_INCONSISTENT);
  assert_ok(hsc_stats_classify_processes(x, sizes, 0, &s, NULL));
  assert_int_equal(s.series_class, HSC_SERIES_TOO_SHORT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_brunner_munzel_matches_scipy),
      cmocka_unit_test(test_share_intervals_match_scipy),
      cmocka_unit_test(test_quantile_intervals_match_scipy),
      cmocka_unit_test(test_theil_sen_matches_scipy),
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_long_series),
      cmocka_unit_test(test_correlated_series_are_worth_less),
      cmocka_unit_test(test_verdicts_say_how_many_more_runs),
      cmocka_unit_test(test_processes_that_differ_are_inconsistent),
      cmocka_unit_test(test_location_matches_numpy),
      cmocka_unit_test(test_bad_input_gives_nan),
      cmocka_unit_test(test_distributions_match_scipy),
      cmocka_unit_test(test_comparison_matches_scipy),
      cmocka_unit_test(test_bootstrap_matches_scipy),
      cmocka_unit_test(test_median_interval_covers_the_truth),
      cmocka_unit_test(test_verdicts),
      cmocka_unit_test(test_fit_matches_numpy),
      cmocka_unit_test(test_change_points_are_optimal),
      cmocka_unit_test(test_series_classes),
      cmocka_unit_test(test_outliers_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
