// emit_reduce_internal.h - what the two files of reductions share:
//
//   emit_reduce.c      the plan; rows, columns, registers; parts of large reductions
//   emit_short_rows.c  arrays whose rows are short (coordinates, colours)
#pragma once

#include "cpu/emit/emit_internal.h"

enum { HSC_REDUCE_MAX_ACCUMULATORS = 64 };

typedef struct hsc_folding {  // one reduce
  const hsc_instr *reduce;
  int operand_count;  // values that it folds: operands, then as many initial values
  int first_output;
  hsc_op op;  // of a simple reducer, else HSC_OP_COUNT
} hsc_folding;

typedef struct hsc_reduce {
  hsc_emit_job *job;
  hsc_folding foldings[HSC_KERNEL_MAX_BUFFERS];
  int folding_count;
  int value_count;  // accumulators: one per output
  bool simple;      // all reducers are
} hsc_reduce;

typedef struct hsc_reduce_target {  // where results go: the outputs, or the part's own
  bool partial;
  hsc_affine linear;
} hsc_reduce_target;

// ---- emit_reduce.c ------------------------------------------------------------------------------

hsc_type hsc__reduce_output_type(const hsc_reduce *cx, int output);
// Of its accumulator: narrow floats are accumulated in f32.
hsc_type hsc__reduce_held_type(const hsc_reduce *cx, int output);
// What changes nothing when a value of `type` is folded into it by a simple reducer's operation.
hsc_emit_value hsc__reduce_neutral(hsc_emitter *e, hsc_op op, hsc_type type);
// What each of `value_count` accumulators begins with.
HSC_MUST_USE hsc_status *hsc__reduce_initial_values(hsc_reduce *cx,
                                                    hsc_emit_value *values,
                                                    bool neutral_only);
// The folded operands at the current index.
HSC_MUST_USE hsc_status *hsc__reduce_operand_values(hsc_reduce *cx, hsc_emit_value *values);
// accumulators = reducer(accumulators, values), for all foldings.
HSC_MUST_USE hsc_status *hsc__reduce_fold_in(hsc_reduce *cx,
                                             hsc_emit_value *accumulators,
                                             const hsc_emit_value *values);
// Vectors to scalars: halves are folded together until one lane is left.
HSC_MUST_USE hsc_status *hsc__reduce_across_lanes(hsc_reduce *cx,
                                                  int level,
                                                  hsc_emit_value *values);
// Where a result lies: row-major over the kept dimensions.
HSC_MUST_USE hsc_status *hsc__reduce_output_linear(const hsc_reduce *cx, hsc_affine *out_linear);
void hsc__reduce_store_values(hsc_reduce *cx,
                              const hsc_reduce_target *to,
                              const hsc_emit_value *values);

// ---- emit_short_rows.c --------------------------------------------------------------------------

// Whether the innermost loop is written out, its trips in columns of vectors along the loop around
// it; sets the job's columns and lanes. After the analysis.
bool hsc__reduce_choose_short_rows(hsc_reduce *cx);
// The outermost loop that threads share, -1 = none.
int hsc__reduce_short_rows_shared(const hsc_emitter *e);
HSC_MUST_USE hsc_status *hsc__reduce_short_rows(hsc_reduce *cx);
