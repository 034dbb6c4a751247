// sink_perfetto.c - Perfetto's protobuf trace: TrackEvents with interned names, batches of packets
// deflated (TracePacket.compressed_packets).
// Format: github.com/google/perfetto
// protos/perfetto/trace/{trace_packet,track_event/*,interned_data/*}.proto; what the loader needs
// was measured on v52.
#include <zlib.h>

#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/wire/wire.h"
#include "trace/sink_internal.h"
#include "trace/sink_lanes.h"

// Field numbers of the protos.
enum { TRACE_PACKET = 1 };
enum {
  PACKET_TIMESTAMP = 8,
  PACKET_SEQUENCE_ID = 10,
  PACKET_TRACK_EVENT = 11,
  PACKET_INTERNED = 12,
  PACKET_SEQUENCE_FLAGS = 13,
  PACKET_COMPRESSED = 50,
  PACKET_TRACK = 60
};
enum {
  TRACK_UUID = 1,
  TRACK_NAME = 2,
  TRACK_PROCESS = 3,
  TRACK_THREAD = 4,
  TRACK_PARENT = 5,
  TRACK_COUNTER = 8
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum {
  EVENT_DEBUG = 4,
  EVENT_TYPE = 9,
  EVENT_NAME_IID = 10,
  EVENT_TRACK_UUID = 11,
  EVENT_CATEGORIES = 22,
  EVENT_COUNTER_DOUBLE = 44,
  EVENT_FLOW_IDS = 47,
  EVENT_FLOW_END_IDS = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { INTERNED_NAMES = 2, INTERNED_DEBUG_NAMES = 3, INTERNED_IID = 1, INTERNED_TEXT = 2 };
enum { DEBUG_NAME_IID = 1, DEBUG_UINT = 3, DEBUG_INT = 4, DEBUG_DOUBLE = 5, DEBUG_STRING = 6 };
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2, SEQUENCE = 1, BATCH_BYTES = 512 << 10 };

typedef struct open_span {
  int64_t end;
  uint64_t track;
} open_span;

typedef struct writer {
  hsc__sink_stream *stream;
  hsc_bytes batch;                   // packets that wait to be compressed
  hsc_bytes interned;                // new names of the packet that is being written
  hsc_map *names, *keys, *counters;  // text -> iid or counter track
  hsc_arena *arena;                  // keys of counters
  uint8_t *described;                // by thread: lanes whose tracks were written
  bool started;
  // heap of open_span, earliest end first: slices end in order of time
  hsc_bytes open;
} writer;

static uint64_t lane_track(int thread, int lane) {
  return 1ull << 32 | (uint64_t)(thread * HSC__MAX_LANES + lane);
}
static uint64_t process_track(int process) {
  return 2ull << 32 | (uint64_t)process;
}

static hsc_status *flush_batch(writer *w) {
  if (!w->batch.size)
    return NULL;
  HSC_TRY(hsc_bytes_status(&w->batch));
  uLongf size = compressBound(w->batch.size);
  hsc_bytes packet = {0};
  char *room = hsc_bytes_extend(&packet, size);
  if (!room)
    return hsc_status_out_of_memory();
  int code = compress2((Bytef *)room, &size, (const Bytef *)w->batch.data, w->batch.size, 1);
  hsc_bytes *out = &w->stream->buffer;
  size_t mark = hsc_wire_begin(out, TRACE_PACKET);
  hsc_wire_put_bytes(out, PACKET_COMPRESSED, room, size);
  hsc_wire_end(out, mark);
  hsc_bytes_deinit(&packet);
  hsc_bytes_reset(&w->batch);
  if (code != Z_OK)
    return HSC_ERR(INTERNAL, "perfetto: zlib says %s", zError(code));
  return hsc__sink_flush(w->stream, false);
}

static size_t begin_packet(writer *w, int64_t time_ns) {
  size_t mark = hsc_wire_begin(&w->batch, TRACE_PACKET);
  hsc_wire_put_varint(&w->batch, PACKET_TIMESTAMP, (uint64_t)(time_ns > 0 ? time_ns : 0));
  hsc_wire_put_varint(&w->batch, PACKET_SEQUENCE_ID, SEQUENCE);
  hsc_wire_put_varint(&w->batch, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS);
  return mark;
}

static hsc_status *end_packet(writer *w, size_t mark) {
  if (w->interned.size)
    hsc_wire_put_bytes(&w->batch, PACKET_INTERNED, w->interned.data, w->interned.size);
  hsc_bytes_reset(&w->interned);
  hsc_wire_end(&w->batch, mark);
  return w->batch.size < BATCH_BYTES ? NULL : flush_batch(w);
}

// The number of a text in `map`; a new one is announced in the current packet.
static hsc_status *intern(writer *w, hsc_map *map, int field, const char *text, uint64_t *out_iid) {
  uintptr_t iid = (uintptr_t)hsc_map_get(map, hsc_view_of(text));
  if (!iid) {
    iid = hsc_map_count(map) + 1;
    HSC_TRY(hsc_map_put(map, hsc_view_of(text), (void *)iid));
    size_t mark = hsc_wire_begin(&w->interned, (uint32_t)field);
    hsc_wire_put_varint(&w->interned, INTERNED_IID, iid);
    hsc_wire_put_text(&w->interned, INTERNED_TEXT, text);
    hsc_wire_end(&w->interned, mark);
  }
  *out_iid = iid;
  return NULL;
}

static hsc_status *put_attribute(writer *w, const hsc_event *e, const hsc_trace_attr *a) {
  const hsc_capture *capture = w->stream->capture;
  uint64_t iid;
  HSC_TRY(intern(w, w->keys, INTERNED_DEBUG_NAMES, hsc_capture_string(capture, e->process, a->key),
                 &iid));
  size_t mark = hsc_wire_begin(&w->batch, EVENT_DEBUG);
  hsc_wire_put_varint(&w->batch, DEBUG_NAME_IID, iid);
  if (a->type == HSC_ATTR_STRING) {
    const char *text = hsc_capture_string(capture, e->process, a->value.string);
    hsc_wire_put_bytes(&w->batch, DEBUG_STRING, text, strlen(text));
  } else if (a->type == HSC_ATTR_DOUBLE) {
    hsc_wire_put_double(&w->batch, DEBUG_DOUBLE, a->value.d);
  } else {
    hsc_wire_put_varint(&w->batch, a->type == HSC_ATTR_UINT ? DEBUG_UINT : DEBUG_INT, a->value.u);
  }
  hsc_wire_end(&w->batch, mark);
  return NULL;
}

static void put_fixed64(hsc_bytes *out, uint32_t field, uint64_t value) {
  hsc_wire_put_raw_varint(out, (uint64_t)field << 3 | HSC_WIRE_FIXED64);
  hsc_bytes_append(out, &value, sizeof value);
}

static hsc_status *put_event(writer *w, const hsc_event *e, int type, uint64_t track) {
  size_t packet = begin_packet(w, e->start_ns);
  size_t event = hsc_wire_begin(&w->batch, PACKET_TRACK_EVENT);
  hsc_wire_put_varint(&w->batch, EVENT_TYPE, (uint64_t)type);
  hsc_wire_put_varint(&w->batch, EVENT_TRACK_UUID, track);
  if (type == TYPE_COUNTER) {
    uint64_t bits = e->value;
    put_fixed64(&w->batch, EVENT_COUNTER_DOUBLE, bits);
  } else {
    uint64_t iid;
    HSC_TRY(intern(w, w->names, INTERNED_NAMES, hsc_event_shown_name(w->stream->capture, e), &iid));
    hsc_wire_put_varint(&w->batch, EVENT_NAME_IID, iid);
    hsc_wire_put_text(&w->batch, EVENT_CATEGORIES,
                      hsc_capture_category_text(w->stream->capture, e->category));
    if (e->kind == HSC_RECORD_FLOW_BEGIN)
      put_fixed64(&w->batch, EVENT_FLOW_IDS, e->value);
    if (e->kind == HSC_RECORD_FLOW_END)
      put_fixed64(&w->batch, EVENT_FLOW_END_IDS, e->value);
    for (int i = 0; i < e->attr_count + e->end_attr_count; i++)
      HSC_TRY(
          put_attribute(w, e, i < e->attr_count ? &e->attrs[i] : &e->end_attrs[i - e->attr_count]));
    if (e->open) {
      uint64_t unfinished;
      HSC_TRY(intern(w, w->keys, INTERNED_DEBUG_NAMES, "unfinished", &unfinished));
      size_t mark = hsc_wire_begin(&w->batch, EVENT_DEBUG);
      hsc_wire_put_varint(&w->batch, DEBUG_NAME_IID, unfinished);
      hsc_wire_put_varint(&w->batch, DEBUG_INT, 1);
      hsc_wire_end(&w->batch, mark);
    }
  }
  hsc_wire_end(&w->batch, event);
  return end_packet(w, packet);
}

// A heap by end time.
static bool earlier(const open_span *a, const open_span *b) {
  return a->end < b->end;
}

static void push(hsc_bytes *heap, open_span span) {
  hsc_bytes_append(heap, &span, sizeof span);
  if (heap->failed)
    return;
  open_span *list = (open_span *)(void *)heap->data;
  for (size_t i = heap->size / sizeof span - 1; i > 0 && earlier(&list[i], &list[(i - 1) / 2]);
       i = (i - 1) / 2) {
    open_span swap = list[i];
    list[i] = list[(i - 1) / 2];
    list[(i - 1) / 2] = swap;
  }
}

static open_span pop(hsc_bytes *heap) {
  open_span *list = (open_span *)(void *)heap->data;
  open_span top = list[0];
  size_t count = heap->size / sizeof *list - 1;
  list[0] = list[count];
  heap->size = count * sizeof *list;
  for (size_t i = 0;;) {
    size_t least = i;
    for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++)
      if (earlier(&list[child], &list[least]))
        least = child;
    if (least == i)
      return top;
    open_span swap = list[i];
    list[i] = list[least];
    list[least] = swap;
    i = least;
  }
}

