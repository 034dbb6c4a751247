// test_ablate.c - the ablation on a compiler whose passes do, when they are off, what their names
// say; and the readers of what compilers leave.
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "lab/ablate/ablate_internal.h"
#include "lab/passes/passes_list_internal.h"
#include "lab/run/rounding.h"
#include "formats/common/formats.h"
#include "lab/run/json_tree.h"
#include "lab/passes/passes_time.h"
#include "lab/passes/validate.h"
#include "lab/devices/devices.h"
#include "lab_case.h"

static int set_up(void **state) {
  if (lab_case_set_up(
          "ablate",
          "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] add(x, x)\n}\n"))
    return -1;
  strcat(fake, "?fake=passes=1");
  return setenv("HLOSCOPE_FAKE", "passes=1", 1);
}

static hsc_ablate_options usual(hsc_store *store, hsc_device_spec *device) {
  EXPECT_OK(hsc_device_spec_parse(fake, arena, device));
  return (hsc_ablate_options){.program = program,
                              .device = device,
                              .placebo_count = 3,
                              .jobs = 2,
                              .timing = true,
                              .process_count = 3,
                              .block_count = 4,
                              .budget_s = 60,
                              .margin = 0.01,
                              .limit_ns = 3 * HSC_SECOND_NS,
                              .executable = hloscope,
                              .store = store};
}

static json_t *variant(json_t *result, const char *list, const char *name) {
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(result, list), i, row)
    if (!strcmp(json_string_value(json_object_get(row, "pass")), name))
      return row;
  fail_msg("no %s in %s", name, list);
  return NULL;
}

static const char *text_of(json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text ? text : "";
}

static hsc_store *open_store(const char *name) {
  hsc_store *store = NULL;
  EXPECT_OK(hsc_store_open(hsc_arena_printf(arena, "%s/%s.sqlite", dir, name), &store));
  return store;
}

// Nothing is given: a pilot chooses, and the result says what.
static void test_a_pilot_chooses(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("pilot");
  hsc_ablate_options o = usual(store, &device);
  static const char *const names[] = {"slow-pass"};
  o.process_count = o.block_count = 0;
  o.half_width = 0.5;
  o.names = names;
  o.name_count = 1;
  json_t *r = NULL;
  EXPECT_OK(hsc_ablate(&o, &r));
  json_t *timing = json_object_get(r, "timing");
  json_t *sampling = json_object_get(timing, "sampling");
  json_t *pilot = json_object_get(sampling, "pilot");
  assert_true(json_is_object(pilot));
  assert_int_equal(json_integer_value(hsc_json_path(pilot, "made", "process", NULL)), 2);
  assert_int_equal(json_integer_value(hsc_json_path(pilot, "made", "iteration", NULL)), 4);
  assert_true(json_integer_value(hsc_json_path(pilot, "chose", "process", NULL)) >= 3);
  assert_int_equal(json_integer_value(hsc_json_path(pilot, "chose", "block", NULL)),
                   json_integer_value(json_object_get(timing, "blocks")));
  assert_int_equal(json_integer_value(hsc_json_path(pilot, "chose", "iteration", NULL)),
                   json_integer_value(json_object_get(timing, "iterations")));
  assert_true(json_number_value(hsc_json_path(pilot, "cost_seconds", "process", NULL)) > 0);
  assert_true(json_number_value(json_object_get(timing, "margin")) >= 0.01);
  assert_non_null(strstr(text_of(sampling, "text"), "chosen by a pilot of 2 x 3 x 4"));
  json_decref(r);
  hsc_store_close(store);
}

