// eval_conv.c - convolution with everything: any dimension order, strides, padding (negative too),
// dilations of input and window, window reversal, feature groups and batch groups.
//
// The input is packed to [batch, spatial..., feature], the kernel to [spatial..., input feature,
// output feature], the sums to [batch, spatial..., output feature]. For every window position the
// sums of a whole row of output positions get one small matrix product, so each sum sees the window
// positions, and within one the input features, in ascending order. Positions in the padding and
// between dilated elements are zeros: they are skipped, and where the kernel's element is infinite
// or NaN, the sum is set to NaN, which zero times such a number is.
#include <math.h>

#include "hlo/eval/eval_internal.h"

typedef struct conv {
  int spatial;
  const hsc_window_dim *window;
  const int64_t *in_size, *out_size;  // [spatial]
  int64_t batch, in_features, kernel_features, out_features, out_batch;
  int64_t feature_groups, batch_groups;
  hsc__kind kind;
  size_t width;
  const unsigned char *input, *kernel;
  unsigned char *sums;
} conv;

// Input position of output position o under window position w, or -1 when it falls into padding or
// between dilated elements.
static int64_t input_position(const hsc_window_dim *d, int64_t size, int64_t o, int64_t w) {
  int64_t at =
      o * d->stride - d->pad_low + (d->reversal ? d->size - 1 - w : w) * d->window_dilation;
  if (at < 0 || at % d->base_dilation != 0 || at / d->base_dilation >= size)
    return -1;
  return at / d->base_dilation;
}

// One window position, one run of `run` output positions along the last spatial dimension, whose
// inputs are `in_step` positions apart.
static void add_products(const conv *c,
                         int64_t batch,
                         int64_t out_position,
                         int64_t in_position,
                         int64_t in_step,
                         int64_t run,
                         int64_t window_position,
                         int64_t in_positions,
                         int64_t out_positions) {
  const unsigned char *kernel =
      c->kernel + (size_t)(window_position * c->kernel_features * c->out_features) * c->width;
  unsigned char *sums =
      c->sums + (size_t)((batch * out_positions + out_position) * c->out_features) * c->width;
  int64_t groups = c->feature_groups > c->batch_groups ? c->feature_groups : c->batch_groups;
  int64_t columns = c->out_features / groups;
  for (int64_t g = 0; g < groups; g++) {
    int64_t in_batch = c->batch_groups > 1 ? g * c->out_batch + batch : batch;
    int64_t in_feature = c->feature_groups > 1 ? g * c->kernel_features : 0;
    const unsigned char *input =
        c->input +
        (size_t)((in_batch * in_positions + in_position) * c->in_features + in_feature) * c->width;
    hsc__matrix_product(c->kind, run, columns, c->kernel_features, input, in_step * c->in_features,
                        kernel + (size_t)(g * columns) * c->width, c->out_features,
                        sums + (size_t)(g * columns) * c->width, c->out_features);
  }
}

static void convolve_window_position(const conv *c,
                                     const int64_t *w,
                                     int64_t window_position,
                                     int64_t in_positions,
                                     int64_t out_positions) {
  int last = c->spatial - 1;
  int64_t outer_out[HSC_MAX_RANK] = {0};
  do {
    int64_t in_row = 0;
    int64_t out_row = 0;
    bool inside = true;
    for (int i = 0; i < last && inside; i++) {
      int64_t at = input_position(&c->window[i], c->in_size[i], outer_out[i], w[i]);
      inside = at >= 0;
      in_row = in_row * c->in_size[i] + at;
      out_row = out_row * c->out_size[i] + outer_out[i];
    }
    if (!inside)
      continue;
    if (last < 0) {
      for (int64_t b = 0; b < c->out_batch; b++)
        add_products(c, b, 0, 0, 1, 1, window_position, in_positions, out_positions);
      continue;
    }
    const hsc_window_dim *d = &c->window[last];
    int64_t size = c->in_size[last];
    int64_t o = 0;
    while (o < c->out_size[last]) {
      int64_t at = input_position(d, size, o, w[last]);
      int64_t run = 1;
      if (at < 0) {
        o++;
        continue;
      }
      if (d->base_dilation == 1)
        while (o + run < c->out_size[last] && at + run * d->stride < size)
          run++;
      for (int64_t b = 0; b < c->out_batch; b++)
        add_products(c, b, out_row * c->out_size[last] + o, in_row * size + at, d->stride, run,
                     window_position, in_positions, out_positions);
      o += run;
    }
  } while (hsc__next_index(last > 0 ? last : 0, c->out_size, outer_out));
}

