// stats_compare.c - two series against each other.
#include "base/core/memory.h"
#include "stats/stats_internal.h"

#include <math.h>
#include <stdlib.h>

// How many differences sx[i] - sy[j] are at most `limit`, sides sorted: as x rises, so does the
// first y that fits.
static double count_at_most(
    const double *sx, size_t nx, const double *sy, size_t ny, double limit) {
  double count = 0;
  size_t j = 0;
  for (size_t i = 0; i < nx; i++) {
    while (j < ny && sx[i] - sy[j] > limit)
      j++;
    count += (double)(ny - j);
  }
  return count;
}

// The k-th smallest difference (from 0): bisection over the doubles between the least and the
// greatest, whose bits are ordered like they are.
static double nth_difference(const double *sx, size_t nx, const double *sy, size_t ny, double k) {
  int64_t low = hsc__double_rank(sx[0] - sy[ny - 1]);
  int64_t high = hsc__double_rank(sx[nx - 1] - sy[0]);
  while (low < high) {
    int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
    if (count_at_most(sx, nx, sy, ny, hsc__double_of_rank(middle)) >= k + 1)
      high = middle;
    else
      low = middle + 1;
  }
  return hsc__double_of_rank(low);
}

double hsc_stats_hodges_lehmann(const double *x, size_t nx, const double *y, size_t ny) {
  size_t count;
  if (nx == 0 || ny == 0 || hsc__has_nan(x, nx) || hsc__has_nan(y, ny) ||
      !hsc_mul_size(nx, ny, &count))
    return NAN;
  if (count > 1000000) {
    double *sx = hsc__sorted_copy(x, nx);
    double *sy = hsc__sorted_copy(y, ny);
    double median = NAN;
    if (sx && sy) {
      median = nth_difference(sx, nx, sy, ny, (double)((count - 1) / 2));
      if (count % 2 == 0)
        median = 0.5 * (median + nth_difference(sx, nx, sy, ny, (double)(count / 2)));
    }
    hsc_free(sx);
    hsc_free(sy);
    return median;
  }
  double *difference = hsc_alloc(count * sizeof(double));
  if (!difference)
    return NAN;
  for (size_t i = 0; i < nx; i++)
    for (size_t j = 0; j < ny; j++)
      difference[i * ny + j] = x[i] - y[j];
  hsc_sort_doubles(difference, count);
  double median = hsc__median_sorted(difference, count);
  hsc_free(difference);
  return median;
}

// Pairs with x > y, ties half, by merging the sorted sides.
static double count_greater(const double *sx, size_t nx, const double *sy, size_t ny) {
  double u = 0;
  size_t below = 0;
  size_t at_most = 0;
  for (size_t i = 0; i < nx; i++) {
    while (below < ny && sy[below] < sx[i])
      below++;
    while (at_most < ny && sy[at_most] <= sx[i])
      at_most++;
    u += (double)below + 0.5 * (double)(at_most - below);
  }
  return u;
}

// Sum of t^3 - t over groups of t equal values in the pooled samples; 0 = no ties.
static double tie_term(const double *sx, size_t nx, const double *sy, size_t ny) {
  double term = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < nx || j < ny) {
    double value = j >= ny || (i < nx && sx[i] <= sy[j]) ? sx[i] : sy[j];
    double t = 0;
    while (i < nx && sx[i] == value) {
      i++;
      t++;
    }
    while (j < ny && sy[j] == value) {
      j++;
      t++;
    }
    term += t * t * t - t;
  }
  return term;
}

