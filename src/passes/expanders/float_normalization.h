// float_normalization.h - arithmetic of a narrow float type in f32.
#pragma once

#include "passes/manager/passes_internal.h"

// Rewrites what computes in `type`: operands are converted to f32, and the result back.
HSC_MUST_USE hsc_status *hsc__normalize_floats(hsc_module *module,
                                               hsc_pass_context *cx,
                                               hsc_type type);
