// recorder.c - writes ring files: chunks for threads, strings, spans. The layout and the argument
// for its safety are in ring_format.h.
//
// How to read: a thread takes a chunk of the ring (chunks), fills it with records until it is full,
// and takes the next one, the oldest when there is no new one. Everything that records goes through
// put_event and commit (events); runs of a program have a shorter form (runs). One record
// costs no lock and no allocation; a new chunk and a new string take the recorder's lock. Opening
// and forks, and moving to another file, are at the end.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/core/bytes.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/core/status.h"
#include "base/files/file_io.h"
#include "hloscope/trace.h"
#include "trace/recorder.h"
#include "trace/ring_format.h"

enum { MAX_DEPTH = 128, MAX_STRING_BYTES = 32768, PREFETCH_BYTES = 512 };

// What a thread holds for a recorder. A thread has one for each recorder that it writes to, the
// last one first.
typedef struct thread_state {
  uint64_t instance;  // of the recorder: a closed one's address may come again
  hsc_ring_chunk *chunk;
  uint8_t *records;
  uint32_t used, capacity;
  uint64_t event_count;  // of the chunk
  uint64_t next_span;    // span ids are handed out in blocks
  uint32_t spans_left;
  int32_t depth, run_depth;
  uint32_t name;
  struct thread_state *next;
  // of the chunk's last RUN; `call` 0 = none, the next one is reported in full
  struct {
    uint64_t span, parent, run_id;
    uint32_t call, device_run, track, executable_key, run_key;
    bool device_done;
  } last_run;
  uint64_t open[MAX_DEPTH];
} thread_state;

struct hsc_recorder {
  _Atomic uint32_t categories;  // these two are hsc_recorder_switch
  _Atomic uint32_t *paused;     // in the header, where other processes set it too
  hsc_ring_header *header;
  uint64_t instance;
  uint32_t clock;
  int file;
  size_t mapped_bytes;
  pid_t pid;
  char *path;
  uint64_t run_high, run_low;  // of the run that the process belongs to; 0 = not chosen yet
  // What changes while threads record lies on other cache lines than what they read.
  _Alignas(64) pthread_mutex_t lock;  // of chunks and strings
  uint64_t sequence;
  _Atomic uint64_t span_block;
  hsc_map *strings;  // text -> number
  hsc_arena *string_arena;
  uint32_t string_count;
  hsc_ring_chunk *string_chunk;
  uint32_t string_used;
  hsc_recorder_options options;
  char *directory, *label;  // what the fields of `options` point to
  hsc_recorder *next;       // of all open recorders, for fork
};

_Static_assert(offsetof(struct hsc_recorder, categories) ==
                       offsetof(hsc_recorder_switch, categories) &&
                   offsetof(struct hsc_recorder, paused) == offsetof(hsc_recorder_switch, paused),
               "the switch is asked by the header's inline functions");

// a pointer, read once per event: in a shared library that is a call
static _Thread_local thread_state *tls;
static pthread_key_t thread_key;      // its destructor is told of the thread's end
static _Atomic uint32_t no_ring = 1;  // `paused` of a recorder without one
static _Atomic uint64_t instances;
static hsc_recorder *all_recorders;  // under all_lock
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t clock_kind;
static pthread_once_t clock_once = PTHREAD_ONCE_INIT;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;

// The time stamp counter where it ticks at one rate on all cores, else the kernel's raw clock.
static void choose_clock(void) {
  clock_kind = HSC_CLOCK_MONOTONIC_RAW;
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)))
    clock_kind = HSC_CLOCK_TSC;
#endif
}

static inline uint64_t ticks_of(uint32_t clock) {
#if defined(__x86_64__)
  if (clock == HSC_CLOCK_TSC)
    return __rdtsc();
#endif
  return (uint64_t)hsc_now_ns();
}

// One moment by the three clocks of a recording.
typedef struct moment {
  int64_t wall_ns, raw_ns;
  uint64_t ticks;
} moment;

// The clocks are read one after another, and the process may be stopped between two readings: of a
// few tries the one that took least. Where a ring seems to end before another of its process began,
// the two are taken for two runs; and ticks have their length by these moments.
static moment moment_now(uint32_t clock) {
  enum { TRIES = 5, SHORT_NS = 1000 };
  moment best = {0};
  int64_t least_ns = INT64_MAX;
  for (int i = 0; i < TRIES && least_ns > SHORT_NS; i++) {
    int64_t before_ns = hsc_now_ns();
    uint64_t ticks = ticks_of(clock);
    int64_t wall_ns = hsc_wall_ns();
    int64_t took_ns = hsc_now_ns() - before_ns;
    if (took_ns >= least_ns)
      continue;
    least_ns = took_ns;
    best = (moment){.wall_ns = wall_ns, .raw_ns = before_ns, .ticks = ticks};
  }
  return best;
}

uint64_t hsc_trace_ticks(void) {
  pthread_once(&clock_once, choose_clock);
  return ticks_of(clock_kind);
}

// ---- chunks -------------------------------------------------------------------------------------

static hsc_ring_chunk *chunk_at(const hsc_recorder *recorder, uint32_t index) {
  return (hsc_ring_chunk *)((uint8_t *)recorder->header + HSC_RING_HEADER_BYTES +
                            (size_t)index * recorder->header->chunk_bytes);
}

