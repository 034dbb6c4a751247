// plan.c - walks a module into steps and values (see plan.h). Buffer assignment is in
// buffer_assignment.c.
//
// Positions count up through the walk, loop bodies included. A while takes these: begin (initial
// values are copied in), condition (carried values are live from here), the condition's steps,
// body, the body's steps, end of the body (new values are copied into the carried slots), end. Per
// carried leaf there are three values in one storage set: the condition's parameter, live from
// `condition` to `body`; the body's parameter, from `body` to its last use; the result, from the
// end on. A leaf that the body returns unchanged has none: it is the initial value.
#include "cpu/plan/plan_internal.h"

#include <assert.h>

#include "base/core/hash.h"

typedef struct instance {  // one call site of a computation
  const hsc_computation *computation;
  // [instr_count] by instr->index: values of the result's leaves; NULL until visited
  int32_t **leaves;
  int32_t loop;          // innermost loop, -1 = none
  hsc_cpu_block *block;  // steps go here
} instance;

static hsc_status *walk(hsc_cpu_plan *plan, instance *in);

hsc_status *hsc__cpu_plan_reserve(hsc_cpu_plan *plan, int32_t count) {
  bool has_room =
      HSC_RESERVE_IN(plan->arena, plan->values, plan->value_count, count, plan->value_capacity) &&
      HSC_RESERVE_IN(plan->arena, plan->uses, plan->use_count, count, plan->use_capacity);
  return has_room ? NULL : hsc_arena_status(plan->arena);
}

int32_t hsc__cpu_plan_add_value(hsc_cpu_plan *plan,
                                hsc_cpu_value_kind kind,
                                int64_t bytes,
                                int32_t def) {
  assert(plan->value_count < plan->value_capacity);
  int32_t number = plan->value_count++;
  plan->values[number] = (hsc_cpu_value){
      .kind = kind, .bytes = bytes, .def = def, .last = def, .set = number, .below = {-1, -1}};
  return number;
}

static void add_use(hsc_cpu_plan *plan, int32_t value, int32_t position, int32_t loop) {
  assert(plan->use_count < plan->use_capacity);
  plan->uses[plan->use_count++] = (hsc_cpu_use){value, position, loop};
}

static hsc_cpu_step *add_step(hsc_cpu_plan *plan,
                              instance *in,
                              hsc_cpu_step_kind kind,
                              const hsc_instr *instr,
                              int32_t input_count,
                              int32_t output_count) {
  hsc_cpu_step *step = HSC_NEW(plan->arena, hsc_cpu_step);
  *step = (hsc_cpu_step){.kind = kind,
                         .instr = instr,
                         .position = plan->position_count++,
                         .input_count = input_count,
                         .output_count = output_count,
                         .scratch = -1,
                         .condition = -1,
                         .trip_count = -1};
  step->inputs = HSC_NEW_ARRAY(plan->arena, int32_t, input_count + 1);
  step->outputs = HSC_NEW_ARRAY(plan->arena, int32_t, output_count + 1);
  if (in->block->last)
    in->block->last->next = step;
  else
    in->block->first = step;
  in->block->last = step;
  plan->step_count++;
  return step;
}

// ---- constants ----------------------------------------------------------------------------------

// Small constants are one where their bytes are the same, others where they are one literal.
static bool is_small_constant(int64_t bytes) {
  return bytes > 0 && bytes <= 64;
}

// Where the constant's number is, plus one, or a free slot for it.
static int32_t *constant_slot(hsc_cpu_plan *plan, const hsc_literal *literal, int64_t bytes) {
  bool small = is_small_constant(bytes);
  uint64_t hash = small ? hsc_hash64(literal->data, (size_t)bytes, (uint64_t)bytes)
                        : hsc_hash64(&literal, sizeof(const hsc_literal *), 0);
  for (uint64_t at = hash;; at++) {
    int32_t *slot = &plan->constant_slots[at & (uint64_t)(plan->constant_slot_count - 1)];
    if (*slot == 0)
      return slot;
    const hsc_cpu_constant *known = &plan->constants[*slot - 1];
    if (known->literal == literal || (small && known->bytes == bytes &&
                                      !memcmp(known->literal->data, literal->data, (size_t)bytes)))
      return slot;
  }
}

