// hlo_proto_literal.c - LiteralProto, both ways. Its values are in the order of the literal's
// layout; ours are row-major.
#include "formats/hlo_proto/hlo_proto_internal.h"

#include <inttypes.h>

enum { LITERAL_SHAPE = 1, LITERAL_TUPLE = 10, LITERAL_SPARSE = 14, LITERAL_DYNAMIC_SIZES = 34 };

// How the field of a type holds its values: little-endian bytes as they are in memory, or varints.
typedef enum coding { BYTES, FIXED, VARINTS } coding;
typedef struct storage {
  uint8_t number, coding;
} storage;
static const storage storages[HSC_TYPE_COUNT] = {
    [HSC_TYPE_PRED] = {2, VARINTS},
    [HSC_TYPE_S1] = {30, BYTES},
    [HSC_TYPE_S2] = {26, BYTES},
    [HSC_TYPE_S4] = {21, BYTES},
    [HSC_TYPE_S8] = {15, BYTES},
    [HSC_TYPE_S16] = {17, BYTES},
    [HSC_TYPE_S32] = {4, VARINTS},
    [HSC_TYPE_S64] = {5, VARINTS},
    [HSC_TYPE_U1] = {31, BYTES},
    [HSC_TYPE_U2] = {27, BYTES},
    [HSC_TYPE_U4] = {22, BYTES},
    [HSC_TYPE_U8] = {3, BYTES},
    [HSC_TYPE_U16] = {16, BYTES},
    [HSC_TYPE_U32] = {6, VARINTS},
    [HSC_TYPE_U64] = {7, VARINTS},
    [HSC_TYPE_F4E2M1FN] = {32, BYTES},
    [HSC_TYPE_F8E3M4] = {29, BYTES},
    [HSC_TYPE_F8E4M3] = {28, BYTES},
    [HSC_TYPE_F8E4M3B11FNUZ] = {23, BYTES},
    [HSC_TYPE_F8E4M3FN] = {20, BYTES},
    [HSC_TYPE_F8E4M3FNUZ] = {25, BYTES},
    [HSC_TYPE_F8E5M2] = {19, BYTES},
    [HSC_TYPE_F8E5M2FNUZ] = {24, BYTES},
    [HSC_TYPE_F8E8M0FNU] = {33, BYTES},
    [HSC_TYPE_F16] = {11, BYTES},
    [HSC_TYPE_BF16] = {13, BYTES},
    [HSC_TYPE_F32] = {8, FIXED},
    [HSC_TYPE_F64] = {9, FIXED},
    [HSC_TYPE_C64] = {12, FIXED},
    [HSC_TYPE_C128] = {18, FIXED},
};

// The row-major position of every element in layout order, one after the other.
typedef struct walk {
  const hsc_shape *shape;
  int64_t index[HSC_MAX_RANK], step[HSC_MAX_RANK], offset;
} walk;

static void walk_init(walk *w, const hsc_shape *shape) {
  *w = (walk){.shape = shape};
  int64_t step = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    w->step[i] = step;
    step *= shape->dims[i];
  }
}

static int64_t walk_next(walk *w) {
  int64_t offset = w->offset;
  for (int i = 0; i < w->shape->rank; i++) {
    int64_t dim = w->shape->layout->minor_to_major[i];
    w->offset += w->step[dim];
    if (++w->index[dim] < w->shape->dims[dim])
      break;
    w->offset -= w->step[dim] * w->shape->dims[dim];
    w->index[dim] = 0;
  }
  return offset;
}

static bool is_row_major(const hsc_shape *shape) {
  if (!shape->layout)
    return true;
  for (int i = 0; i < shape->rank; i++)
    if (shape->layout->minor_to_major[i] != shape->rank - 1 - i)
      return false;
  return true;
}

static void store_varint(uint8_t *out, size_t size, uint64_t value) {
  switch (size) {
    case 1:
      *out = (uint8_t)value;
      break;
    case 4: {
      uint32_t narrow = (uint32_t)value;
      memcpy(out, &narrow, 4);
      break;
    }
    default:
      memcpy(out, &value, 8);
      break;
  }
}

