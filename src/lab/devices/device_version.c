// device_version.c - a Python environment a release: which Python, made how, how long it is kept.
//
// Read from the end: hsc_release_environment makes what is missing with make_environment, which
// asks each Python of find_pythons whether the index has a wheel for it.
#include "lab/devices/device_version.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "base/process/child.h"
#include "base/process/python.h"
#include "base/text/text.h"

enum { MOST_PYTHONS = 32, MOST_RELEASES = 512, FRESH_S = 600, LIST_KEPT_S = 86400 };
static const int64_t SECOND_NS = 1000000000;
static const int64_t INSTALL_LIMIT_NS = INT64_C(1200) * 1000000000;

// ---- versions -----------------------------------------------------------------------------------

bool hsc_release_is_one(const char *text) {
  size_t length = strspn(text, "0123456789.abcdefghijklmnopqrstuvwxyz+");
  return isdigit((unsigned char)text[0]) && text[length] == 0 && length < 40;
}

// The next part of a version: a number, or letters, which come before everything but the end is
// between ("0.5.0rc1" < "0.5.0" < "0.5.0.1").
static int64_t next_part(const char **at) {
  while (**at == '.')
    (*at)++;
  if (!**at)
    return 0;
  if (isdigit((unsigned char)**at)) {
    char *end;
    int64_t number = strtoll(*at, &end, 10);
    *at = end;
    return number;
  }
  int64_t letter = (unsigned char)**at - 1000;
  while (isalpha((unsigned char)**at) || **at == '+')
    (*at)++;
  return letter;
}

int hsc_release_compare(const char *a, const char *b) {
  while (*a || *b) {
    int64_t x = next_part(&a);
    int64_t y = next_part(&b);
    if (x != y)
      return x < y ? -1 : 1;
  }
  return 0;
}

static const char *package_of(const hsc_vendor *vendor, hsc_arena *arena) {
  return hsc_arena_strndup(arena, vendor->packages, strcspn(vendor->packages, "=["));
}

const char *hsc_release_package(const char *device, hsc_arena *arena) {
  const hsc_vendor *vendor =
      hsc_vendor_get(hsc_arena_strndup(arena, device, strcspn(device, ":@")));
  return vendor && *vendor->packages ? package_of(vendor, arena) : NULL;
}

const char *hsc_release_device(const char *package, hsc_arena *arena) {
  for (size_t i = 0; i < hsc_device_row_count(); i++) {
    const hsc_vendor *vendor = hsc_vendor_get(hsc_device_row_at(i)->name);
    if (vendor && *vendor->packages && !strcmp(package_of(vendor, arena), package))
      return vendor->device;
  }
  return NULL;
}

// ---- programs -----------------------------------------------------------------------------------

// Runs a program to its end; what it said (both streams, the end of it) in the arena.
static hsc_status *run_program(hsc_arena *arena,
                               const char *const *argv,
                               int64_t limit_ns,
                               const char **out_said,
                               bool *out_ok) {
  static const char *const environment[] = {"PIP_DISABLE_PIP_VERSION_CHECK=1",
                                            "PYTHONPATH=", "PIP_NO_INPUT=1", HSC_PYTHON_ENVIRONMENT,
                                            NULL};
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  *out_ok = false;
  *out_said = "";
  hsc_status *status =
      hsc_child_start(&(hsc_child_options){.argv = argv, .extra_env = environment}, &child);
  if (status)
    return status;
  hsc_child_close_input(child);
  status = hsc_child_wait(child, limit_ns, &end);
  *out_said = hsc_arena_strdup(arena, hsc_child_stderr(child));
  *out_ok = !status && end.exited && end.exit_code == 0 && end.signal == 0;
  if (!status && !end.exited) {
    hsc_child_kill(child);
    status = HSC_ERR(DEADLINE_EXCEEDED, "%s took longer than %lld s", argv[0],
                     (long long)(limit_ns / SECOND_NS));
  }
  hsc_child_destroy(child);
  return status ? status : hsc_arena_status(arena);
}

static bool is_unreachable(const char *said) {
  static const char *const signs[] = {"Failed to establish a new connection",
                                      "Temporary failure in name resolution",
                                      "Connection timed out",
                                      "ConnectTimeoutError",
                                      "Network is unreachable",
                                      "Max retries exceeded",
                                      "ProxyError",
                                      "NewConnectionError"};
  for (size_t i = 0; i < HSC_COUNT_OF(signs); i++)
    if (strstr(said, signs[i]))
      return true;
  return false;
}

static hsc_status *unreachable(const char *package) {
  return hsc_status_hint(HSC_ERR(UNAVAILABLE, "%s: no package index can be reached", package),
                         "pip's own settings hold here: PIP_INDEX_URL, PIP_PROXY, pip.conf");
}

