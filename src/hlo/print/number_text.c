// number_text.c - numbers as decimal digits, fast: the printer writes millions of them.
#include "hlo/ir/hlo_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

// ---- integers -----------------------------------------------------------------------------------

static const char pairs[201] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546"
    "474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596"
    "979899";

int hsc__format_uint(uint64_t value, char *out) {
  char reversed[20];
  int at = 20;
  while (value >= 100) {
    at -= 2;
    memcpy(reversed + at, pairs + value % 100 * 2, 2);
    value /= 100;
  }
  if (value >= 10) {
    at -= 2;
    memcpy(reversed + at, pairs + value * 2, 2);
  } else {
    reversed[--at] = (char)('0' + value);
  }
  memcpy(out, reversed + at, (size_t)(20 - at));
  return 20 - at;
}

int hsc__format_int(int64_t value, char *out) {
  if (value >= 0)
    return hsc__format_uint((uint64_t)value, out);
  *out = '-';
  return 1 + hsc__format_uint(-(uint64_t)value, out + 1);
}

// ---- floats -------------------------------------------------------------------------------------
//
// printf's %.Ng in a few multiplications of long double, whose 64 bits leave room around the digits
// that are wanted. Where the error could reach the rounding (about one number in 10^5 for f32, one
// in 50 for f64) or a power of ten is not exact, printf itself does the work.

_Static_assert(LDBL_MANT_DIG >= 64, "the margins below are those of 64 bits");
enum { EXACT_POWERS = 28 };  // 10^27 is the largest power of ten that long double holds exactly

static const long double powers[EXACT_POWERS] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                                 1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                                 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                                 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

// x * 10^power. False when 10^|power| is not exact.
static bool scale(long double x, int power, long double *out) {
  if (power >= EXACT_POWERS || power <= -EXACT_POWERS)
    return false;
  *out = power >= 0 ? x * powers[power] : x / powers[-power];
  return true;
}

// The `digits` first decimal digits of x > 0 as an integer, rounded, and the exponent of the first
// one. False when it is too close to call.
static bool round_to_digits(double x, int digits, uint64_t *out_number, int *out_exponent) {
  int exponent2;
  frexp(x, &exponent2);
  // of the power of two below x: right or one too small
  int exponent = (int)floor((exponent2 - 1) * 0.30102999566398120);
  long double scaled;
  if (!scale(x, digits - 1 - exponent, &scaled))
    return false;
  if (scaled >= powers[digits]) {
    exponent++;
    if (!scale(x, digits - 1 - exponent, &scaled))
      return false;
  }
  uint64_t number = (uint64_t)scaled;
  long double rest = scaled - (long double)number;
  long double margin = scaled * 0x1p-62L;
  if (rest > 0.5L - margin && rest < 0.5L + margin)
    return false;
  number += rest > 0.5L;
  if ((long double)number >= powers[digits]) {
    number /= 10;
    exponent++;
  }
  *out_number = number;
  *out_exponent = exponent;
  return true;
}

// Writes the digits as %g does: no trailing zeros, an exponent below 1e-4 and from 10^digits on.
static int write_g(bool negative, uint64_t number, int exponent, int digits, char *out) {
  char text[24];
  int count = hsc__format_uint(number, text);
  int size = 0;
  while (count > 1 && text[count - 1] == '0')
    count--;
  if (negative)
    out[size++] = '-';
  if (exponent < -4 || exponent >= digits) {
    out[size++] = text[0];
    if (count > 1) {
      out[size++] = '.';
      memcpy(out + size, text + 1, (size_t)(count - 1));
      size += count - 1;
    }
    out[size++] = 'e';
    out[size++] = exponent < 0 ? '-' : '+';
    int magnitude = exponent < 0 ? -exponent : exponent;
    if (magnitude < 10)
      out[size++] = '0';
    return size + hsc__format_uint((uint64_t)magnitude, out + size);
  }
  if (exponent < 0) {
    out[size++] = '0';
    out[size++] = '.';
    for (int i = -1; i > exponent; i--)
      out[size++] = '0';
    memcpy(out + size, text, (size_t)count);
    return size + count;
  }
  for (int i = 0; i < count || i <= exponent; i++) {
    if (i == exponent + 1)
      out[size++] = '.';
    out[size++] = i < count ? text[i] : '0';
  }
  return size;
}

int hsc__format_g(double value, int digits, char *out) {
  uint64_t number;
  int exponent;
  if (value == 0 || !isfinite(value) || !round_to_digits(fabs(value), digits, &number, &exponent))
    return snprintf(out, 40, "%.*g", digits, value);
  return write_g(signbit(value), number, exponent, digits, out);
}

// Whether number * 10^(exponent - digits + 1) rounds to the float or double x > 0: it does when it
// is nearer to x than half of the smaller gap to a neighbour. False in *out_known when that is too
// close to call.
static bool reads_back(
    double x, bool is_f32, uint64_t number, int exponent, int digits, bool *out_known) {
  long double read;
  *out_known = scale((long double)number, exponent - digits + 1, &read);
  if (!*out_known)
    return false;
  double below = is_f32 ? (double)nextafterf((float)x, 0) : nextafter(x, 0);
  double above = is_f32 ? (double)nextafterf((float)x, INFINITY) : nextafter(x, INFINITY);
  long double distance = read - (long double)x;
  long double room = distance < 0 ? ((long double)x - below) / 2 : ((long double)above - x) / 2;
  if (distance < 0)
    distance = -distance;
  *out_known =
      isfinite(above) && (distance < room * (1 - 0x1p-8L) || distance > room * (1 + 0x1p-8L));
  return distance < room;
}

int hsc__format_round_trip(double value, bool is_f32, char *out) {
  int few = is_f32 ? 6 : 15;
  int many = is_f32 ? 9 : 17;
  int exponent;
  uint64_t number;
  if (value == 0 || !isfinite(value) || !round_to_digits(fabs(value), few, &number, &exponent))
    goto slow;
  bool known;
  bool same = reads_back(fabs(value), is_f32, number, exponent, few, &known);
  if (!known)
    goto slow;
  return same ? write_g(signbit(value), number, exponent, few, out)
              : hsc__format_g(value, many, out);
slow:;
  int size = snprintf(out, 40, "%.*g", few, value);
  bool equal = is_f32 ? strtof(out, NULL) == (float)value : strtod(out, NULL) == value;
  return equal ? size : snprintf(out, 40, "%.*g", many, value);
}