// Every outcome, each for its reason.
static void test_every_outcome(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("outcomes");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_string_equal(text_of(variant(r, "variants", "same-pass"), "outcome"), "same");
  assert_string_equal(text_of(variant(r, "variants", "same-pass"), "same_as"), "baseline");
  assert_string_equal(text_of(variant(r, "variants", "twin-pass-b"), "same_as"), "twin-pass-a");
  assert_string_equal(text_of(variant(r, "variants", "numbers-pass"), "outcome"), "numbers");
  assert_string_equal(json_string_value(hsc_json_path(variant(r, "variants", "last-bit-pass"),
                                                      "numbers", "verdict", NULL)),
                      "close");
  assert_true(json_integer_value(hsc_json_path(variant(r, "variants", "last-bit-pass"), "numbers",
                                               "max_ulp", NULL)) > 0);
  json_t *error = variant(r, "variants", "error-pass");
  json_t *died = variant(r, "variants", "abort-pass");
  json_t *hung = variant(r, "variants", "hang-pass");
  json_t *later = variant(r, "variants", "run-abort-pass");
  assert_string_equal(text_of(error, "outcome"), "error");
  assert_string_equal(text_of(error, "where"), "emitter.cc:1571");
  assert_non_null(text_of(error, "code"));
  assert_true(json_is_null(json_object_get(variant(r, "variants", "same-pass"), "code")));
  assert_string_equal(text_of(died, "outcome"), "abort");
  assert_string_equal(text_of(died, "where"), "fake_rewriter.cc:94");
  assert_non_null(strstr(text_of(died, "message"), "Check failed: rank == 2"));
  assert_string_equal(text_of(hung, "outcome"), "timeout");
  assert_string_equal(text_of(later, "outcome"), "abort");  // compiled, but died when it ran
  assert_string_equal(text_of(later, "where"), "fake_thunk.cc:7");
  // Three times as long, and a quarter: a busy machine may not tell them apart, but never has them
  // the wrong way round.
  assert_true(strcmp(text_of(variant(r, "variants", "slow-pass"), "outcome"), "faster") != 0);
  assert_true(strcmp(text_of(variant(r, "variants", "fast-pass"), "outcome"), "slower") != 0);
  double slow = hsc_json_number(
      hsc_json_path(variant(r, "variants", "slow-pass"), "total_time", "ratio", NULL));
  double fast = hsc_json_number(
      hsc_json_path(variant(r, "variants", "fast-pass"), "total_time", "ratio", NULL));
  assert_true(slow > fast);
  for (int i = 1; i <= 3; i++) {
    json_t *placebo = variant(r, "placebos", hsc_arena_printf(arena, "hloscope-placebo-%d", i));
    assert_string_equal(text_of(placebo, "same_as"), "baseline");
    assert_false(json_is_null(json_object_get(placebo, "total_time")));
    assert_true(json_is_null(json_object_get(placebo, "highlight")));
  }
  assert_int_equal(json_integer_value(hsc_json_path(r, "totals", "variants", NULL)), 11);
  json_decref(r);
  hsc_store_close(store);
}

