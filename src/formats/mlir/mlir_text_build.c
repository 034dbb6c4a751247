// mlir_text_build.c - what every part of the reader of MLIR text makes: the stack of what is open,
// attributes.
#include "formats/mlir/mlir_text_internal.h"

bool hsc__mlir_push(hsc__mlir_parser *p, const void *data, size_t size) {
  hsc_bytes_append(&p->stack, data, size);
  return !p->stack.failed || hsc__mlir_out_of_memory(p);
}

hsc__mlir_attr *hsc__mlir_make_attr(hsc__mlir_parser *p, hsc__mlir_attr_kind kind) {
  hsc__mlir_attr *attr = HSC_NEW(p->arena, hsc__mlir_attr);
  if (!attr) {
    hsc__mlir_out_of_memory(p);
    return NULL;
  }
  attr->kind = kind;
  return attr;
}

const hsc__mlir_attr *hsc__mlir_make_int(hsc__mlir_parser *p, int64_t value) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_INT);
  if (attr)
    attr->integer = value;
  return attr;
}

bool hsc__mlir_add_attr(hsc__mlir_parser *p,
                        hsc__mlir_op *op,
                        const char *name,
                        const hsc__mlir_attr *value) {
  hsc__mlir_named *attrs = HSC_NEW_ARRAY(p->arena, hsc__mlir_named, op->attr_count + 1);
  if (!attrs || !value)
    return hsc__mlir_out_of_memory(p);
  if (op->attr_count)
    memcpy(attrs, op->attrs, (size_t)op->attr_count * sizeof *attrs);
  op->has_foreign |= strchr(name, '.') != NULL;
  attrs[op->attr_count++] = (hsc__mlir_named){hsc_view_of(name), value};
  op->attrs = attrs;
  return true;
}
