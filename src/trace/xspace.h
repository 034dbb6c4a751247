// xspace.h - profiles as XLA writes them: XSpace, the protobuf of *.xplane.pb. Reading in place,
// and writing.
//
// A file is mapped, not loaded: an opened space holds planes, lines and metadata as views into it,
// and events are decoded one by one by a cursor, so that a million of them cost milliseconds and no
// memory. Files over 2 GiB are fine. gzip and zstd are unpacked in memory first.
//
//   hsc_xspace *space;
//   HSC_TRY(hsc_xspace_open("host.xplane.pb", &space));
//   for (int i = 0; i < space->plane_count; i++) {
//     const hsc_xplane *plane = &space->planes[i];
//     for (int k = 0; k < plane->line_count; k++) {
//       hsc_xevent_cursor at = hsc_xline_events(&plane->lines[k]);
//       for (hsc_xevent e; hsc_xevent_next(&at, &e);) use(hsc_xplane_event_meta(plane,
//       e.metadata_id), e.offset_ps, e.duration_ps);
//     }
//   }
//   hsc_xspace_close(space);
//
// Foreign bytes are never trusted. A file that ends too early, or has malformed bytes inside a
// plane, gives what can be read before that; `damage` says where. Times: a line starts at
// timestamp_ns (since the epoch, or since the profile's start: both occur), events are picoseconds
// after that.
// Threads: an opened space is read-only; any number of threads may read it.
// Source: tensorflow/tsl/profiler/protobuf/xplane.proto; what real files hold is reported in
// docs/formats/xspace.md.
#pragma once

#include "base/core/bytes.h"
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/core/status.h"

typedef enum hsc_xstat_kind {  // the member of XStat's oneof; the values are the field numbers
  HSC_XSTAT_NONE = 0,
  HSC_XSTAT_DOUBLE = 2,
  HSC_XSTAT_UINT = 3,
  HSC_XSTAT_INT = 4,
  HSC_XSTAT_TEXT = 5,
  HSC_XSTAT_BYTES = 6,
  HSC_XSTAT_REF = 7,              // the number of a stat's metadata, whose name is the text
  HSC_XSTAT_COMPRESSED_TEXT = 8,  // gzip
} hsc_xstat_kind;

typedef struct hsc_xstat {
  int64_t metadata_id;
  hsc_xstat_kind kind;
  union {
    double d;
    uint64_t u;  // UINT, REF
    int64_t i;
  };
  hsc_view bytes;  // TEXT, BYTES, COMPRESSED_TEXT; borrowed
} hsc_xstat;

typedef struct hsc_xstat_meta {
  int64_t id;
  hsc_view name, description;
} hsc_xstat_meta;

typedef struct hsc_xevent_meta {
  int64_t id;
  hsc_view name, display_name;
  hsc_view metadata;  // bytes that only their maker understands
  hsc_view message;   // the whole XEventMetadata: for its stats and child ids
  bool has_stats;
} hsc_xevent_meta;

typedef struct hsc_xline {
  int64_t id, display_id;
  hsc_view name, display_name;
  int64_t timestamp_ns, duration_ps;
  hsc_view message;  // the whole XLine: for its events
} hsc_xline;

// Numbers to positions: a table when the numbers are small, else hashed. 0 = not there, else
// position + 1.
typedef struct hsc_xindex {
  uint32_t *slots;
  int64_t *keys;        // NULL: slots are indexed by the number itself
  uint64_t slot_count;  // hashed: a power of two
} hsc_xindex;

typedef struct hsc_xplane {
  int64_t id;
  hsc_view name;
  hsc_view message;  // the whole XPlane: for its stats, and to write it again
  hsc_xline *lines;  // [line_count] as they stand in the file
  int32_t line_count;
  hsc_xevent_meta *event_metas;  // [event_meta_count]
  int32_t event_meta_count;
  hsc_xstat_meta *stat_metas;  // [stat_meta_count]
  int32_t stat_meta_count;
  hsc_xindex event_index, stat_index;
} hsc_xplane;

typedef struct hsc_xspace {
  hsc_arena *arena;
  const char *path;
  hsc_view bytes;      // the whole XSpace
  hsc_xplane *planes;  // [plane_count]
  int32_t plane_count;
  const hsc_view *errors, *warnings, *hostnames;
  int32_t error_count, warning_count, hostname_count;
  const char *damage;  // what could not be read and where; NULL = nothing
  void *mapping;       // NULL when the bytes are in `owned`
  size_t mapping_bytes;
  hsc_bytes owned;
} hsc_xspace;

