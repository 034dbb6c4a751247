// pressure.c - throttling and waiting, as the kernel counts them.
#include "worker/pressure.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/cgroup.h"

// The number after `key` in a small file; -1 = it is not there.
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

static volatile sig_atomic_t continued;

static void note_continue(int signal_number) {
  (void)signal_number;
  continued++;
}

void hsc_pressure_watch_stops(void) {
  struct sigaction action = {.sa_handler = note_continue, .sa_flags = SA_RESTART};
  sigaction(SIGCONT, &action, NULL);
}

// The second number of /proc/self/task/N/schedstat: how long the thread waited for a processor.
static int64_t runqueue_ns(void) {
  int64_t sum = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *task; tasks && (task = readdir(tasks));) {
    char path[300], text[128];
    if (task->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
    FILE *file = fopen(path, "re");
    long long ran;
    long long waited;
    if (file && fgets(text, sizeof text, file) && sscanf(text, "%lld %lld", &ran, &waited) == 2)
      sum += waited;
    if (file)
      fclose(file);
  }
  if (tasks)
    closedir(tasks);
  return sum;
}

// The line "some" of /proc/pressure/NAME, which comes first; 0 where the kernel does not tell.
static int64_t pressure_ns(const char *root, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/proc/pressure/%s", root, name);
  int64_t waited_us = number_in(path, "total=");
  return waited_us > 0 ? 1000 * waited_us : 0;
}

void hsc_pressure_get(hsc_pressure *out) {
  hsc_pressure_read("", out);
}

void hsc_pressure_read(const char *root, hsc_pressure *out) {
  hsc_cgroup group;
  hsc_cgroup_read(root, &group);
  *out = (hsc_pressure){.throttled_ns = group.throttled_ns,
                        .waited_ns = pressure_ns(root, "cpu"),
                        .memory_ns = pressure_ns(root, "memory"),
                        .runqueue_ns = runqueue_ns(),
                        .stop_count = continued};
}

hsc_pressure hsc_pressure_since(const hsc_pressure *before) {
  hsc_pressure now;
  hsc_pressure_get(&now);
  // a thread that ended took its wait with it
  int64_t queue = now.runqueue_ns - before->runqueue_ns;
  return (hsc_pressure){.throttled_ns = now.throttled_ns - before->throttled_ns,
                        .waited_ns = now.waited_ns - before->waited_ns,
                        .memory_ns = now.memory_ns - before->memory_ns,
                        .runqueue_ns = queue > 0 ? queue : 0,
                        .stop_count = now.stop_count - before->stop_count};
}
