// algsimp.h - the algebraic simplifier's rules as functions, and what they share.
//
// A rule is a row of rules.def and the function that the row names. The function looks at one
// instruction of the row's operations and, when the rule applies, builds a replacement before it;
// it returns NULL when the rule does not apply. Which of the options is needed is in the row, too.
// Rules are XLA's (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc); ones that change the
// rounding of floats are those that XLA does by default.
#pragma once

#include "passes/algsimp/rules.h"
#include "passes/manager/passes_internal.h"

// The head of a rule's function: what replaces `instr`, built by `b` before it, or NULL.
#define HSC_RULE(name) \
  hsc_instr *hsc__algsimp_##name(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *instr)
typedef hsc_instr *(*hsc__rule)(const hsc_algsimp_options *o, hsc_builder *b, hsc_instr *instr);

#define RULE(id, ops, option, what, example, function) HSC_RULE(function);
#define ALSO(what, example)
#define ABSENT(ops, what, example)
#include "passes/algsimp/rules.def"
#undef RULE
#undef ALSO
#undef ABSENT

static inline hsc_arena *arena_of(const hsc_builder *b) {
  return b->module->arena;
}
static inline bool hsc__is_float(const hsc_instr *x) {
  return hsc_type_is_float(x->shape.type);
}
static inline bool hsc__is_int(const hsc_instr *x) {
  return hsc_type_is_integral(x->shape.type);
}
static inline bool hsc__is_pred(const hsc_instr *x) {
  return x->shape.type == HSC_TYPE_PRED;
}
static inline bool hsc__is_empty(const hsc_instr *x) {
  return hsc_shape_elements(&x->shape) == 0;
}
// Used once, and not the result of its computation: what replaces it leaves nothing behind.
static inline bool hsc__has_one_use(const hsc_instr *x) {
  return x->user_count == 1 && x->parent->root != x;
}

// A scalar constant, or a broadcast of one (algsimp_values.c).
bool hsc__is_uniform_constant(hsc_instr *instr);
// The same as a number; false when it is none, is complex, or a double does not hold it.
bool hsc__uniform_number(hsc_instr *instr, double *out_value);
// log2 of a uniform constant that is a positive power of two, -1 when it is none.
int hsc__power_of_two(hsc_instr *instr);
// Cannot be below zero, whatever the inputs (NaN is not below zero).
bool hsc__never_negative(hsc_instr *instr);
// For shapes that differ by dimensions of size 1 only: map[i] is the `to` dimension of each other
// `from` dimension i, else -1 (algsimp_movement.c).
bool hsc__degenerate_map(const hsc_shape *from, const hsc_shape *to, int64_t map[HSC_MAX_RANK]);

// The dimension of `to` that a reshape takes `dim` of `from` over to as it is, -1 when there is
// none; size 1 has none (algsimp_shapes.c).
int hsc__unmodified_dim(const hsc_shape *from, const hsc_shape *to, int dim);

// A parameter, or made of one by operations of one operand (algsimp_dots.c).
bool hsc__is_parameter_like(const hsc_instr *instr);
// x op x = x: folding a value in once more changes nothing.
bool hsc__is_idempotent(hsc_op op);
// A convolution or dot of two arrays with elements.
bool hsc__has_products(const hsc_instr *instr);

// Whether the options let a rule that none of them switches on look at the instruction
// (algsimp_allowed.c).
bool hsc__algsimp_allowed(const hsc_algsimp_options *options, const hsc_instr *instr);
