// What is recorded is what is read back: spans, attributes, threads, forks, losses, and what a
// killed process leaves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/core/random.h"
#include "base/files/file_io.h"
#include "trace/capture.h"
#include "trace/capture_folder.h"
#include "trace/recorder.h"

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
  if (status)
    fail_msg("%s", hsc_status_message(status));
  return recorder;
}

static hsc_capture *open_capture(void) {
  hsc_capture *capture = NULL;
  hsc_status *status = hsc_capture_open(directory, &capture);
  if (status)
    fail_msg("%s", hsc_status_message(status));
  return capture;
}

static void test_spans_nest_and_keep_attributes(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.label = "test"});
  uint32_t outer = hsc_recorder_intern(r, "outer");
  uint32_t inner = hsc_recorder_intern(r, "inner");
  uint32_t key = hsc_recorder_intern(r, "bytes");
  uint32_t note = hsc_recorder_intern(r, "note");
  assert_int_equal(hsc_recorder_intern(r, "outer"), outer);
  hsc_recorder_name_thread(r, "main");
  uint64_t a = hsc_span_begin(r, HSC_CATEGORY_USER, outer, NULL, 0);
  uint64_t b =
      hsc_span_begin(r, HSC_CATEGORY_EXECUTE, inner,
                     &(hsc_trace_attr){.key = key, .type = HSC_ATTR_INT, .value.i = -7}, 1);
  hsc_span_end(r, b, &(hsc_trace_attr){.key = note, .type = HSC_ATTR_STRING, .value.string = outer},
               1);
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
  assert_string_equal(hsc_capture_string(c, 0, hsc_event_attr(c, &e[1], "note")->value.string),
                      "outer");
  assert_null(hsc_event_attr(c, &e[1], "nothing"));
  assert_string_equal(hsc_capture_category_text(c, e[1].category), "execute");
  assert_string_equal(hsc_capture_thread_at(c, e[0].thread)->name, "main");
  double value;
  memcpy(&value, &e[2].value, sizeof value);
  assert_true(e[2].kind == HSC_RECORD_COUNTER && value == 1.5);
  assert_string_equal(hsc_capture_notes(c), "");
  hsc_capture_close(c);
}

// A thread keeps the 128 outermost of its open spans in mind: deeper ones have no parent in the
// ring, and their ends do not disturb those above. Depth is counted to 255.
static void test_spans_deeper_than_the_recorder_counts(void **state) {
  enum { KNOWN = 128, DEPTH = 300 };
  hsc_recorder *r = open_recorder((hsc_recorder_options){.label = "test"});
  uint32_t name = hsc_recorder_intern(r, "deep");
  uint64_t spans[DEPTH];
  for (int i = 0; i < DEPTH; i++)
    spans[i] = hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0);
  for (int i = DEPTH; i-- > 0;)
    hsc_span_end(r, spans[i], NULL, 0);
  uint64_t next = hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0);
  hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), NULL, 0);
  hsc_span_end(r, next, NULL, 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  const hsc_event *e = hsc_capture_events(c);
  assert_int_equal(hsc_capture_event_count(c), DEPTH + 2);
  for (int i = 0; i < DEPTH; i++) {
    assert_int_equal(e[i].span, spans[i]);
    assert_int_equal(e[i].depth, i < 255 ? i : 255);
    assert_int_equal(e[i].parent, i > 0 && i <= KNOWN ? spans[i - 1] : 0);
    assert_false(e[i].open);
  }
  assert_int_equal(e[DEPTH].parent, 0);
  assert_int_equal(e[DEPTH].depth, 0);
  assert_int_equal(e[DEPTH + 1].parent, next);
  assert_int_equal(e[DEPTH + 1].depth, 1);
  hsc_capture_close(c);
}

