// emit.h - kernels: from one instruction (a fusion, or any operation by itself) to a function in
// LLVM IR.
//
// A kernel is a nest of counted loops over the elements of its result. Inside, every fused
// instruction is a function of the index at which it is wanted: operations that move data
// (broadcast, reshape, transpose, slice, pad, concatenate, gather ...) change the index,
// element-wise operations compute, parameters load. The innermost loop is emitted over vectors
// where indices allow it.
//
// The same walk runs twice. First without code (analysis): it finds how the loops must be cut so
// that reshapes need no division, which loops may be merged, and how each buffer is accessed. Then
// with code. No IR passes are needed afterwards: values are emitted at the outermost loop at which
// they do not change, equal values once, and addresses are sums built along the loops.
//
// Functions have the form of hsc_cpu_kernel_function: (buffers, begin, end) over the outermost
// loop; see hsc_emit_kernel.
#pragma once

#include "cpu/emit/affine.h"
#include "cpu/core/isa.h"
#include "hlo/ir/hlo.h"

// LOOP: a value per element. REDUCE: folded dimensions. PANEL: the epilogue of an output fusion, a
// function of (buffers, first row, end row, first column, end column) of the product, whose value
// is one more buffer after the inputs; EPILOGUE: the same as a LOOP kernel over all of it.
// SMALL_LOOP: a whole while (see emit_small.c): inputs are the leaves of its state, outputs those
// that it changes, and output o may overwrite its leaf of the state.
typedef enum hsc_kernel_kind {
  HSC_KERNEL_LOOP,
  HSC_KERNEL_REDUCE,
  HSC_KERNEL_PANEL,
  HSC_KERNEL_EPILOGUE,
  HSC_KERNEL_SMALL_LOOP
} hsc_kernel_kind;

enum { HSC_KERNEL_MAX_BUFFERS = 256 };

// How a kernel is to be emitted and called; made by hsc_kernel_plan. Plain data.
typedef struct hsc_kernel_plan {
  hsc_kernel_kind kind;
  int32_t input_count, output_count;
  // of the outermost loop: the function is called for [0, count), in pieces if wanted
  int64_t count;
  int64_t piece;   // pieces begin at multiples of it
  double cost_ns;  // of one run on one thread, estimated
  // reductions to few results: > 0 = `count` is this number of parts, each with results of its own
  // in scratch;
  //   afterwards <name>_combine is called once (with 0, 1)
  int64_t partials;
  double code_size;          // estimate, in operations
  int64_t partial_elements;  // results of one part
  int64_t scratch_bytes;     // of all parts' results
  // [output_count] where an output's parts lie in scratch: buffers after the outputs
  int64_t partial_offset[64];
} hsc_kernel_plan;

// The dot or convolution of an output fusion that a kernel of its own computes; NULL when `instr`
// is not one with exactly one, or that is so short that it is generated code.
const hsc_instr *hsc_kernel_product(const hsc_instr *instr);
// Analyses `instr`, which may be any, for a machine. in_place[o] ([outputs]) gets a bit for each of
// the first 64 inputs that output o may overwrite. *out_fits is false, without an error, for what
// cannot be emitted or has indices that are too intricate.
HSC_MUST_USE hsc_status *hsc_kernel_plan_try(const hsc_instr *instr,
                                             const hsc_cpu_isa *isa,
                                             hsc_kernel_plan *out_plan,
                                             uint64_t *in_place,
                                             bool *out_fits);
