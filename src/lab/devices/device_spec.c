// device_spec.c - reads device specs.
#include "base/core/ints.h"
#include "base/files/file_io.h"
#include "base/files/places.h"
#include "base/text/text.h"
#include "lab/devices/device_version.h"
#include "lab/devices/devices.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <strings.h>

const char *hsc_default_device(void) {
  const char *chosen = getenv("HLOSCOPE_DEVICE");
  return chosen && *chosen ? chosen : "cpu";
}

hsc_status *hsc_builtin_plugin_path(hsc_arena *arena, const char **out_path) {
  const char *chosen = getenv("HLOSCOPE_CPU_PLUGIN");
  if (chosen && *chosen) {
    *out_path = hsc_arena_strdup(arena, chosen);
    if (hsc_file_exists(chosen))
      return hsc_arena_status(arena);
    return HSC_ERR(NOT_FOUND, "%s: the plugin named by HLOSCOPE_CPU_PLUGIN is not there", chosen);
  }
  return hsc_status_hint(
      hsc_place_find(HSC_PLACE_MODULE, "libhloscope_cpu_pjrt.so", arena, out_path),
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
      if (*end == 0)
        option.type = HSC_DEVICE_OPTION_FLOAT;
    }
  }
  *out_option = option;
  return NULL;
}

static hsc_status *parse_path(const char *text, hsc_arena *arena, hsc_device_spec *spec) {
  char *path = hsc_arena_strdup(arena, text);
  char *mark = strchr(path, '?');
  spec->plugin_path = path;
  spec->source = HSC_DEVICE_PATH;
  if (mark) {
    *mark++ = 0;
    size_t count = 1;
    for (const char *c = mark; *c; c++)
      count += *c == '&';
    spec->options = HSC_NEW_ARRAY(arena, hsc_device_option, count);
    HSC_TRY(hsc_arena_status(arena));
    for (char *pair = mark; pair;) {
      char *next = strchr(pair, '&');
      if (next)
        *next++ = 0;
      hsc_device_option option;
      HSC_TRY(parse_option(text, pair, &option));
      if (!strcmp(option.name, "ahead-of-time"))
        spec->topology = option.text;
      else
        spec->options[spec->option_count++] = option;
      pair = next;
    }
  }
  HSC_TRY(hsc_arena_status(arena));
  if (!hsc_file_exists(path))
    return hsc_status_hint(HSC_ERR(NOT_FOUND, "%s: no such plugin", path),
                           "hloscope devices shows what is here");
  return NULL;
}

// ---- vendors' compilers -------------------------------------------------------------------------

static hsc_device_option text_option(const char *name, const char *text) {
  return (hsc_device_option){.name = name, .text = text, .type = HSC_DEVICE_OPTION_TEXT};
}

// The libdevice and ptxas that XLA:GPU needs: beside the plugin's package, where it looks by
// itself, else of an installed toolkit, which it must be told of.
static hsc_status *find_cuda_data(hsc_arena *arena, hsc_device_spec *spec) {
  const char *slash = strrchr(spec->plugin_path, '/');
  const char *home = getenv("CUDA_HOME");
  const char *dir =
      slash ? hsc_arena_strndup(arena, spec->plugin_path, (size_t)(slash - spec->plugin_path))
            : ".";
  const char *const beside[] = {hsc_arena_printf(arena, "%s/../nvidia/cuda_nvcc", dir),
                                hsc_arena_printf(arena, "%s/../../nvidia/cuda_nvcc", dir),
                                hsc_arena_printf(arena, "%s/../../nvidia/cu13", dir)};
  const char *const toolkits[] = {home, "/usr/local/cuda", "/opt/cuda"};
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < HSC_COUNT_OF(beside); i++)
    if (hsc_file_exists(beside[i]))
      return NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(toolkits); i++) {
    if (!toolkits[i] || !hsc_file_exists(hsc_arena_printf(arena, "%s/nvvm/libdevice", toolkits[i])))
      continue;
    spec->compile_options = HSC_NEW_ARRAY(arena, hsc_device_option, 1);
    HSC_TRY(hsc_arena_status(arena));
    spec->compile_options[spec->compile_option_count++] =
        text_option("xla_gpu_cuda_data_dir", hsc_arena_strdup(arena, toolkits[i]));
    return hsc_arena_status(arena);
  }
  return NULL;  // the compiler says what it misses when a program needs it
}

enum { MOST_DEVICES = 4096, GPUS_A_HOST = 8 };

