// Captures of several hosts on one time line: what is measured of their clocks, and what is said
// where nothing was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "trace/capture.h"
#include "trace/host_clocks.h"

static const int64_t SECOND_NS = 1000000000;
static const int64_t BOOTED_EARLIER_NS = 5000 * (int64_t)1000000000;
static const int64_t AHEAD_NS = 3 * (int64_t)1000000000;

static char folder[64], clocks_path[96];
// At most so much lies between the two spans as they were recorded. Half a second more is for
// clocks that are read one after the other.
static double recording_s;

static void check(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

static void record(const char *label) {
  hsc_recorder *r = NULL;
  check(hsc_recorder_open(&(hsc_recorder_options){.path = folder, .label = label}, &r));
  hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_EXECUTE, hsc_recorder_intern(r, label), NULL, 0),
               NULL, 0);
  hsc_recorder_close(r);
}

// The header of the ring with this label, changed by `change` in its file.
static void change_ring(const char *label, void (*change)(hsc_ring_header *header)) {
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  int changed = 0;
  for (struct dirent *entry; (entry = readdir(directory));) {
    char path[400];
    hsc_ring_header header;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (!hsc_ends_with(entry->d_name, ".ring"))
      continue;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    if (!strcmp(header.label, label)) {
      change(&header);
      rewind(file);
      assert_int_equal(fwrite(&header, sizeof header, 1, file), 1);
      changed++;
    }
    fclose(file);
  }
  closedir(directory);
  assert_int_equal(changed, 1);
}

