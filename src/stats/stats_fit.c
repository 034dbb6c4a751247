// stats_fit.c - weighted linear least squares with intervals.
#include "base/core/memory.h"
#include "stats/stats_internal.h"

#include <math.h>

// Householder QR of the n x p matrix `a` (row-major), applied to `b` too. On return the upper
// triangle of a is R and b is Q^T b. False when a column depends on the ones before it.
static bool qr(double *a, double *b, size_t n, size_t p) {
  for (size_t k = 0; k < p; k++) {
    double norm = 0;
    double column = 0;
    for (size_t i = 0; i < n; i++)
      column += a[i * p + k] * a[i * p + k];
    for (size_t i = k; i < n; i++)
      norm += a[i * p + k] * a[i * p + k];
    if (!(norm > 1e-24 * column))
      return false;
    norm = sqrt(norm);
    double alpha = a[k * p + k] > 0 ? -norm : norm;
    double head = a[k * p + k] - alpha;
    double scale = -1 / (alpha * head);    // 2 / |v|^2 with v = (head, a[k+1..n-1][k])
    for (size_t j = k + 1; j <= p; j++) {  // column p stands for b
      double dot = j < p ? head * a[k * p + j] : head * b[k];
      for (size_t i = k + 1; i < n; i++)
        dot += a[i * p + k] * (j < p ? a[i * p + j] : b[i]);
      dot *= scale;
      if (j < p)
        a[k * p + j] -= dot * head;
      else
        b[k] -= dot * head;
      for (size_t i = k + 1; i < n; i++) {
        if (j < p)
          a[i * p + j] -= dot * a[i * p + k];
        else
          b[i] -= dot * a[i * p + k];
      }
    }
    a[k * p + k] = alpha;
  }
  return true;
}

// The samples multiplied by the roots of their weights: a[n][p] and b[n], as qr takes them.
static hsc_status *weigh(const double *design,
                         const double *y,
                         const double *weights,
                         size_t n,
                         size_t p,
                         double *a,
                         double *b) {
  for (size_t i = 0; i < n; i++) {
    double w = weights ? weights[i] : 1;
    if (!isfinite(y[i]) || !isfinite(w) || w < 0)
      return HSC_ERR(INVALID_ARGUMENT,
                     "fit: sample %zu is not a finite number with a weight of 0 or more", i);
    double root = sqrt(w);
    b[i] = root * y[i];
    for (size_t j = 0; j < p; j++) {
      if (!isfinite(design[i * p + j]))
        return HSC_ERR(INVALID_ARGUMENT, "fit: term %zu of sample %zu is not finite", j, i);
      a[i * p + j] = root * design[i * p + j];
    }
  }
  return NULL;
}

// Coefficients from R (in a) and Q^T y (in b), from the last one back.
static void solve(const double *a, const double *b, hsc_fit *fit) {
  size_t p = fit->term_count;
  for (size_t k = p; k-- > 0;) {
    double value = b[k];
    for (size_t j = k + 1; j < p; j++)
      value -= a[k * p + j] * fit->coefficient[j];
    fit->coefficient[k] = value / a[k * p + k];
  }
}

// What the fit leaves: residual_sd and r_squared. Returns the variance.
static double residuals(const double *design,
                        const double *y,
                        const double *weights,
                        hsc_fit *fit) {
  size_t n = fit->sample_count;
  size_t p = fit->term_count;
  double weight_sum = 0;
  double weighted_sum = 0;
  for (size_t i = 0; i < n; i++) {
    double w = weights ? weights[i] : 1;
    weight_sum += w;
    weighted_sum += w * y[i];
  }
  double residual = 0;
  double total = 0;
  double mean = weight_sum > 0 ? weighted_sum / weight_sum : 0;
  for (size_t i = 0; i < n; i++) {
    double w = weights ? weights[i] : 1;
    double predicted = 0;
    for (size_t j = 0; j < p; j++)
      predicted += design[i * p + j] * fit->coefficient[j];
    residual += w * (y[i] - predicted) * (y[i] - predicted);
    total += w * (y[i] - mean) * (y[i] - mean);
  }
  double variance = residual / (double)(n - p);
  fit->residual_sd = sqrt(variance);
  fit->r_squared = total > 0 ? 1 - residual / total : NAN;
  return variance;
}

