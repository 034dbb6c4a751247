// hlo_text_lex.c - characters, names, numbers, strings and errors of HLO text.
//
// The text copy ends with a NUL byte, so that the cursor may look one character ahead without a
// bound; a NUL inside the text is an error like any other character that nothing expects.
#include "formats/common/formats_internal.h"
#include "formats/hlo_text/hlo_text_internal.h"

#include <stdlib.h>

// NESTING: characters that a raw value stops to look at
enum { NAME = 1, DIGIT = 2, SPACE = 4, NESTING = 8 };
static const uint8_t classes[256] = {['0' ... '9'] = NAME | DIGIT,
                                     ['a' ... 'z'] = NAME,
                                     ['A' ... 'Z'] = NAME,
                                     ['_'] = NAME,
                                     ['-'] = NAME,
                                     ['.'] = NAME,
                                     [' '] = SPACE,
                                     ['\t'] = SPACE,
                                     ['\n'] = SPACE | NESTING,
                                     ['\r'] = SPACE,
                                     ['{'] = NESTING,
                                     ['}'] = NESTING,
                                     ['('] = NESTING,
                                     [')'] = NESTING,
                                     ['['] = NESTING,
                                     [']'] = NESTING,
                                     ['"'] = NESTING,
                                     [','] = NESTING,
                                     [0] = NESTING};

static inline int class_of(char c) {
  return classes[(unsigned char)c];
}
bool hsc__hlo_is_name_char(char c) {
  return (class_of(c) & NAME) != 0;
}

bool hsc__hlo_error(hsc__hlo_parser *p, const char *at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  hsc__text_error(&p->status, p->path, p->begin, p->end, at, format, args);
  va_end(args);
  return false;
}

bool hsc__hlo_expected(hsc__hlo_parser *p, const char *what) {
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  if (at >= p->end)
    return hsc__hlo_error(p, at, "expected %s, found the end of the text", what);
  const char *end = at;
  if (*end == '%')
    end++;
  while (hsc__hlo_is_name_char(*end) && end - at < 40)
    end++;
  if (end == at)
    end++;
  if ((unsigned char)*at < 32)
    return hsc__hlo_error(p, at, "expected %s, found byte 0x%02x", what, (unsigned char)*at);
  return hsc__hlo_error(p, at, "expected %s, found '%.*s'", what, (int)(end - at), at);
}

bool hsc__hlo_out_of_memory(hsc__hlo_parser *p) {
  if (!p->status)
    p->status = hsc_status_out_of_memory();
  return false;
}

void hsc__hlo_skip_space(hsc__hlo_parser *p) {
  const char *c = p->p;
  for (;;) {
    while (class_of(*c) & SPACE)
      c++;
    if (*c != '/')
      break;
    if (c[1] == '*') {
      const char *end = strstr(c + 2, "*/");
      if (!end)
        break;
      c = end + 2;
    } else if (c[1] == '/') {
      while (*c && *c != '\n')
        c++;
    } else {
      break;
    }
  }
  p->p = c;
}

bool hsc__hlo_peek(hsc__hlo_parser *p, char c) {
  if (*p->p == c)
    return true;
  hsc__hlo_skip_space(p);
  return *p->p == c;
}

bool hsc__hlo_accept(hsc__hlo_parser *p, char c) {
  if (!hsc__hlo_peek(p, c))
    return false;
  p->p++;
  return true;
}

bool hsc__hlo_expect(hsc__hlo_parser *p, char c, const char *where) {
  if (hsc__hlo_accept(p, c))
    return true;
  char what[128];
  snprintf(what, sizeof what, "'%c' %s", c, where);
  return hsc__hlo_expected(p, what);
}

bool hsc__hlo_accept_word(hsc__hlo_parser *p, const char *word) {
  hsc__hlo_skip_space(p);
  size_t length = strlen(word);
  if (strncmp(p->p, word, length) != 0 || hsc__hlo_is_name_char(p->p[length]))
    return false;
  p->p += length;
  return true;
}

