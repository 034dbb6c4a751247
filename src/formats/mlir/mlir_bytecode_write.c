// mlir_bytecode_write.c - the tree of an export as a portable artifact: MLIR bytecode with the
// operations of VHLO at a version of StableHLO.
//
// What the version does not have is refused by name: an operation, a type, or an attribute that is
// not what older versions take without saying. Strings, types and attributes are numbered as they
// come, each once. The sections, and what changed in the container with each version of it, are
// described in mlir/docs/BytecodeFormat.md; which StableHLO writes which is Version.cpp of
// openxla/stablehlo; numbers of attributes and types: VhloBytecode.cpp.
#include <stdlib.h>

#include "formats/mlir/mlir_ir.h"
#include "formats/mlir/mlir_op_rows.h"

enum {
  SECTION_STRING = 0,
  SECTION_DIALECT = 1,
  SECTION_ATTR_TYPE = 2,
  SECTION_ATTR_TYPE_OFFSET = 3,
  SECTION_IR = 4,
  SECTION_PROPERTIES = 8
};
enum { OP_ATTRS = 1, OP_RESULTS = 2, OP_OPERANDS = 4, OP_REGIONS = 16, OP_PROPERTIES = 64 };
enum { DIALECT_BUILTIN, DIALECT_VHLO, DIALECT_COUNT };
enum {
  BUILTIN_ARRAY = 0,
  BUILTIN_DICT = 1,
  BUILTIN_STRING = 2,
  BUILTIN_INTEGER = 8,
  BUILTIN_FILE = 11,
  BUILTIN_NAME = 14,
  BUILTIN_UNKNOWN = 15
};
enum {
  VHLO_ARRAY = 1,
  VHLO_BOOLEAN = 2,
  VHLO_DICT = 6,
  VHLO_FLOAT = 8,
  VHLO_INTEGER = 9,
  VHLO_ALIAS = 10,
  VHLO_STRING = 14,
  VHLO_TENSOR = 15,
  VHLO_TYPE_ATTR = 17,
  VHLO_ACCURACY = 20
};
enum {
  TYPE_COMPLEX = 1,
  TYPE_FUNCTION = 8,
  TYPE_INDEX = 9,
  TYPE_TENSOR = 20,
  TYPE_TOKEN = 22,
  TYPE_TUPLE = 23,
  TYPE_NONE = 33,
  TYPE_TF32 = 34
};

typedef struct table {    // encodings, each once
  hsc_map *map;           // dialect and encoding -> number + 1
  hsc_bytes data, sizes;  // one after another; varint sizes in groups of one dialect
  hsc_bytes group;        // sizes of the group that is being filled
  int dialect;            // of that group
  uint64_t group_count, count;
} table;

typedef struct writer {
  hsc_arena *arena;
  hsc_stablehlo_version version;
  int container;  // version of the bytecode
  table attrs, types;
  hsc_map *strings, *op_names, *properties;
  hsc_map *type_numbers, *location_numbers;  // by address
  hsc_bytes string_data, op_name_data, property_data;
  hsc_bytes string_sizes;  // uint64 each
  uint64_t op_name_group, op_name_total;
  hsc_bytes op_group;
  int op_dialect;
  const char *path;        // of the program
  const hsc__mlir_op *op;  // being written, for messages
  hsc_status *status;      // sticky
} writer;

static const struct {
  int number;
  hsc_type type;
  int major, minor;
} vhlo_types[] = {
#define VHLO_TYPE(number, type, major, minor) {number, HSC_TYPE_##type, major, minor},
#include "formats/mlir/vhlo_types.def"
#undef VHLO_TYPE
};

// ---- primitives ---------------------------------------------------------------------------------

static void keep(writer *w, hsc_status *status) {
  if (w->status)
    hsc_status_free(status);
  else
    w->status = status && w->op && w->op->line
                    ? hsc_status_at(status, w->path, w->op->line, w->op->column, NULL)
                    : status;
}

static bool has(const writer *w, int major, int minor) {
  return w->version.major > major || (w->version.major == major && w->version.minor >= minor);
}

static void need(writer *w, const char *what, int major, int minor) {
  if (has(w, major, minor) || w->status)
    return;
  keep(w, HSC_ERR(UNIMPLEMENTED, "%s: %s needs StableHLO %d.%d.0; this artifact is for %d.%d.%d",
                  w->op ? w->op->written_name : "module", what, major, minor, w->version.major,
                  w->version.minor, w->version.patch));
}

static void varint(hsc_bytes *out, uint64_t value) {
  uint8_t bytes[9];
  int count = 1;  // bytes in all; the zeros below the first one bit say how many follow
  while (count < 9 && value >> (7 * count))
    count++;
  if (count == 9) {
    bytes[0] = 0;
    memcpy(bytes + 1, &value, 8);
  } else {
    value = (value << 1 | 1) << (count - 1);
    memcpy(bytes, &value, 8);
  }
  hsc_bytes_append(out, bytes, (size_t)count);
}

