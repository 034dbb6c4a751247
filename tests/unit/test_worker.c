// test_worker.c - the worker and its client: jobs against the plugin that misbehaves as reported;
// every end of a worker has its words.
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/text.h"
#include "lab/devices/devices.h"
#include "worker/worker_client.h"
#include "lab_case.h"

#include <math.h>

static const char *source_root = ".";

static int set_up(void **state) {
  return lab_case_set_up("worker",
                         "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  y = f32[2,3] "
                         "parameter(1)\n  ROOT r = f32[4] add(x, x)\n}\n");
}

// A worker on the fake plugin, told what to do by its client option. It claims the built-in
// device's name, so that it gets HLO text.
static hsc_lab_worker *worker_on(const char *settings, bool with_cache) {
  hsc_device_spec spec;
  hsc_lab_worker *worker = NULL;
  EXPECT_OK(hsc_device_spec_parse(
      hsc_arena_printf(arena, "%s?fake=s:platform=hloscope,%s", fake, settings), arena, &spec));
  EXPECT_OK(hsc_lab_worker_create(
      &(hsc_lab_worker_options){
          .device = &spec, .executable = hloscope, .no_disk_cache = !with_cache},
      &worker));
  return worker;
}

static hsc_answer call(hsc_lab_worker *worker, double limit_s, const char *request_text) {
  json_error_t error;
  json_t *request = json_loads(request_text, 0, &error);
  if (!request)
    fail_msg("%s: %s", request_text, error.text);
  hsc_answer answer;
  EXPECT_OK(hsc_lab_worker_call(worker, request, (int64_t)(limit_s * 1e9), &answer));
  json_decref(request);
  return answer;
}

static const char *request_of(const char *job, const char *more) {
  return hsc_arena_printf(arena, "{\"job\":\"%s\",\"program\":\"%s\"%s}", job, program, more);
}

static const char *run_request(const char *more) {
  return request_of("run", more);
}

static double number_at(json_t *array, size_t index) {
  return json_number_value(json_array_get(array, index));
}

static void a_run_has_every_phase(void **state) {
  hsc_lab_worker *worker = worker_on("", false);
  hsc_answer answer =
      call(worker, 20,
           run_request(
               ",\"records\":3,\"series\":5,\"executions\":2,\"syncs\":2,\"cache\":[\"memory\"]"));
  assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
  assert_true(answer.started);
  json_t *records = json_object_get(answer.body, "records");
  assert_int_equal(json_array_size(records), 3);
  for (size_t i = 0; i < 3; i++) {
    static const char *const phases[] = {"lookup_ns", "disk_ns",        "load_ns",    "compile_ns",
                                         "setup_ns",  "transfer_in_ns", "enqueue_ns", "wait_ns"};
    json_t *record = json_array_get(records, i);
    long long sum = 0;
    for (size_t p = 0; p < HSC_COUNT_OF(phases); p++) {
      assert_true(json_is_integer(json_object_get(record, phases[p])));
      sum += json_integer_value(json_object_get(record, phases[p]));
    }
    assert_int_equal(json_integer_value(json_object_get(record, "total_ns")), sum);
    assert_string_equal(json_string_value(json_object_get(record, "compile")),
                        i ? "memory" : "miss");
    assert_int_equal(json_integer_value(json_object_get(record, "transfer_in_bytes")),
                     i ? 0 : 16 + 24);
    assert_true((json_integer_value(json_object_get(record, "compile_ns")) > 0) == (i == 0));
  }
  json_t *series = json_object_get(answer.body, "series");
  assert_int_equal(json_array_size(json_object_get(series, "run_ns")), 5);
  for (size_t i = 0; i < 5; i++)
    assert_true(number_at(json_object_get(series, "run_ns"), i) ==
                number_at(json_object_get(series, "enqueue_ns"), i) +
                    number_at(json_object_get(series, "wait_ns"), i));
  assert_int_equal(json_array_size(json_object_get(answer.body, "outputs")), 1);
  hsc_answer_deinit(&answer);

  // other inputs, the same program
  answer = call(worker, 20, run_request(",\"cache\":[\"memory\"],\"seed\":1"));
  assert_string_equal(json_string_value(json_object_get(
                          json_array_get(json_object_get(answer.body, "records"), 0), "compile")),
                      "memory");
  hsc_answer_deinit(&answer);
  answer = call(worker, 20, "{\"job\":\"reinit\"}");
  assert_true(json_integer_value(json_object_get(answer.body, "client_create_ns")) > 0);
  hsc_answer_deinit(&answer);
  answer = call(worker, 20, run_request(",\"cache\":[\"memory\"]"));
  assert_string_equal(json_string_value(json_object_get(
                          json_array_get(json_object_get(answer.body, "records"), 0), "compile")),
                      "miss");  // a new client holds nothing
  assert_int_equal(hsc_lab_worker_start_count(worker), 1);
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
}

