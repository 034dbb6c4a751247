// slice_sinker.c - the same elementwise operation on slices of the same arrays is done once on the
// whole arrays, and its result is sliced.
//
// Legal always. Worth it when the slices that are computed have at least as many elements together
// as the whole: then nothing is computed that was not. One walk; for each candidate the users of
// its first source are looked at.
//
//   before   a = add(slice(x, [0:8]), slice(y, [0:8]));  b = add(slice(x, [8:16]), slice(y,
//            [8:16]))
//   after    s = add(x, y);  a = slice(s, [0:8]);  b = slice(s, [8:16])
//
// XLA: xla/service/slice_sinker.h
#include "passes/manager/passes_internal.h"

enum { MAX_OPERANDS = 4, MAX_GROUP = 64 };

static bool same_slice(const hsc_instr *a, const hsc_instr *b) {
  for (int i = 0; i < a->shape.rank; i++) {
    int64_t x = a->attr.slice.stride.count ? a->attr.slice.stride.v[i] : 1;
    int64_t y = b->attr.slice.stride.count ? b->attr.slice.stride.v[i] : 1;
    if (a->attr.slice.start.v[i] != b->attr.slice.start.v[i] ||
        a->attr.slice.limit.v[i] != b->attr.slice.limit.v[i] || x != y)
      return false;
  }
  return true;
}

// An elementwise operation whose operands are all the same slice of arrays of the same dimensions.
static bool is_candidate(const hsc_instr *instr) {
  if (!(hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) || instr->operand_count == 0 ||
      instr->operand_count > MAX_OPERANDS)
    return false;
  if (instr->control_count || instr->control_successor_count ||
      (hsc_op_traits(instr->op) & HSC_TRAIT_EFFECT))
    return false;
  const hsc_instr *first = instr->operands[0];
  if (first->op != HSC_OP_SLICE || hsc_shape_elements(&first->shape) == 0)
    return false;
  for (int i = 1; i < instr->operand_count; i++) {
    const hsc_instr *operand = instr->operands[i];
    if (operand->op != HSC_OP_SLICE ||
        !hsc_shape_same_dims(&operand->operands[0]->shape, &first->operands[0]->shape))
      return false;
    if (!hsc_shape_same_dims(&operand->shape, &first->shape) || !same_slice(operand, first))
      return false;
  }
  return true;
}

static bool same_work(const hsc_instr *a, const hsc_instr *b) {
  if (!hsc_attr_equal(a, b) || a->operand_count != b->operand_count ||
      a->shape.type != b->shape.type)
    return false;
  for (int i = 0; i < a->operand_count; i++)
    if (a->operands[i]->operands[0] != b->operands[i]->operands[0])
      return false;
  return true;
}

// All candidates that do the same to the same sources as `instr`, itself among them.
static int group_of(hsc_instr *instr, hsc_instr **group, int64_t *out_elements) {
  const hsc_instr *source = instr->operands[0]->operands[0];
  int count = 0;
  *out_elements = 0;
  for (int s = 0; s < source->user_count; s++) {
    const hsc_instr *slice = source->users[s];
    if (slice->op != HSC_OP_SLICE)
      continue;
    for (int u = 0; u < slice->user_count; u++) {
      hsc_instr *other = slice->users[u];
      if (other->operand_count == 0 || other->operands[0] != slice || !is_candidate(other) ||
          !same_work(instr, other))
        continue;
      bool known = false;
      for (int i = 0; i < count; i++)
        known |= group[i] == other;
      if (known)
        continue;
      if (count == MAX_GROUP)
        return 0;
      group[count++] = other;
      *out_elements += hsc_shape_elements(&other->shape);
    }
  }
  return count;
}

// The whole operation goes right after the last of its sources, before everything in the group.
static hsc_status *sink(hsc_instr *instr, int count, hsc_instr **group) {
  hsc_computation *computation = instr->parent;
  hsc_instr *sources[MAX_OPERANDS];
  hsc_instr *at = computation->first;
  int left = instr->operand_count;
  for (int i = 0; i < instr->operand_count; i++)
    sources[i] = instr->operands[i]->operands[0];
  for (; at && left; at = at->next)
    for (int i = 0; i < instr->operand_count; i++)
      left -= sources[i] == at;
  hsc_builder b;
  hsc_builder_at(&b, computation, at);
  b.metadata = instr->metadata;
  hsc_instr *whole = hsc_build_clone(&b, instr, sources);
  if (!b.status)
    whole->shape = hsc_shape_with_type(
        hsc_shape_without_layout(computation->module->arena, sources[0]->shape), instr->shape.type);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  for (int i = 0; i < count; i++) {
    const hsc_instr *slice = group[i]->operands[0];
    hsc_builder_at(&b, computation, group[i]);
    b.metadata = group[i]->metadata;
    hsc_instr *replacement = hsc_build_slice(&b, whole, slice->attr.slice.start,
                                             slice->attr.slice.limit, slice->attr.slice.stride);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
    // Left in place without users: dce's, since the walk may be on it.
    HSC_TRY(hsc_instr_replace_uses(group[i], replacement));
  }
  return NULL;
}

hsc_status *hsc__pass_slice_sinker(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!is_candidate(instr) || (instr->user_count == 0 && computation->root != instr))
        continue;
      hsc_instr *group[MAX_GROUP];
      int64_t elements;
      int count = group_of(instr, group, &elements);
      if (count < 2 || elements < hsc_shape_elements(&instr->operands[0]->operands[0]->shape))
        continue;
      bool live = true;  // what an earlier rewrite left behind is not work
      for (int i = 0; i < count; i++)
        live &= group[i]->user_count > 0 || computation->root == group[i];
      if (!live)
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(sink(instr, count, group));
    }
  }
  return NULL;
}
