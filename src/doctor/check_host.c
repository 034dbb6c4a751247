// check_host.c - the machine that programs compile and run on.
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/text/text.h"
#include "base/process/cgroup.h"
#include "doctor/doctor_internal.h"

// "0-3,8" holds 5 numbers.
static int count_ranges(const char *text) {
  int count = 0;
  while (text && *text) {
    char *end;
    long first = strtol(text, &end, 10);
    long last = first;
    if (end == text)
      break;
    if (*end == '-')
      last = strtol(end + 1, &end, 10);
    if (last >= first)
      count += (int)(last - first + 1);
    text = *end == ',' ? end + 1 : "";
  }
  return count;
}

// The number after "NAME:" in a file of lines; negative = not there.
static double number_of(const char *text, const char *name) {
  const char *at = text;
  size_t length = strlen(name);
  while (at && strncmp(at, name, length) != 0) {
    at = strchr(at, '\n');
    if (at)
      at++;
  }
  return at ? strtod(at + length, NULL) : -1;
}

void hsc__check_cores(hsc__check_context *cx) {
  int online = count_ranges(hsc__read_line(cx, hsc__path(cx, "/sys/devices/system/cpu/online")));
  const char *status = hsc__read(cx, hsc__path(cx, "/proc/self/status"));
  const char *list = status ? strstr(status, "Cpus_allowed_list:") : NULL;
  int allowed = 0;
  if (list) {
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(list + 18, "\n"), list + 18);
    allowed = count_ranges(text + strspn(text, " \t"));
  }
  if (!online && !allowed)
    return;
  hsc__say(cx, HSC_VERDICT_OK, "%d online, %d allowed", online, allowed ? allowed : online);
  hsc_cgroup group;
  hsc_cgroup_read(cx->options.root, &group);
  if (isfinite(group.cores)) {
    double cores = group.cores;
    bool small = cores < (allowed ? allowed : online) - 0.5;
    hsc__say(cx, small ? HSC_VERDICT_WARNING : HSC_VERDICT_OK,
             "the control group allows the time of %.1f (%s)", cores, group.where);
    if (small)
      hsc__fix(cx,
               "thread pools see more cores than they get: set the container's cpuset, or "
               "OMP_NUM_THREADS and HLOSCOPE_THREADS to %.0f",
               cores < 1 ? 1 : cores);
  }
  if (group.throttled_count > 0) {
    hsc__say(cx, HSC_VERDICT_WARNING, "it was stopped %lld %s for it, %.3g s in all",
             (long long)group.throttled_count,
             hsc_plural((double)group.throttled_count, "time", "times"),
             (double)group.throttled_ns / 1e9);
    hsc__fix(cx, "a larger quota (docker run --cpus, resources.limits.cpu), or fewer threads");
  }
  if ((allowed ? allowed : online) == 1) {
    hsc__say(cx, HSC_VERDICT_WARNING, "only one core: compilers and the program share it");
    hsc__fix(cx, "give the process more cores (taskset, cpuset)");
  }
}

void hsc__check_governor(hsc__check_context *cx) {
  const char *names[512];
  size_t count =
      hsc__list(cx, hsc__path(cx, "/sys/devices/system/cpu"), "cpu", names, HSC_COUNT_OF(names));
  size_t slow = 0;
  size_t known = 0;
  const char *last = "";
  for (size_t i = 0; i < count; i++) {
    const char *governor = hsc__read_line(
        cx, hsc__path(cx, "/sys/devices/system/cpu/%s/cpufreq/scaling_governor", names[i]));
    if (!governor)
      continue;
    known++;
    last = governor;
    slow += !strcmp(governor, "powersave") || !strcmp(governor, "conservative") ||
            !strcmp(governor, "ondemand");
  }
  if (!known)
    return;
  hsc__say(cx, slow ? HSC_VERDICT_WARNING : HSC_VERDICT_OK,
           "%zu of %zu cores save power (governor %s)", slow, known, last);
  if (slow)
    hsc__fix(cx, "as root, before measuring: cpupower frequency-set -g performance");
}

void hsc__check_memory(hsc__check_context *cx) {
  const char *text = hsc__read(cx, hsc__path(cx, "/proc/meminfo"));
  if (!text)
    return;
  double total = number_of(text, "MemTotal:") * 1024;
  double available = number_of(text, "MemAvailable:") * 1024;
  double swap = number_of(text, "SwapTotal:") * 1024;
  hsc_cgroup group;
  hsc_cgroup_read(cx->options.root, &group);
  double room = available;
  hsc__say(cx, HSC_VERDICT_OK, "%s of %s available", hsc__bytes_text(cx, available),
           hsc__bytes_text(cx, total));
  if (group.memory_bytes > 0 && group.memory_bytes < total) {
    hsc__say(cx, HSC_VERDICT_OK, "the control group allows %s, %s of it is left",
             hsc__bytes_text(cx, group.memory_bytes), hsc__bytes_text(cx, group.memory_left_bytes));
    if (group.memory_left_bytes < room)
      room = group.memory_left_bytes;
  }
  if (room < 2.0 * (1 << 30)) {
    hsc__say(cx, room < 256.0 * (1 << 20) ? HSC_VERDICT_ERROR : HSC_VERDICT_WARNING,
             "little is left");
    hsc__fix(cx,
             "compilers of large models need tens of GiB; end other processes or raise the limit%s",
             swap > 0 ? "" : " (there is no swap: the kernel kills instead of slowing down)");
  }
}

