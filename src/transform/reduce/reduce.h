// reduce.h - rules that make a program smaller, and do not keep what it computes.
//
// A rule finds places in a program (an instruction that a parameter could stand for, an output that
// could go) and changes those that it is told to. Whether the smaller program still shows what it
// is wanted for is for the caller to find out (lab/reduce): rules only promise that what they
// make verifies. What becomes unused by a change goes with it; what was so before is a place of the
// rule "unused".
//
//   const hsc_reduce_rule *rule = hsc_reduce_rule_at(i);
//   HSC_TRY(hsc_reduce_places(rule, module, &count));          // places, in a fixed order
//   HSC_TRY(hsc_reduce_apply(rule, module, chosen, count, &smaller));
//   ... smaller.module; smaller.inputs[p] says where the value of its parameter p comes from ...
//   hsc_reduced_deinit(&smaller);
//
// Programs must be flat: parameters of the entry computation are arrays, its result an array or a
// tuple of arrays. hsc_reduce_flatten makes them so.
#pragma once

#include "hlo/ir/hlo.h"

typedef struct hsc_reduce_rule {
  const char *name, *doc;
} hsc_reduce_rule;
size_t hsc_reduce_rule_count(void);
const hsc_reduce_rule *hsc_reduce_rule_at(size_t index);
const hsc_reduce_rule *hsc_reduce_rule_get(const char *name);  // NULL = no such rule

// Where a parameter of a reduced program gets its value from.
typedef struct hsc_reduce_input {
  int32_t parameter;          // of the program before; -1 = it is new
  const hsc_instr *value_of;  // of a new one: this instruction of the program before
  const hsc_shape *from;      // of an old one: its shape before, where that was another; else NULL
} hsc_reduce_input;

typedef struct hsc_reduced {
  hsc_module *module;        // NULL: nothing came of it (nothing was chosen, or it does not verify)
  hsc_reduce_input *inputs;  // [module->entry->parameter_count], in the module's arena
} hsc_reduced;
void hsc_reduced_deinit(hsc_reduced *reduced);

HSC_MUST_USE hsc_status *hsc_reduce_places(const hsc_reduce_rule *rule,
                                           const hsc_module *module,
                                           int64_t *out_count);
// chosen[count], count as hsc_reduce_places says. What does not verify is no error: module NULL.
// `module` stays as it is.
HSC_MUST_USE hsc_status *hsc_reduce_apply(const hsc_reduce_rule *rule,
                                          const hsc_module *module,
                                          const bool *chosen,
                                          int64_t count,
                                          hsc_reduced *out_reduced);

// The value of a parameter whose shape changed: the first elements of each dimension (of the whole
// where the rank differs), converted. In `arena`.
HSC_MUST_USE hsc_status *hsc_reduce_value(const hsc_literal *old,
                                          const hsc_shape *shape,
                                          hsc_arena *arena,
                                          hsc_literal **out_value);

// Tuples among the parameters become one parameter a leaf, nested tuples of the result one tuple;
// donations, schedules and the layout of the entry go. The order of the leaves stays.
HSC_MUST_USE hsc_status *hsc_reduce_flatten(const hsc_module *module, hsc_reduced *out_reduced);

// The first `count` instructions of the entry computation (in program order, parameters not
// counted), with all that is used after them as the result.
HSC_MUST_USE hsc_status *hsc_reduce_keep_first(const hsc_module *module,
                                               int64_t count,
                                               hsc_reduced *out_reduced);
// All but the first `count`: what is used of those becomes parameters.
HSC_MUST_USE hsc_status *hsc_reduce_drop_first(const hsc_module *module,
                                               int64_t count,
                                               hsc_reduced *out_reduced);
// The last instruction that computes an array, as the only result, and what it is made of up to
// `distance` uses away; arrays beyond become parameters. module NULL: nothing computes.
HSC_MUST_USE hsc_status *hsc_reduce_around_last(const hsc_module *module,
                                                int64_t distance,
                                                hsc_reduced *out_reduced);
// Instructions of the entry computation that keep_first and drop_first count.
int64_t hsc_reduce_entry_count(const hsc_module *module);

// A program that gives the values of instructions of the entry computation (arrays), as a tuple in
// their order; its parameters are those of `module`.
HSC_MUST_USE hsc_status *hsc_reduce_values(const hsc_module *module,
                                           const hsc_instr *const *instrs,
                                           int count,
                                           hsc_module **out_module);
