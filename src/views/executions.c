// executions.c - calls and the runs of devices that they started, joined by their number.
#include "views/executions.h"

#include <stdlib.h>

#include "base/core/spill.h"

static bool is_call(const hsc_event *e) {
  return e->category == HSC_CATEGORY_EXECUTE && e->kind == HSC_RECORD_BEGIN;
}
static bool is_device_run(const hsc_event *e) {
  return e->category == HSC_CATEGORY_EXECUTE && e->kind == HSC_RECORD_COMPLETE;
}

static const hsc_event *event_at(const hsc__executions *ran, uint32_t place) {
  return &hsc_capture_events(ran->capture)[place];
}

const hsc_event *hsc__execution_event(const hsc__executions *ran, const hsc__execution *x) {
  return event_at(ran, x->call != UINT32_MAX ? x->call : x->run);
}

static const char *name_of(const hsc__executions *ran, const hsc_event *e) {
  const hsc_trace_attr *attr = hsc__key_attr(&ran->executable, e);
  return attr && attr->type == HSC_ATTR_STRING
             ? hsc_capture_string(ran->capture, e->process, attr->value.string)
             : "";
}

const char *hsc__execution_name(const hsc__executions *ran, const hsc__execution *x) {
  return name_of(ran, hsc__execution_event(ran, x));
}

// A device that tells its own times (attributes total, run and wait, in ns) is believed; one that
// subtracts unsigned numbers is read as it meant.
hsc__execution_times hsc__execution_times_of(const hsc__executions *ran, const hsc__execution *x) {
  const hsc_event *call = hsc__execution_event(ran, x);
  const hsc_event *run = x->run == UINT32_MAX ? NULL : event_at(ran, x->run);
  int64_t end = run ? run->start_ns + run->duration_ns : call->start_ns + call->duration_ns;
  hsc__execution_times t = {
      .total_ns = end - call->start_ns,
      .working_ns = run ? end - event_at(ran, x->first_run)->start_ns : call->duration_ns,
      .on_device = run != NULL};
  t.wait_ns = t.total_ns - t.working_ns;
  if (!hsc__key_attr(&ran->wait, call))
    return t;
  t.on_device = true;
  t.total_ns = hsc__key_int(&ran->total, call, t.total_ns);
  t.working_ns = hsc__key_int(&ran->run, call, t.working_ns);
  t.wait_ns = hsc__key_int(&ran->wait, call, t.wait_ns);
  return t;
}

// ---- joining ------------------------------------------------------------------------------------

// Which execution has a number; every process counts its own.
typedef struct by_number {
  int64_t highest;
  uint32_t *places;  // [highest + 1] place in the list + 1
} by_number;

typedef struct join {
  hsc__executions *ran;
  const hsc_event *events;
  size_t event_count, capacity;
  by_number *calls, *lone_runs;  // [process]
} join;

static void widen(by_number *table, int64_t number) {
  if (number > table->highest)
    table->highest = number;
}

// Room for every call and every run, and for their numbers.
static hsc_status *make_room(const hsc__view_context *cx, join *j) {
  int processes = hsc_capture_process_count(cx->capture);
  // numbers that cannot be, in a damaged ring: no joining by them
  int64_t most = (int64_t)j->event_count * 64;
  j->calls = HSC_NEW_ARRAY(cx->arena, by_number, processes + 1);
  j->lone_runs = HSC_NEW_ARRAY(cx->arena, by_number, processes + 1);
  HSC_TRY(hsc_arena_status(cx->arena));
  for (size_t i = 0; i < j->event_count; i++) {
    const hsc_event *e = &j->events[i];
    hsc_spill_passed(i);
    if (!is_call(e) && !is_device_run(e))
      continue;
    j->capacity++;
    widen(is_call(e) ? &j->calls[e->process] : &j->lone_runs[e->process],
          hsc__key_int(&j->ran->run_id, e, 0));
  }
  for (int p = 0; p < processes; p++) {
    by_number *tables[] = {&j->calls[p], &j->lone_runs[p]};
    for (size_t k = 0; k < HSC_COUNT_OF(tables); k++) {
      if (tables[k]->highest > most)
        tables[k]->highest = 0;
      tables[k]->places = HSC_NEW_ARRAY(cx->arena, uint32_t, tables[k]->highest + 1);
    }
  }
  j->ran->list = HSC_NEW_ARRAY(cx->arena, hsc__execution, j->capacity + 1);
  return hsc_arena_status(cx->arena);
}

static hsc__execution *add(join *j, by_number *of, const hsc_event *e, hsc__execution x) {
  int64_t number = hsc__key_int(&j->ran->run_id, e, 0);
  j->ran->list[j->ran->count++] = x;
  if (number > 0 && number <= of->highest)
    of->places[number] = (uint32_t)j->ran->count;
  return &j->ran->list[j->ran->count - 1];
}

