// test_dataset.c - captures of several hosts as one: who is late in which collective, and why.
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/parquet/parquet.h"
#include "unit.h"
#include "views/dataset.h"

enum { TIMES = 40 };
static const double US = 1000;

// What one host does before each collective, in µs; the last of them is behind on purpose.
typedef struct host {
  const char *name;
  double clock_us;  // its clock is ahead by so much
  double compiles, transfers, operators, code;
  int skips;  // collectives at the end that were not recorded
} host;

static char dir[64];

static int set_up(void **state) {
  snprintf(dir, sizeof dir, "/tmp/hloscope-dataset-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

static hsc_status *collect(void *user, hsc_view bytes) {
  hsc_bytes_append(user, bytes.data, bytes.size);
  return NULL;
}

typedef struct writer {
  hsc_parquet *file;
  double at_us, clock_us;
} writer;

static void put(writer *w, const char *category, const char *name, const char *track, double us) {
  hsc_parquet_int(w->file, (int64_t)(1.7e15 + w->at_us + w->clock_us));
  hsc_parquet_int(w->file, (int64_t)(w->at_us * US));
  hsc_parquet_int(w->file, (int64_t)(us * US));
  hsc_parquet_int(w->file, 7);
  hsc_parquet_text(w->file, hsc_view_of(track));
  hsc_parquet_text(w->file, hsc_view_of(category));
  hsc_parquet_text(w->file, hsc_view_of(name));
  hsc_parquet_text(w->file, hsc_view_of("jit_step"));
}

// Jitter that is the same in every run of the test.
static double jitter(int host_number, int time) {
  uint32_t x = (uint32_t)host_number * 2654435761u + (uint32_t)time * 40503u;
  x = (x ^ x >> 13) * 0x5bd1e995u;
  return (double)((x ^ x >> 15) % 17);
}

static double before_us(const host *h, int number, int time) {
  return h->compiles + h->transfers + h->operators + h->code + jitter(number, time);
}

// The capture of hosts[number], as export --to=parquet writes it: all begin a step together, and a
// collective ends everywhere 5 µs after the last one has come.
static void write_host(const char *set, const host *hosts, int count, int number) {
  static const hsc_parquet_column columns[] = {
      {"time", HSC_PARQUET_TIMESTAMP_US}, {"start_ns", HSC_PARQUET_INT64},
      {"duration_ns", HSC_PARQUET_INT64}, {"pid", HSC_PARQUET_INT64},
      {"thread", HSC_PARQUET_TEXT},       {"category", HSC_PARQUET_TEXT},
      {"name", HSC_PARQUET_TEXT},         {"executable", HSC_PARQUET_TEXT}};
  const host *h = &hosts[number];
  char path[512];
  hsc_bytes bytes = {0};
  writer w = {.clock_us = h->clock_us};
  double step_us = 1000;
  EXPECT_OK(hsc_parquet_create(columns, HSC_COUNT_OF(columns), collect, &bytes, &w.file));
  for (int t = 0; t < TIMES - h->skips; t++) {
    double last_us = 0;
    for (int i = 0; i < count; i++)
      last_us = fmax(last_us, before_us(&hosts[i], i, t));
    w.at_us = step_us + h->code + jitter(number, t);
    put(&w, "compile", "compile", "main", h->compiles);
    put(&w, "pass", "fusion", "main", h->compiles / 2);  // lies in it, and is not counted
    w.at_us += h->compiles;
    put(&w, "transfer", "host to device", "main", h->transfers);
    w.at_us += h->transfers;
    put(&w, "operator", "fusion.1", "device 0", h->operators);
    put(&w, "operator", "fusion.1.part", "device 0", h->operators / 2);
    w.at_us += h->operators;
    put(&w, "operator", "all-reduce.3", "device 0", step_us + last_us + 5 - w.at_us);
    step_us += last_us + 5;
  }
  EXPECT_OK(hsc_parquet_finish(w.file));
  snprintf(path, sizeof path, "%s/%s/run=%d/host=%s/date=2026-11-23", dir, set, number, h->name);
  EXPECT_OK(hsc_dir_make(path));
  snprintf(path, sizeof path, "%s/%s/run=%d/host=%s/date=2026-11-23/events.parquet", dir, set,
           number, h->name);
  EXPECT_OK(hsc_file_write_atomic(path, bytes.data, bytes.size));
  hsc_bytes_deinit(&bytes);
}

static hsc_table *stragglers(const char *set, const host *hosts, int count) {
  hsc_table *table = NULL;
  char path[256];
  snprintf(path, sizeof path, "%s/%s", dir, set);
  for (int i = 0; i < count; i++)
    write_host(set, hosts, count, i);
  EXPECT_OK(hsc_dataset_table(path, HSC_DATASET_STRAGGLERS, 0, &table));
  return table;
}

// The columns of the table, in order.
enum { NAME, EXECUTABLE, COUNT, DEVICES, WAITED, LATE, LAST_IN, SHARE, BEHIND, WHY, MORE, CHANCE };

static const char *text_at(const hsc_table *t, size_t column) {
  const hsc_cell *cell = hsc_table_cell(t, 0, column);
  return cell->kind == HSC_CELL_TEXT ? cell->text : NULL;
}

static double number_at(const hsc_table *t, size_t column) {
  const hsc_cell *cell = hsc_table_cell(t, 0, column);
  if (cell->kind == HSC_CELL_INT)
    return (double)cell->integer;
  return cell->kind == HSC_CELL_DOUBLE ? cell->number : NAN;
}

static void check_late(const hsc_table *t, const char *who, const char *why, double behind_us) {
  assert_int_equal(hsc_table_row_count(t), 1);
  assert_string_equal(text_at(t, NAME), "all-reduce.3");
  assert_string_equal(text_at(t, LATE), who);
  assert_string_equal(text_at(t, WHY), why);
  double behind_ns = number_at(t, BEHIND);
  assert_true(fabs(behind_ns - behind_us * US) < 20 * US);
  assert_true(number_at(t, CHANCE) < 0.001);
}

// The same lateness for each of the four reasons. The late host's clock is ahead by less than the
// captures are long, which leaves them of one job.
static void each_reason_is_told(void **state) {
  static const char *const reasons[] = {"compiles", "transfers", "operators", "host code"};
  for (int r = 0; r < 4; r++) {
    host hosts[] = {
        {"a", 0, 10, 10, 50, 20, 0}, {"b", 0, 10, 10, 50, 20, 0}, {"c", 3000, 10, 10, 50, 20, 0}};
    double *parts[] = {&hosts[2].compiles, &hosts[2].transfers, &hosts[2].operators,
                       &hosts[2].code};
    *parts[r] += 300;
    hsc_table *t = stragglers(reasons[r], hosts, 3);
    check_late(t, "c", reasons[r], 300);
    assert_int_equal((int)number_at(t, COUNT), TIMES);
    assert_int_equal((int)number_at(t, DEVICES), 3);
    assert_true(number_at(t, LAST_IN) == 1);
    assert_true(fabs(number_at(t, MORE) - 300 * US) < 20 * US);
    assert_non_null(strstr(hsc_table_note_text(t, 0), "of the waiting in collectives is for c"));
    hsc_table_destroy(t);
  }
}

static void chance_accuses_nobody(void **state) {
  static const host hosts[] = {
      {"a", 0, 10, 10, 50, 20, 0}, {"b", 0, 10, 10, 50, 20, 0}, {"c", 0, 10, 10, 50, 20, 0}};
  hsc_table *t = stragglers("even", hosts, 3);
  assert_int_equal(hsc_table_row_count(t), 1);
  assert_null(text_at(t, LATE));
  assert_true(number_at(t, CHANCE) >= 0.001);
  hsc_table_destroy(t);
}

// Collectives without a counterpart are counted, not compared.
static void what_has_no_counterpart_is_said(void **state) {
  static const host hosts[] = {{"a", 0, 10, 10, 50, 20, 0}, {"b", 0, 10, 10, 350, 20, 6}};
  hsc_table *t = stragglers("cut", hosts, 2);
  check_late(t, "b", "operators", 300);
  assert_int_equal((int)number_at(t, COUNT), TIMES - 6);
  assert_non_null(strstr(hsc_table_note_text(t, 2), "6 times had no counterpart"));
  hsc_table_destroy(t);
}

// Captures of two days are of two jobs: neither is compared with the other.
static void other_jobs_are_apart(void **state) {
  static const host hosts[] = {{"a", 0, 10, 10, 50, 20, 0}, {"b", 86400e6, 10, 10, 350, 20, 0}};
  hsc_table *t = stragglers("days", hosts, 2);
  assert_int_equal(hsc_table_row_count(t), 0);
  assert_non_null(strstr(hsc_table_note_text(t, 0), "no collective was seen on two devices"));
  hsc_table_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_reason_is_told),
      cmocka_unit_test(chance_accuses_nobody),
      cmocka_unit_test(what_has_no_counterpart_is_said),
      cmocka_unit_test(other_jobs_are_apart),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