static bool is_finite(const conv *c, int64_t at) {
  switch (c->kind) {
    case HSC__F32:
      return isfinite(((const float *)c->kernel)[at]);
    case HSC__F64:
      return isfinite(((const double *)c->kernel)[at]);
    case HSC__C64:
      return isfinite(((const float *)c->kernel)[2 * at]) &&
             isfinite(((const float *)c->kernel)[2 * at + 1]);
    case HSC__C128:
      return isfinite(((const double *)c->kernel)[2 * at]) &&
             isfinite(((const double *)c->kernel)[2 * at + 1]);
    default:
      return true;
  }
}

static void set_nan(const conv *c, int64_t at) {
  if (c->kind == HSC__F32)
    ((float *)c->sums)[at] = NAN;
  else if (c->kind == HSC__F64)
    ((double *)c->sums)[at] = NAN;
  else if (c->kind == HSC__C64)
    ((float *)c->sums)[2 * at] = ((float *)c->sums)[2 * at + 1] = NAN;
  else
    ((double *)c->sums)[2 * at] = ((double *)c->sums)[2 * at + 1] = NAN;
}

// The sums of one output feature to which this window position brings zero times what is not
// finite.
static void lose_column(const conv *c, const int64_t *w, int64_t feature, int64_t out_positions) {
  int64_t out[HSC_MAX_RANK] = {0};
  int64_t position = 0;
  do {
    bool inside = true;
    for (int i = 0; i < c->spatial && inside; i++)
      inside = input_position(&c->window[i], c->in_size[i], out[i], w[i]) >= 0;
    for (int64_t b = 0; !inside && b < c->out_batch; b++)
      set_nan(c, (b * out_positions + position) * c->out_features + feature);
    position++;
  } while (hsc__next_index(c->spatial, c->out_size, out));
}

static void lose_window_position(const conv *c,
                                 const int64_t *w,
                                 int64_t window_position,
                                 int64_t out_positions) {
  for (int64_t n = 0; n < c->out_features; n++) {
    bool finite = true;
    for (int64_t k = 0; k < c->kernel_features && finite; k++)
      finite = is_finite(c, (window_position * c->kernel_features + k) * c->out_features + n);
    if (!finite)
      lose_column(c, w, n, out_positions);
  }
}

static hsc_status *pack(const hsc__value *value,
                        const int64_t *permutation,
                        hsc_type accumulate,
                        void **out_lanes) {
  unsigned char *ordered = NULL;
  HSC_TRY(hsc__transposed(value, permutation, &ordered));
  hsc_status *status = hsc__widened(value->shape.type, ordered, hsc_shape_elements(&value->shape),
                                    accumulate, out_lanes);
  hsc_free(ordered);
  return status;
}

