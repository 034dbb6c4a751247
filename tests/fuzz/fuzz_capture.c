// fuzz_capture.c - any bytes as a ring file: a capture whose views and exports can be made, or an
// error. Never a read outside, never a negative duration.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/table.h"
#include "trace/sink.h"
#include "views/timeline_page.h"
#include "views/views.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hsc_status *swallow(void *user, hsc_view bytes) {
  *(size_t *)user += bytes.size;
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int file = memfd_create("capture", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != (ssize_t)size)
    abort();
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  hsc_capture *capture = NULL;
  hsc_status *status = hsc_capture_open(path, &capture);
  if (!status) {
    const hsc_event *events = hsc_capture_events(capture);
    for (size_t i = 0; i < hsc_capture_event_count(capture); i++)
      if (events[i].duration_ns < 0 || events[i].thread < 0 ||
          events[i].thread >= hsc_capture_thread_count(capture))
        fuzz_broken();
    for (int view = 0; view < HSC_VIEW_COUNT && !status; view++) {
      hsc_table *table = NULL;
      hsc_bytes out = {0};
      status =
          hsc_view_table(capture, (hsc_view_id)view, &(hsc_view_options){.limit = 100}, &table);
      if (!status)
        status = hsc_table_print(table, HSC_FORMAT_JSON, NULL, &out);
      fuzz_said(hsc_bytes_view(&out));
      hsc_bytes_deinit(&out);
      hsc_table_destroy(table);
    }
    size_t written = 0;
    for (int sink = 0; sink < HSC_SINK_COUNT && !status; sink++)
      status = hsc_capture_export(capture, (hsc_sink_id)sink, swallow, &written);
    hsc_bytes page = {0};
    if (!status)
      status = hsc_timeline_of_capture(capture, &page);
    hsc_bytes_deinit(&page);
  }
  hsc_status_free(status);
  hsc_capture_close(capture);
  close(file);
  return 0;
}
