// test_task_table.c - tasks of an experiment: done once, found again by the run that goes on, done
// again when somebody ended them.
#include <signal.h>

#include "lab/devices/devices.h"
#include "lab/dispatch/task_table.h"
#include "lab_case.h"

static int set_up(void **state) {
  return lab_case_set_up("tasks",
                         "HloModule p\nENTRY main {\n  x = f32[8] parameter(0)\n  ROOT r = f32[8] "
                         "multiply(x, x)\n}\n");
}

static hsc_task_setting setting_of(const char *settings, const volatile int *stop) {
  hsc_device_spec *spec = HSC_NEW(arena, hsc_device_spec);
  EXPECT_OK(hsc_device_spec_parse(
      hsc_arena_printf(arena, "%s?fake=s:platform=hloscope%s", fake, settings), arena, spec));
  return (hsc_task_setting){.device = spec, .executable = hloscope, .stop = stop};
}

// Starts the worker, ends it by the signal, and asks it for a compile.
static hsc_task_end killed(const hsc_task_setting *setting, int signal, hsc_answer *answer) {
  hsc_lab_worker *worker = NULL;
  hsc_answer start;
  hsc_task_end end = HSC_TASK_CUT_OFF;
  json_t *request = json_pack("{s:s, s:s}", "job", "compile", "program", program);
  EXPECT_OK(hsc_task_worker(setting, &worker));
  EXPECT_OK(hsc_lab_worker_start(worker, &start));
  assert_int_equal(kill(hsc_lab_worker_pid(worker), signal), 0);
  EXPECT_OK(hsc_task_call(setting, &worker, request, 20 * HSC_SECOND_NS, answer, &end));
  hsc_answer_deinit(&start);
  json_decref(request);
  hsc_lab_worker_destroy(worker);
  return end;
}

static void who_is_killed_is_asked_again(void **state) {
  hsc_task_setting setting = setting_of("", NULL);
  static const int signals[] = {SIGKILL, SIGTERM};
  for (size_t i = 0; i < HSC_COUNT_OF(signals); i++) {
    hsc_answer answer;
    assert_int_equal(killed(&setting, signals[i], &answer), HSC_TASK_DONE);
    assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
    hsc_answer_deinit(&answer);
  }
}

static void once_is_told(void **state) {
  hsc_task_setting setting = setting_of("", NULL);
  hsc_answer answer;
  setting.tries = 1;
  assert_int_equal(killed(&setting, SIGKILL, &answer), HSC_TASK_KILLED);
  assert_int_equal(answer.outcome, HSC_OUTCOME_ABORT);
  assert_int_equal(answer.exit.signal, SIGKILL);
  hsc_answer_deinit(&answer);
}

// What died with the user's own interrupt, or at the end of the time, is neither a result nor tried
// again.
static void the_end_cuts_off(void **state) {
  volatile int stop = 1;
  hsc_task_setting setting = setting_of("", &stop);
  hsc_answer answer;
  assert_int_equal(killed(&setting, SIGKILL, &answer), HSC_TASK_CUT_OFF);
  hsc_answer_deinit(&answer);
  setting = setting_of(",slow=Client_Compile:500", NULL);
  setting.deadline_ns = 1;
  assert_int_equal(hsc_task_limit(&setting, 20 * HSC_SECOND_NS), 1000000);
  assert_int_equal(killed(&setting, SIGKILL, &answer), HSC_TASK_CUT_OFF);
  hsc_answer_deinit(&answer);
}

// A crash of its own is the program's, however often.
static void a_crash_is_a_result(void **state) {
  hsc_task_setting setting = setting_of(",abort=Client_Compile", NULL);
  hsc_lab_worker *worker = NULL;
  hsc_answer answer;
  hsc_task_end end;
  json_t *request = json_pack("{s:s, s:s}", "job", "compile", "program", program);
  EXPECT_OK(hsc_task_call(&setting, &worker, request, 20 * HSC_SECOND_NS, &answer, &end));
  assert_int_equal(end, HSC_TASK_DONE);
  assert_int_equal(answer.outcome, HSC_OUTCOME_ABORT);
  assert_int_equal(hsc_lab_worker_start_count(worker), 1);
  hsc_answer_deinit(&answer);
  json_decref(request);
  hsc_lab_worker_destroy(worker);
}

