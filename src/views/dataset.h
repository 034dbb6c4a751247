// dataset.h - many captures as one: the folders of Parquet files that `hloscope export --to=parquet
// -o DIR/` makes (DIR/run=ID/host=NAME/date=DAY/events.parquet).
//
// Nothing is kept of a row once it was counted: memory is that of the largest group of rows and
// 16 KiB for each row of the table, however many files and rows there are. Only of collectives
// 64 bytes each are kept, for the stragglers.
#pragma once

#include "base/core/status.h"
#include "base/parquet/parquet_read.h"
#include "report/table.h"

// Whether a directory holds such folders.
bool hsc_dataset_is_at(const char *path);

typedef struct hsc_dataset_part {
  hsc_parquet_file *file;
  const char *path;
  int64_t number;                 // of the file, from 1
  size_t group, rows;             // a group of its rows
  const char *run, *host, *date;  // as the folders say; "" = they do not
} hsc_dataset_part;
// Calls `visit` for each group of rows, files in the order of their names; texts that it read live
// until it returns. Errors: NOT_FOUND (no file), those of a file and of `visit`, with the path.
HSC_MUST_USE hsc_status *hsc_dataset_each(
    const char *path, hsc_status *(*visit)(void *user, const hsc_dataset_part *part), void *user);
// Where a column of a file is. Errors: INVALID_ARGUMENT, when it is not there.
HSC_MUST_USE hsc_status *hsc_dataset_column(const hsc_parquet_file *file,
                                            const char *name,
                                            size_t *out);

typedef enum hsc_dataset_view {
  HSC_DATASET_SUMMARY,     // by category and name, as the summary of a capture
  HSC_DATASET_HOSTS,       // the same by host
  HSC_DATASET_RUNS,        // the same by run
  HSC_DATASET_STRAGGLERS,  // which host the others wait for in which collective, and why
  HSC_DATASET_VIEWS
} hsc_dataset_view;
const char *hsc_dataset_view_name(hsc_dataset_view view);
// Medians and percentiles are those of histograms, within 1 %. limit 0 = all rows. Errors: those of
// hsc_dataset_each.
HSC_MUST_USE hsc_status *hsc_dataset_table(const char *path,
                                           hsc_dataset_view view,
                                           size_t limit,
                                           hsc_table **out_table);
