// device_find.c - looks for vendors' plugins on this machine.
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/process/child.h"
#include "base/text/text.h"
#include "base/process/python.h"
#include "lab/devices/devices.h"

enum { MOST_SITES = 32, MOST_PLUGINS = 64 };
static const int64_t ASK_LIMIT_NS = INT64_C(5) * 1000000000;

// The next of `text`'s words between separators, in the arena; NULL at the end. *at moves.
static const char *next_word(const char **at, const char *separators, hsc_arena *arena) {
  *at += strspn(*at, separators);
  if (!**at)
    return NULL;
  size_t length = strcspn(*at, separators);
  const char *word = hsc_arena_strndup(arena, *at, length);
  *at += length;
  return word;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names in a directory that end in `suffix` (or start with `prefix`), sorted; none when it cannot
// be read.
static size_t list_dir(const char *dir,
                       const char *prefix,
                       const char *suffix,
                       hsc_arena *arena,
                       const char **names,
                       size_t room) {
  DIR *open = opendir(dir);
  size_t count = 0;
  for (struct dirent *e; open && count < room && (e = readdir(open));)
    if (e->d_name[0] != '.' && hsc_starts_with(e->d_name, prefix) &&
        hsc_ends_with(e->d_name, suffix))
      names[count++] = hsc_arena_strdup(arena, e->d_name);
  if (open)
    closedir(open);
  if (count)
    qsort(names, count, sizeof *names, by_name);
  return count;
}

// ---- Pythons ------------------------------------------------------------------------------------

static void add_site(const char *path, const char **sites, size_t *count) {
  if (!path || *count + 1 >= MOST_SITES || !hsc_file_exists(path))
    return;
  for (size_t i = 0; i < *count; i++)
    if (!strcmp(sites[i], path))
      return;
  sites[(*count)++] = path;
}

// <prefix>/lib/python3.N/{site,dist}-packages and Debian's <prefix>/lib/python3/dist-packages.
static void add_prefix(const char *prefix, hsc_arena *arena, const char **sites, size_t *count) {
  const char *versions[16];
  const char *lib = hsc_arena_printf(arena, "%s/lib", prefix);
  size_t version_count = list_dir(lib, "python3", "", arena, versions, HSC_COUNT_OF(versions));
  for (size_t i = version_count; i-- > 0;) {
    add_site(hsc_arena_printf(arena, "%s/%s/site-packages", lib, versions[i]), sites, count);
    add_site(hsc_arena_printf(arena, "%s/%s/dist-packages", lib, versions[i]), sites, count);
  }
}

// The directory above the one that holds the program `name` on PATH: where a Python's lib is. NULL
// when it is not there.
static const char *prefix_on_path(const char *name, hsc_arena *arena) {
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "", *dir; (dir = next_word(&at, ":", arena));)
    if (access(hsc_arena_printf(arena, "%s/%s", dir, name), X_OK) == 0)
      return hsc_arena_printf(arena, "%s/..", dir);
  return NULL;
}

// A python3 that is a script which starts another one (pyenv, asdf) has no lib beside it: it is
// asked.
static void add_asked(hsc_arena *arena, const char **sites, size_t *count) {
  static const char question[] = HSC_PYTHON_SAFE
      "import os, sysconfig; os.write(3, (sysconfig.get_path('purelib') + '\\n').encode())";
  const char *const argv[] = {"python3", "-S", "-c", question, NULL};
  hsc_child *child = NULL;
  hsc_bytes line = {0};
  hsc_status *status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
  if (!status)
    status = hsc_child_read_line(child, ASK_LIMIT_NS, &line);
  if (!status)
    add_site(hsc_arena_strdup(arena, hsc_bytes_text(&line)), sites, count);
  hsc_status_free(status);  // a Python that does not answer has nothing for us
  hsc_bytes_deinit(&line);
  hsc_child_destroy(child);
}

