// profile_run.c - one program under a device's profiler.
#include "lab/profile_run.h"

#include <math.h>
#include <stdlib.h>

#include "lab/device_spec.h"
#include "lab/json_tree.h"
#include "lab/worker_client.h"

static json_t *request_of(const hsc_profile_run_options *o) {
  json_t *request = json_pack("{s:s, s:s, s:I}", "job", "run", "program", o->program, "seed", (json_int_t)o->seed), *transforms = json_array();
  for (size_t i = 0; i < o->transform_count; i++) json_array_append_new(transforms, json_string(o->transforms[i]));
  json_object_set_new(request, "transforms", transforms);
  json_object_set_new(request, "fetch", json_false());
  return request;
}

static hsc_status *call(hsc_lab_worker *worker, json_t *request, int64_t limit_ns, json_t **out_body) {
  hsc_answer answer;
  if (!request) return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_call(worker, request, limit_ns, &answer);
  json_decref(request);
  if (status) return status;
  if (answer.outcome == HSC_OUTCOME_OK) *out_body = json_incref(answer.body);
  else status = hsc_answer_take_status(&answer);
  hsc_answer_deinit(&answer);
  return status;
}

static double once_ns(json_t *body) {
  json_t *record = json_array_get(json_object_get(body, "records"), 0);
  return hsc_json_number(json_object_get(record, "enqueue_ns")) + hsc_json_number(json_object_get(record, "wait_ns"));
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

hsc_status *hsc_profile_program(const hsc_profile_run_options *o, hsc_profile_run *out_run) {
  hsc_arena *arena = NULL;
  hsc_lab_worker *worker = NULL;
  hsc_device_spec spec;
  json_t *warm = NULL, *body = NULL;
  hsc_status *status = NULL;
  *out_run = (hsc_profile_run){0};
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_device_spec_parse(o->device, arena, &spec));
  if (spec.topology || spec.source == HSC_DEVICE_EVALUATOR)
    HSC_GOTO(HSC_ERR(UNIMPLEMENTED, "%s: not supported: a profile needs a device that runs programs under a profiler", o->device));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &spec, .executable = o->executable}, &worker));
  // Warm-up: compiled, inputs there, caches and threads awake; then as many steps as fit.
  json_t *request = request_of(o);
  json_object_set_new(request, "series", json_integer(2));
  HSC_GOTO(call(worker, request, o->limit_ns, &warm));
  double *before = NULL, first = once_ns(warm);
  size_t n = 0;
  before = hsc_json_doubles(hsc_json_path(warm, "series", "run_ns", NULL), &n);
  double each = n ? before[n - 1] : first;
  hsc_free(before);
  int64_t steps = o->steps;
  if (!steps) {
    double fit = (double)(o->duration_ns ? o->duration_ns : HSC_SECOND_NS / 5) / fmax(each, 1000);
    steps = fit < 3 ? 3 : fit > 1000 ? 1000 : (int64_t)fit;
  }
  request = request_of(o);
  json_object_set_new(request, "records", json_integer(0));
  json_object_set_new(request, "series", json_integer(steps));
  json_object_set_new(request, "inputs", json_string("keep"));
  json_object_set_new(request, "xspace_to", json_string(o->xspace_path));
  status = call(worker, request, o->limit_ns, &body);
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED)
    status = hsc_status_hint(status, "hloscope trace -- COMMAND sees every call of this plugin, without operators; hloscope profile --device cpu or xla-cpu shows those");
  if (status) goto done;
  double *times = hsc_json_doubles(hsc_json_path(body, "series", "run_ns", NULL), &n);
  if (n) qsort(times, n, sizeof *times, compare);
  *out_run = (hsc_profile_run){.steps = steps, .warm_up_s = first / 1e9, .step_s = n ? times[n / 2] / 1e9 : 0,
                               .xspace_bytes = (int64_t)hsc_json_number(json_object_get(body, "xspace_bytes"))};
  hsc_free(times);
done:
  json_decref(warm);
  json_decref(body);
  hsc_lab_worker_destroy(worker);
  hsc_arena_destroy(arena);
  return status;
}
