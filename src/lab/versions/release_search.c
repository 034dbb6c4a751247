// release_search.c - the search over releases: both ends, then wherever a change is or may hide.
#include "lab/versions/release_search.h"

#include <math.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "formats/common/formats.h"
#include "lab/devices/device_version.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "lab/versions/release_search_internal.h"
#include "worker/scratch.h"

// ---- the releases between -----------------------------------------------------------------------

static hsc_status *no_such_release(const hsc__versions *v, const char *wanted) {
  const char *near = hsc_did_you_mean(wanted, v->names, v->name_count);
  hsc_status *status =
      HSC_ERR(INVALID_ARGUMENT,
              "%s %s: there is no wheel of this release for a Python that is here", v->of, wanted);
  return near ? hsc_status_hint(status, "the nearest is %s; there are %s to %s", near, v->names[0],
                                v->names[v->name_count - 1])
              : hsc_status_hint(status, "there are %s to %s", v->names[0],
                                v->names[v->name_count - 1]);
}

static hsc_status *find_release(const hsc__versions *v, const char *wanted, size_t *out_index) {
  for (size_t i = 0; i < v->name_count; i++)
    if (!strcmp(v->names[i], wanted)) {
      *out_index = i;
      return NULL;
    }
  return no_such_release(v, wanted);
}

static hsc_status *choose_releases(hsc__versions *v) {
  const hsc_versions_options *o = v->options;
  size_t first = 0;
  size_t last = 0;
  HSC_TRY(hsc_release_list(v->of, v->arena, &v->names, &v->name_count));
  last = v->name_count - 1;
  if (o->from)
    HSC_TRY(find_release(v, o->from, &first));
  if (o->to)
    HSC_TRY(find_release(v, o->to, &last));
  if (first > last) {
    size_t swap = first;
    first = last;
    last = swap;
  }
  if (first == last)
    return HSC_ERR(INVALID_ARGUMENT, "%s %s alone: two releases are needed", v->of,
                   v->names[first]);
  v->count = last - first + 1;
  v->tries = HSC_NEW_ARRAY(v->arena, hsc__try, v->count);
  HSC_TRY(hsc_arena_status(v->arena));
  for (size_t i = 0; i < v->count; i++)
    v->tries[i] = hsc__try_of(v->names[first + i]);
  return NULL;
}

// ---- the search ---------------------------------------------------------------------------------

enum { MOST_REPEATS = 4 };

// Tries a release once, and for values again while they do not decide.
static hsc_status *decide(hsc__versions *v, hsc__try *t) {
  for (int k = 0; k < MOST_REPEATS && !t->reason; k++) {
    t->word = hsc__word_of(v, t, false);
    if (t->word != HSC__UNKNOWN)
      return NULL;
    HSC_TRY(hsc__version_again(v, t));
  }
  if (t->reason)
    return NULL;
  // where the next release is looked for the estimates have the last word; a claim has none then
  t->word = t->by_process ? HSC__UNKNOWN : hsc__word_of(v, t, true);
  t->noisy = true;
  return NULL;
}

static hsc_status *try_release(hsc__versions *v, size_t i) {
  hsc__try *t = &v->tries[i];
  if (t->tried)
    return NULL;
  HSC_TRY(hsc__version_try(v, t));
  return hsc__is_measured(v) && !isnan(v->limit) ? decide(v, t) : NULL;
}

// The first release from `i` on in the direction of `step` that can be tried at all; count = none.
static hsc_status *try_from(hsc__versions *v, size_t i, int step, size_t last, size_t *out_index) {
  for (;; i = step > 0 ? i + 1 : i - 1) {
    HSC_TRY(try_release(v, i));
    if (!v->tries[i].reason) {
      *out_index = i;
      return NULL;
    }
    if (i == last) {
      *out_index = v->count;
      return NULL;
    }
  }
}

static bool is_full(const hsc__versions *v) {
  return v->options->most > 0 && v->tried >= v->options->most;
}

// Limits between the two ends, as they are known now.
static void set_limits(hsc__versions *v, size_t first, size_t last) {
  if (!hsc__is_measured(v))
    return;
  hsc__set_limits(v, &v->tries[first], &v->tries[last]);
  for (size_t i = first; i <= last; i++)
    if (v->tries[i].tried && !v->tries[i].reason)
      v->tries[i].word = hsc__word_of(v, &v->tries[i], true);
}

// Values beside a change are measured in as many processes as a claim takes, the two in turns: what
// the machine did meanwhile, or where one process had its memory, is no change.
static hsc_status *confirm_two(hsc__versions *v, size_t left, size_t right) {
  hsc__try *const both[] = {&v->tries[left], &v->tries[right]};
  for (size_t k = 0; k < hsc__processes_wanted(v); k++)
    for (size_t i = 0; i < 2; i++) {
      hsc__try *t = both[i];
      if (t->confirmed || t->reason || (k == 0 && t->process_count))
        continue;
      hsc__version_say(v, t->version, "measuring in another process");
      HSC_TRY(hsc__version_process(v, t, v->options->overrides));
    }
  for (size_t i = 0; i < 2; i++) {
    hsc__try *t = both[i];
    if (v->size_count && !t->confirmed && !t->reason)
      HSC_TRY(hsc__version_again(v, t));
    t->confirmed = true;
    HSC_TRY(hsc__version_keep(v, t));
  }
  return NULL;
}

