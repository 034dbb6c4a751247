// sink_internal.h - what a sink gets: the capture, and a buffer that flushes itself.
#pragma once

#include "trace/sink.h"

enum { HSC__WHOLE = -1 };

typedef struct hsc__sink_stream {
  const hsc_capture *capture;
  // a part of a data set, whose folders say run and host: of tables the rows of this host alone;
  // HSC__WHOLE = all hosts, run and host are columns
  int part_of_host;
  hsc_bytes buffer;
  hsc_sink_write write;
  void *user;
} hsc__sink_stream;

// To be called after each event: hands the buffer on when it is large.
HSC_MUST_USE hsc_status *hsc__sink_flush(hsc__sink_stream *stream, bool all);

// "span", "open", "instant", "counter", ...
const char *hsc__kind_text(const hsc_event *event);
double hsc__counter_value(const hsc_event *event);

void hsc__json_text(hsc_bytes *out, const char *text);  // as a JSON string
void hsc__put_uint(hsc_bytes *out, uint64_t value);     // in decimal digits
void hsc__put_int(hsc_bytes *out, int64_t value);
#define HSC__PUT(out, literal) hsc_bytes_append((out), "" literal, sizeof(literal) - 1)
// {"bytes":12,"name":"x"}; numbers that JSON has not are null.
void hsc__attributes_json(const hsc_capture *capture, const hsc_event *event, hsc_bytes *out);
void hsc__trace_id_hex(const hsc_capture_process *process, char out_text[33]);

#define SINK(id, text, extension, doc) \
  HSC_MUST_USE hsc_status *hsc__sink_##id(hsc__sink_stream *stream);
#include "trace/sinks.def"
#undef SINK
