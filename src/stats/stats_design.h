// stats_design.h - what is decided before and during a measurement: how many repetitions at which
// level, in which order, when to stop, how fine a claim the machine supports; and what compile and
// run times mean together.
//
// Pure functions like those of stats.h: same input, same answer; nothing is allocated unless said.
#pragma once

#include "stats/stats.h"

enum { HSC_DESIGN_MAX_LEVELS = 4 };

// Nested repetitions, level 0 the lowest: iterations in a block, blocks in a compile, compiles in a
// process, processes.
typedef struct hsc_pilot {
  size_t level_count;  // 1 to HSC_DESIGN_MAX_LEVELS
  // of the pilot: counts[0] iterations in each of counts[1] blocks in each of ...
  size_t counts[HSC_DESIGN_MAX_LEVELS];
  // seconds that one more repetition of the level costs, without what lies below it; cost[0]: one
  // iteration
  double cost[HSC_DESIGN_MAX_LEVELS];
  const double *samples;  // product of counts, the lowest level contiguous
} hsc_pilot;

typedef struct hsc_design {
  double mean;
  // T_i^2: what level i itself adds (0 when its estimate is negative)
  double variance[HSC_DESIGN_MAX_LEVELS];
  // repetitions to make; the highest reaches the wanted width
  size_t counts[HSC_DESIGN_MAX_LEVELS];
  // that this design is expected to give, as a share of the mean
  double half_width;
  double seconds;    // that it costs
  const char *note;  // "within the budget", "the budget ends it first"
} hsc_design;

// Kalibera & Jones, Rigorous benchmarking in reasonable time (ISMM 2013), sections 6 and 7: S_i^2
// is the variance of the means of level i within level i + 1, T_0^2 = S_0^2, T_i^2 = S_i^2 -
// S_{i-1}^2 / n_{i-1}; below the highest level r_i = ceil(sqrt(cost_{i+1} / cost_i * T_i^2 /
// T_{i+1}^2)), at least 1 (at most 10,000; where the level above adds nothing, the pilot's own
// count); at the highest level so many that t S / (mean sqrt(n)) <= half_width, 3 at least, and no
// more than `budget_seconds` buys (0: no limit).
// Errors: INVALID_ARGUMENT (levels, a count under 2 in the pilot, costs that are not positive,
// samples that are not finite, half_width not positive).
HSC_MUST_USE hsc_status *hsc_stats_pilot(const hsc_pilot *pilot,
                                         double half_width,
                                         double budget_seconds,
                                         hsc_design *out_design);

// The order of `variants` variants in `blocks` blocks: each block holds every variant once, in an
// order drawn anew (Fisher & Yates), so that drift of the machine falls on all alike. out_order has
// room for variants * blocks indices. The seed belongs in the record.
void hsc_stats_interleave(size_t variants, size_t blocks, uint64_t seed, size_t *out_order);

// Sequential stopping by a width that was fixed in advance (Hoefler & Belli, SC'15, rule on
// stopping; Kalibera & Jones section 9).
typedef struct hsc_stopping {
  double half_width;      // wanted, as a share of the median; 0: none
  double budget_seconds;  // 0: none
  size_t least, most;     // samples; 0: 10 and no limit
} hsc_stopping;
typedef enum hsc_stop { HSC_STOP_GO_ON, HSC_STOP_WIDTH, HSC_STOP_BUDGET, HSC_STOP_MOST } hsc_stop;
// "goes on", "the interval is narrow enough", "the time budget is spent", "as many samples as were
// allowed"
const char *hsc_stop_text(hsc_stop stop);
// What ends the measurement now. The width is that of the order-statistic interval of the median
// (95 %), looked at at n = least, then after each growth by a tenth; the first two thirds of the
// samples must have reached it too: a series that stops at its first narrow interval stops at those
// that are narrow by chance, and its interval holds the truth 92 times in 100 instead of 94
// (self-test). A series whose samples are not finite never ends by width. Allocates sorted copies
// when it looks.
hsc_stop hsc_stats_stop(const hsc_stopping *stopping,
                        const double *x,
                        size_t n,
                        double seconds_so_far);

// The least ratio that may be claimed on a machine of this grade (environment.h): A 1 %, B 2 %, C 3
// %, D 5 %; no grade: 1 %. `wanted` when it is larger.
double hsc_stats_grade_margin(const char *grade, double wanted);

// ---- compilation dominance ----

// D(n) = C / (C + n E): the share of the compile in compiling once and running n times. NaN unless
// C and E are finite, C >= 0, E > 0 and n >= 0.
double hsc_stats_dominance(double compile, double run, double n);
// The first n at which D(n) <= share: ceil(C / E (1 - share) / share), with the ends of both
// intervals (the lowest compile over the highest run and the reverse). NaN for a share outside (0,
// 1) or times that are not positive.
hsc_interval hsc_stats_break_even(hsc_interval compile, hsc_interval run, double share);
// The n at which C1 + n E1 = C2 + n E2: (C2 - C1) / (E1 - E2). NaN when the lines do not cross at n
// > 0. The interval by 2,000 draws of the four times from normal distributions of their intervals;
// its ends are NaN when less than half of the draws cross.
hsc_interval hsc_stats_crossing(hsc_interval compile1,
                                hsc_interval run1,
                                hsc_interval compile2,
                                hsc_interval run2,
                                uint64_t seed);
