// test_disk_cache.c - entries on disk: whole or not at all, whoever writes, dies or removes at the
// same time.
#include "base/core/random.h"
#include "base/files/file_io.h"
#include "base/files/disk_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

static char dir[64];

static int make_dir(void **state) {
  snprintf(dir, sizeof dir, "/tmp/hloscope-cache-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
  hsc_disk_pruned pruned;
  hsc_status_free(
      hsc_disk_cache_prune(dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 0}, &pruned));
  char path[96];
  snprintf(path, sizeof path, "%s/lock", dir);
  unlink(path);
  return rmdir(dir);
}

static bool lookup(const char *key, hsc_bytes *out_payload) {
  bool found = false;
  hsc_bytes_reset(out_payload);
  EXPECT_OK(hsc_disk_cache_get(dir, hsc_view_of(key), out_payload, &found));
  return found;
}

static void path_of_key(const char *key, char out_path[128]) {
  char name[33];
  hsc_disk_cache_name(hsc_view_of(key), name);
  snprintf(out_path, 128, "%s/%s.hsx", dir, name);
}

static void what_is_not_whole_is_a_miss(void **state) {
  char path[128], other[128];
  hsc_bytes payload = {0};
  hsc_bytes whole = {0};
  assert_false(lookup("program a\n", &payload));
  EXPECT_OK(hsc_disk_cache_put(dir, HSC_VIEW("program a\n"), HSC_VIEW("name x\n"),
                               HSC_VIEW("machine code")));
  assert_true(lookup("program a\n", &payload));
  assert_true(hsc_view_equals_text(hsc_bytes_view(&payload), "machine code"));
  path_of_key("program a\n", path);
  path_of_key("program b\n", other);
  EXPECT_OK(hsc_file_read(path, &whole));
  EXPECT_OK(hsc_file_write_atomic(other, whole.data, whole.size));
  assert_false(lookup("program b\n", &payload));  // the right name, another key: never handed out
  for (size_t cut = 0; cut < whole.size; cut++) {
    EXPECT_OK(hsc_file_write_atomic(path, whole.data, cut));
    assert_false(lookup("program a\n", &payload));
  }
  for (size_t flip = 0; flip < whole.size; flip++) {
    whole.data[flip] ^= 1;
    EXPECT_OK(hsc_file_write_atomic(path, whole.data, whole.size));
    assert_false(lookup("program a\n", &payload));
    whole.data[flip] ^= 1;
  }
  assert_int_equal(payload.size, 0);
  hsc_bytes_deinit(&payload);
  hsc_bytes_deinit(&whole);
}

static void lists_say_what_is_there(void **state) {
  hsc_arena *arena;
  hsc_disk_entry *entries;
  int count;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_disk_cache_list("/nonexistent/cache", arena, &entries, &count));
  assert_int_equal(count, 0);
  EXPECT_OK(hsc_disk_cache_put(dir, HSC_VIEW("program a\noptions 1a\n"),
                               HSC_VIEW("name first\ncompile_ns 12\n"), HSC_VIEW("one")));
  EXPECT_OK(
      hsc_disk_cache_put(dir, HSC_VIEW("program b\n"), HSC_VIEW("name second\n"), HSC_VIEW("two")));
  char path[128], stranger[128];
  path_of_key("program b\n", path);
  EXPECT_OK(hsc_file_write_atomic(path, "HSCX", 4));
  snprintf(stranger, sizeof stranger, "%s/README", dir);
  EXPECT_OK(hsc_file_write_atomic(stranger, "not an entry", 12));
  EXPECT_OK(hsc_disk_cache_list(dir, arena, &entries, &count));
  assert_int_equal(count, 2);
  hsc_disk_entry *whole = &entries[entries[0].state == HSC_DISK_ENTRY_WHOLE ? 0 : 1];
  hsc_disk_entry *damaged = &entries[entries[0].state == HSC_DISK_ENTRY_WHOLE ? 1 : 0];
  assert_int_equal(damaged->state, HSC_DISK_ENTRY_DAMAGED);
  assert_string_equal(damaged->problem, "cut off in its header");
  assert_true(hsc_view_equals_text(hsc_disk_cache_line(whole->key, "options"), "1a"));
  assert_true(hsc_view_equals_text(hsc_disk_cache_line(whole->information, "name"), "first"));
  assert_null(hsc_disk_cache_line(whole->information, "compile").data);
  EXPECT_CODE(DATA_LOSS, hsc_disk_cache_read(damaged->path, NULL, NULL, NULL));
  EXPECT_OK(hsc_disk_cache_read(whole->path, NULL, NULL, NULL));
  unlink(stranger);
  hsc_arena_destroy(arena);
}

