// layout_assignment.c - the order of each array's dimensions in memory, so that transposes move
// nothing.
//
// What comes in has the orders that a frontend wrote down; they are forgotten, but for those of the
// program's own arguments and results. Then orders other than row-major are given where they cost
// nothing: after a transpose, whose result takes its operand's bytes as they are, through
// elementwise operations whose array operands all come in that order (or can be made in it:
// broadcasts of scalars, constants), to what reads any order: dots, convolutions, reductions, other
// transposes. And to a dot's result that is only read transposed, which the dot with its operands
// exchanged makes. Transposes inside such a region become bitcasts. Everything that meets another
// operation is row-major. Linear in instructions, times the length of the longest chain that is
// given up. layout-normalization, which comes next, says the same without layouts.
//
//   before   t = f32[64,8] transpose(x);  e = f32[64,8] exponential(t);  ROOT d = f32[64,4] dot(e,
//            y)
//   after    t = f32[64,8]{0,1} bitcast(x);  e = f32[64,8]{0,1} exponential(t);  ROOT d = f32[64,4]
//            dot(e, y)
//
// XLA: xla/service/layout_assignment.h
#include "passes/layout/layouts.h"

typedef struct choice {
  hsc_instr *instr;
  hsc__order order;
  bool special;  // another order than row-major
} choice;

// Can be made in any order by whoever needs it.
static bool is_flexible(const hsc_instr *instr) {
  if (instr->op == HSC_OP_BROADCAST)
    return instr->operands[0]->shape.rank == 0;
  return false;
}

static bool follows(const hsc_instr *instr) {
  if (!(hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) || !hsc_shape_is_array(&instr->shape) ||
      instr->op == HSC_OP_RNG || instr->called_count)
    return false;
  for (int o = 0; o < instr->operand_count; o++)
    if (!hsc_shape_same_dims(&instr->operands[o]->shape, &instr->shape))
      return false;
  return instr->operand_count > 0 && instr->control_count == 0 &&
         instr->control_successor_count == 0 && instr->op != HSC_OP_COPY;
}

static void propose(const choice *choices, choice *c) {
  hsc_instr *instr = c->instr;
  if (!hsc_shape_is_array(&instr->shape) || instr->shape.rank < 2)
    return;
  c->order = (hsc__order){.rank = instr->shape.rank};
  for (int p = 0; p < instr->shape.rank; p++)
    c->order.dim[p] = (int8_t)p;
  // one that means something, to a custom call or a bitcast
  if (!hsc_layout_is_default(&instr->shape))
    return;
  if (instr->op == HSC_OP_TRANSPOSE && instr->control_count == 0 &&
      instr->control_successor_count == 0) {
    if (!hsc_layout_is_default(&instr->operands[0]->shape))
      return;
    c->order =
        hsc__order_of_transposed(&choices[instr->operands[0]->index].order, instr->attr.dims.dims);
    c->special = !hsc__order_is_row_major(&c->order);
  } else if (follows(instr)) {
    const choice *first = NULL;
    for (int o = 0; o < instr->operand_count; o++) {
      const choice *from = &choices[instr->operands[o]->index];
      if (is_flexible(instr->operands[o]))
        continue;
      if (!from->special || (first && !hsc__order_equal(&first->order, &from->order)))
        return;
      first = from;
    }
    if (!first)
      return;
    c->order = first->order;
    c->special = true;
  }
}

// Whether every reader of the value can do with its order.
static bool readers_agree(const choice *choices, const choice *c) {
  const hsc_instr *instr = c->instr;
  if (instr->parent->root == instr || instr->user_count == 0)
    return false;
  for (int u = 0; u < instr->user_count; u++) {
    const hsc_instr *user = instr->users[u];
    const choice *at = &choices[user->index];
    if (at->special && follows(user) && hsc__order_equal(&at->order, &c->order))
      continue;
    for (int o = 0; o < user->operand_count; o++)
      if (user->operands[o] == instr && !hsc__takes_order(user, o, &c->order))
        return false;
  }
  return true;
}

static void give_up(choice *c) {
  c->special = false;
  for (int p = 0; p < c->order.rank; p++)
    c->order.dim[p] = (int8_t)p;
}

// A dot all of whose readers are one and the same transpose that exchanges its sides.
static bool is_read_exchanged(const choice *choices, const hsc_instr *dot, hsc__order *out_order) {
  if (dot->op != HSC_OP_DOT || dot->user_count == 0 || dot->parent->root == dot ||
      dot->shape.rank < 2 || !hsc_layout_is_default(&dot->shape))
    return false;
  if (dot->control_count || dot->control_successor_count)
    return false;
  for (int u = 0; u < dot->user_count; u++) {
    const hsc_instr *user = dot->users[u];
    if (user->op != HSC_OP_TRANSPOSE || user->control_count || user->control_successor_count ||
        choices[user->index].special)
      return false;
    hsc__order order = {.rank = dot->shape.rank};
    for (int p = 0; p < dot->shape.rank; p++)
      order.dim[p] = (int8_t)user->attr.dims.dims.v[p];
    if (!hsc__is_exchanged_dot(dot, &order))
      return false;
    *out_order = order;
  }
  return true;
}

static bool has_layout(const hsc_shape *shape) {
  if (hsc_shape_is_array(shape))
    return !hsc_layout_is_default(shape);
  for (int e = 0; e < shape->element_count; e++)
    if (has_layout(&shape->elements[e]))
      return true;
  return false;
}

