// hlo_proto_attrs.c - the messages that hsc_attr holds, both ways, by the rows of hlo_proto.def.
#include "base/text/text.h"
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "hlo/ir/attr_text.h"

enum { OP_ALL = HSC_OP_COUNT };
enum {
#define OP(id, text, arity, traits, attr, rule, doc) OP_##id = HSC_OP_##id,
#include "hlo/ir/ops.def"
#undef OP
};

const hsc__proto_row hsc__proto_rows[] = {
#define FIELD(m, o, n, k, p) \
  {.member = HSC__ATTR_##m, \
   .op = OP_##o, \
   .number = n, \
   .kind = HSC__PROTO_##k, \
   .place = offsetof(hsc_attr, p)},
#define TEXT(m, o, n, k, t) \
  {.member = HSC__ATTR_##m, .op = OP_##o, .number = n, .kind = HSC__PROTO_##k, .text = t},
#include "formats/hlo_proto/hlo_proto.def"
#undef FIELD
#undef TEXT
};
const int hsc__proto_row_count = HSC_COUNT_OF(hsc__proto_rows);

// ---- window -------------------------------------------------------------------------------------

// The integer fields of WindowDimension in the order of their numbers.
static const size_t window_fields[] = {offsetof(hsc_window_dim, size),
                                       offsetof(hsc_window_dim, stride),
                                       offsetof(hsc_window_dim, pad_low),
                                       offsetof(hsc_window_dim, pad_high),
                                       offsetof(hsc_window_dim, window_dilation),
                                       offsetof(hsc_window_dim, base_dilation)};
enum { WINDOW_REVERSAL = 7 };

hsc_status *hsc__proto_read_window(hsc_arena *arena, hsc_view bytes, hsc_window *out_window) {
  hsc_window_dim dims[HSC_MAX_RANK];
  int rank = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    if (rank == HSC_MAX_RANK)
      return HSC_ERR(INVALID_ARGUMENT, "Window: more than %d dimensions", HSC_MAX_RANK);
    hsc_window_dim *dim = &dims[rank++];
    *dim = (hsc_window_dim){0};
    hsc_wire one = hsc_wire_of(f.bytes);
    for (hsc_wire_field d; hsc_wire_next(&one, &d);) {
      if (d.number >= 1 && d.number <= HSC_COUNT_OF(window_fields))
        memcpy((char *)dim + window_fields[d.number - 1], &d.value, sizeof d.value);
      else if (d.number == WINDOW_REVERSAL)
        dim->reversal = d.value != 0;
    }
    HSC_TRY(hsc_wire_status(&one, "WindowDimension"));
  }
  HSC_TRY(hsc_wire_status(&in, "Window"));
  out_window->rank = rank;
  out_window->dims = rank ? hsc_arena_copy(arena, dims, sizeof *dims * (size_t)rank) : NULL;
  return NULL;
}

void hsc__proto_write_window(hsc_bytes *out, uint32_t field, const hsc_window *window) {
  size_t mark = hsc_wire_begin(out, field);
  for (int i = 0; i < window->rank; i++) {
    size_t dim = hsc_wire_begin(out, 1);
    for (uint32_t f = 0; f < HSC_COUNT_OF(window_fields); f++) {
      int64_t value;
      memcpy(&value, (const char *)&window->dims[i] + window_fields[f], sizeof value);
      hsc_wire_put_int(out, f + 1, value);
    }
    hsc_wire_put_bool(out, WINDOW_REVERSAL, window->dims[i].reversal);
    hsc_wire_end(out, dim);
  }
  hsc_wire_end(out, mark);
}

// ---- dimension numbers --------------------------------------------------------------------------

