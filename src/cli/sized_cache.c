// sized_cache.c - see sized_cache.h.
#include "cli/sized_cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/bytes.h"
#include "base/core/clock.h"
#include "base/files/file_io.h"

static hsc_status *sized_dir(hsc_arena *arena, const char **out_dir) {
  char *cache = NULL;
  HSC_TRY(hsc_cache_dir(&cache));
  *out_dir = hsc_arena_printf(arena, "%s/sized", cache);
  hsc_free(cache);
  return hsc_arena_status(arena);
}

hsc_status *hsc_sized_folder(uint64_t hash, hsc_arena *arena, const char **out_path) {
  const char *dir;
  HSC_TRY(sized_dir(arena, &dir));
  *out_path = hsc_arena_printf(arena, "%s/%016llx", dir, (unsigned long long)hash);
  HSC_TRY(hsc_arena_status(arena));
  return hsc_dir_make(*out_path);
}

// The files of one program's folder.
static void list_copies(const char *folder, hsc_arena *arena, hsc_bytes *io_list) {
  DIR *files = opendir(folder);
  if (!files)
    return;
  for (struct dirent *item; (item = readdir(files)) != NULL;) {
    hsc_sized_entry entry = {.path = hsc_arena_printf(arena, "%s/%s", folder, item->d_name)};
    struct stat info;
    if (!entry.path || lstat(entry.path, &info) || !S_ISREG(info.st_mode))
      continue;
    entry.name = hsc_arena_strdup(arena, item->d_name);
    entry.bytes = info.st_size;
    entry.used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    hsc_bytes_append(io_list, &entry, sizeof entry);
  }
  closedir(files);
}

static int by_use(const void *a, const void *b) {
  int64_t x = ((const hsc_sized_entry *)a)->used_ns;
  int64_t y = ((const hsc_sized_entry *)b)->used_ns;
  return (x > y) - (x < y);
}

hsc_status *hsc_sized_list(hsc_arena *arena,
                           const char **out_dir,
                           hsc_sized_entry **out_entries,
                           int *out_count) {
  hsc_bytes list = {0};
  *out_entries = NULL;
  *out_count = 0;
  HSC_TRY(sized_dir(arena, out_dir));
  DIR *folders = opendir(*out_dir);
  if (!folders)
    return errno == ENOENT ? NULL : hsc_status_errno(errno, "cannot look into", *out_dir);
  for (struct dirent *item; (item = readdir(folders)) != NULL;) {
    const char *folder = hsc_arena_printf(arena, "%s/%s", *out_dir, item->d_name);
    if (item->d_name[0] != '.' && folder)
      list_copies(folder, arena, &list);
  }
  closedir(folders);
  hsc_status *status = hsc_bytes_status(&list);
  if (!status && list.size) {
    *out_count = (int)(list.size / sizeof(hsc_sized_entry));
    qsort(list.data, (size_t)*out_count, sizeof(hsc_sized_entry), by_use);
    *out_entries = hsc_arena_copy(arena, list.data, list.size);
  }
  if (!status)
    status = hsc_arena_status(arena);
  hsc_bytes_deinit(&list);
  return status;
}

// The copy, and its folder when it was the last one there.
static bool remove_copy(const hsc_sized_entry *entry) {
  if (unlink(entry->path) && errno != ENOENT)
    return false;
  char folder[4096];
  size_t length = strlen(entry->path) - strlen(entry->name);
  if (length > 1 && length < sizeof folder) {
    memcpy(folder, entry->path, length - 1);
    folder[length - 1] = 0;
    (void)rmdir(folder);  // refused while others are in it
  }
  return true;
}

hsc_status *hsc_sized_remove(const hsc_sized_prune *how, hsc_disk_pruned *io_pruned) {
  const char *dir;
  hsc_sized_entry *entries;
  int count;
  int64_t left = 0;
  hsc_arena *arena = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_sized_list(arena, &dir, &entries, &count));
  for (int i = 0; i < count; i++)
    left += entries[i].bytes;
  int64_t now = hsc_wall_ns();
  for (int i = 0; i < count; i++) {
    const hsc_sized_entry *entry = &entries[i];
    int64_t age = now - entry->used_ns;
    bool goes = (how->max_age_ns >= 0 && age > how->max_age_ns) ||
                (how->max_bytes >= 0 && left > how->max_bytes);
    goes &= age >= how->spared_ns;
    bool gone = goes && (how->dry || remove_copy(entry));
    io_pruned->refused += goes && !gone;
    io_pruned->removed += gone;
    io_pruned->kept += !gone;
    *(gone ? &io_pruned->removed_bytes : &io_pruned->kept_bytes) += entry->bytes;
    left -= gone ? entry->bytes : 0;
  }
done:
  hsc_arena_destroy(arena);
  return status;
}
