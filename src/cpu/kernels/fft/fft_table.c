// fft_table.c - the copy of fft_kernels.c for a level.
#include "cpu/kernels/fft/fft_kernels.h"

extern const hsc_fft_kernels hsc_fft_kernels_baseline;
#if defined(__x86_64__)
extern const hsc_fft_kernels hsc_fft_kernels_avx2, hsc_fft_kernels_avx512;
#endif

const hsc_fft_kernels *hsc_fft_kernels_for(hsc_cpu_isa_level level) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return &hsc_fft_kernels_avx512;
  if (level == HSC_CPU_ISA_AVX2)
    return &hsc_fft_kernels_avx2;
#endif
  return level == HSC_CPU_ISA_BASELINE ? &hsc_fft_kernels_baseline : NULL;
}
