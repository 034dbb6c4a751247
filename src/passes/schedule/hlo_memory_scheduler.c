// hlo_memory_scheduler.c - runs instructions in the order, of three, that keeps the fewest bytes
// alive at once.
//
// The orders: the one that is there; depth first from the result, the operands with the most other
// readers and the largest values first; and step by step whatever is ready and frees the most.
// Nothing changes unless another order needs at least 2 % less. Effects keep their order. Cost: n
// log n; what is ready lies in a heap by what it frees.
//
//   before   a = exponential(x); b = tanh(x); s = reduce(a); t = reduce(b)
//      two large values alive at once
//   after    a = exponential(x); s = reduce(a); b = tanh(x); t = reduce(b)      one
//
// XLA: xla/hlo/transforms/simplifiers/hlo_memory_scheduler.h
#include <stdlib.h>

#include "passes/schedule/memory_order.h"

enum { FEW_CHILDREN = 16 };  // sorted by insertion
static const double WORTH = 0.98;

typedef struct scheduler {
  const hsc_memory_order *m;
  hsc_arena *arena;
  int32_t *effect_before;  // [count] the effect that must come before this one; -1 = none
  int64_t *extra_users, *total_bytes;
  int32_t *read_by;  // [count] the instruction, plus one, that was last found to read this one
} scheduler;

static bool is_effect(const hsc_instr *instr) {
  return instr->op != HSC_OP_PARAMETER && hsc_instr_has_effect(instr);
}

// ---- depth first --------------------------------------------------------------------------------

typedef struct visit {
  int32_t number, next, count;
  int32_t *children;
} visit;

static bool comes_later(const scheduler *s, int32_t a, int32_t b) {
  return s->extra_users[a] != s->extra_users[b] ? s->extra_users[a] < s->extra_users[b]
                                                : s->total_bytes[a] < s->total_bytes[b];
}

