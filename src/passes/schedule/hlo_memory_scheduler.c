// hlo_memory_scheduler.c - runs instructions in the order, of three, that keeps the fewest bytes
// alive at once.
//
// The orders: the one that is there; depth first from the result, the operands with the most other
// readers and the largest values first; and step by step whatever is ready and frees the most.
// Nothing changes unless another order needs at least 2 % less. Effects keep their order. The
// depth-first order is linear; the step-by-step one looks at all that is ready, and is left out for
// computations of more than 8192 instructions.
//
//   before   a = exponential(x); b = tanh(x); s = reduce(a); t = reduce(b)
//      two large values alive at once
//   after    a = exponential(x); s = reduce(a); b = tanh(x); t = reduce(b)      one
//
// XLA: xla/hlo/transforms/simplifiers/hlo_memory_scheduler.h
#include <stdlib.h>

#include "passes/schedule/memory_order.h"

enum { MOST_FOR_LIST = 8192 };
static const double WORTH = 0.98;

typedef struct scheduler {
  const hsc_memory_order *m;
  hsc_arena *arena;
  int32_t *effect_before;  // [count] the effect that must come before this one; -1 = none
  int64_t *extra_users, *total_bytes;
} scheduler;

static bool is_effect(const hsc_instr *instr) {
  return instr->op != HSC_OP_PARAMETER && hsc_instr_has_effect(instr);
}

// ---- depth first --------------------------------------------------------------------------------

typedef struct visit {
  int32_t number, next, count;
  int32_t *children;
} visit;

// What must run before `number`, in the order of visiting.
static int32_t children_of(const scheduler *s, int32_t number, int32_t **out_children) {
  const hsc_instr *instr = s->m->instrs[number];
  int32_t count = 0;
  int32_t *children = *out_children =
      HSC_NEW_ARRAY(s->arena, int32_t, instr->operand_count + instr->control_count + 2);
  if (!children)
    return 0;
  for (int o = 0; o < instr->operand_count; o++)
    children[count++] = instr->operands[o]->index;
  for (int c = 0; c < instr->control_count; c++)
    children[count++] = instr->control_predecessors[c]->index;
  if (s->effect_before[number] >= 0)
    children[count++] = s->effect_before[number];
  // Few: insertion sort, stable.
  for (int32_t i = 1; i < count; i++)
    for (int32_t j = i; j > 0; j--) {
      int32_t a = children[j - 1];
      int32_t b = children[j];
      bool swap = s->extra_users[a] != s->extra_users[b] ? s->extra_users[a] < s->extra_users[b]
                                                         : s->total_bytes[a] < s->total_bytes[b];
      if (!swap)
        break;
      children[j - 1] = b;
      children[j] = a;
    }
  return count;
}

static void sum_up(scheduler *s) {
  const int64_t most = (int64_t)1 << 40;
  for (int32_t i = 0; i < s->m->count; i++) {
    const hsc_instr *instr = s->m->instrs[i];
    s->extra_users[i] = instr->user_count > 1 ? instr->user_count - 1 : 0;
    s->total_bytes[i] = s->m->bytes[i];
    for (int o = 0; o < instr->operand_count; o++) {
      s->extra_users[i] += s->extra_users[instr->operands[o]->index];
      s->total_bytes[i] += s->total_bytes[instr->operands[o]->index];
      if (s->extra_users[i] > most)
        s->extra_users[i] = most;
      if (s->total_bytes[i] > most)
        s->total_bytes[i] = most;
    }
  }
}

static hsc_status *depth_first(const scheduler *s, int32_t *order) {
  int32_t count = 0;
  int32_t depth = 0;
  uint8_t *state = HSC_NEW_ARRAY(s->arena, uint8_t, s->m->count + 1);  // 1: on the way, 2: done
  visit *stack = HSC_NEW_ARRAY(s->arena, visit, s->m->count + 1);
  HSC_TRY(hsc_arena_status(s->arena));
  // The result first; then what it does not need: effects and what is dead.
  for (int32_t start = -1; start < s->m->count; start++) {
    int32_t number = start < 0 ? s->m->computation->root->index : start;
    if (state[number])
      continue;
    state[number] = 1;
    stack[depth] = (visit){.number = number};
    stack[depth].count = children_of(s, number, &stack[depth].children);
    depth++;
    while (depth > 0) {
      visit *top = &stack[depth - 1];
      if (top->next == top->count) {
        state[top->number] = 2;
        order[count++] = top->number;
        depth--;
        continue;
      }
      int32_t child = top->children[top->next++];
      if (state[child])
        continue;
      state[child] = 1;
      stack[depth] = (visit){.number = child};
      stack[depth].count = children_of(s, child, &stack[depth].children);
      depth++;
    }
  }
  return hsc_arena_status(s->arena);
}

// ---- step by step -------------------------------------------------------------------------------

// Bytes that running `number` frees: values whose last reader it is, of those that are left.
static int64_t frees(const scheduler *s, int32_t number, const int32_t *readers_left) {
  const hsc_memory_order *m = s->m;
  const hsc_instr *instr = m->instrs[number];
  int64_t bytes = 0;
  for (int o = 0; o < instr->operand_count; o++) {
    bool again = false;
    for (int p = 0; p < o; p++)
      again |= instr->operands[p] == instr->operands[o];
    if (again)
      continue;
    int32_t from = instr->operands[o]->index;
    for (int32_t r = m->first_root[from]; r < m->first_root[from + 1]; r++)
      if (readers_left[m->roots[r]] == 1)
        bytes += m->bytes[m->roots[r]];
  }
  return bytes;
}

