// hlo_text_literal.c - the values inside constant(...): 3, {1, 2}, { { 1, 2 }, { 3, 4 } }, {...},
// (1, 2) for complex, ( {1}, 2 ) for tuples.
//
// Braces must match the dimensions. XLA leaves them out for some shapes with a dimension of size 1
// or 0, so what is checked is the number of values and, where braces are, their depth.
#include "base/text/text.h"
#include "formats/hlo_text/hlo_text_internal.h"

#include <math.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Bits of the mantissa of types whose NaNs have a payload; 0 = none has.
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
    case HSC_TYPE_F8E3M4:
      return 4;
    case HSC_TYPE_F8E4M3:
    case HSC_TYPE_F8E4M3FN:
      return 3;
    case HSC_TYPE_F8E5M2:
      return 2;
    default:
      return 0;
  }
}

// "(0x7fc001)" at `c`: the mantissa field of a NaN. Returns what follows; NULL = an error, said.
static const char *parse_payload(hsc__hlo_parser *p,
                                 const char *c,
                                 hsc_type type,
                                 uint64_t *in_out_bits) {
  uint64_t payload = 0;
  int digits = 0;
  const char *d = c + 1;
  if (d[0] == '0' && (d[1] == 'x' || d[1] == 'X'))
    for (d += 2; digits < 16 && hsc__hex_value(*d) >= 0; d++, digits++)
      payload = payload * 16 + (uint64_t)hsc__hex_value(*d);
  if (digits == 0 || *d != ')') {
    hsc__hlo_error(p, p->p, "expected a payload like nan(0x7fc001)");
    return NULL;
  }
  // What does not fit in the mantissa is an error, and so is zero (that would be an infinity).
  int width = payload_bits(type);
  if (width == 0 || payload >> width || payload == 0) {
    hsc__hlo_error(p, p->p, "the NaN payload 0x%llx does not fit the type %s",
                   (unsigned long long)payload, hsc_type_text(type));
    return NULL;
  }
  *in_out_bits = (*in_out_bits & ~((UINT64_C(1) << width) - 1)) | payload;
  if (!isnan(hsc_float_decode(type, *in_out_bits))) {
    hsc__hlo_error(p, p->p, "the payload 0x%llx is no NaN of the type %s",
                   (unsigned long long)payload, hsc_type_text(type));
    return NULL;
  }
  return d + 1;
}

// nan, -nan, nan(0x7f), inf: the storage bits, or false when it is a plain number.
static bool parse_special(hsc__hlo_parser *p, hsc_type type, uint64_t *out_bits, bool *out_found) {
  const char *c = p->p;
  bool negative = *c == '-';
  if (*c == '-' || *c == '+')
    c++;
  *out_found = false;
  if (strncmp(c, "inf", 3) == 0 && !hsc__hlo_is_name_char(c[3])) {
    *out_bits = hsc_float_encode(type, negative ? -(double)INFINITY : (double)INFINITY);
    p->p = c + 3;
    *out_found = true;
    return true;
  }
  if (strncmp(c, "nan", 3) != 0 || hsc__hlo_is_name_char(c[3]))
    return true;
  *out_found = true;
  uint64_t bits = hsc_float_encode(type, (double)NAN);
  uint64_t sign = UINT64_C(1) << (hsc_type_bits(type) - 1);
  if (payload_bits(type) > 0)  // the others' only NaN has no sign of its own
    bits = negative ? bits | sign : bits & ~sign;
  c += 3;
  if (*c == '(')
    c = parse_payload(p, c, type, &bits);
  if (!c)
    return false;
  *out_bits = bits;
  p->p = c;
  return true;
}

static void store_bits(void *data, int64_t index, size_t size_bytes, uint64_t bits) {
  switch (size_bytes) {
    case 1:
      ((uint8_t *)data)[index] = (uint8_t)bits;
      break;
    case 2:
      ((uint16_t *)data)[index] = (uint16_t)bits;
      break;
    case 4:
      ((uint32_t *)data)[index] = (uint32_t)bits;
      break;
    default:
      ((uint64_t *)data)[index] = bits;
      break;
  }
}