// An end closes the innermost slice of its track, whichever it was: only the times and tracks
// matter.
static hsc_status *end_slices(writer *w, int64_t until) {
  while (w->open.size && ((const open_span *)(const void *)w->open.data)->end <= until) {
    open_span span = pop(&w->open);
    size_t packet = begin_packet(w, span.end);
    size_t event = hsc_wire_begin(&w->batch, PACKET_TRACK_EVENT);
    hsc_wire_put_varint(&w->batch, EVENT_TYPE, TYPE_END);
    hsc_wire_put_varint(&w->batch, EVENT_TRACK_UUID, span.track);
    hsc_wire_end(&w->batch, event);
    HSC_TRY(end_packet(w, packet));
  }
  return hsc_bytes_status(&w->open);
}

// Describes a track; lanes and counters are below their process. The first packet of all also
// starts the sequence.
static hsc_status *put_track(writer *w,
                             uint64_t uuid,
                             uint64_t parent,
                             const char *name,
                             const hsc_capture_process *process,
                             const hsc_capture_thread *thread,
                             bool is_counter) {
  size_t packet = hsc_wire_begin(&w->batch, TRACE_PACKET);
  hsc_wire_put_varint(&w->batch, PACKET_SEQUENCE_ID, SEQUENCE);
  if (!w->started)
    hsc_wire_put_varint(&w->batch, PACKET_SEQUENCE_FLAGS, FLAG_CLEARED);
  w->started = true;
  size_t track = hsc_wire_begin(&w->batch, PACKET_TRACK);
  hsc_wire_put_varint(&w->batch, TRACK_UUID, uuid);
  if (parent)
    hsc_wire_put_varint(&w->batch, TRACK_PARENT, parent);
  hsc_wire_put_text(&w->batch, TRACK_NAME, name);
  if (process) {
    char text[256];
    snprintf(text, sizeof text, "%s%s%.120s", *process->label ? process->label : "process",
             *process->command ? ": " : "", process->command);
    size_t mark = hsc_wire_begin(&w->batch, TRACK_PROCESS);
    hsc_wire_put_varint(&w->batch, PROCESS_PID, (uint64_t)process->pid);
    hsc_wire_put_text(&w->batch, PROCESS_NAME, text);
    hsc_wire_end(&w->batch, mark);
  }
  if (thread) {
    size_t mark = hsc_wire_begin(&w->batch, TRACK_THREAD);
    hsc_wire_put_varint(&w->batch, THREAD_PID,
                        (uint64_t)hsc_capture_process_at(w->stream->capture, thread->process)->pid);
    hsc_wire_put_varint(&w->batch, THREAD_TID, (uint64_t)thread->tid);
    hsc_wire_put_text(&w->batch, THREAD_NAME, *thread->name ? thread->name : name);
    hsc_wire_end(&w->batch, mark);
  }
  if (is_counter)
    hsc_wire_end(&w->batch, hsc_wire_begin(&w->batch, TRACK_COUNTER));
  hsc_wire_end(&w->batch, track);
  hsc_wire_end(&w->batch, packet);
  return w->batch.size < BATCH_BYTES ? NULL : flush_batch(w);
}

