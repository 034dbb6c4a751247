// run_counts.h - what a program computes, operation by operation: as its text says, as it ran, as a
// device's compiler left it, and as that compiler counts itself.
#pragma once

#include <jansson.h>

#include "base/core/bytes.h"

// "counts" of a device of `hloscope run`, from a worker's answers; owned by the caller. Of the
// reference evaluator (`ran`, else NULL) "exact" stands beside "static", of a compiler
// (`described`) "compiled" and "own". "by_op": [{"op", "static", "exact" or "compiled", "why"}],
// the operation that differs most first; "differences": how many differ. NULL = nothing to count.
json_t *hsc_run_counts(json_t *ran, json_t *described);

// "2 calls of triton_kernel_call are not counted" of an object that holds "uncounted_calls" and
// "uncounted"; false, and nothing appended, where it counts all. What flops, bytes and a roofline
// are shown beside says this.
bool hsc_say_uncounted(json_t *count, hsc_bytes *out);
