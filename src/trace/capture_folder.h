// capture_folder.h - the folder of a capture, before and between runs: a capture is of one run.
//
// What a folder may hold of a run: *.ring, profiles/, programs/. A run is one program with all that
// it starts. Processes of one run share $HLOSCOPE_TRACE_RUN (`hloscope trace` sets it, forks
// inherit it), or are parent and child, or ran at the same time; everything else is another run.
#pragma once

#include "trace/capture.h"

// Makes room for a new run at `path`: what an earlier run left there is renamed, "run.hsc" becomes
// "run.1.hsc" or the next free number. *out_kept (heap) is its new name, NULL where nothing was.
// Errors: FAILED_PRECONDITION where a living process still records there, or where other files lie
// beside the earlier capture, which are not ours to move; both say what to do.
HSC_MUST_USE hsc_status *hsc_capture_set_aside(const char *path, char **out_kept);

// Which of the rings are of the last run. `is_last` [count] is filled; returns how many earlier
// runs there are.
typedef struct hsc_ring_life {
  uint64_t run_low, run_high;  // the run's number
  int64_t pid, parent_pid;
  int64_t begin_ns, end_ns;  // wall clock; the end as far as it was written
  bool open;                 // not ended in an orderly way
} hsc_ring_life;
int hsc__capture_last_run(const hsc_ring_life *rings, int count, bool *is_last);