// What others put in an entry's place: links, pipes, folders, files that may not be read. Nothing
// is waited for, nothing outside is written.
static void strange_files_are_misses(void **state) {
  char path[128], outside[128];
  hsc_bytes payload = {0};
  hsc_bytes whole = {0};
  struct stat info;
  hsc_disk_pruned pruned;
  path_of_key("program a\n", path);
  snprintf(outside, sizeof outside, "%s/outside", dir);
  EXPECT_OK(hsc_file_write_atomic(outside, "mine", 4));
  assert_int_equal(symlink(outside, path), 0);
  assert_false(lookup("program a\n", &payload));
  EXPECT_OK(hsc_disk_cache_put(dir, HSC_VIEW("program a\n"), HSC_VIEW(""), HSC_VIEW("code")));
  assert_true(!lstat(path, &info) && S_ISREG(info.st_mode));
  EXPECT_OK(hsc_file_read(outside, &whole));
  assert_true(hsc_view_equals_text(hsc_bytes_view(&whole), "mine"));
  assert_true(lookup("program a\n", &payload));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_false(lookup("program a\n", &payload));  // and does not wait for a writer
  EXPECT_OK(hsc_disk_cache_prune(
      dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 0, .damaged = true}, &pruned));
  assert_int_equal(pruned.removed, 0);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_false(lookup("program a\n", &payload));
  hsc_status *status =
      hsc_disk_cache_put(dir, HSC_VIEW("program a\n"), HSC_VIEW(""), HSC_VIEW("code"));
  assert_non_null(status);  // costs time, not results
  hsc_status_free(status);
  assert_int_equal(rmdir(path), 0);
  unlink(outside);
  hsc_bytes_deinit(&payload);
  hsc_bytes_deinit(&whole);
}

// A directory of root's: nobody else's code is run from it, nor put there. As root nothing is
// forbidden, so a child becomes nobody.
static void another_users_entries_are_misses(void **state) {
  EXPECT_OK(hsc_disk_cache_put(dir, HSC_VIEW("program a\n"), HSC_VIEW(""), HSC_VIEW("code")));
  assert_int_equal(chmod(dir, 0555), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    hsc_bytes payload = {0};
    hsc_disk_pruned pruned;
    bool found = false;
    if (!geteuid() && setuid(65534))
      _exit(10);
    int wrong = 0;
    hsc_status *status = hsc_disk_cache_get(dir, HSC_VIEW("program a\n"), &payload, &found);
    if (status || found)  // an entry is 0600
      wrong = 1;
    if (!wrong && !(status = hsc_disk_cache_put(dir, HSC_VIEW("program b\n"), HSC_VIEW(""),
                                                HSC_VIEW("code"))))
      wrong = 2;
    hsc_status_free(status);
    if (!wrong &&
        ((status = hsc_disk_cache_prune(
              dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 0, .dry = true}, &pruned)) ||
         pruned.removed != 1))
      wrong = 3;
    if (!wrong && !(status = hsc_disk_cache_prune(
                        dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 0}, &pruned)))
      wrong = 4;
    hsc_status_free(status);
    hsc_bytes_deinit(&payload);
    _exit(wrong);
  }
  int how;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_int_equal(chmod(dir, 0700), 0);
  assert_true(WIFEXITED(how));
  assert_int_equal(WEXITSTATUS(how), 0);
}

static mode_t mode_of(const char *path) {
  struct stat info;
  assert_int_equal(lstat(path, &info), 0);
  return info.st_mode & 07777;
}

static bool is_there(const char *key) {
  hsc_bytes payload = {0};
  bool found = false;
  EXPECT_OK(hsc_disk_cache_get(dir, hsc_view_of(key), &payload, &found));
  hsc_bytes_deinit(&payload);
  return found;
}

