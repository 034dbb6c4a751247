// buffer_assignment.c - storage sets and slots (see plan.h).
//
// Every value is live from its definition to its last use (both positions included); a value that
// is used inside a loop but defined before it is live to the loop's end. Two storage sets may
// become one when no live interval of the one meets an interval of the other, except where one ends
// at the very step that defines the other and that step may overwrite that operand in place.
//
// Sets are merged in order of what it saves: what a loop body computes with the carried slot (else
// a copy per trip), the initial value with the carried slot, branch results with the
// conditional's, results with the program's outputs, then operands with in-place results. Then sets
// get offsets in the temporary block, the largest first, each at the lowest offset that is free
// over all of its intervals; of thousands of sets the small ones go into a part of their own, where
// sets of one size share slots in the order of time.
// Cost: n log n. A set keeps its values in a tree by time (live_set.h).
#include "cpu/plan/live_set.h"
#include "cpu/plan/plan_internal.h"

#include <stdlib.h>

typedef struct placer {
  hsc_cpu_plan *plan;
  hsc_status *status;
} placer;

// ---- live intervals -----------------------------------------------------------------------------

static void extend_lives(hsc_cpu_plan *plan) {
  for (int32_t u = 0; u < plan->use_count; u++) {
    hsc_cpu_value *value = &plan->values[plan->uses[u].value];
    int32_t last = plan->uses[u].position;
    for (int32_t loop = plan->uses[u].loop; loop >= 0 && value->def <= plan->loops[loop].begin;
         loop = plan->loops[loop].parent)
      last = plan->loops[loop].end;
    if (last > value->last)
      value->last = last;
  }
}

// ---- merging ------------------------------------------------------------------------------------

// May the step that defines `later` write over `earlier`, which it reads for the last time?
static bool may_overwrite(const hsc_cpu_plan *plan, int32_t later, int32_t earlier) {
  const hsc_cpu_value *value = &plan->values[later];
  const hsc_cpu_step *step = value->step;
  if (!step || !step->in_place)
    return false;
  bool reads = false;
  for (int32_t i = 0; i < step->input_count; i++) {
    if (step->inputs[i] != earlier)
      continue;
    reads = true;
    if (i >= 64 || !(step->in_place[value->output] & ((uint64_t)1 << i)))
      return false;
  }
  return reads;
}

static bool values_conflict(const hsc_cpu_plan *plan, int32_t a, int32_t b) {
  const hsc_cpu_value *x = &plan->values[a];
  const hsc_cpu_value *y = &plan->values[b];
  if (x->last < y->def || y->last < x->def)
    return false;
  if (x->last == y->def && x->def < y->def && may_overwrite(plan, b, a))
    return false;
  if (y->last == x->def && y->def < x->def && may_overwrite(plan, a, b))
    return false;
  return true;
}

static bool value_conflicts(const void *plan, int32_t a, int32_t b) {
  return values_conflict(plan, a, b);
}

static bool sets_conflict(const hsc_cpu_plan *plan, int32_t set_a, int32_t set_b) {
  return hsc__live_sets_meet(plan, set_a, set_b, value_conflicts);
}

static void join_sets(hsc_cpu_plan *plan, int32_t into, int32_t from) {
  if (plan->sets[from].first_value < 0 || into == from)
    return;
  hsc__live_set_join(plan, into, from);
  if (plan->sets[from].bytes > plan->sets[into].bytes)
    plan->sets[into].bytes = plan->sets[from].bytes;
  if (plan->sets[into].base < 0)
    plan->sets[into].base = plan->sets[from].base;
}

static bool is_computed(const hsc_cpu_plan *plan, int32_t value) {
  return plan->values[value].kind == HSC_CPU_VALUE_COMPUTED;
}

