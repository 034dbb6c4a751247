// sink_text.c - raw lines and CSV: every event with everything that is known about it.
#include <inttypes.h>

#include "base/text/text.h"
#include "trace/sink_internal.h"

// "bytes=12 name=x", the value of a counter included.
static void attributes_text(const hsc_capture *capture, const hsc_event *e, hsc_bytes *out) {
  hsc_event_attrs_text(capture, e, out);
  if (e->kind == HSC_RECORD_COUNTER) {
    char number[32];
    hsc_format_double(hsc__counter_value(e), number);
    hsc_bytes_printf(out, "%svalue=%s", e->attr_count ? " " : "", number);
  }
}

hsc_status *hsc__sink_raw(hsc__sink_stream *stream) {
  const hsc_capture *capture = stream->capture;
  const hsc_event *events = hsc_capture_events(capture);
  hsc_bytes *out = &stream->buffer;
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    const hsc_event *e = &events[i];
    const hsc_capture_thread *thread = hsc_capture_thread_at(capture, e->thread);
    hsc_bytes_printf(out, "%14" PRId64 " %12" PRId64 " %lld/%s", e->start_ns, e->duration_ns,
                     (long long)hsc_capture_process_at(capture, e->process)->pid, thread->name);
    if (!*thread->name)
      hsc_bytes_printf(out, "%lld", (long long)thread->tid);
    hsc_bytes_printf(out, " %-8s %-8s %*s%s ", hsc__kind_text(e),
                     hsc_capture_category_text(capture, e->category),
                     2 * (e->depth < 20 ? e->depth : 20), "", e->name);
    attributes_text(capture, e, out);
    hsc_bytes_append_char(out, '\n');
    HSC_TRY(hsc__sink_flush(stream, false));
  }
  return NULL;
}

// A field of RFC 4180.
static void field(hsc_bytes *out, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    hsc_bytes_append_text(out, text);
    return;
  }
  hsc_bytes_append_char(out, '"');
  for (; *text; text++) {
    if (*text == '"')
      hsc_bytes_append_char(out, '"');
    hsc_bytes_append_char(out, *text);
  }
  hsc_bytes_append_char(out, '"');
}

hsc_status *hsc__sink_csv(hsc__sink_stream *stream) {
  const hsc_capture *capture = stream->capture;
  const hsc_event *events = hsc_capture_events(capture);
  hsc_bytes *out = &stream->buffer;
  hsc_bytes attrs = {0};
  hsc_bytes_append_text(out,
                        "start_ns,duration_ns,pid,tid,thread,kind,category,name,span_id,parent_id,"
                        "depth,attributes\r\n");
  hsc_status *status = NULL;
  for (size_t i = 0; i < hsc_capture_event_count(capture) && !status; i++) {
    const hsc_event *e = &events[i];
    const hsc_capture_thread *thread = hsc_capture_thread_at(capture, e->thread);
    hsc_bytes_printf(out, "%" PRId64 ",%" PRId64 ",%lld,%lld,", e->start_ns, e->duration_ns,
                     (long long)hsc_capture_process_at(capture, e->process)->pid,
                     (long long)thread->tid);
    field(out, thread->name);
    hsc_bytes_printf(out, ",%s,%s,", hsc__kind_text(e),
                     hsc_capture_category_text(capture, e->category));
    field(out, e->name);
    hsc_bytes_printf(out, ",%" PRIu64 ",%" PRIu64 ",%d,", e->span, e->parent, e->depth);
    hsc_bytes_reset(&attrs);
    attributes_text(capture, e, &attrs);
    field(out, hsc_bytes_text(&attrs));
    hsc_bytes_append_text(out, "\r\n");
    status = hsc__sink_flush(stream, false);
  }
  hsc_bytes_deinit(&attrs);
  return status;
}
