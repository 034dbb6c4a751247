// culprit_kinds.h - faults of passes and of executables beyond the first list's.
#pragma once

#include "cpu/core/cpu_internal.h"
#include "passes/manager/passes_internal.h"

// HLOSCOPE_CULPRIT names this fault of this place; *out_number is its N.
bool hsc_culprit_wants(const char *place, const char *kind, int64_t *out_number);
// A module behind the run-th run of a pass in this compile (from 1), which had done `had` rewrites
// before and has done `have` now: the kinds of culprit_kinds.def that HLOSCOPE_CULPRIT names for
// it.
HSC_MUST_USE hsc_status *hsc_culprit_rewrite(
    hsc_module *module, const char *pass, int64_t run, int64_t had, int64_t have);
// Before a pass runs, whether or not it will change anything.
HSC_MUST_USE hsc_status *hsc_culprit_enter(const hsc_module *module, const char *pass);
// Outputs behind an execution of an executable, and inputs, which nobody may write to.
void hsc_culprit_outputs(const hsc_cpu_executable *executable,
                         const void *const *inputs,
                         void *const *outputs);
