// fft_kernels.h - Stockham's mixed radix transform of several lines at once, in double.
//
// Lines lie interleaved, real parts before imaginary ones: element t of line l is
// re[t * lines + l]. To the algorithm they are one step of a longer transform that was made
// already, so that its innermost loops run over all lines and become vectors. Compiled once per
// instruction set.
#pragma once

#include "cpu/core/isa.h"
#include "hlo/ir/hlo.h"

typedef struct hsc_fft_root {
  double re, im;
} hsc_fft_root;

// Where lines lie in an array: elements between neighbours in a line and between lines.
typedef struct hsc_fft_place {
  hsc_type type;  // f32, f64, c64, c128
  int64_t at, step, line;
} hsc_fft_place;

typedef struct hsc_fft_kernels {
  // The first `length` elements of `lines` lines, to and from planes of n * lines elements each.
  void (*load)(const hsc_fft_place *from,
               const void *array,
               int64_t length,
               int64_t lines,
               double *re,
               double *im);
  void (*store)(const hsc_fft_place *to,
                void *array,
                int64_t length,
                int64_t lines,
                const double *re,
                const double *im,
                double scale);
  // Transforms x [2][n * lines] with y of the same size as room; returns the one that holds the
  // result. roots[i] = w_n^i, conjugated already when `inverse`.
  double *(*transform)(const int32_t *factors,
                       int factor_count,
                       int64_t n,
                       int64_t lines,
                       bool inverse,
                       const hsc_fft_root *roots,
                       double *x,
                       double *y);
  // Rows of `lines` elements, row t times by_re[t * by_step] + i by_im[t * by_step]; the result
  // may lie where the rows lie, also with its parts exchanged.
  void (*turn)(int64_t rows,
               int64_t lines,
               const double *by_re,
               const double *by_im,
               int64_t by_step,
               const double *re,
               const double *im,
               double *to_re,
               double *to_im);
  // The spectra of two real signals from that of first + i second, rows [0, n / 2]; and back.
  void (*part)(int64_t n, int64_t lines, const double *z, double *first, double *second);
  void (*pair)(int64_t n, int64_t lines, const double *first, const double *second, double *z);
} hsc_fft_kernels;

// NULL when this build has none for the level.
const hsc_fft_kernels *hsc_fft_kernels_for(hsc_cpu_isa_level level);
