// process_usage.h - what a process and all processes below it use now, seen from outside.
#pragma once

#include "base/core/base.h"

typedef struct hsc_process_usage {
  int64_t resident_bytes;  // sum; shared pages count for each
  double cpu_seconds;      // user and system, of children that have ended too
  int processes;
} hsc_process_usage;
// Reads /proc. All zero when the process is gone. At most 256 processes are looked at.
void hsc_process_usage_get(int pid, hsc_process_usage *out_usage);