hsc_status *hsc__proto_read_conv_dims(hsc_arena *arena, hsc_view bytes, hsc_conv_dims *out_dims) {
  hsc_conv_dims dims = {0};
  hsc_dims input = {0};
  hsc_dims kernel = {0};
  hsc_dims output = {0};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    int64_t value = (int64_t)f.value;
    switch (f.number) {
      case 3:
        dims.kernel_input = value;
        break;
      case 4:
        dims.kernel_output = value;
        break;
      case 6:
        HSC_TRY(hsc__proto_read_dims(arena, &f, &kernel));
        break;
      case 7:
        dims.input_batch = value;
        break;
      case 8:
        dims.input_feature = value;
        break;
      case 9:
        dims.output_batch = value;
        break;
      case 10:
        dims.output_feature = value;
        break;
      case 11:
        HSC_TRY(hsc__proto_read_dims(arena, &f, &input));
        break;
      case 12:
        HSC_TRY(hsc__proto_read_dims(arena, &f, &output));
        break;
      default:
        break;
    }
  }
  HSC_TRY(hsc_wire_status(&in, "ConvolutionDimensionNumbers"));
  if (input.count != kernel.count || input.count != output.count)
    return HSC_ERR(INVALID_ARGUMENT,
                   "ConvolutionDimensionNumbers: %d, %d and %d spatial dimensions", input.count,
                   kernel.count, output.count);
  dims.spatial_rank = input.count;
  dims.input_spatial = input.v;
  dims.kernel_spatial = kernel.v;
  dims.output_spatial = output.v;
  *out_dims = dims;
  return NULL;
}

void hsc__proto_write_conv_dims(hsc_bytes *out, uint32_t field, const hsc_conv_dims *dims) {
  size_t mark = hsc_wire_begin(out, field);
  size_t rank = (size_t)dims->spatial_rank;
  hsc_wire_put_int(out, 3, dims->kernel_input);
  hsc_wire_put_int(out, 4, dims->kernel_output);
  hsc_wire_put_packed(out, 6, dims->kernel_spatial, rank);
  hsc_wire_put_int(out, 7, dims->input_batch);
  hsc_wire_put_int(out, 8, dims->input_feature);
  hsc_wire_put_int(out, 9, dims->output_batch);
  hsc_wire_put_int(out, 10, dims->output_feature);
  hsc_wire_put_packed(out, 11, dims->input_spatial, rank);
  hsc_wire_put_packed(out, 12, dims->output_spatial, rank);
  hsc_wire_end(out, mark);
}

static hsc_status *read_dot_dims(hsc_arena *arena, hsc_view bytes, hsc_dot_dims *dims) {
  hsc_dims *const fields[] = {&dims->lhs_contracting, &dims->rhs_contracting, &dims->lhs_batch,
                              &dims->rhs_batch};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number >= 1 && f.number <= HSC_COUNT_OF(fields))
      HSC_TRY(hsc__proto_read_dims(arena, &f, fields[f.number - 1]));
  return hsc_wire_status(&in, "DotDimensionNumbers");
}

static void put_dims(hsc_bytes *out, uint32_t field, hsc_dims dims) {
  hsc_wire_put_packed(out, field, dims.v, (size_t)dims.count);
}

static void write_dot_dims(hsc_bytes *out, uint32_t field, const hsc_dot_dims *dims) {
  size_t mark = hsc_wire_begin(out, field);
  put_dims(out, 1, dims->lhs_contracting);
  put_dims(out, 2, dims->rhs_contracting);
  put_dims(out, 3, dims->lhs_batch);
  put_dims(out, 4, dims->rhs_batch);
  hsc_wire_end(out, mark);
}

static hsc_status *read_gather_dims(hsc_arena *arena, hsc_view bytes, hsc_gather_dims *dims) {
  hsc_dims *const fields[] = {&dims->offset_dims,           &dims->collapsed_slice_dims,
                              &dims->start_index_map,       NULL,
                              &dims->operand_batching_dims, &dims->start_indices_batching_dims};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 4)
      dims->index_vector_dim = (int64_t)f.value;
    else if (f.number >= 1 && f.number <= HSC_COUNT_OF(fields))
      HSC_TRY(hsc__proto_read_dims(arena, &f, fields[f.number - 1]));
  }
  return hsc_wire_status(&in, "GatherDimensionNumbers");
}

static void write_gather_dims(hsc_bytes *out, uint32_t field, const hsc_gather_dims *dims) {
  size_t mark = hsc_wire_begin(out, field);
  put_dims(out, 1, dims->offset_dims);
  put_dims(out, 2, dims->collapsed_slice_dims);
  put_dims(out, 3, dims->start_index_map);
  hsc_wire_put_int(out, 4, dims->index_vector_dim);
  put_dims(out, 5, dims->operand_batching_dims);
  put_dims(out, 6, dims->start_indices_batching_dims);
  hsc_wire_end(out, mark);
}

// ---- the rest -----------------------------------------------------------------------------------

