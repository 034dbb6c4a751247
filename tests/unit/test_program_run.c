// What include/hloscope/run.h promises, as a program outside of hloscope sees it: linked with
// libhloscope.so alone.
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "hloscope/run.h"

static char program[512], fake[512], source[512];

static void setup_paths(void) {
  const char *build = getenv("HLOSCOPE_TEST_BUILD");
  assert_non_null(build);
  snprintf(program, sizeof program, "%s/hloscope", build);
  snprintf(fake, sizeof fake, "%s/tests/fake_plugin/libhloscope_fake_pjrt.so", build);
  snprintf(source, sizeof source, "/tmp/hsc-program-run-%d.hlo", (int)getpid());
  FILE *file = fopen(source, "w");
  assert_non_null(file);
  fputs("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n",
        file);
  fclose(file);
}

static void it_runs_where_it_was_asked_to(void **state) {
  hsc_program_run *run = NULL;
  EXPECT_OK(hsc_program_run_start(
      &(hsc_program_run_options){
          .program = source, .device = "cpu", .runs = 3, .hloscope = program},
      &run));
  assert_string_equal(run->device, "cpu");
  assert_false(run->degraded);
  assert_null(run->warning);
  assert_int_equal(run->attempts, 1);
  assert_true(run->run_seconds > 0 && run->run_seconds < 1);
  assert_non_null(strstr(run->json, "\"outputs\""));
  hsc_program_run_free(run);
}

static void a_device_that_fails_gives_way_to_the_next(void **state) {
  static const char *const others[] = {"./no_such_plugin.so", "reference"};
  hsc_program_run *run = NULL;
  setenv("HLOSCOPE_FAKE", "fail=Client_Compile:13:the compiler is tired", 1);
  EXPECT_OK(hsc_program_run_start(&(hsc_program_run_options){.program = source,
                                                             .device = fake,
                                                             .fallback = others,
                                                             .fallback_count = 2,
                                                             .hloscope = program},
                                  &run));
  unsetenv("HLOSCOPE_FAKE");
  assert_string_equal(run->device, "reference");
  assert_string_equal(run->wanted, fake);
  assert_true(run->degraded);
  assert_int_equal(run->attempts, 3);
  assert_non_null(strstr(run->warning, "the compiler is tired"));
  assert_non_null(strstr(run->warning, "no_such_plugin.so"));
  hsc_program_run_free(run);
}

// Text of an error; freed with the status.
static const char *said(hsc_status *status) {
  static char text[2048];
  assert_non_null(status);
  snprintf(text, sizeof text, "%s", hsc_api_status_text(status));
  hsc_api_status_free(status);
  return text;
}

static void errors_say_what_and_where(void **state) {
  static const char *const others[] = {"reference"};
  static const char *const two[] = {"a,b"};
  hsc_program_run *run = NULL;
  const char *text =
      said(hsc_program_run_start(&(hsc_program_run_options){.program = "/nonexistent.hlo",
                                                            .fallback = others,
                                                            .fallback_count = 1,
                                                            .hloscope = program},
                                 &run));
  assert_non_null(strstr(text, "/nonexistent.hlo"));
  assert_null(run);
  FILE *file = fopen(source, "a");
  fputs("nonsense\n", file);
  fclose(file);
  text = said(hsc_program_run_start(
      &(hsc_program_run_options){
          .program = source, .fallback = others, .fallback_count = 1, .hloscope = program},
      &run));
  if (!strstr(text, ".hlo:7:"))
    fail_msg("no place in: %s", text);
  text = said(hsc_program_run_start(
      &(hsc_program_run_options){.program = source, .hloscope = "/nonexistent/hloscope"}, &run));
  assert_non_null(strstr(text, "/nonexistent/hloscope"));
  text = said(hsc_program_run_start(
      &(hsc_program_run_options){
          .program = source, .fallback = two, .fallback_count = 1, .hloscope = program},
      &run));
  assert_non_null(strstr(text, "one device each"));
  text = said(hsc_program_run_start(&(hsc_program_run_options){.program = NULL}, &run));
  assert_non_null(strstr(text, "no program"));
  hsc_program_run_free(NULL);
}

int main(void) {
  setup_paths();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_runs_where_it_was_asked_to),
      cmocka_unit_test(a_device_that_fails_gives_way_to_the_next),
      cmocka_unit_test(errors_say_what_and_where),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(source);
  return failed;
}
