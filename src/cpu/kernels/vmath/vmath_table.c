// vmath_table.c - which copy of the vector functions belongs to which level.
#include "cpu/kernels/vmath/vmath.h"

const hsc_cpu_symbol *hsc_vmath_symbols_baseline(size_t *out_count);
#if defined(__x86_64__)
const hsc_cpu_symbol *hsc_vmath_symbols_avx2(size_t *out_count);
const hsc_cpu_symbol *hsc_vmath_symbols_avx512(size_t *out_count);
#endif

const hsc_cpu_symbol *hsc_vmath_symbols(hsc_cpu_isa_level level, size_t *out_count) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return hsc_vmath_symbols_avx512(out_count);
  if (level == HSC_CPU_ISA_AVX2)
    return hsc_vmath_symbols_avx2(out_count);
#endif
  return hsc_vmath_symbols_baseline(out_count);
}
