// strided_copy.h - copies a block of elements between two strided layouts: transposes, slices,
// broadcasts, reversals, padding's inside.
#pragma once

#include "base/core/base.h"

enum { HSC_STRIDED_MAX_RANK = 12 };

// Element (i0, i1, ...) at byte from + sum(i * from_stride) goes to byte to + sum(i * to_stride).
// Strides may be zero (from) or negative.
typedef struct hsc_strided {
  int32_t rank;
  int32_t element_bytes;  // 1, 2, 4, 8, 16
  int64_t size[HSC_STRIDED_MAX_RANK];
  int64_t from_stride[HSC_STRIDED_MAX_RANK], to_stride[HSC_STRIDED_MAX_RANK];  // bytes
} hsc_strided;

// Orders dimensions by the target's strides, drops those of size 1, merges those that run on in
// both layouts. Sizes of 0 make rank 1, size 0.
void hsc_strided_normalize(hsc_strided *copy);
// The part of a normalised copy with index [begin, end) in its outermost dimension (rank 0 has one
// part). Regions must not overlap.
void hsc_strided_copy(
    const hsc_strided *copy, const void *from, void *to, int64_t begin, int64_t end);
static inline int64_t hsc_strided_outer(const hsc_strided *copy) {
  return copy->rank > 0 ? copy->size[0] : 1;
}
int64_t hsc_strided_bytes(const hsc_strided *copy);
// Fills count elements at `to` with the one at `value`.
void hsc_fill(void *to, const void *value, int element_bytes, int64_t count);
