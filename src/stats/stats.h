// stats.h - statistics of measured series: location, spread, intervals, comparison, fits, change
// points, outliers.
//
// Pure functions over `const double *x, size_t n`: nothing is kept between calls, the input is
// never changed, and whatever is random takes its seed as an argument, so that the same samples
// give the same report. Thread-safe. Bad input: n = 0 or a NaN among the samples gives NaN (never a
// crash, never a number that looks measured); hsc_stats_summarize counts non-finite samples and
// leaves them out. Functions that need scratch memory give NaN or RESOURCE_EXHAUSTED when there is
// none. Units are the caller's; results have the same unit unless a comment says otherwise.
//
//   hsc_summary s;
//   HSC_TRY(hsc_stats_summarize(times_ns, n, &(hsc_interval_options){.seed = 1}, &s));
//   printf("median %.0f ns [%.0f, %.0f]\n", s.median, s.median_low, s.median_high);
#pragma once

#include "base/core/status.h"

typedef struct hsc_interval {
  double estimate, low, high;
} hsc_interval;

// ---- location and spread ------------------------------------------------------------------------

double hsc_stats_mean(const double *x, size_t n);
// sample standard deviation, divisor n - 1; NaN for n < 2. Welford's recurrence (1962).
double hsc_stats_sd(const double *x, size_t n);
double hsc_stats_min(const double *x, size_t n);
double hsc_stats_max(const double *x, size_t n);
// middle of the sorted samples, mean of the two middle ones when n is even
double hsc_stats_median(const double *x, size_t n);
// Linear interpolation between order statistics at (n - 1) q: type 7 of Hyndman & Fan (1996),
// numpy's default. q in [0, 1], else NaN.
double hsc_stats_quantile(const double *x, size_t n, double q);
// Harrell & Davis (1982): the order statistics weighted by a Beta((n+1)q, (n+1)(1-q)) distribution.
// Smoother than type 7 for small n. 0 < q < 1.
double hsc_stats_quantile_hd(const double *x, size_t n, double q);
// Median absolute deviation from the median, times 1.4826 so that it estimates the standard
// deviation of a normal series.
double hsc_stats_mad(const double *x, size_t n);

// ---- percentiles with permission ----------------------------------------------------------------

// The least number of samples whose extremes hold the quantile q with this confidence: 1 - q^n - (1
// - q)^n >= confidence. 6 for the median at 95 %, 59 for 0.95, 299 for 0.99. SIZE_MAX when q or
// confidence is outside (0, 1).
size_t hsc_stats_quantile_needs(double q, double confidence);
// Type 7 quantile with the order-statistic interval (Hahn & Meeker 1991, section 5.2; ranks from
// the binomial distribution, equal tails, an extreme's own tail where equal ones have no rank;
// scipy.stats.quantile_test gives the same). Ends are NaN where hsc_stats_quantile_needs asks for
// more samples: the percentile is then not to be printed. `sorted` ascending, finite. confidence 0
// = 0.95. n = 0 or q outside (0, 1): NaN.
hsc_interval hsc_stats_quantile_interval(const double *sorted,
                                         size_t n,
                                         double q,
                                         double confidence);

// How many independent samples a correlated series is worth: n / (1 + 2 sum of autocorrelations),
// summed in pairs of lags up to the first pair that is not positive (Geyer 1992, initial positive
// sequence); 1 to n. Fewer than 4 samples, no spread, or a first pair that chance makes of
// independent samples (1 %): n.
// Lags are cut so that 2e8 products are enough. NaN among them: NaN.
double hsc_stats_effective_count(const double *x, size_t n);

// ---- modes --------------------------------------------------------------------------------------

typedef struct hsc_mode {
  double median, low, high;  // of the samples of this mode
  size_t count;
  double share;  // of all finite samples
} hsc_mode;
// The modes, ascending: a Gaussian density (on a logarithmic scale when all samples are positive)
// with the bandwidth of Botev, Grotowski & Kroese (Annals of Statistics 38, 2010), on 1024 points;
// a valley counts when it holds fewer samples than windows of its width at both peaks (one-sided
// binomial, 0.001) and at most 0.7 times as many; a mode has 5 samples and 2 % of them at least;
// levels closer than 2 % are one. Under 16 samples or without spread there is one mode; no finite
// sample: none. Non-finite samples are left out. At most `room` modes (the last one takes the
// rest).
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_modes(
    const double *x, size_t n, hsc_mode *out_modes, size_t room, size_t *out_count);

// How an interval is made. Zeroed fields take the default.
typedef struct hsc_interval_options {
  double confidence;        // 0 = 0.95; must be in (0.5, 1)
  uint32_t resample_count;  // 0 = 2000
  uint64_t seed;
  // BCa with the tail that hsc_stats_bootstrap_blocks uses: covers 95 % from 6 samples on, where
  // plain BCa covers 92 to 94
  bool widen_small;
} hsc_interval_options;