static void svarint(hsc_bytes *out, int64_t value) {
  varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

// The number of an encoding in its table.
static uint64_t intern(writer *w, table *t, int dialect, hsc_bytes *encoding) {
  uint64_t number = 0;
  hsc_bytes_append_char(encoding, (char)dialect);  // a part of the key
  if (w->status || encoding->failed) {
    keep(w, hsc_bytes_status(encoding));
    hsc_bytes_deinit(encoding);
    return 0;
  }
  uintptr_t known = (uintptr_t)hsc_map_get(t->map, hsc_bytes_view(encoding));
  if (known) {
    number = known - 1;
  } else {
    size_t size = encoding->size - 1;
    if (t->group_count && t->dialect != dialect) {
      varint(&t->sizes, (uint64_t)t->dialect);
      varint(&t->sizes, t->group_count);
      hsc_bytes_append(&t->sizes, t->group.data, t->group.size);
      hsc_bytes_reset(&t->group);
      t->group_count = 0;
    }
    t->dialect = dialect;
    t->group_count++;
    varint(&t->group, (uint64_t)size << 1 | 1);
    hsc_bytes_append(&t->data, encoding->data, size);
    number = t->count++;
    void *key = hsc_arena_copy(w->arena, encoding->data, encoding->size);
    keep(w,
         key ? hsc_map_put(t->map, (hsc_view){key, encoding->size}, (void *)(uintptr_t)(number + 1))
             : hsc_status_out_of_memory());
  }
  hsc_bytes_deinit(encoding);
  return number;
}

static uint64_t string_number(writer *w, hsc_view text) {
  uintptr_t known = (uintptr_t)hsc_map_get(w->strings, text);
  if (known)
    return known - 1;
  uint64_t number = hsc_map_count(w->strings);
  uint64_t size = text.size + 1;
  hsc_bytes_append(&w->string_data, text.data, text.size);
  hsc_bytes_append_char(&w->string_data, 0);
  hsc_bytes_append(&w->string_sizes, &size, sizeof size);
  char *key = hsc_arena_strndup(w->arena, text.data, text.size);
  keep(w, key ? hsc_map_put(w->strings, (hsc_view){key, text.size}, (void *)(uintptr_t)(number + 1))
              : hsc_status_out_of_memory());
  return number;
}

// ---- types --------------------------------------------------------------------------------------

static uint64_t element_number(writer *w, hsc_type type) {
  hsc_bytes e = {0};
  if (hsc_type_is_complex(type)) {
    uint64_t part = element_number(w, hsc_type_real_part(type));
    varint(&e, TYPE_COMPLEX);
    varint(&e, part);
    return intern(w, &w->types, DIALECT_VHLO, &e);
  }
  for (size_t i = 0; i < HSC_COUNT_OF(vhlo_types); i++) {
    if (vhlo_types[i].type != type)
      continue;
    need(w, hsc_type_text(type), vhlo_types[i].major, vhlo_types[i].minor);
    varint(&e, (uint64_t)vhlo_types[i].number);
    return intern(w, &w->types, DIALECT_VHLO, &e);
  }
  keep(w, HSC_ERR(UNIMPLEMENTED, "%s: the type %s has no form in StableHLO",
                  w->op ? w->op->written_name : "module", hsc_type_text(type)));
  return 0;
}

static uint64_t type_number(writer *w, const hsc__mlir_type *type);

static void type_list(writer *w, hsc_bytes *e, const hsc__mlir_type *type, int from, int to) {
  varint(e, (uint64_t)(to - from));
  for (int i = from; i < to; i++)
    varint(e, type_number(w, type->elements[i]));
}

static uint64_t type_number(writer *w, const hsc__mlir_type *type) {
  hsc_bytes e = {0};
  if (w->status)
    return 0;
  switch (type->kind) {
    case HSC_MLIR_ELEMENT:
      return element_number(w, type->shape.type);
    case HSC_MLIR_TENSOR: {
      varint(&e, TYPE_TENSOR);
      varint(&e, (uint64_t)type->shape.rank);
      for (int i = 0; i < type->shape.rank; i++)
        svarint(&e, type->shape.dims[i]);
      if (type->text) {  // of indices
        hsc_bytes index = {0};
        varint(&index, TYPE_INDEX);
        varint(&e, intern(w, &w->types, DIALECT_VHLO, &index));
      } else {
        varint(&e, element_number(w, type->shape.type));
      }
      break;
    }
    case HSC_MLIR_TUPLE:
      varint(&e, TYPE_TUPLE);
      type_list(w, &e, type, 0, type->element_count);
      break;
    case HSC_MLIR_FUNCTION:
      varint(&e, TYPE_FUNCTION);
      type_list(w, &e, type, 0, type->input_count);
      type_list(w, &e, type, type->input_count, type->element_count);
      break;
    case HSC_MLIR_TOKEN:
      varint(&e, TYPE_TOKEN);
      break;
    case HSC_MLIR_INDEX:
      varint(&e, TYPE_INDEX);
      break;
    case HSC_MLIR_NONE:
      varint(&e, TYPE_NONE);
      break;
    default:
      if (type->text && !strcmp(type->text, "tf32"))
        varint(&e, TYPE_TF32);
      else
        keep(w,
             HSC_ERR(INTERNAL, "a type that cannot be written: %s", type->text ? type->text : "?"));
  }
  return intern(w, &w->types, DIALECT_VHLO, &e);
}

// Types of values come many times by the same address.
static uint64_t value_type(writer *w, const hsc__mlir_type *type) {
  hsc_view key = {(const char *)&type, sizeof type};
  uintptr_t known = (uintptr_t)hsc_map_get(w->type_numbers, key);
  if (known)
    return known - 1;
  uint64_t number = type_number(w, type);
  const void *stable = hsc_arena_copy(w->arena, &type, sizeof type);
  keep(w, stable ? hsc_map_put(w->type_numbers, (hsc_view){stable, sizeof type},
                               (void *)(uintptr_t)(number + 1))
                 : hsc_status_out_of_memory());
  return number;
}

// ---- attributes ---------------------------------------------------------------------------------

static uint64_t attr_number(writer *w, const hsc__mlir_attr *attr);

// An integer of a known width as MLIR writes it: a byte, or zigzag of its unsigned value.
static void known_width(hsc_bytes *e, uint64_t value, int bits) {
  if (bits < 64)
    value &= (UINT64_C(1) << bits) - 1;
  if (bits <= 8)
    hsc_bytes_append_char(e, (char)value);
  else
    svarint(e, (int64_t)value);
}

static void float_bits(hsc_bytes *e, hsc_type type, double value) {
  known_width(e, hsc_float_encode(type, value), hsc_type_bits(type));
}

// All elements, or one when all are equal; predicates eight to a byte.
static void put_blob(hsc_bytes *e, const hsc__mlir_attr *attr) {
  const hsc_shape *shape = &attr->type->shape;
  size_t count = (size_t)hsc_shape_elements(shape);
  size_t one = hsc_type_bytes(shape->type);
  const char *data = attr->data.data;
  int bits = hsc_type_bits(shape->type);
  bool splat = count > 1;
  for (size_t i = 1; i < count && splat; i++)
    splat = memcmp(data, data + i * one, one) == 0;
  if (splat)
    count = 1;
  if (shape->type == HSC_TYPE_PRED) {
    size_t bytes = (count + 7) / 8;
    varint(e, bytes);
    for (size_t i = 0; i < bytes; i++) {
      unsigned char packed = 0;
      for (size_t k = 0; k < 8 && 8 * i + k < count; k++)
        packed |= (unsigned char)((data[8 * i + k] != 0) << k);
      hsc_bytes_append_char(e, splat && packed ? (char)0xff : (char)packed);
    }
  } else {
    varint(e, count * one);
    if (bits >= 8)
      hsc_bytes_append(e, data, count * one);
    else
      for (size_t i = 0; i < count; i++)
        hsc_bytes_append_char(e, (char)(data[i] & ((1 << bits) - 1)));
  }
}

static uint64_t type_attr_number(writer *w, const hsc__mlir_type *type) {
  hsc_bytes e = {0};
  uint64_t number = type_number(w, type);
  varint(&e, VHLO_TYPE_ATTR);
  varint(&e, number);
  return intern(w, &w->attrs, DIALECT_VHLO, &e);
}

static uint64_t text_number(writer *w, hsc_view text) {
  hsc_bytes e = {0};
  varint(&e, VHLO_STRING);
  varint(&e, string_number(w, text));
  return intern(w, &w->attrs, DIALECT_VHLO, &e);
}

static int enum_code(hsc_view enumeration) {
  static const struct {
    const char *name;
    int code;
  } codes[] = {{"comparison_direction", 3},
               {"comparison_type", 4},
               {"custom_call_api_version", 5},
               {"fft_type", 7},
               {"precision", 11},
               {"rng_algorithm", 12},
               {"rng_distribution", 13},
               {"transpose", 16},
               {"result_accuracy_mode", 19}};
  for (size_t i = 0; i < HSC_COUNT_OF(codes); i++)
    if (hsc_view_equals_text(enumeration, codes[i].name))
      return codes[i].code;
  return -1;
}

static void put_indices(hsc_bytes *e, const hsc__mlir_attr *list) {
  int64_t count = hsc_shape_elements(&list->type->shape);
  int64_t value;
  varint(e, (uint64_t)count);
  for (int64_t i = 0; i < count; i++) {
    memcpy(&value, list->data.data + i * 8, 8);
    svarint(e, value);
  }
}

static const hsc__mlir_type type_i64 = {.kind = HSC_MLIR_ELEMENT, .shape = {.type = HSC_TYPE_S64}};
static const hsc__mlir_type type_f64 = {.kind = HSC_MLIR_ELEMENT, .shape = {.type = HSC_TYPE_F64}};

// array<i64: 1, 2> as a tensor.
static uint64_t typed_array(writer *w, const hsc__mlir_attr *attr) {
  hsc_type element = attr->type->shape.type;
  size_t one = hsc_type_bytes(element);
  int64_t count = attr->count;
  char *data = hsc_arena_alloc_array(w->arena, one, (size_t)count + 1);
  if (!data) {
    keep(w, hsc_status_out_of_memory());
    return 0;
  }
  for (int i = 0; i < attr->count; i++) {
    const hsc__mlir_attr *value = attr->elements[i];
    uint64_t bits = value->kind == HSC_MLIR_FLOAT ? hsc_float_encode(element, value->number)
                                                  : (uint64_t)value->integer;
    memcpy(data + (size_t)i * one, &bits, one);
  }
  hsc__mlir_type tensor = {.kind = HSC_MLIR_TENSOR,
                           .shape = {.type = element, .rank = 1, .dims = &count}};
  return attr_number(
      w, &(hsc__mlir_attr){
             .kind = HSC_MLIR_DENSE, .type = &tensor, .data = {data, (size_t)count * one}});
}

static uint64_t attr_number(writer *w, const hsc__mlir_attr *attr) {
  hsc_bytes e = {0};
  if (w->status)
    return 0;
  switch (attr->kind) {
    case HSC_MLIR_BOOL:
    case HSC_MLIR_UNIT:
      varint(&e, VHLO_BOOLEAN);
      varint(&e, attr->kind == HSC_MLIR_UNIT || attr->integer);
      break;
    case HSC_MLIR_INT: {
      if (!attr->type)
        return attr_number(
            w,
            &(hsc__mlir_attr){.kind = HSC_MLIR_INT, .integer = attr->integer, .type = &type_i64});
      uint64_t type = type_number(w, attr->type);
      varint(&e, VHLO_INTEGER);
      varint(&e, type);
      known_width(&e, (uint64_t)attr->integer, hsc_type_bits(attr->type->shape.type));
      break;
    }
    case HSC_MLIR_FLOAT: {
      if (!attr->type)
        return attr_number(
            w,
            &(hsc__mlir_attr){.kind = HSC_MLIR_FLOAT, .number = attr->number, .type = &type_f64});
      uint64_t type = type_number(w, attr->type);
      varint(&e, VHLO_FLOAT);
      varint(&e, type);
      float_bits(&e, attr->type->shape.type, attr->number);
      break;
    }
    case HSC_MLIR_STRING:
    case HSC_MLIR_SYMBOL:
      return text_number(w, attr->text);
    case HSC_MLIR_TYPE:
      return type_attr_number(w, attr->type);
    case HSC_MLIR_ENUM:
      varint(&e, (uint64_t)enum_code(attr->text));
      varint(&e, (uint64_t)attr->integer);
      break;
    case HSC_MLIR_ARRAY:
      if (attr->type)
        return typed_array(w, attr);
      varint(&e, VHLO_ARRAY);
      varint(&e, (uint64_t)attr->count);
      for (int i = 0; i < attr->count; i++)
        varint(&e, attr_number(w, attr->elements[i]));
      break;
    case HSC_MLIR_DICT:
      varint(&e, VHLO_DICT);
      varint(&e, (uint64_t)attr->count);
      for (int i = 0; i < attr->count; i++) {
        varint(&e, text_number(w, attr->entries[i].name));
        varint(&e, attr_number(w, attr->entries[i].value));
      }
      break;
    case HSC_MLIR_DENSE: {
      uint64_t type = type_number(w, attr->type);
      varint(&e, VHLO_TENSOR);
      varint(&e, type);
      put_blob(&e, attr);
      break;
    }
    case HSC_MLIR_ACCURACY: {
      uint64_t mode = attr_number(w, attr->elements[3]);
      varint(&e, VHLO_ACCURACY);
      float_bits(&e, HSC_TYPE_F64, attr->elements[0]->number);
      float_bits(&e, HSC_TYPE_F64, attr->elements[1]->number);
      svarint(&e, attr->elements[2]->integer);
      varint(&e, mode);
      break;
    }
    case HSC_MLIR_ALIAS:
      varint(&e, VHLO_ALIAS);
      put_indices(&e, attr->elements[0]);
      svarint(&e, attr->elements[1]->integer);
      put_indices(&e, attr->elements[2]);
      break;
    default:
      keep(w, HSC_ERR(INTERNAL, "an attribute that cannot be written"));
  }
  return intern(w, &w->attrs, DIALECT_VHLO, &e);
}

// The module itself stays in MLIR's own dialect.
static uint64_t builtin_text(writer *w, hsc_view text) {
  hsc_bytes e = {0};
  varint(&e, BUILTIN_STRING);
  varint(&e, string_number(w, text));
  return intern(w, &w->attrs, DIALECT_BUILTIN, &e);
}

static uint64_t builtin_attr(writer *w, const hsc__mlir_attr *attr) {
  hsc_bytes e = {0};
  hsc_bytes type = {0};
  if (attr->kind == HSC_MLIR_STRING)
    return builtin_text(w, attr->text);
  int bits = attr->kind == HSC_MLIR_INT ? hsc_type_bits(attr->type->shape.type) : 1;
  varint(&type, 0);
  varint(&type, (uint64_t)bits << 2);  // a signless integer
  uint64_t number = intern(w, &w->types, DIALECT_BUILTIN, &type);
  varint(&e, BUILTIN_INTEGER);
  varint(&e, number);
  known_width(&e, (uint64_t)attr->integer, bits);
  return intern(w, &w->attrs, DIALECT_BUILTIN, &e);
}

static uint64_t location_number(writer *w, const hsc__mlir_attr *location) {
  hsc_bytes e = {0};
  if (!location) {
    varint(&e, BUILTIN_UNKNOWN);
    return intern(w, &w->attrs, DIALECT_BUILTIN, &e);
  }
  hsc_view key = {(const char *)&location, sizeof location};
  uintptr_t known = (uintptr_t)hsc_map_get(w->location_numbers, key);
  if (known)
    return known - 1;
  uint64_t text = builtin_text(w, location->text);
  uint64_t child = 0;
  if (location->column < 0)
    child = location_number(w, location->count ? location->elements[0] : NULL);
  varint(&e, location->column < 0 ? BUILTIN_NAME : BUILTIN_FILE);
  varint(&e, text);
  if (location->column < 0) {
    varint(&e, child);
  } else {
    varint(&e, (uint64_t)(location->integer < 0 ? 0 : location->integer));
    varint(&e, (uint64_t)location->column);
  }
  uint64_t number = intern(w, &w->attrs, DIALECT_BUILTIN, &e);
  const void *stable = hsc_arena_copy(w->arena, &location, sizeof location);
  keep(w, stable ? hsc_map_put(w->location_numbers, (hsc_view){stable, sizeof location},
                               (void *)(uintptr_t)(number + 1))
                 : hsc_status_out_of_memory());
  return number;
}

// What VHLO says where StableHLO says nothing.
static uint64_t default_attr(writer *w, hsc_view name) {
  static const struct {
    const char *names;
    enum {
      NOTHING,
      NO,
      ZERO,
      EMPTY_TEXT,
      EMPTY_LIST,
      EMPTY_DICT,
      EMPTY_DIMS,
      NO_TYPE,
      ACCURACY,
      PRECISION,
      COMPARISON,
      API
    } kind;
  } defaults[] = {
      {" lhs_precision_type rhs_precision_type accumulation_type lhs_component_count "
       "rhs_component_count num_primitive_operations allow_imprecise_accumulation ",
       NO_TYPE},
      {" has_side_effect indices_are_sorted unique_indices is_stable use_global_device_ids "
       "has_dynamic_root lower ",
       NO},
      {" channel_id version ", ZERO},
      {" backend_config sym_visibility ", EMPTY_TEXT},
      {" called_computations operand_layouts result_layouts output_operand_aliases result_tilings "
       "arg_attrs res_attrs ",
       EMPTY_LIST},
      {" operand_batching_dims start_indices_batching_dims input_batching_dims "
       "scatter_indices_batching_dims ",
       EMPTY_DIMS},
      {" composite_attributes ", EMPTY_DICT},
      {" result_accuracy ", ACCURACY},
      {" precision_config ", PRECISION},
      {" compare_type ", COMPARISON},
      {" api_version ", API},
  };
  char key[64];
  snprintf(key, sizeof key, " %.*s ", (int)name.size, name.data);
  int kind = NOTHING;
  for (size_t i = 0; i < HSC_COUNT_OF(defaults); i++)
    if (strstr(defaults[i].names, key))
      kind = (int)defaults[i].kind;
  hsc__mlir_type none = {.kind = HSC_MLIR_NONE};
  hsc__mlir_type i64 = {.kind = HSC_MLIR_ELEMENT, .shape = hsc_shape_scalar(HSC_TYPE_S64)};
  hsc__mlir_type f64 = i64;
  int64_t zero_dim = 0;
  hsc__mlir_type list = {.kind = HSC_MLIR_TENSOR,
                         .shape = {.type = HSC_TYPE_S64, .rank = 1, .dims = &zero_dim}};
  f64.shape.type = HSC_TYPE_F64;
  hsc__mlir_attr zero = {.kind = HSC_MLIR_INT, .type = &i64};
  hsc__mlir_attr zero_float = {.kind = HSC_MLIR_FLOAT, .type = &f64};
  hsc__mlir_attr mode = {.kind = HSC_MLIR_ENUM, .text = HSC_VIEW("result_accuracy_mode")};
  hsc__mlir_attr usual = {.kind = HSC_MLIR_ENUM, .text = HSC_VIEW("precision")};
  const hsc__mlir_attr *parts[] = {&zero_float, &zero_float, &zero, &mode};
  const hsc__mlir_attr *both[] = {&usual, &usual};
  hsc__mlir_attr attr = {0};
  switch (kind) {
    case NO_TYPE:
      attr = (hsc__mlir_attr){.kind = HSC_MLIR_TYPE, .type = &none};
      break;
    case NO:
      attr.kind = HSC_MLIR_BOOL;
      break;
    case ZERO:
      attr = zero;
      break;
    case EMPTY_TEXT:
      attr = (hsc__mlir_attr){.kind = HSC_MLIR_STRING, .text = HSC_VIEW("")};
      break;
    case EMPTY_LIST:
      attr.kind = HSC_MLIR_ARRAY;
      break;
    case EMPTY_DICT:
      attr.kind = HSC_MLIR_DICT;
      break;
    case EMPTY_DIMS:
      attr = (hsc__mlir_attr){.kind = HSC_MLIR_DENSE, .type = &list, .data = HSC_VIEW("")};
      break;
    case ACCURACY:
      attr = (hsc__mlir_attr){.kind = HSC_MLIR_ACCURACY, .elements = parts, .count = 4};
      break;
    case PRECISION:
      attr = (hsc__mlir_attr){.kind = HSC_MLIR_ARRAY, .elements = both, .count = 2};
      break;
    case COMPARISON:
      attr = (hsc__mlir_attr){.kind = HSC_MLIR_ENUM, .text = HSC_VIEW("comparison_type")};
      break;
    case API:
      attr = (hsc__mlir_attr){
          .kind = HSC_MLIR_ENUM, .text = HSC_VIEW("custom_call_api_version"), .integer = 1};
      break;
    default:
      keep(w, HSC_ERR(INTERNAL, "%s: attribute %.*s is missing", w->op->written_name,
                      (int)name.size, name.data));
      return 0;
  }
  return attr_number(w, &attr);
}

// ---- operations ---------------------------------------------------------------------------------

// The newest version of an operation that the artifact's version has; NULL, and an error, when it
// has none.
static const hsc__mlir_properties *find_version(writer *w, const hsc__mlir_op *op) {
  const hsc__mlir_op_row *row = hsc__mlir_op_row_of(op->name);
  const hsc__mlir_properties *best = NULL;
  const hsc__mlir_properties *first = NULL;
  for (const hsc__mlir_properties *p = row ? row->properties : NULL; p && p->attributes; p++) {
    if (!p->version)
      continue;
    if (!first)
      first = p;
    if (has(w, p->major, p->minor))
      best = p;
  }
  if (!best && first)
    need(w, "it", first->major, first->minor);
  else if (!best)
    keep(w, HSC_ERR(UNIMPLEMENTED, "%s has no form in a portable artifact", op->written_name));
  return best;
}

static uint64_t op_name_number(writer *w, int dialect, const char *name) {
  uintptr_t known = (uintptr_t)hsc_map_get(w->op_names, hsc_view_of(name));
  if (known)
    return known - 1;
  if (w->op_name_group && w->op_dialect != dialect) {
    varint(&w->op_name_data, (uint64_t)w->op_dialect);
    varint(&w->op_name_data, w->op_name_group);
    hsc_bytes_append(&w->op_name_data, w->op_group.data, w->op_group.size);
    hsc_bytes_reset(&w->op_group);
    w->op_name_group = 0;
  }
  w->op_dialect = dialect;
  w->op_name_group++;
  uint64_t text = string_number(w, hsc_view_of(name));
  uint64_t number = w->op_name_total++;
  varint(&w->op_group, w->container >= 5 ? text << 1 | 1 : text);
  const char *key = hsc_arena_strdup(w->arena, name);
  keep(w, key ? hsc_map_put(w->op_names, hsc_view_of(key), (void *)(uintptr_t)(number + 1))
              : hsc_status_out_of_memory());
  return number;
}

static uint64_t property_number(writer *w, hsc_bytes *encoding) {
  uint64_t number = 0;
  uintptr_t known = (uintptr_t)hsc_map_get(w->properties, hsc_bytes_view(encoding));
  if (known) {
    number = known - 1;
  } else {
    number = hsc_map_count(w->properties);
    varint(&w->property_data, encoding->size);
    hsc_bytes_append(&w->property_data, encoding->data, encoding->size);
    void *key = hsc_arena_copy(w->arena, encoding->data ? encoding->data : "", encoding->size + 1);
    keep(w, key ? hsc_map_put(w->properties, (hsc_view){key, encoding->size},
                              (void *)(uintptr_t)(number + 1))
                : hsc_status_out_of_memory());
  }
  hsc_bytes_deinit(encoding);
  return number;
}

static void put_entry(
    writer *w, hsc_bytes *entries, uint64_t *count, hsc_view name, uint64_t value) {
  varint(entries, builtin_text(w, name));
  varint(entries, value);
  ++*count;
}

static uint64_t dict_number(writer *w, uint64_t count, hsc_bytes *entries) {
  hsc_bytes e = {0};
  varint(&e, BUILTIN_DICT);
  varint(&e, count);
  hsc_bytes_append(&e, entries->data, entries->size);
  hsc_bytes_deinit(entries);
  return intern(w, &w->attrs, DIALECT_BUILTIN, &e);
}

static bool listed(const char *list, hsc_view name) {
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, " ");
    if (length == name.size && !memcmp(at, name.data, length))
      return true;
    at += length;
    while (*at == ' ')
      at++;
  }
  return false;
}

