// hlo_proto_shape.c - ShapeProto and LayoutProto, both ways.
//
// What a layout holds besides the order of dimensions is kept as the text that XLA prints after the
// colon: D dimension types are left out (only dense arrays exist here), T(8,128)(2,1) tiles, L tail
// padding, # and * index types, E element bits, S memory space, SC splits, M metadata bytes.
#include "formats/hlo_proto/hlo_proto_internal.h"

#include <inttypes.h>

enum { SHAPE_TYPE = 2, SHAPE_DIMS = 3, SHAPE_TUPLE = 4, SHAPE_LAYOUT = 5, SHAPE_DYNAMIC = 6 };
enum {
  LAYOUT_ORDER = 1,
  LAYOUT_TILES = 6,
  LAYOUT_ELEMENT_BITS = 7,
  LAYOUT_MEMORY_SPACE = 8,
  LAYOUT_DIM_TYPES = 9,
  LAYOUT_PHYSICAL = 10,
  LAYOUT_INDEX_TYPE = 11,
  LAYOUT_POINTER_TYPE = 12,
  LAYOUT_UNIQUE = 13,
  LAYOUT_ORDERED = 14,
  LAYOUT_METADATA_BYTES = 15,
  LAYOUT_TAIL = 16,
  LAYOUT_SPLITS = 17,
};

hsc_status *hsc__proto_read_dims(hsc_arena *arena, const hsc_wire_field *field, hsc_dims *dims) {
  size_t more = hsc_wire_int_count(field);
  size_t count = (size_t)dims->count;
  if (more > INT32_MAX - count)
    return HSC_ERR(DATA_LOSS, "a list of %zu numbers", more);
  int64_t *values = HSC_NEW_ARRAY(arena, int64_t, count + more);
  HSC_TRY(hsc_arena_status(arena));
  if (count)
    memcpy(values, dims->v, count * sizeof *values);
  if (!hsc_wire_ints(field, values, count + more, &count))
    return HSC_ERR(DATA_LOSS, "field %u: malformed numbers", field->number);
  *dims = (hsc_dims){.count = (int32_t)count, .v = values};
  return NULL;
}

// ---- layout -------------------------------------------------------------------------------------

static hsc_status *append_list(
    hsc_view bytes, uint32_t number, const char *before, const char *after, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(bytes);
  bool first = true;
  hsc_bytes_append_text(text, before);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != number)
      continue;
    int64_t values[HSC_MAX_RANK];
    size_t count = 0;
    if (!hsc_wire_ints(&f, values, HSC_MAX_RANK, &count) || count > HSC_MAX_RANK)
      return HSC_ERR(DATA_LOSS, "LayoutProto: a malformed tile or split");
    for (size_t i = 0; i < count; i++, first = false) {
      // combined with the dimension before it
      if (values[i] == INT64_MIN)
        hsc_bytes_printf(text, "%s*", first ? "" : ",");
      else
        hsc_bytes_printf(text, "%s%" PRId64, first ? "" : ",", values[i]);
    }
  }
  hsc_bytes_append_text(text, after);
  return hsc_wire_status(&in, "LayoutProto");
}

