// thrift_read.c - Thrift's compact protocol, as far as a Parquet file needs it.
#include "base/parquet/thrift_read.h"

// Structs inside of structs: a file that nests deeper is damaged, or made to use up the stack.
enum { DEEPEST = 32 };

uint64_t hsc__thrift_read_varint(hsc__thrift_in *t) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (t->at == t->end)
      break;
    uint8_t byte = *t->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
  t->bad = true;
  t->at = t->end;
  return 0;
}

int64_t hsc__thrift_read_zigzag(hsc__thrift_in *t) {
  uint64_t value = hsc__thrift_read_varint(t);
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

hsc_view hsc__thrift_read_binary(hsc__thrift_in *t) {
  uint64_t size = hsc__thrift_read_varint(t);
  if (size > (uint64_t)(t->end - t->at)) {
    t->bad = true;
    t->at = t->end;
    return (hsc_view){"", 0};
  }
  hsc_view view = {(const char *)t->at, (size_t)size};
  t->at += size;
  return view;
}

int hsc__thrift_read_field(hsc__thrift_in *t, int *id) {
  if (t->at == t->end || t->bad) {
    t->bad = true;
    return HSC__THRIFT_STOP;
  }
  uint8_t byte = *t->at++;
  if (byte == 0)
    return HSC__THRIFT_STOP;
  if (byte >> 4)
    *id += byte >> 4;
  else
    *id = (int)hsc__thrift_read_zigzag(t);
  return byte & 15;
}

size_t hsc__thrift_read_list(hsc__thrift_in *t, int *out_type) {
  if (t->at == t->end) {
    t->bad = true;
    return 0;
  }
  uint8_t byte = *t->at++;
  uint64_t size = byte >> 4 == 15 ? hsc__thrift_read_varint(t) : byte >> 4;
  *out_type = byte & 15;
  if (size > (uint64_t)(t->end - t->at)) {
    // every element takes a byte at least
    t->bad = true;
    size = 0;
  }
  return (size_t)size;
}

static void skip_bytes(hsc__thrift_in *t, int count) {
  if (t->end - t->at >= count)
    t->at += count;
  else
    t->bad = true;
}

// What holds values of its own.
static void skip_inside(hsc__thrift_in *t, int type) {
  int inner;
  int id = 0;
  if (type == HSC__THRIFT_STRUCT) {
    while (!t->bad && (inner = hsc__thrift_read_field(t, &id)) != HSC__THRIFT_STOP)
      hsc__thrift_skip(t, inner, false);
    return;
  }
  if (type == HSC__THRIFT_MAP) {
    uint64_t size = hsc__thrift_read_varint(t);
    uint8_t types = size && t->at < t->end ? *t->at++ : 0;
    for (; size > 0 && !t->bad && t->at < t->end; size--) {
      hsc__thrift_skip(t, types >> 4, true);
      hsc__thrift_skip(t, types & 15, true);
    }
    return;
  }
  for (size_t n = hsc__thrift_read_list(t, &inner); n > 0 && !t->bad; n--)
    hsc__thrift_skip(t, inner, true);
}

void hsc__thrift_skip(hsc__thrift_in *t, int type, bool in_list) {
  if (++t->depth > DEEPEST) {
    t->bad = true;
    t->at = t->end;
  }
  switch (type) {
    case HSC__THRIFT_TRUE:
    case HSC__THRIFT_FALSE:  // of a field the type is the value; of an element it is a byte
      if (in_list && t->at < t->end)
        t->at++;
      break;
    case HSC__THRIFT_BYTE:
      skip_bytes(t, 1);
      break;
    case HSC__THRIFT_I16:
    case HSC__THRIFT_I32:
    case HSC__THRIFT_I64:
      (void)hsc__thrift_read_varint(t);
      break;
    case HSC__THRIFT_DOUBLE:
      skip_bytes(t, 8);
      break;
    case HSC__THRIFT_BINARY:
      (void)hsc__thrift_read_binary(t);
      break;
    case HSC__THRIFT_LIST:
    case HSC__THRIFT_SET:
    case HSC__THRIFT_MAP:
    case HSC__THRIFT_STRUCT:
      skip_inside(t, type);
      break;
    default:
      t->bad = true;
      t->at = t->end;
  }
  t->depth--;
}
