// dispatch.h - independent tasks, dispatched to threads that each keep something of their own (a
// worker process, a connection) over the tasks that they do.
//
// The one mechanism by which experiments do many tasks on one machine: `passes ablate` dispatches
// its variants by it, `sweep run` the tasks of a plan.
#pragma once

#include <pthread.h>

#include "base/core/status.h"

typedef struct hsc_dispatch {
  int jobs;       // threads, 1 at least; no more than there are tasks are started
  int64_t count;  // of tasks, for the number of threads and progress
  // The number of the next task, -1 when there is none left. Called without the lock, by any
  // thread, and may wait. NULL: 0 up to count - 1, in order.
  int64_t (*next)(void *user);
  // Does one task. *slot is the thread's own, NULL at first. The first error ends the whole, after
  // the tasks that run.
  hsc_status *(*task)(void *user, void **slot, int64_t number);
  // Frees what a thread kept; called once a thread, with a slot that may be NULL.
  void (*leave)(void *user, void *slot);
  // With the lock held: whether no further task is to begin. NULL = never.
  bool (*stopped)(void *user);
  // With the lock held, before each task. seconds_left < 0: not known. NULL = not called.
  void (*progress)(void *user, int64_t done, int64_t total, double seconds_left);
  // With the lock held, every second, for the task that has run longest, once it has run for
  // waiting_ns. NULL = not called.
  void (*waiting)(void *user, int64_t number, double seconds);
  int64_t waiting_ns;
  pthread_mutex_t *lock;  // the caller's, around the calls that say so
  void *user;
} hsc_dispatch;

// Returns when every thread is through. Errors: the first one of a task.
HSC_MUST_USE hsc_status *hsc_dispatch_run(const hsc_dispatch *dispatch);
