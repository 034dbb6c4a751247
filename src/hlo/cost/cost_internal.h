// cost_internal.h - what the files of the cost model share. Sizes are bytes, counts are doubles:
// products of dimensions go beyond 64 bits.
#pragma once

#include "hlo/ir/hlo_internal.h"

enum { HSC__FMA_FLOPS = 2 };  // a multiply-add

double hsc__cost_elements(const hsc_shape *shape);
// Of an array; a tuple counts as its table of pointers.
double hsc__cost_bytes(const hsc_shape *shape);
// Of all leaves.
double hsc__cost_leaves_bytes(const hsc_shape *shape);

// 0 for 0.
static inline int hsc__floor_log2(uint64_t value) {
  return value ? 63 - __builtin_clzll(value) : 0;
}

// Comparisons of a sort of so many elements.
double hsc__cost_sort_flops(const hsc_shape *shape);
// n^3 / 3 for each matrix of the last two dimensions.
double hsc__cost_cholesky_flops(const hsc_shape *a);
// Of the system a x = b, a triangular.
double hsc__cost_triangular_flops(const hsc_shape *a, const hsc_shape *b);
// Of a convolution: pairs of a kernel position and an output position that meet an input element.
// windows: [dims->spatial_rank].
typedef struct hsc__conv_shapes {
  const hsc_shape *input, *kernel, *output;
  const hsc_conv_dims *dims;
  const hsc_window_dim *windows;
  int64_t feature_groups, batch_groups;
} hsc__conv_shapes;
double hsc__cost_conv_flops(const hsc__conv_shapes *c);

// The cost of a custom call by its row of library_calls.def. One that has none, or whose operands
// are not what its row says, has cost->uncounted = 1 where it reads anything.
void hsc__cost_library_call(const hsc_instr *call, hsc_cost *cost);
