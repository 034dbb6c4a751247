// stats_series.c - outliers, change points, and what kind of series it is.
#include "base/core/memory.h"
#include "stats/stats_internal.h"

#include <math.h>

size_t hsc_stats_outliers(const double *x, size_t n, size_t *out_indices) {
  if (n < 3 || hsc__has_nan(x, n))
    return 0;
  // the MAD is already scaled to a standard deviation
  double median = hsc_stats_median(x, n);
  double spread = hsc_stats_mad(x, n);
  if (spread == 0) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
      sum += fabs(x[i] - median);
    // sqrt(pi / 2): mean absolute deviation of a normal series to its standard deviation
    spread = 1.253314137315500 * sum / (double)n;
  }
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (spread > 0 && fabs(x[i] - median) > 3.5 * spread)
      out_indices[count++] = i;
  return count;
}

// ---- change points ------------------------------------------------------------------------------

enum { LONGEST_SEARCH = 20000 };  // PELT is quadratic where nothing changes

typedef struct cost_tables {
  double *sum, *squares;  // prefix sums of the series, shifted by its mean
  // variance of the noise (mean cost), or the variance floor (mean and variance cost)
  double noise;
  hsc_change_cost kind;
} cost_tables;

// Minus twice the log likelihood of samples [from, to), up to a constant per sample.
static double segment_cost(const cost_tables *t, size_t from, size_t to) {
  double count = (double)(to - from);
  double sum = t->sum[to] - t->sum[from];
  double within = fmax(0, t->squares[to] - t->squares[from] - sum * sum / count);
  if (t->kind == HSC_CHANGE_MEAN)
    return within / t->noise;
  // the likelihood is maximised over variances from the floor up
  double variance = fmax(within / count, t->noise);
  return count * log(variance) + within / variance;
}

static double noise_variance(const double *x,
                             size_t n,
                             hsc_change_cost kind,
                             hsc_status **out_status) {
  double range = hsc_stats_max(x, n) - hsc_stats_min(x, n);
  double floor = 1e-12 * range * range;
  if (kind == HSC_CHANGE_MEAN_VARIANCE || n < 3)
    return floor;
  double *difference = hsc_alloc((n - 1) * sizeof(double));
  if (!difference) {
    *out_status = hsc_status_out_of_memory();
    return floor;
  }
  for (size_t i = 0; i + 1 < n; i++)
    difference[i] = x[i + 1] - x[i];
  double sd = hsc_stats_mad(difference, n - 1) / 1.414213562373095;
  hsc_free(difference);
  return fmax(sd * sd, floor);
}

// The search over means of neighbours, so that a series of any length takes a bounded time.
static hsc_status *coarse_change_points(const double *x,
                                        size_t n,
                                        const hsc_change_options *options,
                                        size_t *out_starts,
                                        size_t *out_count) {
  size_t group = (n + LONGEST_SEARCH - 1) / LONGEST_SEARCH;
  size_t count = n / group;
  double *means = hsc_alloc(count * sizeof(double));
  if (!means)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++)
    means[i] = hsc_stats_mean(x + i * group, group);
  hsc_status *status = hsc_stats_change_points(means, count, options, out_starts, out_count);
  for (size_t i = 0; i < *out_count; i++)
    out_starts[i] *= group;
  hsc_free(means);
  return status;
}