static void test_pause_and_categories(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.categories = HSC_CATEGORY_USER});
  uint32_t name = hsc_recorder_intern(r, "x");
  uint64_t span = hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0);
  assert_int_equal(hsc_span_begin(r, HSC_CATEGORY_COMPILE, name, NULL, 0), 0);
  hsc_recorder_pause(r);
  assert_int_equal(hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), 0);
  hsc_span_end(r, span, NULL, 0);  // ends although paused
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
  for (int i = 0; i < SPANS; i++)
    hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), NULL, 0);
  return NULL;
}

static void test_threads_have_rings_of_their_own(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){.chunk_bytes = 16 << 10});
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, record_many, r);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(hsc_recorder_lost_count(r), 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_event_count(c), THREADS * SPANS);
  assert_int_equal(hsc_capture_thread_count(c), THREADS);
  for (size_t i = 0; i < hsc_capture_event_count(c); i++)
    assert_false(hsc_capture_events(c)[i].open);
  hsc_capture_close(c);
}

static void test_loss_is_counted(void **state) {
  hsc_recorder *r =
      open_recorder((hsc_recorder_options){.chunk_bytes = 4096, .max_bytes = 5 * 4096});
  uint32_t name = hsc_recorder_intern(r, "x");
  enum { COUNT = 2000 };
  for (int i = 0; i < COUNT; i++)
    hsc_trace_instant(r, HSC_CATEGORY_USER, name, NULL, 0);
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
    _exit(0);  // without closing
  }
  waitpid(child, NULL, 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_process_count(c), 2);
  assert_int_equal(hsc_capture_event_count(c), 2);
  for (int i = 0; i < 2; i++)
    assert_string_equal(hsc_capture_events(c)[i].name, "step");
  assert_non_null(strstr(hsc_capture_notes(c), "did not end its recording"));
  hsc_capture_close(c);
}

// ---- the end of a process at any moment ---------------------------------------------------------

enum { KILLED_THREADS = 3, KILLED_SPANS = 40000 };

typedef struct killed_thread {
  hsc_recorder *recorder;
  // spans that this thread had closed, in memory that outlives the process
  _Atomic uint64_t *closed;
} killed_thread;

static void *record_until_killed(void *argument) {
  killed_thread *t = argument;
  uint32_t outer = hsc_recorder_intern(t->recorder, "outer");
  uint32_t inner = hsc_recorder_intern(t->recorder, "inner");
  uint32_t key = hsc_recorder_intern(t->recorder, "i");
  for (uint64_t i = 1; i <= KILLED_SPANS; i++) {
    uint64_t a =
        hsc_span_begin(t->recorder, HSC_CATEGORY_USER, outer,
                       &(hsc_trace_attr){.key = key, .type = HSC_ATTR_UINT, .value.u = i}, 1);
    hsc_span_end(t->recorder, hsc_span_begin(t->recorder, HSC_CATEGORY_OPERATOR, inner, NULL, 0),
                 NULL, 0);
    hsc_span_end(t->recorder, a, NULL, 0);
    atomic_store_explicit(t->closed, i, memory_order_release);
  }
  pause();
  return NULL;
}

static void child_that_is_killed(_Atomic uint64_t *closed) {
  hsc_recorder *r = NULL;
  if (hsc_recorder_open(&(hsc_recorder_options){.path = directory, .chunk_bytes = 8192}, &r))
    _exit(1);
  static killed_thread threads[KILLED_THREADS];
  for (int i = 0; i < KILLED_THREADS; i++) {
    threads[i] = (killed_thread){r, &closed[i]};
    pthread_t thread;
    if (i + 1 < KILLED_THREADS && pthread_create(&thread, NULL, record_until_killed, &threads[i]))
      _exit(1);
  }
  record_until_killed(&threads[KILLED_THREADS - 1]);
}