static void outputs_depend_on_the_seed_alone(void **state) {
  static const char *const requests[] = {"", "", ",\"seed\":9", ",\"perturb\":1e-4",
                                         ",\"perturb\":1e-3"};
  char digests[HSC_COUNT_OF(requests)][40];
  for (size_t i = 0; i < HSC_COUNT_OF(requests); i++) {
    hsc_lab_worker *worker = worker_on("", false);
    hsc_answer answer = call(worker, 20, run_request(requests[i]));
    const char *digest = json_string_value(
        json_object_get(json_array_get(json_object_get(answer.body, "outputs"), 0), "digest"));
    assert_non_null(digest);
    snprintf(digests[i], sizeof digests[i], "%s", digest);
    hsc_answer_deinit(&answer);
    hsc_lab_worker_destroy(worker);
  }
  assert_string_equal(digests[0], digests[1]);
  assert_string_not_equal(digests[0], digests[2]);
  assert_string_not_equal(digests[0], digests[3]);
  assert_string_not_equal(digests[3], digests[4]);
}

static void model_and_cold_measure_what_they_are_told(void **state) {
  hsc_lab_worker *worker = worker_on("", false);
  hsc_answer answer = call(
      worker, 20,
      hsc_arena_printf(
          arena,
          "{\"job\":\"model\",\"program\":\"%s\",\"points\":[[1,1],[4,2],[3,3]],\"repeats\":4}",
          program));
  assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
  json_t *series = json_object_get(answer.body, "series");
  json_t *k = json_object_get(series, "executions_count");
  json_t *s = json_object_get(series, "syncs_count");
  int seen[5] = {0};
  assert_int_equal(json_array_size(k), 12);
  for (size_t i = 0; i < 12; i++) {
    int executions = (int)number_at(k, i);
    assert_in_range(executions, 1, 4);
    assert_int_equal(number_at(s, i), executions == 4 ? 2 : executions);
    seen[executions]++;
    assert_true(number_at(json_object_get(series, "time_ns"), i) > 0);
  }
  assert_true(seen[1] == 4 && seen[3] == 4 && seen[4] == 4);
  hsc_answer_deinit(&answer);

  answer = call(
      worker, 20,
      hsc_arena_printf(
          arena, "{\"job\":\"cold\",\"program\":\"%s\",\"count\":3,\"executions\":5,\"syncs\":5}",
          program));
  assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
  series = json_object_get(answer.body, "series");
  static const char *const parts[] = {"client_create_ns", "compile_ns",         "setup_ns",
                                      "transfer_in_ns",   "first_execution_ns", "rest_ns"};
  for (size_t i = 0; i < 3; i++) {
    double sum = 0;
    for (size_t p = 0; p < HSC_COUNT_OF(parts); p++)
      sum += number_at(json_object_get(series, parts[p]), i);
    assert_true(sum == number_at(json_object_get(series, "total_ns"), i));
  }
  hsc_answer_deinit(&answer);
  answer = call(worker, 20, "{\"job\":\"sync\",\"count\":17}");
  assert_int_equal(
      json_array_size(json_object_get(json_object_get(answer.body, "series"), "sync_ns")), 17);
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
}