// An attribute that this version of the operation does not have: which one does?
static void refuse_attr(writer *w, const hsc__mlir_op *op, hsc_view name) {
  char what[96];
  snprintf(what, sizeof what, "%.*s", (int)name.size, name.data);
  const hsc__mlir_op_row *row = hsc__mlir_op_row_of(op->name);
  for (const hsc__mlir_properties *p = row ? row->properties : NULL; p && p->attributes; p++)
    if (p->version && listed(p->attributes, name))
      need(w, what, p->major, p->minor);
  keep(w, HSC_ERR(INTERNAL, "%s has no attribute %s", op->written_name, what));
}

// Before 1.3.0 a configuration is a string; frameworks gave the dictionary beside it then.
static bool is_early_config(const writer *w, hsc_view name, const hsc__mlir_attr *value) {
  return value->kind == HSC_MLIR_DICT && hsc_view_equals_text(name, "backend_config") &&
         !has(w, 1, 3);
}

// What goes to the dictionary whatever the container: discardable attributes, named with a
// dialect's prefix. Of a module all, where the container has no properties.
static void put_discardable(writer *w,
                            const hsc__mlir_op *op,
                            const hsc__mlir_properties *version,
                            hsc_bytes *entries,
                            uint64_t *io_count) {
  bool module = !version;
  bool native = w->container >= 5;
  for (int i = 0; i < op->attr_count; i++) {
    hsc_view name = op->attrs[i].name;
    const hsc__mlir_attr *value = op->attrs[i].value;
    bool own = !memchr(name.data, '.', name.size);
    if (!module && is_early_config(w, name, value))
      put_entry(w, entries, io_count, HSC_VIEW("mhlo.backend_config"), attr_number(w, value));
    else if (!own || (module && !native))
      put_entry(w, entries, io_count, name,
                module ? builtin_attr(w, value) : attr_number(w, value));
    else if (!module && !listed(version->attributes, name))
      refuse_attr(w, op, name);
  }
}

