// capture_profile.c - what profilers wrote beside the rings, as events of the same time line.
//
// `hloscope trace` asks the profiler of a device (or JAX's, for XLA:CPU, which is no plugin) for
// the first part of a run. Its XSpace lies in DIR/profiles/PID-K.xplane.pb. From it come the
// operators (events with a stat hlo_op, lines "XLA Ops"), what the compiler and the framework did
// on the host, and, where the tracer saw no device (XLA:CPU), the runs of programs: from the first
// to the last operator of one run id, joined with the calls that the tracer recorded, by name and
// order.
// Clocks: an XSpace counts from an epoch of its own, told in its plane "Task Environment" by the
// wall clock. The tracer records an instant "profile" with the wall clock of that moment; its place
// on the capture's time line carries the profile's events over.
#include <dirent.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "base/text/view_find.h"
#include "trace/capture_internal.h"
#include "trace/xspace.h"

enum { UNTOLD_DEVICE = -1 };  // the profile does not say which of the devices

typedef struct pending_run {
  int64_t id, start_ns, end_ns;
  const char *program;
  int64_t device;  // its number, or UNTOLD_DEVICE
} pending_run;

typedef struct merge {
  hsc_capture *capture;
  int process;
  hsc__ring *ring;
  hsc_xspace *space;
  int64_t start_ns, zero_ns;  // of the profile's time and of the capture's, since the epoch
  // when the session began, on the capture's time line; INT64_MIN = not reported
  int64_t session_ns;
  bool wants_runs;
  hsc_map *runs;         // run id and program -> index + 1
  hsc_bytes run_list;    // of pending_run
  hsc_bytes unnumbered;  // of hsc__occurrence: operators that do not say of which run they are
  uint32_t string_capacity;
  uint32_t key_executable, key_run, key_program, key_category, key_op_name, run_name;
  hsc__op_facts *facts;
} merge;

// ---- strings of the process that are not in its ring --------------------------------------------

static uint32_t add_string(merge *m, const char *text) {
  hsc__ring *r = m->ring;
  if (!HSC_GROW_IN(m->capture->arena, r->strings, r->string_count, m->string_capacity))
    return 0;
  if (r->string_count == 0)
    r->string_count = 1;  // number 0 is ""
  r->strings[r->string_count] = text;
  return r->string_count++;
}

static const char *keep(merge *m, hsc_view text) {
  return hsc_arena_strndup(m->capture->arena, text.data ? text.data : "", text.size);
}

// The number of a key: one that the ring has already is not given a second one, so that keys can be
// told by number.
static uint32_t find_string(merge *m, const char *text) {
  for (uint32_t i = 1; i < m->ring->string_count; i++)
    if (m->ring->strings[i] && !strcmp(m->ring->strings[i], text))
      return i;
  return add_string(m, text);
}

static hsc_trace_attr text_attr(uint32_t key, uint32_t string) {
  return (hsc_trace_attr){.key = key, .type = HSC_ATTR_STRING, .value.string = string};
}
static hsc_trace_attr int_attr(uint32_t key, int64_t value) {
  return (hsc_trace_attr){.key = key, .type = HSC_ATTR_INT, .value.i = value};
}

static void add_event(merge *m,
                      hsc_category category,
                      int thread,
                      const char *name,
                      int64_t start_ns,
                      int64_t duration_ns,
                      const hsc_trace_attr *attrs,
                      int attr_count) {
  hsc_event event = {.kind = HSC_RECORD_COMPLETE,
                     .attr_count = (uint8_t)attr_count,
                     .category = category,
                     .process = m->process,
                     .thread = thread,
                     .name = name,
                     .start_ns = start_ns,
                     .duration_ns = duration_ns,
                     .attrs = attrs};
  hsc_bytes_append(&m->capture->events, &event, sizeof event);
}

// ---- what an event's name says ------------------------------------------------------------------

uint32_t hsc__host_event_category(hsc_view name) {
  enum {
    ACT_TRANSFER = HSC_CATEGORY_TRANSFER,
    ACT_COMPILE = HSC_CATEGORY_PASS,
    ACT_IDLE = HSC_CATEGORY_WAIT
  };
  enum { SECTION_NONE, SECTION_CONTROL, SECTION_TRANSFER };
  static const struct {
    const char *part;
    uint32_t category, section;
  } rows[] = {
#define HOST_EVENT(part, activity, section) {part, ACT_##activity, SECTION_##section},
#include "trace/host_events.def"
#undef HOST_EVENT
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++)
    if (hsc_view_find(name, rows[i].part))
      return rows[i].section == SECTION_NONE ? 0 : rows[i].category;
  return HSC_CATEGORY_FRAMEWORK;
}

