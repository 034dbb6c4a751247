// program_spec.h - a program as experiments name it: a file, and what is done to it before it is compiled.
//
//   repeat:N            f after f after f, N times in one program (the natural loop)
//   vmap:N[:I,J...]     N inputs at once along a new leading dimension 0 of parameters I, J, ... (default: the one that
//   the result has the shape of) scan:N              a loop of N that carries the state and stacks what it carried
//   constant:I=V        parameter I becomes a constant expression: V broadcast to its shape (as a framework makes it of
//   `ones(...)` on the device)
// The same words are the options of `hloscope convert`.
#pragma once

#include "hlo/hlo.h"

// The parameter that carries the state through the pattern: the last one whose shape equals the (first leaf of the)
// result's; -1 = none.
int hsc_program_carried_parameter(const hsc_module *module);

// Applies one transform to `module`, which is replaced (and destroyed) when the transform makes a new one.
// Errors: INVALID_ARGUMENT (unknown transform, malformed or wrong numbers: with what is right), UNIMPLEMENTED (an op
// that cannot be transformed, by name).
HSC_MUST_USE hsc_status *hsc_program_transform(const char *text, hsc_module **module);

// Reads a file and applies transforms in order.
HSC_MUST_USE hsc_status *hsc_program_open(const char *path, const char *const *transforms, size_t transform_count,
                                          hsc_module **out_module);
