// live_set.h - the values of a storage set in the order of time, so that whether two sets ever live
// at once is asked in the logarithm of their sizes.
//
// A tree a set, in the arrays of plan.h: nodes are values, in the order of their definitions, with
// heap order by a hash of their numbers (a treap: its shape does not depend on the order of
// insertion). Each node knows the last use in its subtree. A set that was joined to another is
// found through it.
#pragma once

#include "cpu/plan/plan_internal.h"

// Makes set `value` of that one value.
void hsc__live_set_begin(hsc_cpu_plan *plan, int32_t value);
// The number of the set that a value is in.
int32_t hsc__live_set_of(const hsc_cpu_plan *plan, int32_t value);
void hsc__live_set_add(hsc_cpu_plan *plan, int32_t set, int32_t value);
// All values of `from` go to `into`; the smaller tree's values are moved one by one.
void hsc__live_set_join(hsc_cpu_plan *plan, int32_t into, int32_t from);
// Whether a value of a and a value of b, whose intervals meet, also are in `conflict`.
bool hsc__live_sets_meet(const hsc_cpu_plan *plan,
                         int32_t set_a,
                         int32_t set_b,
                         bool (*conflict)(const void *plan, int32_t a, int32_t b));
void hsc__live_set_hull(const hsc_cpu_plan *plan, int32_t set, int32_t *out_from, int32_t *out_to);
