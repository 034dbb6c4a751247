// fusion_merger.c - a loop fusion that only other kernels read moves into all of them, when that
// takes less time.
//
// Each reader then reads what the fusion read and computes its value again, and the value never
// reaches memory. Less time: bytes moved, kernels started and costly operations computed are
// weighed. Readers are fusions, reductions and elementwise operations, which become fusions by it.
// Not where a reader wants elements several times, unless the fusion only moves data; nor where the
// kernel's code would grow by factors. Linear in fusions times their readers' operands.
//
//   before   s = f32[64,512] fusion(x), kind=kLoop, calls={ x * 2 - 1 };  a = fusion(s, y),
//            kind=kLoop;  b = fusion(s, z), kind=kLoop
//   after    a = fusion(x, y), kind=kLoop;  b = fusion(x, z), kind=kLoop
//
// XLA: xla/service/gpu/fusion_merger.h, until 2023
#include "passes/fusion/fusion_util.h"

enum { MOST_READERS = 6 };
// Of one core: 10 GB/s from memory, a kernel's start, a division or root or function in a vector of
// eight.
static const double BYTE_NS = 0.1;
static const double START_NS = 500;
static const double COSTLY_NS = 0.8;

static bool is_kernel(const hsc_instr *instr) {
  return instr->op == HSC_OP_FUSION && (instr->attr.fusion.kind == HSC_FUSION_LOOP ||
                                        instr->attr.fusion.kind == HSC_FUSION_INPUT);
}

// What becomes a fusion when another one moves into it; the fusion may be the reduction's array
// only.
static bool can_become_kernel(const hsc_instr *reader, const hsc_instr *fusion) {
  if (reader->control_count || reader->control_successor_count || reader->called_count > 1)
    return false;
  if (reader->op == HSC_OP_REDUCE)
    return reader->operand_count == 2 && reader->operands[0] == fusion &&
           reader->operands[1] != fusion;
  return (hsc_op_traits(reader->op) & HSC_TRAIT_ELEMENTWISE) && reader->called_count == 0 &&
         reader->op != HSC_OP_STOCHASTIC_CONVERT && hsc_shape_is_array(&reader->shape);
}

static bool only_moves_data(const hsc_computation *body) {
  HSC_FOR_EACH_INSTR_IN (body, instr)
    if (instr->op != HSC_OP_PARAMETER && instr->op != HSC_OP_SLICE && instr->op != HSC_OP_RESHAPE &&
        instr->op != HSC_OP_BITCAST && instr->op != HSC_OP_TRANSPOSE)
      return false;
  return true;
}

static bool updates_in_place(const hsc_computation *body) {
  return body->root->op == HSC_OP_DYNAMIC_UPDATE_SLICE;
}

static double costly_work(const hsc_computation *body) {
  double elements = 0;
  HSC_FOR_EACH_INSTR_IN (body, instr) {
    if (hsc__is_costly_op(instr->op) || instr->op == HSC_OP_SQRT || instr->op == HSC_OP_RSQRT)
      elements += (double)hsc_shape_elements(&instr->shape);
    if (instr->op == HSC_OP_REDUCE)
      elements += (double)hsc_shape_elements(&instr->operands[0]->shape);
  }
  return elements;
}

// Bytes of the fusion's operands that the reader does not read yet.
static double new_bytes(const hsc_instr *fusion, const hsc_instr *reader) {
  double bytes = 0;
  for (int i = 0; i < fusion->operand_count; i++) {
    bool known = false;
    for (int j = 0; j < reader->operand_count && !known; j++)
      known = reader->operands[j] == fusion->operands[i];
    if (!known)
      bytes += (double)hsc_shape_bytes(&fusion->operands[i]->shape);
  }
  return bytes;
}

static bool code_stays_small(const hsc_instr *fusion, const hsc_instr *reader) {
  int64_t times = 1;
  if (!is_kernel(reader))
    return true;
  for (int i = 0; i < reader->operand_count; i++) {
    if (reader->operands[i] != fusion)
      continue;
    int64_t all = hsc__fused_computed(reader->called[0], reader->called[0]->parameters[i], &times);
    if (times > 1 &&
        all + times * hsc__fused_computed(fusion->called[0], NULL, NULL) > HSC_FUSED_MAX_COMPUTED)
      return false;
  }
  return reader->called[0]->instr_count + fusion->called[0]->instr_count <= HSC_FUSED_MAX_INSTRS;
}

