// horizontal_loop_fusion.c - independent small loops over equal dimensions become one kernel of
// several results.
//
// They need not read anything in common: what is saved is the start of a kernel. Only loops that
// touch at most a few kilobytes, and neither of which needs the other. Linear in instructions times
// a few kernels before each.
//
//   before   a = f32[64] fusion(x), kind=kLoop, calls={ exponential };  b = f32[64] fusion(y),
//            kind=kLoop, calls={ tanh }
//   after    f = (f32[64], f32[64]) fusion(x, y), kind=kLoop, calls={ tuple(exponential(p0),
//            tanh(p1)) };  a, b = get-tuple-element(f)
//
// XLA: xla/service/gpu/transforms/horizontal_loop_fusion.h (which joins loops of any dimensions, by
// concatenation)
#include "passes/fusion/fusion_util.h"

hsc_status *hsc__pass_horizontal_loop_fusion(hsc_module *module, hsc_pass_context *cx) {
  return hsc__fuse_horizontally(module, cx, HSC_FUSION_LOOP);
}
