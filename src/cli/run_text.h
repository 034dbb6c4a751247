// run_text.h - the document of a run, for people.
#pragma once

#include <jansson.h>

#include "cli/command.h"

// Prints the document of docs/schemas/run.json in the chosen format; in text the first screen, or
// everything with `all`.
HSC_MUST_USE hsc_status *hsc_run_print(hsc_cli *cli, json_t *result, bool all);
