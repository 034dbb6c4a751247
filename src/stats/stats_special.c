// stats_special.c - the distributions that intervals and tests need.
#include "stats/stats.h"

#include <math.h>

double hsc_stats_normal_cdf(double z) {
  return 0.5 * erfc(-z / sqrt(2.0));
}

// Bisection on a monotone cdf, to the last bits; the callers need a handful of values, not speed.
static double invert(double (*cdf)(double, const double *),
                     const double *parameters,
                     double p,
                     double low,
                     double high) {
  for (int i = 0; i < 200 && high - low > 0; i++) {
    double middle = 0.5 * (low + high);
    if (middle == low || middle == high)
      break;
    if (cdf(middle, parameters) < p)
      low = middle;
    else
      high = middle;
  }
  return 0.5 * (low + high);
}

static double normal_of(double z, const double *parameters) {
  (void)parameters;
  return hsc_stats_normal_cdf(z);
}

double hsc_stats_normal_quantile(double p) {
  if (isnan(p) || p < 0 || p > 1)
    return NAN;
  if (p == 0)
    return -INFINITY;
  if (p == 1)
    return INFINITY;
  if (p == 0.5)
    return 0;
  // The upper half by symmetry: cdf values near 1 have too few digits left to invert.
  return p > 0.5 ? -invert(normal_of, NULL, 1 - p, -39, 0) : invert(normal_of, NULL, p, -39, 0);
}

// Continued fraction of the incomplete beta function (Numerical Recipes 6.4; DLMF 8.17.22), by the
// modified Lentz method.
static double beta_fraction(double x, double a, double b) {
  const double tiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  if (fabs(d) < tiny)
    d = tiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m <= 10000; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + even * d;
    c = 1 + even / c;
    if (fabs(d) < tiny)
      d = tiny;
    if (fabs(c) < tiny)
      c = tiny;
    d = 1 / d;
    h *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + odd * d;
    c = 1 + odd / c;
    if (fabs(d) < tiny)
      d = tiny;
    if (fabs(c) < tiny)
      c = tiny;
    d = 1 / d;
    h *= d * c;
    if (fabs(d * c - 1) < 1e-16)
      break;
  }
  return h;
}

double hsc_stats_beta_cdf(double x, double a, double b) {
  if (isnan(x) || !(a > 0) || !(b > 0))
    return NAN;
  if (x <= 0)
    return 0;
  if (x >= 1)
    return 1;
  double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  if (x < (a + 1) / (a + b + 2))
    return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

static double beta_of(double x, const double *parameters) {
  return hsc_stats_beta_cdf(x, parameters[0], parameters[1]);
}

hsc_interval hsc_stats_share_interval(int64_t hits, int64_t trials, double confidence) {
  double tail = 0.5 * (1 - (confidence > 0 ? confidence : 0.95));
  if (trials < 1 || hits < 0 || hits > trials || !(tail > 0))
    return (hsc_interval){NAN, NAN, NAN};
  double k = (double)hits;
  double n = (double)trials;
  hsc_interval share = {.estimate = k / n, .low = 0, .high = 1};
  if (hits > 0)
    share.low = invert(beta_of, (const double[]){k, n - k + 1}, tail, 0, 1);
  if (hits < trials)
    share.high = invert(beta_of, (const double[]){k + 1, n - k}, 1 - tail, 0, 1);
  return share;
}

double hsc_stats_t_cdf(double t, double degrees) {
  if (isnan(t) || !(degrees > 0))
    return NAN;
  double tail = 0.5 * hsc_stats_beta_cdf(degrees / (degrees + t * t), 0.5 * degrees, 0.5);
  return t > 0 ? 1 - tail : tail;
}

static double t_of(double t, const double *parameters) {
  return hsc_stats_t_cdf(t, parameters[0]);
}

double hsc_stats_t_quantile(double p, double degrees) {
  if (isnan(p) || p < 0 || p > 1 || !(degrees > 0))
    return NAN;
  if (p == 0)
    return -INFINITY;
  if (p == 1)
    return INFINITY;
  if (p == 0.5)
    return 0;
  double tail = p > 0.5 ? 1 - p : p;
  double low = -2;
  while (hsc_stats_t_cdf(low, degrees) > tail)
    low *= 2;
  double t = invert(t_of, &degrees, tail, low, 0);
  return p > 0.5 ? -t : t;
}
