// literal.c - values: dense row-major arrays and tuples of them.
//
// Integers narrower than a byte are stored sign- or zero-extended in their byte; floats of 4 bits
// in its low bits.
#include "hlo/ir/hlo_internal.h"

#include <math.h>

// an address space holds 47 bits of bytes at most
static const int64_t LARGEST_BYTES = INT64_C(1) << 46;

static hsc_status *init(hsc_arena *arena, const hsc_shape *shape, hsc_literal *literal) {
  literal->shape = hsc_shape_copy(arena, *shape);
  if (shape->type == HSC_TYPE_TUPLE) {
    literal->elements = HSC_NEW_ARRAY(arena, hsc_literal, shape->element_count);
    HSC_TRY(hsc_arena_status(arena));
    for (int i = 0; i < shape->element_count; i++)
      HSC_TRY(init(arena, &shape->elements[i], &literal->elements[i]));
    return hsc_arena_status(arena);
  }
  int64_t bytes = hsc_shape_bytes(shape);
  if (bytes > LARGEST_BYTES)
    return HSC_ERR(RESOURCE_EXHAUSTED, "literal: %lld bytes are more than any memory",
                   (long long)bytes);
  if (bytes > 0) {
    literal->data = hsc_arena_alloc(arena, (size_t)bytes);
    HSC_TRY(hsc_arena_status(arena));
  }
  return hsc_arena_status(arena);
}

hsc_status *hsc_literal_create(hsc_arena *arena,
                               const hsc_shape *shape,
                               hsc_literal **out_literal) {
  hsc_literal *literal = HSC_NEW(arena, hsc_literal);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(init(arena, shape, literal));
  *out_literal = literal;
  return NULL;
}

static hsc_status *copy_into(hsc_arena *arena, const hsc_literal *from, hsc_literal *to) {
  to->shape = hsc_shape_copy(arena, from->shape);
  to->elided = from->elided;
  if (from->shape.type == HSC_TYPE_TUPLE) {
    to->elements = HSC_NEW_ARRAY(arena, hsc_literal, from->shape.element_count);
    HSC_TRY(hsc_arena_status(arena));
    for (int i = 0; i < from->shape.element_count; i++)
      HSC_TRY(copy_into(arena, &from->elements[i], &to->elements[i]));
  } else if (from->data) {
    to->data = hsc_arena_copy(arena, from->data, (size_t)hsc_shape_bytes(&from->shape));
    HSC_TRY(hsc_arena_status(arena));
  }
  return hsc_arena_status(arena);
}

hsc_status *hsc_literal_copy(hsc_arena *arena,
                             const hsc_literal *literal,
                             hsc_literal **out_literal) {
  hsc_literal *copy = HSC_NEW(arena, hsc_literal);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(copy_into(arena, literal, copy));
  *out_literal = copy;
  return NULL;
}

static uint64_t load_bits(const void *data, int64_t index, size_t bytes) {
  const char *at = (const char *)data + (size_t)index * bytes;
  switch (bytes) {
    case 1:
      return *(const uint8_t *)at;
    case 2: {
      uint16_t bits;
      memcpy(&bits, at, 2);
      return bits;
    }
    case 4: {
      uint32_t bits;
      memcpy(&bits, at, 4);
      return bits;
    }
    default: {
      uint64_t bits;
      memcpy(&bits, at, 8);
      return bits;
    }
  }
}

static void store_bits(void *data, int64_t index, size_t bytes, uint64_t bits) {
  char *at = (char *)data + (size_t)index * bytes;
  switch (bytes) {
    case 1:
      *(uint8_t *)at = (uint8_t)bits;
      break;
    case 2:
      memcpy(at, &(uint16_t){(uint16_t)bits}, 2);
      break;
    case 4:
      memcpy(at, &(uint32_t){(uint32_t)bits}, 4);
      break;
    default:
      memcpy(at, &bits, 8);
      break;
  }
}

static int64_t sign_extend(uint64_t bits, int width) {
  return width >= 64 ? (int64_t)bits : (int64_t)(bits << (64 - width)) >> (64 - width);
}
static uint64_t zero_extend(uint64_t bits, int width) {
  return width >= 64 ? bits : bits & ((1ull << width) - 1);
}

double hsc_literal_get_double(const hsc_literal *literal, int64_t index) {
  hsc_type type = literal->shape.type;
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_FLOAT:
      return hsc_float_decode(type, load_bits(literal->data, index, hsc_type_bytes(type)));
    case HSC_CLASS_COMPLEX: {
      hsc_type part = hsc_type_real_part(type);
      return hsc_float_decode(part, load_bits(literal->data, 2 * index, hsc_type_bytes(part)));
    }
    case HSC_CLASS_UNSIGNED:
      return (double)zero_extend(load_bits(literal->data, index, hsc_type_bytes(type)),
                                 hsc_type_bits(type));
    default:
      return (double)hsc_literal_get_int(literal, index);
  }
}

double hsc_literal_get_imag(const hsc_literal *literal, int64_t index) {
  hsc_type type = literal->shape.type;
  hsc_type part = hsc_type_real_part(type);
  if (!hsc_type_is_complex(type))
    return 0;
  return hsc_float_decode(part, load_bits(literal->data, 2 * index + 1, hsc_type_bytes(part)));
}

