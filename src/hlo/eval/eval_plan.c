// eval_plan.c - scalar computations compiled to lane steps. Calls are inlined, tuples and
// identities vanish, constants are splat once. What cannot be expressed (a loop in a reducer, say)
// runs as a computation, element by element.
#include "hlo/eval/eval_internal.h"

// What an instruction of the computation became: a register, or for tuples a list of them.
typedef struct slot {
  int32_t reg;
  struct slot *elements;
} slot;

typedef struct compiler {
  hsc_arena *arena;
  hsc__plan *plan;
  int32_t step_capacity, register_capacity;
  bool failed;  // not expressible; the plan falls back
} compiler;

static int32_t new_register(compiler *c) {
  hsc__plan *plan = c->plan;
  if (!HSC_GROW_IN(c->arena, plan->own, plan->register_count, c->register_capacity)) {
    c->failed = true;
    return 0;
  }
  void *buffer = hsc_arena_alloc(c->arena, HSC__LANE_BYTES);
  if (!buffer)
    c->failed = true;
  plan->own[plan->register_count] = buffer;
  return plan->register_count++;
}

static hsc__step *new_step(compiler *c) {
  hsc__plan *plan = c->plan;
  if (!HSC_GROW_IN(c->arena, plan->steps, plan->step_count, c->step_capacity)) {
    c->failed = true;
    return NULL;
  }
  return &plan->steps[plan->step_count++];
}

static slot constant_slot(compiler *c, const hsc_literal *literal) {
  slot result = {0};
  if (hsc_shape_is_tuple(&literal->shape)) {
    result.elements = HSC_NEW_ARRAY(c->arena, slot, literal->shape.element_count + 1);
    for (int32_t i = 0; i < literal->shape.element_count && !c->failed; i++)
      result.elements[i] = constant_slot(c, &literal->elements[i]);
    return result;
  }
  if (hsc_shape_elements(&literal->shape) != 1 || literal->elided ||
      !hsc_shape_is_array(&literal->shape)) {
    c->failed = true;
    return result;
  }
  result.reg = new_register(c);
  if (c->failed)
    return result;
  unsigned char *lanes = c->plan->own[result.reg];
  size_t width = hsc__kind_bytes(hsc__kind_of(literal->shape.type));
  hsc__lane_load(literal->shape.type, literal->data, 1, lanes);
  for (int i = 1; i < HSC__LANES; i++)
    memcpy(lanes + (size_t)i * width, lanes, width);
  return result;
}

static bool is_identity(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_COPY:
    case HSC_OP_RESHAPE:
    case HSC_OP_BROADCAST:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_OPT_BARRIER:
    case HSC_OP_DOMAIN:
      return true;
    case HSC_OP_BITCAST:
      return instr->operands[0]->shape.type == instr->shape.type;
    default:
      return false;
  }
}

static slot compile_computation(compiler *c,
                                const hsc_computation *computation,
                                const slot *arguments,
                                int depth);