hsc_status *hsc__eval_convolution(hsc__eval *cx,
                                  const hsc_instr *instr,
                                  hsc__value **operands,
                                  hsc__value **out_value) {
  (void)cx;
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  const hsc_shape *in = &operands[0]->shape;
  const hsc_shape *kernel = &operands[1]->shape;
  const hsc_shape *out = &instr->shape;
  int spatial = d->spatial_rank;
  int64_t in_order[HSC_MAX_RANK], kernel_order[HSC_MAX_RANK], out_order[HSC_MAX_RANK],
      in_size[HSC_MAX_RANK], out_size[HSC_MAX_RANK], window_size[HSC_MAX_RANK];
  int64_t in_positions = 1;
  int64_t out_positions = 1;
  int64_t window_position = 0;
  int64_t w[HSC_MAX_RANK] = {0};
  bool empty_window = false;
  for (int i = 0; i < spatial; i++) {
    in_order[i + 1] = d->input_spatial[i];
    kernel_order[i] = d->kernel_spatial[i];
    out_order[i + 1] = d->output_spatial[i];
    in_positions *= in_size[i] = in->dims[d->input_spatial[i]];
    out_positions *= out_size[i] = out->dims[d->output_spatial[i]];
    window_size[i] = kernel->dims[d->kernel_spatial[i]];
    if (window_size[i] == 0)
      empty_window = true;
  }
  in_order[0] = d->input_batch;
  in_order[spatial + 1] = d->input_feature;
  kernel_order[spatial] = d->kernel_input;
  kernel_order[spatial + 1] = d->kernel_output;
  out_order[0] = d->output_batch;
  out_order[spatial + 1] = d->output_feature;

  hsc_type accumulate = hsc__accumulate_type(out->type);
  conv c = {
      .spatial = spatial,
      .window = instr->attr.conv.window.dims,
      .in_size = in_size,
      .out_size = out_size,
      .batch = in->dims[d->input_batch],
      .in_features = in->dims[d->input_feature],
      .kernel_features = kernel->dims[d->kernel_input],
      .out_features = kernel->dims[d->kernel_output],
      .out_batch = out->dims[d->output_batch],
      .feature_groups = instr->attr.conv.feature_groups > 1 ? instr->attr.conv.feature_groups : 1,
      .batch_groups = instr->attr.conv.batch_groups > 1 ? instr->attr.conv.batch_groups : 1,
      .kind = hsc__kind_of(accumulate),
      .width = hsc__kind_bytes(hsc__kind_of(accumulate))};
  if (c.feature_groups > 1 && c.batch_groups > 1)
    return HSC_ERR(UNIMPLEMENTED,
                   "convolution: not built yet: feature groups and batch groups at once");
  hsc_status *status = NULL;
  void *input_lanes = NULL;
  void *kernel_lanes = NULL;
  int64_t count = hsc_shape_elements(out);
  unsigned char *sums = hsc_alloc((size_t)count * c.width);
  unsigned char *narrow = NULL;
  if (!sums)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc__value_array(out, out_value));
  if (count == 0)
    goto done;
  if (hsc_shape_elements(in) > 0 && hsc_shape_elements(kernel) > 0 && !empty_window) {
    HSC_GOTO(pack(operands[0], in_order, accumulate, &input_lanes));
    HSC_GOTO(pack(operands[1], kernel_order, accumulate, &kernel_lanes));
    c.input = input_lanes;
    c.kernel = kernel_lanes;
    c.sums = sums;
    do
      convolve_window_position(&c, w, window_position++, in_positions, out_positions);
    while (hsc__next_index(spatial, window_size, w));
    window_position = 0;
    do
      lose_window_position(&c, w, window_position++, out_positions);
    while (hsc__next_index(spatial, window_size, w));
  }
  // From [batch, spatial..., feature] to the output's own order.
  size_t element_bytes = hsc_type_bytes(out->type);
  narrow = hsc_alloc((size_t)count * element_bytes);
  if (!narrow)
    HSC_GOTO(hsc_status_out_of_memory());
  hsc__narrowed(out->type, sums, count, narrow);
  int64_t strides[HSC_MAX_RANK];
  int64_t dims[HSC_MAX_RANK];
  int64_t from[HSC_MAX_RANK];
  int64_t to[HSC_MAX_RANK];
  int64_t stride = 1;
  hsc__strides(out, strides);
  for (int i = spatial + 1; i >= 0; i--) {
    dims[i] = out->dims[out_order[i]];
    to[i] = strides[out_order[i]];
    from[i] = stride;
    stride *= dims[i];
  }
  hsc__copy_strided(spatial + 2, dims, element_bytes, (*out_value)->data, to, narrow, from);
done:
  hsc_free(input_lanes);
  hsc_free(kernel_lanes);
  hsc_free(sums);
  hsc_free(narrow);
  return status;
}
