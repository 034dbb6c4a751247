// run.c - one program on one or more devices.
//
// How to read: hsc_run_program, at the end, is the order of things: start what is asked for, run or
// only compile on each device, compare the outputs, write the document. Above it are the devices
// that only compile, and the store. One device's process is run_device.c, what the document says of
// it run_document.c, whether the numbers agree run_compare.c, how long samples are taken
// run_speed.c.
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
    HSC_GOTO(hsc__run_finish(o, &devices[i]));
  HSC_GOTO(hsc__run_processes(o, (double)(hsc_wall_ns() - started_ns) / 1e9, devices));
  for (size_t i = 0; i < o->device_count; i++)
    json_array_append_new(list, hsc__run_device_json(o, &devices[i]));
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
