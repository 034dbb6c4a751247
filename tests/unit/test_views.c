// Views of captures: what the tables say of events whose times are known, the outputs that seeded
// the project among them; profiles that lie in a capture.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/random.h"
#include "base/files/file_io.h"
#include "trace/xspace.h"
#include "unit.h"
#include "views/top.h"
#include "views/views.h"

static char directory[64];
static hsc_recorder *recorder;
static hsc_capture *capture;
static uint64_t now;

static int make_directory(void **state) {
  snprintf(directory, sizeof directory, "/tmp/hsc-views-XXXXXX");
  if (!mkdtemp(directory))
    return -1;
  EXPECT_OK(hsc_recorder_open(&(hsc_recorder_options){.path = directory, .label = "pjrt tracer"},
                              &recorder));
  now = hsc_trace_ticks();
  return 0;
}

static int remove_directory(void **state) {
  hsc_capture_close(capture);
  capture = NULL;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

static uint32_t name(const char *text) {
  return hsc_recorder_intern(recorder, text);
}

// From here on one tick is one nanosecond, as on a machine whose counter ticks so.
static void open_of_process(bool closed);

static void open_as_nanoseconds(void) {
  open_of_process(true);
}

// `closed`: false: as a process leaves it that is killed.
static void open_of_process(bool closed) {
  hsc_recorder_close(recorder);
  char path[128];
  snprintf(path, sizeof path, "%s/%ld-1.ring", directory, (long)getpid());
  int file = open(path, O_RDWR);
  assert_true(file >= 0);
  uint32_t clock = HSC_CLOCK_MONOTONIC_RAW;
  assert_int_equal(pwrite(file, &clock, sizeof clock, offsetof(hsc_ring_header, clock)),
                   sizeof clock);
  uint32_t ended = closed;
  assert_int_equal(pwrite(file, &ended, sizeof ended, offsetof(hsc_ring_header, closed)),
                   sizeof ended);
  close(file);
  EXPECT_OK(hsc_capture_open(directory, &capture));
}

static hsc_table *view(const char *text) {
  hsc_view_id id;
  assert_true(hsc_view_of_name(text, &id));
  hsc_table *table = NULL;
  EXPECT_OK(hsc_view_table(capture, id, NULL, &table));
  return table;
}

static const hsc_cell *cell(const hsc_table *table, size_t row, const char *column) {
  for (size_t c = 0; c < hsc_table_column_count(table); c++)
    if (!strcmp(hsc_table_column_name(table, c), column))
      return hsc_table_cell(table, row, c);
  fail_msg("no column %s", column);
  return NULL;
}

static bool has_note(const hsc_table *table, const char *part) {
  for (size_t i = 0; i < hsc_table_note_count(table); i++)
    if (strstr(hsc_table_note_text(table, i), part))
      return true;
  return false;
}

// Four inferences, their times as printed by the system that is reported in the fifth seed: all of
// its numbers but the percentiles, for which four are too few.
static void test_four_inferences(void **state) {
  static const uint64_t durations[] = {3027309, 2111363, 1824769, 1584494};
  uint64_t at = now;
  for (size_t i = 0; i < 4; i++, at += 4000000)
    hsc_span_complete(recorder, HSC_CATEGORY_USER, name("inference"), 0, at, at + durations[i],
                      NULL, 0);
  open_as_nanoseconds();
  hsc_table *t = view("summary");
  assert_int_equal(hsc_table_row_count(t), 1);
  assert_int_equal(cell(t, 0, "count")->integer, 4);
  assert_true(cell(t, 0, "min")->number == 1584494 && cell(t, 0, "max")->number == 3027309);
  // 2136983.75, there rounded to 2136984
  assert_int_equal((int64_t)cell(t, 0, "mean")->number, 2136983);
  assert_true(cell(t, 0, "median")->number == 1968066);
  static const char *const percentiles[] = {"p90", "p95", "p97", "p99", "p99.9"};
  for (size_t i = 0; i < 5; i++)
    assert_int_equal(cell(t, 0, percentiles[i])->kind, HSC_CELL_MISSING);
  hsc_bytes text = {0};
  EXPECT_OK(hsc_table_print(t, HSC_FORMAT_TEXT, NULL, &text));
  assert_non_null(strstr(hsc_bytes_text(&text), "n/a (needs >= 2995)"));
  hsc_bytes_deinit(&text);
  hsc_table_destroy(t);
  t = view("inferences");
  assert_int_equal(hsc_table_row_count(t), 4);
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(cell(t, i, "dur")->integer, (int64_t)durations[i]);
  hsc_table_destroy(t);
}

// Executions of which the device says itself how long they took, with an IoWait below zero that was
// printed as 18446744073709540605.
static void test_wait_below_zero(void **state) {
  static const int64_t totals[] = {119145, 119363, 119157, 119219};
  static const uint64_t waits[] = {18446744073709540605u, 18446744073709540387u,
                                   18446744073709540593u, 18446744073709540531u};
  for (size_t i = 0; i < 4; i++) {
    hsc_trace_attr attrs[] = {
        {.key = name("run_id"), .type = HSC_ATTR_INT, .value.i = (int64_t)i + 1},
        {.key = name("total"), .type = HSC_ATTR_INT, .value.i = totals[i]},
        {.key = name("run"), .type = HSC_ATTR_INT, .value.i = 108134},
        {.key = name("wait"), .type = HSC_ATTR_UINT, .value.u = waits[i]}};
    hsc_span_end(recorder, hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, name("npu"), attrs, 4),
                 NULL, 0);
  }
  open_as_nanoseconds();
  hsc_table *t = view("executions");
  static const int64_t expected[] = {-11011, -11229, -11023, -11085};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(cell(t, i, "total")->integer, totals[i]);
    assert_int_equal(cell(t, i, "run")->integer, 108134);
    assert_int_equal(cell(t, i, "wait")->integer, expected[i]);
  }
  assert_true(has_note(t, "4 executions have a negative wait"));
  hsc_table_destroy(t);
}

