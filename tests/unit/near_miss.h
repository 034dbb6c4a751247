// near_miss.h - programs that differ from a given one in one thing: what a rewrite must look at
// before it applies. Used with the evaluator as judge (test_near_misses.c): whatever a pass makes
// of a near miss of its example, the numbers stay.
#pragma once

#include "hlo/ir/hlo.h"

// A program that differs from the example: `text` is a module, `change` says in a few words where
// (both valid during the call).
typedef void (*near_miss_visit)(void *context, const char *text, const char *change);

// Calls `visit` with each near miss of the module `text`, from the byte `from` on (what is
// before is left as it is): every number one more and one less, numbers that are side by side
// swapped and moved together, constants that are 0, -0, 1, nan and the like, every operation
// another one of its kind, every comparison another, every operand another value, every dimension
// another size, all values of a type another type. Most are programs, some are not: the caller
// infers shapes again (near_miss_parse) and drops what does not verify.
void near_misses(const char *text, size_t from, near_miss_visit visit, void *context);

// Parses a near miss with the shapes that follow from its parameters, constants and attributes.
// *out_module is NULL when it is no program.
void near_miss_parse(const char *text, hsc_module **out_module);

// Makes the value number `which` (from 0, in program order) of the entry computation a result too,
// as if somebody else used it; false when there are not that many. *out_name is its name.
bool near_miss_add_user(hsc_module *module, int which, const char **out_name);
