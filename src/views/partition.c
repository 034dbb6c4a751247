// partition.c - the wall time of a capture, divided. What the parts are is in partition.h.
//
// Events are sorted by their begin, so the busy time of each kind is a list of intervals that is
// made in one walk; kinds are then laid over each other in the order of their rank, each adding
// what the ones before did not cover.
#include "views/partition.h"

#include "base/core/memory.h"
#include "base/core/spill.h"
#include "views/executions.h"

// What an event's time may be, in the order in which it counts. A call without a run of a device
// waits for compilations: what it spent on that is no computing.
typedef enum rank {
  RANK_RUN,
  RANK_COLLECTIVE,
  RANK_TRANSFER,
  RANK_COMPILE,
  RANK_CALL,
  RANK_HOST,
  RANK_COUNT
} rank;
static const hsc_activity activity_of_rank[RANK_COUNT] = {
    [RANK_RUN] = HSC_ACTIVITY_COMPUTE,       [RANK_COLLECTIVE] = HSC_ACTIVITY_COLLECTIVE,
    [RANK_TRANSFER] = HSC_ACTIVITY_TRANSFER, [RANK_COMPILE] = HSC_ACTIVITY_COMPILE,
    [RANK_CALL] = HSC_ACTIVITY_COMPUTE,      [RANK_HOST] = HSC_ACTIVITY_HOST};

typedef struct interval {
  int64_t begin, end;
} interval;

static void add(hsc_bytes *list, interval next) {
  interval *last = list->size ? (interval *)(void *)(list->data + list->size) - 1 : NULL;
  if (last && next.begin <= last->end) {
    if (next.end > last->end)
      last->end = next.end;
    return;
  }
  hsc_bytes_append(list, &next, sizeof next);
}

// Both lists as one, in order; what it covers.
static int64_t cover(const hsc_bytes *a, const hsc_bytes *b, hsc_bytes *out) {
  const interval *x = (const interval *)(const void *)a->data;
  const interval *y = (const interval *)(const void *)b->data;
  size_t x_left = a->size / sizeof *x;
  size_t y_left = b->size / sizeof *y;
  while (x_left || y_left) {
    bool first = x_left && (!y_left || x->begin <= y->begin);
    add(out, first ? *x : *y);
    x += first;
    x_left -= first;
    y += !first;
    y_left -= !first;
  }
  int64_t total = 0;
  const interval *all = (const interval *)(const void *)out->data;
  for (size_t i = 0; i < out->size / sizeof *all; i++)
    total += all[i].end - all[i].begin;
  return total;
}

static rank rank_of(const hsc_event *e) {
  switch (e->category) {
    case HSC_CATEGORY_EXECUTE:
      return e->kind == HSC_RECORD_COMPLETE ? RANK_RUN : RANK_CALL;
    case HSC_CATEGORY_COLLECTIVE:
      return RANK_COLLECTIVE;
    case HSC_CATEGORY_TRANSFER:
      return RANK_TRANSFER;
    case HSC_CATEGORY_COMPILE:
    case HSC_CATEGORY_PASS:
      return RANK_COMPILE;
    // operators are inside of runs, which the tracer times as well
    case HSC_CATEGORY_OPERATOR:
      return RANK_RUN;
    default:
      return RANK_HOST;
  }
}

// Which calls are given by a run of a device, and which compiled: those are no computing. Where a
// process's runs were recorded, none of its calls before the last of them is: a frontend's call
// that names no run (JAX's on XLA:CPU) spent the rest of its time on the host.
typedef struct calls {
  uint8_t **told;  // [process][run id]
  int64_t *highest;
  int64_t *last_run;     // [process] its end; INT64_MIN = no run was recorded
  const bool *compiles;  // [event]
} calls;

static int64_t run_id_of(const hsc__key *key, const hsc_event *e) {
  return e->category == HSC_CATEGORY_EXECUTE ? hsc__key_int(key, e, 0) : 0;
}

