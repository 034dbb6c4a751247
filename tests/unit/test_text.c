// test_text.c - what a terminal may get, escapes, and the nearest name: each range at both ends and
// one beyond.
#include "unit.h"

#include "base/text/pattern.h"
#include "base/text/text.h"
#include "base/text/view_find.h"

// A code point as UTF-8; its bytes.
static size_t utf8_of(uint32_t code, char out[5]) {
  size_t size = 1;
  if (code < 0x80) {
    out[0] = (char)code;
  } else if (code < 0x800) {
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 63));
    size = 2;
  } else {
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 63));
    out[2] = (char)(0x80 | (code & 63));
    size = 3;
  }
  out[size] = 0;
  return size;
}

static bool is_control(uint32_t code) {
  if (code == '\n' || code == '\t')
    return false;
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// All characters of the first plane's lower half, alone and cut off.
static void characters_that_move_a_terminal_are_found(void **state) {
  (void)state;
  for (uint32_t code = 0; code < 0x3000; code++) {
    char text[5];
    size_t size = utf8_of(code, text);
    size_t wanted = is_control(code) ? size : 0;
    assert_int_equal(hsc_text_control((hsc_view){text, size}, 0), wanted);
    if (size > 1)
      assert_int_equal(hsc_text_control((hsc_view){text, size - 1}, 0), 0);
    char behind[8] = "ab";
    memcpy(behind + 2, text, size);
    assert_int_equal(hsc_text_control((hsc_view){behind, size + 2}, 2), wanted);
  }
}

static void expect_plain(const char *text, bool colors, const char *wanted) {
  hsc_bytes out = {0};
  hsc_text_plain(hsc_view_of(text), colors, &out);
  assert_string_equal(hsc_bytes_text(&out), wanted);
  hsc_bytes_deinit(&out);
}

static void plain_text_keeps_our_colours_alone(void **state) {
  (void)state;
  expect_plain("a\tb\nc", true, "a\tb\nc");
  expect_plain("x\x1b[31;1my\x1b[0m", true, "x\x1b[31;1my\x1b[0m");
  expect_plain("x\x1b[31my", false, "x\\x1b[31my");
  expect_plain("\x1b[2J", true, "\\x1b[2J");  // clears the screen
  expect_plain("\x1b[31", true, "\\x1b[31");  // has no end
  expect_plain("\x1b[", true, "\\x1b[");
  expect_plain("\x1b", true, "\\x1b");
  expect_plain("\x1b]0;t\x07", true, "\\x1b]0;t\\x07");
  expect_plain("\x1b[m", true, "\x1b[m");
  expect_plain(
      "\xc2\x9b"
      "31m",
      true, "\\xc2\\x9b31m");
  expect_plain(
      "\xe2\x80\xae"
      "gpj",
      true, "\\xe2\\x80\\xaegpj");
  expect_plain("\xc3\xa9\xe2\x82\xac", true, "\xc3\xa9\xe2\x82\xac");
}

static void texts_are_escaped_as_in_c(void **state) {
  (void)state;
  hsc_bytes out = {0};
  hsc_text_escape(HSC_VIEW("a\"'\\\n\r\t\x01\x1f ~\x7f\x80\xff"
                           "b"),
                  &out);
  assert_string_equal(hsc_bytes_text(&out), "a\\\"\\'\\\\\\n\\r\\t\\001\\037 ~\\177\\200\\377b");
  hsc_bytes_deinit(&out);
}

static void expect_near(const char *text, const char *wanted) {
  static const char *const names[] = {"device", "devices", "tables",       "pass",
                                      "passes", "x",       "memory-limit", "time-limit"};
  const char *near = hsc_did_you_mean(text, names, HSC_COUNT_OF(names));
  if (!wanted)
    assert_null(near);
  else
    assert_string_equal(near ? near : "nothing", wanted);
}

// One change for three letters, begun or not.
static void the_nearest_name_is_near(void **state) {
  (void)state;
  expect_near("tables", "tables");
  expect_near("tabels", "tables");  // neighbours swapped are one change
  expect_near("tbales", "tables");
  expect_near("table", "tables");
  expect_near("tabbles", "tables");
  expect_near("tablxx", "tables");  // two of six
  expect_near("taxxxs", NULL);      // three of six
  expect_near("devic", "device");
  expect_near("devicess", "devices");
  expect_near("passe", "passes");  // as near as pass, and it begins so
  expect_near("tabl", "tables");   // two of four
  expect_near("tab", NULL);        // three of three
  expect_near("y", "x");
  expect_near("", NULL);
  expect_near("memry-limit", "memory-limit");
  expect_near("limit-memory", NULL);
  // one letter moved and another changed is no swap: two changes of three letters
  assert_null(hsc_did_you_mean("abx", (const char *const[]){"byx"}, 1));
  assert_non_null(hsc_did_you_mean("abx", (const char *const[]){"bax"}, 1));
  char longest[66];
  memset(longest, 'a', 65);
  longest[64] = 0;
  const char *const itself[] = {longest};
  assert_string_equal(hsc_did_you_mean(longest, itself, 1), longest);
  longest[64] = 'a';
  longest[65] = 0;
  assert_null(hsc_did_you_mean(longest, itself, 1));
  assert_null(hsc_did_you_mean("aa", itself, 1));
}

static void parts_of_texts(void **state) {
  (void)state;
  assert_true(hsc_ends_with("a.hlo", ".hlo") && hsc_ends_with(".hlo", ".hlo"));
  assert_false(hsc_ends_with("hlo", ".hlo"));
  assert_false(hsc_ends_with("a.hlp", ".hlo"));
  assert_true(hsc_starts_with("abc", "ab") && hsc_starts_with("abc", ""));
  assert_false(hsc_starts_with("ab", "abc"));
  assert_string_equal(hsc_path_file("a/b/c.hlo"), "c.hlo");
  assert_string_equal(hsc_path_file("c.hlo"), "c.hlo");
  assert_string_equal(hsc_path_file("a/"), "");
  assert_string_equal(hsc_plural(1, "is", "are"), "is");
  assert_string_equal(hsc_plural(0, "is", "are"), "are");
  assert_string_equal(hsc_plural(1.5, "is", "are"), "are");
  assert_int_equal(hsc_view_shown(HSC_VIEW("abc"), 3), 3);
  assert_int_equal(hsc_view_shown(HSC_VIEW("abcd"), 3), 3);
  assert_int_equal(hsc_view_shown(HSC_VIEW("ab"), 3), 2);
  assert_string_equal(hsc_view_find(HSC_VIEW("abcabd"), "abd"), "abd");
  assert_null(hsc_view_find(HSC_VIEW("abc"), "abcd"));
  assert_null(hsc_view_find((hsc_view){NULL, 0}, "a"));
  assert_true(hsc_view_equals((hsc_view){NULL, 0}, HSC_VIEW("")));
  assert_false(hsc_view_equals_text(HSC_VIEW("ab"), "abc"));
  assert_false(hsc_view_equals_text(HSC_VIEW("abd"), "abc"));
}

// Groups in each other, bytes, and repetitions that multiply: the last that is taken, the first
// that is not.
static void expressions_end_at_their_bounds(void **state) {
  (void)state;
  regex_t made;
  char text[1100];
  for (int depth = 99; depth <= 101; depth++) {
    memset(text, '(', (size_t)depth);
    text[depth] = 'a';
    memset(text + depth + 1, ')', (size_t)depth);
    text[2 * depth + 1] = 0;
    hsc_status *status = hsc_pattern_compile(text, &made);
    assert_int_equal(hsc_status_code(status), depth <= 100 ? HSC_OK : HSC_INVALID_ARGUMENT);
    if (!status)
      regfree(&made);
    hsc_status_free(status);
  }
  for (int size = 999; size <= 1001; size++) {
    memset(text, 'a', (size_t)size);
    text[size] = 0;
    hsc_status *status = hsc_pattern_compile(text, &made);
    assert_int_equal(hsc_status_code(status), size <= 1000 ? HSC_OK : HSC_INVALID_ARGUMENT);
    if (!status)
      regfree(&made);
    hsc_status_free(status);
  }
  static const struct {
    const char *text;
    hsc_code code;
  } rows[] = {{"a{1000}", HSC_OK},
              {"a{1001}", HSC_INVALID_ARGUMENT},
              {"(a{100}b{10})", HSC_OK},
              {"(a{100}b{10}c{2})", HSC_INVALID_ARGUMENT},
              {"(a{0,100}b{1,11})", HSC_INVALID_ARGUMENT},
              {"a{0}b{1}c{1,1}", HSC_OK},
              {"[", HSC_INVALID_ARGUMENT},
              {"", HSC_OK}};
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    hsc_status *status = hsc_pattern_compile(rows[i].text, &made);
    if (hsc_status_code(status) != rows[i].code)
      fail_msg("'%s': %s", rows[i].text, hsc_status_message(status));
    if (!status)
      regfree(&made);
    hsc_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(characters_that_move_a_terminal_are_found),
      cmocka_unit_test(plain_text_keeps_our_colours_alone),
      cmocka_unit_test(texts_are_escaped_as_in_c),
      cmocka_unit_test(the_nearest_name_is_near),
      cmocka_unit_test(parts_of_texts),
      cmocka_unit_test(expressions_end_at_their_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
