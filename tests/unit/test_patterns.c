// test_patterns.c - the pattern experiment on the plugin that misbehaves as reported: its keys, its
// causes, and that nothing measured is ever lost.
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/run/json_tree.h"
#include "lab/patterns/patterns.h"
#include "stats/stats_interleaved.h"
#include "lab/devices/devices.h"
#include "lab_case.h"

static int set_up(void **state) {
  return lab_case_set_up("patterns",
                         "HloModule p\nENTRY main {\n  w = f32[8] parameter(0)\n  x = f32[8] "
                         "parameter(1)\n  ROOT r = f32[8] multiply(x, w)\n}\n");
}

// What the progress callback does, and what it saw.
typedef struct watch {
  const char *pattern;   // measure this one only; NULL = all
  const char *pause_at;  // the worker is stopped in a run of the task with this key
  const char *kill_at;   // kill the worker before the task with this key
  const char *stop_at;   // set `stop` at the task with this key
  int64_t stop_after;    // set `stop` when so many tasks were begun; 0 = never
  volatile int stop;
  int64_t begun;
  bool killed;
  int64_t trials;  // 0 = three
  double aim_s;    // of the whole, with as many trials as fit; 0 = three trials
} watch;

static const char *stop_file(void) {
  return hsc_arena_printf(arena, "%s/stop", dir);
}

static void on_progress(void *user, int64_t done, int64_t total, const char *text, int worker_pid) {
  watch *w = user;
  w->begun++;
  assert_true(done <= total);
  // the plugin stops its process in the next run when there is this file
  if (w->pause_at && !strcmp(text, w->pause_at))
    close(open(stop_file(), O_CREAT | O_WRONLY, 0600));
  if (w->kill_at && !strcmp(text, w->kill_at) && worker_pid > 0)
    w->killed = kill(worker_pid, SIGKILL) == 0;
  if ((w->stop_after && w->begun >= w->stop_after) || (w->stop_at && !strcmp(text, w->stop_at)))
    w->stop = 1;
}

static hsc_store *open_store(const char *name) {
  hsc_store *store = NULL;
  EXPECT_OK(hsc_store_open(hsc_arena_printf(arena, "%s/%s.sqlite", dir, name), &store));
  return store;
}

static json_t *sweep(hsc_store *store, const char *settings, watch *w, bool resume) {
  hsc_device_spec *spec = HSC_NEW(arena, hsc_device_spec);
  json_t *result = NULL;
  EXPECT_OK(hsc_device_spec_parse(
      hsc_arena_printf(arena, "%s?fake=s:platform=hloscope,%s", fake, settings), arena, spec));
  hsc_patterns_options o = {.device = spec,
                            .program = program,
                            .patterns = &w->pattern,
                            .pattern_count = w->pattern != NULL,
                            .warmup_iterations = 3,
                            .measurement_trials = w->aim_s > 0 || w->trials ? w->trials : 3,
                            .half_width = 0.02,
                            .aim_s = w->aim_s,
                            .exclude_first_trial = true,
                            .task_limit_ns = 20 * 1000000000ll,
                            .command = "test",
                            .executable = hloscope,
                            .store = store,
                            .resume = resume,
                            .progress = on_progress,
                            .user = w,
                            .stop = &w->stop};
  EXPECT_OK(hsc_patterns_run(&o, &result));
  assert_non_null(result);
  return result;
}

static const char *text_at(json_t *tree, const char *a, const char *b, const char *c) {
  const char *text = json_string_value(hsc_json_path(tree, a, b, c, NULL));
  return text ? text : "";
}

