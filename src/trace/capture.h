// capture.h - reads captures back: ring files become events on one time line, in nanoseconds.
//
// A capture is a directory of ring files, or one ring file. Each ring is a process (or a library in
// one) with its threads. What a killed process left is read as far as it was committed; spans that
// were open then have `open` set and end at the last moment of their ring. Foreign bytes are never
// trusted: sizes, numbers and offsets are checked before use; what is damaged is skipped, counted,
// and said in `notes`.
// Memory: everything borrowed from the capture lives until hsc_capture_close.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"
#include "hloscope/trace.h"
#include "trace/ring_format.h"

typedef struct hsc_capture hsc_capture;

typedef struct hsc_event {
  // HSC_RECORD_BEGIN (a span, whether it ended or not), COMPLETE, INSTANT, COUNTER, FLOW_BEGIN,
  // FLOW_END
  uint8_t kind : 7;
  bool open : 1;  // a span that had not ended
  uint8_t attr_count, end_attr_count;
  uint8_t depth;  // nesting on its thread, 0 = outermost; 255 = that, or deeper
  // hsc_category bit, or one of the capture's own (hsc_capture_category_text); 0 = none
  uint32_t category;
  int32_t process;  // index into hsc_capture_process
  int32_t thread;   // index into hsc_capture_thread: the line it is shown on
  const char *name;
  int64_t start_ns;  // since the capture's first moment
  // spans; 0 for the others. Never negative: a clock that went back is counted in the notes.
  int64_t duration_ns;
  uint64_t span, parent;  // numbers in the process; 0 = none
  uint64_t value;         // COUNTER: the double's bits; FLOW: its id
  // [attr_count], those of the begin; string numbers are resolved by hsc_capture_string
  const hsc_trace_attr *attrs;
  const hsc_trace_attr *end_attrs;  // [end_attr_count], those of the end
} hsc_event;

typedef struct hsc_capture_process {
  const char *label, *command;
  const char *host;     // "" when unknown
  int32_t host_number;  // from 0, the same for processes of one host
  // how far the wall clock times of its events may be from the reference of clocks.tsv, or from
  // true time as NTP has it; -1 = nobody knows
  int64_t clock_error_ns;
  int64_t pid, parent_pid;
  uint64_t trace_id_high, trace_id_low;
  int64_t start_ns, end_ns;  // of the ring, on the capture's time line
  uint64_t lost_events, lost_attrs, torn_records;
  bool closed;  // in an orderly way
  // A process may have several rings (its Python code's, the tracer's), each an entry here: they
  // are shown as the first one, whose label names them all.
  int32_t shown_as;
  int32_t ring_of_process, more_rings;  // 0 = its first one; how many follow
} hsc_capture_process;

typedef struct hsc_capture_thread {
  int32_t process;
  int64_t tid;       // kernel thread; 0 for a track that is no thread
  const char *name;  // "" = none
} hsc_capture_thread;

// Errors: NOT_FOUND, DATA_LOSS (no ring could be read), FAILED_PRECONDITION (written by a newer
// hloscope; says both versions).
HSC_MUST_USE hsc_status *hsc_capture_open(const char *path, hsc_capture **out_capture);
// The same, with clocks of hosts that were measured (host_clocks.h); NULL = those in the folder.
HSC_MUST_USE hsc_status *hsc_capture_open_with_clocks(const char *path,
                                                      const char *clocks_path,
                                                      hsc_capture **out_capture);
// A profile (XSpace, as hsc_xspace_find takes it) as a capture, for the sinks: planes are
// processes, lines are threads, stats are attributes.
// Errors: those of hsc_xspace_find and hsc_xspace_open.
HSC_MUST_USE hsc_status *hsc_capture_of_profile(const char *path, hsc_capture **out_capture);
void hsc_capture_close(hsc_capture *capture);

// The outermost span around each event, by its number: what belongs to one request of the program.
// [event_count], 0 = none; the caller frees it with hsc_free. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_capture_roots(const hsc_capture *capture, uint64_t **out_roots);
// 32 digits: the trace that the event of this root belongs to. One outermost span, one trace.
void hsc_capture_trace_id(const hsc_capture *capture,
                          int process,
                          uint64_t root,
                          char out_text[33]);

size_t hsc_capture_event_count(const hsc_capture *capture);
// Sorted by start. A parent is before its children, but for runs on a device that outlast the
// call that started them.
const hsc_event *hsc_capture_events(const hsc_capture *capture);
int hsc_capture_process_count(const hsc_capture *capture);
int hsc_capture_host_count(const hsc_capture *capture);  // one more than the last host_number
const hsc_capture_process *hsc_capture_process_at(const hsc_capture *capture, int process);
int hsc_capture_thread_count(const hsc_capture *capture);
const hsc_capture_thread *hsc_capture_thread_at(const hsc_capture *capture, int thread);
// since the epoch, of the first moment
int64_t hsc_capture_start_wall_ns(const hsc_capture *capture);
// "" when unknown
const char *hsc_capture_string(const hsc_capture *capture, int32_t process, uint64_t number);
// The number that this text has in the process; 0 = it has none. Looks at all of them.
uint32_t hsc_capture_number(const hsc_capture *capture, int32_t process, const char *text);
static inline bool hsc_event_is_span(const hsc_event *event) {
  return event->kind == HSC_RECORD_BEGIN || event->kind == HSC_RECORD_COMPLETE;
}
// Names of what was executed say more than "execute": the executable's, where the event has one.
const char *hsc_event_shown_name(const hsc_capture *capture, const hsc_event *event);
// "bytes=12 name=x", in the order of recording.
void hsc_event_attrs_text(const hsc_capture *capture, const hsc_event *event, hsc_bytes *out);
// To be called for each event whose attributes are read past hsc_event_attr: attributes lie in the
// files, and what many looks brought into memory goes back now and then. They stay good.
void hsc_capture_looked(const hsc_capture *capture);
// The attribute named `key` of the event, looked for at the end first; NULL = none.
const hsc_trace_attr *hsc_event_attr(const hsc_capture *capture,
                                     const hsc_event *event,
                                     const char *key);
const char *hsc_capture_path(const hsc_capture *capture);  // as it was opened
// newline-separated: losses, damage, unclosed rings; "" = none
const char *hsc_capture_notes(const hsc_capture *capture);
// "execute", or what the program called it; "" when it is none
const char *hsc_capture_category_text(const hsc_capture *capture, uint32_t category);
