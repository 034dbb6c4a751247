// clock.h - time, and what the process has used so far.
#pragma once

#include "base/core/base.h"

int64_t hsc_now_ns(void);   // CLOCK_MONOTONIC_RAW; durations are signed differences
int64_t hsc_wall_ns(void);  // CLOCK_REALTIME since the epoch
void hsc_sleep_ns(int64_t duration_ns);

// Page faults, context switches and CPU time of the calling process so far (getrusage).
typedef struct hsc_usage {
  int64_t minor_faults, major_faults;                // count
  int64_t voluntary_switches, involuntary_switches;  // count
  int64_t user_ns, system_ns;
  int64_t max_rss_bytes;
} hsc_usage;
void hsc_usage_get(hsc_usage *out_usage);
