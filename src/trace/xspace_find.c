// xspace_find.c - where profiles lie: a file, a directory of them, or a log directory as
// TensorBoard knows it.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "trace/xspace.h"

enum { MAX_DEPTH = 4 };

static bool is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_profile_name(const char *name) {
  return hsc_ends_with(name, ".xplane.pb") || hsc_ends_with(name, ".xplane.pb.gz") ||
         hsc_ends_with(name, ".xplane.pb.zst");
}

// Of a folder. A pipe that lies in one would be waited for.
static bool is_profile_in(const char *folder, const char *name, hsc_arena *arena) {
  if (name[0] == '.' || !is_profile_name(name))
    return false;
  const char *path = hsc_arena_printf(arena, "%s/%s", folder, name);
  return path && hsc_file_is_regular(path);
}

typedef struct list {
  const char **items;
  int32_t count, capacity;
  hsc_arena *arena;
} list;

static bool add(list *l, const char *item) {
  if (!HSC_GROW_IN(l->arena, l->items, l->count, l->capacity))
    return false;
  if (!item)
    return false;
  l->items[l->count++] = item;
  return true;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef struct seen {
  list runs;        // directories that hold profiles
  bool has_rings;   // captures of hloscope lie here or below
  bool is_capture;  // the directory itself is one; profiles in it belong to it
} seen;

// Every directory below `path` that holds profiles.
static void walk(const char *path, int depth, seen *out) {
  DIR *directory = opendir(path);
  if (!directory)
    return;
  bool is_run = false;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (entry->d_name[0] == '.')
      continue;
    if (is_profile_name(entry->d_name))
      is_run |= is_profile_in(path, entry->d_name, out->runs.arena);
    else if (hsc_ends_with(entry->d_name, ".ring")) {
      out->has_rings = true;
      out->is_capture |= depth == 0;
    } else if (depth < MAX_DEPTH) {
      const char *child = hsc_arena_printf(out->runs.arena, "%s/%s", path, entry->d_name);
      if (child && is_directory(child))
        walk(child, depth + 1, out);
    }
  }
  closedir(directory);
  if (is_run)
    add(&out->runs, hsc_arena_strdup(out->runs.arena, path));
}

// runs are named by their time, so the last name is the newest
static int compare_runs(const void *a, const void *b) {
  int by_name =
      strcmp(hsc_path_file(*(const char *const *)a), hsc_path_file(*(const char *const *)b));
  return by_name ? by_name : compare_texts(a, b);
}

static hsc_status *no_profile(const char *path, const seen *found) {
  hsc_status *status = HSC_ERR(
      NOT_FOUND, "no profile in %s: no *.xplane.pb in it or in plugins/profile/RUN below it", path);
  if (found->has_rings)
    return hsc_status_hint(status, "it holds a capture of hloscope: hloscope tables %s summary",
                           path);
  return hsc_status_hint(status, "hloscope profile PROGRAM --output %s makes one", path);
}

static hsc_status *no_file(const char *path, hsc_arena *arena, int error) {
  hsc_status *status = hsc_status_errno(error, "cannot open", path);
  const char *slash = strrchr(path, '/');
  const char *parent = ".";
  if (slash)
    parent = hsc_arena_strndup(arena, path, slash > path ? (size_t)(slash - path) : 1);
  DIR *directory = parent ? opendir(parent) : NULL;
  if (!directory)
    return status;
  list names = {.arena = arena};
  for (struct dirent *entry; (entry = readdir(directory)) && names.count < 1000;)
    if (entry->d_name[0] != '.')
      add(&names, hsc_arena_strdup(arena, entry->d_name));
  closedir(directory);
  const char *near = NULL;
  if (names.count)
    near = hsc_did_you_mean(hsc_path_file(path), names.items, (size_t)names.count);
  if (!near)
    return status;
  return hsc_status_hint(status, "did you mean %s%s%s?", slash ? parent : "", slash ? "/" : "",
                         near);
}

hsc_status *hsc_xspace_find(const char *path, hsc_arena *arena, hsc_xspace_files *out_files) {
  *out_files = (hsc_xspace_files){0};
  struct stat info;
  list files = {.arena = arena};
  if (stat(path, &info))
    return no_file(path, arena, errno);
  if (!S_ISDIR(info.st_mode)) {
    if (!add(&files, hsc_arena_strdup(arena, path)))
      return hsc_status_out_of_memory();
    out_files->paths = files.items;
    out_files->count = 1;
    return NULL;
  }
  seen found = {.runs = {.arena = arena}};
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  const char *root = hsc_arena_strndup(arena, path, length);
  if (!root)
    return hsc_status_out_of_memory();
  walk(root, 0, &found);
  HSC_TRY(hsc_arena_status(arena));
  if (!found.runs.count)
    return no_profile(path, &found);
  qsort(found.runs.items, (size_t)found.runs.count, sizeof *found.runs.items, compare_runs);
  const char *run = found.runs.items[found.runs.count - 1];
  DIR *directory = opendir(run);
  if (!directory)
    return hsc_status_errno(errno, "cannot read", run);
  for (struct dirent *entry; (entry = readdir(directory));)
    if (is_profile_in(run, entry->d_name, arena))
      add(&files, hsc_arena_printf(arena, "%s/%s", run, entry->d_name));
  closedir(directory);
  HSC_TRY(hsc_arena_status(arena));
  qsort(files.items, (size_t)files.count, sizeof *files.items, compare_texts);
  out_files->paths = files.items;
  out_files->count = files.count;
  out_files->run = run;
  if (found.runs.count > 1) {
    hsc_bytes text = {0};
    hsc_bytes_printf(&text, "the newest of %d runs: %s; others:", found.runs.count, run);
    for (int32_t i = found.runs.count - 2; i >= 0 && i > found.runs.count - 6; i--)
      hsc_bytes_printf(&text, " %s", found.runs.items[i]);
    out_files->note = hsc_arena_strdup(arena, hsc_bytes_text(&text));
    hsc_bytes_deinit(&text);
  }
  return hsc_arena_status(arena);
}

bool hsc_xspace_is_at(const char *path) {
  struct stat info;
  if (stat(path, &info))
    return hsc_ends_with(path, ".pb") || hsc_ends_with(path, ".pb.gz");
  if (!S_ISDIR(info.st_mode)) {
    if (is_profile_name(path))
      return true;
    char start[8] = {0};
    size_t got = 0;
    hsc_status_free(hsc_file_head(path, start, sizeof start, &got));  // a pipe: nothing is taken
    return !(got == sizeof start && !memcmp(start, "HSCRING1", 8)) && !hsc_ends_with(path, ".ring");
  }
  hsc_arena *arena = NULL;
  hsc_status *status = hsc_arena_create(&arena);
  hsc_status_free(status);
  if (!arena)
    return false;
  seen found = {.runs = {.arena = arena}};
  walk(path, 0, &found);
  bool is = !found.is_capture &&
            (found.runs.count > 0 || (!found.has_rings && !hsc_ends_with(path, ".hsc")));
  hsc_arena_destroy(arena);
  return is;
}
