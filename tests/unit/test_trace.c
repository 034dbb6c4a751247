// What is recorded is what is read back: spans, attributes, threads, forks, losses, and what a killed process leaves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/capture.h"

static char directory[64];

static int make_directory(void **state) {
  snprintf(directory, sizeof directory, "/tmp/hsc-trace-XXXXXX");
  return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

static hsc_recorder *open_recorder(hsc_recorder_options options) {
  hsc_recorder *recorder = NULL;
  options.path = directory;
  hsc_status *status = hsc_recorder_open(&options, &recorder);
  if (status) fail_msg("%s", hsc_status_message(status));
  return recorder;
}

static hsc_capture *open_capture(void) {
  hsc_capture *capture = NULL;
  hsc_status *status = hsc_capture_open(directory, &capture);
  if (status) fail_msg("%s", hsc_status_message(status));
  return capture;
}

static void test_spans_nest_and_keep_attributes(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.label = "test"});
  uint32_t outer = hsc_recorder_intern(r, "outer"), inner = hsc_recorder_intern(r, "inner"), key = hsc_recorder_intern(r, "bytes"), note = hsc_recorder_intern(r, "note");
  assert_int_equal(hsc_recorder_intern(r, "outer"), outer);
  hsc_recorder_name_thread(r, "main");
  uint64_t a = hsc_span_begin(r, HSC_CATEGORY_USER, outer, NULL, 0);
  uint64_t b = hsc_span_begin(r, HSC_CATEGORY_EXECUTE, inner, &(hsc_trace_attr){.key = key, .type = HSC_ATTR_INT, .value.i = -7}, 1);
  hsc_span_end(r, b, &(hsc_trace_attr){.key = note, .type = HSC_ATTR_STRING, .value.string = outer}, 1);
  hsc_trace_counter(r, HSC_CATEGORY_MEMORY, key, 1.5);
  hsc_span_end(r, a, NULL, 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_event_count(c), 3);
  const hsc_event *e = hsc_capture_events(c);
  assert_string_equal(e[0].name, "outer");
  assert_string_equal(e[1].name, "inner");
  assert_int_equal(e[1].parent, e[0].span);
  assert_int_equal(e[1].depth, 1);
  assert_false(e[0].open);
  assert_true(e[0].duration_ns >= e[1].duration_ns && e[1].start_ns >= e[0].start_ns);
  assert_int_equal(hsc_event_attr(c, &e[1], "bytes")->value.i, -7);
  assert_string_equal(hsc_capture_string(c, 0, hsc_event_attr(c, &e[1], "note")->value.string), "outer");
  assert_null(hsc_event_attr(c, &e[1], "nothing"));
  assert_string_equal(hsc_capture_category_text(c, e[1].category), "execute");
  assert_string_equal(hsc_capture_thread_at(c, e[0].thread)->name, "main");
  double value;
  memcpy(&value, &e[2].value, sizeof value);
  assert_true(e[2].kind == HSC_RECORD_COUNTER && value == 1.5);
  assert_string_equal(hsc_capture_notes(c), "");
  hsc_capture_close(c);
}

static void test_pause_and_categories(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.categories = HSC_CATEGORY_USER});
  uint32_t name = hsc_recorder_intern(r, "x");
  uint64_t span = hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0);
  assert_int_equal(hsc_span_begin(r, HSC_CATEGORY_COMPILE, name, NULL, 0), 0);
  hsc_recorder_pause(r);
  assert_int_equal(hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), 0);
  hsc_span_end(r, span, NULL, 0);   // ends although paused
  hsc_recorder_resume(r);
  assert_true(hsc_recorder_wants(r, HSC_CATEGORY_USER));
  assert_false(hsc_recorder_wants(NULL, HSC_CATEGORY_USER));
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_event_count(c), 1);
  assert_false(hsc_capture_events(c)[0].open);
  hsc_capture_close(c);
}

enum { THREADS = 8, SPANS = 5000 };
static void *record_many(void *argument) {
  hsc_recorder *r = argument;
  uint32_t name = hsc_recorder_intern(r, "work");
  for (int i = 0; i < SPANS; i++) hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), NULL, 0);
  return NULL;
}

static void test_threads_have_rings_of_their_own(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.chunk_bytes = 16 << 10});
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, record_many, r);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(hsc_recorder_lost_count(r), 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_event_count(c), THREADS * SPANS);
  assert_int_equal(hsc_capture_thread_count(c), THREADS);
  for (size_t i = 0; i < hsc_capture_event_count(c); i++) assert_false(hsc_capture_events(c)[i].open);
  hsc_capture_close(c);
}

