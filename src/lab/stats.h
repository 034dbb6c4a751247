// stats.h - statistics of measured series: location, spread, intervals, comparison, fits, change points, outliers.
//
// Pure functions over `const double *x, size_t n`: nothing is kept between calls, the input is never changed, and
// whatever is random takes its seed as an argument, so that the same samples give the same report. Thread-safe. Bad
// input: n = 0 or a NaN among the samples gives NaN (never a crash, never a number that looks measured);
// hsc_stats_summarize counts non-finite samples and leaves them out. Functions that need scratch memory give NaN or
// RESOURCE_EXHAUSTED when there is none. Units are the caller's; results have the same unit unless a comment says
// otherwise.
//
//   hsc_summary s;
//   HSC_TRY(hsc_stats_summarize(times_ns, n, &(hsc_interval_options){.seed = 1}, &s));
//   printf("median %.0f ns [%.0f, %.0f]\n", s.median, s.median_low, s.median_high);
#pragma once

#include "base/base.h"

// ---- location and spread --------------------------------------------------------------------------------------------

double hsc_stats_mean(const double *x, size_t n);
double hsc_stats_sd(const double *x,
                    size_t n);  // sample standard deviation, divisor n - 1; NaN for n < 2. Welford's recurrence (1962).
double hsc_stats_min(const double *x, size_t n);
double hsc_stats_max(const double *x, size_t n);
double hsc_stats_median(const double *x,
                        size_t n);  // middle of the sorted samples, mean of the two middle ones when n is even
// Linear interpolation between order statistics at (n - 1) q: type 7 of Hyndman & Fan (1996), numpy's default. q in [0,
// 1], else NaN.
double hsc_stats_quantile(const double *x, size_t n, double q);
// Harrell & Davis (1982): the order statistics weighted by a Beta((n+1)q, (n+1)(1-q)) distribution. Smoother than type
// 7 for small n. 0 < q < 1.
double hsc_stats_quantile_hd(const double *x, size_t n, double q);
// Median absolute deviation from the median, times 1.4826 so that it estimates the standard deviation of a normal
// series.
double hsc_stats_mad(const double *x, size_t n);

// How an interval is made. Zeroed fields take the default.
typedef struct hsc_interval_options {
  double confidence;        // 0 = 0.95; must be in (0.5, 1)
  uint32_t resample_count;  // 0 = 2000
  uint64_t seed;
} hsc_interval_options;

typedef struct hsc_interval {
  double estimate, low, high;
} hsc_interval;

typedef struct hsc_summary {
  size_t count;            // finite samples
  size_t nonfinite_count;  // left out
  double mean, median, min, max;
  double sd, mad;                  // NaN when count < 2 (mad: 0)
  double q1, q3;                   // type 7 quartiles
  double median_low, median_high;  // bootstrap interval of the median (BCa); equal to the median when count < 2
  double confidence;
} hsc_summary;
// All of the above in one go. count = 0 gives NaN everywhere and no error. Errors: INVALID_ARGUMENT (confidence),
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_summarize(const double *x, size_t n, const hsc_interval_options *options,
                                             hsc_summary *out_summary);

// ---- intervals by resampling ----------------------------------------------------------------------------------------

typedef double (*hsc_statistic)(const double *x, size_t n);
// Bias-corrected and accelerated bootstrap (Efron 1987; Efron & Tibshirani 1993, chapter 14): resample with
// replacement, shift the percentiles by the bias z0 = Phi^-1(share of resamples below the estimate, ties half) and the
// acceleration from the jackknife. n < 2 or a series without spread gives a point. For hsc_stats_median a counting
// method over the sorted samples is used: linear in n per resample.
HSC_MUST_USE hsc_status *hsc_stats_bootstrap(hsc_statistic statistic, const double *x, size_t n,
                                             const hsc_interval_options *options, hsc_interval *out_interval);
