// test_sweep.c - plans on disk, the order of tasks, results of many processes, effects over hosts.
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/core/random.h"
#include "base/files/file_io.h"
#include "lab/sweep/sweep_internal.h"
#include "unit.h"
#include "worker/scratch.h"

// ---- effects over hosts -------------------------------------------------------------------------

// Share of trials whose interval holds the true effect.
static double coverage(double host_sd, int host_count, int each, double *out_width) {
  enum { TRIALS = 4000, MOST = 64 };
  hsc_random random;
  int held = 0;
  *out_width = 0;
  hsc_random_init(&random, 11);
  for (int trial = 0; trial < TRIALS; trial++) {
    double y[MOST];
    int host[MOST];
    size_t n = 0;
    for (int h = 0; h < host_count; h++) {
      double shift = host_sd * hsc_random_normal(&random);
      for (int i = 0; i < each; i++) {
        host[n] = h;
        y[n++] = log(1.05) + shift + 0.01 * hsc_random_normal(&random);
      }
    }
    hsc_sweep_effect effect;
    EXPECT_OK(hsc_sweep_host_effect(y, host, n, host_count, &effect));
    assert_int_equal(effect.hosts, host_count);
    held += effect.low <= 1.05 && 1.05 <= effect.high;
    *out_width += (effect.high - effect.low) / TRIALS;
  }
  return (double)held / TRIALS;
}

static void intervals_hold_the_effect_over_hosts(void **state) {
  double alike;
  double apart;
  assert_true(coverage(0, 6, 4, &alike) > 0.94);
  assert_true(coverage(0.03, 6, 4, &apart) > 0.93);
  assert_true(apart > 2 * alike);  // hosts that differ make a claim over hosts wider
  assert_true(coverage(0.03, 4, 10, &apart) > 0.93);
  assert_true(coverage(0, 1, 8, &alike) > 0.93);
}

// Taken together as if they were of one host, processes of hosts that differ claim too much.
static void hosts_that_are_ignored_claim_too_much(void **state) {
  enum { HOSTS = 4, EACH = 10, TRIALS = 2000 };
  hsc_random random;
  int held = 0;
  hsc_random_init(&random, 5);
  for (int trial = 0; trial < TRIALS; trial++) {
    double y[HOSTS * EACH];
    int host[HOSTS * EACH] = {0};
    for (int i = 0; i < HOSTS; i++) {
      double shift = 0.03 * hsc_random_normal(&random);
      for (int k = 0; k < EACH; k++)
        y[i * EACH + k] = shift + 0.01 * hsc_random_normal(&random);
    }
    hsc_sweep_effect effect;
    EXPECT_OK(hsc_sweep_host_effect(y, host, HOSTS * EACH, 1, &effect));
    held += effect.low <= 1 && 1 <= effect.high;
  }
  assert_true((double)held / TRIALS < 0.6);
}

static void no_interval_over_few_processes(void **state) {
  hsc_sweep_effect effect;
  EXPECT_OK(hsc_sweep_host_effect((double[]){0.1, 0.2, 0.1, 0.2, 0.1}, (int[]){0, 0, 1, 1, 1}, 5, 2,
                                  &effect));
  assert_true(isnan(effect.low) && isnan(effect.high));
  assert_true(effect.ratio > 1.1 && effect.ratio < 1.2);
  EXPECT_OK(hsc_sweep_host_effect(NULL, NULL, 0, 0, &effect));
  assert_int_equal(effect.processes, 0);
}

// ---- a plan by hand -----------------------------------------------------------------------------

typedef struct fixture {
  char *folder;
  hsc_sweep *sweep;
} fixture;

static void put_file(const char *folder, const char *name, const char *text) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
}

// Tasks of two programs with these expected seconds.
static void make_plan(fixture *f, const double *costs, int count) {
  hsc_bytes tasks = {0};
  hsc_bytes plan = {0};
  char hash[33];
  char path[4200];
  EXPECT_OK(hsc_scratch_create(&f->folder));
  snprintf(path, sizeof path, "%s/results", f->folder);
  EXPECT_OK(hsc_dir_make(path));
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(
        &tasks,
        "{\"id\":\"%032d\",\"kind\":\"compile\",\"program\":\"p%d\",\"device\":\"cpu\","
        "\"off\":\"\",\"repeat\":%d,\"input\":\"inputs/p%d.hlo\",\"cost_s\":%g,"
        "\"limit_s\":9,\"do\":{\"job\":{\"job\":\"compile\"}}}\n",
        i, i % 2, i / 2, i % 2, costs[i]);
  hsc_hash128_hex(hsc_hash128_of(tasks.data, tasks.size, 0), hash);
  hsc_bytes_printf(&plan, "{\"format\":1,\"id\":\"%s\",\"kind\":\"compile\",\"tasks\":%d}", hash,
                   count);
  put_file(f->folder, "tasks.jsonl", hsc_bytes_text(&tasks));
  put_file(f->folder, "plan.json", hsc_bytes_text(&plan));
  hsc_bytes_deinit(&tasks);
  hsc_bytes_deinit(&plan);
  EXPECT_OK(hsc_sweep_open(f->folder, &f->sweep));
  assert_int_equal(f->sweep->count, count);
}