// Numbers that differ from the baseline's are a pass's fault only where the baseline is right. The
// fake device computes x + 1, and x + 1.5 without numbers-pass.
static void test_who_is_right_is_said(void **state) {
  static const char *const names[] = {"numbers-pass", "same-pass"};
  static const struct {
    const char *name, *text, *right, *outcome, *same, *verdict;
  } cases[] = {
      {"right", "constant(1)", "baseline", "numbers", "both", "different"},
      {"wrong", "constant(0)", "neither", "numbers", "neither", "different"},
      {"repaired", "constant(1.5)", "variant", "different", "neither", "different"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_device_spec device;
    hsc_store *store = open_store(cases[i].name);
    hsc_ablate_options o = usual(store, &device);
    json_t *r = NULL;
    const char *text = hsc_arena_printf(
        arena,
        "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  one = f32[] %s\n  o = f32[4] "
        "broadcast(one), dimensions={}\n  ROOT r = f32[4] add(x, o)\n}\n",
        cases[i].text);
    o.program = hsc_arena_printf(arena, "%s/%s.hlo", dir, cases[i].name);
    EXPECT_OK(hsc_file_write_atomic(o.program, text, strlen(text)));
    o.names = names;
    o.name_count = 2;
    o.process_count = 2;
    o.block_count = 2;
    EXPECT_OK(hsc_ablate(&o, &r));
    json_t *pass = variant(r, "variants", "numbers-pass");
    json_t *numbers = json_object_get(r, "numbers");
    assert_string_equal(text_of(pass, "right"), cases[i].right);
    assert_string_equal(text_of(pass, "outcome"), cases[i].outcome);
    assert_string_equal(text_of(variant(r, "variants", "same-pass"), "right"), cases[i].same);
    assert_string_equal(text_of(numbers, "verdict"), cases[i].verdict);
    assert_string_equal(text_of(numbers, "against"), "reference");
    assert_int_equal(json_integer_value(hsc_json_path(numbers, "coverage", "programs", NULL)), 2);
    json_decref(r);
    hsc_store_close(store);
  }
}

// A program that dies when it runs has no numbers: what is said of the others stops there.
static void test_what_did_not_run_is_not_called_right(void **state) {
  static const char *const names[] = {"same-pass", "run-abort-pass"};
  hsc_device_spec device;
  hsc_store *store = open_store("partly");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  const char *text =
      "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  one = f32[] constant(1)\n  o = "
      "f32[4] broadcast(one), dimensions={}\n  ROOT r = f32[4] add(x, o)\n}\n";
  o.program = hsc_arena_printf(arena, "%s/partly.hlo", dir);
  EXPECT_OK(hsc_file_write_atomic(o.program, text, strlen(text)));
  o.names = names;
  o.name_count = 2;
  o.process_count = 2;
  o.block_count = 2;
  EXPECT_OK(hsc_ablate(&o, &r));
  json_t *numbers = json_object_get(r, "numbers");
  json_t *coverage = json_object_get(numbers, "coverage");
  json_t *gap = json_array_get(json_object_get(coverage, "not_compared"), 0);
  assert_string_equal(text_of(numbers, "verdict"), "partly");
  assert_non_null(strstr(text_of(numbers, "headline"), "as far as compared: 1 of 2 programs"));
  assert_int_equal(json_integer_value(json_object_get(coverage, "compared")), 1);
  assert_int_equal(json_integer_value(json_object_get(coverage, "programs")), 2);
  assert_string_equal(text_of(gap, "pass"), "run-abort-pass");
  assert_true(json_is_null(json_object_get(variant(r, "variants", "run-abort-pass"), "right")));
  json_decref(r);
  hsc_store_close(store);
}

static void keep_waiting(void *user, const char *phase, const char *variant, double seconds) {
  // on a busy machine others may be waited for, too
  if (strstr(variant, "hang-pass"))
    snprintf(user, 64, "%s %s", phase, variant);
  assert_true(seconds >= 0.5);
}

// The budget bounds the whole command, the compiles too: one that hangs is cut off, is no timeout
// of its pass, and is done by --resume, whose totals count both legs.
static void test_the_time_budget_ends_the_command(void **state) {
  static const char *const names[] = {"hang-pass", "slow-pass"};
  hsc_device_spec device;
  hsc_store *store = open_store("budget");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  o.names = names;
  o.name_count = 2;
  o.jobs = 1;
  o.limit_ns = 100 * HSC_SECOND_NS;
  int64_t start_ns = hsc_now_ns();
  o.deadline_ns = start_ns + 2 * HSC_SECOND_NS;
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_true(hsc_now_ns() - start_ns < 20 * HSC_SECOND_NS);
  assert_string_equal(text_of(r, "status"), "interrupted");
  assert_string_equal(text_of(r, "ended_by"), "the time budget");
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(r, "variants"), i, row)
    assert_string_not_equal(text_of(row, "pass"), "hang-pass");
  double first_s = hsc_json_number(hsc_json_path(r, "totals", "wall_seconds", NULL));
  assert_true(first_s > 1);
  json_decref(r);
  o.resume = true;
  o.deadline_ns = 0;
  o.limit_ns = 3 * HSC_SECOND_NS;
  o.waiting_ns = HSC_SECOND_NS / 2;
  char waited[64] = "";
  o.waiting = keep_waiting;
  o.user = waited;
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_string_equal(text_of(variant(r, "variants", "hang-pass"), "outcome"), "timeout");
  assert_true(hsc_json_number(hsc_json_path(r, "totals", "wall_seconds", NULL)) > first_s + 3);
  assert_string_equal(waited, "compiling hang-pass");
  json_decref(r);
  hsc_store_close(store);
}

// Where a process died, by what it said: the check, never the handler of the signal.
static void test_the_place_is_that_of_the_check(void **state) {
  static const struct {
    const char *text, *where;
  } cases[] = {
      {"Check failed: rank == 2 (fake_rewriter.cc:94)", "fake_rewriter.cc:94"},
      {"E1121 13:27:08.371022 26332 process_state.cc:796] RAW: Raising signal 6", NULL},
      {"process_state.cc:796] RAW: Raising signal 6: shape_util.cc:12: no layout",
       "shape_util.cc:12"},
      {"ended by signal 6", NULL},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    char *where = hsc__ablate_where(cases[i].text);
    if (cases[i].where)
      assert_string_equal(where, cases[i].where);
    else
      assert_null(where);
    hsc_free(where);
  }
}