// The same for samples that come in blocks (one block per trial, process or compile): blocks are drawn with
// replacement, then samples within each drawn block (Davison & Hinkley 1997, section 3.8). The percentile interval:
// with few blocks a jackknife over blocks is too coarse for BCa. block_sizes[block_count] add up to n; samples of a
// block are contiguous. Errors: INVALID_ARGUMENT when they do not.
HSC_MUST_USE hsc_status *hsc_stats_bootstrap_blocks(hsc_statistic statistic, const double *x, const size_t *block_sizes,
                                                    size_t block_count, const hsc_interval_options *options,
                                                    hsc_interval *out_interval);

// ---- two series -----------------------------------------------------------------------------------------------------

// median(x) / median(y) with a percentile bootstrap interval, both sides resampled. NaN when a side is empty or
// median(y) is 0.
HSC_MUST_USE hsc_status *hsc_stats_ratio_of_medians(const double *x, size_t nx, const double *y, size_t ny,
                                                    const hsc_interval_options *options, hsc_interval *out_ratio);
// Median of all differences x[i] - y[j] (Hodges & Lehmann 1963).
double hsc_stats_hodges_lehmann(const double *x, size_t nx, const double *y, size_t ny);
// Mann & Whitney (1947), two-sided. *out_u (may be NULL) counts pairs with x > y, ties half. Exact distribution when
// there are no ties and the smaller side has at most 8 samples, else the normal approximation with tie correction and
// continuity correction: SciPy's method='auto'.
double hsc_stats_mann_whitney(const double *x, size_t nx, const double *y, size_t ny, double *out_u);
// Cliff's delta = P(x > y) - P(x < y), in [-1, 1] (Cliff 1993); the word for its size by Romano et al. (2006):
// negligible below 0.147, small below 0.33, medium below 0.474, else large.
double hsc_stats_cliffs_delta(const double *x, size_t nx, const double *y, size_t ny);
const char *hsc_stats_cliffs_word(double delta);

typedef enum hsc_verdict {
  HSC_VERDICT_FASTER,
  HSC_VERDICT_SLOWER,
  HSC_VERDICT_SAME,
  HSC_VERDICT_CANNOT_TELL
} hsc_verdict;
const char *hsc_verdict_text(hsc_verdict verdict);  // "faster", "slower", "same", "cannot tell"
typedef struct hsc_comparison {
  hsc_interval ratio;   // of medians, x over y
  double shift;         // Hodges-Lehmann, x - y
  double p_value, u;    // Mann-Whitney
  double delta;         // Cliff's
  hsc_verdict verdict;  // of x against y
} hsc_comparison;
// faster: the ratio's interval lies wholly below 1 and the ratio itself below 1 / (1 + margin); slower: the mirror
// image; same: the interval lies wholly inside [1 / (1 + margin), 1 + margin] (equivalence, as in two one-sided tests,
// Schuirmann 1987); else cannot tell. margin 0 = 0.01.
HSC_MUST_USE hsc_status *hsc_stats_compare(const double *x, size_t nx, const double *y, size_t ny, double margin,
                                           const hsc_interval_options *options, hsc_comparison *out_comparison);

// ---- fits -----------------------------------------------------------------------------------------------------------

enum { HSC_FIT_MAX_TERMS = 6 };
typedef struct hsc_fit {
  size_t sample_count, term_count;
  double coefficient[HSC_FIT_MAX_TERMS];
  double standard_error[HSC_FIT_MAX_TERMS];
  double low[HSC_FIT_MAX_TERMS], high[HSC_FIT_MAX_TERMS];   // Student's t interval
  double covariance[HSC_FIT_MAX_TERMS][HSC_FIT_MAX_TERMS];  // of the coefficients
  double residual_sd;                                       // of the weighted residuals, divisor n - p
  double r_squared;                                         // of the weighted fit, against the weighted mean
  double confidence;
} hsc_fit;
// Least squares y ~ design * coefficients; design is row-major [n][term_count] (put a column of ones for an intercept).
// weights NULL = all 1, else each sample's 1/variance up to a factor. Householder QR (Golub 1965), so nearly parallel
// columns lose few digits. Errors: INVALID_ARGUMENT (n <= term_count, too many terms, a column that depends on the
// others, non-finite input).
HSC_MUST_USE hsc_status *hsc_stats_fit(const double *design, const double *y, const double *weights, size_t n,
                                       size_t term_count, double confidence, hsc_fit *out_fit);