hsc_status *hsc_stats_change_points(const double *x,
                                    size_t n,
                                    const hsc_change_options *options,
                                    size_t *out_starts,
                                    size_t *out_count) {
  if (n > LONGEST_SEARCH)
    return coarse_change_points(x, n, options, out_starts, out_count);
  hsc_change_options o = options ? *options : (hsc_change_options){0};
  if (o.min_segment == 0)
    o.min_segment = o.cost == HSC_CHANGE_MEAN ? 1 : 3;
  if (o.penalty == 0)
    o.penalty = (o.cost == HSC_CHANGE_MEAN ? 3 : 15) * log((double)(n > 1 ? n : 2));
  *out_count = 0;
  if (n < 2 * o.min_segment || n < 2 || hsc__has_nan(x, n) ||
      hsc_stats_max(x, n) == hsc_stats_min(x, n))
    return NULL;

  hsc_status *status = NULL;
  cost_tables t = {.kind = o.cost, .noise = noise_variance(x, n, o.cost, &status)};
  if (status)
    return status;
  t.sum = hsc_alloc((n + 1) * sizeof(double));
  t.squares = hsc_alloc((n + 1) * sizeof(double));
  double *best = hsc_alloc((n + 1) * sizeof(double));
  size_t *previous = hsc_alloc((n + 1) * sizeof(size_t));
  size_t *candidates = hsc_alloc((n + 1) * sizeof(size_t));
  size_t candidate_count = 0;
  // per start: the first end where it could not win any more; 0 = can still win
  size_t *beaten_at = hsc_alloc((n + 1) * sizeof(size_t));
  if (!t.sum || !t.squares || !best || !previous || !candidates || !beaten_at) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  double shift = hsc_stats_mean(x, n);
  for (size_t i = 0; i < n; i++) {
    double d = x[i] - shift;
    t.sum[i + 1] = t.sum[i] + d;
    t.squares[i + 1] = t.squares[i] + d * d;
  }
  best[0] = -o.penalty;
  for (size_t end = o.min_segment; end <= n; end++) {
    // A start becomes a candidate when a segment of the least length fits after it.
    size_t start = end - o.min_segment;
    if (start == 0 || start >= o.min_segment)
      candidates[candidate_count++] = start;
    best[end] = INFINITY;
    for (size_t c = 0; c < candidate_count; c++) {
      double value = best[candidates[c]] + segment_cost(&t, candidates[c], end) + o.penalty;
      if (value < best[end]) {
        best[end] = value;
        previous[end] = candidates[c];
      }
    }
    // Pruning: splitting a segment never costs more, so a start that is beaten at `end` even
    // without a penalty is beaten by a change at `end` for all later ends, from where such a change
    // is allowed: `end` plus the least length.
    size_t kept = 0;
    for (size_t c = 0; c < candidate_count; c++) {
      size_t s = candidates[c];
      if (!beaten_at[s] && best[s] + segment_cost(&t, s, end) >= best[end])
        beaten_at[s] = end;
      if (!beaten_at[s] || end + 1 < beaten_at[s] + o.min_segment)
        candidates[kept++] = s;
    }
    candidate_count = kept;
  }
  size_t count = 0;
  for (size_t at = previous[n]; at > 0; at = previous[at])
    out_starts[count++] = at;
  for (size_t i = 0; i < count / 2; i++) {
    size_t other = out_starts[i];
    out_starts[i] = out_starts[count - 1 - i];
    out_starts[count - 1 - i] = other;
  }
  *out_count = count;

done:
  hsc_free(t.sum);
  hsc_free(t.squares);
  hsc_free(best);
  hsc_free(previous);
  hsc_free(candidates);
  hsc_free(beaten_at);
  return status;
}

// ---- classes ------------------------------------------------------------------------------------

const char *hsc_series_class_text(hsc_series_class series_class) {
  static const char *const text[] = {"too short",       "flat",        "warm-up", "slow-down",
                                     "no steady state", "inconsistent"};
  return text[series_class];
}

// Replaces outliers that stand alone by the median of up to two neighbours on each side. Returns
// how many.
static size_t set_outliers_aside(double *x, size_t n, size_t *indices) {
  size_t count = hsc_stats_outliers(x, n, indices);
  size_t replaced = 0;
  for (size_t k = 0; k < count; k++) {
    size_t i = indices[k];
    bool alone =
        i > 0 && (k == 0 || indices[k - 1] + 1 != i) && (k + 1 == count || indices[k + 1] != i + 1);
    if (!alone)
      continue;
    double around[4];
    size_t m = 0;
    for (size_t j = i >= 2 ? i - 2 : 0; j <= i + 2 && j < n; j++)
      if (j != i)
        around[m++] = x[j];
    x[i] = hsc_stats_median(around, m);
    replaced++;
  }
  return replaced;
}