// All that was closed before is there, closed and in order; what was open is there as open or not
// at all.
static void check_what_a_kill_left(const _Atomic uint64_t *closed) {
  hsc_capture *c = NULL;
  hsc_status *status = hsc_capture_open(directory, &c);
  if (status) {  // before the ring was one
    uint64_t any = 0;
    for (int i = 0; i < KILLED_THREADS; i++)
      any += closed[i];
    if (any)
      fail_msg("%llu spans were closed, and %s", (unsigned long long)any,
               hsc_status_message(status));
    hsc_status_free(status);
    return;
  }
  uint64_t seen[16] = {0};
  uint64_t open[16] = {0};
  assert_true(hsc_capture_thread_count(c) <= KILLED_THREADS);
  for (size_t i = 0; i < hsc_capture_event_count(c); i++) {
    const hsc_event *e = &hsc_capture_events(c)[i];
    if (strcmp(e->name, "outer"))
      continue;
    if (e->open)
      open[e->thread]++;
    else
      assert_int_equal(hsc_event_attr(c, e, "i")->value.u, ++seen[e->thread]);
  }
  uint64_t total = 0;
  uint64_t expected = 0;
  for (int i = 0; i < KILLED_THREADS; i++) {
    assert_true(open[i] <= 1);
    total += seen[i];
    expected += closed[i];
  }
  assert_true(total >= expected && total <= expected + KILLED_THREADS);
  hsc_capture_close(c);
}

static int kill_rounds = 20;

static void test_kill_leaves_every_closed_span(void **state) {
  _Atomic uint64_t *closed =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(closed != MAP_FAILED);
  hsc_random random;
  hsc_random_init(&random, (uint64_t)kill_rounds);
  for (int round = 0; round < kill_rounds; round++) {
    for (int i = 0; i < KILLED_THREADS; i++)
      closed[i] = 0;
    pid_t child = fork();
    if (child == 0)
      child_that_is_killed(closed);
    // Random moments, from before the recorder is open to some milliseconds on.
    hsc_sleep_ns((int64_t)hsc_random_below(&random, round % 4 ? 20000000 : 1000000));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    check_what_a_kill_left(closed);
    remove_directory(NULL);
    make_directory(NULL);
  }
  munmap((void *)(uintptr_t)closed, 4096);
}

// ---- what can go wrong --------------------------------------------------------------------------

static void *record_one(void *argument) {
  hsc_trace_instant(argument, HSC_CATEGORY_USER, hsc_recorder_intern(argument, "one"), NULL, 0);
  return NULL;
}

// Threads that end give their chunks back; when more live at once than there are chunks, their
// events are counted as lost.
static void test_more_threads_than_chunks(void **state) {
  hsc_recorder *r =
      open_recorder((hsc_recorder_options){.chunk_bytes = 4096, .max_bytes = 4 * 4096});
  enum { ONE_AFTER_THE_OTHER = 50, AT_ONCE = 12 };
  for (int i = 0; i < ONE_AFTER_THE_OTHER; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, record_one, r);
    pthread_join(thread, NULL);
  }
  // three chunks hold events, each the one of the thread that had it last
  assert_int_equal(hsc_recorder_lost_count(r), ONE_AFTER_THE_OTHER - 3);
  pthread_t threads[AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++)
    pthread_create(&threads[i], NULL, record_many, r);
  for (int i = 0; i < AT_ONCE; i++)
    pthread_join(threads[i], NULL);
  uint64_t lost = hsc_recorder_lost_count(r);
  assert_true(lost > 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  assert_true(hsc_capture_event_count(c) > 0);
  assert_non_null(strstr(hsc_capture_notes(c), "lost for want of room"));
  hsc_capture_close(c);
}

