// algsimp_shapes.c - rules on the order of elements: chains of reshapes and transposes, what
// reshapes and reverses read, reverses and sorts.
#include "passes/algsimp/algsimp.h"

// The dimensions of size other than 1; their number.
static int wide_dims(const hsc_shape *shape, int64_t *out_dims) {
  int count = 0;
  for (int i = 0; i < shape->rank; i++)
    if (shape->dims[i] != 1)
      out_dims[count++] = i;
  return count;
}

// ---- chains of reshapes and transposes ----------------------------------------------------------

// How a transpose, or a reshape by dimensions of size 1, permutes the dimensions of size other than
// 1: result's i-th is the operand's out[i]-th. False for anything else.
static bool permutes(const hsc_instr *instr, int64_t out[HSC_MAX_RANK]) {
  int64_t map[HSC_MAX_RANK], from[HSC_MAX_RANK], to[HSC_MAX_RANK];
  if (instr->op != HSC_OP_RESHAPE && instr->op != HSC_OP_TRANSPOSE)
    return false;
  const hsc_shape *source = &instr->operands[0]->shape;
  int count = wide_dims(&instr->shape, to);
  if (instr->op == HSC_OP_RESHAPE) {
    for (int i = 0; i < count; i++)
      out[i] = i;
    return hsc__degenerate_map(source, &instr->shape, map);
  }
  if (wide_dims(source, from) != count)
    return false;
  for (int i = 0; i < count; i++)
    for (int k = 0; k < count; k++)
      if (instr->attr.dims.dims.v[to[i]] == from[k])
        out[i] = k;
  return true;
}

// Transposes, with such reshapes between them, that together bring every element back to where it
// was: at most a reshape of what was there before.
HSC_RULE(undone_transposes) {
  int64_t total[HSC_MAX_RANK], step[HSC_MAX_RANK], next[HSC_MAX_RANK], dims[HSC_MAX_RANK];
  int count = wide_dims(&instr->shape, dims);
  bool moved = false;
  if (hsc__is_empty(instr) ||
      (instr->op == HSC_OP_RESHAPE && instr->operands[0]->op != HSC_OP_TRANSPOSE))
    return NULL;
  for (int i = 0; i < count; i++)
    total[i] = i;
  hsc_instr *x = instr;
  for (int depth = 0; depth < 8 && permutes(x, step); depth++) {
    bool back = true;
    for (int i = 0; i < count; i++)
      next[i] = step[total[i]];
    for (int i = 0; i < count; i++)
      back &= (total[i] = next[i]) == i;
    moved |= x->op == HSC_OP_TRANSPOSE;
    x = x->operands[0];
    if (depth == 0 || !back || !moved)
      continue;
    return hsc_shape_equal(&x->shape, &instr->shape)
               ? x
               : hsc_build_reshape(b, x, instr->shape.rank, instr->shape.dims);
  }
  return NULL;
}

// ---- reshapes -----------------------------------------------------------------------------------

int hsc__unmodified_dim(const hsc_shape *from, const hsc_shape *to, int dim) {
  int64_t before = 1;
  int64_t passed = 1;
  if (from->dims[dim] == 1)
    return -1;
  for (int i = 0; i < dim; i++)
    before *= from->dims[i];
  for (int i = 0; i < to->rank; i++) {
    if (passed == before && to->dims[i] == from->dims[dim])
      return i;
    passed *= to->dims[i];
  }
  return -1;
}

// reshape(broadcast(A)) that leaves A's dimensions as they are => broadcast(A)
HSC_RULE(reshape_of_broadcast) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_BROADCAST || hsc__is_empty(instr))
    return NULL;
  hsc_instr *source = x->operands[0];
  int64_t to[HSC_MAX_RANK], kept[HSC_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < source->shape.rank; i++) {
    if (source->shape.dims[i] == 1)
      continue;
    int dim = hsc__unmodified_dim(&x->shape, &instr->shape, (int)x->attr.dims.dims.v[i]);
    if (dim < 0)
      return NULL;
    kept[rank] = source->shape.dims[i];
    to[rank++] = dim;
  }
  if (rank != source->shape.rank)
    source = hsc_build_reshape(b, source, rank, kept);
  return hsc_build_broadcast(b, source, instr->shape, hsc_dims_copy(arena_of(b), rank, to));
}

