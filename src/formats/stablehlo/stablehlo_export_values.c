// stablehlo_export_values.c - what an exported operation is made of: attributes, types, locations.
#include "formats/stablehlo/stablehlo_export_internal.h"

void hsc__export_note(hsc__exporter *x, hsc__export_loss bit, const char *text) {
  if (!x->notes || (x->noted >> bit & 1))
    return;
  x->noted |= 1ull << bit;
  hsc_bytes_printf(x->notes, "%s\n", text);
}

hsc_status *hsc__export_error(const hsc__exporter *x, const hsc_instr *instr, hsc_status *status) {
  if (!instr)
    return status;
  status = hsc_status_note(status, "while: writing '%s' of computation '%s' as StableHLO",
                           instr->name, instr->parent ? instr->parent->name : "?");
  return hsc_status_at(status, x->module->source_path, instr->line, instr->column, NULL);
}

static hsc__mlir_attr *attr_new(hsc__exporter *x, hsc__mlir_attr_kind kind) {
  hsc__mlir_attr *attr = HSC_NEW(x->arena, hsc__mlir_attr);
  if (attr)
    attr->kind = kind;
  return attr;
}

const hsc__mlir_type *hsc__export_element(hsc__exporter *x, hsc_type type) {
  hsc__mlir_type *made = HSC_NEW(x->arena, hsc__mlir_type);
  if (made)
    *made = (hsc__mlir_type){.kind = HSC_MLIR_ELEMENT, .shape = hsc_shape_scalar(type)};
  return made;
}

const hsc__mlir_type *hsc__export_type(hsc__exporter *x, const hsc_shape *shape) {
  hsc__mlir_type *type = HSC_NEW(x->arena, hsc__mlir_type);
  if (!type)
    return NULL;
  if (shape->type == HSC_TYPE_TOKEN) {
    type->kind = HSC_MLIR_TOKEN;
  } else if (hsc_shape_is_tuple(shape)) {
    type->kind = HSC_MLIR_TUPLE;
    type->element_count = shape->element_count;
    type->elements = HSC_NEW_ARRAY(x->arena, const hsc__mlir_type *, shape->element_count + 1);
    for (int i = 0; type->elements && i < shape->element_count; i++)
      type->elements[i] = hsc__export_type(x, &shape->elements[i]);
  } else {
    type->kind = HSC_MLIR_TENSOR;
    type->shape = *shape;
    type->shape.layout = NULL;
  }
  return type;
}

const hsc__mlir_attr *hsc__export_int(hsc__exporter *x, hsc_type type, int64_t value) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_INT);
  if (attr) {
    attr->integer = value;
    attr->type = hsc__export_element(x, type);
  }
  return attr;
}

const hsc__mlir_attr *hsc__export_bool(hsc__exporter *x, bool value) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_BOOL);
  if (attr)
    attr->integer = value;
  return attr;
}

const hsc__mlir_attr *hsc__export_text(hsc__exporter *x, hsc_view text) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_STRING);
  if (attr)
    attr->text = (hsc_view){hsc_arena_strndup(x->arena, text.data, text.size), text.size};
  return attr;
}

const hsc__mlir_attr *hsc__export_symbol(hsc__exporter *x, const char *text) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_SYMBOL);
  if (attr)
    attr->text = hsc_view_of(text);
  return attr;
}

const hsc__mlir_attr *hsc__export_enum(hsc__exporter *x, const char *enumeration, int64_t number) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_ENUM);
  if (attr) {
    attr->text = hsc_view_of(enumeration);
    attr->integer = number;
  }
  return attr;
}

const hsc__mlir_attr *hsc__export_ints(
    hsc__exporter *x, hsc_type type, int rank, const int64_t *dims, const int64_t *values) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_DENSE);
  hsc__mlir_type *tensor = HSC_NEW(x->arena, hsc__mlir_type);
  if (!attr || !tensor)
    return NULL;
  *tensor = (hsc__mlir_type){.kind = HSC_MLIR_TENSOR,
                             .shape = hsc_shape_array(x->arena, type, rank, dims)};
  tensor->shape.layout = NULL;
  size_t count = (size_t)hsc_shape_elements(&tensor->shape);
  size_t one = hsc_type_bytes(type);
  char *data = hsc_arena_alloc_array(x->arena, one, count ? count : 1);
  for (size_t i = 0; data && i < count; i++)
    memcpy(data + i * one, &values[i], one);
  attr->type = tensor;
  attr->data = (hsc_view){data, count * one};
  return attr;
}

const hsc__mlir_attr *hsc__export_dims(hsc__exporter *x, hsc_dims dims) {
  int64_t count = dims.count;
  return hsc__export_ints(x, HSC_TYPE_S64, 1, &count, dims.v);
}

const hsc__mlir_attr *hsc__export_array(hsc__exporter *x,
                                        int count,
                                        const hsc__mlir_attr *const *elements) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_ARRAY);
  if (!attr)
    return NULL;
  attr->elements = HSC_NEW_ARRAY(x->arena, const hsc__mlir_attr *, count + 1);
  if (attr->elements && count)
    memcpy(attr->elements, elements, (size_t)count * sizeof *elements);
  attr->count = count;
  return attr;
}

const hsc__mlir_attr *hsc__export_dict(hsc__exporter *x,
                                       int count,
                                       const hsc__mlir_named *entries) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_DICT);
  if (!attr)
    return NULL;
  attr->entries = count ? hsc_arena_copy(x->arena, entries, (size_t)count * sizeof *entries) : NULL;
  attr->count = count;
  return attr;
}

const hsc__mlir_attr *hsc__export_type_attr(hsc__exporter *x, const hsc__mlir_type *type) {
  hsc__mlir_attr *attr = attr_new(x, HSC_MLIR_TYPE);
  if (attr)
    attr->type = type;
  return attr;
}

const hsc__mlir_attr *hsc__export_location(hsc__exporter *x, const hsc_metadata *metadata) {
  if (!metadata || (!metadata->op_name && !metadata->source_file))
    return NULL;
  hsc_view key = {(const char *)&metadata, sizeof metadata};
  hsc__mlir_attr *known = hsc_map_get(x->locations, key);
  hsc__mlir_attr *file = NULL;
  hsc__mlir_attr *name = NULL;
  if (known)
    return known;
  if (metadata->source_file) {
    file = attr_new(x, HSC_MLIR_LOCATION);
    if (!file)
      return NULL;
    file->text = hsc_view_of(metadata->source_file);
    file->integer = metadata->source_line;
    file->column = metadata->source_column;
  }
  if (metadata->op_name) {
    name = attr_new(x, HSC_MLIR_LOCATION);
    if (!name)
      return NULL;
    name->text = hsc_view_of(metadata->op_name);
    name->column = -1;
    if (file) {
      name->elements = HSC_NEW_ARRAY(x->arena, const hsc__mlir_attr *, 1);
      if (!name->elements)
        return NULL;
      name->elements[0] = file;
      name->count = 1;
    }
  }
  const hsc__mlir_attr *location = name ? name : file;
  const hsc_metadata **stable = hsc_arena_copy(x->arena, &metadata, sizeof metadata);
  if (stable)
    hsc_status_free(hsc_map_put(x->locations, (hsc_view){(const char *)stable, sizeof *stable},
                                (void *)(uintptr_t)location));
  return location;
}

void hsc__export_put(hsc__export_op *op, const char *name, const hsc__mlir_attr *value) {
  if (op->attr_count < (int)HSC_COUNT_OF(op->attrs))
    op->attrs[op->attr_count++] = (hsc__mlir_named){hsc_view_of(name), value};
}
