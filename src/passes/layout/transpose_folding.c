// transpose_folding.c - a dot reads its operands in any order of dimensions, so a transpose in
// front of it folds into its dimension numbers.
//
// Legal when the free dimensions of the operand keep their order (they name the result's
// dimensions). One walk.
//
//   before   t = f32[64,32] transpose(w), dimensions={1,0};  ROOT d = dot(x, t),
//            lhs_contracting_dims={1}, rhs_contracting_dims={0}
//   after    ROOT d = dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
//
// XLA: xla/service/transpose_folding.h
#include "passes/manager/passes_internal.h"

static bool free_order_kept(const hsc_instr *transpose, hsc_dims batch, hsc_dims contracting) {
  int64_t last = -1;
  for (int i = 0; i < transpose->shape.rank; i++) {
    if (hsc_dims_contain(batch, i) || hsc_dims_contain(contracting, i))
      continue;
    int64_t source = transpose->attr.dims.dims.v[i];
    if (source < last)
      return false;
    last = source;
  }
  return true;
}

static hsc_dims mapped(hsc_arena *arena, hsc_dims dims, const hsc_instr *transpose) {
  int64_t values[HSC_MAX_RANK];
  for (int i = 0; i < dims.count; i++)
    values[i] = transpose->attr.dims.dims.v[dims.v[i]];
  return hsc_dims_copy(arena, dims.count, values);
}

hsc_status *hsc__pass_transpose_folding(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->op != HSC_OP_DOT)
        continue;
      for (int side = 0; side < 2; side++) {
        hsc_instr *transpose = instr->operands[side];
        hsc_dot_dims *dims = &instr->attr.dot;
        hsc_dims *batch = side ? &dims->rhs_batch : &dims->lhs_batch;
        hsc_dims *contracting = side ? &dims->rhs_contracting : &dims->lhs_contracting;
        if (transpose->op != HSC_OP_TRANSPOSE || !free_order_kept(transpose, *batch, *contracting))
          continue;
        if (!hsc__pass_spend(cx))
          return NULL;
        *batch = mapped(module->arena, *batch, transpose);
        *contracting = mapped(module->arena, *contracting, transpose);
        hsc_instr_set_operand(instr, side, transpose->operands[0]);
        if (hsc_instr_is_dead(transpose))
          hsc_instr_remove(transpose);
      }
    }
  }
  return NULL;
}
