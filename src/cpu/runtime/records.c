// records.c - sessions that record runs and thunks.
//
// A thread's stream is a list of chunks that never move, so a slot can be completed long after it
// was taken. The session is found through one global pointer; a thread that uses it counts itself
// in `users` first, and stop waits for the count, so the session's memory is never written after
// that.
#include "base/core/clock.h"
#include "cpu/runtime/records_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu/core/cpu_internal.h"
#include "hloscope/trace.h"

enum { CHUNK_RECORDS = 8192 };
static const size_t default_records = (size_t)16 << 20;

typedef struct stream {
  struct stream *next;
  int64_t thread;
  hsc_cpu_thunk_record **chunks;  // [chunk_count] of CHUNK_RECORDS
  size_t chunk_count, chunk_capacity;
  size_t used;  // records
  hsc_cpu_run_record *runs;
  size_t run_count, run_capacity;
  hsc_cpu_span_record *spans;
  size_t span_count, span_capacity;
  hsc_cpu_memory_record *memory;
  size_t memory_count, memory_capacity;
  bool full;  // the run that is recorded did not fit
} stream;

struct hsc_cpu_recording {
  stream stream;  // only ever the first member of a thread's stream
};

struct hsc_cpu_session {
  uint64_t generation;
  pthread_mutex_t lock;  // of the list of streams and of programs
  stream *streams;
  int stream_count;
  hsc_cpu_executable **programs;  // [program_count] each retained
  int32_t program_count, program_capacity;
  _Atomic int32_t run_number;
  _Atomic int64_t records_left;  // handed out by chunks
  _Atomic uint64_t lost_runs;
  uint64_t start_ticks, stop_ticks;
  int64_t start_ns, stop_ns, start_wall_ns;
  bool abandoned;  // stopped with runs under way: its memory stays
};

static _Atomic(hsc_cpu_session *) current;
static _Atomic int users;
static _Atomic uint64_t generations;
static _Thread_local struct {
  uint64_t generation;
  stream *stream;
  hsc_cpu_executable *last;  // the program of the run before, and its number
  int32_t last_program;
} mine;

// ---- the session --------------------------------------------------------------------------------

hsc_status *hsc_cpu_session_start(size_t max_records, hsc_cpu_session **out_session) {
  *out_session = NULL;
  hsc_cpu_session *session = hsc_alloc(sizeof *session);
  if (!session)
    return hsc_status_out_of_memory();
  pthread_mutex_init(&session->lock, NULL);
  session->generation = atomic_fetch_add(&generations, 1) + 1;
  atomic_init(&session->records_left, (int64_t)(max_records ? max_records : default_records));
  session->start_wall_ns = hsc_wall_ns();
  session->start_ns = hsc_now_ns();
  session->start_ticks = hsc_trace_ticks();
  hsc_cpu_session *none = NULL;
  if (!atomic_compare_exchange_strong(&current, &none, session)) {
    pthread_mutex_destroy(&session->lock);
    hsc_free(session);
    return HSC_ERR(FAILED_PRECONDITION,
                   "the device is recording already: one session at a time in a process");
  }
  *out_session = session;
  return NULL;
}

static _Thread_local int32_t my_device;

void hsc_cpu_records_device(int32_t ordinal) {
  my_device = ordinal;
}

static void stop_within(hsc_cpu_session *session, int64_t limit_ns) {
  hsc_cpu_session *self = session;
  if (!atomic_compare_exchange_strong(&current, &self, NULL))
    return;
  int64_t until_ns = hsc_now_ns() + limit_ns;
  while (atomic_load(&users) > 0 && !session->abandoned) {
    hsc_sleep_ns(20000);
    session->abandoned = hsc_now_ns() > until_ns;
  }
  session->stop_ticks = hsc_trace_ticks();
  session->stop_ns = hsc_now_ns();
}

void hsc_cpu_session_stop(hsc_cpu_session *session) {
  stop_within(session, INT64_MAX / 4);
}

void hsc_cpu_session_stop_dying(hsc_cpu_session *session) {
  stop_within(session, 500000000);
}

void hsc_cpu_session_destroy(hsc_cpu_session *session) {
  if (!session)
    return;
  hsc_cpu_session_stop(session);
  if (session->abandoned)
    return;  // threads may still write to it, and the process dies
  for (stream *s = session->streams, *next; s; s = next) {
    next = s->next;
    for (size_t i = 0; i < s->chunk_count; i++)
      hsc_free(s->chunks[i]);
    hsc_free(s->chunks);
    hsc_free(s->runs);
    hsc_free(s->spans);
    hsc_free(s->memory);
    hsc_free(s);
  }
  for (int32_t i = 0; i < session->program_count; i++)
    hsc_cpu_executable_release(session->programs[i]);
  hsc_free(session->programs);
  pthread_mutex_destroy(&session->lock);
  hsc_free(session);
}

