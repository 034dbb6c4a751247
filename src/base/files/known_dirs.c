// known_dirs.c - directories that are hloscope's: of this user, of its cache, and the one that it
// itself lies in.
#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"
#include "base/files/file_io.h"
#include "base/files/private_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

hsc_status *hsc_private_dir(char **out_path) {
  const char *base = getenv("TMPDIR");
  bool usable = base && *base && !strpbrk(base, " :");
  hsc_bytes path = {0};
  struct stat info;
  hsc_bytes_printf(&path, "%s/hloscope-%u", usable ? base : "/tmp", (unsigned)geteuid());
  char *text = hsc_bytes_take(&path);
  if (!text)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  if (mkdir(text, 0700) < 0 && errno != EEXIST)
    status = hsc_status_errno(errno, "cannot make the directory", text);
  else if (lstat(text, &info) < 0)
    status = hsc_status_errno(errno, "cannot be looked at", text);
  // Everybody may write to /tmp: what somebody else made there is not ours.
  else if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022))
    status = HSC_ERR(PERMISSION_DENIED, "%s is not a directory of this user alone", text);
  if (status)
    hsc_free(text);
  else
    *out_path = text;
  return status;
}

hsc_status *hsc_cache_dir(char **out_path) {
  const char *own = getenv("HLOSCOPE_CACHE_DIR");
  const char *xdg = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  hsc_bytes path = {0};
  if (own && *own)
    hsc_bytes_append_text(&path, own);
  else if (xdg && *xdg)
    hsc_bytes_printf(&path, "%s/hloscope", xdg);
  else if (home && *home)
    hsc_bytes_printf(&path, "%s/.cache/hloscope", home);
  else
    return hsc_status_hint(hsc_private_dir(out_path), "set HLOSCOPE_CACHE_DIR");
  char *text = hsc_bytes_take(&path);
  if (!text)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_private_dir_make(text);
  if (!status && access(text, W_OK) < 0)
    status = hsc_status_errno(errno, "cannot be written to", text);
  if (!status) {
    *out_path = text;
    return NULL;
  }
  hsc_free(text);
  // A directory that was asked for by name is the one or none; a home that is not there (a
  // daemon's, a container's) is nobody's wish.
  bool asked_for = (own && *own) || (xdg && *xdg);
  hsc_status *instead = asked_for ? NULL : hsc_private_dir(out_path);
  if (!asked_for && !instead) {
    hsc_status_free(status);
    return NULL;
  }
  hsc_status_free(instead);
  if (hsc_status_hint_text(status))
    return status;
  return hsc_status_hint(status, "set HLOSCOPE_CACHE_DIR to a directory that can be written");
}

hsc_status *hsc_self_dir(const void *address, char **out_path) {
  Dl_info info;
  struct link_map *map = NULL;
  if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
    return HSC_ERR(NOT_FOUND, "no loaded object holds the address %p", address);
  // The main program's own name in the map is empty, and its argv[0] may be relative or looked up
  // in PATH.
  char *path = realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", NULL);
  if (!path)
    return hsc_status_errno(errno, "cannot be resolved",
                            map->l_name[0] ? map->l_name : "/proc/self/exe");
  char *slash = strrchr(path, '/');
  if (slash)
    slash[slash == path ? 1 : 0] = 0;
  *out_path = hsc_strdup(path);
  free(path);
  return *out_path ? NULL : hsc_status_out_of_memory();
}