// Halves sorted, then merged: what is equal keeps its order.
static void sort_children(const scheduler *s, int32_t *children, int32_t count) {
  int32_t *other = HSC_NEW_ARRAY(s->arena, int32_t, count + 1);
  for (int32_t width = 1; width < count && other; width *= 2) {
    for (int32_t first = 0; first < count; first += 2 * width) {
      int32_t middle = first + width < count ? first + width : count;
      int32_t end = first + 2 * width < count ? first + 2 * width : count;
      int32_t left = first;
      int32_t right = middle;
      for (int32_t to = first; to < end; to++) {
        bool takes_right =
            left == middle || (right < end && comes_later(s, children[left], children[right]));
        other[to] = takes_right ? children[right++] : children[left++];
      }
    }
    memcpy(children, other, (size_t)count * sizeof *children);
  }
}

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
  if (count > FEW_CHILDREN) {
    sort_children(s, children, count);
    return count;
  }
  for (int32_t i = 1; i < count; i++)
    for (int32_t j = i; j > 0; j--) {
      int32_t a = children[j - 1];
      int32_t b = children[j];
      if (!comes_later(s, a, b))
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

// Values that an instruction reads: edges instruction -> value, and value -> readers.
typedef struct reads {
  int32_t *first_value, *values;  // of instruction i: values[first_value[i] .. first_value[i + 1])
  int32_t *first_reader, *readers;  // of value v
} reads;

// Calls for each value that `number` reads, once for each operand that leads to it; an operand that
// is given twice counts once.
static int32_t list_values(const scheduler *s, int32_t number, int32_t *out_values) {
  const hsc_memory_order *m = s->m;
  const hsc_instr *instr = m->instrs[number];
  int32_t count = 0;
  for (int o = 0; o < instr->operand_count; o++) {
    int32_t from = hsc__memory_order_read(instr, o);
    if (s->read_by[from] == number + 1)
      continue;
    s->read_by[from] = number + 1;
    for (int32_t r = m->first_root[from]; r < m->first_root[from + 1]; r++, count++)
      if (out_values)
        out_values[count] = m->roots[r];
  }
  return count;
}

static hsc_status *list_reads(const scheduler *s, reads *out) {
  int32_t count = s->m->count;
  out->first_value = HSC_NEW_ARRAY(s->arena, int32_t, count + 1);
  out->first_reader = HSC_NEW_ARRAY(s->arena, int32_t, count + 2);
  HSC_TRY(hsc_arena_status(s->arena));
  memset(s->read_by, 0, (size_t)count * sizeof *s->read_by);
  for (int32_t i = 0; i < count; i++)
    out->first_value[i + 1] = out->first_value[i] + list_values(s, i, NULL);
  int32_t edges = out->first_value[count];
  out->values = HSC_NEW_ARRAY(s->arena, int32_t, edges + 1);
  out->readers = HSC_NEW_ARRAY(s->arena, int32_t, edges + 1);
  HSC_TRY(hsc_arena_status(s->arena));
  memset(s->read_by, 0, (size_t)count * sizeof *s->read_by);
  for (int32_t i = 0; i < count; i++)
    list_values(s, i, out->values + out->first_value[i]);
  // Counted two further, so that filling leaves the beginnings in place.
  for (int32_t e = 0; e < edges; e++)
    out->first_reader[out->values[e] + 2]++;
  for (int32_t v = 2; v <= count + 1; v++)
    out->first_reader[v] += out->first_reader[v - 1];
  for (int32_t i = 0; i < count; i++)
    for (int32_t e = out->first_value[i]; e < out->first_value[i + 1]; e++)
      out->readers[out->first_reader[out->values[e] + 1]++] = i;
  return NULL;
}

// What is ready, by what running it frees beyond what it takes: a heap whose entries may be out of
// date. Of equals the one that stands first in the program comes first.
typedef struct entry {
  int64_t gain;
  int32_t number;
} entry;

typedef struct ready_heap {
  entry *entries;
  int32_t count;
} ready_heap;

static bool goes_first(const entry *a, const entry *b) {
  return a->gain != b->gain ? a->gain > b->gain : a->number < b->number;
}

static void push(ready_heap *heap, int64_t gain, int32_t number) {
  int32_t at = heap->count++;
  heap->entries[at] = (entry){gain, number};
  while (at > 0 && goes_first(&heap->entries[at], &heap->entries[(at - 1) / 2])) {
    entry held = heap->entries[at];
    heap->entries[at] = heap->entries[(at - 1) / 2];
    at = (at - 1) / 2;
    heap->entries[at] = held;
  }
}

static entry pop(ready_heap *heap) {
  entry top = heap->entries[0];
  entry moved = heap->entries[--heap->count];
  int32_t at = 0;
  for (int32_t child = 1; child < heap->count; child = 2 * at + 1) {
    if (child + 1 < heap->count && goes_first(&heap->entries[child + 1], &heap->entries[child]))
      child++;
    if (!goes_first(&heap->entries[child], &moved))
      break;
    heap->entries[at] = heap->entries[child];
    at = child;
  }
  heap->entries[at] = moved;
  return top;
}

// Who must wait for whom.
typedef struct edges {
  int32_t *waits;  // [count] how many must come before
  int32_t *first_follower, *followers;
} edges;

static hsc_status *list_followers(const scheduler *s, edges *out) {
  int32_t count = s->m->count;
  int32_t total = 0;
  out->waits = HSC_NEW_ARRAY(s->arena, int32_t, count + 1);
  out->first_follower = HSC_NEW_ARRAY(s->arena, int32_t, count + 2);
  int32_t **children = HSC_NEW_ARRAY(s->arena, int32_t *, count + 1);
  HSC_TRY(hsc_arena_status(s->arena));
  for (int32_t i = 0; i < count; i++) {
    total += out->waits[i] = children_of(s, i, &children[i]);
    for (int32_t c = 0; c < out->waits[i]; c++)
      out->first_follower[children[i][c] + 2]++;
  }
  out->followers = HSC_NEW_ARRAY(s->arena, int32_t, total + 1);
  HSC_TRY(hsc_arena_status(s->arena));
  for (int32_t v = 2; v <= count + 1; v++)
    out->first_follower[v] += out->first_follower[v - 1];
  for (int32_t i = 0; i < count; i++)
    for (int32_t c = 0; c < out->waits[i]; c++)
      out->followers[out->first_follower[children[i][c] + 1]++] = i;
  return NULL;
}

static hsc_status *step_by_step(const scheduler *s, int32_t *order) {
  const hsc_memory_order *m = s->m;
  reads r = {0};
  edges e = {0};
  HSC_TRY(list_reads(s, &r));
  HSC_TRY(list_followers(s, &e));
  int32_t *left = HSC_NEW_ARRAY(s->arena, int32_t, m->count + 1);  // readers of each value
  int64_t *gain = HSC_NEW_ARRAY(s->arena, int64_t, m->count + 1);
  bool *done = HSC_NEW_ARRAY(s->arena, bool, m->count + 1);
  // Each is pushed when it is ready, and once for each value of which it is the last reader.
  ready_heap heap = {HSC_NEW_ARRAY(s->arena, entry, m->count + r.first_value[m->count] + 1), 0};
  HSC_TRY(hsc_arena_status(s->arena));
  for (int32_t edge = 0; edge < r.first_value[m->count]; edge++)
    left[r.values[edge]]++;
  int32_t root = m->computation->root->index;
  // returned: never freed
  for (int32_t v = m->first_root[root]; v < m->first_root[root + 1]; v++)
    left[m->roots[v]]++;
  for (int32_t i = 0; i < m->count; i++) {
    gain[i] = -m->bytes[i];
    for (int32_t edge = r.first_value[i]; edge < r.first_value[i + 1]; edge++)
      gain[i] += left[r.values[edge]] == 1 ? m->bytes[r.values[edge]] : 0;
    if (e.waits[i] == 0)
      push(&heap, gain[i], i);
  }
  for (int32_t p = 0; p < m->count && heap.count > 0;) {
    entry top = pop(&heap);
    int32_t number = top.number;
    if (done[number] || top.gain != gain[number])
      continue;
    done[number] = true;
    order[p++] = number;
    for (int32_t edge = r.first_value[number]; edge < r.first_value[number + 1]; edge++) {
      int32_t value = r.values[edge];
      if (--left[value] != 1)
        continue;
      // One reader is left: it frees the value.
      for (int32_t at = r.first_reader[value]; at < r.first_reader[value + 1]; at++) {
        int32_t last = r.readers[at];
        if (done[last])
          continue;
        gain[last] += m->bytes[value];
        if (e.waits[last] == 0 && m->bytes[value])
          push(&heap, gain[last], last);
      }
    }
    for (int32_t f = e.first_follower[number]; f < e.first_follower[number + 1]; f++)
      if (--e.waits[e.followers[f]] == 0)
        push(&heap, gain[e.followers[f]], e.followers[f]);
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
  s.read_by = HSC_NEW_ARRAY(cx->scratch, int32_t, m.count + 1);
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
  int tried = HSC_COUNT_OF(orders);
  if (here == 0)
    return NULL;
  HSC_TRY(depth_first(&s, orders[1]));
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
