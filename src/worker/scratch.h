// scratch.h - a directory for what a command leaves behind, removed with everything in it.
#pragma once

#include "base/core/status.h"

// A new hloscope-scratch-XXXXXX below $TMPDIR, else /tmp, for this user alone and held by this
// process until it is destroyed or the process ends, however it ends. Heap string. The first call
// removes what processes that were killed left there: directories of that name that nobody holds
// and nothing was put into for a minute. Thread-safe. Errors: of the file system, no memory.
HSC_MUST_USE hsc_status *hsc_scratch_create(char **out_path);

// For the many small files that a compiler dumps while it is timed: in /dev/shm where that is a
// file system in memory with 2 GiB to spare (on disks, making a file costs XLA more than printing
// into it) and $TMPDIR says nothing else; otherwise as above.
HSC_MUST_USE hsc_status *hsc_scratch_create_for_dumps(char **out_path);

void hsc_scratch_empty(const char *path);  // removes what is in it
void hsc_scratch_destroy(char *path);      // and itself; frees the string; NULL is fine
