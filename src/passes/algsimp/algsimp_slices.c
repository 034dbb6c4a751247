// algsimp_slices.c - rules on parts of arrays: slices and updates move before what they read, joins
// and paddings of known values become one.
#include "passes/algsimp/algsimp.h"

static int64_t stride_of(const hsc_instr *slice, int dim) {
  return slice->attr.slice.stride.count ? slice->attr.slice.stride.v[dim] : 1;
}

static hsc_instr *build_slice(hsc_builder *b,
                              hsc_instr *x,
                              const int64_t *start,
                              const int64_t *limit,
                              const int64_t *stride) {
  hsc_arena *arena = arena_of(b);
  return hsc_build_slice(b, x, hsc_dims_copy(arena, x->shape.rank, start),
                         hsc_dims_copy(arena, x->shape.rank, limit),
                         hsc_dims_copy(arena, x->shape.rank, stride));
}

// slice(reverse(A)) => reverse(slice(A))
HSC_RULE(slice_of_reverse) {
  hsc_instr *x = instr->operands[0];
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  if (x->op != HSC_OP_REVERSE || !hsc__has_one_use(x) || hsc__is_empty(instr))
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    start[i] = instr->attr.slice.start.v[i];
    limit[i] = instr->attr.slice.limit.v[i];
    stride[i] = stride_of(instr, i);
    if (!hsc_dims_contain(x->attr.dims.dims, i))
      continue;
    int64_t last = start[i] + (instr->shape.dims[i] - 1) * stride[i];
    limit[i] = x->shape.dims[i] - start[i];
    start[i] = x->shape.dims[i] - 1 - last;
  }
  hsc_instr *part = build_slice(b, x->operands[0], start, limit, stride);
  return hsc_build_op(b, HSC_OP_REVERSE, (hsc_shape){0}, &x->attr, 1, &part, 0, NULL);
}

// slice(broadcast(A)) => broadcast(slice(A))
HSC_RULE(slice_of_broadcast) {
  const hsc_instr *x = instr->operands[0];
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  if (x->op != HSC_OP_BROADCAST || hsc__is_empty(instr))
    return NULL;
  hsc_instr *source = x->operands[0];
  bool cuts = false;
  for (int i = 0; i < source->shape.rank; i++) {
    int64_t dim = x->attr.dims.dims.v[i];
    start[i] = instr->attr.slice.start.v[dim];
    limit[i] = instr->attr.slice.limit.v[dim];
    stride[i] = stride_of(instr, (int)dim);
    cuts |= instr->shape.dims[dim] != source->shape.dims[i];
  }
  return hsc_build_broadcast(b, cuts ? build_slice(b, source, start, limit, stride) : source,
                             instr->shape, x->attr.dims.dims);
}

// slice(pad(A, V)) that lies in the padding along one dimension => broadcast(V)
HSC_RULE(slice_of_padding) {
  const hsc_instr *pad = instr->operands[0];
  if (pad->op != HSC_OP_PAD || hsc__is_empty(instr))
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    hsc_pad_dim p = pad->attr.pad.dims[i];
    int64_t size = pad->operands[0]->shape.dims[i];
    int64_t end = p.low + size + (size > 1 ? (size - 1) * p.interior : 0);
    if (instr->attr.slice.limit.v[i] <= p.low || instr->attr.slice.start.v[i] >= end)
      return hsc_build_broadcast(b, pad->operands[1], instr->shape, (hsc_dims){0});
  }
  return NULL;
}

