// wire.h - the protobuf wire format: reading fields of a message in place, and writing messages
// into a byte buffer.
//
//   hsc_wire in = hsc_wire_of(view);
//   for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
//     if (f.number == 1) name = f.bytes;              // a string: borrowed from the message
//     else if (f.number == 2) id = (int64_t)f.value;  // a varint
//   }
//   HSC_TRY(hsc_wire_status(&in, "HloModuleProto"));
//
//   size_t mark = hsc_wire_begin(&out, 3);            // a nested message
//   hsc_wire_put_text(&out, 1, "main");
//   hsc_wire_end(&out, mark);
//
// Nothing is allocated while reading; lengths are checked against the message before they are used.
// Threads: values, no shared state.
// Source: protobuf.dev/programming-guides/encoding.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

typedef enum hsc_wire_type {
  HSC_WIRE_VARINT = 0,
  HSC_WIRE_FIXED64 = 1,
  HSC_WIRE_BYTES = 2,
  HSC_WIRE_GROUP = 3,
  HSC_WIRE_END_GROUP = 4,
  HSC_WIRE_FIXED32 = 5
} hsc_wire_type;

typedef struct hsc_wire {
  const uint8_t *begin, *p, *end;
  const char *error;  // what is wrong at p; NULL = nothing
} hsc_wire;

typedef struct hsc_wire_field {
  uint32_t number;     // 1 to 2^29-1
  hsc_wire_type type;  // VARINT, FIXED64, BYTES or FIXED32; groups are skipped
  uint64_t value;      // VARINT, FIXED64, FIXED32
  hsc_view bytes;      // BYTES; borrowed; empty for the others
} hsc_wire_field;

static inline hsc_wire hsc_wire_of(hsc_view message) {
  const uint8_t *p = (const uint8_t *)message.data;
  return (hsc_wire){.begin = p, .p = p, .end = p ? p + message.size : p};
}

// The long form of hsc_wire_varint. False when the varint is cut off or longer than 10 bytes.
bool hsc_wire_varint_slow(hsc_wire *wire, uint64_t *out_value);
static inline bool hsc_wire_varint(hsc_wire *wire, uint64_t *out_value) {
  if (wire->p < wire->end && *wire->p < 0x80) {
    *out_value = *wire->p++;
    return true;
  }
  return hsc_wire_varint_slow(wire, out_value);
}
// The next field; false at the end of the message and on malformed bytes (then wire->error is set
// and stays).
bool hsc_wire_next(hsc_wire *wire, hsc_wire_field *out_field);
// NULL when all fields were read; else DATA_LOSS "MESSAGE: byte N: what is wrong".
HSC_MUST_USE hsc_status *hsc_wire_status(const hsc_wire *wire, const char *message_name);

static inline float hsc_wire_float(const hsc_wire_field *field) {
  uint32_t bits = (uint32_t)field->value;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline double hsc_wire_double(const hsc_wire_field *field) {
  double value;
  memcpy(&value, &field->value, sizeof value);
  return value;
}
// Repeated integers: one VARINT field holds one, a BYTES field holds any number packed. Appends to
// `values` up to `capacity` and counts all in *count (which may so exceed the capacity). False when
// the packed bytes are malformed or the type is neither.
bool hsc_wire_ints(const hsc_wire_field *field, int64_t *values, size_t capacity, size_t *count);
// How many integers a field of a repeated integer holds.
size_t hsc_wire_int_count(const hsc_wire_field *field);

// ---- writing: errors are sticky in the buffer ----
void hsc_wire_put_raw_varint(hsc_bytes *out, uint64_t value);
// also when zero
void hsc_wire_put_varint(hsc_bytes *out, uint32_t field, uint64_t value);
// left out when zero, as proto3 does
void hsc_wire_put_int(hsc_bytes *out, uint32_t field, int64_t value);
// left out when false
void hsc_wire_put_bool(hsc_bytes *out, uint32_t field, bool value);
// left out when +0
void hsc_wire_put_double(hsc_bytes *out, uint32_t field, double value);
// left out when +0
void hsc_wire_put_float(hsc_bytes *out, uint32_t field, float value);
// also when empty
void hsc_wire_put_bytes(hsc_bytes *out, uint32_t field, const void *data, size_t size);
// left out when NULL or empty
void hsc_wire_put_text(hsc_bytes *out, uint32_t field, const char *text);
// left out when count is 0
void hsc_wire_put_packed(hsc_bytes *out, uint32_t field, const int64_t *values, size_t count);
// A nested message: begin gives a mark for end. Messages nest.
size_t hsc_wire_begin(hsc_bytes *out, uint32_t field);
void hsc_wire_end(hsc_bytes *out, size_t mark);
