// cost_formulas.c - sizes and flops that depend on shapes alone: what instructions and custom calls
// of the same meaning are both counted by.
#include "hlo/cost/cost_internal.h"

enum { POINTER_BYTES = 8 };

double hsc__cost_elements(const hsc_shape *shape) {
  return (double)hsc_shape_elements(shape);
}

// A dynamic dimension's size is kept beside the data, as an s32 for each dimension of the array.
double hsc__cost_bytes(const hsc_shape *shape) {
  if (shape->type == HSC_TYPE_TUPLE)
    return (double)POINTER_BYTES * shape->element_count;
  if (shape->type == HSC_TYPE_OPAQUE)
    return POINTER_BYTES;
  return (double)hsc_shape_bytes(shape) + (shape->dynamic ? 4.0 * shape->rank : 0);
}

double hsc__cost_leaves_bytes(const hsc_shape *shape) {
  if (shape->type != HSC_TYPE_TUPLE)
    return hsc__cost_bytes(shape);
  double size = 0;
  for (int i = 0; i < shape->element_count; i++)
    size += hsc__cost_leaves_bytes(&shape->elements[i]);
  return size;
}

// Pairs of a kernel position and an output position that meet an input element, not padding and not
// a hole of a dilation.
static double valid_positions(int64_t input,
                              int64_t kernel,
                              int64_t output,
                              const hsc_window_dim *w) {
  double count = 0;
  for (int64_t k = 0; k < kernel; k++) {
    // Of output positions o, those with 0 <= (o * stride - pad + k * dilation) / base < input and
    // no remainder.
    int64_t offset = k * w->window_dilation - w->pad_low;
    int64_t base = w->base_dilation;
    int64_t last = (input - 1) * base;
    if (base == 1) {
      int64_t from = offset >= 0 ? 0 : (-offset + w->stride - 1) / w->stride;
      int64_t to = last < offset ? -1 : (last - offset) / w->stride;
      if (to > output - 1)
        to = output - 1;
      if (to >= from)
        count += (double)(to - from + 1);
      continue;
    }
    for (int64_t o = 0; o < output; o++) {
      int64_t at = o * w->stride + offset;
      count += at >= 0 && at <= last && at % base == 0;
    }
  }
  return count;
}

double hsc__cost_conv_flops(const hsc__conv_shapes *c) {
  const hsc_conv_dims *d = c->dims;
  double positions = 1;
  for (int i = 0; i < d->spatial_rank; i++)
    positions *=
        valid_positions(c->input->dims[d->input_spatial[i]], c->kernel->dims[d->kernel_spatial[i]],
                        c->output->dims[d->output_spatial[i]], &c->windows[i]);
  int64_t features = c->input->dims[d->input_feature] / c->feature_groups;
  int64_t batch = c->input->dims[d->input_batch] / c->batch_groups;
  return HSC__FMA_FLOPS * (double)features * (double)c->output->dims[d->output_feature] *
         (double)batch * positions;
}

static int ceil_log2(uint64_t value) {
  return value ? hsc__floor_log2(value) + ((value & (value - 1)) != 0) : 0;
}

double hsc__cost_sort_flops(const hsc_shape *shape) {
  return hsc__cost_elements(shape) * ceil_log2((uint64_t)hsc_shape_elements(shape));
}

double hsc__cost_cholesky_flops(const hsc_shape *a) {
  return (double)(int64_t)((double)a->dims[a->rank - 1] * hsc__cost_elements(a) / 3);
}

double hsc__cost_triangular_flops(const hsc_shape *a, const hsc_shape *b) {
  return HSC__FMA_FLOPS * (double)a->dims[a->rank - 1] * hsc__cost_elements(b);
}
