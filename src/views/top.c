// top.c - the last seconds of a capture, by executable.
#include "base/text/text.h"
#include "views/top.h"

#include <math.h>
#include <stdlib.h>

#include "views/executions.h"

static void percentile(hsc_table *table, const hsc__series *s, double q) {
  int64_t needed = hsc_quantile_min_samples(q);
  if ((int64_t)s->count < needed)
    hsc_table_needs(table, needed);
  else
    hsc_table_double(table, s->values[(size_t)(q * (double)(s->count - 1) + 0.5)]);
}

typedef struct totals {
  int64_t runs, by_call, compiles, compiling;  // by_call: of the runs, timed from outside
  double compile_ns, in_bytes, out_bytes, memory, peak;
  int64_t compiling_since, last_run_end;
} totals;

static void note_totals(hsc_table *table, const totals *t, double seconds) {
  char text[32], more[32];
  hsc_table_note(table, "%.4g executions/s", (double)t->runs / seconds);
  if (t->by_call)
    hsc_table_note(table, "%lld of %lld were timed from outside, by their call alone",
                   (long long)t->by_call, (long long)t->runs);
  hsc_format_quantity(t->compile_ns, "ns", false, text);
  hsc_table_note(table, "%lld compilation%s, %s in all", (long long)t->compiles,
                 hsc_plural((double)t->compiles, "", "s"), text);
  if (t->compiling) {
    hsc_format_quantity((double)t->compiling_since, "ns", false, text);
    hsc_table_note(table, "compiling now, for %s", text);
  }
  hsc_format_quantity(t->in_bytes / seconds, "bytes/s", false, text);
  hsc_format_quantity(t->out_bytes / seconds, "bytes/s", false, more);
  // "19.2 k" becomes 19.2 kB/s, "12" 12 B/s.
  hsc_table_note(table, "to the device %s%sB/s, back %s%sB/s", text, strchr(text, ' ') ? "" : " ",
                 more, strchr(more, ' ') ? "" : " ");
  if (t->peak > 0) {
    hsc_format_quantity(t->memory, "bytes", false, text);
    hsc_format_quantity(t->peak, "bytes", false, more);
    hsc_table_note(table, "device memory %s, at most %s so far", text, more);
  }
}

// The last moment that anything is recorded of.
static int64_t end_of(const hsc_capture *capture) {
  int64_t end = 0;
  for (int p = 0; p < hsc_capture_process_count(capture); p++)
    if (hsc_capture_process_at(capture, p)->end_ns > end)
      end = hsc_capture_process_at(capture, p)->end_ns;
  return end;
}

// What the rates are of, where that is not the present of a busy program.
static void note_age(hsc_table *table, const totals *t, int64_t now, bool ended, double seconds) {
  char text[32];
  if (ended) {
    hsc_table_note(table, "the program has ended: these are its last %.3g s", seconds);
    return;
  }
  if (t->runs || t->last_run_end == INT64_MIN)
    return;
  hsc_format_quantity((double)(now - t->last_run_end), "ns", false, text);
  hsc_table_note(table, "nothing ran in the last %.3g s; the last execution ended %s ago", seconds,
                 text);
}

// What the window shows: its executions by name, and of each name all that there were. `extra`
// counts the runs, the values are the times of those that were timed.
typedef struct window {
  int64_t from_ns;
  hsc__series_set recent, all;
  totals *totals;
} window;

static hsc_status *add_executions(const hsc__executions *ran, window *w) {
  for (size_t i = 0; i < ran->count; i++) {
    const hsc__execution *x = &ran->list[i];
    hsc__execution_times t = hsc__execution_times_of(ran, x);
    const char *name = hsc__execution_name(ran, x);
    int64_t end_ns = hsc__execution_event(ran, x)->start_ns + t.total_ns;
    hsc__series *of_all = x->failed ? NULL : hsc__series_get(&w->all, 0, name);
    if (x->failed)
      continue;
    if (!of_all)
      return hsc_status_out_of_memory();
    of_all->extra++;
    if (end_ns > w->totals->last_run_end)
      w->totals->last_run_end = end_ns;
    if (end_ns < w->from_ns)
      continue;
    w->totals->runs++;
    w->totals->by_call += !t.on_device;
    hsc__series *series = hsc__series_get(&w->recent, 0, name);
    if (!series || (!x->untimed && !hsc__series_add(series, (double)t.working_ns)))
      return hsc_status_out_of_memory();
    series->extra++;
  }
  return NULL;
}