// Every number of the headline follows from what was measured beside it.
static void check_model(json_t *result, const char *key) {
  json_t *model = hsc_json_path(result, "theoretical_analysis", key, "model", NULL);
  double run = hsc_json_number(hsc_json_path(model, "measured_run", "estimate", NULL));
  double compile = hsc_json_number(hsc_json_path(model, "compile", "estimate", NULL));
  double fitted = hsc_json_number(hsc_json_path(model, "run", "estimate", NULL));
  double half =
      hsc_json_number(hsc_json_path(model, "runs_until_compile_under_half", "estimate", NULL));
  bool misses = fabs(fitted / run - 1) > 0.1;
  assert_true(fabs(run - hsc_json_number(hsc_json_path(result, "patterns", key, "run", "median",
                                                       NULL))) < 1e-12);
  assert_true(fabs(half - ceil(compile / run)) <= 1);
  assert_int_equal(json_integer_value(json_object_get(model, "processes")), HSC_LEAST_PROCESSES);
  assert_int_equal(json_is_string(json_object_get(model, "refused")), misses);
  double a = hsc_json_number(hsc_json_path(model, "a_sync", "estimate", NULL));
  double low = hsc_json_number(hsc_json_path(model, "a_sync", "low", NULL));
  assert_true(misses ? isnan(a) : a >= 0 && low >= 0);
  double total = hsc_json_number(hsc_json_path(model, "sync_split", "total", NULL));
  double wait = hsc_json_number(hsc_json_path(model, "sync_split", "waiting_for_execution", NULL));
  double call = hsc_json_number(hsc_json_path(model, "sync_split", "overhead", NULL));
  assert_true(wait >= 0 && call >= 0 && fabs(wait + call - total) < 1e-12);
  assert_true(wait == 0 || wait >= 1e-10);  // no clock tells less
}

static double evidence(json_t *result, const char *question, const char *key) {
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(result, "questions"), i, row)
    if (!strcmp(text_at(row, "id", NULL, NULL), question))
      return hsc_json_number(hsc_json_path(row, "evidence", key, NULL));
  return NAN;
}

// What the answers say does not contradict itself: parts of a whole are no more than it, and what
// is called the heaviest is slower by its verdict.
static void check_answers(json_t *result) {
  double compile = evidence(result, "first_trial", "compile_share");
  double transfer = evidence(result, "first_trial", "transfer_share");
  assert_true(compile >= 0 && transfer >= 0 && compile <= 1 && transfer <= 1);
  assert_true(!(evidence(result, "vmap", "heaviest_on") > evidence(result, "vmap", "slower")));
}

