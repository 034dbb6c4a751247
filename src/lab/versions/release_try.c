// release_try.c - one release at a time: its environment, what it makes of the program, options
// that bring the old behaviour back.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "lab/devices/device_version.h"
#include "lab/passes/passes_list.h"
#include "lab/run/json_tree.h"
#include "lab/versions/release_search_internal.h"
#include "stats/stats.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"

enum { RUNS = 40, COMPILES = 5 };

static int64_t limit_of(const hsc__versions *v) {
  return v->options->limit_ns > 0 ? v->options->limit_ns : 60 * HSC_SECOND_NS;
}

static hsc_status *spec_of(hsc__versions *v, const char *version, hsc_device_spec *out_spec) {
  const char *text = hsc_arena_printf(v->arena, "%s@%s", v->device, version);
  HSC_TRY(hsc_arena_status(v->arena));
  return hsc_device_spec_parse(text, v->arena, out_spec);
}

static const char *words_of(hsc__versions *v, const hsc_answer *answer) {
  if (answer->last_words && *answer->last_words)
    return hsc_arena_printf(v->arena, "%s: %.300s", hsc_outcome_text(answer->outcome),
                            answer->last_words);
  return hsc_arena_printf(v->arena, "%s: %.300s", hsc_outcome_text(answer->outcome),
                          answer->status ? hsc_status_message(answer->status) : "");
}

// ---- values -------------------------------------------------------------------------------------

static hsc_status *add_samples(hsc__versions *v, hsc__try *t, const double *values, size_t count) {
  double *all = HSC_NEW_ARRAY(v->arena, double, t->sample_count + count + 1);
  hsc_summary summary;
  HSC_TRY(hsc_arena_status(v->arena));
  if (t->sample_count)
    memcpy(all, t->samples, t->sample_count * sizeof *all);
  memcpy(all + t->sample_count, values, count * sizeof *all);
  t->samples = all;
  t->sample_count += count;
  if (!t->sample_count)
    return NULL;
  HSC_TRY(hsc_stats_summarize(all, t->sample_count, &(hsc_interval_options){.seed = 1}, &summary));
  t->value = summary.median;
  t->low = summary.median_low;
  t->high = summary.median_high;
  return NULL;
}

static json_t *request_of(const hsc__versions *v, json_t *overrides) {
  bool runs = v->options->symptom.kind == HSC_SYMPTOM_SLOW;
  json_t *request =
      json_pack("{s:s, s:s, s:I, s:[s]}", "job", runs ? "run" : "compile", "program",
                v->options->program, "seed", (json_int_t)v->options->seed, "cache", "memory");
  if (request && runs) {
    json_object_set_new(request, "series", json_integer(RUNS));
    json_object_set_new(request, "warmups", json_integer(1));
    json_object_set_new(request, "budget_s", json_real(3));
  }
  if (request && overrides)
    json_object_set(request, "overrides", overrides);
  return request;
}

static hsc_status *take_answer(hsc__versions *v, json_t *body, hsc__try *t) {
  hsc_symptom_kind kind = v->options->symptom.kind;
  double one;
  if (kind == HSC_SYMPTOM_SLOW) {
    size_t count = 0;
    double *values = hsc_json_doubles(hsc_json_path(body, "series", "run_ns", NULL), &count);
    for (size_t i = 0; i < count; i++)
      values[i] /= 1e9;
    hsc_status *status = add_samples(v, t, values, count);
    hsc_free(values);
    return status;
  }
  one = kind == HSC_SYMPTOM_COMPILE
            ? hsc_json_number(json_object_get(body, "compile_ns")) / 1e9
            : hsc_json_number(hsc_json_path(body, "memory", "temp_bytes", NULL));
  return add_samples(v, t, &one, isnan(one) ? 0 : 1);
}

