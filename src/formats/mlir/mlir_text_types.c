// mlir_text_types.c - tensor<2x3xf32>, tuple<...>, (a, b) -> c, !stablehlo.token, i32,
// complex<f32>, index, !alias.
//
// Tensor types are kept by their text: programs name few types many times.
#include "base/text/text.h"
#include "formats/mlir/mlir_text_internal.h"

static const struct {
  const char *text;
  hsc_type type;
} types[] = {
    {"f32", HSC_TYPE_F32},
    {"f64", HSC_TYPE_F64},
    {"bf16", HSC_TYPE_BF16},
    {"f16", HSC_TYPE_F16},
    {"i1", HSC_TYPE_PRED},
    {"i32", HSC_TYPE_S32},
    {"i64", HSC_TYPE_S64},
    {"i8", HSC_TYPE_S8},
    {"i16", HSC_TYPE_S16},
    {"i4", HSC_TYPE_S4},
    {"i2", HSC_TYPE_S2},
    {"ui8", HSC_TYPE_U8},
    {"ui16", HSC_TYPE_U16},
    {"ui32", HSC_TYPE_U32},
    {"ui64", HSC_TYPE_U64},
    {"ui4", HSC_TYPE_U4},
    {"ui2", HSC_TYPE_U2},
    {"si8", HSC_TYPE_S8},
    {"si16", HSC_TYPE_S16},
    {"si32", HSC_TYPE_S32},
    {"si64", HSC_TYPE_S64},
    {"f8E4M3FN", HSC_TYPE_F8E4M3FN},
    {"f8E5M2", HSC_TYPE_F8E5M2},
    {"f8E4M3", HSC_TYPE_F8E4M3},
    {"f8E3M4", HSC_TYPE_F8E3M4},
    {"f8E4M3FNUZ", HSC_TYPE_F8E4M3FNUZ},
    {"f8E5M2FNUZ", HSC_TYPE_F8E5M2FNUZ},
    {"f8E4M3B11FNUZ", HSC_TYPE_F8E4M3B11FNUZ},
    {"f4E2M1FN", HSC_TYPE_F4E2M1FN},
    {"f8E8M0FNU", HSC_TYPE_F8E8M0FNU},
    {"ui1", HSC_TYPE_U1},
};

// The first spelling is the one that is written.
const char *hsc__mlir_element_text(hsc_type type) {
  for (size_t i = 0; i < HSC_COUNT_OF(types); i++)
    if (types[i].type == type)
      return types[i].text;
  return NULL;
}

bool hsc__mlir_element_type(hsc_view word, hsc_type *out) {
  for (size_t i = 0; i < HSC_COUNT_OF(types); i++) {
    if (!hsc_view_equals_text(word, types[i].text))
      continue;
    *out = types[i].type;
    return true;
  }
  return false;
}

static bool make_type(hsc__mlir_parser *p, hsc__mlir_type_kind kind, hsc__mlir_type **out) {
  *out = NULL;
  hsc__mlir_type *type = HSC_NEW(p->arena, hsc__mlir_type);
  if (!type)
    return hsc__mlir_out_of_memory(p);
  type->kind = kind;
  *out = type;
  return true;
}

