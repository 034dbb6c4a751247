// reduction_degenerate_dim_remover.c - reductions lose their dimensions of size 1, folded or kept:
// a reshape before and one after are free.
//
// Legal always; a reduction of nothing but such dimensions is algsimp's. One walk.
//
//   before   ROOT r = f32[1,8] reduce(f32[1,8,4,1] x, zero), dimensions={2,3}
//   after    s = f32[8,4] reshape(x);  t = f32[8] reduce(s, zero), dimensions={1};  ROOT r =
//            f32[1,8] reshape(t)
//
// XLA: xla/service/gpu/transforms/reduction_degenerate_dim_remover.h
#include "passes/data_movement/reduction_util.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_REDUCE || !hsc__reduce_is_static(instr))
    return false;
  const hsc_shape *shape = &instr->operands[0]->shape;
  bool degenerate = false;
  bool folds = false;
  for (int i = 0; i < shape->rank; i++) {
    degenerate |= shape->dims[i] == 1;
    folds |= shape->dims[i] != 1 && hsc__reduces(instr, i);
  }
  return degenerate && folds;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  const hsc_shape *shape = &instr->operands[0]->shape;
  int64_t dims[HSC_MAX_RANK], reduced[HSC_MAX_RANK];
  int rank = 0;
  int count = 0;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == 1)
      continue;
    if (hsc__reduces(instr, i))
      reduced[count++] = rank;
    dims[rank++] = shape->dims[i];
  }
  return hsc__build_reshaped_like(
      b, hsc__build_reshaped_reduce(b, instr, rank, dims, count, reduced), &instr->shape);
}

hsc_status *hsc__pass_reduction_degenerate_dim_remover(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
