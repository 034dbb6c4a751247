// while_util.h - what is known about a while loop from its text: induction variable, trip count.
#pragma once

#include "passes/passes_internal.h"

typedef struct hsc__loop {
  int64_t tuple_index;     // of the induction variable in the state
  int64_t init, step, bound;
  int64_t trip_count;
} hsc__loop;

// Recognises loops whose condition is state[i] < constant (also <=, >, >=, !=, either side), whose body adds a constant to state[i], and whose
// initial state[i] is a constant. False when it is not such a loop.
bool hsc__loop_analyse(const hsc_instr *loop, hsc__loop *out_loop);