static void write_clocks(const char *text) {
  FILE *file = fopen(clocks_path, "wb");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void be_of_one_run(hsc_ring_header *header) {
  header->trace_id_low = header->trace_id_high = 7;
}

// Another host, which was booted earlier and whose wall clock is ahead.
static void move_to_host_b(hsc_ring_header *header) {
  snprintf(header->host, sizeof header->host, "b");
  header->pid++;
  header->first_raw_ns += BOOTED_EARLIER_NS;
  header->last_raw_ns += BOOTED_EARLIER_NS;
  header->first_wall_ns += AHEAD_NS;
  header->last_wall_ns += AHEAD_NS;
  header->wall_error_ns = -1;
}

// An hour, in which b's raw clock counts 50 ppm more than its wall clock.
static void last_an_hour(hsc_ring_header *header) {
  double rate = strcmp(header->host, "b") ? 1 : 1 + 50e-6;
  double ticks_per_ns = header->clock == HSC_CLOCK_TSC ? 2.5 : 1;
  header->last_wall_ns = header->first_wall_ns + 3600 * SECOND_NS;
  header->last_raw_ns = header->first_raw_ns + (int64_t)(3600e9 * rate);
  header->last_ticks = header->first_ticks + (uint64_t)(3600e9 * rate * ticks_per_ns);
}

static int make(void **state) {
  snprintf(folder, sizeof folder, "/tmp/hsc-clocks-XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  snprintf(clocks_path, sizeof clocks_path, "%s/" HSC_HOST_CLOCKS_FILE, folder);
  int64_t begin_ns = hsc_now_ns();
  record("first");
  record("second");
  recording_s = (double)(hsc_now_ns() - begin_ns) * 1e-9;
  change_ring("first", be_of_one_run);
  change_ring("second", be_of_one_run);
  change_ring("second", move_to_host_b);
  return 0;
}

static int drop(void **state) {
  char command[96];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

// Where the two spans begin on the time line: the second's is later by what passed between them.
static double between_s(hsc_capture **out_capture) {
  check(hsc_capture_open(folder, out_capture));
  const hsc_event *events = hsc_capture_events(*out_capture);
  double begins[2] = {0};
  size_t spans = 0;
  for (size_t i = 0; i < hsc_capture_event_count(*out_capture); i++)
    if (hsc_event_is_span(&events[i]) && spans++ < 2)
      begins[!strcmp(events[i].name, "second")] = (double)events[i].start_ns * 1e-9;
  assert_int_equal(spans, 2);
  return begins[1] - begins[0];
}

static void test_wall_clocks_align_hosts(void **state) {
  hsc_capture *capture = NULL;
  double between = between_s(&capture);
  assert_true(between > 2.5 && between < 3.5 + recording_s);
  assert_int_equal(hsc_capture_host_count(capture), 2);
  assert_non_null(strstr(hsc_capture_notes(capture), "how far b's is off is not known"));
  for (int i = 0; i < hsc_capture_process_count(capture); i++)
    if (!strcmp(hsc_capture_process_at(capture, i)->host, "b"))
      assert_int_equal(hsc_capture_process_at(capture, i)->clock_error_ns, -1);
  hsc_capture_close(capture);
}

static void test_measured_clocks_align_hosts(void **state) {
  hsc_capture *capture = NULL;
  char own[256] = "";
  char text[512];
  gethostname(own, sizeof own - 1);
  int64_t now = (int64_t)time(NULL) * SECOND_NS;
  snprintf(text, sizeof text,
           "# host\twall_ns\toffset_ns\terror_ns\n%s\t%lld\t0\t0\nb\t%lld\t%lld\t2000\n", own,
           (long long)now, (long long)now, (long long)AHEAD_NS);
  write_clocks(text);
  double between = between_s(&capture);
  assert_true(between > -0.5 && between < 0.5 + recording_s);
  assert_non_null(strstr(hsc_capture_notes(capture), "2 hosts are aligned"));
  for (int i = 0; i < hsc_capture_process_count(capture); i++) {
    const hsc_capture_process *p = hsc_capture_process_at(capture, i);
    // the measurement's own error, and some for the time since
    int64_t least = strcmp(p->host, "b") ? 0 : 2000;
    assert_in_range(p->clock_error_ns, least, least + 10 * 60 * 15000);
  }
  hsc_capture_close(capture);
}

static void test_raw_clocks_run_apart(void **state) {
  hsc_capture *capture = NULL;
  change_ring("first", last_an_hour);
  change_ring("second", last_an_hour);
  double between = between_s(&capture);
  for (int i = 0; i < hsc_capture_process_count(capture); i++) {
    const hsc_capture_process *p = hsc_capture_process_at(capture, i);
    // 50 ppm of an hour are 180 ms
    assert_true(fabs((double)(p->end_ns - p->start_ns) * 1e-9 - 3600) < 0.001);
  }
  assert_true(between > 2.5 && between < 3.5 + recording_s);
  hsc_capture_close(capture);
}

static void test_damaged_clocks_are_named(void **state) {
  static const char *const damaged[] = {"b",
                                        "b\t1\t2\n",
                                        "b\t1\t2\tx\n",
                                        "\t1\t2\t3\n",
                                        "b\t1\t2\t-3\n",
                                        "b\t1\t2\t3\t4\n",
                                        "b\t99999999999999999999\t2\t3\n"};
  for (size_t i = 0; i < HSC_COUNT_OF(damaged); i++) {
    hsc_capture *capture = NULL;
    write_clocks(damaged[i]);
    hsc_status *status = hsc_capture_open(folder, &capture);
    assert_int_equal(hsc_status_code(status), HSC_DATA_LOSS);
    assert_non_null(strstr(hsc_status_message(status), HSC_HOST_CLOCKS_FILE ":1"));
    assert_null(capture);
    hsc_status_free(status);
  }
}

static void test_offsets_are_interpolated(void **state) {
  hsc_arena *arena = NULL;
  hsc_host_clocks clocks;
  int64_t offset = 0;
  int64_t error = 0;
  check(hsc_arena_create(&arena));
  write_clocks("b\t2000000000000\t3000\t50\na\t1\t2\t3\nb\t1000000000000\t1000\t70\n");
  check(hsc_host_clocks_read(clocks_path, arena, &clocks));
  assert_int_equal(clocks.count, 3);
  assert_false(hsc_host_clocks_at(&clocks, "c", 5, &offset, &error));
  assert_true(hsc_host_clocks_at(&clocks, "b", 1500000001000, &offset, &error));
  assert_int_equal(offset, 2000);
  assert_int_equal(error, 70);
  // before the first and after the last: 15 ppm of a thousand seconds are 15 ms
  assert_true(hsc_host_clocks_at(&clocks, "b", 1000, &offset, &error));
  assert_int_equal(offset, 1000);
  assert_in_range(error, 15000069, 15000071);
  assert_true(hsc_host_clocks_at(&clocks, "b", 3000000003000, &offset, &error));
  assert_int_equal(offset, 3000);
  assert_in_range(error, 15000049, 15000051);
  hsc_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_wall_clocks_align_hosts, make, drop),
      cmocka_unit_test_setup_teardown(test_measured_clocks_align_hosts, make, drop),
      cmocka_unit_test_setup_teardown(test_raw_clocks_run_apart, make, drop),
      cmocka_unit_test_setup_teardown(test_damaged_clocks_are_named, make, drop),
      cmocka_unit_test_setup_teardown(test_offsets_are_interpolated, make, drop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