// A counter's track is made when its first value comes.
static hsc_status *counter_track(writer *w, const hsc_event *e, uint64_t *out_track) {
  int process = hsc_capture_thread_at(w->stream->capture, e->thread)->process;
  const char *key = hsc_arena_printf(w->arena, "%d %s", process, e->name);
  if (!key)
    return hsc_status_out_of_memory();
  uintptr_t number = (uintptr_t)hsc_map_get(w->counters, hsc_view_of(key));
  if (!number) {
    number = hsc_map_count(w->counters) + 1;
    HSC_TRY(hsc_map_put(w->counters, hsc_view_of(key), (void *)number));
    HSC_TRY(put_track(w, 3ull << 32 | number, process_track(process), e->name, NULL, NULL, true));
  }
  *out_track = 3ull << 32 | number;
  return NULL;
}

static hsc_status *put(writer *w, const hsc_event *e, hsc__lanes *of_threads) {
  const hsc_capture *capture = w->stream->capture;
  HSC_TRY(end_slices(w, e->start_ns));
  if (e->kind == HSC_RECORD_COUNTER) {
    uint64_t track = 0;
    HSC_TRY(counter_track(w, e, &track));
    return put_event(w, e, TYPE_COUNTER, track);
  }
  hsc__lanes *lanes = &of_threads[e->thread];
  bool span = hsc_event_is_span(e);
  int lane = span ? hsc__lanes_choose(lanes, e->start_ns, e->start_ns + e->duration_ns) : 0;
  if (lane < 0)
    return hsc_status_out_of_memory();
  for (; w->described[e->thread] <= lane; w->described[e->thread]++) {
    char name[192];
    int l = w->described[e->thread];
    const hsc_capture_thread *thread = hsc_capture_thread_at(capture, e->thread);
    hsc__lane_name(thread, l, name);
    HSC_TRY(put_track(w, lane_track(e->thread, l), process_track(thread->process), name, NULL,
                      l == 0 && thread->tid ? thread : NULL, false));
  }
  uint64_t track = lane_track(e->thread, lane);
  HSC_TRY(put_event(w, e, span ? TYPE_BEGIN : TYPE_INSTANT, track));
  if (span)
    push(&w->open, (open_span){e->start_ns + e->duration_ns, track});
  return NULL;
}

