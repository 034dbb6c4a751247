// stats_internal.h - helpers shared by the stats_*.c files.
#pragma once

#include "stats/stats.h"

bool hsc__has_nan(const double *x, size_t n);
double *hsc__sorted_copy(const double *x, size_t n);  // heap; NULL when there is no memory
// hsc_stats_median and hsc_stats_mad in the caller's scratch [n]: NaN says something of the samples
// then, and nothing of memory.
double hsc__median_in(const double *x, size_t n, double *scratch);
double hsc__mad_in(const double *x, size_t n, double *scratch);
double hsc__median_sorted(const double *sorted, size_t n);
double hsc__quantile_sorted(const double *sorted, size_t n, double q);
// Defaults filled in and checked. options may be NULL.
HSC_MUST_USE hsc_status *hsc__interval_options(const hsc_interval_options *options,
                                               hsc_interval_options *out_filled);
// The ratio with, beside it, the share of resamples on the worse side outside of the margin ((r +
// 1) / (count + 1)): the p value of equivalence.
HSC_MUST_USE hsc_status *hsc__ratio_of_medians(const double *x,
                                               size_t nx,
                                               const double *y,
                                               size_t ny,
                                               const hsc_interval_options *options,
                                               double margin,
                                               hsc_interval *out_ratio,
                                               double *out_outside);
// Doubles as whole numbers of the same order, and back. -0 and 0 are one.
int64_t hsc__double_rank(double value);
double hsc__double_of_rank(int64_t rank);
