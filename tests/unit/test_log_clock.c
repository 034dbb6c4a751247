#include "base/core/log.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct record {
  int count;
  char last[256];
} record;

static void keep(void *user, const char *domain, int level, const char *text) {
  record *r = user;
  r->count++;
  snprintf(r->last, sizeof r->last, "%s/%d: %s", domain, level, text);
}

static void levels_are_per_domain(void **state) {
  record r = {0};
  setenv("HLOSCOPE_LOG", "1,worker=3,pass,quiet=0", 1);
  assert_false(hsc_log_enabled("worker", 1));  // no sink yet
  hsc_log("worker", 1, "lost");
  hsc_log_set_sink(keep, &r);
  assert_true(hsc_log_enabled("worker", 3));
  assert_false(hsc_log_enabled("worker", 4));
  assert_true(hsc_log_enabled("pass", 1));
  assert_false(hsc_log_enabled("pass", 2));
  assert_true(hsc_log_enabled("other", 1));
  assert_false(hsc_log_enabled("other", 2));
  assert_false(hsc_log_enabled("quiet", 1));
  hsc_log("worker", 2, "job %d", 7);
  assert_string_equal(r.last, "worker/2: job 7");
  hsc_log("worker", 4, "too much");
  assert_int_equal(r.count, 1);
}

static void *talk(void *user) {
  for (int i = 0; i < 1000; i++)
    hsc_log("worker", 1, "%d", i);
  return NULL;
}

static void many_threads_may_log(void **state) {
  record r = {0};
  pthread_t threads[4];
  hsc_log_set_sink(keep, &r);
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, talk, NULL), 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(r.count, 4000);
  hsc_log_set_sink(NULL, NULL);
  assert_false(hsc_log_enabled("worker", 1));
}

static void time_goes_forward(void **state) {
  int64_t begin = hsc_now_ns();
  hsc_sleep_ns(5000000);
  int64_t took = hsc_now_ns() - begin;
  // the raw clock may differ from the sleeping one by its rate correction
  assert_true(took >= 4900000);
  hsc_sleep_ns(0);
  hsc_sleep_ns(-5);
  assert_true(hsc_wall_ns() > (int64_t)1700000000 * 1000000000);
}

static void usage_counts_page_faults(void **state) {
  hsc_usage before, after;
  hsc_usage_get(&before);
  enum { SIZE = 8 << 20 };
  char *memory = malloc(SIZE);
  for (int i = 0; i < SIZE; i += 4096)
    ((volatile char *)memory)[i] = 1;
  hsc_usage_get(&after);
  free(memory);
  assert_true(after.max_rss_bytes > (1 << 20));
  assert_true(after.minor_faults >= before.minor_faults);
  assert_true(after.user_ns + after.system_ns >= before.user_ns + before.system_ns);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_are_per_domain), cmocka_unit_test(many_threads_may_log),
      cmocka_unit_test(time_goes_forward), cmocka_unit_test(usage_counts_page_faults)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
