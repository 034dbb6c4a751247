// test_tracer_death.c - what is to be written is written however a process dies, and it dies as it
// would have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/base.h"
#include "pjrt/tracer_death.h"

static int out;

static void note(void) {
  ssize_t size = write(out, "x", 1);
  (void)size;
}

static void end_by_exit(void) {
  _exit(7);
}
static void end_by_abort(void) {
  abort();
}
static void end_by_bad_pointer(void) {
  volatile int *volatile nowhere = (volatile int *)16;
  *nowhere = 1;
}
static void end_by_term(void) {
  kill(getpid(), SIGTERM);
  sleep(20);
}
static void end_by_segv_from_outside(void) {
  kill(getpid(), SIGSEGV);
  sleep(20);
}
static void *abort_here(void *unused) {
  abort();
}
static void end_by_another_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, abort_here, NULL);
  sleep(20);
}
// A child of a fork is not the one that was registered: its end writes nothing.
static void end_behind_a_fork(void) {
  pid_t child = fork();
  if (child == 0)
    _exit(3);
  int how = 0;
  waitpid(child, &how, 0);
  _exit(WIFEXITED(how) && WEXITSTATUS(how) == 3 ? 0 : 1);
}
// A handler of the program's own stays.
static void leave_with_5(int number) {
  static const char nothing[] = "";
  (void)nothing;
  _exit(5);
}

static void dies(void (*end)(void), int code, int number, bool own_handler) {
  char path[] = "/tmp/hloscope-death-XXXXXX";
  out = mkstemp(path);
  assert_true(out >= 0);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // cmocka's
    if (own_handler)
      signal(SIGTERM, leave_with_5);
    hsc_tracer_at_death(note);
    hsc_tracer_at_death(note);  // once is enough
    end();
    _exit(99);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  if (number) {
    assert_int_equal(WIFEXITED(how) ? WEXITSTATUS(how) : 0, 0);
    assert_true(WIFSIGNALED(how));
    assert_int_equal(WTERMSIG(how), number);
  } else {
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), code);
  }
  assert_int_equal(lseek(out, 0, SEEK_END), 1);
  close(out);
  unlink(path);
}

static void test_deaths(void **state) {
  dies(end_by_exit, 7, 0, false);
  dies(end_by_abort, 0, SIGABRT, false);
  dies(end_by_bad_pointer, 0, SIGSEGV, false);
  dies(end_by_term, 0, SIGTERM, false);
  dies(end_by_segv_from_outside, 0, SIGSEGV, false);
  dies(end_by_another_thread, 0, SIGABRT, false);
  dies(end_behind_a_fork, 0, 0, false);
  dies(end_by_term, 5, 0, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_deaths)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
