// while_util.h - what is known about a while loop from its text: induction variable, trip count.
#pragma once

#include "passes/manager/passes_internal.h"

typedef struct hsc__loop {
  int64_t tuple_index;  // of the induction variable in the state
  int64_t init, step, bound;
  int64_t trip_count;
} hsc__loop;

// Recognises loops whose condition is state[i] < constant (also <=, >, >=, !=, either side), whose
// body adds a constant to state[i], and whose initial state[i] is a constant. False when it is not
// such a loop.
bool hsc__loop_analyse(const hsc_instr *loop, hsc__loop *out_loop);

// All readers of the tuple are get-tuple-elements, and it is no root. `live` (may be NULL) gets a
// mark per element that is read.
bool hsc__only_elements_read(const hsc_instr *tuple, bool *live);
// Whether a pass may change condition and body for this loop: tuple state that is read and made
// element by element, and no other caller. The initial state need not be a tuple instruction.
bool hsc__loop_is_own(const hsc_instr *loop);
// The same of its condition and body alone: the loop may be a root, or be read whole.
bool hsc__loop_inside_is_own(const hsc_instr *loop);
// The same without looking for other callers, which takes a walk over the module.
bool hsc__loop_goes_by_element(const hsc_instr *loop);
// Whether the body of such a loop passes element `index` on as it came.
bool hsc__loop_keeps(const hsc_instr *loop, int64_t index);
// Adds `count` values of the loop's computation to its state, which the body passes on unchanged.
// inside[i] is value i in the body. The loop must be one of hsc__loop_is_own.
HSC_MUST_USE hsc_status *hsc__loop_add_invariants(hsc_instr *loop,
                                                  int count,
                                                  hsc_instr *const *values,
                                                  hsc_instr **inside);
// Tuples inside of the loop's state become elements of it (while_flatten.c). Nothing happens to a
// loop whose condition or body has another caller.
HSC_MUST_USE hsc_status *hsc__loop_flatten(hsc_instr *loop, hsc_pass_context *cx);
