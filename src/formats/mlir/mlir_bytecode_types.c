// mlir_bytecode_types.c - types of MLIR bytecode: of VHLO, of the builtin dialect, and those that
// come as text. Each is decoded once, when it is asked for.
//
// Source: mlir/docs/BytecodeFormat.md; VHLO's encodings: stablehlo/dialect/VhloBytecode.cpp
// (numbers of attributes and types).
#include "formats/mlir/mlir_bytecode_internal.h"

static void element(hsc__mlir_type *type, hsc_type element_type) {
  type->kind = HSC_MLIR_ELEMENT;
  type->shape = hsc_shape_scalar(element_type);
}

static void read_type_list(hsc__bc_reader *r,
                           hsc__bc_cursor *c,
                           hsc__mlir_type *type,
                           bool append) {
  size_t count = hsc__bc_count_of(r, c, 1);
  size_t before = append ? (size_t)type->element_count : 0;
  const hsc__mlir_type **list = hsc__bc_make(r, sizeof *list, before + count);
  if (r->status)
    return;
  if (before)
    memcpy(list, type->elements, before * sizeof *list);
  for (size_t i = 0; i < count; i++)
    list[before + i] = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
  type->elements = list;
  type->element_count = (int32_t)(before + count);
}

static void read_tensor(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_type *type, bool encoding) {
  type->kind = HSC_MLIR_TENSOR;
  const hsc__mlir_attr *extension = encoding ? hsc__bc_attr_at(r, c, hsc__bc_varint(r, c)) : NULL;
  size_t rank = hsc__bc_count_of(r, c, 1);
  if (!r->status && rank > HSC_MAX_RANK)
    return hsc__bc_fail(r, c, "a tensor has more than 32 dimensions");
  int64_t *dims = hsc__bc_make(r, sizeof *dims, rank);
  bool *dynamic = hsc__bc_make(r, sizeof *dynamic, rank);
  bool any = false;
  for (size_t i = 0; i < rank && !r->status; i++) {
    dims[i] = hsc__bc_svarint(r, c);
    if (dims[i] >= 0)
      continue;
    dynamic[i] = any = true;  // the bound is in the encoding
    dims[i] = extension && extension->kind == HSC_MLIR_ARRAY && (int32_t)i < extension->count
                  ? extension->elements[i]->integer
                  : 0;
    if (dims[i] <= 0)
      dims[i] = 0;
  }
  const hsc__mlir_type *of = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
  if (r->status)
    return;
  if (of->kind == HSC_MLIR_INDEX && !any) {  // layouts
    type->shape = (hsc_shape){.type = HSC_TYPE_S64, .rank = (int32_t)rank, .dims = dims};
    type->text = "index";
  } else if (of->kind == HSC_MLIR_ELEMENT) {
    type->shape = (hsc_shape){.type = of->shape.type,
                              .rank = (int32_t)rank,
                              .dims = dims,
                              .dynamic = any ? dynamic : NULL};
  } else {
    type->kind = HSC_MLIR_OTHER;
    type->text = "a tensor of something that is no element type";
    return;
  }
  size_t bytes = hsc_type_bytes(type->shape.type);
  for (size_t i = 0; i < rank; i++)
    if (!hsc_mul_size(bytes, (size_t)dims[i] ? (size_t)dims[i] : 1, &bytes) ||
        bytes > (size_t)INT64_MAX)
      return hsc__bc_fail(r, c, "a tensor is larger than memory can be");
}

static const hsc_type vhlo_elements[] = {
#define VHLO_TYPE(number, type, major, minor) [number] = HSC_TYPE_##type,
#include "formats/mlir/vhlo_types.def"
#undef VHLO_TYPE
};

static void read_complex(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_type *type) {
  const hsc__mlir_type *of = hsc__bc_type_at(r, c, hsc__bc_varint(r, c));
  if (r->status)
    return;
  if (of->kind != HSC_MLIR_ELEMENT ||
      (of->shape.type != HSC_TYPE_F32 && of->shape.type != HSC_TYPE_F64))
    return hsc__bc_fail(r, c, "a complex number of something that is neither f32 nor f64");
  element(type, of->shape.type == HSC_TYPE_F32 ? HSC_TYPE_C64 : HSC_TYPE_C128);
}

static void decode_vhlo_type(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_type *type) {
  uint64_t code = hsc__bc_varint(r, c);
  if (code < HSC_COUNT_OF(vhlo_elements) && vhlo_elements[code] != HSC_TYPE_INVALID) {
    element(type, vhlo_elements[code]);
    return;
  }
  switch (code) {
    case 1:
      read_complex(r, c, type);
      break;
    case 8:
      type->kind = HSC_MLIR_FUNCTION;
      read_type_list(r, c, type, false);
      type->input_count = type->element_count;
      read_type_list(r, c, type, true);
      break;
    case 9:
      type->kind = HSC_MLIR_INDEX;
      break;
    case 20:
    case 21:
      read_tensor(r, c, type, code == 21);
      break;
    case 22:
      type->kind = HSC_MLIR_TOKEN;
      break;
    case 23:
      type->kind = HSC_MLIR_TUPLE;
      read_type_list(r, c, type, false);
      break;
    case 25:
      type->kind = HSC_MLIR_UNRANKED;
      break;
    case 33:
      type->kind = HSC_MLIR_NONE;
      break;
    case 34:
      type->kind = HSC_MLIR_OTHER;
      type->text = "tf32";
      break;
    default:
      type->kind = HSC_MLIR_OTHER;
      if (code == 24 || code == 30)
        type->text = "a quantised type";
      else if (code == 26)
        type->text = "a witness";
      else
        type->text = "a VHLO type that this version does not know";
  }
}

