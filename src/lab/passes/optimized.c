// optimized.c - reads an optimised program and counts it.
#include "base/files/file_io.h"
#include "lab/passes/optimized.h"

#include "formats/common/formats.h"

hsc_status *hsc_optimized_module(const char *path, hsc_module **out_module) {
  hsc_bytes bytes = {0};
  *out_module = NULL;
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status) {
    hsc_view view = hsc_bytes_view(&bytes);
    bool text = view.size >= 9 && (!memcmp(view.data, "HloModule", 9) || view.data[0] == '/');
    status = text ? hsc_hlo_text_parse(view, path, out_module)
                  : hsc_hlo_proto_read(view, path, out_module);
  }
  hsc_bytes_deinit(&bytes);
  return status;
}

// Instructions that only name or regroup values.
static bool is_free(hsc_op op) {
  switch (op) {
    case HSC_OP_PARAMETER:
    case HSC_OP_CONSTANT:
    case HSC_OP_TUPLE:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_BITCAST:
    case HSC_OP_AFTER_ALL:
    case HSC_OP_OPT_BARRIER:
      return true;
    default:
      return false;
  }
}

// What is called is a part of the program, and no function of one instruction.
static bool is_control(hsc_op op) {
  return op == HSC_OP_WHILE || op == HSC_OP_CALL || op == HSC_OP_CONDITIONAL;
}

enum { MOST_DEPTH = 64 };  // a program that nests deeper is none of a compiler's

static int64_t count_kernels(const hsc_computation *computation, int depth) {
  int64_t kernels = 0;
  if (depth > MOST_DEPTH)
    return 0;
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    bool control = is_control(instr->op);
    for (int i = 0; control && i < instr->called_count; i++)
      kernels += count_kernels(instr->called[i], depth + 1);
    kernels += !control && !is_free(instr->op);
  }
  return kernels;
}

static bool has_neighbour(const hsc_instr *instr) {
  for (int i = 0; i < instr->operand_count; i++)
    if (!is_free(instr->operands[i]->op))
      return true;
  for (int i = 0; i < instr->user_count; i++)
    if (!is_free(instr->users[i]->op))
      return true;
  return false;
}

static int64_t count_alone(const hsc_computation *computation, hsc_op op, int depth) {
  int64_t alone = 0;
  if (depth > MOST_DEPTH)
    return 0;
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    for (int i = 0; is_control(instr->op) && i < instr->called_count; i++)
      alone += count_alone(instr->called[i], op, depth + 1);
    alone += instr->op == op && has_neighbour(instr);
  }
  return alone;
}

int64_t hsc_optimized_alone(const hsc_module *module, hsc_op op) {
  return module->entry ? count_alone(module->entry, op, 0) : 0;
}

static void optimized_count(const hsc_module *module, hsc_optimized *out_facts) {
  hsc_optimized facts = {.instructions = hsc_module_instr_count(module)};
  hsc_cost cost = {0};
  hsc_hash128_hex(hsc_module_fingerprint(module), facts.fingerprint);
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      facts.fusions += instr->op == HSC_OP_FUSION;
      facts.custom_calls += instr->op == HSC_OP_CUSTOM_CALL;
    }
  if (module->entry) {
    facts.kernels = count_kernels(module->entry, 0);
    hsc_module_cost(module, &cost);
  }
  facts.flops = cost.flops;
  facts.uncounted = cost.uncounted;
  facts.bytes = cost.bytes_read + cost.bytes_written;
  *out_facts = facts;
}

hsc_status *hsc_optimized_read(const char *path, hsc_optimized *out_facts) {
  hsc_module *module = NULL;
  HSC_TRY(hsc_optimized_module(path, &module));
  optimized_count(module, out_facts);
  hsc_module_destroy(module);
  return NULL;
}

json_t *hsc_optimized_json(const char *path) {
  hsc_optimized facts;
  hsc_bytes bytes = {0};
  char hash[33] = "";
  hsc_status *status = hsc_optimized_read(path, &facts);
  if (!status)
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "fingerprint", facts.fingerprint,
                     "instructions", (json_int_t)facts.instructions, "fusions",
                     (json_int_t)facts.fusions, "kernels", (json_int_t)facts.kernels,
                     "custom_calls", (json_int_t)facts.custom_calls, "flops", facts.flops, "bytes",
                     facts.bytes, "uncounted_calls", facts.uncounted);
  // the bytes themselves tell at least what is equal
  hsc_status *read = hsc_file_read(path, &bytes);
  if (!read)
    hsc_hash128_hex(hsc_hash128_of(bytes.data ? bytes.data : "", bytes.size, 0), hash);
  json_t *out = json_pack("{s:s, s:s}", "bytes_hash", hash, "unread", hsc_status_message(status));
  hsc_status_free(status);
  hsc_status_free(read);
  hsc_bytes_deinit(&bytes);
  return out;
}
