// horizontal_input_fusion.c - independent small reductions over the same dimensions of equal shapes
// become one kernel of several results.
//
// As horizontal_loop_fusion, for kernels around a reduce and for reductions that stand by
// themselves.
//
//   before   a = f32[8] reduce(x, zero), dimensions={1};  b = f32[8] reduce(y, zero),
//            dimensions={1}
//   after    f = (f32[8], f32[8]) fusion(x, zero, y), kind=kInput, calls={ tuple(reduce(p0, p1),
//            reduce(p2, p1)) };  a, b = get-tuple-element(f)
//
// XLA: xla/service/gpu/transforms/horizontal_input_fusion.h
#include "passes/fusion/fusion_util.h"

hsc_status *hsc__pass_horizontal_input_fusion(hsc_module *module, hsc_pass_context *cx) {
  return hsc__fuse_horizontally(module, cx, HSC_FUSION_INPUT);
}