static void test_categories_of_the_program(void **state) {
  hsc_category loading = hsc_recorder_category(recorder, "data loading");
  assert_int_equal(hsc_recorder_category(recorder, "data loading"), loading);
  hsc_category other = hsc_recorder_category(recorder, "evaluation");
  assert_true(loading != other && loading >= 1 << HSC_USER_CATEGORY_BIT);
  for (int i = 2; i < HSC_USER_CATEGORIES; i++) {
    char text[16];
    snprintf(text, sizeof text, "own %d", i);
    assert_true(hsc_recorder_category(recorder, text) != HSC_CATEGORY_USER);
  }
  assert_int_equal(hsc_recorder_category(recorder, "one too many"), HSC_CATEGORY_USER);
  hsc_trace_instant(recorder, other, name("here"), NULL, 0);
  hsc_span_end(recorder, hsc_span_begin(recorder, loading, name("read"), NULL, 0), NULL, 0);
  // Another ring of the same capture gives the names other numbers.
  hsc_recorder *second = NULL;
  EXPECT_OK(hsc_recorder_open(&(hsc_recorder_options){.path = directory}, &second));
  hsc_category again = hsc_recorder_category(second, "evaluation");
  hsc_trace_instant(second, again, hsc_recorder_intern(second, "there"), NULL, 0);
  hsc_recorder_close(second);
  open_as_nanoseconds();
  hsc_table *t = view("events");
  assert_int_equal(hsc_table_row_count(t), 3);
  for (size_t i = 0; i < 3; i++) {
    const char *what = cell(t, i, "name")->text;
    assert_string_equal(cell(t, i, "category")->text,
                        !strcmp(what, "read") ? "data loading" : "evaluation");
  }
  hsc_table_destroy(t);
}

// ---- profiles in a capture ----------------------------------------------------------------------

static void host_event(hsc_xwriter *w, const char *text, int64_t offset_ps, int64_t duration_ps) {
  int64_t meta = hsc_xwriter_begin_event_meta(w, 0, text, NULL);
  hsc_xwriter_end_event_meta(w);
  hsc_xwriter_begin_event(w, meta, offset_ps, duration_ps);
  hsc_xwriter_end_event(w);
}

static void operator(hsc_xwriter *w,
                     const char *op,
                     const char *module,
                     int64_t program,
                     int64_t run,
                     int64_t offset_ps,
                     int64_t duration_ps) {
  int64_t meta = hsc_xwriter_begin_event_meta(w, 0, op, NULL);
  hsc_xwriter_end_event_meta(w);
  hsc_xwriter_begin_event(w, meta, offset_ps, duration_ps);
  hsc_xwriter_stat_ref(w, "hlo_op", hsc_view_of(op));
  hsc_xwriter_stat_ref(w, "hlo_module", hsc_view_of(module));
  hsc_xwriter_stat_int(w, "program_id", program);
  hsc_xwriter_stat_int(w, "run_id", run);
  hsc_xwriter_stat_int(w, "device_ordinal", 0);
  hsc_xwriter_end_event(w);
}

