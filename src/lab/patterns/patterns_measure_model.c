// patterns_measure_model.c - what the model of time is fitted to and checked on: every
// configuration with several numbers of executions and synchronisations, in several processes.
//
// Fits of one process say nothing of the next, so all processes are needed for an interval. What
// the experiment aims at is kept by fewer repeats and fewer executions in each of them.
#include <math.h>

#include "base/core/clock.h"
#include "lab/patterns/patterns_internal.h"

enum {
  REPEATS = 3,        // of a point, at least, where its executions are not long ones
  REPEATS_MOST = 25,  // and at most
};
// of a configuration, for more than the least number of repeats
static const double BUDGET_NS = 0.12e9;
// of a job, for the largest numbers of executions, where the experiment aims at nothing
static const double LIMIT_NS = 0.5e9;
// of the aim that is left to the model however long the trials took, and what a job may take of its
// part for larger numbers of executions
static const double LEAST_SHARE = 0.2;
static const double LIMIT_PARTS = 2;
// Executions that are not repeated as often: their time is far above what disturbs it.
static const double LONG_NS = 20e6;

// (executions, syncs); held-out ones lie between and beyond those that are fitted
static const struct {
  int executions, syncs;
  bool held_out;
} points[] = {{1, 1, false}, {2, 1, false}, {2, 2, false},  {4, 1, false},   {4, 4, false},
              {8, 1, false}, {8, 8, false}, {16, 1, false}, {16, 16, false}, {3, 1, true},
              {3, 3, true},  {6, 2, true},  {12, 1, true},  {12, 12, true}};

static json_t *points_of(int most, bool held_out) {
  json_t *list = json_array();
  for (size_t i = 0; i < HSC_COUNT_OF(points); i++)
    if (points[i].executions <= most && points[i].held_out == held_out)
      json_array_append_new(list, json_pack("[i, i]", points[i].executions, points[i].syncs));
  return list;
}

static double executions_up_to(int most) {
  double sum = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(points); i++)
    sum += points[i].executions <= most ? points[i].executions : 0;
  return sum;
}

typedef struct job_time {
  double budget_ns;  // for more repeats than the least
  double limit_ns;   // for the largest numbers of executions
} job_time;

// What the model's two jobs of a configuration in one process may take together.
static job_time plan_time(const patterns_run *run) {
  job_time t = {BUDGET_NS / HSC__MODEL_PROCESSES, LIMIT_NS};
  double aim_ns = run->options->aim_s * 1e9;
  if (!(aim_ns > 0))
    return t;
  double left_ns = aim_ns - (double)(hsc_now_ns() - run->start_ns);
  double jobs = (double)run->config_count * HSC__MODEL_PROCESSES;
  double share_ns = fmax(left_ns, LEAST_SHARE * aim_ns) / jobs;
  t.budget_ns = fmin(t.budget_ns, share_ns);
  t.limit_ns = fmin(t.limit_ns, LIMIT_PARTS * share_ns);
  return t;
}

// The largest number of executions of a point, and how often each is measured.
static int plan_points(double execution_ns, const job_time *t, int64_t *out_repeats) {
  int most = 16;
  while (most > 4 && execution_ns * executions_up_to(most) * REPEATS > t->limit_ns)
    most /= 2;
  double fitting = t->budget_ns / (execution_ns * executions_up_to(most));
  *out_repeats = (int64_t)fmin(fmax(fitting, REPEATS), REPEATS_MOST);
  if (execution_ns > LONG_NS)
    *out_repeats = 1;
  return most;
}

// In the worker process that runs now; `process` counts them.
static hsc_status *measure(patterns_run *run,
                           pattern_config *config,
                           int process,
                           const job_time *time) {
  double execution_ns = config->typical_ns / config->pattern->executions;
  int64_t repeats;
  int most = plan_points(execution_ns, time, &repeats);
  char key[512];
  for (int held = 0; held < 2; held++) {
    json_t *request = hsc__patterns_request(config, "model");
    json_object_del(request, "executions");
    json_object_del(request, "syncs");
    json_object_set_new(request, "points", points_of(most, held));
    json_object_set_new(request, "repeats", json_integer(repeats));
    json_object_set_new(request, "shuffle_seed",
                        json_integer((json_int_t)run->options->seed + 1 + held + 2 * process));
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
    snprintf(key, sizeof key, "%s/%s/%d", config->key, held ? "held_out" : "model", process + 1);
    HSC_TRY(hsc__patterns_task(run, config, key, request,
                               held ? &config->holdout[process] : &config->model[process]));
  }
  if (process + 1 < HSC__MODEL_PROCESSES)
    return NULL;
  // The whole way with more executions than any cold round before had.
  json_t *request = hsc__patterns_request(config, "cold");
  json_object_set_new(request, "executions", json_integer(most == 16 ? 12 : 3));
  json_object_set_new(request, "syncs", json_integer(most == 16 ? 12 : 3));
  json_object_set_new(request, "count", json_integer(execution_ns > LONG_NS ? 1 : 3));
  snprintf(key, sizeof key, "%s/cold_held_out", config->key);
  return hsc__patterns_task(run, config, key, request, &config->cold_holdout);
}

hsc_status *hsc__patterns_measure_model(patterns_run *run) {
  job_time time = plan_time(run);
  for (int process = 0; process < HSC__MODEL_PROCESSES; process++) {
    if (process)
      hsc_lab_worker_stop(run->worker);
    for (size_t i = 0; i < run->config_count; i++)
      HSC_TRY(measure(run, &run->configs[i], process, &time));
  }
  return NULL;
}