// Room for one more; twice as many slots as constants, a power of two.
static hsc_status *reserve_constant_slots(hsc_cpu_plan *plan) {
  if (2 * (plan->constant_count + 1) <= plan->constant_slot_count)
    return NULL;
  plan->constant_slot_count = plan->constant_slot_count ? 2 * plan->constant_slot_count : 64;
  plan->constant_slots = HSC_NEW_ARRAY(plan->arena, int32_t, plan->constant_slot_count);
  HSC_TRY(hsc_arena_status(plan->arena));
  for (int32_t c = 0; c < plan->constant_count; c++)
    *constant_slot(plan, plan->constants[c].literal, plan->constants[c].bytes) = c + 1;
  return NULL;
}

static hsc_status *constant_leaf(hsc_cpu_plan *plan,
                                 const hsc_instr *instr,
                                 const hsc_literal *literal,
                                 int32_t *out_value) {
  if (literal->elided)
    return HSC_ERR(FAILED_PRECONDITION,
                   "constant %s: its values were left out of the text it came from "
                   "(constant({...})); it cannot be run",
                   instr->name);
  int64_t bytes = hsc_shape_bytes(&literal->shape);
  HSC_TRY(reserve_constant_slots(plan));
  int32_t *slot = constant_slot(plan, literal, bytes);
  int32_t number = *slot - 1;
  if (number < 0) {
    if (!HSC_GROW_IN(plan->arena, plan->constants, plan->constant_count, plan->constant_capacity))
      return hsc_arena_status(plan->arena);
    number = plan->constant_count;
    *slot = number + 1;
    plan->constants[plan->constant_count++] =
        (hsc_cpu_constant){.literal = literal, .offset = plan->constant_bytes, .bytes = bytes};
    plan->constant_bytes +=
        (bytes + HSC_CPU_PLACE_ALIGNMENT - 1) / HSC_CPU_PLACE_ALIGNMENT * HSC_CPU_PLACE_ALIGNMENT;
  }
  *out_value = hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_CONSTANT, bytes, 0);
  plan->values[*out_value].number = number;
  return NULL;
}

static hsc_status *constant_leaves(hsc_cpu_plan *plan,
                                   const hsc_instr *instr,
                                   const hsc_literal *literal,
                                   int32_t *leaves,
                                   int *at) {
  if (!hsc_shape_is_tuple(&literal->shape))
    return constant_leaf(plan, instr, literal, &leaves[(*at)++]);
  for (int i = 0; i < literal->shape.element_count; i++)
    HSC_TRY(constant_leaves(plan, instr, &literal->elements[i], leaves, at));
  return NULL;
}

// Follows tuples and aliases of one leaf inside one computation to where it comes from, without
// making values.
static void resolve_leaf(const hsc_instr **instr, int *leaf) {
  for (;;) {
    const hsc_instr *at = *instr;
    if (at->op == HSC_OP_TUPLE) {
      int i = 0;
      if (at->shape.flat) {
        i = *leaf;
        *leaf = 0;
      }
      while (i < at->operand_count && *leaf >= hsc_shape_leaf_count(&at->operands[i]->shape))
        *leaf -= hsc_shape_leaf_count(&at->operands[i++]->shape);
      *instr = at->operands[i];
    } else if (at->op == HSC_OP_GET_TUPLE_ELEMENT) {
      const hsc_shape *tuple = &at->operands[0]->shape;
      if (tuple->flat)
        *leaf += (int)at->attr.index.value;
      for (int64_t i = 0; i < at->attr.index.value && !tuple->flat; i++)
        *leaf += hsc_shape_leaf_count(&tuple->elements[i]);
      *instr = at->operands[0];
    } else if (hsc_instr_is_alias(at)) {
      *instr = at->operands[0];
    } else {
      return;
    }
  }
}

bool hsc_cpu_loop_keeps(const hsc_instr *loop, int leaf) {
  const hsc_computation *body = loop->called[1];
  const hsc_instr *from = body->root;
  int from_leaf = leaf;
  resolve_leaf(&from, &from_leaf);
  return from == body->parameters[0] && from_leaf == leaf;
}

// ---- instructions -------------------------------------------------------------------------------

