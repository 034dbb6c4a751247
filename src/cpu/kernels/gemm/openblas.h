// openblas.h - OpenBLAS as a candidate for matrix products: loaded when first used, one thread per
// call.
#pragma once

#include "cpu/kernels/gemm/gemm.h"
#include "hlo/ir/hlo.h"

// Whether it is on this machine; opens it.
bool hsc_openblas_there(void);
// c = a·b for f32 and f64. False when OpenBLAS is not on this machine, or it cannot take these
// strides: the caller then does it itself.
bool hsc_openblas_product(hsc_type type,
                          int64_t m,
                          int64_t n,
                          int64_t k,
                          const void *a,
                          hsc_gemm_matrix a_strides,
                          const void *b,
                          hsc_gemm_matrix b_strides,
                          void *c,
                          int64_t c_row);
