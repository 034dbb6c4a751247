// release_options.c - compile options whose defaults two neighbouring releases do not share, and
// which options bring the old behaviour back.
//
// A release's defaults are the DebugOptions of a fresh CompileOptions, which jaxlib gives as bytes:
// all of them, also where XLA's own list of flags is cut off. Those that changed are tried first,
// as the good release has them; then the rows of restoring_flags.def.
#include <math.h>
#include <stdlib.h>

#include "base/process/child.h"
#include "base/process/python.h"
#include "base/text/text.h"
#include "base/wire/wire.h"
#include "lab/devices/devices.h"
#include "lab/versions/release_search_internal.h"

// ---- defaults -----------------------------------------------------------------------------------

typedef enum option_type {
  OPTION_BOOL,
  OPTION_INT,
  OPTION_REAL,
  OPTION_TEXT,
  OPTION_ENUM,
  OPTION_LIST,
  OPTION_MESSAGE
} option_type;
static const struct {
  const char *name;
  uint32_t number;
  option_type type;
} known[] = {
#define OPTION(name, number, type) {#name, number, OPTION_##type},
#include "pjrt/debug_options.def"
#undef OPTION
};

#define NUMBERS "0x"  // how bytes that are no text begin; no option takes such a value

static const char ask_defaults[] = HSC_PYTHON_SAFE
    "try:\n"
    "  from jaxlib import _jax as x\n"
    "except ImportError:\n"
    "  from jaxlib import xla_extension as x\n"
    "o = x.CompileOptions()\n"
    "o.executable_build_options.debug_options\n"
    "sys.stderr.write('DEFAULTS ' + o.SerializeAsString().hex() + '\\n')\n";

static int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void bytes_of_hex(const char *text, hsc_bytes *out) {
  while (hex_digit(text[0]) >= 0 && hex_digit(text[1]) >= 0) {
    hsc_bytes_append_char(out, (char)(hex_digit(text[0]) * 16 + hex_digit(text[1])));
    text += 2;
  }
}

// Bytes that are no text (packed numbers of enumerators, an option that was dropped since) come
// as hexadecimal digits.
static json_t *bytes_text(hsc_view bytes) {
  hsc_bytes digits = {0};
  bool is_text = true;
  for (size_t i = 0; i < bytes.size; i++) {
    is_text &= (unsigned char)bytes.data[i] >= ' ';
    hsc_bytes_printf(&digits, "%02x", (unsigned char)bytes.data[i]);
  }
  json_t *value = is_text ? json_stringn(bytes.data, bytes.size)
                          : json_sprintf(NUMBERS "%s", hsc_bytes_text(&digits));
  hsc_bytes_deinit(&digits);
  return value;
}

// What one field of DebugOptions says, as an option's value is written. Of a list one element.
static json_t *field_text(const hsc_wire_field *f, option_type type) {
  if (f->type == HSC_WIRE_BYTES)
    return bytes_text(f->bytes);
  if (f->type == HSC_WIRE_FIXED32)
    return json_sprintf("%.9g", (double)hsc_wire_float(f));
  if (f->type == HSC_WIRE_FIXED64)
    return json_sprintf("%.17g", hsc_wire_double(f));
  if (type == OPTION_BOOL)
    return json_string(f->value ? "true" : "false");
  return json_sprintf("%lld", (long long)(int64_t)f->value);
}

static size_t row_of(uint32_t number) {
  size_t i = 0;
  while (i < HSC_COUNT_OF(known) && known[i].number != number)
    i++;
  return i;
}

// Elements of a list are joined by commas, as an option takes them.
static void add_field(json_t *out, const hsc_wire_field *f) {
  size_t row = row_of(f->number);
  bool is_known = row < HSC_COUNT_OF(known);
  option_type type = is_known ? known[row].type : OPTION_INT;
  char unknown[48];
  snprintf(unknown, sizeof unknown, "option number %u", (unsigned)f->number);
  const char *name = is_known ? known[row].name : unknown;
  json_t *value = type == OPTION_MESSAGE ? NULL : field_text(f, type);
  const char *before = json_string_value(json_object_get(out, name));
  if (value && before && type == OPTION_LIST)
    json_object_set_new(out, name, json_sprintf("%s,%s", before, json_string_value(value)));
  else if (value)
    json_object_set(out, name, value);
  json_decref(value);
}

static hsc_view message_in(hsc_view message, uint32_t number) {
  hsc_view found = {0};
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == number && f.type == HSC_WIRE_BYTES)
      found = f.bytes;
  return found;
}