static hsc_status *instance_init(hsc_cpu_plan *plan,
                                 instance *in,
                                 const hsc_computation *computation,
                                 int32_t loop,
                                 hsc_cpu_block *block) {
  *in = (instance){.computation = computation, .loop = loop, .block = block};
  int32_t number = 0;
  HSC_FOR_EACH_INSTR_IN (computation, instr)
    instr->index = number++;
  in->leaves = HSC_NEW_ARRAY(plan->arena, int32_t *, number + 1);
  return hsc_arena_status(plan->arena);
}

// instr->index depends on the order in the computation alone, so a second call site numbers it the
// same.
static int32_t *leaves_of(instance *in, const hsc_instr *instr) {
  return in->leaves[instr->index];
}

static void set_leaves(instance *in, const hsc_instr *instr, int32_t *leaves) {
  in->leaves[instr->index] = leaves;
}

// The leaves of all operands, in order.
static int32_t *operand_leaves(hsc_cpu_plan *plan,
                               instance *in,
                               const hsc_instr *instr,
                               int first,
                               int count,
                               int32_t *out_count) {
  int32_t total = 0;
  for (int i = first; i < first + count; i++)
    total += hsc_shape_leaf_count(&instr->operands[i]->shape);
  int32_t *all = HSC_NEW_ARRAY(plan->arena, int32_t, total + 1);
  int32_t at = 0;
  for (int i = first; i < first + count; i++) {
    int leaf_count = hsc_shape_leaf_count(&instr->operands[i]->shape);
    for (int l = 0; l < leaf_count; l++)
      all[at++] = leaves_of(in, instr->operands[i])[l];
  }
  *out_count = total;
  return all;
}

// Gives the parameters of `to` the given leaves, in order.
static void bind_parameters(hsc_cpu_plan *plan, instance *to, const int32_t *leaves) {
  for (int p = 0; p < to->computation->parameter_count; p++) {
    const hsc_instr *parameter = to->computation->parameters[p];
    int count = hsc_shape_leaf_count(&parameter->shape);
    int32_t *own = HSC_NEW_ARRAY(plan->arena, int32_t, count + 1);
    memcpy(own, leaves, sizeof(int32_t) * (size_t)count);
    set_leaves(to, parameter, own);
    leaves += count;
  }
}

static hsc_status *walk_op(hsc_cpu_plan *plan, instance *in, const hsc_instr *instr) {
  int32_t input_count;
  int32_t *inputs = operand_leaves(plan, in, instr, 0, instr->operand_count, &input_count);
  int output_count = hsc_shape_leaf_count(&instr->shape);
  hsc_cpu_step *step = add_step(plan, in, HSC_CPU_STEP_OP, instr, input_count, output_count);
  step->inputs = inputs;
  for (int i = 0; i < input_count; i++)
    add_use(plan, inputs[i], step->position, in->loop);
  for (int o = 0; o < output_count; o++) {
    int32_t value =
        hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_COMPUTED,
                                hsc_shape_bytes(hsc_shape_leaf(&instr->shape, o)), step->position);
    plan->values[value].step = step;
    plan->values[value].output = o;
    step->outputs[o] = value;
  }
  set_leaves(in, instr, step->outputs);
  return NULL;
}

// The copy may have the slot of what it copies: then it is none.
static int32_t add_copy(hsc_cpu_plan *plan, instance *in, int32_t from, const hsc_instr *instr) {
  hsc_cpu_step *copy = add_step(plan, in, HSC_CPU_STEP_COPY, instr, 1, 1);
  if (instr) {
    copy->in_place = HSC_NEW(plan->arena, uint64_t);
    if (copy->in_place)
      *copy->in_place = 1;
  }
  copy->inputs[0] = from;
  add_use(plan, from, copy->position, in->loop);
  int32_t to = hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_COMPUTED, plan->values[from].bytes,
                                       copy->position);
  plan->values[to].step = copy;
  copy->outputs[0] = to;
  return to;
}

static bool is_whole(const hsc_cpu_plan *plan, const hsc_instr *loop) {
  return plan->whole_loops && plan->whole_loops->is_whole(plan->whole_loops->context, loop);
}

