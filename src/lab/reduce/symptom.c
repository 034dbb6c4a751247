// symptom.c - symptoms by name; workers of an observer; what running a program on the reference and
// on the device comes to.
#include "lab/reduce/symptom_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "hlo/ir/hlo.h"
#include "lab/run/rounding.h"

static const struct {
  const char *name, *argument, *doc;
} SYMPTOMS[] = {
#define SYMPTOM(id, name, argument, doc) {name, argument, doc},
#include "lab/reduce/symptoms.def"
#undef SYMPTOM
};

const char *hsc_symptom_name(hsc_symptom_kind kind) {
  return SYMPTOMS[kind].name;
}

bool hsc_symptom_is_timed(const hsc_symptom *symptom) {
  return symptom->kind == HSC_SYMPTOM_SLOW || symptom->kind == HSC_SYMPTOM_COMPILE;
}

static hsc_status *no_such_symptom(const char *text) {
  const char *names[HSC_SYMPTOM_COUNT];
  hsc_bytes all = {0};
  for (int k = 0; k < HSC_SYMPTOM_COMMAND; k++) {
    names[k] = SYMPTOMS[k].name;
    hsc_bytes_printf(&all, "%s%s%s%s", k ? ", " : "", names[k], *SYMPTOMS[k].argument ? ":" : "",
                     SYMPTOMS[k].argument);
  }
  const char *near = hsc_did_you_mean(text, names, HSC_SYMPTOM_COMMAND);
  hsc_status *status =
      near ? HSC_ERR(INVALID_ARGUMENT, "unknown symptom '%s'; did you mean '%s'?", text, near)
           : HSC_ERR(INVALID_ARGUMENT, "unknown symptom '%s'", text);
  status = hsc_status_hint(status, "symptoms: %s", hsc_bytes_text(&all));
  hsc_bytes_deinit(&all);
  return status;
}

hsc_status *hsc_symptom_parse(const char *text, hsc_arena *arena, hsc_symptom *out_symptom) {
  size_t length = strcspn(text, ":");
  const char *argument = text[length] ? text + length + 1 : NULL;
  hsc_symptom s = {.kind = HSC_SYMPTOM_COUNT, .factor = 2};
  for (int k = 0; k < HSC_SYMPTOM_COMMAND; k++)
    if (strlen(SYMPTOMS[k].name) == length && !strncmp(SYMPTOMS[k].name, text, length))
      s.kind = (hsc_symptom_kind)k;
  if (s.kind == HSC_SYMPTOM_COUNT)
    return no_such_symptom(text);
  s.text = hsc_arena_strdup(arena, text);
  if (argument && !*SYMPTOMS[s.kind].argument)
    return HSC_ERR(INVALID_ARGUMENT, "symptom '%s' takes nothing after a colon",
                   SYMPTOMS[s.kind].name);
  if (s.kind == HSC_SYMPTOM_FIRES) {
    if (!argument || !*argument)
      return HSC_ERR(INVALID_ARGUMENT, "symptom 'fires' needs a pass: fires:algsimp");
    s.pass = hsc_arena_strdup(arena, argument);
  } else if (s.kind == HSC_SYMPTOM_UNFUSED && argument) {
    hsc_op op;
    if (!hsc_op_parse(hsc_view_of(argument), &op))
      return HSC_ERR(INVALID_ARGUMENT, "symptom '%s': '%s' is not an operation", text, argument);
    s.op = hsc_arena_strdup(arena, argument);
  } else if (argument) {
    char *end = NULL;
    s.factor = strtod(argument, &end);
    if (end == argument || *end || !(s.factor > 1) || !isfinite(s.factor))
      return HSC_ERR(INVALID_ARGUMENT, "symptom '%s': '%s' is not a factor above 1", text,
                     argument);
  }
  *out_symptom = s;
  return hsc_arena_status(arena);
}

// ---- observers ----------------------------------------------------------------------------------

static hsc_status *start_worker(const hsc_observer_options *o,
                                const hsc_device_spec *device,
                                hsc_lab_worker **out_worker) {
  return hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = device,
                                .executable = o->executable,
                                .no_disk_cache = true,
                                .memory_limit_bytes = o->memory_limit_bytes,
                                .memory = o->memory,
                                .stop = o->stop},
      out_worker);
}

