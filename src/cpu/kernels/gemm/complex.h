// complex.h - products of complex matrices as four products of real ones: real and imaginary parts
// are taken apart, multiplied by the kernels of gemm.h, and put together again.
#pragma once

#include "cpu/kernels/gemm/gemm.h"

// Scratch of one product on one thread; is_double: c128, else c64.
int64_t hsc_complex_scratch_bytes(
    const hsc_cpu_isa *isa, bool is_double, int64_t m, int64_t n, int64_t k);
// Strides in complex elements; rows of C lie c_row elements apart. scratch aligned to 64 bytes.
// Sums are those of (a + bi)(c + di) = ac - bd + (ad + bc)i, without C's rules for infinities.
void hsc_complex_product(const hsc_cpu_isa *isa,
                         bool is_double,
                         int64_t m,
                         int64_t n,
                         int64_t k,
                         const void *a,
                         hsc_gemm_matrix a_strides,
                         const void *b,
                         hsc_gemm_matrix b_strides,
                         void *c,
                         int64_t c_row,
                         void *scratch);