// The copy is the state of loops that are one step each: such a step reads its state, and writes
// where it came from only when nobody wants it any more.
static bool only_enters_whole_loops(const hsc_cpu_plan *plan, const hsc_instr *copy) {
  for (int u = 0; u < copy->user_count; u++) {
    const hsc_instr *tuple = copy->users[u];
    if (tuple->op != HSC_OP_TUPLE || tuple == tuple->parent->root)
      return false;
    for (int t = 0; t < tuple->user_count; t++)
      if (tuple->users[t]->op != HSC_OP_WHILE || !is_whole(plan, tuple->users[t]))
        return false;
  }
  return copy->user_count > 0;
}

static hsc_status *walk_copy(hsc_cpu_plan *plan, instance *in, const hsc_instr *instr) {
  int32_t count;
  int32_t *leaves = operand_leaves(plan, in, instr, 0, 1, &count);
  bool needed = !only_enters_whole_loops(plan, instr);
  for (int32_t l = 0; l < count && needed; l++)
    leaves[l] = add_copy(plan, in, leaves[l], instr);
  set_leaves(in, instr, leaves);
  return NULL;
}

// A loop that is one step: its results are the leaves that it changes.
static hsc_status *walk_whole_loop(hsc_cpu_plan *plan, instance *in, const hsc_instr *instr) {
  int leaf_count = hsc_shape_leaf_count(&instr->shape);
  int changed = 0;
  for (int l = 0; l < leaf_count; l++)
    changed += !hsc_cpu_loop_keeps(instr, l);
  hsc_cpu_step *step = add_step(plan, in, HSC_CPU_STEP_OP, instr, leaf_count, changed);
  int32_t *leaves = HSC_NEW_ARRAY(plan->arena, int32_t, leaf_count + 1);
  HSC_TRY(hsc_arena_status(plan->arena));
  memcpy(step->inputs, leaves_of(in, instr->operands[0]), sizeof(int32_t) * (size_t)leaf_count);
  int output = 0;
  for (int l = 0; l < leaf_count; l++) {
    add_use(plan, step->inputs[l], step->position, in->loop);
    leaves[l] = step->inputs[l];
    if (hsc_cpu_loop_keeps(instr, l))
      continue;
    leaves[l] =
        hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_COMPUTED,
                                hsc_shape_bytes(hsc_shape_leaf(&instr->shape, l)), step->position);
    plan->values[leaves[l]].step = step;
    plan->values[leaves[l]].output = output;
    step->outputs[output++] = leaves[l];
  }
  set_leaves(in, instr, leaves);
  return NULL;
}

