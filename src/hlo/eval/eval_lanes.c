// eval_lanes.c - between storage and lane form: loading, storing, rounding to the element type, and
// XLA's convert.
#include <math.h>

#include "hlo/eval/eval_internal.h"

hsc__kind hsc__kind_of(hsc_type type) {
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_SIGNED:
      return HSC__I64;
    case HSC_CLASS_PRED:
    case HSC_CLASS_UNSIGNED:
      return HSC__U64;
    case HSC_CLASS_FLOAT:
      return type == HSC_TYPE_F64 ? HSC__F64 : HSC__F32;
    case HSC_CLASS_COMPLEX:
      return type == HSC_TYPE_C128 ? HSC__C128 : HSC__C64;
    default:
      return HSC__NO_KIND;
  }
}

size_t hsc__kind_bytes(hsc__kind kind) {
  if (kind == HSC__F32)
    return 4;
  if (kind == HSC__C128)
    return 16;
  return 8;
}

bool hsc__type_is_direct(hsc_type type) {
  return type == HSC_TYPE_F32 || type == HSC_TYPE_F64 || type == HSC_TYPE_S64 ||
         type == HSC_TYPE_U64 || type == HSC_TYPE_C64 || type == HSC_TYPE_C128;
}

// ---- half precision -----------------------------------------------------------------------------

static float float_of_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
static uint32_t bits_of_float(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return bits;
}

static float decode_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  uint32_t exponent = (h >> 10) & 31;
  uint32_t mantissa = h & 0x3ff;
  if (exponent == 31)
    return float_of_bits(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0)
    return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  float magnitude = (float)mantissa * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

static uint16_t encode_f16(float f) {
  uint32_t bits = bits_of_float(f);
  uint32_t magnitude = bits & 0x7fffffff;
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000)
    return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000)
    return sign | 0x7c00;  // rounds up past the largest
  // below the smallest normal: steps of 2^-24, halves to even
  if (magnitude < 0x38800000) {
    float steps = float_of_bits(magnitude) * 0x1p24f;
    return (uint16_t)(sign | (uint16_t)rintf(steps));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return (uint16_t)(sign | (rounded - 0x38000000) >> 13);
}

