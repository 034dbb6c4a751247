// cgroup.h - what the control groups of this process allow it, and what they took from it.
//
// A limit may be at the process's own group or at any group above it; both versions of control
// groups are read, and both at once where a machine has both.
#pragma once

#include "base/core/base.h"

typedef struct hsc_cgroup {
  double cores;             // processors' time that the tightest group allows; INFINITY = no limit
  char where[256];          // the file that says so; "" = no limit
  int64_t throttled_count;  // periods in which a group had to stop, over the group and those above
  int64_t throttled_ns;     // how long in them
  double memory_bytes;      // that the tightest group allows; INFINITY = no limit
  // left in the group that has the least left, caches of files counted as left; INFINITY = no limit
  double memory_left_bytes;
} hsc_cgroup;
// `root`: "" for this machine, else the directory that stands for / (tests, an image). What cannot
// be read is no limit.
void hsc_cgroup_read(const char *root, hsc_cgroup *out_cgroup);