// One SliceDimensions more. The three lists grow together; slices have few dimensions, so they are
// copied each time.
static hsc_status *read_slice(hsc_arena *arena, hsc_view bytes, hsc_attr *attr) {
  int64_t values[3] = {0, 0, 0};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number >= 1 && f.number <= 3)
      values[f.number - 1] = (int64_t)f.value;
  HSC_TRY(hsc_wire_status(&in, "SliceDimensions"));
  hsc_dims *const lists[] = {&attr->slice.start, &attr->slice.limit, &attr->slice.stride};
  if (attr->slice.start.count >= HSC_MAX_RANK)
    return HSC_ERR(INVALID_ARGUMENT, "slice: more than %d dimensions", HSC_MAX_RANK);
  for (int i = 0; i < 3; i++) {
    hsc_wire_field one = {.type = HSC_WIRE_VARINT, .value = (uint64_t)values[i]};
    HSC_TRY(hsc__proto_read_dims(arena, &one, lists[i]));
  }
  return NULL;
}

static hsc_status *read_padding(hsc_arena *arena, hsc_view bytes, hsc_attr *attr) {
  hsc_pad_dim dims[HSC_MAX_RANK];
  int rank = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    if (rank == HSC_MAX_RANK)
      return HSC_ERR(INVALID_ARGUMENT, "PaddingConfig: more than %d dimensions", HSC_MAX_RANK);
    hsc_pad_dim *dim = &dims[rank++];
    *dim = (hsc_pad_dim){0};
    hsc_wire one = hsc_wire_of(f.bytes);
    for (hsc_wire_field d; hsc_wire_next(&one, &d);) {
      if (d.number == 1)
        dim->low = (int64_t)d.value;
      else if (d.number == 2)
        dim->high = (int64_t)d.value;
      else if (d.number == 3)
        dim->interior = (int64_t)d.value;
    }
    HSC_TRY(hsc_wire_status(&one, "PaddingConfigDimension"));
  }
  attr->pad.rank = rank;
  attr->pad.dims = rank ? hsc_arena_copy(arena, dims, sizeof *dims * (size_t)rank) : NULL;
  return hsc_wire_status(&in, "PaddingConfig");
}

static hsc_status *read_precision(hsc_arena *arena,
                                  hsc_view bytes,
                                  hsc_dims *precision,
                                  int32_t *algorithm) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      HSC_TRY(hsc__proto_read_dims(arena, &f, precision));
    else if (f.number == 2 && algorithm)
      *algorithm = (int32_t)f.value;
  }
  return hsc_wire_status(&in, "PrecisionConfig");
}

static void write_precision(
    hsc_bytes *out, uint32_t field, hsc_dims precision, int operands, int algorithm) {
  int64_t defaults[2] = {0, 0};
  size_t mark = hsc_wire_begin(out, field);
  if (precision.count)
    put_dims(out, 1, precision);
  else
    hsc_wire_put_packed(out, 1, defaults, (size_t)operands);
  hsc_wire_put_int(out, 2, algorithm);
  hsc_wire_end(out, mark);
}

static hsc_status *read_word(const hsc_wire_field *field, hsc__words list, void *place) {
  int number = hsc__word_number(list, field->bytes);
  if (number < 0)
    return HSC_ERR(INVALID_ARGUMENT, "unknown %s '%.*s'", hsc__words_what(list),
                   (int)(field->bytes.size < 60 ? field->bytes.size : 60), field->bytes.data);
  memcpy(place, &number, sizeof number);
  return NULL;
}

// Without TRANSPOSE_INVALID, which is first in the proto.
static hsc_status *read_triangular(hsc_view bytes, hsc_attr *attr) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      attr->triangular.left_side = f.value != 0;
    else if (f.number == 2)
      attr->triangular.lower = f.value != 0;
    else if (f.number == 3)
      attr->triangular.unit_diagonal = f.value != 0;
    else if (f.number == 4 && f.value >= 1 && f.value <= 3)
      attr->triangular.transpose_a = (hsc_transpose)(f.value - 1);
    else if (f.number == 4 && f.value > 3)
      return HSC_ERR(INVALID_ARGUMENT, "TriangularSolveOptions: transpose_a %d", (int)f.value);
  }
  return hsc_wire_status(&in, "TriangularSolveOptions");
}