// slice(concatenate(A, B, C, D)) => slice(concatenate(B, C)): what is not read drops out
HSC_RULE(slice_of_some_operands) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_CONCATENATE || hsc__is_empty(instr))
    return NULL;
  int64_t dim = x->attr.dims.dims.v[0];
  int64_t offset = 0;
  int64_t skipped = 0;
  int64_t start[HSC_MAX_RANK];
  int64_t limit[HSC_MAX_RANK];
  int64_t stride[HSC_MAX_RANK];
  hsc_instr **kept = HSC_NEW_ARRAY(arena_of(b), hsc_instr *, x->operand_count);
  int count = 0;
  for (int i = 0; kept && i < x->operand_count; i++) {
    int64_t size = x->operands[i]->shape.dims[dim];
    if (offset + size > instr->attr.slice.start.v[dim] && offset < instr->attr.slice.limit.v[dim])
      kept[count++] = x->operands[i];
    else if (count == 0)
      skipped += size;
    offset += size;
  }
  if (count == 0 || count == x->operand_count || !hsc__has_one_use(x))
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    start[i] = instr->attr.slice.start.v[i] - (i == dim ? skipped : 0);
    limit[i] = instr->attr.slice.limit.v[i] - (i == dim ? skipped : 0);
    stride[i] = stride_of(instr, i);
  }
  return build_slice(b, hsc_build_concatenate(b, count, kept, dim), start, limit, stride);
}

// slice(reshape(A)) where the reshape only adds or removes dimensions of size 1 =>
// reshape(slice(A))
HSC_RULE(slice_of_reshape) {
  const hsc_instr *x = instr->operands[0];
  int64_t map[HSC_MAX_RANK], start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  if (x->op != HSC_OP_RESHAPE || !hsc__has_one_use(x) || hsc__is_empty(instr) ||
      !hsc__degenerate_map(&x->operands[0]->shape, &x->shape, map))
    return NULL;
  hsc_instr *source = x->operands[0];
  for (int i = 0; i < source->shape.rank; i++) {
    start[i] = map[i] < 0 ? 0 : instr->attr.slice.start.v[map[i]];
    limit[i] = map[i] < 0 ? 1 : instr->attr.slice.limit.v[map[i]];
    stride[i] = map[i] < 0 ? 1 : stride_of(instr, (int)map[i]);
  }
  return hsc_build_reshape(b, build_slice(b, source, start, limit, stride), instr->shape.rank,
                           instr->shape.dims);
}

// The last element of a running reduction over whole dimensions => reduce
HSC_RULE(slice_of_running_reduction) {
  const hsc_instr *x = instr->operands[0];
  hsc_op op;
  if (x->op != HSC_OP_REDUCE_WINDOW || x->operand_count != 2 || !hsc__has_one_use(x) ||
      hsc__is_empty(instr) || !hsc_is_simple_reducer(x->called[0], &op))
    return NULL;
  int64_t dims[HSC_MAX_RANK];
  int count = 0;
  for (int i = 0; i < instr->shape.rank; i++) {
    hsc_window_dim w = x->attr.window.window.dims[i];
    if (w.size == 1 && w.stride == 1 && !w.pad_low && !w.pad_high && w.base_dilation == 1 &&
        instr->shape.dims[i] == x->shape.dims[i])
      continue;
    int64_t size = x->operands[0]->shape.dims[i];
    bool running = w.size == size && w.pad_low == size - 1 && !w.pad_high && w.stride == 1 &&
                   w.base_dilation == 1 && w.window_dilation == 1;
    if (!running || instr->shape.dims[i] != 1 || instr->attr.slice.start.v[i] != size - 1)
      return NULL;
    dims[count++] = i;
  }
  if (count == 0)
    return NULL;
  hsc_instr *sum = hsc_build_reduce(b, x->operands[0], x->operands[1],
                                    hsc_dims_copy(arena_of(b), count, dims), x->called[0]);
  return hsc_build_reshape(b, sum, instr->shape.rank, instr->shape.dims);
}

// ---- at indices that are computed ---------------------------------------------------------------

// Along a dimension that is taken whole, an index is clamped to 0: written so, it need not be
// computed. NULL when there is none.
static hsc_instr *with_zero_indices(hsc_builder *b,
                                    hsc_instr *instr,
                                    const hsc_shape *part,
                                    int first) {
  if (instr->operand_count != first + part->rank)
    return NULL;
  hsc_instr *operands[HSC_MAX_RANK + 2];
  bool changed = false;
  for (int i = 0; i < instr->operand_count; i++)
    operands[i] = instr->operands[i];
  for (int i = 0; i < part->rank; i++) {
    if (part->dims[i] != instr->operands[0]->shape.dims[i] || hsc__is_all(operands[first + i], 0))
      continue;
    operands[first + i] = hsc_build_scalar(b, operands[first + i]->shape.type, 0);
    changed = true;
  }
  return changed ? hsc_build_clone(b, instr, operands) : NULL;
}

