// dynamic_index_splitter.c - start indices that come as one vector become scalars, one a dimension.
//
// Old programs give dynamic-slice and dynamic-update-slice their start indices as one vector;
// everything after this pass reads scalars. Legal always. One walk, linear.
//
//   before   ROOT d = f32[1,8] dynamic-slice(f32[4,8] x, s32[2] at), dynamic_slice_sizes={1,8}
//   after    i = s32[] reshape(slice(at, [0:1]));  j = s32[] reshape(slice(at, [1:2]));  ROOT d =
//            f32[1,8] dynamic-slice(x, i, j), ...
//
// XLA: xla/hlo/transforms/simplifiers/dynamic_index_splitter.h
#include "passes/manager/passes_internal.h"

// The operand that holds the indices; -1 for an instruction without any.
static int first_index(const hsc_instr *instr) {
  if (instr->op == HSC_OP_DYNAMIC_SLICE)
    return 1;
  if (instr->op == HSC_OP_DYNAMIC_UPDATE_SLICE)
    return 2;
  return -1;
}

static bool matches(const hsc_instr *instr) {
  int first = first_index(instr);
  return first > 0 && instr->operand_count == first + 1 && instr->operands[first]->shape.rank == 1;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  int first = first_index(instr);
  int rank = instr->shape.rank;
  hsc_instr *vector = instr->operands[first];
  hsc_instr *at[HSC_MAX_RANK];
  for (int i = 0; i < rank; i++)
    at[i] = hsc_build_reshape(
        b,
        hsc_build_slice(b, vector, HSC_DIMS(arena, i), HSC_DIMS(arena, i + 1), HSC_DIMS(arena, 1)),
        0, NULL);
  if (instr->op == HSC_OP_DYNAMIC_SLICE)
    return hsc_build_dynamic_slice(b, instr->operands[0], rank, at, instr->attr.slice_sizes.sizes);
  return hsc_build_dynamic_update_slice(b, instr->operands[0], instr->operands[1], rank, at);
}

hsc_status *hsc__pass_dynamic_index_splitter(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
