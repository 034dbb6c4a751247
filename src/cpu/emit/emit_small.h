// emit_small.h - what the files of small loops share (see emit_small.c).
//
//   emit_small.c        the walk: instructions, fusions, loops, branches; which loops are small
//   emit_small_scope.c  values of instructions; refusals
//   emit_small_memo.c   what was computed already
//   emit_small_arrays.c which arrays of a loop's state stay in memory
//   emit_small_lanes.c  values in registers: moves between lanes
//   emit_small_folds.c  reductions and products of values in registers
//   emit_small_memory.c values in memory: slices, updates, copies, loads and stores of whole arrays
//   emit_small_linalg.c calls of the kernels of small linear algebra
//
// The walk runs twice, as in emit.h: first `dry`, without code, when it counts and refuses.
#pragma once

#include "cpu/core/plan.h"
#include "cpu/emit/emit_internal.h"

enum {
  // of an array in registers
  HSC_SMALL_MAX_ELEMENTS = HSC_EMIT_MAX_LANES,
  HSC_SMALL_MAX_SLOTS = 256,  // arrays in memory
  HSC_SMALL_MAX_DEPTH = 16,   // of loops and branches in each other
  HSC_SMALL_MAX_RUNS = 64,    // pieces of memory that one slice is read from
  HSC_SMALL_KNOWN = 256,      // chains of what was computed
};

// An array that lies in memory while the loop runs: only slices of it are read and written.
typedef struct hsc_small_slot {
  hsc_lv address;
  bool written;     // by the loop
  int32_t version;  // how often it was written so far, in the order of the code
} hsc_small_slot;

// One array. In registers: a vector of all its elements in row-major order, or one scalar that all
// elements are. In memory: a slot, as it was when it had been written `version` times.
typedef struct hsc_small_value {
  hsc_emit_value in;
  int32_t slot;  // number; -1 = in registers
  int32_t version;
} hsc_small_value;

typedef struct hsc_small_scope {
  const hsc_computation *computation;
  const hsc_instr **keys;    // [capacity], a power of two; NULL = empty
  hsc_small_value **values;  // the instruction's leaves
  uint32_t capacity;
} hsc_small_scope;

typedef struct hsc_small_known hsc_small_known;

typedef struct hsc_small {
  hsc_emitter *e;
  bool dry;
  double cost;  // vector instructions of one trip through everything, while dry
  int depth;    // of loops and branches around the code that is being made
  hsc_small_slot slots[HSC_SMALL_MAX_SLOTS];
  int32_t slot_count;
  hsc_small_known *known[HSC_SMALL_KNOWN];
  LLVMBasicBlockRef rooms;  // the first block, where memory of the function's own is reserved
} hsc_small;

// ---- emit_small_scope.c -------------------------------------------------------------------------

// UNIMPLEMENTED: the loop of `instr` is none of the small ones, because of `why`.
hsc_status *hsc__small_refuse(const hsc_instr *instr, const char *why);
// The values of a computation's instructions while it is walked: a map of its own, for `scratch` of
// instructions is not ours, and a computation may be walked in several loops at once.
HSC_MUST_USE hsc_status *hsc__small_scope_init(hsc_small *s,
                                               const hsc_computation *computation,
                                               hsc_small_scope *scope);
void hsc__small_scope_set(hsc_small_scope *scope, const hsc_instr *instr, hsc_small_value *leaves);
// What was set for it.
hsc_small_value *hsc__small_scope_get(const hsc_small_scope *scope, const hsc_instr *instr);

// ---- emit_small_memo.c --------------------------------------------------------------------------

// Whether an elementwise operation, of these operands on so many elements, or picked lanes
// (hsc__small_pick) were computed before; and notes that they were. Not while dry.
bool hsc__small_known_operation(hsc_small *s,
                                const hsc_instr *instr,
                                const hsc_emit_value *operands,
                                int64_t elements,
                                hsc_emit_value *out_value);
void hsc__small_learn_operation(hsc_small *s,
                                const hsc_instr *instr,
                                const hsc_emit_value *operands,
                                int64_t elements,
                                hsc_emit_value value);
bool hsc__small_known_pick(
    hsc_small *s, hsc_lv from, const int32_t *map, int64_t elements, hsc_emit_value *out_value);
void hsc__small_learn_pick(
    hsc_small *s, hsc_lv from, const int32_t *map, int64_t elements, hsc_emit_value value);
