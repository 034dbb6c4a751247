#include "base/core/memory.h"
#include "base/process/child.h"
#include "base/text/text.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;

static hsc_child *start(const char *script) {
  const char *argv[] = {"sh", "-c", script, NULL};
  hsc_child *child = NULL;
  EXPECT_OK(hsc_child_start(&(hsc_child_options){.argv = argv}, &child));
  return child;
}

static void answers_come_on_descriptor_3(void **state) {
  hsc_child *child = start("while read line; do echo noise; echo \"got $line\" >&3; done");
  for (int i = 0; i < 20; i++) {
    char request[16], expected[32];
    snprintf(request, sizeof request, "job %d", i);
    snprintf(expected, sizeof expected, "got job %d", i);
    hsc_bytes line = {0};
    EXPECT_OK(hsc_child_send_line(child, hsc_view_of(request)));
    EXPECT_OK(hsc_child_read_line(child, 10 * SECOND, &line));
    assert_string_equal(hsc_bytes_text(&line), expected);
    hsc_bytes_deinit(&line);
  }
  assert_true(hsc_child_pid(child) > 1);
  hsc_child_destroy(child);
}

static void exit_code_is_told(void **state) {
  hsc_child *child = start("echo last words >&2; exit 42");
  hsc_child_exit how;
  hsc_bytes line = {0};
  EXPECT_CODE(UNAVAILABLE, hsc_child_read_line(child, 10 * SECOND, &line));
  EXPECT_OK(hsc_child_wait(child, 10 * SECOND, &how));
  assert_true(how.exited);
  assert_int_equal(how.exit_code, 42);
  assert_int_equal(how.signal, 0);
  assert_false(how.timed_out);
  assert_true(how.max_rss_bytes > 100000);
  assert_string_equal(hsc_child_stderr(child), "last words\n");
  hsc_bytes_deinit(&line);
  hsc_child_destroy(child);
}

static void signal_is_told(void **state) {
  hsc_child *child = start("kill -ABRT $$; sleep 10");
  hsc_child_exit how;
  EXPECT_OK(hsc_child_wait(child, 10 * SECOND, &how));
  assert_true(how.exited);
  assert_int_equal(how.signal, SIGABRT);
  assert_int_equal(how.exit_code, -1);
  hsc_child_destroy(child);
}

static void timeout_leaves_it_running_until_killed(void **state) {
  hsc_child *child = start("read line; echo late >&3; exec sleep 100");
  hsc_child_exit how;
  hsc_bytes line = {0};
  int64_t begin = hsc_now_ns();
  EXPECT_CODE(DEADLINE_EXCEEDED, hsc_child_read_line(child, SECOND / 20, &line));
  assert_true(hsc_now_ns() - begin >= SECOND / 20);
  EXPECT_OK(hsc_child_wait(child, 0, &how));
  assert_false(how.exited);
  EXPECT_OK(hsc_child_send_line(child, HSC_VIEW("go")));
  EXPECT_OK(hsc_child_read_line(child, 10 * SECOND, &line));
  assert_string_equal(hsc_bytes_text(&line), "late");
  hsc_child_kill(child);
  EXPECT_OK(hsc_child_wait(child, 10 * SECOND, &how));
  assert_int_equal(how.signal, SIGKILL);
  assert_true(how.timed_out);
  hsc_bytes_deinit(&line);
  hsc_child_destroy(child);
}

static void answers_before_death_are_not_lost(void **state) {
  hsc_child *child = start("echo one >&3; echo two >&3; printf torn >&3; kill -KILL $$");
  hsc_child_exit how;
  hsc_bytes line = {0};
  EXPECT_OK(hsc_child_wait(child, 10 * SECOND, &how));
  EXPECT_OK(hsc_child_read_line(child, -1, &line));
  hsc_bytes_append_char(&line, ' ');
  EXPECT_OK(hsc_child_read_line(child, -1, &line));
  assert_string_equal(hsc_bytes_text(&line), "one two");
  EXPECT_CODE(UNAVAILABLE, hsc_child_read_line(child, -1, &line));
  assert_string_equal(hsc_bytes_text(&line), "one two");
  hsc_bytes_deinit(&line);
  hsc_child_destroy(child);
}

