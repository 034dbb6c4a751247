// capture.c - ring files back to events. The bytes are described in ring_format.h.
//
// How to read: opening a ring maps the file, checks its header and reads its strings; survey goes
// over the chunks of a thread in order. read_events turns records into events: an end finds its
// begin in a table of open spans, short forms of runs become the events that they stand for. A
// whole capture is all rings of a directory: they are joined by process, their clocks are brought
// together, the events sorted. Rings may be written to while they are read, so what was checked is
// copied first.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/spill.h"
#include "base/text/text.h"
#include "trace/capture_folder.h"
#include "trace/capture_internal.h"

typedef struct chunk_ref {
  const hsc_ring_chunk *chunk;
  uint64_t sequence;
  int64_t thread;
  uint32_t used;  // bytes, as of the first look: the program may go on
} chunk_ref;

static const char *const category_names[] = {"user",     "compile",   "transfer",  "execute",
                                             "operator", "wait",      "memory",    "runtime",
                                             "pass",     "framework", "collective"};
_Static_assert(1 << HSC_COUNT_OF(category_names) == HSC_CATEGORY_COLLECTIVE << 1,
               "every category has a name");

const char *hsc_capture_category_text(const hsc_capture *capture, uint32_t category) {
  for (size_t i = 0; i < HSC_COUNT_OF(category_names); i++)
    if (category == 1u << i)
      return category_names[i];
  for (int i = 0; i < HSC_USER_CATEGORIES; i++)
    if (category == 1u << (HSC_USER_CATEGORY_BIT + i))
      return capture->user_categories[i] ? capture->user_categories[i] : "";
  return "";
}

// The programs of a capture give numbers to their own categories each by itself; here a name has
// one number in all of them.
static uint32_t shared_category(hsc_capture *capture, const hsc__ring *r, uint32_t category) {
  for (int i = 0; i < HSC_USER_CATEGORIES; i++) {
    if (category != 1u << (HSC_USER_CATEGORY_BIT + i))
      continue;
    const char *name = r->header.user_categories[i];
    for (int k = 0; *name && k < HSC_USER_CATEGORIES; k++) {
      if (!capture->user_categories[k])
        capture->user_categories[k] = hsc_arena_strdup(capture->arena, name);
      if (capture->user_categories[k] && !strcmp(capture->user_categories[k], name))
        return 1u << (HSC_USER_CATEGORY_BIT + k);
    }
    return 0;  // more names than there is room for, or none
  }
  return category;
}

// ---- opening a ring -----------------------------------------------------------------------------

static hsc_status *map_file(const char *path, hsc__ring *out) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return HSC_ERR(NOT_FOUND, "cannot open %s: %s", path, strerror(errno));
  struct stat info;
  hsc_status *status = NULL;
  if (fstat(file, &info) || info.st_size < HSC_RING_HEADER_BYTES) {
    status = HSC_ERR(DATA_LOSS, "%s is no ring file: %lld bytes are too few", path,
                     (long long)info.st_size);
  } else {
    out->size = (size_t)info.st_size;
    void *memory = mmap(NULL, out->size, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
      status = HSC_ERR(RESOURCE_EXHAUSTED, "cannot map %s: %s", path, strerror(errno));
    else
      out->bytes = memory;
  }
  if (out->bytes)
    hsc_spill_watch(out->bytes, out->size);
  close(file);
  return status;
}

static void unmap_ring(const hsc__ring *r) {
  if (!r->bytes)  // of a profile: its events are in memory alone
    return;
  hsc_spill_forget(r->bytes);
  munmap((void *)(uintptr_t)r->bytes, r->size);
}

// Pages of a ring that were read are the kernel's again: they come back from the file when an
// attribute is looked at. Without, a capture that is larger than memory would be kept in it whole.
static void release_pages(const hsc__ring *r, const void *from, size_t size) {
  static const uintptr_t PAGE = 4096;
  uintptr_t start = ((uintptr_t)from + PAGE - 1) & ~(PAGE - 1);
  uintptr_t end = ((uintptr_t)from + size) & ~(PAGE - 1);
  if (r->size >= HSC__LARGE_RING_BYTES && end > start)
    madvise((void *)start, end - start, MADV_DONTNEED);
}

void hsc__capture_release_pages(const hsc_capture *capture) {
  for (int i = 0; i < capture->ring_count; i++)
    release_pages(&capture->rings[i], capture->rings[i].bytes, capture->rings[i].size);
}

void hsc_capture_looked(const hsc_capture *capture) {
  enum { LOOKS = 1 << 18 };  // of so many attributes: some ten MiB of rings
  if (capture->looks && ++*capture->looks % LOOKS == 0)
    hsc__capture_release_pages(capture);
}

static hsc_status *check_header(const char *path, hsc__ring *r) {
  memcpy(&r->header, r->bytes, sizeof r->header);
  const hsc_ring_header *h = &r->header;
  if (h->magic != HSC_RING_MAGIC)
    return HSC_ERR(DATA_LOSS, "%s is no ring file", path);
  if (h->version > HSC_RING_VERSION)
    return HSC_ERR(FAILED_PRECONDITION,
                   "%s was written by a newer hloscope: ring version %u, this one reads up to %d",
                   path, h->version, HSC_RING_VERSION);
  if (h->header_bytes != HSC_RING_HEADER_BYTES || h->chunk_bytes < 4096 || h->chunk_bytes % 8 ||
      h->chunk_bytes > 1u << 30)
    return HSC_ERR(DATA_LOSS, "%s: damaged header", path);
  uint32_t fit = (uint32_t)((r->size - HSC_RING_HEADER_BYTES) / h->chunk_bytes);
  if (h->chunk_count > fit)
    r->header.chunk_count = fit;
  double ticks = (double)(int64_t)(h->last_ticks - h->first_ticks);
  double ns = (double)(h->last_raw_ns - h->first_raw_ns);
  if (h->clock == HSC_CLOCK_TSC && ticks > 0 && ns > 0)
    r->ns_per_tick = ns / ticks;
  else if (h->clock == HSC_CLOCK_TSC)
    r->ns_per_tick = 0;
  else
    r->ns_per_tick = 1;
  return NULL;
}