hsc_status *hsc_observer_create(const hsc_observer_options *options, hsc_observer **out_observer) {
  static const hsc_device_spec evaluator = {.text = "reference", .source = HSC_DEVICE_EVALUATOR};
  hsc_observer *observer = hsc_alloc(sizeof *observer);
  hsc_status *status = NULL;
  *out_observer = NULL;
  if (!observer)
    return hsc_status_out_of_memory();
  observer->options = *options;
  if (!observer->options.limit_ns)
    observer->options.limit_ns = 20 * HSC_SECOND_NS;
  if (!observer->options.reference_limit_ns)
    observer->options.reference_limit_ns = 20 * HSC_SECOND_NS;
  HSC_GOTO(hsc_arena_create(&observer->arena));
  observer->scratch = hsc_arena_strdup(observer->arena, options->scratch);
  HSC_GOTO(hsc_arena_status(observer->arena));
  HSC_GOTO(hsc_dir_make(observer->scratch));
  if (options->device)
    HSC_GOTO(start_worker(options, options->device, &observer->device));
  HSC_GOTO(start_worker(options, options->reference ? options->reference : &evaluator,
                        &observer->reference));
  if (options->substitute)
    HSC_GOTO(start_worker(options, options->substitute, &observer->substitute));
  *out_observer = observer;
  observer = NULL;
done:
  hsc_observer_destroy(observer);
  return status;
}

void hsc_observer_destroy(hsc_observer *observer) {
  if (!observer)
    return;
  hsc_lab_worker_destroy(observer->device);
  hsc_lab_worker_destroy(observer->reference);
  hsc_lab_worker_destroy(observer->substitute);
  hsc_arena_destroy(observer->arena);
  hsc_free(observer);
}

void hsc_observer_renew(hsc_observer *observer) {
  hsc_lab_worker *const workers[] = {observer->device, observer->reference, observer->substitute};
  for (size_t i = 0; i < HSC_COUNT_OF(workers); i++)
    if (workers[i])
      hsc_lab_worker_stop(workers[i]);
}

void hsc_observation_deinit(hsc_observation *observation) {
  hsc_free(observation->text);
  hsc_free(observation->signature);
  *observation = (hsc_observation){0};
}

// ---- running ------------------------------------------------------------------------------------

static hsc_status *forget(const hsc_observer *observer, hsc_lab_worker *worker) {
  hsc_answer answer = {0};
  if (!worker || !hsc_lab_worker_pid(worker))
    return NULL;
  json_t *drop = json_pack("{s:s, s:b}", "job", "drop", "programs", 1);
  if (!drop)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_call(worker, drop, observer->options.limit_ns, &answer);
  hsc_answer_deinit(&answer);
  json_decref(drop);
  return status;
}

hsc_status *hsc__observer_forget(const hsc_observer *observer) {
  HSC_TRY(forget(observer, observer->device));
  HSC_TRY(forget(observer, observer->reference));
  return forget(observer, observer->substitute);
}

hsc_status *hsc__observer_run(hsc_observer *observer,
                              hsc_lab_worker *worker,
                              const hsc__run *run,
                              hsc_answer *out_answer) {
  const hsc_device_spec *spec = hsc_lab_worker_spec(worker);
  bool evaluator = spec->source == HSC_DEVICE_EVALUATOR;
  const char *job = evaluator ? "evaluate" : "run";
  if (spec->topology)
    job = "compile";
  json_t *request = json_pack("{s:s, s:s, s:I}", "job", job, "program", run->program->path, "seed",
                              (json_int_t)observer->options.seed);
  *out_answer = (hsc_answer){0};
  if (!request)
    return hsc_status_out_of_memory();
  if (run->program->data && !spec->topology)
    json_object_set(request, "data", run->program->data);
  if (run->save_to && !spec->topology)
    json_object_set_new(request, "save_to", json_string(run->save_to));
  if (run->perturbation > 0)
    json_object_set_new(request, "perturb", json_real(run->perturbation));
  if (run->series > 0 && !evaluator) {
    json_object_set_new(request, "series", json_integer(run->series));
    json_object_set_new(request, "budget_s", json_real(0.2));
  }
  if (!evaluator && !spec->topology)
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  if (worker == observer->device && observer->options.overrides)
    json_object_set(request, "overrides", observer->options.overrides);
  int64_t limit = worker == observer->reference ? observer->options.reference_limit_ns
                                                : observer->options.limit_ns;
  if (run->limit_ns)
    limit = run->limit_ns;
  hsc_status *status = hsc_lab_worker_call(worker, request, limit, out_answer);
  json_decref(request);
  if (!status && observer->options.stop && *observer->options.stop)
    status = HSC_ERR(CANCELLED, "stopped");
  return status;
}

