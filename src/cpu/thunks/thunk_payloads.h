// thunk_payloads.h - the plain data that each kind of thunk carries. Plain: no pointers, so that an
// executable can be written to disk.
#pragma once

#include "base/core/base.h"

// Input 0 is the condition's result. Thunks of the condition follow the while's own, then those of
// the body.
typedef struct hsc_cpu_while {
  int64_t trip_count;                   // known number of trips, -1 = the condition decides
  int32_t condition_count, body_count;  // thunks, blocks of theirs included
} hsc_cpu_while;

// Input 0 selects: a pred (true = branch 0) or an s32.
typedef struct hsc_cpu_conditional {
  int32_t is_predicate;
  int32_t branch_count;
  int32_t thunk_counts[];  // [branch_count] thunks of each branch, in order
} hsc_cpu_conditional;
