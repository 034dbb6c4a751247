// pass_edit.c - edits that several passes share: replace, inline, wrap in a fusion, move a producer
// into a fusion.
//
// What is replaced goes at once where nothing reads it any more, but not what only it read: that is
// left to dce. Parameters stay, and so do instructions with an effect, unless the replacement has
// it too (hsc__replace_effects_too).
#include "passes/manager/passes_internal.h"

hsc_status *hsc__replace(hsc_instr *instr, hsc_instr *replacement) {
  HSC_TRY(hsc_instr_replace_uses(instr, replacement));
  hsc__fusion_became(instr, replacement);
  if (instr->user_count == 0 && instr->parent->root != instr && instr->op != HSC_OP_PARAMETER &&
      !hsc_instr_has_effect(instr) && instr->control_count == 0)
    hsc_instr_remove(instr);
  return NULL;
}

hsc_instr *hsc__build_body(hsc_builder *b,
                           hsc_computation *computation,
                           hsc_instr *const *arguments) {
  hsc_arena *arena = b->module->arena;
  int32_t index = 0;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next)
    instr->index = index++;
  hsc_instr **clones = HSC_NEW_ARRAY(arena, hsc_instr *, index);
  if (!clones)
    return arguments[0];  // the builder gives the arena's error in the end
  hsc_instr **operands = NULL;
  int32_t capacity = 0;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    if (instr->op == HSC_OP_PARAMETER) {
      clones[instr->index] = arguments[instr->attr.index.value];
      continue;
    }
    if (instr->operand_count > capacity) {
      capacity = 2 * instr->operand_count;
      operands = HSC_NEW_ARRAY(arena, hsc_instr *, capacity);
      if (!operands)
        return arguments[0];
    }
    for (int i = 0; i < instr->operand_count; i++)
      operands[i] = clones[instr->operands[i]->index];
    clones[instr->index] = hsc_build_clone(b, instr, operands);
  }
  return clones[computation->root->index];
}

hsc_status *hsc__inline(hsc_computation *computation,
                        hsc_instr *before,
                        hsc_instr *const *arguments,
                        hsc_instr **out_root) {
  hsc_builder b;
  HSC_TRY(hsc_module_may_copy(before->parent->module, computation, before));
  hsc_builder_at(&b, before->parent, before);
  *out_root = hsc__build_body(&b, computation, arguments);
  return hsc_builder_finish(&b, NULL, NULL);
}

hsc_status *hsc__replace_effects_too(hsc_instr *instr, hsc_instr *replacement) {
  bool has_effect = hsc_instr_has_effect(instr);
  HSC_TRY(hsc__replace(instr, replacement));
  if (has_effect && instr->user_count == 0 && instr->parent->root != instr)
    hsc_instr_remove(instr);
  return NULL;
}

hsc_status *hsc__rewrite_each(hsc_module *module,
                              hsc_pass_context *cx,
                              bool (*matches)(const hsc_instr *instr),
                              hsc_instr *(*rewrite)(hsc_builder *b, hsc_instr *instr)) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->control_count || instr->control_successor_count || !matches(instr))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_builder b;
      hsc_builder_at(&b, computation, instr);
      b.metadata = instr->metadata;
      hsc_instr *replacement = rewrite(&b, instr);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      HSC_TRY(hsc__replace(instr, replacement));
    }
  }
  return NULL;
}

hsc_status *hsc__wrap_in_fusion(hsc_instr *instr, hsc_fusion_kind kind, hsc_instr **out_fusion) {
  hsc_module *module = instr->parent->module;
  hsc_arena *arena = module->arena;
  hsc_builder body;
  hsc_builder_init(&body, module, "fused_computation");
  hsc_instr **arguments = HSC_NEW_ARRAY(arena, hsc_instr *, instr->operand_count + 1);
  hsc_instr **inner = HSC_NEW_ARRAY(arena, hsc_instr *, instr->operand_count + 1);
  if (!arguments || !inner)
    return hsc_status_out_of_memory();
  int count = 0;
  for (int i = 0; i < instr->operand_count; i++) {
    int known = 0;
    while (known < count && arguments[known] != instr->operands[i])
      known++;
    if (known == count) {
      arguments[count] = instr->operands[i];
      char name[32];
      snprintf(name, sizeof name, "param_%d", count);
      hsc_build_parameter(&body, count, instr->operands[i]->shape, name);
      count++;
    }
    inner[i] = body.status ? instr->operands[i] : body.computation->parameters[known];
  }
  hsc_computation *computation = NULL;
  hsc_instr *root = hsc_build_clone(&body, instr, inner);
  HSC_TRY(hsc_builder_finish(&body, root, &computation));
  hsc_builder b;
  hsc_builder_at(&b, instr->parent, instr);
  b.metadata = instr->metadata;
  hsc_instr *fusion =
      hsc_build_calls(&b, HSC_OP_FUSION, instr->shape, count, arguments, 1, &computation);
  fusion->attr.fusion.kind = kind;
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  HSC_TRY(hsc__replace(instr, fusion));
  *out_fusion = fusion;
  return NULL;
}

