// capture.h - reads captures: every view that `hloscope tables` has, as JSON or through the Arrow C
// data interface. Exported by libhloscope.so.
//
//   char *json = NULL;
//   hsc_status *status = hsc_capture_view_json("run.hsc", "summary", NULL, &json);   // or view
//   NULL and an SQL query
//   if (status) fprintf(stderr, "%s\n", hsc_api_status_text(status)), hsc_api_status_free(status);
//   hsc_api_text_free(json);
//
// A capture whose program runs still, or was killed, is read as far as it goes. Threads: any.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hloscope/trace.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

struct ArrowSchema;
struct ArrowArray;

// Makes room for a new capture at `path`: what an earlier run left there is renamed (run.1.hsc).
// Errors: FAILED_PRECONDITION where another process still records there, or among other files.
__attribute__((warn_unused_result)) hsc_status *hsc_capture_make_room(const char *path);

// The view's table in the JSON of docs/schemas/table.json, or the result of `sql` over the views as
// tables when `view` is NULL. *out_json is freed with hsc_api_text_free. Errors: NOT_FOUND
// (capture), INVALID_ARGUMENT (no such view; SQL), DATA_LOSS.
__attribute__((warn_unused_result)) hsc_status *hsc_capture_view_json(const char *path,
                                                                      const char *view,
                                                                      const char *sql,
                                                                      char **out_json);
// The same as one struct array; the consumer releases both.
__attribute__((warn_unused_result)) hsc_status *hsc_capture_view_arrow(
    const char *path,
    const char *view,
    const char *sql,
    struct ArrowSchema *out_schema,
    struct ArrowArray *out_array);
// Writes the capture in another form ("chrome", "perfetto", "parquet", ...: see `hloscope export
// --help`) to a file.
__attribute__((warn_unused_result)) hsc_status *hsc_capture_export_file(const char *path,
                                                                        const char *form,
                                                                        const char *output);

// Pauses or resumes all recording of a process (its own pid is fine), the PJRT tracer's included.
// *out_rings: recordings that were set.
__attribute__((warn_unused_result)) hsc_status *hsc_process_set_paused(int64_t pid,
                                                                       bool paused,
                                                                       int *out_rings);

// Message, place and hint in one text that lives until the thread's next call; "" for NULL.
const char *hsc_api_status_text(const hsc_status *status);
void hsc_api_status_free(hsc_status *status);
void hsc_api_text_free(char *text);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
