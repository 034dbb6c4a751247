// float_mode.h - the processor's rules for arithmetic while our code computes: denormal numbers are
// kept, rounding is to the nearest. Callers may have others: jaxlib compiles on threads that take
// denormal numbers for zero, and constants would be folded to zero there.
#pragma once

#include <stdint.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

// Sets them for this thread; returns what was there, for hsc_float_mode_restore.
static inline uint64_t hsc_float_mode_set(void) {
  uint64_t kept = 0;
#if defined(__SSE2__)
  kept = _mm_getcsr();
  _mm_setcsr(0x1f80);
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, fpcr" : "=r"(kept));
  __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
#endif
  return kept;
}

static inline void hsc_float_mode_restore(uint64_t kept) {
#if defined(__SSE2__)
  _mm_setcsr((unsigned)kept);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(kept));
#endif
}
