// run_device.c - one device of a run in its process: started, the first run, blocks of timed runs,
// ended.
#include <math.h>

#include "lab/run/run_internal.h"
#include "lab/shards/shards.h"
#include "stats/stats_interleaved.h"

static json_t *request_of(const hsc_run_options *o,
                          const hsc__device_run *device,
                          const char *job) {
  json_t *request = json_pack("{s:s, s:s, s:I}", "job", job, "program", device->program, "seed",
                              (json_int_t)o->seed);
  json_t *transforms = json_array();
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  json_object_set_new(request, "transforms", transforms);
  if (o->overrides)
    json_object_set(request, "overrides", o->overrides);
  if (device->is_whole)
    json_object_set_new(request, "whole", json_true());
  if (o->data)
    json_object_set(request, "data", o->data);
  if (!o->use_cache)
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  return request;
}

// The compiled program comes with it, for what is said of its chips.
static json_t *describe_request(const hsc_run_options *o, const hsc__device_run *device) {
  json_t *request = request_of(o, device, "describe");
  if (request && device->optimized)
    json_object_set_new(request, "optimized_to", json_string(device->optimized));
  return request;
}

// One job; false = it failed and the device's run is over.
static hsc_status *do_job(const hsc_run_options *o,
                          hsc_lab_worker *worker,
                          json_t *request,
                          hsc__device_run *device,
                          json_t **out_body,
                          bool *out_done) {
  hsc_answer answer;
  *out_done = false;
  if (!request)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_call(worker, request, o->limit_ns, &answer);
  json_decref(request);
  if (status)
    return status;
  if (answer.outcome == HSC_OUTCOME_OK) {
    *out_body = json_incref(answer.body);
    *out_done = true;
  } else {
    device->outcome = answer.outcome;
    device->status = hsc_answer_take_status(&answer);
  }
  hsc_answer_deinit(&answer);
  return NULL;
}

void hsc__run_release(hsc__device_run *device) {
  json_t *const answers[] = {device->facts, device->first, device->series, device->describe};
  for (size_t k = 0; k < HSC_COUNT_OF(answers); k++)
    json_decref(answers[k]);
  hsc_lab_worker_destroy(device->worker);
  hsc_run_series_deinit(&device->timed);
  hsc_status_free(device->status);
  for (size_t p = 0; p < device->process_count; p++)
    hsc_free(device->processes[p].samples);
  hsc_free(device->processes);
}

// Devices that can take a program whole do so where they are too few for its parts: the evaluator
// and jaxlib always, our own where its numbers are compared. Alone it refuses, and says what would
// be enough.
static bool runs_whole(const hsc_run_options *o, const hsc__device_run *device) {
  int64_t have = device->spec->device_count > 1 ? device->spec->device_count : 1;
  switch (device->spec->source) {
    case HSC_DEVICE_EVALUATOR:
      return device->wanted > 1;
    case HSC_DEVICE_PYTHON:
      return device->wanted > have && have == 1;
    case HSC_DEVICE_BUILT_IN:
      return device->wanted > have && have == 1 && o->compare;
    default:
      return false;
  }
}

