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

// Files of a group with its limit of memory, what is in use, and how much of that are caches.
typedef struct memory_files {
  const char *limit, *used, *cache_key;
} memory_files;

static void read_memory(const char *group, const memory_files *files, hsc_cgroup *out) {
  char path[1200], text[4096];
  snprintf(path, sizeof path, "%s/%s", group, files->limit);
  if (!read_text(path, text, sizeof text) || text[0] == 'm')
    return;
  double limit = strtod(text, NULL);
  if (limit >= 0x1p62)  // version 1 writes "no limit" as the largest number of pages
    return;
  snprintf(path, sizeof path, "%s/%s", group, files->used);
  double used = read_text(path, text, sizeof text) ? strtod(text, NULL) : 0;
  snprintf(path, sizeof path, "%s/memory.stat", group);
  int64_t cache = read_text(path, text, sizeof text) ? number_of(text, files->cache_key) : 0;
  used = fmax(0, used - (double)(cache > 0 ? cache : 0));
  out->memory_bytes = fmin(out->memory_bytes, limit);
  out->memory_left_bytes = fmin(out->memory_left_bytes, fmax(0, limit - used));
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
  read_memory(group, &(memory_files){"memory.max", "memory.current", "inactive_file"}, out);
  snprintf(path, sizeof path, "%s/cpu.max", group);
  double quota;
  double period;
  if (read_text(path, text, sizeof text) && sscanf(text, "%lf %lf", &quota, &period) == 2)
    limit_cores(out, quota, period, path);
}

static void read_memory_1(const char *group, hsc_cgroup *out) {
  read_memory(
      group,
      &(memory_files){"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
      out);
}

static void read_cpu_1(const char *group, hsc_cgroup *out) {
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

// Whether a folder is where groups are mounted: a file that each of them has is there. The root
// group of version 2 has no cpu.max, and some kernels no cpu.stat.
static bool is_mount(const char *mount, const char *const *files, size_t count) {
  char path[512], text[256];
  for (size_t i = 0; i < count && files[i]; i++) {
    snprintf(path, sizeof path, "%s/%s", mount, files[i]);
    if (read_text(path, text, sizeof text))
      return true;
  }
  return false;
}

// Where the groups of a controller are, and what reads one of them. The mounts of a row are two
// names of one place.
static const struct hierarchy {
  const char *controller;  // as /proc/self/cgroup names it; "" = version 2
  const char *mounts[2];
  const char *files[5];  // of which a mount has one
  void (*read_group)(const char *group, hsc_cgroup *out);
} hierarchies[] = {
    {"",
     {"", "/unified"},
     {"cpu.stat", "cgroup.procs", "cpu.max", "memory.max", "cgroup.controllers"},
     read_version_2},
    {"cpu", {"/cpu", "/cpu,cpuacct"}, {"cpu.cfs_period_us", "cgroup.procs"}, read_cpu_1},
    {"memory", {"/memory", "/memory"}, {"memory.limit_in_bytes", "cgroup.procs"}, read_memory_1},
};

// One line, "4:cpu,cpuacct:/path" or "0::/path".
static void read_line(const char *root, const char *line, hsc_cgroup *out) {
  char path[600], mount[400];
  const char *first = strchr(line, ':');
  const char *second = first ? strchr(first + 1, ':') : NULL;
  if (!second)
    return;
  size_t words = (size_t)(second - first - 1);
  snprintf(path, sizeof path, "%.*s", (int)strcspn(second + 1, "\n"), second + 1);
  for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
    const struct hierarchy *h = &hierarchies[i];
    if (*h->controller ? !has_word(first + 1, words, h->controller) : words > 0)
      continue;
    for (int k = 0; k < 2; k++) {
      snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, h->mounts[k]);
      if (!is_mount(mount, h->files, sizeof h->files / sizeof *h->files))
        continue;
      walk(mount, path, h->read_group, out);
      break;
    }
  }
}

void hsc_cgroup_read(const char *root, hsc_cgroup *out) {
  char path[512], text[8192];
  *out = (hsc_cgroup){.cores = INFINITY, .memory_bytes = INFINITY, .memory_left_bytes = INFINITY};
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  // without the file: what is mounted is what there is
  if (!read_text(path, text, sizeof text))
    snprintf(text, sizeof text, "0::/\n1:cpu:/\n2:memory:/\n");
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
    read_line(root, line, out);
}
