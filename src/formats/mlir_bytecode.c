// mlir_bytecode.c - MLIR bytecode (versions 0 to 6) with VHLO or StableHLO operations to the tree of mlir_ir.h.
//
// Container: magic, version, producer, sections (strings, dialects and operation names, attributes and types behind a table of sizes, operations,
// properties). Attributes and types are decoded when something asks for them, once. No length is believed before it is compared with what is
// left of its section; nesting is bounded; tables are as large as the bytes that describe them allow.
// Source: mlir/docs/BytecodeFormat.md; VHLO's encodings: stablehlo/dialect/VhloBytecode.cpp (numbers of attributes and types).
#include "formats/mlir_ir.h"

#include <stdlib.h>

enum {
  SECTION_STRING, SECTION_DIALECT, SECTION_ATTR_TYPE, SECTION_ATTR_TYPE_OFFSET, SECTION_IR, SECTION_RESOURCE, SECTION_RESOURCE_OFFSET,
  SECTION_DIALECT_VERSIONS, SECTION_PROPERTIES, SECTION_COUNT
};
enum { VERSION_DIALECT_VERSIONING = 1, VERSION_LAZY_LOADING = 2, VERSION_USE_LIST = 3, VERSION_ELIDE_LOCATION = 4, VERSION_PROPERTIES = 5, VERSION_NEWEST = 6 };
enum { OP_ATTRS = 1, OP_RESULTS = 2, OP_OPERANDS = 4, OP_SUCCESSORS = 8, OP_REGIONS = 16, OP_USE_LISTS = 32, OP_PROPERTIES = 64 };
enum { MAX_NESTING = 200 };

typedef struct cursor {
  const uint8_t *at, *end;
} cursor;

typedef struct entry {
  hsc_view data;
  const char *dialect;
  bool custom;                 // dialect's own encoding; else text
  bool busy;                   // being decoded: a cycle is damage
  void *decoded;
} entry;

typedef struct op_name {
  const char *dialect, *name;
  char *base;                  // without "_v1"
  const char *written;         // with its dialect
  int version;                 // of the VHLO operation; 0 = none
  const char *attrs;           // its properties in order; NULL = no table for it
  const hsc_view *attr_names;  // [attr_count], the words of attrs
  size_t attr_count;
  bool registered;
} op_name;

typedef struct property_set {  // properties of operations; many have the same
  hsc_view data;
  const op_name *of;           // whose they were read as; NULL = not read
  hsc__mlir_named *attrs;
  int32_t count;
} property_set;

typedef struct scope {         // values of one isolated region
  hsc__mlir_value **values;
  size_t count, capacity;
} scope;

typedef struct reader {
  hsc_arena *arena;
  const char *path;
  hsc_view whole;
  uint64_t version;
  cursor sections[SECTION_COUNT];
  bool present[SECTION_COUNT];
  hsc_view *strings;
  size_t string_count;
  const char **dialects;
  size_t dialect_count;
  op_name *op_names;
  size_t op_name_count;
  entry *attrs, *types;
  size_t attr_count, type_count;
  property_set *properties;
  size_t property_count;
  size_t values_announced;     // by all regions; each value takes a byte, so the file bounds them
  int nesting;
  hsc_status *status;          // first failure, sticky
} reader;

static const struct {
  const char *name;
  int version;
  const char *attrs;
} vhlo_ops[] = {
#define VHLO(name, version, major, minor, attrs) {name, version, attrs},
#include "formats/vhlo_ops.def"
#undef VHLO
};

static const struct {
  const char *name, *attrs;
} native_props[] = {
#define NATIVE(name, attrs) {name, attrs},
#include "formats/native_props.def"
#undef NATIVE
};

// ---- primitives -----------------------------------------------------------------------------------------------------------------

static void fail(reader *r, const cursor *c, const char *what) {
  if (r->status) return;
  size_t offset = c && c->at ? (size_t)((const char *)c->at - r->whole.data) : 0;
  r->status = hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "MLIR bytecode: %s (byte %zu)", what, offset), r->path, 0, 0, NULL);
}

static size_t left(const cursor *c) { return (size_t)(c->end - c->at); }

static uint8_t byte(reader *r, cursor *c) {
  if (r->status) return 0;
  if (c->at == c->end) return fail(r, c, "it ends in the middle of an element"), 0;
  return *c->at++;
}

static uint64_t long_varint(reader *r, cursor *c);
static inline uint64_t varint(reader *r, cursor *c) { return c->at < c->end && *c->at & 1 && !r->status ? *c->at++ >> 1 : long_varint(r, c); }

static uint64_t long_varint(reader *r, cursor *c) {
  uint8_t first = byte(r, c);
  if (first & 1) return first >> 1;
  int count = first ? __builtin_ctz(first) : 8;   // bytes that follow
  if (left(c) < (size_t)count) return fail(r, c, "it ends in the middle of a number"), 0;
  uint64_t value = 0;
  memcpy(&value, c->at, (size_t)count);
  c->at += count;
  if (count == 8) return value;
  return (value << (7 - count)) | (uint64_t)(first >> (count + 1));
}