// The oldest event chunk that no thread writes to; its events are lost from now on.
static hsc_ring_chunk *recycle(hsc_recorder *recorder) {
  hsc_ring_chunk *oldest = NULL;
  // beyond it the file has no blocks: even reading there can fail
  uint32_t count = atomic_load_explicit(&recorder->header->chunk_count, memory_order_relaxed);
  for (uint32_t i = 0; i < count; i++) {
    hsc_ring_chunk *chunk = chunk_at(recorder, i);
    if (chunk->kind != HSC_CHUNK_EVENTS || chunk->owner)
      continue;
    if (!oldest || chunk->sequence < oldest->sequence)
      oldest = chunk;
  }
  if (oldest)
    atomic_fetch_add_explicit(&recorder->header->lost_events, oldest->event_count,
                              memory_order_relaxed);
  return oldest;
}

static void note_last_moment(hsc_recorder *recorder) {
  moment now = moment_now(recorder->clock);
  recorder->header->last_raw_ns = now.raw_ns;
  recorder->header->last_ticks = now.ticks;
  recorder->header->last_wall_ns = now.wall_ns;
}

// How far CLOCK_REALTIME may be from true time, as the kernel keeps count for NTP; -1: nothing
// sets it by another clock; 0: the kernel does not say (some containers forbid to ask).
static int64_t wall_error_ns(void) {
  struct timex state = {.modes = 0};
  int answer = adjtimex(&state);
  if (answer < 0)
    return 0;
  return answer == TIME_ERROR || state.status & STA_UNSYNC ? -1 : (int64_t)state.maxerror * 1000;
}

// Under the lock. NULL when neither room nor disk is left.
static hsc_ring_chunk *take_chunk(hsc_recorder *recorder, hsc_chunk_kind kind) {
  hsc_ring_header *header = recorder->header;
  hsc_ring_chunk *chunk = NULL;
  uint32_t count = atomic_load_explicit(&header->chunk_count, memory_order_relaxed);
  if (count < header->chunk_capacity) {
    // Blocks are reserved before they are touched: a full disk is an error here, not a SIGBUS
    // later.
    off_t at = (off_t)HSC_RING_HEADER_BYTES + (off_t)count * header->chunk_bytes;
    if (posix_fallocate(recorder->file, at, header->chunk_bytes) == 0) {
      chunk = chunk_at(recorder, count);
      madvise((void *)((uintptr_t)chunk & ~(uintptr_t)4095), header->chunk_bytes,
              MADV_POPULATE_WRITE);
      atomic_store_explicit(&header->chunk_count, count + 1, memory_order_release);
    }
  }
  if (!chunk)
    chunk = recycle(recorder);
  if (!chunk)
    return NULL;
  atomic_store_explicit(&chunk->used_bytes, 0, memory_order_release);
  chunk->sequence = ++recorder->sequence;
  chunk->thread = (int64_t)syscall(SYS_gettid);
  chunk->thread_name = 0;
  chunk->event_count = 0;
  chunk->run_ticks = 0;
  chunk->first_ticks = ticks_of(recorder->clock);
  atomic_store_explicit(&chunk->owner, 1, memory_order_relaxed);
  atomic_store_explicit(&chunk->kind, kind, memory_order_release);
  note_last_moment(recorder);
  return chunk;
}

static void count_lost(hsc_recorder *recorder) {
  if (recorder->header)
    atomic_fetch_add_explicit(&recorder->header->lost_events, 1, memory_order_relaxed);
}

// The recorder of this number, while it is open. Under all_lock.
static hsc_recorder *open_of(uint64_t instance) {
  for (hsc_recorder *r = all_recorders; r; r = r->next)
    if (r->instance == instance)
      return r;
  return NULL;
}

// A thread that ends gives its chunks back: when the ring is full they can go round.
static void thread_ended(void *states) {
  tls = NULL;
  pthread_mutex_lock(&all_lock);
  for (thread_state *t = states, *next; t; t = next) {
    next = t->next;
    hsc_recorder *recorder = t->chunk ? open_of(t->instance) : NULL;
    if (recorder) {
      t->chunk->event_count = t->event_count;
      atomic_store_explicit(&t->chunk->owner, 0, memory_order_release);
    }
    hsc_free(t);
  }
  pthread_mutex_unlock(&all_lock);
}

// Slow path: the thread's first event in this recorder, or the last one went to another.
static __attribute__((noinline)) thread_state *find_state(hsc_recorder *recorder) {
  for (thread_state **at = &tls; *at; at = &(*at)->next) {
    thread_state *t = *at;
    if (t->instance != recorder->instance)
      continue;
    *at = t->next;
    t->next = tls;
    tls = t;
    pthread_setspecific(thread_key, tls);
    return t;
  }
  thread_state *t = hsc_alloc(sizeof *t);
  if (!t)
    return NULL;
  t->instance = recorder->instance;
  t->next = tls;
  tls = t;
  pthread_setspecific(thread_key, tls);
  return t;
}

static inline thread_state *state_of(hsc_recorder *recorder) {
  thread_state *t = tls;
  return __builtin_expect(t && t->instance == recorder->instance, 1) ? t : find_state(recorder);
}

