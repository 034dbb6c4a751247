// patterns_work.c - what each configuration does, counted after everything that is timed.
//
// Two patterns of a graph need not do the same work: a loop that converges runs as often as its
// slowest input under vmap, and a compiler removes what a loop computes twice. The worker of the
// device counts where it can; of a device whose worker has no evaluator (XLA:CPU in Python) the
// compiled program is taken as a file to the reference evaluator.

#include "base/core/clock.h"
#include "lab/patterns/patterns_internal.h"
#include "worker/scratch.h"

static const int64_t LIMIT_NS = 10 * HSC_SECOND_NS;  // of counting one configuration
static const double OPERATIONS_MOST = 2e9;           // that are counted at all

static json_t *request_of(const patterns_run *run, const pattern_config *config, const char *job) {
  json_t *request = hsc__patterns_request(config, job);
  json_object_set_new(request, "seed", json_integer((json_int_t)run->options->seed));
  json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  return request;
}

static hsc_status *call(hsc_lab_worker *worker, json_t *request, json_t **out_body) {
  hsc_answer answer;
  hsc_status *status = hsc_lab_worker_call(worker, request, LIMIT_NS, &answer);
  json_decref(request);
  HSC_TRY(status);
  if (answer.outcome == HSC_OUTCOME_OK)
    *out_body = json_incref(answer.body);
  hsc_answer_deinit(&answer);
  return NULL;
}

// `evaluator` is made when it is needed for the first time.
static hsc_status *count_elsewhere(patterns_run *run,
                                   const pattern_config *config,
                                   hsc_lab_worker **evaluator,
                                   json_t **out_body) {
  if (!*evaluator) {
    hsc_device_spec *reference = HSC_NEW(run->arena, hsc_device_spec);
    HSC_TRY(hsc_arena_status(run->arena));
    HSC_TRY(hsc_device_spec_parse("reference", run->arena, reference));
    HSC_TRY(hsc_lab_worker_create(
        &(hsc_lab_worker_options){.device = reference, .executable = run->options->executable},
        evaluator));
  }
  char *scratch = NULL;
  json_t *compiled = NULL;
  HSC_TRY(hsc_scratch_create(&scratch));
  char path[4200];
  snprintf(path, sizeof path, "%s/work.pb", scratch);
  json_t *request = request_of(run, config, "compile");
  json_object_set_new(request, "optimized_to", json_string(path));
  hsc_status *status = call(run->worker, request, &compiled);
  request = request_of(run, config, "work");
  if (json_is_string(json_object_get(compiled, "optimized")))
    json_object_set_new(request, "compiled", json_string(path));
  if (status)
    json_decref(request);
  else
    status = call(*evaluator, request, out_body);
  hsc_scratch_destroy(scratch);
  json_decref(compiled);
  return status;
}

static hsc_status *count_config(patterns_run *run,
                                pattern_config *config,
                                hsc_lab_worker **evaluator) {
  char key[512];
  double operations = hsc_json_number(json_object_get(config->describe, "flops"));
  snprintf(key, sizeof key, "%s/work", config->key);
  run->task_count++;
  if (hsc__patterns_is_over(run) || config->outcome)
    return NULL;
  if (operations * config->pattern->executions > OPERATIONS_MOST)
    return NULL;
  HSC_TRY(call(run->worker, request_of(run, config, "work"), &config->work));
  if (!config->work)
    HSC_TRY(count_elsewhere(run, config, evaluator, &config->work));
  return hsc_task_table_keep(&run->tasks, key, config->work ? "ok" : "error",
                             config->work ? NULL : "it was not counted", config->work);
}

hsc_status *hsc__patterns_work(patterns_run *run) {
  hsc_lab_worker *evaluator = NULL;
  hsc_status *status = NULL;
  for (size_t i = 0; i < run->config_count && !status; i++)
    status = count_config(run, &run->configs[i], &evaluator);
  hsc_lab_worker_destroy(evaluator);
  return status;
}