static void bad_jobs_are_answered(void **state) {
  static const struct {
    const char *request, *words;
  } cases[] = {
      {"{\"job\":\"sing\"}", "unknown job 'sing'; did you mean 'sync'?"},
      {"{}", "no \"job\""},
      {"{\"job\":\"run\"}", "no \"program\""},
      {"{\"job\":\"run\",\"program\":\"/nowhere.hlo\"}", "/nowhere.hlo"},
      {"{\"job\":\"run\",\"program\":7}", "\"program\" is not a string"},
      {"{\"job\":\"sync\",\"count\":0}", "\"count\" is not a whole number from 1"},
      {"{\"job\":\"load\",\"plugin\":\"x.so\"}", "is loaded already"},
      {"{\"job\":\"model\",\"program\":\"P\",\"points\":[]}", "\"points\" must be"},
      {"{\"job\":\"run\",\"program\":\"P\",\"executions\":2,\"syncs\":3}",
       "\"syncs\" is not a whole number from 1 to 2"},
      {"{\"job\":\"run\",\"program\":\"P\",\"feed\":[[0,5]]}", "1 outputs and 2 inputs"},
      {"{\"job\":\"run\",\"program\":\"P\",\"transforms\":[\"vmapp:3\"]}", "did you mean 'vmap:'?"},
      {"{\"job\":\"run\",\"program\":\"P\",\"transforms\":[\"constant:7=1\"]}",
       "the program has 2 parameters"},
      {"{\"job\":\"run\",\"program\":\"P\",\"perturb\":-1}",
       "\"perturb\" is not a number from 0 to 1"},
      {"{\"job\":\"run\",\"program\":\"P\",\"cache\":[\"tape\"]}",
       "neither \"memory\" nor \"disk\""},
  };
  hsc_lab_worker *worker = worker_on("", false);
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_bytes request = {0};
    for (const char *at = cases[i].request; *at; at++) {
      if (hsc_starts_with(at, "\"P\"")) {
        hsc_bytes_printf(&request, "\"%s\"", program);
        at += 2;
      } else {
        hsc_bytes_append_char(&request, *at);
      }
    }
    hsc_answer answer = call(worker, 20, hsc_bytes_text(&request));
    assert_int_equal(answer.outcome, HSC_OUTCOME_ERROR);
    if (!strstr(hsc_status_message(answer.status), cases[i].words))
      fail_msg("%s: %s", cases[i].request, hsc_status_message(answer.status));
    hsc_answer_deinit(&answer);
    hsc_bytes_deinit(&request);
  }
  assert_int_equal(hsc_lab_worker_start_count(worker), 1);  // none of it hurt the worker
  hsc_lab_worker_destroy(worker);
}

static void a_malformed_program_points_at_its_line(void **state) {
  char bad[160];
  static const char text[] =
      "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] ad(x, x)\n}\n";
  snprintf(bad, sizeof bad, "%s/bad.hlo", dir);
  EXPECT_OK(hsc_file_write_atomic(bad, text, sizeof text - 1));
  hsc_lab_worker *worker = worker_on("", false);
  hsc_answer answer =
      call(worker, 20, hsc_arena_printf(arena, "{\"job\":\"run\",\"program\":\"%s\"}", bad));
  assert_int_equal(answer.outcome, HSC_OUTCOME_ERROR);
  assert_string_equal(hsc_status_path(answer.status), bad);
  assert_int_equal(hsc_status_line(answer.status), 4);
  assert_true(hsc_status_column(answer.status) > 0);
  assert_non_null(strstr(hsc_status_notes(answer.status), "reading the program"));
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
}

