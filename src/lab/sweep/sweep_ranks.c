// sweep_ranks.c - the tasks of a plan over the processes of one parallel run: rank 0 dispatches.
//
//   rank n                          rank 0
//   hello {who I am, slots}   -->   compares with itself: refused, or tasks follow
//                             <--   tasks {numbers}: as many as keep the slots busy
//   result {number, row}      -->   store, next tasks        (the row is in the rank's own file)
//   full {why}                -->   takes no more tasks; rows that had no room are in `result`
//   failed {why, plan}        -->   likewise; when the plan changed, everything ends
//   beat                      -->   every second: a rank that is silent is given up, and what it
//                             <--   had is dispatched again; rank 0 beats too
//                             <--   done: write what is left, end
//
// Every rank, 0 too, has a crew: threads that take tasks from a queue and put rows into an outbox.
// The thread that opened the transport moves messages and nothing else. Read from the bottom.
#include "base/core/clock.h"
#include "lab/sweep/sweep_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "lab/dispatch/dispatch.h"
#include "lab/store/store.h"

static const int64_t BEAT_NS = HSC_SECOND_NS;
static const int64_t LOOK_NS = 1000000;  // between two looks for messages
static const double AHEAD_S = 0.05;      // of short tasks, so much work waits at a rank
enum { MOST_AHEAD = 64 };

// ---- a crew: threads, a queue of tasks, an outbox -----------------------------------------------

typedef struct crew {
  const hsc_sweep_run_options *options;
  pthread_t thread;  // that dispatches to the others
  bool started;
  pthread_mutex_t lock;  // of all below
  pthread_cond_t changed;
  int64_t *queue;  // [options->sweep->count]; a rank may be given each task once at a time
  int64_t head, tail;
  bool closed, over;  // no more will come; every thread is through
  json_t *outbox;     // messages for rank 0
  hsc__shard shard;
  bool full;
  hsc_sweep_summary done;
} crew;

static int64_t crew_next(void *user) {
  crew *c = user;
  pthread_mutex_lock(&c->lock);
  while (c->head == c->tail && !c->closed)
    pthread_cond_wait(&c->changed, &c->lock);
  int64_t task = c->closed ? -1 : c->queue[c->head++ % (c->options->sweep->count + 1)];
  pthread_mutex_unlock(&c->lock);
  return task;
}

