#include "unit.h"

#include "cli/command.h"

static hsc_status *example(void) {
  hsc_status *status =
      HSC_ERR(INVALID_ARGUMENT, "dot: contracting dimensions differ: lhs[1] = 128, rhs[0] = 64");
  status = hsc_status_at(status, "models/broken.hlo", 7, 8, "  %d = f32[32,64] dot(%x, %w)\n");
  status = hsc_status_note(status, "while: reading the program");
  return hsc_status_hint(status, "look at %%w");
}

static void text_points_at_the_column(void **state) {
  hsc_status *status = example();
  hsc_bytes out = {0};
  hsc_error_text(status, &(hsc_text_style){0}, &out);
  assert_string_equal(hsc_bytes_text(&out),
                      "error: dot: contracting dimensions differ: lhs[1] = 128, rhs[0] = 64\n"
                      "  --> models/broken.hlo:7:8   %d = f32[32,64] dot(%x, %w)\n"
                      "                                   ^\n"
                      "  while: reading the program\n"
                      "  hint: look at %w\n");
  hsc_bytes_deinit(&out);
  hsc_status_free(status);
}

// Wherever the column is in a long line, the caret is under the character, and the line is cut
// to the width.
static void long_lines_are_cut_around_the_column(void **state) {
  char line[2001];
  for (int i = 0; i < 2000; i++)
    line[i] = (char)('a' + i % 26);
  line[2000] = 0;
  for (int column = 1; column <= 2000; column += 37) {
    hsc_status *status = hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "x"), "f", 1, column, line);
    hsc_bytes out = {0};
    hsc_error_text(status, &(hsc_text_style){.width = 80}, &out);
    const char *second = strchr(hsc_bytes_text(&out), '\n') + 1;
    const char *third = strchr(second, '\n') + 1;
    size_t caret = strcspn(third, "^");
    assert_true(third - second - 1 <= 80);
    assert_true(third + caret < out.data + out.size);
    assert_int_equal(second[caret], line[column - 1]);
    hsc_bytes_deinit(&out);
    hsc_status_free(status);
  }
}

static void odd_places_do_no_harm(void **state) {
  static const struct {
    const char *path, *line;
    int row, column;
    const char *expected;
  } cases[] = {
      {"f", NULL, 3, 4, "error: x\n  --> f:3:4\n"},
      {"f", NULL, 0, 0, "error: x\n  --> f\n"},
      {NULL, NULL, 3, 0, "error: x\n  --> input:3\n"},
      {"f", "", 1, 1, "error: x\n  --> f:1:1   \n              ^\n"},
      {"f", "ab", 1, 99, "error: x\n  --> f:1:99   ab\n                 ^\n"},
      {"f", "\t\tab", 1, 3, "error: x\n  --> f:1:3   ab\n              ^\n"},
      {"f", "ab", 1, 0, "error: x\n  --> f:1   ab\n"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_status *status = hsc_status_at(HSC_ERR(NOT_FOUND, "x"), cases[i].path, cases[i].row,
                                       cases[i].column, cases[i].line);
    hsc_bytes out = {0};
    hsc_error_text(status, &(hsc_text_style){0}, &out);
    assert_string_equal(hsc_bytes_text(&out), cases[i].expected);
    hsc_bytes_deinit(&out);
    hsc_status_free(status);
  }
}

static void json_has_the_same_facts(void **state) {
  hsc_status *status = example();
  hsc_bytes out = {0};
  hsc_error_json(status, &out);
  assert_string_equal(
      hsc_bytes_text(&out),
      "{\n  \"error\": {\n    \"code\": \"INVALID_ARGUMENT\",\n"
      "    \"message\": \"dot: contracting dimensions differ: lhs[1] = 128, rhs[0] = 64\",\n"
      "    \"where\": \"models/broken.hlo:7:8\",\n    \"hint\": \"look at %w\",\n"
      "    \"notes\": [\n      \"while: reading the program\"\n    ]\n  }\n}\n");
  hsc_bytes_deinit(&out);
  hsc_status_free(status);
}

static void bugs_say_where_they_come_from(void **state) {
  hsc_status *status = HSC_ERR(INTERNAL, "broken");
  hsc_bytes out = {0};
  hsc_error_text(status, &(hsc_text_style){0}, &out);
  assert_non_null(strstr(hsc_bytes_text(&out), "test_error_text.c:"));
  assert_non_null(strstr(hsc_bytes_text(&out), "please report it"));
  hsc_bytes_deinit(&out);
  hsc_status_free(status);
}

static void exit_codes_follow_the_code(void **state) {
  hsc_status *failed = HSC_ERR(NOT_FOUND, "x");
  hsc_status *unsupported = HSC_ERR(UNIMPLEMENTED, "x");
  assert_int_equal(hsc_exit_code_of(NULL, false), 0);
  assert_int_equal(hsc_exit_code_of(failed, false), 1);
  assert_int_equal(hsc_exit_code_of(failed, true), 2);
  assert_int_equal(hsc_exit_code_of(unsupported, false), 3);
  hsc_status *unknown = hsc_status_usage(HSC_ERR(NOT_FOUND, "unknown device 'cpuu'"));
  assert_int_equal(hsc_exit_code_of(unknown, false), 2);
  hsc_status_free(unknown);
  hsc_status_free(failed);
  hsc_status_free(unsupported);
}

// The name of a file must not move the cursor or rename the window.
static void control_characters_are_shown_not_sent(void **state) {
  hsc_bytes out = {0};
  hsc_status *status = hsc_status_at(HSC_ERR(NOT_FOUND,
                                             "\x1b]0;owned\x07 and \x1b[2J\x7f\xc2\x9b"
                                             "31m: not there, caf\xc3\xa9"),
                                     "\x1b[31mname", 1, 1, NULL);
  status = hsc_status_note(status, "while: \x1b[5m reading");
  status = hsc_status_hint(status, "did you mean \x1b[5m?");
  hsc_error_text(status, &(hsc_text_style){0}, &out);
  assert_null(strpbrk(hsc_bytes_text(&out), "\x1b\x07\x7f"));
  assert_non_null(strstr(hsc_bytes_text(&out), "\\x1b]0;owned\\x07"));
  assert_null(strstr(hsc_bytes_text(&out), "\xc2\x9b"));
  assert_non_null(strstr(hsc_bytes_text(&out), "caf\xc3\xa9"));
  hsc_status_free(status);
  hsc_bytes_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(control_characters_are_shown_not_sent),
      cmocka_unit_test(text_points_at_the_column),
      cmocka_unit_test(long_lines_are_cut_around_the_column),
      cmocka_unit_test(odd_places_do_no_harm),
      cmocka_unit_test(json_has_the_same_facts),
      cmocka_unit_test(bugs_say_where_they_come_from),
      cmocka_unit_test(exit_codes_follow_the_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
