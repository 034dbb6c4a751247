// infer_internal.h - what the shape rules share. A rule is hsc__infer_<rule>(arena, instr,
// out_shape): it checks operands, attributes and called computations, and gives the shape; nothing
// of `instr` but its shape may be missing. Rules follow xla/service/shape_inference.cc and the
// checks of xla/service/hlo_verifier.cc, which together say what XLA takes.
#pragma once

#include "hlo/ir/hlo_internal.h"

typedef hsc_status *(*hsc__infer_rule)(hsc_arena *arena,
                                       const hsc_instr *instr,
                                       hsc_shape *out_shape);

// INVALID_ARGUMENT "<op>: <text>".
HSC_MUST_USE hsc_status *hsc__infer_error(const hsc_instr *instr, const char *format, ...)
    HSC_PRINTF(2, 3);
// A shape's text for messages, without layout; lives in `arena`.
const char *hsc__shape_text(hsc_arena *arena, const hsc_shape *shape);

static inline const hsc_shape *hsc__operand_shape(const hsc_instr *instr, int operand) {
  return &instr->operands[operand]->shape;
}

// Each fails with a message that names the operand and what was expected.
HSC_MUST_USE hsc_status *hsc__want_array(const hsc_instr *instr, int operand);
HSC_MUST_USE hsc_status *hsc__want_operands(const hsc_instr *instr, int at_least);
HSC_MUST_USE hsc_status *hsc__want_called(const hsc_instr *instr, int count);
HSC_MUST_USE hsc_status *hsc__want_distinct_dims(
    hsc_arena *arena, const hsc_instr *instr, const char *what, hsc_dims dims, int rank);
// The called computation takes `count` parameters, all there.
HSC_MUST_USE hsc_status *hsc__want_parameters(const hsc_instr *instr, int called, int count);
HSC_MUST_USE hsc_status *hsc__want_parameter_shape(
    hsc_arena *arena, const hsc_instr *instr, int called, int parameter, const hsc_shape *shape);

// dims live in an arena already
hsc_shape hsc__shape_of_dims(hsc_type type, int rank, const int64_t *dims);
int64_t *hsc__new_dims(hsc_arena *arena, int rank);
HSC_MUST_USE hsc_status *hsc__tuple_of_operands(hsc_arena *arena,
                                                const hsc_instr *instr,
                                                int count,
                                                hsc_shape *out_shape);  // one operand: its shape

// infer_window.c: what a window makes of `dims` [window.rank]; used by convolution, reduce-window
// and select-and-scatter.
HSC_MUST_USE hsc_status *hsc__window_output(const hsc_instr *instr,
                                            hsc_window window,
                                            const int64_t *dims,
                                            int64_t *out_dims);
// infer_calls.c: a reducer over `count` values: 2*count scalar parameters, the accumulators first;
// gives the accumulators' shapes [count].
HSC_MUST_USE hsc_status *hsc__reducer_shapes(hsc_arena *arena,
                                             const hsc_instr *instr,
                                             int called,
                                             int count,
                                             const hsc_shape **out_accumulators);

#define RULE(name) \
  hsc_status *hsc__infer_##name(hsc_arena *arena, const hsc_instr *instr, hsc_shape *out_shape)
RULE(abs);
RULE(all_gather);
RULE(all_to_all);
RULE(bitcast_convert);
RULE(bn_grad);
RULE(bn_training);
RULE(broadcast);
RULE(called);
RULE(clamp);
RULE(compare);
RULE(complex);
RULE(concatenate);
RULE(conditional);
RULE(convolution);
RULE(dot);
RULE(dynamic_slice);
RULE(fft);
RULE(first);
RULE(gather);
RULE(given);
RULE(map);
RULE(operands);
RULE(pad);
RULE(pred);
RULE(real_part);
RULE(reduce);
RULE(reduce_scatter);
RULE(reduce_window);
RULE(same);
RULE(scalar_s32);
RULE(scalar_u32);
RULE(scatter);
RULE(second);
RULE(select);
RULE(slice);
RULE(token);
RULE(topk);
RULE(transpose);
RULE(tuple);
RULE(tuple_element);
// Checks of ops whose rule is shared with others (`first`, `given`, `same`).
hsc_status *hsc__check_while(hsc_arena *arena, const hsc_instr *instr);
hsc_status *hsc__check_sort(hsc_arena *arena, const hsc_instr *instr);
hsc_status *hsc__check_dynamic_update_slice(hsc_arena *arena, const hsc_instr *instr);
hsc_status *hsc__check_select_and_scatter(hsc_arena *arena, const hsc_instr *instr);
hsc_status *hsc__check_cholesky(hsc_arena *arena, const hsc_instr *instr);
hsc_status *hsc__check_bn_inference(hsc_arena *arena, const hsc_instr *instr);
