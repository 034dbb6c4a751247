// release_search.c - the search over releases, and what differs between two neighbours.
#include "lab/versions/release_search.h"

#include <math.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/text/text.h"
#include "formats/common/formats.h"
#include "lab/devices/device_version.h"
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
    v->tries[i] = (hsc__try){.version = v->names[first + i], .value = NAN, .low = NAN, .high = NAN};
  return NULL;
}

// ---- good or bad --------------------------------------------------------------------------------

static bool is_measured(const hsc__versions *v) {
  hsc_symptom_kind kind = v->options->symptom.kind;
  return kind == HSC_SYMPTOM_SLOW || kind == HSC_SYMPTOM_COMPILE || kind == HSC_SYMPTOM_MEMORY;
}

// Where a value lies: below the limit it is good, above bad. Unknown while its interval spans it.
static hsc__word word_of(const hsc__try *t, double limit) {
  if (isnan(limit) || isnan(t->value))
    return HSC__UNKNOWN;
  if (t->high < limit)
    return HSC__GOOD;
  return t->low > limit ? HSC__BAD : HSC__UNKNOWN;
}

enum { MOST_REPEATS = 4 };

// Tries a release once, and for values again while they do not decide.
static hsc_status *try_release(hsc__versions *v, size_t i) {
  hsc__try *t = &v->tries[i];
  if (t->tried)
    return NULL;
  HSC_TRY(hsc__version_try(v, t));
  if (!is_measured(v) || isnan(v->limit))
    return NULL;
  for (int k = 0; k < MOST_REPEATS && !t->reason; k++) {
    t->word = word_of(t, v->limit);
    if (t->word != HSC__UNKNOWN)
      return NULL;
    HSC_TRY(hsc__version_again(v, t));
  }
  if (!t->reason && t->word == HSC__UNKNOWN) {  // the value itself has the last word, and says so
    t->word = t->value > v->limit ? HSC__BAD : HSC__GOOD;
    t->noisy = true;
  }
  return NULL;
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

// The limit between good and bad values: between the levels of the ends where those differ by the
// factor, else the factor above the better end.
static void set_limit(hsc__versions *v, const hsc__try *a, const hsc__try *b) {
  double better = fmin(a->value, b->value);
  double worse = fmax(a->value, b->value);
  double factor = v->options->symptom.factor;
  v->limit = worse >= factor * better ? sqrt(better * worse) : factor * better;
}

// ---- the search ---------------------------------------------------------------------------------

static bool is_full(const hsc__versions *v) {
  return v->options->most > 0 && v->tried >= v->options->most;
}

// The next release to try: the middle between two neighbours (of those tried) that differ; with
// none of those, the middle of the widest gap while no change is known (or all are wanted).
static size_t next_release(const hsc__versions *v, bool changed) {
  size_t best = v->count;
  size_t best_gap = 0;
  bool best_differs = false;
  size_t left = v->count;
  for (size_t i = 0; i < v->count; i++) {
    if (!v->tries[i].tried || v->tries[i].reason)
      continue;
    if (left < v->count) {
      size_t untried = 0;
      for (size_t k = left + 1; k < i; k++)
        untried += !v->tries[k].tried;
      bool differs = v->tries[left].word != v->tries[i].word;
      bool better = (differs && !best_differs) || (differs == best_differs && untried > best_gap);
      if (untried && better && (differs || !changed || v->options->all)) {
        best_gap = untried;
        best_differs = differs;
        size_t skip = (untried - 1) / 2;  // to the middle one of those that are not tried
        for (best = left + 1; v->tries[best].tried || skip > 0; best++)
          skip -= !v->tries[best].tried;
      }
    }
    left = i;
  }
  return best;
}

static bool has_change(const hsc__versions *v) {
  hsc__word last = HSC__UNKNOWN;
  for (size_t i = 0; i < v->count; i++) {
    if (!v->tries[i].tried || v->tries[i].reason)
      continue;
    if (last != HSC__UNKNOWN && v->tries[i].word != last)
      return true;
    last = v->tries[i].word;
  }
  return false;
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
  if (is_measured(v)) {
    set_limit(v, &v->tries[first], &v->tries[last]);
    v->tries[first].word = v->tries[first].value > v->limit ? HSC__BAD : HSC__GOOD;
    v->tries[last].word = v->tries[last].value > v->limit ? HSC__BAD : HSC__GOOD;
  }
  for (;;) {
    size_t next = next_release(v, has_change(v));
    if (next == v->count || is_full(v))
      return NULL;
    HSC_TRY(try_release(v, next));
  }
}

// ---- the document -------------------------------------------------------------------------------

static const char *word_text(hsc__word word) {
  static const char *const texts[] = {"unknown", "good", "bad"};
  return texts[word];
}

// Pairs of neighbours that differ: {"last_good", "first_bad"} or {"last_bad", "mended_in"}.
static json_t *changes_of(const hsc__versions *v,
                          const hsc__try **out_good,
                          const hsc__try **out_bad) {
  json_t *changes = json_array();
  const hsc__try *last = NULL;
  *out_good = *out_bad = NULL;
  for (size_t i = 0; i < v->count; i++) {
    const hsc__try *t = &v->tries[i];
    if (!t->tried || t->reason)
      continue;
    if (last && last->word == HSC__GOOD && t->word == HSC__BAD) {
      json_array_append_new(
          changes, json_pack("{s:s, s:s}", "last_good", last->version, "first_bad", t->version));
      if (!*out_bad) {
        *out_good = last;
        *out_bad = t;
      }
    } else if (last && last->word == HSC__BAD && t->word == HSC__GOOD) {
      json_array_append_new(
          changes, json_pack("{s:s, s:s}", "last_bad", last->version, "mended_in", t->version));
      if (!*out_bad) {  // bad from the first on
        *out_good = t;
        *out_bad = last;
      }
    }
    last = t;
  }
  return changes;
}

static const char *first_of(json_t *changes, const char *key) {
  json_t *change;
  size_t i;
  json_array_foreach (changes, i, change)
    if (json_object_get(change, key))
      return json_string_value(json_object_get(change, key));
  return NULL;
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
      json_array_append_new(
          tried, json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:s}", "version", t->version, "verdict",
                           word_text(t->word), "value", hsc_json_real(t->value), "low",
                           hsc_json_real(t->low), "high", hsc_json_real(t->high), "noisy", t->noisy,
                           "seen", t->seen ? t->seen : ""));
    else
      json_array_append_new(untried, json_string(t->version));
  }
  json_t *document =
      json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:s?}", "program",
                v->options->program, "of", v->of, "device", v->device, "symptom",
                v->options->symptom.text, "last_good", first_of(changes, "last_good"), "first_bad",
                first_of(changes, "first_bad"), "mended_in", first_of(changes, "mended_in"),
                "limit", hsc_json_real(v->limit), "tried", tried, "skipped", skipped, "untried",
                untried, "changes", json_incref(changes), "command", v->options->command);
  return document;
}

