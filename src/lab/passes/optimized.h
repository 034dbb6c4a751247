// optimized.h - an optimised program as a compiler gave it: its canonical fingerprint, and what it
// is made of.
#pragma once

#include <jansson.h>

#include "hlo/ir/hlo.h"

typedef struct hsc_optimized {
  // canonical: structure, shapes, attributes, constants; no names, no metadata
  char fingerprint[33];
  // kernels: what runs by itself in the entry, in loops, branches and calls
  int64_t instructions, fusions, kernels;
  int64_t custom_calls;
  double flops, bytes;  // by hloscope's cost model
  double uncounted;     // custom calls that these leave out
} hsc_optimized;
// A HLO proto, text, or what holds one. Not verified: vendors' programs may hold what our rules do
// not know.
// Errors: NOT_FOUND, DATA_LOSS, INVALID_ARGUMENT, UNIMPLEMENTED, by the reader of the format.
HSC_MUST_USE hsc_status *hsc_optimized_module(const char *path, hsc_module **out_module);
HSC_MUST_USE hsc_status *hsc_optimized_read(const char *path, hsc_optimized *out_facts);
// Instructions of `op` that no fusion took in (in the entry, in loops, branches and calls), of
// those that have an operand or a user that computes: what stands alone has nothing to be fused
// with.
int64_t hsc_optimized_alone(const hsc_module *module, hsc_op op);
// What hsc_optimized_read says as an object ("fingerprint", "instructions", "fusions", "kernels",
// "custom_calls", "flops", "bytes", "uncounted_calls"), so that results can be compared without the
// program. What cannot be read is told by its bytes: "bytes_hash", and "unread", why. NULL = no
// memory.
json_t *hsc_optimized_json(const char *path);
