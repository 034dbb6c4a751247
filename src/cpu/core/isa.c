// isa.c - see isa.h.
#include "base/process/cgroup.h"
#include "cpu/core/isa.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

// Registers that the operating system keeps when it switches threads (XCR0): without that a
// processor's instructions cannot be used.
enum { KEEPS_AVX = 0x06, KEEPS_AVX512 = 0xe6 };

// Words of hsc_cpu_features.
enum { LEAF_1_ECX, LEAF_1_EDX, LEAF_7_EBX, LEAF_7_ECX, LEAF_7_EDX, LEAF_7_1_EAX };

static uint64_t kept_registers(void) {
#if defined(__x86_64__)
  uint32_t words[HSC_CPU_FEATURE_WORDS];
  uint32_t low;
  uint32_t high;
  hsc_cpu_features(words);
  if (!(words[LEAF_1_ECX] & 1u << 27))
    return 0;  // the system has not turned XGETBV on
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
#else
  return 0;
#endif
}

bool hsc_cpu_has(hsc_cpu_instructions unit) {
  static const struct {
    uint64_t keeps;
    struct {
      int word;
      uint32_t bits;
    } needs[2];  // of the second the bits may be 0
  } units[] = {
      [HSC_CPU_AVX2] = {KEEPS_AVX, {{LEAF_1_ECX, 1u << 12 | 1u << 29}, {LEAF_7_EBX, 1u << 5}}},
      [HSC_CPU_AVX512] = {KEEPS_AVX512, {{LEAF_7_EBX, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31}}},
      [HSC_CPU_AVX512_VNNI] = {KEEPS_AVX512, {{LEAF_7_ECX, 1u << 11}}},
      [HSC_CPU_AVX512_BF16] = {KEEPS_AVX512, {{LEAF_7_1_EAX, 1u << 5}}},
      [HSC_CPU_AVX_VNNI] = {KEEPS_AVX, {{LEAF_7_1_EAX, 1u << 4}}},
  };
  uint32_t words[HSC_CPU_FEATURE_WORDS];
  hsc_cpu_features(words);
  for (int i = 0; i < 2; i++) {
    uint32_t bits = units[unit].needs[i].bits;
    if ((words[units[unit].needs[i].word] & bits) != bits)
      return false;
  }
  return (kept_registers() & units[unit].keeps) == units[unit].keeps;
}

static hsc_cpu_isa_level detect_level(void) {
  if (!hsc_cpu_has(HSC_CPU_AVX2))
    return HSC_CPU_ISA_BASELINE;
  return hsc_cpu_has(HSC_CPU_AVX512) ? HSC_CPU_ISA_AVX512 : HSC_CPU_ISA_AVX2;
}

static int64_t cache_bytes(int name, int64_t guess) {
  long bytes = sysconf(name);
  return bytes > 0 ? bytes : guess;
}

void hsc_cpu_isa_detect(hsc_cpu_isa *out_isa) {
  static const char *const names[] = {"baseline", "avx2", "avx512"};
  memset(out_isa, 0, sizeof *out_isa);
  out_isa->level = detect_level();
  const char *wanted = getenv("HLOSCOPE_CPU_ISA");
  for (int i = 0; wanted && i < (int)out_isa->level; i++)
    if (!strcmp(wanted, names[i]))
      out_isa->level = (hsc_cpu_isa_level)i;
  out_isa->vector_bytes = 16 << out_isa->level;
  out_isa->l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  out_isa->l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
  out_isa->l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 8 << 20);
#if defined(__x86_64__)
  static const char *const sets[] = {[HSC_CPU_ISA_BASELINE] = "",
                                     [HSC_CPU_ISA_AVX2] = " avx2 fma",
                                     [HSC_CPU_ISA_AVX512] = " avx512 fma"};
  snprintf(out_isa->name, sizeof out_isa->name, "x86-64%s", sets[out_isa->level]);
#elif defined(__aarch64__)
  snprintf(out_isa->name, sizeof out_isa->name, "aarch64 neon");
#else
  snprintf(out_isa->name, sizeof out_isa->name, "generic");
#endif
}

// CPUID leaves a virtual machine, for 10 us each: once is enough.
static pthread_once_t features_once = PTHREAD_ONCE_INIT;
static uint32_t feature_words[HSC_CPU_FEATURE_WORDS];

static void read_features(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    feature_words[0] = c;
    feature_words[1] = d;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    feature_words[2] = b;
    feature_words[3] = c;
    feature_words[4] = d;
  }
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d))
    feature_words[5] = a;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
    feature_words[6] = c;
    feature_words[7] = d;
  }
#endif
}

void hsc_cpu_features(uint32_t out_words[HSC_CPU_FEATURE_WORDS]) {
  pthread_once(&features_once, read_features);
  memcpy(out_words, feature_words, sizeof feature_words);
}

int hsc_cpu_usable_cores(void) {
  cpu_set_t set;
  int cores = 0;
  if (!sched_getaffinity(0, sizeof set, &set))
    cores = CPU_COUNT(&set);
  if (cores < 1)
    cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
  hsc_cgroup group;
  hsc_cgroup_read("", &group);
  if (group.cores < cores)
    cores = (int)ceil(group.cores);
  return cores < 1 ? 1 : cores;
}
