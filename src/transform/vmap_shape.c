// vmap_shape.c - ops that move data, and those of the last dimensions: the new dimension stays in
// front, numbers of dimensions go up by one.
#include "transform/transform_internal.h"

// Ops that are right as they are on shapes with a dimension more in front: reshape, copy,
// bitcast-convert, cholesky, fft, topk, ...
hsc_status *hsc__vmap_given_shape(hsc__vmap_frame *f,
                                  hsc_instr *instr,
                                  const hsc__batch *operands,
                                  hsc__batch *out) {
  return hsc__vmap_elementwise(f, instr, operands, out);
}

// Between default layouts a bitcast is a reshape; others are taken example by example.
hsc_status *hsc__vmap_bitcast(hsc__vmap_frame *f,
                              hsc_instr *instr,
                              const hsc__batch *operands,
                              hsc__batch *out) {
  bool plain =
      hsc_layout_is_default(&instr->shape) && hsc_layout_is_default(&instr->operands[0]->shape);
  return plain ? hsc__vmap_elementwise(f, instr, operands, out)
               : hsc__vmap_by_loop(f, instr, operands, out);
}

hsc_status *hsc__vmap_broadcast(hsc__vmap_frame *f,
                                hsc_instr *instr,
                                const hsc__batch *operands,
                                hsc__batch *out) {
  hsc_attr attr = instr->attr;
  attr.dims.dims = hsc__zero_and_plus_one(f->b.module->arena, instr->attr.dims.dims);
  hsc__give(f,
            hsc__emit(f, instr, &attr, hsc__batched_shape(f, &instr->shape), 1, &operands[0].instr),
            true, out);
  return NULL;
}

hsc_status *hsc__vmap_transpose(hsc__vmap_frame *f,
                                hsc_instr *instr,
                                const hsc__batch *operands,
                                hsc__batch *out) {
  hsc_attr attr = instr->attr;
  attr.dims.dims = hsc__zero_and_plus_one(f->b.module->arena, instr->attr.dims.dims);
  hsc__give(f, hsc__emit(f, instr, &attr, (hsc_shape){0}, 1, &operands[0].instr), true, out);
  return NULL;
}

hsc_status *hsc__vmap_slice(hsc__vmap_frame *f,
                            hsc_instr *instr,
                            const hsc__batch *operands,
                            hsc__batch *out) {
  hsc_arena *arena = f->b.module->arena;
  int rank = instr->shape.rank;
  int64_t start[HSC_MAX_RANK + 1] = {0};
  int64_t limit[HSC_MAX_RANK + 1] = {f->cx->count};
  int64_t stride[HSC_MAX_RANK + 1] = {1};
  for (int i = 0; i < rank; i++) {
    start[i + 1] = instr->attr.slice.start.v[i];
    limit[i + 1] = instr->attr.slice.limit.v[i];
    stride[i + 1] = i < instr->attr.slice.stride.count ? instr->attr.slice.stride.v[i] : 1;
  }
  hsc_attr attr = {.slice = {hsc_dims_copy(arena, rank + 1, start),
                             hsc_dims_copy(arena, rank + 1, limit),
                             hsc_dims_copy(arena, rank + 1, stride)}};
  hsc__give(f, hsc__emit(f, instr, &attr, (hsc_shape){0}, 1, &operands[0].instr), true, out);
  return NULL;
}

static hsc_attr pad_attr(hsc__vmap_frame *f, const hsc_instr *instr) {
  int rank = instr->attr.pad.rank;
  hsc_pad_dim *dims = HSC_NEW_ARRAY(f->b.module->arena, hsc_pad_dim, rank + 1);
  if (dims && rank > 0)
    memcpy(dims + 1, instr->attr.pad.dims, (size_t)rank * sizeof(*dims));
  return (hsc_attr){.pad = {.rank = dims ? rank + 1 : 0, .dims = dims}};
}

