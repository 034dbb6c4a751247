// edit.c - changing a module: links between instructions, names, removal, and the questions that
// passes ask first.
#include "hlo/ir/hlo_internal.h"

// ---- users --------------------------------------------------------------------------------------

void hsc__use_add(hsc_instr *instr, hsc_instr *user, int operand) {
  hsc_arena *arena = instr->parent->module->arena;
  if (!user->use_places)
    user->use_places = HSC_NEW_ARRAY(arena, int32_t, user->operand_count + 1);
  if (instr->user_count == instr->user_capacity) {
    int capacity = instr->user_capacity < 2 ? 4 : instr->user_capacity * 2;
    hsc_instr **users = HSC_NEW_ARRAY(arena, hsc_instr *, capacity);
    int32_t *operands = HSC_NEW_ARRAY(arena, int32_t, capacity);
    if (!users || !operands || capacity < 0)
      return;  // the arena remembers the failure
    if (instr->user_count) {
      memcpy(users, instr->users, (size_t)instr->user_count * sizeof *users);
      memcpy(operands, instr->use_operands, (size_t)instr->user_count * sizeof *operands);
    }
    instr->users = users;
    instr->use_operands = operands;
    instr->user_capacity = capacity;
  }
  if (!user->use_places)
    return;
  user->use_places[operand] = instr->user_count + instr->users_dropped;
  instr->use_operands[instr->user_count] = operand;
  instr->users[instr->user_count++] = user;
}

static void move_use(hsc_instr *instr, int from, int to) {
  hsc_instr *user = instr->users[from];
  int operand = instr->use_operands[from];
  instr->users[to] = user;
  instr->use_operands[to] = operand;
  user->use_places[operand] = to + instr->users_dropped;
}

// Takes out so that the rest of the end that is nearer keeps its order.
static void use_remove(hsc_instr *instr, hsc_instr *user, int operand) {
  int place = user->use_places ? user->use_places[operand] - instr->users_dropped : -1;
  if (place < 0 || place >= instr->user_count || instr->users[place] != user)
    return;  // out of memory when it was to be added
  if (place >= instr->user_count / 2) {
    move_use(instr, instr->user_count - 1, place);
  } else {
    move_use(instr, 0, place);
    instr->users++;
    instr->use_operands++;
    instr->users_dropped++;
    instr->user_capacity--;
  }
  instr->user_count--;
}

void hsc_instr_set_operand(hsc_instr *instr, int operand, hsc_instr *value) {
  hsc_instr *old = instr->operands[operand];
  if (old == value)
    return;
  instr->operands[operand] = value;
  if (old)
    use_remove(old, instr, operand);
  hsc__use_add(value, instr, operand);
}

void hsc_instr_set_operands(hsc_instr *instr, int count, hsc_instr *const *values) {
  hsc_instr **operands = count > 0 ? hsc_arena_copy(instr->parent->module->arena, values,
                                                    (size_t)count * sizeof *values)
                                   : NULL;
  if (count > 0 && !operands)
    return;
  for (int i = 0; i < instr->operand_count; i++)
    use_remove(instr->operands[i], instr, i);
  instr->operands = operands;
  instr->operand_count = count;
  instr->use_places = NULL;
  for (int i = 0; i < count; i++)
    hsc__use_add(operands[i], instr, i);
}

// ---- calls --------------------------------------------------------------------------------------

void hsc__calls_add(const hsc_instr *instr, int by) {
  for (int i = 0; i < instr->called_count; i++)
    if (instr->called[i])
      instr->called[i]->callers += by;
}

int32_t hsc_computation_callers(const hsc_computation *callee) {
  hsc_module *module = callee->module;
  if (!module->callers_counted) {
    for (int i = 0; i < module->computation_count; i++)
      module->computations[i]->callers = 0;
    for (int i = 0; i < module->computation_count; i++)
      HSC_FOR_EACH_INSTR_IN (module->computations[i], instr)
        hsc__calls_add(instr, 1);
    module->callers_counted = true;
  }
  return callee->callers;
}

void hsc_instr_set_called(hsc_instr *instr, int count, hsc_computation *const *called) {
  hsc_computation **copy = count > 0 ? hsc_arena_copy(instr->parent->module->arena, called,
                                                      (size_t)count * sizeof *called)
                                     : NULL;
  if (count > 0 && !copy)
    return;
  hsc__calls_add(instr, -1);
  instr->called = copy;
  instr->called_count = count;
  hsc__calls_add(instr, 1);
}

