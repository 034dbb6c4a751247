// mlir_bytecode.c - MLIR bytecode (versions 0 to 6) with VHLO or StableHLO operations to the tree
// of mlir_ir.h.
//
// Container: magic, version, producer, sections (strings, dialects and operation names, attributes
// and types after a table of sizes, operations, properties). Attributes and types are decoded when
// something asks for them, once. No length is believed before it is compared with what is left of
// its section; nesting is bounded; tables are as large as the bytes that describe them allow.
// Source: mlir/docs/BytecodeFormat.md; VHLO's encodings: stablehlo/dialect/VhloBytecode.cpp
// (numbers of attributes and types).
#include "formats/mlir/mlir_ir.h"
#include "formats/mlir/mlir_bytecode_internal.h"
#include "formats/mlir/mlir_op_rows.h"

#include <stdlib.h>

// ---- primitives ---------------------------------------------------------------------------------

hsc_view hsc__bc_string_at(hsc__bc_reader *r, const hsc__bc_cursor *c, uint64_t index) {
  if (r->status)
    return (hsc_view){"", 0};
  if (index >= r->string_count) {
    hsc__bc_fail(r, c, "there is no such string");
    return (hsc_view){"", 0};
  }
  return r->strings[index];
}

const char *hsc__bc_text_of(hsc__bc_reader *r, hsc_view view) {
  char *text = hsc_arena_strndup(r->arena, view.data, view.size);
  if (!text && !r->status)
    r->status = hsc_status_out_of_memory();
  return text ? text : "";
}

// ---- sections -----------------------------------------------------------------------------------

static void read_strings(hsc__bc_reader *r) {
  hsc__bc_cursor *c = &r->sections[HSC__BC_SECTION_STRING];
  size_t count = hsc__bc_count_of(r, c, 1);
  r->strings = hsc__bc_make(r, sizeof *r->strings, count);
  if (r->status)
    return;
  r->string_count = count;
  const uint8_t *end = c->end;
  // sizes come in reverse order, each with its terminating zero
  for (size_t i = count; i-- > 0;) {
    uint64_t size = hsc__bc_varint(r, c);
    if (r->status)
      return;
    if (size == 0 || end < c->at || size > (uint64_t)(end - c->at))
      return hsc__bc_fail(r, c, "a string is longer than its section");
    end -= size;
    r->strings[i] = (hsc_view){(const char *)end, (size_t)size - 1};
  }
}

static void name_op(hsc__bc_reader *r, hsc__bc_op_name *name, hsc_view text) {
  name->name = hsc__bc_text_of(r, text);
  name->base = hsc_arena_strndup(r->arena, text.data, text.size);
  name->written = hsc_arena_printf(r->arena, "%s.%s", name->dialect, name->name);
  if (!name->base || !name->written)
    return;
  char *suffix = strrchr(name->base, '_');
  if (!strcmp(name->dialect, "vhlo") && suffix && suffix[1] == 'v' && suffix[2] >= '0' &&
      suffix[2] <= '9') {
    name->version = atoi(suffix + 2);
    *suffix = 0;
    const hsc__mlir_op_row *row = hsc__mlir_op_row_of(name->base);
    for (const hsc__mlir_properties *p = row ? row->properties : NULL; p && p->attributes; p++)
      if (p->version == name->version && p->version)
        name->attrs = p->attributes;
  }
  const char *attrs = name->attrs;
  if (!attrs || !*attrs)
    return;
  size_t count = 1;
  for (const char *at = attrs; *at; at++)
    count += *at == ' ';
  hsc_view *words = hsc__bc_make(r, sizeof *words, count);
  if (r->status)
    return;
  for (const char *at = attrs; *at; at += *at == ' ') {
    size_t length = strcspn(at, " ");
    words[name->attr_count++] = (hsc_view){at, length};
    at += length;
  }
  name->attr_names = words;
}

static void read_dialects(hsc__bc_reader *r) {
  hsc__bc_cursor *c = &r->sections[HSC__BC_SECTION_DIALECT];
  r->dialect_count = hsc__bc_count_of(r, c, 1);
  r->dialects = hsc__bc_make(r, sizeof *r->dialects, r->dialect_count);
  for (size_t i = 0; i < r->dialect_count && !r->status; i++) {
    uint64_t index = hsc__bc_varint(r, c);
    bool versioned = false;
    if (r->version >= HSC__BC_VERSION_DIALECT_VERSIONING) {
      versioned = index & 1;
      index >>= 1;
    }
    r->dialects[i] = hsc__bc_text_of(r, hsc__bc_string_at(r, c, index));
    int id;
    if (versioned)
      hsc__bc_section(r, c, &id);
  }
  size_t capacity =
      r->version >= HSC__BC_VERSION_ELIDE_LOCATION ? hsc__bc_count_of(r, c, 1) : hsc__bc_left(c);
  r->op_names = hsc__bc_make(r, sizeof *r->op_names, capacity);
  while (!r->status && hsc__bc_left(c)) {
    uint64_t dialect = hsc__bc_varint(r, c);
    size_t count = hsc__bc_count_of(r, c, 1);
    if (!r->status && dialect >= r->dialect_count)
      hsc__bc_fail(r, c, "there is no such dialect");
    for (size_t i = 0; i < count && !r->status; i++) {
      uint64_t index = hsc__bc_varint(r, c);
      if (r->op_name_count == capacity)
        return hsc__bc_fail(r, c, "more operation names than announced");
      hsc__bc_op_name *name = &r->op_names[r->op_name_count++];
      name->dialect = r->dialects[dialect];
      if (r->version >= HSC__BC_VERSION_PROPERTIES) {
        name->registered = index & 1;
        index >>= 1;
      }
      name_op(r, name, hsc__bc_string_at(r, c, index));
    }
  }
}