static int64_t svarint(reader *r, cursor *c) {
  uint64_t value = varint(r, c);
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

// A count of things of which each takes at least `bytes_each` bytes of what is left.
static size_t count_of(reader *r, cursor *c, size_t bytes_each) {
  uint64_t count = varint(r, c);
  if (r->status) return 0;
  if (count > left(c) / (bytes_each ? bytes_each : 1)) return fail(r, c, "a count is larger than what is left"), 0;
  return (size_t)count;
}

static hsc_view take(reader *r, cursor *c, uint64_t size) {
  if (r->status) return (hsc_view){"", 0};
  if (size > left(c)) return fail(r, c, "a length is larger than what is left"), (hsc_view){"", 0};
  hsc_view view = {(const char *)c->at, (size_t)size};
  c->at += size;
  return view;
}

static cursor cursor_of(hsc_view view) { return (cursor){(const uint8_t *)view.data, (const uint8_t *)view.data + view.size}; }

static cursor section(reader *r, cursor *c, int *out_id) {
  uint8_t id = byte(r, c);
  uint64_t length = varint(r, c);
  if (id & 0x80) {
    uint64_t alignment = varint(r, c);
    if (!r->status && (alignment == 0 || (alignment & (alignment - 1)) || alignment > 1 << 20)) fail(r, c, "a section's alignment is no power of two");
    // Padding brings the data to a multiple of the alignment from the start of the file.
    while (!r->status && ((size_t)((const char *)c->at - r->whole.data) & (alignment - 1))) byte(r, c);
  }
  *out_id = id & 0x7f;
  return cursor_of(take(r, c, length));
}

// NULL once something failed: counts are checked before, and a failed check says nothing about the count.
static void *make(reader *r, size_t size, size_t count) {
  if (r->status) return NULL;
  void *memory = hsc_arena_alloc_array(r->arena, size, count ? count : 1);
  if (!memory) r->status = hsc_status_out_of_memory();
  return memory;
}

static hsc_view string_at(reader *r, const cursor *c, uint64_t index) {
  if (r->status) return (hsc_view){"", 0};
  if (index >= r->string_count) return fail(r, c, "there is no such string"), (hsc_view){"", 0};
  return r->strings[index];
}

static const char *text_of(reader *r, hsc_view view) {
  char *text = hsc_arena_strndup(r->arena, view.data, view.size);
  if (!text && !r->status) r->status = hsc_status_out_of_memory();
  return text ? text : "";
}

// ---- sections -------------------------------------------------------------------------------------------------------------------

static void read_strings(reader *r) {
  cursor *c = &r->sections[SECTION_STRING];
  size_t count = count_of(r, c, 1);
  r->strings = make(r, sizeof *r->strings, count);
  if (r->status) return;
  r->string_count = count;
  const uint8_t *end = c->end;
  for (size_t i = count; i-- > 0;) {   // sizes come in reverse order, each with its terminating zero
    uint64_t size = varint(r, c);
    if (r->status) return;
    if (size == 0 || end < c->at || size > (uint64_t)(end - c->at)) return fail(r, c, "a string is longer than its section");
    end -= size;
    r->strings[i] = (hsc_view){(const char *)end, (size_t)size - 1};
  }
}

static void name_op(reader *r, op_name *name, hsc_view text) {
  name->name = text_of(r, text);
  name->base = hsc_arena_strndup(r->arena, text.data, text.size);
  name->written = hsc_arena_printf(r->arena, "%s.%s", name->dialect, name->name);
  if (!name->base || !name->written) return;
  char *suffix = strrchr(name->base, '_');
  if (!strcmp(name->dialect, "vhlo") && suffix && suffix[1] == 'v' && suffix[2] >= '0' && suffix[2] <= '9') {
    name->version = atoi(suffix + 2);
    *suffix = 0;
    for (size_t i = 0; i < HSC_COUNT_OF(vhlo_ops); i++)
      if (vhlo_ops[i].version == name->version && !strcmp(vhlo_ops[i].name, name->base)) name->attrs = vhlo_ops[i].attrs;
  }
  const char *attrs = name->attrs;
  if (!attrs || !*attrs) return;
  size_t count = 1;
  for (const char *at = attrs; *at; at++) count += *at == ' ';
  hsc_view *words = make(r, sizeof *words, count);
  if (r->status) return;
  for (const char *at = attrs; *at; at += *at == ' ') {
    size_t length = strcspn(at, " ");
    words[name->attr_count++] = (hsc_view){at, length};
    at += length;
  }
  name->attr_names = words;
}

static void read_dialects(reader *r) {
  cursor *c = &r->sections[SECTION_DIALECT];
  r->dialect_count = count_of(r, c, 1);
  r->dialects = make(r, sizeof *r->dialects, r->dialect_count);
  for (size_t i = 0; i < r->dialect_count && !r->status; i++) {
    uint64_t index = varint(r, c);
    bool versioned = false;
    if (r->version >= VERSION_DIALECT_VERSIONING) versioned = index & 1, index >>= 1;
    r->dialects[i] = text_of(r, string_at(r, c, index));
    int id;
    if (versioned) section(r, c, &id);
  }
  size_t capacity = r->version >= VERSION_ELIDE_LOCATION ? count_of(r, c, 1) : left(c);
  r->op_names = make(r, sizeof *r->op_names, capacity);
  while (!r->status && left(c)) {
    uint64_t dialect = varint(r, c);
    size_t count = count_of(r, c, 1);
    if (!r->status && dialect >= r->dialect_count) fail(r, c, "there is no such dialect");
    for (size_t i = 0; i < count && !r->status; i++) {
      uint64_t index = varint(r, c);
      if (r->op_name_count == capacity) return fail(r, c, "more operation names than announced");
      op_name *name = &r->op_names[r->op_name_count++];
      name->dialect = r->dialects[dialect];
      if (r->version >= VERSION_PROPERTIES) name->registered = index & 1, index >>= 1;
      name_op(r, name, string_at(r, c, index));
    }
  }
}

static void read_entries(reader *r, cursor *sizes, cursor *data, entry *entries, size_t count) {
  for (size_t done = 0; done < count && !r->status;) {
    uint64_t dialect = varint(r, sizes);
    size_t group = count_of(r, sizes, 1);
    if (!r->status && (dialect >= r->dialect_count || group == 0 || group > count - done)) return fail(r, sizes, "a group of attributes or types does not fit");
    for (size_t i = 0; i < group && !r->status; i++, done++) {
      uint64_t size = varint(r, sizes);
      entries[done].custom = size & 1;
      entries[done].dialect = r->dialects[dialect];
      entries[done].data = take(r, data, size >> 1);
    }
  }
}

static void read_attr_table(reader *r) {
  cursor *sizes = &r->sections[SECTION_ATTR_TYPE_OFFSET], *data = &r->sections[SECTION_ATTR_TYPE];
  r->attr_count = count_of(r, sizes, 1);
  r->type_count = count_of(r, sizes, 1);
  r->attrs = make(r, sizeof *r->attrs, r->attr_count);
  r->types = make(r, sizeof *r->types, r->type_count);
  if (r->status) return;
  read_entries(r, sizes, data, r->attrs, r->attr_count);
  read_entries(r, sizes, data, r->types, r->type_count);
}

static void read_properties(reader *r) {
  cursor *c = &r->sections[SECTION_PROPERTIES];
  if (!r->present[SECTION_PROPERTIES] || !left(c)) return;
  size_t count = count_of(r, c, 1);
  r->properties = make(r, sizeof *r->properties, count);
  if (r->status) return;
  for (; r->property_count < count && !r->status; r->property_count++) r->properties[r->property_count].data = take(r, c, varint(r, c));
}

// ---- types ----------------------------------------------------------------------------------------------------------------------

static const hsc__mlir_type *type_at(reader *r, const cursor *c, uint64_t index);
static const hsc__mlir_attr *attr_at(reader *r, const cursor *c, uint64_t index);

static void element(hsc__mlir_type *type, hsc_type element_type) {
  type->kind = HSC_MLIR_ELEMENT;
  type->shape = hsc_shape_scalar(element_type);
}

static void read_type_list(reader *r, cursor *c, hsc__mlir_type *type, bool append) {
  size_t count = count_of(r, c, 1), before = append ? (size_t)type->element_count : 0;
  const hsc__mlir_type **list = make(r, sizeof *list, before + count);
  if (r->status) return;
  if (before) memcpy(list, type->elements, before * sizeof *list);
  for (size_t i = 0; i < count; i++) list[before + i] = type_at(r, c, varint(r, c));
  type->elements = list;
  type->element_count = (int32_t)(before + count);
}

static void read_tensor(reader *r, cursor *c, hsc__mlir_type *type, bool encoding) {
  type->kind = HSC_MLIR_TENSOR;
  const hsc__mlir_attr *extension = encoding ? attr_at(r, c, varint(r, c)) : NULL;
  size_t rank = count_of(r, c, 1);
  if (!r->status && rank > HSC_MAX_RANK) return fail(r, c, "a tensor has more than 32 dimensions");
  int64_t *dims = make(r, sizeof *dims, rank);
  bool *dynamic = make(r, sizeof *dynamic, rank), any = false;
  for (size_t i = 0; i < rank && !r->status; i++) {
    dims[i] = svarint(r, c);
    if (dims[i] >= 0) continue;
    dynamic[i] = any = true;   // the bound is in the encoding
    dims[i] = extension && extension->kind == HSC_MLIR_ARRAY && (int32_t)i < extension->count ? extension->elements[i]->integer : 0;
    if (dims[i] <= 0) dims[i] = 0;
  }
  const hsc__mlir_type *of = type_at(r, c, varint(r, c));
  if (r->status) return;
  if (of->kind == HSC_MLIR_INDEX && !any) {   // layouts
    type->shape = (hsc_shape){.type = HSC_TYPE_S64, .rank = (int32_t)rank, .dims = dims};
    type->text = "index";
  } else if (of->kind == HSC_MLIR_ELEMENT) {
    type->shape = (hsc_shape){.type = of->shape.type, .rank = (int32_t)rank, .dims = dims, .dynamic = any ? dynamic : NULL};
  } else {
    type->kind = HSC_MLIR_OTHER;
    type->text = "a tensor of something that is no element type";
    return;
  }
  size_t bytes = hsc_type_bytes(type->shape.type);
  for (size_t i = 0; i < rank; i++)
    if (!hsc_mul_size(bytes, (size_t)dims[i] ? (size_t)dims[i] : 1, &bytes) || bytes > (size_t)INT64_MAX) return fail(r, c, "a tensor is larger than memory can be");
}

static const hsc_type vhlo_elements[] = {
#define VHLO_TYPE(number, type, major, minor) [number] = HSC_TYPE_##type,
#include "formats/vhlo_types.def"
#undef VHLO_TYPE
};

static void read_complex(reader *r, cursor *c, hsc__mlir_type *type) {
  const hsc__mlir_type *of = type_at(r, c, varint(r, c));
  if (r->status) return;
  if (of->kind != HSC_MLIR_ELEMENT || (of->shape.type != HSC_TYPE_F32 && of->shape.type != HSC_TYPE_F64)) return fail(r, c, "a complex number of something that is neither f32 nor f64");
  element(type, of->shape.type == HSC_TYPE_F32 ? HSC_TYPE_C64 : HSC_TYPE_C128);
}

static void decode_vhlo_type(reader *r, cursor *c, hsc__mlir_type *type) {
  uint64_t code = varint(r, c);
  if (code < HSC_COUNT_OF(vhlo_elements) && vhlo_elements[code] != HSC_TYPE_INVALID) {
    element(type, vhlo_elements[code]);
    return;
  }
  switch (code) {
    case 1: read_complex(r, c, type); break;
    case 8:
      type->kind = HSC_MLIR_FUNCTION;
      read_type_list(r, c, type, false);
      type->input_count = type->element_count;
      read_type_list(r, c, type, true);
      break;
    case 9: type->kind = HSC_MLIR_INDEX; break;
    case 20: case 21: read_tensor(r, c, type, code == 21); break;
    case 22: type->kind = HSC_MLIR_TOKEN; break;
    case 23:
      type->kind = HSC_MLIR_TUPLE;
      read_type_list(r, c, type, false);
      break;
    case 25: type->kind = HSC_MLIR_UNRANKED; break;
    case 33: type->kind = HSC_MLIR_NONE; break;
    case 34: type->kind = HSC_MLIR_OTHER, type->text = "tf32"; break;
    default:
      type->kind = HSC_MLIR_OTHER;
      type->text = code == 24 || code == 30 ? "a quantised type" : code == 26 ? "a witness" : "a VHLO type that this version does not know";
  }
}

static void decode_builtin_type(reader *r, cursor *c, hsc__mlir_type *type) {
  uint64_t code = varint(r, c);
  switch (code) {
    case 0: {
      uint64_t value = varint(r, c), width = value >> 2, sign = value & 3;   // 0 signless, 1 signed, 2 unsigned
      static const struct {
        uint64_t width;
        hsc_type is_signed, is_unsigned;
      } integers[] = {{1, HSC_TYPE_PRED, HSC_TYPE_PRED}, {2, HSC_TYPE_S2, HSC_TYPE_U2}, {4, HSC_TYPE_S4, HSC_TYPE_U4}, {8, HSC_TYPE_S8, HSC_TYPE_U8},
                      {16, HSC_TYPE_S16, HSC_TYPE_U16}, {32, HSC_TYPE_S32, HSC_TYPE_U32}, {64, HSC_TYPE_S64, HSC_TYPE_U64}};
      type->kind = HSC_MLIR_OTHER;
      type->text = "an integer of a width that HLO does not have";
      for (size_t i = 0; i < HSC_COUNT_OF(integers); i++)
        if (integers[i].width == width) element(type, sign == 2 ? integers[i].is_unsigned : integers[i].is_signed);
      break;
    }
    case 1: type->kind = HSC_MLIR_INDEX; break;
    case 2:
      type->kind = HSC_MLIR_FUNCTION;
      read_type_list(r, c, type, false);
      type->input_count = type->element_count;
      read_type_list(r, c, type, true);
      break;
    case 3: element(type, HSC_TYPE_BF16); break;
    case 4: element(type, HSC_TYPE_F16); break;
    case 5: element(type, HSC_TYPE_F32); break;
    case 6: element(type, HSC_TYPE_F64); break;
    case 9: read_complex(r, c, type); break;
    case 12: type->kind = HSC_MLIR_NONE; break;
    case 13: case 14: read_tensor(r, c, type, code == 14); break;
    case 15:
      type->kind = HSC_MLIR_TUPLE;
      read_type_list(r, c, type, false);
      break;
    case 18: type->kind = HSC_MLIR_UNRANKED; break;
    default:
      type->kind = HSC_MLIR_OTHER;
      type->text = "a builtin type that HLO does not have";
  }
}

// Types without an encoding of their own come as text: f8 types, !stablehlo.token.
static void decode_text_type(reader *r, hsc_view text, hsc__mlir_type *type) {
  static const struct {
    const char *text;
    hsc_type type;
  } floats[] = {{"f8E4M3FN", HSC_TYPE_F8E4M3FN}, {"f8E5M2", HSC_TYPE_F8E5M2}, {"f8E4M3FNUZ", HSC_TYPE_F8E4M3FNUZ}, {"f8E5M2FNUZ", HSC_TYPE_F8E5M2FNUZ},
                {"f8E4M3B11FNUZ", HSC_TYPE_F8E4M3B11FNUZ}, {"f8E4M3", HSC_TYPE_F8E4M3}, {"f8E3M4", HSC_TYPE_F8E3M4}, {"f4E2M1FN", HSC_TYPE_F4E2M1FN}, {"f8E8M0FNU", HSC_TYPE_F8E8M0FNU}};
  if (text.size && text.data[text.size - 1] == 0) text.size--;
  type->kind = HSC_MLIR_OTHER;
  type->text = text_of(r, text);
  if (hsc_view_equals_text(text, "!stablehlo.token")) type->kind = HSC_MLIR_TOKEN;
  for (size_t i = 0; i < HSC_COUNT_OF(floats); i++)
    if (hsc_view_equals_text(text, floats[i].text)) element(type, floats[i].type);
}

static const hsc__mlir_type nothing = {.kind = HSC_MLIR_NONE};

static const hsc__mlir_type *type_at(reader *r, const cursor *c, uint64_t index) {
  if (r->status) return &nothing;
  if (index >= r->type_count) return fail(r, c, "there is no such type"), &nothing;
  entry *e = &r->types[index];
  if (e->decoded) return e->decoded;
  if (e->busy || r->nesting >= MAX_NESTING) return fail(r, c, "types are nested too deeply"), &nothing;
  hsc__mlir_type *type = make(r, sizeof *type, 1);
  if (r->status) return &nothing;
  e->busy = true;
  r->nesting++;
  cursor data = cursor_of(e->data);
  if (!e->custom) decode_text_type(r, e->data, type);
  else if (!strcmp(e->dialect, "vhlo")) decode_vhlo_type(r, &data, type);
  else if (!strcmp(e->dialect, "builtin")) decode_builtin_type(r, &data, type);
  else if (!strcmp(e->dialect, "stablehlo") && varint(r, &data) == 0) type->kind = HSC_MLIR_TOKEN;
  else type->kind = HSC_MLIR_OTHER, type->text = e->dialect;
  r->nesting--;
  e->busy = false;
  e->decoded = type;
  return type;
}

// ---- attributes -----------------------------------------------------------------------------------------------------------------

static const hsc__mlir_attr no_attr = {.kind = HSC_MLIR_UNKNOWN};

// An integer of a known width: one byte up to 8 bits, else zigzag; wider ones do not occur.
static uint64_t known_width(reader *r, cursor *c, int bits) {
  if (bits <= 8) return byte(r, c);
  return (uint64_t)svarint(r, c);
}

static int64_t sign_extend(uint64_t value, int bits) { return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits); }

