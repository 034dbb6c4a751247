// probe_watch.c - processor time and memory of a process and its children, from outside.
#include <pthread.h>

#include "base/core/clock.h"
#include "lab/probe/probe_internal.h"
#include "lab/probe/process_usage.h"

enum { SAMPLES_MAX = 512, STEP_NS = 10000000 };

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

static void sample(hsc__probe_watch *watch) {
  hsc_process_usage usage;
  hsc_process_usage_get(watch->pid, &usage);
  if (usage.processes > watch->most_processes)
    watch->most_processes = usage.processes;
  if (usage.resident_bytes > watch->peak_bytes)
    watch->peak_bytes = usage.resident_bytes;
  if (usage.cpu_seconds > watch->cpu_seconds)
    watch->cpu_seconds = usage.cpu_seconds;
  if (watch->count == SAMPLES_MAX) {  // half as dense from now on
    for (int i = 0; i < SAMPLES_MAX / 2; i++) {
      watch->time_ns[i] = watch->time_ns[2 * i];
      watch->bytes[i] = watch->bytes[2 * i];
    }
    watch->count = SAMPLES_MAX / 2;
    watch->step_ns *= 2;
  }
  watch->time_ns[watch->count] = hsc_now_ns() - watch->begin_ns;
  watch->bytes[watch->count++] = usage.resident_bytes;
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
  if (!watch)
    return hsc_status_out_of_memory();
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
  for (int i = 0; i < watch->count; i += step)
    json_array_append_new(
        curve, json_pack("[f, I]", (double)watch->time_ns[i] / 1e9, (json_int_t)watch->bytes[i]));
  json_t *result =
      json_pack("{s:I, s:f, s:i, s:o}", "peak_bytes", (json_int_t)watch->peak_bytes, "cpu_seconds",
                watch->cpu_seconds, "processes", watch->most_processes, "curve", curve);
  hsc_free(watch);
  return result;
}
