// Oracle: strtod of the C library for the round trip, and a search over all digit counts for
// shortness.
#include "base/core/random.h"
#include "base/text/text.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

static int significant_digits(const char *text) {
  int count = 0;
  int zeros = 0;
  bool started = false;
  for (; *text && *text != 'e'; text++) {
    if (*text < '0' || *text > '9')
      continue;
    started = started || *text != '0';
    if (!started)
      continue;
    zeros = *text == '0' ? zeros + 1 : 0;
    count++;
  }
  return count - zeros;
}

static void check_double(uint64_t bits) {
  double value, back;
  char text[32], shorter[64];
  memcpy(&value, &bits, 8);
  int length = hsc_format_double(value, text);
  assert_int_equal(length, strlen(text));
  assert_in_range(length, 1, 31);
  if (isnan(value)) {
    assert_string_equal(text, "nan");
    return;
  }
  back = strtod(text, NULL);
  if (memcmp(&back, &value, 8) != 0)
    fail_msg("%a printed as %s reads back as %a", value, text, back);
  int digits = significant_digits(text);
  if (digits > 1 && isfinite(value)) {
    snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
    if (strtod(shorter, NULL) == value)
      fail_msg("%s is not the shortest: %s", text, shorter);
  }
}

static void check_float(uint32_t bits) {
  float value, back;
  char text[32], shorter[64];
  memcpy(&value, &bits, 4);
  int length = hsc_format_float(value, text);
  assert_int_equal(length, strlen(text));
  if (isnan(value))
    return;
  back = strtof(text, NULL);
  if (memcmp(&back, &value, 4) != 0)
    fail_msg("%a printed as %s reads back as %a", (double)value, text, (double)back);
  int digits = significant_digits(text);
  if (digits > 1 && isfinite(value)) {
    snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)value);
    if (strtof(shorter, NULL) == value)
      fail_msg("%s is not the shortest: %s", text, shorter);
  }
}

static void random_bits_read_back(void **state) {
  hsc_random random;
  hsc_random_init(&random, 2026);
  for (int i = 0; i < 60000; i++) {
    uint64_t bits = hsc_random_u64(&random);
    check_double(bits);
    check_double(bits & 0x800fffffffffffffu);  // subnormal
    check_float((uint32_t)bits);
    check_float((uint32_t)bits & 0x807fffffu);
  }
}

// Numbers that people write: few digits, all exponents.
static void short_decimals_stay_short(void **state) {
  hsc_random random;
  hsc_random_init(&random, 7);
  for (int i = 0; i < 40000; i++) {
    char text[32];
    snprintf(text, sizeof text, "%llue%d",
             (unsigned long long)hsc_random_below(&random, 100000) + 1,
             (int)hsc_random_below(&random, 600) - 300);
    double value = strtod(text, NULL);
    char printed[32];
    hsc_format_double(value, printed);
    assert_true(strtod(printed, NULL) == value);
    assert_true(significant_digits(printed) <= significant_digits(text));
  }
}

static void known_texts(void **state) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {1, "1"},
      {100, "100"},
      {-12345678, "-12345678"},
      {0.1, "0.1"},
      {0.3, "0.3"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1e15, "1e+15"},
      {123456789012345, "123456789012345"},
      {1e14 + 0.5, "100000000000000.5"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {1e30, "1e+30"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {NAN, "nan"},
      {9007199254740992.0, "9.007199254740992e+15"},
  };
  char text[32];
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_format_double(cases[i].value, text);
    assert_string_equal(text, cases[i].text);
  }
  hsc_format_float(0.1f, text);
  assert_string_equal(text, "0.1");
  hsc_format_float(16777216.0f, text);
  assert_string_equal(text, "16777216");
  hsc_format_float(3.4028235e38f, text);
  assert_string_equal(text, "3.4028235e+38");
  hsc_format_float(1e-45f, text);
  assert_string_equal(text, "1e-45");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_bits_read_back),
                                     cmocka_unit_test(short_decimals_stay_short),
                                     cmocka_unit_test(known_texts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
