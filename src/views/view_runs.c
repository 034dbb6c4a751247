// view_runs.c - what ran and what was compiled: inferences, executions, executables, recompiles,
// memory, and every event.
#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "views/recompile_cause.h"
#include "views/recompile_options.h"
#include "views/views_internal.h"

static bool is_call(const hsc_event *e) {
  return e->category == HSC_CATEGORY_EXECUTE && e->kind == HSC_RECORD_BEGIN;
}
static bool is_device_run(const hsc_event *e) {
  return e->category == HSC_CATEGORY_EXECUTE && e->kind == HSC_RECORD_COMPLETE;
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

// Call and device run of one execution, joined by their run id: places in the capture's events.
typedef struct execution {
  uint32_t call, run;  // run: UINT32_MAX = none; of several devices the one that ended last
  uint32_t run_count;  // devices that ran it
} execution;

typedef struct execution_rows {
  const hsc_capture *capture;
  const hsc_event *events;
  const execution *list;
  const uint64_t *roots;
  hsc__key executable, run_id, total, run, wait;
  char trace_id[33];
} execution_rows;

// Which call has a run's number; every process counts its own runs.
typedef struct calls_by_number {
  int64_t highest;
  uint32_t *calls;  // [highest + 1] place in the list + 1
} calls_by_number;

static hsc_status *number_calls(hsc__view_context *cx,
                                const hsc__key *run_id,
                                calls_by_number **out_processes,
                                size_t *out_calls,
                                size_t *out_runs) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  size_t count = hsc_capture_event_count(cx->capture);
  int processes = hsc_capture_process_count(cx->capture);
  calls_by_number *all = HSC_NEW_ARRAY(cx->arena, calls_by_number, processes + 1);
  if (!all)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++) {
    *out_runs += is_device_run(&events[i]);
    if (!is_call(&events[i]))
      continue;
    ++*out_calls;
    int64_t id = hsc__key_int(run_id, &events[i], 0);
    if (id > all[events[i].process].highest)
      all[events[i].process].highest = id;
  }
  for (int p = 0; p < processes; p++) {
    if (all[p].highest > (int64_t)count * 64)
      all[p].highest = 0;  // numbers that cannot be: no joining
    all[p].calls = HSC_NEW_ARRAY(cx->arena, uint32_t, all[p].highest + 1);
    if (!all[p].calls)
      return hsc_status_out_of_memory();
  }
  *out_processes = all;
  return NULL;
}

static hsc_status *join_runs(hsc__view_context *cx,
                             const hsc__key *run_id,
                             execution **out_list,
                             size_t *out_count) {
  const hsc_event *events = hsc_capture_events(cx->capture);
  size_t count = hsc_capture_event_count(cx->capture);
  size_t calls = 0;
  size_t runs = 0;
  size_t at = 0;
  calls_by_number *processes = NULL;
  HSC_TRY(number_calls(cx, run_id, &processes, &calls, &runs));
  execution *list = HSC_NEW_ARRAY(cx->arena, execution, calls + 1);
  if (!list)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++) {
    if (!is_call(&events[i]))
      continue;
    list[at++] = (execution){(uint32_t)i, UINT32_MAX, 0};
    const calls_by_number *of = &processes[events[i].process];
    int64_t id = hsc__key_int(run_id, &events[i], 0);
    if (id > 0 && id <= of->highest)
      of->calls[id] = (uint32_t)at;
  }
  for (size_t i = 0; i < count && runs; i++) {
    if (!is_device_run(&events[i]))
      continue;
    const calls_by_number *of = &processes[events[i].process];
    int64_t id = hsc__key_int(run_id, &events[i], 0);
    if (id <= 0 || id > of->highest || !of->calls[id])
      continue;
    execution *x = &list[of->calls[id] - 1];
    const hsc_event *last = x->run == UINT32_MAX ? NULL : &events[x->run];
    if (!last || events[i].start_ns + events[i].duration_ns > last->start_ns + last->duration_ns)
      x->run = (uint32_t)i;
    x->run_count++;
  }
  *out_list = list;
  *out_count = at;
  return NULL;
}

typedef struct execution_times {
  int64_t total_ns, working_ns, wait_ns;
  bool on_device;
} execution_times;

