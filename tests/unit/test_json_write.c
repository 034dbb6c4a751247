#include "base/json/json_write.h"
#include "unit.h"

#include <math.h>

static void document_is_laid_out(void **state) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 2);
  hsc_json_begin_object(&json);
  hsc_json_kv_string(&json, "name", "tiny");
  hsc_json_key(&json, "empty");
  hsc_json_begin_object(&json);
  hsc_json_end_object(&json);
  hsc_json_key(&json, "list");
  hsc_json_begin_array(&json);
  hsc_json_int(&json, -5);
  hsc_json_uint(&json, UINT64_MAX);
  hsc_json_begin_array(&json);
  hsc_json_end_array(&json);
  hsc_json_end_array(&json);
  hsc_json_kv_int(&json, "min", INT64_MIN);
  hsc_json_kv_bool(&json, "ok", true);
  hsc_json_kv_double(&json, "x", 0.1);
  hsc_json_kv_string(&json, "none", NULL);
  hsc_json_end_object(&json);
  assert_string_equal(
      hsc_bytes_text(&out),
      "{\n  \"name\": \"tiny\",\n  \"empty\": {},\n  \"list\": [\n    -5,\n    "
      "18446744073709551615,\n    []\n  ],\n"
      "  \"min\": -9223372036854775808,\n  \"ok\": true,\n  \"x\": 0.1,\n  \"none\": null\n}");
  hsc_bytes_deinit(&out);
}

static void one_line_form(void **state) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 0);
  hsc_json_begin_array(&json);
  hsc_json_raw(&json, "{\"a\": 1}");
  hsc_json_null(&json);
  hsc_json_bool(&json, false);
  hsc_json_begin_object(&json);
  hsc_json_kv_int(&json, "a", 1);
  hsc_json_kv_int(&json, "b", 2);
  hsc_json_end_object(&json);
  hsc_json_end_array(&json);
  assert_string_equal(hsc_bytes_text(&out), "[{\"a\": 1}, null, false, {\"a\": 1, \"b\": 2}]");
  hsc_bytes_deinit(&out);
}

static void check_string(const char *text, size_t length, const char *expected) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 0);
  hsc_json_string_n(&json, text, length);
  assert_string_equal(hsc_bytes_text(&out), expected);
  hsc_bytes_deinit(&out);
}

#define CHECK_STRING(literal, expected) check_string(literal, sizeof(literal) - 1, expected)

static void strings_are_escaped(void **state) {
  CHECK_STRING("a\"b\\c\n\r\t", "\"a\\\"b\\\\c\\n\\r\\t\"");
  CHECK_STRING("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
  CHECK_STRING("a\0b", "\"a\\u0000b\"");
  CHECK_STRING("\xc3\xa9\xe2\x9c\x93\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x9c\x93\xf0\x9f\x98\x80\"");
  CHECK_STRING("", "\"\"");
}

#define BAD "\xef\xbf\xbd"

static void invalid_utf8_is_replaced(void **state) {
  CHECK_STRING(
      "a\xff"
      "b",
      "\"a" BAD "b\"");
  CHECK_STRING("\xc0\x80", "\"" BAD BAD "\"");                  // overlong NUL
  CHECK_STRING("\xed\xa0\x80", "\"" BAD BAD BAD "\"");          // surrogate
  CHECK_STRING("\xe2\x9c", "\"" BAD BAD "\"");                  // cut off
  CHECK_STRING("\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"");  // over U+10FFFF
  CHECK_STRING("\xe0\x80\x80", "\"" BAD BAD BAD "\"");
  CHECK_STRING("\x80", "\"" BAD "\"");
}

static void not_numbers_are_null(void **state) {
  static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, 1e300, 5e-324};
  static const char *const texts[] = {"null", "null", "null", "-0", "1e+300", "5e-324"};
  for (size_t i = 0; i < HSC_COUNT_OF(values); i++) {
    hsc_bytes out = {0};
    hsc_json json;
    hsc_json_init(&json, &out, 2);
    hsc_json_double(&json, values[i]);
    assert_string_equal(hsc_bytes_text(&out), texts[i]);
    hsc_bytes_deinit(&out);
  }
}

static void too_deep_is_an_error_not_a_crash(void **state) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 0);
  for (int i = 0; i < 200; i++)
    hsc_json_begin_array(&json);
  for (int i = 0; i < 200; i++)
    hsc_json_end_array(&json);
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_bytes_status(&out));
  hsc_bytes_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(document_is_laid_out), cmocka_unit_test(one_line_form),
      cmocka_unit_test(strings_are_escaped),  cmocka_unit_test(invalid_utf8_is_replaced),
      cmocka_unit_test(not_numbers_are_null), cmocka_unit_test(too_deep_is_an_error_not_a_crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
