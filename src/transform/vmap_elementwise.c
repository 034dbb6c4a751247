// vmap_elementwise.c - ops whose element i depends on element i: all operands with the new
// dimension, nothing else changes.
#include "transform/transform_internal.h"

hsc_status *hsc__vmap_elementwise(hsc__vmap_frame *f,
                                  hsc_instr *instr,
                                  const hsc__batch *operands,
                                  hsc__batch *out) {
  hsc_instr **batched = hsc__transform_room(f, instr->operand_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < instr->operand_count; i++)
    batched[i] = hsc__batched(f, &operands[i]);
  hsc__give(f,
            hsc__emit(f, instr, NULL, hsc__batched_shape(f, &instr->shape), instr->operand_count,
                      batched),
            true, out);
  return NULL;
}

// A scalar pred for a whole array: one for all examples stays a scalar, one for each is spread over
// its example.
hsc_status *hsc__vmap_select(hsc__vmap_frame *f,
                             hsc_instr *instr,
                             const hsc__batch *operands,
                             hsc__batch *out) {
  if (!hsc_shape_is_array(&instr->shape))
    return HSC_ERR(UNIMPLEMENTED, "select: not built yet: tuples in vmap");
  if (instr->operands[0]->shape.rank == instr->shape.rank)
    return hsc__vmap_elementwise(f, instr, operands, out);
  hsc_shape shape = hsc__batched_shape(f, &instr->shape);
  hsc_shape pred_shape = hsc_shape_with_type(shape, HSC_TYPE_PRED);
  hsc_instr *batched[3] = {operands[0].instr, hsc__batched(f, &operands[1]),
                           hsc__batched(f, &operands[2])};
  if (hsc__is_batched(&operands[0]))
    batched[0] = hsc__spread(f, &operands[0], &pred_shape);
  hsc__give(f, hsc__emit(f, instr, NULL, shape, 3, batched), true, out);
  return NULL;
}

// Limits may be scalars beside an array.
hsc_status *hsc__vmap_clamp(hsc__vmap_frame *f,
                            hsc_instr *instr,
                            const hsc__batch *operands,
                            hsc__batch *out) {
  hsc_shape shape = hsc__batched_shape(f, &instr->shape);
  hsc_instr *batched[3];
  for (int i = 0; i < 3; i++) {
    bool is_limit = i != 1 && instr->operands[i]->shape.rank == 0;
    if (is_limit && !hsc__is_batched(&operands[i]))
      batched[i] = operands[i].instr;
    else if (is_limit)
      batched[i] = hsc__spread(f, &operands[i], &shape);
    else
      batched[i] = hsc__batched(f, &operands[i]);
  }
  hsc__give(f, hsc__emit(f, instr, NULL, shape, 3, batched), true, out);
  return NULL;
}

hsc_status *hsc__vmap_map(hsc__vmap_frame *f,
                          hsc_instr *instr,
                          const hsc__batch *operands,
                          hsc__batch *out) {
  hsc_attr attr = instr->attr;
  attr.dims.dims = hsc__zero_and_plus_one(f->b.module->arena, instr->attr.dims.dims);
  hsc_instr **batched = hsc__transform_room(f, instr->operand_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < instr->operand_count; i++)
    batched[i] = hsc__batched(f, &operands[i]);
  hsc__give(f,
            hsc__emit(f, instr, &attr, hsc__batched_shape(f, &instr->shape), instr->operand_count,
                      batched),
            true, out);
  return NULL;
}
