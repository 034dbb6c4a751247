// places.c - see places.h.
#include "base/files/places.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/files/file_io.h"

// Folders under the prefix, as meson was told; one outside of the prefix is absolute.
static const char *const FOLDERS[] = {
    [HSC_PLACE_PROGRAM] = HSC_BIN_DIR,
    [HSC_PLACE_MODULE] = HSC_MODULE_DIR,
    [HSC_PLACE_DATA] = HSC_DATA_DIR,
};

enum { MOST_LEVELS = 3, MOST_TRIED = 1 + 1 + MOST_LEVELS };

// What is before `folder` at the end of `directory`; 0 when it does not end so.
static size_t prefix_length(const char *directory, const char *folder) {
  size_t whole = strlen(directory);
  size_t part = strlen(folder);
  if (whole <= part || directory[whole - part - 1] != '/' ||
      strcmp(directory + whole - part, folder))
    return 0;
  return whole - part;
}

// The places in their order looked at, at most MOST_TRIED.
static size_t candidates(
    hsc_place place, const char *name, const char *self, hsc_arena *arena, const char **paths) {
  static const char *const own_folders[] = {HSC_MODULE_DIR, HSC_LIB_DIR, HSC_BIN_DIR};
  size_t count = 0;
  size_t prefix = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(own_folders) && !prefix; i++)
    prefix = prefix_length(self, own_folders[i]);
  if (FOLDERS[place][0] == '/')
    paths[count++] = hsc_arena_printf(arena, "%s/%s", FOLDERS[place], name);
  else if (prefix)
    paths[count++] = hsc_arena_printf(arena, "%.*s%s/%s", (int)prefix, self, FOLDERS[place], name);
  // In a build the products lie side by side, tests and benchmarks below them, data above them.
  for (const char *up = ""; count < MOST_TRIED; up = hsc_arena_printf(arena, "%s/..", up))
    paths[count++] = hsc_arena_printf(arena, "%s%s/%s", self, up ? up : "", name);
  return count;
}

hsc_status *hsc_place_find(hsc_place place,
                           const char *name,
                           hsc_arena *arena,
                           const char **out_path) {
  char *self = NULL;
  const char *paths[MOST_TRIED];
  HSC_TRY(hsc_self_dir((const void *)(uintptr_t)&hsc_place_find, &self));
  size_t count = candidates(place, name, self, arena, paths);
  hsc_free(self);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < count; i++) {
    char *real = hsc_file_exists(paths[i]) ? realpath(paths[i], NULL) : NULL;
    if (!real)
      continue;
    *out_path = hsc_arena_strdup(arena, real);
    free(real);
    return hsc_arena_status(arena);
  }
  return HSC_ERR(NOT_FOUND, "%s is neither at %s nor at %s", name, paths[0], paths[1]);
}

hsc_status *hsc_place_find_data(const char *variable,
                                const char *name,
                                const char *what,
                                hsc_arena *arena,
                                const char **out_path) {
  const char *chosen = getenv(variable);
  if (chosen && *chosen) {
    *out_path = hsc_arena_strdup(arena, chosen);
    return hsc_arena_status(arena);
  }
  hsc_status *status = hsc_place_find(HSC_PLACE_DATA, name, arena, out_path);
  if (!status || hsc_status_code(status) != HSC_NOT_FOUND)
    return status;
  hsc_status *told =
      hsc_status_hint(HSC_ERR(NOT_FOUND, "no %s: %s", what, hsc_status_message(status)),
                      "say where it is with %s=DIRECTORY", variable);
  hsc_status_free(status);
  return told;
}

void *hsc_place_open(
    const char *own, const char *const *names, int flags, char *problem, size_t problem_size) {
  hsc_arena *arena = NULL;
  const char *path = NULL;
  hsc_status *status = hsc_arena_create(&arena);
  if (!status)
    status = hsc_place_find(HSC_PLACE_MODULE, own, arena, &path);
  void *library = status ? NULL : dlopen(path, flags);
  bool told = !status && !library;
  if (told && problem)
    snprintf(problem, problem_size, "%s", dlerror());
  hsc_status_free(status);
  hsc_arena_destroy(arena);
  for (size_t i = 0; names[i] && !library; i++) {
    library = dlopen(names[i], flags);
    if (!library && !told && problem)
      snprintf(problem, problem_size, "%s", dlerror());
    told |= !library;
  }
  return library;
}
