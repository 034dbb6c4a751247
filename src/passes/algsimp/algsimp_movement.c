// algsimp_movement.c - rules on where data is: reshapes, broadcasts, transposes, slices, pads,
// concatenates, updates.
#include "passes/algsimp/algsimp.h"

static bool same_shape(const hsc_instr *a, const hsc_instr *b) {
  return hsc_shape_equal(&a->shape, &b->shape);
}

static bool is_identity_permutation(hsc_dims dims) {
  for (int i = 0; i < dims.count; i++)
    if (dims.v[i] != i)
      return false;
  return true;
}

// Dimensions of size other than 1, in order: a reshape that keeps these only adds or removes
// degenerate dimensions.
static int significant_dims(const hsc_shape *shape, int64_t out_dims[HSC_MAX_RANK]) {
  int count = 0;
  for (int i = 0; i < shape->rank; i++)
    if (shape->dims[i] != 1)
      out_dims[count++] = i;
  return count;
}

bool hsc__degenerate_map(const hsc_shape *from, const hsc_shape *to, int64_t map[HSC_MAX_RANK]) {
  int64_t f[HSC_MAX_RANK], t[HSC_MAX_RANK];
  int count = significant_dims(from, f);
  if (count != significant_dims(to, t))
    return false;
  for (int i = 0; i < from->rank; i++)
    map[i] = -1;
  for (int i = 0; i < count; i++) {
    if (from->dims[f[i]] != to->dims[t[i]])
      return false;
    map[f[i]] = t[i];
  }
  return true;
}

// ---- reshapes, broadcasts, transposes -----------------------------------------------------------

HSC_RULE(reshape_same) {
  return same_shape(instr->operands[0], instr) ? instr->operands[0] : NULL;
}

HSC_RULE(reshape_of_reshape) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_RESHAPE
             ? hsc_build_reshape(b, x->operands[0], instr->shape.rank, instr->shape.dims)
             : NULL;
}

HSC_RULE(reshape_of_constant) {
  const hsc_instr *x = instr->operands[0];
  hsc_literal *copy = NULL;
  if (x->op != HSC_OP_CONSTANT || x->user_count != 1 || x->attr.literal.value->elided ||
      hsc_shape_elements(&x->shape) > 65536)
    return NULL;
  b->status = hsc_literal_copy(arena_of(b), x->attr.literal.value, &copy);
  if (b->status)
    return NULL;
  copy->shape = instr->shape;
  return hsc_build_constant(b, copy);
}

HSC_RULE(reshape_of_scalar) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0
             ? hsc_build_broadcast(b, x->operands[0], instr->shape, (hsc_dims){0})
             : NULL;
}

// Straight to the result.
HSC_RULE(reshape_of_broadcast_by_ones) {
  const hsc_instr *x = instr->operands[0];
  int64_t map[HSC_MAX_RANK], dims[HSC_MAX_RANK], kept[HSC_MAX_RANK];
  if (x->op != HSC_OP_BROADCAST || x->operands[0]->shape.rank == 0 ||
      !hsc__degenerate_map(&x->shape, &instr->shape, map))
    return NULL;
  hsc_instr *source = x->operands[0];
  int rank = 0;
  bool drops = false;
  for (int i = 0; i < source->shape.rank; i++) {
    int64_t to = map[x->attr.dims.dims.v[i]];
    if (to < 0) {
      drops = true;  // a dimension of size 1 of the source that is gone
      continue;
    }
    kept[rank] = source->shape.dims[i];
    dims[rank++] = to;
  }
  if (drops)
    source = hsc_build_reshape(b, source, rank, kept);
  return hsc_build_broadcast(b, source, instr->shape, hsc_dims_copy(arena_of(b), rank, dims));
}

HSC_RULE(broadcast_same) {
  hsc_instr *x = instr->operands[0];
  return same_shape(x, instr) && is_identity_permutation(instr->attr.dims.dims) ? x : NULL;
}