static void test_loss_is_counted(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.chunk_bytes = 4096, .max_bytes = 5 * 4096});
  uint32_t name = hsc_recorder_intern(r, "x");
  enum { COUNT = 2000 };
  for (int i = 0; i < COUNT; i++) hsc_trace_instant(r, HSC_CATEGORY_USER, name, NULL, 0);
  uint64_t lost = hsc_recorder_lost_count(r);
  assert_true(lost > 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_event_count(c) + lost, COUNT);
  assert_non_null(strstr(hsc_capture_notes(c), "lost"));
  assert_string_equal(hsc_capture_events(c)[0].name, "x");
  hsc_capture_close(c);
}

static void test_fork_goes_on_in_its_own_ring(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){0});
  uint32_t name = hsc_recorder_intern(r, "step");
  hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), NULL, 0);
  pid_t child = fork();
  if (child == 0) {
    hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), NULL, 0);
    _exit(0);   // without closing
  }
  waitpid(child, NULL, 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_process_count(c), 2);
  assert_int_equal(hsc_capture_event_count(c), 2);
  for (int i = 0; i < 2; i++) assert_string_equal(hsc_capture_events(c)[i].name, "step");
  assert_non_null(strstr(hsc_capture_notes(c), "did not end its recording"));
  hsc_capture_close(c);
}

static void test_kill_leaves_every_closed_span(void **state) {
  for (int round = 0; round < 20; round++) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
      hsc_recorder *r = NULL;
      if (hsc_recorder_open(&(hsc_recorder_options){.path = directory, .chunk_bytes = 8192}, &r)) _exit(1);
      uint32_t name = hsc_recorder_intern(r, "span"), key = hsc_recorder_intern(r, "i");
      for (uint64_t i = 1;; i++) {
        hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_USER, name, &(hsc_trace_attr){.key = key, .type = HSC_ATTR_UINT, .value.u = i}, 1), NULL, 0);
        if (i % 64 == 0 && write(ready[1], &i, sizeof i) != sizeof i) _exit(1);
        if (i == 100000) pause();
      }
    }
    close(ready[1]);
    uint64_t done = 0, next;
    for (int k = 0; k <= round && read(ready[0], &next, sizeof next) == sizeof next; k++) done = next;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    while (read(ready[0], &next, sizeof next) == sizeof next) done = next;
    close(ready[0]);
    hsc_capture *c = open_capture();
    uint64_t closed = 0;
    for (size_t i = 0; i < hsc_capture_event_count(c); i++) {
      const hsc_event *e = &hsc_capture_events(c)[i];
      if (!e->open) closed++;
      if (!e->open) assert_int_equal(hsc_event_attr(c, e, "i")->value.u, closed);
    }
    assert_true(closed >= done);
    hsc_capture_close(c);
    remove_directory(NULL);
    make_directory(NULL);
  }
}

static void test_damage_is_no_crash(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.chunk_bytes = 4096});
  record_many(r);
  hsc_recorder_close(r);
  char command[256], path[128];
  snprintf(command, sizeof command, "mv %s/*.ring %s/all.ring", directory, directory);
  assert_int_equal(system(command), 0);
  snprintf(path, sizeof path, "%s/all.ring", directory);
  hsc_bytes good = {0};
  assert_null(hsc_file_read(path, &good));
  hsc_random random;
  hsc_random_init(&random, 1);
  for (int round = 0; round < 300; round++) {
    hsc_bytes bad = {0};
    hsc_bytes_append(&bad, good.data, good.size);
    size_t size = round % 3 ? bad.size : (size_t)hsc_random_below(&random, bad.size);
    for (int k = 0; k < 20 && round % 2; k++) bad.data[hsc_random_below(&random, bad.size < 20000 ? bad.size : 20000)] ^= (char)(1 << hsc_random_below(&random, 8));
    assert_null(hsc_file_write_atomic(path, bad.data, size));
    hsc_capture *c = NULL;
    hsc_status *status = hsc_capture_open(path, &c);
    assert_true(status != NULL || c != NULL);
    hsc_status_free(status);
    hsc_capture_close(c);
    hsc_bytes_deinit(&bad);
  }
  hsc_bytes_deinit(&good);
  hsc_capture *c = NULL;
  hsc_status *status = hsc_capture_open("/tmp/no-such-capture.hsc", &c);
  assert_int_equal(hsc_status_code(status), HSC_NOT_FOUND);
  hsc_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_spans_nest_and_keep_attributes, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_pause_and_categories, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_threads_have_rings_of_their_own, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_loss_is_counted, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_fork_goes_on_in_its_own_ring, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_kill_leaves_every_closed_span, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_damage_is_no_crash, make_directory, remove_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
