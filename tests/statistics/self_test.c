// self_test.c - the statistics against simulations whose truth is known: how often intervals hold
// it, how many discoveries are false, what is found.
//
//   self_test                 short: a few seconds, speaks TAP; bounds are those of the long form
//                             widened by what chance does in fewer rounds
//   self_test --page FILE [D]  long: writes the figures between the markers of docs/statistics.md;
//                              D times fewer rounds for a machine that has little time
#include <math.h>
#include <stdlib.h>

#include "base/core/bytes.h"
#include "base/core/random.h"
#include "base/core/status.h"
#include "base/files/file_io.h"
#include "stats/stats.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"
#include "stats/stats_sampling.h"

typedef struct check {
  const char *what, *how;
  double low, high;                              // where the share must lie
  int (*once)(hsc_random *random, int variant);  // 1 yes, 0 no
  int variant, rounds, short_rounds;
} check;

static double truth_ok(hsc_status *status) {
  if (!status)
    return 1;
  fprintf(stderr, "%s\n", hsc_status_message(status));
  exit(1);
}

static bool holds(hsc_interval i, double truth) {
  return i.low <= truth && truth <= i.high;
}
static uint64_t seed_of(hsc_random *random) {
  return hsc_random_u64(random);
}

// ---- intervals ----

static int median_interval(hsc_random *r, int n) {
  double x[100];
  bool skewed = n < 0;
  size_t count = (size_t)abs(n);
  for (size_t i = 0; i < count; i++)
    x[i] = skewed ? exp(0.5 * hsc_random_normal(r)) : 10 + hsc_random_normal(r);
  hsc_summary s;
  truth_ok(hsc_stats_summarize(x, count, &(hsc_interval_options){.seed = seed_of(r)}, &s));
  return holds((hsc_interval){s.median, s.median_low, s.median_high}, skewed ? 1 : 10);
}

static int block_interval(hsc_random *r, int blocks) {
  double x[40 * 5];
  size_t sizes[40];
  for (int b = 0; b < blocks; b++) {
    double offset = hsc_random_normal(r);
    sizes[b] = 5;
    for (int i = 0; i < 5; i++)
      x[5 * b + i] = 10 + offset + 0.5 * hsc_random_normal(r);
  }
  hsc_interval i;
  truth_ok(hsc_stats_bootstrap_blocks(
      hsc_stats_median, x, sizes, (size_t)blocks,
      &(hsc_interval_options){.seed = seed_of(r), .resample_count = 600}, &i));
  return holds(i, 10);
}

static int ratio_interval(hsc_random *r, int n) {
  double x[100], y[100];
  for (int i = 0; i < n; i++) {
    x[i] = 110 * exp(0.05 * hsc_random_normal(r));
    y[i] = 100 * exp(0.05 * hsc_random_normal(r));
  }
  hsc_interval i;
  truth_ok(hsc_stats_ratio_of_medians(x, (size_t)n, y, (size_t)n,
                                      &(hsc_interval_options){.seed = seed_of(r)}, &i));
  return holds(i, 1.1);
}

static int quantile_interval(hsc_random *r, int percent) {
  double x[200];
  for (int i = 0; i < 200; i++) {
    double value = hsc_random_double(r);
    int k = i;
    for (; k > 0 && x[k - 1] > value; k--)
      x[k] = x[k - 1];
    x[k] = value;
  }
  return holds(hsc_stats_quantile_interval(x, 200, percent / 100.0, 0.95), percent / 100.0);
}

static int slope_interval(hsc_random *r, int robust) {
  double x[30], y[30], design[60];
  for (int i = 0; i < 30; i++) {
    x[i] = 1 + i % 10;
    y[i] = 5 + 2 * x[i] + hsc_random_normal(r);
    if (robust && i % 10 == 3)
      y[i] += 30 * hsc_random_double(r);  // a tenth are outliers
    design[2 * i] = 1;
    design[2 * i + 1] = x[i];
  }
  hsc_interval slope;
  hsc_fit fit;
  if (robust)
    truth_ok(hsc_stats_theil_sen(x, y, 30, 0.95, &slope, NULL));
  else {
    truth_ok(hsc_stats_fit(design, y, NULL, 30, 2, 0.95, &fit));
    slope = (hsc_interval){fit.coefficient[1], fit.low[1], fit.high[1]};
  }
  return holds(slope, 2);
}