// Errors: NOT_FOUND, PERMISSION_DENIED, DATA_LOSS (nothing of it is an XSpace, says what it looks
// like), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_xspace_open(const char *path, hsc_xspace **out_space);
// Of bytes that the caller keeps alive. `path` is for messages; NULL = "profile".
HSC_MUST_USE hsc_status *hsc_xspace_of(hsc_view bytes, const char *path, hsc_xspace **out_space);
void hsc_xspace_close(hsc_xspace *space);
// Tells the system that a part of a large mapped file will be read now, or is not needed any more
// (a line that was walked), so that a file of many GiB stays out of memory. Small files are in
// memory as a whole.
void hsc_xspace_need(const hsc_xspace *space, hsc_view part);
void hsc_xspace_done_with(const hsc_xspace *space, hsc_view part);

// the first of this name; NULL = none
const hsc_xplane *hsc_xspace_plane(const hsc_xspace *space, const char *name);
// position, -1 = none
int64_t hsc__xindex_find(const hsc_xindex *index, int64_t id);
static inline int64_t hsc__xindex_at(const hsc_xindex *index, int64_t id) {
  if (!index->keys) {
    if ((uint64_t)id < index->slot_count)
      return (int64_t)index->slots[id] - 1;
    return -1;
  }
  return hsc__xindex_find(index, id);
}
// NULL = none
static inline const hsc_xevent_meta *hsc_xplane_event_meta(const hsc_xplane *plane, int64_t id) {
  int64_t at = hsc__xindex_at(&plane->event_index, id);
  return at < 0 ? NULL : &plane->event_metas[at];
}
// NULL = none
static inline const hsc_xstat_meta *hsc_xplane_stat_meta(const hsc_xplane *plane, int64_t id) {
  int64_t at = hsc__xindex_at(&plane->stat_index, id);
  return at < 0 ? NULL : &plane->stat_metas[at];
}
// number of the stat of this name; -1 = none
int64_t hsc_xplane_stat_id(const hsc_xplane *plane, const char *name);
// What the plane is called where people read it: the stat "hloscope_device" of our own devices,
// whose planes carry the name that viewers force on them (docs/formats/xspace.md); else its name.
hsc_view hsc_xplane_shown_name(const hsc_xplane *plane);

// The stats of a plane, a metadata or an event: those with field number `field` of `message`.
typedef struct hsc_xstat_cursor {
  const uint8_t *p, *end;
  uint32_t field;
} hsc_xstat_cursor;
enum { HSC_XPLANE_STATS = 6, HSC_XEVENT_STATS = 4, HSC_XEVENT_META_STATS = 5 };
hsc_xstat_cursor hsc_xstats_of(hsc_view message, uint32_t field);
bool hsc_xstat_next(hsc_xstat_cursor *at, hsc_xstat *out_stat);
// A stat may be twice on an event; the first counts.
bool hsc_xstat_find(hsc_view message, uint32_t field, int64_t metadata_id, hsc_xstat *out_stat);
// TEXT and REF; else empty
hsc_view hsc_xstat_text(const hsc_xplane *plane, const hsc_xstat *stat);
// DOUBLE, UINT, INT, REF; else NaN
double hsc_xstat_number(const hsc_xstat *stat);
// likewise, 0 for the others
int64_t hsc_xstat_int(const hsc_xstat *stat);

typedef struct hsc_xevent {
  int64_t metadata_id;
  int64_t offset_ps;  // since the line's start; 0 for aggregated events
  int64_t duration_ps;
  int64_t occurrences;  // aggregated events have this and no offset; 0 = a single one
  hsc_view message;     // the whole XEvent: for its stats
  bool has_stats;
} hsc_xevent;