static hsc_status *read_layout_extra(hsc_view bytes, hsc_bytes *text) {
  int64_t tail = 1;
  int64_t element_bits = 0;
  int64_t memory_space = 0;
  int64_t metadata_bytes = 0;
  int64_t index_type = 0;
  int64_t pointer_type = 0;
  hsc_bytes splits = {0};
  hsc_status *status = NULL;
  hsc_wire in = hsc_wire_of(bytes);
  bool tiled = false;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    switch (f.number) {
      case LAYOUT_TILES:
        if (!tiled)
          hsc_bytes_append_char(text, 'T');
        tiled = true;
        HSC_GOTO(append_list(f.bytes, 1, "(", ")", text));
        break;
      case LAYOUT_TAIL:
        tail = (int64_t)f.value;
        break;
      case LAYOUT_ELEMENT_BITS:
        element_bits = (int64_t)f.value;
        break;
      case LAYOUT_MEMORY_SPACE:
        memory_space = (int64_t)f.value;
        break;
      case LAYOUT_METADATA_BYTES:
        metadata_bytes = (int64_t)f.value;
        break;
      case LAYOUT_INDEX_TYPE:
        index_type = (int64_t)f.value;
        break;
      case LAYOUT_POINTER_TYPE:
        pointer_type = (int64_t)f.value;
        break;
      case LAYOUT_SPLITS: {
        hsc_wire split = hsc_wire_of(f.bytes);
        int64_t dimension = 0;
        for (hsc_wire_field s; hsc_wire_next(&split, &s);)
          if (s.number == 1)
            dimension = (int64_t)s.value;
        hsc_bytes_printf(&splits, "(%" PRId64 ":", dimension);
        HSC_GOTO(append_list(f.bytes, 2, "", ")", &splits));
        break;
      }
      case LAYOUT_PHYSICAL:
        status =
            HSC_ERR(UNIMPLEMENTED, "LayoutProto: a physical shape: not built yet: sparse arrays");
        goto done;
      default:
        break;  // order; uniqueness of dense dimensions says nothing
    }
  }
  if (tail > 1)
    hsc_bytes_printf(text, "L(%" PRId64 ")", tail);
  if (index_type)
    hsc_bytes_printf(text, "#(%s)", hsc_type_text(hsc_type_from_proto((int)index_type)));
  if (pointer_type)
    hsc_bytes_printf(text, "*(%s)", hsc_type_text(hsc_type_from_proto((int)pointer_type)));
  if (element_bits)
    hsc_bytes_printf(text, "E(%" PRId64 ")", element_bits);
  if (memory_space)
    hsc_bytes_printf(text, "S(%" PRId64 ")", memory_space);
  if (splits.size)
    hsc_bytes_printf(text, "SC%s", hsc_bytes_text(&splits));
  if (metadata_bytes)
    hsc_bytes_printf(text, "M(%" PRId64 ")", metadata_bytes);
  status = hsc_bytes_status(text);
done:
  hsc_bytes_deinit(&splits);
  return status;
}

static hsc_status *read_layout(hsc_arena *arena, hsc_view bytes, hsc_shape *shape) {
  int64_t order[HSC_MAX_RANK];
  size_t count = 0;
  bool plain = true;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == LAYOUT_ORDER) {
      if (!hsc_wire_ints(&f, order, HSC_MAX_RANK, &count))
        return HSC_ERR(DATA_LOSS, "LayoutProto: malformed minor_to_major");
    } else if (!(f.number == LAYOUT_TAIL && f.value <= 1) &&
               !(f.type == HSC_WIRE_VARINT && f.value == 0)) {
      plain = false;
    }
  }
  HSC_TRY(hsc_wire_status(&in, "LayoutProto"));
  if (count != (size_t)shape->rank) {
    if (count != 0)
      return HSC_ERR(INVALID_ARGUMENT, "LayoutProto: %zu dimensions for a shape of rank %d", count,
                     shape->rank);
    for (; count < (size_t)shape->rank; count++)
      order[count] = shape->rank - 1 - (int64_t)count;
  }
  bool is_default = true;
  bool seen[HSC_MAX_RANK] = {false};
  for (size_t i = 0; i < count; i++) {
    if (order[i] < 0 || order[i] >= shape->rank || seen[order[i]])
      return HSC_ERR(INVALID_ARGUMENT, "LayoutProto: minor_to_major is no permutation");
    seen[order[i]] = true;
    is_default &= order[i] == shape->rank - 1 - (int64_t)i;
  }
  const char *extra = NULL;
  if (!plain) {
    hsc_bytes text = {0};
    hsc_status *status = read_layout_extra(bytes, &text);
    if (!status && text.size)
      extra = hsc_arena_strndup(arena, text.data, text.size);
    hsc_bytes_deinit(&text);
    if (status)
      return status;
  }
  if (is_default && !extra)
    return NULL;
  hsc_layout *layout = HSC_NEW(arena, hsc_layout);
  *layout = (hsc_layout){.rank = shape->rank,
                         .minor_to_major = hsc_arena_copy(arena, order, count * sizeof *order),
                         .extra = extra};
  if (!layout->minor_to_major)
    return hsc_status_out_of_memory();
  shape->layout = layout;
  return NULL;
}

// ---- shape --------------------------------------------------------------------------------------

