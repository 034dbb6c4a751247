// rules.h - the examples of the algebraic simplifier's rules (rules.def), for what shows and tests
// them. Rules themselves are hsc_rule of passes.h.
#pragma once

#include "passes/manager/passes.h"

// One example: of a rule, or of one of XLA's that is not here.
typedef struct hsc_rule_example {
  int32_t rule;         // its index; -1 = not here
  hsc_op op;            // the first of the operations that the rule looks at
  const char *options;  // what it needs, as hsc_pass_options.algsimp; NULL = nothing
  const char *text;     // what becomes what
  const char *body;     // of an entry computation
} hsc_rule_example;

size_t hsc_rule_example_count(void);
hsc_rule_example hsc_rule_example_get(size_t index);
// The example as a module in HLO text, with the computations that examples call.
void hsc_rule_example_print(const hsc_rule_example *example, hsc_bytes *out);