HSC_RULE(dynamic_slice_whole_dims) {
  return with_zero_indices(b, instr, &instr->shape, 1);
}

// An index for each dimension, as it should be.
static bool has_all_indices(const hsc_instr *dynamic_slice) {
  return dynamic_slice->operand_count == dynamic_slice->shape.rank + 1;
}

HSC_RULE(dynamic_slice_of_broadcast) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *indices[HSC_MAX_RANK];
  int64_t sizes[HSC_MAX_RANK];
  if (!has_all_indices(instr) || x->op != HSC_OP_BROADCAST)
    return NULL;
  hsc_instr *source = x->operands[0];
  for (int i = 0; i < source->shape.rank; i++) {
    indices[i] = instr->operands[1 + x->attr.dims.dims.v[i]];
    sizes[i] = instr->shape.dims[x->attr.dims.dims.v[i]];
  }
  hsc_instr *part = hsc_build_dynamic_slice(b, source, source->shape.rank, indices,
                                            hsc_dims_copy(arena_of(b), source->shape.rank, sizes));
  return hsc_build_broadcast(b, part, instr->shape, x->attr.dims.dims);
}

HSC_RULE(dynamic_slice_of_transpose) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *indices[HSC_MAX_RANK];
  int64_t sizes[HSC_MAX_RANK];
  int rank = instr->shape.rank;
  if (!has_all_indices(instr) || x->op != HSC_OP_TRANSPOSE || !hsc__has_one_use(x))
    return NULL;
  for (int i = 0; i < rank; i++) {
    indices[x->attr.dims.dims.v[i]] = instr->operands[1 + i];
    sizes[x->attr.dims.dims.v[i]] = instr->shape.dims[i];
  }
  return hsc_build_transpose(b,
                             hsc_build_dynamic_slice(b, x->operands[0], rank, indices,
                                                     hsc_dims_copy(arena_of(b), rank, sizes)),
                             x->attr.dims.dims);
}

HSC_RULE(dynamic_slice_of_reshape) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *indices[HSC_MAX_RANK];
  int64_t map[HSC_MAX_RANK], sizes[HSC_MAX_RANK];
  int rank = instr->shape.rank;
  if (!has_all_indices(instr) || x->op != HSC_OP_RESHAPE || rank == 0 || !hsc__has_one_use(x) ||
      hsc__is_empty(instr) || !hsc__degenerate_map(&x->operands[0]->shape, &x->shape, map))
    return NULL;
  hsc_instr *source = x->operands[0];
  for (int i = 0; i < source->shape.rank; i++) {
    indices[i] = map[i] < 0 ? hsc_build_scalar(b, instr->operands[1]->shape.type, 0)
                            : instr->operands[1 + map[i]];
    sizes[i] = map[i] < 0 ? 1 : instr->shape.dims[map[i]];
  }
  hsc_instr *part = hsc_build_dynamic_slice(b, source, source->shape.rank, indices,
                                            hsc_dims_copy(arena_of(b), source->shape.rank, sizes));
  return hsc_build_reshape(b, part, rank, instr->shape.dims);
}

HSC_RULE(dynamic_slice_of_iota) {
  const hsc_instr *x = instr->operands[0];
  if (!has_all_indices(instr) || x->op != HSC_OP_IOTA || instr->shape.rank != 1 ||
      instr->shape.dims[0] != 1 || !hsc__is_int(x) || hsc_type_bits(x->shape.type) < 32)
    return NULL;
  hsc_type type = instr->operands[1]->shape.type;
  if (hsc_type_bits(type) < 32)
    return NULL;
  hsc_instr *bounds[2] = {hsc_build_scalar(b, type, 0),
                          hsc_build_scalar(b, type, (double)x->shape.dims[0] - 1)};
  hsc_instr *at = hsc_build_op(b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
                               (hsc_instr *[]){bounds[0], instr->operands[1], bounds[1]}, 0, NULL);
  if (type != x->shape.type)
    at = hsc_build_convert(b, x->shape.type, at);
  return hsc_build_reshape(b, at, 1, instr->shape.dims);
}

