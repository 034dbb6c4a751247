// jit.c - see jit.h.
#include "cpu/jit.h"

void hsc_cpu_jit_destroy(hsc_cpu_jit *jit) { (void)jit; }
