// emit_small.c - small loops: a while whose state is a few small arrays becomes one function, with
// the state in registers, instead of a step per operation of its body.
//
// A loop is small when every operation of its body and condition, fusions and inner loops included,
// can be emitted on values of at most HSC_SMALL_MAX_ELEMENTS elements, and the whole comes to
// MAX_COST vector instructions at most. Larger arrays of the state may be there when the loop only
// takes slices of them, or writes slices into them (what a scan reads and makes): they stay in
// memory, written in place.
//
// Code is made at the outermost loop at which it does not change (levels, see emit_internal.h), so
// what does not change in the loop is computed before it. Inner loops of few known trips are
// unrolled: then their counters are constants.
//
// How to read: eval_computation runs over instructions; eval_instr deals them out; eval_while and
// eval_conditional make control flow; the doors are at the end.
#include "cpu/emit/emit_small.h"

#define B (e->builder)

enum {
  MAX_COST = 6000,         // vector instructions of one trip: time to compile
  HEAVY_COST = 12,         // of a function, as a call or as code in place
  MAX_LEAVES = 128,        // arrays of a loop's state
  MAX_UNROLLED_TRIPS = 8,  // an inner loop with more stays a loop
  MAX_UNROLLED_COST = 1500,
};

static hsc_status *eval_computation(hsc_small *s,
                                    const hsc_computation *computation,
                                    hsc_small_value *const *arguments,
                                    hsc_small_value **out_root);

// ---- instructions -------------------------------------------------------------------------------

static bool can_hold(const hsc_shape *shape) {
  if (!hsc_shape_is_array(shape) || !hsc__emit_can_type(shape->type) ||
      hsc_type_is_complex(shape->type) || shape->dynamic)
    return false;
  int64_t elements = hsc_shape_elements(shape);
  return elements >= 1 && elements <= HSC_SMALL_MAX_ELEMENTS;
}

static hsc_status *eval_elementwise(hsc_small *s,
                                    const hsc_instr *instr,
                                    const hsc_small_value *operands,
                                    hsc_emit_value *out_value) {
  hsc_emit_value values[3];
  int64_t elements = hsc_shape_elements(&instr->shape);
  if (!hsc__emit_can_elementwise(instr) || instr->operand_count > 3)
    return hsc__small_refuse(instr, "in a small loop");
  for (int i = 0; i < instr->operand_count; i++) {
    if (hsc_type_is_complex(instr->operands[i]->shape.type))
      return hsc__small_refuse(instr, "complex numbers");
    values[i] = operands[i].in;
  }
  if (s->dry) {
    double each = hsc__emit_is_heavy(instr->op) ? HEAVY_COST : 1;
    s->cost += each * hsc__small_vectors(s, instr->shape.type, elements);
    return NULL;
  }
  if (hsc__small_known_operation(s, instr, values, elements, out_value))
    return NULL;
  hsc__small_lanes(s, elements);
  *out_value = hsc__emit_elementwise(s->e, instr, values);
  hsc__small_learn_operation(s, instr, values, elements, *out_value);
  return NULL;
}

static hsc_status *eval_while(hsc_small *s,
                              const hsc_instr *instr,
                              const hsc_small_value *init,
                              hsc_small_value *results);
static hsc_status *eval_conditional(hsc_small *s,
                                    const hsc_instr *instr,
                                    const hsc_small_scope *scope,
                                    hsc_small_value *results);

// Operations on arrays in registers: one result, all operands there.
static hsc_status *eval_in_registers(hsc_small *s,
                                     const hsc_instr *instr,
                                     const hsc_small_value *operands,
                                     hsc_small_value *results) {
  for (int i = 0; i < instr->operand_count; i++)
    if (operands[i].slot >= 0 || !can_hold(&instr->operands[i]->shape))
      return hsc__small_refuse(instr, "an array in memory");
  for (int l = 0; l < hsc_shape_leaf_count(&instr->shape); l++) {
    if (!can_hold(hsc_shape_leaf(&instr->shape, l)))
      return hsc__small_refuse(instr, "its size");
    results[l] = (hsc_small_value){.slot = -1};
  }
  if (instr->op == HSC_OP_REDUCE)
    return hsc__small_reduce(s, instr, operands, results);
  if (instr->op == HSC_OP_DOT)
    return hsc__small_dot(s, instr, operands, &results[0].in);
  if (hsc__small_is_move(instr->op))
    return hsc__small_move(s, instr, operands, &results[0].in);
  if (hsc__small_is_linalg(instr))
    return hsc__small_linalg(s, instr, operands, results);
  return eval_elementwise(s, instr, operands, &results[0].in);
}

