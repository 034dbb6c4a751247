// patterns_measure.c - the sweep: which job when, in which order; what happens when one fails. The
// jobs of the model are in patterns_measure_model.c.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/ints.h"
#include "base/core/clock.h"
#include "base/core/random.h"
#include "lab/store/environment.h"
#include "lab/patterns/patterns_internal.h"

enum {
  START_COUNT = 6,   // processes started for the phases of a start: the least with an interval
  SYNC_COUNT = 200,  // synchronisations in the baseline
  SERIES_MOST = 40,  // runs after the two recorded ones of a trial of the pilot, at most
  PILOT_TRIALS = 3,
  // fewer trials than by default, where the machine is too slow for these within the aim: without
  // the first one, as many as an interval needs
  LEAST_TRIALS = HSC_LEAST_FOR_INTERVAL + 1,
};
static const double SERIES_BUDGET_NS = 8e6;  // of a trial
static const double TRIALS_SHARE = 0.5;      // of the aim: trials beyond the tenth end with it

// ---- phase 1: starts, synchronisation -----------------------------------------------------------

static hsc_status *measure_starts(patterns_run *run) {
  for (int i = 0; i < START_COUNT; i++) {
    char key[64];
    snprintf(key, sizeof key, "device/start/%d", i + 1);
    run->task_count++;
    if (hsc__patterns_is_over(run))
      return NULL;
    json_t *stored = NULL;
    HSC_TRY(hsc__patterns_stored(run, key, &stored));
    if (stored) {
      if (!run->device)
        run->device = json_incref(stored);
      json_array_append_new(run->starts, stored);
      continue;
    }
    if (run->options->progress)
      run->options->progress(run->options->user, run->task_count, run->task_total, key, 0);
    hsc_lab_worker_stop(run->worker);
    hsc_answer answer;
    HSC_TRY(hsc_lab_worker_start(run->worker, &answer));
    if (answer.outcome != HSC_OUTCOME_OK) {  // a device that does not start is no experiment
      hsc_status *status = hsc_answer_take_status(&answer);
      hsc_answer_deinit(&answer);
      return status;
    }
    hsc_status *status = hsc_task_table_keep_answer(&run->tasks, key, &answer);
    if (!run->device)
      run->device = json_incref(answer.body);
    json_array_append(run->starts, answer.body);
    hsc_answer_deinit(&answer);
    HSC_TRY(status);
  }
  if (run->options->device->topology)
    return NULL;
  return hsc__patterns_task(run, NULL, "sync/baseline",
                            json_pack("{s:s, s:i}", "job", "sync", "count", SYNC_COUNT),
                            &run->sync);
}

// ---- phase 2: warm-up, trials -------------------------------------------------------------------

static double total_ns_of(json_t *record) {
  return hsc_json_number(json_object_get(record, "total_ns"));
}

// How long one run takes when warm, from the warm-up's last records.
static void plan_series(pattern_config *config) {
  json_t *records = json_object_get(config->warmup, "records");
  size_t n = json_array_size(records);
  double typical = n ? total_ns_of(json_array_get(records, n - 1)) : 1e6;
  for (size_t i = n > 3 ? n - 3 : 0; i < n; i++) {
    double t = total_ns_of(json_array_get(records, i));
    if (t < typical)
      typical = t;
  }
  config->typical_ns = typical > 100 ? typical : 100;
  double fitting = SERIES_BUDGET_NS / config->typical_ns;
  if (fitting > SERIES_MOST)
    config->series_count = SERIES_MOST;
  else if (fitting < 3)
    config->series_count = 3;
  else
    config->series_count = (int64_t)fitting;
  if (config->typical_ns > 0.3e9)
    config->series_count = 1;  // the recorded runs must do
}

// The first trials are the pilot; it chooses how many runs the others make, within what they may
// take. With a given number of trials all of them are made.
static void plan_trials(const patterns_run *run, pattern_config *config) {
  const hsc_patterns_options *o = run->options;
  double room = 4 * SERIES_BUDGET_NS / config->typical_ns;
  size_t trials = (size_t)(o->measurement_trials ? o->measurement_trials : HSC_PATTERNS_TRIALS);
  hsc_sampling_init(&config->sampling,
                    &(hsc_sampling_options){.lower = "run",
                                            .upper = "trial",
                                            .half_width = o->half_width,
                                            .pilot_lower = (size_t)config->series_count,
                                            .pilot_upper = PILOT_TRIALS,
                                            .least_upper = trials,
                                            .most_upper = (size_t)run->trials,
                                            .most_lower = (size_t)hsc_clamp(room, 3, 400)},
                    config->typical_ns / 1e9);
}

