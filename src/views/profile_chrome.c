// profile_chrome.c - profiles as Chrome traces, a million events a second and more.
//
// What is the same for all events of an operator is written once into a fragment; an event is two
// numbers between copies. Format: "Trace Event Format".
#include "base/text/text.h"
#include "views/profile_chrome.h"

#include <math.h>
#include <stdlib.h>

#include "views/profile_internal.h"

enum { PIECE_BYTES = 1 << 20, MOST_LANES = 32, MOST_DEPTH = 64, MOST_STATS = 16 };

typedef struct chrome_event {
  int64_t start, duration;
  hsc_view message;  // for stats
  int32_t meta;      // position; -1 = none
  bool has_stats;
} chrome_event;

typedef struct fragment {
  hsc_view head, tail;  // ,{"name":"...","ph":"X","pid":1,"tid":  and  ,"args":{...}}
} fragment;

typedef struct lane {
  int64_t ends[MOST_DEPTH];
  int depth;
} lane;

typedef struct chrome {
  hsc_profile *profile;
  hsc_bytes out;
  hsc_profile_piece piece;
  void *user;
  hsc_arena *arena;      // of the plane's fragments
  fragment *fragments;   // [event_meta_count]
  const int32_t *op_of;  // [event_meta_count] of the plane: operator, -1 = none
} chrome;

static hsc_status *flush(chrome *c, bool all) {
  HSC_TRY(hsc_bytes_status(&c->out));
  if (!c->out.size || (!all && c->out.size < PIECE_BYTES))
    return NULL;
  hsc_status *status = c->piece(c->user, hsc_bytes_view(&c->out));
  hsc_bytes_reset(&c->out);
  return status;
}

static void put_json_text(hsc_bytes *out, hsc_view text) {
  hsc_json json;
  hsc_json_init(&json, out, 0);
  hsc_json_string_n(&json, text.data ? text.data : "", text.size);
}

// Picoseconds as microseconds with nanoseconds after the point.
static inline char *put_time(char *at, int64_t ps) {
  uint64_t ns = ps > 0 ? (uint64_t)ps / 1000 : 0;
  uint64_t whole = ns / 1000;
  uint32_t part = (uint32_t)(ns % 1000);
  char digits[24];
  int count = 0;
  do
    digits[count++] = (char)('0' + whole % 10);
  while ((whole /= 10) > 0);
  while (count)
    *at++ = digits[--count];
  if (part) {
    *at++ = '.';
    *at++ = (char)('0' + part / 100);
    *at++ = (char)('0' + part / 10 % 10);
    *at++ = (char)('0' + part % 10);
  }
  return at;
}

static void put_key(hsc_bytes *out, bool *first, const char *key) {
  hsc_bytes_printf(out, *first ? "\"%s\":" : ",\"%s\":", key);
  *first = false;
}

static void put_op_args(const hsc_profile *profile, const hsc_profile_op *op, hsc_bytes *out) {
  bool first = true;
  if (op->category.size) {
    put_key(out, &first, "category");
    put_json_text(out, op->category);
  }
  if (op->op_name.size) {
    put_key(out, &first, "op_name");
    put_json_text(out, op->op_name);
  }
  if (op->module >= 0) {
    put_key(out, &first, "program");
    put_json_text(out, profile->modules.items[op->module].name);
  }
  if (op->source.size) {
    put_key(out, &first, "source");
    put_json_text(out, op->source);
  }
  if (!isnan(op->flops)) {
    put_key(out, &first, "flops");
    hsc_bytes_printf(out, "%.0f", op->flops);
  }
  if (!isnan(op->bytes)) {
    put_key(out, &first, "bytes");
    hsc_bytes_printf(out, "%.0f", op->bytes);
  }
}

static hsc_status *make_fragment(
    chrome *c, const hsc_xplane *plane, int32_t position, int pid, fragment *out) {
  const hsc_xevent_meta *meta = &plane->event_metas[position];
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, ",\n{\"name\":");
  put_json_text(&text, meta->display_name.size ? meta->display_name : meta->name);
  hsc_bytes_printf(&text, ",\"ph\":\"X\",\"pid\":%d,\"tid\":", pid);
  out->head = (hsc_view){hsc_arena_strndup(c->arena, hsc_bytes_text(&text), text.size), text.size};
  hsc_bytes_reset(&text);
  if (c->op_of[position] >= 0) {
    hsc_bytes_append_text(&text, ",\"args\":{");
    put_op_args(c->profile, &c->profile->ops.items[c->op_of[position]], &text);
    hsc_bytes_append_char(&text, '}');
  }
  hsc_bytes_append_char(&text, '}');
  out->tail = (hsc_view){hsc_arena_strndup(c->arena, hsc_bytes_text(&text), text.size), text.size};
  hsc_status *status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  return status ? status : hsc_arena_status(c->arena);
}