static uint16_t encode_bf16(float f) {
  uint32_t bits = bits_of_float(f);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// ---- loading and storing ------------------------------------------------------------------------

#define LOAD(T, L, expr) \
  do { \
    const T *s = src; \
    L *d = lane; \
    for (int64_t i = 0; i < count; i++) { \
      T v = s[i]; \
      d[i] = (expr); \
    } \
  } while (0)

static int64_t sign_extend(uint64_t v, int bits) {
  return (int64_t)(v << (64 - bits)) >> (64 - bits);
}
static uint64_t zero_extend(uint64_t v, int bits) {
  return v & (~0ull >> (64 - bits));
}

void hsc__lane_load(hsc_type type, const void *src, int64_t count, void *lane) {
  if (count == 0)
    return;
  switch (type) {
    case HSC_TYPE_PRED:
      LOAD(uint8_t, uint64_t, v != 0);
      break;
    case HSC_TYPE_S1:
      LOAD(uint8_t, int64_t, sign_extend(v, 1));
      break;
    case HSC_TYPE_S2:
      LOAD(uint8_t, int64_t, sign_extend(v, 2));
      break;
    case HSC_TYPE_S4:
      LOAD(uint8_t, int64_t, sign_extend(v, 4));
      break;
    case HSC_TYPE_S8:
      LOAD(int8_t, int64_t, v);
      break;
    case HSC_TYPE_S16:
      LOAD(int16_t, int64_t, v);
      break;
    case HSC_TYPE_S32:
      LOAD(int32_t, int64_t, v);
      break;
    case HSC_TYPE_U1:
      LOAD(uint8_t, uint64_t, v & 1u);
      break;
    case HSC_TYPE_U2:
      LOAD(uint8_t, uint64_t, v & 3u);
      break;
    case HSC_TYPE_U4:
      LOAD(uint8_t, uint64_t, v & 15u);
      break;
    case HSC_TYPE_U8:
      LOAD(uint8_t, uint64_t, v);
      break;
    case HSC_TYPE_U16:
      LOAD(uint16_t, uint64_t, v);
      break;
    case HSC_TYPE_U32:
      LOAD(uint32_t, uint64_t, v);
      break;
    case HSC_TYPE_F16:
      LOAD(uint16_t, float, decode_f16(v));
      break;
    case HSC_TYPE_BF16:
      LOAD(uint16_t, float, float_of_bits((uint32_t)v << 16));
      break;
    case HSC_TYPE_F32:
      memcpy(lane, src, (size_t)count * 4);
      break;
    case HSC_TYPE_S64:
    case HSC_TYPE_U64:
    case HSC_TYPE_F64:
    case HSC_TYPE_C64:
      memcpy(lane, src, (size_t)count * 8);
      break;
    case HSC_TYPE_C128:
      memcpy(lane, src, (size_t)count * 16);
      break;
    default:
      LOAD(uint8_t, float, (float)hsc_float_decode(type, v));
      break;  // the 8 and 4 bit floats
  }
}

#define STORE(L, T, expr) \
  do { \
    const L *s = lane; \
    T *d = dst; \
    for (int64_t i = 0; i < count; i++) { \
      L v = s[i]; \
      d[i] = (T)(expr); \
    } \
  } while (0)

void hsc__lane_store(hsc_type type, const void *lane, int64_t count, void *dst) {
  if (count == 0)
    return;
  switch (type) {
    case HSC_TYPE_PRED:
      STORE(uint64_t, uint8_t, v != 0);
      break;
    case HSC_TYPE_S1:
    case HSC_TYPE_S2:
    case HSC_TYPE_S4:
    case HSC_TYPE_S8:
      STORE(int64_t, int8_t, v);
      break;
    case HSC_TYPE_S16:
      STORE(int64_t, int16_t, v);
      break;
    case HSC_TYPE_S32:
      STORE(int64_t, int32_t, v);
      break;
    case HSC_TYPE_U1:
    case HSC_TYPE_U2:
    case HSC_TYPE_U4:
    case HSC_TYPE_U8:
      STORE(uint64_t, uint8_t, v);
      break;
    case HSC_TYPE_U16:
      STORE(uint64_t, uint16_t, v);
      break;
    case HSC_TYPE_U32:
      STORE(uint64_t, uint32_t, v);
      break;
    case HSC_TYPE_F16:
      STORE(float, uint16_t, encode_f16(v));
      break;
    case HSC_TYPE_BF16:
      STORE(float, uint16_t, encode_bf16(v));
      break;
    case HSC_TYPE_F32:
      memcpy(dst, lane, (size_t)count * 4);
      break;
    case HSC_TYPE_S64:
    case HSC_TYPE_U64:
    case HSC_TYPE_F64:
    case HSC_TYPE_C64:
      memcpy(dst, lane, (size_t)count * 8);
      break;
    case HSC_TYPE_C128:
      memcpy(dst, lane, (size_t)count * 16);
      break;
    default:
      STORE(float, uint8_t, hsc_float_encode(type, v));
      break;
  }
}

#define ROUND(L, expr) \
  do { \
    L *d = lane; \
    for (int64_t i = 0; i < count; i++) { \
      L v = d[i]; \
      d[i] = (L)(expr); \
    } \
  } while (0)

void hsc__lane_round(hsc_type type, int64_t count, void *lane) {
  int bits = hsc_type_bits(type);
  switch (type) {
    case HSC_TYPE_PRED:
      ROUND(uint64_t, v != 0);
      break;
    case HSC_TYPE_S1:
    case HSC_TYPE_S2:
    case HSC_TYPE_S4:
      ROUND(int64_t, sign_extend((uint64_t)v, bits));
      break;
    case HSC_TYPE_S8:
      ROUND(int64_t, (int8_t)v);
      break;
    case HSC_TYPE_S16:
      ROUND(int64_t, (int16_t)v);
      break;
    case HSC_TYPE_S32:
      ROUND(int64_t, (int32_t)v);
      break;
    case HSC_TYPE_U1:
    case HSC_TYPE_U2:
    case HSC_TYPE_U4:
      ROUND(uint64_t, zero_extend(v, bits));
      break;
    case HSC_TYPE_U8:
      ROUND(uint64_t, (uint8_t)v);
      break;
    case HSC_TYPE_U16:
      ROUND(uint64_t, (uint16_t)v);
      break;
    case HSC_TYPE_U32:
      ROUND(uint64_t, (uint32_t)v);
      break;
    case HSC_TYPE_F16:
      ROUND(float, decode_f16(encode_f16(v)));
      break;
    case HSC_TYPE_BF16:
      ROUND(float, float_of_bits((uint32_t)encode_bf16(v) << 16));
      break;
    case HSC_TYPE_S64:
    case HSC_TYPE_U64:
    case HSC_TYPE_F32:
    case HSC_TYPE_F64:
    case HSC_TYPE_C64:
    case HSC_TYPE_C128:
      break;
    default:
      ROUND(float, (float)hsc_float_decode(type, hsc_float_encode(type, v)));
      break;
  }
}

// ---- conversion ---------------------------------------------------------------------------------

// Saturating, NaN to zero. The limits of a type of `bits` bits are exact as doubles, or their
// successors are (2^63, 2^64).
static int64_t to_signed(double v, int bits) {
  if (v != v)
    return 0;
  double limit = ldexp(1.0, bits - 1);
  if (v >= limit)
    return (int64_t)(~0ull >> (65 - bits));
  if (v < -limit)
    return -(int64_t)(~0ull >> (65 - bits)) - 1;
  return (int64_t)v;
}
static uint64_t to_unsigned(double v, int bits) {
  if (!(v > 0))
    return 0;
  if (v >= ldexp(1.0, bits))
    return ~0ull >> (64 - bits);
  return (uint64_t)v;
}

#define CONVERT(S, step, D, expr) \
  do { \
    const S *s = src; \
    D *d = dst; \
    for (int64_t i = 0; i < count; i++) { \
      S v = s[i * (step)]; \
      d[i] = (D)(expr); \
    } \
  } while (0)
#define CONVERT_FROM(D, expr) \
  switch (from_kind) { \
    case HSC__I64: \
      CONVERT(int64_t, 1, D, expr); \
      break; \
    case HSC__U64: \
      CONVERT(uint64_t, 1, D, expr); \
      break; \
    case HSC__F32: \
      CONVERT(float, 1, D, expr); \
      break; \
    case HSC__F64: \
      CONVERT(double, 1, D, expr); \
      break; \
    case HSC__C64: \
      CONVERT(float, 2, D, expr); \
      break; \
    default: \
      CONVERT(double, 2, D, expr); \
      break; \
  }

static void to_complex(
    hsc__kind from_kind, const void *src, hsc__kind to_kind, int64_t count, void *dst) {
  bool pairs = from_kind == HSC__C64 || from_kind == HSC__C128;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = pairs ? 2 * i : i;
    double re;
    double im = 0;
    switch (from_kind) {
      case HSC__I64:
        re = to_kind == HSC__C64 ? (double)(float)((const int64_t *)src)[at]
                                 : (double)((const int64_t *)src)[at];
        break;
      case HSC__U64:
        re = to_kind == HSC__C64 ? (double)(float)((const uint64_t *)src)[at]
                                 : (double)((const uint64_t *)src)[at];
        break;
      case HSC__F32:
      case HSC__C64:
        re = ((const float *)src)[at];
        if (pairs)
          im = ((const float *)src)[at + 1];
        break;
      default:
        re = ((const double *)src)[at];
        if (pairs)
          im = ((const double *)src)[at + 1];
        break;
    }
    if (to_kind == HSC__C64) {
      ((float *)dst)[2 * i] = (float)re;
      ((float *)dst)[2 * i + 1] = (float)im;
    } else {
      ((double *)dst)[2 * i] = re;
      ((double *)dst)[2 * i + 1] = im;
    }
  }
}

