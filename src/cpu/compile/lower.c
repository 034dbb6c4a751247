// lower.c - decides how each step of a plan is done, and turns a placed plan into thunks.
#include "cpu/thunks/lower.h"
#include <stdlib.h>

#include "cpu/plan/plan_internal.h"
#include "cpu/thunks/thunk_payloads.h"
#include "hlo/ir/custom.h"

// ---- choosing -----------------------------------------------------------------------------------

// Nothing to write: no thunk. Custom calls may be made for their effect.
static bool is_empty(const hsc_instr *instr) {
  return instr->op != HSC_OP_CUSTOM_CALL && !hsc_instr_has_effect(instr) &&
         hsc_shape_bytes(&instr->shape) == 0;
}

static hsc_status *choose_op(hsc_cpu_compiler *compiler, hsc_cpu_step *step) {
  if (is_empty(step->instr))
    return NULL;
  hsc_cpu_choice *choice = HSC_NEW(compiler->arena, hsc_cpu_choice);
  HSC_TRY(hsc_arena_status(compiler->arena));
  // Buffers have the bounds' sizes, and nothing carries the size at run time: a wrong result
  // otherwise.
  if (step->instr->op == HSC_OP_SET_DIMENSION_SIZE || step->instr->op == HSC_OP_DYNAMIC_RESHAPE)
    return hsc_op_not_built(step->instr->op, "sizes at run time on the built-in device");
  if (step->instr->op == HSC_OP_CUSTOM_CALL)
    HSC_TRY(
        hsc_custom_check(step->instr->attr.custom.target ? step->instr->attr.custom.target : ""));
  step->choice = choice;
  for (int kind = 0; kind < HSC_CPU_THUNK_COUNT; kind++) {
    bool chosen = false;
    if (!hsc__cpu_thunk_rows[kind].choose)
      continue;
    *choice = (hsc_cpu_choice){.kind = (hsc_cpu_thunk_kind)kind, .kernel = -1};
    HSC_TRY(hsc__cpu_thunk_rows[kind].choose(compiler, step, choice, &chosen));
    if (chosen)
      return NULL;
  }
  return HSC_ERR(INTERNAL, "%s: no kind of step does it", hsc_op_text(step->instr->op));
}

static hsc_status *choose_block(hsc_cpu_compiler *compiler, hsc_cpu_block *block) {
  for (hsc_cpu_step *step = block->first; step; step = step->next) {
    for (int32_t b = 0; b < step->block_count; b++)
      HSC_TRY(choose_block(compiler, &step->blocks[b]));
    if (step->kind == HSC_CPU_STEP_OP)
      HSC_TRY_NOTE(choose_op(compiler, step), "while: choosing a kernel for %s", step->instr->name);
  }
  return hsc_arena_status(compiler->arena);
}

hsc_status *hsc__cpu_choose(hsc_cpu_compiler *compiler) {
  return choose_block(compiler, &compiler->plan->main);
}

// ---- thunks -------------------------------------------------------------------------------------

static int32_t thunk_count(const hsc_cpu_compiler *compiler) {
  return (int32_t)(compiler->thunks.size / sizeof(hsc_cpu_thunk));
}

static void add_slice(hsc_cpu_compiler *compiler, int32_t value) {
  hsc_cpu_slice slice = hsc_cpu_plan_slice(compiler->plan, value);
  hsc_bytes_append(&compiler->slices, &slice, sizeof slice);
}

// Payloads start at multiples of 16 bytes.
static int64_t add_data(hsc_cpu_compiler *compiler, const void *data, size_t bytes) {
  static const uint8_t zeros[16];
  int64_t offset = (int64_t)compiler->data.size;
  hsc_bytes_append(&compiler->data, data, bytes);
  if (compiler->data.size % 16)
    hsc_bytes_append(&compiler->data, zeros, 16 - compiler->data.size % 16);
  return offset;
}

// Returns the thunk's number; its `next` is set by finish_thunk.
static int32_t begin_thunk(hsc_cpu_compiler *compiler,
                           hsc_cpu_thunk_kind kind,
                           const hsc_instr *instr) {
  hsc_cpu_thunk thunk = {.kind = (int32_t)kind,
                         .slice_first = (int32_t)(compiler->slices.size / sizeof(hsc_cpu_slice)),
                         .instr = instr ? instr->index : -1,
                         .kernel = -1,
                         .data = (int64_t)compiler->data.size};
  hsc_bytes_append(&compiler->thunks, &thunk, sizeof thunk);
  return thunk_count(compiler) - 1;
}

