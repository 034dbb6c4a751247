// profile_diff.h - two profiles of the same work, operator by operator.
//
// Operators are matched by name (the same category, and the same framework name where both have
// one), then by framework name and category where that is unambiguous, then by structure: the same
// instruction on the same shapes in the programs' HLO. With two steps and more on both sides a
// ratio has a 95 % bootstrap interval and a verdict; without, it is only shown.
#pragma once

#include "report/table.h"
#include "views/profile.h"

// Both were opened detailed. The caller owns the table. `limit` rows at most, the largest
// differences first; 0 = all.
HSC_MUST_USE hsc_status *hsc_profile_diff(hsc_profile *before,
                                          hsc_profile *after,
                                          int64_t limit,
                                          hsc_table **out_table);
