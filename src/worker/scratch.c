// scratch.c - temporary directories, and those that killed processes left behind.
//
// A process holds each of its directories by a shared lock on it (flock(2)), which the kernel lets
// go of however the process ends. Whom an exclusive lock is granted knows that nobody is left.
#include "base/process/memory_room.h"
#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "worker/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NAME "hloscope-scratch-"
#define IN_MEMORY "/dev/shm"
#define SPARE_BYTES (2ll << 30)
// Between the making of a directory and its lock; far more than that takes.
#define UNHELD_SECONDS 60

// ---- held while the process lives ---------------------------------------------------------------

typedef struct holding {
  struct holding *next;
  int fd;
  char path[];
} holding;

static pthread_mutex_t holdings_lock = PTHREAD_MUTEX_INITIALIZER;
static holding *holdings;

static hsc_status *hold(const char *path) {
  size_t size = strlen(path) + 1;
  holding *fresh = hsc_alloc(sizeof *fresh + size);
  if (!fresh)
    return hsc_status_out_of_memory();
  fresh->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fresh->fd < 0) {
    hsc_status *status = hsc_status_errno(errno, "cannot open", path);
    hsc_free(fresh);
    return status;
  }
  // Where a file system has no locks, those who look for leftovers are granted none either.
  (void)flock(fresh->fd, LOCK_SH | LOCK_NB);
  memcpy(fresh->path, path, size);
  pthread_mutex_lock(&holdings_lock);
  fresh->next = holdings;
  holdings = fresh;
  pthread_mutex_unlock(&holdings_lock);
  return NULL;
}

static void let_go(const char *path) {
  pthread_mutex_lock(&holdings_lock);
  holding **at = &holdings;
  while (*at && strcmp((*at)->path, path) != 0)
    at = &(*at)->next;
  holding *found = *at;
  if (found)
    *at = found->next;
  pthread_mutex_unlock(&holdings_lock);
  if (!found)
    return;
  close(found->fd);
  hsc_free(found);
}

// ---- one directory ------------------------------------------------------------------------------

static const char *base_of_user(void) {
  const char *where = getenv("TMPDIR");
  return where && *where ? where : "/tmp";
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
  let_go(path);
  hsc_free(path);
}

// ---- leftovers ----------------------------------------------------------------------------------

// What has the name and the mode of such a directory, is this user's, was not made just now and is
// held by nobody.
static bool is_left_behind(int directory) {
  struct stat file;
  return fstat(directory, &file) == 0 && S_ISDIR(file.st_mode) && file.st_uid == geteuid() &&
         (file.st_mode & 07777) == 0700 && file.st_mtime < time(NULL) - UNHELD_SECONDS &&
         flock(directory, LOCK_EX | LOCK_NB) == 0;
}

static void sweep(const char *base) {
  DIR *dir = opendir(base);
  if (!dir)
    return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (strlen(entry->d_name) != strlen(NAME) + 6 || strncmp(entry->d_name, NAME, strlen(NAME)))
      continue;
    int found = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (found < 0)
      continue;
    if (is_left_behind(found)) {
      empty_at(dirfd(dir), entry->d_name, 0);
      unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    close(found);
  }
  closedir(dir);
}

// ---- making them --------------------------------------------------------------------------------

// `is_swept`: whether this process looked at the base for leftovers before.
static hsc_status *create_below(const char *base, atomic_flag *is_swept, char **out_path) {
  hsc_bytes path = {0};
  if (!atomic_flag_test_and_set(is_swept))
    sweep(base);
  hsc_bytes_printf(&path, "%s/" NAME "XXXXXX", base);
  HSC_TRY(hsc_bytes_status(&path));
  if (!mkdtemp(path.data)) {
    hsc_status *status = hsc_status_errno(errno, "no scratch directory", path.data);
    hsc_bytes_deinit(&path);
    return hsc_status_hint(status, "name a directory that can be written to in TMPDIR");
  }
  hsc_status *status = hold(path.data);
  if (status) {
    rmdir(path.data);
    hsc_bytes_deinit(&path);
    return status;
  }
  *out_path = hsc_bytes_take(&path);
  return NULL;
}

hsc_status *hsc_scratch_create(char **out_path) {
  static atomic_flag is_swept = ATOMIC_FLAG_INIT;
  return create_below(base_of_user(), &is_swept, out_path);
}

// Room for files that is no more than half of the memory that is left.
static bool memory_has_room(void) {
  struct statfs at;
  if (statfs(IN_MEMORY, &at) || at.f_type != TMPFS_MAGIC || access(IN_MEMORY, W_OK | X_OK))
    return false;
  return (int64_t)at.f_bavail * at.f_bsize >= SPARE_BYTES &&
         hsc_memory_available_bytes() >= (size_t)(2 * SPARE_BYTES);
}

hsc_status *hsc_scratch_create_for_dumps(char **out_path) {
  static atomic_flag is_swept = ATOMIC_FLAG_INIT;
  const char *asked = getenv("TMPDIR");
  if ((asked && *asked) || !memory_has_room())
    return hsc_scratch_create(out_path);
  return create_below(IN_MEMORY, &is_swept, out_path);
}