static void test_unknown_names_are_refused(void **state) {
  static const char *const names[] = {"slow-pas"};
  hsc_device_spec device;
  hsc_store *store = open_store("names");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  o.names = names;
  o.name_count = 1;
  hsc_status *status = hsc_ablate(&o, &r);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_non_null(strstr(hsc_status_hint_text(status), "'slow-pass'"));
  hsc_status_free(status);
  o.name_count = 0;
  o.pattern = "^no such$";
  EXPECT_CODE(INVALID_ARGUMENT, hsc_ablate(&o, &r));
  o.pattern = "(";
  EXPECT_CODE(INVALID_ARGUMENT, hsc_ablate(&o, &r));
  o.pattern = NULL;
  o.pipeline = "fake-pipelin";
  EXPECT_CODE(INVALID_ARGUMENT, hsc_ablate(&o, &r));
  hsc_store_close(store);
}

typedef struct watch {
  volatile int stop;
  int begun, stop_after;
} watch;
static void on_progress(void *user, int64_t done, int64_t total, double left, const char *text) {
  watch *w = user;
  if (!strcmp(text, "compiling"))
    w->begun++;
  if (w->stop_after && w->begun >= w->stop_after)
    w->stop = 1;
}

// A sweep that was stopped goes on: what was compiled is not compiled again.
static void test_resume(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("resume");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  watch w = {.stop_after = 5};
  o.timing = false;
  o.jobs = 1;
  o.resume = true;
  o.progress = on_progress;
  o.user = &w;
  o.stop = &w.stop;
  o.pattern = "same|twin|slow|error";
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_string_equal(text_of(r, "status"), "interrupted");
  long long experiment = json_integer_value(json_object_get(r, "experiment"));
  json_decref(r);
  json_t *tasks = NULL;
  EXPECT_OK(hsc_store_tasks(store, experiment, &tasks));
  size_t before = json_array_size(tasks);
  json_decref(tasks);
  // With more passes than before: a compile stands for itself.
  w = (watch){0};
  o.pattern = "same|twin|slow|error|abort";
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_string_equal(text_of(r, "status"), "done");
  assert_int_equal(json_integer_value(json_object_get(r, "experiment")), experiment);
  assert_string_equal(text_of(variant(r, "variants", "error-pass"), "where"), "emitter.cc:1571");
  json_decref(r);
  EXPECT_OK(hsc_store_tasks(store, experiment, &tasks));
  assert_true(before > 1 && before < json_array_size(tasks));
  // the list, the baseline, placebos, passes, the time of the legs
  assert_int_equal(json_array_size(tasks), 1 + 1 + 3 + 7 + 1);
  json_decref(tasks);
  hsc_store_close(store);
}

static volatile int stop_soon;
static void on_alarm(int signal_number) {
  stop_soon = 1;
}

// An interrupt does not wait for a compile that hangs: the worker is killed, and what is known is
// told.
static void test_an_interrupt_ends_a_compile(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("interrupt");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  o.timing = false;
  o.jobs = 1;
  o.limit_ns = 600 * HSC_SECOND_NS;
  o.stop = &stop_soon;
  o.pattern = "hang|same";
  stop_soon = 0;
  signal(SIGALRM, on_alarm);
  alarm(3);
  int64_t start = hsc_now_ns();
  EXPECT_OK(hsc_ablate(&o, &r));
  assert_true(hsc_now_ns() - start < 300 * HSC_SECOND_NS);
  assert_string_equal(text_of(r, "status"), "interrupted");
  json_decref(r);
  hsc_store_close(store);
}

static void test_pairs(void **state) {
  hsc_device_spec device;
  hsc_store *store = open_store("pairs");
  hsc_ablate_options o = usual(store, &device);
  json_t *r = NULL;
  o.timing = false;
  o.pairs = true;
  o.pair_most = 3;
  o.pattern = "slow|fast|twin-pass-a";
  EXPECT_OK(hsc_ablate(&o, &r));
  json_t *pairs = json_object_get(r, "pairs");
  json_t *first = json_array_get(pairs, 0);
  assert_int_equal(json_array_size(pairs), 3);
  assert_int_equal(json_array_size(json_object_get(first, "passes")), 2);
  assert_true(json_is_number(hsc_json_path(first, "interaction", "instructions", NULL)));
  json_decref(r);
  hsc_store_close(store);
}

// ---- validate -----------------------------------------------------------------------------------

static json_t *stage_of(json_t *stages, const char *pass) {
  json_t *row;
  size_t i;
  json_array_foreach (stages, i, row)
    if (!strcmp(json_string_value(json_object_get(row, "pass")), pass))
      return row;
  fail_msg("no stage %s", pass);
  return NULL;
}

