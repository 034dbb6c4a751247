// view_summary.c - distributions: everything by name, operators, host operators, threads.
#include <math.h>
#include <stdlib.h>

#include "base/core/spill.h"
#include "base/text/text.h"
#include "views/partition.h"
#include "views/views_internal.h"

// Linear interpolation between order statistics (Hyndman & Fan 1996, type 7), as NumPy's default.
// `sorted` ascending, n > 0.
static double quantile(const double *sorted, size_t n, double q) {
  double at = q * (double)(n - 1);
  size_t low = (size_t)at;
  double part = at - (double)low;
  return low + 1 < n ? sorted[low] + part * (sorted[low + 1] - sorted[low]) : sorted[n - 1];
}

static const double percentiles[] = {0.90, 0.95, 0.97, 0.99, 0.999};
static const char *const percentile_names[] = {"p90", "p95", "p97", "p99", "p99.9"};

static hsc_status *collect(hsc__view_context *cx,
                           hsc__series_set *set,
                           uint32_t categories,
                           bool on_tracks_only) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  size_t count = hsc_capture_event_count(cx->capture);
  for (size_t i = 0; i < count; i++) {
    const hsc_event *e = &events[i];
    hsc_spill_passed(i);
    if (!hsc_event_is_span(e) || e->open || !(e->category & categories) || !hsc__wanted(cx, e))
      continue;
    if (on_tracks_only && hsc_capture_thread_at(cx->capture, e->thread)->tid)
      continue;
    hsc__series *series = hsc__series_get(set, e->category, e->name);
    if (!series || !hsc__series_add(series, (double)e->duration_ns))
      return hsc_status_out_of_memory();
  }
  return NULL;
}

// Totals of events lie inside of each other; this sentence is of parts that do not.
static hsc_status *note_partition(hsc__view_context *cx) {
  hsc_partition p;
  HSC_TRY(hsc_partition_of(cx->capture, &p));
  if (!p.whole_ns)
    return NULL;
  hsc_bytes text = {0};
  char number[32];
  hsc_format_quantity((double)p.whole_ns, "ns", false, number);
  hsc_bytes_printf(&text, "of %s:", number);
  const char *comma = " ";
  for (int a = 0; a < HSC_ACTIVITY_COUNT; a++) {
    if (!p.part_ns[a])
      continue;
    hsc_format_quantity((double)p.part_ns[a], "ns", false, number);
    hsc_bytes_printf(&text, "%s%s %s", comma, hsc_activity_text((hsc_activity)a), number);
    comma = ", ";
  }
  hsc_table_note(cx->table, "%s (the totals above lie inside of each other; these do not)",
                 hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return NULL;
}

hsc_status *hsc__view_summary(hsc__view_context *cx) {
  hsc__series_set set;
  HSC_TRY(hsc__series_set_init(&set, cx->arena));
  hsc_status *status = NULL;
  // Profiles of a compiler and a framework have hundreds of names: those have views of their own.
  HSC_GOTO(collect(
      cx, &set, HSC_CATEGORY_ALL & ~(uint32_t)(HSC_CATEGORY_PASS | HSC_CATEGORY_FRAMEWORK), false));
  hsc__series_sort_by_total(&set);
  hsc_table_column(cx->table, "category", "");
  hsc_table_column(cx->table, "name", "");
  hsc_table_column(cx->table, "count", "count");
  hsc_table_column(cx->table, "total", "ns");
  hsc_table_column(cx->table, "min", "ns");
  hsc_table_column(cx->table, "max", "ns");
  hsc_table_column(cx->table, "mean", "ns");
  hsc_table_column(cx->table, "median", "ns");
  for (size_t p = 0; p < HSC_COUNT_OF(percentiles); p++)
    hsc_table_column(cx->table, percentile_names[p], "ns");
  for (size_t i = 0; i < set.count && hsc__room(cx); i++) {
    hsc__series *s = set.list[i];
    hsc__series_sort_values(s);
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, hsc_capture_category_text(cx->capture, s->category));
    hsc_table_text(cx->table, s->name);
    hsc_table_int(cx->table, (int64_t)s->count);
    hsc_table_double(cx->table, s->total);
    hsc_table_double(cx->table, s->values[0]);
    hsc_table_double(cx->table, s->values[s->count - 1]);
    hsc_table_double(cx->table, s->total / (double)s->count);
    hsc_table_double(cx->table, quantile(s->values, s->count, 0.5));
    for (size_t p = 0; p < HSC_COUNT_OF(percentiles); p++) {
      int64_t needed = hsc_quantile_min_samples(percentiles[p]);
      if ((int64_t)s->count >= needed)
        hsc_table_double(cx->table, quantile(s->values, s->count, percentiles[p]));
      else
        hsc_table_needs(cx->table, needed);
    }
  }
  HSC_GOTO(note_partition(cx));
done:
  hsc__series_set_deinit(&set);
  return status;
}