hsc_status *hsc_python_sites(hsc_arena *arena, const char *const **out_sites) {
  const char *named = getenv("HLOSCOPE_PYTHON");
  const char *active = getenv("VIRTUAL_ENV");
  const char *home = getenv("HOME");
  const char **sites = HSC_NEW_ARRAY(arena, const char *, MOST_SITES);
  size_t count = 0;
  char *cache = NULL;
  hsc_status_free(hsc_cache_dir(&cache));  // without one there is no environment of ours
  const char *own = cache ? hsc_arena_printf(arena, "%s/venv", cache) : NULL;
  hsc_free(cache);
  HSC_TRY(hsc_arena_status(arena));
  if (named && *named) {
    const char *slash = strrchr(named, '/');
    add_prefix(slash ? hsc_arena_printf(arena, "%.*s/..", (int)(slash - named), named)
                     : prefix_on_path(named, arena),
               arena, sites, &count);
  }
  if (active && *active)
    add_prefix(active, arena, sites, &count);
  const char *beside = NULL;
  const char *own_site = NULL;
  HSC_TRY(hsc_python_of_program(arena, &beside, &own_site));
  add_site(own_site, sites, &count);
  const char *system = prefix_on_path("python3", arena);
  if (system) {
    size_t before = count;
    add_prefix(system, arena, sites, &count);
    if (count == before)
      add_asked(arena, sites, &count);
    if (home)
      add_prefix(hsc_arena_printf(arena, "%s/.local", home), arena, sites, &count);
  }
  if (own)
    add_prefix(own, arena, sites, &count);
  sites[count] = NULL;
  *out_sites = sites;
  return hsc_arena_status(arena);
}

// ---- one vendor's plugin ------------------------------------------------------------------------

static bool is_file(const char *path, const char **out_path, hsc_bytes *looked) {
  if (path && access(path, R_OK) == 0) {
    *out_path = path;
    return true;
  }
  hsc_bytes_printf(looked, "%s%s", looked->size ? ", " : "", path ? path : "?");
  return false;
}

static bool find_plugin(const hsc_vendor *vendor,
                        hsc_arena *arena,
                        const char *const *sites,
                        hsc_bytes *looked,
                        const char **out) {
  const char *own = getenv("HLOSCOPE_PLUGIN_PATH");
  const char *jax = getenv("PJRT_NAMES_AND_LIBRARY_PATHS");
  for (const char *at = own ? own : "", *item; (item = next_word(&at, ":", arena));) {
    if (!strcmp(hsc_path_file(item), vendor->file) && is_file(item, out, looked))
      return true;
    if (!hsc_ends_with(item, ".so") &&
        is_file(hsc_arena_printf(arena, "%s/%s", item, vendor->file), out, looked))
      return true;
  }
  for (const char *at = jax ? jax : "", *item; (item = next_word(&at, ",", arena));) {
    const char *colon = strchr(item, ':');
    if (colon && !strncmp(item, vendor->device, (size_t)(colon - item)) &&
        !vendor->device[colon - item] && hsc_ends_with(colon, ".so") &&
        is_file(colon + 1, out, looked))
      return true;
  }
  const char *tpu = getenv("TPU_LIBRARY_PATH");
  if (!strcmp(vendor->device, "tpu") && tpu && *tpu &&
      is_file(hsc_arena_strdup(arena, tpu), out, looked))
    return true;
  for (size_t i = 0; sites[i]; i++)
    for (const char *at = vendor->in_python, *dir; (dir = next_word(&at, " ", arena));)
      if (is_file(hsc_arena_printf(arena, "%s/%s/%s", sites[i], dir, vendor->file), out, looked))
        return true;
  for (const char *at = vendor->elsewhere, *dir; (dir = next_word(&at, " ", arena));)
    if (is_file(hsc_arena_printf(arena, "%s/%s", dir, vendor->file), out, looked))
      return true;
  return false;
}

hsc_status *hsc_vendor_plugin_path(const hsc_vendor *vendor,
                                   hsc_arena *arena,
                                   const char **out_path) {
  const char *const *sites;
  hsc_bytes looked = {0};
  HSC_TRY(hsc_python_sites(arena, &sites));
  bool found = find_plugin(vendor, arena, sites, &looked, out_path);
  hsc_status *status = hsc_arena_status(arena);
  if (!status && !found) {
    status = HSC_ERR(NOT_FOUND, "%s: its plugin %s is not on this machine", vendor->device,
                     vendor->file);
    status = hsc_status_note(status, "looked at %s", hsc_bytes_text(&looked));
    status = *vendor->packages
                 ? hsc_status_hint(status, "hloscope devices --install %s", vendor->device)
                 : hsc_status_hint(status,
                                   "install the vendor's own package, or say where its plugin is: "
                                   "HLOSCOPE_PLUGIN_PATH=DIRECTORY");
  }
  hsc_bytes_deinit(&looked);
  return status;
}