// Saturates; NaN is 0.
static int64_t truncate_to_s64(double value) {
  if (value != value)
    return 0;
  if (value >= 0x1p63)
    return INT64_MAX;
  if (value < -0x1p63)
    return INT64_MIN;
  return (int64_t)value;
}

int64_t hsc_literal_get_int(const hsc_literal *literal, int64_t index) {
  hsc_type type = literal->shape.type;
  size_t bytes = hsc_type_bytes(type);
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:
      return load_bits(literal->data, index, 1) != 0;
    case HSC_CLASS_SIGNED:
      return sign_extend(load_bits(literal->data, index, bytes), hsc_type_bits(type));
    case HSC_CLASS_UNSIGNED:
      return (int64_t)zero_extend(load_bits(literal->data, index, bytes), hsc_type_bits(type));
    case HSC_CLASS_FLOAT:
    case HSC_CLASS_COMPLEX:
      return truncate_to_s64(hsc_literal_get_double(literal, index));
    default:
      return 0;
  }
}

void hsc_literal_set_int(hsc_literal *literal, int64_t index, int64_t value) {
  hsc_type type = literal->shape.type;
  size_t bytes = hsc_type_bytes(type);
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:
      store_bits(literal->data, index, 1, value != 0);
      break;
    case HSC_CLASS_SIGNED:
      store_bits(literal->data, index, bytes,
                 (uint64_t)sign_extend((uint64_t)value, hsc_type_bits(type)));
      break;
    case HSC_CLASS_UNSIGNED:
      store_bits(literal->data, index, bytes, zero_extend((uint64_t)value, hsc_type_bits(type)));
      break;
    case HSC_CLASS_FLOAT:
    case HSC_CLASS_COMPLEX:
      hsc_literal_set_double(literal, index, (double)value);
      break;
    default:
      break;
  }
}

static int64_t saturate_signed(double value, int bits) {
  int64_t wide = truncate_to_s64(value);
  if (bits >= 64)
    return wide;
  int64_t most = (1ll << (bits - 1)) - 1;
  int64_t least = -most - 1;
  if (wide > most)
    return most;
  if (wide < least)
    return least;
  return wide;
}

static uint64_t saturate_unsigned(double value, int bits) {
  if (!(value > 0))
    return 0;
  uint64_t most = bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
  return value >= ldexp(1, bits) ? most : (uint64_t)value;
}

void hsc_literal_set_double(hsc_literal *literal, int64_t index, double value) {
  hsc_type type = literal->shape.type;
  size_t bytes = hsc_type_bytes(type);
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:
      store_bits(literal->data, index, 1, value != 0);
      break;
    case HSC_CLASS_SIGNED:
      store_bits(literal->data, index, bytes,
                 (uint64_t)saturate_signed(value, hsc_type_bits(type)));
      break;
    case HSC_CLASS_UNSIGNED:
      store_bits(literal->data, index, bytes, saturate_unsigned(value, hsc_type_bits(type)));
      break;
    case HSC_CLASS_FLOAT:
      store_bits(literal->data, index, bytes, hsc_float_encode(type, value));
      break;
    case HSC_CLASS_COMPLEX:
      hsc_literal_set_complex(literal, index, value, 0);
      break;
    default:
      break;
  }
}

void hsc_literal_set_complex(hsc_literal *literal, int64_t index, double re, double im) {
  hsc_type type = literal->shape.type;
  hsc_type part = hsc_type_real_part(type);
  if (!hsc_type_is_complex(type)) {
    hsc_literal_set_double(literal, index, re);
    return;
  }
  store_bits(literal->data, 2 * index, hsc_type_bytes(part), hsc_float_encode(part, re));
  store_bits(literal->data, 2 * index + 1, hsc_type_bytes(part), hsc_float_encode(part, im));
}

bool hsc_literal_equal(const hsc_literal *a, const hsc_literal *b) {
  if (a == b)
    return true;
  if (!hsc_shape_equal(&a->shape, &b->shape) || a->elided != b->elided)
    return false;
  if (a->shape.type == HSC_TYPE_TUPLE) {
    for (int i = 0; i < a->shape.element_count; i++)
      if (!hsc_literal_equal(&a->elements[i], &b->elements[i]))
        return false;
    return true;
  }
  if (!a->data || !b->data)
    return a->data == b->data;
  return memcmp(a->data, b->data, (size_t)hsc_shape_bytes(&a->shape)) == 0;
}

bool hsc_literal_is_all(const hsc_literal *literal, double value) {
  if (literal->elided || !hsc_shape_is_array(&literal->shape))
    return false;
  int64_t count = hsc_shape_elements(&literal->shape);
  if (count == 0)
    return false;
  if (hsc_literal_get_double(literal, 0) != value || hsc_literal_get_imag(literal, 0) != 0)
    return false;
  // The others have the same bits (0 and -0 are equal numbers of different bits: decode those).
  size_t bytes = hsc_type_bytes(literal->shape.type);
  const char *data = literal->data;
  if (memcmp(data, data + bytes, (size_t)(count - 1) * bytes) == 0)
    return true;
  for (int64_t i = 1; i < count; i++)
    if (hsc_literal_get_double(literal, i) != value || hsc_literal_get_imag(literal, i) != 0)
      return false;
  return true;
}
