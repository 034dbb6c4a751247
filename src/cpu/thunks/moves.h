// moves.h - the payload of MOVES thunks.
#pragma once

#include "cpu/core/pool.h"
#include "cpu/kernels/move/strided_copy.h"

enum { HSC_CPU_MAX_MOVES = 4096 };

typedef struct hsc_cpu_move {
  int32_t input;
  int64_t from_offset, to_offset;  // bytes
  hsc_strided copy;                // normalised
} hsc_cpu_move;

typedef struct hsc_cpu_move_index {
  int32_t type;    // hsc_type of the index operand
  int64_t limit;   // largest start; the index is clamped to [0, limit]
  int64_t stride;  // bytes
} hsc_cpu_move_index;

typedef struct hsc_cpu_moves {
  int32_t element_bytes;
  int32_t fill_input;  // its element fills the output first; -1 = none
  // it is copied to the output first, unless they are the same memory; -1 = none
  int32_t base_input;
  int32_t index_input, index_count;
  int32_t index_on_output;  // the indices move the target, not the source
  hsc_cpu_move_index indices[HSC_STRIDED_MAX_RANK];
  int32_t move_count;
  hsc_cpu_move moves[];  // [move_count]
} hsc_cpu_moves;

// An element of an integer type as a 64-bit number; a u64 above its range is INT64_MAX.
int64_t hsc__cpu_read_index(int32_t type, const void *at);
// Copies with the device's threads when the block is large.
void hsc__cpu_parallel_copy(hsc_cpu_pool *pool,
                            const hsc_strided *copy,
                            const void *from,
                            void *to);