static hsc_cpu_thunk *thunk_at(hsc_cpu_compiler *compiler, int32_t number) {
  return (hsc_cpu_thunk *)compiler->thunks.data + number;
}

static hsc_status *finish_thunk(hsc_cpu_compiler *compiler, int32_t number) {
  if (compiler->thunks.failed || compiler->slices.failed || compiler->data.failed)
    return hsc_status_out_of_memory();
  thunk_at(compiler, number)->next = thunk_count(compiler);
  return NULL;
}

static bool same_place(const hsc_cpu_plan *plan, int32_t a, int32_t b) {
  hsc_cpu_slice x = hsc_cpu_plan_slice(plan, a);
  hsc_cpu_slice y = hsc_cpu_plan_slice(plan, b);
  return x.bytes == 0 || (x.base == y.base && x.offset == y.offset);
}

static hsc_status *add_copy_thunk(hsc_cpu_compiler *compiler,
                                  hsc_cpu_slice from,
                                  hsc_cpu_slice to,
                                  const hsc_instr *instr) {
  int32_t number = begin_thunk(compiler, HSC_CPU_THUNK_COPY, instr);
  hsc_bytes_append(&compiler->slices, &from, sizeof from);
  hsc_bytes_append(&compiler->slices, &to, sizeof to);
  if (!compiler->thunks.failed)
    thunk_at(compiler, number)->input_count = thunk_at(compiler, number)->output_count = 1;
  return finish_thunk(compiler, number);
}

static hsc_status *copy_unless_shared(hsc_cpu_compiler *compiler,
                                      int32_t from,
                                      int32_t to,
                                      const hsc_instr *instr) {
  if (same_place(compiler->plan, from, to))
    return NULL;
  return add_copy_thunk(compiler, hsc_cpu_plan_slice(compiler->plan, from),
                        hsc_cpu_plan_slice(compiler->plan, to), instr);
}

// ---- moves that happen at once ------------------------------------------------------------------

// Where control flow meets, values move to their slots as if at once: a slot may be written only
// when nothing there is still to be moved away. What is left then are circles, whose slots are
// exchanged.
typedef struct move {
  int32_t from, to;
} move;

static bool overlap(const hsc_cpu_plan *plan, int32_t a, int32_t b) {
  hsc_cpu_slice x = hsc_cpu_plan_slice(plan, a);
  hsc_cpu_slice y = hsc_cpu_plan_slice(plan, b);
  return x.bytes > 0 && y.bytes > 0 && x.base == y.base && x.offset < y.offset + y.bytes &&
         y.offset < x.offset + x.bytes;
}

static hsc_status *add_swap_thunk(hsc_cpu_compiler *compiler,
                                  int32_t a,
                                  int32_t b,
                                  const hsc_instr *instr) {
  int32_t number = begin_thunk(compiler, HSC_CPU_THUNK_SWAP, instr);
  add_slice(compiler, a);
  add_slice(compiler, b);
  if (!compiler->thunks.failed)
    thunk_at(compiler, number)->output_count = 2;
  return finish_thunk(compiler, number);
}

// Where a move reads, for finding who reads a place.
typedef struct source {
  hsc_cpu_slice place;
  int64_t ends;  // the furthest end of this one and those before it in the same base
  int move;
} source;

static int by_place(const void *a, const void *b) {
  const source *x = a;
  const source *y = b;
  if (x->place.base != y->place.base)
    return x->place.base < y->place.base ? -1 : 1;
  if (x->place.offset != y->place.offset)
    return x->place.offset < y->place.offset ? -1 : 1;
  return x->move - y->move;
}

// Which moves must wait for which: move i for those that read where it writes.
typedef struct waiting {
  int *count;  // [moves]
  int *first, *next,
      *of;  // first: [moves] the first of the list of those that wait for it, -1 = none
  int edges, capacity;
} waiting;

