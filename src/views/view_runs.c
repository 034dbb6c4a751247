// view_runs.c - what ran: inferences, executions, executables, and every event.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "views/executions.h"

static bool is_call(const hsc_event *e) {
  return e->category == HSC_CATEGORY_EXECUTE && e->kind == HSC_RECORD_BEGIN;
}

// What the rows of a view of single events are made from.
typedef struct event_rows {
  const hsc_capture *capture;
  const hsc_event *events;
  const uint32_t *list;   // event of each row; NULL: all of them in order
  const uint64_t *roots;  // [event] outermost spans
  hsc__key executable;
  hsc_bytes text;
  char trace_id[33];
} event_rows;

static void release_event_rows(void *user) {
  hsc_bytes_deinit(&((event_rows *)user)->text);
}

static event_rows *event_rows_of(hsc__view_context *cx) {
  event_rows *rows = HSC_NEW(cx->arena, event_rows);
  if (rows)
    *rows = (event_rows){.capture = cx->capture,
                         .events = hsc_capture_events(cx->capture),
                         .executable = hsc__key_of(cx, "executable")};
  return rows;
}

static const char *text_of(const hsc_capture *capture, const hsc__key *key, const hsc_event *e) {
  const hsc_trace_attr *attr = hsc__key_attr(key, e);
  return attr && attr->type == HSC_ATTR_STRING
             ? hsc_capture_string(capture, e->process, attr->value.string)
             : "";
}

// An inference is what the user labelled, or, without labels, a call that runs an executable.
static bool is_label(const hsc_event *e) {
  return e->category == HSC_CATEGORY_USER && hsc_event_is_span(e) && e->depth == 0;
}

// `text` outlives the row.
static void put_trace_id(hsc_table *table,
                         const hsc_capture *capture,
                         const hsc_event *e,
                         uint64_t root,
                         char text[33]) {
  hsc_capture_trace_id(capture, hsc_capture_thread_at(capture, e->thread)->process, root, text);
  hsc_table_text(table, text);
}

// The roots of all events, in the view's arena.
static hsc_status *roots_of(hsc__view_context *cx, const uint64_t **out_roots) {
  uint64_t *roots = NULL;
  HSC_TRY(hsc_capture_roots(cx->capture, &roots));
  size_t count = hsc_capture_event_count(cx->capture);
  uint64_t *kept = HSC_NEW_ARRAY(cx->arena, uint64_t, count + 1);
  if (kept)
    memcpy(kept, roots, count * sizeof *kept);
  hsc_free(roots);
  *out_roots = kept;
  return kept ? NULL : hsc_status_out_of_memory();
}

static void inference_row(hsc_table *table, size_t row, void *user) {
  event_rows *rows = user;
  const hsc_event *e = &rows->events[rows->list[row]];
  put_trace_id(table, rows->capture, e, rows->roots[rows->list[row]], rows->trace_id);
  hsc_table_hex(table, e->span);
  hsc_table_int(table, hsc_capture_thread_at(rows->capture, e->thread)->tid);
  hsc_table_text(table, is_label(e) ? e->name : text_of(rows->capture, &rows->executable, e));
  hsc_table_int(table, e->duration_ns);
  hsc_table_int(table, e->start_ns);
}

// Those events that a view shows, as far as --limit goes. The list is in the view's arena.
static hsc_status *list_events(hsc__view_context *cx,
                               bool (*shows)(const hsc_event *e),
                               uint32_t **out_list,
                               size_t *out_count) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  size_t all = hsc_capture_event_count(cx->capture);
  size_t limit = cx->options->limit > 0 ? (size_t)cx->options->limit : SIZE_MAX;
  size_t count = 0;
  size_t at = 0;
  for (size_t i = 0; i < all && count < limit; i++)
    count += shows(&events[i]) && hsc__wanted(cx, &events[i]);
  uint32_t *list = HSC_NEW_ARRAY(cx->arena, uint32_t, count + 1);
  if (!list)
    return hsc_status_out_of_memory();
  for (size_t i = 0; at < count; i++)
    if (shows(&events[i]) && hsc__wanted(cx, &events[i]))
      list[at++] = (uint32_t)i;
  *out_list = list;
  *out_count = count;
  return NULL;
}

static bool is_inference(const hsc_event *e) {
  return is_label(e) || (is_call(e) && e->depth == 0);
}

