// sink_internal.h - what a sink gets: the capture, and a buffer that flushes itself.
#pragma once

#include "trace/sink.h"

typedef struct hsc__sink_stream {
  const hsc_capture *capture;
  hsc_bytes buffer;
  hsc_sink_write write;
  void *user;
} hsc__sink_stream;

// To be called after each event: hands the buffer on when it is large.
HSC_MUST_USE hsc_status *hsc__sink_flush(hsc__sink_stream *stream, bool all);

#define SINK(id, text, extension, doc) HSC_MUST_USE hsc_status *hsc__sink_##id(hsc__sink_stream *stream);
#include "trace/sinks.def"
#undef SINK
