// infer_window.c - windows and convolutions.
#include "hlo/infer/infer_internal.h"

// (size - 1) * dilation + 1, or 0 for size 0. False on overflow.
static bool dilate(int64_t size, int64_t dilation, int64_t *out) {
  int64_t spread;
  if (size == 0) {
    *out = 0;
    return true;
  }
  return !__builtin_mul_overflow(size - 1, dilation, &spread) &&
         !__builtin_add_overflow(spread, 1, out);
}

hsc_status *hsc__window_output(const hsc_instr *instr,
                               hsc_window window,
                               const int64_t *dims,
                               int64_t *out_dims) {
  for (int i = 0; i < window.rank; i++) {
    const hsc_window_dim *w = &window.dims[i];
    if (w->size < 1)
      return hsc__infer_error(instr, "window dimension %d has size %lld", i, (long long)w->size);
    if (w->stride < 1)
      return hsc__infer_error(instr, "window dimension %d has stride %lld", i,
                              (long long)w->stride);
    if (w->base_dilation < 1)
      return hsc__infer_error(instr, "window dimension %d has base dilation %lld", i,
                              (long long)w->base_dilation);
    if (w->window_dilation < 1)
      return hsc__infer_error(instr, "window dimension %d has window dilation %lld", i,
                              (long long)w->window_dilation);
    int64_t base, padded, span;
    if (!dilate(dims[i], w->base_dilation, &base) || !dilate(w->size, w->window_dilation, &span) ||
        __builtin_add_overflow(base, w->pad_low, &padded) ||
        __builtin_add_overflow(padded, w->pad_high, &padded))
      return hsc__infer_error(instr, "window dimension %d is too large", i);
    if (padded < 0)
      return hsc__infer_error(instr,
                              "window dimension %d has negative padding larger than the operand's "
                              "dimension of size %lld",
                              i, (long long)dims[i]);
    out_dims[i] = padded == 0 || span > padded ? 0 : (padded - span) / w->stride + 1;
  }
  return NULL;
}

// Which dimension is what, each named once: batch, feature, spatial ones.
static hsc_status *want_partition(hsc_arena *arena,
                                  const hsc_instr *instr,
                                  const char *what,
                                  int64_t a,
                                  int64_t b,
                                  const int64_t *spatial,
                                  int spatial_rank) {
  int64_t all[HSC_MAX_RANK + 2];
  all[0] = a;
  all[1] = b;
  if (spatial_rank > 0)
    memcpy(all + 2, spatial, (size_t)spatial_rank * sizeof *spatial);
  return hsc__want_distinct_dims(arena, instr, what, (hsc_dims){spatial_rank + 2, all},
                                 spatial_rank + 2);
}

static hsc_type preferred_or(const hsc_instr *instr, hsc_type type) {
  return hsc_shape_is_array(&instr->shape) ? instr->shape.type : type;
}

RULE(convolution) {
  HSC_TRY(hsc__want_array(instr, 0));
  HSC_TRY(hsc__want_array(instr, 1));
  const hsc_shape *lhs = hsc__operand_shape(instr, 0);
  const hsc_shape *rhs = hsc__operand_shape(instr, 1);
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  int64_t feature_groups = instr->attr.conv.feature_groups;
  int64_t batch_groups = instr->attr.conv.batch_groups;
  int spatial = d->spatial_rank;
  if (spatial < 0 || spatial > HSC_MAX_RANK - 2 || lhs->rank != spatial + 2 ||
      rhs->rank != spatial + 2)
    return hsc__infer_error(instr, "%d spatial dimensions need operands of %d: they are %s and %s",
                            spatial, spatial + 2, hsc__shape_text(arena, lhs),
                            hsc__shape_text(arena, rhs));
  if (instr->attr.conv.window.rank != spatial)
    return hsc__infer_error(instr, "the window has %d dimensions for %d spatial ones",
                            instr->attr.conv.window.rank, spatial);
  HSC_TRY(want_partition(arena, instr, "input dimensions", d->input_batch, d->input_feature,
                         d->input_spatial, spatial));
  HSC_TRY(want_partition(arena, instr, "kernel dimensions", d->kernel_input, d->kernel_output,
                         d->kernel_spatial, spatial));
  HSC_TRY(want_partition(arena, instr, "output dimensions", d->output_batch, d->output_feature,
                         d->output_spatial, spatial));
  if (feature_groups < 1 || batch_groups < 1 || (feature_groups > 1 && batch_groups > 1))
    return hsc__infer_error(instr,
                            "feature_group_count = %lld and batch_group_count = %lld: both must be "
                            "at least 1, and one of them 1",
                            (long long)feature_groups, (long long)batch_groups);
  int64_t input_features = lhs->dims[d->input_feature];
  int64_t input_batch = lhs->dims[d->input_batch];
  int64_t kernel_inputs = rhs->dims[d->kernel_input];
  int64_t kernel_outputs = rhs->dims[d->kernel_output];
  if (input_features % feature_groups != 0 || input_features / feature_groups != kernel_inputs)
    return hsc__infer_error(instr,
                            "the input's features must be the kernel's times the groups: lhs[%lld] "
                            "= %lld, rhs[%lld] = %lld, feature_group_count = %lld",
                            (long long)d->input_feature, (long long)input_features,
                            (long long)d->kernel_input, (long long)kernel_inputs,
                            (long long)feature_groups);
  if (kernel_outputs % feature_groups != 0 || kernel_outputs % batch_groups != 0 ||
      input_batch % batch_groups != 0)
    return hsc__infer_error(instr,
                            "groups must divide evenly: rhs[%lld] = %lld output features, "
                            "lhs[%lld] = %lld batches, feature_group_count = "
                            "%lld, batch_group_count = %lld",
                            (long long)d->kernel_output, (long long)kernel_outputs,
                            (long long)d->input_batch, (long long)input_batch,
                            (long long)feature_groups, (long long)batch_groups);
  int64_t in[HSC_MAX_RANK], out[HSC_MAX_RANK];
  for (int i = 0; i < spatial; i++) {
    in[i] = lhs->dims[d->input_spatial[i]];
    if (instr->attr.conv.window.dims[i].size != rhs->dims[d->kernel_spatial[i]])
      return hsc__infer_error(
          instr, "window dimension %d has size %lld, the kernel's rhs[%lld] = %lld", i,
          (long long)instr->attr.conv.window.dims[i].size, (long long)d->kernel_spatial[i],
          (long long)rhs->dims[d->kernel_spatial[i]]);
  }
  HSC_TRY(hsc__window_output(instr, instr->attr.conv.window, in, out));
  int64_t *dims = hsc__new_dims(arena, lhs->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  dims[d->output_batch] = input_batch / batch_groups;
  dims[d->output_feature] = kernel_outputs;
  for (int i = 0; i < spatial; i++)
    dims[d->output_spatial[i]] = out[i];
  *out_shape = hsc__shape_of_dims(preferred_or(instr, hsc_type_of_product(lhs->type, rhs->type)),
                                  lhs->rank, dims);
  return NULL;
}
