// infer_index.c - gather and scatter: ops whose operand positions come from an index tensor.
//
// Of the start indices, dimension index_vector_dim holds the coordinates (index_vector_dim == rank:
// an implied last dimension of size 1); the others are batch dimensions of the result. What remains
// of a slice after dropping collapsed and batching dimensions are the offset dimensions;
// offset_dims says where they are in the result, the batch dimensions fill the rest in order.
#include "hlo/infer/infer_internal.h"

static bool is_sorted(hsc_dims dims) {
  for (int i = 1; i < dims.count; i++)
    if (dims.v[i - 1] >= dims.v[i])
      return false;
  return true;
}

// What gather and scatter have in common: the indices, and how they address an operand of `rank`
// dimensions.
static hsc_status *want_indices(hsc_arena *arena,
                                const hsc_instr *instr,
                                const hsc_gather_dims *g,
                                const hsc_shape *operand,
                                const hsc_shape *indices) {
  if (!hsc_type_is_integral(indices->type))
    return hsc__infer_error(instr, "the indices must be integers; they are %s",
                            hsc__shape_text(arena, indices));
  if (g->index_vector_dim < 0 || g->index_vector_dim > indices->rank)
    return hsc__infer_error(instr, "index_vector_dim = %lld is not in [0, %d]",
                            (long long)g->index_vector_dim, indices->rank);
  int64_t coordinates =
      g->index_vector_dim == indices->rank ? 1 : indices->dims[g->index_vector_dim];
  if (g->start_index_map.count != coordinates)
    return hsc__infer_error(instr,
                            "an index has %lld coordinates; they are mapped to %d dimensions",
                            (long long)coordinates, g->start_index_map.count);
  HSC_TRY(
      hsc__want_distinct_dims(arena, instr, "the index map", g->start_index_map, operand->rank));
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "the collapsed or inserted dimensions",
                                  g->collapsed_slice_dims, operand->rank));
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "the operand's batching dimensions",
                                  g->operand_batching_dims, operand->rank));
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "the indices' batching dimensions",
                                  g->start_indices_batching_dims, indices->rank));
  if (!is_sorted(g->collapsed_slice_dims) || !is_sorted(g->operand_batching_dims) ||
      !is_sorted(g->offset_dims))
    return hsc__infer_error(instr,
                            "offset or window dimensions, collapsed or inserted ones, and batching "
                            "ones must be in rising order");
  for (int i = 0; i < g->operand_batching_dims.count; i++) {
    int64_t dim = g->operand_batching_dims.v[i];
    if (hsc_dims_contain(g->collapsed_slice_dims, dim) || hsc_dims_contain(g->start_index_map, dim))
      return hsc__infer_error(
          instr,
          "operand dimension %lld is a batching dimension and collapsed, inserted or indexed too",
          (long long)dim);
  }
  if (g->operand_batching_dims.count != g->start_indices_batching_dims.count)
    return hsc__infer_error(instr, "%d batching dimensions of the operand, %d of the indices",
                            g->operand_batching_dims.count, g->start_indices_batching_dims.count);
  for (int i = 0; i < g->operand_batching_dims.count; i++) {
    int64_t of_operand = g->operand_batching_dims.v[i];
    int64_t of_indices = g->start_indices_batching_dims.v[i];
    if (of_indices == g->index_vector_dim || operand->dims[of_operand] != indices->dims[of_indices])
      return hsc__infer_error(
          instr, "batching dimensions differ: operand[%lld] = %lld, indices[%lld] = %lld",
          (long long)of_operand, (long long)operand->dims[of_operand], (long long)of_indices,
          (long long)indices->dims[of_indices]);
  }
  return NULL;
}