typedef struct hsc_summary {
  size_t count;            // finite samples
  size_t nonfinite_count;  // left out
  double mean, median, min, max;
  double sd, mad;  // NaN when count < 2 (mad: 0)
  double q1, q3;   // type 7 quartiles
  // bootstrap interval of the median (BCa, widen_small); NaN under HSC_LEAST_FOR_INTERVAL samples
  double median_low, median_high;
  double confidence;
} hsc_summary;
// All of the above in one go. count = 0 gives NaN everywhere and no error. Errors: INVALID_ARGUMENT
// (confidence), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_summarize(const double *x,
                                             size_t n,
                                             const hsc_interval_options *options,
                                             hsc_summary *out_summary);

// ---- intervals by resampling --------------------------------------------------------------------

// The least number of units (samples, blocks, processes) that an interval is made from: the
// extremes of fewer do not hold the median with 95 % (hsc_stats_quantile_needs(0.5, 0.95)), so a
// width from them is luck, and so is what is extrapolated from that width. Below it every function
// here leaves the ends NaN; nothing is claimed and no number of further runs is told.
enum { HSC_LEAST_FOR_INTERVAL = 6 };

typedef double (*hsc_statistic)(const double *x, size_t n);
// Bias-corrected and accelerated bootstrap (Efron 1987; Efron & Tibshirani 1993, chapter 14):
// resample with replacement, shift the percentiles by the bias z0 = Phi^-1(share of resamples below
// the estimate, ties half) and the acceleration a from the jackknife: level = Phi(z0 + (z0 + z) /
// (1 - a (z0 + z))). A series without spread gives a point; fewer than HSC_LEAST_FOR_INTERVAL
// samples, or NaN among them, give ends of NaN. Resampled medians are drawn
// from their exact distribution: a resample's time does not depend on n.
HSC_MUST_USE hsc_status *hsc_stats_bootstrap(hsc_statistic statistic,
                                             const double *x,
                                             size_t n,
                                             const hsc_interval_options *options,
                                             hsc_interval *out_interval);
// The same for samples that come in blocks (one block per trial, process or compile), the
// hierarchical bootstrap: blocks are drawn with replacement, each with its samples as they are
// (Davison & Hinkley 1997, section 3.8: drawing within blocks too would count their noise twice);
// acceleration from the jackknife over blocks; the normal quantile of the tail is replaced by
// sqrt(B / (B - 1)) times Student's with B - 1 degrees of freedom, without which few blocks give
// too narrow an interval (Hesterberg 2015, section 4.1.4). block_sizes[block_count] add up to n;
// samples of a block are contiguous. Two to five blocks: ends of NaN. Under 12 blocks the
// resamples' range itself is too narrow: estimate -+ that tail times their standard deviation (on a
// logarithmic scale where all are positive). One block: as if there were none. Errors:
// INVALID_ARGUMENT (an empty block), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_bootstrap_blocks(hsc_statistic statistic,
                                                    const double *x,
                                                    const size_t *block_sizes,
                                                    size_t block_count,
                                                    const hsc_interval_options *options,
                                                    hsc_interval *out_interval);

// ---- two series ---------------------------------------------------------------------------------

// median(x) / median(y) with a percentile bootstrap interval, both sides resampled. NaN when a side
// is empty or median(y) is 0.
HSC_MUST_USE hsc_status *hsc_stats_ratio_of_medians(const double *x,
                                                    size_t nx,
                                                    const double *y,
                                                    size_t ny,
                                                    const hsc_interval_options *options,
                                                    hsc_interval *out_ratio);
// Median of all differences x[i] - y[j] (Hodges & Lehmann 1963). Over a million pairs by counting
// in sorted sides: O((nx + ny) log), to the last bit.
double hsc_stats_hodges_lehmann(const double *x, size_t nx, const double *y, size_t ny);
// Mann & Whitney (1947), two-sided. *out_u (may be NULL) counts pairs with x > y, ties half. Exact
// distribution when there are no ties and the smaller side has at most 8 samples, else the normal
// approximation with tie correction and continuity correction: SciPy's method='auto'.
double hsc_stats_mann_whitney(
    const double *x, size_t nx, const double *y, size_t ny, double *out_u);
// Brunner & Munzel (2000), two-sided, Student's t with Satterthwaite's degrees of freedom: unlike
// Mann & Whitney it does not take the two spreads to be equal. *out_p_greater (may be NULL): P(x >
// y) + P(x = y) / 2, Vargha & Delaney's A. NaN with fewer than two samples a side and where the
// sides do not overlap at all (no variance is left to judge by: Mann & Whitney's is the one to
// read).
double hsc_stats_brunner_munzel(
    const double *x, size_t nx, const double *y, size_t ny, double *out_p_greater);
