// file_io.c - whole files in and out, and directories. Everything else reads and writes through
// here, so messages about files look the same everywhere.
#include "base/core/spill.h"
#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"
#include "base/files/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

hsc_status *hsc_status_errno(int error, const char *what, const char *path) {
  hsc_code code = HSC_UNKNOWN;
  switch (error) {
    case ENOMEM:
      return hsc_status_out_of_memory();
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
    case ENODEV:
      code = HSC_NOT_FOUND;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = HSC_PERMISSION_DENIED;
      break;
    case EEXIST:
      code = HSC_ALREADY_EXISTS;
      break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
    case EAGAIN:
      code = HSC_RESOURCE_EXHAUSTED;
      break;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
      code = HSC_INVALID_ARGUMENT;
      break;
    case EPIPE:
      code = HSC_UNAVAILABLE;
      break;
    default:
      break;
  }
  return hsc_status_make(code, __FILE__, __LINE__, "%s: %s: %s", path, what, strerror(error));
}

static hsc_status *read_all(int fd, const char *path, size_t expected_bytes, hsc_bytes *out) {
  for (;;) {
    size_t want = expected_bytes + 1 > 65536 ? expected_bytes + 1 : 65536;
    char *room = hsc_bytes_extend(out, want);
    if (!room)
      return hsc_bytes_status(out);
    ssize_t got;
    do
      got = read(fd, room, want);
    while (got < 0 && errno == EINTR);
    int error = errno;
    out->size -= want - (got > 0 ? (size_t)got : 0);
    out->data[out->size] = 0;
    if (got < 0)
      return hsc_status_errno(error, "cannot read", path);
    if (got == 0)
      return NULL;
    // at its end: double, the size was unknown
    expected_bytes = expected_bytes > (size_t)got ? expected_bytes - (size_t)got : out->size;
  }
}

static bool is_null_device(const struct stat *info) {
  struct stat null;
  return stat("/dev/null", &null) == 0 && info->st_rdev == null.st_rdev;
}

// What this is, in words, if it has no end to be read to; else NULL. Pipes and terminals end when
// somebody says so; other devices never do, and fill memory and disk.
static const char *no_end(int fd, const struct stat *info) {
  if (S_ISDIR(info->st_mode))
    return "a directory";
  if (S_ISBLK(info->st_mode) || (S_ISCHR(info->st_mode) && !is_null_device(info) && !isatty(fd)))
    return "a device";
  return NULL;
}

hsc_status *hsc_file_read(const char *path, hsc_bytes *out_bytes) {
  if (strcmp(path, "-") == 0)
    return read_all(STDIN_FILENO, "standard input", 0, out_bytes);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return hsc_status_errno(errno, "cannot open", path);
  struct stat info;
  hsc_status *status = NULL;
  const char *what = NULL;
  if (fstat(fd, &info) < 0)
    status = hsc_status_errno(errno, "cannot read", path);
  else if ((what = no_end(fd, &info)))
    status = HSC_ERR(INVALID_ARGUMENT, "%s: is %s, a file is needed", path, what);
  else
    status = read_all(fd, path, info.st_size > 0 ? (size_t)info.st_size : 0, out_bytes);
  close(fd);
  return status;
}

hsc_status *hsc_file_open(const char *path, int *out_fd, size_t *out_size) {
  // O_NONBLOCK: a pipe would be waited for until somebody writes into it
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  *out_fd = -1;
  if (fd < 0 && errno == ENXIO)
    return HSC_ERR(INVALID_ARGUMENT, "%s: is a socket, a file is needed", path);
  if (fd < 0)
    return hsc_status_errno(errno, "cannot open", path);
  struct stat info;
  hsc_status *status = NULL;
  if (fstat(fd, &info) < 0) {
    status = hsc_status_errno(errno, "cannot read", path);
  } else if (!S_ISREG(info.st_mode)) {
    const char *what = S_ISFIFO(info.st_mode) ? "a pipe" : no_end(fd, &info);
    status =
        HSC_ERR(INVALID_ARGUMENT, "%s: is %s, a file is needed", path, what ? what : "no file");
  }
  if (status) {
    close(fd);
    return status;
  }
  *out_fd = fd;
  *out_size = (size_t)info.st_size;
  return NULL;
}