static void write_profile(const char *file, hsc_view bytes) {
  char path[192];
  snprintf(path, sizeof path, "%s/profiles", directory);
  EXPECT_OK(hsc_dir_make(path));
  snprintf(path, sizeof path, "%s/profiles/%s", directory, file);
  EXPECT_OK(hsc_file_write_atomic(path, bytes.data, bytes.size));
}

static hsc_bytes profile_of_two_runs(int64_t start_wall_ns, int64_t first_ns) {
  hsc_bytes bytes = {0};
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, &bytes));
  hsc_xwriter_begin_plane(&w, 1, "/host:CPU");
  hsc_xwriter_begin_line(&w, 1, "tf_XLAPjRtCpuClient/1", first_ns);
  operator(&w, "fusion", "jit_f", 4, 700, 10000000, 5000000);  // 10 us on, 5 us long
  operator(&w, "add", "jit_f", 4, 700, 16000000, 2000000);
  // another program of the name, with an operator of the same name
  operator(&w, "fusion", "jit_f", 8, 9, 40000000, 3000000);
  hsc_xwriter_end_line(&w);
  hsc_xwriter_begin_line(&w, 2, "python", first_ns);
  host_event(&w, "PjitFunction(f)", 1000000, 2000000);
  host_event(&w, "BufferFromHostBuffer", 4000000, 1000000);
  host_event(&w, "end: fusion", 5000000, 1000000);
  hsc_xwriter_end_line(&w);
  hsc_xwriter_begin_line(&w, 3, "tf_PjRtCompilerThreadPool/7", first_ns);
  host_event(&w, "layout-assignment", 1000000, 2000000);
  hsc_xwriter_end_line(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_begin_plane(&w, 2, "Task Environment");
  hsc_xwriter_stat_uint(&w, "profile_start_time", (uint64_t)start_wall_ns);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_deinit(&w);
  EXPECT_OK(hsc_bytes_status(&bytes));
  return bytes;
}

static void call(int64_t run) {
  hsc_trace_attr attrs[] = {
      {.key = name("executable"), .type = HSC_ATTR_STRING, .value.string = name("jit_f")},
      {.key = name("run_id"), .type = HSC_ATTR_INT, .value.i = run}};
  hsc_span_end(recorder, hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, name("execute"), attrs, 2),
               NULL, 0);
}

