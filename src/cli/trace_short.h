// trace_short.h - the first screen of a capture: where its time went, what was compiled again and
// why, the executables and operators that took most.
#pragma once

#include "cli/command.h"
#include "report/page_lead.h"
#include "trace/capture.h"

// Prints it, sentences first; every number in a sentence is in a table below it.
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_cli_trace_short(const hsc_capture *capture, hsc_cli *cli);
// The first view of the report page, with the same sentence; left empty where nothing was recorded.
// `path` is what the reader calls the capture.
HSC_MUST_USE hsc_status *hsc_cli_trace_lead(const hsc_capture *capture,
                                            const char *path,
                                            hsc_page_lead *lead);