// Lets two computed values share memory when nothing speaks against it.
static bool try_share(hsc_cpu_plan *plan, int32_t a, int32_t b) {
  if (!is_computed(plan, a) || !is_computed(plan, b) ||
      plan->values[a].bytes != plan->values[b].bytes)
    return false;
  int32_t set_a = hsc__live_set_of(plan, a);
  int32_t set_b = hsc__live_set_of(plan, b);
  if (set_a == set_b)
    return true;
  if (plan->sets[set_a].base >= 0 && plan->sets[set_b].base >= 0)
    return false;
  if (sets_conflict(plan, set_a, set_b))
    return false;
  join_sets(plan, set_a, set_b);
  return true;
}

// Keeps the slot of `value` reserved at `position`, where a copy writes it.
static hsc_status *hold(hsc_cpu_plan *plan, int32_t value, int32_t position) {
  HSC_TRY(hsc__cpu_plan_reserve(plan, 1));
  int32_t number =
      hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_HOLD, plan->values[value].bytes, position);
  hsc__live_set_add(plan, hsc__live_set_of(plan, value), number);
  return NULL;
}

static hsc_status *share_loops(hsc_cpu_plan *plan) {
  for (int32_t l = 0; l < plan->loop_count; l++)
    for (int32_t i = 0; i < plan->loops[l].leaf_count; i++) {
      const hsc_cpu_carried *leaf = &plan->loops[l].leaves[i];
      if (leaf->invariant)
        continue;
      join_sets(plan, hsc__live_set_of(plan, leaf->result),
                hsc__live_set_of(plan, leaf->in_condition));
      join_sets(plan, hsc__live_set_of(plan, leaf->result), hsc__live_set_of(plan, leaf->in_body));
    }
  // Inner loops come after their outer loop in the list; what an inner loop's result is to the
  // outer body is found in either order.
  for (int32_t l = plan->loop_count - 1; l >= 0; l--)
    for (int32_t i = 0; i < plan->loops[l].leaf_count; i++) {
      const hsc_cpu_carried *leaf = &plan->loops[l].leaves[i];
      if (leaf->invariant || try_share(plan, leaf->in_body, leaf->next))
        continue;
      HSC_TRY(hold(plan, leaf->in_body, plan->loops[l].body_end));
    }
  for (int32_t l = plan->loop_count - 1; l >= 0; l--)
    for (int32_t i = 0; i < plan->loops[l].leaf_count; i++) {
      const hsc_cpu_carried *leaf = &plan->loops[l].leaves[i];
      if (leaf->invariant || try_share(plan, leaf->in_condition, plan->loops[l].step->inputs[i]))
        continue;
      HSC_TRY(hold(plan, leaf->in_condition, plan->loops[l].begin));
    }
  return NULL;
}

static hsc_status *share_branches(hsc_cpu_plan *plan, hsc_cpu_block *block) {
  for (hsc_cpu_step *step = block->first; step; step = step->next) {
    for (int32_t b = 0; b < step->block_count; b++)
      HSC_TRY(share_branches(plan, &step->blocks[b]));
    if (step->kind != HSC_CPU_STEP_CONDITIONAL)
      continue;
    const hsc_cpu_branches *branches = step->choice;
    for (int32_t b = 0; b < step->block_count; b++)
      for (int32_t o = 0; o < step->output_count; o++)
        if (!try_share(plan, step->outputs[o], branches->roots[b][o]))
          HSC_TRY(hold(plan, step->outputs[o], branches->ends[b]));
  }
  return NULL;
}

// A result is computed in its output buffer. Where that may be the memory of an input, the input's
// life is part of the set.
static void share_outputs(hsc_cpu_plan *plan) {
  for (int32_t o = 0; o < plan->output_count; o++) {
    int32_t value = plan->output_values[o];
    if (!is_computed(plan, value) || plan->values[value].bytes == 0)
      continue;
    int32_t set = hsc__live_set_of(plan, value);
    if (plan->sets[set].base >= 0 || plan->sets[set].bytes != plan->values[value].bytes)
      continue;
    if (plan->output_alias[o] >= 0) {
      int32_t input = plan->output_alias[o];  // inputs are the first values
      if (sets_conflict(plan, set, hsc__live_set_of(plan, input)))
        continue;
      join_sets(plan, set, hsc__live_set_of(plan, input));
    }
    plan->sets[set].base = HSC_CPU_BASE_FIRST_INPUT + plan->input_count + o;
  }
}

