// stats_interleaved.h - effects of variants that were timed in interleaved blocks against one
// baseline, judged together.
//
// The levels are process > block > iteration. Within a block baseline and variant saw the same
// machine, so each block gives one ratio: median of the variant's iterations over the median of the
// baseline's. What differs from process to process (where memory lies) and stays within one is a
// level of its own: more blocks do not average it away, more processes do. Placebos are variants
// that are the baseline: what they show is chance.
//
//   hsc_effect effects[n];
//   for (...) HSC_TRY(hsc_stats_paired_effect(&paired, &options, &effects[i]));
//   hsc_stats_judge(effects, n, placebos, m, &(hsc_judge_options){.margin = 0.01});
#pragma once

#include "stats/stats.h"

// With fewer processes there is no interval over processes: besides what holds for all units,
// processes that fall into one of two modes look alike too often.
enum { HSC_LEAST_PROCESSES = HSC_LEAST_FOR_INTERVAL };
// The confidence that an interval is asked for where a measurement went on until its answer was
// clear: it stops where an effect looks clear by chance, so that intervals of 95 % would hold the
// truth 92 times in 100, and these do 95 (tests/statistics/self_test.c).
#define HSC_CONFIDENCE_AFTER_LOOKS 0.97

// Medians of blocks: [sum of process_blocks], those of a process contiguous. Positive; a block with
// a value that is not finite is left out.
typedef struct hsc_paired {
  const double *variant, *baseline;
  const size_t *process_blocks;  // [process_count]
  size_t process_count;
} hsc_paired;

typedef struct hsc_effect {
  // variant over baseline: exp of the mean over processes of the process's median log ratio; its
  // ends are NaN with fewer than HSC_LEAST_PROCESSES
  hsc_interval ratio;
  double log_effect;  // its logarithm
  // of the log effect, by hierarchical bootstrap; NaN with fewer than HSC_LEAST_PROCESSES
  double standard_error;
  size_t process_count, block_count;  // that were used
  // sum of squares of the processes' log effects: what placebos give to the null
  double process_square_sum;
  // filled by hsc_stats_judge
  double p_value, q_value;  // q: Benjamini & Hochberg's adjusted p
  int placebos_beaten;      // placebos whose effect is smaller in size
  hsc_verdict verdict;
  // the larger of the two thresholds (percent) that the slowdown reaches; 0 = none
  double highlight;
  // for an interval inside the margin, at the same number of processes' worth of noise: a multiple
  // of what was measured
  double blocks_needed;
} hsc_effect;

// Hierarchical bootstrap: whole processes are drawn with replacement, with their blocks as they are
// (Davison & Hinkley 1997, section 3.8: drawing the lower level too would count its noise twice);
// the standard error is the deviation of the resampled effects, times sqrt(P / (P - 1)) for the few
// processes; the interval is Student's t with P - 1 degrees of freedom, further on the side of the
// longer tail by 1.5 |skewness| / sqrt(P) of itself. Fewer than
// HSC_LEAST_PROCESSES: the effect without an interval, which no verdict follows from.
// Errors: INVALID_ARGUMENT (no block that can be used, confidence), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_paired_effect(const hsc_paired *paired,
                                                 const hsc_interval_options *options,
                                                 hsc_effect *out_effect);

// Adjusted p values (Benjamini & Hochberg 1995): q[i] = min over ranks j >= rank(i) of p(j) n / j,
// at most 1. NaN stays NaN and is not counted. O(n log n); without scratch memory all are NaN.
void hsc_stats_benjamini_hochberg(const double *p, size_t n, double *out_q);

typedef struct hsc_judge_options {
  double margin;       // of "same"; 0 = 0.01
  double false_share;  // false discoveries among those called faster or slower; 0 = 0.05
  double highlight_low, highlight_high;  // slowdowns that are marked; 0 = 0.01 and 0.05
} hsc_judge_options;
// p of each effect: |log effect| over its standard error, which is at least the one that the
// placebos show (root mean square of their processes' effects over sqrt P: the empirical null),
// against Student's t. Then q over all of them. same: the interval lies inside the margin. faster,
// slower: q is at most false_share, the interval excludes 1 and every placebo's effect, and the
// effect is larger in size than each of them. Else: cannot tell. A highlight needs "slower".
void hsc_stats_judge(hsc_effect *effects,
                     size_t n,
                     const hsc_effect *placebos,
                     size_t m,
                     const hsc_judge_options *options);

// What may be said of two sides' times: x[k] and y[k] are medians of whole processes. paired: x[k]
// and y[k] ran in turn, so what the machine did then cancels (Student's t of the log ratios);
// otherwise Welch's t of the logs. ratio: of geometric means; p_value: two-sided. With fewer than
// HSC_LEAST_PROCESSES on a side: the ratio alone, ends and p NaN, "cannot tell". delta: Cliff's,
// shift: of medians; brunner_munzel, equivalence and u are not computed (NaN). margin 0 = 0.01.
// Values that are not positive and finite, and their partners, are left out.
// Errors: INVALID_ARGUMENT (none left on a side), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_compare_processes(const double *x,
                                                     size_t nx,
                                                     const double *y,
                                                     size_t ny,
                                                     bool paired,
                                                     double margin,
                                                     hsc_comparison *out_comparison);
// Why such a comparison has no interval, in words ("1 process of each: ..."); NULL: it has one.
const char *hsc_stats_too_few_processes(const hsc_comparison *comparison,
                                        size_t nx,
                                        size_t ny,
                                        char out_text[160]);