// complex<f32> or a plain element type.
static bool element(hsc__mlir_parser *p, hsc_type *out, bool *out_known) {
  hsc_view word;
  const char *at = p->p;
  *out_known = true;
  if (*at == '!') {  // quantised and the like: without meaning here
    *out_known = false;
    p->p++;
    hsc_view rest;
    return hsc__mlir_balanced(p, &rest);
  }
  if (!hsc__mlir_ident(p, "an element type", &word))
    return false;
  if (hsc_view_equals_text(word, "complex")) {
    hsc_type part;
    if (!hsc__mlir_expect(p, "<") || !element(p, &part, out_known) || !hsc__mlir_expect(p, ">"))
      return false;
    if (part != HSC_TYPE_F32 && part != HSC_TYPE_F64)
      return hsc__mlir_error(p, at, "complex numbers have parts of f32 or f64");
    *out = part == HSC_TYPE_F32 ? HSC_TYPE_C64 : HSC_TYPE_C128;
    return true;
  }
  if (hsc_view_equals_text(word, "index")) {
    *out = HSC_TYPE_S64;
    return true;
  }
  if (hsc__mlir_element_type(word, out))
    return true;
  static const char *const names[] = {"f32",  "f64",  "bf16", "f16",     "i1",
                                      "i8",   "i16",  "i32",  "i64",     "ui8",
                                      "ui16", "ui32", "ui64", "complex", "index"};
  static const char *const foreign[] = {"f6E2M3FN", "f6E3M2FN", "tf32", "f80", "f128"};
  char text[40];
  for (size_t i = 0; i < HSC_COUNT_OF(foreign); i++)
    if (hsc_view_equals_text(word, foreign[i]))
      return hsc__mlir_unsupported(
          p, at, hsc_arena_printf(p->arena, "a type that HLO does not have: %s", foreign[i]));
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(word, 36), word.data);
  const char *near = hsc_did_you_mean(text, names, HSC_COUNT_OF(names));
  return near ? hsc__mlir_error(p, at, "unknown element type '%s'; did you mean '%s'?", text, near)
              : hsc__mlir_error(p, at, "unknown element type '%s'", text);
}

typedef struct tensor_dims {
  int64_t sizes[HSC_MAX_RANK];  // 0 where dynamic
  bool dynamic[HSC_MAX_RANK];
  bool any_dynamic;
  int rank;
} tensor_dims;

// "2x3x?x" up to the element type. at: where the type begins.
static bool tensor_dimensions(hsc__mlir_parser *p, const char *at, tensor_dims *out) {
  *out = (tensor_dims){0};
  for (int rank = 0;; rank++) {
    hsc__mlir_skip(p);
    out->rank = rank;
    if (*p->p != '?' && (*p->p < '0' || *p->p > '9'))
      return true;
    if (rank == HSC_MAX_RANK)
      return hsc__mlir_error(p, at, "more than %d dimensions", HSC_MAX_RANK);
    out->dynamic[rank] = *p->p == '?';
    out->any_dynamic |= out->dynamic[rank];
    int64_t *size = &out->sizes[rank];
    if (out->dynamic[rank]) {
      p->p++;
    } else {  // "0x10" is a dimension of zero and one of ten
      const char *digits = p->p;
      for (; *p->p >= '0' && *p->p <= '9'; p->p++)
        if (__builtin_mul_overflow(*size, 10, size) ||
            __builtin_add_overflow(*size, *p->p - '0', size))
          return hsc__mlir_error(p, digits, "the dimension does not fit in 64 bits");
    }
    if (*p->p != 'x')
      return hsc__mlir_expected(p, "'x' after the dimension");
    p->p++;
  }
}

// 2x3x?xf32 [, encoding]> after "tensor<".
static bool tensor(hsc__mlir_parser *p, hsc__mlir_type *type) {
  tensor_dims dims;
  bool known;
  const char *at = p->p;
  if (hsc__mlir_accept(p, '*')) {
    hsc_view rest;
    type->kind = HSC_MLIR_UNRANKED;
    return hsc__mlir_balanced(p, &rest) && hsc__mlir_expect(p, ">");
  }
  hsc_type element_type = HSC_TYPE_INVALID;
  if (!tensor_dimensions(p, at, &dims) || !element(p, &element_type, &known))
    return false;
  if (hsc__mlir_accept(p, ',')) {  // #stablehlo.bounds<4, ?>: sizes of dynamic dimensions
    hsc_view encoding;
    if (!hsc__mlir_balanced(p, &encoding))
      return false;
  }
  if (!hsc__mlir_expect(p, ">"))
    return false;
  if (!known) {
    type->kind = HSC_MLIR_OTHER;
    type->text = hsc_arena_strndup(p->arena, at, (size_t)(p->p - at - 1));
    return true;
  }
  int64_t bytes = (int64_t)hsc_type_bytes(element_type);
  size_t rank = (size_t)dims.rank;
  for (size_t i = 0; i < rank; i++)
    if (dims.sizes[i] > 0 && __builtin_mul_overflow(bytes, dims.sizes[i], &bytes))
      return hsc__mlir_error(p, at, "the tensor is larger than 2^63 bytes");
  type->kind = HSC_MLIR_TENSOR;
  type->shape = (hsc_shape){.type = element_type, .rank = dims.rank};
  if (rank)
    type->shape.dims = hsc_arena_copy(p->arena, dims.sizes, sizeof *dims.sizes * rank);
  if (dims.any_dynamic)
    type->shape.dynamic = hsc_arena_copy(p->arena, dims.dynamic, sizeof *dims.dynamic * rank);
  return (rank && !type->shape.dims) || (dims.any_dynamic && !type->shape.dynamic)
             ? hsc__mlir_out_of_memory(p)
             : true;
}

