// doctor_common.c - what checks look at the machine with, and how they say what they found.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "doctor/doctor_internal.h"

enum { READ_BYTES_MAX = 1 << 20 };  // of a file that is looked at

static void add_piece(hsc_bytes *to, const char *format, va_list args) {
  if (to->size)
    hsc_bytes_append_text(to, "; ");
  hsc_bytes_printf_v(to, format, args);
}

void hsc__say(hsc__check_context *cx, hsc_verdict verdict, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add_piece(&cx->evidence, format, args);
  va_end(args);
  if (verdict > cx->verdict)
    cx->verdict = verdict;
}

void hsc__fix(hsc__check_context *cx, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add_piece(&cx->fix, format, args);
  va_end(args);
}

const char *hsc__env(const hsc__check_context *cx, const char *name) {
  if (!*cx->options.root)
    return getenv(name);
  size_t length = strlen(name);
  for (size_t at = 0; at < cx->environment_size; at += strlen(cx->environment + at) + 1)
    if (!strncmp(cx->environment + at, name, length) && cx->environment[at + length] == '=')
      return cx->environment + at + length + 1;
  return NULL;
}

static void one_env(hsc__check_context *cx,
                    const char *text,
                    void (*each)(hsc__check_context *cx, const char *name, const char *value)) {
  size_t length = strcspn(text, "=");
  if (text[length])
    each(cx, hsc_arena_strndup(cx->arena, text, length), text + length + 1);
}

void hsc__each_env(hsc__check_context *cx,
                   void (*each)(hsc__check_context *cx, const char *name, const char *value)) {
  if (*cx->options.root) {
    for (size_t at = 0; at < cx->environment_size; at += strlen(cx->environment + at) + 1)
      one_env(cx, cx->environment + at, each);
  } else {
    for (char **at = environ; *at; at++)
      one_env(cx, *at, each);
  }
}

const char *hsc__path(hsc__check_context *cx, const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  size_t root = strlen(cx->options.root);
  if (root && !strncmp(text, cx->options.root, root))
    root = 0;  // it is below the root already
  const char *path = hsc_arena_printf(cx->arena, "%.*s%s", (int)root, cx->options.root, text);
  return path ? path : "";
}

bool hsc__exists(const char *path) {
  return access(path, F_OK) == 0;
}

const char *hsc__read(hsc__check_context *cx, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return NULL;
  hsc_bytes text = {0};
  char chunk[8192];
  for (ssize_t got; text.size < READ_BYTES_MAX &&
                    ((got = read(fd, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR));)
    if (got > 0)
      hsc_bytes_append(&text, chunk, (size_t)got);
  close(fd);
  const char *copy = hsc_arena_strndup(cx->arena, hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&text);
  return copy;
}

const char *hsc__read_line(hsc__check_context *cx, const char *path) {
  const char *text = hsc__read(cx, path);
  if (text)
    ((char *)(uintptr_t)text)[strcspn(text, "\n")] = 0;
  return text;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t hsc__list(hsc__check_context *cx,
                 const char *directory,
                 const char *prefix,
                 const char **names,
                 size_t room) {
  DIR *open = opendir(directory);
  size_t count = 0;
  for (struct dirent *item; open && count < room && (item = readdir(open));)
    if (item->d_name[0] != '.' && hsc_starts_with(item->d_name, prefix))
      names[count++] = hsc_arena_strdup(cx->arena, item->d_name);
  if (open)
    closedir(open);
  if (count)
    qsort(names, count, sizeof *names, by_name);
  return count;
}

static bool add_tree(
    const char *directory, int depth, int64_t end_ns, int64_t *bytes, int64_t *files) {
  DIR *open = depth < 12 ? opendir(directory) : NULL;
  bool whole = true;
  for (struct dirent *item; open && whole && (item = readdir(open));) {
    if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, ".."))
      continue;
    struct stat info;
    if (fstatat(dirfd(open), item->d_name, &info, AT_SYMLINK_NOFOLLOW))
      continue;
    if (S_ISREG(info.st_mode)) {
      *bytes += (int64_t)info.st_size;
      ++*files;
    }
    if (S_ISDIR(info.st_mode)) {
      char below[4096];
      if (snprintf(below, sizeof below, "%s/%s", directory, item->d_name) < (int)sizeof below)
        whole = add_tree(below, depth + 1, end_ns, bytes, files);
    }
    if (hsc_now_ns() > end_ns)
      whole = false;
  }
  if (open)
    closedir(open);
  return whole;
}

bool hsc__tree_size(const char *directory,
                    int64_t limit_ns,
                    int64_t *out_bytes,
                    int64_t *out_files) {
  *out_bytes = *out_files = 0;
  return add_tree(directory, 0, hsc_now_ns() + limit_ns, out_bytes, out_files);
}

const char *hsc__bytes_text(hsc__check_context *cx, double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < HSC_COUNT_OF(units)) {
    bytes /= 1024;
    unit++;
  }
  const char *text = hsc_arena_printf(cx->arena, bytes >= 100 || unit == 0 ? "%.0f %s" : "%.1f %s",
                                      bytes, units[unit]);
  return text ? text : "";
}