// reshape(iota) that splits its dimension into D0, D1 ... Dn => iota(Dn) + |Dn| * iota(Dn-1) ...:
// each a number in mixed radix.
HSC_RULE(reshape_of_iota) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_IOTA || hsc__is_empty(instr))
    return NULL;
  int dim = (int)x->attr.dims.dims.v[0];
  int first = -1;
  int last = -1;
  int64_t before = 1;
  int64_t size = x->shape.dims[dim];
  int64_t passed = 1;
  if (!hsc_type_is_integral(instr->shape.type) && instr->shape.type != HSC_TYPE_F64 &&
      (instr->shape.type != HSC_TYPE_F32 || size > 1 << 24))
    return NULL;
  for (int i = 0; i < dim; i++)
    before *= x->shape.dims[i];
  for (int i = 0; i < instr->shape.rank; i++) {
    if (passed == before && first < 0 && instr->shape.dims[i] != 1)
      first = i;
    passed *= instr->shape.dims[i];
    if (first >= 0 && passed == before * size) {
      last = i;
      break;
    }
  }
  if (first < 0 || last < 0)
    return NULL;
  hsc_instr *sum = NULL;
  int64_t multiplier = 1;
  for (int i = last; i >= first; i--) {
    if (instr->shape.dims[i] == 1)
      continue;
    hsc_instr *digit = hsc_build_iota(b, instr->shape, i);
    if (sum)
      digit = hsc_build_binary(b, HSC_OP_MULTIPLY, digit,
                               hsc__uniform_constant(b, (double)multiplier, instr));
    sum = sum ? hsc_build_binary(b, HSC_OP_ADD, sum, digit) : digit;
    multiplier *= instr->shape.dims[i];
  }
  return sum;
}

// reshape(update(A, B)) by dimensions of size 1 => update(reshape(A), reshape(B)), so that what
// reads and makes the array meets the update.
HSC_RULE(reshape_of_update) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_DYNAMIC_UPDATE_SLICE || hsc__is_empty(instr))
    return NULL;
  hsc_instr *part = x->operands[1];
  hsc_instr *indices[HSC_MAX_RANK];
  int64_t map[HSC_MAX_RANK], sizes[HSC_MAX_RANK];
  if (!hsc__has_one_use(x) || x->shape.rank == 0 || instr->shape.rank == 0 ||
      x->operand_count != x->shape.rank + 2 || hsc_shape_elements(&part->shape) == 0)
    return NULL;
  if (!hsc__degenerate_map(&x->shape, &instr->shape, map))
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    indices[i] = NULL;
    sizes[i] = 1;
  }
  for (int i = 0; i < x->shape.rank; i++) {
    if (map[i] < 0)
      continue;
    indices[map[i]] = x->operands[2 + i];
    sizes[map[i]] = part->shape.dims[i];
  }
  for (int i = 0; i < instr->shape.rank; i++)
    if (!indices[i])
      indices[i] = hsc_build_scalar(b, x->operands[2]->shape.type, 0);
  hsc_instr *update = hsc_build_reshape(b, part, instr->shape.rank, sizes);
  hsc_instr *whole = hsc_build_reshape(b, x->operands[0], instr->shape.rank, instr->shape.dims);
  return hsc_build_dynamic_update_slice(b, whole, update, instr->shape.rank, indices);
}