hsc_status *hsc__view_inferences(hsc__view_context *cx) {
  hsc_table_column(cx->table, "trace_id", "");
  hsc_table_column(cx->table, "span_id", "");
  hsc_table_column(cx->table, "thread.id", "");
  hsc_table_column(cx->table, "name", "");
  hsc_table_column(cx->table, "dur", "ns");
  hsc_table_column(cx->table, "start", "ns");
  event_rows *rows = event_rows_of(cx);
  uint32_t *list = NULL;
  size_t count = 0;
  HSC_TRY(list_events(cx, is_inference, &list, &count));
  HSC_TRY(hsc_arena_status(cx->arena));
  HSC_TRY(roots_of(cx, &rows->roots));
  rows->list = list;
  hsc__view_rows(cx, count, inference_row, rows, release_event_rows);
  return NULL;
}

// ---- executions ---------------------------------------------------------------------------------

typedef struct execution_rows {
  hsc__executions ran;
  const uint64_t *roots;
  char trace_id[33];
} execution_rows;

static const char *measured_by(const hsc__execution *x, const hsc__execution_times *t) {
  if (x->failed)
    return "failed";
  if (x->untimed)
    return "call with compiling";
  return t->on_device ? "device" : "call";
}

static void execution_row(hsc_table *table, size_t row, void *user) {
  execution_rows *rows = user;
  const hsc__executions *ran = &rows->ran;
  const hsc__execution *x = &ran->list[row];
  const hsc_event *first = hsc__execution_event(ran, x);
  const hsc_event *run = x->run == UINT32_MAX ? NULL : &hsc_capture_events(ran->capture)[x->run];
  hsc__execution_times t = hsc__execution_times_of(ran, x);
  put_trace_id(table, ran->capture, first, rows->roots[first - hsc_capture_events(ran->capture)],
               rows->trace_id);
  hsc_table_hex(table, first->span);
  const char *device = run ? hsc_capture_thread_at(ran->capture, run->thread)->name : NULL;
  if (x->run_count > 1)
    hsc_table_printf(table, "%s and %u more", device, x->run_count - 1);
  else
    hsc_table_text(table, device);
  hsc_table_int(table, hsc__key_int(&ran->run_id, first, 0));
  hsc_table_text(table, hsc__execution_name(ran, x));
  hsc_table_int(table, first->start_ns);
  hsc_table_int(table, t.total_ns);
  hsc_table_int(table, t.working_ns);
  hsc_table_int(table, t.wait_ns);
  hsc_table_text(table, measured_by(x, &t));
}

// How many were timed how: what a mean or a total of them is of.
static void note_measured(hsc_table *table, const hsc__executions *ran) {
  if (ran->by_call)
    hsc_table_note(table,
                   "%zu executions were measured on the device, %zu from outside, by the time of "
                   "their call alone",
                   ran->on_device, ran->by_call);
  if (ran->untimed)
    hsc_table_note(
        table,
        "%zu of these calls compiled first: their time is no run's, and in no mean, total "
        "or share",
        ran->untimed);
  bool one = ran->end_unknown == 1;
  if (ran->end_unknown)
    hsc_table_note(
        table,
        "of %zu execution%s it is not known whether %s succeeded: %s process did not end "
        "its recording, and no end of %s was recorded",
        ran->end_unknown, one ? "" : "s", one ? "it" : "they", one ? "its" : "their",
        one ? "it" : "them");
  if (ran->failed)
    hsc_table_note(table, "%zu call%s failed: refused, or with an error that came later",
                   ran->failed, hsc_plural((double)ran->failed, "", "s"));
}

hsc_status *hsc__view_executions(hsc__view_context *cx) {
  execution_rows *rows = HSC_NEW(cx->arena, execution_rows);
  HSC_TRY(hsc_arena_status(cx->arena));
  HSC_TRY(hsc__executions_of(cx, &rows->ran));
  HSC_TRY(roots_of(cx, &rows->roots));
  hsc_table_column(cx->table, "trace_id", "");
  hsc_table_column(cx->table, "span_id", "");
  hsc_table_column(cx->table, "device", "");
  hsc_table_column(cx->table, "execution_index", "");
  hsc_table_column(cx->table, "executable", "");
  hsc_table_column(cx->table, "start", "ns");
  hsc_table_column(cx->table, "total", "ns");
  hsc_table_column(cx->table, "run", "ns");
  hsc_table_column(cx->table, "wait", "ns");
  hsc_table_column(cx->table, "measured", "");
  hsc__executions *ran = &rows->ran;
  size_t count = 0;
  int64_t negative = 0;
  for (size_t i = 0; i < ran->count; i++) {
    if (cx->options->where && !strstr(hsc__execution_name(ran, &ran->list[i]), cx->options->where))
      continue;
    negative += hsc__execution_times_of(ran, &ran->list[i]).wait_ns < 0 &&
                (!cx->options->limit || (int64_t)count < cx->options->limit);
    ran->list[count++] = ran->list[i];
  }
  hsc__view_rows(cx, count, execution_row, rows, NULL);
  note_measured(cx->table, ran);
  if (negative)
    hsc_table_note(cx->table,
                   "%lld executions have a negative wait: the device's clock and the host's "
                   "disagree by that much",
                   (long long)negative);
  return NULL;
}

