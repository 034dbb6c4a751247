// lower.h - what choosing offers to its parts. How a kind of thunk takes part: each
// hsc__cpu_choose_<name> looks at one step; if it can do it, it fills the choice (kind, payload),
// sets in_place and scratch of the step, and says so.
#pragma once

#include "cpu/thunks/thunk_kinds.h"

// Of a program of several devices: pairs of -start and -done become plain collectives
// (async_collectives.c).
HSC_MUST_USE hsc_status *hsc__cpu_finish_collectives(hsc_module *module);
