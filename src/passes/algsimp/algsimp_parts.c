// algsimp_parts.c - rules on parts of parts: joins and paddings taken apart, slices of slices at
// computed indices, strides that reach nothing.
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

static hsc_instr *build_pad(
    hsc_builder *b, hsc_instr *x, hsc_instr *value, int rank, const hsc_pad_dim *dims) {
  hsc_attr attr = {.pad = {.rank = rank, .dims = dims}};
  return hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){x, value}, 0, NULL);
}

// ---- joins --------------------------------------------------------------------------------------

// Whether y is cut from the same array as x, right after it along `dim`, both without gaps.
static bool continues(const hsc_instr *x, const hsc_instr *y, int64_t dim) {
  if (x->op != HSC_OP_SLICE || y->op != HSC_OP_SLICE || x->operands[0] != y->operands[0])
    return false;
  for (int i = 0; i < x->shape.rank; i++) {
    if (stride_of(x, i) != 1 || stride_of(y, i) != 1)
      return false;
    if (i == dim ? y->attr.slice.start.v[i] != x->attr.slice.limit.v[i]
                 : y->attr.slice.start.v[i] != x->attr.slice.start.v[i])
      return false;
  }
  return true;
}

HSC_RULE(concatenate_with_slices) {
  int64_t dim = instr->attr.dims.dims.v[0];
  for (int i = 0; i + 1 < instr->operand_count; i++) {
    int end = i + 1;
    while (end < instr->operand_count &&
           continues(instr->operands[end - 1], instr->operands[end], dim))
      end++;
    if (end == i + 1)
      continue;
    const hsc_instr *first = instr->operands[i];
    const hsc_instr *last = instr->operands[end - 1];
    int64_t limit[HSC_MAX_RANK];
    for (int k = 0; k < first->shape.rank; k++)
      limit[k] = k == dim ? last->attr.slice.limit.v[k] : first->attr.slice.limit.v[k];
    hsc_instr **all = HSC_NEW_ARRAY(arena_of(b), hsc_instr *, instr->operand_count);
    if (!all)
      return NULL;
    int count = 0;
    for (int k = 0; k < instr->operand_count; k++) {
      if (k == i)
        all[count++] = hsc_build_slice(b, first->operands[0], first->attr.slice.start,
                                       hsc_dims_copy(arena_of(b), first->shape.rank, limit),
                                       first->attr.slice.stride);
      else if (k < i || k >= end)
        all[count++] = instr->operands[k];
    }
    return count == 1 ? all[0] : hsc_build_concatenate(b, count, all, dim);
  }
  return NULL;
}

// What folds paddings knows what to do with it.
HSC_RULE(concatenate_as_pad) {
  int64_t dim = instr->attr.dims.dims.v[0];
  for (int side = 0; side < 2 && instr->operand_count == 2; side++) {
    hsc_instr *value = instr->operands[side];
    hsc_instr *x = instr->operands[!side];
    if (value->op != HSC_OP_BROADCAST || value->operands[0]->shape.rank > 0 ||
        hsc__is_uniform_constant(x))
      continue;
    hsc_pad_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, instr->shape.rank);
    if (!dims)
      return NULL;
    memset(dims, 0, sizeof *dims * (size_t)instr->shape.rank);
    if (side)
      dims[dim].high = value->shape.dims[dim];
    else
      dims[dim].low = value->shape.dims[dim];
    return build_pad(b, x, value->operands[0], instr->shape.rank, dims);
  }
  return NULL;
}

// ---- paddings -----------------------------------------------------------------------------------

// Nothing lies between the elements of a dimension of one.
HSC_RULE(pad_between_one) {
  hsc_instr *x = instr->operands[0];
  int rank = instr->attr.pad.rank;
  bool cleared = false;
  hsc_pad_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, rank + 1);
  if (!dims || hsc__is_empty(x) || hsc__is_empty(instr))
    return NULL;
  for (int i = 0; i < rank; i++) {
    dims[i] = instr->attr.pad.dims[i];
    cleared |= dims[i].interior && x->shape.dims[i] == 1;
    if (x->shape.dims[i] == 1)
      dims[i].interior = 0;
  }
  return cleared ? build_pad(b, x, instr->operands[1], rank, dims) : NULL;
}

