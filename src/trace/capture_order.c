// capture_order.c - the events of all rings in one order: by start, the longer one first.
#include "base/core/spill.h"
#include "trace/capture_internal.h"

// What events are ordered by: start, the longer one first, number. Threads are in order by
// themselves, so the keys are a few sorted runs, which are merged pairwise; the events are then put
// in place once. A key is small, as there are two for each event: what few starts are shared by is
// looked up in the events.
typedef struct order_key {
  int64_t start_ns;
  uint32_t index;
} order_key;

static inline bool in_order(const hsc_event *events, const order_key *x, const order_key *y) {
  if (x->start_ns != y->start_ns)
    return x->start_ns < y->start_ns;
  const hsc_event *a = &events[x->index];
  const hsc_event *b = &events[y->index];
  if (a->duration_ns != b->duration_ns)
    return a->duration_ns > b->duration_ns;
  return a->span != b->span ? a->span < b->span : x->index < y->index;
}

static size_t run_end(const hsc_event *events, const order_key *keys, size_t at, size_t count) {
  do
    hsc_spill_passed(at++);
  while (at < count && in_order(events, &keys[at - 1], &keys[at]));
  return at;
}

static void merge_runs(const hsc_event *events, order_key **keys, order_key **spare, size_t count) {
  for (bool merged = true; merged;) {
    merged = false;
    order_key *from = *keys;
    order_key *to = *spare;
    for (size_t at = 0; at < count;) {
      size_t middle = run_end(events, from, at, count);
      size_t end = middle < count ? run_end(events, from, middle, count) : middle;
      size_t a = at;
      size_t b = middle;
      while (a < middle && b < end) {
        hsc_spill_passed(a + b);
        *to++ = in_order(events, &from[a], &from[b]) ? from[a++] : from[b++];
      }
      while (a < middle)
        *to++ = from[a++];
      while (b < end)
        *to++ = from[b++];
      merged |= middle < count;
      at = end;
    }
    *spare = from;
    *keys = to - count;
  }
}

static inline bool comes_before(const hsc_event *x, const hsc_event *y) {
  if (x->start_ns != y->start_ns)
    return x->start_ns < y->start_ns;
  if (x->duration_ns != y->duration_ns)
    return x->duration_ns > y->duration_ns;
  return x->span < y->span;
}

// One thread's events are in order but for neighbours that began at the same tick: each goes back
// past the few that it precedes. False: several threads', which take more moves than events; what
// was done so far is fine, only not all.
static bool sort_neighbours(hsc_event *events, size_t count) {
  size_t moves = 0;
  for (size_t i = 1; i < count; i++) {
    hsc_spill_passed(i);
    if (!comes_before(&events[i], &events[i - 1]))
      continue;
    hsc_event moved = events[i];
    size_t at = i;
    for (; at > 0 && comes_before(&moved, &events[at - 1]); at--) {
      events[at] = events[at - 1];
      if (++moves > count) {
        events[at - 1] = moved;
        return false;
      }
    }
    events[at] = moved;
  }
  return true;
}

static hsc_status *sort_events(hsc_event *events, size_t count) {
  if (sort_neighbours(events, count))
    return NULL;
  order_key *keys = hsc_alloc(count * sizeof *keys);
  order_key *spare = hsc_alloc(count * sizeof *spare);
  hsc_status *status = keys && spare ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; i < count && !status; i++)
    keys[i] = (order_key){events[i].start_ns, (uint32_t)i};
  if (!status)
    merge_runs(events, &keys, &spare, count);
  hsc_free(spare);
  // Cycle by cycle: every event moves once.
  for (size_t i = 0; i < count && !status; i++) {
    hsc_spill_passed(i);
    if (keys[i].index == i)
      continue;
    hsc_event moved = events[i];
    size_t at = i;
    while (keys[at].index != i) {
      size_t from = keys[at].index;
      events[at] = events[from];
      keys[at].index = (uint32_t)at;
      at = from;
    }
    events[at] = moved;
    keys[at].index = (uint32_t)at;
  }
  hsc_free(keys);
  return status;
}

// Work that was timed before the first ring was opened (a span completed with older ticks) makes
// the capture begin earlier: no event is before 0.
static void move_to_first_event(hsc_capture *capture) {
  hsc_event *events = (hsc_event *)capture->events.data;
  size_t count = hsc_capture_event_count(capture);
  const int64_t longest = (int64_t)1 << 60;  // 36 years; beyond it the file is damaged
  if (!count || events[0].start_ns >= 0 || events[0].start_ns < -longest)
    return;
  int64_t shift = -events[0].start_ns;
  for (size_t i = 0; i < count; i++)
    if (events[i].start_ns < longest)
      events[i].start_ns += shift;
  for (int i = 0; i < capture->ring_count; i++) {
    capture->processes[i].start_ns += shift;
    capture->processes[i].end_ns += shift;
  }
  capture->base_wall_ns -= shift;
}

hsc_status *hsc__capture_put_in_order(hsc_capture *capture) {
  if (hsc_capture_event_count(capture) >= UINT32_MAX)
    return HSC_ERR(RESOURCE_EXHAUSTED, "%s: more than four thousand million events", capture->path);
  HSC_TRY(sort_events((hsc_event *)capture->events.data, hsc_capture_event_count(capture)));
  move_to_first_event(capture);
  return hsc__capture_nest(capture);
}
