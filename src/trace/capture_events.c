// capture_events.c - the records of one ring become events.
//
// How to read: survey goes over the chunks once, puts those of a thread in order and counts what is
// in them, so that all events have room from the start. hsc__capture_read_events then reads records
// in that order: an end finds its begin in a table of open spans, and the short forms of runs
// become the events that they stand for.
#include <stdlib.h>

#include "trace/capture_ring.h"

typedef struct chunk_ref {
  const hsc_ring_chunk *chunk;
  uint64_t sequence;
  int64_t thread;
  uint32_t used;  // bytes, as of the first look: the program may go on
} chunk_ref;

static int compare_chunks(const void *a, const void *b) {
  const chunk_ref *x = a;
  const chunk_ref *y = b;
  if (x->thread != y->thread)
    return x->thread < y->thread ? -1 : 1;
  return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

// Which event a span's begin became. Numbers of spans are handed out in blocks, so they lie close
// together: a table by number from the lowest one on, or, where a damaged ring has numbers far
// apart, an open-addressing table. Entries are event + 1.
typedef struct span_table {
  uint64_t lowest, highest;
  uint32_t *events;  // [capacity]
  uint64_t *spans;   // [capacity]; NULL: by number
  size_t capacity;
} span_table;

static hsc_status *table_init(span_table *t, uint64_t lowest, uint64_t highest, size_t begins) {
  t->lowest = lowest;
  t->highest = highest;
  if (!begins)
    return NULL;
  bool dense = highest - lowest < 16 * (uint64_t)begins + 65536;
  t->capacity = dense ? (size_t)(highest - lowest) + 1 : 1024;
  while (!dense && t->capacity < 2 * begins + 2)
    t->capacity *= 2;
  t->events = hsc_alloc(t->capacity * sizeof *t->events);
  t->spans = dense ? NULL : hsc_alloc(t->capacity * sizeof *t->spans);
  return t->events && (dense || t->spans) ? NULL : hsc_status_out_of_memory();
}

// The place of a span; NULL when it is none of the table's.
static uint32_t *table_at(span_table *t, uint64_t span) {
  if (!t->capacity)
    return NULL;
  if (!t->spans)
    return span >= t->lowest && span <= t->highest ? &t->events[span - t->lowest] : NULL;
  size_t slot = span * 0x9E3779B97F4A7C15ull >> 20 & (t->capacity - 1);
  while (t->events[slot] && t->spans[slot] != span)
    slot = (slot + 1) & (t->capacity - 1);
  t->spans[slot] = span;
  return &t->events[slot];
}

// Chunks of events by thread, and what is in them.
typedef struct contents {
  chunk_ref *chunks;
  size_t chunk_count, events, begins, again;  // again: RUN_AGAIN
  uint64_t lowest, highest;                   // spans that begin
  int64_t run_thread;                         // that runs executables; -1 = several
} contents;

// What goes on from one RUN to the next.
typedef struct run_names {
  uint32_t track;
  int thread;             // the line of that track
  uint64_t device_bytes;  // as last reported
  bool many_threads;      // what this one told last may be old by now
  uint64_t last_ticks;    // begin of the chunk's last one
  uint32_t executable_key;
  const hsc_record *full;  // the chunk's last RUN; NULL = none that a RUN_AGAIN can follow
  uint64_t span, run_id;   // of the one before
  hsc_trace_attr *attrs;   // room for those of RUN_AGAINs, two each,
  size_t again_left;       // for so many: a ring that is written to may have more by now
} run_names;

// The ring that is read, and where its events go.
typedef struct reading {
  hsc_capture *capture;
  const hsc__ring *ring;
  int process;
  int thread;  // of the chunk that is read
  run_names names;
  span_table spans;
  hsc_bytes late;     // of const hsc_record *: ends whose begin is in a chunk that comes later
  hsc_event *events;  // [room], the ring's own
  size_t count, room;
} reading;

static hsc_status *survey(hsc_capture *capture, const hsc__ring *r, contents *out) {
  *out = (contents){.lowest = UINT64_MAX};
  out->chunks = HSC_NEW_ARRAY(capture->arena, chunk_ref, r->header.chunk_count + 1);
  if (!out->chunks)
    return hsc_status_out_of_memory();
  for (uint32_t i = 0; i < r->header.chunk_count; i++) {
    const hsc_ring_chunk *chunk = hsc__chunk_at(r, i);
    if (chunk->kind != HSC_CHUNK_EVENTS)
      continue;
    uint32_t used = hsc__chunk_used(r, chunk);
    out->events += chunk->run_ticks != 0;
    out->chunks[out->chunk_count++] = (chunk_ref){chunk, chunk->sequence, chunk->thread, used};
    const uint8_t *records = (const uint8_t *)chunk + HSC_RING_CHUNK_HEADER_BYTES;
    const hsc_record *record;
    for (uint32_t at = 0; at < used && (record = hsc__record_at(records, at, used));
         at += record->size_bytes) {
      bool run = record->kind == HSC_RECORD_RUN || record->kind == HSC_RECORD_RUN_AGAIN;
      if (run && out->run_thread != chunk->thread)
        out->run_thread = out->run_thread ? -1 : chunk->thread;
      out->again += record->kind == HSC_RECORD_RUN_AGAIN;
      out->events += run ? 3 : record->kind != HSC_RECORD_END && record->kind != HSC_RECORD_END_OF;
      if (record->kind != HSC_RECORD_BEGIN)
        continue;
      uint64_t span = *(const uint64_t *)(record + 1);
      out->begins++;
      if (span < out->lowest)
        out->lowest = span;
      if (span > out->highest)
        out->highest = span;
    }
    hsc__ring_release_pages(r, chunk, r->header.chunk_bytes);
  }
  if (out->chunk_count)
    qsort(out->chunks, out->chunk_count, sizeof *out->chunks, compare_chunks);
  return out->events < UINT32_MAX - 1
             ? NULL
             : HSC_ERR(RESOURCE_EXHAUSTED, "a ring of %zu events is too large", out->events);
}

// A clock that went back gives a span no time; how many did is said in the notes.
static int64_t lasted(hsc_capture *capture, int64_t start_ns, int64_t end_ns) {
  if (end_ns >= start_ns)
    return end_ns - start_ns;
  capture->backward++;
  return 0;
}

static void end_span(reading *d, hsc_event *event, const hsc_record *record) {
  event->open = false;
  event->duration_ns = lasted(d->capture, event->start_ns, hsc__ring_ns(d->ring, record->ticks));
  event->end_attrs =
      (const hsc_trace_attr *)((const uint64_t *)(record + 1) + hsc__payload_words(record->kind));
  event->end_attr_count = record->attr_count;
}

// The event of a record that is no end.
static hsc_event event_of(reading *d, const hsc_record *record) {
  const hsc__ring *r = d->ring;
  const uint64_t *payload = (const uint64_t *)(record + 1);
  hsc_event event = {.kind = record->kind,
                     .attr_count = record->attr_count,
                     .category = record->category,
                     .process = d->process,
                     .thread = d->thread,
                     .name = hsc__ring_string(r, record->name),
                     .start_ns = hsc__ring_ns(r, record->ticks),
                     .attrs = (const hsc_trace_attr *)(payload + hsc__payload_words(record->kind))};
  if (event.category >> HSC_USER_CATEGORY_BIT)
    event.category = hsc__capture_category(d->capture, r, event.category);
  if (record->kind == HSC_RECORD_BEGIN) {
    event.span = payload[0];
    event.parent = payload[1];
    event.open = true;
  } else if (record->kind == HSC_RECORD_COMPLETE) {
    event.span = payload[0];
    event.parent = payload[1];
    event.duration_ns = lasted(d->capture, event.start_ns, hsc__ring_ns(r, payload[2]));
    if (payload[3])
      event.thread =
          hsc__capture_thread(d->capture, d->process, 0, hsc__ring_string(r, payload[3]));
  } else if (hsc__payload_words(record->kind)) {
    event.value = payload[0];
  }
  return event;
}

static uint64_t ended_span(const hsc_record *record) {
  return record->kind == HSC_RECORD_END ? *(const uint64_t *)(record + 1)
                                        : (uint64_t)record->more << 32 | record->name;
}

// The run of a call on the device, which ended with the call: the device began with it too.
static hsc_event device_event(reading *d, const hsc_ring_run *run, const hsc_event *call) {
  if (d->names.track != run->track) {
    d->names.track = run->track;
    d->names.thread =
        hsc__capture_thread(d->capture, d->process, 0, hsc__ring_string(d->ring, run->track));
  }
  hsc_event device = *call;
  device.kind = HSC_RECORD_COMPLETE;
  device.thread = d->names.thread;
  device.name = hsc__ring_string(d->ring, run->device_run);
  device.span = run->span + 1;
  device.parent = run->span;
  device.duration_ns = hsc__ring_ns(d->ring, run->device_end_ticks) - call->start_ns;
  if (device.duration_ns < 0)
    device.duration_ns = 0;
  return device;
}

// The events of a RUN: the call, the run on the device when it ended with the call, the device
// memory when it is another than before.
static void add_run(reading *d,
                    const hsc_record *record,
                    const hsc_ring_run *run,
                    const hsc_trace_attr *attrs) {
  const hsc__ring *r = d->ring;
  hsc_event call = {.kind = HSC_RECORD_BEGIN,
                    .attr_count = record->attr_count,
                    .category = record->category,
                    .process = d->process,
                    .thread = d->thread,
                    .name = hsc__ring_string(r, record->name),
                    .start_ns = hsc__ring_ns(r, record->ticks),
                    .span = run->span,
                    .parent = run->parent,
                    .attrs = attrs};
  call.duration_ns = lasted(d->capture, call.start_ns, hsc__ring_ns(r, run->end_ticks));
  d->events[d->count++] = call;
  if (run->device_end_ticks)
    d->events[d->count++] = device_event(d, run, &call);
  if (run->device_bytes == UINT64_MAX ||
      (run->device_bytes == d->names.device_bytes && !d->names.many_threads))
    return;
  d->names.device_bytes = run->device_bytes;
  double bytes = (double)run->device_bytes;
  hsc_event memory = {.kind = HSC_RECORD_COUNTER,
                      .category = HSC_CATEGORY_MEMORY,
                      .process = d->process,
                      .thread = d->thread,
                      .name = HSC_DEVICE_BYTES_NAME,
                      .start_ns = call.start_ns + call.duration_ns};
  memcpy(&memory.value, &bytes, sizeof bytes);
  d->events[d->count++] = memory;
}

static void read_run(reading *d, const hsc_record *record) {
  const hsc_ring_run *run = (const hsc_ring_run *)(record + 1);
  const hsc_trace_attr *attrs = (const hsc_trace_attr *)(run + 1);
  bool leads =
      record->attr_count == 2 && attrs[0].type == HSC_ATTR_STRING && attrs[1].type == HSC_ATTR_INT;
  d->names.full = leads ? record : NULL;
  d->names.span = run->span;
  d->names.run_id = leads ? attrs[1].value.u : 0;
  add_run(d, record, run, attrs);
}

// A run like the one before it in the chunk; only what differs is in the record. No events:
// damaged, the RUN that it follows is not there.
static void read_run_again(reading *d, const hsc_record *record) {
  const hsc_ring_run_again *again = (const hsc_ring_run_again *)(record + 1);
  run_names *names = &d->names;
  if (!names->full || !names->again_left)
    return;
  names->again_left--;
  hsc_ring_run run = *(const hsc_ring_run *)(names->full + 1);
  hsc_trace_attr *attrs = names->attrs;
  names->attrs += 2;
  memcpy(attrs, (const hsc_ring_run *)(names->full + 1) + 1, 2 * sizeof *attrs);
  attrs[0].value.string = again->executable;
  attrs[1].value.u = names->run_id += record->more;
  run.span = names->span += again->span_more;
  run.end_ticks = record->ticks + record->name;
  if (run.device_end_ticks)
    run.device_end_ticks = run.end_ticks;
  run.device_bytes = again->device_bytes;
  hsc_record header = *names->full;
  header.ticks = record->ticks;
  add_run(d, &header, &run, attrs);
}

// A run that was under way when the ring was read or its program died: it has no record yet, only
// the mark in its thread's chunk.
static void add_open_run(reading *d, const hsc_ring_chunk *chunk) {
  uint64_t ticks =
      atomic_load_explicit((_Atomic uint64_t *)&chunk->run_ticks, memory_order_acquire);
  // the record was there, the mark not yet gone
  if (!ticks || ticks == d->names.last_ticks || !d->names.executable_key || d->count == d->room)
    return;
  hsc_trace_attr *attr = HSC_NEW(d->capture->arena, hsc_trace_attr);
  if (!attr)
    return;
  *attr = (hsc_trace_attr){.key = d->names.executable_key,
                           .type = HSC_ATTR_STRING,
                           .value.string = chunk->run_executable};
  d->events[d->count++] = (hsc_event){.kind = HSC_RECORD_BEGIN,
                                      .attr_count = 1,
                                      .category = HSC_CATEGORY_EXECUTE,
                                      .process = d->process,
                                      .thread = d->thread,
                                      .name = "execute",
                                      .start_ns = hsc__ring_ns(d->ring, ticks),
                                      .open = true,
                                      .attrs = attr};
}

// A ring that is written to while it is read may hold more records than survey counted: what has no
// room any more is left out.
static void read_record(reading *d, const hsc_record *record) {
  if (record->kind == HSC_RECORD_END || record->kind == HSC_RECORD_END_OF) {
    uint32_t *begin = table_at(&d->spans, ended_span(record));
    if (begin && *begin)
      end_span(d, &d->events[*begin - 1], record);
    else if (begin)
      hsc_bytes_append(&d->late, &record, sizeof record);
    return;
  }
  if (record->kind == HSC_RECORD_RUN || record->kind == HSC_RECORD_RUN_AGAIN) {
    bool again = record->kind == HSC_RECORD_RUN_AGAIN;
    d->names.last_ticks = record->ticks;
    if (d->count + 3 > d->room)
      return;
    d->capture->processes[d->process].torn_records += again && !d->names.full;
    (again ? read_run_again : read_run)(d, record);
    return;
  }
  // a kind of a later minor version
  if (record->kind < HSC_RECORD_BEGIN || record->kind > HSC_RECORD_FLOW_END || d->count == d->room)
    return;
  hsc_event *event = &d->events[d->count++];
  *event = event_of(d, record);
  uint32_t *begin = record->kind == HSC_RECORD_BEGIN ? table_at(&d->spans, event->span) : NULL;
  if (begin)
    *begin = (uint32_t)d->count;
}

static void read_chunk(reading *d, const chunk_ref *ref) {
  const uint8_t *records = (const uint8_t *)ref->chunk + HSC_RING_CHUNK_HEADER_BYTES;
  d->names.full = NULL;
  d->thread = hsc__capture_thread(d->capture, d->process, ref->thread,
                                  hsc__ring_string(d->ring, ref->chunk->thread_name));
  for (uint32_t at = 0; at < ref->used;) {
    const hsc_record *record = hsc__record_at(records, at, ref->used);
    if (!record) {
      d->capture->processes[d->process].torn_records++;
      break;
    }
    at += record->size_bytes;
    read_record(d, record);
  }
  add_open_run(d, ref->chunk);
  hsc__ring_release_pages(d->ring, ref->chunk, d->ring->header.chunk_bytes);
}

// Spans mostly end on the thread that they began on, after their begin; ends that come before
// theirs wait until all begins are known.
static hsc_status *end_late_spans(reading *d) {
  HSC_TRY(hsc_bytes_status(&d->late));
  for (size_t i = 0; i < d->late.size / sizeof(hsc_record *); i++) {
    const hsc_record *record = ((const hsc_record *const *)d->late.data)[i];
    uint32_t *begin = table_at(&d->spans, ended_span(record));
    // else its begin was in a chunk that was given away
    if (begin && *begin)
      end_span(d, &d->events[*begin - 1], record);
  }
  return NULL;
}

hsc_status *hsc__capture_read_events(hsc_capture *capture, int index) {
  reading d = {.capture = capture, .ring = &capture->rings[index], .process = index};
  contents held;
  HSC_TRY(survey(capture, d.ring, &held));
  d.room = held.events;
  d.names = (run_names){.device_bytes = UINT64_MAX,
                        .many_threads = held.run_thread < 0,
                        .executable_key = hsc_capture_number(capture, index, "executable"),
                        .again_left = held.again};
  if (held.again) {
    d.names.attrs = HSC_NEW_ARRAY(capture->arena, hsc_trace_attr, 2 * held.again);
    if (!d.names.attrs)
      return hsc_status_out_of_memory();
  }
  size_t first = capture->events.size / sizeof(hsc_event);
  hsc_status *status = NULL;
  HSC_GOTO(table_init(&d.spans, held.lowest, held.highest, held.begins));
  hsc_bytes_reserve(&capture->events, held.events * sizeof(hsc_event));
  if (held.events && !hsc_bytes_extend(&capture->events, held.events * sizeof(hsc_event)))
    HSC_GOTO(hsc_status_out_of_memory());
  d.events = (hsc_event *)capture->events.data + first;
  for (size_t c = 0; c < held.chunk_count; c++)
    read_chunk(&d, &held.chunks[c]);
  HSC_GOTO(end_late_spans(&d));
done:
  if (d.events)
    capture->events.size = (first + d.count) * sizeof(hsc_event);
  hsc_free(d.spans.spans);
  hsc_free(d.spans.events);
  hsc_bytes_deinit(&d.late);
  return status;
}
