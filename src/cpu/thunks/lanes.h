// lanes.h - computations of scalars (reducers, comparators, the combiners of scatters) as generated
// kernels over arrays.
//
// The kernel of a computation with parameters p0, p1 ... and one result takes one array per
// parameter and one for the result, and does elements [begin, end) of all of them, end <=
// HSC_LANES. Arrays need no alignment; the result may be one of the parameters' arrays.
#pragma once

#include "cpu/thunks/kernels.h"

// no multiple of a vector's width: the generated loop then takes any end
enum { HSC_LANES = 1021 };

// The number of the kernel of `computation` in this compilation; *out_kernel = -1 when it cannot be
// generated.
HSC_MUST_USE hsc_status *hsc__cpu_add_lanes(hsc_cpu_compiler *compiler,
                                            const hsc_computation *computation,
                                            int32_t *out_kernel);

// A comparator that orders by one operand alone: f(left) < f(right) or f(left) > f(right) with the
// same f of operand `operand`.
typedef struct hsc_cpu_key {
  int32_t operand;
  int32_t descending;
  int32_t type;         // hsc_type of f's result
  int32_t total_order;  // floats: as bits, -NaN first and NaN last
  int32_t kernel;       // of f, -1 = the operand itself
} hsc_cpu_key;
HSC_MUST_USE hsc_status *hsc__cpu_find_key(hsc_cpu_compiler *compiler,
                                           const hsc_computation *comparator,
                                           hsc_cpu_key *out_key,
                                           bool *out_found);

// Whether the kernel was made by hsc__cpu_add_lanes for parameters and a result of these sizes.
bool hsc__lanes_fit(hsc_cpu_payload *payload,
                    int32_t kernel,
                    int64_t result_bytes,
                    int parameter_count,
                    const int64_t *parameter_bytes);
