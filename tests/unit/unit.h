// unit.h - what every unit test includes: cmocka with its own headers in the right order, and
// checks for statuses.
//
//   static void rule_that_is_tested(void **state) { EXPECT_OK(hsc_x(...)); EXPECT_CODE(NOT_FOUND,
//   hsc_y(...)); }
//   int main(void) { const struct CMUnitTest tests[] = {cmocka_unit_test(rule_that_is_tested)};
//   return cmocka_run_group_tests(tests, 0, 0); }
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/status.h"

// The expression succeeds; if not, its message is shown.
#define EXPECT_OK(expr) \
  do { \
    hsc_status *expect_status = (expr); \
    if (expect_status) \
      fail_msg("%s: %s\n%s", #expr, hsc_status_message(expect_status), \
               hsc_status_notes(expect_status)); \
  } while (0)

// The expression fails with this code.
#define EXPECT_CODE(code, expr) \
  do { \
    hsc_status *expect_status = (expr); \
    if (hsc_status_code(expect_status) != HSC_##code) \
      fail_msg("%s: code %s, not %s: %s", #expr, hsc_code_name(hsc_status_code(expect_status)), \
               #code, hsc_status_message(expect_status)); \
    hsc_status_free(expect_status); \
  } while (0)

// How many of a test's cases run: `quick` of them after every edit, `whole` in the suite `long`,
// which sets HSC_TEST_LONG (`long_tests` in meson.build).
static inline int64_t cases_of(int64_t quick, int64_t whole) {
  return getenv("HSC_TEST_LONG") ? whole : quick;
}

// Time that this process spent computing, in ns: limits on it hold on a busy machine too, where the
// clock on the wall does not.
static inline int64_t cpu_ns(void) {
  hsc_usage usage;
  hsc_usage_get(&usage);
  return usage.user_ns + usage.system_ns;
}
