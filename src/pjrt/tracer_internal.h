// tracer_internal.h - what the files of the tracer share: names as numbers of the capture, the
// wrapped plugins, what is known about their objects.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/core/base.h"
#include "pjrt/tracer.h"
#include "trace/ring_format.h"

enum { HSC__MOST_DEVICES = 64 };

// Keys of attributes, and names of events that are no call: KEY(id, text).
#define HSC__TRACER_KEYS(KEY) \
  KEY(plugin, "plugin") \
  KEY(format, "format") \
  KEY(program, "program") \
  KEY(program_bytes, "program_bytes") \
  KEY(options, "options") \
  KEY(options_bytes, "options_bytes") \
  KEY(executable, "executable") \
  KEY(fingerprint, "fingerprint") \
  KEY(optimized, "optimized") \
  KEY(flops, "flops") \
  KEY(bytes_accessed, "bytes_accessed") \
  KEY(argument_bytes, "argument_bytes") \
  KEY(output_bytes, "output_bytes") \
  KEY(temp_bytes, "temp_bytes") \
  KEY(code_bytes, "code_bytes") \
  KEY(peak_bytes, "peak_bytes") \
  KEY(compiled, "compiled") \
  KEY(error, "error") \
  KEY(error_code, "error_code") \
  KEY(bytes, "bytes") \
  KEY(shape, "shape") \
  KEY(type, "type") \
  KEY(devices, "devices") \
  KEY(run_id, "run_id") \
  KEY(run, "run") \
  KEY(thread, "thread") \
  KEY(to_host_done, "device to host, until there") \
  KEY(to_device_done, "host to device, until there") \
  KEY(ready, "wait for an event") \
  KEY(transfers, "transfers") \
  KEY(waits, "waits") \
  KEY(device_bytes, HSC_DEVICE_BYTES_NAME)

// Names, keys and tracks as numbers of the capture.
typedef struct hsc__tracer_names {
#define CALL(function, category, text) uint32_t function;
#include "pjrt/tracer_calls.def"
#undef CALL
#define KEY(id, text) uint32_t id;
  HSC__TRACER_KEYS(KEY)
#undef KEY
} hsc__tracer_names;

typedef struct hsc__tracer {
  const PJRT_Api *real;
  PJRT_Api *table;  // the wrapped copy; at least as large as the real one
  void *seen;       // the real table's bytes when it was wrapped
  GetPjrtApi_Fn *get_api;
  char path[512];
  char platform[64];  // as its client calls it; "" = no client yet
} hsc__tracer;

// All that the tracer keeps in the process: one, for calls of the C API have no place for a pointer
// of ours. What the lock guards is written before the first wrapped table is handed out, so calls
// read it without.
typedef struct hsc__tracer_state {
  hsc_recorder *recorder;   // NULL = nothing is recorded
  const char *output;       // directory of the capture
  hsc__tracer_names known;  // filled when the recorder opens
  pthread_mutex_t lock;     // of what follows, and of opening the recorder
  bool tried;               // to open it: a second failure would be told twice
  hsc__tracer plugins[HSC_TRACER_INSTANCES];
  int plugin_count;
  // the last number of a run; every run writes these, so nothing of the above lies in their line
  _Alignas(64) _Atomic int64_t run_ids;
  _Atomic int64_t runs_under_way;  // runs whose events are not ready yet
} hsc__tracer_state;
extern hsc__tracer_state hsc__tracing;

// True when the plugin has this function.
#define HSC__TRACED_HAS(t, function) \
  ((t)->real->struct_size >= HSC_PJRT_SIZE_TO(PJRT_Api, function) && (t)->real->function)

static inline hsc_trace_attr hsc__attr_int(uint32_t key, int64_t value) {
  return (hsc_trace_attr){.key = key, .type = HSC_ATTR_INT, .value.i = value};
}
static inline hsc_trace_attr hsc__attr_double(uint32_t key, double value) {
  return (hsc_trace_attr){.key = key, .type = HSC_ATTR_DOUBLE, .value.d = value};
}
static inline hsc_trace_attr hsc__attr_string(uint32_t key, uint32_t string) {
  return (hsc_trace_attr){.key = key, .type = HSC_ATTR_STRING, .value.string = string};
}
// The number of at most 511 bytes at `text`.
uint32_t hsc__tracer_intern(const char *text, size_t size);
// Two attributes: text and code of the error, which stays the caller's.
void hsc__tracer_drop(const hsc__tracer *t, PJRT_Error *error);  // NULL is fine

// ---- tracer_objects.c: what is known about the plugin's objects, by their addresses; any thread,
// no lock ----

// An executable that can run.
typedef struct hsc__traced_executable {
  uint32_t name;  // interned
  uint32_t output_count;
  _Atomic bool sized;   // output_bytes hold what the first run showed
  _Atomic bool called;  // a call began, where --keep-failures counts them
  // interned names of its devices, "cuda:0", in the order of their lists
  uint32_t tracks[HSC__MOST_DEVICES];
  int64_t output_bytes[];  // [output_count] on one device
} hsc__traced_executable;

// Made at its compilation or its first run. NULL: no memory, or the plugin does not tell.
hsc__traced_executable *hsc__tracer_executable(const hsc__tracer *t, PJRT_LoadedExecutable *loaded);
// The line of a device, interned: its platform and number, as frameworks write it.
uint32_t hsc__tracer_track(const hsc__tracer *t, PJRT_Device *device);
void hsc__tracer_forget_executable(PJRT_LoadedExecutable *loaded);
// The executable without its place on devices; NULL = the plugin did not give it. The caller
// destroys it.
PJRT_Executable *hsc__tracer_plain(const hsc__tracer *t, PJRT_LoadedExecutable *loaded);
uint32_t hsc__tracer_executable_name(const hsc__tracer *t, PJRT_Executable *executable);
// Counts a buffer of N bytes as live; false when there is no room to follow it, and it is not
// counted.
bool hsc__tracer_buffer_lives(const void *buffer, int64_t bytes);
// What it held until now; -1 when it is not followed.
int64_t hsc__tracer_buffer_dies(const void *buffer);
int64_t hsc__tracer_device_bytes(void);  // live now

// ---- tracer_failures.c: --keep-failures ----

bool hsc__tracer_keeps_failures(void);
// Copies the arguments of a call to the capture. What cannot be copied is left out.
void hsc__tracer_keep_inputs(const hsc__tracer *t,
                             const PJRT_LoadedExecutable_Execute_Args *args,
                             int64_t run_id);
// The call came back well: they go again.
void hsc__tracer_drop_inputs(int64_t run_id);

// ---- tracer_compile.c ----

uint64_t hsc__tracer_begin_compile(uint32_t call,
                                   const PJRT_Program *program,
                                   const void *options,
                                   size_t options_bytes);
// What came out: fingerprint, optimized program, cost, memory, once per executable that was
// compiled.
void hsc__tracer_note_compiled(const hsc__tracer *t, PJRT_Executable *executable, uint32_t name);
