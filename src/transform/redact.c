// redact.c - takes names, places and numbers out of a program.
#include "transform/redact.h"

static void redact_constant(hsc_instr *instr, uint32_t number) {
  hsc_literal *value = instr->attr.literal.value;
  bool weights = value && !value->elided && hsc_shape_is_array(&value->shape) &&
                 hsc_type_is_float(value->shape.type) && hsc_shape_elements(&value->shape) > 1;
  if (weights)
    hsc_literal_fill(value, 1, number);
}

static hsc_status *redact_instr(hsc_module *module, hsc_instr *instr, uint32_t number) {
  instr->metadata = NULL;
  instr->frontend_attributes = NULL;
  if (instr->op != HSC_OP_CUSTOM_CALL)
    instr->backend_config = NULL;
  instr->name = hsc_arena_printf(module->arena, "%s_%u", hsc_op_text(instr->op), number);
  return hsc_arena_status(module->arena);
}

hsc_status *hsc_module_redact(hsc_module *module, bool constants) {
  uint32_t number = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    bool entry = computation == module->entry;
    computation->name =
        entry ? "main" : hsc_arena_printf(module->arena, "computation_%d", computation_i);
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      number++;
      HSC_TRY(redact_instr(module, instr, number));
      if (constants && instr->op == HSC_OP_CONSTANT)
        redact_constant(instr, number);
    }
  }
  module->name = "redacted";
  module->source_path = NULL;
  module->stack_index = NULL;
  module->extra_attributes = NULL;
  return hsc_arena_status(module->arena);
}