// All values of the field, in order, into `out`. Counts also what does not
// fit.
static hsc_status *gather_values(
    hsc_view bytes, hsc_type type, uint8_t *out, size_t capacity, size_t *out_count) {
  storage s = storages[type];
  // complex values come in one piece in `size`, as two parts in the field
  size_t size = hsc_type_bytes(type);
  size_t count = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != s.number)
      continue;
    if (s.coding == VARINTS) {
      if (f.type == HSC_WIRE_VARINT) {
        if (count < capacity && out)
          store_varint(out + count * size, size, f.value);
        count++;
        continue;
      }
      if (f.type != HSC_WIRE_BYTES)
        return HSC_ERR(DATA_LOSS, "LiteralProto: field %u has the wrong wire type", f.number);
      if (!out) {
        count += hsc_wire_int_count(&f);
        continue;
      }
      hsc_wire packed = hsc_wire_of(f.bytes);
      for (uint64_t value; packed.p < packed.end; count++) {
        if (!hsc_wire_varint(&packed, &value))
          return HSC_ERR(DATA_LOSS, "LiteralProto: malformed numbers in field %u", f.number);
        if (count < capacity)
          store_varint(out + count * size, size, type == HSC_TYPE_PRED ? value != 0 : value);
      }
    } else if (f.type == HSC_WIRE_BYTES) {
      if (f.bytes.size % size != 0)
        return HSC_ERR(DATA_LOSS, "LiteralProto: %zu bytes are no whole number of %s values",
                       f.bytes.size, hsc_type_text(type));
      size_t more = f.bytes.size / size;
      size_t room = count < capacity ? capacity - count : 0;
      if (out && more && room)
        memcpy(out + count * size, f.bytes.data, (more < room ? more : room) * size);
      count += more;
    } else {
      return HSC_ERR(UNIMPLEMENTED,
                     "LiteralProto: values of %s one by one: not built yet: they must be packed",
                     hsc_type_text(type));
    }
  }
  HSC_TRY(hsc_wire_status(&in, "LiteralProto"));
  *out_count = count;
  return NULL;
}

// Four-bit and narrower integers are kept sign-extended or masked in a byte of their own.
static void fix_narrow(hsc_literal *literal, int64_t count) {
  hsc_type type = literal->shape.type;
  int bits = hsc_type_bits(type);
  if (!hsc_type_is_integral(type) || bits >= 8)
    return;
  uint8_t *values = literal->data;
  for (int64_t i = 0; i < count; i++) {
    uint8_t low = values[i] & (uint8_t)((1u << bits) - 1);
    bool negative = hsc_type_class_of(type) == HSC_CLASS_SIGNED && (low >> (bits - 1) & 1);
    values[i] = negative ? low | (uint8_t)(0xffu << bits) : low;
  }
}

hsc_status *hsc__proto_read_literal(hsc_arena *arena,
                                    hsc_view bytes,
                                    int depth,
                                    hsc_literal **out_literal) {
  if (depth > HSC_MAX_TUPLE_DEPTH)
    return HSC_ERR(INVALID_ARGUMENT, "LiteralProto: tuples nested more than %d deep",
                   HSC_MAX_TUPLE_DEPTH);
  hsc_shape shape = {0};
  size_t elements = 0;
  bool has_shape = false;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == LITERAL_SHAPE) {
      HSC_TRY(hsc__proto_read_shape(arena, NULL, f.bytes, &shape));
      has_shape = true;
    }
    elements += f.number == LITERAL_TUPLE;
    if (f.number == LITERAL_SPARSE || f.number == LITERAL_DYNAMIC_SIZES)
      return HSC_ERR(UNIMPLEMENTED,
                     "LiteralProto: field %u: not built yet: sparse and dynamic literals",
                     f.number);
  }
  HSC_TRY(hsc_wire_status(&in, "LiteralProto"));
  if (!has_shape)
    return HSC_ERR(DATA_LOSS, "LiteralProto: has no shape");
  hsc_literal *literal;
  if (hsc_shape_is_tuple(&shape)) {
    if (elements != (size_t)shape.element_count)
      return HSC_ERR(DATA_LOSS, "LiteralProto: %zu elements for a tuple of %d", elements,
                     shape.element_count);
    literal = HSC_NEW(arena, hsc_literal);
    *literal =
        (hsc_literal){.shape = shape, .elements = HSC_NEW_ARRAY(arena, hsc_literal, elements)};
    if (elements && !literal->elements)
      return hsc_status_out_of_memory();
    in = hsc_wire_of(bytes);
    size_t at = 0;
    for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
      hsc_literal *element;
      if (f.number != LITERAL_TUPLE)
        continue;
      HSC_TRY(hsc__proto_read_literal(arena, f.bytes, depth + 1, &element));
      if (!hsc_shape_equal(&element->shape, &shape.elements[at]))
        return HSC_ERR(DATA_LOSS, "LiteralProto: element %zu has another shape than the tuple says",
                       at);
      literal->elements[at++] = *element;
    }
    *out_literal = literal;
    return NULL;
  }
  if (!hsc_shape_is_array(&shape) || storages[shape.type].number == 0)
    return HSC_ERR(INVALID_ARGUMENT, "LiteralProto: there are no literals of %s",
                   hsc_type_text(shape.type));
  int64_t total = hsc_shape_elements(&shape);
  size_t count = 0;
  HSC_TRY(gather_values(bytes, shape.type, NULL, 0, &count));
  if (count != (size_t)total)
    return HSC_ERR(DATA_LOSS, "LiteralProto: %zu values for a shape of %" PRId64 " elements", count,
                   total);
  HSC_TRY(hsc_literal_create(arena, &shape, &literal));
  size_t size = hsc_type_bytes(shape.type);
  if (is_row_major(&shape)) {
    HSC_TRY(gather_values(bytes, shape.type, literal->data, count, &count));
  } else {
    uint8_t *stored = hsc_alloc(count * size + 1);
    if (!stored)
      return hsc_status_out_of_memory();
    hsc_status *status = gather_values(bytes, shape.type, stored, count, &count);
    walk w;
    walk_init(&w, &shape);
    for (int64_t i = 0; i < total && !status; i++)
      memcpy((uint8_t *)literal->data + walk_next(&w) * (int64_t)size, stored + (size_t)i * size,
             size);
    hsc_free(stored);
    if (status)
      return status;
  }
  fix_narrow(literal, total);
  *out_literal = literal;
  return NULL;
}