static void read_entries(hsc__bc_reader *r,
                         hsc__bc_cursor *sizes,
                         hsc__bc_cursor *data,
                         hsc__bc_entry *entries,
                         size_t count) {
  for (size_t done = 0; done < count && !r->status;) {
    uint64_t dialect = hsc__bc_varint(r, sizes);
    size_t group = hsc__bc_count_of(r, sizes, 1);
    if (!r->status && (dialect >= r->dialect_count || group == 0 || group > count - done))
      return hsc__bc_fail(r, sizes, "a group of attributes or types does not fit");
    for (size_t i = 0; i < group && !r->status; i++, done++) {
      uint64_t size = hsc__bc_varint(r, sizes);
      entries[done].custom = size & 1;
      entries[done].dialect = r->dialects[dialect];
      entries[done].data = hsc__bc_take(r, data, size >> 1);
    }
  }
}

static void read_attr_table(hsc__bc_reader *r) {
  hsc__bc_cursor *sizes = &r->sections[HSC__BC_SECTION_ATTR_TYPE_OFFSET];
  hsc__bc_cursor *data = &r->sections[HSC__BC_SECTION_ATTR_TYPE];
  r->attr_count = hsc__bc_count_of(r, sizes, 1);
  r->type_count = hsc__bc_count_of(r, sizes, 1);
  r->attrs = hsc__bc_make(r, sizeof *r->attrs, r->attr_count);
  r->types = hsc__bc_make(r, sizeof *r->types, r->type_count);
  if (r->status)
    return;
  read_entries(r, sizes, data, r->attrs, r->attr_count);
  read_entries(r, sizes, data, r->types, r->type_count);
}

static void read_properties(hsc__bc_reader *r) {
  hsc__bc_cursor *c = &r->sections[HSC__BC_SECTION_PROPERTIES];
  if (!r->present[HSC__BC_SECTION_PROPERTIES] || !hsc__bc_left(c))
    return;
  size_t count = hsc__bc_count_of(r, c, 1);
  r->properties = hsc__bc_make(r, sizeof *r->properties, count);
  if (r->status)
    return;
  for (; r->property_count < count && !r->status; r->property_count++)
    r->properties[r->property_count].data = hsc__bc_take(r, c, hsc__bc_varint(r, c));
}

const hsc__mlir_attr *hsc__mlir_attr_get(const hsc__mlir_op *op, const char *name) {
  for (int i = 0; i < op->attr_count; i++) {
    if (!hsc_view_equals_text(op->attrs[i].name, name))
      continue;
    const hsc__mlir_attr *attr = op->attrs[i].value;
    return attr->kind == HSC_MLIR_TYPE && attr->type->kind == HSC_MLIR_NONE ? NULL : attr;
  }
  return NULL;
}

const hsc__mlir_attr *hsc__mlir_dict_get(const hsc__mlir_attr *dict, const char *name) {
  for (int i = 0; dict && dict->kind == HSC_MLIR_DICT && i < dict->count; i++)
    if (hsc_view_equals_text(dict->entries[i].name, name))
      return dict->entries[i].value;
  return NULL;
}

hsc_status *hsc__mlir_bytecode_read(hsc_view bytes,
                                    const char *path,
                                    hsc_arena *arena,
                                    hsc__mlir_op **out_top) {
  static const char magic[] = "ML\xefR";
  hsc__bc_reader r = {.arena = arena, .path = path, .whole = bytes};
  hsc__bc_cursor c = hsc__bc_cursor_of(bytes);
  *out_top = NULL;
  if (bytes.size < 4 || memcmp(bytes.data, magic, 4))
    hsc__bc_fail(&r, &c, "the magic number is missing");
  c.at += r.status ? 0 : 4;
  r.version = hsc__bc_varint(&r, &c);
  if (!r.status && r.version > HSC__BC_VERSION_NEWEST)
    r.status = hsc_status_at(HSC_ERR(UNIMPLEMENTED, "MLIR bytecode version %llu is newer than %d",
                                     (unsigned long long)r.version, HSC__BC_VERSION_NEWEST),
                             path, 0, 0, NULL);
  while (!r.status && hsc__bc_byte(&r, &c)) {  // the producer's name
  }
  while (!r.status && hsc__bc_left(&c)) {
    int id;
    hsc__bc_cursor data = hsc__bc_section(&r, &c, &id);
    if (r.status)
      break;
    if (id >= HSC__BC_SECTION_COUNT || r.present[id])
      hsc__bc_fail(&r, &c, "a section is unknown or there twice");
    else {
      r.sections[id] = data;
      r.present[id] = true;
    }
  }
  static const int needed[] = {HSC__BC_SECTION_STRING, HSC__BC_SECTION_DIALECT,
                               HSC__BC_SECTION_ATTR_TYPE, HSC__BC_SECTION_ATTR_TYPE_OFFSET,
                               HSC__BC_SECTION_IR};
  for (size_t i = 0; i < HSC_COUNT_OF(needed) && !r.status; i++)
    if (!r.present[needed[i]])
      hsc__bc_fail(&r, &c, "a section is missing");
  if (!r.status)
    read_strings(&r);
  if (!r.status)
    read_properties(&r);
  if (!r.status)
    read_dialects(&r);
  if (!r.status)
    read_attr_table(&r);
  if (!r.status)
    *out_top = hsc__bc_read_ir(&r);
  return r.status;
}
