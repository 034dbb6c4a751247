// reduction_dimension_grouper.c - neighbouring dimensions that a reduction folds become one, so
// that kernels see a row, a column or a plane.
//
// Legal always; the reshape is free. Sums may round otherwise when the order of adding changes. One
// walk.
//
//   before   ROOT r = f32[8] reduce(f32[8,4,16] x, zero), dimensions={1,2}
//   after    s = f32[8,64] reshape(x);  ROOT r = f32[8] reduce(s, zero), dimensions={1}
//
// XLA: xla/service/gpu/transforms/reduction_dimension_grouper.h
#include "passes/data_movement/reduction_util.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_REDUCE || !hsc__reduce_is_static(instr))
    return false;
  for (int i = 1; i < instr->operands[0]->shape.rank; i++)
    if (hsc__reduces(instr, i - 1) && hsc__reduces(instr, i))
      return true;
  return false;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  const hsc_shape *shape = &instr->operands[0]->shape;
  int64_t dims[HSC_MAX_RANK], reduced[HSC_MAX_RANK];
  int rank = 0;
  int count = 0;
  for (int i = 0; i < shape->rank; i++) {
    bool folds = hsc__reduces(instr, i);
    if (folds && i > 0 && hsc__reduces(instr, i - 1)) {
      dims[rank - 1] *= shape->dims[i];
      continue;
    }
    if (folds)
      reduced[count++] = rank;
    dims[rank++] = shape->dims[i];
  }
  return hsc__build_reshaped_reduce(b, instr, rank, dims, count, reduced);
}

hsc_status *hsc__pass_reduction_dimension_grouper(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
