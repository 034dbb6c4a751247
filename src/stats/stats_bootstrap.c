// stats_bootstrap.c - intervals by resampling.
//
// The median has its own path: which of the sorted samples a resample's median is follows a known
// distribution, so one draw gives it and no resample is made.
#include "base/core/memory.h"
#include "base/core/random.h"
#include "stats/stats_internal.h"

#include <math.h>

enum { FEW_BLOCKS = 12 };

hsc_status *hsc__interval_options(const hsc_interval_options *options,
                                  hsc_interval_options *out_filled) {
  hsc_interval_options filled = options ? *options : (hsc_interval_options){0};
  if (filled.confidence == 0)
    filled.confidence = 0.95;
  if (filled.resample_count == 0)
    filled.resample_count = 2000;
  if (!(filled.confidence > 0.5 && filled.confidence < 1))
    return HSC_ERR(INVALID_ARGUMENT, "confidence must be above 0.5 and below 1, got %g",
                   filled.confidence);
  *out_filled = filled;
  return NULL;
}

// One draw of Gamma(shape, 1), shape >= 1: Marsaglia & Tsang (2000).
static double random_gamma(hsc_random *random, double shape) {
  double d = shape - 1.0 / 3;
  double c = 1 / sqrt(9 * d);
  for (;;) {
    double z = hsc_random_normal(random);
    double v = 1 + c * z;
    if (v <= 0)
      continue;
    v = v * v * v;
    if (log(1 - hsc_random_double(random)) < 0.5 * z * z + d - d * v + d * log(v))
      return d * v;
  }
}

// A resample of sorted[] is sorted[floor(n U)] for n uniform draws U, so its k-th smallest is
// sorted[floor(n U_k)] with U_k the k-th smallest of n uniforms, which is Beta(k, n + 1 - k); and
// given U_k the next one is the least of the n - k others, spread over (U_k, 1). Exact, and the
// time of a resample does not depend on n (David & Nagaraja 2003, section 2.5).
static void resample_medians(
    const double *sorted, size_t n, hsc_random *random, double *out, size_t count) {
  size_t low_rank = (n + 1) / 2;
  for (size_t r = 0; r < count; r++) {
    double g = random_gamma(random, (double)low_rank);
    double u = g / (g + random_gamma(random, (double)(n + 1 - low_rank)));
    size_t low = (size_t)(u * (double)n);
    if (low >= n)
      low = n - 1;
    out[r] = sorted[low];
    if (n % 2 == 0) {
      double next =
          u + (1 - u) * -expm1(log(1 - hsc_random_double(random)) / (double)(n - low_rank));
      size_t high = (size_t)(next * (double)n);
      out[r] = 0.5 * (out[r] + sorted[high < n ? high : n - 1]);
    }
  }
}

static void resample_generic(hsc_statistic statistic,
                             const double *x,
                             size_t n,
                             hsc_random *random,
                             double *out,
                             size_t count,
                             double *scratch) {
  for (size_t r = 0; r < count; r++) {
    for (size_t i = 0; i < n; i++)
      scratch[i] = x[hsc_random_below(random, n)];
    out[r] = statistic(scratch, n);
  }
}

