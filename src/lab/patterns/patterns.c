// patterns.c - the experiment from its plan to its result.
#include <stdlib.h>
#include <time.h>

#include "base/core/clock.h"
#include "lab/store/environment.h"
#include "lab/patterns/patterns_internal.h"

static json_t *sync_baseline(const patterns_run *run) {
  size_t n;
  double *times = hsc_json_doubles(hsc_json_path(run->sync, "series", "sync_ns", NULL), &n);
  json_t *baseline = hsc__summary_json(times, n, run->options->seed);
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(list, hsc_json_real(hsc__seconds(times[i])));
  if (!json_is_object(baseline)) {
    json_decref(baseline);
    baseline = json_object();
  }
  json_object_set_new(baseline, "iterations", json_integer((json_int_t)n));
  json_object_set_new(baseline, "times", list);
  hsc_free(times);
  return baseline;
}

// Plugin, versions, and every start's phases.
static json_t *device_json(const patterns_run *run) {
  static const char *const facts[] = {"plugin",     "pjrt_version", "platform", "platform_version",
                                      "attributes", "extensions",   "devices"};
  static const char *const phases[][2] = {{"process_start", "start_ns"},
                                          {"plugin_load", "plugin_load_ns"},
                                          {"plugin_initialize", "plugin_initialize_ns"},
                                          {"client_create", "client_create_ns"}};
  json_t *device = json_object();
  json_t *starts = json_object();
  json_t *start;
  json_object_set_new(device, "device", json_string(run->options->device->text));
  for (size_t i = 0; i < HSC_COUNT_OF(facts); i++)
    if (json_object_get(run->device, facts[i]))
      json_object_set(device, facts[i], json_object_get(run->device, facts[i]));
  size_t n = json_array_size(run->starts);
  size_t i;
  double *values = hsc_alloc((n + 1) * sizeof(double));
  for (size_t p = 0; values && p < HSC_COUNT_OF(phases); p++) {
    json_array_foreach (run->starts, i, start)
      values[i] = hsc_json_number(json_object_get(start, phases[p][1]));
    json_object_set_new(starts, phases[p][0], hsc__summary_json(values, n, run->options->seed));
  }
  hsc_free(values);
  json_object_set_new(device, "phases", starts);
  return device;
}

static json_t *timestamp(void) {
  time_t now = time(NULL);
  struct tm utc;
  char text[32];
  gmtime_r(&now, &utc);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return json_string(text);
}

static hsc_status *make_result(patterns_run *run, json_t **out_result) {
  json_t *result = json_object();
  size_t failed = 0;
  for (size_t i = 0; i < run->config_count; i++)
    failed += run->configs[i].outcome != NULL;
  json_object_set_new(result, "tool",
                      json_pack("{s:s, s:s}", "name", "hloscope", "version", HSC_VERSION));
  json_object_set_new(result, "timestamp", timestamp());
  const char *state = failed || json_array_size(run->failures) ? "partial" : "done";
  json_object_set_new(result, "status", json_string(run->interrupted ? "interrupted" : state));
  json_object_set_new(result, "experiment", json_integer((json_int_t)run->tasks.experiment));
  json_object_set_new(result, "store", json_string(hsc_store_path(run->options->store)));
  json_object_set_new(result, "configuration", hsc__patterns_configuration(run));
  json_object_set_new(result, "environment", json_incref(run->environment));
  json_object_set_new(result, "device", device_json(run));
  json_object_set_new(result, "sync_baseline", sync_baseline(run));
  json_object_set_new(result, "graphs", json_incref(run->graphs));
  hsc_status *status = NULL;
  HSC_GOTO(hsc__patterns_analyse(run, result));
  HSC_GOTO(hsc__patterns_model(run, result));
  HSC_GOTO(hsc__patterns_findings(run, result));
  json_object_set_new(result, "failures", json_incref(run->failures));
  json_object_set_new(result, "worker_deaths", json_incref(run->deaths));
  hsc_bytes markdown = {0};
  status = hsc_patterns_markdown(result, &markdown);
  if (!status)
    json_object_set_new(result, "summary", json_string(hsc_bytes_text(&markdown)));
  hsc_bytes_deinit(&markdown);
done:
  if (status)
    json_decref(result);
  else
    *out_result = result;
  return status;
}

static hsc_status *begin(patterns_run *run) {
  const hsc_patterns_options *o = run->options;
  char plan[33];
  hsc__patterns_plan_hash(run, plan);
  HSC_TRY(hsc_environment_capture(true, &run->environment));
  json_t *configuration = hsc__patterns_configuration(run);
  hsc_bytes subject = {0};
  if (o->program)
    hsc_bytes_append_text(&subject, o->program);
  else
    hsc_bytes_printf(&subject, "%zu configurations of %zu graphs", run->config_count,
                     json_object_size(run->graphs));
  hsc_experiment experiment = {.kind = "patterns",
                               .command = o->command ? o->command : "",
                               .device = o->device->text,
                               .subject = hsc_bytes_text(&subject),
                               .plan = plan,
                               .seed = o->seed,
                               .configuration = configuration,
                               .environment = run->environment};
  hsc_task_target target = {.device = o->device};
  hsc_status *status = hsc_task_table_begin(o->store, o->resume, &experiment, &target, &run->tasks);
  json_decref(configuration);
  hsc_bytes_deinit(&subject);
  return status;
}

static void release(patterns_run *run) {
  hsc_lab_worker_destroy(run->worker);
  for (size_t i = 0; i < run->config_count; i++) {
    pattern_config *c = &run->configs[i];
    json_t *const answers[] = {c->manifest, c->feed,         c->describe,
                               c->warmup,   c->cold_holdout, c->work};
    for (size_t k = 0; k < HSC_COUNT_OF(answers); k++)
      json_decref(answers[k]);
    for (size_t p = 0; p < HSC__MODEL_PROCESSES; p++) {
      json_decref(c->model[p]);
      json_decref(c->holdout[p]);
    }
    hsc_sampling_deinit(&c->sampling);
    for (int64_t t = 0; t < run->trials; t++) {
      json_decref(c->trials[t]);
      json_decref(c->colds[t]);
    }
  }
  json_t *const all[] = {run->graphs, run->starts,   run->sync,        run->puzzle,
                         run->deaths, run->failures, run->environment, run->device};
  for (size_t i = 0; i < HSC_COUNT_OF(all); i++)
    json_decref(all[i]);
  hsc_arena_destroy(run->arena);
}

hsc_status *hsc_patterns_run(const hsc_patterns_options *options, json_t **out_result) {
  patterns_run run = {.options = options,
                      .setting = {.device = options->device,
                                  .executable = options->executable,
                                  .stop = options->stop,
                                  .deadline_ns = options->deadline_ns,
                                  // a trial is one of a series in one process: a death is told
                                  .tries = 1},
                      .start_ns = hsc_now_ns(),
                      .trials = options->measurement_trials ? options->measurement_trials
                                                            : HSC_PATTERNS_TRIALS_MOST};
  hsc_status *status = NULL;
  *out_result = NULL;
  HSC_GOTO(hsc_arena_create(&run.arena));
  HSC_GOTO(hsc__patterns_plan(&run));
  if (run.config_count == 0)
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "no configuration is left to measure"));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = options->device, .executable = options->executable},
      &run.worker));
  HSC_GOTO(begin(&run));
  status = hsc__patterns_measure(&run);
  if (!status)
    status = make_result(&run, out_result);
  status = hsc_task_table_end(&run.tasks, status, run.interrupted, *out_result);
done:
  release(&run);
  return status;
}