typedef struct hsc_xevent_cursor {
  const uint8_t *p, *end;
} hsc_xevent_cursor;
static inline hsc_xevent_cursor hsc_xline_events(const hsc_xline *line) {
  const uint8_t *p = (const uint8_t *)line->message.data;
  return (hsc_xevent_cursor){p, p ? p + line->message.size : p};
}
// False at the end of the line, and where its bytes make no sense. The common case, an event of the
// four known fields, is decoded in place.
bool hsc__xevent_next_slow(hsc_xevent_cursor *at, hsc_xevent *out_event);
// The position after a varint of at most 8 bytes, with 8 bytes readable at p; NULL when it is
// longer.
static inline const uint8_t *hsc__xvarint(const uint8_t *p, uint64_t *out) {
  uint64_t w;
  memcpy(&w, p, 8);  // little-endian, as everywhere in hloscope
  uint64_t stops = ~w & 0x8080808080808080u;
  if (!stops)
    return NULL;
  int bits = __builtin_ctzll(stops) + 1;
  w &= bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
  w &= 0x7f7f7f7f7f7f7f7fu;
  // groups of 7 bits become groups of 14, 28, 56
  w = (w & 0x007f007f007f007fu) | (w & 0x7f007f007f007f00u) >> 1;
  w = (w & 0x00003fff00003fffu) | (w & 0x3fff00003fff0000u) >> 2;
  *out = (w & 0x0fffffffu) | (w & 0x0fffffff00000000u) >> 4;
  return p + bits / 8;
}
static inline bool hsc_xevent_next(hsc_xevent_cursor *at, hsc_xevent *out_event) {
  const uint8_t *p = at->p;
  if (at->end - p < 64 || p[0] != 0x22 || p[1] >= 0x80)
    return hsc__xevent_next_slow(at, out_event);
  const uint8_t *begin = p + 2;
  const uint8_t *end = begin + p[1];
  // the loads below may reach beyond the event
  if (at->end - end < 16)
    return hsc__xevent_next_slow(at, out_event);
  // by field number, 5 in place 0
  uint64_t fields[4] = {0};
  uint64_t value;
  bool has_stats = false;
  for (p = begin; p < end;) {
    uint8_t tag = *p;
    if (tag == 0x22) {
      has_stats = true;
      if (p[1] >= 0x80)
        return hsc__xevent_next_slow(at, out_event);
      p += 2 + p[1];
      continue;
    }
    if (tag == 0x28)
      tag = 0;
    else if (tag != 0x08 && tag != 0x10 && tag != 0x18)
      return hsc__xevent_next_slow(at, out_event);
    if (!(p = hsc__xvarint(p + 1, &value)))
      return hsc__xevent_next_slow(at, out_event);
    fields[tag >> 3] = value;
  }
  if (p != end)
    return hsc__xevent_next_slow(at, out_event);
  out_event->metadata_id = (int64_t)fields[1];
  out_event->offset_ps = (int64_t)fields[2];
  out_event->duration_ps = (int64_t)fields[3];
  out_event->occurrences = (int64_t)fields[0];
  out_event->message = (hsc_view){(const char *)begin, (size_t)(end - begin)};
  out_event->has_stats = has_stats;
  at->p = end;
  return true;
}

// ---- where profiles lie -------------------------------------------------------------------------

typedef struct hsc_xspace_files {
  const char **paths;  // [count] one per host, sorted; the arena's
  int32_t count;
  const char *run;   // name of the run that was taken, NULL when the path was a file
  const char *note;  // which of several runs this is; NULL = there was one
} hsc_xspace_files;
// `path` is a file, a directory with *.xplane.pb, or a log directory
// (LOGDIR/[...]/plugins/profile/RUN/HOST.xplane.pb), whose newest run is taken.
// Errors: NOT_FOUND, with what lies there instead and what to do with it.
HSC_MUST_USE hsc_status *hsc_xspace_find(const char *path,
                                         hsc_arena *arena,
                                         hsc_xspace_files *out_files);
// True when `path` is a profile rather than a capture of hloscope, judged by what is there; false
// for what does not exist.
bool hsc_xspace_is_at(const char *path);

// ---- writing ------------------------------------------------------------------------------------

// Writes an XSpace into a byte buffer, plane by plane. Numbers of metadata are given by the writer;
// names of stats are interned for each plane. Errors are sticky in the buffer: check
// hsc_bytes_status at the end.
//
//   hsc_xwriter w;
//   HSC_TRY(hsc_xwriter_init(&w, &out));
//   hsc_xwriter_begin_plane(&w, 1, "/device:TPU:0");
//   int64_t op = hsc_xwriter_begin_event_meta(&w, 0, "%add.1 = f32[4]{0} add(%x, %y)", "add.1");
//   hsc_xwriter_stat_uint(&w, "flops", 4);
//   hsc_xwriter_end_event_meta(&w);
//   hsc_xwriter_begin_line(&w, 3, "XLA Ops", 0);
//   hsc_xwriter_begin_event(&w, op, 1000, 5000);
//   hsc_xwriter_end_event(&w);
//   hsc_xwriter_end_line(&w);
//   hsc_xwriter_end_plane(&w);
//   hsc_xwriter_deinit(&w);
typedef struct hsc_xwriter {
  hsc_bytes *out;
  hsc_bytes metas;  // of the plane that is open: written after its lines
  hsc_bytes meta;   // the metadata that is open
  int64_t meta_id;
  hsc_map *stat_ids;  // of the plane: name -> number
  hsc_arena *names;
  hsc_bytes *into;      // where stats go: the plane, a metadata or an event
  uint32_t stat_field;  // their field number there
  size_t plane_mark, line_mark, event_mark;
  int64_t next_event_meta, next_stat_meta;
} hsc_xwriter;
HSC_MUST_USE hsc_status *hsc_xwriter_init(hsc_xwriter *w, hsc_bytes *out);
void hsc_xwriter_deinit(hsc_xwriter *w);
void hsc_xwriter_begin_plane(hsc_xwriter *w, int64_t id, const char *name);
void hsc_xwriter_end_plane(hsc_xwriter *w);
// `id` 0 takes the next free number. Gives the number. Stats that follow are the metadata's until
// its end.
int64_t hsc_xwriter_begin_event_meta(hsc_xwriter *w,
                                     int64_t id,
                                     const char *name,
                                     const char *display_name);