// An attribute of the operation by its name; NULL = it has none, or none that this version has.
static const hsc__mlir_attr *own_attr(const writer *w, const hsc__mlir_op *op, hsc_view name) {
  for (int i = 0; i < op->attr_count; i++)
    if (hsc_view_equals(op->attrs[i].name, name))
      return is_early_config(w, name, op->attrs[i].value) ? NULL : op->attrs[i].value;
  return NULL;
}

// The operation's own attributes, in the order of its version: properties of a container that has
// them, else entries of the dictionary.
static void put_own(writer *w,
                    const hsc__mlir_op *op,
                    const hsc__mlir_properties *version,
                    hsc_bytes *properties,
                    hsc_bytes *entries,
                    uint64_t *io_count) {
  for (const char *at = version->attributes; *at && !w->status;) {
    hsc_view name = {at, strcspn(at, " ")};
    const hsc__mlir_attr *value = own_attr(w, op, name);
    uint64_t number = value ? attr_number(w, value) : default_attr(w, name);
    if (w->container >= 5)
      varint(properties, number);
    else
      put_entry(w, entries, io_count, name, number);
    at += name.size;
    while (*at == ' ')
      at++;
  }
}

// Writes the attributes, of the module where `version` is NULL; gives the bits of the mask, and the
// numbers to write after the location.
static int put_attrs(writer *w,
                     const hsc__mlir_op *op,
                     const hsc__mlir_properties *version,
                     uint64_t *out_dict,
                     uint64_t *out_properties) {
  hsc_bytes entries = {0};
  hsc_bytes properties = {0};
  uint64_t count = 0;
  int mask = 0;
  put_discardable(w, op, version, &entries, &count);
  if (version) {
    put_own(w, op, version, &properties, &entries, &count);
  } else if (w->container >= 5) {  // a module's name and visibility, both optional
    const hsc__mlir_attr *name = hsc__mlir_attr_get(op, "sym_name");
    varint(&properties, name ? builtin_text(w, name->text) << 1 | 1 : 0);
    varint(&properties, 0);
  }
  if (count) {
    *out_dict = dict_number(w, count, &entries);
    mask |= OP_ATTRS;
  }
  if (properties.size) {
    *out_properties = property_number(w, &properties);
    mask |= OP_PROPERTIES;
  }
  hsc_bytes_deinit(&entries);
  hsc_bytes_deinit(&properties);
  return mask;
}