// A ring that was killed within its first chunk has one moment only: the rate of this machine's
// counter is in.
static double measured_ns_per_tick(void) {
  int64_t ns = hsc_now_ns();
  uint64_t ticks = hsc_trace_ticks();
  hsc_sleep_ns(5000000);
  double d = (double)(int64_t)(hsc_trace_ticks() - ticks);
  return d > 0 ? (double)(hsc_now_ns() - ns) / d : 1;
}

static int64_t to_ns(const hsc__ring *r, uint64_t ticks) {
  // A damaged ring may hold any number: times stay within 36 years, so that sums of them do not
  // overflow.
  const double longest = (double)((int64_t)1 << 60);
  double since = (double)(int64_t)(ticks - r->anchor_ticks) * r->ns_per_tick +
                 ((double)r->anchor_raw_ns - (double)r->host_raw_ns);
  since = since * r->host_rate + r->host_start_ns;
  if (!(since > -longest))
    return -((int64_t)1 << 60);
  return since < longest ? (int64_t)since : (int64_t)1 << 60;
}

// ---- records ------------------------------------------------------------------------------------

static uint32_t payload_words(uint8_t kind) {
  switch (kind) {
    case HSC_RECORD_BEGIN:
      return 2;
    case HSC_RECORD_COMPLETE:
      return 4;
    case HSC_RECORD_RUN:
      return sizeof(hsc_ring_run) / 8;
    case HSC_RECORD_RUN_AGAIN:
      return sizeof(hsc_ring_run_again) / 8;
    case HSC_RECORD_END:
    case HSC_RECORD_COUNTER:
    case HSC_RECORD_FLOW_BEGIN:
    case HSC_RECORD_FLOW_END:
      return 1;
    default:
      return 0;
  }
}

// The record at `at` of a chunk with `used` bytes, or NULL when it is torn or damaged.
static const hsc_record *record_at(const uint8_t *records, uint32_t at, uint32_t used) {
  if (used - at < sizeof(hsc_record))
    return NULL;
  const hsc_record *record = (const hsc_record *)(records + at);
  if (record->size_bytes < sizeof *record || record->size_bytes % 8 ||
      record->size_bytes > used - at)
    return NULL;
  if (record->kind == HSC_RECORD_STRING)
    return record;
  size_t need = sizeof *record + 8 * payload_words(record->kind) +
                sizeof(hsc_trace_attr) * record->attr_count;
  return need <= record->size_bytes ? record : NULL;
}

static const hsc_ring_chunk *chunk_at(const hsc__ring *r, uint32_t index) {
  return (const hsc_ring_chunk *)(r->bytes + HSC_RING_HEADER_BYTES +
                                  (size_t)index * r->header.chunk_bytes);
}

static uint32_t chunk_used(const hsc__ring *r, const hsc_ring_chunk *chunk) {
  uint32_t used =
      atomic_load_explicit((_Atomic uint32_t *)&chunk->used_bytes, memory_order_acquire);
  uint32_t room = r->header.chunk_bytes - HSC_RING_CHUNK_HEADER_BYTES;
  return used > room ? room : used;
}

static hsc_status *read_strings(hsc_capture *capture, hsc__ring *r) {
  for (int pass = 0; pass < 2; pass++) {
    uint32_t highest = 0;
    for (uint32_t i = 0; i < r->header.chunk_count; i++) {
      const hsc_ring_chunk *chunk = chunk_at(r, i);
      if (chunk->kind != HSC_CHUNK_STRINGS)
        continue;
      uint32_t used = chunk_used(r, chunk);
      const uint8_t *records = (const uint8_t *)chunk + HSC_RING_CHUNK_HEADER_BYTES;
      for (uint32_t at = 0; at < used;) {
        const hsc_record *record = record_at(records, at, used);
        if (!record || record->kind != HSC_RECORD_STRING)
          break;
        const char *text = (const char *)(record + 1);
        bool whole = memchr(text, 0, record->size_bytes - sizeof *record) != NULL;
        if (pass == 0 && record->name > highest)
          highest = record->name;
        if (pass == 1 && whole && record->name < r->string_count)
          r->strings[record->name] = text;
        at += record->size_bytes;
      }
    }
    if (pass == 1)
      break;
    // more strings than fit: damaged numbers
    if (highest > r->size / sizeof(hsc_record))
      highest = (uint32_t)(r->size / sizeof(hsc_record));
    r->string_count = highest + 1;
    r->strings = HSC_NEW_ARRAY(capture->arena, const char *, r->string_count);
    if (!r->strings)
      return hsc_status_out_of_memory();
  }
  return NULL;
}

