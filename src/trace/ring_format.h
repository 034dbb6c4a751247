// ring_format.h - the bytes of a ring file, shared by the recorder and the reader. Little-endian,
// everything 8-byte aligned.
//
//   offset 0            hsc_ring_header, one page
//   offset 4096         chunk 0: string table, continued in further chunks of kind STRINGS (never
//                       recycled)
//   ...                 chunk i at 4096 + i * chunk_bytes: hsc_ring_chunk (64 bytes), then records
//
// A chunk belongs to one thread. The writer fills a record and then stores `used_bytes` (release):
// what lies below it is whole, whatever happens to the process afterwards. When all chunks are
// taken the oldest full event chunk is given away; `generation` tells a reader that it changed.
// Cost of an event: one clock read, 32 to 64 bytes written to memory that only this thread touches,
// one release store.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "hloscope/trace.h"

#define HSC_RING_MAGIC 0x31474e4952435348ull  // "HSCRING1"
enum { HSC_RING_VERSION = 3, HSC_RING_HEADER_BYTES = 4096, HSC_RING_CHUNK_HEADER_BYTES = 64 };

typedef enum hsc_ring_clock { HSC_CLOCK_TSC = 1, HSC_CLOCK_MONOTONIC_RAW = 2 } hsc_ring_clock;

typedef struct hsc_ring_header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;
  uint32_t chunk_bytes;
  uint32_t chunk_capacity;               // chunks that fit in max_bytes
  _Atomic uint32_t chunk_count;          // chunks ever taken, at most chunk_capacity
  uint32_t clock;                        // hsc_ring_clock of the ticks
  uint64_t trace_id_low, trace_id_high;  // of the process's run
  int64_t pid, parent_pid;
  // two moments on both clocks; the last is renewed with every chunk that is taken and at close
  uint64_t first_ticks, last_ticks;
  int64_t first_raw_ns, last_raw_ns;  // CLOCK_MONOTONIC_RAW
  int64_t first_wall_ns;              // CLOCK_REALTIME of the first moment, since the epoch
  _Atomic uint64_t lost_events;       // for want of room, all threads
  _Atomic uint64_t lost_attrs;
  _Atomic uint32_t closed;  // 1 after an orderly close
  // 1 = nothing is taken; set by the program or from outside (trace/control.h)
  _Atomic uint32_t paused;
  char label[128];
  char command[512];  // arguments joined by spaces, cut
  char host[64];      // node name, cut; "" in captures of older versions
  // names of the bits from HSC_USER_CATEGORY_BIT on; "" = not given
  char user_categories[HSC_USER_CATEGORIES][32];
  // CLOCK_REALTIME of the last moment, and how far from true time the kernel says that it may be
  // (NTP's maximum error; -1 = nobody sets this clock by another). 0 in captures of older versions.
  int64_t last_wall_ns, wall_error_ns;
} hsc_ring_header;

typedef enum hsc_chunk_kind {
  HSC_CHUNK_FREE = 0,
  HSC_CHUNK_EVENTS = 1,
  HSC_CHUNK_STRINGS = 2
} hsc_chunk_kind;

typedef struct hsc_ring_chunk {
  _Atomic uint32_t used_bytes;  // of records, whole ones only
  _Atomic uint32_t kind;
  uint64_t sequence;       // order in which chunks were taken
  int64_t thread;          // kernel thread id
  uint32_t thread_name;    // string number, 0 = none
  _Atomic uint32_t owner;  // 1 while a thread writes to it
  uint64_t event_count;
  uint64_t first_ticks;
  // begin of the RUN that is under way on this thread and has no record yet; 0 = none
  _Atomic uint64_t run_ticks;
  uint32_t run_executable, reserved;  // its executable's string number; written before run_ticks
} hsc_ring_chunk;
_Static_assert(sizeof(hsc_ring_chunk) == HSC_RING_CHUNK_HEADER_BYTES,
               "chunk header is a cache line");

typedef enum hsc_record_kind {
  HSC_RECORD_STRING = 1,    // name = its number; bytes follow, NUL-terminated, padded
  HSC_RECORD_BEGIN = 2,     // payload: span id, parent span id
  HSC_RECORD_END = 3,       // payload: span id
  HSC_RECORD_COMPLETE = 4,  // payload: span id, parent span id, end ticks, track
  HSC_RECORD_INSTANT = 5,
  HSC_RECORD_COUNTER = 6,     // payload: double
  HSC_RECORD_FLOW_BEGIN = 7,  // payload: flow id
  HSC_RECORD_FLOW_END = 8,    // payload: flow id
  // From version 2 on:
  // an END without payload: the span id is in the header, low half in `name`, high half in `more`
  HSC_RECORD_END_OF = 9,
  // a call of an executable that is over, and what it was on the device; payload is hsc_ring_run
  HSC_RECORD_RUN = 10,
  // From version 3 on:
  // a RUN that is given by what it has other than the one before it in its chunk; payload is
  // hsc_ring_run_again
  HSC_RECORD_RUN_AGAIN = 11,
} hsc_record_kind;

typedef struct hsc_record {
  uint16_t size_bytes;  // with this header, payload and attributes; a multiple of 8
  uint8_t kind;         // hsc_record_kind
  uint8_t attr_count;
  uint32_t category;
  uint32_t name;  // string number
  uint32_t more;  // END_OF: high half of the span id; else 0
  uint64_t ticks;
  // payload, then attr_count times {uint32 key, uint32 type, uint64 value}
} hsc_record;

// A RUN is read as three events: the call (a span with the attributes), the run on the device's
// track where the device had ended with the call, and the device memory behind it where that
// changed. One record, because this is what a traced program does most.
#define HSC_DEVICE_BYTES_NAME "device bytes"
typedef struct hsc_ring_run {
  uint64_t span, parent;       // of the call; the run on the device is span + 1
  uint64_t end_ticks;          // of the call
  uint64_t device_end_ticks;   // 0 = the device went on: a COMPLETE tells when it was done
  uint64_t device_bytes;       // live on the devices after the call; UINT64_MAX = not counted
  uint32_t track, device_run;  // string numbers: the device's line; the name of the run on it
} hsc_ring_run;

// A program that runs the same things over and over writes 40 bytes a run instead of 112: most of
// what a record costs is new memory. It follows a RUN of the same chunk that has two attributes,
// the executable (a string) and the run's number (an integer), with other RUN_AGAINs between them
// at most; "before" is the last of those. In the record's header `name` is the call's duration in
// ticks, `more` the run's number less that before. The call's name and parent, the names of run and
// track are those of the RUN; so is whether the device had ended with the call.
typedef struct hsc_ring_run_again {
  uint32_t executable;    // string number
  uint32_t span_more;     // span of the call less that before
  uint64_t device_bytes;  // as in hsc_ring_run
} hsc_ring_run_again;
