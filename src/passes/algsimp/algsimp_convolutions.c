// algsimp_convolutions.c - rules on convolutions: products that they are, operands that change
// places, scales that move.
#include "passes/algsimp/algsimp.h"

static bool plain_window(const hsc_window_dim *w) {
  return w->stride == 1 && !w->pad_low && !w->pad_high && w->base_dilation == 1 &&
         w->window_dilation == 1 && !w->reversal;
}

// Each feature by itself, with windows of one place or one window for all places: a product, and a
// sum over the windows.
static hsc_instr *as_product(hsc_builder *b, hsc_instr *conv) {
  hsc_instr *x = conv->operands[0];
  hsc_instr *kernel = conv->operands[1];
  const hsc_conv_dims *d = &conv->attr.conv.dims;
  int64_t from[HSC_MAX_RANK], of_kernel[HSC_MAX_RANK], kept[HSC_MAX_RANK], to[HSC_MAX_RANK],
      folded[HSC_MAX_RANK];
  int rank = conv->shape.rank;
  int count = 0;
  int sums = 0;
  if (x->shape.type != conv->shape.type || kernel->shape.type != conv->shape.type ||
      hsc_type_bits(conv->shape.type) < 32 || conv->attr.conv.batch_groups != 1)
    return NULL;
  if (kernel->shape.dims[d->kernel_input] != 1 ||
      x->shape.dims[d->input_feature] != conv->attr.conv.feature_groups ||
      conv->shape.dims[d->output_feature] != conv->attr.conv.feature_groups)
    return NULL;
  from[d->output_batch] = d->input_batch;
  from[d->output_feature] = d->input_feature;
  of_kernel[d->output_batch] = d->kernel_input;
  of_kernel[d->output_feature] = d->kernel_output;
  for (int i = 0; i < d->spatial_rank; i++) {
    int64_t out = d->output_spatial[i];
    int64_t size = kernel->shape.dims[d->kernel_spatial[i]];
    if (!plain_window(&conv->attr.conv.window.dims[i]) || (size != 1 && conv->shape.dims[out] != 1))
      return NULL;
    from[out] = d->input_spatial[i];
    of_kernel[out] = d->kernel_spatial[i];
    if (size != 1)
      folded[sums++] = out;
  }
  hsc_instr *input = hsc_build_transpose(b, x, hsc_dims_copy(arena_of(b), rank, from));
  hsc_instr *factor = hsc_build_transpose(b, kernel, hsc_dims_copy(arena_of(b), rank, of_kernel));
  if (b->status)
    return NULL;
  for (int i = 0; i < rank; i++) {
    if (factor->shape.dims[i] == 1)
      continue;
    kept[count] = factor->shape.dims[i];
    to[count++] = i;
  }
  factor = hsc_build_broadcast(b, hsc_build_reshape(b, factor, count, kept), input->shape,
                               hsc_dims_copy(arena_of(b), count, to));
  hsc_instr *replacement = hsc_build_binary(b, HSC_OP_MULTIPLY, input, factor);
  if (sums == 0)
    return replacement;
  for (int i = 1; i < sums; i++)
    for (int k = i; k > 0 && folded[k] < folded[k - 1]; k--) {
      int64_t other = folded[k];
      folded[k] = folded[k - 1];
      folded[k - 1] = other;
    }
  replacement =
      hsc_build_reduce(b, replacement, hsc_build_scalar(b, conv->shape.type, 0),
                       hsc_dims_copy(arena_of(b), sums, folded),
                       hsc_module_scalar_reducer(b->module, HSC_OP_ADD, conv->shape.type));
  return hsc_build_reshape(b, replacement, rank, conv->shape.dims);
}

enum { LEAST_PLACES = 1024, MOST_TAPS = 64 };

// Places along a spatial dimension at which the window lies inside of the input.
static int64_t inside_places(const hsc_instr *conv, int i) {
  const hsc_window_dim *w = &conv->attr.conv.window.dims[i];
  int64_t size = conv->operands[0]->shape.dims[conv->attr.conv.dims.input_spatial[i]];
  return size - (w->size - 1) * w->window_dilation;
}

