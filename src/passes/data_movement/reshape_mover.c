// reshape_mover.c - elementwise operations on reshaped (or transposed) arrays work on the arrays as
// they were, and the result is reshaped.
//
// Moves when every operand is the same reshape or transpose of arrays of the same dimensions, or a
// constant or broadcast scalar, and at least two operands are reshapes that nothing else reads:
// then there are fewer of them after it. Legal always. One walk; chains move from round to round.
//
//   before   ROOT s = f32[4,8] add(reshape(f32[32] x), reshape(f32[32] y))
//   after    s = f32[32] add(x, y);  ROOT r = f32[4,8] reshape(s)
//
// XLA: xla/hlo/transforms/simplifiers/reshape_mover.h
#include "passes/manager/passes_internal.h"

enum { MAX_OPERANDS = 4 };

static bool is_mover(const hsc_instr *instr) {
  return (instr->op == HSC_OP_RESHAPE || instr->op == HSC_OP_TRANSPOSE) && instr->user_count == 1 &&
         instr->parent->root != instr && !instr->control_count && !instr->control_successor_count;
}

static bool moves_alike(const hsc_instr *a, const hsc_instr *b) {
  return a->op == b->op && hsc_shape_same_dims(&a->operands[0]->shape, &b->operands[0]->shape) &&
         (a->op == HSC_OP_RESHAPE || hsc_attr_equal(a, b));
}

static bool is_uniform(const hsc_instr *instr) {
  return instr->op == HSC_OP_BROADCAST && instr->operands[0]->shape.rank == 0;
}

static const hsc_instr *first_mover(const hsc_instr *instr) {
  for (int i = 0; i < instr->operand_count; i++)
    if (is_mover(instr->operands[i]))
      return instr->operands[i];
  return NULL;
}

static bool matches(const hsc_instr *instr) {
  uint32_t traits = hsc_op_traits(instr->op);
  if (!(traits & HSC_TRAIT_ELEMENTWISE) || (traits & HSC_TRAIT_EFFECT) ||
      instr->operand_count < 2 || instr->operand_count > MAX_OPERANDS)
    return false;
  const hsc_instr *mover = first_mover(instr);
  if (!mover || hsc_shape_elements(&mover->shape) == 1 || mover->operands[0]->shape.dynamic ||
      mover->shape.dynamic)
    return false;
  int movers = 0;
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *operand = instr->operands[i];
    if (is_mover(operand) && moves_alike(operand, mover))
      movers++;
    else if (!is_uniform(operand))
      return false;
  }
  return movers >= 2;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  const hsc_instr *mover = first_mover(instr);
  const hsc_shape *inner = &mover->operands[0]->shape;
  hsc_instr *operands[MAX_OPERANDS];
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *operand = instr->operands[i];
    operands[i] =
        is_uniform(operand)
            ? hsc_build_broadcast(b, operand->operands[0],
                                  hsc_shape_with_type(*inner, operand->shape.type), (hsc_dims){0})
            : operand->operands[0];
  }
  hsc_instr *value = hsc_build_clone(b, instr, operands);
  if (b->status)
    return instr;
  value->shape =
      hsc_shape_with_type(hsc_shape_without_layout(b->module->arena, *inner), instr->shape.type);
  if (mover->op == HSC_OP_TRANSPOSE)
    return hsc_build_transpose(b, value, mover->attr.dims.dims);
  return hsc_build_reshape(b, value, instr->shape.rank, instr->shape.dims);
}

hsc_status *hsc__pass_reshape_mover(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
