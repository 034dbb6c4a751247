// test_causes.c - what a run lost to others is named as the cause, whatever phase it hit; the
// kernel's files are read from fake roots.
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/patterns/patterns_internal.h"
#include "unit.h"
#include "worker/pressure.h"

enum { TRIALS = 6, USUAL_NS = 10000000, SLOW_NS = 110000000 };

// The run of one trial; the slow one's time went to its transfer, and `field` says to whom.
static json_t *record_of(bool slow, const char *field) {
  json_t *record = json_pack(
      "{s:I, s:s, s:I, s:I, s:I}", "total_ns", (json_int_t)(slow ? SLOW_NS : USUAL_NS), "compile",
      "memory", "transfer_in_ns", (json_int_t)(slow ? SLOW_NS - USUAL_NS : 1000), "enqueue_ns",
      (json_int_t)USUAL_NS / 2, "wait_ns", (json_int_t)USUAL_NS / 2);
  if (slow && field)
    json_object_set_new(record, field, json_integer(strcmp(field, "stops") ? 90000000 : 1));
  return record;
}

// The cause that is named for a run of 110 ms among runs of 10 ms.
static void cause_of(const char *field, char out_cause[300]) {
  hsc_patterns_options options = {0};
  json_t *trials[TRIALS];
  json_t *causes = json_array();
  for (int t = 0; t < TRIALS; t++)
    trials[t] = json_pack("{s:[o, o], s:s}", "records", record_of(false, NULL),
                          record_of(t == 3, field), "client", "1");
  pattern_config config = {.trials = trials};
  patterns_run run = {.options = &options, .configs = &config, .config_count = 1, .trials = TRIALS};
  EXPECT_OK(hsc__patterns_causes(&run, &config, causes));
  assert_int_equal(json_array_size(causes), 1);
  json_t *row = json_array_get(causes, 0);
  assert_int_equal(json_integer_value(json_object_get(row, "trial")), 4);
  snprintf(out_cause, 300, "%s", json_string_value(json_object_get(row, "cause")));
  json_decref(causes);
  for (int t = 0; t < TRIALS; t++)
    json_decref(trials[t]);
}

static void who_took_the_time_is_named_before_the_phase(void **state) {
  static const struct {
    const char *field, *says;
    bool alone;  // the phase is not blamed as well
  } rows[] = {
      {"stops", "the worker was stopped", true},
      {"throttled_ns", "throttled: the control group's processor quota was used up, 90.0 ms", true},
      {"runqueue_ns", "ready to run, but others had the processor, 90.0 ms", true},
      {"memory_pressure_ns", "memory pressure: the machine reclaimed or swapped memory for 90.0 ms",
       false},
      {"pressure_ns", "pressure: somebody on the machine waited for a processor for 90.0 ms",
       false},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    char cause[300];
    cause_of(rows[i].field, cause);
    if (strncmp(cause, rows[i].says, strlen(rows[i].says)) != 0 ||
        (rows[i].alone && strstr(cause, "transferred")))
      fail_msg("%s: %s", rows[i].field, cause);
  }
}

static void a_run_that_lost_nothing_to_others_has_its_phase_as_the_cause(void **state) {
  char cause[300];
  cause_of(NULL, cause);
  assert_non_null(strstr(cause, "transferred"));
}

static void write_text(const char *root, const char *name, const char *text) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", root, name);
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
}

static void pressure_is_read_from_the_kernels_files(void **state) {
  char root[] = "/tmp/hsc-pressure-XXXXXX";
  char command[200];
  hsc_pressure found;
  assert_non_null(mkdtemp(root));
  snprintf(command, sizeof command, "mkdir -p %s/proc/pressure", root);
  assert_int_equal(system(command), 0);
  write_text(root, "proc/pressure/cpu", "some avg10=99.00 avg60=1 avg300=1 total=1500\n");
  write_text(root, "proc/pressure/memory",
             "some avg10=3.1 avg60=0 avg300=0 total=70\nfull avg10=0 avg60=0 avg300=0 total=20\n");
  hsc_pressure_read(root, &found);
  snprintf(command, sizeof command, "rm -rf %s", root);
  assert_int_equal(system(command), 0);
  assert_int_equal(found.waited_ns, 1500000);
  assert_int_equal(found.memory_ns, 70000);
}

// ---- what a real machine does -------------------------------------------------------------------

static void spin(int64_t ns) {
  for (int64_t end = hsc_now_ns() + ns; hsc_now_ns() < end;)
    continue;
}

// Two processes on one processor: each is ready to run for half of the time, and does not.
static void a_hog_of_the_processor_is_seen(void **state) {
  enum { SPIN_NS = 300000000 };
  cpu_set_t all;
  cpu_set_t one;
  int cpu = 0;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  while (!CPU_ISSET(cpu, &all))
    cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  pid_t hog = fork();
  if (hog == 0) {
    spin(4 * (int64_t)SPIN_NS);
    _exit(0);
  }
  hsc_pressure before;
  hsc_pressure_get(&before);
  spin(SPIN_NS);
  hsc_pressure lost = hsc_pressure_since(&before);
  kill(hog, SIGKILL);
  waitpid(hog, NULL, 0);
  sched_setaffinity(0, sizeof all, &all);
  if (access("/proc/self/schedstat", R_OK) != 0)
    skip();
  assert_true(lost.runqueue_ns > SPIN_NS / 5);
}

static bool put_number(const char *group, const char *name, long long number) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", group, name);
  FILE *file = fopen(path, "w");
  bool good = file && fprintf(file, "%lld\n", number) > 0;
  if (file && fclose(file) != 0)
    good = false;
  return good;
}

// A group of control groups, version 1, that may have a hundredth of a processor (what it gets of
// a busy machine is more than that): what a child of it lost. -1: no such group can be made here.
static int64_t lost_in_a_small_group(void) {
  char group[100];
  int64_t lost = -1;
  int ends[2];
  snprintf(group, sizeof group, "/sys/fs/cgroup/cpu/hsc-test-%d", (int)getpid());
  if (mkdir(group, 0700) != 0)
    return -1;
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    hsc_pressure before;
    bool made = put_number(group, "cpu.cfs_period_us", 100000) &&
                put_number(group, "cpu.cfs_quota_us", 1000) &&
                put_number(group, "cgroup.procs", getpid());
    hsc_pressure_get(&before);
    spin(made ? 500000000 : 0);
    lost = made ? hsc_pressure_since(&before).throttled_ns : -1;
    _exit(write(ends[1], &lost, sizeof lost) == sizeof lost ? 0 : 1);
  }
  assert_int_equal(read(ends[0], &lost, sizeof lost), sizeof lost);
  close(ends[0]);
  close(ends[1]);
  waitpid(child, NULL, 0);
  rmdir(group);
  return lost;
}

static void a_small_quota_is_seen(void **state) {
  int64_t lost = lost_in_a_small_group();
  if (lost < 0)
    skip();
  assert_true(lost > 100000000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_took_the_time_is_named_before_the_phase),
      cmocka_unit_test(a_run_that_lost_nothing_to_others_has_its_phase_as_the_cause),
      cmocka_unit_test(pressure_is_read_from_the_kernels_files),
      cmocka_unit_test(a_hog_of_the_processor_is_seen),
      cmocka_unit_test(a_small_quota_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
