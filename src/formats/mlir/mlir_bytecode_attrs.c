// mlir_bytecode_attrs.c - attributes of MLIR bytecode: of VHLO, StableHLO, Shardy and the builtin
// dialect, locations among them. Each is decoded once, when it is asked for.
//
// Source: mlir/docs/BytecodeFormat.md; VHLO's encodings: stablehlo/dialect/VhloBytecode.cpp
// (numbers of attributes and types).
#include "formats/mlir/mlir_bytecode_internal.h"

static const hsc__mlir_attr no_attr = {.kind = HSC_MLIR_UNKNOWN};

// An integer of a known width: one byte up to 8 bits, else zigzag; wider ones do not occur.
static uint64_t known_width(hsc__bc_reader *r, hsc__bc_cursor *c, int bits) {
  if (bits <= 8)
    return hsc__bc_byte(r, c);
  return (uint64_t)hsc__bc_svarint(r, c);
}

static int64_t sign_extend(uint64_t value, int bits) {
  return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static void read_integer(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_INT;
  attr->type = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
  if (r->status)
    return;
  int bits;
  if (attr->type->kind == HSC_MLIR_INDEX)
    bits = 64;
  else if (attr->type->kind == HSC_MLIR_ELEMENT)
    bits = hsc_type_bits(attr->type->shape.type);
  else
    bits = 64;
  bool is_pred = attr->type->kind == HSC_MLIR_ELEMENT && attr->type->shape.type == HSC_TYPE_PRED;
  uint64_t value = known_width(r, c, is_pred ? 1 : bits);
  if (is_pred) {
    attr->kind = HSC_MLIR_BOOL;
    attr->integer = value & 1;
    return;
  }
  bool is_unsigned = attr->type->kind == HSC_MLIR_ELEMENT &&
                     hsc_type_class_of(attr->type->shape.type) == HSC_CLASS_UNSIGNED;
  attr->integer =
      is_unsigned && bits < 64 ? (int64_t)(value & ((1ull << bits) - 1)) : sign_extend(value, bits);
}

static void read_float(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_FLOAT;
  attr->type = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
  if (r->status)
    return;
  if (attr->type->kind != HSC_MLIR_ELEMENT || !hsc_type_is_float(attr->type->shape.type))
    return hsc__bc_fail(r, c, "a float attribute has no float type");
  uint64_t bits = known_width(r, c, hsc_type_bits(attr->type->shape.type));
  attr->number = hsc_float_decode(attr->type->shape.type, bits);
}

static void read_attr_list(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  size_t count = hsc__bc_count_of(r, c, 1);
  attr->elements = hsc__bc_make(r, sizeof *attr->elements, count);
  if (r->status)
    return;
  for (size_t i = 0; i < count; i++)
    attr->elements[i] = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
  attr->count = (int32_t)count;
}

static void read_dict(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_DICT;
  size_t count = hsc__bc_count_of(r, c, 2);
  hsc__mlir_named *entries = hsc__bc_make(r, sizeof *entries, count);
  if (r->status)
    return;
  for (size_t i = 0; i < count && !r->status; i++) {
    const hsc__mlir_attr *name = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
    entries[i] = (hsc__mlir_named){name->text, hsc__bc_attr_at(r, c, hsc__bc_varint(r, c))};
  }
  attr->entries = entries;
  attr->count = (int32_t)count;
}

// Predicates are packed eight to a byte, a splat is one byte of all ones or zero; older writers
// used one byte each.
static void unpack_bools(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  size_t elements = (size_t)hsc_shape_elements(&attr->type->shape);
  size_t packed = elements / 8 + (elements % 8 != 0);
  hsc_view blob = attr->data;
  if (elements > 1 && blob.size == 1 && (uint8_t)blob.data[0] == 0xff) {
    attr->data = HSC_VIEW("\1");
    return;
  }
  if (blob.size != packed || blob.size == elements) {
    if (elements == 1 && blob.size == 1)
      attr->data = blob.data[0] ? HSC_VIEW("\1") : HSC_VIEW("\0");
    return;
  }
  if (elements > (blob.size + 1) * 8)
    return hsc__bc_fail(r, c, "a tensor of predicates is too short");
  char *bytes = hsc__bc_make(r, 1, elements);
  if (r->status)
    return;
  for (size_t i = 0; i < elements; i++)
    bytes[i] = (blob.data[i / 8] >> (i % 8)) & 1;
  attr->data = (hsc_view){bytes, elements};
}

static void read_dense(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_DENSE;
  attr->type = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
  if (r->status)
    return;
  attr->data = hsc__bc_take(r, c, hsc__bc_varint(r, c));
  // of vectors, indices and the like: an error only where it is needed
  if (!r->status && attr->type->kind != HSC_MLIR_TENSOR) {
    attr->kind = HSC_MLIR_UNKNOWN;
    return;
  }
  if (!r->status && attr->type->shape.type == HSC_TYPE_PRED)
    unpack_bools(r, c, attr);
  if (r->status)
    return;
  size_t bytes = (size_t)hsc_shape_bytes(&attr->type->shape);
  size_t one = hsc_type_bytes(attr->type->shape.type);
  if (attr->data.size != bytes && attr->data.size != one)
    hsc__bc_fail(r, c, "a dense attribute's data does not fit its type");
}

static void read_dense_array(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  const hsc__mlir_type *of = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
  size_t count = hsc__bc_count_of(r, c, 1);
  hsc_view blob = hsc__bc_take(r, c, hsc__bc_varint(r, c));
  if (r->status)
    return;
  if (of->kind != HSC_MLIR_ELEMENT || blob.size != count * hsc_type_bytes(of->shape.type))
    return hsc__bc_fail(r, c, "an array attribute's data does not fit its type");
  int64_t *dims = hsc__bc_make(r, sizeof *dims, 1);
  hsc__mlir_type *type = hsc__bc_make(r, sizeof *type, 1);
  if (r->status)
    return;
  dims[0] = (int64_t)count;
  *type = (hsc__mlir_type){.kind = HSC_MLIR_TENSOR,
                           .shape = {.type = of->shape.type, .rank = 1, .dims = dims}};
  attr->kind = HSC_MLIR_DENSE;
  attr->type = type;
  attr->data = blob;
}

static void print_indices(hsc__bc_reader *r, hsc__bc_cursor *c, hsc_bytes *out) {
  size_t count = hsc__bc_count_of(r, c, 1);
  hsc_bytes_append_char(out, '{');
  for (size_t i = 0; i < count && !r->status; i++)
    hsc_bytes_printf(out, "%s%lld", i ? ", " : "", (long long)hsc__bc_svarint(r, c));
  hsc_bytes_append_char(out, '}');
}

// {output}: (operand, {operand indices})
static void read_alias(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  hsc_bytes text = {0};
  print_indices(r, c, &text);
  hsc_bytes_printf(&text, ": (%lld, ", (long long)hsc__bc_svarint(r, c));
  print_indices(r, c, &text);
  hsc_bytes_append_char(&text, ')');
  attr->kind = HSC_MLIR_ALIAS;
  attr->text = hsc_view_of(hsc__bc_text_of(r, hsc_bytes_view(&text)));
  hsc_bytes_deinit(&text);
}

static void read_int_list(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  size_t count = hsc__bc_count_of(r, c, 1);
  attr->kind = HSC_MLIR_ARRAY;
  attr->elements = hsc__bc_make(r, sizeof *attr->elements, count);
  hsc__mlir_attr *numbers = hsc__bc_make(r, sizeof *numbers, count);
  if (r->status)
    return;
  for (size_t i = 0; i < count && !r->status; i++) {
    numbers[i] = (hsc__mlir_attr){.kind = HSC_MLIR_INT, .integer = hsc__bc_svarint(r, c)};
    attr->elements[i] = &numbers[i];
  }
  attr->count = (int32_t)count;
}

static void decode_vhlo_attr(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  uint64_t code = hsc__bc_varint(r, c);
  switch (code) {
    case 1:
      attr->kind = HSC_MLIR_ARRAY;
      read_attr_list(r, c, attr);
      break;
    case 2:
      attr->kind = HSC_MLIR_BOOL;
      attr->integer = hsc__bc_varint(r, c) != 0;
      break;
    case 3:
    case 4:
    case 5:
    case 7:
    case 11:
    case 12:
    case 13:
    case 16:
    case 19:
      attr->kind = HSC_MLIR_ENUM;
      attr->integer = (int64_t)hsc__bc_varint(r, c);
      break;
    case 6:
      read_dict(r, c, attr);
      break;
    case 8:
      read_float(r, c, attr);
      break;
    case 9:
      read_integer(r, c, attr);
      break;
    case 10:
      read_alias(r, c, attr);
      break;
    case 14:
      attr->kind = HSC_MLIR_STRING;
      attr->text = hsc__bc_string_at(r, c, hsc__bc_varint(r, c));
      break;
    case 15:
      read_dense(r, c, attr);
      break;
    case 17:
      attr->kind = HSC_MLIR_TYPE;
      attr->type = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
      break;
    case 20: {  // accuracy of a result: tolerances as bits of f64, ulps, mode
      hsc__mlir_attr *parts = hsc__bc_make(r, sizeof *parts, 3);
      attr->elements = hsc__bc_make(r, sizeof *attr->elements, 4);
      if (r->status)
        return;
      for (int i = 0; i < 2; i++)
        parts[i] = (hsc__mlir_attr){
            .kind = HSC_MLIR_FLOAT,
            .number = hsc_float_decode(HSC_TYPE_F64, (uint64_t)hsc__bc_svarint(r, c))};
      parts[2] = (hsc__mlir_attr){.kind = HSC_MLIR_INT, .integer = hsc__bc_svarint(r, c)};
      for (int i = 0; i < 3; i++)
        attr->elements[i] = &parts[i];
      attr->elements[3] = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
      attr->count = 4;
      attr->kind = HSC_MLIR_ACCURACY;
      break;
    }
    case 18:
      read_int_list(r, c, attr);
      break;  // bounds of dynamic dimensions
    default:
      if (!hsc__bc_mesh_attr(r, c, true, code, attr))
        attr->kind = HSC_MLIR_UNKNOWN;  // an error only where it is needed
  }
}

// What StableHLO's enumerations and structures are outside of portable artifacts; structures with
// VHLO's names for their parts. Where a part is one number and not a list, its name starts with
// '='; '!' is a type.
static void read_parts(hsc__bc_reader *r,
                       hsc__bc_cursor *c,
                       hsc__mlir_attr *attr,
                       const char *const *names,
                       int count) {
  hsc__mlir_named *entries = hsc__bc_make(r, sizeof *entries, (size_t)count);
  attr->kind = HSC_MLIR_DICT;
  attr->entries = entries;
  for (int i = 0; i < count && !r->status; i++) {
    hsc__mlir_attr *part = hsc__bc_make(r, sizeof *part, 1);
    if (r->status)
      return;
    const char *name = names[i];
    if (*name == '=') {
      name++;
      part->kind = HSC_MLIR_INT;
      part->integer = hsc__bc_svarint(r, c);
    } else if (*name == '!') {
      name++;
      part->kind = HSC_MLIR_TYPE;
      part->type = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
    } else {
      read_int_list(r, c, part);
    }
    entries[attr->count++] = (hsc__mlir_named){hsc_view_of(name), part};
  }
}

static void decode_native_attr(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  static const char *const channel[] = {"=channel_id", "=channel_type"};
  static const char *const conv[] = {
      "=input_batch_dimension",           "=input_feature_dimension",
      "input_spatial_dimensions",         "=kernel_input_feature_dimension",
      "=kernel_output_feature_dimension", "kernel_spatial_dimensions",
      "=output_batch_dimension",          "=output_feature_dimension",
      "output_spatial_dimensions"};
  static const char *const dot[] = {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                    "lhs_contracting_dimensions", "rhs_contracting_dimensions"};
  static const char *const gather[] = {"offset_dims",           "collapsed_slice_dims",
                                       "operand_batching_dims", "start_indices_batching_dims",
                                       "start_index_map",       "=index_vector_dim"};
  static const char *const scatter[] = {
      "update_window_dims",           "inserted_window_dims",
      "input_batching_dims",          "scatter_indices_batching_dims",
      "scatter_dims_to_operand_dims", "=index_vector_dim"};
  static const char *const algorithm[] = {"!lhs_precision_type",  "!rhs_precision_type",
                                          "!accumulation_type",   "=lhs_component_count",
                                          "=rhs_component_count", "=num_primitive_operations"};
#define PARTS(names) read_parts(r, c, attr, names, (int)HSC_COUNT_OF(names))
  uint64_t code = hsc__bc_varint(r, c);
  switch (code) {
    case 1:
      PARTS(channel);
      break;
    case 2:
    case 3:
    case 6:
    case 8:
    case 9:
    case 10:
    case 12:
    case 16:
      attr->kind = HSC_MLIR_ENUM;
      attr->integer = (int64_t)hsc__bc_varint(r, c);
      break;
    case 4:
      PARTS(conv);
      break;
    case 5:
      PARTS(dot);
      break;
    case 7:
      PARTS(gather);
      break;
    case 11:
      PARTS(scatter);
      break;
    case 13:
      read_int_list(r, c, attr);
      break;
    case 14:
      read_alias(r, c, attr);
      break;
    case 15: {
      PARTS(algorithm);
      hsc__mlir_named *entries = hsc__bc_make(r, sizeof *entries, (size_t)attr->count + 1);
      hsc__mlir_attr *imprecise = hsc__bc_make(r, sizeof *imprecise, 1);
      if (r->status)
        return;
      memcpy(entries, attr->entries, (size_t)attr->count * sizeof *entries);
      *imprecise = (hsc__mlir_attr){.kind = HSC_MLIR_BOOL, .integer = hsc__bc_byte(r, c) != 0};
      entries[attr->count++] =
          (hsc__mlir_named){hsc_view_of("allow_imprecise_accumulation"), imprecise};
      attr->entries = entries;
      break;
    }
    // accuracies: an error only where they are needed
    default:
      if (!hsc__bc_mesh_attr(r, c, false, code, attr))
        attr->kind = HSC_MLIR_UNKNOWN;
  }
#undef PARTS
}

// Shardy's own encoding (shardy/dialect/sdy/ir/bytecode.td); how it is kept: sdy_internal.h.
static void decode_sdy_attr(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  uint64_t code = hsc__bc_varint(r, c);
  attr->kind = HSC_MLIR_ARRAY;
  attr->column = (int64_t)code;
  switch (code) {
    case 0:
    case 7:
    case 11:
    case 12:
      read_attr_list(r, c, attr);
      break;
    case 16:
      read_attr_list(r, c, attr);
      attr->column = 7;
      break;
    case 1:  // an axis of a mesh
      attr->kind = HSC_MLIR_STRING;
      attr->text = hsc__bc_string_at(r, c, hsc__bc_varint(r, c));
      attr->integer = hsc__bc_svarint(r, c);
      break;
    case 2: {
      read_attr_list(r, c, attr);
      size_t count = hsc__bc_count_of(r, c, 1);
      int64_t *ids = hsc__bc_make(r, sizeof *ids, count);
      for (size_t i = 0; i < count && !r->status; i++)
        ids[i] = hsc__bc_svarint(r, c);
      if (!r->status)
        attr->data = (hsc_view){(const char *)ids, count * sizeof *ids};
      break;
    }
    case 4: {  // an axis, or a part of one
      attr->kind = HSC_MLIR_STRING;
      attr->text = hsc__bc_string_at(r, c, hsc__bc_varint(r, c));
      attr->count = (int32_t)(hsc__bc_varint(r, c) & 1);
      break;
    }
    case 5:
      read_attr_list(r, c, attr);
      attr->integer = hsc__bc_byte(r, c);
      break;  // then a priority
    case 6:
    case 15:
    case 17: {
      const hsc__mlir_attr *mesh = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
      const hsc__mlir_attr ignored = {0};
      hsc__mlir_attr replicated = ignored;
      hsc__mlir_attr unreduced = ignored;
      if (mesh->kind == HSC_MLIR_SYMBOL)
        attr->text = mesh->text;
      read_attr_list(r, c, attr);
      read_attr_list(r, c, &replicated);
      if (code != 6)
        read_attr_list(r, c, &unreduced);
      attr->integer = unreduced.count;
      if (unreduced.count && !r->status) {  // after the dimensions, where `count` does not reach
        hsc__mlir_attr **list = hsc__bc_make(r, sizeof *list, (size_t)attr->count + 1);
        hsc__mlir_attr *last = hsc__bc_make(r, sizeof *last, 1);
        if (r->status)
          return;
        for (int i = 0; i < attr->count; i++)
          list[i] = (hsc__mlir_attr *)(uintptr_t)attr->elements[i];
        *last = unreduced;
        list[attr->count] = last;
        attr->elements = (const hsc__mlir_attr **)(uintptr_t)list;
      }
      break;
    }
    default:
      attr->kind = HSC_MLIR_UNKNOWN;
  }
}

static void decode_location(hsc__bc_reader *r,
                            hsc__bc_cursor *c,
                            hsc__mlir_attr *attr,
                            uint64_t code) {
  attr->kind = HSC_MLIR_LOCATION;
  switch (code) {
    case 10: {  // call site: callee, caller
      const hsc__mlir_attr **children = hsc__bc_make(r, sizeof *children, 2);
      if (r->status)
        return;
      for (int i = 0; i < 2; i++)
        children[i] = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
      attr->elements = children;
      attr->count = 2;
      break;
    }
    case 11:  // file:line:column; `type` stays NULL, the text is a file
      attr->text = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c))->text;
      attr->integer = (int64_t)hsc__bc_varint(r, c);
      attr->column = (int64_t)hsc__bc_varint(r, c);
      break;
    case 12:
    case 13:
      read_attr_list(r, c, attr);
      break;
    case 14: {  // name, child
      const hsc__mlir_attr **children = hsc__bc_make(r, sizeof *children, 1);
      attr->text = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c))->text;
      if (r->status)
        return;
      children[0] = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
      attr->elements = children;
      attr->count = 1;
      attr->column = -1;  // a name, not a file
      break;
    }
    default:
      break;
  }
}