static hsc_status *append_shape(hsc_arena *arena, hsc_view bytes, hsc_attr *attr) {
  int32_t count = attr->custom.operand_layout_count;
  hsc_shape *shapes = HSC_NEW_ARRAY(arena, hsc_shape, (size_t)count + 1);
  HSC_TRY(hsc_arena_status(arena));
  if (count)
    memcpy(shapes, attr->custom.operand_layouts, sizeof *shapes * (size_t)count);
  HSC_TRY(hsc__proto_read_shape(arena, NULL, bytes, &shapes[count]));
  attr->custom.operand_layouts = shapes;
  attr->custom.operand_layout_count = count + 1;
  return NULL;
}

// "{" items "}": one item more.
static hsc_status *append_item(hsc_arena *arena, const char **text, const hsc_bytes *item) {
  const char *before = *text;
  size_t size = before ? strlen(before) : 0;
  *text = before ? hsc_arena_printf(arena, "%.*s%s%s}", (int)size - 1, before,
                                    hsc_starts_with(hsc_bytes_text(item), "{{") ||
                                            strchr(hsc_bytes_text(item), ':')
                                        ? ", "
                                        : ",",
                                    hsc_bytes_text(item))
                 : hsc_arena_printf(arena, "{%s}", hsc_bytes_text(item));
  return *text ? hsc_bytes_status(item) : hsc_status_out_of_memory();
}

hsc_status *hsc__proto_read_attr(hsc_arena *arena,
                                 const hsc__proto_row *row,
                                 const hsc_wire_field *field,
                                 hsc_attr *attr) {
  void *place = (char *)attr + row->place;
  int number = 0;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  switch ((hsc__proto_kind)row->kind) {
    case HSC__PROTO_DIMS:
      return hsc__proto_read_dims(arena, field, place);
    case HSC__PROTO_BOOL:
      *(bool *)place = field->value != 0;
      return NULL;
    case HSC__PROTO_INT64:
    case HSC__PROTO_CHANNEL:
      *(int64_t *)place = (int64_t)field->value;
      return NULL;
    case HSC__PROTO_INT64_OF_1:
      *(int64_t *)place = field->value ? (int64_t)field->value : 1;
      return NULL;
    case HSC__PROTO_INT32:
    case HSC__PROTO_API_VERSION:
      *(int32_t *)place = (int32_t)field->value;
      return NULL;
    case HSC__PROTO_ENUM:
      if (field->value > 3)
        return HSC_ERR(INVALID_ARGUMENT, "field %u: unknown value %llu", field->number,
                       (unsigned long long)field->value);
      number = (int)field->value;
      memcpy(place, &number, sizeof number);
      return NULL;
    case HSC__PROTO_FLOAT:
      *(float *)place = hsc_wire_float(field);
      return NULL;
    case HSC__PROTO_STRING: {
      const char *copy = hsc_arena_strndup(arena, field->bytes.data, field->bytes.size);
      *(const char **)place = copy;
      return copy ? NULL : hsc_status_out_of_memory();
    }
    case HSC__PROTO_LITERAL:
      return hsc__proto_read_literal(arena, field->bytes, 0, place);
    case HSC__PROTO_DIRECTION:
      return read_word(field, HSC__WORDS_DIRECTION, place);
    case HSC__PROTO_COMPARE_TYPE:
      return read_word(field, HSC__WORDS_COMPARE_TYPE, place);
    case HSC__PROTO_FUSION_KIND:
      return read_word(field, HSC__WORDS_FUSION_KIND, place);
    case HSC__PROTO_SLICE:
      return read_slice(arena, field->bytes, attr);
    case HSC__PROTO_PADDING:
      return read_padding(arena, field->bytes, attr);
    case HSC__PROTO_WINDOW:
      return hsc__proto_read_window(arena, field->bytes, place);
    case HSC__PROTO_CONV_DIMS:
      return hsc__proto_read_conv_dims(arena, field->bytes, place);
    case HSC__PROTO_PRECISION:
      return read_precision(arena, field->bytes, place, NULL);
    case HSC__PROTO_DOT_PRECISION:
      return read_precision(arena, field->bytes, &attr->dot.precision, &attr->dot.algorithm);
    case HSC__PROTO_DOT_DIMS:
      return read_dot_dims(arena, field->bytes, &attr->dot);
    case HSC__PROTO_GATHER_DIMS:
      return read_gather_dims(arena, field->bytes, place);
    case HSC__PROTO_CHOLESKY: {
      hsc_wire in = hsc_wire_of(field->bytes);
      for (hsc_wire_field f; hsc_wire_next(&in, &f);)
        if (f.number == 1)
          attr->cholesky.lower = f.value != 0;
      return hsc_wire_status(&in, "CholeskyOptions");
    }
    case HSC__PROTO_TRIANGULAR:
      return read_triangular(field->bytes, attr);
    case HSC__PROTO_SHAPES:
      return append_shape(arena, field->bytes, attr);
    case HSC__PROTO_ALIASING_TEXT:
      status = hsc__proto_aliasing_text(field->bytes, &text);
      if (!status)
        status = append_item(arena, place, &text);
      break;
    case HSC__PROTO_PAIRS:
      hsc__proto_pair_text(field->bytes, &text);
      status = append_item(arena, place, &text);
      break;
    case HSC__PROTO_GROUPS:
    case HSC__PROTO_IOTA_GROUPS:
      status = row->kind == HSC__PROTO_GROUPS ? hsc__proto_groups_text(field->bytes, &text)
                                              : hsc__proto_iota_text(field->bytes, &text);
      if (!status)
        *(const char **)place = hsc_arena_strndup(arena, hsc_bytes_text(&text), text.size);
      break;
    case HSC__PROTO_CONSTRAINED:  // also when there are no operands
      if (field->value && !attr->custom.operand_layouts)
        attr->custom.operand_layouts = hsc_arena_alloc(arena, sizeof(hsc_shape));
      break;
    default:
      break;
  }
  hsc_bytes_deinit(&text);
  return status;
}

