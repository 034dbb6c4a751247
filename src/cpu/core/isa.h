// isa.h - what the processor can do, found at run time.
#pragma once

#include "base/core/base.h"

typedef enum hsc_cpu_isa_level {
  HSC_CPU_ISA_BASELINE,
  HSC_CPU_ISA_AVX2,
  HSC_CPU_ISA_AVX512
} hsc_cpu_isa_level;

typedef struct hsc_cpu_isa {
  hsc_cpu_isa_level level;  // AVX2 means avx2, fma, f16c; AVX512 means f, bw, dq, vl on top
  int vector_bytes;         // of the widest registers that code should use: 16, 32, 64
  // data caches seen by one core; guesses when the system does not tell
  int64_t l1_bytes, l2_bytes, l3_bytes;
  char name[64];  // "x86-64 avx2 fma"
} hsc_cpu_isa;

// Detects once per call (cheap). HLOSCOPE_CPU_ISA=baseline|avx2|avx512 lowers it, for tests.
void hsc_cpu_isa_detect(hsc_cpu_isa *out_isa);
// What the processor can do, as bits: code that was made for a processor runs on those that have
// all of its bits. CPUID leaves 1, 7 and 0x80000001; zeros on other architectures.
enum { HSC_CPU_FEATURE_WORDS = 8 };
void hsc_cpu_features(uint32_t out_words[HSC_CPU_FEATURE_WORDS]);
// Instructions beyond x86-64's first, with the registers that they work on; none elsewhere.
typedef enum hsc_cpu_instructions {
  HSC_CPU_AVX2,    // with FMA and F16C
  HSC_CPU_AVX512,  // F, BW, DQ and VL
  HSC_CPU_AVX512_VNNI,
  HSC_CPU_AVX512_BF16,
  HSC_CPU_AVX_VNNI
} hsc_cpu_instructions;
// Whether processor and operating system have them. __builtin_cpu_supports is not asked: it belongs
// to the runtime library of whatever links the program, and that of the wheel's linker knows none.
bool hsc_cpu_has(hsc_cpu_instructions unit);
// Cores that this process may use: affinity mask, then the cgroup's CPU quota rounded up; at least
// 1.
int hsc_cpu_usable_cores(void);
