// custom_config.c - reads a dictionary of attributes as MLIR prints it, by recursive descent with a
// bounded depth.
#include <errno.h>
#include <stdlib.h>

#include "hlo/ir/custom.h"

enum { MAX_DEPTH = 16, MAX_ELEMENTS = 1 << 20 };

typedef struct parser {
  const char *text, *at;
  hsc_arena *arena;
} parser;

static hsc_status *wrong(const parser *p, const char *wanted) {
  return HSC_ERR(INVALID_ARGUMENT, "backend_config: %s expected at character %lld, at '%.20s'",
                 wanted, (long long)(p->at - p->text) + 1, p->at);
}

static void skip_space(parser *p) {
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
    p->at++;
}

static bool take(parser *p, const char *token) {
  skip_space(p);
  size_t size = strlen(token);
  if (strncmp(p->at, token, size) != 0)
    return false;
  p->at += size;
  return true;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$';
}

static hsc_view word(parser *p) {
  skip_space(p);
  const char *start = p->at;
  while (is_word(*p->at))
    p->at++;
  return (hsc_view){start, (size_t)(p->at - start)};
}

// MLIR's names of element types: i8, ui8, si8, f32, bf16, i1, index.
static hsc_status *type_of(const parser *p, hsc_view name, hsc_type *out_type) {
  static const struct {
    const char *text;
    hsc_type type;
  } types[] = {
      {"i1", HSC_TYPE_PRED},   {"i8", HSC_TYPE_S8},    {"i16", HSC_TYPE_S16},
      {"i32", HSC_TYPE_S32},   {"i64", HSC_TYPE_S64},  {"index", HSC_TYPE_S64},
      {"si8", HSC_TYPE_S8},    {"si16", HSC_TYPE_S16}, {"si32", HSC_TYPE_S32},
      {"si64", HSC_TYPE_S64},  {"ui8", HSC_TYPE_U8},   {"ui16", HSC_TYPE_U16},
      {"ui32", HSC_TYPE_U32},  {"ui64", HSC_TYPE_U64}, {"f16", HSC_TYPE_F16},
      {"bf16", HSC_TYPE_BF16}, {"f32", HSC_TYPE_F32},  {"f64", HSC_TYPE_F64},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(types); i++)
    if (hsc_view_equals_text(name, types[i].text)) {
      *out_type = types[i].type;
      return NULL;
    }
  return wrong(p, "an element type");
}

static hsc_status *parse_value(parser *p, int depth, hsc_config *out);

static hsc_status *parse_string(parser *p, hsc_config *out) {
  const char *end = p->at;
  while (*end && *end != '"')
    end += *end == '\\' && end[1] ? 2 : 1;
  if (*end != '"')
    return wrong(p, "the end of a string");
  char *text = hsc_arena_alloc(p->arena, (size_t)(end - p->at) + 1);
  HSC_TRY(hsc_arena_status(p->arena));
  size_t size = 0;
  for (const char *c = p->at; c < end; c++) {
    if (*c != '\\') {
      text[size++] = *c;
      continue;
    }
    c++;
    unsigned hex;
    if (*c == 'n')
      text[size++] = '\n';
    else if (*c == 't')
      text[size++] = '\t';
    else if (*c == '"' || *c == '\\')
      text[size++] = *c;
    else if (c + 1 < end && sscanf(c, "%2x", &hex) == 1) {
      text[size++] = (char)hex;
      c++;
    } else
      return wrong(p, "an escape that is known");
  }
  p->at = end + 1;
  *out = (hsc_config){.kind = HSC_CONFIG_STRING, .text = text, .text_bytes = size};
  return NULL;
}

static hsc_status *parse_number(parser *p, hsc_config *out) {
  skip_space(p);
  const char *start = p->at;
  char *end;
  bool is_hex = start[0] == '0' && start[1] == 'x';
  bool is_float = false;
  const char *c = start + (*start == '-');
  if (!(*c >= '0' && *c <= '9'))
    return wrong(p, "a value");
  while (is_word(*c) || ((*c == '+' || *c == '-') && (c[-1] == 'e' || c[-1] == 'E'))) {
    if (!is_hex && (*c == '.' || *c == 'e' || *c == 'E'))
      is_float = true;
    c++;
  }
  errno = 0;
  if (is_float) {
    *out =
        (hsc_config){.kind = HSC_CONFIG_FLOAT, .type = HSC_TYPE_F64, .number = strtod(start, &end)};
  } else {
    // Numbers above the signed range are those of ui64.
    int64_t value;
    if (*start == '-')
      value = strtoll(start, &end, 0);
    else
      value = (int64_t)strtoull(start, &end, is_hex ? 16 : 10);
    if (errno == ERANGE)
      return wrong(p, "a number of 64 bits");
    *out = (hsc_config){
        .kind = HSC_CONFIG_INT, .type = HSC_TYPE_S64, .integer = value, .number = (double)value};
  }
  if (end != c)
    return wrong(p, "a number");
  p->at = end;
  return NULL;
}

