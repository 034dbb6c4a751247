// stats_sampling.c - a pilot, then as many as it chose, until the width or the budget ends it.
#include "base/core/memory.h"
#include "stats/stats_sampling.h"

#include <math.h>
#include <string.h>

#include "stats/stats_interleaved.h"
#include "stats/stats_internal.h"

enum { LEAST_UPPER_ANYWAY = 3, EXACT_BLOCKS = 10 };
// A budget that ends before there are enough for an interval waits for them if they take no longer.
static const double ENOUGH_ANYWAY_S = 1;
static const double EXTRAPOLATED_WIDTH = 1;

static size_t or_else(size_t value, size_t by_default) {
  return value ? value : by_default;
}

void hsc_sampling_init(hsc_sampling *s, const hsc_sampling_options *options, double once_s) {
  *s = (hsc_sampling){.options = *options,
                      .once_s = once_s,
                      .half_width = NAN,
                      .more = NAN,
                      .interval = {NAN, NAN, NAN}};
  hsc_sampling_options *o = &s->options;
  o->pilot_lower = or_else(o->pilot_lower, 5);
  o->pilot_upper = or_else(o->pilot_upper, 3);
  o->least_upper = or_else(o->least_upper, 12);
  o->most_upper = or_else(o->most_upper, 200);
  o->most_lower = or_else(o->most_lower, 1000);
  if (o->exact) {
    s->no_pilot = "their number was given";
    s->chosen_lower = o->exact >= 2 * EXACT_BLOCKS ? o->exact / EXACT_BLOCKS : 1;
    if (s->chosen_lower > o->most_lower)
      s->chosen_lower = o->most_lower;
    return;
  }
  s->pilot_upper = o->pilot_upper;
  s->pilot_lower = o->pilot_lower;
  // A pilot takes half of the budget at most.
  if (o->budget_s > 0 && once_s > 0) {
    double fit = o->budget_s / 2 / (once_s * (double)o->pilot_upper);
    if (fit < (double)s->pilot_lower)
      s->pilot_lower = (size_t)fmax(0, fit);
  }
  if (s->pilot_lower < 2 || s->pilot_upper < 2) {
    s->no_pilot = "the first one took too much of the time budget";
    s->chosen_lower = 1;
    s->pilot_lower = s->pilot_upper = 0;
  }
}

void hsc_sampling_deinit(hsc_sampling *s) {
  hsc_free(s->samples);
  hsc_free(s->sizes);
  hsc_free(s->medians);
  *s = (hsc_sampling){0};
}

size_t hsc_sampling_next(const hsc_sampling *s) {
  if (s->ended)
    return 0;
  if (s->options.exact) {
    size_t left = s->options.exact - s->count;
    return left < s->chosen_lower ? left : s->chosen_lower;
  }
  return s->chosen_lower ? s->chosen_lower : s->pilot_lower;
}

static hsc_status *keep(hsc_sampling *s, const double *x, size_t n) {
  if (!HSC_RESERVE(s->samples, s->count, n, s->capacity))
    return hsc_status_out_of_memory();
  if (s->upper_count == s->upper_capacity) {
    size_t capacity = 2 * s->upper_capacity + 16;
    size_t *sizes = hsc_realloc(s->sizes, capacity * sizeof(size_t));
    if (!sizes)
      return hsc_status_out_of_memory();
    s->sizes = sizes;
    double *medians = hsc_realloc(s->medians, capacity * sizeof(double));
    if (!medians)
      return hsc_status_out_of_memory();
    s->medians = medians;
    s->upper_capacity = capacity;
  }
  memcpy(s->samples + s->count, x, n * sizeof(double));
  s->count += n;
  s->medians[s->upper_count] = hsc_stats_median(x, n);
  s->sizes[s->upper_count++] = n;
  return NULL;
}

// The pilot is through: what does one more of each level cost, and where does the variance lie?
static hsc_status *choose(hsc_sampling *s) {
  const hsc_sampling_options *o = &s->options;
  size_t per = s->sizes[0];
  for (size_t i = 1; i < s->upper_count; i++)
    if (s->sizes[i] != per)
      per = 0;
  double mean = hsc_stats_mean(s->samples, s->count);
  double runs_s = mean * (double)s->count;
  bool usable = per >= 2 && isfinite(mean) && mean > 0;
  s->once_s = mean;
  if (!usable) {
    s->no_pilot =
        per < 2 ? "the first one took too much of the time budget" : "its samples cannot be used";
    s->chosen_lower = s->pilot_lower;
    return NULL;
  }
  s->pilot_cost[0] = mean;
  s->pilot_cost[1] = fmax(1e-9, (s->spent_s - runs_s) / (double)s->upper_count);
  hsc_pilot pilot = {.level_count = 2,
                     .counts = {per, s->upper_count},
                     .cost = {s->pilot_cost[0], s->pilot_cost[1]},
                     .samples = s->samples};
  double width = o->half_width > 0 ? o->half_width : 0.01;
  double left = o->budget_s > 0 ? fmax(1e-9, o->budget_s - s->spent_s) : 0;
  HSC_TRY(hsc_stats_pilot(&pilot, width, left, &s->design));
  s->has_pilot = true;
  s->chosen_lower = s->design.counts[0] < o->most_lower ? s->design.counts[0] : o->most_lower;
  // The budget must hold the least number of the upper level: fewer in each rather than too few of
  // them.
  if (o->budget_s > 0) {
    double most = left / (double)o->least_upper / mean;
    if (most < (double)s->chosen_lower)
      s->chosen_lower = most < 1 ? 1 : (size_t)most;
  }
  return NULL;
}

