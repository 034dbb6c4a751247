// attr.c - attributes: deep copy, equality and hash, by the rows of attrs.def.
//
// Each kind of field has one row in field_kinds: how it is copied into an arena, when two are
// equal, and what it adds to a hash. Numbers are plain: a struct copy has copied them already, and
// the small ones that follow each other share one word of the hash, so that a flag costs no round
// of it.
#include "hlo/ir/hlo_internal.h"

hsc_dims hsc_dims_copy(hsc_arena *arena, int count, const int64_t *v) {
  if (count <= 0)
    return (hsc_dims){0};
  const int64_t *copy = hsc_arena_copy(arena, v, (size_t)count * sizeof *v);
  return copy ? (hsc_dims){count, copy} : (hsc_dims){0};
}

static bool bytes_equal(const void *a, const void *b, int count, size_t size) {
  return a == b || count <= 0 || memcmp(a, b, (size_t)count * size) == 0;
}

static const void *copy_bytes(hsc_arena *arena, const void *bytes, int count, size_t size) {
  return count > 0 ? hsc_arena_copy(arena, bytes, (size_t)count * size) : NULL;
}

// ---- lists of numbers, texts --------------------------------------------------------------------

static void copy_dims(hsc_arena *arena, void *place) {
  hsc_dims *dims = place;
  *dims = hsc_dims_copy(arena, dims->count, dims->v);
}

static bool dims_equal(const void *one, const void *other) {
  const hsc_dims *a = one;
  const hsc_dims *b = other;
  return a->count == b->count && bytes_equal(a->v, b->v, a->count, sizeof *a->v);
}

static void hash_dims(hsc__hasher *h, const void *place) {
  hsc__hash_dims(h, *(const hsc_dims *)place);
}

static void copy_text(hsc_arena *arena, void *place) {
  const char **text = place;
  if (*text)
    *text = hsc_arena_strdup(arena, *text);
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool texts_equal(const void *one, const void *other) {
  return same_text(*(const char *const *)one, *(const char *const *)other);
}

static void hash_text(hsc__hasher *h, const void *place) {
  hsc__hash_text(h, *(const char *const *)place);
}

// ---- literals -----------------------------------------------------------------------------------

static void copy_literal(hsc_arena *arena, void *place) {
  hsc_literal **literal = place;
  hsc_literal *copy = NULL;
  // running out of memory stays in the arena
  if (*literal)
    hsc_status_free(hsc_literal_copy(arena, *literal, &copy));
  *literal = copy;
}

static bool literals_equal(const void *one, const void *other) {
  const hsc_literal *a = *(hsc_literal *const *)one;
  const hsc_literal *b = *(hsc_literal *const *)other;
  return a == b || (a && b && hsc_literal_equal(a, b));
}

static void hash_one_literal(hsc__hasher *h, const hsc_literal *literal) {
  hsc__hash_u64(h, literal ? 1 + literal->elided : 0);
  if (!literal)
    return;
  hsc__hash_shape(h, &literal->shape);
  if (literal->shape.type == HSC_TYPE_TUPLE)
    for (int i = 0; i < literal->shape.element_count; i++)
      hash_one_literal(h, &literal->elements[i]);
  else if (literal->data)
    hsc__hash_bytes(h, literal->data, (size_t)hsc_shape_bytes(&literal->shape));
}

static void hash_literal(hsc__hasher *h, const void *place) {
  hash_one_literal(h, *(hsc_literal *const *)place);
}

// ---- windows, padding, dimension numbers --------------------------------------------------------

static void copy_window(hsc_arena *arena, void *place) {
  hsc_window *window = place;
  window->dims = copy_bytes(arena, window->dims, window->rank, sizeof *window->dims);
}

// A dimension of a window has bytes between its fields, so it is compared and hashed as numbers.
enum { WINDOW_NUMBERS = 7 };
static void window_numbers(const hsc_window_dim *d, int64_t out[WINDOW_NUMBERS]) {
  const int64_t numbers[WINDOW_NUMBERS] = {d->size,     d->stride,          d->pad_low,
                                           d->pad_high, d->window_dilation, d->base_dilation,
                                           d->reversal};
  memcpy(out, numbers, sizeof numbers);
}

static bool windows_equal(const void *one, const void *other) {
  const hsc_window *a = one;
  const hsc_window *b = other;
  int64_t x[WINDOW_NUMBERS];
  int64_t y[WINDOW_NUMBERS];
  if (a->rank != b->rank)
    return false;
  for (int i = 0; i < a->rank; i++) {
    window_numbers(&a->dims[i], x);
    window_numbers(&b->dims[i], y);
    if (memcmp(x, y, sizeof x) != 0)
      return false;
  }
  return true;
}

static void hash_window(hsc__hasher *h, const void *place) {
  const hsc_window *window = place;
  int64_t numbers[WINDOW_NUMBERS];
  hsc__hash_u64(h, (uint64_t)window->rank);
  for (int i = 0; i < window->rank; i++) {
    window_numbers(&window->dims[i], numbers);
    hsc__hash_bytes(h, numbers, sizeof numbers);
  }
}

static void copy_padding(hsc_arena *arena, void *place) {
  hsc_attr *attr = place;
  attr->pad.dims = copy_bytes(arena, attr->pad.dims, attr->pad.rank, sizeof *attr->pad.dims);
}

static bool paddings_equal(const void *one, const void *other) {
  const hsc_attr *a = one;
  const hsc_attr *b = other;
  return a->pad.rank == b->pad.rank &&
         bytes_equal(a->pad.dims, b->pad.dims, a->pad.rank, sizeof *a->pad.dims);
}

static void hash_padding(hsc__hasher *h, const void *place) {
  const hsc_attr *attr = place;
  hsc__hash_u64(h, (uint64_t)attr->pad.rank);
  if (attr->pad.rank > 0)
    hsc__hash_bytes(h, attr->pad.dims, (size_t)attr->pad.rank * sizeof *attr->pad.dims);
}

static void copy_conv_dims(hsc_arena *arena, void *place) {
  hsc_conv_dims *dims = place;
  const int64_t **const lists[] = {&dims->input_spatial, &dims->kernel_spatial,
                                   &dims->output_spatial};
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++)
    *lists[i] = copy_bytes(arena, *lists[i], dims->spatial_rank, sizeof **lists[i]);
}

