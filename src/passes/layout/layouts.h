// layouts.h - orders of dimensions in memory, as layout-assignment writes them and
// layout-normalization takes them away again.
//
// An order lists dimensions from the slowest to the fastest: order[p] is the dimension that is
// at place p; row-major is 0, 1, 2 ...
#pragma once

#include "passes/manager/passes_internal.h"

typedef struct hsc__order {
  int32_t rank;
  int8_t dim[HSC_MAX_RANK];  // [rank] by place
} hsc__order;

hsc__order hsc__order_of(const hsc_shape *shape);       // by its layout
bool hsc__order_is_row_major(const hsc__order *order);  // dimensions of size 1 count, too
bool hsc__order_equal(const hsc__order *a, const hsc__order *b);
int hsc__order_place(const hsc__order *order, int64_t dim);
// The shape with that order as its layout; row-major is no layout.
hsc_shape hsc__shape_in_order(hsc_arena *arena, hsc_shape shape, const hsc__order *order);
// The order in which transpose(x) is x's bytes unchanged.
hsc__order hsc__order_of_transposed(const hsc__order *operand, hsc_dims permutation);
// Whether an instruction takes an operand in any order at no cost, its other operands and its
// result staying as they are.
bool hsc__takes_order(const hsc_instr *instr, int operand, const hsc__order *order);
// A dot whose result has its right operand's free dimensions before the left one's: it multiplies
// the other way round.
bool hsc__is_exchanged_dot(const hsc_instr *dot, const hsc__order *order);
