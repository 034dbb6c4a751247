// cache_why_rows.c - the parts of two cache keys side by side: what differs, and what is missing.
#include "lab/cache_why/cache_why_internal.h"

void hsc__why_put(hsc_bytes *text, const char *name, hsc_view value) {
  hsc_bytes_printf(text, "%s\t%.*s\n", name, (int)value.size, value.data);
}

const char *hsc__why_value(const char *text,
                           const char *name,
                           size_t name_length,
                           size_t *out_length) {
  for (const char *at = text; *at;) {
    size_t line = strcspn(at, "\n");
    size_t tab = strcspn(at, "\t");
    if (tab == name_length && !memcmp(at, name, tab)) {
      *out_length = line - tab - 1;
      return at + tab + 1;
    }
    at += line + (at[line] == '\n');
  }
  return NULL;
}

static bool has_word(hsc_view text, const char *word, size_t length) {
  for (size_t at = 0; at + length <= text.size;) {
    size_t end = at;
    while (end < text.size && text.data[end] != ' ')
      end++;
    if (end - at == length && !memcmp(text.data + at, word, length))
      return true;
    at = end + 1;
  }
  return false;
}

// Of two long lists of words only what the other has not is worth reading.
static void add_value(hsc_table *table,
                      const char *value,
                      size_t length,
                      const char *other,
                      size_t other_length,
                      bool equal) {
  enum { SHORT = 120 };
  if (!value) {
    hsc_table_missing(table);
  } else if (length <= SHORT || !memchr(value, ' ', length) || (!equal && !other)) {
    hsc_table_printf(table, "%.*s", (int)length, value);
  } else {
    hsc_bytes words = {0};
    int count = 0;
    int same = 0;
    for (size_t at = 0; at < length;) {
      size_t word = 0;
      while (at + word < length && value[at + word] != ' ')
        word++;
      bool both = other && has_word((hsc_view){other, other_length}, value + at, word);
      if (word && !both)
        hsc_bytes_printf(&words, "%.*s ", (int)word, value + at);
      count += word > 0;
      same += word > 0 && both;
      at += word + 1;
    }
    hsc_bytes_printf(&words, words.size ? "and %d more that both have" : "%d words",
                     words.size ? same : count);
    hsc_table_text(table, hsc_bytes_text(&words));
    hsc_bytes_deinit(&words);
  }
}

static void add_row(hsc_table *table,
                    const char *program,
                    const char *name,
                    size_t name_length,
                    hsc_view a,
                    hsc_view b,
                    bool *same) {
  bool equal = a.data && b.data && hsc_view_equals(a, b);
  hsc_table_row(table);
  if (program)
    hsc_table_text(table, program);
  hsc_table_printf(table, "%.*s", (int)name_length, name);
  add_value(table, a.data, a.size, b.data, b.size, equal);
  add_value(table, b.data, b.size, a.data, a.size, equal);
  hsc_table_text(table, equal ? "yes" : "NO");
  *same &= equal;
}

void hsc__why_rows(
    hsc_table *table, const char *program, const char *first, const char *second, bool *same) {
  for (int pass = 0; pass < 2; pass++) {  // all of the first, then what only the second has
    const char *from = pass ? second : first;
    const char *other = pass ? first : second;
    for (const char *at = from; *at;) {
      size_t line = strcspn(at, "\n");
      size_t tab = strcspn(at, "\t");
      size_t length = 0;
      const char *value = hsc__why_value(other, at, tab, &length);
      hsc_view here = {at + tab + 1, line - tab - 1};
      hsc_view there = {value, length};
      if (!pass)
        add_row(table, program, at, tab, here, there, same);
      else if (!value)
        add_row(table, program, at, tab, there, here, same);
      at += line + (at[line] == '\n');
    }
  }
}