static int stopped_interval(hsc_random *r, int unused) {
  double x[400];
  size_t n = 0;
  hsc_stopping rule = {.half_width = 0.02, .most = 400};
  do
    x[n++] = 100 * (1 + 0.05 * hsc_random_normal(r));
  while (hsc_stats_stop(&rule, x, n, 0) == HSC_STOP_GO_ON);
  hsc_summary s;
  truth_ok(hsc_stats_summarize(x, n, &(hsc_interval_options){.seed = seed_of(r)}, &s));
  return holds((hsc_interval){s.median, s.median_low, s.median_high}, 100);
}

static int crossing_interval(hsc_random *r, int unused) {
  // Four times known to a relative standard deviation of 2 %.
  double truth[4] = {1, 0.01, 2, 0.005};
  hsc_interval i[4];
  for (int k = 0; k < 4; k++) {
    double sd = 0.02 * truth[k];
    double at = truth[k] + sd * hsc_random_normal(r);
    i[k] = (hsc_interval){at, at - 1.96 * sd, at + 1.96 * sd};
  }
  return holds(hsc_stats_crossing(i[0], i[1], i[2], i[3], seed_of(r)), 200);
}

// ---- verdicts ----

static hsc_verdict verdict_of(hsc_random *r, double effect, int n) {
  double x[60], y[60];
  for (int i = 0; i < n; i++) {
    x[i] = 100 * effect * (1 + 0.02 * hsc_random_normal(r));
    y[i] = 100 * (1 + 0.02 * hsc_random_normal(r));
  }
  hsc_comparison c;
  truth_ok(hsc_stats_compare(x, (size_t)n, y, (size_t)n, 0.01,
                             &(hsc_interval_options){.seed = seed_of(r)}, &c));
  return c.verdict;
}

static int false_claim(hsc_random *r, int n) {
  hsc_verdict v = verdict_of(r, 1, n);
  return v == HSC_VERDICT_FASTER || v == HSC_VERDICT_SLOWER;
}
static int slowdown_found(hsc_random *r, int percent) {
  return verdict_of(r, 1 + percent / 100.0, 40) == HSC_VERDICT_SLOWER;
}
static int wrong_way(hsc_random *r, int percent) {
  return verdict_of(r, 1 + percent / 100.0, 20) == HSC_VERDICT_FASTER;
}
static int false_same(hsc_random *r, int percent) {
  return verdict_of(r, 1 + percent / 100.0, 60) == HSC_VERDICT_SAME;
}

// Effects over processes whose own level is: 0 normal, 1 one of two modes 5 % apart (where memory
// came to lie), 2 log-normal with a long tail. Six processes, the least that have an interval.
static int process_interval(hsc_random *r, int shape) {
  enum { PROCESSES = HSC_LEAST_PROCESSES, BLOCKS = 4 };
  double variant[PROCESSES * BLOCKS], baseline[PROCESSES * BLOCKS];
  size_t blocks[PROCESSES];
  double truth = shape == 1 ? 0.025 : shape == 2 ? 0.02 * exp(0.125) : 0.02;
  for (int p = 0, at = 0; p < PROCESSES; p++) {
    double offset = 0.02 + 0.01 * hsc_random_normal(r);
    if (shape == 1)
      offset = hsc_random_double(r) < 0.5 ? 0 : 0.05;
    if (shape == 2)
      offset = 0.02 * exp(0.5 * hsc_random_normal(r));
    blocks[p] = BLOCKS;
    for (int b = 0; b < BLOCKS; b++, at++) {
      baseline[at] = 100 * exp(0.02 * hsc_random_normal(r));
      variant[at] = baseline[at] * exp(offset + 0.002 * hsc_random_normal(r));
    }
  }
  hsc_effect e;
  truth_ok(hsc_stats_paired_effect(
      &(hsc_paired){variant, baseline, blocks, PROCESSES},
      &(hsc_interval_options){.seed = seed_of(r), .resample_count = 1000}, &e));
  return holds(e.ratio, exp(truth));
}

