// dispatch.c - threads that take tasks until there are none, and one that watches over them.
#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/core/timed_wait.h"
#include "lab/dispatch/dispatch.h"

// A task that was answered from what is kept takes no time, and says nothing of how long others
// take.
static const int64_t KEPT_NS = 5000000;
static const int64_t TELL_EVERY_NS = 1000000000;
enum { MOST_JOBS = 256 };

typedef struct slot {
  struct dispatcher *dispatcher;
  int64_t number;    // of the task that it is at; -1 = none
  int64_t since_ns;  // it began then
} slot;

typedef struct dispatcher {
  const hsc_dispatch *dispatch;
  slot slots[MOST_JOBS];
  int jobs, going;
  int64_t next, done;  // of tasks
  int64_t fresh_done;  // of done: those that took time
  int64_t busy_ns;     // of those
  hsc_status *failure;
  pthread_cond_t changed;
} dispatcher;

static void report(const dispatcher *d) {
  const hsc_dispatch *dispatch = d->dispatch;
  double left = -1;
  if (!dispatch->progress)
    return;
  // by what is through: what has begun has taken no time yet
  if (d->fresh_done >= 2)
    left = (double)d->busy_ns * 1e-9 / (double)d->fresh_done * (double)(dispatch->count - d->done) /
           (d->jobs > 1 ? d->jobs : 1);
  dispatch->progress(dispatch->user, d->done, dispatch->count, left);
}

// The next task of a slot; false = there is none.
static bool take(slot *s) {
  dispatcher *d = s->dispatcher;
  const hsc_dispatch *dispatch = d->dispatch;
  int64_t number = dispatch->next ? dispatch->next(dispatch->user) : 0;
  pthread_mutex_lock(dispatch->lock);
  bool end = number < 0 || d->failure || (dispatch->stopped && dispatch->stopped(dispatch->user));
  if (!end && !dispatch->next) {
    number = d->next++;
    end = number >= dispatch->count;
  }
  s->number = end ? -1 : number;
  s->since_ns = hsc_now_ns();
  if (!end)
    report(d);
  pthread_mutex_unlock(dispatch->lock);
  return !end;
}

static void *serve(void *argument) {
  slot *s = argument;
  dispatcher *d = s->dispatcher;
  const hsc_dispatch *dispatch = d->dispatch;
  void *own = NULL;
  while (take(s)) {
    hsc_status *status = dispatch->task(dispatch->user, &own, s->number);
    int64_t took_ns = hsc_now_ns() - s->since_ns;
    pthread_mutex_lock(dispatch->lock);
    d->done++;
    if (took_ns >= KEPT_NS) {
      d->fresh_done++;
      d->busy_ns += took_ns;
    }
    if (status && !d->failure)
      d->failure = status;
    else
      hsc_status_free(status);
    pthread_mutex_unlock(dispatch->lock);
  }
  if (dispatch->leave)
    dispatch->leave(dispatch->user, own);
  pthread_mutex_lock(dispatch->lock);
  d->going--;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(dispatch->lock);
  return NULL;
}

// Names the task that has taken longest, every second while it goes on. With the lock held.
static void tell_waiting(const dispatcher *d) {
  const hsc_dispatch *dispatch = d->dispatch;
  const slot *longest = NULL;
  for (int i = 0; i < d->jobs; i++)
    if (d->slots[i].number >= 0 && (!longest || d->slots[i].since_ns < longest->since_ns))
      longest = &d->slots[i];
  int64_t waited_ns = longest ? hsc_now_ns() - longest->since_ns : 0;
  if (longest && waited_ns >= dispatch->waiting_ns && dispatch->waiting)
    dispatch->waiting(dispatch->user, longest->number, (double)waited_ns * 1e-9);
}

static void watch_over(dispatcher *d) {
  pthread_mutex_lock(d->dispatch->lock);
  while (d->going > 0) {
    struct timespec until = hsc_moment_after_ns(TELL_EVERY_NS);
    if (!hsc_cond_wait_until(&d->changed, d->dispatch->lock, &until))
      tell_waiting(d);
  }
  pthread_mutex_unlock(d->dispatch->lock);
}

hsc_status *hsc_dispatch_run(const hsc_dispatch *dispatch) {
  pthread_t threads[MOST_JOBS];
  int64_t wanted = dispatch->jobs < 1 ? 1 : dispatch->jobs;
  dispatcher *d = hsc_alloc(sizeof *d);
  if (!d)
    return hsc_status_out_of_memory();
  *d = (dispatcher){.dispatch = dispatch};
  hsc_cond_init(&d->changed);
  if (wanted > MOST_JOBS)
    wanted = MOST_JOBS;
  if (wanted > dispatch->count)
    wanted = dispatch->count;
  pthread_mutex_lock(dispatch->lock);
  for (int i = 0; i < wanted; i++) {
    d->slots[i] = (slot){.dispatcher = d, .number = -1};
    if (pthread_create(&threads[i], NULL, serve, &d->slots[i]))
      break;
    d->jobs = d->going = i + 1;
  }
  pthread_mutex_unlock(dispatch->lock);
  if (d->jobs == 0 && dispatch->count > 0) {  // no thread to be had: here
    d->slots[0] = (slot){.dispatcher = d, .number = -1};
    d->going = 1;
    serve(&d->slots[0]);
  }
  watch_over(d);
  for (int i = 0; i < d->jobs; i++)
    pthread_join(threads[i], NULL);
  pthread_cond_destroy(&d->changed);
  hsc_status *status = d->failure;
  hsc_free(d);
  return status;
}