// One real number of a float type into `data[index]`.
static bool parse_float(hsc__hlo_parser *p, hsc_type type, void *data, int64_t index) {
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  double value;
  const char *end = hsc__parse_double(p->p, &value);
  if (end) {
    p->p = end;
    if (type == HSC_TYPE_F32) {
      ((float *)data)[index] = (float)value;
      if (isinf((float)value))
        return hsc__hlo_error(p, start, "the value is out of the range of f32");
    } else if (type == HSC_TYPE_F64) {
      ((double *)data)[index] = value;
      if (isinf(value))
        return hsc__hlo_error(p, start, "the value is out of the range of f64");
    } else {
      uint64_t bits = hsc_float_encode(type, value);
      store_bits(data, index, hsc_type_bytes(type), bits);
      if (!isfinite(hsc_float_decode(type, bits)))
        return hsc__hlo_error(p, start, "the value is out of the range of %s", hsc_type_text(type));
    }
    return true;
  }
  uint64_t bits = 0;
  bool special;
  if (!parse_special(p, type, &bits, &special))
    return false;
  if (special) {
    store_bits(data, index, hsc_type_bytes(type), bits);
    return true;
  }
  bool logical;  // true and false stand for 1 and 0 in every type
  if ((*p->p == 't' || *p->p == 'f') && hsc__hlo_bool(p, &logical)) {
    store_bits(data, index, hsc_type_bytes(type), hsc_float_encode(type, logical));
    return true;
  }
  return !p->status && hsc__hlo_expected(p, "a number");
}