// Value at `row` [term_count] and its prediction interval for one new sample of weight `weight` (1 for unweighted
// fits).
hsc_interval hsc_fit_predict(const hsc_fit *fit, const double *row, double weight);

// ---- series ---------------------------------------------------------------------------------------------------------

// Indices of samples whose modified z-score 0.6745 |x - median| / MAD exceeds 3.5 (Iglewicz & Hoaglin 1993); when the
// MAD is 0, those that differ from the median by more than 3.5 mean absolute deviations. Fills out_indices (room for
// n), returns how many.
size_t hsc_stats_outliers(const double *x, size_t n, size_t *out_indices);

typedef enum hsc_change_cost {
  HSC_CHANGE_MEAN,  // shifts of the mean at constant noise; the noise is estimated from differences of neighbours (MAD
                    // / sqrt 2)
  HSC_CHANGE_MEAN_VARIANCE,  // mean and variance of a normal series change
} hsc_change_cost;
typedef struct hsc_change_options {
  hsc_change_cost cost;
  size_t min_segment;  // 0 = 1 (mean), 3 (mean and variance)
  double penalty;  // per change point, in units of twice the log likelihood; 0 = 3 log n (mean), 15 log n (as Barrett
                   // et al. 2017)
} hsc_change_options;
// Optimal segmentation by PELT (Killick, Fearnhead & Eckley 2012): starts of the segments after the first one,
// ascending, into out_starts (room for n). A variance floor (1e-6 of the series' range, squared) keeps segments of
// equal samples finite. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_change_points(const double *x, size_t n, const hsc_change_options *options,
                                                 size_t *out_starts, size_t *out_count);

// How a series behaves (after Barrett et al., Virtual Machine Warmup Blows Hot and Cold, OOPSLA 2017).
typedef enum hsc_series_class {
  HSC_SERIES_TOO_SHORT,  // fewer than 4 samples: nothing is said
  HSC_SERIES_FLAT,
  HSC_SERIES_WARM_UP,          // gets faster, then stays
  HSC_SERIES_SLOW_DOWN,        // gets slower, then stays
  HSC_SERIES_NO_STEADY_STATE,  // still changing in the last quarter
} hsc_series_class;
const char *hsc_series_class_text(hsc_series_class series_class);  // "flat", "warm-up", ...
typedef struct hsc_series {
  hsc_series_class series_class;
  size_t steady_start;   // first sample of the steady state; n when there is none
  double steady_median;  // median from there on; the whole series' when there is none
  size_t change_count;   // change points found
  size_t outlier_count;  // isolated outliers, which are set aside before change points are looked for
} hsc_series;
// Isolated outliers (a single sample whose neighbours are none) are replaced by their neighbours' median for the search
// only; the first sample is never set aside: a slow first sample is a warm-up. Segments whose medians differ by less
// than 5% or the noise count as one level.
HSC_MUST_USE hsc_status *hsc_stats_classify(const double *x, size_t n, hsc_series *out_series);

// ---- distributions --------------------------------------------------------------------------------------------------

double hsc_stats_normal_cdf(double z);
double hsc_stats_normal_quantile(double p);  // -inf, inf at 0 and 1; NaN outside
double hsc_stats_beta_cdf(double x, double a,
                          double b);  // regularised incomplete beta I_x(a, b), continued fraction (Lentz)
double hsc_stats_t_cdf(double t, double degrees);
double hsc_stats_t_quantile(double p, double degrees);
