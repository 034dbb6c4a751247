// reduction_util.h - what the passes on reductions share.
#pragma once

#include "passes/manager/passes_internal.h"

// The reduce with each array operand reshaped to `rank` dimensions `dims`, over `reduced` of them;
// the same initial values and reducer. Its result has the dimensions that are left.
hsc_instr *hsc__build_reshaped_reduce(hsc_builder *b,
                                      hsc_instr *reduce,
                                      int rank,
                                      const int64_t *dims,
                                      int reduced_count,
                                      const int64_t *reduced);
// A value, or each element of a tuple, reshaped to the dimensions of `like`.
hsc_instr *hsc__build_reshaped_like(hsc_builder *b, hsc_instr *value, const hsc_shape *like);
// Whether dimension `dim` is one that the reduce folds.
bool hsc__reduces(const hsc_instr *reduce, int64_t dim);
// The common dimensions of the array operands of a reduce are static.
bool hsc__reduce_is_static(const hsc_instr *reduce);
