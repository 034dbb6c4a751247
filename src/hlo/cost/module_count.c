// module_count.c - what a run of a whole program costs, from its text: loops as often as their
// trips, conditionals as the branch that is taken; what is guessed is counted and named.
//
// A computation is counted in a frame (known_values.h), which knows what the text decides. Where
// its count asked the caller for nothing it holds for every call and is kept.
#include "hlo/cost/known_values.h"

enum { DEEPEST = 256 };

typedef struct counter {
  hsc_count *out;
  hsc__ptr_map known;  // computation -> known_count *
  hsc__known values;
  hsc_arena *arena;
  bool by_op, open_fusions;
} counter;

typedef struct known_count {
  hsc_cost cost;
  int64_t loops, branches;
  hsc_op_costs *by_op;  // NULL = not asked for
} known_count;

// `times` runs of what a computation does; `guessed`: how often it runs is not in the text.
static void add_count(known_count *sum, const known_count *part, double times, bool guessed) {
  hsc_cost_add(&sum->cost, &part->cost, times);
  sum->loops += part->loops;
  sum->branches += part->branches;
  for (int op = 0; op < HSC_OP_COUNT && sum->by_op && part->by_op; op++) {
    struct hsc_op_cost *to = &sum->by_op->of[op];
    const struct hsc_op_cost *from = &part->by_op->of[op];
    hsc_cost_add(&to->cost, &from->cost, times);
    to->runs += times * from->runs;
    to->guessed |= from->guessed || (guessed && from->runs > 0);
  }
}

// A count of nothing, with room for operations where they are asked for.
static known_count no_count(const counter *c) {
  return (known_count){.by_op = c->by_op ? HSC_NEW(c->arena, hsc_op_costs) : NULL};
}

static bool same(const hsc_cost *a, const hsc_cost *b) {
  return a->flops == b->flops && a->transcendentals == b->transcendentals &&
         a->bytes_read == b->bytes_read && a->bytes_written == b->bytes_written &&
         a->uncounted == b->uncounted;
}

static void name_guess(counter *c, const hsc_instr *instr) {
  if (!c->out->first_guess)
    c->out->first_guess = instr;
}

static void count_computation(
    counter *c, const hsc_computation *computation, hsc__frame *frame, int depth, known_count *sum);

// ---- loops --------------------------------------------------------------------------------------

static void forget_count(known_count *count) {
  hsc_op_costs *by_op = count->by_op;
  if (by_op)
    *by_op = (hsc_op_costs){0};
  *count = (known_count){.by_op = by_op};
}

// A guess in a body is one guess, however many trips it is in.
static void add_trip(known_count *sum, const known_count *trip) {
  int64_t loops = sum->loops > trip->loops ? sum->loops : trip->loops;
  int64_t branches = sum->branches > trip->branches ? sum->branches : trip->branches;
  add_count(sum, trip, 1, false);
  sum->loops = loops;
  sum->branches = branches;
}

typedef struct loop_count {
  known_count condition, body;  // of the first trip
  known_count all;  // of all trips, where `trips` says that they were counted one by one
  int64_t trips;    // -1 = not known
  bool one_by_one;
} loop_count;

// Counts the trip that the run stands at; false where what it costs hangs on the trip, as far as
// that is known.
static bool count_trip(
    counter *c, hsc__loop_run *run, const hsc_instr *loop, int depth, known_count *parts[2]) {
  bool all_alike = true;
  for (int i = 0; i < 2; i++) {
    hsc__frame *frame = hsc__loop_frame(run, i);
    forget_count(parts[i]);
    count_computation(c, loop->called[i], frame, depth + 1, parts[i]);
    all_alike &= !frame || !hsc__frame_knew(frame);
  }
  return all_alike;
}

// Each trip by itself: what it costs hangs on values that change.
static void count_trips(
    counter *c, hsc__loop_run *run, const hsc_instr *loop, int depth, loop_count *out) {
  known_count condition = no_count(c);
  known_count body = no_count(c);
  known_count *parts[2] = {&condition, &body};
  hsc__loop_step at = HSC__LOOP_AGAIN;
  const hsc_instr *named_before = c->out->first_guess;
  while (at == HSC__LOOP_TRIP || at == HSC__LOOP_AGAIN) {
    if (at == HSC__LOOP_AGAIN) {
      out->trips = 0;
      forget_count(&out->all);
      c->out->first_guess = named_before;
    }
    count_trip(c, run, loop, depth, parts);
    at = hsc__loop_test(run);
    if (at == HSC__LOOP_TRIP || at == HSC__LOOP_END)
      add_trip(&out->all, &condition);
    if (at != HSC__LOOP_TRIP)
      continue;
    add_trip(&out->all, &body);
    out->trips++;
    at = hsc__loop_next(run);
  }
  out->one_by_one = at == HSC__LOOP_END;
  if (!out->one_by_one)
    out->trips = -1;
}