void hsc_xwriter_end_event_meta(hsc_xwriter *w);
void hsc_xwriter_begin_line(hsc_xwriter *w, int64_t id, const char *name, int64_t timestamp_ns);
// What people read in place of the line's name; before its first event.
void hsc_xwriter_line_display(hsc_xwriter *w, const char *name);
void hsc_xwriter_end_line(hsc_xwriter *w);
void hsc_xwriter_begin_event(hsc_xwriter *w,
                             int64_t metadata_id,
                             int64_t offset_ps,
                             int64_t duration_ps);
void hsc_xwriter_end_event(hsc_xwriter *w);
void hsc_xwriter_stat_double(hsc_xwriter *w, const char *name, double value);
void hsc_xwriter_stat_uint(hsc_xwriter *w, const char *name, uint64_t value);
void hsc_xwriter_stat_int(hsc_xwriter *w, const char *name, int64_t value);
void hsc_xwriter_stat_text(hsc_xwriter *w, const char *name, hsc_view text);
// interned: for texts that come often
void hsc_xwriter_stat_ref(hsc_xwriter *w, const char *name, hsc_view text);
void hsc_xwriter_stat_bytes(hsc_xwriter *w, const char *name, hsc_view bytes);
void hsc_xwriter_hostname(hsc_xwriter *w, const char *name);  // between planes

// Copies a plane as it is, unknown fields included, but for lines that `keep_line` refuses (NULL
// keeps all). Between planes.
void hsc_xwriter_copy_plane(hsc_xwriter *w,
                            const hsc_xplane *plane,
                            bool (*keep_line)(void *user, const hsc_xline *line),
                            void *user);
// The same, but for events that `keep_event` refuses.
void hsc_xwriter_copy_events(hsc_xwriter *w,
                             const hsc_xplane *plane,
                             bool (*keep_event)(void *user, const hsc_xevent *event),
                             void *user);
// Begins a plane that has all of `plane` already (but for the events that `keep_event`, which may
// be NULL, refuses): lines, metadata and stats that follow are added to it. `plane` must live until
// its end.
void hsc_xwriter_extend_plane(hsc_xwriter *w,
                              const hsc_xplane *plane,
                              bool (*keep_event)(void *user, const hsc_xevent *event),
                              void *user);
// Copies what a space holds besides its planes: errors, warnings, hostnames, fields that are not
// known here.
void hsc_xwriter_copy_rest(hsc_xwriter *w, const hsc_xspace *space);

// ---- parts of one profile -----------------------------------------------------------------------

typedef struct hsc_xspace_part {
  const hsc_xspace *space;
  int64_t begin_ns;  // since the epoch
} hsc_xspace_part;
// One profile of its parts, which one process wrote one after the other, in that order
// (xspace_merge.c). Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_xspace_merge(const hsc_xspace_part *parts,
                                          int32_t count,
                                          hsc_bytes *out);
typedef struct hsc_xspace_joined {
  int32_t parts, damaged;  // of all sets
} hsc_xspace_joined;
// Each set of parts in `directory` (NAME.partN.NANOSECONDS.xplane.pb) becomes NAME.xplane.pb there.
// A part that cannot be read, or not to its end, is counted and stays, as FILE.damaged; what can be
// read of it is joined. Errors: those of files, RESOURCE_EXHAUSTED; parts that are not joined then
// stay as they are.
HSC_MUST_USE hsc_status *hsc_xspace_join_parts(const char *directory,
                                               hsc_xspace_joined *out_joined);