// Whether nothing but parameters is before it: new ones are, those of a fusion that the program
// brought along may be anywhere.
static bool is_at_the_front(const hsc_instr *parameter) {
  const hsc_instr *before = parameter->prev;
  while (before && before->op == HSC_OP_PARAMETER)
    before = before->prev;
  return !before;
}

// The parameter of the body that stands for `value`, added (with the operand) when it is not there
// yet; it comes before all that is no parameter.
static hsc_status *parameter_for(hsc_computation *body,
                                 hsc_instr *value,
                                 hsc_instr **operands,
                                 int *count,
                                 hsc_instr **out_parameter) {
  for (int i = 0; i < *count; i++) {
    if (operands[i] != value)
      continue;
    *out_parameter = body->parameters[i];
    if (!is_at_the_front(body->parameters[i]))
      hsc_instr_move_before(body->parameters[i], body->first);
    return NULL;
  }
  hsc_builder b;
  hsc_builder_at(&b, body, body->first);
  char name[32];
  snprintf(name, sizeof name, "param_%d", *count);
  *out_parameter = hsc_build_parameter(&b, *count, value->shape, name);
  operands[(*count)++] = value;
  return hsc_builder_finish(&b, NULL, NULL);
}

// Removes parameter `number`, which has no users, renumbering the later ones.
static void drop_parameter(hsc_computation *body, int number) {
  hsc_instr *parameter = body->parameters[number];
  for (int i = number; i + 1 < body->parameter_count; i++) {
    body->parameters[i] = body->parameters[i + 1];
    body->parameters[i]->attr.index.value = i;
  }
  body->parameters[--body->parameter_count] = NULL;
  hsc_instr_remove(parameter);
}

void hsc__remove_dead(hsc_computation *computation) {
  for (hsc_instr *instr = computation->last, *before; instr; instr = before) {
    before = instr->prev;
    if (instr->op != HSC_OP_PARAMETER && hsc_instr_is_dead(instr))
      hsc_instr_remove(instr);
  }
}

hsc_status *hsc__drop_unread_operands(hsc_instr *fusion) {
  hsc_computation *body = fusion->called[0];
  hsc_instr **operands = HSC_NEW_ARRAY(body->module->arena, hsc_instr *, fusion->operand_count + 1);
  if (!operands)
    return hsc_status_out_of_memory();
  int kept = 0;
  for (int i = 0; i < fusion->operand_count; i++) {
    const hsc_instr *parameter = body->parameters[kept];
    if (parameter->user_count == 0 && body->root != parameter)
      drop_parameter(body, kept);
    else
      operands[kept++] = fusion->operands[i];
  }
  hsc_instr_set_operands(fusion, kept, operands);
  return hsc_arena_status(body->module->arena);
}

hsc_status *hsc__fuse_into(hsc_instr *fusion, hsc_instr *producer) {
  hsc_computation *body = fusion->called[0];
  int number = 0;
  int count = fusion->operand_count;
  while (number < count && fusion->operands[number] != producer)
    number++;
  if (number == count)
    return HSC_ERR(INTERNAL, "fuse: %s is not an operand of %s", producer->name, fusion->name);
  if (body->index > 1) {  // other fusions go on with the body as it is
    HSC_TRY(hsc_computation_clone(body->module, body, NULL, false, &fusion->called[0]));
    body->index--;
    body = fusion->called[0];
    body->index = 1;
  }
  hsc_instr *parameter = body->parameters[number];
  // The fusion's operands from now on; the producer among them until it is taken in.
  hsc_instr **operands =
      HSC_NEW_ARRAY(body->module->arena, hsc_instr *, count + 2 * producer->operand_count + 1);
  hsc_instr **inner = operands ? operands + count + producer->operand_count : NULL;
  if (!operands)
    return hsc_status_out_of_memory();
  memcpy(operands, fusion->operands, (size_t)count * sizeof *operands);
  for (int i = 0; i < producer->operand_count; i++)
    HSC_TRY(parameter_for(body, producer->operands[i], operands, &count, &inner[i]));
  // The producer goes before the first instruction that is no parameter: those that it reads are
  // at the front.
  hsc_instr *at = body->first;
  while (at && at->op == HSC_OP_PARAMETER)
    at = at->next;
  hsc_instr *value = NULL;
  if (producer->op == HSC_OP_FUSION) {
    if (!at)
      return HSC_ERR(INTERNAL, "fuse: %s has an empty computation", fusion->name);
    HSC_TRY(hsc__inline(producer->called[0], at, inner, &value));
  } else {
    hsc_builder b;
    hsc_builder_at(&b, body, at);
    value = hsc_build_clone(&b, producer, inner);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  }
  HSC_TRY(hsc_instr_replace_uses(parameter, value));
  drop_parameter(body, number);
  memmove(operands + number, operands + number + 1,
          (size_t)(count - 1 - number) * sizeof *operands);
  hsc_instr_set_operands(fusion, count - 1, operands);
  return hsc_arena_status(body->module->arena);
}