// Slow path: the thread has no chunk yet, or it is full.
static __attribute__((noinline)) bool next_chunk(hsc_recorder *recorder, thread_state *t) {
  if (!recorder->header)
    return false;  // a child of fork that got no ring of its own
  uint64_t run_ticks = t->chunk ? t->chunk->run_ticks : 0;
  uint32_t run_executable = t->chunk ? t->chunk->run_executable : 0;
  pthread_mutex_lock(&recorder->lock);
  if (t->chunk) {
    t->chunk->event_count = t->event_count;
    t->chunk->run_ticks = 0;
    atomic_store_explicit(&t->chunk->owner, 0, memory_order_release);
  }
  t->chunk = take_chunk(recorder, HSC_CHUNK_EVENTS);
  if (t->chunk) {
    t->chunk->run_executable = run_executable;
    t->chunk->run_ticks = run_ticks;
  }
  pthread_mutex_unlock(&recorder->lock);
  t->used = 0;
  t->event_count = 0;
  t->capacity = 0;
  t->last_run.call = 0;
  if (!t->chunk)
    return false;
  t->chunk->thread_name = t->name;
  t->records = (uint8_t *)t->chunk + HSC_RING_CHUNK_HEADER_BYTES;
  t->capacity = recorder->header->chunk_bytes - HSC_RING_CHUNK_HEADER_BYTES;
  return true;
}

// ---- events -------------------------------------------------------------------------------------

static inline bool wants(const hsc_recorder *recorder, hsc_category category) {
  return recorder &&
         (atomic_load_explicit(&recorder->categories, memory_order_relaxed) & (uint32_t)category) &&
         !atomic_load_explicit(recorder->paused, memory_order_relaxed);
}

bool hsc_recorder_wants(const hsc_recorder *recorder, hsc_category category) {
  return wants(recorder, category);
}

// Makes room for a record of `words` of payload and the attributes, and writes what all records
// begin with. NULL when it was lost.
static inline __attribute__((always_inline)) hsc_record *reserve(hsc_recorder *recorder,
                                                                 thread_state *t,
                                                                 hsc_record_kind kind,
                                                                 uint32_t category,
                                                                 uint32_t name,
                                                                 uint32_t more,
                                                                 uint64_t ticks,
                                                                 uint32_t words,
                                                                 const hsc_trace_attr *attrs,
                                                                 int attr_count) {
  if (__builtin_expect(attr_count > HSC_MAX_ATTRS, 0)) {
    atomic_fetch_add_explicit(&recorder->header->lost_attrs, (uint64_t)(attr_count - HSC_MAX_ATTRS),
                              memory_order_relaxed);
    attr_count = HSC_MAX_ATTRS;
  }
  uint32_t size = (uint32_t)sizeof(hsc_record) + 8 * words +
                  (uint32_t)sizeof(hsc_trace_attr) * (uint32_t)attr_count;
  if (__builtin_expect(t->used + size > t->capacity, 0) && !next_chunk(recorder, t)) {
    count_lost(recorder);
    return NULL;
  }
  hsc_record *record = (hsc_record *)(t->records + t->used);
  // the lines that the next records will be written to are fetched meanwhile
  __builtin_prefetch((const char *)record + PREFETCH_BYTES, 1);
  *record = (hsc_record){.size_bytes = (uint16_t)size,
                         .kind = (uint8_t)kind,
                         .attr_count = (uint8_t)attr_count,
                         .category = category,
                         .name = name,
                         .more = more,
                         .ticks = ticks};
  hsc_trace_attr *at = (hsc_trace_attr *)((uint64_t *)(record + 1) + words);
  for (int i = 0; i < attr_count; i++)
    at[i] = attrs[i];
  t->used += size;
  return record;
}

// The record is whole: readers may see it.
static inline void commit(thread_state *t) {
  t->event_count++;
  atomic_store_explicit(&t->chunk->used_bytes, t->used, memory_order_release);
}

static inline uint64_t new_span(hsc_recorder *recorder, thread_state *t) {
  enum { BLOCK = 4096 };
  if (__builtin_expect(t->spans_left == 0, 0)) {
    t->next_span = atomic_fetch_add_explicit(&recorder->span_block, BLOCK, memory_order_relaxed);
    t->spans_left = BLOCK;
  }
  t->spans_left--;
  return t->next_span++;
}

static inline uint64_t parent_span(const thread_state *t) {
  return t->depth > 0 && t->depth <= MAX_DEPTH ? t->open[t->depth - 1] : 0;
}

static inline void push_span(thread_state *t, uint64_t span) {
  if (t->depth < MAX_DEPTH)
    t->open[t->depth] = span;
  t->depth++;
}

// Spans end in the order of a stack on their own thread; one that ends elsewhere leaves the stack
// of its thread as it is.
static inline void pop_span(thread_state *t, uint64_t span) {
  if (__builtin_expect(t->depth > 0 && t->depth <= MAX_DEPTH && t->open[t->depth - 1] == span, 1)) {
    t->depth--;
    return;
  }
  for (int depth = t->depth < MAX_DEPTH ? t->depth : MAX_DEPTH; depth > 0; depth--) {
    if (t->open[depth - 1] != span)
      continue;
    t->depth = depth - 1;
    return;
  }
  if (t->depth > MAX_DEPTH)
    t->depth--;
}

