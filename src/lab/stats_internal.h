// stats_internal.h - helpers shared by the stats_*.c files.
#pragma once

#include "lab/stats.h"

bool hsc__has_nan(const double *x, size_t n);
void hsc__sort_doubles(double *x, size_t n);
double *hsc__sorted_copy(const double *x, size_t n);  // heap; NULL when there is no memory
double hsc__median_sorted(const double *sorted, size_t n);
double hsc__quantile_sorted(const double *sorted, size_t n, double q);
// Defaults filled in and checked. options may be NULL.
HSC_MUST_USE hsc_status *hsc__interval_options(const hsc_interval_options *options, hsc_interval_options *out_filled);