// Whatever the umask is, what is made is this user's alone; what others may have written is not
// taken.
static void only_what_is_ours_alone_is_used(void **state) {
  char path[128], sub[128], lock[128];
  mode_t mask = umask(0);
  snprintf(sub, sizeof sub, "%s/a/b", dir);
  EXPECT_OK(hsc_disk_cache_put(sub, HSC_VIEW("program a\n"), HSC_VIEW(""), HSC_VIEW("code")));
  assert_int_equal(mode_of(sub), 0700);
  EXPECT_OK(hsc_disk_cache_put(dir, HSC_VIEW("program a\n"), HSC_VIEW(""), HSC_VIEW("code")));
  umask(mask);
  path_of_key("program a\n", path);
  assert_int_equal(mode_of(path), 0600);
  assert_true(is_there("program a\n"));
  static const mode_t shared[] = {0620, 0602, 0660, 0666};
  for (size_t i = 0; i < HSC_COUNT_OF(shared); i++) {
    assert_int_equal(chmod(path, shared[i]), 0);
    assert_false(is_there("program a\n"));
  }
  assert_int_equal(chmod(path, 0600), 0);
  if (!geteuid()) {
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_false(is_there("program a\n"));
    assert_int_equal(chown(path, 0, 0), 0);
  }
  static const mode_t open_dirs[] = {0770, 0707, 01777};
  for (size_t i = 0; i < HSC_COUNT_OF(open_dirs); i++) {
    assert_int_equal(chmod(dir, open_dirs[i]), 0);
    assert_false(is_there("program a\n"));
    EXPECT_CODE(PERMISSION_DENIED,
                hsc_disk_cache_put(dir, HSC_VIEW("program b\n"), HSC_VIEW(""), HSC_VIEW("code")));
  }
  // On purpose: what the group may write, but not what everybody may.
  assert_int_equal(chmod(dir, 02770), 0);
  setenv("HLOSCOPE_CACHE_TRUST", "group", 1);
  assert_true(is_there("program a\n"));
  EXPECT_OK(hsc_disk_cache_put(dir, HSC_VIEW("program b\n"), HSC_VIEW(""), HSC_VIEW("code")));
  path_of_key("program b\n", path);
  assert_int_equal(mode_of(path), 0660);
  assert_int_equal(chmod(path, 0666), 0);
  assert_false(is_there("program b\n"));
  unsetenv("HLOSCOPE_CACHE_TRUST");
  assert_int_equal(chmod(dir, 0700), 0);
  // A lock that is a link to a file that matters.
  hsc_disk_pruned pruned;
  snprintf(lock, sizeof lock, "%s/lock", dir);
  unlink(lock);
  assert_int_equal(symlink("/etc/hostname", lock), 0);
  EXPECT_CODE(DATA_LOSS, hsc_disk_cache_prune(
                             dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 0}, &pruned));
  assert_int_equal(unlink(lock), 0);
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s/a'", dir);
  assert_int_equal(system(command), 0);
}

// A payload under another key gives no wrong numbers.
static void a_payload_knows_its_key(void **state) {
  hsc_bytes payload = {0};
  hsc_view rest;
  hsc_disk_cache_bind(HSC_VIEW("program a\n"), &payload);
  hsc_bytes_append_text(&payload, "code");
  EXPECT_OK(hsc_disk_cache_unbind(HSC_VIEW("program a\n"), hsc_bytes_view(&payload), &rest));
  assert_true(hsc_view_equals(rest, HSC_VIEW("code")));
  EXPECT_CODE(DATA_LOSS,
              hsc_disk_cache_unbind(HSC_VIEW("program b\n"), hsc_bytes_view(&payload), &rest));
  EXPECT_CODE(DATA_LOSS, hsc_disk_cache_unbind(HSC_VIEW("program a\n"), HSC_VIEW("co"), &rest));
  hsc_bytes_deinit(&payload);
}

static void age_entry(const char *key, int seconds) {
  char path[128];
  path_of_key(key, path);
  struct timespec times[2];
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void prune_removes_the_oldest_first(void **state) {
  hsc_bytes payload = {0};
  hsc_disk_pruned pruned;
  char key[32];
  char big[1000] = {0};
  for (int i = 0; i < 5; i++) {
    snprintf(key, sizeof key, "program %d\n", i);
    EXPECT_OK(hsc_disk_cache_put(dir, hsc_view_of(key), HSC_VIEW(""), (hsc_view){big, sizeof big}));
    age_entry(key, (5 - i) * 1000);
  }
  assert_true(lookup("program 0\n", &payload));  // used now: the youngest
  EXPECT_OK(hsc_disk_cache_prune(
      dir,
      &(hsc_disk_prune){.max_age_ns = (int64_t)3500 * 1000000000, .max_bytes = -1, .dry = true},
      &pruned));
  assert_int_equal(pruned.removed, 1);
  assert_true(lookup("program 1\n", &payload));  // a dry run removes nothing; now used as well
  EXPECT_OK(hsc_disk_cache_prune(
      dir, &(hsc_disk_prune){.max_age_ns = (int64_t)2500 * 1000000000, .max_bytes = -1}, &pruned));
  assert_int_equal(pruned.removed, 1);
  assert_false(lookup("program 2\n", &payload));
  EXPECT_OK(
      hsc_disk_cache_prune(dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 2500}, &pruned));
  assert_int_equal(pruned.removed, 2);
  assert_true(pruned.kept == 2 && pruned.kept_bytes <= 2500);
  assert_true(lookup("program 0\n", &payload) && lookup("program 1\n", &payload));
  hsc_bytes_deinit(&payload);
}

