// control.h - pauses and resumes the recording of another process: its ring files are found in its
// memory map, and a word in their headers is set.
#pragma once

#include "base/core/status.h"

// *out_rings: how many rings were set. Errors: NOT_FOUND (no such process, or it records nothing),
// PERMISSION_DENIED.
HSC_MUST_USE hsc_status *hsc_trace_set_paused(int64_t pid, bool paused, int *out_rings);

// The capture that a process records into: the directory of its first ring file. *out_path is freed
// with hsc_free. Errors: as above.
HSC_MUST_USE hsc_status *hsc_trace_find_capture(int64_t pid, char **out_path);
