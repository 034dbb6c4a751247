// run.c - one program on one or more devices.
//
// How to read: hsc_run_program, at the end, is the order of things: start what is asked for, run or
// only compile on each device, compare the outputs, write the document. Above it stand, in this
// order, one device's job in blocks of a worker process (run_block), the parts of the document, and
// whether the numbers agree. How long samples are taken is run_speed.c.
#include "base/core/clock.h"
#include "lab/run/run.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "formats/common/formats.h"
#include "hlo/ir/hlo.h"
#include "lab/store/environment.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/run_counts.h"
#include "lab/run/run_internal.h"
#include "lab/shards/shards.h"
#include "lab/verdict/agreement.h"
#include "worker/scratch.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"
#include "lab/devices/devices.h"
#include "worker/worker_client.h"
#include "worker/worker_counts.h"

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

// A worker in Python leaves the compiled program as a file: it is counted here. What cannot be read
// is not counted.
static void count_compiled(hsc__device_run *device) {
  const char *path = json_string_value(json_object_get(device->describe, "count_from"));
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  hsc_json json;
  if (!path)
    return;
  hsc_json_init(&json, &text, 0);
  hsc_json_begin_object(&json);
  hsc_status *status = hsc_program_read_file(path, &module);
  if (!status)
    status = hsc_write_module_count(&json, "compiled", module, true);
  hsc_json_end_object(&json);
  json_t *counted = status ? NULL : json_loads(hsc_bytes_text(&text), 0, NULL);
  if (counted)
    json_object_update(device->describe, counted);
  json_decref(counted);
  hsc_status_free(status);
  hsc_module_destroy(module);
  hsc_bytes_deinit(&text);
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

// What the user wrote, as a device. One that is not here is the device's own failure.
static hsc_status *find_device(hsc_arena *arena,
                               const char *text,
                               const char *optimized,
                               hsc__device_run *device) {
  hsc_device_spec *spec = HSC_NEW(arena, hsc_device_spec);
  if (!spec)
    return hsc_status_out_of_memory();
  device->text = text;
  device->optimized = optimized;
  device->status = hsc_device_spec_parse(text, arena, spec);
  if (!device->status)
    device->spec = spec;
  else
    device->outcome = hsc_status_code(device->status) == HSC_UNIMPLEMENTED ? HSC_OUTCOME_UNSUPPORTED
                                                                           : HSC_OUTCOME_ERROR;
  return NULL;
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

static hsc_status *end_device(const hsc_run_options *o, hsc__device_run *device) {
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

// Devices that only compile, by as many threads as the user allows: each takes the next one that is
// left.
typedef struct compile_queue {
  const hsc_run_options *options;
  hsc__device_run *devices;
  size_t next;  // atomic
} compile_queue;

static void *compile_thread(void *user) {
  compile_queue *queue = user;
  const hsc_run_options *o = queue->options;
  for (size_t i; (i = __atomic_fetch_add(&queue->next, 1, __ATOMIC_RELAXED)) < o->device_count;) {
    hsc__device_run *device = &queue->devices[i];
    if (device->spec && device->spec->topology)
      device->failure = hsc__run_start(o, NULL, device);
  }
  return NULL;
}

static hsc_status *compile_only(const hsc_run_options *o, hsc__device_run *devices) {
  compile_queue queue = {.options = o, .devices = devices};
  pthread_t threads[64];
  int started = 0;
  hsc_status *status = NULL;
  while (started + 1 < o->job_count && started < (int)HSC_COUNT_OF(threads) &&
         pthread_create(&threads[started], NULL, compile_thread, &queue) == 0)
    started++;
  compile_thread(&queue);
  for (int i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  for (size_t i = 0; i < o->device_count; i++) {
    if (!status)
      status = devices[i].failure;
    else
      hsc_status_free(devices[i].failure);
  }
  return status;
}

// ---- the document -------------------------------------------------------------------------------

// A phase that did not happen took no time; it is left out.
static void add_seconds(json_t *object, const char *key, json_t *from, const char *ns_key) {
  json_t *value = json_object_get(from, ns_key);
  if (json_number_value(value) > 0)
    json_object_set_new(object, key, json_real(json_number_value(value) / 1e9));
}

static json_t *phases_json(const hsc__device_run *device) {
  static const char *const start[][2] = {{"process_start", "start_ns"},
                                         {"plugin_load", "plugin_load_ns"},
                                         {"plugin_initialize", "plugin_initialize_ns"},
                                         {"client_create", "client_create_ns"},
                                         {"topology_create", "topology_create_ns"}};
  static const char *const program[][2] = {{"program_read", "read_ns"},
                                           {"program_parse", "parse_ns"},
                                           {"program_transform", "transform_ns"}};
  static const char *const record[][2] = {
      {"compile_lookup", "lookup_ns"}, {"compile_disk_read", "disk_ns"},
      {"executable_load", "load_ns"},  {"compile", "compile_ns"},
      {"setup", "setup_ns"},           {"transfer_in", "transfer_in_ns"},
      {"first_execute", "enqueue_ns"}, {"first_sync", "wait_ns"}};
  json_t *phases = json_object();
  json_t *first = json_array_get(json_object_get(device->first, "records"), 0);
  // ahead of time, nothing but describe was done
  json_t *compiled = first ? first : device->describe;
  json_t *read = json_object_get(device->first ? device->first : device->describe, "program");
  for (size_t i = 0; i < HSC_COUNT_OF(start); i++)
    add_seconds(phases, start[i][0], device->facts, start[i][1]);
  for (size_t i = 0; i < HSC_COUNT_OF(program); i++)
    add_seconds(phases, program[i][0], read, program[i][1]);
  for (size_t i = 0; i < HSC_COUNT_OF(record); i++)
    add_seconds(phases, record[i][0], compiled, record[i][1]);
  if (first) {
    double once = hsc_answer_execute_ns(device->first, 0);
    json_object_set_new(phases, "first_run", hsc_json_real(once / 1e9));
  }
  add_seconds(phases, "transfer_out", device->first, "transfer_out_ns");
  return phases;
}

static json_t *process_sizes(const hsc__device_run *device) {
  json_t *sizes = json_array();
  for (size_t p = 0; p < device->process_count; p++)
    json_array_append_new(sizes, json_integer((json_int_t)device->processes[p].count));
  return sizes;
}

// How many runs, and what ended them. Of several processes none chose for itself: the one before
// them did, and what its sentence says is of it alone.
static json_t *sampling_json(const hsc__device_run *device) {
  json_t *out = hsc_sampling_json(&device->timed.sampling);
  const char *text = json_string_value(json_object_get(out, "text"));
  if (device->process_count > 1 && text)
    json_object_set_new(out, "text",
                        json_sprintf("a process before the %zu that were measured chose how many "
                                     "runs each makes: %s (in that process)",
                                     device->process_count, text));
  return out;
}

// All samples, process after process; their statistics in words are those of the first one.
static json_t *samples_json(const hsc_run_options *o, hsc__device_run *device) {
  const hsc_sampling *timed = &device->timed.sampling;
  json_t *run = json_object();
  json_t *samples = json_array();
  json_t *statistics = NULL;
  hsc_interval interval = timed->interval;
  hsc_summary s = {0};
  size_t n = 0;
  double *all = hsc__run_samples(device, &n);
  hsc_status *status =
      all ? hsc_stats_summarize(all, n,
                                &(hsc_interval_options){.seed = o->seed, .resample_count = 200}, &s)
          : hsc_status_out_of_memory();
  if (!status)
    status = hsc_run_series_statistics(&device->timed, device->text, o->seed, &statistics);
  if (!status && device->process_count)
    status = hsc__run_interval(device, o->seed, &interval);
  if (n < 2)
    interval.low = interval.high = NAN;
  hsc_status_free(status);
  for (size_t i = 0; all && i < n; i++)
    json_array_append_new(samples, json_real(all[i]));
  hsc_free(all);
  json_object_set_new(run, "samples", samples);
  json_object_set_new(run, "process_sizes", process_sizes(device));
  const struct {
    const char *key;
    double s;
  } members[] = {{"median", s.median}, {"low", interval.low}, {"high", interval.high},
                 {"mean", s.mean},     {"min", s.min},        {"max", s.max},
                 {"std", s.sd}};
  for (size_t i = 0; i < HSC_COUNT_OF(members); i++)
    json_object_set_new(run, members[i].key, n ? hsc_json_real(members[i].s) : json_null());
  json_t *class = json_object_get(statistics, "class");
  if (!class && n)
    json_object_set_new(run, "class", json_string(hsc_series_class_text(HSC_SERIES_TOO_SHORT)));
  else
    json_object_set_new(run, "class", class ? json_incref(class) : json_null());
  if (n && device->series)
    json_object_set_new(run, "sampling", sampling_json(device));
  if (statistics)
    json_object_set_new(run, "statistics", statistics);
  return run;
}

// From how many runs on the compile is less than half, and less than a tenth, of compiling once and
// running so often. Of a compile that was made.
static json_t *dominance_json(json_t *phases, json_t *times) {
  double compile = hsc_json_number(json_object_get(phases, "compile"));
  hsc_interval once = {compile, compile, compile};
  hsc_interval run = {hsc_json_number(json_object_get(times, "median")),
                      hsc_json_number(json_object_get(times, "low")),
                      hsc_json_number(json_object_get(times, "high"))};
  if (!(compile > 0) || !(run.estimate > 0))
    return json_null();
  json_t *out = json_object();
  static const struct {
    const char *key;
    double share;
  } rows[] = {{"half", 0.5}, {"tenth", 0.1}};
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    hsc_interval n = hsc_stats_break_even(once, run, rows[i].share);
    json_object_set_new(out, rows[i].key,
                        json_pack("{s:o, s:o, s:o}", "runs", hsc_json_real(n.estimate), "low",
                                  hsc_json_real(n.low), "high", hsc_json_real(n.high)));
  }
  return out;
}

// What it computes, by operation. The evaluator's counts are exact: what ran, as often as it ran.
static void add_counts(hsc__device_run *device, json_t *out) {
  count_compiled(device);
  json_t *counts = hsc_run_counts(device->first, device->describe);
  json_t *exact = json_object_get(counts, "exact");
  if (!counts)
    return;
  json_object_set_new(out, "counts", counts);
  if (!exact)
    return;
  json_object_set(out, "flops", json_object_get(exact, "flops"));
  json_object_set(out, "bytes", json_object_get(exact, "bytes"));
  json_object_set_new(out, "cost_from", json_string("counted while it ran"));
}

// From the start of the process to the outputs on the host. The parts of phases_json that are in
// others (first_execute and first_sync are first_run) count once; the evaluator has no phases: its
// one run is the first. NaN without a first run.
static double first_result_s(json_t *phases, json_t *run) {
  const char *phase;
  json_t *seconds;
  double sum = 0;
  json_object_foreach (phases, phase, seconds)
    if (strcmp(phase, "first_execute") && strcmp(phase, "first_sync"))
      sum += json_number_value(seconds);
  if (!json_object_get(phases, "first_run"))
    sum += hsc_json_number(json_array_get(json_object_get(run, "samples"), 0));
  return sum;
}

static json_t *device_json(const hsc_run_options *o, hsc__device_run *device) {
  static const char *const facts[] = {"platform", "platform_version", "pjrt_version"};
  static const char *const known[] = {
      "fingerprint", "program_instructions", "instructions", "fusions",    "flops", "bytes",
      "cost_from",   "code_bytes",           "temp_bytes",   "peak_bytes", "inputs"};
  json_t *out = json_object();
  json_t *first = json_array_get(json_object_get(device->first, "records"), 0);
  json_object_set_new(out, "device", json_string(device->device));
  if (o->programs)
    json_object_set_new(out, "program", json_string(device->program));
  json_object_set_new(out, "status", json_string(hsc_outcome_text(device->outcome)));
  json_object_set_new(
      out, "message",
      device->status ? json_string(hsc_status_message(device->status)) : json_null());
  if (device->status && hsc_status_hint_text(device->status))
    json_object_set_new(out, "hint", json_string(hsc_status_hint_text(device->status)));
  if (device->status && *hsc_status_notes(device->status))
    json_object_set_new(out, "notes", json_string(hsc_status_notes(device->status)));
  if (device->is_whole)
    json_object_set_new(out, "whole_of", json_integer(device->wanted));
  if (device->compiles_only && device->outcome == HSC_OUTCOME_OK)
    json_object_set_new(out, "cannot_run",
                        json_string("cannot run here: no device, compiled ahead of time"));
  for (size_t i = 0; i < HSC_COUNT_OF(facts); i++)
    if (json_object_get(device->facts, facts[i]))
      json_object_set(out, facts[i], json_object_get(device->facts, facts[i]));
  json_t *come_by = json_object_get(first ? first : device->describe, "compile");
  if (come_by)
    json_object_set(out, "compile", come_by);
  json_t *phases = phases_json(device);
  json_t *run = samples_json(o, device);
  json_object_set_new(out, "phases", phases);
  json_object_set_new(out, "first_result", hsc_json_real(first_result_s(phases, run)));
  json_object_set_new(out, "run", run);
  json_object_set_new(out, "compile_dominates_until", dominance_json(phases, run));
  for (size_t i = 0; i < HSC_COUNT_OF(known); i++) {
    json_t *value = json_object_get(device->describe, known[i]);
    json_object_set_new(out, known[i], value ? json_incref(value) : json_null());
  }
  json_t *outputs = json_array();
  json_t *output;
  size_t i;
  json_array_foreach (json_object_get(device->first, "outputs"), i, output) {
    json_t *copy = json_copy(output);
    if (!o->save_dir)
      json_object_del(copy, "file");
    json_array_append_new(outputs, copy);
  }
  json_object_set_new(out, "outputs", outputs);
  if (json_object_get(device->describe, "call_overhead_ns")) {
    double call = hsc_json_number(json_object_get(device->describe, "call_overhead_ns")) / 1e9;
    double median = hsc_json_number(hsc_json_path(out, "run", "median", NULL));
    // a call of a program that does nothing may take longer than this one: it is no part of it then
    if (!isfinite(median) || call <= median)
      json_object_set_new(out, "call_overhead", hsc_json_real(call));
    if (isfinite(median) && call <= median)
      json_object_set_new(json_object_get(out, "run"), "median_without_call",
                          json_real(median - call));
  }
  if (first)
    json_object_set(out, "page_faults", json_object_get(first, "page_faults"));
  add_counts(device, out);
  return out;
}

// What is said of the chips of a program of several partitions, beside the rest.
static hsc_status *add_shards(const hsc_run_options *o,
                              const hsc__device_run *device,
                              json_t *out) {
  const char *message = device->status ? hsc_status_message(device->status) : NULL;
  bool is_there = json_is_string(json_object_get(device->describe, "optimized"));
  if (!device->spec || o->transform_count)
    return NULL;
  return hsc_shards_describe(&(hsc_shards_input){.program = device->program,
                                                 .optimized = is_there ? device->optimized : NULL,
                                                 .device = device->spec,
                                                 .describe = device->describe,
                                                 .message = message},
                             out);
}

// ---- the whole ----------------------------------------------------------------------------------

// A device that does not exist is a mistyped command, not an experiment that failed.
static bool has_device(const hsc_run_options *o, const hsc__device_run *devices) {
  for (size_t i = 0; i < o->device_count; i++)
    if (devices[i].spec)
      return true;
  return false;
}

// What the tasks of a device are stored under: its name, with a number where it was given before
// ("-d cpu,cpu"), for a task that has the key of another takes its place.
static void task_group(const hsc__device_run *devices, size_t device, hsc_bytes *out) {
  size_t before = 0;
  for (size_t i = 0; i < device; i++)
    before += !strcmp(devices[i].text, devices[device].text);
  hsc_bytes_reset(out);
  hsc_bytes_append_text(out, devices[device].text);
  if (before)
    hsc_bytes_printf(out, "#%zu", before + 1);
}

// The runs of processes after the first, as "DEVICE/process/1" and so on.
static hsc_status *keep_processes(const hsc_run_options *o,
                                  int64_t id,
                                  const char *group,
                                  const hsc__device_run *device) {
  hsc_status *status = NULL;
  for (size_t p = 0; p < device->process_count && device->process_count > 1 && !status; p++) {
    const hsc__process_times *times = &device->processes[p];
    json_t *run_ns = json_array();
    hsc_bytes key = {0};
    for (size_t i = 0; i < times->count; i++)
      json_array_append_new(run_ns, json_real(times->samples[i] * 1e9));
    json_t *answer = json_pack("{s:{s:o}}", "series", "run_ns", run_ns);
    hsc_bytes_printf(&key, "%s/process/%zu", group, p + 1);
    status = hsc_store_put_task(
        o->store, id, &(hsc_task){.key = hsc_bytes_text(&key), .status = "ok", .answer = answer});
    hsc_bytes_deinit(&key);
    json_decref(answer);
  }
  return status;
}

static hsc_status *keep(const hsc_run_options *o,
                        hsc__device_run *devices,
                        int64_t started_ns,
                        json_t *result) {
  json_t *environment = json_incref(json_object_get(result, "environment"));
  json_t *configuration =
      json_pack("{s:s, s:I, s:I, s:b}", "program", o->program, "seed", (json_int_t)o->seed, "runs",
                (json_int_t)o->run_count, "cache", o->use_cache);
  if (o->inputs_file)
    json_object_set_new(configuration, "inputs_file", json_string(o->inputs_file));
  int64_t id = 0;
  hsc_status *status = NULL;
  hsc_bytes names = {0};
  hsc_bytes group = {0};
  for (size_t i = 0; i < o->device_count; i++)
    hsc_bytes_printf(&names, "%s%s", i ? "," : "", devices[i].text);
  if (!status)
    status = hsc_store_begin(o->store,
                             &(hsc_experiment){.kind = "run",
                                               .command = o->command ? o->command : "",
                                               .device = hsc_bytes_text(&names),
                                               .subject = o->program,
                                               .seed = o->seed,
                                               .started_ns = started_ns,
                                               .configuration = configuration,
                                               .environment = environment},
                             &id);
  static const char *const jobs[] = {"load", "first", "series", "describe"};
  bool failed = false;
  for (size_t i = 0; i < o->device_count && !status; i++) {
    json_t *const answers[] = {devices[i].facts, devices[i].first, devices[i].series,
                               devices[i].describe};
    failed |= devices[i].outcome != HSC_OUTCOME_OK;
    task_group(devices, i, &group);
    for (size_t k = 0; k < HSC_COUNT_OF(jobs) && !status; k++) {
      bool last = k + 1 == HSC_COUNT_OF(jobs) || !answers[k + 1];
      if (!answers[k] && !(k == 0 && devices[i].outcome != HSC_OUTCOME_OK))
        continue;
      hsc_bytes key = {0};
      hsc_bytes_printf(&key, "%s/%s", hsc_bytes_text(&group), jobs[k]);
      bool bad = last && devices[i].outcome != HSC_OUTCOME_OK;
      status = hsc_store_put_task(
          o->store, id,
          &(hsc_task){.key = hsc_bytes_text(&key),
                      .status = bad ? hsc_outcome_text(devices[i].outcome) : "ok",
                      .message = bad ? hsc_status_message(devices[i].status) : NULL,
                      .answer = answers[k]});
      hsc_bytes_deinit(&key);
    }
  }
  for (size_t i = 0; i < o->device_count && !status; i++) {
    task_group(devices, i, &group);
    status = keep_processes(o, id, hsc_bytes_text(&group), &devices[i]);
  }
  if (!status) {
    json_object_set_new(result, "experiment", json_integer((json_int_t)id));
    status = hsc_store_finish(o->store, id, failed ? "failed" : "done", result);
  }
  hsc_bytes_deinit(&group);
  hsc_bytes_deinit(&names);
  json_decref(environment);
  json_decref(configuration);
  return status;
}

// Numbers are compared where there are numbers: the first device must run, and one of the others.
static hsc_status *check_comparable(const hsc_run_options *o, const hsc__device_run *devices) {
  const hsc__device_run *blind = NULL;
  bool any = !o->compare;
  for (size_t i = 0; i < o->device_count; i++) {
    bool runs = !devices[i].spec || !devices[i].spec->topology;
    if (i > 0)
      any |= runs;
    if (!runs && (!blind || i + 1 == o->device_count))
      blind = &devices[i];
    if (!runs && i == 0)
      break;
  }
  if (!o->compare || !blind || (any && blind != &devices[0]))
    return NULL;
  return hsc_status_hint(
      HSC_ERR(UNIMPLEMENTED, "%s: compiled ahead of time, so there are no numbers to compare",
              blind->text),
      "--device shows it beside the others; --compare wants devices that run");
}

// What the options name, as devices with the program that each of them runs.
static hsc_status *find_devices(const hsc_run_options *o,
                                hsc_arena *arena,
                                const char *scratch,
                                hsc__device_run *devices) {
  for (size_t i = 0; i < o->device_count; i++) {
    const char *optimized = hsc_arena_printf(arena, "%s/optimized-%zu", scratch, i);
    HSC_TRY(hsc_arena_status(arena));
    HSC_TRY(find_device(arena, o->devices[i], optimized, &devices[i]));
    devices[i].device = o->devices[i];
    devices[i].program = o->programs ? o->programs[i] : o->program;
    devices[i].text = o->programs ? o->programs[i] : o->devices[i];
  }
  return NULL;
}

// A process for each device. Outputs go where the user wants them, else, where they are compared,
// into the scratch folder; those of several devices into a numbered folder each.
static hsc_status *start_devices(const hsc_run_options *o,
                                 hsc_arena *arena,
                                 const char *scratch,
                                 hsc__device_run *devices) {
  const char *base = o->save_dir;
  if (!base && o->compare)
    base = hsc_arena_printf(arena, "%s/outputs", scratch);
  for (size_t i = 0; i < o->device_count; i++) {
    const char *folder = base;
    if (base && o->device_count > 1)
      folder = hsc_arena_printf(arena, "%s/%zu", base, i);
    HSC_TRY(hsc_arena_status(arena));
    if (devices[i].spec && !devices[i].spec->topology)
      HSC_TRY(hsc__run_start(o, folder, &devices[i]));
  }
  return NULL;
}

// Into the store; what was measured is shown also when it cannot be kept.
static void keep_or_note(const hsc_run_options *o,
                         hsc__device_run *devices,
                         int64_t started_ns,
                         json_t *result) {
  bool is_kept = o->store && has_device(o, devices);
  hsc_status *kept = is_kept ? keep(o, devices, started_ns, result) : NULL;
  if (kept)
    json_object_set_new(result, "not_kept", json_string(hsc_status_message(kept)));
  hsc_status_free(kept);
}

hsc_status *hsc_run_program(const hsc_run_options *o, json_t **out_result) {
  char *scratch = NULL;  // for the compiled programs, and outputs that nobody wants to keep
  int64_t started_ns = hsc_wall_ns();
  hsc__device_run *devices = hsc_alloc(o->device_count * sizeof(*devices) + 1);
  json_t *result = NULL;
  json_t *list = json_array();
  json_t *compare = json_array();
  hsc_arena *arena = NULL;
  *out_result = NULL;
  hsc_status *status = NULL;
  if (!devices)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_scratch_create(&scratch));
  HSC_GOTO(find_devices(o, arena, scratch, devices));
  HSC_GOTO(check_comparable(o, devices));
  HSC_GOTO(compile_only(o, devices));
  HSC_GOTO(start_devices(o, arena, scratch, devices));
  HSC_GOTO(hsc__run_blocks(o, devices, o->device_count));
  for (size_t i = 0; i < o->device_count; i++)
    HSC_GOTO(end_device(o, &devices[i]));
  HSC_GOTO(hsc__run_processes(o, (double)(hsc_wall_ns() - started_ns) / 1e9, devices));
  for (size_t i = 0; i < o->device_count; i++)
    json_array_append_new(list, device_json(o, &devices[i]));
  for (size_t i = 0; i < o->device_count; i++)
    HSC_GOTO(add_shards(o, &devices[i], json_array_get(list, i)));
  result = json_pack("{s:s, s:I, s:O, s:O}", "program", o->program, "inputs_seed",
                     (json_int_t)o->seed, "devices", list, "compare", compare);
  if (!result)
    HSC_GOTO(hsc_status_out_of_memory());
  if (o->inputs_file)
    json_object_set_new(result, "inputs_file", json_string(o->inputs_file));
  if (o->compare)
    HSC_GOTO(hsc__run_compare_numbers(o, devices, scratch, compare, result));
  HSC_GOTO(hsc__run_compare_speed(o, devices, result));
  keep_or_note(o, devices, started_ns, result);
  // a program that does not fit is an answer
  bool is_answer = json_is_false(json_object_get(json_array_get(list, 0), "fits"));
  if (o->device_count == 1 && devices[0].status && !is_answer) {
    status = devices[0].status;
    devices[0].status = NULL;
  }
done:
  for (size_t i = 0; devices && i < o->device_count; i++)
    hsc__run_release(&devices[i]);
  hsc_scratch_destroy(scratch);
  hsc_free(devices);
  hsc_arena_destroy(arena);
  json_decref(list);
  json_decref(compare);
  if (status)
    json_decref(result);
  else
    *out_result = result;
  return status;
}
