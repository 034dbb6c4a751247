// timeline_page.c - events gathered by lane, nested by their times, written as arrays.
#include "views/timeline_page.h"

#include <stdlib.h>

#include "report/page.h"
#include "views/profile_internal.h"

enum { MAX_DEPTH = 255 };

typedef struct item {
  int64_t start, duration;   // ps
  uint32_t name, lane;
  uint32_t source;           // index in the capture, for details
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
  const hsc_capture *capture;   // NULL for a profile
  size_t dropped;
} builder;

static hsc_status *begin(builder *b) {
  *b = (builder){0};
  HSC_TRY(hsc_arena_create(&b->arena));
  return hsc_map_create(&b->names);
}

static void end(builder *b) {
  hsc_map_destroy(b->names);
  if (b->arena) hsc_arena_destroy(b->arena);
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

// By lane, then start; what encloses stands before what it encloses.
static int compare_items(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->duration > y->duration ? -1 : x->duration < y->duration;
}

static int compare_durations(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x > y ? -1 : x < y;
}

// More events than a page can hold: the shortest go.
static hsc_status *drop_shortest(builder *b) {
  if (b->items.count <= HSC_TIMELINE_EVENTS) return NULL;
  int64_t *durations = hsc_alloc(b->items.count * sizeof *durations);
  if (!durations) return hsc_status_out_of_memory();
  for (size_t i = 0; i < b->items.count; i++) durations[i] = b->items.items[i].duration;
  qsort(durations, b->items.count, sizeof *durations, compare_durations);
  int64_t least = durations[HSC_TIMELINE_EVENTS - 1];
  hsc_free(durations);
  size_t kept = 0;
  for (size_t i = 0; i < b->items.count; i++)
    if (b->items.items[i].duration >= least && kept < HSC_TIMELINE_EVENTS) b->items.items[kept++] = b->items.items[i];
  b->dropped = b->items.count - kept;
  b->items.count = kept;
  return NULL;
}

// How many events of its lane an event stands in. Those that overlap without nesting go one deeper, so that no two of a depth overlap.
static void find_depths(const builder *b, const lane *l, uint8_t *depths) {
  int64_t ends[MAX_DEPTH + 1];
  int depth = 0;
  for (size_t i = l->first; i < l->first + l->count; i++) {
    const item *it = &b->items.items[i];
    while (depth > 0 && ends[depth - 1] <= it->start) depth--;
    depths[i] = (uint8_t)depth;
    ends[depth] = hsc__sat_add(it->start, it->duration > 0 ? it->duration : 1);
    if (depth < MAX_DEPTH) depth++;
  }
}

static void key(hsc_bytes *out, const char *name) { hsc_bytes_printf(out, ",\"%s\":", name); }

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

static uint32_t ticks_of(double ticks) { return ticks > 4294967040.0 ? 4294967040u : ticks > 0 ? (uint32_t)ticks : 0; }

static hsc_status *write(builder *b, hsc_bytes *out) {
  HSC_TRY(drop_shortest(b));
  size_t count = b->items.count;
  if (count) qsort(b->items.items, count, sizeof *b->items.items, compare_items);
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    const item *it = &b->items.items[i];
    lane *l = &b->lanes.items[it->lane];
    if (!l->count++) l->first = i;
    if (it->start < first) first = it->start;
    int64_t to = hsc__sat_add(it->start, it->duration);
    if (to > last) last = to;
  }
  double tick = count && last > first ? ((double)last - (double)first) / 4294967040.0 : 1;
  if (tick < 1) tick = 1;
  uint32_t *start = hsc_alloc((count + 1) * 4), *duration = hsc_alloc((count + 1) * 4), *name = hsc_alloc((count + 1) * 4);
  uint8_t *depth = hsc_alloc(count + 1);
  hsc_status *status = start && duration && name && depth ? NULL : hsc_status_out_of_memory();
  if (!status) {
    for (size_t l = 0; l < b->lanes.count; l++) find_depths(b, &b->lanes.items[l], depth);
    for (size_t i = 0; i < count; i++) {
      const item *it = &b->items.items[i];
      start[i] = ticks_of(((double)it->start - (double)first) / tick);
      duration[i] = ticks_of((double)it->duration / tick);
      name[i] = it->name;
    }
    hsc_json json;
    hsc_bytes_append_text(out, "{\"tick_ns\":");
    hsc_json_init(&json, out, 0);
    hsc_json_double(&json, tick / 1000);
    hsc_bytes_printf(out, ",\"end_ticks\":%.0f", count ? ((double)last - (double)first) / tick : 0.0);
    key(out, "names");
    hsc_json_init(&json, out, 0);
    hsc_json_begin_array(&json);
    for (size_t i = 0; i < hsc_map_count(b->names); i++) {
      hsc_view text;
      hsc_map_at(b->names, i, &text);
      hsc_json_string_n(&json, text.data, text.size);
    }
    hsc_json_end_array(&json);
    key(out, "lanes");
    hsc_json_init(&json, out, 0);
    hsc_json_begin_array(&json);
    for (int section = 0; section < HSC__SECTION_COUNT; section++) {
      for (size_t l = 0; l < b->lanes.count; l++) {
        const lane *it = &b->lanes.items[l];
        if ((int)it->section != section || !it->count) continue;
        hsc_json_begin_object(&json);
        hsc_json_kv_string(&json, "section", hsc__section_text(it->section));
        hsc_json_kv_string(&json, "name", it->name);
        hsc_json_kv_int(&json, "first", (int64_t)it->first);
        hsc_json_kv_int(&json, "count", (int64_t)it->count);
        hsc_json_end_object(&json);
      }
    }
    hsc_json_end_array(&json);
    base64_field(out, "start", start, count * 4);
    base64_field(out, "duration", duration, count * 4);
    base64_field(out, "name", name, count * 4);
    base64_field(out, "depth", depth, count);
    if (b->capture && count && count <= HSC_TIMELINE_DETAILS) details(b, out);
    key(out, "note");
    if (b->dropped) hsc_bytes_printf(out, "\"%zu of the shortest events are not drawn\"}", b->dropped);
    else hsc_bytes_append_text(out, "null}");
    status = hsc_bytes_status(out);
  }
  hsc_free(start), hsc_free(duration), hsc_free(name), hsc_free(depth);
  return status;
}

