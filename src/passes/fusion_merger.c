// fusion_merger.c - a loop fusion that only other fusions read moves into all of them, when that moves fewer bytes.
//
// Each reader then reads what the fusion read and computes its value again, and the value never reaches memory. Not for values that cost more than
// arithmetic to make twice, nor where a reader wants elements several times. Linear in fusions times their readers' operands.
//
//   before   s = f32[64,512] fusion(x), kind=kLoop, calls={ x * 2 - 1 };  a = fusion(s, y), kind=kLoop;  b = fusion(s, z), kind=kLoop
//   after    a = fusion(x, y), kind=kLoop;  b = fusion(x, z), kind=kLoop
//
// XLA: xla/service/gpu/transforms/fusion_merger.h
#include "passes/fusion_util.h"

enum { MOST_READERS = 6 };

static bool is_kernel(const hsc_instr *instr) {
  return instr->op == HSC_OP_FUSION && (instr->attr.fusion.kind == HSC_FUSION_LOOP || instr->attr.fusion.kind == HSC_FUSION_INPUT);
}

static bool has_costly_op(const hsc_computation *body) {
  HSC_FOR_EACH_INSTR_IN(body, instr)
    if (hsc__is_costly_op(instr->op) || instr->op == HSC_OP_SQRT || instr->op == HSC_OP_RSQRT || instr->op == HSC_OP_REDUCE) return true;
  return false;
}

// Bytes of the fusion's operands that the reader does not read yet.
static int64_t new_bytes(const hsc_instr *fusion, const hsc_instr *reader) {
  int64_t bytes = 0;
  for (int i = 0; i < fusion->operand_count; i++) {
    bool known = false;
    for (int j = 0; j < reader->operand_count && !known; j++) known = reader->operands[j] == fusion->operands[i];
    if (!known) bytes += hsc_shape_bytes(&fusion->operands[i]->shape);
  }
  return bytes;
}

static bool should_merge(const hsc_instr *fusion) {
  if (!is_kernel(fusion) || fusion->attr.fusion.kind != HSC_FUSION_LOOP || !hsc_shape_is_array(&fusion->shape) || fusion->parent->root == fusion) return false;
  if (fusion->user_count == 0 || fusion->user_count > MOST_READERS || fusion->control_count || fusion->control_successor_count) return false;
  int64_t own = hsc_shape_bytes(&fusion->shape), before = own, after = 0;
  for (int i = 0; i < fusion->operand_count; i++) before += hsc_shape_bytes(&fusion->operands[i]->shape);
  for (int u = 0; u < fusion->user_count; u++) {
    const hsc_instr *reader = fusion->users[u];
    if (!is_kernel(reader) || hsc__fusion_reuses(reader, fusion)) return false;
    if (reader->called[0]->instr_count + fusion->called[0]->instr_count > HSC_FUSED_MAX_INSTRS) return false;
    if (reader->operand_count + fusion->operand_count > HSC_FUSED_MAX_OPERANDS) return false;
    before += own;
    after += new_bytes(fusion, reader);
  }
  return after < before && (fusion->user_count == 1 || !has_costly_op(fusion->called[0]));
}

hsc_status *hsc__pass_fusion_merger(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  int count = module->computation_count;
  for (int i = 0; i < count; i++) {
    hsc_computation *computation = module->computations[i];
    if (hsc__computation_is_embedded(computation)) continue;
    for (hsc_instr *instr = computation->last, *prev; instr; instr = prev) {
      prev = instr->prev;
      if (!should_merge(instr)) continue;
      if (!hsc__pass_spend(cx)) return NULL;
      while (instr->user_count > 0) HSC_TRY(hsc__fuse_into(instr->users[0], instr));
      hsc_instr_remove(instr);
    }
  }
  return NULL;
}