bool hsc__hlo_word(hsc__hlo_parser *p, const char *what, hsc_view *out_word) {
  hsc__hlo_skip_space(p);
  const char *c = p->p;
  while (class_of(*c) & NAME)
    c++;
  if (c == p->p)
    return hsc__hlo_expected(p, what);
  *out_word = (hsc_view){p->p, (size_t)(c - p->p)};
  p->p = c;
  return true;
}

bool hsc__hlo_name(hsc__hlo_parser *p, const char *what, hsc_view *out_name) {
  hsc__hlo_skip_space(p);
  if (*p->p == '%' && hsc__hlo_is_name_char(p->p[1]))
    p->p++;
  return hsc__hlo_word(p, what, out_name);
}

bool hsc__hlo_int(hsc__hlo_parser *p, int64_t *out_value) {
  hsc__hlo_skip_space(p);
  const char *c = p->p;
  bool negative = *c == '-';
  if (negative || *c == '+')
    c++;
  if (!(class_of(*c) & DIGIT))
    return hsc__hlo_expected(p, "an integer");
  uint64_t value = 0;
  for (; class_of(*c) & DIGIT; c++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
      return hsc__hlo_error(p, p->p, "the integer does not fit in 64 bits");
  if (value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
    return hsc__hlo_error(p, p->p, "the integer does not fit in 64 signed bits");
  *out_value = negative ? (int64_t)(0 - value) : (int64_t)value;
  p->p = c;
  return true;
}

bool hsc__hlo_int32(hsc__hlo_parser *p, int32_t *out_value) {
  int64_t value;
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  if (!hsc__hlo_int(p, &value))
    return false;
  if (value < INT32_MIN || value > INT32_MAX)
    return hsc__hlo_error(p, at, "the integer %lld does not fit in 32 bits", (long long)value);
  *out_value = (int32_t)value;
  return true;
}

bool hsc__hlo_bool(hsc__hlo_parser *p, bool *out_value) {
  if (hsc__hlo_accept_word(p, "true") || hsc__hlo_accept_word(p, "1")) {
    *out_value = true;
    return true;
  }
  if (hsc__hlo_accept_word(p, "false") || hsc__hlo_accept_word(p, "0")) {
    *out_value = false;
    return true;
  }
  return hsc__hlo_expected(p, "true or false");
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

static void append_utf8(hsc_bytes *out, uint32_t code) {
  if (code < 0x80) {
    hsc_bytes_append_char(out, (char)code);
  } else if (code < 0x800) {
    hsc_bytes_append_char(out, (char)(0xc0 | (code >> 6)));
    hsc_bytes_append_char(out, (char)(0x80 | (code & 63)));
  } else if (code < 0x10000) {
    hsc_bytes_append_char(out, (char)(0xe0 | (code >> 12)));
    hsc_bytes_append_char(out, (char)(0x80 | ((code >> 6) & 63)));
    hsc_bytes_append_char(out, (char)(0x80 | (code & 63)));
  } else {
    hsc_bytes_append_char(out, (char)(0xf0 | (code >> 18)));
    hsc_bytes_append_char(out, (char)(0x80 | ((code >> 12) & 63)));
    hsc_bytes_append_char(out, (char)(0x80 | ((code >> 6) & 63)));
    hsc_bytes_append_char(out, (char)(0x80 | (code & 63)));
  }
}

// C escapes, as absl::CUnescape reads them: octal up to three digits, \x with one or more, \u and
// \U.
static const char *append_escape(hsc_bytes *out, const char *c) {
  static const char from[] = "abfnrtv\\'\"?/";
  static const char to[] = "\a\b\f\n\r\t\v\\'\"?/";
  const char *known = *c ? strchr(from, *c) : NULL;
  if (known) {
    hsc_bytes_append_char(out, to[known - from]);
    return c + 1;
  }
  if (*c >= '0' && *c <= '7') {
    int value = 0;
    for (int i = 0; i < 3 && *c >= '0' && *c <= '7'; i++)
      value = value * 8 + (*c++ - '0');
    if (value > 255)
      return NULL;
    hsc_bytes_append_char(out, (char)value);
    return c;
  }
  if (*c == 'x' && hex_value(c[1]) >= 0) {
    int value = 0;
    for (c++; hex_value(*c) >= 0; c++) {
      value = value * 16 + hex_value(*c);
      if (value > 255)
        return NULL;
    }
    hsc_bytes_append_char(out, (char)value);
    return c;
  }
  if (*c == 'u' || *c == 'U') {
    int digits = *c == 'u' ? 4 : 8;
    uint32_t value = 0;
    c++;
    for (int i = 0; i < digits; i++, c++) {
      if (hex_value(*c) < 0)
        return NULL;
      value = value * 16 + (uint32_t)hex_value(*c);
    }
    if (value > 0x10ffff)
      return NULL;
    append_utf8(out, value);
    return c;
  }
  return NULL;
}

bool hsc__hlo_string_to(hsc__hlo_parser *p, hsc_bytes *out_bytes) {
  hsc_bytes_reset(out_bytes);
  hsc__hlo_skip_space(p);
  if (*p->p != '"')
    return hsc__hlo_expected(p, "a string in double quotes");
  const char *start = p->p;
  const char *c = start + 1;
  for (;;) {
    const char *run = c;
    while (*c && *c != '"' && *c != '\\')
      c++;
    hsc_bytes_append(out_bytes, run, (size_t)(c - run));
    if (*c == '"')
      break;
    if (!*c)
      return hsc__hlo_error(
          p, start,
          c >= p->end ? "the string has no closing quote" : "there is a NUL byte in the string");
    const char *next = append_escape(out_bytes, c + 1);
    if (!next)
      return hsc__hlo_error(p, c, "unknown escape in the string");
    c = next;
  }
  p->p = c + 1;
  return out_bytes->failed ? hsc__hlo_out_of_memory(p) : true;
}

bool hsc__hlo_string(hsc__hlo_parser *p, const char **out_text) {
  hsc__hlo_skip_space(p);
  if (*p->p == '"') {  // most strings have no escapes
    const char *c = p->p + 1;
    while (*c && *c != '"' && *c != '\\')
      c++;
    if (*c == '"') {
      *out_text = hsc_arena_strndup(p->arena, p->p + 1, (size_t)(c - p->p - 1));
      p->p = c + 1;
      return *out_text ? true : hsc__hlo_out_of_memory(p);
    }
  }
  if (!hsc__hlo_string_to(p, &p->text))
    return false;
  *out_text = hsc_arena_strndup(p->arena, hsc_bytes_text(&p->text), p->text.size);
  return *out_text ? true : hsc__hlo_out_of_memory(p);
}

// Past the closing quote; NULL when there is none.
static const char *skip_string(const char *c) {
  for (c++; *c && *c != '"'; c++)
    if (*c == '\\' && c[1])
      c++;
  return *c ? c + 1 : NULL;
}

// Walks over a value with balanced brackets. `stop_at_comma`: a comma, newline or closing bracket
// at depth 0 ends it; else the bracket that closes the first one does.
static bool walk_balanced(hsc__hlo_parser *p, bool stop_at_comma, hsc_view *out_raw) {
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  const char *c = start;
  char stack[HSC__TEXT_MAX_DEPTH];
  int depth = 0;
  for (;;) {
    while (!(class_of(*c) & NESTING))
      c++;
    if (*c == '"') {
      const char *end = skip_string(c);
      if (!end)
        return hsc__hlo_error(p, c, "the string has no closing quote");
      c = end;
    } else if (*c == '{' || *c == '(' || *c == '[') {
      if (depth == HSC__TEXT_MAX_DEPTH)
        return hsc__hlo_error(p, c, "brackets are nested more than %d deep", HSC__TEXT_MAX_DEPTH);
      stack[depth++] = hsc__closing_bracket(*c);
      c++;
    } else if (*c == '}' || *c == ')' || *c == ']') {
      if (depth == 0)
        break;
      if (*c != stack[depth - 1])
        return hsc__hlo_error(p, c, "expected '%c', found '%c'", stack[depth - 1], *c);
      depth--;
      c++;
      if (depth == 0 && !stop_at_comma)
        break;
    } else if (*c == ',' || *c == '\n') {
      if (depth == 0)
        break;
      c++;
    } else {  // NUL
      if (depth > 0)
        return hsc__hlo_error(
            p, start,
            c >= p->end ? "'%c' is missing: the text ends" : "there is a NUL byte before '%c'",
            stack[depth - 1]);
      break;
    }
  }
  const char *end = c;
  while (end > start && (class_of(end[-1]) & SPACE))
    end--;
  if (end == start)
    return hsc__hlo_expected(p, "a value");
  *out_raw = (hsc_view){start, (size_t)(end - start)};
  p->p = c;
  return true;
}

bool hsc__hlo_raw_value(hsc__hlo_parser *p, hsc_view *out_raw) {
  return walk_balanced(p, true, out_raw);
}

bool hsc__hlo_braced_raw(hsc__hlo_parser *p, hsc_view *out_raw) {
  if (!hsc__hlo_peek(p, '{'))
    return hsc__hlo_expected(p, "'{'");
  return walk_balanced(p, false, out_raw);
}

bool hsc__hlo_dims(hsc__hlo_parser *p, hsc_dims *out_dims) {
  int64_t small[16];
  int64_t *values = small;
  int count = 0;
  int capacity = 16;
  bool ok = hsc__hlo_expect(p, '{', "before the list of dimensions");
  if (ok && !hsc__hlo_accept(p, '}')) {
    do {
      if (!HSC_GROW_IN(p->arena, values, count, capacity))
        return hsc__hlo_out_of_memory(p);
      ok = hsc__hlo_int(p, &values[count]);
      count += ok;
    } while (ok && hsc__hlo_accept(p, ','));
    ok = ok && hsc__hlo_expect(p, '}', "or ',' in the list of dimensions");
  }
  if (!ok)
    return false;
  out_dims->count = count;
  out_dims->v = count ? hsc_arena_copy(p->arena, values, sizeof *values * (size_t)count) : NULL;
  return !count || out_dims->v ? true : hsc__hlo_out_of_memory(p);
}

bool hsc__hlo_enter(hsc__hlo_parser *p) {
  if (p->depth >= HSC__TEXT_MAX_DEPTH)
    return hsc__hlo_error(p, p->p, "nested more than %d deep", HSC__TEXT_MAX_DEPTH);
  p->depth++;
  return true;
}

hsc_status *hsc__hlo_parser_init(hsc__hlo_parser **out_parser, hsc_arena *arena, hsc_view text) {
  if (text.size > INT32_MAX)
    return HSC_ERR(INVALID_ARGUMENT, "the text has %zu bytes; HLO text is read up to 2 GiB",
                   text.size);
  char *copy = hsc_alloc(text.size + 1);
  hsc__hlo_parser *p = hsc_alloc(sizeof *p);
  if (!copy || !p) {
    hsc_free(copy);
    hsc_free(p);
    return hsc_status_out_of_memory();
  }
  if (text.size)
    memcpy(copy, text.data, text.size);
  p->begin = p->p = p->line_start = copy;
  p->end = copy + text.size;
  p->line = 1;
  p->scope = p->next_scope = 1;
  p->arena = arena;
  *out_parser = p;
  return NULL;
}

hsc_status *hsc__hlo_parser_deinit(hsc__hlo_parser *p) {
  hsc_status *status = p->status;
  hsc_map_destroy(p->computations);
  hsc_bytes_deinit(&p->text);
  hsc_free(p->names);
  hsc_free(p->operand_fixups.items);
  hsc_free(p->called_fixups.items);
  hsc_free(p->scratch_instrs);
  hsc_free((char *)p->begin);
  hsc_free(p);
  return status;
}
