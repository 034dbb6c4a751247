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
  double *difference = hsc_alloc(2 * (n - 1) * sizeof(double));
  if (!difference) {
    *out_status = hsc_status_out_of_memory();
    return floor;
  }
  for (size_t i = 0; i + 1 < n; i++)
    difference[i] = x[i + 1] - x[i];
  double sd = hsc__mad_in(difference, n - 1, difference + n - 1) / 1.414213562373095;
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

// A search for the cheapest division: best[end] is the least cost of the values before `end`, and
// previous[end] where its last segment starts.
typedef struct search {
  cost_tables costs;
  double penalty;      // of a segment
  size_t min_segment;  // values
  double *best;
  size_t *previous;
  size_t *candidates;  // starts that a last segment may have
  size_t candidate_count;
  size_t *beaten_at;  // per start: the first end where it could not win any more; 0 = can still win
} search;

static hsc_status *search_init(search *s, const double *x, size_t n) {
  s->costs.sum = hsc_alloc((n + 1) * sizeof(double));
  s->costs.squares = hsc_alloc((n + 1) * sizeof(double));
  s->best = hsc_alloc((n + 1) * sizeof(double));
  s->previous = hsc_alloc((n + 1) * sizeof(size_t));
  s->candidates = hsc_alloc((n + 1) * sizeof(size_t));
  s->beaten_at = hsc_alloc((n + 1) * sizeof(size_t));
  if (!s->costs.sum || !s->costs.squares || !s->best || !s->previous || !s->candidates ||
      !s->beaten_at)
    return hsc_status_out_of_memory();
  double shift = hsc_stats_mean(x, n);
  for (size_t i = 0; i < n; i++) {
    double d = x[i] - shift;
    s->costs.sum[i + 1] = s->costs.sum[i] + d;
    s->costs.squares[i + 1] = s->costs.squares[i] + d * d;
  }
  s->best[0] = -s->penalty;
  return NULL;
}

static void search_deinit(search *s) {
  hsc_free(s->costs.sum);
  hsc_free(s->costs.squares);
  hsc_free(s->best);
  hsc_free(s->previous);
  hsc_free(s->candidates);
  hsc_free(s->beaten_at);
}

static void find_best_until(search *s, size_t end) {
  // A start becomes a candidate when a segment of the least length fits after it.
  size_t start = end - s->min_segment;
  if (start == 0 || start >= s->min_segment)
    s->candidates[s->candidate_count++] = start;
  s->best[end] = INFINITY;
  for (size_t c = 0; c < s->candidate_count; c++) {
    size_t from = s->candidates[c];
    double value = s->best[from] + segment_cost(&s->costs, from, end) + s->penalty;
    if (value < s->best[end]) {
      s->best[end] = value;
      s->previous[end] = from;
    }
  }
}

// Splitting a segment never costs more, so a start that is beaten at `end` even without a penalty
// is beaten by a change at `end` for all later ends, from where such a change is allowed: `end`
// plus the least length.
static void prune(search *s, size_t end) {
  size_t kept = 0;
  for (size_t c = 0; c < s->candidate_count; c++) {
    size_t from = s->candidates[c];
    if (!s->beaten_at[from] && s->best[from] + segment_cost(&s->costs, from, end) >= s->best[end])
      s->beaten_at[from] = end;
    if (!s->beaten_at[from] || end + 1 < s->beaten_at[from] + s->min_segment)
      s->candidates[kept++] = from;
  }
  s->candidate_count = kept;
}

// The starts of the segments but the first, in order. Returns how many.
static size_t starts_of(const search *s, size_t n, size_t *out_starts) {
  size_t count = 0;
  for (size_t at = s->previous[n]; at > 0; at = s->previous[at])
    out_starts[count++] = at;
  for (size_t i = 0; i < count / 2; i++) {
    size_t other = out_starts[i];
    out_starts[i] = out_starts[count - 1 - i];
    out_starts[count - 1 - i] = other;
  }
  return count;
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
  search s = {.costs = {.kind = o.cost, .noise = noise_variance(x, n, o.cost, &status)},
              .penalty = o.penalty,
              .min_segment = o.min_segment};
  HSC_TRY(status);
  status = search_init(&s, x, n);
  for (size_t end = o.min_segment; end <= n && !status; end++) {
    find_best_until(&s, end);
    prune(&s, end);
  }
  if (!status)
    *out_count = starts_of(&s, n, out_starts);
  search_deinit(&s);
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
  double *scratch = hsc_alloc(n * sizeof(double));
  size_t *starts = hsc_alloc((n + 1) * sizeof(size_t));
  size_t count = 0;
  hsc_status *status = NULL;
  if (!clean || !scratch || !starts) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  status = hsc_stats_level_changes(x, n, clean, starts, &count, &s.outlier_count);
  if (status)
    goto done;
  s.change_count = count;

  // Walk back from the last segment while the level stays the same.
  size_t last = count ? starts[count - 1] : 0;
  double level = hsc__median_in(clean + last, n - last, scratch);
  double noise = n - last >= 4 ? hsc__mad_in(clean + last, n - last, scratch) : 0;
  double tolerance = fmax(0.05 * fabs(level), noise);
  size_t steady = last;
  size_t k = count;
  while (k > 0) {
    size_t from = k >= 2 ? starts[k - 2] : 0;
    if (fabs(hsc__median_in(clean + from, starts[k - 1] - from, scratch) - level) > tolerance)
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
        hsc__median_in(clean, steady, scratch) > level ? HSC_SERIES_WARM_UP : HSC_SERIES_SLOW_DOWN;
  }
  if (s.series_class != HSC_SERIES_NO_STEADY_STATE) {
    s.steady_start = steady;
    s.steady_median = hsc__median_in(x + steady, n - steady, scratch);
  }
  *out_series = s;

done:
  hsc_free(clean);
  hsc_free(scratch);
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
