// Element types: names and numbers, and what the bits of each float type mean.
//
// Oracles: ml_dtypes 0.5 for the 8-bit and 4-bit floats (digests over all inputs, computed there),
// the compiler's _Float16 for f16, arithmetic on float's bits for bf16.
#include "base/core/random.h"
#include "unit.h"

#include "hlo/ir/hlo.h"

#include <math.h>

static uint64_t fnv1a(uint64_t hash, const void *data, size_t size) {
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
  return hash;
}

static const uint64_t FNV_START = 0xcbf29ce484222325u;

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double value_of_f16(uint16_t bits) {
  _Float16 value;
  memcpy(&value, &bits, sizeof bits);
  return (double)value;
}

// encoded: FNV-1a over the bytes that all 65536 halves, in the order of their bits, encode to.
// decoded: FNV-1a over the doubles (little-endian, NaN as eight bytes 0xff) of all bit patterns.
static void narrow_floats_are_those_of_ml_dtypes(void **state) {
  static const struct {
    hsc_type type;
    int patterns;
    uint64_t encoded, decoded;
  } rows[] = {
      {HSC_TYPE_F4E2M1FN, 16, 0x93e60c1ef55ccd25u, 0xb7a536e39150e235u},
      {HSC_TYPE_F8E3M4, 256, 0xde849e1ad9c55e25u, 0xa1fd8618ba1c9b25u},
      {HSC_TYPE_F8E4M3, 256, 0xf9e31c9f19fb6325u, 0x05ffd42c04f15f25u},
      {HSC_TYPE_F8E4M3B11FNUZ, 256, 0xdbf58453dd7ed9a5u, 0x27a50ab4faba8a9du},
      {HSC_TYPE_F8E4M3FN, 256, 0xbd571fcbcd351aa5u, 0xea498f85ce605f09u},
      {HSC_TYPE_F8E4M3FNUZ, 256, 0x5baaf26b4d46d9a5u, 0xbcad08644f5fedcdu},
      {HSC_TYPE_F8E5M2, 256, 0xbd846ad273634325u, 0x701604e6ba552e45u},
      {HSC_TYPE_F8E5M2FNUZ, 256, 0xf336d4e1e12edda5u, 0x92f2f3daabea651du},
      {HSC_TYPE_F8E8M0FNU, 256, 0xf66e04a493e77b06u, 0xa9cafead2f905368u},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    uint64_t encoded = FNV_START;
    uint64_t decoded = FNV_START;
    for (int bits = 0; bits < 65536; bits++) {
      uint8_t byte = (uint8_t)hsc_float_encode(rows[i].type, value_of_f16((uint16_t)bits));
      encoded = fnv1a(encoded, &byte, 1);
    }
    for (int bits = 0; bits < rows[i].patterns; bits++) {
      double value = hsc_float_decode(rows[i].type, (uint64_t)bits);
      uint64_t word = isnan(value) ? UINT64_MAX : bits_of(value);
      decoded = fnv1a(decoded, &word, sizeof word);
      if (!isnan(value))
        assert_int_equal(hsc_float_encode(rows[i].type, value), bits);
    }
    if (encoded != rows[i].encoded)
      fail_msg("%s: encodes otherwise than ml_dtypes", hsc_type_text(rows[i].type));
    if (decoded != rows[i].decoded)
      fail_msg("%s: decodes otherwise than ml_dtypes", hsc_type_text(rows[i].type));
  }
}

static void halves_are_those_of_the_compiler(void **state) {
  for (uint64_t bits = 0; bits < 65536; bits++) {
    double value = value_of_f16((uint16_t)bits);
    double decoded = hsc_float_decode(HSC_TYPE_F16, bits);
    if (isnan(value)) {
      assert_true(isnan(decoded));
      continue;
    }
    assert_true(bits_of(value) == bits_of(decoded));
    assert_int_equal(hsc_float_encode(HSC_TYPE_F16, value), bits);
  }
  hsc_random random;
  hsc_random_init(&random, 1);
  for (int i = 0; i < 300000; i++) {
    // Over the whole range and beyond, and doubles close to the middle between two halves.
    double value = ldexp(hsc_random_double(&random) - 0.5, (int)hsc_random_below(&random, 48) - 30);
    if (i % 2)
      value = (value_of_f16((uint16_t)hsc_random_below(&random, 0x7bff)) +
               value_of_f16((uint16_t)hsc_random_below(&random, 0x7bff))) /
              2;
    if (i % 4 == 1)
      value = nextafter(value, i % 8 == 1 ? INFINITY : 0);
    _Float16 want = (_Float16)value;
    uint16_t want_bits;
    memcpy(&want_bits, &want, sizeof want_bits);
    assert_int_equal(hsc_float_encode(HSC_TYPE_F16, value), want_bits);
  }
}

