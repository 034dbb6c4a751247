// python_site.c - which packages the Python environment holds, found without starting Python.
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text/text.h"
#include "doctor/doctor_internal.h"

enum { PACKAGES_MAX = 64, ITEMS_MAX = 4096 };

// Packages that have to do with XLA; the others are not read.
static const char *const wanted[] = {"jax",
                                     "jaxlib",
                                     "libtpu",
                                     "libtpu-nightly",
                                     "torch",
                                     "torch-xla",
                                     "torch-neuronx",
                                     "neuronx-cc",
                                     "libneuronxla",
                                     "jax-neuronx",
                                     "neuronx-distributed",
                                     "numpy",
                                     "ml-dtypes",
                                     "jax-cuda12-plugin",
                                     "jax-cuda12-pjrt",
                                     "jax-cuda13-plugin",
                                     "jax-cuda13-pjrt",
                                     "jax-rocm60-plugin",
                                     "jax-rocm60-pjrt",
                                     "jax-rocm7-plugin",
                                     "jax-rocm7-pjrt",
                                     "jax-metal",
                                     "intel-extension-for-openxla",
                                     "optimum-neuron",
                                     "hloscope"};

static bool is_wanted(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(wanted); i++)
    if (!strcmp(wanted[i], name))
      return true;
  return false;
}

// PEP 503: lower case, runs of -_. are one '-'.
static const char *normal_name(hsc__check_context *cx, const char *text, size_t length) {
  char *name = hsc_arena_strndup(cx->arena, text, length);
  size_t out = 0;
  for (size_t i = 0; name && i < length; i++) {
    char c = (char)tolower((unsigned char)name[i]);
    if (c == '_' || c == '.')
      c = '-';
    if (c == '-' && out && name[out - 1] == '-')
      continue;
    name[out++] = c;
  }
  if (name)
    name[out] = 0;
  return name ? name : "";
}

static void read_packages(hsc__check_context *cx, hsc__python *python, const char *site) {
  static const char suffix[] = ".dist-info";
  const char **items = HSC_NEW_ARRAY(cx->arena, const char *, ITEMS_MAX);
  size_t count = items ? hsc__list(cx, site, "", items, ITEMS_MAX) : 0;
  for (size_t i = 0; i < count && python->package_count < PACKAGES_MAX; i++) {
    if (!hsc_ends_with(items[i], suffix))
      continue;
    size_t stem = strlen(items[i]) - (sizeof suffix - 1);
    size_t dash = stem;
    while (dash && items[i][dash - 1] != '-')
      dash--;
    if (!dash)
      continue;
    const char *name = normal_name(cx, items[i], dash - 1);
    // the first site wins, as in Python
    if (!is_wanted(name) || hsc__python_package(python, name))
      continue;
    const char *metadata = hsc__read(cx, hsc__path(cx, "%s/%s/METADATA", site, items[i]));
    python->packages[python->package_count++] =
        (hsc__package){.name = name,
                       .version = hsc_arena_strndup(cx->arena, items[i] + dash, stem - dash),
                       .site = site,
                       .metadata = metadata ? metadata : ""};
  }
}

static void add_site(hsc__check_context *cx, hsc__python *python, const char *site) {
  if (!hsc__exists(site) || python->site_count == HSC_COUNT_OF(python->sites))
    return;
  python->sites[python->site_count++] = site;
  read_packages(cx, python, site);
}

static void add_prefix(hsc__check_context *cx, hsc__python *python, const char *prefix) {
  const char *versions[16];
  size_t count =
      hsc__list(cx, hsc__path(cx, "%s/lib", prefix), "python3.", versions, HSC_COUNT_OF(versions));
  while (count--) {
    add_site(cx, python, hsc__path(cx, "%s/lib/%s/site-packages", prefix, versions[count]));
    add_site(cx, python, hsc__path(cx, "%s/lib/%s/dist-packages", prefix, versions[count]));
  }
}

// The prefix of the python3 that PATH finds: the parent of its bin.
static const char *prefix_on_path(hsc__check_context *cx) {
  const char *path = hsc__env(cx, "PATH");
  while (path && *path) {
    size_t length = strcspn(path, ":");
    const char *directory = hsc_arena_strndup(cx->arena, path, length);
    if (length && access(hsc__path(cx, "%s/python3", directory), X_OK) == 0) {
      const char *slash = strrchr(directory, '/');
      return slash ? hsc_arena_strndup(cx->arena, directory, (size_t)(slash - directory)) : NULL;
    }
    path += length + (path[length] == ':');
  }
  return NULL;
}

