// sort_simplifier.c - operands of a sort that nobody reads drop out: neither the comparator nor a
// reader of the result.
//
// Legal always. One walk over the sorts, linear in their operands and comparators; the comparator
// is rewritten without the parameters.
//
//   before   s = (f32[64], s32[64]) sort(x, i), to_apply=less(a, b, ia, ib);  ROOT r =
//            get-tuple-element(s), index=0
//   after    ROOT s = f32[64] sort(x), to_apply=less(a, b)
//
// XLA: xla/hlo/transforms/simplifiers/sort_simplifier.h
#include "passes/manager/passes_internal.h"

// Marks the operands that count; returns how many. 0 = leave the sort alone.
static int used_operands(const hsc_instr *sort, bool *used) {
  const hsc_computation *less = sort->called[0];
  int count = 0;
  if (sort->parent->root == sort)
    return 0;
  for (int i = 0; i < sort->operand_count; i++)
    used[i] = less->parameters[2 * i]->user_count || less->parameters[2 * i + 1]->user_count ||
              less->root == less->parameters[2 * i] || less->root == less->parameters[2 * i + 1];
  for (int i = 0; i < sort->user_count; i++) {
    const hsc_instr *user = sort->users[i];
    if (user->op != HSC_OP_GET_TUPLE_ELEMENT)
      return 0;
    if (user->user_count || user->parent->root == user)
      used[user->attr.index.value] = true;
  }
  for (int i = 0; i < sort->operand_count; i++)
    count += used[i];
  return count;
}

static hsc_status *shrink(hsc_instr *sort, const bool *used, int count, hsc_arena *scratch) {
  hsc_module *module = sort->parent->module;
  hsc_instr **operands = HSC_NEW_ARRAY(scratch, hsc_instr *, count);
  hsc_instr **parameters = HSC_NEW_ARRAY(scratch, hsc_instr *, 2 * sort->operand_count);
  hsc_shape *shapes = HSC_NEW_ARRAY(scratch, hsc_shape, count);
  if (!operands || !parameters || !shapes)
    return hsc_status_out_of_memory();
  hsc_builder body, b;
  hsc_builder_init(&body, module, sort->called[0]->name);
  int kept = 0;
  for (int i = 0; i < sort->operand_count; i++) {
    if (!used[i])
      continue;
    for (int side = 0; side < 2; side++)
      parameters[2 * i + side] = hsc_build_parameter(
          &body, 2 * kept + side, sort->called[0]->parameters[2 * i + side]->shape,
          side ? "rhs" : "lhs");
    operands[kept] = sort->operands[i];
    shapes[kept++] = sort->shape.elements[i];
  }
  hsc_computation *less = NULL;
  hsc_instr *root = hsc__build_body(&body, sort->called[0], parameters);
  HSC_TRY(hsc_builder_finish(&body, root, &less));
  hsc_builder_at(&b, sort->parent, sort);
  b.metadata = sort->metadata;
  hsc_shape shape = count == 1 ? shapes[0] : hsc_shape_tuple(module->arena, count, shapes);
  hsc_instr *replacement = hsc_build_calls(&b, HSC_OP_SORT, shape, count, operands, 1, &less);
  replacement->attr = sort->attr;
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  for (int i = sort->user_count - 1; i >= 0; i--) {
    hsc_instr *reader = sort->users[i];
    hsc_instr *value = replacement;
    int64_t at = 0;
    for (int64_t k = 0; k < reader->attr.index.value; k++)
      at += used[k];
    if (!used[reader->attr.index.value]) {
      hsc_instr_remove(reader);
      continue;
    }
    if (count > 1)
      value = hsc_build_get_tuple_element(&b, replacement, at);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
    HSC_TRY(hsc__replace(reader, value));
  }
  if (hsc_instr_is_dead(sort))
    hsc_instr_remove(sort);
  return NULL;
}

hsc_status *hsc__pass_sort_simplifier(hsc_module *module, hsc_pass_context *cx) {
  int computations = module->computation_count;
  for (int c = 0; c < computations; c++) {
    hsc_instr *next = NULL;
    for (hsc_instr *instr = module->computations[c]->first; instr; instr = next) {
      next = instr->next;
      if (instr->op != HSC_OP_SORT || instr->operand_count < 2 || instr->control_count ||
          instr->control_successor_count)
        continue;
      bool *used = HSC_NEW_ARRAY(cx->scratch, bool, instr->operand_count);
      if (!used)
        return hsc_status_out_of_memory();
      int count = used_operands(instr, used);
      if (count == 0 || count == instr->operand_count)
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      // Its readers, which may be next, are replaced and removed: go on after the last of what
      // this sort still has.
      hsc_instr *before = instr->prev;
      HSC_TRY(shrink(instr, used, count, cx->scratch));
      next = before ? before->next : module->computations[c]->first;
      while (next && next->op != HSC_OP_SORT)
        next = next->next;
      next = next ? next->next : NULL;
    }
  }
  return NULL;
}
