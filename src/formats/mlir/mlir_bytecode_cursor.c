// mlir_bytecode_cursor.c - errors, numbers and sections of MLIR bytecode: what its other files read
// with.
#include "formats/mlir/mlir_bytecode_internal.h"

void hsc__bc_fail(hsc__bc_reader *r, const hsc__bc_cursor *c, const char *what) {
  if (r->status)
    return;
  size_t offset = c && c->at ? (size_t)((const char *)c->at - r->whole.data) : 0;
  r->status = hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "MLIR bytecode: %s (byte %zu)", what, offset),
                            r->path, 0, 0, NULL);
}

uint64_t hsc__bc_long_varint(hsc__bc_reader *r, hsc__bc_cursor *c) {
  uint8_t first = hsc__bc_byte(r, c);
  if (first & 1)
    return first >> 1;
  int count = first ? __builtin_ctz(first) : 8;  // bytes that follow
  if (hsc__bc_left(c) < (size_t)count) {
    hsc__bc_fail(r, c, "it ends in the middle of a number");
    return 0;
  }
  uint64_t value = 0;
  memcpy(&value, c->at, (size_t)count);
  c->at += count;
  if (count == 8)
    return value;
  return (value << (7 - count)) | (uint64_t)(first >> (count + 1));
}

hsc__bc_cursor hsc__bc_section(hsc__bc_reader *r, hsc__bc_cursor *c, int *out_id) {
  uint8_t id = hsc__bc_byte(r, c);
  uint64_t length = hsc__bc_varint(r, c);
  if (id & 0x80) {
    uint64_t alignment = hsc__bc_varint(r, c);
    if (!r->status && (alignment == 0 || (alignment & (alignment - 1)) || alignment > 1 << 20))
      hsc__bc_fail(r, c, "a section's alignment is no power of two");
    // Padding brings the data to a multiple of the alignment from the start of the file.
    while (!r->status && ((size_t)((const char *)c->at - r->whole.data) & (alignment - 1)))
      hsc__bc_byte(r, c);
  }
  *out_id = id & 0x7f;
  return hsc__bc_cursor_of(hsc__bc_take(r, c, length));
}
