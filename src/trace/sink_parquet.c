// sink_parquet.c - every event as a row of a Parquet file. Attributes are one JSON text; those that
// tables are made from have columns of their own.
#include "base/parquet/parquet.h"
#include "trace/sink_internal.h"

// Columns by their order: the first ones are left out where the folders say them. C(id, type)
enum { SAID_BY_FOLDERS = 2 };
#define COLUMNS(C) \
  C(host, TEXT) \
  C(run, TEXT) \
  C(time, TIMESTAMP_US) \
  C(clock_error_ns, INT64) \
  C(start_ns, INT64) \
  C(duration_ns, INT64) \
  C(pid, INT64) \
  C(tid, INT64) \
  C(thread, TEXT) \
  C(kind, TEXT) \
  C(category, TEXT) \
  C(name, TEXT) \
  C(span_id, UINT64) \
  C(parent_id, UINT64) \
  C(depth, INT64) \
  C(value, DOUBLE) \
  C(executable, TEXT) \
  C(device, INT64) \
  C(bytes, INT64) \
  C(attributes, TEXT)

static const hsc_parquet_column columns[] = {
#define C(id, type) {#id, HSC_PARQUET_##type},
    COLUMNS(C)
#undef C
};

// The keys of the attributes that have columns of their own, as numbers of the process that events
// are of.
typedef struct keys {
  int32_t process;
  uint32_t executable, device, bytes;
} keys;

static void find_keys(const hsc_capture *capture, int32_t process, keys *out) {
  if (out->process == process)
    return;
  *out = (keys){process, hsc_capture_number(capture, process, "executable"),
                hsc_capture_number(capture, process, "device"),
                hsc_capture_number(capture, process, "bytes")};
}

static const hsc_trace_attr *attr_of(const hsc_event *e, uint32_t key) {
  for (int i = 0; key && i < e->end_attr_count; i++)
    if (e->end_attrs[i].key == key)
      return &e->end_attrs[i];
  for (int i = 0; key && i < e->attr_count; i++)
    if (e->attrs[i].key == key)
      return &e->attrs[i];
  return NULL;
}

static void put_text_attr(hsc_parquet *file,
                          const hsc_capture *capture,
                          const hsc_event *e,
                          uint32_t key) {
  const hsc_trace_attr *a = attr_of(e, key);
  if (a && a->type == HSC_ATTR_STRING)
    hsc_parquet_lasting(file, hsc_capture_string(capture, e->process, a->value.string));
  else
    hsc_parquet_null(file);
}

static void put_int_attr(hsc_parquet *file, const hsc_event *e, uint32_t key) {
  const hsc_trace_attr *a = attr_of(e, key);
  if (a && (a->type == HSC_ATTR_INT || a->type == HSC_ATTR_UINT))
    hsc_parquet_int(file, a->value.i);
  else
    hsc_parquet_null(file);
}

static void put_attributes(hsc_parquet *file,
                           const hsc_capture *capture,
                           const hsc_event *e,
                           hsc_bytes *scratch) {
  if (!(e->attr_count + e->end_attr_count)) {
    hsc_parquet_null(file);
    return;
  }
  hsc_bytes_reset(scratch);
  hsc__attributes_json(capture, e, scratch);
  hsc_parquet_text(file, hsc_bytes_view(scratch));
}

static void put_event(hsc_parquet *file,
                      const hsc_capture *capture,
                      const hsc_event *e,
                      bool is_part,
                      const char *run,
                      keys *k,
                      hsc_bytes *scratch) {
  find_keys(capture, e->process, k);
  const hsc_capture_process *process = hsc_capture_process_at(capture, e->process);
  const hsc_capture_thread *thread = hsc_capture_thread_at(capture, e->thread);
  bool span = hsc_event_is_span(e);
  if (!is_part) {
    hsc_parquet_lasting(file, process->host);
    hsc_parquet_lasting(file, run);
  }
  hsc_parquet_int(file, (hsc_capture_start_wall_ns(capture) + e->start_ns) / 1000);
  if (process->clock_error_ns >= 0)
    hsc_parquet_int(file, process->clock_error_ns);
  else
    hsc_parquet_null(file);
  hsc_parquet_int(file, e->start_ns);
  if (span)
    hsc_parquet_int(file, e->duration_ns);
  else
    hsc_parquet_null(file);
  hsc_parquet_int(file, process->pid);
  hsc_parquet_int(file, thread->tid);
  hsc_parquet_lasting(file, thread->name);
  hsc_parquet_lasting(file, hsc__kind_text(e));
  hsc_parquet_lasting(file, hsc_capture_category_text(capture, e->category));
  hsc_parquet_lasting(file, e->name);
  hsc_parquet_int(file, (int64_t)e->span);
  hsc_parquet_int(file, (int64_t)e->parent);
  hsc_parquet_int(file, e->depth);
  if (e->kind == HSC_RECORD_COUNTER)
    hsc_parquet_double(file, hsc__counter_value(e));
  else
    hsc_parquet_null(file);
  put_text_attr(file, capture, e, k->executable);
  put_int_attr(file, e, k->device);
  put_int_attr(file, e, k->bytes);
  put_attributes(file, capture, e, scratch);
}

static hsc_status *write_piece(void *user, hsc_view bytes) {
  hsc__sink_stream *stream = user;
  return stream->write(stream->user, bytes);
}

hsc_status *hsc__sink_parquet(hsc__sink_stream *stream) {
  const hsc_capture *capture = stream->capture;
  hsc_parquet *file = NULL;
  bool is_part = stream->part_of_host != HSC__WHOLE;
  size_t left_out = is_part ? SAID_BY_FOLDERS : 0;
  HSC_TRY(hsc_parquet_create(columns + left_out, HSC_COUNT_OF(columns) - left_out, write_piece,
                             stream, &file));
  char run[33] = "";
  if (hsc_capture_process_count(capture))
    hsc__trace_id_hex(hsc_capture_process_at(capture, 0), run);
  hsc_parquet_metadata(file, "hloscope.capture", hsc_capture_path(capture));
  hsc_parquet_metadata(file, "hloscope.notes", hsc_capture_notes(capture));
  hsc_bytes scratch = {0};
  keys k = {.process = -1};
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    int host = hsc_capture_process_at(capture, events[i].process)->host_number;
    if (is_part && host != stream->part_of_host)
      continue;
    put_event(file, capture, &events[i], is_part, run, &k, &scratch);
  }
  hsc_status *status = hsc_bytes_status(&scratch);
  hsc_bytes_deinit(&scratch);
  if (!status)
    return hsc_parquet_finish(file);
  hsc_parquet_abandon(file);
  return status;
}
