// disk_cache.c - see disk_cache.h.
#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/files/file_io.h"
#include "base/files/disk_cache.h"
#include "base/files/private_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// a writer that has not finished by then is dead
static const int64_t LEFT_BEHIND_NS = (int64_t)600 * 1000000000;

enum { BINDING_SEED = 0x6b6579 };

typedef struct entry_header {
  char magic[4];     // "HSCX"
  uint32_t version;  // 2
  uint64_t key_bytes, information_bytes, payload_bytes;
  int64_t created_ns;
  hsc_hash128 hash;  // of all that follows, seeded by created_ns
} entry_header;

static hsc_hash128 hash_of(const hsc_bytes *file, const entry_header *header) {
  return hsc_hash128_of(file->data + sizeof *header, file->size - sizeof *header,
                        (uint64_t)header->created_ns);
}

void hsc_disk_cache_name(hsc_view key_text, char out_name[33]) {
  hsc_hash128_hex(hsc_hash128_of(key_text.data, key_text.size, 0), out_name);
}

static const char *header_problem(const entry_header *header, size_t file_bytes) {
  if (file_bytes < sizeof *header)
    return "cut off in its header";
  if (memcmp(header->magic, "HSCX", 4))
    return "not an entry of a cache";
  if (header->version != 2)
    return "written by another version of hloscope";
  uint64_t left = file_bytes - sizeof *header;
  if (header->key_bytes > left || header->information_bytes > left - header->key_bytes ||
      header->payload_bytes != left - header->key_bytes - header->information_bytes)
    return "cut off, or something is after it";
  return NULL;
}

static hsc_status *path_of(const char *dir, hsc_view key_text, hsc_bytes *out_path) {
  char name[33];
  hsc_disk_cache_name(key_text, name);
  hsc_bytes_printf(out_path, "%s/%s.hsx", dir, name);
  return hsc_bytes_status(out_path);
}

// ---- one entry ----------------------------------------------------------------------------------

hsc_status *hsc_disk_cache_read(const char *path,
                                hsc_bytes *out_key,
                                hsc_bytes *out_information,
                                hsc_bytes *out_payload) {
  hsc_bytes file = {0};
  hsc_status *status = NULL;
  entry_header header = {0};
  HSC_GOTO(hsc_private_file_read(path, &file));
  memcpy(&header, hsc_bytes_text(&file), file.size < sizeof header ? file.size : sizeof header);
  const char *problem = header_problem(&header, file.size);
  if (!problem) {
    hsc_hash128 hash = hash_of(&file, &header);
    if (hash.low != header.hash.low || hash.high != header.hash.high)
      problem = "its bytes were changed";
  }
  if (problem)
    HSC_GOTO(HSC_ERR(DATA_LOSS, "%s: %s", path, problem));
  const char *at = file.data + sizeof header;
  if (out_key)
    hsc_bytes_append(out_key, at, header.key_bytes);
  at += header.key_bytes;
  if (out_information)
    hsc_bytes_append(out_information, at, header.information_bytes);
  at += header.information_bytes;
  if (out_payload)
    hsc_bytes_append(out_payload, at, header.payload_bytes);
  if (out_key)
    HSC_GOTO(hsc_bytes_status(out_key));
  if (out_information)
    HSC_GOTO(hsc_bytes_status(out_information));
  if (out_payload)
    HSC_GOTO(hsc_bytes_status(out_payload));
done:
  hsc_bytes_deinit(&file);
  return status;
}

hsc_status *hsc_disk_cache_get(const char *dir,
                               hsc_view key_text,
                               hsc_bytes *out_payload,
                               bool *out_found) {
  *out_found = false;
  hsc_bytes path = {0};
  hsc_bytes key = {0};
  size_t start = out_payload->size;
  struct stat info;
  if (stat(dir, &info) < 0)
    return NULL;
  const char *problem = hsc_private_problem(&info);
  if (problem) {
    hsc_log("cache", 1, "%s: %s: nothing is taken from it", dir, problem);
    return NULL;
  }
  hsc_status *status = path_of(dir, key_text, &path);
  if (!status) {
    status = hsc_disk_cache_read(hsc_bytes_text(&path), &key, NULL, out_payload);
    if (!status)
      *out_found = hsc_view_equals(hsc_bytes_view(&key), key_text);
    // Not there, not readable, damaged, of another key: a miss.
    if (hsc_status_code(status) == HSC_PERMISSION_DENIED)
      hsc_log("cache", 1, "%s", hsc_status_message(status));
    if (status && hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED) {
      hsc_status_free(status);
      status = NULL;
    }
  }
  // a directory that cannot be written serves as well
  if (*out_found)
    utimensat(AT_FDCWD, hsc_bytes_text(&path), NULL, 0);
  else
    out_payload->size = start;
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&key);
  return status;
}

