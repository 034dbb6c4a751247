// xspace_merge.c - the parts of one process's profile as one.
//
// A profile that is written in parts (src/pjrt/tracer_profile.c, python/hloscope/site) has each
// plane and each line once in every part. Readers want them once: a line's events are put behind
// each other, on the clock of the first part. Every part has numbers of its own for names of stats
// and of events; stats are joined by their name, events where all that is said of them is the same.
// Planes without lines (programs, by their numbers) keep the numbers that they have.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "base/wire/wire.h"
#include "trace/xspace.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  PLANE_FIELD = 1,
  PLANE_LINES = 3,
  PLANE_EVENT_METAS = 4,
  PLANE_STAT_METAS = 5,
  LINE_TIMESTAMP = 3,
  LINE_EVENTS = 4,
  EVENT_META = 1,
  EVENT_OFFSET = 2,
  META_ID = 1,
  META_CHILD = 6,
};

typedef struct merger {
  const hsc_xspace_part *parts;
  int32_t count;
  hsc_bytes *out;
  hsc_arena *arena;  // of the plane that is written
  hsc_map *stats;    // of the plane: a stat's name -> its new number
  hsc_map *metas;    // of the plane: what is said of an event -> its new number
  hsc_bytes stat_metas, event_metas;
} merger;

static hsc_status *number_in(merger *m, hsc_map *map, hsc_view key, int64_t *out, bool *out_new) {
  *out = (int64_t)(intptr_t)hsc_map_get(map, key);
  *out_new = *out == 0;
  if (*out)
    return NULL;
  const char *kept = hsc_arena_strndup(m->arena, key.data ? key.data : "", key.size);
  *out = (int64_t)hsc_map_count(map) + 1;
  HSC_TRY(hsc_arena_status(m->arena));
  return hsc_map_put(map, (hsc_view){kept, key.size}, (void *)(intptr_t)*out);
}

// The new number of a part's stat; 0 for one without a name.
static hsc_status *stat_number(merger *m, const hsc_xplane *plane, int64_t id, int64_t *out) {
  const hsc_xstat_meta *meta = hsc_xplane_stat_meta(plane, id);
  bool is_new;
  *out = 0;
  if (!meta)
    return NULL;
  HSC_TRY(number_in(m, m->stats, meta->name, out, &is_new));
  if (!is_new)
    return NULL;
  size_t entry = hsc_wire_begin(&m->stat_metas, PLANE_STAT_METAS);
  hsc_wire_put_int(&m->stat_metas, 1, *out);
  size_t value = hsc_wire_begin(&m->stat_metas, 2);
  hsc_wire_put_int(&m->stat_metas, META_ID, *out);
  hsc_wire_put_bytes(&m->stat_metas, 2, meta->name.data, meta->name.size);
  if (meta->description.size)
    hsc_wire_put_bytes(&m->stat_metas, 3, meta->description.data, meta->description.size);
  hsc_wire_end(&m->stat_metas, value);
  hsc_wire_end(&m->stat_metas, entry);
  return NULL;
}

// A stat with the new numbers of its name and of a text that it refers to.
static hsc_status *put_stat(
    merger *m, const hsc_xplane *plane, uint32_t field, hsc_view stat, hsc_bytes *out) {
  size_t mark = hsc_wire_begin(out, field);
  hsc_wire in = hsc_wire_of(stat);
  const uint8_t *last = in.p;
  for (hsc_wire_field f; hsc_wire_next(&in, &f); last = in.p) {
    int64_t number;
    if (f.number != META_ID && f.number != HSC_XSTAT_REF) {
      hsc_bytes_append(out, last, (size_t)(in.p - last));
      continue;
    }
    HSC_TRY(stat_number(m, plane, (int64_t)f.value, &number));
    hsc_wire_put_varint(out, f.number, (uint64_t)number);
  }
  hsc_wire_end(out, mark);
  return NULL;
}