static void end_plan(fixture *f) {
  hsc_sweep_close(f->sweep);
  hsc_scratch_destroy(f->folder);
}

static void the_longest_expected_task_is_next(void **state) {
  static const double costs[] = {1, 5, 3, 4, 1, 2};  // of p0: 1 3 1, of p1: 5 4 2
  static const bool all[] = {true, true, true, true, true, true};
  fixture f;
  hsc__pool *pool = NULL;
  make_plan(&f, costs, 6);
  EXPECT_OK(hsc__pool_create(f.sweep, all, &pool));
  assert_int_equal(hsc__pool_take(pool), 1);
  assert_int_equal(hsc__pool_take(pool), 3);
  hsc__pool_learn(pool, 2, 30);  // tasks of p0 take ten times as long as was thought
  assert_int_equal(hsc__pool_take(pool), 2);
  hsc__pool_return(pool, 3);  // whoever had it died
  assert_int_equal(hsc__pool_take(pool), 0);
  assert_int_equal(hsc__pool_take(pool), 4);
  assert_int_equal(hsc__pool_take(pool), 3);
  assert_int_equal(hsc__pool_take(pool), 5);
  assert_int_equal(hsc__pool_take(pool), -1);
  assert_int_equal(hsc__pool_left(pool), 0);
  hsc__pool_destroy(pool);
  end_plan(&f);
}

// ---- results ------------------------------------------------------------------------------------

static void results_are_the_same_in_any_order(void **state) {
  static const double costs[] = {1, 1, 1};
  static const char *const rows[] = {
      "{\"task\":\"00000000000000000000000000000000\",\"outcome\":\"killed\",\"host\":\"a\","
      "\"started_ns\":1}\n",
      "{\"task\":\"00000000000000000000000000000000\",\"outcome\":\"ok\",\"host\":\"b\",\"started_"
      "ns\":9}\n",
      "{\"task\":\"00000000000000000000000000000000\",\"outcome\":\"error\",\"host\":\"c\","
      "\"started_ns\":12}\n",
      "{\"task\":\"00000000000000000000000000000001\",\"outcome\":\"killed\",\"host\":\"a\","
      "\"started_ns\":3}\n"};
  static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
  fixture f;
  make_plan(&f, costs, 3);
  for (size_t o = 0; o < HSC_COUNT_OF(orders); o++) {
    hsc_bytes text = {0};
    hsc_sweep_results results;
    hsc_bytes_printf(&text, "{\"plan\":\"%s\",\"host\":\"x\"}\n", f.sweep->id);
    for (int i = 0; i < 4; i++)
      hsc_bytes_append_text(&text, rows[orders[o][i]]);
    hsc_bytes_append_text(&text,
                          "{\"task\":\"00000000000000000000000000000002\",\"outc");  // it died here
    put_file(f.folder, "results/one.jsonl", hsc_bytes_text(&text));
    put_file(f.folder, "results/same.jsonl", hsc_bytes_text(&text));
    put_file(f.folder, "results/other.jsonl",
             "{\"plan\":\"another\"}\n{\"task\":\"00000000000000000000000000000002\",\"outcome\":"
             "\"ok\"}\n");
    EXPECT_OK(hsc_sweep_results_read(f.sweep, &results));
    assert_int_equal(results.done, 1);
    assert_int_equal(results.torn, 2);
    assert_int_equal(results.foreign, 1);
    assert_string_equal(hsc__sweep_text(results.rows[0], "host"), "b");
    assert_false(hsc_sweep_is_result(results.rows[1]));
    assert_null(results.rows[2]);
    hsc_sweep_results_deinit(f.sweep, &results);
    hsc_bytes_deinit(&text);
  }
  end_plan(&f);
}