hsc_view hsc__short_op_name(hsc_view name) {
  if (!name.size || name.data[0] != '%')
    return name;
  size_t end = 1;
  while (end < name.size && name.data[end] != ' ')
    end++;
  return (hsc_view){name.data + 1, end - 1};
}

// Threads of XLA's compiler do nothing but compile.
static bool is_compiler_line(hsc_view name) {
  return hsc_view_find(name, "Compiler") || hsc_view_find(name, "codegen");
}

// ---- lines --------------------------------------------------------------------------------------

// An event's name; several programs may have operators of one name, each with attributes of its
// own.
typedef struct op_of_program {
  struct op_of_program *next;
  // executable, program_id; then category and op_name, where the program says them
  hsc_trace_attr attrs[4];
  int attr_count;
  const char *program;
} op_of_program;

typedef struct op_key {
  const char *name;
  op_of_program *programs;
  uint32_t category;  // where it is no operator
} op_key;

// A damaged profile may hold any number: times stay within 18 years of the capture, so that sums do
// not overflow.
static int64_t bounded(int64_t ns) {
  const int64_t limit = (int64_t)1 << 59;
  return ns > limit ? limit : ns;
}

static int64_t time_of(const merge *m, const hsc_xline *line, int64_t offset_ps) {
  return hsc__xline_time(line, offset_ps, (__int128)m->start_ns - m->zero_ns);
}

static void note_run(
    merge *m, int64_t id, const char *program, int64_t device, int64_t start_ns, int64_t end_ns) {
  char text[192];
  int size =
      snprintf(text, sizeof text, "%lld/%lld/%.150s", (long long)id, (long long)device, program);
  hsc_view key = {text, (size_t)size};
  size_t at = (size_t)(uintptr_t)hsc_map_get(m->runs, key);
  if (at) {
    pending_run *run = (pending_run *)m->run_list.data + at - 1;
    if (start_ns < run->start_ns)
      run->start_ns = start_ns;
    if (end_ns > run->end_ns)
      run->end_ns = end_ns;
    return;
  }
  pending_run run = {id, start_ns, end_ns, program, device};
  hsc_bytes_append(&m->run_list, &run, sizeof run);
  char *kept = hsc_arena_strndup(m->capture->arena, text, key.size);
  hsc_status *status = kept ? hsc_map_put(m->runs, (hsc_view){kept, key.size},
                                          (void *)(uintptr_t)(m->run_list.size / sizeof run))
                            : hsc_status_out_of_memory();
  if (status) {
    m->run_list.failed = true;
    hsc_status_free(status);
  }
}

typedef struct stat_ids {
  int64_t hlo_op, hlo_module, program_id, run_id, ordinal;
} stat_ids;

typedef struct op_stats {
  hsc_view op, module;
  int64_t program_id, run_id, ordinal;
  bool has_run;
} op_stats;

static op_stats read_stats(const hsc_xplane *plane,
                           const stat_ids *ids,
                           hsc_view message,
                           uint32_t field) {
  op_stats out = {0};
  hsc_xstat_cursor at = hsc_xstats_of(message, field);
  for (hsc_xstat stat; hsc_xstat_next(&at, &stat);) {
    if (stat.metadata_id == ids->hlo_op)
      out.op = hsc_xstat_text(plane, &stat);
    else if (stat.metadata_id == ids->hlo_module)
      out.module = hsc_xstat_text(plane, &stat);
    else if (stat.metadata_id == ids->program_id)
      out.program_id = hsc_xstat_int(&stat);
    else if (stat.metadata_id == ids->run_id) {
      out.run_id = hsc_xstat_int(&stat);
      out.has_run = true;
    } else if (stat.metadata_id == ids->ordinal)
      out.ordinal = hsc_xstat_int(&stat);
  }
  return out;
}

