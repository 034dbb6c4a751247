// tune_structure.c - where a device only compiles: memory and kernels of every candidate.
//
// A compile gives the same numbers each time, which placebos show and a second compile of the best
// in a fresh process confirms; there is nothing to time.
#include <math.h>
#include <unistd.h>

#include "lab/passes/optimized.h"
#include "lab/run/json_tree.h"
#include "lab/tune/tune_internal.h"

enum { GROUP = 16 };

static void count_kernels(const char *path, json_t *kept) {
  hsc_optimized facts;
  hsc_status *unread = hsc_optimized_read(path, &facts);
  if (!unread) {
    json_object_set_new(kept, "kernels", json_integer(facts.kernels));
    json_object_set_new(kept, "fingerprint", json_string(facts.fingerprint));
  }
  hsc_status_free(unread);
}

static double memory_of(const json_t *body) {
  double peak = hsc_json_number(hsc_json_path(body, "memory", "peak_bytes", NULL));
  double total = hsc_json_number(hsc_json_path(body, "memory", "total_bytes", NULL));
  if (peak > 0)
    return peak;
  if (total > 0)
    return total;
  return hsc_json_number(json_object_get(body, "peak_bytes"));
}

static void take(tune_candidate *c, const char *status, const char *message, const json_t *kept) {
  c->tried = true;
  c->outcome = hsc_outcome_of_text(status);
  hsc_free(c->message);
  c->message = message ? hsc_strdup(message) : NULL;
  if (c->outcome != HSC_OUTCOME_OK)
    return;
  c->usable = true;
  c->compile_s = hsc_json_number(json_object_get(kept, "compile_s"));
  c->temp_bytes = hsc_json_number(json_object_get(kept, "temp_bytes"));
  c->peak_bytes = hsc_json_number(json_object_get(kept, "peak_bytes"));
  c->kernels = hsc_json_number(json_object_get(kept, "kernels"));
  json_decref(c->facts);
  c->facts =
      json_pack("{s:O?, s:O?, s:O?, s:O?}", "instructions", json_object_get(kept, "instructions"),
                "fusions", json_object_get(kept, "fusions"), "flops",
                json_object_get(kept, "flops"), "bytes", json_object_get(kept, "bytes"));
}

static hsc_status *compile_one(tune_run *run,
                               hsc_lab_worker **worker,
                               tune_candidate *c,
                               const char *turn) {
  hsc_answer answer = {0};
  hsc_task_end end;
  json_t *kept = NULL;
  json_t *request = NULL;
  hsc_task_row row;
  const char *key = hsc_arena_printf(run->arena, "%s/%s/%s=%s", turn, hsc__tune_kind_text(c->kind),
                                     c->name, c->value ? c->value : "");
  const char *path = hsc_arena_printf(run->arena, "%s/optimized.pb", run->scratch);
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_status(run->arena));
  HSC_TRY(hsc_task_table_find(&run->tasks, key, &row));
  if (row.state) {
    take(c, row.state, row.message, row.answer);
    goto done;
  }
  request = hsc__tune_request(run, "compile", c == &run->items[0] ? NULL : c);
  if (!request)
    HSC_GOTO(hsc_status_out_of_memory());
  json_object_del(request, "data");
  json_object_set_new(request, "optimized_to", json_string(path));
  HSC_GOTO(hsc_task_call(&run->setting, worker, request, run->options->limit_ns, &answer, &end));
  if (answer.outcome != HSC_OUTCOME_OK && hsc__tune_stopped(run))
    goto done;
  kept = json_object();
  if (answer.outcome == HSC_OUTCOME_OK) {
    static const char *const keys[] = {"temp_bytes", "instructions", "fusions", "flops", "bytes"};
    for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
      json_object_set(kept, keys[i], json_object_get(answer.body, keys[i]));
    json_object_set_new(kept, "peak_bytes", hsc_json_real(memory_of(answer.body)));
    json_object_set_new(
        kept, "compile_s",
        hsc_json_real(hsc_json_number(json_object_get(answer.body, "compile_ns")) * 1e-9));
    count_kernels(path, kept);
  }
  unlink(path);
  const char *message = answer.status ? hsc_status_message(answer.status) : NULL;
  take(c, hsc_outcome_text(answer.outcome), message, kept);
  if (end == HSC_TASK_DONE)
    HSC_GOTO(
        hsc_task_table_keep(&run->tasks, key, hsc_outcome_text(answer.outcome), message, kept));
done:
  json_decref(kept);
  json_decref(request);
  hsc_task_row_deinit(&row);
  hsc_answer_deinit(&answer);
  return status;
}

// Once more in a fresh process: what a second compile does not show is no answer.
static hsc_status *confirm(tune_run *run, tune_candidate *c) {
  hsc_lab_worker *worker = NULL;
  double peak = c->peak_bytes;
  double kernels = c->kernels;
  hsc_status *status = compile_one(run, &worker, c, "again");
  bool same_peak = c->peak_bytes == peak || (isnan(peak) && isnan(c->peak_bytes));
  bool same_kernels = c->kernels == kernels || (isnan(kernels) && isnan(c->kernels));
  if (!status && !(same_peak && same_kernels))
    c->usable = false;
  c->found.judged = !status && c->usable;
  hsc_lab_worker_destroy(worker);
  return status;
}

static bool is_better(const tune_run *run, const tune_candidate *c) {
  const tune_candidate *base = &run->items[0];
  double margin = run->options->margin;
  return c->peak_bytes < base->peak_bytes * (1 - margin) || c->kernels < base->kernels;
}

hsc_status *hsc__tune_structure(tune_run *run) {
  hsc_lab_worker *worker = NULL;
  hsc_status *status = NULL;
  int in_process = 0;
  int first_fresh = 1;
  int total = run->count;
  for (int i = first_fresh; i < total && !status && !hsc__tune_stopped(run); i++) {
    tune_candidate *c = &run->items[i];
    if (run->options->progress)
      run->options->progress(run->options->user, i, total, "compiling every candidate");
    if (in_process++ == GROUP) {
      hsc_lab_worker_destroy(worker);
      worker = NULL;
      in_process = 1;
    }
    status = compile_one(run, &worker, c, "structure");
  }
  hsc_lab_worker_destroy(worker);
  for (int i = 1; i < total && !status && !hsc__tune_stopped(run); i++)
    if (run->items[i].usable && is_better(run, &run->items[i]))
      status = confirm(run, &run->items[i]);
  run->searched = !status && !run->interrupted;
  return status;
}

hsc_status *hsc__tune_compile_as_it_is(tune_run *run) {
  hsc_lab_worker *worker = NULL;
  tune_candidate *base = &run->items[0];
  hsc_status *status = compile_one(run, &worker, base, "structure");
  if (!status && worker && hsc_lab_worker_device(worker))
    run->device = json_incref(hsc_lab_worker_device(worker));
  hsc_lab_worker_destroy(worker);
  if (!status && !base->usable)
    status = HSC_ERR(FAILED_PRECONDITION, "the program does not compile as it is: %s",
                     base->message ? base->message : hsc_outcome_text(base->outcome));
  return status;
}