// Jackknife acceleration: sum of cubes over the 1.5th power of the sum of squares of (mean -
// leave-one-out value).
static double skew_of_left_out(const double *left_out, size_t n) {
  double mean = hsc_stats_mean(left_out, n);
  double squares = 0;
  double cubes = 0;
  for (size_t i = 0; i < n; i++) {
    double d = mean - left_out[i];
    squares += d * d;
    cubes += d * d * d;
  }
  return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

static double acceleration(
    hsc_statistic statistic, const double *x, size_t n, double *scratch, double *left_out) {
  if (statistic == hsc_stats_median) {
    // x is sorted here: leaving one out of the lower or upper half moves the median in one of three
    // ways.
    for (size_t i = 0; i < n; i++) {
      if (n % 2) {
        size_t m = n / 2;
        if (i < m)
          left_out[i] = 0.5 * (x[m] + x[m + 1]);
        else if (i > m)
          left_out[i] = 0.5 * (x[m - 1] + x[m]);
        else
          left_out[i] = 0.5 * (x[m - 1] + x[m + 1]);
      } else {
        left_out[i] = i < n / 2 ? x[n / 2] : x[n / 2 - 1];
      }
    }
  } else {
    for (size_t i = 0; i < n; i++) {
      memcpy(scratch, x, i * sizeof(double));
      memcpy(scratch + i, x + i + 1, (n - i - 1) * sizeof(double));
      left_out[i] = statistic(scratch, n - 1);
    }
  }
  return skew_of_left_out(left_out, n);
}

// Normal quantile of the lower tail, widened for n units: resampling shows (n - 1) / n of the
// variance, and a variance from n units is Student's.
static double wide_tail(double confidence, size_t n) {
  return sqrt((double)n / (double)(n - 1)) *
         hsc_stats_t_quantile(0.5 - 0.5 * confidence, (double)(n - 1));
}

// Whether there are ends at all: a statistic is NaN of a resample, or was refused memory there.
static bool is_known(const double *values, size_t count, const double *left_out, size_t n) {
  return !hsc__has_nan(values, count) && !hsc__has_nan(left_out, n);
}

// Rounding decides in which order equal samples were added up, not which of two values is larger.
static bool is_tie(double value, double estimate) {
  return value == estimate || fabs(value - estimate) <= 1e-12 * fabs(estimate);
}

// The ends of a BCa interval from the resampled values, which are sorted here. `z_tail` is the
// normal quantile of the lower tail. No spread: a point.
static void bca_ends(
    double *values, size_t count, double estimate, double a, double z_tail, hsc_interval *out) {
  double below = 0;
  for (size_t r = 0; r < count; r++) {
    if (is_tie(values[r], estimate))
      below += 0.5;
    else if (values[r] < estimate)
      below += 1;
  }
  hsc_sort_doubles(values, count);
  if (values[0] == values[count - 1]) {
    out->low = out->high = values[0];
    return;
  }
  // Kept off 0 and 1: with no resample on one side the bias is unbounded.
  double share = fmin(fmax(below / (double)count, 0.5 / (double)count), 1 - 0.5 / (double)count);
  double z0 = hsc_stats_normal_quantile(share);
  for (int side = 0; side < 2; side++) {
    double z = z0 + (side ? -z_tail : z_tail);
    double level = hsc_stats_normal_cdf(z0 + z / fmax(1 - a * z, 1e-3));
    *(side ? &out->high : &out->low) = hsc__quantile_sorted(values, count, level);
  }
}

hsc_status *hsc_stats_bootstrap(hsc_statistic statistic,
                                const double *x,
                                size_t n,
                                const hsc_interval_options *options,
                                hsc_interval *out_interval) {
  hsc_interval_options o;
  HSC_TRY(hsc__interval_options(options, &o));
  double estimate = n ? statistic(x, n) : NAN;
  *out_interval = (hsc_interval){estimate, NAN, NAN};
  if (n < HSC_LEAST_FOR_INTERVAL || hsc__has_nan(x, n) || isnan(estimate))
    return NULL;

  bool is_median = statistic == hsc_stats_median;
  size_t count = o.resample_count;
  double *sample = is_median ? hsc__sorted_copy(x, n) : hsc_alloc(n * sizeof(double));
  double *left_out = hsc_alloc(n * sizeof(double));
  double *values = hsc_alloc(count * sizeof(double));
  hsc_status *status = NULL;
  if (!sample || !left_out || !values) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  hsc_random random;
  hsc_random_init(&random, o.seed);
  if (is_median)
    resample_medians(sample, n, &random, values, count);
  else
    resample_generic(statistic, x, n, &random, values, count, sample);

  double a = acceleration(statistic, is_median ? sample : x, n, sample, left_out);
  if (is_known(values, count, left_out, n))
    bca_ends(values, count, estimate, a,
             o.widen_small ? wide_tail(o.confidence, n)
                           : hsc_stats_normal_quantile(0.5 - 0.5 * o.confidence),
             out_interval);

done:
  hsc_free(sample);
  hsc_free(left_out);
  hsc_free(values);
  return status;
}

// Of few blocks: so many standard deviations of the resampled values; of their logarithms where all
// are positive, since what can only be positive (a time) has no interval below zero.
static void few_block_ends(
    double *values, size_t count, double estimate, double tail, hsc_interval *out) {
  bool positive = estimate > 0;
  for (size_t r = 0; r < count && positive; r++)
    positive = values[r] > 0 && isfinite(values[r]);
  for (size_t r = 0; r < count && positive; r++)
    values[r] = log(values[r]);
  double reach = tail * hsc_stats_sd(values, count);
  *out = (hsc_interval){estimate, positive ? estimate * exp(-reach) : estimate - reach,
                        positive ? estimate * exp(reach) : estimate + reach};
}

hsc_status *hsc_stats_bootstrap_blocks(hsc_statistic statistic,
                                       const double *x,
                                       const size_t *block_sizes,
                                       size_t block_count,
                                       const hsc_interval_options *options,
                                       hsc_interval *out_interval) {
  hsc_interval_options o;
  HSC_TRY(hsc__interval_options(options, &o));
  size_t n = 0;
  size_t largest = 0;
  for (size_t b = 0; b < block_count; b++) {
    if (block_sizes[b] == 0)
      return HSC_ERR(INVALID_ARGUMENT, "block %zu of %zu is empty", b, block_count);
    n += block_sizes[b];
    if (block_sizes[b] > largest)
      largest = block_sizes[b];
  }
  double estimate = n ? statistic(x, n) : NAN;
  *out_interval = (hsc_interval){estimate, NAN, NAN};
  if (n < 2 || hsc__has_nan(x, n))
    return NULL;
  if (block_count < 2)
    return hsc_stats_bootstrap(statistic, x, n, options, out_interval);
  if (block_count < HSC_LEAST_FOR_INTERVAL)
    return NULL;

  size_t *starts = hsc_alloc(block_count * sizeof(size_t));
  double *sample = hsc_alloc(block_count * largest * sizeof(double));
  double *values = hsc_alloc(o.resample_count * sizeof(double));
  double *left_out = hsc_alloc(block_count * sizeof(double));
  hsc_status *status = NULL;
  if (!starts || !sample || !values || !left_out) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  starts[0] = 0;
  for (size_t b = 1; b < block_count; b++)
    starts[b] = starts[b - 1] + block_sizes[b - 1];
  hsc_random random;
  hsc_random_init(&random, o.seed);
  for (size_t r = 0; r < o.resample_count; r++) {
    size_t m = 0;
    for (size_t b = 0; b < block_count; b++) {
      size_t block = hsc_random_below(&random, block_count);
      memcpy(sample + m, x + starts[block], block_sizes[block] * sizeof(double));
      m += block_sizes[block];
    }
    values[r] = statistic(sample, m);
  }
  for (size_t b = 0; b < block_count; b++) {
    size_t after = starts[b] + block_sizes[b];
    memcpy(sample, x, starts[b] * sizeof(double));
    memcpy(sample + starts[b], x + after, (n - after) * sizeof(double));
    left_out[b] = statistic(sample, n - block_sizes[b]);
  }
  double wider = wide_tail(o.confidence, block_count);
  if (!is_known(values, o.resample_count, left_out, block_count)) {
    // no ends
  } else if (block_count < FEW_BLOCKS) {
    few_block_ends(values, o.resample_count, estimate, -wider, out_interval);
  } else {
    bca_ends(values, o.resample_count, estimate, skew_of_left_out(left_out, block_count), wider,
             out_interval);
  }

done:
  hsc_free(starts);
  hsc_free(sample);
  hsc_free(values);
  hsc_free(left_out);
  return status;
}

hsc_status *hsc_stats_ratio_of_medians(const double *x,
                                       size_t nx,
                                       const double *y,
                                       size_t ny,
                                       const hsc_interval_options *options,
                                       hsc_interval *out_ratio) {
  double ignored;
  return hsc__ratio_of_medians(x, nx, y, ny, options, 0.01, out_ratio, &ignored);
}

hsc_status *hsc__ratio_of_medians(const double *x,
                                  size_t nx,
                                  const double *y,
                                  size_t ny,
                                  const hsc_interval_options *options,
                                  double margin,
                                  hsc_interval *out_ratio,
                                  double *out_outside) {
  *out_outside = NAN;
  hsc_interval_options o;
  HSC_TRY(hsc__interval_options(options, &o));
  double estimate = hsc_stats_median(x, nx) / hsc_stats_median(y, ny);
  if (!isfinite(estimate))
    estimate = NAN;
  *out_ratio = (hsc_interval){estimate, NAN, NAN};
  if (isnan(estimate) || nx < HSC_LEAST_FOR_INTERVAL || ny < HSC_LEAST_FOR_INTERVAL)
    return NULL;
  size_t count = o.resample_count;
  double *sx = hsc__sorted_copy(x, nx);
  double *sy = hsc__sorted_copy(y, ny);
  double *values = hsc_alloc(count * sizeof(double));
  double *divisors = hsc_alloc(count * sizeof(double));
  hsc_status *status = NULL;
  if (!sx || !sy || !values || !divisors) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  hsc_random random;
  hsc_random_init(&random, o.seed);
  resample_medians(sx, nx, &random, values, count);
  resample_medians(sy, ny, &random, divisors, count);
  for (size_t r = 0; r < count; r++)
    values[r] /= divisors[r];
  hsc_sort_doubles(values, count);
  double tail = 0.5 * (1 - o.confidence);
  out_ratio->low = hsc__quantile_sorted(values, count, tail);
  out_ratio->high = hsc__quantile_sorted(values, count, 1 - tail);
  size_t below = 0;
  size_t above = 0;
  for (size_t r = 0; r < count; r++) {
    below += values[r] <= 1 / (1 + margin);
    above += values[r] >= 1 + margin;
  }
  *out_outside = (double)((below > above ? below : above) + 1) / (double)(count + 1);

done:
  hsc_free(sx);
  hsc_free(sy);
  hsc_free(values);
  hsc_free(divisors);
  return status;
}
