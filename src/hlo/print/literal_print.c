// literal_print.c - values as XLA prints them inside constant(...): nested braces on one line,
// floats in the shortest of two precisions.
//
// A float prints with the digits that decimal texts of its type always keep (f32: 6, f64: 15) when
// that reads back as the same number, else with as many as are always enough (9, 17); narrower
// types always with the latter. (XLA: RoundTripFpToString in xla/util.cc, and xla/literal.cc.)
#include "hlo/print/print_internal.h"

#include <math.h>

// Digits that are always enough: 2 + floor(precision * log10(2)), precision counting the implied
// bit.
static int max_digits(hsc_type type) {
  switch (type) {
    case HSC_TYPE_F8E3M4:
    case HSC_TYPE_F8E4M3:
    case HSC_TYPE_F8E4M3B11FNUZ:
    case HSC_TYPE_F8E4M3FN:
    case HSC_TYPE_F8E4M3FNUZ:
      return 3;
    case HSC_TYPE_F4E2M1FN:
    case HSC_TYPE_F8E5M2:
    case HSC_TYPE_F8E5M2FNUZ:
    case HSC_TYPE_F8E8M0FNU:
      return 2;
    case HSC_TYPE_BF16:
      return 4;
    case HSC_TYPE_F16:
      return 5;
    case HSC_TYPE_F32:
      return 9;
    default:
      return 17;
  }
}

// Bits of the mantissa, for payloads of NaNs; 0 for types whose NaNs carry none.
static int payload_bits(hsc_type type) {
  switch (type) {
    case HSC_TYPE_F64:
      return 52;
    case HSC_TYPE_F32:
      return 23;
    case HSC_TYPE_F16:
      return 10;
    case HSC_TYPE_BF16:
      return 7;
    default:
      return 0;
  }
}

static void put_nan(hsc_bytes *out, hsc_type type, uint64_t bits, double value) {
  if (signbit(value))
    hsc_bytes_append_char(out, '-');
  PUT(out, "nan");
  int width = payload_bits(type);
  uint64_t payload = width ? bits & ((1ull << width) - 1) : 0;
  if (width && payload != 1ull << (width - 1))
    hsc_bytes_printf(out, "(0x%llx)", (unsigned long long)payload);
}

static void put_float(hsc_bytes *out, hsc_type type, uint64_t bits) {
  double value = hsc_float_decode(type, bits);
  if (isnan(value)) {
    put_nan(out, type, bits, value);
    return;
  }
  // Most constants are small whole numbers; all types but the narrowest print those as integers.
  if (fabs(value) < 100 && value == (double)(int64_t)value && (value != 0 || !signbit(value)) &&
      (fabs(value) < 10 || max_digits(type) > 2)) {
    hsc__put_int(out, (int64_t)value);
    return;
  }
  char text[40];
  bool wide = type == HSC_TYPE_F32 || type == HSC_TYPE_F64;
  int size = wide ? hsc__format_round_trip(value, type == HSC_TYPE_F32, text)
                  : hsc__format_g(value, max_digits(type), text);
  hsc_bytes_append(out, text, (size_t)size);
}

static uint64_t bits_at(const char *at, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, at, bytes);
  return bits;
}

static void put_element(hsc_bytes *out, const hsc_literal *literal, int64_t index) {
  hsc_type type = literal->shape.type;
  size_t bytes = hsc_type_bytes(type);
  const char *at = (const char *)literal->data + (size_t)index * bytes;
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:  // digits inside arrays, words alone
      if (literal->shape.rank > 0)
        hsc_bytes_append_char(out, *at ? '1' : '0');
      else if (*at)
        PUT(out, "true");
      else
        PUT(out, "false");
      break;
    case HSC_CLASS_SIGNED:
      hsc__put_int(out, hsc_literal_get_int(literal, index));
      break;
    case HSC_CLASS_UNSIGNED: {
      char digits[24];
      hsc_bytes_append(
          out, digits,
          (size_t)hsc__format_uint((uint64_t)hsc_literal_get_int(literal, index), digits));
      break;
    }
    case HSC_CLASS_FLOAT:
      put_float(out, type, bits_at(at, bytes));
      break;
    case HSC_CLASS_COMPLEX: {
      hsc_type part = hsc_type_real_part(type);
      hsc_bytes_append_char(out, '(');
      put_float(out, part, bits_at(at, bytes / 2));
      PUT(out, ", ");
      put_float(out, part, bits_at(at + bytes / 2, bytes / 2));
      hsc_bytes_append_char(out, ')');
      break;
    }
    default:
      break;
  }
}

// Prints dimension `dim` and those inside it, starting at element *index, which moves on. `at` is
// the position in the dimension outside.
static void put_dimension(
    hsc_bytes *out, const hsc_literal *literal, int dim, int64_t at, int64_t *index) {
  const hsc_shape *shape = &literal->shape;
  int64_t size = shape->dims[dim];
  bool innermost = dim == shape->rank - 1;
  bool padded = innermost ? shape->rank > 1 && size > 1 : true;
  hsc_bytes_append_char(out, '{');
  if (!innermost && shape->rank > 3 && dim > 0)
    hsc_bytes_printf(out, " /*i%d=%lld*/", dim - 1, (long long)at);
  if (padded)
    hsc_bytes_append_char(out, ' ');
  for (int64_t i = 0; i < size && !out->failed; i++) {
    if (i > 0)
      PUT(out, ", ");
    if (innermost)
      put_element(out, literal, (*index)++);
    else
      put_dimension(out, literal, dim + 1, i, index);
  }
  if (padded)
    hsc_bytes_append_char(out, ' ');
  hsc_bytes_append_char(out, '}');
}

void hsc_literal_print(const hsc_literal *literal, hsc_bytes *out) {
  const hsc_shape *shape = &literal->shape;
  if (shape->type == HSC_TYPE_TUPLE) {
    PUT(out, "( ");
    for (int i = 0; i < shape->element_count; i++) {
      if (i > 0)
        PUT(out, ", ");
      hsc_literal_print(&literal->elements[i], out);
    }
    PUT(out, " )");
  } else if (literal->elided || (!literal->data && hsc_shape_elements(shape) > 0)) {
    PUT(out, "{...}");
  } else if (shape->rank == 0) {
    if (shape->type == HSC_TYPE_TOKEN)
      PUT(out, "token[]");
    else if (hsc_shape_is_array(shape))
      put_element(out, literal, 0);
  } else {
    int64_t index = 0;
    put_dimension(out, literal, 0, 0, &index);
  }
}