static void read_integer(reader *r, cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_INT;
  attr->type = type_at(r, c, varint(r, c));
  if (r->status) return;
  int bits = attr->type->kind == HSC_MLIR_INDEX ? 64 : attr->type->kind == HSC_MLIR_ELEMENT ? hsc_type_bits(attr->type->shape.type) : 64;
  bool is_pred = attr->type->kind == HSC_MLIR_ELEMENT && attr->type->shape.type == HSC_TYPE_PRED;
  uint64_t value = known_width(r, c, is_pred ? 1 : bits);
  if (is_pred) {
    attr->kind = HSC_MLIR_BOOL;
    attr->integer = value & 1;
    return;
  }
  bool is_unsigned = attr->type->kind == HSC_MLIR_ELEMENT && hsc_type_class_of(attr->type->shape.type) == HSC_CLASS_UNSIGNED;
  attr->integer = is_unsigned && bits < 64 ? (int64_t)(value & ((1ull << bits) - 1)) : sign_extend(value, bits);
}

static void read_float(reader *r, cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_FLOAT;
  attr->type = type_at(r, c, varint(r, c));
  if (r->status) return;
  if (attr->type->kind != HSC_MLIR_ELEMENT || !hsc_type_is_float(attr->type->shape.type)) return fail(r, c, "a float attribute has no float type");
  uint64_t bits = known_width(r, c, hsc_type_bits(attr->type->shape.type));
  attr->number = hsc_float_decode(attr->type->shape.type, bits);
}