// Trips alone: each costs the same.
static int64_t trips_of(hsc__loop_run *run) {
  int64_t trips = 0;
  for (;;) {
    hsc__loop_step at = hsc__loop_test(run);
    if (at == HSC__LOOP_TRIP) {
      trips++;
      at = hsc__loop_next(run);
    }
    if (at == HSC__LOOP_AGAIN)
      trips = 0;
    else if (at != HSC__LOOP_TRIP)
      return at == HSC__LOOP_END ? trips : -1;
  }
}

static void count_loop(
    counter *c, const hsc_instr *loop, hsc__frame *frame, int depth, known_count *sum) {
  loop_count count = {.condition = no_count(c), .body = no_count(c), .all = no_count(c)};
  if (loop->called_count != 2)
    return;
  count.trips = hsc_loop_trip_count(loop);
  hsc__loop_run *run = frame ? hsc__loop_begin(&c->values, frame, loop) : NULL;
  if (run) {
    if (!count_trip(c, run, loop, depth, (known_count *[]){&count.condition, &count.body}))
      count_trips(c, run, loop, depth, &count);
    else if (count.trips < 0)
      count.trips = trips_of(run);
    hsc__loop_end(run);
  } else {
    count_computation(c, loop->called[0], NULL, depth + 1, &count.condition);
    count_computation(c, loop->called[1], NULL, depth + 1, &count.body);
  }
  if (count.one_by_one) {
    add_count(sum, &count.all, 1, false);
    return;
  }
  bool guessed = count.trips < 0;
  if (guessed) {
    sum->loops++;
    name_guess(c, loop);
    count.trips = 1;
  }
  add_count(sum, &count.condition, (double)count.trips + 1, guessed);  // the last one ends it
  add_count(sum, &count.body, (double)count.trips, guessed);
}

// ---- branches -----------------------------------------------------------------------------------

static double everything(const hsc_cost *cost) {
  return cost->flops + cost->transcendentals + cost->bytes_read + cost->bytes_written;
}

static void count_branches(
    counter *c, const hsc_instr *instr, hsc__frame *frame, int depth, known_count *sum) {
  int taken = hsc__known_branch(&c->values, frame, instr);
  known_count most = no_count(c);
  int64_t loops = 0;
  int64_t branches = 0;
  bool differ = false;
  if (taken >= 0) {
    count_computation(c, instr->called[taken], hsc__frame_called(&c->values, frame, instr, taken),
                      depth + 1, sum);
    return;
  }
  for (int i = 0; i < instr->called_count; i++) {
    known_count branch = no_count(c);
    count_computation(c, instr->called[i], hsc__frame_called(&c->values, frame, instr, i),
                      depth + 1, &branch);
    differ |= i > 0 && !same(&branch.cost, &most.cost);
    loops += branch.loops;
    branches += branch.branches;
    if (i == 0 || everything(&branch.cost) > everything(&most.cost))
      most = branch;
  }
  if (differ)
    name_guess(c, instr);
  most.loops = loops;
  most.branches = branches + differ;
  add_count(sum, &most, 1, differ);
}

// ---- instructions -------------------------------------------------------------------------------

// A scan runs its computation once for each place along its dimension.
static void count_scan(counter *c, const hsc_instr *instr, int depth, known_count *sum) {
  known_count body = no_count(c);
  const hsc_dims *along = &instr->attr.dims.dims;
  const hsc_shape *input = &instr->operands[0]->shape;
  count_computation(c, instr->called[0], NULL, depth + 1, &body);
  if (along->count == 1 && hsc_shape_is_array(input) && along->v[0] < input->rank)
    add_count(sum, &body, (double)input->dims[along->v[0]], false);
}

// What the result or an effect needs; the rest is not run.
static void mark_needed(const hsc_computation *computation, hsc__ptr_map *needed) {
  for (const hsc_instr *instr = computation->last; instr; instr = instr->prev) {
    bool wanted = instr == computation->root || hsc_instr_has_effect(instr);
    for (int i = 0; i < instr->user_count && !wanted; i++)
      wanted = hsc__ptr_map_get(needed, instr->users[i]) != NULL;
    if (wanted)
      hsc__ptr_map_put(needed, instr, (void *)(uintptr_t)instr);
  }
}

// What a fusion computes, under the operations in it; their values stay in registers.
static void open_fusion(const hsc_computation *body, int depth, hsc_op_costs *by_op) {
  HSC_FOR_EACH_INSTR_IN (body, instr) {
    hsc_cost cost;
    hsc_instr_cost(instr, &cost);
    if (instr->op == HSC_OP_FUSION && depth < DEEPEST) {
      open_fusion(instr->called[0], depth + 1, by_op);
      continue;
    }
    by_op->of[instr->op].runs++;
    by_op->of[instr->op].cost.flops += cost.flops;
    by_op->of[instr->op].cost.transcendentals += cost.transcendentals;
    by_op->of[instr->op].cost.uncounted += cost.uncounted;
  }
}