// A megabyte each way, while the child also talks more than a pipe holds.
static void big_lines_and_much_noise_do_not_block(void **state) {
  hsc_child *child = start("head -c 300000 /dev/zero | tr '\\0' n >&2; cat >&3");
  enum { SIZE = 1 << 20 };
  char *big = malloc(SIZE);
  memset(big, 'x', SIZE);
  hsc_bytes line = {0};
  EXPECT_OK(hsc_child_send_line(child, (hsc_view){big, SIZE}));
  EXPECT_OK(hsc_child_read_line(child, 30 * SECOND, &line));
  assert_int_equal(line.size, SIZE);
  assert_memory_equal(line.data, big, SIZE);
  assert_int_equal(strlen(hsc_child_stderr(child)), 65536);
  free(big);
  hsc_bytes_deinit(&line);
  hsc_child_destroy(child);
}

static void the_end_of_stderr_is_kept(void **state) {
  const char *argv[] = {
      "sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo the end >&2",
      NULL};
  hsc_child *child = NULL;
  hsc_child_exit how;
  EXPECT_OK(hsc_child_start(&(hsc_child_options){.argv = argv, .stderr_keep_bytes = 100}, &child));
  EXPECT_OK(hsc_child_wait(child, 10 * SECOND, &how));
  const char *words = hsc_child_stderr(child);
  assert_int_equal(strlen(words), 100);
  assert_true(hsc_ends_with(words, "line 2999\nthe end\n"));
  hsc_child_destroy(child);
}

static void writing_to_a_dead_child_is_an_error_not_a_signal(void **state) {
  hsc_child *child = start("exit 0");
  hsc_child_exit how;
  EXPECT_OK(hsc_child_wait(child, 10 * SECOND, &how));
  EXPECT_CODE(UNAVAILABLE, hsc_child_send_line(child, HSC_VIEW("hello")));
  EXPECT_CODE(UNAVAILABLE, hsc_child_send_line(child, HSC_VIEW("again")));
  hsc_child_kill(child);
  hsc_child_destroy(child);
}

static void environment_is_added_and_replaced(void **state) {
  setenv("HSC_TEST_OLD", "old", 1);
  setenv("HSC_TEST_KEPT", "kept", 1);
  const char *argv[] = {"sh", "-c", "echo $HSC_TEST_OLD $HSC_TEST_KEPT $HSC_TEST_NEW >&3", NULL};
  const char *extra[] = {"HSC_TEST_OLD=replaced", "HSC_TEST_NEW=new", NULL};
  hsc_child *child = NULL;
  hsc_bytes line = {0};
  EXPECT_OK(hsc_child_start(&(hsc_child_options){.argv = argv, .extra_env = extra}, &child));
  EXPECT_OK(hsc_child_read_line(child, 10 * SECOND, &line));
  assert_string_equal(hsc_bytes_text(&line), "replaced kept new");
  hsc_bytes_deinit(&line);
  hsc_child_destroy(child);
}

static void memory_limit_holds(void **state) {
  const char *argv[] = {"sh", "-c", "read go; ulimit -v >&3", NULL};
  hsc_child *child = NULL;
  hsc_bytes line = {0};
  EXPECT_OK(hsc_child_start(
      &(hsc_child_options){.argv = argv, .memory_limit_bytes = (size_t)64 << 20}, &child));
  EXPECT_OK(hsc_child_send_line(child, HSC_VIEW("go")));
  EXPECT_OK(hsc_child_read_line(child, 10 * SECOND, &line));
  assert_string_equal(hsc_bytes_text(&line), "65536");
  hsc_bytes_deinit(&line);
  hsc_child_destroy(child);
}

