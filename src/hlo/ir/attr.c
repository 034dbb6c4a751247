// attr.c - attributes: deep copy, equality, hash. One switch each over the members of hsc_attr; a
// new member needs a case in all three.
#include "hlo/ir/hlo_internal.h"

hsc_dims hsc_dims_copy(hsc_arena *arena, int count, const int64_t *v) {
  if (count <= 0)
    return (hsc_dims){0};
  const int64_t *copy = hsc_arena_copy(arena, v, (size_t)count * sizeof *v);
  return copy ? (hsc_dims){count, copy} : (hsc_dims){0};
}

static hsc_dims copy_dims(hsc_arena *arena, hsc_dims dims) {
  return hsc_dims_copy(arena, dims.count, dims.v);
}
static const char *copy_text(hsc_arena *arena, const char *text) {
  return text ? hsc_arena_strdup(arena, text) : NULL;
}

static hsc_window copy_window(hsc_arena *arena, hsc_window window) {
  if (window.rank > 0)
    window.dims = hsc_arena_copy(arena, window.dims, (size_t)window.rank * sizeof *window.dims);
  return window;
}

static const int64_t *copy_numbers(hsc_arena *arena, const int64_t *numbers, int count) {
  return count > 0 ? hsc_arena_copy(arena, numbers, (size_t)count * sizeof *numbers) : NULL;
}

static hsc_gather_dims copy_gather(hsc_arena *arena, hsc_gather_dims g) {
  g.offset_dims = copy_dims(arena, g.offset_dims);
  g.collapsed_slice_dims = copy_dims(arena, g.collapsed_slice_dims);
  g.start_index_map = copy_dims(arena, g.start_index_map);
  g.operand_batching_dims = copy_dims(arena, g.operand_batching_dims);
  g.start_indices_batching_dims = copy_dims(arena, g.start_indices_batching_dims);
  g.slice_sizes = copy_dims(arena, g.slice_sizes);
  return g;
}

static hsc_literal *copy_literal(hsc_arena *arena, const hsc_literal *literal) {
  hsc_literal *copy = NULL;
  // running out of memory stays in the arena
  if (literal)
    hsc_status_free(hsc_literal_copy(arena, literal, &copy));
  return copy;
}

void hsc__attr_copy(hsc_arena *arena, hsc_op op, const hsc_attr *from, hsc_attr *to) {
  *to = *from;
  switch (hsc__op_attr_kind(op)) {
    case HSC__ATTR_none:
    case HSC__ATTR_index:
    case HSC__ATTR_compare:
    case HSC__ATTR_batch_norm:
    case HSC__ATTR_cholesky:
    case HSC__ATTR_triangular:
    case HSC__ATTR_rng:
    case HSC__ATTR_precision:
    case HSC__ATTR_fusion:
    case HSC__ATTR_topk:
      break;
    case HSC__ATTR_dims:
      to->dims.dims = copy_dims(arena, from->dims.dims);
      break;
    case HSC__ATTR_literal:
      to->literal.value = copy_literal(arena, from->literal.value);
      break;
    case HSC__ATTR_slice:
      to->slice.start = copy_dims(arena, from->slice.start);
      to->slice.limit = copy_dims(arena, from->slice.limit);
      to->slice.stride = copy_dims(arena, from->slice.stride);
      break;
    case HSC__ATTR_slice_sizes:
      to->slice_sizes.sizes = copy_dims(arena, from->slice_sizes.sizes);
      break;
    case HSC__ATTR_pad:
      if (from->pad.rank > 0)
        to->pad.dims =
            hsc_arena_copy(arena, from->pad.dims, (size_t)from->pad.rank * sizeof *from->pad.dims);
      break;
    case HSC__ATTR_window:
      to->window.window = copy_window(arena, from->window.window);
      break;
    case HSC__ATTR_conv: {
      const hsc_conv_dims *dims = &from->conv.dims;
      to->conv.window = copy_window(arena, from->conv.window);
      to->conv.dims.input_spatial = copy_numbers(arena, dims->input_spatial, dims->spatial_rank);
      to->conv.dims.kernel_spatial = copy_numbers(arena, dims->kernel_spatial, dims->spatial_rank);
      to->conv.dims.output_spatial = copy_numbers(arena, dims->output_spatial, dims->spatial_rank);
      to->conv.precision = copy_dims(arena, from->conv.precision);
      break;
    }
    case HSC__ATTR_dot:
      to->dot.lhs_batch = copy_dims(arena, from->dot.lhs_batch);
      to->dot.rhs_batch = copy_dims(arena, from->dot.rhs_batch);
      to->dot.lhs_contracting = copy_dims(arena, from->dot.lhs_contracting);
      to->dot.rhs_contracting = copy_dims(arena, from->dot.rhs_contracting);
      to->dot.precision = copy_dims(arena, from->dot.precision);
      to->dot.sparsity = copy_text(arena, from->dot.sparsity);
      break;
    case HSC__ATTR_gather:
      to->gather = copy_gather(arena, from->gather);
      break;
    case HSC__ATTR_scatter:
      to->scatter = copy_gather(arena, from->scatter);
      break;
    case HSC__ATTR_fft:
      to->fft.length = copy_dims(arena, from->fft.length);
      break;
    case HSC__ATTR_custom: {
      to->custom.target = copy_text(arena, from->custom.target);
      to->custom.opaque = copy_text(arena, from->custom.opaque);
      to->custom.aliasing = copy_text(arena, from->custom.aliasing);
      to->custom.literal = copy_literal(arena, from->custom.literal);
      int count = from->custom.operand_layouts ? from->custom.operand_layout_count : 0;
      hsc_shape *shapes = count > 0 ? HSC_NEW_ARRAY(arena, hsc_shape, count) : NULL;
      for (int i = 0; shapes && i < count; i++)
        shapes[i] = hsc_shape_copy(arena, from->custom.operand_layouts[i]);
      to->custom.operand_layouts = shapes;
      break;
    }
    case HSC__ATTR_collective:
      to->collective.dims = copy_dims(arena, from->collective.dims);
      to->collective.replica_groups = copy_text(arena, from->collective.replica_groups);
      to->collective.pairs = copy_text(arena, from->collective.pairs);
      break;
  }
}

