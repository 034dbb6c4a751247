// check_python.c - frameworks and their plugins in the Python environment.
#include <stdlib.h>

#include "base/text/text.h"
#include "doctor/doctor_internal.h"
#include "pjrt/client.h"

static const struct framework_row {
  const char *package, *version;
  int minor, least;
} frameworks[] = {
#define FRAMEWORK(package, version, minor, least) {package, version, minor, least},
#include "doctor/pjrt_versions.def"
#undef FRAMEWORK
};

// "Requires-Dist: jaxlib<=0.4.30,>=0.4.28" or "jaxlib (<=0.4.30)"; what is meant for extras or
// other systems is left out.
static void check_requirements(hsc__check_context *cx,
                               const hsc__python *python,
                               const hsc__package *package) {
  static const char key[] = "Requires-Dist: ";
  for (const char *row = package->metadata; row && *row;
       row = strchr(row, '\n'), row = row ? row + 1 : NULL) {
    if (!hsc_starts_with(row, key))
      continue;
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(row + sizeof key - 1, "\n;"),
             row + sizeof key - 1);
    if (row[sizeof key - 1 + strlen(text)] == ';')
      continue;
    size_t name = strcspn(text, " (<>=!~[");
    char *specifiers = text + name;
    char *close = strrchr(specifiers, ')');
    if (close)
      *close = 0;
    specifiers += strspn(specifiers, " (");
    char needed[64];
    snprintf(needed, sizeof needed, "%.*s", (int)name, text);
    for (char *c = needed; *c; c++)
      if (*c == '_' || *c == '.')
        *c = '-';
    const hsc__package *other = hsc__python_package(python, needed);
    if (!other || !*specifiers || *specifiers == '[' ||
        hsc__version_satisfies(other->version, specifiers))
      continue;
    hsc__say(cx, HSC_VERDICT_ERROR, "%s %s needs %s%s, but %s is installed", package->name,
             package->version, needed, specifiers, other->version);
    hsc__fix(cx, "pip install '%s%s'", needed, specifiers);
  }
}

static bool same_release(const char *a, const char *b, int numbers) {
  while (numbers--) {
    char *end_a, *end_b;
    if (strtol(a, &end_a, 10) != strtol(b, &end_b, 10))
      return false;
    a = *end_a == '.' ? end_a + 1 : end_a;
    b = *end_b == '.' ? end_b + 1 : end_b;
  }
  return true;
}

// Pairs that must be of one release, though pip does not enforce it.
static void check_pairs(hsc__check_context *cx, const hsc__python *python) {
  static const struct {
    const char *a, *b;
    int numbers;
    const char *why;
  } pairs[] = {
      {"torch", "torch-xla", 2,
       "torch_xla is built for one release of torch; another gives undefined symbols at import"},
      {"torch", "torch-neuronx", 2, "torch-neuronx follows the release of torch"},
      {"jaxlib", "jax-cuda12-plugin", 3, "JAX does not use a CUDA plugin of another release"},
      {"jaxlib", "jax-cuda13-plugin", 3, "JAX does not use a CUDA plugin of another release"},
      {"jax-cuda12-plugin", "jax-cuda12-pjrt", 3,
       "both parts of the CUDA plugin are of one release"},
      {"jax-cuda13-plugin", "jax-cuda13-pjrt", 3,
       "both parts of the CUDA plugin are of one release"},
      {"jaxlib", "jax-rocm60-plugin", 3, "JAX does not use a ROCm plugin of another release"}};
  for (size_t i = 0; i < HSC_COUNT_OF(pairs); i++) {
    const hsc__package *a = hsc__python_package(python, pairs[i].a);
    const hsc__package *b = hsc__python_package(python, pairs[i].b);
    if (!a || !b || same_release(a->version, b->version, pairs[i].numbers))
      continue;
    hsc__say(cx, HSC_VERDICT_ERROR, "%s %s beside %s %s: %s", a->name, a->version, b->name,
             b->version, pairs[i].why);
    hsc__fix(cx, "install %s of release %s", b->name, a->version);
  }
  const hsc__package *jax = hsc__python_package(python, "jax");
  const hsc__package *jaxlib = hsc__python_package(python, "jaxlib");
  if (jax && !jaxlib) {
    hsc__say(cx, HSC_VERDICT_ERROR, "jax %s without jaxlib", jax->version);
    hsc__fix(cx, "pip install jaxlib==%s", jax->version);
  } else if (jax && jaxlib && hsc__version_compare(jaxlib->version, jax->version) > 0) {
    hsc__say(cx, HSC_VERDICT_ERROR, "jaxlib %s is newer than jax %s", jaxlib->version,
             jax->version);
    hsc__fix(cx, "pip install jax==%s", jaxlib->version);
  }
}

