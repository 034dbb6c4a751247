// truth.c - runs a program on the evaluator, else on another device.
//
// A candidate that differs from the program as it is is wrong only where that is right: where the
// compiler is wrong by itself, what repairs it would be accused.
#include "lab/run/truth.h"

#include <math.h>

#include "base/core/clock.h"
#include "lab/devices/devices.h"
#include "lab/run/rounding.h"
#include "worker/worker_client.h"

typedef struct truth {
  const hsc_truth_options *options;
  hsc_arena *arena;
  json_t *outputs;
  const char *by, *why_not;
} truth;

static json_t *request_of(const hsc_truth_options *o, bool evaluator, const char *directory) {
  json_t *transforms = json_array();
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  json_t *request =
      json_pack("{s:s, s:s, s:o, s:I, s:[s], s:s}", "job", evaluator ? "evaluate" : "run",
                "program", o->program, "transforms", transforms, "seed", (json_int_t)o->seed,
                "cache", "memory", "save_to", directory);
  if (request && o->data)
    json_object_set(request, "data", o->data);
  return request;
}

static int64_t limit_of(const hsc_truth_options *o) {
  enum { LEAST_NS = 1000000 };
  int64_t limit_ns = (int64_t)(o->limit_s * 1e9);
  if (!o->deadline_ns)
    return limit_ns;
  int64_t left_ns = o->deadline_ns - hsc_now_ns();
  if (left_ns < LEAST_NS)
    left_ns = LEAST_NS;
  return left_ns < limit_ns ? left_ns : limit_ns;
}

// t->outputs stays NULL where the runner did not get through, and t->why_not says why.
static hsc_status *try_runner(truth *t, const char *name) {
  const hsc_truth_options *o = t->options;
  hsc_device_spec *spec = HSC_NEW(t->arena, hsc_device_spec);
  const char *directory = hsc_arena_printf(t->arena, "%s/run_%s", o->scratch, name);
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  HSC_TRY(hsc_arena_status(t->arena));
  hsc_status *missing = hsc_device_spec_parse(name, t->arena, spec);
  if (missing) {
    hsc_status_free(missing);
    return NULL;
  }
  json_t *request = request_of(o, spec->source == HSC_DEVICE_EVALUATOR, directory);
  if (!request)
    return hsc_status_out_of_memory();
  if (o->progress)
    o->progress(o->user, hsc_arena_printf(t->arena, "running it on %s", name));
  hsc_status *status = hsc_lab_worker_create(
      &(hsc_lab_worker_options){
          .device = spec, .executable = o->executable, .no_disk_cache = true, .stop = o->stop},
      &worker);
  if (!status)
    status = hsc_lab_worker_call(worker, request, limit_of(o), &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK) {
    t->outputs = json_incref(json_object_get(answer.body, "outputs"));
    t->by = hsc_arena_strdup(t->arena, name);
  } else if (!status) {
    t->why_not = hsc_arena_printf(
        t->arena, "%s%s%s: %s", t->why_not ? t->why_not : "", t->why_not ? "; " : "", name,
        answer.status ? hsc_status_message(answer.status) : hsc_outcome_text(answer.outcome));
  }
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status ? status : hsc_arena_status(t->arena);
}

hsc_status *hsc_truth_find(const hsc_truth_options *options,
                           hsc_arena *arena,
                           json_t **out_outputs,
                           const char **out_by,
                           const char **out_why_not) {
  // The second compiler is another one than that which is looked at.
  static const char *const runners[] = {"reference", "cpu", "xla-cpu"};
  truth t = {.options = options, .arena = arena};
  bool draws = false;
  hsc_status *status = NULL;
  hsc_status *unread = hsc_program_draws(options->program, &draws);
  hsc_status_free(unread);  // a device may know a program that we cannot read
  if (draws)
    t.why_not = "the program draws random numbers (rng), and each device draws its own";
  for (size_t i = 0; i < HSC_COUNT_OF(runners) && !t.outputs && !draws && !status; i++)
    if (strcmp(runners[i], options->device) != 0 && !(options->stop && *options->stop))
      status = try_runner(&t, runners[i]);
  if (!t.outputs && !t.why_not)
    t.why_not = "no other device is here that runs programs";
  *out_outputs = t.outputs;
  *out_by = t.by;
  *out_why_not = t.why_not;
  return status;
}
