// plugin_options.c - reads CompileOptionsProto: replicas, partitions, device, and the XLA options
// that have a meaning here.
//
// An option can come from XLA_FLAGS, from executable_build_options.debug_options and from
// env_option_overrides; the later in this list wins, as in XLA. Options of debug_options that mean
// nothing here are passed over: JAX sends all of them. An override that XLA does not know, or of a
// value that the option does not take, is refused in XLA's words.
// Field numbers: pjrt/pjrt_options.c, and xla/xla.proto for DebugOptions.
#include "base/text/text.h"
#include "base/wire/wire.h"
#include "plugin/plugin_internal.h"

#include <stdlib.h>

typedef enum option_type { OPTION_TEXT, OPTION_LIST, OPTION_BOOL, OPTION_INT } option_type;

static const struct {
  const char *name;
  int field;  // in DebugOptions; 0 = not there
  option_type type;
  size_t offset;  // in hsc_cpu_compile_options
  int64_t low, high;
} options[] = {
    {"xla_disable_hlo_passes", 30, OPTION_LIST,
     offsetof(hsc_cpu_compile_options, disable_hlo_passes), 0, 0},
    {"xla_enable_hlo_passes_only", 124, OPTION_LIST,
     offsetof(hsc_cpu_compile_options, enable_hlo_passes_only), 0, 0},
    {"xla_dump_to", 109, OPTION_TEXT, offsetof(hsc_cpu_compile_options, dump_to), 0, 0},
    {"xla_dump_hlo_pass_re", 111, OPTION_TEXT, offsetof(hsc_cpu_compile_options, dump_hlo_pass_re),
     0, 0},
    {"xla_dump_module_metadata", 144, OPTION_BOOL,
     offsetof(hsc_cpu_compile_options, dump_module_metadata), 0, 0},
    {"xla_backend_optimization_level", 31, OPTION_INT,
     offsetof(hsc_cpu_compile_options, backend_optimization_level), 0, 3},
    {"xla_cpu_strict_dot_conv_math", 175, OPTION_BOOL,
     offsetof(hsc_cpu_compile_options, strict_dot_conv_math), 0, 0},
    {"xla_fuel", 0, OPTION_LIST, offsetof(hsc_cpu_compile_options, fuel_of_passes), 0, 0},
    {"hloscope_algsimp", 0, OPTION_LIST, offsetof(hsc_cpu_compile_options, algsimp), 0, 0},
    {"hloscope_enable_hlo_passes", 0, OPTION_LIST,
     offsetof(hsc_cpu_compile_options, enable_hlo_passes), 0, 0},
    // Not read from debug_options (field 0): hosts send all of them, with the levels that XLA's GPU
    // compiler has by default.
    {"xla_gpu_autotune_level", 0, OPTION_INT, offsetof(hsc_cpu_compile_options, autotune_level), 0,
     INT32_MAX},
    {"xla_gpu_strict_conv_algorithm_picker", 0, OPTION_BOOL,
     offsetof(hsc_cpu_compile_options, strict_conv_algorithm_picker), 0, 0},
    {"xla_gpu_crash_on_verification_failures", 0, OPTION_BOOL,
     offsetof(hsc_cpu_compile_options, crash_on_verification_failures), 0, 0},
    {"xla_gpu_algorithm_denylist_path", 0, OPTION_TEXT,
     offsetof(hsc_cpu_compile_options, algorithm_denylist_path), 0, 0},
    {"xla_gpu_load_autotune_results_from", 0, OPTION_TEXT,
     offsetof(hsc_cpu_compile_options, load_autotune_results_from), 0, 0},
    {"xla_gpu_dump_autotune_results_to", 0, OPTION_TEXT,
     offsetof(hsc_cpu_compile_options, dump_autotune_results_to), 0, 0},
    {"xla_gpu_dump_autotune_logs_to", 0, OPTION_TEXT,
     offsetof(hsc_cpu_compile_options, dump_autotune_logs_to), 0, 0},
    {"xla_gpu_experimental_autotuner_cache_dir", 0, OPTION_TEXT,
     offsetof(hsc_cpu_compile_options, autotune_cache_dir), 0, 0},
    {"hloscope_autotune_faults", 0, OPTION_BOOL, offsetof(hsc_cpu_compile_options, autotune_faults),
     0, 0},
    {"hloscope_record_fusion", 0, OPTION_BOOL, offsetof(hsc_cpu_compile_options, record_fusion), 0,
     0},
    {"hloscope_memory_limit_bytes", 0, OPTION_INT,
     offsetof(hsc_cpu_compile_options, memory_limit_bytes), 0, INT64_MAX},
    {"hloscope_pass_fuel", 0, OPTION_INT, offsetof(hsc_cpu_compile_options, pass_fuel), -1,
     INT64_MAX},
};

