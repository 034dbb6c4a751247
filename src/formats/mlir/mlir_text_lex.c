// mlir_text_lex.c - characters, names, numbers, strings and errors of MLIR text
// (mlir.llvm.org/docs/LangRef, "Common syntax").
#include "formats/common/formats_internal.h"
#include "formats/mlir/mlir_text_internal.h"

bool hsc__mlir_error(hsc__mlir_parser *p, const char *at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  hsc__text_error(&p->status, p->path, p->begin, p->end, at, format, args);
  va_end(args);
  return false;
}

bool hsc__mlir_unsupported(hsc__mlir_parser *p, const char *at, const char *what) {
  if (!what)
    return hsc__mlir_out_of_memory(p);
  hsc__mlir_error(p, at, "%s", what);
  p->status = hsc__text_unsupported(p->status);
  return false;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_ident_char(char c) {
  return is_letter(c) || is_digit(c) || c == '$' || c == '.';
}

bool hsc__mlir_expected(hsc__mlir_parser *p, const char *what) {
  hsc__mlir_skip(p);
  const char *at = p->p;
  const char *end = at;
  if (at >= p->end)
    return hsc__mlir_error(p, at, "expected %s, found the end of the text", what);
  if (*end == '%' || *end == '@' || *end == '#' || *end == '!' || *end == '^')
    end++;
  while (is_ident_char(*end) && end - at < 40)
    end++;
  if (end == at)
    end++;
  if ((unsigned char)*at < 32)
    return hsc__mlir_error(p, at, "expected %s, found byte 0x%02x", what, (unsigned char)*at);
  return hsc__mlir_error(p, at, "expected %s, found '%.*s'", what, (int)(end - at), at);
}

bool hsc__mlir_out_of_memory(hsc__mlir_parser *p) {
  if (!p->status)
    p->status = hsc_status_out_of_memory();
  return false;
}

void hsc__mlir_skip(hsc__mlir_parser *p) {
  const char *c = p->p;
  for (;;) {
    while (*c == ' ' || *c == '\n' || *c == '\t' || *c == '\r')
      c++;
    if (c[0] != '/' || c[1] != '/')
      break;
    while (*c && *c != '\n')
      c++;
  }
  p->p = c;
}

bool hsc__mlir_peek(hsc__mlir_parser *p, char c) {
  if (*p->p == c)
    return true;
  hsc__mlir_skip(p);
  return *p->p == c;
}

bool hsc__mlir_accept(hsc__mlir_parser *p, char c) {
  if (!hsc__mlir_peek(p, c))
    return false;
  p->p++;
  return true;
}

bool hsc__mlir_accept_text(hsc__mlir_parser *p, const char *text) {
  hsc__mlir_skip(p);
  size_t length = strlen(text);
  if (strncmp(p->p, text, length) != 0)
    return false;
  p->p += length;
  return true;
}

bool hsc__mlir_accept_word(hsc__mlir_parser *p, const char *word) {
  hsc__mlir_skip(p);
  size_t length = strlen(word);
  if (strncmp(p->p, word, length) != 0 || is_ident_char(p->p[length]))
    return false;
  p->p += length;
  return true;
}

bool hsc__mlir_expect(hsc__mlir_parser *p, const char *text) {
  if (is_letter(text[0]) ? hsc__mlir_accept_word(p, text) : hsc__mlir_accept_text(p, text))
    return true;
  char what[64];
  snprintf(what, sizeof what, "'%s'", text);
  return hsc__mlir_expected(p, what);
}

bool hsc__mlir_ident(hsc__mlir_parser *p, const char *what, hsc_view *out) {
  hsc__mlir_skip(p);
  const char *c = p->p;
  if (!is_letter(*c))
    return hsc__mlir_expected(p, what);
  while (is_ident_char(*c))
    c++;
  *out = (hsc_view){p->p, (size_t)(c - p->p)};
  p->p = c;
  return true;
}

bool hsc__mlir_suffix(hsc__mlir_parser *p, const char *what, hsc_view *out) {
  const char *c = p->p;
  while (is_ident_char(*c) || *c == '-')
    c++;
  // "-" is a part of the name, "->" is not.
  if (c > p->p && c[-1] == '-' && *c == '>')
    c--;
  if (c == p->p)
    return hsc__mlir_expected(p, what);
  *out = (hsc_view){p->p, (size_t)(c - p->p)};
  p->p = c;
  return true;
}

bool hsc__mlir_int(hsc__mlir_parser *p, int64_t *out) {
  hsc__mlir_skip(p);
  const char *c = p->p;
  bool negative = *c == '-';
  if (negative)
    c++;
  if (!is_digit(*c))
    return hsc__mlir_expected(p, "an integer");
  uint64_t value = 0;
  if (c[0] == '0' && c[1] == 'x') {
    int digits = 0;
    for (c += 2;; c++, digits++) {
      int digit;
      if (is_digit(*c))
        digit = *c - '0';
      else if (*c >= 'a' && *c <= 'f')
        digit = *c - 'a' + 10;
      else if (*c >= 'A' && *c <= 'F')
        digit = *c - 'A' + 10;
      else
        digit = -1;
      if (digit < 0)
        break;
      if (digits == 16)
        return hsc__mlir_error(p, p->p, "the integer does not fit in 64 bits");
      value = value << 4 | (uint64_t)digit;
    }
    if (digits == 0)
      return hsc__mlir_expected(p, "hexadecimal digits");
  } else {
    for (; is_digit(*c); c++)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
        return hsc__mlir_error(p, p->p, "the integer does not fit in 64 bits");
  }
  *out = negative ? (int64_t)(0 - value) : (int64_t)value;
  p->p = c;
  return true;
}

static int hex_digit(char c) {
  if (is_digit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

bool hsc__mlir_string(hsc__mlir_parser *p, hsc_view *out) {
  hsc__mlir_skip(p);
  if (*p->p != '"')
    return hsc__mlir_expected(p, "a string in double quotes");
  const char *start = p->p;
  const char *c = start + 1;
  while (*c && *c != '"' && *c != '\\')
    c++;
  if (*c == '"') {  // without escapes it stays where it is
    *out = (hsc_view){start + 1, (size_t)(c - start - 1)};
    p->p = c + 1;
    return true;
  }
  hsc_bytes_reset(&p->text);
  for (c = start + 1; *c && *c != '"'; c++) {
    char value = *c;
    if (value == '\\') {
      c++;
      if (*c == 'n')
        value = '\n';
      else if (*c == 't')
        value = '\t';
      else if (*c == '"' || *c == '\\')
        value = *c;
      else if (hex_digit(c[0]) >= 0 && hex_digit(c[1]) >= 0) {
        value = (char)(hex_digit(c[0]) << 4 | hex_digit(c[1]));
        c++;
      } else
        return hsc__mlir_error(p, c, "unknown escape in the string");
    }
    hsc_bytes_append_char(&p->text, value);
  }
  if (*c != '"')
    return hsc__mlir_error(p, start, "the string has no closing quote");
  p->p = c + 1;
  const char *copy = hsc_arena_strndup(p->arena, hsc_bytes_text(&p->text), p->text.size);
  if (!copy || p->text.failed)
    return hsc__mlir_out_of_memory(p);
  *out = (hsc_view){copy, p->text.size};
  return true;
}

bool hsc__mlir_symbol(hsc__mlir_parser *p, hsc_view *out) {
  if (!hsc__mlir_accept(p, '@'))
    return hsc__mlir_expected(p, "a symbol like @name");
  return *p->p == '"' ? hsc__mlir_string(p, out) : hsc__mlir_suffix(p, "the name of a symbol", out);
}

// The closing quote of the string that begins at c; its end (0) where there is none.
static const char *end_of_string(const char *c) {
  for (c++; *c && *c != '"'; c++)
    if (*c == '\\' && c[1])
      c++;
  return c;
}

static bool opens(char c) {
  return c == '(' || c == '[' || c == '{' || c == '<';
}
static bool closes(char c) {
  return c == ')' || c == ']' || c == '}' || c == '>';
}

bool hsc__mlir_balanced(hsc__mlir_parser *p, hsc_view *out) {
  hsc__mlir_skip(p);
  const char *start = p->p;
  const char *c = start;
  char stack[HSC__MLIR_MAX_DEPTH];
  int depth = 0;
  for (; *c; c++) {
    if (*c == '"') {
      c = end_of_string(c);
      if (!*c)
        return hsc__mlir_error(p, start, "a string has no closing quote");
    } else if (opens(*c)) {
      if (depth == HSC__MLIR_MAX_DEPTH)
        return hsc__mlir_error(p, c, "brackets are nested more than %d deep", HSC__MLIR_MAX_DEPTH);
      stack[depth++] = hsc__closing_bracket(*c);
    } else if (*c == '-' && c[1] == '>') {
      c++;  // an arrow closes nothing
    } else if (depth == 0 && (closes(*c) || *c == ',' || *c == '\n')) {
      break;
    } else if (closes(*c)) {
      if (stack[depth - 1] != *c)
        return hsc__mlir_error(p, c, "expected '%c', found '%c'", stack[depth - 1], *c);
      depth--;
    }
  }
  if (!*c && depth > 0)
    return hsc__mlir_error(p, start, "'%c' is missing", stack[depth - 1]);
  while (c > start && c[-1] == ' ')
    c--;
  if (c == start)
    return hsc__mlir_expected(p, "a value");
  *out = (hsc_view){start, (size_t)(c - start)};
  p->p = c;
  return true;
}

bool hsc__mlir_enter(hsc__mlir_parser *p) {
  if (p->depth >= HSC__MLIR_MAX_DEPTH)
    return hsc__mlir_error(p, p->p, "nested more than %d deep", HSC__MLIR_MAX_DEPTH);
  p->depth++;
  return true;
}

void hsc__mlir_locate(hsc__mlir_parser *p, const char *at, int32_t *out_line, int32_t *out_column) {
  if (at >= p->line_start) {
    for (const char *newline;
         (newline = memchr(p->line_start, '\n', (size_t)(at - p->line_start))) != NULL; p->line++)
      p->line_start = newline + 1;
  }
  *out_line = p->line;
  *out_column = at >= p->line_start ? (int32_t)(at - p->line_start) + 1 : 0;
}
