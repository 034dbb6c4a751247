// plan_internal.h - what the walk (plan.c) hands to buffer assignment (buffer_assignment.c).
#pragma once

#include "cpu/core/plan.h"

enum { HSC_CPU_PLACE_ALIGNMENT = 64 };

typedef struct hsc_cpu_use {
  int32_t value, position;
  int32_t loop;  // innermost loop around the use, -1 = none
} hsc_cpu_use;

typedef struct hsc_cpu_carried {
  bool invariant;  // the body returns it unchanged: no values of its own
  int32_t in_condition, in_body, next, result;  // values; next is what the body computes for it
} hsc_cpu_carried;

typedef struct hsc_cpu_loop {
  hsc_cpu_step *step;
  int32_t parent;  // enclosing loop, -1 = none
  int32_t begin, body_end, end;
  int32_t leaf_count;
  hsc_cpu_carried *leaves;  // [leaf_count]
} hsc_cpu_loop;

typedef struct hsc_cpu_branches {  // in step->choice of a conditional
  int32_t *ends;    // [block_count] position where the branch's results are copied out
  int32_t **roots;  // [block_count][output_count] values
} hsc_cpu_branches;

// Room for `count` more values and uses. Values are added only after it.
HSC_MUST_USE hsc_status *hsc__cpu_plan_reserve(hsc_cpu_plan *plan, int32_t count);
int32_t hsc__cpu_plan_add_value(hsc_cpu_plan *plan,
                                hsc_cpu_value_kind kind,
                                int64_t bytes,
                                int32_t def);
