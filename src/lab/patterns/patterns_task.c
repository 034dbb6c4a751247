// patterns_task.c - one job of the sweep: its request, taken from the store or from the worker,
// kept; what a failure of it ends.
#include "lab/patterns/patterns_internal.h"

enum { GIVE_UP_AFTER = 3 };  // deaths of a worker that end a configuration

json_t *hsc__patterns_request(const pattern_config *config, const char *job) {
  json_t *request =
      json_pack("{s:s, s:s, s:i, s:i}", "job", job, "program", config->program, "executions",
                config->pattern->executions, "syncs", config->pattern->syncs);
  if (config->feed)
    json_object_set(request, "feed", config->feed);
  if (config->transform)
    json_object_set_new(request, "transforms", json_pack("[s]", config->transform));
  return request;
}

bool hsc__patterns_is_over(patterns_run *run) {
  run->interrupted = run->interrupted || hsc_task_is_over(&run->setting);
  return run->interrupted;
}

hsc_status *hsc__patterns_stored(patterns_run *run, const char *key, json_t **out_body) {
  hsc_task_row row;
  *out_body = NULL;
  HSC_TRY(hsc_task_table_find(&run->tasks, key, &row));
  if (row.state && hsc_task_row_outcome(&row) == HSC_OUTCOME_OK)
    *out_body = json_incref(row.answer);
  hsc_task_row_deinit(&row);
  return NULL;
}

// Which process and client an answer came from: what was compiled for one is not there for another.
static void stamp_client(const patterns_run *run, json_t *body, int reinit_count) {
  char text[64];
  snprintf(text, sizeof text, "%d.%d", hsc_lab_worker_pid(run->worker), reinit_count);
  json_object_set_new(body, "client", json_string(text));
}

static void record_failure(patterns_run *run,
                           pattern_config *config,
                           const char *key,
                           const hsc_answer *answer) {
  const char *outcome = hsc_outcome_text(answer->outcome);
  const char *message = hsc_status_message(answer->status);
  json_array_append_new(
      run->failures, json_pack("{s:s, s:s, s:s, s:s?}", "task", key, "outcome", outcome, "message",
                               message, "hint", hsc_status_hint_text(answer->status)));
  if (answer->outcome == HSC_OUTCOME_ABORT || answer->outcome == HSC_OUTCOME_TIMEOUT ||
      answer->exit.exited)
    json_array_append_new(
        run->deaths,
        json_pack("{s:s, s:s, s:i, s:i, s:I, s:s?}", "task", key, "message", message, "signal",
                  answer->exit.signal, "exit_code", answer->exit.exit_code, "max_rss_bytes",
                  (json_int_t)answer->exit.max_rss_bytes, "last_words", answer->last_words));
  if (!config)
    return;
  config->failures++;
  // What is refused for a reason will be refused again; a worker that died may have been unlucky.
  bool final = answer->outcome == HSC_OUTCOME_ERROR || answer->outcome == HSC_OUTCOME_UNSUPPORTED ||
               config->failures >= GIVE_UP_AFTER;
  if (final && !config->outcome) {
    config->outcome = outcome;
    config->message = hsc_arena_strdup(run->arena, message);
  }
}

hsc_status *hsc__patterns_task(patterns_run *run,
                               pattern_config *config,
                               const char *key,
                               json_t *request,
                               json_t **out_body) {
  static int reinit_count;  // part of a client's name only; never repeats within a process
  const hsc_patterns_options *o = run->options;
  hsc_answer answer = {0};
  hsc_task_end end;
  hsc_status *status = NULL;
  *out_body = NULL;
  run->task_count++;
  if (run->task_count > run->task_total)  // more trials than could be known
    run->task_total = run->task_count;
  if (hsc__patterns_is_over(run) || (config && config->outcome))
    goto done;
  if (!request)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc__patterns_stored(run, key, out_body));
  if (*out_body)
    goto done;
  if (o->progress)
    o->progress(o->user, run->task_count, run->task_total, key, hsc_lab_worker_pid(run->worker));
  json_object_set_new(request, "seed", json_integer((json_int_t)o->seed));
  HSC_GOTO(hsc_task_call(&run->setting, &run->worker, request, o->task_limit_ns, &answer, &end));
  // what the user or the budget cut off is no failure of the program, and is done again by --resume
  if (end == HSC_TASK_CUT_OFF) {
    hsc__patterns_is_over(run);
    goto done;
  }
  const char *job = json_string_value(json_object_get(request, "job"));
  if (job && !strcmp(job, "reinit"))
    reinit_count++;
  if (answer.outcome == HSC_OUTCOME_OK) {
    stamp_client(run, answer.body, reinit_count);
    *out_body = json_incref(answer.body);
  } else {
    record_failure(run, config, key, &answer);
  }
  status = hsc_task_table_keep_answer(&run->tasks, key, &answer);
done:
  hsc_answer_deinit(&answer);
  if (status) {
    json_decref(*out_body);
    *out_body = NULL;
  }
  json_decref(request);
  return status;
}