// All of XLA's options, to tell a mistake from an option that means nothing here.
enum known_type {
  KNOWN_BOOL,
  KNOWN_INT,
  KNOWN_REAL,
  KNOWN_TEXT,
  KNOWN_ENUM,
  KNOWN_LIST,
  KNOWN_MESSAGE
};
static const struct {
  const char *name;
  enum known_type type;
} known[] = {
#define OPTION(name, number, type) {#name, KNOWN_##type},
#include "plugin/debug_options.def"
#undef OPTION
};

// ---- wire format --------------------------------------------------------------------------------

static hsc_status *malformed(void) {
  return HSC_ERR(INVALID_ARGUMENT,
                 "the compile options are not a CompileOptionsProto: malformed or cut off");
}

static hsc_status *next_field(hsc_wire *in, hsc_wire_field *out_field) {
  return hsc_wire_next(in, out_field) ? NULL : malformed();
}

// ---- setting one option -------------------------------------------------------------------------

static int find_option(hsc_view name) {
  for (size_t i = 0; i < HSC_COUNT_OF(options); i++)
    if (hsc_view_equals_text(name, options[i].name))
      return (int)i;
  return -1;
}

static hsc_status *set_text(hsc__compile_settings *settings,
                            int option,
                            hsc_view text,
                            bool append) {
  const char **place = (const char **)(void *)((char *)&settings->cpu + options[option].offset);
  if (append && *place)
    *place = hsc_arena_printf(settings->arena, "%s,%.*s", *place, (int)text.size, text.data);
  else
    *place = text.size ? hsc_arena_strndup(settings->arena, text.data, text.size) : NULL;
  return hsc_arena_status(settings->arena);
}

static hsc_status *set_number(hsc__compile_settings *settings, int option, int64_t value) {
  char *place = (char *)&settings->cpu + options[option].offset;
  if (options[option].type == OPTION_BOOL) {
    *(bool *)place = value != 0;
    return NULL;
  }
  if (value < options[option].low || value > options[option].high)
    return HSC_ERR(INVALID_ARGUMENT, "option %s is %lld; it goes from %lld to %lld",
                   options[option].name, (long long)value, (long long)options[option].low,
                   (long long)options[option].high);
  if (options[option].high == INT64_MAX)
    *(int64_t *)(void *)place = value;
  else
    *(int *)(void *)place = (int)value;
  return NULL;
}

static hsc_status *wrong_value(const char *name, hsc_view text, const char *type) {
  return HSC_ERR(INVALID_ARGUMENT, "While setting option %s, '%.*s' is not a valid %s value.", name,
                 (int)text.size, text.data, type);
}

// Text for any type, as XLA takes it: "True", "3", "a,b".
static hsc_status *set_from_text(hsc__compile_settings *settings, int option, hsc_view text) {
  char number[32] = {0};
  char *end;
  switch (options[option].type) {
    case OPTION_TEXT:
    case OPTION_LIST:
      return set_text(settings, option, text, false);
    case OPTION_BOOL:
      if (hsc_view_equals_text(text, "True"))
        return set_number(settings, option, 1);
      if (hsc_view_equals_text(text, "False"))
        return set_number(settings, option, 0);
      return wrong_value(options[option].name, text, "bool");
    case OPTION_INT:
      memcpy(number, text.data, text.size < sizeof number - 1 ? text.size : sizeof number - 1);
      long long value = strtoll(number, &end, 10);
      if (end == number || *end)
        return wrong_value(options[option].name, text, "int");
      return set_number(settings, option, value);
  }
  return NULL;
}

// ---- messages -----------------------------------------------------------------------------------