static bool has_taps(const hsc_instr *conv) {
  const hsc_instr *x = conv->operands[0];
  const hsc_instr *kernel = conv->operands[1];
  const hsc_conv_dims *d = &conv->attr.conv.dims;
  hsc_type type = conv->shape.type;
  int64_t taps = hsc_shape_elements(&kernel->shape);
  int64_t places = conv->shape.dims[d->output_batch];
  if ((type != HSC_TYPE_F32 && type != HSC_TYPE_F64) || x->shape.type != type ||
      kernel->shape.type != type || x->shape.dynamic || kernel->shape.dynamic)
    return false;
  if (conv->attr.conv.batch_groups != 1 || x->shape.dims[d->input_feature] != 1 ||
      kernel->shape.dims[d->kernel_output] != 1 || taps < 2 || taps > MOST_TAPS)
    return false;
  for (int i = 0; i < d->spatial_rank; i++) {
    const hsc_window_dim *w = &conv->attr.conv.window.dims[i];
    bool padded = w->pad_low || w->pad_high;
    if (w->stride != 1 || w->base_dilation != 1 || w->pad_low < 0 || w->pad_high < 0 ||
        (padded && d->spatial_rank != 1) || inside_places(conv, i) < 1)
      return false;
    places *= inside_places(conv, i);
  }
  return places >= LEAST_PLACES;
}

// The tap of the kernel at `at`, as a scalar.
static hsc_instr *tap(hsc_builder *b, hsc_instr *conv, hsc_instr *flat, const int64_t *at) {
  const hsc_shape *kernel = &conv->operands[1]->shape;
  const hsc_conv_dims *d = &conv->attr.conv.dims;
  int64_t place[HSC_MAX_RANK] = {0};
  int64_t number = 0;
  for (int i = 0; i < d->spatial_rank; i++) {
    const hsc_window_dim *w = &conv->attr.conv.window.dims[i];
    place[d->kernel_spatial[i]] = w->reversal ? w->size - 1 - at[i] : at[i];
  }
  for (int i = 0; i < kernel->rank; i++)
    number = number * kernel->dims[i] + place[i];
  hsc_instr *one = hsc_build_slice(b, flat, HSC_DIMS(arena_of(b), number),
                                   HSC_DIMS(arena_of(b), number + 1), (hsc_dims){0});
  return hsc_build_reshape(b, one, 0, NULL);
}

// The sum over all taps, each times the input shifted to it. x: batch, space; size: of the result.
static hsc_instr *sum_of_taps(hsc_builder *b, hsc_instr *conv, hsc_instr *x, const int64_t *size) {
  int spatial = conv->attr.conv.dims.spatial_rank;
  int64_t at[HSC_MAX_RANK] = {0};
  int64_t taps = hsc_shape_elements(&conv->operands[1]->shape);
  hsc_instr *flat = hsc_build_reshape(b, conv->operands[1], 1, &taps);
  hsc_shape shape = hsc_shape_array(arena_of(b), conv->shape.type, spatial + 1, size);
  hsc_instr *sum = NULL;
  for (bool more = true; more;) {
    int64_t start[HSC_MAX_RANK] = {0};
    int64_t limit[HSC_MAX_RANK] = {size[0]};
    for (int i = 0; i < spatial; i++) {
      start[i + 1] = at[i] * conv->attr.conv.window.dims[i].window_dilation;
      limit[i + 1] = start[i + 1] + size[i + 1];
    }
    hsc_instr *shifted =
        hsc_build_slice(b, x, hsc_dims_copy(arena_of(b), spatial + 1, start),
                        hsc_dims_copy(arena_of(b), spatial + 1, limit), (hsc_dims){0});
    hsc_instr *factor = hsc_build_broadcast(b, tap(b, conv, flat, at), shape, (hsc_dims){0});
    hsc_instr *product = hsc_build_binary(b, HSC_OP_MULTIPLY, shifted, factor);
    sum = sum ? hsc_build_binary(b, HSC_OP_ADD, sum, product) : product;
    more = false;
    for (int i = spatial - 1; i >= 0 && !more; i--) {
      more = ++at[i] < conv->attr.conv.window.dims[i].size;
      at[i] = more ? at[i] : 0;
    }
  }
  return sum;
}

