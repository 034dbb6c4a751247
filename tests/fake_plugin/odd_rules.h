// odd_rules.h - ways to be odd that take a few lines each: modes of odd_plugin.c.
#pragma once

#include "pjrt/abi.h"
#include "pjrt/client.h"

typedef PJRT_Error *odd_call(hsc_pjrt_function function, void *args);

// In place of a call of the real plugin: does it by `real`, with what the mode changes before and
// after. `args` is as long as this header says.
PJRT_Error *odd_rule_call(const char *mode, hsc_pjrt_function function, void *args, odd_call *real);
// The same of odd_faults.c, for the modes that stand there.
PJRT_Error *odd_fault_call(const char *mode,
                           hsc_pjrt_function function,
                           void *args,
                           odd_call *real);
// Changes the table itself, where the mode says so. `add` [4]: room for extensions.
void odd_rule_table(const char *mode, PJRT_Api *api, PJRT_Extension_Base *add);
