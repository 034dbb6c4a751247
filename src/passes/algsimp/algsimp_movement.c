// algsimp_movement.c - rules on where data is: reshapes, broadcasts, transposes, slices, pads,
// concatenates and what reads them.
#include "passes/algsimp/algsimp.h"

static hsc_arena *arena_of(const hsc_builder *b) {
  return b->module->arena;
}
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

static hsc_instr *rule_reshape(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (same_shape(x, instr))
    return x;
  if (x->op == HSC_OP_RESHAPE)
    return hsc_build_reshape(b, x->operands[0], instr->shape.rank, instr->shape.dims);
  if (x->op == HSC_OP_CONSTANT && x->user_count == 1 && !x->attr.literal.value->elided) {
    hsc_literal *copy = NULL;
    if (hsc_shape_elements(&x->shape) > 65536)
      return NULL;
    b->status = hsc_literal_copy(arena_of(b), x->attr.literal.value, &copy);
    if (b->status)
      return NULL;
    copy->shape = instr->shape;
    return hsc_build_constant(b, copy);
  }
  if (x->op == HSC_OP_BROADCAST) {
    hsc_instr *source = x->operands[0];
    if (source->shape.rank == 0)
      return hsc_build_broadcast(b, source, instr->shape, (hsc_dims){0});
    // Degenerate dimensions come or go after the broadcast: broadcast straight to the result.
    int64_t map[HSC_MAX_RANK], dims[HSC_MAX_RANK], kept[HSC_MAX_RANK];
    if (!hsc__degenerate_map(&x->shape, &instr->shape, map))
      return NULL;
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
  return NULL;
}

static hsc_instr *rule_broadcast(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  if (same_shape(x, instr) && is_identity_permutation(dims))
    return x;
  int64_t merged[HSC_MAX_RANK];
  if (x->op == HSC_OP_BROADCAST) {
    hsc_dims inner = x->attr.dims.dims;
    for (int i = 0; i < inner.count; i++)
      merged[i] = dims.v[inner.v[i]];
    return hsc_build_broadcast(b, x->operands[0], instr->shape,
                               hsc_dims_copy(arena_of(b), inner.count, merged));
  }
  // The same number of elements in the same order: only degenerate dimensions are new.
  if (hsc_shape_elements(&x->shape) == hsc_shape_elements(&instr->shape)) {
    bool ordered = true;
    for (int i = 1; i < dims.count; i++)
      ordered &= dims.v[i] > dims.v[i - 1];
    if (ordered)
      return hsc_build_reshape(b, x, instr->shape.rank, instr->shape.dims);
  }
  // broadcast(reshape(y)) where the reshape only adds degenerate dimensions: broadcast y.
  if (x->op == HSC_OP_RESHAPE) {
    hsc_instr *y = x->operands[0];
    int64_t map[HSC_MAX_RANK];
    if (!hsc__degenerate_map(&y->shape, &x->shape, map))
      return NULL;
    for (int i = 0; i < y->shape.rank; i++) {
      if (map[i] < 0)
        return NULL;
      merged[i] = dims.v[map[i]];
    }
    return hsc_build_broadcast(b, y, instr->shape,
                               hsc_dims_copy(arena_of(b), y->shape.rank, merged));
  }
  // A degenerate operand dimension cannot widen in HLO, so nothing else merges.
  return NULL;
}

static hsc_instr *rule_transpose(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  if (is_identity_permutation(dims))
    return x;
  int64_t merged[HSC_MAX_RANK];
  if (x->op == HSC_OP_TRANSPOSE) {
    for (int i = 0; i < dims.count; i++)
      merged[i] = x->attr.dims.dims.v[dims.v[i]];
    return hsc_build_transpose(b, x->operands[0], hsc_dims_copy(arena_of(b), dims.count, merged));
  }
  // transpose(broadcast(y)) is a broadcast of y to other dimensions
  if (x->op == HSC_OP_BROADCAST) {
    int64_t inverse[HSC_MAX_RANK];
    for (int i = 0; i < dims.count; i++)
      inverse[dims.v[i]] = i;
    hsc_dims inner = x->attr.dims.dims;
    for (int i = 0; i < inner.count; i++)
      merged[i] = inverse[inner.v[i]];
    return hsc_build_broadcast(b, x->operands[0], instr->shape,
                               hsc_dims_copy(arena_of(b), inner.count, merged));
  }
  // Only degenerate dimensions move: a reshape.
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

static hsc_instr *rule_slice(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (same_shape(x, instr))
    return x;
  if (x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0)
    return hsc_build_broadcast(b, x->operands[0], instr->shape, (hsc_dims){0});
  if (x->op == HSC_OP_SLICE) {  // one slice with both offsets and strides
    int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
    int rank = instr->shape.rank;
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
  if (x->op == HSC_OP_PAD) {  // a slice that lies in what is padded
    int rank = instr->shape.rank;
    int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK];
    bool inside = hsc_shape_elements(&instr->shape) > 0;
    for (int i = 0; i < rank && inside; i++) {
      hsc_pad_dim pad = x->attr.pad.dims[i];
      start[i] = instr->attr.slice.start.v[i] - pad.low;
      limit[i] = instr->attr.slice.limit.v[i] - pad.low;
      inside = pad.interior == 0 && start[i] >= 0 && limit[i] <= x->operands[0]->shape.dims[i];
    }
    hsc_arena *arena = arena_of(b);
    if (inside)
      return hsc_build_slice(b, x->operands[0], hsc_dims_copy(arena, rank, start),
                             hsc_dims_copy(arena, rank, limit), instr->attr.slice.stride);
  }
  if (x->op == HSC_OP_CONCATENATE) {  // a slice that lies in one operand
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
                               hsc_dims_copy(arena, instr->shape.rank, to),
                               instr->attr.slice.stride);
      }
      offset += size;
    }
  }
  return NULL;
}

