// stats_bootstrap.c - intervals by resampling.
//
// The median has its own path: over sorted samples a resample is a vector of counts, and its median is where the
// running count passes the middle. That is n random draws and one walk instead of n draws and a sort.
#include "lab/stats_internal.h"

#include <math.h>

hsc_status *hsc__interval_options(const hsc_interval_options *options, hsc_interval_options *out_filled) {
  hsc_interval_options filled = options ? *options : (hsc_interval_options){0};
  if (filled.confidence == 0) filled.confidence = 0.95;
  if (filled.resample_count == 0) filled.resample_count = 2000;
  if (!(filled.confidence > 0.5 && filled.confidence < 1))
    return HSC_ERR(INVALID_ARGUMENT, "confidence must be above 0.5 and below 1, got %g", filled.confidence);
  *out_filled = filled;
  return NULL;
}

// Median of a resample given by counts over sorted[]; total draws = n.
static double median_of_counts(const double *sorted, const uint32_t *counts, size_t n) {
  size_t low_rank = (n - 1) / 2, high_rank = n / 2, seen = 0, i = 0;
  while (seen + counts[i] <= low_rank) seen += counts[i++];
  double low = sorted[i];
  while (seen + counts[i] <= high_rank) seen += counts[i++];
  return low_rank == high_rank ? low : 0.5 * (low + sorted[i]);
}

static void resample_medians(const double *sorted, size_t n, hsc_random *random, double *out, size_t count,
                             uint32_t *counts) {
  for (size_t r = 0; r < count; r++) {
    memset(counts, 0, n * sizeof(*counts));
    for (size_t i = 0; i < n; i++) {
      // Multiply-shift instead of a rejection loop: the bias is below n / 2^64.
      counts[(size_t)(((unsigned __int128)hsc_random_u64(random) * n) >> 64)]++;
    }
    out[r] = median_of_counts(sorted, counts, n);
  }
}

static void resample_generic(hsc_statistic statistic, const double *x, size_t n, hsc_random *random, double *out,
                             size_t count, double *scratch) {
  for (size_t r = 0; r < count; r++) {
    for (size_t i = 0; i < n; i++) scratch[i] = x[hsc_random_below(random, n)];
    out[r] = statistic(scratch, n);
  }
}