// What is said of an event, without its number; the number comes first where it is put.
static hsc_status *meta_number(merger *m, const hsc_xplane *plane, int64_t id, int64_t *out) {
  const hsc_xevent_meta *meta = hsc_xplane_event_meta(plane, id);
  hsc_bytes text = {0};
  bool is_new = false;
  hsc_status *status = NULL;
  *out = id;
  if (!meta)
    return NULL;
  hsc_wire in = hsc_wire_of(meta->message);
  const uint8_t *last = in.p;
  for (hsc_wire_field f; hsc_wire_next(&in, &f); last = in.p) {
    if (f.number == HSC_XEVENT_META_STATS && f.type == HSC_WIRE_BYTES)
      HSC_GOTO(put_stat(m, plane, f.number, f.bytes, &text));
    // numbers of children would be those of the part
    else if (f.number != META_ID && f.number != META_CHILD)
      hsc_bytes_append(&text, last, (size_t)(in.p - last));
  }
  HSC_GOTO(hsc_bytes_status(&text));
  if (plane->line_count)
    HSC_GOTO(number_in(m, m->metas, hsc_bytes_view(&text), out, &is_new));
  else
    is_new = true;  // the caller asks once for each
  if (is_new) {
    size_t entry = hsc_wire_begin(&m->event_metas, PLANE_EVENT_METAS);
    hsc_wire_put_int(&m->event_metas, 1, *out);
    size_t value = hsc_wire_begin(&m->event_metas, 2);
    hsc_wire_put_int(&m->event_metas, META_ID, *out);
    hsc_bytes_append(&m->event_metas, text.data, text.size);
    hsc_wire_end(&m->event_metas, value);
    hsc_wire_end(&m->event_metas, entry);
  }
done:
  hsc_bytes_deinit(&text);
  return status;
}

// ---- lines --------------------------------------------------------------------------------------

// Nanoseconds since the epoch: what a line begins with counts from there, or from the begin of its
// part.
static int64_t time_of(const hsc_xspace_part *part, const hsc_xline *line) {
  const int64_t a_year = (int64_t)365 * 24 * 3600 * 1000000000;
  return line->timestamp_ns > a_year ? line->timestamp_ns : part->begin_ns + line->timestamp_ns;
}

static hsc_status *put_event(merger *m, const hsc_xplane *plane, hsc_view event, int64_t later_ps) {
  size_t mark = hsc_wire_begin(m->out, LINE_EVENTS);
  hsc_wire in = hsc_wire_of(event);
  const uint8_t *last = in.p;
  int64_t offset_ps = 0;
  bool counts = false;  // an aggregated event has no time
  for (hsc_wire_field f; hsc_wire_next(&in, &f); last = in.p) {
    if (f.number == EVENT_META && f.type == HSC_WIRE_VARINT) {
      int64_t number;
      HSC_TRY(meta_number(m, plane, (int64_t)f.value, &number));
      hsc_wire_put_varint(m->out, EVENT_META, (uint64_t)number);
    } else if (f.number == EVENT_OFFSET && f.type == HSC_WIRE_VARINT) {
      offset_ps = (int64_t)f.value;
    } else if (f.number == HSC_XEVENT_STATS && f.type == HSC_WIRE_BYTES) {
      HSC_TRY(put_stat(m, plane, f.number, f.bytes, m->out));
    } else {
      counts |= f.number == 5;
      hsc_bytes_append(m->out, last, (size_t)(in.p - last));
    }
  }
  if (!counts && !__builtin_add_overflow(offset_ps, later_ps, &offset_ps))
    hsc_wire_put_varint(m->out, EVENT_OFFSET, (uint64_t)offset_ps);
  hsc_wire_end(m->out, mark);
  return NULL;
}