// Neighbouring slices of one array, cut along the concatenated dimension only, as one slice.
static hsc_instr *joined_slices(hsc_builder *b, hsc_instr *instr, int64_t dim) {
  const hsc_instr *first = instr->operands[0];
  if (first->op != HSC_OP_SLICE)
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

// A concatenate of a concatenate along the same dimension that nobody else reads, as one.
static hsc_instr *flat_concatenate(hsc_builder *b, hsc_instr *instr, int64_t dim) {
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

static hsc_instr *rule_concatenate(hsc_builder *b, hsc_instr *instr) {
  if (instr->operand_count == 1)
    return instr->operands[0];
  int64_t dim = instr->attr.dims.dims.v[0];
  int empty = 0;
  for (int i = 0; i < instr->operand_count; i++)
    empty += instr->operands[i]->shape.dims[dim] == 0;
  if (!empty) {
    hsc_instr *replacement = joined_slices(b, instr, dim);
    return replacement ? replacement : flat_concatenate(b, instr, dim);
  }
  hsc_instr **kept = HSC_NEW_ARRAY(arena_of(b), hsc_instr *, instr->operand_count);
  int count = 0;
  for (int i = 0; kept && i < instr->operand_count; i++)
    if (instr->operands[i]->shape.dims[dim] != 0)
      kept[count++] = instr->operands[i];
  if (!kept || count == 0)
    return instr->operands[0];
  return count == 1 ? kept[0] : hsc_build_concatenate(b, count, kept, dim);
}

static hsc_instr *rule_pad(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  bool nothing = true;
  bool only_cuts = true;
  for (int i = 0; i < instr->attr.pad.rank; i++) {
    hsc_pad_dim d = instr->attr.pad.dims[i];
    nothing &= d.low == 0 && d.high == 0 && (d.interior == 0 || x->shape.dims[i] <= 1);
    only_cuts &= d.low <= 0 && d.high <= 0 && d.interior == 0;
  }
  if (nothing)
    return x;
  if (hsc_shape_elements(&x->shape) == 0)
    return hsc_build_broadcast(b, instr->operands[1], instr->shape, (hsc_dims){0});
  // pad(pad(A)) with the same value and nothing cut or spread: one pad
  if (x->op == HSC_OP_PAD && x->user_count == 1 && x->operands[1] == instr->operands[1]) {
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
    if (plain)
      return hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2, x->operands, 0, NULL);
  }
  if (only_cuts) {
    int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], one[HSC_MAX_RANK];
    for (int i = 0; i < instr->attr.pad.rank; i++) {
      start[i] = -instr->attr.pad.dims[i].low;
      limit[i] = x->shape.dims[i] + instr->attr.pad.dims[i].high;
      one[i] = 1;
      if (limit[i] < start[i])
        return NULL;
    }
    hsc_arena *arena = arena_of(b);
    int rank = instr->attr.pad.rank;
    return hsc_build_slice(b, x, hsc_dims_copy(arena, rank, start),
                           hsc_dims_copy(arena, rank, limit), hsc_dims_copy(arena, rank, one));
  }
  return NULL;
}

