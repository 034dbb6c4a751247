// control.c - the word `paused` of the rings that a process has mapped.
#include "base/core/memory.h"
#include "base/text/text.h"
#include "trace/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/ring_format.h"

static bool is_ring(int file) {
  uint64_t magic = 0;
  return pread(file, &magic, sizeof magic, offsetof(hsc_ring_header, magic)) == sizeof magic &&
         magic == HSC_RING_MAGIC;
}

static hsc_status *set_ring(const char *path, bool paused, int *count) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return hsc_status_errno(errno, "cannot open the ring", path);
  uint32_t word = paused;
  hsc_status *status = NULL;
  if (is_ring(file)) {
    if (pwrite(file, &word, sizeof word, offsetof(hsc_ring_header, paused)) == sizeof word)
      (*count)++;
    else
      status = hsc_status_errno(errno, "cannot write", path);
  }
  close(file);
  return status;
}

// Calls `visit` for each ring file that the process has mapped.
static hsc_status *visit_rings(int64_t pid,
                               hsc_status *(*visit)(const char *path, void *user),
                               void *user) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
  FILE *maps = fopen(path, "re");
  if (!maps)
    return errno == EACCES
               ? HSC_ERR(PERMISSION_DENIED, "process %lld belongs to somebody else", (long long)pid)
               : HSC_ERR(NOT_FOUND, "there is no process %lld", (long long)pid);
  char *line = NULL;
  size_t room = 0;
  hsc_status *status = NULL;
  while (!status && getline(&line, &room, maps) > 0) {
    line[strcspn(line, "\n")] = 0;
    const char *file = strchr(line, '/');
    if (file && hsc_ends_with(file, ".ring"))
      status = visit(file, user);
  }
  free(line);
  fclose(maps);
  return status;
}

static hsc_status *records_nothing(int64_t pid) {
  return HSC_ERR(NOT_FOUND, "process %lld records nothing", (long long)pid);
}

typedef struct setting {
  bool paused;
  int rings;
} setting;

static hsc_status *set_visited(const char *path, void *user) {
  setting *s = user;
  return set_ring(path, s->paused, &s->rings);
}

hsc_status *hsc_trace_set_paused(int64_t pid, bool paused, int *out_rings) {
  setting s = {.paused = paused};
  hsc_status *status = visit_rings(pid, set_visited, &s);
  *out_rings = s.rings;
  return status || s.rings ? status : records_nothing(pid);
}

static hsc_status *keep_directory(const char *path, void *user) {
  char **out = user;
  if (*out)
    return NULL;
  *out = hsc_strdup(path);
  if (!*out)
    return hsc_status_out_of_memory();
  *strrchr(*out, '/') = 0;
  return NULL;
}

hsc_status *hsc_trace_find_capture(int64_t pid, char **out_path) {
  *out_path = NULL;
  hsc_status *status = visit_rings(pid, keep_directory, out_path);
  return status || *out_path ? status : records_nothing(pid);
}
