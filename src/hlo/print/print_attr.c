// print_attr.c - the attributes of an instruction, in XLA's order: those of the op by the rows of
// hlo_attrs.def, called computations, then what any op may have. Custom calls and their like write
// theirs between raw pieces and have a function of their own.
//
// Raw pieces of extra_attributes go where XLA prints their like: what describes a convolution
// before a custom call's target, fields that any op may have (statistics, origin) after the control
// predecessors, the others between the op's own attributes and its called computations.
#include <stdlib.h>

#include "hlo/print/hlo_attrs.h"
#include "hlo/print/print_internal.h"

typedef enum piece_place { PLACE_FIRST, PLACE_OWN, PLACE_AFTER_CALLS, PLACE_LAST } piece_place;

static piece_place place_of(hsc_op op, hsc_view key) {
  static const char *const first[] = {
      "window",      "dim_labels", "feature_group_count", "batch_group_count", "operand_precision",
      "padding_type"};
  static const char *const last[] = {"statistics", "origin"};
  if (op == HSC_OP_CUSTOM_CALL)
    for (size_t i = 0; i < HSC_COUNT_OF(first); i++)
      if (hsc_view_equals_text(key, first[i]))
        return PLACE_FIRST;
  for (size_t i = 0; i < HSC_COUNT_OF(last); i++)
    if (hsc_view_equals_text(key, last[i]))
      return PLACE_LAST;
  return hsc_view_equals_text(key, "is_composite") ? PLACE_AFTER_CALLS : PLACE_OWN;
}

bool hsc__next_piece(const char **at, hsc__piece *out_piece) {
  const char *p = *at;
  while (*p == ' ' || *p == ',')
    p++;
  if (!*p)
    return false;
  const char *start = p;
  int depth = 0;
  out_piece->key = (hsc_view){0};
  for (; *p && (depth > 0 || *p != ','); p++) {
    if (*p == '"') {
      for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
          p++;
      if (!*p)
        break;
    }
    depth += (*p == '{' || *p == '[' || *p == '(') - (*p == '}' || *p == ']' || *p == ')');
    if (*p == '=' && !out_piece->key.data)
      out_piece->key = (hsc_view){start, (size_t)(p - start)};
  }
  const char *end = p;
  while (end > start && end[-1] == ' ')
    end--;
  out_piece->text = (hsc_view){start, (size_t)(end - start)};
  *at = p;
  return true;
}

static bool has_piece(const hsc_instr *instr, const char *key) {
  hsc__piece piece;
  if (!instr->extra_attributes)
    return false;
  for (const char *at = instr->extra_attributes; hsc__next_piece(&at, &piece);)
    if (hsc_view_equals_text(piece.key, key))
      return true;
  return false;
}

// Operations that are printed as another's (async-start) have attributes of both.
static bool is_known_attribute(hsc_view name) {
  for (int op = 0; op < HSC_OP_COUNT; op++) {
    const hsc__attr_list *list = hsc__attr_list_of((hsc_op)op);
    for (int i = 0; i < list->count; i++)
      if (hsc_view_equals_text(name, hsc__attr_row_at(list->rows[i])->text))
        return true;
  }
  return false;
}

hsc_view hsc_instr_unknown_attribute(const hsc_instr *instr) {
  hsc__piece piece;
  const char *at = instr->extra_attributes;
  while (at && hsc__next_piece(&at, &piece))
    if (piece.key.size && !is_known_attribute(piece.key))
      return piece.key;
  return (hsc_view){0};
}

static void put_pieces(const hsc_instr *instr, piece_place place, hsc_bytes *out) {
  hsc__piece piece;
  if (!instr->extra_attributes)
    return;
  for (const char *at = instr->extra_attributes; hsc__next_piece(&at, &piece);) {
    if (place_of(instr->op, piece.key) != place)
      continue;
    PUT(out, ", ");
    hsc_bytes_append(out, piece.text.data, piece.text.size);
  }
}

static void put_dims(hsc_bytes *out, const char *key, hsc_dims dims) {
  PUT(out, ", ");
  hsc_bytes_append_text(out, key);
  hsc_bytes_append_char(out, '=');
  hsc__put_dims(out, dims);
}

static void put_int(hsc_bytes *out, const char *key, int64_t value) {
  PUT(out, ", ");
  hsc_bytes_append_text(out, key);
  hsc_bytes_append_char(out, '=');
  hsc__put_int(out, value);
}

static void put_text(hsc_bytes *out, const char *key, const char *value) {
  PUT(out, ", ");
  hsc_bytes_append_text(out, key);
  hsc_bytes_append_char(out, '=');
  hsc_bytes_append_text(out, value);
}