enum { CONV_NUMBERS = 7 };
static void conv_numbers(const hsc_conv_dims *d, int64_t out[CONV_NUMBERS]) {
  const int64_t numbers[CONV_NUMBERS] = {d->spatial_rank,  d->input_batch,   d->input_feature,
                                         d->kernel_input,  d->kernel_output, d->output_batch,
                                         d->output_feature};
  memcpy(out, numbers, sizeof numbers);
}

static bool conv_dims_equal(const void *one, const void *other) {
  const hsc_conv_dims *a = one;
  const hsc_conv_dims *b = other;
  int64_t x[CONV_NUMBERS];
  int64_t y[CONV_NUMBERS];
  conv_numbers(a, x);
  conv_numbers(b, y);
  return memcmp(x, y, sizeof x) == 0 &&
         bytes_equal(a->input_spatial, b->input_spatial, a->spatial_rank, sizeof(int64_t)) &&
         bytes_equal(a->kernel_spatial, b->kernel_spatial, a->spatial_rank, sizeof(int64_t)) &&
         bytes_equal(a->output_spatial, b->output_spatial, a->spatial_rank, sizeof(int64_t));
}

static void hash_conv_dims(hsc__hasher *h, const void *place) {
  const hsc_conv_dims *dims = place;
  const int64_t *const lists[] = {dims->input_spatial, dims->kernel_spatial, dims->output_spatial};
  int64_t numbers[CONV_NUMBERS];
  conv_numbers(dims, numbers);
  hsc__hash_bytes(h, numbers, sizeof numbers);
  for (size_t i = 0; i < HSC_COUNT_OF(lists) && dims->spatial_rank > 0; i++)
    hsc__hash_bytes(h, lists[i], (size_t)dims->spatial_rank * sizeof(int64_t));
}

// ---- the operand layouts of a custom call -------------------------------------------------------

// None at all is not the same as layouts for no operands.
static void copy_layouts(hsc_arena *arena, void *place) {
  hsc_attr *attr = place;
  int count = attr->custom.operand_layout_count;
  if (!attr->custom.operand_layouts)
    return;
  hsc_shape *shapes = HSC_NEW_ARRAY(arena, hsc_shape, count > 0 ? count : 1);
  for (int i = 0; shapes && i < count; i++)
    shapes[i] = hsc_shape_copy(arena, attr->custom.operand_layouts[i]);
  attr->custom.operand_layouts = shapes;
}

static bool layouts_equal(const void *one, const void *other) {
  const hsc_attr *a = one;
  const hsc_attr *b = other;
  if (a->custom.operand_layout_count != b->custom.operand_layout_count ||
      !a->custom.operand_layouts != !b->custom.operand_layouts)
    return false;
  for (int i = 0; a->custom.operand_layouts && i < a->custom.operand_layout_count; i++)
    if (!hsc_shape_equal_layout(&a->custom.operand_layouts[i], &b->custom.operand_layouts[i]))
      return false;
  return true;
}

static void hash_layouts(hsc__hasher *h, const void *place) {
  const hsc_attr *attr = place;
  hsc__hash_u64(h, (uint64_t)attr->custom.operand_layout_count);
  for (int i = 0; attr->custom.operand_layouts && i < attr->custom.operand_layout_count; i++)
    hsc__hash_shape(h, &attr->custom.operand_layouts[i]);
}

// ---- numbers ------------------------------------------------------------------------------------

static bool bools_equal(const void *a, const void *b) {
  return *(const bool *)a == *(const bool *)b;
}

static bool words_equal(const void *a, const void *b) {
  return memcmp(a, b, sizeof(int32_t)) == 0;
}

static bool longs_equal(const void *a, const void *b) {
  return *(const int64_t *)a == *(const int64_t *)b;
}

static bool floats_equal(const void *a, const void *b) {
  return *(const float *)a == *(const float *)b;
}

