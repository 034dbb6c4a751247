// kernels.h - the payload of KERNEL thunks.
#pragma once

#include "base/base.h"

typedef struct hsc_cpu_kernel_call {
  int64_t count;                 // of the outermost loop
  int64_t chunk;                 // trips of it per call; >= count: one call on the calling thread
  int64_t partials;              // > 0: a reduction in parts; afterwards they are combined
  int64_t partial_offset[64];    // where each output's parts lie in scratch
} hsc_cpu_kernel_call;
