// sink_common.c - how sinks write numbers, texts, attributes and ids.
#include <errno.h>
#include <inttypes.h>

#include "base/json/json_write.h"
#include "base/text/text.h"
#include "trace/sink_internal.h"

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