static void deaths_have_their_words(void **state) {
  static const struct {
    const char *settings;
    hsc_outcome outcome;
    hsc_code code;
    const char *words;
  } cases[] = {
      {"abort=Client_Compile", HSC_OUTCOME_ABORT, HSC_ABORTED, "signal 6"},
      {"segv=LoadedExecutable_Execute", HSC_OUTCOME_ABORT, HSC_ABORTED, "signal 11"},
      {"exit=Client_Compile:3", HSC_OUTCOME_ABORT, HSC_ABORTED, "exit code 3"},
      {"hang=Client_Compile", HSC_OUTCOME_TIMEOUT, HSC_DEADLINE_EXCEEDED, "no answer within"},
      {"fail=Client_Compile:8:no room", HSC_OUTCOME_OUT_OF_MEMORY, HSC_RESOURCE_EXHAUSTED,
       "no room"},
      {"fail=Client_Compile:12:not here", HSC_OUTCOME_UNSUPPORTED, HSC_UNIMPLEMENTED, "not here"},
      {"fail=LoadedExecutable_Execute:13:wrong", HSC_OUTCOME_ERROR, HSC_INTERNAL, "wrong"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_lab_worker *worker = worker_on(cases[i].settings, false);
    hsc_answer answer = call(worker, 1.5, run_request(""));
    if (answer.outcome != cases[i].outcome)
      fail_msg("%s: %s: %s", cases[i].settings, hsc_outcome_text(answer.outcome),
               hsc_status_message(answer.status));
    assert_int_equal(hsc_status_code(answer.status), cases[i].code);
    if (!strstr(hsc_status_message(answer.status), cases[i].words))
      fail_msg("%s: %s", cases[i].settings, hsc_status_message(answer.status));
    hsc_answer_deinit(&answer);
    // The next job gets a new process, where the old one died.
    answer = call(worker, 20, "{\"job\":\"sync\"}");
    assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
    bool died = cases[i].outcome == HSC_OUTCOME_ABORT || cases[i].outcome == HSC_OUTCOME_TIMEOUT;
    assert_int_equal(hsc_lab_worker_start_count(worker), died ? 2 : 1);
    assert_int_equal(answer.started, died);
    hsc_answer_deinit(&answer);
    hsc_lab_worker_destroy(worker);
  }
}

// XLA's compilers jump to where a Python function was in another process.
static void a_death_of_a_callback_says_so(void **state) {
  static const char text[] =
      "HloModule p\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] custom-call(x), "
      "custom_call_target=\"%s\"\n}\n";
  static const char *const targets[] = {"xla_ffi_python_cpu_callback", "my_kernel"};
  for (size_t i = 0; i < HSC_COUNT_OF(targets); i++) {
    const char *path = hsc_arena_printf(arena, "%s/calls_%zu.hlo", dir, i);
    char room[256];
    snprintf(room, sizeof room, text, targets[i]);
    EXPECT_OK(hsc_file_write_atomic(path, room, strlen(room)));
    hsc_lab_worker *worker = worker_on("segv=LoadedExecutable_Execute", false);
    hsc_answer answer =
        call(worker, 20, hsc_arena_printf(arena, "{\"job\":\"run\",\"program\":\"%s\"}", path));
    assert_int_equal(answer.outcome, HSC_OUTCOME_ABORT);
    const char *hint = hsc_status_hint_text(answer.status);
    assert_int_equal(hint && strstr(hint, "a Python function of the process"), i == 0);
    hsc_answer_deinit(&answer);
    hsc_lab_worker_destroy(worker);
  }
}

static void a_killed_worker_is_replaced(void **state) {
  hsc_lab_worker *worker = worker_on("", false);
  hsc_answer answer = call(worker, 20, "{\"job\":\"sync\"}");
  hsc_answer_deinit(&answer);
  kill(hsc_lab_worker_pid(worker), SIGKILL);
  answer = call(worker, 20, "{\"job\":\"sync\"}");
  assert_int_equal(answer.outcome, HSC_OUTCOME_ABORT);
  assert_int_equal(answer.exit.signal, SIGKILL);
  assert_non_null(strstr(hsc_status_message(answer.status), "signal 9"));
  hsc_answer_deinit(&answer);
  answer = call(worker, 20, "{\"job\":\"sync\"}");
  assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
}

// What stands in for the program that a worker is: a shell script.
static hsc_lab_worker *worker_of_script(const char *name, const char *script) {
  hsc_device_spec spec;
  hsc_lab_worker *worker = NULL;
  char *path = hsc_arena_printf(arena, "%s/%s", dir, name);
  char *text = hsc_arena_printf(arena, "#!/bin/sh\n%s\n", script);
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
  assert_int_equal(chmod(path, 0700), 0);
  EXPECT_OK(hsc_device_spec_parse(fake, arena, &spec));
  EXPECT_OK(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = &spec, .executable = path, .no_disk_cache = true},
      &worker));
  return worker;
}