static hsc_status *read_debug_options(hsc__compile_settings *settings, hsc_view bytes) {
  // the first element of a list replaces what XLA_FLAGS said, the others add
  bool listed[HSC_COUNT_OF(options)] = {false};
  hsc_wire_field f;
  for (hsc_wire r = hsc_wire_of(bytes); r.p < r.end;) {
    HSC_TRY(next_field(&r, &f));
    for (size_t i = 0; i < HSC_COUNT_OF(options); i++) {
      if (options[i].field != (int)f.number)
        continue;
      bool text = options[i].type == OPTION_TEXT || options[i].type == OPTION_LIST;
      if (text != (f.type == HSC_WIRE_BYTES))
        return malformed();
      if (text && f.bytes.size > 0)
        HSC_TRY(set_text(settings, (int)i, f.bytes, listed[i] && options[i].type == OPTION_LIST));
      if (!text)
        HSC_TRY(set_number(settings, (int)i, (int64_t)f.value));
      listed[i] = true;
    }
  }
  return NULL;
}

// For each partition the ids of its replicas.
static hsc_status *read_device_assignment(hsc__compile_settings *settings, hsc_view bytes) {
  hsc_wire_field f, inner;
  uint64_t id = 0;
  for (hsc_wire r = hsc_wire_of(bytes); r.p < r.end;) {
    HSC_TRY(next_field(&r, &f));
    if (f.number != 3 || f.type != HSC_WIRE_BYTES)
      continue;
    for (hsc_wire devices = hsc_wire_of(f.bytes); devices.p < devices.end;) {
      HSC_TRY(next_field(&devices, &inner));
      if (inner.number != 1)
        continue;
      hsc_wire ids = hsc_wire_of(inner.bytes);
      bool more = inner.type != HSC_WIRE_BYTES || ids.p < ids.end;
      for (id = inner.value; more; more = inner.type == HSC_WIRE_BYTES && ids.p < ids.end) {
        if (inner.type == HSC_WIRE_BYTES && !hsc_wire_varint(&ids, &id))
          return malformed();
        if ((int64_t)id < 0)
          continue;
        int number = id > INT32_MAX ? INT32_MAX : (int)id;
        if (settings->listed_count == 0)
          settings->device = number;
        if (settings->listed_count < HSC_PLUGIN_MAX_DEVICES)
          settings->devices[settings->listed_count++] = number;
      }
    }
  }
  return NULL;
}

// A varint that stands for a signed number, kept at the ends of int.
static int int_of(uint64_t value) {
  int64_t number = (int64_t)value;
  if (number > INT32_MAX)
    return INT32_MAX;
  return number < INT32_MIN ? INT32_MIN : (int)number;
}

static hsc_status *read_build_options(hsc__compile_settings *settings, hsc_view bytes) {
  hsc_wire_field f;
  for (hsc_wire r = hsc_wire_of(bytes); r.p < r.end;) {
    HSC_TRY(next_field(&r, &f));
    if (f.number == 3 && f.type == HSC_WIRE_BYTES)
      HSC_TRY(read_debug_options(settings, f.bytes));
    if (f.number == 1 && f.type == HSC_WIRE_VARINT)
      settings->ordinal = int_of(f.value);
    if (f.number == 4 && f.type == HSC_WIRE_VARINT)
      settings->replica_count = int_of(f.value);
    if (f.number == 5 && f.type == HSC_WIRE_VARINT)
      settings->partition_count = int_of(f.value);
    if (f.number == 9 && f.type == HSC_WIRE_BYTES)
      HSC_TRY(read_device_assignment(settings, f.bytes));
  }
  return NULL;
}

static hsc_status *unknown_option(hsc_view name) {
  const char *names[HSC_COUNT_OF(known) + HSC_COUNT_OF(options)], *near;
  char text[128];
  size_t count = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(known); i++)
    names[count++] = known[i].name;
  for (size_t i = 0; i < HSC_COUNT_OF(options); i++)
    names[count++] = options[i].name;
  snprintf(text, sizeof text, "%.*s", (int)name.size, name.data ? name.data : "");
  hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "No such compile option: '%s'", text);
  near = hsc_did_you_mean(text, names, count);
  return near ? hsc_status_hint(status, "did you mean %s?", near) : status;
}

static bool is_number(hsc_view text) {
  char number[64] = {0};
  char *end;
  if (text.size == 0 || text.size >= sizeof number)
    return false;
  memcpy(number, text.data, text.size);
  strtod(number, &end);
  return *end == '\0';
}

