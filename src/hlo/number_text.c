// number_text.c - integers as decimal digits, fast: the printer writes millions of them.
#include "hlo/hlo_internal.h"

static const char pairs[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869"
    "707172737475767778798081828384858687888990919293949596979899";

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
  if (value >= 0) return hsc__format_uint((uint64_t)value, out);
  *out = '-';
  return 1 + hsc__format_uint(-(uint64_t)value, out + 1);
}