static void crew_push(crew *c, int64_t task) {
  pthread_mutex_lock(&c->lock);
  c->queue[c->tail++ % (c->options->sweep->count + 1)] = task;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

static void crew_close(crew *c) {
  pthread_mutex_lock(&c->lock);
  c->closed = true;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

// A row into this rank's file, and the news into the outbox. With the lock held.
static hsc_status *crew_keep(crew *c, int64_t number, json_t *row) {
  hsc_status *status = c->full ? NULL : hsc__shard_append(&c->shard, row);
  bool full = hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED && c->shard.full;
  if (status && !full)
    return status;
  c->done.done += hsc_sweep_is_result(row);
  c->done.busy_seconds += json_number_value(json_object_get(row, "took_s"));
  // what lies elsewhere is not found by those who merge: rank 0 writes it down too
  bool kept = !full && !c->full && !c->options->results;
  json_array_append_new(c->outbox, json_pack("{s:s, s:I, s:O, s:b}", "say", "result", "number",
                                             (json_int_t)number, "row", row, "kept", kept));
  if (full) {
    c->full = c->closed = true;
    pthread_cond_broadcast(&c->changed);
    json_array_append_new(
        c->outbox, json_pack("{s:s, s:s}", "say", "full", "why", hsc_status_message(status)));
  }
  hsc_status_free(status);
  return NULL;
}

static hsc_status *crew_task(void *user, void **slot, int64_t number) {
  crew *c = user;
  hsc__sweep_slot *own = *slot;
  json_t *row = NULL;
  HSC_TRY(hsc_sweep_check(c->options->sweep));
  hsc_status *status = hsc__sweep_do(c->options, &c->options->sweep->tasks[number], &own, &row);
  *slot = own;
  if (!status && row) {
    pthread_mutex_lock(&c->lock);
    status = crew_keep(c, number, row);
    pthread_mutex_unlock(&c->lock);
  }
  json_decref(row);
  return status;
}

static void crew_leave(void *user, void *slot) {
  hsc__sweep_slot_destroy(slot);
}

static bool crew_stopped(void *user) {
  const crew *c = user;
  return c->closed || (c->options->stop && *c->options->stop);
}

static void *crew_run(void *user) {
  crew *c = user;
  hsc_status *status = hsc_dispatch_run(&(hsc_dispatch){.jobs = c->options->jobs,
                                                        .count = c->options->sweep->count,
                                                        .next = crew_next,
                                                        .task = crew_task,
                                                        .leave = crew_leave,
                                                        .stopped = crew_stopped,
                                                        .lock = &c->lock,
                                                        .user = c});
  pthread_mutex_lock(&c->lock);
  c->over = true;
  if (status)
    json_array_append_new(
        c->outbox, json_pack("{s:s, s:s, s:b}", "say", "failed", "why", hsc_status_message(status),
                             "plan", hsc_status_code(status) == HSC_FAILED_PRECONDITION));
  pthread_mutex_unlock(&c->lock);
  hsc_status_free(status);
  return NULL;
}

static hsc_status *crew_start(crew *c, const hsc_sweep_run_options *o, const json_t *identity) {
  hsc_bytes folder = {0};
  *c = (crew){.options = o, .shard = {.fd = -1}, .outbox = json_array()};
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->changed, NULL);
  c->queue = hsc_alloc(((size_t)o->sweep->count + 1) * sizeof *c->queue);
  hsc_bytes_printf(&folder, "%s/results", o->sweep->folder);
  hsc_status *status = c->queue ? hsc_bytes_status(&folder) : hsc_status_out_of_memory();
  if (!status)
    status =
        hsc__shard_open(o->results ? o->results : hsc_bytes_text(&folder), identity, &c->shard);
  hsc_bytes_deinit(&folder);
  if (hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED && c->shard.full) {
    // it can dispatch, and takes no tasks
    json_array_append_new(
        c->outbox, json_pack("{s:s, s:s}", "say", "full", "why", hsc_status_message(status)));
    hsc_status_free(status);
    c->full = c->closed = true;
    status = NULL;
  }
  if (!status && pthread_create(&c->thread, NULL, crew_run, c))
    status = HSC_ERR(RESOURCE_EXHAUSTED, "no thread can be started");
  c->started = !status;
  return status;
}

static hsc_status *crew_end(crew *c) {
  crew_close(c);
  if (c->started)
    pthread_join(c->thread, NULL);
  hsc_status *status = hsc__shard_close(&c->shard, c->options->sweep);
  if (c->full) {
    hsc_status_free(status);
    status = NULL;
  }
  json_decref(c->outbox);
  hsc_free(c->queue);
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  return status;
}

// The news since the last call; an array that the caller drops.
static json_t *crew_news(crew *c) {
  json_t *fresh = json_array();
  pthread_mutex_lock(&c->lock);
  json_t *news = c->outbox;
  c->outbox = fresh;
  pthread_mutex_unlock(&c->lock);
  return news;
}

// ---- messages -----------------------------------------------------------------------------------

static bool send_json(const hsc_transport *t, int to, const json_t *message) {
  char *text = json_dumps(message, JSON_COMPACT);
  bool sent = text && t->send(t->user, to, text, strlen(text));
  free(text);
  return sent;
}

static void send_word(const hsc_transport *t, int to, const char *word, const char *why) {
  json_t *message = json_pack("{s:s, s:s?}", "say", word, "why", why);
  send_json(t, to, message);
  json_decref(message);
}

// The next message, NULL = none is there.
static json_t *receive_json(const hsc_transport *t, int *out_from) {
  const void *data;
  size_t size;
  if (!t->receive(t->user, out_from, &data, &size))
    return NULL;
  json_t *message = json_loadb(data, size, 0, NULL);
  return message ? message : json_object();
}

// Whether a process of this machine is gone; false where it cannot be determined.
static bool is_gone(const json_t *identity, const json_t *own) {
  int pid = (int)json_integer_value(json_object_get(identity, "pid"));
  if (!pid || strcmp(hsc__sweep_text(identity, "host"), hsc__sweep_text(own, "host")) != 0)
    return false;
  return kill(pid, 0) != 0 && errno == ESRCH;
}

// ---- ranks other than 0 -------------------------------------------------------------------------

typedef struct follower {
  crew crew;
  json_t *own, *dispatcher;  // identities
  int64_t heard_ns, beat_ns;
  bool ended;
  bool whole;  // every rank ends with this one
  hsc_status *status;
} follower;

static void hear(follower *f, const json_t *message) {
  const char *say = hsc__sweep_text(message, "say");
  json_t *number;
  size_t i;
  f->heard_ns = hsc_now_ns();
  if (!strcmp(say, "tasks")) {
    json_array_foreach (json_object_get(message, "numbers"), i, number)
      if (json_integer_value(number) < f->crew.options->sweep->count)
        crew_push(&f->crew, json_integer_value(number));
  } else if (!strcmp(say, "hello")) {
    json_decref(f->dispatcher);
    f->dispatcher = json_incref(json_object_get(message, "who"));
  } else if (!strcmp(say, "refused")) {
    f->ended = true;
    f->status = HSC_ERR(FAILED_PRECONDITION, "%s", hsc__sweep_text(message, "why"));
  } else if (!strcmp(say, "done")) {
    f->ended = true;
  }
  if (f->ended)
    f->whole = json_is_true(json_object_get(message, "whole"));
}

static void tell_news(follower *f, const hsc_transport *t) {
  json_t *news = crew_news(&f->crew);
  json_t *item;
  size_t i;
  json_array_foreach (news, i, item)
    send_json(t, 0, item);
  json_decref(news);
  if (hsc_now_ns() - f->beat_ns > BEAT_NS) {
    f->beat_ns = hsc_now_ns();
    send_word(t, 0, "beat", NULL);
  }
}

static hsc_status *follow(const hsc_sweep_run_options *o, hsc_sweep_summary *summary) {
  const hsc_transport *t = o->transport;
  follower f = {.own = hsc__sweep_identity(o->sweep), .heard_ns = hsc_now_ns()};
  int64_t silence_ns = (int64_t)((o->silence_s > 0 ? o->silence_s : 30) * 1e9);
  int from;
  hsc_status *status = crew_start(&f.crew, o, f.own);
  if (!status) {
    json_t *hello = json_pack("{s:s, s:O, s:i}", "say", "hello", "who", f.own, "slots",
                              o->jobs < 1 ? 1 : o->jobs);
    send_json(t, 0, hello);
    json_decref(hello);
  } else {
    send_word(t, 0, "failed", hsc_status_message(status));
  }
  while (!f.ended) {
    json_t *message = receive_json(t, &from);
    if (message)
      hear(&f, message);
    json_decref(message);
    tell_news(&f, t);
    bool lost =
        hsc_now_ns() - f.heard_ns > silence_ns || (f.dispatcher && is_gone(f.dispatcher, f.own));
    if (lost) {
      f.status = HSC_ERR(UNAVAILABLE, "rank 0 is gone; what this rank did is in results/");
      f.ended = true;
    }
    summary->interrupted = o->stop && *o->stop;
    f.ended = f.ended || summary->interrupted;
    if (!message)
      hsc_sleep_ns(LOOK_NS);
  }
  hsc_status *ended = crew_end(&f.crew);
  *summary = (hsc_sweep_summary){.planned = o->sweep->count,
                                 .done = f.crew.done.done,
                                 .busy_seconds = f.crew.done.busy_seconds,
                                 .interrupted = summary->interrupted,
                                 .slots = o->jobs < 1 ? 1 : o->jobs};
  if (!status && f.status) {
    status = f.status;
    f.status = NULL;
  }
  if (!status && ended) {
    status = ended;
    ended = NULL;
  }
  hsc_status_free(f.status);
  hsc_status_free(ended);
  t->finish(t->user, f.whole);
  json_decref(f.own);
  json_decref(f.dispatcher);
  return status;
}

// ---- rank 0 -------------------------------------------------------------------------------------

typedef struct member {
  json_t *who;     // NULL: has not said hello
  bool lost, out;  // dead or silent; takes no more tasks
  int slots;
  int64_t heard_ns;
  int64_t *had;  // tasks that it has
  int had_count;
  double had_s;  // expected seconds of them
} member;

typedef struct dispatcher {
  const hsc_sweep_run_options *options;
  const hsc_transport *t;
  crew crew;
  json_t *own;
  member *members;  // [t->size]; 0 is this rank
  hsc__pool *pool;
  bool returned;  // tasks came back to the pool
  bool *open;     // [count]: to be done, no result yet
  int64_t open_count, beat_ns, seen_ns;
  hsc_task_table tasks;
  hsc_sweep_summary *summary;
  hsc_status *status;
} dispatcher;

static void say(const dispatcher *d, const char *format, ...) HSC_PRINTF(2, 3);
static void say(const dispatcher *d, const char *format, ...) {
  hsc_bytes text = {0};
  va_list args;
  va_start(args, format);
  hsc_bytes_printf_v(&text, format, args);
  va_end(args);
  if (d->options->say)
    d->options->say(d->options->user, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

// What a member has goes back to the pool.
static void take_back(dispatcher *d, int rank) {
  member *m = &d->members[rank];
  for (int i = 0; i < m->had_count; i++)
    if (d->open[m->had[i]])
      hsc__pool_return(d->pool, m->had[i]);
  d->returned = d->returned || m->had_count;
  m->had_count = 0;
  m->had_s = 0;
}

static void lose(dispatcher *d, int rank, const char *why) {
  member *m = &d->members[rank];
  if (m->lost)
    return;
  m->lost = m->out = true;
  d->summary->lost_ranks++;
  say(d, "rank %d%s%s %s: its %d tasks are dispatched again", rank, m->who ? " on " : "",
      hsc__sweep_text(m->who, "host"), why, m->had_count);
  take_back(d, rank);
}

static void feed(dispatcher *d, int rank) {
  member *m = &d->members[rank];
  json_t *numbers = NULL;
  while (
      !m->out && (rank == 0 || m->who) &&
      (m->had_count < m->slots || (m->had_count < MOST_AHEAD && m->had_s < AHEAD_S * m->slots))) {
    int64_t task = hsc__pool_take(d->pool);
    if (task < 0)
      break;
    m->had[m->had_count++] = task;
    m->had_s += hsc__pool_expected(d->pool, task);
    if (rank == 0) {
      crew_push(&d->crew, task);
      continue;
    }
    numbers = numbers ? numbers : json_array();
    json_array_append_new(numbers, json_integer(task));
  }
  if (!numbers)
    return;
  json_t *message = json_pack("{s:s, s:o}", "say", "tasks", "numbers", numbers);
  if (!send_json(d->t, rank, message))
    lose(d, rank, "cannot be reached");
  json_decref(message);
}

static void forget(dispatcher *d, member *m, int64_t task) {
  for (int i = 0; i < m->had_count; i++)
    if (m->had[i] == task) {
      m->had[i] = m->had[--m->had_count];
      m->had_s -= hsc__pool_expected(d->pool, task);
      break;
    }
  if (!m->had_count || m->had_s < 0)
    m->had_s = 0;
}

static void take_result(dispatcher *d, int rank, const json_t *message) {
  json_t *row = json_object_get(message, "row");
  int64_t task = json_integer_value(json_object_get(message, "number"));
  if (!row || task < 0 || task >= d->options->sweep->count)
    return;
  forget(d, &d->members[rank], task);
  if (!d->open[task])
    return;  // done by another one meanwhile
  bool kept = json_is_true(json_object_get(message, "kept"));
  if (!kept) {
    pthread_mutex_lock(&d->crew.lock);
    hsc_status *status =
        d->crew.full ? HSC_ERR(RESOURCE_EXHAUSTED, "full") : hsc__shard_append(&d->crew.shard, row);
    pthread_mutex_unlock(&d->crew.lock);
    kept = !status;
    hsc_status_free(status);
  }
  if (!kept) {
    hsc__pool_return(d->pool, task);
    d->returned = true;
    return;
  }
  double took_s = json_number_value(json_object_get(row, "took_s"));
  d->open[task] = false;
  d->open_count--;
  d->summary->done += hsc_sweep_is_result(row);
  d->summary->busy_seconds += took_s;
  hsc__pool_learn(d->pool, task, took_s);
  hsc_status *status = hsc__sweep_keep(&d->tasks, row);
  if (status) {
    say(d, "the result store takes no more: %s", hsc_status_message(status));
    d->tasks.experiment = 0;
  }
  hsc_status_free(status);
  if (d->options->progress)
    d->options->progress(d->options->user, d->summary->done, d->summary->planned, -1);
}

static void greet(dispatcher *d, int rank, const json_t *message) {
  member *m = &d->members[rank];
  hsc_bytes words = {0};
  json_decref(m->who);
  m->who = json_incref(json_object_get(message, "who"));
  m->slots = (int)json_integer_value(json_object_get(message, "slots"));
  if (hsc__sweep_differ(d->own, m->who, &words)) {
    d->status = hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION, "rank 0 and rank %d differ: %s", rank, hsc_bytes_text(&words)),
        "the same hloscope and devices must be installed wherever ranks run");
  } else {
    json_t *hello = json_pack("{s:s, s:O}", "say", "hello", "who", d->own);
    send_json(d->t, rank, hello);
    json_decref(hello);
    d->summary->slots += m->slots;
  }
  hsc_bytes_deinit(&words);
}

static void take_message(dispatcher *d, int rank, const json_t *message) {
  member *m = &d->members[rank];
  const char *what = hsc__sweep_text(message, "say");
  const char *why = hsc__sweep_text(message, "why");
  m->heard_ns = hsc_now_ns();
  if (!strcmp(what, "hello")) {
    greet(d, rank, message);
  } else if (!strcmp(what, "result")) {
    take_result(d, rank, message);
  } else if (!strcmp(what, "full")) {
    m->out = true;
    d->summary->full_ranks++;
    say(d, "rank %d takes no more tasks: %s", rank, why);
    take_back(d, rank);
  } else if (!strcmp(what, "failed") && json_is_true(json_object_get(message, "plan"))) {
    d->status = HSC_ERR(FAILED_PRECONDITION, "rank %d: %s", rank, why);
  } else if (!strcmp(what, "failed")) {
    m->out = true;
    say(d, "rank %d takes no more tasks: %s", rank, why);
    take_back(d, rank);
  }
}

static void hear_own_crew(dispatcher *d) {
  json_t *news = crew_news(&d->crew);
  json_t *item;
  size_t i;
  json_array_foreach (news, i, item)
    take_message(d, 0, item);
  json_decref(news);
}

// Who died, who fell silent; and a sign of life for the others.
static void look_after(dispatcher *d, int64_t silence_ns) {
  int64_t now_ns = hsc_now_ns();
  bool beat = now_ns - d->beat_ns > BEAT_NS;
  if (now_ns - d->seen_ns < BEAT_NS / 10)
    return;
  d->seen_ns = now_ns;
  if (beat)
    d->beat_ns = now_ns;
  for (int rank = 1; rank < d->t->size; rank++) {
    member *m = &d->members[rank];
    if (m->lost)
      continue;
    if (m->who && is_gone(m->who, d->own))
      lose(d, rank, "died");
    else if (now_ns - m->heard_ns > silence_ns)
      lose(d, rank, "says nothing any more");
    else if (beat)
      send_word(d->t, rank, "beat", NULL);
  }
}

static bool anybody_works(const dispatcher *d) {
  for (int rank = 0; rank < d->t->size; rank++)
    if (!d->members[rank].out)
      return true;
  return false;
}

// Who is given tasks: after a message its sender; everybody while there is nothing to hear, and
// where tasks came back.
static void feed_on(dispatcher *d, int from) {
  bool all = from < 0 || d->returned;
  d->returned = false;
  feed(d, 0);
  for (int rank = 1; all && rank < d->t->size; rank++)
    feed(d, rank);
  if (!all && from > 0)
    feed(d, from);
}

static int64_t processor_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void dispatch_all(dispatcher *d) {
  const hsc_sweep_run_options *o = d->options;
  int64_t silence_ns = (int64_t)((o->silence_s > 0 ? o->silence_s : 30) * 1e9);
  while (d->open_count > 0 && !d->status) {
    int from = -1;
    int64_t start_ns = processor_ns();
    json_t *message = receive_json(d->t, &from);
    if (message && from > 0 && from < d->t->size)
      take_message(d, from, message);
    hear_own_crew(d);
    look_after(d, silence_ns);
    if (!d->status)
      feed_on(d, message ? from : -1);
    if (message) {
      d->summary->messages++;
      d->summary->message_seconds += (double)(processor_ns() - start_ns) * 1e-9;
    }
    json_decref(message);
    d->summary->interrupted = o->stop && *o->stop;
    if (d->summary->interrupted)
      break;
    if (message)
      continue;
    if (!anybody_works(d) && !d->status)
      d->status = HSC_ERR(RESOURCE_EXHAUSTED, "no rank can take tasks any more; %lld are left",
                          (long long)d->open_count);
    hsc_sleep_ns(LOOK_NS);
  }
}

// Everybody ends; with MPI_Finalize where all of them are there.
static void tell_end(const dispatcher *d, bool whole) {
  bool refused = hsc_status_code(d->status) == HSC_FAILED_PRECONDITION;
  json_t *message = json_pack("{s:s, s:s, s:b}", "say", refused ? "refused" : "done", "why",
                              hsc_status_message(d->status), "whole", whole);
  for (int rank = 1; rank < d->t->size; rank++)
    if (!d->members || !d->members[rank].lost)
      send_json(d->t, rank, message);
  json_decref(message);
}

static hsc_status *lead_start(dispatcher *d) {
  const hsc_sweep_run_options *o = d->options;
  size_t count = (size_t)o->sweep->count + 1;
  d->own = hsc__sweep_identity(o->sweep);
  d->members = hsc_alloc((size_t)d->t->size * sizeof *d->members);
  d->open = hsc_alloc(count);
  if (!d->own || !d->members || !d->open)
    return hsc_status_out_of_memory();
  HSC_TRY(hsc__sweep_wanted(o, d->own, d->open, &d->summary->before));
  for (int64_t i = 0; i < o->sweep->count; i++)
    d->open_count += d->open[i];
  d->summary->planned = d->summary->before + d->open_count;
  for (int rank = 0; rank < d->t->size; rank++) {
    d->members[rank] = (member){.heard_ns = hsc_now_ns()};
    d->members[rank].had = hsc_alloc((size_t)(o->jobs + MOST_AHEAD + 1024) * sizeof(int64_t));
    if (!d->members[rank].had)
      return hsc_status_out_of_memory();
  }
  d->members[0].slots = d->summary->slots = o->jobs < 1 ? 1 : o->jobs;
  HSC_TRY(hsc__pool_create(o->sweep, d->open, &d->pool));
  return hsc__sweep_begin(o, d->own, &d->tasks);
}

static hsc_status *lead(const hsc_sweep_run_options *o, hsc_sweep_summary *summary) {
  dispatcher d = {.options = o, .t = o->transport, .summary = summary};
  bool begun = false;
  hsc_status *status = lead_start(&d);
  hsc_task_table tasks = d.tasks;
  if (!status) {
    status = crew_start(&d.crew, o, d.own);
    begun = true;
  }
  if (status)
    d.status = status;
  dispatch_all(&d);  // with a status: dispatches nothing
  bool whole = !summary->lost_ranks && !summary->interrupted;
  tell_end(&d, whole);
  status = d.status;
  if (begun) {
    hsc_status *ended = crew_end(&d.crew);
    if (status)
      hsc_status_free(ended);
    else
      status = ended;
  }
  summary->left = d.open_count;
  status = hsc_task_table_end(&tasks, status, summary->interrupted, NULL);
  o->transport->finish(o->transport->user, whole);
  for (int rank = 0; d.members && rank < o->transport->size; rank++) {
    json_decref(d.members[rank].who);
    hsc_free(d.members[rank].had);
  }
  hsc_free(d.members);
  hsc_free(d.open);
  hsc__pool_destroy(d.pool);
  json_decref(d.own);
  return status;
}

hsc_status *hsc__sweep_run_ranks(const hsc_sweep_run_options *options,
                                 hsc_sweep_summary *out_summary) {
  return options->transport->rank == 0 ? lead(options, out_summary) : follow(options, out_summary);
}