HSC_RULE(update_whole_dims) {
  return with_zero_indices(b, instr, &instr->operands[1]->shape, 2);
}

// Where the indices are constants.
HSC_RULE(update_as_pad) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *part = instr->operands[1];
  if (instr->operand_count != instr->shape.rank + 2 || x->op != HSC_OP_BROADCAST ||
      x->operands[0]->shape.rank > 0 || instr->shape.rank == 0)
    return NULL;
  hsc_pad_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, instr->shape.rank);
  if (!dims)
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    const hsc_instr *index = instr->operands[2 + i];
    int64_t room = instr->shape.dims[i] - part->shape.dims[i];
    if (index->op != HSC_OP_CONSTANT || index->attr.literal.value->elided)
      return NULL;
    int64_t at = hsc_literal_get_int(index->attr.literal.value, 0);
    bool huge = hsc_type_class_of(index->shape.type) == HSC_CLASS_UNSIGNED && at < 0;
    if (huge || at > room)
      at = room;
    else if (at < 0)
      at = 0;
    dims[i] = (hsc_pad_dim){at, room - at, 0};
  }
  hsc_attr attr = {.pad = {.rank = instr->shape.rank, .dims = dims}};
  return hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2,
                      (hsc_instr *[]){part, x->operands[0]}, 0, NULL);
}

// A + update(zeros, B at I) => update(A, A at I + B at I): only the part is touched.
HSC_RULE(add_update) {
  for (int side = 0; side < 2; side++) {
    hsc_instr *update = instr->operands[side];
    hsc_instr *base = instr->operands[!side];
    if (update->op != HSC_OP_DYNAMIC_UPDATE_SLICE || !hsc__has_one_use(update) ||
        !hsc__is_all(update->operands[0], 0) || hsc__is_all(base, 0))
      continue;
    hsc_instr *part = update->operands[1];
    int count = update->operand_count - 2;
    hsc_instr *old =
        hsc_build_dynamic_slice(b, base, count, update->operands + 2,
                                hsc_dims_copy(arena_of(b), part->shape.rank, part->shape.dims));
    return hsc_build_dynamic_update_slice(b, base, hsc_build_binary(b, HSC_OP_ADD, old, part),
                                          count, update->operands + 2);
  }
  return NULL;
}

// ---- joins --------------------------------------------------------------------------------------

// The same row again and again.
HSC_RULE(concatenate_same) {
  int64_t dim = instr->attr.dims.dims.v[0];
  hsc_instr *x = instr->operands[0];
  int64_t dims[HSC_MAX_RANK], kept[HSC_MAX_RANK];
  int rank = 0;
  if (instr->operand_count < 2 || x->shape.dims[dim] != 1)
    return NULL;
  for (int i = 1; i < instr->operand_count; i++)
    if (instr->operands[i] != x)
      return NULL;
  for (int i = 0; i < x->shape.rank; i++) {
    if (i == dim)
      continue;
    dims[rank] = i;
    kept[rank++] = x->shape.dims[i];
  }
  return hsc_build_broadcast(b, hsc_build_reshape(b, x, rank, kept), instr->shape,
                             hsc_dims_copy(arena_of(b), rank, dims));
}