// total: from the call to the device's end. run: the part in which the call itself worked, or the
// device when it went on after it. wait: what is left; signed, because two clocks may disagree.
// A device that tells its own times (attributes total, run and wait, in ns) is believed; one that
// subtracts unsigned numbers is read as it meant.
static execution_times times_of(const execution_rows *rows, const execution *x) {
  const hsc_event *call = &rows->events[x->call];
  const hsc_event *run = x->run == UINT32_MAX ? NULL : &rows->events[x->run];
  int64_t end = run ? run->start_ns + run->duration_ns : call->start_ns + call->duration_ns;
  execution_times t = {.total_ns = end - call->start_ns,
                       .working_ns = run ? run->duration_ns : call->duration_ns,
                       .on_device = run != NULL};
  t.wait_ns = t.total_ns - t.working_ns;
  if (!hsc__key_attr(&rows->wait, call))
    return t;
  t.on_device = true;
  t.total_ns = hsc__key_int(&rows->total, call, t.total_ns);
  t.working_ns = hsc__key_int(&rows->run, call, t.working_ns);
  t.wait_ns = hsc__key_int(&rows->wait, call, t.wait_ns);
  return t;
}

static void execution_row(hsc_table *table, size_t row, void *user) {
  execution_rows *rows = user;
  const execution *x = &rows->list[row];
  const hsc_event *call = &rows->events[x->call];
  const hsc_event *run = x->run == UINT32_MAX ? NULL : &rows->events[x->run];
  execution_times t = times_of(rows, x);
  put_trace_id(table, rows->capture, call, rows->roots[x->call], rows->trace_id);
  hsc_table_hex(table, call->span);
  const char *device = run ? hsc_capture_thread_at(rows->capture, run->thread)->name : NULL;
  if (x->run_count > 1)
    hsc_table_printf(table, "%s and %u more", device, x->run_count - 1);
  else
    hsc_table_text(table, device);
  hsc_table_int(table, hsc__key_int(&rows->run_id, call, 0));
  hsc_table_text(table, text_of(rows->capture, &rows->executable, call));
  hsc_table_int(table, call->start_ns);
  hsc_table_int(table, t.total_ns);
  hsc_table_int(table, t.working_ns);
  hsc_table_int(table, t.wait_ns);
  hsc_table_text(table, t.on_device ? "device" : "call");
}

hsc_status *hsc__view_executions(hsc__view_context *cx) {
  execution_rows *rows = HSC_NEW(cx->arena, execution_rows);
  execution *list = NULL;
  size_t all = 0;
  size_t count = 0;
  *rows = (execution_rows){.capture = cx->capture,
                           .events = hsc_capture_events(cx->capture),
                           .executable = hsc__key_of(cx, "executable"),
                           .run_id = hsc__key_of(cx, "run_id"),
                           .total = hsc__key_of(cx, "total"),
                           .run = hsc__key_of(cx, "run"),
                           .wait = hsc__key_of(cx, "wait")};
  HSC_TRY(hsc_arena_status(cx->arena));
  HSC_TRY(join_runs(cx, &rows->run_id, &list, &all));
  HSC_TRY(roots_of(cx, &rows->roots));
  rows->list = list;
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
  int64_t negative = 0;
  int64_t inside = 0;
  int64_t outside = 0;
  for (size_t i = 0; i < all; i++) {
    execution_times t = times_of(rows, &list[i]);
    inside += t.on_device;
    outside += !t.on_device;
    if (cx->options->where &&
        !strstr(text_of(cx->capture, &rows->executable, &rows->events[list[i].call]),
                cx->options->where))
      continue;
    negative += t.wait_ns < 0 && (!cx->options->limit || (int64_t)count < cx->options->limit);
    list[count++] = list[i];
  }
  hsc__view_rows(cx, count, execution_row, rows, NULL);
  if (outside)
    hsc_table_note(cx->table,
                   "%lld executions were measured on the device, %lld from outside, by the time of "
                   "their call alone",
                   (long long)inside, (long long)outside);
  if (negative)
    hsc_table_note(cx->table,
                   "%lld executions have a negative wait: the device's clock and the host's "
                   "disagree by that much",
                   (long long)negative);
  return NULL;
}

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

