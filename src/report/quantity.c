// quantity.c - numbers with units for people: three significant digits, scaled to the unit that
// reads best.
#include "base/text/text.h"
#include "report/table.h"

#include <math.h>

typedef struct scale {
  double factor;
  const char *suffix, *ascii;  // ascii NULL: the same
} scale;

static const scale seconds[] = {
    {1, "s", NULL}, {1e-3, "ms", NULL}, {1e-6, "\xc2\xb5s", "us"}, {1e-9, "ns", NULL}};
static const scale binary[] = {{0x1p40, "TiB", NULL},
                               {0x1p30, "GiB", NULL},
                               {0x1p20, "MiB", NULL},
                               {0x1p10, "KiB", NULL},
                               {1, "B", NULL}};
static const scale decimal[] = {{1e15, "P", NULL}, {1e12, "T", NULL}, {1e9, "G", NULL},
                                {1e6, "M", NULL},  {1e3, "k", NULL},  {1, "", NULL}};

static int put_whole(uint64_t value, bool negative, char *out) {
  char digits[20];
  char *from = digits + sizeof digits;
  do
    *--from = (char)('0' + value % 10);
  while (value /= 10);
  char *at = out;
  if (negative)
    *at++ = '-';
  size_t size = (size_t)(digits + sizeof digits - from);
  memcpy(at, from, size);
  at[size] = 0;
  return (int)(at + size - out);
}

// As printf's "%.*f" for up to three decimals and a magnitude below 1e7: rounding by hand except
// where it is a tie or next to one, which printf decides by all digits.
static int fixed(double value, int decimals, char *out) {
  static const double powers[] = {1, 10, 100, 1000};
  double shifted = fabs(value) * powers[decimals];
  double below = floor(shifted);
  double rest = shifted - below;
  if (fabs(rest - 0.5) < 1e-6)
    return snprintf(out, 24, "%.*f", decimals, value);
  uint64_t whole = (uint64_t)below + (rest > 0.5);
  uint64_t unit = (uint64_t)powers[decimals];
  int length = put_whole(whole / unit, signbit(value), out);
  if (!decimals)
    return length;
  out[length++] = '.';
  for (uint64_t part = whole % unit, digit = unit / 10; digit; digit /= 10)
    out[length++] = (char)('0' + part / digit % 10);
  out[length] = 0;
  return length;
}

// Three significant digits without an exponent: 1.23, 12.3, 123, 1234; fewer digits when trailing
// ones are zero only for whole numbers.
static int significant(double value, char *out) {
  double magnitude = fabs(value);
  if (magnitude == floor(magnitude) && magnitude < 1e6)
    return put_whole((uint64_t)magnitude, signbit(value), out);
  int decimals;
  if (magnitude >= 99.95)
    decimals = 0;
  else if (magnitude >= 9.995)
    decimals = 1;
  else if (magnitude >= 0.9995)
    decimals = 2;
  else
    decimals = 3;
  if (magnitude < 0.01 || magnitude >= 1e7)
    return snprintf(out, 24, "%.3g", value);
  return fixed(value, decimals, out);
}

// The largest scale that the rounded magnitude reaches, else the smallest one.
static int scaled(double value, const scale *scales, size_t count, bool unicode, char *out) {
  size_t at = 0;
  while (at + 1 < count && fabs(value) < scales[at].factor * 0.9995)
    at++;
  if (value == 0)
    at = count == HSC_COUNT_OF(seconds) && scales == seconds ? 0 : count - 1;
  int length = significant(value / scales[at].factor, out);
  const char *suffix = !unicode && scales[at].ascii ? scales[at].ascii : scales[at].suffix;
  if (!*suffix)
    return length;
  size_t size = strlen(suffix);
  out[length] = ' ';
  memcpy(out + length + 1, suffix, size + 1);
  return length + 1 + (int)size;
}

int hsc_format_quantity(double value, const char *unit, bool unicode, char out_text[32]) {
  if (!isfinite(value))
    return hsc_format_double(value, out_text);
  if (strcmp(unit, "s") == 0)
    return scaled(value, seconds, HSC_COUNT_OF(seconds), unicode, out_text);
  if (strcmp(unit, "ns") == 0)
    return scaled(value * 1e-9, seconds, HSC_COUNT_OF(seconds), unicode, out_text);
  if (strcmp(unit, "bytes") == 0)
    return scaled(value, binary, HSC_COUNT_OF(binary), unicode, out_text);
  if (strcmp(unit, "flops") == 0 || strcmp(unit, "bytes/s") == 0 || strcmp(unit, "flop/s") == 0)
    return scaled(value, decimal, HSC_COUNT_OF(decimal), unicode, out_text);
  int length;
  if (strcmp(unit, "fraction") == 0)
    value *= 100;
  if (strcmp(unit, "ratio") == 0) {
    length = fabs(value) < 99.5 && fabs(value) >= 0.01 ? snprintf(out_text, 24, "%.2f", value)
                                                       : significant(value, out_text);
    return length + snprintf(out_text + length, 8, unicode ? "\xc3\x97" : "x");
  }
  if (strcmp(unit, "percent") == 0 || strcmp(unit, "fraction") == 0) {
    length =
        fabs(value) < 1e6 ? snprintf(out_text, 24, "%.1f", value) : significant(value, out_text);
    return length + snprintf(out_text + length, 8, " %%");
  }
  if (value == floor(value) && fabs(value) < 1e15)
    return snprintf(out_text, 32, "%.0f", value);
  return significant(value, out_text);
}

void hsc_text_units(const char *text, bool unicode, hsc_bytes *out) {
  for (const char *at = text; *at; at++) {
    bool is_unit = unicode && at - text >= 2 && at[-1] == ' ' && at[-2] >= '0' && at[-2] <= '9' &&
                   at[0] == 'u' && at[1] == 's' && !(at[2] >= 'a' && at[2] <= 'z');
    if (is_unit)
      hsc_bytes_append_text(out, "\xc2\xb5");
    else
      hsc_bytes_append_char(out, *at);
  }
}
