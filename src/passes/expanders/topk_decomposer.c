// topk_decomposer.c - the k largest (or smallest) as a stable sort of values with their positions,
// and a slice of the first k.
//
// Legal always. The device selects without sorting everything, so it runs on request. One walk.
//
//   before   t = (f32[8,2], s32[8,2]) topk(f32[8,64] x), k=2, largest=true
//   after    s = (f32[8,64], s32[8,64]) sort(x, iota), dimensions={1}, is_stable=true,
//            to_apply=greater;  tuple(slice, slice)
//
// XLA: xla/service/topk_rewriter.h (TopkDecomposer)
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  return instr->op == HSC_OP_TOPK && instr->operands[0]->shape.rank > 0 &&
         !hsc_type_is_complex(instr->operands[0]->shape.type);
}

static hsc_computation *order(hsc_builder *b, hsc_type type, bool largest) {
  hsc_builder body;
  hsc_computation *computation = NULL;
  hsc_shape value = hsc_shape_scalar(type);
  hsc_shape position = hsc_shape_scalar(HSC_TYPE_S32);
  hsc_builder_init(&body, b->module, "compare");
  hsc_instr *x = hsc_build_parameter(&body, 0, value, "lhs");
  hsc_instr *y = hsc_build_parameter(&body, 1, value, "rhs");
  hsc_build_parameter(&body, 2, position, "lhs_position");
  hsc_build_parameter(&body, 3, position, "rhs_position");
  hsc_instr *root = hsc_build_compare(&body, largest ? HSC_GT : HSC_LT, x, y);
  if (hsc_type_is_float(type) && !body.status)
    root->attr.compare.type = HSC_COMPARE_TOTALORDER;
  hsc_status *status = hsc_builder_finish(&body, root, &computation);
  if (status && !b->status)
    b->status = status;
  else
    hsc_status_free(status);
  return computation;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  hsc_instr *x = instr->operands[0];
  int rank = x->shape.rank;
  hsc_computation *compare = order(b, x->shape.type, instr->attr.topk.largest);
  hsc_shape positions = hsc_shape_array(arena, HSC_TYPE_S32, rank, x->shape.dims);
  hsc_instr *operands[2] = {x, hsc_build_iota(b, positions, rank - 1)};
  hsc_instr *parts[2];
  if (b->status)
    return instr;
  hsc_attr attr = {.dims = {.dims = HSC_DIMS(arena, rank - 1), .is_stable = true}};
  hsc_instr *sorted = hsc_build_op(b, HSC_OP_SORT, (hsc_shape){0}, &attr, 2, operands, 1, &compare);
  int64_t start[HSC_MAX_RANK] = {0};
  int64_t stride[HSC_MAX_RANK];
  for (int i = 0; i < rank; i++)
    stride[i] = 1;
  for (int i = 0; i < 2; i++)
    parts[i] = hsc_build_slice(b, hsc_build_get_tuple_element(b, sorted, i),
                               hsc_dims_copy(arena, rank, start),
                               hsc_dims_copy(arena, rank, instr->shape.elements[i].dims),
                               hsc_dims_copy(arena, rank, stride));
  return hsc_build_tuple(b, 2, parts);
}

hsc_status *hsc__pass_topk_decomposer(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