// The places of a one-dimensional convolution whose windows reach over one end, `high` or low: the
// same on the input that they see.
static hsc_instr *padded_end(hsc_builder *b, hsc_instr *conv, bool high) {
  const hsc_conv_dims *d = &conv->attr.conv.dims;
  hsc_instr *x = conv->operands[0];
  int64_t start[HSC_MAX_RANK] = {0};
  int64_t limit[HSC_MAX_RANK];
  int64_t dim = d->input_spatial[0];
  int64_t reach = x->shape.dims[dim] - inside_places(conv, 0);
  hsc_window_dim *window = hsc_arena_copy(arena_of(b), conv->attr.conv.window.dims, sizeof *window);
  if (!window)
    return x;  // the arena's status tells
  for (int i = 0; i < x->shape.rank; i++)
    limit[i] = x->shape.dims[i];
  if (high) {
    start[dim] = limit[dim] - reach;
    window->pad_low = 0;
  } else {
    limit[dim] = reach;
    window->pad_high = 0;
  }
  hsc_attr attr = conv->attr;
  attr.conv.window.dims = window;
  hsc_instr *part =
      hsc_build_slice(b, x, hsc_dims_copy(arena_of(b), x->shape.rank, start),
                      hsc_dims_copy(arena_of(b), x->shape.rank, limit), (hsc_dims){0});
  return hsc_build_op(b, HSC_OP_CONVOLUTION, hsc_shape_with_type((hsc_shape){0}, conv->shape.type),
                      &attr, 2, (hsc_instr *[]){part, conv->operands[1]}, 0, NULL);
}

// One feature in and out, few taps, many places: a sum of shifted inputs, each times its tap. A
// product of matrices would have one column. Windows that reach over the ends stay a convolution:
// a tap that is infinite must not meet a zero there.
static hsc_instr *as_taps(hsc_builder *b, hsc_instr *conv) {
  const hsc_conv_dims *d = &conv->attr.conv.dims;
  int spatial = d->spatial_rank;
  int64_t from[HSC_MAX_RANK] = {d->input_batch};
  int64_t back[HSC_MAX_RANK];
  if (!has_taps(conv))
    return NULL;
  // In the order batch, space; the feature, of which there is one, last and left out.
  int64_t size[HSC_MAX_RANK] = {conv->shape.dims[d->output_batch]};
  for (int i = 0; i < spatial; i++) {
    from[i + 1] = d->input_spatial[i];
    size[i + 1] = inside_places(conv, i);
    back[d->output_spatial[i]] = i + 1;
  }
  from[spatial + 1] = d->input_feature;
  size[spatial + 1] = 1;
  back[d->output_batch] = 0;
  back[d->output_feature] = spatial + 1;
  hsc_instr *x =
      hsc_build_transpose(b, conv->operands[0], hsc_dims_copy(arena_of(b), spatial + 2, from));
  if (b->status)
    return NULL;
  x = hsc_build_reshape(b, x, spatial + 1, x->shape.dims);
  hsc_instr *sum = hsc_build_reshape(b, sum_of_taps(b, conv, x, size), spatial + 2, size);
  sum = hsc_build_transpose(b, sum, hsc_dims_copy(arena_of(b), spatial + 2, back));
  const hsc_window_dim *w = &conv->attr.conv.window.dims[0];
  hsc_instr *parts[3];
  int count = 0;
  if (w->pad_low)
    parts[count++] = padded_end(b, conv, false);
  parts[count++] = sum;
  if (w->pad_high)
    parts[count++] = padded_end(b, conv, true);
  return count == 1 ? sum : hsc_build_concatenate(b, count, parts, d->output_spatial[0]);
}

