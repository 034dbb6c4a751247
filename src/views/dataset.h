// dataset.h - many captures as one: the folders of Parquet files that `hloscope export --to=parquet
// -o DIR/` makes (DIR/run=ID/host=NAME/date=DAY/events.parquet).
#pragma once

#include "base/core/status.h"
#include "report/table.h"

// Whether a directory holds such folders.
bool hsc_dataset_is_at(const char *path);
// The summary of a capture (view_summary.c) over all of them. Files are read one after the other
// and forgotten: memory is that of the largest file's three columns, and 16 KiB for each name.
// Medians and percentiles are those of histograms, within 1 %. limit 0 = all rows. Errors:
// NOT_FOUND (no file), those of a file, with its path.
HSC_MUST_USE hsc_status *hsc_dataset_summary(const char *path, size_t limit, hsc_table **out_table);
