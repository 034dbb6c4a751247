// stats_summary.c - what is said of one series: location, spread, and their intervals.
#include "base/core/memory.h"
#include "stats/stats_internal.h"

#include <math.h>

hsc_status *hsc_stats_summarize(const double *x,
                                size_t n,
                                const hsc_interval_options *options,
                                hsc_summary *out_summary) {
  hsc_summary s = {.mean = NAN,
                   .median = NAN,
                   .min = NAN,
                   .max = NAN,
                   .sd = NAN,
                   .mad = NAN,
                   .q1 = NAN,
                   .q3 = NAN,
                   .median_low = NAN,
                   .median_high = NAN};
  hsc_interval_options filled;
  HSC_TRY(hsc__interval_options(options, &filled));
  s.confidence = filled.confidence;
  double *finite = hsc_alloc(n * sizeof(double) + 1);
  if (!finite)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < n; i++) {
    if (isfinite(x[i]))
      finite[s.count++] = x[i];
    else
      s.nonfinite_count++;
  }
  if (s.count > 0) {
    s.mean = hsc_stats_mean(finite, s.count);
    s.sd = hsc_stats_sd(finite, s.count);
    s.mad = hsc_stats_mad(finite, s.count);
    hsc_interval interval;
    filled.widen_small = true;
    hsc_status *status = hsc_stats_bootstrap(hsc_stats_median, finite, s.count, &filled, &interval);
    if (status) {
      hsc_free(finite);
      return status;
    }
    hsc_sort_doubles(finite, s.count);
    s.min = finite[0];
    s.max = finite[s.count - 1];
    s.median = hsc__median_sorted(finite, s.count);
    s.q1 = hsc__quantile_sorted(finite, s.count, 0.25);
    s.q3 = hsc__quantile_sorted(finite, s.count, 0.75);
    s.median_low = interval.low;
    s.median_high = interval.high;
  }
  hsc_free(finite);
  *out_summary = s;
  return NULL;
}
