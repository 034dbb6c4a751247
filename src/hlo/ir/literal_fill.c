// literal_fill.c - deterministic inputs from shape, type, argument index and seed. The recipe, its
// reasons and test vectors: models/README.md, "Inputs"; models/inputs.py is the same in Python,
// byte for byte.
//
// Hash: the output function of splitmix64 (Steele, Lea, Flood, OOPSLA 2014) over a counter, so that
// any element can be made alone.
#include "hlo/ir/hlo_internal.h"

#include <math.h>

enum { INTEGER_BITS = 6 };  // integers stay under 2^6, so that as an index they are in most tables

static uint64_t hash(uint64_t counter) {
  uint64_t z = counter + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

// In [-0.5, 0.5), a multiple of 2^-24: exact in float.
static double centred(uint64_t counter) {
  return (double)(hash(counter) >> 40) * 0x1p-24 - 0.5;
}

static double real_value(hsc_type type, uint64_t counter) {
  double value = centred(counter) * (type == HSC_TYPE_F4E2M1FN ? 8.0 : 0.25);
  return type == HSC_TYPE_F8E8M0FNU ? fabs(value) : value;
}

static void fill_array(hsc_literal *literal, uint64_t counter) {
  hsc_type type = literal->shape.type;
  int64_t count = hsc_shape_elements(&literal->shape);
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:
      for (int64_t k = 0; k < count; k++)
        hsc_literal_set_int(literal, k, (int64_t)(hash(counter + (uint64_t)k) >> 63));
      break;
    case HSC_CLASS_SIGNED:
    case HSC_CLASS_UNSIGNED: {
      int bits = hsc_type_bits(type) - (hsc_type_class_of(type) == HSC_CLASS_SIGNED);
      uint64_t mask = ((uint64_t)1 << (bits < INTEGER_BITS ? bits : INTEGER_BITS)) - 1;
      for (int64_t k = 0; k < count; k++)
        hsc_literal_set_int(literal, k, (int64_t)(hash(counter + (uint64_t)k) >> 40 & mask));
      break;
    }
    case HSC_CLASS_FLOAT:
      if (type == HSC_TYPE_F32) {  // what nearly all programs take: without the general conversion
        float *data = literal->data;
        for (int64_t k = 0; k < count; k++)
          data[k] = (float)(centred(counter + (uint64_t)k) * 0.25);
      } else {
        for (int64_t k = 0; k < count; k++)
          hsc_literal_set_double(literal, k, real_value(type, counter + (uint64_t)k));
      }
      break;
    case HSC_CLASS_COMPLEX:
      for (int64_t k = 0; k < count; k++) {
        uint64_t at = counter + 2 * (uint64_t)k;
        hsc_literal_set_complex(literal, k, real_value(type, at), real_value(type, at + 1));
      }
      break;
    case HSC_CLASS_OTHER:
      break;  // tokens hold nothing
  }
}

static void fill_leaves(hsc_literal *literal, uint64_t start, uint64_t *leaf) {
  if (literal->shape.type == HSC_TYPE_TUPLE) {
    for (int i = 0; i < literal->shape.element_count; i++)
      fill_leaves(&literal->elements[i], start, leaf);
    return;
  }
  fill_array(literal, start + (*leaf << 48));
  ++*leaf;
}

void hsc_literal_fill(hsc_literal *literal, uint64_t seed, uint32_t argument_index) {
  uint64_t leaf = 0;
  fill_leaves(literal, seed * 0x9E3779B97F4A7C15u + ((uint64_t)argument_index << 32), &leaf);
}