// A loop or a branch has ended, and code goes on at `level`.
void hsc__small_forget(hsc_small *s, int level);

// ---- emit_small_arrays.c ------------------------------------------------------------------------

// Leaf `leaf` of a loop's state, which is an array or a flat tuple of arrays.
const hsc_shape *hsc__small_leaf(const hsc_instr *loop, int leaf);
// Whether it stays in memory while the loop runs; small arrays do only when slices at places that
// are not known are taken: everything else is better in registers. depth: 0.
bool hsc__small_in_memory(const hsc_instr *loop, int leaf, int depth);

// ---- emit_small_lanes.c -------------------------------------------------------------------------

// Lanes that operations work on from now on: the elements of what is computed.
void hsc__small_lanes(hsc_small *s, int64_t elements);
// The value as a vector of `elements` lanes (a scalar for one).
hsc_emit_value hsc__small_spread(hsc_small *s, hsc_emit_value value, int64_t elements);
// result[i] = value[map[i]], of a value of `from` elements.
hsc_emit_value hsc__small_pick(
    hsc_small *s, hsc_emit_value value, int64_t from, const int32_t *map, int64_t elements);
// result[i] = map[i] < a_count ? a[map[i]] : b[map[i] - a_count].
hsc_emit_value hsc__small_join(hsc_small *s,
                               hsc_emit_value a,
                               int64_t a_count,
                               hsc_emit_value b,
                               int64_t b_count,
                               const int32_t *map,
                               int64_t elements);
// Values of `each` elements one after the other.
hsc_emit_value hsc__small_line_up(hsc_small *s,
                                  const hsc_emit_value *parts,
                                  int count,
                                  int64_t each);
// Operations that move elements: broadcast, transpose, slice, reverse, pad, concatenate; iota,
// constants.
HSC_MUST_USE hsc_status *hsc__small_move(hsc_small *s,
                                         const hsc_instr *instr,
                                         const hsc_small_value *operands,
                                         hsc_emit_value *out_value);
bool hsc__small_is_move(hsc_op op);
// Cost of an operation on that many elements, in vector instructions.
double hsc__small_vectors(const hsc_small *s, hsc_type type, int64_t elements);

// The number in row-major order of the element at `at`.
int64_t hsc__small_element(const hsc_shape *shape, const int64_t *at);

// ---- emit_small_folds.c -------------------------------------------------------------------------

HSC_MUST_USE hsc_status *hsc__small_reduce(hsc_small *s,
                                           const hsc_instr *instr,
                                           const hsc_small_value *operands,
                                           hsc_small_value *results);
HSC_MUST_USE hsc_status *hsc__small_dot(hsc_small *s,
                                        const hsc_instr *instr,
                                        const hsc_small_value *operands,
                                        hsc_emit_value *out_value);

// ---- emit_small_memory.c ------------------------------------------------------------------------

// Memory of the function's own for an array.
hsc_lv hsc__small_room(hsc_small *s, hsc_type type, int64_t elements);
hsc_emit_value hsc__small_load(
    hsc_small *s, hsc_type type, hsc_lv address, int64_t elements, int level);
void hsc__small_store(
    hsc_small *s, hsc_type type, hsc_lv address, hsc_emit_value value, int64_t elements);
// Copies bytes from one buffer to another unless they are the same one; at level 0.
void hsc__small_copy(hsc_small *s, hsc_lv from, hsc_lv to, int64_t bytes);
// slice, dynamic-slice, dynamic-update-slice of an array in memory or in registers.
HSC_MUST_USE hsc_status *hsc__small_slice(hsc_small *s,
                                          const hsc_instr *instr,
                                          const hsc_small_value *operands,
                                          hsc_small_value *out_value);
HSC_MUST_USE hsc_status *hsc__small_update(hsc_small *s,
                                           const hsc_instr *instr,
                                           const hsc_small_value *operands,
                                           hsc_small_value *out_value);

// ---- emit_small_linalg.c ------------------------------------------------------------------------

// Whether `instr` is a factorisation or a triangular system of one small matrix.
bool hsc__small_is_linalg(const hsc_instr *instr);
HSC_MUST_USE hsc_status *hsc__small_linalg(hsc_small *s,
                                           const hsc_instr *instr,
                                           const hsc_small_value *operands,
                                           hsc_small_value *results);