static void share_in_place(hsc_cpu_plan *plan, const hsc_cpu_block *block) {
  for (const hsc_cpu_step *step = block->first; step; step = step->next) {
    for (int32_t b = 0; b < step->block_count; b++)
      share_in_place(plan, &step->blocks[b]);
    if (!step->in_place)
      continue;
    for (int32_t o = 0; o < step->output_count; o++)
      for (int32_t i = 0; i < step->input_count && i < 64; i++)
        if ((step->in_place[o] & ((uint64_t)1 << i)) &&
            try_share(plan, step->inputs[i], step->outputs[o]))
          break;
  }
}

// ---- slots --------------------------------------------------------------------------------------

typedef struct placed {
  int32_t set;
  int32_t from, to;  // hull of the intervals
  int64_t bytes, offset;
} placed;

static int by_size(const void *a, const void *b) {
  const placed *x = a;
  const placed *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return x->set < y->set ? -1 : x->set > y->set;
}

static int by_offset(const void *a, const void *b) {
  const placed *const *x = a;
  const placed *const *y = b;
  if ((*x)->offset != (*y)->offset)
    return (*x)->offset < (*y)->offset ? -1 : 1;
  return 0;
}

static bool always(const void *plan, int32_t a, int32_t b) {
  (void)plan;
  (void)a;
  (void)b;
  return true;
}

// Beyond so many sets each is no longer compared with each.
enum { MOST_COMPARED = 1024 };

static hsc_status *placed_bytes(int64_t bytes, int64_t *out_bytes) {
  size_t padded;
  if (!hsc_add_size((size_t)bytes, HSC_CPU_PLACE_ALIGNMENT - 1, &padded) || padded > (size_t)1
                                                                                         << 46)
    return HSC_ERR(RESOURCE_EXHAUSTED, "a temporary array of %lld bytes does not fit in memory",
                   (long long)bytes);
  *out_bytes = (int64_t)(padded / HSC_CPU_PLACE_ALIGNMENT * HSC_CPU_PLACE_ALIGNMENT);
  return NULL;
}

static void place_at(hsc_cpu_plan *plan, placed *item, int64_t offset) {
  item->offset = offset;
  plan->sets[item->set].offset = offset;
  if (offset + item->bytes > plan->temp_bytes)
    plan->temp_bytes = offset + item->bytes;
}

// Sets that were placed, by when they live: those of a short life in each of the few stretches of
// time that it touches, the others in one list.
enum { STRETCHES = 256, SHORT_LIFE = 8 };
typedef struct timeline {
  struct entry {
    int32_t item, next;  // -1 ends
  } *entries;            // [room]
  int32_t count, heads[STRETCHES + 1];
  int32_t length;  // positions in a stretch
  int32_t *seen;   // [items] the last one that was compared with this one, plus 1
} timeline;

static void add_entry(timeline *t, int32_t stretch, int32_t item) {
  t->entries[t->count] = (struct entry){item, t->heads[stretch]};
  t->heads[stretch] = t->count++;
}

static bool is_short(const timeline *t, const placed *item) {
  return item->to / t->length - item->from / t->length < SHORT_LIFE;
}

static void note_placed(timeline *t, const placed *items, int32_t i) {
  if (!is_short(t, &items[i])) {
    add_entry(t, STRETCHES, i);
    return;
  }
  for (int32_t s = items[i].from / t->length; s <= items[i].to / t->length; s++)
    add_entry(t, s, i);
}