hsc_status *hsc_disk_cache_put(const char *dir,
                               hsc_view key_text,
                               hsc_view information,
                               hsc_view payload) {
  HSC_TRY(hsc_private_dir_make(dir));
  entry_header header = {{'H', 'S', 'C', 'X'}, 2,     key_text.size, information.size, payload.size,
                         hsc_wall_ns(),        {0, 0}};
  hsc_bytes path = {0};
  hsc_bytes file = {0};
  hsc_bytes_append(&file, &header, sizeof header);
  hsc_bytes_append(&file, key_text.data, key_text.size);
  hsc_bytes_append(&file, information.data, information.size);
  hsc_bytes_append(&file, payload.data, payload.size);
  hsc_status *status = path_of(dir, key_text, &path);
  if (!status)
    status = hsc_bytes_status(&file);
  if (!status) {
    header.hash = hash_of(&file, &header);
    memcpy(file.data, &header, sizeof header);
    status = hsc_private_file_write(hsc_bytes_text(&path), file.data, file.size);
  }
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&file);
  return status;
}

// ---- payloads that know their key ---------------------------------------------------------------

void hsc_disk_cache_bind(hsc_view key_text, hsc_bytes *out_payload) {
  hsc_hash128 bound = hsc_hash128_of(key_text.data, key_text.size, BINDING_SEED);
  hsc_bytes_append(out_payload, &bound, sizeof bound);
}

hsc_status *hsc_disk_cache_unbind(hsc_view key_text, hsc_view payload, hsc_view *out_rest) {
  hsc_hash128 wanted = hsc_hash128_of(key_text.data, key_text.size, BINDING_SEED);
  hsc_hash128 bound;
  *out_rest = (hsc_view){NULL, 0};
  if (payload.size < sizeof bound)
    return HSC_ERR(DATA_LOSS, "cut off before its key");
  memcpy(&bound, payload.data, sizeof bound);
  if (bound.low != wanted.low || bound.high != wanted.high)
    return HSC_ERR(DATA_LOSS, "made for another program or other options than its name says");
  *out_rest = (hsc_view){payload.data + sizeof bound, payload.size - sizeof bound};
  return NULL;
}

hsc_view hsc_disk_cache_line(const char *text, const char *what) {
  size_t length = strlen(what);
  for (const char *at = text; at && *at;) {
    const char *end = strchr(at, '\n');
    size_t size = end ? (size_t)(end - at) : strlen(at);
    if (size > length && !memcmp(at, what, length) && at[length] == ' ')
      return (hsc_view){at + length + 1, size - length - 1};
    at = end ? end + 1 : NULL;
  }
  return (hsc_view){NULL, 0};
}

// ---- all of them --------------------------------------------------------------------------------

