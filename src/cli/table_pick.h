// table_pick.h - a few columns and rows of a large table, for a first screen.
#pragma once

#include "report/table.h"

// A column to show: its heading, and where its cells come from.
typedef struct hsc_cli_pick {
  const char *heading, *from;
} hsc_cli_pick;

// The cell as a number; NaN where it is missing or is a text, or where there is no such column.
double hsc_cli_number(const hsc_table *table, size_t row, const char *column);
// The cell as a text; NULL likewise.
const char *hsc_cli_text(const hsc_table *table, size_t row, const char *column);

// A table of these columns of `from`, its first `rows` rows (0 = all) in its own order, or, where
// `by` names a column, in that column's order, the largest first. Columns that `from` lacks are
// left out. No notes. The caller owns the table. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_cli_pick_columns(const hsc_table *from,
                                              const char *view,
                                              const hsc_cli_pick *columns,
                                              size_t column_count,
                                              const char *by,
                                              size_t rows,
                                              hsc_table **out_table);

// The same of the rows that `rows` names, in that order.
HSC_MUST_USE hsc_status *hsc_cli_pick_rows(const hsc_table *from,
                                           const char *view,
                                           const hsc_cli_pick *columns,
                                           size_t column_count,
                                           const size_t *rows,
                                           size_t row_count,
                                           hsc_table **out_table);