hsc_status *hsc__view_executables(hsc__view_context *cx) {
  hsc__series_set compiles, runs;
  HSC_TRY(hsc__series_set_init(&compiles, cx->arena));
  hsc_status *status = hsc__series_set_init(&runs, cx->arena);
  if (status) {
    hsc__series_set_deinit(&compiles);
    return status;
  }
  const hsc_event *events = hsc_capture_events(cx->capture);
  double all = 0;
  for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
    const hsc_event *e = &events[i];
    bool compile = e->category == HSC_CATEGORY_COMPILE && hsc_event_is_span(e) && !e->open;
    // what the last compilation of it gave
    if (e->category == HSC_CATEGORY_COMPILE && e->kind == HSC_RECORD_INSTANT) {
      hsc__series *of = hsc__series_get(&compiles, 0, hsc__attr_text(cx, e, "executable"));
      if (!of)
        HSC_GOTO(hsc_status_out_of_memory());
      of->extra = (int64_t)i + 1;
    }
    if (!compile && !is_device_run(e))
      continue;
    const char *name = hsc__attr_text(cx, e, "executable");
    hsc__series *series = hsc__series_get(compile ? &compiles : &runs, 0, name);
    if (!series || !hsc__series_add(series, (double)e->duration_ns))
      HSC_GOTO(hsc_status_out_of_memory());
    if (!compile)
      all += (double)e->duration_ns;
    if (!compile && !hsc__series_get(&compiles, 0, name))
      HSC_GOTO(hsc_status_out_of_memory());
  }
  hsc_table_column(cx->table, "executable", "");
  hsc_table_column(cx->table, "compiles", "count");
  hsc_table_column(cx->table, "compile total", "ns");
  hsc_table_column(cx->table, "runs", "count");
  hsc_table_column(cx->table, "run mean", "ns");
  hsc_table_column(cx->table, "run total", "ns");
  hsc_table_column(cx->table, "share", "fraction");
  hsc_table_column(cx->table, "flops", "flops");
  hsc_table_column(cx->table, "bytes accessed", "bytes");
  hsc_table_column(cx->table, "peak memory", "bytes");
  hsc_table_column(cx->table, "fingerprint", "");
  hsc_table_column(cx->table, "optimized", "");
  for (size_t i = 0; i < compiles.count && hsc__room(cx); i++) {
    const hsc__series *c = compiles.list[i];
    const hsc__series *r = hsc__series_get(&runs, 0, c->name);
    if (!r)
      HSC_GOTO(hsc_status_out_of_memory());
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, c->name);
    hsc_table_int(cx->table, (int64_t)c->count);
    hsc_table_double(cx->table, c->total);
    hsc_table_int(cx->table, (int64_t)r->count);
    hsc_table_double(cx->table, r->count ? r->total / (double)r->count : NAN);
    hsc_table_double(cx->table, r->total);
    hsc_table_double(cx->table, all > 0 ? r->total / all : NAN);
    put_compiled(cx, c->extra ? &events[c->extra - 1] : NULL);
  }
done:
  hsc__series_set_deinit(&compiles);
  hsc__series_set_deinit(&runs);
  return status;
}

// Programs that were compiled so far, as the tracer kept them.
typedef struct ledger {
  const char **names;    // [count] what was compiled
  int32_t *processes;    // [count] in which process
  hsc_module **modules;  // [count] from what; NULL = not readable here
  int count;
} ledger;

enum { MAX_LEDGER_PROGRAMS = 500, MAX_LEDGER_BYTES = 8 << 20 };

static hsc_module *read_program(hsc__view_context *cx, const char *program) {
  hsc_bytes path = {0};
  hsc_bytes bytes = {0};
  hsc_module *module = NULL;
  hsc_bytes_printf(&path, "%s/programs/%s", hsc_capture_path(cx->capture), program);
  hsc_status *status = hsc_file_read(hsc_bytes_text(&path), &bytes);
  if (!status && bytes.size <= MAX_LEDGER_BYTES)
    status = hsc_program_read(hsc_bytes_view(&bytes), hsc_bytes_text(&path), &module);
  hsc_status_free(status);  // a program that cannot be read is compared with nothing
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&bytes);
  return module;
}

// PyTorch/XLA numbers its graphs ("SyncTensorsGraph.41"): the name without that is what was
// compiled again.
static const char *plain_name(hsc__view_context *cx, const char *name) {
  size_t size = strlen(name);
  size_t end = size;
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
    end--;
  return end > 1 && end < size && name[end - 1] == '.' ? hsc_arena_strndup(cx->arena, name, end - 1)
                                                       : name;
}

// What a compilation is to those before it.
typedef enum compile_kind {
  COMPILE_FIRST,
  COMPILE_AGAIN,
  COMPILE_CHANGED,
  COMPILE_NAMESAKE,
  COMPILE_EAGER,
  COMPILE_PROCESS,
  COMPILE_KINDS
} compile_kind;
static const char *const compile_kinds[COMPILE_KINDS] = {"first",    "again", "changed",
                                                         "namesake", "eager", "process"};

