// test_pattern.c - expressions of users: what is one is compiled, what would take all memory or
// all stack is refused at once.
#include "base/core/memory.h"
#include "base/text/pattern.h"
#include "unit.h"

static void expressions_are_compiled(void **state) {
  regex_t pattern;
  EXPECT_OK(hsc_pattern_compile("^(algsimp|dot-.{2,8}|a{3})$", &pattern));
  assert_int_equal(regexec(&pattern, "dot-strength", 0, NULL, 0), 0);
  assert_int_equal(regexec(&pattern, "aa", 0, NULL, 0), REG_NOMATCH);
  regfree(&pattern);
}

static void what_grows_without_end_is_refused(void **state) {
  static const char *const wrong[] = {"(", "((((a{255}){255}){255}){255})", "a{2000}", "a{0,2000}",
                                      "(x{40}y{40})"};
  regex_t pattern;
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++)
    EXPECT_CODE(INVALID_ARGUMENT, hsc_pattern_compile(wrong[i], &pattern));
  char *deep = hsc_alloc(60001);
  memset(deep, '(', 60000);
  EXPECT_CODE(INVALID_ARGUMENT, hsc_pattern_compile(deep, &pattern));
  hsc_free(deep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_are_compiled),
      cmocka_unit_test(what_grows_without_end_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
