// cse.c - common subexpression elimination: equal pure instructions become one, the first in
// program order.
//
// Legal for instructions without effects and without control predecessors. One walk with a hash
// table, linear: the hash covers all that equality does, so that what is compared is nearly always
// equal. Fusions of one form that differ in their constants only, slices of one array at other
// places and broadcasts along other dimensions are kinds of which a program has thousands.
// Equal: same op, shape (layout too), attributes, operands and called computations (by identity, or
// by fingerprint for embedded ones).
//
//   before   a = f32[4] add(x, y);  b = f32[4] add(x, y);  ROOT c = multiply(a, b)
//   after    a = f32[4] add(x, y);  ROOT c = multiply(a, a)
//
// XLA: xla/service/hlo_cse.h
#include "passes/manager/passes_internal.h"

typedef struct entry {
  hsc_instr *instr;  // NULL = free
  uint64_t hash;
} entry;

static uint64_t hash_of(const hsc_instr *instr) {
  uint64_t words[3] = {(uint64_t)instr->op, (uint64_t)instr->shape.type,
                       (uint64_t)instr->operand_count};
  uint64_t hash = hsc_hash64(words, sizeof words, 0);
  hash = hsc_hash64(instr->shape.dims, (size_t)instr->shape.rank * sizeof(int64_t), hash);
  bool commutes = hsc_op_traits(instr->op) & HSC_TRAIT_COMMUTES;
  uint64_t sum = 0;
  for (int i = 0; i < instr->operand_count; i++) {
    uint64_t id = instr->operands[i]->id;
    if (commutes)
      sum += hsc_hash64(&id, sizeof id, 1);
    else
      hash = hsc_hash64(&id, sizeof id, hash);
  }
  hsc_hash128 attributes = hsc_attr_hash(instr);
  return hsc_hash64(&attributes, sizeof attributes, hash ^ sum);
}

static bool same(const entry *x, const entry *y) {
  const hsc_instr *a = x->instr;
  const hsc_instr *b = y->instr;
  if (x->hash != y->hash || a->op != b->op || a->operand_count != b->operand_count)
    return false;
  bool straight = true;
  for (int i = 0; i < a->operand_count; i++)
    straight &= a->operands[i] == b->operands[i];
  bool crossed = a->operand_count == 2 && (hsc_op_traits(a->op) & HSC_TRAIT_COMMUTES) &&
                 a->operands[0] == b->operands[1] && a->operands[1] == b->operands[0];
  if (!straight && !crossed)
    return false;
  return hsc_shape_equal_layout(&a->shape, &b->shape) && hsc_attr_equal(a, b);
}

static bool eligible(const hsc_instr *instr) {
  if (instr->op == HSC_OP_PARAMETER || instr->control_count)
    return false;
  if (instr->op == HSC_OP_CUSTOM_CALL && instr->attr.custom.has_side_effect)
    return false;
  return !hsc_instr_has_effect(instr) &&
         !(hsc_op_traits(instr->op) & (HSC_TRAIT_COLLECTIVE | HSC_TRAIT_ASYNC));
}

hsc_status *hsc__pass_cse(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    size_t capacity = 16;
    while (capacity < 2 * (size_t)computation->instr_count)
      capacity *= 2;
    entry *table = HSC_NEW_ARRAY(cx->scratch, entry, capacity);
    if (!table)
      return hsc_status_out_of_memory();
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!eligible(instr))
        continue;
      entry made = {instr, hash_of(instr)};
      size_t slot = made.hash & (capacity - 1);
      for (; table[slot].instr; slot = (slot + 1) & (capacity - 1)) {
        cx->comparisons += table[slot].hash == made.hash;
        if (same(&table[slot], &made))
          break;
      }
      if (!table[slot].instr) {
        table[slot] = made;
        continue;
      }
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(hsc__replace(instr, table[slot].instr));
    }
  }
  return NULL;
}
