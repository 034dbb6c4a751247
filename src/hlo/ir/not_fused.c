// not_fused.c - see not_fused.h.
#include "hlo/ir/not_fused.h"

#include <string.h>

typedef struct reason_row {
  const char *text, *pass, *doc;
} reason_row;
static const reason_row REASONS[] = {
#define REASON(id, text, pass, doc) {text, pass, doc},
#include "hlo/ir/not_fused.def"
#undef REASON
};

const char *hsc_not_fused_text(hsc_not_fused reason) {
  return REASONS[reason].text;
}
const char *hsc_not_fused_pass(hsc_not_fused reason) {
  return REASONS[reason].pass;
}
const char *hsc_not_fused_doc(hsc_not_fused reason) {
  return REASONS[reason].doc;
}

bool hsc_op_is_kernel(hsc_op op) {
  switch (op) {
    case HSC_OP_PARAMETER:
    case HSC_OP_CONSTANT:
    case HSC_OP_TUPLE:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_BITCAST:
    case HSC_OP_AFTER_ALL:
    case HSC_OP_OPT_BARRIER:
    case HSC_OP_PARTITION_ID:
    case HSC_OP_REPLICA_ID:
    case HSC_OP_WHILE:
    case HSC_OP_CONDITIONAL:
    case HSC_OP_CALL:
    case HSC_OP_ASYNC_START:
      return false;
    default:
      return true;
  }
}

const hsc_instr *hsc_instr_computed(const hsc_instr *value) {
  while (value->op == HSC_OP_GET_TUPLE_ELEMENT || hsc_instr_is_alias(value))
    value = value->operands[0];
  return value;
}

static hsc_not_fused reason_of(const char *text, size_t size) {
  for (int i = 0; i < HSC_NOT_FUSED_COUNT; i++)
    if (strlen(REASONS[i].text) == size && !memcmp(REASONS[i].text, text, size))
      return (hsc_not_fused)i;
  return HSC_FUSED;
}

int hsc_not_fused_read(const hsc_instr *reader, int operand, hsc_not_fused *out, int most) {
  char name[32];
  int count = 0;
  snprintf(name, sizeof name, "%s%d=\"", HSC_NOT_FUSED_ATTRIBUTE, operand);
  const char *at = reader->frontend_attributes ? strstr(reader->frontend_attributes, name) : NULL;
  if (!at)
    return 0;
  at += strlen(name);
  while (*at && *at != '"' && count < most) {
    size_t size = strcspn(at, " \"");
    hsc_not_fused reason = reason_of(at, size);
    if (reason != HSC_FUSED)
      out[count++] = reason;
    at += size + (at[size] == ' ');
  }
  return count;
}
