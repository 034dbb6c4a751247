// thrift_read.h - Thrift's compact protocol, read field by field.
//
// The error is sticky: after the first damage `bad` is set and everything gives 0, so that callers
// may read a whole struct and look once. Nothing is read beyond `end`.
#pragma once

#include "base/core/base.h"
#include "base/parquet/thrift.h"

typedef struct hsc__thrift_in {
  const uint8_t *at, *end;
  bool bad;
  int depth;
} hsc__thrift_in;

uint64_t hsc__thrift_read_varint(hsc__thrift_in *t);
int64_t hsc__thrift_read_zigzag(hsc__thrift_in *t);
hsc_view hsc__thrift_read_binary(hsc__thrift_in *t);  // borrowed
// The next field of a struct: its type, HSC__THRIFT_STOP at the end. *io_id: the number of the
// field before, 0 at first; fields are numbered by their distance.
int hsc__thrift_read_field(hsc__thrift_in *t, int *io_id);
// The head of a list: how many elements follow, of which type. Never more than there are bytes.
size_t hsc__thrift_read_list(hsc__thrift_in *t, int *out_type);
void hsc__thrift_skip(hsc__thrift_in *t, int type, bool in_list);