// The ragged dimensions are kept as text; see hlo_proto_read.c.
hsc_status *hsc__proto_write_attr(hsc_bytes *out,
                                  const hsc__proto_row *row,
                                  const hsc_instr *instr) {
  const hsc_attr *attr = &instr->attr;
  const void *place = (const char *)attr + row->place;
  uint32_t field = row->number;
  switch ((hsc__proto_kind)row->kind) {
    case HSC__PROTO_DIMS:
      put_dims(out, field, *(const hsc_dims *)place);
      break;
    case HSC__PROTO_BOOL:
      hsc_wire_put_bool(out, field, *(const bool *)place);
      break;
    case HSC__PROTO_INT64:
    case HSC__PROTO_INT64_OF_1:
    case HSC__PROTO_CHANNEL:
      hsc_wire_put_int(out, field, *(const int64_t *)place);
      break;
    case HSC__PROTO_INT32:
      hsc_wire_put_int(out, field, *(const int32_t *)place);
      break;
    case HSC__PROTO_API_VERSION:
      hsc_wire_put_int(out, field, *(const int32_t *)place ? *(const int32_t *)place : 1);
      break;
    case HSC__PROTO_ENUM: {
      int number;
      memcpy(&number, place, sizeof number);
      hsc_wire_put_int(out, field, number);
      break;
    }
    case HSC__PROTO_FLOAT:
      hsc_wire_put_float(out, field, *(const float *)place);
      break;
    case HSC__PROTO_STRING:
      hsc_wire_put_text(out, field, *(const char *const *)place);
      break;
    case HSC__PROTO_LITERAL: {
      const hsc_literal *literal = *(hsc_literal *const *)place;
      return literal ? hsc__proto_write_literal(out, field, literal) : NULL;
    }
    case HSC__PROTO_DIRECTION:
      hsc_wire_put_text(out, field,
                        hsc__word_or_unknown(HSC__WORDS_DIRECTION, attr->compare.direction));
      break;
    case HSC__PROTO_COMPARE_TYPE: {
      hsc_compare_type type = attr->compare.type;
      if (type == HSC_COMPARE_DEFAULT && instr->operand_count > 0) {
        hsc_type_class class = hsc_type_class_of(instr->operands[0]->shape.type);
        if (class == HSC_CLASS_FLOAT || class == HSC_CLASS_COMPLEX)
          type = HSC_COMPARE_FLOAT;
        else if (class == HSC_CLASS_SIGNED)
          type = HSC_COMPARE_SIGNED;
        else
          type = HSC_COMPARE_UNSIGNED;
      }
      hsc_wire_put_text(out, field, hsc__word_or_unknown(HSC__WORDS_COMPARE_TYPE, type));
      break;
    }
    case HSC__PROTO_FUSION_KIND:
      hsc_wire_put_text(out, field,
                        hsc__word_or_unknown(HSC__WORDS_FUSION_KIND, attr->fusion.kind));
      break;
    case HSC__PROTO_SLICE:
      for (int i = 0; i < attr->slice.start.count; i++) {
        size_t mark = hsc_wire_begin(out, field);
        hsc_wire_put_int(out, 1, attr->slice.start.v[i]);
        hsc_wire_put_int(out, 2, attr->slice.limit.v[i]);
        hsc_wire_put_int(out, 3, attr->slice.stride.v[i]);
        hsc_wire_end(out, mark);
      }
      break;
    case HSC__PROTO_PADDING: {
      size_t mark = hsc_wire_begin(out, field);
      for (int i = 0; i < attr->pad.rank; i++) {
        size_t dim = hsc_wire_begin(out, 1);
        hsc_wire_put_int(out, 1, attr->pad.dims[i].low);
        hsc_wire_put_int(out, 2, attr->pad.dims[i].high);
        hsc_wire_put_int(out, 3, attr->pad.dims[i].interior);
        hsc_wire_end(out, dim);
      }
      hsc_wire_end(out, mark);
      break;
    }
    case HSC__PROTO_WINDOW:
      hsc__proto_write_window(out, field, place);
      break;
    case HSC__PROTO_CONV_DIMS:
      hsc__proto_write_conv_dims(out, field, place);
      break;
    case HSC__PROTO_PRECISION:
      write_precision(out, field, *(const hsc_dims *)place, 2, 0);
      break;
    case HSC__PROTO_DOT_PRECISION:
      write_precision(out, field, attr->dot.precision, 2, attr->dot.algorithm);
      break;
    case HSC__PROTO_DOT_DIMS:
      if (instr->op != HSC_OP_RAGGED_DOT)
        write_dot_dims(out, field, &attr->dot);
      break;
    case HSC__PROTO_GATHER_DIMS:
      write_gather_dims(out, field, place);
      break;
    case HSC__PROTO_CHOLESKY: {
      size_t mark = hsc_wire_begin(out, field);
      hsc_wire_put_bool(out, 1, attr->cholesky.lower);
      hsc_wire_end(out, mark);
      break;
    }
    case HSC__PROTO_TRIANGULAR: {
      size_t mark = hsc_wire_begin(out, field);
      hsc_wire_put_bool(out, 1, attr->triangular.left_side);
      hsc_wire_put_bool(out, 2, attr->triangular.lower);
      hsc_wire_put_bool(out, 3, attr->triangular.unit_diagonal);
      hsc_wire_put_int(out, 4, (int)attr->triangular.transpose_a + 1);
      hsc_wire_end(out, mark);
      break;
    }
    case HSC__PROTO_SHAPES:
      if (!attr->custom.operand_layouts)
        break;
      hsc_wire_put_bool(out, 56, true);
      for (int i = 0; i < attr->custom.operand_layout_count; i++)
        HSC_TRY(hsc__proto_write_shape(out, field, &attr->custom.operand_layouts[i]));
      break;
    case HSC__PROTO_ALIASING_TEXT:
      if (attr->custom.aliasing &&
          !hsc__proto_aliasing_write(hsc_view_of(attr->custom.aliasing), out, field))
        return HSC_ERR(INVALID_ARGUMENT, "output_to_operand_aliasing=%s cannot be read",
                       attr->custom.aliasing);
      break;
    case HSC__PROTO_GROUPS:
      if (attr->collective.replica_groups &&
          !hsc__proto_groups_write(hsc_view_of(attr->collective.replica_groups), out))
        return HSC_ERR(INVALID_ARGUMENT, "replica_groups=%s cannot be read",
                       attr->collective.replica_groups);
      break;
    case HSC__PROTO_PAIRS:
      if (attr->collective.pairs &&
          !hsc__proto_pairs_write(hsc_view_of(attr->collective.pairs), out, field))
        return HSC_ERR(INVALID_ARGUMENT, "source_target_pairs=%s cannot be read",
                       attr->collective.pairs);
      break;
    default:
      break;
  }
  return NULL;
}
