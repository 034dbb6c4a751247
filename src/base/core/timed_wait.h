// timed_wait.h - condition variables that are waited for with a limit. The limit is on a clock that
// nobody sets: when the time of day jumps, a wait neither ends early nor hangs.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// In place of pthread_cond_init, which counts on the time of day.
void hsc_cond_init(pthread_cond_t *out_changed);

// The moment that lies this far ahead: what hsc_cond_wait_until takes.
struct timespec hsc_moment_after_ns(int64_t wait_ns);

// Gives the lock back until the condition is signalled (or for no reason, as pthread_cond_wait may)
// or the moment has come. False: it has come.
bool hsc_cond_wait_until(pthread_cond_t *changed,
                         pthread_mutex_t *lock,
                         const struct timespec *moment);
