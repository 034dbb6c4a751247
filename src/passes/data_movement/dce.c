// dce.c - dead code elimination: instructions that nothing uses, results of fusions that nothing
// reads, then computations that nothing calls.
//
// Legal for instructions without effects. One backward walk a computation, linear: a user is
// after what it uses, so when the walk arrives at an instruction all of its dead users are already
// gone. A fusion of several results keeps those that are read, and what they need.
//
//   before   a = f32[4] add(x, y);  b = f32[4] multiply(x, y);  ROOT c = f32[4] negate(b)
//   after    b = f32[4] multiply(x, y);  ROOT c = f32[4] negate(b)
//
// XLA: xla/hlo/transforms/simplifiers/hlo_dce.h
#include "passes/manager/passes_internal.h"

// A fusion of several results of which some are read, element by element, and some are not;
// out_read has room for a mark per result.
static bool has_unread_result(const hsc_instr *fusion, bool *out_read) {
  const hsc_computation *body = fusion->called[0];
  if (fusion->parent->root == fusion || body->root->op != HSC_OP_TUPLE || body->root->user_count)
    return false;
  int count = body->root->operand_count;
  int read = 0;
  memset(out_read, 0, (size_t)count * sizeof *out_read);
  for (int u = 0; u < fusion->user_count; u++) {
    const hsc_instr *user = fusion->users[u];
    if (user->op != HSC_OP_GET_TUPLE_ELEMENT || user->control_count ||
        user->control_successor_count)
      return false;
    out_read[user->attr.index.value] = true;
  }
  for (int i = 0; i < count; i++)
    read += out_read[i];
  return read > 0 && read < count && hsc_computation_callers(body) == 1;
}

static hsc_status *drop_results(hsc_instr *fusion, const bool *read) {
  hsc_arena *arena = fusion->parent->module->arena;
  hsc_computation *body = fusion->called[0];
  hsc_instr *old = body->root;
  int count = old->operand_count;
  int kept = 0;
  int64_t *place = HSC_NEW_ARRAY(arena, int64_t, count);
  hsc_instr **results = HSC_NEW_ARRAY(arena, hsc_instr *, count);
  if (!place || !results)
    return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++) {
    place[i] = kept;
    if (read[i])
      results[kept++] = old->operands[i];
  }
  hsc_builder b;
  hsc_builder_at(&b, body, NULL);
  b.metadata = old->metadata;
  hsc_instr *root = kept == 1 ? results[0] : hsc_build_tuple(&b, kept, results);
  HSC_TRY(hsc_builder_finish(&b, root, &body));
  hsc_instr_remove(old);
  hsc__remove_dead(body);
  fusion->shape = root->shape;
  for (int u = fusion->user_count - 1; u >= 0; u--)
    fusion->users[u]->attr.index.value = place[fusion->users[u]->attr.index.value];
  while (kept == 1 && fusion->user_count > 0 && fusion->users[0]->op == HSC_OP_GET_TUPLE_ELEMENT &&
         fusion->users[0]->operands[0] == fusion) {
    hsc_instr *element = fusion->users[0];
    HSC_TRY(hsc_instr_replace_uses(element, fusion));
    hsc_instr_remove(element);
  }
  return hsc__drop_unread_operands(fusion);
}

hsc_status *hsc__pass_dce(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    for (hsc_instr *instr = computation->last; instr;) {
      hsc_instr *prev = instr->prev;
      if (hsc_instr_is_dead(instr)) {
        if (!hsc__pass_spend(cx))
          return NULL;
        hsc_instr_remove(instr);
      } else if (instr->op == HSC_OP_FUSION && hsc_shape_is_tuple(&instr->shape)) {
        bool *read = HSC_NEW_ARRAY(cx->scratch, bool, instr->shape.element_count + 1);
        if (!read)
          return hsc_status_out_of_memory();
        if (has_unread_result(instr, read)) {
          if (!hsc__pass_spend(cx))
            return NULL;
          HSC_TRY(drop_results(instr, read));
        }
      }
      instr = prev;
    }
  }
  int before = module->computation_count;
  HSC_TRY(hsc_module_sort(module));
  if (module->computation_count != before)
    cx->changed = true;
  return NULL;
}
