// probe_watch.c - processor time and memory of a process and its children, from outside.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/probe_internal.h"

enum { SAMPLES_MAX = 512, TREE_MAX = 256, STEP_NS = 10000000 };

struct hsc__probe_watch {
  pthread_t thread;
  int pid;
  int stop;  // atomic
  int64_t begin_ns, step_ns;
  int64_t time_ns[SAMPLES_MAX], bytes[SAMPLES_MAX];
  int count, most_processes;
  int64_t peak_bytes;
  double cpu_seconds;
};

static bool read_small(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  size_t got = file ? fread(text, 1, size - 1, file) : 0;
  if (file) fclose(file);
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
    if (!read_small(path, text, sizeof text)) continue;
    for (char *at = text, *end; count < TREE_MAX; at = end) {
      long child = strtol(at, &end, 10);
      if (end == at) break;
      pids[count++] = (int)child;
    }
  }
  return count;
}

static void sample(hsc__probe_watch *watch) {
  int pids[TREE_MAX], count = process_tree(watch->pid, pids);
  long page = sysconf(_SC_PAGESIZE), ticks = sysconf(_SC_CLK_TCK);
  int64_t bytes = 0;
  double cpu = 0;
  for (int i = 0; i < count; i++) {
    char path[64], text[1024];
    long long pages = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pids[i]);
    if (read_small(path, text, sizeof text) && sscanf(text, "%lld %lld", &pages, &resident) == 2) bytes += resident * page;
    snprintf(path, sizeof path, "/proc/%d/stat", pids[i]);
    char *after = read_small(path, text, sizeof text) ? strrchr(text, ')') : NULL;  // fields 14 to 17 of proc(5): user, system, and of reaped children
    unsigned long long user = 0, system = 0;
    long long child_user = 0, child_system = 0;
    if (after && sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &user, &system, &child_user, &child_system) == 4)
      cpu += (double)(user + system + (unsigned long long)child_user + (unsigned long long)child_system) / (double)ticks;
  }
  if (count > watch->most_processes) watch->most_processes = count;
  if (bytes > watch->peak_bytes) watch->peak_bytes = bytes;
  if (cpu > watch->cpu_seconds) watch->cpu_seconds = cpu;
  if (watch->count == SAMPLES_MAX) {  // half as dense from now on
    for (int i = 0; i < SAMPLES_MAX / 2; i++) watch->time_ns[i] = watch->time_ns[2 * i], watch->bytes[i] = watch->bytes[2 * i];
    watch->count = SAMPLES_MAX / 2;
    watch->step_ns *= 2;
  }
  watch->time_ns[watch->count] = hsc_now_ns() - watch->begin_ns;
  watch->bytes[watch->count++] = bytes;
}

static void *watch_thread(void *user) {
  hsc__probe_watch *watch = user;
  while (!__atomic_load_n(&watch->stop, __ATOMIC_ACQUIRE)) {
    sample(watch);
    hsc_sleep_ns(watch->step_ns);
  }
  return NULL;
}

hsc_status *hsc__probe_watch_start(int pid, hsc__probe_watch **out_watch) {
  hsc__probe_watch *watch = hsc_alloc(sizeof *watch);
  if (!watch) return hsc_status_out_of_memory();
  watch->pid = pid;
  watch->begin_ns = hsc_now_ns();
  watch->step_ns = STEP_NS;
  if (pthread_create(&watch->thread, NULL, watch_thread, watch)) {
    hsc_free(watch);
    return HSC_ERR(RESOURCE_EXHAUSTED, "no thread to watch the worker with");
  }
  *out_watch = watch;
  return NULL;
}

json_t *hsc__probe_watch_stop(hsc__probe_watch *watch) {
  __atomic_store_n(&watch->stop, 1, __ATOMIC_RELEASE);
  pthread_join(watch->thread, NULL);
  sample(watch);  // a stage may be shorter than a step
  json_t *curve = json_array();
  int step = watch->count > 64 ? watch->count / 64 : 1;
  for (int i = 0; i < watch->count; i += step) json_array_append_new(curve, json_pack("[f, I]", (double)watch->time_ns[i] / 1e9, (json_int_t)watch->bytes[i]));
  json_t *result = json_pack("{s:I, s:f, s:i, s:o}", "peak_bytes", (json_int_t)watch->peak_bytes, "cpu_seconds", watch->cpu_seconds, "processes", watch->most_processes, "curve", curve);
  hsc_free(watch);
  return result;
}