static void read_attr_list(reader *r, cursor *c, hsc__mlir_attr *attr) {
  size_t count = count_of(r, c, 1);
  attr->elements = make(r, sizeof *attr->elements, count);
  if (r->status) return;
  for (size_t i = 0; i < count; i++) attr->elements[i] = attr_at(r, c, varint(r, c));
  attr->count = (int32_t)count;
}

static void read_dict(reader *r, cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_DICT;
  size_t count = count_of(r, c, 2);
  hsc__mlir_named *entries = make(r, sizeof *entries, count);
  if (r->status) return;
  for (size_t i = 0; i < count && !r->status; i++) {
    const hsc__mlir_attr *name = attr_at(r, c, varint(r, c));
    entries[i] = (hsc__mlir_named){name->text, attr_at(r, c, varint(r, c))};
  }
  attr->entries = entries;
  attr->count = (int32_t)count;
}

// Predicates are packed eight to a byte, a splat is one byte of all ones or zero; older writers used one byte each.
static void unpack_bools(reader *r, cursor *c, hsc__mlir_attr *attr) {
  size_t elements = (size_t)hsc_shape_elements(&attr->type->shape), packed = elements / 8 + (elements % 8 != 0);
  hsc_view blob = attr->data;
  if (elements > 1 && blob.size == 1 && (uint8_t)blob.data[0] == 0xff) {
    attr->data = HSC_VIEW("\1");
    return;
  }
  if (blob.size != packed || blob.size == elements) {
    if (elements == 1 && blob.size == 1) attr->data = blob.data[0] ? HSC_VIEW("\1") : HSC_VIEW("\0");
    return;
  }
  if (elements > (blob.size + 1) * 8) return fail(r, c, "a tensor of predicates is too short");
  char *bytes = make(r, 1, elements);
  if (r->status) return;
  for (size_t i = 0; i < elements; i++) bytes[i] = (blob.data[i / 8] >> (i % 8)) & 1;
  attr->data = (hsc_view){bytes, elements};
}

static void read_dense(reader *r, cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_DENSE;
  attr->type = type_at(r, c, varint(r, c));
  if (r->status) return;
  attr->data = take(r, c, varint(r, c));
  if (!r->status && attr->type->kind != HSC_MLIR_TENSOR) {   // of vectors, indices and the like: an error only where it is needed
    attr->kind = HSC_MLIR_UNKNOWN;
    return;
  }
  if (!r->status && attr->type->shape.type == HSC_TYPE_PRED) unpack_bools(r, c, attr);
  if (r->status) return;
  size_t bytes = (size_t)hsc_shape_bytes(&attr->type->shape), one = hsc_type_bytes(attr->type->shape.type);
  if (attr->data.size != bytes && attr->data.size != one) fail(r, c, "a dense attribute's data does not fit its type");
}

static void read_dense_array(reader *r, cursor *c, hsc__mlir_attr *attr) {
  const hsc__mlir_type *of = type_at(r, c, varint(r, c));
  size_t count = count_of(r, c, 1);
  hsc_view blob = take(r, c, varint(r, c));
  if (r->status) return;
  if (of->kind != HSC_MLIR_ELEMENT || blob.size != count * hsc_type_bytes(of->shape.type)) return fail(r, c, "an array attribute's data does not fit its type");
  int64_t *dims = make(r, sizeof *dims, 1);
  hsc__mlir_type *type = make(r, sizeof *type, 1);
  if (r->status) return;
  dims[0] = (int64_t)count;
  *type = (hsc__mlir_type){.kind = HSC_MLIR_TENSOR, .shape = {.type = of->shape.type, .rank = 1, .dims = dims}};
  attr->kind = HSC_MLIR_DENSE;
  attr->type = type;
  attr->data = blob;
}

static void print_indices(reader *r, cursor *c, hsc_bytes *out) {
  size_t count = count_of(r, c, 1);
  hsc_bytes_append_char(out, '{');
  for (size_t i = 0; i < count && !r->status; i++) hsc_bytes_printf(out, "%s%lld", i ? ", " : "", (long long)svarint(r, c));
  hsc_bytes_append_char(out, '}');
}

// {output}: (operand, {operand indices})
static void read_alias(reader *r, cursor *c, hsc__mlir_attr *attr) {
  hsc_bytes text = {0};
  print_indices(r, c, &text);
  hsc_bytes_printf(&text, ": (%lld, ", (long long)svarint(r, c));
  print_indices(r, c, &text);
  hsc_bytes_append_char(&text, ')');
  attr->kind = HSC_MLIR_ALIAS;
  attr->text = hsc_view_of(text_of(r, hsc_bytes_view(&text)));
  hsc_bytes_deinit(&text);
}