static void test_two_recorders_of_one_thread(void **state) {
  hsc_recorder *a = open_recorder(
      (hsc_recorder_options){.label = "a", .max_bytes = 64 << 10, .chunk_bytes = 4096});
  hsc_recorder *b = open_recorder(
      (hsc_recorder_options){.label = "b", .max_bytes = 64 << 10, .chunk_bytes = 4096});
  uint32_t name_a = hsc_recorder_intern(a, "x");
  uint32_t name_b = hsc_recorder_intern(b, "y");
  for (int i = 0; i < 100; i++) {  // each keeps its chunk and its stack
    uint64_t outer = hsc_span_begin(a, HSC_CATEGORY_USER, name_a, NULL, 0);
    uint64_t other = hsc_span_begin(b, HSC_CATEGORY_USER, name_b, NULL, 0);
    hsc_span_end(a, hsc_span_begin(a, HSC_CATEGORY_USER, name_a, NULL, 0), NULL, 0);
    hsc_span_end(b, other, NULL, 0);
    hsc_span_end(a, outer, NULL, 0);
  }
  assert_int_equal(hsc_recorder_lost_count(a) + hsc_recorder_lost_count(b), 0);
  hsc_recorder_close(a);
  hsc_recorder_close(b);
  hsc_capture *c = open_capture();
  assert_int_equal(hsc_capture_event_count(c), 300);
  // One process is shown as one, and what b recorded inside of a's spans is inside of them.
  const hsc_event *events = hsc_capture_events(c);
  uint64_t *roots = NULL;
  assert_null(hsc_capture_roots(c, &roots));
  int nested = 0;
  int outermost = 0;
  for (size_t i = 0; i < 300; i++) {
    nested += events[i].parent != 0;
    outermost += roots[i] == events[i].span;
    assert_int_equal(hsc_capture_thread_at(c, events[i].thread)->process, 0);
    for (size_t k = 0; k < i; k++)
      assert_true(events[k].span != events[i].span);
  }
  assert_int_equal(nested, 200);
  assert_int_equal(outermost, 100);
  hsc_free(roots);
  hsc_capture_close(c);
}

// Of runs in one folder the last one is shown: what has its number, its parents and children, and
// what ran at the same time.
static void test_runs_of_one_folder_are_told_apart(void **state) {
  static const struct {
    hsc_ring_life rings[4];
    int count, earlier;
    bool is_last[4];
  } cases[] = {
      {{{1, 1, 10, 5, 0, 9}, {2, 2, 11, 5, 20, 29}}, 2, 1, {false, true}},  // one after the other
      {{{1, 1, 10, 5, 0, 9}, {1, 1, 11, 5, 20, 29}}, 2, 0, {true, true}},   // of one number
      {{{1, 1, 10, 5, 0, 25}, {2, 2, 11, 6, 20, 29}}, 2, 0, {true, true}},  // at the same time
      {{{1, 1, 10, 5, 0, 9}, {2, 2, 11, 10, 20, 29}}, 2, 0, {true, true}},  // parent and child
      {{{1, 1, 10, 5, 20, 29}, {2, 2, 11, 5, 0, 9}}, 2, 1, {true, false}},  // in any order
      // a chain: the first with the third by the second
      {{{1, 1, 1, 0, 0, 10}, {2, 2, 2, 0, 9, 20}, {3, 3, 3, 0, 19, 30}}, 3, 0, {true, true, true}},
      {{{1, 1, 1, 0, 0, 1}, {2, 2, 2, 0, 2, 3}, {3, 3, 3, 0, 4, 9}, {4, 4, 4, 0, 5, 6}},
       4,
       2,
       {false, false, true, true}},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    bool is_last[4] = {false};
    assert_int_equal(hsc__capture_last_run(cases[i].rings, cases[i].count, is_last),
                     cases[i].earlier);
    assert_memory_equal(is_last, cases[i].is_last, sizeof is_last);
  }
}

