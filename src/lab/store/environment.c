// environment.c - reads /proc and /sys, and times a loop.
#include "base/core/clock.h"
#include "base/process/cgroup.h"
#include "lab/store/environment.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "stats/stats.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

// First line of a small file of the kernel's; false when it is not there. These files have no size,
// so they are read with stdio.
static bool read_line(const char *path, char *line, int size) {
  FILE *file = fopen(path, "r");
  bool found = file && fgets(line, size, file) != NULL;
  if (file)
    fclose(file);
  if (found)
    line[strcspn(line, "\n")] = 0;
  return found;
}

static json_t *line_or_null(const char *path) {
  char line[256];
  return read_line(path, line, sizeof line) ? json_string(line) : json_null();
}

static json_t *cpu_model(void) {
  char line[512];
  FILE *file = fopen("/proc/cpuinfo", "r");
  json_t *model = NULL;
  while (file && !model && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (!colon || strncmp(line, "model name", 10) != 0)
      continue;
    colon[strcspn(colon, "\n")] = 0;
    model = json_string(colon + 2);
  }
  if (file)
    fclose(file);
  return model ? model : json_null();
}

static int allowed_cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// Cores that the control group may use, NULL = no limit.
static json_t *quota_cores(void) {
  hsc_cgroup group;
  hsc_cgroup_read("", &group);
  return isfinite(group.cores) ? json_real(group.cores) : json_null();
}

// Share of the last 10 s in which somebody waited for a core; -1 = the kernel does not tell.
static double cpu_pressure(void) {
  char line[256];
  double percent;
  if (!read_line("/proc/pressure/cpu", line, sizeof line) ||
      sscanf(line, "some avg10=%lf", &percent) != 1)
    return -1;
  return percent;
}

static json_t *clock_facts(void) {
  struct timespec resolution = {0};
  clock_getres(CLOCK_MONOTONIC_RAW, &resolution);
  enum { READS = 1000 };
  int64_t start = hsc_now_ns();
  for (int i = 0; i < READS; i++)
    (void)hsc_now_ns();
  double read_ns = (double)(hsc_now_ns() - start) / READS;
  return json_pack("{s:o, s:I, s:f}", "source",
                   line_or_null("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
                   "resolution_ns",
                   (json_int_t)(resolution.tv_sec * 1000000000LL + resolution.tv_nsec), "read_ns",
                   read_ns);
}

// Whether cores run above their rated clock at times; null = the kernel does not tell.
static json_t *turbo(void) {
  char line[16];
  if (read_line("/sys/devices/system/cpu/intel_pstate/no_turbo", line, sizeof line))
    return json_boolean(line[0] == '0');
  if (read_line("/sys/devices/system/cpu/cpufreq/boost", line, sizeof line))
    return json_boolean(line[0] != '0');
  return json_null();
}

// Whether two threads share a core.
static json_t *smt(void) {
  char line[16];
  return read_line("/sys/devices/system/cpu/smt/active", line, sizeof line)
             ? json_boolean(line[0] != '0')
             : json_null();
}

// Share of the time since the machine started that the hypervisor gave to others.
static json_t *steal(void) {
  char line[512];
  double t[8];
  double all = 0;
  if (!read_line("/proc/stat", line, sizeof line) ||
      sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5],
             &t[6], &t[7]) != 8)
    return json_null();
  for (size_t i = 0; i < HSC_COUNT_OF(t); i++)
    all += t[i];
  return all > 0 ? json_real(t[7] / all) : json_null();
}

// Memory nodes: "0" or "0-1".
static json_t *numa_nodes(void) {
  return line_or_null("/sys/devices/system/node/online");
}

