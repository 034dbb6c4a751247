// records.h - what the device did while a session recorded: every run of an executable, every thunk
// in it, and what the plugin did around them.
//
// One session at a time in a process. A thread writes to a stream of its own: a record is a slot
// taken at the thunk's begin and completed at its end, two clock reads and 24 bytes; no lock but
// for a new chunk every few thousand records. Without a session a run costs one load more than it
// would. What does not fit in the session's memory is counted as lost, and the streams stay whole:
// a run is recorded to its end or not at all.
//
//   hsc_cpu_session *session;
//   HSC_TRY(hsc_cpu_session_start(0, &session));
//   ... hsc_cpu_execute ...
//   hsc_cpu_session_stop(session);                 // waits for runs that are under way
//   for (int i = 0; i < hsc_cpu_session_stream_count(session); i++) ...
//   hsc_cpu_session_destroy(session);
#pragma once

#include "cpu/core/cpu.h"

typedef struct hsc_cpu_session hsc_cpu_session;

typedef struct hsc_cpu_thunk_record {
  uint64_t begin_ticks, end_ticks;  // of hsc_trace_ticks
  // number of the instruction in the executable's module; -1 = none
  int32_t instr;
  int16_t depth;  // of thunks inside of loops and branches; 0 = outermost
  // a copy of state that the instruction (a loop, a branch, the result) needs, not the instruction
  // itself
  int16_t is_copy;
} hsc_cpu_thunk_record;

typedef struct hsc_cpu_run_record {
  hsc_cpu_executable *executable;  // kept alive by the session
  // of the run in the session, from 1, in the order of their begin
  int32_t number;
  int32_t program;  // number of the executable in the session, from 1
  int32_t device;   // ordinal, as hsc_cpu_records_device said on the thread of the run
  uint64_t begin_ticks, end_ticks;
  size_t first, count;  // of its records in the stream, in the order of their begin
} hsc_cpu_run_record;

typedef enum hsc_cpu_span_kind {
  HSC_CPU_SPAN_COMPILE,
  HSC_CPU_SPAN_TO_DEVICE,
  HSC_CPU_SPAN_TO_HOST
} hsc_cpu_span_kind;
typedef struct hsc_cpu_span_record {  // work of the plugin itself
  hsc_cpu_span_kind kind;
  uint64_t begin_ticks, end_ticks;
  int64_t bytes;  // transfers
} hsc_cpu_span_record;

typedef struct hsc_cpu_memory_record {
  uint64_t ticks;
  int64_t bytes;  // taken; given back when negative
  // in use by arrays after it; -1 = it is about temporary memory of a run
  int64_t arrays_bytes;
  const void *address;
  // of temporary memory: number of the executable in the session, from 1; 0 = none
  int32_t program;
} hsc_cpu_memory_record;

typedef struct hsc_cpu_stream {    // of one thread
  int64_t thread;                  // kernel's number
  const hsc_cpu_run_record *runs;  // [run_count]
  size_t run_count;
  const hsc_cpu_span_record *spans;  // [span_count]
  size_t span_count;
  const hsc_cpu_memory_record *memory;  // [memory_count]
  size_t memory_count;
} hsc_cpu_stream;

// max_records 0 = 16 million thunks. FAILED_PRECONDITION when a session records already.
HSC_MUST_USE hsc_status *hsc_cpu_session_start(size_t max_records, hsc_cpu_session **out_session);
// Runs of this thread are of the device with this ordinal from now on; 0 until it is said.
void hsc_cpu_records_device(int32_t ordinal);
void hsc_cpu_session_stop(hsc_cpu_session *session);
// In a process that dies: runs that will never end are waited for half a second.
void hsc_cpu_session_stop_dying(hsc_cpu_session *session);
void hsc_cpu_session_destroy(hsc_cpu_session *session);  // stops it

// After stop.
int hsc_cpu_session_stream_count(const hsc_cpu_session *session);
hsc_cpu_stream hsc_cpu_session_stream(const hsc_cpu_session *session, int stream);
const hsc_cpu_thunk_record *hsc_cpu_session_record(const hsc_cpu_session *session,
                                                   int stream,
                                                   size_t record);
uint64_t hsc_cpu_session_lost_runs(const hsc_cpu_session *session);
// since the epoch
int64_t hsc_cpu_session_start_wall_ns(const hsc_cpu_session *session);
// since the start
int64_t hsc_cpu_session_ps(const hsc_cpu_session *session, uint64_t ticks);

// What the plugin did: 0 ticks when no session records, and then end does nothing.
uint64_t hsc_cpu_span_begin(void);
void hsc_cpu_span_end(hsc_cpu_span_kind kind, uint64_t begin_ticks, int64_t bytes);

// Memory of the device that was taken or given back. Without a session this costs one load.
// `executable` NULL: of arrays, `arrays_bytes` in use after it, called under the lock that guards
// that sum.
void hsc_cpu_memory_note(const void *address,
                         int64_t bytes,
                         int64_t arrays_bytes,
                         hsc_cpu_executable *executable);

// The instruction with a number of a record; NULL = none.
const hsc_instr *hsc_cpu_executable_instr(const hsc_cpu_executable *executable, int32_t number);

// Temporary memory of an executable, as its thunks write and read it in their order: what was
// planned at compile time.
typedef struct hsc_cpu_buffer {
  int32_t instr;                    // that computes it; -1 = none (scratch)
  int64_t offset, bytes;            // in the temporary block
  int32_t first_thunk, last_thunk;  // written first, used last
} hsc_cpu_buffer;
// In the arena, in the order of first_thunk.
HSC_MUST_USE hsc_status *hsc_cpu_executable_buffers(const hsc_cpu_executable *executable,
                                                    hsc_arena *arena,
                                                    hsc_cpu_buffer **out_buffers,
                                                    int *out_count);
// -1 = none
int32_t hsc_cpu_executable_thunk_instr(const hsc_cpu_executable *executable, int32_t thunk);