// Input and kernel change places where the kernel is the larger one: fewer products for an
// implementation that runs over kernels.
static hsc_instr *swap_operands(hsc_builder *b, hsc_instr *conv) {
  const hsc_conv_dims *d = &conv->attr.conv.dims;
  hsc_instr *x = conv->operands[0];
  hsc_instr *kernel = conv->operands[1];
  double old_size = 1;
  double new_size = 1;
  int64_t reversed[HSC_MAX_RANK];
  int count = 0;
  hsc_window_dim *window = HSC_NEW_ARRAY(arena_of(b), hsc_window_dim, d->spatial_rank + 1);
  if (!window || conv->attr.conv.feature_groups != 1 || conv->attr.conv.batch_groups != 1)
    return NULL;
  for (int i = 0; i < d->spatial_rank; i++) {
    hsc_window_dim w = conv->attr.conv.window.dims[i];
    int64_t size = x->shape.dims[d->input_spatial[i]];
    int64_t spread = 1 + (w.size - 1) * w.window_dilation;
    int64_t input = 1 + (size - 1) * w.base_dilation;
    bool simple = !w.reversal && !w.pad_low && !w.pad_high && w.window_dilation == 1;
    bool group = simple && w.base_dilation == w.size && w.stride == w.size - 1;
    bool contraction = simple && w.size == size && w.base_dilation == 1 && w.stride == 1;
    window[i] = w;
    if (contraction)
      continue;
    if (group)
      return NULL;  // its two sizes are bound to each other: left as it is
    bool cheap = size == 1 && w.stride == 1 && w.window_dilation == 1 && w.pad_high == w.size - 1 &&
                 w.pad_low == w.size - 1;
    old_size *= (double)w.size;
    new_size *= (double)(cheap ? w.size : size);
    if (!w.reversal)
      reversed[count++] = d->kernel_spatial[i];
    window[i] = (hsc_window_dim){.size = size,
                                 .stride = w.stride,
                                 .reversal = true,
                                 .base_dilation = w.window_dilation,
                                 .window_dilation = w.base_dilation,
                                 .pad_low = input + w.pad_low - spread,
                                 .pad_high = input + w.pad_high - spread};
  }
  if (old_size <= new_size)
    return NULL;
  hsc_attr attr = conv->attr;
  attr.conv.window.dims = window;
  attr.conv.dims = (hsc_conv_dims){.spatial_rank = d->spatial_rank,
                                   .input_batch = d->kernel_output,
                                   .input_feature = d->kernel_input,
                                   .kernel_input = d->input_feature,
                                   .kernel_output = d->input_batch,
                                   .output_batch = d->output_feature,
                                   .output_feature = d->output_batch,
                                   .input_spatial = d->kernel_spatial,
                                   .kernel_spatial = d->input_spatial,
                                   .output_spatial = d->output_spatial};
  if (attr.conv.precision.count == 2)
    attr.conv.precision =
        HSC_DIMS(arena_of(b), conv->attr.conv.precision.v[1], conv->attr.conv.precision.v[0]);
  hsc_attr reverse = {.dims = {.dims = hsc_dims_copy(arena_of(b), count, reversed)}};
  if (count)
    kernel = hsc_build_op(b, HSC_OP_REVERSE, (hsc_shape){0}, &reverse, 1, &kernel, 0, NULL);
  return hsc_build_op(b, HSC_OP_CONVOLUTION, hsc_shape_with_type((hsc_shape){0}, conv->shape.type),
                      &attr, 2, (hsc_instr *[]){kernel, x}, 0, NULL);
}

HSC_RULE(convolution_swaps_operands) {
  return hsc__has_products(instr) && !hsc__is_empty(instr) ? swap_operands(b, instr) : NULL;
}

HSC_RULE(convolution_as_product) {
  return hsc__has_products(instr) && !hsc__is_empty(instr) ? as_product(b, instr) : NULL;
}

HSC_RULE(convolution_as_taps) {
  return hsc__has_products(instr) && !hsc__is_empty(instr) ? as_taps(b, instr) : NULL;
}

// Folding scales the kernel.
HSC_RULE(scale_kernel) {
  for (int side = 0; side < 2; side++) {
    hsc_instr *sum = instr->operands[side];
    hsc_instr *scale = instr->operands[!side];
    if (sum->op != HSC_OP_ADD || !hsc__has_one_use(sum) || scale->op != HSC_OP_BROADCAST ||
        scale->operands[0]->op != HSC_OP_CONSTANT || scale->operands[0]->shape.rank != 1)
      continue;
    for (int k = 0; k < 2; k++) {
      hsc_instr *conv = sum->operands[k];
      hsc_instr *bias = sum->operands[!k];
      if (conv->op != HSC_OP_CONVOLUTION || !hsc__has_one_use(conv) ||
          conv->operands[1]->op != HSC_OP_CONSTANT ||
          scale->attr.dims.dims.v[0] != conv->attr.conv.dims.output_feature)
        continue;
      if (conv->operands[1]->shape.type != instr->shape.type || conv->attr.conv.batch_groups != 1)
        continue;
      hsc_instr *kernel = conv->operands[1];
      hsc_instr *factor =
          hsc_build_broadcast(b, scale->operands[0], kernel->shape,
                              HSC_DIMS(arena_of(b), conv->attr.conv.dims.kernel_output));
      hsc_instr *scaled = hsc_build_clone(
          b, conv,
          (hsc_instr *[]){conv->operands[0], hsc_build_binary(b, HSC_OP_MULTIPLY, kernel, factor)});
      return hsc_build_binary(b, HSC_OP_ADD, scaled,
                              hsc_build_binary(b, HSC_OP_MULTIPLY, bias, scale));
    }
  }
  return NULL;
}
