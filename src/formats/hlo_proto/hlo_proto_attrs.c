// hlo_proto_attrs.c - the fields of hsc_attr as fields of HloInstructionProto, both ways, by the
// rows of hlo_proto.def. Each kind of field has a function that reads it and one that writes it;
// the table of kinds is at the end. hlo_proto_dims.c has the messages that describe dimensions.
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

// ---- numbers, texts, literals -------------------------------------------------------------------

// What a field is read into and written from: `place` is in `attr`, which is the instruction's.
typedef struct reading {
  hsc_arena *arena;
  const hsc_wire_field *field;
  hsc_attr *attr;
  void *place;
} reading;
typedef struct writing {
  hsc_bytes *out;
  uint32_t field;
  const hsc_instr *instr;
  const hsc_attr *attr;
  const void *place;
} writing;

static hsc_status *read_dims(const reading *r) {
  return hsc__proto_read_dims(r->arena, r->field, r->place);
}
static void put_dims(hsc_bytes *out, uint32_t field, hsc_dims dims) {
  hsc_wire_put_packed(out, field, dims.v, (size_t)dims.count);
}
static hsc_status *write_dims(const writing *w) {
  put_dims(w->out, w->field, *(const hsc_dims *)w->place);
  return NULL;
}

static hsc_status *read_bool(const reading *r) {
  *(bool *)r->place = r->field->value != 0;
  return NULL;
}
static hsc_status *write_bool(const writing *w) {
  hsc_wire_put_bool(w->out, w->field, *(const bool *)w->place);
  return NULL;
}

static hsc_status *read_int64(const reading *r) {
  *(int64_t *)r->place = (int64_t)r->field->value;
  return NULL;
}
// 0 is not a count of groups: XLA writes it where it means 1.
static hsc_status *read_int64_of_1(const reading *r) {
  *(int64_t *)r->place = r->field->value ? (int64_t)r->field->value : 1;
  return NULL;
}
static hsc_status *write_int64(const writing *w) {
  hsc_wire_put_int(w->out, w->field, *(const int64_t *)w->place);
  return NULL;
}

static hsc_status *read_int32(const reading *r) {
  *(int32_t *)r->place = (int32_t)r->field->value;
  return NULL;
}
static hsc_status *write_int32(const writing *w) {
  hsc_wire_put_int(w->out, w->field, *(const int32_t *)w->place);
  return NULL;
}
// Unset is the original version, 1.
static hsc_status *write_api_version(const writing *w) {
  int32_t version = *(const int32_t *)w->place;
  hsc_wire_put_int(w->out, w->field, version ? version : 1);
  return NULL;
}

static hsc_status *read_enum(const reading *r) {
  if (r->field->value > 3)
    return HSC_ERR(INVALID_ARGUMENT, "field %u: unknown value %llu", r->field->number,
                   (unsigned long long)r->field->value);
  memcpy(r->place, &(int){(int)r->field->value}, sizeof(int));
  return NULL;
}
static hsc_status *write_enum(const writing *w) {
  int number;
  memcpy(&number, w->place, sizeof number);
  hsc_wire_put_int(w->out, w->field, number);
  return NULL;
}

static hsc_status *read_float(const reading *r) {
  *(float *)r->place = hsc_wire_float(r->field);
  return NULL;
}
static hsc_status *write_float(const writing *w) {
  hsc_wire_put_float(w->out, w->field, *(const float *)w->place);
  return NULL;
}

static hsc_status *read_string(const reading *r) {
  const char *copy = hsc_arena_strndup(r->arena, r->field->bytes.data, r->field->bytes.size);
  *(const char **)r->place = copy;
  return copy ? NULL : hsc_status_out_of_memory();
}
static hsc_status *write_string(const writing *w) {
  hsc_wire_put_text(w->out, w->field, *(const char *const *)w->place);
  return NULL;
}

static hsc_status *read_literal(const reading *r) {
  return hsc__proto_read_literal(r->arena, r->field->bytes, 0, r->place);
}
static hsc_status *write_literal(const writing *w) {
  const hsc_literal *literal = *(hsc_literal *const *)w->place;
  return literal ? hsc__proto_write_literal(w->out, w->field, literal) : NULL;
}

// ---- words --------------------------------------------------------------------------------------

static hsc_status *read_word(const reading *r, hsc__words list) {
  hsc_view word = r->field->bytes;
  int number = hsc__word_number(list, word);
  if (number < 0)
    return HSC_ERR(INVALID_ARGUMENT, "unknown %s '%.*s'", hsc__words_what(list),
                   hsc_view_shown(word, 60), word.data);
  memcpy(r->place, &number, sizeof number);
  return NULL;
}

