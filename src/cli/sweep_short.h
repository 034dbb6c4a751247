// sweep_short.h - the first screen of a merged sweep: what came of the tasks, then those that a
// change made different.
#pragma once

#include "cli/command.h"
#include "report/table.h"

// Prints one sentence with the outcomes, and how many tasks differ from their program as it is;
// then at most `rows` rows: tasks that failed, those that differ, the others. Columns that say the
// same in every row are a line above the table; ids and fingerprints are left out.
// `whole` stays the caller's. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_cli_sweep_short(const hsc_table *whole, size_t rows, hsc_cli *cli);
