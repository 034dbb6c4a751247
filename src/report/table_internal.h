// table_internal.h - the inside of a table, for the files that print it.
#pragma once

#include "report/table.h"

typedef struct hsc_column {
  const char *name, *unit;  // in the table's arena
} hsc_column;

struct hsc_table {
  hsc_arena *arena;
  const char *view;
  hsc_bytes columns;  // of hsc_column
  hsc_bytes cells;    // of hsc_cell, row by row
  hsc_bytes notes;    // of const char *
  size_t row_count;
  size_t next_cell;  // column of the next cell in the last row
  bool misused;      // a programmer's error, told by print
};

const hsc_column *hsc_table__column(const hsc_table *table, size_t column);

HSC_MUST_USE hsc_status *hsc_table__print_text(const hsc_table *table, const hsc_text_style *style, hsc_bytes *out);
HSC_MUST_USE hsc_status *hsc_table__print_parquet(const hsc_table *table, hsc_bytes *out);
void hsc_table__print_markdown(const hsc_table *table, hsc_bytes *out);