static void read_int_list(reader *r, cursor *c, hsc__mlir_attr *attr) {
  size_t count = count_of(r, c, 1);
  attr->kind = HSC_MLIR_ARRAY;
  attr->elements = make(r, sizeof *attr->elements, count);
  hsc__mlir_attr *numbers = make(r, sizeof *numbers, count);
  if (r->status) return;
  for (size_t i = 0; i < count && !r->status; i++) {
    numbers[i] = (hsc__mlir_attr){.kind = HSC_MLIR_INT, .integer = svarint(r, c)};
    attr->elements[i] = &numbers[i];
  }
  attr->count = (int32_t)count;
}

static void decode_vhlo_attr(reader *r, cursor *c, hsc__mlir_attr *attr) {
  uint64_t code = varint(r, c);
  switch (code) {
    case 1:
      attr->kind = HSC_MLIR_ARRAY;
      read_attr_list(r, c, attr);
      break;
    case 2:
      attr->kind = HSC_MLIR_BOOL;
      attr->integer = varint(r, c) != 0;
      break;
    case 3: case 4: case 5: case 7: case 11: case 12: case 13: case 16: case 19:
      attr->kind = HSC_MLIR_ENUM;
      attr->integer = (int64_t)varint(r, c);
      break;
    case 6: read_dict(r, c, attr); break;
    case 8: read_float(r, c, attr); break;
    case 9: read_integer(r, c, attr); break;
    case 10: read_alias(r, c, attr); break;
    case 14:
      attr->kind = HSC_MLIR_STRING;
      attr->text = string_at(r, c, varint(r, c));
      break;
    case 15: read_dense(r, c, attr); break;
    case 17:
      attr->kind = HSC_MLIR_TYPE;
      attr->type = type_at(r, c, varint(r, c));
      break;
    case 20: {   // accuracy of a result: tolerances as bits of f64, ulps, mode
      hsc__mlir_attr *parts = make(r, sizeof *parts, 3);
      attr->elements = make(r, sizeof *attr->elements, 4);
      if (r->status) return;
      for (int i = 0; i < 2; i++) parts[i] = (hsc__mlir_attr){.kind = HSC_MLIR_FLOAT, .number = hsc_float_decode(HSC_TYPE_F64, (uint64_t)svarint(r, c))};
      parts[2] = (hsc__mlir_attr){.kind = HSC_MLIR_INT, .integer = svarint(r, c)};
      for (int i = 0; i < 3; i++) attr->elements[i] = &parts[i];
      attr->elements[3] = attr_at(r, c, varint(r, c));
      attr->count = 4;
      attr->kind = HSC_MLIR_ACCURACY;
      break;
    }
    case 18: read_int_list(r, c, attr); break;   // bounds of dynamic dimensions
    default: attr->kind = HSC_MLIR_UNKNOWN;   // meshes: an error only where they are needed
  }
}

// What StableHLO's enumerations and structures are outside of portable artifacts; structures with VHLO's names for their parts. Where a part is one
// number and not a list, its name starts with '='; '!' is a type.
static void read_parts(reader *r, cursor *c, hsc__mlir_attr *attr, const char *const *names, int count) {
  hsc__mlir_named *entries = make(r, sizeof *entries, (size_t)count);
  attr->kind = HSC_MLIR_DICT;
  attr->entries = entries;
  for (int i = 0; i < count && !r->status; i++) {
    hsc__mlir_attr *part = make(r, sizeof *part, 1);
    if (r->status) return;
    const char *name = names[i];
    if (*name == '=') {
      name++;
      part->kind = HSC_MLIR_INT;
      part->integer = svarint(r, c);
    } else if (*name == '!') {
      name++;
      part->kind = HSC_MLIR_TYPE;
      part->type = type_at(r, c, varint(r, c));
    } else {
      read_int_list(r, c, part);
    }
    entries[attr->count++] = (hsc__mlir_named){hsc_view_of(name), part};
  }
}