static slot compile_instr(
    compiler *c, const hsc_instr *instr, slot *const *operands, const slot *arguments, int depth) {
  slot result = {0};
  switch (instr->op) {
    case HSC_OP_PARAMETER:
      return arguments[instr->attr.index.value];
    case HSC_OP_CONSTANT:
      return constant_slot(c, instr->attr.literal.value);
    case HSC_OP_TUPLE:
      result.elements = HSC_NEW_ARRAY(c->arena, slot, instr->operand_count + 1);
      for (int32_t i = 0; i < instr->operand_count; i++)
        result.elements[i] = *operands[i];
      return result;
    case HSC_OP_GET_TUPLE_ELEMENT:
      if (!operands[0]->elements)
        break;
      return operands[0]->elements[instr->attr.index.value];
    case HSC_OP_CALL:
    case HSC_OP_FUSION: {
      slot *inner = HSC_NEW_ARRAY(c->arena, slot, instr->operand_count + 1);
      for (int32_t i = 0; i < instr->operand_count; i++)
        inner[i] = *operands[i];
      return compile_computation(c, instr->called[0], inner, depth + 1);
    }
    default:
      break;
  }
  if (!hsc_shape_is_array(&instr->shape) || hsc_shape_elements(&instr->shape) != 1) {
    c->failed = true;
    return result;
  }
  if (is_identity(instr))
    return *operands[0];
  bool lanewise =
      (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) || instr->op == HSC_OP_CLAMP ||
      (instr->op == HSC_OP_BITCAST_CONVERT && instr->operands[0]->shape.rank == instr->shape.rank);
  if (!lanewise || instr->operand_count < 1 || instr->operand_count > 3) {
    c->failed = true;
    return result;
  }
  hsc_type type = instr->operands[instr->op == HSC_OP_SELECT ? 1 : 0]->shape.type;
  if (!hsc__step_supported(instr, type)) {
    c->failed = true;
    return result;
  }
  hsc__step *step = new_step(c);
  if (!step)
    return result;
  *step = (hsc__step){.op = instr->op,
                      .type = type,
                      .out_type = instr->shape.type,
                      .instr = instr,
                      .in = {-1, -1, -1}};
  for (int32_t i = 0; i < instr->operand_count; i++)
    step->in[i] = operands[i]->reg;
  int32_t out = new_register(c);
  c->plan->steps[c->plan->step_count - 1].out = out;
  result.reg = out;
  return result;
}

enum { MAX_DEPTH = 200 };

static slot compile_computation(compiler *c,
                                const hsc_computation *computation,
                                const slot *arguments,
                                int depth) {
  slot result = {0};
  hsc_map *slots = NULL;
  hsc_status *status = depth > MAX_DEPTH ? HSC_ERR(RESOURCE_EXHAUSTED, "calls nested too deep")
                                         : hsc_map_create(&slots);
  if (status) {
    hsc_status_free(status);
    c->failed = true;
    return result;
  }
  int32_t count = computation->instr_count;
  int32_t at = 0;
  slot *all = HSC_NEW_ARRAY(c->arena, slot, count + 1);
  const hsc_instr **keys = HSC_NEW_ARRAY(c->arena, const hsc_instr *, count + 1);
  if (!all || !keys)
    c->failed = true;
  for (const hsc_instr *instr = computation->first; instr && !c->failed;
       instr = instr->next, at++) {
    slot *operands[4] = {0};
    slot **list = operands;
    if (instr->operand_count > 4)
      list = HSC_NEW_ARRAY(c->arena, slot *, instr->operand_count);
    for (int32_t i = 0; i < instr->operand_count; i++) {
      const hsc_instr *operand = instr->operands[i];
      list[i] = hsc_map_get(slots, (hsc_view){(const char *)&operand, sizeof(operand)});
      if (!list[i])
        c->failed = true;
    }
    if (c->failed)
      break;
    all[at] = compile_instr(c, instr, list, arguments, depth);
    keys[at] = instr;
    if (instr == computation->root)
      result = all[at];
    status = hsc_map_put(slots, (hsc_view){(const char *)&keys[at], sizeof(keys[at])}, &all[at]);
    if (status) {
      hsc_status_free(status);
      c->failed = true;
    }
  }
  hsc_map_destroy(slots);
  return result;
}

static void flatten_results(compiler *c, const hsc_shape *shape, const slot *from) {
  hsc__plan *plan = c->plan;
  if (hsc_shape_is_tuple(shape)) {
    for (int32_t i = 0; i < shape->element_count && !c->failed; i++)
      flatten_results(c, &shape->elements[i], &from->elements[i]);
  } else {
    plan->results[plan->result_count++] = from->reg;
  }
}