static int32_t find_busy(
    const hsc_cpu_plan *plan, timeline *t, placed *items, int32_t i, placed **busy) {
  int32_t busy_count = 0;
  int32_t last = items[i].to / t->length;
  for (int32_t s = items[i].from / t->length; s <= last + 1; s++)
    for (int32_t e = t->heads[s <= last ? s : STRETCHES]; e >= 0; e = t->entries[e].next) {
      int32_t j = t->entries[e].item;
      if (t->seen[j] == i + 1)
        continue;
      t->seen[j] = i + 1;
      if (items[i].from <= items[j].to && items[j].from <= items[i].to &&
          hsc__live_sets_meet(plan, items[i].set, items[j].set, always))
        busy[busy_count++] = &items[j];
    }
  return busy_count;
}

static hsc_status *timeline_init(const hsc_cpu_plan *plan, int32_t count, timeline *t) {
  t->length = plan->position_count / STRETCHES + 1;
  t->entries = HSC_NEW_ARRAY(plan->arena, struct entry, count * SHORT_LIFE + 1);
  t->seen = HSC_NEW_ARRAY(plan->arena, int32_t, count + 1);
  for (int32_t s = 0; s <= STRETCHES; s++)
    t->heads[s] = -1;
  return hsc_arena_status(plan->arena);
}

// Each of few sets at the lowest offset that is free while it lives.
static hsc_status *place_compared(hsc_cpu_plan *plan, placed *items, int32_t count, placed **busy) {
  timeline t = {0};
  HSC_TRY(timeline_init(plan, count, &t));
  for (int32_t i = 0; i < count; i++) {
    int32_t busy_count = find_busy(plan, &t, items, i, busy);
    qsort(busy, (size_t)busy_count, sizeof *busy, by_offset);
    int64_t offset = 0;
    for (int32_t j = 0; j < busy_count; j++) {
      if (busy[j]->offset - offset >= items[i].bytes)
        break;
      if (busy[j]->offset + busy[j]->bytes > offset)
        offset = busy[j]->offset + busy[j]->bytes;
    }
    place_at(plan, &items[i], offset);
    note_placed(&t, items, i);
  }
  return NULL;
}

static int by_size_and_time(const void *a, const void *b) {
  const placed *x = a;
  const placed *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  if (x->from != y->from)
    return x->from < y->from ? -1 : 1;
  return x->set < y->set ? -1 : x->set > y->set;
}

// The set that gives its slot back first, at the top of a heap.
static void sink(placed **heap, int32_t count, int32_t at) {
  for (;;) {
    int32_t least = at;
    for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
      if (heap[child]->to < heap[least]->to)
        least = child;
    if (least == at)
      return;
    placed *held = heap[at];
    heap[at] = heap[least];
    heap[least] = held;
    at = least;
  }
}

static void rise(placed **heap, int32_t at) {
  for (; at > 0 && heap[(at - 1) / 2]->to > heap[at]->to; at = (at - 1) / 2) {
    placed *held = heap[at];
    heap[at] = heap[(at - 1) / 2];
    heap[(at - 1) / 2] = held;
  }
}

// Sets of one size, in the order in which they begin: each takes the slot of the one that ended
// first, or a new one. As many slots as live at once, which is the least.
static void place_by_size(hsc_cpu_plan *plan, placed *items, int32_t count, placed **heap) {
  qsort(items, (size_t)count, sizeof *items, by_size_and_time);
  int32_t slots = 0;
  for (int32_t i = 0; i < count; i++) {
    if (i > 0 && items[i].bytes != items[i - 1].bytes)
      slots = 0;
    bool freed = slots > 0 && heap[0]->to < items[i].from;
    place_at(plan, &items[i], freed ? heap[0]->offset : plan->temp_bytes);
    if (freed) {
      heap[0] = &items[i];
      sink(heap, slots, 0);
    } else {
      heap[slots++] = &items[i];
      rise(heap, slots - 1);
    }
  }
}

