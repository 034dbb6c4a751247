// device_install.c - makes <cache directory>/venv and lets pip fill it.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/files/private_file.h"
#include "base/process/child.h"
#include "base/text/text.h"
#include "base/process/python.h"
#include "lab/devices/devices.h"
#include "lab/devices/device_install.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PACKAGES = 16 };
static const int64_t SECOND_NS = 1000000000;
static const int64_t LOOK_NS = 250000000;
static const int64_t DEFAULT_LIMIT_NS = INT64_C(1800) * 1000000000;

typedef struct installer {
  const hsc_install_options *options;
  hsc_arena *arena;
  const char *venv, *python, *scratch;  // <cache>/venv, its python, where pip unpacks
  const char *device;                   // that is being installed
} installer;

static hsc_status *own_venv(hsc_arena *arena, const char **out_path) {
  char *cache = NULL;
  HSC_TRY(hsc_cache_dir(&cache));
  *out_path = hsc_arena_printf(arena, "%s/venv", cache);
  hsc_free(cache);
  return hsc_arena_status(arena);
}

// "a==1 b==2" as words in the arena, NULL-terminated.
static hsc_status *split_packages(const char *text, hsc_arena *arena, const char **words) {
  size_t count = 0;
  while (*(text += strspn(text, " ")) && count + 1 < MOST_PACKAGES) {
    size_t length = strcspn(text, " ");
    words[count++] = hsc_arena_strndup(arena, text, length);
    text += length;
  }
  words[count] = NULL;
  return hsc_arena_status(arena);
}

// pip leaves <name with underscores>-<version>.dist-info in site-packages.
static bool has_package(hsc_arena *arena, const char *venv, const char *package) {
  char *name = hsc_arena_strdup(arena, package);
  char *equals = name ? strstr(name, "==") : NULL;
  char *extras;
  if (!equals)
    return false;
  *equals = 0;
  if ((extras = strchr(name, '[')))
    *extras = 0;
  for (char *c = name; *c; c++)
    if (*c == '-')
      *c = '_';
  const char *lib = hsc_arena_printf(arena, "%s/lib", venv);
  DIR *versions = opendir(lib);
  bool found = false;
  for (struct dirent *e; versions && !found && (e = readdir(versions));)
    found = hsc_starts_with(e->d_name, "python3") &&
            hsc_file_exists(hsc_arena_printf(arena, "%s/%s/site-packages/%s-%s.dist-info", lib,
                                             e->d_name, name, equals + 2));
  if (versions)
    closedir(versions);
  return found;
}

static hsc_status *vendor_of(const char *device, const hsc_vendor **out_vendor) {
  const char *names[32];
  size_t count = 0;
  *out_vendor = hsc_vendor_get(device);
  if (*out_vendor && *(*out_vendor)->packages)
    return NULL;
  if (*out_vendor)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED, "%s: its plugin %s comes with the vendor's own installer", device,
                (*out_vendor)->file),
        "when it is there, hloscope devices finds it; or HLOSCOPE_PLUGIN_PATH=DIRECTORY");
  hsc_bytes all = {0};
  for (size_t i = 0; i < hsc_device_row_count() && count < HSC_COUNT_OF(names); i++) {
    const hsc_vendor *vendor = hsc_vendor_get(hsc_device_row_at(i)->name);
    if (!vendor || !*vendor->packages)
      continue;
    hsc_bytes_printf(&all, "%s%s", count ? ", " : "", vendor->device);
    names[count++] = vendor->device;
  }
  const char *near = hsc_did_you_mean(device, names, count);
  hsc_status *status =
      near ? HSC_ERR(INVALID_ARGUMENT, "'%s' cannot be installed; did you mean '%s'?", device, near)
           : HSC_ERR(INVALID_ARGUMENT, "'%s' cannot be installed", device);
  status = hsc_status_hint(status, "what can: %s", hsc_bytes_text(&all));
  hsc_bytes_deinit(&all);
  return status;
}

// What this machine needs of a vendor: on one with the hardware, also what running takes.
static const char *packages_of(const hsc_vendor *vendor, hsc_arena *arena) {
  bool on_hardware = !strcmp(vendor->device, "cuda") && hsc_file_exists("/dev/nvidiactl");
  return on_hardware ? hsc_arena_printf(arena, "%s %s", vendor->packages, vendor->on_hardware)
                     : vendor->packages;
}

static bool installed(hsc_arena *arena, const char *venv, const hsc_vendor *vendor) {
  const char *packages[MOST_PACKAGES];
  hsc_status *status = split_packages(packages_of(vendor, arena), arena, packages);
  bool all = !status;
  for (size_t i = 0; all && packages[i]; i++)
    all = has_package(arena, venv, packages[i]);
  hsc_status_free(status);
  return all;
}

