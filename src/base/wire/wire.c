// wire.c - the protobuf wire format.
//
// A nested message is written with one byte left for its length; when the length needs more, the
// message is moved. Most messages are shorter than 128 bytes, and moving the others costs less than
// measuring every message first.
#include "base/wire/wire.h"

bool hsc_wire_varint_slow(hsc_wire *wire, uint64_t *out_value) {
  uint64_t value = 0;
  const uint8_t *p = wire->p;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p >= wire->end) {
      wire->error = "the message ends in a number";
      return false;
    }
    uint8_t byte = *p++;
    if (shift == 63 && byte > 1)
      break;  // bits beyond the 64th
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      wire->p = p;
      *out_value = value;
      return true;
    }
  }
  wire->error = "a number longer than 64 bits";
  return false;
}

static bool fail(hsc_wire *wire, const char *what) {
  wire->error = what;
  return false;
}

static bool read_fixed(hsc_wire *wire, size_t size, uint64_t *out_value) {
  if ((size_t)(wire->end - wire->p) < size)
    return fail(wire, "the message ends in a number");
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++)
    value |= (uint64_t)wire->p[i] << (8 * i);
  wire->p += size;
  *out_value = value;
  return true;
}

static bool read_value(hsc_wire *wire, hsc_wire_field *field) {
  switch (field->type) {
    case HSC_WIRE_VARINT:
      return hsc_wire_varint(wire, &field->value);
    case HSC_WIRE_FIXED64:
      return read_fixed(wire, 8, &field->value);
    case HSC_WIRE_FIXED32:
      return read_fixed(wire, 4, &field->value);
    case HSC_WIRE_BYTES: {
      uint64_t size;
      if (!hsc_wire_varint(wire, &size))
        return false;
      if (size > (uint64_t)(wire->end - wire->p))
        return fail(wire, "a length beyond the end of the message");
      field->bytes = (hsc_view){(const char *)wire->p, (size_t)size};
      wire->p += size;
      return true;
    }
    default:
      return fail(wire, "an unknown wire type");
  }
}

static bool read_tag(hsc_wire *wire, hsc_wire_field *field) {
  uint64_t tag;
  if (!hsc_wire_varint(wire, &tag))
    return false;
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return fail(wire, "a field number out of range");
  field->number = (uint32_t)(tag >> 3);
  field->type = (hsc_wire_type)(tag & 7);
  return true;
}

// Groups are long out of use; they are stepped over, without recursion.
static bool skip_group(hsc_wire *wire, uint32_t number) {
  enum { MAX_DEPTH = 64 };
  uint32_t open[MAX_DEPTH];
  int depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    hsc_wire_field field = {0};
    if (wire->p >= wire->end)
      return fail(wire, "the message ends in a group");
    if (!read_tag(wire, &field))
      return false;
    if (field.type == HSC_WIRE_END_GROUP) {
      if (field.number != open[--depth])
        return fail(wire, "the end of another group");
    } else if (field.type == HSC_WIRE_GROUP) {
      if (depth == MAX_DEPTH)
        return fail(wire, "groups nested too deep");
      open[depth++] = field.number;
    } else if (!read_value(wire, &field)) {
      return false;
    }
  }
  return true;
}

// The long way, for what is cut off, malformed, a group, or has a number over 2047.
static bool next_slow(hsc_wire *wire, hsc_wire_field *out_field) {
  while (wire->p < wire->end && !wire->error) {
    const uint8_t *start = wire->p;
    out_field->value = 0;
    out_field->bytes = (hsc_view){0};  // a field of another type than expected reads as empty
    if (read_tag(wire, out_field)) {
      if (out_field->type == HSC_WIRE_GROUP) {
        if (skip_group(wire, out_field->number))
          continue;
      } else if (read_value(wire, out_field)) {
        return true;
      }
    }
    wire->p = start;  // errors point at the field
    return false;
  }
  return false;
}

bool hsc_wire_next(hsc_wire *wire, hsc_wire_field *out_field) {
  const uint8_t *p = wire->p;
  if (wire->end - p < 16 || wire->error)
    return next_slow(wire, out_field);
  uint32_t tag = *p++;  // there is room for a tag of two bytes and the longest varint
  if (tag >= 0x80) {
    uint32_t high = *p++;
    if (high >= 0x80)
      return next_slow(wire, out_field);
    tag = (tag & 0x7f) | high << 7;
  }
  out_field->number = tag >> 3;
  out_field->type = (hsc_wire_type)(tag & 7);
  if (tag < 8 || (out_field->type != HSC_WIRE_VARINT && out_field->type != HSC_WIRE_BYTES))
    return next_slow(wire, out_field);
  uint64_t value = *p++;
  if (value >= 0x80) {
    value &= 0x7f;
    for (int shift = 7;; shift += 7) {
      uint64_t byte = *p++;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80)
        break;
      if (shift >= 56)
        return next_slow(wire, out_field);
    }
  }
  if (out_field->type == HSC_WIRE_VARINT) {
    out_field->value = value;
    out_field->bytes = (hsc_view){0};
    wire->p = p;
    return true;
  }
  if (value > (uint64_t)(wire->end - p))
    return next_slow(wire, out_field);
  out_field->value = 0;
  out_field->bytes = (hsc_view){(const char *)p, (size_t)value};
  wire->p = p + value;
  return true;
}

