// scratch.c - temporary directories.
#include "base/process/memory_room.h"
#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "worker/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NAME "hloscope-"
#define IN_MEMORY "/dev/shm"
#define SPARE_BYTES (2ll << 30)
#define LEFT_BEHIND_SECONDS 86400

const char *hsc_scratch_base(void) {
  const char *where = getenv("TMPDIR");
  return where && *where ? where : "/tmp";
}

static hsc_status *create_below(const char *base, char **out_path) {
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/" NAME "XXXXXX", base);
  HSC_TRY(hsc_bytes_status(&path));
  if (!mkdtemp(path.data)) {
    hsc_status *status = hsc_status_errno(errno, "no scratch directory", path.data);
    hsc_bytes_deinit(&path);
    return hsc_status_hint(status, "name a directory that can be written to in TMPDIR");
  }
  *out_path = hsc_bytes_take(&path);
  return NULL;
}

hsc_status *hsc_scratch_create(char **out_path) {
  return create_below(hsc_scratch_base(), out_path);
}

// Depth first, without following links.
static void empty_at(int parent, const char *name, int depth) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return;
  DIR *dir = fdopendir(fd);
  if (!dir) {
    close(fd);
    return;
  }
  for (struct dirent *entry; (entry = readdir(dir));) {
    struct stat file;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
      continue;
    if (fstatat(dirfd(dir), entry->d_name, &file, AT_SYMLINK_NOFOLLOW))
      continue;
    bool is_dir = S_ISDIR(file.st_mode);
    if (is_dir && depth < 16)
      empty_at(dirfd(dir), entry->d_name, depth + 1);
    unlinkat(dirfd(dir), entry->d_name, is_dir ? AT_REMOVEDIR : 0);
  }
  closedir(dir);
}

void hsc_scratch_empty(const char *path) {
  empty_at(AT_FDCWD, path, 0);
}

void hsc_scratch_destroy(char *path) {
  if (!path)
    return;
  hsc_scratch_empty(path);
  rmdir(path);
  hsc_free(path);
}

// Room for files that is no more than half of the memory that is left.
static bool memory_has_room(void) {
  struct statfs at;
  if (statfs(IN_MEMORY, &at) || at.f_type != TMPFS_MAGIC || access(IN_MEMORY, W_OK | X_OK))
    return false;
  return (int64_t)at.f_bavail * at.f_bsize >= SPARE_BYTES &&
         hsc_memory_available_bytes() >= (size_t)(2 * SPARE_BYTES);
}

static void sweep_memory(void) {
  DIR *dir = opendir(IN_MEMORY);
  if (!dir)
    return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    struct stat file;
    if (strncmp(entry->d_name, NAME, strlen(NAME)) ||
        fstatat(dirfd(dir), entry->d_name, &file, AT_SYMLINK_NOFOLLOW))
      continue;
    if (!S_ISDIR(file.st_mode) || file.st_uid != getuid() ||
        file.st_mtime > time(NULL) - LEFT_BEHIND_SECONDS)
      continue;
    empty_at(dirfd(dir), entry->d_name, 0);
    unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
  }
  closedir(dir);
}

hsc_status *hsc_scratch_create_for_dumps(char **out_path) {
  const char *asked = getenv("TMPDIR");
  if ((asked && *asked) || !memory_has_room())
    return hsc_scratch_create(out_path);
  sweep_memory();
  return create_below(IN_MEMORY, out_path);
}