// "ERROR: ..." of what pip said, else its last line.
static const char *pip_words(hsc_arena *arena, const char *said) {
  const char *at = strstr(said, "ERROR: ");
  if (at)
    return hsc_arena_strndup(arena, at, strcspn(at, "\n"));
  size_t end = strlen(said);
  while (end > 0 && said[end - 1] == '\n')
    end--;
  size_t start = end;
  while (start > 0 && said[start - 1] != '\n')
    start--;
  return hsc_arena_strndup(arena, said + start, end - start);
}

// ---- Pythons ------------------------------------------------------------------------------------

// Every CPython from 3.9 on of $HLOSCOPE_PYTHON, PATH, pyenv and uv; the one that is found first
// for each release of Python.
static void find_pythons(hsc_arena *arena, const char **pythons, size_t *out_count) {
  const char *home = getenv("HOME") ? getenv("HOME") : "/root";
  const char *named = getenv("HLOSCOPE_PYTHON");
  const char *patterns[] = {
      named && *named ? named : "",
      hsc_arena_printf(arena, "%s/.pyenv/versions/3.*/bin/python", home),
      hsc_arena_printf(arena, "%s/.local/share/uv/python/cpython-3.*/bin/python3", home),
      "/usr/local/bin/python3.[0-9]*",
      "/usr/bin/python3.[0-9]*",
      "/opt/python*/bin/python3"};
  size_t count = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(patterns); i++) {
    glob_t found = {0};
    if (!*patterns[i] || glob(patterns[i], 0, NULL, &found) != 0)
      continue;
    for (size_t k = found.gl_pathc; k-- > 0 && count < MOST_PYTHONS;) {
      const char *name = strrchr(found.gl_pathv[k], '/');
      if (name && (strstr(name, "config") || access(found.gl_pathv[k], X_OK) != 0))
        continue;
      pythons[count++] = hsc_arena_strdup(arena, found.gl_pathv[k]);
    }
    globfree(&found);
  }
  if (count < MOST_PYTHONS)
    pythons[count++] = "python3";
  *out_count = count;
}

static hsc_status *versions_dir(hsc_arena *arena, const char **out_path) {
  char *cache = NULL;
  HSC_TRY(hsc_cache_dir(&cache));
  *out_path = hsc_arena_printf(arena, "%s/versions", cache);
  hsc_free(cache);
  HSC_TRY(hsc_arena_status(arena));
  return hsc_dir_make(*out_path);
}

// What the index has of a package for one Python: "0.4.30, 0.4.31". Asked once a day. *out_text ""
// when this Python cannot ask; *out_offline when the index cannot be reached.
static hsc_status *ask_index(hsc_arena *arena,
                             const char *python,
                             const char *package,
                             const char **out_text,
                             bool *out_offline) {
  static const char mark[] = "Available versions: ";
  const char *directory = NULL;
  const char *said = "";
  bool ok = false;
  struct stat info;
  hsc_bytes kept = {0};
  char name[40];
  *out_text = "";
  *out_offline = false;
  HSC_TRY(versions_dir(arena, &directory));
  hsc_hash128_hex(hsc_hash128_of(python, strlen(python), 0), name);
  const char *path = hsc_arena_printf(arena, "%s/%s-%.12s.list", directory, package, name);
  HSC_TRY(hsc_arena_status(arena));
  if (stat(path, &info) == 0 && time(NULL) - info.st_mtime < LIST_KEPT_S) {
    HSC_TRY(hsc_file_read(path, &kept));
    *out_text = hsc_arena_strndup(arena, kept.size ? hsc_bytes_text(&kept) : "", kept.size);
    hsc_bytes_deinit(&kept);
    return hsc_arena_status(arena);
  }
  const char *const argv[] = {
      python,          "-c",    HSC_PYTHON_MODULE, "pip", "index", "versions",
      "--only-binary", ":all:", "--retries",       "1",   package, NULL};
  HSC_TRY(run_program(arena, argv, 60 * SECOND_NS, &said, &ok));
  *out_offline = is_unreachable(said);
  const char *at = strstr(said, mark);
  if (ok && at) {
    at += strlen(mark);
    *out_text = hsc_arena_strndup(arena, at, strcspn(at, "\n"));
  }
  if (*out_offline)
    return hsc_arena_status(arena);
  return hsc_file_write_atomic(path, *out_text, strlen(*out_text));
}

static bool lists(const char *text, const char *version) {
  size_t length = strlen(version);
  for (const char *at = text; (at = strstr(at, version)); at += length)
    if ((at == text || at[-1] == ' ' || at[-1] == ',') && (at[length] == ',' || !at[length]))
      return true;
  return false;
}