hsc_status *hsc_wire_status(const hsc_wire *wire, const char *message_name) {
  if (!wire->error)
    return NULL;
  return HSC_ERR(DATA_LOSS, "%s: byte %zu of %zu: %s", message_name,
                 (size_t)(wire->p - wire->begin), (size_t)(wire->end - wire->begin), wire->error);
}

bool hsc_wire_ints(const hsc_wire_field *field, int64_t *values, size_t capacity, size_t *count) {
  if (field->type == HSC_WIRE_VARINT) {
    if (*count < capacity)
      values[*count] = (int64_t)field->value;
    ++*count;
    return true;
  }
  if (field->type != HSC_WIRE_BYTES)
    return false;
  hsc_wire packed = hsc_wire_of(field->bytes);
  while (packed.p < packed.end) {
    uint64_t value;
    if (!hsc_wire_varint(&packed, &value))
      return false;
    if (*count < capacity)
      values[*count] = (int64_t)value;
    ++*count;
  }
  return true;
}

size_t hsc_wire_int_count(const hsc_wire_field *field) {
  if (field->type != HSC_WIRE_BYTES)
    return 1;
  size_t count = 0;
  for (size_t i = 0; i < field->bytes.size; i++)
    count += (unsigned char)field->bytes.data[i] < 0x80;
  return count;
}

// ---- writing ------------------------------------------------------------------------------------

static int encode_varint(uint64_t value, uint8_t *out) {
  int size = 0;
  for (; value >= 0x80; value >>= 7)
    out[size++] = (uint8_t)(value | 0x80);
  out[size++] = (uint8_t)value;
  return size;
}

void hsc_wire_put_raw_varint(hsc_bytes *out, uint64_t value) {
  uint8_t bytes[10];
  hsc_bytes_append(out, bytes, (size_t)encode_varint(value, bytes));
}

static void put_tag(hsc_bytes *out, uint32_t field, hsc_wire_type type) {
  hsc_wire_put_raw_varint(out, (uint64_t)field << 3 | type);
}

void hsc_wire_put_varint(hsc_bytes *out, uint32_t field, uint64_t value) {
  uint8_t bytes[20];
  int size = encode_varint((uint64_t)field << 3 | HSC_WIRE_VARINT, bytes);
  size += encode_varint(value, bytes + size);
  hsc_bytes_append(out, bytes, (size_t)size);
}

void hsc_wire_put_int(hsc_bytes *out, uint32_t field, int64_t value) {
  if (value != 0)
    hsc_wire_put_varint(out, field, (uint64_t)value);
}

void hsc_wire_put_bool(hsc_bytes *out, uint32_t field, bool value) {
  if (value)
    hsc_wire_put_varint(out, field, 1);
}

static void put_fixed(hsc_bytes *out, uint64_t bits, size_t size) {
  uint8_t bytes[8];
  for (size_t i = 0; i < size; i++)
    bytes[i] = (uint8_t)(bits >> (8 * i));
  hsc_bytes_append(out, bytes, size);
}

void hsc_wire_put_double(hsc_bytes *out, uint32_t field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (bits == 0)
    return;
  put_tag(out, field, HSC_WIRE_FIXED64);
  put_fixed(out, bits, 8);
}

void hsc_wire_put_float(hsc_bytes *out, uint32_t field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (bits == 0)
    return;
  put_tag(out, field, HSC_WIRE_FIXED32);
  put_fixed(out, bits, 4);
}

void hsc_wire_put_bytes(hsc_bytes *out, uint32_t field, const void *data, size_t size) {
  put_tag(out, field, HSC_WIRE_BYTES);
  hsc_wire_put_raw_varint(out, size);
  hsc_bytes_append(out, data, size);
}

void hsc_wire_put_text(hsc_bytes *out, uint32_t field, const char *text) {
  if (text && *text)
    hsc_wire_put_bytes(out, field, text, strlen(text));
}

void hsc_wire_put_packed(hsc_bytes *out, uint32_t field, const int64_t *values, size_t count) {
  if (count == 0)
    return;
  size_t mark = hsc_wire_begin(out, field);
  for (size_t i = 0; i < count; i++)
    hsc_wire_put_raw_varint(out, (uint64_t)values[i]);
  hsc_wire_end(out, mark);
}

size_t hsc_wire_begin(hsc_bytes *out, uint32_t field) {
  put_tag(out, field, HSC_WIRE_BYTES);
  hsc_bytes_append_char(out, 0);
  return out->size;
}

void hsc_wire_end(hsc_bytes *out, size_t mark) {
  if (out->failed)
    return;
  size_t size = out->size - mark;
  uint8_t length[10];
  size_t bytes = (size_t)encode_varint(size, length);
  if (bytes > 1) {
    if (!hsc_bytes_extend(out, bytes - 1))
      return;
    memmove(out->data + mark + bytes - 1, out->data + mark, size);
  }
  memcpy(out->data + mark - 1, length, bytes);
}