// JAX runs an operation outside of jit as a program of its own, named by the operation:
// jit(broadcast_in_dim)/broadcast_in_dim. Every shape is another program.
static bool is_eager(const hsc_module *module) {
  const hsc_instr *root = module->entry->root;
  const char *op_name = root->metadata ? root->metadata->op_name : NULL;
  if (!op_name || strncmp(op_name, "jit(", 4))
    return false;
  size_t size = strcspn(op_name + 4, ")");
  return op_name[4 + size] == ')' && op_name[5 + size] == '/' &&
         !strncmp(op_name + 6 + size, op_name + 4, size) && !op_name[6 + 2 * size];
}

// A compilation among those of its process; and what was there of the same program, in it and in
// earlier processes.
typedef struct compilation {
  const hsc_event *event;
  const char *program, *name;  // file in the capture; what was compiled, without numbers
  const char *options;         // file in the capture; "" = not kept
  // of the last compilation of this program here; NULL = there was none
  const char *options_before;
  bool first_of_name, other_process;
} compilation;

static hsc_status *read_options(hsc__view_context *cx, const char *file, hsc_bytes *out) {
  const char *path =
      hsc_arena_printf(cx->arena, "%s/programs/%s", hsc_capture_path(cx->capture), file);
  return path ? hsc_file_read(path, out) : hsc_status_out_of_memory();
}

// The same program once more: what differs is in the options, if anything does.
static compile_kind explain_same(hsc__view_context *cx, const compilation *c, hsc_bytes *out) {
  bool known = *c->options && *c->options_before;
  bool same = known && !strcmp(c->options, c->options_before);
  hsc_bytes before = {0};
  hsc_bytes now = {0};
  hsc_bytes difference = {0};
  hsc_status *status = NULL;
  if (known && !same) {
    status = read_options(cx, c->options_before, &before);
    if (!status)
      status = read_options(cx, c->options, &now);
    if (!status)
      same = !hsc__recompile_options(hsc_bytes_view(&before), hsc_bytes_view(&now), &difference);
  }
  hsc_status_free(status);
  hsc_bytes_append_text(out, "compiled again: the same program");
  if (!known)
    hsc_bytes_append_text(out, "; the caller kept no executable, or gave other options");
  else if (same)
    hsc_bytes_append_text(out, " with the same options; the caller kept no executable");
  else
    hsc_bytes_printf(out, " with other compile options: %s", hsc_bytes_text(&difference));
  hsc_bytes_deinit(&before);
  hsc_bytes_deinit(&now);
  hsc_bytes_deinit(&difference);
  return COMPILE_AGAIN;
}

static compile_kind explain(hsc__view_context *cx,
                            ledger *l,
                            const compilation *c,
                            hsc_bytes *out) {
  const char *program = c->program;
  const char *name = c->name;
  bool first_of_name = c->first_of_name;
  hsc_bytes_reset(out);
  if (c->options_before)
    return explain_same(cx, c, out);
  hsc_module *module = l->count < MAX_LEDGER_PROGRAMS ? read_program(cx, program) : NULL;
  compile_kind kind = first_of_name ? COMPILE_FIRST : COMPILE_CHANGED;
  if (module && !first_of_name) {
    // Only programs of the same name are asked: what looks alike under another name is no earlier
    // form of this one.
    hsc_module *namesakes[MAX_LEDGER_PROGRAMS];
    int count = 0;
    for (int i = 0; i < l->count; i++)
      if (l->modules[i] && l->processes[i] == c->event->process && !strcmp(l->names[i], name))
        namesakes[count++] = l->modules[i];
    hsc__recompile_cause(namesakes, count, module, out);
    if (is_eager(module))
      kind = COMPILE_EAGER;
    else if (count && !hsc__recompile_same_function(namesakes, count, module))
      kind = COMPILE_NAMESAKE;
  }
  if (l->count < MAX_LEDGER_PROGRAMS) {
    l->processes[l->count] = c->event->process;
    l->names[l->count] = name;
    l->modules[l->count++] = module;
  }
  if (kind == COMPILE_NAMESAKE || kind == COMPILE_EAGER) {
    hsc_bytes cause = *out;
    *out = (hsc_bytes){0};
    hsc_bytes_append_text(out, kind == COMPILE_EAGER
                                   ? "an operation outside of jit, compiled for these shapes"
                                   : "another function of the same name");
    const char *what = hsc_bytes_text(&cause);
    if (kind == COMPILE_EAGER && !strncmp(what, "compiled again: argument", 24))
      hsc_bytes_printf(out, ":%s", what + 15);
    hsc_bytes_deinit(&cause);
  }
  if (kind == COMPILE_FIRST && c->other_process) {
    hsc_bytes_append_text(out, "first here; an earlier process compiled the same program");
    return COMPILE_PROCESS;
  }
  if (!out->size)
    hsc_bytes_append_text(out, first_of_name ? "first" : "another program");
  return kind;
}

