// stats_sampling.h - how many repetitions an experiment makes: a pilot chooses how many at each of
// two nested levels, a width fixed in advance or a time budget ends it. Every experiment that times
// something asks this, whatever its levels are called: runs in blocks, compiles in processes, steps
// in recordings.
//
// A state machine without a clock: the caller measures and says what it cost, so that tests need no
// clock either. One thread.
//
//   hsc_sampling s;
//   hsc_sampling_init(&s, &(hsc_sampling_options){.lower = "run", .upper = "block", .half_width =
//   0.02, .budget_s = 0.2}, 1e-3);
//   for (size_t n; (n = hsc_sampling_next(&s)); ) { ...n runs...; HSC_GOTO(hsc_sampling_add(&s,
//   seconds, n, seconds_in_all)); }
//   HSC_GOTO(hsc_sampling_finish(&s, seed));
//   ...
//   hsc_sampling_deinit(&s);
#pragma once

#include "stats/stats_design.h"

typedef struct hsc_sampling_options {
  // what the levels are called, in the singular: "run", "block". Borrowed
  const char *lower, *upper;
  // wanted of the median's interval, as a share of the median; 0 = none
  double half_width;
  double budget_s;  // 0 = none
  // repetitions of the lower level in all, whatever they show; 0 = chosen
  size_t exact;
  size_t pilot_lower, pilot_upper;  // 0 = 5 and 3
  size_t least_upper, most_upper;   // 0 = 12 and 200; the width is not looked at before the least
  size_t most_lower;                // in one of the upper level; 0 = 1000
} hsc_sampling_options;

typedef struct hsc_sampling {
  hsc_sampling_options options;
  double once_s;                    // expected of one lower repetition; then what was seen
  bool has_pilot;                   // the pilot was made
  const char *no_pilot;             // why there is none; NULL = there is, or will be
  size_t pilot_lower, pilot_upper;  // as made
  double pilot_cost[2];             // seconds of one more of the lower, of the upper level
  hsc_design design;                // what the pilot chose
  // repetitions of the lower level in each of the upper, after the pilot
  size_t chosen_lower;
  double *samples;  // [count] of all, in order
  size_t *sizes;    // [upper_count]
  double *medians;  // [upper_count]
  size_t count, capacity, upper_count, upper_capacity;
  double spent_s;
  bool ended;
  hsc_stop stop;
  const char *ended_by;  // in words
  // filled by hsc_sampling_finish
  // of the median, hierarchical bootstrap over the upper level (over samples when there is one);
  // ends are NaN with fewer than HSC_LEAST_FOR_INTERVAL of them
  hsc_interval interval;
  double half_width;  // reached, as a share of the median; NaN without an interval
  // about so many more of the lower level would reach the wanted width; 0 = reached or none wanted;
  // NaN = cannot be said: no interval, or one wider than the median
  double more;
} hsc_sampling;

// once_s: what one lower repetition is expected to take; NaN = unknown.
void hsc_sampling_init(hsc_sampling *sampling, const hsc_sampling_options *options, double once_s);
void hsc_sampling_deinit(hsc_sampling *sampling);
// Lower repetitions to make in the next one of the upper level; 0 = it has ended. At least three of
// the upper level are made whatever the budget says, and HSC_LEAST_FOR_INTERVAL where these take no
// more than a second.
size_t hsc_sampling_next(const hsc_sampling *sampling);
// What was measured: x[n] in seconds (n may differ from what was asked for), spent_s of the whole,
// with what lies around them. Not finite samples are kept and end nothing by width. Errors:
// INVALID_ARGUMENT (n = 0), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_sampling_add(hsc_sampling *sampling,
                                          const double *x,
                                          size_t n,
                                          double spent_s);
// Forgets the samples, keeps what the pilot chose: what follows is measured otherwise than the
// pilot was.
void hsc_sampling_restart(hsc_sampling *sampling);
// An end from outside ("an interrupt"); the text is borrowed.
void hsc_sampling_end(hsc_sampling *sampling, const char *why);
// The interval that was reached. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_sampling_finish(hsc_sampling *sampling, uint64_t seed);
