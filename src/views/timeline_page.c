// timeline_page.c - events gathered by lane, nested by their times, written as arrays.
//
// How to read: gather_capture and gather_profile make items of events, lane by lane; settle sorts
// and nests them and drops the shortest where there are too many; names_field and base64_field
// write what the page's script reads. hsc_timeline_slice writes what a stretch of time shows at a
// width in pixels, for the page that a server keeps open.
#include "views/timeline_page.h"

#include <math.h>
#include <stdlib.h>

#include "report/page.h"
#include "views/profile_internal.h"

enum { MAX_DEPTH = 255, SLICE_DEPTHS = 8 };  // as many rows of a lane as the page shows

typedef struct item {
  int64_t start, duration;  // ps
  uint32_t name, lane;
  uint32_t source;  // index in the capture, for details
} item;

typedef struct lane {
  hsc__section section;
  const char *name;
  size_t first, count;
} lane;

typedef struct builder {
  hsc_arena *arena;
  hsc_map *names;
  HSC__LIST(item) items;
  HSC__LIST(lane) lanes;
  const hsc_capture *capture;  // NULL for a profile
  size_t dropped;              // for being short
  size_t outside;              // Python calls outside of the steps
} builder;

static hsc_status *begin(builder *b) {
  *b = (builder){0};
  HSC_TRY(hsc_arena_create(&b->arena));
  return hsc_map_create(&b->names);
}

static void end(builder *b) {
  hsc_map_destroy(b->names);
  if (b->arena)
    hsc_arena_destroy(b->arena);
  hsc_free(b->items.items);
  hsc_free(b->lanes.items);
}

static hsc_status *name_number(builder *b, hsc_view name, uint32_t *out_number) {
  uintptr_t number = (uintptr_t)hsc_map_get(b->names, name);
  if (!number) {
    number = hsc_map_count(b->names) + 1;
    HSC_TRY(hsc_map_put(b->names, name, (void *)number));
  }
  *out_number = (uint32_t)number - 1;
  return NULL;
}

// By lane, then start; what encloses is before what it encloses.
static int compare_items(const void *a, const void *b) {
  const item *x = a;
  const item *y = b;
  if (x->lane != y->lane)
    return x->lane < y->lane ? -1 : 1;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->duration > y->duration ? -1 : x->duration < y->duration;
}

static int compare_durations(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return x > y ? -1 : x < y;
}

// More events than a page can hold: the shortest go.
static hsc_status *drop_shortest(builder *b) {
  if (b->items.count <= HSC_TIMELINE_EVENTS)
    return NULL;
  int64_t *durations = hsc_alloc(b->items.count * sizeof *durations);
  if (!durations)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < b->items.count; i++)
    durations[i] = b->items.items[i].duration;
  qsort(durations, b->items.count, sizeof *durations, compare_durations);
  int64_t least = durations[HSC_TIMELINE_EVENTS - 1];
  hsc_free(durations);
  size_t kept = 0;
  for (size_t i = 0; i < b->items.count; i++)
    if (b->items.items[i].duration >= least && kept < HSC_TIMELINE_EVENTS)
      b->items.items[kept++] = b->items.items[i];
  b->dropped = b->items.count - kept;
  b->items.count = kept;
  return NULL;
}

// How many events of its lane an event is in. Those that overlap without nesting go one deeper,
// so that no two of a depth overlap.
static void find_depths(const builder *b, const lane *l, uint8_t *depths) {
  int64_t ends[MAX_DEPTH + 1];
  int depth = 0;
  for (size_t i = l->first; i < l->first + l->count; i++) {
    const item *it = &b->items.items[i];
    while (depth > 0 && ends[depth - 1] <= it->start)
      depth--;
    depths[i] = (uint8_t)depth;
    ends[depth] = hsc__sat_add(it->start, it->duration > 0 ? it->duration : 1);
    if (depth < MAX_DEPTH)
      depth++;
  }
}

static void key(hsc_bytes *out, const char *name) {
  hsc_bytes_printf(out, ",\"%s\":", name);
}

static void base64_field(hsc_bytes *out, const char *name, const void *data, size_t size) {
  key(out, name);
  hsc_bytes_append_char(out, '"');
  hsc_base64(out, data, size);
  hsc_bytes_append_char(out, '"');
}