// ---- executables --------------------------------------------------------------------------------

// Cost, memory and fingerprint of an executable as its plugin told them; missing where it did not.
static void put_compiled(hsc__view_context *cx, const hsc_event *told) {
  static const char *const sizes[] = {"flops", "bytes_accessed", "peak_bytes"};
  for (size_t i = 0; i < HSC_COUNT_OF(sizes); i++) {
    const hsc_trace_attr *a = told ? hsc_event_attr(cx->capture, told, sizes[i]) : NULL;
    if (a && a->type == HSC_ATTR_INT)
      hsc_table_int(cx->table, a->value.i);
    else if (a && a->type == HSC_ATTR_DOUBLE)
      hsc_table_double(cx->table, a->value.d);
    else
      hsc_table_missing(cx->table);
  }
  static const char *const texts[] = {"fingerprint", "optimized"};
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++) {
    const char *text = told ? hsc__attr_text(cx, told, texts[i]) : "";
    hsc_table_text(cx->table, *text ? text : NULL);
  }
}

// What is known of the executables of a name.
typedef struct program {
  const char *name;
  int64_t compiles, runs, measured, failed, end_unknown;
  int64_t by_call;                          // of the runs, those timed by their call
  double compile_ns, measured_ns, call_ns;  // totals
  const hsc_event *told;                    // what its last compilation gave; NULL = nothing
} program;

typedef struct programs {
  hsc_map *by_name;
  program **list;  // [count], in order of first appearance
  size_t count, capacity;
} programs;

// NULL when memory ran out.
static program *program_of(hsc__view_context *cx, programs *all, const char *name) {
  program *found = hsc_map_get(all->by_name, hsc_view_of(name));
  if (found)
    return found;
  found = HSC_NEW(cx->arena, program);
  if (!found || !HSC_GROW(all->list, all->count, all->capacity))
    return NULL;
  found->name = name;
  hsc_status *status = hsc_map_put(all->by_name, hsc_view_of(name), found);
  if (status) {
    hsc_status_free(status);
    return NULL;
  }
  return all->list[all->count++] = found;
}

static hsc_status *add_compiles(hsc__view_context *cx, programs *all) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
    const hsc_event *e = &events[i];
    bool compiled = hsc_event_is_span(e) && !e->open;
    if (e->category != HSC_CATEGORY_COMPILE || (!compiled && e->kind != HSC_RECORD_INSTANT))
      continue;
    program *of = program_of(cx, all, hsc__attr_text(cx, e, "executable"));
    if (!of)
      return hsc_status_out_of_memory();
    of->compiles += compiled;
    of->compile_ns += compiled ? (double)e->duration_ns : 0;
    of->told = compiled ? of->told : e;
  }
  return NULL;
}

static hsc_status *add_runs(hsc__view_context *cx, const hsc__executions *ran, programs *all) {
  for (size_t i = 0; i < ran->count; i++) {
    const hsc__execution *x = &ran->list[i];
    program *of = program_of(cx, all, hsc__execution_name(ran, x));
    if (!of)
      return hsc_status_out_of_memory();
    of->failed += x->failed;
    of->runs += !x->failed;
    of->end_unknown += x->end_unknown;
    if (x->failed || x->untimed)
      continue;
    hsc__execution_times t = hsc__execution_times_of(ran, x);
    of->measured += t.on_device;
    of->by_call += !t.on_device;
    *(t.on_device ? &of->measured_ns : &of->call_ns) += (double)t.working_ns;
  }
  return NULL;
}

// A call that returns before its device is done says little of a run: where runs were measured, the
// mean is of those.
static double mean_ns(const program *p) {
  if (p->measured)
    return p->measured_ns / (double)p->measured;
  return p->by_call ? p->call_ns / (double)p->by_call : NAN;
}

// Of those that the mean is of: what was timed on the device and what by its call is not added.
static double total_ns(const program *p) {
  return p->measured ? p->measured_ns : p->call_ns;
}

static void executable_row(hsc__view_context *cx, const program *p, double all_ns) {
  hsc_table_row(cx->table);
  hsc_table_text(cx->table, p->name);
  hsc_table_int(cx->table, p->compiles);
  hsc_table_double(cx->table, p->compile_ns);
  hsc_table_int(cx->table, p->runs);
  hsc_table_int(cx->table, p->measured);
  hsc_table_int(cx->table, p->failed);
  hsc_table_int(cx->table, p->end_unknown);
  hsc_table_double(cx->table, mean_ns(p));
  hsc_table_double(cx->table, total_ns(p));
  hsc_table_double(cx->table, all_ns > 0 ? total_ns(p) / all_ns : NAN);
  put_compiled(cx, p->told);
}