static hsc_status *measure(hsc__versions *v,
                           const hsc_device_spec *spec,
                           json_t *overrides,
                           hsc__try *t) {
  hsc_lab_worker *worker = NULL;
  int rounds = v->options->symptom.kind == HSC_SYMPTOM_COMPILE ? COMPILES : 1;
  hsc_status *status =
      hsc_lab_worker_create(&(hsc_lab_worker_options){.device = spec,
                                                      .executable = v->options->executable,
                                                      .no_disk_cache = true,
                                                      .stop = v->options->stop},
                            &worker);
  for (int i = 0; i < rounds && !status && !t->reason; i++) {
    hsc_answer answer = {0};
    json_t *request = request_of(v, overrides);
    status = request ? hsc_lab_worker_call(worker, request, limit_of(v), &answer)
                     : hsc_status_out_of_memory();
    if (!status && answer.outcome != HSC_OUTCOME_OK)
      t->reason = words_of(v, &answer);
    else if (!status)
      status = take_answer(v, answer.body, t);
    hsc_answer_deinit(&answer);
    json_decref(request);
  }
  if (!status && !t->reason && isnan(t->value))
    t->reason = "it does not tell the value";
  hsc_lab_worker_destroy(worker);
  return status;
}

static bool is_measured(const hsc__versions *v) {
  hsc_symptom_kind kind = v->options->symptom.kind;
  return kind == HSC_SYMPTOM_SLOW || kind == HSC_SYMPTOM_COMPILE || kind == HSC_SYMPTOM_MEMORY;
}

// ---- symptoms -----------------------------------------------------------------------------------

static hsc_status *observe(hsc__versions *v,
                           const hsc_device_spec *spec,
                           json_t *overrides,
                           hsc__try *t) {
  hsc_observer *observer = NULL;
  hsc_observation seen = {0};
  hsc_observer_options o = {.device = spec,
                            .overrides = overrides,
                            .executable = v->options->executable,
                            .scratch = hsc_arena_printf(v->arena, "%s/%s", v->scratch, t->version),
                            .seed = v->options->seed,
                            .limit_ns = limit_of(v),
                            .reference_limit_ns = 60 * HSC_SECOND_NS,
                            .stop = v->options->stop};
  HSC_TRY(hsc_arena_status(v->arena));
  HSC_TRY(hsc_observer_create(&o, &observer));
  hsc_status *status = hsc_observer_look(observer, &v->options->symptom,
                                         &(hsc_looked_at){.path = v->options->program}, &seen);
  if (!status) {
    t->seen = hsc_arena_strdup(v->arena, seen.text ? seen.text : "");
    t->value = seen.value;
    t->word = seen.shows ? HSC__BAD : HSC__GOOD;
    if (!seen.known)
      t->reason = t->seen;
  }
  hsc_observation_deinit(&seen);
  hsc_observer_destroy(observer);
  return status;
}

// ---- one release --------------------------------------------------------------------------------

static hsc_status *recall(hsc__versions *v, hsc__try *t) {
  char *state = NULL;
  char *message = NULL;
  json_t *answer = NULL;
  if (!v->options->store)
    return NULL;
  HSC_TRY(
      hsc_store_get_task(v->options->store, v->experiment, t->version, &state, &message, &answer));
  if (answer) {
    t->tried = true;
    t->seen = hsc_arena_strdup(v->arena, message ? message : "");
    if (strcmp(state, "ok") != 0)
      t->reason = t->seen;
    t->word = (hsc__word)json_integer_value(json_object_get(answer, "word"));
    t->value = hsc_json_number(json_object_get(answer, "value"));
    t->low = hsc_json_number(json_object_get(answer, "low"));
    t->high = hsc_json_number(json_object_get(answer, "high"));
  }
  hsc_free(state);
  hsc_free(message);
  json_decref(answer);
  return NULL;
}