hsc_status *hsc_file_read_regular(const char *path, hsc_bytes *out_bytes) {
  int fd = -1;
  size_t size = 0;
  HSC_TRY(hsc_file_open(path, &fd, &size));
  hsc_status *status = read_all(fd, path, size, out_bytes);
  close(fd);
  return status;
}

// Both with their links resolved, so that a link is judged by where it leads. A name of which
// nothing is there leads nowhere: opening it says so.
static bool leads_out(const char *folder, const char *path) {
  char *root = realpath(folder, NULL);
  char *real = realpath(path, NULL);
  size_t length = root ? strlen(root) : 0;
  bool inside =
      !root || !real || !strcmp(root, "/") || (!strncmp(root, real, length) && real[length] == '/');
  free(root);  // the C library's
  free(real);
  return !inside;
}

hsc_status *hsc_file_check_in(const char *folder, const char *name) {
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/%s", folder, name);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status && (name[0] == '/' || leads_out(folder, path.data)))
    status = HSC_ERR(INVALID_ARGUMENT, "%s: leads out of %s", name, folder);
  hsc_bytes_deinit(&path);
  return status;
}

hsc_status *hsc_file_read_in(const char *folder, const char *name, hsc_bytes *out_bytes) {
  hsc_bytes path = {0};
  HSC_TRY(hsc_file_check_in(folder, name));
  hsc_bytes_printf(&path, "%s/%s", folder, name);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_read_regular(path.data, out_bytes);
  hsc_bytes_deinit(&path);
  return status;
}

bool hsc_file_is_regular(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

hsc_status *hsc_file_head(const char *path, char *room, size_t size, size_t *out_size) {
  int fd = -1;
  HSC_TRY(hsc_file_open(path, &fd, out_size));
  ssize_t got = read(fd, room, size);
  int error = errno;
  close(fd);
  if (got < 0)
    return hsc_status_errno(error, "cannot read", path);
  *out_size = (size_t)got;
  return NULL;
}

hsc_status *hsc_file_map(const char *path, hsc_view *out_bytes) {
  *out_bytes = (hsc_view){"", 0};
  int fd = -1;
  size_t size = 0;
  hsc_status *status = NULL;
  HSC_TRY(hsc_file_open(path, &fd, &size));
  if (size > 0) {
    void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
      status = hsc_status_errno(errno, "cannot map", path);
    else
      *out_bytes = (hsc_view){memory, size};
  }
  close(fd);
  if (!status)
    hsc_spill_watch(out_bytes->data, out_bytes->size);
  return status;
}

void hsc_file_unmap(hsc_view bytes) {
  if (!bytes.size)
    return;
  hsc_spill_forget(bytes.data);
  munmap((void *)(uintptr_t)bytes.data, bytes.size);
}

hsc_status *hsc_fd_read(int fd, const char *path, hsc_bytes *out_bytes) {
  struct stat info;
  size_t expected = fstat(fd, &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
  return read_all(fd, path, expected, out_bytes);
}

hsc_status *hsc_fd_write(int fd, const char *path, const void *bytes, size_t size) {
  // one call would have all of a large piece in memory at once; between two, its pages may go
  // (base/core/spill.h)
  static const size_t MOST_AT_ONCE = 8 << 20;
  const char *data = bytes;
  while (size > 0) {
    ssize_t put = write(fd, data, size < MOST_AT_ONCE ? size : MOST_AT_ONCE);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return hsc_status_errno(errno, "cannot write", path);
    data += put;
    size -= (size_t)put;
  }
  return NULL;
}

// Pipes, terminals and devices cannot be replaced; they are written as they are.
static hsc_status *write_in_place(const char *path, const void *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return hsc_status_errno(errno, "cannot write", path);
  hsc_status *status = hsc_fd_write(fd, path, data, size);
  if (close(fd) < 0 && !status)
    status = hsc_status_errno(errno, "cannot write", path);
  return status;
}

static mode_t creation_mode(void) {
  mode_t mask = 022;
  // umask(2) can only be read by changing it for every thread
  FILE *self = fopen("/proc/self/status", "re");
  char line[128];
  unsigned value;
  while (self && fgets(line, sizeof line, self))
    if (sscanf(line, "Umask: %o", &value) == 1)
      mask = (mode_t)value;
  if (self)
    fclose(self);
  return 0666 & ~mask;
}

// ---- files that are not whole yet ---------------------------------------------------------------

enum { MOST_UNFINISHED = 16 };  // of as many threads; what more of them write is not listed

static _Atomic(const char *) unfinished[MOST_UNFINISHED];

static void list_unfinished(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(unfinished); i++) {
    const char *none = NULL;
    if (atomic_compare_exchange_strong(&unfinished[i], &none, name))
      return;
  }
}

static void unlist_unfinished(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(unfinished); i++) {
    const char *listed = name;
    if (atomic_compare_exchange_strong(&unfinished[i], &listed, NULL))
      return;
  }
}