// What speaks against one of the readers; HSC_FUSED = nothing.
static hsc_not_fused refusal_by(const hsc_instr *reader, const hsc_instr *fusion) {
  if (!is_kernel(reader) && !can_become_kernel(reader, fusion))
    return HSC_NOT_FUSED_MERGE_READER_KIND;
  if (hsc__fusion_reuses(reader, fusion) && !only_moves_data(fusion->called[0]))
    return HSC_NOT_FUSED_MERGE_REREADS;
  bool fits = code_stays_small(fusion, reader) &&
              reader->operand_count + fusion->operand_count <= HSC_FUSED_MAX_OPERANDS;
  return fits ? HSC_FUSED : HSC_NOT_FUSED_MERGE_CODE;
}

// What speaks against copying the fusion, a loop, into all of its readers.
static hsc_not_fused refusal(const hsc_instr *fusion) {
  if (fusion->parent->root == fusion)
    return HSC_NOT_FUSED_MERGE_READER_KIND;
  if (fusion->user_count == 0 || fusion->user_count > MOST_READERS)
    return HSC_NOT_FUSED_MERGE_MANY;
  if (fusion->control_count || fusion->control_successor_count)
    return HSC_NOT_FUSED_EFFECT;
  // as a kernel of its own it writes its part only
  if (updates_in_place(fusion->called[0]))
    return HSC_NOT_FUSED_MERGE_IN_PLACE;
  double own = (double)hsc_shape_bytes(&fusion->shape);
  double bytes_before = own;
  double bytes_after = 0;
  for (int i = 0; i < fusion->operand_count; i++)
    bytes_before += (double)hsc_shape_bytes(&fusion->operands[i]->shape);
  for (int u = 0; u < fusion->user_count; u++) {
    hsc_not_fused reason = refusal_by(fusion->users[u], fusion);
    if (reason != HSC_FUSED)
      return reason;
    bytes_before += own;
    bytes_after += new_bytes(fusion, fusion->users[u]);
  }
  double again = (fusion->user_count - 1) * costly_work(fusion->called[0]);
  bool pays = bytes_after * BYTE_NS + again * COSTLY_NS < bytes_before * BYTE_NS + START_NS;
  return pays ? HSC_FUSED : HSC_NOT_FUSED_MERGE_COSTS;
}

static bool should_merge(const hsc_instr *fusion) {
  if (!is_kernel(fusion) || fusion->attr.fusion.kind != HSC_FUSION_LOOP ||
      !hsc_shape_is_array(&fusion->shape))
    return false;
  hsc_not_fused reason = refusal(fusion);
  for (int u = 0; u < fusion->user_count && reason != HSC_FUSED; u++)
    hsc__fusion_refused(fusion, fusion->users[u], reason);
  return reason == HSC_FUSED;
}

hsc_status *hsc__pass_fusion_merger(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  int count = module->computation_count;
  for (int i = 0; i < count; i++) {
    hsc_computation *computation = module->computations[i];
    if (hsc__computation_is_embedded(computation))
      continue;
    for (hsc_instr *instr = computation->last, *prev; instr; instr = prev) {
      prev = instr->prev;
      if (!should_merge(instr))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      while (instr->user_count > 0) {
        hsc_instr *reader = instr->users[0];
        if (reader->op != HSC_OP_FUSION) {
          HSC_TRY(hsc__wrap_in_fusion(
              reader, reader->op == HSC_OP_REDUCE ? HSC_FUSION_INPUT : HSC_FUSION_LOOP, &reader));
          reader->called[0]->index = 1;  // embedded: no place for fusions
        }
        HSC_TRY(hsc__fuse_into(reader, instr));
      }
      prev = instr->prev;
      hsc_instr_remove(instr);
    }
  }
  return NULL;
}