// A run is one record, and three events: the call, the device, the memory behind it where that
// changed.
static void test_runs(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){0});
  uint32_t execute = hsc_recorder_intern(r, "execute");
  uint32_t on_device = hsc_recorder_intern(r, "run");
  uint32_t track = hsc_recorder_intern(r, "device 0");
  hsc_trace_attr attrs[2] = {{.key = hsc_recorder_intern(r, "executable"),
                              .type = HSC_ATTR_STRING,
                              .value.string = hsc_recorder_intern(r, "jit_f")},
                             {.key = hsc_recorder_intern(r, "run_id"), .type = HSC_ATTR_INT}};
  uint64_t step = hsc_span_begin(r, HSC_CATEGORY_USER, hsc_recorder_intern(r, "step"), NULL, 0);
  for (int i = 1; i <= 3; i++) {
    hsc__run run = hsc__run_begin(r, (uint32_t)attrs[0].value.string);
    assert_true(run.span && run.parent == step);
    attrs[1].value.i = i;
    hsc__run_end(r, &run, hsc__run_ticks(r), execute, on_device, track, i < 3, i == 1 ? 100 : 200,
                 attrs, 2);
  }
  hsc_span_end(r, step, NULL, 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  int calls = 0;
  int device = 0;
  int memory = 0;
  uint64_t last_call = 0;
  for (size_t i = 0; i < hsc_capture_event_count(c); i++) {
    const hsc_event *e = &hsc_capture_events(c)[i];
    if (e->category == HSC_CATEGORY_EXECUTE) {
      assert_string_equal(hsc_event_shown_name(c, e), "jit_f");
      assert_false(e->open);
    }
    if (e->category == HSC_CATEGORY_EXECUTE && e->kind == HSC_RECORD_BEGIN) {
      assert_int_equal(e->parent, step);
      assert_int_equal(hsc_event_attr(c, e, "run_id")->value.i, ++calls);
      last_call = e->span;
    } else if (e->category == HSC_CATEGORY_EXECUTE) {
      assert_int_equal(e->parent, last_call);
      assert_string_equal(hsc_capture_thread_at(c, e->thread)->name, "device 0");
      device++;
    } else if (e->kind == HSC_RECORD_COUNTER) {
      double bytes;
      memcpy(&bytes, &e->value, sizeof bytes);
      assert_true(bytes == (memory++ ? 200 : 100));
    }
  }
  assert_true(calls == 3 && device == 2 && memory == 2);
  hsc_capture_close(c);
}

// Runs that differ little from the one before are reported shortly. What is read is the same:
// through chunks that fill up, other executables, other spans between them, numbers that jump, a
// device that goes on after its call.
static void test_runs_again(void **state) {
  enum { RUNS = 2000 };
  hsc_recorder *r = open_recorder((hsc_recorder_options){.chunk_bytes = 8192});
  uint32_t execute = hsc_recorder_intern(r, "execute");
  uint32_t on_device = hsc_recorder_intern(r, "run");
  uint32_t track = hsc_recorder_intern(r, "device 0");
  uint32_t other = hsc_recorder_intern(r, "other");
  uint32_t names[3] = {hsc_recorder_intern(r, "jit_a"), hsc_recorder_intern(r, "jit_b"),
                       hsc_recorder_intern(r, "jit_c")};
  hsc_trace_attr attrs[3] = {
      {.key = hsc_recorder_intern(r, "executable"), .type = HSC_ATTR_STRING},
      {.key = hsc_recorder_intern(r, "run_id"), .type = HSC_ATTR_INT},
      {.key = hsc_recorder_intern(r, "devices"), .type = HSC_ATTR_INT, .value.i = 2}};
  uint64_t spans[RUNS];
  uint64_t step = 0;
  uint64_t steps[RUNS];
  for (int i = 0; i < RUNS; i++) {
    if (i % 50 == 10)
      step = hsc_span_begin(r, HSC_CATEGORY_USER, other, NULL, 0);
    if (i % 50 == 30) {
      hsc_span_end(r, step, NULL, 0);
      step = 0;
    }
    if (i % 7 == 3)
      hsc_trace_instant(r, HSC_CATEGORY_USER, other, NULL, 0);
    attrs[0].value.string = names[i % 3];
    attrs[1].value.i = i % 400 == 399 ? (int64_t)i << 40 : i;
    hsc__run run = hsc__run_begin(r, names[i % 3]);
    spans[i] = run.span;
    steps[i] = step;
    hsc__run_end(r, &run, run.begin_ticks + 1000 + (uint64_t)i, execute, on_device, track,
                 i % 11 != 5, (uint64_t)i * 8, attrs, i % 13 == 12 ? 3 : 2);
  }
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  int calls = 0;
  int device = 0;
  for (size_t k = 0; k < hsc_capture_event_count(c); k++) {
    const hsc_event *e = &hsc_capture_events(c)[k];
    if (e->category == HSC_CATEGORY_MEMORY) {
      double bytes;
      memcpy(&bytes, &e->value, sizeof bytes);
      assert_true(bytes >= 0 && bytes < RUNS * 8);
    }
    if (e->category != HSC_CATEGORY_EXECUTE)
      continue;
    if (e->kind == HSC_RECORD_COMPLETE) {
      device++;
      assert_string_equal(hsc_capture_thread_at(c, e->thread)->name, "device 0");
      continue;
    }
    int i = calls++;
    assert_int_equal(e->span, spans[i]);
    assert_int_equal(e->parent, steps[i]);
    assert_int_equal(hsc_event_attr(c, e, "run_id")->value.i,
                     i % 400 == 399 ? (int64_t)i << 40 : i);
    assert_int_equal(e->attr_count, i % 13 == 12 ? 3 : 2);
    const char want[] = {'j', 'i', 't', '_', (char)('a' + i % 3), 0};
    assert_string_equal(hsc_event_shown_name(c, e), want);
    assert_string_equal(e->name, "execute");
  }
  assert_int_equal(calls, RUNS);
  assert_int_equal(device, RUNS - (RUNS + 5) / 11);
  assert_string_equal(hsc_capture_notes(c), "");
  hsc_capture_close(c);
}

