// plan.h - from a module to steps in one linear order, and from values to slots in memory.
//
//   hsc_cpu_plan_build     walks the entry computation and everything that it calls natively
//                          (while, conditional, call) once per call site;
//                          makes one step per instruction that computes, one value per array leaf;
//                          instructions that are aliases
//                          (tuple, get-tuple-element, reshape, bitcast ...) make nothing; a copy is
//                          a step that buffer assignment may find to be nothing
//   (the caller chooses an implementation for each step: in-place operands and scratch bytes)
//   hsc_cpu_plan_assign    live intervals, storage sets (values that share memory), offsets in one
//                          temporary block
//
// A storage set is a group of values whose live intervals do not overlap, and that therefore may
// share one slot: the carried state of a loop with what the body computes for it, an operand with
// the result that overwrites it, an output with the value that is returned.
// Memory: everything in the arena given to build. A plan is made by one thread.
#pragma once

#include "hlo/ir/hlo.h"

// ---- slots --------------------------------------------------------------------------------------

// Bases are numbered: temporary block, constants, the inputs, then the outputs.
enum { HSC_CPU_BASE_TEMP = 0, HSC_CPU_BASE_CONSTANTS = 1, HSC_CPU_BASE_FIRST_INPUT = 2 };
typedef struct hsc_cpu_slice {
  int32_t base;
  int32_t value;   // number of the value, for messages and dumps
  int64_t offset;  // bytes
  int64_t bytes;
} hsc_cpu_slice;

// ---- values and steps ---------------------------------------------------------------------------

typedef enum hsc_cpu_value_kind {
  HSC_CPU_VALUE_COMPUTED,
  HSC_CPU_VALUE_INPUT,
  HSC_CPU_VALUE_CONSTANT,
  HSC_CPU_VALUE_HOLD
} hsc_cpu_value_kind;

typedef struct hsc_cpu_step hsc_cpu_step;
typedef struct hsc_cpu_value {
  // HOLD: keeps a slot reserved at one position, has no content of its own
  hsc_cpu_value_kind kind;
  int32_t number;  // input number, or constant number; else 0
  int64_t bytes;
  int32_t def, last;   // positions, both inclusive
  int32_t set;         // number of the storage set (of itself at first): hsc__live_set_of
  int32_t below[2];    // of the set's tree: what is defined before and after; -1 = nothing
  int32_t last_below;  // the last use in this subtree
  hsc_cpu_step *step;  // that computes it; NULL for inputs, constants and carried state
  int32_t output;      // which output of the step
} hsc_cpu_value;

typedef enum hsc_cpu_step_kind {
  HSC_CPU_STEP_OP,
  HSC_CPU_STEP_COPY,
  HSC_CPU_STEP_WHILE,
  HSC_CPU_STEP_CONDITIONAL
} hsc_cpu_step_kind;

typedef struct hsc_cpu_block {
  hsc_cpu_step *first, *last;
} hsc_cpu_block;

struct hsc_cpu_step {
  hsc_cpu_step_kind kind;
  int32_t position;
  const hsc_instr *instr;  // NULL for copies that no instruction asks for
  int32_t input_count, output_count;
  // values; the leaves of all operands in order, the leaves of the result
  int32_t *inputs, *outputs;
  // [output_count] set by the caller: bit i = this output may overwrite input i; NULL = none
  uint64_t *in_place;
  int64_t scratch_bytes;  // set by the caller; 0 = none
  int32_t scratch;        // value, -1 = none
  int32_t block_count;    // while: condition, body; conditional: the branches
  hsc_cpu_block *blocks;
  // while: the predicate's value; conditional: the selecting value
  int32_t condition;
  int64_t trip_count;  // while: when known, else -1
  int32_t loop;        // while: number in plan->loops
  void *choice;        // the caller's
  hsc_cpu_step *next;
};

typedef struct hsc_cpu_constant {
  const hsc_literal *literal;
  int64_t offset;  // in the constants section
  int64_t bytes;
} hsc_cpu_constant;

typedef struct hsc_cpu_set {
  int32_t first_value;  // the root of the tree of its values; -1 = it has none
  int32_t value_count;
  int32_t joined;  // the set that it became a part of; -1 = none
  int32_t base;    // -1 until placed
  int64_t offset, bytes;
} hsc_cpu_set;

// What the caller says of a while: whether it is one step, not two blocks of steps (NULL: none is).
typedef struct hsc_cpu_whole_loops {
  bool (*is_whole)(void *context, const hsc_instr *loop);
  void *context;
} hsc_cpu_whole_loops;

typedef struct hsc_cpu_plan {
  hsc_arena *arena;
  const hsc_module *module;
  const hsc_cpu_whole_loops *whole_loops;  // of build; NULL = none
  hsc_cpu_block main;
  hsc_cpu_value *values;
  int32_t value_count, value_capacity;
  hsc_cpu_constant *constants;
  int32_t constant_count, constant_capacity;
  int32_t *constant_slots;  // [constant_slot_count] by content: number of a constant + 1, 0 = free
  int32_t constant_slot_count;
  int32_t input_count, output_count;
  int32_t *output_values;  // [output_count] leaves of the result
  // [output_count] input that may have the same memory, -1 = none
  int32_t *output_alias;
  hsc_cpu_set *sets;  // [value_count], by set number
  int32_t step_count;
  int32_t position_count;
  int64_t temp_bytes, constant_bytes;
  struct hsc_cpu_loop *loops;
  int32_t loop_count, loop_capacity;
  struct hsc_cpu_use *uses;
  int32_t use_count, use_capacity;
} hsc_cpu_plan;

HSC_MUST_USE hsc_status *hsc_cpu_plan_build(const hsc_module *module,
                                            const hsc_cpu_whole_loops *whole_loops,
                                            hsc_arena *arena,
                                            hsc_cpu_plan **out_plan);
// Whether the body of a while returns leaf `leaf` of its state as it got it; such a leaf of a loop
// that is one step is no output of the step.
bool hsc_cpu_loop_keeps(const hsc_instr *loop, int leaf);
HSC_MUST_USE hsc_status *hsc_cpu_plan_assign(hsc_cpu_plan *plan);
// Where a value lives; after assign.
hsc_cpu_slice hsc_cpu_plan_slice(const hsc_cpu_plan *plan, int32_t value);
