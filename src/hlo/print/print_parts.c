// print_parts.c - what instructions and their attributes are both printed with.
#include "hlo/print/print_internal.h"

void hsc__put_dims(hsc_bytes *out, hsc_dims dims) {
  hsc_bytes_append_char(out, '{');
  for (int i = 0; i < dims.count; i++) {
    if (i > 0)
      hsc_bytes_append_char(out, ',');
    hsc__put_int(out, dims.v[i]);
  }
  hsc_bytes_append_char(out, '}');
}

void hsc__put_name(hsc_bytes *out, const char *name, const hsc_print_options *options) {
  if (!options->no_percent)
    hsc_bytes_append_char(out, '%');
  hsc_bytes_append_text(out, name);
}

const hsc_instr *hsc__async_wrapped(const hsc_instr *instr) {
  while ((instr->op == HSC_OP_ASYNC_DONE || instr->op == HSC_OP_ASYNC_UPDATE) &&
         instr->operand_count == 1)
    instr = instr->operands[0];
  if (instr->op != HSC_OP_ASYNC_START || instr->called_count != 1)
    return NULL;
  const hsc_computation *wrapper = instr->called[0];
  const hsc_instr *root = wrapper->root;
  if (!root || wrapper->instr_count != wrapper->parameter_count + 1 ||
      root->operand_count != wrapper->parameter_count)
    return NULL;
  for (int i = 0; i < root->operand_count; i++)
    if (root->operands[i] != wrapper->parameters[i])
      return NULL;
  return root;
}
