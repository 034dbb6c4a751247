// kernel_vectors.h - registers as the inner kernels of matrix products and convolutions use them:
// included by files that are compiled once per instruction set, with HSC_ISA_BYTES.
#pragma once

#include <stdint.h>

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

typedef float vector_f32 __attribute__((vector_size(HSC_ISA_BYTES), aligned(4), may_alias));
typedef double vector_f64 __attribute__((vector_size(HSC_ISA_BYTES), aligned(8), may_alias));
typedef int32_t bits_f32 __attribute__((vector_size(HSC_ISA_BYTES)));
typedef int64_t bits_f64 __attribute__((vector_size(HSC_ISA_BYTES)));
#define UNROLL _Pragma("GCC unroll 16")

// Zero where x < 0: what is not smaller, NaN too, stays.
static inline vector_f32 relu_f32(vector_f32 x) {
  return (vector_f32)((bits_f32)x & ~(bits_f32)(x < 0));
}
static inline vector_f64 relu_f64(vector_f64 x) {
  return (vector_f64)((bits_f64)x & ~(bits_f64)(x < 0));
}
