// sink_speedscope.c - speedscope's own format: an evented profile for every lane of every thread,
// frames shared.
// Format: speedscope.app/file-format-schema.json. Events must open and close in order of time,
// properly nested.
#include <inttypes.h>

#include "base/core/map.h"
#include "base/core/memory.h"
#include "trace/sink_internal.h"
#include "trace/sink_lanes.h"

typedef struct open_span {
  int64_t end;
  size_t frame;
} open_span;

typedef struct profile {  // of one lane
  open_span stack[HSC__MAX_NESTING];
  int depth;
  bool any;
} profile;

static void put(hsc_bytes *out, profile *p, char type, size_t frame, int64_t at) {
  hsc_bytes_printf(out, "%s{\"type\":\"%c\",\"frame\":%zu,\"at\":%" PRId64 "}", p->any ? ",\n" : "",
                   type, frame, at);
  p->any = true;
}

static void close_until(hsc_bytes *out, profile *p, int64_t until) {
  while (p->depth && p->stack[p->depth - 1].end <= until) {
    p->depth--;
    put(out, p, 'C', p->stack[p->depth].frame, p->stack[p->depth].end);
  }
}

// One pass over the events of one lane; `lane_of` says where each event was put.
static hsc_status *put_lane(hsc__sink_stream *stream,
                            int thread,
                            int lane,
                            const uint8_t *lane_of,
                            const hsc_map *frames,
                            bool first) {
  const hsc_capture *capture = stream->capture;
  const hsc_event *events = hsc_capture_events(capture);
  const hsc_capture_thread *of = hsc_capture_thread_at(capture, thread);
  const hsc_capture_process *process = hsc_capture_process_at(capture, of->process);
  hsc_bytes *out = &stream->buffer;
  char name[192], full[288];
  hsc__lane_name(of, lane, name);
  snprintf(full, sizeof full, "%s %lld: %s", *process->label ? process->label : "process",
           (long long)process->pid, name);
  int64_t end = 0;
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++)
    if (events[i].thread == thread && hsc_event_is_span(&events[i]) && lane_of[i] == lane &&
        events[i].start_ns + events[i].duration_ns > end)
      end = events[i].start_ns + events[i].duration_ns;
  hsc_bytes_printf(out, "%s{\"type\":\"evented\",\"name\":", first ? "" : ",\n");
  hsc__json_text(out, full);
  hsc_bytes_printf(
      out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%" PRId64 ",\"events\":[\n",
      end);
  profile *p = hsc_alloc(sizeof *p);
  if (!p)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  for (size_t i = 0; i < hsc_capture_event_count(capture) && !status; i++) {
    const hsc_event *e = &events[i];
    if (e->thread != thread || !hsc_event_is_span(e) || lane_of[i] != lane)
      continue;
    close_until(out, p, e->start_ns);
    if (p->depth == HSC__MAX_NESTING)
      continue;
    // What overlaps on the last lane (more than 64 at once) is cut at its parent's end, so that the
    // file stays well formed.
    int64_t until = e->start_ns + e->duration_ns;
    if (p->depth && until > p->stack[p->depth - 1].end)
      until = p->stack[p->depth - 1].end;
    size_t frame =
        (size_t)(uintptr_t)hsc_map_get(frames, hsc_view_of(hsc_event_shown_name(capture, e))) - 1;
    put(out, p, 'O', frame, e->start_ns);
    p->stack[p->depth++] = (open_span){until, frame};
    status = hsc__sink_flush(stream, false);
  }
  close_until(out, p, INT64_MAX);
  hsc_free(p);
  hsc_bytes_append_text(out, "]}");
  return status;
}

hsc_status *hsc__sink_speedscope(hsc__sink_stream *stream) {
  const hsc_capture *capture = stream->capture;
  const hsc_event *events = hsc_capture_events(capture);
  size_t count = hsc_capture_event_count(capture);
  hsc_bytes *out = &stream->buffer;
  hsc_status *status = NULL;
  hsc_map *frames = NULL;
  hsc__lanes *lanes = hsc__lanes_create(capture);
  uint8_t *lane_of = hsc_alloc(count + 1);
  if (!lanes || !lane_of)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_map_create(&frames));
  hsc_bytes_append_text(out,
                        "{\"$schema\":\"https://www.speedscope.app/"
                        "file-format-schema.json\",\"exporter\":\"hloscope " HSC_VERSION
                        "\",\"name\":");
  hsc__json_text(out, hsc_capture_path(capture));
  hsc_bytes_append_text(out, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
  for (size_t i = 0; i < count; i++) {
    const hsc_event *e = &events[i];
    if (!hsc_event_is_span(e))
      continue;
    int lane = hsc__lanes_choose(&lanes[e->thread], e->start_ns, e->start_ns + e->duration_ns);
    if (lane < 0)
      HSC_GOTO(hsc_status_out_of_memory());
    lane_of[i] = (uint8_t)lane;
    const char *name = hsc_event_shown_name(capture, e);
    bool added = false;
    HSC_GOTO(hsc_map_add(frames, hsc_view_of(name), (void *)(uintptr_t)(hsc_map_count(frames) + 1),
                         &added));
    if (!added)
      continue;
    hsc_bytes_append_text(out, hsc_map_count(frames) > 1 ? ",\n{\"name\":" : "\n{\"name\":");
    hsc__json_text(out, name);
    hsc_bytes_append_char(out, '}');
    HSC_GOTO(hsc__sink_flush(stream, false));
  }
  hsc_bytes_append_text(out, "]},\"profiles\":[\n");
  bool first = true;
  for (int t = 0; t < hsc_capture_thread_count(capture); t++) {
    for (int l = 0; l < lanes[t].count; l++) {
      HSC_GOTO(put_lane(stream, t, l, lane_of, frames, first));
      first = false;
    }
  }
  hsc_bytes_append_text(out, "\n]}\n");
done:
  hsc__lanes_destroy(lanes, capture);
  hsc_free(lane_of);
  hsc_map_destroy(frames);
  return status;
}