json_t *hsc__release_defaults(const char *words) {
  enum { BUILD_OPTIONS = 3, DEBUG_OPTIONS = 3 };  // of CompileOptionsProto, ExecutableBuildOptions
  hsc_bytes bytes = {0};
  const char *line = strstr(words, "DEFAULTS ");
  json_t *out = json_object();
  if (line)
    bytes_of_hex(line + strlen("DEFAULTS "), &bytes);
  hsc_view options = message_in(message_in(hsc_bytes_view(&bytes), BUILD_OPTIONS), DEBUG_OPTIONS);
  hsc_wire in = hsc_wire_of(options);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    add_field(out, &f);
  bool fine = options.size && !in.error && !bytes.failed;
  hsc_bytes_deinit(&bytes);
  if (fine)
    return out;
  json_decref(out);
  return NULL;
}

static hsc_status *defaults_of(hsc__versions *v, const char *version, json_t **out) {
  hsc_device_spec spec;
  hsc_child *child = NULL;
  hsc_child_exit ended = {0};
  *out = NULL;
  HSC_TRY(hsc__version_spec(v, version, &spec));
  if (spec.source != HSC_DEVICE_PYTHON)
    return NULL;
  const char *const argv[] = {spec.plugin_path, "-c", ask_defaults, NULL};
  static const char *const environment[] = {HSC_PYTHON_ENVIRONMENT, "XLA_FLAGS=", NULL};
  HSC_TRY(hsc_child_start(&(hsc_child_options){.argv = argv, .extra_env = environment}, &child));
  hsc_status *status = hsc_child_wait(child, hsc__version_limit_ns(v), &ended);
  if (!status && ended.exited && ended.exit_code == 0)
    *out = hsc__release_defaults(hsc_child_stderr(child));
  hsc_child_destroy(child);
  return status;
}

// Dumps, other devices' options and what only one of the two knows a number of say nothing of a
// program.
static bool concerns(const hsc__versions *v, const char *option) {
  static const char *const devices[][2] = {
      {"xla_cpu_", "xla-cpu"}, {"xla_gpu_", "cuda"}, {"xla_tpu_", "tpu"}};
  for (size_t i = 0; i < HSC_COUNT_OF(devices); i++)
    if (hsc_starts_with(option, devices[i][0]))
      return hsc_starts_with(v->device, devices[i][1]);
  return !hsc_starts_with(option, "xla_dump_");
}

static const char *default_text(const json_t *defaults, const char *option) {
  const char *text = json_string_value(json_object_get(defaults, option));
  size_t row = 0;
  if (text)
    return text;
  while (row < HSC_COUNT_OF(known) && strcmp(known[row].name, option) != 0)
    row++;
  if (row == HSC_COUNT_OF(known) || known[row].type == OPTION_TEXT ||
      known[row].type == OPTION_LIST)
    return "";
  return known[row].type == OPTION_BOOL ? "false" : "0";
}

// {option: [before, after]} of defaults that are not the same.
static json_t *changed_defaults(const hsc__versions *v, json_t *before, json_t *after) {
  json_t *changed = json_object();
  json_t *sides[] = {before, after};
  const char *option;
  json_t *value;
  for (int k = 0; k < 2; k++)
    json_object_foreach (sides[k], option, value)
      if (concerns(v, option) && strcmp(default_text(before, option), default_text(after, option)))
        json_object_set_new(
            changed, option,
            json_pack("[s, s]", default_text(before, option), default_text(after, option)));
  return changed;
}

hsc_status *hsc__version_defaults(hsc__versions *v,
                                  const hsc__try *good,
                                  const hsc__try *bad,
                                  json_t *out_differences,
                                  json_t *out_not_compared) {
  json_t *before = NULL;
  json_t *after = NULL;
  const char *option;
  json_t *pair;
  hsc_status *status = defaults_of(v, good->version, &before);
  if (!status)
    status = defaults_of(v, bad->version, &after);
  if (!status && (!before || !after))
    json_array_append_new(out_not_compared,
                          json_sprintf("defaults of options: %s does not say them", v->of));
  if (!status && before && after)
    v->changed_defaults = changed_defaults(v, before, after);
  json_object_foreach (v->changed_defaults, option, pair)
    json_array_append_new(
        out_differences,
        json_pack("{s:o, s:O, s:O}", "what", json_sprintf("default of %s", option), "before",
                  json_array_get(pair, 0), "after", json_array_get(pair, 1)));
  json_decref(before);
  json_decref(after);
  return status;
}

// ---- options that bring it back -----------------------------------------------------------------

static const struct {
  const char *device, *option, *value, *doc;
} FLAGS[] = {
#define FLAG(device, option, value, doc) {device, option, value, doc},
#include "lab/versions/restoring_flags.def"
#undef FLAG
};

static json_t *value_of(const char *text) {
  char *end = NULL;
  long long number = strtoll(text, &end, 10);
  if (!strcmp(text, "true") || !strcmp(text, "false"))
    return json_boolean(text[0] == 't');
  return *text && !*end ? json_integer(number) : json_string(text);
}

