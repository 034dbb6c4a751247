// control.c - the word `paused` of the rings that a process has mapped.
#include "trace/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/ring_format.h"

static bool is_ring(int file) {
  uint64_t magic = 0;
  return pread(file, &magic, sizeof magic, offsetof(hsc_ring_header, magic)) == sizeof magic && magic == HSC_RING_MAGIC;
}

static hsc_status *set_ring(const char *path, bool paused, int *count) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return hsc_status_errno(errno, "cannot open the ring", path);
  uint32_t word = paused;
  hsc_status *status = NULL;
  if (is_ring(file)) {
    if (pwrite(file, &word, sizeof word, offsetof(hsc_ring_header, paused)) == sizeof word) (*count)++;
    else status = hsc_status_errno(errno, "cannot write", path);
  }
  close(file);
  return status;
}

hsc_status *hsc_trace_set_paused(int64_t pid, bool paused, int *out_rings) {
  char path[64];
  *out_rings = 0;
  snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
  FILE *maps = fopen(path, "re");
  if (!maps) return errno == EACCES ? HSC_ERR(PERMISSION_DENIED, "process %lld belongs to somebody else", (long long)pid) : HSC_ERR(NOT_FOUND, "there is no process %lld", (long long)pid);
  char *line = NULL;
  size_t room = 0;
  hsc_status *status = NULL;
  while (!status && getline(&line, &room, maps) > 0) {
    line[strcspn(line, "\n")] = 0;
    const char *file = strchr(line, '/');
    if (file && hsc_ends_with(file, ".ring")) status = set_ring(file, paused, out_rings);
  }
  free(line);
  fclose(maps);
  if (!status && !*out_rings) status = HSC_ERR(NOT_FOUND, "process %lld records nothing", (long long)pid);
  return status;
}