static void count_readers(const scheduler *s, int32_t number, int32_t *readers, int32_t by) {
  const hsc_memory_order *m = s->m;
  const hsc_instr *instr = m->instrs[number];
  for (int o = 0; o < instr->operand_count; o++) {
    bool again = false;
    for (int p = 0; p < o; p++)
      again |= instr->operands[p] == instr->operands[o];
    if (again)
      continue;
    int32_t from = instr->operands[o]->index;
    for (int32_t r = m->first_root[from]; r < m->first_root[from + 1]; r++)
      readers[m->roots[r]] += by;
  }
}

static hsc_status *step_by_step(const scheduler *s, int32_t *order) {
  const hsc_memory_order *m = s->m;
  int32_t *waits = HSC_NEW_ARRAY(s->arena, int32_t, m->count + 1);
  int32_t *readers = HSC_NEW_ARRAY(s->arena, int32_t, m->count + 1);
  int32_t *ready = HSC_NEW_ARRAY(s->arena, int32_t, m->count + 1);
  int32_t *first_follower = HSC_NEW_ARRAY(s->arena, int32_t, m->count + 2);
  int32_t *followers = NULL;
  HSC_TRY(hsc_arena_status(s->arena));
  int32_t edges = 0;
  int32_t ready_count = 0;
  for (int pass = 0; pass < 2; pass++) {
    // Followers of each instruction: counted, then listed.
    if (pass) {
      followers = HSC_NEW_ARRAY(s->arena, int32_t, edges + 1);
      HSC_TRY(hsc_arena_status(s->arena));
      for (int32_t i = m->count; i > 0; i--)
        first_follower[i] = first_follower[i - 1];
      first_follower[0] = 0;
      for (int32_t i = 0; i < m->count; i++)
        first_follower[i + 1] += first_follower[i];
    }
    for (int32_t i = 0; i < m->count; i++) {
      int32_t *children = NULL;
      int32_t count = children_of(s, i, &children);
      for (int32_t c = 0; c < count; c++) {
        if (!pass) {
          first_follower[children[c]]++;
          edges++;
          waits[i]++;
        } else {
          followers[first_follower[children[c]]++] = i;
        }
      }
    }
  }
  for (int32_t i = m->count; i > 0; i--)
    first_follower[i] = first_follower[i - 1];
  first_follower[0] = 0;
  HSC_TRY(hsc_arena_status(s->arena));
  for (int32_t i = 0; i < m->count; i++)
    count_readers(s, i, readers, 1);
  int32_t root = m->computation->root->index;
  // returned: never freed
  for (int32_t r = m->first_root[root]; r < m->first_root[root + 1]; r++)
    readers[m->roots[r]]++;
  for (int32_t i = 0; i < m->count; i++)
    if (waits[i] == 0)
      ready[ready_count++] = i;
  for (int32_t p = 0; p < m->count; p++) {
    int32_t best = 0;
    int64_t best_gain = INT64_MIN;
    for (int32_t r = 0; r < ready_count; r++) {
      int64_t gain = frees(s, ready[r], readers) - m->bytes[ready[r]];
      if (gain > best_gain || (gain == best_gain && ready[r] < ready[best])) {
        best = r;
        best_gain = gain;
      }
    }
    int32_t number = order[p] = ready[best];
    ready[best] = ready[--ready_count];
    count_readers(s, number, readers, -1);
    for (int32_t f = first_follower[number]; f < first_follower[number + 1]; f++)
      if (--waits[followers[f]] == 0)
        ready[ready_count++] = followers[f];
  }
  return NULL;
}

// ---- the pass -----------------------------------------------------------------------------------

static hsc_status *schedule(hsc_computation *computation, hsc_pass_context *cx) {
  hsc_memory_order m;
  HSC_TRY(hsc__memory_order_make(computation, cx->scratch, &m));
  scheduler s = {.m = &m, .arena = cx->scratch};
  s.effect_before = HSC_NEW_ARRAY(cx->scratch, int32_t, m.count + 1);
  s.extra_users = HSC_NEW_ARRAY(cx->scratch, int64_t, m.count + 1);
  s.total_bytes = HSC_NEW_ARRAY(cx->scratch, int64_t, m.count + 1);
  int32_t *orders[3];
  for (size_t i = 0; i < HSC_COUNT_OF(orders); i++)
    orders[i] = HSC_NEW_ARRAY(cx->scratch, int32_t, m.count + 1);
  HSC_TRY(hsc_arena_status(cx->scratch));
  int32_t effect = -1;
  for (int32_t i = 0; i < m.count; i++) {
    orders[0][i] = i;
    s.effect_before[i] = is_effect(m.instrs[i]) ? effect : -1;
    if (is_effect(m.instrs[i]))
      effect = i;
  }
  sum_up(&s);
  int64_t here = hsc__memory_order_peak(&m, orders[0], cx->scratch, NULL);
  int64_t least = here;
  int best = 0;
  int tried = m.count <= MOST_FOR_LIST ? 3 : 2;
  if (here == 0)
    return NULL;
  HSC_TRY(depth_first(&s, orders[1]));
  if (tried == 3)
    HSC_TRY(step_by_step(&s, orders[2]));
  for (int i = 1; i < tried; i++) {
    int64_t peak = hsc__memory_order_peak(&m, orders[i], cx->scratch, NULL);
    if (peak >= least)
      continue;
    least = peak;
    best = i;
  }
  if ((double)least > WORTH * (double)here || !hsc__pass_spend(cx))
    return NULL;
  for (int32_t p = 0; p < m.count; p++)
    hsc_instr_move_before(m.instrs[orders[best][p]], NULL);
  return NULL;
}

hsc_status *hsc__pass_hlo_memory_scheduler(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  for (int i = 0; i < module->computation_count; i++)
    if (!hsc__computation_is_embedded(module->computations[i]))
      HSC_TRY(schedule(module->computations[i], cx));
  return NULL;
}