static hsc_status *eval_called(hsc_small *s,
                               const hsc_instr *instr,
                               const hsc_small_scope *scope,
                               hsc_small_value *results) {
  hsc_small_value **arguments =
      HSC_NEW_ARRAY(s->e->arena, hsc_small_value *, instr->operand_count + 1);
  HSC_TRY(hsc_arena_status(s->e->arena));
  for (int i = 0; i < instr->operand_count; i++)
    arguments[i] = hsc__small_scope_get(scope, instr->operands[i]);
  hsc_small_value *root;
  HSC_TRY(eval_computation(s, instr->called[0], arguments, &root));
  memcpy(results, root, sizeof *root * (size_t)hsc_shape_leaf_count(&instr->shape));
  return NULL;
}

static hsc_status *eval_operands(hsc_small *s,
                                 const hsc_instr *instr,
                                 const hsc_small_scope *scope,
                                 hsc_small_value *results) {
  hsc_small_value few[8];
  hsc_small_value *operands = few;
  if (instr->operand_count > (int)HSC_COUNT_OF(few)) {
    operands = HSC_NEW_ARRAY(s->e->arena, hsc_small_value, instr->operand_count);
    HSC_TRY(hsc_arena_status(s->e->arena));
  }
  for (int i = 0; i < instr->operand_count; i++) {
    if (!hsc_shape_is_array(&instr->operands[i]->shape))
      return hsc__small_refuse(instr, "a tuple");
    operands[i] = *hsc__small_scope_get(scope, instr->operands[i]);
  }
  switch (instr->op) {
    case HSC_OP_RESHAPE:
    case HSC_OP_BITCAST:
    case HSC_OP_OPT_BARRIER:
      if (instr->shape.type != instr->operands[0]->shape.type || !hsc_instr_is_alias(instr))
        return hsc__small_refuse(instr, "its layout");
      results[0] = operands[0];
      return NULL;
    case HSC_OP_DYNAMIC_SLICE:
      return hsc__small_slice(s, instr, operands, &results[0]);
    case HSC_OP_SLICE:
      return operands[0].slot >= 0 ? hsc__small_slice(s, instr, operands, &results[0])
                                   : eval_in_registers(s, instr, operands, results);
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return hsc__small_update(s, instr, operands, &results[0]);
    default:
      return eval_in_registers(s, instr, operands, results);
  }
}

static hsc_status *eval_instr(hsc_small *s, hsc_small_scope *scope, const hsc_instr *instr) {
  int leaf_count = hsc_shape_leaf_count(&instr->shape);
  if (instr->control_count || leaf_count > MAX_LEAVES)
    return hsc__small_refuse(instr, "its control edges or leaves");
  hsc_small_value *results = HSC_NEW_ARRAY(s->e->arena, hsc_small_value, leaf_count + 1);
  HSC_TRY(hsc_arena_status(s->e->arena));
  hsc__small_scope_set(scope, instr, results);
  switch (instr->op) {
    case HSC_OP_TUPLE: {
      int at = 0;
      for (int i = 0; i < instr->operand_count; i++) {
        if (!hsc_shape_is_array(&instr->operands[i]->shape))
          return hsc__small_refuse(instr, "tuples in tuples");
        results[at++] = *hsc__small_scope_get(scope, instr->operands[i]);
      }
      return NULL;
    }
    case HSC_OP_GET_TUPLE_ELEMENT:
      results[0] = hsc__small_scope_get(scope, instr->operands[0])[instr->attr.index.value];
      return NULL;
    case HSC_OP_FUSION:
    case HSC_OP_CALL:
      if (instr->called_count != 1)
        return hsc__small_refuse(instr, "its computations");
      return eval_called(s, instr, scope, results);
    case HSC_OP_WHILE:
      return eval_while(s, instr, hsc__small_scope_get(scope, instr->operands[0]), results);
    case HSC_OP_CONDITIONAL:
      return eval_conditional(s, instr, scope, results);
    default:
      return eval_operands(s, instr, scope, results);
  }
}

