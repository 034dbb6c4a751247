// doctor.c - the table of checks and what they share.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "doctor/doctor_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { QUICK = 1, FULL = 0 };

static const struct check_row {
  hsc_check check;
  void (*run)(hsc__check_context *cx);
} rows[] = {
#define CHECK(id, function, group, when, limit_ms, doc) \
  {{id, group, doc, when, INT64_C(limit_ms) * 1000000}, hsc__check_##function},
#include "doctor/checks.def"
#undef CHECK
};

static const char *const verdict_names[] = {"not_applicable", "ok", "warning", "error"};
const char *hsc_verdict_name(hsc_verdict verdict) {
  return (unsigned)verdict < HSC_COUNT_OF(verdict_names) ? verdict_names[verdict] : "";
}
size_t hsc_check_count(void) {
  return HSC_COUNT_OF(rows);
}
const hsc_check *hsc_check_at(size_t index) {
  return &rows[index].check;
}

void hsc_check_result_deinit(hsc_check_result *result) {
  hsc_free(result->evidence);
  hsc_free(result->fix);
  *result = (hsc_check_result){0};
}

extern char **environ;

hsc_status *hsc_check_run(size_t index,
                          const hsc_check_options *options,
                          hsc_check_result *out_result) {
  *out_result = (hsc_check_result){0};
  hsc__check_context cx = {.options = *options};
  HSC_TRY(hsc_arena_create(&cx.arena));
  if (!cx.options.root)
    cx.options.root = "";
  if (*cx.options.root) {
    hsc_bytes text = {0};
    hsc_status *status = hsc_file_read(hsc__path(&cx, "/proc/self/environ"), &text);
    hsc_status_free(status);  // a root without the file has an empty environment
    cx.environment = hsc_arena_strndup(cx.arena, hsc_bytes_text(&text), text.size);
    cx.environment_size = text.size;
    for (size_t i = 0; cx.environment && i < text.size; i++)
      if (cx.environment[i] == '\n')
        ((char *)(uintptr_t)cx.environment)[i] = 0;
    hsc_bytes_deinit(&text);
  }
  rows[index].run(&cx);
  if (!cx.evidence.size)
    hsc_bytes_append_text(&cx.evidence, "nothing of the kind here");
  hsc_status *status = hsc_arena_status(cx.arena);
  if (!status)
    status = hsc_bytes_status(&cx.evidence);
  if (!status)
    status = hsc_bytes_status(&cx.fix);
  if (!status) {
    *out_result = (hsc_check_result){cx.verdict, hsc_strdup(hsc_bytes_text(&cx.evidence)),
                                     hsc_strdup(hsc_bytes_text(&cx.fix))};
    if (!out_result->evidence || !out_result->fix)
      status = hsc_status_out_of_memory();
  }
  hsc_bytes_deinit(&cx.evidence);
  hsc_bytes_deinit(&cx.fix);
  hsc_arena_destroy(cx.arena);
  return status;
}
