// stats_quantile.c - percentiles that say how far they can be trusted, and how many independent
// samples a series is worth.
#include <math.h>

#include "stats/stats_internal.h"

// P(Binomial(n, p) <= k) = I_{1-p}(n - k, k + 1).
static double binomial_cdf(double k, double n, double p) {
  if (k < 0)
    return 0;
  if (k >= n)
    return 1;
  return hsc_stats_beta_cdf(1 - p, n - k, k + 1);
}

size_t hsc_stats_quantile_needs(double q, double confidence) {
  if (!(q > 0 && q < 1) || !(confidence > 0 && confidence < 1))
    return SIZE_MAX;
  // Two samples at least, and the range between the extremes must hold the quantile: 1 - q^n - (1 -
  // q)^n >= confidence, which rises with n.
  size_t low = 1;
  size_t high = 2;
  while (high < SIZE_MAX / 4 && 1 - pow(q, (double)high) - pow(1 - q, (double)high) < confidence) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (1 - pow(q, (double)middle) - pow(1 - q, (double)middle) < confidence)
      low = middle;
    else
      high = middle;
  }
  return high;
}

// The least k with P(Binomial <= k) >= level.
static double binomial_quantile(double level, double n, double p) {
  double low = -1;
  double high = n;
  while (high - low > 1) {
    double middle = floor((low + high) / 2);
    if (binomial_cdf(middle, n, p) >= level)
      high = middle;
    else
      low = middle;
  }
  return high;
}

hsc_interval hsc_stats_quantile_interval(const double *sorted,
                                         size_t n,
                                         double q,
                                         double confidence) {
  hsc_interval none = {NAN, NAN, NAN};
  if (confidence == 0)
    confidence = 0.95;
  if (n == 0 || !(q > 0 && q < 1) || !(confidence > 0 && confidence < 1))
    return none;
  none.estimate = hsc__quantile_sorted(sorted, n, q);
  if (n < hsc_stats_quantile_needs(q, confidence))
    return none;
  // Ranks from 1: the quantile lies at or above the l-th with 1 - P(B <= l - 1), at or below the
  // u-th with P(B <= u - 1). A tail that has no rank of its own (few samples beyond an extreme
  // percentile) is spent at the extreme, and the other side gets what is left.
  double m = (double)n;
  double tail = (1 - confidence) / 2;
  double left = tail;
  double right = tail;
  if (pow(q, m) > tail) {
    right = pow(q, m);
    left = 1 - confidence - right;
  } else if (pow(1 - q, m) > tail) {
    left = pow(1 - q, m);
    right = 1 - confidence - left;
  }
  double l = left <= pow(1 - q, m) ? 1 : binomial_quantile(left, m, q);
  double u = right <= pow(q, m) ? m : binomial_quantile(1 - right, m, q) + 1;
  if (l < 1 || binomial_cdf(l - 1, m, q) > left + 1e-12)
    l = fmax(1, l - 1);
  return (hsc_interval){none.estimate, sorted[(size_t)l - 1], sorted[(size_t)fmin(u, m) - 1]};
}

double hsc_stats_effective_count(const double *x, size_t n) {
  if (n == 0 || hsc__has_nan(x, n))
    return NAN;
  double mean = hsc_stats_mean(x, n);
  double variance = 0;
  for (size_t i = 0; i < n; i++)
    variance += (x[i] - mean) * (x[i] - mean);
  if (n < 4 || !(variance > 0))
    return (double)n;
  // As many lags as 2e8 products allow; a series that is still correlated there is worth at most
  // what comes out.
  size_t most = n / 2;
  size_t affordable = (size_t)(2e8 / (double)n) + 2;
  if (most > affordable)
    most = affordable;
  double sum = 1;
  for (size_t lag = 1; lag + 1 <= most; lag += 2) {
    double pair = 0;
    for (size_t k = lag; k <= lag + 1; k++)
      for (size_t i = 0; i + k < n; i++)
        pair += (x[i] - mean) * (x[i + k] - mean);
    pair /= variance;
    // chance (1 %) makes as much of independent samples
    if (lag == 1 && pair < 2.58 * sqrt(2 / (double)n))
      return (double)n;
    if (pair <= 0)
      break;
    sum += 2 * pair;
  }
  return fmin((double)n, fmax(1, (double)n / sum));
}
