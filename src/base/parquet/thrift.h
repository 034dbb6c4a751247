// thrift.h - writes Thrift's compact protocol, as far as Parquet needs it
// (thrift/doc/specs/thrift-compact-protocol.md).
#pragma once

#include "base/core/bytes.h"

// Types of fields and elements. A field that is a bool has its value as its type.
enum {
  HSC__THRIFT_STOP = 0,
  HSC__THRIFT_TRUE = 1,
  HSC__THRIFT_FALSE = 2,
  HSC__THRIFT_BYTE = 3,
  HSC__THRIFT_I16 = 4,
  HSC__THRIFT_I32 = 5,
  HSC__THRIFT_I64 = 6,
  HSC__THRIFT_DOUBLE = 7,
  HSC__THRIFT_BINARY = 8,
  HSC__THRIFT_LIST = 9,
  HSC__THRIFT_SET = 10,
  HSC__THRIFT_MAP = 11,
  HSC__THRIFT_STRUCT = 12
};

// A stack of the last field's number in each open struct.
typedef struct hsc__thrift {
  hsc_bytes *out;
  int depth;
  int last[8];
} hsc__thrift;

static inline hsc__thrift hsc__thrift_of(hsc_bytes *out) {
  return (hsc__thrift){.out = out};
}

static inline void hsc__thrift_varint(hsc_bytes *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    hsc_bytes_append_char(out, (char)(value | 0x80));
  hsc_bytes_append_char(out, (char)value);
}
static inline void hsc__thrift_zigzag(hsc_bytes *out, int64_t value) {
  hsc__thrift_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

// Fields come in rising order, at most 15 apart.
static inline void hsc__thrift_field(hsc__thrift *t, int field, int type) {
  hsc_bytes_append_char(t->out, (char)((field - t->last[t->depth]) << 4 | type));
  t->last[t->depth] = field;
}
static inline void hsc__thrift_i32(hsc__thrift *t, int field, int32_t value) {
  hsc__thrift_field(t, field, HSC__THRIFT_I32);
  hsc__thrift_zigzag(t->out, value);
}
static inline void hsc__thrift_i64(hsc__thrift *t, int field, int64_t value) {
  hsc__thrift_field(t, field, HSC__THRIFT_I64);
  hsc__thrift_zigzag(t->out, value);
}
static inline void hsc__thrift_raw_i32(hsc__thrift *t, int32_t value) {
  hsc__thrift_zigzag(t->out, value);
}  // in a list
// in a list
static inline void hsc__thrift_raw_text(hsc__thrift *t, hsc_view text) {
  hsc__thrift_varint(t->out, text.size);
  hsc_bytes_append(t->out, text.data, text.size);
}
static inline void hsc__thrift_text(hsc__thrift *t, int field, hsc_view text) {
  hsc__thrift_field(t, field, HSC__THRIFT_BINARY);
  hsc__thrift_raw_text(t, text);
}
static inline void hsc__thrift_list(hsc__thrift *t, int field, int element_type, size_t count) {
  hsc__thrift_field(t, field, HSC__THRIFT_LIST);
  if (count < 15) {
    hsc_bytes_append_char(t->out, (char)(count << 4 | (size_t)element_type));
    return;
  }
  hsc_bytes_append_char(t->out, (char)(0xf0 | element_type));
  hsc__thrift_varint(t->out, count);
}
static inline void hsc__thrift_element(hsc__thrift *t) {
  t->last[++t->depth] = 0;
}  // a struct in a list; ends with stop
static inline void hsc__thrift_stop(hsc__thrift *t) {
  hsc_bytes_append_char(t->out, 0);
  if (t->depth)
    t->depth--;
}
// a struct in a field
static inline void hsc__thrift_begin(hsc__thrift *t, int field) {
  hsc__thrift_field(t, field, HSC__THRIFT_STRUCT);
  t->last[++t->depth] = 0;
}
static inline void hsc__thrift_end(hsc__thrift *t) {
  hsc__thrift_stop(t);
}
