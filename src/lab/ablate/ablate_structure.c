// ablate_structure.c - compiles every variant in workers, and tells which are the same program.
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/ablate/ablate_internal.h"
#include "lab/dispatch/dispatch.h"
#include "lab/run/json_tree.h"

// ---- tasks, dispatched to threads ---------------------------------------------------------------

bool hsc__ablate_stopped(ablate_run *run) {
  if (!run->interrupted && hsc_task_is_over(&run->setting)) {
    run->interrupted = true;
    run->out_of_time = !hsc_task_is_stopped(&run->setting);
    run->ended_by = run->out_of_time ? "the time budget" : "an interrupt";
  }
  return run->interrupted;
}

static const int64_t WAITING_NS = 10 * HSC_SECOND_NS;

// One phase: its task and what it is called.
typedef struct phase {
  ablate_run *run;
  ablate_task task;
  const char *text;
} phase;

static hsc_status *do_task(void *user, void **slot, int64_t number) {
  const phase *p = user;
  hsc_lab_worker *worker = *slot;
  hsc_status *status = p->task(p->run, &worker, (int)number);
  *slot = worker;
  return status;
}

static void leave_slot(void *user, void *slot) {
  hsc_lab_worker_destroy(slot);
}

static bool phase_stopped(void *user) {
  const phase *p = user;
  return hsc__ablate_stopped(p->run);
}

static void show_progress(void *user, int64_t done, int64_t total, double seconds_left) {
  const phase *p = user;
  const hsc_ablate_options *o = p->run->options;
  if (o->progress)
    o->progress(o->user, done, total, seconds_left, p->text);
}

static void show_waiting(void *user, int64_t number, double seconds) {
  const phase *p = user;
  const hsc_ablate_options *o = p->run->options;
  if (o->waiting)
    o->waiting(o->user, p->text, p->run->variants[p->run->task_from + number].name, seconds);
}

hsc_status *hsc__ablate_dispatch(ablate_run *run, int count, const char *text, ablate_task task) {
  phase p = {.run = run, .task = task, .text = text};
  int64_t waiting_ns = run->options->waiting_ns;
  return hsc_dispatch_run(&(hsc_dispatch){.jobs = run->options->jobs,
                                          .count = count,
                                          .task = do_task,
                                          .leave = leave_slot,
                                          .stopped = phase_stopped,
                                          .progress = show_progress,
                                          .waiting = show_waiting,
                                          .waiting_ns = waiting_ns ? waiting_ns : WAITING_NS,
                                          .lock = &run->lock,
                                          .user = &p});
}

hsc_status *hsc__ablate_call(ablate_run *run,
                             hsc_lab_worker **worker,
                             json_t *request,
                             int64_t limit_ns,
                             hsc_answer *out_answer,
                             hsc_task_end *out_end) {
  HSC_TRY(hsc_task_call(&run->setting, worker, request, limit_ns, out_answer, out_end));
  if (*out_end == HSC_TASK_CUT_OFF)
    hsc__ablate_stopped(run);
  return NULL;
}

json_t *hsc__ablate_request(const ablate_run *run, const char *job, const char *disable) {
  const hsc_ablate_options *o = run->options;
  json_t *overrides = o->overrides ? json_copy(o->overrides) : json_object();
  json_t *transforms = json_array();
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  // What the user switched off stays off: an override replaces the whole list.
  const char *before = json_string_value(json_object_get(overrides, "xla_disable_hlo_passes"));
  hsc_bytes off = {0};
  hsc_bytes_printf(&off, "%s%s%s", before ? before : "", before && *before && *disable ? "," : "",
                   disable);
  if (off.size)
    json_object_set_new(overrides, "xla_disable_hlo_passes", json_string(hsc_bytes_text(&off)));
  hsc_bytes_deinit(&off);
  return json_pack("{s:s, s:s, s:o, s:o, s:I, s:[s]}", "job", job, "program", o->program,
                   "transforms", transforms, "overrides", overrides, "seed", (json_int_t)o->seed,
                   "cache", "memory");
}

// ---- one compile --------------------------------------------------------------------------------

// Whether a place is that of a handler of signals, which says that a process dies and not why.
static bool is_of_handler(const char *place) {
  static const char *const files[] = {
      "process_state.cc:", "failure_signal_handler.cc:", "signal_handler.cc:", "signalhandler.cc:"};
  for (size_t i = 0; i < HSC_COUNT_OF(files); i++)
    if (!strncmp(place, files[i], strlen(files[i])))
      return true;
  return false;
}

// The first "name.ext:123" with an extension of source files, but for those of signal handlers.
char *hsc__ablate_where(const char *text) {
  static const char *const extensions[] = {".cc:", ".cpp:", ".c:", ".h:", ".hpp:", ".inc:"};
  const char *best = NULL;
  const char *best_end = NULL;
  for (size_t i = 0; text && i < HSC_COUNT_OF(extensions); i++)
    for (const char *at = text; (at = strstr(at, extensions[i])); at++) {
      const char *digits = at + strlen(extensions[i]);
      const char *end = digits;
      const char *start = at;
      while (*end >= '0' && *end <= '9')
        end++;
      if (end == digits)
        continue;
      while (start > text && !strchr(" /\t\n[(:\"'", start[-1]))
        start--;
      if (is_of_handler(start))
        continue;
      if (!best || start < best) {
        best = start;
        best_end = end;
      }
    }
  if (!best)
    return NULL;
  hsc_bytes out = {0};
  hsc_bytes_append(&out, best, (size_t)(best_end - best));
  return hsc_bytes_take(&out);
}

