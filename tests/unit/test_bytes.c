#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/text/text.h"
#include "unit.h"

static void grows_and_stays_terminated(void **state) {
  hsc_bytes bytes = {0};
  assert_string_equal(hsc_bytes_text(&bytes), "");
  for (int i = 0; i < 1000; i++) {
    hsc_bytes_append_char(&bytes, (char)('a' + i % 26));
    assert_int_equal(bytes.data[bytes.size], 0);
  }
  assert_int_equal(bytes.size, 1000);
  hsc_bytes_reset(&bytes);
  assert_string_equal(hsc_bytes_text(&bytes), "");
  hsc_bytes_append_text(&bytes, "x");
  hsc_bytes_append(&bytes, "\0y", 2);
  assert_int_equal(hsc_bytes_view(&bytes).size, 3);
  memcpy(hsc_bytes_extend(&bytes, 3), "abc", 3);
  assert_memory_equal(bytes.data, "x\0yabc", 7);
  hsc_bytes_deinit(&bytes);
  assert_int_equal(bytes.capacity, 0);
}

static void printf_appends_at_every_length(void **state) {
  for (int length = 0; length < 300; length++) {
    hsc_bytes bytes = {0};
    hsc_bytes_append_text(&bytes, "<");
    hsc_bytes_printf(&bytes, "%.*s%s", length,
                     "01234567890123456789012345678901234567890123456789012345678901234567890123456"
                     "78901234567890123456789"
                     "01234567890123456789012345678901234567890123456789012345678901234567890123456"
                     "78901234567890123456789"
                     "01234567890123456789012345678901234567890123456789012345678901234567890123456"
                     "78901234567890123456789",
                     ">");
    assert_int_equal(bytes.size, length + 2);
    assert_int_equal(bytes.data[bytes.size - 1], '>');
    assert_int_equal(bytes.data[bytes.size], 0);
    hsc_bytes_deinit(&bytes);
  }
}

static void failure_is_sticky(void **state) {
  hsc_bytes bytes = {0};
  hsc_bytes_append_text(&bytes, "kept");
  hsc_alloc_fail_after(1);
  assert_null(hsc_bytes_extend(&bytes, 1000));
  hsc_alloc_fail_after(0);
  hsc_bytes_append_text(&bytes, "lost");
  assert_string_equal(hsc_bytes_text(&bytes), "kept");
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_bytes_status(&bytes));
  assert_null(hsc_bytes_take(&bytes));
  EXPECT_OK(hsc_bytes_status(&bytes));
  assert_null(hsc_bytes_extend(&bytes, SIZE_MAX));
  hsc_bytes_deinit(&bytes);
}

static void take_moves_the_text_out(void **state) {
  hsc_bytes bytes = {0};
  char *empty = hsc_bytes_take(&bytes);
  assert_string_equal(empty, "");
  hsc_free(empty);
  hsc_bytes_append_text(&bytes, "text");
  char *text = hsc_bytes_take(&bytes);
  assert_string_equal(text, "text");
  assert_null(bytes.data);
  hsc_free(text);
}

static void views_compare_by_content(void **state) {
  assert_true(hsc_view_equals(HSC_VIEW("ab"), hsc_view_of("ab")));
  assert_false(hsc_view_equals(HSC_VIEW("ab"), HSC_VIEW("abc")));
  assert_true(hsc_view_equals(hsc_view_of(NULL), HSC_VIEW("")));
  assert_true(hsc_view_equals_text((hsc_view){"abcd", 2}, "ab"));
  assert_true(hsc_starts_with("model.hlo", "model"));
  assert_false(hsc_starts_with("mod", "model"));
  assert_true(hsc_ends_with("model.hlo", ".hlo"));
  assert_false(hsc_ends_with("hlo", "x.hlo"));
}

static void nearest_name_is_found(void **state) {
  static const char *const names[] = {"algsimp", "cse", "dce", "fusion", "patterns", "results"};
  size_t count = HSC_COUNT_OF(names);
  assert_string_equal(hsc_did_you_mean("algsimpp", names, count), "algsimp");
  assert_string_equal(hsc_did_you_mean("pattrens", names, count), "patterns");
  assert_string_equal(hsc_did_you_mean("fusoin", names, count), "fusion");
  assert_string_equal(hsc_did_you_mean("result", names, count), "results");
  static const char *const targets[] = {"a10", "a100", "h100"};  // as near as a10: begun as h100
  assert_string_equal(hsc_did_you_mean("h10", targets, HSC_COUNT_OF(targets)), "h100");
  assert_null(hsc_did_you_mean("transpose", names, count));
  assert_null(hsc_did_you_mean("", names, count));
  assert_null(hsc_did_you_mean("x", names, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grows_and_stays_terminated),
      cmocka_unit_test(printf_appends_at_every_length),
      cmocka_unit_test(failure_is_sticky),
      cmocka_unit_test(take_moves_the_text_out),
      cmocka_unit_test(views_compare_by_content),
      cmocka_unit_test(nearest_name_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