static bool dims_equal(hsc_dims a, hsc_dims b) {
  return a.count == b.count &&
         (a.count == 0 || a.v == b.v || memcmp(a.v, b.v, (size_t)a.count * sizeof *a.v) == 0);
}

static bool texts_equal(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool numbers_equal(const int64_t *a, const int64_t *b, int count) {
  return a == b || count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static bool windows_equal(hsc_window a, hsc_window b) {
  if (a.rank != b.rank)
    return false;
  for (int i = 0; i < a.rank; i++) {
    const hsc_window_dim *x = &a.dims[i];
    const hsc_window_dim *y = &b.dims[i];
    if (x->size != y->size || x->stride != y->stride || x->pad_low != y->pad_low ||
        x->pad_high != y->pad_high || x->window_dilation != y->window_dilation ||
        x->base_dilation != y->base_dilation || x->reversal != y->reversal)
      return false;
  }
  return true;
}

static bool gathers_equal(const hsc_gather_dims *a, const hsc_gather_dims *b) {
  return dims_equal(a->offset_dims, b->offset_dims) &&
         dims_equal(a->collapsed_slice_dims, b->collapsed_slice_dims) &&
         dims_equal(a->start_index_map, b->start_index_map) &&
         dims_equal(a->operand_batching_dims, b->operand_batching_dims) &&
         dims_equal(a->start_indices_batching_dims, b->start_indices_batching_dims) &&
         a->index_vector_dim == b->index_vector_dim && dims_equal(a->slice_sizes, b->slice_sizes) &&
         a->indices_are_sorted == b->indices_are_sorted && a->unique == b->unique;
}

static bool literals_equal(const hsc_literal *a, const hsc_literal *b) {
  return a == b || (a && b && hsc_literal_equal(a, b));
}

static bool unions_equal(hsc_op op, const hsc_attr *a, const hsc_attr *b) {
  switch (hsc__op_attr_kind(op)) {
    case HSC__ATTR_none:
      return true;
    case HSC__ATTR_dims:
      return dims_equal(a->dims.dims, b->dims.dims) && a->dims.is_stable == b->dims.is_stable &&
             a->dims.is_reverse == b->dims.is_reverse;
    case HSC__ATTR_index:
      return a->index.value == b->index.value;
    case HSC__ATTR_literal:
      return literals_equal(a->literal.value, b->literal.value);
    case HSC__ATTR_compare:
      return a->compare.direction == b->compare.direction && a->compare.type == b->compare.type;
    case HSC__ATTR_slice:
      return dims_equal(a->slice.start, b->slice.start) &&
             dims_equal(a->slice.limit, b->slice.limit) &&
             dims_equal(a->slice.stride, b->slice.stride);
    case HSC__ATTR_slice_sizes:
      return dims_equal(a->slice_sizes.sizes, b->slice_sizes.sizes);
    case HSC__ATTR_pad:
      return a->pad.rank == b->pad.rank &&
             (a->pad.rank == 0 ||
              memcmp(a->pad.dims, b->pad.dims, (size_t)a->pad.rank * sizeof *a->pad.dims) == 0);
    case HSC__ATTR_window:
      return windows_equal(a->window.window, b->window.window);
    case HSC__ATTR_conv: {
      const hsc_conv_dims *x = &a->conv.dims;
      const hsc_conv_dims *y = &b->conv.dims;
      return windows_equal(a->conv.window, b->conv.window) && x->spatial_rank == y->spatial_rank &&
             x->input_batch == y->input_batch && x->input_feature == y->input_feature &&
             x->kernel_input == y->kernel_input && x->kernel_output == y->kernel_output &&
             x->output_batch == y->output_batch && x->output_feature == y->output_feature &&
             numbers_equal(x->input_spatial, y->input_spatial, x->spatial_rank) &&
             numbers_equal(x->kernel_spatial, y->kernel_spatial, x->spatial_rank) &&
             numbers_equal(x->output_spatial, y->output_spatial, x->spatial_rank) &&
             a->conv.feature_groups == b->conv.feature_groups &&
             a->conv.batch_groups == b->conv.batch_groups &&
             dims_equal(a->conv.precision, b->conv.precision);
    }
    case HSC__ATTR_dot:
      return dims_equal(a->dot.lhs_batch, b->dot.lhs_batch) &&
             dims_equal(a->dot.rhs_batch, b->dot.rhs_batch) &&
             dims_equal(a->dot.lhs_contracting, b->dot.lhs_contracting) &&
             dims_equal(a->dot.rhs_contracting, b->dot.rhs_contracting) &&
             dims_equal(a->dot.precision, b->dot.precision) &&
             a->dot.algorithm == b->dot.algorithm && texts_equal(a->dot.sparsity, b->dot.sparsity);
    case HSC__ATTR_gather:
      return gathers_equal(&a->gather, &b->gather);
    case HSC__ATTR_scatter:
      return gathers_equal(&a->scatter, &b->scatter);
    case HSC__ATTR_fft:
      return a->fft.type == b->fft.type && dims_equal(a->fft.length, b->fft.length);
    case HSC__ATTR_batch_norm:
      return a->batch_norm.epsilon == b->batch_norm.epsilon &&
             a->batch_norm.feature_index == b->batch_norm.feature_index;
    case HSC__ATTR_cholesky:
      return a->cholesky.lower == b->cholesky.lower;
    case HSC__ATTR_triangular:
      return a->triangular.left_side == b->triangular.left_side &&
             a->triangular.lower == b->triangular.lower &&
             a->triangular.unit_diagonal == b->triangular.unit_diagonal &&
             a->triangular.transpose_a == b->triangular.transpose_a;
    case HSC__ATTR_rng:
      return a->rng.algorithm == b->rng.algorithm && a->rng.distribution == b->rng.distribution;
    case HSC__ATTR_precision:
      return a->precision.exponent_bits == b->precision.exponent_bits &&
             a->precision.mantissa_bits == b->precision.mantissa_bits;
    case HSC__ATTR_fusion:
      return a->fusion.kind == b->fusion.kind;
    case HSC__ATTR_topk:
      return a->topk.k == b->topk.k && a->topk.largest == b->topk.largest;
    case HSC__ATTR_custom: {
      if (!texts_equal(a->custom.target, b->custom.target) ||
          !texts_equal(a->custom.opaque, b->custom.opaque) ||
          a->custom.api_version != b->custom.api_version ||
          a->custom.has_side_effect != b->custom.has_side_effect ||
          !literals_equal(a->custom.literal, b->custom.literal) ||
          !texts_equal(a->custom.aliasing, b->custom.aliasing) ||
          a->custom.channel_id != b->custom.channel_id ||
          a->custom.is_host_transfer != b->custom.is_host_transfer ||
          a->custom.operand_layout_count != b->custom.operand_layout_count ||
          !a->custom.operand_layouts != !b->custom.operand_layouts)
        return false;
      for (int i = 0; a->custom.operand_layouts && i < a->custom.operand_layout_count; i++)
        if (!hsc_shape_equal_layout(&a->custom.operand_layouts[i], &b->custom.operand_layouts[i]))
          return false;
      return true;
    }
    case HSC__ATTR_collective:
      return dims_equal(a->collective.dims, b->collective.dims) &&
             texts_equal(a->collective.replica_groups, b->collective.replica_groups) &&
             texts_equal(a->collective.pairs, b->collective.pairs) &&
             a->collective.channel_id == b->collective.channel_id &&
             a->collective.use_global_device_ids == b->collective.use_global_device_ids &&
             a->collective.constrain_layout == b->collective.constrain_layout;
  }
  return false;
}

bool hsc_attr_equal(const hsc_instr *a, const hsc_instr *b) {
  if (a->op != b->op || a->called_count != b->called_count ||
      !unions_equal(a->op, &a->attr, &b->attr))
    return false;
  if (!texts_equal(a->sharding, b->sharding) ||
      !texts_equal(a->frontend_attributes, b->frontend_attributes) ||
      !texts_equal(a->backend_config, b->backend_config) ||
      !texts_equal(a->extra_attributes, b->extra_attributes))
    return false;
  for (int i = 0; i < a->called_count; i++) {
    if (a->called[i] == b->called[i])
      continue;
    hsc_hash128 x = hsc_computation_fingerprint(a->called[i]);
    hsc_hash128 y = hsc_computation_fingerprint(b->called[i]);
    if (x.low != y.low || x.high != y.high)
      return false;
  }
  return true;
}

// ---- hashing ------------------------------------------------------------------------------------

static void hash_window(hsc__hasher *h, hsc_window window) {
  hsc__hash_u64(h, (uint64_t)window.rank);
  for (int i = 0; i < window.rank; i++) {
    const hsc_window_dim *d = &window.dims[i];
    const int64_t fields[] = {d->size,     d->stride,          d->pad_low,
                              d->pad_high, d->window_dilation, d->base_dilation,
                              d->reversal};
    hsc__hash_bytes(h, fields, sizeof fields);
  }
}

static void hash_gather(hsc__hasher *h, const hsc_gather_dims *g) {
  hsc__hash_dims(h, g->offset_dims);
  hsc__hash_dims(h, g->collapsed_slice_dims);
  hsc__hash_dims(h, g->start_index_map);
  hsc__hash_dims(h, g->operand_batching_dims);
  hsc__hash_dims(h, g->start_indices_batching_dims);
  hsc__hash_dims(h, g->slice_sizes);
  hsc__hash_u64(h, (uint64_t)g->index_vector_dim);
  hsc__hash_u64(h, (uint64_t)g->indices_are_sorted << 1 | g->unique);
}

static void hash_literal(hsc__hasher *h, const hsc_literal *literal) {
  hsc__hash_u64(h, literal ? 1 + literal->elided : 0);
  if (!literal)
    return;
  hsc__hash_shape(h, &literal->shape);
  if (literal->shape.type == HSC_TYPE_TUPLE)
    for (int i = 0; i < literal->shape.element_count; i++)
      hash_literal(h, &literal->elements[i]);
  else if (literal->data)
    hsc__hash_bytes(h, literal->data, (size_t)hsc_shape_bytes(&literal->shape));
}

void hsc__hash_attr(hsc__hasher *h, hsc_op op, const hsc_attr *a) {
  switch (hsc__op_attr_kind(op)) {
    case HSC__ATTR_none:
      break;
    case HSC__ATTR_dims:
      hsc__hash_dims(h, a->dims.dims);
      hsc__hash_u64(h, (uint64_t)a->dims.is_stable << 1 | a->dims.is_reverse);
      break;
    case HSC__ATTR_index:
      hsc__hash_u64(h, (uint64_t)a->index.value);
      break;
    case HSC__ATTR_literal:
      hash_literal(h, a->literal.value);
      break;
    case HSC__ATTR_compare:
      hsc__hash_u64(h, (uint64_t)a->compare.direction << 8 | a->compare.type);
      break;
    case HSC__ATTR_slice:
      hsc__hash_dims(h, a->slice.start);
      hsc__hash_dims(h, a->slice.limit);
      hsc__hash_dims(h, a->slice.stride);
      break;
    case HSC__ATTR_slice_sizes:
      hsc__hash_dims(h, a->slice_sizes.sizes);
      break;
    case HSC__ATTR_pad:
      hsc__hash_u64(h, (uint64_t)a->pad.rank);
      if (a->pad.rank > 0)
        hsc__hash_bytes(h, a->pad.dims, (size_t)a->pad.rank * sizeof *a->pad.dims);
      break;
    case HSC__ATTR_window:
      hash_window(h, a->window.window);
      break;
    case HSC__ATTR_conv: {
      const hsc_conv_dims *d = &a->conv.dims;
      const int64_t fields[] = {d->spatial_rank,   d->input_batch,         d->input_feature,
                                d->kernel_input,   d->kernel_output,       d->output_batch,
                                d->output_feature, a->conv.feature_groups, a->conv.batch_groups};
      hash_window(h, a->conv.window);
      hsc__hash_bytes(h, fields, sizeof fields);
      if (d->spatial_rank > 0) {
        hsc__hash_bytes(h, d->input_spatial, (size_t)d->spatial_rank * sizeof(int64_t));
        hsc__hash_bytes(h, d->kernel_spatial, (size_t)d->spatial_rank * sizeof(int64_t));
        hsc__hash_bytes(h, d->output_spatial, (size_t)d->spatial_rank * sizeof(int64_t));
      }
      hsc__hash_dims(h, a->conv.precision);
      break;
    }
    case HSC__ATTR_dot:
      hsc__hash_dims(h, a->dot.lhs_batch);
      hsc__hash_dims(h, a->dot.rhs_batch);
      hsc__hash_dims(h, a->dot.lhs_contracting);
      hsc__hash_dims(h, a->dot.rhs_contracting);
      hsc__hash_dims(h, a->dot.precision);
      hsc__hash_u64(h, (uint64_t)a->dot.algorithm);
      hsc__hash_text(h, a->dot.sparsity);
      break;
    case HSC__ATTR_gather:
      hash_gather(h, &a->gather);
      break;
    case HSC__ATTR_scatter:
      hash_gather(h, &a->scatter);
      break;
    case HSC__ATTR_fft:
      hsc__hash_u64(h, a->fft.type);
      hsc__hash_dims(h, a->fft.length);
      break;
    case HSC__ATTR_batch_norm:
      hsc__hash_bytes(h, &a->batch_norm.epsilon, sizeof a->batch_norm.epsilon);
      hsc__hash_u64(h, (uint64_t)a->batch_norm.feature_index);
      break;
    case HSC__ATTR_cholesky:
      hsc__hash_u64(h, a->cholesky.lower);
      break;
    case HSC__ATTR_triangular:
      hsc__hash_u64(h, (uint64_t)a->triangular.transpose_a << 3 | a->triangular.left_side << 2 |
                           a->triangular.lower << 1 | a->triangular.unit_diagonal);
      break;
    case HSC__ATTR_rng:
      hsc__hash_u64(h, (uint64_t)a->rng.algorithm << 8 | a->rng.distribution);
      break;
    case HSC__ATTR_precision:
      hsc__hash_u64(h, (uint64_t)(uint32_t)a->precision.exponent_bits << 32 |
                           (uint32_t)a->precision.mantissa_bits);
      break;
    case HSC__ATTR_fusion:
      hsc__hash_u64(h, a->fusion.kind);
      break;
    case HSC__ATTR_topk:
      hsc__hash_u64(h, (uint64_t)a->topk.k << 1 | a->topk.largest);
      break;
    case HSC__ATTR_custom:
      hsc__hash_text(h, a->custom.target);
      hsc__hash_text(h, a->custom.opaque);
      hsc__hash_u64(h, (uint64_t)(uint32_t)a->custom.api_version << 2 |
                           a->custom.has_side_effect << 1 | a->custom.is_host_transfer);
      hash_literal(h, a->custom.literal);
      hsc__hash_u64(h, (uint64_t)a->custom.operand_layout_count);
      for (int i = 0; a->custom.operand_layouts && i < a->custom.operand_layout_count; i++)
        hsc__hash_shape(h, &a->custom.operand_layouts[i]);
      hsc__hash_text(h, a->custom.aliasing);
      hsc__hash_u64(h, (uint64_t)a->custom.channel_id);
      break;
    case HSC__ATTR_collective:
      hsc__hash_dims(h, a->collective.dims);
      hsc__hash_text(h, a->collective.replica_groups);
      hsc__hash_text(h, a->collective.pairs);
      hsc__hash_u64(h, (uint64_t)a->collective.channel_id);
      hsc__hash_u64(
          h, (uint64_t)a->collective.use_global_device_ids << 1 | a->collective.constrain_layout);
      break;
  }
}