static hsc_status *remember(hsc__versions *v, const hsc__try *t) {
  if (!v->options->store)
    return NULL;
  json_t *answer =
      json_pack("{s:i, s:o, s:o, s:o}", "word", (int)t->word, "value", hsc_json_real(t->value),
                "low", hsc_json_real(t->low), "high", hsc_json_real(t->high));
  const char *text = t->reason ? t->reason : t->seen;
  hsc_status *status = hsc_store_put_task(v->options->store, v->experiment,
                                          &(hsc_task){.key = t->version,
                                                      .status = t->reason ? "skipped" : "ok",
                                                      .message = text ? text : "",
                                                      .answer = answer});
  json_decref(answer);
  return status;
}

static void say(const hsc__versions *v, const char *version, const char *text) {
  if (v->options->progress)
    v->options->progress(v->options->user, version, text);
}

static hsc_status *look(hsc__versions *v, hsc__try *t, json_t *overrides) {
  hsc_device_spec spec;
  hsc_status *status = spec_of(v, t->version, &spec);
  if (status && hsc_status_code(status) != HSC_CANCELLED) {  // not installed: stepped over
    t->reason = hsc_arena_strdup(v->arena, hsc_status_message(status));
    hsc_status_free(status);
    return hsc_arena_status(v->arena);
  }
  if (status)
    return status;
  return is_measured(v) ? measure(v, &spec, overrides, t) : observe(v, &spec, overrides, t);
}

hsc_status *hsc__version_try(hsc__versions *v, hsc__try *io_try) {
  static const char *const units[] = {"s a run", "s of compilation", "bytes"};
  HSC_TRY(recall(v, io_try));
  if (io_try->tried)
    return NULL;
  if (v->options->stop && *v->options->stop)
    return HSC_ERR(CANCELLED, "stopped; the same command goes on from here");
  say(v, io_try->version, "trying");
  HSC_TRY(look(v, io_try, v->options->overrides));
  io_try->tried = true;
  v->tried++;
  if (is_measured(v) && !io_try->reason)
    io_try->seen = hsc_arena_printf(v->arena, "%.4g %s", io_try->value,
                                    units[v->options->symptom.kind - HSC_SYMPTOM_SLOW]);
  say(v, io_try->version, io_try->reason ? io_try->reason : io_try->seen);
  return remember(v, io_try);
}

hsc_status *hsc__version_again(hsc__versions *v, hsc__try *io_try) {
  HSC_TRY(look(v, io_try, v->options->overrides));
  return remember(v, io_try);
}

// ---- what differs -------------------------------------------------------------------------------

static void add_difference(json_t *out, const char *what, json_t *before, json_t *after) {
  if (!json_equal(before, after))
    json_array_append_new(
        out, json_pack("{s:s, s:O, s:O}", "what", what, "before", before, "after", after));
  json_decref(before);
  json_decref(after);
}

typedef struct made {  // by one release
  json_t *facts;
  json_t *passes;      // {pass: times that it changed the program}
  const char *untold;  // why there are none; NULL = there are
} made;

static hsc_status *describe(hsc__versions *v, const char *version, made *out) {
  static const char *const kept[] = {"instructions", "fusions",    "flops",
                                     "bytes",        "temp_bytes", "code_bytes"};
  hsc_device_spec spec;
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  hsc_pass_list list = {0};
  char *dumps = NULL;
  hsc_status *status = NULL;
  *out = (made){json_object(), json_object(), NULL};
  HSC_GOTO(spec_of(v, version, &spec));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){
          .device = &spec, .executable = v->options->executable, .no_disk_cache = true},
      &worker));
  json_t *request = request_of(v, v->options->overrides);
  json_object_set_new(request, "job", json_string("compile"));
  status = hsc_lab_worker_call(worker, request, limit_of(v), &answer);
  json_decref(request);
  HSC_GOTO(status);
  for (size_t i = 0; i < HSC_COUNT_OF(kept) && answer.outcome == HSC_OUTCOME_OK; i++) {
    json_t *value = json_object_get(answer.body, kept[i]);
    json_object_set(out->facts, kept[i], value ? value : json_null());
  }
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_scratch_create_for_dumps(&dumps));
  hsc_status *untold =
      hsc_passes_collect(worker,
                         &(hsc_passes_collect_options){.program = v->options->program,
                                                       .overrides = v->options->overrides,
                                                       .scratch = dumps,
                                                       .dumps = true,
                                                       .bare = true,
                                                       .limit_ns = limit_of(v)},
                         &list);
  for (size_t i = 0; i < list.row_count && !untold; i++) {
    const char *pass = list.rows[i].pass;
    json_int_t before = json_integer_value(json_object_get(out->passes, pass));
    json_object_set_new(out->passes, pass, json_integer(before + (list.rows[i].changed == 1)));
  }
  if (untold)  // a release that tells nothing of its passes
    out->untold =
        hsc_arena_printf(v->arena, "passes of %s: %s", version, hsc_status_message(untold));
  hsc_status_free(untold);
