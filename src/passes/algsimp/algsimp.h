// algsimp.h - the algebraic simplifier's sets of rules and what they share.
//
// A rule looks at one instruction and, when it applies, builds a replacement before it. It returns
// NULL when no rule applies. Rules are XLA's
// (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc); ones that change the rounding of floats
// are those that XLA does by default.
#pragma once

#include "passes/manager/passes_internal.h"

typedef hsc_instr *(*hsc__rule)(hsc_builder *b, hsc_instr *instr);

hsc__rule hsc__algsimp_arithmetic_rule(hsc_op op);  // NULL = none
hsc__rule hsc__algsimp_constants_rule(hsc_op op);
hsc__rule hsc__algsimp_movement_rule(hsc_op op);
hsc__rule hsc__algsimp_slices_rule(hsc_op op);
hsc__rule hsc__algsimp_window_rule(hsc_op op);
hsc__rule hsc__algsimp_folds_rule(hsc_op op);
hsc__rule hsc__algsimp_shapes_rule(hsc_op op);
hsc__rule hsc__algsimp_parts_rule(hsc_op op);
hsc__rule hsc__algsimp_reductions_rule(hsc_op op);

// Used once, and not the result of its computation: what replaces it leaves nothing behind.
static inline bool hsc__has_one_use(const hsc_instr *x) {
  return x->user_count == 1 && x->parent->root != x;
}
static inline bool hsc__dims_hold(hsc_dims dims, int64_t value) {
  for (int i = 0; i < dims.count; i++)
    if (dims.v[i] == value)
      return true;
  return false;
}

// A scalar constant, or a broadcast of one (algsimp_arithmetic.c).
bool hsc__is_uniform_constant(hsc_instr *instr);
// The same as a number; false when it is none, is complex, or a double does not hold it.
bool hsc__uniform_number(hsc_instr *instr, double *out_value);
// Cannot be below zero, whatever the inputs (NaN is not below zero).
bool hsc__never_negative(hsc_instr *instr);
// A + (B - A) => B and its like; exact for integers (algsimp_arithmetic.c).
hsc_instr *hsc__algsimp_cancel(hsc_builder *b, hsc_instr *instr);
// For shapes that differ by dimensions of size 1 only: map[i] is the `to` dimension of each other
// `from` dimension i, else -1 (algsimp_movement.c).
bool hsc__degenerate_map(const hsc_shape *from, const hsc_shape *to, int64_t map[HSC_MAX_RANK]);

// The dimension of `to` that a reshape takes `dim` of `from` over to as it is, -1 when there is
// none; size 1 has none (algsimp_shapes.c).
int hsc__unmodified_dim(const hsc_shape *from, const hsc_shape *to, int dim);

// A reduce of a reshape of what is folded only, or of what stays only (then of a reshape that
// nobody else reads, or `always`); NULL for others (algsimp_reductions.c).
hsc_instr *hsc__algsimp_reduce_of_reshape(hsc_builder *b, hsc_instr *instr, bool always);

// Rules that options switch, each of its kind of instruction; NULL = none (algsimp_dots.c,
// algsimp_convolutions.c, algsimp_shapes.c). What they are given is what their names say: a slice
// of a dot, a sum of a dot, a product, a reshape of a transpose.
hsc_instr *hsc__algsimp_dot(const hsc_algsimp_options *options, hsc_builder *b, hsc_instr *instr);
hsc_instr *hsc__algsimp_slice_of_dot(hsc_builder *b, hsc_instr *instr);
hsc_instr *hsc__algsimp_sum_of_dot(const hsc_algsimp_options *options,
                                   hsc_builder *b,
                                   hsc_instr *instr);
hsc_instr *hsc__algsimp_convolution(const hsc_algsimp_options *options,
                                    hsc_builder *b,
                                    hsc_instr *instr);
hsc_instr *hsc__algsimp_scale_of_convolution(hsc_builder *b, hsc_instr *instr);
hsc_instr *hsc__algsimp_hoist_transpose(hsc_builder *b, hsc_instr *instr);
hsc_instr *hsc__algsimp_slices_of_transpose(hsc_builder *b, hsc_instr *instr);
// A parameter, or made of one by operations of one operand.
bool hsc__is_parameter_like(const hsc_instr *instr);

// Rules that options switch on, and whether they let a rule of the other sets look at an
// instruction (algsimp_optional.c).
hsc_instr *hsc__algsimp_optional(const hsc_algsimp_options *options,
                                 hsc_builder *b,
                                 hsc_instr *instr);
bool hsc__algsimp_allowed(const hsc_algsimp_options *options, const hsc_instr *instr);
