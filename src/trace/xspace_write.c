// xspace_write.c - writes XSpace, and copies parts of one as they are.
//
// Lines are written as their events come, metadata are collected and written after them: readers
// take any order. What is copied is copied as bytes, so that fields of later versions survive.
#include "base/wire/wire.h"
#include "trace/xspace.h"

enum {
  XSPACE_PLANES = 1,
  XSPACE_HOSTNAMES = 4,
  XPLANE_LINES = 3,
  XPLANE_EVENT_METAS = 4,
  XPLANE_STAT_METAS = 5,
  XLINE_EVENTS = 4
};

hsc_status *hsc_xwriter_init(hsc_xwriter *w, hsc_bytes *out) {
  *w = (hsc_xwriter){.out = out};
  return hsc_arena_create(&w->names);
}

void hsc_xwriter_deinit(hsc_xwriter *w) {
  hsc_map_destroy(w->stat_ids);
  hsc_arena_destroy(w->names);
  hsc_bytes_deinit(&w->metas);
  hsc_bytes_deinit(&w->meta);
  *w = (hsc_xwriter){0};
}

static void fail(hsc_xwriter *w, hsc_status *status) {
  if (status)
    w->out->failed = true;
  hsc_status_free(status);
}

// Also zeros: an event at the start of its line has its offset written, which tells it from one
// that is only counted.
static void put_number(hsc_bytes *out, uint32_t field, int64_t value) {
  hsc_wire_put_varint(out, field, (uint64_t)value);
}

static void put_text(hsc_bytes *out, uint32_t field, hsc_view text) {
  hsc_wire_put_bytes(out, field, text.data, text.size);
}

void hsc_xwriter_begin_plane(hsc_xwriter *w, int64_t id, const char *name) {
  w->plane_mark = hsc_wire_begin(w->out, XSPACE_PLANES);
  hsc_wire_put_int(w->out, 1, id);
  hsc_wire_put_text(w->out, 2, name);
  hsc_map_destroy(w->stat_ids);
  w->stat_ids = NULL;
  fail(w, hsc_map_create(&w->stat_ids));
  hsc_arena_reset(w->names);
  hsc_bytes_reset(&w->metas);
  w->next_event_meta = w->next_stat_meta = 1;
  w->into = w->out;
  w->stat_field = HSC_XPLANE_STATS;
}

void hsc_xwriter_end_plane(hsc_xwriter *w) {
  hsc_bytes_append(w->out, w->metas.data, w->metas.size);
  w->out->failed |= w->metas.failed;
  hsc_wire_end(w->out, w->plane_mark);
}

static int64_t stat_id(hsc_xwriter *w, hsc_view name) {
  if (!w->stat_ids)
    return 0;
  void *known = hsc_map_get(w->stat_ids, name);
  if (known)
    return (int64_t)(intptr_t)known;
  int64_t id = w->next_stat_meta++;
  char *kept = hsc_arena_strndup(w->names, name.data ? name.data : "", name.size);
  if (!kept) {
    w->out->failed = true;
    return id;
  }
  fail(w, hsc_map_put(w->stat_ids, (hsc_view){kept, name.size}, (void *)(intptr_t)id));
  size_t entry = hsc_wire_begin(&w->metas, XPLANE_STAT_METAS);
  hsc_wire_put_int(&w->metas, 1, id);
  size_t value = hsc_wire_begin(&w->metas, 2);
  hsc_wire_put_int(&w->metas, 1, id);
  put_text(&w->metas, 2, name);
  hsc_wire_end(&w->metas, value);
  hsc_wire_end(&w->metas, entry);
  return id;
}

int64_t hsc_xwriter_begin_event_meta(hsc_xwriter *w,
                                     int64_t id,
                                     const char *name,
                                     const char *display_name) {
  if (id == 0)
    id = w->next_event_meta;
  if (id >= w->next_event_meta)
    w->next_event_meta = id + 1;
  hsc_bytes_reset(&w->meta);
  hsc_wire_put_int(&w->meta, 1, id);
  hsc_wire_put_text(&w->meta, 2, name);
  hsc_wire_put_text(&w->meta, 4, display_name);
  w->meta_id = id;
  w->into = &w->meta;
  w->stat_field = HSC_XEVENT_META_STATS;
  return id;
}