// Every compilation: which program, the how many-eth of its executable's name, why again, and the
// time that repeats cost.
// What the framework said of a function that it traces again (python/hloscope/site).
static bool is_explanation(const hsc_event *e) {
  return e->category == HSC_CATEGORY_FRAMEWORK && e->kind == HSC_RECORD_INSTANT &&
         !strcmp(e->name, "tracing cache miss");
}

// The framework knows why it traced; the programs show what came of it.
static hsc_status *put_framework_first(hsc__view_context *cx, const char *told, hsc_bytes *why) {
  static const char again[] = "compiled again: ";
  if (!told || !*told)
    return NULL;
  const char *found = hsc_bytes_text(why);
  if (!strncmp(found, again, sizeof again - 1))
    found += sizeof again - 1;
  found = hsc_arena_strdup(cx->arena, found);
  if (!found)
    return hsc_status_out_of_memory();
  hsc_bytes_reset(why);
  hsc_bytes_printf(why, "compiled again: JAX: %s. The programs: %s", told, found);
  return hsc_bytes_status(why);
}

hsc_status *hsc__view_recompiles(hsc__view_context *cx) {
  ledger l = {0};
  hsc_bytes why = {0};
  double lost[COMPILE_KINDS] = {0};
  int64_t counts[COMPILE_KINDS] = {0};
  hsc__series_set names = {0};
  hsc__series_set programs = {0};
  hsc__series_set told_why = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc__series_set_init(&names, cx->arena));
  HSC_GOTO(hsc__series_set_init(&programs, cx->arena));
  HSC_GOTO(hsc__series_set_init(&told_why, cx->arena));
  l = (ledger){.processes = HSC_NEW_ARRAY(cx->arena, int32_t, MAX_LEDGER_PROGRAMS),
               .names = HSC_NEW_ARRAY(cx->arena, const char *, MAX_LEDGER_PROGRAMS),
               .modules = HSC_NEW_ARRAY(cx->arena, hsc_module *, MAX_LEDGER_PROGRAMS)};
  if (!l.processes || !l.names || !l.modules)
    HSC_GOTO(hsc_status_out_of_memory());
  hsc_table_column(cx->table, "start", "ns");
  hsc_table_column(cx->table, "executable", "");
  hsc_table_column(cx->table, "compile", "ns");
  hsc_table_column(cx->table, "times", "count");
  hsc_table_column(cx->table, "why", "");
  hsc_table_column(cx->table, "program", "");
  hsc_table_column(cx->table, "program_bytes", "bytes");
  hsc_table_column(cx->table, "kind", "");
  const hsc_event *events = hsc_capture_events(cx->capture);
  for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
    const hsc_event *e = &events[i];
    if (is_explanation(e)) {
      hsc__series *of =
          hsc__series_get(&told_why, (uint32_t)e->process + 1, hsc__attr_text(cx, e, "executable"));
      if (!of)
        HSC_GOTO(hsc_status_out_of_memory());
      of->extra = (int64_t)(uintptr_t)hsc__attr_text(cx, e, "why");
      continue;
    }
    const char *program = e->category == HSC_CATEGORY_COMPILE && hsc_event_is_span(e)
                              ? hsc__attr_text(cx, e, "program")
                              : "";
    if (!*program)
      continue;
    const char *name = hsc__attr_text(cx, e, "executable");
    const char *error = hsc__attr_text(cx, e, "error");
    const char *plain = *name ? plain_name(cx, name) : "(failed)";
    // Series of a process are those of the category that has its number; 0 are those of all.
    hsc__series *by_name = hsc__series_get(&names, (uint32_t)e->process + 1, plain);
    hsc__series *here = hsc__series_get(&programs, (uint32_t)e->process + 1, program);
    hsc__series *anywhere = hsc__series_get(&programs, 0, program);
    if (!by_name || !here || !anywhere || !hsc__series_add(by_name, (double)e->duration_ns))
      HSC_GOTO(hsc_status_out_of_memory());
    compilation c = {e,
                     program,
                     plain,
                     hsc__attr_text(cx, e, "options"),
                     (const char *)(uintptr_t)here->extra,
                     by_name->count == 1,
                     anywhere->extra != 0};
    // where the text is: not NULL
    here->extra = anywhere->extra = (int64_t)(uintptr_t)c.options;
    compile_kind kind = explain(cx, &l, &c, &why);
    hsc__series *of = hsc__series_get(&told_why, (uint32_t)e->process + 1, plain);
    if (!of)
      HSC_GOTO(hsc_status_out_of_memory());
    const char *told = (const char *)(uintptr_t)of->extra;
    if (kind == COMPILE_CHANGED && told && !strcmp(told, "a function that it has not seen")) {
      kind = COMPILE_NAMESAKE;
      hsc_bytes_reset(&why);
      hsc_bytes_append_text(&why, "another function of the same name");
    } else if (kind != COMPILE_FIRST) {
      HSC_GOTO(put_framework_first(cx, told, &why));
    }
    of->extra = 0;  // it was of this compilation
    counts[kind]++;
    lost[kind] += (double)e->duration_ns;
    if (!hsc__room(cx))
      continue;
    hsc_table_row(cx->table);
    hsc_table_int(cx->table, e->start_ns);
    hsc_table_text(cx->table, name);
    hsc_table_int(cx->table, e->duration_ns);
    hsc_table_int(cx->table, (int64_t)by_name->count);
    hsc_table_text(cx->table, e->open  ? "was still compiling at the end"
                              : *error ? error
                                       : hsc_bytes_text(&why));
    hsc_table_text(cx->table, program);
    hsc_table_int(cx->table, hsc__attr_int(cx, e, "program_bytes", 0));
    hsc_table_text(cx->table, compile_kinds[kind]);
  }
  static const char *const kind_texts[COMPILE_KINDS] = {
      NULL,
      "again: the same program once more",
      "changed: a function that was compiled before, for other shapes, constants or options",
      "namesake: another function of a name that was there",
      "eager: an operation outside of jit, for other shapes",
      "process: a program that an earlier process had compiled; a persistent compilation cache "
      "keeps it"};
  for (int k = 0; k < COMPILE_KINDS; k++) {
    char text[32];
    hsc_format_quantity(lost[k], "ns", false, text);
    if (kind_texts[k] && counts[k])
      hsc_table_note(cx->table, "%lld compilation%s cost %s (%s)", (long long)counts[k],
                     counts[k] == 1 ? "" : "s", text, kind_texts[k]);
  }