// The tracer's clock and the profile's meet in the instant that the tracer records; runs find their
// calls, operators their programs.
static void test_profile_joins_its_process(void **state) {
  char file[64];
  snprintf(file, sizeof file, "%ld-1.xplane.pb", (long)getpid());
  int64_t wall = hsc_wall_ns();
  hsc_trace_attr told[] = {
      {.key = name("profile"), .type = HSC_ATTR_STRING, .value.string = name(file)},
      {.key = name("wall_ns"), .type = HSC_ATTR_INT, .value.i = wall}};
  hsc_trace_instant(recorder, HSC_CATEGORY_RUNTIME, name("profiler session"), told, 2);
  call(1);
  call(2);
  call(3);  // after the session's end
  // The profile's zero is the moment of the instant; its first line begins five seconds later,
  // after all calls.
  hsc_bytes bytes = profile_of_two_runs(wall, 5000000000);
  write_profile(file, hsc_bytes_view(&bytes));
  write_profile("4000000-1.xplane.pb", hsc_bytes_view(&bytes));
  write_profile("1-1.xplane.pb", hsc_view_of("not a profile"));
  hsc_bytes_deinit(&bytes);
  open_as_nanoseconds();
  assert_non_null(strstr(hsc_capture_notes(capture), "belongs to no process"));
  hsc_table *t = view("executions");
  assert_int_equal(hsc_table_row_count(t), 3);
  assert_string_equal(cell(t, 0, "measured")->text, "device");
  assert_string_equal(cell(t, 1, "measured")->text, "device");
  assert_string_equal(cell(t, 2, "measured")->text, "call");
  // from the first operator's begin to the last one's end
  assert_int_equal(cell(t, 0, "run")->integer, 8000);
  assert_int_equal(cell(t, 1, "run")->integer, 3000);
  assert_true(has_note(t, "2 executions were measured on the device, 1 from outside"));
  int64_t instant_ns = -1;
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++)
    if (hsc_capture_events(capture)[i].kind == HSC_RECORD_INSTANT)
      instant_ns = hsc_capture_events(capture)[i].start_ns;
  int64_t first_run = cell(t, 0, "start")->integer + cell(t, 0, "total")->integer - 8000;
  assert_int_equal(first_run - instant_ns, 5000010000);
  hsc_table_destroy(t);
  // A run is a row of that view, whether its device was recorded or not.
  t = view("executables");
  assert_int_equal(hsc_table_row_count(t), 1);
  assert_int_equal(cell(t, 0, "runs")->integer, 3);
  assert_int_equal(cell(t, 0, "measured")->integer, 2);
  assert_int_equal(cell(t, 0, "failed")->integer, 0);
  assert_true(cell(t, 0, "run mean")->number == 5500);
  assert_true(has_note(t, "2 executions were measured on the device, 1 from outside"));
  hsc_table_destroy(t);
  t = view("operators");
  assert_int_equal(hsc_table_row_count(t), 2);
  assert_string_equal(cell(t, 0, "name")->text, "fusion");
  assert_int_equal(cell(t, 0, "count")->integer, 2);
  assert_true(cell(t, 0, "total")->number == 8000);
  hsc_table_destroy(t);
  t = view("passes");
  assert_int_equal(hsc_table_row_count(t), 1);
  assert_string_equal(cell(t, 0, "name")->text, "layout-assignment");
  hsc_table_destroy(t);
  t = view("framework");
  assert_int_equal(hsc_table_row_count(t), 1);
  hsc_table_destroy(t);
  t = view("host-operators");
  assert_string_equal(cell(t, 0, "name")->text, "BufferFromHostBuffer");
  hsc_table_destroy(t);
}

// ---- executions and `top` -----------------------------------------------------------------------

static void device_run(int64_t run, const char *device, int64_t begin, int64_t end) {
  hsc_trace_attr attrs[] = {
      {.key = name("executable"), .type = HSC_ATTR_STRING, .value.string = name("jit_f")},
      {.key = name("run_id"), .type = HSC_ATTR_INT, .value.i = run}};
  hsc_span_complete(recorder, HSC_CATEGORY_EXECUTE, name("run"), name(device),
                    now + (uint64_t)begin, now + (uint64_t)end, attrs, 2);
}

// A process that was killed takes with it what its device was at: a call is no proof of a run that
// succeeded.
static void test_a_killed_process_leaves_ends_unknown(void **state) {
  for (int closed = 0; closed < 2; closed++) {
    if (closed)
      make_directory(state);
    call(1);
    call(2);
    device_run(1, "cpu:0", 100000000, 100002000);
    open_of_process(closed);
    hsc_table *t = view("executables");
    assert_int_equal(cell(t, 0, "runs")->integer, 2);
    assert_int_equal(cell(t, 0, "end unknown")->integer, !closed);
    // the other is known by its call alone, which is no time of a run
    assert_true(cell(t, 0, "run total")->number == 2000);
    assert_true(cell(t, 0, "run mean")->number == 2000);
    assert_int_equal(
        has_note(t, "of 1 execution it is not known whether it succeeded: its process"), !closed);
    hsc_table_destroy(t);
    if (!closed)
      remove_directory(state);
  }
}