HSC_RULE(pad_then_cut) {
  hsc_instr *x = instr->operands[0];
  int rank = instr->attr.pad.rank;
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], one[HSC_MAX_RANK];
  bool cuts = false;
  bool adds = false;
  hsc_pad_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, rank + 1);
  if (!dims || hsc__is_empty(x) || hsc__is_empty(instr))
    return NULL;
  for (int i = 0; i < rank; i++) {
    dims[i] = instr->attr.pad.dims[i];
    cuts |= dims[i].low < 0 || dims[i].high < 0;
    adds |= dims[i].low > 0 || dims[i].high > 0 || dims[i].interior > 0;
    start[i] = dims[i].low < 0 ? -dims[i].low : 0;
    limit[i] = start[i] + instr->shape.dims[i];
    one[i] = 1;
    if (dims[i].low < 0)
      dims[i].low = 0;
    if (dims[i].high < 0)
      dims[i].high = 0;
  }
  if (!cuts || !adds)
    return NULL;
  return build_slice(b, build_pad(b, x, instr->operands[1], rank, dims), start, limit, one);
}

// ---- slices -------------------------------------------------------------------------------------

// Where they are whole rows of A, too, the slice comes first.
HSC_RULE(slice_of_rows) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_RESHAPE || hsc__is_empty(instr))
    return NULL;
  hsc_instr *source = x->operands[0];
  int64_t start[HSC_MAX_RANK];
  int64_t limit[HSC_MAX_RANK];
  int64_t one[HSC_MAX_RANK];
  int64_t row = 1;
  int64_t source_row = 1;
  if (!hsc__has_one_use(x) || source->shape.rank == 0 || instr->shape.rank == 0)
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++)
    if (stride_of(instr, i) != 1 || (i > 0 && instr->shape.dims[i] != x->shape.dims[i]))
      return NULL;
  for (int i = 1; i < instr->shape.rank; i++)
    row *= instr->shape.dims[i];
  for (int i = 1; i < source->shape.rank; i++)
    source_row *= source->shape.dims[i];
  int64_t from = instr->attr.slice.start.v[0] * row;
  int64_t size = instr->shape.dims[0] * row;
  if (source_row == 0 || from % source_row || size % source_row)
    return NULL;
  for (int i = 0; i < source->shape.rank; i++) {
    start[i] = i ? 0 : from / source_row;
    limit[i] = i ? source->shape.dims[i] : (from + size) / source_row;
    one[i] = 1;
  }
  return hsc_build_reshape(b, build_slice(b, source, start, limit, one), instr->shape.rank,
                           instr->shape.dims);
}

// It picks just what was padded.
HSC_RULE(slice_undoes_pad) {
  const hsc_instr *x = instr->operands[0];
  if (hsc__is_empty(instr) || x->op != HSC_OP_PAD ||
      !hsc_shape_equal(&x->operands[0]->shape, &instr->shape))
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    hsc_pad_dim p = x->attr.pad.dims[i];
    if (instr->attr.slice.start.v[i] != p.low ||
        (stride_of(instr, i) != p.interior + 1 && instr->shape.dims[i] != 1))
      return NULL;
  }
  return x->operands[0];
}

HSC_RULE(slice_with_idle_stride) {
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  bool idle = false;
  if (hsc__is_empty(instr))
    return NULL;
  for (int i = 0; i < instr->shape.rank; i++) {
    start[i] = instr->attr.slice.start.v[i];
    stride[i] = stride_of(instr, i);
    limit[i] = instr->attr.slice.limit.v[i];
    if (stride[i] == 1 || instr->shape.dims[i] != 1)
      continue;
    stride[i] = 1;
    limit[i] = start[i] + 1;
    idle = true;
  }
  return idle ? build_slice(b, instr->operands[0], start, limit, stride) : NULL;
}

// ---- at indices that are computed ---------------------------------------------------------------

// The index as it counts: within [0, room].
static hsc_instr *clamped(hsc_builder *b, hsc_instr *index, int64_t room) {
  hsc_type type = index->shape.type;
  if (room == 0)
    return hsc_build_scalar(b, type, 0);
  hsc_instr *bounds[2] = {hsc_build_scalar(b, type, 0), hsc_build_scalar(b, type, (double)room)};
  return hsc_build_op(b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
                      (hsc_instr *[]){bounds[0], index, bounds[1]}, 0, NULL);
}

