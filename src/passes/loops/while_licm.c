// while_licm.c - what a loop's body computes from values that the loop does not change is computed
// once, before the loop.
//
// An instruction moves when all of its operands are constants, unchanged elements of the state, or
// have moved, and it is worth a place in the state: constants, broadcasts, reshapes and other data
// movement alone are not, nor is what is larger than what it is made from; they move along with
// what needs them. Legal without effects; an instruction that cannot fail may run even when the
// loop has no trip. One walk of each body, linear.
//
//   before   body: e = exponential(get-tuple-element(s, 2));  y = multiply(x, e);  ROOT tuple(n, y,
//            get-tuple-element(s, 2))
//   after    e = exponential(w0);  w = while(tuple(zero, x0, w0, e)), body: y = multiply(x,
//            get-tuple-element(s, 3)) ...
//
// XLA: xla/service/while_loop_invariant_code_motion.h
#include "passes/loops/while_util.h"

// hsc_instr.index of the body's instructions while the pass looks at it
enum { KEPT = 0, INVARIANT = 1 };

static bool not_worth_alone(hsc_op op) {
  switch (op) {
    case HSC_OP_CONSTANT:
    case HSC_OP_BITCAST:
    case HSC_OP_BROADCAST:
    case HSC_OP_CONVERT:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_IOTA:
    case HSC_OP_RESHAPE:
    case HSC_OP_REVERSE:
    case HSC_OP_SLICE:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_TUPLE:
    case HSC_OP_COPY:
    case HSC_OP_BITCAST_CONVERT:
      return true;
    default:
      return false;
  }
}

static bool may_move(const hsc_instr *instr) {
  if (instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_OPT_BARRIER || instr->control_count ||
      instr->control_successor_count)
    return false;
  if (!hsc_shape_is_array(&instr->shape) || hsc_instr_has_effect(instr))
    return false;
  if (instr->op == HSC_OP_CUSTOM_CALL || instr->op == HSC_OP_WHILE ||
      instr->op == HSC_OP_CONDITIONAL || instr->op == HSC_OP_CALL)
    return false;
  if (instr->op == HSC_OP_CONSTANT && instr->attr.literal.value->elided)
    return false;
  return !(hsc_op_traits(instr->op) & (HSC_TRAIT_EFFECT | HSC_TRAIT_COLLECTIVE | HSC_TRAIT_ASYNC));
}

static bool inflates(const hsc_instr *instr) {
  int64_t in = 0;
  for (int i = 0; i < instr->operand_count; i++) {
    int64_t bytes = hsc_shape_bytes(&instr->operands[i]->shape);
    if (instr->operands[i]->op == HSC_OP_BROADCAST)
      bytes = hsc_shape_bytes(&instr->operands[i]->operands[0]->shape);
    in += bytes;
  }
  return hsc_shape_bytes(&instr->shape) > in;
}

// Marks the body's invariant instructions; collects those worth moving whose value something in the
// loop needs.
static int find(hsc_instr *loop, hsc_instr **moving) {
  hsc_computation *body = loop->called[1];
  const hsc_instr *state = body->parameters[0];
  int count = 0;
  for (hsc_instr *instr = body->first; instr; instr = instr->next) {
    instr->index = KEPT;
    if (instr->op == HSC_OP_GET_TUPLE_ELEMENT && instr->operands[0] == state) {
      instr->index = hsc__loop_keeps(loop, instr->attr.index.value) ? INVARIANT : KEPT;
      continue;
    }
    bool invariant = may_move(instr);
    for (int i = 0; invariant && i < instr->operand_count; i++)
      invariant = instr->operands[i]->index == INVARIANT;
    instr->index = invariant ? INVARIANT : KEPT;
  }
  for (hsc_instr *instr = body->first; instr; instr = instr->next) {
    if (instr->index != INVARIANT || instr->op == HSC_OP_GET_TUPLE_ELEMENT ||
        not_worth_alone(instr->op) || inflates(instr))
      continue;
    bool needed = false;  // by something that stays, or that only would move along
    for (int u = 0; u < instr->user_count; u++)
      needed |= instr->users[u]->index == KEPT || not_worth_alone(instr->users[u]->op) ||
                inflates(instr->users[u]);
    if (needed)
      moving[count++] = instr;
  }
  return count;
}

// Marks what the moving instructions are made of: a walk from the end, since operands come first.
static void mark_needed(const hsc_instr *loop, int count, hsc_instr **moving) {
  hsc_computation *body = loop->called[1];
  for (hsc_instr *instr = body->first; instr; instr = instr->next)
    instr->scratch = NULL;
  for (int i = 0; i < count; i++)
    moving[i]->scratch = moving[i];
  for (hsc_instr *instr = body->last; instr; instr = instr->prev)
    for (int i = 0; instr->scratch && i < instr->operand_count; i++)
      if (instr->op != HSC_OP_GET_TUPLE_ELEMENT)
        instr->operands[i]->scratch = instr->operands[i];
}

// `instr` of the body, built before the loop, where its operands are already: each one's scratch is
// its copy.
static hsc_instr *outside(hsc_builder *b, const hsc_instr *instr, const hsc_instr *loop) {
  if (instr->op == HSC_OP_GET_TUPLE_ELEMENT) {
    hsc_instr *init = loop->operands[0];
    return init->op == HSC_OP_TUPLE ? init->operands[instr->attr.index.value]
                                    : hsc_build_get_tuple_element(b, init, instr->attr.index.value);
  }
  hsc_instr **operands = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, instr->operand_count + 1);
  if (!operands)
    return NULL;
  for (int i = 0; i < instr->operand_count; i++)
    operands[i] = instr->operands[i]->scratch;
  return hsc_build_clone(b, instr, operands);
}

static hsc_status *hoist(hsc_instr *loop, int count, hsc_instr **moving, hsc_arena *scratch) {
  hsc_builder b;
  hsc_instr **values = HSC_NEW_ARRAY(scratch, hsc_instr *, count);
  hsc_instr **inside = HSC_NEW_ARRAY(scratch, hsc_instr *, count);
  if (!values || !inside)
    return hsc_status_out_of_memory();
  mark_needed(loop, count, moving);
  hsc_builder_at(&b, loop->parent, loop);
  for (hsc_instr *instr = loop->called[1]->first; instr; instr = instr->next) {
    if (!instr->scratch)
      continue;
    hsc_instr *made = outside(&b, instr, loop);
    if (!made)
      return hsc_status_out_of_memory();
    instr->scratch = made;
  }
  for (int i = 0; i < count; i++)
    values[i] = moving[i]->scratch;
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  HSC_TRY(hsc__loop_add_invariants(loop, count, values, inside));
  for (int i = 0; i < count; i++)
    HSC_TRY(hsc__replace(moving[i], inside[i]));
  return NULL;
}

hsc_status *hsc__pass_while_licm(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    for (hsc_instr *loop = computation->first; loop; loop = loop->next) {
      if (loop->op != HSC_OP_WHILE || !hsc__loop_is_own(loop))
        continue;
      hsc_instr **moving = HSC_NEW_ARRAY(cx->scratch, hsc_instr *, loop->called[1]->instr_count);
      if (!moving)
        return hsc_status_out_of_memory();
      int found = find(loop, moving);
      int count = 0;
      while (count < found && hsc__pass_spend(cx))
        count++;
      if (count)
        HSC_TRY(hoist(loop, count, moving, cx->scratch));
    }
  }
  return NULL;
}