static hsc_status *read_direction(const reading *r) {
  return read_word(r, HSC__WORDS_DIRECTION);
}
static hsc_status *write_direction(const writing *w) {
  hsc_wire_put_text(w->out, w->field,
                    hsc__word_or_unknown(HSC__WORDS_DIRECTION, w->attr->compare.direction));
  return NULL;
}

static hsc_status *read_compare_type(const reading *r) {
  return read_word(r, HSC__WORDS_COMPARE_TYPE);
}
// XLA always writes which comparison it is.
static hsc_status *write_compare_type(const writing *w) {
  hsc_compare_type type = w->attr->compare.type;
  if (type == HSC_COMPARE_DEFAULT && w->instr->operand_count > 0) {
    hsc_type_class class = hsc_type_class_of(w->instr->operands[0]->shape.type);
    if (class == HSC_CLASS_FLOAT || class == HSC_CLASS_COMPLEX)
      type = HSC_COMPARE_FLOAT;
    else
      type = class == HSC_CLASS_SIGNED ? HSC_COMPARE_SIGNED : HSC_COMPARE_UNSIGNED;
  }
  hsc_wire_put_text(w->out, w->field, hsc__word_or_unknown(HSC__WORDS_COMPARE_TYPE, type));
  return NULL;
}

static hsc_status *read_fusion_kind(const reading *r) {
  return read_word(r, HSC__WORDS_FUSION_KIND);
}
static hsc_status *write_fusion_kind(const writing *w) {
  hsc_wire_put_text(w->out, w->field,
                    hsc__word_or_unknown(HSC__WORDS_FUSION_KIND, w->attr->fusion.kind));
  return NULL;
}

// ---- messages -----------------------------------------------------------------------------------

// One SliceDimensions more. The three lists grow together; slices have few dimensions, so they are
// copied each time.
static hsc_status *read_slice(const reading *r) {
  int64_t values[3] = {0, 0, 0};
  hsc_attr *attr = r->attr;
  hsc_wire in = hsc_wire_of(r->field->bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number >= 1 && f.number <= 3)
      values[f.number - 1] = (int64_t)f.value;
  HSC_TRY(hsc_wire_status(&in, "SliceDimensions"));
  hsc_dims *const lists[] = {&attr->slice.start, &attr->slice.limit, &attr->slice.stride};
  if (attr->slice.start.count >= HSC_MAX_RANK)
    return HSC_ERR(INVALID_ARGUMENT, "slice: more than %d dimensions", HSC_MAX_RANK);
  for (int i = 0; i < 3; i++) {
    hsc_wire_field one = {.type = HSC_WIRE_VARINT, .value = (uint64_t)values[i]};
    HSC_TRY(hsc__proto_read_dims(r->arena, &one, lists[i]));
  }
  return NULL;
}
static hsc_status *write_slice(const writing *w) {
  for (int i = 0; i < w->attr->slice.start.count; i++) {
    size_t mark = hsc_wire_begin(w->out, w->field);
    hsc_wire_put_int(w->out, 1, w->attr->slice.start.v[i]);
    hsc_wire_put_int(w->out, 2, w->attr->slice.limit.v[i]);
    hsc_wire_put_int(w->out, 3, w->attr->slice.stride.v[i]);
    hsc_wire_end(w->out, mark);
  }
  return NULL;
}

static hsc_status *read_padding_dim(hsc_view bytes, hsc_pad_dim *out_dim) {
  int64_t *const fields[] = {&out_dim->low, &out_dim->high, &out_dim->interior};
  *out_dim = (hsc_pad_dim){0};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number >= 1 && f.number <= HSC_COUNT_OF(fields))
      *fields[f.number - 1] = (int64_t)f.value;
  return hsc_wire_status(&in, "PaddingConfigDimension");
}
static hsc_status *read_padding(const reading *r) {
  hsc_pad_dim dims[HSC_MAX_RANK];
  int rank = 0;
  hsc_wire in = hsc_wire_of(r->field->bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    if (rank == HSC_MAX_RANK)
      return HSC_ERR(INVALID_ARGUMENT, "PaddingConfig: more than %d dimensions", HSC_MAX_RANK);
    HSC_TRY(read_padding_dim(f.bytes, &dims[rank++]));
  }
  r->attr->pad.rank = rank;
  r->attr->pad.dims = rank ? hsc_arena_copy(r->arena, dims, sizeof *dims * (size_t)rank) : NULL;
  return hsc_wire_status(&in, "PaddingConfig");
}
static hsc_status *write_padding(const writing *w) {
  size_t mark = hsc_wire_begin(w->out, w->field);
  for (int i = 0; i < w->attr->pad.rank; i++) {
    size_t dim = hsc_wire_begin(w->out, 1);
    hsc_wire_put_int(w->out, 1, w->attr->pad.dims[i].low);
    hsc_wire_put_int(w->out, 2, w->attr->pad.dims[i].high);
    hsc_wire_put_int(w->out, 3, w->attr->pad.dims[i].interior);
    hsc_wire_end(w->out, dim);
  }
  hsc_wire_end(w->out, mark);
  return NULL;
}