// What the trial's runs were; what the trial cost beside them is what it recorded of itself.
static hsc_status *take_trial(pattern_config *config, int64_t trial) {
  size_t n = 0;
  double *x = hsc_json_doubles(hsc_json_path(config->trials[trial], "series", "run_ns", NULL), &n);
  double spent = 0;
  json_t *record;
  size_t i;
  for (i = 0; x && i < n; i++)
    spent += x[i] /= 1e9;
  json_array_foreach (json_object_get(config->trials[trial], "records"), i, record)
    spent += hsc_json_number(json_object_get(record, "total_ns")) / 1e9;
  static const char *const cold[] = {"compile_ns", "client_create_ns", "client_destroy_ns",
                                     "first_execution_ns"};
  for (i = 0; i < HSC_COUNT_OF(cold); i++) {
    double ns = hsc_json_number(
        json_array_get(hsc_json_path(config->colds[trial], "series", cold[i], NULL), 0));
    if (ns > 0)
      spent += ns / 1e9;
  }
  hsc_status *status = x && n ? hsc_sampling_add(&config->sampling, x, n, spent) : NULL;
  hsc_free(x);
  return status;
}

static hsc_status *measure_warmups(patterns_run *run) {
  for (size_t i = 0; i < run->config_count; i++) {
    pattern_config *config = &run->configs[i];
    char key[512];
    snprintf(key, sizeof key, "%s/warmup", config->key);
    json_t *request = hsc__patterns_request(config, "run");
    int64_t records = run->options->warmup_iterations;
    // Without a warm-up one run is still needed, to plan the length of series; it is not reported.
    json_object_set_new(request, "records", json_integer(records ? records : 2));
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
    json_object_set_new(request, "fetch", json_false());
    HSC_TRY(hsc__patterns_task(run, config, key, request, &config->warmup));
    if (config->warmup)
      plan_series(config);
    if (config->warmup)
      plan_trials(run, config);
    snprintf(key, sizeof key, "%s/describe", config->key);
    request = hsc__patterns_request(config, "describe");
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
    HSC_TRY(hsc__patterns_task(run, config, key, request, &config->describe));
  }
  return NULL;
}

static hsc_status *reinit(patterns_run *run, const char *key) {
  json_t *body = NULL;
  HSC_TRY(hsc__patterns_task(run, NULL, key, json_pack("{s:s}", "job", "reinit"), &body));
  json_decref(body);
  return NULL;
}

static hsc_status *measure_trial(patterns_run *run, pattern_config *config, int64_t trial) {
  char key[512];
  if (run->options->enable_device_reinit && !config->outcome) {
    snprintf(key, sizeof key, "%s/reinit/%lld", config->key, (long long)trial + 1);
    HSC_TRY(reinit(run, key));
  }
  snprintf(key, sizeof key, "%s/trial/%lld", config->key, (long long)trial + 1);
  json_t *request = hsc__patterns_request(config, "run");
  json_object_set_new(request, "records", json_integer(2));
  size_t series = hsc_sampling_next(&config->sampling);
  json_object_set_new(request, "series",
                      json_integer(series ? (json_int_t)series : (json_int_t)config->series_count));
  json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  HSC_TRY(hsc__patterns_task(run, config, key, request, &config->trials[trial]));
  snprintf(key, sizeof key, "%s/cold/%lld", config->key, (long long)trial + 1);
  request = hsc__patterns_request(config, "cold");
  json_object_set_new(request, "executions", json_integer(1));
  json_object_set_new(request, "syncs", json_integer(1));
  HSC_TRY(hsc__patterns_task(run, config, key, request, &config->colds[trial]));
  return take_trial(config, trial);
}

// Whether another trial of it is wanted.
static bool wants_trial(const patterns_run *run, const pattern_config *config, int64_t trial) {
  if (run->options->measurement_trials)
    return true;
  return !config->outcome &&
         (trial < HSC_PATTERNS_TRIALS || hsc_sampling_next(&config->sampling) > 0);
}

