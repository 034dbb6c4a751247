// jit.h - machine code at run time.
#pragma once

#include "base/base.h"

typedef struct hsc_cpu_jit hsc_cpu_jit;
void hsc_cpu_jit_destroy(hsc_cpu_jit *jit);   // NULL is fine
