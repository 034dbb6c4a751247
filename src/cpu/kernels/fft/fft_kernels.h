// fft_kernels.h - Stockham's mixed radix transform of several lines at once, in the precision of
// their data: float for f32 and c64, double for f64 and c128.
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

// What a pass over one dimension does to its lines.
typedef struct hsc_fft_job {
  const int32_t *factors;  // of what is transformed: padded, else n
  int32_t factor_count;
  bool inverse, mirrors;  // mirrors: the input is the first half of a real signal's spectrum
  int64_t n, padded;      // padded: length of Bluestein's transforms, 0 = none
  int64_t in_length, out_length;  // elements of a line that are read and written
  const void *in;
  void *out;
  double scale;  // of the result
  // Pairs of the kernel's precision. roots[i] = w^i of what is transformed, conjugated already when
  // `inverse`; behind them, for Bluestein's, n of the chirp w_2n^(j j), then the spectrum of its
  // conjugate in `padded` real parts and as many imaginary ones; behind those, for halves, w_2n^k
  // for k up to n / 2.
  const void *roots;
} hsc_fft_job;

// Transforms `lines` lines, x and y being room for 2 (length + 4) lines elements each.
typedef void (*hsc_fft_function)(
    const hsc_fft_job *job, hsc_fft_place from, hsc_fft_place to, int64_t lines, void *x, void *y);

typedef enum hsc_fft_precision {
  HSC_FFT_SINGLE,
  HSC_FFT_DOUBLE,
  HSC_FFT_PRECISIONS
} hsc_fft_precision;

typedef struct hsc_fft_kernels {
  // Lines of complex numbers, or real ones without a neighbour.
  hsc_fft_function lines[HSC_FFT_PRECISIONS];
  // Lines of 2 n real numbers at one end of the transform, which is given as lines of n complex
  // ones; at the other end are n + 1 of the spectrum.
  hsc_fft_function halves[HSC_FFT_PRECISIONS];
  // One line forwards, x [2][n] with y of the same size as room; returns the one that holds the
  // result.
  double *(*transform)(const int32_t *factors,
                       int factor_count,
                       int64_t n,
                       const hsc_fft_root *roots,
                       double *x,
                       double *y);
} hsc_fft_kernels;

// NULL when this build has none for the level.
const hsc_fft_kernels *hsc_fft_kernels_for(hsc_cpu_isa_level level);