// The same work again and again: what exceeds the median was taken by somebody else (another
// process, an interrupt, a clock change).
static void calibrate(double *out_loop_ns, double *out_lost, double *out_longest_ns) {
  enum { LOOPS = 2000, SPINS = 4000 };
  static double loop_ns[LOOPS];
  for (int i = 0; i < LOOPS; i++) {
    int64_t start = hsc_now_ns();
    uint64_t x = 88172645463325252u;
    for (int k = 0; k < SPINS; k++) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      __asm__ volatile("" : "+r"(x));
    }
    loop_ns[i] = (double)(hsc_now_ns() - start);
  }
  double median = hsc_stats_median(loop_ns, LOOPS);
  double lost = 0;
  double all = 0;
  for (int i = 0; i < LOOPS; i++) {
    all += loop_ns[i];
    if (loop_ns[i] > median)
      lost += loop_ns[i] - median;
  }
  *out_loop_ns = median;
  *out_lost = lost / all;
  *out_longest_ns = hsc_stats_max(loop_ns, LOOPS);
}

static void set_grade(json_t *environment, double lost, double load, double pressure, int cores) {
  char grade;
  if (lost < 0.01)
    grade = 'A';
  else if (lost < 0.03)
    grade = 'B';
  else if (lost < 0.10)
    grade = 'C';
  else
    grade = 'D';
  json_t *reasons = json_array();
  char text[160];
  snprintf(text, sizeof text, "%.1f %% of the time of a calibration loop went to others",
           100 * lost);
  json_array_append_new(reasons, json_string(text));
  if (load > cores) {
    if (grade < 'C')
      grade = 'C';
    snprintf(text, sizeof text, "load average %.1f on %d cores", load, cores);
    json_array_append_new(reasons, json_string(text));
  }
  if (pressure > 10) {
    if (grade < 'C')
      grade = 'C';
    snprintf(text, sizeof text, "somebody waited for a core during %.0f %% of the last 10 s",
             pressure);
    json_array_append_new(reasons, json_string(text));
  }
  json_object_set_new(environment, "grade", json_stringn(&grade, 1));
  json_object_set_new(environment, "grade_reasons", reasons);
}

hsc_status *hsc_environment_capture(bool with_calibration, json_t **out_environment) {
  struct utsname system = {0};
  uname(&system);
  char kernel[sizeof system.sysname + sizeof system.release + sizeof system.machine + 3];
  snprintf(kernel, sizeof kernel, "%s %s %s", system.sysname, system.release, system.machine);
  double load = 0;
  double pressure = cpu_pressure();
  if (getloadavg(&load, 1) != 1)
    load = -1;
  int cores = allowed_cores();
  json_t *environment = json_pack(
      "{s:s, s:s, s:s, s:o, s:{s:i, s:i, s:o}, s:I, s:o, s:o, s:o, s:o}", "hloscope", HSC_VERSION,
      "compiler", COMPILER, "kernel", kernel, "cpu", cpu_model(), "cores", "online",
      (int)sysconf(_SC_NPROCESSORS_ONLN), "allowed", cores, "quota", quota_cores(), "memory_bytes",
      (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), "governor",
      line_or_null("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "load_1m",
      load < 0 ? json_null() : json_real(load), "pressure_cpu_percent",
      pressure < 0 ? json_null() : json_real(pressure), "clock", clock_facts());
  if (!environment)
    return hsc_status_out_of_memory();
  json_object_set_new(environment, "turbo", turbo());
  json_object_set_new(environment, "smt", smt());
  json_object_set_new(environment, "steal_fraction", steal());
  json_object_set_new(environment, "numa_nodes", numa_nodes());
  if (with_calibration) {
    double loop_ns, lost, longest_ns;
    calibrate(&loop_ns, &lost, &longest_ns);
    json_object_set_new(environment, "noise",
                        json_pack("{s:f, s:f, s:f}", "loop_ns", loop_ns, "lost_fraction", lost,
                                  "longest_ns", longest_ns));
    set_grade(environment, lost, load, pressure, cores);
  }
  *out_environment = environment;
  return NULL;
}