static hsc_status *put_events(merger *m,
                              const hsc_xplane *plane,
                              const hsc_xline *line,
                              int64_t later_ns) {
  hsc_xevent_cursor at = hsc_xline_events(line);
  int64_t later_ps;
  if (__builtin_mul_overflow(later_ns, 1000, &later_ps))
    later_ps = 0;
  for (hsc_xevent e; hsc_xevent_next(&at, &e);)
    HSC_TRY(put_event(m, plane, e.message, later_ps));
  return NULL;
}

static bool same_line(const hsc_xline *a, const hsc_xline *b) {
  return a->id == b->id && hsc_view_equals(a->name, b->name);
}

static const hsc_xplane *plane_named(const hsc_xspace *space, hsc_view name) {
  for (int32_t p = 0; p < space->plane_count; p++)
    if (hsc_view_equals(space->planes[p].name, name))
      return &space->planes[p];
  return NULL;
}

static bool has_line(const hsc_xplane *plane, const hsc_xline *line) {
  for (int32_t l = 0; plane && l < plane->line_count; l++)
    if (same_line(&plane->lines[l], line))
      return true;
  return false;
}

// The line of part `first`, which no earlier part has, with what later parts have on it.
static hsc_status *put_line(merger *m, hsc_view plane_name, int32_t first, const hsc_xline *line) {
  size_t mark = hsc_wire_begin(m->out, PLANE_LINES);
  hsc_wire in = hsc_wire_of(line->message);
  const uint8_t *last = in.p;
  int64_t begin_ns = time_of(&m->parts[first], line);
  int64_t zero_ns = begin_ns - line->timestamp_ns;
  // the first part's clock, also where the line comes with a later one
  if (zero_ns)
    zero_ns = m->parts[0].begin_ns;
  for (hsc_wire_field f; hsc_wire_next(&in, &f); last = in.p)
    if (f.number != LINE_EVENTS && f.number != LINE_TIMESTAMP)
      hsc_bytes_append(m->out, last, (size_t)(in.p - last));
  hsc_wire_put_int(m->out, LINE_TIMESTAMP, begin_ns - zero_ns);
  for (int32_t k = first; k < m->count; k++) {
    const hsc_xplane *plane = plane_named(m->parts[k].space, plane_name);
    for (int32_t l = 0; plane && l < plane->line_count; l++)
      if (same_line(&plane->lines[l], line))
        HSC_TRY(put_events(m, plane, &plane->lines[l],
                           time_of(&m->parts[k], &plane->lines[l]) - begin_ns));
  }
  hsc_wire_end(m->out, mark);
  return NULL;
}

// ---- planes -------------------------------------------------------------------------------------

// Stats of the plane itself: the first part's that has one of the name.
static hsc_status *put_plane_stats(merger *m, hsc_view name) {
  bool put[256] = {false};
  for (int32_t k = 0; k < m->count; k++) {
    const hsc_xplane *plane = plane_named(m->parts[k].space, name);
    hsc_wire in = hsc_wire_of(plane ? plane->message : (hsc_view){0});
    for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
      if (f.number != HSC_XPLANE_STATS || f.type != HSC_WIRE_BYTES)
        continue;
      hsc_wire stat = hsc_wire_of(f.bytes);
      int64_t number = 0;
      for (hsc_wire_field g; hsc_wire_next(&stat, &g);)
        if (g.number == META_ID)
          HSC_TRY(stat_number(m, plane, (int64_t)g.value, &number));
      if (number <= 0 || number >= (int64_t)HSC_COUNT_OF(put) || put[number])
        continue;
      put[number] = true;
      HSC_TRY(put_stat(m, plane, HSC_XPLANE_STATS, f.bytes, m->out));
    }
  }
  return NULL;
}

