// bitcast_dtypes_expander.c - a bitcast-convert between types of different widths as shifts and
// conversions of unsigned numbers.
//
// To a narrower type each number gives a new minor dimension of its parts, lowest first; to a wider
// one the minor dimension is put together. Legal for types of 8 to 64 bits that are not complex.
// The device reinterprets in place, so it runs on request. One walk.
//
//   before   ROOT b = u8[4,2] bitcast-convert(u16[4] x)
//   after    s = u16[4,2] shift-right-logical(broadcast(x), multiply(iota, 8));  ROOT b = u8[4,2]
//            convert(s)
//
// XLA: xla/hlo/transforms/expanders/bitcast_dtypes_expander.h
#include "passes/manager/passes_internal.h"

static hsc_type unsigned_of(hsc_type type) {
  switch (hsc_type_bits(type)) {
    case 8:
      return HSC_TYPE_U8;
    case 16:
      return HSC_TYPE_U16;
    case 32:
      return HSC_TYPE_U32;
    case 64:
      return HSC_TYPE_U64;
    default:
      return HSC_TYPE_INVALID;
  }
}

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_BITCAST_CONVERT)
    return false;
  hsc_type from = instr->operands[0]->shape.type;
  hsc_type to = instr->shape.type;
  if (hsc_type_is_complex(from) || hsc_type_is_complex(to) || from == HSC_TYPE_PRED ||
      to == HSC_TYPE_PRED)
    return false;
  return hsc_type_bits(from) != hsc_type_bits(to) && unsigned_of(from) != HSC_TYPE_INVALID &&
         unsigned_of(to) != HSC_TYPE_INVALID;
}

static hsc_instr *as(hsc_builder *b, hsc_type type, hsc_instr *x) {
  if (x->shape.type == type)
    return x;
  hsc_shape shape = hsc_shape_with_type(hsc_shape_without_layout(b->module->arena, x->shape), type);
  return hsc_build(b, HSC_OP_BITCAST_CONVERT, shape, 1, &x);
}

// 0, width, 2 width ... along the minor dimension.
static hsc_instr *shifts(hsc_builder *b, hsc_shape shape, int width) {
  hsc_instr *steps = hsc_build_iota(b, shape, shape.rank - 1);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, steps, hsc__uniform_constant(b, width, steps));
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  hsc_instr *x = instr->operands[0];
  hsc_type from = x->shape.type;
  hsc_type to = instr->shape.type;
  int64_t iota[HSC_MAX_RANK];
  for (int i = 0; i < HSC_MAX_RANK; i++)
    iota[i] = i;
  if (hsc_type_bits(from) > hsc_type_bits(to)) {
    hsc_shape wide =
        hsc_shape_array(arena, unsigned_of(from), instr->shape.rank, instr->shape.dims);
    hsc_instr *all = hsc_build_broadcast(b, as(b, unsigned_of(from), x), wide,
                                         hsc_dims_copy(arena, x->shape.rank, iota));
    hsc_instr *parts =
        hsc_build_binary(b, HSC_OP_SHIFT_RIGHT_LOGICAL, all, shifts(b, wide, hsc_type_bits(to)));
    return as(b, to, hsc_build_convert(b, unsigned_of(to), parts));
  }
  hsc_shape wide = hsc_shape_array(arena, unsigned_of(to), x->shape.rank, x->shape.dims);
  hsc_instr *parts = hsc_build_convert(b, unsigned_of(to), as(b, unsigned_of(from), x));
  hsc_instr *placed =
      hsc_build_binary(b, HSC_OP_SHIFT_LEFT, parts, shifts(b, wide, hsc_type_bits(from)));
  hsc_instr *zero = hsc_build_scalar(b, unsigned_of(to), 0);
  hsc_computation *either = hsc_module_scalar_reducer(b->module, HSC_OP_OR, unsigned_of(to));
  return as(b, to, hsc_build_reduce(b, placed, zero, HSC_DIMS(arena, x->shape.rank - 1), either));
}

hsc_status *hsc__pass_bitcast_dtypes_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