void hsc__check_frameworks(hsc__check_context *cx) {
  hsc__python python;
  if (!hsc__python_find(cx, &python)) {
    hsc__say(cx, HSC_VERDICT_NOT_APPLICABLE, "no Python on PATH");
    return;
  }
  if (!python.package_count) {
    hsc__say(cx, HSC_VERDICT_NOT_APPLICABLE, "no XLA framework in %s (%s)", python.prefix,
             python.how);
    return;
  }
  hsc_bytes list = {0};
  for (size_t i = 0; i < python.package_count; i++)
    hsc_bytes_printf(&list, "%s%s %s", i ? ", " : "", python.packages[i].name,
                     python.packages[i].version);
  hsc__say(cx, HSC_VERDICT_OK, "%s (%s): %s", python.prefix, python.how, hsc_bytes_text(&list));
  hsc_bytes_deinit(&list);
  for (size_t i = 0; i < python.package_count; i++)
    check_requirements(cx, &python, &python.packages[i]);
  check_pairs(cx, &python);
}

static const struct framework_row *row_of(const hsc__package *package) {
  for (size_t i = 0; i < HSC_COUNT_OF(frameworks); i++) {
    size_t length = strlen(frameworks[i].version);
    if (strcmp(frameworks[i].package, package->name) != 0 ||
        strncmp(package->version, frameworks[i].version, length) != 0)
      continue;
    if (!length || !package->version[length] || package->version[length] == '.')
      return &frameworks[i];
  }
  return NULL;
}

static void check_plugin(hsc__check_context *cx,
                         const hsc__python *python,
                         const char *path,
                         bool strict) {
  hsc_plugin *plugin = NULL;
  hsc_status *status = hsc_plugin_open(path, &plugin);
  if (status) {
    hsc__say(cx, HSC_VERDICT_ERROR, "%s cannot be loaded: %s", path, hsc_status_message(status));
    hsc__fix(cx, "install what it names, or reinstall the package");
    hsc_status_free(status);
    return;
  }
  int minor = hsc_plugin_minor(plugin);
  hsc__say(cx, HSC_VERDICT_OK, "%s speaks PJRT 0.%d", hsc_plugin_name(plugin), minor);
  for (size_t i = 0; i < python->package_count; i++) {
    const struct framework_row *row = row_of(&python->packages[i]);
    if (!row)
      continue;
    const hsc__package *package = &python->packages[i];
    if (minor < row->least) {
      hsc__say(cx, HSC_VERDICT_ERROR, "%s %s aborts over it: it takes 0.%d and newer",
               package->name, package->version, row->least);
      hsc__fix(cx, "a newer plugin, or an older %s", package->name);
    } else if (strict && row->minor >= 0 && row->minor != minor) {
      hsc__say(cx, HSC_VERDICT_WARNING, "%s %s speaks 0.%d, and this plugin compares strictly",
               package->name, package->version, row->minor);
      hsc__fix(cx, "take the versions of one Neuron release together");
    }
  }
  hsc_plugin_close(plugin);
}

