// text_scan.c - a small reader for the texts that the IR keeps (shardings, groups, aliases), used
// when they are written in binary formats.
#include "base/text/text.h"
#include "formats/hlo_proto/hlo_proto_internal.h"

static void skip_space(hsc__scan *scan) {
  while (scan->p < scan->end &&
         (*scan->p == ' ' || *scan->p == '\n' || *scan->p == '\t' || *scan->p == '\r'))
    scan->p++;
}

bool hsc__scan_peek(hsc__scan *scan, char c) {
  skip_space(scan);
  return scan->p < scan->end && *scan->p == c;
}

bool hsc__scan_char(hsc__scan *scan, char c) {
  if (!hsc__scan_peek(scan, c))
    return false;
  scan->p++;
  return true;
}

static bool is_ident_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '-';
}

bool hsc__scan_word(hsc__scan *scan, const char *word) {
  skip_space(scan);
  size_t length = strlen(word);
  if ((size_t)(scan->end - scan->p) < length || memcmp(scan->p, word, length) != 0)
    return false;
  if (scan->p + length < scan->end && is_ident_char(scan->p[length]) &&
      is_ident_char(word[length - 1]))
    return false;
  scan->p += length;
  return true;
}

bool hsc__scan_int(hsc__scan *scan, int64_t *out_value) {
  skip_space(scan);
  const char *p = scan->p;
  bool negative = p < scan->end && *p == '-';
  if (negative)
    p++;
  if (p == scan->end || *p < '0' || *p > '9')
    return false;
  uint64_t value = 0;
  for (; p < scan->end && *p >= '0' && *p <= '9'; p++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
      return false;
  if (value > (uint64_t)INT64_MAX)
    return false;
  *out_value = negative ? -(int64_t)value : (int64_t)value;
  scan->p = p;
  return true;
}

hsc_view hsc__scan_ident(hsc__scan *scan) {
  skip_space(scan);
  const char *start = scan->p;
  while (scan->p < scan->end && is_ident_char(*scan->p))
    scan->p++;
  return (hsc_view){start, (size_t)(scan->p - start)};
}

bool hsc__scan_done(hsc__scan *scan) {
  skip_space(scan);
  return scan->p >= scan->end;
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

bool hsc__scan_string(hsc__scan *scan, hsc_bytes *out_text) {
  hsc_bytes_reset(out_text);
  if (!hsc__scan_char(scan, '"'))
    return false;
  while (scan->p < scan->end && *scan->p != '"') {
    char c = *scan->p++;
    if (c != '\\') {
      hsc_bytes_append_char(out_text, c);
      continue;
    }
    if (scan->p == scan->end)
      return false;
    c = *scan->p++;
    static const char from[] = "abfnrtv";
    static const char to[] = "\a\b\f\n\r\t\v";
    const char *known = strchr(from, c);
    if (known && c) {
      hsc_bytes_append_char(out_text, to[known - from]);
    } else if (c >= '0' && c <= '7') {
      int value = c - '0';
      for (int i = 0; i < 2 && scan->p < scan->end && *scan->p >= '0' && *scan->p <= '7'; i++)
        value = value * 8 + (*scan->p++ - '0');
      hsc_bytes_append_char(out_text, (char)value);
    } else if (c == 'x') {
      int value = 0;
      for (int i = 0; i < 2 && scan->p < scan->end && hex_value(*scan->p) >= 0; i++)
        value = value * 16 + hex_value(*scan->p++);
      hsc_bytes_append_char(out_text, (char)value);
    } else {
      hsc_bytes_append_char(out_text, c);
    }
  }
  return hsc__scan_char(scan, '"');
}

bool hsc__scan_ints(
    hsc__scan *scan, char open, char close, int64_t *values, int capacity, int *out_count) {
  int count = 0;
  if (!hsc__scan_char(scan, open))
    return false;
  while (!hsc__scan_char(scan, close)) {
    if (count == capacity || !hsc__scan_int(scan, &values[count]))
      return false;
    count++;
    if (!hsc__scan_char(scan, ',') && !hsc__scan_peek(scan, close))
      return false;
  }
  *out_count = count;
  return true;
}

void hsc__append_quoted(hsc_bytes *out, hsc_view text) {
  hsc_bytes_append_char(out, '"');
  hsc_text_escape(text, out);
  hsc_bytes_append_char(out, '"');
}
