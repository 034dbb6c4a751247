// contraction.h - dots: one canonical form, several candidates that can do it.
//
// A dot-general is brought to   C[batch][m][n] = sum over k of A[batch][m][k] * B[batch][k][n]
//      with strides for A and B and C dense.
// An operand whose dimensions do not fold into that (or whose type is not the type that is computed
// in) is first copied into the scratch slot. The product is cut into tasks (batch, rows, columns)
// that the device's threads claim one by one; each task runs on one thread.
#pragma once

#include "cpu/kernels/gemm/gemm.h"
#include "cpu/kernels/move/strided_copy.h"
#include "hlo/ir/hlo.h"

typedef enum hsc_contraction_candidate {
#define CANDIDATE(id, text, doc) HSC_CONTRACTION_##id,
#include "cpu/kernels/gemm/contraction_candidates.def"
#undef CANDIDATE
  HSC_CONTRACTION_COUNT
} hsc_contraction_candidate;

enum { HSC_CONTRACTION_MAX_BATCH_DIMS = 4 };

// An operand: where element (batch, row, column) lies. Strides in elements.
typedef struct hsc_contraction_operand {
  int32_t input;  // of the thunk
  int32_t type;   // hsc_type as stored
  // 1: first copied to scratch, dense [batch][rows][columns], in the type of computation
  int32_t copied;
  hsc_gemm_matrix strides;  // of the stored operand, or of the copy
  int64_t batch_stride[HSC_CONTRACTION_MAX_BATCH_DIMS];
  int64_t scratch_offset;  // of the copy
  // stored elements to dense order; the conversion follows in place of a plain copy when types
  // differ
  hsc_strided copy;
} hsc_contraction_operand;

typedef struct hsc_contraction {
  int32_t candidate;     // hsc_contraction_candidate
  int32_t compute_type;  // f32, f64, s32, s64, c64, c128 (pred computes in s32)
  int32_t out_type;
  int32_t convert_out;  // 1: computed into scratch, then converted to the result
  int32_t batch_rank;
  int32_t epilogue;     // hsc_contraction_epilogue
  int32_t bias_input;   // BIAS: input of the thunk, -1 = none
  int32_t relu;         // BIAS: max(0, .) afterwards
  int32_t narrow_fits;  // 1: NARROW can do it
  int64_t batch_size[HSC_CONTRACTION_MAX_BATCH_DIMS];
  int64_t batch, m, n, k;
  hsc_contraction_operand lhs, rhs;
  int64_t out_scratch_offset;
  int64_t m_task, n_task;      // rows and columns of a task
  int64_t batch_task;          // batches of a task
  hsc_gemm_blocking blocking;  // OWN: of one task
  // > 0: the product lies in scratch at out_scratch_offset, not in the output
  int64_t product_bytes;
  // convert_out with an epilogue: the converted product in scratch
  int64_t converted_offset;
  int64_t epilogue_count, epilogue_chunk;  // WHOLE: of the kernel's outermost loop
  int64_t scratch_bytes;                   // shared by all tasks
  int64_t worker_scratch_bytes;            // per thread
} hsc_contraction;

// NONE; BIAS: in the kernels' registers; PANEL: a generated kernel on each task's part of the
// product; WHOLE: one on all of it at the end.
typedef enum hsc_contraction_epilogue {
  HSC_EPILOGUE_NONE,
  HSC_EPILOGUE_BIAS,
  HSC_EPILOGUE_PANEL,
  HSC_EPILOGUE_WHOLE
} hsc_contraction_epilogue;

// Plans a dot for a machine with `threads` threads. UNIMPLEMENTED for what no candidate does
// (sub-byte and exotic types are done by conversion). By the algorithm that gemm_algorithm_picker
// wrote into its backend config, where one is there and can do it, else by rule.
HSC_MUST_USE hsc_status *hsc_contraction_plan(const hsc_instr *dot,
                                              const hsc_cpu_isa *isa,
                                              int threads,
                                              hsc_contraction *out_contraction);
// By this candidate. FAILED_PRECONDITION with the reason when it cannot.
HSC_MUST_USE hsc_status *hsc_contraction_plan_as(const hsc_instr *dot,
                                                 const hsc_cpu_isa *isa,
                                                 int threads,
                                                 hsc_contraction_candidate candidate,
                                                 hsc_contraction *out_contraction);
const char *hsc_contraction_candidate_text(hsc_contraction_candidate candidate);
// Whether the blocks of a task are the ones that would be planned for it: numbers from elsewhere
// are not trusted to stay inside worker_scratch_bytes. Sizes and strides have to be sound.
bool hsc_contraction_blocks_fit(const hsc_contraction *contraction, const hsc_cpu_isa *isa);
