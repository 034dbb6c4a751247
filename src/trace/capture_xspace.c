// capture_xspace.c - a profile (XSpace) as a capture, so that every sink can write it: planes are
// processes, lines are threads, stats are attributes.
//
// What an operator is by its metadata (flops, category, framework name) is shared by all its
// events; an event's own stats follow them. Bytes and packed texts are left out: no sink shows
// them.
#include <math.h>
#include <unistd.h>

#include "trace/capture_internal.h"
#include "trace/xspace.h"

typedef struct builder {
  hsc_capture *capture;
  hsc_arena *arena;  // the capture's
  const hsc_xplane *plane;
  hsc__ring *ring;
  uint32_t string_room;
  hsc_map *texts;  // text -> number, of the plane
  // time of lines that count from the profile's begin is 0; of others the epoch's
  int64_t zero_ns;
  uint64_t next_span;
} builder;

// Names of stats have the numbers 1 to stat_meta_count; texts follow.
static uint32_t text_number(builder *b, hsc_view text) {
  uint32_t number = (uint32_t)(uintptr_t)hsc_map_get(b->texts, text);
  if (number)
    return number;
  if (!HSC_GROW_IN(b->arena, b->ring->strings, b->ring->string_count, b->string_room))
    return 0;
  char *copy = hsc_arena_strndup(b->arena, text.data ? text.data : "", text.size);
  if (!copy)
    return 0;
  hsc_status *status =
      hsc_map_put(b->texts, (hsc_view){copy, text.size}, (void *)(uintptr_t)b->ring->string_count);
  if (status) {
    hsc_status_free(status);
    return 0;
  }
  b->ring->strings[b->ring->string_count] = copy;
  return b->ring->string_count++;
}

enum { MAX_STATS = 64 };

// The stats of a message as attributes in `out`; their number. A reference (HSC_XSTAT_REF) is a
// text that the plane keeps once, as the name of a stat's metadata: it has a number already.
static int read_attrs(builder *b, hsc_view message, uint32_t field, hsc_trace_attr out[MAX_STATS]) {
  int count = 0;
  hsc_xstat_cursor at = hsc_xstats_of(message, field);
  for (hsc_xstat stat; count < MAX_STATS && hsc_xstat_next(&at, &stat);) {
    const hsc_xstat_meta *meta = hsc_xplane_stat_meta(b->plane, stat.metadata_id);
    if (!meta)
      continue;
    hsc_trace_attr a = {.key = (uint32_t)(meta - b->plane->stat_metas) + 1};
    switch (stat.kind) {
      case HSC_XSTAT_DOUBLE:
        a.type = HSC_ATTR_DOUBLE;
        a.value.d = stat.d;
        break;
      case HSC_XSTAT_UINT:
        a.type = HSC_ATTR_UINT;
        a.value.u = stat.u;
        break;
      case HSC_XSTAT_INT:
        a.type = HSC_ATTR_INT;
        a.value.i = stat.i;
        break;
      case HSC_XSTAT_TEXT:
        a.type = HSC_ATTR_STRING;
        a.value.string = text_number(b, stat.bytes);
        break;
      case HSC_XSTAT_REF: {
        const hsc_xstat_meta *named = hsc_xplane_stat_meta(b->plane, (int64_t)stat.u);
        if (!named)
          continue;
        a.type = HSC_ATTR_STRING;
        a.value.string = (uint64_t)(named - b->plane->stat_metas) + 1;
        break;
      }
      default:
        continue;
    }
    out[count++] = a;
  }
  return count;
}

static const hsc_trace_attr *keep_attrs(builder *b, const hsc_trace_attr *attrs, int count) {
  if (!count)
    return NULL;
  hsc_trace_attr *kept = HSC_NEW_ARRAY(b->arena, hsc_trace_attr, (size_t)count);
  if (kept)
    memcpy(kept, attrs, (size_t)count * sizeof *kept);
  return kept;
}

// What is known of a metadata once its first event was seen.
typedef struct known_meta {
  const char *name;
  const hsc_trace_attr *attrs;
  uint8_t attr_count;
  uint32_t category;  // by the name
} known_meta;

// The stats of the metadata become attributes here, once for all events that share it.
static hsc_status *know(builder *b, const hsc_xevent_meta *meta, known_meta *k) {
  hsc_view name = hsc__short_op_name(meta->display_name.size ? meta->display_name : meta->name);
  hsc_trace_attr attrs[MAX_STATS];
  int count = meta->has_stats ? read_attrs(b, meta->message, HSC_XEVENT_META_STATS, attrs) : 0;
  k->attrs = keep_attrs(b, attrs, count);
  k->attr_count = k->attrs ? (uint8_t)count : 0;
  k->category = hsc__host_event_category(meta->name);
  k->name = hsc_arena_strndup(b->arena, name.data ? name.data : "", name.size);
  return k->name ? NULL : hsc_status_out_of_memory();
}