// ---- the whole ----------------------------------------------------------------------------------

static hsc_status *begin(hsc__versions *v) {
  const hsc_versions_options *o = v->options;
  HSC_TRY(hsc_arena_create(&v->arena));
  HSC_TRY(hsc_scratch_create(&v->scratch));
  hsc_module *module = NULL;
  hsc_status *unread = hsc_program_read_file(o->program, &module);
  hsc_module_destroy(module);
  if (unread && hsc_status_code(unread) != HSC_UNIMPLEMENTED)  // a release may know more than we
    return unread;
  hsc_status_free(unread);
  if (!o->of && !o->device)
    v->of = "jaxlib";
  else
    v->of = o->of ? o->of : hsc_release_package(o->device, v->arena);
  v->device = o->device ? o->device : v->of ? hsc_release_device(v->of, v->arena) : NULL;
  if (!v->of || !v->device)
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: no releases of it are known", o->of ? o->of : o->device),
        "--of jaxlib, jax-cuda12-pjrt or libtpu");
  HSC_TRY(choose_releases(v));
  if (!o->store)
    return NULL;
  const char *plan = hsc_arena_printf(
      v->arena, "versions %s %s %s %s %s seed %llu", o->program, v->device, v->tries[0].version,
      v->tries[v->count - 1].version, o->symptom.text, (unsigned long long)o->seed);
  HSC_TRY(hsc_arena_status(v->arena));
  HSC_TRY(hsc_store_resumable(o->store, plan, &v->experiment));
  if (v->experiment)
    return hsc_store_reopen(o->store, v->experiment);
  return hsc_store_begin(o->store,
                         &(hsc_experiment){.kind = "versions",
                                           .command = o->command,
                                           .device = v->device,
                                           .subject = o->program,
                                           .plan = plan,
                                           .seed = o->seed},
                         &v->experiment);
}

hsc_status *hsc_versions(const hsc_versions_options *options, json_t **out_document) {
  hsc__versions v = {.options = options, .limit = NAN};
  const hsc__try *good = NULL;
  const hsc__try *bad = NULL;
  json_t *changes = NULL;
  json_t *differences = NULL;
  json_t *restored = NULL;
  json_t *not_compared = NULL;
  hsc_status *status = NULL;
  *out_document = NULL;
  HSC_GOTO(begin(&v));
  HSC_GOTO(search(&v));
  changes = changes_of(&v, &good, &bad);
  *out_document = document_of(&v, changes);
  if (!*out_document)
    HSC_GOTO(hsc_status_out_of_memory());
  differences = json_array();
  restored = json_array();
  not_compared = json_array();
  if (bad) {
    HSC_GOTO(hsc__version_differences(&v, good, bad, differences, not_compared));
    HSC_GOTO(hsc__version_restore(&v, bad, restored));
  }
  json_object_set(*out_document, "differences", differences);
  json_object_set(*out_document, "not_compared", not_compared);
  json_object_set(*out_document, "restored_by", restored);
  if (options->store)
    status = hsc_store_finish(options->store, v.experiment, "done", *out_document);
done:
  if (status && options->store && v.experiment)
    status = hsc_store_end(options->store, v.experiment, status,
                           hsc_status_code(status) == HSC_CANCELLED, NULL);
  if (status && *out_document) {
    json_decref(*out_document);
    *out_document = NULL;
  }
  json_decref(changes);
  json_decref(differences);
  json_decref(restored);
  json_decref(not_compared);
  hsc_scratch_destroy(v.scratch);
  hsc_arena_destroy(v.arena);
  return status;
}