hsc_status *hsc_instr_set_name(hsc_instr *instr, const char *name) {
  if (strcmp(instr->name, name) == 0)
    return NULL;
  hsc_module *module = instr->parent->module;
  if (!hsc__names_list(module))
    return hsc_status_out_of_memory();
  if (*instr->name)
    hsc__name_release(module->names, instr->name, instr);
  const char *unique = hsc__unique_name(module, module->names, name, instr);
  if (!unique)
    return hsc_status_out_of_memory();
  instr->name = unique;
  return NULL;
}

hsc_status *hsc_instr_replace_uses(hsc_instr *instr, hsc_instr *replacement) {
  // What the builder gives after an error belongs to no module. Most often memory ran out; the
  // builder's own status says so too, but who replaces at once has not asked for it.
  if (!replacement->parent->module)
    return HSC_ERR(RESOURCE_EXHAUSTED, "%%%s: what replaces it could not be made", instr->name);
  if (instr == replacement)
    return NULL;
  if (!hsc_shape_equal(&instr->shape, &replacement->shape)) {
    hsc_bytes text = {0};
    hsc_shape_print(&replacement->shape, false, &text);
    hsc_bytes_append_text(&text, " in place of ");
    hsc_shape_print(&instr->shape, false, &text);
    hsc_status *status =
        HSC_ERR(INVALID_ARGUMENT, "%s %%%s: cannot replace %%%s: %s", hsc_op_text(replacement->op),
                replacement->name, instr->name, hsc_bytes_text(&text));
    hsc_bytes_deinit(&text);
    return status;
  }
  if (replacement->parent != instr->parent)
    return HSC_ERR(INVALID_ARGUMENT, "%s %%%s: cannot replace %%%s: it is in another computation",
                   hsc_op_text(replacement->op), replacement->name, instr->name);
  // A replacement may use what it replaces, as in x -> f(x); that use stays.
  int kept = 0;
  for (int i = 0; i < instr->user_count; i++) {
    hsc_instr *user = instr->users[i];
    if (user == replacement) {
      move_use(instr, i, kept++);
      continue;
    }
    int operand = instr->use_operands[i];
    user->operands[operand] = replacement;
    hsc__use_add(replacement, user, operand);
  }
  instr->user_count = kept;
  if (instr->parent->root == instr)
    instr->parent->root = replacement;
  return hsc_arena_status(instr->parent->module->arena);
}

// ---- order --------------------------------------------------------------------------------------

void hsc__list_insert(hsc_computation *computation, hsc_instr *instr, hsc_instr *before) {
  instr->next = before;
  instr->prev = before ? before->prev : computation->last;
  *(instr->prev ? &instr->prev->next : &computation->first) = instr;
  *(before ? &before->prev : &computation->last) = instr;
  computation->instr_count++;
}

static void list_remove(hsc_instr *instr) {
  hsc_computation *computation = instr->parent;
  *(instr->prev ? &instr->prev->next : &computation->first) = instr->next;
  *(instr->next ? &instr->next->prev : &computation->last) = instr->prev;
  instr->prev = instr->next = NULL;
  computation->instr_count--;
}

void hsc_instr_move_before(hsc_instr *instr, hsc_instr *before) {
  if (instr == before || instr->next == before)
    return;
  list_remove(instr);
  hsc__list_insert(instr->parent, instr, before);
}

void hsc_instr_remove(hsc_instr *instr) {
  hsc_computation *computation = instr->parent;
  for (int i = 0; i < instr->operand_count; i++)
    use_remove(instr->operands[i], instr, i);
  hsc__calls_add(instr, -1);
  hsc_instr_drop_control(instr);
  if (instr->op == HSC_OP_PARAMETER && instr->attr.index.value < computation->parameter_count &&
      computation->parameters[instr->attr.index.value] == instr) {
    computation->parameters[instr->attr.index.value] = NULL;
    while (computation->parameter_count > 0 &&
           !computation->parameters[computation->parameter_count - 1])
      computation->parameter_count--;
  }
  if (!computation->module->names_counted)
    hsc__name_release(computation->module->names, instr->name, instr);
  list_remove(instr);
  instr->parent = NULL;
  instr->operand_count = 0;
  instr->use_places = NULL;
}

bool hsc__computation_add_parameter(hsc_computation *computation,
                                    hsc_instr *parameter,
                                    int64_t number) {
  if (number < 0 || number > 1 << 20)
    return false;
  if (number >= computation->parameter_count) {
    // Rooms double, so that parameters that come one by one cost O(1) each.
    int64_t room = 4;
    int64_t have = 0;
    while (room <= number)
      room *= 2;
    for (have = computation->parameter_count ? 4 : 0; have && have < computation->parameter_count;)
      have *= 2;
    if (room > have) {
      hsc_instr **grown = HSC_NEW_ARRAY(computation->module->arena, hsc_instr *, room);
      if (!grown)
        return false;
      if (computation->parameter_count)
        memcpy(grown, computation->parameters,
               (size_t)computation->parameter_count * sizeof *grown);
      computation->parameters = grown;
    }
    computation->parameter_count = (int32_t)number + 1;
  }
  if (computation->parameters[number])
    return false;
  computation->parameters[number] = parameter;
  return true;
}

