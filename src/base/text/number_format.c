// number_format.c - floating-point numbers as the shortest decimal text that reads back as the same
// number.
//
// A decimal of at most 15 digits (6 for float) survives decimal -> binary -> decimal, so when a
// shorter text exists, the 15-digit text is that one padded with zeros: print 15 digits, strip
// zeros, and only if that does not read back try 16 and 17 (7, 8, 9). Subnormal numbers have fewer
// digits of precision than that and are searched from one digit up. (IEEE 754-2019, 5.12.2; C17
// 5.2.4.2.2 DBL_DIG, DBL_DECIMAL_DIG.)
#include "base/text/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

// Significant digits without trailing zeros and the decimal exponent of the first one.
typedef struct decimal {
  char digits[24];
  int count;
  int exponent;
} decimal;

// Reads what "%.*e" printed. The decimal point may be any character: a host process may have set
// another locale.
static decimal take_apart(const char *text) {
  decimal number = {.count = 0};
  const char *at = text;
  for (; *at && *at != 'e'; at++)
    if (*at >= '0' && *at <= '9')
      number.digits[number.count++] = *at;
  if (*at == 'e')
    number.exponent = atoi(at + 1);
  while (number.count > 1 && number.digits[number.count - 1] == '0')
    number.count--;
  return number;
}

// Plain notation for exponents from -5 below to `plain_limit`, else scientific: "123.5", "0.0001",
// "1e+30", "2.5e-07".
static int write_decimal(const decimal *number, bool negative, int plain_limit, char *out) {
  char *at = out;
  int exponent = number->exponent;
  if (negative)
    *at++ = '-';
  if (exponent >= 0 && exponent < plain_limit) {
    for (int i = 0; i <= exponent; i++)
      *at++ = i < number->count ? number->digits[i] : '0';
    if (number->count > exponent + 1)
      *at++ = '.';
    for (int i = exponent + 1; i < number->count; i++)
      *at++ = number->digits[i];
  } else if (exponent < 0 && exponent >= -4) {
    *at++ = '0';
    *at++ = '.';
    for (int i = -1; i > exponent; i--)
      *at++ = '0';
    for (int i = 0; i < number->count; i++)
      *at++ = number->digits[i];
  } else {
    *at++ = number->digits[0];
    if (number->count > 1)
      *at++ = '.';
    for (int i = 1; i < number->count; i++)
      *at++ = number->digits[i];
    at += snprintf(at, 8, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
  }
  *at = 0;
  return (int)(at - out);
}

static int write_special(double value, char *out) {
  const char *text;
  if (isnan(value))
    text = "nan";
  else if (signbit(value)) {
    if (value == 0)
      text = "-0";
    else
      text = "-inf";
  } else if (value == 0)
    text = "0";
  else
    text = "inf";
  size_t length = strlen(text);
  memcpy(out, text, length + 1);
  return (int)length;
}

int hsc_format_double(double value, char *out_text) {
  if (value == 0 || !isfinite(value))
    return write_special(value, out_text);
  double magnitude = fabs(value);
  if (magnitude < 1e15 && magnitude == (double)(int64_t)magnitude)
    return snprintf(out_text, 32, "%lld", (long long)value);
  char text[40];
  int digits = magnitude < DBL_MIN ? 1 : DBL_DIG;
  for (; digits < DBL_DECIMAL_DIG; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, magnitude);
    if (strtod(text, NULL) == magnitude)
      break;
  }
  if (digits == DBL_DECIMAL_DIG)
    snprintf(text, sizeof text, "%.*e", DBL_DECIMAL_DIG - 1, magnitude);
  decimal number = take_apart(text);
  return write_decimal(&number, value < 0, DBL_DIG, out_text);
}

int hsc_format_float(float value, char *out_text) {
  if (value == 0 || !isfinite(value))
    return write_special((double)value, out_text);
  float magnitude = fabsf(value);
  if (magnitude < 1e6f && magnitude == (float)(int)magnitude)
    return snprintf(out_text, 32, "%d", (int)value);
  char text[40];
  int digits = magnitude < FLT_MIN ? 1 : FLT_DIG;
  for (; digits < FLT_DECIMAL_DIG; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, (double)magnitude);
    if (strtof(text, NULL) == magnitude)
      break;
  }
  if (digits == FLT_DECIMAL_DIG)
    snprintf(text, sizeof text, "%.*e", FLT_DECIMAL_DIG - 1, (double)magnitude);
  decimal number = take_apart(text);
  return write_decimal(&number, value < 0, FLT_DECIMAL_DIG, out_text);
}