// A value is cured that surely is nearer to the good release's than to the bad one's. An option
// that is refused is no cure: nothing was computed.
static bool is_cured(const hsc__versions *v,
                     const hsc__try *good,
                     const hsc__try *bad,
                     const hsc__try *t) {
  if (t->reason)
    return false;
  if (hsc__is_measured(v))
    return t->high < sqrt(good->value * bad->value);
  bool runs = t->seen && !strcmp(t->seen, "runs");
  return t->word == HSC__GOOD && (runs || v->options->symptom.kind == HSC_SYMPTOM_WRONG);
}

static hsc_status *try_option(
    hsc__versions *v, const hsc__try *bad, const char *option, const char *value, hsc__try *t) {
  json_t *overrides = v->options->overrides ? json_deep_copy(v->options->overrides) : json_object();
  if (!overrides)
    return hsc_status_out_of_memory();
  *t = hsc__try_of(bad->version);
  json_object_set_new(overrides, option, value_of(value));
  hsc__version_say(v, bad->version, option);
  hsc_status *status = hsc__version_look(v, t, overrides);
  json_decref(overrides);
  return status;
}

// Options are many: of several sizes the largest alone is looked at.
static hsc__versions without_sizes(const hsc__versions *v) {
  hsc__versions largest = *v;
  largest.size_count = 0;
  return largest;
}

// One of them, from the store where an interrupted search has it already.
static hsc_status *restore_by(hsc__versions *v,
                              const hsc__try *good,
                              const hsc__try *bad,
                              const char *option,
                              const char *value,
                              const char *doc,
                              bool *out_cured,
                              json_t **out_row) {
  hsc__try t;
  char *state = NULL;
  char *message = NULL;
  json_t *answer = NULL;
  hsc_store *store = v->options->store;
  const char *text = hsc_arena_printf(v->arena, "%s=%s", option, value);
  const char *key = hsc_arena_printf(v->arena, "%s with %s", bad->version, text);
  HSC_TRY(hsc_arena_status(v->arena));
  if (store)
    HSC_TRY(hsc_store_get_task(store, v->experiment, key, &state, &message, &answer));
  hsc_free(state);
  hsc_free(message);
  if (!answer) {
    hsc__versions largest = without_sizes(v);
    HSC_TRY(try_option(&largest, bad, option, value, &t));
    bool cured = is_cured(v, good, bad, &t);
    const char *seen = t.reason ? t.reason : t.seen;
    if (!seen)
      seen = "";
    answer = json_pack("{s:s, s:s, s:b, s:s}", "option", text, "brings_back", doc, "restores",
                       cured, "seen", seen);
    if (!answer)
      return hsc_status_out_of_memory();
    if (store)
      HSC_TRY(hsc_store_put_task(
          store, v->experiment,
          &(hsc_task){.key = key, .status = "ok", .message = "", .answer = answer}));
  }
  *out_cured = json_is_true(json_object_get(answer, "restores"));
  *out_row = answer;
  return NULL;
}

typedef struct restore {
  hsc__versions *v;
  const hsc__try *good, *bad;
  json_t *tried, *flags;
} restore;

static hsc_status *restore_with(restore *r,
                                const char *option,
                                const char *value,
                                const char *doc) {
  bool cured = false;
  json_t *row = NULL;
  hsc__versions *v = r->v;
  if (v->options->stop && *v->options->stop)
    return HSC_ERR(CANCELLED, "stopped");
  HSC_TRY(restore_by(v, r->good, r->bad, option, value, doc, &cured, &row));
  json_array_append_new(r->tried, row);
  if (cured)
    json_array_append_new(r->flags, json_sprintf("%s=%s", option, value));
  return NULL;
}

// Whether the table's row is what the good release had by default, which has been tried.
static bool is_default_that_changed(const hsc__versions *v, const char *option, const char *value) {
  json_t *pair = json_object_get(v->changed_defaults, option);
  const char *before = json_string_value(json_array_get(pair, 0));
  return before && !strcmp(before, value);
}

hsc_status *hsc__version_restore(hsc__versions *v,
                                 const hsc__try *good,
                                 const hsc__try *bad,
                                 json_t *out_tried,
                                 json_t *out_flags) {
  restore r = {.v = v, .good = good, .bad = bad, .tried = out_tried, .flags = out_flags};
  const char *option;
  json_t *pair;
  json_object_foreach (v->changed_defaults, option, pair) {
    const char *doc = hsc_arena_printf(v->arena, "the default of %s", good->version);
    HSC_TRY(hsc_arena_status(v->arena));
    const char *before = json_string_value(json_array_get(pair, 0));
    if (hsc_starts_with(option, "xla_") && !hsc_starts_with(before, NUMBERS))
      HSC_TRY(restore_with(&r, option, before, doc));
  }
  for (size_t i = 0; i < HSC_COUNT_OF(FLAGS); i++)
    if (hsc_starts_with(v->device, FLAGS[i].device) &&
        !is_default_that_changed(v, FLAGS[i].option, FLAGS[i].value))
      HSC_TRY(restore_with(&r, FLAGS[i].option, FLAGS[i].value, FLAGS[i].doc));
  return NULL;
}
