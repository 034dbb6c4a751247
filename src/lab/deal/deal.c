// deal.c - threads that take tasks until there are none, and one that watches over them.
#include "base/core/clock.h"
#include "base/core/memory.h"
#include "lab/deal/deal.h"

#include <time.h>

// A task that was answered from what is kept takes no time, and says nothing of how long others
// take.
static const int64_t KEPT_NS = 5000000;
enum { MOST_JOBS = 256 };

typedef struct slot {
  struct dealer *dealer;
  int64_t number;    // of the task that it is at; -1 = none
  int64_t since_ns;  // it began then
} slot;

typedef struct dealer {
  const hsc_deal *deal;
  slot slots[MOST_JOBS];
  int jobs, going;
  int64_t next, done;  // of tasks
  int64_t fresh_done;  // of done: those that took time
  int64_t busy_ns;     // of those
  hsc_status *failure;
  pthread_cond_t changed;
} dealer;

static void report(const dealer *d) {
  const hsc_deal *deal = d->deal;
  double left = -1;
  if (!deal->progress)
    return;
  // by what is through: what has begun has taken no time yet
  if (d->fresh_done >= 2)
    left = (double)d->busy_ns * 1e-9 / (double)d->fresh_done * (double)(deal->count - d->done) /
           (d->jobs > 1 ? d->jobs : 1);
  deal->progress(deal->user, d->done, deal->count, left);
}

// The next task of a slot; false = there is none.
static bool take(slot *s) {
  dealer *d = s->dealer;
  const hsc_deal *deal = d->deal;
  int64_t number = deal->next ? deal->next(deal->user) : 0;
  pthread_mutex_lock(deal->lock);
  bool end = number < 0 || d->failure || (deal->stopped && deal->stopped(deal->user));
  if (!end && !deal->next) {
    number = d->next++;
    end = number >= deal->count;
  }
  s->number = end ? -1 : number;
  s->since_ns = hsc_now_ns();
  if (!end)
    report(d);
  pthread_mutex_unlock(deal->lock);
  return !end;
}

static void *serve(void *argument) {
  slot *s = argument;
  dealer *d = s->dealer;
  const hsc_deal *deal = d->deal;
  void *own = NULL;
  while (take(s)) {
    hsc_status *status = deal->task(deal->user, &own, s->number);
    int64_t took_ns = hsc_now_ns() - s->since_ns;
    pthread_mutex_lock(deal->lock);
    d->done++;
    if (took_ns >= KEPT_NS) {
      d->fresh_done++;
      d->busy_ns += took_ns;
    }
    if (status && !d->failure)
      d->failure = status;
    else
      hsc_status_free(status);
    pthread_mutex_unlock(deal->lock);
  }
  if (deal->leave)
    deal->leave(deal->user, own);
  pthread_mutex_lock(deal->lock);
  d->going--;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(deal->lock);
  return NULL;
}

// Names the task that has taken longest, every second while it goes on. With the lock held.
static void tell_waiting(const dealer *d) {
  const hsc_deal *deal = d->deal;
  const slot *longest = NULL;
  for (int i = 0; i < d->jobs; i++)
    if (d->slots[i].number >= 0 && (!longest || d->slots[i].since_ns < longest->since_ns))
      longest = &d->slots[i];
  int64_t waited_ns = longest ? hsc_now_ns() - longest->since_ns : 0;
  if (longest && waited_ns >= deal->waiting_ns && deal->waiting)
    deal->waiting(deal->user, longest->number, (double)waited_ns * 1e-9);
}

static void watch_over(dealer *d) {
  pthread_mutex_lock(d->deal->lock);
  while (d->going > 0) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (pthread_cond_timedwait(&d->changed, d->deal->lock, &until))
      tell_waiting(d);
  }
  pthread_mutex_unlock(d->deal->lock);
}

hsc_status *hsc_deal_run(const hsc_deal *deal) {
  pthread_t threads[MOST_JOBS];
  int64_t wanted = deal->jobs < 1 ? 1 : deal->jobs;
  dealer *d = hsc_alloc(sizeof *d);
  if (!d)
    return hsc_status_out_of_memory();
  *d = (dealer){.deal = deal};
  pthread_cond_init(&d->changed, NULL);
  if (wanted > MOST_JOBS)
    wanted = MOST_JOBS;
  if (wanted > deal->count)
    wanted = deal->count;
  pthread_mutex_lock(deal->lock);
  for (int i = 0; i < wanted; i++) {
    d->slots[i] = (slot){.dealer = d, .number = -1};
    if (pthread_create(&threads[i], NULL, serve, &d->slots[i]))
      break;
    d->jobs = d->going = i + 1;
  }
  pthread_mutex_unlock(deal->lock);
  if (d->jobs == 0 && deal->count > 0) {  // no thread to be had: here
    d->slots[0] = (slot){.dealer = d, .number = -1};
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
