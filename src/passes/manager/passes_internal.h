// passes_internal.h - what a pass sees: its context, and the helpers that several passes share.
#pragma once

#include "hlo/ir/not_fused.h"
#include "passes/manager/passes.h"

typedef struct hsc_pass_context {
  bool changed;                   // the pass sets it when it changed the module
  int64_t fuel;                   // rewrites left; < 0 = no limit
  int64_t pass_fuel;              // rewrites left to this pass; < 0 = no limit
  int64_t rewrites;               // done by this run
  int64_t *rule_fuel;             // [hsc_rule_count()] rewrites left to each rule; < 0 = no limit
  int64_t *rule_rewrites;         // [hsc_rule_count()] done by this run
  hsc_pass_log *rewrite_log;      // where rewrites by rules are noted; NULL = nowhere
  bool log_is_short;              // there was no memory for one of them
  int64_t comparisons;            // of instructions in a bucket: work that tests count
  hsc_arena *scratch;             // reset after each pass
  const hsc_pass_target *target;  // NULL = none
  hsc_algsimp_options algsimp;
  int64_t memory_limit_bytes;  // for the values of a computation; <= 0 = no limit
} hsc_pass_context;

// To be asked before each rewrite: false when the fuel is spent. Counts the rewrite and marks the
// module as changed.
bool hsc__pass_spend(hsc_pass_context *cx);
// The same for a rewrite of `instr` by a rule, which the rule's fuel must allow, too; notes it.
bool hsc__rule_spend(hsc_pass_context *cx, int32_t rule, const hsc_instr *instr);

#define PASS(id, text, room, doc) \
  HSC_MUST_USE hsc_status *hsc__pass_##id(hsc_module *module, hsc_pass_context *cx);
#include "passes/manager/passes.def"
#undef PASS

// [HSC_PASS_COUNT] the text of examples/<id>.hlo; made by the build.
extern const char *const hsc__pass_examples[];
// Asks the target for the algorithm of every instruction with that op outside of fusions, and
// writes it into the backend config (algorithm_picker.c).
HSC_MUST_USE hsc_status *hsc__pick_algorithms(hsc_module *module, hsc_pass_context *cx, hsc_op op);

// Replaces all uses of `instr` by `by` (same dimensions and type), moves the name of a root along,
// and removes `instr` when nothing holds it.
HSC_MUST_USE hsc_status *hsc__replace(hsc_instr *instr, hsc_instr *replacement);

// The same for an instruction whose effects, if it has any, have moved into what replaces it: it
// goes, or they would happen twice.
HSC_MUST_USE hsc_status *hsc__replace_effects_too(hsc_instr *instr, hsc_instr *replacement);

// What most expanders are: replaces every instruction that `matches` (and has no control edges) by
// what `rewrite` builds before it. Both are decided by `matches`: fuel is spent before `rewrite`,
// which must not say no. What is built is not looked at again.
HSC_MUST_USE hsc_status *hsc__rewrite_each(hsc_module *module,
                                           hsc_pass_context *cx,
                                           bool (*matches)(const hsc_instr *instr),
                                           hsc_instr *(*rewrite)(hsc_builder *b, hsc_instr *instr));

// Clones the body of `computation` where the builder is, with arguments in place of the
// parameters (NULL for one without users); returns its root.
hsc_instr *hsc__build_body(hsc_builder *b,
                           hsc_computation *computation,
                           hsc_instr *const *arguments);
// Clones the body of `computation` before `before`, with arguments in place of the parameters;
// *out_root is the clone of its root.
HSC_MUST_USE hsc_status *hsc__inline(hsc_computation *computation,
                                     hsc_instr *before,
                                     hsc_instr *const *arguments,
                                     hsc_instr **out_root);

// The instruction with its operands as a fresh computation with parameters, wrapped in a fusion in
// its place.
HSC_MUST_USE hsc_status *hsc__wrap_in_fusion(hsc_instr *instr,
                                             hsc_fusion_kind kind,
                                             hsc_instr **out_fusion);
// Moves `producer` (an operand of `fusion`; itself a plain instruction or a loop fusion) into the
// fusion's computation. The producer stays where it is for its other users; dce removes it when it
// has none.
HSC_MUST_USE hsc_status *hsc__fuse_into(hsc_instr *fusion, hsc_instr *producer);

// Removes what nothing needs any more, users before what they use.
void hsc__remove_dead(hsc_computation *computation);
// Takes the operands away that the fusion's computation does not read. The computation must be the
// fusion's alone.
HSC_MUST_USE hsc_status *hsc__drop_unread_operands(hsc_instr *fusion);

// ---- values (pass_values.c) ---------------------------------------------------------------------

// All elements equal `value`: a constant, or a broadcast of one.
bool hsc__is_all(const hsc_instr *instr, double value);
// The scalar behind a broadcast or scalar constant, NULL when there is none.
hsc_instr *hsc__uniform_value(hsc_instr *instr);
// `value` (a scalar) widened to the dimensions of `like`.
hsc_instr *hsc__widen(hsc_builder *b, hsc_instr *value, const hsc_instr *like);
// A constant of the type of `like` on its dimensions.
hsc_instr *hsc__uniform_constant(hsc_builder *b, double value, const hsc_instr *like);

// A map whose computation is elementwise throughout, and the same on whole arrays, where the
// builder is (map_inliner.c).
bool hsc__map_is_elementwise(const hsc_instr *map);
hsc_instr *hsc__build_mapped(hsc_builder *b, hsc_instr *map);

// ---- computations -------------------------------------------------------------------------------

// Whether the computation is run as part of an instruction that emits it inline (reducers,
// comparators, fusions): not a place for fusions.
bool hsc__computation_is_embedded(const hsc_computation *computation);
// Counts in `index` fields how many instructions have each computation embedded: call once per pass
// before hsc__computation_is_embedded and hsc__fuse_into.
void hsc__mark_embedded(hsc_module *module);

// ---- why kernels stay apart (fusion_log.c) ------------------------------------------------------

// Decisions about the module are recorded from here on; without this, what follows does nothing.
HSC_MUST_USE hsc_status *hsc__fusion_log_begin(hsc_module *module);
// The reader does not take in the producer. Asked again with the same reason, it is noted once; a
// lack of memory is told by the arena.
void hsc__fusion_refused(const hsc_instr *producer, const hsc_instr *reader, hsc_not_fused reason);
// `now` stands where `old` was.
void hsc__fusion_became(const hsc_instr *old, const hsc_instr *now);
// Writes the reasons into the kernels (hlo/ir/not_fused.h) and ends the log.
HSC_MUST_USE hsc_status *hsc__fusion_log_end(hsc_module *module);
