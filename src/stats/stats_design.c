// stats_design.c - repetitions, order, stopping, and the meaning of compile and run times together.
#include "base/core/memory.h"
#include "base/core/random.h"
#include "stats/stats_design.h"

#include <math.h>

#include "stats/stats_internal.h"

// ---- pilot --------------------------------------------------------------------------------------

static hsc_status *check_pilot(const hsc_pilot *p, double half_width, size_t *out_count) {
  if (p->level_count < 1 || p->level_count > HSC_DESIGN_MAX_LEVELS)
    return HSC_ERR(INVALID_ARGUMENT, "a pilot has 1 to %d levels, not %zu", HSC_DESIGN_MAX_LEVELS,
                   p->level_count);
  if (!(half_width > 0))
    return HSC_ERR(INVALID_ARGUMENT, "the wanted half width must be positive, got %g", half_width);
  size_t count = 1;
  for (size_t i = 0; i < p->level_count; i++) {
    if (p->counts[i] < 2)
      return HSC_ERR(INVALID_ARGUMENT,
                     "level %zu of the pilot has %zu repetitions; a variance needs 2", i,
                     p->counts[i]);
    if (!(p->cost[i] > 0) || !isfinite(p->cost[i]))
      return HSC_ERR(INVALID_ARGUMENT, "level %zu of the pilot costs %g s; a cost is positive", i,
                     p->cost[i]);
    if (!hsc_mul_size(count, p->counts[i], &count))
      return HSC_ERR(INVALID_ARGUMENT, "the pilot has too many samples");
  }
  for (size_t i = 0; i < count; i++)
    if (!isfinite(p->samples[i]))
      return HSC_ERR(INVALID_ARGUMENT, "sample %zu of the pilot is not finite", i);
  *out_count = count;
  return NULL;
}

// Mean over groups of the variance within each group of `size` neighbours; the means of the groups
// replace the values.
static double fold_level(double *values, size_t groups, size_t size) {
  double sum = 0;
  for (size_t g = 0; g < groups; g++) {
    double sd = hsc_stats_sd(values + g * size, size);
    sum += sd * sd;
    values[g] = hsc_stats_mean(values + g * size, size);
  }
  return sum / (double)groups;
}

hsc_status *hsc_stats_pilot(const hsc_pilot *pilot,
                            double half_width,
                            double budget_seconds,
                            hsc_design *out_design) {
  size_t count = 0;
  size_t levels = pilot->level_count;
  HSC_TRY(check_pilot(pilot, half_width, &count));
  double *values = hsc_alloc(count * sizeof(double));
  double spread[HSC_DESIGN_MAX_LEVELS];
  if (!values)
    return hsc_status_out_of_memory();
  memcpy(values, pilot->samples, count * sizeof(double));
  hsc_design d = {.note = "within the budget"};
  for (size_t i = 0, left = count; i < levels; i++) {
    left /= pilot->counts[i];
    spread[i] = fold_level(values, left, pilot->counts[i]);
    d.variance[i] =
        i ? fmax(0, spread[i] - spread[i - 1] / (double)pilot->counts[i - 1]) : spread[0];
  }
  d.mean = values[0];
  hsc_free(values);
  double unit_cost = pilot->cost[0];
  for (size_t i = 0; i + 1 < levels; i++) {
    double wanted =
        d.variance[i + 1] > 0
            ? ceil(sqrt(pilot->cost[i + 1] / pilot->cost[i] * d.variance[i] / d.variance[i + 1]))
            : (double)pilot->counts[i];
    d.counts[i] = (size_t)fmin(10000, fmax(1, wanted));
    unit_cost = (double)d.counts[i] * unit_cost + pilot->cost[i + 1];
  }
  // Variance of one mean of the highest level under the new counts.
  double variance = d.variance[levels - 1];
  double repetitions = 1;
  for (size_t i = levels - 1; i-- > 0;)
    variance += d.variance[i] / (repetitions *= (double)d.counts[i]);
  double share = d.mean != 0 ? sqrt(variance) / fabs(d.mean) : INFINITY;
  double top = 3;
  while (top < 1e6 && hsc_stats_t_quantile(0.975, top - 1) * share / sqrt(top) > half_width)
    top = ceil(top * 1.02 + 0.5);
  if (budget_seconds > 0 && top * unit_cost > budget_seconds) {
    top = fmax(3, floor(budget_seconds / unit_cost));
    d.note = "the budget ends it first";
  }
  d.counts[levels - 1] = (size_t)top;
  d.half_width = hsc_stats_t_quantile(0.975, top - 1) * share / sqrt(top);
  d.seconds = top * unit_cost;
  *out_design = d;
  return NULL;
}

