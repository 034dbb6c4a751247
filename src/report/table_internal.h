// table_internal.h - the inside of a table, for the files that print it.
#pragma once

#include "report/table.h"

typedef enum hsc_cell_kind { HSC_CELL_MISSING, HSC_CELL_TEXT, HSC_CELL_INT, HSC_CELL_DOUBLE, HSC_CELL_BOOL } hsc_cell_kind;

typedef struct hsc_cell {
  hsc_cell_kind kind;
  union {
    const char *text;  // in the table's arena
    int64_t integer;   // also the bool
    double number;
  };
} hsc_cell;

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

size_t hsc_table__column_count(const hsc_table *table);
const hsc_column *hsc_table__column(const hsc_table *table, size_t column);
const hsc_cell *hsc_table__cell(const hsc_table *table, size_t row, size_t column);
size_t hsc_table__note_count(const hsc_table *table);
const char *hsc_table__note(const hsc_table *table, size_t note);

HSC_MUST_USE hsc_status *hsc_table__print_text(const hsc_table *table, const hsc_text_style *style, hsc_bytes *out);
void hsc_table__print_markdown(const hsc_table *table, hsc_bytes *out);
