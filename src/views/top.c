// top.c - the last seconds of a capture, by executable.
#include "views/top.h"

#include <math.h>
#include <stdlib.h>

#include "views/views_internal.h"

static void percentile(hsc_table *table, const hsc__series *s, double q) {
  int64_t needed = hsc_quantile_min_samples(q);
  if ((int64_t)s->count < needed)
    hsc_table_needs(table, needed);
  else
    hsc_table_double(table, s->values[(size_t)(q * (double)(s->count - 1) + 0.5)]);
}

typedef struct totals {
  int64_t runs, compiles, compiling;
  double compile_ns, in_bytes, out_bytes, memory, peak;
  int64_t compiling_since, last_run_end;
} totals;

static void note_totals(hsc_table *table, const totals *t, double seconds) {
  char text[32], more[32];
  hsc_table_note(table, "%.4g executions/s", (double)t->runs / seconds);
  hsc_format_quantity(t->compile_ns, "ns", false, text);
  hsc_table_note(table, "%lld compilation%s, %s in all", (long long)t->compiles,
                 t->compiles == 1 ? "" : "s", text);
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

hsc_status *hsc_top_table(const hsc_capture *capture,
                          int64_t window_ns,
                          int64_t now_ns,
                          hsc_table **out_table) {
  hsc__view_context cx = {.capture = capture};
  hsc__series_set recent = {0};
  hsc__series_set all = {0};
  hsc_status *status = NULL;
  totals t = {.last_run_end = INT64_MIN};
  const hsc_event *events = hsc_capture_events(capture);
  size_t count = hsc_capture_event_count(capture);
  HSC_GOTO(hsc_arena_create(&cx.arena));
  HSC_GOTO(hsc_table_create("top", &cx.table));
  HSC_GOTO(hsc__series_set_init(&recent, cx.arena));
  HSC_GOTO(hsc__series_set_init(&all, cx.arena));
  bool ended = now_ns == INT64_MIN;
  int64_t now = ended || now_ns < end_of(capture) ? end_of(capture) : now_ns;
  int64_t from = now - window_ns > 0 ? now - window_ns : 0;
  double seconds = now > from ? (double)(now - from) * 1e-9 : 1;
  for (size_t i = 0; i < count; i++) {
    const hsc_event *e = &events[i];
    bool is_recent = e->start_ns + e->duration_ns >= from;
    if (e->category == HSC_CATEGORY_COMPILE && hsc_event_is_span(e)) {
      t.compiles++;
      t.compile_ns += (double)e->duration_ns;
      if (e->open) {
        t.compiling++;
        t.compiling_since = now - e->start_ns;
      }
    } else if (e->category == HSC_CATEGORY_EXECUTE && e->kind == HSC_RECORD_COMPLETE) {
      const char *name = hsc__attr_text(&cx, e, "executable");
      hsc__series *of_all = hsc__series_get(&all, 0, name);
      if (!of_all)
        HSC_GOTO(hsc_status_out_of_memory());
      of_all->extra++;
      if (e->start_ns + e->duration_ns > t.last_run_end)
        t.last_run_end = e->start_ns + e->duration_ns;
      if (!is_recent)
        continue;
      t.runs++;
      hsc__series *series = hsc__series_get(&recent, 0, name);
      if (!series || !hsc__series_add(series, (double)e->duration_ns))
        HSC_GOTO(hsc_status_out_of_memory());
    } else if (e->category == HSC_CATEGORY_TRANSFER && is_recent) {
      double bytes = (double)hsc__attr_int(&cx, e, "bytes", 0);
      if (!strcmp(e->name, "host to device"))
        t.in_bytes += bytes;
      else if (!strcmp(e->name, "device to host"))
        t.out_bytes += bytes;
    } else if (e->category == HSC_CATEGORY_MEMORY && e->kind == HSC_RECORD_COUNTER) {
      memcpy(&t.memory, &e->value, sizeof t.memory);
      if (t.memory > t.peak)
        t.peak = t.memory;
    }
  }
  hsc__series_sort_by_total(&recent);
  hsc_table_column(cx.table, "executable", "");
  hsc_table_column(cx.table, "runs_per_second", "1/s");
  hsc_table_column(cx.table, "median", "ns");
  hsc_table_column(cx.table, "p95", "ns");
  hsc_table_column(cx.table, "p99", "ns");
  hsc_table_column(cx.table, "share", "fraction");
  hsc_table_column(cx.table, "runs", "count");
  for (size_t i = 0; i < recent.count; i++) {
    hsc__series *s = recent.list[i];
    hsc__series *of_all = hsc__series_get(&all, 0, s->name);
    hsc__series_sort_values(s);
    hsc_table_row(cx.table);
    hsc_table_text(cx.table, s->name);
    hsc_table_double(cx.table, (double)s->count / seconds);
    hsc_table_double(cx.table, s->values[s->count / 2]);
    percentile(cx.table, s, 0.95);
    percentile(cx.table, s, 0.99);
    hsc_table_double(cx.table, s->total / (seconds * 1e9));
    hsc_table_int(cx.table, of_all ? of_all->extra : 0);
  }
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
  hsc__series_set_deinit(&recent);
  hsc__series_set_deinit(&all);
  hsc_table_destroy(cx.table);
  if (cx.arena)
    hsc_arena_destroy(cx.arena);
  return status;
}
