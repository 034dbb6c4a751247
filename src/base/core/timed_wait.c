// timed_wait.c - waits with a limit on CLOCK_MONOTONIC. pthread_cond_clockwait would say the clock
// with each wait, but is younger (glibc 2.30) than the oldest library that hloscope runs with.
#include "base/core/timed_wait.h"

#include <errno.h>

void hsc_cond_init(pthread_cond_t *out_changed) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(out_changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

struct timespec hsc_moment_after_ns(int64_t wait_ns) {
  const int64_t second_ns = 1000000000;
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  int64_t ns = moment.tv_nsec + wait_ns % second_ns;
  moment.tv_sec += wait_ns / second_ns + ns / second_ns;
  moment.tv_nsec = ns % second_ns;
  return moment;
}

bool hsc_cond_wait_until(pthread_cond_t *changed,
                         pthread_mutex_t *lock,
                         const struct timespec *moment) {
  return pthread_cond_timedwait(changed, lock, moment) != ETIMEDOUT;
}