static void count_one(const counter *c, const hsc_instr *instr, int depth, known_count *sum) {
  hsc_cost cost;
  hsc_instr_cost(instr, &cost);
  hsc_cost_add(&sum->cost, &cost, 1);
  if (!sum->by_op)
    return;
  if (c->open_fusions && instr->op == HSC_OP_FUSION) {
    open_fusion(instr->called[0], depth, sum->by_op);
    cost.flops = cost.transcendentals = cost.uncounted = 0;
  }
  hsc_cost_add(&sum->by_op->of[instr->op].cost, &cost, 1);
  sum->by_op->of[instr->op].runs++;
}

static void count_instr(
    counter *c, const hsc_instr *instr, hsc__frame *frame, int depth, known_count *sum) {
  bool calls_one = instr->called_count == 1;
  switch (instr->op) {
    case HSC_OP_WHILE:
      count_loop(c, instr, frame, depth, sum);
      break;
    case HSC_OP_CONDITIONAL:
      count_branches(c, instr, frame, depth, sum);
      break;
    case HSC_OP_CALL:
    case HSC_OP_ASYNC_START:
      if (calls_one)
        count_computation(c, instr->called[0], hsc__frame_called(&c->values, frame, instr, 0),
                          depth + 1, sum);
      break;
    case HSC_OP_SCAN:
      if (calls_one)
        count_scan(c, instr, depth, sum);
      break;
    default:
      count_one(c, instr, depth, sum);
      break;
  }
}

static void count_needed(counter *c,
                         const hsc_computation *computation,
                         hsc__frame *frame,
                         int depth,
                         known_count *here) {
  hsc__ptr_map needed = {0};
  mark_needed(computation, &needed);
  HSC_FOR_EACH_INSTR_IN (computation, instr)
    if (needed.failed || hsc__ptr_map_get(&needed, instr))
      count_instr(c, instr, frame, depth, here);
  hsc__ptr_map_deinit(&needed);
}

// frame NULL: nothing is known in it.
static void count_computation(counter *c,
                              const hsc_computation *computation,
                              hsc__frame *frame,
                              int depth,
                              known_count *sum) {
  known_count *known = hsc__ptr_map_get(&c->known, computation);
  if (depth > DEEPEST)
    return;
  if (!known) {
    known_count here = no_count(c);
    count_needed(c, computation, frame, depth, &here);
    if (frame && hsc__frame_asked(frame)) {
      add_count(sum, &here, 1, false);
      return;
    }
    known = HSC_NEW(c->arena, known_count);
    if (!known)
      return;
    *known = here;
    hsc__ptr_map_put(&c->known, computation, known);
  }
  add_count(sum, known, 1, false);
}

// Counts what is there of the two.
static hsc_status *count(const hsc_computation *computation,
                         const hsc_instr *instr,
                         bool open_fusions,
                         hsc_count *out_count,
                         hsc_op_costs *out_by_op) {
  *out_count = (hsc_count){0};
  counter c = {.out = out_count, .by_op = out_by_op != NULL, .open_fusions = open_fusions};
  HSC_TRY(hsc_arena_create(&c.arena));
  hsc_status *status = hsc__known_init(&c.values);
  known_count all = no_count(&c);
  if (!status && computation)
    count_computation(&c, computation, hsc__frame_entry(&c.values, computation), 0, &all);
  if (!status && instr)
    count_instr(&c, instr, hsc__frame_entry(&c.values, instr->parent), 0, &all);
  if (!status)
    status = hsc_arena_status(c.arena);
  if (!status && (c.known.failed || c.values.failed))
    status = hsc_status_out_of_memory();
  out_count->cost = all.cost;
  out_count->guessed_loops = all.loops;
  out_count->guessed_branches = all.branches;
  if (out_by_op && !status)
    *out_by_op = *all.by_op;
  hsc__ptr_map_deinit(&c.known);
  hsc__known_deinit(&c.values);
  hsc_arena_destroy(c.arena);
  return status;
}

hsc_status *hsc_module_count(const hsc_module *module, hsc_count *out_count) {
  return count(module->entry, NULL, false, out_count, NULL);
}

hsc_status *hsc_module_count_by_op(const hsc_module *module,
                                   bool open_fusions,
                                   hsc_count *out_count,
                                   hsc_op_costs *out_by_op) {
  return count(module->entry, NULL, open_fusions, out_count, out_by_op);
}

hsc_status *hsc_instr_count(const hsc_instr *instr, hsc_count *out_count) {
  return count(NULL, instr, false, out_count, NULL);
}
