// scratch.c - temporary directories.
#include "lab/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

hsc_status *hsc_scratch_create(char **out_path) {
  const char *where = getenv("TMPDIR");
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/hloscope-XXXXXX", where && *where ? where : "/tmp");
  HSC_TRY(hsc_bytes_status(&path));
  if (!mkdtemp(path.data)) {
    hsc_status *status = hsc_status_errno(errno, "no scratch directory", path.data);
    hsc_bytes_deinit(&path);
    return hsc_status_hint(status, "name a directory that can be written to in TMPDIR");
  }
  *out_path = hsc_bytes_take(&path);
  return NULL;
}

// Depth first, without following links.
static void empty_at(int parent, const char *name, int depth) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  DIR *dir = fdopendir(fd);
  if (!dir) {
    close(fd);
    return;
  }
  for (struct dirent *entry; (entry = readdir(dir));) {
    struct stat file;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (fstatat(dirfd(dir), entry->d_name, &file, AT_SYMLINK_NOFOLLOW)) continue;
    bool is_dir = S_ISDIR(file.st_mode);
    if (is_dir && depth < 16) empty_at(dirfd(dir), entry->d_name, depth + 1);
    unlinkat(dirfd(dir), entry->d_name, is_dir ? AT_REMOVEDIR : 0);
  }
  closedir(dir);
}

void hsc_scratch_empty(const char *path) { empty_at(AT_FDCWD, path, 0); }

void hsc_scratch_destroy(char *path) {
  if (!path) return;
  hsc_scratch_empty(path);
  rmdir(path);
  hsc_free(path);
}
