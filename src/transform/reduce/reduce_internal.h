// reduce_internal.h - what the rules share.
//
// A rule is one function that walks a copy of the program and asks hsc__reduce_here at each place,
// in a fixed order; where that says true it changes the copy. Asked for the number of places only,
// it always says false. What a change leaves without use is removed afterwards, for all rules; what
// nothing used before stays.
#pragma once

#include "transform/reduce/reduce.h"

typedef struct hsc__reducing {
  hsc_module *module;  // the copy
  const bool *chosen;  // [chosen_count]; NULL = count only
  int64_t chosen_count;
  int64_t places;  // asked for so far
  bool changed;
  const hsc_instr **unused;  // [unused_count] of the copy: unused in the program as it came
  int32_t unused_count, unused_room;
  // [new_count] parameters that were added to the entry computation and whose values they get
  struct hsc__reduce_new {
    hsc_instr *parameter;
    const hsc_instr *value_of;
  } *added;
  int32_t added_count, added_room;
} hsc__reducing;

typedef hsc_status *(*hsc__reduce_fn)(hsc__reducing *r);
#define RULE(id, name, doc) HSC_MUST_USE hsc_status *hsc__reduce_##id(hsc__reducing *r);
#include "transform/reduce/reduce_rules.def"
#undef RULE

// A copy of the program; the instructions of its entry computation point to those they are copies
// of.
HSC_MUST_USE hsc_status *hsc__reduce_begin(const hsc_module *module, hsc__reducing *r);
// What was made of the copy, as the caller gets it. Takes `status`. A program that does not verify
// is none.
HSC_MUST_USE hsc_status *hsc__reduce_end(hsc__reducing *r,
                                         hsc_status *status,
                                         hsc_reduced *out_reduced);
// Whether nothing used it, and nothing else kept it, in the program as it came.
bool hsc__reduce_was_unused(const hsc__reducing *r, const hsc_instr *instr);
// What a change leaves without use is not swept away: this.
HSC_MUST_USE hsc_status *hsc__reduce_keep(hsc__reducing *r, const hsc_instr *instr);
// Whether this place is to be changed.
bool hsc__reduce_here(hsc__reducing *r);
// A new parameter of the entry computation in place of `instr`, an instruction of it with an array
// shape: takes over all its uses.
HSC_MUST_USE hsc_status *hsc__reduce_by_parameter(hsc__reducing *r, hsc_instr *instr);
// Zeros of the shape of `instr` (an array, or a tuple of such), built before it.
HSC_MUST_USE hsc_status *hsc__reduce_zeros(hsc_instr *instr, hsc_instr **out_zeros);