// The validation of `path` on the compiler whose stages are fake_plugin.c's; a new reference.
static json_t *validated(const char *path) {
  hsc_device_spec device, runner;
  json_t *r = NULL;
  EXPECT_OK(hsc_device_spec_parse(fake, arena, &device));
  EXPECT_OK(hsc_device_spec_parse("reference", arena, &runner));
  hsc_validate_options o = {.program = path,
                            .device = &device,
                            .runner = &runner,
                            .tolerance = 1,
                            .limit_ns = 20 * HSC_SECOND_NS,
                            .executable = hloscope};
  EXPECT_OK(hsc_validate(&o, &r));
  return r;
}

static const char *program_file(const char *name, const char *text) {
  const char *path = hsc_arena_printf(arena, "%s/%s.hlo", dir, name);
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
  return path;
}

static void test_the_pass_that_changes_numbers_is_named(void **state) {
  // what the compiler holds before its first pass, in other words
  json_t *r = validated(program_file(
      "doubled",
      "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  d = f32[4] multiply(x, x)\n"
      "  e = f32[4] add(d, d)\n  ROOT r = f32[4] negate(e)\n}\n"));
  json_t *stages = json_object_get(r, "stages");
  json_t *first = json_object_get(r, "first");
  json_t *coverage = json_object_get(r, "coverage");
  assert_string_equal(text_of(r, "verdict"), "different");
  // the gemm was lowered
  json_t *slow = stage_of(stages, "slow-pass");
  assert_string_equal(text_of(slow, "verdict"), "equal");
  assert_int_equal(json_integer_value(json_object_get(slow, "lowered")), 1);
  assert_string_equal(text_of(first, "pass"), "numbers-pass");
  // the constant that became 2.5
  assert_string_equal(text_of(json_object_get(first, "instruction"), "name"), "two");
  assert_non_null(strstr(text_of(stage_of(stages, "last-bit-pass"), "skipped"), "__vendor$secret"));
  // four passes after the last dump say that they changed the program and leave no HLO: they are
  // not compared, and said so
  assert_non_null(strstr(text_of(stage_of(stages, "hang-pass"), "skipped"), "no HLO was dumped"));
  assert_int_equal(json_array_size(stages), 10);
  assert_int_equal(json_integer_value(json_object_get(coverage, "stages")), 10);
  assert_int_equal(json_integer_value(json_object_get(coverage, "compared")), 5);
  assert_string_equal(text_of(stage_of(stages, "input"), "verdict"), "equal");
  assert_string_equal(text_of(r, "against"), "program");
  assert_int_equal(json_array_size(json_object_get(coverage, "not_compared")), 5);
  assert_string_equal(text_of(coverage, "final_executable"), "different");
  json_decref(r);
}

static void test_a_fault_of_the_front_end_is_one(void **state) {
  // x + x, of which the fake compiler makes -(x x 2) before its first pass
  json_t *r = validated(program);
  json_t *first = json_object_get(r, "first");
  json_t *stages = json_object_get(r, "stages");
  assert_string_equal(text_of(r, "verdict"), "different");
  assert_string_equal(text_of(stage_of(stages, "program"), "verdict"), "equal");
  assert_string_equal(text_of(stage_of(stages, "input"), "verdict"), "different");
  assert_string_equal(text_of(first, "pipeline"), "front end");
  assert_true(json_is_null(json_object_get(first, "run")));
  assert_true(json_is_true(json_object_get(first, "front_end")));
  json_decref(r);
  // a program that we cannot run ourselves: the stages are held against the first, and it is a gap
  r = validated(program_file("unread",
                             "HloModule p\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT r = "
                             "f32[4] custom-call(x), custom_call_target=\"vendor$own\"\n}\n"));
  stages = json_object_get(r, "stages");
  assert_string_equal(text_of(r, "against"), "input");
  assert_non_null(strstr(text_of(stage_of(stages, "program"), "skipped"), "vendor$own"));
  assert_string_equal(text_of(stage_of(stages, "slow-pass"), "verdict"), "equal");
  json_decref(r);
}

// ---- readers ------------------------------------------------------------------------------------

