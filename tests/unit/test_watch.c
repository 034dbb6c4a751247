#include "unit.h"

#include "doctor/watch.h"

typedef struct heard {
  int count;
  char rules[16][64];
} heard;

static void remember(void *user, const hsc_alert *alert) {
  heard *h = user;
  if (h->count < 16)
    snprintf(h->rules[h->count], sizeof h->rules[0], "%s", alert->rule);
  h->count++;
}

static hsc_watch *watch_of(const char *rule, heard *h) {
  hsc_watch *watch = NULL;
  *h = (heard){0};
  EXPECT_OK(hsc_watch_create(&rule, 1, remember, h, &watch));
  return watch;
}

static void line(hsc_watch *watch, hsc_event event, const char *module, double seconds) {
  static hsc_entry entries[HSC_EVENT_COUNT];  // the watch points to the worst it was told of
  hsc_entry *entry = &entries[event];
  *entry = (hsc_entry){
      .id = "x",
      .title = "x",
      .severity = event == HSC_EVENT_COMPILE_FAILED ? HSC_SEVERITY_ERROR : HSC_SEVERITY_INFO,
      .event = event,
      .workaround = ""};
  const hsc_log_module of = {.name = module};
  hsc_watch_on_line(watch, entry, HSC_VIEW("a line"), 1, &of, seconds);
}

static void a_limit_is_told_once(void **state) {
  heard h;
  hsc_watch *watch = watch_of("recompiles-over=2", &h);
  for (int i = 0; i < 10; i++) {
    line(watch, HSC_EVENT_RECOMPILE, "f", -1);
    assert_int_equal(h.count, i >= 2);
  }
  hsc_watch_destroy(watch);
}

static void compilations_are_counted_by_begin_or_end(void **state) {
  heard h;
  hsc_watch *watch = watch_of("compiles-over=1", &h);
  line(watch, HSC_EVENT_COMPILE_START, "a", -1);
  line(watch, HSC_EVENT_COMPILE_DONE, "a", 1);
  assert_int_equal(h.count, 0);
  line(watch, HSC_EVENT_COMPILE_START, "b", -1);
  assert_int_equal(h.count, 1);
  hsc_watch_destroy(watch);
  watch = watch_of("compiles-over=1", &h);
  line(watch, HSC_EVENT_COMPILE_DONE, "a", 1);
  line(watch, HSC_EVENT_COMPILE_DONE, "b", 1);
  assert_int_equal(h.count, 1);
  hsc_watch_destroy(watch);
}

static void a_long_compile_is_told_while_it_runs_and_once_a_module(void **state) {
  heard h;
  hsc_watch *watch = watch_of("compile-over=10", &h);
  int64_t now = hsc_now_ns();
  int64_t second = 1000000000;
  line(watch, HSC_EVENT_COMPILE_START, "a", -1);
  hsc_watch_tick(watch, now + 5 * second, 0);
  assert_int_equal(h.count, 0);
  // far beyond: the compile began a little after `now`
  hsc_watch_tick(watch, now + 110 * second, 0);
  hsc_watch_tick(watch, now + 112 * second, 0);
  line(watch, HSC_EVENT_COMPILE_DONE, "a", 13);
  assert_int_equal(h.count, 1);
  line(watch, HSC_EVENT_COMPILE_DONE, "b", 11);
  assert_int_equal(h.count, 2);
  hsc_watch_tick(watch, now + 200 * second, 0);  // none is under way any more
  assert_int_equal(h.count, 2);
  hsc_watch_destroy(watch);
}

static void memory_and_silence_are_limits(void **state) {
  heard h;
  int64_t now = hsc_now_ns();
  int64_t second = 1000000000;
  hsc_watch *watch = watch_of("memory-over=2KiB", &h);
  hsc_watch_tick(watch, now, 2048);
  assert_int_equal(h.count, 0);
  hsc_watch_tick(watch, now, 2049);
  hsc_watch_tick(watch, now, 4096);
  assert_int_equal(h.count, 1);
  hsc_watch_destroy(watch);
  watch = watch_of("silent-over=5", &h);
  hsc_watch_heard(watch, now);
  hsc_watch_tick(watch, now + 6 * second, 0);
  hsc_watch_tick(watch, now + 7 * second, 0);
  hsc_watch_heard(watch, now + 8 * second);
  hsc_watch_tick(watch, now + 9 * second, 0);
  hsc_watch_tick(watch, now + 14 * second, 0);
  assert_int_equal(h.count, 2);  // silent twice
  hsc_watch_destroy(watch);
}

static void failures_are_told_by_module(void **state) {
  heard h;
  hsc_watch *watch = watch_of("compile-failed", &h);
  line(watch, HSC_EVENT_COMPILE_FAILED, "a", -1);
  line(watch, HSC_EVENT_COMPILE_FAILED, "a", -1);
  line(watch, HSC_EVENT_COMPILE_FAILED, "b", -1);
  line(watch, HSC_EVENT_COMPILE_DONE, "c", 1);
  assert_int_equal(h.count, 2);
  assert_int_equal(hsc_watch_alert_count(watch), 2);
  hsc_watch_destroy(watch);
}

