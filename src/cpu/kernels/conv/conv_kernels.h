// conv_kernels.h - the inner kernels of convolutions, one set per instruction set (conv_kernels.c).
// How they are fed: convolution.h.
#pragma once

#include "cpu/core/isa.h"

enum { HSC_CONV_MAX_ROWS = 16, HSC_CONV_MAX_VECTORS = 2 };

// acc[rows][vectors] over `taps` runs of `run` steps each. a[tap * rows + i] is where row i starts
// in that tap, and steps by a_k; b is packed: one row of `vectors` registers per step. Then
// c[i][...] (+)= acc, + bias (NULL = none), max(0, .) when relu (NaN stays).
typedef void (*hsc_conv_kernel_f32)(int64_t taps,
                                    int64_t run,
                                    const float *const *a,
                                    int64_t a_k,
                                    const float *b,
                                    float *const *c,
                                    bool accumulate,
                                    const float *bias,
                                    bool relu);
typedef void (*hsc_conv_kernel_f64)(int64_t taps,
                                    int64_t run,
                                    const double *const *a,
                                    int64_t a_k,
                                    const double *b,
                                    double *const *c,
                                    bool accumulate,
                                    const double *bias,
                                    bool relu);

typedef struct hsc_conv_kernels {
  int vector_f32, vector_f64;  // elements of a register
  int max_rows;                // of the tallest kernel, for every number of vectors
  hsc_conv_kernel_f32 f32[HSC_CONV_MAX_VECTORS + 1][HSC_CONV_MAX_ROWS + 1];
  hsc_conv_kernel_f64 f64[HSC_CONV_MAX_VECTORS + 1][HSC_CONV_MAX_ROWS + 1];
  // out[g] = sum over taps of a[tap][g] * b[tap][g], g in [0, count)
  void (*channels_f32)(
      int64_t count, int64_t taps, const float *const *a, const float *const *b, float *out);
  void (*channels_f64)(
      int64_t count, int64_t taps, const double *const *a, const double *const *b, double *out);
  // Where stays[i] is 0 or which[i] is negative: values[i] = next[i], which[i] = number. For
  // elements of 4 bytes.
  void (*keep_4)(int64_t count,
                 const uint8_t *stays,
                 uint32_t *values,
                 const uint32_t *next,
                 int32_t *which,
                 int32_t number);
  // to[step * width + column] = from[step + column * column_stride], columns >= `columns` are zero;
  // width is one or two registers
  void (*transpose_f32)(int64_t steps,
                        int64_t columns,
                        int64_t width,
                        const float *from,
                        int64_t column_stride,
                        float *to);
  void (*transpose_f64)(int64_t steps,
                        int64_t columns,
                        int64_t width,
                        const double *from,
                        int64_t column_stride,
                        double *to);
} hsc_conv_kernels;

// The kernels for a level, NULL when this build does not have them (another architecture).
const hsc_conv_kernels *hsc_conv_kernels_for(hsc_cpu_isa_level level);
