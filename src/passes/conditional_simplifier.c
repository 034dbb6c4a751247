// conditional_simplifier.c - conditionals whose branch is known, or does not matter, become what the branch does.
//
//   - the index is a constant, or there is one branch: its body takes the place of the conditional;
//   - all branches do the same to the same operand: likewise;
//   - two branches that compute nothing (parameters, constants, tuples): a select of each result.
//
// Legal always; bodies are copied to one place each. One walk, linear in the bodies.
//
//   before   ROOT c = f32[4] conditional(true, x, y), true_computation=t, false_computation=f        t: negate(p)
//   after    ROOT c = f32[4] negate(x)
//
// XLA: xla/service/conditional_simplifier.h
#include "passes/passes_internal.h"

enum { UNKNOWN = -1 };

static int known_branch(const hsc_instr *conditional) {
  const hsc_instr *index = conditional->operands[0];
  int last = conditional->called_count - 1;
  if (last == 0) return 0;
  if (index->op != HSC_OP_CONSTANT || index->attr.literal.value->elided) return UNKNOWN;
  int64_t value = hsc_literal_get_int(index->attr.literal.value, 0);
  if (index->shape.type == HSC_TYPE_PRED) return value ? 0 : 1;
  return value < 0 || value > last ? last : (int)value;
}

static bool branches_are_equal(const hsc_instr *conditional) {
  hsc_hash128 first = hsc_computation_fingerprint(conditional->called[0]);
  for (int i = 1; i < conditional->called_count; i++) {
    if (conditional->operands[i + 1] != conditional->operands[1]) return false;
    hsc_hash128 other = hsc_computation_fingerprint(conditional->called[i]);
    if (first.low != other.low || first.high != other.high) return false;
  }
  return true;
}

static bool computes_nothing(const hsc_computation *computation) {
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
    if (instr->op != HSC_OP_PARAMETER && instr->op != HSC_OP_CONSTANT && instr->op != HSC_OP_TUPLE && instr->op != HSC_OP_GET_TUPLE_ELEMENT) return false;
  return true;
}

static bool is_selectable(const hsc_shape *shape) {
  if (hsc_shape_is_array(shape)) return true;
  if (!hsc_shape_is_tuple(shape)) return false;
  for (int i = 0; i < shape->element_count; i++)
    if (!hsc_shape_is_array(&shape->elements[i])) return false;
  return true;
}

static hsc_instr *select_between(hsc_builder *b, hsc_instr *pred, hsc_instr *x, hsc_instr *y) {
  if (x == y) return x;
  hsc_instr *wide = x->shape.rank ? hsc_build_broadcast(b, pred, hsc_shape_with_type(x->shape, HSC_TYPE_PRED), (hsc_dims){0}) : pred;
  return hsc_build_select(b, wide, x, y);
}

static hsc_instr *element(hsc_builder *b, hsc_instr *tuple, int i) { return tuple->op == HSC_OP_TUPLE ? tuple->operands[i] : hsc_build_get_tuple_element(b, tuple, i); }

// Both bodies, and a select of what they give.
static hsc_status *inline_both(hsc_instr *conditional, hsc_instr **out_value) {
  hsc_builder b;
  hsc_builder_at(&b, conditional->parent, conditional);
  b.metadata = conditional->metadata;
  hsc_instr *pred = conditional->operands[0];
  hsc_instr *x = hsc__build_body(&b, conditional->called[0], &conditional->operands[1]), *y = hsc__build_body(&b, conditional->called[1], &conditional->operands[2]);
  if (hsc_shape_is_array(&conditional->shape)) {
    *out_value = select_between(&b, pred, x, y);
  } else {
    int count = conditional->shape.element_count;
    hsc_instr **parts = HSC_NEW_ARRAY(conditional->parent->module->arena, hsc_instr *, count + 1);
    for (int i = 0; parts && i < count; i++) parts[i] = select_between(&b, pred, element(&b, x, i), element(&b, y, i));
    *out_value = hsc_build_tuple(&b, parts ? count : 0, parts);
  }
  return hsc_builder_finish(&b, NULL, NULL);
}

hsc_status *hsc__pass_conditional_simplifier(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION(module, computation) {
    HSC_FOR_EACH_INSTR_IN(computation, instr) {
      if (instr->op != HSC_OP_CONDITIONAL || instr->control_count || instr->control_successor_count) continue;
      int branch = known_branch(instr);
      if (branch == UNKNOWN && branches_are_equal(instr)) branch = 0;
      bool both = branch == UNKNOWN && instr->operands[0]->shape.type == HSC_TYPE_PRED && is_selectable(&instr->shape) && computes_nothing(instr->called[0]) &&
                  computes_nothing(instr->called[1]);
      if (branch == UNKNOWN && !both) continue;
      if (!hsc__pass_spend(cx)) return NULL;
      hsc_instr *value = NULL;
      if (both) HSC_TRY(inline_both(instr, &value));
      else HSC_TRY(hsc__inline(instr->called[branch], instr, &instr->operands[branch + 1], &value));
      HSC_TRY(hsc__replace_effects_too(instr, value));
    }
  }
  return NULL;
}