void hsc__check_huge_pages(hsc__check_context *cx) {
  const char *mode =
      hsc__read_line(cx, hsc__path(cx, "/sys/kernel/mm/transparent_hugepage/enabled"));
  if (!mode)
    return;
  bool never = strstr(mode, "[never]") != NULL;
  hsc__say(cx, never ? HSC_VERDICT_WARNING : HSC_VERDICT_OK, "transparent huge pages: %s", mode);
  if (never)
    hsc__fix(cx, "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

void hsc__check_shared_memory(hsc__check_context *cx) {
  struct statvfs info;
  const char *path = hsc__path(cx, "/dev/shm");
  if (statvfs(path, &info))
    return;
  double size = (double)info.f_blocks * (double)info.f_frsize;
  double left = (double)info.f_bavail * (double)info.f_frsize;
  bool small = size < 1.0 * (1 << 30);
  hsc__say(cx, small ? HSC_VERDICT_WARNING : HSC_VERDICT_OK, "/dev/shm has %s, %s free",
           hsc__bytes_text(cx, size), hsc__bytes_text(cx, left));
  if (small)
    hsc__fix(cx,
             "collectives and data loaders need more: docker run --shm-size=8g, or mount -o "
             "remount,size=8g /dev/shm");
}

// A row of /proc/self/limits; negative = unlimited, -2 = not there.
static double soft_limit(const char *text, const char *name) {
  const char *row = text ? strstr(text, name) : NULL;
  if (!row)
    return -2;
  row += strlen(name);
  row += strspn(row, " ");
  return !strncmp(row, "unlimited", 9) ? -1 : strtod(row, NULL);
}

void hsc__check_limits(hsc__check_context *cx) {
  const char *text = hsc__read(cx, hsc__path(cx, "/proc/self/limits"));
  if (!text)
    return;
  double files = soft_limit(text, "Max open files");
  double locked = soft_limit(text, "Max locked memory");
  bool few = files >= 0 && files < 4096;
  hsc__say(cx, few ? HSC_VERDICT_WARNING : HSC_VERDICT_OK, "open files %.0f", files);
  if (few)
    hsc__fix(cx, "ulimit -n 65536: programs over many devices open many files");
  bool needs_locked = hsc__exists(hsc__path(cx, "/dev/infiniband")) ||
                      hsc__exists(hsc__path(cx, "/sys/class/infiniband"));
  if (locked >= 0)
    hsc__say(cx, needs_locked ? HSC_VERDICT_WARNING : HSC_VERDICT_OK, "locked memory %s",
             hsc__bytes_text(cx, locked));
  if (locked >= 0 && needs_locked)
    hsc__fix(cx, "ulimit -l unlimited: the fast network registers memory");
}

static void check_disk_of(hsc__check_context *cx, const char *what, const char *path) {
  struct statvfs info;
  char at[4096];
  snprintf(at, sizeof at, "%s", path);
  while (statvfs(at, &info)) {  // not made yet: its nearest parent
    char *slash = strrchr(at, '/');
    if (!slash || slash == at)
      return;
    *slash = 0;
  }
  double left = (double)info.f_bavail * (double)info.f_frsize;
  hsc_verdict verdict;
  if (left < 200.0 * (1 << 20))
    verdict = HSC_VERDICT_ERROR;
  else if (left < 5.0 * (1 << 30))
    verdict = HSC_VERDICT_WARNING;
  else
    verdict = HSC_VERDICT_OK;
  hsc__say(cx, verdict, "%s free for %s (%s)", hsc__bytes_text(cx, left), what, path);
  if (verdict != HSC_VERDICT_OK)
    hsc__fix(cx, "make room on the disk of %s", path);
  else if (info.f_files && info.f_favail < 1000) {
    hsc__say(cx, HSC_VERDICT_WARNING, "only %llu files can be made there",
             (unsigned long long)info.f_favail);
    hsc__fix(cx, "remove small files on the disk of %s", path);
  }
}

void hsc__check_disk(hsc__check_context *cx) {
  const char *home = hsc__env(cx, "HOME");
  const char *temporary = hsc__env(cx, "TMPDIR");
  const char *jax = hsc__env(cx, "JAX_COMPILATION_CACHE_DIR");
  check_disk_of(cx, "temporary files",
                hsc__path(cx, "%s", temporary && *temporary ? temporary : "/tmp"));
  if (home && *home)
    check_disk_of(cx, "caches", hsc__path(cx, "%s/.cache", home));
  if (hsc__exists(hsc__path(cx, "/var/tmp/neuron-compile-cache")))
    check_disk_of(cx, "Neuron's compile cache", hsc__path(cx, "/var/tmp/neuron-compile-cache"));
  if (jax && *jax == '/')
    check_disk_of(cx, "JAX's cache", hsc__path(cx, "%s", jax));
}

void hsc__check_clock(hsc__check_context *cx) {
  const char *source = hsc__read_line(
      cx, hsc__path(cx, "/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  if (!source)
    return;
  bool slow = !strcmp(source, "hpet") || !strcmp(source, "acpi_pm") || !strcmp(source, "jiffies") ||
              !strcmp(source, "xen");
  hsc__say(cx, slow ? HSC_VERDICT_WARNING : HSC_VERDICT_OK, "%s", source);
  if (slow)
    hsc__fix(cx,
             "reading this clock takes a system call; where the hardware allows it: echo tsc > "
             "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

void hsc__check_load(hsc__check_context *cx) {
  const char *text = hsc__read_line(cx, hsc__path(cx, "/proc/loadavg"));
  if (!text)
    return;
  double load = strtod(text, NULL);
  int online = count_ranges(hsc__read_line(cx, hsc__path(cx, "/sys/devices/system/cpu/online")));
  bool busy = online > 0 && load > 0.5 * online;
  hsc__say(cx, busy ? HSC_VERDICT_WARNING : HSC_VERDICT_OK, "load %.2f on %d cores", load, online);
  if (busy)
    hsc__fix(cx, "measure when the machine is idle: times are not comparable now");
}