// Effects over six processes whose tails are heavier than those that the interval is stretched for:
// 0 exponential, 1 log-normal with sigma 1. What docs/verdicts.md states of them.
static int heavy_interval(hsc_random *r, int shape) {
  enum { PROCESSES = HSC_LEAST_PROCESSES };
  double variant[PROCESSES], baseline[PROCESSES];
  size_t blocks[PROCESSES];
  for (int p = 0; p < PROCESSES; p++) {
    double offset = shape ? exp(hsc_random_normal(r)) : -log(1 - hsc_random_double(r));
    blocks[p] = 1;
    baseline[p] = 100;
    variant[p] = 100 * exp(0.02 * offset);
  }
  hsc_effect e;
  truth_ok(hsc_stats_paired_effect(
      &(hsc_paired){variant, baseline, blocks, PROCESSES},
      &(hsc_interval_options){.seed = seed_of(r), .resample_count = 1000}, &e));
  return holds(e.ratio, exp(0.02 * (shape ? exp(0.5) : 1)));
}

// An effect of some percent (`tenths` of one) beside three placebos, all with a level of each
// process (1 %); it goes on from 6 processes to 24 as `passes ablate` does.
static int going_on_interval(hsc_random *r, int tenths) {
  enum { LEAST = HSC_LEAST_PROCESSES, MOST = 4 * LEAST, PLACEBOS = 3 };
  double value[1 + PLACEBOS][MOST], baseline[MOST];
  size_t blocks[MOST];
  hsc_effect e[1 + PLACEBOS];
  double truth = tenths / 1000.0;
  bool told_before = false;
  for (size_t n = 1; n <= MOST; n++) {
    double base = 0.007 * hsc_random_normal(r);
    baseline[n - 1] = 100 * exp(base);
    blocks[n - 1] = 1;
    for (int k = 0; k <= PLACEBOS; k++)
      value[k][n - 1] = 100 * exp((k ? 0 : truth) + 0.01 * hsc_random_normal(r));
    if (n < LEAST)
      continue;
    for (int k = 0; k <= PLACEBOS; k++)
      truth_ok(hsc_stats_paired_effect(
          &(hsc_paired){value[k], baseline, blocks, n},
          &(hsc_interval_options){.seed = seed_of(r),
                                  .resample_count = 200,
                                  .confidence = n > LEAST ? HSC_CONFIDENCE_AFTER_LOOKS : 0.95},
          &e[k]));
    hsc_stats_judge(e, 1, e + 1, PLACEBOS, NULL);
    bool told = e[0].verdict != HSC_VERDICT_CANNOT_TELL;
    if (told && (n == LEAST || told_before))
      break;
    told_before = told;
  }
  return holds(e[0].ratio, exp(truth));
}

// With fewer processes nothing is claimed, however alike they are by chance.
static int claim_from_few(hsc_random *r, int processes) {
  double variant[8], baseline[8];
  size_t blocks[4] = {2, 2, 2, 2};
  for (int i = 0; i < 2 * processes; i++) {
    baseline[i] = 100;
    variant[i] = 150 * exp(0.001 * hsc_random_normal(r));
  }
  hsc_effect e;
  truth_ok(hsc_stats_paired_effect(&(hsc_paired){variant, baseline, blocks, (size_t)processes},
                                   &(hsc_interval_options){.seed = seed_of(r)}, &e));
  hsc_stats_judge(&e, 1, NULL, 0, NULL);
  return !isnan(e.ratio.low) || !isnan(e.q_value) || e.verdict != HSC_VERDICT_CANNOT_TELL;
}

// Two sides of processes, each with a level of its own (1 %), that ran in turn on a machine that
// drifts by 5 %: the truth of their ratio is 1. `count` processes; negative: not in turn, and no
// drift between them.
static hsc_comparison compare_alike(hsc_random *r, int count) {
  enum { MOST = 32 };
  double x[MOST], y[MOST];
  size_t n = (size_t)abs(count);
  hsc_comparison c;
  for (size_t p = 0; p < n; p++) {
    double machine = count > 0 ? 0.05 * hsc_random_normal(r) : 0;
    x[p] = 1e-3 * exp(machine + 0.01 * hsc_random_normal(r));
    y[p] = 1e-3 * exp(machine + 0.01 * hsc_random_normal(r));
  }
  truth_ok(hsc_stats_compare_processes(x, n, y, n, count > 0, 0.01, &c));
  return c;
}

static int alike_holds(hsc_random *r, int count) {
  return holds(compare_alike(r, count).ratio, 1);
}

static int alike_claimed(hsc_random *r, int count) {
  hsc_verdict verdict = compare_alike(r, count).verdict;
  return verdict == HSC_VERDICT_FASTER || verdict == HSC_VERDICT_SLOWER;
}