static hsc_status *eval_computation(hsc_small *s,
                                    const hsc_computation *computation,
                                    hsc_small_value *const *arguments,
                                    hsc_small_value **out_root) {
  hsc_small_scope scope;
  HSC_TRY(hsc__small_scope_init(s, computation, &scope));
  for (int p = 0; p < computation->parameter_count; p++)
    hsc__small_scope_set(&scope, computation->parameters[p], arguments[p]);
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    if (instr->op == HSC_OP_PARAMETER || hsc_instr_is_dead(instr))
      continue;
    HSC_TRY(eval_instr(s, &scope, instr));
    if (s->cost > MAX_COST)
      return hsc__small_refuse(instr, "so much code");
  }
  *out_root = hsc__small_scope_get(&scope, computation->root);
  return NULL;
}

// ---- loops --------------------------------------------------------------------------------------

static hsc_status *run_body(hsc_small *s,
                            const hsc_instr *loop,
                            int which,
                            hsc_small_value *state,
                            hsc_small_value **out_root) {
  hsc_small_value *arguments[1] = {state};
  return eval_computation(s, loop->called[which], arguments, out_root);
}

static bool is_unrolled(const hsc_instr *loop, int64_t trips) {
  int64_t instructions = 0;
  HSC_FOR_EACH_INSTR_IN (loop->called[1], instr) {
    if (instr->op == HSC_OP_WHILE)
      return false;
    instructions += instr->op == HSC_OP_FUSION ? instr->called[0]->instr_count : 1;
  }
  return trips >= 0 && trips <= MAX_UNROLLED_TRIPS && trips * instructions <= MAX_UNROLLED_COST;
}

// The state of a loop as its body sees it: arrays that stay in memory get their slot, those that
// change a phi each.
typedef struct loop_state {
  hsc_small_value now[MAX_LEAVES];
  bool kept[MAX_LEAVES], own_room[MAX_LEAVES];
  hsc_lv phi[MAX_LEAVES], first[MAX_LEAVES];  // first: of the phi, before the loop
  int count;
} loop_state;

// Two arrays of the state in one slot, of which one is written.
static bool shares_slots(const loop_state *state) {
  for (int a = 0; a < state->count; a++)
    for (int b = 0; b < state->count; b++)
      if (a != b && state->now[a].slot >= 0 && state->now[a].slot == state->now[b].slot &&
          !state->kept[a])
        return true;
  return false;
}

static hsc_status *enter_slots(hsc_small *s,
                               const hsc_instr *loop,
                               const hsc_small_value *init,
                               loop_state *state) {
  for (int l = 0; l < state->count; l++) {
    const hsc_shape *shape = hsc__small_leaf(loop, l);
    state->now[l] = init[l];
    state->kept[l] = hsc_cpu_loop_keeps(loop, l);
    bool in_memory = hsc__small_in_memory(loop, l, 0);
    if (init[l].slot >= 0 && !in_memory)
      return hsc__small_refuse(loop, "an array in memory");
    if (init[l].slot < 0 && !can_hold(shape))
      return hsc__small_refuse(loop, "its size");
    if (!in_memory || init[l].slot >= 0)
      continue;
    // In registers outside: it is in memory while this loop runs.
    if (s->slot_count == HSC_SMALL_MAX_SLOTS)
      return hsc__small_refuse(loop, "so many arrays");
    hsc_small_slot *slot = &s->slots[s->slot_count];
    *slot = (hsc_small_slot){.written = true};
    state->own_room[l] = true;
    state->now[l] = (hsc_small_value){.slot = s->slot_count++};
    if (s->dry)
      continue;
    slot->address = hsc__small_room(s, shape->type, hsc_shape_elements(shape));
    hsc__small_store(s, shape->type, slot->address, init[l].in, hsc_shape_elements(shape));
  }
  return shares_slots(state) ? hsc__small_refuse(loop, "two arrays in one slot") : NULL;
}