static int64_t time_of(const builder *b, const hsc_xline *line, int64_t offset_ps) {
  return hsc__xline_time(line, offset_ps, -(__int128)b->zero_ns);
}

static hsc_status *add_line(
    builder *b, const hsc_xline *line, bool is_device, int process, known_meta *known) {
  hsc_view line_name = line->display_name.size ? line->display_name : line->name;
  bool ops = is_device && hsc_view_equals_text(line->name, "XLA Ops");
  bool runs = is_device && hsc_view_equals_text(line->name, "XLA Modules");
  bool counters = hsc_view_equals_text(line->name, "_counters_");
  int64_t id_hlo_op = hsc_xplane_stat_id(b->plane, "hlo_op");
  hsc_capture_thread thread = {
      .process = process,
      .tid = line->id,
      .name = hsc_arena_strndup(b->arena, line_name.data ? line_name.data : "", line_name.size)};
  if (!thread.name)
    return hsc_status_out_of_memory();
  int number = hsc_capture_thread_count(b->capture);
  hsc_bytes_append(&b->capture->threads, &thread, sizeof thread);
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent e; hsc_xevent_next(&at, &e);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(b->plane, e.metadata_id);
    known_meta nameless = {.name = "", .category = HSC_CATEGORY_FRAMEWORK};
    known_meta *k = meta ? &known[meta - b->plane->event_metas] : &nameless;
    if (!k->name)
      HSC_TRY(know(b, meta, k));
    hsc_trace_attr own[MAX_STATS];
    int own_count = e.has_stats ? read_attrs(b, e.message, HSC_XEVENT_STATS, own) : 0;
    bool is_op = ops;
    for (int i = 0; i < own_count && id_hlo_op >= 0 && !is_op; i++)
      is_op = b->plane->stat_metas[own[i].key - 1].id == id_hlo_op;
    hsc_event event = {.kind = HSC_RECORD_COMPLETE,
                       .process = process,
                       .thread = number,
                       .name = k->name,
                       .start_ns = time_of(b, line, e.offset_ps),
                       .duration_ns = e.duration_ps > 0 ? e.duration_ps / 1000 : 0,
                       .span = b->next_span++,
                       .attrs = k->attrs,
                       .attr_count = k->attr_count};
    if (event.duration_ns > (int64_t)1 << 59)
      event.duration_ns = (int64_t)1 << 59;
    if (is_op)
      event.category = HSC_CATEGORY_OPERATOR;
    else if (runs)
      event.category = HSC_CATEGORY_EXECUTE;
    else if (is_device)
      event.category = HSC_CATEGORY_RUNTIME;
    else if (k->category)
      event.category = k->category;
    else
      event.category = HSC_CATEGORY_FRAMEWORK;
    event.end_attrs = keep_attrs(b, own, own_count);
    event.end_attr_count = event.end_attrs ? (uint8_t)own_count : 0;
    if (counters && own_count) {
      double value;
      if (own[0].type == HSC_ATTR_DOUBLE)
        value = own[0].value.d;
      else if (own[0].type == HSC_ATTR_STRING)
        value = NAN;
      else
        value = (double)own[0].value.i;
      event.kind = HSC_RECORD_COUNTER;
      event.category = HSC_CATEGORY_MEMORY;
      memcpy(&event.value, &value, sizeof event.value);
    }
    hsc_bytes_append(&b->capture->events, &event, sizeof event);
  }
  return hsc_bytes_status(&b->capture->events);
}