// Libraries of a folder that look like PJRT plugins.
static size_t check_plugins_in(hsc__check_context *cx,
                               const hsc__python *python,
                               const char *directory,
                               bool strict) {
  const char *names[64];
  size_t count = hsc__list(cx, directory, "", names, HSC_COUNT_OF(names));
  size_t seen = 0;
  for (size_t i = 0; i < count; i++) {
    bool fits =
        hsc_ends_with(names[i], ".so") &&
        (strstr(names[i], "plugin") || strstr(names[i], "pjrt") || !strcmp(names[i], "libtpu.so"));
    if (!fits)
      continue;
    check_plugin(cx, python, hsc__path(cx, "%s/%s", directory, names[i]), strict);
    seen++;
  }
  return seen;
}

void hsc__check_plugins(hsc__check_context *cx) {
  hsc__python python;
  if (!hsc__python_find(cx, &python))
    return;
  size_t seen = 0;
  for (size_t s = 0; s < python.site_count; s++) {
    const char *folders[32];
    const char *jax_plugins = hsc__path(cx, "%s/jax_plugins", python.sites[s]);
    size_t count = hsc__list(cx, jax_plugins, "", folders, HSC_COUNT_OF(folders));
    for (size_t i = 0; i < count; i++)
      seen += check_plugins_in(cx, &python, hsc__path(cx, "%s/%s", jax_plugins, folders[i]), false);
    seen += check_plugins_in(cx, &python, hsc__path(cx, "%s/libtpu", python.sites[s]), false);
    seen += check_plugins_in(cx, &python, hsc__path(cx, "%s/libneuronxla", python.sites[s]), true);
  }
  const char *named = hsc__env(cx, "PJRT_NAMES_AND_LIBRARY_PATHS");
  while (named && *named) {
    size_t length = strcspn(named, ",");
    size_t name = strcspn(named, ":");
    if (name < length) {
      const char *path =
          hsc__path(cx, "%s", hsc_arena_strndup(cx->arena, named + name + 1, length - name - 1));
      if (hsc_ends_with(path, ".so")) {
        check_plugin(cx, &python, path, false);
        seen++;
      }
    } else {
      hsc__say(cx, HSC_VERDICT_ERROR, "PJRT_NAMES_AND_LIBRARY_PATHS: '%.*s' is not NAME:FILE",
               (int)length, named);
      hsc__fix(cx, "PJRT_NAMES_AND_LIBRARY_PATHS=name:/path/plugin.so");
    }
    named += length + (named[length] == ',');
  }
  if (!seen)
    hsc__say(cx, HSC_VERDICT_NOT_APPLICABLE, "no PJRT plugin in %s (XLA:CPU is inside jaxlib)",
             python.prefix);
}

void hsc__check_sync_api(hsc__check_context *cx) {
  hsc__python python;
  const hsc__package *package =
      hsc__python_find(cx, &python) ? hsc__python_package(&python, "torch-xla") : NULL;
  if (!package)
    return;
  static const struct {
    const char *file, *text, *call;
  } places[] = {{"torch_xla.py", "\ndef sync(", "torch_xla.sync()"},
                {"core/xla_model.py", "\ndef mark_step(", "xm.mark_step()"},
                {"core/xla_model.py", "\ndef wait_device_ops(", "xm.wait_device_ops()"}};
  size_t found = 0;
  bool has_sync = false;
  for (size_t i = 0; i < HSC_COUNT_OF(places); i++) {
    const char *text =
        hsc__read(cx, hsc__path(cx, "%s/torch_xla/%s", package->site, places[i].file));
    bool there = text && strstr(text, places[i].text);
    found += there;
    if (i == 0)
      has_sync = there;
    hsc__say(cx, HSC_VERDICT_OK, "%s %s", places[i].call, there ? "is there" : "is not there");
  }
  if (!found) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "torch_xla %s has none of the functions that run what was recorded", package->version);
    hsc__fix(cx, "reinstall torch_xla");
  } else {
    hsc__fix(cx, has_sync ? "use torch_xla.sync(); xm.sync() does not exist"
                          : "use xm.mark_step(); torch_xla.sync() came with 2.4");
  }
}