static void put_quoted(hsc_bytes *out, const char *key, const char *value) {
  PUT(out, ", ");
  hsc_bytes_append_text(out, key);
  PUT(out, "=\"");
  hsc_text_escape(hsc_view_of(value), out);
  hsc_bytes_append_char(out, '"');
}

static void put_true(hsc_bytes *out, const char *key, bool value) {
  if (value)
    put_text(out, key, "true");
}

// ---- windows and convolutions -------------------------------------------------------------------

typedef enum window_field {
  FIELD_SIZE,
  FIELD_STRIDE,
  FIELD_PAD,
  FIELD_BASE_DILATION,
  FIELD_WINDOW_DILATION,
  FIELD_REVERSAL
} window_field;

static bool field_is_default(const hsc_window_dim *d, window_field field) {
  switch (field) {
    case FIELD_SIZE:
      return false;
    case FIELD_STRIDE:
      return d->stride == 1;
    case FIELD_PAD:
      return d->pad_low == 0 && d->pad_high == 0;
    case FIELD_BASE_DILATION:
      return d->base_dilation == 1;
    case FIELD_WINDOW_DILATION:
      return d->window_dilation == 1;
    case FIELD_REVERSAL:
      return !d->reversal;
  }
  return true;
}

static void put_field(hsc_bytes *out, const hsc_window_dim *d, window_field field) {
  switch (field) {
    case FIELD_SIZE:
      hsc__put_int(out, d->size);
      break;
    case FIELD_STRIDE:
      hsc__put_int(out, d->stride);
      break;
    case FIELD_PAD:
      hsc__put_int(out, d->pad_low);
      hsc_bytes_append_char(out, '_');
      hsc__put_int(out, d->pad_high);
      break;
    case FIELD_BASE_DILATION:
      hsc__put_int(out, d->base_dilation);
      break;
    case FIELD_WINDOW_DILATION:
      hsc__put_int(out, d->window_dilation);
      break;
    case FIELD_REVERSAL:
      hsc_bytes_append_char(out, d->reversal ? '1' : '0');
      break;
  }
}

static void put_window(hsc_bytes *out, const char *key, hsc_window window) {
  static const char *const names[] = {
      "size=", " stride=", " pad=", " lhs_dilate=", " rhs_dilate=", " rhs_reversal="};
  if (window.rank == 0)
    return;
  put_text(out, key, "{");
  for (window_field field = FIELD_SIZE; field <= FIELD_REVERSAL; field++) {
    bool all_default = true;
    for (int i = 0; i < window.rank; i++)
      all_default = all_default && field_is_default(&window.dims[i], field);
    if (all_default)
      continue;
    hsc_bytes_append_text(out, names[field]);
    for (int i = 0; i < window.rank; i++) {
      if (i > 0)
        hsc_bytes_append_char(out, 'x');
      put_field(out, &window.dims[i], field);
    }
  }
  hsc_bytes_append_char(out, '}');
}

// "b01f": what each dimension is. Spatial dimensions count from 0; from the tenth on XLA writes
// several digits.
static void put_labels(hsc_bytes *out,
                       char a,
                       int64_t a_at,
                       char b,
                       int64_t b_at,
                       const int64_t *spatial,
                       int spatial_rank) {
  for (int i = 0; i < spatial_rank + 2; i++) {
    if (i == a_at)
      hsc_bytes_append_char(out, a);
    else if (i == b_at)
      hsc_bytes_append_char(out, b);
    else
      for (int s = 0; s < spatial_rank; s++)
        if (spatial[s] == i)
          hsc__put_int(out, s);
  }
}

static void put_precision(hsc_bytes *out, const char *key, hsc_dims precision) {
  bool any = false;
  for (int i = 0; i < precision.count; i++)
    any = any || precision.v[i] != 0;
  if (!any)
    return;
  put_text(out, key, "{");
  for (int i = 0; i < precision.count; i++) {
    const char *word = hsc__word(HSC__WORDS_PRECISION, (int)precision.v[i]);
    if (i > 0)
      hsc_bytes_append_char(out, ',');
    hsc_bytes_append_text(out, word ? word : "default");
  }
  hsc_bytes_append_char(out, '}');
}

static void put_dim_labels(hsc_bytes *out, const char *key, const hsc_conv_dims *d) {
  put_text(out, key, "");
  put_labels(out, 'b', d->input_batch, 'f', d->input_feature, d->input_spatial, d->spatial_rank);
  hsc_bytes_append_char(out, '_');
  put_labels(out, 'i', d->kernel_input, 'o', d->kernel_output, d->kernel_spatial, d->spatial_rank);
  PUT(out, "->");
  put_labels(out, 'b', d->output_batch, 'f', d->output_feature, d->output_spatial, d->spatial_rank);
}

