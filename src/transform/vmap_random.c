// vmap_random.c - random operations: refused, the same for all examples, or different for each, as
// the user chose.
#include "transform/transform_internal.h"

static hsc_status *check_mode(hsc__vmap_frame *f, const hsc_instr *instr) {
  if (f->cx->randomness != HSC_RANDOMNESS_ERROR)
    return NULL;
  return hsc_status_hint(
      HSC_ERR(FAILED_PRECONDITION,
              "vmap: called random operation %s while in randomness error mode (%%%s)",
              hsc_op_text(instr->op), instr->name),
      "--randomness=same gives every example the same numbers, --randomness=different draws for "
      "each");
}

static hsc_status *unbatched(hsc__vmap_frame *f,
                             hsc_instr *instr,
                             const hsc__batch *operands,
                             hsc__batch *out) {
  hsc_instr *all[2] = {NULL, NULL};
  for (int i = 0; i < instr->operand_count && i < 2; i++)
    all[i] = operands[i].instr;
  hsc__give(f, hsc_build_clone(&f->b, instr, all), false, out);
  return NULL;
}

// rng(a, b): uniform from a to b, or normal with mean a and deviation b.
hsc_status *hsc__vmap_rng(hsc__vmap_frame *f,
                          hsc_instr *instr,
                          const hsc__batch *operands,
                          hsc__batch *out) {
  HSC_TRY(check_mode(f, instr));
  bool own_range = hsc__any(&operands[0]) || hsc__any(&operands[1]);
  bool same = f->cx->randomness == HSC_RANDOMNESS_SAME;
  if (!own_range && same)
    return unbatched(f, instr, operands, out);
  if (!own_range) {
    hsc__give(f,
              hsc__emit(f, instr, NULL, hsc__batched_shape(f, &instr->shape), 2,
                        (hsc_instr *[]){operands[0].instr, operands[1].instr}),
              true, out);
    return NULL;
  }
  if (!same)
    return hsc__vmap_by_loop(f, instr, operands, out);
  // The same draw for all, stretched to each example's own range: a + u (b - a), or a + z b.
  if (!hsc_type_is_float(instr->shape.type))
    return HSC_ERR(FAILED_PRECONDITION,
                   "vmap: rng %%%s draws integers from a range of each example's own, which cannot "
                   "be the same for all",
                   instr->name);
  hsc_instr *unit[2] = {hsc_build_scalar(&f->b, instr->shape.type, 0),
                        hsc_build_scalar(&f->b, instr->shape.type, 1)};
  hsc_shape shape = hsc__batched_shape(f, &instr->shape);
  hsc__batch draw;
  hsc__give(f, hsc_build_clone(&f->b, instr, unit), false, &draw);
  hsc_instr *low = hsc__spread(f, &operands[0], &shape);
  hsc_instr *width = hsc__spread(f, &operands[1], &shape);
  if (instr->attr.rng.distribution != HSC_RNG_NORMAL)
    width = hsc_build_binary(&f->b, HSC_OP_SUBTRACT, width, low);
  hsc_instr *stretched = hsc_build_binary(&f->b, HSC_OP_MULTIPLY, hsc__batched(f, &draw), width);
  hsc__give(f, hsc_build_binary(&f->b, HSC_OP_ADD, stretched, low), true, out);
  return NULL;
}

// (state) to (state, bits). A state of each example's own gives each its own bits in any mode. One
// state for all: the bits of one example for all of them, or one longer draw.
hsc_status *hsc__vmap_rng_bit_generator(hsc__vmap_frame *f,
                                        hsc_instr *instr,
                                        const hsc__batch *operands,
                                        hsc__batch *out) {
  HSC_TRY(check_mode(f, instr));
  if (hsc__any(&operands[0]))
    return hsc__vmap_by_loop(f, instr, operands, out);
  if (f->cx->randomness == HSC_RANDOMNESS_SAME)
    return unbatched(f, instr, operands, out);
  bool is_tuple = hsc_shape_is_tuple(&instr->shape);
  int leaves = hsc_shape_leaf_count(&instr->shape);
  int at = 0;
  bool *flags = HSC_NEW_ARRAY(f->cx->arena, bool, leaves + 1);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  flags[is_tuple ? 1 : 0] = true;
  hsc_instr *built = hsc__emit(f, instr, NULL, hsc__vmap_shape(f, &instr->shape, flags, &at), 1,
                               &operands[0].instr);
  *out = (hsc__batch){.instr = built, .batched = flags, .leaf_count = leaves};
  return NULL;
}

hsc_status *hsc__vmap_rng_state(hsc__vmap_frame *f,
                                hsc_instr *instr,
                                const hsc__batch *operands,
                                hsc__batch *out) {
  HSC_TRY(check_mode(f, instr));
  return f->cx->randomness == HSC_RANDOMNESS_SAME ? unbatched(f, instr, operands, out)
                                                  : hsc__vmap_by_loop(f, instr, operands, out);
}