HSC_RULE(broadcast_of_broadcast) {
  const hsc_instr *x = instr->operands[0];
  int64_t merged[HSC_MAX_RANK];
  if (x->op != HSC_OP_BROADCAST)
    return NULL;
  hsc_dims inner = x->attr.dims.dims;
  for (int i = 0; i < inner.count; i++)
    merged[i] = instr->attr.dims.dims.v[inner.v[i]];
  return hsc_build_broadcast(b, x->operands[0], instr->shape,
                             hsc_dims_copy(arena_of(b), inner.count, merged));
}

// The same number of elements in the same order: only dimensions of size 1 are new.
HSC_RULE(broadcast_as_reshape) {
  hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  if (hsc_shape_elements(&x->shape) != hsc_shape_elements(&instr->shape))
    return NULL;
  for (int i = 1; i < dims.count; i++)
    if (dims.v[i] <= dims.v[i - 1])
      return NULL;
  return hsc_build_reshape(b, x, instr->shape.rank, instr->shape.dims);
}

HSC_RULE(broadcast_of_reshape) {
  const hsc_instr *x = instr->operands[0];
  int64_t map[HSC_MAX_RANK], merged[HSC_MAX_RANK];
  if (x->op != HSC_OP_RESHAPE)
    return NULL;
  hsc_instr *y = x->operands[0];
  if (!hsc__degenerate_map(&y->shape, &x->shape, map))
    return NULL;
  for (int i = 0; i < y->shape.rank; i++) {
    if (map[i] < 0)
      return NULL;
    merged[i] = instr->attr.dims.dims.v[map[i]];
  }
  return hsc_build_broadcast(b, y, instr->shape, hsc_dims_copy(arena_of(b), y->shape.rank, merged));
}

HSC_RULE(transpose_identity) {
  return is_identity_permutation(instr->attr.dims.dims) ? instr->operands[0] : NULL;
}

HSC_RULE(transpose_of_transpose) {
  const hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  int64_t merged[HSC_MAX_RANK];
  if (x->op != HSC_OP_TRANSPOSE)
    return NULL;
  for (int i = 0; i < dims.count; i++)
    merged[i] = x->attr.dims.dims.v[dims.v[i]];
  return hsc_build_transpose(b, x->operands[0], hsc_dims_copy(arena_of(b), dims.count, merged));
}

// To other dimensions.
HSC_RULE(transpose_of_broadcast) {
  const hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  int64_t inverse[HSC_MAX_RANK], merged[HSC_MAX_RANK];
  if (x->op != HSC_OP_BROADCAST)
    return NULL;
  for (int i = 0; i < dims.count; i++)
    inverse[dims.v[i]] = i;
  hsc_dims inner = x->attr.dims.dims;
  for (int i = 0; i < inner.count; i++)
    merged[i] = inverse[inner.v[i]];
  return hsc_build_broadcast(b, x->operands[0], instr->shape,
                             hsc_dims_copy(arena_of(b), inner.count, merged));
}

HSC_RULE(transpose_as_reshape) {
  hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  int64_t last = -1;
  for (int i = 0; i < dims.count; i++) {
    if (instr->shape.dims[i] == 1)
      continue;
    if (dims.v[i] < last)
      return NULL;
    last = dims.v[i];
  }
  return hsc_build_reshape(b, x, instr->shape.rank, instr->shape.dims);
}

// ---- slices -------------------------------------------------------------------------------------

HSC_RULE(slice_all) {
  return same_shape(instr->operands[0], instr) ? instr->operands[0] : NULL;
}

HSC_RULE(slice_of_scalar) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0
             ? hsc_build_broadcast(b, x->operands[0], instr->shape, (hsc_dims){0})
             : NULL;
}

