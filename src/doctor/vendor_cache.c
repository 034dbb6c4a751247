// vendor_cache.c - see vendor_cache.h.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "doctor/vendor_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JAX_KEY_DIGITS = 64, MOST_FLAGS_BYTES = 1 << 16, MOST_LOG_BYTES = 1 << 20 };
static const size_t MOST_UNPACKED_BYTES = (size_t)4 << 30;

const char *hsc_vendor_state_text(hsc_vendor_state state) {
  static const char *const texts[] = {"ok", "failed", "unfinished", "damaged"};
  return texts[state];
}

static int64_t time_ns(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

typedef struct lister {
  hsc_arena *arena;
  hsc_bytes entries;
  bool deep;
} lister;

static void add(lister *l, const hsc_vendor_entry *entry) {
  hsc_bytes_append(&l->entries, entry, sizeof *entry);
}

// The size of DIR/NAME in *out_bytes; false when there is no such file.
static bool find_file(const char *dir, const char *name, struct stat *out) {
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/%s", dir, name);
  bool found = !hsc_bytes_status(&path) && !stat(path.data, out) && S_ISREG(out->st_mode);
  hsc_bytes_deinit(&path);
  return found;
}

static const char *read_text(lister *l, const char *dir, const char *name, int64_t most) {
  struct stat info;
  hsc_bytes path = {0};
  hsc_bytes text = {0};
  const char *result = "";
  if (!find_file(dir, name, &info) || info.st_size > most)
    return "";
  hsc_bytes_printf(&path, "%s/%s", dir, name);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_read_regular(path.data, &text);
  while (!status && text.size && strchr("\n\r ", text.data[text.size - 1]))
    text.data[--text.size] = 0;
  if (!status)
    result = hsc_arena_strdup(l->arena, hsc_bytes_text(&text));
  hsc_status_free(status);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&text);
  return result ? result : "";
}

// ---- Neuron -------------------------------------------------------------------------------------

static const char *last_line(const char *text) {
  const char *end = strrchr(text, '\n');
  return end ? end + 1 : text;
}