// The stats of an event that is no operator; texts and numbers.
static void put_stats(chrome *c, const hsc_xplane *plane, const chrome_event *event) {
  bool first = true;
  int count = 0;
  hsc_xstat_cursor at = hsc_xstats_of(event->message, HSC_XEVENT_STATS);
  for (hsc_xstat stat; hsc_xstat_next(&at, &stat) && count < MOST_STATS; count++) {
    const hsc_xstat_meta *what = hsc_xplane_stat_meta(plane, stat.metadata_id);
    if (!what || stat.kind == HSC_XSTAT_BYTES || stat.kind == HSC_XSTAT_COMPRESSED_TEXT ||
        stat.kind == HSC_XSTAT_NONE)
      continue;
    hsc_bytes_append_text(&c->out, first ? ",\"args\":{" : ",");
    first = false;
    put_json_text(&c->out, what->name);
    hsc_bytes_append_char(&c->out, ':');
    char number[32];
    if (stat.kind == HSC_XSTAT_TEXT || stat.kind == HSC_XSTAT_REF)
      put_json_text(&c->out, hsc_xstat_text(plane, &stat));
    else if (stat.kind == HSC_XSTAT_INT)
      hsc_bytes_printf(&c->out, "%lld", (long long)stat.i);
    else if (stat.kind == HSC_XSTAT_UINT)
      hsc_bytes_printf(&c->out, "%llu", (unsigned long long)stat.u);
    else if (isfinite(stat.d)) {
      hsc_format_double(stat.d, number);
      hsc_bytes_append_text(&c->out, number);
    } else
      hsc_bytes_append_text(&c->out, "null");
  }
  if (!first)
    hsc_bytes_append_char(&c->out, '}');
  hsc_bytes_append_char(&c->out, '}');
}

static int by_start(const void *a, const void *b) {
  const chrome_event *x = a;
  const chrome_event *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->duration > y->duration ? -1 : x->duration < y->duration;
}

static int choose_lane(lane *lanes, int *count, int64_t start, int64_t end) {
  for (int i = 0; i < MOST_LANES; i++) {
    if (i == *count)
      lanes[(*count)++] = (lane){.depth = 0};
    lane *l = &lanes[i];
    while (l->depth > 0 && l->ends[l->depth - 1] <= start)
      l->depth--;
    if ((l->depth > 0 && end > l->ends[l->depth - 1]) || l->depth == MOST_DEPTH)
      continue;
    l->ends[l->depth++] = end;
    return i;
  }
  return MOST_LANES - 1;
}

static void put_thread_name(chrome *c, int pid, int tid, hsc_view name, int lane_number) {
  hsc_bytes_printf(&c->out,
                   ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"ts\":0,\"pid\":%d,\"tid\":%d,"
                   "\"args\":{\"name\":",
                   pid, tid);
  char text[160];
  const char *begin = name.data ? name.data : "";
  int size;
  if (lane_number)
    size =
        snprintf(text, sizeof text, "%.*s (%d)", hsc_view_shown(name, 120), begin, lane_number + 1);
  else
    size = snprintf(text, sizeof text, "%.*s", hsc_view_shown(name, 140), begin);
  put_json_text(&c->out, (hsc_view){text, (size_t)size});
  hsc_bytes_printf(&c->out,
                   "}},\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"ts\":0,\"pid\":%d,\"tid\":%"
                   "d,\"args\":{\"sort_index\":%d}}",
                   pid, tid, tid);
}

static hsc_status *put_event(
    chrome *c, const hsc_xplane *plane, const chrome_event *e, int pid, int tid) {
  fragment *f = e->meta >= 0 ? &c->fragments[e->meta] : NULL;
  if (!f) {
    hsc_bytes_printf(
        &c->out,
        ",\n{\"name\":\"event\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}", pid,
        tid, (double)e->start * 1e-6, (double)e->duration * 1e-6);
    return flush(c, false);
  }
  if (!f->head.data)
    HSC_TRY(make_fragment(c, plane, e->meta, pid, f));
  char *start = hsc_bytes_extend(&c->out, f->head.size + f->tail.size + 96);
  char *at = start;
  if (!start)
    return hsc_status_out_of_memory();
  memcpy(at, f->head.data, f->head.size);
  at += f->head.size;
  at = put_time(at, (int64_t)tid * 1000000);
  memcpy(at, ",\"ts\":", 6);
  at = put_time(at + 6, e->start);
  memcpy(at, ",\"dur\":", 7);
  at = put_time(at + 7, e->duration);
  bool own_args = e->has_stats && c->op_of[e->meta] < 0;
  if (!own_args) {
    memcpy(at, f->tail.data, f->tail.size);
    at += f->tail.size;
  }
  c->out.size -= f->head.size + f->tail.size + 96 - (size_t)(at - start);
  if (own_args)
    put_stats(c, plane, e);
  return c->out.size < PIECE_BYTES ? NULL : flush(c, false);
}