// Jackknife acceleration: sum of cubes over the 1.5th power of the sum of squares of (mean - leave-one-out value).
static double acceleration(hsc_statistic statistic, const double *x, size_t n, double *scratch, double *left_out) {
  if (statistic == hsc_stats_median) {
    // x is sorted here: leaving one out of the lower or upper half moves the median in one of three ways.
    for (size_t i = 0; i < n; i++) {
      if (n % 2) {
        size_t m = n / 2;
        left_out[i] = i < m ? 0.5 * (x[m] + x[m + 1]) : i > m ? 0.5 * (x[m - 1] + x[m]) : 0.5 * (x[m - 1] + x[m + 1]);
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
  double mean = hsc_stats_mean(left_out, n), squares = 0, cubes = 0;
  for (size_t i = 0; i < n; i++) {
    double d = mean - left_out[i];
    squares += d * d;
    cubes += d * d * d;
  }
  return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

hsc_status *hsc_stats_bootstrap(hsc_statistic statistic, const double *x, size_t n, const hsc_interval_options *options,
                                hsc_interval *out_interval) {
  hsc_interval_options o;
  HSC_TRY(hsc__interval_options(options, &o));
  double estimate = n ? statistic(x, n) : NAN;
  *out_interval = (hsc_interval){estimate, estimate, estimate};
  if (n < 2 || hsc__has_nan(x, n) || isnan(estimate)) return NULL;

  bool is_median = statistic == hsc_stats_median;
  size_t count = o.resample_count;
  double *sample = is_median ? hsc__sorted_copy(x, n) : hsc_alloc(n * sizeof(double));
  double *left_out = hsc_alloc(n * sizeof(double));
  double *values = hsc_alloc(count * sizeof(double));
  uint32_t *counts = hsc_alloc(n * sizeof(uint32_t));
  hsc_status *status = NULL;
  if (!sample || !left_out || !values || !counts) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  hsc_random random;
  hsc_random_init(&random, o.seed);
  if (is_median)
    resample_medians(sample, n, &random, values, count, counts);
  else
    resample_generic(statistic, x, n, &random, values, count, sample);

  double below = 0;
  for (size_t r = 0; r < count; r++) below += values[r] < estimate ? 1 : values[r] == estimate ? 0.5 : 0;
  hsc__sort_doubles(values, count);
  if (values[0] == values[count - 1]) {  // no spread: a point
    out_interval->low = out_interval->high = values[0];
    goto done;
  }
  // Kept off 0 and 1: with no resample on one side the bias is unbounded.
  double share = fmin(fmax(below / (double)count, 0.5 / (double)count), 1 - 0.5 / (double)count);
  double z0 = hsc_stats_normal_quantile(share);
  double a = acceleration(statistic, is_median ? sample : x, n, sample, left_out);
  double tail = 0.5 * (1 - o.confidence);
  for (int side = 0; side < 2; side++) {
    double z = hsc_stats_normal_quantile(side ? 1 - tail : tail);
    double level = hsc_stats_normal_cdf(z0 + (z0 + z) / (1 - a * (z0 + z)));
    double value = hsc__quantile_sorted(values, count, level);
    if (side)
      out_interval->high = value;
    else
      out_interval->low = value;
  }

done:
  hsc_free(sample);
  hsc_free(left_out);
  hsc_free(values);
  hsc_free(counts);
  return status;
}

hsc_status *hsc_stats_bootstrap_blocks(hsc_statistic statistic, const double *x, const size_t *block_sizes,
                                       size_t block_count, const hsc_interval_options *options,
                                       hsc_interval *out_interval) {
  hsc_interval_options o;
  HSC_TRY(hsc__interval_options(options, &o));
  size_t n = 0, largest = 0;
  for (size_t b = 0; b < block_count; b++) {
    if (block_sizes[b] == 0) return HSC_ERR(INVALID_ARGUMENT, "block %zu of %zu is empty", b, block_count);
    n += block_sizes[b];
    if (block_sizes[b] > largest) largest = block_sizes[b];
  }
  double estimate = n ? statistic(x, n) : NAN;
  *out_interval = (hsc_interval){estimate, estimate, estimate};
  if (n < 2 || hsc__has_nan(x, n)) return NULL;
  if (block_count < 2) return hsc_stats_bootstrap(statistic, x, n, options, out_interval);

  size_t *starts = hsc_alloc(block_count * sizeof(size_t));
  double *sample = hsc_alloc(block_count * largest * sizeof(double));
  double *values = hsc_alloc(o.resample_count * sizeof(double));
  hsc_status *status = NULL;
  if (!starts || !sample || !values) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  for (size_t b = 1; b < block_count; b++) starts[b] = starts[b - 1] + block_sizes[b - 1];
  hsc_random random;
  hsc_random_init(&random, o.seed);
  for (size_t r = 0; r < o.resample_count; r++) {
    size_t m = 0;
    for (size_t b = 0; b < block_count; b++) {
      size_t block = hsc_random_below(&random, block_count);
      for (size_t i = 0; i < block_sizes[block]; i++)
        sample[m++] = x[starts[block] + hsc_random_below(&random, block_sizes[block])];
    }
    values[r] = statistic(sample, m);
  }
  hsc__sort_doubles(values, o.resample_count);
  double tail = 0.5 * (1 - o.confidence);
  out_interval->low = hsc__quantile_sorted(values, o.resample_count, tail);
  out_interval->high = hsc__quantile_sorted(values, o.resample_count, 1 - tail);

done:
  hsc_free(starts);
  hsc_free(sample);
  hsc_free(values);
  return status;
}

hsc_status *hsc_stats_ratio_of_medians(const double *x, size_t nx, const double *y, size_t ny,
                                       const hsc_interval_options *options, hsc_interval *out_ratio) {
  hsc_interval_options o;
  HSC_TRY(hsc__interval_options(options, &o));
  double estimate = hsc_stats_median(x, nx) / hsc_stats_median(y, ny);
  if (!isfinite(estimate)) estimate = NAN;
  *out_ratio = (hsc_interval){estimate, estimate, estimate};
  if (isnan(estimate)) return NULL;
  size_t count = o.resample_count, most = nx > ny ? nx : ny;
  double *sx = hsc__sorted_copy(x, nx), *sy = hsc__sorted_copy(y, ny);
  double *values = hsc_alloc(count * sizeof(double)), *divisors = hsc_alloc(count * sizeof(double));
  uint32_t *counts = hsc_alloc(most * sizeof(uint32_t));
  hsc_status *status = NULL;
  if (!sx || !sy || !values || !divisors || !counts) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  hsc_random random;
  hsc_random_init(&random, o.seed);
  resample_medians(sx, nx, &random, values, count, counts);
  resample_medians(sy, ny, &random, divisors, count, counts);
  for (size_t r = 0; r < count; r++) values[r] /= divisors[r];
  hsc__sort_doubles(values, count);
  double tail = 0.5 * (1 - o.confidence);
  out_ratio->low = hsc__quantile_sorted(values, count, tail);
  out_ratio->high = hsc__quantile_sorted(values, count, 1 - tail);

done:
  hsc_free(sx);
  hsc_free(sy);
  hsc_free(values);
  hsc_free(divisors);
  hsc_free(counts);
  return status;
}
