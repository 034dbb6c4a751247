// pass_loop.h - loops that passes build.
#pragma once

#include "passes/manager/passes_internal.h"

// What one trip does: `counter` is an s32 scalar, 0 in the first trip; state[i] is to be replaced
// by its next value of the same shape.
typedef void (*hsc__loop_step)(hsc_builder *b, hsc_instr *counter, hsc_instr **state, void *user);

// A loop of `trips` trips where the builder is, over `count` values. state[] holds the initial
// values before and the last ones after. What the step needs from outside goes into the state, and
// stays as it is.
void hsc__build_counted_loop(
    hsc_builder *b, int64_t trips, int count, hsc_instr **state, hsc__loop_step step, void *user);

// A scalar of type s32.
hsc_instr *hsc__build_index(hsc_builder *b, int64_t value);
