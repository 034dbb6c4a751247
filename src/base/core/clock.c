// clock.c - time and what the process has used so far. Durations are signed differences of
// hsc_now_ns.
#include "base/core/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

static int64_t read_clock(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#ifdef HSC_COUNT_WORK
// make growth: -fsanitize-coverage=trace-pc calls this at the start of every piece of straight
// code. Time is how many of them the process has run: the same for the same work.
static _Atomic uint64_t work;
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
  atomic_store_explicit(&work, atomic_load_explicit(&work, memory_order_relaxed) + 1,
                        memory_order_relaxed);
}

int64_t hsc_now_ns(void) {
  return (int64_t)atomic_load_explicit(&work, memory_order_relaxed);
}
#else
int64_t hsc_now_ns(void) {
  return read_clock(CLOCK_MONOTONIC_RAW);
}
#endif

int64_t hsc_wall_ns(void) {
  return read_clock(CLOCK_REALTIME);
}

void hsc_sleep_ns(int64_t duration_ns) {
  if (duration_ns <= 0)
    return;
  struct timespec left = {.tv_sec = duration_ns / 1000000000, .tv_nsec = duration_ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
    continue;
}

static int64_t timeval_ns(struct timeval time) {
  return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

void hsc_usage_get(hsc_usage *out_usage) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  *out_usage = (hsc_usage){.minor_faults = usage.ru_minflt,
                           .major_faults = usage.ru_majflt,
                           .voluntary_switches = usage.ru_nvcsw,
                           .involuntary_switches = usage.ru_nivcsw,
                           .user_ns = timeval_ns(usage.ru_utime),
                           .system_ns = timeval_ns(usage.ru_stime),
                           .max_rss_bytes = (int64_t)usage.ru_maxrss * 1024};
}