// A worker that ends without a word: an answer all the same, with how it ended and what it said
// elsewhere, and again for the next job.
static void a_child_without_output_is_an_answer(void **state) {
  static const struct {
    const char *name, *script;
    hsc_outcome outcome;
    const char *words, *last_words;
  } cases[] = {
      {"ends", "exit 0", HSC_OUTCOME_ABORT, "exit code 0", ""},
      {"fails", "exit 5", HSC_OUTCOME_ABORT, "exit code 5", ""},
      {"complains", "echo no such library >&2; exit 127", HSC_OUTCOME_ABORT, "exit code 127",
       "no such library"},
      {"killed", "kill -9 $$", HSC_OUTCOME_ABORT, "signal 9", ""},
      {"half a line", "printf '{\"outcome\":' >&3; exit 0", HSC_OUTCOME_ABORT, "exit code 0", ""},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_lab_worker *worker = worker_of_script(cases[i].name, cases[i].script);
    for (int job = 0; job < 2; job++) {
      hsc_answer answer = call(worker, 0.3, "{\"job\":\"sync\"}");
      if (answer.outcome != cases[i].outcome)
        fail_msg("%s: %s: %s", cases[i].name, hsc_outcome_text(answer.outcome),
                 hsc_status_message(answer.status));
      if (!strstr(hsc_status_message(answer.status), cases[i].words))
        fail_msg("%s: %s", cases[i].name, hsc_status_message(answer.status));
      if (*cases[i].last_words &&
          (!answer.last_words || !strstr(answer.last_words, cases[i].last_words)))
        fail_msg("%s: %s", cases[i].name, answer.last_words ? answer.last_words : "(no words)");
      assert_null(answer.body);
      hsc_answer_deinit(&answer);
    }
    assert_int_equal(hsc_lab_worker_start_count(worker), 2);
    hsc_lab_worker_destroy(worker);
  }
}

static void a_device_that_does_not_start_says_why(void **state) {
  hsc_lab_worker *worker = worker_on("fail=Client_Create:14:no such card", false);
  hsc_answer answer = call(worker, 20, "{\"job\":\"sync\"}");
  assert_int_equal(answer.outcome, HSC_OUTCOME_ERROR);
  assert_non_null(strstr(hsc_status_message(answer.status), "no such card"));
  assert_non_null(strstr(hsc_status_notes(answer.status), "creating the client"));
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
}

static void noise_on_stdout_is_no_answer(void **state) {
  hsc_lab_worker *worker =
      worker_on("stdout=Client_Compile,stderr=LoadedExecutable_Execute", false);
  hsc_answer answer = call(worker, 20, run_request(""));
  assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
}

static void expect_record(const hsc_answer_layout *layout, const json_t *object, const char *what) {
  const char *wrong = hsc_answer_mismatch(layout, object);
  if (!json_is_object(object) || wrong)
    fail_msg("%s: %s is not as answers.def says", what, wrong ? wrong : "the object");
}

