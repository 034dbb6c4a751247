// print_attr.c - the attributes of an instruction, in XLA's order: those of the op, called
// computations, then what any op may have.
//
// Raw pieces of extra_attributes go where XLA prints their like: what describes a convolution
// before a custom call's target, fields that any op may have (statistics, origin) after the control
// predecessors, the others between the op's own attributes and its called computations.
#include <stdlib.h>

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
  hsc__put_escaped(out, value);
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

static void put_window(hsc_bytes *out, hsc_window window) {
  static const char *const names[] = {
      "size=", " stride=", " pad=", " lhs_dilate=", " rhs_dilate=", " rhs_reversal="};
  if (window.rank == 0)
    return;
  PUT(out, ", window={");
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

static void put_precision(hsc_bytes *out, hsc_dims precision) {
  static const char *const names[] = {"default", "high", "highest", "packed_nibble"};
  bool any = false;
  for (int i = 0; i < precision.count; i++)
    any = any || precision.v[i] != 0;
  if (!any)
    return;
  PUT(out, ", operand_precision={");
  for (int i = 0; i < precision.count; i++) {
    if (i > 0)
      hsc_bytes_append_char(out, ',');
    hsc_bytes_append_text(
        out, (uint64_t)precision.v[i] < HSC_COUNT_OF(names) ? names[precision.v[i]] : "default");
  }
  hsc_bytes_append_char(out, '}');
}

static void put_conv(hsc_bytes *out, const hsc_attr *attr) {
  const hsc_conv_dims *d = &attr->conv.dims;
  put_window(out, attr->conv.window);
  PUT(out, ", dim_labels=");
  put_labels(out, 'b', d->input_batch, 'f', d->input_feature, d->input_spatial, d->spatial_rank);
  hsc_bytes_append_char(out, '_');
  put_labels(out, 'i', d->kernel_input, 'o', d->kernel_output, d->kernel_spatial, d->spatial_rank);
  PUT(out, "->");
  put_labels(out, 'b', d->output_batch, 'f', d->output_feature, d->output_spatial, d->spatial_rank);
  if (attr->conv.feature_groups != 1)
    put_int(out, "feature_group_count", attr->conv.feature_groups);
  if (attr->conv.batch_groups != 1)
    put_int(out, "batch_group_count", attr->conv.batch_groups);
  put_precision(out, attr->conv.precision);
}

// ---- the other members of hsc_attr --------------------------------------------------------------

static void put_dot(hsc_bytes *out, const hsc_dot_dims *d) {
  if (d->lhs_batch.count > 0)
    put_dims(out, "lhs_batch_dims", d->lhs_batch);
  put_dims(out, "lhs_contracting_dims", d->lhs_contracting);
  if (d->rhs_batch.count > 0)
    put_dims(out, "rhs_batch_dims", d->rhs_batch);
  put_dims(out, "rhs_contracting_dims", d->rhs_contracting);
  if (d->sparsity)
    put_text(out, "sparsity", d->sparsity);
  put_precision(out, d->precision);
  if (d->algorithm != 0 && hsc__dot_algorithm_text(d->algorithm))
    put_text(out, "algorithm", hsc__dot_algorithm_text(d->algorithm));
}

static void put_slice(hsc_bytes *out, hsc_dims start, hsc_dims limit, hsc_dims stride) {
  bool strided = false;
  for (int i = 0; i < stride.count; i++)
    strided = strided || stride.v[i] != 1;
  PUT(out, ", slice={");
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

static void put_pad(hsc_bytes *out, int rank, const hsc_pad_dim *dims) {
  bool interior = false;
  for (int i = 0; i < rank; i++)
    interior = interior || dims[i].interior != 0;
  PUT(out, ", padding=");
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

static void put_gather(hsc_bytes *out, const hsc_gather_dims *g) {
  put_dims(out, "offset_dims", g->offset_dims);
  put_dims(out, "collapsed_slice_dims", g->collapsed_slice_dims);
  put_dims(out, "start_index_map", g->start_index_map);
  if (g->operand_batching_dims.count > 0)
    put_dims(out, "operand_batching_dims", g->operand_batching_dims);
  if (g->start_indices_batching_dims.count > 0)
    put_dims(out, "start_indices_batching_dims", g->start_indices_batching_dims);
  put_int(out, "index_vector_dim", g->index_vector_dim);
  put_dims(out, "slice_sizes", g->slice_sizes);
  put_true(out, "indices_are_sorted", g->indices_are_sorted);
}

static void put_scatter(hsc_bytes *out, const hsc_gather_dims *g) {
  put_dims(out, "update_window_dims", g->offset_dims);
  put_dims(out, "inserted_window_dims", g->collapsed_slice_dims);
  put_dims(out, "scatter_dims_to_operand_dims", g->start_index_map);
  if (g->operand_batching_dims.count > 0)
    put_dims(out, "input_batching_dims", g->operand_batching_dims);
  if (g->start_indices_batching_dims.count > 0)
    put_dims(out, "scatter_indices_batching_dims", g->start_indices_batching_dims);
  put_int(out, "index_vector_dim", g->index_vector_dim);
  put_true(out, "indices_are_sorted", g->indices_are_sorted);
  put_true(out, "unique_indices", g->unique);
}

// The type is printed where it is not what the operands' type means anyway.
static void put_compare(const hsc_instr *instr, hsc_bytes *out) {
  hsc_compare_type type = instr->attr.compare.type;
  hsc_compare_type implied = HSC_COMPARE_FLOAT;
  if (instr->operand_count > 0)
    switch (hsc_type_class_of(instr->operands[0]->shape.type)) {
      case HSC_CLASS_SIGNED:
        implied = HSC_COMPARE_SIGNED;
        break;
      case HSC_CLASS_UNSIGNED:
      case HSC_CLASS_PRED:
        implied = HSC_COMPARE_UNSIGNED;
        break;
      default:
        break;
    }
  put_text(out, "direction", hsc__direction_text(instr->attr.compare.direction));
  if (type != HSC_COMPARE_DEFAULT && type != implied)
    put_text(out, "type", hsc__compare_type_text(type));
}

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
  static const char *const versions[] = {NULL, NULL, "API_VERSION_STATUS_RETURNING",
                                         "API_VERSION_STATUS_RETURNING_UNIFIED",
                                         "API_VERSION_TYPED_FFI"};
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
  if (a->custom.api_version > 1 && a->custom.api_version < (int)HSC_COUNT_OF(versions))
    put_text(out, "api_version", versions[a->custom.api_version]);
}

static void put_collective(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_attr *a = &instr->attr;
  bool permutes =
      instr->op == HSC_OP_COLLECTIVE_PERMUTE || instr->op == HSC_OP_COLLECTIVE_PERMUTE_START;
  if (a->collective.channel_id != 0)
    put_int(out, "channel_id", a->collective.channel_id);
  if (permutes)
    put_text(out, "source_target_pairs", a->collective.pairs ? a->collective.pairs : "{}");
  else
    put_text(out, "replica_groups",
             a->collective.replica_groups ? a->collective.replica_groups : "{}");
  put_true(out, "constrain_layout", a->collective.constrain_layout);
  if (a->collective.dims.count > 0)
    put_dims(out, "dimensions", a->collective.dims);
  put_true(out, "use_global_device_ids", a->collective.use_global_device_ids);
}

static void put_own(const hsc_instr *instr, const hsc_print_options *options, hsc_bytes *out) {
  const hsc_attr *a = &instr->attr;
  switch (hsc__op_attr_kind(instr->op)) {
    case HSC__ATTR_none:
    case HSC__ATTR_literal:
      break;
    case HSC__ATTR_dims:
      if (instr->op == HSC_OP_IOTA)
        put_int(out, "iota_dimension", a->dims.dims.count > 0 ? a->dims.dims.v[0] : 0);
      else
        put_dims(out, "dimensions", a->dims.dims);
      put_true(out, "is_stable", a->dims.is_stable);
      put_true(out, "is_reverse", a->dims.is_reverse);
      break;
    case HSC__ATTR_index:
      if (instr->op == HSC_OP_GET_TUPLE_ELEMENT)
        put_int(out, "index", a->index.value);
      else if (instr->op == HSC_OP_RNG_GET_AND_UPDATE_STATE)
        put_int(out, "delta", a->index.value);
      break;
    case HSC__ATTR_compare:
      put_compare(instr, out);
      break;
    case HSC__ATTR_slice:
      put_slice(out, a->slice.start, a->slice.limit, a->slice.stride);
      break;
    case HSC__ATTR_slice_sizes:
      put_dims(out, "dynamic_slice_sizes", a->slice_sizes.sizes);
      break;
    case HSC__ATTR_pad:
      put_pad(out, a->pad.rank, a->pad.dims);
      break;
    case HSC__ATTR_window:
      put_window(out, a->window.window);
      break;
    case HSC__ATTR_conv:
      put_conv(out, a);
      break;
    case HSC__ATTR_dot:
      put_dot(out, &a->dot);
      break;
    case HSC__ATTR_gather:
      put_gather(out, &a->gather);
      break;
    case HSC__ATTR_scatter:
      put_scatter(out, &a->scatter);
      break;
    case HSC__ATTR_fft:
      put_text(out, "fft_type", hsc__fft_type_text(a->fft.type));
      put_dims(out, "fft_length", a->fft.length);
      break;
    case HSC__ATTR_batch_norm: {
      char number[40];
      // as XLA, unless digits would be lost
      snprintf(number, sizeof number, "%g", (double)a->batch_norm.epsilon);
      if (strtof(number, NULL) != a->batch_norm.epsilon)
        snprintf(number, sizeof number, "%.9g", (double)a->batch_norm.epsilon);
      put_text(out, "epsilon", number);
      put_int(out, "feature_index", a->batch_norm.feature_index);
      break;
    }
    case HSC__ATTR_cholesky:
      put_true(out, "lower", a->cholesky.lower);
      break;
    case HSC__ATTR_triangular:
      put_true(out, "left_side", a->triangular.left_side);
      put_true(out, "lower", a->triangular.lower);
      put_true(out, "unit_diagonal", a->triangular.unit_diagonal);
      put_text(out, "transpose_a", hsc__transpose_text(a->triangular.transpose_a));
      break;
    case HSC__ATTR_rng:
      if (instr->op == HSC_OP_RNG)
        put_text(out, "distribution", hsc__rng_distribution_text(a->rng.distribution));
      else
        put_text(out, "algorithm", hsc__rng_algorithm_text(a->rng.algorithm));
      break;
    case HSC__ATTR_precision:
      put_int(out, "exponent_bits", a->precision.exponent_bits);
      put_int(out, "mantissa_bits", a->precision.mantissa_bits);
      break;
    case HSC__ATTR_fusion:
      put_text(out, "kind", hsc__fusion_kind_text(a->fusion.kind));
      break;
    case HSC__ATTR_topk:
      put_int(out, "k", a->topk.k);
      put_text(out, "largest", a->topk.largest ? "true" : "false");
      break;
    case HSC__ATTR_custom:
      put_custom(instr, options, out);
      break;
    case HSC__ATTR_collective:
      put_collective(instr, out);
      break;
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