// The dimensions of an array, from outside: none negative, all of it under 2^63 bytes. `dynamic`,
// [rank]: which of them are bounds; NULL = none.
static hsc_status *set_dims(
    hsc_arena *arena, size_t rank, const int64_t *dims, const int64_t *dynamic, hsc_shape *shape) {
  int64_t size_bytes = (int64_t)hsc_type_bytes(shape->type);
  bool any_dynamic = false;
  bool flags[HSC_MAX_RANK];
  for (size_t i = 0; i < rank; i++) {
    flags[i] = dynamic && dynamic[i];
    any_dynamic |= flags[i];
    if (dims[i] == INT64_MIN)
      return HSC_ERR(
          UNIMPLEMENTED,
          "ShapeProto: a dimension without a bound: not built yet: shapes must have bounds");
    if (dims[i] < 0)
      return HSC_ERR(INVALID_ARGUMENT, "ShapeProto: dimension %zu is %" PRId64, i, dims[i]);
    if (dims[i] > 0 && __builtin_mul_overflow(size_bytes, dims[i], &size_bytes))
      return HSC_ERR(INVALID_ARGUMENT, "ShapeProto: the shape is larger than 2^63 bytes");
  }
  shape->rank = (int32_t)rank;
  if (rank) {
    shape->dims = hsc_arena_copy(arena, dims, rank * sizeof *dims);
    if (any_dynamic)
      shape->dynamic = hsc_arena_copy(arena, flags, rank * sizeof *flags);
    if (!shape->dims)
      return hsc_status_out_of_memory();
  }
  return NULL;
}

static hsc_status *read_shape(hsc_arena *arena, hsc_view bytes, int depth, hsc_shape *out_shape) {
  if (depth > HSC_MAX_TUPLE_DEPTH)
    return HSC_ERR(INVALID_ARGUMENT, "ShapeProto: tuples nested more than %d deep",
                   HSC_MAX_TUPLE_DEPTH);
  hsc_shape shape = {0};
  int64_t dims[HSC_MAX_RANK], dynamic[HSC_MAX_RANK];
  size_t rank = 0;
  size_t dynamic_count = 0;
  size_t elements = 0;
  int type_number = 0;
  hsc_view layout = {0};
  bool has_layout = false;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    bool ok = true;
    switch (f.number) {
      case SHAPE_TYPE:
        type_number = (int)f.value;
        break;
      case SHAPE_DIMS:
        ok = hsc_wire_ints(&f, dims, HSC_MAX_RANK, &rank);
        break;
      case SHAPE_TUPLE:
        elements++;
        break;
      case SHAPE_LAYOUT:
        layout = f.bytes;
        has_layout = f.type == HSC_WIRE_BYTES;
        break;
      case SHAPE_DYNAMIC:
        ok = hsc_wire_ints(&f, dynamic, HSC_MAX_RANK, &dynamic_count);
        break;
      default:
        break;
    }
    if (!ok)
      return HSC_ERR(DATA_LOSS, "ShapeProto: malformed numbers in field %u", f.number);
  }
  HSC_TRY(hsc_wire_status(&in, "ShapeProto"));
  shape.type = hsc_type_from_proto(type_number);
  if (shape.type == HSC_TYPE_INVALID)
    return HSC_ERR(UNIMPLEMENTED, "ShapeProto: element type number %d: not built yet: reading it",
                   type_number);
  if (shape.type == HSC_TYPE_TUPLE) {
    hsc_shape *array = HSC_NEW_ARRAY(arena, hsc_shape, elements);
    if (elements && !array)
      return hsc_status_out_of_memory();
    in = hsc_wire_of(bytes);
    size_t at = 0;
    for (hsc_wire_field f; hsc_wire_next(&in, &f);)
      if (f.number == SHAPE_TUPLE && at < elements)
        HSC_TRY(read_shape(arena, f.bytes, depth + 1, &array[at++]));
    *out_shape = hsc_shape_tuple_over((int)elements, array);
    return NULL;
  }
  if (rank > HSC_MAX_RANK)
    return HSC_ERR(INVALID_ARGUMENT, "ShapeProto: %zu dimensions, at most %d are built", rank,
                   HSC_MAX_RANK);
  if (dynamic_count != 0 && dynamic_count != rank)
    return HSC_ERR(INVALID_ARGUMENT, "ShapeProto: %zu dynamic flags for %zu dimensions",
                   dynamic_count, rank);
  if (shape.type == HSC_TYPE_TOKEN || shape.type == HSC_TYPE_OPAQUE)
    rank = dynamic_count = 0;
  HSC_TRY(set_dims(arena, rank, dims, dynamic_count ? dynamic : NULL, &shape));
  if (has_layout && hsc_shape_is_array(&shape))
    HSC_TRY(read_layout(arena, layout, &shape));
  *out_shape = shape;
  return NULL;
}

