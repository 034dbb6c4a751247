// ints.h - small arithmetic on whole numbers that many rooms need.
#pragma once

#include <stdint.h>

static inline int64_t hsc_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t hsc_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// `low` when the bounds cross, as sizes of a room that is too small do.
static inline int64_t hsc_clamp(int64_t value, int64_t low, int64_t high) {
  if (value < low || high < low)
    return low;
  return value > high ? high : value;
}

// How many steps cover the value; value >= 0, step > 0.
static inline int64_t hsc_divide_up(int64_t value, int64_t step) {
  return (value + step - 1) / step;
}

// The next multiple of the step; value >= 0, step > 0.
static inline int64_t hsc_round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}