static int64_t time_ns(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_ours(const char *file_name, hsc_disk_entry_state *out_state) {
  size_t hex = strspn(file_name, "0123456789abcdef");
  if (hex != 32 || strncmp(file_name + 32, ".hsx", 4))
    return false;
  *out_state = file_name[36] ? HSC_DISK_ENTRY_UNFINISHED : HSC_DISK_ENTRY_WHOLE;
  // mkostemp's six characters
  return !file_name[36] || (file_name[36] == '.' && strlen(file_name) == 43);
}

// Header, key and information; the payload stays where it is.
static void look_into(hsc_disk_entry *entry, hsc_arena *arena) {
  entry_header header = {0};
  int fd = open(entry->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == EACCES) {
    entry->state = HSC_DISK_ENTRY_UNREADABLE;
    entry->problem = "may not be read by this user";
    return;
  }
  ssize_t got = fd < 0 ? -1 : read(fd, &header, sizeof header);
  const char *problem;
  if (got < 0)
    problem = "cannot be read";
  else if ((size_t)got < sizeof header)
    problem = "cut off in its header";
  else
    problem = header_problem(&header, (size_t)entry->bytes);
  uint64_t texts = header.key_bytes + header.information_bytes;
  if (!problem && texts > 1 << 26)
    problem = "a key of more than 64 MB";
  if (!problem) {
    char *key = hsc_arena_alloc(arena, header.key_bytes + 1);
    char *information = hsc_arena_alloc(arena, header.information_bytes + 1);
    if (!key || !information ||
        pread(fd, key, header.key_bytes, sizeof header) != (ssize_t)header.key_bytes ||
        pread(fd, information, header.information_bytes,
              (off_t)(sizeof header + header.key_bytes)) != (ssize_t)header.information_bytes) {
      problem = "cannot be read";
    } else {
      entry->key = key;
      entry->information = information;
      entry->created_ns = header.created_ns;
    }
  }
  if (problem) {
    entry->state = HSC_DISK_ENTRY_DAMAGED;
    entry->problem = problem;
  }
  if (fd >= 0)
    close(fd);
}

static int by_use(const void *a, const void *b) {
  const hsc_disk_entry *x = a;
  const hsc_disk_entry *y = b;
  if (x->used_ns < y->used_ns)
    return -1;
  if (x->used_ns > y->used_ns)
    return 1;
  return strcmp(x->name, y->name);
}

hsc_status *hsc_disk_cache_list(const char *dir,
                                hsc_arena *arena,
                                hsc_disk_entry **out_entries,
                                int *out_count) {
  hsc_bytes list = {0};
  *out_entries = NULL;
  *out_count = 0;
  DIR *folder = opendir(dir);
  if (!folder)
    return errno == ENOENT ? NULL : hsc_status_errno(errno, "cannot list", dir);
  for (struct dirent *item; (item = readdir(folder));) {
    hsc_disk_entry entry = {.key = "", .information = "", .problem = ""};
    struct stat info;
    if (!is_ours(item->d_name, &entry.state) ||
        fstatat(dirfd(folder), item->d_name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
      continue;
    entry.name = hsc_arena_strndup(
        arena, item->d_name, entry.state == HSC_DISK_ENTRY_UNFINISHED ? strlen(item->d_name) : 32);
    entry.path = hsc_arena_printf(arena, "%s/%s", dir, item->d_name);
    if (hsc_bytes_status(&list) || !entry.name || !entry.path)
      break;
    entry.bytes = info.st_size;
    entry.used_ns = entry.created_ns = time_ns(info.st_mtim);
    if (entry.state == HSC_DISK_ENTRY_WHOLE)
      look_into(&entry, arena);
    else
      entry.problem = "a writer did not finish it";
    hsc_bytes_append(&list, &entry, sizeof entry);
  }
  closedir(folder);
  hsc_status *status = hsc_bytes_status(&list);
  if (!status)
    status = hsc_arena_status(arena);
  if (!status && list.size) {
    *out_count = (int)(list.size / sizeof(hsc_disk_entry));
    qsort(list.data, (size_t)*out_count, sizeof(hsc_disk_entry), by_use);
    *out_entries = hsc_arena_copy(arena, list.data, list.size);
    status = hsc_arena_status(arena);
  }
  hsc_bytes_deinit(&list);
  return status;
}

// ---- removing -----------------------------------------------------------------------------------

static void remove_entry(const hsc_disk_entry *entry,
                         const hsc_disk_prune *how,
                         hsc_disk_pruned *out) {
  if (!how->dry && unlink(entry->path) && errno != ENOENT) {
    out->kept++;
    out->refused++;
    out->kept_bytes += entry->bytes;
    return;
  }
  out->removed++;
  out->removed_bytes += entry->bytes;
}

hsc_status *hsc_disk_cache_prune(const char *dir, const hsc_disk_prune *how, hsc_disk_pruned *out) {
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  hsc_disk_entry *entries;
  hsc_bytes lock_path = {0};
  int count = 0;
  int lock = -1;
  *out = (hsc_disk_pruned){0};
  struct stat info;
  if (stat(dir, &info))
    return errno == ENOENT ? NULL : hsc_status_errno(errno, "cannot look into", dir);
  HSC_GOTO(hsc_arena_create(&arena));
  hsc_bytes_printf(&lock_path, "%s/lock", dir);
  HSC_GOTO(hsc_bytes_status(&lock_path));
  if (!how->dry) {
    HSC_GOTO(hsc_private_file_open(lock_path.data, &lock));
    if (flock(lock, LOCK_EX))
      HSC_GOTO(hsc_status_errno(errno, "cannot lock", lock_path.data));
  }
  HSC_GOTO(hsc_disk_cache_list(dir, arena, &entries, &count));
  int64_t now = hsc_wall_ns();
  int64_t total = 0;
  bool *gone = HSC_NEW_ARRAY(arena, bool, count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    int64_t age = now - entries[i].used_ns;
    // a younger one is still being written
    if (entries[i].state == HSC_DISK_ENTRY_UNFINISHED)
      gone[i] = age > LEFT_BEHIND_NS;
    else
      gone[i] = (how->max_age_ns >= 0 && age > how->max_age_ns) ||
                (how->damaged && entries[i].state == HSC_DISK_ENTRY_DAMAGED) ||
                (how->drop && entries[i].state == HSC_DISK_ENTRY_WHOLE &&
                 how->drop(&entries[i], how->user));
    if (!gone[i])
      total += entries[i].bytes;
  }
  for (int i = 0; i < count && how->max_bytes >= 0 && total > how->max_bytes; i++) {
    if (gone[i] || entries[i].state == HSC_DISK_ENTRY_UNFINISHED)
      continue;
    gone[i] = true;
    total -= entries[i].bytes;
  }
  for (int i = 0; i < count; i++) {
    if (gone[i]) {
      remove_entry(&entries[i], how, out);
    } else {
      out->kept++;
      out->kept_bytes += entries[i].bytes;
    }
  }
done:
  if (lock >= 0)
    close(lock);
  hsc_bytes_deinit(&lock_path);
  hsc_arena_destroy(arena);
  return status;
}