// A call over two devices is one run; one that was refused is none; runs whose call nobody recorded
// are runs by their number.
static void test_what_an_execution_is(void **state) {
  call(1);
  call(2);
  hsc_trace_attr refused = {.key = name("error"), .type = HSC_ATTR_STRING, .value.string = 0};
  refused.value.string = name("no memory");
  hsc_trace_attr attrs[] = {
      {.key = name("executable"), .type = HSC_ATTR_STRING, .value.string = name("jit_f")},
      {.key = name("run_id"), .type = HSC_ATTR_INT, .value.i = 3}};
  hsc_span_end(recorder, hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, name("execute"), attrs, 2),
               &refused, 1);
  device_run(1, "cpu:0", 100000000, 100002000);
  device_run(1, "cpu:1", 100000000, 100004000);
  device_run(77, "cpu:0", 100010000, 100012000);
  device_run(77, "cpu:1", 100010000, 100011000);
  open_as_nanoseconds();
  hsc_table *t = view("executions");
  assert_int_equal(hsc_table_row_count(t), 4);
  assert_string_equal(cell(t, 0, "device")->text, "cpu:1 and 1 more");
  assert_string_equal(cell(t, 1, "measured")->text, "call");
  assert_string_equal(cell(t, 2, "measured")->text, "failed");
  assert_string_equal(cell(t, 3, "device")->text, "cpu:0 and 1 more");
  assert_int_equal(cell(t, 3, "run")->integer, 2000);
  assert_true(has_note(t, "1 call failed: refused, or with an error that came later"));
  hsc_table_destroy(t);
  t = view("executables");
  assert_int_equal(cell(t, 0, "runs")->integer, 3);
  assert_int_equal(cell(t, 0, "measured")->integer, 2);
  assert_int_equal(cell(t, 0, "failed")->integer, 1);
  assert_true(cell(t, 0, "run mean")->number == 3000);
  hsc_table_destroy(t);
}

static const int64_t A_SECOND_NS = 1000000000;

static hsc_table *top(int64_t now_ns) {
  hsc_table *table = NULL;
  EXPECT_OK(hsc_top_table(capture, 5 * A_SECOND_NS, now_ns, &table));
  return table;
}

// Rates are of the last seconds before now, not of the last seconds that were recorded.
static void test_top_ages(void **state) {
  enum { RUNS = 20 };
  for (int64_t i = 0; i < RUNS; i++)
    device_run(i + 1, "cpu:0", 1000000 * i, 1000000 * i + 500000);
  open_as_nanoseconds();
  hsc_table *t = top(1 * A_SECOND_NS);
  assert_int_equal(hsc_table_row_count(t), 1);
  assert_true(fabs(cell(t, 0, "runs_per_second")->number - RUNS) < 1);
  hsc_table_destroy(t);
  t = top(3 * A_SECOND_NS);  // further from the runs, the same window: fewer a second
  assert_true(cell(t, 0, "runs_per_second")->number < RUNS / 2.0);
  hsc_table_destroy(t);
  t = top(20 * A_SECOND_NS);
  assert_int_equal(hsc_table_row_count(t), 0);
  assert_true(has_note(t, "0 executions/s"));
  assert_true(has_note(t, "nothing ran in the last 5 s; the last execution ended"));
  hsc_table_destroy(t);
  t = top(INT64_MIN);
  assert_true(has_note(t, "the program has ended: these are its last"));
  assert_int_equal(cell(t, 0, "runs")->integer, RUNS);
  hsc_table_destroy(t);
}

// A call that compiled first is a run, but its time is none.
static void test_a_call_that_compiles_times_no_run(void **state) {
  hsc_trace_attr attrs[] = {
      {.key = name("executable"), .type = HSC_ATTR_STRING, .value.string = name("jit_f")},
      {.key = name("run_id"), .type = HSC_ATTR_INT, .value.i = 1}};
  uint64_t first = hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, name("execute"), attrs, 2);
  hsc_span_end(recorder, hsc_span_begin(recorder, HSC_CATEGORY_COMPILE, name("compile"), attrs, 1),
               NULL, 0);
  hsc_span_end(recorder, first, NULL, 0);
  open_as_nanoseconds();
  hsc_table *t = view("executables");
  assert_int_equal(cell(t, 0, "runs")->integer, 1);
  assert_int_equal(cell(t, 0, "run mean")->kind, HSC_CELL_MISSING);
  assert_true(cell(t, 0, "run total")->number == 0);
  assert_true(has_note(t, "1 of these calls compiled first"));
  hsc_table_destroy(t);
}

// Of a program on XLA:CPU that runs, the operators of the last seconds are in no profile yet.
static void test_top_counts_calls(void **state) {
  for (int i = 1; i <= 5; i++)
    call(i);
  open_as_nanoseconds();
  hsc_table *t = top(A_SECOND_NS);
  assert_int_equal(hsc_table_row_count(t), 1);
  assert_int_equal(cell(t, 0, "runs")->integer, 5);
  assert_true(has_note(t, "5 of 5 were timed from outside, by their call alone"));
  hsc_table_destroy(t);
}