static hsc_status *read_window(const reading *r) {
  return hsc__proto_read_window(r->arena, r->field->bytes, r->place);
}
static hsc_status *write_window(const writing *w) {
  hsc__proto_write_window(w->out, w->field, w->place);
  return NULL;
}

static hsc_status *read_conv_dims(const reading *r) {
  return hsc__proto_read_conv_dims(r->arena, r->field->bytes, r->place);
}
static hsc_status *write_conv_dims(const writing *w) {
  hsc__proto_write_conv_dims(w->out, w->field, w->place);
  return NULL;
}

static hsc_status *read_dot_dims(const reading *r) {
  return hsc__proto_read_dot_dims(r->arena, r->field->bytes, &r->attr->dot);
}
// The ragged dimensions are kept as text; see hlo_proto_read.c.
static hsc_status *write_dot_dims(const writing *w) {
  if (w->instr->op != HSC_OP_RAGGED_DOT)
    hsc__proto_write_dot_dims(w->out, w->field, &w->attr->dot);
  return NULL;
}

static hsc_status *read_gather_dims(const reading *r) {
  return hsc__proto_read_gather_dims(r->arena, r->field->bytes, r->place);
}
static hsc_status *write_gather_dims(const writing *w) {
  hsc__proto_write_gather_dims(w->out, w->field, w->place);
  return NULL;
}

// algorithm NULL = the operation has none
static hsc_status *read_precision_config(const reading *r,
                                         hsc_dims *precision,
                                         int32_t *algorithm) {
  hsc_wire in = hsc_wire_of(r->field->bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      HSC_TRY(hsc__proto_read_dims(r->arena, &f, precision));
    else if (f.number == 2 && algorithm)
      *algorithm = (int32_t)f.value;
  }
  return hsc_wire_status(&in, "PrecisionConfig");
}
static hsc_status *write_precision_config(const writing *w, hsc_dims precision, int algorithm) {
  static const int64_t defaults[2] = {0, 0};
  size_t mark = hsc_wire_begin(w->out, w->field);
  if (precision.count)
    put_dims(w->out, 1, precision);
  else
    hsc_wire_put_packed(w->out, 1, defaults, HSC_COUNT_OF(defaults));
  hsc_wire_put_int(w->out, 2, algorithm);
  hsc_wire_end(w->out, mark);
  return NULL;
}

static hsc_status *read_precision(const reading *r) {
  return read_precision_config(r, r->place, NULL);
}
static hsc_status *write_precision(const writing *w) {
  return write_precision_config(w, *(const hsc_dims *)w->place, 0);
}

static hsc_status *read_dot_precision(const reading *r) {
  return read_precision_config(r, &r->attr->dot.precision, &r->attr->dot.algorithm);
}
static hsc_status *write_dot_precision(const writing *w) {
  return write_precision_config(w, w->attr->dot.precision, w->attr->dot.algorithm);
}

static hsc_status *read_cholesky(const reading *r) {
  hsc_wire in = hsc_wire_of(r->field->bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == 1)
      r->attr->cholesky.lower = f.value != 0;
  return hsc_wire_status(&in, "CholeskyOptions");
}
static hsc_status *write_cholesky(const writing *w) {
  size_t mark = hsc_wire_begin(w->out, w->field);
  hsc_wire_put_bool(w->out, 1, w->attr->cholesky.lower);
  hsc_wire_end(w->out, mark);
  return NULL;
}