// Sizes and the latest time of change; *out_locked: 1 when a process holds the lock of a file here,
// 0 when there is a lock that nobody holds.
static void sum_files(const char *dir, hsc_vendor_entry *entry, int *out_locked) {
  DIR *folder = opendir(dir);
  struct stat self;
  *out_locked = -1;
  if (!folder)
    return;
  if (!fstat(dirfd(folder), &self))
    entry->used_ns = time_ns(self.st_mtim);  // of an empty one
  for (struct dirent *item; (item = readdir(folder));) {
    struct stat info;
    if (hsc_ends_with(item->d_name, ".lock")) {
      int fd = openat(dirfd(folder), item->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
      bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
      if (held || *out_locked < 0)
        *out_locked = held;
      if (fd >= 0)
        close(fd);
    }
    if (fstatat(dirfd(folder), item->d_name, &info, 0) || !S_ISREG(info.st_mode))
      continue;
    entry->bytes += info.st_size;
    if (time_ns(info.st_mtim) > entry->used_ns)
      entry->used_ns = time_ns(info.st_mtim);
  }
  closedir(folder);
}

static void add_module(lister *l, const char *compiler, const char *name, const char *dir) {
  hsc_vendor_entry entry = {.name = hsc_arena_strdup(l->arena, name),
                            .path = hsc_arena_strdup(l->arena, dir),
                            .compiler = compiler,
                            .detail = "",
                            .compile_seconds = NAN};
  struct stat neff, done, log;
  bool has_neff = find_file(dir, "model.neff", &neff);
  bool has_done = find_file(dir, "model.done", &done);
  bool has_log = find_file(dir, "model.log", &log);
  int locked;
  sum_files(dir, &entry, &locked);
  entry.flags = read_text(l, dir, "compile_flags.json", MOST_FLAGS_BYTES);
  if (!*entry.flags)
    entry.flags = read_text(l, dir, "compile_flags.txt", MOST_FLAGS_BYTES);
  if (has_done && has_neff && neff.st_size > 0) {
    entry.state = HSC_VENDOR_OK;
  } else if (has_done) {
    entry.state = HSC_VENDOR_DAMAGED;
    entry.detail =
        has_neff ? "model.done is beside an empty model.neff" : "model.done without model.neff";
  } else if (has_log) {
    entry.state = HSC_VENDOR_FAILED;
    entry.detail = last_line(read_text(l, dir, "model.log", MOST_LOG_BYTES));
  } else if (has_neff && neff.st_size > 1024) {
    entry.state = HSC_VENDOR_OK;  // before there was a marker
  } else {
    entry.state = HSC_VENDOR_UNFINISHED;
    if (locked > 0)
      entry.detail = "being compiled: a process holds its lock";
    else if (locked == 0)
      entry.detail =
          "neither model.done nor model.log, and nobody holds its lock: its compiler died";
    else
      entry.detail = "neither model.done nor model.log: still being compiled, or its compiler died";
  }
  add(l, &entry);
}

static hsc_status *walk_neuron(lister *l, const char *dir, const char *compiler, int depth) {
  DIR *folder = opendir(dir);
  if (!folder)
    return depth || errno == ENOENT ? NULL : hsc_status_errno(errno, "cannot list", dir);
  hsc_status *status = NULL;
  for (struct dirent *item; !status && (item = readdir(folder));) {
    struct stat info;
    bool module = hsc_starts_with(item->d_name, "MODULE_");
    bool version = hsc_starts_with(item->d_name, "neuronxcc-");
    if ((!module && !(version && depth == 0)) || fstatat(dirfd(folder), item->d_name, &info, 0) ||
        !S_ISDIR(info.st_mode))
      continue;
    const char *path = hsc_arena_printf(l->arena, "%s/%s", dir, item->d_name);
    if (!path)
      status = hsc_arena_status(l->arena);
    else if (module)
      add_module(l, compiler, item->d_name, path);
    else
      status = walk_neuron(l, path, hsc_arena_strdup(l->arena, item->d_name), 1);
  }
  closedir(folder);
  return status;
}

// ---- JAX ----------------------------------------------------------------------------------------

static void look_inside(const char *path, hsc_vendor_entry *entry) {
  hsc_bytes file = {0};
  hsc_bytes inside = {0};
  hsc_status *status = hsc_file_read_regular(path, &file);
  if (!status)
    status = hsc_decompress(hsc_bytes_view(&file), MOST_UNPACKED_BYTES, &inside);
  if (!status && inside.size < 5)
    status = HSC_ERR(DATA_LOSS, "%zu bytes after unpacking", inside.size);
  if (!status) {
    const unsigned char *at = (const unsigned char *)inside.data;
    entry->compile_seconds = (double)(((uint32_t)at[0] << 24) | ((uint32_t)at[1] << 16) |
                                      ((uint32_t)at[2] << 8) | at[3]);
  } else {
    entry->state = HSC_VENDOR_DAMAGED;
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&file);
  hsc_bytes_deinit(&inside);
}

static void add_jax(
    lister *l, const char *dir, const char *file, size_t name_length, const struct stat *info) {
  hsc_vendor_entry entry = {.name = hsc_arena_printf(l->arena, "%.*s-%.12s", (int)name_length, file,
                                                     file + name_length + 1),
                            .compiler = "",
                            .flags = "",
                            .detail = "",
                            .path = hsc_arena_printf(l->arena, "%s/%s", dir, file),
                            .bytes = info->st_size,
                            .used_ns = time_ns(info->st_mtim),
                            .compile_seconds = NAN};
  hsc_bytes atime = {0};
  hsc_bytes_printf(&atime, "%s/%.*s-atime", dir, (int)(name_length + 1 + JAX_KEY_DIGITS), file);
  hsc_bytes stamp = {0};
  hsc_status *status = hsc_bytes_status(&atime);
  if (!status)
    status = hsc_file_read_regular(atime.data, &stamp);
  if (!status && stamp.size == 8)
    memcpy(&entry.used_ns, stamp.data, 8);
  hsc_status_free(status);
  hsc_bytes_deinit(&atime);
  hsc_bytes_deinit(&stamp);
  if (!entry.name || !entry.path)
    return;
  if (info->st_size == 0) {
    entry.state = HSC_VENDOR_DAMAGED;
    entry.detail = "empty";
  } else if (l->deep) {
    look_inside(entry.path, &entry);
    if (entry.state == HSC_VENDOR_DAMAGED)
      entry.detail = "cannot be unpacked: JAX warns and compiles again";
  }
  add(l, &entry);
}

static hsc_status *walk_jax(lister *l, const char *dir) {
  DIR *folder = opendir(dir);
  if (!folder)
    return errno == ENOENT ? NULL : hsc_status_errno(errno, "cannot list", dir);
  for (struct dirent *item; (item = readdir(folder));) {
    struct stat info;
    const char *file = item->d_name;
    size_t length = strlen(file);
    if (hsc_ends_with(file, "-cache"))
      length -= 6;
    if (length <= JAX_KEY_DIGITS + 1 || file[length - JAX_KEY_DIGITS - 1] != '-' ||
        strspn(file + length - JAX_KEY_DIGITS, "0123456789abcdef") < JAX_KEY_DIGITS ||
        hsc_ends_with(file, "-atime"))
      continue;
    if (fstatat(dirfd(folder), file, &info, 0) || !S_ISREG(info.st_mode))
      continue;
    add_jax(l, dir, file, length - JAX_KEY_DIGITS - 1, &info);
  }
  closedir(folder);
  return NULL;
}

// ---- both ---------------------------------------------------------------------------------------

static int by_use(const void *a, const void *b) {
  const hsc_vendor_entry *x = a;
  const hsc_vendor_entry *y = b;
  if (x->used_ns < y->used_ns)
    return -1;
  if (x->used_ns > y->used_ns)
    return 1;
  return strcmp(x->path, y->path);
}

hsc_status *hsc_vendor_cache_list(const char *cache,
                                  const char *dir,
                                  bool deep,
                                  hsc_arena *arena,
                                  hsc_vendor_entry **out_entries,
                                  int *out_count) {
  lister l = {.arena = arena, .deep = deep};
  *out_entries = NULL;
  *out_count = 0;
  hsc_status *status;
  if (!strcmp(cache, "neuron"))
    status = walk_neuron(&l, dir, "", 0);
  else if (!strcmp(cache, "jax"))
    status = walk_jax(&l, dir);
  else
    status = HSC_ERR(INVALID_ARGUMENT, "no cache '%s' is known; neuron and jax are", cache);
  if (!status)
    status = hsc_bytes_status(&l.entries);
  if (!status && l.entries.size) {
    *out_count = (int)(l.entries.size / sizeof(hsc_vendor_entry));
    qsort(l.entries.data, (size_t)*out_count, sizeof(hsc_vendor_entry), by_use);
    *out_entries = hsc_arena_copy(arena, l.entries.data, l.entries.size);
    status = hsc_arena_status(arena);
  }
  hsc_bytes_deinit(&l.entries);
  return status;
}

const char *hsc_vendor_cache_dir(const char *cache, hsc_arena *arena) {
  if (!strcmp(cache, "jax")) {
    const char *dir = getenv("JAX_COMPILATION_CACHE_DIR");
    return dir && *dir ? dir : NULL;
  }
  const char *url = getenv("NEURON_COMPILE_CACHE_URL");
  const char *flags = getenv("NEURON_CC_FLAGS");
  const char *at = flags ? strstr(flags, "--cache_dir") : NULL;
  if (at) {
    at += strlen("--cache_dir");
    while (*at == '=' || *at == ' ')
      at++;
    return hsc_arena_strndup(arena, at, strcspn(at, " "));
  }
  if (url && *url)
    return hsc_starts_with(url, "file://") ? url + strlen("file://") : url;
  return hsc_file_exists("/var/tmp/neuron-compile-cache") ? "/var/tmp/neuron-compile-cache" : NULL;
}
