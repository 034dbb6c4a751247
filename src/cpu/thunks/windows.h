// windows.h - reduce-window and select-and-scatter: how an operand is walked in windows, planned
// once.
//
// Dimensions that a window does not touch (size 1, nothing else) at the end are one run of
// neighbours; the dimension before it is `last`. The reducer and the comparator run over lanes:
// over the run when it is long (images with channels last), else over the output positions of
// `last` times the run, gathered. The remaining dimensions are outer ones; those at the front that
// no window touches are shared out to the threads.
#pragma once

#include "cpu/core/cpu_internal.h"

// positions: of select-and-scatter
enum { HSC_WINDOWS_MAX_DIMS = 8, HSC_WINDOWS_LONG_RUN = 16, HSC_WINDOWS_MAX_POSITIONS = 4096 };

typedef struct hsc_windows {
  int32_t is_scatter;   // select-and-scatter
  int32_t outer_count;  // dimensions before `last`
  int32_t free_count;   // of them, those at the front that no window touches
  // lanes are the run; `last` is one more outer dimension (then in outer[])
  int32_t direct;
  // >= 0: the outer dimension along which the result is a running fold: out[i] = fold(out[i - 1],
  // in[i])
  int32_t running;
  int32_t running_back;  // the same from the end
  int32_t element_bytes;
  int32_t select_kernel, kernel;  // numbers in executable->kernels
  struct hsc_window_axis {
    int64_t in_size, out_size, size, stride, pad_low, dilation, base_dilation;
    int64_t in_stride, out_stride;  // elements
    int32_t reversal;
  } axes[HSC_WINDOWS_MAX_DIMS];  // [outer_count]
  struct hsc_window_axis last;   // not direct
  int64_t run;                   // elements
  int64_t in_elements, out_elements;
  int64_t free_positions, run_chunk;  // tasks: free positions x chunks of the run
  int64_t work;                       // elements that are combined, for deciding on threads
} hsc_windows;