// How many devices "4" says, behind a colon.
static hsc_status *parse_count(const hsc_device_spec *spec, const char *text, int *out_count) {
  char *end;
  errno = 0;
  long count = strtol(text, &end, 10);
  if (end == text || *end || errno || count < 1 || count > MOST_DEVICES)
    return hsc_status_usage(hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is not a number of devices, 1 to %d", spec->text, text,
                MOST_DEVICES),
        "%.*s:4 is four of them", (int)(strlen(spec->text) - strlen(text) - 1), spec->text));
  *out_count = (int)count;
  return NULL;
}

// cuda:TARGET[:COUNT]: the plugin ignores the topology's name; the target's text and the shape
// (slices, hosts of a slice, GPUs of a host) say it all.
static hsc_status *cuda_ahead(const char *variant, hsc_arena *arena, hsc_device_spec *spec) {
  const char *text;
  const char *colon = strchr(variant, ':');
  int count = 1;
  if (colon && !strchr(colon, '/')) {
    HSC_TRY(parse_count(spec, colon + 1, &count));
    variant = hsc_arena_strndup(arena, variant, (size_t)(colon - variant));
  }
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(hsc_target_read("gpu", variant, arena, &text));
  bool whole_hosts = count % GPUS_A_HOST == 0;
  const char *shape = hsc_arena_printf(arena, "1x%dx%d", whole_hosts ? count / GPUS_A_HOST : 1,
                                       whole_hosts ? GPUS_A_HOST : count);
  HSC_TRY(hsc_arena_status(arena));
  const char *memory = hsc_target_value(text, "  device_memory_size", arena);
  spec->memory_bytes = memory ? strtoll(memory, NULL, 10) : 0;
  spec->device_count = count;
  spec->topology = "";
  spec->options = HSC_NEW_ARRAY(arena, hsc_device_option, 2);
  HSC_TRY(hsc_arena_status(arena));
  spec->options[spec->option_count++] = text_option("target_config", text);
  spec->options[spec->option_count++] = text_option("topology", shape);
  return NULL;
}

// tpu:GENERATION[:SHAPE]. The number of dimensions of a shape is the generation's; what sizes there
// are, the plugin knows.
static hsc_status *tpu_ahead(const char *variant, hsc_arena *arena, hsc_device_spec *spec) {
  const char *colon = strchr(variant, ':');
  const char *text;
  const char *generation =
      colon ? hsc_arena_strndup(arena, variant, (size_t)(colon - variant)) : variant;
  HSC_TRY(hsc_target_read("tpu", generation, arena, &text));
  const char *name = hsc_target_value(text, "platform_type_name", arena);
  const char *single = hsc_target_value(text, "topology", arena);
  if (!name || !single)
    return HSC_ERR(DATA_LOSS, "%s: the target names no platform_type_name or no topology",
                   spec->text);
  const char *shape = colon ? colon + 1 : single;
  size_t wanted = 1;
  size_t given = 1;
  size_t letters = strspn(shape, "0123456789x");
  for (const char *c = single; *c; c++)
    wanted += *c == 'x';
  for (const char *c = shape; *c; c++)
    given += *c == 'x';
  const char *rest = shape + letters;
  if (!*shape || (*rest && strcmp(rest, "_twisted") != 0 && strcmp(rest, "_untwisted") != 0) ||
      given != wanted)
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is not the shape of a topology: %s has %zu dimensions",
                spec->text, shape, generation, wanted),
        "tpu:%s:%s is one chip, tpu:%s:%s are four", generation, single, generation,
        wanted == 2 ? "2x2" : "2x2x1");
  const char *memory = hsc_target_value(text, "memory_bytes", arena);
  const char *devices = hsc_target_value(text, "devices_per_chip", arena);
  int64_t each = devices ? strtoll(devices, NULL, 10) : 1;
  spec->memory_bytes = memory ? strtoll(memory, NULL, 10) / hsc_max(each, 1) : 0;
  spec->topology = hsc_arena_printf(arena, "%s:%s", name, shape);
  return hsc_arena_status(arena);
}

