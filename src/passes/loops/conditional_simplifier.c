// conditional_simplifier.c - conditionals whose branch is known, or does not matter, become what
// the branch does.
//
//   - the index is a constant, or there is one branch: its body takes the place of the conditional;
//   - all branches do the same to the same operand: likewise;
//   - two branches that compute nothing (parameters, constants, tuples): a select of each result;
//   - elements of a branch's operand that it does not read go; so do results that nobody reads, or
//   that every branch makes the same as another.
//
// Legal always; bodies are copied to one place each, and changed where they belong to one
// conditional alone. One walk, linear in the bodies.
//
//   before   ROOT c = f32[4] conditional(true, x, y), true_computation=t, false_computation=f
//      t: negate(p)
//   after    ROOT c = f32[4] negate(x)
//
// XLA: xla/service/conditional_simplifier.h
#include "passes/manager/passes_internal.h"

enum { UNKNOWN = -1 };

static int known_branch(const hsc_instr *conditional) {
  const hsc_instr *index = conditional->operands[0];
  int last = conditional->called_count - 1;
  if (last == 0)
    return 0;
  if (index->op != HSC_OP_CONSTANT || index->attr.literal.value->elided)
    return UNKNOWN;
  int64_t value = hsc_literal_get_int(index->attr.literal.value, 0);
  if (index->shape.type == HSC_TYPE_PRED)
    return value ? 0 : 1;
  return value < 0 || value > last ? last : (int)value;
}

static bool branches_are_equal(const hsc_instr *conditional) {
  hsc_hash128 first = hsc_computation_fingerprint(conditional->called[0]);
  for (int i = 1; i < conditional->called_count; i++) {
    if (conditional->operands[i + 1] != conditional->operands[1])
      return false;
    hsc_hash128 other = hsc_computation_fingerprint(conditional->called[i]);
    if (first.low != other.low || first.high != other.high)
      return false;
  }
  return true;
}

static bool computes_nothing(const hsc_computation *computation) {
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
    if (instr->op != HSC_OP_PARAMETER && instr->op != HSC_OP_CONSTANT &&
        instr->op != HSC_OP_TUPLE && instr->op != HSC_OP_GET_TUPLE_ELEMENT)
      return false;
  return true;
}

static bool is_selectable(const hsc_shape *shape) {
  if (hsc_shape_is_array(shape))
    return true;
  if (!hsc_shape_is_tuple(shape))
    return false;
  for (int i = 0; i < shape->element_count; i++)
    if (!hsc_shape_is_array(&shape->elements[i]))
      return false;
  return true;
}

static hsc_instr *select_between(hsc_builder *b, hsc_instr *pred, hsc_instr *x, hsc_instr *y) {
  if (x == y)
    return x;
  hsc_instr *wide = x->shape.rank
                        ? hsc_build_broadcast(b, pred, hsc_shape_with_type(x->shape, HSC_TYPE_PRED),
                                              (hsc_dims){0})
                        : pred;
  return hsc_build_select(b, wide, x, y);
}

static hsc_instr *element(hsc_builder *b, hsc_instr *tuple, int i) {
  return tuple->op == HSC_OP_TUPLE ? tuple->operands[i] : hsc_build_get_tuple_element(b, tuple, i);
}

// Both bodies, and a select of what they give.
static hsc_status *inline_both(hsc_instr *conditional, hsc_instr **out_value) {
  hsc_builder b;
  hsc_builder_at(&b, conditional->parent, conditional);
  b.metadata = conditional->metadata;
  hsc_instr *pred = conditional->operands[0];
  hsc_instr *x = hsc__build_body(&b, conditional->called[0], &conditional->operands[1]);
  hsc_instr *y = hsc__build_body(&b, conditional->called[1], &conditional->operands[2]);
  if (hsc_shape_is_array(&conditional->shape)) {
    *out_value = select_between(&b, pred, x, y);
  } else {
    int count = conditional->shape.element_count;
    hsc_instr **parts = HSC_NEW_ARRAY(conditional->parent->module->arena, hsc_instr *, count + 1);
    for (int i = 0; parts && i < count; i++) {
      hsc_instr *other = element(&b, y, i);
      parts[i] = select_between(&b, pred, element(&b, x, i), other);
    }
    *out_value = hsc_build_tuple(&b, parts ? count : 0, parts);
  }
  return hsc_builder_finish(&b, NULL, NULL);
}

// ---- operands and results -----------------------------------------------------------------------

static bool branches_are_own(const hsc_instr *conditional) {
  for (int i = 0; i < conditional->called_count; i++)
    if (hsc_computation_callers(conditional->called[i]) != 1)
      return false;
  return true;
}

static int count_marks(const bool *marks, int count) {
  int marked = 0;
  for (int i = 0; i < count; i++)
    marked += marks[i];
  return marked;
}