// ---- the other values ---------------------------------------------------------------------------

static void put_slice(
    hsc_bytes *out, const char *key, hsc_dims start, hsc_dims limit, hsc_dims stride) {
  bool strided = false;
  for (int i = 0; i < stride.count; i++)
    strided = strided || stride.v[i] != 1;
  put_text(out, key, "{");
  for (int i = 0; i < start.count; i++) {
    if (i > 0)
      PUT(out, ", ");
    hsc_bytes_append_char(out, '[');
    hsc__put_int(out, start.v[i]);
    hsc_bytes_append_char(out, ':');
    hsc__put_int(out, limit.v[i]);
    if (strided) {
      hsc_bytes_append_char(out, ':');
      hsc__put_int(out, stride.v[i]);
    }
    hsc_bytes_append_char(out, ']');
  }
  hsc_bytes_append_char(out, '}');
}

static void put_padding(hsc_bytes *out, const char *key, int rank, const hsc_pad_dim *dims) {
  bool interior = false;
  for (int i = 0; i < rank; i++)
    interior = interior || dims[i].interior != 0;
  put_text(out, key, "");
  for (int i = 0; i < rank; i++) {
    if (i > 0)
      hsc_bytes_append_char(out, 'x');
    hsc__put_int(out, dims[i].low);
    hsc_bytes_append_char(out, '_');
    hsc__put_int(out, dims[i].high);
    if (interior) {
      hsc_bytes_append_char(out, '_');
      hsc__put_int(out, dims[i].interior);
    }
  }
}

// What a comparison of such operands means when no type is given.
static hsc_compare_type implied_type(const hsc_instr *instr) {
  if (instr->operand_count == 0)
    return HSC_COMPARE_FLOAT;
  switch (hsc_type_class_of(instr->operands[0]->shape.type)) {
    case HSC_CLASS_SIGNED:
      return HSC_COMPARE_SIGNED;
    case HSC_CLASS_UNSIGNED:
    case HSC_CLASS_PRED:
      return HSC_COMPARE_UNSIGNED;
    default:
      return HSC_COMPARE_FLOAT;
  }
}

// A word for a number. Left out where it says nothing: a comparison's type that the operands' type
// means anyway, an algorithm that is not set.
static void put_word(hsc_bytes *out,
                     const hsc_instr *instr,
                     const hsc__attr_row *row,
                     const void *place) {
  hsc__words list;
  int number;
  memcpy(&number, place, sizeof number);
  if (!hsc__value_words((hsc__value_kind)row->kind, &list))
    return;
  if (list == HSC__WORDS_COMPARE_TYPE &&
      (number == HSC_COMPARE_DEFAULT || number == (int)implied_type(instr)))
    return;
  if (list == HSC__WORDS_ALGORITHM && (number == 0 || !hsc__word(list, number)))
    return;
  put_text(out, row->text, hsc__word_or_unknown(list, number));
}

// As XLA, unless digits would be lost.
static void put_float(hsc_bytes *out, const char *key, float value) {
  char number[40];
  snprintf(number, sizeof number, "%g", (double)value);
  if (strtof(number, NULL) != value)
    snprintf(number, sizeof number, "%.9g", (double)value);
  put_text(out, key, number);
}

// A number that is its default is left out where it may be.
static void put_number(hsc_bytes *out, const hsc__attr_row *row, int64_t value, int64_t normal) {
  if (row->need != HSC__NEED_OPTIONAL || value != normal)
    put_int(out, row->text, value);
}

static void put_bool(hsc_bytes *out, const hsc__attr_row *row, bool value) {
  if (row->need != HSC__NEED_OPTIONAL || value)
    put_text(out, row->text, value ? "true" : "false");
}

// Values with a notation of their own: slices, padding, windows, precisions, and words.
static void put_structure(hsc_bytes *out,
                          const hsc_instr *instr,
                          const hsc__attr_row *row,
                          const void *place) {
  const hsc_attr *attr = &instr->attr;
  switch ((hsc__value_kind)row->kind) {
    case HSC__VALUE_SLICE:
      put_slice(out, row->text, attr->slice.start, attr->slice.limit, attr->slice.stride);
      break;
    case HSC__VALUE_PADDING:
      put_padding(out, row->text, attr->pad.rank, attr->pad.dims);
      break;
    case HSC__VALUE_WINDOW:
      put_window(out, row->text, *(const hsc_window *)place);
      break;
    case HSC__VALUE_DIM_LABELS:
      put_dim_labels(out, row->text, place);
      break;
    case HSC__VALUE_PRECISION:
      put_precision(out, row->text, *(const hsc_dims *)place);
      break;
    default:
      put_word(out, instr, row, place);
      break;
  }
}

