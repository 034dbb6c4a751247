#include "base/core/random.h"
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "doctor/log_reader.h"

static hsc_knowledge *kb;

static int load(void **state) {
  hsc_status *status = hsc_knowledge_load(*state, &kb);
  if (status)
    print_message("%s\n", hsc_status_message(status));
  return status != NULL;
}
static int unload(void **state) {
  hsc_knowledge_destroy(kb);
  return 0;
}

// Reads `size` bytes in pieces of `piece`.
static hsc_log_reader *reader_of(const char *text, size_t size, size_t piece) {
  hsc_log_reader *reader = NULL;
  EXPECT_OK(hsc_log_reader_create(kb, NULL, &reader));
  for (size_t at = 0; at < size; at += piece)
    EXPECT_OK(hsc_log_reader_feed(reader, text + at, size - at < piece ? size - at : piece));
  EXPECT_OK(hsc_log_reader_finish(reader));
  return reader;
}

static const hsc_finding *finding(const hsc_log_reader *reader, const char *id) {
  const hsc_log_report *report = hsc_log_reader_report(reader);
  for (size_t i = 0; i < report->finding_count; i++)
    if (!strcmp(report->findings[i]->entry->id, id))
      return report->findings[i];
  return NULL;
}

static const char compile_log[] =
    "2024-04-12 07:13:06.000297:  271334  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: "
    "neuronx-cc compile --target=trn1 --framework=XLA "
    "/tmp/w/model.MODULE_165+d41d8cd9.hlo_module.pb --output /tmp/w/model.neff --verbose=35\n"
    ".....\n"
    "Compiler status PASS\n"
    "Epoch 0\n"
    "2024-04-12 07:13:08.000245:  271334  INFO ||NEURON_CC_WRAPPER||: Using a cached neff at "
    "/var/tmp/neuron-compile-cache/neuronxcc-2.12/MODULE_77+d41d8cd9/model.neff\n"
    "2024-04-12 07:13:09.000000:  271334  INFO ||NEURON_CC_WRAPPER||: Using a cached neff at "
    "/var/tmp/neuron-compile-cache/neuronxcc-2.12/MODULE_77+d41d8cd9/model.neff\r\n"
    "[TEN404] Internal tensorizer error: SundaSizeTiling:tuple index out of range - Please open a "
    "support ticket\n"
    "ERROR ||NEURON_CC_WRAPPER||: Compilation failed for "
    "/tmp/w/model.MODULE_99+d41d8cd9.hlo_module.pb after 0 retries.";

static void a_log_gives_findings_and_a_summary(void **state) {
  for (size_t piece = 1; piece < 4000; piece = piece * 3 + 1) {  // whatever the pieces are
    hsc_log_reader *reader = reader_of(compile_log, sizeof compile_log - 1, piece);
    const hsc_log_report *report = hsc_log_reader_report(reader);
    assert_int_equal(report->lines, 8);
    assert_string_equal(report->findings[0]->entry->id, "neuron-ten404-sunda-size-tiling");
    assert_int_equal(report->findings[0]->first_line, 7);
    assert_int_equal(finding(reader, "neuron-cached-neff")->count, 2);
    assert_int_equal(report->events[HSC_EVENT_CACHE_HIT], 2);
    assert_int_equal(report->events[HSC_EVENT_COMPILE_FAILED], 1);
    assert_int_equal(report->compiles, 2);
    assert_int_equal(report->module_count, 3);
    assert_string_equal(report->modules[0]->name, "MODULE_165+d41d8cd9");
    assert_true(*report->next != 0);
    hsc_log_reader_destroy(reader);
  }
}

static void time_of_a_module_is_taken_from_the_stamps(void **state) {
  hsc_log_reader *reader = reader_of(compile_log, sizeof compile_log - 1, sizeof compile_log);
  double seconds = hsc_log_reader_report(reader)->modules[0]->seconds;
  // 06.297 to 08.245: the wrapper pads milliseconds to six digits
  assert_true(seconds > 1.947 && seconds < 1.949);
  hsc_log_reader_destroy(reader);
}