static int anything_from_few(hsc_random *r, int count) {
  hsc_comparison c = compare_alike(r, count);
  return !isnan(c.ratio.low) || !isnan(c.p_value) || c.verdict != HSC_VERDICT_CANNOT_TELL;
}

// What `run` said before it counted processes: one process a side, whose runs are alike.
static int claimed_from_runs_of_one_process(hsc_random *r, int runs) {
  double x[100], y[100];
  double here = 1e-3 * exp(0.01 * hsc_random_normal(r));
  double there = 1e-3 * exp(0.01 * hsc_random_normal(r));
  hsc_comparison c;
  for (int i = 0; i < runs; i++) {
    x[i] = here * exp(0.005 * hsc_random_normal(r));
    y[i] = there * exp(0.005 * hsc_random_normal(r));
  }
  truth_ok(hsc_stats_compare(x, (size_t)runs, y, (size_t)runs, 0.01,
                             &(hsc_interval_options){.seed = seed_of(r), .resample_count = 500},
                             &c));
  return c.verdict == HSC_VERDICT_FASTER || c.verdict == HSC_VERDICT_SLOWER;
}

// A sweep over 40 passes of which 10 cost 5 %, 6 processes of 8 blocks, with 6 placebos; processes
// differ by 0.3 %, blocks by 0.5 %. Share of false among claims, as a coin: 1 when a claim drawn
// from the sweep is false.
static int sweep(hsc_random *r, int want_found) {
  enum { PASSES = 40, REAL = 10, PLACEBOS = 6, PROCESSES = 6, BLOCKS = 8 };
  hsc_effect effects[PASSES + PLACEBOS];
  size_t blocks[PROCESSES];
  double variant[PROCESSES * BLOCKS], baseline[PROCESSES * BLOCKS];
  for (int e = 0; e < PASSES + PLACEBOS; e++) {
    double truth = e < REAL ? 1.05 : 1;
    for (int p = 0, at = 0; p < PROCESSES; p++) {
      double offset = 0.003 * hsc_random_normal(r);
      blocks[p] = BLOCKS;
      for (int b = 0; b < BLOCKS; b++, at++) {
        baseline[at] = 100 * exp(0.02 * hsc_random_normal(r));  // the machine drifts, both alike
        variant[at] = baseline[at] * truth * exp(offset + 0.005 * hsc_random_normal(r));
      }
    }
    truth_ok(hsc_stats_paired_effect(
        &(hsc_paired){variant, baseline, blocks, PROCESSES},
        &(hsc_interval_options){.seed = seed_of(r), .resample_count = 300}, &effects[e]));
  }
  hsc_stats_judge(effects, PASSES, effects + PASSES, PLACEBOS, NULL);
  int found = 0;
  int wrong = 0;
  for (int e = 0; e < PASSES; e++) {
    bool claim =
        effects[e].verdict == HSC_VERDICT_FASTER || effects[e].verdict == HSC_VERDICT_SLOWER;
    found += claim && e < REAL;
    wrong += claim && e >= REAL;
  }
  if (want_found)
    return (int)hsc_random_below(r, REAL) < found;
  return found + wrong > 0 && (int)hsc_random_below(r, (uint64_t)(found + wrong)) < wrong;
}

// What every experiment does: a pilot, then blocks until the width is reached or the budget (in
// made-up seconds) is spent.
static int sampled_interval(hsc_random *r, int wild) {
  hsc_sampling s;
  double x[400];
  double noise = wild ? 0.1 : 0.02;
  hsc_sampling_init(
      &s,
      &(hsc_sampling_options){
          .lower = "run", .upper = "block", .half_width = 0.01, .budget_s = 0.3, .most_lower = 400},
      1e-3);
  for (size_t n; (n = hsc_sampling_next(&s));) {
    double level = 1e-3 * (1 + noise / 2 * hsc_random_normal(r));
    double spent = 2e-3;
    for (size_t i = 0; i < n; i++)
      spent += x[i] = level * (1 + noise * hsc_random_normal(r));
    truth_ok(hsc_sampling_add(&s, x, n, spent));
  }
  truth_ok(hsc_sampling_finish(&s, seed_of(r)));
  int yes = holds(s.interval, 1e-3);
  hsc_sampling_deinit(&s);
  return yes;
}

