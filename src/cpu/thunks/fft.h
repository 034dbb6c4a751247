// fft.h - the payload of FFT thunks: fft, ifft, rfft, irfft over the last one to three dimensions,
// of any length.
//
// One dimension after the other, by Stockham's mixed radix transform. A length with a
// large prime factor is done by Bluestein's: as a convolution with a chirp, by transforms of a
// length made of 2, 3 and 5. Lines of
// an even number of real numbers are transformed as half as many complex ones.
#pragma once

#include "cpu/core/cpu_internal.h"

enum { HSC_FFT_MAX_DIMS = 3, HSC_FFT_MAX_FACTORS = 48, HSC_FFT_LINES = 8 };

typedef struct hsc_fft_pass {
  // length; elements between neighbours of a line, before and after; lines of lines
  int64_t n, inner, outer;
  int64_t in_length, out_length;  // elements of a line that are stored on each side
  int64_t length;                 // of what is transformed: n, half of it for real lines
  // scratch: roots of one, as many as the transform is long; Bluestein's behind them: `length`
  // of the chirp, and the chirp's spectrum; then, for real lines, roots of one for half a turn
  int64_t roots_offset;
  int64_t padded;  // length of Bluestein's transforms, 0 = the lines themselves are transformed
  int32_t factor_count;
  int32_t factors[HSC_FFT_MAX_FACTORS];
} hsc_fft_pass;

typedef struct hsc_fft {
  int32_t in_type, out_type;  // hsc_type: f32, f64, c64, c128
  int32_t inverse, to_real;   // to_real: the last pass mirrors half a spectrum
  int32_t pass_count;
  hsc_fft_pass passes[HSC_FFT_MAX_DIMS];
  int64_t work_offset;  // scratch: the array between passes, complex
} hsc_fft;
