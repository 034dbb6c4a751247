// emit_small_memo.c - what a small loop has computed already (see emit_small.h).
//
// Fusions repeat what they read: the body of a loop holds one slice, one difference or one sine as
// often as there are fusions that need it. In one function each is made once. The code generator
// would find that by itself within a block only, and a sine ends one.
//
// A value is known as long as code of its level is: when a loop or a branch ends, what was made in
// it is forgotten.
#include "cpu/emit/emit_small.h"

struct hsc_small_known {
  const hsc_instr *instr;  // elementwise: what was computed; NULL: lanes that were picked
  const int32_t *map;
  int64_t elements;
  hsc_lv operands[3];
  hsc_emit_value value;
  hsc_small_known *next;
};

static hsc_small_known **bucket_of(hsc_small *s, hsc_lv first, int64_t elements) {
  uint64_t hash = ((uint64_t)(uintptr_t)first >> 4) * 0x9e3779b97f4a7c15u + (uint64_t)elements;
  return &s->known[(hash ^ hash >> 32) % HSC_SMALL_KNOWN];
}

// Operands are compared by type as well: a value may be read as signed and as unsigned.
static bool same_operation(const hsc_instr *a, const hsc_instr *b) {
  if (a->op != b->op || a->shape.type != b->shape.type || a->operand_count != b->operand_count ||
      !hsc_attr_equal(a, b))
    return false;
  for (int i = 0; i < a->operand_count; i++)
    if (a->operands[i]->shape.type != b->operands[i]->shape.type)
      return false;
  return true;
}

bool hsc__small_known_operation(hsc_small *s,
                                const hsc_instr *instr,
                                const hsc_emit_value *operands,
                                int64_t elements,
                                hsc_emit_value *out_value) {
  if (instr->operand_count == 0)
    return false;
  for (hsc_small_known *k = *bucket_of(s, operands[0].v, elements); k; k = k->next) {
    bool same = k->instr && k->elements == elements && same_operation(k->instr, instr);
    for (int i = 0; i < instr->operand_count && same; i++)
      same = k->operands[i] == operands[i].v;
    if (!same)
      continue;
    *out_value = k->value;
    return true;
  }
  return false;
}

static void add(hsc_small *s, hsc_small_known known) {
  hsc_small_known *k = HSC_NEW(s->e->arena, hsc_small_known);
  if (!k)
    return;  // the arena's status tells
  hsc_small_known **bucket = bucket_of(s, known.operands[0], known.elements);
  *k = known;
  k->next = *bucket;
  *bucket = k;
}

void hsc__small_learn_operation(hsc_small *s,
                                const hsc_instr *instr,
                                const hsc_emit_value *operands,
                                int64_t elements,
                                hsc_emit_value value) {
  hsc_small_known known = {.instr = instr, .elements = elements, .value = value};
  if (instr->operand_count == 0)
    return;
  for (int i = 0; i < instr->operand_count; i++)
    known.operands[i] = operands[i].v;
  add(s, known);
}

bool hsc__small_known_pick(
    hsc_small *s, hsc_lv from, const int32_t *map, int64_t elements, hsc_emit_value *out_value) {
  for (hsc_small_known *k = *bucket_of(s, from, elements); k; k = k->next) {
    if (!k->map || k->operands[0] != from || k->elements != elements ||
        memcmp(k->map, map, (size_t)elements * sizeof *map) != 0)
      continue;
    *out_value = k->value;
    return true;
  }
  return false;
}

void hsc__small_learn_pick(
    hsc_small *s, hsc_lv from, const int32_t *map, int64_t elements, hsc_emit_value value) {
  size_t bytes = (size_t)elements * sizeof *map;
  hsc_small_known known = {.map = hsc_arena_copy(s->e->arena, map, bytes),
                           .elements = elements,
                           .operands = {from},
                           .value = value};
  if (known.map)
    add(s, known);
}

void hsc__small_forget(hsc_small *s, int level) {
  for (int b = 0; b < HSC_SMALL_KNOWN; b++) {
    hsc_small_known **link = &s->known[b];
    while (*link) {
      if ((*link)->value.level > level)
        *link = (*link)->next;
      else
        link = &(*link)->next;
    }
  }
}
