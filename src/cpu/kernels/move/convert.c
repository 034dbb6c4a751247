// convert.c - see convert.h. One loop per pair of C types; narrow floats go through f32 (bf16, f16)
// or through the tables of hlo/types (f8, f4).
#include "cpu/kernels/move/convert.h"

#include <math.h>

// The element types that are C types.
#define EACH_INTEGER(X) \
  X(PRED, uint8_t) \
  X(S8, int8_t) \
  X(U8, uint8_t) \
  X(S16, int16_t) \
  X(U16, uint16_t) \
  X(S32, int32_t) \
  X(U32, uint32_t) \
  X(S64, int64_t) \
  X(U64, uint64_t)

static float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint16_t bf16_of_float(float value) {
  uint32_t bits = bits_of_float(value);
  if (value != value)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int64_t saturate(double value, double low, double high, int64_t lowest, int64_t highest) {
  if (value != value)
    return 0;
  if (value <= low)
    return lowest;
  if (value >= high)
    return highest;
  return (int64_t)value;
}

// The value of one element as a double, and as an integer for integral types.
static double load_real(hsc_type type, const void *data, int64_t i) {
  switch (type) {
#define CASE(ID, TYPE) \
  case HSC_TYPE_##ID: \
    return (double)((const TYPE *)data)[i];
    EACH_INTEGER(CASE)
#undef CASE
    case HSC_TYPE_S1:
    case HSC_TYPE_S2:
    case HSC_TYPE_S4:
      return ((const int8_t *)data)[i];
    case HSC_TYPE_U1:
    case HSC_TYPE_U2:
    case HSC_TYPE_U4:
      return ((const uint8_t *)data)[i];
    case HSC_TYPE_F32:
      return ((const float *)data)[i];
    case HSC_TYPE_F64:
      return ((const double *)data)[i];
    case HSC_TYPE_C64:
      return ((const float *)data)[2 * i];
    case HSC_TYPE_C128:
      return ((const double *)data)[2 * i];
    case HSC_TYPE_BF16:
      return float_of_bits((uint32_t)((const uint16_t *)data)[i] << 16);
    case HSC_TYPE_F16:
      return hsc_float_decode(type, ((const uint16_t *)data)[i]);
    default:
      return hsc_float_decode(type, ((const uint8_t *)data)[i]);
  }
}

static int64_t load_integer(hsc_type type, const void *data, int64_t i) {
  switch (type) {
#define CASE(ID, TYPE) \
  case HSC_TYPE_##ID: \
    return (int64_t)((const TYPE *)data)[i];
    EACH_INTEGER(CASE)
#undef CASE
    case HSC_TYPE_S1:
    case HSC_TYPE_S2:
    case HSC_TYPE_S4:
      return ((const int8_t *)data)[i];
    default:
      return ((const uint8_t *)data)[i];
  }
}

static void store_integer(hsc_type type, void *data, int64_t i, int64_t value) {
  int bits = hsc_type_bits(type);
  switch (type) {
    case HSC_TYPE_PRED:
      ((uint8_t *)data)[i] = value != 0;
      break;
    case HSC_TYPE_S1:
    case HSC_TYPE_S2:
    case HSC_TYPE_S4:
      ((int8_t *)data)[i] = (int8_t)((int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits));
      break;
    case HSC_TYPE_U1:
    case HSC_TYPE_U2:
    case HSC_TYPE_U4:
      ((uint8_t *)data)[i] = (uint8_t)(value & ((1 << bits) - 1));
      break;
    case HSC_TYPE_S8:
    case HSC_TYPE_U8:
      ((uint8_t *)data)[i] = (uint8_t)value;
      break;
    case HSC_TYPE_S16:
    case HSC_TYPE_U16:
      ((uint16_t *)data)[i] = (uint16_t)value;
      break;
    case HSC_TYPE_S32:
    case HSC_TYPE_U32:
      ((uint32_t *)data)[i] = (uint32_t)value;
      break;
    default:
      ((int64_t *)data)[i] = value;
      break;
  }
}

static void store_real(hsc_type type, void *data, int64_t i, double value) {
  switch (type) {
    case HSC_TYPE_F32:
      ((float *)data)[i] = (float)value;
      break;
    case HSC_TYPE_F64:
      ((double *)data)[i] = value;
      break;
    case HSC_TYPE_C64:
      ((float *)data)[2 * i] = (float)value;
      ((float *)data)[2 * i + 1] = 0;
      break;
    case HSC_TYPE_C128:
      ((double *)data)[2 * i] = value;
      ((double *)data)[2 * i + 1] = 0;
      break;
    case HSC_TYPE_F16:
    case HSC_TYPE_BF16:
      ((uint16_t *)data)[i] = (uint16_t)hsc_float_encode(type, value);
      break;
    default:
      ((uint8_t *)data)[i] = (uint8_t)hsc_float_encode(type, value);
      break;
  }
}

static void convert_slowly(
    hsc_type from_type, const void *from, hsc_type to_type, void *to, int64_t count) {
  hsc_type_class from_class = hsc_type_class_of(from_type);
  hsc_type_class to_class = hsc_type_class_of(to_type);
  bool from_integer = from_class == HSC_CLASS_PRED || from_class == HSC_CLASS_SIGNED ||
                      from_class == HSC_CLASS_UNSIGNED;
  bool to_integer = to_class == HSC_CLASS_SIGNED || to_class == HSC_CLASS_UNSIGNED;
  int bits = hsc_type_bits(to_type);
  bool is_signed = to_class == HSC_CLASS_SIGNED;
  double high = is_signed ? ldexp(1, bits - 1) : ldexp(1, bits);
  double low = is_signed ? -high : 0;
  int64_t highest;
  if (is_signed)
    highest = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
  else if (bits == 64)
    highest = -1;
  else
    highest = ((int64_t)1 << bits) - 1;
  int64_t lowest = is_signed ? -highest - 1 : 0;
  for (int64_t i = 0; i < count; i++) {
    if (from_integer && (to_integer || to_class == HSC_CLASS_PRED)) {
      store_integer(to_type, to, i, load_integer(from_type, from, i));
    } else if (from_integer && to_type == HSC_TYPE_F32) {
      int64_t value = load_integer(from_type, from, i);
      ((float *)to)[i] = from_type == HSC_TYPE_U64 ? (float)(uint64_t)value : (float)value;
    } else if (to_class == HSC_CLASS_PRED) {
      ((uint8_t *)to)[i] = load_real(from_type, from, i) != 0;
    } else if (to_integer) {
      double value = load_real(from_type, from, i);
      if (!is_signed && bits == 64 && value >= 9223372036854775808.0 && value < high)
        ((uint64_t *)to)[i] = (uint64_t)value;
      else
        store_integer(to_type, to, i, saturate(value, low, high, lowest, highest));
    } else {
      store_real(to_type, to, i, load_real(from_type, from, i));
    }
  }
}

static void convert_complex(
    hsc_type from_type, const void *from, hsc_type to_type, void *to, int64_t count) {
  for (int64_t i = 0; i < 2 * count; i++) {
    double part = from_type == HSC_TYPE_C64 ? ((const float *)from)[i] : ((const double *)from)[i];
    if (to_type == HSC_TYPE_C64)
      ((float *)to)[i] = (float)part;
    else
      ((double *)to)[i] = part;
  }
}

// What convolutions of whole numbers ask for, as loops that become vectors: narrow numbers to
// floats that hold them, and back to 32 bits. false: others.
#define EACH_WHOLE(X) \
  X(S8, int8_t, F32, float) \
  X(U8, uint8_t, F32, float) \
  X(S16, int16_t, F32, float) \
  X(U16, uint16_t, F32, float) \
  X(S8, int8_t, F64, double) \
  X(U8, uint8_t, F64, double) \
  X(S16, int16_t, F64, double) \
  X(U16, uint16_t, F64, double)
static bool widened(
    hsc_type from_type, const void *from, hsc_type to_type, void *to, int64_t count) {
#define WHOLE(FROM, FROM_TYPE, TO, TO_TYPE) \
  if (from_type == HSC_TYPE_##FROM && to_type == HSC_TYPE_##TO) { \
    for (int64_t i = 0; i < count; i++) \
      ((TO_TYPE *)to)[i] = ((const FROM_TYPE *)from)[i]; \
    return true; \
  }
  EACH_WHOLE(WHOLE)
#undef WHOLE
  return false;
}

// Towards zero; NaN is 0, what is too large the nearest number there is.
#define TO_S32(FROM_TYPE) \
  for (int64_t i = 0; i < count; i++) { \
    FROM_TYPE value = ((const FROM_TYPE *)from)[i]; \
    bool inside = value > (FROM_TYPE) - 2147483649.0 && value < (FROM_TYPE)2147483648.0; \
    int32_t outside = value >= (FROM_TYPE)2147483648.0 ? INT32_MAX : INT32_MIN; \
    int32_t rounded = (int32_t)(inside ? value : 0); \
    ((int32_t *)to)[i] = inside || value != value ? rounded : outside; \
  }
static bool truncated(
    hsc_type from_type, const void *from, hsc_type to_type, void *to, int64_t count) {
  if (to_type != HSC_TYPE_S32)
    return false;
  if (from_type == HSC_TYPE_F32)
    TO_S32(float)
  else if (from_type == HSC_TYPE_F64)
    TO_S32(double)
  else
    return false;
  return true;
}

void hsc_convert_array(
    hsc_type from_type, const void *from, hsc_type to_type, void *to, int64_t count) {
  if (from_type == to_type) {
    memcpy(to, from, (size_t)count * hsc_type_bytes(to_type));
  } else if (hsc_type_is_complex(from_type) && hsc_type_is_complex(to_type)) {
    convert_complex(from_type, from, to_type, to, count);
  } else if (from_type == HSC_TYPE_BF16 && to_type == HSC_TYPE_F32) {
    for (int64_t i = 0; i < count; i++)
      ((uint32_t *)to)[i] = (uint32_t)((const uint16_t *)from)[i] << 16;
  } else if (from_type == HSC_TYPE_F32 && to_type == HSC_TYPE_BF16) {
    for (int64_t i = 0; i < count; i++)
      ((uint16_t *)to)[i] = bf16_of_float(((const float *)from)[i]);
  } else if (from_type == HSC_TYPE_S8 && to_type == HSC_TYPE_S32) {
    for (int64_t i = 0; i < count; i++)
      ((int32_t *)to)[i] = ((const int8_t *)from)[i];
  } else if (from_type == HSC_TYPE_U8 && to_type == HSC_TYPE_S32) {
    for (int64_t i = 0; i < count; i++)
      ((int32_t *)to)[i] = ((const uint8_t *)from)[i];
  } else if (!widened(from_type, from, to_type, to, count) &&
             !truncated(from_type, from, to_type, to, count)) {
    convert_slowly(from_type, from, to_type, to, count);
  }
}