// The execution that has the run's number and its executable; NULL = there is none.
static hsc__execution *find(const join *j, const by_number *of, const hsc_event *run) {
  int64_t number = hsc__key_int(&j->ran->run_id, run, 0);
  if (number <= 0 || number > of->highest || !of->places[number])
    return NULL;
  hsc__execution *x = &j->ran->list[of->places[number] - 1];
  return strcmp(hsc__execution_name(j->ran, x), name_of(j->ran, run)) ? NULL : x;
}

static void join_run(join *j, uint32_t place) {
  const hsc_event *run = &j->events[place];
  hsc__execution *x = find(j, &j->calls[run->process], run);
  if (!x)
    x = find(j, &j->lone_runs[run->process], run);
  if (!x)
    x = add(j, &j->lone_runs[run->process], run,
            (hsc__execution){.call = UINT32_MAX, .run = UINT32_MAX});
  const hsc_event *last = x->run == UINT32_MAX ? NULL : &j->events[x->run];
  if (!last || run->start_ns + run->duration_ns > last->start_ns + last->duration_ns)
    x->run = place;
  if (!x->run_count || run->start_ns < j->events[x->first_run].start_ns)
    x->first_run = place;
  x->run_count++;
  x->failed_later |= hsc__key_attr(&j->ran->error, run) != NULL;
}

// A call compiles when a compilation begins inside of it; frameworks may compile on a thread of
// their own while the call waits.
hsc_status *hsc__calls_that_compile(const hsc__view_context *cx, const bool **out_compiles) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  size_t count = hsc_capture_event_count(cx->capture);
  int64_t *next = HSC_NEW_ARRAY(cx->arena, int64_t, hsc_capture_process_count(cx->capture) + 1);
  bool *compiles = HSC_NEW_ARRAY(cx->arena, bool, count + 1);
  HSC_TRY(hsc_arena_status(cx->arena));
  for (int p = 0; p < hsc_capture_process_count(cx->capture); p++)
    next[p] = INT64_MAX;
  for (size_t i = count; i-- > 0;) {  // from the end: the next compilation after each call
    hsc_spill_passed(i);
    const hsc_event *e = &events[i];
    int process = hsc_capture_thread_at(cx->capture, e->thread)->process;
    if (e->category == HSC_CATEGORY_COMPILE && hsc_event_is_span(e))
      next[process] = e->start_ns;
    compiles[i] = is_call(e) && next[process] < e->start_ns + e->duration_ns;
  }
  *out_compiles = compiles;
  return NULL;
}

static int by_first_event(const void *a, const void *b) {
  const hsc__execution *x = a;
  const hsc__execution *y = b;
  uint32_t at = x->call != UINT32_MAX ? x->call : x->run;
  uint32_t other = y->call != UINT32_MAX ? y->call : y->run;
  return (at > other) - (at < other);
}

// Whether the process of an event ended in an orderly way, after all that it was told.
static bool is_closed(const hsc__view_context *cx, const hsc_event *e) {
  return hsc_capture_process_at(cx->capture, e->process)->closed;
}

hsc_status *hsc__executions_of(const hsc__view_context *cx, hsc__executions *out) {
  *out = (hsc__executions){.capture = cx->capture,
                           .executable = hsc__key_of(cx, "executable"),
                           .run_id = hsc__key_of(cx, "run_id"),
                           .total = hsc__key_of(cx, "total"),
                           .run = hsc__key_of(cx, "run"),
                           .wait = hsc__key_of(cx, "wait"),
                           .error = hsc__key_of(cx, "error")};
  HSC_TRY(hsc_arena_status(cx->arena));
  join j = {.ran = out,
            .events = hsc_capture_events(cx->capture),
            .event_count = hsc_capture_event_count(cx->capture)};
  HSC_TRY(make_room(cx, &j));
  for (size_t i = 0; i < j.event_count; i++) {
    const hsc_event *e = &j.events[i];
    hsc_spill_passed(i);
    if (is_call(e))
      add(&j, &j.calls[e->process], e,
          (hsc__execution){.call = (uint32_t)i,
                           .run = UINT32_MAX,
                           .failed = hsc__key_attr(&out->error, e) != NULL});
  }
  size_t calls = out->count;
  for (size_t i = 0; i < j.event_count && j.capacity > calls; i++) {
    hsc_spill_passed(i);
    if (is_device_run(&j.events[i]))
      join_run(&j, (uint32_t)i);
  }
  if (out->count > calls)
    qsort(out->list, out->count, sizeof *out->list, by_first_event);
  const bool *compiles = NULL;
  HSC_TRY(hsc__calls_that_compile(cx, &compiles));
  for (size_t i = 0; i < out->count; i++) {
    hsc__execution *x = &out->list[i];
    x->failed = x->failed_later || (x->failed && x->run == UINT32_MAX);
    bool on_device = !x->failed && hsc__execution_times_of(out, x).on_device;
    out->failed += x->failed;
    out->on_device += on_device;
    out->by_call += !x->failed && !on_device;
    x->untimed = !x->failed && !on_device && compiles[x->call];
    out->untimed += x->untimed;
    x->end_unknown = !x->failed && !on_device && !is_closed(cx, &j.events[x->call]);
    out->end_unknown += x->end_unknown;
  }
  return NULL;
}
