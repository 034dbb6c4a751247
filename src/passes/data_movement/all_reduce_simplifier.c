// all_reduce_simplifier.c - operations between devices of which only one takes part are the
// identity.
//
// all-reduce, all-gather, all-to-all, reduce-scatter, collective-broadcast; a collective-permute
// within one device sends to itself or gives zeros. Legal when every group has one member and
// shapes stay. One walk.
//
//   before   a = f32[8] all-reduce(x), replica_groups={{0}}, to_apply=plus;  ROOT r = negate(a)
//   after    ROOT r = negate(x)
//
// XLA: xla/service/all_reduce_simplifier.h
#include "hlo/ir/groups.h"
#include "passes/manager/passes_internal.h"

static bool is_collective(hsc_op op) {
  switch (op) {
    case HSC_OP_ALL_REDUCE:
    case HSC_OP_ALL_GATHER:
    case HSC_OP_ALL_TO_ALL:
    case HSC_OP_REDUCE_SCATTER:
    case HSC_OP_COLLECTIVE_BROADCAST:
    case HSC_OP_COLLECTIVE_PERMUTE:
      return true;
    default:
      return false;
  }
}

static bool matches(const hsc_instr *instr) {
  if (!is_collective(instr->op) || instr->operand_count == 0)
    return false;
  const hsc_module *module = instr->parent->module;
  // A permute names pairs, not groups: it is known to stay here only when there is no other place.
  bool alone = module->replica_count <= 1 && module->num_partitions <= 1;
  if (instr->op == HSC_OP_COLLECTIVE_PERMUTE ? !alone || instr->operand_count != 1
                                             : hsc_collective_group_size(instr) != 1)
    return false;
  if (hsc_shape_is_array(&instr->shape))
    return instr->operand_count == 1 && hsc_shape_equal(&instr->shape, &instr->operands[0]->shape);
  if (!hsc_shape_is_tuple(&instr->shape) || instr->shape.element_count != instr->operand_count)
    return false;
  for (int i = 0; i < instr->operand_count; i++)
    if (!hsc_shape_equal(&instr->shape.elements[i], &instr->operands[i]->shape))
      return false;
  return true;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  if (instr->op == HSC_OP_COLLECTIVE_PERMUTE && !hsc_pairs_keep(instr->attr.collective.pairs, 0))
    return hsc__uniform_constant(b, 0, instr);
  return hsc_shape_is_array(&instr->shape)
             ? instr->operands[0]
             : hsc_build_tuple(b, instr->operand_count, instr->operands);
}

hsc_status *hsc__pass_all_reduce_simplifier(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
