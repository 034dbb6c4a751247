// scratch.h - a directory for what a worker leaves behind, removed with everything in it.
#pragma once

#include "base/core/status.h"

// Where temporary directories go: $TMPDIR, else /tmp.
const char *hsc_scratch_base(void);

// A new hloscope-XXXXXX below it. Heap string.
HSC_MUST_USE hsc_status *hsc_scratch_create(char **out_path);

// For the many small files that a compiler dumps while it is timed: in /dev/shm where that is a
// file system in memory with 2 GiB to spare (on disks, making a file costs XLA more than printing
// into it) and $TMPDIR says nothing else; otherwise as above. What processes that were killed left
// there more than a day ago is removed.
HSC_MUST_USE hsc_status *hsc_scratch_create_for_dumps(char **out_path);

void hsc_scratch_empty(const char *path);  // removes what is in it
void hsc_scratch_destroy(char *path);      // and itself; frees the string; NULL is fine
