// memory_room.c - see memory_room.h.
#include "base/process/memory_room.h"

#include "base/process/cgroup.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

// The number in the first line that `format` fits; 0 = there is none.
static unsigned long long number_in(const char *path, const char *format) {
  FILE *file = fopen(path, "r");
  unsigned long long value = 0;
  for (char line[256]; file && fgets(line, sizeof line, file);)
    if (sscanf(line, format, &value) == 1)
      break;
  if (file)
    fclose(file);
  return value;
}

size_t hsc_memory_limit_bytes(void) {
  double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  hsc_cgroup group;
  hsc_cgroup_read("", &group);
  return (size_t)fmin(bytes, group.memory_bytes);
}

size_t hsc_memory_available_bytes(void) {
  unsigned long long kilobytes = number_in("/proc/meminfo", "MemAvailable: %llu");
  hsc_cgroup group;
  hsc_cgroup_read("", &group);
  double bytes = group.memory_left_bytes;
  if (kilobytes > 0)
    bytes = fmin(bytes, (double)kilobytes * 1024);
  return isfinite(bytes) ? (size_t)bytes : SIZE_MAX;
}