static hsc_status *add_waiting(hsc_arena *arena, waiting *w, int waits, int for_move) {
  if (w->edges == w->capacity) {
    int capacity = 2 * w->capacity;
    int *next = HSC_NEW_ARRAY(arena, int, capacity);
    int *of = HSC_NEW_ARRAY(arena, int, capacity);
    HSC_TRY(hsc_arena_status(arena));
    memcpy(next, w->next, sizeof *next * (size_t)w->edges);
    memcpy(of, w->of, sizeof *of * (size_t)w->edges);
    w->next = next;
    w->of = of;
    w->capacity = capacity;
  }
  w->count[waits]++;
  w->of[w->edges] = waits;
  w->next[w->edges] = w->first[for_move];
  w->first[for_move] = w->edges++;
  return NULL;
}

static hsc_status *list_waiting(hsc_cpu_compiler *compiler,
                                const move *moves,
                                int count,
                                waiting *out) {
  const hsc_cpu_plan *plan = compiler->plan;
  hsc_arena *arena = compiler->arena;
  source *sources = HSC_NEW_ARRAY(arena, source, count + 1);
  *out = (waiting){.count = HSC_NEW_ARRAY(arena, int, count + 1),
                   .first = HSC_NEW_ARRAY(arena, int, count + 1),
                   .next = HSC_NEW_ARRAY(arena, int, count + 1),
                   .of = HSC_NEW_ARRAY(arena, int, count + 1),
                   .capacity = count + 1};
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    sources[i] = (source){.place = hsc_cpu_plan_slice(plan, moves[i].from), .move = i};
    out->first[i] = -1;
  }
  qsort(sources, (size_t)count, sizeof *sources, by_place);
  for (int i = 0; i < count; i++) {
    sources[i].ends = sources[i].place.offset + sources[i].place.bytes;
    if (i > 0 && sources[i - 1].place.base == sources[i].place.base &&
        sources[i - 1].ends > sources[i].ends)
      sources[i].ends = sources[i - 1].ends;
  }
  for (int i = 0; i < count; i++) {
    hsc_cpu_slice to = hsc_cpu_plan_slice(plan, moves[i].to);
    // The first that begins behind what is written, then back while one may reach into it.
    int low = 0;
    int high = count;
    while (low < high) {
      int middle = (low + high) / 2;
      const hsc_cpu_slice *at = &sources[middle].place;
      bool before = at->base != to.base ? at->base < to.base : at->offset < to.offset + to.bytes;
      *(before ? &low : &high) = before ? middle + 1 : middle;
    }
    for (int s = low - 1; s >= 0 && sources[s].place.base == to.base && sources[s].ends > to.offset;
         s--)
      if (sources[s].move != i && overlap(plan, moves[i].to, moves[sources[s].move].from))
        HSC_TRY(add_waiting(arena, out, i, sources[s].move));
  }
  return NULL;
}