// A writer that is killed at any moment leaves a whole entry, an older whole entry, or none; what
// it left besides is removed later.
static void killed_writers_leave_nothing_torn(void **state) {
  enum { SIZE = 1 << 20, ROUNDS = 40 };
  char *bytes = malloc(SIZE);
  hsc_bytes payload = {0};
  hsc_random random;
  hsc_random_init(&random, 7);
  int unfinished = 0;
  for (int round = 0; round < ROUNDS; round++) {
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
      for (int value = 0;; value++) {
        memset(bytes, value, SIZE);
        hsc_status_free(hsc_disk_cache_put(dir, HSC_VIEW("program k\n"), HSC_VIEW(""),
                                           (hsc_view){bytes, SIZE}));
      }
    }
    int64_t until = hsc_now_ns() + 1000000 + (int64_t)hsc_random_below(&random, 6000000);
    do {  // reads while it writes
      if (lookup("program k\n", &payload)) {
        assert_int_equal(payload.size, SIZE);
        for (size_t i = 1; i < SIZE; i++)
          if (payload.data[i] != payload.data[0])
            fail_msg("an entry of two writers at byte %zu", i);
      }
    } while (hsc_now_ns() < until);
    kill(writer, SIGKILL);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
  }
  hsc_arena *arena;
  hsc_disk_entry *entries;
  int count;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_disk_cache_list(dir, arena, &entries, &count));
  for (int i = 0; i < count; i++) {
    assert_int_not_equal(entries[i].state, HSC_DISK_ENTRY_DAMAGED);
    unfinished += entries[i].state == HSC_DISK_ENTRY_UNFINISHED;
    struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    if (entries[i].state == HSC_DISK_ENTRY_UNFINISHED)
      assert_int_equal(utimensat(AT_FDCWD, entries[i].path, old, 0), 0);
  }
  hsc_disk_pruned pruned;
  EXPECT_OK(
      hsc_disk_cache_prune(dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = -1}, &pruned));
  assert_int_equal(pruned.removed, unfinished);
  hsc_arena_destroy(arena);
  hsc_bytes_deinit(&payload);
  free(bytes);
}

static void many_processes_write_read_and_prune(void **state) {
  enum { CHILDREN = 4, ROUNDS = 150 };
  pid_t children[CHILDREN];
  for (int c = 0; c < CHILDREN; c++) {
    children[c] = fork();
    assert_true(children[c] >= 0);
    if (children[c] > 0)
      continue;
    int wrong = 0;
    for (int i = 0; i < ROUNDS && !wrong; i++) {
      char key[32], text[64];
      snprintf(key, sizeof key, "program %d\n", i % 7);
      snprintf(text, sizeof text, "code of program %d", i % 7);
      hsc_bytes payload = {0};
      bool found = false;
      hsc_disk_pruned pruned;
      hsc_status *status =
          hsc_disk_cache_put(dir, hsc_view_of(key), HSC_VIEW(""), hsc_view_of(text));
      if (!status)
        status = hsc_disk_cache_get(dir, hsc_view_of(key), &payload, &found);
      if (!status && i % 10 == c)
        status = hsc_disk_cache_prune(dir, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 300},
                                      &pruned);
      wrong = status != NULL || (found && !hsc_view_equals_text(hsc_bytes_view(&payload), text));
      hsc_status_free(status);
      hsc_bytes_deinit(&payload);
    }
    _exit(wrong);
  }
  for (int c = 0; c < CHILDREN; c++) {
    int how;
    assert_int_equal(waitpid(children[c], &how, 0), children[c]);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_is_not_whole_is_a_miss, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(strange_files_are_misses, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(another_users_entries_are_misses, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(only_what_is_ours_alone_is_used, make_dir, remove_dir),
      cmocka_unit_test(a_payload_knows_its_key),
      cmocka_unit_test_setup_teardown(lists_say_what_is_there, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(prune_removes_the_oldest_first, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(killed_writers_leave_nothing_torn, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(many_processes_write_read_and_prune, make_dir, remove_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