static void decode_builtin_attr(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr) {
  uint64_t code = hsc__bc_varint(r, c);
  switch (code) {
    case 0:
      attr->kind = HSC_MLIR_ARRAY;
      read_attr_list(r, c, attr);
      break;
    case 1:
      read_dict(r, c, attr);
      break;
    case 2:
    case 3:
      attr->kind = HSC_MLIR_STRING;
      attr->text = hsc__bc_string_at(r, c, hsc__bc_varint(r, c));
      break;
    case 4:
    case 5:
      attr->kind = HSC_MLIR_SYMBOL;
      attr->text = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c))->text;
      break;
    case 6:
      attr->kind = HSC_MLIR_TYPE;
      attr->type = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
      break;
    case 7:
      attr->kind = HSC_MLIR_UNIT;
      break;
    case 8:
      read_integer(r, c, attr);
      break;
    case 9:
      read_float(r, c, attr);
      break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
      decode_location(r, c, attr, code);
      break;
    case 17:
      read_dense_array(r, c, attr);
      break;
    case 18:
      read_dense(r, c, attr);
      break;
    default:
      attr->kind = HSC_MLIR_UNKNOWN;
  }
}

const hsc__mlir_attr *hsc__bc_attr_at(hsc__bc_reader *r, const hsc__bc_cursor *c, uint64_t index) {
  if (r->status)
    return &no_attr;
  if (index >= r->attr_count) {
    hsc__bc_fail(r, c, "there is no such attribute");
    return &no_attr;
  }
  hsc__bc_entry *e = &r->attrs[index];
  if (e->decoded)
    return e->decoded;
  if (e->busy || r->nesting >= HSC__BC_MAX_NESTING) {
    hsc__bc_fail(r, c, "attributes are nested too deeply");
    return &no_attr;
  }
  hsc__mlir_attr *attr = hsc__bc_make(r, sizeof *attr, 1);
  if (r->status)
    return &no_attr;
  e->busy = true;
  r->nesting++;
  hsc__bc_cursor data = hsc__bc_cursor_of(e->data);
  attr->kind = HSC_MLIR_UNKNOWN;
  if (!e->custom)
    attr->text = e->data;
  else if (!strcmp(e->dialect, "vhlo"))
    decode_vhlo_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "builtin"))
    decode_builtin_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "sdy"))
    decode_sdy_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "stablehlo"))
    decode_native_attr(r, &data, attr);
  else if (!strcmp(e->dialect, "chlo")) {  // comparison direction and type
    attr->kind = HSC_MLIR_ENUM;
    hsc__bc_varint(r, &data);
    attr->integer = (int64_t)hsc__bc_varint(r, &data);
  }
  r->nesting--;
  e->busy = false;
  e->decoded = attr;
  // named where it is kept as text
  if (attr->kind == HSC_MLIR_UNKNOWN && !attr->text.size && !r->status) {
    const char *name = hsc_arena_printf(r->arena, "#%s<...>", e->dialect);
    attr->text = name ? hsc_view_of(name) : attr->text;
  }
  return attr;
}