// The hardware of a vendor as the kernel shows it; only asked where it decides something.
static bool has_tpu(void) {
  return hsc_file_exists("/dev/accel0") || hsc_file_exists("/dev/vfio/0");
}

hsc_status *hsc_vendor_environment(const hsc_vendor *vendor,
                                   bool ahead_of_time,
                                   hsc_arena *arena,
                                   const char *const **out_environment) {
  const char **list = HSC_NEW_ARRAY(arena, const char *, 16);
  size_t count = 0;
  HSC_TRY(hsc_arena_status(arena));
  bool on_hardware = !ahead_of_time && !strcmp(vendor->device, "tpu") && has_tpu();
  for (const char *at = on_hardware ? "" : vendor->environment, *item;
       count < 15 && (item = next_word(&at, " ", arena));)
    list[count++] = item;
  list[count] = NULL;
  *out_environment = list;
  return hsc_arena_status(arena);
}

// ---- all others ---------------------------------------------------------------------------------

typedef struct plugin_list {
  hsc_arena *arena;
  hsc_found_plugin *plugins;
  size_t count;
} plugin_list;

static void add_plugin(plugin_list *list, const char *name, const char *path, const char *where) {
  const char *file = hsc_path_file(path);
  if (list->count >= MOST_PLUGINS || access(path, R_OK) != 0)
    return;
  if (hsc_vendor_of_file(file))  // has a row of its own
    return;
  for (size_t i = 0; i < list->count; i++)
    if (!strcmp(list->plugins[i].path, path))
      return;
  list->plugins[list->count++] = (hsc_found_plugin){.name = name, .path = path, .where = where};
}

static void add_directory(plugin_list *list, const char *dir, const char *name, const char *where) {
  const char *files[MOST_PLUGINS];
  size_t count = list_dir(dir, "", ".so", list->arena, files, HSC_COUNT_OF(files));
  for (size_t i = 0; i < count; i++)
    add_plugin(list, name ? name : files[i], hsc_arena_printf(list->arena, "%s/%s", dir, files[i]),
               where);
}

hsc_status *hsc_plugins_find(hsc_arena *arena, hsc_found_plugin **out_plugins, size_t *out_count) {
  const char *own = getenv("HLOSCOPE_PLUGIN_PATH");
  const char *jax = getenv("PJRT_NAMES_AND_LIBRARY_PATHS");
  plugin_list list = {.arena = arena,
                      .plugins = HSC_NEW_ARRAY(arena, hsc_found_plugin, MOST_PLUGINS)};
  const char *const *sites;
  HSC_TRY(hsc_python_sites(arena, &sites));
  for (const char *at = own ? own : "", *item; (item = next_word(&at, ":", arena));) {
    if (hsc_ends_with(item, ".so"))
      add_plugin(&list, hsc_path_file(item), item, "HLOSCOPE_PLUGIN_PATH");
    else
      add_directory(&list, item, NULL, "HLOSCOPE_PLUGIN_PATH");
  }
  for (const char *at = jax ? jax : "", *item; (item = next_word(&at, ",", arena));) {
    const char *colon = strchr(item, ':');
    if (colon)
      add_plugin(&list, hsc_arena_strndup(arena, item, (size_t)(colon - item)), colon + 1,
                 "PJRT_NAMES_AND_LIBRARY_PATHS");
  }
  for (size_t i = 0; sites[i]; i++) {
    const char *packages[MOST_PLUGINS];
    const char *dir = hsc_arena_printf(arena, "%s/jax_plugins", sites[i]);
    size_t count = list_dir(dir, "", "", arena, packages, HSC_COUNT_OF(packages));
    for (size_t k = 0; k < count; k++)
      add_directory(&list, hsc_arena_printf(arena, "%s/%s", dir, packages[k]), packages[k],
                    "jax_plugins");
  }
  *out_plugins = list.plugins;
  *out_count = list.count;
  return hsc_arena_status(arena);
}