// What a number is once its type is known: bits in hexadecimal are a float's.
static void give_type(hsc_config *value, hsc_type type) {
  if (hsc_type_is_float(type) && value->kind == HSC_CONFIG_INT) {
    value->kind = HSC_CONFIG_FLOAT;
    if (type == HSC_TYPE_F32) {
      uint32_t bits = (uint32_t)value->integer;
      float number;
      memcpy(&number, &bits, sizeof number);
      value->number = (double)number;
    } else if (type == HSC_TYPE_F64) {
      memcpy(&value->number, &value->integer, sizeof value->number);
    }
  }
  value->type = type;
}

static hsc_status *parse_list(
    parser *p, const char *close, bool named, hsc_type given, int depth, hsc_config *out) {
  hsc_bytes elements = {0};
  hsc_status *status = NULL;
  *out = (hsc_config){.kind = named ? HSC_CONFIG_DICT : HSC_CONFIG_ARRAY, .type = given};
  while (!take(p, close)) {
    hsc_config element = {0};
    hsc_view name = {0};
    if (out->count && !take(p, ","))
      HSC_GOTO(wrong(p, "',' or the end of the list"));
    if (named) {
      skip_space(p);
      if (*p->at == '"') {
        p->at++;
        HSC_GOTO(parse_string(p, &element));
        name = (hsc_view){element.text, element.text_bytes};
      } else {
        name = word(p);
      }
      if (!name.size)
        HSC_GOTO(wrong(p, "a name"));
    }
    if (named && !take(p, "=")) {
      // a unit attribute
      element = (hsc_config){.kind = HSC_CONFIG_BOOL, .type = HSC_TYPE_PRED, .integer = 1};
    } else {
      HSC_GOTO(parse_value(p, depth + 1, &element));
    }
    if (given != HSC_TYPE_INVALID)
      give_type(&element, given);
    else if (!named && out->count == 0)
      out->type = element.type;
    element.name = name;
    hsc_bytes_append(&elements, &element, sizeof element);
    if (++out->count > MAX_ELEMENTS)
      HSC_GOTO(wrong(p, "fewer elements"));
  }
  if (elements.failed)
    HSC_GOTO(hsc_status_out_of_memory());
  out->elements = hsc_arena_copy(p->arena, elements.data, elements.size);
  status = hsc_arena_status(p->arena);
done:
  hsc_bytes_deinit(&elements);
  return status;
}

static hsc_status *parse_value(parser *p, int depth, hsc_config *out) {
  if (depth > MAX_DEPTH)
    return wrong(p, "less nesting");
  hsc_type type = HSC_TYPE_INVALID;
  if (take(p, "\""))
    return parse_string(p, out);
  if (take(p, "{"))
    return parse_list(p, "}", true, HSC_TYPE_INVALID, depth, out);
  if (take(p, "["))
    return parse_list(p, "]", false, HSC_TYPE_INVALID, depth, out);
  if (take(p, "array<")) {
    HSC_TRY(type_of(p, word(p), &type));
    (void)take(p, ":");
    return parse_list(p, ">", false, type, depth, out);
  }
  bool truth = false;
  if (take(p, "true"))
    truth = true;
  else if (!take(p, "false"))
    goto number;
  *out = (hsc_config){
      .kind = HSC_CONFIG_BOOL, .type = HSC_TYPE_PRED, .integer = truth, .number = truth};
  return NULL;
number:
  HSC_TRY(parse_number(p, out));
  if (take(p, ":")) {
    HSC_TRY(type_of(p, word(p), &type));
    give_type(out, type);
  }
  return NULL;
}

hsc_status *hsc_config_parse(const char *text, hsc_arena *arena, const hsc_config **out_config) {
  hsc_config *config = HSC_NEW(arena, hsc_config);
  HSC_TRY(hsc_arena_status(arena));
  *config = (hsc_config){.kind = HSC_CONFIG_DICT};
  *out_config = config;
  parser p = {.text = text ? text : "", .at = text ? text : "", .arena = arena};
  skip_space(&p);
  if (*p.at == '\0')
    return NULL;
  HSC_TRY(parse_value(&p, 0, config));
  skip_space(&p);
  return *p.at ? wrong(&p, "the end") : NULL;
}

const hsc_config *hsc_config_get(const hsc_config *dict, const char *name) {
  for (int32_t i = 0; i < dict->count; i++)
    if (hsc_view_equals_text(dict->elements[i].name, name))
      return &dict->elements[i];
  return NULL;
}

int64_t hsc_config_int(const hsc_config *dict, const char *name, int64_t otherwise) {
  const hsc_config *value = hsc_config_get(dict, name);
  return value && (value->kind == HSC_CONFIG_INT || value->kind == HSC_CONFIG_BOOL) ? value->integer
                                                                                    : otherwise;
}