// A program of this share of the least work that took the reference too long may be in time.
static const double WORTH_ASKING = 0.3;

// Whether the reference is not asked: it took too long over not much more.
static bool is_too_much(const hsc_observer *observer, double too_much, double work) {
  return observer->substitute && too_much > 0 && work > WORTH_ASKING * too_much;
}

static void note_time(const hsc_answer *answer, double work, double *io_too_much) {
  bool late = answer->outcome == HSC_OUTCOME_TIMEOUT;
  if (late && (*io_too_much <= 0 || work < *io_too_much))
    *io_too_much = work;
}

hsc_status *hsc__observer_reference(hsc_observer *observer, const hsc__run *run, hsc_answer *out) {
  double work = run->program->work;
  if (is_too_much(observer, observer->too_much, work))
    return hsc__observer_run(observer, observer->substitute, run, out);
  HSC_TRY(hsc__observer_run(observer, observer->reference, run, out));
  if (out->outcome == HSC_OUTCOME_OK || !observer->substitute)
    return NULL;
  if (out->outcome != HSC_OUTCOME_TIMEOUT && out->outcome != HSC_OUTCOME_UNSUPPORTED)
    return NULL;
  note_time(out, work, &observer->too_much);
  hsc_answer_deinit(out);
  return hsc__observer_run(observer, observer->substitute, run, out);
}

hsc_status *hsc__observer_bounds(hsc_observer *observer,
                                 const hsc_looked_at *program,
                                 const char *directory,
                                 hsc_answer *out) {
  bool evaluator = hsc_lab_worker_spec(observer->reference)->source == HSC_DEVICE_EVALUATOR;
  *out = (hsc_answer){.outcome = HSC_OUTCOME_UNSUPPORTED};
  if (!evaluator || is_too_much(observer, observer->too_much, program->work) ||
      is_too_much(observer, observer->too_much_to_bound, program->work))
    return NULL;
  json_t *facts = observer->device ? hsc_lab_worker_device(observer->device) : NULL;
  double factor_unit = hsc_factor_unit(json_string_value(json_object_get(facts, "platform")));
  json_t *request = json_pack("{s:s, s:s, s:I, s:s, s:f}", "job", "bounds", "program",
                              program->path, "seed", (json_int_t)observer->options.seed, "save_to",
                              directory, "factor_unit", factor_unit);
  if (!request)
    return hsc_status_out_of_memory();
  if (program->data)
    json_object_set(request, "data", program->data);
  hsc_status *status =
      hsc_lab_worker_call(observer->reference, request, observer->options.reference_limit_ns, out);
  json_decref(request);
  note_time(out, program->work, &observer->too_much_to_bound);
  return status;
}

hsc_status *hsc_observer_reference(hsc_observer *observer,
                                   const hsc_looked_at *program,
                                   const char *directory,
                                   json_t **out_outputs,
                                   char **out_why) {
  hsc_answer answer = {0};
  *out_outputs = NULL;
  *out_why = NULL;
  hsc_status *status = hsc__observer_reference(
      observer, &(hsc__run){.program = program, .save_to = directory}, &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK)
    *out_outputs = json_incref(json_object_get(answer.body, "outputs"));
  else if (!status)
    *out_why = hsc_strdup(answer.status ? hsc_status_message(answer.status)
                                        : hsc_outcome_text(answer.outcome));
  hsc_answer_deinit(&answer);
  return status ? status : hsc__observer_forget(observer);
}