static hsc_status *put_plane(merger *m, hsc_view name) {
  size_t mark = hsc_wire_begin(m->out, PLANE_FIELD);
  int64_t number;
  for (int32_t k = 0, named = 0; k < m->count; k++) {
    const hsc_xplane *plane = plane_named(m->parts[k].space, name);
    if (!plane)
      continue;
    if (!named++) {
      hsc_wire_put_int(m->out, 1, plane->id);
      hsc_wire_put_bytes(m->out, 2, name.data, name.size);
    }
    for (int32_t l = 0; l < plane->line_count; l++) {
      bool known = false;
      for (int32_t before = 0; before < k && !known; before++)
        known = has_line(plane_named(m->parts[before].space, name), &plane->lines[l]);
      for (int32_t before = 0; before < l && !known; before++)
        known = same_line(&plane->lines[before], &plane->lines[l]);
      if (!known)
        HSC_TRY(put_line(m, name, k, &plane->lines[l]));
    }
    // what no event names: programs
    for (int32_t e = 0; !plane->line_count && e < plane->event_meta_count; e++) {
      bool known = false;
      for (int32_t before = 0; before < k && !known; before++) {
        const hsc_xplane *earlier = plane_named(m->parts[before].space, name);
        known = earlier && hsc_xplane_event_meta(earlier, plane->event_metas[e].id);
      }
      if (!known)
        HSC_TRY(meta_number(m, plane, plane->event_metas[e].id, &number));
    }
  }
  HSC_TRY(put_plane_stats(m, name));
  hsc_bytes_append(m->out, m->event_metas.data, m->event_metas.size);
  hsc_bytes_append(m->out, m->stat_metas.data, m->stat_metas.size);
  m->out->failed |= m->event_metas.failed || m->stat_metas.failed;
  hsc_wire_end(m->out, mark);
  return NULL;
}

// With tables of its own.
static hsc_status *merge_plane(merger *m, hsc_view name) {
  hsc_bytes_reset(&m->stat_metas);
  hsc_bytes_reset(&m->event_metas);
  hsc_status *status = hsc_arena_create(&m->arena);
  if (!status)
    status = hsc_map_create(&m->stats);
  if (!status)
    status = hsc_map_create(&m->metas);
  if (!status)
    status = put_plane(m, name);
  hsc_map_destroy(m->stats);
  hsc_map_destroy(m->metas);
  hsc_arena_destroy(m->arena);
  m->stats = m->metas = NULL;
  m->arena = NULL;
  return status;
}

hsc_status *hsc_xspace_merge(const hsc_xspace_part *parts, int32_t count, hsc_bytes *out) {
  merger m = {.parts = parts, .count = count, .out = out};
  hsc_status *status = NULL;
  for (int32_t k = 0; k < count && !status; k++)
    for (int32_t p = 0; p < parts[k].space->plane_count && !status; p++) {
      hsc_view name = parts[k].space->planes[p].name;
      bool known = false;
      for (int32_t before = 0; before < k && !known; before++)
        known = plane_named(parts[before].space, name) != NULL;
      if (!known && plane_named(parts[k].space, name) == &parts[k].space->planes[p])
        status = merge_plane(&m, name);
    }
  hsc_xwriter rest = {.out = out};
  for (int32_t k = 0; k < count; k++)
    if (k == 0 || parts[k].space->error_count || parts[k].space->warning_count)
      hsc_xwriter_copy_rest(&rest, parts[k].space);
  hsc_bytes_deinit(&m.stat_metas);
  hsc_bytes_deinit(&m.event_metas);
  return status ? status : hsc_bytes_status(out);
}

// ---- files --------------------------------------------------------------------------------------

static const char MARK[] = ".part";

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names of parts, sorted: those of one process follow each other, in their order.
static hsc_status *list_parts(const char *directory,
                              hsc_arena *arena,
                              const char ***out_names,
                              size_t *out_count) {
  const char **names = NULL;
  size_t room = 0;
  *out_count = 0;
  DIR *open = opendir(directory);
  if (!open)
    return hsc_status_errno(errno, "cannot be listed", directory);
  for (struct dirent *entry; (entry = readdir(open));) {
    if (!strstr(entry->d_name, MARK) || !hsc_ends_with(entry->d_name, ".xplane.pb"))
      continue;
    if (HSC_GROW_IN(arena, names, *out_count, room))
      names[(*out_count)++] = hsc_arena_strdup(arena, entry->d_name);
  }
  closedir(open);
  HSC_TRY(hsc_arena_status(arena));
  if (*out_count)
    qsort(names, *out_count, sizeof *names, by_text);
  *out_names = names;
  return NULL;
}