void hsc_xwriter_end_event_meta(hsc_xwriter *w) {
  size_t entry = hsc_wire_begin(&w->metas, XPLANE_EVENT_METAS);
  hsc_wire_put_int(&w->metas, 1, w->meta_id);
  hsc_wire_put_bytes(&w->metas, 2, w->meta.data, w->meta.size);
  hsc_wire_end(&w->metas, entry);
  w->out->failed |= w->meta.failed;
  w->into = w->out;
  w->stat_field = HSC_XPLANE_STATS;
}

void hsc_xwriter_begin_line(hsc_xwriter *w, int64_t id, const char *name, int64_t timestamp_ns) {
  w->line_mark = hsc_wire_begin(w->out, XPLANE_LINES);
  hsc_wire_put_int(w->out, 1, id);
  hsc_wire_put_text(w->out, 2, name);
  hsc_wire_put_int(w->out, 3, timestamp_ns);
}

void hsc_xwriter_line_display(hsc_xwriter *w, const char *name) {
  hsc_wire_put_text(w->out, 11, name);
}

void hsc_xwriter_end_line(hsc_xwriter *w) {
  hsc_wire_end(w->out, w->line_mark);
}

void hsc_xwriter_begin_event(hsc_xwriter *w,
                             int64_t metadata_id,
                             int64_t offset_ps,
                             int64_t duration_ps) {
  w->event_mark = hsc_wire_begin(w->out, XLINE_EVENTS);
  put_number(w->out, 1, metadata_id);
  put_number(w->out, 2, offset_ps);
  put_number(w->out, 3, duration_ps);
  w->into = w->out;
  w->stat_field = HSC_XEVENT_STATS;
}

void hsc_xwriter_end_event(hsc_xwriter *w) {
  hsc_wire_end(w->out, w->event_mark);
  w->stat_field = HSC_XPLANE_STATS;
}

// ---- stats --------------------------------------------------------------------------------------

static size_t begin_stat(hsc_xwriter *w, const char *name) {
  int64_t id = stat_id(w, hsc_view_of(name));
  size_t mark = hsc_wire_begin(w->into, w->stat_field);
  hsc_wire_put_int(w->into, 1, id);
  return mark;
}

void hsc_xwriter_stat_double(hsc_xwriter *w, const char *name, double value) {
  size_t mark = begin_stat(w, name);
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  // also zero: the member of the oneof says the kind
  hsc_wire_put_raw_varint(w->into, HSC_XSTAT_DOUBLE << 3 | HSC_WIRE_FIXED64);
  hsc_bytes_append(w->into, &bits, sizeof bits);
  hsc_wire_end(w->into, mark);
}

void hsc_xwriter_stat_uint(hsc_xwriter *w, const char *name, uint64_t value) {
  size_t mark = begin_stat(w, name);
  hsc_wire_put_varint(w->into, HSC_XSTAT_UINT, value);
  hsc_wire_end(w->into, mark);
}

void hsc_xwriter_stat_int(hsc_xwriter *w, const char *name, int64_t value) {
  size_t mark = begin_stat(w, name);
  hsc_wire_put_varint(w->into, HSC_XSTAT_INT, (uint64_t)value);
  hsc_wire_end(w->into, mark);
}

void hsc_xwriter_stat_text(hsc_xwriter *w, const char *name, hsc_view text) {
  size_t mark = begin_stat(w, name);
  put_text(w->into, HSC_XSTAT_TEXT, text);
  hsc_wire_end(w->into, mark);
}

void hsc_xwriter_stat_ref(hsc_xwriter *w, const char *name, hsc_view text) {
  int64_t ref = stat_id(w, text);
  size_t mark = begin_stat(w, name);
  hsc_wire_put_varint(w->into, HSC_XSTAT_REF, (uint64_t)ref);
  hsc_wire_end(w->into, mark);
}

void hsc_xwriter_stat_bytes(hsc_xwriter *w, const char *name, hsc_view bytes) {
  size_t mark = begin_stat(w, name);
  put_text(w->into, HSC_XSTAT_BYTES, bytes);
  hsc_wire_end(w->into, mark);
}

void hsc_xwriter_hostname(hsc_xwriter *w, const char *name) {
  hsc_wire_put_text(w->out, XSPACE_HOSTNAMES, name);
}

// ---- copying ------------------------------------------------------------------------------------