// A program that dies within a run leaves the run as open, with its name, also when what it
// recorded there filled a chunk.
static void die_within_a_run(int inside) {
  pid_t child = fork();
  if (child == 0) {
    hsc_recorder *r = NULL;
    if (hsc_recorder_open(&(hsc_recorder_options){.path = directory, .chunk_bytes = 4096}, &r))
      _exit(1);
    hsc_recorder_intern(r, "executable");
    uint32_t name = hsc_recorder_intern(r, "jit_dies");
    hsc__run run = hsc__run_begin(r, name);
    for (int i = 0; i < inside && run.span; i++)
      hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_USER, name, NULL, 0), NULL, 0);
    kill(getpid(), SIGKILL);
  }
  int code = 0;
  waitpid(child, &code, 0);
  assert_true(WIFSIGNALED(code));
  hsc_capture *c = open_capture();
  int open = 0;
  for (size_t i = 0; i < hsc_capture_event_count(c); i++) {
    const hsc_event *e = &hsc_capture_events(c)[i];
    if (e->category != HSC_CATEGORY_EXECUTE)
      continue;
    open++;
    assert_true(e->open);
    assert_string_equal(hsc_event_shown_name(c, e), "jit_dies");
  }
  assert_int_equal(open, 1);
  assert_int_equal(hsc_capture_event_count(c), inside + 1);
  hsc_capture_close(c);
}

static void test_death_within_a_run(void **state) {
  die_within_a_run(0);
}
static void test_death_within_a_long_run(void **state) {
  die_within_a_run(200);
}

// The only ring, with `size` bytes of it changed.
static void change_ring(size_t offset, const void *bytes, size_t size) {
  char path[128];
  snprintf(path, sizeof path, "%s/%ld-1.ring", directory, (long)getpid());
  int file = open(path, O_RDWR);
  assert_true(file >= 0 && pwrite(file, bytes, size, (off_t)offset) == (ssize_t)size);
  close(file);
}

static void test_a_newer_capture_is_refused(void **state) {
  hsc_recorder_close(open_recorder((hsc_recorder_options){0}));
  uint32_t version = 99;
  change_ring(offsetof(hsc_ring_header, version), &version, sizeof version);
  hsc_capture *c = NULL;
  hsc_status *status = hsc_capture_open(directory, &c);
  assert_int_equal(hsc_status_code(status), HSC_FAILED_PRECONDITION);
  assert_non_null(strstr(hsc_status_message(status), "newer hloscope: ring version 99"));
  hsc_status_free(status);
}

