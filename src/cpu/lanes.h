// lanes.h - computations of scalars (reducers, comparators, the combiners of scatters) as generated kernels over arrays.
//
// The kernel of a computation with parameters p0, p1 ... and one result takes one array per parameter and one for the result, and does
// elements [begin, end) of all of them, end <= HSC_LANES. Arrays need no alignment; the result may be one of the parameters' arrays.
#pragma once

#include "cpu/kernels.h"

enum { HSC_LANES = 1021 };   // no multiple of a vector's width: the generated loop then takes any end

// The number of the kernel of `computation` in this compilation; *out_kernel = -1 when it cannot be generated.
HSC_MUST_USE hsc_status *hsc__cpu_add_lanes(hsc_cpu_compiler *compiler, const hsc_computation *computation, int32_t *out_kernel);
