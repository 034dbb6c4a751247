// mlir_bytecode_mesh.c - replica groups by the axes of a mesh, in VHLO's and StableHLO's own
// encoding. What the tree is: mlir_ir.h.
// Source: stablehlo/dialect/StablehloBytecode.cpp (the numbers of attributes); VHLO's by what
// StableHLO 1.17 writes.
#include "formats/mlir/mlir_bytecode_internal.h"

enum { PARTS_MOST = 2 };

// How it is said whether an attribute is there.
typedef enum optional_form { FLAG_BYTE, FLAG_NUMBER, FLAG_IN_NUMBER } optional_form;

static void add_part(hsc__mlir_attr *attr, const char *name, const hsc__mlir_attr *value) {
  hsc__mlir_named *entries = (hsc__mlir_named *)(uintptr_t)attr->entries;
  entries[attr->count++] = (hsc__mlir_named){hsc_view_of(name), value};
}

static void add_number(hsc__bc_reader *r,
                       hsc__bc_cursor *c,
                       hsc__mlir_attr *attr,
                       const char *name) {
  hsc__mlir_attr *value = hsc__bc_make(r, sizeof *value, 1);
  if (r->status)
    return;
  *value = (hsc__mlir_attr){.kind = HSC_MLIR_INT, .integer = hsc__bc_svarint(r, c)};
  add_part(attr, name, value);
}

static void add_attr(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr, const char *name) {
  const hsc__mlir_attr *value = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
  if (!r->status)
    add_part(attr, name, value);
}

// VHLO's names are attributes, StableHLO's are among the strings.
static void add_name(hsc__bc_reader *r, hsc__bc_cursor *c, bool is_vhlo, hsc__mlir_attr *attr) {
  if (is_vhlo) {
    add_attr(r, c, attr, "name");
    return;
  }
  hsc__mlir_attr *value = hsc__bc_make(r, sizeof *value, 1);
  if (r->status)
    return;
  *value = (hsc__mlir_attr){.kind = HSC_MLIR_STRING,
                            .text = hsc__bc_string_at(r, c, hsc__bc_varint(r, c))};
  add_part(attr, "name", value);
}

static void add_list(hsc__bc_reader *r, hsc__bc_cursor *c, hsc__mlir_attr *attr, const char *name) {
  hsc__mlir_attr *list = hsc__bc_make(r, sizeof *list, 1);
  size_t count = hsc__bc_count_of(r, c, 1);
  if (r->status)
    return;
  list->kind = HSC_MLIR_ARRAY;
  list->elements = hsc__bc_make(r, sizeof *list->elements, count);
  for (size_t i = 0; i < count && !r->status; i++)
    list->elements[list->count++] = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
  add_part(attr, name, list);
}

// An attribute that may be left out: VHLO's mesh has the flag in its number, the others before it.
static void add_optional(hsc__bc_reader *r,
                         hsc__bc_cursor *c,
                         optional_form form,
                         hsc__mlir_attr *attr,
                         const char *name) {
  uint64_t number = form == FLAG_BYTE ? hsc__bc_byte(r, c) : hsc__bc_varint(r, c);
  if (form == FLAG_IN_NUMBER) {
    if (number & 1)
      add_part(attr, name, hsc__bc_attr_at(r, c, number >> 1));
  } else if (number) {
    add_attr(r, c, attr, name);
  }
}

bool hsc__bc_mesh_attr(
    hsc__bc_reader *r, hsc__bc_cursor *c, bool is_vhlo, uint64_t code, hsc__mlir_attr *attr) {
  enum { GROUPS, SUB_AXIS, AXIS_REF, MESH_AXIS, MESH, COUNT };
  static const uint8_t codes[2][COUNT] = {{18, 19, 20, 21, 22}, {23, 21, 22, 24, 25}};
  int kind = 0;
  while (kind < COUNT && codes[is_vhlo][kind] != code)
    kind++;
  if (kind == COUNT)
    return false;
  attr->kind = HSC_MLIR_DICT;
  attr->entries = hsc__bc_make(r, sizeof *attr->entries, PARTS_MOST);
  if (r->status)
    return true;
  switch (kind) {
    case GROUPS:
      add_attr(r, c, attr, "mesh");
      if (is_vhlo)
        add_attr(r, c, attr, "axes");
      else
        add_list(r, c, attr, "axes");
      break;
    case SUB_AXIS:
      add_number(r, c, attr, "pre_size");
      add_number(r, c, attr, "size");
      break;
    case AXIS_REF:
      add_name(r, c, is_vhlo, attr);
      add_optional(r, c, is_vhlo ? FLAG_NUMBER : FLAG_BYTE, attr, "sub_axis_info");
      break;
    case MESH_AXIS:
      add_name(r, c, is_vhlo, attr);
      add_number(r, c, attr, "size");
      break;
    default:
      add_attr(r, c, attr, "axes");
      add_optional(r, c, is_vhlo ? FLAG_IN_NUMBER : FLAG_BYTE, attr, "device_ids");
  }
  return true;
}