// Comma-separated types up to `close`, on the stack.
static bool type_list(hsc__mlir_parser *p, const char *close, int *count) {
  *count = 0;
  if (hsc__mlir_accept_text(p, close))
    return true;
  do {
    const hsc__mlir_type *type;
    if (!hsc__mlir_type_parse(p, &type) || !hsc__mlir_push(p, &type, sizeof type))
      return false;
    ++*count;
    // Names and attributes of arguments are in declarations only; function types have none.
  } while (hsc__mlir_accept(p, ','));
  return hsc__mlir_expect(p, close);
}

static bool take_types(hsc__mlir_parser *p, hsc__mlir_type *type, size_t start, int count) {
  static const hsc__mlir_type *no_types[1];
  type->element_count = count;
  type->elements = count ? hsc_arena_copy(p->arena, p->stack.data + start,
                                          (size_t)count * sizeof *type->elements)
                         : no_types;
  p->stack.size = start;
  return type->elements ? true : hsc__mlir_out_of_memory(p);
}

bool hsc__mlir_function_type(hsc__mlir_parser *p, const hsc__mlir_type **out) {
  hsc__mlir_type *type = NULL;
  size_t start = p->stack.size;
  int inputs = 0;
  int results = 0;
  if (!hsc__mlir_enter(p) || !make_type(p, HSC_MLIR_FUNCTION, &type))
    return false;
  if (!hsc__mlir_expect(p, "(") || !type_list(p, ")", &inputs) || !hsc__mlir_expect(p, "->"))
    return false;
  if (hsc__mlir_accept(p, '(')) {
    if (!type_list(p, ")", &results))
      return false;
  } else {
    const hsc__mlir_type *result;
    if (!hsc__mlir_type_parse(p, &result) || !hsc__mlir_push(p, &result, sizeof result))
      return false;
    results = 1;
  }
  hsc__mlir_leave(p);
  type->input_count = inputs;
  *out = type;
  return take_types(p, type, start, inputs + results);
}

bool hsc__mlir_looks_like_type(hsc__mlir_parser *p) {
  hsc__mlir_skip(p);
  if (*p->p == '!' || *p->p == '(')
    return true;
  static const char *const words[] = {"tensor", "tuple",  "complex", "index",
                                      "none",   "vector", "memref",  "tf32"};
  const char *saved = p->p;
  hsc_view word;
  hsc_type type;
  if (!((*saved >= 'a' && *saved <= 'z')) || !hsc__mlir_ident(p, "a type", &word))
    return false;
  p->p = saved;
  for (size_t i = 0; i < HSC_COUNT_OF(words); i++)
    if (hsc_view_equals_text(word, words[i]))
      return true;
  return hsc__mlir_element_type(word, &type);
}

static bool dialect_type(hsc__mlir_parser *p, const hsc__mlir_type **out) {
  const char *at = p->p;
  hsc_view name;
  p->p++;
  if (!hsc__mlir_suffix(p, "the name of a type", &name))
    return false;
  const hsc__mlir_type *known = hsc_map_get(p->type_aliases, name);
  if (known) {
    *out = known;
    return true;
  }
  hsc__mlir_type *type = NULL;
  bool token =
      hsc_view_equals_text(name, "stablehlo.token") || hsc_view_equals_text(name, "mhlo.token");
  if (!make_type(p, token ? HSC_MLIR_TOKEN : HSC_MLIR_OTHER, &type))
    return false;
  if (!token && *p->p == '<') {
    hsc_view rest;
    p->p = at;
    if (!hsc__mlir_balanced(p, &rest))
      return false;
  }
  type->text = hsc_arena_strndup(p->arena, at, (size_t)(p->p - at));
  *out = type;
  return true;
}

