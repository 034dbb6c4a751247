// xspace_read.c - opens an XSpace: one walk over the planes, in which lines are stepped over by
// their length and metadata are indexed by number.
//
// Nothing is decoded twice and nothing is copied. The order of fields in the file does not matter:
// lines come before the metadata that they refer to in what XLA writes, so events are decoded only
// when a cursor asks.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/spill.h"
#include "base/files/file_io.h"
#include "trace/xspace.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
static const size_t unpacked_limit_bytes = (size_t)16 << 30;
// files up to here are brought into memory at once, which costs a tenth of faults by page
static const size_t whole_limit_bytes = (size_t)256 << 20;

// ---- the wire, read as far as it goes -----------------------------------------------------------

typedef struct field {
  uint32_t number, type;
  uint64_t value;
  hsc_view bytes;
  bool cut;  // its length goes beyond the end: bytes are what there is
} field;

// The position after the varint, or NULL. Bits beyond the 64th are dropped, as protobuf's own
// readers do.
static inline const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, uint64_t *out) {
  if (p < end && *p < 0x80) {
    *out = *p;
    return p + 1;
  }
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && p < end; shift += 7) {
    uint8_t byte = *p++;
    if (shift < 64)
      value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *out = value;
      return p;
    }
  }
  return NULL;
}

