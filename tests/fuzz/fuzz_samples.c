// fuzz_samples.c - any bytes as a file of samples: series or an error with a place, and the
// statistics of what came out.
#include <stdio.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "lab/run/samples.h"
#include "lab/run/stats_document.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char path[64];
  if (size > 20000)
    return 0;
  snprintf(path, sizeof path, "/tmp/hsc-fuzz-samples-%d", (int)getpid());
  hsc_status *status = hsc_file_write_atomic(path, data, size);
  hsc_samples *set = NULL;
  if (!status)
    status = hsc_samples_create(&set);
  if (!status)
    status = hsc_samples_read(set, path, &(hsc_samples_options){0});
  json_t *document = NULL;
  if (!status && hsc_samples_count(set) <= 8)
    status = hsc_stats_document(set, &(hsc_stats_options){.resample_count = 100}, &document);
  // The message begins with the path, whose length is the process's.
  const char *message = status ? hsc_status_message(status) : "";
  const char *after = strstr(message, path);
  fuzz_said(hsc_view_of(after ? after + strlen(path) : message));
  fuzz_said_number("line", status ? hsc_status_line(status) : 0);
  hsc_status_free(status);
  json_decref(document);
  hsc_samples_destroy(set);
  unlink(path);
  return 0;
}
