// worker_request.c - reads the fields of a job.
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/child.h"
#include "base/text/text.h"
#include "worker/worker_internal.h"

// The note that hsc_child shares with its parent; NULL when there is none (a worker started by
// hand).
static char *parent_note(void) {
  static char *note;
  static bool looked;
  struct stat info;
  if (looked)
    return note;
  looked = true;
  char name[64] = "";
  if (readlink("/proc/self/fd/" HSC_STRINGIFY(HSC_CHILD_NOTE_FD), name, sizeof name - 1) < 0 ||
      !strstr(name, HSC_CHILD_NOTE_NAME))
    return NULL;
  if (fstat(HSC_CHILD_NOTE_FD, &info) != 0 || info.st_size < HSC_CHILD_NOTE_BYTES)
    return NULL;
  void *at =
      mmap(NULL, HSC_CHILD_NOTE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, HSC_CHILD_NOTE_FD, 0);
  if (at != MAP_FAILED)
    note = at;
  return note;
}

void hsc__worker_at(hsc_worker *worker, const char *step) {
  char *note = parent_note();
  worker->step = step;
  if (note)
    snprintf(note, HSC_CHILD_NOTE_BYTES, "%s", step ? step : "");
}

hsc_status *hsc__request_text(json_t *request, const char *name, bool required, const char **out) {
  json_t *value = json_object_get(request, name);
  if (!value || json_is_null(value))
    return required ? HSC_ERR(INVALID_ARGUMENT, "the job has no \"%s\"", name) : NULL;
  if (!json_is_string(value))
    return HSC_ERR(INVALID_ARGUMENT, "\"%s\" is not a string", name);
  *out = json_string_value(value);
  return NULL;
}

hsc_status *hsc__request_int(
    json_t *request, const char *name, int64_t least, int64_t most, int64_t *out) {
  json_t *value = json_object_get(request, name);
  if (!value || json_is_null(value))
    return NULL;
  if (!json_is_integer(value) || json_integer_value(value) < least ||
      json_integer_value(value) > most)
    return HSC_ERR(INVALID_ARGUMENT, "\"%s\" is not a whole number from %lld to %lld", name,
                   (long long)least, (long long)most);
  *out = json_integer_value(value);
  return NULL;
}

hsc_status *hsc__request_bool(json_t *request, const char *name, bool *out) {
  json_t *value = json_object_get(request, name);
  if (!value || json_is_null(value))
    return NULL;
  if (!json_is_boolean(value))
    return HSC_ERR(INVALID_ARGUMENT, "\"%s\" is neither true nor false", name);
  *out = json_boolean_value(value);
  return NULL;
}
