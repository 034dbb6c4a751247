// float_normalization_f16.c - arithmetic of f16 in f32: operands are converted, the operation is
// done, the result is converted back.
//
// Elementwise arithmetic and reductions by a plain function; what is exact in f16 stays, and so do
// functions that run element by element. The same numbers for one operation; a reduction rounds
// once instead of at every step. The device's kernels compute so themselves, so it runs on request.
// One walk.
//
//   before   ROOT a = f16[4] add(x, y)
//   after    ROOT a = f16[4] convert(f32[4] add(convert(x), convert(y)))
//
// XLA: xla/service/float_normalization.h
#include "passes/expanders/float_normalization.h"

hsc_status *hsc__pass_float_normalization_f16(hsc_module *module, hsc_pass_context *cx) {
  return hsc__normalize_floats(module, cx, HSC_TYPE_F16);
}