// Of the median, by bootstrap over the upper level, over samples where there is one of it.
static hsc_status *interval_of(const hsc_sampling *s,
                               size_t resamples,
                               uint64_t seed,
                               hsc_interval *out) {
  hsc_interval_options o = {.seed = seed, .resample_count = resamples, .widen_small = true};
  if (!strcmp(s->options.upper, "process") && s->upper_count < HSC_LEAST_PROCESSES) {
    out->estimate = hsc_stats_median(s->samples, s->count);
    return NULL;
  }
  if (s->upper_count > 1)
    return hsc_stats_bootstrap_blocks(hsc_stats_median, s->samples, s->sizes, s->upper_count, &o,
                                      out);
  return hsc_stats_bootstrap(hsc_stats_median, s->samples, s->count, &o, out);
}

// The budget is spent: are there as many as are made whatever it says?
static bool enough_anyway(const hsc_sampling *s) {
  if (s->upper_count < LEAST_UPPER_ANYWAY || s->upper_count >= HSC_LEAST_FOR_INTERVAL)
    return s->upper_count >= LEAST_UPPER_ANYWAY;
  double each_s = s->spent_s / (double)s->upper_count;
  return each_s * HSC_LEAST_FOR_INTERVAL > ENOUGH_ANYWAY_S;
}

// The medians of the upper level lie close together; does the interval that will be printed? It is
// of all samples, and of a series with two modes it can be much wider.
static bool reached_width(const hsc_sampling *s) {
  hsc_interval i = {NAN, NAN, NAN};
  hsc_status *status = interval_of(s, 200, 0, &i);
  bool unknown = status || isnan(i.low);
  hsc_status_free(status);
  return unknown || (i.high - i.low) / 2 <= s->options.half_width * fabs(i.estimate);
}

hsc_status *hsc_sampling_add(hsc_sampling *s, const double *x, size_t n, double spent_s) {
  const hsc_sampling_options *o = &s->options;
  if (n == 0)
    return HSC_ERR(INVALID_ARGUMENT, "a %s without a %s", o->upper, o->lower);
  HSC_TRY(keep(s, x, n));
  s->spent_s += spent_s;
  if (s->ended)
    return NULL;
  if (o->exact) {
    if (s->count >= o->exact)
      hsc_sampling_end(s, "as many as were asked for");
    return NULL;
  }
  if (!s->chosen_lower && s->upper_count >= s->pilot_upper)
    HSC_TRY(choose(s));
  hsc_stopping rule = {.half_width = o->half_width,
                       .budget_seconds = o->budget_s,
                       .least = o->least_upper,
                       .most = o->most_upper};
  hsc_stop stop = hsc_stats_stop(&rule, s->medians, s->upper_count, s->spent_s);
  if (stop == HSC_STOP_WIDTH && !reached_width(s))
    stop = o->budget_s > 0 && s->spent_s >= o->budget_s ? HSC_STOP_BUDGET : HSC_STOP_GO_ON;
  if (stop == HSC_STOP_GO_ON || (stop == HSC_STOP_BUDGET && !enough_anyway(s)))
    return NULL;
  s->stop = stop;
  hsc_sampling_end(s, hsc_stop_text(stop));
  return NULL;
}

void hsc_sampling_restart(hsc_sampling *s) {
  s->count = s->upper_count = 0;
  s->spent_s = 0;
  s->ended = false;
  s->stop = HSC_STOP_GO_ON;
}

void hsc_sampling_end(hsc_sampling *s, const char *why) {
  s->ended = true;
  s->ended_by = why;
}

hsc_status *hsc_sampling_finish(hsc_sampling *s, uint64_t seed) {
  if (!s->ended)
    hsc_sampling_end(s, "nothing more was asked for");
  s->interval = (hsc_interval){NAN, NAN, NAN};
  s->half_width = NAN;
  s->more = 0;
  if (s->count == 0)
    return NULL;
  HSC_TRY(interval_of(s, 1000, seed, &s->interval));
  double wanted = s->options.half_width;
  s->half_width = (s->interval.high - s->interval.low) / 2 / fabs(s->interval.estimate);
  // Widths shrink by the square root of the number only where they are known themselves: one as
  // large as the median is of a machine that stood still now and then.
  if (wanted > 0 && !(s->half_width <= EXTRAPOLATED_WIDTH))
    s->more = NAN;
  else if (wanted > 0 && s->half_width > wanted)
    s->more = ceil((double)s->count * (pow(s->half_width / wanted, 2) - 1));
  // by a hair, of another draw of the bootstrap: what ended it was not this interval
  if (s->stop == HSC_STOP_WIDTH && s->more > 0)
    s->ended_by = "the medians lie close enough together";
  return NULL;
}