static void closing_the_input_ends_a_reader(void **state) {
  hsc_child *child = start("cat > /dev/null; exit 7");
  hsc_child_exit how;
  hsc_child_close_input(child);
  EXPECT_OK(hsc_child_wait(child, 10 * SECOND, &how));
  assert_int_equal(how.exit_code, 7);
  hsc_child_destroy(child);
}

static void a_missing_program_is_not_found(void **state) {
  const char *argv[] = {"hloscope-no-such-program", NULL};
  hsc_child *child = NULL;
  EXPECT_CODE(NOT_FOUND, hsc_child_start(&(hsc_child_options){.argv = argv}, &child));
  assert_null(child);
}

static void destroy_kills_what_does_not_stop(void **state) {
  hsc_child *child = start("trap '' TERM INT; exec sleep 1000");
  int pid = hsc_child_pid(child);
  hsc_child_destroy(child);
  assert_int_equal(kill(pid, 0), -1);
  hsc_child_destroy(NULL);
}

static void requests_are_single_lines(void **state) {
  hsc_child *child = start("cat >/dev/null");
  EXPECT_CODE(INVALID_ARGUMENT, hsc_child_send_line(child, HSC_VIEW("a\nb")));
  hsc_child_destroy(child);
}

// Many starts leak no descriptor.
static void descriptors_are_given_back(void **state) {
  int before = dup(0);
  close(before);
  for (int i = 0; i < 20; i++) {
    hsc_child *child = start("exit 0");
    hsc_child_destroy(child);
  }
  int after = dup(0);
  close(after);
  assert_int_equal(before, after);
}

// When descriptors run out half-way through the pipes, the error is reported and those that were
// made are closed again.
static void running_out_of_descriptors_is_an_error(void **state) {
  const char *argv[] = {"sh", "-c", "exit 0", NULL};
  struct rlimit old, tight;
  int first = dup(0);
  close(first);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
  for (int spare = 0; spare < 14; spare++) {
    hsc_child *child = NULL;
    tight = (struct rlimit){(rlim_t)(first + spare), old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    hsc_status *status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    if (spare < 4)
      assert_int_equal(hsc_status_code(status), HSC_RESOURCE_EXHAUSTED);
    hsc_status_free(status);
    hsc_child_destroy(child);
    int after = dup(0);
    close(after);
    assert_int_equal(after, first);
  }
}

static void failing_allocations_are_survived(void **state) {
  for (uint64_t n = 1; n < 8; n++) {
    const char *argv[] = {"sh", "-c", "echo answer >&3; echo words >&2", NULL};
    hsc_child *child = NULL;
    hsc_bytes line = {0};
    hsc_alloc_fail_after(n);
    hsc_status *status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
    if (!status)
      status = hsc_child_read_line(child, 10 * SECOND, &line);
    hsc_alloc_fail_after(0);
    if (status)
      assert_int_equal(hsc_status_code(status), HSC_RESOURCE_EXHAUSTED);
    else
      assert_string_equal(hsc_bytes_text(&line), "answer");
    hsc_status_free(status);
    hsc_bytes_deinit(&line);
    hsc_child_destroy(child);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_come_on_descriptor_3),
      cmocka_unit_test(exit_code_is_told),
      cmocka_unit_test(signal_is_told),
      cmocka_unit_test(timeout_leaves_it_running_until_killed),
      cmocka_unit_test(answers_before_death_are_not_lost),
      cmocka_unit_test(big_lines_and_much_noise_do_not_block),
      cmocka_unit_test(the_end_of_stderr_is_kept),
      cmocka_unit_test(writing_to_a_dead_child_is_an_error_not_a_signal),
      cmocka_unit_test(environment_is_added_and_replaced),
      cmocka_unit_test(memory_limit_holds),
      cmocka_unit_test(closing_the_input_ends_a_reader),
      cmocka_unit_test(a_missing_program_is_not_found),
      cmocka_unit_test(destroy_kills_what_does_not_stop),
      cmocka_unit_test(requests_are_single_lines),
      cmocka_unit_test(descriptors_are_given_back),
      cmocka_unit_test(running_out_of_descriptors_is_an_error),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