static void a_sweep_has_every_key(void **state) {
  hsc_store *store = open_store("keys");
  watch w = {0};
  json_t *result = sweep(store, "", &w, false);
  check_answers(result);
  static const char *const top[] = {"configuration",
                                    "environment",
                                    "device",
                                    "sync_baseline",
                                    "graphs",
                                    "patterns",
                                    "warmup_data",
                                    "compilation_dominance",
                                    "theoretical_analysis",
                                    "comparisons",
                                    "questions",
                                    "second_compile",
                                    "failures",
                                    "worker_deaths",
                                    "summary"};
  for (size_t i = 0; i < HSC_COUNT_OF(top); i++)
    if (!json_object_get(result, top[i]))
      fail_msg("no %s", top[i]);
  assert_string_equal(text_at(result, "status", NULL, NULL), "done");
  json_t *configuration = json_object_get(result, "configuration");
  assert_int_equal(json_integer_value(json_object_get(configuration, "warmup_iterations")), 3);
  assert_int_equal(json_integer_value(json_object_get(configuration, "measurement_trials")), 3);
  assert_true(json_is_true(json_object_get(configuration, "exclude_first_trial")));
  assert_true(json_is_false(json_object_get(configuration, "enable_device_reinit")));
  static const char *const keys[] = {"natural_for_loop_p", "dependent_for_loop_p", "vmap_p",
                                     "scan_p"};
  for (size_t k = 0; k < HSC_COUNT_OF(keys); k++) {
    json_t *p = hsc_json_path(result, "patterns", keys[k], NULL);
    json_t *timings = json_object_get(p, "detailed_timings");
    json_t *row;
    assert_string_equal(text_at(p, "status", NULL, NULL), "ok");
    check_model(result, keys[k]);
    assert_int_equal(json_array_size(timings), 3);
    size_t t;
    json_array_foreach (timings, t, row) {
      double first = hsc_json_number(json_object_get(row, "first_run"));
      double cached = hsc_json_number(json_object_get(row, "cached_run"));
      assert_int_equal(json_integer_value(json_object_get(row, "trial")), t + 1);
      assert_true(fabs(hsc_json_number(json_object_get(row, "difference")) - (first - cached)) <
                  1e-12);
      assert_string_equal(text_at(row, "phases", "first_run", "compile_outcome"),
                          t ? "memory" : "miss");
      assert_string_equal(text_at(row, "phases", "cached_run", "compile_outcome"), "memory");
      assert_true(first > 0 && first < 10);  // seconds
    }
    // Statistics leave the first trial out, the raw times do not.
    assert_int_equal(json_array_size(json_object_get(p, "first_run_times")), 3);
    assert_int_equal(json_integer_value(hsc_json_path(p, "first_run", "n", NULL)), 2);
    assert_int_equal(
        json_array_size(hsc_json_path(result, "warmup_data", keys[k], "warmup_times", NULL)), 3);
    json_t *theory = hsc_json_path(result, "theoretical_analysis", keys[k], NULL);
    double times[3];
    for (size_t i = 0; i < 3; i++)
      times[i] = hsc_json_number(json_array_get(json_object_get(p, "first_run_times"), i));
    assert_true(fabs(hsc_json_number(json_object_get(theory, "device_initialization_time")) -
                     (times[0] - (times[1] + times[2]) / 2)) < 1e-12);
    assert_true(json_is_object(hsc_json_path(theory, "model", "b_execution", NULL)));
  }
  // The seconds of the model's fit are those that were measured, point by point within a factor (a
  // loaded machine is no excuse for a wrong unit).
  json_t *fitted = hsc_json_path(result, "theoretical_analysis", "vmap_p", "model", "fitted", NULL);
  for (size_t i = 0; i < json_array_size(fitted); i++) {
    double measured = hsc_json_number(json_object_get(json_array_get(fitted, i), "measured"));
    double predicted =
        hsc_json_number(hsc_json_path(json_array_get(fitted, i), "predicted", "estimate", NULL));
    assert_true(predicted > measured / 20 && predicted < measured * 20);
  }
  // The run that was to be cached compiles, its control does not.
  json_t *second = json_array_get(json_object_get(result, "second_compile"), 0);
  assert_int_equal(
      json_integer_value(json_object_get(
          json_array_get(json_object_get(second, "input_made_on_the_device"), 1), "compiles")),
      3);
  assert_int_equal(
      json_integer_value(json_object_get(
          json_array_get(json_object_get(second, "input_transferred_before"), 1), "compiles")),
      0);
  assert_non_null(strstr(
      text_at(second, "cause", NULL, NULL),
      "compiled again: argument 1 (x) was a constant (f32[8] broadcast of 1), now a parameter"));

  hsc_bytes text = {0};
  EXPECT_OK(hsc_patterns_text(result, &(hsc_text_style){.width = 200}, &text));
  assert_non_null(strstr(hsc_bytes_text(&text), "dependent_for_loop_p"));
  assert_non_null(strstr(hsc_bytes_text(&text), "What does vmap really cost?"));
  assert_non_null(strstr(text_at(result, "summary", NULL, NULL), "## Where the time goes"));
  hsc_bytes_deinit(&text);

  // Every sample of every task is in the store, and the result can be shown again from there.
  hsc_experiment_list list;
  EXPECT_OK(hsc_store_get(store, json_integer_value(json_object_get(result, "experiment")), &list));
  assert_string_equal(list.items[0].status, "done");
  assert_int_equal(list.items[0].task_count, w.begun + 4);  // counting work says nothing
  assert_true(list.items[0].sample_count > 500);
  assert_true(json_equal(hsc_json_path(list.items[0].result, "patterns", NULL),
                         json_object_get(result, "patterns")));
  hsc_experiment_list_deinit(&list);
  json_decref(result);
  hsc_store_close(store);
}

