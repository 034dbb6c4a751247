// sort.h - the payload of SORT thunks: sort with any comparator over any number of operands, and
// topk. Always stable.
//
// A comparator that orders by one operand (lanes.h) gives numbers to sort by, in linear time for
// long rows; any other one is compiled and called for each pair of a merge sort.
#pragma once

#include "cpu/thunks/lanes.h"

enum { HSC_SORT_MAX_OPERANDS = 32 };

typedef struct hsc_sort {
  int32_t operand_count;
  int32_t element_bytes[HSC_SORT_MAX_OPERANDS];
  int32_t by_key;  // 1: `key` holds, else `comparator`
  hsc_cpu_key key;
  int32_t comparator;  // number in executable->kernels
  int32_t is_topk;
  int64_t k;             // topk: results of a row
  int64_t length, step;  // of the sorted dimension; elements between neighbours
  int64_t rows;
} hsc_sort;
