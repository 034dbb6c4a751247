// trace.h - records what a program does: spans, instants, counters and flows, into memory-mapped
// rings that survive `kill -9`.
//
// A capture is a directory (`name.hsc`); every process, and every library in it that records,
// writes one ring file there, so nothing is shared and nothing is merged while the program runs.
// Inside a ring each thread fills chunks of its own: no lock, no allocation and no system call on
// the way of an event (a lock and one system call per chunk, every few thousand events). What does
// not fit is counted as lost.
//
//   hsc_recorder *recorder;
//   hsc_status *status = hsc_recorder_open(&(hsc_recorder_options){.path = "run.hsc"}, &recorder);
//   uint32_t load = hsc_recorder_intern(recorder, "load batch"), size =
//   hsc_recorder_intern(recorder, "bytes");
//   uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_USER, load, NULL, 0);
//   hsc_span_end(recorder, span, &(hsc_trace_attr){.key = size, .type = HSC_ATTR_INT, .value.i =
//   4096}, 1);
//   hsc_recorder_close(recorder);
//
// Threads: everything may be called from any thread. Fork: the child's events go to a ring of its
// own from its first event on. Times are raw ticks of the recorder's clock in the ring, with pairs
// of ticks and CLOCK_MONOTONIC_RAW beside them; readers give nanoseconds.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What this header declares is exported by libhloscope.so.
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct hsc_status hsc_status;
typedef struct hsc_recorder hsc_recorder;

// CATEGORY(id, text, doc) rows; a bit each.
typedef enum hsc_category {
  HSC_CATEGORY_USER = 1 << 0,      // labels and spans of the program itself
  HSC_CATEGORY_COMPILE = 1 << 1,   // program compilation and loading
  HSC_CATEGORY_TRANSFER = 1 << 2,  // host to device, device to host, layout changes
  HSC_CATEGORY_EXECUTE = 1 << 3,   // executions of compiled programs
  HSC_CATEGORY_OPERATOR = 1 << 4,  // kernels, fusions, thunks
  HSC_CATEGORY_WAIT = 1 << 5,      // waiting for events
  HSC_CATEGORY_MEMORY = 1 << 6,    // buffers and their sizes
  HSC_CATEGORY_RUNTIME = 1 << 7,   // plugin load, client creation, everything else of the runtime
  HSC_CATEGORY_PASS = 1 << 8,      // passes of a compiler and its code generation
  // what JAX or PyTorch/XLA do by themselves: tracing, dispatch, input staging
  HSC_CATEGORY_FRAMEWORK = 1 << 9,
  HSC_CATEGORY_COLLECTIVE = 1 << 10,  // talk between devices
  HSC_CATEGORY_ALL = 0x7fffffff,      // those of the program as well (hsc_recorder_category)
} hsc_category;
// bits 16 to 30 are the program's own
enum { HSC_USER_CATEGORY_BIT = 16, HSC_USER_CATEGORIES = 15 };

typedef enum hsc_attr_type {
  HSC_ATTR_INT = 1,
  HSC_ATTR_DOUBLE = 2,
  HSC_ATTR_STRING = 3,
  HSC_ATTR_UINT = 4
} hsc_attr_type;
typedef struct hsc_trace_attr {
  uint32_t key;   // interned
  uint32_t type;  // hsc_attr_type
  union {
    int64_t i;
    uint64_t u;
    double d;
    uint64_t string;  // interned
  } value;
} hsc_trace_attr;

enum { HSC_MAX_ATTRS = 32 };  // per event; more are dropped and counted as lost attributes

typedef struct hsc_recorder_options {
  const char *path;  // directory of the capture; made when missing
  // of this ring; 0 = 256 MiB. When full the oldest chunk goes and its events are counted as lost.
  uint64_t max_bytes;
  uint32_t chunk_bytes;  // 0 = 256 KiB
  uint32_t categories;   // mask; 0 = all
  // what this ring is of ("cpu device", "pjrt tracer"); NULL = the program's name
  const char *label;
} hsc_recorder_options;

// Errors: PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk, address space), INVALID_ARGUMENT. The status
// is reported and freed by hsc_api_status_text and hsc_api_status_free (capture.h).
__attribute__((warn_unused_result)) hsc_status *hsc_recorder_open(
    const hsc_recorder_options *options, hsc_recorder **out_recorder);
// other threads must have stopped recording; NULL is fine
void hsc_recorder_close(hsc_recorder *recorder);