// ---- timed tasks --------------------------------------------------------------------------------

// A process of a timed task: blocks in which the program, a placebo and the program without a pass
// take turns. `scale` is how slow the host is.
static void add_timed(hsc_bytes *out, int task, const char *host, double scale, double placebo) {
  static const double noise[] = {1, 1.01, 0.99, 1.02, 0.985};
  hsc_bytes_printf(out,
                   "{\"task\":\"%032d\",\"outcome\":\"ok\",\"host\":\"%s\",\"started_ns\":%d,"
                   "\"took_s\":%g,\"series\":{\"run_ns\":[",
                   task, host, 1 + task, scale);
  for (int i = 0; i < 12; i++) {
    double ratio = i % 3 == 2 ? 1.2 : 1;
    if (i % 3 == 1)
      ratio = placebo;
    hsc_bytes_printf(out, "%s%g", i ? "," : "",
                     1000 * scale * ratio * noise[(i * i + i * task + 3 * task) % 5]);
  }
  hsc_bytes_append_text(out,
                        "],\"variant_count\":[0,1,2,0,1,2,0,1,2,0,1,2],"
                        "\"block_count\":[0,0,0,1,1,1,2,2,2,3,3,3]}}\n");
}

static bool has_note(const hsc_table *table, const char *text) {
  hsc_bytes shown = {0};
  hsc_json json;
  hsc_json_init(&json, &shown, 0);
  hsc_table_json(table, &json);
  bool found = strstr(hsc_bytes_text(&shown), text) != NULL;
  hsc_bytes_deinit(&shown);
  return found;
}

// 16 processes each on a quiet host and on one of grade C that is three times as slow and, with
// `drift`, half as slow again in its later half; each has its own placebo.
static void effects_of(double drift, const double placebos[2], hsc_table **out_table) {
  enum { EACH = 16 };
  hsc_bytes tasks = {0};
  hsc_bytes plan = {0};
  hsc_bytes rows = {0};
  hsc_sweep_results results;
  fixture f;
  char hash[33];
  char path[4200];
  EXPECT_OK(hsc_scratch_create(&f.folder));
  snprintf(path, sizeof path, "%s/results", f.folder);
  EXPECT_OK(hsc_dir_make(path));
  for (int i = 0; i < 2 * EACH; i++)
    hsc_bytes_printf(&tasks,
                     "{\"id\":\"%032d\",\"kind\":\"time\",\"program\":\"p\",\"device\":\"cpu\","
                     "\"off\":\"fusion\",\"repeat\":%d,\"input\":\"inputs/p.hlo\",\"cost_s\":1,"
                     "\"limit_s\":9,\"do\":{\"job\":{\"job\":\"interleave\"},\"names\":[\"\","
                     "\"hloscope-placebo-1\",\"fusion\"]}}\n",
                     i, i);
  hsc_hash128_hex(hsc_hash128_of(tasks.data, tasks.size, 0), hash);
  hsc_bytes_printf(&plan, "{\"format\":1,\"id\":\"%s\",\"kind\":\"time\",\"tasks\":%d}", hash,
                   2 * EACH);
  put_file(f.folder, "tasks.jsonl", hsc_bytes_text(&tasks));
  put_file(f.folder, "plan.json", hsc_bytes_text(&plan));
  EXPECT_OK(hsc_sweep_open(f.folder, &f.sweep));
  for (int h = 0; h < 2; h++) {
    const char *host = h ? "loud" : "calm";
    hsc_bytes_reset(&rows);
    hsc_bytes_printf(&rows,
                     "{\"plan\":\"%s\",\"host\":\"%s\",\"environment\":{\"grade\":\"%s\"}}\n",
                     f.sweep->id, host, h ? "C" : "A");
    for (int i = 0; i < EACH; i++)
      add_timed(&rows, 2 * i + h, host, h ? 3 * (i < EACH / 2 ? 1 : drift) : 1, placebos[h]);
    put_file(f.folder, h ? "results/b.jsonl" : "results/a.jsonl", hsc_bytes_text(&rows));
  }
  EXPECT_OK(hsc_sweep_results_read(f.sweep, &results));
  assert_int_equal(results.done, 2 * EACH);
  EXPECT_OK(hsc_sweep_effects(f.sweep, &results, out_table));
  hsc_sweep_results_deinit(f.sweep, &results);
  hsc_bytes_deinit(&tasks);
  hsc_bytes_deinit(&plan);
  hsc_bytes_deinit(&rows);
  end_plan(&f);
}