static void test_metadata_nests(void **state) {
  static const char text[] =
      "module_group_name: \"x\"\n"
      "pass_metadata { pass_name: \"pipeline-start\" pipeline_name: \"outer\" }\n"
      "pass_metadata { pass_name: \"a\" pipeline_name: \"outer\" module_changed: true "
      "start_timestamp_usec: 5 end_timestamp_usec: 8 dump_filenames: [\"f\", \"g\"] }\n"
      "pass_metadata { pass_name: \"inner\" pipeline_name: \"outer\" start_timestamp_usec: 10 "
      "end_timestamp_usec: 30 }\n"
      "pass_metadata { pass_name: \"pipeline-start\" pipeline_name: \"inner\" }\n"
      "pass_metadata { pass_name: \"b\" pipeline_name: \"inner\" start_timestamp_usec: 10 "
      "end_timestamp_usec: 20 custom_metadata { type_url: \"}\" } }\n"
      "pass_metadata { pass_name: \"pipeline-start\" pipeline_name: \"inner\" }  # a fixed point's "
      "second round\n"
      "pass_metadata { pass_name: \"b\" pipeline_name: \"inner\" start_timestamp_usec: 20 "
      "end_timestamp_usec: 30 }\n"
      "pass_metadata { pass_name: \"c\" pipeline_name: \"outer\" start_timestamp_usec: 30 "
      "end_timestamp_usec: 31 kv_metrics { key: \"duration_ns\" value: 900 } }\n";
  hsc_pass_list list;
  EXPECT_OK(hsc_pass_list_init(&list));
  EXPECT_OK(hsc_pass_list_read_metadata(hsc_view_of(text), "m", &list));
  hsc_pass_list_nest(&list);
  hsc_pass_totals t = hsc_pass_list_totals(&list);
  assert_int_equal(t.pipelines, 2);
  assert_int_equal(t.passes, 3);
  assert_int_equal(t.runs, 4);
  assert_int_equal(t.changed, 1);
  // the nested pipeline is not counted twice
  assert_true(fabs(t.seconds - (3e-6 + 20e-6 + 0.9e-6)) < 1e-12);
  assert_true(list.rows[1].nested && list.rows[1].depth == 0);
  assert_int_equal(list.rows[2].depth, 1);
  assert_int_equal(list.rows[4].depth, 0);
  assert_int_equal(list.rows[4].pipeline_run, list.rows[0].pipeline_run);
  hsc_pass_list_deinit(&list);
}

static json_t *output_row(double max_abs, double size, int nans, const char *verdict) {
  return json_pack("{s:f, s:f, s:i, s:s}", "max_abs", max_abs, "largest_value", size,
                   "nan_mismatches", nans, "verdict", verdict);
}

static void test_rounding_is_told_by_what_a_last_place_does(void **state) {
  json_t *moved =
      json_pack("[o, o]", output_row(0.01, 10, 0, "different"), output_row(1e-7, 1, 0, "close"));
  const struct {
    double max_abs, size;
    int nans, output;
    bool rounding;
  } cases[] = {
      {0.039, 10, 0, 0, true},
      {0.041, 10, 0, 0, false},  // four times as far, and beyond
      {0.0009, 1, 0, 1, true},
      {0.0011, 1, 0, 1, false},    // another output: by the share of its size that the first moved
      {0.0001, 10, 1, 0, false}};  // NaN where there was none
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    json_t *row = output_row(cases[i].max_abs, cases[i].size, cases[i].nans, "different");
    assert_int_equal(hsc_is_rounding(moved, row, (size_t)cases[i].output), cases[i].rounding);
    // not measured: nothing is excused
    assert_false(hsc_is_rounding(NULL, row, (size_t)cases[i].output));
    json_decref(row);
  }
  json_t *said = hsc_rounding_json(moved);
  assert_int_equal(json_integer_value(json_object_get(said, "outputs_beyond_tolerance")), 1);
  json_decref(said);
  json_decref(moved);
}

static void add_run(
    hsc_pass_list *list, const char *module, int line, const char *pipeline, const char *pass) {
  hsc_pass_row *row = hsc_pass_list_add(list, pipeline, pass);
  assert_non_null(row);
  row->module = module;
  row->line = line;
  row->start_ns = 1000 * (int64_t)list->row_count;
}

