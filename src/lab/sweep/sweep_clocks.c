// sweep_clocks.c - how far the clocks of the ranks' hosts are apart, measured over the transport.
//
//   rank n                    rank 0
//   hello {host}        -->   takes the first rank of each other host
//                       <--   ask, EXCHANGES times
//   time {its clock}    -->   between the two looks at rank 0's own clock
//                       <--   done
//
// Whatever way a message takes, rank n read its clock between the asking and the answer: the
// offset is that to the middle, and half of the round trip bounds its error. The quickest exchange
// counts (Cristian 1989; NTP's clock filter does the same).
#include "base/core/clock.h"
#include "lab/sweep/sweep.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { EXCHANGES = 200, HOST_ROOM = 64 };
static const int64_t A_MILLISECOND_NS = 1000000;
enum { HELLO = 'h', ASK = 'a', TIME = 't', DONE = 'd' };

typedef struct message {
  int64_t wall_ns;
  char kind;
  char host[HOST_ROOM];
} message;

static bool send(const hsc_transport *t, int to, char kind) {
  message m = {.kind = kind, .wall_ns = hsc_wall_ns()};
  gethostname(m.host, sizeof m.host - 1);
  return t->send(t->user, to, &m, sizeof m);
}

// The next message. `waits`: sleeps between two looks, which costs a millisecond and no processor.
static hsc_status *next(
    const hsc_transport *t, double silence_s, bool waits, int *out_from, message *out) {
  int64_t end = hsc_now_ns() + (int64_t)(silence_s * 1e9);
  const void *data = NULL;
  size_t size = 0;
  while (!t->receive(t->user, out_from, &data, &size)) {
    if (hsc_now_ns() > end)
      return HSC_ERR(DEADLINE_EXCEEDED, "no rank said anything for %g s", silence_s);
    if (waits)
      hsc_sleep_ns(A_MILLISECOND_NS);
    else
      sched_yield();
  }
  if (size != sizeof *out)
    return HSC_ERR(FAILED_PRECONDITION, "rank %d is of another build of hloscope", *out_from);
  memcpy(out, data, sizeof *out);
  out->host[HOST_ROOM - 1] = 0;
  return NULL;
}

static hsc_status *answer(const hsc_transport *t, double silence_s) {
  message m = {0};
  int from = 0;
  bool asked = false;
  if (!send(t, 0, HELLO))
    return HSC_ERR(UNAVAILABLE, "rank 0 cannot be reached");
  while (m.kind != DONE) {
    HSC_TRY(next(t, silence_s, !asked, &from, &m));
    asked |= m.kind == ASK;
    if (m.kind == ASK && !send(t, 0, TIME))
      return HSC_ERR(UNAVAILABLE, "rank 0 cannot be reached");
  }
  return NULL;
}

static hsc_status *measure(const hsc_transport *t,
                           int rank,
                           double silence_s,
                           hsc_host_clock *clock) {
  message m;
  int from = 0;
  int64_t best = INT64_MAX;
  for (int i = 0; i < EXCHANGES; i++) {
    int64_t asked_raw = hsc_now_ns();
    int64_t asked = hsc_wall_ns();
    if (!send(t, rank, ASK))
      return HSC_ERR(UNAVAILABLE, "rank %d on %s cannot be reached", rank, clock->host);
    HSC_TRY(next(t, silence_s, false, &from, &m));
    int64_t took = hsc_now_ns() - asked_raw;
    if (from != rank || m.kind != TIME)
      return HSC_ERR(FAILED_PRECONDITION, "rank %d spoke out of turn", from);
    if (took >= best)
      continue;
    best = took;
    clock->wall_ns = asked + took / 2;
    clock->offset_ns = m.wall_ns - clock->wall_ns;
    clock->error_ns = (took + 1) / 2;
  }
  return NULL;
}

static bool is_known(const hsc_host_clock *clocks, size_t count, const char *host) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(clocks[i].host, host))
      return true;
  return false;
}

// One rank of each host; the first row is this one's.
static hsc_status *greet(const hsc_transport *t,
                         double silence_s,
                         hsc_arena *arena,
                         hsc_host_clock *clocks,
                         int *ranks,
                         size_t *out_count) {
  char own[HOST_ROOM] = "";
  gethostname(own, sizeof own - 1);
  clocks[0] = (hsc_host_clock){.host = hsc_arena_strdup(arena, own), .wall_ns = hsc_wall_ns()};
  HSC_TRY(hsc_arena_status(arena));
  *out_count = 1;
  for (int i = 1; i < t->size; i++) {
    message m;
    int from = 0;
    HSC_TRY(next(t, silence_s, true, &from, &m));
    if (m.kind != HELLO)
      return HSC_ERR(FAILED_PRECONDITION, "rank %d spoke out of turn", from);
    if (is_known(clocks, *out_count, m.host))
      continue;
    ranks[*out_count] = from;
    clocks[*out_count] = (hsc_host_clock){.host = hsc_arena_strdup(arena, m.host)};
    HSC_TRY(hsc_arena_status(arena));
    ++*out_count;
  }
  return NULL;
}

hsc_status *hsc_sweep_clocks(const hsc_transport *t,
                             double silence_s,
                             hsc_arena *arena,
                             hsc_host_clocks *out_clocks) {
  *out_clocks = (hsc_host_clocks){0};
  if (t->rank != 0)
    return answer(t, silence_s);
  hsc_host_clock *clocks = HSC_NEW_ARRAY(arena, hsc_host_clock, t->size);
  int *ranks = HSC_NEW_ARRAY(arena, int, t->size);
  HSC_TRY(hsc_arena_status(arena));
  size_t count = 0;
  hsc_status *status = greet(t, silence_s, arena, clocks, ranks, &count);
  for (size_t i = 1; i < count && !status; i++)
    status = measure(t, ranks[i], silence_s, &clocks[i]);
  for (int rank = 1; rank < t->size; rank++)
    send(t, rank, DONE);
  HSC_TRY(status);
  *out_clocks = (hsc_host_clocks){.rows = clocks, .count = count};
  return NULL;
}