// The name of a program, from the profile's list of them ("jit_f(38)").
static hsc_view module_of_program(const merge *m, int64_t program_id) {
  const hsc_xplane *programs = hsc_xspace_plane(m->space, "/host:metadata");
  const hsc_xevent_meta *meta = programs ? hsc_xplane_event_meta(programs, program_id) : NULL;
  hsc_view name = meta ? meta->name : (hsc_view){0};
  size_t open = name.size;
  while (open > 0 && name.data[open - 1] != '(')
    open--;
  return open > 1 ? (hsc_view){name.data, open - 1} : name;
}

// Attributes are shared by all events of one operator of a program. NULL when memory ran out.
static const op_of_program *op_of(merge *m, op_key *op, const op_stats *stats) {
  hsc_view module = stats->module.size ? stats->module : module_of_program(m, stats->program_id);
  // XLA:CPU's are called as the hook calls them: older JAX ends names in underscores
  while (m->wants_runs && module.size > 1 && module.data[module.size - 1] == '_')
    module.size--;
  for (op_of_program *p = op->programs; p; p = p->next)
    if (p->attrs[1].value.i == stats->program_id && hsc_view_equals_text(module, p->program))
      return p;
  op_of_program *made = HSC_NEW(m->capture->arena, op_of_program);
  const char *program = keep(m, module);
  if (!made || !program)
    return NULL;
  made->program = program;
  made->attrs[0] = text_attr(m->key_executable, add_string(m, program));
  made->attrs[1] = int_attr(m->key_program, stats->program_id);
  made->attr_count = 2;
  hsc__op_fact fact = hsc__op_facts_of(m->facts, stats->program_id, op->name);
  if (fact.category)
    made->attrs[made->attr_count++] = text_attr(m->key_category, add_string(m, fact.category));
  if (fact.op_name)
    made->attrs[made->attr_count++] = text_attr(m->key_op_name, add_string(m, fact.op_name));
  made->next = op->programs;
  return op->programs = made;
}

// "cuda:0" of "/device:cuda:0".
static hsc_view device_name(const hsc_xplane *plane) {
  hsc_view name = hsc_xplane_shown_name(plane);
  const size_t prefix = strlen("/device:");
  if (name.size > prefix && !memcmp(name.data, "/device:", prefix))
    return (hsc_view){name.data + prefix, name.size - prefix};
  return name;
}

// A line of a plane while its events are added.
typedef struct line_reading {
  const hsc_xplane *plane;
  const hsc_xline *line;
  hsc_view name;
  const stat_ids *ids;
  op_key *ops;  // [plane->event_meta_count]
  bool is_device;
  bool all_ops;   // every event is an operator, whether its stats say so or not
  bool compiler;  // a thread that does nothing but compile
  int thread;     // of the capture; -1 until the first event is worth one
  int64_t compiling_until_ns;
} line_reading;

// What an event's metadata says, read once for all events that share it.
static hsc_status *name_op(merge *m,
                           const line_reading *l,
                           const hsc_xevent_meta *meta,
                           op_key *op) {
  if (op->name)
    return NULL;
  hsc_view name = meta->display_name.size ? meta->display_name : meta->name;
  op->name = keep(m, hsc__short_op_name(name));
  op->category = l->compiler ? HSC_CATEGORY_PASS : hsc__host_event_category(name);
  return op->name ? NULL : hsc_status_out_of_memory();
}

static int thread_of(merge *m, line_reading *l) {
  if (l->thread >= 0)
    return l->thread;
  hsc_view of = l->is_device ? device_name(l->plane) : l->name;
  const char *name =
      hsc_arena_printf(m->capture->arena, "%s%.*s%s", l->is_device ? "" : "profile: ", (int)of.size,
                       of.data, l->is_device ? " operators" : "");
  l->thread = hsc__capture_thread(m->capture, m->process, 0, name);
  return l->thread;
}

