// stablehlo_import_common.c - what all parts of the import of StableHLO ask for: an error at an
// operation, its types as shapes, its attributes as numbers and text, its location as metadata.
//
// Attributes and locations are shared by many operations, and their numbers are asked for again and
// again: what was made of one is kept in it (is_imported).
#include "formats/common/formats_internal.h"
#include "formats/stablehlo/stablehlo_internal.h"

// The operation name that the framework gave: the outermost name of the location.
static hsc_view location_name(const hsc__mlir_attr *location) {
  for (int depth = 0; location && location->kind == HSC_MLIR_LOCATION && depth < 64; depth++) {
    if (location->column == -1)
      return location->text;
    if (!location->count)
      break;
    location = location->elements[0];
  }
  return (hsc_view){"", 0};
}

// The innermost place in a source file; NULL when the location names none.
static const hsc__mlir_attr *location_file(const hsc__mlir_attr *location) {
  for (int depth = 0; location && location->kind == HSC_MLIR_LOCATION && depth < 64; depth++) {
    if (location->column >= 0 && location->text.size)
      return location;
    if (!location->count)
      break;
    location = location->elements[0];
  }
  return NULL;
}

// Text of the input for people: what cannot be printed as \xNN, the rest of what is very long left
// out.
static void append_printable(hsc_bytes *out, hsc_view text) {
  enum { SHOWN = 200 };
  for (size_t i = 0; i < text.size && i < SHOWN; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 32 || c == 127)
      hsc_bytes_printf(out, "\\x%02x", c);
    else
      hsc_bytes_append_char(out, (char)c);
  }
  if (text.size > SHOWN)
    hsc_bytes_append_text(out, "...");
}

hsc_status *hsc__import_error(hsc_status *status, const hsc__importer *im, const hsc__mlir_op *op) {
  hsc_view name = location_name(op->location);
  const hsc__mlir_attr *file = location_file(op->location);
  hsc_bytes where = {0};
  if (name.size)
    hsc_bytes_append_text(&where, " at ");
  append_printable(&where, name);
  if (file) {
    hsc_bytes_append_text(&where, " (");
    append_printable(&where, file->text);
    hsc_bytes_printf(&where, ":%lld:%lld)", (long long)file->integer, (long long)file->column);
  }
  status =
      hsc_status_note(status, "while: importing %s%s", op->written_name, hsc_bytes_text(&where));
  hsc_bytes_deinit(&where);
  return hsc_status_at(status, im->path, op->line, op->column, NULL);
}

hsc_status *hsc__import_shape(const hsc__importer *im,
                              const hsc__mlir_op *op,
                              const hsc__mlir_type *type,
                              hsc_shape *out_shape) {
  hsc_arena *arena = im->module->arena;
  if (type->is_imported) {
    *out_shape = type->imported;
    return NULL;
  }
  switch (type->kind) {
    case HSC_MLIR_TENSOR:
      if (type->shape.dynamic)
        return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: dynamic shapes",
                          op->written_name);
      *out_shape = hsc_shape_array(arena, type->shape.type, type->shape.rank, type->shape.dims);
      // readers make types that may be written to
      ((hsc__mlir_type *)type)->imported = *out_shape;
      ((hsc__mlir_type *)type)->is_imported = true;
      return NULL;
    case HSC_MLIR_TOKEN:
      *out_shape = hsc_shape_token();
      return NULL;
    case HSC_MLIR_TUPLE: {
      hsc_shape *elements = HSC_NEW_ARRAY(im->arena, hsc_shape, type->element_count + 1);
      HSC_TRY(hsc_arena_status(im->arena));
      for (int i = 0; i < type->element_count; i++)
        HSC_TRY(hsc__import_shape(im, op, type->elements[i], &elements[i]));
      *out_shape = hsc_shape_tuple(arena, type->element_count, elements);
      return NULL;
    }
    case HSC_MLIR_UNRANKED:
      return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: tensors without a rank",
                        op->written_name);
    default:
      return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: a type that HLO does not have: %s",
                        op->written_name, type->text ? type->text : "not a tensor");
  }
}

hsc_status *hsc__import_result_shape(const hsc__importer *im,
                                     const hsc__mlir_op *op,
                                     hsc_shape *out_shape) {
  if (op->result_count == 1)
    return hsc__import_shape(im, op, op->results[0].type, out_shape);
  hsc_shape *elements = HSC_NEW_ARRAY(im->arena, hsc_shape, op->result_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < op->result_count; i++)
    HSC_TRY(hsc__import_shape(im, op, op->results[i].type, &elements[i]));
  *out_shape = hsc_shape_tuple(im->module->arena, op->result_count, elements);
  return NULL;
}