void hsc__lane_convert(hsc_type from, const void *src, hsc_type to, int64_t count, void *dst) {
  hsc__kind from_kind = hsc__kind_of(from);
  hsc__kind to_kind = hsc__kind_of(to);
  bool from_integer = from_kind == HSC__I64 || from_kind == HSC__U64;
  int bits = hsc_type_bits(to);
  if (to == HSC_TYPE_PRED) {
    if (from_kind == HSC__C64) {
      for (int64_t i = 0; i < count; i++)
        ((uint64_t *)dst)[i] =
            ((const float *)src)[2 * i] != 0 || ((const float *)src)[2 * i + 1] != 0;
    } else if (from_kind == HSC__C128) {
      for (int64_t i = 0; i < count; i++)
        ((uint64_t *)dst)[i] =
            ((const double *)src)[2 * i] != 0 || ((const double *)src)[2 * i + 1] != 0;
    } else {
      CONVERT_FROM(uint64_t, v != 0);
    }
    return;
  }
  switch (to_kind) {
    case HSC__I64:
      if (from_integer) {
        if (src != dst)
          memmove(dst, src, (size_t)count * 8);
        hsc__lane_round(to, count, dst);
      } else {
        CONVERT_FROM(int64_t, to_signed((double)v, bits));
      }
      break;
    case HSC__U64:
      if (from_integer) {
        if (src != dst)
          memmove(dst, src, (size_t)count * 8);
        hsc__lane_round(to, count, dst);
      } else {
        CONVERT_FROM(uint64_t, to_unsigned((double)v, bits));
      }
      break;
    case HSC__F32:
      if (to != HSC_TYPE_F32 && to != HSC_TYPE_BF16 &&
          (from_kind == HSC__F64 || from_kind == HSC__C128)) {
        // One rounding, not two.
        CONVERT_FROM(float, hsc_float_decode(to, hsc_float_encode(to, (double)v)));
      } else {
        CONVERT_FROM(float, v);
        hsc__lane_round(to, count, dst);
      }
      break;
    case HSC__F64:
      CONVERT_FROM(double, v);
      break;
    case HSC__C64:
    case HSC__C128:
      to_complex(from_kind, src, to_kind, count, dst);
      break;
    default:
      break;
  }
}

