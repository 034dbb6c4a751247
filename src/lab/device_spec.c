// device_spec.c - reads device specs.
#include "lab/device_spec.h"

#include <errno.h>
#include <stdlib.h>

static const hsc_device_row ROWS[] = {
#define DEVICE(device_name, device_variants, kind, device_about, why, how) \
  {.name = device_name,                                                    \
   .variants = device_variants,                                            \
   .about = device_about,                                                  \
   .reason = why,                                                          \
   .install = how,                                                         \
   .source = HSC_DEVICE_##kind},
#include "lab/devices.def"
#undef DEVICE
};

size_t hsc_device_row_count(void) { return HSC_COUNT_OF(ROWS); }
const hsc_device_row *hsc_device_row_at(size_t index) { return &ROWS[index]; }

const char *hsc_default_device(void) {
  const char *chosen = getenv("HLOSCOPE_DEVICE");
  return chosen && *chosen ? chosen : "cpu";
}

hsc_status *hsc_builtin_plugin_path(hsc_arena *arena, const char **out_path) {
  static const char *const places[] = {"%s/libhloscope_cpu_pjrt.so", "%s/../lib/hloscope/libhloscope_cpu_pjrt.so",
                                       "%s/../lib/libhloscope_cpu_pjrt.so"};
  const char *chosen = getenv("HLOSCOPE_CPU_PLUGIN");
  if (chosen && *chosen) {
    *out_path = hsc_arena_strdup(arena, chosen);
    if (hsc_file_exists(chosen)) return hsc_arena_status(arena);
    return HSC_ERR(NOT_FOUND, "%s: the plugin named by HLOSCOPE_CPU_PLUGIN is not there", chosen);
  }
  char *directory = NULL;
  HSC_TRY(hsc_self_dir((const void *)(uintptr_t)&hsc_builtin_plugin_path, &directory));
  const char *first = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const char *path = hsc_arena_printf(arena, places[i], directory);
#pragma GCC diagnostic pop
    if (!first) first = path;
    if (!hsc_file_exists(path)) continue;
    hsc_free(directory);
    *out_path = path;
    return hsc_arena_status(arena);
  }
  hsc_free(directory);
  return hsc_status_hint(
      HSC_ERR(NOT_FOUND, "%s: the plugin of the built-in device is not there, nor in ../lib/hloscope or ../lib", first),
      "build it (make), or say where it is with HLOSCOPE_CPU_PLUGIN=FILE");
}

static hsc_status *parse_option(const char *spec, char *pair, hsc_device_option *out_option) {
  char *equals = strchr(pair, '=');
  if (!equals || equals == pair)
    return HSC_ERR(INVALID_ARGUMENT, "device '%s': option '%s' is not name=value", spec, pair);
  *equals = 0;
  const char *text = equals + 1;
  hsc_device_option option = {.name = pair, .text = text, .type = HSC_DEVICE_OPTION_TEXT};
  char *end = NULL;
  if (hsc_starts_with(text, "s:")) {
    option.text = text + 2;
  } else if (!strcmp(text, "true") || !strcmp(text, "false")) {
    option.type = HSC_DEVICE_OPTION_BOOL;
    option.boolean = text[0] == 't';
  } else if (*text) {
    errno = 0;
    option.integer = strtoll(text, &end, 10);
    if (*end == 0 && errno == 0) {
      option.type = HSC_DEVICE_OPTION_INT;
    } else {
      option.real = strtod(text, &end);
      if (*end == 0) option.type = HSC_DEVICE_OPTION_FLOAT;
    }
  }
  *out_option = option;
  return NULL;
}

static hsc_status *parse_path(const char *text, hsc_arena *arena, hsc_device_spec *spec) {
  char *path = hsc_arena_strdup(arena, text), *mark = strchr(path, '?');
  spec->plugin_path = path;
  spec->source = HSC_DEVICE_PATH;
  if (mark) {
    *mark++ = 0;
    size_t count = 1;
    for (const char *c = mark; *c; c++) count += *c == '&';
    spec->options = HSC_NEW_ARRAY(arena, hsc_device_option, count);
    HSC_TRY(hsc_arena_status(arena));
    for (char *pair = mark; pair;) {
      char *next = strchr(pair, '&');
      if (next) *next++ = 0;
      HSC_TRY(parse_option(text, pair, &spec->options[spec->option_count++]));
      pair = next;
    }
  }
  HSC_TRY(hsc_arena_status(arena));
  if (!hsc_file_exists(path))
    return hsc_status_hint(HSC_ERR(NOT_FOUND, "%s: no such plugin", path), "hloscope devices shows what is here");
  return NULL;
}

hsc_status *hsc_device_spec_parse(const char *text, hsc_arena *arena, hsc_device_spec *out_spec) {
  hsc_device_spec spec = {.text = hsc_arena_strdup(arena, text)};
  HSC_TRY(hsc_arena_status(arena));
  size_t length = strcspn(text, "?");
  bool is_path = memchr(text, '/', length) || (length > 3 && !strncmp(text + length - 3, ".so", 3));
  if (is_path) {
    HSC_TRY(parse_path(text, arena, &spec));
    *out_spec = spec;
    return NULL;
  }
  size_t name_length = strcspn(text, ":");
  const hsc_device_row *row = NULL;
  const char *names[HSC_COUNT_OF(ROWS)];
  for (size_t i = 0; i < HSC_COUNT_OF(ROWS); i++) {
    names[i] = ROWS[i].name;
    if (strlen(ROWS[i].name) == name_length && !strncmp(ROWS[i].name, text, name_length)) row = &ROWS[i];
  }
  if (!row) {
    const char *near = hsc_did_you_mean(text, names, HSC_COUNT_OF(ROWS));
    hsc_status *status = near ? HSC_ERR(INVALID_ARGUMENT, "unknown device '%s'; did you mean '%s'?", text, near)
                              : HSC_ERR(INVALID_ARGUMENT, "unknown device '%s'", text);
    return hsc_status_hint(status, "hloscope devices lists them; a plugin is given by its path: ./plugin.so");
  }
  if (text[name_length] == ':' && !*row->variants)
    return HSC_ERR(INVALID_ARGUMENT, "device '%s' has no variants, so '%s' means nothing", row->name, text);
  if (row->source == HSC_DEVICE_NOT_HERE)
    return hsc_status_hint(HSC_ERR(UNIMPLEMENTED, "%s: %s: %s", text, row->about, row->reason), "%s", row->install);
  if (row->source == HSC_DEVICE_BUILT_IN) HSC_TRY(hsc_builtin_plugin_path(arena, &spec.plugin_path));
  if (row->source == HSC_DEVICE_PYTHON) {
    HSC_TRY(hsc_python_package_dir(arena, &spec.python_dir));
    HSC_TRY(hsc_jaxlib_python(arena, &spec.plugin_path));
  }
  spec.source = row->source;
  *out_spec = spec;
  return NULL;
}