static void details(const builder *b, hsc_bytes *out) {
  hsc_json json;
  key(out, "details");
  hsc_json_init(&json, out, 0);
  hsc_json_begin_array(&json);
  const hsc_event *events = hsc_capture_events(b->capture);
  hsc_bytes text = {0};
  for (size_t i = 0; i < b->items.count; i++) {
    const hsc_event *e = &events[b->items.items[i].source];
    hsc_bytes_reset(&text);
    hsc_event_attrs_text(b->capture, e, &text);
    hsc_json_string(&json, hsc_bytes_text(&text));
  }
  hsc_json_end_array(&json);
  hsc_bytes_deinit(&text);
}

static uint32_t ticks_of(double ticks) {
  if (ticks > 4294967040.0)
    return 4294967040u;
  if (ticks > 0)
    return (uint32_t)ticks;
  return 0;
}

// The events in order, as ticks.
struct hsc_timeline {
  builder b;
  double tick, end_ticks;  // ps in a tick
  uint32_t *start, *duration, *name;
  uint8_t *depth;
  uint32_t *order;                   // events by lane and depth: for slices
  size_t (*rows)[SLICE_DEPTHS + 1];  // [lane][depth]: where the row begins in order
};

static hsc_status *settle(hsc_timeline *t) {
  builder *b = &t->b;
  size_t count = b->items.count;
  if (count)
    qsort(b->items.items, count, sizeof *b->items.items, compare_items);
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    const item *it = &b->items.items[i];
    lane *l = &b->lanes.items[it->lane];
    if (!l->count++)
      l->first = i;
    if (it->start < first)
      first = it->start;
    int64_t to = hsc__sat_add(it->start, it->duration);
    if (to > last)
      last = to;
  }
  t->tick = count && last > first ? ((double)last - (double)first) / 4294967040.0 : 1;
  if (t->tick < 1)
    t->tick = 1;
  t->end_ticks = count ? ((double)last - (double)first) / t->tick : 0;
  t->start = hsc_alloc((count + 1) * 4);
  t->duration = hsc_alloc((count + 1) * 4);
  t->name = hsc_alloc((count + 1) * 4);
  t->depth = hsc_alloc(count + 1);
  if (!t->start || !t->duration || !t->name || !t->depth)
    return hsc_status_out_of_memory();
  for (size_t l = 0; l < b->lanes.count; l++)
    find_depths(b, &b->lanes.items[l], t->depth);
  for (size_t i = 0; i < count; i++) {
    const item *it = &b->items.items[i];
    t->start[i] = ticks_of(((double)it->start - (double)first) / t->tick);
    t->duration[i] = ticks_of((double)it->duration / t->tick);
    t->name[i] = it->name;
  }
  return NULL;
}

static void begin_document(const hsc_timeline *t, hsc_bytes *out) {
  hsc_json json;
  hsc_bytes_append_text(out, "{\"tick_ns\":");
  hsc_json_init(&json, out, 0);
  hsc_json_double(&json, t->tick / 1000);
  hsc_bytes_printf(out, ",\"end_ticks\":%.0f", t->end_ticks);
}

static void names_field(const hsc_timeline *t,
                        const uint32_t *wanted,
                        size_t count,
                        hsc_bytes *out) {
  hsc_json json;
  key(out, "names");
  hsc_json_init(&json, out, 0);
  hsc_json_begin_array(&json);
  for (size_t i = 0; i < count; i++) {
    hsc_view text;
    hsc_map_at(t->b.names, wanted ? wanted[i] : i, &text);
    hsc_json_string_n(&json, text.data, text.size);
  }
  hsc_json_end_array(&json);
}

// What is not drawn; null where everything is.
static void note(const builder *b, hsc_bytes *out) {
  if (!b->dropped && !b->outside) {
    hsc_bytes_append_text(out, "null");
    return;
  }
  hsc_bytes_append_char(out, '"');
  if (b->dropped)
    hsc_bytes_printf(out, "%zu of the shortest events are not drawn%s", b->dropped,
                     b->outside ? "; " : "");
  if (b->outside)
    hsc_bytes_printf(out,
                     "%zu calls of Python outside of the steps (imports, setting up) are not "
                     "drawn: hloscope report --all draws them",
                     b->outside);
  hsc_bytes_append_char(out, '"');
}