// Covariance = variance * R^-1 R^-T, and the intervals that follow from it.
static void spread(const double *a, double variance, hsc_fit *fit) {
  size_t p = fit->term_count;
  double inverse[HSC_FIT_MAX_TERMS][HSC_FIT_MAX_TERMS] = {{0}};
  for (size_t column = 0; column < p; column++) {
    for (size_t k = column + 1; k-- > 0;) {
      double value = k == column ? 1 : 0;
      for (size_t j = k + 1; j <= column; j++)
        value -= a[k * p + j] * inverse[j][column];
      inverse[k][column] = value / a[k * p + k];
    }
  }
  double t = hsc_stats_t_quantile(0.5 + 0.5 * fit->confidence, (double)(fit->sample_count - p));
  for (size_t i = 0; i < p; i++) {
    for (size_t j = 0; j < p; j++) {
      double sum = 0;
      for (size_t k = 0; k < p; k++)
        sum += inverse[i][k] * inverse[j][k];
      fit->covariance[i][j] = variance * sum;
    }
    fit->standard_error[i] = sqrt(fit->covariance[i][i]);
    fit->low[i] = fit->coefficient[i] - t * fit->standard_error[i];
    fit->high[i] = fit->coefficient[i] + t * fit->standard_error[i];
  }
}

hsc_status *hsc_stats_fit(const double *design,
                          const double *y,
                          const double *weights,
                          size_t n,
                          size_t p,
                          double confidence,
                          hsc_fit *out_fit) {
  hsc_fit fit = {
      .sample_count = n, .term_count = p, .confidence = confidence == 0 ? 0.95 : confidence};
  if (p == 0 || p > HSC_FIT_MAX_TERMS)
    return HSC_ERR(INVALID_ARGUMENT, "fit: 1 to %d terms, got %zu", HSC_FIT_MAX_TERMS, p);
  if (n <= p)
    return HSC_ERR(
        INVALID_ARGUMENT,
        "fit: %zu samples cannot tell %zu coefficients and their spread; at least %zu are needed",
        n, p, p + 1);
  if (!(fit.confidence > 0.5 && fit.confidence < 1))
    return HSC_ERR(INVALID_ARGUMENT, "confidence must be above 0.5 and below 1, got %g",
                   fit.confidence);
  double *a = hsc_alloc(n * p * sizeof(double));
  double *b = hsc_alloc(n * sizeof(double));
  hsc_status *status = NULL;
  if (!a || !b)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(weigh(design, y, weights, n, p, a, b));
  if (!qr(a, b, n, p))
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT,
                     "fit: the terms depend on each other in these samples, so their coefficients "
                     "cannot be distinguished"));
  solve(a, b, &fit);
  spread(a, residuals(design, y, weights, &fit), &fit);
  *out_fit = fit;

done:
  hsc_free(a);
  hsc_free(b);
  return status;
}

hsc_interval hsc_fit_predict(const hsc_fit *fit, const double *row, double weight) {
  double value = 0;
  double variance = fit->residual_sd * fit->residual_sd / weight;
  for (size_t i = 0; i < fit->term_count; i++) {
    value += row[i] * fit->coefficient[i];
    for (size_t j = 0; j < fit->term_count; j++)
      variance += row[i] * fit->covariance[i][j] * row[j];
  }
  double reach = hsc_stats_t_quantile(0.5 + 0.5 * fit->confidence,
                                      (double)(fit->sample_count - fit->term_count)) *
                 sqrt(variance);
  return (hsc_interval){value, value - reach, value + reach};
}

// Sum of t (t - 1) (2 t + 5) over groups of t equal values. Without memory: NaN.
static double kendall_ties(const double *values, size_t n) {
  double *sorted = hsc__sorted_copy(values, n);
  if (!sorted)
    return NAN;
  double sum = 0;
  for (size_t i = 0; i < n;) {
    size_t from = i;
    while (i < n && sorted[i] == sorted[from])
      i++;
    double t = (double)(i - from);
    sum += t * (t - 1) * (2 * t + 5);
  }
  hsc_free(sorted);
  return sum;
}

