// release_options.c - compile options whose defaults two neighbouring releases do not share, and
// which options bring the old behaviour back.
//
// Those that changed are tried first, as the good release has them; then the rows of
// restoring_flags.def.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "lab/devices/devices.h"
#include "lab/versions/release_search_internal.h"

// ---- defaults -----------------------------------------------------------------------------------

static hsc_status *defaults_of(hsc__versions *v,
                               const char *version,
                               hsc_flags *out_flags,
                               const char **out_untold) {
  hsc_device_spec spec;
  const char *library = NULL;
  *out_untold = "only jaxlib is asked for them";
  HSC_TRY(hsc__version_spec(v, version, &spec));
  if (spec.source != HSC_DEVICE_PYTHON)
    return NULL;
  return hsc_flags_of_jaxlib(&spec, v->scratch, v->arena, out_flags, &library, out_untold);
}

// Dumps and other devices' options say nothing of a program.
static bool concerns(const hsc__versions *v, const char *option) {
  static const char *const devices[][2] = {
      {"xla_cpu_", "xla-cpu"}, {"xla_gpu_", "cuda"}, {"xla_tpu_", "tpu"}};
  for (size_t i = 0; i < HSC_COUNT_OF(devices); i++)
    if (hsc_starts_with(option, devices[i][0]))
      return hsc_starts_with(v->device, devices[i][1]);
  return !hsc_starts_with(option, "xla_dump_");
}

// An option that the good release did not have yet is off there, if it can be.
static const char *default_before(const hsc_flags *before, const hsc_flag *now) {
  const hsc_flag *old = hsc_flags_find(before, now->name);
  if (old)
    return old->preset;
  return now->type == HSC_FLAG_BOOL && !now->repeated ? "false" : NULL;
}

hsc_status *hsc__version_changed_defaults(hsc__versions *v,
                                          const hsc_flags *before,
                                          const hsc_flags *after,
                                          json_t *out_differences) {
  v->changed_defaults = json_object();
  if (!v->changed_defaults)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < after->count; i++) {
    const hsc_flag *now = &after->items[i];
    const char *old = default_before(before, now);
    if (!old || !now->preset || !strcmp(old, now->preset) || !concerns(v, now->name))
      continue;
    json_object_set_new(v->changed_defaults, now->name, json_string(old));
    bool is_new = !hsc_flags_find(before, now->name);
    json_array_append_new(
        out_differences,
        json_pack("{s:o, s:s?, s:s}", "what", json_sprintf("default of %s", now->name), "before",
                  is_new ? NULL : old, "after", now->preset));
  }
  return NULL;
}

hsc_status *hsc__version_defaults(hsc__versions *v,
                                  const hsc__try *good,
                                  const hsc__try *bad,
                                  json_t *out_differences,
                                  json_t *out_not_compared) {
  hsc_flags before = {0};
  hsc_flags after = {0};
  const char *untold = NULL;
  HSC_TRY(defaults_of(v, good->version, &before, &untold));
  if (!untold)
    HSC_TRY(defaults_of(v, bad->version, &after, &untold));
  if (!untold)
    return hsc__version_changed_defaults(v, &before, &after, out_differences);
  json_array_append_new(out_not_compared, json_sprintf("defaults of options: %s", untold));
  return NULL;
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

static hsc_status *try_option(hsc__versions *v,
                              const hsc__try *good,
                              const hsc__try *bad,
                              const char *option,
                              const char *value,
                              hsc__try *t) {
  json_t *overrides = v->options->overrides ? json_deep_copy(v->options->overrides) : json_object();
  if (!overrides)
    return hsc_status_out_of_memory();
  *t = hsc__try_of(bad->version);
  json_object_set_new(overrides, option, value_of(value));
  hsc__version_say(v, bad->version, option);
  hsc_status *status = hsc__version_look(v, t, overrides);
  // one process that seems cured is chance among as many options
  bool by_chance = !status && hsc__is_measured(v) && is_cured(v, good, bad, t);
  while (by_chance && !status && !t->reason && t->process_count < hsc__processes_wanted(v))
    status = hsc__version_process(v, t, overrides);
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
  hsc_task_row row;
  const char *text = hsc_arena_printf(v->arena, "%s=%s", option, value);
  const char *key = hsc_arena_printf(v->arena, "%s with %s", bad->version, text);
  HSC_TRY(hsc_arena_status(v->arena));
  HSC_TRY(hsc_task_table_find(&v->tasks, key, &row));
  json_t *answer = row.answer ? json_incref(row.answer) : NULL;
  hsc_task_row_deinit(&row);
  if (!answer) {
    hsc__versions largest = without_sizes(v);
    HSC_TRY(try_option(&largest, good, bad, option, value, &t));
    bool cured = is_cured(v, good, bad, &t);
    const char *seen = t.reason ? t.reason : t.seen;
    if (!seen)
      seen = "";
    answer = json_pack("{s:s, s:s, s:b, s:s}", "option", text, "brings_back", doc, "restores",
                       cured, "seen", seen);
    if (!answer)
      return hsc_status_out_of_memory();
    HSC_TRY(hsc_task_table_keep(&v->tasks, key, "ok", "", answer));
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
  const char *before = json_string_value(json_object_get(v->changed_defaults, option));
  return before && !strcmp(before, value);
}

hsc_status *hsc__version_restore(hsc__versions *v,
                                 const hsc__try *good,
                                 const hsc__try *bad,
                                 json_t *out_tried,
                                 json_t *out_flags) {
  restore r = {.v = v, .good = good, .bad = bad, .tried = out_tried, .flags = out_flags};
  const char *option;
  json_t *before;
  const char *doc = hsc_arena_printf(v->arena, "the default of %s", good->version);
  HSC_TRY(hsc_arena_status(v->arena));
  json_object_foreach (v->changed_defaults, option, before)
    HSC_TRY(restore_with(&r, option, json_string_value(before), doc));
  for (size_t i = 0; i < HSC_COUNT_OF(FLAGS); i++)
    if (hsc_starts_with(v->device, FLAGS[i].device) &&
        !is_default_that_changed(v, FLAGS[i].option, FLAGS[i].value))
      HSC_TRY(restore_with(&r, FLAGS[i].option, FLAGS[i].value, FLAGS[i].doc));
  return NULL;
}