// ---- environments -------------------------------------------------------------------------------

static int64_t tree_bytes(const char *directory) {
  int64_t bytes = 0;
  DIR *open = opendir(directory);
  for (struct dirent *e; open && (e = readdir(open));) {
    char path[4096];
    struct stat info;
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
      continue;
    snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
    if (lstat(path, &info) != 0)
      continue;
    bytes += (int64_t)info.st_blocks * 512;
    if (S_ISDIR(info.st_mode))
      bytes += tree_bytes(path);
  }
  if (open)
    closedir(open);
  return bytes;
}

static hsc_status *remove_tree(hsc_arena *arena, const char *directory) {
  const char *const argv[] = {"rm", "-rf", "--", directory, NULL};
  const char *said;
  bool ok;
  return run_program(arena, argv, 120 * SECOND_NS, &said, &ok);
}

static double limit_bytes(void) {
  const char *text = getenv("HLOSCOPE_VERSIONS_GIB");
  double gib = text && *text ? strtod(text, NULL) : 0;
  return (gib > 0 ? gib : 16) * 1024 * 1024 * 1024;
}

// Removes what was used least lately until the rest is within the limit. "ready" of an environment
// says its size; its time of change is that of the last use.
static hsc_status *evict(hsc_arena *arena, const char *directory) {
  for (;;) {
    const char *oldest = NULL;
    time_t oldest_time = time(NULL) - FRESH_S;
    double total = 0;
    glob_t found = {0};
    if (glob(hsc_arena_printf(arena, "%s/*/ready", directory), 0, NULL, &found) != 0)
      return hsc_arena_status(arena);
    for (size_t i = 0; i < found.gl_pathc; i++) {
      struct stat info;
      hsc_bytes text = {0};
      if (stat(found.gl_pathv[i], &info) != 0)
        continue;
      hsc_status *unread = hsc_file_read(found.gl_pathv[i], &text);
      total += unread ? 0 : strtod(hsc_bytes_text(&text), NULL);
      hsc_status_free(unread);
      hsc_bytes_deinit(&text);
      if (info.st_mtime >= oldest_time)
        continue;
      oldest_time = info.st_mtime;
      oldest = hsc_arena_strndup(arena, found.gl_pathv[i], strlen(found.gl_pathv[i]) - 6);
    }
    globfree(&found);
    if (total <= limit_bytes() || !oldest)
      return hsc_arena_status(arena);
    HSC_TRY(remove_tree(arena, oldest));
  }
}

// The vendor's packages, the first in another version.
static hsc_status *package_words(const hsc_vendor *vendor,
                                 const char *version,
                                 hsc_arena *arena,
                                 const char **words) {
  const char *rest = vendor->packages + strcspn(vendor->packages, " ");
  int count = 0;
  words[count++] = hsc_arena_printf(arena, "%s==%s", package_of(vendor, arena), version);
  while (*(rest += strspn(rest, " ")) && count < 7) {
    words[count++] = hsc_arena_strndup(arena, rest, strcspn(rest, " "));
    rest += strcspn(rest, " ");
  }
  words[count] = NULL;
  return hsc_arena_status(arena);
}

static hsc_status *install(const hsc_vendor *vendor,
                           const char *version,
                           const char *python,
                           const char *directory,
                           hsc_arena *arena) {
  const char *said = "";
  bool ok = false;
  const char *own = hsc_arena_printf(arena, "%s/bin/python", directory);
  const char *const make[] = {python, "-c", HSC_PYTHON_MODULE, "venv", directory, NULL};
  const char *fill[20] = {own,
                          "-c",
                          HSC_PYTHON_MODULE,
                          "pip",
                          "install",
                          "--only-binary",
                          ":all:",
                          "--no-cache-dir",
                          "--progress-bar",
                          "off"};
  HSC_TRY(remove_tree(arena, directory));
  HSC_TRY(run_program(arena, make, INSTALL_LIMIT_NS, &said, &ok));
  if (!ok)
    return HSC_ERR(UNKNOWN, "%s cannot make an environment: %s", python, pip_words(arena, said));
  HSC_TRY(package_words(vendor, version, arena, &fill[10]));
  HSC_TRY(run_program(arena, fill, INSTALL_LIMIT_NS, &said, &ok));
  if (!ok && is_unreachable(said))
    return unreachable(vendor->device);
  if (!ok && strstr(said, "No space left on device"))
    return HSC_ERR(RESOURCE_EXHAUSTED, "%s: the disk is full", directory);
  if (!ok)
    return HSC_ERR(UNKNOWN, "%s", pip_words(arena, said));
  const char *size = hsc_arena_printf(arena, "%lld\n", (long long)tree_bytes(directory));
  HSC_TRY(hsc_arena_status(arena));
  return hsc_file_write_atomic(hsc_arena_printf(arena, "%s/ready", directory), size, strlen(size));
}