static hsc_status *find_told(const hsc__view_context *cx, const hsc__key *run_id, calls *out) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  size_t count = hsc_capture_event_count(cx->capture);
  int processes = hsc_capture_process_count(cx->capture);
  out->told = HSC_NEW_ARRAY(cx->arena, uint8_t *, processes + 1);
  out->highest = HSC_NEW_ARRAY(cx->arena, int64_t, processes + 1);
  out->last_run = HSC_NEW_ARRAY(cx->arena, int64_t, processes + 1);
  HSC_TRY(hsc_arena_status(cx->arena));
  for (int p = 0; p < processes; p++)
    out->last_run[p] = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    hsc_spill_passed(i);
    int64_t id = run_id_of(run_id, &events[i]);
    int64_t end = events[i].start_ns + events[i].duration_ns;
    bool is_run =
        events[i].category == HSC_CATEGORY_EXECUTE && events[i].kind == HSC_RECORD_COMPLETE;
    if (is_run && end > out->last_run[events[i].process])
      out->last_run[events[i].process] = end;
    if (id > out->highest[events[i].process] && id < (int64_t)count * 64)
      out->highest[events[i].process] = id;
  }
  for (int p = 0; p < processes; p++)
    out->told[p] = HSC_NEW_ARRAY(cx->arena, uint8_t, out->highest[p] + 1);
  HSC_TRY(hsc_arena_status(cx->arena));
  for (size_t i = 0; i < count; i++) {
    hsc_spill_passed(i);
    int64_t id = events[i].kind == HSC_RECORD_COMPLETE ? run_id_of(run_id, &events[i]) : 0;
    if (id > 0 && id <= out->highest[events[i].process])
      out->told[events[i].process][id] = 1;
  }
  return NULL;
}

static hsc_status *gather(const hsc__view_context *cx,
                          hsc_bytes lists[RANK_COUNT],
                          hsc_partition *out) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  size_t count = hsc_capture_event_count(cx->capture);
  hsc__key run_id = hsc__key_of(cx, "run_id");
  calls c = {0};
  HSC_TRY(find_told(cx, &run_id, &c));
  HSC_TRY(hsc__calls_that_compile(cx, &c.compiles));
  int64_t begin = INT64_MAX;
  int64_t end = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    const hsc_event *e = &events[i];
    hsc_spill_passed(i);
    int64_t e_end = e->start_ns + (hsc_event_is_span(e) ? e->duration_ns : 0);
    if (e->start_ns < begin)
      begin = e->start_ns;
    if (e_end > end)
      end = e_end;
    if (!hsc_event_is_span(e) || e_end <= e->start_ns)
      continue;
    rank r = rank_of(e);
    int64_t id = r == RANK_CALL ? run_id_of(&run_id, e) : 0;
    bool told = id > 0 && id <= c.highest[e->process] && c.told[e->process][id];
    bool of_runs = e->start_ns < c.last_run[e->process];
    if (r == RANK_CALL && (told || of_runs || c.compiles[i]))
      r = RANK_HOST;  // what of it was computing or compiling is given by those
    add(&lists[r], (interval){e->start_ns, e_end});
  }
  out->whole_ns = end > begin ? end - begin : 0;
  return NULL;
}

hsc_status *hsc_partition_of(const hsc_capture *capture, hsc_partition *out) {
  *out = (hsc_partition){0};
  hsc_view_options options = {0};
  hsc__view_context cx = {.capture = capture, .options = &options};
  hsc_bytes lists[RANK_COUNT] = {{0}};
  hsc_bytes covered = {0};
  int64_t before = 0;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&cx.arena));
  HSC_GOTO(gather(&cx, lists, out));
  for (int r = 0; r < RANK_COUNT; r++) {
    HSC_GOTO(hsc_bytes_status(&lists[r]));
    hsc_bytes more = {0};
    int64_t now = cover(&covered, &lists[r], &more);
    hsc_bytes_deinit(&covered);
    hsc_bytes_deinit(&lists[r]);
    covered = more;
    HSC_GOTO(hsc_bytes_status(&covered));
    out->part_ns[activity_of_rank[r]] += now - before;
    before = now;
  }
  out->part_ns[HSC_ACTIVITY_IDLE] = out->whole_ns - before;
done:
  for (int r = 0; r < RANK_COUNT; r++)
    hsc_bytes_deinit(&lists[r]);
  hsc_bytes_deinit(&covered);
  if (cx.arena)
    hsc_arena_destroy(cx.arena);
  return status;
}

hsc_status *hsc__view_time(hsc__view_context *cx) {
  hsc_partition p;
  HSC_TRY(hsc_partition_of(cx->capture, &p));
  hsc_table_column(cx->table, "part", "");
  hsc_table_column(cx->table, "time", "ns");
  hsc_table_column(cx->table, "share", "fraction");
  for (int a = 0; a < HSC_ACTIVITY_COUNT && hsc__room(cx); a++) {
    if (!p.part_ns[a])
      continue;
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, hsc_activity_text((hsc_activity)a));
    hsc_table_int(cx->table, p.part_ns[a]);
    hsc_table_double(cx->table, (double)p.part_ns[a] / (double)p.whole_ns);
  }
  hsc_table_note(cx->table,
                 "each moment is of one part, the first of compute, collective, transfer, compile, "
                 "host, idle that anything was busy with: together the whole %.6g s",
                 (double)p.whole_ns * 1e-9);
  return NULL;
}