// ---- whole arrays -------------------------------------------------------------------------------

hsc_status *hsc__widened(
    hsc_type from, const void *data, int64_t count, hsc_type to, void **out_lanes) {
  size_t bytes = 0;
  if (!hsc_mul_size((size_t)count + 1, hsc__kind_bytes(hsc__kind_of(to)), &bytes))
    return hsc_status_out_of_memory();
  unsigned char *lanes = hsc_alloc(bytes);
  if (!lanes)
    return hsc_status_out_of_memory();
  size_t step = hsc_type_bytes(from);
  size_t out_step = hsc__kind_bytes(hsc__kind_of(to));
  _Alignas(16) unsigned char chunk[HSC__LANE_BYTES];
  for (int64_t at = 0; at < count; at += HSC__LANES) {
    int64_t n = count - at < HSC__LANES ? count - at : HSC__LANES;
    const unsigned char *src = (const unsigned char *)data + (size_t)at * step;
    if (from == to) {
      hsc__lane_load(from, src, n, lanes + (size_t)at * out_step);
    } else {
      hsc__lane_load(from, src, n, chunk);
      hsc__lane_convert(from, chunk, to, n, lanes + (size_t)at * out_step);
    }
  }
  *out_lanes = lanes;
  return NULL;
}

void hsc__narrowed(hsc_type type, void *lanes, int64_t count, void *dst) {
  hsc__lane_round(type, count, lanes);
  hsc__lane_store(type, lanes, count, dst);
}
