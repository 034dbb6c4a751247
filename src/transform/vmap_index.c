// vmap_index.c - dynamic slices, gather, scatter. Indices that are the same for all leave the new
// dimension a whole slice; indices of each example's own make it a batching dimension, and turn
// dynamic slices into gather and scatter.
#include "transform/transform_internal.h"

static hsc_dims list(hsc__vmap_frame *f, int count, const int64_t *v) {
  return hsc_dims_copy(f->b.module->arena, count, v);
}
static hsc_dims count_from(hsc__vmap_frame *f, int64_t first, int count) {
  int64_t v[HSC_MAX_RANK + 1];
  for (int i = 0; i < count; i++)
    v[i] = first + i;
  return list(f, count, v);
}

static bool any_batched(const hsc__batch *values, int count) {
  for (int i = 0; i < count; i++)
    if (hsc__any(&values[i]))
      return true;
  return false;
}

// The start indices of a dynamic slice as [examples, rank]. They come as scalars, or as one vector.
static hsc_instr *index_rows(hsc__vmap_frame *f, const hsc__batch *indices, int count, int rank) {
  if (count == 1 && indices[0].instr->shape.rank == (hsc__is_batched(&indices[0]) ? 2 : 1))
    return hsc__batched(f, &indices[0]);
  hsc_instr *columns[HSC_MAX_RANK];
  int64_t dims[2] = {f->cx->count, 1};
  for (int i = 0; i < rank; i++)
    columns[i] = hsc_build_reshape(&f->b, hsc__batched(f, &indices[i]), 2, dims);
  return rank == 1 ? columns[0] : hsc_build_concatenate(&f->b, rank, columns, 1);
}

// The same indices with a 0 for the new dimension in front. `room` has rank + 1 places.
static int plain_indices(
    hsc__vmap_frame *f, const hsc__batch *indices, int count, int rank, hsc_instr **room) {
  hsc_type type = indices[0].instr->shape.type;
  if (count == 1 && indices[0].instr->shape.rank == 1) {
    int64_t one = 1;
    hsc_instr *zero = hsc_build_reshape(&f->b, hsc_build_scalar(&f->b, type, 0), 1, &one);
    room[0] = hsc_build_concatenate(&f->b, 2, (hsc_instr *[]){zero, indices[0].instr}, 0);
    return 1;
  }
  room[0] = hsc_build_scalar(&f->b, type, 0);
  for (int i = 0; i < rank; i++)
    room[i + 1] = indices[i].instr;
  return rank + 1;
}

hsc_status *hsc__vmap_dynamic_slice(hsc__vmap_frame *f,
                                    hsc_instr *instr,
                                    const hsc__batch *operands,
                                    hsc__batch *out) {
  int rank = instr->shape.rank;
  int count = instr->operand_count - 1;
  const hsc_dims *sizes = &instr->attr.slice_sizes.sizes;
  bool is_batched = hsc__is_batched(&operands[0]);
  int64_t dims[HSC_MAX_RANK + 1] = {1};
  for (int i = 0; i < rank; i++)
    dims[i + 1] = sizes->v[i];
  if (count == 0)
    return hsc__vmap_given_shape(f, instr, operands, out);
  if (!any_batched(operands + 1, count)) {
    hsc_instr *all[HSC_MAX_RANK + 1];
    int n = plain_indices(f, operands + 1, count, rank, all);
    dims[0] = f->cx->count;
    hsc__give(f,
              hsc_build_dynamic_slice(&f->b, operands[0].instr, n, all, (hsc_dims){rank + 1, dims}),
              true, out);
    return NULL;
  }
  // gather clamps as dynamic-slice does.
  hsc_gather_dims gather = {.offset_dims = count_from(f, 1, rank), .index_vector_dim = 1};
  if (is_batched) {
    gather.start_index_map = count_from(f, 1, rank);
    gather.operand_batching_dims = count_from(f, 0, 1);
    gather.start_indices_batching_dims = count_from(f, 0, 1);
    gather.slice_sizes = list(f, rank + 1, dims);
  } else {
    gather.start_index_map = count_from(f, 0, rank);
    gather.slice_sizes = list(f, rank, dims + 1);
  }
  hsc_instr *rows = index_rows(f, operands + 1, count, rank);
  hsc_instr *built = hsc_build(&f->b, HSC_OP_GATHER, hsc__batched_shape(f, &instr->shape), 2,
                               (hsc_instr *[]){operands[0].instr, rows});
  built->attr.gather = gather;
  hsc__give(f, built, true, out);
  return NULL;
}

// A computation that gives its second argument: what a scatter does that replaces.
static hsc_status *second_argument(hsc__vmap_frame *f,
                                   hsc_type type,
                                   hsc_computation **out_computation) {
  hsc_builder b;
  hsc_builder_init(&b, f->b.module, "replace");
  hsc_build_parameter(&b, 0, hsc_shape_scalar(type), "old");
  return hsc_builder_finish(&b, hsc_build_parameter(&b, 1, hsc_shape_scalar(type), "new"),
                            out_computation);
}

