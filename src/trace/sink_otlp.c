// sink_otlp.c - OpenTelemetry: one ExportTraceServiceRequest (and, for counters, one
// ExportMetricsServiceRequest) in JSON a line, as the collector's otlpjsonfile receiver reads it.
// Format: opentelemetry.io/docs/specs/otel/protocol/file-exporter and opentelemetry-proto (JSON
// mapping: ids in hex, 64-bit integers as text).
#include <inttypes.h>

#include "base/text/text.h"
#include "base/core/memory.h"
#include "trace/sink_internal.h"

enum { SPANS_A_LINE = 500, KIND_INTERNAL = 1, STATUS_ERROR = 2 };

// JSON has no numbers that are not finite: the mapping says them as text.
static const char *not_finite_text(double value) {
  if (value != value)
    return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

static void text_attribute(hsc_bytes *out, const char *key, const char *value) {
  hsc_bytes_append_text(out, "{\"key\":");
  hsc__json_text(out, key);
  hsc_bytes_append_text(out, ",\"value\":{\"stringValue\":");
  hsc__json_text(out, value);
  hsc_bytes_append_text(out, "}}");
}

static void attribute(hsc_bytes *out,
                      const hsc_capture *capture,
                      const hsc_event *e,
                      const hsc_trace_attr *a) {
  const char *key = hsc_capture_string(capture, e->process, a->key);
  char number[32];
  if (a->type == HSC_ATTR_STRING) {
    text_attribute(out, key, hsc_capture_string(capture, e->process, a->value.string));
    return;
  }
  hsc_bytes_append_text(out, "{\"key\":");
  hsc__json_text(out, key);
  hsc_bytes_append_text(out, ",\"value\":{");
  bool finite = a->value.d - a->value.d == 0;
  if (a->type == HSC_ATTR_DOUBLE && finite) {
    hsc_format_double(a->value.d, number);
    hsc_bytes_printf(out, "\"doubleValue\":%s", number);
  } else if (a->type == HSC_ATTR_DOUBLE)
    hsc_bytes_printf(out, "\"doubleValue\":\"%s\"", not_finite_text(a->value.d));
  else if (a->type == HSC_ATTR_UINT && a->value.u > INT64_MAX)
    hsc_bytes_printf(out, "\"stringValue\":\"%" PRIu64 "\"", a->value.u);
  else
    hsc_bytes_printf(out, "\"intValue\":\"%" PRId64 "\"", a->value.i);
  hsc_bytes_append_text(out, "}}");
}

static void resource(hsc_bytes *out, const hsc_capture_process *process) {
  hsc_bytes_append_text(out, "{\"resource\":{\"attributes\":[");
  text_attribute(out, "service.name", *process->label ? process->label : "hloscope");
  hsc_bytes_append_char(out, ',');
  text_attribute(out, "host.name", process->host);
  hsc_bytes_append_char(out, ',');
  text_attribute(out, "process.command_line", process->command);
  hsc_bytes_printf(out, ",{\"key\":\"process.pid\",\"value\":{\"intValue\":\"%lld\"}}]},",
                   (long long)process->pid);
}

static void scope(hsc_bytes *out) {
  hsc_bytes_append_text(out, "{\"scope\":{\"name\":\"hloscope\",\"version\":\"" HSC_VERSION "\"},");
}

static void time_field(hsc_bytes *out, const char *key, int64_t ns) {
  hsc_bytes_printf(out, ",\"%s\":\"%" PRId64 "\"", key, ns);
}

// Span ids are numbers in the process; OTLP wants 8 bytes that are not zero. Instants have none of
// their own, so they get one from the top.
static void span(
    hsc_bytes *out, const hsc_capture *capture, const hsc_event *e, size_t index, uint64_t root) {
  const hsc_capture_thread *thread = hsc_capture_thread_at(capture, e->thread);
  int64_t start = hsc_capture_start_wall_ns(capture) + e->start_ns;
  char trace_id[33];
  hsc_capture_trace_id(capture, thread->process, root, trace_id);
  hsc_bytes_printf(out, "{\"traceId\":\"%s\",\"spanId\":\"%016" PRIx64 "\"", trace_id,
                   e->span ? e->span : (uint64_t)1 << 63 | index);
  if (e->parent)
    hsc_bytes_printf(out, ",\"parentSpanId\":\"%016" PRIx64 "\"", e->parent);
  hsc_bytes_append_text(out, ",\"name\":");
  hsc__json_text(out, hsc_event_shown_name(capture, e));
  hsc_bytes_printf(out, ",\"kind\":%d", KIND_INTERNAL);
  time_field(out, "startTimeUnixNano", start);
  time_field(out, "endTimeUnixNano", start + e->duration_ns);
  hsc_bytes_printf(out,
                   ",\"attributes\":[{\"key\":\"thread.id\",\"value\":{\"intValue\":\"%lld\"}}",
                   (long long)thread->tid);
  if (*thread->name) {
    hsc_bytes_append_char(out, ',');
    text_attribute(out, "thread.name", thread->name);
  }
  if (*hsc_capture_category_text(capture, e->category)) {
    hsc_bytes_append_char(out, ',');
    text_attribute(out, "hloscope.category", hsc_capture_category_text(capture, e->category));
  }
  if (!hsc_event_is_span(e)) {
    hsc_bytes_append_char(out, ',');
    text_attribute(out, "hloscope.kind", hsc__kind_text(e));
  }
  for (int i = 0; i < e->attr_count + e->end_attr_count; i++) {
    hsc_bytes_append_char(out, ',');
    attribute(out, capture, e, i < e->attr_count ? &e->attrs[i] : &e->end_attrs[i - e->attr_count]);
  }
  hsc_bytes_append_char(out, ']');
  const hsc_trace_attr *error = hsc_event_attr(capture, e, "error");
  if (error && error->type == HSC_ATTR_STRING) {
    hsc_bytes_printf(out, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
    hsc__json_text(out, hsc_capture_string(capture, e->process, error->value.string));
    hsc_bytes_append_char(out, '}');
  } else if (e->open) {
    hsc_bytes_printf(
        out,
        ",\"status\":{\"code\":%d,\"message\":\"the span had not ended when the capture did\"}",
        STATUS_ERROR);
  }
  hsc_bytes_append_char(out, '}');
}

static bool is_counter(const hsc_event *e) {
  return e->kind == HSC_RECORD_COUNTER;
}
static bool is_span(const hsc_event *e) {
  return hsc_event_is_span(e) || e->kind == HSC_RECORD_INSTANT;
}

// Metrics are grouped by name, as points of one gauge; consecutive points of a counter share it.
static void counter(hsc_bytes *out,
                    const hsc_capture *capture,
                    const hsc_event *e,
                    bool same_name) {
  double value = hsc__counter_value(e);
  char number[32];
  hsc_format_double(value, number);
  if (!same_name) {
    hsc_bytes_append_text(out, "{\"name\":");
    hsc__json_text(out, e->name);
    hsc_bytes_append_text(out, ",\"gauge\":{\"dataPoints\":[");
  }
  hsc_bytes_printf(out, "%s{\"timeUnixNano\":\"%" PRId64 "\",\"asDouble\":", same_name ? "," : "",
                   hsc_capture_start_wall_ns(capture) + e->start_ns);
  if (value - value == 0)
    hsc_bytes_append_text(out, number);
  else
    hsc_bytes_printf(out, "\"%s\"", not_finite_text(value));
  hsc_bytes_append_char(out, '}');
}

// All events of one process that `wanted` takes, in lines of at most SPANS_A_LINE.
static hsc_status *put_process(hsc__sink_stream *stream,
                               const uint64_t *roots,
                               int process,
                               bool metrics) {
  const hsc_capture *capture = stream->capture;
  const hsc_event *events = hsc_capture_events(capture);
  hsc_bytes *out = &stream->buffer;
  const char *end = metrics ? "]}}]}]}]}\n" : "]}]}]}\n";
  const char *last_name = NULL;
  int on_line = 0;
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    const hsc_event *e = &events[i];
    if (hsc_capture_thread_at(capture, e->thread)->process != process ||
        !(metrics ? is_counter(e) : is_span(e)))
      continue;
    if (!on_line) {
      hsc_bytes_append_text(out, metrics ? "{\"resourceMetrics\":[" : "{\"resourceSpans\":[");
      resource(out, hsc_capture_process_at(capture, process));
      hsc_bytes_append_text(out, metrics ? "\"scopeMetrics\":[" : "\"scopeSpans\":[");
      scope(out);
      hsc_bytes_append_text(out, metrics ? "\"metrics\":[" : "\"spans\":[");
    }
    if (metrics) {
      bool same = on_line && last_name && !strcmp(last_name, e->name);
      if (on_line && !same)
        hsc_bytes_append_text(out, "]}},");
      counter(out, capture, e, same);
      last_name = e->name;
    } else {
      if (on_line)
        hsc_bytes_append_char(out, ',');
      span(out, capture, e, i, roots[i]);
    }
    if (++on_line == SPANS_A_LINE) {
      hsc_bytes_append_text(out, end);
      on_line = 0;
    }
    HSC_TRY(hsc__sink_flush(stream, false));
  }
  if (on_line)
    hsc_bytes_append_text(out, end);
  return NULL;
}

hsc_status *hsc__sink_otlp(hsc__sink_stream *stream) {
  uint64_t *roots = NULL;
  HSC_TRY(hsc_capture_roots(stream->capture, &roots));
  hsc_status *status = NULL;
  for (int p = 0; p < hsc_capture_process_count(stream->capture) && !status; p++) {
    status = put_process(stream, roots, p, false);
    if (!status)
      status = put_process(stream, roots, p, true);
  }
  hsc_free(roots);
  return status;
}