static void one_text(const char **kept, const char *seen) {
  if (seen && *seen && !*kept)
    *kept = seen;
  else if (seen && *kept && strcmp(*kept, seen))
    *kept = "";  // operators of one name in several programs
}

// What operators of a name call and what the framework calls them: columns where any program says
// so.
typedef struct operator_columns {
  bool category, op_name;
} operator_columns;

static operator_columns add_operator_columns(hsc__view_context *cx, const hsc__series_set *set) {
  operator_columns has = {false, false};
  for (size_t i = 0; i < set->count; i++) {
    has.category |= set->list[i]->category_text != NULL;
    has.op_name |= set->list[i]->op_name != NULL;
  }
  if (has.category)
    hsc_table_column(cx->table, "category", "");
  if (has.op_name)
    hsc_table_column(cx->table, "op_name", "");
  return has;
}

static void add_operator_cells(hsc__view_context *cx, operator_columns has, const hsc__series *s) {
  if (has.category)
    hsc_table_text(cx->table, s->category_text && *s->category_text ? s->category_text : NULL);
  if (has.op_name)
    hsc_table_text(cx->table, s->op_name && *s->op_name ? s->op_name : NULL);
}

// What is open on a thread: the innermost event, and those around it.
typedef struct frame {
  int64_t end_ns;
  hsc__series *series;
  struct frame *around;
} frame;

// What lies inside of another event of the table is that event's time too: its share is of what is
// its own. Events come by their begin. True when it lies in none.
static bool take_nested(hsc__view_context *cx,
                        frame **open,
                        frame **spare,  // frames that are over, to be used again
                        const hsc_event *e,
                        hsc__series *of) {
  frame **innermost = &open[e->thread];
  while (*innermost && (*innermost)->end_ns <= e->start_ns) {
    frame *over = *innermost;
    *innermost = over->around;
    over->around = *spare;
    *spare = over;
  }
  frame *around = *innermost;
  bool inside = around && e->start_ns + e->duration_ns <= around->end_ns;
  if (inside)
    around->series->nested_ns += (double)e->duration_ns;
  frame *next = *spare;
  if (next)
    *spare = next->around;
  else
    next = HSC_NEW(cx->arena, frame);
  if (next) {
    *next = (frame){e->start_ns + e->duration_ns, of, around};
    *innermost = next;
  }
  return !inside;
}

static hsc_status *by_name(hsc__view_context *cx, uint32_t categories, bool bytes) {
  hsc__series_set set;
  HSC_TRY(hsc__series_set_init(&set, cx->arena));
  hsc_status *status = NULL;
  const hsc_event *events = hsc_capture_events(cx->capture);
  double all = 0;
  frame *spare = NULL;
  frame **open = HSC_NEW_ARRAY(cx->arena, frame *, hsc_capture_thread_count(cx->capture) + 1);
  HSC_GOTO(hsc_arena_status(cx->arena));
  for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
    const hsc_event *e = &events[i];
    hsc_spill_passed(i);
    if (!hsc_event_is_span(e) || e->open || !(e->category & categories) || !hsc__wanted(cx, e))
      continue;
    hsc__series *series = hsc__series_get(&set, e->category, e->name);
    if (!series || !hsc__series_add(series, (double)e->duration_ns))
      HSC_GOTO(hsc_status_out_of_memory());
    if (bytes)
      series->extra += hsc__attr_int(cx, e, "bytes", 0);
    if (e->category == HSC_CATEGORY_OPERATOR) {
      one_text(&series->category_text, hsc__attr_text(cx, e, "category"));
      one_text(&series->op_name, hsc__attr_text(cx, e, "op_name"));
    }
    if (take_nested(cx, open, &spare, e, series))
      all += (double)e->duration_ns;
  }
  HSC_GOTO(hsc_arena_status(cx->arena));
  hsc__series_sort_by_total(&set);
  hsc_table_column(cx->table, "name", "");
  hsc_table_column(cx->table, "average_elapsed", "ns");
  hsc_table_column(cx->table, "count", "count");
  hsc_table_column(cx->table, "total", "ns");
  hsc_table_column(cx->table, "share", "fraction");
  if (bytes) {
    hsc_table_column(cx->table, "bytes", "bytes");
    hsc_table_column(cx->table, "rate", "bytes/s");
  }
  operator_columns has = add_operator_columns(cx, &set);
  bool nested = false;
  for (size_t i = 0; i < set.count && hsc__room(cx); i++) {
    const hsc__series *s = set.list[i];
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, s->name);
    hsc_table_double(cx->table, s->total / (double)s->count);
    hsc_table_int(cx->table, (int64_t)s->count);
    hsc_table_double(cx->table, s->total);
    hsc_table_double(cx->table, all > 0 ? (s->total - s->nested_ns) / all : NAN);
    nested |= s->nested_ns > 0;
    if (bytes) {
      hsc_table_int(cx->table, s->extra);
      hsc_table_double(cx->table,
                       s->total > 0 && s->extra > 0 ? (double)s->extra / s->total * 1e9 : NAN);
    }
    add_operator_cells(cx, has, s);
  }
  if (nested)
    hsc_table_note(cx->table,
                   "some contain others: total and average are with what is inside, share is of "
                   "their own time, so that all shares together are the whole");