static hsc_status *place_temporaries(hsc_cpu_plan *plan) {
  placed *items = HSC_NEW_ARRAY(plan->arena, placed, plan->value_count + 1);
  placed **room = HSC_NEW_ARRAY(plan->arena, placed *, plan->value_count + 1);
  HSC_TRY(hsc_arena_status(plan->arena));
  int32_t count = 0;
  for (int32_t s = 0; s < plan->value_count; s++) {
    hsc_cpu_set *set = &plan->sets[s];
    if (set->first_value < 0 || set->base >= 0)
      continue;
    set->base = HSC_CPU_BASE_TEMP;
    set->offset = 0;
    if (set->bytes == 0)
      continue;
    placed *item = &items[count++];
    *item = (placed){.set = s};
    HSC_TRY(placed_bytes(set->bytes, &item->bytes));
    hsc__live_set_hull(plan, s, &item->from, &item->to);
  }
  qsort(items, (size_t)count, sizeof *items, by_size);
  int32_t compared = count < MOST_COMPARED ? count : MOST_COMPARED;
  HSC_TRY(place_compared(plan, items, compared, room));
  place_by_size(plan, items + compared, count - compared, room);
  return NULL;
}

static hsc_status *add_scratch(hsc_cpu_plan *plan, hsc_cpu_block *block) {
  for (hsc_cpu_step *step = block->first; step; step = step->next) {
    for (int32_t b = 0; b < step->block_count; b++)
      HSC_TRY(add_scratch(plan, &step->blocks[b]));
    if (step->scratch_bytes <= 0)
      continue;
    HSC_TRY(hsc__cpu_plan_reserve(plan, 1));
    step->scratch =
        hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_COMPUTED, step->scratch_bytes, step->position);
  }
  return NULL;
}

static int32_t hold_count(const hsc_cpu_plan *plan, const hsc_cpu_block *block) {
  int32_t count = 0;
  for (const hsc_cpu_step *step = block->first; step; step = step->next) {
    for (int32_t b = 0; b < step->block_count; b++)
      count += hold_count(plan, &step->blocks[b]);
    count += step->output_count * (step->block_count + 2);
  }
  return count;
}

hsc_status *hsc_cpu_plan_assign(hsc_cpu_plan *plan) {
  HSC_TRY(add_scratch(plan, &plan->main));
  extend_lives(plan);
  // Sets are numbered like values; holds that are added below join existing sets, so room for them
  // keeps the array in place.
  HSC_TRY(hsc__cpu_plan_reserve(plan, hold_count(plan, &plan->main)));
  plan->sets = HSC_NEW_ARRAY(plan->arena, hsc_cpu_set, plan->value_capacity + 1);
  HSC_TRY(hsc_arena_status(plan->arena));
  for (int32_t v = 0; v < plan->value_capacity; v++)
    plan->sets[v] = (hsc_cpu_set){.first_value = -1, .joined = -1, .base = -1};
  for (int32_t v = 0; v < plan->value_count; v++) {
    hsc__live_set_begin(plan, v);
    plan->sets[v].bytes = plan->values[v].bytes;
    if (plan->values[v].kind == HSC_CPU_VALUE_INPUT)
      plan->sets[v].base = HSC_CPU_BASE_FIRST_INPUT + plan->values[v].number;
    if (plan->values[v].kind == HSC_CPU_VALUE_CONSTANT) {
      plan->sets[v].base = HSC_CPU_BASE_CONSTANTS;
      plan->sets[v].offset = plan->constants[plan->values[v].number].offset;
    }
  }
  HSC_TRY(share_loops(plan));
  HSC_TRY(share_branches(plan, &plan->main));
  share_outputs(plan);
  share_in_place(plan, &plan->main);
  return place_temporaries(plan);
}

hsc_cpu_slice hsc_cpu_plan_slice(const hsc_cpu_plan *plan, int32_t value) {
  const hsc_cpu_value *v = &plan->values[value];
  if (v->kind == HSC_CPU_VALUE_INPUT)
    return (hsc_cpu_slice){
        .base = HSC_CPU_BASE_FIRST_INPUT + v->number, .value = value, .bytes = v->bytes};
  const hsc_cpu_set *set = &plan->sets[hsc__live_set_of(plan, value)];
  return (hsc_cpu_slice){
      .base = set->base, .value = value, .offset = set->offset, .bytes = v->bytes};
}