uint64_t(hsc_span_begin)(hsc_recorder *recorder,
                         hsc_category category,
                         uint32_t name,
                         const hsc_trace_attr *attrs,
                         int attr_count) {
  if (!wants(recorder, category))
    return 0;
  thread_state *t = state_of(recorder);
  if (!t) {
    count_lost(recorder);
    return 0;
  }
  hsc_record *record = reserve(recorder, t, HSC_RECORD_BEGIN, (uint32_t)category, name, 0,
                               ticks_of(recorder->clock), 2, attrs, attr_count);
  if (!record)
    return 0;
  uint64_t *payload = (uint64_t *)(record + 1);
  uint64_t span = new_span(recorder, t);
  payload[0] = span;
  payload[1] = parent_span(t);
  commit(t);
  push_span(t, span);
  return span;
}

void(hsc_span_end)(hsc_recorder *recorder,
                   uint64_t span,
                   const hsc_trace_attr *attrs,
                   int attr_count) {
  if (!span || !recorder)
    return;
  uint64_t ticks = ticks_of(recorder->clock);
  thread_state *t = state_of(recorder);
  if (!t) {
    count_lost(recorder);
    return;
  }
  if (reserve(recorder, t, HSC_RECORD_END_OF, 0, (uint32_t)span, (uint32_t)(span >> 32), ticks, 0,
              attrs, attr_count))
    commit(t);
  pop_span(t, span);
}

// Of the events that are one record: the rest of the way.
static void put_event(hsc_recorder *recorder,
                      hsc_record_kind kind,
                      hsc_category category,
                      uint32_t name,
                      uint32_t words,
                      uint64_t first,
                      const hsc_trace_attr *attrs,
                      int attr_count) {
  thread_state *t = state_of(recorder);
  if (!t) {
    count_lost(recorder);
    return;
  }
  hsc_record *record = reserve(recorder, t, kind, (uint32_t)category, name, 0,
                               ticks_of(recorder->clock), words, attrs, attr_count);
  if (!record)
    return;
  if (words)
    *(uint64_t *)(record + 1) = first;
  commit(t);
}

uint64_t hsc_span_complete(hsc_recorder *recorder,
                           hsc_category category,
                           uint32_t name,
                           uint32_t track,
                           uint64_t begin_ticks,
                           uint64_t end_ticks,
                           const hsc_trace_attr *attrs,
                           int attr_count) {
  if (!wants(recorder, category))
    return 0;
  thread_state *t = state_of(recorder);
  if (!t) {
    count_lost(recorder);
    return 0;
  }
  hsc_record *record = reserve(recorder, t, HSC_RECORD_COMPLETE, (uint32_t)category, name, 0,
                               begin_ticks, 4, attrs, attr_count);
  if (!record)
    return 0;
  uint64_t *payload = (uint64_t *)(record + 1);
  uint64_t span = new_span(recorder, t);
  payload[0] = span;
  payload[1] = parent_span(t);
  payload[2] = end_ticks;
  payload[3] = track;
  commit(t);
  return span;
}

// ---- runs ---------------------------------------------------------------------------------------

uint64_t hsc__run_ticks(const hsc_recorder *recorder) {
  return ticks_of(recorder->clock);
}

hsc__run hsc__run_begin(hsc_recorder *recorder, uint32_t executable) {
  if (!wants(recorder, HSC_CATEGORY_EXECUTE))
    return (hsc__run){0};
  thread_state *t = state_of(recorder);
  if (!t || (!t->chunk && !next_chunk(recorder, t))) {
    count_lost(recorder);
    return (hsc__run){0};
  }
  if (t->spans_left < 2)
    t->spans_left = 0;  // the next number is the device's
  hsc__run run = {.span = new_span(recorder, t), .parent = parent_span(t)};
  (void)new_span(recorder, t);
  push_span(t, run.span);
  run.begin_ticks = ticks_of(recorder->clock);
  // a run inside of a run (a program's callback to the host) waits for its record
  if (t->run_depth++ == 0) {
    t->chunk->run_executable = executable;
    atomic_store_explicit(&t->chunk->run_ticks, run.begin_ticks, memory_order_release);
  }
  return run;
}

// The run as one that differs little from the last one; false when it does not.
static bool put_run_again(hsc_recorder *recorder,
                          thread_state *t,
                          const hsc__run *run,
                          uint64_t end_ticks,
                          uint64_t device_bytes,
                          const hsc_trace_attr *attrs) {
  enum { SIZE = sizeof(hsc_record) + sizeof(hsc_ring_run_again) };
  uint64_t duration = end_ticks - run->begin_ticks;
  uint64_t span_more = run->span - t->last_run.span;
  uint64_t id_more = attrs[1].value.u - t->last_run.run_id;
  if (run->parent != t->last_run.parent || attrs[0].key != t->last_run.executable_key ||
      attrs[1].key != t->last_run.run_key || attrs[0].type != HSC_ATTR_STRING ||
      attrs[1].type != HSC_ATTR_INT || (duration | span_more | id_more) >> 32 ||
      t->used + SIZE > t->capacity)
    return false;
  hsc_record *record =
      reserve(recorder, t, HSC_RECORD_RUN_AGAIN, HSC_CATEGORY_EXECUTE, (uint32_t)duration,
              (uint32_t)id_more, run->begin_ticks, sizeof(hsc_ring_run_again) / 8, NULL, 0);
  *(hsc_ring_run_again *)(record + 1) =
      (hsc_ring_run_again){(uint32_t)attrs[0].value.string, (uint32_t)span_more, device_bytes};
  t->last_run.span = run->span;
  t->last_run.run_id = attrs[1].value.u;
  commit(t);
  return true;
}