static void stamps_are_read(void **state) {
  static const struct {
    const char *line;
    int64_t zoned_ns, local_ns;
  } rows[] = {
      {"1970-01-02T00:00:01Z x", INT64_C(86401000000000), 0},
      {"1970-01-02T09:00:01+09:00 x", INT64_C(86401000000000), 0},
      {"1970-01-01 17:00:01.000 -0700 x", INT64_C(86401000000000), 0},
      {"1970-01-02 00:00:01 UTC x", INT64_C(86401000000000), 0},
      {"1970-01-02 00:00:01 -1 x", 0, INT64_C(86401000000000)},
      // beyond what 64 bits of nanoseconds hold: no time
      {"3024-02-29 23:59:59.000005 x", 0, 0},
      {"I0000 00:00:9999999999.123456 x", 0, 0},
      {"[2024-02-29 23:59:59,5] x", 0, INT64_C(1709251199500000000)},
      {"2024-02-29 23:59:59.000005:  271334  INFO x ||NEURON_CACHE||", 0,
       INT64_C(1709251199005000000)},
      {"2024-02-29 23:59:59.000005:  I external/local_xla x", 0, INT64_C(1709251199000005000)},
      {"I0000 00:00:1731234567.123456   12 a.cc:1] x", INT64_C(1731234567123456000), 0},
      {"2024-13-29 23:59:59 x", 0, 0},
      {"", 0, 0},
      {"2024", 0, 0}};
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    hsc_log_time time = hsc_line_time(hsc_view_of(rows[i].line));
    assert_int_equal(time.zoned_ns, rows[i].zoned_ns);
    assert_int_equal(time.local_ns, rows[i].local_ns);
    assert_int_equal(time.arrival_ns, 0);
  }
}

// A line that is read as it is written has a stamp of an unknown zone and a time of arrival; the
// two are never subtracted from each other.
static void a_stamp_without_a_zone_is_on_its_own_clock(void **state) {
  static const char text[] =
      "2001-04-12 07:13:06.000297:  271334  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: "
      "neuronx-cc compile --target=trn1 --framework=XLA /tmp/w/model.MODULE_1+2.hlo_module.pb "
      "--output /tmp/w/model.neff --verbose=35\n"
      "Compiler status PASS\n";
  hsc_log_reader *reader = NULL;
  EXPECT_OK(hsc_log_reader_create(kb, &(hsc_log_options){.live = true}, &reader));
  EXPECT_OK(hsc_log_reader_feed(reader, text, sizeof text - 1));
  EXPECT_OK(hsc_log_reader_finish(reader));
  const hsc_log_report *report = hsc_log_reader_report(reader);
  assert_int_equal(report->module_count, 1);
  assert_true(report->modules[0]->seconds >= 0 && report->modules[0]->seconds < 5);
  assert_true(report->compile_seconds < 5 && report->span_seconds < 5);
  hsc_log_reader_destroy(reader);
}

// A machine that stamps its lines in UTC while the reader's zone is another: hours apart, and no
// compile took them. "PST8" is Los Angeles in winter, and needs no file of zones.
static void a_stamp_of_another_zone_is_no_delay(void **state) {
  char text[600];
  char stamp[32];
  time_t now = time(NULL);
  struct tm utc;
  hsc_log_reader *reader = NULL;
  setenv("TZ", "PST8", 1);
  tzset();
  strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", gmtime_r(&now, &utc));
  int size = snprintf(text, sizeof text,
                      "%s.000297:  1  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: "
                      "neuronx-cc compile x/model.MODULE_7+aa.hlo_module.pb\n"
                      "Compiler status PASS\n",
                      stamp);
  EXPECT_OK(hsc_log_reader_create(kb, &(hsc_log_options){.live = true}, &reader));
  EXPECT_OK(hsc_log_reader_feed(reader, text, (size_t)size));
  EXPECT_OK(hsc_log_reader_finish(reader));
  const hsc_log_report *report = hsc_log_reader_report(reader);
  assert_int_equal(report->module_count, 1);
  assert_true(report->modules[0]->seconds >= 0 && report->modules[0]->seconds < 600);
  assert_true(report->compile_seconds < 600 && report->span_seconds < 600);
  hsc_log_reader_destroy(reader);
  unsetenv("TZ");
  tzset();
}

static void colours_and_progress_bars_do_not_hide_a_message(void **state) {
  static const char text[] =
      "\x1b[31mRuntimeError\x1b[0m: vmap: called \x1b[1mrandom operation\x1b[0m while in "
      "randomness error mode\n"
      "\x1b]0;title\x07step 1\rstep 2\rCompiler status PASS\rstep 3\n"
      "\xff\xfe\x00\x01 Compiler status PASS \xc3\n";
  hsc_log_reader *reader = reader_of(text, sizeof text - 1, sizeof text);
  assert_int_equal(hsc_log_reader_report(reader)->lines, 3);
  assert_string_equal(finding(reader, "vmap-random")->text,
                      "RuntimeError: vmap: called random operation while in randomness error mode");
  assert_int_equal(finding(reader, "neuron-compile-passed")->count, 2);
  assert_string_equal(finding(reader, "neuron-compile-passed")->text, "Compiler status PASS");
  hsc_log_reader_destroy(reader);
}

