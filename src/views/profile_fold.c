// profile_fold.c - the records of a line become times of lanes, operators and devices.
#include <stdlib.h>

#include "views/profile_walk.h"

int hsc__walk_compare(const void *a, const void *b) {
  const hsc__walk_record *x = a;
  const hsc__walk_record *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  // what encloses is before what it encloses
  return x->duration > y->duration ? -1 : x->duration < y->duration;
}

int hsc__walk_section_of(const hsc__walk_record *r) {
  if (r->op >= 0)
    return HSC__SECTION_EXECUTION;
  if (r->activity == HSC_ACTIVITY_TRANSFER)
    return HSC__SECTION_TRANSFER;
  return HSC__SECTION_CONTROL;
}

// Counts a record's time to its lane: what is busy, once, and the longest gap.
static void fold_into_lane(hsc_profile_lane *lane, const hsc__walk_record *r, int64_t *last_end) {
  int64_t end = hsc__sat_add(r->start, r->duration);
  bool first = *last_end == INT64_MIN;
  if (first)
    lane->first_ps = r->start;
  if (!first && r->start > *last_end && r->start - *last_end > lane->gap_ps) {
    lane->gap_ps = r->start - *last_end;
    lane->gap_start_ps = *last_end;
  }
  if (!first && end <= *last_end)
    return;
  int64_t more = first || r->start > *last_end ? r->duration : end - *last_end;
  lane->busy_ps = hsc__sat_add(lane->busy_ps, more);
  *last_end = end;
}

static void fold_into_op(hsc_profile_op *op, int64_t duration) {
  op->count++;
  op->total_ps = hsc__sat_add(op->total_ps, duration);
  op->self_ps = hsc__sat_add(op->self_ps, duration);
  if (duration < op->min_ps)
    op->min_ps = duration;
  if (duration > op->max_ps)
    op->max_ps = duration;
}

// What is inside of another operator is not that one's own time.
static void take_from_outer(hsc__walk *w, const hsc__walk_record *r) {
  hsc_profile_op *ops = w->profile->ops.items;
  int64_t outer_end = w->stack_end.items[w->stack_end.count - 1];
  hsc_profile_op *outer = &ops[w->stack_op.items[w->stack_op.count - 1]];
  bool ends_inside = hsc__sat_add(r->start, r->duration) < outer_end;
  int64_t inside = ends_inside ? r->duration : outer_end - r->start;
  outer->self_ps = outer->self_ps > inside ? outer->self_ps - inside : 0;
  if (w->profile->keep_events)
    w->profile->events.items[w->stack_event.items[w->stack_event.count - 1]].self_ps -= inside;
}

// An outermost operator makes its device busy; intervals of one kind without a gap become one.
static bool add_busy(hsc__walk *w, const hsc__walk_record *r, const hsc_profile_op *op) {
  int64_t end = hsc__sat_add(r->start, r->duration);
  hsc__interval *last = w->busy.count ? &w->busy.items[w->busy.count - 1] : NULL;
  if (last && last->activity == (int32_t)op->activity && last->what == op->device &&
      last->end == r->start) {
    last->end = end;
    return true;
  }
  return HSC__ADD(&w->busy, (hsc__interval){r->start, end, (int32_t)op->activity, op->device});
}

// Operators of a lane nest: a stack holds those that are open.
static bool fold_op(hsc__walk *w, const hsc__walk_record *r) {
  hsc_profile_op *op = &w->profile->ops.items[r->op];
  bool keep = w->profile->keep_events;
  fold_into_op(op, r->duration);
  if (keep && !HSC__ADD(&w->profile->events, (hsc__op_event){r->start, r->duration, r->op}))
    return false;
  while (w->stack_end.count && w->stack_end.items[w->stack_end.count - 1] <= r->start) {
    w->stack_end.count--;
    w->stack_op.count--;
    w->stack_event.count -= keep;
  }
  if (w->stack_end.count)
    take_from_outer(w, r);
  else if (!add_busy(w, r, op))
    return false;
  if (r->duration <= 0)
    return true;
  if (!HSC__ADD(&w->stack_end, hsc__sat_add(r->start, r->duration)) ||
      !HSC__ADD(&w->stack_op, r->op))
    return false;
  return !keep || HSC__ADD(&w->stack_event, w->profile->events.count - 1);
}

// Self times and outermost intervals of the records of one line, all of them or those of one
// section.
bool hsc__walk_fold_line(hsc__walk *w, hsc_profile_lane *lane, bool all) {
  hsc__walk_record *records = w->records.items;
  size_t count = w->records.count;
  if (!w->sorted)
    qsort(records, count, sizeof *records, hsc__walk_compare);
  w->sorted = true;
  w->stack_end.count = w->stack_op.count = w->stack_event.count = 0;
  int64_t last_end = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    const hsc__walk_record *r = &records[i];
    if (!all && hsc__walk_section_of(r) != lane->section)
      continue;
    fold_into_lane(lane, r, &last_end);
    if (r->op >= 0) {
      if (!fold_op(w, r))
        return false;
    } else if (r->activity != HSC_ACTIVITY_IDLE) {
      hsc__interval host = {r->start, hsc__sat_add(r->start, r->duration), r->activity, -1};
      if (!HSC__ADD(&w->profile->host, host))
        return false;
    }
  }
  lane->last_ps = last_end == INT64_MIN ? 0 : last_end;
  if (lane->last_ps > w->profile->span_ps)
    w->profile->span_ps = lane->last_ps;
  return true;
}