// On a line of XLA:CPU every event says its program; on a device's line the metadata says it once.
static hsc_status *add_operator(merge *m,
                                line_reading *l,
                                const hsc_xevent_meta *meta,
                                op_key *op,
                                const op_stats *stats,
                                int64_t start,
                                int64_t duration) {
  if (!stats->op.size && !op->programs) {
    op_stats told = read_stats(l->plane, l->ids, meta->message, HSC_XEVENT_META_STATS);
    if (!op_of(m, op, &told))
      return hsc_status_out_of_memory();
  }
  const op_of_program *of = stats->op.size ? op_of(m, op, stats) : op->programs;
  if (!of)
    return hsc_status_out_of_memory();
  add_event(m, HSC_CATEGORY_OPERATOR, thread_of(m, l), op->name, start, duration, of->attrs,
            of->attr_count);
  if (m->wants_runs && stats->has_run) {
    note_run(m, stats->run_id, of->program, stats->ordinal, start, start + duration);
  } else if (m->wants_runs) {
    hsc__occurrence o = {stats->program_id, of->program, op->name, start, start + duration, -1};
    hsc_bytes_append(&m->unnumbered, &o, sizeof o);
  }
  return NULL;
}

// jaxlib before 0.5 compiles on the thread that calls it: what lies inside a compilation is the
// compiler's, whatever its name, as far as it comes after the compilation in the line.
static void add_host_event(
    merge *m, line_reading *l, const op_key *op, int64_t start, int64_t duration) {
  uint32_t category = op->category;
  if (category == HSC_CATEGORY_PASS && start + duration > l->compiling_until_ns)
    l->compiling_until_ns = start + duration;
  else if (category == HSC_CATEGORY_FRAMEWORK && start + duration <= l->compiling_until_ns)
    category = HSC_CATEGORY_PASS;
  add_event(m, (hsc_category)category, thread_of(m, l), op->name, start, duration, NULL, 0);
}

static hsc_status *add_line(merge *m, line_reading *l) {
  hsc_xevent_cursor at = hsc_xline_events(l->line);
  for (hsc_xevent e; hsc_xevent_next(&at, &e);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(l->plane, e.metadata_id);
    if (!meta || e.duration_ps <= 0)
      continue;
    op_key *op = &l->ops[meta - l->plane->event_metas];
    op_stats stats = {0};
    if (e.has_stats && l->ids->hlo_op >= 0)
      stats = read_stats(l->plane, l->ids, e.message, HSC_XEVENT_STATS);
    HSC_TRY(name_op(m, l, meta, op));
    int64_t start = time_of(m, l->line, e.offset_ps);
    int64_t duration = bounded(e.duration_ps / 1000);
    if (l->all_ops || stats.op.size)
      HSC_TRY(add_operator(m, l, meta, op, &stats, start, duration));
    else if (op->category)
      add_host_event(m, l, op, start, duration);
  }
  return hsc_bytes_status(&m->capture->events);
}

static hsc_status *add_plane(merge *m, const hsc_xplane *plane) {
  bool is_device = plane->name.size > 8 && !memcmp(plane->name.data, "/device:", 8) &&
                   !(plane->name.size > 15 && !memcmp(plane->name.data, "/device:CUSTOM:", 15));
  op_key *ops = hsc_alloc(((size_t)plane->event_meta_count + 1) * sizeof *ops);
  if (!ops)
    return hsc_status_out_of_memory();
  stat_ids ids = {hsc_xplane_stat_id(plane, "hlo_op"), hsc_xplane_stat_id(plane, "hlo_module"),
                  hsc_xplane_stat_id(plane, "program_id"), hsc_xplane_stat_id(plane, "run_id"),
                  hsc_xplane_stat_id(plane, "device_ordinal")};
  hsc_status *status = NULL;
  for (int32_t i = 0; i < plane->line_count && !status; i++) {
    const hsc_xline *line = &plane->lines[i];
    hsc_view name = line->display_name.size ? line->display_name : line->name;
    line_reading l = {.plane = plane,
                      .line = line,
                      .name = name,
                      .ids = &ids,
                      .ops = ops,
                      .is_device = is_device,
                      .all_ops = is_device && hsc_view_equals_text(line->name, "XLA Ops"),
                      .compiler = is_compiler_line(name),
                      .thread = -1,
                      .compiling_until_ns = INT64_MIN};
    // a device's steps and program runs are made of the tracer's own events
    if (!is_device || l.all_ops)
      status = add_line(m, &l);
  }
  hsc_free(ops);
  return status;
}

// ---- runs and their calls -----------------------------------------------------------------------