static void decode_builtin_type(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_type *type) {
  uint64_t code = hsc__bc_varint(r, c);
  switch (code) {
    case 0: {
      // 0 signless, 1 signed, 2 unsigned
      uint64_t value = hsc__bc_varint(r, c);
      uint64_t width = value >> 2;
      uint64_t sign = value & 3;
      static const struct {
        uint64_t width;
        hsc_type is_signed, is_unsigned;
      } integers[] = {{1, HSC_TYPE_PRED, HSC_TYPE_PRED}, {2, HSC_TYPE_S2, HSC_TYPE_U2},
                      {4, HSC_TYPE_S4, HSC_TYPE_U4},     {8, HSC_TYPE_S8, HSC_TYPE_U8},
                      {16, HSC_TYPE_S16, HSC_TYPE_U16},  {32, HSC_TYPE_S32, HSC_TYPE_U32},
                      {64, HSC_TYPE_S64, HSC_TYPE_U64}};
      type->kind = HSC_MLIR_OTHER;
      type->text = "an integer of a width that HLO does not have";
      for (size_t i = 0; i < HSC_COUNT_OF(integers); i++)
        if (integers[i].width == width)
          element(type, sign == 2 ? integers[i].is_unsigned : integers[i].is_signed);
      break;
    }
    case 1:
      type->kind = HSC_MLIR_INDEX;
      break;
    case 2:
      type->kind = HSC_MLIR_FUNCTION;
      read_type_list(r, c, type, false);
      type->input_count = type->element_count;
      read_type_list(r, c, type, true);
      break;
    case 3:
      element(type, HSC_TYPE_BF16);
      break;
    case 4:
      element(type, HSC_TYPE_F16);
      break;
    case 5:
      element(type, HSC_TYPE_F32);
      break;
    case 6:
      element(type, HSC_TYPE_F64);
      break;
    case 9:
      read_complex(r, c, type);
      break;
    case 12:
      type->kind = HSC_MLIR_NONE;
      break;
    case 13:
    case 14:
      read_tensor(r, c, type, code == 14);
      break;
    case 15:
      type->kind = HSC_MLIR_TUPLE;
      read_type_list(r, c, type, false);
      break;
    case 18:
      type->kind = HSC_MLIR_UNRANKED;
      break;
    default:
      type->kind = HSC_MLIR_OTHER;
      type->text = "a builtin type that HLO does not have";
  }
}

// Types without an encoding of their own come as text: f8 types, !stablehlo.token.
static void decode_text_type(hsc__bc_reader *r, hsc_view text, hsc__mlir_type *type) {
  static const struct {
    const char *text;
    hsc_type type;
  } floats[] = {{"f8E4M3FN", HSC_TYPE_F8E4M3FN},
                {"f8E5M2", HSC_TYPE_F8E5M2},
                {"f8E4M3FNUZ", HSC_TYPE_F8E4M3FNUZ},
                {"f8E5M2FNUZ", HSC_TYPE_F8E5M2FNUZ},
                {"f8E4M3B11FNUZ", HSC_TYPE_F8E4M3B11FNUZ},
                {"f8E4M3", HSC_TYPE_F8E4M3},
                {"f8E3M4", HSC_TYPE_F8E3M4},
                {"f4E2M1FN", HSC_TYPE_F4E2M1FN},
                {"f8E8M0FNU", HSC_TYPE_F8E8M0FNU}};
  if (text.size && text.data[text.size - 1] == 0)
    text.size--;
  type->kind = HSC_MLIR_OTHER;
  type->text = hsc__bc_text_of(r, text);
  if (hsc_view_equals_text(text, "!stablehlo.token"))
    type->kind = HSC_MLIR_TOKEN;
  for (size_t i = 0; i < HSC_COUNT_OF(floats); i++)
    if (hsc_view_equals_text(text, floats[i].text))
      element(type, floats[i].type);
}

static const hsc__mlir_type nothing = {.kind = HSC_MLIR_NONE};

const hsc__mlir_type *hsc__bc_type_at(hsc__bc_reader *r, const hsc__bc_cursor *c, uint64_t index) {
  if (r->status)
    return &nothing;
  if (index >= r->type_count) {
    hsc__bc_fail(r, c, "there is no such type");
    return &nothing;
  }
  hsc__bc_entry *e = &r->types[index];
  if (e->decoded)
    return e->decoded;
  if (e->busy || r->nesting >= HSC__BC_MAX_NESTING) {
    hsc__bc_fail(r, c, "types are nested too deeply");
    return &nothing;
  }
  hsc__mlir_type *type = hsc__bc_make(r, sizeof *type, 1);
  if (r->status)
    return &nothing;
  e->busy = true;
  r->nesting++;
  hsc__bc_cursor data = hsc__bc_cursor_of(e->data);
  if (!e->custom)
    decode_text_type(r, e->data, type);
  else if (!strcmp(e->dialect, "vhlo"))
    decode_vhlo_type(r, &data, type);
  else if (!strcmp(e->dialect, "builtin"))
    decode_builtin_type(r, &data, type);
  else if (!strcmp(e->dialect, "stablehlo") && hsc__bc_varint(r, &data) == 0)
    type->kind = HSC_MLIR_TOKEN;
  else {
    type->kind = HSC_MLIR_OTHER;
    type->text = e->dialect;
  }
  r->nesting--;
  e->busy = false;
  e->decoded = type;
  return type;
}