void hsc_stats_interleave(size_t variants, size_t blocks, uint64_t seed, size_t *out_order) {
  hsc_random random;
  hsc_random_init(&random, seed);
  for (size_t b = 0; b < blocks; b++) {
    size_t *order = out_order + b * variants;
    for (size_t i = 0; i < variants; i++)
      order[i] = i;
    for (size_t i = variants; i > 1; i--) {
      size_t k = hsc_random_below(&random, i);
      size_t t = order[i - 1];
      order[i - 1] = order[k];
      order[k] = t;
    }
  }
}

// ---- stopping -----------------------------------------------------------------------------------

const char *hsc_stop_text(hsc_stop stop) {
  static const char *const text[] = {"goes on", "the interval is narrow enough",
                                     "the time budget is spent", "as many samples as were allowed"};
  return text[stop];
}

// Whether n is one of least, least * 1.1, ...
static bool looks_at(size_t n, size_t least) {
  size_t at = least;
  while (at < n)
    at += at / 10 ? at / 10 : 1;
  return at == n;
}

static bool is_narrow(const double *x, size_t n, double half_width) {
  if (n == 0 || hsc__has_nan(x, n))
    return false;
  double *sorted = hsc__sorted_copy(x, n);
  hsc_interval i = {NAN, NAN, NAN};
  if (sorted)
    i = hsc_stats_quantile_interval(sorted, n, 0.5, 0.95);
  hsc_free(sorted);
  return i.high - i.low <= 2 * half_width * fabs(i.estimate);
}

hsc_stop hsc_stats_stop(const hsc_stopping *s, const double *x, size_t n, double seconds_so_far) {
  size_t least = s->least ? s->least : 10;
  bool looks = s->half_width > 0 && n >= least && looks_at(n, least);
  if (looks && is_narrow(x, n, s->half_width) && is_narrow(x, n - n / 3, s->half_width))
    return HSC_STOP_WIDTH;
  if (s->budget_seconds > 0 && seconds_so_far >= s->budget_seconds)
    return HSC_STOP_BUDGET;
  return s->most && n >= s->most ? HSC_STOP_MOST : HSC_STOP_GO_ON;
}

double hsc_stats_grade_margin(const char *grade, double wanted) {
  static const double margins[] = {0.01, 0.02, 0.03, 0.05};
  double least =
      grade && grade[0] >= 'A' && grade[0] <= 'D' && !grade[1] ? margins[grade[0] - 'A'] : 0.01;
  return wanted > least ? wanted : least;
}

// ---- compilation dominance ----------------------------------------------------------------------

double hsc_stats_dominance(double compile, double run, double n) {
  return isfinite(compile) && compile >= 0 && isfinite(run) && run > 0 && n >= 0
             ? compile / (compile + n * run)
             : NAN;
}

hsc_interval hsc_stats_break_even(hsc_interval compile, hsc_interval run, double share) {
  if (!(share > 0 && share < 1) || !(compile.estimate > 0) || !(run.estimate > 0))
    return (hsc_interval){NAN, NAN, NAN};
  double odds = (1 - share) / share;
  return (hsc_interval){ceil(odds * compile.estimate / run.estimate),
                        ceil(odds * fmax(0, compile.low) / run.high),
                        run.low > 0 ? ceil(odds * compile.high / run.low) : NAN};
}

static double cross(double c1, double e1, double c2, double e2) {
  double n = (c2 - c1) / (e1 - e2);
  return n > 0 && isfinite(n) ? n : NAN;
}

static double drawn(hsc_random *random, hsc_interval i) {
  double sd = i.high > i.low ? (i.high - i.low) / (2 * 1.959963984540054) : 0;
  return i.estimate + sd * hsc_random_normal(random);
}

hsc_interval hsc_stats_crossing(hsc_interval compile1,
                                hsc_interval run1,
                                hsc_interval compile2,
                                hsc_interval run2,
                                uint64_t seed) {
  enum { DRAWS = 2000 };
  hsc_interval out = {cross(compile1.estimate, run1.estimate, compile2.estimate, run2.estimate),
                      NAN, NAN};
  if (isnan(out.estimate))
    return out;
  double values[DRAWS];
  size_t count = 0;
  hsc_random random;
  hsc_random_init(&random, seed);
  for (int d = 0; d < DRAWS; d++) {
    double c1 = drawn(&random, compile1);
    double e1 = drawn(&random, run1);
    double c2 = drawn(&random, compile2);
    double e2 = drawn(&random, run2);
    double n = cross(c1, e1, c2, e2);
    if (!isnan(n))
      values[count++] = n;
  }
  if (count < DRAWS / 2)
    return out;
  hsc_sort_doubles(values, count);
  out.low = hsc__quantile_sorted(values, count, 0.025);
  out.high = hsc__quantile_sorted(values, count, 0.975);
  return out;
}