done:
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
  hsc_pass_list_deinit(&list);
  hsc_scratch_destroy(dumps);
  return status;
}

static void diff_objects(json_t *out, const char *prefix, json_t *before, json_t *after) {
  const char *key;
  json_t *value;
  char what[160];
  json_object_foreach (before, key, value) {
    json_t *other = json_object_get(after, key);
    snprintf(what, sizeof what, "%s%s", prefix, key);
    add_difference(out, what, json_incref(value), other ? json_incref(other) : json_null());
  }
  json_object_foreach (after, key, value) {
    if (json_object_get(before, key))
      continue;
    snprintf(what, sizeof what, "%s%s", prefix, key);
    add_difference(out, what, json_null(), json_incref(value));
  }
}

hsc_status *hsc__version_differences(hsc__versions *v,
                                     const hsc__try *good,
                                     const hsc__try *bad,
                                     json_t *out_differences,
                                     json_t *out_not_compared) {
  made before = {0};
  made after = {0};
  say(v, bad->version, "what differs");
  hsc_status *status = describe(v, good->version, &before);
  if (!status)
    status = describe(v, bad->version, &after);
  if (!status) {
    diff_objects(out_differences, "", before.facts, after.facts);
    if (!before.untold && !after.untold)
      diff_objects(out_differences, "changes by pass ", before.passes, after.passes);
    if (before.untold)
      json_array_append_new(out_not_compared, json_string(before.untold));
    if (after.untold)
      json_array_append_new(out_not_compared, json_string(after.untold));
    json_array_append_new(out_not_compared, json_string("what the back end makes: machine code"));
  }
  json_decref(before.facts);
  json_decref(before.passes);
  json_decref(after.facts);
  json_decref(after.passes);
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

hsc_status *hsc__version_restore(hsc__versions *v, const hsc__try *bad, json_t *out_flags) {
  for (size_t i = 0; i < HSC_COUNT_OF(FLAGS); i++) {
    if (!hsc_starts_with(v->device, FLAGS[i].device))
      continue;
    if (v->options->stop && *v->options->stop)
      return NULL;
    hsc__try t = {.version = bad->version, .value = NAN, .low = NAN, .high = NAN};
    json_t *overrides =
        v->options->overrides ? json_deep_copy(v->options->overrides) : json_object();
    json_object_set_new(overrides, FLAGS[i].option, value_of(FLAGS[i].value));
    say(v, bad->version, FLAGS[i].option);
    hsc_status *status = look(v, &t, overrides);
    json_decref(overrides);
    HSC_TRY(status);
    bool good = !t.reason && (is_measured(v) ? t.high < v->limit : t.word == HSC__GOOD);
    // an option that is refused is no cure for a wrong answer: nothing was computed
    if (good && v->options->symptom.kind != HSC_SYMPTOM_WRONG &&
        v->options->symptom.kind != HSC_SYMPTOM_CRASH && !is_measured(v))
      good = t.seen && !strcmp(t.seen, "runs");
    if (good && v->options->symptom.kind == HSC_SYMPTOM_CRASH)
      good = t.seen && !strcmp(t.seen, "runs");
    if (good)
      json_array_append_new(out_flags, json_sprintf("%s=%s", FLAGS[i].option, FLAGS[i].value));
  }
  return NULL;
}