// Cliff's delta = P(x > y) - P(x < y), in [-1, 1] (Cliff 1993); the word for its size by Romano et
// al. (2006): negligible below 0.147, small below 0.33, medium below 0.474, else large.
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
  hsc_interval ratio;     // of medians, x over y
  double shift;           // Hodges-Lehmann, x - y
  double p_value, u;      // Mann-Whitney
  double brunner_munzel;  // its p value
  // p value of "the ratio lies outside the margin": the larger of the two one-sided bootstrap tests
  // (Schuirmann 1987)
  double equivalence;
  double margin;  // that was used
  // "cannot tell": about so many more runs a side would tell, as intervals narrow by the square
  // root; at the very edge of the margin none would: infinity; no interval at all: NaN. 0 with any
  // other verdict.
  double more_runs;
  double delta;         // Cliff's
  hsc_verdict verdict;  // of x against y
} hsc_comparison;
// faster: the ratio's interval lies wholly below 1 and the ratio itself below 1 / (1 + margin);
// slower: the mirror image; same: the interval lies wholly inside [1 / (1 + margin), 1 + margin]
// (equivalence, as in two one-sided tests, Schuirmann 1987); else cannot tell. Fewer than
// HSC_LEAST_FOR_INTERVAL samples on a side have no interval and claim nothing. margin 0 = 0.01.
// Errors: INVALID_ARGUMENT (margin, confidence), RESOURCE_EXHAUSTED. Runs that follow each other
// share what the machine did meanwhile: the intervals hold for interleaved runs.
HSC_MUST_USE hsc_status *hsc_stats_compare(const double *x,
                                           size_t nx,
                                           const double *y,
                                           size_t ny,
                                           double margin,
                                           const hsc_interval_options *options,
                                           hsc_comparison *out_comparison);

// The verdict and more_runs of a comparison whose ratio is known (and may have been widened since),
// with n samples on the smaller side.
void hsc_stats_decide(hsc_comparison *comparison, double margin, size_t n);

// ---- fits ---------------------------------------------------------------------------------------

enum { HSC_FIT_MAX_TERMS = 6 };
typedef struct hsc_fit {
  size_t sample_count, term_count;
  double coefficient[HSC_FIT_MAX_TERMS];
  double standard_error[HSC_FIT_MAX_TERMS];
  double low[HSC_FIT_MAX_TERMS], high[HSC_FIT_MAX_TERMS];   // Student's t interval
  double covariance[HSC_FIT_MAX_TERMS][HSC_FIT_MAX_TERMS];  // of the coefficients
  // of the weighted residuals, divisor n - p
  double residual_sd;
  // of the weighted fit, against the weighted mean
  double r_squared;
  double confidence;
} hsc_fit;
// Least squares with no coefficient below zero: of all choices of terms whose own fit is not
// negative the one with the smallest residual (the others are 0). out_coefficient has term_count
// entries. Errors: as hsc_stats_fit; INVALID_ARGUMENT also when no choice fits (y is negative).
HSC_MUST_USE hsc_status *hsc_stats_fit_nonnegative(const double *design,
                                                   const double *y,
                                                   const double *weights,
                                                   size_t n,
                                                   size_t term_count,
                                                   double *out_coefficient);
// Least squares y ~ design * coefficients; design is row-major [n][term_count] (put a column of
// ones for an intercept). weights NULL = all 1, else each sample's 1/variance up to a factor.
// Householder QR (Golub 1965), so nearly parallel columns lose few digits. Errors: INVALID_ARGUMENT
// (n <= term_count, too many terms, a column that depends on the others, non-finite input).
HSC_MUST_USE hsc_status *hsc_stats_fit(const double *design,
                                       const double *y,
                                       const double *weights,
                                       size_t n,
                                       size_t term_count,
                                       double confidence,
                                       hsc_fit *out_fit);
// Theil (1950) & Sen (1968): the median of the slopes of all pairs with x[i] != x[j], with Sen's
// interval from Kendall's statistic (ties counted; scipy.stats.theilslopes gives the same), and the
// intercept median(y) - slope median(x). Up to a quarter of the samples may be anything.
// Errors: INVALID_ARGUMENT (n < 2, more than 20,000 samples, non-finite input, all x equal),
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_theil_sen(const double *x,
                                             const double *y,
                                             size_t n,
                                             double confidence,
                                             hsc_interval *out_slope,
                                             double *out_intercept);
// Value at `row` [term_count] and its prediction interval for one new sample of weight `weight` (1
// for unweighted fits).
hsc_interval hsc_fit_predict(const hsc_fit *fit, const double *row, double weight);