static int compare_chunks(const void *a, const void *b) {
  const chunk_ref *x = a;
  const chunk_ref *y = b;
  if (x->thread != y->thread)
    return x->thread < y->thread ? -1 : 1;
  return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

int hsc__capture_thread(hsc_capture *capture, int process, int64_t tid, const char *name) {
  process = capture->processes[process].shown_as;
  hsc_capture_thread *threads = (hsc_capture_thread *)capture->threads.data;
  int count = (int)(capture->threads.size / sizeof *threads);
  for (int i = count - 1; i >= 0; i--) {
    if (threads[i].process != process || threads[i].tid != tid)
      continue;
    if (tid == 0 && strcmp(threads[i].name, name))
      continue;
    if (*name)
      threads[i].name = name;
    return i;
  }
  hsc_capture_thread thread = {.process = process, .tid = tid, .name = name};
  hsc_bytes_append(&capture->threads, &thread, sizeof thread);
  return count;
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

const char *hsc__ring_string(const hsc__ring *r, uint64_t number) {
  return number < r->string_count && r->strings[number] ? r->strings[number] : "";
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

static hsc_status *survey(hsc_capture *capture, const hsc__ring *r, contents *out) {
  *out = (contents){.lowest = UINT64_MAX};
  out->chunks = HSC_NEW_ARRAY(capture->arena, chunk_ref, r->header.chunk_count + 1);
  if (!out->chunks)
    return hsc_status_out_of_memory();
  for (uint32_t i = 0; i < r->header.chunk_count; i++) {
    const hsc_ring_chunk *chunk = chunk_at(r, i);
    if (chunk->kind != HSC_CHUNK_EVENTS)
      continue;
    uint32_t used = chunk_used(r, chunk);
    out->events += chunk->run_ticks != 0;
    out->chunks[out->chunk_count++] = (chunk_ref){chunk, chunk->sequence, chunk->thread, used};
    const uint8_t *records = (const uint8_t *)chunk + HSC_RING_CHUNK_HEADER_BYTES;
    const hsc_record *record;
    for (uint32_t at = 0; at < used && (record = record_at(records, at, used));
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
    release_pages(r, chunk, r->header.chunk_bytes);
  }
  if (out->chunk_count)
    qsort(out->chunks, out->chunk_count, sizeof *out->chunks, compare_chunks);
  return out->events < UINT32_MAX - 1
             ? NULL
             : HSC_ERR(RESOURCE_EXHAUSTED, "a ring of %zu events is too large", out->events);
}

static void end_span(hsc_capture *capture,
                     const hsc__ring *r,
                     hsc_event *event,
                     const hsc_record *record) {
  event->open = false;
  event->duration_ns = to_ns(r, record->ticks) - event->start_ns;
  if (event->duration_ns < 0) {
    capture->backward++;
    event->duration_ns = 0;
  }
  event->end_attrs =
      (const hsc_trace_attr *)((const uint64_t *)(record + 1) + payload_words(record->kind));
  event->end_attr_count = record->attr_count;
}

// The event of a record that is no end.
static hsc_event event_of(
    hsc_capture *capture, const hsc__ring *r, int process, int thread, const hsc_record *record) {
  const uint64_t *payload = (const uint64_t *)(record + 1);
  hsc_event event = {.kind = record->kind,
                     .attr_count = record->attr_count,
                     .category = record->category,
                     .process = process,
                     .thread = thread,
                     .name = hsc__ring_string(r, record->name),
                     .start_ns = to_ns(r, record->ticks),
                     .attrs = (const hsc_trace_attr *)(payload + payload_words(record->kind))};
  if (event.category >> HSC_USER_CATEGORY_BIT)
    event.category = shared_category(capture, r, event.category);
  if (record->kind == HSC_RECORD_BEGIN) {
    event.span = payload[0];
    event.parent = payload[1];
    event.open = true;
  } else if (record->kind == HSC_RECORD_COMPLETE) {
    event.span = payload[0];
    event.parent = payload[1];
    event.duration_ns = to_ns(r, payload[2]) - event.start_ns;
    if (event.duration_ns < 0) {
      capture->backward++;
      event.duration_ns = 0;
    }
    if (payload[3])
      event.thread = hsc__capture_thread(capture, process, 0, hsc__ring_string(r, payload[3]));
  } else if (payload_words(record->kind)) {
    event.value = payload[0];
  }
  return event;
}

static uint64_t ended_span(const hsc_record *record) {
  return record->kind == HSC_RECORD_END ? *(const uint64_t *)(record + 1)
                                        : (uint64_t)record->more << 32 | record->name;
}

// The events of a RUN: the call, the run on the device when it ended with the call, the device
// memory when it is another than before.
static size_t events_of_run(hsc_capture *capture,
                            const hsc__ring *r,
                            int process,
                            int thread,
                            const hsc_record *record,
                            const hsc_ring_run *run,
                            const hsc_trace_attr *attrs,
                            run_names *names,
                            hsc_event out[3]) {
  size_t count = 0;
  hsc_event call = {.kind = HSC_RECORD_BEGIN,
                    .attr_count = record->attr_count,
                    .category = record->category,
                    .process = process,
                    .thread = thread,
                    .name = hsc__ring_string(r, record->name),
                    .start_ns = to_ns(r, record->ticks),
                    .span = run->span,
                    .parent = run->parent,
                    .attrs = attrs};
  call.duration_ns = to_ns(r, run->end_ticks) - call.start_ns;
  if (call.duration_ns < 0) {
    capture->backward++;
    call.duration_ns = 0;
  }
  out[count++] = call;
  if (run->device_end_ticks) {
    if (names->track != run->track) {
      names->track = run->track;
      names->thread = hsc__capture_thread(capture, process, 0, hsc__ring_string(r, run->track));
    }
    hsc_event device = call;
    device.kind = HSC_RECORD_COMPLETE;
    device.thread = names->thread;
    device.name = hsc__ring_string(r, run->device_run);
    device.span = run->span + 1;
    device.parent = run->span;
    device.duration_ns = to_ns(r, run->device_end_ticks) - call.start_ns;
    if (device.duration_ns < 0)
      device.duration_ns = 0;
    out[count++] = device;
  }
  if (run->device_bytes != UINT64_MAX &&
      (run->device_bytes != names->device_bytes || names->many_threads)) {
    names->device_bytes = run->device_bytes;
    double bytes = (double)run->device_bytes;
    hsc_event memory = {.kind = HSC_RECORD_COUNTER,
                        .category = HSC_CATEGORY_MEMORY,
                        .process = process,
                        .thread = thread,
                        .name = HSC_DEVICE_BYTES_NAME,
                        .start_ns = call.start_ns + call.duration_ns};
    memcpy(&memory.value, &bytes, sizeof bytes);
    out[count++] = memory;
  }
  return count;
}

static size_t read_run(hsc_capture *capture,
                       const hsc__ring *r,
                       int process,
                       int thread,
                       const hsc_record *record,
                       run_names *names,
                       hsc_event out[3]) {
  const hsc_ring_run *run = (const hsc_ring_run *)(record + 1);
  const hsc_trace_attr *attrs = (const hsc_trace_attr *)(run + 1);
  bool leads =
      record->attr_count == 2 && attrs[0].type == HSC_ATTR_STRING && attrs[1].type == HSC_ATTR_INT;
  names->full = leads ? record : NULL;
  names->span = run->span;
  names->run_id = leads ? attrs[1].value.u : 0;
  return events_of_run(capture, r, process, thread, record, run, attrs, names, out);
}

// No events: damaged, the RUN that it follows is not there.
static size_t read_run_again(hsc_capture *capture,
                             const hsc__ring *r,
                             int process,
                             int thread,
                             const hsc_record *record,
                             run_names *names,
                             hsc_event out[3]) {
  const hsc_ring_run_again *again = (const hsc_ring_run_again *)(record + 1);
  if (!names->full || !names->again_left)
    return 0;
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
  return events_of_run(capture, r, process, thread, &header, &run, attrs, names, out);
}

// A run that was under way when the ring was read or its program died: it has no record yet, only
// the mark in its thread's chunk.
static bool open_run(hsc_capture *capture,
                     const hsc__ring *r,
                     int process,
                     int thread,
                     const hsc_ring_chunk *chunk,
                     const run_names *names,
                     hsc_event *out) {
  uint64_t ticks =
      atomic_load_explicit((_Atomic uint64_t *)&chunk->run_ticks, memory_order_acquire);
  // the record was there, the mark not yet gone
  if (!ticks || ticks == names->last_ticks || !names->executable_key)
    return false;
  hsc_trace_attr *attr = HSC_NEW(capture->arena, hsc_trace_attr);
  if (!attr)
    return false;
  *attr = (hsc_trace_attr){
      .key = names->executable_key, .type = HSC_ATTR_STRING, .value.string = chunk->run_executable};
  *out = (hsc_event){.kind = HSC_RECORD_BEGIN,
                     .attr_count = 1,
                     .category = HSC_CATEGORY_EXECUTE,
                     .process = process,
                     .thread = thread,
                     .name = "execute",
                     .start_ns = to_ns(r, ticks),
                     .open = true,
                     .attrs = attr};
  return true;
}

// Spans mostly end on the thread that they began on, after their begin; ends that come before
// theirs wait until all begins are known.
static hsc_status *read_events(hsc_capture *capture, int index) {
  hsc__ring *r = &capture->rings[index];
  hsc_capture_process *process = &capture->processes[index];
  contents held;
  HSC_TRY(survey(capture, r, &held));
  span_table table = {0};
  run_names names = {.device_bytes = UINT64_MAX, .many_threads = held.run_thread < 0};
  names.executable_key = hsc_capture_number(capture, index, "executable");
  names.again_left = held.again;
  if (held.again && !(names.attrs = HSC_NEW_ARRAY(capture->arena, hsc_trace_attr, 2 * held.again)))
    return hsc_status_out_of_memory();
  hsc_bytes late = {0};  // of const hsc_record *
  size_t first = capture->events.size / sizeof(hsc_event);
  size_t count = 0;
  hsc_event *events = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(table_init(&table, held.lowest, held.highest, held.begins));
  hsc_bytes_reserve(&capture->events, held.events * sizeof *events);
  if (held.events && !hsc_bytes_extend(&capture->events, held.events * sizeof *events))
    HSC_GOTO(hsc_status_out_of_memory());
  events = (hsc_event *)capture->events.data + first;
  for (size_t c = 0; c < held.chunk_count; c++) {
    uint32_t used = held.chunks[c].used;
    names.full = NULL;
    const uint8_t *records = (const uint8_t *)held.chunks[c].chunk + HSC_RING_CHUNK_HEADER_BYTES;
    int thread = hsc__capture_thread(capture, index, held.chunks[c].thread,
                                     hsc__ring_string(r, held.chunks[c].chunk->thread_name));
    for (uint32_t at = 0; at < used;) {
      const hsc_record *record = record_at(records, at, used);
      if (!record) {
        process->torn_records++;
        break;
      }
      at += record->size_bytes;
      if (record->kind == HSC_RECORD_END || record->kind == HSC_RECORD_END_OF) {
        uint32_t *begin = table_at(&table, ended_span(record));
        if (begin && *begin)
          end_span(capture, r, &events[*begin - 1], record);
        else if (begin)
          hsc_bytes_append(&late, &record, sizeof record);
        continue;
      }
      if (record->kind == HSC_RECORD_RUN || record->kind == HSC_RECORD_RUN_AGAIN) {
        names.last_ticks = record->ticks;
        if (count + 3 > held.events)
          continue;
        bool again = record->kind == HSC_RECORD_RUN_AGAIN;
        process->torn_records += again && !names.full;
        count += (again ? read_run_again : read_run)(capture, r, index, thread, record, &names,
                                                     events + count);
        continue;
      }
      // a kind of a later minor version
      if (record->kind < HSC_RECORD_BEGIN || record->kind > HSC_RECORD_FLOW_END ||
          count == held.events)
        continue;
      events[count++] = event_of(capture, r, index, thread, record);
      uint32_t *begin =
          record->kind == HSC_RECORD_BEGIN ? table_at(&table, events[count - 1].span) : NULL;
      if (begin)
        *begin = (uint32_t)count;
    }
    if (count < held.events &&
        open_run(capture, r, index, thread, held.chunks[c].chunk, &names, &events[count]))
      count++;
    release_pages(r, held.chunks[c].chunk, r->header.chunk_bytes);
  }
  HSC_GOTO(hsc_bytes_status(&late));
  for (size_t i = 0; i < late.size / sizeof(hsc_record *); i++) {
    const hsc_record *record = ((const hsc_record *const *)late.data)[i];
    uint32_t *begin = table_at(&table, ended_span(record));
    // else its begin was in a chunk that was given away
    if (begin && *begin)
      end_span(capture, r, &events[*begin - 1], record);
  }
done:
  if (events)
    capture->events.size = (first + count) * sizeof *events;
  hsc_free(table.spans);
  hsc_free(table.events);
  hsc_bytes_deinit(&late);
  return status;
}

// ---- the whole capture --------------------------------------------------------------------------

static hsc_status *add_ring(hsc_capture *capture, const char *path) {
  hsc__ring r = {0};
  hsc_status *status = map_file(path, &r);
  if (!status)
    status = check_header(path, &r);
  if (status) {
    unmap_ring(&r);
    return status;
  }
  if (!HSC_GROW(capture->rings, capture->ring_count, capture->ring_capacity)) {
    unmap_ring(&r);
    return hsc_status_out_of_memory();
  }
  capture->rings[capture->ring_count++] = r;
  return NULL;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static hsc_status *add_directory(hsc_capture *capture, const char *path, DIR *directory) {
  hsc_bytes names = {0};  // of char *, in the arena
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (!hsc_ends_with(entry->d_name, ".ring"))
      continue;
    char *full = hsc_arena_printf(capture->arena, "%s/%s", path, entry->d_name);
    hsc_bytes_append(&names, &full, sizeof full);
  }
  size_t count = names.size / sizeof(char *);
  if (count)
    qsort(names.data, count, sizeof(char *), compare_names);
  hsc_status *last = NULL;
  for (size_t i = 0; i < count; i++) {
    hsc_status *status = add_ring(capture, ((char **)names.data)[i]);
    if (!status)
      continue;
    hsc_bytes_printf(&capture->notes, "%s\n", hsc_status_message(status));
    hsc_status_free(last);
    last = status;
  }
  hsc_bytes_deinit(&names);
  if (capture->ring_count || !last) {
    hsc_status_free(last);
    last = NULL;
  }
  if (!capture->ring_count && !last)
    return HSC_ERR(NOT_FOUND,
                   "%s holds no recording: no program that loaded a PJRT plugin was traced into it",
                   path);
  return last;
}

// What events are ordered by: start, the longer one first, number. Threads are in order by
// themselves, so the keys are a few sorted runs, which are merged pairwise; the events are then put
// in place once. A key is small, as there are two for each event: what few starts are shared by is
// looked up in the events.
typedef struct order_key {
  int64_t start_ns;
  uint32_t index;
} order_key;

static inline bool in_order(const hsc_event *events, const order_key *x, const order_key *y) {
  if (x->start_ns != y->start_ns)
    return x->start_ns < y->start_ns;
  const hsc_event *a = &events[x->index];
  const hsc_event *b = &events[y->index];
  if (a->duration_ns != b->duration_ns)
    return a->duration_ns > b->duration_ns;
  return a->span != b->span ? a->span < b->span : x->index < y->index;
}

static size_t run_end(const hsc_event *events, const order_key *keys, size_t at, size_t count) {
  do
    hsc_spill_passed(at++);
  while (at < count && in_order(events, &keys[at - 1], &keys[at]));
  return at;
}

static void merge_runs(const hsc_event *events, order_key **keys, order_key **spare, size_t count) {
  for (bool merged = true; merged;) {
    merged = false;
    order_key *from = *keys;
    order_key *to = *spare;
    for (size_t at = 0; at < count;) {
      size_t middle = run_end(events, from, at, count);
      size_t end = middle < count ? run_end(events, from, middle, count) : middle;
      size_t a = at;
      size_t b = middle;
      while (a < middle && b < end) {
        hsc_spill_passed(a + b);
        *to++ = in_order(events, &from[a], &from[b]) ? from[a++] : from[b++];
      }
      while (a < middle)
        *to++ = from[a++];
      while (b < end)
        *to++ = from[b++];
      merged |= middle < count;
      at = end;
    }
    *spare = from;
    *keys = to - count;
  }
}

static inline bool comes_before(const hsc_event *x, const hsc_event *y) {
  if (x->start_ns != y->start_ns)
    return x->start_ns < y->start_ns;
  if (x->duration_ns != y->duration_ns)
    return x->duration_ns > y->duration_ns;
  return x->span < y->span;
}

// One thread's events are in order but for neighbours that began at the same tick: each goes back
// past the few that it precedes. False: several threads', which take more moves than events; what
// was done so far is fine, only not all.
static bool sort_neighbours(hsc_event *events, size_t count) {
  size_t moves = 0;
  for (size_t i = 1; i < count; i++) {
    hsc_spill_passed(i);
    if (!comes_before(&events[i], &events[i - 1]))
      continue;
    hsc_event moved = events[i];
    size_t at = i;
    for (; at > 0 && comes_before(&moved, &events[at - 1]); at--) {
      events[at] = events[at - 1];
      if (++moves > count) {
        events[at - 1] = moved;
        return false;
      }
    }
    events[at] = moved;
  }
  return true;
}

static hsc_status *sort_events(hsc_event *events, size_t count) {
  if (sort_neighbours(events, count))
    return NULL;
  order_key *keys = hsc_alloc(count * sizeof *keys);
  order_key *spare = hsc_alloc(count * sizeof *spare);
  hsc_status *status = keys && spare ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; i < count && !status; i++)
    keys[i] = (order_key){events[i].start_ns, (uint32_t)i};
  if (!status)
    merge_runs(events, &keys, &spare, count);
  hsc_free(spare);
  // Cycle by cycle: every event moves once.
  for (size_t i = 0; i < count && !status; i++) {
    hsc_spill_passed(i);
    if (keys[i].index == i)
      continue;
    hsc_event moved = events[i];
    size_t at = i;
    while (keys[at].index != i) {
      size_t from = keys[at].index;
      events[at] = events[from];
      keys[at].index = (uint32_t)at;
      at = from;
    }
    events[at] = moved;
    keys[at].index = (uint32_t)at;
  }
  hsc_free(keys);
  return status;
}

static void note_process(hsc_capture *capture, const hsc_capture_process *p) {
  if (p->lost_events)
    hsc_bytes_printf(&capture->notes, "process %lld (%s): %llu events were lost for want of room\n",
                     (long long)p->pid, p->label, (unsigned long long)p->lost_events);
  if (p->lost_attrs)
    hsc_bytes_printf(&capture->notes, "process %lld: %llu attributes were lost\n",
                     (long long)p->pid, (unsigned long long)p->lost_attrs);
  if (p->torn_records)
    hsc_bytes_printf(&capture->notes, "process %lld: %llu damaged records were skipped\n",
                     (long long)p->pid, (unsigned long long)p->torn_records);
  if (!p->closed)
    hsc_bytes_printf(&capture->notes,
                     "process %lld (%s) did not end its recording: it runs still, was killed, or "
                     "left by _exit or exec\n",
                     (long long)p->pid, p->label);
}

// Work that was timed before the first ring was opened (a span completed with older ticks) makes
// the capture begin earlier: no event is before 0.
static void move_to_first_event(hsc_capture *capture) {
  hsc_event *events = (hsc_event *)capture->events.data;
  size_t count = hsc_capture_event_count(capture);
  const int64_t longest = (int64_t)1 << 60;  // 36 years; beyond it the file is damaged
  if (!count || events[0].start_ns >= 0 || events[0].start_ns < -longest)
    return;
  int64_t shift = -events[0].start_ns;
  for (size_t i = 0; i < count; i++)
    if (events[i].start_ns < longest)
      events[i].start_ns += shift;
  for (int i = 0; i < capture->ring_count; i++) {
    capture->processes[i].start_ns += shift;
    capture->processes[i].end_ns += shift;
  }
  capture->base_wall_ns -= shift;
}

hsc_status *hsc__capture_put_in_order(hsc_capture *capture) {
  if (hsc_capture_event_count(capture) >= UINT32_MAX)
    return HSC_ERR(RESOURCE_EXHAUSTED, "%s: more than four thousand million events", capture->path);
  HSC_TRY(sort_events((hsc_event *)capture->events.data, hsc_capture_event_count(capture)));
  move_to_first_event(capture);
  return hsc__capture_nest(capture);
}

// Of a folder that holds several runs the last one is read; the others are reported.
static hsc_status *keep_last_run(hsc_capture *capture) {
  hsc_ring_life *lives = HSC_NEW_ARRAY(capture->arena, hsc_ring_life, capture->ring_count + 1);
  bool *is_last = HSC_NEW_ARRAY(capture->arena, bool, capture->ring_count + 1);
  if (!lives || !is_last)
    return hsc_status_out_of_memory();
  for (int i = 0; i < capture->ring_count; i++) {
    const hsc_ring_header *h = &capture->rings[i].header;
    int64_t lasted_ns = h->last_raw_ns - h->first_raw_ns;
    lives[i] = (hsc_ring_life){
        .run_low = h->trace_id_low,
        .run_high = h->trace_id_high,
        .pid = h->pid,
        .parent_pid = h->parent_pid,
        .open = h->closed != 1,
        .begin_ns = h->first_wall_ns,
        .end_ns = h->first_wall_ns + (lasted_ns > 0 && lasted_ns < INT64_MAX / 4 ? lasted_ns : 0)};
  }
  int earlier = hsc__capture_last_run(lives, capture->ring_count, is_last);
  int kept = 0;
  for (int i = 0; i < capture->ring_count; i++) {
    if (is_last[i])
      capture->rings[kept++] = capture->rings[i];
    else
      unmap_ring(&capture->rings[i]);
  }
  capture->ring_count = kept;
  if (earlier)
    hsc_bytes_printf(&capture->notes,
                     "%s holds recordings of %d earlier run%s as well: only the last run is shown; "
                     "name one of the .ring files to see another\n",
                     capture->path, earlier, hsc_plural((double)earlier, "", "s"));
  return NULL;
}

// Rings of one process (its libraries and its Python code record each by itself) are shown as one.
static hsc_status *join_rings_of_processes(hsc_capture *capture) {
  for (int i = 0; i < capture->ring_count; i++) {
    const hsc_ring_header *h = &capture->rings[i].header;
    hsc_capture_process *p = &capture->processes[i];
    p->shown_as = i;
    for (int k = 0; k < i && p->shown_as == i; k++) {
      const hsc_ring_header *other = &capture->rings[k].header;
      hsc_capture_process *first = &capture->processes[k];
      if (other->pid != h->pid || strncmp(other->host, h->host, sizeof h->host) ||
          first->shown_as != k)
        continue;
      p->shown_as = k;
      p->ring_of_process = ++first->more_rings;
      const char *both = hsc_arena_printf(capture->arena, "%s, %.*s", first->label,
                                          (int)sizeof h->label - 1, h->label);
      if (!both)
        return hsc_status_out_of_memory();
      first->label = both;
    }
  }
  return NULL;
}

// The rings of a process have one clock: the one that was open longest knows its rate best, and all
// of them go by it. Two rates that differ by a billionth part would tear a call out of its label.
static void share_clocks(hsc_capture *capture) {
  for (int i = 0; i < capture->ring_count; i++) {
    const hsc__ring *best = &capture->rings[i];
    for (int k = 0; k < capture->ring_count; k++) {
      const hsc__ring *other = &capture->rings[k];
      bool shares = capture->processes[k].shown_as == capture->processes[i].shown_as &&
                    other->header.clock == best->header.clock;
      if (shares && other->header.last_raw_ns - other->header.first_raw_ns >
                        best->header.last_raw_ns - best->header.first_raw_ns)
        best = other;
    }
    hsc__ring *r = &capture->rings[i];
    r->anchor_ticks = best->header.first_ticks;
    r->anchor_raw_ns = best->header.first_raw_ns;
    r->shared_ns_per_tick = best->ns_per_tick;
  }
  for (int i = 0; i < capture->ring_count; i++)
    capture->rings[i].ns_per_tick = capture->rings[i].shared_ns_per_tick;
}

// Every ring numbers its spans from 1 on: those of a process's second ring get numbers of their
// own.
static void number_spans_apart(hsc_capture *capture, int ring, size_t first_event) {
  uint64_t mark = (uint64_t)capture->processes[ring].ring_of_process << 52;
  hsc_event *events = (hsc_event *)capture->events.data;
  for (size_t e = first_event; mark && e < hsc_capture_event_count(capture); e++) {
    if (events[e].span)
      events[e].span ^= mark;
    if (events[e].parent)
      events[e].parent ^= mark;
  }
}

static hsc_status *read_all(hsc_capture *capture, const char *clocks_path) {
  HSC_TRY(keep_last_run(capture));
  capture->processes = HSC_NEW_ARRAY(capture->arena, hsc_capture_process, capture->ring_count);
  if (!capture->processes)
    return hsc_status_out_of_memory();
  double fallback = 0;
  for (int i = 0; i < capture->ring_count; i++) {
    hsc__ring *r = &capture->rings[i];
    if (r->ns_per_tick == 0)
      r->ns_per_tick = fallback ? fallback : (fallback = measured_ns_per_tick());
  }
  for (int i = 0; i < capture->ring_count; i++) {
    hsc__ring *r = &capture->rings[i];
    hsc_ring_header *h = &r->header;
    for (int k = 0; k < HSC_USER_CATEGORIES; k++)
      h->user_categories[k][sizeof h->user_categories[k] - 1] = 0;
    h->label[sizeof h->label - 1] = h->command[sizeof h->command - 1] =
        h->host[sizeof h->host - 1] = 0;
    capture->processes[i] = (hsc_capture_process){.label = h->label,
                                                  .command = h->command,
                                                  .host = h->host,
                                                  .pid = h->pid,
                                                  .parent_pid = h->parent_pid,
                                                  .trace_id_high = h->trace_id_high,
                                                  .trace_id_low = h->trace_id_low,
                                                  .lost_events = h->lost_events,
                                                  .lost_attrs = h->lost_attrs,
                                                  .closed = h->closed == 1};
  }
  HSC_TRY(join_rings_of_processes(capture));
  share_clocks(capture);
  HSC_TRY(hsc__capture_align_hosts(capture, clocks_path));
  for (int i = 0; i < capture->ring_count; i++) {
    hsc__ring *r = &capture->rings[i];
    const hsc_ring_header *h = &r->header;
    capture->processes[i].start_ns = to_ns(r, h->first_ticks);
    HSC_TRY(read_strings(capture, r));
    size_t first = hsc_capture_event_count(capture);
    HSC_TRY(read_events(capture, i));
    hsc_capture_process *p = &capture->processes[i];
    p->end_ns = to_ns(r, h->last_ticks);
    hsc_event *events = (hsc_event *)capture->events.data;
    size_t open = 0;
    for (size_t e = first; e < hsc_capture_event_count(capture); e++) {
      hsc_spill_passed(e);
      open += events[e].open;
      if (events[e].start_ns + events[e].duration_ns > p->end_ns)
        p->end_ns = events[e].start_ns + events[e].duration_ns;
    }
    for (size_t e = first; open; e++) {
      hsc_spill_passed(e);
      if (!events[e].open)
        continue;
      open--;
      events[e].duration_ns = p->end_ns - events[e].start_ns;
    }
    number_spans_apart(capture, i, first);
    note_process(capture, p);
  }
  HSC_TRY(hsc__capture_merge_profiles(capture));
  if (capture->backward)
    hsc_bytes_printf(
        &capture->notes,
        "%llu spans ended before they began: the clock went back; their duration is given as 0\n",
        (unsigned long long)capture->backward);
  return hsc__capture_put_in_order(capture);
}

hsc_status *hsc_capture_open(const char *path, hsc_capture **out_capture) {
  return hsc_capture_open_with_clocks(path, NULL, out_capture);
}

hsc_status *hsc_capture_open_with_clocks(const char *path,
                                         const char *clocks_path,
                                         hsc_capture **out_capture) {
  *out_capture = NULL;
  hsc_capture *capture = hsc_alloc(sizeof *capture);
  if (!capture)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&capture->arena));
  capture->path = hsc_arena_strdup(capture->arena, path);
  DIR *directory = opendir(path);
  if (directory) {
    status = add_directory(capture, path, directory);
    closedir(directory);
  } else {
    status = add_ring(capture, path);
  }
  if (status)
    goto done;
  capture->looks = HSC_NEW(capture->arena, uint64_t);
  HSC_GOTO(hsc_arena_status(capture->arena));
  HSC_GOTO(read_all(capture, clocks_path));
  HSC_GOTO(hsc_bytes_status(&capture->threads));
  HSC_GOTO(hsc_arena_status(capture->arena));
  *out_capture = capture;
  return NULL;
done:
  hsc_capture_close(capture);
  return status;
}

void hsc_capture_close(hsc_capture *capture) {
  if (!capture)
    return;
  for (int i = 0; i < capture->ring_count; i++)
    unmap_ring(&capture->rings[i]);
  hsc_free(capture->rings);
  hsc_bytes_deinit(&capture->events);
  hsc_bytes_deinit(&capture->threads);
  hsc_bytes_deinit(&capture->notes);
  hsc_arena_destroy(capture->arena);
  hsc_free(capture);
}

size_t hsc_capture_event_count(const hsc_capture *capture) {
  return capture->events.size / sizeof(hsc_event);
}
const hsc_event *hsc_capture_events(const hsc_capture *capture) {
  return (const hsc_event *)capture->events.data;
}
int hsc_capture_process_count(const hsc_capture *capture) {
  return capture->ring_count;
}
int hsc_capture_host_count(const hsc_capture *capture) {
  int count = 0;
  for (int i = 0; i < capture->ring_count; i++)
    if (capture->processes[i].host_number >= count)
      count = capture->processes[i].host_number + 1;
  return count;
}
const hsc_capture_process *hsc_capture_process_at(const hsc_capture *capture, int process) {
  return &capture->processes[process];
}
int hsc_capture_thread_count(const hsc_capture *capture) {
  return (int)(capture->threads.size / sizeof(hsc_capture_thread));
}
const hsc_capture_thread *hsc_capture_thread_at(const hsc_capture *capture, int thread) {
  return (const hsc_capture_thread *)capture->threads.data + thread;
}
int64_t hsc_capture_start_wall_ns(const hsc_capture *capture) {
  return capture->base_wall_ns;
}
const char *hsc_capture_path(const hsc_capture *capture) {
  return capture->path ? capture->path : "";
}
const char *hsc_capture_notes(const hsc_capture *capture) {
  return hsc_bytes_text(&capture->notes);
}

const char *hsc_capture_string(const hsc_capture *capture, int32_t process, uint64_t number) {
  return process >= 0 && process < capture->ring_count
             ? hsc__ring_string(&capture->rings[process], number)
             : "";
}

uint32_t hsc_capture_number(const hsc_capture *capture, int32_t process, const char *text) {
  const hsc__ring *r =
      process >= 0 && process < capture->ring_count ? &capture->rings[process] : NULL;
  for (uint32_t i = 1; r && i < r->string_count; i++)
    if (r->strings[i] && !strcmp(r->strings[i], text))
      return i;
  return 0;
}

const hsc_trace_attr *hsc_event_attr(const hsc_capture *capture,
                                     const hsc_event *event,
                                     const char *key) {
  hsc_capture_looked(capture);
  for (int i = 0; i < event->end_attr_count; i++)
    if (!strcmp(hsc_capture_string(capture, event->process, event->end_attrs[i].key), key))
      return &event->end_attrs[i];
  for (int i = 0; i < event->attr_count; i++)
    if (!strcmp(hsc_capture_string(capture, event->process, event->attrs[i].key), key))
      return &event->attrs[i];
  return NULL;
}

const char *hsc_event_shown_name(const hsc_capture *capture, const hsc_event *e) {
  const hsc_trace_attr *executable =
      e->category == HSC_CATEGORY_EXECUTE ? hsc_event_attr(capture, e, "executable") : NULL;
  const char *name = executable && executable->type == HSC_ATTR_STRING
                         ? hsc_capture_string(capture, e->process, executable->value.string)
                         : "";
  return *name ? name : e->name;
}

void hsc_event_attrs_text(const hsc_capture *capture, const hsc_event *e, hsc_bytes *out) {
  for (int i = 0; i < e->attr_count + e->end_attr_count; i++) {
    const hsc_trace_attr *a = i < e->attr_count ? &e->attrs[i] : &e->end_attrs[i - e->attr_count];
    if (i)
      hsc_bytes_append(out, " ", 1);
    hsc_bytes_append_text(out, hsc_capture_string(capture, e->process, a->key));
    hsc_bytes_append(out, "=", 1);
    char number[32];
    char *from = number + sizeof number;
    if (a->type == HSC_ATTR_STRING) {
      hsc_bytes_append_text(out, hsc_capture_string(capture, e->process, a->value.string));
    } else if (a->type == HSC_ATTR_DOUBLE) {
      hsc_bytes_append(out, number, (size_t)hsc_format_double(a->value.d, number));
    } else {
      bool negative = a->type != HSC_ATTR_UINT && a->value.i < 0;
      uint64_t left = negative ? 0 - a->value.u : a->value.u;
      do
        *--from = (char)('0' + left % 10);
      while (left /= 10);
      if (negative)
        *--from = '-';
      hsc_bytes_append(out, from, (size_t)(number + sizeof number - from));
    }
  }
}