HSC_RULE(concatenate_of_bitcast_converts) {
  int64_t dim = instr->attr.dims.dims.v[0];
  hsc_instr *x = instr->operands[0];
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *y = instr->operands[i];
    if (y->op != HSC_OP_BITCAST_CONVERT || !hsc__has_one_use(y) ||
        y->operands[0]->shape.type != x->operands[0]->shape.type ||
        !hsc_shape_same_dims(&y->shape, &y->operands[0]->shape))
      return NULL;
  }
  hsc_instr **inner = HSC_NEW_ARRAY(arena_of(b), hsc_instr *, instr->operand_count);
  for (int i = 0; inner && i < instr->operand_count; i++)
    inner[i] = instr->operands[i]->operands[0];
  if (!inner)
    return NULL;
  hsc_instr *replacement = hsc_build_clone(
      b, x, (hsc_instr *[]){hsc_build_concatenate(b, instr->operand_count, inner, dim)});
  replacement->shape = instr->shape;
  return replacement;
}

// ---- what iotas and broadcasts become -----------------------------------------------------------

HSC_RULE(broadcast_of_iota) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_IOTA
             ? hsc_build_iota(b, instr->shape, instr->attr.dims.dims.v[x->attr.dims.dims.v[0]])
             : NULL;
}

HSC_RULE(broadcast_as_transpose) {
  hsc_dims dims = instr->attr.dims.dims;
  int64_t inverse[HSC_MAX_RANK];
  if (dims.count != instr->shape.rank || dims.count == 0)
    return NULL;
  for (int i = 0; i < dims.count; i++)
    inverse[dims.v[i]] = i;
  return hsc_build_transpose(b, instr->operands[0],
                             hsc_dims_copy(arena_of(b), dims.count, inverse));
}

// reshape(iota) that adds or removes dimensions of size 1 => iota
HSC_RULE(reshape_of_iota_by_ones) {
  const hsc_instr *x = instr->operands[0];
  int64_t map[HSC_MAX_RANK];
  if (x->op != HSC_OP_IOTA || !hsc__degenerate_map(&x->shape, &instr->shape, map))
    return NULL;
  int64_t to = map[x->attr.dims.dims.v[0]];
  return to < 0 ? hsc__uniform_constant(b, 0, instr) : hsc_build_iota(b, instr->shape, to);
}

HSC_RULE(transpose_of_iota) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_IOTA)
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++)
    if (instr->attr.dims.dims.v[i] == x->attr.dims.dims.v[0])
      return hsc_build_iota(b, instr->shape, i);
  return NULL;
}

// pad(broadcast(A), V) along dimensions that all of A's elements are repeated in: what is padded is
// smaller before the broadcast.
HSC_RULE(pad_of_broadcast) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_BROADCAST || !hsc__has_one_use(x) || hsc_shape_elements(&x->shape) == 0 ||
      hsc_shape_elements(&instr->shape) == 0)
    return NULL;
  int64_t padded[HSC_MAX_RANK], sizes[HSC_MAX_RANK], source[HSC_MAX_RANK];
  int rank = 0;
  int source_rank = 0;
  hsc_pad_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, instr->shape.rank + 1);
  if (!dims)
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    hsc_pad_dim p = instr->attr.pad.dims[i];
    bool is_padded = p.low || p.high || p.interior;
    if (p.low < 0 || p.high < 0)
      return NULL;
    if (!is_padded && !hsc_dims_contain(x->attr.dims.dims, i))
      continue;
    dims[rank] = p;
    sizes[rank] = x->shape.dims[i];
    padded[rank++] = i;
  }
  if (rank == instr->shape.rank)
    return NULL;
  for (int i = 0; i < x->attr.dims.dims.count; i++)
    for (int k = 0; k < rank; k++)
      if (padded[k] == x->attr.dims.dims.v[i])
        source[source_rank++] = k;
  hsc_instr *small = x->operands[0];
  if (source_rank != rank)
    small =
        hsc_build_broadcast(b, small, hsc_shape_array(arena_of(b), instr->shape.type, rank, sizes),
                            hsc_dims_copy(arena_of(b), source_rank, source));
  hsc_attr attr = {.pad = {.rank = rank, .dims = dims}};
  hsc_instr *replacement = hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2,
                                        (hsc_instr *[]){small, instr->operands[1]}, 0, NULL);
  return hsc_build_broadcast(b, replacement, instr->shape,
                             hsc_dims_copy(arena_of(b), rank, padded));
}
