// hlo_text_shape.c - shapes: f32[2,3]{1,0:T(8,128)}, s32[<=4], token[], (f32[2], /*index=1*/(s32[],
// pred[])).
//
// Programs repeat few shapes many times, so arrays go through a small cache keyed by their text;
// arrays of dimensions are never changed in place and can be shared.
#include "base/text/text.h"
#include "formats/hlo_text/hlo_text_internal.h"

#include <stdlib.h>

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool hsc__hlo_looks_like_shape(hsc__hlo_parser *p) {
  hsc__hlo_skip_space(p);
  if (*p->p == '(')
    return true;
  if (!is_letter(*p->p))
    return false;
  const char *c = p->p;
  while (hsc__hlo_is_name_char(*c))
    c++;
  return *c == '[';
}

// Is the brace at the cursor a layout and not the body of a computation? Layouts hold numbers, a
// colon or nothing.
static bool looks_like_layout(const char *c) {
  if (*c != '{')
    return false;
  for (c++; *c == ' '; c++) {
  }
  if (*c == ':' || *c == '}')
    return true;
  if (*c < '0' || *c > '9')
    return false;
  while (*c >= '0' && *c <= '9')
    c++;
  while (*c == ' ')
    c++;
  return *c == ',' || *c == '}' || *c == ':';
}

// "D(D,C)": how each dimension is stored; where one is not dense the array is sparse, which has no
// tiles, and has a physical shape "P(...)".
static bool check_levels(hsc__hlo_parser *p, const char *at, const char *extra, int rank) {
  const char *levels = !strncmp(extra, "D(", 2) ? extra + 2 : NULL;
  const char *physical = strstr(extra, "P(");
  int count = levels && *levels != ')';
  bool sparse = false;
  for (const char *c = levels; c && *c && *c != ')'; c++) {
    count += *c == ',';
    sparse |= *c != ',' && *c != 'D';
    if (!strchr("DCSH,+~", *c))
      return hsc__hlo_error(p, at, "'%c' is no way to store a dimension", *c);
  }
  if (levels && count != rank)
    return hsc__hlo_error(p, at,
                          "the layout says of %d dimensions how they are stored, the shape has %d",
                          count, rank);
  if (sparse && strstr(extra, ")T("))
    return hsc__hlo_error(p, at, "a sparse array has no tiles");
  if (!sparse && physical && (physical == extra || physical[-1] == ')'))
    return hsc__hlo_error(p, at, "only a sparse array has a physical shape");
  return true;
}

// Dimensions from the minor to the major one: none, or all of them.
static bool parse_minor_to_major(
    hsc__hlo_parser *p, const hsc_shape *shape, const char *at, int64_t *order, int *out_count) {
  bool seen[HSC_MAX_RANK] = {false};
  int count = 0;
  if (!hsc__hlo_peek(p, ':') && !hsc__hlo_peek(p, '}')) {
    do {
      hsc__hlo_skip_space(p);
      const char *dim_at = p->p;
      int64_t dim;
      if (!hsc__hlo_int(p, &dim))
        return false;
      if (count == HSC_MAX_RANK || dim < 0 || dim >= shape->rank || seen[dim])
        return hsc__hlo_error(p, dim_at,
                              "the layout of a shape of rank %d must be a permutation of 0 to %d",
                              shape->rank, shape->rank - 1);
      seen[dim] = true;
      order[count++] = dim;
    } while (hsc__hlo_accept(p, ','));
  }
  if (count != shape->rank && count != 0)
    return hsc__hlo_error(p, at, "the layout has %d dimensions, the shape has %d", count,
                          shape->rank);
  *out_count = count;
  return true;
}