static void put_value(hsc_bytes *out, const hsc_instr *instr, const hsc__attr_row *row) {
  const hsc_attr *attr = &instr->attr;
  const void *place = (const char *)attr + row->place;
  const hsc_dims *dims = place;
  const char *text = NULL;
  switch ((hsc__value_kind)row->kind) {
    case HSC__VALUE_INT64:
      put_number(out, row, *(const int64_t *)place, 0);
      break;
    case HSC__VALUE_INT64_OF_1:
      put_number(out, row, *(const int64_t *)place, 1);
      break;
    case HSC__VALUE_INT32:
      put_number(out, row, *(const int32_t *)place, 0);
      break;
    case HSC__VALUE_BOOL:
      put_bool(out, row, *(const bool *)place);
      break;
    case HSC__VALUE_FLOAT:
      put_float(out, row->text, *(const float *)place);
      break;
    case HSC__VALUE_DIMS:
      if (row->need != HSC__NEED_OPTIONAL || dims->count > 0)
        put_dims(out, row->text, *dims);
      break;
    case HSC__VALUE_DIM:
      put_int(out, row->text, dims->count > 0 ? dims->v[0] : 0);
      break;
    case HSC__VALUE_RAW:
      text = *(const char *const *)place;
      if (text)
        put_text(out, row->text, text);
      break;
    case HSC__VALUE_GROUPS:
    case HSC__VALUE_PAIRS:
      text = *(const char *const *)place;
      if (row->kind == HSC__VALUE_PAIRS || !hsc__attr_permutes(instr->op))
        put_text(out, row->text, text ? text : "{}");
      break;
    case HSC__VALUE_CALLED:  // follow the op's own
    case HSC__VALUE_KEEP:    // pieces
    case HSC__VALUE_TEXT:    // of custom calls
    case HSC__VALUE_SHAPES:
    case HSC__VALUE_LITERAL:
      break;
    default:
      put_structure(out, instr, row, place);
      break;
  }
}

// ---- custom calls -------------------------------------------------------------------------------

// Each array with its shape before it.
static void put_shaped_literal(const hsc_literal *literal,
                               const hsc_print_options *options,
                               hsc_bytes *out) {
  if (hsc_shape_is_tuple(&literal->shape)) {
    PUT(out, "( ");
    for (int i = 0; i < literal->shape.element_count; i++) {
      if (i > 0)
        PUT(out, ", ");
      put_shaped_literal(&literal->elements[i], options, out);
    }
    PUT(out, " )");
    return;
  }
  hsc_shape_print(&literal->shape, !options->no_layouts, out);
  hsc_bytes_append_char(out, ' ');
  hsc_literal_print(literal, out);
}

static void put_custom(const hsc_instr *instr, const hsc_print_options *options, hsc_bytes *out) {
  const hsc_attr *a = &instr->attr;
  switch (instr->op) {
    case HSC_OP_INFEED:
      if (a->custom.target && *a->custom.target)
        put_quoted(out, "infeed_config", a->custom.target);
      return;
    case HSC_OP_OUTFEED:
      if (!has_piece(instr, "outfeed_shape") && instr->operand_count > 0) {
        PUT(out, ", outfeed_shape=");
        hsc_shape_print(&instr->operands[0]->shape, true, out);
      }
      put_pieces(instr, PLACE_OWN, out);
      if (a->custom.target && *a->custom.target)
        put_quoted(out, "outfeed_config", a->custom.target);
      return;
    case HSC_OP_SEND:
    case HSC_OP_SEND_DONE:
    case HSC_OP_RECV:
    case HSC_OP_RECV_DONE:
      if (a->custom.channel_id != 0)
        put_int(out, "channel_id", a->custom.channel_id);
      put_true(out, "is_host_transfer", a->custom.is_host_transfer);
      return;
    case HSC_OP_CUSTOM_CALL:
      break;
    default:
      return;
  }
  put_pieces(instr, PLACE_FIRST, out);
  put_quoted(out, "custom_call_target", a->custom.target ? a->custom.target : "");
  if (a->custom.operand_layouts) {
    PUT(out, ", operand_layout_constraints={");
    for (int i = 0; i < a->custom.operand_layout_count; i++) {
      if (i > 0)
        PUT(out, ", ");
      hsc_shape_print(&a->custom.operand_layouts[i], true, out);
    }
    hsc_bytes_append_char(out, '}');
  }
  put_true(out, "custom_call_has_side_effect", a->custom.has_side_effect);
  if (a->custom.literal) {
    PUT(out, ", literal=");
    put_shaped_literal(a->custom.literal, options, out);
  }
  if (a->custom.aliasing)
    put_text(out, "output_to_operand_aliasing", a->custom.aliasing);
  put_pieces(instr, PLACE_OWN, out);
  // the original one is what no version means
  const char *version = hsc__word(HSC__WORDS_API_VERSION, a->custom.api_version);
  if (a->custom.api_version > 1 && version)
    put_text(out, "api_version", version);
}