// The phase that a stop hits is not to blame for it.
// On a machine that is too slow for it, the aim costs repetitions and never an interval.
static void an_aim_that_is_over_leaves_what_an_interval_needs(void **state) {
  hsc_store *store = open_store("aim");
  watch w = {.pattern = "natural", .aim_s = 1e-3};
  json_t *result = sweep(store, "", &w, false);
  assert_string_equal(text_at(result, "status", NULL, NULL), "done");
  json_t *config = hsc_json_path(result, "patterns", "natural_for_loop_p", NULL);
  assert_int_equal(json_array_size(json_object_get(config, "detailed_timings")),
                   HSC_LEAST_FOR_INTERVAL + 1);
  json_t *run = json_object_get(config, "run");
  double low = hsc_json_number(json_object_get(run, "low"));
  assert_true(low > 0 && low <= hsc_json_number(json_object_get(run, "high")));
  assert_string_equal(text_at(run, "sampling", "ended_by", NULL), "the time budget is spent");
  json_t *model =
      hsc_json_path(result, "theoretical_analysis", "natural_for_loop_p", "model", NULL);
  assert_int_equal(json_integer_value(json_object_get(model, "processes")), HSC_LEAST_PROCESSES);
  json_decref(result);
  hsc_store_close(store);
}

static void a_stopped_worker_is_named_as_the_cause(void **state) {
  hsc_store *store = open_store("stopped");
  // The first of four trials compiles; of the other three one is not typical. What follows the
  // trials says nothing about them.
  watch w = {
      .pattern = "vmap", .trials = 4, .pause_at = "vmap_p/trial/2", .stop_at = "vmap_p/model/1"};
  json_t *result =
      sweep(store, hsc_arena_printf(arena, "stopped=LoadedExecutable_Execute:%s", stop_file()), &w,
            false);
  json_t *slow = hsc_json_path(result, "patterns", "vmap_p", "slow_runs", NULL);
  json_t *row;
  size_t i;
  assert_int_equal(w.stop, 1);
  bool named = false;
  json_array_foreach (slow, i, row) {
    const char *cause = json_string_value(json_object_get(row, "cause"));
    if (json_integer_value(json_object_get(row, "trial")) == 2 && strstr(cause, "was stopped"))
      named = true;
  }
  if (!named)
    fail_msg("%s", json_dumps(slow, 0));
  json_decref(result);
  hsc_store_close(store);
}

static void a_killed_worker_costs_one_task(void **state) {
  hsc_store *store = open_store("killed");
  watch w = {.kill_at = "vmap_p/trial/2"};
  json_t *result = sweep(store, "slow=Client_Compile:3", &w, false);
  assert_true(w.killed);
  assert_string_equal(text_at(result, "status", NULL, NULL), "partial");  // a task is lost
  json_t *deaths = json_object_get(result, "worker_deaths");
  assert_int_equal(json_array_size(deaths), 1);
  assert_string_equal(json_string_value(json_object_get(json_array_get(deaths, 0), "task")),
                      "vmap_p/trial/2");
  assert_int_equal(json_integer_value(json_object_get(json_array_get(deaths, 0), "signal")),
                   SIGKILL);
  assert_int_equal(
      json_array_size(hsc_json_path(result, "patterns", "vmap_p", "detailed_timings", NULL)), 2);
  assert_int_equal(
      json_array_size(hsc_json_path(result, "patterns", "scan_p", "detailed_timings", NULL)), 3);
  assert_non_null(strstr(text_at(result, "summary", NULL, NULL), "What could not be measured"));
  assert_non_null(strstr(text_at(result, "summary", NULL, NULL), "signal 9"));
  // What was in the killed worker's memory is compiled again, and the report says so.
  bool said = false;
  json_t *slow, *row;
  const char *key;
  json_t *p;
  size_t i;
  json_object_foreach (json_object_get(result, "patterns"), key, p) {
    slow = json_object_get(p, "slow_runs");
    json_array_foreach (slow, i, row)
      said |= strstr(text_at(row, "cause", NULL, NULL),
                     "the worker or its client was started anew") != NULL;
  }
  assert_true(said);
  char *status = NULL;
  char *message = NULL;
  json_t *answer = NULL;
  EXPECT_OK(hsc_store_get_task(store, json_integer_value(json_object_get(result, "experiment")),
                               "vmap_p/trial/2", &status, &message, &answer));
  assert_string_equal(status, "abort");
  assert_non_null(strstr(message, "signal 9"));
  hsc_free(status);
  hsc_free(message);
  json_decref(answer);
  json_decref(result);
  hsc_store_close(store);
}

