// convolution.h - convolutions: one canonical form, several candidates that can do it.
//
// A convolution with any dimension order, strides, padding, dilations, reversal and groups is
// brought to
//
//   out[g][b, o...][n] = sum over taps w... and features i of   lhs[g][b, position(o, w)...][i] *
//   rhs[g][w...][i][n]
//   position(o, w) = (o * stride + w * dilation - pad_low) / base_dilation, left out where that
//   does not divide or lies outside
//
// with strides for every dimension of all three. Seen as a matrix product, rows are (b, o...),
// columns n, and the sum runs over (w..., i).
//
//   ROWS      i lies side by side in lhs. Each row has one pointer per tap, so nothing is copied.
//             With a base dilation, output positions of
//             the same phase see the same taps; each phase is a product of its own, and no zero is
//             multiplied.
//   PACKED    b lies side by side in lhs, as in the gradient of a filter, where the sum is long and
//             the rows are few. Tiles are packed.
//   CHANNELS  one feature and one column per group, groups side by side: vectors of groups.
//   WINOGRAD  3x3 windows with fewer multiplications (winograd.h).
//
// An operand that fits none of them, or whose type is not the one that is computed in, is first
// copied into scratch as [g][b, o...][i]. A short run of features that goes on in the next tap (the
// first layer of an image network: 7 taps of 3 colours) is taken as one longer run; where padding
// is in the way, the copy makes the padding too.
#pragma once

#include "cpu/kernels/conv/conv_kernels.h"
#include "cpu/kernels/move/strided_copy.h"
#include "cpu/kernels/conv/winograd.h"
#include "hlo/ir/hlo.h"

typedef enum hsc_conv_candidate {
#define CANDIDATE(id, text, kernel, doc) HSC_CONV_##id,
#include "cpu/kernels/conv/conv_candidates.def"
#undef CANDIDATE
  HSC_CONV_COUNT
} hsc_conv_candidate;

enum { HSC_CONV_MAX_AXES = 6 };

// A spatial dimension. Strides in elements; reversal is in the sign of rhs_stride.
typedef struct hsc_conv_axis {
  int64_t out_size, window, in_size;
  int64_t stride, dilation, base_dilation, pad_low;
  int64_t lhs_stride, rhs_stride, out_stride;
  int64_t phases;   // base_dilation / gcd(stride, base_dilation)
  int32_t lhs_dim;  // dimension number of the stored lhs
  // 1: some positions fall into padding or between dilated elements
  int32_t checked;
} hsc_conv_axis;

typedef struct hsc_conv_operand {
  int32_t input;                       // of the thunk
  int32_t type;                        // hsc_type as stored
  int32_t copied;                      // 1: first copied to scratch
  int64_t elements, scratch_elements;  // stored; of the copy with its padding
  // scratch: where it lies in the stored type, before conversion (only when types differ)
  int64_t stored_offset;
  int64_t scratch_offset;  // of the copy in the type of computation
  int64_t fill;            // 1: the copy has padding, which is filled with zeros first
  int64_t inside;          // bytes from the copy's start to its first stored element
  // in elements of `type`; of the computed type where no conversion is needed
  hsc_strided copy;
} hsc_conv_operand;