// reshape(transpose(reshape(A))) that joins again what the transpose has left side by side =>
// transpose(reshape(A)): one copy of fewer, longer runs
HSC_RULE(reshape_hoists_transpose) {
  const hsc_instr *x = instr->operands[0];
  int64_t first[HSC_MAX_RANK], sizes[HSC_MAX_RANK], permutation[HSC_MAX_RANK];
  int at = 0;
  int rank = instr->shape.rank;
  if (x->op != HSC_OP_TRANSPOSE || x->operands[0]->op != HSC_OP_RESHAPE || !hsc__has_one_use(x) ||
      rank >= x->shape.rank || hsc_shape_elements(&x->shape) == 0)
    return NULL;
  for (int i = 0; i < rank; i++) {
    if (at == x->shape.rank)
      return NULL;
    int64_t size = x->shape.dims[at];
    first[i] = x->attr.dims.dims.v[at++];
    while (at < x->shape.rank &&
           (size < instr->shape.dims[i] || (i == rank - 1 && x->shape.dims[at] == 1))) {
      if (x->attr.dims.dims.v[at] != x->attr.dims.dims.v[at - 1] + 1)
        return NULL;
      size *= x->shape.dims[at++];
    }
    if (size != instr->shape.dims[i])
      return NULL;
  }
  if (at != x->shape.rank)
    return NULL;
  for (int i = 0; i < rank; i++) {  // how many of the runs come before it in A
    permutation[i] = 0;
    for (int k = 0; k < rank; k++)
      permutation[i] += first[k] < first[i];
    sizes[permutation[i]] = instr->shape.dims[i];
  }
  return hsc_build_transpose(b, hsc_build_reshape(b, x->operands[0]->operands[0], rank, sizes),
                             hsc_dims_copy(arena_of(b), rank, permutation));
}

// reshape(transpose(reshape(A))) that moves a few parts of one dimension elsewhere (depth to space
// and back) => reshape(concatenate(slices of A))
HSC_RULE(reshape_as_slices) {
  enum { MOST_PARTS = 5 };
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_TRANSPOSE || x->operands[0]->op != HSC_OP_RESHAPE || !hsc__has_one_use(x) ||
      !hsc__has_one_use(x->operands[0]))
    return NULL;
  const hsc_shape *split = &x->operands[0]->shape;
  hsc_instr *source = x->operands[0]->operands[0];
  hsc_instr *parts[MOST_PARTS];
  int rank = source->shape.rank;
  int dim = 0;
  int to = 0;
  int64_t last = -1;
  int64_t start[HSC_MAX_RANK];
  int64_t limit[HSC_MAX_RANK];
  int64_t one[HSC_MAX_RANK];
  if (split->rank != rank + 1 || instr->shape.rank != rank || hsc_shape_elements(split) == 0)
    return NULL;
  while (dim < rank && split->dims[dim] == source->shape.dims[dim])
    dim++;
  if (dim == rank || split->dims[dim] * split->dims[dim + 1] != source->shape.dims[dim] ||
      split->dims[dim] > MOST_PARTS || split->dims[dim] < 2)
    return NULL;
  for (int i = dim + 1; i < rank; i++)
    if (split->dims[i + 1] != source->shape.dims[i])
      return NULL;
  for (int i = 0; i < split->rank; i++) {
    if (x->attr.dims.dims.v[i] == dim) {
      to = i;
      continue;
    }
    if (x->attr.dims.dims.v[i] < last)
      return NULL;
    last = x->attr.dims.dims.v[i];
  }
  if (to == dim || to == dim + 1 || to >= rank)
    return NULL;
  for (int64_t part = 0; part < split->dims[dim]; part++) {
    for (int i = 0; i < rank; i++) {
      start[i] = i == dim ? part * split->dims[dim + 1] : 0;
      limit[i] = i == dim ? start[i] + split->dims[dim + 1] : source->shape.dims[i];
      one[i] = 1;
    }
    hsc_arena *arena = arena_of(b);
    parts[part] =
        hsc_build_slice(b, source, hsc_dims_copy(arena, rank, start),
                        hsc_dims_copy(arena, rank, limit), hsc_dims_copy(arena, rank, one));
  }
  return hsc_build_reshape(b, hsc_build_concatenate(b, (int)split->dims[dim], parts, to), rank,
                           instr->shape.dims);
}

