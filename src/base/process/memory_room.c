// memory_room.c - see memory_room.h.
#include "base/process/memory_room.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Control groups: what is allowed, what is used, and the line of the used that is given back.
static const struct group_files {
  const char *limit, *used, *statistics, *cache_line;
} group_files[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
     "inactive_file %llu"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file %llu"},
};

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

static size_t smaller(size_t a, unsigned long long b) {
  return b < a ? (size_t)b : a;
}

size_t hsc_memory_limit_bytes(void) {
  size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < sizeof group_files / sizeof *group_files; i++) {
    unsigned long long most = number_in(group_files[i].limit, "%llu");
    if (most > 0)
      bytes = smaller(bytes, most);
  }
  return bytes;
}

size_t hsc_memory_available_bytes(void) {
  size_t bytes = SIZE_MAX;
  unsigned long long kilobytes = number_in("/proc/meminfo", "MemAvailable: %llu");
  if (kilobytes > 0)
    bytes = smaller(bytes, kilobytes << 10);
  for (size_t i = 0; i < sizeof group_files / sizeof *group_files; i++) {
    unsigned long long most = number_in(group_files[i].limit, "%llu");
    if (most == 0)
      continue;
    unsigned long long used = number_in(group_files[i].used, "%llu");
    unsigned long long cache = number_in(group_files[i].statistics, group_files[i].cache_line);
    used = cache < used ? used - cache : 0;
    bytes = smaller(bytes, used < most ? most - used : 0);
  }
  return bytes;
}