// Starts the device and runs the program once. A device that only compiles, or failed, is then
// over: it has no worker.
hsc_status *hsc__run_start(const hsc_run_options *o,
                           const char *save_dir,
                           hsc__device_run *device) {
  hsc_answer start;
  bool done = false;
  bool goes_on = false;
  HSC_TRY(
      hsc_lab_worker_create(&(hsc_lab_worker_options){.device = device->spec,
                                                      .executable = o->executable,
                                                      .no_disk_cache = !o->use_cache,
                                                      .memory_limit_bytes = o->memory_limit_bytes},
                            &device->worker));
  hsc_lab_worker *worker = device->worker;
  hsc_status *status = hsc_lab_worker_start(worker, &start);
  if (status)
    goto done;
  if (start.outcome != HSC_OUTCOME_OK) {
    device->outcome = start.outcome;
    device->status = hsc_answer_take_status(&start);
    hsc_answer_deinit(&start);
    goto done;
  }
  device->facts = json_incref(start.body);
  hsc_answer_deinit(&start);
  bool evaluator = device->spec->source == HSC_DEVICE_EVALUATOR;
  device->wanted = o->transform_count ? 1 : hsc_shards_device_count(device->program);
  device->is_whole = runs_whole(o, device);
  device->compiles_only = device->spec->topology != NULL;
  if (device->compiles_only) {
    HSC_GOTO(do_job(o, worker, describe_request(o, device), device, &device->describe, &done));
    goto done;
  }
  json_t *request = request_of(o, device, evaluator ? "evaluate" : "run");
  if (save_dir)
    json_object_set_new(request, "save_to", json_string(save_dir));
  HSC_GOTO(do_job(o, worker, request, device, &device->first, &done));
  if (done && evaluator)
    hsc_run_series_take(&device->timed, device->first);
  goes_on = done && !evaluator;
  if (!goes_on)
    goto done;
  double once_s = hsc_answer_execute_ns(device->first, 0) / 1e9;
  hsc_sampling_options sampling = {
      .half_width = o->half_width, .budget_s = o->budget_s, .exact = (size_t)o->run_count};
  // an answer at once: what is quick is not run until its analysis takes longer than all else
  if (o->budget_s < 0) {
    sampling.budget_s = fmin(0.2, fmax(0.02, 1000 * once_s));
    sampling.most_upper = 40;
  }
  hsc_run_series_init(&device->timed, &sampling, once_s);
done:
  if (!goes_on) {
    hsc_lab_worker_destroy(device->worker);
    device->worker = NULL;
  }
  return status;
}

// The next block of a device's runs. What it could not do ends it.
static hsc_status *run_block(const hsc_run_options *o, hsc__device_run *device, bool alone) {
  if (!device->worker || hsc_sampling_next(&device->timed.sampling) == 0)
    return NULL;
  json_t *request = request_of(o, device, "run");
  hsc_answer answer = {0};
  if (!request)
    return hsc_status_out_of_memory();
  hsc_status *status =
      hsc_run_series_block(&device->timed, device->worker, request, o->limit_ns, !alone, &answer);
  json_decref(request);
  if (status)
    return status;
  if (answer.outcome != HSC_OUTCOME_OK) {
    device->outcome = answer.outcome;
    device->status = hsc_answer_take_status(&answer);
    hsc_lab_worker_destroy(device->worker);
    device->worker = NULL;
  }
  hsc_answer_deinit(&answer);
  return NULL;
}

// Blocks of all devices in random order, until each has what it wants: what the machine does
// meanwhile falls on all alike.
hsc_status *hsc__run_blocks(const hsc_run_options *o, hsc__device_run *devices, size_t count) {
  size_t *order = hsc_alloc((count + 1) * sizeof *order);
  size_t going = 0;
  hsc_status *status = order ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++)
    going += devices[i].worker != NULL;
  bool alone = going == 1;
  for (uint64_t round = 0; going && !status; round++) {
    hsc_stats_interleave(count, 1, o->seed + 1 + round, order);
    going = 0;
    for (size_t i = 0; i < count && !status; i++) {
      hsc__device_run *device = &devices[order[i]];
      status = run_block(o, device, alone);
      going += device->worker && hsc_sampling_next(&device->timed.sampling) > 0;
    }
  }
  hsc_free(order);
  return status;
}

hsc_status *hsc__run_finish(const hsc_run_options *o, hsc__device_run *device) {
  bool done = false;
  hsc_status *status =
      device->timed.sampling.count ? hsc_sampling_finish(&device->timed.sampling, o->seed) : NULL;
  if (!status && device->worker && device->timed.sampling.count) {
    device->series = hsc_run_series_answer(&device->timed);
    if (!device->series)
      status = hsc_status_out_of_memory();
  }
  if (!status && device->worker)
    status =
        do_job(o, device->worker, describe_request(o, device), device, &device->describe, &done);
  hsc_lab_worker_destroy(device->worker);
  device->worker = NULL;
  return status;
}