static void note_single_op(hsc__plan *plan) {
  plan->single_op = HSC_OP_COUNT;
  if (!plan->is_lanes || plan->step_count != 1 || plan->parameter_count != 2 ||
      plan->result_count != 1)
    return;
  const hsc__step *step = &plan->steps[0];
  if (plan->results[0] != step->out || step->in[2] >= 0 || step->type != plan->parameter_types[0] ||
      step->type != plan->parameter_types[1] || step->out_type != step->type)
    return;
  if (step->in[0] == 0 && step->in[1] == 1)
    plan->single_op = step->op;
  else if (step->in[0] == 1 && step->in[1] == 0) {
    plan->single_op = step->op;
    plan->single_swapped = true;
  }
}

hsc_status *hsc__plan_get(hsc__eval *cx, const hsc_computation *computation, hsc__plan **out_plan) {
  hsc_view key = {(const char *)&computation, sizeof(computation)};
  *out_plan = hsc_map_get(cx->plans, key);
  if (*out_plan)
    return NULL;
  hsc__plan *plan = HSC_NEW(cx->arena, hsc__plan);
  HSC_TRY(hsc_arena_status(cx->arena));
  plan->computation = computation;
  compiler c = {.arena = cx->arena, .plan = plan};
  plan->parameter_count = computation->parameter_count;
  plan->parameter_types = HSC_NEW_ARRAY(cx->arena, hsc_type, plan->parameter_count + 1);
  slot *arguments = HSC_NEW_ARRAY(cx->arena, slot, plan->parameter_count + 1);
  HSC_TRY(hsc_arena_status(cx->arena));
  for (int32_t i = 0; i < plan->parameter_count; i++) {
    const hsc_shape *shape = &computation->parameters[i]->shape;
    plan->parameter_types[i] = shape->type;
    if (!hsc_shape_is_array(shape) || hsc_shape_elements(shape) != 1)
      return HSC_ERR(
          INVALID_ARGUMENT,
          "%s: parameter %d of a computation that is applied to elements is not a scalar",
          computation->name, (int)i);
    arguments[i].reg = new_register(&c);
  }
  const hsc_shape *root = &computation->root->shape;
  int leaves = hsc_shape_leaf_count(root);
  plan->results = HSC_NEW_ARRAY(cx->arena, int32_t, leaves + 1);
  plan->result_types = HSC_NEW_ARRAY(cx->arena, hsc_type, leaves + 1);
  HSC_TRY(hsc_arena_status(cx->arena));
  for (int i = 0; i < leaves; i++) {
    const hsc_shape *leaf = hsc_shape_leaf(root, i);
    plan->result_types[i] = leaf->type;
    if (!hsc_shape_is_array(leaf) || hsc_shape_elements(leaf) != 1)
      return HSC_ERR(INVALID_ARGUMENT,
                     "%s: result %d of a computation that is applied to elements is not a scalar",
                     computation->name, i);
  }
  slot result = compile_computation(&c, computation, arguments, 0);
  if (!c.failed)
    flatten_results(&c, root, &result);
  HSC_TRY(hsc_arena_status(cx->arena));
  plan->is_lanes = !c.failed;
  plan->result_count = leaves;
  plan->registers = HSC_NEW_ARRAY(cx->arena, void *, plan->register_count + 1);
  const hsc_computation **stored = HSC_NEW(cx->arena, const hsc_computation *);
  HSC_TRY(hsc_arena_status(cx->arena));
  memcpy(plan->registers, plan->own, (size_t)plan->register_count * sizeof(void *));
  note_single_op(plan);
  *stored = computation;
  HSC_TRY(hsc_map_put(cx->plans, (hsc_view){(const char *)stored, sizeof(*stored)}, plan));
  *out_plan = plan;
  return NULL;
}

// ---- the fallback: one element at a time --------------------------------------------------------

