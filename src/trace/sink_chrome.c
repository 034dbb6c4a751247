// sink_chrome.c - Chrome trace events, as Perfetto, chrome://tracing and speedscope load them
// without dropping slices.
//
// Times are microseconds from the capture's first moment with three decimals. Perfetto drops
// complete events that overlap on one thread without nesting, so such events go to lanes beside the
// thread ("name (2)"). Thread numbers are small ones of ours: loaders cut them to 32 bits.
// Format: the "Trace Event Format" document of the Chromium project; loader behaviour measured on
// Perfetto v52.
#include <inttypes.h>

#include "base/text/text.h"
#include "trace/sink_internal.h"
#include "trace/sink_lanes.h"

static int thread_number(int thread, int lane_number) {
  return thread * HSC__MAX_LANES + lane_number + 1;
}

static void time_us(hsc_bytes *out, int64_t ns) {
  if (ns < 0) {
    hsc_bytes_append_char(out, '-');
    ns = -ns;
  }
  hsc__put_uint(out, (uint64_t)ns / 1000);
  unsigned rest = (unsigned)((uint64_t)ns % 1000);
  const char part[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                        (char)('0' + rest % 10)};
  hsc_bytes_append(out, part, sizeof part);
}

static void args(const hsc_capture *capture, const hsc_event *e, hsc_bytes *out) {
  HSC__PUT(out, ",\"args\":");
  hsc__attributes_json(capture, e, out);
  if (!e->open || out->failed)
    return;
  out->size--;  // the brace
  hsc_bytes_printf(out, "%s\"unfinished\":true}", e->attr_count + e->end_attr_count ? "," : "");
}

static void head(const hsc_capture *capture,
                 hsc_bytes *out,
                 const char *phase,
                 int pid,
                 int tid,
                 const hsc_event *e,
                 const char *name) {
  HSC__PUT(out, "{\"ph\":\"");
  hsc_bytes_append_char(out, *phase);
  HSC__PUT(out, "\",\"pid\":");
  hsc__put_int(out, pid);
  HSC__PUT(out, ",\"tid\":");
  hsc__put_int(out, tid);
  HSC__PUT(out, ",\"ts\":");
  time_us(out, e->start_ns);
  HSC__PUT(out, ",\"name\":");
  hsc__json_text(out, name);
  const char *category = hsc_capture_category_text(capture, e->category);
  if (!*category)
    return;
  HSC__PUT(out, ",\"cat\":");
  hsc__json_text(out, category);
}

static void event(hsc__sink_stream *stream, const hsc_event *e, int pid, int tid) {
  hsc_bytes *out = &stream->buffer;
  const char *name = hsc_event_shown_name(stream->capture, e);
  switch (e->kind) {
    case HSC_RECORD_BEGIN:
    case HSC_RECORD_COMPLETE:
      head(stream->capture, out, "X", pid, tid, e, name);
      HSC__PUT(out, ",\"dur\":");
      time_us(out, e->duration_ns);
      args(stream->capture, e, out);
      break;
    case HSC_RECORD_COUNTER: {
      double value = hsc__counter_value(e);
      char number[32];
      hsc_format_double(value, number);
      head(stream->capture, out, "C", pid, tid, e, name);
      hsc_bytes_printf(out, ",\"args\":{\"value\":%s}", value - value == 0 ? number : "0");
      break;
    }
    case HSC_RECORD_FLOW_BEGIN:
    case HSC_RECORD_FLOW_END:
      head(stream->capture, out, e->kind == HSC_RECORD_FLOW_BEGIN ? "s" : "f", pid, tid, e, name);
      hsc_bytes_printf(out, ",\"cat\":\"flow\",\"id\":%" PRIu64 "%s", e->value,
                       e->kind == HSC_RECORD_FLOW_END ? ",\"bp\":\"e\"" : "");
      break;
    default:
      head(stream->capture, out, "i", pid, tid, e, name);
      HSC__PUT(out, ",\"s\":\"t\"");
      args(stream->capture, e, out);
  }
  HSC__PUT(out, "},\n");
}

static void metadata(hsc_bytes *out, const char *what, int pid, int tid, const char *name) {
  hsc_bytes_printf(
      out, "{\"ph\":\"M\",\"ts\":0,\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":", pid,
      tid, what);
  hsc__json_text(out, name);
  hsc_bytes_append_text(out, "}},\n");
}

static void name_tracks(hsc__sink_stream *stream, const hsc__lanes *of_threads) {
  hsc_bytes *out = &stream->buffer;
  for (int p = 0; p < hsc_capture_process_count(stream->capture); p++) {
    const hsc_capture_process *process = hsc_capture_process_at(stream->capture, p);
    if (process->shown_as != p)
      continue;
    char name[256];
    snprintf(name, sizeof name, "%s %lld%s%.120s", *process->label ? process->label : "process",
             (long long)process->pid, *process->command ? ": " : "", process->command);
    metadata(out, "process_name", p + 1, 0, name);
    hsc_bytes_printf(out,
                     "{\"ph\":\"M\",\"ts\":0,\"pid\":%d,\"tid\":0,\"name\":\"process_sort_index\","
                     "\"args\":{\"sort_index\":%d}},\n",
                     p + 1, p);
  }
  for (int t = 0; t < hsc_capture_thread_count(stream->capture); t++) {
    const hsc_capture_thread *thread = hsc_capture_thread_at(stream->capture, t);
    for (int l = 0; l < (of_threads[t].count ? of_threads[t].count : 1); l++) {
      char name[192];
      hsc__lane_name(thread, l, name);
      metadata(out, "thread_name", thread->process + 1, thread_number(t, l), name);
      hsc_bytes_printf(out,
                       "{\"ph\":\"M\",\"ts\":0,\"pid\":%d,\"tid\":%d,\"name\":\"thread_sort_"
                       "index\",\"args\":{\"sort_index\":%d}},\n",
                       thread->process + 1, thread_number(t, l),
                       t * HSC__MAX_LANES + l + (thread->tid ? 0 : 1000000));
    }
  }
}

hsc_status *hsc__sink_chrome(hsc__sink_stream *stream) {
  const hsc_capture *capture = stream->capture;
  hsc__lanes *of_threads = hsc__lanes_create(capture);
  if (!of_threads)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  hsc_bytes_append_text(&stream->buffer, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    const hsc_event *e = &events[i];
    int lane_number = 0;
    if (hsc_event_is_span(e)) {
      lane_number =
          hsc__lanes_choose(&of_threads[e->thread], e->start_ns, e->start_ns + e->duration_ns);
      if (lane_number < 0)
        HSC_GOTO(hsc_status_out_of_memory());
    }
    event(stream, e, hsc_capture_thread_at(capture, e->thread)->process + 1,
          thread_number(e->thread, lane_number));
    HSC_GOTO(hsc__sink_flush(stream, false));
  }
  name_tracks(stream, of_threads);
  // Every element above ends with a comma; the last one is the end of the capture.
  hsc_bytes_printf(&stream->buffer,
                   "{\"ph\":\"M\",\"ts\":0,\"pid\":1,\"tid\":0,\"name\":\"hloscope\",\"args\":{"
                   "\"version\":\"%s\",\"start_wall_ns\":\"%lld\"}}\n]}\n",
                   HSC_VERSION, (long long)hsc_capture_start_wall_ns(capture));
done:
  hsc__lanes_destroy(of_threads, capture);
  return status;
}
