// Numbers as text: the fast paths write what printf writes.
#include "base/core/random.h"
#include "unit.h"

#include "hlo/ir/hlo_internal.h"

#include <math.h>
#include <stdlib.h>

static void expect_round_trip(double value, bool is_f32) {
  char have[64], want[64];
  int few = is_f32 ? 6 : 15;
  int many = is_f32 ? 9 : 17;
  snprintf(want, sizeof want, "%.*g", few, value);
  if (is_f32 ? strtof(want, NULL) != (float)value : strtod(want, NULL) != value)
    snprintf(want, sizeof want, "%.*g", many, value);
  have[hsc__format_round_trip(value, is_f32, have)] = 0;
  if (strcmp(have, want) != 0)
    fail_msg("%a: %s, not %s", value, have, want);
}

static void expect_g(double value, int digits) {
  char have[64], want[64];
  snprintf(want, sizeof want, "%.*g", digits, value);
  have[hsc__format_g(value, digits, have)] = 0;
  if (strcmp(have, want) != 0)
    fail_msg("%a with %d digits: %s, not %s", value, digits, have, want);
}

static void random_floats(void **state) {
  hsc_random random;
  hsc_random_init(&random, 1);
  for (int i = 0; i < 400000; i++) {
    uint64_t bits = hsc_random_u64(&random);
    uint32_t narrow = (uint32_t)bits;
    double wide;
    float value;
    if (i % 4 < 2) {  // exponents near 0, as weights have them
      bits = (bits & 0x800fffffffffffffu) | (1000 + bits % 60) << 52;
      narrow = (narrow & 0x807fffffu) | (100 + narrow % 60) << 23;
    }
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&value, &narrow, sizeof value);
    if (isnan(wide) || isnan(value))
      continue;
    expect_round_trip(wide, false);
    expect_round_trip(value, true);
    expect_g(wide, 1 + i % 17);
  }
}

// Decimal numbers, ties and powers of ten: where rounding goes wrong first.
static void round_numbers(void **state) {
  for (int power = -330; power < 310; power++) {
    for (int digit = 1; digit < 100; digit += 2) {
      double value = digit * pow(10, power);
      if (value == 0 || isinf(value))
        continue;
      expect_round_trip(value, false);
      if ((float)value != 0 && !isinf((float)value))
        expect_round_trip((float)value, true);
      expect_g(value, 2 + digit % 15);
    }
  }
  for (int i = 1; i < 2000; i++) {
    expect_g(i + 0.5, 1 + i % 4);
    expect_g(ldexp(i, -8), 3);
    expect_g(-9.9999999 * i, 4);
  }
  const double edges[] = {0,
                          -0.0,
                          INFINITY,
                          -INFINITY,
                          0x1p-1074,
                          0x1p-149,
                          3.4028234663852886e38,
                          1.7976931348623157e308,
                          99999.5,
                          999999.5,
                          0.000099999995,
                          0.0001,
                          1e-5,
                          123456789,
                          1e15,
                          1e16};
  for (size_t i = 0; i < HSC_COUNT_OF(edges); i++) {
    expect_round_trip(edges[i], false);
    expect_round_trip((float)edges[i], true);
    for (int digits = 1; digits <= 17; digits++)
      expect_g(edges[i], digits);
  }
}

static void integers(void **state) {
  char text[24], want[24];
  const int64_t edges[] = {0, 9, 10, 99, 100, 101, 12345, INT64_MAX, INT64_MIN, -1, -100};
  for (size_t i = 0; i < HSC_COUNT_OF(edges); i++) {
    text[hsc__format_int(edges[i], text)] = 0;
    snprintf(want, sizeof want, "%lld", (long long)edges[i]);
    assert_string_equal(text, want);
  }
  text[hsc__format_uint(UINT64_MAX, text)] = 0;
  assert_string_equal(text, "18446744073709551615");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_floats),
                                     cmocka_unit_test(round_numbers), cmocka_unit_test(integers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