// ---- series ----

static int change_found(hsc_random *r, int tenths) {
  double x[200];
  for (int i = 0; i < 200; i++)
    x[i] = 100 + (i >= 90 ? tenths / 10.0 : 0) + hsc_random_normal(r);
  size_t starts[200], count;
  truth_ok(hsc_stats_change_points(x, 200, &(hsc_change_options){.cost = HSC_CHANGE_MEAN_VARIANCE},
                                   starts, &count));
  return count == 1 && starts[0] >= 88 && starts[0] <= 92;
}
static int variance_change_found(hsc_random *r, int unused) {
  double x[200];
  for (int i = 0; i < 200; i++)
    x[i] = 100 + (i >= 90 ? 4 : 1) * hsc_random_normal(r);
  size_t starts[200], count;
  truth_ok(hsc_stats_change_points(x, 200, &(hsc_change_options){.cost = HSC_CHANGE_MEAN_VARIANCE},
                                   starts, &count));
  for (size_t i = 0; i < count; i++)
    if (starts[i] >= 82 && starts[i] <= 98)
      return 1;
  return 0;
}
static int change_imagined(hsc_random *r, int unused) {
  double x[200];
  for (int i = 0; i < 200; i++)
    x[i] = 100 + hsc_random_normal(r);
  size_t starts[200], count;
  truth_ok(hsc_stats_change_points(x, 200, &(hsc_change_options){.cost = HSC_CHANGE_MEAN_VARIANCE},
                                   starts, &count));
  return count > 0;
}
static int class_told(hsc_random *r, int wanted) {
  double x[120];
  size_t sizes[] = {40, 40, 40};
  for (int i = 0; i < 120; i++) {
    double level = 100;
    if (wanted == HSC_SERIES_WARM_UP && i < 12)
      level = 140;
    if (wanted == HSC_SERIES_SLOW_DOWN && i < 30)
      level = 80;
    if (wanted == HSC_SERIES_NO_STEADY_STATE && i >= 105)
      level = 130;
    // the second process is still changing at its end
    if (wanted == HSC_SERIES_INCONSISTENT && i >= 75 && i < 80)
      level = 130;
    x[i] = level * (1 + 0.01 * hsc_random_normal(r));
  }
  x[50] *= 3;  // one hiccup
  hsc_series s;
  if (wanted == HSC_SERIES_INCONSISTENT)
    truth_ok(hsc_stats_classify_processes(x, sizes, 3, &s, NULL));
  else
    truth_ok(hsc_stats_classify(x, 120, &s));
  return (int)s.series_class == wanted;
}
static int modes_told(hsc_random *r, int modes) {
  double x[200];
  static const double levels[] = {70, 81, 97};
  for (int i = 0; i < 200; i++)
    x[i] = levels[i % modes] * (1 + 0.012 * hsc_random_normal(r));
  hsc_mode found[8];
  size_t count;
  truth_ok(hsc_stats_modes(x, 200, found, 8, &count));
  return count == (size_t)modes;
}