static void ratios_stay_within_hosts_and_hosts_are_named(void **state) {
  hsc_table *table = NULL;
  static const double none[] = {1, 1};
  static const double both[] = {1.1, 1.1};
  static const double loud_alone[] = {1, 1.1};
  effects_of(1.5, none, &table);
  assert_int_equal(hsc_table_row_count(table), 2);
  assert_true(has_note(table, "\"hosts\": 2"));
  // of 1.2, in noise of 2 %, though the loud host takes three times as long
  assert_true(has_note(table, "\"ratio\": 1.19"));
  assert_true(has_note(table, "host loud had grade C"));
  assert_true(has_note(table, "host loud drifts"));
  assert_false(has_note(table, "host calm"));
  assert_false(has_note(table, "the placebo is not 1"));
  assert_false(has_note(table, "the placebo of host"));
  hsc_table_destroy(table);
  effects_of(1, none, &table);
  assert_false(has_note(table, "drifts"));
  hsc_table_destroy(table);
  effects_of(1, both, &table);
  assert_true(has_note(table, "the placebo is not 1"));
  hsc_table_destroy(table);
  // of all hosts together it is 1.05 give or take more: only by host it is seen
  effects_of(1, loud_alone, &table);
  assert_true(has_note(table, "the placebo of host loud is 1."));
  assert_false(has_note(table, "the placebo of host calm"));
  hsc_table_destroy(table);
}

static void a_changed_plan_is_noticed(void **state) {
  static const double costs[] = {1, 1};
  fixture f;
  make_plan(&f, costs, 2);
  EXPECT_OK(hsc_sweep_check(f.sweep));
  put_file(f.folder, "tasks.jsonl", "");
  EXPECT_CODE(FAILED_PRECONDITION, hsc_sweep_check(f.sweep));
  end_plan(&f);
}

// Names that lead out of the folder; seconds that nanoseconds cannot count; a job for no program.
static void a_plan_from_elsewhere_is_looked_at(void **state) {
#define SECONDS "\"cost_s\":1,\"limit_s\":9"
  static const char *const members[] = {
      "\"input\":\"/etc/passwd\"," SECONDS ",\"do\":{}",
      "\"input\":\"inputs/../../x\"," SECONDS ",\"do\":{}",
      "\"input\":\"../x\"," SECONDS ",\"do\":{}",
      "\"input\":\"inputs/a/b\"," SECONDS ",\"do\":{}",
      "\"input\":\"inputs/a\",\"cost_s\":1,\"limit_s\":1e300,\"do\":{}",
      "\"input\":\"inputs/a\",\"cost_s\":1e300,\"limit_s\":9,\"do\":{}",
      "\"input\":null," SECONDS ",\"do\":{\"job\":{\"job\":\"compile\"}}"};
#undef SECONDS
  static const double costs[] = {1};
  for (size_t i = 0; i < HSC_COUNT_OF(members); i++) {
    fixture f;
    hsc_bytes tasks = {0};
    hsc_bytes plan = {0};
    hsc_sweep *sweep = NULL;
    char hash[33];
    make_plan(&f, costs, 1);
    hsc_bytes_printf(&tasks,
                     "{\"id\":\"%032d\",\"kind\":\"compile\",\"program\":\"p\",\"device\":\"cpu\","
                     "%s}\n",
                     0, members[i]);
    hsc_hash128_hex(hsc_hash128_of(tasks.data, tasks.size, 0), hash);
    hsc_bytes_printf(&plan, "{\"format\":1,\"id\":\"%s\",\"kind\":\"compile\",\"tasks\":1}", hash);
    put_file(f.folder, "tasks.jsonl", hsc_bytes_text(&tasks));
    put_file(f.folder, "plan.json", hsc_bytes_text(&plan));
    EXPECT_CODE(DATA_LOSS, hsc_sweep_open(f.folder, &sweep));
    hsc_bytes_deinit(&tasks);
    hsc_bytes_deinit(&plan);
    end_plan(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_hold_the_effect_over_hosts),
      cmocka_unit_test(hosts_that_are_ignored_claim_too_much),
      cmocka_unit_test(no_interval_over_few_processes),
      cmocka_unit_test(the_longest_expected_task_is_next),
      cmocka_unit_test(results_are_the_same_in_any_order),
      cmocka_unit_test(ratios_stay_within_hosts_and_hosts_are_named),
      cmocka_unit_test(a_changed_plan_is_noticed),
      cmocka_unit_test(a_plan_from_elsewhere_is_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
