// convert.h - whole arrays from one element type to another, as HLO's convert defines (round to
// nearest even, saturating float to integer).
#pragma once

#include "hlo/ir/hlo.h"

// Converts count elements. Complex from real gets a zero imaginary part; real from complex drops
// it. from and to must not overlap.
void hsc_convert_array(
    hsc_type from_type, const void *from, hsc_type to_type, void *to, int64_t count);
