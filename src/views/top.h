// top.h - what a running program does now: the last seconds of a capture.
#pragma once

#include "report/table.h"
#include "trace/capture.h"

// Rows: executables that ran in the last `window_ns` before `now_ns` (on the capture's time line;
// INT64_MIN: the program has ended, its last moment), by time (executions.h): runs per second,
// median and 95th and 99th percentile (missing when the runs are too few for it), share of the
// window, all runs so far. Notes: totals, compilations, memory, losses. The caller owns it.
HSC_MUST_USE hsc_status *hsc_top_table(const hsc_capture *capture,
                                       int64_t window_ns,
                                       int64_t now_ns,
                                       hsc_table **out_table);
