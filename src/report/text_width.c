// text_width.c - how many columns of a terminal a text takes. The C library's wcwidth depends on
// the locale of the process, which is the host's; this does not. Ranges: Unicode 15,
// EastAsianWidth.txt (W and F) and the combining marks of the common scripts.
#include "report/table.h"

static bool in_ranges(uint32_t c, const uint32_t (*ranges)[2], size_t count) {
  for (size_t i = 0; i < count; i++)
    if (c >= ranges[i][0] && c <= ranges[i][1])
      return true;
  return false;
}

static int rune_width(uint32_t c) {
  static const uint32_t zero[][2] = {{0x300, 0x36f},   {0x200b, 0x200f}, {0x1ab0, 0x1aff},
                                     {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                                     {0xfe20, 0xfe2f}};
  static const uint32_t wide[][2] = {
      {0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},  {0x4e00, 0x9fff},
      {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe4f},  {0xff00, 0xff60},
      {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  if (c < 0x300)
    return c >= 0x20 && c != 0x7f;
  if (in_ranges(c, zero, HSC_COUNT_OF(zero)))
    return 0;
  return in_ranges(c, wide, HSC_COUNT_OF(wide)) ? 2 : 1;
}

int hsc_text_width(const char *text, size_t size) {
  int width = 0;
  const unsigned char *at = (const unsigned char *)text;
  const unsigned char *end = at + size;
  while (at < end) {
    uint32_t c = *at++;
    if (c < 0x80) {
      width += c >= 0x20 && c != 0x7f;
      continue;
    }
    int following;
    if (c < 0xc0 || c >= 0xf8)
      following = 0;
    else if (c < 0xe0)
      following = 1;
    else if (c < 0xf0)
      following = 2;
    else
      following = 3;
    bool broken = c >= 0x80 && following == 0;  // shown as one replacement character
    if (following)
      c &= 0x3f >> following;
    for (; following > 0; following--) {
      broken = broken || at == end || (*at & 0xc0) != 0x80;
      if (broken)
        break;
      c = c << 6 | (*at++ & 0x3f);
    }
    width += broken ? 1 : rune_width(c);
  }
  return width;
}

void hsc_text_wrap(const char *text, int indent, int width, hsc_bytes *out) {
  int at = indent;
  bool first = true;
  while (*text) {
    if (*text == '\n') {
      hsc_bytes_append_char(out, '\n');
      for (int i = 0; i < indent && text[1] != '\n'; i++)
        hsc_bytes_append_char(out, ' ');
      at = indent;
      first = true;
      text++;
      continue;
    }
    size_t blanks = strspn(text, " ");
    size_t length = strcspn(text + blanks, " \n");
    int word = hsc_text_width(text + blanks, length);
    if (!first && at + 1 + word > width) {
      hsc_bytes_append_char(out, '\n');
      for (int i = 0; i < indent; i++)
        hsc_bytes_append_char(out, ' ');
      at = indent;
      first = true;
    }
    if (!first) {
      hsc_bytes_append_char(out, ' ');
      at++;
    }
    hsc_bytes_append(out, text + blanks, length);
    at += word;
    first = false;
    text += blanks + length;
  }
  hsc_bytes_append_char(out, '\n');
}