// What the body returns must lie where the state lies.
static hsc_status *check_slots(hsc_small *s,
                               const hsc_instr *loop,
                               const loop_state *state,
                               const hsc_small_value *next) {
  for (int l = 0; l < state->count; l++) {
    if (state->kept[l])
      continue;
    if (next[l].slot != state->now[l].slot)
      return hsc__small_refuse(loop, "an array that changes its slot");
    if (next[l].slot >= 0 && next[l].version != s->slots[next[l].slot].version)
      return hsc__small_refuse(loop, "an array that was written over");
  }
  return NULL;
}

static hsc_status *dry_while(hsc_small *s, const hsc_instr *loop, loop_state *state) {
  hsc_small_value *root;
  HSC_TRY(run_body(s, loop, 0, state->now, &root));
  if (root[0].slot >= 0)
    return hsc__small_refuse(loop, "its condition");
  HSC_TRY(run_body(s, loop, 1, state->now, &root));
  HSC_TRY(check_slots(s, loop, state, root));
  for (int l = 0; l < state->count; l++)
    if (!state->kept[l])
      state->now[l] = root[l];
  return NULL;
}

static void make_phis(hsc_small *s, const hsc_instr *loop, loop_state *state) {
  hsc_emitter *e = s->e;
  for (int l = 0; l < state->count; l++) {
    if (state->kept[l] || state->now[l].slot >= 0)
      continue;
    const hsc_shape *shape = hsc__small_leaf(loop, l);
    int64_t elements = hsc_shape_elements(shape);
    hsc_emit_value init =
        elements > 1 ? hsc__small_spread(s, state->now[l].in, elements) : state->now[l].in;
    hsc__emit_at(e, e->level);
    state->phi[l] = hsc_ll.BuildPhi(B, hsc_ll.TypeOf(init.v), "");
    state->first[l] = init.v;
    state->now[l].in =
        (hsc_emit_value){.v = state->phi[l], .level = e->level, .vector = elements > 1};
  }
}

static hsc_status *emit_while(hsc_small *s, const hsc_instr *loop, loop_state *state) {
  hsc_emitter *e = s->e;
  int outside = e->level;
  int inside = outside + 1;
  LLVMBasicBlockRef head = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef body = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef exit = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  e->tails[inside] = head;
  e->level = inside;
  make_phis(s, loop, state);
  hsc_small_value *root;
  HSC_TRY(run_body(s, loop, 0, state->now, &root));
  hsc__emit_at(e, inside);
  hsc_ll.BuildCondBr(B, root[0].in.v, body, exit);
  e->tails[inside] = body;
  HSC_TRY(run_body(s, loop, 1, state->now, &root));
  for (int l = 0; l < state->count; l++) {
    if (!state->phi[l])
      continue;
    int64_t elements = hsc_shape_elements(hsc__small_leaf(loop, l));
    hsc_emit_value next = elements > 1 ? hsc__small_spread(s, root[l].in, elements) : root[l].in;
    hsc_ll.AddIncoming(state->phi[l], &next.v, &e->tails[inside], 1);
  }
  hsc__emit_at(e, inside);
  hsc_ll.BuildBr(B, head);
  e->level = outside;
  hsc__small_forget(s, outside);
  // What does not change in the loop may have gone on in another block before it.
  for (int l = 0; l < state->count; l++)
    if (state->phi[l])
      hsc_ll.AddIncoming(state->phi[l], &state->first[l], &e->tails[outside], 1);
  hsc__emit_at(e, outside);
  hsc_ll.BuildBr(B, head);
  e->tails[outside] = exit;
  for (int l = 0; l < state->count; l++) {
    state->now[l].in.level = state->phi[l] ? outside : state->now[l].in.level;
    if (state->now[l].slot >= 0 && !state->kept[l])
      state->now[l].version = s->slots[state->now[l].slot].version;
  }
  return NULL;
}

