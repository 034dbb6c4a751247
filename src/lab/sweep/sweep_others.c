// sweep_others.c - what other processes did of the same plan meanwhile: their files of results are
// read on, from where they were left.
//
// Nothing is locked and nobody is asked: a file that others append to looks the same on a network's
// disk. Two processes that take the same task at the same time both do it, and it counts once.
#include "base/core/clock.h"
#include "lab/sweep/sweep_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// A look may take this share of the time, at most.
enum { LOOK_SHARE = 20, PART_BYTES = 1 << 16 };

typedef struct other {
  char *path;
  int64_t read;  // whole lines up to here
  bool is_of_plan;
} other;

struct hsc__sweep_others {
  const hsc_sweep *sweep;
  const char *own;  // the file of this process
  other *files;
  size_t count, room;
  int64_t next_ns;
  bool looked, grows;
};

hsc_status *hsc__sweep_others_create(const hsc_sweep *sweep,
                                     const char *own,
                                     hsc__sweep_others **out_others) {
  hsc__sweep_others *others = hsc_alloc(sizeof *others);
  if (!others)
    return hsc_status_out_of_memory();
  *others = (hsc__sweep_others){.sweep = sweep, .own = own};
  *out_others = others;
  return NULL;
}

void hsc__sweep_others_destroy(hsc__sweep_others *others) {
  if (!others)
    return;
  for (size_t i = 0; i < others->count; i++)
    hsc_free(others->files[i].path);
  hsc_free(others->files);
  hsc_free(others);
}

static other *file_of(hsc__sweep_others *others, const char *path) {
  for (size_t i = 0; i < others->count; i++)
    if (!strcmp(others->files[i].path, path))
      return &others->files[i];
  if (others->count == others->room) {
    size_t room = 2 * others->room + 8;
    other *files = realloc(others->files, room * sizeof *files);
    if (!files)
      return NULL;
    others->files = files;
    others->room = room;
  }
  char *copy = hsc_strdup(path);
  if (!copy)
    return NULL;
  others->files[others->count] = (other){.path = copy};
  return &others->files[others->count++];
}

static void take_line(hsc__sweep_others *others, other *file, hsc_view text, hsc__pool *pool) {
  json_t *line = json_loadb(text.data, text.size, 0, NULL);
  if (file->read == 0)
    file->is_of_plan = !strcmp(hsc__sweep_text(line, "plan"), others->sweep->id);
  else if (file->is_of_plan && hsc_sweep_is_result(line)) {
    const hsc_sweep_task *task =
        hsc_map_get(others->sweep->numbers, hsc_view_of(hsc__sweep_text(line, "task")));
    if (task)
      hsc__pool_drop(pool, task - others->sweep->tasks);
    others->grows = others->grows || others->looked;
  }
  json_decref(line);
}

// The whole lines that were added. A file that cannot be read says nothing.
static void read_on(hsc__sweep_others *others, other *file, hsc__pool *pool) {
  hsc_bytes text = {0};
  char part[PART_BYTES];
  int64_t from = file->read;
  int fd = open(file->path, O_RDONLY | O_CLOEXEC);
  for (ssize_t n; fd >= 0 && (n = pread(fd, part, sizeof part, from)) > 0; from += n)
    hsc_bytes_append(&text, part, (size_t)n);
  if (fd >= 0)
    close(fd);
  const char *end = text.data + text.size;
  for (const char *at = text.data; at && at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop)
      break;
    take_line(others, file, (hsc_view){at, (size_t)(stop - at)}, pool);
    file->read += stop + 1 - at;
    at = stop + 1;
  }
  hsc_bytes_deinit(&text);
}

static bool is_shard(const char *name) {
  size_t length = strlen(name);
  return *name != '.' && length > 6 && !strcmp(name + length - 6, ".jsonl");
}

bool hsc__sweep_others_look(hsc__sweep_others *others, hsc__pool *pool) {
  int64_t start_ns = hsc_now_ns();
  char path[4400];
  struct stat info;
  if (start_ns < others->next_ns)
    return others->grows;
  snprintf(path, sizeof path, "%s/results", others->sweep->folder);
  DIR *folder = opendir(path);
  for (const struct dirent *entry; folder && (entry = readdir(folder));) {
    snprintf(path, sizeof path, "%s/results/%s", others->sweep->folder, entry->d_name);
    if (!is_shard(entry->d_name) || !strcmp(path, others->own) || stat(path, &info) != 0)
      continue;
    other *file = file_of(others, path);
    if (file && info.st_size > file->read)
      read_on(others, file, pool);
  }
  if (folder)
    closedir(folder);
  others->looked = true;
  int64_t end_ns = hsc_now_ns();
  others->next_ns = end_ns + LOOK_SHARE * (end_ns - start_ns);
  return others->grows;
}