// The proto counts transposes from TRANSPOSE_INVALID, which is left out here.
static hsc_status *read_triangular(const reading *r) {
  hsc_attr *attr = r->attr;
  bool *const flags[] = {&attr->triangular.left_side, &attr->triangular.lower,
                         &attr->triangular.unit_diagonal};
  hsc_wire in = hsc_wire_of(r->field->bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number >= 1 && f.number <= HSC_COUNT_OF(flags))
      *flags[f.number - 1] = f.value != 0;
    else if (f.number == 4 && f.value > 3)
      return HSC_ERR(INVALID_ARGUMENT, "TriangularSolveOptions: transpose_a %d", (int)f.value);
    else if (f.number == 4 && f.value >= 1)
      attr->triangular.transpose_a = (hsc_transpose)(f.value - 1);
  }
  return hsc_wire_status(&in, "TriangularSolveOptions");
}
static hsc_status *write_triangular(const writing *w) {
  const hsc_attr *attr = w->attr;
  size_t mark = hsc_wire_begin(w->out, w->field);
  hsc_wire_put_bool(w->out, 1, attr->triangular.left_side);
  hsc_wire_put_bool(w->out, 2, attr->triangular.lower);
  hsc_wire_put_bool(w->out, 3, attr->triangular.unit_diagonal);
  hsc_wire_put_int(w->out, 4, (int)attr->triangular.transpose_a + 1);
  hsc_wire_end(w->out, mark);
  return NULL;
}

// ---- custom calls and collectives ---------------------------------------------------------------

enum { CONSTRAIN_LAYOUT = 56 };  // its field, which goes with the shapes of the operands

static hsc_status *read_shapes(const reading *r) {
  hsc_attr *attr = r->attr;
  int32_t count = attr->custom.operand_layout_count;
  hsc_shape *shapes = HSC_NEW_ARRAY(r->arena, hsc_shape, (size_t)count + 1);
  HSC_TRY(hsc_arena_status(r->arena));
  if (count)
    memcpy(shapes, attr->custom.operand_layouts, sizeof *shapes * (size_t)count);
  HSC_TRY(hsc__proto_read_shape(r->arena, NULL, r->field->bytes, &shapes[count]));
  attr->custom.operand_layouts = shapes;
  attr->custom.operand_layout_count = count + 1;
  return NULL;
}
static hsc_status *write_shapes(const writing *w) {
  if (!w->attr->custom.operand_layouts)
    return NULL;
  hsc_wire_put_bool(w->out, CONSTRAIN_LAYOUT, true);
  for (int i = 0; i < w->attr->custom.operand_layout_count; i++)
    HSC_TRY(hsc__proto_write_shape(w->out, w->field, &w->attr->custom.operand_layouts[i]));
  return NULL;
}
// Layouts may be constrained where there are no operands.
static hsc_status *read_constrained(const reading *r) {
  if (r->field->value && !r->attr->custom.operand_layouts)
    r->attr->custom.operand_layouts = hsc_arena_alloc(r->arena, sizeof(hsc_shape));
  return NULL;
}

// "{" items "}": one item more. Takes the item.
static hsc_status *append_item(const reading *r, hsc_bytes *item) {
  const char **text = r->place;
  const char *before = *text;
  const char *more = hsc_bytes_text(item);
  const char *comma = hsc_starts_with(more, "{{") || strchr(more, ':') ? ", " : ",";
  *text =
      before ? hsc_arena_printf(r->arena, "%.*s%s%s}", (int)strlen(before) - 1, before, comma, more)
             : hsc_arena_printf(r->arena, "{%s}", more);
  hsc_status *status = *text ? hsc_bytes_status(item) : hsc_status_out_of_memory();
  hsc_bytes_deinit(item);
  return status;
}

static hsc_status *read_aliasing(const reading *r) {
  hsc_bytes text = {0};
  hsc_status *status = hsc__proto_aliasing_text(r->field->bytes, &text);
  if (!status)
    return append_item(r, &text);
  hsc_bytes_deinit(&text);
  return status;
}
static hsc_status *write_aliasing(const writing *w) {
  const char *text = w->attr->custom.aliasing;
  return !text || hsc__proto_aliasing_write(hsc_view_of(text), w->out, w->field)
             ? NULL
             : HSC_ERR(INVALID_ARGUMENT, "output_to_operand_aliasing=%s cannot be read", text);
}

static hsc_status *read_pairs(const reading *r) {
  hsc_bytes text = {0};
  hsc__proto_pair_text(r->field->bytes, &text);
  return append_item(r, &text);
}
static hsc_status *write_pairs(const writing *w) {
  const char *text = w->attr->collective.pairs;
  return !text || hsc__proto_pairs_write(hsc_view_of(text), w->out, w->field)
             ? NULL
             : HSC_ERR(INVALID_ARGUMENT, "source_target_pairs=%s cannot be read", text);
}