static void hash_long(hsc__hasher *h, const void *place) {
  hsc__hash_u64(h, *(const uint64_t *)place);
}

static void hash_float(hsc__hasher *h, const void *place) {
  hsc__hash_bytes(h, place, sizeof(float));
}

// ---- the kinds of fields, and the fields of each member -----------------------------------------

typedef enum field_kind {
  BOOL,
  ENUM,
  INT32,
  INT64,
  FLOAT,
  DIMS,
  TEXT,
  LITERAL,
  WINDOW,
  PADDING,
  CONV_DIMS,
  LAYOUTS
} field_kind;

static const struct {
  void (*copy)(hsc_arena *arena, void *place);  // NULL = the bytes are all of it
  bool (*equal)(const void *a, const void *b);
  void (*hash)(hsc__hasher *h, const void *place);  // NULL = `bits` of the word that gathers them
  int bits;
} field_kinds[] = {
    [BOOL] = {NULL, bools_equal, NULL, 1},
    [ENUM] = {NULL, words_equal, NULL, 8},
    [INT32] = {NULL, words_equal, NULL, 32},
    [INT64] = {NULL, longs_equal, hash_long, 0},
    [FLOAT] = {NULL, floats_equal, hash_float, 0},
    [DIMS] = {copy_dims, dims_equal, hash_dims, 0},
    [TEXT] = {copy_text, texts_equal, hash_text, 0},
    [LITERAL] = {copy_literal, literals_equal, hash_literal, 0},
    [WINDOW] = {copy_window, windows_equal, hash_window, 0},
    [PADDING] = {copy_padding, paddings_equal, hash_padding, 0},
    [CONV_DIMS] = {copy_conv_dims, conv_dims_equal, hash_conv_dims, 0},
    [LAYOUTS] = {copy_layouts, layouts_equal, hash_layouts, 0},
};

typedef struct field {
  uint8_t kind;    // field_kind
  uint16_t place;  // offset in hsc_attr
} field;
enum { LAST = UINT8_MAX };

// clang-format off
#define MEMBER(name) static const field name##_fields[] = {
#define FIELD(kind, place) {kind, offsetof(hsc_attr, place)},
#define END(name) {LAST, 0}};
// clang-format on
#include "hlo/ir/attrs.def"
#undef MEMBER
#undef FIELD
#undef END

static const field *const fields_of[] = {
#define MEMBER(name) [HSC__ATTR_##name] = name##_fields,
#define FIELD(kind, place)
#define END(name)
#include "hlo/ir/attrs.def"
#undef MEMBER
#undef FIELD
#undef END
};

_Static_assert(sizeof(hsc_direction) == sizeof(int32_t), "an enum is read as 32 bits");

void hsc__attr_copy(hsc_arena *arena, hsc_op op, const hsc_attr *from, hsc_attr *to) {
  *to = *from;
  for (const field *f = fields_of[hsc__op_attr_kind(op)]; f->kind != LAST; f++)
    if (field_kinds[f->kind].copy)
      field_kinds[f->kind].copy(arena, (char *)to + f->place);
}

static bool own_equal(hsc_op op, const hsc_attr *a, const hsc_attr *b) {
  for (const field *f = fields_of[hsc__op_attr_kind(op)]; f->kind != LAST; f++)
    if (!field_kinds[f->kind].equal((const char *)a + f->place, (const char *)b + f->place))
      return false;
  return true;
}

bool hsc_attr_equal(const hsc_instr *a, const hsc_instr *b) {
  if (a->op != b->op || a->called_count != b->called_count || !own_equal(a->op, &a->attr, &b->attr))
    return false;
  if (!same_text(a->sharding, b->sharding) ||
      !same_text(a->frontend_attributes, b->frontend_attributes) ||
      !same_text(a->backend_config, b->backend_config) ||
      !same_text(a->extra_attributes, b->extra_attributes))
    return false;
  for (int i = 0; i < a->called_count; i++) {
    if (a->called[i] == b->called[i])
      continue;
    hsc_hash128 x = hsc_computation_fingerprint(a->called[i]);
    hsc_hash128 y = hsc_computation_fingerprint(b->called[i]);
    if (x.low != y.low || x.high != y.high)
      return false;
  }
  return true;
}

static uint64_t small_number(const field *f, const void *place) {
  if (f->kind == BOOL)
    return *(const bool *)place;
  uint32_t value;
  memcpy(&value, place, sizeof value);
  return value;
}

void hsc__hash_attr(hsc__hasher *h, hsc_op op, const hsc_attr *attr) {
  uint64_t gathered = 0;
  bool any = false;
  for (const field *f = fields_of[hsc__op_attr_kind(op)]; f->kind != LAST; f++) {
    const void *place = (const char *)attr + f->place;
    if (!field_kinds[f->kind].hash) {
      gathered = gathered << field_kinds[f->kind].bits | small_number(f, place);
      any = true;
      continue;
    }
    if (any)
      hsc__hash_u64(h, gathered);
    gathered = 0;
    any = false;
    field_kinds[f->kind].hash(h, place);
  }
  if (any)
    hsc__hash_u64(h, gathered);
}