static void shuffle(size_t *order, size_t n, hsc_random *random) {
  for (size_t i = n; i-- > 1;) {
    size_t j = hsc_random_below(random, i + 1);
    size_t swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
}

// The aim allows no further trial. Those that an interval needs are made whatever it says.
static bool trials_are_over(const patterns_run *run, int64_t made) {
  const hsc_patterns_options *o = run->options;
  double spent_s = (double)(hsc_now_ns() - run->start_ns) / 1e9;
  if (o->measurement_trials || !(o->aim_s > 0) || made < LEAST_TRIALS)
    return false;
  return spent_s >= (made < HSC_PATTERNS_TRIALS ? 1 : TRIALS_SHARE) * o->aim_s;
}

static hsc_status *measure_trials(patterns_run *run) {
  size_t *order = HSC_NEW_ARRAY(run->arena, size_t, run->config_count + 1);
  HSC_TRY(hsc_arena_status(run->arena));
  for (size_t i = 0; i < run->config_count; i++)
    order[i] = i;
  hsc_random random;
  hsc_random_init(&random, run->options->seed + 1);
  // What the warm-up compiled goes, so that trial 1 shows a first run in a warm process.
  HSC_TRY(reinit(run, "device/reinit"));
  int64_t made = 0;
  for (bool any = true; any && made < run->trials && !run->interrupted; made += any) {
    bool over = trials_are_over(run, made);
    shuffle(order, run->config_count, &random);
    any = false;
    for (size_t i = 0; i < run->config_count; i++) {
      pattern_config *config = &run->configs[order[i]];
      if (!wants_trial(run, config, made))
        continue;
      if (over)
        hsc_sampling_end(&config->sampling, hsc_stop_text(HSC_STOP_BUDGET));
      if (over)
        continue;
      any = true;
      HSC_TRY(measure_trial(run, config, made));
    }
    // as far as can be known
    if (made + 1 >= HSC_PATTERNS_TRIALS && !run->options->measurement_trials)
      run->task_total += (int64_t)run->config_count;
  }
  for (size_t i = 0; i < run->config_count; i++) {
    hsc_sampling *sampling = &run->configs[i].sampling;
    if (run->interrupted && !sampling->ended)
      hsc_sampling_end(sampling, "an interrupt");
    if (run->options->measurement_trials)
      hsc_sampling_end(sampling, "as many trials as were asked for");
    if (sampling->count)
      HSC_TRY(hsc_sampling_finish(sampling, run->options->seed));
  }
  return NULL;
}

// ---- a compiler without its device --------------------------------------------------------------

// One compile of a configuration in a process of its own, as a cold round of which nothing else was
// measured.
static hsc_status *measure_compile(patterns_run *run, pattern_config *config, int64_t trial) {
  char key[512];
  json_t *answer = NULL;
  json_t *request = hsc__patterns_request(config, "describe");
  json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  snprintf(key, sizeof key, "%s/compile/%lld", config->key, (long long)trial + 1);
  hsc_lab_worker_stop(run->worker);
  HSC_TRY(hsc__patterns_task(run, config, key, request, &answer));
  if (!answer)
    return NULL;
  config->colds[trial] =
      json_pack("{s:{s:[O]}}", "series", "compile_ns", json_object_get(answer, "compile_ns"));
  if (!config->describe)
    config->describe = json_incref(answer);
  json_decref(answer);
  return NULL;
}

// What needs no device: the process, the plugin, the compiles and what they give.
static hsc_status *measure_compiles(patterns_run *run) {
  int64_t wanted =
      run->options->measurement_trials ? run->options->measurement_trials : HSC_LEAST_PROCESSES;
  for (int64_t trial = 0; trial < wanted && trial < run->trials; trial++)
    for (size_t i = 0; i < run->config_count; i++)
      HSC_TRY(measure_compile(run, &run->configs[i], trial));
  for (size_t i = 0; i < run->config_count; i++)
    if (!run->configs[i].outcome)
      run->configs[i].message = "compiled ahead of time: there is no device, so nothing was run";
  return NULL;
}

hsc_status *hsc__patterns_measure(patterns_run *run) {
  const hsc_patterns_options *o = run->options;
  run->starts = json_array();
  run->deaths = json_array();
  run->failures = json_array();
  if (o->device->topology) {
    run->task_total =
        START_COUNT + (int64_t)run->config_count *
                          (o->measurement_trials ? o->measurement_trials : HSC_LEAST_PROCESSES);
    HSC_TRY(measure_starts(run));
    return measure_compiles(run);
  }
  int64_t per_config = 2 +
                       (o->measurement_trials ? o->measurement_trials : HSC_PATTERNS_TRIALS) *
                           (o->enable_device_reinit ? 3 : 2) +
                       2 * HSC__MODEL_PROCESSES + 2;
  // 30: the puzzle, at most
  run->task_total = START_COUNT + 1 + 1 + (int64_t)run->config_count * per_config + 30;
  HSC_TRY(measure_starts(run));
  HSC_TRY(measure_warmups(run));
  HSC_TRY(measure_trials(run));
  HSC_TRY(hsc__patterns_measure_model(run));
  HSC_TRY(hsc__patterns_puzzle(run));
  return hsc__patterns_work(run);
}
