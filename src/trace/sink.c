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
const char *hsc_sink_doc(hsc_sink_id sink) {
  return sinks[sink].doc;
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

const char *hsc__kind_text(const hsc_event *e) {
  switch (e->kind) {
    case HSC_RECORD_BEGIN:
      return e->open ? "open" : "span";
    case HSC_RECORD_COMPLETE:
      return "span";
    case HSC_RECORD_INSTANT:
      return "instant";
    case HSC_RECORD_COUNTER:
      return "counter";
    case HSC_RECORD_FLOW_BEGIN:
      return "flow-begin";
    case HSC_RECORD_FLOW_END:
      return "flow-end";
    default:
      return "?";
  }
}

double hsc__counter_value(const hsc_event *e) {
  double value;
  memcpy(&value, &e->value, sizeof value);
  return value;
}

void hsc__put_uint(hsc_bytes *out, uint64_t value) {
  char digits[20];
  char *at = digits + sizeof digits;
  do
    *--at = (char)('0' + value % 10);
  while (value /= 10);
  hsc_bytes_append(out, at, (size_t)(digits + sizeof digits - at));
}

void hsc__put_int(hsc_bytes *out, int64_t value) {
  if (value < 0)
    hsc_bytes_append_char(out, '-');
  hsc__put_uint(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void hsc__json_text(hsc_bytes *out, const char *text) {
  // Plain texts, nearly all, are taken as they are.
  size_t size = 0;
  while ((uint8_t)text[size] >= 0x20 && (uint8_t)text[size] < 0x7f && text[size] != '"' &&
         text[size] != '\\' && size < 256)
    size++;
  if (!text[size]) {
    char *room = hsc_bytes_extend(out, size + 2);
    if (!room)
      return;
    *room = room[size + 1] = '"';
    memcpy(room + 1, text, size);
    return;
  }
  hsc_json json;
  hsc_json_init(&json, out, 0);
  hsc_json_string(&json, text);
}

void hsc__trace_id_hex(const hsc_capture_process *process, char out_text[33]) {
  snprintf(out_text, 33, "%016" PRIx64 "%016" PRIx64, process->trace_id_high,
           process->trace_id_low);
}

void hsc__attributes_json(const hsc_capture *capture, const hsc_event *e, hsc_bytes *out) {
  hsc_bytes_append_char(out, '{');
  for (int i = 0; i < e->attr_count + e->end_attr_count; i++) {
    const hsc_trace_attr *a = i < e->attr_count ? &e->attrs[i] : &e->end_attrs[i - e->attr_count];
    if (i)
      hsc_bytes_append_char(out, ',');
    hsc__json_text(out, hsc_capture_string(capture, e->process, a->key));
    hsc_bytes_append_char(out, ':');
    char number[32];
    if (a->type == HSC_ATTR_STRING)
      hsc__json_text(out, hsc_capture_string(capture, e->process, a->value.string));
    else if (a->type == HSC_ATTR_DOUBLE) {
      hsc_format_double(a->value.d, number);
      hsc_bytes_append_text(out, a->value.d - a->value.d == 0 ? number : "null");
    } else if (a->type == HSC_ATTR_UINT)
      hsc__put_uint(out, a->value.u);
    else
      hsc__put_int(out, a->value.i);
  }
  hsc_bytes_append_char(out, '}');
}

hsc_status *hsc__sink_flush(hsc__sink_stream *stream, bool all) {
  enum { PIECE_BYTES = 256 << 10 };
  if (!all && stream->buffer.size < PIECE_BYTES)
    return NULL;
  HSC_TRY(hsc_bytes_status(&stream->buffer));
  if (stream->buffer.size)
    HSC_TRY(stream->write(stream->user, hsc_bytes_view(&stream->buffer)));
  hsc_bytes_reset(&stream->buffer);
  return NULL;
}

static hsc_status *export_to(
    const hsc_capture *capture, hsc_sink_id sink, bool is_part, hsc_sink_write write, void *user) {
  hsc__sink_stream stream = {.capture = capture, .is_part = is_part, .write = write, .user = user};
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
  return export_to(capture, sink, false, write, user);
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
                               bool is_part,
                               const char *path) {
  hsc_bytes part = {0};
  hsc_bytes_printf(&part, "%s.part", path);
  HSC_TRY(hsc_bytes_status(&part));
  FILE *file = fopen(part.data, "wbe");
  hsc_status *status =
      file ? export_to(capture, sink, is_part, write_file, &(named_file){file, part.data})
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
  return export_file(capture, sink, false, path);
}
hsc_status *hsc_capture_export_part_to(const hsc_capture *capture,
                                       hsc_sink_id sink,
                                       const char *path) {
  return export_file(capture, sink, true, path);
}
