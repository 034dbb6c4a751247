// memory_order.h - how much memory a computation's values need at once when its instructions run in
// a given order.
//
// An estimate by the rules of a computation's own instructions: each computes values that live
// until their last reader has run; instructions that need no memory of their own (tuple,
// get-tuple-element, reshape, bitcast, copy) keep what they name alive; a loop's state is the one
// that it is given; parameters and constants count for nothing, as they are there anyway; what is
// returned lives to the end. Called computations are not looked into. Source:
// xla/service/heap_simulator (MinimumMemoryForComputation), xla/hlo/analysis/hlo_ordering.
#pragma once

#include "passes/manager/passes_internal.h"

typedef struct hsc_memory_order {
  hsc_computation *computation;
  int32_t count;
  hsc_instr **instrs;  // [count] in program order; instr->index is its number here
  int64_t *bytes;      // [count] that it computes; 0 for views
  // values that a read of instruction i reads: roots[first_root[i] .. first_root[i + 1])
  int32_t *first_root, *roots;
} hsc_memory_order;

// Whose roots instruction `instr` reads where it has operand `operand`: an element of a tuple reads
// no more of it than itself.
static inline int32_t hsc__memory_order_read(const hsc_instr *instr, int operand) {
  return instr->op == HSC_OP_GET_TUPLE_ELEMENT ? instr->index : instr->operands[operand]->index;
}

// Everything lives in the arena. Sets index fields.
HSC_MUST_USE hsc_status *hsc__memory_order_make(hsc_computation *computation,
                                                hsc_arena *arena,
                                                hsc_memory_order *out_order);
// The most bytes alive at once, and (may be NULL) before which place of the order that is. order:
// [count] numbers.
int64_t hsc__memory_order_peak(const hsc_memory_order *m,
                               const int32_t *order,
                               hsc_arena *arena,
                               int32_t *out_place);