static hsc_instr *rule_reverse(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  const hsc_instr *x = instr->operands[0];
  if (x->op == HSC_OP_REVERSE && hsc_attr_equal(x, instr))
    return x->operands[0];
  for (int i = 0; i < instr->attr.dims.dims.count; i++)
    if (instr->shape.dims[instr->attr.dims.dims.v[i]] != 1)
      return NULL;
  return instr->operands[0];
}

static hsc_instr *rule_dynamic_slice(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (same_shape(x, instr))
    return x;  // start indices are clamped to 0
  if (x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0)
    return hsc_build_broadcast(b, x->operands[0], instr->shape, (hsc_dims){0});
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

static hsc_instr *rule_dynamic_update_slice(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  if (same_shape(instr->operands[1], instr))
    return instr->operands[1];
  if (hsc_shape_elements(&instr->operands[1]->shape) == 0)
    return instr->operands[0];
  // update(x, slice(x at the same indices)) is x
  const hsc_instr *update = instr->operands[1];
  if (update->op == HSC_OP_DYNAMIC_SLICE && update->operands[0] == instr->operands[0] &&
      update->operand_count == instr->operand_count - 1) {
    for (int i = 1; i < update->operand_count; i++)
      if (update->operands[i] != instr->operands[i + 1])
        return NULL;
    return instr->operands[0];
  }
  return NULL;
}

static hsc_instr *rule_reduce(hsc_builder *b, hsc_instr *instr) {
  if (instr->operand_count != 2)
    return NULL;
  hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_dims dims = instr->attr.dims.dims;
  if (dims.count == 0 && same_shape(x, instr)) {
    hsc_op op;
    if (hsc__is_simple_reducer(instr->called[0], &op) && op == HSC_OP_ADD && hsc__is_all(init, 0))
      return x;
    return NULL;
  }
  if (hsc_shape_elements(&x->shape) == 0)
    return hsc__widen(b, init, instr);
  // Only degenerate dimensions are reduced: a reshape, with the initial value folded in.
  bool degenerate = true;
  for (int i = 0; i < dims.count; i++)
    degenerate &= x->shape.dims[dims.v[i]] == 1;
  hsc_op op;
  if (degenerate && hsc__is_simple_reducer(instr->called[0], &op)) {
    hsc_instr *value = hsc_build_reshape(b, x, instr->shape.rank, instr->shape.dims);
    if (op == HSC_OP_ADD && hsc__is_all(init, 0))
      return value;
    return hsc_build_binary(b, op, value, hsc__widen(b, init, instr));
  }
  // reduce(transpose(A)) where the dimensions that stay keep their order: reduce(A). Reducers fold
  // in any order.
  if (x->op == HSC_OP_TRANSPOSE && x->user_count == 1) {
    int64_t mapped[HSC_MAX_RANK];
    int64_t last = -1;
    bool ordered = true;
    bool folded[HSC_MAX_RANK] = {false};
    for (int i = 0; i < dims.count; i++)
      folded[dims.v[i]] = true;
    for (int i = 0; i < x->shape.rank; i++) {
      if (folded[i])
        continue;
      ordered &= x->attr.dims.dims.v[i] > last;
      last = x->attr.dims.dims.v[i];
    }
    for (int i = 0; i < dims.count; i++)
      mapped[i] = x->attr.dims.dims.v[dims.v[i]];
    if (ordered)
      return hsc_build_reduce(b, x->operands[0], init,
                              hsc_dims_copy(arena_of(b), dims.count, mapped), instr->called[0]);
  }
  // The sum of n equal integers is n times one.
  hsc_instr *uniform =
      x->op == HSC_OP_BROADCAST && x->operands[0]->shape.rank == 0 ? x->operands[0] : NULL;
  if (uniform && hsc_type_is_integral(x->shape.type) &&
      hsc__is_simple_reducer(instr->called[0], &op) && op == HSC_OP_ADD) {
    double count = 1;
    for (int i = 0; i < dims.count; i++)
      count *= (double)x->shape.dims[dims.v[i]];
    if (count < 0x1p31) {
      hsc_instr *total = hsc_build_binary(
          b, HSC_OP_MULTIPLY, uniform,
          hsc_build_convert(b, x->shape.type, hsc_build_scalar(b, HSC_TYPE_S64, count)));
      return hsc__widen(b, hsc_build_binary(b, HSC_OP_ADD, total, init), instr);
    }
  }
  // reduce(reduce(x)) with the same reducer, where the outer initial value adds nothing: one reduce
  // over both sets of dimensions.
  if (x->op == HSC_OP_REDUCE && x->operand_count == 2 && x->user_count == 1 &&
      hsc__is_simple_reducer(instr->called[0], &op)) {
    hsc_op inner_op;
    double outer_start, inner_start;
    // folding a value in once more changes nothing
    bool again =
        op == HSC_OP_MAXIMUM || op == HSC_OP_MINIMUM || op == HSC_OP_AND || op == HSC_OP_OR;
    bool neutral = (op == HSC_OP_ADD && hsc__is_all(init, 0)) ||
                   (op == HSC_OP_MULTIPLY && hsc__is_all(init, 1));
    if (again)
      neutral = init == x->operands[1] ||
                (hsc__uniform_number(init, &outer_start) &&
                 hsc__uniform_number(x->operands[1], &inner_start) && outer_start == inner_start);
    if (!neutral || !hsc__is_simple_reducer(x->called[0], &inner_op) || inner_op != op)
      return NULL;
    int64_t free_dims[HSC_MAX_RANK], all[HSC_MAX_RANK];
    bool reduced[HSC_MAX_RANK] = {false};
    int free_count = 0;
    int count = 0;
    for (int i = 0; i < x->attr.dims.dims.count; i++)
      reduced[x->attr.dims.dims.v[i]] = true;
    for (int i = 0; i < x->operands[0]->shape.rank; i++)
      if (!reduced[i])
        free_dims[free_count++] = i;
    for (int i = 0; i < dims.count; i++)
      reduced[free_dims[dims.v[i]]] = true;
    for (int i = 0; i < x->operands[0]->shape.rank; i++)
      if (reduced[i])
        all[count++] = i;
    return hsc_build_reduce(b, x->operands[0], x->operands[1],
                            hsc_dims_copy(arena_of(b), count, all), instr->called[0]);
  }
  return NULL;
}

// A copy is kept where it may matter whose memory a value is in: as a result of the program, and of
// a parameter that is a result.
static hsc_instr *rule_copy(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *x = instr->operands[0];
  if (instr->parent->root == instr || !hsc_shape_equal_layout(&x->shape, &instr->shape))
    return NULL;
  for (int i = 0; x->op == HSC_OP_PARAMETER && i < instr->user_count; i++)
    if (instr->users[i]->op == HSC_OP_TUPLE || instr->users[i]->op == HSC_OP_WHILE ||
        instr->users[i]->op == HSC_OP_DYNAMIC_UPDATE_SLICE)
      return NULL;
  return x;
}

static hsc_instr *rule_bitcast(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (hsc_shape_equal_layout(&x->shape, &instr->shape))
    return x;
  return x->op == HSC_OP_BITCAST ? hsc_build_clone(b, instr, x->operands) : NULL;
}

static hsc_instr *rule_get_tuple_element(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *tuple = instr->operands[0];
  return tuple->op == HSC_OP_TUPLE ? tuple->operands[instr->attr.index.value] : NULL;
}

// An array of equal elements is a broadcast scalar, an ascending sequence 0, 1, 2 ... is iota:
// smaller, and they fuse.
static hsc_instr *rule_constant(hsc_builder *b, hsc_instr *instr) {
  const hsc_literal *literal = instr->attr.literal.value;
  int64_t count = hsc_shape_elements(&instr->shape);
  if (literal->elided || !hsc_shape_is_array(&instr->shape) || instr->shape.rank == 0 ||
      count < 2 || !literal->data)
    return NULL;
  size_t bytes = hsc_type_bytes(instr->shape.type);
  const unsigned char *data = literal->data;
  if (!memcmp(data, data + bytes, bytes * (size_t)(count - 1))) {
    hsc_literal *one = NULL;
    hsc_shape scalar = hsc_shape_scalar(instr->shape.type);
    b->status = hsc_literal_create(arena_of(b), &scalar, &one);
    if (b->status)
      return NULL;
    memcpy(one->data, data, bytes);
    return hsc__widen(b, hsc_build_constant(b, one), instr);
  }
  if (instr->shape.rank != 1 || !hsc_type_is_integral(instr->shape.type) ||
      hsc_type_bits(instr->shape.type) < 8)
    return NULL;
  for (int64_t i = 0; i < count; i++)
    if (hsc_literal_get_int(literal, i) != i)
      return NULL;
  return hsc_build_iota(b, instr->shape, 0);
}

static hsc_instr *rule_iota(hsc_builder *b, hsc_instr *instr) {
  return instr->shape.dims[instr->attr.dims.dims.v[0]] == 1 ? hsc__uniform_constant(b, 0, instr)
                                                            : NULL;
}

static hsc_instr *rule_map(hsc_builder *b, hsc_instr *instr) {
  return hsc__map_is_elementwise(instr) ? hsc__build_mapped(b, instr) : NULL;
}

static hsc_instr *rule_bitcast_convert(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (same_shape(x, instr))
    return x;
  (void)b;
  if (x->op == HSC_OP_BITCAST_CONVERT && same_shape(x->operands[0], instr))
    return x->operands[0];
  return NULL;
}

static hsc_instr *rule_clamp(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  // clamp(low, clamp(low, x, high), high)
  hsc_instr *x = instr->operands[1];
  return x->op == HSC_OP_CLAMP && x->operands[0] == instr->operands[0] &&
                 x->operands[2] == instr->operands[2]
             ? x
             : NULL;
}

// A sort along a dimension of at most one element.
static hsc_instr *rule_sort(hsc_builder *b, hsc_instr *instr) {
  if (instr->operands[0]->shape.dims[instr->attr.dims.dims.v[0]] > 1)
    return NULL;
  return instr->operand_count == 1 ? instr->operands[0]
                                   : hsc_build_tuple(b, instr->operand_count, instr->operands);
}

hsc__rule hsc__algsimp_movement_rule(hsc_op op) {
  switch (op) {
    case HSC_OP_RESHAPE:
      return rule_reshape;
    case HSC_OP_BROADCAST:
      return rule_broadcast;
    case HSC_OP_TRANSPOSE:
      return rule_transpose;
    case HSC_OP_SLICE:
      return rule_slice;
    case HSC_OP_CONCATENATE:
      return rule_concatenate;
    case HSC_OP_PAD:
      return rule_pad;
    case HSC_OP_REVERSE:
      return rule_reverse;
    case HSC_OP_DYNAMIC_SLICE:
      return rule_dynamic_slice;
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return rule_dynamic_update_slice;
    case HSC_OP_REDUCE:
      return rule_reduce;
    case HSC_OP_COPY:
      return rule_copy;
    case HSC_OP_BITCAST_CONVERT:
      return rule_bitcast_convert;
    case HSC_OP_CLAMP:
      return rule_clamp;
    case HSC_OP_SORT:
      return rule_sort;
    case HSC_OP_BITCAST:
      return rule_bitcast;
    case HSC_OP_GET_TUPLE_ELEMENT:
      return rule_get_tuple_element;
    case HSC_OP_CONSTANT:
      return rule_constant;
    case HSC_OP_IOTA:
      return rule_iota;
    case HSC_OP_MAP:
      return rule_map;
    default:
      return NULL;
  }
}