static hsc_status *make_environment(const hsc_vendor *vendor,
                                    const char *version,
                                    const char *directory,
                                    hsc_arena *arena) {
  const char *pythons[MOST_PYTHONS];
  size_t count = 0;
  const char *package = package_of(vendor, arena);
  bool all_offline = true;
  find_pythons(arena, pythons, &count);
  for (size_t i = 0; i < count; i++) {
    const char *text = "";
    bool offline = false;
    hsc_status *mute = ask_index(arena, pythons[i], package, &text, &offline);
    hsc_status_free(mute);  // a Python that does not start is not one to take
    all_offline &= offline;
    if (mute || !lists(text, version))
      continue;
    hsc_status *status = install(vendor, version, pythons[i], directory, arena);
    if (status)  // half of one is worse than none
      hsc_status_free(remove_tree(arena, directory));
    return status;
  }
  if (all_offline)
    return unreachable(package);
  return hsc_status_hint(
      HSC_ERR(NOT_FOUND, "%s %s: the index has no wheel of it for a Python that is here", package,
              version),
      "Pythons of pyenv, uv, /usr/bin and /usr/local/bin are looked at; HLOSCOPE_PYTHON names one "
      "more");
}

hsc_status *hsc_release_environment(const hsc_vendor *vendor,
                                    const char *version,
                                    hsc_arena *arena,
                                    const char **out_python,
                                    const char **out_directory) {
  const char *root = NULL;
  if (!hsc_release_is_one(version))
    return HSC_ERR(INVALID_ARGUMENT, "'%s' is not a version", version);
  HSC_TRY(versions_dir(arena, &root));
  const char *directory =
      hsc_arena_printf(arena, "%s/%s-%s", root, package_of(vendor, arena), version);
  const char *ready = hsc_arena_printf(arena, "%s/ready", directory);
  const char *lock_path = hsc_arena_printf(arena, "%s.lock", directory);
  HSC_TRY(hsc_arena_status(arena));
  *out_directory = directory;
  *out_python = hsc_arena_printf(arena, "%s/bin/python", directory);
  hsc_status *status = NULL;
  if (!hsc_file_exists(ready)) {
    int lock = open(lock_path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
      status = hsc_status_errno(errno, "cannot lock", lock_path);
    if (!status && !hsc_file_exists(ready))
      status = make_environment(vendor, version, directory, arena);
    if (!status)
      status = evict(arena, root);
    if (lock >= 0)
      close(lock);
  }
  if (!status)
    utime(ready, NULL);
  return status ? status : hsc_arena_status(arena);
}

// ---- what there is ------------------------------------------------------------------------------

typedef struct release_list {
  hsc_arena *arena;
  const char *items[MOST_RELEASES];
  size_t count;
} release_list;

static void add_release(release_list *list, const char *text, size_t length) {
  const char *version = hsc_arena_strndup(list->arena, text, length);
  if (!version || !hsc_release_is_one(version) || list->count == MOST_RELEASES)
    return;
  for (size_t i = 0; i < list->count; i++)
    if (!strcmp(list->items[i], version))
      return;
  list->items[list->count++] = version;
}

static int compare_releases(const void *a, const void *b) {
  return hsc_release_compare(*(const char *const *)a, *(const char *const *)b);
}

hsc_status *hsc_release_list(const char *package,
                             hsc_arena *arena,
                             const char *const **out_versions,
                             size_t *out_count) {
  const char *pythons[MOST_PYTHONS];
  size_t count = 0;
  const char *root = NULL;
  glob_t found = {0};
  release_list *list = HSC_NEW(arena, release_list);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(versions_dir(arena, &root));
  list->arena = arena;
  find_pythons(arena, pythons, &count);
  for (size_t i = 0; i < count; i++) {
    const char *text = "";
    bool offline = false;
    hsc_status_free(ask_index(arena, pythons[i], package, &text, &offline));
    for (const char *at = text; *at; at += strspn(at, ", ")) {
      size_t length = strcspn(at, ", ");
      add_release(list, at, length);
      at += length;
    }
    if (offline)
      break;
  }
  if (glob(hsc_arena_printf(arena, "%s/%s-*/ready", root, package), 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++) {
      const char *name = found.gl_pathv[i] + strlen(root) + strlen(package) + 2;
      add_release(list, name, strcspn(name, "/"));
    }
    globfree(&found);
  }
  if (list->count == 0)
    return unreachable(package);
  qsort(list->items, list->count, sizeof *list->items, compare_releases);
  *out_versions = list->items;
  *out_count = list->count;
  return hsc_arena_status(arena);
}