static hsc_status *confirm(hsc__versions *v, size_t first, size_t last) {
  size_t left = 0;
  size_t right = 0;
  while (hsc__unconfirmed(v, &left, &right)) {
    HSC_TRY(confirm_two(v, left, right));
    set_limits(v, first, last);
    HSC_TRY(decide(v, &v->tries[left]));
    HSC_TRY(decide(v, &v->tries[right]));
  }
  return NULL;
}

static hsc_status *search(hsc__versions *v) {
  size_t first = 0;
  size_t last = 0;
  HSC_TRY(try_from(v, 0, 1, v->count - 1, &first));
  if (first < v->count)
    HSC_TRY(try_from(v, v->count - 1, -1, first, &last));
  if (first == v->count || last == first)
    return HSC_ERR(NOT_FOUND, "fewer than two of %zu releases can run this: %s: %s", v->count,
                   v->tries[v->count - 1].version,
                   v->tries[v->count - 1].reason ? v->tries[v->count - 1].reason : "it can");
  set_limits(v, first, last);
  for (;;) {
    size_t next = hsc__next_release(v);
    if (next == v->count || is_full(v)) {
      HSC_TRY(confirm(v, first, last));
      if (hsc__next_release(v) == next)  // no change went away or came
        return NULL;
      continue;
    }
    HSC_TRY(try_release(v, next));
  }
}

// ---- the document -------------------------------------------------------------------------------

static const char *word_text(hsc__word word) {
  static const char *const texts[] = {"unknown", "good", "bad"};
  return texts[word];
}

static const char *first_of(json_t *changes, const char *key) {
  json_t *change;
  size_t i;
  json_array_foreach (changes, i, change)
    if (json_object_get(change, key))
      return json_string_value(json_object_get(change, key));
  return NULL;
}

static json_t *tried_json(const hsc__versions *v, const hsc__try *t) {
  json_t *row =
      json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:s}", "version", t->version, "verdict",
                word_text(t->word), "value", hsc_json_real(t->value), "low", hsc_json_real(t->low),
                "high", hsc_json_real(t->high), "noisy", t->noisy, "seen", t->seen ? t->seen : "");
  if (!row || !v->size_count)
    return row;
  json_t *values = json_array();
  for (size_t i = 0; t->at_sizes && i < v->size_count; i++)
    json_array_append_new(values, hsc_json_real(t->at_sizes[i]));
  json_object_set_new(
      row, "exponent",
      json_pack("{s:o, s:o, s:o, s:o}", "value", hsc_json_real(t->exponent.estimate), "low",
                hsc_json_real(t->exponent.low), "high", hsc_json_real(t->exponent.high), "values",
                values));
  return row;
}

static json_t *document_of(const hsc__versions *v, json_t *changes) {
  json_t *tried = json_array();
  json_t *skipped = json_array();
  json_t *untried = json_array();
  for (size_t i = 0; i < v->count; i++) {
    const hsc__try *t = &v->tries[i];
    if (t->reason)
      json_array_append_new(skipped,
                            json_pack("{s:s, s:s}", "version", t->version, "reason", t->reason));
    else if (t->tried)
      json_array_append_new(tried, tried_json(v, t));
    else
      json_array_append_new(untried, json_string(t->version));
  }
  json_t *document =
      json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:s?}", "program",
                v->options->programs[0], "of", v->of, "device", v->device, "symptom",
                v->options->symptom.text, "last_good", first_of(changes, "last_good"), "first_bad",
                first_of(changes, "first_bad"), "mended_in", first_of(changes, "mended_in"),
                "limit", hsc_json_real(v->limit), "tried", tried, "skipped", skipped, "untried",
                untried, "changes", json_incref(changes), "command", v->options->command);
  json_t *inputs = json_pack("{s:I}", "seed", (json_int_t)v->options->seed);
  if (inputs && v->options->inputs_file)
    json_object_set_new(inputs, "file", json_string(v->options->inputs_file));
  json_object_set_new(document, "inputs", inputs);
  json_t *sizes = json_array();
  for (size_t i = 0; i < v->size_count; i++)
    json_array_append_new(sizes, json_real(v->sizes[i].size));
  json_object_set_new(document, "sizes", sizes);
  json_object_set_new(document, "exponent_limit", hsc_json_real(v->exponent_limit));
  return document;
}

// ---- the whole ----------------------------------------------------------------------------------

static hsc_status *read_sizes(hsc__versions *v) {
  const hsc_versions_options *o = v->options;
  v->program = o->programs[0];
  if (o->program_count == 1 && !o->sizes)
    return NULL;
  if (!hsc__is_measured(v))
    return hsc_status_usage(HSC_ERR(INVALID_ARGUMENT,
                                    "several sizes judge slow, compile and memory, not '%s'",
                                    o->symptom.text));
  HSC_TRY(hsc_growth_programs(
      &(hsc_growth_options){
          .programs = o->programs, .program_count = o->program_count, .sizes = o->sizes},
      v->scratch, v->arena, &v->sizes, &v->size_count));
  v->program = v->sizes[v->size_count - 1].path;
  return NULL;
}