hsc_status *hsc_stats_level_changes(const double *x,
                                    size_t n,
                                    double *clean,
                                    size_t *starts,
                                    size_t *out_count,
                                    size_t *out_set_aside) {
  memcpy(clean, x, n * sizeof(double));
  *out_set_aside = set_outliers_aside(clean, n, starts);
  // Long series have enough samples a segment to tell variances; short ones only levels.
  hsc_change_options options = {.cost = n >= 60 ? HSC_CHANGE_MEAN_VARIANCE : HSC_CHANGE_MEAN};
  return hsc_stats_change_points(clean, n, &options, starts, out_count);
}

hsc_status *hsc_stats_classify(const double *x, size_t n, hsc_series *out_series) {
  hsc_series s = {.series_class = HSC_SERIES_TOO_SHORT,
                  .steady_start = n,
                  .steady_median = hsc_stats_median(x, n)};
  *out_series = s;
  if (n < 4 || hsc__has_nan(x, n))
    return NULL;
  double *clean = hsc_alloc(n * sizeof(double));
  size_t *starts = hsc_alloc((n + 1) * sizeof(size_t));
  size_t count = 0;
  hsc_status *status = NULL;
  if (!clean || !starts) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  status = hsc_stats_level_changes(x, n, clean, starts, &count, &s.outlier_count);
  if (status)
    goto done;
  s.change_count = count;

  // Walk back from the last segment while the level stays the same.
  size_t last = count ? starts[count - 1] : 0;
  double level = hsc_stats_median(clean + last, n - last);
  double noise = n - last >= 4 ? hsc_stats_mad(clean + last, n - last) : 0;
  double tolerance = fmax(0.05 * fabs(level), noise);
  size_t steady = last;
  size_t k = count;
  while (k > 0) {
    size_t from = k >= 2 ? starts[k - 2] : 0;
    if (fabs(hsc_stats_median(clean + from, starts[k - 1] - from) - level) > tolerance)
      break;
    steady = from;
    k--;
  }
  if (steady == 0) {
    s.series_class = HSC_SERIES_FLAT;
  } else if (n - steady < (n + 3) / 4) {
    s.series_class = HSC_SERIES_NO_STEADY_STATE;
  } else {
    s.series_class =
        hsc_stats_median(clean, steady) > level ? HSC_SERIES_WARM_UP : HSC_SERIES_SLOW_DOWN;
  }
  if (s.series_class != HSC_SERIES_NO_STEADY_STATE) {
    s.steady_start = steady;
    s.steady_median = hsc_stats_median(x + steady, n - steady);
  }
  *out_series = s;

done:
  hsc_free(clean);
  hsc_free(starts);
  return status;
}

hsc_status *hsc_stats_classify_processes(const double *x,
                                         const size_t *sizes,
                                         size_t process_count,
                                         hsc_series *out_series,
                                         hsc_series *out_each) {
  hsc_series all = {.series_class = HSC_SERIES_TOO_SHORT, .steady_median = NAN};
  double *medians = hsc_alloc((process_count + 1) * sizeof(double));
  hsc_status *status = medians ? NULL : hsc_status_out_of_memory();
  bool warm = false;
  for (size_t p = 0, at = 0; p < process_count && !status; at += sizes[p], p++) {
    hsc_series s = {0};
    status = hsc_stats_classify(x + at, sizes[p], &s);
    medians[p] = s.steady_median;
    if (out_each)
      out_each[p] = s;
    hsc_series_class seen = s.series_class;
    warm = warm || seen == HSC_SERIES_WARM_UP;
    if (seen == HSC_SERIES_WARM_UP)
      seen = HSC_SERIES_FLAT;
    if (p == 0)
      all.series_class = seen;
    else if (all.series_class != seen)
      all.series_class = HSC_SERIES_INCONSISTENT;
    if (s.steady_start > all.steady_start)
      all.steady_start = s.steady_start;
    all.change_count += s.change_count;
    all.outlier_count += s.outlier_count;
  }
  if (!status) {
    all.steady_median = hsc_stats_median(medians, process_count);
    if (all.series_class == HSC_SERIES_FLAT && warm)
      all.series_class = HSC_SERIES_WARM_UP;
    *out_series = all;
  }
  hsc_free(medians);
  return status;
}