static void retrying_goes_by_the_error_that_names_the_cause(void **state) {
  heard h;
  hsc_watch *watch = watch_of("crash", &h);
  const hsc_entry passing = {
      .id = "p", .severity = HSC_SEVERITY_ERROR, .rank = 20, .transient = true, .workaround = ""};
  const hsc_entry lasting = {
      .id = "l", .severity = HSC_SEVERITY_ERROR, .rank = 90, .workaround = ""};
  assert_null(hsc_watch_transient(watch));
  hsc_watch_on_line(watch, &passing, HSC_VIEW("x"), 1, NULL, -1);
  assert_non_null(hsc_watch_transient(watch));
  hsc_watch_on_line(watch, &lasting, HSC_VIEW("x"), 1, NULL, -1);
  assert_null(hsc_watch_transient(watch));
  hsc_watch_signal(watch, 11);
  assert_int_equal(h.count, 1);
  hsc_watch_destroy(watch);
}

static void wrong_rules_are_named(void **state) {
  static const char *const wrong[] = {"nonsense",         "compile-over",       "compile-over=x",
                                      "compile-failed=1", "memory-over=0",      "memory-over=5X",
                                      "severity=bad",     "recompiles-over=-1", ""};
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++) {
    hsc_watch *watch = NULL;
    EXPECT_CODE(INVALID_ARGUMENT, hsc_watch_create(&wrong[i], 1, NULL, NULL, &watch));
  }
}

static void a_rule_is_told_two_hundred_times(void **state) {
  heard h;
  hsc_watch *watch = watch_of("severity=info", &h);
  for (int i = 0; i < 300; i++) {
    char id[24];
    snprintf(id, sizeof id, "entry-%d", i);
    const hsc_entry entry = {.id = id, .severity = HSC_SEVERITY_INFO, .workaround = ""};
    hsc_watch_on_line(watch, &entry, HSC_VIEW("x"), 1, NULL, -1);
  }
  assert_int_equal(h.count, 200);
  assert_int_equal(hsc_watch_alert_count(watch), 200);
  hsc_watch_destroy(watch);
}

// Of more compilations than are kept the oldest is forgotten.
static void the_last_64_compilations_are_watched(void **state) {
  heard h;
  hsc_watch *watch = watch_of("compile-over=10", &h);
  for (int i = 0; i < 70; i++) {
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    line(watch, HSC_EVENT_COMPILE_START, name, -1);
  }
  line(watch, HSC_EVENT_COMPILE_DONE, "f69", -1);  // the newest; its time is not said
  hsc_watch_tick(watch, hsc_now_ns() + 11000000000, 0);
  assert_int_equal(h.count, 63);
  line(watch, HSC_EVENT_COMPILE_DONE, "f5", 20);  // forgotten: told by its end
  assert_int_equal(h.count, 64);
  hsc_watch_destroy(watch);
}

static void keep_text(void *user, const hsc_alert *alert) {
  snprintf(user, 64, "%s", alert->text);
}

static void what_is_told_stays_on_its_line(void **state) {
  char text[64] = "";
  const char *rule = "severity=warning";
  hsc_watch *watch = NULL;
  EXPECT_OK(hsc_watch_create(&rule, 1, keep_text, text, &watch));
  hsc_entry entry = {.id = "e", .severity = HSC_SEVERITY_INFO, .workaround = ""};
  hsc_watch_on_line(watch, &entry, HSC_VIEW("quiet"), 1, NULL, -1);
  assert_string_equal(text, "");
  entry.severity = HSC_SEVERITY_WARNING;
  hsc_watch_on_line(watch, &entry, HSC_VIEW(" \ta\tb\x1b[c\x01 d"), 1, NULL, -1);
  assert_string_equal(text, "a b [c  d");
  hsc_log_report report = {0};
  hsc_bytes metrics = {0};
  report.events[HSC_EVENT_CACHE_MISS] = 3;
  line(watch, HSC_EVENT_COMPILE_START, "f", -1);
  hsc_watch_prometheus(watch, &report, "a\"b\\c\nd", 4096, &metrics);
  static const char *const lines[] = {
      "# TYPE hloscope_cache_misses_total counter\n",
      "hloscope_cache_misses_total{job=\"a\\\"b\\\\cd\"} 3\n",
      "hloscope_cache_hits_total{job=\"a\\\"b\\\\cd\"} 0\n",
      "hloscope_alerts_total{job=\"a\\\"b\\\\cd\"} 1\n",
      "# TYPE hloscope_compiles_open gauge\n",
      "hloscope_compiles_open{job=\"a\\\"b\\\\cd\"} 1\n",
      "hloscope_memory_bytes{job=\"a\\\"b\\\\cd\"} 4096\n",
  };
  for (size_t i = 0; i < HSC_COUNT_OF(lines); i++)
    if (!strstr(hsc_bytes_text(&metrics), lines[i]))
      fail_msg("no '%s' in\n%s", lines[i], hsc_bytes_text(&metrics));
  hsc_bytes_deinit(&metrics);
  hsc_watch_destroy(watch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_limit_is_told_once),
      cmocka_unit_test(compilations_are_counted_by_begin_or_end),
      cmocka_unit_test(a_long_compile_is_told_while_it_runs_and_once_a_module),
      cmocka_unit_test(memory_and_silence_are_limits),
      cmocka_unit_test(failures_are_told_by_module),
      cmocka_unit_test(retrying_goes_by_the_error_that_names_the_cause),
      cmocka_unit_test(wrong_rules_are_named),
      cmocka_unit_test(a_rule_is_told_two_hundred_times),
      cmocka_unit_test(the_last_64_compilations_are_watched),
      cmocka_unit_test(what_is_told_stays_on_its_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
