// versions.c - packages and their versions, and entries that they exclude.
#include "doctor/versions.h"

#include <ctype.h>
#include <stdlib.h>

#include "doctor/doctor_internal.h"

enum { NAME_BYTES = 48, VERSION_BYTES = 48, PACKAGES_MAX = 64 };

typedef struct item {
  char name[NAME_BYTES], version[VERSION_BYTES];
  hsc_versions_source source;
  bool several;
} item;

struct hsc_versions {
  item items[PACKAGES_MAX];
  size_t count;
  uint64_t generation;
  // what was added last, package and version as they were given: logs say the same on every line
  char last[NAME_BYTES + VERSION_BYTES];
  size_t last_package, last_version;
};

// Names of compilers and of import packages for what pip calls otherwise.
static const char *const aliases[][2] = {
    {"neuronxcc", "neuronx-cc"}, {"neuronx-compiler", "neuronx-cc"}, {"neuronx", "neuronx-cc"}};

hsc_status *hsc_versions_create(hsc_versions **out_versions) {
  *out_versions = hsc_alloc(sizeof **out_versions);
  return *out_versions ? NULL : hsc_status_out_of_memory();
}
void hsc_versions_destroy(hsc_versions *versions) {
  hsc_free(versions);
}
uint64_t hsc_versions_generation(const hsc_versions *versions) {
  return versions->generation;
}
size_t hsc_versions_count(const hsc_versions *versions) {
  return versions->count;
}

static void normal_name(hsc_view package, char *out) {
  size_t size = 0;
  for (size_t i = 0; i < package.size && size + 1 < NAME_BYTES; i++) {
    char c = (char)tolower((unsigned char)package.data[i]);
    out[size++] = c == '_' || c == ' ' ? '-' : c;
  }
  out[size] = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(aliases); i++)
    if (!strcmp(out, aliases[i][0]))
      snprintf(out, NAME_BYTES, "%s", aliases[i][1]);
}

static item *find(const hsc_versions *versions, const char *name) {
  for (size_t i = 0; i < versions->count; i++)
    if (!strcmp(versions->items[i].name, name))
      return (item *)(uintptr_t)&versions->items[i];
  return NULL;
}

static int version_compare(const char *a, const char *b, int places);

hsc_status *hsc_versions_add(hsc_versions *versions,
                             hsc_view package,
                             hsc_view version,
                             hsc_versions_source source) {
  char name[NAME_BYTES], text[VERSION_BYTES];
  if (source == HSC_VERSIONS_FROM_LOG) {
    if (package.size == versions->last_package && version.size == versions->last_version &&
        !memcmp(versions->last, package.data, package.size) &&
        !memcmp(versions->last + package.size, version.data, version.size))
      return NULL;
    if (package.size < NAME_BYTES && version.size < VERSION_BYTES) {
      memcpy(versions->last, package.data, package.size);
      memcpy(versions->last + package.size, version.data, version.size);
      versions->last_package = package.size;
      versions->last_version = version.size;
    }
  }
  normal_name(package, name);
  // the sentence's full stop
  while (version.size && !isalnum((unsigned char)version.data[version.size - 1]))
    version.size--;
  if (!*name || !version.size || version.size >= VERSION_BYTES ||
      !isdigit((unsigned char)version.data[0]))
    return NULL;
  snprintf(text, sizeof text, "%.*s", (int)version.size, version.data);
  if (!strchr(text, '.'))
    return NULL;
  item *known = find(versions, name);
  versions->generation++;
  if (!known) {
    if (versions->count == PACKAGES_MAX)
      return NULL;
    known = &versions->items[versions->count++];
    *known = (item){.source = source};
    snprintf(known->name, sizeof known->name, "%s", name);
  } else if (known->source > source) {
    return NULL;
  } else if (known->source == source) {
    if (version_compare(known->version, text, 0) != 0)
      known->several = true;
    return NULL;
  }
  known->source = source;
  known->several = false;
  snprintf(known->version, sizeof known->version, "%s", text);
  return NULL;
}

