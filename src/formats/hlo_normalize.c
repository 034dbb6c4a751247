// hlo_normalize.c - one form for attributes that can be said in two ways, so that equal programs have equal fingerprints whatever they were read
// from: the comparison type that the operands imply, precisions that are all default, gather and scatter without batching dimensions.
#include "formats/hlo_text_internal.h"

static hsc_compare_type implied_compare_type(hsc_type type) {
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_FLOAT:
    case HSC_CLASS_COMPLEX: return HSC_COMPARE_FLOAT;
    case HSC_CLASS_SIGNED: return HSC_COMPARE_SIGNED;
    default: return HSC_COMPARE_UNSIGNED;
  }
}

static void drop_default_precision(hsc_dims *precision) {
  for (int i = 0; i < precision->count; i++)
    if (precision->v[i] != 0) return;
  *precision = (hsc_dims){0};
}

void hsc__instr_normalize(hsc_arena *arena, hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_COMPARE:
      if (instr->operand_count > 0 && instr->attr.compare.type == implied_compare_type(instr->operands[0]->shape.type)) instr->attr.compare.type = HSC_COMPARE_DEFAULT;
      break;
    case HSC_OP_CONVOLUTION: drop_default_precision(&instr->attr.conv.precision); break;
    case HSC_OP_DOT:
    case HSC_OP_RAGGED_DOT:
    case HSC_OP_SCALED_DOT: drop_default_precision(&instr->attr.dot.precision); break;
    case HSC_OP_MAP:   // the dimensions of a map are all of them, in order
      if (instr->attr.dims.dims.count == 0 && instr->shape.rank > 0) {
        int64_t all[HSC_MAX_RANK];
        for (int i = 0; i < instr->shape.rank; i++) all[i] = i;
        instr->attr.dims.dims = hsc_dims_copy(arena, instr->shape.rank, all);
      }
      break;
    default: break;
  }
}
