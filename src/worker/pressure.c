// pressure.c - throttling and waiting, as the kernel counts them.
#include "worker/pressure.h"

#include <stdlib.h>

// The number behind `key` in a small file; -1 = it is not there.
static int64_t number_in(const char *path, const char *key) {
  char text[2048];
  FILE *file = fopen(path, "r");
  size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file)
    fclose(file);
  text[got] = 0;
  const char *at = strstr(text, key);
  return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

void hsc_pressure_get(hsc_pressure *out) {
  int64_t throttled_us = number_in("/sys/fs/cgroup/cpu.stat", "throttled_usec ");
  int64_t waited_us = number_in("/proc/pressure/cpu", "total=");
  if (throttled_us < 0) {  // the first version of control groups, in nanoseconds
    int64_t ns = number_in("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time ");
    throttled_us = ns > 0 ? ns / 1000 : 0;
  }
  *out = (hsc_pressure){1000 * throttled_us, waited_us > 0 ? 1000 * waited_us : 0};
}
