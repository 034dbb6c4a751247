// sink.c - the table of sinks, and their stream.
#include "trace/sink_internal.h"

static const struct {
  const char *text, *extension, *doc;
  hsc_status *(*run)(hsc__sink_stream *stream);
} sinks[] = {
#define SINK(id, text, extension, doc) {text, extension, doc, hsc__sink_##id},
#include "trace/sinks.def"
#undef SINK
};

const char *hsc_sink_name(hsc_sink_id sink) { return sinks[sink].text; }
const char *hsc_sink_extension(hsc_sink_id sink) { return sinks[sink].extension; }
const char *hsc_sink_doc(hsc_sink_id sink) { return sinks[sink].doc; }

bool hsc_sink_of_name(const char *name, hsc_sink_id *out_sink) {
  for (int i = 0; i < HSC_SINK_COUNT; i++) {
    if (strcmp(name, sinks[i].text)) continue;
    *out_sink = (hsc_sink_id)i;
    return true;
  }
  return false;
}

hsc_status *hsc__sink_flush(hsc__sink_stream *stream, bool all) {
  enum { PIECE_BYTES = 256 << 10 };
  if (!all && stream->buffer.size < PIECE_BYTES) return NULL;
  HSC_TRY(hsc_bytes_status(&stream->buffer));
  if (stream->buffer.size) HSC_TRY(stream->write(stream->user, hsc_bytes_view(&stream->buffer)));
  hsc_bytes_reset(&stream->buffer);
  return NULL;
}

hsc_status *hsc_capture_export(const hsc_capture *capture, hsc_sink_id sink, hsc_sink_write write, void *user) {
  hsc__sink_stream stream = {.capture = capture, .write = write, .user = user};
  hsc_status *status = sinks[sink].run(&stream);
  if (!status) status = hsc__sink_flush(&stream, true);
  hsc_bytes_deinit(&stream.buffer);
  return status;
}