// XLA:GPU's metadata ends before scheduling; the profile has what comes after, beside compiles of
// small modules and other threads.
static void test_passes_behind_the_metadata_come_from_the_profile(void **state) {
  hsc_pass_list list, profile;
  EXPECT_OK(hsc_pass_list_init(&list));
  EXPECT_OK(hsc_pass_list_init(&profile));
  add_run(&list, NULL, 0, "outer", "pipeline-start");
  add_run(&list, NULL, 0, "outer", "a");
  add_run(&list, NULL, 0, "outer", "last");
  add_run(&profile, "m", 0, "outer", "pipeline-start");
  add_run(&profile, "m", 0, "outer", "a");
  add_run(&profile, "m", 0, "outer", "last");
  add_run(&profile, "m", 0, "idle", "pipeline-start");
  add_run(&profile, "small", 0, "tuning", "pipeline-start");
  add_run(&profile, "small", 0, "tuning", "t");
  add_run(&profile, "m", 0, "after", "pipeline-start");
  add_run(&profile, "m", 0, "after", "remat");
  add_run(&profile, "m", 0, "remat", "pipeline-start");
  add_run(&profile, "m", 0, "remat", "rematerialization");
  add_run(&profile, "m", 1, "elsewhere", "pipeline-start");
  add_run(&profile, "m", 1, "elsewhere", "e");
  EXPECT_OK(hsc_pass_list_append_tail(&list, &profile));
  hsc_pass_list_nest(&list);
  hsc_pass_totals t = hsc_pass_list_totals(&list);
  assert_int_equal(list.row_count, 4);
  assert_string_equal(list.rows[2].pass, "remat");
  assert_true(list.rows[2].nested && list.rows[2].changed == -1);
  assert_string_equal(list.rows[3].pass, "rematerialization");
  assert_int_equal(list.rows[3].depth, 1);
  assert_int_equal(t.pipelines, 4);  // outer, idle, after, remat
  assert_int_equal(t.idle, 1);
  assert_int_equal(t.runs, 3);
  json_t *document = NULL;
  EXPECT_OK(hsc_pass_list_json(&list, "p", "d", &document));
  assert_int_equal(json_array_size(json_object_get(document, "pipelines")), 4);
  assert_int_equal(json_array_size(json_object_get(
                       json_array_get(json_object_get(document, "pipelines"), 1), "passes")),
                   0);
  json_decref(document);
  size_t before = list.row_count;
  list.rows[before - 1].pass = "not in the profile";
  // two compiles that do not fit: nothing is made up
  EXPECT_OK(hsc_pass_list_append_tail(&list, &profile));
  assert_int_equal(list.row_count, before);
  hsc_pass_list_deinit(&list);
  hsc_pass_list_deinit(&profile);
}

static int64_t phase_ns(const hsc_map *map, const char *name) {
  int64_t *ns = hsc_map_get(map, hsc_view_of(name));
  return ns ? *ns : 0;
}

// A compiling thread that waits while a fiber generates code, as the TPU's does; a monitor's event
// around all of it is no phase.
static void test_phases_add_up_over_threads(void **state) {
  enum { US = 1000 * 1000 };
  const compile_event monitor[] = {{HSC_VIEW("StatsEvents"), 0, 500 * US, false}};
  const compile_event main_line[] = {{HSC_VIEW("Compiler::Compile"), 0, 400 * US, false},
                                     {HSC_VIEW("simplification (m)"), 10 * US, 90 * US, true},
                                     {HSC_VIEW("algsimp"), 20 * US, 10 * US, false},
                                     {HSC_VIEW("ScheduleGpuModule"), 100 * US, 20 * US, false}};
  const compile_event fiber[] = {
      {HSC_VIEW("XLA::TPU memory space and buffer assignment"), 110 * US, 40 * US, false},
      {HSC_VIEW("XLA::TPU lowering and optimization"), 150 * US, 100 * US, false},
      {HSC_VIEW("DCE"), 160 * US, 5 * US, false}};
  hsc_pass_list list;
  hsc_phase_stretches *stretches = NULL;
  EXPECT_OK(hsc_pass_list_init(&list));
  EXPECT_OK(hsc_pass_list_want_flame(&list));
  EXPECT_OK(hsc__phase_stretches_create(&stretches));
  // lines have origins of their own: the fiber's is 10 us before the others'
  const int64_t origin_ns = INT64_C(1763769600) * 1000000000;
  EXPECT_OK(hsc__phase_stretches_add_line(stretches, monitor, 1, origin_ns));
  EXPECT_OK(hsc__phase_stretches_add_line(stretches, fiber, 3, origin_ns - 10000));
  EXPECT_OK(hsc__phase_stretches_add_line(stretches, main_line, 4, origin_ns));
  EXPECT_OK(hsc__phase_stretches_sum(stretches, list.flame->phases, list.arena));
  assert_int_equal(phase_ns(list.flame->phases, "HLO passes"), 90000);
  assert_int_equal(phase_ns(list.flame->phases, "scheduling"), 20000);
  // of its 40 us the 20 in which the main thread schedules are scheduling
  assert_int_equal(phase_ns(list.flame->phases, "buffer assignment"), 20000);
  assert_int_equal(phase_ns(list.flame->phases, "code generation"), 100000);
  assert_int_equal(phase_ns(list.flame->phases, "all else"), 170000);
  hsc__phase_stretches_destroy(stretches);
  hsc_pass_list_deinit(&list);
}