static hsc_status *unroll(hsc_small *s,
                          const hsc_instr *loop,
                          int64_t trips,
                          const hsc_small_value *init,
                          hsc_small_value *results) {
  int count = hsc_shape_leaf_count(&loop->shape);
  memcpy(results, init, sizeof *init * (size_t)count);
  for (int64_t t = 0; t < trips; t++) {
    hsc_small_value *root;
    hsc_small_value *state = HSC_NEW_ARRAY(s->e->arena, hsc_small_value, count + 1);
    HSC_TRY(hsc_arena_status(s->e->arena));
    memcpy(state, results, sizeof *init * (size_t)count);
    HSC_TRY(run_body(s, loop, 1, state, &root));
    memcpy(results, root, sizeof *init * (size_t)count);
  }
  return NULL;
}

static hsc_status *eval_while(hsc_small *s,
                              const hsc_instr *instr,
                              const hsc_small_value *init,
                              hsc_small_value *results) {
  loop_state *state = HSC_NEW(s->e->arena, loop_state);
  HSC_TRY(hsc_arena_status(s->e->arena));
  state->count = hsc_shape_leaf_count(&instr->shape);
  if (state->count > MAX_LEAVES || s->depth == HSC_SMALL_MAX_DEPTH)
    return hsc__small_refuse(instr, "its state or depth");
  if (hsc_shape_is_tuple(&instr->shape) && state->count != instr->shape.element_count)
    return hsc__small_refuse(instr, "tuples in tuples");
  int64_t trips = hsc_loop_trip_count(instr);
  if (s->depth > 0 && is_unrolled(instr, trips))
    return unroll(s, instr, trips, init, results);
  HSC_TRY(enter_slots(s, instr, init, state));
  s->depth++;
  HSC_TRY(s->dry ? dry_while(s, instr, state) : emit_while(s, instr, state));
  s->depth--;
  for (int l = 0; l < state->count; l++) {
    const hsc_shape *shape = hsc__small_leaf(instr, l);
    results[l] = state->now[l];
    if (!state->own_room[l])
      continue;
    results[l] = (hsc_small_value){.slot = -1};
    if (!s->dry)
      results[l].in = hsc__small_load(s, shape->type, s->slots[state->now[l].slot].address,
                                      hsc_shape_elements(shape), s->e->level);
  }
  return NULL;
}

// ---- branches -----------------------------------------------------------------------------------

// Whether branch `b` is to run: true is branch 0, numbers out of range are the last branch.
static hsc_lv selects(hsc_emitter *e, hsc_type type, hsc_lv selector, int b) {
  if (type == HSC_TYPE_PRED)
    return selector;
  return hsc_ll.BuildICmp(B, LLVMIntEQ, selector, hsc__emit_int(e, e->i32, b), "");
}

typedef struct branch_end {
  LLVMBasicBlockRef first, last;
  hsc_lv values[MAX_LEAVES];
} branch_end;

static hsc_status *emit_branch(
    hsc_small *s, const hsc_instr *instr, int b, hsc_small_value *argument, branch_end *end) {
  hsc_emitter *e = s->e;
  int outside = e->level;
  hsc_small_value *root;
  end->first = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  e->level = outside + 1;
  e->tails[e->level] = end->first;
  HSC_TRY(eval_computation(s, instr->called[b], &argument, &root));
  for (int l = 0; l < hsc_shape_leaf_count(&instr->shape); l++) {
    int64_t elements = hsc_shape_elements(hsc_shape_leaf(&instr->shape, l));
    end->values[l] = elements > 1 ? hsc__small_spread(s, root[l].in, elements).v : root[l].in.v;
  }
  end->last = e->tails[e->level];
  e->level = outside;
  hsc__small_forget(s, outside);
  return NULL;
}