bool hsc_is_package_version(const char *text) {
  const char *space = strrchr(text, ' ');
  return space && space > text && isdigit((unsigned char)space[1]) && strchr(space, '.');
}

hsc_status *hsc_versions_add_text(hsc_versions *versions,
                                  const char *text,
                                  hsc_versions_source source) {
  size_t name = strcspn(text, " =");
  const char *version = text + name + strspn(text + name, " =");
  if (!name || !isdigit((unsigned char)*version) || !strchr(version, '.'))
    return HSC_ERR(INVALID_ARGUMENT, "'%s' is no version of a package; it is written jax==0.4.30",
                   text);
  return hsc_versions_add(versions, (hsc_view){text, name}, hsc_view_of(version), source);
}

hsc_status *hsc_versions_add_environment(hsc_versions *versions, const char *program) {
  hsc__check_context cx = {.options = {.root = ""}, .python = program};
  HSC_TRY(hsc_arena_create(&cx.arena));
  hsc__python python;
  hsc_status *status = NULL;
  if (hsc__python_find(&cx, &python))
    for (size_t i = 0; i < python.package_count && !status; i++)
      status =
          hsc_versions_add(versions, hsc_view_of(python.packages[i].name),
                           hsc_view_of(python.packages[i].version), HSC_VERSIONS_FROM_ENVIRONMENT);
  if (!status)
    status = hsc_arena_status(cx.arena);
  hsc_arena_destroy(cx.arena);
  return status;
}

const char *hsc_versions_get(const hsc_versions *versions, const char *package) {
  const item *known = find(versions, package);
  return known && !known->several ? known->version : NULL;
}

static int places_of(const char *version) {
  int places = 1;
  for (; *version && (isdigit((unsigned char)*version) || *version == '.'); version++)
    places += *version == '.';
  return places;
}

// -1, 0, 1 as pip compares release numbers; with `places` > 0 only so many of them: 2.8.1 is 2.8 in
// two places.
static int version_compare(const char *a, const char *b, int places) {
  if (places <= 0)
    return hsc__version_compare(a, b);
  for (int i = 0; i < places; i++) {
    char *end_a, *end_b;
    long x = strtol(a, &end_a, 10);
    long y = strtol(b, &end_b, 10);
    if (x != y)
      return x < y ? -1 : 1;
    a = end_a + (*end_a == '.');
    b = end_b + (*end_b == '.');
  }
  return 0;
}

// The entry speaks of this package from (or up to) a version that the one here does not reach (or
// is beyond).
static const char *excluded_by(const hsc_versions *versions,
                               const char *const *bounds,
                               bool is_since,
                               hsc_arena *arena) {
  for (; *bounds; bounds++) {
    const char *space = strrchr(*bounds, ' ');
    if (!space || !hsc_is_package_version(*bounds))
      continue;  // "unknown", "any", "open"
    char name[NAME_BYTES];
    normal_name((hsc_view){*bounds, (size_t)(space - *bounds)}, name);
    const char *here = hsc_versions_get(versions, name);
    if (!here)
      continue;
    int order = version_compare(here, space + 1, places_of(space + 1));
    if (is_since ? order >= 0 : order <= 0)
      continue;
    const char *text = NULL;
    if (arena)
      text = hsc_arena_printf(arena, "%s %s, and %s is %s here", is_since ? "since" : "until",
                              *bounds, name, here);
    return text ? text : "excluded";
  }
  return NULL;
}

const char *hsc_versions_exclude(const hsc_versions *versions,
                                 const hsc_entry *entry,
                                 hsc_arena *arena) {
  if (!versions->count)
    return NULL;
  const char *because = excluded_by(versions, entry->since, true, arena);
  return because ? because : excluded_by(versions, entry->until, false, arena);
}