// P(U >= u) under the null hypothesis, by counting: ways(m, n, u) = ways(m-1, n, u-n) + ways(m,
// n-1, u), the recurrence of Mann & Whitney, as the product of Gaussian binomials: multiply by (1 -
// q^(n+i)) and divide by (1 - q^i).
static double exact_upper_tail(size_t m, size_t n, double u) {
  size_t size = m * n + 1;
  double *ways = hsc_alloc(size * sizeof(double));
  if (!ways)
    return NAN;
  ways[0] = 1;
  for (size_t i = 1; i <= m; i++) {
    for (size_t k = size; k-- > n + i;)
      ways[k] -= ways[k - n - i];
    for (size_t k = i; k < size; k++)
      ways[k] += ways[k - i];
  }
  double all = 0;
  double tail = 0;
  for (size_t k = 0; k < size; k++) {
    all += ways[k];
    if ((double)k >= u)
      tail += ways[k];
  }
  hsc_free(ways);
  return tail / all;
}

double hsc_stats_mann_whitney(
    const double *x, size_t nx, const double *y, size_t ny, double *out_u) {
  if (out_u)
    *out_u = NAN;
  if (nx == 0 || ny == 0 || hsc__has_nan(x, nx) || hsc__has_nan(y, ny))
    return NAN;
  double *sx = hsc__sorted_copy(x, nx);
  double *sy = hsc__sorted_copy(y, ny);
  double p = NAN;
  if (sx && sy) {
    double u = count_greater(sx, nx, sy, ny);
    double ties = tie_term(sx, nx, sy, ny);
    double pairs = (double)nx * (double)ny;
    double larger = fmax(u, pairs - u);
    double total = (double)(nx + ny);
    if (out_u)
      *out_u = u;
    if (ties == 0 && (nx <= 8 || ny <= 8)) {
      size_t smaller_side = nx < ny ? nx : ny;
      size_t larger_side = nx < ny ? ny : nx;
      double tail = exact_upper_tail(smaller_side, larger_side, larger);
      p = tail > 0.5 ? 1 : 2 * tail;  // NaN, for want of memory, stays NaN
    } else {
      double variance = pairs / 12 * ((total + 1) - ties / (total * (total - 1)));
      p = variance > 0
              ? fmin(1, 2 * hsc_stats_normal_cdf(-(larger - pairs / 2 - 0.5) / sqrt(variance)))
              : 1;
    }
  }
  hsc_free(sx);
  hsc_free(sy);
  return p;
}

// Sum and variance of the placements of one side: how many of the other lie below each sample, ties
// half.
static void placements(const double *sx,
                       size_t nx,
                       const double *sy,
                       size_t ny,
                       double *out_mean,
                       double *out_variance) {
  double mean = 0;
  double squares = 0;
  size_t below = 0;
  size_t at_most = 0;
  for (size_t i = 0; i < nx; i++) {
    while (below < ny && sy[below] < sx[i])
      below++;
    while (at_most < ny && sy[at_most] <= sx[i])
      at_most++;
    double value = (double)below + 0.5 * (double)(at_most - below);
    double delta = value - mean;
    mean += delta / (double)(i + 1);
    squares += delta * (value - mean);
  }
  *out_mean = mean;
  *out_variance = squares / (double)(nx - 1);
}

double hsc_stats_brunner_munzel(
    const double *x, size_t nx, const double *y, size_t ny, double *out_p_greater) {
  if (out_p_greater)
    *out_p_greater = NAN;
  if (nx < 2 || ny < 2 || hsc__has_nan(x, nx) || hsc__has_nan(y, ny))
    return NAN;
  double *sx = hsc__sorted_copy(x, nx);
  double *sy = hsc__sorted_copy(y, ny);
  double p = NAN;
  if (sx && sy) {
    double mean_x;
    double variance_x;
    double mean_y;
    double variance_y;
    double m = (double)nx;
    double n = (double)ny;
    placements(sx, nx, sy, ny, &mean_x, &variance_x);
    placements(sy, ny, sx, nx, &mean_y, &variance_y);
    if (out_p_greater)
      *out_p_greater = mean_x / n;
    double a = m * variance_x;
    double b = n * variance_y;
    if (a + b > 0) {
      double w =
          m * n * ((mean_y + (n + 1) / 2) - (mean_x + (m + 1) / 2)) / ((m + n) * sqrt(a + b));
      double degrees = (a + b) * (a + b) / (a * a / (m - 1) + b * b / (n - 1));
      p = fmin(1, 2 * hsc_stats_t_cdf(-fabs(w), degrees));
    }
  }
  hsc_free(sx);
  hsc_free(sy);
  return p;
}