static hsc_status *walk_while(hsc_cpu_plan *plan, instance *in, const hsc_instr *instr) {
  const hsc_computation *body = instr->called[1];
  int leaf_count = hsc_shape_leaf_count(&instr->shape);
  const int32_t *init = leaves_of(in, instr->operands[0]);
  hsc_cpu_step *step = add_step(plan, in, HSC_CPU_STEP_WHILE, instr, leaf_count, leaf_count);
  step->block_count = 2;
  step->blocks = HSC_NEW_ARRAY(plan->arena, hsc_cpu_block, 2);
  step->trip_count = hsc_loop_trip_count(instr);
  memcpy(step->inputs, init, sizeof(int32_t) * (size_t)leaf_count);

  if (!HSC_GROW_IN(plan->arena, plan->loops, plan->loop_count, plan->loop_capacity))
    return hsc_arena_status(plan->arena);
  int32_t loop = plan->loop_count++;
  step->loop = loop;
  plan->loops[loop] =
      (hsc_cpu_loop){.step = step,
                     .parent = in->loop,
                     .begin = step->position,
                     .leaf_count = leaf_count,
                     .leaves = HSC_NEW_ARRAY(plan->arena, hsc_cpu_carried, leaf_count + 1)};
  hsc_cpu_carried *carried = plan->loops[loop].leaves;
  int32_t condition_position = plan->position_count++;
  int32_t *condition_leaves = HSC_NEW_ARRAY(plan->arena, int32_t, leaf_count + 1);
  int32_t *body_leaves = HSC_NEW_ARRAY(plan->arena, int32_t, leaf_count + 1);
  for (int l = 0; l < leaf_count; l++) {
    add_use(plan, init[l], step->position, in->loop);
    carried[l].invariant = hsc_cpu_loop_keeps(instr, l);
    if (carried[l].invariant) {
      condition_leaves[l] = body_leaves[l] = step->outputs[l] = init[l];
      continue;
    }
    int64_t bytes = hsc_shape_bytes(hsc_shape_leaf(&instr->shape, l));
    carried[l].in_condition = condition_leaves[l] =
        hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_COMPUTED, bytes, condition_position);
  }
  instance condition_in, body_in;
  HSC_TRY(instance_init(plan, &condition_in, instr->called[0], loop, &step->blocks[0]));
  bind_parameters(plan, &condition_in, condition_leaves);
  HSC_TRY(walk(plan, &condition_in));
  HSC_TRY(hsc__cpu_plan_reserve(plan, 2 * leaf_count + 2));
  int32_t body_position = plan->position_count++;
  int32_t first_in_body = plan->value_count;
  step->condition = leaves_of(&condition_in, instr->called[0]->root)[0];
  add_use(plan, step->condition, body_position, loop);
  for (int l = 0; l < leaf_count; l++) {
    if (carried[l].invariant)
      continue;
    int64_t bytes = hsc_shape_bytes(hsc_shape_leaf(&instr->shape, l));
    carried[l].in_body = body_leaves[l] =
        hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_COMPUTED, bytes, body_position);
    add_use(plan, carried[l].in_condition, body_position, loop);
  }
  int32_t end_in_body = plan->value_count;
  HSC_TRY(instance_init(plan, &body_in, body, loop, &step->blocks[1]));
  bind_parameters(plan, &body_in, body_leaves);
  HSC_TRY(walk(plan, &body_in));
  HSC_TRY(hsc__cpu_plan_reserve(plan, 4 * leaf_count + 2));
  const int32_t *root = leaves_of(&body_in, body->root);
  for (int l = 0; l < leaf_count; l++) {
    if (carried[l].invariant)
      continue;
    carried[l].next = root[l];
    // What the end of the body copies must not be overwritten by another copy there: another leaf's
    // carried value goes through a slot of its own.
    if (root[l] >= first_in_body && root[l] < end_in_body && root[l] != carried[l].in_body)
      carried[l].next = add_copy(plan, &body_in, root[l], NULL);
  }
  int32_t body_end = plan->position_count++;
  plan->loops[loop].body_end = body_end;
  int32_t end = plan->position_count++;
  plan->loops[loop].end = end;
  for (int l = 0; l < leaf_count; l++) {
    if (carried[l].invariant)
      continue;
    add_use(plan, carried[l].next, body_end, loop);
    carried[l].result = step->outputs[l] = hsc__cpu_plan_add_value(
        plan, HSC_CPU_VALUE_COMPUTED, hsc_shape_bytes(hsc_shape_leaf(&instr->shape, l)), end);
  }
  set_leaves(in, instr, step->outputs);
  return NULL;
}

static hsc_status *walk_conditional(hsc_cpu_plan *plan, instance *in, const hsc_instr *instr) {
  int leaf_count = hsc_shape_leaf_count(&instr->shape);
  int32_t input_count;
  int32_t *inputs = operand_leaves(plan, in, instr, 0, instr->operand_count, &input_count);
  hsc_cpu_step *step = add_step(plan, in, HSC_CPU_STEP_CONDITIONAL, instr, input_count, leaf_count);
  step->inputs = inputs;
  for (int i = 0; i < input_count; i++)
    add_use(plan, inputs[i], step->position, in->loop);
  step->condition = inputs[0];
  step->block_count = instr->called_count;
  step->blocks = HSC_NEW_ARRAY(plan->arena, hsc_cpu_block, instr->called_count);
  hsc_cpu_branches *branches = HSC_NEW(plan->arena, hsc_cpu_branches);
  branches->ends = HSC_NEW_ARRAY(plan->arena, int32_t, instr->called_count);
  branches->roots = HSC_NEW_ARRAY(plan->arena, int32_t *, instr->called_count);
  step->choice = branches;
  for (int b = 0; b < instr->called_count; b++) {
    instance branch_in;
    HSC_TRY(instance_init(plan, &branch_in, instr->called[b], in->loop, &step->blocks[b]));
    bind_parameters(plan, &branch_in, leaves_of(in, instr->operands[b + 1]));
    HSC_TRY(walk(plan, &branch_in));
    HSC_TRY(hsc__cpu_plan_reserve(plan, 2 * leaf_count + 2));
    branches->roots[b] = leaves_of(&branch_in, instr->called[b]->root);
    branches->ends[b] = plan->position_count++;
    for (int l = 0; l < leaf_count; l++)
      add_use(plan, branches->roots[b][l], branches->ends[b], in->loop);
  }
  int32_t end = plan->position_count++;
  for (int l = 0; l < leaf_count; l++)
    step->outputs[l] = hsc__cpu_plan_add_value(
        plan, HSC_CPU_VALUE_COMPUTED, hsc_shape_bytes(hsc_shape_leaf(&instr->shape, l)), end);
  set_leaves(in, instr, step->outputs);
  return NULL;
}