// Cut and flipped profiles are noted and leave the rings readable.
static void test_damaged_profile(void **state) {
  char file[64];
  snprintf(file, sizeof file, "%ld-1.xplane.pb", (long)getpid());
  call(1);
  hsc_recorder_close(recorder);
  hsc_bytes bytes = profile_of_two_runs(hsc_wall_ns(), 0);
  hsc_random random;
  hsc_random_init(&random, 7);
  for (int round = 0; round < 300; round++) {
    hsc_bytes bad = {0};
    hsc_bytes_append(&bad, bytes.data, bytes.size);
    for (int k = 0; k < 1 + round % 8; k++)
      bad.data[hsc_random_below(&random, bad.size)] ^= (char)(1 << hsc_random_below(&random, 8));
    write_profile(
        file,
        (hsc_view){bad.data, round % 3 ? bad.size : (size_t)hsc_random_below(&random, bad.size)});
    hsc_bytes_deinit(&bad);
    EXPECT_OK(hsc_capture_open(directory, &capture));
    hsc_table *t = view("executions");
    assert_true(hsc_table_row_count(t) >= 1);  // the call, and runs that are nobody's
    hsc_table_destroy(t);
    hsc_capture_close(capture);
    capture = NULL;
  }
  hsc_bytes_deinit(&bytes);
}

// A part of the wall time on a line of its own.
static void part(hsc_category category, const char *what, int64_t begin, int64_t end) {
  hsc_span_complete(recorder, category, name(what), name(what), now + (uint64_t)begin,
                    now + (uint64_t)end, NULL, 0);
}

// Parts do not overlap and add up: what happens at once is of the first of compute, transfer,
// compile, host, idle.
static void test_parts_of_time_add_up(void **state) {
  part(HSC_CATEGORY_USER, "label", 0, 1000);
  part(HSC_CATEGORY_COMPILE, "compile", 100, 500);
  part(HSC_CATEGORY_PASS, "fusion", 200, 300);   // of the compilation
  part(HSC_CATEGORY_EXECUTE, "run", 400, 700);   // while the next one is compiled
  part(HSC_CATEGORY_OPERATOR, "dot", 450, 600);  // of the run
  part(HSC_CATEGORY_TRANSFER, "to host", 650, 800);
  part(HSC_CATEGORY_WAIT, "await", 1500, 1600);
  open_as_nanoseconds();
  hsc_table *table = view("time");
  static const struct {
    const char *part;
    int64_t ns;
  } wanted[] = {
      {"compute", 300}, {"transfer", 100}, {"compile", 300}, {"host", 400}, {"idle", 500}};
  assert_int_equal(hsc_table_row_count(table), HSC_COUNT_OF(wanted));
  int64_t sum = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(wanted); i++) {
    assert_string_equal(cell(table, i, "part")->text, wanted[i].part);
    assert_int_equal(cell(table, i, "time")->integer, wanted[i].ns);
    sum += cell(table, i, "time")->integer;
  }
  assert_int_equal(sum, 1600);
  hsc_table_destroy(table);
  table = view("summary");
  assert_true(has_note(table, "of 1.60 us: compute 300 ns"));
  hsc_table_destroy(table);
}

static void operator_at(const char *what, int64_t begin, int64_t end) {
  hsc_span_complete(recorder, HSC_CATEGORY_OPERATOR, name(what), 0, now + (uint64_t)begin,
                    now + (uint64_t)end, NULL, 0);
}

// A loop's time holds that of the operators in it; shares are of their own time and add up.
static void test_shares_of_nested_operators_add_up(void **state) {
  operator_at("while", 0, 1000);
  operator_at("add", 100, 400);
  operator_at("add", 500, 900);
  operator_at("dot", 1000, 2000);
  open_as_nanoseconds();
  hsc_table *table = view("operators");
  assert_int_equal(hsc_table_row_count(table), 3);
  double sum = 0;
  for (size_t i = 0; i < 3; i++) {
    const char *what = cell(table, i, "name")->text;
    double share = cell(table, i, "share")->number;
    sum += share;
    double wanted = *what == 'w' ? 300.0 / 2000 : *what == 'a' ? 700.0 / 2000 : 0.5;
    assert_true(fabs(share - wanted) < 1e-9);
  }
  assert_true(fabs(sum - 1) < 1e-9);
  assert_true(has_note(table, "share is of their own time"));
  hsc_table_destroy(table);
}

static void of_program(
    hsc_category category, const char *what, const char *program, int64_t begin, int64_t end) {
  hsc_trace_attr attrs[] = {
      {.key = name("executable"), .type = HSC_ATTR_STRING, .value.string = name(program)}};
  hsc_span_complete(recorder, category, name(what), 0, now + (uint64_t)begin, now + (uint64_t)end,
                    attrs, 1);
}

