// run_counts_text.h - the counts of a device in a run's document, for people.
#pragma once

#include <jansson.h>

#include "cli/command.h"

// What the program computes by operation, as written and as it ran or was compiled: the operations
// whose counts differ, with the reason, and a sentence over the compiler's own count. Nothing for a
// device without counts.
HSC_MUST_USE hsc_status *hsc_run_counts_print(hsc_cli *cli, json_t *device);
