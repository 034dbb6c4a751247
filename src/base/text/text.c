// text.c - views of text, prefixes and suffixes, and the nearest name for "did you mean".
#include "base/core/bytes.h"
#include "base/text/text.h"
#include "base/text/view_find.h"

hsc_view hsc_view_of(const char *text) {
  return text ? (hsc_view){text, strlen(text)} : (hsc_view){"", 0};
}

bool hsc_view_equals(hsc_view a, hsc_view b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool hsc_view_equals_text(hsc_view a, const char *text) {
  return hsc_view_equals(a, hsc_view_of(text));
}

int hsc_view_shown(hsc_view view, int most) {
  return view.size < (size_t)most ? (int)view.size : most;
}

const char *hsc_view_find(hsc_view view, const char *text) {
  return view.size ? memmem(view.data, view.size, text, strlen(text)) : NULL;
}

const char *hsc_plural(double count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

bool hsc_starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool hsc_ends_with(const char *text, const char *suffix) {
  size_t length = strlen(text);
  size_t tail = strlen(suffix);
  return length >= tail && memcmp(text + length - tail, suffix, tail) == 0;
}

const char *hsc_path_file(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

enum { MAX_NAME = 64 };

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost 1
// each. Both lengths are at most MAX_NAME.
static int edit_distance(const char *a, int a_length, const char *b, int b_length) {
  int rows[3][MAX_NAME + 1];
  int *before = rows[0];
  int *last = rows[1];
  int *row = rows[2];
  for (int j = 0; j <= b_length; j++)
    last[j] = j;
  for (int i = 1; i <= a_length; i++) {
    row[0] = i;
    for (int j = 1; j <= b_length; j++) {
      int best = last[j - 1] + (a[i - 1] != b[j - 1]);
      if (last[j] + 1 < best)
        best = last[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      row[j] = best;
    }
    int *oldest = before;
    before = last;
    last = row;
    row = oldest;
  }
  return last[b_length];
}

// The nearest; of several as near, the one that begins as the text does, for what is typed is cut
// short more often than it is begun wrongly.
const char *hsc_did_you_mean(const char *text, const char *const *candidates, size_t count) {
  size_t length = strlen(text);
  if (length == 0 || length > MAX_NAME)
    return NULL;
  int allowed = ((int)length + 2) / 3;
  const char *nearest = NULL;
  int nearest_distance = allowed + 1;
  for (size_t i = 0; i < count; i++) {
    size_t candidate_length = strlen(candidates[i]);
    if (candidate_length > MAX_NAME)
      continue;
    int distance = edit_distance(text, (int)length, candidates[i], (int)candidate_length);
    bool begins = !strncmp(candidates[i], text, length);
    if (distance < nearest_distance ||
        (distance == nearest_distance && distance <= allowed && begins)) {
      nearest = candidates[i];
      nearest_distance = distance;
    }
  }
  return nearest;
}

size_t hsc_text_control(hsc_view text, size_t at) {
  const unsigned char *c = (const unsigned char *)text.data + at;
  size_t left = text.size - at;
  if (c[0] < 0x20)
    return c[0] != '\n' && c[0] != '\t';
  if (c[0] == 0x7f)
    return 1;
  if (c[0] == 0xc2 && left > 1 && (c[1] & 0xe0) == 0x80)  // U+0080 to U+009F
    return 2;
  if (c[0] != 0xe2 || left < 3)
    return 0;
  bool turns = c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae;     // U+202A to U+202E
  bool isolates = c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;  // U+2066 to U+2069
  return turns || isolates ? 3 : 0;
}

// The bytes of a sequence of colours that begins here; 0: none does.
static size_t color_bytes(hsc_view text, size_t at) {
  size_t end = at + 2;
  if (text.size - at < 3 || text.data[at] != 0x1b || text.data[at + 1] != '[')
    return 0;
  while (end < text.size && strchr("0123456789;", text.data[end]) && text.data[end])
    end++;
  return end < text.size && text.data[end] == 'm' ? end + 1 - at : 0;
}

void hsc_text_plain(hsc_view text, bool colors, hsc_bytes *out) {
  size_t start = 0;
  for (size_t i = 0; i < text.size;) {
    size_t control = hsc_text_control(text, i);
    size_t color = control && colors ? color_bytes(text, i) : 0;
    if (!control || color) {
      i += color ? color : 1;
      continue;
    }
    hsc_bytes_append(out, text.data + start, i - start);
    for (size_t end = i + control; i < end; i++)
      hsc_bytes_printf(out, "\\x%02x", (unsigned char)text.data[i]);
    start = i;
  }
  hsc_bytes_append(out, text.data + start, text.size - start);
}

void hsc_text_escape(hsc_view text, hsc_bytes *out) {
  size_t start = 0;
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    bool plain = c >= 0x20 && c < 0x7f;
    if (plain && c != '"' && c != '\'' && c != '\\')
      continue;
    hsc_bytes_append(out, text.data + start, i - start);
    start = i + 1;
    char escape[4] = {'\\', (char)c};
    size_t size = 2;
    if (c == '\n')
      escape[1] = 'n';
    else if (c == '\r')
      escape[1] = 'r';
    else if (c == '\t')
      escape[1] = 't';
    else if (!plain) {
      escape[1] = (char)('0' + (c >> 6));
      escape[2] = (char)('0' + (c >> 3 & 7));
      escape[3] = (char)('0' + (c & 7));
      size = 4;
    }
    hsc_bytes_append(out, escape, size);
  }
  hsc_bytes_append(out, text.data + start, text.size - start);
}
