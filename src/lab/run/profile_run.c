// profile_run.c - one program under a device's profiler.
#include "base/core/clock.h"
#include "lab/run/profile_run.h"

#include <math.h>
#include <stdlib.h>

#include "lab/devices/devices.h"
#include "lab/run/json_tree.h"
#include "lab/run/run_series.h"
#include "worker/worker_client.h"

enum { STEPS_LEAST = 3, STEPS_MOST = 1000 };

static json_t *request_of(const hsc_profile_run_options *o, const hsc_device_spec *device) {
  json_t *request = json_pack("{s:s, s:s, s:I}", "job", "run", "program", o->program, "seed",
                              (json_int_t)o->seed);
  json_t *transforms = json_array();
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  json_object_set_new(request, "transforms", transforms);
  json_object_set_new(request, "fetch", json_false());
  if (o->data)
    json_object_set(request, "data", o->data);
  json_t *overrides = o->overrides ? json_copy(o->overrides) : json_object();
  // ours tells of each kernel why it stands apart from those that it reads
  if (device->source == HSC_DEVICE_BUILT_IN)
    json_object_set_new(overrides, "hloscope_record_fusion", json_true());
  if (json_object_set_new(request, "overrides", overrides)) {
    json_decref(request);
    return NULL;
  }
  return request;
}

static hsc_status *call(hsc_lab_worker *worker,
                        json_t *request,
                        int64_t limit_ns,
                        json_t **out_body) {
  hsc_answer answer;
  if (!request)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_call(worker, request, limit_ns, &answer);
  json_decref(request);
  if (status)
    return status;
  if (answer.outcome == HSC_OUTCOME_OK)
    *out_body = json_incref(answer.body);
  else
    status = hsc_answer_take_status(&answer);
  hsc_answer_deinit(&answer);
  return status;
}

// Warm blocks without the profiler: how much steps differ, and so how many to record.
static hsc_status *pilot(const hsc_profile_run_options *o,
                         const hsc_device_spec *device,
                         hsc_lab_worker *worker,
                         hsc_run_series *series) {
  hsc_sampling *sampling = &series->sampling;
  json_t *request = request_of(o, device);
  hsc_status *status = request ? NULL : hsc_status_out_of_memory();
  while (!status && !sampling->has_pilot && !sampling->no_pilot && !sampling->ended) {
    hsc_answer answer = {0};
    status = hsc_run_series_block(series, worker, request, o->limit_ns, false, &answer);
    if (!status && answer.outcome != HSC_OUTCOME_OK)
      status = hsc_answer_take_status(&answer);
    hsc_answer_deinit(&answer);
  }
  json_decref(request);
  hsc_sampling_restart(sampling);
  return status;
}

// One recording: all that the pilot saw to vary is averaged over steps. The standard error of a
// median of n is 1.2533 deviations over sqrt n.
static int64_t steps_wanted(hsc_sampling *sampling) {
  const hsc_design *d = &sampling->design;
  double width = sampling->options.half_width > 0 ? sampling->options.half_width : 0.01;
  double share = sqrt(d->variance[0] + d->variance[1]) / d->mean;
  double n = ceil(pow(1.96 * 1.2533 * share / width, 2));
  // under ten no interval is looked at
  sampling->chosen_lower = (size_t)fmin(STEPS_MOST, fmax(10, n));
  return (int64_t)sampling->chosen_lower;
}

hsc_status *hsc_profile_program(const hsc_profile_run_options *o, hsc_profile_run *out_run) {
  hsc_arena *arena = NULL;
  hsc_lab_worker *worker = NULL;
  hsc_device_spec spec;
  hsc_run_series series = {0};
  hsc_sampling *sampling = &series.sampling;
  json_t *warm = NULL;
  json_t *body = NULL;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  *out_run = (hsc_profile_run){0};
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_device_spec_parse(o->device, arena, &spec));
  if (spec.topology || spec.source == HSC_DEVICE_EVALUATOR)
    HSC_GOTO(
        HSC_ERR(UNIMPLEMENTED,
                "%s: not supported: a profile needs a device that runs programs under a profiler",
                o->device));
  // Not from the compile cache: a program that differs in names alone is found there with the other
  // one's, and names are what a profile is read by.
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){
          .device = &spec, .executable = o->executable, .no_disk_cache = true},
      &worker));
  // Warm-up: compiled, inputs there, caches and threads awake.
  json_t *request = request_of(o, &spec);
  json_object_set_new(request, "series", json_integer(2));
  HSC_GOTO(call(worker, request, o->limit_ns, &warm));
  size_t n = 0;
  double first = hsc_answer_execute_ns(warm, 0);
  double *before = hsc_json_doubles(hsc_json_path(warm, "series", "run_ns", NULL), &n);
  double each = n ? before[n - 1] : first;
  hsc_free(before);
  double budget_s = (double)(o->duration_ns ? o->duration_ns : HSC_SECOND_NS / 5) / 1e9;
  hsc_run_series_init(&series,
                      &(hsc_sampling_options){.half_width = o->half_width,
                                              .budget_s = budget_s,
                                              .exact = (size_t)o->steps,
                                              .most_lower = STEPS_MOST},
                      each / 1e9);
  sampling->options.lower = "step";
  sampling->options.upper = "recording";
  HSC_GOTO(pilot(o, &spec, worker, &series));
  int64_t steps = o->steps ? o->steps : STEPS_MOST;
  if (sampling->has_pilot)
    steps = steps_wanted(sampling);
  request = request_of(o, &spec);
  json_object_set_new(request, "records", json_integer(0));
  json_object_set_new(request, "series", json_integer(steps));
  json_object_set_new(request, "inputs", json_string("keep"));
  json_object_set_new(request, "xspace_to", json_string(o->xspace_path));
  if (!o->steps) {
    json_object_set_new(request, "half_width", json_real(o->half_width));
    json_object_set_new(request, "budget_s", json_real(budget_s));
  }
  int64_t start_ns = hsc_now_ns();
  status = call(worker, request, o->limit_ns, &body);
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED)
    status = hsc_status_hint(status,
                             "hloscope trace -- COMMAND sees every call of this plugin, without "
                             "operators; hloscope profile --device cpu or xla-cpu shows those");
  if (status)
    goto done;
  HSC_GOTO(hsc_run_series_add(&series, body, (double)(hsc_now_ns() - start_ns) / 1e9));
  const char *ended_by = json_string_value(json_object_get(body, "series_ended_by"));
  if (!ended_by || !strcmp(ended_by, hsc_stop_text(HSC_STOP_MOST)))
    ended_by = "as many as the first ones asked for";
  hsc_sampling_end(sampling, o->steps ? "as many as were asked for" : ended_by);
  HSC_GOTO(hsc_sampling_finish(sampling, o->seed));
  hsc_sampling_text(sampling, true, &text);
  *out_run = (hsc_profile_run){
      .steps = (int64_t)sampling->count,
      .warm_up_s = first / 1e9,
      .xspace_bytes = (int64_t)hsc_json_number(json_object_get(body, "xspace_bytes")),
      .sampling = hsc_bytes_take(&text)};
done:
  hsc_bytes_deinit(&text);
  hsc_run_series_deinit(&series);
  json_decref(warm);
  json_decref(body);
  hsc_lab_worker_destroy(worker);
  hsc_arena_destroy(arena);
  return status;
}
