// links.c - what every reader does once operands and called computations are known: users,
// parameters, order of computations, and the one form of attributes (one_form.c).
#include "base/text/text.h"
#include "formats/common/formats_internal.h"

// ---- within a computation -----------------------------------------------------------------------

void hsc__computation_append(hsc_computation *computation, hsc_instr *instr) {
  instr->parent = computation;
  instr->next = NULL;
  instr->prev = computation->last;
  if (computation->last)
    computation->last->next = instr;
  else
    computation->first = instr;
  computation->last = instr;
  computation->instr_count++;
}

hsc_status *hsc__computation_link(hsc_computation *computation) {
  hsc_arena *arena = computation->module->arena;
  HSC_TRY(hsc_arena_status(arena));  // after this no instruction is a dummy
  size_t uses = 0;
  int64_t parameters = 0;
  for (hsc_instr *it = computation->first; it; it = it->next) {
    uses += (size_t)it->operand_count;
    parameters += it->op == HSC_OP_PARAMETER;
    for (int i = 0; i < it->operand_count; i++)
      it->operands[i]->user_capacity++;
  }
  hsc_instr **users = HSC_NEW_ARRAY(arena, hsc_instr *, uses);
  int32_t *use_operands = HSC_NEW_ARRAY(arena, int32_t, uses);
  int32_t *use_places = HSC_NEW_ARRAY(arena, int32_t, uses);
  computation->parameter_count = (int32_t)parameters;
  int64_t room = 4;  // as hsc__computation_add_parameter counts on
  while (room < parameters)
    room *= 2;
  computation->parameters = HSC_NEW_ARRAY(arena, hsc_instr *, room);
  if ((uses && (!users || !use_operands || !use_places)) ||
      (parameters && !computation->parameters))
    return hsc_status_out_of_memory();
  for (hsc_instr *it = computation->first; it; it = it->next) {
    it->users = users;
    it->use_operands = use_operands;
    it->use_places = use_places;
    users += it->user_capacity;
    use_operands += it->user_capacity;
    use_places += it->operand_count;
  }
  for (hsc_instr *it = computation->first; it; it = it->next) {
    for (int i = 0; i < it->operand_count; i++) {
      hsc_instr *operand = it->operands[i];
      it->use_places[i] = operand->user_count;
      operand->use_operands[operand->user_count] = i;
      operand->users[operand->user_count++] = it;
    }
    hsc__instr_normalize(arena, it);
    if (it->op != HSC_OP_PARAMETER)
      continue;
    int64_t number = it->attr.index.value;
    if (number < 0 || number >= parameters)
      return HSC_ERR(
          INVALID_ARGUMENT,
          "'%s' has %lld parameter%s, so numbers go from 0 to %lld; '%s' is parameter %lld",
          computation->name, (long long)parameters, hsc_plural((double)parameters, "", "s"),
          (long long)parameters - 1, it->name, (long long)number);
    if (computation->parameters[number])
      return HSC_ERR(INVALID_ARGUMENT, "'%s' has parameter %lld twice: '%s' and '%s'",
                     computation->name, (long long)number, computation->parameters[number]->name,
                     it->name);
    computation->parameters[number] = it;
  }
  return hsc_arena_status(arena);
}

// ---- computations of a module -------------------------------------------------------------------

typedef struct level {
  hsc_computation *computation;
  hsc_instr *instr;  // the one whose called computations are looked at
  int called;        // the next of them
} level;

hsc_status *hsc__module_order(hsc_module *module) {
  enum { NEW, OPEN, DONE };
  size_t count = (size_t)module->computation_count;
  size_t done = 0;
  level *stack = hsc_alloc((count + 1) * sizeof *stack);
  hsc_computation **order = hsc_alloc((count + 1) * sizeof(hsc_computation *));
  hsc_status *status = stack && order ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++)
    module->computations[i]->index = NEW;
  for (size_t i = 0; !status && i < count; i++) {
    if (module->computations[i]->index != NEW)
      continue;
    size_t depth = 0;
    stack[0] = (level){module->computations[i], module->computations[i]->first, 0};
    stack[0].computation->index = OPEN;
    for (;;) {
      level *top = &stack[depth];
      while (top->instr && top->called >= top->instr->called_count) {
        top->instr = top->instr->next;
        top->called = 0;
      }
      if (!top->instr) {
        top->computation->index = DONE;
        order[done++] = top->computation;
        if (depth-- == 0)
          break;
        continue;
      }
      hsc_computation *to = top->instr->called[top->called++];
      if (!to || to->index == DONE)
        continue;
      if (to->index == OPEN) {
        status =
            HSC_ERR(INVALID_ARGUMENT, "the computation '%s' calls itself, by way of '%s' in '%s'",
                    to->name, top->instr->name, top->computation->name);
        break;
      }
      to->index = OPEN;
      stack[++depth] = (level){to, to->first, 0};
    }
  }
  if (!status)
    memcpy(module->computations, order, count * sizeof(hsc_computation *));
  hsc_free(stack);
  hsc_free(order);
  return status;
}
