// conv_holes.c - what taps that are infinite or NaN give where they meet padding or the holes
// between dilated elements.
//
// Those are zeros by definition, and zero times infinity is NaN. The tasks leave the taps out that
// only meet holes, which for finite taps is the same and base_dilation^axes times less work, and
// CHANNELS leaves out padding; so the sums that such a tap belongs to are set here. Taps that are
// not finite are rare, and this is not fast.
#include <math.h>

#include "cpu/kernels/conv/convolution.h"

static double element(const hsc_conv_run *run, int64_t at) {
  return run->c->compute_type == HSC_TYPE_F64 ? ((const double *)run->rhs)[at]
                                              : (double)((const float *)run->rhs)[at];
}

// By the largest magnitude of a block, as bits: that loop becomes vector instructions.
static bool any_not_finite(const hsc_conv_run *run) {
  const hsc_convolution *c = run->c;
  int64_t count = c->rhs.copied ? c->rhs.scratch_elements : c->rhs.elements;
  if (c->compute_type == HSC_TYPE_F64) {
    const double *x = run->rhs;
    for (int64_t i = 0; i < count; i++)
      if (!isfinite(x[i]))
        return true;
    return false;
  }
  const uint32_t *bits = run->rhs;
  int64_t begin = 0;
  for (int64_t end; begin < count; begin = end) {
    uint32_t most = 0;
    end = begin + 4096 < count ? begin + 4096 : count;
    for (int64_t i = begin; i < end; i++) {
      uint32_t magnitude = bits[i] << 1;
      most = magnitude > most ? magnitude : most;
    }
    if (most >= 0xff000000u)
      return true;
  }
  return false;
}

bool hsc_convolution_holes_matter(const hsc_conv_run *run) {
  const hsc_convolution *c = run->c;
  bool left_out = false;
  for (int a = 0; a < c->axis_count; a++)
    left_out = left_out || c->axes[a].base_dilation > 1 ||
               (c->candidate == HSC_CONV_CHANNELS && c->axes[a].checked);
  return left_out && any_not_finite(run);
}

// Does the tap meet an element of lhs at this output position?
static bool meets_element(const hsc_convolution *c, const int64_t *out, const int64_t *tap) {
  for (int a = 0; a < c->axis_count; a++) {
    const hsc_conv_axis *axis = &c->axes[a];
    int64_t at = out[a] * axis->stride + tap[a] * axis->dilation - axis->pad_low;
    if (at < 0 || at % axis->base_dilation || at / axis->base_dilation >= axis->in_size)
      return false;
  }
  return true;
}

// The next index within `window` or `out_size` of the axes; false after the last.
static bool next_index(const hsc_convolution *c, bool of_window, int64_t *index) {
  for (int a = c->axis_count - 1; a >= 0; a--) {
    if (++index[a] < (of_window ? c->axes[a].window : c->axes[a].out_size))
      return true;
    index[a] = 0;
  }
  return false;
}

static bool column_is_finite(const hsc_conv_run *run, int64_t at) {
  const hsc_convolution *c = run->c;
  for (int64_t i = 0; i < c->features; i++)
    if (!isfinite(element(run, at + i * c->rhs_feature_stride)))
      return false;
  return true;
}

static void lose(const hsc_conv_run *run, int64_t group, int64_t column, const int64_t *tap) {
  const hsc_convolution *c = run->c;
  int64_t out[HSC_CONV_MAX_AXES] = {0};
  do {
    if (meets_element(c, out, tap))
      continue;
    int64_t at = group * c->out_group_stride + column;
    for (int a = 0; a < c->axis_count; a++)
      at += out[a] * c->axes[a].out_stride;
    for (int64_t b = 0; b < c->batch; b++, at += c->out_batch_stride)
      if (c->compute_type == HSC_TYPE_F64)
        ((double *)run->out)[at] = NAN;
      else
        ((float *)run->out)[at] = NAN;
  } while (next_index(c, false, out));
}

void hsc_convolution_fill_holes(const hsc_conv_run *run) {
  const hsc_convolution *c = run->c;
  for (int64_t group = 0; group < c->groups; group++)
    for (int64_t column = 0; column < c->columns; column++) {
      int64_t tap[HSC_CONV_MAX_AXES] = {0};
      do {
        int64_t at = c->rhs_offset + group * c->rhs_group_stride + column * c->rhs_column_stride;
        for (int a = 0; a < c->axis_count; a++)
          at += tap[a] * c->axes[a].rhs_stride;
        if (!column_is_finite(run, at))
          lose(run, group, column, tap);
      } while (next_index(c, true, tap));
    }
}