static void join_branches(hsc_small *s,
                          const hsc_instr *instr,
                          hsc_lv selector,
                          branch_end *ends,
                          hsc_small_value *results) {
  hsc_emitter *e = s->e;
  hsc_type type = instr->operands[0]->shape.type;
  LLVMBasicBlockRef join = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef at = e->tails[e->level];
  for (int b = 0; b + 1 < instr->called_count; b++) {
    LLVMBasicBlockRef other = b + 2 == instr->called_count
                                  ? ends[b + 1].first
                                  : hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
    hsc_ll.PositionBuilderAtEnd(B, at);
    hsc_ll.BuildCondBr(B, selects(e, type, selector, b), ends[b].first, other);
    at = other;
  }
  if (instr->called_count == 1) {
    hsc_ll.PositionBuilderAtEnd(B, at);
    hsc_ll.BuildBr(B, ends[0].first);
  }
  for (int b = 0; b < instr->called_count; b++) {
    hsc_ll.PositionBuilderAtEnd(B, ends[b].last);
    hsc_ll.BuildBr(B, join);
  }
  e->tails[e->level] = join;
  hsc__emit_at(e, e->level);
  for (int l = 0; l < hsc_shape_leaf_count(&instr->shape); l++) {
    hsc_lv phi = hsc_ll.BuildPhi(B, hsc_ll.TypeOf(ends[0].values[l]), "");
    for (int b = 0; b < instr->called_count; b++)
      hsc_ll.AddIncoming(phi, &ends[b].values[l], &ends[b].last, 1);
    bool vector = hsc_shape_elements(hsc_shape_leaf(&instr->shape, l)) > 1;
    results[l] =
        (hsc_small_value){.in = {.v = phi, .level = e->level, .vector = vector}, .slot = -1};
  }
}

// Arrays in memory may be read in branches, not written.
static hsc_status *eval_conditional(hsc_small *s,
                                    const hsc_instr *instr,
                                    const hsc_small_scope *scope,
                                    hsc_small_value *results) {
  enum { MAX_BRANCHES = 16 };
  int leaves = hsc_shape_leaf_count(&instr->shape);
  if (instr->called_count > MAX_BRANCHES || s->depth == HSC_SMALL_MAX_DEPTH)
    return hsc__small_refuse(instr, "its branches");
  for (int l = 0; l < leaves; l++)
    if (!can_hold(hsc_shape_leaf(&instr->shape, l)))
      return hsc__small_refuse(instr, "its size");
  branch_end *ends = HSC_NEW_ARRAY(s->e->arena, branch_end, instr->called_count + 1);
  HSC_TRY(hsc_arena_status(s->e->arena));
  s->depth++;
  for (int b = 0; b < instr->called_count; b++) {
    const hsc_instr *operand = instr->operands[b + 1];
    hsc_small_value *argument = hsc__small_scope_get(scope, operand);
    for (int l = 0; l < hsc_shape_leaf_count(&operand->shape); l++)
      if (argument[l].slot >= 0)
        return hsc__small_refuse(instr, "an array in memory");
    if (!s->dry) {
      HSC_TRY(emit_branch(s, instr, b, argument, &ends[b]));
      continue;
    }
    hsc_small_value *root;
    HSC_TRY(eval_computation(s, instr->called[b], &argument, &root));
    for (int l = 0; l < leaves; l++)
      results[l] = (hsc_small_value){.slot = -1};
  }
  s->depth--;
  if (!s->dry)
    join_branches(s, instr, hsc__small_scope_get(scope, instr->operands[0])->in.v, ends, results);
  return NULL;
}

// ---- the doors ----------------------------------------------------------------------------------

