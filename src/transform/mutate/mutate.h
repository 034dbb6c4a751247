// mutate.h - other programs that compute the same: what a compiler must get right too.
#pragma once

#include "base/core/random.h"
#include "hlo/ir/hlo.h"

// Rewrites one to sixteen values of the module, in all computations, by rows of mutations.def, as
// `random` draws them: the same seed makes the same mutant. What comes out computes what the module
// computed, but for the rounding that another order of sums has; it is sorted and verifies. A
// module without a value that can be rewritten stays as it is. Errors: RESOURCE_EXHAUSTED, or a
// mutant that does not verify (a fault of a row).
HSC_MUST_USE hsc_status *hsc_transform_mutate(hsc_module *module, hsc_random *random);