// ---- reverses, sorts ----------------------------------------------------------------------------

static hsc_instr *build_reverse(hsc_builder *b, hsc_instr *x, int count, const int64_t *dims) {
  if (count == 0)
    return x;
  hsc_attr attr = {.dims = {.dims = hsc_dims_copy(arena_of(b), count, dims)}};
  return hsc_build_op(b, HSC_OP_REVERSE, (hsc_shape){0}, &attr, 1, &x, 0, NULL);
}

// What it reverses without the dimensions of size 1; their number.
static int reversed_dims(const hsc_instr *instr, int64_t out_dims[HSC_MAX_RANK]) {
  hsc_dims dims = instr->attr.dims.dims;
  int count = 0;
  for (int i = 0; i < dims.count; i++)
    if (instr->shape.dims[dims.v[i]] != 1)
      out_dims[count++] = dims.v[i];
  return count;
}

HSC_RULE(reverse_of_scalar) {
  hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0 ? x : NULL;
}

// Dimensions that both reverse are as they were.
HSC_RULE(reverse_of_reverse) {
  const hsc_instr *x = instr->operands[0];
  int64_t own[HSC_MAX_RANK];
  int count = 0;
  if (x->op != HSC_OP_REVERSE)
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++)
    if (hsc_dims_contain(instr->attr.dims.dims, i) != hsc_dims_contain(x->attr.dims.dims, i))
      own[count++] = i;
  return build_reverse(b, x->operands[0], count, own);
}

HSC_RULE(reverse_of_operation) {
  hsc_instr *x = instr->operands[0];
  uint32_t traits = hsc_op_traits(x->op);
  int64_t own[HSC_MAX_RANK];
  int count = reversed_dims(instr, own);
  if (x->operand_count != 2 || !(traits & HSC_TRAIT_ELEMENTWISE) ||
      (traits & (HSC_TRAIT_EFFECT | HSC_TRAIT_CALLS)) || x->op == HSC_OP_COMPARE ||
      x->op == HSC_OP_RNG || !hsc__has_one_use(x))
    return NULL;
  for (int side = 0; side < 2; side++) {
    const hsc_instr *scalar = x->operands[side];
    hsc_instr *operands[2] = {x->operands[0], x->operands[1]};
    if (scalar->op != HSC_OP_BROADCAST || scalar->operands[0]->shape.rank > 0 ||
        !hsc_shape_same_dims(&x->operands[!side]->shape, &x->shape))
      continue;
    operands[!side] = build_reverse(b, x->operands[!side], count, own);
    return hsc_build_clone(b, x, operands);
  }
  return NULL;
}

HSC_RULE(reverse_of_reshape) {
  hsc_instr *x = instr->operands[0];
  int64_t own[HSC_MAX_RANK], map[HSC_MAX_RANK];
  int count = reversed_dims(instr, own);
  if (x->op != HSC_OP_RESHAPE || !hsc__has_one_use(x) ||
      x->operands[0]->shape.rank >= x->shape.rank ||
      !hsc__degenerate_map(&x->shape, &x->operands[0]->shape, map))
    return NULL;
  for (int i = 0; i < count; i++)
    own[i] = map[own[i]];
  return hsc_build_reshape(b, build_reverse(b, x->operands[0], count, own), instr->shape.rank,
                           instr->shape.dims);
}

HSC_RULE(reverse_some_ones) {
  int64_t own[HSC_MAX_RANK];
  int count = reversed_dims(instr, own);
  return count < instr->attr.dims.dims.count ? build_reverse(b, instr->operands[0], count, own)
                                             : NULL;
}

// Equal elements are in order.
HSC_RULE(sort_of_scalar) {
  hsc_instr *x = instr->operands[0];
  return instr->operand_count == 1 && x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0
             ? x
             : NULL;
}