// The state of the outermost loop. Buffers: all leaves of the state, then those that change.
static void enter_loop(hsc_small *s, const hsc_instr *loop, int count, hsc_small_value *init) {
  hsc_emitter *e = s->e;
  int output = count;
  for (int l = 0; l < count; l++) {
    const hsc_shape *shape = hsc__small_leaf(loop, l);
    bool kept = hsc_cpu_loop_keeps(loop, l);
    init[l] = (hsc_small_value){.slot = -1};
    if (hsc__small_in_memory(loop, l, 0)) {
      init[l].slot = s->slot_count;
      LLVMValueRef address = kept ? e->buffers[l] : e->buffers[output];
      s->slots[s->slot_count++] =
          (hsc_small_slot){.address = s->dry ? NULL : address, .written = !kept};
    } else if (!s->dry && can_hold(shape)) {
      init[l].in = hsc__small_load(s, shape->type, e->buffers[l], hsc_shape_elements(shape), 0);
    }
    output += !kept;
  }
  // Copies come last: a result may lie where an array of the state lay.
  output = count;
  for (int l = 0; l < count && !s->dry; l++) {
    if (hsc_cpu_loop_keeps(loop, l))
      continue;
    if (init[l].slot >= 0)
      hsc__small_copy(s, e->buffers[l], e->buffers[output],
                      hsc_shape_bytes(hsc__small_leaf(loop, l)));
    output++;
  }
}

static hsc_status *walk_loop(hsc_small *s, const hsc_instr *loop) {
  hsc_emitter *e = s->e;
  int count = hsc_shape_leaf_count(&loop->shape);
  hsc_small_value init[MAX_LEAVES], results[MAX_LEAVES];
  if (count > MAX_LEAVES || 2 * count > HSC_KERNEL_MAX_BUFFERS)
    return hsc__small_refuse(loop, "its state");
  if (hsc_shape_is_tuple(&loop->shape) && count != loop->shape.element_count)
    return hsc__small_refuse(loop, "tuples in tuples");
  for (int l = 0; l < count; l++)
    if (!hsc_shape_is_array(hsc__small_leaf(loop, l)) ||
        hsc_shape_elements(hsc__small_leaf(loop, l)) == 0 ||
        hsc_type_is_complex(hsc__small_leaf(loop, l)->type) || hsc__small_leaf(loop, l)->dynamic)
      return hsc__small_refuse(loop, "its state");
  enter_loop(s, loop, count, init);
  HSC_TRY(eval_while(s, loop, init, results));
  int output = count;
  for (int l = 0; l < count; l++) {
    if (hsc_cpu_loop_keeps(loop, l))
      continue;
    const hsc_shape *shape = hsc__small_leaf(loop, l);
    if (!s->dry && results[l].slot < 0)
      hsc__small_store(s, shape->type, e->buffers[output], results[l].in,
                       hsc_shape_elements(shape));
    output++;
  }
  return NULL;
}

hsc_status *hsc__emit_plan_small(hsc_emit_job *job, uint64_t *in_place) {
  hsc_emitter *e = &job->e;
  int count = hsc_shape_leaf_count(&e->instr->shape);
  hsc_small *s = HSC_NEW(e->arena, hsc_small);
  HSC_TRY(hsc_arena_status(e->arena));
  *s = (hsc_small){.e = e, .dry = true};
  HSC_TRY(walk_loop(s, e->instr));
  int outputs = 0;
  for (int l = 0; l < count; l++)
    if (!hsc_cpu_loop_keeps(e->instr, l))
      in_place[outputs++] = l < 64 ? (uint64_t)1 << l : 0;
  job->plan = (hsc_kernel_plan){.kind = HSC_KERNEL_SMALL_LOOP,
                                .input_count = count,
                                .output_count = outputs,
                                .count = 1,
                                .piece = 1,
                                .code_size = 20 + s->cost};
  return NULL;
}

hsc_status *hsc__emit_small(hsc_emit_job *job, const char *name) {
  hsc_emitter *e = &job->e;
  hsc_small *s = HSC_NEW(e->arena, hsc_small);
  HSC_TRY(hsc_arena_status(e->arena));
  *s = (hsc_small){.e = e};
  e->math_in_place = true;
  HSC_TRY(hsc__emit_begin_function(e, name, 3));
  s->rooms = e->tails[0];
  e->tails[0] = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef start = e->tails[0];
  hsc__emit_load_buffers(e, job->plan.input_count + job->plan.output_count);
  HSC_TRY(walk_loop(s, e->instr));
  hsc_ll.PositionBuilderAtEnd(B, s->rooms);
  hsc_ll.BuildBr(B, start);
  hsc__emit_end_function(e);
  return hsc_arena_status(e->arena);
}