static void put_section(hsc_bytes *out, int id, const hsc_bytes *data) {
  hsc_bytes_append_char(out, (char)id);
  varint(out, data->size);
  hsc_bytes_append(out, data->data, data->size);
}

static void put_block(
    writer *w, hsc_bytes *out, hsc__mlir_block *block, uint64_t base, uint64_t count);

// Numbers the block's values from `base` and writes the region.
static void put_region(writer *w, hsc_bytes *out, hsc__mlir_block *block, uint64_t base) {
  uint64_t next = base;
  for (int i = 0; i < block->argument_count; i++)
    block->arguments[i].stamp = (int64_t)next++;
  for (int i = 0; i < block->op_count; i++)
    for (int k = 0; k < block->ops[i]->result_count; k++)
      block->ops[i]->results[k].stamp = (int64_t)next++;
  varint(out, 1);
  varint(out, next - base);
  put_block(w, out, block, base, next - base);
}

// `end` is the number after the values that are visible: those of inner regions begin there.
static void put_op(writer *w, hsc_bytes *out, hsc__mlir_op *op, uint64_t end) {
  char name[64];
  uint64_t dict = 0;
  uint64_t properties = 0;
  w->op = op;
  bool module = !strcmp(op->name, "module");
  bool isolated = module || !strcmp(op->name, "func");
  const hsc__mlir_properties *version = module ? NULL : find_version(w, op);
  if (w->status)
    return;
  if (module)
    snprintf(name, sizeof name, "module");
  else
    snprintf(name, sizeof name, "%s_v%d", op->name, version->version);
  varint(out, op_name_number(w, module ? DIALECT_BUILTIN : DIALECT_VHLO, name));
  int mask = put_attrs(w, op, version, &dict, &properties);
  mask |= (op->result_count ? OP_RESULTS : 0) | (op->operand_count ? OP_OPERANDS : 0) |
          (op->region_count ? OP_REGIONS : 0);
  hsc_bytes_append_char(out, (char)mask);
  varint(out, location_number(w, op->location));
  if (mask & OP_ATTRS)
    varint(out, dict);
  if (mask & OP_PROPERTIES)
    varint(out, properties);
  if (op->result_count) {
    varint(out, (uint64_t)op->result_count);
    for (int i = 0; i < op->result_count; i++)
      varint(out, value_type(w, op->results[i].type));
  }
  if (op->operand_count) {
    varint(out, (uint64_t)op->operand_count);
    for (int i = 0; i < op->operand_count; i++)
      varint(out, (uint64_t)op->operands[i]->stamp);
  }
  if (!op->region_count)
    return;
  varint(out, (uint64_t)op->region_count << 1 | isolated);
  hsc_bytes own = {0};
  hsc_bytes *to = isolated && w->container >= 2 ? &own : out;
  for (int i = 0; i < op->region_count; i++)
    put_region(w, to, op->regions[i], isolated ? 0 : end);
  if (to == &own)
    put_section(out, SECTION_IR, &own);
  keep(w, hsc_bytes_status(&own));
  hsc_bytes_deinit(&own);
}

