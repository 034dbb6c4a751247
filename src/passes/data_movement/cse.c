// cse.c - common subexpression elimination: equal pure instructions become one, the first in
// program order.
//
// Legal for instructions without effects and without control predecessors. One walk with a hash
// table, linear.
// Equal: same op, shape (layout too), attributes, operands and called computations (by identity, or
// by fingerprint for embedded ones).
//
//   before   a = f32[4] add(x, y);  b = f32[4] add(x, y);  ROOT c = multiply(a, b)
//   after    a = f32[4] add(x, y);  ROOT c = multiply(a, a)
//
// XLA: xla/service/hlo_cse.h
#include "passes/manager/passes_internal.h"

static uint64_t hash_of(const hsc_instr *instr) {
  uint64_t words[6] = {(uint64_t)instr->op, (uint64_t)instr->shape.type,
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
  hash ^= sum;
  if (instr->op == HSC_OP_CONSTANT && instr->attr.literal.value->data) {
    int64_t bytes = hsc_shape_bytes(&instr->shape);
    hash = hsc_hash64(instr->attr.literal.value->data, (size_t)(bytes < 256 ? bytes : 256), hash);
  }
  if (instr->op == HSC_OP_GET_TUPLE_ELEMENT)
    hash = hsc_hash64(&instr->attr.index.value, sizeof(int64_t), hash);
  return hash;
}

static bool same_called(const hsc_computation *a, const hsc_computation *b) {
  if (a == b)
    return true;
  if (a->instr_count != b->instr_count || a->parameter_count != b->parameter_count)
    return false;
  hsc_hash128 x = hsc_computation_fingerprint(a);
  hsc_hash128 y = hsc_computation_fingerprint(b);
  return x.low == y.low && x.high == y.high;
}

static bool same(const hsc_instr *a, const hsc_instr *b) {
  if (a->op != b->op || a->operand_count != b->operand_count || a->called_count != b->called_count)
    return false;
  if (!hsc_shape_equal_layout(&a->shape, &b->shape) || !hsc_attr_equal(a, b))
    return false;
  bool straight = true;
  for (int i = 0; i < a->operand_count; i++)
    straight &= a->operands[i] == b->operands[i];
  bool crossed = a->operand_count == 2 && (hsc_op_traits(a->op) & HSC_TRAIT_COMMUTES) &&
                 a->operands[0] == b->operands[1] && a->operands[1] == b->operands[0];
  if (!straight && !crossed)
    return false;
  for (int i = 0; i < a->called_count; i++)
    if (!same_called(a->called[i], b->called[i]))
      return false;
  const char *x = a->backend_config;
  const char *y = b->backend_config;
  if (x != y && (!x || !y || strcmp(x, y)))
    return false;
  x = a->sharding;
  y = b->sharding;
  return x == y || (x && y && !strcmp(x, y));
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
    hsc_instr **table = HSC_NEW_ARRAY(cx->scratch, hsc_instr *, capacity);
    if (!table)
      return hsc_status_out_of_memory();
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!eligible(instr))
        continue;
      size_t slot = hash_of(instr) & (capacity - 1);
      while (table[slot] && !same(table[slot], instr))
        slot = (slot + 1) & (capacity - 1);
      if (!table[slot]) {
        table[slot] = instr;
        continue;
      }
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(hsc__replace(instr, table[slot]));
    }
  }
  return NULL;
}