static hsc_status *print(const hsc_timeline *t, hsc_bytes *out) {
  const builder *b = &t->b;
  size_t count = b->items.count;
  hsc_json json;
  begin_document(t, out);
  names_field(t, NULL, hsc_map_count(b->names), out);
  key(out, "lanes");
  hsc_json_init(&json, out, 0);
  hsc_json_begin_array(&json);
  for (int section = 0; section < HSC__SECTION_COUNT; section++) {
    for (size_t l = 0; l < b->lanes.count; l++) {
      const lane *it = &b->lanes.items[l];
      if ((int)it->section != section || !it->count)
        continue;
      hsc_json_begin_object(&json);
      hsc_json_kv_string(&json, "section", hsc__section_text(it->section));
      hsc_json_kv_string(&json, "name", it->name);
      hsc_json_kv_int(&json, "first", (int64_t)it->first);
      hsc_json_kv_int(&json, "count", (int64_t)it->count);
      hsc_json_end_object(&json);
    }
  }
  hsc_json_end_array(&json);
  base64_field(out, "start", t->start, count * 4);
  base64_field(out, "duration", t->duration, count * 4);
  base64_field(out, "name", t->name, count * 4);
  base64_field(out, "depth", t->depth, count);
  if (b->capture && count && count <= HSC_TIMELINE_DETAILS)
    details(b, out);
  key(out, "note");
  note(b, out);
  hsc_bytes_append_char(out, '}');
  return hsc_bytes_status(out);
}

// ---- slices -------------------------------------------------------------------------------------

// Events by lane and depth (those deeper than the page shows count as its last row).
static hsc_status *order_rows(hsc_timeline *t) {
  const builder *b = &t->b;
  t->order = hsc_alloc((b->items.count + 1) * sizeof *t->order);
  t->rows = hsc_alloc((b->lanes.count + 1) * sizeof *t->rows);
  if (!t->order || !t->rows)
    return hsc_status_out_of_memory();
  for (size_t l = 0; l < b->lanes.count; l++) {
    const lane *it = &b->lanes.items[l];
    size_t *row = t->rows[l];
    size_t at[SLICE_DEPTHS + 1];
    memset(row, 0, sizeof t->rows[l]);
    for (size_t i = it->first; i < it->first + it->count; i++)
      row[(t->depth[i] < SLICE_DEPTHS ? t->depth[i] : SLICE_DEPTHS - 1) + 1]++;
    row[0] = it->count ? it->first : 0;
    for (int d = 0; d < SLICE_DEPTHS; d++)
      row[d + 1] += row[d];
    memcpy(at, row, sizeof at);
    for (size_t i = it->first; i < it->first + it->count; i++)
      t->order[at[t->depth[i] < SLICE_DEPTHS ? t->depth[i] : SLICE_DEPTHS - 1]++] = (uint32_t)i;
  }
  return NULL;
}

