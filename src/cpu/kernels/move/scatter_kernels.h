// scatter_kernels.h - updates combined into an array at given offsets, by the combiners that nearly
// all scatters have.
//
// Updates are applied in their order, so that the sum of one element is rounded alike on every
// machine and with every thread count. Compiled once per instruction set.
#pragma once

#include "cpu/core/isa.h"
#include "hlo/ir/hlo.h"

typedef enum hsc_scatter_op {
  HSC_SCATTER_CALL,  // by a generated kernel: none of these
  HSC_SCATTER_SET,
  HSC_SCATTER_ADD,
  HSC_SCATTER_MULTIPLY,
  HSC_SCATTER_MAX,
  HSC_SCATTER_MIN,
  HSC_SCATTER_OP_COUNT
} hsc_scatter_op;

// For i in [0, count): elements out[offsets[i] .. + run) are combined with updates[i * stride .. +
// run); offset -1 = the update is left out. Elements, not bytes.
typedef void (*hsc_scatter_function)(void *out,
                                     const void *updates,
                                     int64_t stride,
                                     const int64_t *offsets,
                                     int64_t count,
                                     int64_t run);

// For i in [0, count): index i is from[i * stride]; offsets[i] grows by it times target_stride, or
// becomes -1 where the index is not in [0, limit] or the offset was -1 before.
typedef void (*hsc_scatter_indices)(const void *from,
                                    int64_t stride,
                                    int64_t count,
                                    int64_t limit,
                                    int64_t target_stride,
                                    int64_t *offsets);
// The same where all offsets were `first` before, which need not be written to be read again.
typedef void (*hsc_scatter_first_indices)(const void *from,
                                          int64_t stride,
                                          int64_t count,
                                          int64_t limit,
                                          int64_t target_stride,
                                          int64_t first,
                                          int64_t *out_offsets);
typedef struct hsc_scatter_kernels {
  // out_offsets[i] = first + i * stride for i in [0, count)
  void (*begin)(int64_t first, int64_t stride, int64_t count, int64_t *out_offsets);
  hsc_scatter_first_indices first_indices[HSC_TYPE_COUNT];  // by type; where indices has one
  hsc_scatter_indices indices[HSC_TYPE_COUNT];  // by type of the indices; NULL = not there
  hsc_scatter_function functions[HSC_SCATTER_OP_COUNT][HSC_TYPE_COUNT];  // NULL = not there
} hsc_scatter_kernels;

const hsc_scatter_kernels *hsc_scatter_kernels_for(hsc_cpu_isa_level level);