// What makes a search the same one as an interrupted one: also what is in the programs, and the
// options that they are compiled with.
static hsc_status *plan_of(const hsc__versions *v, const char **out_plan) {
  const hsc_versions_options *o = v->options;
  hsc_bytes text = {0};
  char digits[33];
  char *options = o->overrides ? json_dumps(o->overrides, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  hsc_status *status = NULL;
  for (size_t i = 0; i < (v->size_count ? v->size_count : 1) && !status; i++)
    status = hsc_file_read(v->size_count ? v->sizes[i].path : v->program, &text);
  hsc_hash128_hex(hsc_hash128_of(text.data, text.size, 0), digits);
  hsc_bytes_deinit(&text);
  *out_plan =
      hsc_arena_printf(v->arena, "versions %s %s %s %s %s %s seed %llu %s", o->programs[0], digits,
                       v->device, v->tries[0].version, v->tries[v->count - 1].version,
                       o->symptom.text, (unsigned long long)o->seed, options ? options : "");
  free(options);
  if (o->data && !status) {
    status = hsc_given_inputs_digest(o->data, digits);
    *out_plan = hsc_arena_printf(v->arena, "%s inputs %s", *out_plan, digits);
  }
  return status ? status : hsc_arena_status(v->arena);
}

static hsc_status *begin(hsc__versions *v) {
  const hsc_versions_options *o = v->options;
  HSC_TRY(hsc_arena_create(&v->arena));
  HSC_TRY(hsc_scratch_create(&v->scratch));
  for (size_t i = 0; i < o->program_count; i++) {
    hsc_module *module = NULL;
    hsc_status *unread = hsc_program_read_file(o->programs[i], &module);
    hsc_module_destroy(module);
    if (unread && hsc_status_code(unread) != HSC_UNIMPLEMENTED)  // a release may know more than we
      return unread;
    hsc_status_free(unread);
  }
  HSC_TRY(read_sizes(v));
  if (!o->of && !o->device)
    v->of = "jaxlib";
  else
    v->of = o->of ? o->of : hsc_release_package(o->device, v->arena);
  v->device = o->device;
  if (!v->device && v->of)
    v->device = hsc_release_device(v->of, v->arena);
  if (!v->of || !v->device)
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: no releases of it are known", o->of ? o->of : o->device),
        "--of jaxlib, jax-cuda12-pjrt or libtpu");
  HSC_TRY(choose_releases(v));
  if (!o->store)
    return NULL;
  const char *plan = NULL;
  HSC_TRY(plan_of(v, &plan));
  hsc_experiment experiment = {.kind = "versions",
                               .command = o->command,
                               .device = v->device,
                               .subject = o->programs[0],
                               .plan = plan,
                               .seed = o->seed};
  hsc_task_target target = {.overrides = o->overrides};
  return hsc_task_table_begin(o->store, true, &experiment, &target, &v->tasks);
}

hsc_status *hsc_versions(const hsc_versions_options *options, json_t **out_document) {
  hsc__versions v = {.options = options, .limit = NAN, .exponent_limit = NAN};
  const hsc__try *good = NULL;
  const hsc__try *bad = NULL;
  json_t *changes = NULL;
  json_t *differences = NULL;
  json_t *restored = NULL;
  json_t *options_tried = NULL;
  json_t *not_compared = NULL;
  hsc_status *status = NULL;
  *out_document = NULL;
  HSC_GOTO(begin(&v));
  HSC_GOTO(search(&v));
  changes = hsc__changes_of(&v, &good, &bad);
  *out_document = document_of(&v, changes);
  if (!*out_document)
    HSC_GOTO(hsc_status_out_of_memory());
  differences = json_array();
  restored = json_array();
  options_tried = json_array();
  not_compared = json_array();
  if (bad) {
    HSC_GOTO(hsc__version_differences(&v, good, bad, differences, not_compared));
    HSC_GOTO(hsc__version_restore(&v, good, bad, options_tried, restored));
  }
  json_object_set(*out_document, "differences", differences);
  json_object_set(*out_document, "not_compared", not_compared);
  json_object_set(*out_document, "options_tried", options_tried);
  json_object_set(*out_document, "restored_by", restored);
done:
  if (hsc_status_code(status) == HSC_CANCELLED && v.tasks.experiment)
    status = hsc_status_hint(status, "the same command goes on from here");
  status = hsc_task_table_end(&v.tasks, status, false, status ? NULL : *out_document);
  if (status && *out_document) {
    json_decref(*out_document);
    *out_document = NULL;
  }
  json_decref(changes);
  json_decref(differences);
  json_decref(options_tried);
  json_decref(restored);
  json_decref(not_compared);
  json_decref(v.changed_defaults);
  hsc_scratch_destroy(v.scratch);
  hsc_arena_destroy(v.arena);
  return status;
}