static void test_a_clock_that_goes_back(void **state) {
  hsc_recorder *r = open_recorder((hsc_recorder_options){0});
  uint64_t now = hsc_trace_ticks();
  hsc_span_complete(r, HSC_CATEGORY_EXECUTE, hsc_recorder_intern(r, "back"), 0, now, now - 5000000,
                    NULL, 0);
  hsc_span_complete(r, HSC_CATEGORY_EXECUTE, hsc_recorder_intern(r, "forth"), 0, now, now + 5000000,
                    NULL, 0);
  hsc_recorder_close(r);
  hsc_capture *c = open_capture();
  for (size_t i = 0; i < 2; i++)
    assert_true(hsc_capture_events(c)[i].duration_ns >= 0);
  assert_non_null(
      strstr(hsc_capture_notes(c), "1 spans ended before they began: the clock went back"));
  hsc_capture_close(c);
}

// A small file system of our own, where the machine allows one: `work` runs on it in a child. False
// when there is none to be had.
static bool on_small_disk(const char *options,
                          unsigned long flags,
                          int (*work)(void),
                          int *out_code) {
  pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", directory, "tmpfs", flags, options))
      _exit(99);
    _exit(work());
  }
  int code = 0;
  waitpid(child, &code, 0);
  *out_code = WIFEXITED(code) ? WEXITSTATUS(code) : 128;
  return *out_code != 99;
}

static int record_on_a_full_disk(void) {
  hsc_recorder *r = NULL;
  if (hsc_recorder_open(&(hsc_recorder_options){.path = directory, .chunk_bytes = 16 << 10}, &r))
    return 2;
  record_many(r);
  for (int i = 0; i < 20; i++)
    record_many(r);
  uint64_t lost = hsc_recorder_lost_count(r);
  hsc_recorder_close(r);
  hsc_capture *c = NULL;
  if (hsc_capture_open(directory, &c))
    return 3;
  size_t kept = hsc_capture_event_count(c);
  bool told = strstr(hsc_capture_notes(c), "lost for want of room") != NULL;
  hsc_capture_close(c);
  return lost > 0 && kept > 1000 && told ? 0 : 4;
}

static int record_on_a_read_only_disk(void) {
  hsc_recorder *r = NULL;
  hsc_status *status = hsc_recorder_open(&(hsc_recorder_options){.path = directory}, &r);
  return !r && hsc_status_code(status) == HSC_PERMISSION_DENIED ? 0 : 5;
}

static void test_a_full_disk(void **state) {
  int code = 0;
  if (!on_small_disk("size=600k", 0, record_on_a_full_disk, &code))
    skip();
  assert_int_equal(code, 0);
}

static void test_a_read_only_directory(void **state) {
  int code = 0;
  if (!on_small_disk("size=600k", MS_RDONLY, record_on_a_read_only_disk, &code))
    skip();
  assert_int_equal(code, 0);
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
    for (int k = 0; k < 20 && round % 2; k++)
      bad.data[hsc_random_below(&random, bad.size < 20000 ? bad.size : 20000)] ^=
          (char)(1 << hsc_random_below(&random, 8));
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

// test_trace kill N: only the kills, so many (make test-kill).
int main(int argc, char **argv) {
  if (argc > 2 && !strcmp(argv[1], "kill")) {
    kill_rounds = atoi(argv[2]);
    cmocka_set_test_filter("test_kill*");
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_spans_nest_and_keep_attributes, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_spans_deeper_than_the_recorder_counts, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_pause_and_categories, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_threads_have_rings_of_their_own, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_loss_is_counted, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_fork_goes_on_in_its_own_ring, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_kill_leaves_every_closed_span, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_damage_is_no_crash, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_more_threads_than_chunks, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_two_recorders_of_one_thread, make_directory,
                                      remove_directory),
      cmocka_unit_test(test_runs_of_one_folder_are_told_apart),
      cmocka_unit_test_setup_teardown(test_a_newer_capture_is_refused, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_a_clock_that_goes_back, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_a_full_disk, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_runs_again, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_runs, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_death_within_a_run, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_death_within_a_long_run, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_a_read_only_directory, make_directory, remove_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
