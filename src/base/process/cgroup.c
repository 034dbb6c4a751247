// cgroup.c - reads /proc/self/cgroup and the files of the groups from the process's own up to the
// root.
//
// In a container the path in /proc/self/cgroup is often that of the host, while what is mounted at
// /sys/fs/cgroup begins at the container: groups that are not there are passed over, and the walk
// ends at what is mounted.
#include "base/process/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_text(const char *path, char *out, size_t room) {
  FILE *file = fopen(path, "re");
  size_t got = file ? fread(out, 1, room - 1, file) : 0;
  if (file)
    fclose(file);
  out[got] = 0;
  return got > 0;
}

// The number after `key` at the beginning of a line; -1 = not there.
static int64_t number_of(const char *text, const char *key) {
  size_t length = strlen(key);
  for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
    if (!strncmp(at, key, length) && at[length] == ' ')
      return strtoll(at + length + 1, NULL, 10);
  return -1;
}

static void limit_cores(hsc_cgroup *out, double quota, double period, const char *path) {
  if (!(quota > 0) || !(period > 0) || quota / period >= out->cores)
    return;
  out->cores = quota / period;
  snprintf(out->where, sizeof out->where, "%.*s", (int)sizeof out->where - 1, path);
}

static void read_version_2(const char *group, hsc_cgroup *out) {
  char path[1200], text[4096];
  snprintf(path, sizeof path, "%s/cpu.stat", group);
  if (read_text(path, text, sizeof text)) {
    int64_t count = number_of(text, "nr_throttled");
    int64_t us = number_of(text, "throttled_usec");
    out->throttled_count += count > 0 ? count : 0;
    out->throttled_ns += us > 0 ? 1000 * us : 0;
  }
  snprintf(path, sizeof path, "%s/memory.max", group);
  if (read_text(path, text, sizeof text) && text[0] != 'm')
    out->memory_bytes = fmin(out->memory_bytes, strtod(text, NULL));
  snprintf(path, sizeof path, "%s/cpu.max", group);
  double quota;
  double period;
  if (read_text(path, text, sizeof text) && sscanf(text, "%lf %lf", &quota, &period) == 2)
    limit_cores(out, quota, period, path);
}

static void read_version_1(const char *group, hsc_cgroup *out) {
  char path[1200], text[4096];
  snprintf(path, sizeof path, "%s/cpu.stat", group);
  if (read_text(path, text, sizeof text)) {
    int64_t count = number_of(text, "nr_throttled");
    int64_t ns = number_of(text, "throttled_time");
    out->throttled_count += count > 0 ? count : 0;
    out->throttled_ns += ns > 0 ? ns : 0;
  }
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", group);
  double period = read_text(path, text, sizeof text) ? strtod(text, NULL) : 0;
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", group);
  if (read_text(path, text, sizeof text))
    limit_cores(out, strtod(text, NULL), period, path);
}

// From the group up to what is mounted.
static void walk(const char *mount,
                 const char *path,
                 void (*read_group)(const char *group, hsc_cgroup *out),
                 hsc_cgroup *out) {
  char group[1024];
  int size = snprintf(group, sizeof group, "%s%s", mount, path);
  if (size < 0 || (size_t)size >= sizeof group)
    return;
  size_t least = strlen(mount);
  size_t length = strlen(group);
  while (length > least && group[length - 1] == '/')
    group[--length] = 0;
  for (;;) {
    read_group(group, out);
    char *slash = strrchr(group + least, '/');
    if (!slash)
      return;
    *slash = 0;
  }
}

static bool has_word(const char *list, size_t size, const char *word) {
  size_t length = strlen(word);
  for (size_t at = 0; at < size;) {
    size_t end = at;
    while (end < size && list[end] != ',')
      end++;
    if (end - at == length && !strncmp(list + at, word, length))
      return true;
    at = end + 1;
  }
  return false;
}

// One line, "4:cpu,cpuacct:/path" or "0::/path".
static void read_line(const char *root, const char *line, hsc_cgroup *out) {
  char path[600], mount[400];
  const char *first = strchr(line, ':');
  const char *second = first ? strchr(first + 1, ':') : NULL;
  if (!second)
    return;
  size_t words = (size_t)(second - first - 1);
  snprintf(path, sizeof path, "%.*s", (int)strcspn(second + 1, "\n"), second + 1);
  static const char *const mounts[][2] = {{"", "unified"}, {"cpu", "cpu,cpuacct"}};
  bool version_1 = words > 0;
  if (version_1 && !has_word(first + 1, words, "cpu"))
    return;
  for (int i = 0; i < 2; i++) {
    const char *name = mounts[version_1][i];
    char kind[512], text[256];
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, *name ? "/" : "", name);
    snprintf(kind, sizeof kind, "%s/%s", mount, version_1 ? "cpu.cfs_period_us" : "cpu.stat");
    bool there = read_text(kind, text, sizeof text);
    // the root group of version 2 has no cpu.max, and some kernels no cpu.stat
    snprintf(kind, sizeof kind, "%s/cgroup.procs", mount);
    there |= read_text(kind, text, sizeof text);
    snprintf(kind, sizeof kind, "%s/cpu.max", mount);
    there |= !version_1 && read_text(kind, text, sizeof text);
    snprintf(kind, sizeof kind, "%s/cgroup.controllers", mount);
    there |= !version_1 && read_text(kind, text, sizeof text);
    if (!there)
      continue;
    walk(mount, path, version_1 ? read_version_1 : read_version_2, out);
    return;  // the two names are one place
  }
}

void hsc_cgroup_read(const char *root, hsc_cgroup *out) {
  char path[512], text[8192];
  *out = (hsc_cgroup){.cores = INFINITY, .memory_bytes = INFINITY};
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  // without the file: what is mounted is what there is
  if (!read_text(path, text, sizeof text))
    snprintf(text, sizeof text, "0::/\n1:cpu:/\n");
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
    read_line(root, line, out);
}