done:
  for (int i = 0; i < l.count; i++)
    hsc_module_destroy(l.modules[i]);
  hsc_bytes_deinit(&why);
  hsc__series_set_deinit(&names);
  hsc__series_set_deinit(&programs);
  hsc__series_set_deinit(&told_why);
  return status;
}

hsc_status *hsc__view_memory(hsc__view_context *cx) {
  hsc_table_column(cx->table, "process", "");
  hsc_table_column(cx->table, "counter", "");
  hsc_table_column(cx->table, "samples", "count");
  hsc_table_column(cx->table, "peak", "bytes");
  hsc_table_column(cx->table, "peak at", "ns");
  hsc_table_column(cx->table, "last", "bytes");
  const hsc_event *events = hsc_capture_events(cx->capture);
  for (int p = 0; p < hsc_capture_process_count(cx->capture); p++) {
    double peak = -1;
    double last = 0;
    int64_t at = 0;
    int64_t samples = 0;
    const char *name = "";
    for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
      const hsc_event *e = &events[i];
      if (e->kind != HSC_RECORD_COUNTER || e->process != p || e->category != HSC_CATEGORY_MEMORY)
        continue;
      memcpy(&last, &e->value, sizeof last);
      name = e->name;
      samples++;
      if (last > peak) {
        peak = last;
        at = e->start_ns;
      }
    }
    if (!samples)
      continue;
    hsc_table_row(cx->table);
    hsc_table_int(cx->table, hsc_capture_process_at(cx->capture, p)->pid);
    hsc_table_text(cx->table, name);
    hsc_table_int(cx->table, samples);
    hsc_table_double(cx->table, peak);
    hsc_table_int(cx->table, at);
    hsc_table_double(cx->table, last);
  }
  return NULL;
}

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
