// while_simplifier.c - loop state that nothing needs goes; loops of no trip become their initial state.
//
// An element of the state is dead when the loop's users do not read it, and condition and body read it only to pass it on. Legal without
// effects in the loop. One walk over the loops, linear in the state and in the instructions of condition and body.
//
//   before   w = (s32[], f32[4], f32[9]) while(tuple(zero, x, y)), ...  with y passed on and never read
//   after    w = (s32[], f32[4]) while(tuple(zero, x)), ...
//
// XLA: xla/hlo/transforms/simplifiers/while_loop_simplifier.h
#include "passes/while_util.h"

// Whether the body uses element `index` only to put it at its own place in the root.
static bool passed_on_only(const hsc_computation *body, int64_t index) {
  const hsc_instr *parameter = body->parameters[0];
  for (int i = 0; i < parameter->user_count; i++) {
    const hsc_instr *element = parameter->users[i];
    if (element->attr.index.value != index) continue;
    for (int u = 0; u < element->user_count; u++)
      if (element->users[u] != body->root) return false;
    for (int k = 0; k < body->root->operand_count; k++)
      if (body->root->operands[k] == element && k != index) return false;
  }
  return true;
}

static void renumber(hsc_instr *tuple, const int64_t *new_index) {
  for (int i = 0; i < tuple->user_count; i++) tuple->users[i]->attr.index.value = new_index[tuple->users[i]->attr.index.value];
}

// Removes the users of `tuple` that read dead elements: they have no users themselves by now.
static void drop_dead_readers(hsc_instr *tuple, const int64_t *new_index) {
  for (int i = tuple->user_count - 1; i >= 0; i--)
    if (new_index[tuple->users[i]->attr.index.value] < 0) hsc_instr_remove(tuple->users[i]);
}

static hsc_status *shrink(hsc_instr *loop, const bool *keep, int kept) {
  hsc_arena *arena = loop->parent->module->arena;
  hsc_computation *condition = loop->called[0], *body = loop->called[1];
  int count = loop->shape.element_count, at = 0;
  int64_t *new_index = HSC_NEW_ARRAY(arena, int64_t, count);
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, kept + 1);
  hsc_instr **init = HSC_NEW_ARRAY(arena, hsc_instr *, kept + 1), **next = HSC_NEW_ARRAY(arena, hsc_instr *, kept + 1);
  if (!new_index || !elements || !init || !next) return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++) {
    new_index[i] = keep[i] ? at : -1;
    if (!keep[i]) continue;
    elements[at] = loop->shape.elements[i];
    init[at] = loop->operands[0]->operands[i];
    next[at] = body->root->operands[i];
    at++;
  }
  hsc_shape shape = hsc_shape_tuple(arena, kept, elements);
  hsc_builder b;
  hsc_builder_at(&b, body, NULL);
  hsc_instr *root = hsc_build_tuple(&b, kept, next), *old_root = body->root;
  root->shape = shape;
  HSC_TRY(hsc_builder_finish(&b, root, &body));
  if (old_root->user_count == 0) hsc_instr_remove(old_root);
  drop_dead_readers(body->parameters[0], new_index);
  drop_dead_readers(condition->parameters[0], new_index);
  drop_dead_readers(loop, new_index);
  renumber(body->parameters[0], new_index);
  renumber(condition->parameters[0], new_index);
  renumber(loop, new_index);
  body->parameters[0]->shape = condition->parameters[0]->shape = shape;
  hsc_builder_at(&b, loop->parent, loop);
  hsc_instr *old_init = loop->operands[0], *new_init = hsc_build_tuple(&b, kept, init);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  new_init->shape = shape;
  new_init->metadata = old_init->metadata;
  hsc_instr_set_operand(loop, 0, new_init);
  loop->shape = shape;
  if (hsc_instr_is_dead(old_init)) hsc_instr_remove(old_init);
  return NULL;
}

static hsc_status *remove_dead_state(hsc_instr *loop, hsc_pass_context *cx) {
  hsc_module *module = loop->parent->module;
  hsc_computation *condition = loop->called[0], *body = loop->called[1];
  int count = loop->shape.element_count;
  if (loop->operands[0]->op != HSC_OP_TUPLE || body->root->op != HSC_OP_TUPLE) return NULL;
  bool *keep = HSC_NEW_ARRAY(cx->scratch, bool, count);
  if (!keep) return hsc_status_out_of_memory();
  if (!hsc__only_elements_read(loop, keep) || !hsc__only_elements_read(condition->parameters[0], keep) || !hsc__only_elements_read(body->parameters[0], NULL)) return NULL;
  int kept = 0;
  for (int i = 0; i < count; i++) {
    if (!passed_on_only(body, i)) keep[i] = true;
    kept += keep[i];
  }
  if (kept == count || kept == 0 || hsc__callers(module, body) != 1 || hsc__callers(module, condition) != 1) return NULL;
  return hsc__pass_spend(cx) ? shrink(loop, keep, kept) : NULL;
}

hsc_status *hsc__pass_while_simplifier(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION(module, computation) {
    HSC_FOR_EACH_INSTR_IN(computation, instr) {
      if (instr->op != HSC_OP_WHILE || hsc_instr_has_effect(instr) || !hsc_shape_is_tuple(&instr->shape)) continue;
      hsc__loop loop;
      if (hsc__loop_analyse(instr, &loop) && loop.trip_count == 0) {
        if (!hsc__pass_spend(cx)) return NULL;
        HSC_TRY(hsc__replace(instr, instr->operands[0]));
        continue;
      }
      HSC_TRY(remove_dead_state(instr, cx));
    }
  }
  return NULL;
}