hsc_status *hsc__proto_read_shape(hsc_arena *arena,
                                  hsc__proto_cache *cache,
                                  hsc_view bytes,
                                  hsc_shape *out_shape) {
  if (!cache)
    return read_shape(arena, bytes, 0, out_shape);
  size_t slot = hsc_hash64(bytes.data, bytes.size, 7) % HSC_COUNT_OF(cache->shapes);
  if (bytes.size && cache->shapes[slot].bytes.size &&
      hsc_view_equals(cache->shapes[slot].bytes, bytes)) {
    *out_shape = cache->shapes[slot].shape;
    return NULL;
  }
  HSC_TRY(read_shape(arena, bytes, 0, out_shape));
  cache->shapes[slot].bytes = bytes;
  cache->shapes[slot].shape = *out_shape;
  return NULL;
}

hsc_status *hsc__proto_read_program_shape(hsc_arena *arena, hsc_view bytes, const char **out_text) {
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  hsc_wire in = hsc_wire_of(bytes);
  hsc_view result = {0};
  bool has_result = false;
  int count = 0;
  hsc_bytes_append_text(&text, "{(");
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    hsc_shape shape;
    if (f.number == 1) {
      HSC_GOTO(hsc__proto_read_shape(arena, NULL, f.bytes, &shape));
      if (count > 0)
        hsc_bytes_append_text(&text, ", ");
      if (count > 0 && count % 5 == 0)
        hsc_bytes_printf(&text, "/*index=%d*/", count);
      hsc_shape_print(&shape, true, &text);
      count++;
    } else if (f.number == 2) {
      result = f.bytes;
      has_result = true;
    }
  }
  HSC_GOTO(hsc_wire_status(&in, "ProgramShapeProto"));
  hsc_bytes_append_text(&text, ")->");
  if (has_result) {
    hsc_shape shape;
    HSC_GOTO(hsc__proto_read_shape(arena, NULL, result, &shape));
    hsc_shape_print(&shape, true, &text);
  }
  hsc_bytes_append_char(&text, '}');
  HSC_GOTO(hsc_bytes_status(&text));
  *out_text = has_result ? hsc_arena_strndup(arena, text.data, text.size) : NULL;
done:
  hsc_bytes_deinit(&text);
  return status;
}

// ---- writing ------------------------------------------------------------------------------------

static bool scan_tile(hsc__scan *scan, hsc_bytes *out) {
  int64_t values[HSC_MAX_RANK];
  int count = 0;
  if (!hsc__scan_char(scan, '('))
    return false;
  while (!hsc__scan_char(scan, ')')) {
    if (count == HSC_MAX_RANK)
      return false;
    if (hsc__scan_char(scan, '*'))
      values[count++] = INT64_MIN;
    else if (!hsc__scan_int(scan, &values[count++]))
      return false;
    hsc__scan_char(scan, ',');
  }
  size_t mark = hsc_wire_begin(out, LAYOUT_TILES);
  hsc_wire_put_packed(out, 1, values, (size_t)count);
  hsc_wire_end(out, mark);
  return true;
}

static bool scan_splits(hsc__scan *scan, hsc_bytes *out) {
  while (hsc__scan_char(scan, '(')) {
    int64_t dimension, values[HSC_MAX_RANK];
    int count = 0;
    if (!hsc__scan_int(scan, &dimension) || !hsc__scan_char(scan, ':'))
      return false;
    while (!hsc__scan_char(scan, ')')) {
      if (count == HSC_MAX_RANK || !hsc__scan_int(scan, &values[count++]))
        return false;
      hsc__scan_char(scan, ',');
    }
    size_t mark = hsc_wire_begin(out, LAYOUT_SPLITS);
    hsc_wire_put_int(out, 1, dimension);
    hsc_wire_put_packed(out, 2, values, (size_t)count);
    hsc_wire_end(out, mark);
  }
  return true;
}