static uint64_t load_varint(const uint8_t *data, hsc_type type, int64_t index) {
  switch (type) {
    case HSC_TYPE_PRED:
      return data[index];
    case HSC_TYPE_S32:
      return (uint64_t)(int64_t)((const int32_t *)data)[index];
    case HSC_TYPE_U32:
      return ((const uint32_t *)data)[index];
    default:
      return ((const uint64_t *)data)[index];
  }
}

hsc_status *hsc__proto_write_literal(hsc_bytes *out, uint32_t field, const hsc_literal *literal) {
  if (literal->elided)
    return HSC_ERR(FAILED_PRECONDITION,
                   "a constant was read without its values ({...}) and cannot be written");
  size_t mark = hsc_wire_begin(out, field);
  const hsc_shape *shape = &literal->shape;
  HSC_TRY(hsc__proto_write_shape(out, LITERAL_SHAPE, shape));
  if (hsc_shape_is_tuple(shape)) {
    for (int i = 0; i < shape->element_count; i++)
      HSC_TRY(hsc__proto_write_literal(out, LITERAL_TUPLE, &literal->elements[i]));
    hsc_wire_end(out, mark);
    return NULL;
  }
  storage s = storages[shape->type];
  if (s.number == 0)
    return HSC_ERR(INVALID_ARGUMENT, "there are no literals of %s", hsc_type_text(shape->type));
  int64_t total = hsc_shape_elements(shape);
  size_t size = hsc_type_bytes(shape->type);
  bool row_major = is_row_major(shape);
  walk w;
  if (!row_major)
    walk_init(&w, shape);
  if (total > 0) {
    size_t values = hsc_wire_begin(out, s.number);
    if (s.coding == VARINTS) {
      for (int64_t i = 0; i < total; i++)
        hsc_wire_put_raw_varint(
            out, load_varint(literal->data, shape->type, row_major ? i : walk_next(&w)));
    } else if (row_major) {
      hsc_bytes_append(out, literal->data, (size_t)total * size);
    } else {
      for (int64_t i = 0; i < total; i++)
        hsc_bytes_append(out, (const uint8_t *)literal->data + walk_next(&w) * (int64_t)size, size);
    }
    int bits = hsc_type_bits(shape->type);
    if (hsc_type_is_integral(shape->type) && bits < 8 && !out->failed)
      for (size_t i = values; i < out->size; i++)
        out->data[i] = (char)(out->data[i] & ((1 << bits) - 1));
    hsc_wire_end(out, values);
  }
  hsc_wire_end(out, mark);
  return NULL;
}
