// lower_internal.h - what the files that lower stages of vendors' compiles share.
#pragma once

#include "lab/passes/lower_custom_calls.h"

// lower_mixed.c
// A shape as HLO text gives it, cut to fit.
void hsc__lower_shape_text(const hsc_shape *shape, char out[512]);
// Lines in place of `line`, the text of `instr`: converts of its operands, the operation, the
// convert to its type. False where that would be no valid HLO either, or where it is valid as it
// is (a dot may widen).
bool hsc__lower_mixed(const hsc_instr *instr, hsc_view line, hsc_bytes *out);
