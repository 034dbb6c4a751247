#include "base/core/memory.h"
#include "base/text/text.h"
#include "unit.h"

static void holds_what_it_was_given(void **state) {
  hsc_status *status = HSC_ERR(NOT_FOUND, "no device '%s'", "tpu");
  status = hsc_status_at(status, "a.hlo", 7, 12, "  x = f32[] add(y)");
  status = hsc_status_hint(status, "try %s", "this");
  status = hsc_status_hint(status, "hloscope %s", "devices");
  status = hsc_status_note(status, "while: reading %d", 1);
  status = hsc_status_note(status, "while: running");
  assert_int_equal(hsc_status_code(status), HSC_NOT_FOUND);
  assert_string_equal(hsc_status_message(status), "no device 'tpu'");
  assert_string_equal(hsc_status_path(status), "a.hlo");
  assert_int_equal(hsc_status_line(status), 7);
  assert_int_equal(hsc_status_column(status), 12);
  assert_string_equal(hsc_status_source_line(status), "  x = f32[] add(y)");
  assert_string_equal(hsc_status_hint_text(status), "hloscope devices");
  assert_string_equal(hsc_status_notes(status), "while: reading 1\nwhile: running");
  int line = 0;
  assert_true(hsc_ends_with(hsc_status_made_at(status, &line), "test_status.c"));
  assert_in_range(line, 1, 10);
  hsc_status_free(status);
}

static void null_is_success_everywhere(void **state) {
  assert_int_equal(hsc_status_code(NULL), HSC_OK);
  assert_string_equal(hsc_status_message(NULL), "");
  assert_string_equal(hsc_status_notes(NULL), "");
  assert_null(hsc_status_path(NULL));
  assert_null(hsc_status_hint_text(NULL));
  assert_null(hsc_status_source_line(NULL));
  assert_int_equal(hsc_status_line(NULL) + hsc_status_column(NULL), 0);
  assert_null(hsc_status_note(NULL, "x"));
  assert_null(hsc_status_hint(NULL, "x"));
  assert_null(hsc_status_at(NULL, "x", 1, 1, NULL));
  hsc_status_free(NULL);
}

static void out_of_memory_is_one_static_status(void **state) {
  hsc_alloc_fail_after(1);
  hsc_status *status = HSC_ERR(INTERNAL, "lost");
  hsc_alloc_fail_after(0);
  assert_ptr_equal(status, hsc_status_out_of_memory());
  assert_int_equal(hsc_status_code(status), HSC_RESOURCE_EXHAUSTED);
  assert_ptr_equal(hsc_status_note(status, "note"), status);
  assert_ptr_equal(hsc_status_at(status, "p", 1, 1, "l"), status);
  assert_string_equal(hsc_status_notes(status), "");
  hsc_status_free(status);
  hsc_status_free(status);
}

// Whichever allocation fails, there is a status, and it can be freed.
static void every_failing_allocation_is_survived(void **state) {
  for (uint64_t n = 1; n < 12; n++) {
    hsc_alloc_fail_after(n);
    hsc_status *status = HSC_ERR(ABORTED, "a long message: %0200d", 1);
    status = hsc_status_at(status, "path", 1, 2, "line");
    status = hsc_status_note(status, "note");
    status = hsc_status_note(status, "note");
    status = hsc_status_hint(status, "hint");
    hsc_alloc_fail_after(0);
    assert_non_null(status);
    assert_true(hsc_status_code(status) == HSC_ABORTED ||
                hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED);
    hsc_status_free(status);
  }
}

static hsc_status *inner(bool fails) {
  return fails ? HSC_ERR(DATA_LOSS, "torn") : NULL;
}

static hsc_status *with_try(bool fails, bool *out_after) {
  HSC_TRY(inner(fails));
  *out_after = true;
  return NULL;
}

static hsc_status *with_note(bool fails) {
  HSC_TRY_NOTE(inner(fails), "while: testing %s", "notes");
  return NULL;
}

static hsc_status *with_goto(bool fails, bool *out_cleaned) {
  hsc_status *status = NULL;
  HSC_GOTO(inner(fails));
done:
  *out_cleaned = true;
  return status;
}

static void macros_leave_with_the_status(void **state) {
  bool after = false;
  bool cleaned = false;
  EXPECT_CODE(DATA_LOSS, with_try(true, &after));
  assert_false(after);
  EXPECT_OK(with_try(false, &after));
  assert_true(after);
  EXPECT_CODE(DATA_LOSS, with_goto(true, &cleaned));
  assert_true(cleaned);
  EXPECT_OK(with_note(false));
  hsc_status *status = with_note(true);
  assert_string_equal(hsc_status_notes(status), "while: testing notes");
  hsc_status_free(status);
}

static void codes_have_the_numbers_of_pjrt(void **state) {
  assert_int_equal(HSC_INVALID_ARGUMENT, 3);
  assert_int_equal(HSC_UNIMPLEMENTED, 12);
  assert_int_equal(HSC_UNAUTHENTICATED, 16);
  assert_string_equal(hsc_code_text(HSC_NOT_FOUND), "not found");
  assert_string_equal(hsc_code_name(HSC_NOT_FOUND), "NOT_FOUND");
  for (int code = 1; code <= 16; code++)
    assert_true(strlen(hsc_code_advice((hsc_code)code)) > 0);
}

static void errno_becomes_a_code(void **state) {
  hsc_status *status = hsc_status_errno(2, "cannot open", "x.hlo");
  assert_int_equal(hsc_status_code(status), HSC_NOT_FOUND);
  assert_string_equal(hsc_status_message(status), "x.hlo: cannot open: No such file or directory");
  hsc_status_free(status);
  EXPECT_CODE(PERMISSION_DENIED, hsc_status_errno(13, "cannot open", "x"));
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_status_errno(12, "cannot open", "x"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(holds_what_it_was_given),
      cmocka_unit_test(null_is_success_everywhere),
      cmocka_unit_test(out_of_memory_is_one_static_status),
      cmocka_unit_test(every_failing_allocation_is_survived),
      cmocka_unit_test(macros_leave_with_the_status),
      cmocka_unit_test(codes_have_the_numbers_of_pjrt),
      cmocka_unit_test(errno_becomes_a_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
