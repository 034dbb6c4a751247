// error_bounds.h - running error analysis: the evaluator's values, and beside each element how far
// a legal computation of the same program may be from it.
//
// Legal is what XLA may do: another order of sums, multiply-adds with one rounding, more precision
// than the type has, another implementation of exp and the like within op_accuracy.def, denormals
// as zero wherever something computes with them or compares them. Integers, comparisons of exact
// values, moves, and sums and products that fit the type whole are exact: their bound is 0. A bound
// is of the worst case and covers the evaluator's own rounding as well.
//
//   hsc_bounded *result;
//   HSC_TRY(hsc_evaluate_bounded(module, n, arguments, &(hsc_error_options){0}, arena, &result));
//   result->error[i]: |legal - result->value[i]| <= error[i]; infinite: anything is legal there;
//   NaN: this analysis cannot say.
//
// Memory: everything is the caller's arena's. Threads: none of its own; the module is only read.
#pragma once

#include "hlo/ir/hlo.h"

typedef struct hsc_bounded {
  hsc_literal *value;
  // arrays: [elements], absolute, of complex numbers the modulus of the difference; NULL = exact
  double *error;
  struct hsc_bounded **elements;  // tuples: [value->shape.element_count]
} hsc_bounded;

typedef struct hsc_error_options {
  // factors of products of f32 at default precision may be rounded to this relative precision
  // first (TF32: 0x1p-11, bfloat16: 0x1p-8); 0 = they keep their type's
  double factor_unit;
  // told each instruction that was evaluated, in order; inside calls, fusions and loops too. May be
  // NULL
  void (*visit)(void *user,
                const hsc_instr *instr,
                const hsc_bounded *const *operands,
                const hsc_bounded *result);
  void *user;
} hsc_error_options;

// As hsc_evaluate, several times as long. Errors: its own.
HSC_MUST_USE hsc_status *hsc_evaluate_bounded(const hsc_module *module,
                                              int argument_count,
                                              hsc_literal *const *arguments,
                                              const hsc_error_options *options,
                                              hsc_arena *arena,
                                              hsc_bounded **out_result);

// Whether an instruction may legally give several results of the same operands: a sort that is not
// stable leaves equal keys in any order, a scatter whose updates overwrite each other keeps any.
bool hsc_error_is_choice(const hsc_instr *instr);

// The largest error over the largest finite magnitude of an array: how much of it is still known. 0
// when exact; NaN where nothing can be said.
double hsc_bounded_relative(const hsc_bounded *bounded);
// Whether a value of this type is below the smallest normal number of those that XLA computes with
// (f32's for narrower types), and not zero.
bool hsc_is_denormal(hsc_type type, double value);
// Whether an instruction only hands bits on, or makes them of none: a denormal number stays one.
bool hsc_error_reads_bits(const hsc_instr *instr);
// Half a last place of 1 in this type: what one rounding does at most, relative. 0 for integers.
double hsc_type_unit(hsc_type type);