// The plugin of a release of its own.
static hsc_status *release_plugin(const hsc_vendor *vendor,
                                  const char *version,
                                  hsc_arena *arena,
                                  const char **out_path) {
  const char *python = NULL;
  const char *directory = NULL;
  const char *at = vendor->in_python;
  HSC_TRY(hsc_release_environment(vendor, version, arena, &python, &directory));
  while (*(at += strspn(at, " "))) {
    size_t length = strcspn(at, " ");
    const char *pattern = hsc_arena_printf(arena, "%s/lib/python3*/site-packages/%.*s/%s",
                                           directory, (int)length, at, vendor->file);
    glob_t found = {0};
    HSC_TRY(hsc_arena_status(arena));
    if (glob(pattern, 0, NULL, &found) == 0) {
      *out_path = hsc_arena_strdup(arena, found.gl_pathv[0]);
      globfree(&found);
      return hsc_arena_status(arena);
    }
    at += length;
  }
  return HSC_ERR(NOT_FOUND, "%s: the release has no %s", directory, vendor->file);
}

static hsc_status *parse_vendor(const hsc_device_row *row,
                                const char *variant,
                                const char *version,
                                hsc_arena *arena,
                                hsc_device_spec *spec) {
  const hsc_vendor *vendor = hsc_vendor_get(row->name);
  bool is_cuda = !strcmp(row->name, "cuda");
  if (variant)
    HSC_TRY(is_cuda ? cuda_ahead(variant, arena, spec) : tpu_ahead(variant, arena, spec));
  if (version)
    HSC_TRY(release_plugin(vendor, version, arena, &spec->plugin_path));
  else
    HSC_TRY(hsc_vendor_plugin_path(vendor, arena, &spec->plugin_path));
  HSC_TRY(hsc_vendor_environment(vendor, variant != NULL, arena, &spec->environment));
  return is_cuda ? find_cuda_data(arena, spec) : NULL;
}

// "cuda:h100@0.8.0": the variant and the release, NULL where there is none.
static hsc_status *split_name(const hsc_device_row *row,
                              const hsc_device_spec *spec,
                              hsc_arena *arena,
                              const char **out_variant,
                              const char **out_version) {
  const hsc_vendor *vendor = hsc_vendor_get(row->name);
  const char *at = strrchr(spec->text, '@');
  const char *colon = strchr(spec->text, ':');
  *out_version = at ? at + 1 : NULL;
  *out_variant = NULL;
  if (colon && (!at || colon < at))
    *out_variant =
        hsc_arena_strndup(arena, colon + 1, at ? (size_t)(at - colon - 1) : strlen(colon + 1));
  if (at && (!vendor || !*vendor->packages))
    return HSC_ERR(INVALID_ARGUMENT, "device '%s' has no releases in a package index: '%s'",
                   row->name, spec->text);
  if (at && !hsc_release_is_one(at + 1))
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is not a version", spec->text, at + 1),
        "a release is after the @: xla-cpu@0.7.1");
  return hsc_arena_status(arena);
}

// What people call a device elsewhere, and what they mean here. A word that is near to a device's
// name by its letters alone ("gpu", "cpu") must be here.
static const char *const OTHER_NAMES[][2] = {
    {"gpu", "cuda:h100' (or another target; no GPU is needed) or 'cuda"},
    {"nvidia", "cuda:h100' (or another target; no GPU is needed) or 'cuda"},
    {"npu", "neuron"},
    {"trainium", "neuron"},
    {"inferentia", "neuron"},
    {"host", "cpu"},
    {"xla", "xla-cpu"},
    {"jax", "xla-cpu"},
    {"evaluator", "reference"},
    {"interpreter", "reference"},
};

// The device that knows a target of this name: "h100" is "cuda:h100". NULL when there is none.
static const char *device_of_target(const char *name, hsc_arena *arena) {
  static const char *const kinds[][2] = {{"gpu", "cuda"}, {"tpu", "tpu"}};
  for (size_t i = 0; i < HSC_COUNT_OF(kinds); i++) {
    const char *const *targets = NULL;
    hsc_status *status = hsc_target_names(kinds[i][0], arena, &targets);
    for (size_t t = 0; !status && targets[t]; t++)
      if (!strcmp(targets[t], name))
        return hsc_arena_printf(arena, "%s:%s", kinds[i][1], name);
    hsc_status_free(status);
  }
  return NULL;
}

// The nearest of the names of devices and of the other names: "gpus" is nearer to "gpu" than to
// "cpu".
static const char *nearest_of(const char *text, const char *const *names) {
  const char *all[HSC_DEVICE_ROWS + HSC_COUNT_OF(OTHER_NAMES)];
  for (size_t i = 0; i < (size_t)HSC_DEVICE_ROWS; i++)
    all[i] = names[i];
  for (size_t i = 0; i < HSC_COUNT_OF(OTHER_NAMES); i++)
    all[HSC_DEVICE_ROWS + i] = OTHER_NAMES[i][0];
  const char *meant = hsc_did_you_mean(text, all, HSC_COUNT_OF(all));
  for (size_t i = 0; meant && i < HSC_COUNT_OF(OTHER_NAMES); i++)
    if (meant == OTHER_NAMES[i][0])
      return OTHER_NAMES[i][1];
  return meant;
}

