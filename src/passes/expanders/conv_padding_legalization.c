// conv_padding_legalization.c - padding that a convolution library does not take becomes an
// explicit pad: cuts, unequal ends, spread input.
//
// Legal always. The built-in device takes any window, so it runs on request (algsimp folds such
// pads back). One walk.
//
//   before   ROOT c = convolution(f32[1,5,5,2] x, w), window={size=2x2 pad=0_1x0_1}
//   after    p = f32[1,6,6,2] pad(x, 0), padding=0_0x0_1x0_1x0_0;  ROOT c = convolution(p, w),
//            window={size=2x2}
//
// XLA: xla/service/gpu/transforms/conv_padding_legalization.h
#include "passes/manager/passes_internal.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_CONVOLUTION || instr->operands[0]->shape.dynamic)
    return false;
  hsc_window window = instr->attr.conv.window;
  for (int i = 0; i < window.rank; i++) {
    hsc_window_dim w = window.dims[i];
    if (w.pad_low < 0 || w.pad_high < 0 || w.pad_low != w.pad_high || w.base_dilation != 1)
      return true;
  }
  return false;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  const hsc_conv_dims *dims = &instr->attr.conv.dims;
  hsc_instr *x = instr->operands[0];
  hsc_pad_dim *pads = HSC_NEW_ARRAY(arena, hsc_pad_dim, x->shape.rank + 1);
  hsc_window_dim *window = HSC_NEW_ARRAY(arena, hsc_window_dim, dims->spatial_rank + 1);
  if (!pads || !window)
    return instr;
  for (int i = 0; i < dims->spatial_rank; i++) {
    window[i] = instr->attr.conv.window.dims[i];
    pads[dims->input_spatial[i]] =
        (hsc_pad_dim){window[i].pad_low, window[i].pad_high, window[i].base_dilation - 1};
    window[i].pad_low = window[i].pad_high = 0;
    window[i].base_dilation = 1;
  }
  hsc_attr pad = {.pad = {.rank = x->shape.rank, .dims = pads}};
  hsc_attr attr = instr->attr;
  attr.conv.window.dims = window;
  hsc_instr *padded =
      hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &pad, 2,
                   (hsc_instr *[]){x, hsc_build_scalar(b, x->shape.type, 0)}, 0, NULL);
  return hsc_build_op(b, HSC_OP_CONVOLUTION, hsc_shape_with_type((hsc_shape){0}, instr->shape.type),
                      &attr, 2, (hsc_instr *[]){padded, instr->operands[1]}, 0, NULL);
}

hsc_status *hsc__pass_conv_padding_legalization(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
