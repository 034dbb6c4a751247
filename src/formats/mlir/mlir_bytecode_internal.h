// mlir_bytecode_internal.h - what the parts of the bytecode reader share: its state, and the
// primitives that take numbers out of bytes.
//
// mlir_bytecode.c reads the container and its tables, mlir_bytecode_types.c decodes types and
// mlir_bytecode_attrs.c attributes when something asks for them, mlir_bytecode_ops.c reads
// operations. The first failure stays: what comes after it does nothing and gives harmless values.
#pragma once

#include "formats/mlir/mlir_ir.h"

enum {
  HSC__BC_SECTION_STRING,
  HSC__BC_SECTION_DIALECT,
  HSC__BC_SECTION_ATTR_TYPE,
  HSC__BC_SECTION_ATTR_TYPE_OFFSET,
  HSC__BC_SECTION_IR,
  HSC__BC_SECTION_RESOURCE,
  HSC__BC_SECTION_RESOURCE_OFFSET,
  HSC__BC_SECTION_DIALECT_VERSIONS,
  HSC__BC_SECTION_PROPERTIES,
  HSC__BC_SECTION_COUNT
};
enum {
  HSC__BC_VERSION_DIALECT_VERSIONING = 1,
  HSC__BC_VERSION_LAZY_LOADING = 2,
  HSC__BC_VERSION_USE_LIST = 3,
  HSC__BC_VERSION_ELIDE_LOCATION = 4,
  HSC__BC_VERSION_PROPERTIES = 5,
  HSC__BC_VERSION_NEWEST = 6
};
enum { HSC__BC_MAX_NESTING = 200 };

typedef struct hsc__bc_cursor {
  const uint8_t *at, *end;
} hsc__bc_cursor;

typedef struct hsc__bc_entry {
  hsc_view data;
  const char *dialect;
  bool custom;  // dialect's own encoding; else text
  bool busy;    // being decoded: a cycle is damage
  void *decoded;
} hsc__bc_entry;

typedef struct hsc__bc_op_name {
  const char *dialect, *name;
  char *base;                  // without "_v1"
  const char *written;         // with its dialect
  int version;                 // of the VHLO operation; 0 = none
  const char *attrs;           // its properties in order; NULL = no table for it
  const hsc_view *attr_names;  // [attr_count], the words of attrs
  size_t attr_count;
  bool registered;
} hsc__bc_op_name;

typedef struct hsc__bc_property_set {  // properties of operations; many have the same
  hsc_view data;
  const hsc__bc_op_name *of;  // whose they were read as; NULL = not read
  hsc__mlir_named *attrs;
  int32_t count;
} hsc__bc_property_set;

typedef struct hsc__bc_reader {
  hsc_arena *arena;
  const char *path;
  hsc_view whole;
  uint64_t version;
  hsc__bc_cursor sections[HSC__BC_SECTION_COUNT];
  bool present[HSC__BC_SECTION_COUNT];
  hsc_view *strings;
  size_t string_count;
  const char **dialects;
  size_t dialect_count;
  hsc__bc_op_name *op_names;
  size_t op_name_count;
  hsc__bc_entry *attrs, *types;
  size_t attr_count, type_count;
  hsc__bc_property_set *properties;
  size_t property_count;
  size_t values_announced;  // by all regions; each value takes a byte, so the file bounds them
  int nesting;
  hsc_status *status;  // first failure, sticky
} hsc__bc_reader;

void hsc__bc_fail(hsc__bc_reader *r, const hsc__bc_cursor *c, const char *what);
uint64_t hsc__bc_long_varint(hsc__bc_reader *r, hsc__bc_cursor *c);
hsc__bc_cursor hsc__bc_section(hsc__bc_reader *r, hsc__bc_cursor *c, int *out_id);
hsc_view hsc__bc_string_at(hsc__bc_reader *r, const hsc__bc_cursor *c, uint64_t index);
const char *hsc__bc_text_of(hsc__bc_reader *r, hsc_view view);
// Decoded when first asked for; never NULL.
const hsc__mlir_type *hsc__bc_type_at(hsc__bc_reader *r, const hsc__bc_cursor *c, uint64_t index);
const hsc__mlir_attr *hsc__bc_attr_at(hsc__bc_reader *r, const hsc__bc_cursor *c, uint64_t index);
// The module operation; NULL after a failure.
// Replica groups by the axes of a mesh, and their parts (mlir_bytecode_mesh.c); false when `code`
// is the number of none of them.
bool hsc__bc_mesh_attr(
    hsc__bc_reader *r, hsc__bc_cursor *c, bool is_vhlo, uint64_t code, hsc__mlir_attr *attr);

hsc__mlir_op *hsc__bc_read_ir(hsc__bc_reader *r);

static inline size_t hsc__bc_left(const hsc__bc_cursor *c) {
  return (size_t)(c->end - c->at);
}

static inline uint8_t hsc__bc_byte(hsc__bc_reader *r, hsc__bc_cursor *c) {
  if (r->status)
    return 0;
  if (c->at == c->end) {
    hsc__bc_fail(r, c, "it ends in the middle of an element");
    return 0;
  }
  return *c->at++;
}

static inline uint64_t hsc__bc_varint(hsc__bc_reader *r, hsc__bc_cursor *c) {
  return c->at < c->end && *c->at & 1 && !r->status ? *c->at++ >> 1 : hsc__bc_long_varint(r, c);
}

static inline int64_t hsc__bc_svarint(hsc__bc_reader *r, hsc__bc_cursor *c) {
  uint64_t value = hsc__bc_varint(r, c);
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

// A count of things of which each takes at least `bytes_each` bytes of what is left.
static inline size_t hsc__bc_count_of(hsc__bc_reader *r, hsc__bc_cursor *c, size_t bytes_each) {
  uint64_t count = hsc__bc_varint(r, c);
  if (r->status)
    return 0;
  if (count > hsc__bc_left(c) / (bytes_each ? bytes_each : 1)) {
    hsc__bc_fail(r, c, "a count is larger than what is left");
    return 0;
  }
  return (size_t)count;
}

static inline hsc_view hsc__bc_take(hsc__bc_reader *r, hsc__bc_cursor *c, uint64_t size) {
  if (r->status)
    return (hsc_view){"", 0};
  if (size > hsc__bc_left(c)) {
    hsc__bc_fail(r, c, "a length is larger than what is left");
    return (hsc_view){"", 0};
  }
  hsc_view view = {(const char *)c->at, (size_t)size};
  c->at += size;
  return view;
}

static inline hsc__bc_cursor hsc__bc_cursor_of(hsc_view view) {
  return (hsc__bc_cursor){(const uint8_t *)view.data, (const uint8_t *)view.data + view.size};
}

// NULL once something failed: counts are checked before, and a failed check says nothing about the
// count.
static inline void *hsc__bc_make(hsc__bc_reader *r, size_t size, size_t count) {
  if (r->status)
    return NULL;
  void *memory = hsc_arena_alloc_array(r->arena, size, count ? count : 1);
  // What a failed arena gives is shared by all who ask: it may be kept for nobody.
  r->status = memory ? hsc_arena_status(r->arena) : hsc_status_out_of_memory();
  return r->status ? NULL : memory;
}