static hsc_cpu_session *enter(void) {
  if (!atomic_load_explicit(&current, memory_order_relaxed))
    return NULL;
  atomic_fetch_add(&users, 1);
  hsc_cpu_session *session = atomic_load(&current);
  if (!session)
    atomic_fetch_sub(&users, 1);
  return session;
}

static void leave(void) {
  atomic_fetch_sub(&users, 1);
}

static stream *my_stream(hsc_cpu_session *session) {
  if (mine.generation == session->generation)
    return mine.stream;
  stream *s = hsc_alloc(sizeof *s);
  if (!s)
    return NULL;
  s->thread = (int64_t)syscall(SYS_gettid);
  pthread_mutex_lock(&session->lock);
  s->next = session->streams;
  session->streams = s;
  session->stream_count++;
  pthread_mutex_unlock(&session->lock);
  mine.generation = session->generation;
  mine.stream = s;
  mine.last = NULL;
  return s;
}

// Its number, from 1; 0 when there is no memory.
static int32_t program_number(hsc_cpu_session *session, hsc_cpu_executable *executable) {
  if (mine.last == executable)
    return mine.last_program;
  int32_t number = 0;
  pthread_mutex_lock(&session->lock);
  for (int32_t i = 0; i < session->program_count && !number; i++)
    if (session->programs[i] == executable)
      number = i + 1;
  size_t capacity = (size_t)session->program_capacity;
  if (!number && HSC_GROW(session->programs, session->program_count, capacity)) {
    session->program_capacity = (int32_t)capacity;
    session->programs[session->program_count++] = executable;
    hsc_cpu_executable_retain(executable);
    number = session->program_count;
  }
  pthread_mutex_unlock(&session->lock);
  mine.last = executable;
  mine.last_program = number;
  return number;
}

// ---- recording ----------------------------------------------------------------------------------

hsc_cpu_recording *hsc__cpu_recording_begin(hsc_cpu_executable *executable) {
  hsc_cpu_session *session = enter();
  if (__builtin_expect(!session, 1))
    return NULL;
  // A loaded program's records name its instructions: they must be there.
  stream *s = hsc_cpu_executable_module(executable) ? my_stream(session) : NULL;
  int32_t program = s ? program_number(session, executable) : 0;
  if (!program || !hsc_cpu_executable_module(executable) ||
      !HSC_GROW(s->runs, s->run_count, s->run_capacity)) {
    atomic_fetch_add(&session->lost_runs, 1);
    leave();
    return NULL;
  }
  s->full = false;
  s->runs[s->run_count] =
      (hsc_cpu_run_record){.executable = executable,
                           .program = program,
                           .device = my_device,
                           .number = atomic_fetch_add(&session->run_number, 1) + 1,
                           .first = s->used,
                           .begin_ticks = hsc_trace_ticks()};
  return (hsc_cpu_recording *)s;
}

hsc_cpu_thunk_record *hsc__cpu_recording_take(hsc_cpu_recording *recording) {
  stream *s = &recording->stream;
  size_t chunk = s->used / CHUNK_RECORDS;
  if (__builtin_expect(chunk == s->chunk_count, 0)) {
    // may be gone from there already: then the run is not kept
    hsc_cpu_session *session = atomic_load(&current);
    if (s->full || !session ||
        atomic_fetch_sub(&session->records_left, CHUNK_RECORDS) < CHUNK_RECORDS ||
        !HSC_GROW(s->chunks, s->chunk_count, s->chunk_capacity) ||
        !(s->chunks[chunk] = hsc_alloc(CHUNK_RECORDS * sizeof **s->chunks))) {
      s->full = true;
      return NULL;
    }
    s->chunk_count++;
  }
  return &s->chunks[chunk][s->used++ % CHUNK_RECORDS];
}

void hsc__cpu_recording_end(hsc_cpu_recording *recording, bool keep) {
  stream *s = &recording->stream;
  hsc_cpu_run_record *run = &s->runs[s->run_count];
  hsc_cpu_session *session = atomic_load(&current);
  if (keep && !s->full) {
    run->end_ticks = hsc_trace_ticks();
    run->count = s->used - run->first;
    s->run_count++;
  } else {
    s->used = run->first;
    if (session)
      atomic_fetch_add(&session->lost_runs, 1);
  }
  leave();
}

uint64_t hsc_cpu_span_begin(void) {
  return atomic_load_explicit(&current, memory_order_relaxed) ? hsc_trace_ticks() : 0;
}

void hsc_cpu_span_end(hsc_cpu_span_kind kind, uint64_t begin_ticks, int64_t bytes) {
  hsc_cpu_session *session = begin_ticks ? enter() : NULL;
  if (!session)
    return;
  stream *s = begin_ticks >= session->start_ticks ? my_stream(session) : NULL;
  if (s && HSC_GROW(s->spans, s->span_count, s->span_capacity))
    s->spans[s->span_count++] = (hsc_cpu_span_record){kind, begin_ticks, hsc_trace_ticks(), bytes};
  leave();
}

