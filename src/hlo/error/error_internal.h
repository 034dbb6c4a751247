// error_internal.h - what the files of the running error analysis share.
#pragma once

#include <math.h>

#include "hlo/error/error_bounds.h"

typedef struct hsc__error_walk {
  const hsc_error_options *options;
  hsc_arena *arena;      // of what is being evaluated
  hsc_module *reducers;  // scalar computations on doubles
  uint64_t random_state[2];
} hsc__error_walk;

// One instruction whose operands and value are known.
typedef struct hsc__error_site {
  hsc__error_walk *walk;
  const hsc_instr *instr;
  const hsc_bounded *const *operands;
  const hsc_literal *value;
  int64_t count;  // elements of the value
  double unit;    // of the value's type
  double tiny;    // what flushing denormals to zero may do, absolute
} hsc__error_site;

// The larger; NaN where one of them is.
static inline double hsc__worse(double x, double y) {
  if (isnan(x) || isnan(y))
    return NAN;
  return x > y ? x : y;
}
static inline double hsc__error_at(const hsc_bounded *b, int64_t i) {
  return b->error ? b->error[i] : 0;
}
bool hsc__is_exact(const hsc_bounded *bounded);  // tuples: all of it
// Last places that an implementation of the op may be off: op_accuracy.def's, else half of one.
double hsc__op_places(hsc_op op);
// Below it numbers of this type are denormal where XLA computes with them: narrower floats are
// computed as f32.
double hsc__least_normal(hsc_type type);
// One rounding of `value` to the site's type, on either side: the evaluator's and another's.
double hsc__rounding(const hsc__error_site *site, double value);

// Each fills error[site->count], zeroed before; what it cannot say is NaN.
typedef hsc_status *hsc__error_rule(const hsc__error_site *site, double *error);
hsc__error_rule hsc__error_elementwise;  // error_elementwise.c
hsc__error_rule hsc__error_select;
hsc__error_rule hsc__error_clamp;
hsc__error_rule hsc__error_moved;  // error_move.c
hsc__error_rule hsc__error_scatter;
hsc__error_rule hsc__error_dot;  // error_sum.c
hsc__error_rule hsc__error_convolution;
hsc__error_rule hsc__error_reduce;  // reduce and reduce-window
hsc__error_rule hsc__error_fft;
hsc__error_rule hsc__error_unknown;

// error_open.c
// Whether nothing lays down what a reduction gives: any value is legal. Errors: no memory.
HSC_MUST_USE hsc_status *hsc__error_is_open(hsc__error_walk *walk,
                                            const hsc_instr *instr,
                                            const hsc_bounded *const *operands,
                                            bool *out_open);

// error_sort.c
// The errors of all results, one of each operand, in the walk's arena; site->count is of each.
HSC_MUST_USE hsc_status *hsc__error_sort(const hsc__error_site *site, hsc_bounded *const *results);
// Whether every legal sort of the same keys gives the same: it is stable, or only looks at numbers
// of which equal ones are alike.
bool hsc__sorts_alike(const hsc_instr *instr);

// error_move.c
// The same instruction on doubles: operands of `doubles` (arrays of the operands' dimensions; NULL
// = the operand as it is), called computations replaced by `reducer` where it is not NULL.
// *out_values: [site->count], in the walk's arena.
HSC_MUST_USE hsc_status *hsc__error_replay(const hsc__error_site *site,
                                           double *const *doubles,
                                           hsc_computation *reducer,
                                           double **out_values);
// Whether several updates of a scatter may overwrite one element: nothing lays down which is last.
bool hsc__may_collide(const hsc_instr *instr);
// |x| + scale * error of an operand, in the walk's arena.
double *hsc__magnitudes(const hsc__error_site *site, int operand, double scale);
hsc_computation *hsc__double_reducer(hsc__error_walk *walk, hsc_op op);