static void test_malformed_metadata_points_at_the_line(void **state) {
  static const char *const bad[] = {"pass_metadata {\n  pass_name: \"a\"\n",
                                    "pass_metadata {\n  pass_name: \n}\n", "}\n",
                                    "pass_metadata { kv_metrics { key } }"};
  for (size_t i = 0; i < HSC_COUNT_OF(bad); i++) {
    hsc_pass_list list;
    EXPECT_OK(hsc_pass_list_init(&list));
    hsc_status *status = hsc_pass_list_read_metadata(hsc_view_of(bad[i]), "m.textproto", &list);
    assert_int_equal(hsc_status_code(status), HSC_DATA_LOSS);
    assert_true(hsc_status_line(status) > 0);
    hsc_status_free(status);
    hsc_pass_list_deinit(&list);
  }
}

// The last pass that a log says began; pipelines are none.
static void test_the_running_pass_is_read_from_logs(void **state) {
  static const char *const logs[][2] = {
      {"I hlo_pass_pipeline.cc:303] Running HLO pass pipeline on module m: fusion\nI "
       "hlo_pass_pipeline.cc:181]   HLO pass priority-fusion",
       "priority-fusion"},
      {"hloscope passes: pipeline simplification: pass cse\nhloscope passes: pipeline "
       "simplification: pass dce\n",
       "dce"}};
  for (size_t i = 0; i < HSC_COUNT_OF(logs); i++) {
    char *pass = hsc_passes_running(logs[i][0]);
    assert_string_equal(pass, logs[i][1]);
    hsc_free(pass);
  }
  assert_null(hsc_passes_running("Running HLO pass pipeline on module m: fusion"));
  assert_null(hsc_passes_running(NULL));
}

// A compile that never ends is killed, and said to have run out of time.
static void test_time_of_a_compile_that_hangs(void **state) {
  hsc_device_spec device;
  json_t *r = NULL;
  json_t *overrides = json_pack("{s:s}", "xla_disable_hlo_passes", "hang-pass");
  EXPECT_OK(hsc_device_spec_parse(fake, arena, &device));
  hsc_passes_time_options o = {.program = program,
                               .device = &device,
                               .overrides = overrides,
                               .repeats = 2,
                               .limit_ns = HSC_SECOND_NS,
                               .executable = hloscope};
  hsc_status *late = hsc_passes_time(&o, &r, NULL);
  assert_int_equal(hsc_status_code(late), HSC_DEADLINE_EXCEEDED);
  // an information line, which is no last word
  assert_non_null(strstr(hsc_status_notes(late), "the compiler was in pass hang-pass"));
  hsc_status_free(late);
  o.overrides = NULL;
  o.limit_ns = 20 * HSC_SECOND_NS;
  EXPECT_OK(hsc_passes_time(&o, &r, NULL));
  assert_int_equal(json_integer_value(json_object_get(r, "repeats")), 2);
  assert_int_equal(json_array_size(json_object_get(r, "pipelines")), 1);
  assert_int_equal(json_array_size(json_object_get(r, "passes")), 11);
  json_decref(r);
  json_decref(overrides);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_pilot_chooses),
      cmocka_unit_test(test_every_outcome),
      cmocka_unit_test(test_who_is_right_is_said),
      cmocka_unit_test(test_what_did_not_run_is_not_called_right),
      cmocka_unit_test(test_the_time_budget_ends_the_command),
      cmocka_unit_test(test_the_place_is_that_of_the_check),
      cmocka_unit_test(test_unknown_names_are_refused),
      cmocka_unit_test(test_resume),
      cmocka_unit_test(test_an_interrupt_ends_a_compile),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_the_pass_that_changes_numbers_is_named),
      cmocka_unit_test(test_a_fault_of_the_front_end_is_one),
      cmocka_unit_test(test_the_running_pass_is_read_from_logs),
      cmocka_unit_test(test_time_of_a_compile_that_hangs),
      cmocka_unit_test(test_metadata_nests),
      cmocka_unit_test(test_rounding_is_told_by_what_a_last_place_does),
      cmocka_unit_test(test_phases_add_up_over_threads),
      cmocka_unit_test(test_passes_behind_the_metadata_come_from_the_profile),
      cmocka_unit_test(test_malformed_metadata_points_at_the_line),
  };
  return cmocka_run_group_tests(tests, set_up, lab_case_tear_down);
}
