// narrow_kernels.h - what narrow.c and the copies of narrow_kernels.c share.
#pragma once

#include "cpu/kernels/gemm/narrow.h"

static inline int hsc_narrow_per_unit(hsc_narrow_unit unit) {
  if (unit == HSC_NARROW_QUADS)
    return 4;
  return unit == HSC_NARROW_SHORTS || unit == HSC_NARROW_BRAINS ? 2 : 1;
}

#if defined(__x86_64__)
extern const hsc_narrow_kernel hsc_narrow_avx512_vnni[HSC_NARROW_MAX_ROWS + 1];
extern const hsc_narrow_kernel hsc_narrow_avx512_vnni_shorts[HSC_NARROW_MAX_ROWS + 1];
extern const hsc_narrow_kernel hsc_narrow_avx512_bf16[HSC_NARROW_MAX_ROWS + 1];
extern const hsc_narrow_kernel hsc_narrow_avx2_vnni[HSC_NARROW_MAX_ROWS + 1];
#endif