static bool scan_type(hsc__scan *scan, hsc_bytes *out, uint32_t field) {
  hsc_type type;
  if (!hsc__scan_char(scan, '(') || !hsc_type_parse(hsc__scan_ident(scan), &type) ||
      !hsc__scan_char(scan, ')'))
    return false;
  hsc_wire_put_int(out, field, hsc_type_proto(type));
  return true;
}

static bool write_layout_extra(const char *text, hsc_bytes *out, bool *out_tail) {
  hsc__scan scan = hsc__scan_of(hsc_view_of(text));
  while (!hsc__scan_done(&scan)) {
    int64_t value;
    uint32_t number = 0;
    if (hsc__scan_char(&scan, 'T')) {
      while (hsc__scan_peek(&scan, '('))
        if (!scan_tile(&scan, out))
          return false;
      continue;
    }
    if (hsc__scan_char(&scan, '#')) {
      if (!scan_type(&scan, out, LAYOUT_INDEX_TYPE))
        return false;
      continue;
    }
    if (hsc__scan_char(&scan, '*')) {
      if (!scan_type(&scan, out, LAYOUT_POINTER_TYPE))
        return false;
      continue;
    }
    if (scan.end - scan.p >= 2 && scan.p[0] == 'S' && scan.p[1] == 'C') {
      scan.p += 2;
      if (!scan_splits(&scan, out))
        return false;
      continue;
    }
    if (hsc__scan_char(&scan, 'L'))
      number = LAYOUT_TAIL;
    else if (hsc__scan_char(&scan, 'E'))
      number = LAYOUT_ELEMENT_BITS;
    else if (hsc__scan_char(&scan, 'S'))
      number = LAYOUT_MEMORY_SPACE;
    else if (hsc__scan_char(&scan, 'M'))
      number = LAYOUT_METADATA_BYTES;
    else
      return false;
    if (!hsc__scan_char(&scan, '(') || !hsc__scan_int(&scan, &value) || !hsc__scan_char(&scan, ')'))
      return false;
    if (number == LAYOUT_TAIL)
      *out_tail = true;
    hsc_wire_put_int(out, number, value);
  }
  return true;
}

hsc_status *hsc__proto_write_shape(hsc_bytes *out, uint32_t field, const hsc_shape *shape) {
  size_t mark = hsc_wire_begin(out, field);
  hsc_wire_put_int(out, SHAPE_TYPE, hsc_type_proto(shape->type));
  if (shape->rank)
    hsc_wire_put_packed(out, SHAPE_DIMS, shape->dims, (size_t)shape->rank);
  for (int i = 0; i < shape->element_count; i++)
    HSC_TRY(hsc__proto_write_shape(out, SHAPE_TUPLE, &shape->elements[i]));
  if (hsc_shape_is_array(shape)) {
    size_t layout = hsc_wire_begin(out, SHAPE_LAYOUT);
    int64_t order[HSC_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
      order[i] = shape->layout ? shape->layout->minor_to_major[i] : shape->rank - 1 - i;
    hsc_wire_put_packed(out, LAYOUT_ORDER, order, (size_t)shape->rank);
    bool has_tail = false;
    if (shape->layout && shape->layout->extra &&
        !write_layout_extra(shape->layout->extra, out, &has_tail))
      return HSC_ERR(UNIMPLEMENTED, "the layout '%s': not built yet: writing it as LayoutProto",
                     shape->layout->extra);
    if (!has_tail)
      hsc_wire_put_int(out, LAYOUT_TAIL, 1);
    hsc_wire_end(out, layout);
  }
  if (shape->dynamic) {
    int64_t flags[HSC_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
      flags[i] = shape->dynamic[i];
    hsc_wire_put_packed(out, SHAPE_DYNAMIC, flags, (size_t)shape->rank);
  }
  hsc_wire_end(out, mark);
  return NULL;
}