// For the end of a process whose threads may still record: nothing is taken any more, the ring is
// marked as ended in an orderly way, the memory stays.
void hsc_recorder_finish(hsc_recorder *recorder);

// begins are ignored from now on; spans that are open still end
void hsc_recorder_pause(hsc_recorder *recorder);
void hsc_recorder_resume(hsc_recorder *recorder);
// NULL recorder: false. The way to skip costly attributes.
bool hsc_recorder_wants(const hsc_recorder *recorder, hsc_category category);

// A category of the program's own ("data loading"): the same one for the same name, at most
// HSC_USER_CATEGORIES of them in a recorder, names of up to 31 bytes. Slow path (a lock).
// HSC_CATEGORY_USER when all are taken. It can be left out by the options' mask once it is known.
hsc_category hsc_recorder_category(hsc_recorder *recorder, const char *name);

// The number of a string in this capture ring. Slow path (a lock); do it once. 0 when there is no
// room, which reads as "".
uint32_t hsc_recorder_intern(hsc_recorder *recorder, const char *text);
// Names the calling thread.
void hsc_recorder_name_thread(hsc_recorder *recorder, const char *name);

// Begins a span whose parent is the calling thread's innermost open span. Returns its id, unique in
// the ring; 0 when nothing was recorded (paused, category off, NULL recorder, no room), and ending
// span 0 does nothing.
uint64_t hsc_span_begin(hsc_recorder *recorder,
                        hsc_category category,
                        uint32_t name,
                        const hsc_trace_attr *attrs,
                        int attr_count);
void hsc_span_end(hsc_recorder *recorder,
                  uint64_t span,
                  const hsc_trace_attr *attrs,
                  int attr_count);
// A span that was timed elsewhere; times by hsc_trace_ticks. `track` is an interned name of the
// line it belongs to ("device 0 stream 1"); 0 = this thread.
uint64_t hsc_span_complete(hsc_recorder *recorder,
                           hsc_category category,
                           uint32_t name,
                           uint32_t track,
                           uint64_t begin_ticks,
                           uint64_t end_ticks,
                           const hsc_trace_attr *attrs,
                           int attr_count);
void hsc_trace_instant(hsc_recorder *recorder,
                       hsc_category category,
                       uint32_t name,
                       const hsc_trace_attr *attrs,
                       int attr_count);
void hsc_trace_counter(hsc_recorder *recorder, hsc_category category, uint32_t name, double value);
// Joins two places with an arrow: the same id at the beginning and at the end.
void hsc_trace_flow_begin(hsc_recorder *recorder, uint32_t name, uint64_t id);
void hsc_trace_flow_end(hsc_recorder *recorder, uint32_t name, uint64_t id);

// What every recorder begins with: asked in place, so that a span costs a nanosecond where nothing
// is recorded.
typedef struct hsc_recorder_switch {
  uint32_t categories;  // 0 after the end
  const uint32_t *paused;
} hsc_recorder_switch;
#if defined(__GNUC__)
static inline bool hsc_recorder_takes(const hsc_recorder *recorder, uint32_t category) {
  const hsc_recorder_switch *s = (const hsc_recorder_switch *)recorder;
  return recorder && (__atomic_load_n(&s->categories, __ATOMIC_RELAXED) & category) &&
         !__atomic_load_n(s->paused, __ATOMIC_RELAXED);
}
static inline uint64_t hsc_span_begin_if(hsc_recorder *recorder,
                                         hsc_category category,
                                         uint32_t name,
                                         const hsc_trace_attr *attrs,
                                         int attr_count) {
  return __builtin_expect(hsc_recorder_takes(recorder, (uint32_t)category), 1)
             ? hsc_span_begin(recorder, category, name, attrs, attr_count)
             : 0;
}
static inline void hsc_span_end_if(hsc_recorder *recorder,
                                   uint64_t span,
                                   const hsc_trace_attr *attrs,
                                   int attr_count) {
  if (span)
    hsc_span_end(recorder, span, attrs, attr_count);
}
#define hsc_span_begin(...) hsc_span_begin_if(__VA_ARGS__)
#define hsc_span_end(...) hsc_span_end_if(__VA_ARGS__)
#endif

uint64_t hsc_trace_ticks(void);                                  // the recorder's clock, raw
uint64_t hsc_recorder_lost_count(const hsc_recorder *recorder);  // events lost so far

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