static void add_others(const hsc__view_context *cx, int64_t now, int64_t from, totals *t) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
    const hsc_event *e = &events[i];
    if (e->category == HSC_CATEGORY_COMPILE && hsc_event_is_span(e)) {
      t->compiles++;
      t->compile_ns += (double)e->duration_ns;
      if (e->open) {
        t->compiling++;
        t->compiling_since = now - e->start_ns;
      }
    } else if (e->category == HSC_CATEGORY_TRANSFER && e->start_ns + e->duration_ns >= from) {
      double bytes = (double)hsc__attr_int(cx, e, "bytes", 0);
      if (!strcmp(e->name, "host to device"))
        t->in_bytes += bytes;
      else if (!strcmp(e->name, "device to host"))
        t->out_bytes += bytes;
    } else if (e->category == HSC_CATEGORY_MEMORY && e->kind == HSC_RECORD_COUNTER) {
      memcpy(&t->memory, &e->value, sizeof t->memory);
      if (t->memory > t->peak)
        t->peak = t->memory;
    }
  }
}

static void fill_rows(hsc_table *table, window *w, double seconds) {
  hsc_table_column(table, "executable", "");
  hsc_table_column(table, "runs_per_second", "1/s");
  hsc_table_column(table, "median", "ns");
  hsc_table_column(table, "p95", "ns");
  hsc_table_column(table, "p99", "ns");
  hsc_table_column(table, "share", "fraction");
  hsc_table_column(table, "runs", "count");
  hsc__series_sort_by_total(&w->recent);
  for (size_t i = 0; i < w->recent.count; i++) {
    hsc__series *s = w->recent.list[i];
    hsc__series *of_all = hsc__series_get(&w->all, 0, s->name);
    hsc__series_sort_values(s);
    hsc_table_row(table);
    hsc_table_text(table, s->name);
    hsc_table_double(table, (double)s->extra / seconds);
    hsc_table_double(table, s->count ? s->values[s->count / 2] : NAN);
    percentile(table, s, 0.95);
    percentile(table, s, 0.99);
    hsc_table_double(table, s->total / (seconds * 1e9));
    hsc_table_int(table, of_all ? of_all->extra : 0);
  }
}

hsc_status *hsc_top_table(const hsc_capture *capture,
                          int64_t window_ns,
                          int64_t now_ns,
                          hsc_table **out_table) {
  hsc__view_context cx = {.capture = capture};
  totals t = {.last_run_end = INT64_MIN};
  window w = {.totals = &t};
  hsc__executions ran;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&cx.arena));
  HSC_GOTO(hsc_table_create("top", &cx.table));
  HSC_GOTO(hsc__series_set_init(&w.recent, cx.arena));
  HSC_GOTO(hsc__series_set_init(&w.all, cx.arena));
  bool ended = now_ns == INT64_MIN;
  int64_t now = ended || now_ns < end_of(capture) ? end_of(capture) : now_ns;
  w.from_ns = now - window_ns > 0 ? now - window_ns : 0;
  double seconds = now > w.from_ns ? (double)(now - w.from_ns) * 1e-9 : 1;
  HSC_GOTO(hsc__executions_of(&cx, &ran));
  HSC_GOTO(add_executions(&ran, &w));
  add_others(&cx, now, w.from_ns, &t);
  fill_rows(cx.table, &w, seconds);
  note_age(cx.table, &t, now, ended, seconds);
  note_totals(cx.table, &t, seconds);
  for (const char *line = hsc_capture_notes(capture); *line; line += *line == '\n') {
    int size = (int)strcspn(line, "\n");
    // it runs: that is why it is watched
    if (!strstr(line, "did not end its recording"))
      hsc_table_note(cx.table, "%.*s", size, line);
    line += size;
  }
  *out_table = cx.table;
  cx.table = NULL;
done:
  hsc__series_set_deinit(&w.recent);
  hsc__series_set_deinit(&w.all);
  hsc_table_destroy(cx.table);
  if (cx.arena)
    hsc_arena_destroy(cx.arena);
  return status;
}