static int64_t dense_int(const hsc__mlir_attr *attr, int64_t index) {
  hsc_type type = attr->type->shape.type;
  size_t bytes = hsc_type_bytes(type);
  uint64_t value = 0;
  memcpy(&value, attr->data.data + (attr->data.size == bytes ? 0 : (size_t)index * bytes),
         bytes < 8 ? bytes : 8);
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  return is_signed && bytes < 8 ? (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes)
                                : (int64_t)value;
}

hsc_status *hsc__import_dims(const hsc__importer *im,
                             const hsc__mlir_op *op,
                             const char *name,
                             hsc_dims *out_dims) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, name);
  *out_dims = (hsc_dims){0};
  if (!attr)
    return NULL;
  bool is_array = attr->kind == HSC_MLIR_ARRAY;
  bool is_dense = attr->kind == HSC_MLIR_DENSE;
  hsc_type_class class = is_dense ? hsc_type_class_of(attr->type->shape.type) : HSC_CLASS_SIGNED;
  if (!is_array && !(is_dense && (class == HSC_CLASS_SIGNED || class == HSC_CLASS_UNSIGNED ||
                                  class == HSC_CLASS_PRED)))
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: attribute %s is no list of integers",
                      op->written_name, name);
  // After the kind was looked at: what was made of a location lies in the same place.
  if (attr->is_imported) {
    *out_dims = attr->imported.dims;
    return NULL;
  }
  int64_t count = is_array ? attr->count : hsc_shape_elements(&attr->type->shape);
  if (count > 1 << 20)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: attribute %s has %lld elements",
                      op->written_name, name, (long long)count);
  int64_t *values = HSC_NEW_ARRAY(im->module->arena, int64_t, count);
  if (count && !values)
    return hsc_status_out_of_memory();
  for (int64_t i = 0; i < count; i++)
    values[i] = is_array ? attr->elements[i]->integer : dense_int(attr, i);
  *out_dims = (hsc_dims){.count = (int32_t)count, .v = values};
  ((hsc__mlir_attr *)attr)->imported.dims = *out_dims;
  ((hsc__mlir_attr *)attr)->is_imported = true;
  return NULL;
}

int64_t hsc__import_int(const hsc__mlir_op *op, const char *name, int64_t missing) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, name);
  if (!attr)
    return missing;
  switch (attr->kind) {
    case HSC_MLIR_BOOL:
    case HSC_MLIR_INT:
    case HSC_MLIR_ENUM:
      return attr->integer;
    case HSC_MLIR_UNIT:
      return 1;
    case HSC_MLIR_DENSE:
      return hsc_shape_elements(&attr->type->shape) == 1 &&
                     !hsc_type_is_float(attr->type->shape.type)
                 ? dense_int(attr, 0)
                 : missing;
    default:
      return missing;
  }
}

hsc_view hsc__import_text(const hsc__mlir_op *op, const char *name) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, name);
  return attr && (attr->kind == HSC_MLIR_STRING || attr->kind == HSC_MLIR_SYMBOL)
             ? attr->text
             : (hsc_view){"", 0};
}

// The innermost file of a location and the outermost name, once per location.
const hsc_metadata *hsc__import_metadata(hsc__importer *im, const hsc__mlir_attr *location) {
  if (!location || location->kind != HSC_MLIR_LOCATION)
    return NULL;
  if (location->is_imported)
    return location->imported.metadata;
  hsc__mlir_attr *known = (hsc__mlir_attr *)location;
  hsc_metadata made = {0};
  hsc_view name = location_name(location);
  if (name.size)
    made.op_name = hsc_arena_strndup(im->module->arena, name.data, name.size);
  const hsc__mlir_attr *file = location_file(location);
  if (file) {
    made.source_file = hsc_arena_strndup(im->module->arena, file->text.data, file->text.size);
    made.source_line = (int32_t)file->integer;
  }
  known->is_imported = true;
  known->imported.metadata = made.op_name || made.source_file
                                 ? hsc_arena_copy(im->module->arena, &made, sizeof made)
                                 : NULL;
  return known->imported.metadata;
}

void hsc__import_set_results(hsc_builder *b, hsc__mlir_op *op, hsc_instr *value) {
  if (op->result_count == 1) {
    op->results[0].instr = value;
    return;
  }
  for (int i = 0; i < op->result_count; i++)
    op->results[i].instr = hsc_build_get_tuple_element(b, value, i);
}