// The position after the field, or NULL at the end and where bytes make no sense.
static const uint8_t *read_field(const uint8_t *p, const uint8_t *end, field *out) {
  uint64_t tag;
  uint64_t value = 0;
  if (p >= end || !(p = read_varint(p, end, &tag)) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return NULL;
  out->number = (uint32_t)(tag >> 3);
  out->type = tag & 7;
  out->bytes = (hsc_view){0};
  out->cut = false;
  size_t fixed;
  if (out->type == WIRE_FIXED64)
    fixed = 8;
  else if (out->type == WIRE_FIXED32)
    fixed = 4;
  else
    fixed = 0;
  if (fixed) {
    if ((size_t)(end - p) < fixed)
      return NULL;
    for (size_t i = 0; i < fixed; i++)
      value |= (uint64_t)p[i] << (8 * i);
    out->value = value;
    return p + fixed;
  }
  if (out->type != WIRE_VARINT && out->type != WIRE_BYTES)
    return NULL;
  if (!(p = read_varint(p, end, &value)))
    return NULL;
  out->value = value;
  if (out->type == WIRE_VARINT)
    return p;
  out->cut = value > (uint64_t)(end - p);
  out->bytes = (hsc_view){(const char *)p, out->cut ? (size_t)(end - p) : (size_t)value};
  return p + out->bytes.size;
}

// ---- index of numbers ---------------------------------------------------------------------------

static inline uint64_t mix(int64_t key) {
  uint64_t x = (uint64_t)key * 0x9e3779b97f4a7c15u;
  return x ^ x >> 32;
}

int64_t hsc__xindex_find(const hsc_xindex *index, int64_t id) {
  for (uint64_t at = mix(id) & (index->slot_count - 1);; at = (at + 1) & (index->slot_count - 1)) {
    if (!index->slots[at])
      return -1;
    if (index->keys[at] == id)
      return (int64_t)index->slots[at] - 1;
  }
}

// ids are read at items + i * stride. Of two with the same number the later counts, as in a
// protobuf map.
static hsc_status *index_make(
    hsc_arena *arena, hsc_xindex *index, const void *items, size_t stride, int32_t count) {
  int64_t highest = -1;
  bool negative = false;
  for (int32_t i = 0; i < count; i++) {
    int64_t id = *(const int64_t *)((const char *)items + stride * (size_t)i);
    if (id > highest)
      highest = id;
    negative |= id < 0;
  }
  *index = (hsc_xindex){0};
  bool dense = !negative && highest < 4 * (int64_t)count + (1 << 18);
  uint64_t slots = dense ? (uint64_t)(highest + 1) : 16;
  while (!dense && slots < 2 * (uint64_t)count)
    slots *= 2;
  index->slots = HSC_NEW_ARRAY(arena, uint32_t, slots + 1);
  if (!dense)
    index->keys = HSC_NEW_ARRAY(arena, int64_t, slots);
  HSC_TRY(hsc_arena_status(arena));
  index->slot_count = slots;
  for (int32_t i = 0; i < count; i++) {
    int64_t id = *(const int64_t *)((const char *)items + stride * (size_t)i);
    uint64_t at = dense ? (uint64_t)id : mix(id) & (slots - 1);
    if (!dense) {
      while (index->slots[at] && index->keys[at] != id)
        at = (at + 1) & (slots - 1);
      index->keys[at] = id;
    }
    index->slots[at] = (uint32_t)i + 1;
  }
  return NULL;
}

int64_t hsc_xplane_stat_id(const hsc_xplane *plane, const char *name) {
  for (int32_t i = 0; i < plane->stat_meta_count; i++)
    if (hsc_view_equals_text(plane->stat_metas[i].name, name))
      return plane->stat_metas[i].id;
  return -1;
}

const hsc_xplane *hsc_xspace_plane(const hsc_xspace *space, const char *name) {
  for (int32_t i = 0; i < space->plane_count; i++)
    if (hsc_view_equals_text(space->planes[i].name, name))
      return &space->planes[i];
  return NULL;
}

// ---- planes -------------------------------------------------------------------------------------

typedef struct reader {
  hsc_xspace *space;
  const uint8_t *begin;
} reader;

// The first damage is the one that is reported.
static void damage(reader *r, const uint8_t *at, const char *where) {
  if (r->space->damage)
    return;
  size_t byte = (size_t)(at - r->begin);
  bool at_end = byte >= r->space->bytes.size;
  r->space->damage = hsc_arena_printf(
      r->space->arena,
      at_end ? "the file ends in the middle of %s (byte %zu of %zu): what is before was read"
             : "malformed bytes in %s (byte %zu of %zu): the rest of it was left out",
      where, byte, r->space->bytes.size);
}

// A value of a metadata map: {key = 1, value = 2}. False when there is no value.
static bool map_entry(hsc_view entry, int64_t *out_key, hsc_view *out_value) {
  const uint8_t *p = (const uint8_t *)entry.data;
  const uint8_t *end = p + entry.size;
  *out_key = 0;
  *out_value = (hsc_view){0};
  for (field f; (p = read_field(p, end, &f));) {
    if (f.number == 1 && f.type == WIRE_VARINT)
      *out_key = (int64_t)f.value;
    else if (f.number == 2 && f.type == WIRE_BYTES)
      *out_value = f.bytes;
  }
  return true;
}

static hsc_xevent_meta event_meta_of(int64_t key, hsc_view message) {
  hsc_xevent_meta meta = {.id = key, .message = message};
  const uint8_t *p = (const uint8_t *)message.data;
  const uint8_t *end = p ? p + message.size : p;
  for (field f; (p = read_field(p, end, &f));) {
    if (f.type != WIRE_BYTES)
      continue;
    if (f.number == 2)
      meta.name = f.bytes;
    else if (f.number == 3)
      meta.metadata = f.bytes;
    else if (f.number == 4)
      meta.display_name = f.bytes;
    else if (f.number == HSC_XEVENT_META_STATS)
      meta.has_stats = true;
  }
  return meta;
}

static hsc_xstat_meta stat_meta_of(int64_t key, hsc_view message) {
  hsc_xstat_meta meta = {.id = key};
  const uint8_t *p = (const uint8_t *)message.data;
  const uint8_t *end = p ? p + message.size : p;
  for (field f; (p = read_field(p, end, &f));) {
    if (f.number == 2 && f.type == WIRE_BYTES)
      meta.name = f.bytes;
    else if (f.number == 3 && f.type == WIRE_BYTES)
      meta.description = f.bytes;
  }
  return meta;
}

// The fields before the first event hold all there is in what XLA writes, but any order is legal,
// so the whole line is looked through by lengths.
static hsc_xline line_of(hsc_view message) {
  hsc_xline line = {.message = message};
  const uint8_t *p = (const uint8_t *)message.data;
  const uint8_t *end = p ? p + message.size : p;
  while (p < end) {
    if (*p == 0x22) {  // an event: stepped over
      uint64_t size;
      const uint8_t *body = read_varint(p + 1, end, &size);
      if (!body || size > (uint64_t)(end - body))
        break;
      p = body + size;
      continue;
    }
    field f;
    if (!(p = read_field(p, end, &f)))
      break;
    switch (f.number) {
      case 1:
        line.id = (int64_t)f.value;
        break;
      case 2:
        line.name = f.bytes;
        break;
      case 3:
        line.timestamp_ns = (int64_t)f.value;
        break;
      case 9:
        line.duration_ps = (int64_t)f.value;
        break;
      case 10:
        line.display_id = (int64_t)f.value;
        break;
      case 11:
        line.display_name = f.bytes;
        break;
      default:
        break;
    }
  }
  return line;
}

static hsc_status *read_plane(reader *r, hsc_xplane *plane) {
  const uint8_t *begin = (const uint8_t *)plane->message.data;
  const uint8_t *end = begin ? begin + plane->message.size : begin;
  int32_t lines = 0;
  int32_t events = 0;
  int32_t stats = 0;
  for (int pass = 0; pass < 2; pass++) {  // count, then fill
    const uint8_t *p = begin;
    const uint8_t *last = begin;
    lines = events = stats = 0;
    for (field f; (p = read_field(p, end, &f)); last = p) {
      if (f.cut && pass == 0)
        damage(r, end, f.number == 3 ? "a line of events" : "a plane");
      if (f.type == WIRE_VARINT && f.number == 1)
        plane->id = (int64_t)f.value;
      if (f.type != WIRE_BYTES)
        continue;
      if (f.number == 2)
        plane->name = f.bytes;
      if (f.number == 3) {
        if (pass) {
          plane->lines[lines] = line_of(f.bytes);
          hsc_xspace_done_with(r->space, f.bytes);
        }
        lines++;
      } else if (f.number == 4 || f.number == 5) {
        int64_t key;
        hsc_view value;
        if (pass)
          map_entry(f.bytes, &key, &value);
        if (f.number == 4 && pass)
          plane->event_metas[events] = event_meta_of(key, value);
        if (f.number == 5 && pass)
          plane->stat_metas[stats] = stat_meta_of(key, value);
        events += f.number == 4;
        stats += f.number == 5;
      }
      if (lines == INT32_MAX || events == INT32_MAX || stats == INT32_MAX)
        break;
    }
    if (pass)
      break;
    if (last < end)
      damage(r, last, "a plane");
    plane->lines = HSC_NEW_ARRAY(r->space->arena, hsc_xline, lines + 1);
    plane->event_metas = HSC_NEW_ARRAY(r->space->arena, hsc_xevent_meta, events + 1);
    plane->stat_metas = HSC_NEW_ARRAY(r->space->arena, hsc_xstat_meta, stats + 1);
    HSC_TRY(hsc_arena_status(r->space->arena));
  }
  plane->line_count = lines;
  plane->event_meta_count = events;
  plane->stat_meta_count = stats;
  HSC_TRY(index_make(r->space->arena, &plane->event_index, plane->event_metas,
                     sizeof *plane->event_metas, events));
  return index_make(r->space->arena, &plane->stat_index, plane->stat_metas,
                    sizeof *plane->stat_metas, stats);
}

static hsc_status *not_a_profile(const char *path, hsc_view bytes) {
  const char *looks = "";
  if (bytes.size == 0)
    looks = ": the file is empty";
  else if (bytes.data[0] == '{' || bytes.data[0] == '[')
    looks = ": it looks like JSON";
  else if (bytes.size > 8 && !memcmp(bytes.data, "HSCRING1", 8))
    looks = ": it is a ring file of hloscope";
  else if (bytes.size > 9 && !memcmp(bytes.data, "HloModule", 9))
    looks = ": it is an HLO program";
  return hsc_status_hint(HSC_ERR(DATA_LOSS, "%s is no profile (XSpace)%s", path, looks),
                         "profiles are made by `hloscope profile`, jax.profiler.trace or "
                         "torch_xla's profiler; they are called HOST.xplane.pb");
}

static hsc_status *read_space(hsc_xspace *space) {
  reader r = {.space = space, .begin = (const uint8_t *)space->bytes.data};
  const uint8_t *end = r.begin + space->bytes.size;
  int32_t counts[5] = {0};
  hsc_view *texts[5] = {0};
  for (int pass = 0; pass < 2; pass++) {
    const uint8_t *p = r.begin;
    const uint8_t *last = p;
    memset(counts, 0, sizeof counts);
    for (field f; p < end && (p = read_field(p, end, &f)); last = p) {
      if (f.type != WIRE_BYTES || f.number > 4) {
        if (f.number > 4 && f.number < 64)
          continue;  // a field of a later version
        break;
      }
      if (f.cut && pass == 0)
        damage(&r, end, f.number == 1 ? "a plane" : "a text");
      if (pass && f.number == 1)
        space->planes[counts[1]].message = f.bytes;
      if (pass && f.number > 1)
        texts[f.number][counts[f.number]] = f.bytes;
      counts[f.number]++;
    }
    if (pass)
      break;
    if (counts[1] == 0) {
      if (last == end && end > r.begin &&
          counts[2] + counts[3] + counts[4]) { /* a profile that holds only complaints */
      } else
        return not_a_profile(space->path, space->bytes);
    }
    // some writers count a NUL after it
    if (last < end && !(end - last == 1 && *last == 0))
      damage(&r, last, "the profile");
    space->planes = HSC_NEW_ARRAY(space->arena, hsc_xplane, counts[1] + 1);
    for (int i = 2; i <= 4; i++)
      texts[i] = HSC_NEW_ARRAY(space->arena, hsc_view, counts[i] + 1);
    HSC_TRY(hsc_arena_status(space->arena));
  }
  space->plane_count = counts[1];
  space->errors = texts[2];
  space->error_count = counts[2];
  space->warnings = texts[3];
  space->warning_count = counts[3];
  space->hostnames = texts[4];
  space->hostname_count = counts[4];
  for (int32_t i = 0; i < space->plane_count; i++)
    HSC_TRY(read_plane(&r, &space->planes[i]));
  return NULL;
}

// ---- opening ------------------------------------------------------------------------------------

static hsc_status *map_file(hsc_xspace *space) {
  int file = open(space->path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return hsc_status_errno(errno, "cannot open", space->path);
  struct stat info;
  hsc_status *status = NULL;
  if (fstat(file, &info)) {
    status = hsc_status_errno(errno, "cannot read", space->path);
  } else if (S_ISREG(info.st_mode) && info.st_size > 0) {
    bool whole = (size_t)info.st_size <= whole_limit_bytes;
    void *memory = mmap(NULL, (size_t)info.st_size, PROT_READ,
                        MAP_PRIVATE | (whole ? MAP_POPULATE : 0), file, 0);
    if (memory == MAP_FAILED) {
      status = hsc_status_errno(errno, "cannot map", space->path);
    } else {
      space->mapping = memory;
      hsc_spill_watch(memory, (size_t)info.st_size);
      space->mapping_bytes = (size_t)info.st_size;
      space->bytes = (hsc_view){memory, space->mapping_bytes};
    }
  } else {  // a pipe, or an empty file
    status = hsc_file_read(space->path, &space->owned);
    space->bytes = hsc_bytes_view(&space->owned);
  }
  close(file);
  return status;
}

static void unmap_file(hsc_xspace *space) {
  if (!space->mapping)
    return;
  hsc_spill_forget(space->mapping);
  munmap(space->mapping, space->mapping_bytes);
  space->mapping = NULL;
}

// What was unpacked before the data ended is kept: a file that was cut gives what it has.
static hsc_status *unpack(hsc_xspace *space) {
  hsc_bytes plain = {0};
  hsc_status *status = hsc_decompress(space->bytes, unpacked_limit_bytes, &plain);
  if (status && hsc_status_code(status) == HSC_DATA_LOSS && plain.size > 0) {
    space->damage = hsc_arena_printf(space->arena, "%s: what was unpacked before that was read",
                                     hsc_status_message(status));
    hsc_status_free(status);
    status = NULL;
  }
  if (status) {
    hsc_bytes_deinit(&plain);
    return hsc_status_note(status, "while: unpacking %s as a profile", space->path);
  }
  unmap_file(space);
  hsc_bytes_deinit(&space->owned);
  space->owned = plain;
  space->bytes = hsc_bytes_view(&space->owned);
  return NULL;
}

static hsc_status *make(const char *path, hsc_xspace **out_space) {
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_xspace *space = hsc_alloc(sizeof *space);
  if (!space) {
    hsc_arena_destroy(arena);
    return hsc_status_out_of_memory();
  }
  space->arena = arena;
  space->path = hsc_arena_strdup(arena, path ? path : "profile");
  *out_space = space;
  return hsc_arena_status(arena);
}

static hsc_status *finish(hsc_status *status, hsc_xspace *space, hsc_xspace **out_space) {
  if (!status && hsc_is_packed(space->bytes))
    status = unpack(space);
  if (!status)
    status = read_space(space);
  if (!status)
    status = hsc_arena_status(space->arena);
  if (status) {
    hsc_xspace_close(space);
    space = NULL;
  }
  *out_space = space;
  return status;
}

hsc_status *hsc_xspace_open(const char *path, hsc_xspace **out_space) {
  hsc_xspace *space = NULL;
  *out_space = NULL;
  HSC_TRY(make(path, &space));
  return finish(map_file(space), space, out_space);
}

hsc_status *hsc_xspace_of(hsc_view bytes, const char *path, hsc_xspace **out_space) {
  hsc_xspace *space = NULL;
  *out_space = NULL;
  HSC_TRY(make(path, &space));
  space->bytes = bytes.data ? bytes : (hsc_view){"", 0};
  return finish(NULL, space, out_space);
}

void hsc_xspace_close(hsc_xspace *space) {
  if (!space)
    return;
  unmap_file(space);
  hsc_bytes_deinit(&space->owned);
  hsc_arena_destroy(space->arena);
  hsc_free(space);
}

static void advise(const hsc_xspace *space, hsc_view part, int advice) {
  if (!space->mapping || space->mapping_bytes <= whole_limit_bytes || part.size < (size_t)1 << 20)
    return;
  uintptr_t page = 4096;
  uintptr_t begin = ((uintptr_t)part.data + page - 1) & ~(page - 1);
  uintptr_t end = ((uintptr_t)part.data + part.size) & ~(page - 1);
  if (end > begin)
    madvise((void *)begin, end - begin, advice);
}

void hsc_xspace_need(const hsc_xspace *space, hsc_view part) {
  advise(space, part, MADV_WILLNEED);
}
void hsc_xspace_done_with(const hsc_xspace *space, hsc_view part) {
  advise(space, part, MADV_DONTNEED);
}

// ---- events -------------------------------------------------------------------------------------

static inline bool decode_event(const uint8_t *p, const uint8_t *end, hsc_xevent *out) {
  out->message = (hsc_view){(const char *)p, (size_t)(end - p)};
  out->metadata_id = out->offset_ps = out->duration_ps = out->occurrences = 0;
  out->has_stats = false;
  while (p < end) {
    uint8_t tag = *p;
    uint64_t value;
    if ((tag & 7) == WIRE_VARINT && tag < 0x30) {
      if (!(p = read_varint(p + 1, end, &value)))
        return false;
      if (tag == 0x08)
        out->metadata_id = (int64_t)value;
      else if (tag == 0x10)
        out->offset_ps = (int64_t)value;
      else if (tag == 0x18)
        out->duration_ps = (int64_t)value;
      else if (tag == 0x28)
        out->occurrences = (int64_t)value;
    } else if (tag == 0x22) {
      out->has_stats = true;
      if (!(p = read_varint(p + 1, end, &value)) || value > (uint64_t)(end - p))
        return false;
      p += value;
    } else {
      field f;
      if (!(p = read_field(p, end, &f)) || f.cut)
        return false;
    }
  }
  return true;
}

bool hsc__xevent_next_slow(hsc_xevent_cursor *at, hsc_xevent *out_event) {
  const uint8_t *p = at->p;
  const uint8_t *end = at->end;
  while (p < end) {
    if (*p == 0x22) {
      uint64_t size;
      const uint8_t *body = read_varint(p + 1, end, &size);
      if (!body || size > (uint64_t)(end - body) || !decode_event(body, body + size, out_event))
        break;
      at->p = body + size;
      return true;
    }
    field f;
    if (!(p = read_field(p, end, &f)))
      break;
  }
  at->p = end;
  return false;
}

// ---- stats --------------------------------------------------------------------------------------

hsc_xstat_cursor hsc_xstats_of(hsc_view message, uint32_t number) {
  const uint8_t *p = (const uint8_t *)message.data;
  return (hsc_xstat_cursor){p, p ? p + message.size : p, number};
}

static bool decode_stat(const uint8_t *p, const uint8_t *end, hsc_xstat *out) {
  *out = (hsc_xstat){0};
  while (p < end) {
    uint64_t value;
    if (*p == 0x08) {
      if (!(p = read_varint(p + 1, end, &value)))
        return false;
      out->metadata_id = (int64_t)value;
      continue;
    }
    field f;
    if (!(p = read_field(p, end, &f)) || f.cut)
      return false;
    bool is_bytes = f.type == WIRE_BYTES;
    switch (f.number) {
      case HSC_XSTAT_DOUBLE:
        if (f.type != WIRE_FIXED64)
          continue;
        memcpy(&out->d, &f.value, sizeof out->d);
        break;
      case HSC_XSTAT_UINT:
      case HSC_XSTAT_INT:
      case HSC_XSTAT_REF:
        if (f.type != WIRE_VARINT)
          continue;
        out->u = f.value;
        break;
      case HSC_XSTAT_TEXT:
      case HSC_XSTAT_BYTES:
      case HSC_XSTAT_COMPRESSED_TEXT:
        if (!is_bytes)
          continue;
        out->bytes = f.bytes;
        break;
      default:
        continue;
    }
    out->kind = (hsc_xstat_kind)f.number;
  }
  return true;
}

bool hsc_xstat_next(hsc_xstat_cursor *at, hsc_xstat *out_stat) {
  const uint8_t *p = at->p;
  for (field f; p < at->end && (p = read_field(p, at->end, &f));) {
    if (f.number != at->field || f.type != WIRE_BYTES || f.cut)
      continue;
    const uint8_t *body = (const uint8_t *)f.bytes.data;
    if (!decode_stat(body, body + f.bytes.size, out_stat))
      continue;
    at->p = p;
    return true;
  }
  at->p = at->end;
  return false;
}

bool hsc_xstat_find(hsc_view message, uint32_t number, int64_t metadata_id, hsc_xstat *out_stat) {
  if (metadata_id < 0)
    return false;
  hsc_xstat_cursor at = hsc_xstats_of(message, number);
  while (hsc_xstat_next(&at, out_stat))
    if (out_stat->metadata_id == metadata_id)
      return true;
  return false;
}

hsc_view hsc_xstat_text(const hsc_xplane *plane, const hsc_xstat *stat) {
  if (stat->kind == HSC_XSTAT_TEXT)
    return stat->bytes;
  if (stat->kind != HSC_XSTAT_REF)
    return (hsc_view){0};
  const hsc_xstat_meta *meta = hsc_xplane_stat_meta(plane, (int64_t)stat->u);
  return meta ? meta->name : (hsc_view){0};
}

double hsc_xstat_number(const hsc_xstat *stat) {
  switch (stat->kind) {
    case HSC_XSTAT_DOUBLE:
      return stat->d;
    case HSC_XSTAT_UINT:
    case HSC_XSTAT_REF:
      return (double)stat->u;
    case HSC_XSTAT_INT:
      return (double)stat->i;
    default:
      return NAN;
  }
}

int64_t hsc_xstat_int(const hsc_xstat *stat) {
  switch (stat->kind) {
    case HSC_XSTAT_DOUBLE:
      return stat->d >= -9.2e18 && stat->d <= 9.2e18 ? (int64_t)stat->d : 0;
    case HSC_XSTAT_UINT:
    case HSC_XSTAT_REF:
    case HSC_XSTAT_INT:
      return stat->i;
    default:
      return 0;
  }
}

hsc_view hsc_xplane_shown_name(const hsc_xplane *plane) {
  hsc_xstat stat;
  int64_t own = hsc_xplane_stat_id(plane, "hloscope_device");
  if (own < 0 || !hsc_xstat_find(plane->message, HSC_XPLANE_STATS, own, &stat))
    return plane->name;
  hsc_view name = hsc_xstat_text(plane, &stat);
  return name.size ? name : plane->name;
}
