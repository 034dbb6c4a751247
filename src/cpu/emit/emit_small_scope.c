// emit_small_scope.c - what all files of small loops stand on: the values of a computation's
// instructions, and how a loop is refused.
#include "cpu/emit/emit_small.h"

hsc_status *hsc__small_refuse(const hsc_instr *instr, const char *why) {
  return HSC_ERR(UNIMPLEMENTED, "small loop: %s: not built yet: %s", hsc_op_text(instr->op), why);
}

hsc_status *hsc__small_scope_init(hsc_small *s,
                                  const hsc_computation *computation,
                                  hsc_small_scope *scope) {
  *scope = (hsc_small_scope){.computation = computation, .capacity = 16};
  while (scope->capacity < 2 * (uint32_t)computation->instr_count)
    scope->capacity *= 2;
  scope->keys = HSC_NEW_ARRAY(s->e->arena, const hsc_instr *, scope->capacity);
  scope->values = HSC_NEW_ARRAY(s->e->arena, hsc_small_value *, scope->capacity);
  return hsc_arena_status(s->e->arena);
}

static uint32_t slot_of(const hsc_small_scope *scope, const hsc_instr *instr) {
  uint64_t hash = ((uint64_t)(uintptr_t)instr >> 4) * 0x9e3779b97f4a7c15u;
  uint32_t slot = (uint32_t)(hash >> 32) & (scope->capacity - 1);
  while (scope->keys[slot] && scope->keys[slot] != instr)
    slot = (slot + 1) & (scope->capacity - 1);
  return slot;
}

void hsc__small_scope_set(hsc_small_scope *scope, const hsc_instr *instr, hsc_small_value *leaves) {
  uint32_t slot = slot_of(scope, instr);
  scope->keys[slot] = instr;
  scope->values[slot] = leaves;
}

hsc_small_value *hsc__small_scope_get(const hsc_small_scope *scope, const hsc_instr *instr) {
  return scope->values[slot_of(scope, instr)];
}