// To nearest even by adding just under half of what is cut off, plus one where the last bit that
// stays is odd.
static void bf16_is_the_upper_half_of_a_float(void **state) {
  hsc_random random;
  hsc_random_init(&random, 2);
  for (uint64_t bits = 0; bits < 65536; bits++) {
    double value = hsc_float_decode(HSC_TYPE_BF16, bits);
    if (isnan(value))
      assert_true((bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0);
    else
      assert_int_equal(hsc_float_encode(HSC_TYPE_BF16, value), bits);
  }
  for (int i = 0; i < 1000000; i++) {
    uint32_t bits = (uint32_t)hsc_random_u64(&random);
    if (i % 3 == 0)
      bits = (bits & 0xffff0000u) | 0x8000;  // ties
    float value;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value))
      continue;
    assert_int_equal(hsc_float_encode(HSC_TYPE_BF16, value),
                     (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

// A double just above a tie must round up; going through float would make it a tie.
static void doubles_round_once(void **state) {
  double tie = 1 + 0x1p-4;
  double above = tie + 0x1p-45;
  double tie_bf16 = 1 + 0x1p-8;
  double tie_f16 = 1 + 0x1p-11;
  assert_int_equal(hsc_float_encode(HSC_TYPE_F8E4M3FN, tie), 0x38);
  assert_int_equal(hsc_float_encode(HSC_TYPE_F8E4M3FN, above), 0x39);
  assert_int_equal(hsc_float_encode(HSC_TYPE_BF16, tie_bf16), 0x3f80);
  assert_int_equal(hsc_float_encode(HSC_TYPE_BF16, tie_bf16 + 0x1p-45), 0x3f81);
  assert_int_equal(hsc_float_encode(HSC_TYPE_F16, tie_f16), 0x3c00);
  assert_int_equal(hsc_float_encode(HSC_TYPE_F16, tie_f16 + 0x1p-45), 0x3c01);
}

static void overflow_is_what_the_type_has(void **state) {
  static const struct {
    hsc_type type;
    uint64_t of_large, of_minus_infinity, of_nan;
  } rows[] = {
      {HSC_TYPE_F32, 0x7f800000, 0xff800000, 0x7fc00000},
      {HSC_TYPE_F16, 0x7c00, 0xfc00, 0x7e00},
      {HSC_TYPE_BF16, 0x7f80, 0xff80, 0x7fc0},
      {HSC_TYPE_F8E5M2, 0x7c, 0xfc, 0x7e},
      {HSC_TYPE_F8E4M3, 0x78, 0xf8, 0x7c},
      {HSC_TYPE_F8E4M3FN, 0x7f, 0xff, 0x7f},
      {HSC_TYPE_F8E4M3FNUZ, 0x80, 0x80, 0x80},
      {HSC_TYPE_F8E5M2FNUZ, 0x80, 0x80, 0x80},
      {HSC_TYPE_F4E2M1FN, 0x7, 0xf, 0x8},
      {HSC_TYPE_F8E8M0FNU, 0xff, 0xff, 0xff},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    assert_int_equal(hsc_float_encode(rows[i].type, 1e300), rows[i].of_large);
    assert_int_equal(hsc_float_encode(rows[i].type, -INFINITY), rows[i].of_minus_infinity);
    assert_int_equal(hsc_float_encode(rows[i].type, copysign(NAN, 1)), rows[i].of_nan);
  }
}

static void names_and_numbers_go_both_ways(void **state) {
  for (hsc_type type = HSC_TYPE_INVALID + 1; type < HSC_TYPE_COUNT; type++) {
    hsc_type parsed = HSC_TYPE_INVALID;
    assert_true(hsc_type_parse(hsc_view_of(hsc_type_text(type)), &parsed));
    assert_int_equal(parsed, type);
    assert_int_equal(hsc_type_from_proto(hsc_type_proto(type)), type);
    assert_true(hsc_type_bits(type) <= 8 * (int)hsc_type_bytes(type) ||
                hsc_type_class_of(type) == HSC_CLASS_OTHER);
  }
  hsc_type untouched = HSC_TYPE_F32;
  assert_false(hsc_type_parse(HSC_VIEW("f33"), &untouched));
  assert_false(hsc_type_parse(HSC_VIEW(""), &untouched));
  assert_int_equal(untouched, HSC_TYPE_F32);
  assert_int_equal(hsc_type_from_proto(9999), HSC_TYPE_INVALID);
  assert_int_equal(hsc_type_real_part(HSC_TYPE_C64), HSC_TYPE_F32);
  assert_int_equal(hsc_type_real_part(HSC_TYPE_C128), HSC_TYPE_F64);
  assert_int_equal(hsc_type_real_part(HSC_TYPE_S8), HSC_TYPE_S8);
  assert_true(hsc_type_is_integral(HSC_TYPE_U4) && !hsc_type_is_integral(HSC_TYPE_PRED) &&
              hsc_type_is_float(HSC_TYPE_BF16) && hsc_type_is_complex(HSC_TYPE_C64));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(narrow_floats_are_those_of_ml_dtypes),
      cmocka_unit_test(halves_are_those_of_the_compiler),
      cmocka_unit_test(bf16_is_the_upper_half_of_a_float),
      cmocka_unit_test(doubles_round_once),
      cmocka_unit_test(overflow_is_what_the_type_has),
      cmocka_unit_test(names_and_numbers_go_both_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
