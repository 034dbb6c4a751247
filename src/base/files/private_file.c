// private_file.c - see private_file.h.
#include "base/files/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/memory.h"
#include "base/files/file_io.h"

static bool trusts_group(void) {
  const char *trust = getenv("HLOSCOPE_CACHE_TRUST");
  return trust && !strcmp(trust, "group");
}

static mode_t directory_mode(void) {
  return trusts_group() ? 02770 : 0700;
}

static mode_t file_mode(void) {
  return trusts_group() ? 0660 : 0600;
}

const char *hsc_private_problem(const struct stat *info) {
  bool group = trusts_group();
  if (info->st_mode & S_IWOTH)
    return "may be written by everybody";
  if (!group && info->st_mode & S_IWGRP)
    return "may be written by its group";
  if (!group && info->st_uid != geteuid() && info->st_uid != 0)
    return "belongs to another user";
  return NULL;
}

static hsc_status *distrust(const char *path, const char *problem) {
  return hsc_status_hint(HSC_ERR(PERMISSION_DENIED, "%s: %s: it is not used", path, problem),
                         "chmod go-w makes it yours alone; HLOSCOPE_CACHE_TRUST=group shares it "
                         "with the group on purpose");
}

// One level; one that is made gets its mode by name, whatever the umask took away.
static hsc_status *make_one(const char *part, const char *path) {
  struct stat info;
  if (stat(part, &info) == 0)
    return S_ISDIR(info.st_mode) ? NULL
                                 : hsc_status_errno(ENOTDIR, "cannot make the directory", path);
  if (mkdir(part, 0700) < 0)
    return errno == EEXIST ? NULL : hsc_status_errno(errno, "cannot make the directory", path);
  if (directory_mode() != 0700 && chmod(part, directory_mode()) < 0)
    return hsc_status_errno(errno, "cannot set the mode", path);
  return NULL;
}

hsc_status *hsc_private_dir_make(const char *path) {
  char *copy = hsc_strdup(path);
  struct stat info;
  hsc_status *status = NULL;
  if (!copy)
    return hsc_status_out_of_memory();
  for (char *at = copy + 1; *copy && !status; at++) {
    if (*at != '/' && *at != 0)
      continue;
    char saved = *at;
    *at = 0;
    status = make_one(copy, path);
    *at = saved;
    if (saved == 0)
      break;
  }
  hsc_free(copy);
  if (status)
    return status;
  if (stat(path, &info) < 0)
    return hsc_status_errno(errno, "cannot look into", path);
  const char *problem = hsc_private_problem(&info);
  return problem ? distrust(path, problem) : NULL;
}

// Checks what was opened, not what the name means later.
static hsc_status *check_open(int fd, const char *path) {
  struct stat info;
  if (fstat(fd, &info) < 0)
    return hsc_status_errno(errno, "cannot look into", path);
  if (!S_ISREG(info.st_mode))
    return HSC_ERR(DATA_LOSS, "%s: not a file", path);
  const char *problem = hsc_private_problem(&info);
  return problem ? distrust(path, problem) : NULL;
}

static hsc_status *open_error(int error, const char *path) {
  if (error == ELOOP || error == ENXIO)
    return HSC_ERR(DATA_LOSS, "%s: not a file", path);
  return hsc_status_errno(error, "cannot open", path);
}

hsc_status *hsc_private_file_read(const char *path, hsc_bytes *out_bytes) {
  // O_NONBLOCK: a pipe in its place would be waited for
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0)
    return open_error(errno, path);
  hsc_status *status = check_open(fd, path);
  if (!status)
    status = hsc_fd_read(fd, path, out_bytes);
  close(fd);
  return status;
}

hsc_status *hsc_private_file_open(const char *path, int *out_fd) {
  *out_fd = -1;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, file_mode());
  if (fd < 0)
    return open_error(errno, path);
  hsc_status *status = check_open(fd, path);
  if (status)
    close(fd);
  else
    *out_fd = fd;
  return status;
}

hsc_status *hsc_private_file_write(const char *path, const void *data, size_t size) {
  hsc_bytes temporary = {0};
  hsc_status *status = NULL;
  hsc_bytes_printf(&temporary, "%s.XXXXXX", path);
  HSC_TRY(hsc_bytes_status(&temporary));
  int fd = mkostemp(temporary.data, O_CLOEXEC);
  if (fd < 0) {
    status = hsc_status_errno(errno, "cannot write", path);
    hsc_bytes_deinit(&temporary);
    return status;
  }
  status = hsc_fd_write(fd, path, data, size);
  if (!status && file_mode() != 0600 && fchmod(fd, file_mode()) < 0)
    status = hsc_status_errno(errno, "cannot set the mode", path);
  if (close(fd) < 0 && !status)
    status = hsc_status_errno(errno, "cannot write", path);
  if (!status && rename(temporary.data, path) < 0)
    status = hsc_status_errno(errno, "cannot write", path);
  if (status)
    unlink(temporary.data);
  hsc_bytes_deinit(&temporary);
  return status;
}
