// algsimp_optional.c - rules that options switch and that belong to no other file: broadcasts that
// sink, gathers as selections, transposes of scatters, conditionals on a converted predicate.
#include "passes/algsimp/algsimp.h"

// ---- broadcasts ---------------------------------------------------------------------------------

// An operation on elements that only computes.
static bool may_sink(const hsc_instr *instr) {
  return instr->operand_count > 0 && instr->operand_count <= 3 && instr->shape.rank > 0 &&
         hsc_shape_is_array(&instr->shape) && !instr->called_count &&
         (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) && instr->op != HSC_OP_COPY &&
         instr->op != HSC_OP_RNG && instr->op != HSC_OP_REDUCE_PRECISION;
}

// All of the same dimensions; scalars may be among them.
HSC_RULE(sink_broadcast) {
  hsc_instr *first = NULL;
  hsc_instr *inner[3];
  if (!may_sink(instr))
    return NULL;
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *x = instr->operands[i];
    if (x->op != HSC_OP_BROADCAST || !hsc_shape_same_dims(&x->shape, &instr->shape))
      return NULL;
    if (!first || (first->operands[0]->shape.rank == 0 && x->operands[0]->shape.rank > 0))
      first = x;
  }
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *x = instr->operands[i];
    inner[i] = x->operands[0];
    if (inner[i]->shape.rank == 0)
      continue;
    if (!hsc_shape_same_dims(&inner[i]->shape, &first->operands[0]->shape))
      return NULL;
    if (memcmp(x->attr.dims.dims.v, first->attr.dims.dims.v,
               sizeof(int64_t) * (size_t)x->attr.dims.dims.count) != 0)
      return NULL;
  }
  for (int i = 0; i < instr->operand_count; i++)
    if (inner[i]->shape.rank == 0)
      inner[i] = hsc__widen(b, inner[i], first->operands[0]);
  hsc_instr *small = hsc_build_clone(b, instr, inner);
  if (b->status)
    return NULL;
  small->shape = hsc_shape_with_type(first->operands[0]->shape, instr->shape.type);
  return hsc_build_broadcast(b, small, instr->shape, first->attr.dims.dims);
}

HSC_RULE(broadcast_of_ones) {
  hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  int64_t kept[HSC_MAX_RANK], to[HSC_MAX_RANK];
  int rank = 0;
  // other rules'
  if (x->op == HSC_OP_BROADCAST || x->op == HSC_OP_RESHAPE || x->op == HSC_OP_IOTA ||
      hsc_shape_elements(&x->shape) == hsc_shape_elements(&instr->shape))
    return NULL;
  for (int i = 0; i < x->shape.rank; i++) {
    if (x->shape.dims[i] == 1)
      continue;
    kept[rank] = x->shape.dims[i];
    to[rank++] = dims.v[i];
  }
  if (rank == x->shape.rank)
    return NULL;
  return hsc_build_broadcast(b, hsc_build_reshape(b, x, rank, kept), instr->shape,
                             hsc_dims_copy(arena_of(b), rank, to));
}

// ---- gathers, scatters, conditionals ------------------------------------------------------------

// Single elements of a short vector: a selection for each but the last. Indices are clamped, as a
// gather's are.
HSC_RULE(gather_as_selections) {
  const hsc_gather_dims *g = &instr->attr.gather;
  hsc_instr *x = instr->operands[0];
  hsc_instr *index = instr->operands[1];
  if (x->shape.rank != 1 || x->shape.dims[0] > o->very_small_gather_size || g->offset_dims.count ||
      g->slice_sizes.v[0] != 1)
    return NULL;
  if (g->index_vector_dim < index->shape.rank && index->shape.dims[g->index_vector_dim] != 1)
    return NULL;
  index = hsc_build_reshape(b, index, instr->shape.rank, instr->shape.dims);
  hsc_instr *replacement = NULL;
  for (int64_t i = x->shape.dims[0] - 1; i >= 0; i--) {
    hsc_arena *arena = arena_of(b);
    hsc_instr *element =
        hsc_build_slice(b, x, HSC_DIMS(arena, i), HSC_DIMS(arena, i + 1), HSC_DIMS(arena, 1));
    element = hsc_build_reshape(b, element, 0, NULL);
    hsc_instr *wide = hsc__widen(b, element, instr);
    if (!replacement) {
      replacement = wide;
      continue;
    }
    hsc_instr *is_here =
        hsc_build_compare(b, HSC_LE, index, hsc__uniform_constant(b, (double)i, index));
    replacement = hsc_build_select(b, is_here, wide, replacement);
  }
  return replacement;
}

// Where windows are not written in shorter runs by it. Of the plain form: one row of indices for
// each update, windows of all dimensions.
HSC_RULE(transpose_of_scatter) {
  hsc_instr *x = instr->operands[0];
  const hsc_gather_dims *g = &x->attr.scatter;
  hsc_dims permutation = instr->attr.dims.dims;
  int64_t of_update[HSC_MAX_RANK + 1];
  int64_t dims[HSC_MAX_RANK];
  int64_t run[2] = {1, 1};
  int rank = instr->shape.rank;
  if (x->op != HSC_OP_SCATTER || !hsc__has_one_use(x) || x->operand_count != 3 ||
      g->operand_batching_dims.count || g->collapsed_slice_dims.count ||
      g->offset_dims.count != rank)
    return NULL;
  if (x->operands[1]->shape.rank != 2 || g->index_vector_dim != 1 ||
      x->operands[2]->shape.rank != rank + 1 || hsc_dims_contain(g->offset_dims, 0) ||
      rank + 1 > HSC_MAX_RANK)
    return NULL;
  for (int way = 0; way < 2; way++)
    for (int i = rank - 1; i >= 0; i--) {
      int64_t dim = way ? permutation.v[i] : i;
      int64_t size = x->operands[2]->shape.dims[dim + 1];
      run[way] *= size;
      if (size != x->shape.dims[dim])
        break;
    }
  if (run[1] < run[0])
    return NULL;
  of_update[0] = 0;
  for (int i = 0; i < rank; i++)
    of_update[i + 1] = permutation.v[i] + 1;
  hsc_attr attr = {.scatter = *g};
  for (int i = 0; i < g->start_index_map.count; i++)
    for (int k = 0; k < rank; k++)
      if (permutation.v[k] == g->start_index_map.v[i])
        dims[i] = k;
  attr.scatter.start_index_map = hsc_dims_copy(arena_of(b), g->start_index_map.count, dims);
  hsc_instr *operands[3] = {
      hsc_build_transpose(b, x->operands[0], permutation), x->operands[1],
      hsc_build_transpose(b, x->operands[2], hsc_dims_copy(arena_of(b), rank + 1, of_update))};
  return hsc_build_op(b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3, operands, 1, x->called);
}

HSC_RULE(conditional_of_predicate) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_CONVERT || x->operands[0]->shape.type != HSC_TYPE_PRED ||
      instr->called_count != 2 || instr->operand_count != 3 || hsc_instr_has_effect(instr))
    return NULL;
  return hsc_build_calls(b, HSC_OP_CONDITIONAL, instr->shape, 3,
                         (hsc_instr *[]){x->operands[0], instr->operands[2], instr->operands[1]}, 2,
                         (hsc_computation *[]){instr->called[1], instr->called[0]});
}
