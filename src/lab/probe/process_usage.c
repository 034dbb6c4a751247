// process_usage.c - memory and processor time of a tree of processes.
#include "lab/probe/process_usage.h"

#include <stdlib.h>
#include <unistd.h>

enum { TREE_MAX = 256 };

static bool read_small(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  size_t got = file ? fread(text, 1, size - 1, file) : 0;
  if (file)
    fclose(file);
  text[got] = 0;
  return got > 0;
}

// Process ids below `pid`, itself first; at most TREE_MAX.
static int process_tree(int pid, int *pids) {
  int count = 1;
  pids[0] = pid;
  for (int i = 0; i < count; i++) {
    char path[96], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pids[i], pids[i]);
    if (!read_small(path, text, sizeof text))
      continue;
    for (char *at = text, *end; count < TREE_MAX; at = end) {
      long child = strtol(at, &end, 10);
      if (end == at)
        break;
      pids[count++] = (int)child;
    }
  }
  return count;
}

void hsc_process_usage_get(int pid, hsc_process_usage *out) {
  int pids[TREE_MAX];
  int count = process_tree(pid, pids);
  long page = sysconf(_SC_PAGESIZE);
  long ticks = sysconf(_SC_CLK_TCK);
  *out = (hsc_process_usage){0};
  for (int i = 0; i < count; i++) {
    char path[64], text[1024];
    long long pages = 0;
    long long resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pids[i]);
    if (read_small(path, text, sizeof text) && sscanf(text, "%lld %lld", &pages, &resident) == 2) {
      out->resident_bytes += resident * page;
      out->processes++;
    }
    snprintf(path, sizeof path, "/proc/%d/stat", pids[i]);
    // fields 14 to 17 of proc(5): user, system, and of reaped children
    char *after = read_small(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    unsigned long long user = 0;
    unsigned long long system = 0;
    long long child_user = 0;
    long long child_system = 0;
    if (after &&
        sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &user,
               &system, &child_user, &child_system) == 4)
      out->cpu_seconds += (double)(user + system + (unsigned long long)child_user +
                                   (unsigned long long)child_system) /
                          (double)ticks;
  }
}