done:
  hsc__series_set_deinit(&set);
  return status;
}

hsc_status *hsc__view_operators(hsc__view_context *cx) {
  HSC_TRY(by_name(cx, HSC_CATEGORY_OPERATOR, false));
  if (!hsc_table_row_count(cx->table))
    hsc_table_note(cx->table,
                   "no operators were recorded: the device must record them (hloscope profile), a "
                   "PJRT trace alone sees whole executables");
  return NULL;
}

hsc_status *hsc__view_passes(hsc__view_context *cx) {
  return by_name(cx, HSC_CATEGORY_PASS, false);
}

hsc_status *hsc__view_framework(hsc__view_context *cx) {
  return by_name(cx, HSC_CATEGORY_FRAMEWORK, false);
}

hsc_status *hsc__view_host_operators(hsc__view_context *cx) {
  return by_name(cx, HSC_CATEGORY_TRANSFER, true);
}

hsc_status *hsc__view_threads(hsc__view_context *cx) {
  int threads = hsc_capture_thread_count(cx->capture);
  struct {
    int64_t events, busy_ns, first_ns, last_ns;
  } *sums = hsc_arena_alloc_array(cx->arena, sizeof *sums, (size_t)threads + 1);
  if (!sums)
    return hsc_status_out_of_memory();
  const hsc_event *events = hsc_capture_events(cx->capture);
  for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
    const hsc_event *e = &events[i];
    int t = e->thread;
    if (!sums[t].events++)
      sums[t].first_ns = e->start_ns;
    if (e->start_ns + e->duration_ns > sums[t].last_ns)
      sums[t].last_ns = e->start_ns + e->duration_ns;
    if (hsc_event_is_span(e) && e->depth == 0)
      sums[t].busy_ns += e->duration_ns;
  }
  hsc_table_column(cx->table, "process", "");
  hsc_table_column(cx->table, "thread", "");
  hsc_table_column(cx->table, "name", "");
  hsc_table_column(cx->table, "events", "count");
  hsc_table_column(cx->table, "busy", "ns");
  hsc_table_column(cx->table, "busy share", "fraction");
  for (int t = 0; t < threads && hsc__room(cx); t++) {
    const hsc_capture_thread *thread = hsc_capture_thread_at(cx->capture, t);
    int64_t span = sums[t].last_ns - sums[t].first_ns;
    hsc_table_row(cx->table);
    hsc_table_int(cx->table, hsc_capture_process_at(cx->capture, thread->process)->pid);
    if (thread->tid)
      hsc_table_int(cx->table, thread->tid);
    else
      hsc_table_missing(cx->table);
    hsc_table_text(cx->table, thread->name);
    hsc_table_int(cx->table, sums[t].events);
    hsc_table_int(cx->table, sums[t].busy_ns);
    hsc_table_double(cx->table, span > 0 ? (double)sums[t].busy_ns / (double)span : NAN);
  }
  return NULL;
}
