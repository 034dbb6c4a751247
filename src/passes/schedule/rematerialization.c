// rematerialization.c - computes cheap values again instead of keeping them, until the program fits
// a limit of memory.
//
// Only with a limit (hloscope_memory_limit_bytes). At the place where the most bytes are alive it
// takes the largest value that is not read there, is cheap (element-wise work, data movement, loop
// fusions), and whose operands are there later anyway; from there on its readers get a copy that is
// made right before the first of them. Stops when the computation fits, or nothing helps any more.
// Linear in instructions times values made again.
//
//   before   b = broadcast(v); s = reduce(b); ...large work...; ROOT r = add(y, b)
//   after    b = broadcast(v); s = reduce(b); ...large work...; b.remat = broadcast(v); ROOT r =
//            add(y, b.remat)
//
// XLA: xla/hlo/transforms/simplifiers/hlo_rematerialization.h
#include "passes/schedule/memory_order.h"

static bool is_cheap(const hsc_instr *instr) {
  if (!hsc_shape_is_array(&instr->shape) || instr->control_count ||
      instr->control_successor_count || hsc_instr_has_effect(instr))
    return false;
  if (instr->op == HSC_OP_FUSION) {
    if (instr->attr.fusion.kind != HSC_FUSION_LOOP)
      return false;
    HSC_FOR_EACH_INSTR_IN (instr->called[0], inner)
      if (inner->op == HSC_OP_REDUCE || inner->op == HSC_OP_DOT || inner->op == HSC_OP_CONVOLUTION)
        return false;
    return true;
  }
  if (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE)
    return instr->op != HSC_OP_STOCHASTIC_CONVERT;
  return instr->op == HSC_OP_BROADCAST || instr->op == HSC_OP_IOTA ||
         instr->op == HSC_OP_TRANSPOSE || instr->op == HSC_OP_SLICE || instr->op == HSC_OP_PAD;
}

// The last place at which what instruction `number` stands for is read; count of the order when it
// is returned.
static int32_t lives_until(const hsc_memory_order *m, const int32_t *last, int32_t number) {
  int32_t until = m->count;
  for (int32_t r = m->first_root[number]; r < m->first_root[number + 1]; r++) {
    int32_t value = m->roots[r];
    bool always = m->bytes[value] == 0;
    if (!always && last[value] < until)
      until = last[value];
  }
  return until;
}

static hsc_status *last_readers(const hsc_memory_order *m, hsc_arena *arena, int32_t **out_last) {
  int32_t *last = *out_last = HSC_NEW_ARRAY(arena, int32_t, m->count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int32_t p = 0; p < m->count; p++)
    for (int o = 0; o < m->instrs[p]->operand_count; o++) {
      int32_t from = m->instrs[p]->operands[o]->index;
      for (int32_t r = m->first_root[from]; r < m->first_root[from + 1]; r++)
        last[m->roots[r]] = p;
    }
  int32_t root = m->computation->root->index;
  for (int32_t r = m->first_root[root]; r < m->first_root[root + 1]; r++)
    last[m->roots[r]] = m->count;
  return NULL;
}

// The first direct reader after `place`; NULL when the value is not wanted there, or is returned
// or renamed there (then it must stay).
static hsc_instr *next_reader(const hsc_memory_order *m, hsc_instr *value, int32_t place) {
  hsc_instr *next = NULL;
  if (m->computation->root == value)
    return NULL;
  for (int u = 0; u < value->user_count; u++) {
    hsc_instr *user = value->users[u];
    if (user->index == place)
      return NULL;
    if (user == m->computation->root || m->bytes[user->index] == 0)
      return NULL;
    if (user->index > place && (!next || user->index < next->index))
      next = user;
  }
  return next;
}

static hsc_instr *choose(const hsc_memory_order *m,
                         const int32_t *last,
                         int32_t place,
                         hsc_instr **out_reader) {
  hsc_instr *best = NULL;
  for (int32_t i = 0; i < place; i++) {
    hsc_instr *value = m->instrs[i];
    if (m->bytes[i] == 0 || last[i] <= place || last[i] >= m->count || !is_cheap(value) ||
        (best && m->bytes[best->index] >= m->bytes[i]))
      continue;
    hsc_instr *reader = next_reader(m, value, place);
    if (!reader)
      continue;
    bool operands_there = true;
    for (int o = 0; o < value->operand_count; o++)
      operands_there &= lives_until(m, last, value->operands[o]->index) >= reader->index;
    if (!operands_there)
      continue;
    best = value;
    *out_reader = reader;
  }
  return best;
}

static hsc_status *fit(hsc_computation *computation, int64_t limit, hsc_pass_context *cx) {
  int64_t before = INT64_MAX;
  for (;;) {
    hsc_memory_order m;
    int32_t place = 0;
    int32_t *last = NULL;
    HSC_TRY(hsc__memory_order_make(computation, cx->scratch, &m));
    int32_t *order = HSC_NEW_ARRAY(cx->scratch, int32_t, m.count + 1);
    HSC_TRY(hsc_arena_status(cx->scratch));
    for (int32_t i = 0; i < m.count; i++)
      order[i] = i;
    int64_t peak = hsc__memory_order_peak(&m, order, cx->scratch, &place);
    if (peak <= limit || peak > before)
      return NULL;
    before = peak;
    HSC_TRY(last_readers(&m, cx->scratch, &last));
    hsc_instr *reader = NULL;
    hsc_instr *value = choose(&m, last, place, &reader);
    if (!value || !hsc__pass_spend(cx))
      return NULL;
    hsc_builder b;
    hsc_builder_at(&b, computation, reader);
    hsc_instr *again = hsc_build_clone(&b, value, value->operands);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
    for (int u = value->user_count - 1; u >= 0; u--) {
      hsc_instr *user = value->users[u];
      if (user->index <= place)
        continue;
      for (int o = 0; o < user->operand_count; o++)
        if (user->operands[o] == value)
          hsc_instr_set_operand(user, o, again);
      u = value->user_count;
    }
  }
}

hsc_status *hsc__pass_rematerialization(hsc_module *module, hsc_pass_context *cx) {
  return cx->memory_limit_bytes > 0 ? fit(module->entry, cx->memory_limit_bytes, cx) : NULL;
}
