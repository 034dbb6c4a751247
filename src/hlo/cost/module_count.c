// module_count.c - what a run of a whole program costs, from its text: loops as often as their
// trips, conditionals as their most expensive branch; what is guessed is counted and named.
#include "hlo/ir/hlo_internal.h"

enum { DEEPEST = 256 };

typedef struct counter {
  hsc_count *out;
  hsc__ptr_map known;  // computation -> known_count *
  hsc_arena *arena;
} counter;

typedef struct known_count {
  hsc_cost cost;
  int64_t loops, branches;
} known_count;

static void add(hsc_cost *sum, const hsc_cost *part, double times) {
  sum->flops += times * part->flops;
  sum->transcendentals += times * part->transcendentals;
  sum->bytes_read += times * part->bytes_read;
  sum->bytes_written += times * part->bytes_written;
}

static bool same(const hsc_cost *a, const hsc_cost *b) {
  return a->flops == b->flops && a->transcendentals == b->transcendentals &&
         a->bytes_read == b->bytes_read && a->bytes_written == b->bytes_written;
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
  known_count condition = {0};
  known_count body = {0};
  if (trips < 0) {
    sum->loops++;
    name_guess(c, loop);
    trips = 1;
  }
  if (loop->called_count != 2)
    return;
  count_computation(c, loop->called[0], depth + 1, &condition);
  count_computation(c, loop->called[1], depth + 1, &body);
  add(&sum->cost, &condition.cost, (double)trips + 1);  // the last one ends it
  add(&sum->cost, &body.cost, (double)trips);
  sum->loops += condition.loops + body.loops;
  sum->branches += condition.branches + body.branches;
}

static void count_branches(counter *c, const hsc_instr *instr, int depth, known_count *sum) {
  hsc_cost most = {0};
  bool differ = false;
  for (int i = 0; i < instr->called_count; i++) {
    known_count branch = {0};
    count_computation(c, instr->called[i], depth + 1, &branch);
    differ |= i > 0 && !same(&branch.cost, &most);
    sum->loops += branch.loops;
    sum->branches += branch.branches;
    double all = branch.cost.flops + branch.cost.transcendentals + branch.cost.bytes_read +
                 branch.cost.bytes_written;
    if (i == 0 || all > most.flops + most.transcendentals + most.bytes_read + most.bytes_written)
      most = branch.cost;
  }
  sum->branches += differ;
  if (differ)
    name_guess(c, instr);
  add(&sum->cost, &most, 1);
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

static void count_computation(counter *c,
                              const hsc_computation *computation,
                              int depth,
                              known_count *sum) {
  known_count *known = hsc__ptr_map_get(&c->known, computation);
  known_count here = {0};
  if (depth > DEEPEST)
    return;
  if (!known) {
    hsc__ptr_map needed = {0};
    mark_needed(computation, &needed);
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      known_count part = {0};
      if (!needed.failed && !hsc__ptr_map_get(&needed, instr))
        continue;
      if (instr->op == HSC_OP_WHILE)
        count_loop(c, instr, depth, &here);
      else if (instr->op == HSC_OP_CONDITIONAL)
        count_branches(c, instr, depth, &here);
      else if (instr->op == HSC_OP_CALL && instr->called_count == 1)
        count_computation(c, instr->called[0], depth + 1, &here);
      else
        hsc_instr_cost(instr, &part.cost);
      add(&here.cost, &part.cost, 1);
    }
    hsc__ptr_map_deinit(&needed);
    known = HSC_NEW(c->arena, known_count);
    if (known) {
      *known = here;
      hsc__ptr_map_put(&c->known, computation, known);
    }
  } else {
    here = *known;
  }
  add(&sum->cost, &here.cost, 1);
  sum->loops += here.loops;
  sum->branches += here.branches;
}

hsc_status *hsc_module_count(const hsc_module *module, hsc_count *out_count) {
  known_count all = {0};
  *out_count = (hsc_count){0};
  counter c = {.out = out_count};
  HSC_TRY(hsc_arena_create(&c.arena));
  if (module->entry)
    count_computation(&c, module->entry, 0, &all);
  hsc_status *status = hsc_arena_status(c.arena);
  if (!status && c.known.failed)
    status = hsc_status_out_of_memory();
  out_count->cost = all.cost;
  out_count->guessed_loops = all.loops;
  out_count->guessed_branches = all.branches;
  hsc__ptr_map_deinit(&c.known);
  hsc_arena_destroy(c.arena);
  return status;
}