// What follows the ':', kept as it is written: to the brace that closes the layout; tiles and
// physical shapes may hold brackets of their own.
static bool parse_layout_extra(hsc__hlo_parser *p,
                               const char *at,
                               int rank,
                               const char **out_extra) {
  const char *start = p->p;
  const char *c = start;
  for (int depth = 0; *c && (*c != '}' || depth > 0); c++) {
    if (*c == '{')
      depth++;
    if (*c == '}')
      depth--;
    if (*c == '\n')
      break;
  }
  if (*c != '}')
    return hsc__hlo_error(p, at, "the layout has no closing '}'");
  *out_extra = hsc_arena_strndup(p->arena, start, (size_t)(c - start));
  if (!*out_extra)
    return hsc__hlo_out_of_memory(p);
  p->p = c;
  return check_levels(p, at, *out_extra, rank);
}

// The default layout is none at all: shapes that differ only in having said so are equal.
static bool parse_layout(hsc__hlo_parser *p, hsc_shape *shape) {
  const char *at = p->p;
  p->p++;  // {
  int64_t order[HSC_MAX_RANK];
  int count = 0;
  const char *extra = NULL;
  if (!parse_minor_to_major(p, shape, at, order, &count))
    return false;
  bool is_default = true;
  for (int i = 0; i < count; i++)
    is_default &= order[i] == shape->rank - 1 - i;
  if (hsc__hlo_accept(p, ':') && !parse_layout_extra(p, at, shape->rank, &extra))
    return false;
  if (!hsc__hlo_expect(p, '}', "at the end of the layout"))
    return false;
  if (is_default && !extra)
    return true;
  hsc_layout *layout = HSC_NEW(p->arena, hsc_layout);
  if (count == 0)  // only tiles or a memory space were given
    for (count = 0; count < shape->rank; count++)
      order[count] = shape->rank - 1 - count;
  int64_t *copy = hsc_arena_copy(p->arena, order, sizeof *order * (size_t)count);
  if (!layout || !copy)
    return hsc__hlo_out_of_memory(p);
  *layout = (hsc_layout){.rank = count, .minor_to_major = copy, .extra = extra};
  shape->layout = layout;
  return true;
}

static bool unknown_type(hsc__hlo_parser *p, const char *at, hsc_view word) {
  const char *candidates[HSC_TYPE_COUNT];
  size_t count = 0;
  for (int t = HSC_TYPE_PRED; t < HSC_TYPE_COUNT; t++)
    if (t != HSC_TYPE_TUPLE)
      candidates[count++] = hsc_type_text((hsc_type)t);
  char text[64];
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(word, 60), word.data);
  const char *near = hsc_did_you_mean(text, candidates, count);
  return near ? hsc__hlo_error(p, at, "unknown element type '%s'; did you mean '%s'?", text, near)
              : hsc__hlo_error(p, at, "unknown element type '%s'", text);
}

// "2,<=3": at most HSC_MAX_RANK; `dynamic` says which ones are bounds.
static bool parse_dims(hsc__hlo_parser *p, int64_t *dims, bool *dynamic, int *out_rank) {
  int rank = 0;
  do {
    hsc__hlo_skip_space(p);
    const char *dim_at = p->p;
    if (rank == HSC_MAX_RANK)
      return hsc__hlo_error(p, dim_at, "more than %d dimensions", HSC_MAX_RANK);
    if (*p->p == '?')
      return hsc__hlo_error(p, dim_at,
                            "a dimension without a bound: not built yet: shapes must have bounds");
    dynamic[rank] = p->p[0] == '<' && p->p[1] == '=';
    if (dynamic[rank])
      p->p += 2;
    if (!hsc__hlo_int(p, &dims[rank]))
      return false;
    if (dims[rank] < 0)
      return hsc__hlo_error(p, dim_at, "a dimension cannot be negative");
    rank++;
  } while (hsc__hlo_accept(p, ','));
  *out_rank = rank;
  return true;
}