typedef struct hsc_convolution {
  // whose code runs: ROWS, PACKED, CHANNELS, WINOGRAD_2 or WINOGRAD_4
  int32_t candidate;
  int32_t algorithm;     // hsc_conv_candidate: the row whose sizes were planned
  int32_t compute_type;  // f32 or f64
  int32_t out_type;
  // 1: computed in scratch, dense as [b, o...][g][n], then copied (and converted) to the result
  int32_t out_copied;
  int32_t axis_count;
  // row dimensions, slowest first: number of an axis, or -1 for the batch
  int32_t order_count;
  int32_t order[HSC_CONV_MAX_AXES + 1];
  hsc_conv_axis axes[HSC_CONV_MAX_AXES];
  int64_t groups, batch, features, columns;  // features and columns of one group
  int64_t lhs_group_stride, lhs_batch_stride, lhs_feature_stride;
  int64_t rhs_group_stride, rhs_feature_stride, rhs_column_stride, rhs_offset;
  int64_t out_group_stride, out_batch_stride;  // columns lie side by side
  int64_t rows, taps;                          // of one group, all phases
  hsc_conv_operand lhs, rhs;
  int64_t out_scratch_offset, out_convert_offset;
  // from scratch to the result's order, in elements of out_type
  hsc_strided out_copy;
  // row r of a single-phase, single-group product is row r of the result as a matrix
  int32_t rows_in_order;

  int32_t epilogue;  // hsc_contraction_epilogue
  int32_t bias_input, relu;
  int64_t epilogue_count, epilogue_chunk;
  // > 0: the product lies in scratch at product_offset, not in the output
  int64_t product_bytes;
  int64_t product_offset;

  int64_t phase_count;
  int64_t m_task, n_task;  // rows (of a phase) and columns of a task
  int64_t m_parts, n_parts, k_parts;
  int64_t k_part;  // PACKED: steps of the sum in one part
  // k_parts > 1: partial products [k_parts][groups][rows][columns] in scratch
  int64_t partial_offset;
  int64_t k_block, m_block;
  hsc_winograd winograd;         // of the WINOGRAD candidates
  int64_t scratch_bytes;         // shared by all tasks
  int64_t worker_scratch_bytes;  // per thread
} hsc_convolution;

// Plans a convolution for a machine with `threads` threads. UNIMPLEMENTED for what no candidate
// does (integers, complex numbers). By the algorithm that conv_algorithm_picker wrote into its
// backend config, where one is there and can do it, else by rule. direct_only: by one that adds up
// the products as they are written, which is also what an operand_precision other than default asks
// for.
HSC_MUST_USE hsc_status *hsc_convolution_plan(const hsc_instr *instr,
                                              const hsc_cpu_isa *isa,
                                              int threads,
                                              bool direct_only,
                                              hsc_convolution *out_convolution);
// By this candidate. FAILED_PRECONDITION with the reason when it cannot.
HSC_MUST_USE hsc_status *hsc_convolution_plan_as(const hsc_instr *instr,
                                                 const hsc_cpu_isa *isa,
                                                 int threads,
                                                 bool direct_only,
                                                 hsc_conv_candidate candidate,
                                                 hsc_convolution *out_convolution);
const char *hsc_conv_candidate_text(hsc_conv_candidate candidate);

// One task of the plan, on one thread. `out` is where the product lies (see out_copied,
// product_bytes), partials likewise.
typedef struct hsc_conv_run {
  const hsc_convolution *c;
  const hsc_conv_kernels *kernels;
  hsc_cpu_isa_level isa_level;
  const void *lhs, *rhs;
  void *out, *partials;
  float *shared;     // WINOGRAD: what the prelude makes
  int64_t group;     // WINOGRAD: which of its groups
  const void *bias;  // NULL = none
  bool relu;
} hsc_conv_run;
int64_t hsc_convolution_task_count(const hsc_convolution *c);
// Rows [m0, m1) and columns [n0, n1) of a task's product, where rows_in_order and k_parts is 1.
void hsc_convolution_place(
    const hsc_convolution *c, int64_t task, int64_t *m0, int64_t *m1, int64_t *n0, int64_t *n1);
void hsc_convolution_task(const hsc_conv_run *run, int64_t task, void *worker_scratch);
// Rows [begin, end) of the sum of all partial products, for k_parts > 1.
void hsc_convolution_add_parts(const hsc_conv_run *run, int64_t begin, int64_t end);
// conv_holes.c: whether sums are to be set that the tasks leave out, after all tasks, and that.
bool hsc_convolution_holes_matter(const hsc_conv_run *run);
void hsc_convolution_fill_holes(const hsc_conv_run *run);
// For numbers from elsewhere. The scratch that tasks of these sizes (up to 2^31) take per thread;
// the tile of a WINOGRAD candidate, else 0; gcd of two positive numbers.
int64_t hsc_convolution_worker_bytes(const hsc_convolution *c, const hsc_cpu_isa *isa);
int hsc_convolution_winograd_tile(int32_t candidate);
int64_t hsc_convolution_gcd(int64_t a, int64_t b);