static void decode_native_attr(reader *r, cursor *c, hsc__mlir_attr *attr) {
  static const char *const channel[] = {"=channel_id", "=channel_type"};
  static const char *const conv[] = {"=input_batch_dimension", "=input_feature_dimension", "input_spatial_dimensions", "=kernel_input_feature_dimension", "=kernel_output_feature_dimension",
                                     "kernel_spatial_dimensions", "=output_batch_dimension", "=output_feature_dimension", "output_spatial_dimensions"};
  static const char *const dot[] = {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions"};
  static const char *const gather[] = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map", "=index_vector_dim"};
  static const char *const scatter[] = {"update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "=index_vector_dim"};
  static const char *const algorithm[] = {"!lhs_precision_type", "!rhs_precision_type", "!accumulation_type", "=lhs_component_count", "=rhs_component_count", "=num_primitive_operations"};
#define PARTS(names) read_parts(r, c, attr, names, (int)HSC_COUNT_OF(names))
  uint64_t code = varint(r, c);
  switch (code) {
    case 1: PARTS(channel); break;
    case 2: case 3: case 6: case 8: case 9: case 10: case 12: case 16:
      attr->kind = HSC_MLIR_ENUM;
      attr->integer = (int64_t)varint(r, c);
      break;
    case 4: PARTS(conv); break;
    case 5: PARTS(dot); break;
    case 7: PARTS(gather); break;
    case 11: PARTS(scatter); break;
    case 13: read_int_list(r, c, attr); break;
    case 14: read_alias(r, c, attr); break;
    case 15: {
      PARTS(algorithm);
      hsc__mlir_named *entries = make(r, sizeof *entries, (size_t)attr->count + 1);
      hsc__mlir_attr *imprecise = make(r, sizeof *imprecise, 1);
      if (r->status) return;
      memcpy(entries, attr->entries, (size_t)attr->count * sizeof *entries);
      *imprecise = (hsc__mlir_attr){.kind = HSC_MLIR_BOOL, .integer = byte(r, c) != 0};
      entries[attr->count++] = (hsc__mlir_named){hsc_view_of("allow_imprecise_accumulation"), imprecise};
      attr->entries = entries;
      break;
    }
    default: attr->kind = HSC_MLIR_UNKNOWN;   // accuracies and meshes: an error only where they are needed
  }
#undef PARTS
}

// Shardy's own encoding (shardy/dialect/sdy/ir/bytecode.td); how it is kept: sdy_internal.h.
static void decode_sdy_attr(reader *r, cursor *c, hsc__mlir_attr *attr) {
  uint64_t code = varint(r, c);
  attr->kind = HSC_MLIR_ARRAY;
  attr->column = (int64_t)code;
  switch (code) {
    case 0: case 7: case 11: case 12: read_attr_list(r, c, attr); break;
    case 16: read_attr_list(r, c, attr), attr->column = 7; break;
    case 1:   // an axis of a mesh
      attr->kind = HSC_MLIR_STRING;
      attr->text = string_at(r, c, varint(r, c));
      attr->integer = svarint(r, c);
      break;
    case 2: {
      read_attr_list(r, c, attr);
      size_t count = count_of(r, c, 1);
      int64_t *ids = make(r, sizeof *ids, count);
      for (size_t i = 0; i < count && !r->status; i++) ids[i] = svarint(r, c);
      if (!r->status) attr->data = (hsc_view){(const char *)ids, count * sizeof *ids};
      break;
    }
    case 4: {   // an axis, or a part of one
      attr->kind = HSC_MLIR_STRING;
      attr->text = string_at(r, c, varint(r, c));
      attr->count = (int32_t)(varint(r, c) & 1);
      break;
    }
    case 5: read_attr_list(r, c, attr), attr->integer = byte(r, c); break;   // then a priority
    case 6: case 15: case 17: {
      const hsc__mlir_attr *mesh = attr_at(r, c, varint(r, c)), ignored = {0};
      hsc__mlir_attr replicated = ignored, unreduced = ignored;
      if (mesh->kind == HSC_MLIR_SYMBOL) attr->text = mesh->text;
      read_attr_list(r, c, attr);
      read_attr_list(r, c, &replicated);
      if (code != 6) read_attr_list(r, c, &unreduced);
      attr->integer = unreduced.count;
      if (unreduced.count && !r->status) {   // behind the dimensions, where `count` does not reach
        hsc__mlir_attr **list = make(r, sizeof *list, (size_t)attr->count + 1), *last = make(r, sizeof *last, 1);
        if (r->status) return;
        for (int i = 0; i < attr->count; i++) list[i] = (hsc__mlir_attr *)(uintptr_t)attr->elements[i];
        *last = unreduced;
        list[attr->count] = last;
        attr->elements = (const hsc__mlir_attr **)(uintptr_t)list;
      }
      break;
    }
    default: attr->kind = HSC_MLIR_UNKNOWN;
  }
}

static void decode_location(reader *r, cursor *c, hsc__mlir_attr *attr, uint64_t code) {
  attr->kind = HSC_MLIR_LOCATION;
  switch (code) {
    case 10: {   // call site: callee, caller
      const hsc__mlir_attr **children = make(r, sizeof *children, 2);
      if (r->status) return;
      for (int i = 0; i < 2; i++) children[i] = attr_at(r, c, varint(r, c));
      attr->elements = children;
      attr->count = 2;
      break;
    }
    case 11:   // file:line:column; `type` stays NULL, the text is a file
      attr->text = attr_at(r, c, varint(r, c))->text;
      attr->integer = (int64_t)varint(r, c);
      attr->column = (int64_t)varint(r, c);
      break;
    case 12: case 13: read_attr_list(r, c, attr); break;
    case 14: {   // name, child
      const hsc__mlir_attr **children = make(r, sizeof *children, 1);
      attr->text = attr_at(r, c, varint(r, c))->text;
      if (r->status) return;
      children[0] = attr_at(r, c, varint(r, c));
      attr->elements = children;
      attr->count = 1;
      attr->column = -1;   // a name, not a file
      break;
    }
    default: break;
  }
}

static void decode_builtin_attr(reader *r, cursor *c, hsc__mlir_attr *attr) {
  uint64_t code = varint(r, c);
  switch (code) {
    case 0:
      attr->kind = HSC_MLIR_ARRAY;
      read_attr_list(r, c, attr);
      break;
    case 1: read_dict(r, c, attr); break;
    case 2: case 3:
      attr->kind = HSC_MLIR_STRING;
      attr->text = string_at(r, c, varint(r, c));
      break;
    case 4: case 5:
      attr->kind = HSC_MLIR_SYMBOL;
      attr->text = attr_at(r, c, varint(r, c))->text;
      break;
    case 6:
      attr->kind = HSC_MLIR_TYPE;
      attr->type = type_at(r, c, varint(r, c));
      break;
    case 7: attr->kind = HSC_MLIR_UNIT; break;
    case 8: read_integer(r, c, attr); break;
    case 9: read_float(r, c, attr); break;
    case 10: case 11: case 12: case 13: case 14: case 15: decode_location(r, c, attr, code); break;
    case 17: read_dense_array(r, c, attr); break;
    case 18: read_dense(r, c, attr); break;
    default: attr->kind = HSC_MLIR_UNKNOWN;
  }
}

static const hsc__mlir_attr *attr_at(reader *r, const cursor *c, uint64_t index) {
  if (r->status) return &no_attr;
  if (index >= r->attr_count) return fail(r, c, "there is no such attribute"), &no_attr;
  entry *e = &r->attrs[index];
  if (e->decoded) return e->decoded;
  if (e->busy || r->nesting >= MAX_NESTING) return fail(r, c, "attributes are nested too deeply"), &no_attr;
  hsc__mlir_attr *attr = make(r, sizeof *attr, 1);
  if (r->status) return &no_attr;
  e->busy = true;
  r->nesting++;
  cursor data = cursor_of(e->data);
  attr->kind = HSC_MLIR_UNKNOWN;
  if (!e->custom) attr->text = e->data;
  else if (!strcmp(e->dialect, "vhlo")) decode_vhlo_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "builtin")) decode_builtin_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "sdy")) decode_sdy_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "stablehlo")) decode_native_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "chlo")) {   // comparison direction and type
    attr->kind = HSC_MLIR_ENUM;
    varint(r, &data);
    attr->integer = (int64_t)varint(r, &data);
  }
  r->nesting--;
  e->busy = false;
  e->decoded = attr;
  if (attr->kind == HSC_MLIR_UNKNOWN && !attr->text.size && !r->status) {   // named where it is kept as text
    const char *name = hsc_arena_printf(r->arena, "#%s<...>", e->dialect);
    attr->text = name ? hsc_view_of(name) : attr->text;
  }
  return attr;
}

// ---- operations -----------------------------------------------------------------------------------------------------------------

static hsc__mlir_block *read_region(reader *r, cursor *c, hsc__mlir_op *parent, scope *values);

// A place in a scope; forward references make the value before its definition.
static hsc__mlir_value **place(reader *r, const cursor *c, scope *values, uint64_t index) {
  static hsc__mlir_value *nowhere;
  if (r->status) return &nowhere;
  if (index >= values->count) return fail(r, c, "there is no such value"), &nowhere;
  return &values->values[index];
}

static bool grow(reader *r, const cursor *c, scope *values, uint64_t count) {
  // Each value is a result or an argument, which takes at least a byte.
  if (r->status) return false;
  if (count > left(c) + 1 || count > r->whole.size - r->values_announced) return fail(r, c, "more values than the region can hold"), false;
  r->values_announced += (size_t)count;
  if (values->count + count > values->capacity) {
    size_t capacity = values->capacity ? values->capacity : 64;
    while (capacity < values->count + count) capacity *= 2;
    hsc__mlir_value **list = make(r, sizeof *list, capacity);
    if (r->status) return false;
    if (values->count) memcpy(list, values->values, values->count * sizeof *list);
    values->values = list;
    values->capacity = capacity;
  }
  if (count) memset(values->values + values->count, 0, (size_t)count * sizeof *values->values);
  values->count += (size_t)count;
  return true;
}