static void put_own(const hsc_instr *instr, const hsc_print_options *options, hsc_bytes *out) {
  if (hsc__op_attr_kind(instr->op) == HSC__ATTR_custom) {
    put_custom(instr, options, out);
  } else {
    const hsc__attr_list *list = hsc__attr_list_of(instr->op);
    for (int i = 0; i < list->count; i++)
      put_value(out, instr, hsc__attr_row_at(list->rows[i]));
  }
  bool placed = instr->op == HSC_OP_CUSTOM_CALL || instr->op == HSC_OP_OUTFEED;
  if (!placed)
    put_pieces(instr, PLACE_OWN, out);
}

static void put_called(hsc_bytes *out,
                       const char *key,
                       const hsc_computation *called,
                       const hsc_print_options *options) {
  PUT(out, ", ");
  hsc_bytes_append_text(out, key);
  hsc_bytes_append_char(out, '=');
  hsc__put_name(out, called->name, options);
}

static void put_called_list(hsc_bytes *out,
                            const char *key,
                            const hsc_instr *instr,
                            const hsc_print_options *options) {
  PUT(out, ", ");
  hsc_bytes_append_text(out, key);
  PUT(out, "={");
  for (int i = 0; i < instr->called_count; i++) {
    if (i > 0)
      PUT(out, ", ");
    hsc__put_name(out, instr->called[i]->name, options);
  }
  hsc_bytes_append_char(out, '}');
}

static void put_calls(const hsc_instr *instr, const hsc_print_options *options, hsc_bytes *out) {
  if (instr->called_count == 0)
    return;
  switch (instr->op) {
    case HSC_OP_WHILE:
      put_called(out, "condition", instr->called[0], options);
      if (instr->called_count > 1)
        put_called(out, "body", instr->called[1], options);
      break;
    case HSC_OP_SELECT_AND_SCATTER:
      put_called(out, "select", instr->called[0], options);
      if (instr->called_count > 1)
        put_called(out, "scatter", instr->called[1], options);
      break;
    case HSC_OP_CONDITIONAL:
      if (instr->called_count == 2 && instr->operand_count > 0 &&
          instr->operands[0]->shape.type == HSC_TYPE_PRED) {
        put_called(out, "true_computation", instr->called[0], options);
        put_called(out, "false_computation", instr->called[1], options);
      } else {
        put_called_list(out, "branch_computations", instr, options);
      }
      break;
    case HSC_OP_CUSTOM_CALL:
      put_called_list(out, "called_computations", instr, options);
      break;
    case HSC_OP_FUSION:
    case HSC_OP_ASYNC_START:
    case HSC_OP_ASYNC_UPDATE:
    case HSC_OP_ASYNC_DONE:
      put_called(out, "calls", instr->called[0], options);
      break;
    default:
      put_called(out, "to_apply", instr->called[0], options);
      break;
  }
}

void hsc__print_attributes(const hsc_instr *instr,
                           const hsc_print_options *options,
                           hsc_bytes *out) {
  const hsc_instr *wrapped = hsc__async_wrapped(instr);
  put_own(instr, options, out);
  if (wrapped && instr->op == HSC_OP_ASYNC_START) {
    put_own(wrapped, options, out);
    put_calls(wrapped, options, out);
  } else if (!wrapped) {
    put_calls(instr, options, out);
  }
  put_pieces(instr, PLACE_AFTER_CALLS, out);
  if (instr->sharding)
    put_text(out, "sharding", instr->sharding);
  if (instr->frontend_attributes)
    put_text(out, "frontend_attributes", instr->frontend_attributes);
  if (instr->control_count > 0) {
    PUT(out, ", control-predecessors={");
    for (int i = 0; i < instr->control_count; i++) {
      if (i > 0)
        PUT(out, ", ");
      hsc__put_name(out, instr->control_predecessors[i]->name, options);
    }
    hsc_bytes_append_char(out, '}');
  }
  put_pieces(instr, PLACE_LAST, out);
}