static hsc_status *add_plane(builder *b,
                             const hsc_xspace *space,
                             const hsc_xplane *plane,
                             int process) {
  b->plane = plane;
  b->ring = &b->capture->rings[process];
  b->string_room = b->ring->string_count = 0;
  hsc_capture_process *p = &b->capture->processes[process];
  hsc_view shown = hsc_xplane_shown_name(plane);
  p->label = hsc_arena_strndup(b->arena, shown.data ? shown.data : "", shown.size);
  p->command = "";
  p->host = space->hostname_count
                ? hsc_arena_strndup(b->arena, space->hostnames[0].data, space->hostnames[0].size)
                : "";
  p->clock_error_ns = -1;
  p->pid = process + 1;
  p->shown_as = process;
  p->closed = true;
  if (!p->label || !p->host)
    return hsc_status_out_of_memory();
  known_meta *known = hsc_alloc(((size_t)plane->event_meta_count + 1) * sizeof *known);
  hsc_status *status = known ? hsc_map_create(&b->texts) : hsc_status_out_of_memory();
  // Number 0 is "", and every stat has its own number even where two have one name.
  uint32_t names = (uint32_t)plane->stat_meta_count + 1;
  b->ring->strings = status ? NULL : HSC_NEW_ARRAY(b->arena, const char *, names);
  if (!status && !b->ring->strings)
    status = hsc_status_out_of_memory();
  for (uint32_t i = 0; i < names && !status; i++) {
    hsc_view name = i ? plane->stat_metas[i - 1].name : (hsc_view){0};
    b->ring->strings[i] = hsc_arena_strndup(b->arena, name.data ? name.data : "", name.size);
    if (!b->ring->strings[i])
      status = hsc_status_out_of_memory();
  }
  b->ring->string_count = b->string_room = names;
  bool is_device = plane->name.size > 8 && !memcmp(plane->name.data, "/device:", 8);
  for (int32_t l = 0; l < plane->line_count && !status; l++)
    status = add_line(b, &plane->lines[l], is_device, process, known);
  hsc_map_destroy(b->texts);
  b->texts = NULL;
  hsc_free(known);
  return status;
}

static hsc_status *add_space(builder *b, const hsc_xspace *space, int *process) {
  if (space->damage)
    hsc_bytes_printf(&b->capture->notes, "%s: %s\n", space->path, space->damage);
  const int64_t a_year = (int64_t)365 * 24 * 3600 * 1000000000;
  int64_t first = INT64_MAX;
  int64_t start = 0;
  for (int32_t p = 0; p < space->plane_count; p++)
    for (int32_t l = 0; l < space->planes[p].line_count; l++)
      if (space->planes[p].lines[l].timestamp_ns < first)
        first = space->planes[p].lines[l].timestamp_ns;
  const hsc_xplane *task = hsc_xspace_plane(space, "Task Environment");
  hsc_xstat stat;
  if (task && hsc_xstat_find(task->message, HSC_XPLANE_STATS,
                             hsc_xplane_stat_id(task, "profile_start_time"), &stat))
    start = hsc_xstat_int(&stat);
  bool absolute = first != INT64_MAX && first > a_year;
  if (!b->capture->base_wall_ns)
    b->capture->base_wall_ns = absolute ? first : start;
  b->zero_ns = absolute ? b->capture->base_wall_ns : 0;
  hsc_status *status = NULL;
  for (int32_t p = 0; p < space->plane_count && !status; p++)
    if (space->planes[p].line_count)
      status = add_plane(b, space, &space->planes[p], (*process)++);
  return status;
}

hsc_status *hsc_capture_of_profile(const char *path, hsc_capture **out_capture) {
  *out_capture = NULL;
  hsc_capture *capture = hsc_alloc(sizeof *capture);
  if (!capture)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  hsc_xspace **spaces = NULL;
  hsc_xspace_files files = {0};
  int planes = 0;
  int process = 0;
  HSC_GOTO(hsc_arena_create(&capture->arena));
  capture->path = hsc_arena_strdup(capture->arena, path);
  HSC_GOTO(hsc_xspace_find(path, capture->arena, &files));
  if (files.note)
    hsc_bytes_printf(&capture->notes, "%s\n", files.note);
  spaces = HSC_NEW_ARRAY(capture->arena, hsc_xspace *, (size_t)files.count + 1);
  if (!spaces)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int32_t i = 0; i < files.count; i++) {
    HSC_GOTO(hsc_xspace_open(files.paths[i], &spaces[i]));
    for (int32_t p = 0; p < spaces[i]->plane_count; p++)
      planes += spaces[i]->planes[p].line_count > 0;
  }
  capture->rings = hsc_alloc(((size_t)planes + 1) * sizeof *capture->rings);
  capture->processes = HSC_NEW_ARRAY(capture->arena, hsc_capture_process, (size_t)planes + 1);
  if (!capture->rings || !capture->processes)
    HSC_GOTO(hsc_status_out_of_memory());
  capture->ring_count = capture->ring_capacity = planes;
  builder b = {.capture = capture, .arena = capture->arena, .next_span = 1};
  for (int32_t i = 0; i < files.count; i++)
    HSC_GOTO(add_space(&b, spaces[i], &process));
  HSC_GOTO(hsc_bytes_status(&capture->threads));
  HSC_GOTO(hsc__capture_put_in_order(capture));
  HSC_GOTO(hsc_arena_status(capture->arena));
  *out_capture = capture;
  capture = NULL;
done:
  for (int32_t i = 0; spaces && i < files.count; i++)
    hsc_xspace_close(spaces[i]);
  hsc_capture_close(capture);
  return status;
}
