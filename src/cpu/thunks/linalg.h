// linalg.h - the payload of LINALG thunks: cholesky and triangular-solve of real matrices, batched,
// blocked over the kernels of matrix products.
#pragma once

#include "cpu/core/cpu_internal.h"
#include "cpu/kernels/gemm/gemm.h"
#include "cpu/kernels/move/strided_copy.h"

enum { HSC_LINALG_BLOCK = 32, HSC_LINALG_ROWS = 64 };

typedef struct hsc_linalg {
  int32_t is_solve;  // triangular-solve, else cholesky
  int32_t type;      // f32 or f64
  int32_t lower;     // cholesky
  int32_t unit;      // triangular-solve: the diagonal is one
  int64_t batches, n;
  // Triangular-solve: brought to M x = b with M lower, by transposing and by turning the order
  // round; both are copied to scratch.
  int64_t right_sides;         // columns of x
  int64_t m_offset, x_offset;  // scratch: [batches][n][n], [batches][n][right_sides]
  // elements from a matrix's start to its first one in the turned order
  int64_t a_from, b_from;
  hsc_strided a_copy, b_copy;  // of one matrix; b_copy reversed gives the result
  int64_t b_elements;          // of one matrix
  hsc_gemm_blocking blocking;
} hsc_linalg;
