// run_document.c - what a run's document says of one device: phases, counts, times and how many of
// them, which phase dominates.
#include <math.h>

#include "formats/common/formats.h"
#include "hlo/ir/hlo.h"
#include "lab/run/json_tree.h"
#include "lab/run/run_counts.h"
#include "lab/run/run_internal.h"
#include "lab/store/environment.h"
#include "worker/worker_counts.h"

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

json_t *hsc__run_device_json(const hsc_run_options *o, hsc__device_run *device) {
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