static hsc_status *read_group_text(const reading *r,
                                   hsc_status *(*text_of)(hsc_view bytes, hsc_bytes *text)) {
  hsc_bytes text = {0};
  hsc_status *status = text_of(r->field->bytes, &text);
  if (!status)
    *(const char **)r->place = hsc_arena_strndup(r->arena, hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&text);
  return status;
}
static hsc_status *read_groups(const reading *r) {
  return read_group_text(r, hsc__proto_groups_text);
}
static hsc_status *read_iota_groups(const reading *r) {
  return read_group_text(r, hsc__proto_iota_text);
}
static hsc_status *read_mesh_groups(const reading *r) {
  return read_group_text(r, hsc__proto_mesh_groups_text);
}
static hsc_status *write_groups(const writing *w) {
  const char *text = w->attr->collective.replica_groups;
  return !text || hsc__proto_groups_write(hsc_view_of(text), w->out)
             ? NULL
             : HSC_ERR(INVALID_ARGUMENT, "replica_groups=%s cannot be read", text);
}

// ---- the kinds of fields ------------------------------------------------------------------------

// By hsc__proto_kind. NULL: there is nothing to read, or another kind's function writes it.
static const struct {
  hsc_status *(*read)(const reading *r);
  hsc_status *(*write)(const writing *w);
} kinds[] = {
    [HSC__PROTO_DIMS] = {read_dims, write_dims},
    [HSC__PROTO_BOOL] = {read_bool, write_bool},
    [HSC__PROTO_INT64] = {read_int64, write_int64},
    [HSC__PROTO_INT64_OF_1] = {read_int64_of_1, write_int64},
    [HSC__PROTO_INT32] = {read_int32, write_int32},
    [HSC__PROTO_ENUM] = {read_enum, write_enum},
    [HSC__PROTO_FLOAT] = {read_float, write_float},
    [HSC__PROTO_STRING] = {read_string, write_string},
    [HSC__PROTO_LITERAL] = {read_literal, write_literal},
    [HSC__PROTO_DIRECTION] = {read_direction, write_direction},
    [HSC__PROTO_COMPARE_TYPE] = {read_compare_type, write_compare_type},
    [HSC__PROTO_SLICE] = {read_slice, write_slice},
    [HSC__PROTO_PADDING] = {read_padding, write_padding},
    [HSC__PROTO_WINDOW] = {read_window, write_window},
    [HSC__PROTO_CONV_DIMS] = {read_conv_dims, write_conv_dims},
    [HSC__PROTO_PRECISION] = {read_precision, write_precision},
    [HSC__PROTO_DOT_PRECISION] = {read_dot_precision, write_dot_precision},
    [HSC__PROTO_DOT_DIMS] = {read_dot_dims, write_dot_dims},
    [HSC__PROTO_GATHER_DIMS] = {read_gather_dims, write_gather_dims},
    [HSC__PROTO_CHOLESKY] = {read_cholesky, write_cholesky},
    [HSC__PROTO_TRIANGULAR] = {read_triangular, write_triangular},
    [HSC__PROTO_FUSION_KIND] = {read_fusion_kind, write_fusion_kind},
    [HSC__PROTO_API_VERSION] = {read_int32, write_api_version},
    [HSC__PROTO_SHAPES] = {read_shapes, write_shapes},
    [HSC__PROTO_ALIASING_TEXT] = {read_aliasing, write_aliasing},
    [HSC__PROTO_CHANNEL] = {read_int64, write_int64},
    [HSC__PROTO_GROUPS] = {read_groups, write_groups},
    [HSC__PROTO_IOTA_GROUPS] = {read_iota_groups, NULL},
    [HSC__PROTO_MESH_GROUPS] = {read_mesh_groups, NULL},
    [HSC__PROTO_PAIRS] = {read_pairs, write_pairs},
    [HSC__PROTO_CONSTRAINED] = {read_constrained, NULL},
    [HSC__PROTO_IGNORED] = {NULL, NULL},
};

hsc_status *hsc__proto_read_attr(hsc_arena *arena,
                                 const hsc__proto_row *row,
                                 const hsc_wire_field *field,
                                 hsc_attr *attr) {
  reading r = {.arena = arena, .field = field, .attr = attr, .place = (char *)attr + row->place};
  if (row->kind >= HSC_COUNT_OF(kinds) || !kinds[row->kind].read)
    return NULL;
  return kinds[row->kind].read(&r);
}

hsc_status *hsc__proto_write_attr(hsc_bytes *out,
                                  const hsc__proto_row *row,
                                  const hsc_instr *instr) {
  writing w = {.out = out,
               .field = row->number,
               .instr = instr,
               .attr = &instr->attr,
               .place = (const char *)&instr->attr + row->place};
  if (row->kind >= HSC_COUNT_OF(kinds) || !kinds[row->kind].write)
    return NULL;
  return kinds[row->kind].write(&w);
}