static hsc_status *put_line(
    chrome *c, const hsc_xplane *plane, const hsc_xline *line, int pid, int tid) {
  HSC__LIST(chrome_event) events = {0};
  hsc_status *status = NULL;
  bool sorted = true;
  lane lanes[MOST_LANES];
  int lane_count = 0;
  int named = 0;
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent e; hsc_xevent_next(&at, &e);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(plane, e.metadata_id);
    chrome_event event = {hsc__profile_time(c->profile, line, e.offset_ps),
                          e.duration_ps > 0 ? e.duration_ps : 0, e.message,
                          meta ? (int32_t)(meta - plane->event_metas) : -1, e.has_stats};
    sorted &= !events.count || by_start(&events.items[events.count - 1], &event) <= 0;
    if (!HSC__ADD(&events, event))
      HSC_GOTO(hsc_status_out_of_memory());
  }
  if (!sorted)
    qsort(events.items, events.count, sizeof *events.items, by_start);
  hsc_view name = line->display_name.size ? line->display_name : line->name;
  for (size_t i = 0; i < events.count; i++) {
    int number = choose_lane(lanes, &lane_count, events.items[i].start,
                             hsc__sat_add(events.items[i].start, events.items[i].duration));
    while (named <= number) {
      put_thread_name(c, pid, tid + named, name, named);
      named++;
    }
    HSC_GOTO(put_event(c, plane, &events.items[i], pid, tid + number));
    if (i % 1024 == 0)
      HSC_GOTO(flush(c, false));  // a line may be longer than memory
  }
done:
  hsc_free(events.items);
  return status;
}

// Which operator a metadata stands for: by the operators of the plane's device, of which the walk
// kept the names.
static hsc_status *map_ops(chrome *c, const hsc_xplane *plane, int32_t *op_of) {
  hsc_profile *profile = c->profile;
  hsc_map *by_name = NULL;
  HSC_TRY(hsc_map_create(&by_name));
  hsc_status *status = NULL;
  for (int32_t i = 0; i < plane->event_meta_count; i++)
    op_of[i] = -1;
  int32_t *numbers = HSC_NEW_ARRAY(c->arena, int32_t, profile->ops.count + 1);
  if (!numbers)
    HSC_GOTO(hsc_status_out_of_memory());
  for (size_t i = 0; i < profile->ops.count; i++) {
    numbers[i] = (int32_t)i;
    if (profile->devices.items[profile->ops.items[i].device].plane == plane)
      HSC_GOTO(hsc_map_put(by_name, profile->ops.items[i].name, &numbers[i]));
  }
  for (int32_t i = 0; i < plane->event_meta_count; i++) {
    const hsc_xevent_meta *meta = &plane->event_metas[i];
    const int32_t *op =
        hsc_map_get(by_name, meta->display_name.size ? meta->display_name : meta->name);
    if (op)
      op_of[i] = *op;
  }
done:
  hsc_map_destroy(by_name);
  return status;
}

static hsc_status *put_plane(chrome *c, const hsc_xspace *space, const hsc_xplane *plane, int pid) {
  hsc_arena_reset(c->arena);
  c->fragments = HSC_NEW_ARRAY(c->arena, fragment, plane->event_meta_count + 1);
  int32_t *op_of = HSC_NEW_ARRAY(c->arena, int32_t, plane->event_meta_count + 1);
  HSC_TRY(hsc_arena_status(c->arena));
  HSC_TRY(map_ops(c, plane, op_of));
  c->op_of = op_of;
  hsc_bytes_printf(
      &c->out,
      ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"ts\":0,\"pid\":%d,\"args\":{\"name\":", pid);
  put_json_text(&c->out, hsc_xplane_shown_name(plane));
  hsc_bytes_printf(&c->out,
                   "}},\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"ts\":0,\"pid\":%d,"
                   "\"args\":{\"sort_index\":%d}}",
                   pid, pid);
  for (int32_t l = 0; l < plane->line_count; l++) {
    hsc_xspace_need(space, plane->lines[l].message);
    HSC_TRY(put_line(c, plane, &plane->lines[l], pid, 1 + l * MOST_LANES));
    hsc_xspace_done_with(space, plane->lines[l].message);
    HSC_TRY(flush(c, false));
  }
  return NULL;
}

hsc_status *hsc_profile_write_chrome(hsc_profile *profile, hsc_profile_piece piece, void *user) {
  chrome c = {.profile = profile, .piece = piece, .user = user};
  hsc_status *status = NULL;
  int pid = 1;
  HSC_TRY(hsc__profile_join(profile));
  HSC_TRY(hsc_arena_create(&c.arena));
  hsc_bytes_append_text(&c.out,
                        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"name\":\"trace\",\"ph\":"
                        "\"M\",\"ts\":0,\"pid\":0,\"args\":{\"name\":\"hloscope\"}}");
  for (size_t s = 0; s < profile->spaces.count; s++)
    for (int32_t p = 0; p < profile->spaces.items[s]->plane_count; p++) {
      const hsc_xplane *plane = &profile->spaces.items[s]->planes[p];
      if (plane->line_count && hsc_xplane_stat_id(plane, "hloscope_thread") < 0)
        HSC_GOTO(put_plane(&c, profile->spaces.items[s], plane, pid++));
    }
  hsc_bytes_append_text(&c.out, "\n]}\n");
  HSC_GOTO(flush(&c, true));
done:
  hsc_bytes_deinit(&c.out);
  hsc_arena_destroy(c.arena);
  return status;
}