// The least number of a heap.
static void heap_push(int *heap, int *count, int number) {
  int at = (*count)++;
  for (; at > 0 && heap[(at - 1) / 2] > number; at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = number;
}

static int heap_pop(int *heap, int *count) {
  int least = heap[0];
  int moved = heap[--*count];
  int at = 0;
  for (int child = 1; child < *count; child = 2 * at + 1) {
    if (child + 1 < *count && heap[child + 1] < heap[child])
      child++;
    if (heap[child] >= moved)
      break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
  return least;
}

// Does the moves that wait for nobody, and then those that waited for them alone, the first in the
// list first; *count = those that are left, which wait for each other.
static hsc_status *move_in_order(hsc_cpu_compiler *compiler,
                                 move *moves,
                                 int *count,
                                 const hsc_instr *instr) {
  waiting w;
  HSC_TRY(list_waiting(compiler, moves, *count, &w));
  int *ready = HSC_NEW_ARRAY(compiler->arena, int, *count + 1);
  HSC_TRY(hsc_arena_status(compiler->arena));
  int ready_count = 0;
  int left = 0;
  for (int i = 0; i < *count; i++)
    if (w.count[i] == 0)
      heap_push(ready, &ready_count, i);
  while (ready_count > 0) {
    int at = heap_pop(ready, &ready_count);
    w.count[at] = -1;  // done
    HSC_TRY(copy_unless_shared(compiler, moves[at].from, moves[at].to, instr));
    for (int e = w.first[at]; e >= 0; e = w.next[e])
      if (--w.count[w.of[e]] == 0)
        heap_push(ready, &ready_count, w.of[e]);
  }
  for (int i = 0; i < *count; i++)
    if (w.count[i] >= 0)
      moves[left++] = moves[i];
  *count = left;
  return NULL;
}

static hsc_status *move_at_once(hsc_cpu_compiler *compiler,
                                move *moves,
                                int count,
                                const hsc_instr *instr) {
  const hsc_cpu_plan *plan = compiler->plan;
  int kept = 0;
  for (int i = 0; i < count; i++)
    if (!same_place(plan, moves[i].from, moves[i].to))
      moves[kept++] = moves[i];
  HSC_TRY(move_in_order(compiler, moves, &kept, instr));
  // What is left goes in circles.
  while (kept > 0) {
    int free_one = -1;
    for (int i = 0; i < kept && free_one < 0; i++) {
      bool wanted = false;
      for (int j = 0; j < kept && !wanted; j++)
        wanted = j != i && overlap(plan, moves[i].to, moves[j].from);
      if (!wanted)
        free_one = i;
    }
    if (free_one >= 0) {
      HSC_TRY(copy_unless_shared(compiler, moves[free_one].from, moves[free_one].to, instr));
      memmove(&moves[free_one], &moves[free_one + 1],
              sizeof *moves * (size_t)(kept - 1 - free_one));
      kept--;
      continue;
    }
    // After the exchange moves[0] is done, and who wanted what lay there finds it where moves[0]
    // came from.
    move first = moves[0];
    if (hsc_cpu_plan_slice(plan, first.from).bytes != hsc_cpu_plan_slice(plan, first.to).bytes)
      return HSC_ERR(INTERNAL, "%s: values of different sizes change slots", instr->name);
    HSC_TRY(add_swap_thunk(compiler, first.from, first.to, instr));
    memmove(moves, moves + 1, sizeof *moves * (size_t)--kept);
    for (int i = 0; i < kept; i++) {
      if (same_place(plan, moves[i].from, first.to))
        moves[i].from = first.from;
      else if (same_place(plan, moves[i].from, first.from))
        moves[i].from = first.to;
    }
    int left = 0;
    for (int i = 0; i < kept; i++)
      if (!same_place(plan, moves[i].from, moves[i].to))
        moves[left++] = moves[i];
    kept = left;
  }
  return NULL;
}

static hsc_status *lower_block(hsc_cpu_compiler *compiler, const hsc_cpu_block *block);

static hsc_status *lower_op(hsc_cpu_compiler *compiler, const hsc_cpu_step *step) {
  const hsc_cpu_choice *choice = step->choice;
  int32_t number = begin_thunk(compiler, choice->kind, step->instr);
  for (int32_t i = 0; i < step->input_count; i++)
    add_slice(compiler, step->inputs[i]);
  for (int32_t o = 0; o < step->output_count; o++)
    add_slice(compiler, step->outputs[o]);
  if (step->scratch >= 0)
    add_slice(compiler, step->scratch);
  int64_t data = add_data(compiler, choice->payload, choice->payload_bytes);
  HSC_TRY(finish_thunk(compiler, number));
  hsc_cpu_thunk *thunk = thunk_at(compiler, number);
  thunk->input_count = step->input_count;
  thunk->output_count = step->output_count;
  thunk->has_scratch = step->scratch >= 0;
  thunk->kernel = choice->kernel;
  thunk->data = data;
  thunk->data_bytes = (int64_t)choice->payload_bytes;
  return NULL;
}

static hsc_status *lower_while(hsc_cpu_compiler *compiler, const hsc_cpu_step *step) {
  const hsc_cpu_loop *loop = &compiler->plan->loops[step->loop];
  move *moves = HSC_NEW_ARRAY(compiler->arena, move, loop->leaf_count + 1);
  HSC_TRY(hsc_arena_status(compiler->arena));
  int move_count = 0;
  for (int32_t l = 0; l < loop->leaf_count; l++)
    if (!loop->leaves[l].invariant)
      moves[move_count++] = (move){step->inputs[l], loop->leaves[l].in_body};
  HSC_TRY(move_at_once(compiler, moves, move_count, step->instr));
  int32_t number = begin_thunk(compiler, HSC_CPU_THUNK_WHILE, step->instr);
  add_slice(compiler, step->condition);
  hsc_cpu_while payload = {.trip_count = step->trip_count};
  int64_t data = add_data(compiler, &payload, sizeof payload);
  // A loop whose trips are counted never looks at its condition.
  if (step->trip_count < 0)
    HSC_TRY(lower_block(compiler, &step->blocks[0]));
  payload.condition_count = thunk_count(compiler) - number - 1;
  HSC_TRY(lower_block(compiler, &step->blocks[1]));
  move_count = 0;
  for (int32_t l = 0; l < loop->leaf_count; l++)
    if (!loop->leaves[l].invariant)
      moves[move_count++] = (move){loop->leaves[l].next, loop->leaves[l].in_body};
  HSC_TRY(move_at_once(compiler, moves, move_count, step->instr));
  payload.body_count = thunk_count(compiler) - number - 1 - payload.condition_count;
  HSC_TRY(finish_thunk(compiler, number));
  hsc_cpu_thunk *thunk = thunk_at(compiler, number);
  thunk->input_count = 1;
  thunk->data = data;
  thunk->data_bytes = sizeof payload;
  memcpy(compiler->data.data + data, &payload, sizeof payload);
  return NULL;
}

static hsc_status *lower_conditional(hsc_cpu_compiler *compiler, const hsc_cpu_step *step) {
  const hsc_cpu_branches *branches = step->choice;
  size_t bytes = sizeof(hsc_cpu_conditional) + sizeof(int32_t) * (size_t)step->block_count;
  hsc_cpu_conditional *payload = hsc_arena_alloc(compiler->arena, bytes);
  payload->is_predicate = step->instr->operands[0]->shape.type == HSC_TYPE_PRED;
  payload->branch_count = step->block_count;
  int32_t number = begin_thunk(compiler, HSC_CPU_THUNK_CONDITIONAL, step->instr);
  add_slice(compiler, step->condition);
  for (int32_t b = 0; b < step->block_count; b++) {
    int32_t first = thunk_count(compiler);
    HSC_TRY(lower_block(compiler, &step->blocks[b]));
    move *moves = HSC_NEW_ARRAY(compiler->arena, move, step->output_count + 1);
    HSC_TRY(hsc_arena_status(compiler->arena));
    for (int32_t o = 0; o < step->output_count; o++)
      moves[o] = (move){branches->roots[b][o], step->outputs[o]};
    HSC_TRY(move_at_once(compiler, moves, step->output_count, step->instr));
    payload->thunk_counts[b] = thunk_count(compiler) - first;
  }
  int64_t data = add_data(compiler, payload, bytes);
  HSC_TRY(finish_thunk(compiler, number));
  hsc_cpu_thunk *thunk = thunk_at(compiler, number);
  thunk->input_count = 1;
  thunk->data = data;
  thunk->data_bytes = (int64_t)bytes;
  return NULL;
}

static hsc_status *lower_block(hsc_cpu_compiler *compiler, const hsc_cpu_block *block) {
  for (const hsc_cpu_step *step = block->first; step; step = step->next) {
    switch (step->kind) {
      case HSC_CPU_STEP_OP:
        if (step->choice)
          HSC_TRY(lower_op(compiler, step));
        break;
      case HSC_CPU_STEP_COPY:
        HSC_TRY(copy_unless_shared(compiler, step->inputs[0], step->outputs[0], step->instr));
        break;
      case HSC_CPU_STEP_WHILE:
        HSC_TRY(lower_while(compiler, step));
        break;
      case HSC_CPU_STEP_CONDITIONAL:
        HSC_TRY(lower_conditional(compiler, step));
        break;
    }
  }
  return NULL;
}

static hsc_status *lower_outputs(hsc_cpu_compiler *compiler) {
  const hsc_cpu_plan *plan = compiler->plan;
  for (int32_t o = 0; o < plan->output_count; o++) {
    hsc_cpu_slice from = hsc_cpu_plan_slice(plan, plan->output_values[o]);
    hsc_cpu_slice to = {.base = HSC_CPU_BASE_FIRST_INPUT + plan->input_count + o,
                        .value = plan->output_values[o],
                        .bytes = from.bytes};
    if (from.bytes == 0 || from.base == to.base)
      continue;
    HSC_TRY(add_copy_thunk(compiler, from, to, NULL));
  }
  return NULL;
}

hsc_status *hsc__cpu_lower(hsc_cpu_compiler *compiler) {
  HSC_TRY(lower_block(compiler, &compiler->plan->main));
  return lower_outputs(compiler);
}
