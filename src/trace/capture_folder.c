// capture_folder.c - an earlier capture makes room for the next one, and rings of different runs
// are distinguished.
#include "trace/capture_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/text/text.h"

typedef struct folder {
  bool has_capture;
  char other[256];   // a name that no capture has; "" = none
  int64_t recorder;  // a living process that records there; 0 = none
} folder;

// The process whose ring this is, where it lives and has not ended its recording; else 0. A ring of
// another machine is taken to be over: nothing can be asked about it here.
static int64_t living_writer(int directory, const char *name) {
  hsc_ring_header header;
  int file = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return 0;
  bool whole = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header;
  close(file);
  char host[sizeof header.host] = "";
  // our own is ours to end: a process makes one profile after the other
  if (!whole || header.magic != HSC_RING_MAGIC || header.closed || header.pid <= 0 ||
      header.pid == getpid() || gethostname(host, sizeof host - 1) ||
      strncmp(host, header.host, sizeof host))
    return 0;
  return kill((pid_t)header.pid, 0) == 0 || errno == EPERM ? header.pid : 0;
}

static hsc_status *look(const char *path, folder *out) {
  *out = (folder){0};
  DIR *directory = opendir(path);
  if (!directory)
    return errno == ENOENT ? NULL : hsc_status_errno(errno, "cannot be read", path);
  for (struct dirent *entry; (entry = readdir(directory));) {
    const char *name = entry->d_name;
    if (!strcmp(name, ".") || !strcmp(name, ".."))
      continue;
    bool is_ring = hsc_ends_with(name, ".ring");
    if (is_ring && !out->recorder)
      out->recorder = living_writer(dirfd(directory), name);
    if (is_ring || !strcmp(name, "profiles") || !strcmp(name, "programs"))
      out->has_capture = true;
    else
      snprintf(out->other, sizeof out->other, "%s", name);
  }
  closedir(directory);
  return NULL;
}

// "run.hsc" with number 2 is "run.2.hsc".
static void numbered_name(const char *path, int number, hsc_bytes *out) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  static const char extension[] = ".hsc";
  const size_t size = sizeof extension - 1;
  bool has = length > size && !memcmp(path + length - size, extension, size);
  if (has)
    length -= size;
  hsc_bytes_reset(out);
  hsc_bytes_printf(out, "%.*s.%d%s", (int)length, path, number, has ? extension : "");
}

hsc_status *hsc_capture_set_aside(const char *path, char **out_kept) {
  enum { MOST_KEPT = 100000 };
  folder found;
  *out_kept = NULL;
  HSC_TRY(look(path, &found));
  if (!found.has_capture)
    return NULL;
  if (found.recorder)
    return hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION, "process %lld is recording into %s: a capture is of one run",
                (long long)found.recorder, path),
        "name another capture, or wait for that process to end");
  if (*found.other)
    return hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION, "%s holds an earlier capture and other files (%s)", path,
                found.other),
        "name a capture of its own, for instance %s/run.hsc", path);
  hsc_bytes name = {0};
  for (int number = 1; number < MOST_KEPT; number++) {
    numbered_name(path, number, &name);
    HSC_TRY(hsc_bytes_status(&name));
    if (hsc_file_exists(name.data))
      continue;
    if (rename(path, name.data)) {
      hsc_status *status =
          hsc_status_errno(errno, "an earlier capture is there and cannot be renamed", path);
      hsc_bytes_deinit(&name);
      return status;
    }
    *out_kept = hsc_bytes_take(&name);
    return NULL;
  }
  hsc_bytes_deinit(&name);
  return HSC_ERR(RESOURCE_EXHAUSTED, "%s: %d earlier captures lie beside it", path, MOST_KEPT);
}

// ---- one folder, several runs -------------------------------------------------------------------

static bool same_run(const hsc_ring_life *a, const hsc_ring_life *b) {
  if (a->run_low == b->run_low && a->run_high == b->run_high)
    return true;
  // The end of a ring that is open still, or was killed, is not known.
  if (a->pid == b->pid && (a->begin_ns <= b->end_ns || b->open) &&
      (b->begin_ns <= a->end_ns || a->open))
    return true;
  // A child may begin long after what a killed parent had committed last.
  if ((a->pid == b->parent_pid && a->begin_ns <= b->begin_ns) ||
      (b->pid == a->parent_pid && b->begin_ns <= a->begin_ns))
    return true;
  return a->begin_ns <= b->end_ns && b->begin_ns <= a->end_ns;
}

int hsc__capture_last_run(const hsc_ring_life *rings, int count, bool *is_last) {
  int last = 0;
  for (int i = 1; i < count; i++)
    if (rings[i].begin_ns > rings[last].begin_ns)
      last = i;
  int runs = 0;
  bool *known = hsc_alloc((size_t)count + 1);
  int *waiting = hsc_alloc(((size_t)count + 1) * sizeof *waiting);
  for (int i = 0; i < count; i++)
    is_last[i] = !known || !waiting;  // without memory all are shown
  for (int first = 0; known && waiting && first < count; first++) {
    if (known[first])
      continue;
    // what is of one run with the first, what is of one run with those, ...
    int waits = 0;
    runs++;
    known[first] = true;
    waiting[waits++] = first;
    bool holds_last = false;
    for (int at = 0; at < waits; at++) {
      holds_last |= waiting[at] == last;
      for (int k = 0; k < count; k++) {
        if (known[k] || !same_run(&rings[waiting[at]], &rings[k]))
          continue;
        known[k] = true;
        waiting[waits++] = k;
      }
    }
    for (int at = 0; holds_last && at < waits; at++)
      is_last[waiting[at]] = true;
  }
  hsc_free(known);
  hsc_free(waiting);
  return runs > 1 ? runs - 1 : 0;
}