static const check checks[] = {
    {"interval of the median holds it", "normal, 10 samples", 0.93, 0.985, median_interval, 10,
     8000, 300},
    {"interval of the median holds it", "normal, 30 samples", 0.93, 0.97, median_interval, 30, 8000,
     300},
    {"interval of the median holds it", "normal, 100 samples", 0.93, 0.97, median_interval, 100,
     8000, 300},
    {"interval of the median holds it", "log-normal, 30 samples", 0.93, 0.97, median_interval, -30,
     8000, 300},
    {"interval by processes holds the median", "6 processes of 5", 0.93, 0.985, block_interval, 6,
     4000, 150},
    {"no interval by processes is made", "5 processes of 5", 0, 0, block_interval, 5, 1000, 50},
    {"interval by processes holds the median", "12 processes of 5", 0.93, 0.97, block_interval, 12,
     4000, 100},
    {"interval by processes holds the median", "30 processes of 5", 0.93, 0.97, block_interval, 30,
     2000, 60},
    {"interval of an effect over processes holds it", "6 processes, normal", 0.93, 0.985,
     process_interval, 0, 4000, 200},
    {"interval of an effect over processes holds it", "6 processes, two modes 5 % apart", 0.93,
     0.985, process_interval, 1, 4000, 200},
    {"interval of an effect over processes holds it", "6 processes, log-normal", 0.93, 0.97,
     process_interval, 2, 4000, 200},
    {"an interval or a claim from 2 processes", "alike by chance", 0, 0, claim_from_few, 2, 1000,
     50},
    {"an interval or a claim from 3 processes", "alike by chance", 0, 0, claim_from_few, 3, 1000,
     50},
    {"interval of the ratio over processes holds it", "6 in turn on a drifting machine", 0.93, 0.97,
     alike_holds, 6, 8000, 400},
    {"interval of the ratio over processes holds it", "12 in turn", 0.93, 0.97, alike_holds, 12,
     8000, 400},
    {"interval of the ratio over processes holds it", "6 a side, not in turn", 0.93, 0.97,
     alike_holds, -6, 8000, 400},
    {"identical programs are called faster or slower", "6 processes in turn", 0, 0.05,
     alike_claimed, 6, 8000, 400},
    {"identical programs are called faster or slower", "12 processes in turn", 0, 0.05,
     alike_claimed, 12, 8000, 400},
    {"an interval, a p or a claim", "1 process a side", 0, 0, anything_from_few, 1, 1000, 50},
    {"an interval, a p or a claim", "5 processes a side", 0, 0, anything_from_few, 5, 1000, 50},
    {"what 40 runs of one process a side would claim of identical programs",
     "processes differ by 1 %: why `run` does not", 0.2, 0.8, claimed_from_runs_of_one_process, 40,
     1000, 60},
    {"interval of the ratio of medians holds it", "20 samples a side", 0.93, 0.98, ratio_interval,
     20, 4000, 200},
    {"interval of the ratio of medians holds it", "100 samples a side", 0.93, 0.97, ratio_interval,
     100, 4000, 200},
    {"interval of the 90th percentile holds it", "200 samples", 0.94, 0.985, quantile_interval, 90,
     8000, 400},
    {"interval of the slope (least squares) holds it", "30 points", 0.93, 0.97, slope_interval, 0,
     8000, 300},
    {"interval of the slope (Theil-Sen) holds it", "30 points, a tenth outliers", 0.93, 0.985,
     slope_interval, 1, 8000, 300},
    {"interval after stopping by its width holds the median", "2 % wanted of 5 %", 0.93, 0.985,
     stopped_interval, 0, 4000, 200},
    {"interval of the crossing point holds it", "four times known to 2 %", 0.93, 0.97,
     crossing_interval, 0, 4000, 200},
    {"identical programs are called faster or slower", "40 runs a side, spread 2 %", 0, 0.05,
     false_claim, 40, 8000, 400},
    {"a slowdown of 5 % is found", "40 runs a side, spread 2 %", 0.99, 1, slowdown_found, 5, 4000,
     200},
    {"a slowdown of 3 % is found", "40 runs a side, spread 2 %", 0.95, 1, slowdown_found, 3, 4000,
     200},
    {"a slowdown of 3 % is called faster", "20 runs a side", 0, 0.001, wrong_way, 3, 8000, 200},
    {"a slowdown of 2 % is called the same", "60 runs a side, margin 1 %", 0, 0.05, false_same, 2,
     8000, 200},
    {"false among the discoveries of a sweep", "40 passes, 10 real, 6 placebos", 0, 0.05, sweep, 0,
     1500, 40},
    {"real effects of 5 % that a sweep finds", "the same", 0.95, 1, sweep, 1, 1500, 40},
    {"a change of the mean is found within 2 samples", "by 3 standard deviations", 0.9, 1,
     change_found, 30, 2000, 100},
    {"a change of the variance is found within 8 samples", "4 times the spread", 0.85, 1,
     variance_change_found, 0, 2000, 100},
    {"a change is seen where there is none", "200 samples", 0, 0.05, change_imagined, 0, 4000, 200},
    {"the class is reported", "flat", 0.97, 1, class_told, HSC_SERIES_FLAT, 2000, 60},
    {"the class is reported", "warm-up", 0.97, 1, class_told, HSC_SERIES_WARM_UP, 2000, 60},
    {"the class is reported", "slow-down", 0.97, 1, class_told, HSC_SERIES_SLOW_DOWN, 2000, 60},
    {"the class is reported", "no steady state", 0.97, 1, class_told, HSC_SERIES_NO_STEADY_STATE,
     2000, 60},
    {"the class is reported", "inconsistent", 0.95, 1, class_told, HSC_SERIES_INCONSISTENT, 2000,
     60},
    {"one mode is one", "200 samples, spread 1.2 %", 0.98, 1, modes_told, 1, 1000, 40},
    {"three modes are three", "200 samples, 15 % apart", 0.95, 1, modes_told, 3, 1000, 40},
    {"interval after a pilot and blocks holds the median",
     "1 % wanted, blocks differ by 1 %, runs by 2 %", 0.93, 0.985, sampled_interval, 0, 1000, 100},
    {"interval after a pilot and blocks holds the median",
     "the same, five times as noisy: the budget ends it", 0.93, 0.985, sampled_interval, 1, 1000,
     100},
    {"interval of an effect over processes holds it", "6 processes, exponential", 0.88, 0.97,
     heavy_interval, 0, 4000, 200},
    {"interval of an effect over processes holds it", "6 processes, log-normal, sigma 1", 0.84,
     0.97, heavy_interval, 1, 4000, 200},
    {"interval of an ablation that goes on holds the effect", "none, 6 to 24 processes", 0.93, 0.98,
     going_on_interval, 0, 2000, 100},
    {"interval of an ablation that goes on holds the effect", "1 %, 6 to 24 processes", 0.93, 0.98,
     going_on_interval, 10, 2000, 100},
    {"interval of an ablation that goes on holds the effect", "3 %, 6 to 24 processes", 0.93, 0.985,
     going_on_interval, 30, 2000, 100},
};