// Fields are copied by their bytes: from the end of the field before to their own.
void hsc_xwriter_copy_plane(hsc_xwriter *w,
                            const hsc_xplane *plane,
                            bool (*keep_line)(void *user, const hsc_xline *line),
                            void *user) {
  hsc_wire in = hsc_wire_of(plane->message);
  const uint8_t *last = in.p;
  if (!keep_line) {  // in one piece, up to where it is damaged: its length is known before
    for (hsc_wire_field f; hsc_wire_next(&in, &f);)
      last = in.p;
    put_text(w->out, XSPACE_PLANES,
             (hsc_view){plane->message.data, (size_t)((const char *)last - plane->message.data)});
    return;
  }
  size_t mark = hsc_wire_begin(w->out, XSPACE_PLANES);
  int32_t line = 0;
  for (hsc_wire_field f; hsc_wire_next(&in, &f); last = in.p) {
    bool is_line = f.number == XPLANE_LINES && f.type == HSC_WIRE_BYTES;
    const hsc_xline *what = is_line && line < plane->line_count ? &plane->lines[line] : NULL;
    line += is_line;
    if (what && !keep_line(user, what))
      continue;
    hsc_bytes_append(w->out, last, (size_t)(in.p - last));
  }
  hsc_wire_end(w->out, mark);
}

// The fields of a plane, without the events that keep_event (may be NULL) refuses.
static void copy_fields(hsc_xwriter *w,
                        const hsc_xplane *plane,
                        bool (*keep_event)(void *user, const hsc_xevent *event),
                        void *user) {
  hsc_wire in = hsc_wire_of(plane->message);
  const uint8_t *last = in.p;
  for (hsc_wire_field f; hsc_wire_next(&in, &f); last = in.p) {
    if (!keep_event || f.number != XPLANE_LINES || f.type != HSC_WIRE_BYTES) {
      hsc_bytes_append(w->out, last, (size_t)(in.p - last));
      continue;
    }
    size_t line_mark = hsc_wire_begin(w->out, XPLANE_LINES);
    hsc_wire line = hsc_wire_of(f.bytes);
    const uint8_t *begin = line.p;
    for (hsc_wire_field g; hsc_wire_next(&line, &g); begin = line.p) {
      bool is_event = g.number == XLINE_EVENTS && g.type == HSC_WIRE_BYTES;
      // its event as a line of its own
      hsc_xline alone = {.message = {(const char *)begin, (size_t)(line.p - begin)}};
      hsc_xevent_cursor at = hsc_xline_events(&alone);
      hsc_xevent event;
      if (is_event && hsc_xevent_next(&at, &event) && !keep_event(user, &event))
        continue;
      hsc_bytes_append(w->out, begin, (size_t)(line.p - begin));
    }
    hsc_wire_end(w->out, line_mark);
  }
}

void hsc_xwriter_copy_events(hsc_xwriter *w,
                             const hsc_xplane *plane,
                             bool (*keep_event)(void *user, const hsc_xevent *event),
                             void *user) {
  size_t mark = hsc_wire_begin(w->out, XSPACE_PLANES);
  copy_fields(w, plane, keep_event, user);
  hsc_wire_end(w->out, mark);
}

void hsc_xwriter_extend_plane(hsc_xwriter *w,
                              const hsc_xplane *plane,
                              bool (*keep_event)(void *user, const hsc_xevent *event),
                              void *user) {
  hsc_xwriter_begin_plane(w, 0, "");
  if (!w->out->failed)
    w->out->size = w->plane_mark;  // its fields are the plane's own
  copy_fields(w, plane, keep_event, user);
  for (int32_t i = 0; i < plane->event_meta_count; i++)
    if (plane->event_metas[i].id >= w->next_event_meta && plane->event_metas[i].id < INT64_MAX)
      w->next_event_meta = plane->event_metas[i].id + 1;
  for (int32_t i = 0; i < plane->stat_meta_count; i++) {
    const hsc_xstat_meta *meta = &plane->stat_metas[i];
    if (meta->id >= w->next_stat_meta && meta->id < INT64_MAX)
      w->next_stat_meta = meta->id + 1;
    if (w->stat_ids && meta->id && !hsc_map_get(w->stat_ids, meta->name))
      fail(w, hsc_map_put(w->stat_ids, meta->name, (void *)(intptr_t)meta->id));
  }
}

void hsc_xwriter_copy_rest(hsc_xwriter *w, const hsc_xspace *space) {
  hsc_wire in = hsc_wire_of(space->bytes);
  const uint8_t *last = in.p;
  for (hsc_wire_field f; hsc_wire_next(&in, &f); last = in.p)
    if (f.number != XSPACE_PLANES || f.type != HSC_WIRE_BYTES)
      hsc_bytes_append(w->out, last, (size_t)(in.p - last));
}