double hsc_stats_cliffs_delta(const double *x, size_t nx, const double *y, size_t ny) {
  if (nx == 0 || ny == 0 || hsc__has_nan(x, nx) || hsc__has_nan(y, ny))
    return NAN;
  double *sx = hsc__sorted_copy(x, nx);
  double *sy = hsc__sorted_copy(y, ny);
  double delta = sx && sy ? 2 * count_greater(sx, nx, sy, ny) / ((double)nx * (double)ny) - 1 : NAN;
  hsc_free(sx);
  hsc_free(sy);
  return delta;
}

const char *hsc_stats_cliffs_word(double delta) {
  double size = fabs(delta);
  if (isnan(size))
    return "unknown";
  if (size < 0.147)
    return "negligible";
  if (size < 0.33)
    return "small";
  if (size < 0.474)
    return "medium";
  return "large";
}

const char *hsc_verdict_text(hsc_verdict verdict) {
  static const char *const text[] = {"faster", "slower", "same", "cannot tell"};
  return text[verdict];
}

// An effect inside the margin needs an interval that stays inside it, one outside an interval that
// leaves out 1.
static double more_runs(const hsc_comparison *c, size_t n) {
  double effect = fabs(log(c->ratio.estimate));
  double reach = log1p(c->margin);
  double half = 0.5 * (log(c->ratio.high) - log(c->ratio.low));
  if (!(half > 0) || !isfinite(effect))
    return NAN;
  double wanted = effect > reach ? effect : reach - effect;
  double times = (half / wanted) * (half / wanted);
  if (!(wanted > 0))
    return INFINITY;
  return fmax(1, ceil((double)n * times) - (double)n);
}

void hsc_stats_decide(hsc_comparison *c, double margin, size_t n) {
  hsc_interval r = c->ratio;
  c->margin = margin;
  c->verdict = HSC_VERDICT_CANNOT_TELL;
  // Too few on a side have no interval, so they can claim nothing.
  if (n >= HSC_LEAST_FOR_INTERVAL && !isnan(r.estimate)) {
    if (r.low >= 1 / (1 + margin) && r.high <= 1 + margin)
      c->verdict = HSC_VERDICT_SAME;
    else if (r.high < 1 && r.estimate < 1 / (1 + margin))
      c->verdict = HSC_VERDICT_FASTER;
    else if (r.low > 1 && r.estimate > 1 + margin)
      c->verdict = HSC_VERDICT_SLOWER;
  }
  c->more_runs = c->verdict == HSC_VERDICT_CANNOT_TELL ? more_runs(c, n) : 0;
}

hsc_status *hsc_stats_compare(const double *x,
                              size_t nx,
                              const double *y,
                              size_t ny,
                              double margin,
                              const hsc_interval_options *options,
                              hsc_comparison *out_comparison) {
  hsc_comparison c = {.verdict = HSC_VERDICT_CANNOT_TELL};
  if (margin == 0)
    margin = 0.01;
  if (!(margin > 0))
    return HSC_ERR(INVALID_ARGUMENT, "the margin of a comparison must be positive, got %g", margin);
  HSC_TRY(hsc__ratio_of_medians(x, nx, y, ny, options, margin, &c.ratio, &c.equivalence));
  c.shift = hsc_stats_hodges_lehmann(x, nx, y, ny);
  c.p_value = hsc_stats_mann_whitney(x, nx, y, ny, &c.u);
  c.brunner_munzel = hsc_stats_brunner_munzel(x, nx, y, ny, NULL);
  c.delta = hsc_stats_cliffs_delta(x, nx, y, ny);
  hsc_stats_decide(&c, margin, nx < ny ? nx : ny);
  *out_comparison = c;
  return NULL;
}