void hsc__run_end(hsc_recorder *recorder,
                  const hsc__run *run,
                  uint64_t end_ticks,
                  uint32_t name,
                  uint32_t device_run,
                  uint32_t track,
                  bool device_done,
                  uint64_t device_bytes,
                  const hsc_trace_attr *attrs,
                  int attr_count) {
  thread_state *t = state_of(recorder);
  if (!t) {
    count_lost(recorder);
    return;
  }
  bool alike = t->last_run.call && attr_count == 2 && t->last_run.call == name &&
               t->last_run.device_run == device_run && t->last_run.track == track &&
               t->last_run.device_done == device_done;
  if (!alike || !put_run_again(recorder, t, run, end_ticks, device_bytes, attrs)) {
    hsc_record *record = reserve(recorder, t, HSC_RECORD_RUN, HSC_CATEGORY_EXECUTE, name, 0,
                                 run->begin_ticks, sizeof(hsc_ring_run) / 8, attrs, attr_count);
    if (record) {
      *(hsc_ring_run *)(record + 1) =
          (hsc_ring_run){run->span,    run->parent, end_ticks, device_done ? end_ticks : 0,
                         device_bytes, track,       device_run};
      commit(t);
      t->last_run.call =
          attr_count == 2 && attrs[0].type == HSC_ATTR_STRING && attrs[1].type == HSC_ATTR_INT
              ? name
              : 0;
      t->last_run.span = run->span;
      t->last_run.parent = run->parent;
      t->last_run.run_id = t->last_run.call ? attrs[1].value.u : 0;
      t->last_run.device_run = device_run;
      t->last_run.track = track;
      t->last_run.device_done = device_done;
      t->last_run.executable_key = attr_count > 0 ? attrs[0].key : 0;
      t->last_run.run_key = attr_count > 1 ? attrs[1].key : 0;
    }
  }
  if (t->run_depth > 0 && --t->run_depth == 0 && t->chunk)
    atomic_store_explicit(&t->chunk->run_ticks, 0, memory_order_release);
  pop_span(t, run->span);
}

void hsc_trace_instant(hsc_recorder *recorder,
                       hsc_category category,
                       uint32_t name,
                       const hsc_trace_attr *attrs,
                       int attr_count) {
  if (wants(recorder, category))
    put_event(recorder, HSC_RECORD_INSTANT, category, name, 0, 0, attrs, attr_count);
}

void hsc_trace_counter(hsc_recorder *recorder, hsc_category category, uint32_t name, double value) {
  if (!wants(recorder, category))
    return;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_event(recorder, HSC_RECORD_COUNTER, category, name, 1, bits, NULL, 0);
}

void hsc_trace_flow_begin(hsc_recorder *recorder, uint32_t name, uint64_t id) {
  if (wants(recorder, HSC_CATEGORY_ALL))
    put_event(recorder, HSC_RECORD_FLOW_BEGIN, 0, name, 1, id, NULL, 0);
}

void hsc_trace_flow_end(hsc_recorder *recorder, uint32_t name, uint64_t id) {
  if (wants(recorder, HSC_CATEGORY_ALL))
    put_event(recorder, HSC_RECORD_FLOW_END, 0, name, 1, id, NULL, 0);
}

// ---- strings ------------------------------------------------------------------------------------

// Under the lock.
static bool write_string(hsc_recorder *recorder, uint32_t number, const char *text, size_t length) {
  uint32_t size = ((uint32_t)sizeof(hsc_record) + (uint32_t)length + 1 + 7) & ~7u;
  if (!recorder->header)
    return false;
  uint32_t capacity = recorder->header->chunk_bytes - HSC_RING_CHUNK_HEADER_BYTES;
  if (size > capacity)
    return false;
  if (!recorder->string_chunk || recorder->string_used + size > capacity) {
    hsc_ring_chunk *chunk = take_chunk(recorder, HSC_CHUNK_STRINGS);
    if (!chunk)
      return false;
    recorder->string_chunk = chunk;
    recorder->string_used = 0;
  }
  hsc_record *record = (hsc_record *)((uint8_t *)recorder->string_chunk +
                                      HSC_RING_CHUNK_HEADER_BYTES + recorder->string_used);
  *record = (hsc_record){.size_bytes = (uint16_t)size, .kind = HSC_RECORD_STRING, .name = number};
  memset((char *)record + size - 8, 0, 8);
  memcpy(record + 1, text, length);
  recorder->string_used += size;
  atomic_store_explicit(&recorder->string_chunk->used_bytes, recorder->string_used,
                        memory_order_release);
  return true;
}