// What describe and compile answer: the record among other members.
static void expect_code(const json_t *body, const char *what) {
  json_t *code = hsc_answer_members(&hsc_answer_code_layout, body);
  expect_record(&hsc_answer_code_layout, code, what);
  expect_record(&hsc_answer_memory_layout, json_object_get(body, "memory"), what);
  json_decref(code);
}

static void answers_are_as_their_rows_say(void **state) {
  hsc_lab_worker *worker = worker_on("", false);
  hsc_answer answer = call(worker, 20, run_request(",\"records\":2,\"cache\":[\"memory\"]"));
  assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
  json_t *row;
  size_t i;
  assert_int_equal(json_array_size(json_object_get(answer.body, "records")), 2);
  json_array_foreach (json_object_get(answer.body, "records"), i, row)
    expect_record(&hsc_answer_record_layout, row, "records");
  assert_true(json_array_size(json_object_get(answer.body, "outputs")) > 0);
  json_array_foreach (json_object_get(answer.body, "outputs"), i, row)
    expect_record(&hsc_answer_output_layout, row, "outputs");
  expect_record(&hsc_answer_reading_layout, json_object_get(answer.body, "program"), "program");
  hsc_answer_record last;
  hsc_answer_read(&hsc_answer_record_layout, hsc_answer_run_record(answer.body, -1), &last);
  assert_string_equal(last.compile, "memory");
  assert_true(hsc_answer_execute_ns(answer.body, -1) == (double)(last.enqueue_ns + last.wait_ns));
  assert_true(isnan(hsc_answer_execute_ns(answer.body, 2)));
  hsc_answer_deinit(&answer);
  hsc_answer_read(&hsc_answer_record_layout, NULL, &last);
  assert_true(last.total_ns == -1 && !last.compile);
  static const char *const compiles[] = {"describe", "compile"};
  for (size_t k = 0; k < HSC_COUNT_OF(compiles); k++) {
    answer = call(worker, 20, request_of(compiles[k], ""));
    assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
    expect_code(answer.body, compiles[k]);
    hsc_answer_deinit(&answer);
  }
  answer = call(worker, 20, request_of("work", ""));
  assert_int_equal(answer.outcome, HSC_OUTCOME_OK);
  json_t *work = hsc_answer_members(&hsc_answer_work_layout, answer.body);
  expect_record(&hsc_answer_work_layout, work, "work");
  json_decref(work);
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
}

static void the_page_lists_every_job(void **state) {
  char path[4096];
  hsc_bytes page = {0};
  snprintf(path, sizeof path, "%s/docs/formats/worker.md", source_root);
  EXPECT_OK(hsc_file_read(path, &page));
#define JOB(name, function, doc) \
  if (!strstr(hsc_bytes_text(&page), "| `" name "` | " doc " |")) \
    fail_msg("docs/formats/worker.md: no row for %s", name);
#include "worker/worker_jobs.def"
#undef JOB
  hsc_bytes_deinit(&page);
}

int main(int argc, char **argv) {
  if (argc > 1)
    source_root = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_has_every_phase),
      cmocka_unit_test(outputs_depend_on_the_seed_alone),
      cmocka_unit_test(model_and_cold_measure_what_they_are_told),
      cmocka_unit_test(bad_jobs_are_answered),
      cmocka_unit_test(a_malformed_program_points_at_its_line),
      cmocka_unit_test(deaths_have_their_words),
      cmocka_unit_test(a_death_of_a_callback_says_so),
      cmocka_unit_test(a_killed_worker_is_replaced),
      cmocka_unit_test(a_child_without_output_is_an_answer),
      cmocka_unit_test(a_device_that_does_not_start_says_why),
      cmocka_unit_test(noise_on_stdout_is_no_answer),
      cmocka_unit_test(answers_are_as_their_rows_say),
      cmocka_unit_test(the_page_lists_every_job),
  };
  return cmocka_run_group_tests(tests, set_up, lab_case_tear_down);
}