// One slice with both offsets and strides.
HSC_RULE(slice_of_slice) {
  const hsc_instr *x = instr->operands[0];
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  int rank = instr->shape.rank;
  if (x->op != HSC_OP_SLICE)
    return NULL;
  for (int i = 0; i < rank; i++) {
    int64_t inner = x->attr.slice.stride.count ? x->attr.slice.stride.v[i] : 1;
    int64_t outer = instr->attr.slice.stride.count ? instr->attr.slice.stride.v[i] : 1;
    start[i] = x->attr.slice.start.v[i] + instr->attr.slice.start.v[i] * inner;
    stride[i] = inner * outer;
    limit[i] =
        instr->shape.dims[i] ? start[i] + (instr->shape.dims[i] - 1) * stride[i] + 1 : start[i];
  }
  hsc_arena *arena = arena_of(b);
  return hsc_build_slice(b, x->operands[0], hsc_dims_copy(arena, rank, start),
                         hsc_dims_copy(arena, rank, limit), hsc_dims_copy(arena, rank, stride));
}

HSC_RULE(slice_inside_pad) {
  const hsc_instr *x = instr->operands[0];
  int rank = instr->shape.rank;
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK];
  if (x->op != HSC_OP_PAD || hsc__is_empty(instr))
    return NULL;
  for (int i = 0; i < rank; i++) {
    hsc_pad_dim pad = x->attr.pad.dims[i];
    start[i] = instr->attr.slice.start.v[i] - pad.low;
    limit[i] = instr->attr.slice.limit.v[i] - pad.low;
    if (pad.interior != 0 || start[i] < 0 || limit[i] > x->operands[0]->shape.dims[i])
      return NULL;
  }
  hsc_arena *arena = arena_of(b);
  return hsc_build_slice(b, x->operands[0], hsc_dims_copy(arena, rank, start),
                         hsc_dims_copy(arena, rank, limit), instr->attr.slice.stride);
}

HSC_RULE(slice_of_one_operand) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_CONCATENATE)
    return NULL;
  int64_t dim = x->attr.dims.dims.v[0];
  int64_t offset = 0;
  int64_t start = instr->attr.slice.start.v[dim];
  int64_t limit = instr->attr.slice.limit.v[dim];
  for (int i = 0; i < x->operand_count; i++) {
    int64_t size = x->operands[i]->shape.dims[dim];
    if (start >= offset && limit <= offset + size && limit > start) {
      int64_t from[HSC_MAX_RANK], to[HSC_MAX_RANK];
      memcpy(from, instr->attr.slice.start.v, sizeof(int64_t) * (size_t)instr->shape.rank);
      memcpy(to, instr->attr.slice.limit.v, sizeof(int64_t) * (size_t)instr->shape.rank);
      from[dim] -= offset;
      to[dim] -= offset;
      hsc_arena *arena = arena_of(b);
      return hsc_build_slice(b, x->operands[i], hsc_dims_copy(arena, instr->shape.rank, from),
                             hsc_dims_copy(arena, instr->shape.rank, to), instr->attr.slice.stride);
    }
    offset += size;
  }
  return NULL;
}

// ---- concatenates -------------------------------------------------------------------------------

static bool has_empty_operand(const hsc_instr *concatenate) {
  int64_t dim = concatenate->attr.dims.dims.v[0];
  for (int i = 0; i < concatenate->operand_count; i++)
    if (concatenate->operands[i]->shape.dims[dim] == 0)
      return true;
  return false;
}

// Cut along the concatenated dimension only.
HSC_RULE(concatenate_of_slices) {
  const hsc_instr *first = instr->operands[0];
  int64_t dim = instr->attr.dims.dims.v[0];
  if (first->op != HSC_OP_SLICE || has_empty_operand(instr))
    return NULL;
  int64_t limit = first->attr.slice.limit.v[dim];
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *x = instr->operands[i];
    if (x->op != HSC_OP_SLICE || x->operands[0] != first->operands[0])
      return NULL;
    for (int d = 0; d < x->shape.rank; d++) {
      if (x->attr.slice.stride.count && x->attr.slice.stride.v[d] != 1)
        return NULL;
      if (d != dim && (x->attr.slice.start.v[d] != first->attr.slice.start.v[d] ||
                       x->attr.slice.limit.v[d] != first->attr.slice.limit.v[d]))
        return NULL;
    }
    if (i > 0 && x->attr.slice.start.v[dim] != limit)
      return NULL;
    limit = x->attr.slice.limit.v[dim];
  }
  int64_t limits[HSC_MAX_RANK];
  memcpy(limits, first->attr.slice.limit.v, sizeof(int64_t) * (size_t)first->shape.rank);
  limits[dim] = limit;
  return hsc_build_slice(b, first->operands[0], first->attr.slice.start,
                         hsc_dims_copy(arena_of(b), first->shape.rank, limits),
                         first->attr.slice.stride);
}