static void an_interrupted_sweep_goes_on(void **state) {
  hsc_store *store = open_store("resumed");
  watch whole = {0};
  watch first = {.stop_after = 20};
  watch second = {0};
  json_t *result = sweep(store, "", &first, false);
  assert_string_equal(text_at(result, "status", NULL, NULL), "interrupted");
  int64_t experiment = json_integer_value(json_object_get(result, "experiment"));
  json_decref(result);
  result = sweep(store, "", &second, true);
  assert_string_equal(text_at(result, "status", NULL, NULL), "done");
  assert_int_equal(json_integer_value(json_object_get(result, "experiment")), experiment);
  assert_int_equal(
      json_array_size(hsc_json_path(result, "patterns", "scan_p", "detailed_timings", NULL)), 3);
  json_decref(result);
  result = sweep(store, "", &whole, true);  // nothing is left to resume: a new experiment
  assert_true(json_integer_value(json_object_get(result, "experiment")) != experiment);
  assert_int_equal(first.begun + second.begun, whole.begun);  // nothing was measured twice
  json_decref(result);
  hsc_store_close(store);
}

static void a_compiler_that_aborts_leaves_a_result(void **state) {
  hsc_store *store = open_store("aborts");
  watch w = {0};
  json_t *result = sweep(store, "abort=Client_Compile", &w, false);
  assert_string_equal(text_at(result, "status", NULL, NULL), "partial");
  static const char *const keys[] = {"natural_for_loop_p", "dependent_for_loop_p", "vmap_p",
                                     "scan_p"};
  for (size_t k = 0; k < HSC_COUNT_OF(keys); k++) {
    assert_string_equal(text_at(result, "patterns", keys[k], "status"), "abort");
    assert_non_null(strstr(text_at(result, "patterns", keys[k], "message"), "signal 6"));
  }
  // each configuration got a second chance
  assert_int_equal(json_array_size(json_object_get(result, "worker_deaths")), 12);
  json_decref(result);
  hsc_store_close(store);
}

static void wrong_names_are_refused_before_anything_runs(void **state) {
  hsc_device_spec spec;
  hsc_store *store = open_store("names");
  json_t *result = NULL;
  EXPECT_OK(hsc_device_spec_parse(fake, arena, &spec));
  hsc_patterns_options o = {.device = &spec,
                            .program = program,
                            .measurement_trials = 1,
                            .executable = hloscope,
                            .store = store};
  o.patterns = (const char *const[]){"vmapp"};
  o.pattern_count = 1;
  hsc_status *status = hsc_patterns_run(&o, &result);
  assert_string_equal(hsc_status_message(status), "unknown pattern 'vmapp'; did you mean 'vmap'?");
  hsc_status_free(status);
  o.pattern_count = 0;
  o.program = "/nowhere/p.hlo";
  EXPECT_CODE(NOT_FOUND, hsc_patterns_run(&o, &result));
  hsc_experiment_list list;
  EXPECT_OK(hsc_store_list(store, 0, &list));
  assert_int_equal(list.count, 0);
  hsc_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sweep_has_every_key),
      cmocka_unit_test(an_aim_that_is_over_leaves_what_an_interval_needs),
      cmocka_unit_test(a_stopped_worker_is_named_as_the_cause),
      cmocka_unit_test(a_killed_worker_costs_one_task),
      cmocka_unit_test(an_interrupted_sweep_goes_on),
      cmocka_unit_test(a_compiler_that_aborts_leaves_a_result),
      cmocka_unit_test(wrong_names_are_refused_before_anything_runs),
  };
  return cmocka_run_group_tests(tests, set_up, lab_case_tear_down);
}