static int by_start(const void *a, const void *b) {
  const pending_run *x = a;
  const pending_run *y = b;
  return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

typedef struct call_ref {
  hsc_event *event;
  const char *program;
  bool taken;
} call_ref;

static int by_call_start(const void *a, const void *b) {
  const call_ref *x = a;
  const call_ref *y = b;
  return x->event->start_ns < y->event->start_ns ? -1 : x->event->start_ns > y->event->start_ns;
}

static hsc_trace_attr *attr_of(const hsc_capture *capture, const hsc_event *e, const char *key) {
  return (hsc_trace_attr *)(uintptr_t)hsc_event_attr(capture, e, key);
}

// What the runs of one call share: the profiler's number and the program. In the arena.
static const char *call_key(merge *m, const pending_run *run) {
  return hsc_arena_printf(m->capture->arena, "%lld/%s", (long long)run->id, run->program);
}

// Runs in order of their start take the earliest call of their program that began before them and
// has none yet: the device works in order. One call runs on every device that it is sharded over.
static hsc_status *join_calls(
    merge *m, pending_run *runs, size_t run_count, call_ref *calls, size_t call_count) {
  hsc_map *first_free = NULL;  // program -> index + 1 of its first call that may be free
  hsc_map *known = NULL;       // number and program -> index + 1 of the first run that it has
  HSC_TRY(hsc_map_create(&first_free));
  hsc_status *status = hsc_map_create(&known);
  for (size_t i = 0; i < run_count && !status; i++) {
    const char *key = call_key(m, &runs[i]);
    if (!key) {
      status = hsc_status_out_of_memory();
      break;
    }
    size_t first = (size_t)(uintptr_t)hsc_map_get(known, hsc_view_of(key));
    if (first && runs[first - 1].device != runs[i].device) {
      runs[i].id = runs[first - 1].id;
      continue;
    }
    status = hsc_map_put(known, hsc_view_of(key), (void *)(uintptr_t)(i + 1));
    if (status)
      break;
    hsc_view program = hsc_view_of(runs[i].program);
    size_t at = (size_t)(uintptr_t)hsc_map_get(first_free, program);
    if (at)
      at--;
    while (at < call_count && (calls[at].taken || strcmp(calls[at].program, runs[i].program)))
      at++;
    status = hsc_map_put(first_free, program, (void *)(uintptr_t)(at + 1));
    if (at == call_count || calls[at].event->start_ns > runs[i].start_ns)
      continue;
    calls[at].taken = true;
    // The tracer's own number for the call; the run gets the same.
    const hsc_trace_attr *number = attr_of(m->capture, calls[at].event, "run_id");
    if (number)
      runs[i].id = number->value.i;
  }
  hsc_map_destroy(first_free);
  hsc_map_destroy(known);
  return status;
}

// The runs of operators that do not say theirs. Their numbers are of one program each.
static hsc_status *number_runs(merge *m) {
  HSC_TRY(hsc_bytes_status(&m->unnumbered));
  hsc__occurrence *list = (hsc__occurrence *)m->unnumbered.data;
  size_t count = m->unnumbered.size / sizeof *list;
  HSC_TRY(hsc__number_occurrences(list, count));
  for (size_t i = 0; i < count; i++)
    if (list[i].run >= 0)
      note_run(m, (int64_t)((uint64_t)list[i].program_id << 32) + list[i].run, list[i].program,
               UNTOLD_DEVICE, list[i].start_ns, list[i].end_ns);
  return NULL;
}

static hsc_status *add_runs(merge *m) {
  HSC_TRY(number_runs(m));
  HSC_TRY(hsc_bytes_status(&m->run_list));
  pending_run *runs = (pending_run *)m->run_list.data;
  size_t run_count = m->run_list.size / sizeof *runs;
  size_t call_count = 0;
  if (!run_count)
    return NULL;
  qsort(runs, run_count, sizeof *runs, by_start);
  hsc_event *events = (hsc_event *)m->capture->events.data;
  size_t count = hsc_capture_event_count(m->capture);
  call_ref *calls = hsc_alloc((count + 1) * sizeof *calls);
  if (!calls)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++) {
    if (events[i].process != m->process || events[i].category != HSC_CATEGORY_EXECUTE ||
        events[i].kind != HSC_RECORD_BEGIN)
      continue;
    // belongs to an earlier session, or to none
    if (!events[i].open && events[i].start_ns + events[i].duration_ns < m->session_ns)
      continue;
    const hsc_trace_attr *name = attr_of(m->capture, &events[i], "executable");
    calls[call_count++] = (call_ref){
        &events[i],
        name && name->type == HSC_ATTR_STRING ? hsc__ring_string(m->ring, name->value.string) : "",
        false};
  }
  if (call_count)
    qsort(calls, call_count, sizeof *calls, by_call_start);
  hsc_status *status = join_calls(m, runs, run_count, calls, call_count);
  hsc_free(calls);
  HSC_TRY(status);
  for (size_t i = 0; i < run_count; i++) {
    hsc_trace_attr *attrs = HSC_NEW_ARRAY(m->capture->arena, hsc_trace_attr, 2);
    if (!attrs)
      return hsc_status_out_of_memory();
    attrs[0] = text_attr(m->key_executable, add_string(m, runs[i].program));
    attrs[1] = int_attr(m->key_run, runs[i].id);
    int thread = hsc__capture_thread(
        m->capture, m->process, 0,
        runs[i].device == UNTOLD_DEVICE
            ? "cpu"
            : hsc_arena_printf(m->capture->arena, "cpu:%lld", (long long)runs[i].device));
    add_event(m, HSC_CATEGORY_EXECUTE, thread, "run", runs[i].start_ns,
              runs[i].end_ns - runs[i].start_ns, attrs, 2);
  }
  return hsc_bytes_status(&m->capture->events);
}