// An option that means nothing here: its value must still be one that XLA takes.
static hsc_status *check_known(hsc_view name, hsc_view message) {
  size_t i = 0;
  while (i < HSC_COUNT_OF(known) && !hsc_view_equals_text(name, known[i].name))
    i++;
  if (i == HSC_COUNT_OF(known))
    return unknown_option(name);
  hsc_wire_field f;
  for (hsc_wire r = hsc_wire_of(message); r.p < r.end;) {
    HSC_TRY(next_field(&r, &f));
    if (f.number != 1 || f.type != HSC_WIRE_BYTES)
      continue;
    bool truth = hsc_view_equals_text(f.bytes, "True") || hsc_view_equals_text(f.bytes, "False");
    if (known[i].type == KNOWN_BOOL && !truth)
      return wrong_value(known[i].name, f.bytes, "bool");
    if ((known[i].type == KNOWN_INT || known[i].type == KNOWN_REAL) && !is_number(f.bytes))
      return wrong_value(known[i].name, f.bytes, known[i].type == KNOWN_INT ? "int" : "float");
  }
  return NULL;
}

static hsc_status *read_override(hsc__compile_settings *settings, hsc_view bytes) {
  hsc_wire_field f;
  hsc_view name = {0};
  hsc_view message = {0};
  for (hsc_wire r = hsc_wire_of(bytes); r.p < r.end;) {
    HSC_TRY(next_field(&r, &f));
    if (f.number == 1 && f.type == HSC_WIRE_BYTES)
      name = f.bytes;
    if (f.number == 2 && f.type == HSC_WIRE_BYTES)
      message = f.bytes;
  }
  int option = find_option(name);
  if (option < 0)
    return check_known(name, message);
  bool text = options[option].type == OPTION_TEXT || options[option].type == OPTION_LIST;
  for (hsc_wire r = hsc_wire_of(message); r.p < r.end;) {
    HSC_TRY(next_field(&r, &f));
    if (f.number == 1 && f.type == HSC_WIRE_BYTES)
      HSC_TRY(set_from_text(settings, option, f.bytes));
    else if (f.type == HSC_WIRE_VARINT && ((f.number == 2 && options[option].type == OPTION_BOOL) ||
                                           (f.number == 3 && options[option].type == OPTION_INT)))
      HSC_TRY(set_number(settings, option, (int64_t)f.value));
    else {
      const char *number = options[option].type == OPTION_BOOL ? "bool" : "int";
      return HSC_ERR(INVALID_ARGUMENT, "option %s: a value of another type is expected (%s)",
                     options[option].name, text ? "text" : number);
    }
  }
  return NULL;
}

static hsc_status *read_all(hsc_view bytes, hsc__compile_settings *settings) {
  hsc_view overrides[256];  // after the debug options, wherever they stand
  size_t override_count = 0;
  hsc_wire_field f;
  for (hsc_wire r = hsc_wire_of(bytes); r.p < r.end;) {
    HSC_TRY(next_field(&r, &f));
    if (f.number == 3 && f.type == HSC_WIRE_BYTES)
      HSC_TRY(read_build_options(settings, f.bytes));
    if (f.number == 7 && f.type == HSC_WIRE_BYTES) {
      if (override_count == HSC_COUNT_OF(overrides))
        return HSC_ERR(INVALID_ARGUMENT, "more than %zu option overrides", HSC_COUNT_OF(overrides));
      overrides[override_count++] = f.bytes;
    }
  }
  for (size_t i = 0; i < override_count; i++)
    HSC_TRY(read_override(settings, overrides[i]));
  return NULL;
}

hsc_status *hsc__compile_settings_read(hsc_view bytes, hsc__compile_settings *out_settings) {
  *out_settings = (hsc__compile_settings){.replica_count = 1,
                                          .partition_count = 1,
                                          .device = -1,
                                          .ordinal = -1,
                                          .cpu = hsc_cpu_compile_options_default()};
  HSC_TRY(hsc_arena_create(&out_settings->arena));
  hsc_status *status = hsc_cpu_compile_options_parse_flags(getenv("XLA_FLAGS"), out_settings->arena,
                                                           &out_settings->cpu);
  if (!status)
    status = read_all(bytes, out_settings);
  if (status)
    hsc__compile_settings_deinit(out_settings);
  return status;
}

void hsc__compile_settings_deinit(hsc__compile_settings *settings) {
  hsc_arena_destroy(settings->arena);
  settings->arena = NULL;
}