static hsc_status *walk_call(hsc_cpu_plan *plan, instance *in, const hsc_instr *instr) {
  int32_t count;
  int32_t *leaves = operand_leaves(plan, in, instr, 0, instr->operand_count, &count);
  instance called;
  HSC_TRY(instance_init(plan, &called, instr->called[0], in->loop, in->block));
  bind_parameters(plan, &called, leaves);
  HSC_TRY(walk(plan, &called));
  set_leaves(in, instr, leaves_of(&called, instr->called[0]->root));
  return NULL;
}

// Calls are walked once a call site, so calls in calls grow exponentially.
enum { MAX_STEPS = 2 * 1000 * 1000 };

static hsc_status *walk_instr(hsc_cpu_plan *plan, instance *in, const hsc_instr *instr) {
  if (plan->step_count > MAX_STEPS)
    return HSC_ERR(RESOURCE_EXHAUSTED, "%s %s: with what is called it comes to more than %d steps",
                   hsc_op_text(instr->op), instr->name, MAX_STEPS);
  if (hsc_instr_is_dead(instr) && instr->op != HSC_OP_PARAMETER)
    return NULL;
  int32_t leaf_count = hsc_shape_leaf_count(&instr->shape);
  for (int i = 0; i < instr->operand_count; i++)
    leaf_count += hsc_shape_leaf_count(&instr->operands[i]->shape);
  HSC_TRY(hsc__cpu_plan_reserve(plan, 2 * leaf_count + 2));
  switch (instr->op) {
    case HSC_OP_PARAMETER:
      return NULL;
    case HSC_OP_CONSTANT: {
      int at = 0;
      int32_t *leaves =
          HSC_NEW_ARRAY(plan->arena, int32_t, hsc_shape_leaf_count(&instr->shape) + 1);
      HSC_TRY(constant_leaves(plan, instr, instr->attr.literal.value, leaves, &at));
      set_leaves(in, instr, leaves);
      return NULL;
    }
    case HSC_OP_TUPLE: {
      int32_t count;
      set_leaves(in, instr, operand_leaves(plan, in, instr, 0, instr->operand_count, &count));
      return NULL;
    }
    case HSC_OP_GET_TUPLE_ELEMENT: {
      int skip = 0;
      for (int64_t i = 0; i < instr->attr.index.value; i++)
        skip += hsc_shape_leaf_count(&instr->operands[0]->shape.elements[i]);
      set_leaves(in, instr, leaves_of(in, instr->operands[0]) + skip);
      return NULL;
    }
    case HSC_OP_COPY:
      return walk_copy(plan, in, instr);
    case HSC_OP_WHILE:
      if (is_whole(plan, instr))
        return walk_whole_loop(plan, in, instr);
      return walk_while(plan, in, instr);
    case HSC_OP_CONDITIONAL:
      return walk_conditional(plan, in, instr);
    case HSC_OP_CALL:
      return walk_call(plan, in, instr);
    default:
      if (hsc_instr_is_alias(instr)) {
        set_leaves(in, instr, leaves_of(in, instr->operands[0]));
        return NULL;
      }
      return walk_op(plan, in, instr);
  }
}

static hsc_status *walk(hsc_cpu_plan *plan, instance *in) {
  HSC_FOR_EACH_INSTR_IN (in->computation, instr)
    HSC_TRY(walk_instr(plan, in, instr));
  return hsc_arena_status(plan->arena);
}

// ---- the entry ----------------------------------------------------------------------------------

