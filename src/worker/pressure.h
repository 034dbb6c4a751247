// pressure.h - what others took from this process: read before and after a block of runs, the
// difference is the cause of what was slow in it.
#pragma once

#include "base/core/base.h"

typedef struct hsc_pressure {
  // the processes' group got no processor because its quota was used up (cpu.stat of the cgroup); 0
  // where the kernel does not tell
  int64_t throttled_ns;
  int64_t waited_ns;  // somebody on the machine waited for a processor (/proc/pressure/cpu)
} hsc_pressure;
// Since the machine started. Takes some 20 us.
void hsc_pressure_get(hsc_pressure *out_pressure);
