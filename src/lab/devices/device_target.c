// device_target.c - descriptions of devices that compilers are given in place of hardware.
#include <dirent.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "base/files/places.h"
#include "base/text/text.h"
#include "lab/devices/devices.h"

enum { MOST_TARGETS = 128 };
#define SUFFIX ".pbtxt"

static hsc_status *targets_dir(hsc_arena *arena, const char **out_path) {
  return hsc_place_find_data("HLOSCOPE_TARGETS", "targets", "descriptions of targets", arena,
                             out_path);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

hsc_status *hsc_target_names(const char *kind, hsc_arena *arena, const char *const **out_names) {
  const char *dir;
  const char **names = HSC_NEW_ARRAY(arena, const char *, MOST_TARGETS + 1);
  size_t count = 0;
  HSC_TRY(targets_dir(arena, &dir));
  DIR *open = opendir(hsc_arena_printf(arena, "%s/%s", dir, kind));
  for (struct dirent *e; open && count < MOST_TARGETS && (e = readdir(open));)
    if (hsc_ends_with(e->d_name, SUFFIX))
      names[count++] = hsc_arena_strndup(arena, e->d_name, strlen(e->d_name) - strlen(SUFFIX));
  if (open)
    closedir(open);
  HSC_TRY(hsc_arena_status(arena));
  qsort(names, count, sizeof *names, by_name);
  names[count] = NULL;
  *out_names = names;
  return NULL;
}

hsc_status *hsc_target_read(const char *kind,
                            const char *name,
                            hsc_arena *arena,
                            const char **out_text) {
  const char *dir;
  const char *path = name;
  hsc_bytes bytes = {0};
  if (!strchr(name, '/')) {
    const char *const *names;
    hsc_bytes all = {0};
    size_t count = 0;
    HSC_TRY(targets_dir(arena, &dir));
    HSC_TRY(hsc_target_names(kind, arena, &names));
    path = NULL;
    for (; names[count]; count++) {
      if (!strcmp(names[count], name))
        path = hsc_arena_printf(arena, "%s/%s/%s" SUFFIX, dir, kind, name);
      hsc_bytes_printf(&all, "%s%s", count ? ", " : "", names[count]);
    }
    if (!path) {
      const char *near = hsc_did_you_mean(name, names, count);
      hsc_status *status =
          near ? HSC_ERR(INVALID_ARGUMENT, "unknown %s target '%s'; did you mean '%s'?", kind, name,
                         near)
               : HSC_ERR(INVALID_ARGUMENT, "unknown %s target '%s'", kind, name);
      status = hsc_status_usage(hsc_status_hint(status, "known: %s", hsc_bytes_text(&all)));
      hsc_bytes_deinit(&all);
      return status;
    }
    hsc_bytes_deinit(&all);
  }
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status)
    *out_text = hsc_arena_strndup(arena, hsc_bytes_text(&bytes), bytes.size);
  hsc_bytes_deinit(&bytes);
  return status ? status : hsc_arena_status(arena);
}

const char *hsc_target_value(const char *text, const char *key, hsc_arena *arena) {
  size_t length = strlen(key);
  for (const char *line = text; line && *line;
       line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
    if (strncmp(line, key, length) != 0 || line[length] != ':')
      continue;
    const char *value = line + length + 1;
    value += strspn(value, " \t");
    size_t size = strcspn(value, "\n#");
    if (*value == '"') {
      value++;
      size = strcspn(value, "\"\n");
    }
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\r'))
      size--;
    return hsc_arena_strndup(arena, value, size);
  }
  return NULL;
}