void hsc__ablate_keep_code(hsc_answer *answer) {
  if (answer->outcome == HSC_OUTCOME_OK || !answer->status)
    return;
  if (!answer->body)
    answer->body = json_object();
  json_object_set_new(answer->body, "error_code",
                      json_string(hsc_code_name(hsc_status_code(answer->status))));
}

const char *hsc__ablate_code(const json_t *answer) {
  const char *name = json_string_value(json_object_get(answer, "error_code"));
  return name ? hsc_code_name(hsc_code_of_name(name)) : NULL;  // lives for ever, unlike the answer
}

static void take_answer(ablate_variant *v,
                        hsc_outcome outcome,
                        const char *message,
                        json_t *answer) {
  v->outcome = outcome;
  v->message = message ? hsc_strdup(message) : NULL;
  v->where = message ? hsc__ablate_where(message) : NULL;
  v->code = hsc__ablate_code(answer);
  if (outcome != HSC_OUTCOME_OK)
    return;
  v->answer = json_incref(answer);
  v->compile_s = hsc_json_number(json_object_get(answer, "compile_ns")) * 1e-9;
  json_t *facts = json_object_get(answer, "optimized");
  const char *fingerprint = json_string_value(json_object_get(facts, "fingerprint"));
  v->readable = fingerprint != NULL;
  if (!fingerprint)
    fingerprint = json_string_value(json_object_get(facts, "bytes_hash"));
  snprintf(v->fingerprint, sizeof v->fingerprint, "%s", fingerprint ? fingerprint : "");
  if (!v->readable)
    return;
  v->facts.instructions = json_integer_value(json_object_get(facts, "instructions"));
  v->facts.fusions = json_integer_value(json_object_get(facts, "fusions"));
  v->facts.kernels = json_integer_value(json_object_get(facts, "kernels"));
  v->facts.custom_calls = json_integer_value(json_object_get(facts, "custom_calls"));
  v->facts.flops = json_number_value(json_object_get(facts, "flops"));
  v->facts.bytes = json_number_value(json_object_get(facts, "bytes"));
}

static hsc_status *compile_task(ablate_run *run, hsc_lab_worker **worker, int number) {
  ablate_variant *v = &run->variants[run->task_from + number];
  hsc_task_row row = {0};
  hsc_task_end end;
  json_t *request = NULL;
  hsc_answer answer = {0};
  hsc_bytes key = {0};
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  hsc_bytes_printf(&key, "structure/%s", v->name);
  hsc_bytes_printf(&path, "%s/optimized_%d.pb", run->scratch, run->task_from + number);
  HSC_GOTO(hsc_bytes_status(&path));
  pthread_mutex_lock(&run->lock);
  status = hsc_task_table_find(&run->tasks, hsc_bytes_text(&key), &row);
  if (row.state)
    take_answer(v, hsc_task_row_outcome(&row), row.message, row.answer);
  pthread_mutex_unlock(&run->lock);
  if (status || row.state)
    goto done;

  request = hsc__ablate_request(run, "compile", v->disable);
  if (!request)
    HSC_GOTO(hsc_status_out_of_memory());
  json_object_set_new(request, "optimized_to", json_string(hsc_bytes_text(&path)));
  HSC_GOTO(hsc__ablate_call(run, worker, request, run->options->limit_ns, &answer, &end));
  if (answer.outcome == HSC_OUTCOME_OK)
    json_object_set_new(answer.body, "optimized", hsc_optimized_json(hsc_bytes_text(&path)));
  unlink(hsc_bytes_text(&path));
  // Ctrl-C reaches the worker as well: that it died of it says nothing about the pass.
  if (end == HSC_TASK_CUT_OFF)
    goto done;
  hsc__ablate_keep_code(&answer);
  pthread_mutex_lock(&run->lock);
  take_answer(v, answer.outcome, answer.status ? hsc_status_message(answer.status) : NULL,
              answer.body);
  if (end == HSC_TASK_DONE)  // who was killed each time is compiled again by --resume
    status = hsc_task_table_keep_answer(&run->tasks, hsc_bytes_text(&key), &answer);
  pthread_mutex_unlock(&run->lock);
done:
  json_decref(request);
  hsc_task_row_deinit(&row);
  hsc_answer_deinit(&answer);
  hsc_bytes_deinit(&key);
  hsc_bytes_deinit(&path);
  return status;
}

// The fingerprint does not tell the order of instructions; what another order needs for temporaries
// does.
static bool same_program(const ablate_variant *a, const ablate_variant *b) {
  const json_t *x = json_object_get(a->answer, "temp_bytes");
  const json_t *y = json_object_get(b->answer, "temp_bytes");
  // a computation that is called twice, and its two copies, have one fingerprint
  if (a->readable && b->readable &&
      (a->facts.instructions != b->facts.instructions || a->facts.fusions != b->facts.fusions ||
       a->facts.kernels != b->facts.kernels))
    return false;
  return !strcmp(a->fingerprint, b->fingerprint) &&
         (!json_is_number(x) || !json_is_number(y) || json_number_value(x) == json_number_value(y));
}

hsc_status *hsc__ablate_compile_all(ablate_run *run, int from, int to) {
  run->task_from = from;
  HSC_TRY(hsc__ablate_dispatch(run, to - from, "compiling", compile_task));
  for (int i = from; i < to; i++) {
    ablate_variant *v = &run->variants[i];
    v->same_as = i;
    for (int k = 0; k < i && v->answer && *v->fingerprint; k++) {
      if (!run->variants[k].answer || !same_program(&run->variants[k], v))
        continue;
      v->same_as = k;
      break;
    }
  }
  return NULL;
}