static void rows_are_found_by_the_run_that_goes_on(void **state) {
  hsc_store *store = NULL;
  hsc_task_table table;
  hsc_task_table next;
  hsc_task_row row;
  json_t *answer = json_pack("{s:i}", "temp_bytes", 64);
  hsc_experiment experiment = {.kind = "ablate", .plan = "p1", .device = "cpu", .subject = "x"};
  hsc_task_target target = {0};
  EXPECT_OK(hsc_store_open(hsc_arena_printf(arena, "%s/tasks.sqlite", dir), &store));
  EXPECT_OK(hsc_task_table_begin(store, true, &experiment, &target, &table));
  assert_false(table.resumed);  // there is none to go on with
  EXPECT_OK(hsc_task_table_keep(&table, "structure/dce", "ok", NULL, answer));
  EXPECT_OK(hsc_task_table_keep(&table, "structure/cse", "timeout", "20 s", NULL));
  EXPECT_OK(hsc_task_table_end(&table, NULL, true, NULL));

  EXPECT_OK(hsc_task_table_begin(store, true, &experiment, &target, &next));
  assert_true(next.resumed);
  assert_int_equal(next.experiment, table.experiment);
  EXPECT_OK(hsc_task_table_find(&next, "structure/dce", &row));
  assert_int_equal(hsc_task_row_outcome(&row), HSC_OUTCOME_OK);
  assert_int_equal(json_integer_value(json_object_get(row.answer, "temp_bytes")), 64);
  hsc_task_row_deinit(&row);
  EXPECT_OK(hsc_task_table_find(&next, "structure/cse", &row));
  assert_int_equal(hsc_task_row_outcome(&row), HSC_OUTCOME_TIMEOUT);
  assert_string_equal(row.message, "20 s");
  hsc_task_row_deinit(&row);
  EXPECT_OK(hsc_task_table_find(&next, "structure/licm", &row));
  assert_null(row.state);
  EXPECT_OK(hsc_task_table_end(&next, NULL, false, answer));

  // what is done is not gone on with, and an error comes before what the store says
  EXPECT_OK(hsc_task_table_begin(store, true, &experiment, &target, &next));
  assert_false(next.resumed);
  EXPECT_OK(hsc_task_table_find(&next, "structure/dce", &row));
  assert_null(row.state);
  hsc_status *status = hsc_task_table_end(&next, HSC_ERR(INTERNAL, "first"), false, NULL);
  assert_string_equal(hsc_status_message(status), "first");
  hsc_status_free(status);

  // nowhere to keep anything
  EXPECT_OK(hsc_task_table_begin(NULL, true, &experiment, &target, &next));
  EXPECT_OK(hsc_task_table_keep(&next, "a", "ok", NULL, answer));
  EXPECT_OK(hsc_task_table_find(&next, "a", &row));
  assert_null(row.state);
  EXPECT_OK(hsc_task_table_end(&next, NULL, false, answer));
  json_decref(answer);
  hsc_store_close(store);
}

// Rows of other compile options, of another device or of other flags answer other questions.
static void other_targets_are_other_experiments(void **state) {
  hsc_store *store = NULL;
  hsc_task_table table;
  hsc_device_spec cpu;
  json_t *level = json_pack("{s:i}", "xla_backend_optimization_level", 0);
  hsc_experiment experiment = {.kind = "reduce", .plan = "p2", .device = "cpu", .subject = "x"};
  EXPECT_OK(hsc_device_spec_parse("cpu", arena, &cpu));
  const hsc_task_target targets[] = {
      {0}, {.overrides = level}, {.device = &cpu}, {.against = &cpu}};
  EXPECT_OK(hsc_store_open(hsc_arena_printf(arena, "%s/targets.sqlite", dir), &store));
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < HSC_COUNT_OF(targets); i++) {
      EXPECT_OK(hsc_task_table_begin(store, true, &experiment, &targets[i], &table));
      assert_int_equal(table.resumed, pass);
      EXPECT_OK(hsc_task_table_end(&table, NULL, true, NULL));
    }
  setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true", 1);
  EXPECT_OK(hsc_task_table_begin(store, true, &experiment, &targets[0], &table));
  assert_false(table.resumed);
  unsetenv("XLA_FLAGS");
  json_decref(level);
  hsc_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_is_killed_is_asked_again),
      cmocka_unit_test(once_is_told),
      cmocka_unit_test(the_end_cuts_off),
      cmocka_unit_test(a_crash_is_a_result),
      cmocka_unit_test(rows_are_found_by_the_run_that_goes_on),
      cmocka_unit_test(other_targets_are_other_experiments),
  };
  return cmocka_run_group_tests(tests, set_up, lab_case_tear_down);
}