static size_t stem_of(const char *name) {
  return (size_t)(strstr(name, MARK) - name);
}

// "4711.part0002.1763898000000000000.xplane.pb"
static int64_t begin_of(const char *name) {
  const char *dot = strchr(strstr(name, MARK) + 1, '.');
  return dot ? strtoll(dot + 1, NULL, 10) : 0;
}

// Under a name that no reader looks for.
static hsc_status *set_aside(const char *path, hsc_arena *arena) {
  const char *to = hsc_arena_printf(arena, "%s.damaged", path);
  if (to && rename(path, to))
    return hsc_status_errno(errno, "cannot be renamed", path);
  return hsc_arena_status(arena);
}

static hsc_status *write_merged(const char *to, const hsc_xspace_part *parts, int32_t count) {
  hsc_bytes merged = {0};
  hsc_status *status = hsc_xspace_merge(parts, count, &merged);
  if (!status)
    status = hsc_file_write_atomic(to, merged.data, merged.size);
  hsc_bytes_deinit(&merged);
  return status;
}

static hsc_status *join_set(const char *directory,
                            const char *const *names,
                            size_t count,
                            hsc_arena *arena,
                            hsc_xspace_joined *io_joined) {
  hsc_xspace_part *parts = HSC_NEW_ARRAY(arena, hsc_xspace_part, count);
  const char **joined = HSC_NEW_ARRAY(arena, const char *, count);
  const char *to =
      hsc_arena_printf(arena, "%s/%.*s.xplane.pb", directory, (int)stem_of(names[0]), names[0]);
  int32_t readable = 0;
  hsc_status *status = hsc_arena_status(arena);
  for (size_t i = 0; i < count && !status; i++) {
    hsc_xspace *space = NULL;
    const char *path = hsc_arena_printf(arena, "%s/%s", directory, names[i]);
    hsc_status *unread = path ? hsc_xspace_open(path, &space) : hsc_status_out_of_memory();
    hsc_status_free(unread);
    if (space) {
      joined[readable] = path;
      parts[readable++] = (hsc_xspace_part){.space = space, .begin_ns = begin_of(names[i])};
    } else if (path) {
      status = set_aside(path, arena);
    }
    io_joined->damaged += !space || space->damage;
  }
  io_joined->parts += (int32_t)count;
  if (!status && readable)
    status = write_merged(to, parts, readable);
  for (int32_t i = 0; i < readable; i++) {
    if (!status && parts[i].space->damage)
      status = set_aside(joined[i], arena);
    else if (!status)
      (void)unlink(joined[i]);
    hsc_xspace_close((hsc_xspace *)(uintptr_t)parts[i].space);
  }
  return status ? status : hsc_arena_status(arena);
}

hsc_status *hsc_xspace_join_parts(const char *directory, hsc_xspace_joined *out_joined) {
  hsc_arena *arena = NULL;
  const char **names = NULL;
  size_t count = 0;
  *out_joined = (hsc_xspace_joined){0};
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = list_parts(directory, arena, &names, &count);
  for (size_t first = 0, end; first < count && !status; first = end) {
    for (end = first + 1; end < count && stem_of(names[end]) == stem_of(names[first]) &&
                          !memcmp(names[end], names[first], stem_of(names[first]));)
      end++;
    status = join_set(directory, &names[first], end - first, arena, out_joined);
  }
  hsc_arena_destroy(arena);
  return status;
}