// A padding value of each example's own: pad with zeros, and select it where the same padding of
// "true" by "false" says so.
hsc_status *hsc__vmap_pad(hsc__vmap_frame *f,
                          hsc_instr *instr,
                          const hsc__batch *operands,
                          hsc__batch *out) {
  hsc_attr attr = pad_attr(f, instr);
  HSC_TRY(hsc_arena_status(f->b.module->arena));
  hsc_instr *x = hsc__batched(f, &operands[0]);
  if (!hsc__is_batched(&operands[1])) {
    hsc__give(f,
              hsc__emit(f, instr, &attr, (hsc_shape){0}, 2, (hsc_instr *[]){x, operands[1].instr}),
              true, out);
    return NULL;
  }
  hsc_instr *zero = hsc_build_scalar(&f->b, instr->shape.type, 0);
  hsc_instr *yes = hsc_build_scalar(&f->b, HSC_TYPE_PRED, 1);
  hsc_instr *no = hsc_build_scalar(&f->b, HSC_TYPE_PRED, 0);
  hsc_instr *padded = hsc__emit(f, instr, &attr, (hsc_shape){0}, 2, (hsc_instr *[]){x, zero});
  hsc_instr *everywhere =
      hsc_build_broadcast(&f->b, yes, hsc_shape_with_type(x->shape, HSC_TYPE_PRED), (hsc_dims){0});
  hsc_instr *inside =
      hsc__emit(f, instr, &attr, (hsc_shape){0}, 2, (hsc_instr *[]){everywhere, no});
  hsc__give(f,
            hsc_build_select(&f->b, inside, padded, hsc__spread(f, &operands[1], &padded->shape)),
            true, out);
  return NULL;
}

// reverse, concatenate, sort, get-dimension-size, all-gather, ...: dimension numbers go up by one.
// Array operands all get the new dimension.
hsc_status *hsc__vmap_dims_plus_one(hsc__vmap_frame *f,
                                    hsc_instr *instr,
                                    const hsc__batch *operands,
                                    hsc__batch *out) {
  hsc_attr attr = instr->attr;
  bool collective = (hsc_op_traits(instr->op) & HSC_TRAIT_COLLECTIVE) != 0;
  if (collective)
    attr.collective.dims = hsc__plus_one(f->b.module->arena, instr->attr.collective.dims);
  else
    attr.dims.dims = hsc__plus_one(f->b.module->arena, instr->attr.dims.dims);
  hsc_instr **batched = hsc__transform_room(f, instr->operand_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < instr->operand_count; i++)
    batched[i] = hsc__batched(f, &operands[i]);
  int at = 0;
  int count = hsc_shape_leaf_count(&instr->shape);
  bool *all = HSC_NEW_ARRAY(f->cx->arena, bool, count + 1);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  memset(all, 1, (size_t)count * sizeof(*all));
  bool scalar = instr->op == HSC_OP_GET_DIMENSION_SIZE;  // the same for all
  hsc_shape shape = scalar ? instr->shape : hsc__vmap_shape(f, &instr->shape, all, &at);
  hsc__give(f, hsc__emit(f, instr, &attr, shape, instr->operand_count, batched), !scalar, out);
  return NULL;
}

hsc_status *hsc__vmap_set_dimension_size(hsc__vmap_frame *f,
                                         hsc_instr *instr,
                                         const hsc__batch *operands,
                                         hsc__batch *out) {
  if (hsc__is_batched(&operands[1]))
    return HSC_ERR(FAILED_PRECONDITION,
                   "vmap: set-dimension-size: a size of each example's own makes an array that is "
                   "not rectangular");
  hsc_attr attr = instr->attr;
  attr.dims.dims = hsc__plus_one(f->b.module->arena, instr->attr.dims.dims);
  hsc_instr *inputs[] = {hsc__batched(f, &operands[0]), operands[1].instr};
  hsc_shape shape = hsc__batched_shape(f, &instr->shape);
  hsc__give(f, hsc__emit(f, instr, &attr, shape, 2, inputs), true, out);
  return NULL;
}