static hsc_status *run_one(hsc__eval *cx,
                           hsc__plan *plan,
                           int64_t lane,
                           const void *const *arguments,
                           void *const *results) {
  hsc__value *values[64] = {0};
  hsc__value **list = values;
  hsc_status *status = NULL;
  hsc__value *out = NULL;
  int32_t made = 0;
  if (plan->parameter_count > 64) {
    list = hsc_alloc((size_t)plan->parameter_count * sizeof(*list));
    if (!list)
      return hsc_status_out_of_memory();
  }
  for (; made < plan->parameter_count; made++) {
    HSC_GOTO(hsc__value_array(&plan->computation->parameters[made]->shape, &list[made]));
    hsc_type type = plan->parameter_types[made];
    hsc__lane_store(
        type,
        (const unsigned char *)arguments[made] + (size_t)lane * hsc__kind_bytes(hsc__kind_of(type)),
        1, list[made]->data);
  }
  // the instruction that applies it was counted with all its elements
  hsc_work *work = cx->work;
  cx->work = NULL;
  status = hsc__eval_run(cx, plan->computation, plan->parameter_count, list, &out);
  cx->work = work;
  made = 0;  // taken
  if (status)
    goto done;
  for (int32_t i = 0; i < plan->result_count; i++) {
    const hsc__value *leaf = out;
    // Roots of applied computations are scalars or flat tuples of them; nested tuples are walked
    // depth first.
    if (hsc_shape_is_tuple(&out->shape)) {
      int32_t skip = i;
      const hsc__value *node = out;
      while (hsc_shape_is_tuple(&node->shape)) {
        int32_t e = 0;
        while (skip >= hsc_shape_leaf_count(&node->elements[e]->shape))
          skip -= hsc_shape_leaf_count(&node->elements[e++]->shape);
        node = node->elements[e];
      }
      leaf = node;
    }
    hsc_type type = plan->result_types[i];
    hsc__lane_load(
        type, leaf->data, 1,
        (unsigned char *)results[i] + (size_t)lane * hsc__kind_bytes(hsc__kind_of(type)));
  }
done:
  for (int32_t i = 0; i < made; i++)
    hsc__value_release(list[i]);
  if (list != values)
    hsc_free(list);
  hsc__value_release(out);
  return status;
}

hsc_status *hsc__plan_run(hsc__eval *cx,
                          hsc__plan *plan,
                          int64_t count,
                          const void *const *arguments,
                          void *const *results) {
  if (!plan->is_lanes) {
    for (int64_t lane = 0; lane < count; lane++)
      HSC_TRY(run_one(cx, plan, lane, arguments, results));
    return NULL;
  }
  void **reg = plan->registers;
  // only read
  for (int32_t i = 0; i < plan->parameter_count; i++)
    reg[i] = (void *)(uintptr_t)arguments[i];
  for (int32_t s = 0; s < plan->step_count; s++) {
    const hsc__step *step = &plan->steps[s];
    hsc__step_run(step, count, reg[step->out], reg[step->in[0]],
                  step->in[1] < 0 ? NULL : reg[step->in[1]],
                  step->in[2] < 0 ? NULL : reg[step->in[2]]);
  }
  // Through the plan's own buffers where a result is an argument that another result is about to
  // overwrite.
  if (plan->result_count == 1) {
    if (results[0] != reg[plan->results[0]])
      memmove(results[0], reg[plan->results[0]],
              (size_t)count * hsc__kind_bytes(hsc__kind_of(plan->result_types[0])));
    return NULL;
  }
  for (int32_t i = 0; i < plan->result_count; i++) {
    int32_t from = plan->results[i];
    if (from < plan->parameter_count && reg[from] != plan->own[from]) {
      memcpy(plan->own[from], reg[from],
             (size_t)count * hsc__kind_bytes(hsc__kind_of(plan->result_types[i])));
      reg[from] = plan->own[from];
    }
  }
  for (int32_t i = 0; i < plan->result_count; i++)
    memcpy(results[i], reg[plan->results[i]],
           (size_t)count * hsc__kind_bytes(hsc__kind_of(plan->result_types[i])));
  return NULL;
}