// A run on two devices is from the first one's begin to the last one's end: neither of the two
// alone, and not their sum.
static void test_a_run_on_two_devices_is_one(void **state) {
  call(1);
  device_run(1, "cpu:0", 100001000, 100005000);
  device_run(1, "cpu:1", 100003000, 100006000);
  open_as_nanoseconds();
  hsc_table *table = view("executions");
  assert_int_equal(hsc_table_row_count(table), 1);
  assert_int_equal(cell(table, 0, "run")->integer, 5000);
  hsc_table_destroy(table);
  table = view("executables");
  assert_int_equal(cell(table, 0, "runs")->integer, 1);
  assert_true(cell(table, 0, "run total")->number == 5000);
  hsc_table_destroy(table);
}

// A program's share is of the time on the device: what compiling took is beside it and counts in no
// share, nor does what never ran.
static void test_shares_of_programs_leave_compiling_out(void **state) {
  static const struct {
    const char *program;
    int64_t compiles, runs;
    double compile_ns, run_ns, share;
  } wanted[] = {{"f", 2, 3, 1600000, 600, 0.75},
                {"g", 1, 1, 5000000, 200, 0.25},
                {"never run", 1, 0, 9000000, 0, 0}};
  of_program(HSC_CATEGORY_COMPILE, "compile", "f", 0, 1500000);
  of_program(HSC_CATEGORY_COMPILE, "compile", "f", 2000000, 2100000);
  of_program(HSC_CATEGORY_COMPILE, "compile", "g", 3000000, 8000000);
  of_program(HSC_CATEGORY_COMPILE, "compile", "never run", 9000000, 18000000);
  of_program(HSC_CATEGORY_EXECUTE, "run", "f", 20000000, 20000100);
  of_program(HSC_CATEGORY_EXECUTE, "run", "f", 20001000, 20001200);
  of_program(HSC_CATEGORY_EXECUTE, "run", "f", 20002000, 20002300);
  of_program(HSC_CATEGORY_EXECUTE, "run", "g", 20003000, 20003200);
  open_as_nanoseconds();
  hsc_table *table = view("executables");
  assert_int_equal(hsc_table_row_count(table), HSC_COUNT_OF(wanted));
  for (size_t i = 0; i < HSC_COUNT_OF(wanted); i++) {
    assert_string_equal(cell(table, i, "executable")->text, wanted[i].program);
    assert_int_equal(cell(table, i, "compiles")->integer, wanted[i].compiles);
    assert_int_equal(cell(table, i, "runs")->integer, wanted[i].runs);
    assert_true(cell(table, i, "compile total")->number == wanted[i].compile_ns);
    assert_true(cell(table, i, "run total")->number == wanted[i].run_ns);
    assert_true(cell(table, i, "share")->number == wanted[i].share);
    if (wanted[i].runs)
      assert_true(cell(table, i, "run mean")->number == wanted[i].run_ns / (double)wanted[i].runs);
    else
      assert_int_equal(cell(table, i, "run mean")->kind, HSC_CELL_MISSING);
  }
  hsc_table_destroy(table);
}

// A frontend's call that names no run is dispatch, where the device's runs were recorded.
static void test_a_call_beside_recorded_runs_is_no_compute(void **state) {
  hsc_span_end(recorder, hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, name("execute"), NULL, 0),
               NULL, 0);
  part(HSC_CATEGORY_EXECUTE, "run", 1000000000000, 1000000000300);
  open_as_nanoseconds();
  hsc_table *table = view("time");
  assert_string_equal(cell(table, 0, "part")->text, "compute");
  assert_int_equal(cell(table, 0, "time")->integer, 300);
  hsc_table_destroy(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_shares_of_nested_operators_add_up, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_a_call_beside_recorded_runs_is_no_compute,
                                      make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_shares_of_programs_leave_compiling_out, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_a_run_on_two_devices_is_one, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_four_inferences, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_parts_of_time_add_up, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_wait_below_zero, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_categories_of_the_program, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_profile_joins_its_process, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_damaged_profile, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_what_an_execution_is, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_a_killed_process_leaves_ends_unknown, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_a_call_that_compiles_times_no_run, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(test_top_ages, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(test_top_counts_calls, make_directory, remove_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
