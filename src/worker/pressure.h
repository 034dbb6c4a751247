// pressure.h - what others took from this process: read before and after a block of runs, the
// difference is the cause of what was slow in it.
#pragma once

#include "base/core/base.h"

typedef struct hsc_pressure {
  // the process's groups got no processor because a quota was used up (cgroup.h); 0 where the
  // kernel does not tell
  int64_t throttled_ns;
  int64_t waited_ns;  // somebody on the machine waited for a processor (/proc/pressure/cpu)
  int64_t memory_ns;  // somebody waited for memory: reclaim, swap (/proc/pressure/memory)
  // threads of this process were ready to run and did not, summed over them
  int64_t runqueue_ns;
  int64_t stop_count;  // the process was stopped and went on (SIGSTOP, SIGCONT)
} hsc_pressure;
// Since the machine or the process started. Takes some 50 us and 10 for each thread.
void hsc_pressure_get(hsc_pressure *out_pressure);
// What the kernel's files below `root` ("" = the machine's) say; the rest is this process's.
void hsc_pressure_read(const char *root, hsc_pressure *out_pressure);
hsc_pressure hsc_pressure_since(const hsc_pressure *before);
// Counts stops from now on (a handler of SIGCONT, which nobody else may set).
void hsc_pressure_watch_stops(void);