uint32_t hsc_recorder_intern(hsc_recorder *recorder, const char *text) {
  if (!recorder || !text)
    return 0;
  size_t length = strnlen(text, MAX_STRING_BYTES);
  pthread_mutex_lock(&recorder->lock);
  uint32_t number = (uint32_t)(uintptr_t)hsc_map_get(recorder->strings, (hsc_view){text, length});
  if (number)
    goto done;
  if (!write_string(recorder, recorder->string_count + 1, text, length))
    goto done;
  char *copy = hsc_arena_strndup(recorder->string_arena, text, length);
  hsc_status *status = copy ? hsc_map_put(recorder->strings, (hsc_view){copy, length},
                                          (void *)(uintptr_t)(recorder->string_count + 1))
                            : hsc_status_out_of_memory();
  if (status) {
    hsc_status_free(status);
    goto done;
  }
  number = ++recorder->string_count;
done:
  pthread_mutex_unlock(&recorder->lock);
  return number;
}

hsc_category hsc_recorder_category(hsc_recorder *recorder, const char *name) {
  if (!recorder || !name || !*name)
    return HSC_CATEGORY_USER;
  hsc_category found = HSC_CATEGORY_USER;
  pthread_mutex_lock(&recorder->lock);
  for (int i = 0; recorder->header && i < HSC_USER_CATEGORIES; i++) {
    char *slot = recorder->header->user_categories[i];
    size_t room = sizeof recorder->header->user_categories[i];
    if (*slot && strncmp(slot, name, room - 1))
      continue;
    if (!*slot)
      snprintf(slot, room, "%s", name);
    found = (hsc_category)(1u << (HSC_USER_CATEGORY_BIT + i));
    break;
  }
  pthread_mutex_unlock(&recorder->lock);
  return found;
}

void hsc_recorder_name_thread(hsc_recorder *recorder, const char *name) {
  if (!recorder)
    return;
  uint32_t number = hsc_recorder_intern(recorder, name);
  thread_state *t = state_of(recorder);
  if (!t || (!t->chunk && !next_chunk(recorder, t)))
    return;
  t->name = number;
  t->chunk->thread_name = number;
}

// ---- opening and closing ------------------------------------------------------------------------

static void read_command(char *out, size_t size) {
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t count = file < 0 ? 0 : read(file, out, size - 1);
  if (file >= 0)
    close(file);
  if (count < 0)
    count = 0;
  for (ssize_t i = 0; i + 1 < count; i++)
    if (!out[i])
      out[i] = ' ';
  out[count] = 0;
}

// The run that this process belongs to: what `hloscope trace` gave it and all that it starts, else
// one of its own. A fork has its parent's.
static void choose_run(hsc_recorder *recorder) {
  const char *given = getenv("HLOSCOPE_TRACE_RUN");
  uint64_t id[2] = {0, 0};
  if (given && sscanf(given, "%16" SCNx64 "%16" SCNx64, &id[0], &id[1]) == 2 && (id[0] || id[1])) {
    recorder->run_high = id[0];
    recorder->run_low = id[1];
    return;
  }
  if (getrandom(id, sizeof id, GRND_NONBLOCK) != sizeof id) {
    id[0] = (uint64_t)hsc_wall_ns();
    id[1] = (uint64_t)getpid();
  }
  recorder->run_high = id[1];
  recorder->run_low = id[0];
}

