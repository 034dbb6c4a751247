// profile_memory.h - what the two sources of a profile's memory share: buffers as they were
// planned, and what the runtime took.
#pragma once

#include "views/profile_internal.h"

// A row of the view 'memory'. at_ps < 0: not a moment but a plan.
void hsc__memory_row(hsc__profile_view *cx,
                     const char *holder,
                     const char *what,
                     hsc_view instr,
                     int64_t bytes,
                     int64_t at_ps);
// Rows of each allocator whose calls were recorded: at the start, the peak, the end, and what lay
// in memory at the peak.
HSC_MUST_USE hsc_status *hsc__profile_allocator_rows(hsc__profile_view *cx);
