// run_fallback.h - hloscope run --fallback: down a list of devices until one manages the program.
#pragma once

#include "cli/command.h"
#include "lab/run/run.h"

// Runs the program on options->devices[0]. When that fails, the error is looked up in the knowledge
// base and the remedies of its entries (compile options, variables of the environment) are tried on
// the same device, then the next device of `fallback` is taken, and so on. *out_result is the
// document of the run that worked, with "fallback": {"wanted", "used", "options", "degraded",
// "attempts": [...]} in it.
// Errors: the last one when nothing worked (noted with what was tried); what is wrong with the
// program itself, at once; no memory.
HSC_MUST_USE hsc_status *hsc_run_with_fallback(const hsc_run_options *options,
                                               const hsc_list *fallback,
                                               hsc_cli *cli,
                                               json_t **out_result);
