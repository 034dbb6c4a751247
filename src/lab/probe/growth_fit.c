// growth_fit.c - exponents from samples.
#include <math.h>

#include "lab/probe/growth.h"

enum { MOST_SAMPLES = 4096 };

// Counts are exact, their logarithms are not: nine digits are all that the slope has.
static double rounded(double slope) {
  return round(slope * 1e9) / 1e9;
}

static bool fit_exact(const double *x, const double *y, size_t n, hsc_interval *out) {
  *out = (hsc_interval){(y[n - 1] - y[0]) / (x[n - 1] - x[0]), INFINITY, -INFINITY};
  for (size_t i = 1; i < n; i++) {
    if (!(x[i] > x[i - 1]))
      continue;
    double slope = (y[i] - y[i - 1]) / (x[i] - x[i - 1]);
    out->low = fmin(out->low, slope);
    out->high = fmax(out->high, slope);
  }
  *out = (hsc_interval){rounded(out->estimate), rounded(out->low), rounded(out->high)};
  return isfinite(out->estimate) && isfinite(out->low);
}

bool hsc_growth_fit(const hsc_growth_sample *samples,
                    size_t count,
                    bool exact,
                    hsc_interval *out_exponent) {
  double x[MOST_SAMPLES];
  double y[MOST_SAMPLES];
  double design[2 * MOST_SAMPLES];
  size_t n = 0;
  hsc_fit fit;
  *out_exponent = (hsc_interval){NAN, NAN, NAN};
  for (size_t i = 0; i < count && n < MOST_SAMPLES; i++) {
    if (!(samples[i].value > 0) || !(samples[i].size > 0) || !isfinite(samples[i].value))
      continue;
    x[n] = log(samples[i].size);
    y[n] = log(samples[i].value);
    design[2 * n] = 1;
    design[2 * n + 1] = x[n];
    n++;
  }
  if (n < 2)
    return false;
  if (exact)
    return fit_exact(x, y, n, out_exponent);
  hsc_status *status = hsc_stats_fit(design, y, NULL, n, 2, 0.95, &fit);
  if (status) {  // too few samples, or one size only
    hsc_status_free(status);
    return false;
  }
  *out_exponent = (hsc_interval){fit.coefficient[1], fit.low[1], fit.high[1]};
  return true;
}