// ---- series -------------------------------------------------------------------------------------

// Indices of samples whose modified z-score 0.6745 |x - median| / MAD exceeds 3.5 (Iglewicz &
// Hoaglin 1993); when the MAD is 0, those that differ from the median by more than 3.5 mean
// absolute deviations. Fills out_indices (room for n), returns how many.
size_t hsc_stats_outliers(const double *x, size_t n, size_t *out_indices);

typedef enum hsc_change_cost {
  // shifts of the mean at constant noise; the noise is estimated from differences of neighbours
  // (MAD / sqrt 2)
  HSC_CHANGE_MEAN,
  HSC_CHANGE_MEAN_VARIANCE,  // mean and variance of a normal series change
} hsc_change_cost;
typedef struct hsc_change_options {
  hsc_change_cost cost;
  size_t min_segment;  // 0 = 1 (mean), 3 (mean and variance)
  // per change point, in units of twice the log likelihood; 0 = 3 log n (mean), 15 log n (as
  // Barrett et al. 2017)
  double penalty;
} hsc_change_options;
// Optimal segmentation by PELT (Killick, Fearnhead & Eckley 2012): starts of the segments after the
// first one, ascending, into out_starts (room for n). Over 20,000 samples the search is over means
// of so many neighbours that 20,000 are left, and the starts are exact to that many samples. A
// variance floor (1e-6 of the series' range, squared) keeps segments of equal samples finite.
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_change_points(const double *x,
                                                 size_t n,
                                                 const hsc_change_options *options,
                                                 size_t *out_starts,
                                                 size_t *out_count);

// How a series behaves (after Barrett et al., Virtual Machine Warmup Blows Hot and Cold, OOPSLA
// 2017).
typedef enum hsc_series_class {
  HSC_SERIES_TOO_SHORT,  // fewer than 4 samples: nothing is said
  HSC_SERIES_FLAT,
  HSC_SERIES_WARM_UP,          // gets faster, then stays
  HSC_SERIES_SLOW_DOWN,        // gets slower, then stays
  HSC_SERIES_NO_STEADY_STATE,  // still changing in the last quarter
  HSC_SERIES_INCONSISTENT,     // several processes: not all behave alike
} hsc_series_class;
const char *hsc_series_class_text(hsc_series_class series_class);  // "flat", "warm-up", ...
typedef struct hsc_series {
  hsc_series_class series_class;
  size_t steady_start;   // first sample of the steady state; n when there is none
  double steady_median;  // median from there on; the whole series' when there is none
  size_t change_count;   // change points found
  // isolated outliers, which are set aside before change points are looked for
  size_t outlier_count;
} hsc_series;
// Isolated outliers (a single sample whose neighbours are none) are replaced by their neighbours'
// median for the search only; the first sample is never set aside: a slow first sample is a
// warm-up. Segments whose medians differ by less than 5% or the noise count as one level.
HSC_MUST_USE hsc_status *hsc_stats_classify(const double *x, size_t n, hsc_series *out_series);
// The same for several processes that ran one program, [sum of sizes] samples, those of a process
// contiguous: their common class, INCONSISTENT when they differ (flat beside warm-up counts as
// warm-up: a process that was warm from the start is not another behaviour). steady_start is the
// latest, steady_median the median of the processes' medians. out_each (may be NULL) has room for
// process_count. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_classify_processes(const double *x,
                                                      const size_t *sizes,
                                                      size_t process_count,
                                                      hsc_series *out_series,
                                                      hsc_series *out_each);

// ---- distributions ------------------------------------------------------------------------------

double hsc_stats_normal_cdf(double z);
double hsc_stats_normal_quantile(double p);  // -inf, inf at 0 and 1; NaN outside
// regularised incomplete beta I_x(a, b), continued fraction (Lentz)
double hsc_stats_beta_cdf(double x, double a, double b);
// How often something happens, of independent trials of which so many were hits: the exact interval
// of Clopper & Pearson (1934), equal tails. confidence 0 = 0.95. NaN without a trial, or with hits
// outside 0 to trials.
hsc_interval hsc_stats_share_interval(int64_t hits, int64_t trials, double confidence);
double hsc_stats_t_cdf(double t, double degrees);
double hsc_stats_t_quantile(double p, double degrees);

// Sorts in place, ascending; x holds no NaN.
void hsc_sort_doubles(double *x, size_t n);
// The change points that hsc_stats_classify goes by: isolated outliers set aside into `clean` [n];
// starts has room for n.
HSC_MUST_USE hsc_status *hsc_stats_level_changes(const double *x,
                                                 size_t n,
                                                 double *clean,
                                                 size_t *starts,
                                                 size_t *out_count,
                                                 size_t *out_set_aside);