// "tensor<...>" at the cursor; one type a text, so that the many uses of one are one.
static bool tensor_type(hsc__mlir_parser *p, const hsc__mlir_type **out) {
  const char *at = p->p;
  const char *close = at + 7;
  hsc__mlir_type *type;
  while (*close && *close != '>' && *close != '<' && *close != '\n')
    close++;
  // types with brackets inside are rare and not kept
  hsc_view key = {at, *close == '>' ? (size_t)(close - at) : 0};
  const hsc__mlir_type *known = key.size ? hsc_map_get(p->types, key) : NULL;
  if (known) {
    p->p = close + 1;
    *out = known;
    return true;
  }
  p->p = at + 7;
  if (!make_type(p, HSC_MLIR_TENSOR, &type) || !tensor(p, type))
    return false;
  *out = type;
  hsc_status *status = key.size ? hsc_map_put(p->types, key, type) : NULL;
  hsc_status_free(status);
  return !status || hsc__mlir_out_of_memory(p);
}

// After the word "tuple".
static bool tuple_type(hsc__mlir_parser *p, const hsc__mlir_type **out) {
  hsc__mlir_type *type;
  size_t start = p->stack.size;
  int count;
  if (!hsc__mlir_enter(p) || !make_type(p, HSC_MLIR_TUPLE, &type) || !hsc__mlir_expect(p, "<") ||
      !type_list(p, ">", &count))
    return false;
  hsc__mlir_leave(p);
  *out = type;
  return take_types(p, type, start, count);
}

bool hsc__mlir_type_parse(hsc__mlir_parser *p, const hsc__mlir_type **out) {
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (*at == '(')
    return hsc__mlir_function_type(p, out);
  if (*at == '!')
    return dialect_type(p, out);
  if (strncmp(at, "tensor<", 7) == 0)
    return tensor_type(p, out);
  hsc__mlir_type *type = NULL;
  hsc_view word;
  if (!hsc__mlir_ident(p, "a type", &word))
    return false;
  if (hsc_view_equals_text(word, "tuple"))
    return tuple_type(p, out);
  bool known;
  if (hsc_view_equals_text(word, "index") || hsc_view_equals_text(word, "none")) {
    if (!make_type(p, word.data[0] == 'i' ? HSC_MLIR_INDEX : HSC_MLIR_NONE, &type))
      return false;
  } else if (hsc_view_equals_text(word, "tf32")) {  // only in algorithms of dots
    if (!make_type(p, HSC_MLIR_OTHER, &type))
      return false;
    type->text = "tf32";
  } else if (hsc_view_equals_text(word, "vector") || hsc_view_equals_text(word, "memref") ||
             hsc_view_equals_text(word, "tensor")) {
    hsc_view rest;
    p->p = at;
    if (!hsc__mlir_balanced(p, &rest) || !make_type(p, HSC_MLIR_OTHER, &type))
      return false;
    type->text = hsc_arena_strndup(p->arena, rest.data, rest.size);
  } else {
    p->p = at;
    if (!make_type(p, HSC_MLIR_ELEMENT, &type) || !element(p, &type->shape.type, &known))
      return false;
  }
  *out = type;
  return true;
}

bool hsc__mlir_types_equal(const hsc__mlir_type *a, const hsc__mlir_type *b) {
  if (a == b)
    return true;
  if (a->kind != b->kind || a->element_count != b->element_count)
    return false;
  for (int i = 0; i < a->element_count; i++)
    if (!hsc__mlir_types_equal(a->elements[i], b->elements[i]))
      return false;
  if (a->kind == HSC_MLIR_ELEMENT)
    return a->shape.type == b->shape.type;
  if (a->kind != HSC_MLIR_TENSOR)
    return true;
  if (!a->shape.dynamic != !b->shape.dynamic)
    return false;
  return hsc_shape_equal(&a->shape, &b->shape);
}
