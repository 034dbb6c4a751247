// fusion_util.h - what the passes after `fusion` share: kernels of several results, and when two
// kernels may become one.
#pragma once

#include "passes/manager/passes_internal.h"

// ---- fusion.c ----
// Whether the consumer reads elements of its operand more than once.
bool hsc__fusion_reuses(const hsc_instr *consumer, const hsc_instr *producer);
bool hsc__is_costly_op(hsc_op op);  // transcendental, division

// ---- fusion_util.c ----

// How often the kernel of a fusion computes instructions, all together: where readers want a value
// at different indices, as slices of it do, it is computed for each of them. *out_of gets how often
// it computes `of` (NULL = do not ask). Uses the index fields of the body's instructions.
int64_t hsc__fused_computed(hsc_computation *body, const hsc_instr *of, int64_t *out_of);
enum { HSC_FUSED_MAX_COMPUTED = 1024 };  // more of them make a kernel that compiles for seconds

enum { HSC_FUSED_MAX_INSTRS = 256, HSC_FUSED_MAX_OPERANDS = 32, HSC_FUSED_MAX_OUTPUTS = 8 };

// The kernels that may have several results. LOOP: one element of each result at a time. INPUT:
// reductions over the same dimensions of equal shapes. A reduce that stands by itself counts as
// one. An instruction of another kind gives false.
typedef struct hsc_fused_shape {
  hsc_fusion_kind kind;
  const hsc_shape *loop;    // the dimensions that its loops run over
  const hsc_dims *reduced;  // INPUT: of these the folded ones
} hsc_fused_shape;
bool hsc__fused_shape(const hsc_instr *instr, hsc_fused_shape *out_shape);
bool hsc__fused_shapes_equal(const hsc_fused_shape *a, const hsc_fused_shape *b);

// Asked for two instructions of one computation, `first` before `second`: may they run at once,
// where `second` is? Not when second needs first by a way around; first may be an operand of
// second only when `producer`. Looks at up to HSC_FUSED_REACH instructions between the two. Uses
// the computation's index fields: hsc__fused_begin clears them once a pass and computation.
enum { HSC_FUSED_REACH = 300 };
void hsc__fused_begin(hsc_computation *computation);
// A walk from the first to the last instruction marks what it has passed: only that is before
// what the walk is at.
void hsc__fused_pass(hsc_instr *instr);
bool hsc__fused_passed(const hsc_instr *instr);
bool hsc__fused_order_allows(hsc_instr *first, hsc_instr *second, bool producer);
// Makes one fusion of both, whose results are first's and then second's, and puts
// get-tuple-elements in their places. To be called right after hsc__fused_order_allows said yes to
// the same two: what depends on first moves after the new fusion.
HSC_MUST_USE hsc_status *hsc__fuse_together(hsc_instr *first,
                                            hsc_instr *second,
                                            hsc_instr **out_fusion);
// For other ways to make one of two: what lies between the two and needs `first` (asked just
// before), to be moved before `second` when `first` is replaced. *out_moved lives in the module's
// arena.
HSC_MUST_USE hsc_status *hsc__fused_between(hsc_instr *first,
                                            hsc_instr *second,
                                            hsc_instr ***out_moved,
                                            int32_t *out_count);
void hsc__fused_move(hsc_instr *const *moved, int32_t count, hsc_instr *before);
// Fuses independent kernels of one kind over equal dimensions, whatever they read, that are so
// small that starting them is what they cost.
HSC_MUST_USE hsc_status *hsc__fuse_horizontally(hsc_module *module,
                                                hsc_pass_context *cx,
                                                hsc_fusion_kind kind);
// Whether the two would be too large together.
bool hsc__fused_too_large(const hsc_instr *a, const hsc_instr *b);