static hsc_status *unknown_device(const char *text,
                                  size_t name_length,
                                  const char *const *names,
                                  hsc_arena *arena) {
  const char *meant = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(OTHER_NAMES) && !meant; i++)
    if (strlen(OTHER_NAMES[i][0]) == name_length &&
        !strncasecmp(OTHER_NAMES[i][0], text, name_length))
      meant = OTHER_NAMES[i][1];
  if (!meant)
    meant = device_of_target(text, arena);
  if (!meant)
    meant = nearest_of(text, names);
  hsc_status *status =
      meant ? HSC_ERR(INVALID_ARGUMENT, "unknown device '%s'; did you mean '%s'?", text, meant)
            : HSC_ERR(INVALID_ARGUMENT, "unknown device '%s'", text);
  return hsc_status_usage(hsc_status_hint(
      status, "hloscope devices lists them; a plugin is given by its path: ./plugin.so"));
}

// cpu:N and xla-cpu:N are options of the client.
static hsc_status *add_device_count(hsc_arena *arena, hsc_device_spec *spec) {
  if (!spec->device_count)
    return NULL;
  spec->options = HSC_NEW_ARRAY(arena, hsc_device_option, 1);
  HSC_TRY(hsc_arena_status(arena));
  spec->options[spec->option_count++] =
      (hsc_device_option){.name = "device_count",
                          .text = hsc_arena_printf(arena, "%d", spec->device_count),
                          .type = HSC_DEVICE_OPTION_INT,
                          .integer = spec->device_count};
  return hsc_arena_status(arena);
}

hsc_status *hsc_device_spec_parse(const char *text, hsc_arena *arena, hsc_device_spec *out_spec) {
  hsc_device_spec spec = {.text = hsc_arena_strdup(arena, text)};
  HSC_TRY(hsc_arena_status(arena));
  size_t name_length = strcspn(text, ":@");
  size_t length = strcspn(text, "?");
  const hsc_device_row *row = NULL;
  const char *names[HSC_DEVICE_ROWS];
  for (size_t i = 0; i < (size_t)HSC_DEVICE_ROWS; i++) {
    const hsc_device_row *candidate = hsc_device_row_at(i);
    names[i] = candidate->name;
    if (strlen(names[i]) == name_length && !strncmp(names[i], text, name_length))
      row = candidate;
  }
  if (!row &&
      (memchr(text, '/', length) || (length > 3 && !strncmp(text + length - 3, ".so", 3)))) {
    HSC_TRY(parse_path(text, arena, &spec));
    *out_spec = spec;
    return NULL;
  }
  if (!row)
    return unknown_device(text, name_length, names, arena);
  const char *variant = NULL;
  const char *version = NULL;
  HSC_TRY(split_name(row, &spec, arena, &variant, &version));
  if (variant && !*row->variants)
    return hsc_status_usage(HSC_ERR(
        INVALID_ARGUMENT, "device '%s' has no variants, so '%s' means nothing", row->name, text));
  spec.source = row->source;
  if (variant && row->source != HSC_DEVICE_VENDOR)
    HSC_TRY(parse_count(&spec, variant, &spec.device_count));
  if (row->source == HSC_DEVICE_VENDOR)
    HSC_TRY(parse_vendor(row, variant, version, arena, &spec));
  if (row->source == HSC_DEVICE_BUILT_IN) {
    HSC_TRY(hsc_builtin_plugin_path(arena, &spec.plugin_path));
    HSC_TRY(add_device_count(arena, &spec));
  }
  if (row->source == HSC_DEVICE_PYTHON) {
    HSC_TRY(add_device_count(arena, &spec));
    HSC_TRY(hsc_python_package_dir(arena, &spec.python_dir));
    if (version) {
      const char *directory = NULL;
      HSC_TRY(hsc_release_environment(hsc_vendor_get(row->name), version, arena, &spec.plugin_path,
                                      &directory));
    } else {
      HSC_TRY(hsc_jaxlib_python(arena, &spec.plugin_path));
    }
  }
  *out_spec = spec;
  return NULL;
}