static hsc_status *forget(hsc_computation *computation, hsc_pass_context *cx) {
  hsc_arena *arena = computation->module->arena;
  bool entry = computation == computation->module->entry;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    bool edge = entry && (instr->op == HSC_OP_PARAMETER || instr == computation->root);
    // where an order is meant
    bool keeps = instr->op == HSC_OP_BITCAST || instr->op == HSC_OP_CUSTOM_CALL ||
                 instr->op == HSC_OP_BITCAST_CONVERT;
    if (edge || keeps || !has_layout(&instr->shape))
      continue;
    for (int u = 0; u < instr->user_count; u++)
      keeps |= instr->users[u]->op == HSC_OP_BITCAST || instr->users[u]->op == HSC_OP_CUSTOM_CALL;
    if (keeps)
      continue;
    if (!hsc__pass_spend(cx))
      return NULL;
    instr->shape = hsc_shape_without_layout(arena, instr->shape);
  }
  return hsc_arena_status(arena);
}

static hsc_status *write_down(hsc_pass_context *cx, const choice *c) {
  hsc_instr *instr = c->instr;
  hsc_module *module = instr->parent->module;
  if (!hsc__pass_spend(cx))
    return NULL;
  if (instr->op == HSC_OP_TRANSPOSE) {
    hsc_builder b;
    hsc_builder_at(&b, instr->parent, instr);
    b.metadata = instr->metadata;
    hsc_instr *replacement =
        hsc_build(&b, HSC_OP_BITCAST, hsc__shape_in_order(module->arena, instr->shape, &c->order),
                  1, instr->operands);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
    return hsc__replace(instr, replacement);
  }
  instr->shape = hsc__shape_in_order(module->arena, instr->shape, &c->order);
  for (int o = 0; o < instr->operand_count && instr->op != HSC_OP_DOT; o++) {
    hsc_instr *operand = instr->operands[o];
    if (!is_flexible(operand))
      continue;
    hsc_builder b;
    hsc_builder_at(&b, instr->parent, instr);
    b.metadata = operand->metadata;
    hsc_instr *own = hsc_build_clone(&b, operand, operand->operands);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
    own->shape = instr->shape;
    own->shape.type = operand->shape.type;
    hsc_instr_set_operand(instr, o, own);
    if (hsc_instr_is_dead(operand))
      hsc_instr_remove(operand);
  }
  return hsc_arena_status(module->arena);
}

static hsc_status *assign(hsc_computation *computation, hsc_pass_context *cx) {
  bool any = false;
  for (const hsc_instr *instr = computation->first; instr && !any; instr = instr->next)
    any = instr->op == HSC_OP_TRANSPOSE;
  if (!any)
    return NULL;
  int32_t count = 0;
  choice *choices = HSC_NEW_ARRAY(cx->scratch, choice, computation->instr_count + 1);
  HSC_TRY(hsc_arena_status(cx->scratch));
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    instr->index = count++;
    choices[instr->index] = (choice){.instr = instr};
    propose(choices, &choices[instr->index]);
  }
  // Backwards, so that a chain that ends badly is given up in one go; what was made of something
  // that is row-major again must be looked at once more.
  for (bool again = true; again;) {
    again = false;
    for (int32_t i = count - 1; i >= 0; i--) {
      if (!choices[i].special || readers_agree(choices, &choices[i]))
        continue;
      give_up(&choices[i]);
      again = true;
    }
    for (int32_t i = 0; i < count; i++) {
      if (!choices[i].special)
        continue;
      choice now = {.instr = choices[i].instr};
      propose(choices, &now);
      if (now.special && hsc__order_equal(&now.order, &choices[i].order))
        continue;
      give_up(&choices[i]);
      again = true;
    }
  }
  for (int32_t i = 0; i < count; i++) {
    hsc__order order;
    if (choices[i].special) {
      HSC_TRY(write_down(cx, &choices[i]));
    } else if (is_read_exchanged(choices, choices[i].instr, &order)) {
      // The transposes come later in the list, and have nothing special: their operand's bytes are
      // row-major for them.
      hsc_instr *dot = choices[i].instr;
      if (!hsc__pass_spend(cx))
        return NULL;
      dot->shape = hsc__shape_in_order(computation->module->arena, dot->shape, &order);
      for (int u = dot->user_count - 1; u >= 0; u--) {
        hsc_instr *transpose = dot->users[u];
        hsc_builder b;
        hsc_builder_at(&b, computation, transpose);
        b.metadata = transpose->metadata;
        hsc_instr *replacement = hsc_build(
            &b, HSC_OP_BITCAST,
            hsc_shape_without_layout(computation->module->arena, transpose->shape), 1, &dot);
        HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
        HSC_TRY(hsc__replace(transpose, replacement));
      }
    }
    if (cx->fuel == 0 || cx->pass_fuel == 0)
      return NULL;
  }
  return NULL;
}

hsc_status *hsc__pass_layout_assignment(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  for (int c = 0; c < module->computation_count; c++) {
    HSC_TRY(forget(module->computations[c], cx));
    if (!hsc__computation_is_embedded(module->computations[c]))
      HSC_TRY(assign(module->computations[c], cx));
  }
  return NULL;
}
