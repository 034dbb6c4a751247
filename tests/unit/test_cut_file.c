// test_cut_file.c - a mapped file that becomes shorter ends the program with a message, and other
// bus errors end it as ever.
#include "cli/cut_file.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 3 * 4096 };

// Maps the file, cuts it short and reads on, or sends itself the signal. Never returns.
static void read_on(const char *path, bool is_cut) {
  int fd = mkstemp((char *)(uintptr_t)path);
  if (fd < 0 || ftruncate(fd, PAGES))
    _exit(90);
  const volatile char *bytes = mmap(NULL, PAGES, PROT_READ, MAP_SHARED, fd, 0);
  unlink(path);
  if (bytes == MAP_FAILED || ftruncate(fd, 4096))
    _exit(91);
  hsc_cli_watch_cut_files();
  if (!is_cut)
    raise(SIGBUS);
  _exit(bytes[0] + bytes[8192] + 92);
}

// How the process ended, and what it said.
static int end_of(bool is_cut, char *said, size_t size) {
  int ends[2];
  char path[] = "/tmp/test cut-XXXXXX";
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    read_on(path, is_cut);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], said + length, size - 1 - length)) > 0;)
    length += (size_t)got;
  said[length] = 0;
  close(ends[0]);
  int how;
  assert_int_equal(waitpid(child, &how, 0), child);
  return how;
}

static void the_file_is_named(void **state) {
  char said[2048];
  int how = end_of(true, said, sizeof said);
  assert_true(WIFEXITED(how));
  assert_int_equal(WEXITSTATUS(how), 1);
  assert_memory_equal(said, "error: /tmp/test cut-", 21);
  assert_non_null(strstr(said, "was cut short by another process while it was read\n  hint: "));
}

static void other_bus_errors_stay_what_they_are(void **state) {
  char said[2048];
  int how = end_of(false, said, sizeof said);
  assert_false(WIFEXITED(how) && WEXITSTATUS(how) == 1);
  assert_null(strstr(said, "was cut short"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_file_is_named),
      cmocka_unit_test(other_bus_errors_stay_what_they_are),
  };
  return cmocka_run_group_tests(tests, 0, 0);
}