// Along the same dimension, where nobody else reads the inner one.
HSC_RULE(concatenate_of_concatenate) {
  int64_t dim = instr->attr.dims.dims.v[0];
  if (has_empty_operand(instr))
    return NULL;
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *inner = instr->operands[i];
    if (inner->op != HSC_OP_CONCATENATE || inner->attr.dims.dims.v[0] != dim ||
        inner->user_count != 1)
      continue;
    hsc_instr **all =
        HSC_NEW_ARRAY(arena_of(b), hsc_instr *, instr->operand_count + inner->operand_count);
    if (!all)
      return NULL;
    memcpy(all, instr->operands, (size_t)i * sizeof *all);
    memcpy(all + i, inner->operands, (size_t)inner->operand_count * sizeof *all);
    memcpy(all + i + inner->operand_count, instr->operands + i + 1,
           (size_t)(instr->operand_count - i - 1) * sizeof *all);
    return hsc_build_concatenate(b, instr->operand_count + inner->operand_count - 1, all, dim);
  }
  return NULL;
}

HSC_RULE(concatenate_one) {
  return instr->operand_count == 1 ? instr->operands[0] : NULL;
}

HSC_RULE(concatenate_of_empty) {
  int64_t dim = instr->attr.dims.dims.v[0];
  if (!has_empty_operand(instr))
    return NULL;
  hsc_instr **kept = HSC_NEW_ARRAY(arena_of(b), hsc_instr *, instr->operand_count);
  int count = 0;
  for (int i = 0; kept && i < instr->operand_count; i++)
    if (instr->operands[i]->shape.dims[dim] != 0)
      kept[count++] = instr->operands[i];
  if (!kept || count == 0)
    return instr->operands[0];
  return count == 1 ? kept[0] : hsc_build_concatenate(b, count, kept, dim);
}

// ---- pads and reverses --------------------------------------------------------------------------

HSC_RULE(pad_nothing) {
  hsc_instr *x = instr->operands[0];
  for (int i = 0; i < instr->attr.pad.rank; i++) {
    hsc_pad_dim d = instr->attr.pad.dims[i];
    if (d.low != 0 || d.high != 0 || (d.interior != 0 && x->shape.dims[i] > 1))
      return NULL;
  }
  return x;
}

HSC_RULE(pad_of_empty) {
  return hsc__is_empty(instr->operands[0])
             ? hsc_build_broadcast(b, instr->operands[1], instr->shape, (hsc_dims){0})
             : NULL;
}

// With the same value, and nothing cut or spread.
HSC_RULE(pad_of_pad) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_PAD || x->user_count != 1 || x->operands[1] != instr->operands[1])
    return NULL;
  hsc_pad_dim *both = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, instr->attr.pad.rank + 1);
  bool plain = both != NULL;
  for (int i = 0; plain && i < instr->attr.pad.rank; i++) {
    hsc_pad_dim p = x->attr.pad.dims[i];
    hsc_pad_dim q = instr->attr.pad.dims[i];
    plain = p.low >= 0 && p.high >= 0 && q.low >= 0 && q.high >= 0 && p.interior == 0 &&
            q.interior == 0;
    both[i] = (hsc_pad_dim){p.low + q.low, p.high + q.high, 0};
  }
  hsc_attr attr = {.pad = {.rank = instr->attr.pad.rank, .dims = both}};
  return plain ? hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2, x->operands, 0, NULL) : NULL;
}

