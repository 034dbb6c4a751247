// passes_list_internal.h - what the readers of pass lists share.
#pragma once

#include "lab/passes_list.h"

// The largest module metadata file of a directory: that of the program, where the compiler also compiled small ones beside it. NULL = there is none.
HSC_MUST_USE hsc_status *hsc__metadata_file(const char *directory, hsc_arena *arena, const char **out_path);
