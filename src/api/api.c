// api.c - the functions of libhloscope.so that are not the recorder's: captures by path, for C
// programs and for the Python package.
#include "base/text/text.h"
#include "hloscope/capture.h"
#include "report/arrow.h"
#include "trace/capture_folder.h"
#include "trace/control.h"
#include "trace/sink.h"
#include "views/sql.h"

static hsc_status *unknown(const char *what,
                           const char *name,
                           const char *(*name_at)(int),
                           int count) {
  const char *names[64];
  for (int i = 0; i < count && i < 64; i++)
    names[i] = name_at(i);
  const char *near = hsc_did_you_mean(name, names, (size_t)(count < 64 ? count : 64));
  hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "there is no %s '%s'", what, name);
  return near ? hsc_status_hint(status, "did you mean '%s'?", near) : status;
}

static const char *view_name_at(int i) {
  return hsc_view_name((hsc_view_id)i);
}
static const char *sink_name_at(int i) {
  return hsc_sink_name((hsc_sink_id)i);
}

static hsc_status *make_table(const char *path,
                              const char *view,
                              const char *sql,
                              hsc_table **out_table) {
  hsc_view_id id = HSC_VIEW_summary;
  if (!view && !sql)
    return HSC_ERR(INVALID_ARGUMENT, "neither a view nor a query was given");
  if (view && !hsc_view_of_name(view, &id))
    return unknown("view", view, view_name_at, HSC_VIEW_COUNT);
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open(path, &capture));
  hsc_status *status = view ? hsc_view_table(capture, id, NULL, out_table)
                            : hsc_view_sql(capture, sql, NULL, out_table);
  hsc_capture_close(capture);
  return status;
}

hsc_status *hsc_capture_view_json(const char *path,
                                  const char *view,
                                  const char *sql,
                                  char **out_json) {
  hsc_table *table = NULL;
  HSC_TRY(make_table(path, view, sql, &table));
  hsc_bytes text = {0};
  hsc_status *status = hsc_table_print(table, HSC_FORMAT_JSON, NULL, &text);
  if (!status && !(*out_json = hsc_bytes_take(&text)))
    status = hsc_status_out_of_memory();
  hsc_bytes_deinit(&text);
  hsc_table_destroy(table);
  return status;
}

hsc_status *hsc_capture_view_arrow(const char *path,
                                   const char *view,
                                   const char *sql,
                                   struct ArrowSchema *out_schema,
                                   struct ArrowArray *out_array) {
  hsc_table *table = NULL;
  HSC_TRY(make_table(path, view, sql, &table));
  hsc_status *status = hsc_table_to_arrow(table, out_schema, out_array);
  hsc_table_destroy(table);
  return status;
}

hsc_status *hsc_capture_make_room(const char *path) {
  char *kept = NULL;
  HSC_TRY(hsc_capture_set_aside(path, &kept));
  hsc_free(kept);
  return NULL;
}

hsc_status *hsc_capture_export_file(const char *path, const char *form, const char *output) {
  hsc_sink_id sink;
  if (!hsc_sink_of_name(form, &sink))
    return unknown("form", form, sink_name_at, HSC_SINK_COUNT);
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open(path, &capture));
  hsc_status *status = hsc_capture_export_file_to(capture, sink, output);
  hsc_capture_close(capture);
  return status;
}

hsc_status *hsc_process_set_paused(int64_t pid, bool paused, int *out_rings) {
  return hsc_trace_set_paused(pid, paused, out_rings);
}

const char *hsc_api_status_text(const hsc_status *status) {
  static _Thread_local char text[2048];  // statuses hold their parts, not the whole
  if (!status)
    return "";
  const char *hint = hsc_status_hint_text(status);
  const char *path = hsc_status_path(status);
  snprintf(text, sizeof text, "%s%s%s%s%s", path ? path : "", path ? ": " : "",
           hsc_status_message(status), hint ? "; " : "", hint ? hint : "");
  return text;
}

void hsc_api_status_free(hsc_status *status) {
  hsc_status_free(status);
}
void hsc_api_text_free(char *text) {
  hsc_free(text);
}