// Which elements of a tuple its readers want; false when one wants it whole. The caller owns
// nothing: out_read lies in the scratch arena.
static bool elements_read(const hsc_instr *tuple, hsc_arena *scratch, bool **out_read) {
  *out_read = HSC_NEW_ARRAY(scratch, bool, tuple->shape.element_count + 1);
  if (!*out_read || tuple->parent->root == tuple)
    return false;
  for (int u = 0; u < tuple->user_count; u++) {
    const hsc_instr *user = tuple->users[u];
    if (user->op != HSC_OP_GET_TUPLE_ELEMENT || user->control_count ||
        user->control_successor_count)
      return false;
    (*out_read)[user->attr.index.value] = true;
  }
  return true;
}

// Builds the elements of `tuple` that are marked, as a tuple.
static hsc_instr *shorter(hsc_builder *b, hsc_instr *tuple, const bool *keep) {
  int count = tuple->shape.element_count;
  int kept = 0;
  hsc_instr **parts = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, count + 1);
  for (int i = 0; parts && i < count; i++)
    if (keep[i])
      parts[kept++] = element(b, tuple, i);
  return hsc_build_tuple(b, kept, parts);
}

static void renumber_readers(hsc_instr *tuple, const bool *keep) {
  for (int u = 0; u < tuple->user_count; u++) {
    int64_t *index = &tuple->users[u]->attr.index.value;
    *index = count_marks(keep, (int)*index);
  }
}

static hsc_status *drop_unread_operands(hsc_instr *conditional, int branch, hsc_pass_context *cx) {
  hsc_instr *parameter = conditional->called[branch]->parameters[0];
  hsc_instr *operand = conditional->operands[branch + 1];
  bool *read = NULL;
  if (!hsc_shape_is_tuple(&parameter->shape) || !elements_read(parameter, cx->scratch, &read))
    return NULL;
  if (count_marks(read, parameter->shape.element_count) == parameter->shape.element_count ||
      !hsc__pass_spend(cx))
    return NULL;
  hsc_builder b;
  hsc_builder_at(&b, conditional->parent, conditional);
  b.metadata = operand->metadata;
  hsc_instr *less = shorter(&b, operand, read);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  hsc_instr_set_operand(conditional, branch + 1, less);
  if (hsc_instr_is_dead(operand))
    hsc_instr_remove(operand);
  renumber_readers(parameter, read);
  parameter->shape = less->shape;
  return NULL;
}

// Element j of what every branch gives is its element i.
static bool always_equal(const hsc_instr *conditional, int i, int j) {
  for (int c = 0; c < conditional->called_count; c++) {
    const hsc_instr *root = conditional->called[c]->root;
    if (root->op != HSC_OP_TUPLE || root->operands[i] != root->operands[j])
      return false;
  }
  return true;
}

static hsc_status *drop_unread_results(hsc_instr *conditional, hsc_pass_context *cx) {
  bool *read = NULL;
  int count = conditional->shape.element_count;
  if (!hsc_shape_is_tuple(&conditional->shape) || !elements_read(conditional, cx->scratch, &read))
    return NULL;
  for (int j = 1; j < count; j++)
    for (int i = 0; i < j && read[j]; i++) {
      if (!always_equal(conditional, i, j))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      for (int u = 0; u < conditional->user_count; u++)
        if (conditional->users[u]->attr.index.value == j)
          conditional->users[u]->attr.index.value = i;
      read[j] = false;
      read[i] = true;
    }
  if (count_marks(read, count) == count || !hsc__pass_spend(cx))
    return NULL;
  for (int c = 0; c < conditional->called_count; c++) {
    hsc_computation *branch = conditional->called[c];
    hsc_instr *old = branch->root;
    hsc_builder b;
    hsc_builder_at(&b, branch, NULL);
    b.metadata = old->metadata;
    hsc_instr *root = shorter(&b, old, read);
    HSC_TRY(hsc_builder_finish(&b, root, &branch));
    conditional->shape = root->shape;
    hsc__remove_dead(branch);
  }
  renumber_readers(conditional, read);
  return NULL;
}

hsc_status *hsc__pass_conditional_simplifier(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->op != HSC_OP_CONDITIONAL || instr->control_count || instr->control_successor_count)
        continue;
      int branch = known_branch(instr);
      if (branch == UNKNOWN && branches_are_equal(instr))
        branch = 0;
      bool both = branch == UNKNOWN && instr->operands[0]->shape.type == HSC_TYPE_PRED &&
                  is_selectable(&instr->shape) && computes_nothing(instr->called[0]) &&
                  computes_nothing(instr->called[1]);
      if (branch == UNKNOWN && !both) {
        if (!branches_are_own(instr))
          continue;
        HSC_TRY(drop_unread_results(instr, cx));
        for (int c = 0; c < instr->called_count; c++)
          HSC_TRY(drop_unread_operands(instr, c, cx));
        continue;
      }
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_instr *value = NULL;
      if (both)
        HSC_TRY(inline_both(instr, &value));
      else
        HSC_TRY(hsc__inline(instr->called[branch], instr, &instr->operands[branch + 1], &value));
      HSC_TRY(hsc__replace_effects_too(instr, value));
    }
  }
  return NULL;
}
