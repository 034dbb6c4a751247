// passes_internal.h - what a pass sees: its context, and the helpers that several passes share.
#pragma once

#include "passes/passes.h"

typedef struct hsc_pass_context {
  bool changed;                // the pass sets it when it changed the module
  int64_t fuel;                // rewrites left; < 0 = no limit
  int64_t pass_fuel;           // rewrites left to this pass; < 0 = no limit
  int64_t rewrites;            // done by this run
  hsc_arena *scratch;          // reset after each pass
  const hsc_pass_target *target;   // NULL = none
} hsc_pass_context;

// To be asked before each rewrite: false when the fuel is spent. Counts the rewrite and marks the module as changed.
bool hsc__pass_spend(hsc_pass_context *cx);

#define PASS(id, text, need, doc) HSC_MUST_USE hsc_status *hsc__pass_##id(hsc_module *module, hsc_pass_context *cx);
#include "passes/passes.def"
#undef PASS

// [HSC_PASS_COUNT] the text of examples/<id>.hlo; made by the build.
extern const char *const hsc__pass_examples[];
// Asks the target for the algorithm of every instruction with that op outside of fusions, and writes it into the backend config (algorithm_picker.c).
HSC_MUST_USE hsc_status *hsc__pick_algorithms(hsc_module *module, hsc_pass_context *cx, hsc_op op);

// Replaces all uses of `instr` by `by` (same dimensions and type), moves the name of a root along, and removes `instr` when nothing holds it.
HSC_MUST_USE hsc_status *hsc__replace(hsc_instr *instr, hsc_instr *by);

// Clones the body of `computation` before `before`, with arguments in place of the parameters; *out_root is the clone of its root.
HSC_MUST_USE hsc_status *hsc__inline(hsc_computation *computation, hsc_instr *before, hsc_instr *const *arguments, hsc_instr **out_root);

// The instruction with its operands as a fresh computation with parameters, wrapped in a fusion in its place.
HSC_MUST_USE hsc_status *hsc__wrap_in_fusion(hsc_instr *instr, hsc_fusion_kind kind, hsc_instr **out_fusion);
// Moves `producer` (an operand of `fusion`; itself a plain instruction or a loop fusion) into the fusion's computation. The producer stays
// where it is for its other users; dce removes it when it has none.
HSC_MUST_USE hsc_status *hsc__fuse_into(hsc_instr *fusion, hsc_instr *producer);

// Whether the computation is run as part of an instruction that emits it inline (reducers, comparators, fusions): not a place for fusions.
bool hsc__computation_is_embedded(const hsc_computation *computation);
// Marks embedded computations in `scratch` fields: call once per pass before hsc__computation_is_embedded.
void hsc__mark_embedded(hsc_module *module);
