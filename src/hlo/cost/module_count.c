// module_count.c - what a run of a whole program costs, from its text: loops as often as their
// trips, conditionals as their most expensive branch; what is guessed is counted and named.
#include "hlo/ir/hlo_internal.h"

enum { DEEPEST = 256 };

typedef struct counter {
  hsc_count *out;
  hsc__ptr_map known;  // computation -> known_count *
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

static void count_computation(counter *c,
                              const hsc_computation *computation,
                              int depth,
                              known_count *sum);

static void count_loop(counter *c, const hsc_instr *loop, int depth, known_count *sum) {
  int64_t trips = hsc_loop_trip_count(loop);
  known_count condition = no_count(c);
  known_count body = no_count(c);
  bool guessed = trips < 0;
  if (guessed) {
    sum->loops++;
    name_guess(c, loop);
    trips = 1;
  }
  if (loop->called_count != 2)
    return;
  count_computation(c, loop->called[0], depth + 1, &condition);
  count_computation(c, loop->called[1], depth + 1, &body);
  add_count(sum, &condition, (double)trips + 1, guessed);  // the last one ends it
  add_count(sum, &body, (double)trips, guessed);
}

static void count_branches(counter *c, const hsc_instr *instr, int depth, known_count *sum) {
  known_count most = no_count(c);
  int64_t loops = 0;
  int64_t branches = 0;
  bool differ = false;
  for (int i = 0; i < instr->called_count; i++) {
    known_count branch = no_count(c);
    count_computation(c, instr->called[i], depth + 1, &branch);
    differ |= i > 0 && !same(&branch.cost, &most.cost);
    loops += branch.loops;
    branches += branch.branches;
    double all = branch.cost.flops + branch.cost.transcendentals + branch.cost.bytes_read +
                 branch.cost.bytes_written;
    if (i == 0 || all > most.cost.flops + most.cost.transcendentals + most.cost.bytes_read +
                            most.cost.bytes_written)
      most = branch;
  }
  if (differ)
    name_guess(c, instr);
  most.loops = loops;
  most.branches = branches + differ;
  add_count(sum, &most, 1, differ);
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

static void count_instr(counter *c, const hsc_instr *instr, int depth, known_count *sum) {
  if (instr->op == HSC_OP_WHILE) {
    count_loop(c, instr, depth, sum);
  } else if (instr->op == HSC_OP_CONDITIONAL) {
    count_branches(c, instr, depth, sum);
  } else if (instr->op == HSC_OP_CALL && instr->called_count == 1) {
    count_computation(c, instr->called[0], depth + 1, sum);
  } else {
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
}

static void count_computation(counter *c,
                              const hsc_computation *computation,
                              int depth,
                              known_count *sum) {
  known_count *known = hsc__ptr_map_get(&c->known, computation);
  if (depth > DEEPEST)
    return;
  if (!known) {
    known_count here = no_count(c);
    hsc__ptr_map needed = {0};
    mark_needed(computation, &needed);
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (needed.failed || hsc__ptr_map_get(&needed, instr))
        count_instr(c, instr, depth, &here);
    hsc__ptr_map_deinit(&needed);
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
  known_count all = no_count(&c);
  if (computation)
    count_computation(&c, computation, 0, &all);
  if (instr)
    count_instr(&c, instr, 0, &all);
  hsc_status *status = hsc_arena_status(c.arena);
  if (!status && c.known.failed)
    status = hsc_status_out_of_memory();
  out_count->cost = all.cost;
  out_count->guessed_loops = all.loops;
  out_count->guessed_branches = all.branches;
  if (out_by_op && !status)
    *out_by_op = *all.by_op;
  hsc__ptr_map_deinit(&c.known);
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