void hsc_file_drop_unfinished(void) {
  for (size_t i = 0; i < HSC_COUNT_OF(unfinished); i++) {
    const char *name = atomic_load(&unfinished[i]);
    if (name)
      unlink(name);
  }
}

// mkostemp(3), and the name is listed before an interrupt can come between.
static int open_temporary(char *name) {
  sigset_t interrupts, before;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  sigaddset(&interrupts, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  int fd = mkostemp(name, O_CLOEXEC);
  int error = errno;
  if (fd >= 0)
    list_unfinished(name);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return fd;
}

hsc_status *hsc_file_write_atomic(const char *path, const void *data, size_t size) {
  hsc_status *status = NULL;
  hsc_bytes temporary = {0};
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return HSC_ERR(INVALID_ARGUMENT, "%s: is a directory, a file is needed", path);
  if (exists && !S_ISREG(info.st_mode))
    return write_in_place(path, data, size);
  // through a symbolic link, so that the link stays
  char *target = exists ? realpath(path, NULL) : NULL;
  const char *final_path = target ? target : path;
  hsc_bytes_printf(&temporary, "%s.XXXXXX", final_path);
  int fd = -1;
  HSC_GOTO(hsc_bytes_status(&temporary));
  fd = open_temporary(temporary.data);
  if (fd < 0) {
    status = hsc_status_errno(errno, "cannot write", path);
    goto done;
  }
  HSC_GOTO(hsc_fd_write(fd, path, data, size));
  if (fchmod(fd, exists ? info.st_mode & 07777 : creation_mode()) < 0 && errno != EPERM) {
    status = hsc_status_errno(errno, "cannot set the mode", path);
    goto done;
  }
  int closed = close(fd);
  fd = -1;
  if (closed < 0 || rename(temporary.data, final_path) < 0) {
    status = hsc_status_errno(errno, "cannot write", path);
    unlink(temporary.data);
  }
done:
  if (fd >= 0) {
    close(fd);
    unlink(temporary.data);
  }
  if (temporary.data)
    unlist_unfinished(temporary.data);
  hsc_bytes_deinit(&temporary);
  free(target);
  return status;
}

hsc_status *hsc_dir_make(const char *path) {
  char *copy = hsc_strdup(path);
  if (!copy)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  for (char *at = copy + 1; *copy && !status; at++) {
    if (*at != '/' && *at != 0)
      continue;
    char saved = *at;
    *at = 0;
    struct stat info;
    // of making it: that it is not there afterwards says nothing
    int error = mkdir(copy, 0777) < 0 ? errno : 0;
    if (error && (stat(copy, &info) < 0 || !S_ISDIR(info.st_mode)))
      status =
          hsc_status_errno(error == EEXIST ? ENOTDIR : error, "cannot make the directory", path);
    *at = saved;
    if (saved == 0)
      break;
  }
  hsc_free(copy);
  return status;
}

bool hsc_file_exists(const char *path) {
  return access(path, F_OK) == 0;
}
