// conv_canonicalization.c - convolutions in one order of dimensions: batch, space, features;
// kernels space, input, output.
//
// Operands are transposed before and the result after. Legal always. The built-in device reads any
// order, so it runs on request. One walk.
//
//   before   ROOT c = convolution(f32[1,3,4,4] x, f32[8,3,2,2] w), dim_labels=bf01_oi01->bf01
//   after    ROOT c = transpose(convolution(transpose(x), transpose(w)),
//            dim_labels=b01f_01io->b01f)
//
// XLA: xla/service/cpu/conv_canonicalization.h
#include "passes/manager/passes_internal.h"

static bool is_iota(const int64_t *v, int count, int64_t first) {
  for (int i = 0; i < count; i++)
    if (v[i] != first + i)
      return false;
  return true;
}

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_CONVOLUTION)
    return false;
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  int n = d->spatial_rank;
  bool input = d->input_batch == 0 && d->input_feature == n + 1 && is_iota(d->input_spatial, n, 1);
  bool kernel =
      is_iota(d->kernel_spatial, n, 0) && d->kernel_input == n && d->kernel_output == n + 1;
  bool output =
      d->output_batch == 0 && d->output_feature == n + 1 && is_iota(d->output_spatial, n, 1);
  return !input || !kernel || !output;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  int n = d->spatial_rank;
  int64_t input[HSC_MAX_RANK], kernel[HSC_MAX_RANK], output[HSC_MAX_RANK], places[HSC_MAX_RANK],
      of_kernel[HSC_MAX_RANK];
  input[0] = d->input_batch;
  input[n + 1] = d->input_feature;
  kernel[n] = d->kernel_input;
  kernel[n + 1] = d->kernel_output;
  output[d->output_batch] = 0;
  output[d->output_feature] = n + 1;
  for (int i = 0; i < n; i++) {
    input[i + 1] = d->input_spatial[i];
    kernel[i] = d->kernel_spatial[i];
    output[d->output_spatial[i]] = i + 1;
    places[i] = i + 1;
    of_kernel[i] = i;
  }
  hsc_attr attr = instr->attr;
  const int64_t *at = hsc_dims_copy(arena, n, places).v;
  attr.conv.dims = (hsc_conv_dims){.spatial_rank = n,
                                   .input_feature = n + 1,
                                   .kernel_input = n,
                                   .kernel_output = n + 1,
                                   .output_feature = n + 1,
                                   .input_spatial = at,
                                   .kernel_spatial = hsc_dims_copy(arena, n, of_kernel).v,
                                   .output_spatial = at};
  hsc_instr *operands[2] = {
      hsc_build_transpose(b, instr->operands[0], hsc_dims_copy(arena, n + 2, input)),
      hsc_build_transpose(b, instr->operands[1], hsc_dims_copy(arena, n + 2, kernel))};
  hsc_instr *conv =
      hsc_build_op(b, HSC_OP_CONVOLUTION, hsc_shape_with_type((hsc_shape){0}, instr->shape.type),
                   &attr, 2, operands, 0, NULL);
  return hsc_build_transpose(b, conv, hsc_dims_copy(arena, n + 2, output));
}

hsc_status *hsc__pass_conv_canonicalization(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