// ---- control edges ------------------------------------------------------------------------------

void hsc_instr_add_control_predecessor(hsc_instr *instr, hsc_instr *predecessor) {
  for (int i = 0; i < instr->control_count; i++)
    if (instr->control_predecessors[i] == predecessor)
      return;
  hsc_instr **grown =
      HSC_NEW_ARRAY(instr->parent->module->arena, hsc_instr *, instr->control_count + 1);
  if (!grown)
    return;
  if (instr->control_count)
    memcpy(grown, instr->control_predecessors, (size_t)instr->control_count * sizeof *grown);
  grown[instr->control_count++] = predecessor;
  instr->control_predecessors = grown;
  predecessor->control_successor_count++;
}

void hsc_instr_drop_control(hsc_instr *instr) {
  for (int i = 0; i < instr->control_count; i++)
    instr->control_predecessors[i]->control_successor_count--;
  instr->control_count = 0;
}

// ---- questions ----------------------------------------------------------------------------------

enum { MAX_CALL_DEPTH = 1024 };  // the verifier allows fewer

static bool has_effect_itself(const hsc_instr *instr) {
  uint32_t traits = hsc_op_traits(instr->op);
  if (traits & HSC_TRAIT_EFFECT)
    return true;
  if (instr->op == HSC_OP_CUSTOM_CALL && instr->attr.custom.has_side_effect)
    return true;
  return (traits & HSC_TRAIT_COLLECTIVE) && hsc__op_attr_kind(instr->op) == HSC__ATTR_collective &&
         (instr->attr.collective.channel_id != 0 || instr->attr.collective.constrain_layout);
}

// `harmless`: computations without an effect, each of which is looked at once, however many call
// it.
static bool has_effect(const hsc_instr *instr, int depth, hsc__ptr_map *harmless) {
  if (has_effect_itself(instr) || depth > MAX_CALL_DEPTH)
    return true;
  for (int i = 0; i < instr->called_count; i++) {
    hsc_computation *called = instr->called[i];
    if (hsc__ptr_map_get(harmless, called))
      continue;
    for (const hsc_instr *inner = called->first; inner; inner = inner->next)
      if (has_effect(inner, depth + 1, harmless))
        return true;
    hsc__ptr_map_put(harmless, called, called);
  }
  return false;
}

bool hsc_instr_has_effect(const hsc_instr *instr) {
  hsc__ptr_map harmless = {0};
  if (instr->called_count == 0)
    return has_effect_itself(instr);
  bool has = has_effect(instr, 0, &harmless);
  hsc__ptr_map_deinit(&harmless);
  return has;
}

bool hsc_instr_is_dead(const hsc_instr *instr) {
  return instr->user_count == 0 && instr->op != HSC_OP_PARAMETER && instr->parent->root != instr &&
         instr->control_count == 0 && instr->control_successor_count == 0 &&
         !hsc_instr_has_effect(instr);
}

bool hsc_instr_is_scalar_constant(const hsc_instr *instr, double *out_value) {
  while (instr->op == HSC_OP_BROADCAST && instr->operand_count == 1)
    instr = instr->operands[0];
  if (instr->op != HSC_OP_CONSTANT || !instr->attr.literal.value)
    return false;
  const hsc_literal *literal = instr->attr.literal.value;
  if (literal->elided || hsc_type_is_complex(literal->shape.type) ||
      hsc_shape_elements(&literal->shape) != 1)
    return false;
  *out_value = hsc_literal_get_double(literal, 0);
  return true;
}

bool hsc_instr_is_small_window(const hsc_instr *instr) {
  if (instr->op != HSC_OP_REDUCE_WINDOW || instr->operand_count != 2 ||
      !hsc_shape_is_array(&instr->shape) || instr->shape.type != instr->operands[0]->shape.type)
    return false;
  const hsc_window *window = &instr->attr.window.window;
  int64_t positions = 1;
  for (int i = 0; i < window->rank; i++) {
    const hsc_window_dim *d = &window->dims[i];
    bool grows = d->size > 4 && d->size >= instr->operands[0]->shape.dims[i];
    if (d->base_dilation != 1 || d->reversal || grows || d->size > HSC_SMALL_WINDOW)
      return false;
    positions *= d->size;
    if (positions > HSC_SMALL_WINDOW)
      return false;
  }
  return true;
}
