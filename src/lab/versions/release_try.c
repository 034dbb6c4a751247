// release_try.c - one release at a time: its environment, what it makes of the program, and what is
// kept of it for a search that goes on later.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "lab/devices/device_version.h"
#include "lab/run/json_tree.h"
#include "lab/versions/release_search_internal.h"
#include "stats/stats_interleaved.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"

enum { RUNS = 40, COMPILES = 3, LEAST_ROUNDS = 3, MOST_ROUNDS = 24 };

int64_t hsc__version_limit_ns(const hsc__versions *v) {
  return v->options->limit_ns > 0 ? v->options->limit_ns : 60 * HSC_SECOND_NS;
}

hsc_status *hsc__version_spec(hsc__versions *v, const char *version, hsc_device_spec *out_spec) {
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

// A longer copy: the arena keeps the old one.
static hsc_status *append(
    hsc__versions *v, double **io_list, size_t *io_count, const double *values, size_t count) {
  double *all = HSC_NEW_ARRAY(v->arena, double, *io_count + count + 1);
  HSC_TRY(hsc_arena_status(v->arena));
  if (*io_count)
    memcpy(all, *io_list, *io_count * sizeof *all);
  memcpy(all + *io_count, values, count * sizeof *all);
  *io_list = all;
  *io_count += count;
  return NULL;
}

static hsc_status *summarize(const hsc__versions *v, hsc__try *t) {
  const double *values = t->by_process ? t->processes : t->samples;
  size_t count = t->by_process ? t->process_count : t->sample_count;
  hsc_summary summary;
  if (!count)
    return NULL;
  HSC_TRY(hsc_stats_summarize(values, count, &(hsc_interval_options){.seed = 1}, &summary));
  t->value = summary.median;
  bool exact = v->options->symptom.kind == HSC_SYMPTOM_MEMORY;
  t->low = exact ? summary.median : summary.median_low;
  t->high = exact ? summary.median : summary.median_high;
  return NULL;
}

static hsc_status *add_samples(hsc__versions *v, hsc__try *t, const double *values, size_t count) {
  HSC_TRY(append(v, &t->samples, &t->sample_count, values, count));
  return summarize(v, t);
}

// The samples from `first` on are of one process.
static hsc_status *add_process(hsc__versions *v, hsc__try *t, size_t first) {
  if (t->sample_count == first)
    return NULL;
  double median = hsc_stats_median(t->samples + first, t->sample_count - first);
  HSC_TRY(append(v, &t->processes, &t->process_count, &median, 1));
  return summarize(v, t);
}

static json_t *request_of(const hsc__versions *v, json_t *overrides) {
  bool runs = v->options->symptom.kind == HSC_SYMPTOM_SLOW;
  json_t *request = json_pack("{s:s, s:s, s:I, s:[s]}", "job", runs ? "run" : "compile", "program",
                              v->program, "seed", (json_int_t)v->options->seed, "cache", "memory");
  if (request && runs) {
    json_object_set_new(request, "series", json_integer(RUNS));
    json_object_set_new(request, "warmups", json_integer(1));
    json_object_set_new(request, "budget_s", json_real(3));
  }
  if (request && runs && v->options->data)
    json_object_set(request, "data", v->options->data);
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
  size_t first = t->sample_count;
  int rounds = v->options->symptom.kind == HSC_SYMPTOM_COMPILE ? COMPILES : 1;
  hsc_status *status =
      hsc_lab_worker_create(&(hsc_lab_worker_options){.device = spec,
                                                      .executable = v->options->executable,
                                                      .no_disk_cache = true,
                                                      .stop = v->options->stop},
                            &worker);
  // a compile that is far on the bad side needs no second
  for (int i = 0; i < rounds && !status && !t->reason && !(i > 0 && t->value > 2 * v->limit); i++) {
    hsc_answer answer = {0};
    json_t *request = request_of(v, overrides);
    status = request ? hsc_lab_worker_call(worker, request, hsc__version_limit_ns(v), &answer)
                     : hsc_status_out_of_memory();
    if (!status && answer.outcome != HSC_OUTCOME_OK)
      t->reason = words_of(v, &answer);
    else if (!status)
      status = take_answer(v, answer.body, t);
    hsc_answer_deinit(&answer);
    json_decref(request);
  }
  if (!status && !t->reason)
    status = add_process(v, t, first);
  if (!status && !t->reason && isnan(t->value))
    t->reason = "it does not tell the value";
  hsc_lab_worker_destroy(worker);
  return status;
}

// ---- exponents ----------------------------------------------------------------------------------

// The symptom's quantity in every size, in turns: processor time, which others on the machine only
// add to. Each look takes twice the rounds of the one before and replaces it.
static hsc_status *measure_growth(hsc__versions *v,
                                  const hsc_device_spec *spec,
                                  json_t *overrides,
                                  hsc__try *t) {
  static const char *const quantities[] = {"run", "compile", "memory"};
  const char *only = quantities[v->options->symptom.kind - HSC_SYMPTOM_SLOW];
  const char **paths = HSC_NEW_ARRAY(v->arena, const char *, v->size_count);
  json_t *document = NULL;
  hsc_bytes sizes = {0};
  HSC_TRY(hsc_arena_status(v->arena));
  for (size_t i = 0; i < v->size_count; i++) {
    paths[i] = v->sizes[i].path;
    hsc_bytes_printf(&sizes, "%s%.0f", i ? "," : "", v->sizes[i].size);
  }
  hsc_growth_options o = {.programs = paths,
                          .program_count = v->size_count,
                          .sizes = hsc_bytes_text(&sizes),
                          .device = spec->text,
                          .overrides = overrides,
                          .executable = v->options->executable,
                          .rounds = LEAST_ROUNDS << t->looks,
                          .limit_s = (double)hsc__version_limit_ns(v) / 1e9,
                          .only = only,
                          .stop = v->options->stop};
  hsc_status *status = hsc_bytes_status(&sizes);
  if (!status)
    status = hsc_growth(&o, &document);
  json_t *row = hsc_json_path(document, "exponents", only, NULL);
  if (!status && json_is_object(row)) {
    t->exponent = (hsc_interval){.estimate = hsc_json_number(json_object_get(row, "value")),
                                 .low = hsc_json_number(json_object_get(row, "low")),
                                 .high = hsc_json_number(json_object_get(row, "high"))};
    t->at_sizes = HSC_NEW_ARRAY(v->arena, double, v->size_count);
    for (size_t i = 0; t->at_sizes && i < v->size_count; i++)
      t->at_sizes[i] = hsc_json_number(json_array_get(json_object_get(row, "values"), i));
    t->looks += (LEAST_ROUNDS << t->looks) < MOST_ROUNDS;
  } else if (!status) {
    t->reason = hsc_arena_strdup(
        v->arena, json_string_value(hsc_json_path(document, "not_measured", only, NULL)));
  }
  json_decref(document);
  hsc_bytes_deinit(&sizes);
  return status ? status : hsc_arena_status(v->arena);
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
                            .limit_ns = hsc__version_limit_ns(v),
                            .reference_limit_ns = 60 * HSC_SECOND_NS,
                            .stop = v->options->stop};
  HSC_TRY(hsc_arena_status(v->arena));
  HSC_TRY(hsc_observer_create(&o, &observer));
  hsc_status *status =
      hsc_observer_look(observer, &v->options->symptom,
                        &(hsc_looked_at){.path = v->program, .data = v->options->data}, &seen);
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

static json_t *triple(double estimate, double low, double high) {
  return json_pack("[o, o, o]", hsc_json_real(estimate), hsc_json_real(low), hsc_json_real(high));
}

static double number_at(json_t *object, const char *key, size_t index) {
  return hsc_json_number(json_array_get(json_object_get(object, key), index));
}

// What an interrupted search has seen of the release. Without its samples: what is measured again
// is measured from the beginning.
static hsc_status *recall(hsc__versions *v, hsc__try *t) {
  hsc_task_row row;
  HSC_TRY(hsc_task_table_find(&v->tasks, t->version, &row));
  json_t *answer = row.answer;
  if (row.state) {
    t->tried = true;
    t->seen = hsc_arena_strdup(v->arena, row.message ? row.message : "");
    if (strcmp(row.state, "ok") != 0)
      t->reason = t->seen;
    t->word = (hsc__word)json_integer_value(json_object_get(answer, "word"));
    t->value = number_at(answer, "value", 0);
    t->low = number_at(answer, "value", 1);
    t->high = number_at(answer, "value", 2);
    t->exponent = (hsc_interval){.estimate = number_at(answer, "exponent", 0),
                                 .low = number_at(answer, "exponent", 1),
                                 .high = number_at(answer, "exponent", 2)};
    t->confirmed = json_is_true(json_object_get(answer, "confirmed"));
    json_t *values = json_object_get(answer, "at_sizes");
    if (json_array_size(values) == v->size_count && v->size_count)
      t->at_sizes = HSC_NEW_ARRAY(v->arena, double, v->size_count);
    for (size_t i = 0; t->at_sizes && i < v->size_count; i++)
      t->at_sizes[i] = hsc_json_number(json_array_get(values, i));
  }
  hsc_task_row_deinit(&row);
  return hsc_arena_status(v->arena);
}

hsc_status *hsc__version_keep(hsc__versions *v, const hsc__try *t) {
  if (t->for_now)
    return NULL;
  json_t *values = json_array();
  for (size_t i = 0; t->at_sizes && i < v->size_count; i++)
    json_array_append_new(values, hsc_json_real(t->at_sizes[i]));
  json_t *answer = json_pack("{s:i, s:o, s:o, s:o, s:b}", "word", (int)t->word, "value",
                             triple(t->value, t->low, t->high), "exponent",
                             triple(t->exponent.estimate, t->exponent.low, t->exponent.high),
                             "at_sizes", values, "confirmed", t->confirmed);
  const char *text = t->reason ? t->reason : t->seen;
  hsc_status *status = hsc_task_table_keep(&v->tasks, t->version, t->reason ? "skipped" : "ok",
                                           text ? text : "", answer);
  json_decref(answer);
  return status;
}

void hsc__version_say(const hsc__versions *v, const char *version, const char *text) {
  if (v->options->progress)
    v->options->progress(v->options->user, version, text);
}

// "0.1504 s a run", with sizes ", grows with n^1.91".
static void describe_value(hsc__versions *v, hsc__try *t) {
  static const char *const units[] = {"s a run", "s of compilation", "bytes"};
  if (t->reason)
    return;
  t->seen = hsc_arena_printf(v->arena, "%.4g %s", t->value,
                             units[v->options->symptom.kind - HSC_SYMPTOM_SLOW]);
  if (v->size_count)
    t->seen = hsc_arena_printf(v->arena, "%s, grows with n^%.2f [%.2f, %.2f]", t->seen,
                               t->exponent.estimate, t->exponent.low, t->exponent.high);
}

hsc_status *hsc__version_look(hsc__versions *v, hsc__try *t, json_t *overrides) {
  hsc_device_spec spec;
  hsc_status *status = hsc__version_spec(v, t->version, &spec);
  if (status && hsc_status_code(status) != HSC_CANCELLED) {  // not installed: stepped over
    t->reason = hsc_arena_strdup(v->arena, hsc_status_message(status));
    t->for_now = true;  // the index, the disk or the network may be back when the search goes on
    hsc_status_free(status);
    return hsc_arena_status(v->arena);
  }
  if (status)
    return status;
  if (!hsc__is_measured(v))
    return observe(v, &spec, overrides, t);
  HSC_TRY(measure(v, &spec, overrides, t));
  if (v->size_count && !t->reason)
    HSC_TRY(measure_growth(v, &spec, overrides, t));
  describe_value(v, t);
  return hsc_arena_status(v->arena);
}

static hsc_status *check_stop(const hsc__versions *v) {
  if (v->options->stop && *v->options->stop)
    return HSC_ERR(CANCELLED, "stopped");
  return NULL;
}

hsc_status *hsc__version_try(hsc__versions *v, hsc__try *io_try) {
  HSC_TRY(recall(v, io_try));
  if (io_try->tried)
    return NULL;
  HSC_TRY(check_stop(v));
  hsc__version_say(v, io_try->version, "trying");
  HSC_TRY(hsc__version_look(v, io_try, v->options->overrides));
  io_try->tried = true;
  v->tried++;
  hsc__version_say(v, io_try->version, io_try->reason ? io_try->reason : io_try->seen);
  return hsc__version_keep(v, io_try);
}

size_t hsc__processes_wanted(const hsc__versions *v) {
  return v->options->symptom.kind == HSC_SYMPTOM_MEMORY ? 1 : HSC_LEAST_PROCESSES;
}

hsc_status *hsc__version_process(hsc__versions *v, hsc__try *t, json_t *overrides) {
  hsc_device_spec spec;
  HSC_TRY(check_stop(v));
  HSC_TRY(hsc__version_spec(v, t->version, &spec));
  t->by_process = true;
  HSC_TRY(measure(v, &spec, overrides, t));
  describe_value(v, t);
  return hsc_arena_status(v->arena);
}

hsc_status *hsc__version_again(hsc__versions *v, hsc__try *io_try) {
  HSC_TRY(check_stop(v));
  hsc__version_say(v, io_try->version, "measuring once more");
  HSC_TRY(hsc__version_look(v, io_try, v->options->overrides));
  return hsc__version_keep(v, io_try);
}