// Puts `value` at the next number of its region. A forward reference got a value of its own before: operands hold pointers to slots, so both are one.
static void define(reader *r, const cursor *c, scope *values, uint64_t *next, uint64_t limit, hsc__mlir_value *value) {
  if (r->status) return;
  if (*next >= limit) return fail(r, c, "more values than the region announced");
  if (values->values[*next]) return fail(r, c, "a value is used before its definition");
  values->values[(*next)++] = value;
}

static void skip_use_lists(reader *r, cursor *c, size_t range) {
  size_t count = range > 1 ? count_of(r, c, 1) : 1;
  for (size_t i = 0; i < count && !r->status; i++) {
    if (range > 1) varint(r, c);
    uint64_t encoded = varint(r, c);
    for (uint64_t k = 0; k < encoded >> 1 && !r->status; k++) varint(r, c);
  }
}

static void read_dict_into(reader *r, const hsc__mlir_attr *dict, hsc__mlir_op *op) {
  if (dict->kind != HSC_MLIR_DICT) return;
  hsc__mlir_named *attrs = make(r, sizeof *attrs, (size_t)op->attr_count + (size_t)dict->count);
  if (r->status) return;
  if (op->attr_count) memcpy(attrs, op->attrs, (size_t)op->attr_count * sizeof *attrs);
  if (dict->count) memcpy(attrs + op->attr_count, dict->entries, (size_t)dict->count * sizeof *attrs);
  op->attrs = attrs;
  op->attr_count += dict->count;
}