static void a_line_of_any_length_is_read(void **state) {
  size_t size = 9 << 20;
  char *text = malloc(size);
  memset(text, 'x', size);
  static const char message[] = " Compiler status PASS ";
  static const char last[] = "\nCompiler status PASS\n";
  for (size_t at = 700000; at + 2000000 < size; at += 2000000)
    memcpy(text + at, message, sizeof message - 1);
  memcpy(text + (1 << 20) - 8195, message, sizeof message - 1);  // across the cut of a piece
  memcpy(text + size - sizeof last + 1, last, sizeof last - 1);
  hsc_log_reader *reader = reader_of(text, size, 65536);
  assert_int_equal(hsc_log_reader_report(reader)->lines, 2);
  assert_int_equal(finding(reader, "neuron-compile-passed")->count, 2);  // once for the long line
  assert_int_equal(finding(reader, "neuron-compile-passed")->last_line, 2);
  hsc_log_reader_destroy(reader);
  free(text);
}

static void the_same_unknown_error_is_told_once(void **state) {
  hsc_bytes text = {0};
  for (int i = 0; i < 300; i++)
    hsc_bytes_printf(&text, "ValueError: shape (%d, 3) at 0x7f%06x\nMyError: name %c\n", i, i,
                     'a' + i % 3);
  hsc_log_reader *reader = reader_of(text.data, text.size, 1000);
  const hsc_log_report *report = hsc_log_reader_report(reader);
  assert_int_equal(report->finding_count, 4);
  assert_int_equal(report->findings[0]->count, 300);
  assert_int_equal(report->findings[1]->count, 100);
  hsc_log_reader_destroy(reader);
  hsc_bytes_reset(&text);
  for (int i = 0; i < 20000; i++)
    hsc_bytes_printf(&text, "MyError: name %c%c%c\n", 'a' + i % 26, 'a' + i / 26 % 26,
                     'a' + i / 676 % 26);
  reader = reader_of(text.data, text.size, text.size);
  // the rest together: memory is bounded
  assert_int_equal(hsc_log_reader_report(reader)->finding_count, HSC_LOG_TEXTS_MAX + 1);
  hsc_log_reader_destroy(reader);
  hsc_bytes_deinit(&text);
}

static void an_empty_log_has_no_lines(void **state) {
  hsc_log_reader *reader = reader_of("", 0, 1);
  assert_int_equal(hsc_log_reader_report(reader)->lines, 0);
  assert_int_equal(hsc_log_reader_report(reader)->finding_count, 0);
  assert_string_equal(hsc_log_reader_report(reader)->next, "");
  hsc_log_reader_destroy(reader);
}

// The search finds what a plain search finds, wherever it is and whatever is around it.
static void the_search_misses_nothing(void **state) {
  hsc_random random;
  hsc_random_init(&random, 11);
  static const char *const needles[] = {"Compiler status PASS", "Using a cached neff at /x",
                                        "nrtucode: internal error: 54 object(s) leaked",
                                        "Segmentation fault"};
  static const char *const ids[] = {"neuron-compile-passed", "neuron-cached-neff",
                                    "nrtucode-leaked", "unrecognised-error"};
  for (int round = 0; round < 300; round++) {
    hsc_bytes text = {0};
    int expected[4] = {0};
    for (int line = 0; line < 40; line++) {
      size_t before = hsc_random_below(&random, 30);
      for (size_t i = 0; i < before; i++)
        hsc_bytes_append_char(&text, "CompilerUsgSt ()"[hsc_random_below(&random, 16)]);
      int which = (int)hsc_random_below(&random, 8);
      if (which < 4) {
        hsc_bytes_append_text(&text, needles[which]);
        expected[which]++;
      }
      hsc_bytes_append_char(&text, '\n');
    }
    hsc_log_reader *reader = reader_of(text.data, text.size, 1 + hsc_random_below(&random, 200));
    for (int i = 0; i < 4; i++) {
      int count = 0;
      const hsc_log_report *report = hsc_log_reader_report(reader);
      for (size_t f = 0; f < report->finding_count; f++)
        if (!strcmp(report->findings[f]->entry->id, ids[i]))
          count += (int)report->findings[f]->count;
      assert_int_equal(count, expected[i]);
    }
    hsc_log_reader_destroy(reader);
    hsc_bytes_deinit(&text);
  }
}

int main(int argc, char **argv) {
  static char directory[512];
  snprintf(directory, sizeof directory, "%s/knowledge", argc > 1 ? argv[1] : ".");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_log_gives_findings_and_a_summary),
      cmocka_unit_test(time_of_a_module_is_taken_from_the_stamps),
      cmocka_unit_test(stamps_are_read),
      cmocka_unit_test(a_stamp_without_a_zone_is_on_its_own_clock),
      cmocka_unit_test(a_stamp_of_another_zone_is_no_delay),
      cmocka_unit_test(colours_and_progress_bars_do_not_hide_a_message),
      cmocka_unit_test(a_line_of_any_length_is_read),
      cmocka_unit_test(the_same_unknown_error_is_told_once),
      cmocka_unit_test(an_empty_log_has_no_lines),
      cmocka_unit_test(the_search_misses_nothing),
  };
  void *state = directory;
  if (load(&state))
    return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unload(&state);
  return failed;
}