hsc_status *hsc__view_executables(hsc__view_context *cx) {
  programs all = {0};
  hsc__executions ran;
  hsc_status *status = NULL;
  double all_ns = 0;
  HSC_GOTO(hsc_map_create(&all.by_name));
  HSC_GOTO(hsc__executions_of(cx, &ran));
  HSC_GOTO(add_compiles(cx, &all));
  HSC_GOTO(add_runs(cx, &ran, &all));
  for (size_t i = 0; i < all.count; i++)
    all_ns += total_ns(all.list[i]);
  hsc_table_column(cx->table, "executable", "");
  hsc_table_column(cx->table, "compiles", "count");
  hsc_table_column(cx->table, "compile total", "ns");
  hsc_table_column(cx->table, "runs", "count");
  hsc_table_column(cx->table, "measured", "count");
  hsc_table_column(cx->table, "failed", "count");
  hsc_table_column(cx->table, "end unknown", "count");
  hsc_table_column(cx->table, "run mean", "ns");
  hsc_table_column(cx->table, "run total", "ns");
  hsc_table_column(cx->table, "share", "fraction");
  hsc_table_column(cx->table, "flops", "flops");
  hsc_table_column(cx->table, "bytes accessed", "bytes");
  hsc_table_column(cx->table, "peak memory", "bytes");
  hsc_table_column(cx->table, "fingerprint", "");
  hsc_table_column(cx->table, "optimized", "");
  for (size_t i = 0; i < all.count && hsc__room(cx); i++)
    executable_row(cx, all.list[i], all_ns);
  note_measured(cx->table, &ran);
done:
  hsc_map_destroy(all.by_name);
  hsc_free(all.list);
  return status;
}

// ---- events -------------------------------------------------------------------------------------

static bool is_any(const hsc_event *e) {
  return true;
}

static void event_row(hsc_table *table, size_t row, void *user) {
  static const char *const kinds[] = {[HSC_RECORD_BEGIN] = "span",
                                      [HSC_RECORD_COMPLETE] = "span",
                                      [HSC_RECORD_INSTANT] = "instant",
                                      [HSC_RECORD_COUNTER] = "counter",
                                      [HSC_RECORD_FLOW_BEGIN] = "flow begin",
                                      [HSC_RECORD_FLOW_END] = "flow end"};
  event_rows *rows = user;
  const hsc_event *e = &rows->events[rows->list ? rows->list[row] : row];
  const hsc_capture_thread *thread = hsc_capture_thread_at(rows->capture, e->thread);
  hsc_bytes_reset(&rows->text);
  hsc_event_attrs_text(rows->capture, e, &rows->text);
  hsc_table_int(table, e->start_ns);
  if (hsc_event_is_span(e))
    hsc_table_int(table, e->duration_ns);
  else
    hsc_table_missing(table);
  hsc_table_int(table, hsc_capture_process_at(rows->capture, e->process)->pid);
  if (*thread->name)
    hsc_table_text(table, thread->name);
  else
    hsc_table_int(table, thread->tid);
  hsc_table_text(table, e->open ? "open span" : kinds[e->kind]);
  hsc_table_text(table, hsc_capture_category_text(rows->capture, e->category));
  hsc_table_text(table, e->name);
  hsc_table_int(table, (int64_t)e->span);
  hsc_table_int(table, (int64_t)e->parent);
  hsc_table_text(table, hsc_bytes_text(&rows->text));
}

hsc_status *hsc__view_events(hsc__view_context *cx) {
  hsc_table_column(cx->table, "start", "ns");
  hsc_table_column(cx->table, "dur", "ns");
  hsc_table_column(cx->table, "process", "");
  hsc_table_column(cx->table, "thread", "");
  hsc_table_column(cx->table, "kind", "");
  hsc_table_column(cx->table, "category", "");
  hsc_table_column(cx->table, "name", "");
  hsc_table_column(cx->table, "span_id", "");
  hsc_table_column(cx->table, "parent_id", "");
  hsc_table_column(cx->table, "attributes", "");
  event_rows *rows = event_rows_of(cx);
  HSC_TRY(hsc_arena_status(cx->arena));
  uint32_t *list = NULL;
  size_t count = hsc_capture_event_count(cx->capture);
  if (cx->options->where)
    HSC_TRY(list_events(cx, is_any, &list, &count));
  rows->list = list;
  hsc__view_rows(cx, count, event_row, rows, release_event_rows);
  return NULL;
}