static hsc_status *map_ring(hsc_recorder *recorder) {
  const hsc_recorder_options *options = &recorder->options;
  uint32_t chunk_bytes =
      options->chunk_bytes ? (options->chunk_bytes + 4095u) & ~4095u : 256u << 10;
  uint64_t max_bytes = options->max_bytes ? options->max_bytes : 256ull << 20;
  uint64_t capacity = max_bytes / chunk_bytes;
  if (capacity < 2)
    capacity = 2;  // one for strings, one for events
  if (capacity > UINT32_MAX)
    return HSC_ERR(INVALID_ARGUMENT, "trace: %llu bytes are too many for one ring",
                   (unsigned long long)max_bytes);
  // Several libraries of one process may record, each with a count of its own: the first free
  // number is taken.
  enum { MAX_RINGS = 10000 };
  for (int number = 1; number <= MAX_RINGS; number++) {
    hsc_bytes path = {0};
    hsc_bytes_printf(&path, "%s/%ld-%d.ring", options->path, (long)getpid(), number);
    HSC_TRY(hsc_bytes_status(&path));
    hsc_free(recorder->path);
    recorder->path = hsc_bytes_take(&path);
    recorder->file = open(recorder->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (recorder->file >= 0 || errno != EEXIST)
      break;
  }
  if (recorder->file < 0)
    return hsc_status_make(
        errno == EACCES || errno == EROFS ? HSC_PERMISSION_DENIED : HSC_RESOURCE_EXHAUSTED,
        __FILE__, __LINE__, "trace: cannot create %s: %s", recorder->path, strerror(errno));
  recorder->mapped_bytes = HSC_RING_HEADER_BYTES + (size_t)capacity * chunk_bytes;
  int error = posix_fallocate(recorder->file, 0, HSC_RING_HEADER_BYTES);
  if (error) {
    unlink(recorder->path);
    return HSC_ERR(RESOURCE_EXHAUSTED, "trace: no room for %s: %s", recorder->path,
                   strerror(error));
  }
  if (ftruncate(recorder->file, (off_t)recorder->mapped_bytes)) {
    unlink(recorder->path);
    return HSC_ERR(RESOURCE_EXHAUSTED, "trace: cannot size %s: %s", recorder->path,
                   strerror(errno));
  }
  void *memory =
      mmap(NULL, recorder->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, recorder->file, 0);
  if (memory == MAP_FAILED) {
    unlink(recorder->path);
    return HSC_ERR(RESOURCE_EXHAUSTED, "trace: cannot map %zu bytes of %s: %s",
                   recorder->mapped_bytes, recorder->path, strerror(errno));
  }
  hsc_ring_header *header = recorder->header = memory;
  recorder->paused = &header->paused;
  header->version = HSC_RING_VERSION;
  header->header_bytes = HSC_RING_HEADER_BYTES;
  header->chunk_bytes = chunk_bytes;
  header->chunk_capacity = (uint32_t)capacity;
  header->clock = recorder->clock;
  header->pid = getpid();
  header->parent_pid = getppid();
  if (!recorder->run_high && !recorder->run_low)
    choose_run(recorder);
  header->trace_id_low = recorder->run_low;
  header->trace_id_high = recorder->run_high;
  moment first = moment_now(recorder->clock);
  header->first_wall_ns = header->last_wall_ns = first.wall_ns;
  header->wall_error_ns = wall_error_ns();
  header->first_raw_ns = header->last_raw_ns = first.raw_ns;
  header->first_ticks = header->last_ticks = first.ticks;
  read_command(header->command, sizeof header->command);
  if (gethostname(header->host, sizeof header->host - 1))
    header->host[0] = 0;
  snprintf(header->label, sizeof header->label, "%s",
           options->label ? options->label : program_invocation_short_name);
  header->magic = HSC_RING_MAGIC;  // last: a file without it is not a ring yet
  return NULL;
}

// In the child of a fork: every recorder goes on in a ring of its own, with the strings that are
// known so far under their old numbers.
static void after_fork(void) {
  for (thread_state *t = tls, *next; t; t = next) {
    // their chunks are the parent's
    next = t->next;
    hsc_free(t);
  }
  tls = NULL;
  pthread_setspecific(thread_key, NULL);
  pthread_mutex_init(&all_lock, NULL);
  for (hsc_recorder *recorder = all_recorders; recorder; recorder = recorder->next) {
    pthread_mutex_init(&recorder->lock, NULL);  // its holder may not exist here
    bool was_paused = atomic_load_explicit(recorder->paused, memory_order_relaxed);
    char categories[HSC_USER_CATEGORIES][sizeof recorder->header->user_categories[0]] = {{0}};
    if (recorder->header)
      memcpy(categories, recorder->header->user_categories, sizeof categories);
    if (recorder->header)
      munmap(recorder->header, recorder->mapped_bytes);
    close(recorder->file);
    recorder->header = NULL;
    recorder->paused = &no_ring;
    recorder->string_chunk = NULL;
    recorder->sequence = 0;
    recorder->pid = getpid();
    hsc_status *status = map_ring(recorder);
    if (status) {
      atomic_store(&recorder->categories, 0);
      hsc_log("trace", 1, "the child records nothing: %s", hsc_status_message(status));
      hsc_status_free(status);
      continue;
    }
    memcpy(recorder->header->user_categories, categories, sizeof categories);
    if (was_paused)
      hsc_recorder_pause(recorder);
    for (size_t i = 0; i < hsc_map_count(recorder->strings); i++) {
      hsc_view text;
      uint32_t number = (uint32_t)(uintptr_t)hsc_map_at(recorder->strings, i, &text);
      if (!write_string(recorder, number, text.data, text.size))
        break;
    }
  }
}

static void choose_clock_and_watch_forks(void) {
  choose_clock();
  pthread_key_create(&thread_key, thread_ended);
  pthread_atfork(NULL, NULL, after_fork);
}

hsc_status *hsc_recorder_open(const hsc_recorder_options *options, hsc_recorder **out_recorder) {
  *out_recorder = NULL;
  if (!options->path || !*options->path)
    return HSC_ERR(INVALID_ARGUMENT, "trace: no path was given");
  pthread_once(&open_once, choose_clock_and_watch_forks);
  hsc_recorder *recorder = aligned_alloc(_Alignof(hsc_recorder), sizeof *recorder);
  if (!recorder)
    return hsc_status_out_of_memory();
  memset(recorder, 0, sizeof *recorder);
  hsc_status *status = NULL;
  recorder->file = -1;
  recorder->paused = &no_ring;
  recorder->clock = clock_kind;
  recorder->pid = getpid();
  recorder->instance = atomic_fetch_add(&instances, 1) + 1;
  recorder->options = *options;
  atomic_store(&recorder->span_block, 1);
  pthread_mutex_init(&recorder->lock, NULL);
  recorder->directory = hsc_strdup(options->path);
  recorder->label = options->label ? hsc_strdup(options->label) : NULL;
  HSC_GOTO(recorder->directory ? NULL : hsc_status_out_of_memory());
  recorder->options.path = recorder->directory;
  recorder->options.label = recorder->label;
  HSC_GOTO(hsc_dir_make(options->path));
  HSC_GOTO(hsc_map_create(&recorder->strings));
  HSC_GOTO(hsc_arena_create(&recorder->string_arena));
  HSC_GOTO(map_ring(recorder));
  atomic_store(&recorder->categories, options->categories ? options->categories : HSC_CATEGORY_ALL);
  pthread_mutex_lock(&all_lock);
  recorder->next = all_recorders;
  all_recorders = recorder;
  pthread_mutex_unlock(&all_lock);
  *out_recorder = recorder;
  return NULL;
done:
  hsc_recorder_close(recorder);
  return status;
}

hsc_status *hsc_recorder_move(hsc_recorder *recorder, const char *path) {
  char *directory = hsc_strdup(path);
  if (!directory)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_dir_make(path);
  if (status) {
    hsc_free(directory);
    return status;
  }
  hsc_recorder_finish(recorder);
  pthread_mutex_lock(&recorder->lock);
  // The old ring stays mapped: a thread may be in the middle of a record.
  int old_file = recorder->file;
  char *old_directory = recorder->directory;
  hsc_ring_header *old = recorder->header;
  recorder->directory = directory;
  recorder->options.path = directory;
  recorder->header = NULL;
  recorder->paused = &no_ring;
  recorder->string_chunk = NULL;
  recorder->sequence = 0;
  recorder->run_high = recorder->run_low = 0;  // another run of its own
  status = map_ring(recorder);
  if (status) {
    recorder->directory = old_directory;
    recorder->options.path = old_directory;
    recorder->header = old;
    recorder->file = old_file;
    hsc_free(directory);
  } else {
    if (old_file >= 0)
      close(old_file);
    hsc_free(old_directory);
    recorder->instance = atomic_fetch_add(&instances, 1) + 1;
    for (size_t i = 0; i < hsc_map_count(recorder->strings); i++) {
      hsc_view text;
      uint32_t number = (uint32_t)(uintptr_t)hsc_map_at(recorder->strings, i, &text);
      if (!write_string(recorder, number, text.data, text.size))
        break;
    }
    atomic_store(&recorder->categories,
                 recorder->options.categories ? recorder->options.categories : HSC_CATEGORY_ALL);
  }
  pthread_mutex_unlock(&recorder->lock);
  return status;
}

void hsc_recorder_relabel(hsc_recorder *recorder, const char *label) {
  char *copy = recorder && recorder->header ? hsc_strdup(label) : NULL;
  if (!copy)
    return;
  pthread_mutex_lock(&recorder->lock);
  hsc_free(recorder->label);
  recorder->options.label = recorder->label = copy;  // for a ring that follows this one
  snprintf(recorder->header->label, sizeof recorder->header->label, "%s", copy);
  pthread_mutex_unlock(&recorder->lock);
}

void hsc_recorder_finish(hsc_recorder *recorder) {
  if (!recorder || !recorder->header)
    return;
  atomic_store(&recorder->categories, 0);
  note_last_moment(recorder);
  atomic_store_explicit(&recorder->header->closed, 1, memory_order_release);
}

void hsc_recorder_close(hsc_recorder *recorder) {
  if (!recorder)
    return;
  pthread_mutex_lock(&all_lock);
  for (hsc_recorder **at = &all_recorders; *at; at = &(*at)->next) {
    if (*at != recorder)
      continue;
    *at = recorder->next;
    break;
  }
  pthread_mutex_unlock(&all_lock);
  hsc_ring_header *header = recorder->header;
  if (header) {
    hsc_recorder_finish(recorder);
    uint32_t count = atomic_load(&header->chunk_count);
    off_t size = (off_t)HSC_RING_HEADER_BYTES + (off_t)count * header->chunk_bytes;
    if (ftruncate(recorder->file, size))
      hsc_log("trace", 1, "cannot cut %s to its used size: %s", recorder->path, strerror(errno));
  }
  if (header)
    munmap(header, recorder->mapped_bytes);
  if (recorder->file >= 0)
    close(recorder->file);
  for (thread_state **at = &tls; *at;) {  // other threads' states find no recorder at their end
    thread_state *t = *at;
    if (t->instance != recorder->instance) {
      at = &t->next;
      continue;
    }
    *at = t->next;
    hsc_free(t);
  }
  pthread_setspecific(thread_key, tls);
  hsc_map_destroy(recorder->strings);
  hsc_arena_destroy(recorder->string_arena);
  pthread_mutex_destroy(&recorder->lock);
  hsc_free(recorder->path);
  hsc_free(recorder->directory);
  hsc_free(recorder->label);
  free(recorder);
}

void hsc_recorder_pause(hsc_recorder *recorder) {
  if (recorder)
    atomic_store_explicit(recorder->paused, 1, memory_order_relaxed);
}

void hsc_recorder_resume(hsc_recorder *recorder) {
  if (recorder)
    atomic_store_explicit(recorder->paused, 0, memory_order_relaxed);
}

uint64_t hsc_recorder_lost_count(const hsc_recorder *recorder) {
  return recorder && recorder->header
             ? atomic_load_explicit(&recorder->header->lost_events, memory_order_relaxed)
             : 0;
}
