// textproto.c - see textproto.h.
#include "formats/common/textproto.h"

#include <stdlib.h>

#include "formats/common/formats_internal.h"

enum { MAX_DEPTH = 64 };

typedef struct parser {
  const char *begin, *at, *end, *path;
  int32_t line;
  hsc_arena *arena;
  hsc_status *status;
} parser;

static hsc_status *fail(parser *p, const char *format, ...) HSC_PRINTF(2, 3);
static hsc_status *fail(parser *p, const char *format, ...) {
  hsc_status *status = NULL;
  va_list args;
  va_start(args, format);
  hsc__text_error(&status, p->path, p->begin, p->end, p->at, format, args);
  va_end(args);
  return status;
}

static void skip(parser *p) {
  for (; p->at < p->end; p->at++) {
    if (*p->at == '#')
      while (p->at + 1 < p->end && p->at[1] != '\n')
        p->at++;
    else if (*p->at == '\n')
      p->line++;
    else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r')
      return;
  }
}

static bool take(parser *p, char c) {
  skip(p);
  if (p->at == p->end || *p->at != c)
    return false;
  p->at++;
  return true;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

static hsc_view word(parser *p) {
  skip(p);
  const char *from = p->at;
  while (p->at < p->end && is_word(*p->at))
    p->at++;
  return (hsc_view){from, (size_t)(p->at - from)};
}

static int digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 99;
}

// Digits of `base`, at most `most`.
static int number(parser *p, int base, int most) {
  int value = 0;
  for (int i = 0; i < most && p->at < p->end && digit(*p->at) < base; i++)
    value = value * base + digit(*p->at++);
  return value;
}

// Texts side by side are one text.
static hsc_status *text(parser *p, hsc_view *out_value) {
  hsc_bytes out = {0};
  hsc_status *status = NULL;
  hsc_bytes_append_text(&out, "");
  for (skip(p); !status && p->at < p->end && (*p->at == '"' || *p->at == '\''); skip(p)) {
    char quote = *p->at++;
    while (p->at < p->end && *p->at != quote && *p->at != '\n') {
      char c = *p->at++;
      if (c == '\\' && p->at < p->end) {
        static const char letters[] = "abfnrtv";
        static const char codes[] = "\a\b\f\n\r\t\v";
        const char *known = *p->at ? strchr(letters, *p->at) : NULL;
        c = *p->at;
        if (known) {
          c = codes[known - letters];
          p->at++;
        } else if (c == 'x' || c == 'X') {
          p->at++;
          c = (char)number(p, 16, 2);
        } else if (digit(c) < 8) {
          c = (char)number(p, 8, 3);
        } else {
          p->at++;
        }
      }
      hsc_bytes_append_char(&out, c);
    }
    if (p->at == p->end || *p->at != quote)
      status = fail(p, "expected the text's closing %c", quote);
    else
      p->at++;
  }
  if (!status)
    status = hsc_bytes_status(&out);
  if (!status) {
    *out_value = (hsc_view){hsc_arena_strndup(p->arena, hsc_bytes_text(&out), out.size), out.size};
    status = hsc_arena_status(p->arena);
  }
  hsc_bytes_deinit(&out);
  return status;
}

static hsc_status *fields(parser *p, char close, int depth, const hsc_textproto **out_first);

static hsc_status *value(parser *p, hsc_textproto *field, int depth) {
  skip(p);
  char c = p->at < p->end ? *p->at : 0;
  if (c == '{' || c == '<') {
    p->at++;
    field->is_message = true;
    return fields(p, c == '{' ? '}' : '>', depth + 1, &field->first);
  }
  if (c == '"' || c == '\'') {
    field->is_text = true;
    return text(p, &field->value);
  }
  field->value = word(p);
  return field->value.size
             ? NULL
             : fail(p, "expected a value for %.*s", (int)field->name.size, field->name.data);
}

static hsc_status *add(parser *p,
                       hsc_view name,
                       int32_t line,
                       hsc_textproto **io_last,
                       const hsc_textproto **out_first,
                       int depth) {
  hsc_textproto *field = HSC_NEW(p->arena, hsc_textproto);
  HSC_TRY(hsc_arena_status(p->arena));
  field->name = name;
  field->line = line;
  HSC_TRY(value(p, field, depth));
  if (*io_last)
    (*io_last)->next = field;
  else
    *out_first = field;
  *io_last = field;
  return NULL;
}

static hsc_status *fields(parser *p, char close, int depth, const hsc_textproto **out_first) {
  hsc_textproto *last = NULL;
  *out_first = NULL;
  if (depth > MAX_DEPTH)
    return fail(p, "messages nest deeper than %d", MAX_DEPTH);
  for (;;) {
    skip(p);
    if (p->at == p->end)
      return close ? fail(p, "expected %c at the end of the message", close) : NULL;
    if (close && take(p, close))
      return NULL;
    hsc_view name = word(p);
    int32_t line = p->line;
    if (name.size == 0)
      return fail(p, "expected a field's name");
    bool colon = take(p, ':');
    if (take(p, '[')) {
      if (take(p, ']'))
        continue;
      do
        HSC_TRY(add(p, name, line, &last, out_first, depth));
      while (take(p, ','));
      if (!take(p, ']'))
        return fail(p, "expected , or ] in the list of %.*s", (int)name.size, name.data);
    } else {
      skip(p);
      if (!colon && (p->at == p->end || (*p->at != '{' && *p->at != '<')))
        return fail(p, "expected : after %.*s", (int)name.size, name.data);
      HSC_TRY(add(p, name, line, &last, out_first, depth));
    }
    if (!take(p, ','))
      take(p, ';');
  }
}

hsc_status *hsc_textproto_parse(hsc_view source,
                                const char *path,
                                hsc_arena *arena,
                                const hsc_textproto **out_first) {
  const char *begin = source.data ? source.data : "";
  parser p = {.begin = begin,
              .at = begin,
              .end = begin + source.size,
              .path = path,
              .line = 1,
              .arena = arena};
  return fields(&p, 0, 0, out_first);
}

const hsc_textproto *hsc_textproto_find(const hsc_textproto *first, const char *name) {
  const hsc_textproto *found = NULL;
  for (; first; first = first->next)
    if (hsc_view_equals_text(first->name, name))
      found = first;
  return found;
}

int64_t hsc_textproto_int(const hsc_textproto *first, const char *name, int64_t otherwise) {
  const hsc_textproto *field = hsc_textproto_find(first, name);
  char digits[32] = {0};
  char *end;
  if (!field || field->is_message || field->value.size == 0 || field->value.size >= sizeof digits)
    return otherwise;
  memcpy(digits, field->value.data, field->value.size);
  long long read = strtoll(digits, &end, 10);
  return *end ? otherwise : read;
}

hsc_view hsc_textproto_text(const hsc_textproto *first, const char *name) {
  const hsc_textproto *field = hsc_textproto_find(first, name);
  return field && !field->is_message ? field->value : (hsc_view){0};
}

void hsc_textproto_quote(hsc_bytes *out, const char *text) {
  hsc_bytes_append_char(out, '"');
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      hsc_bytes_append_char(out, '\\');
    if (c == '\n')
      hsc_bytes_append_text(out, "\\n");
    else if (c < 0x20 || c == 0x7f)
      hsc_bytes_printf(out, "\\%03o", c);
    else
      hsc_bytes_append_char(out, *text);
  }
  hsc_bytes_append_char(out, '"');
}
