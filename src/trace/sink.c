// sink.c - the table of sinks, and their stream.
#include <errno.h>
#include <inttypes.h>

#include "base/json/json_write.h"
#include "base/text/text.h"
#include "trace/sink_internal.h"

static const struct {
  const char *text, *extension, *doc;
  hsc_status *(*run)(hsc__sink_stream *stream);
} sinks[] = {
#define SINK(id, text, extension, doc) {text, extension, doc, hsc__sink_##id},
#include "trace/sinks.def"
#undef SINK
};

const char *hsc_sink_name(hsc_sink_id sink) {
  return sinks[sink].text;
}
const char *hsc_sink_extension(hsc_sink_id sink) {
  return sinks[sink].extension;
}

bool hsc_sink_of_name(const char *name, hsc_sink_id *out_sink) {
  for (int i = 0; i < HSC_SINK_COUNT; i++) {
    if (strcmp(name, sinks[i].text))
      continue;
    *out_sink = (hsc_sink_id)i;
    return true;
  }
  return false;
}

static hsc_status *export_to(const hsc_capture *capture,
                             hsc_sink_id sink,
                             int part_of_host,
                             hsc_sink_write write,
                             void *user) {
  hsc__sink_stream stream = {
      .capture = capture, .part_of_host = part_of_host, .write = write, .user = user};
  hsc_status *status = sinks[sink].run(&stream);
  if (!status)
    status = hsc__sink_flush(&stream, true);
  hsc_bytes_deinit(&stream.buffer);
  return status;
}

hsc_status *hsc_capture_export(const hsc_capture *capture,
                               hsc_sink_id sink,
                               hsc_sink_write write,
                               void *user) {
  return export_to(capture, sink, HSC__WHOLE, write, user);
}

typedef struct named_file {
  FILE *file;
  const char *path;
} named_file;

static hsc_status *write_file(void *user, hsc_view bytes) {
  const named_file *to = user;
  return fwrite(bytes.data, 1, bytes.size, to->file) == bytes.size
             ? NULL
             : HSC_ERR(RESOURCE_EXHAUSTED, "cannot write %s: %s", to->path, strerror(errno));
}

static hsc_status *export_file(const hsc_capture *capture,
                               hsc_sink_id sink,
                               int part_of_host,
                               const char *path) {
  hsc_bytes part = {0};
  hsc_bytes_printf(&part, "%s.part", path);
  HSC_TRY(hsc_bytes_status(&part));
  FILE *file = fopen(part.data, "wbe");
  hsc_status *status =
      file ? export_to(capture, sink, part_of_host, write_file, &(named_file){file, part.data})
           : HSC_ERR(PERMISSION_DENIED, "cannot create %s: %s", part.data, strerror(errno));
  if (file && fclose(file) && !status)
    status = HSC_ERR(RESOURCE_EXHAUSTED, "cannot write %s: %s", part.data, strerror(errno));
  if (!status && rename(part.data, path))
    status = HSC_ERR(PERMISSION_DENIED, "cannot put %s in place: %s", path, strerror(errno));
  if (file && status)
    remove(part.data);
  hsc_bytes_deinit(&part);
  return status;
}

hsc_status *hsc_capture_export_file_to(const hsc_capture *capture,
                                       hsc_sink_id sink,
                                       const char *path) {
  return export_file(capture, sink, HSC__WHOLE, path);
}
hsc_status *hsc_capture_export_part_to(const hsc_capture *capture,
                                       hsc_sink_id sink,
                                       int host,
                                       const char *path) {
  return export_file(capture, sink, host, path);
}
