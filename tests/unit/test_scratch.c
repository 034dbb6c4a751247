// test_scratch.c - temporary directories: where they are made, and that nothing of them stays.
#include "base/files/file_io.h"
#include "worker/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
  assert_true(!strncmp(path, "/dev/shm/hloscope-", 18) || !strncmp(path, "/tmp/hloscope-", 14));
  snprintf(below, sizeof below, "%s/below", path);
  assert_int_equal(mkdir(below, 0700), 0);
  put(below, "two");
  snprintf(below, sizeof below, "%s", path);
  hsc_scratch_destroy(path);
  assert_int_not_equal(access(below, F_OK), 0);
}

// What a killed process left in memory goes with the next one, but not what is in use.
static void what_was_left_in_memory_is_swept(void **state) {
  char old[] = "/dev/shm/hloscope-XXXXXX";
  char recent[] = "/dev/shm/hloscope-XXXXXX";
  char *path = NULL;
  (void)state;
  unsetenv("TMPDIR");
  EXPECT_OK(hsc_scratch_create_for_dumps(&path));
  bool in_memory = !strncmp(path, "/dev/shm/", 9);
  hsc_scratch_destroy(path);
  if (!in_memory)
    skip();
  assert_non_null(mkdtemp(old));
  assert_non_null(mkdtemp(recent));
  put(old, "dump");
  struct timespec long_ago[2] = {{.tv_sec = time(NULL) - 200000}, {.tv_sec = time(NULL) - 200000}};
  assert_int_equal(utimensat(AT_FDCWD, old, long_ago, 0), 0);
  EXPECT_OK(hsc_scratch_create_for_dumps(&path));
  assert_int_not_equal(access(old, F_OK), 0);
  assert_int_equal(access(recent, F_OK), 0);
  hsc_scratch_destroy(path);
  assert_int_equal(rmdir(recent), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(goes_where_tmpdir_says),
      cmocka_unit_test(dumps_go_away_with_what_is_below),
      cmocka_unit_test(what_was_left_in_memory_is_swept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
