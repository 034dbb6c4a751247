// affine.h - index expressions of kernels: constant + sum of factor x symbol, where a symbol is a
// loop counter or a value known at run time.
//
// Every symbol has a range [0, size). Division and remainder by a constant stay affine where the
// ranges allow it, so that reshapes, which are a linearisation and a row of divisions, usually
// leave nothing to compute.
#pragma once

#include "base/core/base.h"

enum { HSC_AFFINE_MAX_TERMS = 16 };

typedef struct hsc_affine_term {
  int32_t symbol;
  int64_t factor;  // never 0
} hsc_affine_term;

typedef struct hsc_affine {
  int64_t constant;
  int32_t count;
  hsc_affine_term terms[HSC_AFFINE_MAX_TERMS];  // [count] by rising symbol
} hsc_affine;

typedef struct hsc_affine_range {
  int64_t low, high;  // inclusive
} hsc_affine_range;

hsc_affine hsc_affine_constant(int64_t value);
hsc_affine hsc_affine_symbol(int32_t symbol);
// False when the result has too many terms; *out is then not written.
// a + b * b_factor
HSC_MUST_USE bool hsc_affine_add(const hsc_affine *a,
                                 const hsc_affine *b,
                                 int64_t b_factor,
                                 hsc_affine *out);
hsc_affine hsc_affine_scale(const hsc_affine *a, int64_t factor);
bool hsc_affine_equal(const hsc_affine *a, const hsc_affine *b);
int64_t hsc_affine_factor(const hsc_affine *a, int32_t symbol);  // 0 when it is not in
hsc_affine_range hsc_affine_range_of(const hsc_affine *a, const int64_t *symbol_sizes);
// quotient and remainder by divisor > 0 (floored), when both are affine. Otherwise false;
// *out_symbol is then a symbol whose cutting into (size / *out_inner, *out_inner) makes them so, or
// -1.
bool hsc_affine_divide(const hsc_affine *a,
                       int64_t divisor,
                       const int64_t *symbol_sizes,
                       hsc_affine *out_quotient,
                       hsc_affine *out_remainder,
                       int32_t *out_symbol,
                       int64_t *out_inner);