hsc_status *hsc__sink_perfetto(hsc__sink_stream *stream) {
  const hsc_capture *capture = stream->capture;
  writer w = {.stream = stream};
  hsc_status *status = NULL;
  hsc__lanes *of_threads = hsc__lanes_create(capture);
  w.described = hsc_alloc((size_t)hsc_capture_thread_count(capture) + 1);
  if (!of_threads || !w.described)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_arena_create(&w.arena));
  HSC_GOTO(hsc_map_create(&w.names));
  HSC_GOTO(hsc_map_create(&w.keys));
  HSC_GOTO(hsc_map_create(&w.counters));
  for (int p = 0; p < hsc_capture_process_count(capture); p++) {
    const hsc_capture_process *process = hsc_capture_process_at(capture, p);
    if (process->shown_as == p)
      HSC_GOTO(put_track(&w, process_track(p), 0, "", process, NULL, false));
  }
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++)
    HSC_GOTO(put(&w, &events[i], of_threads));
  HSC_GOTO(end_slices(&w, INT64_MAX));
  HSC_GOTO(flush_batch(&w));
done:
  hsc__lanes_destroy(of_threads, capture);
  hsc_free(w.described);
  hsc_map_destroy(w.names);
  hsc_map_destroy(w.keys);
  hsc_map_destroy(w.counters);
  hsc_bytes_deinit(&w.batch);
  hsc_bytes_deinit(&w.interned);
  hsc_bytes_deinit(&w.open);
  hsc_arena_destroy(w.arena);
  return status;
}