bool hsc__python_find(hsc__check_context *cx, hsc__python *out) {
  *out = (hsc__python){.packages = HSC_NEW_ARRAY(cx->arena, hsc__package, PACKAGES_MAX)};
  if (!out->packages)
    return false;
  const char *named = cx->python ? cx->python : hsc__env(cx, "HLOSCOPE_PYTHON");
  const char *venv = hsc__env(cx, "VIRTUAL_ENV");
  const char *conda = hsc__env(cx, "CONDA_PREFIX");
  const char *extra = hsc__env(cx, "PYTHONPATH");
  if (named && *named) {
    const char *slash = strrchr(named, '/');
    const char *bin = slash ? hsc_arena_strndup(cx->arena, named, (size_t)(slash - named)) : "";
    const char *up = strrchr(bin, '/');
    out->prefix = up ? hsc_arena_strndup(cx->arena, bin, (size_t)(up - bin)) : "";
    out->how = cx->python ? cx->python : "HLOSCOPE_PYTHON";
  } else if (venv && *venv) {
    out->prefix = venv;
    out->how = "VIRTUAL_ENV";
  } else if (conda && *conda) {
    out->prefix = conda;
    out->how = "CONDA_PREFIX";
  } else {
    out->prefix = prefix_on_path(cx);
    out->how = "python3 on PATH";
  }
  if (!out->prefix)
    return false;
  while (extra && *extra) {
    size_t length = strcspn(extra, ":");
    if (length)
      add_site(cx, out, hsc__path(cx, "%s", hsc_arena_strndup(cx->arena, extra, length)));
    extra += length + (extra[length] == ':');
  }
  add_prefix(cx, out, out->prefix);
  if (!strcmp(out->prefix, "/usr")) {
    add_prefix(cx, out, "/usr/local");
    add_site(cx, out, hsc__path(cx, "/usr/lib/python3/dist-packages"));
  }
  return true;
}

const hsc__package *hsc__python_package(const hsc__python *python, const char *name) {
  for (size_t i = 0; i < python->package_count; i++)
    if (!strcmp(python->packages[i].name, name))
      return &python->packages[i];
  return NULL;
}

// The next number of a release, or -1 where it ends; pre-releases (rc, a, b, dev) are given by
// *out_pre.
static long next_number(const char **at, bool *out_pre) {
  if (**at == '.')
    ++*at;
  if (isdigit((unsigned char)**at)) {
    char *end;
    long value = strtol(*at, &end, 10);
    *at = end;
    return value;
  }
  if (**at && **at != '+' && !hsc_starts_with(*at, "post"))
    *out_pre = true;
  return -1;
}

int hsc__version_compare(const char *a, const char *b) {
  bool pre_a = false;
  bool pre_b = false;
  for (;;) {
    long x = next_number(&a, &pre_a);
    long y = next_number(&b, &pre_b);
    if (x < 0 && y < 0)
      break;
    if (x < 0)
      x = 0;  // 2.0 is 2.0.0
    if (y < 0)
      y = 0;
    if (x != y)
      return x < y ? -1 : 1;
  }
  if (pre_a == pre_b)
    return 0;
  if (pre_a)
    return -1;
  return 1;
}

static bool one_specifier(const char *version, const char *text, size_t length) {
  static const char *const operators[] = {"===", "~=", "==", "!=", "<=", ">=", "<", ">"};
  char wanted_version[64];
  while (length && *text == ' ') {
    text++;
    length--;
  }
  size_t op = 0;
  while (op < HSC_COUNT_OF(operators) && !hsc_starts_with(text, operators[op]))
    op++;
  if (op == HSC_COUNT_OF(operators))
    return true;
  size_t skip = strlen(operators[op]);
  snprintf(wanted_version, sizeof wanted_version, "%.*s", (int)(length - skip), text + skip);
  char *start = wanted_version + strspn(wanted_version, " ");
  start[strcspn(start, " ")] = 0;
  size_t size = strlen(start);
  bool any_after = size > 2 && !strcmp(start + size - 2, ".*");
  if (any_after)
    start[size - 1] = 0;  // "1.2." is compared as a prefix
  int order;
  if (any_after) {
    if (hsc_starts_with(version, start))
      order = 0;
    else
      order = 1;
  } else
    order = hsc__version_compare(version, start);
  switch (op) {
    case 1:
      return order >= 0;
    case 3:
      return order != 0;
    case 4:
      return order <= 0;
    case 5:
      return order >= 0;
    case 6:
      return order < 0;
    case 7:
      return order > 0;
    default:
      return order == 0;
  }
}

bool hsc__version_satisfies(const char *version, const char *specifiers) {
  while (*specifiers) {
    size_t length = strcspn(specifiers, ",");
    if (!one_specifier(version, specifiers, length))
      return false;
    specifiers += length + (specifiers[length] == ',');
  }
  return true;
}
