// scatter.h - the payload of SCATTER thunks: one operand, any combiner. Windows of updates are
// combined in the order of the indices.
//
// Combiners that scatter_kernels.h has (set, add, multiply, max, min) run there, over chunks of
// offsets that are found first. Threads share the run of neighbours in a window, or what is apart
// along a batching dimension; sums of integers into few elements go into bins of each thread's own,
// which are put together at the end. The order in which floats meet at one place is that of the
// indices in all ways.
#pragma once

#include "cpu/core/cpu_internal.h"
#include "cpu/kernels/move/scatter_kernels.h"

enum { HSC_SCATTER_MAX_DIMS = 12 };

typedef struct hsc_scatter {
  int32_t element_bytes;
  // combiner (operand, update), -1 = the update replaces the element
  int32_t kernel;
  int32_t op;          // hsc_scatter_op; CALL: by kernel
  int32_t type;        // hsc_type of the elements
  int32_t index_type;  // hsc_type
  int32_t parts;       // > 1: bins of their own for so many parts of the updates
  int64_t bins;        // elements of the target, when there are parts
  int64_t shares;      // > 1: threads take so many shares of batch dimension 0; else 1
  int32_t batch_rank, window_rank, vector_count;
  // whether no index says where a window begins along a dimension of windows: two places of windows
  // never meet
  int32_t windows_apart;
  int64_t batch_size[HSC_SCATTER_MAX_DIMS], batch_index_stride[HSC_SCATTER_MAX_DIMS],
      batch_update_stride[HSC_SCATTER_MAX_DIMS];
  int64_t batch_target_stride[HSC_SCATTER_MAX_DIMS];  // of batching dimensions, else 0
  int64_t vector_stride;                              // in elements of the indices
  // [vector_count] largest start; elements
  int64_t limit[HSC_SCATTER_MAX_DIMS], target_stride[HSC_SCATTER_MAX_DIMS];
  int64_t window_size[HSC_SCATTER_MAX_DIMS], window_update_stride[HSC_SCATTER_MAX_DIMS],
      window_target_stride[HSC_SCATTER_MAX_DIMS];
  // neighbours on both sides, innermost; shared out to the threads in chunks
  int64_t run, run_chunk;
  int64_t updates;  // positions of the batch
} hsc_scatter;
