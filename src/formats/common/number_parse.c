// number_parse.c - decimal text to double, correctly rounded.
//
// Up to 19 digits are gathered in an integer. When they fit in 53 bits and the power of ten is at
// most 22, one multiplication or division of two exact doubles rounds once and is right (Clinger
// 1990, "How to read floating point numbers accurately"). Everything else goes to strtod.
#include "formats/common/formats_internal.h"

#include <locale.h>
#include <stdlib.h>

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
int hsc__hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_hex_digit(char c) {
  return hsc__hex_value(c) >= 0;
}

// The end of the longest number at `text` in C's syntax without inf and nan; NULL when there is
// none.
static const char *number_end(const char *text) {
  const char *p = text;
  if (*p == '-' || *p == '+')
    p++;
  bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X') &&
             (is_hex_digit(p[2]) || (p[2] == '.' && is_hex_digit(p[3])));
  if (hex)
    p += 2;
  const char *digits = p;
  while (hex ? is_hex_digit(*p) : is_digit(*p))
    p++;
  size_t count = (size_t)(p - digits);
  if (*p == '.') {
    p++;
    digits = p;
    while (hex ? is_hex_digit(*p) : is_digit(*p))
      p++;
    count += (size_t)(p - digits);
  }
  if (count == 0)
    return NULL;
  if (hex ? (*p == 'p' || *p == 'P') : (*p == 'e' || *p == 'E')) {
    const char *e = p + 1;
    if (*e == '-' || *e == '+')
      e++;
    if (is_digit(*e)) {
      while (is_digit(*e))
        e++;
      p = e;
    }
  }
  return p;
}

static const char *parse_slow(const char *text, double *out_value) {
  const char *end = number_end(text);
  if (!end)
    return NULL;
  char small[64];
  size_t length = (size_t)(end - text);
  char *copy = length < sizeof small ? small : hsc_alloc(length + 1);
  if (!copy)
    return NULL;
  memcpy(copy, text, length);
  copy[length] = 0;
  static locale_t c_locale;  // benign race: every thread makes an equal one, the first stays
  locale_t locale = __atomic_load_n(&c_locale, __ATOMIC_ACQUIRE);
  if (!locale) {
    locale_t fresh = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!__atomic_compare_exchange_n(&c_locale, &locale, fresh, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      if (fresh)
        freelocale(fresh);
    } else {
      locale = fresh;
    }
  }
  *out_value = locale ? strtod_l(copy, NULL, locale) : strtod(copy, NULL);
  if (copy != small)
    hsc_free(copy);
  return end;
}

// "e-12" at p: added to *io_exponent. Returns the end, which is p where no exponent is.
static const char *parse_exponent(const char *p, int *io_exponent) {
  if (*p != 'e' && *p != 'E')
    return p;
  const char *e = p + 1;
  bool negative = *e == '-';
  if (*e == '-' || *e == '+')
    e++;
  if (!is_digit(*e))
    return p;
  int value = 0;
  for (; is_digit(*e); e++)
    if (value < 10000)
      value = value * 10 + (*e - '0');
  *io_exponent += negative ? -value : value;
  return e;
}

const char *hsc__parse_double(const char *text, double *out_value) {
  const char *p = text;
  bool negative = *p == '-';
  if (*p == '-' || *p == '+')
    p++;
  if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
    return parse_slow(text, out_value);
  uint64_t mantissa = 0;
  int digits = 0;
  int exponent = 0;
  for (; is_digit(*p); p++, digits++)
    mantissa = mantissa * 10 + (uint64_t)(*p - '0');
  if (*p == '.') {
    p++;
    const char *fraction = p;
    for (; is_digit(*p); p++)
      mantissa = mantissa * 10 + (uint64_t)(*p - '0');
    exponent = -(int)(p - fraction > 1000 ? 1000 : p - fraction);
    digits += -exponent;
  }
  if (digits == 0 || digits > 19)
    return digits ? parse_slow(text, out_value) : NULL;
  p = parse_exponent(p, &exponent);
  double value = (double)mantissa;
  if (mantissa == 0) {
    value = 0;
  } else if (mantissa > (UINT64_C(1) << 53) || exponent < -22 || exponent > 22) {
    return parse_slow(text, out_value);
  } else if (exponent < 0) {
    value /= powers_of_ten[-exponent];
  } else {
    value *= powers_of_ten[exponent];
  }
  *out_value = negative ? -value : value;
  return p;
}