static void put_block(
    writer *w, hsc_bytes *out, hsc__mlir_block *block, uint64_t base, uint64_t count) {
  varint(out, (uint64_t)block->op_count << 1 | (block->argument_count > 0));
  if (block->argument_count) {
    varint(out, (uint64_t)block->argument_count);
    for (int i = 0; i < block->argument_count; i++) {
      uint64_t type = value_type(w, block->arguments[i].type);
      varint(out, w->container >= 4 ? type << 1 : type);
      if (w->container < 4)
        varint(out, location_number(w, NULL));
    }
    // the order of uses is the one that a reader finds by itself
    if (w->container >= 3)
      hsc_bytes_append_char(out, 0);
  }
  for (int i = 0; i < block->op_count && !w->status; i++)
    put_op(w, out, block->ops[i], base + count);
}

// ---- the file -----------------------------------------------------------------------------------

static void put_dialects(writer *w, hsc_bytes *out) {
  static const char *const names[DIALECT_COUNT] = {"builtin", "vhlo"};
  varint(out, DIALECT_COUNT);
  for (int i = 0; i < DIALECT_COUNT; i++) {
    uint64_t text = string_number(w, hsc_view_of(names[i]));
    varint(out, w->container >= 1 ? text << 1 : text);
  }
  if (w->container >= 4)
    varint(out, w->op_name_total);
  hsc_bytes_append(out, w->op_name_data.data, w->op_name_data.size);
  if (w->op_name_group) {
    varint(out, (uint64_t)w->op_dialect);
    varint(out, w->op_name_group);
    hsc_bytes_append(out, w->op_group.data, w->op_group.size);
  }
}

