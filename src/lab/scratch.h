// scratch.h - a directory for what a worker leaves behind, removed with everything in it.
#pragma once

#include "base/base.h"

// $TMPDIR or /tmp, hloscope-XXXXXX. Heap string.
HSC_MUST_USE hsc_status *hsc_scratch_create(char **out_path);
void hsc_scratch_empty(const char *path);   // removes what is in it
void hsc_scratch_destroy(char *path);       // and itself; frees the string; NULL is fine