HSC_RULE(pad_as_slice) {
  hsc_instr *x = instr->operands[0];
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], one[HSC_MAX_RANK];
  int rank = instr->attr.pad.rank;
  for (int i = 0; i < rank; i++) {
    hsc_pad_dim d = instr->attr.pad.dims[i];
    start[i] = -d.low;
    limit[i] = x->shape.dims[i] + d.high;
    one[i] = 1;
    if (d.low > 0 || d.high > 0 || d.interior != 0 || limit[i] < start[i])
      return NULL;
  }
  hsc_arena *arena = arena_of(b);
  return hsc_build_slice(b, x, hsc_dims_copy(arena, rank, start), hsc_dims_copy(arena, rank, limit),
                         hsc_dims_copy(arena, rank, one));
}

HSC_RULE(reverse_twice) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_REVERSE && hsc_attr_equal(x, instr) ? x->operands[0] : NULL;
}

HSC_RULE(reverse_ones) {
  for (int i = 0; i < instr->attr.dims.dims.count; i++)
    if (instr->shape.dims[instr->attr.dims.dims.v[i]] != 1)
      return NULL;
  return instr->operands[0];
}

// ---- slices and updates at indices that are computed --------------------------------------------

// Start indices are clamped to 0.
HSC_RULE(dynamic_slice_all) {
  return same_shape(instr->operands[0], instr) ? instr->operands[0] : NULL;
}

HSC_RULE(dynamic_slice_of_scalar) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0
             ? hsc_build_broadcast(b, x->operands[0], instr->shape, (hsc_dims){0})
             : NULL;
}

HSC_RULE(dynamic_slice_at_constant) {
  hsc_instr *x = instr->operands[0];
  int rank = instr->shape.rank;
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], one[HSC_MAX_RANK];
  if (instr->operand_count != rank + 1)
    return NULL;
  for (int i = 0; i < rank; i++) {
    const hsc_instr *index = instr->operands[i + 1];
    int64_t room = x->shape.dims[i] - instr->shape.dims[i];
    int64_t at = 0;
    if (room > 0) {
      if (index->op != HSC_OP_CONSTANT || index->attr.literal.value->elided)
        return NULL;
      at = hsc_literal_get_int(index->attr.literal.value, 0);
      bool huge = hsc_type_class_of(index->shape.type) == HSC_CLASS_UNSIGNED && at < 0;
      if (huge || at > room)
        at = room;
      else if (at < 0)
        at = 0;
    }
    start[i] = at;
    limit[i] = at + instr->shape.dims[i];
    one[i] = 1;
  }
  hsc_arena *arena = arena_of(b);
  return hsc_build_slice(b, x, hsc_dims_copy(arena, rank, start), hsc_dims_copy(arena, rank, limit),
                         hsc_dims_copy(arena, rank, one));
}

HSC_RULE(update_all) {
  return same_shape(instr->operands[1], instr) ? instr->operands[1] : NULL;
}

HSC_RULE(update_nothing) {
  return hsc__is_empty(instr->operands[1]) ? instr->operands[0] : NULL;
}

HSC_RULE(update_with_itself) {
  const hsc_instr *update = instr->operands[1];
  if (update->op != HSC_OP_DYNAMIC_SLICE || update->operands[0] != instr->operands[0] ||
      update->operand_count != instr->operand_count - 1)
    return NULL;
  for (int i = 1; i < update->operand_count; i++)
    if (update->operands[i] != instr->operands[i + 1])
      return NULL;
  return instr->operands[0];
}

// ---- sorts --------------------------------------------------------------------------------------

HSC_RULE(sort_of_one) {
  if (instr->operands[0]->shape.dims[instr->attr.dims.dims.v[0]] > 1)
    return NULL;
  return instr->operand_count == 1 ? instr->operands[0]
                                   : hsc_build_tuple(b, instr->operand_count, instr->operands);
}