static void put_sizes(table *t, hsc_bytes *out) {
  hsc_bytes_append(out, t->sizes.data, t->sizes.size);
  if (!t->group_count)
    return;
  varint(out, (uint64_t)t->dialect);
  varint(out, t->group_count);
  hsc_bytes_append(out, t->group.data, t->group.size);
}

static void put_strings(writer *w, hsc_bytes *out) {
  size_t count = hsc_map_count(w->strings);
  varint(out, count);
  for (size_t i = count; i-- > 0;) {  // sizes from the last to the first
    uint64_t size;
    memcpy(&size, w->string_sizes.data + i * sizeof size, sizeof size);
    varint(out, size);
  }
  hsc_bytes_append(out, w->string_data.data, w->string_data.size);
}

static void put_file(writer *w, const hsc_bytes *ir, hsc_bytes *out) {
  hsc_bytes part = {0};
  hsc_bytes_append(out, "ML\xefR", 4);
  varint(out, (uint64_t)w->container);
  hsc_bytes_printf(out, "StableHLO_v%d.%d.%d", w->version.major, w->version.minor,
                   w->version.patch);
  hsc_bytes_append_char(out, 0);
  put_dialects(w, &part);
  put_section(out, SECTION_DIALECT, &part);
  hsc_bytes_append(&w->attrs.data, w->types.data.data, w->types.data.size);
  put_section(out, SECTION_ATTR_TYPE, &w->attrs.data);
  hsc_bytes_reset(&part);
  varint(&part, w->attrs.count);
  varint(&part, w->types.count);
  put_sizes(&w->attrs, &part);
  put_sizes(&w->types, &part);
  put_section(out, SECTION_ATTR_TYPE_OFFSET, &part);
  put_section(out, SECTION_IR, ir);
  if (w->container >= 5) {
    hsc_bytes_reset(&part);
    varint(&part, hsc_map_count(w->properties));
    hsc_bytes_append(&part, w->property_data.data, w->property_data.size);
    put_section(out, SECTION_PROPERTIES, &part);
  }
  hsc_bytes_reset(&part);
  put_strings(w, &part);
  put_section(out, SECTION_STRING, &part);
  keep(w, hsc_bytes_status(&part));
  hsc_bytes_deinit(&part);
}