static bool parse_integer(hsc__hlo_parser *p, hsc_type type, void *data, int64_t index) {
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  const char *c = start;
  bool negative = *c == '-';
  if (*c == '-' || *c == '+')
    c++;
  if (!is_digit(*c)) {
    bool logical;
    if ((*c == 't' || *c == 'f') && hsc__hlo_bool(p, &logical)) {
      store_bits(data, index, hsc_type_bytes(type), logical);
      return true;
    }
    return !p->status && hsc__hlo_expected(p, "an integer");
  }
  uint64_t value = 0;
  for (; is_digit(*c); c++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
      return hsc__hlo_error(p, start, "the integer does not fit in %s", hsc_type_text(type));
  if (*c == '.' || *c == 'e')
    return hsc__hlo_error(p, start, "expected an integer for %s, found a fraction",
                          hsc_type_text(type));
  int bits = hsc_type_bits(type);
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  uint64_t max;
  if (type == HSC_TYPE_PRED)
    max = 1;
  else if (is_signed)
    max = (UINT64_C(1) << (bits - 1)) - 1;
  else if (bits == 64)
    max = UINT64_MAX;
  else
    max = (UINT64_C(1) << bits) - 1;
  // As in XLA, -1 is the largest of the unsigned types of a byte and more.
  uint64_t most = max;
  if (negative && is_signed)
    most = max + 1;
  else if (negative && bits < 8)
    most = 0;
  if (value > most)
    return hsc__hlo_error(p, start, "%s%llu does not fit in %s", negative ? "-" : "",
                          (unsigned long long)value, hsc_type_text(type));
  if (negative)
    value = 0 - value;
  store_bits(data, index, hsc_type_bytes(type), value);
  p->p = c;
  return true;
}

static bool parse_complex(hsc__hlo_parser *p, hsc_type type, void *data, int64_t index) {
  hsc_type part = hsc_type_real_part(type);
  if (!hsc__hlo_accept(p, '(')) {  // a real number alone
    if (!parse_float(p, part, data, 2 * index))
      return false;
    store_bits(data, 2 * index + 1, hsc_type_bytes(part), 0);
    return true;
  }
  return parse_float(p, part, data, 2 * index) &&
         hsc__hlo_expect(p, ',', "between the real and imaginary part") &&
         parse_float(p, part, data, 2 * index + 1) &&
         hsc__hlo_expect(p, ')', "after the imaginary part");
}

// The values of an array while they are read, and the braces around them. XLA reads "{1, 2}" for
// s32[1,2] and the like: braces of dimensions of size 1 may be left out, all others must be there
// and hold what the shape says.
typedef struct array_values {
  const hsc_shape *shape;
  hsc_type_class class;
  void *data;
  int64_t total, count;  // of the shape; read so far
  int depth;             // braces that are open
  int deepest;           // that a value was in
  int long_dims;         // dimensions whose braces cannot be left out
  // by depth: values before its brace, values between its braces
  int64_t opened[HSC_MAX_RANK + 1], inside[HSC_MAX_RANK + 2];
} array_values;

static void array_values_init(array_values *a, const hsc_literal *literal) {
  const hsc_shape *shape = &literal->shape;
  *a = (array_values){.shape = shape,
                      .class = hsc_type_class_of(shape->type),
                      .data = literal->data,
                      .total = hsc_shape_elements(shape)};
  for (int i = 0; i < shape->rank; i++)
    a->long_dims += shape->dims[i] > 1;
  a->inside[shape->rank + 1] = 1;
  for (int i = shape->rank; i > 0; i--)
    a->inside[i] = a->inside[i + 1] * shape->dims[i - 1];
}

static bool open_brace(hsc__hlo_parser *p, array_values *a) {
  if (++a->depth > (a->shape->rank > 0 ? a->shape->rank : 1))
    return hsc__hlo_error(p, p->p,
                          "the braces are nested deeper than the %d dimensions of the shape",
                          a->shape->rank);
  p->p++;
  a->opened[a->depth] = a->count;
  return true;
}

static bool close_brace(hsc__hlo_parser *p, array_values *a) {
  int rank = a->shape->rank;
  int64_t held = a->count - a->opened[a->depth];
  if (rank > 1 && a->deepest == rank && a->total > 0 && held != a->inside[a->depth])
    return hsc__hlo_error(p, p->p, "%lld values in these braces, the shape has %lld there",
                          (long long)held, (long long)a->inside[a->depth]);
  p->p++;
  a->depth--;
  return true;
}

static bool parse_element(hsc__hlo_parser *p, array_values *a) {
  if (a->depth > 0 && a->depth < a->long_dims)
    return hsc__hlo_error(p, p->p, "the braces are nested %d deep, the shape has %d dimensions",
                          a->depth, a->shape->rank);
  if (a->count == a->total)
    return hsc__hlo_error(p, p->p, "more than the %lld values of the shape", (long long)a->total);
  bool ok;
  if (a->class == HSC_CLASS_FLOAT)
    ok = parse_float(p, a->shape->type, a->data, a->count);
  else if (a->class == HSC_CLASS_COMPLEX)
    ok = parse_complex(p, a->shape->type, a->data, a->count);
  else
    ok = parse_integer(p, a->shape->type, a->data, a->count);
  a->count++;
  if (a->depth > a->deepest)
    a->deepest = a->depth;
  return ok;
}

static bool parse_array(hsc__hlo_parser *p, hsc_literal *literal) {
  array_values a;
  array_values_init(&a, literal);
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  bool is_scalar = a.shape->rank == 0;
  for (;;) {
    hsc__hlo_skip_space(p);
    char c = *p->p;
    if (c == '{') {
      if (!open_brace(p, &a))
        return false;
      continue;
    }
    if (c == '}' && a.depth > 0) {
      if (!close_brace(p, &a))
        return false;
      if (a.depth == 0)
        break;
      hsc__hlo_accept(p, ',');
      continue;
    }
    if (c == '}' || (a.depth == 0 && is_scalar && a.count == 1))
      break;
    // XLA reads a bare value for a shape with one element
    if (a.depth == 0 && !is_scalar && (a.total != 1 || a.count != 0))
      return (a.total == 0 && c == ')') || hsc__hlo_expected(p, "'{'");
    if (!parse_element(p, &a))
      return false;
    if (a.depth == 0)
      break;
    if (!hsc__hlo_accept(p, ',') && !hsc__hlo_peek(p, '}'))
      return hsc__hlo_expected(p, "',' or '}'");
  }
  if (a.count != a.total)
    return hsc__hlo_error(p, start, "the literal has %lld value%s, its shape has %lld",
                          (long long)a.count, hsc_plural((double)a.count, "", "s"),
                          (long long)a.total);
  return true;
}

bool hsc__hlo_literal(hsc__hlo_parser *p, const hsc_shape *shape, hsc_literal **out_literal) {
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  if (shape->type == HSC_TYPE_TOKEN || shape->type == HSC_TYPE_OPAQUE ||
      shape->type == HSC_TYPE_INVALID)
    return hsc__hlo_error(p, start, "there are no literals of %s", hsc_type_text(shape->type));
  if (*p->p == '{') {
    const char *c = p->p + 1;
    while (*c == ' ')
      c++;
    if (strncmp(c, "...", 3) == 0) {
      p->p = c + 3;
      if (!hsc__hlo_expect(p, '}', "after '{...'"))
        return false;
      hsc_literal *literal = HSC_NEW(p->arena, hsc_literal);
      *literal = (hsc_literal){.shape = *shape, .elided = true};
      *out_literal = literal;
      return true;
    }
  }
  if (hsc_shape_is_tuple(shape)) {
    hsc_literal *literal = HSC_NEW(p->arena, hsc_literal);
    literal->shape = *shape;
    literal->elements = HSC_NEW_ARRAY(p->arena, hsc_literal, shape->element_count);
    if (!literal->elements)
      return hsc__hlo_out_of_memory(p);
    if (!hsc__hlo_enter(p) || !hsc__hlo_expect(p, '(', "before the values of the tuple"))
      return false;
    for (int i = 0; i < shape->element_count; i++) {
      hsc_literal *element;
      if (i > 0 && !hsc__hlo_expect(p, ',', "between the values of the tuple"))
        return false;
      if (!hsc__hlo_literal(p, &shape->elements[i], &element))
        return false;
      literal->elements[i] = *element;
    }
    hsc__hlo_leave(p);
    *out_literal = literal;
    return hsc__hlo_expect(p, ')', "after the values of the tuple");
  }
  // Every value takes at least two characters ("1,"), so a shape with more elements than that
  // cannot be filled from here.
  if (hsc_shape_elements(shape) > (p->end - start) / 2 + 1)
    return hsc__hlo_error(p, start,
                          "the literal's shape has %lld elements, more than the text can hold",
                          (long long)hsc_shape_elements(shape));
  hsc_literal *literal;
  hsc_status *status = hsc_literal_create(p->arena, shape, &literal);
  if (status) {
    if (p->status)
      hsc_status_free(status);
    else
      p->status = status;
    return false;
  }
  *out_literal = literal;
  return parse_array(p, literal);
}

// The rest of a tuple whose shape stands alone, "(s32[2], pred[]) ({1, 2}, true)", rather than
// beside each value: something follows it.
static bool shape_stands_alone(const hsc__hlo_parser *p) {
  const char *c = p->p;
  int depth = 0;
  do {
    if (c == p->end)
      return false;
    depth += (*c == '(') - (*c == ')');
    c++;
  } while (depth > 0);
  while (c < p->end && *c == ' ')
    c++;
  return c < p->end && *c == '(';
}

bool hsc__hlo_shaped_literal(hsc__hlo_parser *p, hsc_literal **out_literal) {
  hsc_shape shape;
  if (!hsc__hlo_peek(p, '(') || shape_stands_alone(p))
    return hsc__hlo_shape(p, &shape) && hsc__hlo_literal(p, &shape, out_literal);
  hsc_literal *elements = NULL;
  int count = 0;
  int capacity = 0;
  if (!hsc__hlo_enter(p) || !hsc__hlo_expect(p, '(', "before the values of the tuple"))
    return false;
  while (!hsc__hlo_accept(p, ')')) {
    hsc_literal *element;
    if (count > 0 && !hsc__hlo_expect(p, ',', "between the values of the tuple"))
      return false;
    if (!hsc__hlo_shaped_literal(p, &element))
      return false;
    if (!HSC_GROW_IN(p->arena, elements, count, capacity))
      return hsc__hlo_out_of_memory(p);
    elements[count++] = *element;
  }
  hsc__hlo_leave(p);
  hsc_literal *literal = HSC_NEW(p->arena, hsc_literal);
  hsc_shape *shapes = HSC_NEW_ARRAY(p->arena, hsc_shape, count);
  if (!literal || (count && !shapes))
    return hsc__hlo_out_of_memory(p);
  for (int i = 0; i < count; i++)
    shapes[i] = elements[i].shape;
  *literal = (hsc_literal){.shape = hsc_shape_tuple(p->arena, count, shapes), .elements = elements};
  *out_literal = literal;
  return true;
}
