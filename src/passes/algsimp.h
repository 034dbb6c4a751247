// algsimp.h - the algebraic simplifier's rule books and what they share.
//
// A rule looks at one instruction and, when it applies, builds a replacement before it. It returns NULL when no rule applies. Rules are
// XLA's (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc); ones that change the rounding of floats are those that XLA does by default.
#pragma once

#include "passes/passes_internal.h"

typedef hsc_instr *(*hsc__rule)(hsc_builder *b, hsc_instr *instr);

hsc__rule hsc__algsimp_arithmetic_rule(hsc_op op);   // NULL = none
hsc__rule hsc__algsimp_movement_rule(hsc_op op);
hsc__rule hsc__algsimp_window_rule(hsc_op op);

// Rules that options switch on, and whether they let a rule of the other books look at an instruction (algsimp_optional.c).
hsc_instr *hsc__algsimp_optional(const hsc_algsimp_options *options, hsc_builder *b, hsc_instr *instr);
bool hsc__algsimp_allowed(const hsc_algsimp_options *options, const hsc_instr *instr);