static int leaf_of_path(const hsc_shape *shape, hsc_dims path) {
  int leaf = 0;
  for (int i = 0; i < path.count; i++) {
    for (int64_t e = 0; e < path.v[i]; e++)
      leaf += hsc_shape_leaf_count(&shape->elements[e]);
    shape = &shape->elements[path.v[i]];
  }
  return leaf;
}

static void read_aliases(hsc_cpu_plan *plan,
                         const hsc_module *module,
                         const int *first_leaf_of_parameter) {
  for (int o = 0; o < plan->output_count; o++)
    plan->output_alias[o] = -1;
  for (int a = 0; a < module->alias_count; a++) {
    const hsc_alias *alias = &module->aliases[a];
    const hsc_instr *parameter = module->entry->parameters[alias->parameter];
    int output = leaf_of_path(&module->entry->root->shape, alias->output_index);
    int input = first_leaf_of_parameter[alias->parameter] +
                leaf_of_path(&parameter->shape, alias->parameter_index);
    plan->output_alias[output] = input;
  }
}

// An input that is returned in another output's slot than its own must be saved before that output
// is written over it.
static void save_returned_inputs(hsc_cpu_plan *plan, instance *in) {
  for (int o = 0; o < plan->output_count; o++) {
    const hsc_cpu_value *value = &plan->values[plan->output_values[o]];
    if (value->kind != HSC_CPU_VALUE_INPUT || plan->output_alias[o] == value->number)
      continue;
    for (int other = 0; other < plan->output_count; other++)
      if (plan->output_alias[other] == value->number) {
        plan->output_values[o] = add_copy(plan, in, plan->output_values[o], NULL);
        break;
      }
  }
}

hsc_status *hsc_cpu_plan_build(const hsc_module *module,
                               const hsc_cpu_whole_loops *whole_loops,
                               hsc_arena *arena,
                               hsc_cpu_plan **out_plan) {
  hsc_cpu_plan *plan = HSC_NEW(arena, hsc_cpu_plan);
  *out_plan = plan;
  plan->arena = arena;
  plan->module = module;
  plan->whole_loops = whole_loops;
  plan->position_count = 1;  // inputs are there at 0
  const hsc_computation *entry = module->entry;
  instance in;
  HSC_TRY(instance_init(plan, &in, entry, -1, &plan->main));
  int32_t input_leaves = 0;
  for (int p = 0; p < entry->parameter_count; p++)
    input_leaves += hsc_shape_leaf_count(&entry->parameters[p]->shape);
  HSC_TRY(hsc__cpu_plan_reserve(plan, input_leaves));
  int *first_leaf = HSC_NEW_ARRAY(arena, int, entry->parameter_count + 1);
  for (int p = 0; p < entry->parameter_count; p++) {
    const hsc_shape *shape = &entry->parameters[p]->shape;
    int count = hsc_shape_leaf_count(shape);
    first_leaf[p] = plan->input_count;
    int32_t *leaves = HSC_NEW_ARRAY(arena, int32_t, count + 1);
    for (int l = 0; l < count; l++) {
      leaves[l] = hsc__cpu_plan_add_value(plan, HSC_CPU_VALUE_INPUT,
                                          hsc_shape_bytes(hsc_shape_leaf(shape, l)), 0);
      plan->values[leaves[l]].number = plan->input_count++;
    }
    set_leaves(&in, entry->parameters[p], leaves);
  }
  HSC_TRY(walk(plan, &in));
  plan->output_count = hsc_shape_leaf_count(&entry->root->shape);
  plan->output_values = HSC_NEW_ARRAY(arena, int32_t, plan->output_count + 1);
  plan->output_alias = HSC_NEW_ARRAY(arena, int32_t, plan->output_count + 1);
  memcpy(plan->output_values, leaves_of(&in, entry->root),
         sizeof(int32_t) * (size_t)plan->output_count);
  HSC_TRY(hsc__cpu_plan_reserve(plan, 2 * plan->output_count));
  read_aliases(plan, module, first_leaf);
  save_returned_inputs(plan, &in);
  int32_t end = plan->position_count++;
  for (int o = 0; o < plan->output_count; o++)
    add_use(plan, plan->output_values[o], end, -1);
  return hsc_arena_status(arena);
}
