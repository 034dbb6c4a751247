// scatter_table.c - the copy of scatter_kernels.c for a level.
#include "cpu/kernels/move/scatter_kernels.h"

extern const hsc_scatter_kernels hsc_scatter_kernels_baseline;
#if defined(__x86_64__)
extern const hsc_scatter_kernels hsc_scatter_kernels_avx2, hsc_scatter_kernels_avx512;
#endif

const hsc_scatter_kernels *hsc_scatter_kernels_for(hsc_cpu_isa_level level) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return &hsc_scatter_kernels_avx512;
  if (level == HSC_CPU_ISA_AVX2)
    return &hsc_scatter_kernels_avx2;
#endif
  return level == HSC_CPU_ISA_BASELINE ? &hsc_scatter_kernels_baseline : NULL;
}