void hsc_cpu_memory_note(const void *address,
                         int64_t bytes,
                         int64_t arrays_bytes,
                         hsc_cpu_executable *executable) {
  hsc_cpu_session *session = enter();
  if (__builtin_expect(!session, 1))
    return;
  stream *s = my_stream(session);
  int32_t program = s && executable ? program_number(session, executable) : 0;
  if (s && HSC_GROW(s->memory, s->memory_count, s->memory_capacity))
    s->memory[s->memory_count++] = (hsc_cpu_memory_record){
        hsc_trace_ticks(), bytes, executable ? -1 : arrays_bytes, address, program};
  leave();
}

// ---- what was recorded --------------------------------------------------------------------------

int hsc_cpu_session_stream_count(const hsc_cpu_session *session) {
  return session->stream_count;
}

static const stream *stream_at(const hsc_cpu_session *session, int index) {
  const stream *s = session->streams;
  while (s && index-- > 0)
    s = s->next;
  return s;
}

hsc_cpu_stream hsc_cpu_session_stream(const hsc_cpu_session *session, int index) {
  const stream *s = stream_at(session, index);
  return s ? (hsc_cpu_stream){s->thread,     s->runs,   s->run_count,   s->spans,
                              s->span_count, s->memory, s->memory_count}
           : (hsc_cpu_stream){0};
}

const hsc_cpu_thunk_record *hsc_cpu_session_record(const hsc_cpu_session *session,
                                                   int index,
                                                   size_t record) {
  const stream *s = stream_at(session, index);
  return s && record < s->used ? &s->chunks[record / CHUNK_RECORDS][record % CHUNK_RECORDS] : NULL;
}

uint64_t hsc_cpu_session_lost_runs(const hsc_cpu_session *session) {
  return atomic_load(&((hsc_cpu_session *)(uintptr_t)session)->lost_runs);
}
int64_t hsc_cpu_session_start_wall_ns(const hsc_cpu_session *session) {
  return session->start_wall_ns;
}

int64_t hsc_cpu_session_ps(const hsc_cpu_session *session, uint64_t ticks) {
  double all_ticks = (double)(int64_t)(session->stop_ticks - session->start_ticks);
  double all_ns = (double)(session->stop_ns - session->start_ns);
  double ps_per_tick = all_ticks > 0 ? all_ns * 1000 / all_ticks : 1000;
  return (int64_t)((double)(int64_t)(ticks - session->start_ticks) * ps_per_tick);
}

const hsc_instr *hsc_cpu_executable_instr(const hsc_cpu_executable *executable, int32_t number) {
  // reads it, where the executable was loaded from a file
  if (!hsc_cpu_executable_module(executable))
    return NULL;
  return number >= 0 && number < executable->instr_count ? executable->instrs[number] : NULL;
}

int32_t hsc_cpu_executable_thunk_instr(const hsc_cpu_executable *executable, int32_t thunk) {
  return thunk >= 0 && thunk < executable->thunk_count ? executable->thunks[thunk].instr : -1;
}

// A place that is written while another value lies there ends that value. Loops run their thunks
// again, so a value that a loop only reads lives to its end; that is not followed here: the thunk
// that reads it last in the order of the list counts.
hsc_status *hsc_cpu_executable_buffers(const hsc_cpu_executable *executable,
                                       hsc_arena *arena,
                                       hsc_cpu_buffer **out_buffers,
                                       int *out_count) {
  hsc_cpu_buffer *buffers = HSC_NEW_ARRAY(arena, hsc_cpu_buffer, executable->slice_count + 1);
  int32_t *live = HSC_NEW_ARRAY(arena, int32_t, executable->slice_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  int count = 0;
  int live_count = 0;
  for (int32_t t = 0; t < executable->thunk_count; t++) {
    const hsc_cpu_thunk *thunk = &executable->thunks[t];
    const hsc_cpu_slice *slices = executable->slices + thunk->slice_first;
    int total = thunk->input_count + thunk->output_count + (thunk->has_scratch ? 1 : 0);
    for (int i = 0; i < total; i++) {
      const hsc_cpu_slice *slice = &slices[i];
      bool writes = i >= thunk->input_count;
      bool same = false;
      if (slice->base != HSC_CPU_BASE_TEMP || slice->bytes <= 0)
        continue;
      for (int k = 0; k < live_count; k++) {
        hsc_cpu_buffer *b = &buffers[live[k]];
        if (b->offset >= slice->offset + slice->bytes || slice->offset >= b->offset + b->bytes)
          continue;
        bool covers = b->offset == slice->offset && b->bytes == slice->bytes;
        if (!writes || covers) {
          b->last_thunk = t;
          same |= covers;
        } else
          live[k--] = live[--live_count];
      }
      if (!writes || same)
        continue;
      live[live_count++] = count;
      buffers[count++] = (hsc_cpu_buffer){
          .instr = i < thunk->input_count + thunk->output_count ? thunk->instr : -1,
          .offset = slice->offset,
          .bytes = slice->bytes,
          .first_thunk = t,
          .last_thunk = t};
    }
  }
  *out_buffers = buffers;
  *out_count = count;
  return NULL;
}