// ---- files --------------------------------------------------------------------------------------

static bool plane_uint(const hsc_xplane *plane, const char *name, int64_t *out) {
  hsc_xstat stat;
  if (!plane ||
      !hsc_xstat_find(plane->message, HSC_XPLANE_STATS, hsc_xplane_stat_id(plane, name), &stat))
    return false;
  *out = hsc_xstat_int(&stat);
  return true;
}

// Where the profile's time 0 lies on the capture's time line.
static void find_origin(merge *m, const char *file) {
  const int64_t a_year = (int64_t)365 * 24 * 3600 * 1000000000;
  bool absolute = false;
  for (int32_t p = 0; p < m->space->plane_count; p++)
    for (int32_t l = 0; l < m->space->planes[p].line_count; l++)
      absolute |= m->space->planes[p].lines[l].timestamp_ns > a_year;
  int64_t start = 0;
  int64_t wall_at_zero = m->ring->wall_at_zero_ns;
  if (!absolute &&
      !plane_uint(hsc_xspace_plane(m->space, "Task Environment"), "profile_start_time", &start))
    start = wall_at_zero;
  const hsc_event *events = hsc_capture_events(m->capture);
  for (size_t i = 0; i < hsc_capture_event_count(m->capture); i++) {
    if (events[i].kind != HSC_RECORD_INSTANT || events[i].process != m->process)
      continue;
    const hsc_trace_attr *name = attr_of(m->capture, &events[i], "profile");
    const hsc_trace_attr *wall = attr_of(m->capture, &events[i], "wall_ns");
    if (!name || !wall || name->type != HSC_ATTR_STRING ||
        strcmp(hsc__ring_string(m->ring, name->value.string), file))
      continue;
    wall_at_zero = (int64_t)((uint64_t)wall->value.i - (uint64_t)events[i].start_ns);
    m->session_ns = events[i].start_ns;
  }
  m->start_ns = start;
  m->zero_ns = wall_at_zero;
}

static int process_of(const hsc_capture *capture, const char *file) {
  long long pid = strtoll(file, NULL, 10);
  for (int i = 0; i < capture->ring_count; i++)
    if (capture->processes[i].pid == pid && strstr(capture->processes[i].label, "pjrt tracer"))
      return i;
  for (int i = 0; i < capture->ring_count; i++)
    if (capture->processes[i].pid == pid)
      return i;
  return -1;
}

static bool has_device_runs(const hsc_capture *capture, int process) {
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++)
    if (events[i].process == process && events[i].category == HSC_CATEGORY_EXECUTE &&
        events[i].kind == HSC_RECORD_COMPLETE)
      return true;
  return false;
}