static int container_of(hsc_stablehlo_version v) {
  if (v.major > 0 || v.minor >= 15)
    return 6;
  if (v.minor >= 14)
    return 4;
  if (v.minor >= 12)
    return 3;
  if (v.minor >= 10)
    return 1;
  return 0;
}

hsc_status *hsc__mlir_bytecode_write(hsc__mlir_op *top,
                                     hsc_stablehlo_version version,
                                     const char *path,
                                     hsc_bytes *out) {
  writer w = {.path = path, .version = version, .container = container_of(version)};
  hsc_status *status = NULL;
  hsc_bytes ir = {0};
  hsc_map **maps[] = {&w.attrs.map,  &w.types.map,    &w.strings,         &w.op_names,
                      &w.properties, &w.type_numbers, &w.location_numbers};
  HSC_GOTO(hsc_arena_create(&w.arena));
  for (size_t i = 0; i < HSC_COUNT_OF(maps); i++)
    HSC_GOTO(hsc_map_create(maps[i]));
  varint(&ir, 1 << 1);  // a block of one operation, the module
  put_op(&w, &ir, top, 0);
  if (!w.status)
    put_file(&w, &ir, out);
  status = w.status ? w.status : hsc_bytes_status(out);
  if (!status)
    status = hsc_bytes_status(&ir);
done:
  for (size_t i = 0; i < HSC_COUNT_OF(maps); i++)
    hsc_map_destroy(*maps[i]);
  hsc_bytes *buffers[] = {&ir,
                          &w.string_data,
                          &w.op_name_data,
                          &w.property_data,
                          &w.string_sizes,
                          &w.op_group,
                          &w.attrs.data,
                          &w.attrs.sizes,
                          &w.attrs.group,
                          &w.types.data,
                          &w.types.sizes,
                          &w.types.group};
  for (size_t i = 0; i < HSC_COUNT_OF(buffers); i++)
    hsc_bytes_deinit(buffers[i]);
  hsc_arena_destroy(w.arena);
  return status;
}