hsc_status *hsc_device_installed(const char *device, bool *out_installed) {
  const hsc_vendor *vendor;
  hsc_arena *arena = NULL;
  const char *venv;
  *out_installed = false;
  HSC_TRY(vendor_of(device, &vendor));
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = own_venv(arena, &venv);
  if (!status)
    *out_installed = installed(arena, venv, vendor);
  hsc_arena_destroy(arena);
  return status;
}

// ---- a program that takes its time --------------------------------------------------------------

// The last whole line of what it said, without what pip says to itself.
static void last_line(const char *text, char *out, size_t size) {
  size_t end = strlen(text);
  out[0] = 0;
  while (end > 0 && text[end - 1] == '\n')
    end--;
  size_t start = end;
  while (start > 0 && text[start - 1] != '\n')
    start--;
  while (start < end && text[start] == ' ')
    start++;
  snprintf(out, size, "%.*s", (int)(end - start), text + start);
}

// "Downloading x.whl (165.2 MB)" -> 165200000; 0 when the line says no size.
static int64_t announced_bytes(const char *line) {
  static const struct {
    const char *unit;
    double bytes;
  } units[] = {{"kB)", 1e3}, {"MB)", 1e6}, {"GB)", 1e9}};
  const char *open = hsc_starts_with(line, "Downloading") ? strrchr(line, '(') : NULL;
  char *end = NULL;
  double value = open ? strtod(open + 1, &end) : 0;
  for (size_t i = 0; open && i < HSC_COUNT_OF(units); i++)
    if (strstr(end, units[i].unit))
      return (int64_t)(value * units[i].bytes);
  return 0;
}

// The largest file one level below `dir`: what pip is fetching.
static int64_t fetched_bytes(const char *dir) {
  int64_t most = 0;
  DIR *open = opendir(dir);
  for (struct dirent *e; open && (e = readdir(open));) {
    char path[4096];
    struct stat info;
    if (e->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    DIR *inner = opendir(path);
    for (struct dirent *f; inner && (f = readdir(inner));)
      if (f->d_name[0] != '.' && fstatat(dirfd(inner), f->d_name, &info, 0) == 0 &&
          info.st_size > most)
        most = info.st_size;
    if (inner)
      closedir(inner);
  }
  if (open)
    closedir(open);
  return most;
}

static hsc_status *words_of_failure(const installer *in,
                                    const char *doing,
                                    const char *said,
                                    const hsc_child_exit *end) {
  static const char *const unreachable[] = {"Failed to establish a new connection",
                                            "Temporary failure in name resolution",
                                            "Connection timed out",
                                            "ConnectTimeoutError",
                                            "Network is unreachable",
                                            "Max retries exceeded",
                                            "ProxyError"};
  char line[512];
  last_line(said, line, sizeof line);
  // the first one says why, the last one that it failed
  for (const char *at = said; (at = strstr(at, "ERROR: ")); at++) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    break;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(unreachable); i++)
    if (strstr(said, unreachable[i]))
      return hsc_status_hint(HSC_ERR(UNAVAILABLE, "%s: no package index can be reached: %s",
                                     in->device, unreachable[i]),
                             "pip's own settings hold here: PIP_INDEX_URL, PIP_PROXY, pip.conf");
  if (strstr(said, "ensurepip is not available") || strstr(said, "No module named venv"))
    return hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION, "%s: this Python cannot make an environment", in->device),
        "Debian: apt-get install python3-venv; or name another Python in HLOSCOPE_PYTHON");
  if (end->signal)
    return HSC_ERR(UNKNOWN, "%s: %s was ended by signal %d", in->device, doing, end->signal);
  return hsc_status_hint(
      HSC_ERR(UNKNOWN, "%s: %s failed (exit code %d): %s", in->device, doing, end->exit_code, line),
      "the packages need Python 3.11 or newer; another one is named by HLOSCOPE_PYTHON");
}

