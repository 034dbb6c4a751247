// validate_stage.c - one stage of a validation: what it may take, its run on the runner, its row.
#include <math.h>

#include "base/core/clock.h"
#include "lab/passes/validate_internal.h"

const char *hsc__validate_over(const hsc_validate_options *o) {
  if (o->stop && *o->stop)
    return "interrupted";
  return o->deadline_ns && hsc_now_ns() > o->deadline_ns ? "the time budget was over" : NULL;
}

// What a job gets: its own limit, and no more than is left of the whole.
int64_t hsc__validate_limit(const hsc_validate_options *o, int64_t limit_ns) {
  static const int64_t least_ns = 1000000;
  if (!o->deadline_ns)
    return limit_ns;
  int64_t left_ns = o->deadline_ns - hsc_now_ns();
  if (left_ns < least_ns)
    left_ns = least_ns;
  return left_ns < limit_ns ? left_ns : limit_ns;
}

// Seconds that the evaluator gets for the first stage where another runner stands by.
static const double FIRST_STAGE_S = 20;

hsc_status *hsc__validate_run(hsc_validation *v,
                              const char *path,
                              const char *outputs_dir,
                              double perturbation,
                              hsc_answer *answer) {
  int64_t limit_ns = hsc__validate_limit(v->options, v->options->limit_ns);
  bool evaluator = hsc_lab_worker_spec(v->runner)->source == HSC_DEVICE_EVALUATOR;
  json_t *request =
      json_pack("{s:s, s:s, s:I, s:s}", "job", evaluator ? "evaluate" : "run", "program", path,
                "seed", (json_int_t)v->options->seed, "save_to", outputs_dir);
  if (!request)
    return hsc_status_out_of_memory();
  if (v->options->data)
    json_object_set(request, "data", v->options->data);
  if (perturbation > 0)
    json_object_set_new(request, "perturb", json_real(perturbation));
  if (!evaluator)
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  // where another one stands by, a runner that is too slow for the program is seen at once
  if (v->options->second_runner && evaluator)
    limit_ns = (int64_t)fmin((double)limit_ns, FIRST_STAGE_S * 1e9);
  hsc_status *status = hsc_lab_worker_call(v->runner, request, limit_ns, answer);
  json_decref(request);
  if (!status && !evaluator && answer->outcome == HSC_OUTCOME_OK) {
    json_t *drop = json_pack("{s:s}", "job", "drop");
    hsc_answer dropped;
    status = hsc_lab_worker_call(v->runner, drop, v->options->limit_ns, &dropped);
    if (!status)
      hsc_answer_deinit(&dropped);
    json_decref(drop);
  }
  return status;
}

json_t *hsc__validate_new_stage(const hsc_pass_row *row, int64_t run) {
  return json_pack("{s:o, s:s, s:s, s:o, s:n, s:n, s:n, s:n, s:n, s:n, s:i}", "run",
                   run < 0 ? json_null() : json_integer((json_int_t)run), "pipeline", row->pipeline,
                   "pass", row->pass, "verdict", json_null(), "max_abs", "max_ulp", "decided_by",
                   "bound", "skipped", "where", "lowered", 0);
}

void hsc__validate_skip(json_t *stage, const char *reason) {
  json_object_set_new(stage, "verdict", json_null());
  json_object_set_new(stage, "skipped", json_string(reason));
}

void hsc__validate_enter(hsc_validation *v, json_t *stage, hsc_arena *arena) {
  json_t *run = json_object_get(stage, "run");
  const char *pass = json_string_value(json_object_get(stage, "pass"));
  hsc_finding finding = HSC_FINDING_EQUAL;
  bool compared = hsc_finding_parse(json_string_value(json_object_get(stage, "verdict")), &finding);
  const char *name =
      json_is_integer(run)
          ? hsc_arena_printf(arena, "run %lld, %s", (long long)json_integer_value(run), pass)
          : hsc_arena_strdup(arena, pass);
  if (v->draws && compared && finding == HSC_FINDING_DIFFERENT) {
    hsc__validate_skip(stage,
                       "the program draws random numbers (rng), and each device draws its own");
    compared = false;
  }
  if (!name)
    name = "a stage";
  if (compared) {
    hsc_agreement_compared(v->agreement, name, finding);
    return;
  }
  const char *reason = json_string_value(json_object_get(stage, "skipped"));
  hsc_agreement_gap(v->agreement, json_pack("{s:O, s:s}", "run", run, "pass", pass), name,
                    reason ? reason : "it was not run");
}
