// redact.h - a program that says nothing of whom it belongs to: names of its own, no source paths,
// other numbers in its constants.
#pragma once

#include "hlo/ir/hlo.h"

// Changes `module` in place. Instructions, computations and the module get names of their kind and
// a number; metadata, frontend attributes, backend configurations (but of custom calls, which
// cannot do without) and the table of source files go. `constants`: floats of constants of more
// than one element become those that a seed makes; scalars, integers and predicates stay, for they
// are shapes, indices and masks. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_module_redact(hsc_module *module, bool constants);
