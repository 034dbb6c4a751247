// mlir_text_dense.c - dense<...> : tensor<...>: nested lists, one value for all elements (a splat),
// and bytes as a hexadecimal string.
//
// The type is after the values, so the values are read when the type is known.
#include <math.h>

#include "formats/mlir/mlir_text_internal.h"

static int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

static void store(char *data, size_t index, size_t bytes, uint64_t bits) {
  memcpy(data + index * bytes, &bits, bytes);
}

static bool number(hsc__mlir_parser *p, hsc_type type, char *data, size_t index) {
  hsc__mlir_skip(p);
  size_t bytes = hsc_type_bytes(type);
  const char *at = p->p;
  if (hsc__mlir_accept_word(p, "true") || hsc__mlir_accept_word(p, "false")) {
    bool value = *at == 't';
    store(data, index, bytes, hsc_type_is_float(type) ? hsc_float_encode(type, value) : value);
    return true;
  }
  bool hex = (at[0] == '0' && at[1] == 'x') || (at[0] == '-' && at[1] == '0' && at[2] == 'x');
  if (hsc_type_is_float(type) && !hex) {
    double value;
    const char *end = hsc__parse_double(at, &value);
    if (!end)
      return hsc__mlir_expected(p, "a number");
    if (type == HSC_TYPE_F32)
      ((float *)data)[index] = (float)value;
    else if (type == HSC_TYPE_F64)
      ((double *)data)[index] = value;
    else
      store(data, index, bytes, hsc_float_encode(type, value));
    p->p = end;
    return true;
  }
  int64_t value;
  if (!hsc__mlir_int(p, &value))
    return false;
  int bits = hsc_type_bits(type);
  if (type == HSC_TYPE_PRED && value != 0)
    value = 1;
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  if (bits < 64 && type != HSC_TYPE_PRED) {
    // signless: 255 is -1 of i8
    int64_t low = is_signed && !hex ? -(INT64_C(1) << (bits - 1)) : 0;
    int64_t high = (INT64_C(1) << bits) - 1;
    if (value < low || value > high)
      return hsc__mlir_error(p, at, "the value does not fit in %s", hsc_type_text(type));
    if (is_signed)
      value = (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
  }
  if (*p->p == '.' || *p->p == 'e')
    return hsc__mlir_error(p, at, "expected an integer for %s, found a fraction",
                           hsc_type_text(type));
  store(data, index, bytes, (uint64_t)value);
  return true;
}

static bool value(hsc__mlir_parser *p, hsc_type type, char *data, size_t index) {
  if (!hsc_type_is_complex(type))
    return number(p, type, data, index);
  hsc_type part = hsc_type_real_part(type);
  return hsc__mlir_expect(p, "(") && number(p, part, data, 2 * index) && hsc__mlir_expect(p, ",") &&
         number(p, part, data, 2 * index + 1) && hsc__mlir_expect(p, ")");
}

static bool hex_blob(hsc__mlir_parser *p,
                     const char *at,
                     hsc_view text,
                     const hsc_shape *shape,
                     hsc__mlir_attr *attr) {
  if (text.size < 2 || text.data[0] != '0' || text.data[1] != 'x' || text.size % 2 != 0)
    return hsc__mlir_error(p, at, "expected a hexadecimal string like \"0x00FF\"");
  size_t size = (text.size - 2) / 2;
  size_t elements = (size_t)hsc_shape_elements(shape);
  size_t one = hsc_type_bytes(shape->type);
  bool is_pred = shape->type == HSC_TYPE_PRED;
  bool packed = is_pred && size != elements && size == (elements + 7) / 8;
  if (!packed && size != elements * one && size != one)
    return hsc__mlir_error(p, at, "the string has %zu bytes, the tensor has %zu", size,
                           elements * one);
  char *bytes = hsc_arena_alloc(p->arena, size + 1);
  char *unpacked = NULL;
  if (!bytes)
    return hsc__mlir_out_of_memory(p);
  for (size_t i = 0; i < size; i++) {
    int high = hex_digit(text.data[2 + 2 * i]);
    int low = hex_digit(text.data[3 + 2 * i]);
    if (high < 0 || low < 0)
      return hsc__mlir_error(p, at, "the string holds something that is no hexadecimal digit");
    bytes[i] = (char)(high << 4 | low);
  }
  if (packed) {
    unpacked = hsc_arena_alloc(p->arena, elements + 1);
    if (!unpacked)
      return hsc__mlir_out_of_memory(p);
    for (size_t i = 0; i < elements; i++)
      unpacked[i] = bytes[i / 8] >> (i % 8) & 1;
  } else if (is_pred) {
    for (size_t i = 0; i < size; i++)
      bytes[i] = bytes[i] != 0;
  }
  attr->data = packed ? (hsc_view){unpacked, elements} : (hsc_view){bytes, size};
  return true;
}

static bool values(hsc__mlir_parser *p,
                   const char *end,
                   const hsc_shape *shape,
                   hsc__mlir_attr *attr) {
  size_t elements = (size_t)hsc_shape_elements(shape);
  size_t one = hsc_type_bytes(shape->type);
  size_t count = 0;
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (*at == '"') {
    hsc_view text;
    return hsc__mlir_string(p, &text) && hex_blob(p, at, text, shape, attr);
  }
  if (at >= end) {
    if (elements)
      return hsc__mlir_error(p, at, "no values for a tensor of %zu elements", elements);
    attr->data = (hsc_view){"", 0};
    return true;
  }
  bool list = *at == '[';
  size_t capacity = list ? elements : 1;
  // Every value takes two characters at least ("1,"): a tensor that cannot be filled from here is
  // refused before memory is asked for.
  if (list && elements > (size_t)(end - at) / 2 + 1)
    return hsc__mlir_error(p, at, "the tensor has %zu elements, more than the text can hold",
                           elements);
  char *data = hsc_arena_alloc(p->arena, capacity * one + 1);
  if (!data)
    return hsc__mlir_out_of_memory(p);
  int depth = 0;
  do {
    while (hsc__mlir_accept(p, '['))
      if (++depth > shape->rank)
        return hsc__mlir_error(p, p->p - 1,
                               "the lists are nested deeper than the %d dimensions of the tensor",
                               shape->rank);
    if (!hsc__mlir_peek(p, ']')) {
      if (count == capacity)
        return hsc__mlir_error(p, p->p, "more than the %zu values of the tensor", capacity);
      if (!value(p, shape->type, data, count))
        return false;
      count++;
    }
    while (hsc__mlir_accept(p, ']'))
      if (--depth < 0)
        return hsc__mlir_error(p, p->p - 1, "a ']' without its '['");
  } while (hsc__mlir_accept(p, ','));
  if (depth != 0)
    return hsc__mlir_expected(p, "']'");
  if (list && count != elements)
    return hsc__mlir_error(p, at, "%zu values for a tensor of %zu elements", count, elements);
  attr->data = (hsc_view){data, count * one};
  return true;
}

static bool tensor_type(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (!hsc__mlir_type_parse(p, &attr->type))
    return false;
  if (attr->type->kind != HSC_MLIR_TENSOR)
    return hsc__mlir_error(p, at,
                           "a dense attribute needs a tensor type with a known element type");
  if (attr->type->shape.dynamic)
    return hsc__mlir_error(p, at, "a dense attribute needs a tensor type with known dimensions");
  return true;
}

static bool resource(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc_view name;
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_DENSE);
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (!attr || !hsc__mlir_suffix(p, "the name of a resource", &name) || !hsc__mlir_expect(p, ">") ||
      !hsc__mlir_expect(p, ":") || !tensor_type(p, attr))
    return false;
  attr->text = (hsc_view){at, name.size};  // where it is, for the error when it is missing
  // A name may be in several places: they form a list through `elements`.
  const hsc__mlir_attr *before = hsc_map_get(p->resources, name);
  if (before) {
    attr->elements = hsc_arena_copy(p->arena, &before, sizeof before);
    if (!attr->elements)
      return hsc__mlir_out_of_memory(p);
  }
  hsc_status *status = hsc_map_put(p->resources, name, attr);
  hsc_status_free(status);
  *out = attr;
  return !status || hsc__mlir_out_of_memory(p);
}

bool hsc__mlir_dense(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  if (hsc__mlir_accept_word(p, "dense_resource"))
    return hsc__mlir_expect(p, "<") && resource(p, out);
  if (!hsc__mlir_expect(p, "dense") || !hsc__mlir_expect(p, "<"))
    return false;
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_DENSE);
  // neither numbers nor hexadecimal strings hold one
  const char *start = p->p;
  const char *end = memchr(start, '>', (size_t)(p->end - start));
  if (!attr)
    return false;
  if (!end)
    return hsc__mlir_error(p, start, "dense<...> has no closing '>'");
  p->p = end + 1;
  if (!hsc__mlir_expect(p, ":") || !tensor_type(p, attr))
    return false;
  const char *after = p->p;
  p->p = start;
  if (!values(p, end, &attr->type->shape, attr))
    return false;
  hsc__mlir_skip(p);
  if (p->p != end)
    return hsc__mlir_expected(p, "',' or '>'");
  p->p = after;
  *out = attr;
  return true;
}