static hsc_status *run_program(installer *in, const char *doing, const char *const *argv) {
  const char *const environment[] = {hsc_arena_printf(in->arena, "TMPDIR=%s", in->scratch),
                                     HSC_PYTHON_ENVIRONMENT, "PYTHONUNBUFFERED=1",
                                     "PIP_DISABLE_PIP_VERSION_CHECK=1", NULL};
  const hsc_install_options *o = in->options;
  int64_t limit = o->limit_ns > 0 ? o->limit_ns : DEFAULT_LIMIT_NS;
  int64_t start = hsc_now_ns();
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  HSC_TRY(hsc_arena_status(in->arena));
  hsc_status *status =
      hsc_child_start(&(hsc_child_options){.argv = argv, .extra_env = environment}, &child);
  if (status)
    return hsc_status_hint(status,
                           "a Python 3.11 or newer is needed; it may be named in HLOSCOPE_PYTHON");
  hsc_child_close_input(child);
  while (!status && !end.exited) {
    status = hsc_child_wait(child, LOOK_NS, &end);
    char line[256];
    last_line(hsc_child_stderr(child), line, sizeof line);
    int64_t total = announced_bytes(line);
    if (o->progress && !end.exited && line[0])
      o->progress(o->user, in->device, line, total ? fetched_bytes(in->scratch) : 0, total);
    if (!status && !end.exited && o->stop && *o->stop)
      status =
          HSC_ERR(CANCELLED, "%s: stopped while %s; the same command goes on with what is there",
                  in->device, doing);
    if (!status && !end.exited && hsc_now_ns() - start > limit)
      status = HSC_ERR(DEADLINE_EXCEEDED, "%s: %s took longer than %lld s", in->device, doing,
                       (long long)(limit / SECOND_NS));
  }
  if (!end.exited)
    hsc_child_kill(child);
  if (!status && (end.exit_code != 0 || end.signal))
    status = words_of_failure(in, doing, hsc_child_stderr(child), &end);
  hsc_child_destroy(child);
  return status;
}

// ---- the whole ----------------------------------------------------------------------------------

static hsc_status *make_venv(installer *in) {
  const char *named = getenv("HLOSCOPE_PYTHON");
  if (hsc_file_exists(in->python) &&
      hsc_file_exists(hsc_arena_printf(in->arena, "%s/bin/pip", in->venv)))
    return NULL;
  const char *const argv[] = {
      named && *named ? named : "python3", "-c", HSC_PYTHON_MODULE, "venv", in->venv, NULL};
  return run_program(in, "making the environment", argv);
}

static hsc_status *install_one(installer *in, const hsc_vendor *vendor) {
  enum { FIRST_PACKAGE = 8 };
  const char *argv[MOST_PACKAGES + FIRST_PACKAGE + 1] = {
      in->python,       "-c",  HSC_PYTHON_MODULE, "pip", "install",
      "--progress-bar", "off", "--no-cache-dir"};
  in->device = vendor->device;
  if (installed(in->arena, in->venv, vendor)) {
    if (in->options->progress)
      in->options->progress(in->options->user, vendor->device, "is there already", 0, 0);
    return NULL;
  }
  HSC_TRY(make_venv(in));
  HSC_TRY(split_packages(packages_of(vendor, in->arena), in->arena, &argv[FIRST_PACKAGE]));
  return run_program(in, "pip", argv);
}

// Two at a time would write over each other.
static hsc_status *lock(const installer *in, const char *path, int *out_fd) {
  HSC_TRY(hsc_private_file_open(path, out_fd));
  while (flock(*out_fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return hsc_status_errno(errno, "cannot lock", path);
    if (in->options->stop && *in->options->stop)
      return HSC_ERR(CANCELLED, "stopped while another installation goes on");
    if (in->options->progress)
      in->options->progress(in->options->user, "", "waiting for another installation", 0, 0);
    usleep((useconds_t)(LOOK_NS / 1000));
  }
  return NULL;
}

static void remove_dir(const char *dir) {
  const char *const argv[] = {"rm", "-rf", dir, NULL};
  hsc_child *child = NULL;
  hsc_child_exit end;
  hsc_status *status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
  if (!status)
    status = hsc_child_wait(child, 60 * SECOND_NS, &end);
  hsc_status_free(status);  // what is left costs room, not sense
  hsc_child_destroy(child);
}

hsc_status *hsc_devices_install(const hsc_install_options *options) {
  installer in = {.options = options};
  const hsc_vendor *vendors[32];
  int fd = -1;
  hsc_status *status = NULL;
  // all names are right before anything is fetched
  for (size_t i = 0; i < options->device_count && i < HSC_COUNT_OF(vendors); i++)
    HSC_TRY(vendor_of(options->devices[i], &vendors[i]));
  HSC_GOTO(hsc_arena_create(&in.arena));
  HSC_GOTO(own_venv(in.arena, &in.venv));
  in.python = hsc_arena_printf(in.arena, "%s/bin/python", in.venv);
  in.scratch = hsc_arena_printf(in.arena, "%s.tmp", in.venv);
  const char *lock_path = hsc_arena_printf(in.arena, "%s.lock", in.venv);
  HSC_GOTO(hsc_arena_status(in.arena));
  HSC_GOTO(lock(&in, lock_path, &fd));
  HSC_GOTO(hsc_dir_make(in.scratch));
  for (size_t i = 0; i < options->device_count && i < HSC_COUNT_OF(vendors); i++)
    HSC_GOTO(install_one(&in, vendors[i]));
done:
  if (fd >= 0) {
    if (in.scratch)
      remove_dir(in.scratch);
    close(fd);
  }
  hsc_arena_destroy(in.arena);
  return status;
}