hsc_status *hsc_stats_theil_sen(const double *x,
                                const double *y,
                                size_t n,
                                double confidence,
                                hsc_interval *out_slope,
                                double *out_intercept) {
  if (confidence == 0)
    confidence = 0.95;
  if (!(confidence > 0.5 && confidence < 1))
    return HSC_ERR(INVALID_ARGUMENT, "confidence must be above 0.5 and below 1, got %g",
                   confidence);
  if (n < 2 || n > 20000)
    return HSC_ERR(INVALID_ARGUMENT, "a slope by Theil and Sen takes 2 to 20000 samples, got %zu",
                   n);
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i]) || !isfinite(y[i]))
      return HSC_ERR(INVALID_ARGUMENT, "sample %zu is not finite", i);
  double *slopes = hsc_alloc(n * (n - 1) / 2 * sizeof(double));
  if (!slopes)
    return hsc_status_out_of_memory();
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++)
      if (x[i] != x[j])
        slopes[count++] = (y[j] - y[i]) / (x[j] - x[i]);
  if (count == 0) {
    hsc_free(slopes);
    return HSC_ERR(INVALID_ARGUMENT, "all %zu samples have the same x: there is no slope", n);
  }
  hsc_sort_doubles(slopes, count);
  double m = (double)n;
  double variance = (m * (m - 1) * (2 * m + 5) - kendall_ties(x, n) - kendall_ties(y, n)) / 18;
  if (isnan(variance)) {
    hsc_free(slopes);
    return hsc_status_out_of_memory();
  }
  double reach = -hsc_stats_normal_quantile(0.5 - 0.5 * confidence) * sqrt(fmax(0, variance));
  double low = fmax(nearbyint(((double)count - reach) / 2) - 1, 0);
  double high = fmin(nearbyint(((double)count + reach) / 2), (double)count - 1);
  double slope = hsc__median_sorted(slopes, count);
  *out_slope = (hsc_interval){slope, slopes[(size_t)low], slopes[(size_t)fmax(0, high)]};
  if (out_intercept)
    *out_intercept = hsc_stats_median(y, n) - slope * hsc_stats_median(x, n);
  hsc_free(slopes);
  return NULL;
}

// The sum of weighted squared residuals.
static double squares_of(const double *design,
                         const double *y,
                         const double *weights,
                         size_t n,
                         size_t p,
                         const double *coefficient) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double guess = 0;
    for (size_t j = 0; j < p; j++)
      guess += design[i * p + j] * coefficient[j];
    sum += (weights ? weights[i] : 1) * (y[i] - guess) * (y[i] - guess);
  }
  return sum;
}

hsc_status *hsc_stats_fit_nonnegative(const double *design,
                                      const double *y,
                                      const double *weights,
                                      size_t n,
                                      size_t p,
                                      double *out_coefficient) {
  if (p == 0 || p > HSC_FIT_MAX_TERMS)
    return HSC_ERR(INVALID_ARGUMENT, "fit: 1 to %d terms, got %zu", HSC_FIT_MAX_TERMS, p);
  double *part = hsc_alloc(n * p * sizeof(double) + 1);
  if (!part)
    return hsc_status_out_of_memory();
  double least = INFINITY;
  hsc_status *first = NULL;
  // The optimum is the unrestricted fit on the terms that are not zero in it: all choices are few.
  for (unsigned choice = 1; choice < 1u << p; choice++) {
    size_t terms[HSC_FIT_MAX_TERMS];
    size_t count = 0;
    for (size_t j = 0; j < p; j++)
      if (choice & 1u << j)
        terms[count++] = j;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < count; j++)
        part[i * count + j] = design[i * p + terms[j]];
    hsc_fit fit;
    hsc_status *status = hsc_stats_fit(part, y, weights, n, count, 0.95, &fit);
    if (hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED) {
      // not a choice that does not fit: it may be the best one
      hsc_status_free(first);
      hsc_free(part);
      return status;
    }
    if (status && !first)
      first = status;
    else
      hsc_status_free(status);
    if (status)
      continue;
    double full[HSC_FIT_MAX_TERMS] = {0};
    bool negative = false;
    for (size_t j = 0; j < count; j++) {
      full[terms[j]] = fit.coefficient[j];
      negative |= fit.coefficient[j] < 0;
    }
    double squares = squares_of(design, y, weights, n, p, full);
    if (negative || !(squares < least))
      continue;
    least = squares;
    memcpy(out_coefficient, full, p * sizeof(double));
  }
  hsc_free(part);
  if (isfinite(least)) {
    hsc_status_free(first);
    return NULL;
  }
  return first ? first
               : HSC_ERR(INVALID_ARGUMENT,
                         "fit: no choice of terms fits without a "
                         "negative coefficient");
}
