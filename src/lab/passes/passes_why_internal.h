// passes_why_internal.h - what the files of `passes why` share.
//
// Every operation of the program carries its number as its op_name ("hsc:12"), which compilers keep
// through their passes: in whatever kernel it ends, it is found again.
#pragma once

#include "hlo/ir/hlo.h"
#include "hlo/ir/not_fused.h"
#include "lab/passes/passes_why.h"

typedef enum why_change {
#define CHANGE(id, place, name, cause, remedy) WHY_##id,
#include "lab/passes/why_causes.def"
#undef CHANGE
  WHY_CHANGE_COUNT
} why_change;

enum { WHY_LONGEST = 8 };

// An operation and one that reads it, perhaps through others that cost nothing.
typedef struct why_pair {
  const hsc_instr *path[WHY_LONGEST];  // the producer first, the consumer last
  int length;
  double bytes;            // written and read again, in all runs of loops around them
  int64_t times;           // that they run
  const char *kernels[2];  // that they are in, of the compiled program
} why_pair;
static inline const hsc_instr *why_producer(const why_pair *pair) {
  return pair->path[0];
}
static inline const hsc_instr *why_consumer(const why_pair *pair) {
  return pair->path[pair->length - 1];
}

// ---- passes_why_kernels.c -----------------------------------------------------------------------

// Which operations of the program are in which kernels of a compiled one.
typedef struct why_kernels {
  hsc_arena *arena;
  int32_t mark_count;
  const char **names;  // [count] of kernels
  int count, room;
  struct why_places {
    int *kernels;
    int count, room;
  } *of;  // [mark_count]
  // [decision_count] what the compiler's own passes said about pairs, where it tells
  struct why_decision *decisions;
  int decision_count, decision_room;
} why_kernels;

enum { WHY_MOST_REASONS = 8 };
typedef struct why_decision {
  const char *kernels[2];  // the producer's, the consumer's
  hsc_not_fused reasons[WHY_MOST_REASONS];
  int count;
} why_decision;
// The passes' own decision about a pair; NULL = none is recorded.
const why_decision *hsc__why_decided(const why_kernels *kernels, const why_pair *pair);
// Numbers all operations and makes the numbers their op_name; the count comes back.
HSC_MUST_USE hsc_status *hsc__why_mark(hsc_module *module, int32_t *out_count);
HSC_MUST_USE hsc_status *hsc__why_kernels_read(const hsc_module *compiled,
                                               int32_t mark_count,
                                               hsc_arena *arena,
                                               why_kernels *out);
bool hsc__why_is_there(const why_kernels *kernels, const hsc_instr *instr);
bool hsc__why_is_fused(const why_kernels *kernels, const hsc_instr *a, const hsc_instr *b);
// All pairs in different kernels, the dearest first; in `arena`.
HSC_MUST_USE hsc_status *hsc__why_pairs(const hsc_module *module,
                                        const why_kernels *kernels,
                                        hsc_arena *arena,
                                        why_pair **out_pairs,
                                        size_t *out_count);

// ---- passes_why_change.c ------------------------------------------------------------------------

// The pair by itself, or the whole program, with one thing changed; NULL where the change does not
// apply. What does not verify is an error.
HSC_MUST_USE hsc_status *hsc__why_change(const hsc_module *module,
                                         const why_pair *pair,
                                         why_change change,
                                         bool in_whole,
                                         hsc_module **out_module);
