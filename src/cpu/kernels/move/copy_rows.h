// copy_rows.h - copies many short rows: packing for matrix products and convolutions. Inline, so
// that each size gets moves of its own.
#pragma once

#include "base/core/base.h"

#define HSC_COPY_ROWS_CASE(BYTES) \
  case BYTES: \
    for (int64_t k = 0; k < count; k++) \
      memcpy(target + k * to_step, source + k * from_step, BYTES); \
    return;
// `count` rows of `bytes` bytes, from_step and to_step bytes apart. Rows must not overlap.
static inline void hsc__copy_rows(
    const void *from, int64_t from_step, void *to, int64_t to_step, int64_t bytes, int64_t count) {
  const char *source = (const char *)from;
  char *target = (char *)to;
  switch (bytes) {
    HSC_COPY_ROWS_CASE(4)
    HSC_COPY_ROWS_CASE(8)
    HSC_COPY_ROWS_CASE(12)
    HSC_COPY_ROWS_CASE(16)
    HSC_COPY_ROWS_CASE(20)
    HSC_COPY_ROWS_CASE(24)
    HSC_COPY_ROWS_CASE(32)
    HSC_COPY_ROWS_CASE(40)
    HSC_COPY_ROWS_CASE(44)
    HSC_COPY_ROWS_CASE(48)
    HSC_COPY_ROWS_CASE(64)
    HSC_COPY_ROWS_CASE(128)
    default:
      for (int64_t k = 0; k < count; k++)
        memcpy(target + k * to_step, source + k * from_step, (size_t)bytes);
  }
}
#undef HSC_COPY_ROWS_CASE
