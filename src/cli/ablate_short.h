// ablate_short.h - the first screen of an ablation: which passes matter, and the proof.
#pragma once

#include <jansson.h>

#include "cli/command.h"

// Prints, of the document of `passes ablate`: a sentence (how many passes change the compiled
// program, which of them certainly make it faster or slower), and the rows of those that do, the
// proven effects first. Passes without which nothing changes are counted, not listed.
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_cli_ablate_short(json_t *result, hsc_cli *cli);
