// gate_names.c - which entry of a baseline is of a program, however its path is written.
//
// A baseline knows programs by their paths as they were given where it was written. Another folder
// to stand in, an absolute path or a leading ./ name the same file: an entry is then found by the
// end of the path, the longest that fits. That it is the same program its fingerprint says.
#include <limits.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "lab/gate/gate_internal.h"

// Without "./" and "../" before it.
static const char *without_dots(const char *path) {
  for (;;) {
    if (hsc_starts_with(path, "./"))
      path += 2;
    else if (hsc_starts_with(path, "../"))
      path += 3;
    else
      return path;
  }
}

// How much of the end of `path`, an absolute one, an entry's name is; 0 = it is not.
static size_t common_end(const char *path, const char *name) {
  const char *end = without_dots(name);
  size_t length = strlen(end);
  size_t all = strlen(path);
  bool fits = length && length < all && !strcmp(path + all - length, end);
  return fits && (*end == '/' || path[all - length - 1] == '/') ? length : 0;
}

static const char *name_of(const json_t *entry) {
  const char *name = json_string_value(json_object_get(entry, "program"));
  return name ? name : "";
}

json_t *hsc__gate_entry_named(json_t *baseline, const char *name) {
  json_t *entry;
  size_t i;
  json_array_foreach (json_object_get(baseline, "programs"), i, entry)
    if (!strcmp(name_of(entry), name))
      return entry;
  return NULL;
}

json_t *hsc__gate_entry_of(json_t *baseline, const char *program) {
  json_t *found = hsc__gate_entry_named(baseline, program);
  char path[PATH_MAX];
  size_t longest = 0;
  json_t *entry;
  size_t i;
  if (found || !realpath(program, path))
    return found;
  json_array_foreach (json_object_get(baseline, "programs"), i, entry) {
    size_t length = common_end(path, name_of(entry));
    if (length > longest) {
      longest = length;
      found = entry;
    }
  }
  return found;
}

bool hsc__gate_same_file(const char *a, const char *b) {
  char path_a[PATH_MAX];
  char path_b[PATH_MAX];
  if (!strcmp(a, b))
    return true;
  return realpath(a, path_a) && realpath(b, path_b) && !strcmp(path_a, path_b);
}