static bool parse_array(hsc__hlo_parser *p, hsc_shape *shape) {
  const char *at = p->p;
  hsc_view word;
  hsc_type type;
  if (!hsc__hlo_word(p, "a shape", &word))
    return false;
  if (!hsc_type_parse(word, &type) || type == HSC_TYPE_INVALID || type == HSC_TYPE_TUPLE)
    return unknown_type(p, at, word);
  if (!hsc__hlo_expect(p, '[', "after the element type"))
    return false;
  int64_t dims[HSC_MAX_RANK];
  bool dynamic[HSC_MAX_RANK];
  int rank = 0;
  if (!hsc__hlo_peek(p, ']') && !parse_dims(p, dims, dynamic, &rank))
    return false;
  if (!hsc__hlo_expect(p, ']', "or ',' in the list of dimensions"))
    return false;
  if (rank > 0 && (type == HSC_TYPE_TOKEN || type == HSC_TYPE_OPAQUE))
    return hsc__hlo_error(p, at, "%s has no dimensions", hsc_type_text(type));
  bool any_dynamic = false;
  int64_t bytes = (int64_t)hsc_type_bytes(type);
  for (int i = 0; i < rank; i++) {
    any_dynamic |= dynamic[i];
    if (dims[i] > 0 && __builtin_mul_overflow(bytes, dims[i], &bytes))
      return hsc__hlo_error(p, at, "the shape is larger than 2^63 bytes");
  }
  *shape = (hsc_shape){.type = type, .rank = rank};
  if (rank > 0) {
    shape->dims = hsc_arena_copy(p->arena, dims, sizeof *dims * (size_t)rank);
    if (any_dynamic)
      shape->dynamic = hsc_arena_copy(p->arena, dynamic, sizeof *dynamic * (size_t)rank);
    if (!shape->dims || (any_dynamic && !shape->dynamic))
      return hsc__hlo_out_of_memory(p);
  }
  return !looks_like_layout(p->p) || parse_layout(p, shape);
}

// The length of an array shape's text with its layout when it is written without spaces; 0 when it
// must be read the long way.
static size_t plain_length(const char *text, uint64_t *out_hash) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  const char *c = text;
  for (; *c != ']'; c++) {
    if (!hsc__hlo_is_name_char(*c) && *c != '[' && *c != ',' && *c != '<' && *c != '=')
      return 0;
    hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
  }
  c++;
  if (looks_like_layout(c)) {
    for (; *c != '}'; c++) {
      if (*c <= ' ' || *c == '"')
        return 0;
      if (*c == '{' && c[-1] != ']')
        return 0;
      hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    }
    c++;
  }
  *out_hash = hash ^ (hash >> 29);
  return (size_t)(c - text);
}

bool hsc__hlo_shape(hsc__hlo_parser *p, hsc_shape *out_shape) {
  hsc__hlo_skip_space(p);
  if (*p->p != '(') {
    uint64_t hash = 0;
    size_t length = plain_length(p->p, &hash);
    hsc__shape_slot *slot = &p->shapes[hash % HSC_COUNT_OF(p->shapes)];
    if (length && slot->length == length && memcmp(slot->text, p->p, length) == 0) {
      *out_shape = slot->shape;
      p->p += length;
      return true;
    }
    const char *start = p->p;
    if (!parse_array(p, out_shape))
      return false;
    if (length && p->p == start + length)
      *slot = (hsc__shape_slot){.text = start, .length = length, .shape = *out_shape};
    return true;
  }
  if (!hsc__hlo_enter(p))
    return false;
  p->p++;
  hsc_shape small[16];
  hsc_shape *elements = small;
  size_t count = 0;
  size_t capacity = HSC_COUNT_OF(small);
  bool ok = true;
  if (!hsc__hlo_accept(p, ')')) {
    do {
      if (!HSC_GROW_IN(p->arena, elements, count, capacity))
        return hsc__hlo_out_of_memory(p);
      ok = hsc__hlo_shape(p, &elements[count]);
      count += ok;
    } while (ok && hsc__hlo_accept(p, ','));
    ok = ok && hsc__hlo_expect(p, ')', "or ',' in the tuple shape");
  }
  hsc__hlo_leave(p);
  if (!ok)
    return false;
  *out_shape = hsc_shape_tuple(p->arena, (int)count, elements);
  return !count || out_shape->elements ? true : hsc__hlo_out_of_memory(p);
}
