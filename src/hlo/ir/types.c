// types.c - the element types: names, sizes, and what the bits of each float type mean.
//
// One description covers all float types: exponent bits, mantissa bits, bias, and what the top of
// the range holds. Values go through double: decoding is exact, encoding rounds once, to nearest
// even. Checked bit for bit against ml_dtypes in tests/unit/test_types.c.
#include "hlo/ir/hlo_internal.h"

#include <math.h>

typedef struct type_row {
  const char *text;
  int proto;
  uint8_t bytes, class, bits, text_size;
} type_row;

static const type_row rows[HSC_TYPE_COUNT] = {
#define TYPE(id, text, number, bytes, class, bits) \
  [HSC_TYPE_##id] = {text, number, bytes, HSC_CLASS_##class, bits, sizeof(text) - 1},
#include "hlo/ir/types.def"
#undef TYPE
};

static const type_row *row_of(hsc_type type) {
  return &rows[(unsigned)type < HSC_TYPE_COUNT ? type : HSC_TYPE_INVALID];
}

const char *hsc_type_text(hsc_type type) {
  return row_of(type)->text;
}
int hsc_type_proto(hsc_type type) {
  return row_of(type)->proto;
}
size_t hsc_type_bytes(hsc_type type) {
  return row_of(type)->bytes;
}
int hsc_type_bits(hsc_type type) {
  return row_of(type)->bits;
}
hsc_type_class hsc_type_class_of(hsc_type type) {
  return (hsc_type_class)row_of(type)->class;
}

bool hsc_type_parse(hsc_view text, hsc_type *out_type) {
  for (int type = HSC_TYPE_INVALID + 1; type < HSC_TYPE_COUNT; type++)
    if (rows[type].text_size == text.size && memcmp(rows[type].text, text.data, text.size) == 0) {
      *out_type = (hsc_type)type;
      return true;
    }
  return false;
}

hsc_type hsc_type_from_proto(int number) {
  for (int type = HSC_TYPE_INVALID + 1; type < HSC_TYPE_COUNT; type++)
    if (rows[type].proto == number)
      return (hsc_type)type;
  return HSC_TYPE_INVALID;
}

hsc_type hsc_type_real_part(hsc_type type) {
  if (type == HSC_TYPE_C64)
    return HSC_TYPE_F32;
  if (type == HSC_TYPE_C128)
    return HSC_TYPE_F64;
  return type;
}

// What the largest encodings mean.
typedef enum top {
  TOP_IEEE,      // exponent all ones: infinity and NaNs
  TOP_FN,        // no infinity; all ones is NaN; overflow gives NaN
  TOP_FNUZ,      // no infinity, no negative zero; its encoding is the NaN
  TOP_SATURATE,  // neither infinity nor NaN; overflow gives the largest value
} top;

typedef struct float_format {
  int exponent_bits, mantissa_bits, bias;
  top top;
} float_format;

// F8E8M0FNU (a bare exponent), F32 and F64 have code of their own.
static const float_format *format_of(hsc_type type) {
  static const float_format f4e2m1fn = {2, 1, 1, TOP_SATURATE};
  static const float_format f8e3m4 = {3, 4, 3, TOP_IEEE};
  static const float_format f8e4m3 = {4, 3, 7, TOP_IEEE};
  static const float_format f8e4m3b11fnuz = {4, 3, 11, TOP_FNUZ};
  static const float_format f8e4m3fn = {4, 3, 7, TOP_FN};
  static const float_format f8e4m3fnuz = {4, 3, 8, TOP_FNUZ};
  static const float_format f8e5m2 = {5, 2, 15, TOP_IEEE};
  static const float_format f8e5m2fnuz = {5, 2, 16, TOP_FNUZ};
  static const float_format f16 = {5, 10, 15, TOP_IEEE};
  static const float_format bf16 = {8, 7, 127, TOP_IEEE};
  switch (type) {
    case HSC_TYPE_F4E2M1FN:
      return &f4e2m1fn;
    case HSC_TYPE_F8E3M4:
      return &f8e3m4;
    case HSC_TYPE_F8E4M3:
      return &f8e4m3;
    case HSC_TYPE_F8E4M3B11FNUZ:
      return &f8e4m3b11fnuz;
    case HSC_TYPE_F8E4M3FN:
      return &f8e4m3fn;
    case HSC_TYPE_F8E4M3FNUZ:
      return &f8e4m3fnuz;
    case HSC_TYPE_F8E5M2:
      return &f8e5m2;
    case HSC_TYPE_F8E5M2FNUZ:
      return &f8e5m2fnuz;
    case HSC_TYPE_F16:
      return &f16;
    case HSC_TYPE_BF16:
      return &bf16;
    default:
      return NULL;
  }
}

// One more than the largest exponent of a finite number, and the bits of its significand; of a
// complex type its parts'. -1: no float.
static void float_range(hsc_type type, int *out_exponent, int *out_significand) {
  const float_format *f = format_of(hsc_type_real_part(type));
  *out_exponent = *out_significand = -1;
  if (f) {
    // the all-ones exponent is infinity's and NaN's in IEEE's formats alone
    *out_exponent = (1 << f->exponent_bits) - (f->top == TOP_IEEE) - f->bias;
    *out_significand = f->mantissa_bits + 1;
    return;
  }
  switch (hsc_type_real_part(type)) {
    case HSC_TYPE_F8E8M0FNU:
      *out_exponent = 128;
      *out_significand = 1;
      break;
    case HSC_TYPE_F32:
      *out_exponent = 128;
      *out_significand = 24;
      break;
    case HSC_TYPE_F64:
      *out_exponent = 1024;
      *out_significand = 53;
      break;
    default:
      break;
  }
}

hsc_type hsc_type_of_product(hsc_type a, hsc_type b) {
  int left[5] = {hsc_type_is_complex(a)};
  int right[5] = {hsc_type_is_complex(b)};
  float_range(a, &left[1], &left[2]);
  float_range(b, &right[1], &right[2]);
  // a predicate counts as one bit, though it takes a byte
  left[3] = a == HSC_TYPE_PRED ? 1 : hsc_type_bits(a);
  right[3] = b == HSC_TYPE_PRED ? 1 : hsc_type_bits(b);
  left[4] = hsc_type_class_of(a) == HSC_CLASS_SIGNED;
  right[4] = hsc_type_class_of(b) == HSC_CLASS_SIGNED;
  for (size_t i = 0; i < HSC_COUNT_OF(left); i++)
    if (left[i] != right[i])
      return left[i] > right[i] ? a : b;
  return a;
}

static uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double decode_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t encode_f32(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

static double decode_e8m0(uint64_t bits) {
  return (bits & 0xff) == 0xff ? NAN : ldexp(1, (int)(bits & 0xff) - 127);
}

// No sign, no zero, no infinity: what has no encoding is NaN. A tie goes to the larger power (its
// significand 2 is the even one). Goes through float, so that what underflows there is zero and
// hence NaN, as in ml_dtypes.
static uint64_t encode_e8m0(double value) {
  uint32_t bits = encode_f32(value);
  if (bits == 0 || bits >= 0x7f800000)
    return 0xff;
  uint32_t exponent = bits >> 23;
  if (exponent == 0)
    return bits >= 0x600000 ? 1 : 0;  // subnormal floats: 2^-127 is 0x400000
  return exponent + (bits >> 22 & 1);
}

double hsc_float_decode(hsc_type type, uint64_t bits) {
  switch (type) {
    case HSC_TYPE_F64: {
      double value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
    case HSC_TYPE_F32:
      return decode_f32((uint32_t)bits);
    case HSC_TYPE_BF16:
      return decode_f32((uint32_t)bits << 16);
    case HSC_TYPE_F8E8M0FNU:
      return decode_e8m0(bits);
    default:
      break;
  }
  const float_format *f = format_of(type);
  if (!f)
    return NAN;
  uint64_t mantissa_mask = (1u << f->mantissa_bits) - 1;
  uint64_t exponent_mask = (1u << f->exponent_bits) - 1;
  uint64_t mantissa = bits & mantissa_mask;
  uint64_t exponent = bits >> f->mantissa_bits & exponent_mask;
  bool negative = bits >> (f->mantissa_bits + f->exponent_bits) & 1;
  if (f->top == TOP_IEEE && exponent == exponent_mask) {
    double value = mantissa ? NAN : INFINITY;
    return copysign(value, negative ? -1 : 1);
  }
  if (f->top == TOP_FN && exponent == exponent_mask && mantissa == mantissa_mask)
    return copysign(NAN, negative ? -1 : 1);
  if (f->top == TOP_FNUZ && negative && exponent == 0 && mantissa == 0)
    return copysign(NAN, -1);
  double value = exponent == 0 ? ldexp((double)mantissa, 1 - f->bias - f->mantissa_bits)
                               : ldexp((double)(mantissa | (mantissa_mask + 1)),
                                       (int)exponent - f->bias - f->mantissa_bits);
  return negative ? -value : value;
}

static uint64_t encode_nan(const float_format *f, uint64_t sign) {
  switch (f->top) {
    case TOP_IEEE:
      return sign | (((1u << f->exponent_bits) - 1) << f->mantissa_bits) |
             1u << (f->mantissa_bits - 1);
    case TOP_FN:
      return sign | ((1u << (f->exponent_bits + f->mantissa_bits)) - 1);
    case TOP_FNUZ:
      break;
    // ml_dtypes: NaN is -0, -NaN is +0
    case TOP_SATURATE:
      return sign ? 0 : 1u << (f->exponent_bits + f->mantissa_bits);
  }
  return 1u << (f->exponent_bits + f->mantissa_bits);
}

static uint64_t encode_overflow(const float_format *f, uint64_t sign) {
  switch (f->top) {
    case TOP_IEEE:
      return sign | ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    case TOP_SATURATE:
      return sign | ((1u << (f->exponent_bits + f->mantissa_bits)) - 1);
    default:
      return encode_nan(f, sign);
  }
}

uint64_t hsc_float_encode(hsc_type type, double value) {
  switch (type) {
    case HSC_TYPE_F64:
      return bits_of_double(value);
    case HSC_TYPE_F32:
      return encode_f32(value);
    case HSC_TYPE_F8E8M0FNU:
      return encode_e8m0(value);
    default:
      break;
  }
  const float_format *f = format_of(type);
  if (!f)
    return 0;
  uint64_t bits = bits_of_double(value);
  uint64_t magnitude = bits & ~(1ull << 63);
  uint64_t sign = bits >> 63 << (f->exponent_bits + f->mantissa_bits);
  if (magnitude > 0x7ff0000000000000u)
    return encode_nan(f, sign);
  if (magnitude == 0x7ff0000000000000u)
    return encode_overflow(f, sign);

  // value = significand * 2^(exponent - 52), with the significand in [2^52, 2^53) for normal
  // doubles. Subnormal doubles are below every format's range here and round to zero by the same
  // arithmetic.
  int exponent = (int)(magnitude >> 52) - 1023;
  uint64_t significand = (magnitude & 0xfffffffffffffu) | (magnitude >> 52 ? 1ull << 52 : 0);
  int least = 1 - f->bias;  // exponent of the smallest normal, and of all subnormals
  int drop = 52 - f->mantissa_bits + (exponent < least ? least - exponent : 0);
  uint64_t kept = 0;
  if (drop <= 53) {  // else under half of the smallest subnormal
    kept = significand >> drop;
    uint64_t rest = significand & ((1ull << drop) - 1);
    uint64_t half = 1ull << (drop - 1);
    if (rest > half || (rest == half && (kept & 1)))
      kept++;
  }
  // A carry out of the mantissa moves into the exponent by itself, from subnormal to normal too.
  uint64_t encoded =
      exponent < least ? kept : kept + ((uint64_t)(exponent - least) << f->mantissa_bits);
  uint64_t largest = (1u << (f->exponent_bits + f->mantissa_bits)) - 1;
  if (f->top == TOP_IEEE)
    largest -= 1u << f->mantissa_bits;
  if (f->top == TOP_FN)
    largest--;
  if (encoded > largest)
    return encode_overflow(f, sign);
  if (f->top == TOP_FNUZ && encoded == 0)
    return 0;
  return sign | encoded;
}