// The HLO of the programs of the profile. The number in a name ("jit_f(38)") counts: writers that
// put profiles together number their metadata anew.
static hsc_status *read_programs(merge *m) {
  HSC_TRY(hsc__op_facts_create(m->capture->arena, &m->facts));
  const hsc_xplane *plane = hsc_xspace_plane(m->space, "/host:metadata");
  int64_t hlo = plane ? hsc_xplane_stat_id(plane, "Hlo Proto") : -1;
  if (plane && hlo < 0)
    hlo = hsc_xplane_stat_id(plane, "hlo_proto");
  for (int32_t i = 0; hlo >= 0 && i < plane->event_meta_count; i++) {
    const hsc_xevent_meta *meta = &plane->event_metas[i];
    hsc_xstat stat;
    if (!hsc_xstat_find(meta->message, HSC_XEVENT_META_STATS, hlo, &stat) ||
        stat.kind != HSC_XSTAT_BYTES)
      continue;
    const char *name = hsc_arena_strndup(m->capture->arena, meta->name.data, meta->name.size);
    const char *open = name ? strrchr(name, '(') : NULL;
    HSC_TRY(hsc__op_facts_add(m->facts, open ? strtoll(open + 1, NULL, 10) : meta->id, stat.bytes));
  }
  return NULL;
}

static hsc_status *merge_file(merge *m, const char *path, const char *file) {
  HSC_TRY(hsc_xspace_open(path, &m->space));
  if (m->space->damage)
    hsc_bytes_printf(&m->capture->notes, "%s: %s\n", path, m->space->damage);
  m->ring = &m->capture->rings[m->process];
  find_origin(m, file);
  m->string_capacity = m->ring->string_count;
  m->key_executable = find_string(m, "executable");
  m->key_program = find_string(m, "program_id");
  m->key_run = find_string(m, "run_id");
  m->key_category = find_string(m, "category");
  m->key_op_name = find_string(m, "op_name");
  hsc_status *status = hsc_map_create(&m->runs);
  if (!status)
    status = read_programs(m);
  for (int32_t p = 0; p < m->space->plane_count && !status; p++)
    status = add_plane(m, &m->space->planes[p]);
  if (!status)
    status = add_runs(m);
  hsc_map_destroy(m->runs);
  hsc__op_facts_destroy(m->facts);
  hsc_bytes_deinit(&m->run_list);
  hsc_bytes_deinit(&m->unnumbered);
  hsc_xspace_close(m->space);
  return status;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

hsc_status *hsc__capture_merge_profiles(hsc_capture *capture) {
  char *directory_path = hsc_arena_printf(capture->arena, "%s/profiles", capture->path);
  DIR *directory = directory_path ? opendir(directory_path) : NULL;
  if (!directory)
    return NULL;
  hsc_bytes names = {0};
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (!hsc_ends_with(entry->d_name, ".xplane.pb"))
      continue;
    char *name = hsc_arena_strdup(capture->arena, entry->d_name);
    hsc_bytes_append(&names, &name, sizeof name);
  }
  closedir(directory);
  size_t count = names.size / sizeof(char *);
  if (count)
    qsort(names.data, count, sizeof(char *), compare_texts);
  bool *runs_wanted = count ? hsc_alloc((size_t)capture->ring_count * sizeof *runs_wanted) : NULL;
  // before any are added
  for (int i = 0; runs_wanted && i < capture->ring_count; i++)
    runs_wanted[i] = !has_device_runs(capture, i);
  hsc_status *status =
      count && !runs_wanted ? hsc_status_out_of_memory() : hsc_bytes_status(&names);
  for (size_t i = 0; i < count && !status; i++) {
    const char *name = ((char **)names.data)[i];
    const char *path = hsc_arena_printf(capture->arena, "%s/%s", directory_path, name);
    if (path && !hsc_file_is_regular(path))  // a pipe would be waited for
      continue;
    int process = process_of(capture, name);
    if (process < 0 || !path) {
      hsc_bytes_printf(
          &capture->notes,
          "%s/%s belongs to no process that was traced; hloscope tables reads it by itself\n",
          directory_path, name);
      continue;
    }
    merge m = {.capture = capture,
               .process = process,
               .session_ns = INT64_MIN,
               .wants_runs = runs_wanted[process]};
    status = merge_file(&m, path, name);
    if (!status || hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED)
      continue;
    hsc_bytes_printf(&capture->notes, "%s: %s\n", path, hsc_status_message(status));
    hsc_status_free(status);
    status = NULL;
  }
  hsc_free(runs_wanted);
  hsc_bytes_deinit(&names);
  return status;
}
