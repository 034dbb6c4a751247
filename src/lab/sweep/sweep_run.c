// sweep_run.c - runs the tasks of a plan in this process; what is already in results/ is left out.
#include "base/core/clock.h"
#include "lab/sweep/sweep_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "lab/dispatch/dispatch.h"
#include "lab/store/store.h"

// ---- this process alone -------------------------------------------------------------------------

typedef struct running {
  const hsc_sweep_run_options *options;
  pthread_mutex_t lock;  // of all below
  hsc__pool *pool;
  hsc__sweep_others *others;
  hsc_random random;
  hsc__shard shard;
  hsc_task_table tasks;
  hsc_sweep_summary *summary;
} running;

// The longest first; with somebody else at the plan any, so that both seldom take the same.
static int64_t next_task(void *user) {
  running *r = user;
  pthread_mutex_lock(&r->lock);
  bool shared = hsc__sweep_others_look(r->others, r->pool);
  int64_t task = shared ? hsc__pool_take_any(r->pool, &r->random) : hsc__pool_take(r->pool);
  pthread_mutex_unlock(&r->lock);
  return task;
}

static hsc_status *keep(running *r, int64_t number, json_t *row) {
  double took_s = json_number_value(json_object_get(row, "took_s"));
  HSC_TRY(hsc__shard_append(&r->shard, row));
  r->summary->done += hsc_sweep_is_result(row);
  r->summary->busy_seconds += took_s;
  hsc__pool_learn(r->pool, number, took_s);
  return hsc__sweep_keep(&r->tasks, row);
}

static hsc_status *do_task(void *user, void **slot, int64_t number) {
  running *r = user;
  hsc__sweep_slot *own = *slot;
  json_t *row = NULL;
  HSC_TRY(hsc_sweep_check(r->options->sweep));
  hsc_status *status = hsc__sweep_do(r->options, &r->options->sweep->tasks[number], &own, &row);
  *slot = own;
  if (!status && row) {
    pthread_mutex_lock(&r->lock);
    status = keep(r, number, row);
    pthread_mutex_unlock(&r->lock);
  }
  json_decref(row);
  return status;
}

static void leave(void *user, void *slot) {
  hsc__sweep_slot_destroy(slot);
}

static bool is_stopped(void *user) {
  const running *r = user;
  return r->options->stop && *r->options->stop;
}

static void show_progress(void *user, int64_t done, int64_t total, double seconds_left) {
  const running *r = user;
  if (r->options->progress)
    r->options->progress(r->options->user, done, total, seconds_left);
}

static hsc_status *run_here(running *r, const bool *wanted) {
  const hsc_sweep_run_options *o = r->options;
  HSC_TRY(hsc__pool_create(o->sweep, wanted, &r->pool));
  HSC_TRY(hsc__sweep_others_create(o->sweep, r->shard.path, &r->others));
  hsc_random_init(&r->random, (uint64_t)hsc_wall_ns() ^ (uint64_t)getpid());
  return hsc_dispatch_run(&(hsc_dispatch){.jobs = o->jobs,
                                          .count = hsc__pool_left(r->pool),
                                          .next = next_task,
                                          .task = do_task,
                                          .leave = leave,
                                          .stopped = is_stopped,
                                          .progress = show_progress,
                                          .lock = &r->lock,
                                          .user = r});
}

static hsc_status *run_alone(const hsc_sweep_run_options *o, hsc_sweep_summary *summary) {
  running r = {.options = o, .shard = {.fd = -1}, .summary = summary};
  json_t *identity = hsc__sweep_identity(o->sweep);
  bool *wanted = hsc_alloc((size_t)o->sweep->count + 1);
  hsc_bytes folder = {0};
  hsc_status *status = NULL;
  pthread_mutex_init(&r.lock, NULL);
  if (!identity || !wanted)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc__sweep_wanted(o, identity, wanted, &summary->before));
  for (int64_t i = 0; i < o->sweep->count; i++)
    summary->left += wanted[i];
  summary->planned = summary->before + summary->left;
  summary->slots = o->jobs < 1 ? 1 : o->jobs;
  if (!summary->left)
    goto done;
  hsc_bytes_printf(&folder, "%s/results", o->sweep->folder);
  HSC_GOTO(hsc_bytes_status(&folder));
  HSC_GOTO(hsc__shard_open(o->results ? o->results : hsc_bytes_text(&folder), identity, &r.shard));
  HSC_GOTO(hsc__sweep_begin(o, identity, &r.tasks));
  status = run_here(&r, wanted);
  summary->interrupted = is_stopped(&r);
  summary->left -= summary->done + (r.pool ? hsc__pool_dropped(r.pool) : 0);
done:
  if (r.shard.fd >= 0) {
    hsc_status *closed = hsc__shard_close(&r.shard, o->sweep);
    if (status)
      hsc_status_free(closed);
    else
      status = closed;
  }
  status = hsc_task_table_end(&r.tasks, status, summary->interrupted, NULL);
  hsc__sweep_others_destroy(r.others);
  hsc__pool_destroy(r.pool);
  hsc_bytes_deinit(&folder);
  hsc_free(wanted);
  json_decref(identity);
  pthread_mutex_destroy(&r.lock);
  return status;
}

hsc_status *hsc_sweep_run(const hsc_sweep_run_options *options, hsc_sweep_summary *out_summary) {
  int64_t start_ns = hsc_now_ns();
  *out_summary = (hsc_sweep_summary){0};
  hsc_status *status = options->transport ? hsc__sweep_run_ranks(options, out_summary)
                                          : run_alone(options, out_summary);
  out_summary->seconds = (double)(hsc_now_ns() - start_ns) * 1e-9;
  return status;
}