static double share_of(const check *c, int rounds, uint64_t seed) {
  hsc_random random;
  hsc_random_init(&random, seed);
  int yes = 0;
  for (int i = 0; i < rounds; i++)
    yes += c->once(&random, c->variant);
  return (double)yes / rounds;
}

// What chance does to a share in so many rounds: four standard deviations.
static double slack(double share, int rounds) {
  return 4 * sqrt(fmax(share * (1 - share), 0.01) / rounds);
}

static int write_page(const char *path, int divisor) {
  static const char begin[] = "<!-- self-test: begin -->\n";
  static const char end[] = "<!-- self-test: end -->";
  hsc_bytes page = {0};
  hsc_bytes out = {0};
  truth_ok(hsc_file_read(path, &page));
  const char *text = hsc_bytes_text(&page);
  const char *from = strstr(text, begin);
  const char *to = from ? strstr(from, end) : NULL;
  if (!to) {
    fprintf(stderr, "%s has no markers\n", path);
    return 1;
  }
  hsc_bytes_append(&out, text, (size_t)(from - text) + sizeof begin - 1);
  hsc_bytes_append_text(
      &out, "\n| what | of | rounds | share | must lie in | |\n|---|---|---:|---:|---|---|\n");
  int failed = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(checks); i++) {
    const check *c = &checks[i];
    int rounds = c->rounds / divisor;
    double share = share_of(c, rounds, 1000 + i);
    bool ok = share >= c->low && share <= c->high;
    failed += !ok;
    hsc_bytes_printf(&out, "| %s | %s | %d | %.2f %% | %.4g to %.4g %% | %s |\n", c->what, c->how,
                     rounds, 100 * share, 100 * c->low, 100 * c->high, ok ? "ok" : "**missed**");
    fprintf(stderr, "%s, %s: %.2f %%\n", c->what, c->how, 100 * share);
  }
  hsc_bytes_append_text(&out, "\n");
  hsc_bytes_append_text(&out, to);
  truth_ok(hsc_file_write_atomic(path, out.data, out.size));
  hsc_bytes_deinit(&page);
  hsc_bytes_deinit(&out);
  return failed > 0;
}

int main(int argc, char **argv) {
  if (argc >= 3 && !strcmp(argv[1], "--page"))
    return write_page(argv[2], argc > 3 ? (int)fmax(1, atof(argv[3])) : 1);
  printf("1..%zu\n", HSC_COUNT_OF(checks));
  int failed = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(checks); i++) {
    const check *c = &checks[i];
    double share = share_of(c, c->short_rounds, 7 + i);
    bool ok = share >= c->low - slack(c->low, c->short_rounds) &&
              share <= c->high + slack(c->high, c->short_rounds);
    failed += !ok;
    printf("%s %zu - %s (%s): %.1f %%\n", ok ? "ok" : "not ok", i + 1, c->what, c->how,
           100 * share);
  }
  return failed > 0;
}