// Indices that a clamp with the operand's sizes can hold: types narrower than 32 bits are widened.
static hsc_instr *clamped_rows(hsc__vmap_frame *f,
                               hsc_instr *rows,
                               const hsc_shape *operand,
                               const hsc_shape *update) {
  hsc_builder *b = &f->b;
  if (hsc_type_bits(rows->shape.type) < 32)
    rows = hsc_build_convert(b, HSC_TYPE_S32, rows);
  hsc_literal *limits = NULL;
  int64_t rank = operand->rank;
  int64_t one = 1;
  hsc_shape shape = hsc_shape_array(b->module->arena, rows->shape.type, 1, &rank);
  hsc_status *status = hsc_literal_create(b->module->arena, &shape, &limits);
  if (status) {
    if (b->status)
      hsc_status_free(status);
    else
      b->status = status;
    return rows;
  }
  for (int i = 0; i < rank; i++)
    hsc_literal_set_int(limits, i, operand->dims[i] - update->dims[i]);
  hsc_instr *high =
      hsc_build_broadcast(b, hsc_build_constant(b, limits), rows->shape, (hsc_dims){1, &one});
  hsc_instr *clamped = hsc_build_binary(b, HSC_OP_MINIMUM, rows, high);
  return hsc_type_class_of(rows->shape.type) == HSC_CLASS_UNSIGNED
             ? clamped
             : hsc_build_binary(b, HSC_OP_MAXIMUM, clamped, hsc__zeros(b, &rows->shape));
}

hsc_status *hsc__vmap_dynamic_update_slice(hsc__vmap_frame *f,
                                           hsc_instr *instr,
                                           const hsc__batch *operands,
                                           hsc__batch *out) {
  int rank = instr->shape.rank;
  int count = instr->operand_count - 2;
  hsc_instr *into = hsc__batched(f, &operands[0]);
  hsc_instr *update = hsc__batched(f, &operands[1]);
  if (count == 0) {
    hsc__give(f, update, true, out);  // a scalar is replaced as a whole
    return NULL;
  }
  if (!any_batched(operands + 2, count)) {
    hsc_instr *all[HSC_MAX_RANK + 1];
    int n = plain_indices(f, operands + 2, count, rank, all);
    hsc__give(f, hsc_build_dynamic_update_slice(&f->b, into, update, n, all), true, out);
    return NULL;
  }
  hsc_computation *replace = NULL;
  HSC_TRY(second_argument(f, instr->shape.type, &replace));
  hsc_instr *rows = clamped_rows(f, index_rows(f, operands + 2, count, rank), &instr->shape,
                                 &instr->operands[1]->shape);
  hsc_instr *built = hsc_build_calls(&f->b, HSC_OP_SCATTER, into->shape, 3,
                                     (hsc_instr *[]){into, rows, update}, 1, &replace);
  built->attr.scatter = (hsc_gather_dims){.offset_dims = count_from(f, 1, rank),
                                          .start_index_map = count_from(f, 1, rank),
                                          .operand_batching_dims = count_from(f, 0, 1),
                                          .start_indices_batching_dims = count_from(f, 0, 1),
                                          .index_vector_dim = 1,
                                          .unique = true};
  hsc__give(f, built, true, out);
  return NULL;
}

// Dimension numbers of the operand and of the small side (gather's result, scatter's updates) after
// the new dimension came in front.
static hsc_gather_dims shifted(hsc__vmap_frame *f,
                               const hsc_gather_dims *from,
                               bool operand,
                               bool indices) {
  hsc_arena *arena = f->b.module->arena;
  hsc_gather_dims to = *from;
  to.offset_dims = hsc__plus_one(arena, from->offset_dims);
  if (operand) {
    to.collapsed_slice_dims = hsc__plus_one(arena, from->collapsed_slice_dims);
    to.start_index_map = hsc__plus_one(arena, from->start_index_map);
    to.operand_batching_dims = indices ? hsc__zero_and_plus_one(arena, from->operand_batching_dims)
                                       : hsc__plus_one(arena, from->operand_batching_dims);
    if (!indices)
      to.offset_dims = hsc__zero_and_plus_one(arena, from->offset_dims);
  }
  if (indices) {
    to.index_vector_dim++;
    to.start_indices_batching_dims =
        operand ? hsc__zero_and_plus_one(arena, from->start_indices_batching_dims)
                : hsc__plus_one(arena, from->start_indices_batching_dims);
  }
  return to;
}

hsc_status *hsc__vmap_gather(hsc__vmap_frame *f,
                             hsc_instr *instr,
                             const hsc__batch *operands,
                             hsc__batch *out) {
  bool operand = hsc__is_batched(&operands[0]);
  bool indices = hsc__is_batched(&operands[1]);
  hsc_attr attr = {.gather = shifted(f, &instr->attr.gather, operand, indices)};
  if (operand) {
    int64_t sizes[HSC_MAX_RANK + 1] = {indices ? 1 : f->cx->count};
    int count = instr->attr.gather.slice_sizes.count;
    for (int i = 0; i < count; i++)
      sizes[i + 1] = instr->attr.gather.slice_sizes.v[i];
    attr.gather.slice_sizes = list(f, count + 1, sizes);
  }
  hsc__give(f,
            hsc__emit(f, instr, &attr, (hsc_shape){0}, 2,
                      (hsc_instr *[]){operands[0].instr, operands[1].instr}),
            true, out);
  return NULL;
}

hsc_status *hsc__vmap_scatter(hsc__vmap_frame *f,
                              hsc_instr *instr,
                              const hsc__batch *operands,
                              hsc__batch *out) {
  int n = (instr->operand_count - 1) / 2;
  bool indices = hsc__is_batched(&operands[n]);
  hsc_attr attr = {.scatter = shifted(f, &instr->attr.scatter, true, indices)};
  if (indices)
    attr.scatter.indices_are_sorted = instr->attr.scatter.indices_are_sorted && f->cx->count == 1;
  hsc_instr **all = hsc__transform_room(f, instr->operand_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < instr->operand_count; i++)
    all[i] = i == n ? operands[i].instr : hsc__batched(f, &operands[i]);
  hsc__give(f, hsc__emit(f, instr, &attr, (hsc_shape){0}, instr->operand_count, all), true, out);
  return NULL;
}