RULE(gather) {
  HSC_TRY(hsc__want_array(instr, 0));
  HSC_TRY(hsc__want_array(instr, 1));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *indices = hsc__operand_shape(instr, 1);
  const hsc_gather_dims *g = &instr->attr.gather;
  HSC_TRY(want_indices(arena, instr, g, x, indices));
  if (g->slice_sizes.count != x->rank)
    return hsc__infer_error(instr, "%d slice sizes for an operand of %d dimensions",
                            g->slice_sizes.count, x->rank);
  int index_batch = indices->rank - (g->index_vector_dim < indices->rank);
  int rank = g->offset_dims.count + index_batch;
  if (g->offset_dims.count + g->collapsed_slice_dims.count + g->operand_batching_dims.count !=
      x->rank)
    return hsc__infer_error(
        instr, "offset (%d), collapsed (%d) and batching (%d) dimensions must be the operand's %d",
        g->offset_dims.count, g->collapsed_slice_dims.count, g->operand_batching_dims.count,
        x->rank);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "offset_dims", g->offset_dims, rank));
  int64_t *dims = hsc__new_dims(arena, rank);
  if (!dims)
    return hsc_status_out_of_memory();
  int offset = 0;
  for (int i = 0; i < x->rank; i++) {
    int64_t size = g->slice_sizes.v[i];
    bool dropped = hsc_dims_contain(g->collapsed_slice_dims, i) ||
                   hsc_dims_contain(g->operand_batching_dims, i);
    if (size < 0 || size > x->dims[i] || (dropped && size > 1))
      return hsc__infer_error(instr, "slice size %lld of dimension %d must be in [0, %lld]%s",
                              (long long)size, i, (long long)(dropped ? 1 : x->dims[i]),
                              dropped ? ": the dimension is collapsed or batching" : "");
    if (!dropped)
      dims[g->offset_dims.v[offset++]] = size;
  }
  int from = 0;
  for (int i = 0; i < rank; i++) {
    if (hsc_dims_contain(g->offset_dims, i))
      continue;
    if (from == g->index_vector_dim)
      from++;
    dims[i] = indices->dims[from++];
  }
  *out_shape = hsc__shape_of_dims(x->type, rank, dims);
  return NULL;
}

RULE(scatter) {
  int count = (instr->operand_count - 1) / 2;
  if (instr->operand_count < 3 || instr->operand_count % 2 == 0)
    return hsc__infer_error(instr, "takes N operands, the indices and N updates; it has %d in all",
                            instr->operand_count);
  for (int i = 0; i < instr->operand_count; i++)
    HSC_TRY(hsc__want_array(instr, i));
  const hsc_shape *indices = hsc__operand_shape(instr, count);
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *accumulators = NULL;
  const hsc_gather_dims *g = &instr->attr.scatter;
  HSC_TRY(hsc__want_called(instr, 1));
  HSC_TRY(hsc__reducer_shapes(arena, instr, 0, count, &accumulators));
  HSC_TRY(want_indices(arena, instr, g, x, indices));
  int index_batch = indices->rank - (g->index_vector_dim < indices->rank);
  int rank = g->offset_dims.count + index_batch;
  if (g->offset_dims.count + g->collapsed_slice_dims.count + g->operand_batching_dims.count !=
      x->rank)
    return hsc__infer_error(
        instr, "window (%d), inserted (%d) and batching (%d) dimensions must be the operand's %d",
        g->offset_dims.count, g->collapsed_slice_dims.count, g->operand_batching_dims.count,
        x->rank);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "update_window_dims", g->offset_dims, rank));
  for (int n = 0; n < count; n++) {
    const hsc_shape *operand = hsc__operand_shape(instr, n);
    const hsc_shape *update = hsc__operand_shape(instr, count + 1 + n);
    if (!hsc_shape_same_dims(operand, x))
      return hsc__infer_error(
          instr, "operands must have the same dimensions: operand 0 is %s, operand %d is %s",
          hsc__shape_text(arena, x), n, hsc__shape_text(arena, operand));
    if (operand->type != accumulators[n].type ||
        update->type != instr->called[0]->parameters[count + n]->shape.type)
      return hsc__infer_error(instr, "operand %d is %s and its update %s; %%%s combines %s with %s",
                              n, hsc__shape_text(arena, operand), hsc__shape_text(arena, update),
                              instr->called[0]->name, hsc_type_text(accumulators[n].type),
                              hsc_type_text(instr->called[0]->parameters[count + n]->shape.type));
    if (update->rank != rank)
      return hsc__infer_error(instr, "update %d must have %d dimensions; it is %s", n, rank,
                              hsc__shape_text(arena, update));
    int window = 0;
    for (int i = 0; i < operand->rank; i++) {
      if (hsc_dims_contain(g->collapsed_slice_dims, i) ||
          hsc_dims_contain(g->operand_batching_dims, i))
        continue;
      int64_t size = update->dims[g->offset_dims.v[window++]];
      if (size > operand->dims[i])
        return hsc__infer_error(
            instr,
            "the update's window of size %lld is larger than dimension %d of the operand, %lld",
            (long long)size, i, (long long)operand->dims[i]);
    }
    int from = 0;
    for (int i = 0; i < rank; i++) {
      if (hsc_dims_contain(g->offset_dims, i))
        continue;
      if (from == g->index_vector_dim)
        from++;
      if (update->dims[i] != indices->dims[from])
        return hsc__infer_error(instr,
                                "batch dimensions differ: update[%d] = %lld, indices[%d] = %lld", i,
                                (long long)update->dims[i], from, (long long)indices->dims[from]);
      from++;
    }
  }
  return hsc__tuple_of_operands(arena, instr, count, out_shape);
}