// outer + inner, each clamped to its room; NULL where the type of an index may be too narrow for
// it.
static hsc_instr *combined(
    hsc_builder *b, hsc_instr *outer, int64_t outer_room, hsc_instr *inner, int64_t inner_room) {
  if (hsc_type_bits(outer->shape.type) < 32 || hsc_type_bits(inner->shape.type) < 32 ||
      outer_room + inner_room >= 1ll << 31)
    return NULL;
  hsc_instr *x = clamped(b, outer, outer_room);
  hsc_instr *y = clamped(b, inner, inner_room);
  if (outer_room == 0 && inner->shape.type == outer->shape.type)
    return y;
  if (inner_room == 0)
    return x;
  if (y->shape.type != x->shape.type)
    y = hsc_build_convert(b, x->shape.type, y);
  return outer_room == 0 ? y : hsc_build_binary(b, HSC_OP_ADD, x, y);
}

HSC_RULE(dynamic_slice_of_dynamic_slice) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *indices[HSC_MAX_RANK];
  int rank = instr->shape.rank;
  if (rank == 0 || instr->operand_count != rank + 1 || x->op != HSC_OP_DYNAMIC_SLICE ||
      !hsc__has_one_use(x) || x->operand_count != rank + 1)
    return NULL;
  for (int i = 0; i < rank; i++) {
    indices[i] = combined(b, x->operands[1 + i], x->operands[0]->shape.dims[i] - x->shape.dims[i],
                          instr->operands[1 + i], x->shape.dims[i] - instr->shape.dims[i]);
    if (!indices[i])
      return NULL;
  }
  return hsc_build_dynamic_slice(b, x->operands[0], rank, indices,
                                 hsc_dims_copy(arena_of(b), rank, instr->shape.dims));
}

HSC_RULE(dynamic_slice_of_multiples) {
  const hsc_instr *x = instr->operands[0];
  if (instr->shape.rank != 1 || instr->operand_count != 2 || instr->shape.dims[0] != 1 ||
      x->op != HSC_OP_MULTIPLY || !hsc__has_one_use(x) || !hsc__is_int(x))
    return NULL;
  if (x->operands[0]->op != HSC_OP_IOTA || x->operands[1]->op != HSC_OP_BROADCAST ||
      x->operands[1]->operands[0]->shape.rank != 0)
    return NULL;
  hsc_instr *element = hsc_build_dynamic_slice(b, x->operands[0], 1, instr->operands + 1,
                                               hsc_dims_copy(arena_of(b), 1, instr->shape.dims));
  return hsc_build_binary(
      b, HSC_OP_MULTIPLY, element,
      hsc_build_broadcast(b, x->operands[1]->operands[0], instr->shape, (hsc_dims){0}));
}

// update(A, update(part of A at I, B at J) at I) => update(A, B at I + J)
HSC_RULE(update_of_update) {
  const hsc_instr *inner = instr->operands[1];
  int rank = instr->shape.rank;
  hsc_instr *indices[HSC_MAX_RANK];
  if (rank == 0 || inner->op != HSC_OP_DYNAMIC_UPDATE_SLICE || !hsc__has_one_use(inner) ||
      instr->operand_count != rank + 2 || inner->operand_count != rank + 2)
    return NULL;
  const hsc_instr *part = inner->operands[0];
  if (part->op != HSC_OP_DYNAMIC_SLICE || part->operands[0] != instr->operands[0] ||
      part->operand_count != rank + 1)
    return NULL;
  for (int i = 0; i < rank; i++) {
    if (part->operands[1 + i] != instr->operands[2 + i])
      return NULL;
    indices[i] =
        combined(b, instr->operands[2 + i], instr->shape.dims[i] - inner->shape.dims[i],
                 inner->operands[2 + i], inner->shape.dims[i] - inner->operands[1]->shape.dims[i]);
    if (!indices[i])
      return NULL;
  }
  return hsc_build_dynamic_update_slice(b, instr->operands[0], inner->operands[1], rank, indices);
}
