// test_store.c - the result store: what goes in comes out, a killed writer loses nothing that was
// put, old and foreign files are refused in words.
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "lab/store/store.h"
#include "unit.h"

static char dir[64], path[128];

static int make_dir(void **state) {
  strcpy(dir, "/tmp/hloscope-store-XXXXXX");
  if (!mkdtemp(dir))
    return -1;
  snprintf(path, sizeof path, "%s/results.sqlite", dir);
  return 0;
}

static int remove_dir(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

static int64_t begin(hsc_store *store, const char *plan) {
  int64_t id = 0;
  json_t *configuration = json_pack("{s:i}", "warmup_iterations", 5);
  json_t *environment = json_pack("{s:s}", "cpu", "a \"quoted\" name");
  EXPECT_OK(hsc_store_begin(store,
                            &(hsc_experiment){.kind = "patterns",
                                              .command = "hloscope patterns",
                                              .device = "cpu",
                                              .subject = "8 graphs",
                                              .plan = plan,
                                              .seed = UINT64_MAX,
                                              .configuration = configuration,
                                              .environment = environment},
                            &id));
  json_decref(configuration);
  json_decref(environment);
  return id;
}

static void put(hsc_store *store, int64_t id, const char *key, const char *json) {
  json_t *answer = json_loads(json, 0, NULL);
  assert_non_null(answer);
  EXPECT_OK(
      hsc_store_put_task(store, id, &(hsc_task){.key = key, .status = "ok", .answer = answer}));
  json_decref(answer);
}

static void tasks_come_back_as_they_went_in(void **state) {
  hsc_store *store;
  EXPECT_OK(hsc_store_open(path, &store));
  int64_t id = begin(store, "plan a");
  const char *text =
      "{\"fingerprint\":\"ab\",\"series\":{\"run_ns\":[3,1,2],\"share_count\":[0.5],\"page_faults_"
      "count\":[]}}";
  put(store, id, "vmap_small/trial/1", "{\"fingerprint\":\"replaced\"}");
  put(store, id, "vmap_small/trial/1", text);
  char *status = NULL;
  char *message = NULL;
  json_t *answer = NULL;
  EXPECT_OK(hsc_store_get_task(store, id, "vmap_small/trial/1", &status, &message, &answer));
  assert_string_equal(status, "ok");
  assert_null(message);
  json_t *expected = json_loads(
      "{\"fingerprint\":\"ab\",\"series\":{\"run_ns\":[3,1,2],\"share_count\":[0.5]}}", 0, NULL);
  assert_true(json_equal(answer, expected));  // an empty series has no samples to come back from
  json_decref(answer);
  json_decref(expected);
  hsc_free(status);
  EXPECT_OK(hsc_store_get_task(store, id, "not there", &status, &message, &answer));
  assert_null(answer);

  json_t *odd = json_loads("{\"series\":{\"no unit\":[1]}}", 0, NULL);
  EXPECT_CODE(INTERNAL, hsc_store_put_task(
                            store, id, &(hsc_task){.key = "odd", .status = "ok", .answer = odd}));
  json_decref(odd);
  EXPECT_OK(hsc_store_get_task(store, id, "odd", &status, &message, &answer));
  assert_null(answer);  // nothing of the refused task stayed
  EXPECT_OK(hsc_store_put_task(
      store, id, &(hsc_task){.key = "dead", .status = "abort", .message = "signal 6"}));
  json_t *tasks = NULL;
  EXPECT_OK(hsc_store_tasks(store, id, &tasks));
  assert_int_equal(json_array_size(tasks), 2);
  assert_string_equal(json_string_value(json_object_get(json_array_get(tasks, 1), "message")),
                      "signal 6");
  json_decref(tasks);
  hsc_store_close(store);
}

static void experiments_are_listed_and_resumed(void **state) {
  hsc_store *store;
  EXPECT_OK(hsc_store_open(path, &store));
  int64_t first = begin(store, "plan b");
  int64_t second = begin(store, "plan b");
  int64_t found = 0;
  EXPECT_OK(hsc_store_resumable(store, "plan b", &found));
  assert_int_equal(found, second);
  json_t *result = json_pack("{s:s}", "summary", "x");
  EXPECT_OK(hsc_store_finish(store, second, "done", result));
  json_decref(result);
  EXPECT_OK(hsc_store_resumable(store, "plan b", &found));
  assert_int_equal(found, first);
  EXPECT_OK(hsc_store_resumable(store, "another plan", &found));
  assert_int_equal(found, 0);
  put(store, first, "t", "{\"series\":{\"run_ns\":[1,2,3,4]}}");

  hsc_experiment_list list;
  EXPECT_OK(hsc_store_list(store, 1, &list));
  assert_int_equal(list.count, 1);
  assert_int_equal(list.items[0].id, second);
  assert_string_equal(list.items[0].status, "done");
  assert_true(list.items[0].finished_ns >= list.items[0].started_ns);
  assert_true(list.items[0].seed == UINT64_MAX);
  hsc_experiment_list_deinit(&list);
  EXPECT_OK(hsc_store_get(store, first, &list));
  assert_int_equal(list.items[0].task_count, 1);
  assert_int_equal(list.items[0].sample_count, 4);
  assert_string_equal(json_string_value(json_object_get(list.items[0].environment, "cpu")),
                      "a \"quoted\" name");
  hsc_experiment_list_deinit(&list);
  EXPECT_CODE(NOT_FOUND, hsc_store_get(store, 4711, &list));
  hsc_experiment_list_deinit(&list);
  hsc_store_close(store);
}

static void a_killed_writer_loses_nothing(void **state) {
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  pid_t pid = fork();
  if (pid == 0) {  // the writer: one task put, one in the middle of a transaction
    hsc_store *store;
    if (hsc_store_open(path, &store))
      _exit(1);
    int64_t id = begin(store, "plan killed");
    put(store, id, "measured", "{\"series\":{\"run_ns\":[42]}}");
    sqlite3 *db;
    sqlite3_open(path, &db);
    sqlite3_exec(db,
                 "BEGIN; INSERT INTO task (experiment, key, status, finished_ns, detail) VALUES "
                 "(1, 'half', 'ok', 0, '{}')",
                 NULL, NULL, NULL);
    if (write(ready[1], "x", 1) != 1)
      _exit(1);
    pause();
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  hsc_store *store;
  int64_t id = 0;
  EXPECT_OK(hsc_store_open(path, &store));
  EXPECT_OK(hsc_store_resumable(store, "plan killed", &id));
  json_t *tasks = NULL;
  EXPECT_OK(hsc_store_tasks(store, id, &tasks));
  assert_int_equal(json_array_size(tasks), 1);
  json_t *series = json_object_get(json_object_get(json_array_get(tasks, 0), "answer"), "series");
  assert_int_equal(json_integer_value(json_array_get(json_object_get(series, "run_ns"), 0)), 42);
  json_decref(tasks);
  hsc_store_close(store);
}

static void files_that_are_no_store_are_refused(void **state) {
  char other[160];
  hsc_store *store;
  snprintf(other, sizeof other, "%s/text.sqlite", dir);
  EXPECT_OK(hsc_file_write_atomic(other,
                                  "this is a text file, long enough to be looked at as a database "
                                  "......................................",
                                  100));
  EXPECT_CODE(DATA_LOSS, hsc_store_open(other, &store));
  snprintf(other, sizeof other, "%s/none/results.sqlite", dir);
  EXPECT_CODE(NOT_FOUND, hsc_store_open(other, &store));
  sqlite3 *db;
  snprintf(other, sizeof other, "%s/newer.sqlite", dir);
  sqlite3_open(other, &db);
  sqlite3_exec(db, "PRAGMA user_version = 999", NULL, NULL, NULL);
  sqlite3_close(db);
  EXPECT_CODE(FAILED_PRECONDITION, hsc_store_open(other, &store));
}

// A store made when a column had another comment, or another one beside it.
static void what_is_said_about_columns_may_change(void **state) {
  static const char other_words[] =
      "PRAGMA writable_schema = ON;"
      "UPDATE sqlite_master SET sql = replace(sql, '-- hash', '--   the hash') "
      "WHERE name = 'experiment';";
  static const char other_column[] =
      "PRAGMA writable_schema = ON;"
      "UPDATE sqlite_master SET sql = replace(sql, 'seed  ', 'sown  ') "
      "WHERE name = 'experiment';";
  hsc_store *store;
  sqlite3 *db;
  EXPECT_OK(hsc_store_open(path, &store));
  hsc_store_close(store);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, other_words, NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_changes(db), 1);
  sqlite3_close(db);
  EXPECT_OK(hsc_store_open(path, &store));
  hsc_store_close(store);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, other_column, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  hsc_status *status = hsc_store_open(path, &store);
  assert_non_null(status);
  assert_non_null(strstr(hsc_status_message(status), "its tables are not hloscope's"));
  hsc_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_come_back_as_they_went_in),
      cmocka_unit_test(experiments_are_listed_and_resumed),
      cmocka_unit_test(a_killed_writer_loses_nothing),
      cmocka_unit_test(files_that_are_no_store_are_refused),
      cmocka_unit_test_setup_teardown(what_is_said_about_columns_may_change, make_dir, remove_dir),
  };
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
