// tree_reduction_rewriter.c - a long reduction becomes one over windows of 32 and one over what
// they give: sums of many numbers round less.
//
// Legal when the function is one whose initial value changes nothing (add 0, multiply 1, and, or,
// minimum and maximum of the extreme value), since each window starts from it. The device's own
// kernel adds in lanes and blocks already, and faster, so it runs on request. Once for each
// reduction.
//
//   before   ROOT r = f32[] reduce(f32[1000] x, zero), dimensions={0}
//   after    w = f32[32] reduce-window(x, zero), window={size=32 stride=32 pad=0_24};  ROOT r =
//            f32[] reduce(w, zero), dimensions={0}
//
// XLA: xla/hlo/transforms/simplifiers/tree_reduction_rewriter.h (xla/service before 2024)
#include <math.h>

#include "passes/data_movement/reduction_util.h"

enum { WINDOW = 32 };

static bool is_neutral(hsc_op op, const hsc_instr *init) {
  bool real = hsc_type_is_float(init->shape.type);
  switch (op) {
    case HSC_OP_ADD:
    case HSC_OP_OR:
      return hsc__is_all(init, 0);
    case HSC_OP_MULTIPLY:
      return hsc__is_all(init, 1);
    case HSC_OP_MAXIMUM:
      return real && hsc__is_all(init, -INFINITY);
    case HSC_OP_MINIMUM:
      return real && hsc__is_all(init, INFINITY);
    default:
      return false;
  }
}

static bool matches(const hsc_instr *instr) {
  hsc_op op;
  if (instr->op != HSC_OP_REDUCE || instr->operand_count != 2 || !hsc__reduce_is_static(instr) ||
      !hsc_is_simple_reducer(instr->called[0], &op))
    return false;
  if (!is_neutral(op, instr->operands[1]))
    return false;
  bool is_long = false;
  const hsc_shape *shape = &instr->operands[0]->shape;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == 0)
      return false;
    is_long |= hsc__reduces(instr, i) && shape->dims[i] > WINDOW;
  }
  return is_long;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  const hsc_shape *shape = &instr->operands[0]->shape;
  hsc_window_dim *dims = HSC_NEW_ARRAY(b->module->arena, hsc_window_dim, shape->rank + 1);
  if (!dims)
    return instr;
  for (int i = 0; i < shape->rank; i++) {
    int64_t size = shape->dims[i];
    int64_t window = hsc__reduces(instr, i) && size > WINDOW ? WINDOW : 1;
    dims[i] = (hsc_window_dim){.size = window,
                               .stride = window,
                               .pad_high = (window - size % window) % window,
                               .window_dilation = 1,
                               .base_dilation = 1};
  }
  hsc_attr attr = {.window = {.window = {shape->rank, dims}}};
  hsc_instr *windows = hsc_build_op(b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                                    instr->operands, 1, instr->called);
  return hsc_build_reduce(b, windows, instr->operands[1], instr->attr.dims.dims, instr->called[0]);
}

hsc_status *hsc__pass_tree_reduction_rewriter(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
