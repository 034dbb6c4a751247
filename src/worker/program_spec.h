// program_spec.h - a program as experiments name it: a file, and what is done to it before it is
// compiled.
//
//   repeat:N[:A,B...]             f after f after f, N times in one program (the natural loop); A,
//                                 B: which parameter
//   leaf each result leaf feeds vmap:N[:A,B...][:RANDOMNESS]  N inputs at once along a new first
//   dimension of parameter
//   leaves A, B; RANDOMNESS: error, same or different scan:N[:A,B...]               a loop of N
//   that carries the state
//   and stacks what it carried constant:I=V                  parameter I becomes a constant
//   expression: V broadcast to
//   its shape (as a framework makes it of `ones(...)` on the
//                                 device)
// Without A, B: transform.h says what feeds what. The same words are `hloscope run --transform`.
#pragma once

#include "transform/transform.h"

// Pairs of leaves: pairs[2 i] of the result feeds pairs[2 i + 1] of the parameters when the program
// is run again on its own result. In `arena`. *out_count 0: nothing does.
HSC_MUST_USE hsc_status *hsc_program_feeds(const hsc_module *module,
                                           hsc_arena *arena,
                                           int32_t **out_pairs,
                                           int *out_count);

// Applies one transform to `module`, which is replaced (and destroyed) when the transform makes a
// new one.
// Errors: INVALID_ARGUMENT (unknown transform, malformed or wrong numbers: with what is right),
// UNIMPLEMENTED (an op that cannot be transformed, by name).
HSC_MUST_USE hsc_status *hsc_program_transform(const char *text, hsc_module **module);

// Reads a file and applies transforms in order.
HSC_MUST_USE hsc_status *hsc_program_open(const char *path,
                                          const char *const *transforms,
                                          size_t transform_count,
                                          hsc_module **out_module);