// Times of a damaged capture may be of any size.
static int64_t ps(int64_t ns) {
  int64_t value;
  return __builtin_mul_overflow(ns, 1000, &value) ? (ns > 0 ? INT64_MAX : INT64_MIN) : value;
}

static hsc__section section_of(const hsc_event *e) {
  switch (e->category) {
    case HSC_CATEGORY_EXECUTE: return e->kind == HSC_RECORD_COMPLETE ? HSC__SECTION_EXECUTION : HSC__SECTION_CONTROL;
    case HSC_CATEGORY_OPERATOR: return HSC__SECTION_EXECUTION;
    case HSC_CATEGORY_TRANSFER: return HSC__SECTION_TRANSFER;
    case HSC_CATEGORY_USER: return e->depth == 0 ? HSC__SECTION_PROCESS : HSC__SECTION_CONTROL;
    default: return HSC__SECTION_CONTROL;
  }
}

hsc_status *hsc_timeline_of_capture(const hsc_capture *capture, hsc_bytes *out_json) {
  builder b;
  hsc_status *status = begin(&b);
  if (status) goto done;
  b.capture = capture;
  int threads = hsc_capture_thread_count(capture);
  for (int t = 0; t < threads; t++) {
    const hsc_capture_thread *thread = hsc_capture_thread_at(capture, t);
    const hsc_capture_process *process = hsc_capture_process_at(capture, thread->process);
    long long pid = (long long)process->pid;
    const char *name = *thread->name ? hsc_arena_printf(b.arena, "%lld %s", pid, thread->name) : hsc_arena_printf(b.arena, "%lld/%lld", pid, (long long)thread->tid);
    for (int section = 0; section < HSC__SECTION_COUNT; section++)
      if (!HSC__ADD(&b.lanes, (lane){.section = (hsc__section)section, .name = name})) HSC_GOTO(hsc_status_out_of_memory());
  }
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    const hsc_event *e = &events[i];
    if (!hsc_event_is_span(e)) continue;
    const char *name = hsc_event_shown_name(capture, e);
    uint32_t number = 0;
    HSC_GOTO(name_number(&b, hsc_view_of(name), &number));
    uint32_t at = (uint32_t)e->thread * HSC__SECTION_COUNT + (uint32_t)section_of(e);
    if (!HSC__ADD(&b.items, (item){ps(e->start_ns), ps(e->duration_ns), number, at, (uint32_t)i})) HSC_GOTO(hsc_status_out_of_memory());
  }
  HSC_GOTO(write(&b, out_json));
done:
  end(&b);
  return status;
}

hsc_status *hsc_timeline_of_profile(const hsc_profile *profile, hsc_bytes *out_json) {
  builder b;
  hsc_status *status = begin(&b);
  if (status) goto done;
  for (size_t l = 0; l < profile->lanes.count; l++) {
    const hsc_profile_lane *of = &profile->lanes.items[l];
    if (of->section < 0 || of->section >= HSC__SECTION_COUNT) continue;
    const char *lane_name = hsc_arena_printf(b.arena, "%s %s", of->device ? of->device : "", of->name ? of->name : "");
    if (!HSC__ADD(&b.lanes, (lane){.section = (hsc__section)of->section, .name = lane_name})) HSC_GOTO(hsc_status_out_of_memory());
    uint32_t at = (uint32_t)b.lanes.count - 1;
    hsc_xevent_cursor cursor = hsc_xline_events(of->line);
    for (hsc_xevent e; hsc_xevent_next(&cursor, &e);) {
      if (e.occurrences) continue;   // sums have no place in time
      const hsc_xevent_meta *meta = hsc_xplane_event_meta(of->plane, e.metadata_id);
      hsc_view name = !meta ? HSC_VIEW("?") : meta->display_name.size ? meta->display_name : meta->name;
      uint32_t number = 0;
      HSC_GOTO(name_number(&b, name, &number));
      int64_t start = hsc__profile_time(profile, of->line, e.offset_ps);
      if (!HSC__ADD(&b.items, (item){start, e.duration_ps > 0 ? e.duration_ps : 0, number, at, 0})) HSC_GOTO(hsc_status_out_of_memory());
    }
  }
  HSC_GOTO(write(&b, out_json));
done:
  end(&b);
  return status;
}
