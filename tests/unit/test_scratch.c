// test_scratch.c - temporary directories: where they are made, and that nothing of them stays.
#include "base/files/file_io.h"
#include "worker/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

static void put(const char *directory, const char *name) {
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/%s", directory, name);
  EXPECT_OK(hsc_file_write_atomic(hsc_bytes_text(&path), "x", 1));
  hsc_bytes_deinit(&path);
}

static void goes_where_tmpdir_says(void **state) {
  char base[] = "/tmp/test-scratch-XXXXXX";
  char *path = NULL;
  char kept[sizeof base + 64];
  (void)state;
  assert_non_null(mkdtemp(base));
  setenv("TMPDIR", base, 1);
  for (int dumps = 0; dumps < 2; dumps++) {
    EXPECT_OK(dumps ? hsc_scratch_create_for_dumps(&path) : hsc_scratch_create(&path));
    assert_memory_equal(path, base, strlen(base));
    put(path, "one");
    snprintf(kept, sizeof kept, "%s", path);
    hsc_scratch_destroy(path);
    assert_int_not_equal(access(kept, F_OK), 0);
  }
  setenv("TMPDIR", "/nowhere/at/all", 1);
  EXPECT_CODE(NOT_FOUND, hsc_scratch_create(&path));
  unsetenv("TMPDIR");
  assert_int_equal(rmdir(base), 0);
}

static void dumps_go_away_with_what_is_below(void **state) {
  char *path = NULL;
  char below[256];
  (void)state;
  unsetenv("TMPDIR");
  EXPECT_OK(hsc_scratch_create_for_dumps(&path));
  assert_true(!strncmp(path, "/dev/shm/hloscope-scratch-", 26) ||
              !strncmp(path, "/tmp/hloscope-scratch-", 22));
  snprintf(below, sizeof below, "%s/below", path);
  assert_int_equal(mkdir(below, 0700), 0);
  put(below, "two");
  snprintf(below, sizeof below, "%s", path);
  hsc_scratch_destroy(path);
  assert_int_not_equal(access(below, F_OK), 0);
}

static void age(const char *path) {
  struct timespec long_ago[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
  assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
}

// A process of its own makes a directory with something in it and is killed, or waits to be. `held`
// gets the path; the answer is the process.
static pid_t holder(const char *base, char *held, size_t size) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    char *path = NULL;
    setenv("TMPDIR", base, 1);
    alarm(60);
    if (hsc_scratch_create(&path))
      _exit(1);
    put(path, "dump");
    if (write(ends[1], path, strlen(path) + 1) < 0)
      _exit(1);
    for (;;)
      pause();
  }
  assert_true(read(ends[0], held, size) > 0);
  close(ends[0]);
  close(ends[1]);
  age(held);
  return child;
}

static void end(pid_t child) {
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

// Looks for leftovers in a process of its own, as each does once.
static void look(const char *base) {
  pid_t child = fork();
  if (child == 0) {
    char *path = NULL;
    setenv("TMPDIR", base, 1);
    hsc_status *status = hsc_scratch_create(&path);
    hsc_scratch_destroy(path);
    _exit(status != NULL);
  }
  int how;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_int_equal(how, 0);
}

// What a killed process left goes with the next one; what a living process has does not, however
// old it is.
static void what_killed_processes_left_is_swept(void **state) {
  char base[] = "/tmp/test-scratch-XXXXXX";
  char dead[256];
  char alive[256];
  (void)state;
  assert_non_null(mkdtemp(base));
  pid_t living = holder(base, alive, sizeof alive);
  end(holder(base, dead, sizeof dead));
  look(base);
  assert_int_not_equal(access(dead, F_OK), 0);
  assert_int_equal(access(alive, F_OK), 0);
  end(living);
  look(base);
  assert_int_not_equal(access(alive, F_OK), 0);
  assert_int_equal(rmdir(base), 0);
}

// Whatever looks like one, and is not for certain, stays.
static void what_may_be_somebody_elses_is_not_swept(void **state) {
  static const char *const names[] = {"hloscope-scratch-report1", "hloscope-scratch-abc",
                                      "hloscope-abcdef", "my-hloscope-scratch-abcdef"};
  char base[] = "/tmp/test-scratch-XXXXXX";
  char path[256];
  char kept[256];
  (void)state;
  assert_non_null(mkdtemp(base));
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    snprintf(path, sizeof path, "%s/%s", base, names[i]);
    assert_int_equal(mkdir(path, 0700), 0);
    age(path);
  }
  // open to others, made just now, a link, a file
  snprintf(path, sizeof path, "%s/hloscope-scratch-opened", base);
  assert_int_equal(mkdir(path, 0755), 0);
  age(path);
  snprintf(kept, sizeof kept, "%s/hloscope-scratch-recent", base);
  assert_int_equal(mkdir(kept, 0700), 0);
  snprintf(kept, sizeof kept, "%s/hloscope-scratch-linked", base);
  assert_int_equal(symlink(path, kept), 0);
  snprintf(kept, sizeof kept, "%s/hloscope-scratch-filed1", base);
  EXPECT_OK(hsc_file_write_atomic(kept, "x", 1));
  age(kept);
  look(base);
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    snprintf(path, sizeof path, "%s/%s", base, names[i]);
    assert_int_equal(rmdir(path), 0);
  }
  snprintf(kept, sizeof kept, "%s/hloscope-scratch-linked", base);
  assert_int_equal(unlink(kept), 0);
  snprintf(kept, sizeof kept, "%s/hloscope-scratch-filed1", base);
  assert_int_equal(unlink(kept), 0);
  snprintf(kept, sizeof kept, "%s/hloscope-scratch-opened", base);
  assert_int_equal(rmdir(kept), 0);
  snprintf(kept, sizeof kept, "%s/hloscope-scratch-recent", base);
  assert_int_equal(rmdir(kept), 0);
  assert_int_equal(rmdir(base), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      // A process looks for leftovers once: those that fork processes that look come first.
      cmocka_unit_test(what_killed_processes_left_is_swept),
      cmocka_unit_test(what_may_be_somebody_elses_is_not_swept),
      cmocka_unit_test(goes_where_tmpdir_says),
      cmocka_unit_test(dumps_go_away_with_what_is_below),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
