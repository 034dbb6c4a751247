// blame_steps.c - what every step of blame does: run a variant, tell what goes on, watch the time.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/blame/blame_internal.h"
#include "lab/run/json_tree.h"

const char *hsc__blame_directory(hsc__blame *b) {
  return hsc_arena_printf(b->arena, "%s/outputs_%d", b->scratch, b->directories++);
}

bool hsc__blame_is_late(const hsc__blame *b) {
  double seconds = (double)(hsc_now_ns() - b->start_ns) * 1e-9;
  return b->options->budget_s > 0 && seconds > b->options->budget_s;
}

void hsc__blame_tell(hsc__blame *b, const char *question, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  json_array_append_new(b->evidence, json_pack("{s:s, s:s}", "question", question, "answer", text));
}

const char *hsc__blame_words(hsc__blame *b, const hsc_answer *answer) {
  const char *words = answer->last_words && *answer->last_words ? answer->last_words : NULL;
  if (!words && answer->status)
    words = hsc_status_message(answer->status);
  const char *text = hsc_arena_printf(b->arena, "%s%s%.400s", hsc_outcome_text(answer->outcome),
                                      words ? ": " : "", words ? words : "");
  return text ? text : hsc_outcome_text(answer->outcome);
}

// What a worker read and compiled is not asked for twice: each run is a compile of its own.
static hsc_status *forget(hsc_lab_worker *worker, int64_t limit_ns) {
  hsc_answer answer = {0};
  json_t *drop = json_pack("{s:s, s:b}", "job", "drop", "programs", 1);
  if (!drop)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_call(worker, drop, limit_ns, &answer);
  hsc_answer_deinit(&answer);
  json_decref(drop);
  return status;
}

// Once, when the device has told them.
hsc_status *hsc__blame_note_versions(hsc__blame *b) {
  static const char *const keys[] = {"platform", "platform_version", "pjrt_version"};
  json_t *device = hsc_lab_worker_device(b->device);
  if (b->versions || !device)
    return NULL;
  b->versions = json_object();
  for (size_t i = 0; b->versions && i < HSC_COUNT_OF(keys); i++)
    if (json_is_string(json_object_get(device, keys[i])))
      json_object_set(b->versions, keys[i], json_object_get(device, keys[i]));
  return hsc__journal_meet(b->options->journal, b->versions);
}

void hsc__blame_done_with(const hsc__blame *b, const char *directory) {
  hsc_worker_memory_done_with(hsc__journal_memory(b->options->journal), directory);
}

// The worker's job for a trial; a new reference, NULL out of memory. A compile has no inputs, the
// evaluator neither a cache nor options of a compiler.
static json_t *request_of(const hsc__blame *b, hsc_lab_worker *worker, const hsc__trial *trial) {
  const hsc_blame_options *o = b->options;
  const hsc_device_spec *spec = hsc_lab_worker_spec(worker);
  bool evaluator = spec->source == HSC_DEVICE_EVALUATOR;
  bool compile = trial->compile || spec->topology;
  json_t *overrides = trial->overrides;
  const char *job = compile ? "compile" : "run";
  if (evaluator)
    job = "evaluate";
  json_t *request =
      json_pack("{s:s, s:s, s:I}", "job", job, "program",
                trial->program ? trial->program : o->program, "seed", (json_int_t)o->seed);
  if (!request)
    return NULL;
  if (trial->executions > 1 && !compile && !evaluator)
    json_object_set_new(request, "executions", json_integer(trial->executions));
  if (trial->save_to && !compile)
    json_object_set_new(request, "save_to", json_string(trial->save_to));
  if (b->data && !compile)
    json_object_set(request, "data", b->data);
  if (trial->perturbation > 0)
    json_object_set_new(request, "perturb", json_real(trial->perturbation));
  if (!evaluator && !compile)
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  if (!overrides && worker == b->device)
    overrides = o->overrides;
  if (overrides && !evaluator)
    json_object_set(request, "overrides", overrides);
  return request;
}

hsc_status *hsc__blame_run(hsc__blame *b,
                           hsc_lab_worker *worker,
                           const hsc__trial *trial,
                           hsc_answer *out_answer) {
  const hsc_blame_options *o = b->options;
  json_t *request = request_of(b, worker, trial);
  *out_answer = (hsc_answer){0};
  if (!request)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_lab_worker_call(worker, request, o->limit_ns, out_answer);
  json_decref(request);
  if (!status)
    status = hsc__blame_note_versions(b);
  if (!status && o->stop && *o->stop)
    status = HSC_ERR(CANCELLED, "interrupted");
  if (!status && hsc_lab_worker_pid(worker))
    status = forget(worker, o->limit_ns);
  return status;
}