// The first place of [low, high) in order whose event ends at or after tick `at`: ends rise within
// a row.
static size_t seek(const hsc_timeline *t, size_t low, size_t high, double at) {
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    uint32_t e = t->order[middle];
    if ((double)t->start[e] + (double)t->duration[e] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

typedef struct slice {
  hsc_bytes start, duration, name, depth;  // arrays
  uint32_t *number;                        // of a name in the slice, + 1
  hsc_bytes used;                          // names of the slice, as numbers of the whole
} slice;

static size_t add_row(const hsc_timeline *t,
                      slice *s,
                      size_t low,
                      size_t high,
                      uint8_t depth,
                      double from,
                      double to,
                      double tick_per_pixel) {
  size_t count = 0;
  for (size_t k = seek(t, low, high, from); k < high; count++) {
    uint32_t e = t->order[k];
    if ((double)t->start[e] > to)
      break;
    uint32_t *number = &s->number[t->name[e]];
    if (!*number) {
      hsc_bytes_append(&s->used, &t->name[e], 4);
      *number = (uint32_t)(s->used.size / 4);
    }
    uint32_t name = *number - 1;
    hsc_bytes_append(&s->start, &t->start[e], 4);
    hsc_bytes_append(&s->duration, &t->duration[e], 4);
    hsc_bytes_append(&s->name, &name, 4);
    hsc_bytes_append(&s->depth, &depth, 1);
    // What ends before the pixel after this one's last is behind it.
    double end = fmax((double)t->start[e] + (double)t->duration[e],
                      fmax((double)t->start[e], from) + tick_per_pixel);
    k = seek(t, k + 1, high, end);
  }
  return count;
}

hsc_status *hsc_timeline_slice(
    const hsc_timeline *t, double from, double to, int pixels, const char *remote, hsc_bytes *out) {
  const builder *b = &t->b;
  if (pixels < 16)
    pixels = 16;
  if (pixels > 16384)
    pixels = 16384;
  if (!(from > 0))
    from = 0;
  if (!(to < t->end_ticks))
    to = t->end_ticks;
  if (!(from < to)) {
    from = 0;
    to = t->end_ticks;
  }
  slice s = {.number = hsc_alloc((hsc_map_count(b->names) + 1) * sizeof(uint32_t))};
  if (!s.number)
    return hsc_status_out_of_memory();
  memset(s.number, 0, (hsc_map_count(b->names) + 1) * sizeof(uint32_t));
  hsc_bytes lanes = {0};
  hsc_json json;
  hsc_json_init(&json, &lanes, 0);
  hsc_json_begin_array(&json);
  for (int section = 0; section < HSC__SECTION_COUNT; section++) {
    for (size_t l = 0; l < b->lanes.count; l++) {
      const lane *it = &b->lanes.items[l];
      if ((int)it->section != section || !it->count)
        continue;
      size_t first = s.depth.size;
      size_t depths = 0;
      for (size_t d = 0; d < SLICE_DEPTHS; d++) {
        if (t->rows[l][d + 1] > t->rows[l][d])
          depths = d + 1;
        (void)add_row(t, &s, t->rows[l][d], t->rows[l][d + 1], (uint8_t)d, from, to,
                      (to - from) / pixels);
      }
      hsc_json_begin_object(&json);
      hsc_json_kv_string(&json, "section", hsc__section_text(it->section));
      hsc_json_kv_string(&json, "name", it->name);
      hsc_json_kv_int(&json, "first", (int64_t)first);
      hsc_json_kv_int(&json, "count", (int64_t)(s.depth.size - first));
      hsc_json_kv_int(&json, "depths", (int64_t)depths);
      hsc_json_end_object(&json);
    }
  }
  hsc_json_end_array(&json);
  begin_document(t, out);
  hsc_bytes_printf(out, ",\"from\":%.0f,\"to\":%.0f,\"events\":%zu", from, to, b->items.count);
  key(out, "remote");
  hsc_json_init(&json, out, 0);
  hsc_json_string(&json, remote);
  names_field(t, (const uint32_t *)(const void *)s.used.data, s.used.size / 4, out);
  key(out, "lanes");
  hsc_bytes_append(out, lanes.data, lanes.size);
  base64_field(out, "start", s.start.data, s.start.size);
  base64_field(out, "duration", s.duration.data, s.duration.size);
  base64_field(out, "name", s.name.data, s.name.size);
  base64_field(out, "depth", s.depth.data, s.depth.size);
  hsc_bytes_append_text(out, ",\"note\":null}");
  hsc_status *status = s.start.failed || s.used.failed || s.depth.failed || lanes.failed
                           ? hsc_status_out_of_memory()
                           : hsc_bytes_status(out);
  hsc_free(s.number);
  hsc_bytes_deinit(&s.start);
  hsc_bytes_deinit(&s.duration);
  hsc_bytes_deinit(&s.name);
  hsc_bytes_deinit(&s.depth);
  hsc_bytes_deinit(&s.used);
  hsc_bytes_deinit(&lanes);
  return status;
}

void hsc_timeline_close(hsc_timeline *t) {
  if (!t)
    return;
  end(&t->b);
  hsc_free(t->start);
  hsc_free(t->duration);
  hsc_free(t->name);
  hsc_free(t->depth);
  hsc_free(t->order);
  hsc_free(t->rows);
  hsc_free(t);
}

// Times of a damaged capture may be of any size.
static int64_t ps(int64_t ns) {
  int64_t value;
  if (__builtin_mul_overflow(ns, 1000, &value)) {
    if (ns > 0)
      return INT64_MAX;
    return INT64_MIN;
  }
  return value;
}

static hsc__section section_of(const hsc_event *e) {
  switch (e->category) {
    case HSC_CATEGORY_EXECUTE:
      return e->kind == HSC_RECORD_COMPLETE ? HSC__SECTION_EXECUTION : HSC__SECTION_CONTROL;
    case HSC_CATEGORY_OPERATOR:
      return HSC__SECTION_EXECUTION;
    case HSC_CATEGORY_TRANSFER:
      return HSC__SECTION_TRANSFER;
    case HSC_CATEGORY_USER:
      return e->depth == 0 ? HSC__SECTION_PROCESS : HSC__SECTION_CONTROL;
    default:
      return HSC__SECTION_CONTROL;
  }
}

static hsc_status *gather_capture(builder *b, const hsc_capture *capture) {
  b->capture = capture;
  int threads = hsc_capture_thread_count(capture);
  for (int t = 0; t < threads; t++) {
    const hsc_capture_thread *thread = hsc_capture_thread_at(capture, t);
    const hsc_capture_process *process = hsc_capture_process_at(capture, thread->process);
    long long pid = (long long)process->pid;
    const char *name = *thread->name
                           ? hsc_arena_printf(b->arena, "%lld %s", pid, thread->name)
                           : hsc_arena_printf(b->arena, "%lld/%lld", pid, (long long)thread->tid);
    for (int section = 0; section < HSC__SECTION_COUNT; section++)
      if (!HSC__ADD(&b->lanes, (lane){.section = (hsc__section)section, .name = name}))
        return hsc_status_out_of_memory();
  }
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    const hsc_event *e = &events[i];
    if (!hsc_event_is_span(e))
      continue;
    const char *name = hsc_event_shown_name(capture, e);
    uint32_t number = 0;
    HSC_TRY(name_number(b, hsc_view_of(name), &number));
    uint32_t at = (uint32_t)e->thread * HSC__SECTION_COUNT + (uint32_t)section_of(e);
    if (!HSC__ADD(&b->items, (item){ps(e->start_ns), ps(e->duration_ns), number, at, (uint32_t)i}))
      return hsc_status_out_of_memory();
  }
  return NULL;
}

// From the first step's start to the last one's end; all of time where no step is known.
typedef struct span {
  int64_t start, end;  // ps
} span;

static span steps_of(const hsc_profile *profile) {
  span whole = {INT64_MIN, INT64_MAX};
  for (size_t i = 0; i < profile->steps.count; i++) {
    const hsc_profile_step *step = &profile->steps.items[i];
    if (!i || step->start_ps < whole.start)
      whole.start = step->start_ps;
    if (!i || step->end_ps > whole.end)
      whole.end = step->end_ps;
  }
  return whole;
}

// What a profile's event is on the timeline; as profile_ops.c divides the lane of a thread that
// calls the runtime, copies and computes.
static hsc__section section_of_event(const hsc_xevent *e, hsc_view name, int64_t id_hlo_op) {
  hsc_xstat_cursor at = hsc_xstats_of(e->message, HSC_XEVENT_STATS);
  for (hsc_xstat stat; id_hlo_op >= 0 && hsc_xstat_next(&at, &stat);)
    if (stat.metadata_id == id_hlo_op)
      return HSC__SECTION_EXECUTION;
  const hsc__host_name *host = hsc__host_name_of(name);
  return host && host->activity == HSC_ACTIVITY_TRANSFER ? HSC__SECTION_TRANSFER
                                                         : HSC__SECTION_CONTROL;
}

// JAX's tracer of Python calls names them "$file.py:12 function".
static bool is_python_call(hsc_view name) {
  return name.size > 1 && name.data[0] == '$';
}

static hsc_view name_of(const hsc_profile_lane *of, const hsc_xevent *e) {
  const hsc_xevent_meta *meta = hsc_xplane_event_meta(of->plane, e->metadata_id);
  if (!meta)
    return HSC_VIEW("?");
  return meta->display_name.size ? meta->display_name : meta->name;
}

// The lane's events. `divided`: its line has several lanes, by section.
static hsc_status *gather_lane(builder *b,
                               const hsc_profile *profile,
                               const hsc_profile_lane *of,
                               bool divided,
                               const span *steps) {
  uint32_t at = (uint32_t)b->lanes.count - 1;
  int64_t id_hlo_op = divided ? hsc_xplane_stat_id(of->plane, "hlo_op") : -1;
  hsc_xevent_cursor cursor = hsc_xline_events(of->line);
  for (hsc_xevent e; hsc_xevent_next(&cursor, &e);) {
    if (e.occurrences)
      continue;  // sums have no place in time
    hsc_view name = name_of(of, &e);
    int64_t start = hsc__profile_time(profile, of->line, e.offset_ps);
    int64_t duration = e.duration_ps > 0 ? e.duration_ps : 0;
    if (divided && section_of_event(&e, name, id_hlo_op) != (hsc__section)of->section)
      continue;
    if (steps && is_python_call(name) && (start + duration < steps->start || start > steps->end)) {
      b->outside++;
      continue;
    }
    uint32_t number = 0;
    HSC_TRY(name_number(b, name, &number));
    if (!HSC__ADD(&b->items, (item){start, duration, number, at, 0}))
      return hsc_status_out_of_memory();
  }
  return NULL;
}

static hsc_status *gather_profile(builder *b, const hsc_profile *profile, bool outside_too) {
  span steps = steps_of(profile);
  for (size_t l = 0; l < profile->lanes.count; l++) {
    const hsc_profile_lane *of = &profile->lanes.items[l];
    if (of->section < 0 || of->section >= HSC__SECTION_COUNT)
      continue;
    bool divided = false;
    for (size_t k = 0; k < profile->lanes.count; k++)
      divided |= k != l && profile->lanes.items[k].line == of->line;
    const char *lane_name =
        hsc_arena_printf(b->arena, "%s %s", of->device ? of->device : "", of->name ? of->name : "");
    if (!HSC__ADD(&b->lanes, (lane){.section = (hsc__section)of->section, .name = lane_name}))
      return hsc_status_out_of_memory();
    HSC_TRY(gather_lane(b, profile, of, divided, outside_too ? NULL : &steps));
  }
  return NULL;
}

// One of capture and profile is set.
static hsc_status *open_timeline(const hsc_capture *capture,
                                 const hsc_profile *profile,
                                 bool limited,
                                 bool outside_too,
                                 hsc_timeline **out) {
  hsc_timeline *t = hsc_alloc(sizeof *t);
  if (!t)
    return hsc_status_out_of_memory();
  *t = (hsc_timeline){0};
  hsc_status *status = begin(&t->b);
  if (!status)
    status = capture ? gather_capture(&t->b, capture) : gather_profile(&t->b, profile, outside_too);
  if (!status && limited)
    status = drop_shortest(&t->b);
  if (!status && t->b.items.count > UINT32_MAX)
    status = HSC_ERR(RESOURCE_EXHAUSTED, "%zu events are more than a timeline numbers",
                     t->b.items.count);
  if (!status)
    status = settle(t);
  if (status)
    hsc_timeline_close(t);
  else
    *out = t;
  return status;
}

static hsc_status *whole(const hsc_capture *capture,
                         const hsc_profile *profile,
                         bool outside_too,
                         hsc_bytes *out_json) {
  hsc_timeline *t = NULL;
  HSC_TRY(open_timeline(capture, profile, true, outside_too, &t));
  hsc_status *status = print(t, out_json);
  hsc_timeline_close(t);
  return status;
}

hsc_status *hsc_timeline_of_capture(const hsc_capture *capture, hsc_bytes *out_json) {
  return whole(capture, NULL, true, out_json);
}
hsc_status *hsc_timeline_of_profile(const hsc_profile *profile,
                                    bool outside_too,
                                    hsc_bytes *out_json) {
  return whole(NULL, profile, outside_too, out_json);
}

// Kept beyond its source: texts of the map are borrowed from it, so they are copied.
static hsc_status *keep(hsc_timeline *t) {
  hsc_map *names = NULL;
  HSC_TRY(hsc_map_create(&names));
  hsc_status *status = NULL;
  for (size_t i = 0; i < hsc_map_count(t->b.names) && !status; i++) {
    hsc_view text;
    void *value = hsc_map_at(t->b.names, i, &text);
    char *copy = hsc_arena_copy(t->b.arena, text.size ? text.data : "", text.size ? text.size : 1);
    status =
        copy ? hsc_map_put(names, (hsc_view){copy, text.size}, value) : hsc_status_out_of_memory();
  }
  hsc_map_destroy(t->b.names);
  t->b.names = names;
  t->b.capture = NULL;
  for (size_t l = 0; l < t->b.lanes.count && !status; l++)
    t->b.lanes.items[l].name = hsc_arena_strdup(t->b.arena, t->b.lanes.items[l].name);
  if (!status)
    status = order_rows(t);
  return status;
}

static hsc_status *open_and_keep(const hsc_capture *capture,
                                 const hsc_profile *profile,
                                 hsc_timeline **out) {
  hsc_timeline *t = NULL;
  *out = NULL;
  HSC_TRY(open_timeline(capture, profile, false, true, &t));
  hsc_status *status = keep(t);
  if (status)
    hsc_timeline_close(t);
  else
    *out = t;
  return status;
}

hsc_status *hsc_timeline_open_capture(const hsc_capture *capture, hsc_timeline **out_timeline) {
  return open_and_keep(capture, NULL, out_timeline);
}
hsc_status *hsc_timeline_open_profile(const hsc_profile *profile, hsc_timeline **out_timeline) {
  return open_and_keep(NULL, profile, out_timeline);
}
