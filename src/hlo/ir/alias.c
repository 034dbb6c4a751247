// alias.c - which instructions give their first operand's bytes as they are.
#include "hlo/ir/hlo.h"

// Types narrower than a byte are stored one to a byte: their bits do not lie as a wider type wants
// them.
static bool fills_its_bytes(const hsc_shape *shape) {
  return hsc_type_bits(shape->type) == 8 * (int)hsc_type_bytes(shape->type);
}

// A bitcast between two dense arrays in row-major order.
static bool is_dense_bitcast(const hsc_shape *to, const hsc_shape *from) {
  return hsc_layout_is_default(to) && hsc_layout_is_default(from) &&
         hsc_shape_bytes(to) == hsc_shape_bytes(from) && fills_its_bytes(to) &&
         fills_its_bytes(from);
}

// Whether dimensions[0..count) keep their order, those of size 1 in `shape` aside: moving a
// dimension of size 1 moves no element.
static bool keeps_order(hsc_dims dimensions, int count, const hsc_shape *shape) {
  int64_t last = -1;
  for (int i = 0; i < count; i++) {
    int64_t dim = dimensions.v[i];
    if (shape->dims[dim] == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

static bool reverses_nothing(const hsc_instr *instr) {
  for (int i = 0; i < instr->attr.dims.dims.count; i++)
    if (instr->shape.dims[instr->attr.dims.dims.v[i]] > 1)
      return false;
  return true;
}

bool hsc_instr_is_alias(const hsc_instr *instr) {
  if (hsc_op_traits(instr->op) & HSC_TRAIT_ALIAS)
    return true;
  if (instr->operand_count == 0)
    return false;
  const hsc_shape *to = &instr->shape;
  const hsc_shape *from = &instr->operands[0]->shape;
  switch (instr->op) {
    case HSC_OP_BITCAST:
    case HSC_OP_BITCAST_CONVERT:
      return is_dense_bitcast(to, from);
    case HSC_OP_CONVERT:
      return to->type == from->type;
    case HSC_OP_TRANSPOSE:
      return keeps_order(instr->attr.dims.dims, to->rank, from);
    case HSC_OP_BROADCAST:
      return hsc_shape_elements(to) == hsc_shape_elements(from) &&
             keeps_order(instr->attr.dims.dims, from->rank, to);
    case HSC_OP_REVERSE:
      return reverses_nothing(instr);
    case HSC_OP_CONCATENATE:
      return instr->operand_count == 1 && hsc_shape_same_dims(to, from);
    case HSC_OP_SLICE:
      return hsc_shape_same_dims(to, from);
    default:
      return false;
  }
}