// Nested in StableHLO, flat in VHLO.
static bool is_nested(hsc_view name) {
  static const char *const names[] = {"algorithm", "channel_handle", "dimension_numbers", "dot_dimension_numbers", "scatter_dimension_numbers"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (hsc_view_equals_text(name, names[i])) return true;
  return false;
}

// The row whose attributes are as many as the numbers in `data`, or fewer when those that are missing at the end are optional.
static const char *native_row(reader *r, const op_name *name, cursor data) {
  size_t numbers = 0, best = SIZE_MAX;
  const char *found = NULL;
  for (; left(&data) && !r->status; numbers++) varint(r, &data);
  for (size_t i = 0; i < HSC_COUNT_OF(native_props); i++) {
    if (strcmp(native_props[i].name, name->name)) continue;
    size_t words = 0, needed = 0;
    for (const char *at = native_props[i].attrs; *at; at += strcspn(at, " "), at += *at == ' ') {
      words++;
      if (*at != '?') needed = words;
    }
    if (numbers > words || numbers < needed || words - numbers >= best) continue;
    best = words - numbers;
    found = native_props[i].attrs;
  }
  return found;
}

static void read_native_properties(reader *r, cursor *c, const op_name *name, hsc__mlir_op *op, cursor data) {
  if (!left(&data)) return;
  hsc__mlir_named list[32];
  int count = 0;
  const char *at = native_row(r, name, data);
  if (!at && !r->status) {
    char what[256];
    snprintf(what, sizeof what, "%.40s.%.80s has properties, and this version does not know them", name->dialect, name->name);
    return fail(r, c, what);
  }
  while (at && *at && left(&data) && !r->status) {
    bool optional = *at == '?';
    at += optional;
    size_t length = strcspn(at, " ");
    uint64_t number = varint(r, &data);
    hsc_view attr_name = {at, length};
    at += length;
    at += *at == ' ';
    if (optional && !(number & 1)) continue;
    const hsc__mlir_attr *value = attr_at(r, &data, optional ? number >> 1 : number);
    bool nested = value->kind == HSC_MLIR_DICT && is_nested(attr_name);
    for (int i = 0; i < (nested ? value->count : 1); i++) {
      if (count == (int)HSC_COUNT_OF(list)) return fail(r, c, "an operation has too many properties");
      list[count++] = nested ? value->entries[i] : (hsc__mlir_named){attr_name, value};
    }
  }
  hsc__mlir_attr all = {.kind = HSC_MLIR_DICT, .entries = list, .count = count};
  if (!r->status) read_dict_into(r, &all, op);
}

static void read_op_properties(reader *r, cursor *c, const op_name *name, hsc__mlir_op *op) {
  if (!name->registered) {
    read_dict_into(r, attr_at(r, c, varint(r, c)), op);
    return;
  }
  uint64_t index = varint(r, c);
  if (r->status) return;
  if (index >= r->property_count) return fail(r, c, "there are no such properties");
  property_set *set = &r->properties[index];
  if (set->of == name && !op->attr_count) {
    op->attrs = set->attrs;
    op->attr_count = set->count;
    return;
  }
  cursor data = cursor_of(set->data);
  // The module's: its name and visibility, both optional.
  bool optional = !strcmp(name->dialect, "builtin") && !strcmp(name->name, "module");
  const char *attrs = optional ? "sym_name sym_visibility" : name->attrs;
  if (!strcmp(name->dialect, "sdy")) {   // a list of attributes; they are told apart by what they are
    hsc__mlir_named list[8];
    int count = 0;
    while (data.at < data.end && count < (int)HSC_COUNT_OF(list) && !r->status) list[count++] = (hsc__mlir_named){HSC_VIEW("sdy"), attr_at(r, &data, varint(r, &data))};
    hsc__mlir_named *all = make(r, sizeof *all, (size_t)(op->attr_count + count));
    if (r->status) return;
    if (op->attr_count) memcpy(all, op->attrs, sizeof *all * (size_t)op->attr_count);
    if (count) memcpy(all + op->attr_count, list, sizeof *all * (size_t)count);
    op->attrs = all;
    op->attr_count += count;
    return;
  }
  bool native = !strcmp(name->dialect, "stablehlo") || !strcmp(name->dialect, "chlo") || !strcmp(name->dialect, "func");
  if (!attrs && native) {
    read_native_properties(r, c, name, op, data);
    return;
  }
  if (!attrs && strcmp(name->dialect, "vhlo")) return;   // another dialect's: the import refuses such operations by name
  if (!attrs) {
    char what[256];
    snprintf(what, sizeof what, "%.40s.%.80s has properties, and this version does not know them", name->dialect, name->name);
    return fail(r, c, what);
  }
  static const hsc_view module_attrs[] = {{"sym_name", 8}, {"sym_visibility", 14}};
  const hsc_view *names = optional ? module_attrs : name->attr_names;
  size_t count = optional ? HSC_COUNT_OF(module_attrs) : name->attr_count;
  bool alone = !op->attr_count;
  hsc__mlir_named *list = make(r, sizeof *list, (size_t)op->attr_count + count);
  if (r->status) return;
  if (op->attr_count) memcpy(list, op->attrs, (size_t)op->attr_count * sizeof *list);
  op->attrs = list;
  for (size_t i = 0; i < count && !r->status; i++) {
    uint64_t number = varint(r, &data);
    if (!optional || (number & 1)) list[op->attr_count++] = (hsc__mlir_named){names[i], attr_at(r, &data, optional ? number >> 1 : number)};
  }
  if (alone && !r->status) *set = (property_set){.data = set->data, .of = name, .attrs = list, .count = op->attr_count};
}

static hsc__mlir_op *read_op(reader *r, cursor *c, hsc__mlir_block *block, scope *values, uint64_t *next, uint64_t limit) {
  uint64_t name_index = varint(r, c);
  if (!r->status && name_index >= r->op_name_count) fail(r, c, "there is no such operation name");
  uint8_t mask = byte(r, c);
  hsc__mlir_op *op = make(r, sizeof *op, 1);
  if (r->status) return NULL;
  const op_name *name = &r->op_names[name_index];
  op->name = name->base;
  op->written_name = name->written;
  op->block = block;
  op->location = attr_at(r, c, varint(r, c));
  op->has_foreign = mask & OP_ATTRS || !name->attrs;
  if (mask & OP_ATTRS) read_dict_into(r, attr_at(r, c, varint(r, c)), op);
  if (mask & OP_PROPERTIES) read_op_properties(r, c, name, op);
  if (mask & OP_RESULTS) {
    size_t count = count_of(r, c, 1);
    op->results = make(r, sizeof *op->results, count);
    for (size_t i = 0; i < count && !r->status; i++) op->results[i] = (hsc__mlir_value){.type = type_at(r, c, varint(r, c)), .owner = op, .block = block};
    op->result_count = (int32_t)count;
  }
  if (mask & OP_OPERANDS) {
    size_t count = count_of(r, c, 1);
    op->operands = make(r, sizeof *op->operands, count);
    for (size_t i = 0; i < count && !r->status; i++) {
      op->operands[i] = *place(r, c, values, varint(r, c));
      if (!r->status && !op->operands[i]) fail(r, c, "a value is used before its definition");
    }
    op->operand_count = (int32_t)count;
  }
  if (mask & OP_SUCCESSORS) fail(r, c, "branches between blocks are no StableHLO");
  if (mask & OP_USE_LISTS) skip_use_lists(r, c, (size_t)op->result_count);
  uint64_t encoding = mask & OP_REGIONS ? varint(r, c) : 0;
  for (int32_t i = 0; i < op->result_count && !r->status; i++) define(r, c, values, next, limit, &op->results[i]);
  bool isolated = encoding & 1;
  uint64_t regions = encoding >> 1;
  if (!r->status && regions > left(c)) fail(r, c, "more regions than what is left");
  if (r->status || !regions) return op;
  if (++r->nesting >= MAX_NESTING) fail(r, c, "regions are nested too deeply");
  op->regions = make(r, sizeof *op->regions, (size_t)regions);
  cursor own = {0}, *from = c;
  if (isolated && r->version >= VERSION_LAZY_LOADING) {
    int id = SECTION_IR;
    own = section(r, c, &id);
    if (!r->status && id != SECTION_IR) fail(r, c, "a region is in a section of another kind");
    from = &own;
  }
  scope fresh = {0};
  for (uint64_t i = 0; i < regions && !r->status; i++) op->regions[op->region_count++] = read_region(r, from, op, isolated ? &fresh : values);
  r->nesting--;
  return op;
}

static void read_block(reader *r, cursor *c, hsc__mlir_block *block, scope *values, uint64_t next, uint64_t limit) {
  uint64_t encoding = varint(r, c);
  uint64_t ops = encoding >> 1;
  if (!r->status && ops > left(c)) fail(r, c, "more operations than what is left");
  if (encoding & 1) {
    size_t count = count_of(r, c, 1);
    block->arguments = make(r, sizeof *block->arguments, count);
    for (size_t i = 0; i < count && !r->status; i++) {
      uint64_t type = varint(r, c);
      bool located = true;
      if (r->version >= VERSION_ELIDE_LOCATION) located = type & 1, type >>= 1;
      block->arguments[i] = (hsc__mlir_value){.type = type_at(r, c, type), .block = block};
      if (located) attr_at(r, c, varint(r, c));
      define(r, c, values, &next, limit, &block->arguments[i]);
    }
    block->argument_count = (int32_t)count;
    if (r->version >= VERSION_USE_LIST && byte(r, c)) skip_use_lists(r, c, count);
  }
  block->ops = make(r, sizeof *block->ops, (size_t)ops);
  for (uint64_t i = 0; i < ops && !r->status; i++) {
    block->ops[i] = read_op(r, c, block, values, &next, limit);
    block->op_count++;
  }
}

static hsc__mlir_block *read_region(reader *r, cursor *c, hsc__mlir_op *parent, scope *values) {
  uint64_t blocks = varint(r, c);
  if (r->status || blocks == 0) return NULL;
  uint64_t count = varint(r, c), first = values->count;
  if (blocks > 1) return fail(r, c, "a region of several blocks is no StableHLO"), NULL;
  hsc__mlir_block *block = make(r, sizeof *block, 1);
  if (!grow(r, c, values, count)) return NULL;
  block->parent = parent;
  read_block(r, c, block, values, first, first + count);
  values->count = (size_t)first;   // what the region defined ends with it
  return block;
}

static hsc__mlir_op *read_ir(reader *r) {
  cursor *c = &r->sections[SECTION_IR];
  hsc__mlir_block *top = make(r, sizeof *top, 1);
  scope values = {0};
  if (r->status) return NULL;
  read_block(r, c, top, &values, 0, 0);
  if (!r->status && (top->op_count != 1 || strcmp(top->ops[0]->name, "module"))) fail(r, c, "it does not hold one module");
  return r->status ? NULL : top->ops[0];
}

const hsc__mlir_attr *hsc__mlir_attr_get(const hsc__mlir_op *op, const char *name) {
  for (int i = 0; i < op->attr_count; i++) {
    if (!hsc_view_equals_text(op->attrs[i].name, name)) continue;
    const hsc__mlir_attr *attr = op->attrs[i].value;
    return attr->kind == HSC_MLIR_TYPE && attr->type->kind == HSC_MLIR_NONE ? NULL : attr;
  }
  return NULL;
}

hsc_status *hsc__mlir_bytecode_read(hsc_view bytes, const char *path, hsc_arena *arena, hsc__mlir_op **out_top) {
  static const char magic[] = "ML\xefR";
  reader r = {.arena = arena, .path = path, .whole = bytes};
  cursor c = cursor_of(bytes);
  *out_top = NULL;
  if (bytes.size < 4 || memcmp(bytes.data, magic, 4)) fail(&r, &c, "the magic number is missing");
  c.at += r.status ? 0 : 4;
  r.version = varint(&r, &c);
  if (!r.status && r.version > VERSION_NEWEST)
    r.status = hsc_status_at(HSC_ERR(UNIMPLEMENTED, "MLIR bytecode version %llu is newer than %d", (unsigned long long)r.version, VERSION_NEWEST), path, 0, 0, NULL);
  while (!r.status && byte(&r, &c)) {   // the producer's name
  }
  while (!r.status && left(&c)) {
    int id;
    cursor data = section(&r, &c, &id);
    if (r.status) break;
    if (id >= SECTION_COUNT || r.present[id]) fail(&r, &c, "a section is unknown or there twice");
    else r.sections[id] = data, r.present[id] = true;
  }
  static const int needed[] = {SECTION_STRING, SECTION_DIALECT, SECTION_ATTR_TYPE, SECTION_ATTR_TYPE_OFFSET, SECTION_IR};
  for (size_t i = 0; i < HSC_COUNT_OF(needed) && !r.status; i++)
    if (!r.present[needed[i]]) fail(&r, &c, "a section is missing");
  if (!r.status) read_strings(&r);
  if (!r.status) read_properties(&r);
  if (!r.status) read_dialects(&r);
  if (!r.status) read_attr_table(&r);
  if (!r.status) *out_top = read_ir(&r);
  return r.status;
}
